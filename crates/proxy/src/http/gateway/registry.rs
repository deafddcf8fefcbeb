//! What all servers offer, as last read: the merged lists, and the server behind each listed name.
//!
//! When the lists of one server change, a new snapshot replaces the old one as a whole, so a request sees consistent lists. A
//! server that is down keeps its last lists: its names do not vanish, and a call to one of them reports what is wrong.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use serde_json::{Map, Value, json};
use tidegate_gate::policy::Policies;
use tidegate_gate::{Servers, ToolOrigin};
use tidegate_gateway::catalog::{Announcement, Catalog, ListKind};
use tidegate_gateway::lists::{ListedEntry, ServerLists, merge};
use tidegate_gateway::names::{SEPARATOR, listed_name};

use crate::http::headers::{self, HeaderArguments};

/// The name and rules of a server.
pub(super) struct ListedServer {
    pub(super) name: Arc<str>,
    pub(super) keeps_names: bool,
    pub(super) policies: Arc<Policies>,
}

impl ListedServer {
    /// Returns the name under which a tool is listed.
    pub(super) fn listed_name(&self, tool: &str) -> String {
        if self.keeps_names { tool.to_owned() } else { listed_name(&self.name, tool) }
    }
}

/// What one server offers, as last read.
#[derive(Clone, Default)]
struct ServerSnapshot {
    announcement: Announcement,
    catalog: Arc<Catalog>,
    /// Whether the lists were ever read.
    is_known: bool,
}

/// The server and the original name behind a listed name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// The index of the server.
    pub(super) upstream: usize,
    /// The name or URI that the server gave it.
    pub(super) key: String,
}

/// All lists at one time.
#[derive(Default)]
pub(super) struct Snapshot {
    seen: Vec<ServerSnapshot>,
    lists: [Vec<ListedEntry>; 4],
    tools: HashMap<String, Place>,
    prompts: HashMap<String, Place>,
    /// The arguments that listed tools want repeated in headers.
    pub(super) header_arguments: HeaderArguments,
    /// The name of each server, and whether its tools keep theirs.
    names: Arc<[(Arc<str>, bool)]>,
}

impl Snapshot {
    /// Returns a merged list.
    pub(super) fn list(&self, kind: ListKind) -> &[ListedEntry] {
        &self.lists[kind as usize]
    }

    /// Returns the server behind a tool or prompt. A name that is not listed goes to the server whose name it begins with: servers
    /// may have tools that they do not list, and the lists of a server that is down may be unknown.
    pub(super) fn place(&self, kind: ListKind, listed: &str) -> Option<Place> {
        let known = match kind {
            ListKind::Tools => self.tools.get(listed),
            ListKind::Prompts => self.prompts.get(listed),
            ListKind::Resources | ListKind::Templates => return None,
        };
        known.cloned().or_else(|| self.place_by_name(listed))
    }

    fn place_by_name(&self, listed: &str) -> Option<Place> {
        self.names.iter().enumerate().find_map(|(upstream, (server, keeps_names))| {
            let key = match keeps_names {
                true => Some(listed),
                false => listed.strip_prefix(&**server).and_then(|rest| rest.strip_prefix(SEPARATOR)),
            };
            let key = key.filter(|key| *keeps_names || listed_name(server, key) == listed)?;
            Some(Place { upstream, key: key.to_owned() })
        })
    }

    /// Returns the index of a server.
    pub(super) fn server(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|(server, _)| **server == *name)
    }

    /// Returns the server of a resource URI or a template: the first that lists it, otherwise the one whose template spells out
    /// most of it, otherwise the only server with resources.
    pub(super) fn resource(&self, uri: &str) -> Option<usize> {
        let lists = |seen: &ServerSnapshot| {
            seen.catalog.has(ListKind::Resources, uri) || seen.catalog.has(ListKind::Templates, uri)
        };
        let listed = self.seen.iter().position(lists);
        let templates = self.seen.iter().enumerate();
        let matching = templates.filter_map(|(at, seen)| Some((seen.catalog.matching_template(uri)?, at)));
        let best = || matching.max_by_key(|(spelled, at)| (*spelled, std::cmp::Reverse(*at)));
        listed.or_else(|| best().map(|(_, at)| at)).or_else(|| {
            let mut having = (0..self.seen.len()).filter(|at| self.has(*at, ListKind::Resources));
            having.next().filter(|_| having.next().is_none())
        })
    }

    /// Returns whether a server declares the capability of a list.
    pub(super) fn has(&self, upstream: usize, kind: ListKind) -> bool {
        self.seen[upstream].announcement.has(kind)
    }

    /// Returns whether the lists of all servers were read at least once.
    pub(super) fn is_complete(&self) -> bool {
        self.seen.iter().all(|seen| seen.is_known)
    }

    /// Returns the union of the capabilities of all servers. While the lists of one are unknown, every kind of list is declared.
    pub(super) fn capabilities(&self) -> Value {
        let mut all = json!({});
        for seen in &self.seen {
            unite(&mut all, &seen.announcement.capabilities);
        }
        for name in ["tools", "prompts", "resources"] {
            if all.get(name).is_some() || !self.is_complete() {
                all[name]["listChanged"] = json!(true);
            }
        }
        all
    }

    /// Returns the instructions of the servers that a caller may use, each under its name.
    pub(super) fn instructions(
        &self,
        servers: &[ListedServer],
        may_use: impl Fn(usize) -> bool,
    ) -> Option<String> {
        let given = self.seen.iter().zip(servers).enumerate().filter(|(at, _)| may_use(*at));
        let given = given.filter_map(|(_, (seen, server))| {
            let instructions = seen.announcement.instructions.as_deref()?;
            let is_alone = servers.len() == 1;
            (!instructions.trim().is_empty()).then(|| match is_alone {
                true => instructions.to_owned(),
                false => format!("# {}\n{}", server.name, instructions.trim()),
            })
        });
        let all: Vec<String> = given.collect();
        (!all.is_empty()).then(|| all.join("\n\n"))
    }
}

/// Adds the members of one capability object to another. Of two values that are not objects, the first stays unless it is
/// null or `false`.
fn unite(all: &mut Value, more: &Value) {
    match (&mut *all, more) {
        (Value::Object(all), Value::Object(more)) => {
            for (key, value) in more {
                unite(all.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (Value::Null | Value::Bool(false), more) => *all = more.clone(),
        _ => {}
    }
}

/// All servers, and what they offer.
pub(super) struct Registry {
    pub(super) servers: Vec<ListedServer>,
    current: RwLock<Arc<Snapshot>>,
}

impl Registry {
    pub(super) fn new(servers: Vec<ListedServer>) -> Self {
        let names = servers.iter().map(|server| (Arc::clone(&server.name), server.keeps_names)).collect();
        let seen = vec![ServerSnapshot::default(); servers.len()];
        let snapshot = Snapshot { seen, names, ..Snapshot::default() };
        Self { servers, current: RwLock::new(Arc::new(snapshot)) }
    }

    /// Returns the current lists.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Sets what a server offers; returns the merged lists that changed.
    pub(super) fn set(&self, upstream: usize, announcement: Announcement, catalog: Catalog) -> Vec<ListKind> {
        let mut current = self.current.write().unwrap_or_else(PoisonError::into_inner);
        let mut seen = current.seen.clone();
        seen[upstream] = ServerSnapshot { announcement, catalog: Arc::new(catalog), is_known: true };
        let new = self.merged(seen, Arc::clone(&current.names));
        let changed = ListKind::ALL.into_iter().filter(|kind| new.list(*kind) != current.list(*kind));
        let changed = changed.collect();
        *current = Arc::new(new);
        changed
    }

    fn merged(&self, seen: Vec<ServerSnapshot>, names: Arc<[(Arc<str>, bool)]>) -> Snapshot {
        let of_server = |(server, seen): (&ListedServer, &ServerSnapshot)| ServerLists {
            server: Arc::clone(&server.name),
            keeps_names: server.keeps_names,
            catalog: Arc::clone(&seen.catalog),
        };
        let all: Vec<ServerLists> = self.servers.iter().zip(&seen).map(of_server).collect();
        let lists = ListKind::ALL.map(|kind| merge(kind, &all));
        let places = |kind: ListKind| {
            let entries: &[ListedEntry] = &lists[kind as usize];
            let place = |entry: &ListedEntry| {
                let upstream = self.servers.iter().position(|server| server.name == entry.server)?;
                Some((entry.name.clone(), Place { upstream, key: entry.key.clone() }))
            };
            entries.iter().filter_map(place).collect()
        };
        let (tools, prompts) = (places(ListKind::Tools), places(ListKind::Prompts));
        let mut header_arguments = HeaderArguments::default();
        for tool in lists[ListKind::Tools as usize].iter().filter(|tool| headers::are_in(&tool.json)) {
            let definition: Value = serde_json::from_slice(&tool.json).unwrap_or_default();
            header_arguments.add(&tool.name, &definition["inputSchema"]);
        }
        Snapshot { seen, lists, tools, prompts, header_arguments, names }
    }
}

impl Servers for Registry {
    fn origin(&self, listed: &str) -> Option<ToolOrigin> {
        let snapshot = self.snapshot();
        let place = snapshot.place(ListKind::Tools, listed)?;
        let server = &self.servers[place.upstream];
        Some(ToolOrigin {
            server: Arc::clone(&server.name),
            tool: place.key,
            policies: Arc::clone(&server.policies),
        })
    }

    fn policies(&self) -> Vec<Arc<Policies>> {
        self.servers.iter().map(|server| Arc::clone(&server.policies)).collect()
    }
}

/// Returns the members that the results of `initialize` and `server/discover` have in common, for a caller that may use some
/// of the servers.
pub(super) fn announcement(
    snapshot: &Snapshot,
    servers: &[ListedServer],
    may_use: impl Fn(usize) -> bool,
) -> Map<String, Value> {
    let mut result = Map::new();
    result.insert("capabilities".into(), snapshot.capabilities());
    if let Some(instructions) = snapshot.instructions(servers, may_use) {
        result.insert("instructions".into(), instructions.into());
    }
    result
}

#[cfg(test)]
mod tests {
    use tidegate_gateway::catalog::Entry;

    use super::*;

    fn registry(names: &[&str]) -> Registry {
        let server = |name: &&str| ListedServer {
            name: Arc::from(*name),
            keeps_names: names.len() == 1,
            policies: Arc::default(),
        };
        Registry::new(names.iter().map(server).collect())
    }

    fn catalog(tools: &[&str], resources: &[&str], templates: &[&str]) -> Catalog {
        let mut catalog = Catalog::default();
        for (kind, keys) in
            [(ListKind::Tools, tools), (ListKind::Resources, resources), (ListKind::Templates, templates)]
        {
            let entry = |key: &&str| Entry {
                key: (*key).to_owned(),
                json: format!("{{\"{}\":\"{key}\"}}", kind.key()).into_bytes(),
            };
            catalog.set(kind, keys.iter().map(entry).collect());
        }
        catalog
    }

    fn announcement_of(capabilities: Value) -> Announcement {
        Announcement { capabilities, instructions: None }
    }

    #[test]
    fn a_listed_name_keeps_its_server_when_another_server_joins() {
        let registry = registry(&["a", "b"]);
        let tools = || announcement_of(json!({"tools": {}}));
        assert_eq!(registry.set(1, tools(), catalog(&["x"], &[], &[])), [ListKind::Tools]);
        assert_eq!(registry.set(1, tools(), catalog(&["x"], &[], &[])), []);
        let place = |name: &str| registry.snapshot().place(ListKind::Tools, name);
        assert_eq!(place("b__x"), Some(Place { upstream: 1, key: "x".into() }));
        assert!(!registry.snapshot().is_complete());
        assert_eq!(registry.set(0, tools(), catalog(&["x"], &[], &[])), [ListKind::Tools]);
        assert_eq!(place("b__x"), Some(Place { upstream: 1, key: "x".into() }));
        assert_eq!(place("x"), None);
        assert_eq!(place("b__unlisted"), Some(Place { upstream: 1, key: "unlisted".into() }));
        let hashed = listed_name("b", "un.listed");
        assert_eq!((place(&hashed), place("c__x")), (None, None));
        assert_eq!(registry.origin("a__x").map(|origin| origin.tool), Some("x".into()));
    }

    #[test]
    fn instructions_of_one_server_stay_as_they_are() {
        let instructions = |names: &[&str]| {
            let registry = registry(names);
            for (at, name) in names.iter().enumerate() {
                let instructions = Some(format!("Use {name}.\n"));
                registry.set(at, Announcement { capabilities: json!({}), instructions }, Catalog::default());
            }
            registry.snapshot().instructions(&registry.servers, |at| at != 2)
        };
        assert_eq!(instructions(&["a"]).as_deref(), Some("Use a.\n"));
        assert_eq!(instructions(&["a", "b"]).as_deref(), Some("# a\nUse a.\n\n# b\nUse b."));
        let of_two = instructions(&["a", "b", "c"]);
        assert_eq!(of_two, instructions(&["a", "b"]), "not those of a server that the caller may not use");
    }

    #[test]
    fn arguments_in_headers_are_known_by_listed_names() {
        let registry = registry(&["a", "b"]);
        let tool = br#"{"name":"x","inputSchema":{"properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}"#;
        let mut catalog = Catalog::default();
        catalog.set(ListKind::Tools, vec![Entry { key: "x".into(), json: tool.to_vec() }]);
        registry.set(1, announcement_of(json!({"tools": {}})), catalog);
        let known = |name: &str| {
            let body = json!({"name": name, "arguments": {"region": "eu"}}).to_string().into_bytes();
            let headers = hyper::HeaderMap::new();
            registry.snapshot().header_arguments.check(&headers, &body, &(0..body.len())).is_err()
        };
        assert_eq!((known("b__x"), known("x"), known("a__x")), (true, false, false));
    }

    #[test]
    fn a_uri_belongs_to_the_server_that_lists_it_or_has_the_best_template() {
        let registry = registry(&["a", "b", "c"]);
        let has = || announcement_of(json!({"resources": {"subscribe": true}}));
        registry.set(0, has(), catalog(&[], &["x://1"], &["x://{any}"]));
        registry.set(1, has(), catalog(&[], &["x://1", "x://2"], &["x://long/{any}"]));
        registry.set(2, announcement_of(json!({"tools": {}})), Catalog::default());
        let snapshot = registry.snapshot();
        let of = |uri: &str| snapshot.resource(uri);
        assert_eq!((of("x://1"), of("x://2")), (Some(0), Some(1)));
        assert_eq!((of("x://long/z"), of("x://z"), of("y://z")), (Some(1), Some(0), None));
        let capabilities = snapshot.capabilities();
        assert_eq!(capabilities["resources"], json!({"subscribe": true, "listChanged": true}));
        assert_eq!(capabilities.get("prompts"), None);
    }
}
