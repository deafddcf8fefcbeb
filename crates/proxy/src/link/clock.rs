//! The deadlines of requests: how long a server may be silent before tidegate answers in its place.
//!
//! The clock of a request starts when it is forwarded, and again with each progress notification for it. While the server
//! waits for the client (for its user, its model or its roots), the clocks of the conversation stand still; they start again
//! when the last such request is answered, or was not answered for an hour. All requests have the same timeout, so the thread
//! that watches the clocks sleeps until the next deadline or, without one, for one timeout: no request that comes meanwhile is
//! due earlier.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use tidegate_gate::raw::ByteRange;
use tidegate_gate::{RpcError, error_response};

use super::{Failure, Link, line_of};
use crate::content::Content;
use crate::message::{MessageHead, same_id};
use crate::pending::{PendingRequest, RequestKind};

/// Requests of a server that its user, its model or its client answers.
const QUESTION_METHODS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];
/// How many unanswered requests of a server are remembered; the oldest is forgotten first.
const MAX_QUESTIONS: usize = 256;
/// How long a request of the server stops the clocks. Some clients never answer: one that dropped the dialog with its user,
/// for example.
const MAX_QUESTION_TIME: Duration = Duration::from_secs(3600);

/// The requests of the server that wait for an answer of the client.
#[derive(Debug, Default)]
pub(super) struct ClientQuestions {
    /// The id of each, and when the server sent it; the oldest comes first.
    asked: VecDeque<(Vec<u8>, Instant)>,
    /// When the clocks started again.
    resumed: Option<Instant>,
}

impl ClientQuestions {
    fn ask(&mut self, id: &[u8], now: Instant) {
        if self.asked.len() >= MAX_QUESTIONS {
            self.asked.pop_front();
        }
        self.asked.push_back((id.to_vec(), now));
    }

    /// Removes a request of the server; returns whether it was the last one.
    fn remove(&mut self, id: &[u8]) -> bool {
        let position = self.asked.iter().position(|(asked, _)| asked == id || same_id(asked, id));
        position.and_then(|position| self.asked.remove(position)).is_some() && self.asked.is_empty()
    }

    /// Notes that a request of the server needs no answer any more.
    pub(super) fn settle(&mut self, id: &[u8]) {
        if self.remove(id) {
            self.resumed = Some(Instant::now());
        }
    }

    /// Forgets all requests of the server: the client has cancelled a call, and drops the dialog that belongs to it without
    /// an answer. Which one that is, no message says.
    pub(super) fn drop_all(&mut self) {
        if !self.asked.is_empty() {
            self.asked.clear();
            self.resumed = Some(Instant::now());
        }
    }

    /// Returns when the clocks started again, if they ever stood still; `Err` while they stand still.
    fn resumed(&mut self, now: Instant) -> Result<Option<Instant>, ClocksStandStill> {
        while let Some(end) = self.asked.front().map(|(_, asked)| *asked + MAX_QUESTION_TIME)
            && end <= now
        {
            self.asked.pop_front();
            self.resumed = self.resumed.max(Some(end));
        }
        if self.asked.is_empty() { Ok(self.resumed) } else { Err(ClocksStandStill) }
    }
}

/// The server waits for the client.
#[derive(Debug, PartialEq, Eq)]
struct ClocksStandStill;

/// A request that the server has not answered in time, with what to send instead.
#[derive(Debug)]
pub(crate) struct Overdue {
    /// The id of the request, as the client wrote it.
    pub(crate) id: Vec<u8>,
    /// The error response, with a line end.
    pub(crate) answer: Vec<u8>,
    /// The code of the error.
    pub(crate) code: i64,
    /// Whether the server has answered, and only tidegate took too long.
    pub(crate) was_answered: bool,
    /// The cancellation for the server, with a line end; `initialize` must not be cancelled.
    pub(crate) cancel: Option<Vec<u8>>,
}

impl Link {
    /// Takes the requests whose deadline has passed.
    pub(crate) fn overdue(&self) -> Vec<Overdue> {
        let Some(timeout) = self.timeout else { return Vec::new() };
        let now = Instant::now();
        let Some(silent_since) = self.silent_since(now, timeout) else { return Vec::new() };
        let requests = self.pending().take_overdue(silent_since);
        let requests = requests.into_iter().filter(|request| !request.cancelled);
        requests.map(|request| overdue(request, timeout)).collect()
    }

    /// Returns how long the thread that watches the deadlines may sleep; `None` if requests have no deadline.
    pub(crate) fn next_wake(&self) -> Option<Duration> {
        let timeout = self.timeout?;
        let now = Instant::now();
        let Ok(resumed) = self.conversation().questions.resumed(now) else { return Some(timeout) };
        let deadline = self.pending().next_deadline();
        let deadline = deadline.max(resumed.map(|resumed| resumed + timeout).filter(|_| deadline.is_some()));
        Some(deadline.map_or(timeout, |deadline| deadline.saturating_duration_since(now).min(timeout)))
    }

    /// Waits until requests are overdue and takes them; waits forever if requests have no deadline.
    pub(crate) async fn wait_for_overdue(&self) -> Vec<Overdue> {
        loop {
            match self.next_wake() {
                Some(wake) => tokio::time::sleep(wake).await,
                None => std::future::pending().await,
            }
            let overdue = self.overdue();
            if !overdue.is_empty() {
                return overdue;
            }
        }
    }

    /// Returns the timeout of requests.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }

    /// Starts the clocks of the open requests again.
    pub(crate) fn restart_clocks(&self) {
        if let Some(timeout) = self.timeout {
            self.pending().extend(None, Instant::now() + timeout);
        }
    }

    /// Returns until when deadlines count as passed; `None` while the clocks stand still.
    fn silent_since(&self, now: Instant, timeout: Duration) -> Option<Instant> {
        let resumed = self.conversation().questions.resumed(now).ok()?;
        let resumed_lately = resumed.is_some_and(|resumed| now < resumed + timeout);
        (!resumed_lately).then_some(now)
    }

    /// Notes a request of the server to the client.
    pub(super) fn note_question(&self, head: &MessageHead) {
        if self.timeout.is_none() || !QUESTION_METHODS.contains(&head.method()) {
            return;
        }
        let mut conversation = self.conversation();
        match self.hears_answers {
            true => conversation.questions.ask(head.id_bytes(), Instant::now()),
            // tidegate will not see the answer, so the clocks of the server's requests only start again.
            false => conversation.questions.resumed = Some(Instant::now()),
        }
    }

    /// Records that a request of the server did not reach the client, so no answer is expected.
    pub(crate) fn note_undelivered(&self, id: &[u8]) {
        self.conversation().questions.remove(id);
    }

    /// Notes a notification of the server that concerns deadlines: progress, or the end of a request of its own.
    pub(super) fn note_notification(&self, method: &str, content: Content<'_>, params: Option<&ByteRange>) {
        let (Some(timeout), Some(params)) = (self.timeout, params) else { return };
        match method {
            "notifications/progress" => {
                if let Some(token) = content.member(params, "progressToken") {
                    self.pending().extend(Some(token.start()), Instant::now() + timeout);
                }
            }
            "notifications/cancelled" => {
                if let Some(id) = content.member(params, "requestId") {
                    self.conversation().questions.settle(id.start());
                }
            }
            _ => {}
        }
    }
}

fn overdue(request: PendingRequest, timeout: Duration) -> Overdue {
    let error = if request.shaping {
        let (what, seconds) = (request.kind.describe(), timeout.as_secs_f64());
        RpcError::timeout(format!(
            "the server answered {what}, but tidegate could not process the answer within {seconds} s (--timeout); the tool did run, so check its effect before you call it again"
        ))
    } else {
        Failure::Overdue(timeout).error(&request.kind)
    };
    let cancel = format!(
        r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":"timeout"}}}}"#,
        String::from_utf8_lossy(&request.id)
    );
    let can_be_cancelled = !request.shaping && request.kind != RequestKind::Capabilities("initialize");
    let answer = line_of(error_response(&request.id, &error));
    let cancel = can_be_cancelled.then(|| line_of(cancel.into_bytes()));
    Overdue { id: request.id, answer, code: error.code, was_answered: request.shaping, cancel }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_that_nobody_answers_stops_the_clocks_for_a_limited_time() {
        let (mut questions, asked) = (ClientQuestions::default(), Instant::now());
        assert_eq!(questions.resumed(asked), Ok(None));
        questions.ask(b"1", asked);
        let second = asked + Duration::from_secs(60);
        questions.ask(b"2", second);
        assert_eq!(questions.resumed(asked + MAX_QUESTION_TIME), Err(ClocksStandStill));
        let end = second + MAX_QUESTION_TIME;
        assert_eq!(questions.resumed(end), Ok(Some(end)), "requests get their time from here");
        questions.settle(b"1");
        assert_eq!(questions.resumed(end), Ok(Some(end)), "an answer that comes later changes nothing");
        questions.ask(b"3", end);
        assert_eq!(questions.resumed(end), Err(ClocksStandStill));
        questions.remove(b"3");
        assert_eq!(questions.resumed(end), Ok(Some(end)), "it never reached the client");
    }
}
