//! `result_save`: what is written, what is refused, and who may follow a link.

use std::path::{Path, PathBuf};

use tidegate_core::Tokens;

use super::*;
use crate::SavedLink;
use crate::caller::{CallerId, Principal};
use crate::tier::Tier;

const BASE: &str = "http://127.0.0.1:8080";

/// A gate that saves the results of `list*`, and a data folder.
struct Saving {
    fixture: Fixture,
    home: tempfile::TempDir,
}

impl Saving {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        Self::in_place(StoreLocation::Folder(Some(home.path().to_owned())), home)
    }

    fn in_place(place: StoreLocation, home: tempfile::TempDir) -> Self {
        let mut fixture = Fixture::in_place(place, Rules::default());
        let mut policies = Policies::default();
        policies.add_tools("list*", Rules { save: Some(true), ..Rules::default() });
        policies.add_tools("list_small", Rules { save_max_bytes: Some(1000), ..Rules::default() });
        policies.add_tools("list_admin", Rules { tier: Some(Tier::Admin), ..Rules::default() });
        fixture.gate.setup.policies = policies;
        // SQL runs in this process where there is no worker.
        let engines = Queries::new(Limits::default(), Worker::new("/nonexistent".into()));
        fixture.gate.file_engines = crate::gate::save::file_engines(&engines);
        fixture.gate = fixture.gate.saving_in(StoreLocation::Folder(Some(home.path().to_owned())));
        Self { fixture, home }
    }

    fn keep(&self, caller: &Caller, tool: &str) -> String {
        let called = ToolCall { tool: tool.into(), ..ToolCall::default() };
        let gate = &self.fixture.gate;
        let answer = text(&gate.decide(caller, &called, &issues().as_slice()).answer.unwrap());
        let at = answer.find("result: \"").unwrap() + 9;
        answer[at..].split('"').next().unwrap().to_owned()
    }

    /// Calls the tool, and returns the text of its answer, and whether it is an error.
    fn save_as(&self, caller: &Caller, arguments: &Value, base: Option<&str>) -> (String, bool) {
        let result = self.fixture.gate.save(caller, Some(arguments.to_string().as_bytes()), base);
        let is_error = serde_json::from_slice::<Value>(&result).unwrap()["isError"] == true;
        (text(&result), is_error)
    }

    fn saved(&self, arguments: &Value) -> String {
        let (text, is_error) = self.save_as(&self.fixture.caller, arguments, None);
        assert!(!is_error, "{text}");
        text
    }

    fn refused(&self, arguments: &Value) -> String {
        let (text, is_error) = self.save_as(&self.fixture.caller, arguments, None);
        assert!(
            is_error && text.starts_with("result_save: ") && text.ends_with(". Nothing was written."),
            "{text}"
        );
        text
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join("saved").join(name)
    }

    fn files(&self) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.home.path().join("saved")) else { return Vec::new() };
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.retain(|name| name != ".index");
        names.sort();
        names
    }

    /// Asks for a link to all issues as CSV.
    fn link(&self, caller: &Caller, id: &str) -> String {
        let (text, is_error) = self.save_as(caller, &json!({"id": id, "name": "a.csv"}), Some(BASE));
        assert!(!is_error, "{text}");
        let link = text.strip_prefix("The file is at ").and_then(|text| text.strip_prefix(BASE));
        link.unwrap_or_else(|| panic!("{text}")).split(' ').next().unwrap().to_owned()
    }

    /// Follows a link; `None` if it leads to nothing.
    fn follow(&self, caller: &Caller, path: &str) -> Option<String> {
        let mut sent = Vec::new();
        let done = self.fixture.gate.download(caller, &SavedLink::parse(path)?, &mut sent);
        match done {
            Ok(()) => Some(String::from_utf8(sent).unwrap()),
            Err(DownloadError::Gone) => {
                assert!(sent.is_empty(), "nothing is sent");
                None
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn caller_named(name: &str) -> Caller {
    let mut caller = Caller::unknown(Vec::new());
    caller.principal = Principal::Named(CallerId::new(name).unwrap());
    caller
}

#[test]
fn a_view_is_written_whole_in_the_format_of_the_name() {
    let saving = Saving::new();
    let caller = &saving.fixture.caller;
    let (id, other) = (saving.keep(caller, "list"), saving.keep(caller, "list_more"));
    let answer = saving.saved(&json!({"id": id, "name": "all.csv"}));
    let path = saving.path("all.csv");
    let bytes = std::fs::read_to_string(&path).unwrap();
    assert_eq!(bytes.lines().count(), 201);
    let size = tidegate_core::Bytes(bytes.len() as u64);
    assert!(
        answer.starts_with(&format!("Saved \"{}\": {size} bytes, 200 rows, ", path.display())),
        "{answer}"
    );
    assert!(
        answer.contains("\nnumber, title, ") && answer.ends_with("with the result (kept 24 h)."),
        "{answer}"
    );
    assert!(caller.profile.meter.count(&answer) <= Tokens(2000));

    saving.saved(&json!({"id": id, "name": "all.jsonl"}));
    assert_eq!(std::fs::read_to_string(saving.path("all.jsonl")).unwrap().lines().count(), 200);
    saving.saved(&json!({"id": id, "name": "raw.bin"}));
    assert_eq!(std::fs::read(saving.path("raw.bin")).unwrap(), issues());
    saving.saved(&json!({"id": id, "name": "f.csv", "fields": ["number"]}));
    assert_eq!(std::fs::read_to_string(saving.path("f.csv")).unwrap().lines().count(), 201);
    let one = saving.saved(&json!({"id": id, "name": "p.json", "page": 2, "page_size": 3}));
    assert!(one.contains(", 3 rows") && !one.contains("Columns"), "{one}");
    let join = format!("select t.number n from t join \"{other}\" b on b.number = t.number");
    let joined = saving.saved(&json!({"id": id, "name": "j.csv", "sql": join}));
    assert!(joined.contains("200 rows, 1 columns. Columns:\n"), "{joined}");
}

#[test]
fn the_ledger_has_what_was_sent_to_the_model() {
    let mut saving = Saving::new();
    let calls: Arc<Mutex<Vec<Call>>> = Arc::default();
    let noted = Arc::clone(&calls);
    let observer: Observer = Arc::new(move |call: &Call| noted.lock().unwrap().push(call.clone()));
    saving.fixture.gate = saving.fixture.gate.observed_by(observer);
    let id = saving.keep(&saving.fixture.caller, "list");
    let answer = saving.saved(&json!({"id": id, "name": "a.csv"}));
    saving.refused(&json!({"id": id, "name": "a.csv"}));
    let calls = calls.lock().unwrap();
    let [_, saved, refused] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!(
        (saved.step.as_str(), saved.view.as_deref(), saved.tool.as_str()),
        ("view", Some("save"), "list")
    );
    assert_eq!(saved.sent_tokens, saving.fixture.caller.profile.meter.count(&answer).0);
    assert_eq!((saved.raw_tokens, saved.artifact.as_deref()), (saved.sent_tokens, id.rsplit('-').next()));
    assert_eq!((refused.step.as_str(), refused.view.as_deref()), ("view", Some("refused")));
}

#[test]
fn what_may_not_be_saved_is_not() {
    let saving = Saving::new();
    let caller = &saving.fixture.caller;
    let id = saving.keep(caller, "list");
    for (name, words) in [
        ("../a.csv", "is a path"),
        ("/tmp/a.csv", "is a path"),
        ("a/b.csv", "is a path"),
        (".hidden", "begins with a dot"),
        ("a\nb.csv", "control"),
        ("", "is empty"),
    ] {
        let refused = saving.refused(&json!({"id": id, "name": name}));
        assert!(refused.contains(words), "{refused}");
    }
    let off = saving.keep(caller, "search");
    assert!(saving.refused(&json!({"id": off, "name": "a.csv"})).contains("save = true"));
    let join = format!("select * from t join \"{off}\" b");
    let refused = saving.refused(&json!({"id": id, "name": "a.csv", "sql": join}));
    assert!(refused.contains("results of \"search\" may not be saved"), "{refused}");
    let small = saving.keep(caller, "list_small");
    let refused = saving.refused(&json!({"id": small, "name": "a.csv"}));
    assert!(refused.contains("more than 1,000 bytes, the limit (save_max_bytes)"), "{refused}");
    assert!(
        saving
            .refused(&json!({"id": small, "name": "a.csv", "sql": "select * from t"}))
            .contains("1,000 bytes")
    );
    assert!(
        saving.refused(&json!({"id": id, "name": "a.csv", "mode": "summary"})).contains("not its summary")
    );
    assert!(saving.refused(&json!({"id": id, "name": "a.csv", "fields": ["nope"]})).contains("nope"));
    assert!(saving.refused(&json!({"id": "list-000000000000", "name": "a"})).contains("no result is kept"));
    assert!(saving.files().is_empty(), "{:?}", saving.files());
    saving.saved(&json!({"id": small, "name": "a.csv", "page": 1, "page_size": 2}));
    assert!(
        saving.refused(&json!({"id": id, "name": "a.csv"})).contains("\"a.csv\" exists; choose another name")
    );
    assert_eq!(saving.files(), ["a.csv"]);
}

#[test]
fn only_who_may_read_a_result_may_save_it() {
    let saving = Saving::new();
    let bob = caller_named("bob");
    let mut reader = Caller::unknown(Vec::new());
    reader.profile.tier = Tier::Read;
    let (theirs, above) = (saving.keep(&bob, "list"), saving.keep(&saving.fixture.caller, "list_admin"));
    let mine = saving.keep(&reader, "list");
    for id in [&theirs, &above] {
        let sql = format!("select * from t join \"{id}\" b");
        for arguments in
            [json!({"id": id, "name": "a.csv"}), json!({"id": mine, "name": "a.csv", "sql": sql})]
        {
            let (refused, is_error) = saving.save_as(&reader, &arguments, None);
            assert!(is_error && refused.contains(&format!("no result is kept under \"{id}\"")), "{refused}");
        }
    }
    assert!(saving.files().is_empty());
}

#[test]
fn an_answer_fits_its_budget_whatever_the_columns_are() {
    let saving = Saving::new();
    let rows: Vec<Value> = (0..300)
        .map(|row| {
            json!(
                (0..300)
                    .map(|n| (format!("col\u{202e}umn {n} 漢字{}", "x".repeat(n)), row))
                    .collect::<std::collections::BTreeMap<_, _>>()
            )
        })
        .collect();
    let result = make::text_result(&json!(rows).to_string());
    let first = text(&saving.fixture.decide(&result).answer.unwrap());
    let answer = saving.saved(&json!({"id": name_in(&first), "name": "wide.csv"}));
    let cost = saving.fixture.caller.profile.meter.count(&answer);
    assert!(cost <= Tokens(2000) && answer.len() <= 10_240, "{cost}: {answer}");
    assert!(
        answer.contains(" more\n") && answer.contains("300 columns") && !answer.contains('\u{202e}'),
        "{answer}"
    );
}

#[test]
fn files_are_removed_with_their_result() {
    let saving = Saving::new();
    let gate = &saving.fixture.gate;
    let (one, two) =
        (saving.keep(&saving.fixture.caller, "list"), saving.keep(&saving.fixture.caller, "list_more"));
    saving.saved(&json!({"id": one, "name": "one"}));
    saving.saved(&json!({"id": two, "name": "two"}));
    gate.sweep();
    assert_eq!(saving.files(), ["one", "two"]);
    let keep = gate.keep();
    keep.open().unwrap().store.delete(&keep.owner, &ArtifactId::parse(&one).unwrap()).unwrap();
    gate.sweep();
    assert_eq!(saving.files(), ["two"], "removed");
    saving.fixture.clock.advance(Duration::from_secs(24 * 3600 + 1));
    gate.sweep();
    assert!(saving.files().is_empty(), "expired");
}

#[test]
fn results_in_memory_are_saved_too() {
    let saving = Saving::in_place(StoreLocation::Memory, tempfile::tempdir().unwrap());
    let id = saving.keep(&saving.fixture.caller, "list");
    let answer = saving.saved(&json!({"id": id, "name": "a.csv"}));
    assert!(answer.contains("kept in memory 24 h"), "{answer}");
    saving.fixture.gate.sweep();
    assert_eq!(saving.files(), ["a.csv"]);
    // Another store of the folder cannot tell that the result is gone.
    let other = UserStore::of_user(StoreLocation::Folder(Some(saving.home.path().to_owned())))
        .with_clock(Arc::<ManualClock>::clone(&saving.fixture.clock));
    other.open().unwrap();
    assert_eq!(other.sweep_saved(saving.home.path()), 0);
    saving.fixture.clock.advance(Duration::from_secs(24 * 3600 + 1));
    saving.fixture.gate.sweep();
    assert!(saving.files().is_empty());

    let file = tempfile::NamedTempFile::new().unwrap();
    let mut saving = Saving::in_place(StoreLocation::Memory, tempfile::tempdir().unwrap());
    saving.fixture.gate =
        saving.fixture.gate.saving_in(StoreLocation::Folder(Some(file.path().join("data"))));
    let id = saving.keep(&saving.fixture.caller, "list");
    let refused = saving.refused(&json!({"id": id, "name": "a.csv"}));
    assert!(refused.contains("cannot use the data folder"), "{refused}");
}

#[test]
fn the_tool_is_offered_where_a_policy_allows_it() {
    let listed = |gate: &Gate| {
        let list = br#"{"tools":[{"name":"list"}]}"#;
        let listed = gate.tools(&mut Caller::unknown(Vec::new()), list, true).unwrap();
        String::from_utf8(listed).unwrap().contains("\"result_save\"")
    };
    let saving = Saving::new();
    assert!(saving.fixture.gate.offers_saving() && listed(&saving.fixture.gate));
    let off = Fixture::new(Rules::default());
    let off = off.gate.saving_in(StoreLocation::Folder(Some(Path::new("/nonexistent").to_owned())));
    assert!(!off.offers_saving() && !listed(&off));
    let nowhere = Fixture::new(Rules { save: Some(true), ..Rules::default() });
    assert!(!nowhere.gate.offers_saving() && !listed(&nowhere.gate));
}

#[test]
fn a_link_leads_to_the_view_for_its_owner_until_it_expires() {
    let saving = Saving::new();
    let (ada, bob) = (caller_named("ada"), caller_named("bob"));
    let id = saving.keep(&ada, "list");
    let path = saving.link(&ada, &id);
    assert!(saving.files().is_empty(), "nothing is written");
    let file = saving.follow(&ada, &path).unwrap();
    assert_eq!(file.lines().count(), 201);
    assert_eq!(saving.follow(&bob, &path), None, "another caller");
    assert_eq!(saving.follow(&saving.fixture.caller, &path), None, "not even the user");
    for (at, _) in path.match_indices(|c: char| c.is_ascii_alphanumeric()).skip(6) {
        let mut forged = path.clone().into_bytes();
        forged[at] = if forged[at] == b'A' { b'B' } else { b'A' };
        assert_eq!(saving.follow(&ada, std::str::from_utf8(&forged).unwrap()), None, "{at}");
    }
    saving.fixture.clock.advance(Duration::from_secs(299));
    assert!(saving.follow(&ada, &path).is_some());
    saving.fixture.clock.advance(Duration::from_secs(1));
    assert_eq!(saving.follow(&ada, &path), None, "expired");
}

#[test]
fn a_link_is_checked_again_when_it_is_followed() {
    let mut saving = Saving::new();
    let admin = caller_named("ada");
    let mut reader = admin.clone();
    reader.profile.tier = Tier::Read;
    let id = saving.keep(&admin, "list_admin");
    let path = saving.link(&admin, &id);
    assert!(saving.follow(&admin, &path).is_some());
    assert_eq!(saving.follow(&reader, &path), None, "a lower tier");
    let own = saving.keep(&reader, "list");
    let link = saving.link(&reader, &own);
    let mut stricter = Policies::of_defaults(Rules { save: Some(true), ..Rules::default() });
    stricter.add_tools("list", Rules { tier: Some(Tier::Admin), ..Rules::default() });
    saving.fixture.gate.setup.policies = stricter;
    saving.fixture.gate.policies = Mutex::default();
    assert_eq!(saving.follow(&admin, &link), None, "the tier of whoever asked for it counts");
    saving.fixture.gate.setup.policies = Policies::default();
    saving.fixture.gate.policies = Mutex::default();
    assert_eq!(saving.follow(&admin, &path), None, "no policy allows it any more");
    let refused = saving.save_as(&admin, &json!({"id": id, "name": "a.csv"}), Some(BASE));
    assert!(refused.1, "{refused:?}");
}

#[test]
fn a_link_has_the_size_of_the_file_or_the_error() {
    let saving = Saving::new();
    let id = saving.keep(&saving.fixture.caller, "list");
    let (answer, _) = saving.save_as(&saving.fixture.caller, &json!({"id": id, "name": "é.csv"}), Some(BASE));
    assert!(answer.contains("/%C3%A9.csv for 300 s: ") && answer.contains(" bytes, 200 rows"), "{answer}");
    assert!(answer.ends_with("GET it with the headers that authorize your other requests here."));
    assert!(saving.fixture.caller.profile.meter.count(&answer) < Tokens(300), "{answer}");
    for (arguments, words) in [
        (json!({"id": id, "name": "a.csv", "fields": ["nope"]}), "nope"),
        (
            json!({"id": id, "name": "a.csv", "sql": format!("select 1 /*{}*/", "x".repeat(4000))}),
            "too long for a link",
        ),
    ] {
        let (answer, is_error) = saving.save_as(&saving.fixture.caller, &arguments, Some(BASE));
        assert!(is_error && answer.contains(words), "{answer}");
    }
}
