//! The arguments with which parts of a result are fetched through its own tool: offered where tools are listed, taken
//! out of every call, so that the upstream never sees them, and answered from the store.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};
use tidegate_core::envelope::handle_name;
use tidegate_core::measure::{self, Fit};
use tidegate_core::outline::Outline;
use tidegate_core::payload::{BlockKind, Form, Payload};
use tidegate_core::source::{Source, Span};
use tidegate_core::view::Dataset;
use tidegate_store::{ArtifactId, open};

use crate::caller::Caller;
use crate::error::{bounded, causes};
use crate::keep::Keep;
use crate::policy::Policy;
use crate::raw::{self, Edits, Place};
use crate::style::Room;
use crate::style::fetch::{About, Fetch, NAMES, OTHER_NAMES, PAGE_SIZE, Part};
use crate::style::probe::{Bound, GONE, MODES, Token};
use crate::{output, reply};

/// The names that a tool's arguments of ours have.
pub(crate) type Names = &'static [&'static str; 5];

/// How many tools are remembered.
const KNOWN: usize = 4096;

/// What was offered for one tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Offer {
    /// The names of the negotiation, where there is one.
    names: Option<Names>,
    /// Whether `output` is ours.
    output: bool,
}

/// What was offered, by tool.
#[derive(Debug, Default)]
pub(crate) struct Offered {
    tools: Mutex<HashMap<String, Offer>>,
}

impl Offered {
    fn of(&self, tool: &str) -> Option<Offer> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).get(tool).copied()
    }

    /// Returns the names under which a call has a token. A tool that was not listed here may be known from before; then the
    /// name of the token says which they are.
    pub(crate) fn names(&self, tool: &str, arguments: &[u8]) -> Option<Names> {
        match self.of(tool) {
            Some(offer) => offer.names.filter(|names| token(arguments, names).is_some()),
            None => [&NAMES, &OTHER_NAMES].into_iter().find(|names| token(arguments, names).is_some()),
        }
    }

    /// Returns the names of all arguments of a tool that are ours; what was not offered may be the tool's own.
    pub(crate) fn own(&self, tool: &str) -> Vec<&'static str> {
        let offer = self.of(tool).unwrap_or_default();
        let output = offer.output.then_some(output::NAME);
        offer.names.into_iter().flatten().copied().chain(output).collect()
    }

    /// Adds our arguments to a tool that is being listed.
    pub(crate) fn offer(
        &self,
        json: &[u8],
        tool: &str,
        policy: &Policy,
        members: &[raw::Member<'_>],
        edits: &mut Edits,
    ) {
        let Some(schema) = members.iter().find(|member| member.key == "inputSchema") else { return };
        let place = &schema.value;
        let Some(has) = raw::members(json, place) else { return };
        let properties = has.iter().find(|member| member.key == "properties");
        let theirs = properties.and_then(|properties| raw::members(json, &properties.value));
        let theirs = theirs.unwrap_or_default();
        let taken = |name: &str| theirs.iter().any(|member| member.key == name);
        let names = match NAMES.iter().filter(|name| taken(name)).count() {
            _ if !policy.negotiates() => None,
            0 => Some(&NAMES),
            _ => Some(&OTHER_NAMES),
        };
        let offer = Offer { names, output: policy.offers_output && !taken(output::NAME) };
        let mut tools = self.tools.lock().unwrap_or_else(PoisonError::into_inner);
        if tools.len() < KNOWN || tools.contains_key(tool) {
            tools.insert(tool.to_owned(), offer);
        }
        let added: Vec<String> =
            names.map(offered).into_iter().chain(offer.output.then(output::offered)).collect();
        if added.is_empty() {
            return;
        }
        let added = added.join(",");
        match properties.filter(|properties| json[properties.value.start] == b'{') {
            Some(properties) => edits.append(json, &properties.value, added.as_bytes()),
            None => edits.append(json, place, format!("\"properties\":{{{added}}}").as_bytes()),
        }
    }
}

/// The members of a schema that offer our arguments.
fn offered(names: Names) -> String {
    let [token, mode, page, page_size, keys] = names;
    let other = if *token == NAMES[0] { "" } else { " (tg_: this tool has an argument of the plain name)" };
    let schemas = [
        json!({"type": "string", "description": format!(
            "From a first answer: fetch from its result instead of running again{other}"
        )}),
        json!({"type": "string", "enum": MODES, "description": format!("What to fetch with {token}; summary if absent")}),
        json!({"type": "integer", "minimum": 1, "description": "For mode paginated or filtered; from 1"}),
        json!({"type": "integer", "minimum": 1, "description": format!("Items of a page; {PAGE_SIZE} if absent")}),
        json!({"type": "array", "items": {"type": "string"}, "description": "For mode filtered; dotted paths allowed"}),
    ];
    let members = [token, mode, page, page_size, keys].into_iter().zip(schemas);
    members.map(|(name, schema)| format!("\"{name}\":{schema}")).collect::<Vec<_>>().join(",")
}

/// Takes our arguments out of those of a call.
pub(crate) fn take_out(line: &[u8], arguments: &Place, names: &[&str], edits: &mut Edits) {
    let members = raw::members(line, arguments).unwrap_or_default();
    if members.iter().any(|member| names.contains(&member.key.as_ref())) {
        edits.remove(&members, |member| names.contains(&member.key.as_ref()));
    }
}

/// Where the token of a call stands.
fn token(arguments: &[u8], names: Names) -> Option<Place> {
    let token = raw::whole(arguments).and_then(|whole| raw::member(arguments, &whole, names[0]))?;
    (arguments[token.clone()] != *b"null").then_some(token)
}

/// Says what is wrong with our arguments of a call that has no token.
pub(crate) fn mistake(arguments: &[u8], own: &[&str]) -> Option<String> {
    let asked: Map<String, Value> = serde_json::from_slice(arguments).ok()?;
    let names = [&NAMES, &OTHER_NAMES].into_iter().find(|names| own.contains(&names[0]))?;
    Fetch::read(&asked, names).err()
}

/// Returns whether a small result is a first answer already, from a server that negotiates by itself.
pub(crate) fn is_envelope(payload: &Payload<'_>) -> bool {
    const LARGEST: u64 = 4096;
    let source = payload.source();
    if payload.form == Form::Plain || source.len() > LARGEST {
        return false;
    }
    let text = payload.joined_text().and_then(|text| text.to_bytes().ok()).unwrap_or_default();
    let members = raw::whole(&text).and_then(|whole| raw::members(&text, &whole)).unwrap_or_default();
    let has = |key: &str| members.iter().any(|member| member.key == key);
    ["preview", "total_size", "available_modes", "continuation_token"].into_iter().all(has)
}

/// What a result has beside the data that is fetched from it.
fn outside(source: &dyn Source, data: &Dataset<'_>) -> Vec<String> {
    let mut outside = Vec::new();
    if data.is_surrounded().unwrap_or(false) {
        outside.push("text around the data".to_owned());
    }
    let others = Payload::read_result(source).map_or(0, |payload| {
        payload.blocks.iter().filter(|block| !matches!(block.kind, BlockKind::Text { .. })).count()
    });
    if others > 0 {
        outside.push(format!("{others} blocks that are no text"));
    }
    outside
}

/// A call that asks for a part of a kept result.
pub(crate) struct Redeemed<'r> {
    pub(crate) keep: &'r Keep,
    /// The server's name.
    pub(crate) server: &'r str,
    pub(crate) caller: &'r Caller,
    pub(crate) tool: &'r str,
    pub(crate) policy: &'r Policy,
    /// Whether the caller may call the tool now.
    pub(crate) allowed: bool,
}

/// A part, or why there is none.
pub(crate) struct Fetched {
    pub(crate) result: Vec<u8>,
    pub(crate) artifact: Option<String>,
    /// What the part is called, as a view.
    pub(crate) view: Option<&'static str>,
}

impl Redeemed<'_> {
    /// Answers from the store; nothing is run.
    pub(crate) fn answer(&self, arguments: &[u8], names: Names) -> Fetched {
        let asked: Map<String, Value> = serde_json::from_slice(arguments).unwrap_or_default();
        let fetch = match Fetch::read(&asked, names) {
            Ok(fetch) => fetch,
            Err(message) => return self.refused(&message),
        };
        // Whatever is wrong with a token, one result that is not there is looked up, so that neither words nor time tell
        // what it is.
        let Ok(opened) = self.keep.open() else { return self.gone() };
        let bound = Bound { server: self.server, tool: self.tool, who: &self.caller.who };
        let token = Token::read(&fetch.token)
            .filter(|token| token.holds(bound, |bytes| opened.seal(&self.keep.owner, &token.id, bytes)))
            .filter(|_| self.allowed);
        let id = token.map_or_else(ArtifactId::random, |token| token.id);
        let Ok(source) = open(&opened.store, &self.keep.owner, &id) else { return self.gone() };
        let Some(outline) = Outline::from_bytes(source.outline()) else { return self.gone() };
        let data = Dataset::new(&source, &outline);
        let name = handle_name(self.tool, id.as_str());
        let rest = format!("{} {{\"id\":\"{name}\"}}", self.caller.reader);
        let outside = outside(&source, &data);
        let about = About { data: &data, page_size: self.policy.page_size, rest: &rest, outside, note: None };
        let room = self.room();
        let part = match fetch.part(&about, room) {
            Ok(Ok(Part::Whole)) => self.whole(&source, &about, &fetch),
            Ok(Ok(Part::Text(text))) => Ok(room.result(&text, false)),
            Ok(Err(message)) => Err(message),
            Err(error) => Err(format!("the result cannot be read now ({}); try again", causes(&error))),
        };
        match part {
            Ok(result) => Fetched { result, artifact: Some(id.to_string()), view: Some(fetch.view()) },
            Err(message) => self.refused(&message),
        }
    }

    /// The result as it came, or, where that is above the cap, its first page.
    fn whole(&self, source: &dyn Source, about: &About<'_>, fetch: &Fetch) -> Result<Vec<u8>, String> {
        let unreadable =
            |error: std::io::Error| format!("the result cannot be read now ({})", causes(&error));
        let cap = self.policy.cap(&self.caller.profile);
        let meter = &self.caller.profile.meter;
        let payload = Payload::read_result(source).map_err(|error| causes(&error))?;
        if let Fit::Fits(_) = measure::fits(&payload, &cap, meter).map_err(unreadable)? {
            let result = Span::whole(source).read(source).map_err(unreadable)?;
            // It may have come in the other era.
            let typed = raw::whole(&result).and_then(|whole| raw::member(&result, &whole, "resultType"));
            return Ok(match (typed, self.caller.modern) {
                (None, true) => raw::added(&result, &[], br#""resultType":"complete""#),
                _ => result,
            });
        }
        let room = self.room();
        let note = format!(
            "the complete result is above the cap of {} tokens and {} bytes; this is a page of it",
            cap.tokens.0, cap.bytes.0
        );
        let page = fetch.first_page(about, room, &note).map_err(unreadable)??;
        Ok(room.result(&page, false))
    }

    fn room(&self) -> Room<'_> {
        let budget = self.policy.budget(&self.caller.profile);
        Room { caller: self.caller, budget, limits: self.policy.limits }
    }

    fn gone(&self) -> Fetched {
        let text = json!({ "error": GONE }).to_string();
        Fetched { result: reply::text_result(self.caller, &text, true), artifact: None, view: None }
    }

    fn refused(&self, message: &str) -> Fetched {
        let text = json!({ "error": format!("{}: {}. Nothing was run.", self.tool, bounded(message)) });
        Fetched {
            result: reply::text_result(self.caller, &text.to_string(), true),
            artifact: None,
            view: None,
        }
    }
}
