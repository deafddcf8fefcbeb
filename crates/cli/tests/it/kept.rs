//! The cycle a person can try in a shell: keep, list, read, export, remove.

use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_gate::{StoreLocation, UserStore};
use tidegate_store::{Call, Clock, Ledger, LineLedger, NewArtifact, SystemClock};
use tidegate_testkit::{make, sample};

use crate::place::Place;
use crate::{Outcome, tidegate_in};

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        tidegate_in(Some(self.0.path()), arguments, b"")
    }

    fn keep(&self, tool: &str, result: &[u8]) -> String {
        let kept = tidegate_in(
            Some(self.0.path()),
            &["shape", "--keep", "--tool", tool, "--format", "json"],
            result,
        );
        assert_eq!(kept.code, 0, "{}", kept.stderr);
        json(&kept)["id"].as_str().unwrap().to_owned()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let outcome = self.run(&[arguments, &["--format", "json"]].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        json(&outcome)
    }

    fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let outcome = self.run(arguments);
        assert!(outcome.stdout.is_empty(), "{}", outcome.text());
        assert_eq!(outcome.stderr.lines().count(), 1, "one line: {}", outcome.stderr);
        (outcome.code, outcome.stderr)
    }
}

fn json(outcome: &Outcome) -> Value {
    serde_json::from_slice(&outcome.stdout).unwrap()
}

/// A server without SQLite keeps its results in files, and its calls in lines.
#[test]
fn results_of_servers_without_a_database_are_read() {
    let home = Home::new();
    let in_database = home.keep("list_gates", &make::text_result(&sample::issues(50)));
    let result = make::text_result(&sample::issues(300));
    let server = UserStore::of_user(StoreLocation::Files(Some(home.0.path().to_owned())));
    let outline = Outline::read(&Payload::read_result(&result).unwrap()).unwrap();
    let new = server.new_artifact("list_issues", Duration::from_secs(600));
    let new = NewArtifact { server: "github", ..new };
    let kept = server.put(&new, &result, &|| Ok(UserStore::description(&outline, 5000))).unwrap();
    let id = format!("list_issues-{}", kept.id);
    assert!(home.0.path().join("artifacts").is_dir());

    let listed = home.json(&["ls"]);
    let names: Vec<&str> = listed.as_array().unwrap().iter().filter_map(|kept| kept["id"].as_str()).collect();
    assert_eq!(names, [id.as_str(), in_database.as_str()]);
    assert_eq!(listed[0]["server"], "github");
    assert_eq!(home.json(&["query", &id, "--sql", "select max(number) m from t"])["body"], "m\n4499");
    assert_eq!(home.json(&["gc"])["kept"], 2);

    let ledger = LineLedger::open(home.0.path()).unwrap();
    ledger.note(Call {
        at: SystemClock.now(),
        client: "claude-code".into(),
        server: "github".into(),
        tool: "list_issues".into(),
        step: "overview".into(),
        raw_bytes: 20_000,
        raw_tokens: 5000,
        sent_bytes: 4000,
        sent_tokens: 1000,
        added_micros: 900,
        artifact: Some(kept.id.to_string()),
        session: None,
        view: None,
        stored_bytes: kept.stored_bytes,
        counted: None,
        budget_tokens: 1000,
        owner: None,
    });
    drop(ledger);
    let stats = home.json(&["stats"]);
    assert_eq!((&stats["calls"], &stats["raw_tokens"]), (&1.into(), &5000.into()));
    assert_eq!(stats["store_results"], 2);
    // A server that was killed left half a line.
    let mut files = std::fs::read_dir(home.0.path()).unwrap().map(|file| file.unwrap().path());
    let lines = files.find(|path| path.extension().is_some_and(|extension| extension == "jsonl")).unwrap();
    std::fs::write(&lines, [std::fs::read(&lines).unwrap(), b"{\"at\":17".to_vec()].concat()).unwrap();
    let stats = home.run(&["stats", "--format", "json"]);
    assert_eq!(json(&stats)["calls"], 1);
    assert!(stats.stderr.contains("skipped 1 line of the ledger"), "{}", stats.stderr);

    assert_eq!(home.run(&["rm", &id]).code, 0);
    assert_eq!(home.json(&["ls"]).as_array().unwrap().len(), 1);
}

#[test]
fn keep_list_read_export_remove() {
    let home = Home::new();
    let result = make::text_result(&sample::issues(300));
    let id = home.keep("list_issues", &result);
    assert!(id.starts_with("list_issues-"), "{id}");

    let listed = home.json(&["ls"]);
    assert_eq!((listed[0]["id"].as_str(), listed[0]["records"].as_u64()), (Some(id.as_str()), Some(300)));
    assert!(home.run(&["ls"]).text().contains(&id));
    assert_eq!(home.json(&["show", &id])["bytes"], result.len());
    assert!(home.run(&["show", &id]).text().contains("read it with: tidegate query list_issues-"));

    let summary = home.run(&["query", &id]);
    assert!(summary.text().starts_with("list_issues returned 300 rows"), "{}", summary.text());
    assert_eq!(home.json(&["query", &id, "--jq", "length"])["body"], "300");
    assert_eq!(home.json(&["query", &id, "--path", "/7/number"])["body"], "4207");
    assert_eq!(home.json(&["query", &id, "--sql", "select max(number) m from t"])["body"], "m\n4499");
    assert!(home.json(&["query", &id, "--grep", "critical"])["body"].as_str().unwrap().starts_with("/150 {"));
    assert!(
        home.json(&["query", &id, "--fields", "number,state", "--page-size", "2"])["body"]
            .as_str()
            .unwrap()
            .starts_with("number,state\n4200,")
    );
    assert_eq!(home.json(&["query", &id, "--range", "0-9"])["body"], "{\"content\"");

    assert_eq!(home.run(&["export", &id]).stdout, result);
    let file = home.0.path().join("out.json");
    home.run(&["export", &id, "-o", file.to_str().unwrap()]);
    assert_eq!(std::fs::read(&file).unwrap(), result);

    assert_eq!(home.run(&["rm", &id]).code, 0);
    assert_eq!(home.json(&["ls"]), Value::Array(vec![]));
    assert_eq!(home.json(&["gc"])["kept"], 0);
}

#[test]
fn a_block_is_exported_by_its_number() {
    let home = Home::new();
    let result = r#"{"content":[{"type":"text","text":"a\nb"},{"type":"image","data":"aGVsbG8","mimeType":"image/png"}]}"#;
    let id = home.keep("screenshot", result.as_bytes());
    let file = home.0.path().join("shot.png");
    home.run(&["export", &id, "--block", "2", "-o", file.to_str().unwrap()]);
    assert_eq!(std::fs::read(&file).unwrap(), b"hello");
    assert_eq!(home.run(&["export", &id, "--block", "1"]).stdout, b"a\nb");
    assert_eq!(home.refused(&["export", &id, "--block", "3"]).0, 2);
}

/// Law 2 through the command line: the last cursor leads to the last record.
#[test]
fn a_walk_by_cursors_holds_every_record() {
    let home = Home::new();
    let id = home.keep("list_issues", &make::text_result(&sample::issues(120)));
    let mut numbers: Vec<u64> = Vec::new();
    let mut next = vec!["--page-size".to_owned(), "7".to_owned()];
    loop {
        let arguments: Vec<&str> = ["query", &id, "--max-tokens", "800"]
            .into_iter()
            .chain(next.iter().map(String::as_str))
            .collect();
        let part = home.json(&arguments);
        for line in part["body"].as_str().unwrap().lines() {
            numbers.push(serde_json::from_str::<Value>(line).unwrap()["number"].as_u64().unwrap());
        }
        match part["next"].as_str() {
            Some(cursor) => next = vec!["--cursor".into(), cursor.into()],
            None => break,
        }
    }
    assert_eq!(numbers, (4200..4320).collect::<Vec<u64>>());
}

#[test]
fn every_sample_comes_back_byte_for_byte() {
    let home = Home::new();
    for (name, result) in sample::all() {
        let id = home.keep(name, &result);
        assert!(home.run(&["export", &id]).stdout == result, "{name}");
    }
}

#[test]
fn bad_input_says_what_to_do() {
    let home = Home::new();
    let id = home.keep("list_issues", &make::text_result(&sample::issues(300)));
    let other = home.keep("other", &make::text_result(&sample::issues(100)));
    let cursor = home.json(&["query", &id, "--page-size", "100"])["next"].as_str().unwrap().to_owned();
    let query = |arguments: &[&str]| home.refused(&[&["query", &id], arguments].concat());

    assert_eq!(
        home.refused(&["query", "nonsense"]),
        (
            2,
            "tidegate: \"nonsense\" is not the name of a result; names look like list_issues-3f9c2kq7m0xw\n"
                .into()
        )
    );
    assert_eq!(
        home.refused(&["show", "t-000000000000"]),
        (
            1,
            "tidegate: no stored result is named \"t-000000000000\"; tidegate ls lists stored results\n"
                .into()
        )
    );
    assert_eq!(home.refused(&["rm", "t-000000000000"]).0, 1);
    assert_eq!(home.refused(&["export", "t-000000000000"]).0, 1);
    let foreign = home.refused(&["query", &other, "--cursor", &cursor]);
    assert!(foreign.0 == 2 && foreign.1.contains("not a cursor of this result"), "{foreign:?}");
    let broken = query(&["--cursor", &cursor[1..]]);
    assert!(broken.0 == 2 && broken.1.contains("cursor"), "{broken:?}");
    assert_eq!(
        query(&["--jq", ".", "--sql", "select 1"]),
        (2, "tidegate: jq and sql are two views; ask for one of them at a time\n".into())
    );
    assert_eq!(query(&["--page", "0"]).0, 2);
    for (tokens, note) in [
        ("5", "--max-tokens 5: an answer may have at least 250 tokens\n"),
        ("50000", "--max-tokens 50000: an answer may have at most 10,000 tokens\n"),
    ] {
        let outcome = home.run(&["query", &id, "--max-tokens", tokens]);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, note));
    }
    let regex = query(&["--grep", "a("]);
    assert!(regex.0 == 1 && regex.1.contains("is not a regular expression"), "{regex:?}");
    let jq = query(&["--jq", ".["]);
    assert!(jq.0 == 1 && jq.1.contains("jq error"), "{jq:?}");
    let write = query(&["--sql", "delete from t"]);
    assert!(write.0 == 1 && write.1.contains("can only be read"), "{write:?}");
    let path = query(&["--path", "/0/titel"]);
    assert!(path.0 == 1 && path.1.contains("Did you mean title?"), "{path:?}");
    let beyond = query(&["--page", "99999"]);
    assert!(beyond.0 == 2 && beyond.1.contains("is beyond the end"), "{beyond:?}");
    // Nothing was lost by any of this.
    assert_eq!(home.json(&["query", &id, "--jq", "length"])["body"], "300");
}

#[test]
fn an_expired_result_says_when() {
    let home = Home::new();
    let id = home.keep("list_issues", &make::text_result(&sample::issues(30)));
    let database = home.0.path().join("artifacts.db");
    let connection = rusqlite::Connection::open(database).unwrap();
    connection.execute("UPDATE artifact SET expires = 1000", []).unwrap();
    let expired = home.refused(&["query", &id]);
    assert_eq!(expired.0, 1);
    assert!(
        expired.1.contains("expired 1970-01-01T00:00:01Z; call the tool again if it is safe to repeat"),
        "{expired:?}"
    );
    assert_eq!(home.json(&["gc"])["expired"], 1);
}

#[test]
fn a_store_out_of_reach_is_exit_code_3() {
    let home = Home::new();
    let file = home.0.path().join("file");
    std::fs::write(&file, "").unwrap();
    let outcome = tidegate_in(Some(&file.join("below")), &["ls"], b"");
    assert_eq!(outcome.code, 3, "{}", outcome.stderr);
    std::fs::write(
        home.0.path().join("artifacts.db"),
        "this is no database, but long enough to be taken for one".repeat(100),
    )
    .unwrap();
    let outcome = home.run(&["ls"]);
    assert_eq!(outcome.code, 3);
    assert!(outcome.stderr.contains("damaged; move artifacts.db away"), "{}", outcome.stderr);
}

#[test]
fn nothing_kept_is_said() {
    let outcome = Home::new().run(&["ls"]);
    assert_eq!((outcome.code, outcome.text()), (0, ""));
    assert!(outcome.stderr.contains("no results are stored"));
}

#[test]
fn a_query_follows_the_policy_of_the_tool() {
    let place = Place::new();
    place.configure(
        "[server.upstream.tool.rows]\npage_size = 3\nfields = [\"number\"]\nfollow_up_tokens = 700\n",
    );
    let mut session = place.start(&[]);
    let id = session.keep_rows(400);
    // The ledger, which knows the server of the tool, is written when the session ends.
    place.end(session);
    let query = |arguments: &[&str]| {
        let command = Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args([&["query", id.as_str()], arguments].concat())
            .env("TIDEGATE_HOME", place.home())
            .env("XDG_CONFIG_HOME", place.home())
            .current_dir(place.folder.path())
            .output();
        String::from_utf8(command.unwrap().stdout).unwrap()
    };
    let page = query(&["--page", "2"]);
    assert!(page.contains("rows 4-6 of 400"), "{page}");
    let summary = query(&[]);
    assert!(summary.lines().any(|line| line == "#,number"), "{summary}");
    let report: Value = serde_json::from_str(&query(&["--format", "json"])).unwrap();
    assert!(report["tokens"].as_u64().unwrap() <= 700, "{report}");
}

/// What changed between two results: lines for people, and a patch that gives the new result byte for byte.
#[test]
fn a_diff_is_read_by_people_and_applied_by_programs() {
    let home = Home::new();
    let mut rows: Vec<Value> = serde_json::from_str(&sample::issues(300)).unwrap();
    let old = make::text_result(&Value::from(rows.clone()).to_string());
    rows[5]["state"] = "reopened \u{e9}".into();
    rows.remove(9);
    let new = make::text_result(&Value::Array(rows).to_string());
    let (old_id, new_id) = (home.keep("list_issues", &old), home.keep("list_issues", &new));

    let outcome = home.run(&["diff", &old_id, &new_id]);
    let shown = outcome.text();
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with(&format!("{old_id} (")) && lines[0].contains("1 removed (by "), "{shown}");
    assert!(lines.iter().any(|line| line.starts_with("~ ") && line.contains("reopened")), "{shown}");
    assert!(!shown.contains('\u{1b}'), "no colours in a pipe");

    for (from, to, from_bytes, to_bytes) in [(&old_id, &new_id, &old, &new), (&new_id, &old_id, &new, &old)] {
        let report = home.json(&["diff", from, to]);
        assert_eq!(report["equal"], false);
        assert_eq!(applied(from_bytes, &report["patch"]), *to_bytes);
        assert_eq!(home.run(&["export", to]).stdout, *to_bytes);
    }
    let report = home.json(&["diff", &new_id, &new_id]);
    assert_eq!((&report["equal"], &report["patch"]), (&true.into(), &Value::Array(Vec::new())));
    assert!(home.run(&["diff", &new_id, &new_id]).text().contains("equal: the same "));
    assert_eq!(home.refused(&["diff", &new_id, "list_issues-000000000000"]).0, 1);
}

/// Applies a patch as the help describes it.
fn applied(old: &[u8], patch: &Value) -> Vec<u8> {
    let (mut out, mut from) = (Vec::new(), 0);
    for edit in patch.as_array().unwrap() {
        let number = |name: &str| usize::try_from(edit[name].as_u64().unwrap()).unwrap();
        out.extend_from_slice(&old[from..number("at")]);
        out.extend_from_slice(edit["insert"].as_str().unwrap().as_bytes());
        from = number("at") + number("remove");
    }
    out.extend_from_slice(&old[from..]);
    out
}
