//! `follow-up -> store -> view -> respond`: parts of kept results, from the store and never from the tool.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Map, Value, json};
use tidegate_core::budget::Budget;
use tidegate_core::measure::Cost;
use tidegate_core::view::{Answer, Engines, Query, View};
use tidegate_core::{Bytes, Tokens};
use tidegate_query::Queries;
use tidegate_store::{Artifact, ArtifactId, Call, StoreError};

use super::{Gate, LIST, REFUSED, sent_cost};
use crate::caller::Caller;
use crate::error::{FollowUpError, MAX_MESSAGE_CHARS, RpcError, bounded};
use crate::exact::ReadPlan;
use crate::follow_up::FollowUp;
use crate::kept_result::KeptResult;
use crate::other_results::{OtherResults, other_names};
use crate::reply;
use crate::resources::{self, Address};
use crate::session::MAX_SMALLEST_RESULT;
use crate::user_store::{Opened, UserStore};

/// A part of a kept result that was read, for the ledger.
struct AnsweredPart {
    artifact: Artifact,
    view: &'static str,
    budget: Budget,
    /// Tokens of what was read, if they are known.
    tokens: Option<Tokens>,
}

impl Gate {
    /// Answers a call of our tool.
    pub fn query(&self, caller: &Caller, arguments: Option<&[u8]>) -> Vec<u8> {
        let started = Instant::now();
        let read: Result<Map<String, Value>, _> = serde_json::from_slice(arguments.unwrap_or(b"{}"));
        let follow_up = match read {
            Err(_) => Err("the arguments are not an object; give at least {\"id\": ...}".into()),
            Ok(arguments) => FollowUp::read(&arguments, self.languages()).map_err(|error| error.to_string()),
        };
        if follow_up.as_ref().is_ok_and(FollowUp::is_list) {
            return self.list_result(caller, started);
        }
        let answer =
            follow_up.and_then(|follow_up| self.answer(caller, follow_up).map_err(|error| error.to_string()));
        let answer = answer.and_then(|(part, answer)| {
            let (result, policy) = (reply::part_result(caller, &answer), self.policy(&part.artifact.tool));
            match self.admit(caller, &policy, result.len() as u64) {
                true => Ok((part, result)),
                false => Err(FollowUpError::at_ceiling(&part.artifact, &policy).to_string()),
            }
        });
        match answer {
            Err(message) => {
                let say = |message: &str| format!("{}: {message}. Nothing was run.", caller.query_tool);
                let (_, result) =
                    self.refuse(caller, caller.query_tool, |chars| say(&bounded(&message, chars)));
                let sent = sent_cost(caller, &result);
                let call = self.entry(caller, caller.query_tool, "view", (sent, sent));
                self.note(Call { view: Some(REFUSED.into()), ..call }, started);
                result
            }
            Ok((part, result)) => {
                self.note_view(caller, part, sent_cost(caller, &result), started);
                result
            }
        }
    }

    /// Answers a call of our tool without arguments: lists the stored results of this session.
    fn list_result(&self, caller: &Caller, started: Instant) -> Vec<u8> {
        let tool = caller.query_tool;
        let mut result = reply::text_result(caller, &self.kept_list(caller), false);
        if !self.admit(caller, &self.policy(tool), result.len() as u64) {
            let say = |chars| bounded(&format!("{tool}: this session has no bytes left for a list"), chars);
            (_, result) = self.refuse(caller, tool, say);
        }
        let sent = sent_cost(caller, &result);
        let call = self.entry(caller, tool, "view", (sent, sent));
        self.note(Call { view: Some(LIST.into()), ..call }, started);
        result
    }

    /// Returns an answer that refuses a call, and its message, which `message` writes with a number of characters: fewer
    /// if the session has reached its ceiling.
    pub(crate) fn refuse(
        &self,
        caller: &Caller,
        tool: &str,
        message: impl Fn(usize) -> String,
    ) -> (String, Vec<u8>) {
        let policy = self.policy(tool);
        let made = |characters| {
            let message = message(characters);
            let result = reply::text_result(caller, &message, true);
            (message, result)
        };
        let (message, result) = made(MAX_MESSAGE_CHARS);
        if self.admit(caller, &policy, result.len() as u64) {
            return (message, result);
        }
        let mut sizes = [200, 100, 50].into_iter().map(made);
        let small = sizes.find(|(_, result)| result.len() <= MAX_SMALLEST_RESULT);
        let (message, result) = small.unwrap_or_else(|| made(0));
        self.count_sent(caller, result.len() as u64);
        (message, result)
    }

    /// Returns whether a resource address is one of ours: it has an id of ours, or a name that was chosen for something
    /// that this caller can read.
    pub fn owns(&self, caller: &Caller, uri: &str) -> bool {
        resources::is_ours(uri)
            || Address::parse(uri).is_some() && self.find(&self.keep_of(caller), uri).is_ok()
    }

    /// Returns whether this caller can read what is kept under a resource address.
    pub fn keeps(&self, caller: &Caller, uri: &str) -> bool {
        let address = uri.split_once('?').map_or(uri, |(address, _)| address);
        let keep = self.keep_of(caller);
        self.find(&keep, address)
            .is_ok_and(|id| keep.open_for(&id).is_ok_and(|opened| keep.stored(&opened, &id).is_ok()))
    }

    /// Returns the id of a kept result by any of its names. What has a name of its own is found under its address alone.
    fn find(&self, keep: &UserStore, name: &str) -> Result<ArtifactId, StoreError> {
        if let Some(address) = Address::parse(name) {
            let domain_of = |artifact: &Artifact| {
                resources::domain(&artifact.tool, self.policy(&artifact.tool).domain.as_deref())
            };
            return keep.find(&address, &self.setup.server, domain_of);
        }
        let id = ArtifactId::parse(name).ok_or(StoreError::NotFound)?;
        if id.may_be_of_name() {
            let opened = keep.open_for(&id)?;
            let source = keep.stored(&opened, &id)?;
            if keep.name_of(&opened, source.artifact()).is_some() {
                return Err(StoreError::NotFound);
            }
        }
        Ok(id)
    }

    /// Returns the data that is kept at an address, for a server that reads what it stored itself.
    ///
    /// # Errors
    ///
    /// Nothing is kept at the address, or the store cannot be used.
    pub fn find_for(&self, caller: &Caller, uri: &str) -> Result<ArtifactId, StoreError> {
        self.find(&self.keep_of(caller), uri)
    }

    /// Returns the address of a kept result, which its answer has and under which it is listed.
    pub(super) fn uri_of(&self, keep: &UserStore, artifact: &Artifact) -> String {
        let (id, opened) = (&artifact.id, keep.open_for(&artifact.id).ok());
        if let Some(name) = opened.as_ref().and_then(|opened| keep.name_of(opened, artifact)) {
            return Address { domain: &artifact.tool, id: &name }.to_string();
        }
        let policy = self.policy(&artifact.tool);
        let is_made_here = opened.is_some_and(|opened| keep.is_made_here(&opened, artifact));
        resources::uri(&artifact.tool, policy.domain.as_deref().filter(|_| !is_made_here), id)
    }

    /// Reads a resource whose address is one of ours: the part that its query string asks for.
    ///
    /// Bytes are returned exactly. An overview, or the beginning of the result, says which reads return the whole result.
    ///
    /// # Errors
    ///
    /// A result that does not exist, or a view that does not apply to it.
    pub fn read_resource(&self, caller: &Caller, uri: &str) -> Result<Vec<u8>, RpcError> {
        let started = Instant::now();
        let read = resources::follow_up(uri, self.languages())
            .and_then(|follow_up| self.read(caller, follow_up, uri));
        let read = read.and_then(|(part, contents)| {
            let meter = &caller.profile.meter;
            let count = || meter.count(contents["text"].as_str().unwrap_or_default());
            let (tokens, estimated) = (part.tokens.unwrap_or_else(count), meter.is_estimate());
            let result = reply::own_list(caller, json!({ "contents": [contents] }));
            let policy = self.policy(&part.artifact.tool);
            let bytes = Bytes(result.len() as u64);
            match self.admit(caller, &policy, bytes.0) {
                true => Ok((part, result, Cost { tokens, estimated, bytes })),
                false => Err(FollowUpError::at_ceiling(&part.artifact, &policy)),
            }
        });
        let (part, result, sent) = read.map_err(|error| {
            let mut refused = resources::refused(caller, &error);
            let (message, _) =
                self.refuse(caller, caller.query_tool, |chars| bounded(&refused.message, chars));
            refused.message = message;
            refused
        })?;
        self.note_view(caller, part, sent, started);
        Ok(result)
    }

    fn read(
        &self,
        caller: &Caller,
        follow_up: FollowUp,
        uri: &str,
    ) -> Result<(AnsweredPart, Value), FollowUpError> {
        let FollowUp { id, cursor, arguments, max_tokens } = follow_up;
        self.with_kept(caller, &id, |kept| {
            let query = kept.query(cursor.as_deref(), arguments)?;
            let most = kept.budget(max_tokens, &Query::new(View::Full), &caller.profile)?;
            let plan = ReadPlan::new(kept, most);
            let is_whole = matches!(query.view, View::Summary | View::Full);
            let is_exact = match query.view {
                View::Range { .. } => cursor.is_none(),
                _ => is_whole && caller.profile.program && plan.is_one_read(),
            };
            if is_exact {
                let read = plan.read(kept, uri, &query.view, &caller.profile.meter)?;
                let part = AnsweredPart::new(kept, &query, most);
                return Ok((AnsweredPart { tokens: Some(read.cost.tokens), ..part }, read.contents));
            }
            let (sentence, meta) = (plan.sentence(), plan.meta());
            let beside = if is_whole { format!("{uri}{sentence}{meta}") } else { uri.to_owned() };
            let (part, answer) = self.part(caller, kept, &query, max_tokens, &beside)?;
            let mut contents = json!({ "uri": uri, "mimeType": "text/plain", "text": answer.text });
            if is_whole && (query.view == View::Summary || answer.next.is_some()) {
                contents["text"] = format!("{}\n{sentence}", answer.text).into();
                contents["_meta"] = meta;
            }
            Ok((part, contents))
        })
    }

    /// Returns the tool that a kept result of a caller came from, by any of its names, and the tool that stored it, if a
    /// tool did.
    pub fn tools_of(&self, caller: &Caller, name: &str) -> Option<(String, Option<String>)> {
        let keep = self.keep_of(caller);
        let id = self.find(&keep, name).ok()?;
        let opened = keep.open_for(&id).ok()?;
        let source = keep.stored(&opened, &id).ok()?;
        Some((source.artifact().tool.clone(), keep.maker(&opened, &id)))
    }

    /// Returns the names of all results that a call of our tool reads: the one in `id`, and those that its query names.
    pub fn names_read(&self, caller: &Caller, arguments: &[u8]) -> Vec<String> {
        let arguments: Map<String, Value> = serde_json::from_slice(arguments).unwrap_or_default();
        // Arguments that cannot be read are refused when the call is answered.
        let Ok(follow_up) = FollowUp::read(&arguments, self.languages()) else { return Vec::new() };
        let FollowUp { id, cursor, arguments, .. } = follow_up;
        let others = self.with_kept(caller, &id, |kept| {
            let query = kept.query(cursor.as_deref(), arguments)?;
            Ok(other_names(&query, kept)?)
        });
        let about = (!id.is_empty()).then_some(id);
        about.into_iter().chain(others.unwrap_or_default()).collect()
    }

    /// Answers a follow-up.
    fn answer(&self, caller: &Caller, follow_up: FollowUp) -> Result<(AnsweredPart, Answer), FollowUpError> {
        let FollowUp { id, cursor, arguments, max_tokens } = follow_up;
        self.with_kept(caller, &id, |kept| {
            let query = kept.query(cursor.as_deref(), arguments)?;
            self.part(caller, kept, &query, max_tokens, "")
        })
    }

    /// Opens a kept result by any of its names, and reads from it.
    pub(super) fn with_kept<T>(
        &self,
        caller: &Caller,
        name: &str,
        read: impl FnOnce(&KeptResult<'_>) -> Result<T, FollowUpError>,
    ) -> Result<T, FollowUpError> {
        let (id, opened) = self.locate(caller, name)?;
        let kept = self.open_kept(caller, name, &id, &opened)?;
        match self.ceiling(caller, kept.policy()) {
            Some(ceiling) if ceiling.is_reached() => {
                Err(FollowUpError::at_ceiling(kept.artifact(), kept.policy()))
            }
            _ => read(&kept),
        }
    }

    /// Returns the id of a stored result by any form of its name, and the open store that holds it.
    pub(crate) fn locate(
        &self,
        caller: &Caller,
        name: &str,
    ) -> Result<(ArtifactId, Arc<Opened>), FollowUpError> {
        let keep = &*self.keep_of(caller);
        let located = self.find(keep, name).and_then(|id| keep.open_for(&id).map(|opened| (id, opened)));
        located.map_err(|error| FollowUpError::of_store(name, &error))
    }

    /// Opens a stored result, if the caller may read it.
    pub(crate) fn open_kept<'k>(
        &self,
        caller: &Caller,
        name: &str,
        id: &ArtifactId,
        opened: &'k Arc<Opened>,
    ) -> Result<KeptResult<'k>, FollowUpError> {
        let keep = &*self.keep_of(caller);
        let kept = KeptResult::open(keep, opened, id, |artifact| self.policy(&artifact.tool));
        match kept {
            Ok(kept) if self.may_read(caller, kept.artifact()) => Ok(kept),
            // A caller that may not read a result learns nothing about it.
            Ok(_) => Err(FollowUpError::of_store(name, &StoreError::NotFound)),
            Err(error) => Err(FollowUpError::of_store(name, &error)),
        }
    }

    /// Runs `read` with engines that can also read the other results that a query names.
    pub(crate) fn with_engines<T>(
        &self,
        caller: &Caller,
        kept: &KeptResult<'_>,
        query: &Query,
        read: impl FnOnce(&dyn Engines) -> Result<T, FollowUpError>,
    ) -> Result<T, FollowUpError> {
        self.with_queries(&self.setup.engines, caller, kept, query, |_, engines| read(engines))
    }

    /// Runs `read` with engines for a query, which have the other results that it names, and with those results.
    pub(super) fn with_queries<T>(
        &self,
        queries: &Queries,
        caller: &Caller,
        kept: &KeptResult<'_>,
        query: &Query,
        read: impl FnOnce(&OtherResults<'_>, &dyn Engines) -> Result<T, FollowUpError>,
    ) -> Result<T, FollowUpError> {
        let names = other_names(query, kept)?;
        let located: Vec<(ArtifactId, Arc<Opened>)> =
            names.iter().map(|name| self.locate(caller, name)).collect::<Result<_, _>>()?;
        let opened = names
            .iter()
            .zip(&located)
            .map(|(name, (id, opened))| Ok((name.clone(), self.open_kept(caller, name, id, opened)?)));
        let others = OtherResults::new(opened.collect::<Result<_, FollowUpError>>()?, query)?;
        read(&others, &queries.beside(&others.named()))
    }

    /// Returns a part of a kept result; `beside` is text that the response carries beside it, and that counts too.
    fn part(
        &self,
        caller: &Caller,
        kept: &KeptResult<'_>,
        query: &Query,
        max_tokens: Option<u64>,
        beside: &str,
    ) -> Result<(AnsweredPart, Answer), FollowUpError> {
        let budget = kept.budget(max_tokens, query, &caller.profile)?;
        let ceiling = self.ceiling(caller, kept.policy());
        let budget = less(ceiling.map_or(budget, |ceiling| ceiling.limit(budget)), beside, caller)?;
        let meter = caller.profile.meter;
        let answer = self.with_engines(caller, kept, query, |engines| {
            Ok(kept.answer(query, budget, meter, caller.query_tool, engines)?)
        })?;
        Ok((AnsweredPart::new(kept, query, budget), answer))
    }

    /// Writes an answered part to the ledger, with what it costs as it is sent.
    fn note_view(&self, caller: &Caller, part: AnsweredPart, sent: Cost, started: Instant) {
        let call = self.entry(caller, &part.artifact.tool, "view", (sent, sent));
        let (artifact, view) = (Some(part.artifact.id.to_string()), Some(part.view.to_owned()));
        self.note(Call { artifact, view, budget_tokens: part.budget.tokens.0, ..call }, started);
    }
}

impl AnsweredPart {
    fn new(kept: &KeptResult<'_>, query: &Query, budget: Budget) -> Self {
        Self { artifact: kept.artifact().clone(), view: query.view.name(), budget, tokens: None }
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
        return Err(FollowUpError::Arguments("the address is too long; shorten the query in it".into()));
    }
    Ok(Budget { tokens, bytes })
}
