//! A file's text as it may be shown: what can be a secret is hidden.

use crate::address;
use crate::document::{Node, Notation, Splice, Value, splice};
use crate::text::unmarked;

/// Members whose values are secrets more often than not.
const SECRET: [&str; 4] = ["env", "environment", "headers", "http_headers"];
/// Members that are addresses.
const ADDRESS: [&str; 3] = ["url", "httpUrl", "serverUrl"];

/// Returns a text with the values of variables and headers, and addresses that are not open, hidden behind `"…"`.
///
/// A text that cannot be read is not shown at all.
pub fn masked(text: &str, notation: Notation) -> String {
    let (_, text) = unmarked(text);
    let Ok(root) = notation.syntax().parse(text) else { return String::new() };
    let mut splices = Vec::new();
    hide(&root, &mut splices);
    splice(text, splices).unwrap_or_default()
}

fn hide(node: &Node, splices: &mut Vec<Splice>) {
    let mask = |node: &Node| Splice::new(node.span.clone(), "\"…\"");
    match &node.value {
        Value::List(elements) => elements.iter().for_each(|element| hide(element, splices)),
        Value::Map(members) => {
            for member in members {
                let address = member.value.text().filter(|_| ADDRESS.contains(&member.name.as_str()));
                if SECRET.contains(&member.name.as_str()) {
                    let values = member.value.members().iter().map(|member| &member.value);
                    // A reference is none itself.
                    let literal = |value: &&Node| value.text().is_some_and(|text| !text.contains(['$', '{']));
                    splices.extend(values.filter(literal).map(mask));
                } else if address.is_some_and(|address| !address::is_open(address)) {
                    splices.push(mask(&member.value));
                } else {
                    hide(&member.value, splices);
                }
            }
        }
        _ => {}
    }
}
