//! Splits a record, which is JSON, into its members without parsing their values.

use std::ops::Range;

/// The longest string whose bytes are looked at one by one.
const MAX_SHORT_STRING: usize = 32;

/// Returns the members of an object: each name as written, without its quotes, and its value as written. Empty if this is
/// not an object.
pub(super) fn members(json: &str) -> Vec<(&str, &str)> {
    each_member(json).collect()
}

/// Returns the value of the first member with a name, both as written.
pub(super) fn member<'j>(json: &'j str, name: &str) -> Option<&'j str> {
    each_member(json).find(|(found, _)| *found == name).map(|(_, value)| value)
}

fn each_member(json: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = json.strip_prefix('{').and_then(|json| json.strip_suffix('}')).unwrap_or("");
    std::iter::from_fn(move || {
        let name = rest.trim_ascii_start().strip_prefix('"')?;
        let end = string_end(name.as_bytes())?;
        let value = name[end + 1..].trim_ascii_start().strip_prefix(':')?.trim_ascii_start();
        let length = value_length(value.as_bytes());
        rest = value[length..].strip_prefix(',').unwrap_or("");
        Some((&name[..end], value[..length].trim_ascii_end()))
    })
}

/// Returns the ranges of the elements of a list, of which the text begins with the first; `None` if the list has no end.
///
/// An element that is in an earlier list at about the same place is recognised by its bytes, and not scanned again.
pub(super) fn elements<'e>(
    text: &str,
    earlier: &dyn Fn(usize) -> Option<&'e str>,
) -> Option<Vec<Range<usize>>> {
    let (mut ranges, mut at, mut place) = (Vec::new(), 0_usize, 0_usize);
    loop {
        at += text[at..].len() - text[at..].trim_ascii_start().len();
        // The one at this place; the one before it if an element was added, the one after it if one was removed.
        let known = [place, place.wrapping_sub(1), place + 1].into_iter().find(|place| {
            let after =
                earlier(*place).and_then(|element| text.as_bytes()[at..].strip_prefix(element.as_bytes()));
            after.is_some_and(|after| matches!(after.trim_ascii_start().first(), Some(b',' | b']')))
        });
        let value = match known.and_then(earlier) {
            Some(element) => element.len(),
            None => text[at..at + value_length(&text.as_bytes()[at..])].trim_ascii_end().len(),
        };
        ranges.push(at..at + value);
        place = known.unwrap_or(place) + 1;
        at += value;
        at += text[at..].len() - text[at..].trim_ascii_start().len();
        match text.as_bytes().get(at)? {
            b',' => at += 1,
            _ => return Some(ranges),
        }
    }
}

/// Returns the position of the closing quote of a string whose opening quote was read.
fn string_end(bytes: &[u8]) -> Option<usize> {
    // Most strings are short, so that looking at each byte is faster than a call of `memchr`.
    let short = bytes.iter().take(MAX_SHORT_STRING).position(|byte| matches!(byte, b'"' | b'\\'));
    let mut at = match short {
        Some(at) if bytes[at] == b'"' => return Some(at),
        found => found.unwrap_or(MAX_SHORT_STRING),
    };
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)?;
        if bytes[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

/// Returns the length of the value at the beginning, up to the comma or the bracket after it.
fn value_length(bytes: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => match string_end(&bytes[at + 1..]) {
                Some(end) => at += end + 1,
                None => return bytes.len(),
            },
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return at,
            _ => {}
        }
        at += 1;
    }
    at
}

/// Collects the members of an object and of the objects in it, by their paths, such as `start.time`.
pub(super) fn flattened<'j>(json: &'j str, path: &str, out: &mut Vec<(String, &'j str)>) {
    for (name, value) in members(json) {
        let path = if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
        match value.starts_with('{') && value != "{}" {
            true => flattened(value, &path, out),
            false => out.push((path, value)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_returned_as_written() {
        let json = r#"{"a":1,"b\"c":"x,}\\","d":{"e":[1,{"f":","}]},"g":null}"#;
        assert_eq!(
            members(json),
            [("a", "1"), (r#"b\"c"#, r#""x,}\\""#), ("d", r#"{"e":[1,{"f":","}]}"#), ("g", "null")]
        );
        let mut flat = Vec::new();
        flattened(json, "", &mut flat);
        assert_eq!(flat[2], ("d.e".to_owned(), r#"[1,{"f":","}]"#));
        let spaced = r#"{ "a" : 1 , "b\"c": "x,}\\", "d": {"e": [1, {"f": ","}]} , "g":null }"#;
        assert_eq!(
            members(spaced),
            [("a", "1"), (r#"b\"c"#, r#""x,}\\""#), ("d", r#"{"e": [1, {"f": ","}]}"#), ("g", "null")]
        );
        assert_eq!(member(spaced, "d"), Some(r#"{"e": [1, {"f": ","}]}"#));
        for other in ["{}", "[1]", "7", "\"x\"", "", "{\"a", "{\"a\":\"b}"] {
            assert!(members(other).len() < 2, "{other}");
        }
    }
    #[test]
    fn elements_are_found_without_parsing() {
        let text = r#"{"a":"]"}, [1,[2]] ,7 , "x,\"]"  ],"more":1}"#;
        let expected = [r#"{"a":"]"}"#, "[1,[2]]", "7", r#""x,\"]""#];
        let known: [&[&str]; 5] =
            [&[], &expected, &expected[1..], &["7", "0", "7", "[1"], &["0", "{}", "{", "[1,[2]]", "7"]];
        for known in known {
            let found = elements(text, &|place| known.get(place).copied()).unwrap();
            let found: Vec<&str> = found.into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, expected, "{known:?}");
        }
        assert_eq!(elements("1,2", &|_| None), None);
        assert_eq!(elements("{\"a\":\"b", &|_| None), None);
    }
}
