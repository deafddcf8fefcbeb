//! Decides where a request goes: to the gateway itself, or to one server, under the name that this server knows.

use tidegate_gate::RpcError;
use tidegate_gate::raw::{self, ByteRange, Edits};
use tidegate_gateway::catalog::ListKind;

use super::registry::{Place, Snapshot};
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
    /// The name that the server gave the tool or prompt, if the request names one.
    pub(super) name: Option<String>,
    /// The bytes of the listed name in the request.
    range: Option<ByteRange>,
}

impl ServerRoute {
    /// Replaces the listed name in the request by the one that the server knows.
    pub(super) fn renamed(&self, message: ParsedLine) -> ParsedLine {
        let (Some(name), Some(range)) = (&self.name, &self.range) else { return message };
        let mut edits = Edits::new();
        edits.replace(range.clone(), serde_json::Value::from(name.as_str()).to_string());
        message.edit(edits)
    }
}

fn invalid(message: String) -> Route {
    Route::Nowhere(RpcError { code: -32602, message })
}

/// Returns where a request goes. `task_tool` returns the tool whose call became a task of this caller. If callers are
/// authenticated (`is_open` is false), other tasks are unknown even with a single server, which may not tell callers apart.
pub(super) fn route(
    snapshot: &Snapshot,
    servers: usize,
    is_open: bool,
    message: &ParsedLine,
    head: &MessageHead,
    task_tool: impl Fn(&str) -> Option<String>,
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
        let name = range.as_ref().and_then(&text).unwrap_or_default();
        match snapshot.place(kind, &name) {
            Some(Place { upstream, key }) => Route::Server(ServerRoute { upstream, name: Some(key), range }),
            None => invalid(format!("unknown {}: {name:?}; {} lists all", noun(kind), kind.method())),
        }
    };
    let addressed = |path: &[&str]| {
        let uri = at(path).as_ref().and_then(&text).unwrap_or_default();
        match snapshot.resource(&uri) {
            Some(upstream) => Route::Server(ServerRoute { upstream, name: None, range: None }),
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
        "completion/complete" if at(&["ref", "name"]).is_some() => named(ListKind::Prompts, &["ref", "name"]),
        "completion/complete" => addressed(&["ref", "uri"]),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => addressed(&["uri"]),
        _ if servers == 1 && (is_open || !method.starts_with("tasks/")) => {
            Route::Server(ServerRoute { upstream: 0, name: None, range: None })
        }
        "tasks/get" | "tasks/result" | "tasks/cancel" | "tasks/update" => {
            let id = at(&["taskId"]).as_ref().and_then(&text).unwrap_or_default();
            let place = task_tool(&id).and_then(|tool| snapshot.place(ListKind::Tools, &tool));
            match place {
                // The caller may use a task if it may use the task's tool.
                Some(Place { upstream, key }) => {
                    Route::Server(ServerRoute { upstream, name: Some(key), range: None })
                }
                None => invalid(format!("unknown task: {id:?}")),
            }
        }
        _ => Route::Nowhere(RpcError { code: -32601, message: format!("method not found: {method}") }),
    }
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
        let task_tool = |task: &str| (task == "t").then(|| "b__x".to_owned());
        match route(&snapshot(), 2, false, &message, &head, task_tool) {
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
            ("resources/read", json!({"uri": "r://1"}), Ok((1, json!({"uri": "r://1"})))),
            ("resources/read", json!({"uri": "r://2"}), Err(-32002)),
            ("tasks/get", json!({"taskId": "t"}), Ok((1, json!({"taskId": "t"})))),
            ("tasks/get", json!({"taskId": "u"}), Err(-32602)),
            ("new/method", json!({}), Err(-32601)),
        ] {
            let expected = expected.map(|(upstream, params)| (upstream, params.to_string()));
            assert_eq!(routed(method, params), expected, "{method}");
        }
    }
}
