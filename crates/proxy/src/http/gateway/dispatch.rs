//! Sends a request to its server and the response back. Each request is a task of its own, so cancelling it aborts the task.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tidegate_gate::raw::{self, ByteRange};
use tidegate_gate::tier::Tier;
use tidegate_gate::{RpcError, error_response, response};
use tidegate_gateway::caller::{Principal, Use};
use tidegate_gateway::calls::{End, Request};
use tidegate_gateway::credentials::Credential;

use super::Gateway;
use super::client::ClientSession;
use super::connection::{Connection, Era, Introduction, completed, introduced, without_introduction};
use super::fulfil::input_required;
use super::own::LIST_PATIENCE;
use super::problem::Problem;
use super::route::{Route, ServerRoute, route};
use super::trace::{self, Course, OpenSpan, OutgoingContext, Subject, TraceHeaders};
use super::upstream::{Patience, PlaceWait, Upstream, Whose};
use crate::http::exchange::pass_on;
use crate::http::shared_server::{
    self, Delivery, DeliverySender, Liveness, SharedServer, deliver, deliveries,
};
use crate::link::{Link, tiers};
use crate::message::{MessageHead, ParsedLine};

/// Methods that servers have in sessions only.
const METHODS_OF_SESSIONS: [&str; 5] =
    ["ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/result"];
/// The code of the error for a method that is not there.
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
/// The code of the error for params that are not valid, and before 2026-07-28 that for a resource that is not there.
const INVALID_PARAMS: i64 = -32602;
const RESOURCE_NOT_FOUND: i64 = -32002;
/// The code of the error for an invalid request.
const INVALID_REQUEST_CODE: i64 = -32600;

/// Why a request is refused before limits are checked, in the audit log and the metrics.
pub(super) const NOT_PERMITTED: &str = "not_permitted";
const AMBIGUOUS: &str = "ambiguous";

/// Who sent a request, and where the response goes.
#[derive(Clone)]
pub(super) struct Asker {
    pub(super) principal: Arc<Principal>,
    /// The session of the client, in the era with sessions.
    pub(super) session: Option<Arc<ClientSession>>,
    pub(super) exchange: Arc<Link>,
    pub(super) deliveries: DeliverySender,
    /// The context of the HTTP request.
    pub(super) traces: TraceHeaders,
}

/// Returns whether a caller may use the named tool or prompt of a server; without a name, the rest of it, such as resources.
pub(super) fn may_use(principal: &Principal, upstream: &Upstream, name: Option<&str>) -> bool {
    let server = upstream.settings.name.as_str();
    let use_of = Use { server, tool: name };
    let has = principal.tier_for(use_of);
    let is_in_tier = || name.is_none_or(|tool| has.allows(upstream.settings.policies.of_tool(tool).tier));
    principal.may(use_of) && (has == Tier::Admin || is_in_tier())
}

/// Returns whether a request has duplicate members, so that the server may read another name than the one checked here.
fn is_ambiguous(line: &[u8], head: &MessageHead) -> bool {
    let is_twice = |place: &ByteRange| tiers::repeats(line, place);
    let Some(params) = &head.params else { return is_twice(&head.whole) };
    is_twice(&head.whole)
        || is_twice(params)
        || raw::member(line, params, "ref").is_some_and(|place| is_twice(&place))
}

/// Returns a request as it is limited and recorded.
fn request_of<'r>(
    asker: &'r Asker,
    method: &'r str,
    upstream: &'r Upstream,
    way: &'r ServerRoute,
) -> Request<'r> {
    Request {
        principal: &asker.principal,
        session: asker.session.as_ref().map_or("", |session| session.server.id.as_str()),
        method,
        server: &upstream.settings.name,
        tool: way.name.as_deref().unwrap_or_default(),
    }
}

/// Returns how a request with this response has ended. The code of an error says nothing about it, because servers choose codes
/// of their own.
fn end_of(response: &Delivery) -> End {
    match (response.liveness, response.error_code) {
        (Liveness::Down, _) => End::Unreachable,
        (Liveness::Unknown, _) => End::Abandoned,
        (Liveness::Alive, None) => End::Answered,
        (Liveness::Alive, Some(code)) => End::Failed(code),
    }
}

impl Asker {
    fn era(&self) -> Era {
        if self.session.is_some() { Era::Legacy } else { Era::Modern }
    }

    /// Returns whose a connection is that is not shared.
    pub(super) fn whose(&self) -> Whose {
        match &self.session {
            Some(session) => Whose::Session(session.server.id.clone()),
            None => Whose::Caller(self.principal.name().to_owned()),
        }
    }

    /// Returns how the client introduces itself to a server, on a connection of its own.
    fn introduction(&self) -> Introduction {
        let session = self.session.as_ref();
        session.map_or_else(Introduction::of_gateway, |session| session.server.introduction.clone())
    }
}

/// Returns the other era if all callers share the connections of both, and the one of that era is open: where there is no place
/// for a second process, it serves the clients of both.
fn shared_instead(upstream: &Upstream, era: Era) -> Option<Era> {
    let supported = upstream.supported();
    let (other, is_possible) = match era {
        Era::Legacy => (Era::Modern, supported.modern == Some(true)),
        Era::Modern => (Era::Legacy, supported.legacy != Some(false)),
    };
    let are_shared = upstream.is_shared(era) && upstream.is_shared(other);
    (is_possible && are_shared && upstream.is_open(&Whose::Everybody(other))).then_some(other)
}

/// Cancels the request at the server when it is dropped, unless the server has answered.
struct AbandonOnDrop {
    server: Option<Arc<SharedServer>>,
    numbers: Vec<u64>,
}

impl Drop for AbandonOnDrop {
    fn drop(&mut self) {
        if let Some(server) = &self.server {
            server.abandon(&self.numbers);
        }
    }
}

/// A request on its way to a server.
#[derive(Clone, Copy)]
struct Sending<'s> {
    gateway: &'s Gateway,
    asker: &'s Asker,
    connection: &'s Arc<Connection>,
    traced: Option<&'s OutgoingContext>,
    id: &'s [u8],
    method: &'s str,
}

impl Sending<'_> {
    /// Sends a message along its route; returns the response, and passes on what comes before it.
    async fn answer_to(self, message: ParsedLine, way: &ServerRoute) -> Option<Delivery> {
        let Self { gateway, asker, connection, traced, method, .. } = self;
        let mut message = way.renamed(message);
        match (asker.era(), connection.era) {
            (Era::Legacy, Era::Modern) => message = introduced(message, &asker.introduction()),
            (Era::Modern, Era::Legacy) => message = without_introduction(message),
            _ => {}
        }
        let (sender, mut receiver) = deliveries();
        let headers = traced.and_then(OutgoingContext::headers);
        let message = traced.iter().fold(message, |message, traced| traced.put(message));
        let numbers = connection.server.send_with(&asker.exchange, Some(message), &sender, headers);
        drop(sender);
        let mut waiting = AbandonOnDrop { server: Some(Arc::clone(&connection.server)), numbers };
        loop {
            let delivery = receiver.recv().await;
            if delivery.as_ref().is_none_or(|delivery| delivery.is_response) {
                waiting.server = None;
                return delivery;
            }
            if let Some(mut delivery) = delivery {
                delivery.message = gateway.put_task_tokens(asker, way, method, delivery.message);
                deliver(&asker.deliveries, delivery);
            }
        }
    }
}

impl Gateway {
    /// Returns where a request goes.
    pub(super) fn route_of(
        &self,
        principal: &Principal,
        session: Option<&ClientSession>,
        message: &ParsedLine,
    ) -> Option<Route> {
        let head = message.first()?;
        let task_of = |token: &str| self.task_of(principal.name(), session, token);
        let is_open = !self.is_protected();
        Some(route(&self.registry.snapshot(), self.upstreams.len(), is_open, message, head, task_of))
    }

    /// Returns where a request goes. One that leads nowhere may lead to a server whose lists were not read yet, so it waits for
    /// them.
    pub(super) async fn listed_route_of(
        &self,
        principal: &Principal,
        session: Option<&ClientSession>,
        message: &ParsedLine,
    ) -> Option<Route> {
        let route = self.route_of(principal, session, message);
        match route {
            Some(Route::Nowhere(_) | Route::NoResource(_)) => {
                self.wait_until_listed(LIST_PATIENCE).await;
                self.route_of(principal, session, message)
            }
            route => route,
        }
    }

    /// Sends a request along its route, and its response back to the asker.
    pub(super) async fn dispatch(self: Arc<Self>, asker: Asker, message: ParsedLine, route: Route) {
        let Some(head) = message.first() else { return };
        let (id, method) = (head.id_bytes().to_vec(), head.method());
        if asker.session.is_none() && METHODS_OF_SESSIONS.contains(&method) {
            let message = format!("method not found: {method}; it went with the sessions");
            return self.answer(&asker, &id, Err(RpcError { code: METHOD_NOT_FOUND, message }));
        }
        match route {
            Route::Own(own) => self.answer_own(asker, message, own).await,
            Route::Nowhere(error) => self.answer(&asker, &id, Err(error)),
            Route::NoResource(uri) => self.answer_no_resource(&asker, &id, &uri),
            Route::Server(way) => self.relay(asker, message, way).await,
        }
    }

    /// Says that no server has a resource; the code depends on the revision.
    fn answer_no_resource(&self, asker: &Asker, id: &[u8], uri: &str) {
        let code = if asker.session.is_some() { RESOURCE_NOT_FOUND } else { INVALID_PARAMS };
        let message = format!("no server has the resource {uri:?}; resources/list lists all");
        let id: Value = serde_json::from_slice(id).unwrap_or_default();
        let error = json!({"code": code, "message": message, "data": {"uri": uri}});
        self.deliver_own(asker, json!({"jsonrpc": "2.0", "id": id, "error": error}).to_string().into_bytes());
    }

    /// Sends the asker a response of the gateway itself.
    pub(super) fn answer(&self, asker: &Asker, id: &[u8], outcome: Result<Vec<u8>, RpcError>) {
        let message = match &outcome {
            Ok(result) => response(id, result),
            Err(error) => error_response(id, error),
        };
        self.deliver_own(asker, message);
    }

    fn deliver_own(&self, asker: &Asker, message: Vec<u8>) {
        let deliveries = asker.deliveries.clone();
        let message = ParsedLine::parse(message).into();
        pass_on(Arc::clone(&asker.exchange), message, &self.log, move |message, code| {
            deliver(&deliveries, shared_server::response(message, code));
        });
    }

    /// Sends a request to a server.
    async fn relay(self: Arc<Self>, asker: Asker, message: ParsedLine, way: ServerRoute) {
        let Some(head) = message.first() else { return };
        let (id, method) = (head.id_bytes().to_vec(), head.method().to_owned());
        let upstream = Arc::clone(&self.upstreams[way.upstream]);
        if is_ambiguous(&message.bytes, head) {
            self.govern.refuse(request_of(&asker, &method, &upstream, &way), AMBIGUOUS);
            let message =
                "this request has a duplicate member, so it is not forwarded; send each member once"
                    .to_owned();
            return self.answer(&asker, &id, Err(RpcError { code: INVALID_REQUEST_CODE, message }));
        }
        // The front checks only the first message of a batch; every message passes here.
        if !may_use(&asker.principal, &upstream, way.name.as_deref()) {
            self.govern.refuse(request_of(&asker, &method, &upstream, &way), NOT_PERMITTED);
            let message = "this caller may not use this; the lists show what it may use".to_owned();
            return self.answer(&asker, &id, Err(RpcError { code: -32000, message }));
        }
        let request = request_of(&asker, &method, &upstream, &way);
        let (span, traced) = self.begin_span(&asker, &message, &request);
        let mut course = match self.govern.admit(request).await {
            Ok(admitted) => Course::new(admitted, span),
            Err(challenge) => {
                span.into_iter().for_each(OpenSpan::refused);
                let error = RpcError { code: -32000, message: challenge.message };
                return self.answer(&asker, &id, Err(error));
            }
        };
        let connection = match self.connect(&upstream, &asker).await {
            Ok(connection) => connection,
            Err(problem) => {
                // If all its processes are in use, the server is not unreachable, and one that refuses the credential of a
                // caller works for the others.
                let is_of_caller =
                    matches!(problem, Problem::Full { .. }) || upstream.settings.user_credential.is_some();
                course.end(if is_of_caller { End::Abandoned } else { End::Unreachable });
                return self.explain(&asker, &upstream, &id, &method, &problem);
            }
        };
        if asker.session.is_some() && self.note_subscription(&asker, &connection, &way, &message) {
            return self.answer(&asker, &id, Ok(b"{}".to_vec()));
        }
        let sending = Sending {
            gateway: &self,
            asker: &asker,
            connection: &connection,
            traced: traced.as_ref(),
            id: &id,
            method: &method,
        };
        if let Some(end) = self.exchange_with(sending, message, way, &mut course).await {
            course.end(end);
        }
    }

    /// Sends a request to a server and its response to the asker; returns how the request ended, unless it has no response.
    async fn exchange_with(
        &self,
        sending: Sending<'_>,
        mut message: ParsedLine,
        mut way: ServerRoute,
        course: &mut Course,
    ) -> Option<End> {
        let Sending { asker, connection, method, .. } = sending;
        // A server without sessions asks its client by what it answers, and a client with a session is asked in it.
        let is_asked = (asker.era(), connection.era) == (Era::Legacy, Era::Modern);
        let listed = is_asked.then(|| ParsedLine::parse(message.bytes.clone()));
        for round in 0.. {
            let mut delivery = sending.answer_to(message, &way).await?;
            if let (Some(listed), Some(required)) = (&listed, input_required(&delivery.message)) {
                match self.fulfil(asker, listed, required, round).await {
                    Ok(continued) => (message, way) = continued,
                    Err(error) => {
                        let answer = error_response(sending.id, &error).into();
                        deliver(&asker.deliveries, shared_server::response(answer, Some(error.code)));
                        return Some(End::Failed(error.code));
                    }
                }
                continue;
            }
            let end = end_of(&delivery);
            course.answered(&delivery.message);
            if asker.era() == Era::Modern && connection.era == Era::Legacy {
                delivery.message = completed(delivery.message, method);
            }
            delivery.message = self.put_task_tokens(asker, &way, method, delivery.message);
            deliver(&asker.deliveries, delivery);
            connection.touch();
            return Some(end);
        }
        None
    }

    /// Begins the span of a request, where traces are taken; also returns the context that goes on.
    fn begin_span(
        &self,
        asker: &Asker,
        message: &ParsedLine,
        request: &Request<'_>,
    ) -> (Option<OpenSpan>, Option<OutgoingContext>) {
        let Request { method, server, tool, .. } = *request;
        let subject = Subject { method, server, tool };
        let begun =
            self.trace.as_ref().and_then(|trace| trace::begin(trace, &asker.traces, message, &subject));
        begun.map_or((None, None), |(span, traced)| (span, Some(traced)))
    }

    /// Records that the client subscribes to a resource or unsubscribes. Returns whether the gateway answers this itself, because
    /// another client of the same connection stays subscribed.
    fn note_subscription(
        &self,
        asker: &Asker,
        connection: &Connection,
        way: &ServerRoute,
        message: &ParsedLine,
    ) -> bool {
        let (Some(head), Some(session)) = (message.first(), &asker.session) else { return false };
        let on = match head.method() {
            "resources/subscribe" => true,
            "resources/unsubscribe" => false,
            _ => return false,
        };
        let uri = head.params.as_ref().and_then(|params| raw::member(&message.bytes, params, "uri"));
        let Some(uri) = uri.and_then(|uri| raw::text(&message.bytes, &uri)) else { return false };
        session.server.subscribe(way.upstream, &uri, on);
        if !on {
            // Another replica may have subscribed.
            self.tell_replicas(session, "", message);
        }
        let is_shared = self.upstreams[way.upstream].is_shared(connection.era);
        let others = || self.sessions().values().any(|other| other.server.is_subscribed(way.upstream, &uri));
        !on && is_shared && others()
    }

    /// Reports what is wrong with a server: in a result for a tool call, because models read results, otherwise in an error.
    fn explain(&self, asker: &Asker, upstream: &Upstream, id: &[u8], method: &str, problem: &Problem) {
        let owner = upstream.settings.user_credential.as_ref().map(|_| asker.principal.name());
        let text = problem.explain(&upstream.settings.name, owner);
        let outcome = match method {
            "tools/call" => {
                let mut result = json!({"content": [{"type": "text", "text": text}], "isError": true});
                if asker.era() == Era::Modern {
                    result["resultType"] = json!("complete");
                }
                Ok(result.to_string().into_bytes())
            }
            _ => Err(RpcError { code: -32000, message: text }),
        };
        self.answer(asker, id, outcome);
    }

    /// Returns the connection to a server that the asker uses.
    pub(super) async fn connect(
        self: &Arc<Self>,
        upstream: &Arc<Upstream>,
        asker: &Asker,
    ) -> Result<Arc<Connection>, Problem> {
        let credential = self.credential_of(upstream, asker).await?;
        let supported = upstream.supported();
        let era = match (asker.era(), supported.legacy, supported.modern) {
            (Era::Legacy, Some(false), _) => Era::Modern,
            (Era::Modern, _, Some(false)) => Era::Legacy,
            (era, _, _) => era,
        };
        let asked = Instant::now();
        let connect = |era, patience| {
            self.connect_in(era, upstream, asker, credential.clone(), PlaceWait { asked, patience })
        };
        let mut connected = connect(era, Patience::None).await;
        if matches!(connected, Err(Problem::Full { .. })) {
            if let Some(other) = shared_instead(upstream, era) {
                return connect(other, Patience::EndIdle).await;
            }
            connected = connect(era, Patience::EndIdle).await;
        }
        let is_unknown = era == Era::Modern && supported.modern.is_none();
        match connected {
            // Most servers that do not support `server/discover` say so; some exit or do not answer.
            Err(problem) if is_unknown && !matches!(problem, Problem::Full { .. }) => {
                let connected = connect(Era::Legacy, Patience::EndIdle).await;
                if connected.is_ok() {
                    upstream.failed_probe(&problem);
                }
                connected
            }
            connected => connected,
        }
    }

    async fn connect_in(
        self: &Arc<Self>,
        era: Era,
        upstream: &Arc<Upstream>,
        asker: &Asker,
        credential: Option<Credential>,
        wait: PlaceWait,
    ) -> Result<Arc<Connection>, Problem> {
        if upstream.is_shared(era) {
            let client = Introduction::of_gateway();
            let routed = self.taking_shared(upstream);
            return upstream.connection(Whose::Everybody(era), era, &client, credential, wait, routed).await;
        }
        let session = asker.session.as_ref();
        // Only a client with a session can answer requests of a server.
        let client = asker.introduction();
        let routed = self.taking_unrouted(upstream, session);
        upstream.connection(asker.whose(), era, &client, credential, wait, routed).await
    }
}
