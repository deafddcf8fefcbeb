//! Bodies of responses: whole, or sent as they come.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use tokio::sync::mpsc;

/// The body of a response.
pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// Returns a body that is known whole.
pub(super) fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// Returns a body that is sent as it comes, and where to put it. The sender notices when the reader is gone.
pub(super) fn stream() -> (mpsc::Sender<Bytes>, Body) {
    let (sender, receiver) = mpsc::channel(WAITING);
    (sender, Stream { receiver }.boxed_unsync())
}

/// Pieces that wait for a slow reader; then whoever sends waits too.
const WAITING: usize = 16;

struct Stream {
    receiver: mpsc::Receiver<Bytes>,
}

impl HttpBody for Stream {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.receiver.poll_recv(context).map(|piece| piece.map(|bytes| Ok(Frame::data(bytes))))
    }
}
