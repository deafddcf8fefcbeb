//! Flow collections and quoted scalars of YAML, which may go on in further lines.

use super::scalar::{unescaped, write_plain};
use super::{DocumentReader, MAX_DEPTH};
use crate::json::string;

impl<'y> DocumentReader<'y> {
    /// Reads a flow collection or a quoted scalar that is all of a value.
    pub(super) fn flow(&mut self, text: &'y str, least: usize) -> Option<()> {
        let mut rest = text;
        self.flow_value(&mut rest, least, 0)?;
        let after = rest.trim_start();
        (after.is_empty() || after.starts_with('#')).then_some(())
    }

    /// Goes to the next visible character, in further lines if need be.
    fn skip_space(&mut self, rest: &mut &'y str, least: usize) -> Option<u8> {
        loop {
            *rest = rest.trim_start();
            match rest.as_bytes().first() {
                Some(b'#') | None => {
                    let line = self.lines.get(self.at)?;
                    let closes = line.text.starts_with([']', '}']);
                    (line.text.is_empty() || line.indentation >= least || closes).then_some(())?;
                    self.at += 1;
                    *rest = line.text;
                }
                Some(byte) => return Some(*byte),
            }
        }
    }

    fn flow_value(&mut self, rest: &mut &'y str, least: usize, depth: usize) -> Option<()> {
        (depth < MAX_DEPTH).then_some(())?;
        match self.skip_space(rest, least)? {
            b'[' => self.flow_sequence(rest, least, depth),
            b'{' => self.flow_mapping(rest, least, depth),
            b'"' | b'\'' => {
                let value = self.quoted(rest, least)?;
                string::write(&value, &mut self.out);
                Some(())
            }
            b'*' => {
                let alias = flow_plain(rest);
                let value = self.anchors.get(&alias[1..])?.clone();
                self.out.extend_from_within(value);
                (self.out.len() <= super::MAX_JSON_BYTES).then_some(())
            }
            b'&' | b'!' | b'|' | b'>' | b'%' | b'@' | b'`' => None,
            _ => {
                write_plain(flow_plain(rest), &mut self.out);
                Some(())
            }
        }
    }

    fn flow_sequence(&mut self, rest: &mut &'y str, least: usize, depth: usize) -> Option<()> {
        *rest = &rest[1..];
        self.out.push('[');
        loop {
            if self.skip_space(rest, least)? == b']' {
                break;
            }
            if !self.out.ends_with('[') {
                self.out.push(',');
            }
            self.flow_value(rest, least, depth + 1)?;
            if self.skip_space(rest, least)? == b',' {
                *rest = &rest[1..];
            } else if !rest.starts_with(']') {
                return None;
            }
        }
        *rest = &rest[1..];
        self.out.push(']');
        Some(())
    }

    fn flow_mapping(&mut self, rest: &mut &'y str, least: usize, depth: usize) -> Option<()> {
        *rest = &rest[1..];
        self.out.push('{');
        loop {
            let next = self.skip_space(rest, least)?;
            if next == b'}' {
                break;
            }
            self.separate();
            let key = match next {
                b'"' | b'\'' => self.quoted(rest, least)?,
                _ => flow_plain(rest).to_owned(),
            };
            (!key.is_empty() || matches!(next, b'"' | b'\'')).then_some(())?;
            string::write(&key, &mut self.out);
            self.out.push(':');
            if self.skip_space(rest, least)? == b':' {
                *rest = &rest[1..];
                match self.skip_space(rest, least)? {
                    b',' | b'}' => self.out.push_str("null"),
                    _ => self.flow_value(rest, least, depth + 1)?,
                }
            } else {
                self.out.push_str("null");
            }
            if self.skip_space(rest, least)? == b',' {
                *rest = &rest[1..];
            } else if !rest.starts_with('}') {
                return None;
            }
        }
        *rest = &rest[1..];
        self.out.push('}');
        Some(())
    }

    /// Reads a quoted scalar; a line break in it is a space, and blank lines are line breaks.
    fn quoted(&mut self, rest: &mut &'y str, least: usize) -> Option<String> {
        let quote = rest.chars().next()?;
        let mut inside = String::new();
        let mut text = &rest[1..];
        loop {
            let marked = format!("{quote}{text}");
            if let Some(end) = super::scalar::quoted_end(&marked, quote) {
                inside.push_str(&text[..end - 2]);
                *rest = &text[end - 1..];
                break;
            }
            // The line break may be escaped.
            let escaped = quote == '"' && text.ends_with('\\');
            inside.push_str(if escaped { &text[..text.len() - 1] } else { text.trim_end() });
            let mut breaks = 0;
            text = loop {
                let line = self.lines.get(self.at)?;
                self.at += 1;
                if line.text.is_empty() {
                    breaks += 1;
                } else {
                    (line.indentation >= least).then_some(())?;
                    break line.text;
                }
            };
            match breaks {
                0 if escaped => {}
                0 => inside.push(' '),
                count => (0..count).for_each(|_| inside.push('\n')),
            }
        }
        if quote == '"' { unescaped(&inside) } else { Some(inside.replace("''", "'")) }
    }
}

/// Takes a plain scalar inside a flow collection from the beginning of a text.
fn flow_plain<'y>(rest: &mut &'y str) -> &'y str {
    let bytes = rest.as_bytes();
    let ends = |at: usize| match bytes[at] {
        b',' | b'[' | b']' | b'{' | b'}' => true,
        b':' => matches!(bytes.get(at + 1), None | Some(b' ' | b',' | b'}' | b']')),
        b'#' => at > 0 && bytes[at - 1] == b' ',
        _ => false,
    };
    let end = (0..bytes.len()).find(|at| ends(*at)).unwrap_or(bytes.len());
    let (scalar, after) = rest.split_at(end);
    *rest = after;
    scalar.trim_end()
}

/// Splits an object that this reader wrote into its keys and values; `None` if it is not an object.
pub(super) fn members(object: &str) -> Option<Vec<(&str, &str)>> {
    let inside = object.strip_prefix('{')?.strip_suffix('}')?;
    let bytes = inside.as_bytes();
    let mut members = Vec::new();
    let (mut start, mut colon, mut depth, mut at) = (0, None, 0usize, 0);
    while at <= bytes.len() {
        match bytes.get(at) {
            Some(b'"') => at += super::scalar::quoted_end(&inside[at..], '"')? - 1,
            Some(b'[' | b'{') => depth += 1,
            Some(b']' | b'}') => depth -= 1,
            Some(b':') if depth == 0 => colon = colon.or(Some(at)),
            Some(b',') | None if depth == 0 => {
                if let Some(colon) = colon.take() {
                    members.push((&inside[start..colon], &inside[colon + 1..at]));
                }
                start = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    Some(members)
}
