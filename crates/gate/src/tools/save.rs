//! `result_save`, our second tool: it is offered where a policy allows it, and writes a view to a file.
//!
//! It is not read-only, so that clients ask their user. It has no other hint: Codex does not ask before a tool that says it is
//! not destructive, and without the hint assumes that it may be.

use tidegate_core::view::QueryLanguages;

/// The usual name of the tool.
pub(crate) const NAME: &str = "result_save";
/// The name of the tool where an upstream tool has its usual name.
pub(crate) const OTHER_NAME: &str = "tidegate_result_save";

/// The tool. What a model reads of it costs at most 250 tokens. The arguments of views mean what they mean to
/// `result_query`, whose description it does not repeat.
const DEFINITION: &str = concat!(
    r#"{"name":"NAME","title":"Save a kept result as a file","description":"#,
    r#""Write a view of a kept result to a new file, whole, without a budget. Views are those of QUERY (at most one of page, path, "#,
    r#"jq, sql, grep, lines, range; none = everything). The ending of name is the format: .csv, .json, .jsonl; .bin = stored "#,
    r#"bytes; any other = text. Answers with where it is, size, rows and columns.","#,
    r#""inputSchema":{"type":"object","properties":{"#,
    r#""id":{"type":"string"},"#,
    r#""name":{"type":"string","description":"e.g. issues.csv; no folders"},"#,
    r#""page":{"type":"integer"},"page_size":{"type":"integer"},"#,
    r#""fields":{"type":"array","items":{"type":"string"}},"#,
    r#""path":{"type":"string"},"jq":{"type":"string"},"sql":{"type":"string"},"#,
    r#""grep":{"type":"string"},"context":{"type":"integer"},"count":{"type":"boolean"},"#,
    r#""lines":{"type":"string"},"range":{"type":"string"}},"required":["id","name"]},"#,
    r#""annotations":{"readOnlyHint":false}}"#
);

/// Returns the names of the arguments, without those of query languages that cannot be run.
pub(crate) fn arguments(languages: QueryLanguages) -> impl Iterator<Item = &'static str> {
    ["id", "name"].into_iter().chain(super::view_arguments(languages))
}

/// Returns the definition of our tool `result_save`, as JSON.
pub fn saver_definition() -> String {
    definition(NAME, tidegate_core::envelope::Handle::DEFAULT_QUERY_TOOL, QueryLanguages::ALL)
}

/// Returns the definition of the tool, beside the tool `query_tool` that reads results, without the query languages that
/// cannot be run.
pub(crate) fn definition(name: &str, query_tool: &str, languages: QueryLanguages) -> String {
    let mut definition = DEFINITION.replacen("NAME", name, 1).replacen("QUERY", query_tool, 1);
    for (language, can_run) in [("jq", languages.jq), ("sql", languages.sql)] {
        if !can_run {
            let argument = format!(r#""{language}":{{"type":"string"}},"#);
            definition = definition.replacen(&format!("{language}, "), "", 1).replacen(&argument, "", 1);
        }
    }
    definition
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tidegate_core::Tokens;
    use tidegate_core::measure::Meter;

    use super::*;

    fn parsed(languages: QueryLanguages) -> Value {
        serde_json::from_str(&definition(NAME, "result_query", languages)).unwrap()
    }

    #[test]
    fn the_tool_costs_at_most_250_tokens_and_is_not_read_only() {
        let tool = parsed(QueryLanguages::ALL);
        let cost = Meter::default().count(&format!("{}{}", tool["description"], tool["inputSchema"]));
        assert!(cost <= Tokens(250), "{cost}");
        assert_eq!(tool["annotations"], serde_json::json!({"readOnlyHint": false}));
    }

    #[test]
    fn only_languages_that_can_be_run_are_offered() {
        for (jq, sql) in [(true, true), (false, true), (true, false), (false, false)] {
            let languages = QueryLanguages { jq, sql };
            let tool = parsed(languages);
            let names: std::collections::BTreeSet<&str> =
                tool["inputSchema"]["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(names, arguments(languages).collect());
            let text = tool.to_string();
            assert_eq!((text.contains("jq"), text.contains("sql")), (jq, sql), "{text}");
        }
    }
}
