//! The same data in less space, for a result that would pass: where a policy asks for it, and only where it pays.
//!
//! The forms are those of `lossless.rs`, so every value can be read back. The frame is as short as that of a part that was
//! asked for: a small result has no room for a long one.

use std::io;

use super::lossless::WholeText;
use super::{Prepared, Request, Shaped, Step};
use crate::envelope::{self, State};
use crate::measure::Cost;
use crate::quantity::Bytes;

impl Prepared<'_> {
    /// Writes all of the result in fewer tokens than it has, within the budget of the request; `None` if no form of it is
    /// shorter. Of several forms the shortest is taken.
    ///
    /// # Errors
    ///
    /// The source cannot be read.
    pub fn compact(&self, request: &Request<'_>) -> io::Result<Option<Shaped>> {
        let raw = self.cost(&request.meter)?;
        let whole = self.text.map(|text| WholeText::read(self.payload, text, request.budget.bytes.0 * 8));
        let Some(whole) = whole.transpose()?.flatten() else { return Ok(None) };
        let mut shortest: Option<Shaped> = None;
        for form in whole.forms()? {
            let notes = match request.handle.state {
                State::Kept(kept) => vec![format!("As it came, it is under this name ({kept}).")],
                State::Lost(_) => Vec::new(),
            };
            let text = envelope::part_text(request.handle, &form.how, &notes, &form.body, None);
            let result = envelope::result(self.payload, &text, &[])?;
            let shaped = Cost {
                tokens: request.meter.count(&text),
                estimated: request.meter.is_estimate(),
                bytes: Bytes(result.len() as u64),
            };
            let fits = shaped.tokens <= request.budget.tokens && shaped.bytes <= request.budget.bytes;
            let most = shortest.as_ref().map_or(raw.tokens, |shortest| shortest.shaped.tokens);
            if fits && shaped.tokens < most {
                shortest = Some(Shaped {
                    step: Step::Lossless,
                    result: Some(result),
                    text,
                    raw,
                    shaped,
                    kind: "",
                    strategy: "compact",
                    left_out: Vec::new(),
                });
            }
        }
        Ok(shortest)
    }
}
