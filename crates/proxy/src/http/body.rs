//! Bodies of responses: known whole, sent piece by piece, or read from a spool file as they are sent.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use tokio::sync::mpsc;

use crate::spool::{Blocks, Message, Spooled};

/// The body of a response.
pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// A part of a body.
#[derive(Debug, Clone)]
pub(super) enum Piece {
    Bytes(Bytes),
    Disk(Box<Spooled>),
}

impl<B: Into<Bytes>> From<B> for Piece {
    fn from(bytes: B) -> Self {
        Self::Bytes(bytes.into())
    }
}

/// Returns a body that is known whole.
pub(super) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Returns a body that is one message, without trailing white space if it is in memory.
pub(super) fn whole(message: Message) -> Body {
    match message {
        Message::Memory(mut bytes) => {
            bytes.truncate(bytes.trim_ascii_end().len());
            full(bytes)
        }
        Message::Disk(spooled) => Stream { receiver: None, reading: Some(spooled.blocks()) }.boxed_unsync(),
    }
}

/// Returns a body that is sent piece by piece, and its sender, which notices when the reader is gone.
pub(super) fn stream() -> (mpsc::Sender<Piece>, Body) {
    let (sender, receiver) = mpsc::channel(MAX_WAITING_PIECES);
    (sender, Stream { receiver: Some(receiver), reading: None }.boxed_unsync())
}

/// How many pieces may wait for a slow reader; then the sender waits too.
const MAX_WAITING_PIECES: usize = 16;

struct Stream {
    receiver: Option<mpsc::Receiver<Piece>>,
    /// The piece that is being read from disk.
    reading: Option<Blocks>,
}

impl HttpBody for Stream {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        loop {
            // The block was written a moment ago, so it is read from the page cache.
            match self.reading.as_mut().and_then(Iterator::next) {
                Some(block) => return Poll::Ready(Some(block.map(|block| Frame::data(block.into())))),
                None => self.reading = None,
            }
            let Some(receiver) = &mut self.receiver else { return Poll::Ready(None) };
            match receiver.poll_recv(context) {
                Poll::Ready(Some(Piece::Bytes(bytes))) => return Poll::Ready(Some(Ok(Frame::data(bytes)))),
                Poll::Ready(Some(Piece::Disk(spooled))) => self.reading = Some(spooled.blocks()),
                Poll::Ready(None) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
