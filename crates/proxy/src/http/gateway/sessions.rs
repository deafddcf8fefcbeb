//! The sessions of clients: begun, known again by their token, and ended.

use std::sync::{Arc, PoisonError};
use std::time::Instant;

use hyper::StatusCode;
use hyper::header::HeaderMap;
use serde_json::Value;
use tidegate_gate::{causes, response};
use tidegate_gateway::caller::Principal;
use tidegate_gateway::seal::Purpose;

use super::client::{Client, ClientSession};
use super::{Gateway, MAX_ENDED_SESSIONS, MAX_SESSIONS};
use crate::http::exchange::{Refusal, refuse};
use crate::http::http_to_stdio::{Answer, random_id};
use crate::http::legacy;
use crate::http::session::Session;
use crate::message::ParsedLine;

impl Gateway {
    /// Begins the session of a client that sends `initialize`.
    pub(super) async fn begin(
        self: &Arc<Self>,
        principal: &Arc<Principal>,
        message: &ParsedLine,
    ) -> Result<Arc<ClientSession>, Refusal> {
        let params = message.first().and_then(|head| head.params.clone()).unwrap_or(0..0);
        let params: Value = serde_json::from_slice(&message.bytes[params]).unwrap_or_default();
        let client = Client::introduced(random_id(), Arc::clone(principal), &params, &self.replicas.id);
        let (sealer, owner, written) =
            (Arc::clone(&self.sealer), principal.name().to_owned(), client.written());
        // The key may have to be read from the store first.
        let sealed =
            tokio::task::spawn_blocking(move || sealer.seal(Purpose::Session, &owner, &written)).await;
        let Ok(Ok(token)) = sealed else {
            return refuse(
                StatusCode::SERVICE_UNAVAILABLE,
                "the key that seals sessions cannot be read; try again",
            );
        };
        Ok(self.remember(token, client))
    }

    fn remember(&self, token: String, client: Client) -> Arc<ClientSession> {
        let link = Arc::new(self.link_of(&client.principal, Some(&client.id)));
        let id = client.id.clone();
        let session = Session::new(token, link, client).with_event_prefix(format!("{}-", self.replicas.id));
        let session = Arc::new(session);
        let idle = {
            let mut sessions = self.sessions();
            if let Some(known) = sessions.get(&id) {
                return Arc::clone(known);
            }
            let idle = || sessions.iter().filter_map(|(id, session)| Some((session.idle_since()?, id))).min();
            let idle = (sessions.len() >= MAX_SESSIONS).then(idle).flatten().map(|(_, id)| id.clone());
            sessions.insert(id, Arc::clone(&session));
            idle
        };
        // With its connections, which are bound to it.
        idle.iter().for_each(|id| self.drop_session(id));
        session
    }

    /// Returns the session that a request names.
    pub(super) async fn session(
        &self,
        principal: &Arc<Principal>,
        headers: &HeaderMap,
    ) -> Result<Arc<ClientSession>, Refusal> {
        let token = legacy::session_id(headers)?;
        legacy::check_version(headers)?;
        let opened = self.sealer.open(Purpose::Session, principal.name(), token);
        let client =
            opened.and_then(|written| Client::read(&written, Arc::clone(principal), &self.replicas.id));
        let client = client.filter(|client| !self.has_ended(&client.id));
        let Some(client) = client else { return legacy::unknown_session() };
        let known = self.sessions().get(&client.id).cloned();
        let session = match known {
            Some(known) => known,
            None => self.resume(token, client).await?,
        };
        session.touch();
        Ok(session)
    }

    /// Returns a session that another replica began, or this one long ago, unless a replica has ended it.
    async fn resume(&self, token: &str, client: Client) -> Result<Arc<ClientSession>, Refusal> {
        let id = client.id.clone();
        match self.ended_among(vec![id.clone()]).await {
            Ok(ended) if ended.is_empty() => {}
            Ok(_) => return legacy::unknown_session(),
            Err(error) => {
                (self.log)(&format!("whether a session has ended cannot be read: {}", causes(&error)));
                let message = "whether this session has ended cannot be read from the database; try again";
                return refuse(StatusCode::SERVICE_UNAVAILABLE, message);
            }
        }
        let session = self.remember_resumed(token, client);
        // It may have ended since the database was asked.
        if self.has_ended(&id) {
            self.drop_session(&id);
            return legacy::unknown_session();
        }
        Ok(session)
    }

    fn remember_resumed(&self, token: &str, client: Client) -> Arc<ClientSession> {
        let initialize = client.initialize();
        let session = self.remember(token.to_owned(), client);
        // Replays `initialize` into the link.
        session.link.parsed_from_client(ParsedLine::parse(initialize));
        let result = Value::Object(self.announcement_for(&session.server.principal));
        let told = response(b"0", result.to_string().as_bytes());
        session.link.parsed_from_server(ParsedLine::parse(told).into());
        session
    }

    fn has_ended(&self, id: &str) -> bool {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).contains_key(id)
    }

    pub(super) async fn delete(&self, principal: &Arc<Principal>, headers: &HeaderMap) -> Answer {
        let session = self.session(principal, headers).await?;
        if let Err(error) = self.end_everywhere(&session).await {
            (self.log)(&format!("the end of a session cannot be stored: {}", causes(&error)));
            let message = "the database cannot be reached, so other replicas would not know that the session has ended; try again";
            return refuse(StatusCode::SERVICE_UNAVAILABLE, message);
        }
        self.end_here(&session.server.id);
        Ok(legacy::ended())
    }

    /// Ends a session on this replica.
    pub(super) fn end_here(&self, id: &str) {
        {
            let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
            if ended.len() >= MAX_ENDED_SESSIONS
                && let Some(oldest) = ended.iter().min_by_key(|(_, at)| **at).map(|(id, _)| id.clone())
            {
                ended.remove(&oldest);
            }
            ended.insert(id.to_owned(), Instant::now());
        }
        self.drop_session(id);
        self.earlier().for_each(|earlier| earlier.drop_session(id));
    }
}
