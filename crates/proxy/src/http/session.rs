//! One legacy session: a server of its own, and the streams on which it speaks to its client.
//!
//! A stream belongs to a request, or is the one a client opens to listen. Events carry ids, and the latest are kept, so
//! that a client whose connection broke can ask for what it missed.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use tokio::sync::{Notify, mpsc};

use super::body::Piece;
use super::peer::Peer;
use super::sse;
use crate::held::Message;
use crate::link::Link;

/// Events of one stream that can be asked for again.
const KEPT: usize = 256;
/// Bytes of them that are held in memory.
const KEPT_BYTES: usize = 1 << 20;
/// Streams whose events can be asked for again.
const STREAMS: usize = 64;

/// The stream of whoever listens for what answers no request.
pub(super) const LISTENING: u64 = 0;

#[derive(Default)]
struct Stream {
    next: u64,
    kept: VecDeque<(u64, Piece)>,
    live: Option<mpsc::Sender<Piece>>,
    over: bool,
    /// Told when something is put on it.
    woken: Arc<Notify>,
}

impl Stream {
    /// Bytes in memory of the events that can be asked for again.
    fn kept_bytes(&self) -> usize {
        let bytes = |piece: &Piece| match piece {
            Piece::Bytes(bytes) => bytes.len(),
            Piece::Disk(_) => 0,
        };
        self.kept.iter().map(|(_, piece)| bytes(piece)).sum()
    }
}

/// One legacy session.
pub(super) struct Session {
    pub(super) id: String,
    pub(super) link: Arc<Link>,
    pub(super) peer: Arc<Peer>,
    streams: Mutex<HashMap<u64, Stream>>,
    next_stream: AtomicU64,
    used: Mutex<Instant>,
}

impl Session {
    pub(super) fn new(id: String, link: Arc<Link>, peer: Arc<Peer>) -> Self {
        Self {
            id,
            link,
            peer,
            streams: Mutex::new(HashMap::from([(LISTENING, Stream::default())])),
            next_stream: AtomicU64::new(1),
            used: Mutex::new(Instant::now()),
        }
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<u64, Stream>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that the client is there.
    pub(super) fn touch(&self) {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Since when the client has not been there; `None` while it listens.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let listening =
            self.streams().values().any(|stream| stream.live.as_ref().is_some_and(|live| !live.is_closed()));
        (!listening).then(|| *self.used.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Begins a stream for a request.
    pub(super) fn begin(&self) -> u64 {
        let number = self.next_stream.fetch_add(1, Ordering::Relaxed);
        let mut streams = self.streams();
        if streams.len() > STREAMS
            && let Some(oldest) = streams
                .iter()
                .filter(|(number, stream)| **number != LISTENING && stream.over)
                .map(|(number, _)| *number)
                .min()
        {
            streams.remove(&oldest);
        }
        streams.insert(number, Stream::default());
        number
    }

    /// Connects a client to a stream, from an event on; false where somebody listens there already.
    pub(super) fn connect(&self, number: u64, after: Option<u64>, live: &mpsc::Sender<Piece>) -> bool {
        let mut streams = self.streams();
        let Some(stream) = streams.get_mut(&number) else { return false };
        if stream.live.as_ref().is_some_and(|live| !live.is_closed()) && after.is_none() {
            return false;
        }
        let missed = stream.kept.iter().filter(|(event, _)| after.is_none_or(|after| *event > after));
        for (_, event) in missed {
            // A reader that is just beginning has room for what was kept; one that has not will ask again.
            let _ = live.try_send(event.clone());
        }
        stream.live = (!stream.over).then(|| live.clone());
        true
    }

    /// Returns what is told when something is put on a stream.
    pub(super) fn woken(&self, number: u64) -> Arc<Notify> {
        self.streams().get(&number).map(|stream| Arc::clone(&stream.woken)).unwrap_or_default()
    }

    /// Returns whether nothing was put on a stream yet.
    pub(super) fn is_quiet(&self, number: u64) -> bool {
        self.streams().get(&number).is_none_or(|stream| stream.next == 0)
    }

    /// Puts a message on a stream. An empty one tells the client an id to come back with.
    pub(super) fn put(&self, number: u64, message: Message, last: bool) {
        let mut streams = self.streams();
        let Some(stream) = streams.get_mut(&number) else { return };
        let event = stream.next;
        stream.next += 1;
        stream.woken.notify_one();
        let piece = sse::event_of(Some(&format!("{number}-{event}")), message);
        stream.kept.push_back((event, piece.clone()));
        while stream.kept.len() > KEPT || (stream.kept.len() > 1 && stream.kept_bytes() > KEPT_BYTES) {
            stream.kept.pop_front();
        }
        let sent = stream.live.as_ref().is_some_and(|live| live.try_send(piece).is_ok());
        if !sent {
            // Gone, or too slow: it can come back for what it missed.
            stream.live = None;
        }
        if last {
            stream.over = true;
            stream.live = None;
        }
    }

    /// Puts a message that answers no request where the client can see it: beside the newest open request, or where it
    /// listens.
    pub(super) fn put_other(&self, message: Message) {
        let number = {
            let streams = self.streams();
            let open =
                streams.iter().filter(|(number, stream)| **number != LISTENING && stream.live.is_some());
            open.map(|(number, _)| *number).max().unwrap_or(LISTENING)
        };
        self.put(number, message, false);
    }

    /// Ends a stream that is not needed, since its answer was sent whole.
    pub(super) fn forget(&self, number: u64) {
        self.streams().remove(&number);
    }
}

/// Reads an event id back: the stream and the number of the event.
pub(super) fn event_id(text: &str) -> Option<(u64, u64)> {
    let (stream, event) = text.split_once('-')?;
    Some((stream.parse().ok()?, event.parse().ok()?))
}
