//! A connection to a server: a process, or a session over HTTP. It begins with the handshake of one of the two eras.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tidegate_gate::raw;
use tidegate_gateway::catalog::{Announcement, Catalog, ListKind, Page};
use tidegate_gateway::credentials::Credential;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

use super::problem::Problem;
use super::settings::{INHERITED_VARIABLES, UpstreamTarget};
use super::upstream::Upstream;
use crate::http::shared_server::{Environment, Liveness, ServerCommand, SharedServer, deliveries};
use crate::link::{Link, ServerMessage};
use crate::message::ParsedLine;
use crate::spool::Message;

/// The revision that the gateway offers to servers with sessions.
const LEGACY_VERSION: &str = "2025-11-25";
/// The revision without sessions.
pub(super) const MODERN_VERSION: &str = "2026-07-28";
/// The keys of `_meta` in which a request of that revision carries what `initialize` carries in older ones.
const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
const LEVEL_KEY: &str = "io.modelcontextprotocol/logLevel";
/// The maximum number of pages that are read of one list, in case a server returns cursors without end.
const MAX_LIST_PAGES: usize = 1000;

/// How long a server that may not support `server/discover` may take to answer it: some servers do not answer unknown methods.
const PROBE_TIME: Duration = Duration::from_secs(10);

/// The era of a connection or a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Era {
    /// With sessions that `initialize` begins.
    Legacy,
    /// Without sessions.
    Modern,
}

/// How the client behind a connection introduces itself to the server.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Introduction {
    pub(super) info: Value,
    pub(super) capabilities: Value,
}

impl Introduction {
    /// Returns the introduction of the gateway itself, for connections that several clients share. It declares no capabilities,
    /// because nobody could answer a request of the server there.
    pub(super) fn of_gateway() -> Self {
        let info = json!({"name": "tidegate-gateway", "version": env!("CARGO_PKG_VERSION")});
        Self { info, capabilities: json!({}) }
    }

    /// Returns the introduction with which the gateway reads lists. Some servers list tools only to clients that have what
    /// the tools need; what a client of the gateway has is not known yet, and no tool is called on such a connection.
    pub(super) fn of_lister() -> Self {
        let capabilities =
            json!({"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {"listChanged": true}});
        Self { capabilities, ..Self::of_gateway() }
    }

    /// Returns the members of `_meta` that introduce the client in a request of the era without sessions.
    pub(super) fn meta(&self) -> Value {
        json!({VERSION_KEY: MODERN_VERSION, CAPABILITIES_KEY: self.capabilities, CLIENT_KEY: self.info})
    }
}

/// A connection to a server.
pub(super) struct Connection {
    pub(super) server: Arc<SharedServer>,
    pub(super) era: Era,
    pub(super) announcement: Announcement,
    /// Whether the server has begun a session, in which it may keep state for one client.
    pub(super) has_session: bool,
    /// The credential that the server was given.
    pub(super) credential: Option<Credential>,
    used: Mutex<Instant>,
    calls: AtomicUsize,
    /// The permit for this process, of at most `max_processes`.
    _place: Option<OwnedSemaphorePermit>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.server.end();
    }
}

impl Connection {
    /// Opens a connection; messages of the server that belong to no request go to `unrouted`.
    pub(super) async fn open(
        upstream: &Upstream,
        era: Era,
        client: &Introduction,
        credential: Option<Credential>,
        place: Option<OwnedSemaphorePermit>,
        unrouted: mpsc::UnboundedSender<ServerMessage>,
    ) -> Result<Self, Problem> {
        let is_probe = era == Era::Modern && upstream.supported().modern.is_none();
        let patience = upstream.settings.start_timeout.min(if is_probe { PROBE_TIME } else { Duration::MAX });
        let (server, http) = start(upstream, credential.as_ref(), unrouted)?;
        let ending = EndUnlessKept(Some(&server));
        let ask = |method, params| ask(&server, &upstream.link, method, params, patience);
        let announced = match era {
            Era::Legacy => {
                let params = json!({"protocolVersion": LEGACY_VERSION, "capabilities": client.capabilities, "clientInfo": client.info});
                let announced = ask("initialize", params).await?;
                notify(&server, &upstream.link, "notifications/initialized");
                announced
            }
            Era::Modern => ask("server/discover", json!({"_meta": client.meta()})).await?,
        };
        ending.keep();
        let has_session = match http {
            Some(http) => http.upgrade().is_some_and(|http| http.has_session()),
            None => true,
        };
        Ok(Self {
            announcement: Announcement::read(&announced),
            server,
            era,
            has_session,
            credential,
            used: Mutex::new(Instant::now()),
            calls: AtomicUsize::new(0),
            _place: place,
        })
    }

    /// Returns whether the connection has ended and takes no more requests.
    pub(super) fn has_ended(&self) -> bool {
        self.server.has_ended()
    }

    /// Records that the connection was used.
    pub(super) fn touch(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns whether the connection has been idle for longer than `time`.
    pub(super) fn is_idle(&self, time: Duration) -> bool {
        !self.server.is_busy() && self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed() > time
    }

    /// Returns how long a connection has been idle; `None` while somebody uses it. Whoever does so holds it.
    pub(super) fn idle_time(connection: &Arc<Self>) -> Option<Duration> {
        let is_unused = Arc::strong_count(connection) == 1;
        is_unused.then(|| connection.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed())
    }

    /// Reads all pages of all lists of the server.
    pub(super) async fn catalog(&self, upstream: &Upstream) -> Result<Catalog, Problem> {
        let mut catalog = Catalog::default();
        for kind in ListKind::ALL.into_iter().filter(|kind| self.announcement.has(*kind)) {
            match self.list(upstream, kind).await {
                Ok(entries) => catalog.set(kind, entries),
                // Method not found: a server with resources need not have templates.
                Err(Problem::Refused { code: -32601, .. }) => {}
                Err(problem) => return Err(problem),
            }
        }
        Ok(catalog)
    }

    async fn list(
        &self,
        upstream: &Upstream,
        kind: ListKind,
    ) -> Result<Vec<tidegate_gateway::catalog::Entry>, Problem> {
        let (mut entries, mut cursor) = (Vec::new(), None::<Value>);
        for _ in 0..MAX_LIST_PAGES {
            let mut params = json!({});
            if let Some(cursor) = cursor.take() {
                params["cursor"] = cursor;
            }
            if self.era == Era::Modern {
                params["_meta"] = Introduction::of_lister().meta();
            }
            let patience = upstream.settings.start_timeout;
            let result = ask(&self.server, &upstream.link, kind.method(), params, patience).await?;
            let page = Page::read(kind, &result)
                .ok_or_else(|| Problem::Invalid(format!("its answer to {} is not a list", kind.method())))?;
            entries.extend(page.entries);
            match page.next.and_then(|next| serde_json::from_str(&next).ok()) {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        Ok(entries)
    }
}

/// Ends a server when it is dropped, unless it is kept.
struct EndUnlessKept<'s>(Option<&'s Arc<SharedServer>>);

impl EndUnlessKept<'_> {
    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for EndUnlessKept<'_> {
    fn drop(&mut self) {
        if let Some(server) = self.0 {
            server.end();
        }
    }
}

type Http = Option<std::sync::Weak<crate::http::stdio_to_http::StdioToHttp>>;

/// Starts the process of a server, or the HTTP bridge to it.
fn start(
    upstream: &Upstream,
    credential: Option<&Credential>,
    unrouted: mpsc::UnboundedSender<ServerMessage>,
) -> Result<(Arc<SharedServer>, Http), Problem> {
    let credential = upstream.settings.user_credential.as_ref().zip(credential);
    let timeout = Some(upstream.settings.timeout);
    let log = Arc::clone(&upstream.log.warnings);
    match &upstream.settings.target {
        UpstreamTarget::Command { command, environment } => {
            let only = INHERITED_VARIABLES.map(str::to_owned).to_vec();
            let mut set = environment.clone();
            set.extend(credential.and_then(|(user, credential)| user.variable(credential)));
            let environment = Environment { only: Some(only), set, ..Environment::default() };
            let (program, command) = (upstream.program.clone(), command.clone());
            let stderr = upstream.log.stderr.clone();
            let command = ServerCommand { program, command, environment, stderr };
            let started = SharedServer::start(&command, upstream.link.limits(), timeout, unrouted, log);
            started.map(|server| (server, None)).map_err(|error| Problem::NotStarted(error.to_string()))
        }
        UpstreamTarget::Url(remote) => {
            let link = upstream.link.relaying();
            let header = credential.and_then(|(user, credential)| user.header(credential));
            let remote = match header {
                Some((name, value)) => Arc::new(remote.with_header(name, value)),
                None => Arc::clone(remote),
            };
            let (server, http) = SharedServer::over_http(remote, link, timeout, unrouted, log);
            Ok((server, Some(http)))
        }
    }
}

/// Sends a request of the gateway itself, and returns its result.
pub(super) async fn ask(
    server: &Arc<SharedServer>,
    link: &Link,
    method: &str,
    params: Value,
    patience: Duration,
) -> Result<Vec<u8>, Problem> {
    let request = json!({"jsonrpc": "2.0", "id": 0, "method": method, "params": params}).to_string();
    let link = Arc::new(link.relaying());
    let (forward, _) = link.parsed_from_client(ParsedLine::parse(request.into_bytes()));
    let (sender, mut receiver) = deliveries();
    let numbers = server.send(&link, forward, &sender);
    drop(sender);
    let answer = async {
        loop {
            match receiver.recv().await {
                Some(delivery) if !delivery.is_response => {}
                other => return other,
            }
        }
    };
    let Ok(answer) = tokio::time::timeout(patience, answer).await else {
        server.abandon(&numbers);
        return Err(Problem::Silent { method: method.to_owned(), seconds: patience.as_secs() });
    };
    let is_down = answer.as_ref().is_some_and(|delivery| delivery.liveness != Liveness::Alive);
    let message = answer.and_then(|delivery| delivery.message.into_bytes().ok());
    let message = message.ok_or_else(|| Problem::Invalid(format!("it ended before it answered {method}")))?;
    result_of(method, ParsedLine::parse(message)).map_err(|problem| match problem {
        Problem::Refused { message, .. } if is_down => Problem::Down { message },
        problem => problem,
    })
}

fn result_of(method: &str, message: ParsedLine) -> Result<Vec<u8>, Problem> {
    let head = message.first();
    if let Some(result) = head.and_then(|head| head.result.clone()) {
        return Ok(message.bytes[result].to_vec());
    }
    let error = head.and_then(|head| head.error.clone());
    let Some(error) = error else {
        return Err(Problem::Invalid(format!("its answer to {method} is invalid")));
    };
    let error: Value = serde_json::from_slice(&message.bytes[error]).unwrap_or_default();
    let message = error["message"].as_str().unwrap_or("no reason given").to_owned();
    Err(Problem::Refused { code: error["code"].as_i64().unwrap_or_default(), message })
}

/// Sends a notification of the gateway itself.
pub(super) fn notify(server: &Arc<SharedServer>, link: &Link, method: &str) {
    let line = json!({"jsonrpc": "2.0", "method": method}).to_string();
    server.send(&Arc::new(link.relaying()), Some(ParsedLine::parse(line.into_bytes())), &deliveries().0);
}

/// Returns a request without the members of its `_meta` that introduce a client: a server with sessions knows who it is, and
/// one that also knows the other era would take the request for one of that.
pub(super) fn without_introduction(message: ParsedLine) -> ParsedLine {
    let meta = message.first().and_then(|head| raw::member(&message.bytes, head.params.as_ref()?, "_meta"));
    let Some(place) = meta else { return message };
    let Ok(Value::Object(mut meta)) = serde_json::from_slice(&message.bytes[place.clone()]) else {
        return message;
    };
    [VERSION_KEY, CAPABILITIES_KEY, CLIENT_KEY, LEVEL_KEY].iter().for_each(|key| drop(meta.remove(*key)));
    let mut edits = raw::Edits::new();
    edits.replace(place, Value::Object(meta).to_string());
    message.edit(edits)
}

/// Returns the response of a server with sessions with what a result needs in the era without them. One that is so large that
/// it is not kept in memory stays as it is: clients take it for complete.
pub(super) fn completed(message: Message, method: &str) -> Message {
    let Message::Memory(bytes) = message else { return message };
    let message = ParsedLine::parse(bytes);
    let result = message.first().and_then(|head| head.result.clone());
    let Some(result) = result.filter(|result| message.bytes[result.clone()].starts_with(b"{")) else {
        return message.bytes.into();
    };
    let mut missing = vec![("resultType", "\"complete\"")];
    if method == "resources/read" {
        missing.extend([("ttlMs", "0"), ("cacheScope", "\"private\"")]);
    }
    missing.retain(|(key, _)| raw::member(&message.bytes, &result, key).is_none());
    if missing.is_empty() {
        return message.bytes.into();
    }
    let missing: Vec<String> = missing.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
    let mut edits = raw::Edits::new();
    edits.append(&message.bytes, &result, missing.join(",").as_bytes());
    message.edit(edits).bytes.into()
}

/// Adds to the `_meta` of a request the members that introduce a client, which the era without sessions requires.
pub(super) fn introduced(message: ParsedLine, client: &Introduction) -> ParsedLine {
    let Some(head) = message.first() else { return message };
    let Some(params) = head.params.clone() else {
        let end = head.whole.end - 1;
        let mut edits = raw::Edits::new();
        edits.replace(end..end, format!(",\"params\":{{\"_meta\":{}}}", client.meta()));
        return ParsedLine::parse(message.edit(edits).bytes);
    };
    let is_object = |place: &raw::ByteRange| message.bytes[place.clone()].starts_with(b"{");
    let own = raw::member(&message.bytes, &params, "_meta");
    if !is_object(&params) || own.as_ref().is_some_and(|own| !is_object(own)) {
        // The request is invalid; the server answers it with an error.
        return message;
    }
    let mut edits = raw::Edits::new();
    let meta = client.meta().to_string();
    let inside = &meta[1..meta.len() - 1];
    match own {
        Some(own) => {
            let is_empty = message.bytes[own.start + 1..own.end - 1].trim_ascii().is_empty();
            let comma = if is_empty { "" } else { "," };
            edits.replace(own.start + 1..own.start + 1, format!("{inside}{comma}"));
        }
        None => {
            let is_empty = message.bytes[params.start + 1..params.end - 1].trim_ascii().is_empty();
            let comma = if is_empty { "" } else { "," };
            edits.replace(params.start + 1..params.start + 1, format!("\"_meta\":{meta}{comma}"));
        }
    }
    message.edit(edits)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(message: &Value) -> ParsedLine {
        ParsedLine::parse(message.to_string().into_bytes())
    }

    #[test]
    fn a_request_for_a_server_with_sessions_has_no_introduction() {
        let meta = Introduction::of_gateway().meta();
        let mut own = meta.clone();
        own["progressToken"] = json!(1);
        for (params, expected) in [
            (json!({"name": "a", "_meta": own}), json!({"name": "a", "_meta": {"progressToken": 1}})),
            (json!({"_meta": meta}), json!({"_meta": {}})),
            (json!({"name": "a"}), json!({"name": "a"})),
        ] {
            let request = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            let sent = without_introduction(line(&request));
            let sent: Value = serde_json::from_slice(&sent.bytes).unwrap();
            assert_eq!(sent["params"], expected);
        }
    }

    #[test]
    fn a_result_of_a_server_with_sessions_is_completed() {
        let hints = json!({"resultType": "complete", "ttlMs": 0, "cacheScope": "private"});
        for (method, result, expected) in [
            ("tools/call", json!({"content": []}), json!({"content": [], "resultType": "complete"})),
            ("tools/call", json!({"resultType": "task"}), json!({"resultType": "task"})),
            ("resources/read", json!({}), hints),
        ] {
            let answer = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string().into_bytes();
            let sent = completed(answer.into(), method).into_bytes().unwrap();
            let sent: Value = serde_json::from_slice(&sent).unwrap();
            assert_eq!(sent["result"], expected, "{method}");
        }
        let error = br#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}"#.to_vec();
        assert_eq!(completed(error.clone().into(), "tools/call").into_bytes().unwrap(), error);
    }
}
