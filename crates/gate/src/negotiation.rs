//! The arguments that fetch parts of a result through its own tool.
//!
//! They are offered where tools are listed, removed from every call, so that the upstream never sees them, and answered
//! from the store. A token that is invalid, expired, or of another tool or caller always gets the same answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Map, Value, json};
use tidegate_core::budget::Budget;
use tidegate_core::measure::{self, Fit};
use tidegate_core::payload::{BlockKind, Form, Payload};
use tidegate_core::source::{Source, Span};
use tidegate_core::view::Dataset;
use tidegate_store::ArtifactId;

use crate::caller::Caller;
use crate::error::{FollowUpError, MAX_MESSAGE_CHARS, bounded, causes};
use crate::exact::ReadPlan;
use crate::kept_result::KeptResult;
use crate::policy::Policy;
use crate::profile::Profile;
use crate::raw::{self, ByteRange, Edits};
use crate::session::Ceiling;
use crate::style::AnswerLimits;
use crate::style::fetch::{About, Fetch, NAMES, OTHER_NAMES, PAGE_SIZE, Part, RestCalls};
use crate::style::probe::{Bound, GONE, MODES, Token};
use crate::user_store::UserStore;
use crate::{output, reply};

/// The names of our arguments of a tool.
pub(crate) type Names = &'static [&'static str; 5];

/// The maximum number of tools whose offer is remembered.
const MAX_OFFERED_TOOLS: usize = 4096;

/// Our arguments that were offered for one tool.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Offer {
    /// The names of the negotiation's arguments, if there is one.
    names: Option<Names>,
    /// Whether `output` is ours.
    output: bool,
}

/// Our arguments that were offered, by tool.
#[derive(Debug, Default)]
pub(crate) struct Offered {
    tools: Mutex<HashMap<String, Offer>>,
}

impl Offered {
    fn of(&self, tool: &str) -> Option<Offer> {
        self.tools.lock().unwrap_or_else(PoisonError::into_inner).get(tool).copied()
    }

    /// Returns the names of our arguments in a call that has a token. A client may know a tool from an earlier list; then
    /// the name of the token's argument tells which names were offered.
    pub(crate) fn names(&self, tool: &str, arguments: &[u8]) -> Option<Names> {
        match self.of(tool) {
            Some(offer) => offer.names.filter(|names| token(arguments, names).is_some()),
            None => [&NAMES, &OTHER_NAMES].into_iter().find(|names| token(arguments, names).is_some()),
        }
    }

    /// Returns the names of all our arguments of a tool; an argument that was not offered may be the tool's own.
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
        (policy, profile): (&Policy, &Profile),
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
        if tools.len() < MAX_OFFERED_TOOLS || tools.contains_key(tool) {
            tools.insert(tool.to_owned(), offer);
        }
        let added: Vec<String> = names
            .map(|names| offered(names, policy, profile))
            .into_iter()
            .chain(offer.output.then(|| output::offered(policy.full(profile).tokens)))
            .collect();
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
fn offered(names: Names, policy: &Policy, profile: &Profile) -> String {
    let max_tokens = policy.follow_up(profile).tokens;
    let [token, mode, page, page_size, keys] = names;
    let other = if *token == NAMES[0] { "" } else { " (tg_: this tool has an argument of the same name)" };
    let schemas = [
        json!({"type": "string", "description": format!(
            "From a first answer: fetch from its result instead of running again{other}"
        )}),
        json!({"type": "string", "enum": MODES, "description": format!(
            "What to fetch with {token}; summary if absent. An answer has at most {max_tokens} tokens"
        )}),
        json!({"type": "integer", "minimum": 1, "description": "For mode paginated or filtered; from 1"}),
        json!({"type": "integer", "minimum": 1, "description": format!(
            "Items of a page; {} if absent", policy.page_size.unwrap_or(PAGE_SIZE)
        )}),
        json!({"type": "array", "items": {"type": "string"}, "description": "For mode filtered; dotted paths allowed"}),
    ];
    let members = [token, mode, page, page_size, keys].into_iter().zip(schemas);
    members.map(|(name, schema)| format!("\"{name}\":{schema}")).collect::<Vec<_>>().join(",")
}

/// Removes our arguments from those of a call.
pub(crate) fn take_out(line: &[u8], arguments: &ByteRange, names: &[&str], edits: &mut Edits) {
    let members = raw::members(line, arguments).unwrap_or_default();
    if members.iter().any(|member| names.contains(&member.key.as_ref())) {
        edits.remove(&members, |member| names.contains(&member.key.as_ref()));
    }
}

/// Returns the place of the token in the arguments of a call.
fn token(arguments: &[u8], names: Names) -> Option<ByteRange> {
    let token = raw::whole(arguments).and_then(|whole| raw::member(arguments, &whole, names[0]))?;
    (arguments[token.clone()] != *b"null").then_some(token)
}

/// Says what is wrong with our arguments in a call that has no token.
pub(crate) fn mistake(arguments: &[u8], own: &[&str]) -> Option<String> {
    let asked: Map<String, Value> = serde_json::from_slice(arguments).ok()?;
    let names = [&NAMES, &OTHER_NAMES].into_iter().find(|names| own.contains(&names[0]))?;
    Fetch::read(&asked, names).err()
}

/// Returns whether a small result is already the first answer of a probe, from a server that negotiates by itself.
pub(crate) fn is_envelope(payload: &Payload<'_>) -> bool {
    const MAX_ENVELOPE_BYTES: u64 = 4096;
    let source = payload.source();
    if payload.form == Form::Plain || source.len() > MAX_ENVELOPE_BYTES {
        return false;
    }
    let text = payload.joined_text().and_then(|text| text.to_bytes().ok()).unwrap_or_default();
    let members = raw::whole(&text).and_then(|whole| raw::members(&text, &whole)).unwrap_or_default();
    let has = |key: &str| members.iter().any(|member| member.key == key);
    ["preview", "total_size", "available_modes", "continuation_token"].into_iter().all(has)
}

/// Names what a result holds besides the data that is fetched from it.
fn outside(source: &dyn Source, data: &Dataset<'_>) -> Vec<String> {
    let mut outside = Vec::new();
    if data.is_surrounded().unwrap_or(false) {
        outside.push("text around the data".to_owned());
    }
    let others = Payload::read_result(source).map_or(0, |payload| {
        payload.blocks.iter().filter(|block| !matches!(block.kind, BlockKind::Text { .. })).count()
    });
    if others > 0 {
        outside.push(format!("{others} blocks that are not text"));
    }
    outside
}

/// A call that fetches a part of a kept result through the tool itself.
pub(crate) struct ProbeFetch<'r> {
    pub(crate) keep: &'r UserStore,
    /// The server's name.
    pub(crate) server: &'r str,
    pub(crate) caller: &'r Caller,
    pub(crate) tool: &'r str,
    pub(crate) policy: Arc<Policy>,
    /// Whether the caller may call the tool now.
    pub(crate) allowed: bool,
    /// The ceiling of the session, if it has one.
    pub(crate) ceiling: Option<Ceiling>,
}

/// A part, or why there is none.
pub(crate) struct Fetched {
    pub(crate) result: Vec<u8>,
    pub(crate) artifact: Option<String>,
    /// The name of the part, as a view.
    pub(crate) view: Option<&'static str>,
}

impl ProbeFetch<'_> {
    /// Answers from the store; nothing is run.
    pub(crate) fn answer(&self, arguments: &[u8], names: Names) -> Fetched {
        let asked: Map<String, Value> = serde_json::from_slice(arguments).unwrap_or_default();
        let fetch = match Fetch::read(&asked, names) {
            Ok(fetch) => fetch,
            Err(message) => return self.refused(&message),
        };
        let token = Token::read(&fetch.token);
        let opened = token.as_ref().map_or_else(|| self.keep.open(), |token| self.keep.open_for(&token.id));
        let Ok(opened) = opened else { return self.gone() };
        let bound = Bound { server: self.server, tool: self.tool, who: self.keep.owner.as_str() };
        let now = self.keep.clock().now();
        let token = token
            .filter(|token| {
                let is_valid =
                    |seal: &dyn Fn(&[u8]) -> _| token.is_valid(bound, now, seal).then_some(()).ok_or(());
                opened.unseal(&self.keep.owner, &token.id, is_valid).is_ok()
            })
            .filter(|_| self.allowed);
        // Without a valid token, a name that does not exist is looked up, so that neither the text nor the timing of
        // the answer reveals why it is refused.
        let id = token.map_or_else(ArtifactId::random, |token| token.id);
        let Ok(kept) = KeptResult::open(self.keep, &opened, &id, |_| Arc::clone(&self.policy)) else {
            return self.gone();
        };
        if self.ceiling.is_some_and(Ceiling::is_reached) {
            return self.refused(&FollowUpError::at_ceiling(kept.artifact(), &self.policy).to_string());
        }
        match self.part(&kept, &fetch, names) {
            Ok(result) => Fetched { result, artifact: Some(id.to_string()), view: Some(fetch.view()) },
            Err(message) => self.refused(&message),
        }
    }

    fn part(&self, kept: &KeptResult<'_>, fetch: &Fetch, names: Names) -> Result<Vec<u8>, String> {
        let data = kept.dataset();
        let rest = format!("{} {{\"id\":\"{}\"}}", self.caller.query_tool, kept.name());
        let outside = outside(kept.source(), &data);
        let about =
            About { data: &data, page_size: self.policy.page_size, rest: &rest, outside, calls: None };
        let limits = self.limits();
        match fetch.part(&about, limits) {
            Ok(Ok(Part::Whole)) => self.whole(kept, &about, fetch, names),
            Ok(Ok(Part::Text(text))) => Ok(limits.result(&text, false)),
            Ok(Err(message)) => Err(message),
            Err(error) => Err(format!("the result cannot be read now ({}); try again", causes(&error))),
        }
    }

    /// Returns the result unchanged, or, if that is above the cap, its first page and the calls that read the rest.
    fn whole(
        &self,
        kept: &KeptResult<'_>,
        about: &About<'_>,
        fetch: &Fetch,
        names: Names,
    ) -> Result<Vec<u8>, String> {
        let source = kept.source();
        let unreadable =
            |error: std::io::Error| format!("the result cannot be read now ({})", causes(&error));
        let cap = self.limited(self.policy.full(&self.caller.profile));
        let meter = &self.caller.profile.meter;
        let payload = Payload::read_result(source).map_err(|error| causes(&error))?;
        let affords = self.ceiling.is_none_or(|ceiling| source.len() <= ceiling.max_passing());
        if affords && let Fit::Fits(_) = measure::fits(&payload, &cap, meter).map_err(unreadable)? {
            let result = Span::whole(source).read(source).map_err(unreadable)?;
            // The result may have come from a client of the other protocol version.
            let typed = raw::whole(&result).and_then(|whole| raw::member(&result, &whole, "resultType"));
            return Ok(match (typed, self.caller.modern) {
                (None, true) => raw::added(&result, &[], br#""resultType":"complete""#),
                _ => result,
            });
        }
        let limits = self.limits();
        let reads = ReadPlan::new(kept, self.policy.cap(&self.caller.profile)).sentence();
        let rest = RestCalls { names, token: &fetch.token, cap, reads: &reads };
        let page = fetch.above_cap(about, limits, rest).map_err(unreadable)??;
        Ok(limits.result(&page, false))
    }

    fn limits(&self) -> AnswerLimits<'_> {
        let budget = self.limited(self.policy.follow_up(&self.caller.profile));
        AnswerLimits { caller: self.caller, budget, values: self.policy.limits }
    }

    fn limited(&self, budget: Budget) -> Budget {
        self.ceiling.map_or(budget, |ceiling| ceiling.limit(budget))
    }

    fn gone(&self) -> Fetched {
        let text = json!({ "error": GONE }).to_string();
        Fetched { result: reply::text_result(self.caller, &text, true), artifact: None, view: None }
    }

    /// Returns the answer to a call that gets no part; it says why.
    pub(crate) fn refused(&self, message: &str) -> Fetched {
        let characters = if self.ceiling.is_some_and(Ceiling::is_reached) { 120 } else { MAX_MESSAGE_CHARS };
        let (tool, message) = (bounded(self.tool, 40), bounded(message, characters));
        let text = json!({ "error": format!("{tool}: {message}. Nothing was run.") });
        Fetched {
            result: reply::text_result(self.caller, &text.to_string(), true),
            artifact: None,
            view: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tidegate_testkit::clock::ManualClock;
    use tidegate_testkit::make;

    use super::*;
    use crate::policy::{Policies, Rules};
    use crate::style::Style;
    use crate::user_store::StoreLocation as KeepPlace;

    fn policy() -> Arc<Policy> {
        let defaults = Rules { style: Some(Style::Probe), offer_output: Some(true), ..Rules::default() };
        Arc::new(Policies::of_defaults(defaults).of_tool("list"))
    }

    /// Lists one tool with a schema, and returns the schema that a client sees.
    fn listed(offered: &Offered, schema: &str) -> Value {
        let tool = format!(r#"{{"name":"list","inputSchema":{schema}}}"#);
        let bytes = tool.as_bytes();
        let members = raw::members(bytes, &raw::whole(bytes).unwrap()).unwrap();
        let mut edits = Edits::new();
        offered.offer(bytes, "list", (&policy(), &Profile::strictest()), &members, &mut edits);
        serde_json::from_slice::<Value>(&edits.apply(bytes)).unwrap()["inputSchema"].clone()
    }

    #[test]
    fn arguments_of_the_tool_keep_their_names() {
        let offered = Offered::default();
        assert!(offered.own("list").is_empty());
        let schema = listed(&offered, r#"{"type":"object"}"#);
        assert!(NAMES.iter().all(|name| schema["properties"][name].is_object()), "{schema}");
        assert_eq!(offered.own("list").len(), 6, "the five names, and output");
        let schema = listed(&offered, r#"{"properties":{"mode":{},"output":{"type":"integer"}}}"#);
        assert!(OTHER_NAMES.iter().all(|name| schema["properties"][name].is_object()), "{schema}");
        assert_eq!(schema["properties"]["output"]["type"], "integer");
        assert_eq!(offered.own("list"), OTHER_NAMES);
    }

    #[test]
    fn a_token_decides_under_which_names_a_call_fetches() {
        let offered = Offered::default();
        let names = |arguments: &str| offered.names("list", arguments.as_bytes());
        assert_eq!(names(r#"{"continuation_token":"x"}"#), Some(&NAMES), "known from an earlier list");
        assert_eq!(names(r#"{"tg_continuation_token":"x"}"#), Some(&OTHER_NAMES));
        assert_eq!(names(r#"{"continuation_token":null,"mode":"full"}"#), None);
        listed(&offered, "{}");
        assert_eq!(names(r#"{"tg_continuation_token":"x"}"#), None, "it is the tool's own");
    }

    #[test]
    fn our_arguments_are_removed_from_a_call() {
        let line = br#"{"a":1,"mode":"full","page":2}"#;
        let mut edits = Edits::new();
        take_out(line, &raw::whole(line).unwrap(), &["mode", "page"], &mut edits);
        assert_eq!(edits.apply(line), br#"{"a":1}"#);
    }

    #[test]
    fn every_token_that_is_not_valid_gets_the_same_answer() {
        let clock = Arc::new(ManualClock::default());
        let keep = UserStore::of_user(KeepPlace::Memory).with_clock(Arc::<ManualClock>::clone(&clock));
        let body = make::text_result("[1,2,3]");
        let new = keep.new_artifact("list", Duration::from_secs(600));
        let id = keep.put(&new, &body.as_slice(), &|| Ok(Default::default())).unwrap().id;
        let opened = keep.open().unwrap();
        let caller = Caller::unknown(Vec::new());
        let answer = |tool: &str, token: &str, allowed: bool| {
            let (keep, caller) = (&keep, &caller);
            let fetch =
                ProbeFetch { keep, server: "s", caller, tool, policy: policy(), allowed, ceiling: None };
            fetch.answer(json!({"continuation_token": token}).to_string().as_bytes(), &NAMES)
        };
        let bound = Bound { server: "s", tool: "list", who: keep.owner.as_str() };
        let expires = keep.clock().now().after(Duration::from_secs(300));
        let token = bound.token(&id, expires, |bytes| opened.seal(&keep.owner, &id, bytes));
        assert_eq!(answer("list", &token, true).artifact, Some(id.to_string()));
        let gone = answer("list", "x", true);
        assert!(String::from_utf8_lossy(&gone.result).contains("expired or not found"));
        for (tool, token, allowed) in [("other", &token, true), ("list", &token, false)] {
            assert_eq!(answer(tool, token, allowed).result, gone.result);
        }
        clock.advance(Duration::from_secs(300));
        assert_eq!(answer("list", &token, true).result, gone.result);
    }
}
