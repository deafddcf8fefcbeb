//! A request on its way to a server and back, as a task of its own: whoever cancels it ends the task.

use std::sync::Arc;

use serde_json::json;
use tidegate_gate::raw::{self, ByteRange};
use tidegate_gate::tier::Tier;
use tidegate_gate::{RpcError, error_response, response};
use tidegate_gateway::caller::{Principal, Use};
use tidegate_gateway::calls::{End, Request};
use tidegate_gateway::credentials::Credential;

use super::Gateway;
use super::client::ClientSession;
use super::connection::{Connection, Era, Introduction, introduced};
use super::route::{Route, ServerRoute, route};
use super::trace::{self, Course, OpenSpan, Subject, TraceHeaders, Traced};
use super::upstream::{Problem, Upstream, Whose};
use crate::http::exchange::pass_on;
use crate::http::shared_server::{self, DeliverySender, SharedServer, deliver, deliveries};
use crate::link::{Link, tiers};
use crate::message::{MessageHead, ParsedLine};

/// The code of an error that says that a server did not answer in time.
const TIMEOUT: i64 = -32001;
/// The code of the error for a request that is not valid.
const INVALID_REQUEST: i64 = -32600;

/// Who sent a request, and where what comes back goes.
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

/// Returns whether a caller may use a tool or a prompt of a server, or without a name anything else of it.
pub(super) fn may_use(principal: &Principal, upstream: &Upstream, name: Option<&str>) -> bool {
    let server = upstream.settings.name.as_str();
    let use_of = Use { server, tool: name };
    let has = principal.tier_for(use_of);
    let is_in_tier = || name.is_none_or(|tool| has.allows(upstream.settings.policies.of_tool(tool).tier));
    principal.may(use_of) && (has == Tier::Admin || is_in_tier())
}

/// Returns whether a server may read another name in a request than the one that is checked here.
fn is_ambiguous(line: &[u8], head: &MessageHead) -> bool {
    let is_twice = |place: &ByteRange| tiers::repeats(line, place);
    let Some(params) = &head.params else { return is_twice(&head.whole) };
    is_twice(&head.whole)
        || is_twice(params)
        || raw::member(line, params, "ref").is_some_and(|place| is_twice(&place))
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

/// Tells a server that nobody waits for its answer any more, unless it has answered.
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

impl Gateway {
    /// Returns where a request goes.
    pub(super) fn route_of(&self, link: &Link, message: &ParsedLine) -> Option<Route> {
        let head = message.first()?;
        let task_tool = |task: &str| link.tool_of_task(task);
        let is_open = !self.is_protected();
        Some(route(&self.registry.snapshot(), self.upstreams.len(), is_open, message, head, task_tool))
    }

    /// Sends a request to where it goes, and what comes back to whoever asked.
    pub(super) async fn dispatch(self: Arc<Self>, asker: Asker, message: ParsedLine, route: Route) {
        match route {
            Route::Own(own) => self.answer_own(asker, message, own).await,
            Route::Nowhere(error) => {
                let id = message.first().map(|head| head.id_bytes().to_vec()).unwrap_or_default();
                self.answer(&asker, &id, Err(error));
            }
            Route::Server(way) => self.relay(asker, message, way).await,
        }
    }

    /// Sends whoever asked an answer of the gateway's own.
    pub(super) fn answer(&self, asker: &Asker, id: &[u8], outcome: Result<Vec<u8>, RpcError>) {
        let message = match &outcome {
            Ok(result) => response(id, result),
            Err(error) => error_response(id, error),
        };
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
            let message =
                "this request has a member twice, so it is not forwarded; send each member once".to_owned();
            return self.answer(&asker, &id, Err(RpcError { code: INVALID_REQUEST, message }));
        }
        // The front checks one message; here every message of a batch comes by.
        if !may_use(&asker.principal, &upstream, way.name.as_deref()) {
            let message = "this caller may not use that; the lists show what it may".to_owned();
            return self.answer(&asker, &id, Err(RpcError { code: -32000, message }));
        }
        let request = Request {
            principal: &asker.principal,
            session: asker.session.as_ref().map_or("", |session| session.server.id.as_str()),
            method: &method,
            server: &upstream.settings.name,
            tool: way.name.as_deref().unwrap_or_default(),
        };
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
                // A server whose processes are all in use can be reached, and one that does not take the credential of a
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
        let mut message = way.renamed(message);
        if asker.era() == Era::Legacy && connection.era == Era::Modern {
            message = introduced(message, &asker.introduction());
        }
        let (sender, mut receiver) = deliveries();
        let headers = traced.as_ref().and_then(Traced::headers);
        let message = traced.iter().fold(message, |message, traced| traced.put(message));
        let numbers = connection.server.send_with(&asker.exchange, Some(message), &sender, headers);
        drop(sender);
        let mut waiting = AbandonOnDrop { server: Some(Arc::clone(&connection.server)), numbers };
        while let Some(delivery) = receiver.recv().await {
            let (is_response, code) = (delivery.is_response, delivery.error_code);
            if is_response {
                course.answered(&delivery.message);
            }
            deliver(&asker.deliveries, delivery);
            if is_response {
                waiting.server = None;
                connection.touch();
                return course.end(match code {
                    None => End::Answered,
                    Some(TIMEOUT) => End::Unreachable,
                    Some(code) => End::Failed(code),
                });
            }
        }
        waiting.server = None;
    }

    /// Begins the span of a request, where traces are taken; also returns the context that goes on.
    fn begin_span(
        &self,
        asker: &Asker,
        message: &ParsedLine,
        request: &Request<'_>,
    ) -> (Option<OpenSpan>, Option<Traced>) {
        let Request { method, server, tool, .. } = *request;
        let subject = Subject { method, server, tool };
        let begun =
            self.trace.as_ref().and_then(|trace| trace::begin(trace, &asker.traces, message, &subject));
        begun.map_or((None, None), |(span, traced)| (span, Some(traced)))
    }

    /// Notes that the client subscribes to a resource, or does so no longer. Returns whether the server need not know,
    /// because another client of the connection stays subscribed.
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
        let is_shared = self.upstreams[way.upstream].is_shared(connection.era);
        let others = || self.sessions().values().any(|other| other.server.is_subscribed(way.upstream, &uri));
        !on && is_shared && others()
    }

    /// Says what is wrong with a server: to a model in a result, which it reads, else in an error.
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

    /// Returns a connection to a server for whoever asks.
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
        let connected = self.connect_in(era, upstream, asker, credential.clone()).await;
        let is_unknown = era == Era::Modern && supported.modern.is_none();
        match connected {
            // Most servers that do not know `server/discover` say so; some end, or stay silent.
            Err(problem) if is_unknown && !matches!(problem, Problem::Full { .. }) => {
                let connected = self.connect_in(Era::Legacy, upstream, asker, credential).await;
                if connected.is_ok() {
                    upstream.lacks(Era::Modern);
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
    ) -> Result<Arc<Connection>, Problem> {
        if upstream.is_shared(era) {
            let client = Introduction::of_gateway();
            let routed = self.taking_unrouted(upstream, None);
            return upstream.connection(Whose::Everybody(era), era, &client, credential, routed).await;
        }
        let session = asker.session.as_ref();
        // Only a client with a session can be asked something.
        let client = asker.introduction();
        let routed = self.taking_unrouted(upstream, session);
        upstream.connection(asker.whose(), era, &client, credential, routed).await
    }
}
