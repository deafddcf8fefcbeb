//! What one server offers: its tools, prompts, resources and templates, each entry as the server wrote it.

use std::collections::HashSet;

use serde_json::Value;
use tidegate_gate::raw;

/// A kind of list that servers offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ListKind {
    /// `tools/list`.
    Tools,
    /// `prompts/list`.
    Prompts,
    /// `resources/list`.
    Resources,
    /// `resources/templates/list`.
    Templates,
}

impl ListKind {
    /// All lists.
    pub const ALL: [Self; 4] = [Self::Tools, Self::Prompts, Self::Resources, Self::Templates];

    /// Returns the list that a method asks for.
    pub fn of_method(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.method() == method)
    }

    /// Returns the method that asks for it.
    pub fn method(self) -> &'static str {
        match self {
            Self::Tools => "tools/list",
            Self::Prompts => "prompts/list",
            Self::Resources => "resources/list",
            Self::Templates => "resources/templates/list",
        }
    }

    /// Returns the member of the result that holds it.
    pub fn member(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources => "resources",
            Self::Templates => "resourceTemplates",
        }
    }

    /// Returns the member of an entry that identifies it.
    pub fn key(self) -> &'static str {
        match self {
            Self::Tools | Self::Prompts => "name",
            Self::Resources => "uri",
            Self::Templates => "uriTemplate",
        }
    }

    /// Returns the capability by which a server declares it.
    pub fn capability(self) -> &'static str {
        match self {
            Self::Tools => "tools",
            Self::Prompts => "prompts",
            Self::Resources | Self::Templates => "resources",
        }
    }

    /// Returns the lists that a notification declares changed.
    pub fn of_change(method: &str) -> Option<&'static [Self]> {
        match method {
            "notifications/tools/list_changed" => Some(&[Self::Tools]),
            "notifications/prompts/list_changed" => Some(&[Self::Prompts]),
            "notifications/resources/list_changed" => Some(&[Self::Resources, Self::Templates]),
            _ => None,
        }
    }
}

/// An entry of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name or URI.
    pub key: String,
    /// The entry, as its server wrote it.
    pub json: Vec<u8>,
}

/// A page of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// Its entries, except those without a name or URI.
    pub entries: Vec<Entry>,
    /// The cursor of the next page, as JSON.
    pub next: Option<String>,
}

impl Page {
    /// Reads the result of a list request; `None` if it is not a page of this list.
    pub fn read(kind: ListKind, result: &[u8]) -> Option<Self> {
        let whole = raw::whole(result)?;
        let list = raw::member(result, &whole, kind.member())?;
        let entry = |place: &raw::ByteRange| {
            let key = raw::member(result, place, kind.key())?;
            let key = raw::text(result, &key)?.into_owned();
            Some(Entry { key, json: result[place.clone()].to_vec() })
        };
        let entries = raw::elements(result, &list)?.iter().filter_map(entry).collect();
        let next = raw::member(result, &whole, "nextCursor").map(|place| &result[place]);
        let next = next.filter(|next| *next != b"null" && *next != b"\"\"");
        Some(Self { entries, next: next.map(|next| String::from_utf8_lossy(next).into_owned()) })
    }
}

/// What one server offers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    lists: [Vec<Entry>; 4],
}

impl Catalog {
    /// Returns a list.
    pub fn list(&self, kind: ListKind) -> &[Entry] {
        &self.lists[kind as usize]
    }

    /// Sets a list; of entries with the same key the first is kept.
    pub fn set(&mut self, kind: ListKind, mut entries: Vec<Entry>) {
        let mut known = HashSet::new();
        entries.retain(|entry| known.insert(entry.key.clone()));
        self.lists[kind as usize] = entries;
    }

    /// Returns whether a list has an entry.
    pub fn has(&self, kind: ListKind, key: &str) -> bool {
        self.list(kind).iter().any(|entry| entry.key == key)
    }

    /// Returns how many bytes of a URI the best matching template spells out; `None` if no template matches.
    pub fn matching_template(&self, uri: &str) -> Option<usize> {
        self.list(ListKind::Templates).iter().filter_map(|entry| template_match(&entry.key, uri)).max()
    }
}

/// Returns how many bytes of a URI a template spells out before its first variable; `None` if it does not match.
fn template_match(template: &str, uri: &str) -> Option<usize> {
    let (start, rest) = template.split_once('{').unwrap_or((template, ""));
    if rest.is_empty() {
        return (template == uri).then_some(uri.len());
    }
    let end = rest.rsplit_once('}').map_or("", |(_, end)| end);
    (uri.len() >= start.len() + end.len() && uri.starts_with(start) && uri.ends_with(end))
        .then_some(start.len())
}

/// What a server said about itself when tidegate connected to it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Announcement {
    /// Its capabilities.
    pub capabilities: Value,
    /// Its instructions for the model.
    pub instructions: Option<String>,
}

impl Announcement {
    /// Reads the result of `initialize` or `server/discover`.
    pub fn read(result: &[u8]) -> Self {
        let result: Value = serde_json::from_slice(result).unwrap_or_default();
        Self {
            capabilities: result["capabilities"].clone(),
            instructions: result["instructions"].as_str().map(str::to_owned),
        }
    }

    /// Returns whether the server declares the capability of a list.
    pub fn has(&self, kind: ListKind) -> bool {
        self.capabilities.get(kind.capability()).is_some_and(|capability| !capability.is_null())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_kept_as_written() {
        let result =
            br#"{"tools":[{"name":"a","x":1.0}, {"title":"no name"},{"name":"b"}],"nextCursor":"c\n"}"#;
        let page = Page::read(ListKind::Tools, result).unwrap();
        assert_eq!(page.entries.len(), 2);
        assert_eq!(page.entries[0].json, br#"{"name":"a","x":1.0}"#);
        assert_eq!(page.next.as_deref(), Some(r#""c\n""#));
        assert_eq!(Page::read(ListKind::Tools, b"{\"tools\":[],\"nextCursor\":null}").unwrap().next, None);
        assert_eq!(Page::read(ListKind::Prompts, result), None);
    }

    #[test]
    fn a_template_matches_by_the_text_around_its_variables() {
        for (template, uri, expected) in [
            ("file:///{path}", "file:///a/b", Some(8)),
            ("db://{table}/schema", "db://t/schema", Some(5)),
            ("db://{table}/schema", "db://t/rows", None),
            ("plain://x", "plain://x", Some(9)),
            ("plain://x", "plain://y", None),
            ("{+any}", "x:y", Some(0)),
        ] {
            assert_eq!(template_match(template, uri), expected, "{template} {uri}");
        }
    }
}
