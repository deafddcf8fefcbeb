//! Repeated calls: finds the last stored result of the same call, and compares the new one with it.
//!
//! Two calls are the same if tool, arguments, owner and session are the same. The tool runs as always. Only the answer
//! changes, and only if the result does not pass: it says that nothing changed, or begins with what changed. Errors are
//! never compared. Callers without a session share one owner, so their results are never looked up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde_json::Value;
use tidegate_core::diff::{self, MAX_COMPARED_BYTES};
use tidegate_core::envelope::handle_name;
use tidegate_core::hints::Hints;
use tidegate_core::outline::Outline;
use tidegate_core::shape::{Comparison, Earlier};
use tidegate_core::source::{Source, Span};
use tidegate_core::view::Dataset;
use tidegate_store::{CallDigest, EarlierResult, StoreError};

use crate::caller::Caller;
use crate::gate::ToolCall;
use crate::user_store::{Opened, UserStore};

/// Returns the digest by which results of the same call are found; `None` if the call cannot be identified.
pub(crate) fn digest(
    keep: &UserStore,
    server: &str,
    caller: &Caller,
    called: &ToolCall,
) -> Option<CallDigest> {
    if keep.is_unlisted() {
        return None;
    }
    let arguments = canonical(called.arguments.as_deref().unwrap_or("{}"))?;
    let session = caller.session.as_ref().map_or("", |session| session.id());
    let parts = [keep.owner.as_str(), keep.session.as_str(), session, server, &called.tool, &arguments];
    Some(keep.open().ok()?.call_digest(&parts.map(str::as_bytes)))
}

/// Returns arguments in a form that does not depend on white space or the order of members; `None` if they are not JSON.
fn canonical(arguments: &str) -> Option<String> {
    let value: Value = serde_json::from_str(arguments).ok()?;
    let mut out = String::new();
    write_sorted(&value, &mut out);
    // Parsing rounds numbers and drops duplicate members, so add the length and the numbers as they were written.
    let (mut is_string, mut is_escape) = (false, false);
    let (mut written, mut numbers) = (0, vec![String::new()]);
    for character in arguments.chars() {
        let is_quote = character == '"' && !is_escape;
        is_escape = is_string && character == '\\' && !is_escape;
        is_string ^= is_quote;
        written += usize::from(is_string || !character.is_ascii_whitespace());
        match numbers.last_mut() {
            Some(last) if !is_string && (character.is_ascii_digit() || "+-.eE".contains(character)) => {
                last.push(character);
            }
            Some(last) if !last.is_empty() => numbers.push(String::new()),
            _ => {}
        }
    }
    numbers.sort_unstable();
    Some(format!("{out}\n{written}\n{}", numbers.join(" ")))
}

fn write_sorted(value: &Value, out: &mut String) {
    match value {
        Value::Array(elements) => {
            out.push('[');
            for element in elements {
                write_sorted(element, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(name, _)| *name);
            out.push('{');
            for (name, value) in members {
                out.push_str(&Value::String(name.clone()).to_string());
                out.push(':');
                write_sorted(value, out);
                out.push(',');
            }
            out.push('}');
        }
        scalar => out.push_str(&scalar.to_string()),
    }
}

/// The last stored result of a call.
pub(crate) struct LastResult<'k> {
    keep: &'k UserStore,
    opened: Arc<Opened>,
    earlier: EarlierResult,
}

impl<'k> LastResult<'k> {
    /// Finds the last stored result of a call; `None` also if the store cannot be read.
    pub(crate) fn find(keep: &'k UserStore, call: &CallDigest) -> Option<Self> {
        let opened = keep.open().ok()?;
        let earlier = opened.store.last_of_call(&keep.owner, &keep.session, call).ok()??;
        Some(Self { keep, opened, earlier })
    }

    /// Reads this result to compare a new one with it. It needs nothing of the new one but its bytes, so that it can be
    /// read while those are shaped.
    pub(crate) fn fetch(&self, body: &dyn Source) -> Result<FetchedResult, StoreError> {
        let artifact = &self.earlier.artifact;
        let store = &self.opened.store;
        if artifact.bytes == body.len() && store.matches(&self.keep.owner, &self.earlier, body)? {
            return Ok(FetchedResult::Equal);
        }
        if artifact.bytes.max(body.len()) > MAX_COMPARED_BYTES {
            return Ok(FetchedResult::Different);
        }
        let stored = self.keep.stored(&self.opened, &artifact.id)?;
        Ok(FetchedResult::Bytes(Span::whole(&stored).read(&stored).map_err(StoreError::Source)?))
    }

    /// Compares a new result with this one; `None` if that fails, because the answer must be given anyway.
    pub(crate) fn compare(
        &self,
        fetched: &FetchedResult,
        body: &dyn Source,
        outline: &Outline,
        hints: &Hints,
    ) -> Option<Earlier> {
        let compared = catch_unwind(AssertUnwindSafe(|| self.try_compare(fetched, body, outline, hints)));
        let comparison = compared.ok()?.ok()?;
        let artifact = &self.earlier.artifact;
        Some(Earlier {
            name: handle_name(&artifact.tool, artifact.id.as_str()),
            ran: artifact.created.to_string(),
            runs: self.keep.clock().now().to_string(),
            comparison,
        })
    }

    fn try_compare(
        &self,
        fetched: &FetchedResult,
        body: &dyn Source,
        outline: &Outline,
        hints: &Hints,
    ) -> Result<Comparison, StoreError> {
        let source = match fetched {
            FetchedResult::Equal => return Ok(Comparison::Equal),
            FetchedResult::Different => return Ok(Comparison::Different),
            FetchedResult::Bytes(bytes) => bytes.as_slice(),
        };
        let stored = self.keep.stored(&self.opened, &self.earlier.artifact.id)?;
        let earlier = Outline::load(stored.outline(), &source, hints).map_err(StoreError::Source)?;
        let changes = diff::compare(&Dataset::new(&source, &earlier), &Dataset::new(body, outline));
        Ok(Comparison::Changed(changes.map_err(StoreError::Source)?))
    }
}

/// What is needed of an earlier result to compare a new one with it.
pub(crate) enum FetchedResult {
    /// Its bytes are those of the new one.
    Equal,
    /// Its bytes are different, and too many to say how.
    Different,
    /// Its bytes are different.
    Bytes(Vec<u8>),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_arguments_have_one_form_and_different_ones_do_not() {
        let same =
            [r#"{"a":1,"b":[{"x":"é","y":null}]}"#, "{ \"b\": [ {\"y\":null , \"x\":\"é\"} ],\n \"a\":1 }"];
        assert_eq!(canonical(same[0]), canonical(same[1]));
        let mut forms: Vec<String> = [
            "{}",
            r#"{"a":1}"#,
            r#"{"a":"1"}"#,
            r#"{"a":[1]}"#,
            r#"{"a":1,"a":1}"#,
            r#"{"a":10000000000000000000000001}"#,
            r#"{"a":10000000000000000000000002}"#,
            r#"{"a":"x y"}"#,
            r#"{"a":"xy"}"#,
            r#"{"a":"x  y"}"#,
            r#"{"a":"\"1 2"}"#,
            r#"{"b":{"a":1}}"#,
            r#"{"a":[1,2]}"#,
            r#"{"a":[2,1]}"#,
        ]
        .iter()
        .map(|arguments| canonical(arguments).unwrap())
        .collect();
        let count = forms.len();
        forms.sort_unstable();
        forms.dedup();
        assert_eq!(forms.len(), count, "different arguments are different calls");
        assert_eq!(canonical("no json"), None);
    }
}
