//! Forwards client messages between replicas, and tracks ended sessions.
//!
//! The id of a request of a server names the replica that asked, so an answer that reaches another one is sent there. Who made
//! a call is not known, so a cancellation goes to all. A message is taken only for a session of the caller that sent it, and
//! an answer only once: the question is forgotten with the first. Without a database there is one replica. Then the only others
//! are the gateways of this process that served before the configuration was read again, while they have calls in flight.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tidegate_gate::{causes, raw};
use tidegate_store::{ReplicaEvent, ReplicaMessage, ReplicaMessageKind, ReplicaMessages, StoreError};
use tokio::sync::mpsc;

use super::client::ClientSession;
use super::{Gateway, MAX_SESSION_AGE};
use crate::http::http_to_stdio::random_id;
use crate::message::{MessageHead, MessageKind, ParsedLine};
use crate::spool::Message;

/// How long the replica that asked may take to claim an answer.
const ANSWER_PATIENCE: Duration = Duration::from_secs(10);
/// How long a message for a client waits for a replica where the client listens.
const LISTENER_PATIENCE: Duration = Duration::from_secs(2);
/// The digits of the id of a replica.
const ID_DIGITS: usize = 16;

/// How a message of a client got here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MessageSource {
    /// The client sent it to this replica.
    Client,
    /// Another replica passed it on.
    Replica,
}

/// The other replicas, if there may be any.
pub(super) struct Replicas {
    /// The id of this one.
    pub(super) id: Arc<str>,
    messages: Option<Arc<dyn ReplicaMessages>>,
    /// What listens for the others until it is dropped.
    listening: Mutex<Option<Box<dyn Send + Sync>>>,
}

impl Replicas {
    pub(super) fn new(messages: Option<Arc<dyn ReplicaMessages>>) -> Self {
        let id = random_id()[..ID_DIGITS].into();
        Self { id, messages, listening: Mutex::default() }
    }
}

/// Returns whether a text can be the id of a replica.
pub(super) fn is_replica_id(text: &str) -> bool {
    (1..=ID_DIGITS).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Runs database work on a blocking thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(StoreError::Unusable("a task of the database panicked".into())))
}

impl Gateway {
    /// Begins to take what other replicas send.
    pub(super) fn listen_to_replicas(self: &Arc<Self>) {
        let Some(messages) = &self.replicas.messages else { return };
        let (sender, mut events) = mpsc::unbounded_channel();
        // The receiver task ends with the gateway.
        let listening = messages.listen(&self.replicas.id, Box::new(move |event| drop(sender.send(event))));
        *self.replicas.listening.lock().unwrap_or_else(PoisonError::into_inner) = Some(listening);
        let gateway = Arc::downgrade(self);
        tokio::spawn(async move {
            while let Some(event) = events.recv().await {
                let Some(gateway) = gateway.upgrade() else { return };
                gateway.take_event(event).await;
            }
        });
    }

    async fn take_event(&self, event: ReplicaEvent) {
        match event {
            ReplicaEvent::Note(line) => (self.log)(&line),
            ReplicaEvent::SessionEnded(session) => self.end_here(&session),
            ReplicaEvent::Reconnected => {
                let known: Vec<String> = self.sessions().keys().cloned().collect();
                match self.ended_among(known).await {
                    Ok(ended) => ended.iter().for_each(|session| self.end_here(session)),
                    Err(error) => {
                        let why = causes(&error);
                        (self.log)(&format!("which sessions have ended meanwhile cannot be read: {why}"));
                    }
                }
            }
            ReplicaEvent::Message(number, message) => self.take_message(number, message).await,
        }
    }

    async fn take_message(&self, number: i64, message: ReplicaMessage) {
        let session = self.sessions().get(&message.session).cloned();
        // Ignore a session of another caller.
        let session = session.filter(|session| session.server.owner() == message.owner);
        let Some(session) = session else { return };
        match message.kind {
            ReplicaMessageKind::FromClient => self.take_from_client(&session, message.body),
            ReplicaMessageKind::ForClient => {
                let Some(messages) = self.replicas.messages.clone() else { return };
                if session.is_connected()
                    && blocking(move || messages.claim(&message.owner, number)).await.unwrap_or(false)
                {
                    session.put_unrouted(message.body.into());
                }
            }
        }
    }

    /// Takes an answer, a notification or a setting of a client as if it had been sent here.
    fn take_from_client(&self, session: &Arc<ClientSession>, body: Vec<u8>) {
        let message = ParsedLine::parse(body);
        let Some(head) = message.first().filter(|_| !message.is_batch()) else { return };
        if head.kind() == MessageKind::Request {
            return self.take_setting(session, &message, head);
        }
        let (forward, _) = session.link.exchange().parsed_from_client(message);
        let Some(message) = forward else { return };
        match message.first().map(MessageHead::kind) {
            Some(MessageKind::Response) => self.take_client_answer(session, message, MessageSource::Replica),
            Some(MessageKind::Notification) => {
                self.take_client_notification(session, message, MessageSource::Replica)
            }
            _ => {}
        }
    }

    /// Takes over what a client asked of another replica for its session.
    fn take_setting(&self, session: &Arc<ClientSession>, message: &ParsedLine, head: &MessageHead) {
        let params = head.params.clone().unwrap_or(0..0);
        match head.method() {
            "logging/setLevel" => {
                let params = serde_json::from_slice(&message.bytes[params]).unwrap_or_default();
                self.set_level(session, &params);
            }
            "resources/unsubscribe" => {
                let uri = raw::member(&message.bytes, &params, "uri");
                let Some(uri) = uri.and_then(|uri| raw::text(&message.bytes, &uri)) else { return };
                for upstream in &self.upstreams {
                    session.server.subscribe(upstream.index, &uri, false);
                }
            }
            _ => {}
        }
    }

    /// Sends a message of a client to another replica, or to all others if `to` is empty.
    pub(super) fn tell_replicas(&self, session: &Arc<ClientSession>, to: &str, message: &ParsedLine) {
        let Some(messages) = self.replicas.messages.clone() else {
            return self.tell_earlier(session, to, message);
        };
        let message = ReplicaMessage {
            owner: session.server.owner(),
            session: session.server.id.clone(),
            kind: ReplicaMessageKind::FromClient,
            body: message.bytes.clone(),
        };
        let (from, to, log) = (Arc::clone(&self.replicas.id), to.to_owned(), Arc::clone(&self.log));
        tokio::spawn(async move {
            let (owner, sending, is_for_one) = (message.owner.clone(), Arc::clone(&messages), !to.is_empty());
            match blocking(move || sending.send(&from, &to, &message)).await {
                Err(error) => {
                    log(&format!("a message could not be sent to other replicas: {}", causes(&error)));
                }
                Ok(number) if is_for_one => {
                    tokio::time::sleep(ANSWER_PATIENCE).await;
                    if blocking(move || messages.claim(&owner, number)).await.unwrap_or(false) {
                        log("dropped an answer of a client: the replica that asked is gone");
                    }
                }
                Ok(_) => {}
            }
        });
    }

    /// Takes over from a gateway whose calls in flight go on.
    pub(super) fn succeed(&mut self, old: &Arc<Self>) {
        self.ended = Arc::clone(&old.ended);
        let earlier = old.earlier.iter().filter(|earlier| earlier.strong_count() > 0).cloned();
        self.earlier = earlier.chain([Arc::downgrade(old)]).collect();
    }

    /// Returns the gateways of this process that served before and have calls in flight.
    pub(super) fn earlier(&self) -> impl Iterator<Item = Arc<Self>> {
        self.earlier.iter().filter_map(Weak::upgrade)
    }

    /// Returns the gateway of this process that serves now, if it is not this one.
    fn serving(&self) -> Option<Arc<Self>> {
        let mut serving = self.later.get()?.upgrade()?;
        while let Some(later) = serving.later.get().and_then(Weak::upgrade) {
            serving = later;
        }
        Some(serving)
    }

    /// Returns a session of the same caller and id at this gateway.
    fn same_session(&self, session: &ClientSession) -> Option<Arc<ClientSession>> {
        let known = self.sessions().get(&session.server.id).cloned();
        known.filter(|known| known.server.owner() == session.server.owner())
    }

    /// Sends a message of a client to the gateway that served before, or to all of them if `to` is empty.
    fn tell_earlier(&self, session: &ClientSession, to: &str, message: &ParsedLine) {
        let mut is_told = false;
        for earlier in self.earlier().filter(|earlier| to.is_empty() || *earlier.replicas.id == *to) {
            if let Some(known) = earlier.same_session(session) {
                earlier.take_from_client(&known, message.bytes.clone());
                is_told = true;
            }
        }
        if !to.is_empty() && !is_told {
            (self.log)("dropped an answer of a client: whoever asked is gone");
        }
    }

    /// Puts a message that belongs to no request where its client reads: here, else at the replica where it listens, else
    /// here until it listens. `question` is the id of a request of a server.
    pub(super) fn put_for_client(
        &self,
        session: &Arc<ClientSession>,
        message: Message,
        question: Option<Vec<u8>>,
    ) {
        let link = Arc::clone(&session.link);
        let put = move |session: &ClientSession, message: Message| {
            if !session.put_unrouted(message)
                && let Some(id) = question
            {
                // Many clients never listen, so calls must not wait for the answer.
                link.note_undelivered(&id);
            }
        };
        let (messages, body) = match (&self.replicas.messages, message) {
            (Some(messages), Message::Memory(body)) if !session.is_connected() => {
                (Arc::clone(messages), body)
            }
            // The client listens at the gateway that serves now.
            (None, message) if !session.is_connected() => {
                let known = self.serving().and_then(|serving| serving.same_session(session));
                return put(known.as_ref().unwrap_or(session), message);
            }
            (_, message) => return put(session, message),
        };
        let (owner, id) = (session.server.owner(), session.server.id.clone());
        let message = ReplicaMessage { owner, session: id, kind: ReplicaMessageKind::ForClient, body };
        let (from, session) = (Arc::clone(&self.replicas.id), Arc::clone(session));
        tokio::spawn(async move {
            let (sending, sent) = (Arc::clone(&messages), message.clone());
            if let Ok(number) = blocking(move || sending.send(&from, "", &sent)).await {
                tokio::time::sleep(LISTENER_PATIENCE).await;
                let owner = message.owner;
                if !blocking(move || messages.claim(&owner, number)).await.unwrap_or(false) {
                    return;
                }
            }
            put(&session, message.body.into());
        });
    }

    /// Tells all replicas, and those that start later, that a session has ended.
    pub(super) async fn end_everywhere(&self, session: &ClientSession) -> Result<(), StoreError> {
        let Some(messages) = self.replicas.messages.clone() else { return Ok(()) };
        let (owner, id) = (session.server.owner(), session.server.id.clone());
        blocking(move || messages.end_session(&owner, &id, MAX_SESSION_AGE)).await
    }

    /// Returns which of some sessions have ended at any replica.
    pub(super) async fn ended_among(&self, sessions: Vec<String>) -> Result<Vec<String>, StoreError> {
        let Some(messages) = self.replicas.messages.clone().filter(|_| !sessions.is_empty()) else {
            return Ok(Vec::new());
        };
        blocking(move || messages.ended_sessions(&sessions)).await
    }
}
