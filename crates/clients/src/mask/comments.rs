//! Masks comments, since an entry that was commented out still contains its token. Plain prose is shown.

use std::ops::Range;

use super::arguments;
use crate::document::{Node, Notation, Splice, Value};

/// Returns the splices that mask every comment that is not prose.
pub(super) fn mask(text: &str, root: &Node, notation: Notation) -> Vec<Splice> {
    let mut tokens = Vec::new();
    collect_spans(root, &mut tokens);
    tokens.sort_by_key(|span| span.start);
    tokens.push(text.len()..text.len());
    let mut splices = Vec::new();
    let mut done = 0;
    for span in tokens {
        // Between keys and values there are only punctuation and comments.
        while let Some(comment) = next_comment(text, done..span.start, notation) {
            done = comment.end;
            splices.extend(masked(&text[comment.clone()]).map(|masked| Splice::new(comment, masked)));
        }
        done = done.max(span.end);
    }
    splices
}

/// Collects the positions of all keys and scalar values.
fn collect_spans(node: &Node, spans: &mut Vec<Range<usize>>) {
    match &node.value {
        Value::Object(members) => members.iter().for_each(|member| {
            spans.push(member.key.clone());
            collect_spans(&member.value, spans);
        }),
        Value::Array(elements) => elements.iter().for_each(|element| collect_spans(element, spans)),
        _ => spans.push(node.span.clone()),
    }
}

/// Returns the first comment in a gap between two tokens.
fn next_comment(text: &str, gap: Range<usize>, notation: Notation) -> Option<Range<usize>> {
    let open = if notation == Notation::Toml { '#' } else { '/' };
    let start = gap.start + text.get(gap.clone())?.find(open)?;
    let rest = &text[start..gap.end];
    let end = match rest.starts_with("/*") {
        true => rest.find("*/").map(|end| end + 2),
        false => rest.find(['\r', '\n']),
    };
    Some(start..end.map_or(gap.end, |end| start + end))
}

/// Returns what is shown in place of a comment; `None` if the comment itself is shown.
fn masked(comment: &str) -> Option<&'static str> {
    let is_plain = |c: char| c.is_alphanumeric() || c.is_whitespace() || ".,;!?()-/*#'".contains(c);
    let is_prose = comment.chars().all(is_plain) && !comment.split_whitespace().any(arguments::is_suspect);
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

    fn masked_text(text: &str, notation: Notation) -> String {
        let root = notation.syntax().parse(text).unwrap();
        splice(text, mask(text, &root, notation)).unwrap()
    }

    #[test]
    fn prose_is_shown_and_code_is_masked() {
        let text = "// by node\n{ /* pinned */ \"a//b\": \"/*c*/\", // \"K\": \"x\"\r\n  /* K = 1,\n */ \"d\": [1] // my token x\n}";
        let shown = "// by node\n{ /* pinned */ \"a//b\": \"/*c*/\", // …\r\n  /* … */ \"d\": [1] // …\n}";
        assert_eq!(masked_text(text, Notation::Json), shown);
        let text = "# the usual one\na = \"#b\" # K = \"x\"\n[c] # ghp_1234567890abcdef\n# end";
        let shown = "# the usual one\na = \"#b\" # …\n[c] # …\n# end";
        assert_eq!(masked_text(text, Notation::Toml), shown);
    }
}
