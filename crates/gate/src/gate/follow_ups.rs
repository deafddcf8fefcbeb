//! `follow-up -> store -> view -> respond`: parts of kept results, from the store and never from the tool.

use std::time::Instant;

use serde_json::{Map, Value, json};
use tidegate_core::Bytes;
use tidegate_core::budget::Budget;
use tidegate_core::measure::Cost;
use tidegate_core::view::{Answer, Query};
use tidegate_store::{Artifact, ArtifactId, Call, StoreError};

use super::Gate;
use crate::caller::Caller;
use crate::error::{FollowUpError, RpcError, bounded};
use crate::follow_up::FollowUp;
use crate::kept_result::KeptResult;
use crate::{reply, resources};

/// A part of a kept result that was read.
struct AnsweredPart {
    artifact: Artifact,
    answer: Answer,
    query: Query,
}

impl Gate {
    /// Answers a call of our tool.
    pub fn query(&self, caller: &Caller, arguments: Option<&[u8]>) -> Vec<u8> {
        let started = Instant::now();
        let read: Result<Map<String, Value>, _> = serde_json::from_slice(arguments.unwrap_or(b"{}"));
        let answer = match read {
            Err(_) => Err("the arguments are not an object; give at least {\"id\": ...}".into()),
            Ok(arguments) => FollowUp::read(&arguments)
                .and_then(|follow_up| self.answer(caller, follow_up, ""))
                .map_err(|error| error.to_string()),
        };
        let result = match answer {
            Err(message) => {
                let message = format!("{}: {}. Nothing was run.", caller.query_tool, bounded(&message));
                let result = reply::text_result(caller, &message, true);
                let tokens = caller.profile.meter.count(&message);
                let sent = Cost { tokens, estimated: false, bytes: Bytes(result.len() as u64) };
                let call = self.entry(caller, caller.query_tool, "view", (sent, sent));
                self.note(Call { view: Some("refused".into()), ..call }, started);
                result
            }
            Ok(part) => {
                self.note_view(caller, &part, started);
                reply::part_result(caller, &part.answer)
            }
        };
        self.count_sent(result.len() as u64);
        result
    }

    /// Returns whether a resource address is one of ours.
    pub fn owns(&self, uri: &str) -> bool {
        resources::is_ours(uri)
    }

    /// Reads a resource whose address is one of ours.
    ///
    /// # Errors
    ///
    /// A result that does not exist, or a view that makes no sense for it.
    pub fn read_resource(&self, caller: &Caller, uri: &str) -> Result<Vec<u8>, RpcError> {
        let started = Instant::now();
        let part = resources::follow_up(uri).and_then(|follow_up| self.answer(caller, follow_up, uri));
        let part = part.map_err(|error| resources::refused(caller, &error))?;
        self.note_view(caller, &part, started);
        let contents = json!({ "uri": uri, "mimeType": "text/plain", "text": part.answer.text });
        Ok(reply::own_list(caller, json!({ "contents": [contents] })))
    }

    /// Returns the tool that a kept result came from, by any of its names.
    pub fn tool_of(&self, name: &str) -> Option<String> {
        let (keep, id) = (&self.setup.keep, ArtifactId::parse(name)?);
        let opened = keep.open_for(&id).ok()?;
        let source = keep.stored(&opened, &id).ok()?;
        Some(source.artifact().tool.clone())
    }

    /// Answers a follow-up; `beside` is text that the response carries beside the answer, and that counts too.
    fn answer(
        &self,
        caller: &Caller,
        follow_up: FollowUp,
        beside: &str,
    ) -> Result<AnsweredPart, FollowUpError> {
        let FollowUp { id: name, cursor, arguments, max_tokens } = follow_up;
        let failed = |error: &StoreError| FollowUpError::of_store(&name, error);
        let id = ArtifactId::parse(&name).ok_or_else(|| failed(&StoreError::NotFound))?;
        let keep = &*self.setup.keep;
        let opened = keep.open_for(&id).map_err(|error| failed(&error))?;
        let kept = KeptResult::open(keep, &opened, &id, |artifact| self.policy(&artifact.tool))
            .map_err(|error| failed(&error))?;
        let query = kept.query(cursor.as_deref(), arguments)?;
        let budget = less(kept.budget(max_tokens, &query, &caller.profile)?, beside, caller)?;
        let meter = caller.profile.meter;
        let answer = kept.answer(&query, budget, meter, caller.query_tool, &self.setup.engines)?;
        Ok(AnsweredPart { artifact: kept.artifact().clone(), answer, query })
    }

    /// Writes an answered part to the ledger.
    fn note_view(&self, caller: &Caller, part: &AnsweredPart, started: Instant) {
        let call = self.entry(caller, &part.artifact.tool, "view", (part.answer.cost, part.answer.cost));
        let artifact = Some(part.artifact.id.to_string());
        let view = Some(part.query.view.name().to_owned());
        self.note(Call { artifact, view, ..call }, started);
    }
}

/// Returns what is left of a budget beside a text.
fn less(budget: Budget, beside: &str, caller: &Caller) -> Result<Budget, FollowUpError> {
    if beside.is_empty() {
        return Ok(budget);
    }
    let tokens = budget.tokens - caller.profile.meter.count(beside);
    let bytes = budget.bytes - Bytes(2 * beside.len() as u64 + 64);
    if tokens < Budget::MIN_TOKENS || bytes < Budget::MIN_BYTES {
        return Err(FollowUpError::Arguments("the address is too long; ask with fewer words".into()));
    }
    Ok(Budget { tokens, bytes })
}
