//! A proxy in front of an object store that answers some requests with errors, cuts them, or changes what was read.
//!
//! Each connection carries one request, so that the end of an answer is the end of the connection.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::listener::Listener;

/// What goes wrong with a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFault {
    /// The server does not see it; the client gets an internal error.
    Error,
    /// The server carries it out; the client gets an internal error.
    ErrorAfter,
    /// The server does not see it; the client is told to slow down.
    SlowDown,
    /// The connection is cut before the server sees it.
    Cut,
    /// The server carries it out, and the connection is cut before its answer.
    CutAfter,
    /// Half of the body of the answer is missing.
    Truncated,
    /// The bytes of the body of an answer to a read are wrong; other answers are cut.
    Wrong,
    /// The server does not see it, and the client gets no answer.
    Silence,
}

impl ObjectFault {
    /// All that the client notices at once.
    pub const ALL: [Self; 7] = [
        Self::Error,
        Self::ErrorAfter,
        Self::SlowDown,
        Self::Cut,
        Self::CutAfter,
        Self::Truncated,
        Self::Wrong,
    ];
}

#[derive(Default)]
struct ObjectFaultPlan {
    plan: Mutex<Vec<ObjectFault>>,
    /// The number of requests to let pass before the plan begins.
    passing: AtomicU64,
    /// The first lines of all requests.
    lines: Mutex<Vec<String>>,
    requests: AtomicU64,
    faults: AtomicU64,
}

/// A proxy in front of an object store.
pub struct ObjectProxy(Listener<ObjectFaultPlan>);

impl ObjectProxy {
    /// Starts a proxy in front of a port.
    ///
    /// # Panics
    ///
    /// No port is free.
    pub fn start(server: u16) -> Self {
        Self(Listener::start(server, serve))
    }

    /// Returns its port.
    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// Injures the next requests, one fault each.
    pub fn injure(&self, faults: impl IntoIterator<Item = ObjectFault>) {
        let mut plan = self.plan();
        self.0.state.passing.store(0, Ordering::SeqCst);
        *plan = faults.into_iter().collect();
    }

    /// Injures a request after `requests` more, with one fault.
    pub fn injure_after(&self, requests: u64, fault: ObjectFault) {
        let mut plan = self.plan();
        self.0.state.passing.store(requests, Ordering::SeqCst);
        *plan = vec![fault];
    }

    /// Injures all requests after those of the plan with a fault.
    pub fn go_on_with(&self, fault: ObjectFault) {
        let mut plan = self.plan();
        let planned = plan.pop();
        *plan = std::iter::repeat_n(fault, 100_000).chain(planned).collect();
    }

    /// Returns how many requests had a text in their first line, such as a method and a part of the address.
    pub fn requests_with(&self, method: &str, text: &str) -> usize {
        let lines = self.0.state.lines.lock().expect("no thread panics while it holds it");
        lines.iter().filter(|line| line.starts_with(method) && line.contains(text)).count()
    }

    /// Injures nothing any more.
    pub fn heal(&self) {
        self.plan().clear();
    }

    /// Returns how many requests came so far.
    pub fn requests(&self) -> u64 {
        self.0.state.requests.load(Ordering::SeqCst)
    }

    /// Returns how many requests were injured.
    pub fn faults(&self) -> u64 {
        self.0.state.faults.load(Ordering::SeqCst)
    }

    fn plan(&self) -> std::sync::MutexGuard<'_, Vec<ObjectFault>> {
        self.0.state.plan.lock().expect("no thread panics while it holds it")
    }
}

impl ObjectFaultPlan {
    /// Notes a request, and returns what goes wrong with it.
    fn next(&self, request: &[u8]) -> Option<ObjectFault> {
        let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let line = String::from_utf8_lossy(line).into_owned();
        self.lines.lock().expect("no thread panics while it holds it").push(line);
        self.requests.fetch_add(1, Ordering::SeqCst);
        let mut plan = self.plan.lock().expect("no thread panics while it holds it");
        let passing = self.passing.load(Ordering::SeqCst);
        if passing > 0 && !plan.is_empty() {
            self.passing.store(passing - 1, Ordering::SeqCst);
            return None;
        }
        plan.pop()
    }
}

fn serve(mut client: TcpStream, server: u16, state: &ObjectFaultPlan) -> io::Result<()> {
    let request = read_request(&mut client)?;
    let fault = state.next(&request);
    state.faults.fetch_add(u64::from(fault.is_some()), Ordering::SeqCst);
    let is_read = request.starts_with(b"GET ");
    match fault {
        Some(ObjectFault::Error) => client.write_all(&error(500, "InternalError"))?,
        Some(ObjectFault::SlowDown) => client.write_all(&error(503, "SlowDown"))?,
        Some(ObjectFault::Cut) => {}
        // Until the client gives up and closes the connection.
        Some(ObjectFault::Silence) => drop(client.read(&mut [0])?),
        Some(ObjectFault::ErrorAfter) => {
            exchange(&request, server)?;
            client.write_all(&error(500, "InternalError"))?;
        }
        Some(ObjectFault::CutAfter) => drop(exchange(&request, server)?),
        Some(ObjectFault::Truncated) => {
            let answer = exchange(&request, server)?;
            let body = body_start(&answer).unwrap_or(answer.len());
            client.write_all(&answer[..body + (answer.len() - body) / 2])?;
        }
        Some(ObjectFault::Wrong) if is_read => {
            let mut answer = exchange(&request, server)?;
            let body = body_start(&answer).unwrap_or(answer.len());
            answer[body..].iter_mut().for_each(|byte| *byte ^= 0x5a);
            client.write_all(&answer)?;
        }
        Some(ObjectFault::Wrong) => drop(exchange(&request, server)?),
        None => client.write_all(&exchange(&request, server)?)?,
    }
    client.shutdown(Shutdown::Both)
}

/// Sends a request to the server and reads the whole answer.
fn exchange(request: &[u8], server: u16) -> io::Result<Vec<u8>> {
    let mut upstream = TcpStream::connect(("127.0.0.1", server))?;
    upstream.write_all(request)?;
    let mut answer = Vec::new();
    upstream.read_to_end(&mut answer)?;
    Ok(answer)
}

/// Reads a request, and asks in it that the connection be closed afterwards.
fn read_request(client: &mut TcpStream) -> io::Result<Vec<u8>> {
    let (mut bytes, mut buffer) = (Vec::new(), vec![0; 64 * 1024]);
    let body = loop {
        if let Some(body) = body_start(&bytes) {
            break body;
        }
        match client.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    };
    let length = content_length(&bytes[..body]);
    while bytes.len() < body + length {
        match client.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => bytes.extend_from_slice(&buffer[..count]),
        }
    }
    let line_end = bytes.windows(2).position(|two| two == b"\r\n").unwrap_or(0) + 2;
    bytes.splice(line_end..line_end, *b"Connection: close\r\n");
    Ok(bytes)
}

/// Returns where the body of a message begins.
fn body_start(message: &[u8]) -> Option<usize> {
    message.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4)
}

fn content_length(head: &[u8]) -> usize {
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let value = head.lines().find_map(|line| line.strip_prefix("content-length:"));
    value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
}

fn error(status: u16, code: &str) -> Vec<u8> {
    let body =
        format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>injected</Message></Error>");
    let length = body.len();
    format!(
        "HTTP/1.1 {status} Injected\r\nContent-Type: application/xml\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}
