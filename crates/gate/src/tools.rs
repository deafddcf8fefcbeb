//! `tools/list`, and the tools we add to it: `result_query`, and `result_save` (`tools/save.rs`) where a policy allows it.
//!
//! Only places in the list change: our tools are appended, `outputSchema` is rewritten as the client needs it, and
//! everything else stays byte for byte.

pub(crate) mod save;

use serde_json::{Value, json};
use tidegate_core::envelope::Handle;
use tidegate_core::measure::{Cost, Meter};
use tidegate_core::source::{Source, Span};
use tidegate_core::view::QueryLanguages;
use tidegate_core::{Bytes, Tokens};

use crate::caller::Caller;
use crate::profile::OutputSchema;
use crate::raw::{self, ByteRange, Edits};
use crate::schema;

/// The name of our tool where an upstream tool has its usual name.
pub(crate) const OTHER_NAME: &str = "tidegate_result_query";

/// Our tool. What a model reads of it costs at most 400 tokens.
const DEFINITION: &str = concat!(
    r#"{"name":"NAME","title":"Read a kept result","description":"#,
    r#""Read any part of a tool result that was too large to show whole. Never runs the tool again. Give id and at most one view "#,
    r#"(page, path, jq, sql, grep, lines, range or mode; none = summary); without id: lists this session's results. Answers fit a "#,
    r#"budget and end with how to read on.","#,
    r#""inputSchema":{"type":"object","properties":{"#,
    r#""id":{"type":"string","description":"e.g. list_issues-3f9c2kq7m0xw"},"#,
    r#""cursor":{"type":"string","description":"from the last answer, instead of a view"},"#,
    r#""page":{"type":"integer","description":"of records, from 1"},"#,
    r#""page_size":{"type":"integer"},"#,
    r#""fields":{"type":"array","items":{"type":"string"},"description":"only these, with or without page; dotted paths, *"},"#,
    r#""path":{"type":"string","description":"JSON Pointer or JSONPath; with another view: that view of the value there"},"#,
    r#""jq":{"type":"string","description":"other results: $results[\"ID\"]"},"#,
    r#""sql":{"type":"string","description":"SQLite SELECT; table t, one row per record; other results: tables \"ID\""},"#,
    r#""grep":{"type":"string","description":"regex"},"#,
    r#""context":{"type":"integer","description":"lines or records around a match"},"#,
    r#""count":{"type":"boolean","description":"with grep: only counts, by place"},"#,
    r#""lines":{"type":"string","description":"e.g. 10-20"},"#,
    r#""range":{"type":"string","description":"bytes, e.g. 0-999"},"#,
    r#""mode":{"type":"string","enum":["summary","full"]},"#,
    r#""max_tokens":{"type":"integer","description":"of the answer"}}},"#,
    r#""annotations":{"readOnlyHint":true},"_meta":{"anthropic/alwaysLoad":true}}"#
);

/// The arguments of [`DEFINITION`] that are there only if their query language can be run.
const JQ_ARGUMENT: &str = r#""jq":{"type":"string","description":"other results: $results[\"ID\"]"},"#;
const SQL_ARGUMENT: &str = r#""sql":{"type":"string","description":"SQLite SELECT; table t, one row per record; other results: tables \"ID\""},"#;

/// What [`DEFINITION`] says in addition where tools take references.
const REFERENCES_SENTENCE: &str =
    r#" As an argument of other tools, \"result://ID#/pointer\" stands for the value."#;
/// The end of the description in [`DEFINITION`].
const LAST_WORDS: &str = "and end with how to read on.";

/// The names of the arguments that select a view.
const VIEW_ARGUMENTS: [&str; 11] =
    ["page", "page_size", "fields", "path", "jq", "sql", "grep", "context", "count", "lines", "range"];

/// Returns the names of the arguments of our tool, without those of query languages that cannot be run.
pub(crate) fn arguments(languages: QueryLanguages) -> impl Iterator<Item = &'static str> {
    ["id", "cursor"].into_iter().chain(view_arguments(languages)).chain(["mode", "max_tokens"])
}

/// Returns the names of the arguments that select a view, without those of query languages that cannot be run.
fn view_arguments(languages: QueryLanguages) -> impl Iterator<Item = &'static str> {
    let is_offered = move |name: &&str| (languages.jq || *name != "jq") && (languages.sql || *name != "sql");
    VIEW_ARGUMENTS.into_iter().filter(is_offered)
}

/// Returns what a page of a list of tools costs in every conversation, whether the tools are called or not; `None` if
/// it is not such a list.
pub(crate) fn cost(result: &dyn Source, meter: &Meter) -> Option<Cost> {
    let whole = Span { start: 0, end: result.len() };
    let page: Value = serde_json::from_slice(&whole.read(result).ok()?).ok()?;
    let tokens = page["tools"].as_array()?.iter().map(|tool| listed_tokens(tool, meter)).sum();
    Some(Cost { tokens: Tokens(tokens), estimated: meter.is_estimate(), bytes: Bytes(result.len()) })
}

/// Returns what a tool costs by being listed: the model reads its name, description and arguments.
pub fn listed_tokens(tool: &Value, meter: &Meter) -> u64 {
    let listed = json!({
        "name": tool["name"],
        "description": tool["description"],
        "parameters": tool["inputSchema"],
    });
    meter.count(&listed.to_string()).0
}

/// A rewritten list of tools.
pub(crate) struct Listed {
    /// The list; `None` if nothing changes.
    pub(crate) result: Option<Vec<u8>>,
    /// The name of our tool from now on.
    pub(crate) query_tool: &'static str,
    /// The name of our second tool from now on.
    pub(crate) save_tool: &'static str,
}

/// Which tools we add, and what they can do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OwnTools {
    /// The query languages that can be run.
    pub(crate) languages: QueryLanguages,
    /// Whether results can be written to files.
    pub(crate) save: bool,
    /// Whether other tools take references in their arguments.
    pub(crate) references: bool,
}

/// Rewrites a page of `tools/list`: adds our tools to the first page, and changes the schemas against which clients would
/// check results. Anything that is not a list stays as it is.
pub(crate) fn rewrite(
    caller: &Caller,
    own: OwnTools,
    result: &[u8],
    first_page: bool,
    offer: &dyn Fn(&str, &[raw::Member<'_>], &mut Edits),
) -> Listed {
    let unchanged = Listed { result: None, query_tool: caller.query_tool, save_tool: caller.save_tool };
    let Some(whole) = raw::whole(result) else { return unchanged };
    let Some(list) = raw::member(result, &whole, "tools") else { return unchanged };
    let Some(tools) = raw::elements(result, &list) else { return unchanged };
    let mut edits = Edits::new();
    let (mut taken, mut save_taken) = (false, false);
    for tool in &tools {
        let Some(members) = raw::members(result, tool) else { continue };
        let named = |key: &str| members.iter().find(|member| member.key == key);
        let name = named("name").and_then(|member| raw::text(result, &member.value));
        taken |= name.as_deref() == Some(Handle::DEFAULT_QUERY_TOOL);
        save_taken |= name.as_deref() == Some(save::NAME);
        if let Some(name) = &name {
            offer(name, &members, &mut edits);
        }
        if let Some(output) = named("outputSchema") {
            rewrite_schema(caller, result, output.value.clone(), &mut edits, &members);
        }
    }
    let query_tool = if taken { OTHER_NAME } else { caller.query_tool };
    let save_tool = if save_taken { save::OTHER_NAME } else { caller.save_tool };
    // Some clients read the first page only. Where a later page has a tool of our name, ours is added again under its
    // other name.
    let mut added = Vec::new();
    if first_page || query_tool != caller.query_tool {
        added.push(definition(query_tool, own));
    }
    if own.save && (first_page || save_tool != caller.save_tool) {
        added.push(save::definition(save_tool, query_tool, own.languages));
    }
    if !added.is_empty() {
        edits.append(result, &list, added.join(",").as_bytes());
    }
    make_private(result, &whole, &mut edits);
    Listed { result: (!edits.is_empty()).then(|| edits.apply(result)), query_tool, save_tool }
}

fn rewrite_schema(
    caller: &Caller,
    json: &[u8],
    output: ByteRange,
    edits: &mut Edits,
    members: &[raw::Member<'_>],
) {
    let union = match caller.profile.output_schema {
        OutputSchema::Keep => return,
        OutputSchema::Union => schema::union(&json[output.clone()]),
        OutputSchema::Strip => None,
    };
    match union {
        Some(union) => edits.replace(output, union),
        None => edits.remove(members, |member| member.key == "outputSchema"),
    }
}

/// Returns a list of tools without those that are hidden; `None` if none is.
pub(crate) fn without(result: &[u8], hidden: impl Fn(&str) -> bool) -> Option<Vec<u8>> {
    let list = raw::member(result, &raw::whole(result)?, "tools")?;
    let is_hidden = |tool: &ByteRange| {
        let name = raw::member(result, tool, "name").and_then(|name| raw::text(result, &name));
        name.is_some_and(|name| hidden(&name))
    };
    let tools = raw::elements(result, &list)?;
    if !tools.iter().any(is_hidden) {
        return None;
    }
    let left: Vec<&[u8]> =
        tools.iter().filter(|tool| !is_hidden(tool)).map(|tool| &result[tool.clone()]).collect();
    let mut edits = Edits::new();
    edits.replace(list, [b"[", left.join(&b","[..]).as_slice(), b"]"].concat());
    Some(edits.apply(result))
}

/// Makes a list private: with our additions it differs from client to client, so no cache may share it.
pub(crate) fn make_private(json: &[u8], whole: &ByteRange, edits: &mut Edits) {
    if let Some(scope) = raw::member(json, whole, "cacheScope")
        && raw::text(json, &scope).as_deref() == Some("public")
    {
        edits.replace(scope, "\"private\"");
    }
}

/// Returns the definition of our tool `result_query`, as JSON.
pub fn reader_definition() -> String {
    let own = OwnTools { languages: QueryLanguages::ALL, save: false, references: false };
    definition(Handle::DEFAULT_QUERY_TOOL, own)
}

/// Returns the definition of our tool, without the query languages that cannot be run.
fn definition(name: &str, own: OwnTools) -> String {
    let OwnTools { languages, references, .. } = own;
    let mut definition = DEFINITION.replacen("NAME", name, 1);
    if references {
        definition = definition.replacen(LAST_WORDS, &format!("{LAST_WORDS}{REFERENCES_SENTENCE}"), 1);
    }
    if !languages.jq {
        definition = definition.replacen("jq, ", "", 1).replacen(JQ_ARGUMENT, "", 1);
    }
    if !languages.sql {
        definition = definition.replacen("sql, ", "", 1).replacen(SQL_ARGUMENT, "", 1);
    }
    definition
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tidegate_core::Tokens;
    use tidegate_core::measure::Meter;

    use super::*;

    fn caller() -> Caller {
        Caller::unknown(Vec::new())
    }

    const OWN: OwnTools = OwnTools { languages: QueryLanguages::ALL, save: false, references: false };

    fn rewritten(caller: &Caller, list: &str, first: bool) -> String {
        let listed = rewrite(caller, OWN, list.as_bytes(), first, &|_, _, _| {});
        listed.result.map_or_else(|| list.to_owned(), |result| String::from_utf8(result).unwrap())
    }

    #[test]
    fn our_tool_is_cheap_and_has_the_arguments() {
        for references in [false, true] {
            let own = OwnTools { references, ..OWN };
            let tool: Value = serde_json::from_str(&definition("result_query", own)).unwrap();
            assert_eq!(tool["description"].as_str().unwrap().contains("result://"), references);
            let read = format!("{}{}", tool["description"], tool["inputSchema"]);
            let cost = Meter::default().count(&read);
            assert!(cost <= Tokens(400), "{cost}");
        }
        let tool: Value = serde_json::from_str(&definition("result_query", OWN)).unwrap();
        let names: Vec<&str> =
            tool["inputSchema"]["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected: Vec<&str> = arguments(QueryLanguages::ALL).collect();
        expected.sort_unstable();
        let mut names = names;
        names.sort_unstable();
        assert_eq!(names, expected);
    }

    /// Regression: jq was offered where it could not run.
    #[test]
    fn languages_that_cannot_be_run_are_not_offered() {
        for (jq, sql) in [(false, true), (true, false), (false, false)] {
            let languages = QueryLanguages { jq, sql };
            let tool = definition("result_query", OwnTools { languages, ..OWN });
            assert_eq!((tool.contains("jq"), tool.to_lowercase().contains("sql")), (jq, sql), "{tool}");
            let tool: Value = serde_json::from_str(&tool).unwrap();
            let names: std::collections::BTreeSet<&str> =
                tool["inputSchema"]["properties"].as_object().unwrap().keys().map(String::as_str).collect();
            assert_eq!(names, arguments(languages).collect());
        }
    }

    #[test]
    fn hidden_tools_are_not_listed() {
        let list = br#"{"x":1.0,"tools":[{"name":"a"}, {"name":"b","z":2} ,{"name":"c"}],"nextCursor":"c"}"#;
        let left = |hidden: &[&str]| {
            without(list, |name| hidden.contains(&name)).map(|list| String::from_utf8(list).unwrap())
        };
        assert_eq!(left(&["d"]), None);
        assert_eq!(left(&["a", "c"]).unwrap(), r#"{"x":1.0,"tools":[{"name":"b","z":2}],"nextCursor":"c"}"#);
        assert_eq!(left(&["a", "b", "c"]).unwrap(), r#"{"x":1.0,"tools":[],"nextCursor":"c"}"#);
    }

    #[test]
    fn only_the_list_changes() {
        let list = r#"{"x":1.0,"tools":[{"name":"a","outputSchema":{},"z":2}],"nextCursor":"c","cacheScope":"public"}"#;
        let made = rewritten(&caller(), list, false);
        assert_eq!(made, r#"{"x":1.0,"tools":[{"name":"a","z":2}],"nextCursor":"c","cacheScope":"private"}"#);
        let made = rewritten(&caller(), list, true);
        assert!(made.contains(r#""z":2},{"name":"result_query""#), "{made}");
        assert_eq!(rewritten(&caller(), "{\"tools\":7}", true), "{\"tools\":7}");
    }

    #[test]
    fn schemas_stay_for_those_who_do_not_mind() {
        let mut keeper = caller();
        keeper.name("codex-mcp-client");
        let list = r#"{"tools":[{"name":"a","outputSchema":{"type":"object"}}]}"#;
        assert_eq!(rewritten(&keeper, list, false), list);
        let mut union = caller();
        union.profile.output_schema = OutputSchema::Union;
        assert!(
            rewritten(&union, list, false)
                .contains(r#""outputSchema":{"type":"object","anyOf":[{"type":"object"},"#)
        );
    }

    #[test]
    fn an_upstream_tool_keeps_its_name() {
        let list = br#"{"tools":[{"name":"result_query"}]}"#;
        let listed = rewrite(&caller(), OWN, list, true, &|_, _, _| {});
        assert_eq!(listed.query_tool, OTHER_NAME);
        let made = String::from_utf8(listed.result.unwrap()).unwrap();
        assert!(
            made.starts_with(r#"{"tools":[{"name":"result_query"},{"name":"tidegate_result_query""#),
            "{made}"
        );
    }
    #[test]
    fn the_second_tool_is_listed_beside_the_first_and_gives_way() {
        let own = OwnTools { save: true, ..OWN };
        let names = |caller: &Caller, list: &str, first| {
            let listed = rewrite(caller, own, list.as_bytes(), first, &|_, _, _| {});
            let list: Value =
                serde_json::from_slice(listed.result.as_deref().unwrap_or(list.as_bytes())).unwrap();
            let tools = list["tools"].as_array().unwrap().iter();
            (
                tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>(),
                listed.save_tool,
            )
        };
        let (listed, _) = names(&caller(), r#"{"tools":[{"name":"a"}]}"#, true);
        assert_eq!(listed, ["a", "result_query", "result_save"]);
        let (listed, name) = names(&caller(), r#"{"tools":[{"name":"result_save"}]}"#, true);
        assert_eq!(listed, ["result_save", "result_query", "tidegate_result_save"]);
        assert_eq!(name, save::OTHER_NAME);
        let (listed, _) = names(&caller(), r#"{"tools":[{"name":"result_save"}]}"#, false);
        assert_eq!(listed, ["result_save", "tidegate_result_save"], "on a later page");
        assert_eq!(names(&caller(), r#"{"tools":[{"name":"b"}]}"#, false).0, ["b"]);
        assert!(!rewritten(&caller(), r#"{"tools":[]}"#, true).contains("result_save"), "where it is off");
    }
}
