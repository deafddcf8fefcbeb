//! Scalars of YAML: plain ones with their types, quoted ones, and blocks of lines.

use std::borrow::Cow;

use super::{DocumentReader, find_mark};
use crate::json::string;
use crate::translation::typed::is_number;
use crate::trim::trim_end;

/// Returns a text without the comment after it.
pub(super) fn without_comment(text: &str) -> &str {
    match find_mark(text, *b" #") {
        Some(comment) => trim_end(&text[..comment]),
        None => trim_end(text),
    }
}

/// Returns the offset after the closing quote of a text that begins with a quote.
pub(super) fn quoted_end(text: &str, quote: char) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if quote == '"' => at += 1,
            b'\'' if quote == '\'' && bytes.get(at + 1) == Some(&b'\'') => at += 1,
            byte if byte == quote as u8 => return Some(at + 1),
            _ => {}
        }
        at += 1;
    }
    None
}

/// Returns a key without its quotes; `None` if it is more than a scalar.
pub(super) fn key(written: &str) -> Option<Cow<'_, str>> {
    match written.chars().next()? {
        '"' => unescaped(&written[1..written.len() - 1]).map(Cow::Owned),
        '\'' => Some(written[1..written.len() - 1].replace("''", "'").into()),
        '&' | '*' | '!' | '|' | '>' | '%' | '@' | '`' | '[' | '{' | ']' | '}' | ',' => None,
        '?' | '-' if written.len() == 1 || written[1..].starts_with(' ') => None,
        _ => Some(written.into()),
    }
}

/// Returns the inside of a double-quoted scalar without its escapes.
pub(super) fn unescaped(inside: &str) -> Option<String> {
    let mut out = String::with_capacity(inside.len());
    let mut rest = inside.chars();
    while let Some(c) = rest.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        let digits = match rest.next()? {
            'n' => Err('\n'),
            't' | '\t' => Err('\t'),
            'r' => Err('\r'),
            '0' => Err('\0'),
            'a' => Err('\u{7}'),
            'b' => Err('\u{8}'),
            'v' => Err('\u{b}'),
            'f' => Err('\u{c}'),
            'e' => Err('\u{1b}'),
            'N' => Err('\u{85}'),
            '_' => Err('\u{a0}'),
            'L' => Err('\u{2028}'),
            'P' => Err('\u{2029}'),
            c @ (' ' | '"' | '/' | '\\') => Err(c),
            'x' => Ok(2),
            'u' => Ok(4),
            'U' => Ok(8),
            _ => return None,
        };
        out.push(match digits {
            Err(c) => c,
            Ok(count) => {
                let digits: String = rest.by_ref().take(count).collect();
                (digits.len() == count).then_some(())?;
                char::from_u32(u32::from_str_radix(&digits, 16).ok()?)?
            }
        });
    }
    Some(out)
}

/// Writes a plain scalar as the type that it has.
pub(super) fn write_plain(text: &str, out: &mut String) {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => out.push_str("null"),
        "true" | "True" | "TRUE" => out.push_str("true"),
        "false" | "False" | "FALSE" => out.push_str("false"),
        _ if is_number(text) => out.push_str(text),
        _ => string::write(text, out),
    }
}

impl<'y> DocumentReader<'y> {
    /// Reads a plain scalar, which may go on in lines that are indented by at least `least`.
    pub(super) fn plain(&mut self, text: &'y str, least: usize) -> Option<()> {
        let first = without_comment(text);
        let is_mapping = |text: &str| find_mark(text, *b": ").is_some() || text.ends_with(':');
        if is_mapping(first) {
            return None;
        }
        let mut whole: Option<String> = None;
        let mut breaks = 0;
        let mut ended = first.len() < trim_end(text).len();
        let mut end = self.at;
        while let Some(line) = self.lines.get(end) {
            end += 1;
            if line.text.is_empty() {
                breaks += 1;
                continue;
            }
            if line.indentation < least || line.text.starts_with('#') {
                break;
            }
            let text = without_comment(line.text);
            if ended || is_mapping(text) {
                return None;
            }
            let whole = whole.get_or_insert_with(|| first.to_owned());
            match std::mem::take(&mut breaks) {
                0 => whole.push(' '),
                count => (0..count).for_each(|_| whole.push('\n')),
            }
            whole.push_str(text);
            ended = text.len() < line.text.len();
            self.at = end;
        }
        match whole {
            Some(whole) => string::write(&whole, &mut self.out),
            None => write_plain(first, &mut self.out),
        }
        Some(())
    }

    /// Reads a literal (`|`) or folded (`>`) block.
    pub(super) fn block_scalar(&mut self, header: &str, least: usize) -> Option<()> {
        let folded = header.starts_with('>');
        let (mut chomp, mut indentation) = ('c', None);
        for c in without_comment(&header[1..]).chars() {
            match c {
                '+' | '-' => chomp = c,
                '1'..='9' => indentation = Some(least.saturating_sub(1) + (c as usize - '0' as usize)),
                _ => return None,
            }
        }
        let first = self.lines.from(self.at).find(|line| !line.raw.trim().is_empty());
        let indentation = match indentation {
            Some(indentation) => indentation,
            None => first.map_or(least, |line| line.indentation).max(least),
        };
        let mut lines: Vec<&str> = Vec::new();
        while let Some(line) = self.lines.get(self.at) {
            let blank = line.raw.trim().is_empty();
            if !blank && line.indentation < indentation {
                break;
            }
            lines.push(line.raw.get(indentation..).unwrap_or(""));
            self.at += 1;
        }
        let end = lines.iter().rposition(|line| !line.is_empty()).map_or(0, |last| last + 1);
        let trailing = lines.len() - end;
        let mut whole = if folded { fold(&lines[..end]) } else { lines[..end].join("\n") };
        match chomp {
            '-' => {}
            '+' => (0..trailing + usize::from(end > 0)).for_each(|_| whole.push('\n')),
            _ if end > 0 => whole.push('\n'),
            _ => {}
        }
        string::write(&whole, &mut self.out);
        Some(())
    }
}

/// Joins lines: a line break between two lines of text is a space, one beside an indented line stays.
fn fold(lines: &[&str]) -> String {
    let mut out = String::new();
    let mut breaks = 0;
    let mut previous: Option<&str> = None;
    for line in lines {
        if line.is_empty() {
            breaks += 1;
            continue;
        }
        let indented =
            line.starts_with([' ', '\t']) || previous.is_some_and(|line| line.starts_with([' ', '\t']));
        match (previous, std::mem::take(&mut breaks)) {
            (None, count) => (0..count).for_each(|_| out.push('\n')),
            (Some(_), 0) => out.push(if indented { '\n' } else { ' ' }),
            (Some(_), count) => (0..count + usize::from(indented)).for_each(|_| out.push('\n')),
        }
        out.push_str(line);
        previous = Some(line);
    }
    out
}
