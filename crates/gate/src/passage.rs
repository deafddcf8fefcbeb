//! `store -> shape -> respond`: one result that does not fit, on its way to the caller.

use std::cell::OnceCell;
use std::sync::mpsc::sync_channel;
use std::thread;

use tidegate_core::budget::Budget;
use tidegate_core::envelope::{Handle, handle_name};
use tidegate_core::measure::{self, Cost};
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::shape::{Prepared, Request, Step};
use tidegate_core::source::Source;
use tidegate_core::view::{Dataset, Query, View, cursor};
use tidegate_core::{Bytes, Tokens};
use tidegate_store::{ArtifactId, Description, StoreError};

use crate::caller::Caller;
use crate::error::causes;
use crate::gate::Called;
use crate::keep::Keep;
use crate::policy::{OnStoreFailure, Policy};
use crate::profile::OutputSchema;
use crate::raw;
use crate::style::contract::Contract;
use crate::style::error::Exceeded;
use crate::style::probe::{self, Bound};
use crate::style::{Room, Style};
use crate::{reply, resources, schema};

/// One result that does not fit.
pub(crate) struct Passage<'p> {
    pub(crate) keep: &'p Keep,
    /// The server's name.
    pub(crate) server: &'p str,
    pub(crate) caller: &'p Caller,
    pub(crate) called: &'p Called,
    pub(crate) policy: &'p Policy,
    pub(crate) budget: Budget,
    pub(crate) style: Style,
    /// Whether the complete result is attached as a resource, whatever the client.
    pub(crate) attached: bool,
    /// The ceiling of the session, where it has been reached.
    pub(crate) ceiling: Option<u64>,
}

/// What is answered instead.
pub(crate) struct Answered {
    pub(crate) result: Vec<u8>,
    pub(crate) step: &'static str,
    pub(crate) raw: Cost,
    pub(crate) sent: Cost,
    pub(crate) artifact: Option<String>,
    /// Bytes that it takes in the store.
    pub(crate) stored_bytes: u64,
}

/// What is larger is stored beside being read.
const BESIDE: u64 = 256 * 1024;

const NOTHING: Cost = Cost { tokens: Tokens(0), estimated: false, bytes: Bytes(0) };

impl Passage<'_> {
    /// Stores the result, and answers with what fits.
    pub(crate) fn shape(&self, payload: &Payload<'_>, body: &(dyn Source + Sync)) -> Answered {
        self.try_shape(payload, body)
            .unwrap_or_else(|error| Self::unreadable(self.caller, self.called, &error))
    }

    /// The answer where the result was there but cannot be read any more, as from a disk that fails.
    pub(crate) fn unreadable(caller: &Caller, called: &Called, error: &dyn std::error::Error) -> Answered {
        let tool = &called.tool;
        let why = causes(error);
        let message = format!("{tool} did run, but its result could not be read: {why}. Nothing was kept.");
        Answered::of_text(caller, &message)
    }

    /// The answer where the engine failed.
    pub(crate) fn failed(caller: &Caller, called: &Called) -> Answered {
        let tool = &called.tool;
        let message = format!(
            "{tool} did run, but tidegate failed on its result, which was not kept. Call {tool} again only if it is \
             safe to repeat, with arguments that give a smaller result."
        );
        Answered::of_text(caller, &message)
    }

    /// Storing takes about as long as reading and composing, which need nothing of it: they run beside each other, and
    /// the answer leaves when both are done.
    fn try_shape(&self, payload: &Payload<'_>, body: &(dyn Source + Sync)) -> std::io::Result<Answered> {
        let text = payload.joined_text();
        let text = text.as_ref();
        let new = self.keep.new_artifact(&self.called.tool, self.policy.ttl);
        let (new, id) = (&new, &new.id);
        let (described, awaited) = sync_channel(1);
        let store = move || {
            let known: OnceCell<Description> = OnceCell::new();
            let gave_up = |_| StoreError::Source(std::io::ErrorKind::Interrupted.into());
            self.keep.put(new, body, &|| match known.get() {
                Some(description) => Ok(description.clone()),
                None => {
                    let description = awaited.recv().map_err(gave_up)?;
                    Ok(known.get_or_init(|| description).clone())
                }
            })
        };
        let read = move || {
            let prepared = Prepared::with_hints(payload, text, &self.policy.hints)?;
            let raw = measure::cost(payload, &self.caller.profile.meter)?;
            let outline = prepared.outline()?;
            let description = Keep::description(&outline, raw.tokens.0);
            // A store that failed meanwhile needs no description.
            let _ = described.send(description);
            let answered = self.kept(&prepared, &outline, raw, id)?;
            std::io::Result::Ok((prepared, raw, answered))
        };
        let (read, stored) = if body.len() < BESIDE {
            (read(), store())
        } else {
            thread::scope(|scope| {
                let storing = scope.spawn(store);
                let read = read();
                (read, storing.join().unwrap_or_else(|_| Err(StoreError::Unusable("it failed".into()))))
            })
        };
        let (prepared, raw, answered) = read?;
        match stored {
            Ok(kept) => Ok(Answered { stored_bytes: kept.stored_bytes, ..answered }),
            Err(error) => self.lost(&prepared, raw, &error),
        }
    }

    fn kept(
        &self,
        prepared: &Prepared<'_>,
        outline: &Outline,
        raw: Cost,
        id: &ArtifactId,
    ) -> std::io::Result<Answered> {
        if self.style != Style::Overview {
            return self.styled(prepared, outline, raw, id);
        }
        let name = handle_name(&self.called.tool, id.as_str());
        let kept = self.keep.words(self.policy.ttl);
        let linked = self.caller.profile.resource_link || self.attached;
        let link = linked.then(|| resources::link(&self.called.tool, self.policy.domain.as_deref(), id));
        let handle = Handle::kept(&name, &kept);
        // Why an answer is so small is told before where the rest is, which its text says anyway.
        let beside = self.ceiling.map(ceiling_words).or(link).unwrap_or_default();
        self.answer(prepared, handle, &beside, Some(id.to_string()))
    }

    /// The answer in another style than the overview.
    fn styled(
        &self,
        prepared: &Prepared<'_>,
        outline: &Outline,
        raw: Cost,
        id: &ArtifactId,
    ) -> std::io::Result<Answered> {
        let tool = self.called.tool.as_str();
        let payload = prepared.payload();
        let data = Dataset::new(payload.source(), outline);
        let room = Room { caller: self.caller, budget: self.budget, limits: self.policy.limits };
        let total_size = match data.text_bytes()? {
            0 => payload.source().len(),
            bytes => bytes,
        };
        // Without a store there is nothing to seal for, and what could not be kept is told by the caller of this.
        let opened = self.keep.open().ok();
        let seal = |bytes: &[u8]| {
            opened.as_ref().map_or([0; cursor::SEAL], |opened| opened.seal(&self.keep.owner, id, bytes))
        };
        let text = match self.style {
            Style::Probe => {
                let bound = Bound { server: self.server, tool, who: &self.caller.who };
                probe::envelope(&data, total_size, &bound.token(id, self.policy.token_life, seal), room)?
            }
            Style::Contract => {
                let reference = resources::uri(tool, self.policy.domain.as_deref(), id);
                let view = View::Page { number: 2, size: Some(self.policy.limits.array_items as u64) };
                let cursor = cursor::encode(&Query { view, fields: Vec::new(), position: 0 }, seal);
                let (reference, cursor) = (Some(reference.as_str()), Some(cursor.as_str()));
                let success = payload.is_error != Some(true);
                Contract { tool, success, reference, cursor, total_size }.text(&data, room)?
            }
            Style::Error | Style::Overview => {
                let name = handle_name(tool, id.as_str());
                let kept = self.keep.words(self.policy.ttl);
                let handle = Some((name.as_str(), kept.as_str()));
                let (tokens, budget, reader) = (raw.tokens.0, self.budget.tokens.0, self.caller.reader);
                Exceeded { tool, tokens, budget, handle, reader }.text()
            }
        };
        let mut result = room.result(&text, payload.is_error == Some(true));
        if let Some(most) = self.ceiling {
            result = raw::added(&result, &["content"], ceiling_words(most).as_bytes());
        }
        let sent = Cost {
            tokens: self.caller.profile.meter.count(&text),
            estimated: raw.estimated,
            bytes: Bytes(result.len() as u64),
        };
        let (step, artifact) = (self.style.name(), Some(id.to_string()));
        Ok(Answered { result, step, raw, sent, artifact, stored_bytes: 0 })
    }

    fn lost(&self, prepared: &Prepared<'_>, raw: Cost, error: &StoreError) -> std::io::Result<Answered> {
        let why = causes(error);
        match self.policy.on_store_failure {
            OnStoreFailure::Overview => self.answer(prepared, Handle::lost(&why), "", None),
            OnStoreFailure::Error => {
                let tool = &self.called.tool;
                let message = format!(
                    "{tool} did run and returned {} bytes, which could not be kept: {why}. Call {tool} again only if it \
                     is safe to repeat.",
                    raw.bytes
                );
                Ok(Answered { raw, ..Answered::of_text(self.caller, &message) })
            }
        }
    }

    fn answer(
        &self,
        prepared: &Prepared<'_>,
        handle: Handle<'_>,
        beside: &str,
        artifact: Option<String>,
    ) -> std::io::Result<Answered> {
        let meter = self.caller.profile.meter;
        let union = self.caller.profile.output_schema == OutputSchema::Union;
        let (beside, reserved) = self.room_for(beside);
        let mut budget = Budget {
            tokens: self.budget.tokens - reserved.tokens,
            bytes: self.budget.bytes - reserved.bytes,
        };
        if union {
            // The text stands twice, in two channels, but a model reads one of them.
            budget.bytes = Bytes(budget.bytes.0.saturating_sub(STRUCTURED_BYTES) / 2);
        }
        let shaped = prepared.shape(&Request {
            tool: &self.called.tool,
            arguments: self.called.arguments.as_deref(),
            handle: handle.read_with(self.caller.reader),
            budget,
            meter,
        })?;
        let mut result = shaped.result.unwrap_or_default();
        if !beside.is_empty() {
            result = raw::added(&result, &["content"], beside.as_bytes());
        }
        if union {
            let text = serde_json::Value::String(shaped.text);
            let member = format!("\"structuredContent\":{{\"{}\":{text}}}", schema::MEMBER);
            result = raw::added(&result, &[], member.as_bytes());
        }
        let step = if shaped.step == Step::Lossless { "lossless" } else { "overview" };
        let sent = Cost {
            tokens: shaped.shaped.tokens + reserved.tokens,
            bytes: Bytes(result.len() as u64),
            ..shaped.shaped
        };
        Ok(Answered { result, step, raw: shaped.raw, sent, artifact, stored_bytes: 0 })
    }

    /// What blocks beside the text cost; a budget too small for them goes without.
    fn room_for<'b>(&self, beside: &'b str) -> (&'b str, Cost) {
        let cost = Cost {
            tokens: self.caller.profile.meter.count(beside),
            estimated: false,
            bytes: Bytes(beside.len() as u64 + 1),
        };
        let small = self.budget.tokens - cost.tokens < Budget::LEAST_TOKENS
            || self.budget.bytes - cost.bytes < Budget::LEAST_BYTES;
        if beside.is_empty() || small { ("", NOTHING) } else { (beside, cost) }
    }
}

/// The block that says why an answer is so small.
fn ceiling_words(most: u64) -> String {
    let text =
        format!("This session has been sent more than {most} bytes: answers are as small as they can be.");
    serde_json::json!({ "type": "text", "text": text }).to_string()
}

/// Bytes of the JSON around the text in `structuredContent`.
const STRUCTURED_BYTES: u64 = 40;

impl Answered {
    fn of_text(caller: &Caller, message: &str) -> Self {
        let result = reply::text_result(caller, message, true);
        let sent = Cost {
            tokens: caller.profile.meter.count(message),
            estimated: caller.profile.meter.is_estimate(),
            bytes: Bytes(result.len() as u64),
        };
        Self { result, step: "error", raw: NOTHING, sent, artifact: None, stored_bytes: 0 }
    }
}
