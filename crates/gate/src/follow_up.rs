//! A follow-up: which kept result a caller asks for, and which part of it.
//!
//! `follow-up -> store -> view -> respond`: this file reads the arguments of `result_query` and accepts what models tend to write
//! (numbers as strings, one number for a span, names joined by commas). `kept_result.rs` opens the result.

use serde_json::{Map, Value};
use tidegate_core::view::arguments::Arguments;
use tidegate_core::view::{QueryLanguages, View};

use crate::error::FollowUpError;
use crate::other_results::result_names;
use crate::tools;

/// An argument that one client adds to every tool for its own use.
const CLIENT_ARGUMENT: &str = "wait_for_previous";

/// The part of a kept result that a caller asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct FollowUp {
    /// The name of the result, in any form; empty to list the stored results of the session.
    pub(crate) id: String,
    /// The cursor of the last answer, instead of a view.
    pub(crate) cursor: Option<String>,
    /// The view, if no cursor is given.
    pub(crate) arguments: Arguments,
    /// The maximum number of tokens of the answer.
    pub(crate) max_tokens: Option<u64>,
}

impl FollowUp {
    /// Reads the arguments of our tool; an error lists those of the query languages that can be run.
    pub(crate) fn read(
        arguments: &Map<String, Value>,
        languages: QueryLanguages,
    ) -> Result<Self, FollowUpError> {
        let mut follow_up = Self::default();
        for (name, value) in arguments {
            if !value.is_null() && name != CLIENT_ARGUMENT {
                follow_up.set(name, value, languages)?;
            }
        }
        if follow_up.id.is_empty() && !follow_up.is_list() {
            follow_up.id = follow_up.first_named().ok_or_else(|| {
                let missing = "id is missing; copy it from the answer that replaced the large result, or give no \
                               arguments for a list of what this session kept";
                FollowUpError::Arguments(missing.into())
            })?;
        }
        if follow_up.cursor.is_some() && follow_up.arguments != Arguments::default() {
            return Err(FollowUpError::Arguments(
                "a cursor already says which view; give it with id alone, or leave it out".into(),
            ));
        }
        Ok(follow_up)
    }

    /// Returns whether the call asks for a list of the session's stored results.
    pub(crate) fn is_list(&self) -> bool {
        self.id.is_empty() && self.cursor.is_none() && self.arguments == Arguments::default()
    }

    /// Returns the first result that a query without an id names.
    fn first_named(&self) -> Option<String> {
        let sql = self.arguments.sql.clone().map(View::Sql);
        let view = sql.or_else(|| self.arguments.jq.clone().map(View::Jq))?;
        result_names(&view).ok()?.into_iter().next()
    }

    fn set(&mut self, name: &str, value: &Value, languages: QueryLanguages) -> Result<(), FollowUpError> {
        let view = &mut self.arguments;
        match name {
            "id" => self.id = text(name, value)?,
            "cursor" => self.cursor = Some(text(name, value)?),
            "max_tokens" => self.max_tokens = Some(number(name, value)?),
            "page" => view.page = Some(number(name, value)?),
            "page_size" => view.page_size = Some(number(name, value)?),
            "context" => view.context = Some(number(name, value)?),
            "count" => view.count = Some(flag(name, value)?),
            "fields" => view.fields = Some(names(name, value)?),
            "path" => view.path = Some(text(name, value)?),
            "jq" => view.jq = Some(text(name, value)?),
            "sql" => view.sql = Some(text(name, value)?),
            "grep" => view.grep = Some(text(name, value)?),
            "lines" => view.lines = Some(span(name, value)?),
            "range" => view.range = Some(span(name, value)?),
            "mode" => view.mode = Some(text(name, value)?),
            _ => {
                let names: Vec<&str> = tools::arguments(languages).collect();
                let message = format!("there is no argument {name:?}; there are {}", names.join(", "));
                return Err(FollowUpError::Arguments(message));
            }
        }
        Ok(())
    }
}

fn wrong(name: &str, value: &Value, expected: &str) -> FollowUpError {
    let shown: String = value.to_string().chars().take(80).collect();
    FollowUpError::Arguments(format!("{name} is {shown}, but should be {expected}"))
}

fn text(name: &str, value: &Value) -> Result<String, FollowUpError> {
    value.as_str().map(str::to_owned).ok_or_else(|| wrong(name, value, "a string"))
}

/// Reads a number, even if a model wrote it as a string.
fn number(name: &str, value: &Value) -> Result<u64, FollowUpError> {
    let read = value.as_u64().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()));
    let whole = || value.as_f64().filter(|n| n.fract() == 0.0 && (0.0..1e15).contains(n)).map(|n| n as u64);
    read.or_else(whole).ok_or_else(|| wrong(name, value, "a whole number"))
}

/// Reads a boolean, even if a model wrote it as a string.
fn flag(name: &str, value: &Value) -> Result<bool, FollowUpError> {
    let written = value.as_str().and_then(|text| text.trim().parse().ok());
    value.as_bool().or(written).ok_or_else(|| wrong(name, value, "true or false"))
}

/// Reads a span such as `10-20`, even if a model wrote one number.
fn span(name: &str, value: &Value) -> Result<String, FollowUpError> {
    match value.as_u64() {
        Some(number) => Ok(number.to_string()),
        None => {
            value.as_str().map(str::to_owned).ok_or_else(|| wrong(name, value, "a string such as \"10-20\""))
        }
    }
}

/// Reads a list of names, even if a model wrote them as one string.
fn names(name: &str, value: &Value) -> Result<Vec<String>, FollowUpError> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(arguments: Value) -> Result<FollowUp, String> {
        FollowUp::read(arguments.as_object().unwrap(), QueryLanguages::ALL).map_err(|error| error.to_string())
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
    fn without_an_id_a_call_lists_results_or_reads_the_first_one_that_its_query_names() {
        assert!(read(json!({})).unwrap().is_list() && read(json!({"max_tokens": 300})).unwrap().is_list());
        let named =
            read(json!({"sql": "select * from \"a-3f9c2kq7m0xw\" x join \"b-7k3m0xw2c9qf\" y"})).unwrap();
        assert_eq!((named.id.as_str(), named.is_list()), ("a-3f9c2kq7m0xw", false));
        assert_eq!(read(json!({"jq": "$results[\"a-1\"]"})).unwrap().id, "a-1");
    }

    #[test]
    fn mistakes_are_named() {
        for (arguments, words) in [
            (json!({"page": 2}), "id is missing"),
            (json!({"cursor": "c"}), "id is missing"),
            (json!({"sql": "select 1 from t"}), "id is missing"),
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
}
