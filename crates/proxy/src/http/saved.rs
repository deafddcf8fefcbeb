//! `GET /saved/<token>/<name>`: what a link of `result_save` leads to, as an attachment.
//!
//! The gate checks the link as if the view were asked for now; the listener has checked the request before, like every
//! other one. The view is sent as it is written. If it fails on the way, the connection breaks, so that a part is never
//! taken for the whole.

use std::io::{self, BufWriter, Write};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body as HttpBody, Frame};
use http_body_util::BodyExt;
use hyper::header::{
    ALLOW, CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER,
    X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Response, StatusCode};
use tidegate_core::view::ExportFormat;
use tidegate_gate::{DownloadError, SavedLink, encode_file_name};
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, mpsc};

use super::body::{Body, full};
use crate::link::Link;

/// The path below which links lead.
pub(super) const PATH: &str = "/saved/";
/// How many files are sent at once.
static DOWNLOADS: Semaphore = Semaphore::const_new(8);
/// Bytes that are sent at once.
const PIECE_BYTES: usize = 64 * 1024;
/// How many pieces may wait for a slow client; then the view is read no further.
const MAX_WAITING_PIECES: usize = 4;
/// How long a client may take for a piece.
const STALL_TIMEOUT: Duration = Duration::from_secs(60);
/// Endings of names whose files are shown as text.
const TEXT_ENDINGS: [&str; 6] = ["txt", "log", "md", "diff", "patch", "yaml"];

/// A part of a file on its way to the client.
enum Piece {
    Bytes(Bytes),
    /// Nothing follows.
    End,
    Failed(DownloadError),
}

/// Answers a request for a saved view; `link` is the conversation of the client, `None` if it names one that is not there.
pub(super) async fn answer(method: &Method, path: &str, link: Option<Arc<Link>>) -> Response<Body> {
    if method != Method::GET {
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "only GET is supported here");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET"));
        return response;
    }
    let (Some(saved), Some(link)) = (SavedLink::parse(path), link) else {
        return refused(&DownloadError::Gone);
    };
    let Ok(permit) = DOWNLOADS.try_acquire() else {
        let mut response = text(StatusCode::SERVICE_UNAVAILABLE, "too many downloads at once; try again");
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
        return response;
    };
    let name = saved.name().to_owned();
    let (sender, mut receiver) = mpsc::channel(MAX_WAITING_PIECES);
    let mut client = Client { sender, runtime: Handle::current() };
    tokio::task::spawn_blocking(move || {
        let _permit = permit;
        let mut out = BufWriter::with_capacity(PIECE_BYTES, &mut client);
        let sent = link.download(&saved, &mut out);
        let sent = sent.and_then(|()| out.flush().map_err(|error| DownloadError::Failed(error.to_string())));
        // What is left in the buffer of a file that failed must not be sent.
        drop(out.into_parts());
        // A client that is gone needs no end.
        let _ = client.send(sent.map_or_else(Piece::Failed, |()| Piece::End));
    });
    // The status depends on whether the link is valid and the view can be read.
    match receiver.recv().await {
        Some(Piece::Failed(error)) => refused(&error),
        first => attachment(&name, Sending { first, receiver, is_over: false }.boxed_unsync()),
    }
}

/// Returns the response with a file.
fn attachment(name: &str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let shown = |character: char| match character {
        '"' | '\\' | '%' => '_',
        character if character.is_ascii_graphic() || character == ' ' => character,
        _ => '_',
    };
    let plain: String = name.chars().map(shown).collect();
    let encoded = encode_file_name(name);
    let disposition = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}");
    let disposition = HeaderValue::from_str(&disposition);
    let disposition = disposition.unwrap_or_else(|_| HeaderValue::from_static("attachment"));
    let fields =
        [(CONTENT_TYPE, HeaderValue::from_static(content_type(name))), (CONTENT_DISPOSITION, disposition)];
    response.headers_mut().extend(fields.into_iter().chain(private()));
    response
}

/// Returns the type of a file, by the ending of its name; never one that a browser would run.
fn content_type(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    match ExportFormat::of_file(name) {
        ExportFormat::Csv => "text/csv; charset=utf-8",
        ExportFormat::Json => "application/json",
        ExportFormat::JsonLines => "application/x-ndjson",
        ExportFormat::Text if TEXT_ENDINGS.contains(&ending.as_str()) => "text/plain; charset=utf-8",
        ExportFormat::Text | ExportFormat::Bytes => "application/octet-stream",
    }
}

fn refused(error: &DownloadError) -> Response<Body> {
    match error {
        DownloadError::Gone => text(StatusCode::NOT_FOUND, &error.to_string()),
        error => text(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

fn text(status: StatusCode, message: &str) -> Response<Body> {
    let mut response = Response::new(full(format!("{message}\n")));
    *response.status_mut() = status;
    let kind = (CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response.headers_mut().extend(std::iter::once(kind).chain(private()));
    response
}

/// Returns the headers of everything that is sent here: no cache keeps it, and no browser guesses what it is.
fn private() -> [(HeaderName, HeaderValue); 2] {
    [
        (CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ]
}

/// The client, as the thread that reads the view writes to it.
struct Client {
    sender: mpsc::Sender<Piece>,
    runtime: Handle,
}

impl Client {
    /// Sends a piece, and waits for a slow client for a limited time.
    fn send(&self, piece: Piece) -> io::Result<()> {
        let sent = async { tokio::time::timeout(STALL_TIMEOUT, self.sender.send(piece)).await };
        match self.runtime.block_on(sent) {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(io::Error::from(io::ErrorKind::BrokenPipe)),
            Err(_) => Err(io::Error::from(io::ErrorKind::TimedOut)),
        }
    }
}

impl Write for Client {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.send(Piece::Bytes(Bytes::copy_from_slice(bytes)))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A file that is being sent.
struct Sending {
    /// The piece that was received before the response began.
    first: Option<Piece>,
    receiver: mpsc::Receiver<Piece>,
    is_over: bool,
}

impl HttpBody for Sending {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        let piece = match self.first.take() {
            Some(first) => Some(first),
            None => match self.receiver.poll_recv(context) {
                Poll::Ready(piece) => piece,
                Poll::Pending => return Poll::Pending,
            },
        };
        self.is_over = !matches!(piece, Some(Piece::Bytes(_)));
        Poll::Ready(match piece {
            Some(Piece::Bytes(bytes)) => Some(Ok(Frame::data(bytes))),
            Some(Piece::End) => None,
            Some(Piece::Failed(error)) => Some(Err(io::Error::other(error.to_string()))),
            None => Some(Err(io::Error::other("the view could not be read to its end"))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_is_a_page() {
        for (name, expected) in [
            ("a.csv", "text/csv; charset=utf-8"),
            ("a.json", "application/json"),
            ("a.NDJSON", "application/x-ndjson"),
            ("a.log", "text/plain; charset=utf-8"),
            ("a.html", "application/octet-stream"),
            ("a.svg", "application/octet-stream"),
            ("a", "application/octet-stream"),
        ] {
            assert_eq!(content_type(name), expected, "{name}");
        }
    }

    #[test]
    fn every_name_makes_a_header() {
        for (name, expected) in [
            ("a b.csv", "attachment; filename=\"a b.csv\"; filename*=UTF-8''a%20b.csv"),
            ("\"ü\\%.csv", "attachment; filename=\"____.csv\"; filename*=UTF-8''%22%C3%BC%5C%25.csv"),
        ] {
            let response = attachment(name, full(""));
            assert_eq!(response.headers()[CONTENT_DISPOSITION], expected);
        }
    }

    /// A thread that ends without a word must not look like the end of the file.
    #[test]
    fn a_download_without_its_end_fails() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for (last, is_whole) in
            [(Some(Piece::End), true), (None, false), (Some(Piece::Failed(DownloadError::Gone)), false)]
        {
            let (sender, receiver) = mpsc::channel(4);
            sender.try_send(Piece::Bytes("b".into())).ok();
            last.into_iter().for_each(|last| sender.try_send(last).ok().unwrap());
            drop(sender);
            let first = Some(Piece::Bytes("a".into()));
            let collected = runtime.block_on(Sending { first, receiver, is_over: false }.collect());
            assert_eq!(
                collected.map(http_body_util::Collected::to_bytes).ok().as_deref(),
                is_whole.then_some(&b"ab"[..])
            );
        }
    }
}
