//! `follow-up -> store -> view -> respond`: a part of a kept result, from the store and never from the tool.

use std::time::Duration;

use serde_json::{Map, Value};
use tidegate_core::Bytes;
use tidegate_core::budget::Budget;
use tidegate_core::envelope::{Handle, handle_name};
use tidegate_core::outline::Outline;
use tidegate_core::view::arguments::Arguments;
use tidegate_core::view::{Answer, Asked, Engines, Query, View, answer, cursor};
use tidegate_store::{Artifact, ArtifactId, Clock, SystemClock, open};

use crate::caller::Caller;
use crate::error::FollowUpError;
use crate::keep::Keep;
use crate::policy::{Policies, Policy};
use crate::tools::ARGUMENTS;

/// An argument that one client adds to every tool, for itself.
const NOT_OURS: &str = "wait_for_previous";

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FollowUp {
    /// The name of the result, in any form.
    pub(crate) id: String,
    /// Where to go on.
    pub(crate) cursor: Option<String>,
    /// The view, if no cursor is given.
    pub(crate) arguments: Arguments,
    /// Room for the answer.
    pub(crate) max_tokens: Option<u64>,
}

type Refused = FollowUpError;

impl FollowUp {
    /// Reads the arguments of our tool.
    pub(crate) fn read(arguments: &Map<String, Value>) -> Result<Self, Refused> {
        let mut follow_up = Self::default();
        for (name, value) in arguments {
            if !value.is_null() && name != NOT_OURS {
                follow_up.set(name, value)?;
            }
        }
        if follow_up.id.is_empty() {
            return Err(Refused::Arguments(
                "id is missing; it is named in the answer that was too large".into(),
            ));
        }
        if follow_up.cursor.is_some() && follow_up.arguments != Arguments::default() {
            return Err(Refused::Arguments(
                "a cursor already says which view; give it with id alone, or leave it out".into(),
            ));
        }
        Ok(follow_up)
    }

    fn set(&mut self, name: &str, value: &Value) -> Result<(), Refused> {
        let view = &mut self.arguments;
        match name {
            "id" => self.id = text(name, value)?,
            "cursor" => self.cursor = Some(text(name, value)?),
            "max_tokens" => self.max_tokens = Some(number(name, value)?),
            "page" => view.page = Some(number(name, value)?),
            "page_size" => view.page_size = Some(number(name, value)?),
            "context" => view.context = Some(number(name, value)?),
            "fields" => view.fields = Some(names(name, value)?),
            "path" => view.path = Some(text(name, value)?),
            "jq" => view.jq = Some(text(name, value)?),
            "sql" => view.sql = Some(text(name, value)?),
            "grep" => view.grep = Some(text(name, value)?),
            "lines" => view.lines = Some(span(name, value)?),
            "range" => view.range = Some(span(name, value)?),
            "mode" => view.mode = Some(text(name, value)?),
            _ => {
                let message = format!("there is no argument {name:?}; there are {}", ARGUMENTS.join(", "));
                return Err(Refused::Arguments(message));
            }
        }
        Ok(())
    }
}

fn wrong(name: &str, value: &Value, expected: &str) -> Refused {
    let shown: String = value.to_string().chars().take(80).collect();
    Refused::Arguments(format!("{name} is {shown}, but should be {expected}"))
}

fn text(name: &str, value: &Value) -> Result<String, Refused> {
    value.as_str().map(str::to_owned).ok_or_else(|| wrong(name, value, "a string"))
}

/// A number, also where a model wrote it as a string.
fn number(name: &str, value: &Value) -> Result<u64, Refused> {
    let read = value.as_u64().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()));
    let whole = || value.as_f64().filter(|n| n.fract() == 0.0 && (0.0..1e15).contains(n)).map(|n| n as u64);
    read.or_else(whole).ok_or_else(|| wrong(name, value, "a whole number"))
}

/// A span such as `10-20`, also where a model wrote one number.
fn span(name: &str, value: &Value) -> Result<String, Refused> {
    match value.as_u64() {
        Some(number) => Ok(number.to_string()),
        None => {
            value.as_str().map(str::to_owned).ok_or_else(|| wrong(name, value, "a string such as \"10-20\""))
        }
    }
}

/// A list of names, also where a model wrote them as one string.
fn names(name: &str, value: &Value) -> Result<Vec<String>, Refused> {
    let expected = "a list of names such as [\"id\"]";
    match value {
        Value::Array(values) => values
            .iter()
            .map(|each| each.as_str().map(str::to_owned).ok_or_else(|| wrong(name, value, expected)))
            .collect(),
        Value::String(text) => Ok(text.split(',').map(|name| name.trim().to_owned()).collect()),
        _ => Err(wrong(name, value, expected)),
    }
}

/// Reads parts of kept results.
pub(crate) struct Reader<'r> {
    pub(crate) keep: &'r Keep,
    pub(crate) policies: &'r Policies,
    pub(crate) engines: &'r dyn Engines,
}

/// A part that was read.
pub(crate) struct Read {
    pub(crate) artifact: Artifact,
    pub(crate) answer: Answer,
    /// The name of the view.
    pub(crate) view: &'static str,
}

impl Reader<'_> {
    /// Answers a follow-up; `beside` is what stands beside the text of the answer and counts too.
    pub(crate) fn answer(&self, caller: &Caller, follow_up: FollowUp, beside: &str) -> Result<Read, Refused> {
        let name = follow_up.id.clone();
        let id = ArtifactId::parse(&name)
            .ok_or_else(|| Refused::of_store(&name, &tidegate_store::StoreError::NotFound))?;
        let opened = self.keep.open().map_err(|error| Refused::of_store(&name, &error))?;
        let owner = &self.keep.owner;
        let source = open(&opened.store, owner, &id).map_err(|error| {
            self.keep.failed(&opened, &error);
            Refused::of_store(&name, &error)
        })?;
        let artifact = source.artifact().clone();
        let outline = Outline::from_bytes(source.outline()).ok_or_else(|| {
            Refused::Store(format!("{name:?} was kept by another version; use tidegate export"))
        })?;
        let seal = |bytes: &[u8]| opened.seal(owner, &id, bytes);
        let policy = self.policies.of_tool(&artifact.tool);
        let max_tokens = follow_up.max_tokens;
        let query = query(follow_up, &policy, &seal)?;
        let budget = less(budget(max_tokens, &query, &policy, caller)?, beside, caller)?;
        let handle = handle_name(&artifact.tool, id.as_str());
        let kept = self.keep.words(remaining(&artifact));
        let asked = Asked {
            source: &source,
            outline: &outline,
            tool: &artifact.tool,
            handle: Handle::kept(&handle, &kept).read_with(caller.reader),
            query: &query,
            budget,
            meter: caller.profile.meter,
            engines: self.engines,
            seal: &seal,
        };
        let answer = answer(&asked)?;
        Ok(Read { artifact, answer, view: query.view.name() })
    }
}

fn query(
    follow_up: FollowUp,
    policy: &Policy,
    seal: &dyn Fn(&[u8]) -> [u8; cursor::SEAL],
) -> Result<Query, Refused> {
    if let Some(text) = follow_up.cursor {
        return cursor::decode(&text, seal).map_err(|error| Refused::Arguments(error.to_string()));
    }
    let mut query = follow_up.arguments.into_query()?;
    if let View::Page { size, .. } = &mut query.view {
        *size = size.or(policy.page_size);
    }
    Ok(query)
}

/// What an answer may cost: the usual, or what was asked for up to the cap.
fn budget(
    max_tokens: Option<u64>,
    query: &Query,
    policy: &Policy,
    caller: &Caller,
) -> Result<Budget, Refused> {
    let cap = policy.cap(&caller.profile);
    let least = Budget::LEAST_TOKENS.0;
    match max_tokens {
        Some(tokens) if tokens < least => {
            Err(Refused::Arguments(format!("max_tokens is {tokens}, but an answer needs at least {least}")))
        }
        Some(tokens) => Ok(policy.of_tokens(tokens.min(cap.tokens.0), &caller.profile)),
        None if query.view == View::Full => Ok(cap),
        None => Ok(policy.budget(&caller.profile)),
    }
}

/// What is left of a budget beside a text.
fn less(budget: Budget, beside: &str, caller: &Caller) -> Result<Budget, Refused> {
    if beside.is_empty() {
        return Ok(budget);
    }
    let tokens = budget.tokens - caller.profile.meter.count(beside);
    let bytes = budget.bytes - Bytes(2 * beside.len() as u64 + 64);
    if tokens < Budget::LEAST_TOKENS || bytes < Budget::LEAST_BYTES {
        return Err(Refused::Arguments("the address is too long; ask with fewer words".into()));
    }
    Ok(Budget { tokens, bytes })
}

fn remaining(artifact: &Artifact) -> Duration {
    let left = artifact.expires.0.saturating_sub(SystemClock.now().0);
    Duration::from_millis(u64::try_from(left).unwrap_or(0))
}

/// Says for how long a result is kept: `kept 24 h`.
pub fn kept_words(left: Duration) -> String {
    // A result that was kept a moment ago has not quite its full time left.
    let seconds = left.as_millis().div_ceil(1000).max(1);
    let (count, unit) = match seconds {
        ..=119 => (seconds, "s"),
        120..=7_199 => (seconds.div_ceil(60), "min"),
        7_200..=172_800 => (seconds.div_ceil(3600), "h"),
        _ => (seconds / 86_400, "days"),
    };
    format!("kept {count} {unit}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(arguments: Value) -> Result<FollowUp, String> {
        FollowUp::read(arguments.as_object().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_models_write_is_understood() {
        let follow_up =
            read(json!({"id": "x", "page": "2", "page_size": 10.0, "fields": "a, b", "jq": null})).unwrap();
        assert_eq!((follow_up.arguments.page, follow_up.arguments.page_size), (Some(2), Some(10)));
        assert_eq!(follow_up.arguments.fields, Some(vec!["a".into(), "b".into()]));
        assert_eq!(read(json!({"id": "x", "lines": 7})).unwrap().arguments.lines.as_deref(), Some("7"));
        assert!(read(json!({"id": "x", "wait_for_previous": true})).is_ok());
    }

    #[test]
    fn mistakes_are_named() {
        for (arguments, words) in [
            (json!({}), "id is missing"),
            (json!({"id": 7}), "id is 7, but should be a string"),
            (json!({"id": "x", "page": -1}), "page is -1, but should be a whole number"),
            (json!({"id": "x", "fields": [1]}), "fields is [1]"),
            (json!({"id": "x", "limit": 5}), "there is no argument \"limit\"; there are id, cursor"),
            (json!({"id": "x", "cursor": "c", "page": 1}), "a cursor already says which view"),
        ] {
            let message = read(arguments.clone()).unwrap_err();
            assert!(message.contains(words), "{arguments}: {message}");
        }
    }

    #[test]
    fn times_in_words() {
        for (seconds, words) in
            [(86_400, "24 h"), (300, "5 min"), (30, "30 s"), (7 * 86_400, "7 days"), (0, "1 s")]
        {
            assert_eq!(kept_words(Duration::from_secs(seconds)), format!("kept {words}"));
        }
    }
}
