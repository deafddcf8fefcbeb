//! Merges the lists of all servers into one, in pages with the gateway's own cursor.
//!
//! Servers come in the order of the configuration, and entries in the order of their server. Tools and prompts get their
//! listed names. URIs of resources stay as they are, and the first server that lists a URI owns it. A cursor names the last
//! entry of its page, so that a page continues where it ended even if entries before it come or go.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tidegate_gate::raw::{self, Edits};

use crate::catalog::{Catalog, Entry, ListKind};
use crate::names::listed_name;
use crate::seal::{Purpose, Sealer};

/// The maximum number of entries in a page. It is large, because many clients read only one page.
const MAX_PAGE_ENTRIES: usize = 1000;
/// The maximum size of a page, unless a single entry is larger.
const MAX_PAGE_BYTES: usize = 4 << 20;

/// The lists of one server, and the names under which they are listed.
#[derive(Debug, Clone)]
pub struct ServerLists {
    /// The name of the server.
    pub server: Arc<str>,
    /// Whether its tools and prompts keep their own names, because it is the only server.
    pub keeps_names: bool,
    /// Its lists.
    pub catalog: Arc<Catalog>,
}

impl ServerLists {
    /// Returns the name under which an entry is listed.
    pub fn listed(&self, kind: ListKind, key: &str) -> String {
        match kind {
            ListKind::Tools | ListKind::Prompts if !self.keeps_names => listed_name(&self.server, key),
            _ => key.to_owned(),
        }
    }
}

/// An entry of the merged list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedEntry {
    /// The name or URI under which it is listed.
    pub name: String,
    /// The server it belongs to.
    pub server: Arc<str>,
    /// The name or URI that its server gave it.
    pub key: String,
    /// The entry, with its listed name.
    pub json: Vec<u8>,
}

/// Merges a list of several servers.
pub fn merge(kind: ListKind, servers: &[ServerLists]) -> Vec<ListedEntry> {
    let mut known = HashSet::new();
    let mut merged = Vec::new();
    for lists in servers {
        for entry in lists.catalog.list(kind) {
            let name = lists.listed(kind, &entry.key);
            if known.insert(name.clone()) {
                let json = renamed(kind, entry, &name);
                let (server, key) = (Arc::clone(&lists.server), entry.key.clone());
                merged.push(ListedEntry { name, server, key, json });
            }
        }
    }
    merged
}

/// Returns an entry with another name; every other byte stays.
fn renamed(kind: ListKind, entry: &Entry, name: &str) -> Vec<u8> {
    let place = raw::whole(&entry.json).and_then(|whole| raw::member(&entry.json, &whole, kind.key()));
    let Some(place) = place.filter(|_| name != entry.key) else { return entry.json.clone() };
    let mut edits = Edits::new();
    edits.replace(place, serde_json::Value::from(name).to_string());
    edits.apply(&entry.json)
}

/// A position in a merged list.
#[derive(Debug, Serialize, Deserialize)]
struct Position {
    /// The method of the list.
    list: String,
    /// The last entry that was listed.
    after: String,
    /// How many entries came up to it, in case it is removed.
    count: usize,
}

/// A cursor is forged, or belongs to another caller or another list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this cursor is not valid for this list; ask for the list without a cursor")]
pub struct InvalidCursor;

/// A page of a merged list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPage<'l, E = ListedEntry> {
    /// Its entries.
    pub entries: &'l [E],
    /// The cursor of the next page.
    pub next: Option<String>,
}

/// Returns a page of a merged list for a caller: the first, or the one after a cursor.
///
/// # Errors
///
/// The cursor is not valid.
pub fn page<'l, E: Borrow<ListedEntry>>(
    kind: ListKind,
    entries: &'l [E],
    cursor: Option<&str>,
    sealer: &Sealer,
    caller: &str,
) -> Result<ListPage<'l, E>, InvalidCursor> {
    let start = match cursor {
        None => 0,
        Some(cursor) => start_after(kind, entries, cursor, sealer, caller).ok_or(InvalidCursor)?,
    };
    let mut bytes = 0;
    let fits = |(at, entry): &(usize, &E)| {
        bytes += (*entry).borrow().json.len();
        *at == 0 || (*at < MAX_PAGE_ENTRIES && bytes <= MAX_PAGE_BYTES)
    };
    let count = entries[start..].iter().enumerate().take_while(fits).count();
    let end = start + count;
    let next = (end < entries.len()).then(|| {
        let after = entries[end - 1].borrow().name.clone();
        let position = Position { list: kind.method().to_owned(), after, count: end };
        let text = serde_json::to_vec(&position).unwrap_or_default();
        sealer.seal(Purpose::Cursor, caller, &text).ok()
    });
    Ok(ListPage { entries: &entries[start..end], next: next.flatten() })
}

fn start_after<E: Borrow<ListedEntry>>(
    kind: ListKind,
    entries: &[E],
    cursor: &str,
    sealer: &Sealer,
    caller: &str,
) -> Option<usize> {
    let text = sealer.open(Purpose::Cursor, caller, cursor)?;
    let position: Position = serde_json::from_slice(&text).ok()?;
    if position.list != kind.method() {
        return None;
    }
    let last = entries.iter().position(|entry| entry.borrow().name == position.after);
    Some(last.map_or(position.count, |last| last + 1).min(entries.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tidegate_gate::{StoreLocation, UserStore};

    use super::*;

    fn lists(server: &str, tools: &[&str], resources: &[&str]) -> ServerLists {
        let mut catalog = Catalog::default();
        let entry = |kind: ListKind, key: &&str| Entry {
            key: (*key).to_owned(),
            json: format!("{{\"x\":1.0,\"{}\":\"{key}\"}}", kind.key()).into_bytes(),
        };
        let entries = |kind, keys: &[&str]| keys.iter().map(|key| entry(kind, key)).collect();
        catalog.set(ListKind::Tools, entries(ListKind::Tools, tools));
        catalog.set(ListKind::Resources, entries(ListKind::Resources, resources));
        ServerLists { server: server.into(), keeps_names: false, catalog: Arc::new(catalog) }
    }

    fn sealer() -> Sealer {
        Sealer::new(Arc::new(UserStore::of_user(StoreLocation::Memory)))
    }

    #[test]
    fn tools_are_renamed_and_uris_stay() {
        let servers = [lists("one", &["a", "b"], &["x://1"]), lists("two", &["a"], &["x://1", "x://2"])];
        let names: Vec<String> =
            merge(ListKind::Tools, &servers).into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, ["one__a", "one__b", "two__a"]);
        assert_eq!(merge(ListKind::Tools, &servers)[0].json, br#"{"x":1.0,"name":"one__a"}"#);
        let resources = merge(ListKind::Resources, &servers);
        let owners: Vec<(&str, &str)> =
            resources.iter().map(|entry| (&*entry.server, entry.name.as_str())).collect();
        assert_eq!(owners, [("one", "x://1"), ("two", "x://2")], "the first server owns a URI");
        let only_server = ServerLists { keeps_names: true, ..lists("one", &["a.b"], &[]) };
        assert_eq!(merge(ListKind::Tools, &[only_server])[0].json, br#"{"x":1.0,"name":"a.b"}"#);
    }

    #[test]
    fn a_cursor_belongs_to_its_list_and_caller() {
        let tools: Vec<String> = (0..1500).map(|number| format!("t{number}")).collect();
        let tools: Vec<&str> = tools.iter().map(String::as_str).collect();
        let entries = merge(ListKind::Tools, &[lists("s", &tools, &[])]);
        let sealer = sealer();
        let first = page(ListKind::Tools, &entries, None, &sealer, "ada").unwrap();
        assert_eq!(first.entries.len(), MAX_PAGE_ENTRIES);
        let cursor = first.next.unwrap();
        let second = page(ListKind::Tools, &entries, Some(&cursor), &sealer, "ada").unwrap();
        assert_eq!((second.entries.len(), second.next), (500, None));
        for (kind, caller) in [(ListKind::Tools, "bob"), (ListKind::Prompts, "ada")] {
            assert_eq!(page(kind, &entries, Some(&cursor), &sealer, caller), Err(InvalidCursor));
        }
        assert_eq!(page(ListKind::Tools, &entries, Some("AAAA"), &sealer, "ada"), Err(InvalidCursor));
    }

    proptest! {
        #![proptest_config(tidegate_testkit::cases(200))]

        /// All pages together are the list, whatever is removed before the next page is asked for.
        #[test]
        fn pages_continue_where_they_ended(sizes in prop::collection::vec(0_usize..1200, 1..4), removed in 0_usize..900) {
            let servers: Vec<ServerLists> = sizes.iter().enumerate().map(|(server, size)| {
                let names: Vec<String> = (0..*size).map(|number| format!("t{number}")).collect();
                lists(&format!("s{server}"), &names.iter().map(String::as_str).collect::<Vec<_>>(), &[])
            }).collect();
            let mut entries = merge(ListKind::Tools, &servers);
            let all: Vec<String> = entries.iter().map(|entry| entry.name.clone()).collect();
            let sealer = sealer();
            let (mut seen, mut cursor) = (Vec::new(), None::<String>);
            loop {
                let listed = page(ListKind::Tools, &entries, cursor.as_deref(), &sealer, "ada").unwrap();
                seen.extend(listed.entries.iter().map(|entry| entry.name.clone()));
                cursor = listed.next;
                if cursor.is_none() {
                    break;
                }
                if removed < 900 && removed < entries.len() {
                    // Removes an entry that was listed already, but not the last one, which the cursor names.
                    entries.remove(removed.min(seen.len() - 2));
                }
            }
            prop_assert_eq!(seen, all);
        }
    }
}
