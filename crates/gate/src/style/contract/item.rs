//! One item of a contract: an id, a label and, if the record has one, a severity.
//!
//! Id and label come from the fields that the policy names, or else from those that usually hold them.

use std::borrow::Cow;

use tidegate_core::view::visible_text;

use crate::raw::{self, ByteRange};
use crate::style::items::at;
use crate::style::{cut_within, quoted};

/// The maximum number of characters of an id or a label.
const MAX_LABEL_CHARS: usize = 50;

/// The severities, most severe first.
pub(super) const SEVERITIES: [&str; 4] = ["critical", "high", "medium", "low"];
/// The fields that hold the severity of an item, likeliest first.
const SEVERITY_FIELDS: [&str; 3] = ["severity", "priority", "level"];
/// The fields that hold the label of an item, likeliest first.
const LABEL_FIELDS: [&str; 9] =
    ["title", "label", "name", "summary", "message", "description", "text", "path", "file"];
/// The fields that hold the id of an item, likeliest first.
const ID_FIELDS: [&str; 8] = ["id", "key", "number", "uuid", "slug", "name", "path", "sha"];

/// The fields that a policy names for the items of a contract.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ItemFields {
    /// The field of the label; a path such as `product.name`.
    pub label: Option<String>,
    /// The field of the id; a path such as `product.id`.
    pub id: Option<String>,
}

pub(super) struct Item {
    id: String,
    label: String,
    /// The position of its severity in [`SEVERITIES`].
    pub(super) severity: Option<usize>,
    /// Whether id and label are all of it.
    pub(super) is_whole: bool,
}

impl Item {
    /// Returns the item of a record; `number` is its position and `key` its key, if it is a member of an object.
    pub(super) fn new(number: u64, key: Option<&str>, json: &str, fields: &ItemFields) -> Self {
        let record = Record::new(json);
        let named = |field: &Option<String>| record.value(field.as_deref()?);
        let id = named(&fields.id)
            .or_else(|| key.map(visible_text))
            .or_else(|| ID_FIELDS.iter().find_map(|name| record.value(name)))
            .unwrap_or_else(|| (number + 1).to_string());
        let is_container = json.starts_with(['{', '[']);
        let label = named(&fields.label)
            .or_else(|| record.label(&id))
            .unwrap_or_else(|| if is_container && key.is_none() { id.clone() } else { record.text() });
        Self {
            is_whole: !is_container && label.chars().count() <= MAX_LABEL_CHARS,
            id: cut_within(&id, MAX_LABEL_CHARS),
            label: cut_within(&label, MAX_LABEL_CHARS),
            severity: severity(json),
        }
    }

    /// Returns the item of a line, with its number as the id.
    pub(super) fn line(number: u64, text: &str) -> Self {
        let text = visible_text(text.trim_end());
        Self {
            id: number.to_string(),
            label: cut_within(&text, MAX_LABEL_CHARS),
            severity: None,
            is_whole: text.chars().count() <= MAX_LABEL_CHARS,
        }
    }

    pub(super) fn written(&self) -> String {
        let severity =
            self.severity.map_or_else(String::new, |at| format!(r#","severity":"{}""#, SEVERITIES[at]));
        format!(r#"{{"id":{},"label":{}{severity}}}"#, quoted(&self.id), quoted(&self.label))
    }
}

/// Returns the severity of a record, as a position in [`SEVERITIES`].
pub(super) fn severity(json: &str) -> Option<usize> {
    let record = Record::new(json);
    let found = SEVERITY_FIELDS.iter().find_map(|name| record.value(name))?.to_lowercase();
    SEVERITIES.iter().position(|known| *known == found)
}

/// A record as JSON.
struct Record<'r> {
    json: &'r str,
    whole: ByteRange,
}

impl<'r> Record<'r> {
    fn new(json: &'r str) -> Self {
        Self { json, whole: raw::whole(json.as_bytes()).unwrap_or(0..0) }
    }

    /// Returns the value of a field, if it is a scalar; one that is null or a container says nothing.
    fn value(&self, name: &str) -> Option<String> {
        self.scalar(&at(self.json.as_bytes(), &self.whole, name)?)
    }

    fn scalar(&self, place: &ByteRange) -> Option<String> {
        let written = &self.json[place.clone()];
        let says_nothing = written.starts_with(['{', '[']) || matches!(written, "null" | "\"\"");
        let text = || raw::text(self.json.as_bytes(), place).unwrap_or(Cow::Borrowed(written));
        (!says_nothing).then(|| visible_text(&text()))
    }

    /// Returns the label of an object: a field of a usual name, one whose name ends with such a name, as `product__name`
    /// does, or the first text that is not the id.
    fn label(&self, id: &str) -> Option<String> {
        if let Some(label) = LABEL_FIELDS.iter().find_map(|name| self.value(name)) {
            return Some(label);
        }
        let members = raw::members(self.json.as_bytes(), &self.whole)?;
        let texts = || {
            let texts = members.iter().filter(|member| self.json.as_bytes()[member.value.start] == b'"');
            texts.filter_map(|member| Some((&member.key, self.scalar(&member.value)?)))
        };
        let named = |name: &&str| texts().find(|(key, _)| ends_with_word(key, name));
        let found = LABEL_FIELDS.iter().find_map(named);
        found.or_else(|| texts().find(|(_, text)| text != id)).map(|(_, text)| text)
    }

    /// Returns the record itself as a text.
    fn text(&self) -> String {
        visible_text(&raw::text(self.json.as_bytes(), &self.whole).unwrap_or(Cow::Borrowed(self.json)))
    }
}

/// Returns whether a name ends with a word of its own, as `product__name` and `productName` do.
fn ends_with_word(name: &str, word: &str) -> bool {
    let Some(start) = name.len().checked_sub(word.len()) else { return false };
    let Some((before, end)) = name.split_at_checked(start) else { return false };
    let begins = before.ends_with(|c: char| !c.is_alphanumeric())
        || end.starts_with(|c: char| c.is_uppercase()) && before.ends_with(|c: char| c.is_lowercase());
    begins && end.eq_ignore_ascii_case(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(json: &str, fields: &ItemFields) -> (String, String) {
        let item = Item::new(0, None, json, fields);
        (item.id, item.label)
    }

    #[test]
    fn labels_come_from_the_likeliest_field() {
        let fields = ItemFields::default();
        for (json, id, label) in [
            (r#"{"id":7,"title":"crash","name":"x"}"#, "7", "crash"),
            (r#"{"id":0,"product__name":"Widget A","warehouse__name":"North"}"#, "0", "Widget A"),
            (r#"{"id":1,"state":"open","productName":"Widget"}"#, "1", "Widget"),
            (r#"{"id":"a","rename":"no","city":"Berlin"}"#, "a", "no"),
            (r#"{"id":"a","n":5}"#, "a", "a"),
            (r#"{"name":null,"number":3}"#, "3", "3"),
            (r#""text""#, "1", "text"),
            ("[1,2]", "1", "1"),
        ] {
            assert_eq!(item(json, &fields), (id.into(), label.into()), "{json}");
        }
    }

    #[test]
    fn a_policy_names_the_fields() {
        let fields = ItemFields { label: Some("product.name".into()), id: Some("product.sku".into()) };
        let json = r#"{"id":1,"title":"no","product":{"name":"Widget","sku":"w-1"}}"#;
        assert_eq!(item(json, &fields), ("w-1".into(), "Widget".into()));
        assert_eq!(item(r#"{"id":1,"title":"yes"}"#, &fields), ("1".into(), "yes".into()), "it has neither");
    }
}
