//! `store -> shape -> respond`: one result that does not pass, on its way to the caller.
//!
//! The result is stored before its answer leaves. Storing takes about as long as reading and composing, so for large
//! results both run at the same time. The result is counted once; the count goes into the store, the ledger and the
//! frame of the answer. Whatever fails, the answer says that the tool did run.

use std::cell::OnceCell;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::sync_channel;
use std::thread;

use tidegate_core::budget::Budget;
use tidegate_core::envelope::{Handle, handle_name};
use tidegate_core::measure::Cost;
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::shape::{Prepared, Request, Step};
use tidegate_core::source::Source;
use tidegate_core::view::{Dataset, Query, View, cursor};
use tidegate_core::{Bytes, Tokens};
use tidegate_store::{ArtifactId, Description, StoreError};

use crate::caller::Caller;
use crate::error::causes;
use crate::gate::ToolCall;
use crate::policy::{OnStoreFailure, Policy};
use crate::profile::OutputSchema;
use crate::raw;
use crate::style::contract::Contract;
use crate::style::error::Exceeded;
use crate::style::probe::{self, Bound};
use crate::style::{AnswerLimits, Style};
use crate::user_store::{KeptArtifact, Opened, UserStore};
use crate::{reply, resources, schema};

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
    /// The ceiling of the session, where it has been reached.
    pub(crate) ceiling: Option<u64>,
}

/// The answer that is sent instead of a result, and what the ledger records of it.
pub(crate) struct Shaped {
    /// The serialized answer.
    pub(crate) result: Vec<u8>,
    pub(crate) step: &'static str,
    /// What the result of the tool costs.
    pub(crate) raw: Cost,
    /// What the answer costs.
    pub(crate) sent: Cost,
    pub(crate) artifact: Option<String>,
    /// Bytes that the result takes in the store.
    pub(crate) stored_bytes: u64,
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

/// Runs work on a result, whose panic is one of its errors.
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

    /// Stores the result and answers with what fits; an error if the result was not stored.
    fn try_shape(
        &self,
        payload: &Payload<'_>,
        body: &(dyn Source + Sync),
        prepare: Prepare,
    ) -> Result<Shaped, Unshaped> {
        let text = payload.joined_text();
        let text = text.as_ref();
        let mut new = self.keep.new_artifact(&self.called.tool, self.policy.ttl);
        (new.server, new.arguments) = (self.server, self.called.arguments.as_deref());
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
            let prepared = match prepare {
                Prepare::Read => Prepared::with_hints(payload, text, &self.policy.hints)?,
                Prepare::Unread => Prepared::unread(payload, text),
            };
            let outline = prepared.outline()?;
            let description = UserStore::description(&outline, self.raw_cost(&prepared)?.tokens.0);
            // A store that failed meanwhile needs no description. `drop` moves the sender into this closure: a panic
            // here must end the wait of the store.
            let _ = described.send(description);
            drop(described);
            // If the store fails, the answer is composed again for where the result is kept instead.
            let shaped = self.kept(&prepared, &outline, id, None)?;
            Ok((prepared, outline, shaped))
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
            (Ok((prepared, outline, _)), Ok(KeptArtifact { in_memory: Some(memory), .. })) => {
                let shaped = caught(|| Ok(self.kept(&prepared, &outline, id, Some(&memory))?));
                Ok(shaped.unwrap_or_else(|_| self.unsummarized(id, Some(&memory))))
            }
            (Ok((prepared, ..)), Err(error)) => Ok(self.lost(&prepared, &error)?),
            // The result was stored, but then no answer could be composed.
            (Err(_), Ok(KeptArtifact { artifact, in_memory })) => {
                let unread = Prepared::unread(payload, text);
                let plain =
                    caught(|| Ok(self.kept(&unread, &unread.outline()?, id, in_memory.as_deref())?));
                let shaped = plain.unwrap_or_else(|_| self.unsummarized(id, in_memory.as_deref()));
                Ok(Shaped { stored_bytes: artifact.stored_bytes, ..shaped })
            }
            (Err(unshaped), Err(_)) => Err(unshaped),
        }
    }

    /// The answer where the result is kept, but cannot be read or handled.
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

    /// The answer where the result is kept under an id, in the store or in the memory that stands in for it.
    fn kept(
        &self,
        prepared: &Prepared<'_>,
        outline: &Outline,
        id: &ArtifactId,
        memory: Option<&Opened>,
    ) -> io::Result<Shaped> {
        if self.style != Style::Overview {
            return self.styled(prepared, outline, id, memory);
        }
        let name = handle_name(&self.called.tool, id.as_str());
        let kept = self.retention_note(memory);
        let linked = self.caller.profile.resource_link || self.attached;
        let link = linked.then(|| resources::link(&self.called.tool, self.policy.domain.as_deref(), id));
        let handle = Handle::kept(&name, &kept);
        // There is room for one block: the reason for a small answer goes before the link, which the text has anyway.
        let beside = self.ceiling.map(ceiling_block).or(link).unwrap_or_default();
        self.overview(prepared, handle, &beside, Some(id.to_string()))
    }

    /// Says for how long the result is kept.
    fn retention_note(&self, memory: Option<&Opened>) -> String {
        let ttl = self.policy.ttl;
        memory.map_or_else(|| self.keep.retention_note(ttl), |memory| memory.retention_note(ttl))
    }

    /// The answer in another style than the overview.
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
        let text = match self.style {
            Style::Probe => {
                let bound = Bound { server: self.server, tool, who: &self.caller.who };
                let expires = self.keep.clock().now().after(self.policy.token_life);
                probe::envelope(&data, total_size, &bound.token(id, expires, seal), limits)?
            }
            Style::Contract => {
                let reference = resources::uri(tool, self.policy.domain.as_deref(), id);
                let view = View::Page { number: 2, size: Some(self.policy.limits.array_items as u64) };
                let cursor = cursor::encode(&Query { view, fields: Vec::new(), position: 0 }, seal);
                let (reference, cursor) = (Some(reference.as_str()), Some(cursor.as_str()));
                let success = payload.is_error != Some(true);
                Contract { tool, success, reference, cursor, total_size }.text(&data, limits)?
            }
            Style::Error | Style::Overview => {
                let name = handle_name(tool, id.as_str());
                let kept = self.retention_note(memory);
                let handle = Some((name.as_str(), kept.as_str()));
                let (tokens, budget, query_tool) =
                    (raw.tokens.0, self.budget.tokens.0, self.caller.query_tool);
                Exceeded { tool, tokens, budget, handle, query_tool }.text()
            }
        };
        let mut result = limits.result(&text, payload.is_error == Some(true));
        if let Some(ceiling) = self.ceiling {
            result = raw::added(&result, &["content"], ceiling_block(ceiling).as_bytes());
        }
        let sent = Cost {
            tokens: self.caller.profile.meter.count(&text),
            estimated: raw.estimated,
            bytes: Bytes(result.len() as u64),
        };
        let (step, artifact) = (self.style.name(), Some(id.to_string()));
        Ok(Shaped { result, step, raw, sent, artifact, stored_bytes: 0 })
    }

    /// The answer where the result could not be stored.
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

    /// The overview, with a block beside its text where there is room for it.
    fn overview(
        &self,
        prepared: &Prepared<'_>,
        handle: Handle<'_>,
        beside: &str,
        artifact: Option<String>,
    ) -> io::Result<Shaped> {
        let meter = self.caller.profile.meter;
        let union = self.caller.profile.output_schema == OutputSchema::Union;
        let (beside, reserved) = self.affordable(beside);
        let mut budget = Budget {
            tokens: self.budget.tokens - reserved.tokens,
            bytes: self.budget.bytes - reserved.bytes,
        };
        if union {
            // The text is sent twice, in two channels, but a model reads one of them.
            budget.bytes = Bytes(budget.bytes.0.saturating_sub(STRUCTURED_BYTES) / 2);
        }
        let shaped = prepared.shape(&Request {
            tool: &self.called.tool,
            arguments: self.called.arguments.as_deref(),
            handle: handle.with_query_tool(self.caller.query_tool),
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
        Ok(Shaped { result, step, raw: shaped.raw, sent, artifact, stored_bytes: 0 })
    }

    /// Returns a block beside the text with its cost; nothing where the budget is too small for it.
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

/// The block that says why an answer is so small.
fn ceiling_block(ceiling: u64) -> String {
    let text =
        format!("This session has been sent more than {ceiling} bytes: answers are as small as they can be.");
    serde_json::json!({ "type": "text", "text": text }).to_string()
}

/// Bytes of the JSON around the text in `structuredContent`.
const STRUCTURED_BYTES: u64 = 40;

impl Shaped {
    /// The answer where the result cannot be read any more, as from a disk that fails.
    pub(crate) fn unreadable(caller: &Caller, called: &ToolCall, error: &dyn std::error::Error) -> Self {
        let tool = &called.tool;
        let why = causes(error);
        let message = format!(
            "{tool} did run, but its result could not be read: {why}. Call {tool} again only if it is safe to repeat."
        );
        Self::of_text(caller, &message)
    }

    /// The answer where the engine failed.
    pub(crate) fn failed(caller: &Caller, called: &ToolCall) -> Self {
        let tool = &called.tool;
        let message = format!(
            "{tool} did run, but tidegate failed on its result. Call {tool} again only if it is safe to repeat, with \
             arguments that give a smaller result."
        );
        Self::of_text(caller, &message)
    }

    fn of_text(caller: &Caller, message: &str) -> Self {
        let result = reply::text_result(caller, message, true);
        let sent = Cost {
            tokens: caller.profile.meter.count(message),
            estimated: caller.profile.meter.is_estimate(),
            bytes: Bytes(result.len() as u64),
        };
        Self { result, step: "error", raw: NO_COST, sent, artifact: None, stored_bytes: 0 }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use serde_json::Value;
    use tidegate_store::ArtifactStore;
    use tidegate_testkit::{make, sample};

    use super::*;
    use crate::policy::{Policies, Rules};
    use crate::user_store::StoreLocation;

    /// Shapes a result in a style, and returns the answer with what is in the store then.
    fn shape(place: StoreLocation, rules: Rules, style: Style, body: &[u8]) -> (Shaped, u64) {
        shape_in(&UserStore::of_user(place), rules, style, body)
    }

    fn shape_in(keep: &UserStore, rules: Rules, style: Style, body: &[u8]) -> (Shaped, u64) {
        shape_payload(keep, rules, style, &Payload::read_result(&body).unwrap(), body)
    }

    fn shape_payload(
        keep: &UserStore,
        rules: Rules,
        style: Style,
        payload: &Payload<'_>,
        body: &[u8],
    ) -> (Shaped, u64) {
        let caller = Caller::unknown(Vec::new());
        let called = ToolCall { tool: "list".into(), ..ToolCall::default() };
        let policy = Policies::of_defaults(rules).of_tool("list");
        let overflow = Overflow {
            keep,
            server: "test",
            caller: &caller,
            called: &called,
            policy: &policy,
            budget: policy.budget(&caller.profile),
            style,
            attached: false,
            ceiling: None,
        };
        let shaped = overflow.shape(payload, &body);
        let stored = keep.open().map_or(0, |opened| opened.store.usage().unwrap().artifacts);
        (shaped, stored)
    }

    fn text(shaped: &Shaped) -> String {
        let result: Value = serde_json::from_slice(&shaped.result).unwrap();
        result["content"][0]["text"].as_str().unwrap().to_owned()
    }

    /// A place where no store can be opened: a folder below a file.
    fn broken() -> (tempfile::NamedTempFile, StoreLocation) {
        let file = tempfile::NamedTempFile::new().unwrap();
        let place = StoreLocation::Folder(Some(file.path().join("data")));
        (file, place)
    }

    #[test]
    fn every_style_stores_the_result_and_fits() {
        // The second is stored on a thread of its own.
        for issues in [100, 3000] {
            let body = make::text_result(&sample::issues(issues));
            assert_eq!(body.len() as u64 >= MIN_PARALLEL_BYTES, issues > 100);
            for style in [Style::Overview, Style::Probe, Style::Contract, Style::Error] {
                let (shaped, stored) = shape(StoreLocation::Memory, Rules::default(), style, &body);
                assert_eq!((shaped.step, stored), (style.name(), 1));
                assert!(shaped.artifact.is_some() && shaped.stored_bytes > 0);
                assert!(shaped.sent.tokens.0 <= 2000 && shaped.result.len() <= 10_240);
            }
        }
    }

    #[test]
    fn hidden_characters_are_escaped_in_every_style() {
        let rows: Vec<Value> = (0..600)
            .map(|id| serde_json::json!({"id": id, "name": format!("a\u{202e}b\u{200b} {id}")}))
            .collect();
        let body = make::text_result(&Value::from(rows).to_string());
        for style in [Style::Overview, Style::Probe, Style::Contract] {
            let (shaped, _) = shape(StoreLocation::Memory, Rules::default(), style, &body);
            let text = text(&shaped);
            assert!(!text.contains(['\u{202e}', '\u{200b}']) && text.contains("202e"), "{text}");
        }
    }

    /// How a source fails.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Fault {
        PanicOnce,
        /// Every further read fails, as after a disk was lost.
        Errors,
    }

    /// A source that fails after some reads.
    struct Failing<'b> {
        bytes: &'b [u8],
        fault: Fault,
        /// How many reads are left until it fails; negative once it has failed.
        left: AtomicI64,
    }

    impl Source for Failing<'_> {
        fn len(&self) -> u64 {
            self.bytes.len() as u64
        }

        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
            match (self.fault, self.left.fetch_sub(1, Ordering::Relaxed)) {
                (Fault::PanicOnce, 0) => panic!("the engine failed"),
                (Fault::Errors, ..=0) => Err(io::Error::other("the disk failed")),
                _ => (&self.bytes).read_at(offset, buffer),
            }
        }
    }

    /// Shapes a result whose source fails after some reads; also returns how many reads were left.
    fn shape_failing(body: &[u8], fault: Fault, reads: i64) -> (Shaped, u64, i64) {
        let source = Failing { bytes: body, fault, left: AtomicI64::new(i64::MAX) };
        let payload = Payload::read_result(&source).unwrap();
        source.left.store(reads, Ordering::Relaxed);
        let keep = UserStore::of_user(StoreLocation::Memory);
        let (shaped, stored) = shape_payload(&keep, Rules::default(), Style::Overview, &payload, body);
        (shaped, stored, source.left.load(Ordering::Relaxed))
    }

    #[test]
    fn a_result_on_which_the_engine_panics_is_stored() {
        for issues in [100, 3000] {
            let body = make::text_result(&sample::issues(issues));
            let (shaped, stored, _) = shape_failing(&body, Fault::PanicOnce, 0);
            assert_eq!((shaped.step, stored), ("overview", 1));
            let text = text(&shaped);
            assert!(text.starts_with("list returned a text that tidegate failed to summarize ("), "{text}");
            assert!(
                text.contains("Complete result: \"list-") && text.contains("\"lines\":\"1-40\""),
                "{text}"
            );
        }
    }

    /// Whatever is done when a result cannot be stored: it is kept in memory first, in every style.
    #[test]
    fn a_result_that_cannot_be_stored_is_kept_in_memory() {
        for issues in [100, 3000] {
            let body = make::text_result(&sample::issues(issues));
            let (_file, place) = broken();
            let rules = Rules { on_store_failure: Some(OnStoreFailure::Error), ..Rules::default() };
            for style in [Style::Overview, Style::Probe, Style::Contract, Style::Error] {
                let keep = UserStore::of_user(place.clone());
                let (shaped, _) = shape_in(&keep, rules.clone(), style, &body);
                assert_eq!(shaped.step, style.name());
                assert!(shaped.sent.tokens.0 <= 2000 && shaped.result.len() <= 10_240);
                let id = ArtifactId::parse(&shaped.artifact.clone().unwrap()).unwrap();
                let opened = keep.open_for(&id).unwrap();
                let source = keep.stored(&opened, &id).unwrap();
                let source: &dyn Source = &source;
                assert_eq!(tidegate_core::source::Span::whole(source).read(source).unwrap(), body);
                if matches!(style, Style::Overview | Style::Error) {
                    let note = "kept in memory 24 h, or until this server exits";
                    assert!(text(&shaped).contains(note), "{}", text(&shaped));
                }
            }
        }
    }

    #[test]
    fn a_result_that_can_be_kept_nowhere_is_answered_as_the_policy_says() {
        let body = make::text_result(&sample::issues(100));
        let (_file, place) = broken();
        let keep = UserStore::of_user(place).with_memory_limit(1000);
        for style in [Style::Overview, Style::Probe, Style::Contract, Style::Error] {
            let (shaped, _) = shape_in(&keep, Rules::default(), style, &body);
            assert_eq!((shaped.step, &shaped.artifact), ("overview", &None));
            assert!(text(&shaped).contains("could not be kept"), "{}", text(&shaped));
        }
        let rules = Rules { on_store_failure: Some(OnStoreFailure::Error), ..Rules::default() };
        let (shaped, _) = shape_in(&keep, rules, Style::Overview, &body);
        assert_eq!(shaped.step, "error");
        assert!(text(&shaped).starts_with("list did run and returned"), "{}", text(&shaped));
        assert!(shaped.raw.bytes.0 > 0);
    }

    /// Whenever its source fails, a result is stored once and its handle is named, or nothing is said about what is kept.
    #[test]
    fn an_answer_claims_what_is_true_whatever_failed() {
        for issues in [100, 3000] {
            let body = make::text_result(&sample::issues(issues));
            const MANY: i64 = 1 << 40;
            let reads = MANY - shape_failing(&body, Fault::Errors, MANY).2;
            // Composing reads least, and last.
            let last = (reads - 20).max(0)..reads;
            for at in [0, reads / 4, reads / 2].into_iter().chain(last) {
                for fault in [Fault::PanicOnce, Fault::Errors] {
                    let (shaped, stored, _) = shape_failing(&body, fault, at);
                    let (text, context) = (text(&shaped), format!("{fault:?} at read {at} of {reads}"));
                    assert!(stored <= 1, "{context}: stored {stored} times");
                    assert_eq!(shaped.artifact.is_some(), stored == 1, "{context}: {text}");
                    assert_eq!(text.contains("Complete result: \"list-"), stored == 1, "{context}: {text}");
                    assert!(text.starts_with("list did run, but ") || stored == 1, "{context}: {text}");
                    assert!(
                        !text.contains("not kept") && !text.contains("Nothing was kept"),
                        "{context}: {text}"
                    );
                    assert!(fault == Fault::Errors || stored == 1, "{context}: {text}");
                }
            }
        }
    }
}
