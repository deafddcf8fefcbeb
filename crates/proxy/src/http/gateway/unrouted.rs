//! Messages of a server that belong to no client request: the server's own requests, list changes and other notifications.
//!
//! On the connection of one session they go to its client, with ids that no other server uses. On a connection that several
//! clients share, no client can be asked, so the server's requests get an error.

use std::sync::{Arc, Weak};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tidegate_gate::raw::{self, Edits};
use tidegate_gate::{RpcError, error_response, response};
use tidegate_gateway::catalog::ListKind;
use tokio::sync::mpsc;

use super::Gateway;
use super::client::{AnswerTarget, ClientSession};
use super::connection::{Connection, Era, Introduction, ask};
use super::dispatch::METHOD_NOT_FOUND;
use super::own::subscription_key;
use super::replicas::MessageSource;
use super::upstream::{Upstream, Whose};
use crate::http::exchange;
use crate::http::shared_server::deliveries;
use crate::link::{ServerMessage, tiers};
use crate::message::{MessageKind, ParsedLine};

/// How long after the end of a subscription the next one begins.
const LISTEN_PAUSE: Duration = Duration::from_secs(1);

impl Gateway {
    /// Returns a function that handles such messages of a new connection: of one session, or without it of several clients.
    pub(super) fn taking_unrouted(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        session: Option<&Arc<ClientSession>>,
    ) -> impl FnOnce(mpsc::UnboundedReceiver<ServerMessage>, &Arc<Connection>) + Send + 'static {
        let (gateway, upstream) = (Arc::downgrade(self), Arc::downgrade(upstream));
        let session = session.map(|session| (session.server.id.clone(), Arc::downgrade(session)));
        move |mut messages, connection| {
            let begun = session.as_ref().and_then(|(_, session)| session.upgrade());
            let level = begun.and_then(|session| session.server.level());
            if let (Some(level), Some(upstream)) = (level, upstream.upgrade()) {
                tell_level(&upstream, connection, level);
            }
            let connection = Arc::downgrade(connection);
            tokio::spawn(async move {
                while let Some(message) = messages.recv().await {
                    let (Some(gateway), Some(upstream)) = (gateway.upgrade(), upstream.upgrade()) else {
                        return;
                    };
                    let Some(connection) = connection.upgrade() else { return };
                    // A session that was dropped and restored is another one, with the same id.
                    let session = session.as_ref().map(|(id, begun)| {
                        let known = gateway.sessions().get(id).cloned();
                        known.or_else(|| begun.upgrade())
                    });
                    gateway.take_unrouted(&upstream, &connection, session, message).await;
                }
            });
        }
    }

    /// Returns the handler for such messages on a shared connection, and subscribes to list changes.
    pub(super) fn taking_shared(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
    ) -> impl FnOnce(mpsc::UnboundedReceiver<ServerMessage>, &Arc<Connection>) + Send + 'static {
        let (taking, upstream) = (self.taking_unrouted(upstream, None), Arc::downgrade(upstream));
        move |messages, connection| {
            taking(messages, connection);
            if connection.era == Era::Modern {
                tokio::spawn(hear_changes(upstream, Arc::downgrade(connection)));
            }
        }
    }

    async fn take_unrouted(
        &self,
        upstream: &Arc<Upstream>,
        connection: &Arc<Connection>,
        session: Option<Option<Arc<ClientSession>>>,
        message: ServerMessage,
    ) {
        let Ok(bytes) = message.message.into_bytes() else { return };
        let message = ParsedLine::parse(bytes);
        let Some(head) = message.first() else { return };
        let (kind, method) = (head.kind(), head.method().to_owned());
        if let Some(kinds) = ListKind::of_change(&method) {
            // Every session hears of the same change on its own connection, so those say only that there may be one.
            return match session {
                None => upstream.say_changed(kinds),
                Some(_) => upstream.lists_changed.notify_one(),
            };
        }
        match kind {
            MessageKind::Request if method == "ping" => {
                return self.reply(connection, response(head.id_bytes(), b"{}"));
            }
            MessageKind::Notification if method == "notifications/resources/updated" => {
                return self.pass_update(upstream, &message);
            }
            _ => {}
        }
        let Some(session) = session else {
            if kind == MessageKind::Request {
                let error = RpcError {
                    code: -32601,
                    message: format!(
                        "several clients share this connection, so none can be asked {method}; set sharing = \"caller\" for this server"
                    ),
                };
                self.reply(connection, error_response(head.id_bytes(), &error));
            }
            return (upstream.log.warnings)(&format!(
                "dropped {method} of the server {:?}, which belongs to no request: its clients share the connection",
                upstream.settings.name
            ));
        };
        let Some(session) = session else { return };
        let message = self.put_tokens_of_session(upstream, &session, message);
        self.pass_to_client(connection, &session, message).await;
    }

    /// Sends a message to the client of a session.
    async fn pass_to_client(
        &self,
        connection: &Arc<Connection>,
        session: &Arc<ClientSession>,
        message: ParsedLine,
    ) {
        let Some(head) = message.first() else { return };
        let is_request = head.kind() == MessageKind::Request;
        let mut edits = Edits::new();
        if is_request {
            let token = head.params.as_ref();
            let token = token.and_then(|params| raw::at(&message.bytes, params, &["_meta", "progressToken"]));
            let written = token.clone().map(|token| message.bytes[token].to_vec());
            let Some(id) = session.server.register_question(connection, head.id_bytes(), written) else {
                let message = "too many requests wait for this client; try again later".to_owned();
                let error = RpcError { code: -32000, message };
                return self.reply(connection, error_response(head.id_bytes(), &error));
            };
            if let Some(token) = token {
                edits.replace(token, id.clone());
            }
            edits.replace(head.id.clone().unwrap_or_default(), id);
        } else if head.method() == "notifications/cancelled" {
            let id = head.params.as_ref().and_then(|params| raw::member(&message.bytes, params, "requestId"));
            let Some(id) = id else { return };
            let Some(known) = session.server.withdrawn(connection, &message.bytes[id.clone()]) else {
                return;
            };
            edits.replace(id, known);
        }
        let written = message.edit(edits).bytes;
        let message = ParsedLine::parse(written);
        let id = message.first().map(|head| head.id_bytes().to_vec()).unwrap_or_default();
        let outcome = exchange::from_server(&session.link, message.into()).await;
        outcome.dropped.iter().for_each(|reason| (self.log)(reason));
        if let Some(message) = outcome.forward {
            self.put_for_client(session, message, is_request.then_some(id));
        }
    }

    /// Sends the notification that a resource has changed to the sessions that subscribed to it.
    fn pass_update(&self, upstream: &Arc<Upstream>, message: &ParsedLine) {
        let params = message.first().and_then(|head| head.params.as_ref());
        let uri = params.and_then(|params| raw::member(&message.bytes, params, "uri"));
        let Some(uri) = uri.and_then(|uri| raw::text(&message.bytes, &uri)) else { return };
        let sessions: Vec<Arc<ClientSession>> = self.sessions().values().cloned().collect();
        for session in sessions {
            if session.server.is_subscribed(upstream.index, &uri) {
                self.put_for_client(&session, message.bytes.clone().into(), None);
            }
        }
    }

    /// Answers a request of a server.
    fn reply(&self, connection: &Arc<Connection>, answer: Vec<u8>) {
        let link = Arc::new(self.link.relaying());
        connection.server.send(&link, Some(ParsedLine::parse(answer)), &deliveries().0);
    }

    /// Sends the answer of a client to the server that asked.
    pub(super) fn take_client_answer(
        &self,
        session: &Arc<ClientSession>,
        message: ParsedLine,
        from: MessageSource,
    ) {
        let Some(head) = message.first() else { return };
        let Some(target) = session.server.answered(head.id_bytes()) else {
            return match session.server.asking_replica(head.id_bytes()) {
                Some(replica) if from == MessageSource::Client => {
                    self.tell_replicas(session, replica, &message)
                }
                _ => (self.log)("dropped an answer of a client: nobody waits for it"),
            };
        };
        let (connection, id) = match target {
            AnswerTarget::Server(connection, id) => (connection, id),
            AnswerTarget::Gateway(answer) => {
                // Nobody waits any more if the request that it belongs to has ended.
                let _ = answer.send(serde_json::from_slice(&message.bytes).unwrap_or_default());
                return;
            }
        };
        let mut edits = Edits::new();
        edits.replace(head.id.clone().unwrap_or_default(), id);
        let message = self.put_ids_of_tasks(session, message.edit(edits));
        connection.server.send(&session.link, Some(message), &deliveries().0);
    }

    /// Handles a notification of a client: a cancellation, progress of a server's request, or anything else, which goes to every
    /// server with a connection for this session alone.
    pub(super) fn take_client_notification(
        &self,
        session: &Arc<ClientSession>,
        message: ParsedLine,
        from: MessageSource,
    ) {
        let Some(head) = message.first() else { return };
        let member = |key| {
            let range = raw::member(&message.bytes, head.params.as_ref()?, key)?;
            Some((message.bytes[range.clone()].to_vec(), range))
        };
        match head.method() {
            "notifications/cancelled" => {
                if let Some((id, _)) = member("requestId")
                    && !session.server.cancel(&id)
                    && from == MessageSource::Client
                {
                    self.tell_replicas(session, "", &message);
                }
            }
            "notifications/progress" => {
                let Some((token, range)) = member("progressToken") else { return };
                let Some((connection, known)) = session.server.progressing(&token) else {
                    if let (Some(replica), MessageSource::Client) =
                        (session.server.asking_replica(&token), from)
                    {
                        self.tell_replicas(session, replica, &message);
                    }
                    return;
                };
                let mut edits = Edits::new();
                edits.replace(range, known);
                connection.server.send(&session.link, Some(message.edit(edits)), &deliveries().0);
            }
            // The gateway sent this to each server when it connected.
            "notifications/initialized" => {}
            // Only notifications with unique members pass: a server might run a request without an id, which was not checked.
            method
                if !method.starts_with("notifications/") || tiers::repeats(&message.bytes, &head.whole) => {}
            _ => {
                if from == MessageSource::Client {
                    self.tell_replicas(session, "", &message);
                }
                let whose = Whose::Session(session.server.id.clone());
                for connection in self.upstreams.iter().filter_map(|upstream| upstream.begun(&whose)) {
                    let message = ParsedLine::parse(message.bytes.clone());
                    connection.server.send(&session.link, Some(message), &deliveries().0);
                }
            }
        }
    }

    /// Tells the servers with a connection for this session alone which log messages its client wants.
    pub(super) fn set_level(&self, session: &Arc<ClientSession>, params: &Value) {
        session.server.set_level(params);
        let whose = Whose::Session(session.server.id.clone());
        for upstream in &self.upstreams {
            if let Some(connection) = upstream.begun(&whose) {
                tell_level(upstream, &connection, params.clone());
            }
        }
    }
}

/// Listens for changes of the lists of a server without sessions, as long as the connection lasts.
async fn hear_changes(upstream: Weak<Upstream>, connection: Weak<Connection>) {
    loop {
        let (Some(server), Some(now)) = (upstream.upgrade(), connection.upgrade()) else { return };
        let Some(params) = listening_params(&now).filter(|_| !now.has_ended()) else { return };
        let request = json!({"jsonrpc": "2.0", "id": 0, "method": "subscriptions/listen", "params": params});
        let message = ParsedLine::parse(request.to_string().into_bytes());
        let (sender, mut receiver) = deliveries();
        now.server.send(&Arc::new(server.link.relaying()), Some(message), &sender);
        drop((sender, server, now));
        while let Some(delivery) = receiver.recv().await {
            let Some(upstream) = upstream.upgrade() else { return };
            if delivery.error_code == Some(METHOD_NOT_FOUND) {
                return;
            }
            if delivery.is_response {
                break;
            }
            let message = delivery.message.into_bytes().map(ParsedLine::parse);
            let kinds = message.ok().and_then(|message| ListKind::of_change(message.first()?.method()));
            kinds.into_iter().for_each(|kinds| upstream.say_changed(kinds));
        }
        tokio::time::sleep(LISTEN_PAUSE).await;
    }
}

/// Returns the params that ask for changes of the lists which a server says may change; `None` if there are none.
fn listening_params(connection: &Connection) -> Option<Value> {
    let changes = |kind: &ListKind| {
        connection.announcement.capabilities[kind.capability()]["listChanged"] == json!(true)
    };
    let wanted: Map<String, Value> = ListKind::ALL
        .iter()
        .filter(|kind| changes(kind))
        .map(|kind| (subscription_key(*kind).to_owned(), json!(true)))
        .collect();
    (!wanted.is_empty()).then(|| json!({"notifications": wanted, "_meta": Introduction::of_gateway().meta()}))
}

/// Tells a server which log messages its client wants, if the server supports logging.
pub(super) fn tell_level(upstream: &Arc<Upstream>, connection: &Arc<Connection>, params: Value) {
    if connection.announcement.capabilities.get("logging").is_none() {
        return;
    }
    let (upstream, connection) = (Arc::clone(upstream), Arc::clone(connection));
    tokio::spawn(async move {
        let patience = upstream.settings.start_timeout;
        // If the server refuses, its own level stays.
        let _ = ask(&connection.server, &upstream.link, "logging/setLevel", params, patience).await;
    });
}
