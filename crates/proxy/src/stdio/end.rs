//! The events that end a conversation, and how far it has come to its end.

use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use crate::system;

/// A step towards the end of the conversation.
pub(crate) enum EndEvent {
    ClientGone,
    /// A signal told tidegate to end.
    Signalled,
    /// The server has closed its output.
    OutputClosed,
    ServerExited(u8),
}

/// Reports the signals that tell tidegate to end.
pub(super) fn watch_signals(sender: Sender<EndEvent>) {
    system::on_end_signal(move || {
        let _ = sender.send(EndEvent::Signalled);
    });
}

/// How far the conversation has come to its end.
pub(super) struct EndState {
    events: Receiver<EndEvent>,
    pub(super) client_gone: bool,
    pub(super) signalled: bool,
    pub(super) output_closed: bool,
    pub(super) exit_code: Option<u8>,
}

impl EndState {
    pub(super) fn new(events: Receiver<EndEvent>) -> Self {
        Self { events, client_gone: false, signalled: false, output_closed: false, exit_code: None }
    }

    pub(super) fn has_begun(&self) -> bool {
        self.client_gone || self.signalled || self.output_closed || self.exit_code.is_some()
    }

    pub(super) fn has_exited(&self) -> bool {
        self.exit_code.is_some()
    }

    /// Waits until a condition holds; returns whether it does in time.
    pub(super) fn wait(&mut self, time: Duration, condition: impl Fn(&Self) -> bool) -> bool {
        let until = Instant::now() + time;
        while !condition(self) {
            match self.events.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(EndEvent::ClientGone) => self.client_gone = true,
                Ok(EndEvent::Signalled) => self.signalled = true,
                Ok(EndEvent::OutputClosed) => self.output_closed = true,
                Ok(EndEvent::ServerExited(code)) => self.exit_code = Some(code),
                Err(_) => return condition(self),
            }
        }
        true
    }
}
