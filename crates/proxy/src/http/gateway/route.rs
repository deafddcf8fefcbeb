//! Decides where a request goes: to the gateway itself, or to one server, under the name that this server knows.

use tidegate_gate::RpcError;
use tidegate_gate::raw::{self, ByteRange, Edits};
use tidegate_gateway::catalog::ListKind;

use super::registry::{Place, Snapshot};
use super::tasks::Task;
use crate::message::{MessageHead, ParsedLine};

/// Where a request goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// The gateway answers it.
    Own(OwnMethod),
    /// A server answers it.
    Server(ServerRoute),
    /// Nobody can answer it: it names something unknown.
    Nowhere(RpcError),
    /// No server has the resource of this address.
    NoResource(String),
}

/// A request that the gateway answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OwnMethod {
    Initialize,
    Discover,
    Ping,
    List(ListKind),
    SetLevel,
    Listen,
}

/// A route to a server.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ServerRoute {
    /// The index of the server.
    pub(super) upstream: usize,
    /// The name that the server gave the tool or prompt, if the request names one, or the tool of the task.
    pub(super) name: Option<String>,
    /// The bytes in the request that the server does not know, and what it knows instead: a listed name, or the token of a task.
    renamed: Option<(ByteRange, String)>,
}

impl ServerRoute {
    fn plain(upstream: usize) -> Self {
        Self { upstream, name: None, renamed: None }
    }

    /// Replaces the listed name or the token of a task in the request by what the server knows.
    pub(super) fn renamed(&self, message: ParsedLine) -> ParsedLine {
        let Some((range, known)) = &self.renamed else { return message };
        let mut edits = Edits::new();
        edits.replace(range.clone(), serde_json::Value::from(known.as_str()).to_string());
        message.edit(edits)
    }
}

fn invalid(message: String) -> Route {
    Route::Nowhere(RpcError { code: -32602, message })
}

/// Returns where a request goes. `task_of` returns the task of this caller that a token stands for. If callers are
/// authenticated (`is_open` is false), other tasks are unknown even with a single server, which may not tell callers apart.
pub(super) fn route(
    snapshot: &Snapshot,
    servers: usize,
    is_open: bool,
    message: &ParsedLine,
    head: &MessageHead,
    task_of: impl Fn(&str) -> Option<Task>,
) -> Route {
    let bytes = &message.bytes;
    let method = head.method();
    let at = |path: &[&str]| raw::at(bytes, head.params.as_ref()?, path);
    let text = |range: &ByteRange| raw::text(bytes, range).map(std::borrow::Cow::into_owned);
    if let Some(kind) = ListKind::of_method(method) {
        return Route::Own(OwnMethod::List(kind));
    }
    let named = |kind: ListKind, path: &[&str]| {
        let range = at(path);
        // A server that ignores case might read the name from a member that is not checked here.
        let Some(name) = range.as_ref().and_then(&text) else {
            return invalid(format!("the name of the {} is missing", noun(kind)));
        };
        match snapshot.place(kind, &name) {
            Some(Place { upstream, key }) => {
                let renamed = range.map(|range| (range, key.clone()));
                Route::Server(ServerRoute { upstream, name: Some(key), renamed })
            }
            None => invalid(format!("unknown {}: {name:?}; {} lists all", noun(kind), kind.method())),
        }
    };
    let addressed = |path: &[&str]| {
        let uri = at(path).as_ref().and_then(&text).unwrap_or_default();
        match snapshot.resource(&uri) {
            Some(upstream) => Route::Server(ServerRoute::plain(upstream)),
            None => Route::NoResource(uri),
        }
    };
    match method {
        "initialize" => Route::Own(OwnMethod::Initialize),
        "server/discover" => Route::Own(OwnMethod::Discover),
        "ping" => Route::Own(OwnMethod::Ping),
        "logging/setLevel" => Route::Own(OwnMethod::SetLevel),
        "subscriptions/listen" => Route::Own(OwnMethod::Listen),
        "tools/call" => named(ListKind::Tools, &["name"]),
        "prompts/get" => named(ListKind::Prompts, &["name"]),
        "completion/complete" if is_ambiguous_ref(bytes, head) => invalid(
            "this ref is ambiguous: send the type ref/prompt with a name, or ref/resource with a uri"
                .to_owned(),
        ),
        "completion/complete" if at(&["ref", "name"]).is_some() => named(ListKind::Prompts, &["ref", "name"]),
        "completion/complete" => addressed(&["ref", "uri"]),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => addressed(&["uri"]),
        "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/update" => {
            let range = at(&["taskId"]);
            let token = range.as_ref().and_then(&text).unwrap_or_default();
            let task = task_of(&token).and_then(|task| Some((snapshot.server(&task.server)?, task)));
            match (task, range) {
                // The caller may use a task if it may use the task's tool.
                (Some((upstream, task)), Some(range)) => Route::Server(ServerRoute {
                    upstream,
                    name: Some(task.tool),
                    renamed: Some((range, task.id)),
                }),
                // Such as one that `tasks/list` of this server names.
                _ if servers == 1 && is_open => Route::Server(ServerRoute::plain(0)),
                _ => invalid(format!("unknown task: {token:?}")),
            }
        }
        _ if servers == 1 && (is_open || !method.starts_with("tasks/")) => {
            Route::Server(ServerRoute::plain(0))
        }
        _ => Route::Nowhere(RpcError { code: -32601, message: format!("method not found: {method}") }),
    }
}

/// Returns whether a server might take the ref of a completion for another kind than the one that is checked: it has a name
/// and a URI, in any case of the letters, or its type does not go with its member.
fn is_ambiguous_ref(bytes: &[u8], head: &MessageHead) -> bool {
    let place = head.params.as_ref().and_then(|params| raw::member(bytes, params, "ref"));
    let members = place.and_then(|place| raw::members(bytes, &place)).unwrap_or_default();
    let has = |key: &str| members.iter().any(|member| member.key.eq_ignore_ascii_case(key));
    let of_type = |kind: &str| {
        let is_it = |member: &raw::Member<'_>| {
            member.key.eq_ignore_ascii_case("type")
                && raw::text(bytes, &member.value).is_some_and(|text| text == kind)
        };
        members.iter().any(is_it)
    };
    let (has_name, has_uri) = (has("name"), has("uri"));
    (has_name && has_uri) || (has_name && of_type("ref/resource")) || (has_uri && of_type("ref/prompt"))
}

fn noun(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Tools => "tool",
        ListKind::Prompts => "prompt",
        ListKind::Resources => "resource",
        ListKind::Templates => "template",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tidegate_gateway::catalog::{Announcement, Catalog, Entry};

    use super::super::registry::{ListedServer, Registry};
    use super::*;

    fn snapshot() -> std::sync::Arc<Snapshot> {
        let server = |name: &str| ListedServer {
            name: name.into(),
            keeps_names: false,
            policies: std::sync::Arc::default(),
        };
        let registry = Registry::new(vec![server("a"), server("b")]);
        for (at, tool) in [(0, "x.y"), (1, "x")] {
            let mut catalog = Catalog::default();
            let entry = |key: &str| Entry {
                key: key.into(),
                json: json!({"name": key, "uri": key}).to_string().into_bytes(),
            };
            catalog.set(ListKind::Tools, vec![entry(tool)]);
            catalog.set(ListKind::Prompts, vec![entry("p")]);
            catalog.set(ListKind::Resources, vec![entry(&format!("r://{at}"))]);
            let capabilities = json!({"tools": {}, "prompts": {}, "resources": {}});
            registry.set(at, Announcement { capabilities, instructions: None }, catalog);
        }
        registry.snapshot()
    }

    fn routed(method: &str, params: serde_json::Value) -> Result<(usize, String), i64> {
        let line = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": &params}).to_string();
        let message = ParsedLine::parse(line.into_bytes());
        let head = message.first().unwrap().clone();
        let task_of = |token: &str| {
            let task = Task { server: "b".into(), tool: "x".into(), id: "1".into() };
            (token == "t").then_some(task)
        };
        match route(&snapshot(), 2, false, &message, &head, task_of) {
            Route::Server(way) => {
                let sent = way.renamed(message);
                let params = sent.first().unwrap().params.clone().unwrap();
                Ok((way.upstream, String::from_utf8(sent.bytes[params].to_vec()).unwrap()))
            }
            Route::Nowhere(error) => Err(error.code),
            Route::NoResource(uri) => {
                assert_eq!(params["uri"], *uri);
                Err(-32002)
            }
            Route::Own(own) => panic!("{own:?}"),
        }
    }

    #[test]
    fn a_request_goes_to_the_server_of_the_name_in_it() {
        let hashed = tidegate_gateway::names::listed_name("a", "x.y");
        for (method, params, expected) in [
            ("tools/call", json!({"name": hashed}), Ok((0, json!({"name": "x.y"})))),
            ("tools/call", json!({"name": "b__x"}), Ok((1, json!({"name": "x"})))),
            ("tools/call", json!({"name": "x"}), Err(-32602)),
            ("prompts/get", json!({"name": "b__p"}), Ok((1, json!({"name": "p"})))),
            ("completion/complete", json!({"ref": {"name": "a__p"}}), Ok((0, json!({"ref": {"name": "p"}})))),
            (
                "completion/complete",
                json!({"ref": {"uri": "r://1"}}),
                Ok((1, json!({"ref": {"uri": "r://1"}}))),
            ),
            ("completion/complete", json!({"ref": {"name": "a__p", "uri": "r://1"}}), Err(-32602)),
            ("completion/complete", json!({"ref": {"Name": "a__p", "uri": "r://1"}}), Err(-32602)),
            ("completion/complete", json!({"ref": {"type": "ref/prompt", "uri": "r://1"}}), Err(-32602)),
            ("completion/complete", json!({"ref": {"type": "ref/resource", "name": "a__p"}}), Err(-32602)),
            ("resources/read", json!({"uri": "r://1"}), Ok((1, json!({"uri": "r://1"})))),
            ("resources/read", json!({"uri": "r://2"}), Err(-32002)),
            ("tools/call", json!({"Name": "b__x"}), Err(-32602)),
            ("tasks/get", json!({"taskId": "t"}), Ok((1, json!({"taskId": "1"})))),
            ("tasks/get", json!({"taskId": "u"}), Err(-32602)),
            ("new/method", json!({}), Err(-32601)),
        ] {
            let expected = expected.map(|(upstream, params)| (upstream, params.to_string()));
            assert_eq!(routed(method, params), expected, "{method}");
        }
    }
}
