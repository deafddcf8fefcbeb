//! References against a real store: the values that replace them, and the calls that are refused.
//!
//! jq runs only in the program `tidegate`, so its cases are in the tests of the command line.

use serde_json::Value;
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_query::{Limits, Queries, Worker};
use tidegate_store::NewArtifact;
use tidegate_testkit::clock::ManualClock;
use tidegate_testkit::make;

use super::*;
use crate::caller::{CallerId, Principal};
use crate::gate::{Observer, Setup};
use crate::policy::{Policies, Rules};
use crate::tier::Tier;
use crate::user_store::{StoreLocation, UserStore};

const ROWS: &str = r#"[{"id": 9007199254740993, "name": "a", "price": 1.50},
 {"id": 2, "name": "b", "price": 3}]"#;
const OBJECT: &str = r#"{"total": 2, "text": "0012", "nested": {"list": [true, null]}, "big": 123456789012345678901234567890}"#;
const TEXT: &str = "A text of two lines,\nwith \"quotes\".";

const LIST: &str = r#"{"tools":[{"name":"send","inputSchema":{"type":"object","properties":{
    "text":{"type":"string"},"count":{"type":"integer"},"any":{},"rows":{"type":"array","items":{"type":"object"}},
    "names":{"type":"array","items":{"type":"string"}},"deep":{"type":"object","properties":{"x":{"type":"array"}}}}}},
    {"name":"off","inputSchema":{"type":"object"}}]}"#;

struct Fixture {
    gate: Gate,
    keep: Arc<UserStore>,
    caller: Caller,
    clock: Arc<ManualClock>,
    entries: Arc<Mutex<Vec<Call>>>,
    _folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        Self::with(Rules::default())
    }

    /// A gate for the server `here`, whose tool `send` takes references; results of `github*` may be passed to it.
    fn with(rules: Rules) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::default());
        let place = StoreLocation::Folder(Some(folder.path().to_owned()));
        let keep = UserStore::of_user(place).with_clock(Arc::<ManualClock>::clone(&clock));
        let keep = Arc::new(keep);
        let mut policies = Policies::default();
        let references_from = Some(vec!["github*".to_owned()]);
        policies.add_tools("send", Rules { references: Some(true), references_from, ..rules });
        policies.add_tools("secret", Rules { tier: Some(Tier::Admin), ..Rules::default() });
        let entries: Arc<Mutex<Vec<Call>>> = Arc::default();
        let noted = Arc::clone(&entries);
        let observer: Observer = Arc::new(move |call: &Call| noted.lock().unwrap().push(call.clone()));
        let setup = Setup {
            keep: Arc::clone(&keep),
            policies,
            engines: Queries::new(Limits::default(), Worker::new("/nonexistent".into())),
            server: "here".into(),
        };
        let gate = Gate::new(setup).observed_by(observer).resolving_references();
        let mut caller = Caller::unknown(Vec::new());
        gate.tools(&mut caller, LIST.as_bytes(), true).unwrap();
        Self { gate, keep, caller, clock, entries, _folder: folder }
    }

    /// Stores a result with one text; returns its name.
    fn keep_as(&self, caller: &Caller, server: &str, tool: &str, text: &str) -> String {
        let keep = self.gate.keep_of(caller);
        let body = make::text_result(text);
        let body = body.as_slice();
        let outline = Outline::read(&Payload::read_result(&body).unwrap()).unwrap();
        let new = NewArtifact { server, ..keep.new_artifact(tool, Duration::from_secs(600)) };
        let kept = keep.put(&new, &body, &|| Ok(UserStore::description(&outline, 1))).unwrap();
        format!("{tool}-{}", kept.id)
    }

    fn keep(&self, text: &str) -> String {
        self.keep_as(&self.caller, "here", "list", text)
    }

    /// Returns the arguments of a call of `send` with the values in them, or the words of its refusal.
    fn resolve_for(&self, caller: &Caller, arguments: &str) -> Result<String, String> {
        let (json, mut edits) = (arguments.as_bytes(), Edits::new());
        let call = CallArguments { tool: "send", json, range: &(0..json.len()) };
        match self.gate.resolve(caller, call, &mut edits) {
            Ok(()) => Ok(String::from_utf8(edits.apply(json)).unwrap()),
            Err(refusal) => {
                let refusal: Value = serde_json::from_slice(&refusal).unwrap();
                assert_eq!(refusal["isError"], true);
                let text = refusal["content"][0]["text"].as_str().unwrap().to_owned();
                assert!(text.starts_with("send:") && text.ends_with(". Nothing was run."), "{text}");
                Err(text)
            }
        }
    }

    fn resolve(&self, arguments: &str) -> Result<String, String> {
        self.resolve_for(&self.caller, arguments)
    }
}

/// Arguments, in which `@rows@` is the name of a result and so on, and what the server gets.
const RESOLVED: [(&str, &str, &str); 19] = [
    ("a list", r#"{"rows":"result://@rows@"}"#, r#"{"rows":@one_line@}"#),
    ("an object form", r#"{"rows":{"$result":"@rows@"}}"#, r#"{"rows":@one_line@}"#),
    (
        "the rest stays as written",
        r#"{ "count" : 1.0e0 , "any":"result://@object@#/total","x":9007199254740993 }"#,
        r#"{ "count" : 1.0e0 , "any":2,"x":9007199254740993 }"#,
    ),
    ("an exact number", r#"{"any":"result://@rows@#/0/id"}"#, r#"{"any":9007199254740993}"#),
    (
        "a number beyond every type",
        r#"{"any":"result://@object@#/big"}"#,
        r#"{"any":123456789012345678901234567890}"#,
    ),
    ("digits as written", r#"{"any":"result://@rows@#/0/price"}"#, r#"{"any":1.50}"#),
    ("a string of digits", r#"{"any":"result://@object@#/text"}"#, r#"{"any":"0012"}"#),
    ("a text", r#"{"text":"result://@text@"}"#, r#"{"text":"A text of two lines,\nwith \"quotes\"."}"#),
    ("data for a string", r#"{"text":"result://@object@#/nested"}"#, r#"{"text":"{\"list\":[true,null]}"}"#),
    ("a number for a string", r#"{"text":"result://@object@#/total"}"#, r#"{"text":"2"}"#),
    (
        "nested in objects and lists",
        r#"{"deep":{"x":[1,["result://@object@#/nested/list/0"]]}}"#,
        r#"{"deep":{"x":[1,[true]]}}"#,
    ),
    (
        "several",
        r#"{"any":["result://@object@#/total","result://@object@#/nested/list/1",{"$result":"@rows@","path":"/1/name"}]}"#,
        r#"{"any":[2,null,"b"]}"#,
    ),
    ("a JSONPath", r#"{"any":{"$result":"@rows@","path":"$[1].name"}}"#, r#"{"any":"b"}"#),
    (
        "sql",
        r#"{"rows":{"$result":"@rows@","sql":"select name, id from t where id < 10"}}"#,
        r#"{"rows":[{"name":"b","id":2}]}"#,
    ),
    (
        "sql without rows",
        r#"{"rows":{"$result":"@rows@","sql":"select id from t where 0"}}"#,
        r#"{"rows":[]}"#,
    ),
    ("an escaped spelling", r#"{"any":"\u0072esult:\/\/@object@#\/total"}"#, r#"{"any":2}"#),
    ("an escaped member", r#"{"any":{"\u0024result":"@object@","path":"/total"}}"#, r#"{"any":2}"#),
    (
        "a duplicate key",
        r#"{"any":"result://@object@#/total","any":"result://@object@#/text"}"#,
        r#"{"any":2,"any":"0012"}"#,
    ),
    ("a block of the result", r#"{"text":"result://@text@#/content/0/type"}"#, r#"{"text":"text"}"#),
];

/// Arguments that are refused, with words that the refusal must contain.
const REFUSED: [(&str, &str, &[&str]); 24] = [
    ("unknown", r#"{"any":"result://list-000000000000"}"#, &["argument /any:", "no result is kept under"]),
    ("foreign", r#"{"any":"result://@foreign@"}"#, &["no result is kept under"]),
    (
        "another server",
        r#"{"any":["result://@elsewhere@"]}"#,
        &["argument /any/0:", "of the server \"jira\"", "references_from = [\"jira\"]"],
    ),
    ("too large", r#"{"any":"result://@large@"}"#, &["more than 200 bytes", "reference_max_bytes"]),
    (
        "too large by sql",
        r#"{"any":{"$result":"@rows@","sql":"select a.*, b.*, c.* from t a, t b, t c"}}"#,
        &["more than 200 bytes"],
    ),
    (
        "too large together",
        r#"{"any":["result://@rows@","result://@rows@","result://@rows@"]}"#,
        &["argument /any/", "more than 200 bytes"],
    ),
    ("too many", r#"{"any":[@seventeen@]}"#, &["the call has 17 references, and 16 are possible"]),
    ("a pointer to nothing", r#"{"any":"result://@object@#/missing"}"#, &["argument /any:", "missing"]),
    ("a pointer into a number", r#"{"any":"result://@object@#/total/x"}"#, &["argument /any:"]),
    ("a path to several", r#"{"any":{"$result":"@rows@","path":"$[*].id"}}"#, &["leads to several values"]),
    ("wrong jq", r#"{"any":{"$result":"@rows@","jq":".["}}"#, &["argument /any:"]),
    ("failing jq", r#"{"any":{"$result":"@rows@","jq":"error(1)"}}"#, &["argument /any:"]),
    ("a long program", r#"{"any":{"$result":"@rows@","jq":".@long@"}}"#, &["jq"]),
    ("wrong sql", r#"{"any":{"$result":"@rows@","sql":"select nothing from nowhere"}}"#, &["argument /any:"]),
    ("writing sql", r#"{"any":{"$result":"@rows@","sql":"delete from t"}}"#, &["argument /any:"]),
    (
        "another server in jq",
        r#"{"any":{"$result":"@rows@","jq":"$results[\"@elsewhere@\"]"}}"#,
        &["of the server \"jira\""],
    ),
    (
        "another server in sql",
        r#"{"any":{"$result":"@rows@","sql":"select * from \"@elsewhere@\""}}"#,
        &["of the server \"jira\""],
    ),
    (
        "a string for an integer",
        r#"{"count":"result://@object@#/text"}"#,
        &["argument /count:", "it is of type string, but must be integer"],
    ),
    (
        "an object for a list",
        r#"{"rows":"result://@object@"}"#,
        &["argument /rows:", "it is of type object, but must be array"],
    ),
    (
        "numbers in a list of strings",
        r#"{"names":{"$result":"@rows@","sql":"select id from t"}}"#,
        &["argument /names:", "element 0"],
    ),
    (
        "a member too many",
        r#"{"any":{"$result":"@rows@","page":2}}"#,
        &["argument /any:", "one of jq, path and sql"],
    ),
    ("two views", r#"{"any":{"$result":"@rows@","jq":".","sql":"select 1"}}"#, &["one of jq, path and sql"]),
    ("a name twice", r#"{"any":{"$result":"@rows@","$result":"@rows@"}}"#, &["one of jq, path and sql"]),
    ("an address as a name", r#"{"any":{"$result":"result://@rows@"}}"#, &["the name of a result alone"]),
];

/// Puts names of results, and other texts, into the arguments of a case.
fn filled(arguments: &str, texts: &[(&str, &str)]) -> String {
    texts.iter().fold(arguments.to_owned(), |filled, (name, text)| filled.replace(&format!("@{name}@"), text))
}

#[test]
fn values_are_put_where_the_references_stand() {
    let fixture = Fixture::new();
    let [rows, object, text] = [ROWS, OBJECT, TEXT].map(|text| fixture.keep(text));
    let one_line = ROWS.replace('\n', "");
    let texts = [("rows", &*rows), ("object", &object), ("text", &text), ("one_line", &one_line)];
    for (name, arguments, expected) in RESOLVED {
        let resolved = fixture.resolve(&filled(arguments, &texts));
        assert_eq!(resolved, Ok(filled(expected, &texts)), "{name}");
    }
}

#[test]
fn what_cannot_be_resolved_is_refused_with_the_argument_and_the_reason() {
    let fixture = Fixture::with(Rules { reference_max_bytes: Some(200), ..Rules::default() });
    let [rows, object] = [ROWS, OBJECT].map(|text| fixture.keep(text));
    let large = fixture.keep(&format!("[{}1]", "1,".repeat(200)));
    let mut bob = fixture.caller.clone();
    bob.principal = Principal::Named(CallerId::new("bob").unwrap());
    let foreign = fixture.keep_as(&bob, "here", "list", ROWS);
    let elsewhere = fixture.keep_as(&fixture.caller, "jira", "list", ROWS);
    let seventeen = vec![format!("\"result://{object}#/total\""); 17].join(",");
    let long = " ".repeat(5000);
    let texts = [
        ("rows", &*rows),
        ("object", &object),
        ("large", &large),
        ("foreign", &foreign),
        ("elsewhere", &elsewhere),
        ("seventeen", &seventeen),
        ("long", &long),
    ];
    for (name, arguments, words) in REFUSED {
        let arguments = filled(arguments, &texts);
        let refused = fixture.resolve(&arguments).unwrap_err();
        for words in words {
            assert!(refused.contains(words), "{name}: {refused}");
        }
        assert!(fixture.gate.holds_references(arguments.as_bytes(), &(0..arguments.len())), "{name}");
    }
    assert!(fixture.resolve(&format!(r#"{{"any":"result://{rows}"}}"#)).is_ok());
    fixture.clock.advance(Duration::from_secs(601));
    let expired = fixture.resolve(&format!(r#"{{"any":"result://{rows}"}}"#)).unwrap_err();
    assert!(expired.contains("expired") && expired.contains("only if it is safe to repeat"), "{expired}");
}

#[test]
fn a_server_gets_results_of_others_only_where_that_is_allowed() {
    let fixture = Fixture::new();
    for (server, is_allowed) in
        [("here", true), ("github", true), ("github-work", true), ("jira", false), ("", false)]
    {
        let name = fixture.keep_as(&fixture.caller, server, "list", "[1]");
        let resolved = fixture.resolve(&format!(r#"{{"any":"result://{name}"}}"#));
        assert_eq!(resolved.is_ok(), is_allowed, "{server}: {resolved:?}");
    }
}

#[test]
fn a_result_above_the_tier_is_as_if_it_were_not_there() {
    let fixture = Fixture::new();
    let (above, below) = (
        fixture.keep_as(&fixture.caller, "here", "secret", "[1]"),
        fixture.keep_as(&fixture.caller, "here", "list", "[1]"),
    );
    let mut reader = fixture.caller.clone();
    reader.profile.tier = Tier::Read;
    let refused = fixture.resolve_for(&reader, &format!(r#"{{"any":"result://{above}"}}"#)).unwrap_err();
    assert!(refused.contains("no result is kept under"), "{refused}");
    assert!(fixture.resolve_for(&reader, &format!(r#"{{"any":"result://{below}"}}"#)).is_ok());
    assert!(fixture.resolve(&format!(r#"{{"any":"result://{above}"}}"#)).is_ok(), "who may do everything");
}

#[test]
fn only_tools_that_are_set_take_references() {
    let fixture = Fixture::new();
    assert!(fixture.gate.takes_references("send") && !fixture.gate.takes_references("off"));
    assert!(fixture.gate.input_schema("send").is_some() && fixture.gate.input_schema("off").is_none());
    let changed = LIST.replace(r#""count":{"type":"integer"}"#, r#""count":{"type":"string"}"#);
    fixture.gate.tools(&mut fixture.caller.clone(), changed.as_bytes(), true);
    let name = fixture.keep("[1]");
    assert_eq!(fixture.resolve(&format!(r#"{{"count":"result://{name}"}}"#)).unwrap(), r#"{"count":"[1]"}"#);
    // A tool whose schema is not known gets the value as it is.
    fixture.gate.tools(&mut fixture.caller.clone(), br#"{"tools":[{"name":"send"}]}"#, true);
    assert_eq!(fixture.resolve(&format!(r#"{{"count":"result://{name}"}}"#)).unwrap(), r#"{"count":[1]}"#);
}

#[test]
fn a_gate_takes_references_only_if_somebody_resolves_them() {
    let policies = Policies::of_defaults(Rules { references: Some(true), ..Rules::default() });
    let gate = Gate::new(Setup {
        keep: Arc::new(UserStore::of_user(StoreLocation::Memory)),
        policies,
        engines: Queries::new(Limits::default(), Worker::new("/nonexistent".into())),
        server: "here".into(),
    });
    let mut caller = Caller::unknown(Vec::new());
    let listed = gate.tools(&mut caller, LIST.as_bytes(), true).unwrap();
    assert!(!gate.takes_references("send") && !String::from_utf8(listed).unwrap().contains("result://"));
    let gate = gate.resolving_references();
    let listed = gate.tools(&mut caller, LIST.as_bytes(), true).unwrap();
    assert!(
        gate.takes_references("send") && String::from_utf8(listed).unwrap().contains("result://ID#/pointer")
    );
}

#[test]
fn the_ledger_names_results_and_no_values() {
    let fixture = Fixture::new();
    let name = fixture.keep(r#"["a value"]"#);
    fixture.resolve(&format!(r#"{{"any":"result://{name}"}}"#)).unwrap();
    let entries = fixture.entries.lock().unwrap();
    let [entry] = entries.as_slice() else { panic!("{entries:?}") };
    assert_eq!((entry.tool.as_str(), entry.step.as_str(), entry.sent_tokens), ("list", "view", 0));
    assert_eq!(entry.view.as_deref(), Some(REFERENCE));
    assert!(name.ends_with(entry.artifact.as_deref().unwrap()));
    assert!(!format!("{entry:?}").contains("a value"));
    fixture.keep.flush();
}
