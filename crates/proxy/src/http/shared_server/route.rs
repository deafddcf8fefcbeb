//! Messages of the server on their way to the clients: each is routed by the number that its request was given, and the link
//! of the request decides on it.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use tidegate_gate::raw::ByteRange;

use super::{Delivery, DeliverySender, Liveness, SharedServer, deliver, response};
use crate::content::Content;
use crate::http::exchange::pass_on;
use crate::link::{Link, ServerMessage, dropped_line, dropped_response, dropped_text};
use crate::message::{MessageHead, MessageKind, ParsedLine, message_after_text, parse_heads};
use crate::spool::{Line, Message, Received, Spooled, TooLarge};

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A range of a message and what it becomes.
type Change = (ByteRange, Vec<u8>);

impl SharedServer {
    /// Sends a line of the server to whom it is for.
    pub(in crate::http) fn route(&self, line: Line<'_>) {
        self.route_as(line, Liveness::Alive);
    }

    /// Sends a line of the server, or one that answers in its place, to whom it is for.
    pub(super) fn route_as(&self, line: Line<'_>, liveness: Liveness) {
        match line {
            Line::InPlace(line) => self.route_line(line, liveness),
            Line::Buffered(Received::Message(Message::Memory(line))) => self.route_line(&line, liveness),
            Line::Buffered(Received::Message(Message::Disk(spooled))) => self.route_spooled(&spooled),
            Line::Buffered(Received::TooLarge(too_large)) => self.refuse(too_large),
        }
    }

    fn refuse(&self, too_large: TooLarge) {
        let request =
            too_large.id.as_deref().and_then(number_of).and_then(|number| self.sent().remove(&number));
        let Some(request) = request else {
            return (self.log)(&format!("dropped a message of the server: it {}", too_large.reason));
        };
        let refused = request.link.refuse(&TooLarge { id: Some(request.id), ..too_large });
        if let Some(message) = refused.forward {
            deliver(&request.deliveries, response(message, refused.error_code));
        }
    }

    fn route_line(&self, line: &[u8], liveness: Liveness) {
        let content = Content::Memory(line);
        let Some(heads) = parse_heads(line) else {
            let start = message_after_text(line);
            let text = 0..start.unwrap_or(line.len());
            self.log_dropped(content, &text);
            return start.map_or((), |start| self.route_line(&line[start..], liveness));
        };
        for head in &heads {
            let extract = |change| ParsedLine::extract(line, head, change).into();
            self.route_message(head, content, liveness, extract);
        }
    }

    fn route_spooled(&self, spooled: &Spooled) {
        if spooled.heads.is_empty() {
            let message = spooled.message_after_text();
            let text = 0..message.as_ref().map_or(spooled.len(), |head| head.whole.start);
            self.log_dropped(Content::Disk(spooled), &text);
            let Some(head) = message else { return };
            return self.route_spooled(&spooled.with_head(head));
        }
        let content = Content::Disk(spooled);
        for (index, head) in spooled.heads.iter().enumerate() {
            self.route_message(head, content, Liveness::Alive, |change| {
                Message::Disk(Box::new(spooled.extract(index, change))).into()
            });
        }
    }

    fn log_dropped(&self, content: Content<'_>, text: &ByteRange) {
        if let Some(reason) = dropped_text(content, text) {
            (self.log)(&reason);
        }
    }

    /// Sends one message to whom it is for; `extract` returns it alone, with a change.
    fn route_message(
        &self,
        head: &MessageHead,
        content: Content<'_>,
        liveness: Liveness,
        extract: impl FnOnce(Option<Change>) -> ServerMessage,
    ) {
        match head.kind() {
            _ if head.is_answer() => {
                let number = number_of(head.id_bytes());
                let request = number.and_then(|number| self.take_answered(number));
                if let (Some((number, (id, link, deliveries))), Some(place)) =
                    (number.zip(request), head.id.clone())
                {
                    let (message, sent) = (extract(Some((place, id))), Arc::clone(&self.sent));
                    return pass_on(link, message, &self.log, move |message, error_code| {
                        sent.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
                        deliver(&deliveries, Delivery { liveness, ..response(message, error_code) });
                    });
                }
                // A number that was given to a request was answered already, and means nothing to a client.
                if number.is_some_and(|number| number < self.next_number.load(Ordering::Relaxed)) {
                    return (self.log)(&dropped_response(head.id_bytes()));
                }
            }
            MessageKind::Notification => {
                if let Some((change, link, deliveries)) = self.recipient(head, content) {
                    let message = extract(Some(change));
                    return pass_on(link, message, &self.log, move |message, error_code| {
                        deliver(
                            &deliveries,
                            Delivery { is_response: false, ..response(message, error_code) },
                        );
                    });
                }
            }
            // It cannot be sent over HTTP, where a message has to be JSON.
            MessageKind::Unreadable => {
                return (self.log)(&dropped_line(content, &head.whole, "no message"));
            }
            MessageKind::Request | MessageKind::Response | MessageKind::Other => {}
        }
        if let Some(unrouted) = &*self.unrouted() {
            // Nobody listens once the session is gone.
            let _ = unrouted.send(extract(None));
        }
    }

    /// Notes that the response to a request has arrived; returns its id, link and recipient unless one had arrived before.
    fn take_answered(&self, number: u64) -> Option<(Vec<u8>, Arc<Link>, DeliverySender)> {
        let mut sent = self.sent();
        let request = sent.get_mut(&number).filter(|request| !request.answered)?;
        request.answered = true;
        Some((request.id.clone(), Arc::clone(&request.link), request.deliveries.clone()))
    }

    /// Returns whom a notification is for, by its progress token or subscription, with the change that gives it back the
    /// token or id that the client knows.
    fn recipient(
        &self,
        head: &MessageHead,
        content: Content<'_>,
    ) -> Option<(Change, Arc<Link>, DeliverySender)> {
        let params = head.params.as_ref()?;
        let meta = |key| content.member(&content.member(params, "_meta")?.range, key);
        let token = content.member(params, "progressToken").or_else(|| meta("progressToken"));
        let (found, is_subscription) = match token {
            Some(token) => (token, false),
            None => (meta(SUBSCRIPTION)?, true),
        };
        let sent = self.sent();
        let request = sent.get(&number_of(found.start())?)?;
        let known = if is_subscription { request.id.clone() } else { request.token.clone()? };
        Some(((found.range, known), Arc::clone(&request.link), request.deliveries.clone()))
    }
}

/// Returns the number that an id or token is; some servers write it as a string or with a fraction.
fn number_of(id: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(id).ok()?.trim_matches('"');
    text.strip_suffix(".0").unwrap_or(text).parse().ok()
}
