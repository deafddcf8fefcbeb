//! Event streams of a server, forwarded event by event.

use std::pin::pin;
use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::Method;
use hyper::body::Incoming;
use tokio::sync::mpsc;

use super::Forwarded;
use crate::http::body::Piece;
use crate::http::exchange::from_server;
use crate::http::sse::{self, Event, EventSplitter};
use crate::link::{Failure, Link, Overdue};
use crate::spool::{Message, Received};

/// Whether a stream goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    GoesOn,
    /// The client is gone, or has all it asked for.
    Over,
}

impl Forwarded {
    /// Forwards events one by one, with what the gate edits changed, and answers the requests that the server does not.
    pub(super) async fn relay_events(self, mut body: Incoming, sender: mpsc::Sender<Piece>) {
        for answer in &self.local_answers {
            let _ = sender.send(sse::event(None, answer).into()).await;
        }
        if !self.local_answers.is_empty() && !self.exchange.is_open() {
            // The server was sent notifications only, and every request is answered.
            return self.leave();
        }
        let mut events = EventSplitter::new(self.exchange.limits());
        let mut can_be_resumed = false;
        loop {
            let frame = tokio::select! {
                frame = body.frame() => frame,
                () = sender.closed() => return self.leave(),
                overdue = self.exchange.wait_for_overdue() => match self.answer_overdue(overdue, &sender).await {
                    Next::GoesOn => continue,
                    Next::Over => return self.leave(),
                },
            };
            let Some(Ok(frame)) = frame else { break };
            let Ok(data) = frame.into_data() else { continue };
            events.push(&data);
            while let Some(event) = events.next() {
                can_be_resumed |= event.id.as_ref().is_some_and(|id| !id.is_empty());
                if self.relay_event(event, &sender).await == Next::Over {
                    return self.leave();
                }
            }
        }
        if let Some(event) = events.last() {
            self.relay_event(event, &sender).await;
        }
        let is_over = self.method == Method::POST && (self.is_modern || !can_be_resumed);
        if is_over {
            let failure = Failure::Ended("the stream of the server ended".into());
            for answer in self.exchange.fail(&failure) {
                let _ = sender.send(sse::event(None, &answer).into()).await;
            }
        }
        self.leave();
    }

    /// Leaves the requests that are still open to the conversation: a client that resumes the stream gets their responses.
    /// Without a session, a client that is gone has cancelled them.
    fn leave(&self) {
        if !self.is_modern {
            self.link.adopt(&self.exchange);
        }
    }

    /// Forwards one event, unless its deadline passes before it is stored and shaped.
    async fn relay_event(&self, event: Event, sender: &mpsc::Sender<Piece>) -> Next {
        let mut edited = pin!(edited(event, &self.exchange));
        let mut next = Next::GoesOn;
        let piece = loop {
            tokio::select! {
                piece = &mut edited => break piece,
                // The event may hold the answers to other requests of a batch, so it is waited for.
                overdue = self.exchange.wait_for_overdue() => next = self.answer_overdue(overdue, sender).await,
            }
        };
        let Some(piece) = piece else { return next };
        match sender.send(piece).await {
            Ok(()) => next,
            Err(_) => Next::Over,
        }
    }

    /// Answers requests in place of the server. A stream on which nothing else is awaited ends then, which closes the
    /// connection to the server.
    async fn answer_overdue(&self, overdue: Vec<Overdue>, sender: &mpsc::Sender<Piece>) -> Next {
        for late in &overdue {
            let _ = sender.send(sse::event(None, &late.answer).into()).await;
        }
        self.cancel(overdue);
        match self.method == Method::POST && !self.exchange.is_open() {
            true => Next::Over,
            false => Next::GoesOn,
        }
    }
}

/// Returns what an event becomes; `None` if it is dropped.
async fn edited(mut event: Event, exchange: &Arc<Link>) -> Option<Piece> {
    match event.data.take() {
        None => Some(event.raw.into()),
        Some(Received::Message(Message::Memory(data))) => {
            let message = Message::Memory(data.clone());
            match from_server(exchange, message.into()).await.forward? {
                Message::Memory(forward) if forward.trim_ascii_end() == data.trim_ascii_end() => {
                    Some(event.unchanged(forward.into()))
                }
                forward => Some(event.with_data(forward)),
            }
        }
        Some(Received::Message(data)) => {
            Some(event.with_data(from_server(exchange, data.into()).await.forward?))
        }
        Some(Received::TooLarge(too_large)) => Some(event.with_data(exchange.refuse(&too_large).forward?)),
    }
}
