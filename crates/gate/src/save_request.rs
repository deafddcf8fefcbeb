//! A call of `result_save`: which part of which kept result, and the name of the file.

use serde_json::{Map, Value};
use tidegate_core::view::QueryLanguages;
use tidegate_store::FileName;

use crate::error::FollowUpError;
use crate::follow_up::{CLIENT_ARGUMENT, FollowUp};
use crate::tools::save;

/// The part of a kept result that is to be written, and where.
#[derive(Debug)]
pub(crate) struct SaveRequest {
    /// The name of the file.
    pub(crate) name: FileName,
    /// The result and its view.
    pub(crate) part: FollowUp,
}

impl SaveRequest {
    /// Reads the arguments; an error lists those of the query languages that can be run.
    pub(crate) fn read(arguments: Option<&[u8]>, languages: QueryLanguages) -> Result<Self, FollowUpError> {
        let wrong = |message: String| FollowUpError::Arguments(message);
        let read: Result<Map<String, Value>, _> = serde_json::from_slice(arguments.unwrap_or(b"{}"));
        let mut arguments = read.map_err(|_| {
            wrong("the arguments are not an object; give {\"id\": ..., \"name\": \"data.csv\"}".into())
        })?;
        let name = arguments.remove("name").unwrap_or_default();
        let Some(name) = name.as_str() else {
            return Err(wrong("name is missing; give that of a new file, such as issues.csv".into()));
        };
        let name = FileName::parse(name).map_err(|error| wrong(error.to_string()))?;
        let is_unknown = |name: &String| {
            !save::arguments(languages).any(|known| known == name)
                && name != "mode"
                && name != CLIENT_ARGUMENT
        };
        if let Some(name) = arguments.keys().find(|name| is_unknown(name)) {
            let names: Vec<&str> = save::arguments(languages).collect();
            return Err(wrong(format!("there is no argument {name:?}; there are {}", names.join(", "))));
        }
        let part = FollowUp::read(&arguments, languages)?;
        if part.is_list() {
            return Err(wrong(
                "id is missing; copy it from the answer that replaced the large result".into(),
            ));
        }
        Ok(Self { name, part })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(arguments: &Value) -> Result<SaveRequest, String> {
        let arguments = arguments.to_string();
        SaveRequest::read(Some(arguments.as_bytes()), QueryLanguages::ALL).map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_and_a_view() {
        let request = read(&json!({"id": "x", "name": "a.csv", "fields": "a,b", "jq": null})).unwrap();
        assert_eq!((request.name.as_str(), request.part.id.as_str()), ("a.csv", "x"));
        assert_eq!(request.part.arguments.fields, Some(vec!["a".into(), "b".into()]));
        assert!(read(&json!({"id": "x", "name": "a", "mode": "full", "wait_for_previous": true})).is_ok());
    }

    #[test]
    fn mistakes_are_named() {
        for (arguments, words) in [
            (json!([]), "not an object"),
            (json!({"id": "x"}), "name is missing"),
            (json!({"id": "x", "name": 7}), "name is missing"),
            (json!({"id": "x", "name": "../a"}), "is a path"),
            (json!({"name": "a"}), "id is missing"),
            (json!({"name": "a", "page": 1}), "id is missing"),
            (
                json!({"id": "x", "name": "a", "cursor": "c"}),
                "there is no argument \"cursor\"; there are id, name, page",
            ),
            (json!({"id": "x", "name": "a", "max_tokens": 1}), "there is no argument \"max_tokens\""),
        ] {
            let error = read(&arguments).unwrap_err();
            assert!(error.contains(words), "{arguments}: {error}");
        }
    }
}
