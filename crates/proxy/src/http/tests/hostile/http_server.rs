//! Faults of a server over HTTP. It writes bytes, so that it can write what no library would.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use Step::{Hang, Repeat, Send};

use super::Promise::{self, Error, Overdue, Result, Status};

/// A step of a server that has read a request. After the last one it closes the connection.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Send(String),
    /// Sends this again and again.
    Repeat(&'static str),
    /// Sends nothing more, and keeps the connection.
    Hang,
}

/// How long a server repeats or keeps a connection that nobody closes.
const FOREVER: Duration = Duration::from_secs(40);

/// A fault, with what is promised for a call: of a client on stdio, and of one over HTTP, to which errors of HTTP are
/// forwarded.
pub(super) struct Fault {
    pub(super) name: &'static str,
    pub(super) does: Vec<Step>,
    pub(super) on_stdio: Promise,
    pub(super) over_http: Promise,
}

pub(super) const OK: &str = r#"{"jsonrpc":"2.0","id":101,"result":{"content":[]}}"#;
const EVENTS: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

pub(super) fn response(head: &str, body: &str) -> Step {
    Send(format!("HTTP/1.1 {head}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len()))
}

pub(super) fn json(body: &str) -> Step {
    response("200 OK\r\ncontent-type: application/json", body)
}

pub(super) fn events(events: &str) -> Step {
    Send(format!("{EVENTS}{events}"))
}

fn text(bytes: &str) -> Step {
    Send(bytes.to_owned())
}

fn fault(name: &'static str, does: Vec<Step>, promise: Promise) -> Fault {
    Fault { name, does, on_stdio: promise, over_http: promise }
}

/// A response that is an error of HTTP.
fn status(name: &'static str, response: Step, said: &'static str, status: u16) -> Fault {
    Fault { name, does: vec![response], on_stdio: Error(said), over_http: Status(status) }
}

/// Every fault.
pub(super) fn faults() -> Vec<Fault> {
    [bodies(), statuses(), redirects(), broken(), streams()].into_iter().flatten().collect()
}

fn bodies() -> Vec<Fault> {
    let other = OK.replace("101", "4711");
    let neither = r#"{"jsonrpc":"2.0","id":101}"#;
    let both = r#"{"jsonrpc":"2.0","id":101,"result":{},"error":{"code":1,"message":"x"}}"#;
    let no_answer = Error("does not answer it; the tool may have run");
    vec![
        fault("none", vec![json(OK)], Result),
        fault("another id", vec![json(&other)], no_answer),
        fault("neither result nor error", vec![json(neither)], Error("neither a result nor an error")),
        fault("both result and error", vec![json(both)], Error("both a result and an error")),
        fault(
            "a notification",
            vec![json(r#"{"jsonrpc":"2.0","method":"notifications/message"}"#)],
            no_answer,
        ),
        fault("an empty object", vec![json("{}")], no_answer),
        fault("an empty body", vec![json("")], no_answer),
        fault("an empty batch", vec![json("[]")], no_answer),
        fault("JSON cut short", vec![json(&OK[..30])], no_answer),
        fault("text", vec![json("oops")], no_answer),
        fault(
            "an answer without a length",
            vec![text(&format!("HTTP/1.0 200 OK\r\ncontent-type: application/json\r\n\r\n{OK}"))],
            Result,
        ),
        fault("an interim response", vec![text("HTTP/1.1 100 Continue\r\n\r\n"), json(OK)], Result),
        fault("a byte order mark", vec![json(&format!("\u{feff}{OK}"))], Result),
        fault("an answer over several lines", vec![json(&OK.replace(',', ",\n  "))], Result),
        fault(
            "a content type in capitals",
            vec![response("200 OK\r\nContent-Type: Application/JSON; charset=UTF-8", OK)],
            Result,
        ),
        fault(
            "gzip",
            vec![response("200 OK\r\ncontent-type: application/json\r\ncontent-encoding: gzip", "\u{1f}x")],
            Error(
                "compressed body (content-encoding \"gzip\"), which was not asked for; the tool may have run",
            ),
        ),
        fault(
            "a compressed stream",
            vec![response("200 OK\r\ncontent-type: text/event-stream\r\ncontent-encoding: br", "x")],
            Error("compressed body"),
        ),
        fault(
            "identity",
            vec![response("200 OK\r\ncontent-type: application/json\r\ncontent-encoding: identity", OK)],
            Result,
        ),
    ]
}

fn statuses() -> Vec<Fault> {
    let html = "content-type: text/html";
    let page = "<h1>no</h1>";
    vec![
        fault(
            "a page",
            vec![response(&format!("200 OK\r\n{html}"), page)],
            Error("with \"text/html\", neither JSON nor events; the tool may have run"),
        ),
        fault(
            "no content type",
            vec![response("200 OK\r\nx: y", page)],
            Error("with neither JSON nor events"),
        ),
        fault(
            "accepted",
            vec![response("202 Accepted\r\nx: y", "")],
            Error("status 202 Accepted and no message; the tool may have run"),
        ),
        fault("no content", vec![text("HTTP/1.1 204 No Content\r\n\r\n")], Error("status 204 No Content")),
        status(
            "bad request",
            response(&format!("400 Bad Request\r\n{html}"), page),
            "status 400 Bad Request",
            400,
        ),
        status(
            "unauthorized",
            response(&format!("401 Unauthorized\r\nwww-authenticate: Bearer\r\n{html}"), page),
            "status 401",
            401,
        ),
        status("forbidden", response(&format!("403 Forbidden\r\n{html}"), page), "status 403", 403),
        status("not found", response(&format!("404 Not Found\r\n{html}"), page), "status 404", 404),
        status(
            "too many requests",
            response(&format!("429 Too Many Requests\r\n{html}"), page),
            "status 429",
            429,
        ),
        status(
            "failed",
            response(&format!("500 Internal Server Error\r\n{html}"), page),
            "status 500 Internal Server Error; the tool may have run",
            500,
        ),
        status(
            "a request that took too long",
            response(&format!("408 Request Timeout\r\n{html}"), page),
            "status 408 Request Timeout; the tool may have run",
            408,
        ),
        status(
            "a conflict",
            response(&format!("409 Conflict\r\n{html}"), page),
            "status 409 Conflict; the tool may have run",
            409,
        ),
        status("gone away", response(&format!("503 Service Unavailable\r\n{html}"), page), "status 503", 503),
        status(
            "a compressed error",
            response("500 Internal Server Error\r\ncontent-encoding: gzip", "x"),
            "compressed body",
            500,
        ),
        status(
            "an error with words",
            response(
                "400 Bad Request\r\ncontent-type: application/json",
                r#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"its words"}}"#,
            ),
            "400 Bad Request: its words",
            400,
        ),
    ]
}

fn redirects() -> Vec<Fault> {
    vec![
        fault(
            "moved",
            vec![response("301 Moved Permanently\r\nlocation: http://127.0.0.1:1/", "")],
            Error("redirects to another address (status 301), which tidegate does not follow"),
        ),
        fault(
            "found",
            vec![response("302 Found\r\nlocation: /login", "")],
            Error("redirects to another address"),
        ),
        fault(
            "redirected",
            vec![response("307 Temporary Redirect\r\nlocation: http://evil.example/", OK)],
            Error("redirects to another address"),
        ),
        fault(
            "an answer at another address",
            vec![response("303 See Other\r\nlocation: /answers/7", "")],
            Error("with a redirect (status 303); the tool may have run"),
        ),
        fault(
            "redirected for good",
            vec![response("308 Permanent Redirect\r\nlocation: http://evil.example/", "")],
            Error("redirects to another address"),
        ),
    ]
}

fn broken() -> Vec<Fault> {
    let may_have_run = Error("before it answered the call of list; the tool may have run");
    let half = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 500\r\n\r\n{}",
        &OK[..30]
    );
    let half_a_page =
        half.replace("200 OK", "500 Internal Server Error").replace("application/json", "text/html");
    let chunk = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n20\r\n{\"jsonrpc\":";
    vec![
        fault("a closed connection", vec![], may_have_run),
        fault("silence", vec![Hang], Overdue),
        fault("half a head", vec![text("HTTP/1.1 200 O")], may_have_run),
        fault("half a head, then silence", vec![text("HTTP/1.1 200 OK\r\ncontent-ty"), Hang], Overdue),
        fault("no HTTP", vec![text("SSH-2.0-OpenSSH_9.0\r\n")], may_have_run),
        fault(
            "a switch of protocols",
            vec![text("HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n")],
            Error("the tool may have run"),
        ),
        fault("a head without end", vec![Repeat("HTTP/1.1 200 OK\r\nx: y\r\n")], may_have_run),
        fault("half a body", vec![text(&half)], may_have_run),
        fault("half a body, then silence", vec![text(&half), Hang], Overdue),
        fault("half an error page, then silence", vec![text(&half_a_page), Hang], Overdue),
        fault("half a chunk", vec![text(chunk)], may_have_run),
        fault("half a chunk, then silence", vec![text(chunk), Hang], Overdue),
        fault(
            "a body without end",
            vec![text("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n[1"), Repeat(",1")],
            Overdue,
        ),
        Fault {
            name: "a page without end",
            does: vec![text("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n"), Repeat("x")],
            on_stdio: Overdue,
            over_http: Error("neither JSON nor events; the tool may have run"),
        },
        fault(
            "a chunk of no size",
            vec![text(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
            )],
            may_have_run,
        ),
    ]
}

fn streams() -> Vec<Fault> {
    let answer = format!("data: {OK}\n\n");
    let other = answer.replace("101", "4711");
    let ended =
        Error("the stream of the server ended before it answered the call of list; the tool may have run");
    let notification =
        "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":\"x\"}}\n\n";
    vec![
        fault("an event", vec![events(&answer)], Result),
        fault("an event without its end", vec![events(answer.trim_end())], Result),
        fault(
            "an event in several lines",
            vec![events(&format!("data: {}\ndata: {}\n\n", &OK[..17], &OK[17..]))],
            Result,
        ),
        fault("comments and an event", vec![events(&format!(": hello\n\n: again\n\n{answer}"))], Result),
        fault("a stream that ends", vec![events("")], ended),
        fault("a stream of comments that ends", vec![events(": hello\n\n")], ended),
        fault("an event cut short", vec![events(&answer[..30])], ended),
        fault("an event that is no JSON", vec![events("data: oops\n\n")], ended),
        fault("a stream with another id", vec![events(&other)], ended),
        fault(
            "an event with neither",
            vec![events("data: {\"jsonrpc\":\"2.0\",\"id\":101}\n\n")],
            Error("neither a result nor an error"),
        ),
        fault("a notification, then the end", vec![events(notification)], ended),
        fault("a silent stream", vec![events(""), Hang], Overdue),
        fault("half an event, then silence", vec![events(&answer[..30]), Hang], Overdue),
        fault("another id, then silence", vec![events(&other), Hang], Overdue),
        fault("endless comments", vec![events(""), Repeat(": ping\n\n")], Overdue),
        fault("endless events without data", vec![events(""), Repeat("event: x\n\n")], Overdue),
        fault(
            "endless notifications",
            vec![events(""), Repeat("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\n")],
            Overdue,
        ),
        fault("an event without end", vec![events("data: {"), Repeat("\"x\":1,")], Overdue),
        fault("two answers", vec![events(&format!("{answer}{answer}"))], Result),
        fault("an answer after a notification", vec![events(&format!("{notification}{answer}"))], Result),
        fault("a batch in an event", vec![events(&format!("data: [{OK}]\n\n"))], Result),
    ]
}

/// Starts a server that takes these steps with every request; returns its address.
pub(super) fn start(steps: &[Step]) -> String {
    start_sequence(vec![steps.to_vec()]).address
}

/// A server that counts its requests.
pub(super) struct CountingServer {
    pub(super) address: String,
    pub(super) requests: Arc<AtomicUsize>,
}

/// Starts a server that takes the first steps with the first request, the second with the second, and the last with all that
/// follow.
pub(super) fn start_sequence(steps: Vec<Vec<Step>>) -> CountingServer {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/mcp", listener.local_addr().unwrap());
    let requests = Arc::new(AtomicUsize::new(0));
    let (steps, count) = (Arc::new(steps), Arc::clone(&requests));
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let (steps, count) = (Arc::clone(&steps), Arc::clone(&count));
            // A client that closes its connection ends the fault.
            std::thread::spawn(move || connection.map(|connection| serve(connection, &steps, &count)));
        }
    });
    CountingServer { address, requests }
}

fn serve(connection: TcpStream, steps: &[Vec<Step>], requests: &AtomicUsize) -> std::io::Result<()> {
    connection.set_read_timeout(Some(FOREVER))?;
    let mut input = BufReader::new(connection.try_clone()?);
    let mut output = connection;
    let (mut length, mut line) = (0, String::new());
    while line != "\r\n" {
        line.clear();
        if input.read_line(&mut line)? == 0 {
            return Ok(());
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
    }
    input.read_exact(&mut vec![0; length])?;
    let number = requests.fetch_add(1, Ordering::SeqCst);
    for step in &steps[number.min(steps.len() - 1)] {
        match step {
            Send(bytes) => output.write_all(bytes.as_bytes())?,
            Repeat(bytes) => {
                let until = Instant::now() + FOREVER;
                while Instant::now() < until {
                    output.write_all(bytes.as_bytes())?;
                    std::thread::sleep(Duration::from_millis(10));
                }
            }
            Hang => drop(input.read(&mut [0; 1])?),
        }
    }
    Ok(())
}
