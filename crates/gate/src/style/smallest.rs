//! The smallest answer of each style, once a session has reached its ceiling: where the result is, and why so little is
//! said of it. At most [`MAX_SMALLEST_RESULT`] bytes, whatever the names of tool and domain.

use tidegate_core::view::visible_text;

use super::contract::Contract;
use super::error::Exceeded;
use super::probe;
use super::{AnswerLimits, cut_within};
use crate::profile::OutputSchema;
use crate::session::{Ceiling, MAX_SMALLEST_RESULT};
use crate::{raw, reply, schema};

/// The numbers of characters that are tried for what can be shortened.
const CHARACTERS: [usize; 6] = [100, 64, 40, 24, 12, 4];

/// An answer that can be shortened.
pub(crate) enum Smallest<'s> {
    /// A result described in words; `pointer` is its id.
    Words {
        tool: &'s str,
        says: &'s str,
        pointer: &'s str,
        ceiling: Ceiling,
    },
    Probe {
        total_size: u64,
        token: &'s str,
    },
    Contract {
        contract: &'s Contract<'s>,
        says: &'s str,
    },
    Error {
        exceeded: Exceeded<'s>,
        pointer: &'s str,
        ceiling: Ceiling,
    },
}

impl Smallest<'_> {
    /// Returns the result, and its text.
    pub(crate) fn result(&self, limits: AnswerLimits<'_>, is_error: bool) -> (Vec<u8>, String) {
        let made = CHARACTERS.map(|characters| {
            let text = self.text(characters);
            (self.of_text(limits, &text, is_error), text)
        });
        let fitting = made.iter().position(|(result, _)| result.len() <= MAX_SMALLEST_RESULT);
        let at = fitting.unwrap_or(CHARACTERS.len() - 1);
        made.into_iter().nth(at).unwrap_or_default()
    }

    fn text(&self, characters: usize) -> String {
        match self {
            Self::Words { tool, says, pointer, ceiling } => {
                let (tool, says) = (cut_within(tool, characters), cut_within(says, characters));
                let kept =
                    if pointer.is_empty() { String::new() } else { format!(" Kept as \"{pointer}\".") };
                format!("{tool}: {says}.{kept} {}: read it in a new one.", ceiling.note())
            }
            Self::Probe { total_size, token } => probe::written("", *total_size, token),
            Self::Contract { contract, says } => contract.shortest(says, characters),
            Self::Error { exceeded, pointer, ceiling } => {
                let hint = format!("{}. Kept as \"{pointer}\".", ceiling.note());
                exceeded.with_hint(&cut_within(&visible_text(exceeded.tool), characters), &hint)
            }
        }
    }

    /// Returns a result with a text. If the listed schema requires `structuredContent`, that holds only what leads to the rest.
    fn of_text(&self, limits: AnswerLimits<'_>, text: &str, is_error: bool) -> Vec<u8> {
        let result = reply::text_result(limits.caller, text, is_error);
        if limits.caller.profile.output_schema != OutputSchema::Union {
            return result;
        }
        let pointer = match self {
            Self::Words { pointer, .. } | Self::Error { pointer, .. } => pointer,
            Self::Probe { token, .. } => token,
            Self::Contract { contract, .. } => contract.reference.unwrap_or_default(),
        };
        let member = serde_json::json!({ schema::MEMBER: pointer }).to_string();
        raw::added(&result, &[], format!("\"structuredContent\":{member}").as_bytes())
    }
}
