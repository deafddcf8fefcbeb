//! The gate where a tool's own arguments ask for more: what is ours among them, and what is answered.

use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

use tidegate_core::measure;
use tidegate_core::payload::Payload;
use tidegate_store::{ArtifactId, Call, open};

use super::{Gate, KNOWN};
use crate::caller::Caller;
use crate::negotiation::{self, Redeemed};
use crate::policy::Rules;
use crate::raw::{Edits, Place};
use crate::style::fetch::NAMES;
use crate::{output, reply};

impl Gate {
    /// Sets rules for one tool that were found after the gate was made; they yield to those that were set for its name.
    pub fn mark(&self, tool: &str, rules: &Rules) {
        if rules.offer_arguments() {
            self.arguments.store(true, Ordering::Relaxed);
        }
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() < KNOWN || known.contains_key(tool) {
            known.insert(tool.to_owned(), Arc::new(self.setup.policies.of_marked_tool(tool, rules)));
        }
    }

    /// Returns the tool that a kept result came from, by any of its names.
    pub fn tool_of(&self, name: &str) -> Option<String> {
        let (keep, id) = (&self.setup.keep, ArtifactId::parse(name)?);
        let opened = keep.open().ok()?;
        let source = open(&opened.store, &keep.owner, &id).ok()?;
        Some(source.artifact().tool.clone())
    }

    /// Returns whether a tool may have arguments of ours.
    pub fn has_arguments(&self, tool: &str) -> bool {
        if !self.arguments.load(Ordering::Relaxed) {
            return false;
        }
        let policy = self.policy(tool);
        policy.negotiates() || policy.offers_output
    }

    /// Returns whether a call asks for a part of a kept result through the tool itself.
    pub fn negotiates(&self, tool: &str, arguments: &[u8]) -> bool {
        self.policy(tool).negotiates() && self.offered.names(tool, arguments).is_some()
    }

    /// Returns the answer to a call whose arguments of ours make no sense, so that it must not be made.
    pub fn refusal(&self, caller: &Caller, tool: &str, arguments: &[u8]) -> Option<Vec<u8>> {
        let own = self.own_arguments(tool);
        let output = own.contains(&output::NAME).then(|| output::mistake(arguments)).flatten();
        let mistake = output.or_else(|| negotiation::mistake(arguments, &own))?;
        Some(reply::text_result(caller, &format!("{tool}: {mistake}. Nothing was run."), true))
    }

    /// Takes what is ours out of the arguments of a call that goes to the upstream.
    pub fn take_out(&self, tool: &str, line: &[u8], arguments: &Place, edits: &mut Edits) {
        negotiation::take_out(line, arguments, &self.own_arguments(tool), edits);
    }

    /// Returns the names of the arguments of a tool that are ours, where it was listed with them.
    pub fn own_arguments(&self, tool: &str) -> Vec<&'static str> {
        self.offered.own(tool)
    }

    /// Answers a call that asks for a part of a kept result; the tool is not run. A caller who may not call the tool now
    /// gets the answer of one whose token does not hold.
    pub fn fetch(&self, caller: &Caller, tool: &str, arguments: &[u8], allowed: bool) -> Vec<u8> {
        let started = Instant::now();
        let policy = self.policy(tool);
        let names = self.offered.names(tool, arguments).unwrap_or(&NAMES);
        let redeemed = Redeemed {
            keep: &self.setup.keep,
            server: &self.setup.server,
            caller,
            tool,
            policy: &policy,
            allowed,
        };
        let fetched = redeemed.answer(arguments, names);
        self.count(fetched.result.len() as u64);
        if fetched.artifact.is_some() {
            let cost = Payload::read_result(&fetched.result.as_slice())
                .ok()
                .and_then(|payload| measure::cost(&payload, &caller.profile.meter).ok());
            if let Some(cost) = cost {
                let call = self.entry(caller, tool, "fetch", (cost, cost));
                let (artifact, view) = (fetched.artifact, fetched.view.map(str::to_owned));
                self.note(Call { artifact, view, ..call }, started);
            }
        }
        fetched.result
    }
}
