//! The whole flow.
//!
//! ```text
//!  result ─▶ measure ─▶ fits? ──yes──▶ untouched
//!                         │no
//!                         ▼
//!              store ─▶ shape within budget ─▶ respond
//!  follow-up ─▶ store ─▶ view within budget ─▶ respond
//! ```
//!
//! A result is stored before it is answered; a follow-up is answered from the store alone. Nothing here calls a tool.

mod negotiate;

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Map, Value, json};
use tidegate_core::Bytes;
use tidegate_core::budget::Budget;
use tidegate_core::measure::{self, Cost, Fit, Meter};
use tidegate_core::payload::{Form, Payload};
use tidegate_core::source::Source;
use tidegate_query::Queries;
use tidegate_store::{ArtifactStore, Call, Clock, Counted, SystemClock};

use crate::caller::Caller;
use crate::capabilities::{self, Capabilities};
use crate::error::{RpcError, bounded};
use crate::follow_up::{FollowUp, Read, Reader};
use crate::keep::Keep;
use crate::negotiation::Offered;
use crate::passage::Passage;
use crate::policy::{Policies, Policy};
use crate::raw::{self, Edits, skim};
use crate::style::Style;
use crate::{negotiation, output, reply, resources, tools};

/// The largest result that a program gets whole.
const WHOLE_BYTES: u64 = 256 << 20;

/// The most bytes of an error: one client cuts the middle out of longer ones, whatever it allows for results.
const ERROR_BYTES: Bytes = Budget::DEFAULT_BYTES;

/// What a gate is made of.
pub struct Setup {
    /// Where results are kept.
    pub keep: Arc<Keep>,
    /// The rules for the tools of the server.
    pub policies: Policies,
    /// The engines behind jq, sql and grep.
    pub engines: Queries,
    /// The server's name, for the ledger.
    pub server: String,
}

/// Policy, store and engine for one server.
pub struct Gate {
    setup: Setup,
    /// The policies of the tools that were called: putting one together for each call would cost more than the call.
    known: Mutex<HashMap<String, Arc<Policy>>>,
    offered: Offered,
    /// Whether any tool may have arguments of ours; where none has, no call is looked into for them.
    arguments: AtomicBool,
    /// Bytes of results that were sent.
    sent: AtomicU64,
}

/// The bytes of an answer once a session has had enough: the least, and room to say so.
const SMALLEST: Bytes = Bytes(Budget::LEAST_BYTES.0 + 160);

/// What an answer may cost, and why.
struct Allowed {
    budget: Budget,
    /// The ceiling of the session, where it has been reached.
    ceiling: Option<u64>,
    /// Whether all of the result was asked for.
    full: bool,
}

/// Tools whose policy is remembered. A server has fewer; one that makes up names must not fill the memory.
const KNOWN: usize = 1024;

/// A tool call whose result is awaited.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Called {
    /// The tool.
    pub tool: String,
    /// The arguments, as JSON.
    pub arguments: Option<String>,
    /// Whether a program made the call, which reads the result itself.
    pub by_program: bool,
}

/// The step of a list of tools, or of its first page.
pub const LIST: &str = "list";
/// The step of a further page of a list of tools.
pub const MORE_OF_LIST: &str = "list-more";

/// What was done with a result that crossed as it came, for the ledger.
pub struct Untouched<'u> {
    /// Who called.
    pub caller: &'u Caller,
    /// The tool.
    pub tool: &'u str,
    /// `pass`, `observe`, [`LIST`] or [`MORE_OF_LIST`].
    pub step: &'u str,
    /// The result.
    pub result: &'u dyn Source,
    /// Microseconds that were added to the call.
    pub added_micros: u64,
}

impl Gate {
    /// What our tool is also called: its name where an upstream has one of the usual name.
    pub const OTHER_READER: &'static str = tools::OTHER_NAME;

    /// Returns a gate.
    pub fn new(setup: Setup) -> Self {
        let arguments = AtomicBool::new(setup.policies.offer_arguments());
        Self {
            setup,
            known: Mutex::default(),
            offered: Offered::default(),
            arguments,
            sent: AtomicU64::new(0),
        }
    }

    /// Returns the policy of a tool.
    pub fn policy(&self, tool: &str) -> Arc<Policy> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(policy) = known.get(tool) {
            return Arc::clone(policy);
        }
        let policy = Arc::new(self.setup.policies.of_tool(tool));
        if known.len() < KNOWN {
            known.insert(tool.to_owned(), Arc::clone(&policy));
        }
        policy
    }

    /// Returns where results are kept.
    pub fn keep(&self) -> &Keep {
        &self.setup.keep
    }

    /// Returns whether the result of a call certainly crosses untouched, without taking long or storing anything.
    pub fn fits(&self, caller: &Caller, called: &Called, result: &[u8]) -> bool {
        let policy = self.policy(&called.tool);
        let budget = self.room(&policy, caller, called).budget;
        let meter = &caller.profile.meter;
        if policy.probes(result.len() as u64) {
            return false;
        }
        let fits = measure::fits_unread(result, &budget, meter).is_some() || {
            let source = result;
            let small = result.len() as u64 <= budget.bytes.0.min(ERROR_BYTES.0);
            small && Payload::read_result(&source).is_ok_and(|payload| fits(&payload, &budget, meter))
        };
        if fits {
            self.count(result.len() as u64);
        }
        fits
    }

    /// Counts what is sent in this session.
    fn count(&self, bytes: u64) {
        self.sent.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The room for the answer to a call: the usual, that of a full output, or the least once the session has had enough.
    fn room(&self, policy: &Policy, caller: &Caller, called: &Called) -> Allowed {
        let usual = policy.budget(&caller.profile);
        let ceiling = policy.session_max_bytes.filter(|most| self.sent.load(Ordering::Relaxed) >= *most);
        let full = output::is_full(policy, called.arguments.as_deref());
        let budget = match (ceiling, full) {
            (Some(_), _) => usual.with_bytes(SMALLEST.min(usual.bytes)),
            (None, true) => policy.full(&caller.profile),
            (None, false) => usual,
        };
        Allowed { budget, ceiling, full: full && ceiling.is_none() }
    }

    /// Decides on the result of a call: `None` where it crosses untouched, else what is answered instead.
    pub fn result(&self, caller: &Caller, called: &Called, result: &(dyn Source + Sync)) -> Option<Vec<u8>> {
        self.decide(caller, called, result, false)
    }

    fn decide(
        &self,
        caller: &Caller,
        called: &Called,
        result: &(dyn Source + Sync),
        failed: bool,
    ) -> Option<Vec<u8>> {
        let started = Instant::now();
        let policy = self.policy(&called.tool);
        let allowed = self.room(&policy, caller, called);
        let budget = allowed.budget;
        let meter = &caller.profile.meter;
        let probes = policy.probes(result.len()) && !allowed.full && !failed;
        if !probes
            && result.as_slice().is_some_and(|bytes| measure::fits_unread(bytes, &budget, meter).is_some())
        {
            self.count(result.len());
            return None;
        }
        let length = result.len();
        // One result that the engine cannot handle must not end the proxy, nor cross as a flood.
        let shaped = catch_unwind(AssertUnwindSafe(|| {
            let payload = match Payload::read_result(&result) {
                Ok(payload) => payload,
                Err(error) => return Some(Passage::unreadable(caller, called, &error)),
            };
            let budget = match payload.is_error {
                Some(true) => budget.with_bytes(budget.bytes.min(ERROR_BYTES)),
                _ => budget,
            };
            let said = payload.is_error == Some(true);
            // Pictures cost by their size, not by their bytes.
            let probes = probes && !said && policy.probes(measure::bytes(&payload).0);
            let crosses = fits(&payload, &budget, meter) && (!probes || negotiation::is_envelope(&payload));
            if !is_final(&payload) || crosses {
                return None;
            }
            let style = match policy.style {
                _ if probes => Style::Probe,
                _ if allowed.full => Style::Overview,
                // What went wrong is told as it is, but for the contract, which has a field for it.
                _ if failed => Style::Overview,
                Style::Probe | Style::Error if said => Style::Overview,
                style => style,
            };
            // A full output above its cap is attached, beside an answer of the usual size.
            let budget = if allowed.full { policy.budget(&caller.profile) } else { budget };
            let (attached, ceiling) = (allowed.full, allowed.ceiling);
            let (keep, server) = (&*self.setup.keep, self.setup.server.as_str());
            let passage =
                Passage { keep, server, caller, called, policy: &policy, budget, style, attached, ceiling };
            Some(passage.shape(&payload, result))
        }));
        let shaped = shaped.unwrap_or_else(|_| Some(Passage::failed(caller, called)));
        self.count(shaped.as_ref().map_or(length, |shaped| shaped.result.len() as u64));
        let shaped = shaped?;
        let result = (!called.by_program || result.len() > WHOLE_BYTES).then_some(shaped.result);
        let (step, sent) = match result {
            Some(_) => (shaped.step, shaped.sent),
            None => ("whole", shaped.raw),
        };
        let call = self.entry(caller, &called.tool, step, (shaped.raw, sent));
        let (artifact, stored_bytes) = (shaped.artifact, shaped.stored_bytes);
        self.note(Call { artifact, stored_bytes, ..call }, started);
        result
    }

    /// Decides on the error that a call was answered with: one that would flood the context is kept, and its message
    /// becomes an overview. Returns what the error becomes.
    pub fn error(&self, caller: &Caller, called: &Called, error: &(dyn Source + Sync)) -> Option<Vec<u8>> {
        let shaped: Value = serde_json::from_slice(&self.decide(caller, called, error, true)?).ok()?;
        let members = skim::members(error, &(0..usize::try_from(error.len()).ok()?)).unwrap_or_default();
        let code = members.iter().rfind(|member| member.key == "code");
        let code = code.and_then(|code| std::str::from_utf8(&code.head).ok()?.parse::<i64>().ok());
        let text = &shaped["content"][0]["text"];
        Some(json!({ "code": code.unwrap_or(-32000), "message": text }).to_string().into())
    }

    /// Answers a call of our tool.
    pub fn query(&self, caller: &Caller, arguments: Option<&[u8]>) -> Vec<u8> {
        let started = Instant::now();
        let asked: Result<Map<String, Value>, _> = serde_json::from_slice(arguments.unwrap_or(b"{}"));
        let answer = match asked {
            Err(_) => Err("the arguments are not an object; give at least {\"id\": ...}".into()),
            Ok(asked) => FollowUp::read(&asked)
                .and_then(|follow_up| self.reader().answer(caller, follow_up, ""))
                .map_err(|error| error.to_string()),
        };
        match answer {
            Err(message) => {
                let message = format!("{}: {}. Nothing was run.", caller.reader, bounded(&message));
                let result = reply::text_result(caller, &message, true);
                let tokens = caller.profile.meter.count(&message);
                let sent = Cost { tokens, estimated: false, bytes: Bytes(result.len() as u64) };
                let call = self.entry(caller, caller.reader, "view", (sent, sent));
                self.note(Call { view: Some("refused".into()), ..call }, started);
                self.count(result.len() as u64);
                result
            }
            Ok(part) => {
                let result = reply::text_result(caller, &part.answer.text, false);
                self.note_view(caller, &part, started);
                self.count(result.len() as u64);
                result
            }
        }
    }

    /// Returns whether an address is one of ours.
    pub fn owns(&self, uri: &str) -> bool {
        resources::is_ours(uri)
    }

    /// Reads a resource whose address is one of ours.
    ///
    /// # Errors
    ///
    /// A result that is not there, or a view of it that makes no sense.
    pub fn read_resource(&self, caller: &Caller, uri: &str) -> Result<Vec<u8>, RpcError> {
        let started = Instant::now();
        let part = resources::follow_up(uri).and_then(|asked| self.reader().answer(caller, asked, uri));
        let part = part.map_err(|error| resources::refused(caller, &error))?;
        self.note_view(caller, &part, started);
        let contents = json!({ "uri": uri, "mimeType": "text/plain", "text": part.answer.text });
        Ok(reply::own_list(caller, json!({ "contents": [contents] })))
    }

    /// Rewrites a page of `tools/list`; `None` where it stays. The caller learns what our tool is called.
    pub fn tools(&self, caller: &mut Caller, result: &[u8], first_page: bool) -> Option<Vec<u8>> {
        let offer = |tool: &str, members: &[raw::Member<'_>], edits: &mut Edits| {
            let policy = self.policy(tool);
            if policy.negotiates() || policy.offers_output {
                self.offered.offer(result, tool, &policy, members, edits);
            }
        };
        let listed = tools::rewrite(caller, result, first_page, &offer);
        caller.reader = listed.reader;
        listed.result
    }

    /// Reads what the upstream can do, and announces what it can do with us in front.
    pub fn announce(&self, result: &[u8]) -> Option<(Capabilities, Option<Vec<u8>>)> {
        capabilities::announce(result)
    }

    /// Adds the newest results to a list of resources; a list of its own where the upstream has none.
    pub fn resources(&self, caller: &Caller, result: Option<&[u8]>) -> Option<Vec<u8>> {
        let keep = &self.setup.keep;
        // A store that cannot be used has nothing to list; whoever stores or reads is told.
        let artifacts = keep.open().and_then(|opened| opened.store.list(&keep.owner, resources::LISTED));
        let entries = resources::entries(&artifacts.unwrap_or_default(), &caller.profile.meter);
        match result {
            Some(result) => resources::extend(result, "resources", &entries),
            None => Some(reply::own_list(caller, json!({ "resources": entries }))),
        }
    }

    /// Adds our template to a list of resource templates; a list of its own where the upstream has none.
    pub fn templates(&self, caller: &Caller, result: Option<&[u8]>) -> Option<Vec<u8>> {
        let template = resources::template();
        match result {
            Some(result) => resources::extend(result, "resourceTemplates", &[template]),
            None => Some(reply::own_list(caller, json!({ "resourceTemplates": [template] }))),
        }
    }

    /// Notes a result that crossed as it came. Counts its tokens, so it is not for the path of an answer.
    pub fn note_untouched(&self, untouched: &Untouched<'_>) {
        let &Untouched { caller, tool, step, result, added_micros } = untouched;
        let meter = &caller.profile.meter;
        let cost = match step {
            LIST | MORE_OF_LIST => tools::cost(result, meter),
            _ => Payload::read_result(&result).ok().and_then(|payload| measure::cost(&payload, meter).ok()),
        };
        let Some(cost) = cost else { return };
        let call = self.entry(caller, tool, step, (cost, cost));
        self.setup.keep.note(Call { added_micros, ..call });
    }

    /// Notes a part of a kept result that was answered.
    fn note_view(&self, caller: &Caller, part: &Read, started: Instant) {
        let call = self.entry(caller, &part.artifact.tool, "view", (part.answer.cost, part.answer.cost));
        let (artifact, view) = (Some(part.artifact.id.to_string()), Some(part.view.to_owned()));
        self.note(Call { artifact, view, ..call }, started);
    }

    fn note(&self, call: Call, started: Instant) {
        let added_micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.setup.keep.note(Call { added_micros, ..call });
    }

    /// What the ledger says of a call, as far as it is the same for all.
    fn entry(&self, caller: &Caller, tool: &str, step: &str, (raw, sent): (Cost, Cost)) -> Call {
        let meter = &caller.profile.meter;
        Call {
            at: SystemClock.now(),
            client: caller.client.clone(),
            server: self.setup.server.clone(),
            tool: tool.chars().take(128).collect(),
            step: step.to_owned(),
            raw_bytes: raw.bytes.0,
            raw_tokens: raw.tokens.0,
            sent_bytes: sent.bytes.0,
            sent_tokens: sent.tokens.0,
            added_micros: 0,
            artifact: None,
            session: Some(self.setup.keep.session.as_str().to_owned()),
            view: None,
            stored_bytes: 0,
            counted: Some(Counted {
                vocabulary: meter.vocabulary().to_owned(),
                margin_percent: meter.margin_percent(),
            }),
        }
    }

    fn reader(&self) -> Reader<'_> {
        let Setup { keep, policies, engines, .. } = &self.setup;
        Reader { keep, policies, engines }
    }
}

fn fits(payload: &Payload<'_>, budget: &Budget, meter: &Meter) -> bool {
    matches!(measure::fits(payload, budget, meter), Ok(Fit::Fits(_)))
}

/// Whether this is the result of the tool, and not a request for input or the promise of one.
fn is_final(payload: &Payload<'_>) -> bool {
    let asks = |kind: &[u8]| kind == br#""input_required""#;
    if payload.form != Form::Plain {
        let kind = payload.others.iter().find(|member| member.key == "resultType");
        return !kind
            .filter(|kind| kind.value.len() <= SMALL)
            .and_then(|kind| kind.value.read(payload.source()).ok())
            .is_some_and(|kind| asks(&kind));
    }
    let whole = 0..usize::try_from(payload.source().len()).unwrap_or(usize::MAX);
    let members = skim::members(payload.source(), &whole).unwrap_or_default();
    let find = |key: &str| members.iter().find(|member| member.key == key);
    let named = |task: &skim::Skimmed| {
        skim::members(payload.source(), &task.value)
            .is_ok_and(|members| members.iter().any(|member| member.key == "taskId"))
    };
    let promise = find("taskId").is_some() || find("task").is_some_and(named);
    !promise && !find("resultType").is_some_and(|kind| asks(&kind.head))
}

/// The most bytes of what says of which kind a result is.
const SMALL: u64 = 1024;
