//! `result_query` without an id: lists the stored results of this session, within 400 tokens.
//!
//! Results of other sessions are not listed, not even those of the same user; a caller reads them by their exact name.

use std::time::Duration;

use serde_json::{Map, Value};
use tidegate_core::envelope::{fenced, handle_name};
use tidegate_core::visible;
use tidegate_store::ArtifactId;

use super::Gate;
use crate::caller::Caller;
use crate::kept_result::{KeptResult, duration_text};
use crate::user_store::UserStore;

/// The maximum number of tokens of a list.
const MAX_LIST_TOKENS: u64 = 400;
/// The maximum number of results in a list.
const MAX_LISTED: usize = 20;
/// How many columns the line of a result names, from most to least detail.
const COLUMNS: [usize; 3] = [12, 6, 3];
/// How many characters of the call's arguments the line of a result shows, from most to least detail.
const ARGUMENT_CHARACTERS: [usize; 3] = [60, 40, 20];

/// What a list says about a result.
struct ListedResult {
    name: String,
    /// The tool, if the name of the result does not begin with its name.
    tool: Option<String>,
    age: String,
    records: Option<u64>,
    kind: String,
    columns: Vec<String>,
    arguments: String,
}

impl Gate {
    /// Lists the stored results of a caller's session.
    pub(super) fn kept_list(&self, caller: &Caller) -> String {
        let keep = self.keep_of(caller);
        let ids = if keep.is_unlisted() { Vec::new() } else { self.session(caller).kept() };
        let listed: Vec<ListedResult> =
            ids.iter().filter_map(|id| self.listed(caller, &keep, id)).take(MAX_LISTED).collect();
        if listed.is_empty() {
            return format!(
                "This session has kept no results that can be listed. Read a result of another session by its exact \
                 name: {} {{\"id\":\"...\"}}.",
                caller.query_tool
            );
        }
        self.list_text(caller, &listed, ids.len() > MAX_LISTED)
    }

    /// Returns what a list says about a result; `None` if it is gone, or if this caller may not read it.
    fn listed(&self, caller: &Caller, keep: &UserStore, id: &ArtifactId) -> Option<ListedResult> {
        let opened = keep.open_for(id).ok()?;
        let kept = KeptResult::open(keep, &opened, id, |artifact| self.policy(&artifact.tool)).ok()?;
        let artifact = kept.artifact();
        if !self.may_read(caller, artifact) {
            return None;
        }
        let origin = opened.store.origin(&keep.owner, id).unwrap_or_default();
        let age = keep.clock().now().since(artifact.created);
        let is_plain = handle_name(&artifact.tool, id.as_str()) == format!("{}-{id}", artifact.tool);
        let dataset = kept.dataset();
        let columns = dataset.fields().iter().filter(|field| !field.contains(['.', '['])).cloned();
        Some(ListedResult {
            name: kept.name(),
            tool: (!is_plain).then(|| artifact.tool.clone()),
            age: age_text(age),
            records: artifact.records,
            kind: artifact.kind.clone(),
            columns: columns.collect(),
            arguments: origin.arguments,
        })
    }

    /// Writes all results with the most detail that fits, or as many of the newest as fit with the least detail.
    fn list_text(&self, caller: &Caller, listed: &[ListedResult], has_more: bool) -> String {
        let meter = &caller.profile.meter;
        let written = |count: usize, detail: usize| {
            let lines: Vec<String> = listed[..count].iter().map(|result| result.line(detail)).collect();
            let is_all = count == listed.len() && !has_more;
            self.list_of_lines(caller, &listed[0].name, &lines, is_all)
        };
        let fits = |text: &String| meter.count(text).0 <= MAX_LIST_TOKENS;
        let all = (0..COLUMNS.len()).map(|detail| written(listed.len(), detail)).find(fits);
        let newest = || (1..listed.len()).rev().map(|count| written(count, COLUMNS.len() - 1)).find(fits);
        all.or_else(newest).unwrap_or_else(|| written(1, COLUMNS.len() - 1))
    }

    fn list_of_lines(&self, caller: &Caller, mark: &str, lines: &[String], is_all: bool) -> String {
        let languages = self.languages();
        let count = match (lines.len(), is_all) {
            (1, true) => "one result".to_owned(),
            (count, true) => format!("{count} results"),
            (count, false) => format!("more than {count} results"),
        };
        let mut head = format!(
            "This session kept {count}; newest first. Read one with {} {{\"id\":...}}.",
            caller.query_tool
        );
        if languages.sql {
            head.push_str(" In sql, each is also a table by its name in double quotes.");
        }
        if languages.jq {
            head.push_str(" In jq: $results[\"name\"].");
        }
        let end = if is_all { "end of the list" } else { "end; older ones are not shown" };
        fenced(mark, &head, &lines.join("\n"), end)
    }
}

impl ListedResult {
    /// Writes the line of a result; a higher number means less detail.
    fn line(&self, detail: usize) -> String {
        let mut parts = vec![self.age.clone()];
        parts.extend(self.tool.as_ref().map(|tool| format!("tool {}", visible::cut(tool, 40))));
        let max = COLUMNS[detail];
        let mut columns: Vec<String> =
            self.columns.iter().take(max).map(|column| visible::cut(column, 24)).collect();
        if self.columns.len() > max {
            columns.push(format!("+{}", self.columns.len() - max));
        }
        let columns = if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(",")) };
        parts.push(match self.records {
            Some(records) => format!("{records} records{columns}"),
            None => format!("{}{columns}", self.kind),
        });
        let arguments = short_arguments(&self.arguments, ARGUMENT_CHARACTERS[detail]);
        parts.extend((!arguments.is_empty()).then_some(arguments));
        format!("{}: {}", self.name, parts.join("; "))
    }
}

/// Formats the age of a result.
pub fn age_text(age: Duration) -> String {
    if age < Duration::from_secs(60) { "< 1 min".into() } else { duration_text(age) }
}

/// Formats the arguments of a call in a short form: `state=open limit=50`.
pub fn short_arguments(arguments: &str, characters: usize) -> String {
    let written = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let text = match serde_json::from_str::<Map<String, Value>>(arguments) {
        Ok(members) => {
            let members = members.iter().map(|(name, value)| format!("{name}={}", written(value)));
            members.collect::<Vec<_>>().join(" ")
        }
        // Only the beginning of long arguments is stored.
        Err(_) => arguments.to_owned(),
    };
    visible::cut(&text, characters)
}
