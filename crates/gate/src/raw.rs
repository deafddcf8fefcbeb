//! JSON as bytes that are searched and edited in a few places, never parsed and serialized again.
//!
//! A proxy forwards a message unchanged, so it needs the place of each member, not its value: a range of the
//! bytes, found without recursion, without limits of depth or number, and without a copy. Strings need not be valid
//! UTF-8. Places refer to the bytes given, so that [`Edits`] leaves every other byte alone. JSON parsers build values,
//! refuse such input, or cannot say where a value was.

pub mod skim;

use std::borrow::Cow;
use std::ops::Range;

use tidegate_core::quote::{self, Inside};

/// The byte range of a value.
pub type ByteRange = Range<usize>;

/// One member of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member<'j> {
    /// Its name.
    pub key: Cow<'j, str>,
    /// The place of its value.
    pub value: ByteRange,
    /// The place of name and value.
    pub whole: ByteRange,
}

/// Returns the members of the object at a place; `None` if there is no object.
pub fn members<'j>(json: &'j [u8], place: &ByteRange) -> Option<Vec<Member<'j>>> {
    let mut members = Vec::new();
    each_member(json, place, |member| members.push(member)).map(|()| members)
}

/// Calls `each` for every member of the object at a place; `None` if there is no object, which may be found only after
/// some calls.
pub fn each_member<'j>(json: &'j [u8], place: &ByteRange, mut each: impl FnMut(Member<'j>)) -> Option<()> {
    let mut reader = Scanner { json: json.get(..place.end)?, at: place.start };
    reader.open(b'{')?;
    if reader.closes(b'}')? {
        return reader.ends().then_some(());
    }
    loop {
        reader.space();
        let start = reader.at;
        let key = reader.string()?;
        reader.space();
        reader.expect(b':')?;
        reader.space();
        let value = reader.value()?;
        // Nobody looks for a name that cannot be decoded.
        let name =
            text(json, &key).unwrap_or_else(|| String::from_utf8_lossy(&json[key]).into_owned().into());
        each(Member { key: name, whole: start..value.end, value });
        reader.space();
        match reader.next()? {
            b',' => {}
            b'}' => return reader.ends().then_some(()),
            _ => return None,
        }
    }
}

/// Returns the elements of the array at a place; `None` if there is no array.
pub fn elements(json: &[u8], place: &ByteRange) -> Option<Vec<ByteRange>> {
    let mut reader = Scanner { json: json.get(..place.end)?, at: place.start };
    reader.open(b'[')?;
    let mut elements = Vec::new();
    if reader.closes(b']')? {
        return reader.ends().then_some(elements);
    }
    loop {
        reader.space();
        elements.push(reader.value()?);
        reader.space();
        match reader.next()? {
            b',' => {}
            b']' => return reader.ends().then_some(elements),
            _ => return None,
        }
    }
}

/// Returns the place of a member of the object at a place; of several with one name the last, as parsers do.
pub fn member(json: &[u8], place: &ByteRange, key: &str) -> Option<ByteRange> {
    members(json, place)?.into_iter().rev().find(|member| member.key == key).map(|member| member.value)
}

/// Follows names of members downwards.
pub fn at(json: &[u8], place: &ByteRange, path: &[&str]) -> Option<ByteRange> {
    path.iter().try_fold(place.clone(), |place, key| member(json, &place, key))
}

/// Returns the string at a place; `None` if there is none, or it is not valid.
pub fn text<'j>(json: &'j [u8], place: &ByteRange) -> Option<Cow<'j, str>> {
    let inside = json.get(place.clone())?.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
    if memchr::memchr(b'\\', inside).is_none() {
        return std::str::from_utf8(inside).ok().map(Cow::Borrowed);
    }
    serde_json::from_slice(&json[place.clone()]).ok().map(Cow::Owned)
}

/// Returns the place of the one value that the bytes hold, without the white space around it.
pub fn whole(json: &[u8]) -> Option<ByteRange> {
    let mut reader = Scanner { json, at: 0 };
    reader.space();
    let value = reader.value()?;
    reader.ends().then_some(value)
}

/// Adds an element or member to a container in a result.
pub(crate) fn added(result: &[u8], path: &[&str], bytes: &[u8]) -> Vec<u8> {
    let container = whole(result).and_then(|whole| at(result, &whole, path));
    let mut edits = Edits::new();
    if let Some(container) = container {
        edits.append(result, &container, bytes);
    }
    edits.apply(result)
}

struct Scanner<'j> {
    json: &'j [u8],
    at: usize,
}

impl Scanner<'_> {
    fn space(&mut self) {
        while matches!(self.json.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn next(&mut self) -> Option<u8> {
        let byte = *self.json.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.next()? == byte).then_some(())
    }

    fn open(&mut self, bracket: u8) -> Option<()> {
        self.space();
        self.expect(bracket)
    }

    fn closes(&mut self, bracket: u8) -> Option<bool> {
        self.space();
        let closes = *self.json.get(self.at)? == bracket;
        self.at += usize::from(closes);
        Some(closes)
    }

    fn ends(&mut self) -> bool {
        self.space();
        self.at == self.json.len()
    }

    fn string(&mut self) -> Option<ByteRange> {
        let start = self.at;
        self.expect(b'"')?;
        let Inside::Ends(end) = quote::closing(self.json, self.at, b'"', &mut false) else { return None };
        self.at = end + 1;
        Some(start..self.at)
    }

    fn value(&mut self) -> Option<ByteRange> {
        let start = self.at;
        match *self.json.get(self.at)? {
            b'"' => {
                self.string()?;
            }
            b'{' | b'[' => self.container()?,
            _ => {
                while self.json.get(self.at).is_some_and(|byte| is_scalar(*byte)) {
                    self.at += 1;
                }
            }
        }
        (self.at > start).then_some(start..self.at)
    }

    /// Passes over an object or array; brackets of both kinds are counted together, which a well-formed value cannot
    /// tell from counting them apart.
    fn container(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.json.get(self.at)? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Some(());
            }
        }
    }
}

fn is_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.')
}

/// Changes to some bytes; everything else stays as it is.
#[derive(Debug, Default)]
pub struct Edits {
    changes: Vec<(ByteRange, Vec<u8>)>,
}

impl Edits {
    /// Returns no change.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns whether nothing is to be changed.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// Puts other bytes at a place. Places of different changes must not overlap.
    pub fn replace(&mut self, place: ByteRange, bytes: impl Into<Vec<u8>>) {
        self.changes.push((place, bytes.into()));
    }

    /// Adds an element or member at the end of the container at a place.
    pub fn append(&mut self, json: &[u8], container: &ByteRange, bytes: &[u8]) {
        let close = container.end - 1;
        let inside = &json[container.start + 1..close];
        let mut added = Vec::with_capacity(bytes.len() + 1);
        if !inside.trim_ascii().is_empty() {
            added.push(b',');
        }
        added.extend_from_slice(bytes);
        self.replace(close..close, added);
    }

    /// Takes members of the object at a place away, with the commas that joined them.
    pub fn remove(&mut self, members: &[Member<'_>], gone: impl Fn(&Member<'_>) -> bool) {
        let mut kept_before = false;
        for (index, member) in members.iter().enumerate() {
            if !gone(member) {
                kept_before = true;
                continue;
            }
            let place = match (kept_before, members.get(index + 1)) {
                // After a kept member: from its end, so that its comma goes too.
                (true, _) => members[index - 1].whole.end..member.whole.end,
                (false, Some(next)) => member.whole.start..next.whole.start,
                (false, None) => member.whole.clone(),
            };
            self.replace(place, Vec::new());
        }
    }

    /// Returns the changes in the order of their places.
    pub fn in_order(mut self) -> Vec<(ByteRange, Vec<u8>)> {
        self.changes.sort_by_key(|(place, _)| (place.start, place.end));
        self.changes
    }

    /// Returns the bytes with all changes made; the same bytes where there are none.
    pub fn applied<'j>(self, json: Cow<'j, [u8]>) -> Cow<'j, [u8]> {
        if self.is_empty() { json } else { self.apply(&json).into() }
    }

    /// Returns the bytes with all changes made.
    pub fn apply(mut self, json: &[u8]) -> Vec<u8> {
        self.changes.sort_by_key(|(place, _)| (place.start, place.end));
        let added: usize = self.changes.iter().map(|(_, bytes)| bytes.len()).sum();
        let removed: usize = self.changes.iter().map(|(place, _)| place.len()).sum();
        let mut out = Vec::with_capacity((json.len() + added).saturating_sub(removed));
        let mut done = 0;
        for (place, bytes) in self.changes {
            out.extend_from_slice(&json[done..place.start.max(done)]);
            out.extend_from_slice(&bytes);
            done = done.max(place.end);
        }
        out.extend_from_slice(&json[done..]);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(json: &str) -> Option<Vec<(String, &str)>> {
        let place = whole(json.as_bytes())?;
        let members = members(json.as_bytes(), &place)?;
        Some(members.into_iter().map(|member| (member.key.into_owned(), &json[member.value])).collect())
    }

    #[test]
    fn members_are_found_where_they_stand() {
        let found = of(r#" { "a" : 1.0e400 ,"b\u0061":[{"x":"}]"}, "\"" ],"c":{},"d":null } "#).unwrap();
        let found: Vec<(&str, &str)> = found.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        assert_eq!(found, [("a", "1.0e400"), ("ba", r#"[{"x":"}]"}, "\"" ]"#), ("c", "{}"), ("d", "null")]);
        for broken in
            ["", "{", "{]", "{\"a\"}", "{\"a\":}", "{\"a\":1", "{\"a\":1}x", "[1", "log line", "{ x }"]
        {
            assert_eq!(of(broken), None, "{broken}");
        }
        let deep = format!("{{\"a\":{}1{}}}", "[".repeat(1 << 20), "]".repeat(1 << 20));
        assert_eq!(of(&deep).unwrap().len(), 1);
    }

    #[test]
    fn edits_leave_the_rest_alone() {
        let json = br#"{"tools":[ {"name":"a"} ],"x": 1.0,"y":2}"#;
        let place = whole(json).unwrap();
        let tools = member(json, &place, "tools").unwrap();
        let mut edits = Edits::new();
        edits.append(json, &tools, br#"{"name":"b"}"#);
        edits.remove(&members(json, &place).unwrap(), |member| member.key == "x");
        let edited = String::from_utf8(edits.apply(json)).unwrap();
        assert_eq!(edited, r#"{"tools":[ {"name":"a"} ,{"name":"b"}],"y":2}"#);
    }

    #[test]
    fn any_members_can_be_removed() {
        let json = br#"{"a":1,"b":2,"c":3,"d":4}"#;
        let place = whole(json).unwrap();
        let all = members(json, &place).unwrap();
        for mask in 0..16_u32 {
            let mut edits = Edits::new();
            let gone = |member: &Member<'_>| mask >> (member.key.as_bytes()[0] - b'a') & 1 == 1;
            edits.remove(&all, gone);
            let edited = String::from_utf8(edits.apply(json)).unwrap();
            let left = of(&edited).unwrap_or_else(|| panic!("{mask:b} {edited}"));
            assert_eq!(left.len() as u32, 4 - mask.count_ones(), "{edited}");
        }
    }
}
