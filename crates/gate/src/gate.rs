//! The whole flow.
//!
//! ```text
//!  result ─▶ measure ─▶ passes? ──yes──▶ untouched
//!                          │no
//!                          ▼
//!              store ─▶ shape within budget ─▶ respond
//!  follow-up ─▶ store ─▶ view within budget ─▶ respond
//! ```
//!
//! A result is stored before it is answered; a follow-up is answered from the store alone. Nothing here calls a tool.
//! `verdict.rs` decides what passes, `overflow.rs` stores and shapes what does not, and `keep_passed.rs` stores what passed if
//! a policy says so. `follow_ups.rs` answers from the store, and `save.rs` writes parts to files, or to a client that follows a
//! link. `negotiate.rs` and `lists.rs` tell callers what they can ask for, `permission.rs` decides what they may, and
//! `ledger.rs` records what calls cost.

mod follow_ups;
mod keep_passed;
mod kept_list;
mod ledger;
mod lists;
mod negotiate;
mod permission;
mod save;
mod verdict;

use std::borrow::Cow;
use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Value, json};
use tidegate_core::budget::Budget;
use tidegate_core::measure::{Cost, Meter};
use tidegate_core::source::{Source, Span};
use tidegate_core::view::{Engines, QueryLanguages};
use tidegate_query::Queries;
use tidegate_store::{ArtifactId, Call};

pub use kept_list::{age_text, short_arguments};
use ledger::sent_cost;
pub use ledger::{ARTIFACT, LIST, MORE_OF_LIST, Observer, PassedResult, REFUSED};
pub use save::DownloadError;

use crate::caller::{Caller, Principal};
use crate::negotiation::Offered;
use crate::overflow::{Overflow, Shaped};
use crate::policy::{MAX_WHOLE_BYTES, Policies, Policy};
use crate::raw::skim;
use crate::references::InputSchemas;
use crate::servers::Servers;
use crate::session::{Ceiling, SessionMeter};
use crate::style::Style;
use crate::tier::Tier;
use crate::user_store::{StoreLocation, UserStore};
use crate::{output, tools};
use verdict::{Look, Outcome, Terms, Verdict};

/// The maximum number of tools whose policy is cached: a server that makes up names must not fill the memory.
const MAX_CACHED_POLICIES: usize = 1024;

/// The maximum number of bytes of the `data` that a shaped JSON-RPC error keeps.
const MAX_ERROR_DATA_BYTES: usize = 512;

/// The code of a JSON-RPC error whose own code cannot be read.
const SERVER_ERROR: i64 = -32000;

/// What a gate is made of.
pub struct Setup {
    /// Where results are kept. It is the store of the user; every other caller has one of its own in the same place.
    pub keep: Arc<UserStore>,
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
    /// The policies of the tools that were called or marked: resolving one for each call would cost more than the call.
    policies: Mutex<HashMap<String, Arc<Policy>>>,
    offered: Offered,
    /// Whether any tool may have arguments of ours; where none has, no call is searched for them.
    pub(crate) offers_arguments: AtomicBool,
    /// Whether any tool may take references in its arguments; where none does, no call is searched for them.
    pub(crate) uses_references: AtomicBool,
    /// Whether the user of this gate resolves references before it forwards a call.
    resolves_references: bool,
    input_schemas: InputSchemas,
    /// Whether the upstream was seen to have a tool of our tool's usual name.
    has_name_taken: AtomicBool,
    /// Whether the upstream was seen to have a tool of our second tool's usual name.
    has_save_name_taken: AtomicBool,
    observer: Option<Observer>,
    /// The servers, if there are several.
    pub(crate) servers: Option<Arc<dyn Servers>>,
    /// Whether `tidegate query`, run in a shell, finds the results of this gate.
    is_in_shell: bool,
    /// The data folder for saved files; `None` if results cannot be saved.
    save_place: Option<StoreLocation>,
    /// The engines behind files, whose programs may take longer.
    file_engines: Queries,
}

/// A tool call whose result is awaited.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    /// The tool.
    pub tool: String,
    /// The arguments, as JSON.
    pub arguments: Option<String>,
    /// Whether a program made the call, and reads the result itself.
    pub by_program: bool,
}

/// What the gate decided about the result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// The answer to send instead of the result; `None` if the result passes unchanged.
    pub answer: Option<Vec<u8>>,
    /// What the result costs, where that was counted.
    pub raw: Option<Cost>,
    /// What was done: `pass`, `whole`, `lossless`, or the style of the answer.
    pub step: &'static str,
}

impl Gate {
    /// The name of our tool where the upstream has one of the usual name.
    pub const ALTERNATIVE_QUERY_TOOL: &'static str = tools::OTHER_NAME;
    /// The name of our second tool where the upstream has one of the usual name.
    pub const ALTERNATIVE_SAVE_TOOL: &'static str = tools::save::OTHER_NAME;

    /// Returns a gate.
    pub fn new(setup: Setup) -> Self {
        let offers_arguments = AtomicBool::new(setup.policies.offer_arguments());
        let file_engines = save::file_engines(&setup.engines);
        let uses_references = AtomicBool::new(setup.policies.take_references());
        Self {
            setup,
            policies: Mutex::default(),
            offered: Offered::default(),
            offers_arguments,
            uses_references,
            resolves_references: false,
            input_schemas: InputSchemas::default(),
            has_name_taken: AtomicBool::new(false),
            has_save_name_taken: AtomicBool::new(false),
            observer: None,
            servers: None,
            is_in_shell: false,
            save_place: None,
            file_engines,
        }
    }

    /// Returns the gate for a machine on which `tidegate query` finds its results, so that answers to clients with a shell
    /// offer that command.
    #[must_use]
    pub fn readable_in_shell(self, is_in_shell: bool) -> Self {
        Self { is_in_shell, ..self }
    }

    /// Declares that the user of this gate resolves references before it forwards a call; without this, no tool takes references.
    #[must_use]
    pub fn resolving_references(self) -> Self {
        Self { resolves_references: true, ..self }
    }

    /// Returns the gate with an observer that gets every entry of the ledger.
    #[must_use]
    pub fn observed_by(self, observer: Observer) -> Self {
        Self { observer: Some(observer), ..self }
    }

    /// Returns the name of the server.
    pub fn server(&self) -> &str {
        &self.setup.server
    }

    /// Returns whether any tool may take references in its arguments.
    pub fn uses_references(&self) -> bool {
        self.resolves_references && self.uses_references.load(Ordering::Relaxed)
    }

    /// Returns the input schemas of the tools that take references.
    pub(crate) fn input_schemas(&self) -> &InputSchemas {
        &self.input_schemas
    }

    /// Returns the query languages that a follow-up can use.
    fn languages(&self) -> QueryLanguages {
        self.setup.engines.languages()
    }

    /// Returns the policy of a tool, with what the tool says about itself.
    pub fn policy(&self, tool: &str) -> Arc<Policy> {
        let mut policies = self.policies.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(policy) = policies.get(tool) {
            return Arc::clone(policy);
        }
        let origin = self.origin(tool);
        let is_known = self.servers.is_none() || origin.is_some();
        let policy = origin.map_or_else(|| self.setup.policies.of_tool(tool), |origin| origin.policy());
        let policy = Arc::new(policy);
        // A server whose tools are not known yet may turn out to have it.
        if is_known && policies.len() < MAX_CACHED_POLICIES {
            policies.insert(tool.to_owned(), Arc::clone(&policy));
        }
        policy
    }

    /// Returns where results are kept.
    pub fn keep(&self) -> &UserStore {
        &self.setup.keep
    }

    /// Returns the store of a caller's results, which no other caller can read, without those above the caller's tier.
    pub(crate) fn keep_of(&self, caller: &Caller) -> Cow<'_, UserStore> {
        match (&caller.principal, caller.profile.tier) {
            (Principal::User, Tier::Admin) => Cow::Borrowed(&*self.setup.keep),
            (principal, tier) => {
                Cow::Owned(self.setup.keep.of_principal(principal, &self.setup.server).up_to(tier))
            }
        }
    }

    /// Returns whether the result of a call certainly passes unchanged; takes no time and stores nothing.
    pub fn fits(&self, caller: &Caller, called: &ToolCall, result: &[u8]) -> bool {
        let policy = self.policy(&called.tool);
        let terms = self.terms(&policy, caller, called, self.ceiling(caller, &policy));
        // A result that breaks the reader is left to `decide`, which answers it.
        let verdict = catch_unwind(AssertUnwindSafe(|| {
            matches!(terms.verdict(&result, Outcome::Result, Look::Quick), Verdict::Pass(_))
        }));
        verdict.unwrap_or(false) && self.admit(caller, &policy, result.len() as u64)
    }

    /// Decides about the result of a call, and stores and shapes what does not pass.
    pub fn decide(&self, caller: &Caller, called: &ToolCall, result: &(dyn Source + Sync)) -> Decision {
        self.decide_outcome(caller, called, result, Outcome::Result)
    }

    /// Returns what is sent instead of the result of a call; `None` if the result passes unchanged.
    pub fn result(
        &self,
        caller: &Caller,
        called: &ToolCall,
        result: &(dyn Source + Sync),
    ) -> Option<Vec<u8>> {
        self.decide(caller, called, result).answer
    }

    /// Returns what is sent instead of the JSON-RPC error of a call; `None` if the error passes unchanged. An error
    /// that would flood the context is kept, and its message becomes an overview.
    pub fn error(&self, caller: &Caller, called: &ToolCall, error: &(dyn Source + Sync)) -> Option<Vec<u8>> {
        let answer = self.decide_outcome(caller, called, error, Outcome::RpcError).answer?;
        let shaped: Value = serde_json::from_slice(&answer).ok()?;
        let members = skim::members(error, &(0..usize::try_from(error.len()).ok()?)).unwrap_or_default();
        let code = members.iter().rfind(|member| member.key == "code");
        let code = code.and_then(|code| std::str::from_utf8(&code.head).ok()?.parse::<i64>().ok());
        let mut sent =
            json!({ "code": code.unwrap_or(SERVER_ERROR), "message": shaped["content"][0]["text"] });
        // What a program reads of an error is small, and not part of what floods a context.
        let data = members.iter().rfind(|member| member.key == "data");
        if let Some(data) = data.filter(|data| data.value.len() <= MAX_ERROR_DATA_BYTES) {
            let span = Span { start: data.value.start as u64, end: data.value.end as u64 };
            let read = span.read(error).ok().and_then(|data| serde_json::from_slice::<Value>(&data).ok());
            sent["data"] = read.unwrap_or_default();
        }
        Some(sent.to_string().into())
    }

    /// Returns the largest cost at which a result of a tool passes unchanged, and the meter that counts its tokens.
    pub fn line(&self, caller: &Caller, tool: &str) -> (Budget, Meter) {
        let policy = self.policy(tool);
        let terms = Terms::new(&policy, &caller.profile, self.ceiling(caller, &policy), false);
        (terms.line, terms.line_meter)
    }

    fn terms<'t>(
        &self,
        policy: &'t Policy,
        caller: &'t Caller,
        called: &ToolCall,
        ceiling: Option<Ceiling>,
    ) -> Terms<'t> {
        let full = output::is_full(policy, called.arguments.as_deref());
        Terms::new(policy, &caller.profile, ceiling, full)
    }

    fn decide_outcome(
        &self,
        caller: &Caller,
        called: &ToolCall,
        result: &(dyn Source + Sync),
        outcome: Outcome,
    ) -> Decision {
        let started = Instant::now();
        let policy = self.policy(&called.tool);
        let ceiling = self.ceiling(caller, &policy);
        // One result that the engine cannot handle must not end the proxy, nor pass as a flood.
        let shape = |ceiling| {
            let terms = self.terms(&policy, caller, called, ceiling);
            let shape = || self.shape(&terms, caller, called, result, outcome);
            catch_unwind(AssertUnwindSafe(shape)).unwrap_or_else(|_| Ok(Shaped::failed(caller, called)))
        };
        let mut shaped = shape(ceiling);
        let bytes = |shaped: &Result<Shaped, _>| shaped.as_ref().map_or(result.len(), Shaped::bytes);
        if !self.admit(caller, &policy, bytes(&shaped)) {
            // Other calls took what was left meanwhile, or it is a message in words.
            shaped =
                shape(ceiling.map(Ceiling::reached)).map(|shaped| shaped.within_smallest(caller, called));
            self.count_sent(caller, bytes(&shaped));
        }
        let shaped = match shaped {
            Ok(shaped) => shaped,
            Err(raw) => return Decision { answer: None, raw, step: "pass" },
        };
        let whole = called.by_program && result.len() <= MAX_WHOLE_BYTES;
        let (answer, step, sent) = match whole {
            true => (None, "whole", shaped.raw),
            false => {
                let sent = Cost { estimated: shaped.sent.estimated, ..sent_cost(caller, &shaped.result) };
                (Some(shaped.result), shaped.step, sent)
            }
        };
        let call = self.entry(caller, &called.tool, step, (shaped.raw, sent));
        let (artifact, stored_bytes) = (shaped.artifact, shaped.stored_bytes);
        if let Some(id) = artifact.as_deref().and_then(ArtifactId::parse_bare) {
            self.session(caller).note_kept(id);
        }
        let budget = self.terms(&policy, caller, called, ceiling).budget;
        let budget_tokens = if whole { 0 } else { budget.tokens.0 };
        self.note(Call { artifact, stored_bytes, budget_tokens, ..call }, started);
        Decision { answer, raw: Some(shaped.raw), step }
    }

    /// Stores and shapes a result; `Err` holds the cost of a result that passes, if it was counted.
    fn shape(
        &self,
        terms: &Terms<'_>,
        caller: &Caller,
        called: &ToolCall,
        result: &(dyn Source + Sync),
        outcome: Outcome,
    ) -> Result<Shaped, Option<Cost>> {
        let (keep, server) = (self.keep_of(caller), self.server_of(&called.tool));
        let overflow = |style, budget| Overflow {
            keep: &keep,
            server: &server,
            caller,
            called,
            policy: terms.policy,
            budget,
            style,
            attached: terms.full,
            ceiling: terms.reached(),
            is_rpc_error: outcome == Outcome::RpcError,
            languages: self.languages(),
            has_shell: self.is_in_shell && caller.profile.has_shell,
        };
        match terms.verdict(result, outcome, Look::Full) {
            Verdict::Pass(cost) => Err(cost),
            Verdict::Unreadable(error) => Ok(Shaped::unreadable(caller, called, &error)),
            // The full look always decides; if it did not, the result must not pass as a flood.
            Verdict::Undecided => Ok(Shaped::failed(caller, called)),
            // A program that reads the result itself gains nothing.
            Verdict::Compact(_, cost) if called.by_program => Err(cost),
            Verdict::Compact(payload, cost) => {
                overflow(Style::Overview, terms.line).compact(&payload, result).ok_or(cost)
            }
            Verdict::Shape { payload, style, budget } => Ok(overflow(style, budget).shape(&payload, result)),
        }
    }

    /// Returns what counts the bytes that the session of a caller is sent.
    fn session(&self, caller: &Caller) -> Arc<SessionMeter> {
        caller.session.clone().unwrap_or_else(|| self.setup.keep.meter_of(&self.keep_of(caller).owner))
    }

    /// Returns the ceiling of the session, with what is left of it, where the policy has one.
    fn ceiling(&self, caller: &Caller, policy: &Policy) -> Option<Ceiling> {
        let now = self.setup.keep.clock().now();
        policy.session_max_bytes.map(|max_bytes| self.session(caller).ceiling(max_bytes, now))
    }

    /// Counts a result that is sent to a caller, unless the ceiling of its session does not leave enough for it.
    fn admit(&self, caller: &Caller, policy: &Policy, bytes: u64) -> bool {
        let now = self.setup.keep.clock().now();
        self.session(caller).admit(policy.session_max_bytes, bytes, now)
    }

    /// Counts a result that is sent whatever the ceiling is.
    fn count_sent(&self, caller: &Caller, bytes: u64) {
        self.session(caller).admit(None, bytes, self.setup.keep.clock().now());
    }
}

#[cfg(test)]
mod tests;
