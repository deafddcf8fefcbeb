//! The records of a kept result as JSON, exactly as they were written, whole or narrowed to some fields.
//!
//! The JSON styles show results through this: whatever the notation of a result, it is a list of items here.

use std::io;
use std::ops::ControlFlow;

use tidegate_core::view::{Dataset, nearest, visible_text};

use super::{cut, quoted};
use crate::raw::{self, ByteRange};

/// The maximum number of bytes read of one record.
const MAX_RECORD_BYTES: usize = 1 << 20;
/// The maximum number of bytes read of an object whose list is one of its members.
const MAX_OBJECT_BYTES: usize = 4 << 20;

/// How many members an object has, and some of them as JSON.
pub(crate) type Members = (u64, Vec<(String, String)>);

/// The items of a result.
pub(crate) struct Items<'d> {
    data: &'d Dataset<'d>,
    form: Form,
}

enum Form {
    /// Records of a list, or of a text in another notation.
    List,
    /// Members of the one object that the result is.
    Members,
    /// Records of a list inside an object, with the other members of it.
    Inside(Vec<(String, String)>),
    /// Data without records: nothing, or one value.
    Value(Option<String>),
    /// Text.
    Lines,
}

impl<'d> Items<'d> {
    pub(crate) fn new(data: &'d Dataset<'d>) -> io::Result<Self> {
        let form = match data.record_count() {
            0 if data.kind() == "json" => {
                let json = data
                    .to_json(MAX_OBJECT_BYTES)?
                    .and_then(|json| String::from_utf8(json).ok())
                    .unwrap_or_default();
                let empty = matches!(json.trim(), "" | "[]" | "{}");
                Form::Value((!empty).then(|| json.trim().to_owned()))
            }
            0 => Form::Lines,
            _ if data.records_path().is_empty() && data.is_keyed() => Form::Members,
            _ if data.records_path().is_empty() => Form::List,
            _ => Form::Inside(around(data)?),
        };
        Ok(Self { data, form })
    }

    /// Returns how many items there are.
    pub(crate) fn count(&self) -> io::Result<u64> {
        match &self.form {
            Form::Lines => self.data.line_count(),
            Form::Value(value) => Ok(u64::from(value.is_some())),
            _ => Ok(self.data.record_count()),
        }
    }

    /// Returns whether the result is text that is not data.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.form, Form::Lines)
    }

    /// Reads all items until `visit` breaks; those of an object without a list are its members.
    pub(crate) fn each_field(
        &self,
        mut visit: impl FnMut(Option<&str>, &str) -> ControlFlow<()>,
    ) -> io::Result<()> {
        let object = match &self.form {
            Form::Value(Some(json)) if json.starts_with('{') => json,
            _ => return self.each(0, |key, json| visit(key, &json)),
        };
        let whole = raw::whole(object.as_bytes());
        let members = whole.and_then(|whole| raw::members(object.as_bytes(), &whole)).unwrap_or_default();
        for member in members {
            if visit(Some(&member.key), &strict(&object[member.value])).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the names of the members beside the list, in the object that holds it.
    pub(crate) fn outside(&self) -> Vec<String> {
        let list = self.data.records_path();
        match &self.form {
            Form::Inside(members) if members.is_empty() => vec!["the object that holds the list".to_owned()],
            Form::Inside(members) => {
                let names = members.iter().map(|(name, _)| name.clone());
                names.filter(|name| !list.starts_with(name.as_str())).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns how many members a result that is an object has, and those of them that are wanted; `None` if it is not
    /// an object.
    pub(crate) fn members(&self, mut wanted: impl FnMut(&str) -> bool) -> io::Result<Option<Members>> {
        match &self.form {
            Form::Inside(members) if !members.is_empty() => {
                let found = members.iter().filter(|(key, _)| wanted(key)).cloned().collect();
                Ok(Some((members.len() as u64, found)))
            }
            Form::Members => {
                let mut found = Vec::new();
                self.each(0, |key, json| {
                    let key = key.unwrap_or_default();
                    if wanted(key) {
                        found.push((key.to_owned(), json));
                    }
                    ControlFlow::Continue(())
                })?;
                Ok(Some((self.data.record_count(), found)))
            }
            _ => Ok(None),
        }
    }

    /// Reads some items as JSON, each with its key where it has one; stops after about `bytes` bytes.
    pub(crate) fn read(
        &self,
        from: u64,
        count: u64,
        bytes: usize,
    ) -> io::Result<Vec<(Option<String>, String)>> {
        let (mut items, mut read) = (Vec::new(), 0);
        if count > 0 {
            self.each(from, |key, json| {
                read += json.len();
                items.push((key.map(str::to_owned), json));
                let enough = items.len() as u64 == count || read > bytes;
                if enough { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })?;
        }
        Ok(items)
    }

    /// Reads all items from one on, until `visit` breaks.
    pub(crate) fn each(
        &self,
        from: u64,
        mut visit: impl FnMut(Option<&str>, String) -> ControlFlow<()>,
    ) -> io::Result<()> {
        match &self.form {
            Form::Lines => {
                self.data.lines(from + 1, &mut |line| visit(None, quoted(&visible_text(line.text))))
            }
            Form::Value(value) => {
                if let Some(value) = value.as_ref().filter(|_| from == 0) {
                    let _ = visit(None, strict(value));
                }
                Ok(())
            }
            _ => self.data.records(from, MAX_RECORD_BYTES, &mut |record| {
                let json = if record.whole { strict(record.json) } else { quoted(&cut(record.json, 100)) };
                visit(record.key, json)
            }),
        }
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
                let wrong = cut(wrong, 80);
                if shown.is_empty() {
                    return Err(format!(
                        "filter_keys has {wrong:?}, but this result is text, which has no keys"
                    ));
                }
                let shown = shown.join(", ");
                Err(format!("filter_keys has {wrong:?}, which no item has{meant}; valid keys: {shown}"))
            }
        }
    }

    fn keys(&self) -> Vec<String> {
        let mut keys = self.data.fields().to_vec();
        // The keys of an object come before those of the values in it.
        let mut own = Vec::new();
        let looked = self.members(|key| {
            own.push(key.to_owned());
            false
        });
        if let Ok(Some(_)) = looked {
            keys = if matches!(self.form, Form::Members) { own } else { [own, keys].concat() };
        }
        keys
    }
}

/// Returns the members of the object that holds the list; none where it is too large to be read.
fn around(data: &Dataset<'_>) -> io::Result<Vec<(String, String)>> {
    let Some(json) = data.to_json(MAX_OBJECT_BYTES)? else { return Ok(Vec::new()) };
    let members = raw::whole(&json).and_then(|whole| raw::members(&json, &whole)).unwrap_or_default();
    let text = |place: &ByteRange| String::from_utf8_lossy(&json[place.clone()]).into_owned();
    Ok(members.iter().map(|member| (member.key.to_string(), text(&member.value))).collect())
}

/// Returns a value that every parser accepts: one that is no JSON, such as `NaN`, becomes a string.
fn strict(json: &str) -> String {
    match serde_json::from_str::<serde::de::IgnoredAny>(json) {
        Ok(_) => json.to_owned(),
        Err(_) => quoted(json),
    }
}

/// Follows a dotted path; a key that has dots itself is tried first.
pub(crate) fn at(json: &[u8], place: &ByteRange, key: &str) -> Option<ByteRange> {
    if let Some(found) = raw::member(json, place, key) {
        return Some(found);
    }
    let dots = key.match_indices('.').map(|(dot, _)| dot);
    dots.into_iter().find_map(|dot| at(json, &raw::member(json, place, &key[..dot])?, &key[dot + 1..]))
}

/// Returns an item with every value in it cut to `most` characters.
pub(crate) fn with_short_values(json: &str, most: usize) -> String {
    let bytes = json.as_bytes();
    let members = raw::whole(bytes).and_then(|whole| raw::members(bytes, &whole));
    let Some(members) = members else { return short(json, most) };
    let each = members.iter().map(|member| {
        format!("{}:{}", quoted(&cut(&member.key, most)), short(&json[member.value.clone()], most))
    });
    format!("{{{}}}", each.collect::<Vec<_>>().join(","))
}

/// Returns a value of at most `most` characters: a longer one becomes a string of its beginning.
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
