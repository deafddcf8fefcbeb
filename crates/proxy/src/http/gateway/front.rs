//! The HTTP side of the gateway: authenticates a request, finds its session, and answers what needs no server.

use std::sync::Arc;

use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use hyper::{Method, Response, StatusCode};
use tidegate_gate::tier::Tier;
use tidegate_gateway::caller::{Challenge, Principal, Use};
use tidegate_gateway::calls::Request;
use tokio::sync::watch;

use super::Gateway;
use super::client::ClientSession;
use super::dispatch::{Asker, NOT_PERMITTED, may_use};
use super::replicas::MessageSource;
use super::route::{Route, ServerRoute};
use super::trace::TraceHeaders;
use crate::http::body::{Body, full};
use crate::http::exchange::{self, Refusal, accepts, answer, failure, parse_message, refuse};
use crate::http::http_to_stdio::{Answer, deliver_local_answers, is_initialize};
use crate::http::legacy;
use crate::http::modern::{self, SESSION_HEADER, is_modern};
use crate::http::respond;
use crate::http::session::{LISTENING, parse_event_id};
use crate::http::shared_server::deliveries;
use crate::link::{Link, OwnWork};
use crate::message::{MessageHead, MessageKind, ParsedLine};

/// The maximum number of messages of a batch.
const MAX_BATCH_MESSAGES: usize = 100;

impl Gateway {
    /// Answers a request.
    pub(in crate::http) async fn answer_request(
        self: Arc<Self>,
        parts: Parts,
        body: Vec<u8>,
    ) -> Response<Body> {
        let resource = resource(&parts);
        if let Some(challenge) = self.authenticate.refuse_address(parts.uri.query(), &resource) {
            return refused(&challenge);
        }
        let principal = match self.authenticate.authenticate(&parts.headers, &resource).await {
            Ok(principal) => principal,
            Err(challenge) => return refused(&challenge),
        };
        let answered = match (&parts.method, is_modern(&parts.headers)) {
            (&Method::POST, true) => self.answer_modern(principal, parts, body).await,
            (&Method::POST, false) => self.answer_legacy(principal, parts, body).await,
            (_, true) => Ok(respond::not_allowed()),
            (&Method::GET, false) => self.listen_to(&principal, &parts.headers).await,
            _ => self.delete(&principal, &parts.headers).await,
        };
        answered.unwrap_or_else(|refusal| *refusal)
    }

    /// Returns the document at a path that needs no credentials.
    pub(in crate::http) fn document(&self, path: &str, parts_host: &str) -> Option<Response<Body>> {
        if let Some(document) = self.authenticate.document(path, &format!("{parts_host}/mcp")) {
            return Some(exchange::json(StatusCode::OK, document));
        }
        match path {
            "/health/live" => Some(exchange::json(StatusCode::OK, r#"{"status":"live"}"#)),
            "/health/ready" => {
                let is_ready = *self.is_listed.borrow();
                let status = if is_ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
                Some(exchange::json(status, format!("{{\"ready\":{is_ready}}}")))
            }
            "/metrics" => {
                let states: Vec<_> = self.upstreams.iter().map(|upstream| upstream.state()).collect();
                let (kind, text) = self.govern.metrics(&states)?;
                let mut response = Response::new(full(text));
                response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
                Some(response)
            }
            _ => None,
        }
    }

    /// Returns the link of a client that downloads a saved file.
    pub(in crate::http) async fn follower(&self, headers: &HeaderMap, base: &str) -> Option<Arc<Link>> {
        let resource = format!("{base}/mcp");
        let principal = self.authenticate.authenticate(headers, &resource).await.ok()?;
        if headers.contains_key(SESSION_HEADER) && !is_modern(headers) {
            let session = self.session(&principal, headers).await.ok()?;
            return Some(Arc::new(session.link.exchange().with_tier(principal.tier)));
        }
        Some(Arc::new(self.link_of(&principal, None)))
    }

    async fn answer_modern(
        self: &Arc<Self>,
        principal: Arc<Principal>,
        parts: Parts,
        body: Vec<u8>,
    ) -> Answer {
        let Some(message) = exchange::modern_request(&parts.headers, body)? else {
            return Ok(respond::accepted());
        };
        let id = message.first().map_or(&b"null"[..], MessageHead::id_bytes);
        if let Some(unsupported) = modern::unsupported(&parts.headers, id) {
            return Ok(exchange::json(StatusCode::BAD_REQUEST, unsupported));
        }
        let link = self.link_of(&principal, None).reached_at(exchange::link_base(&parts));
        self.note_tasks(&link, principal.name(), None, &message);
        let route = self.listed_route_of(&principal, None, &message).await;
        self.check_permission(&principal, None, &message, route.as_ref(), &resource(&parts))?;
        exchange::check_header_arguments(
            &self.registry.snapshot().header_arguments,
            &parts.headers,
            &message,
        )?;
        let link = Arc::new(self.timed(link, route.as_ref()));
        link.count_by_principal();
        let (mut forward, mut own) = link.parsed_from_client(message);
        if !own.requests.is_empty() {
            return Ok(answer(&link, own.requests, false, true).await);
        }
        if let Some(call) = own.calls.pop() {
            forward = Some(exchange::resolve_only(&link, call).await?);
        }
        let Some(message) = forward else { return Ok(respond::accepted()) };
        let (sender, receiver) = deliveries();
        let traces = TraceHeaders::of(&parts.headers);
        let asker =
            Asker { principal, session: None, exchange: Arc::clone(&link), deliveries: sender, traces };
        let task = self.send(asker, message);
        Ok(respond::modern(move || task.abort(), receiver, self.ticks()).await)
    }

    /// Sends a message along its route, as a task of its own.
    fn send(self: &Arc<Self>, asker: Asker, message: ParsedLine) -> tokio::task::AbortHandle {
        // Computed again: resolved references may have changed the arguments, and with them the byte ranges.
        let route = self.route_of(&asker.principal, asker.session.as_deref(), &message);
        let gateway = Arc::clone(self);
        tokio::spawn(async move {
            if let Some(route) = route {
                gateway.dispatch(asker, message, route).await;
            }
        })
        .abort_handle()
    }

    /// Returns the link with the deadline of the server that the request goes to.
    fn timed(&self, link: Link, route: Option<&Route>) -> Link {
        match route {
            Some(Route::Server(way)) => link.with_timeout(self.upstreams[way.upstream].settings.timeout),
            _ => link,
        }
    }

    /// Refuses a request for a server or tool that the caller may not use.
    fn check_permission(
        &self,
        principal: &Principal,
        session: Option<&ClientSession>,
        message: &ParsedLine,
        route: Option<&Route>,
        resource: &str,
    ) -> Result<(), Refusal> {
        let Some(Route::Server(ServerRoute { upstream, name, .. })) = route else { return Ok(()) };
        let server = self.upstreams[*upstream].settings.name.as_str();
        let use_of = Use { server, tool: name.as_deref() };
        if may_use(principal, &self.upstreams[*upstream], name.as_deref()) {
            return Ok(());
        }
        let request = Request {
            principal,
            session: session.map_or("", |session| session.server.id.as_str()),
            method: message.first().map_or("", MessageHead::method),
            server,
            tool: name.as_deref().unwrap_or_default(),
        };
        self.govern.refuse(request, NOT_PERMITTED);
        let needed = match name {
            Some(tool) => self.upstreams[*upstream].settings.policies.of_tool(tool).tier,
            None => Tier::Read,
        };
        let challenge = self.authenticate.step_up(principal, use_of, needed, resource);
        Err(Box::new(match challenge {
            Some(challenge) => refused(&challenge),
            None => failure(
                StatusCode::FORBIDDEN,
                -32000,
                "this caller may not use this; the lists show what it may use",
            ),
        }))
    }

    async fn answer_legacy(
        self: &Arc<Self>,
        principal: Arc<Principal>,
        parts: Parts,
        body: Vec<u8>,
    ) -> Answer {
        accepts(&parts.headers, &["application/json", "text/event-stream"])?;
        let content = parts.headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if content.split(';').next().map(str::trim) != Some("application/json") {
            return refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the Content-Type must be application/json");
        }
        let (message, kind) = parse_message(body)?;
        if message.heads().len() > MAX_BATCH_MESSAGES {
            return refuse(
                StatusCode::BAD_REQUEST,
                "the batch has more than 100 messages; send fewer at once",
            );
        }
        let begins = kind == MessageKind::Request && is_initialize(&message);
        let session = match begins {
            true => self.begin(&principal, &message).await?,
            false => self.session(&principal, &parts.headers).await?,
        };
        let is_batch = message.is_batch();
        self.note_tasks(&session.link, principal.name(), Some(&session), &message);
        let route = self.listed_route_of(&principal, Some(&session), &message).await;
        self.check_permission(&principal, Some(&session), &message, route.as_ref(), &resource(&parts))?;
        // The tier may have changed since the session began.
        let exchange = session.link.exchange().with_tier(principal.tier);
        let exchange = exchange.reached_at(exchange::link_base(&parts));
        let exchange = Arc::new(self.timed(exchange, route.as_ref()));
        let (forward, OwnWork { requests, calls }) = exchange.parsed_from_client(message);
        if forward.is_none() && calls.is_empty() && !requests.is_empty() {
            return Ok(answer(&exchange, requests, is_batch, false).await);
        }
        let (sender, receiver) = deliveries();
        let stream = session.begin();
        let asker = Asker {
            principal,
            session: Some(Arc::clone(&session)),
            exchange: Arc::clone(&exchange),
            deliveries: sender.clone(),
            traces: TraceHeaders::of(&parts.headers),
        };
        let sent = forward.map_or(0, |forward| self.send_all(&asker, forward));
        let open = requests.len() + calls.len() + sent;
        let (gateway, caller) = (Arc::clone(self), asker.clone());
        exchange::resolve_all(&exchange, calls, &sender, move |message| {
            gateway.send(caller.clone(), message);
        });
        deliver_local_answers(&exchange, requests, sender);
        drop(asker);
        if open == 0 {
            session.forget(stream);
            return Ok(respond::accepted());
        }
        let takes_empty_events = legacy::takes_empty_events(&parts.headers);
        Ok(respond::legacy(session, stream, open, receiver, is_batch, takes_empty_events).await)
    }

    /// Sends each message of a body along its route; returns how many of them are requests.
    fn send_all(self: &Arc<Self>, asker: &Asker, line: ParsedLine) -> usize {
        let Some(session) = &asker.session else { return 0 };
        let mut requests = 0;
        for head in line.heads() {
            let message = || ParsedLine::extract(&line.bytes, head, None);
            match head.kind() {
                MessageKind::Request => {
                    requests += 1;
                    let task = self.send(asker.clone(), message());
                    session.server.begin(head.id_bytes(), task);
                }
                MessageKind::Response => self.take_client_answer(session, message(), MessageSource::Client),
                MessageKind::Notification => {
                    self.take_client_notification(session, message(), MessageSource::Client)
                }
                _ => {}
            }
        }
        requests
    }

    async fn listen_to(&self, principal: &Arc<Principal>, headers: &HeaderMap) -> Answer {
        accepts(headers, &["text/event-stream"])?;
        let session = self.session(principal, headers).await?;
        let place = match legacy::last_event_id(headers) {
            None => (LISTENING, None),
            Some(id) => match self.parse_event_id(id) {
                Some(EventPlace::Here(number, event)) => (number, Some(event)),
                // What belongs to no request comes from here as well.
                Some(EventPlace::Elsewhere(LISTENING)) => (LISTENING, None),
                Some(EventPlace::Elsewhere(_)) => return legacy::refuse_forgotten(),
                None => return legacy::refuse_event_id(),
            },
        };
        legacy::connect(&session, place)
    }

    /// Parses an event id: the replica that has the stream, the number of the stream and that of the event.
    fn parse_event_id(&self, text: &str) -> Option<EventPlace> {
        let (replica, rest) = text.split_once('-')?;
        let (number, event) = parse_event_id(rest)?;
        Some(match replica == &*self.replicas.id {
            true => EventPlace::Here(number, event),
            false => EventPlace::Elsewhere(number),
        })
    }

    /// Returns a clock that ticks every few seconds, shared by all requests.
    fn ticks(&self) -> watch::Receiver<()> {
        self.ticks.get_or_init(respond::ticks).clone()
    }
}

/// Where the stream of an event is.
enum EventPlace {
    /// At this replica: the stream and the event.
    Here(u64, u64),
    /// At another one.
    Elsewhere(u64),
}

/// Returns the URL of the gateway as the client called it.
fn resource(parts: &Parts) -> String {
    format!("{}/mcp", exchange::link_base(parts).as_str())
}

/// Returns the response to a request that is refused.
fn refused(challenge: &Challenge) -> Response<Body> {
    let mut response = failure(challenge.status, -32000, &challenge.message);
    let headers = response.headers_mut();
    let value = challenge.www_authenticate.as_deref().and_then(|value| HeaderValue::from_str(value).ok());
    if let Some(value) = value {
        headers.insert(WWW_AUTHENTICATE, value);
    }
    if let Some(seconds) = challenge.retry_after {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}
