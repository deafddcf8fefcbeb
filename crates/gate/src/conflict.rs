//! Conflicts between the names of a server and ours, found in a list of tools that went through the gate.
//!
//! `tidegate doctor` reports them; the gate itself resolves them when it lists tools.

use serde_json::{Value, json};

use crate::output;
use crate::policy::Policy;
use crate::style::fetch::{NAMES, OTHER_NAMES};
use crate::tools::OTHER_NAME;

/// A name that the server uses and that would be ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Conflict {
    /// The server has a tool with the name of ours; ours has this name instead.
    Reader(&'static str),
    /// The tool has arguments of these names; ours have a prefix.
    Arguments(Vec<&'static str>),
    /// The tool has an argument `output` of its own, so ours is not offered.
    Output,
}

/// Returns the conflicts of a tool, as it was listed through the gate under a policy.
pub fn conflicts(tool: &Value, policy: &Policy) -> Vec<Conflict> {
    let mut found = Vec::new();
    if tool["name"] == OTHER_NAME {
        found.push(Conflict::Reader(OTHER_NAME));
    }
    let properties = &tool["inputSchema"]["properties"];
    if policy.negotiates() && properties.get(OTHER_NAMES[0]).is_some() {
        found.push(Conflict::Arguments(
            NAMES.into_iter().filter(|name| properties.get(name).is_some()).collect(),
        ));
    }
    let output = properties.get(output::NAME);
    if policy.offers_output && output.is_some_and(|listed| !output::is_ours(listed)) {
        found.push(Conflict::Output);
    }
    found
}

/// Returns whether a tool was listed with a schema against which a client may check results.
pub fn has_output_schema(tool: &Value) -> bool {
    tool.get("outputSchema").is_some_and(|schema| *schema != json!(null))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::negotiation::Offered;
    use crate::policy::{Policies, Rules};
    use crate::profile::Profile;
    use crate::raw::{self, Edits};
    use crate::style::Style;

    /// A tool as it is listed under rules.
    fn listed(tool: &Value, rules: Rules) -> Vec<Conflict> {
        let mut policies = Policies::default();
        policies.defaults = rules;
        let policy = policies.of_tool("t");
        let text = tool.to_string();
        let members = raw::members(text.as_bytes(), &raw::whole(text.as_bytes()).unwrap()).unwrap();
        let mut edits = Edits::new();
        Offered::default().offer(
            text.as_bytes(),
            "t",
            (&policy, &Profile::strictest()),
            &members,
            &mut edits,
        );
        conflicts(&serde_json::from_slice(&edits.apply(text.as_bytes())).unwrap(), &policy)
    }

    #[test]
    fn arguments_that_both_have() {
        let probe = || Rules { style: Some(Style::Probe), ..Rules::default() };
        let output = || Rules { offer_output: Some(true), ..Rules::default() };
        let tool = |names: &[&str]| {
            let properties: serde_json::Map<String, Value> =
                names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
            json!({"name": "t", "inputSchema": {"type": "object", "properties": properties}})
        };
        assert_eq!(listed(&tool(&["id"]), probe()), []);
        assert_eq!(listed(&tool(&["id"]), output()), []);
        assert_eq!(listed(&tool(&["page", "mode"]), Rules::default()), []);
        assert_eq!(listed(&tool(&["page", "mode"]), probe()), [Conflict::Arguments(vec!["mode", "page"])]);
        assert_eq!(listed(&tool(&["output"]), output()), [Conflict::Output]);
        assert_eq!(listed(&tool(&["output"]), probe()), []);
    }

    #[test]
    fn a_tool_of_our_name() {
        let ours = json!({"name": OTHER_NAME, "inputSchema": {"type": "object"}});
        assert_eq!(listed(&ours, Rules::default()), [Conflict::Reader(OTHER_NAME)]);
    }
}
