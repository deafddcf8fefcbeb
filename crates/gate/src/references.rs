//! Arguments by reference: a value in the arguments of a call that stands for a kept result, or for a part of one.
//!
//! `call -> references -> store -> value -> server`: the values are put into the arguments before the call is
//! forwarded, so that data goes from tool to tool without passing through the model. A reference is resolved completely or
//! the call is refused: then nothing runs, and the answer says which argument, why, and what to do. The server never sees
//! a reference.
//!
//! The same checks hold as for `result_query`: the owner of the result, the tier of its tool, its expiry. Beyond that, a
//! result of another server goes only where `references_from` names that server: what one server returns is
//! untrusted input to another.

mod find;
mod input_schema;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tidegate_core::measure::Cost;
use tidegate_core::view::arguments::Arguments;
use tidegate_core::view::{Query, ValueError, ValueRequest, View, value};
use tidegate_core::{Bytes, Tokens};
use tidegate_store::{Artifact, Call};

use crate::caller::Caller;
use crate::error::{FollowUpError, bounded};
use crate::gate::Gate;
use crate::other_results::other_names;
use crate::policy::{Policy, matches};
use crate::raw::{self, ByteRange, Edits};
pub use find::is_reference;
use find::{Malformed, Reference};
use input_schema::InputSchema;

/// The most references in one call.
const MAX_REFERENCES: usize = 16;
/// How long resolving the references of one call may take; the one that is being resolved then is finished.
const MAX_RESOLVE_TIME: Duration = Duration::from_secs(30);
/// The most tools whose input schema is remembered.
const MAX_SCHEMAS: usize = 1024;
/// The largest input schema that is remembered.
const MAX_SCHEMA_BYTES: usize = 256 << 10;
/// The view that the ledger has for a part that was put into arguments.
const REFERENCE: &str = "reference";

/// The arguments of a call that is being made.
#[derive(Debug, Clone, Copy)]
pub struct CallArguments<'c> {
    /// The tool that is called.
    pub tool: &'c str,
    /// The message that holds them.
    pub json: &'c [u8],
    /// Where they are in it.
    pub range: &'c ByteRange,
}

/// The input schemas of tools that take references, as the server listed them.
#[derive(Debug, Default)]
pub(crate) struct InputSchemas {
    by_tool: Mutex<HashMap<String, Arc<InputSchema>>>,
}

impl InputSchemas {
    /// Remembers the schema of a tool.
    pub(crate) fn remember(&self, tool: &str, json: &[u8]) {
        let mut by_tool = self.by_tool.lock().unwrap_or_else(PoisonError::into_inner);
        let schema = Some(json).filter(|json| json.len() <= MAX_SCHEMA_BYTES).and_then(InputSchema::read);
        match schema {
            Some(schema) if by_tool.len() < MAX_SCHEMAS || by_tool.contains_key(tool) => {
                by_tool.insert(tool.to_owned(), Arc::new(schema));
            }
            // An earlier schema no longer holds.
            _ => drop(by_tool.remove(tool)),
        }
    }

    fn of(&self, tool: &str) -> Option<Arc<InputSchema>> {
        self.by_tool.lock().unwrap_or_else(PoisonError::into_inner).get(tool).cloned()
    }
}

/// Why a call is not made.
struct Refusal {
    /// The path of the argument; empty if it is about all of them.
    argument: String,
    /// What is wrong, and what to do.
    reason: String,
}

impl From<Malformed> for Refusal {
    fn from(malformed: Malformed) -> Self {
        Self { argument: malformed.path.to_string(), reason: malformed.message.to_owned() }
    }
}

impl Gate {
    /// Returns whether references in the arguments of a tool are resolved.
    pub fn takes_references(&self, tool: &str) -> bool {
        self.uses_references() && self.policy(tool).references
    }

    /// Returns whether the arguments of a call to a tool that takes references hold one; also if one is malformed.
    pub fn holds_references(&self, json: &[u8], arguments: &ByteRange) -> bool {
        find::may_hold(&json[arguments.clone()])
            && !find::find(json, arguments).is_ok_and(|found| found.is_empty())
    }

    /// Puts the values into the arguments of a call that its references stand for. This may take long: queries run in
    /// another process.
    ///
    /// # Errors
    ///
    /// The result to answer the call with, because it must not be made.
    pub fn resolve(
        &self,
        caller: &Caller,
        call: CallArguments<'_>,
        edits: &mut Edits,
    ) -> Result<(), Vec<u8>> {
        let tool = call.tool;
        self.resolve_all(caller, call, edits).map_err(|refusal| {
            let Refusal { argument, reason } = refusal;
            let say = |characters: usize| {
                let place = match argument.is_empty() {
                    true => String::new(),
                    false => format!(" argument {}:", bounded(&argument, 100.min(characters))),
                };
                format!("{}:{place} {}. Nothing was run.", bounded(tool, 64), bounded(&reason, characters))
            };
            self.refuse(caller, tool, say).1
        })
    }

    /// Returns the input schema of a tool that takes references, as the server listed it.
    pub fn input_schema(&self, tool: &str) -> Option<serde_json::Value> {
        self.input_schemas().of(tool).map(|schema| schema.json().clone())
    }

    /// Remembers the input schema of a tool that takes references.
    pub(crate) fn remember_schema(&self, tool: &str, json: &[u8], members: &[raw::Member<'_>]) {
        if self.takes_references(tool) {
            let schema = members.iter().rfind(|member| member.key == "inputSchema");
            self.input_schemas().remember(tool, schema.map_or(b"", |schema| &json[schema.value.clone()]));
        }
    }

    fn resolve_all(
        &self,
        caller: &Caller,
        call: CallArguments<'_>,
        edits: &mut Edits,
    ) -> Result<(), Refusal> {
        let CallArguments { tool, json, range } = call;
        let (started, policy) = (Instant::now(), self.policy(tool));
        let references = find::find(json, range)?;
        if references.len() > MAX_REFERENCES {
            let reason = format!(
                "the call has {} references, and {MAX_REFERENCES} are possible; pass fewer, or one that holds several \
                 values",
                references.len()
            );
            return Err(Refusal { argument: String::new(), reason });
        }
        let schema = self.input_schemas().of(tool);
        let mut bytes_left = policy.reference_max_bytes;
        let mut resolved = Vec::new();
        for reference in references {
            let refusal = |reason| Refusal { argument: reference.path.to_string(), reason };
            if started.elapsed() > MAX_RESOLVE_TIME {
                let reason = "resolving the references takes too long; pass fewer, or simpler queries";
                return Err(refusal(reason.to_owned()));
            }
            let (artifact, value) =
                self.value_of(caller, (tool, &policy), &reference, bytes_left).map_err(refusal)?;
            let fitted = match &schema {
                Some(schema) => schema.fit(&reference.path, value).map_err(|why| {
                    refusal(format!(
                        "the value of {:?} does not fit the tool's inputSchema: {why}; choose another part with \
                         \"result://{}#/path\" or {{\"$result\": ..., \"jq\": ...}}",
                        reference.name, reference.name
                    ))
                })?,
                None => value,
            };
            let left = bytes_left.checked_sub(fitted.len() as u64);
            bytes_left = left.ok_or_else(|| refusal(too_large(&policy)))?;
            resolved.push(artifact);
            edits.replace(reference.range, fitted);
        }
        resolved.iter().for_each(|artifact| self.note_reference(caller, artifact, started));
        Ok(())
    }

    /// Returns the value that a reference stands for, and its result.
    fn value_of(
        &self,
        caller: &Caller,
        (tool, policy): (&str, &Policy),
        reference: &Reference,
        max_bytes: u64,
    ) -> Result<(Artifact, Vec<u8>), String> {
        let words = |error: FollowUpError| error.to_string();
        let query = query_of(&reference.view).map_err(|error| error.to_string())?;
        let (id, opened) = self.locate(caller, &reference.name).map_err(words)?;
        let kept = self.open_kept(caller, &reference.name, &id, &opened).map_err(words)?;
        let others = other_names(&query, &kept).map_err(|error| error.to_string())?;
        for name in std::iter::once(&reference.name).chain(&others) {
            self.check_server(caller, (tool, policy), name)?;
        }
        let max_bytes = usize::try_from(max_bytes).unwrap_or(usize::MAX);
        let mut is_too_large = false;
        let value = self.with_engines(caller, &kept, &query, |engines| {
            let (outline, view) = (kept.outline(), &query.view);
            match value(&ValueRequest { source: kept.source(), outline, view, engines, max_bytes }) {
                Ok(value) => Ok(value),
                Err(ValueError::View(error)) => Err(error.into()),
                Err(_) => {
                    is_too_large = true;
                    Ok(Vec::new())
                }
            }
        });
        match is_too_large {
            true => Err(too_large(policy)),
            false => Ok((kept.artifact().clone(), value.map_err(words)?)),
        }
    }

    /// Checks that the result of a name came from the server of a tool, or from one whose results may be passed to it.
    fn check_server(
        &self,
        caller: &Caller,
        (tool, policy): (&str, &Policy),
        name: &str,
    ) -> Result<(), String> {
        let words = |error: FollowUpError| error.to_string();
        let (id, opened) = self.locate(caller, name).map_err(words)?;
        let origin = opened.store.origin(&self.keep_of(caller).owner, &id);
        let from = origin.map_err(|error| words(FollowUpError::of_store(name, &error)))?.server;
        let is_allowed = || policy.references_from.iter().any(|pattern| matches(pattern, &from));
        let server = self.server_of(tool);
        if from == server || is_allowed() {
            return Ok(());
        }
        let (from, to) = (bounded(&from, 64), bounded(&server, 64));
        Err(format!(
            "{name:?} is a result of the server {from:?}, and its results are not passed to {to:?}; the user can allow it \
             with references_from = [{from:?}] under [server.{to}] in their tidegate.toml"
        ))
    }

    /// Writes to the ledger that a result was read for arguments; the model got nothing of it.
    fn note_reference(&self, caller: &Caller, artifact: &Artifact, started: Instant) {
        let nothing = Cost { tokens: Tokens(0), estimated: false, bytes: Bytes(0) };
        let call = self.entry(caller, &artifact.tool, "view", (nothing, nothing));
        let (artifact, view) = (Some(artifact.id.to_string()), Some(REFERENCE.to_owned()));
        self.note(Call { artifact, view, ..call }, started);
    }
}

/// Returns the query of a reference, with the limits that a query of `result_query` has.
fn query_of(view: &View) -> Result<Query, tidegate_core::view::ViewError> {
    let text = |text: &String| Some(text.clone());
    let arguments = match view {
        View::Path(path) => Arguments { path: text(path), ..Arguments::default() },
        View::Jq(program) => Arguments { jq: text(program), ..Arguments::default() },
        View::Sql(query) => Arguments { sql: text(query), ..Arguments::default() },
        _ => return Ok(Query::new(View::Full)),
    };
    arguments.into_query()
}

fn too_large(policy: &Policy) -> String {
    format!(
        "the values have more than {} bytes together (reference_max_bytes); choose a part with \"result://NAME#/path\" or \
         {{\"$result\": NAME, \"jq\": ...}}",
        policy.reference_max_bytes
    )
}

#[cfg(test)]
mod tests;
