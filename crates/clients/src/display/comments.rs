//! Comments that may hold a secret: an entry that was commented out has its token in it still. What is plain prose is shown.

use std::ops::Range;

use super::words;
use crate::document::{Node, Notation, Splice, Value};

/// Hides the comments of a text that are more than prose.
pub(super) fn hidden(text: &str, root: &Node, notation: Notation) -> Vec<Splice> {
    let mut solid = Vec::new();
    collect(root, &mut solid);
    solid.sort_by_key(|span| span.start);
    solid.push(text.len()..text.len());
    let mut splices = Vec::new();
    let mut done = 0;
    for span in solid {
        // Between keys and values there are signs and comments, and nothing else.
        while let Some(comment) = next(text, done..span.start, notation) {
            done = comment.end;
            splices.extend(shown(&text[comment.clone()]).map(|shown| Splice::new(comment, shown)));
        }
        done = done.max(span.end);
    }
    splices
}

/// The places of keys and values.
fn collect(node: &Node, spans: &mut Vec<Range<usize>>) {
    match &node.value {
        Value::Map(members) => members.iter().for_each(|member| {
            spans.push(member.key.clone());
            collect(&member.value, spans);
        }),
        Value::List(elements) => elements.iter().for_each(|element| collect(element, spans)),
        _ => spans.push(node.span.clone()),
    }
}

fn next(text: &str, gap: Range<usize>, notation: Notation) -> Option<Range<usize>> {
    let open = if notation == Notation::Toml { '#' } else { '/' };
    let start = gap.start + text.get(gap.clone())?.find(open)?;
    let rest = &text[start..gap.end];
    let end = match rest.starts_with("/*") {
        true => rest.find("*/").map(|end| end + 2),
        false => rest.find(['\r', '\n']),
    };
    Some(start..end.map_or(gap.end, |end| start + end))
}

/// What is shown in the place of a comment; `None` where it is shown itself.
fn shown(comment: &str) -> Option<&'static str> {
    let is_plain = |c: char| c.is_alphanumeric() || c.is_whitespace() || ".,;!?()-/*#'".contains(c);
    let is_prose = comment.chars().all(is_plain) && !comment.split_whitespace().any(words::is_suspect);
    match comment {
        _ if is_prose => None,
        _ if comment.starts_with('#') => Some("# …"),
        _ if comment.starts_with("//") => Some("// …"),
        _ => Some("/* … */"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::splice;

    fn masked(text: &str, notation: Notation) -> String {
        let root = notation.syntax().parse(text).unwrap();
        splice(text, hidden(text, &root, notation)).unwrap()
    }

    #[test]
    fn prose_is_shown_and_code_is_not() {
        let text = "// by node\n{ /* pinned */ \"a//b\": \"/*c*/\", // \"K\": \"x\"\r\n  /* K = 1,\n */ \"d\": [1] // my token x\n}";
        let shown = "// by node\n{ /* pinned */ \"a//b\": \"/*c*/\", // …\r\n  /* … */ \"d\": [1] // …\n}";
        assert_eq!(masked(text, Notation::Json), shown);
        let text = "# the usual one\na = \"#b\" # K = \"x\"\n[c] # ghp_1234567890abcdef\n# end";
        let shown = "# the usual one\na = \"#b\" # …\n[c] # …\n# end";
        assert_eq!(masked(text, Notation::Toml), shown);
    }
}
