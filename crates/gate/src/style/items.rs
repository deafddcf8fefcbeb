//! The records of a kept result as JSON, exactly as they were written, whole or narrowed to some fields.

use std::io;
use std::ops::ControlFlow;

use tidegate_core::view::{Dataset, nearest};

use super::{cut, quoted};
use crate::raw::{self, Place};

/// The most bytes read of one record.
const RECORD: usize = 1 << 20;

/// What a result consists of: records, members of an object, or lines.
pub(crate) struct Items<'d> {
    data: &'d Dataset<'d>,
    /// Whether they are members of the one object that the result is.
    pub(crate) members: bool,
}

impl<'d> Items<'d> {
    pub(crate) fn new(data: &'d Dataset<'d>) -> Self {
        Self { data, members: data.is_keyed() && data.records_path().is_empty() }
    }

    /// Returns how many there are.
    pub(crate) fn count(&self) -> io::Result<u64> {
        match self.data.record_count() {
            0 => self.data.line_count(),
            count => Ok(count),
        }
    }

    /// Reads some of them as JSON, each with its key where it has one.
    pub(crate) fn read(&self, from: u64, count: u64) -> io::Result<Vec<(Option<String>, String)>> {
        let mut items = Vec::new();
        if count > 0 {
            self.each(from, |key, json| {
                items.push((key.map(str::to_owned), json));
                if items.len() as u64 == count { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
        }
        Ok(items)
    }

    /// Reads all of them, until `visit` breaks.
    pub(crate) fn each(
        &self,
        from: u64,
        mut visit: impl FnMut(Option<&str>, String) -> ControlFlow<()>,
    ) -> io::Result<()> {
        if self.data.record_count() == 0 {
            return self.data.lines(from + 1, &mut |line| visit(None, quoted(line.text)));
        }
        self.data.records(from, RECORD, &mut |record| {
            let json = if record.whole { record.json.to_owned() } else { quoted(&cut(record.json, 100)) };
            visit(record.key, json)
        })
    }

    /// Narrows an item to some keys, which may be dotted paths; keys it does not have are left out.
    pub(crate) fn narrowed(json: &str, keys: &[String]) -> String {
        let bytes = json.as_bytes();
        let Some(whole) = raw::whole(bytes).filter(|_| bytes.first() == Some(&b'{')) else {
            return json.to_owned();
        };
        let found = keys.iter().filter_map(|key| {
            let place = at(bytes, &whole, key)?;
            Some(format!("{}:{}", quoted(key), &json[place]))
        });
        format!("{{{}}}", found.collect::<Vec<_>>().join(","))
    }

    /// Says what is wrong with keys that no item has.
    pub(crate) fn check_keys(&self, keys: &[String]) -> Result<(), String> {
        let known = self.keys();
        let is_known = |key: &str| {
            known.iter().any(|path| {
                path == key
                    || path.strip_prefix(key).is_some_and(|rest| rest.starts_with(['.', '[']))
                    || key.strip_prefix(path.as_str()).is_some_and(|rest| rest.starts_with('.'))
            })
        };
        match keys.iter().find(|key| !is_known(key)) {
            None => Ok(()),
            Some(wrong) => {
                let near = nearest(wrong, known.iter().map(String::as_str));
                let meant =
                    near.first().map_or_else(String::new, |near| format!(" (did you mean {near:?}?)"));
                let mut shown: Vec<&str> = known.iter().map(String::as_str).take(30).collect();
                if known.len() > 30 {
                    shown.push("...");
                }
                let (wrong, shown) = (cut(wrong, 80), shown.join(", "));
                Err(format!("filter_keys has {wrong:?}, which no item has{meant}; valid keys: {shown}"))
            }
        }
    }

    fn keys(&self) -> Vec<String> {
        if self.members {
            // Of an object the keys are its own, not those of what stands below them.
            let members = self.read(0, 1000).unwrap_or_default();
            return members.into_iter().filter_map(|(key, _)| key).collect();
        }
        self.data.fields().to_vec()
    }
}

/// Follows a dotted path; a key that has dots itself is tried first.
pub(crate) fn at(json: &[u8], place: &Place, key: &str) -> Option<Place> {
    if let Some(found) = raw::member(json, place, key) {
        return Some(found);
    }
    let dots = key.match_indices('.').map(|(dot, _)| dot);
    dots.into_iter().find_map(|dot| at(json, &raw::member(json, place, &key[..dot])?, &key[dot + 1..]))
}

/// An item with every value in it cut to so many characters.
pub(crate) fn with_short_values(json: &str, most: usize) -> String {
    let bytes = json.as_bytes();
    let members = raw::whole(bytes).and_then(|whole| raw::members(bytes, &whole));
    let Some(members) = members else { return short(json, most) };
    let each = members.iter().map(|member| {
        format!("{}:{}", quoted(&cut(&member.key, most)), short(&json[member.value.clone()], most))
    });
    format!("{{{}}}", each.collect::<Vec<_>>().join(","))
}

/// A value of at most so many characters: what is longer becomes the beginning of its text.
pub(crate) fn short(json: &str, most: usize) -> String {
    let text = raw::text(json.as_bytes(), &(0..json.len()));
    match text {
        Some(text) if text.chars().nth(most).is_some() => quoted(&cut(&text, most)),
        None if json.chars().nth(most).is_some() => quoted(&cut(json, most)),
        _ => json.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_followed_and_values_stay_as_written() {
        let json = r#"{"id":1.0,"a.b":2,"a":{"b":3,"c":{"d":12345678901234567890123}},"n":null}"#;
        let keys = ["id", "a.b", "a.c.d", "n", "x"].map(str::to_owned);
        assert_eq!(
            Items::narrowed(json, &keys),
            r#"{"id":1.0,"a.b":2,"a.c.d":12345678901234567890123,"n":null}"#
        );
        assert_eq!(Items::narrowed("[1]", &keys), "[1]");
    }

    #[test]
    fn long_values_are_cut_and_short_ones_stay() {
        let json = format!(
            r#"{{"s":"{}","t":"ok\u00e9","l":[{}],"n":1e5}}"#,
            "x".repeat(200),
            "1,".repeat(99) + "1"
        );
        let made = with_short_values(&json, 100);
        let value: serde_json::Value = serde_json::from_str(&made).unwrap();
        assert_eq!(value["s"].as_str().unwrap().chars().count(), 103);
        assert!(value["l"].as_str().unwrap().starts_with("[1,1"));
        assert!(made.contains(r#""n":1e5"#) && made.contains(r#""t":"ok\u00e9""#));
    }
}
