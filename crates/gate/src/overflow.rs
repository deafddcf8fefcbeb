//! `store -> shape -> respond`: stores a result that does not pass, shapes it, and answers the caller.
//!
//! The result is stored before its answer leaves. Storing takes about as long as reading and composing, so for large
//! results both run at the same time. The result is counted once; the count goes into the store, the ledger and the
//! frame of the answer. Whatever fails, the answer says that the tool did run.

mod shaped;

use std::cell::OnceCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::sync_channel;
use std::thread;

use tidegate_core::budget::Budget;
use tidegate_core::envelope::{Handle, handle_name};
use tidegate_core::measure::Cost;
use tidegate_core::outline::Outline;
use tidegate_core::payload::{Block, Payload};
use tidegate_core::shape::{self, Earlier, Fill, Prepared, Request, Step};
use tidegate_core::source::Source;
use tidegate_core::view::{Dataset, Query, QueryLanguages, View, cursor, visible_text};
use tidegate_core::{Bytes, Tokens};
use tidegate_store::{ArtifactId, CallDigest, Description, NewArtifact, StoreError};

use crate::caller::Caller;
use crate::error::causes;
use crate::gate::ToolCall;
use crate::policy::{OnStoreFailure, Policy};
use crate::profile::OutputSchema;
use crate::raw;
use crate::repeat::{self, LastResult};
use crate::session::Ceiling;
use crate::style::contract::{self, Contract};
use crate::style::error::Exceeded;
use crate::style::probe::{self, Bound};
use crate::style::smallest::Smallest;
use crate::style::{AnswerLimits, Style};
use crate::user_store::{KeptArtifact, Opened, UserStore};
use crate::{resources, schema};

pub(crate) use shaped::Shaped;

/// One result that does not pass, and how it is answered.
pub(crate) struct Overflow<'p> {
    pub(crate) keep: &'p UserStore,
    /// The server's name.
    pub(crate) server: &'p str,
    pub(crate) caller: &'p Caller,
    pub(crate) called: &'p ToolCall,
    pub(crate) policy: &'p Policy,
    pub(crate) budget: Budget,
    pub(crate) style: Style,
    /// Whether the complete result is attached as a resource, whatever the client.
    pub(crate) attached: bool,
    /// The ceiling of the session, if it has been reached.
    pub(crate) ceiling: Option<Ceiling>,
    /// Whether the call was answered with a JSON-RPC error.
    pub(crate) is_rpc_error: bool,
    /// The query languages that a follow-up can use.
    pub(crate) languages: QueryLanguages,
    /// Whether the caller has a shell in which `tidegate query` reads the store.
    pub(crate) has_shell: bool,
}

/// Whether the text of a result is read before an answer is composed.
#[derive(Clone, Copy)]
enum Prepare {
    Read,
    Unread,
}

/// Why there is no answer.
enum Unshaped {
    /// The result cannot be read, as from a disk that fails.
    Unreadable(io::Error),
    /// The engine failed on the result.
    Panicked,
}

impl From<io::Error> for Unshaped {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error)
    }
}

/// Returns the results of two jobs on a result; the second runs on a thread of its own if that is worth it.
fn beside<A, B: Send>(
    body: &dyn Source,
    first: impl FnOnce() -> A,
    second: Option<impl FnOnce() -> B + Send>,
) -> (A, Option<B>) {
    match second {
        Some(second) if body.len() >= MIN_PARALLEL_BYTES => thread::scope(|scope| {
            let second = scope.spawn(second);
            (first(), second.join().ok())
        }),
        second => (first(), second.map(|second| second())),
    }
}

/// Runs work on a result, and turns a panic into one of its errors.
fn caught<T>(work: impl FnOnce() -> Result<T, Unshaped>) -> Result<T, Unshaped> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(Err(Unshaped::Panicked))
}

/// The size from which a result is stored on a second thread while it is read.
const MIN_PARALLEL_BYTES: u64 = 256 * 1024;

const NO_COST: Cost = Cost { tokens: Tokens(0), estimated: false, bytes: Bytes(0) };

impl Overflow<'_> {
    /// Stores the result, and answers with what fits.
    ///
    /// If the engine panics, the result is stored all the same, and the answer has a plain frame.
    pub(crate) fn shape(&self, payload: &Payload<'_>, body: &(dyn Source + Sync)) -> Shaped {
        let shape = |prepare| caught(|| self.try_shape(payload, body, prepare));
        let shaped = shape(Prepare::Read).or_else(|unshaped| match unshaped {
            Unshaped::Panicked => shape(Prepare::Unread),
            unreadable => Err(unreadable),
        });
        match shaped {
            Ok(shaped) => shaped,
            Err(Unshaped::Unreadable(error)) => Shaped::unreadable(self.caller, self.called, &error),
            Err(Unshaped::Panicked) => Shaped::failed(self.caller, self.called),
        }
    }

    /// Stores the result, and answers with all of it in a compact form; `None` if there is no such form, or if the
    /// result cannot be kept: then it passes unchanged.
    pub(crate) fn compact(&self, payload: &Payload<'_>, body: &(dyn Source + Sync)) -> Option<Shaped> {
        catch_unwind(AssertUnwindSafe(|| self.try_compact(payload, body))).ok()?.ok()?
    }

    fn try_compact(&self, payload: &Payload<'_>, body: &(dyn Source + Sync)) -> io::Result<Option<Shaped>> {
        let text = payload.joined_text();
        let prepared = Prepared::with_hints(payload, text.as_ref(), &self.policy.hints)?;
        let new = self.new_artifact(payload);
        let name = handle_name(&self.called.tool, new.id.as_str());
        let budget = self.one_channel(self.budget);
        let compacted = |memory: Option<&Opened>| {
            let kept = self.retention_note(memory);
            let handle = Handle::kept(&name, &kept).with_shell(self.has_shell && memory.is_none());
            prepared.compact(&self.request(handle, budget))
        };
        let Some(shaped) = compacted(None)? else { return Ok(None) };
        let outline = prepared.outline()?;
        let tokens = self.raw_cost(&prepared)?.tokens.0;
        let kept = self.keep.keep(&new, body, &|| Ok(UserStore::description(&outline, tokens)));
        let (shaped, stored_bytes) = match kept {
            Ok(KeptArtifact { artifact, in_memory: None }) => (Some(shaped), artifact.stored_bytes),
            Ok(KeptArtifact { in_memory: Some(memory), .. }) => (compacted(Some(&memory))?, 0),
            Err(_) => (None, 0),
        };
        let artifact = Some(new.id.to_string());
        Ok(shaped.map(|shaped| Shaped { artifact, stored_bytes, ..self.answer(shaped, "", NO_COST) }))
    }

    /// Returns what the store records of the result, with a new id.
    fn new_artifact(&self, payload: &Payload<'_>) -> NewArtifact<'_> {
        let new = self.keep.new_artifact(&self.called.tool, self.policy.ttl);
        let (arguments, call) = (self.called.arguments.as_deref(), self.call_digest(payload));
        NewArtifact { server: self.server, arguments, call, tier: self.policy.tier.level(), ..new }
    }

    /// Returns the digest by which later results of the same call find this one; `None` for errors, which are not compared.
    fn call_digest(&self, payload: &Payload<'_>) -> Option<CallDigest> {
        let is_error = self.is_rpc_error || payload.is_error == Some(true);
        let is_compared = self.policy.compare && !is_error;
        is_compared.then(|| repeat::digest(self.keep, self.server, self.caller, self.called)).flatten()
    }

    /// Finds the last stored result of the call, if the answer is to say what changed since.
    fn last_result(&self, call: Option<CallDigest>) -> Option<LastResult<'_>> {
        let is_overview = self.style == Style::Overview && self.ceiling.is_none();
        // A program, or a caller that asked for the whole result, reads the result and not the overview.
        let is_read = is_overview && !self.attached && !self.called.by_program;
        call.filter(|_| is_read).and_then(|call| LastResult::find(self.keep, &call))
    }

    /// Stores the result and answers with what fits; an error if the result was not stored.
    fn try_shape(
        &self,
        payload: &Payload<'_>,
        body: &(dyn Source + Sync),
        prepare: Prepare,
    ) -> Result<Shaped, Unshaped> {
        let text = payload.joined_text();
        let text = text.as_ref();
        let new = self.new_artifact(payload);
        let (new, id) = (&new, &new.id);
        let (described, awaited) = sync_channel(1);
        let store = move || {
            let known: OnceCell<Description> = OnceCell::new();
            let gave_up = |_| StoreError::Source(io::ErrorKind::Interrupted.into());
            self.keep.keep(new, body, &|| match known.get() {
                Some(description) => Ok(description.clone()),
                None => {
                    let description = awaited.recv().map_err(gave_up)?;
                    Ok(known.get_or_init(|| description).clone())
                }
            })
        };
        let read = move || {
            // Look it up before the description is sent: once the new result is stored, it would find itself.
            let last = self.last_result(new.call);
            let prepare = || match prepare {
                Prepare::Read => Prepared::with_hints(payload, text, &self.policy.hints),
                Prepare::Unread => Ok(Prepared::unread(payload, text)),
            };
            let (prepared, fetched) =
                beside(body, prepare, last.as_ref().map(|last| || last.fetch(body).ok()));
            let (prepared, earlier) = (prepared?, last.zip(fetched.flatten()));
            let outline = prepared.outline()?;
            let description = UserStore::description(&outline, self.raw_cost(&prepared)?.tokens.0);
            // A store that failed meanwhile needs no description. `drop` moves the sender into this closure: a panic
            // here must end the wait of the store.
            let _ = described.send(description);
            drop(described);
            // If the store fails, the answer is composed again for where the result is kept instead.
            let hints = &self.policy.hints;
            let earlier = earlier.and_then(|(last, fetched)| last.compare(&fetched, body, &outline, hints));
            let shaped = self.kept(&prepared, &outline, id, None, earlier.as_ref())?;
            Ok((prepared, outline, earlier, shaped))
        };
        let (read, stored) = if body.len() < MIN_PARALLEL_BYTES {
            (caught(read), store())
        } else {
            thread::scope(|scope| {
                let storing = scope.spawn(store);
                let read = caught(read);
                (read, storing.join().unwrap_or_else(|_| Err(StoreError::Unusable("it failed".into()))))
            })
        };
        match (read, stored) {
            (Ok((.., shaped)), Ok(KeptArtifact { artifact, in_memory: None })) => {
                Ok(Shaped { stored_bytes: artifact.stored_bytes, ..shaped })
            }
            (Ok((prepared, outline, earlier, _)), Ok(KeptArtifact { in_memory: Some(memory), .. })) => {
                let shaped =
                    caught(|| Ok(self.kept(&prepared, &outline, id, Some(&memory), earlier.as_ref())?));
                Ok(shaped.unwrap_or_else(|_| self.unsummarized(id, Some(&memory))))
            }
            (Ok((prepared, ..)), Err(error)) => Ok(self.lost(&prepared, &error)?),
            // The result was stored, but then no answer could be composed.
            (Err(_), Ok(KeptArtifact { artifact, in_memory })) => {
                let unread = Prepared::unread(payload, text);
                let plain =
                    caught(|| Ok(self.kept(&unread, &unread.outline()?, id, in_memory.as_deref(), None)?));
                let shaped = plain.unwrap_or_else(|_| self.unsummarized(id, in_memory.as_deref()));
                Ok(Shaped { stored_bytes: artifact.stored_bytes, ..shaped })
            }
            (Err(unshaped), Err(_)) => Err(unshaped),
        }
    }

    /// The answer if the result is kept, but cannot be read or handled.
    fn unsummarized(&self, id: &ArtifactId, memory: Option<&Opened>) -> Shaped {
        let (tool, query_tool) = (&self.called.tool, self.caller.query_tool);
        let (name, kept) = (handle_name(tool, id.as_str()), self.retention_note(memory));
        let message = format!(
            "{tool} did run, but tidegate failed to summarize its result. Complete result: \"{name}\" ({kept}). Read it \
             with {query_tool}; no need to repeat this call."
        );
        Shaped { artifact: Some(id.to_string()), ..Shaped::of_text(self.caller, &message) }
    }

    /// Returns what the result of the tool costs, which is counted once.
    fn raw_cost(&self, prepared: &Prepared<'_>) -> io::Result<Cost> {
        prepared.cost(&self.caller.profile.meter)
    }

    /// The answer if the result is kept under an id, in the store or in the memory that stands in for it.
    fn kept(
        &self,
        prepared: &Prepared<'_>,
        outline: &Outline,
        id: &ArtifactId,
        memory: Option<&Opened>,
        earlier: Option<&Earlier>,
    ) -> io::Result<Shaped> {
        if self.style != Style::Overview || self.ceiling.is_some() {
            return self.styled(prepared, outline, id, memory);
        }
        let name = handle_name(&self.called.tool, id.as_str());
        let kept = self.retention_note(memory);
        let linked = self.caller.profile.resource_link || self.attached;
        let link = linked.then(|| resources::link(&self.called.tool, self.policy.domain.as_deref(), id));
        let handle = Handle::kept(&name, &kept).with_shell(self.has_shell && memory.is_none());
        let shaped = self.overview(prepared, handle, &link.unwrap_or_default(), earlier)?;
        Ok(Shaped { artifact: Some(id.to_string()), ..shaped })
    }

    /// Says how long the result is kept.
    fn retention_note(&self, memory: Option<&Opened>) -> String {
        let ttl = self.policy.ttl;
        memory.map_or_else(|| self.keep.retention_note(ttl), |memory| memory.retention_note(ttl))
    }

    /// The answer in a style other than the overview, or the smallest one of any style.
    fn styled(
        &self,
        prepared: &Prepared<'_>,
        outline: &Outline,
        id: &ArtifactId,
        memory: Option<&Opened>,
    ) -> io::Result<Shaped> {
        let raw = self.raw_cost(prepared)?;
        let tool = self.called.tool.as_str();
        let payload = prepared.payload();
        let data = Dataset::new(payload.source(), outline);
        let limits = AnswerLimits { caller: self.caller, budget: self.budget, values: self.policy.limits };
        let total_size = match data.text_bytes()? {
            0 => payload.source().len(),
            bytes => bytes,
        };
        // Without a store there is nothing to seal; another answer then replaces this one.
        let store = if memory.is_none() { self.keep.open().ok() } else { None };
        let opened = memory.or(store.as_deref());
        let seal = |bytes: &[u8]| {
            opened.map_or([0; cursor::SEAL_BYTES], |opened| opened.seal(&self.keep.owner, id, bytes))
        };
        let is_error = payload.is_error == Some(true);
        let name = handle_name(tool, id.as_str());
        let kept = self.retention_note(memory);
        let exceeded = Exceeded {
            tool,
            tokens: raw.tokens.0,
            budget: self.budget.tokens.0,
            handle: Some((name.as_str(), kept.as_str())),
            query_tool: self.caller.query_tool,
        };
        let token = || {
            let bound = Bound { server: self.server, tool, who: self.keep.owner.as_str() };
            bound.token(id, self.keep.clock().now().after(self.policy.token_life), seal)
        };
        let reference = resources::uri(tool, self.policy.domain.as_deref(), id);
        let view = View::Page { number: 2, size: Some(self.policy.limits.array_items as u64) };
        let cursor = cursor::encode(&Query { view, fields: Vec::new(), position: 0 }, seal);
        let contract = Contract {
            tool,
            success: !is_error,
            reference: Some(&reference),
            cursor: Some(&cursor),
            total_size,
            fields: &self.policy.item_fields,
            has_others: !others(payload).is_empty() || data.is_surrounded()?,
        };
        let (result, text) = match (self.ceiling, self.style) {
            (Some(ceiling), style) => {
                let tool = visible_text(tool);
                let says = match is_error || self.is_rpc_error {
                    true => contract::error_words(&data)?,
                    false => format!("{} bytes", raw.bytes.0),
                };
                let (token, pointer) = (token(), id.as_str());
                let smallest = match style {
                    Style::Overview => Smallest::Words { tool: &tool, says: &says, pointer, ceiling },
                    Style::Probe => Smallest::Probe { total_size, token: &token },
                    Style::Contract => Smallest::Contract { contract: &contract, says: &says },
                    Style::Error => Smallest::Error { exceeded, pointer, ceiling },
                };
                smallest.result(limits, is_error)
            }
            (None, style) => {
                let text = match style {
                    Style::Probe => probe::envelope(&data, total_size, &token(), limits)?,
                    Style::Contract => contract.text(&data, limits)?,
                    Style::Error | Style::Overview => exceeded.text(),
                };
                let result = limits.result(&text, is_error);
                let result = match style {
                    Style::Contract => self.with_others(result, payload, raw),
                    _ => result,
                };
                (result, text)
            }
        };
        let sent = Cost {
            tokens: self.caller.profile.meter.count(&text),
            estimated: raw.estimated,
            bytes: Bytes(result.len() as u64),
        };
        let (step, artifact) = (self.style.name(), Some(id.to_string()));
        Ok(Shaped { result, step, raw, sent, artifact, stored_bytes: 0 })
    }

    /// Returns a contract with the blocks of the result that are not text, if all of them fit beside it.
    fn with_others(&self, contract: Vec<u8>, payload: &Payload<'_>, raw: Cost) -> Vec<u8> {
        let tokens = self.caller.profile.meter.count(&String::from_utf8_lossy(&contract)) + raw.tokens;
        let bytes = raw.bytes.0 + contract.len() as u64;
        if tokens > self.budget.tokens || bytes > self.budget.bytes.0 {
            return contract;
        }
        let blocks = others(payload).into_iter().filter_map(|block| block.span.read(payload.source()).ok());
        blocks.fold(contract, |result, block| raw::added(&result, &["content"], &block))
    }

    /// The answer if the result could not be stored.
    fn lost(&self, prepared: &Prepared<'_>, error: &StoreError) -> io::Result<Shaped> {
        let raw = self.raw_cost(prepared)?;
        let why = causes(error);
        match self.policy.on_store_failure {
            OnStoreFailure::Overview => self.overview(prepared, Handle::lost(&why), "", None),
            OnStoreFailure::Error => {
                let tool = &self.called.tool;
                let message = format!(
                    "{tool} did run and returned {} bytes, which could not be kept: {why}. Call {tool} again only if it \
                     is safe to repeat.",
                    raw.bytes
                );
                Ok(Shaped { raw, ..Shaped::of_text(self.caller, &message) })
            }
        }
    }

    /// The overview, with a block beside its text if there is room for it.
    fn overview(
        &self,
        prepared: &Prepared<'_>,
        handle: Handle<'_>,
        beside: &str,
        earlier: Option<&Earlier>,
    ) -> io::Result<Shaped> {
        let (beside, reserved) = self.affordable(beside);
        let budget = self.one_channel(Budget {
            tokens: self.budget.tokens - reserved.tokens,
            bytes: self.budget.bytes - reserved.bytes,
        });
        let request = self.request(handle, budget);
        let shaped = match earlier {
            Some(earlier) => prepared.shape_since(&request, earlier)?,
            None => prepared.shape(&request)?,
        };
        Ok(self.answer(shaped, beside, reserved))
    }

    /// Returns whether the text is sent in both channels of a result.
    fn sends_twice(&self) -> bool {
        self.caller.profile.output_schema == OutputSchema::Union
    }

    /// Returns the part of a budget that one channel may use: a text that is sent in two is read in one of them.
    fn one_channel(&self, budget: Budget) -> Budget {
        match self.sends_twice() {
            true => budget.with_bytes(Bytes(budget.bytes.0.saturating_sub(STRUCTURED_BYTES) / 2)),
            false => budget,
        }
    }

    fn request<'r>(&'r self, handle: Handle<'r>, budget: Budget) -> Request<'r> {
        Request {
            tool: &self.called.tool,
            arguments: self.called.arguments.as_deref(),
            handle: handle.with_query_tool(self.caller.query_tool).with_languages(self.languages),
            budget,
            meter: self.caller.profile.meter,
            fill: Fill::Useful,
        }
    }

    /// Returns what the engine wrote as it is sent, with a block beside its text.
    fn answer(&self, shaped: shape::Shaped, beside: &str, reserved: Cost) -> Shaped {
        let mut result = shaped.result.unwrap_or_default();
        if !beside.is_empty() {
            result = raw::added(&result, &["content"], beside.as_bytes());
        }
        if self.sends_twice() {
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
        Shaped { result, step, raw: shaped.raw, sent, artifact: None, stored_bytes: 0 }
    }

    /// Returns a block beside the text with its cost; an empty one if the budget is too small for it.
    fn affordable<'b>(&self, beside: &'b str) -> (&'b str, Cost) {
        let cost = Cost {
            tokens: self.caller.profile.meter.count(beside),
            estimated: false,
            bytes: Bytes(beside.len() as u64 + 1),
        };
        let small = self.budget.tokens - cost.tokens < Budget::MIN_TOKENS
            || self.budget.bytes - cost.bytes < Budget::MIN_BYTES;
        if beside.is_empty() || small { ("", NO_COST) } else { (beside, cost) }
    }
}

/// Returns the blocks of a result that have no text.
fn others<'p>(payload: &'p Payload<'_>) -> Vec<&'p Block> {
    payload.blocks.iter().filter(|block| block.text_span().is_none()).collect()
}

/// Bytes of the JSON around the text in `structuredContent`.
const STRUCTURED_BYTES: u64 = 40;

#[cfg(test)]
mod tests;
