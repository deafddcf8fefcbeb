//! Our arguments among those of a tool: offered, checked, removed from the call, and answered from the store.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use tidegate_store::Call;

use super::{Gate, MAX_CACHED_POLICIES, REFUSED, sent_cost};
use crate::caller::Caller;
use crate::error::bounded;
use crate::negotiation::{self, ProbeFetch};
use crate::output;
use crate::policy::Rules;
use crate::raw::{ByteRange, Edits};
use crate::session::Ceiling;
use crate::style::fetch::NAMES;

impl Gate {
    /// Sets rules that a tool declares itself; rules that were set for its name win over them.
    pub fn mark(&self, tool: &str, rules: &Rules) {
        if rules.offer_arguments() {
            self.offers_arguments.store(true, Ordering::Relaxed);
        }
        if rules.references == Some(true) {
            self.uses_references.store(true, Ordering::Relaxed);
        }
        let mut policies = self.policies.lock().unwrap_or_else(PoisonError::into_inner);
        if policies.len() < MAX_CACHED_POLICIES || policies.contains_key(tool) {
            policies.insert(tool.to_owned(), Arc::new(self.setup.policies.of_marked_tool(tool, rules)));
        }
    }

    /// Returns whether a tool may have arguments of ours.
    pub fn has_arguments(&self, tool: &str) -> bool {
        if !self.offers_arguments.load(Ordering::Relaxed) {
            return false;
        }
        let policy = self.policy(tool);
        policy.negotiates() || policy.offers_output
    }

    /// Returns whether a call asks for a part of a kept result through the tool itself.
    pub fn negotiates(&self, tool: &str, arguments: &[u8]) -> bool {
        self.policy(tool).negotiates() && self.offered.names(tool, arguments).is_some()
    }

    /// Returns the answer to a call in which arguments of ours are invalid, so that it must not be made.
    pub fn refusal(&self, caller: &Caller, tool: &str, arguments: &[u8]) -> Option<Vec<u8>> {
        let own = self.own_arguments(tool);
        let output = own.contains(&output::NAME).then(|| output::mistake(arguments)).flatten();
        let mistake = output.or_else(|| negotiation::mistake(arguments, &own))?;
        let say = |characters| {
            format!("{}: {}. Nothing was run.", bounded(tool, 64), bounded(&mistake, characters))
        };
        Some(self.refuse(caller, tool, say).1)
    }

    /// Removes our arguments from a call that goes to the upstream.
    pub fn take_out(&self, tool: &str, line: &[u8], arguments: &ByteRange, edits: &mut Edits) {
        negotiation::take_out(line, arguments, &self.own_arguments(tool), edits);
    }

    /// Returns the names of the arguments of a tool that are ours, if it was listed with them.
    pub fn own_arguments(&self, tool: &str) -> Vec<&'static str> {
        self.offered.own(tool)
    }

    /// Answers a call that asks for a part of a kept result; the tool is not run. A caller who may not call the tool now
    /// gets the same answer as one whose token is not valid.
    pub fn fetch(&self, caller: &Caller, tool: &str, arguments: &[u8], allowed: bool) -> Vec<u8> {
        let started = Instant::now();
        let policy = self.policy(tool);
        let names = self.offered.names(tool, arguments).unwrap_or(&NAMES);
        let ceiling = self.ceiling(caller, &policy);
        let (keep, server) = (self.keep_of(caller), self.server_of(tool));
        let budget = policy.follow_up(&caller.profile);
        let budget = ceiling.map_or(budget, |ceiling| ceiling.limit(budget));
        let fetch = ProbeFetch { keep: &keep, server: &server, caller, tool, policy, allowed, ceiling };
        let mut fetched = fetch.answer(arguments, names);
        if !self.admit(caller, &fetch.policy, fetched.result.len() as u64) {
            // Other calls took what was left meanwhile, or a message in words is too long.
            let ceiling = ceiling.map(Ceiling::reached);
            fetched = ProbeFetch { ceiling, ..fetch }.answer(arguments, names);
            self.count_sent(caller, fetched.result.len() as u64);
        }
        let cost = sent_cost(caller, &fetched.result);
        let call = self.entry(caller, tool, "fetch", (cost, cost));
        let call = Call { budget_tokens: budget.tokens.0, ..call };
        let view = if fetched.artifact.is_some() { fetched.view } else { Some(REFUSED) };
        self.note(Call { artifact: fetched.artifact, view: view.map(str::to_owned), ..call }, started);
        fetched.result
    }
}
