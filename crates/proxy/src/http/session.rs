//! One legacy session: a server process of its own, and the event streams to its client.
//!
//! A stream belongs to a request, or is the one that a client opens to listen. Events carry ids, and the latest are kept,
//! so a client whose connection broke can resume a stream.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Notify, mpsc};

use super::body::Piece;
use super::exchange;
use super::shared_server::{Log, SharedServer};
use super::sse;
use crate::link::{Link, ServerMessage};
use crate::message::MessageKind;
use crate::spool::Message;

/// How long a session may be idle before it is dropped.
const MAX_IDLE_TIME: Duration = Duration::from_secs(30 * 60);
/// The maximum number of events of one stream that are kept for a client that resumes it.
const MAX_KEPT_EVENTS: usize = 256;
/// The maximum size of these events in memory.
const MAX_KEPT_BYTES: usize = 1 << 20;
/// The maximum number of streams that can be resumed.
const MAX_STREAMS: usize = 64;
/// The maximum size in memory of the events of all streams of a session. Finished streams are forgotten first.
const MAX_SESSION_KEPT_BYTES: usize = 4 << 20;

/// The stream for messages that belong to no request.
pub(super) const LISTENING: u64 = 0;

#[derive(Default)]
struct Stream {
    next: u64,
    kept: VecDeque<(u64, Piece)>,
    /// How many bytes of kept events are in memory.
    kept_bytes: usize,
    /// The connection of the client, while there is one.
    connection: Option<mpsc::Sender<Piece>>,
    over: bool,
    /// Notified when something is put on the stream.
    woken: Arc<Notify>,
}

impl Stream {
    fn is_connected(&self) -> bool {
        self.connection.as_ref().is_some_and(|connection| !connection.is_closed())
    }

    /// Keeps an event for a client that resumes the stream, instead of the oldest ones where there are too many.
    fn keep(&mut self, event: u64, piece: Piece) {
        self.kept_bytes += bytes_in_memory(&piece);
        self.kept.push_back((event, piece));
        while self.kept.len() > MAX_KEPT_EVENTS || (self.kept.len() > 1 && self.kept_bytes > MAX_KEPT_BYTES) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, piece)) = self.kept.pop_front() {
            self.kept_bytes -= bytes_in_memory(&piece);
        }
    }
}

fn bytes_in_memory(piece: &Piece) -> usize {
    match piece {
        Piece::Bytes(bytes) => bytes.len(),
        Piece::Disk(_) => 0,
    }
}

/// Forgets events until those of a session fit into its memory: first finished streams, the oldest first, then the oldest
/// events of open ones. The newest event of a stream stays, because its client may not have it yet.
fn forget_excess(streams: &mut HashMap<u64, Stream>, newest: u64) {
    let total =
        |streams: &HashMap<u64, Stream>| streams.values().map(|stream| stream.kept_bytes).sum::<usize>();
    while total(streams) > MAX_SESSION_KEPT_BYTES {
        let is_finished = |(number, stream): &(&u64, &Stream)| stream.over && **number != newest;
        if let Some(oldest) = streams.iter().filter(is_finished).map(|(number, _)| *number).min() {
            streams.remove(&oldest);
            continue;
        }
        let largest = streams.values_mut().filter(|stream| stream.kept.len() > 1);
        let Some(largest) = largest.max_by_key(|stream| stream.kept_bytes) else { return };
        largest.forget_oldest();
    }
}

/// Why a client cannot be connected to a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotConnected {
    /// Another connection reads the stream.
    Taken,
    /// There was no such stream, or it is no longer kept.
    Forgotten,
}

/// One legacy session; `S` handles its requests.
pub(super) struct Session<S = Arc<SharedServer>> {
    pub(super) id: String,
    pub(super) link: Arc<Link>,
    pub(super) server: S,
    streams: Mutex<HashMap<u64, Stream>>,
    next_stream: AtomicU64,
    /// What begins the ids of events: other replicas may have streams of the same session, with events of their own.
    event_prefix: String,
    last_used: Mutex<Instant>,
}

impl<S> Session<S> {
    pub(super) fn new(id: String, link: Arc<Link>, server: S) -> Self {
        Self {
            id,
            link,
            server,
            streams: Mutex::new(HashMap::from([(LISTENING, Stream::default())])),
            next_stream: AtomicU64::new(1),
            event_prefix: String::new(),
            last_used: Mutex::new(Instant::now()),
        }
    }

    /// Returns the session with a prefix of the ids of its events.
    #[cfg(feature = "gateway")]
    pub(super) fn with_event_prefix(self, event_prefix: String) -> Self {
        Self { event_prefix, ..self }
    }

    fn streams(&self) -> MutexGuard<'_, HashMap<u64, Stream>> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that the client used the session.
    pub(super) fn touch(&self) {
        *self.last_used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    /// Returns when the session was last used; `None` while its client listens.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        let is_listening = self.streams().values().any(Stream::is_connected);
        (!is_listening).then(|| *self.last_used.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns whether the session has been idle for too long.
    pub(super) fn is_idle(&self, now: Instant) -> bool {
        self.idle_since().is_some_and(|since| now.duration_since(since) > MAX_IDLE_TIME)
    }

    /// Returns whether the client reads a stream now.
    #[cfg(feature = "gateway")]
    pub(super) fn is_connected(&self) -> bool {
        self.streams().values().any(Stream::is_connected)
    }

    /// Begins a stream for a request; returns its number.
    pub(super) fn begin(&self) -> u64 {
        let number = self.next_stream.fetch_add(1, Ordering::Relaxed);
        let mut streams = self.streams();
        if streams.len() > MAX_STREAMS
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

    /// Connects a client to a stream, after an event.
    pub(super) fn connect(
        &self,
        number: u64,
        after: Option<u64>,
        connection: &mpsc::Sender<Piece>,
    ) -> Result<(), NotConnected> {
        let mut streams = self.streams();
        let Some(stream) = streams.get_mut(&number) else { return Err(NotConnected::Forgotten) };
        if stream.is_connected() && after.is_none() {
            return Err(NotConnected::Taken);
        }
        let missed = stream.kept.iter().filter(|(event, _)| after.is_none_or(|after| *event > after));
        for (_, event) in missed {
            // A new connection has room for these; a client that misses some can resume again.
            let _ = connection.try_send(event.clone());
        }
        stream.connection = (!stream.over).then(|| connection.clone());
        Ok(())
    }

    /// Returns what is notified when something is put on a stream.
    pub(super) fn woken(&self, number: u64) -> Arc<Notify> {
        self.streams().get(&number).map(|stream| Arc::clone(&stream.woken)).unwrap_or_default()
    }

    /// Returns whether nothing has been put on a stream yet.
    pub(super) fn is_quiet(&self, number: u64) -> bool {
        self.streams().get(&number).is_none_or(|stream| stream.next == 0)
    }

    /// Puts a message on a stream, and returns whether a client reads it now. An empty message gives the client an event id
    /// to resume from.
    pub(super) fn put(&self, number: u64, message: Message, last: bool) -> bool {
        let mut streams = self.streams();
        let Some(stream) = streams.get_mut(&number) else { return false };
        let event = stream.next;
        stream.next += 1;
        stream.woken.notify_one();
        let piece = sse::event_of(Some(&format!("{}{number}-{event}", self.event_prefix)), message);
        stream.keep(event, piece.clone());
        let connection = stream.connection.as_ref();
        let sent = connection.is_some_and(|connection| connection.try_send(piece).is_ok());
        stream.over |= last;
        if !sent || last {
            // A client that is gone or too slow can resume the stream.
            stream.connection = None;
        }
        forget_excess(&mut streams, number);
        sent
    }

    /// Puts a message that belongs to no request on the stream of the newest open request or, without one, on the stream
    /// where the client listens. Returns whether a client reads it now.
    pub(super) fn put_unrouted(&self, message: Message) -> bool {
        let number = {
            let streams = self.streams();
            let open = streams
                .iter()
                .filter(|(number, stream)| **number != LISTENING && stream.connection.is_some());
            open.map(|(number, _)| *number).max().unwrap_or(LISTENING)
        };
        self.put(number, message, false)
    }

    /// Forwards the messages of the server that belong to no request, until the server is gone.
    pub(super) async fn forward_unrouted(
        self: Arc<Self>,
        mut messages: mpsc::UnboundedReceiver<ServerMessage>,
        log: Log,
    ) {
        while let Some(message) = messages.recv().await {
            let request = message.first().filter(|head| head.kind() == MessageKind::Request);
            let request = request.map(|head| head.id_bytes().to_vec());
            let outcome = exchange::from_server(&self.link, message).await;
            outcome.dropped.iter().for_each(|reason| log(reason));
            if let Some(message) = outcome.forward
                && !self.put_unrouted(message)
                && let Some(id) = request
            {
                // Many clients never open a stream, so a call must not wait for the answer to this request.
                self.link.note_undelivered(&id);
            }
        }
    }

    /// Ends the stream on which the client listens; it may connect again.
    #[cfg(feature = "gateway")]
    pub(super) fn hang_up(&self) {
        if let Some(listening) = self.streams().get_mut(&LISTENING) {
            listening.connection = None;
        }
    }

    /// Removes a stream that is not needed, because its response was sent as plain JSON.
    pub(super) fn forget(&self, number: u64) {
        self.streams().remove(&number);
    }
}

/// Parses an event id: the number of the stream and that of the event.
pub(super) fn parse_event_id(text: &str) -> Option<(u64, u64)> {
    let (stream, event) = text.split_once('-')?;
    Some((stream.parse().ok()?, event.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(session: &Session<()>) -> (usize, usize) {
        let streams = session.streams();
        let counted: usize = streams
            .values()
            .map(|stream| stream.kept.iter().map(|(_, piece)| bytes_in_memory(piece)).sum::<usize>())
            .sum();
        assert_eq!(counted, streams.values().map(|stream| stream.kept_bytes).sum::<usize>());
        (streams.len(), counted)
    }

    #[test]
    fn the_events_of_a_session_fit_into_its_memory() {
        let link = Arc::new(crate::tests::link(None));
        let session = Session::new("s".into(), link, ());
        let large = || Message::Memory(vec![b'x'; 900 << 10]);
        let mut numbers = Vec::new();
        for _ in 0..20 {
            let number = session.begin();
            session.put(number, large(), true);
            numbers.push(number);
            assert!(kept(&session).1 <= MAX_SESSION_KEPT_BYTES, "{:?}", kept(&session));
        }
        let (sender, _body) = mpsc::channel(1024);
        assert_eq!(session.connect(numbers[0], Some(0), &sender), Err(NotConnected::Forgotten));
        assert_eq!(session.connect(numbers[19], None, &sender), Ok(()), "the newest can be resumed");
        // Open streams keep their newest event, however many there are.
        let open: Vec<u64> = (0..10).map(|_| session.begin()).collect();
        for number in open.iter().chain(&open) {
            session.put(*number, large(), false);
        }
        let (_, bytes) = kept(&session);
        assert!(bytes < 11 << 20, "one event each: {bytes}");
        assert!(open.iter().all(|number| session.streams()[number].kept.len() == 1));
    }
}
