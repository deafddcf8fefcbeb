//! A client on stdio in front of a server that is reached over HTTP.
//!
//! Each message is a POST of its own. They begin in the order they came; a request's answer may take its time while others
//! go on, but what has no answer, and the greeting, is waited for. The latest session is greeted again where the server
//! has forgotten it, and only what it says it has not looked at is sent again.

use std::collections::HashMap;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use hyper::{Method, Response, StatusCode};
use tidegate_gate::{causes, raw};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};

use super::exchange::{self, from_server};
use super::headers::Parameters;
use super::modern::{self, SESSION_HEADER, VERSION_HEADER};
use super::remote::Remote;
use super::sse::Events;
use crate::held::{Framed, Message};
use crate::link::Link;
use crate::message::{Envelope, Kind, messages};

/// How often an answer is asked for again after its stream broke.
const RESUMES: u32 = 5;
/// How long to wait before a stream is opened again, unless the server says.
const RETRY: Duration = Duration::from_secs(1);
/// How long open requests may still take once the client has closed its side.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

/// Messages that wait for a client that does not read; then the server waits too.
const WAITING: usize = 64;

/// Says something to the user.
type Log = Arc<dyn Fn(&str) + Send + Sync>;

#[derive(Default)]
struct State {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
    /// The greeting, to be sent again.
    greeting: Option<Bytes>,
    parameters: Parameters,
    /// Requests on their way, by id, and how to give them up.
    open: HashMap<Vec<u8>, Option<AbortHandle>>,
}

struct Back {
    remote: Remote,
    link: Link,
    out: mpsc::Sender<Message>,
    state: Mutex<State>,
    log: Log,
}

/// What a message is, as far as sending it goes.
struct Outgoing {
    body: Bytes,
    headers: HeaderMap,
    exchange: Arc<Link>,
    modern: bool,
    requests: Vec<Vec<u8>>,
    method: String,
}

/// Carries the conversation of a client on stdin and stdout until it is over.
pub async fn back(link: Link, remote: Remote, log: impl Fn(&str) + Send + Sync + 'static) -> u8 {
    let (out, lines) = mpsc::channel(WAITING);
    let writer = std::thread::spawn(move || write_all(lines));
    let back = Arc::new(Back { remote, link, out, state: Mutex::default(), log: Arc::new(log) });
    let mut input = read_lines();
    let mut tasks = JoinSet::new();
    while let Some(line) = input.recv().await {
        Arc::clone(&back).take(line, &mut tasks).await;
        while tasks.try_join_next().is_some() {}
    }
    // What is still awaited may come; then the session is over.
    let until = Instant::now() + LAST_ANSWERS;
    while !back.state().open.is_empty() && Instant::now() < until {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    back.goodbye().await;
    tasks.shutdown().await;
    drop(back);
    let _ = tokio::task::spawn_blocking(move || writer.join()).await;
    0
}

fn read_lines() -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(64);
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let mut line = Vec::new();
            match input.read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) if line.trim_ascii().is_empty() => {}
                Ok(_) if sender.blocking_send(line).is_err() => return,
                Ok(_) => {}
            }
        }
    });
    receiver
}

fn write_all(mut messages: mpsc::Receiver<Message>) {
    let mut output = io::stdout().lock();
    while let Some(message) = messages.blocking_recv() {
        // A body over HTTP may be written over several lines; here a message is one.
        let written = match message {
            Message::Memory(mut line) => {
                line.retain(|byte| !matches!(byte, b'\n' | b'\r'));
                line.push(b'\n');
                output.write_all(&line)
            }
            Message::Disk(spooled) => spooled.on_one_line().between(b"", b"\n").write_to(&mut output),
        };
        if written.and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

impl Back {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn take(self: Arc<Self>, line: Vec<u8>, tasks: &mut JoinSet<()>) {
        let exchange = Arc::new(self.link.exchange());
        let from = exchange.from_client(line);
        for order in from.orders {
            let (this, exchange) = (Arc::clone(&self), Arc::clone(&exchange));
            tasks.spawn_blocking(move || {
                let _ = this.out.blocking_send(exchange.carry_out(&order).into());
            });
        }
        let Some(body) = from.forward else { return };
        let outgoing = self.outgoing(body, exchange);
        if outgoing.modern && outgoing.method == "notifications/cancelled" {
            return self.cancel(&outgoing.body);
        }
        if outgoing.requests.is_empty() || outgoing.method == "initialize" {
            let initialized = outgoing.method == "notifications/initialized";
            Arc::clone(&self).post(outgoing).await;
            if initialized {
                tasks.spawn(Arc::clone(&self).listen());
            }
            return;
        }
        let ids = outgoing.requests.clone();
        self.state().open.extend(ids.iter().map(|id| (id.clone(), None)));
        let task = tasks.spawn(Arc::clone(&self).post(outgoing));
        let mut state = self.state();
        for id in &ids {
            // It may be answered already.
            if let Some(open) = state.open.get_mut(id) {
                *open = Some(task.clone());
            }
        }
    }

    fn outgoing(&self, body: Vec<u8>, exchange: Arc<Link>) -> Outgoing {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let (mut requests, mut method, mut modern) = (Vec::new(), String::new(), false);
        for place in messages(&body).unwrap_or_default() {
            let Some(envelope) = Envelope::read(&body, &place) else { continue };
            method = envelope.method.as_deref().unwrap_or_default().to_owned();
            if envelope.kind() == Kind::Request {
                requests.extend(envelope.id.clone().map(|id| body[id].to_vec()));
            }
            modern |= modern::put(&mut headers, &body, &method, envelope.params.as_ref());
            if let Some(params) = envelope.params.filter(|_| modern && method == "tools/call") {
                self.state().parameters.put(&mut headers, &body, &params);
            }
        }
        let mut state = self.state();
        if !modern {
            put(&mut headers, SESSION_HEADER, state.session.as_ref());
            put(&mut headers, VERSION_HEADER, state.version.as_ref());
        }
        let body = Bytes::from(body);
        if method == "initialize" {
            state.greeting = Some(body.clone());
        }
        Outgoing { body, headers, exchange, modern, requests, method }
    }

    /// Since 2026-07-28 a request is cancelled by closing its connection.
    fn cancel(&self, body: &[u8]) {
        let id = raw::whole(body).and_then(|whole| raw::at(body, &whole, &["params", "requestId"]));
        let task = id.and_then(|id| self.state().open.remove(&body[id]));
        if let Some(Some(task)) = task {
            task.abort();
        }
    }

    async fn post(self: Arc<Self>, outgoing: Outgoing) {
        let outcome = self.try_post(&outgoing).await;
        if let Err(reason) = outcome {
            if outgoing.requests.is_empty() {
                (self.log)(&format!("{} could not be sent: {reason}", outgoing.method));
            }
            for answer in outgoing.exchange.end(&reason) {
                let _ = self.out.send(answer.into()).await;
            }
        }
        let mut state = self.state();
        for id in &outgoing.requests {
            state.open.remove(id);
        }
    }

    async fn try_post(&self, outgoing: &Outgoing) -> Result<(), String> {
        let mut headers = outgoing.headers.clone();
        let mut greeted = false;
        loop {
            let sent = self.remote.send(Method::POST, headers.clone(), outgoing.body.clone()).await;
            let response =
                sent.map_err(|error| format!("the server could not be reached ({})", causes(&error)))?;
            let forgotten =
                response.status() == StatusCode::NOT_FOUND && headers.contains_key(SESSION_HEADER);
            if forgotten && !greeted {
                // The server has not looked at it, so it may be sent again.
                greeted = true;
                self.greet_again().await?;
                put(&mut headers, SESSION_HEADER, self.state().session.as_ref());
                continue;
            }
            return self.answered(response, outgoing).await;
        }
    }

    async fn answered(&self, response: Response<Incoming>, outgoing: &Outgoing) -> Result<(), String> {
        let (parts, body) = response.into_parts();
        if outgoing.method == "initialize" && parts.status.is_success() {
            self.state().session = parts.headers.get(SESSION_HEADER).cloned();
        }
        let kind = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("text/event-stream") {
            return self.hear(body, outgoing).await;
        }
        let broke = |_| "the answer of the server broke off; a tool may have run".to_owned();
        let framed = exchange::read_response(body, self.link.limits()).await.map_err(broke)?;
        if parts.status == StatusCode::ACCEPTED || (parts.status.is_success() && outgoing.requests.is_empty())
        {
            return Ok(());
        }
        if parts.status.is_redirection() {
            // Where to is not told: what is a secret in our address is likely one in that, too.
            return Err(format!(
                "the server at {} says that it has another address (status {}); curl -I shows which, use that one",
                self.remote.host(),
                parts.status.as_u16()
            ));
        }
        let said = match framed {
            Framed::Message(Message::Memory(body)) => {
                let message = serde_json::from_slice::<serde_json::Value>(&body).ok();
                let is_answer = |message: &serde_json::Value| message.is_array() || !message["id"].is_null();
                if message.as_ref().is_some_and(is_answer) && !outgoing.requests.is_empty() {
                    self.pass(outgoing, body.into()).await;
                    return Ok(());
                }
                message.and_then(|message| message["error"]["message"].as_str().map(str::to_owned))
            }
            large => {
                self.take_framed(outgoing, large).await;
                return Ok(());
            }
        };
        Err(format!(
            "the server answered {}{}",
            parts.status,
            said.map_or_else(String::new, |said| format!(": {said}"))
        ))
    }

    async fn take_framed(&self, outgoing: &Outgoing, framed: Framed) {
        match framed {
            Framed::Message(message) => self.pass(outgoing, message).await,
            Framed::TooLong(too_long) => {
                let refused = outgoing.exchange.refuse(&too_long);
                refused.left_out.iter().for_each(|words| (self.log)(words));
                if let Some(answer) = refused.forward {
                    let _ = self.out.send(answer).await;
                }
            }
        }
    }

    /// Passes a message of the server's on.
    async fn pass(&self, outgoing: &Outgoing, message: Message) {
        if let Some(line) = message.as_bytes() {
            self.learn(outgoing, line);
        }
        if let Some(message) = from_server(&outgoing.exchange, message).await {
            let _ = self.out.send(message).await;
        }
    }

    /// Remembers what later requests need of an answer.
    fn learn(&self, outgoing: &Outgoing, message: &[u8]) {
        if outgoing.method == "tools/list" {
            self.state().parameters.learn(message);
        }
        if outgoing.method == "initialize"
            && let Some(version) =
                raw::whole(message).and_then(|whole| raw::at(message, &whole, &["result", "protocolVersion"]))
        {
            let version =
                raw::text(message, &version).and_then(|version| HeaderValue::from_str(&version).ok());
            self.state().version = version;
        }
    }

    /// Passes events on until all requests are answered; a stream that breaks is asked for again where that can be done.
    async fn hear(&self, mut body: Incoming, outgoing: &Outgoing) -> Result<(), String> {
        let (mut last, mut retry) = (None, RETRY);
        for _ in 0..RESUMES {
            self.hear_once(&mut body, outgoing, &mut last, &mut retry).await;
            if !outgoing.exchange.is_open() {
                return Ok(());
            }
            let Some(event) = last.clone().filter(|_| !outgoing.modern) else { break };
            tokio::time::sleep(retry).await;
            match self.resume(&event).await {
                Some(resumed) => body = resumed,
                None => break,
            }
        }
        match outgoing.requests.is_empty() {
            true => Ok(()),
            false => Err("the stream of the server broke off; a tool may have run".into()),
        }
    }

    async fn hear_once(
        &self,
        body: &mut Incoming,
        outgoing: &Outgoing,
        last: &mut Option<String>,
        retry: &mut Duration,
    ) {
        let mut events = Events::new(self.link.limits());
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(data) = frame.into_data() else { continue };
            events.push(&data);
            while let Some(event) = events.next() {
                *last = event.id.or_else(|| last.take());
                *retry = event.retry.map_or(*retry, Duration::from_millis);
                if let Some(data) = event.data {
                    self.take_framed(outgoing, data).await;
                }
            }
        }
    }

    async fn resume(&self, event: &str) -> Option<Incoming> {
        let mut headers = self.listening_headers();
        headers.insert(HeaderName::from_static("last-event-id"), HeaderValue::from_str(event).ok()?);
        let response = self.remote.send(Method::GET, headers, Bytes::new()).await.ok()?;
        response.status().is_success().then(|| response.into_body())
    }

    fn listening_headers(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let state = self.state();
        put(&mut headers, SESSION_HEADER, state.session.as_ref());
        put(&mut headers, VERSION_HEADER, state.version.as_ref());
        headers
    }

    /// Listens for what answers no request, as long as the server has something to listen to.
    async fn listen(self: Arc<Self>) {
        let exchange = Arc::new(self.link.exchange());
        let outgoing = Outgoing {
            body: Bytes::new(),
            headers: HeaderMap::new(),
            exchange,
            modern: false,
            requests: Vec::new(),
            method: String::new(),
        };
        let (mut last, mut retry): (Option<String>, _) = (None, RETRY);
        loop {
            let mut headers = self.listening_headers();
            if let Some(event) = last.as_deref().and_then(|event| HeaderValue::from_str(event).ok()) {
                headers.insert(HeaderName::from_static("last-event-id"), event);
            }
            let Ok(response) = self.remote.send(Method::GET, headers, Bytes::new()).await else { return };
            if !response.status().is_success() {
                return;
            }
            self.hear_once(&mut response.into_body(), &outgoing, &mut last, &mut retry).await;
            tokio::time::sleep(retry).await;
        }
    }

    /// Greets the server again, with the greeting of the client; its answer is known.
    async fn greet_again(&self) -> Result<(), String> {
        let Some(greeting) = self.state().greeting.clone() else {
            return Err("the server has forgotten the session".into());
        };
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let sent = self.remote.send(Method::POST, headers.clone(), greeting).await;
        let response = sent.map_err(|error| causes(&error))?;
        let session = response.headers().get(SESSION_HEADER).cloned();
        if !response.status().is_success() || session.is_none() {
            return Err("the server has forgotten the session and begins no new one".into());
        }
        let _ = response.into_body().collect().await;
        self.state().session.clone_from(&session);
        put(&mut headers, SESSION_HEADER, session.as_ref());
        put(&mut headers, VERSION_HEADER, self.state().version.as_ref());
        let begun = Bytes::from_static(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        let sent = self.remote.send(Method::POST, headers, begun).await;
        (self.log)("the server had forgotten the session; it was begun again");
        sent.map(drop).map_err(|error| causes(&error))
    }

    async fn goodbye(&self) {
        let headers = self.listening_headers();
        if headers.contains_key(SESSION_HEADER) {
            let farewell = self.remote.send(Method::DELETE, headers, Bytes::new());
            // A server that does not answer forgets the session by itself.
            let _ = tokio::time::timeout(Duration::from_secs(2), farewell).await;
        }
    }
}

fn put(headers: &mut HeaderMap, name: &'static str, value: Option<&HeaderValue>) {
    if let Some(value) = value {
        headers.insert(name, value.clone());
    }
}
