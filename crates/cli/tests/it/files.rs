//! `tidegate query -o FILE`: writes any view to a file, whole and exact, and never leaves a partial file.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tidegate_testkit::{make, sample};

use crate::place::Place;
use crate::session::{Session, handle};
use crate::{Outcome, tidegate_in};

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        tidegate_in(Some(self.0.path()), arguments, b"")
    }

    fn keep(&self, tool: &str, text: &str) -> String {
        let flags = ["shape", "--keep", "--tool", tool, "--format", "json"];
        let kept = tidegate_in(Some(self.0.path()), &flags, &make::text_result(text));
        assert_eq!(kept.code, 0, "{}", kept.stderr);
        serde_json::from_slice::<Value>(&kept.stdout).unwrap()["id"].as_str().unwrap().to_owned()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join("out").join(name)
    }

    /// Writes a view to a file, and returns the file.
    fn write(&self, name: &str, arguments: &[&str]) -> String {
        std::fs::create_dir_all(self.0.path().join("out")).unwrap();
        let file = self.file(name);
        let outcome = self.run(&[&["query"], arguments, &["--force", "-o", file.to_str().unwrap()]].concat());
        assert_eq!((outcome.code, outcome.text()), (0, ""), "{}", outcome.stderr);
        assert!(outcome.stderr.starts_with("wrote "), "{}", outcome.stderr);
        std::fs::read_to_string(file).unwrap()
    }
}

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_view_is_written_in_the_format_of_the_ending() {
    let home = Home::new();
    let text = sample::issues(300);
    let id = home.keep("list_issues", &text);
    let all: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&home.write("a.json", &[&id])).unwrap(), all);
    assert_eq!(json!(rows(&home.write("a.jsonl", &[&id]))), all);
    assert_eq!(home.write("a.txt", &[&id]), text);
    assert_eq!(home.write("a.bin", &[&id]).as_bytes(), make::text_result(&text));
    assert_eq!(home.write("a", &[&id]).as_bytes(), make::text_result(&text));
    let table = home.write("a.csv", &[&id]);
    assert!(table.lines().next().unwrap().starts_with("number,title,"), "{table}");

    let fields = home.write("f.csv", &[&id, "--fields", "number,state"]);
    assert_eq!((fields.lines().next(), fields.lines().count()), (Some("number,state"), 301));
    let page = home.write("p.jsonl", &[&id, "--page", "2", "--page-size", "10"]);
    assert_eq!(rows(&page).iter().map(|row| row["number"].as_u64().unwrap()).sum::<u64>(), 42_145);
    let sql = ["--sql", "select number, title as \"the title\" from t where number < 4202 order by 1"];
    assert!(home.write("s.csv", &[&[id.as_str()][..], &sql].concat()).starts_with("number,the title\n4200,"));
    let listed: Value =
        serde_json::from_str(&home.write("s.json", &[&[id.as_str()][..], &sql].concat())).unwrap();
    assert_eq!((listed.as_array().unwrap().len(), &listed[1]["number"]), (2, &json!(4201)));
    let jq = [&id, "--jq", ".[] | select(.number < 4202) | {number}"];
    assert_eq!(home.write("j.jsonl", &jq), "{\"number\":4200}\n{\"number\":4201}\n");
    assert_eq!(home.write("j.csv", &jq), "number\n4200\n4201\n");
    assert_eq!(home.write("j.txt", &[&id, "--jq", ".[0].number, \"a\\nb\""]), "4200\na\nb\n");
    assert!(home.write("g.txt", &[&id, "--grep", "critical"]).starts_with("/150 {"));
    assert_eq!(home.write("v.txt", &[&id, "--path", "/7/number"]), "4207");
    assert_eq!(home.write("r.bin", &[&id, "--range", "0-9"]), "{\"content\"");
}

#[test]
fn a_result_is_found_by_the_beginning_of_its_name_or_as_the_last() {
    let home = Home::new();
    assert_eq!(home.run(&["query", "last"]).stderr, "tidegate: no results are stored\n");
    let first = home.keep("list_issues", &sample::issues(300));
    std::thread::sleep(std::time::Duration::from_millis(5));
    home.keep("list_pulls", &sample::issues(200));
    assert!(home.run(&["query", "last", "--page", "1"]).text().contains("of 200"));
    assert!(home.run(&["query", "list_i", "--page", "1"]).text().contains("of 300"));
    assert!(home.run(&["query", &first[..14], "--page", "1"]).text().contains("of 300"));
    assert!(home.run(&["show", "list_p"]).text().contains("list_pulls-"));
    assert_eq!(home.run(&["export", "list_i"]).stdout, make::text_result(&sample::issues(300)));
    let ambiguous = home.run(&["query", "list_"]);
    assert_eq!(ambiguous.code, 2);
    assert!(
        ambiguous.stderr.starts_with(
            "tidegate: 2 results begin with \"list_\"; name one of them, newest first: list_pulls-"
        ),
        "{}",
        ambiguous.stderr
    );
    assert_eq!(home.run(&["query", "other"]).code, 2);
    assert_eq!(home.run(&["rm", "list_i"]).code, 2, "nothing is removed by a part of its name");
}

#[test]
fn a_query_joins_stored_results() {
    let home = Home::new();
    let (one, two) =
        (home.keep("list_issues", &sample::issues(300)), home.keep("search", &sample::issues(100)));
    let join = format!("select t.number, b.title from t join \"{two}\" b on b.number = t.number");
    assert_eq!(home.write("j.csv", &[&one, "--sql", &join]).lines().count(), 101);
    let jq = home.run(&["query", &one, "--jq", &format!("length - ($results[\"{two}\"] | length)")]);
    assert!(jq.text().contains("\n200\n"), "{}", jq.text());
    let gone = home.run(&["query", &one, "--sql", "select * from \"bom-000000000000\""]);
    assert!(gone.code == 1 && gone.stderr.contains("no stored result is named"), "{}", gone.stderr);
}

/// The names of everything in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn no_file_is_overwritten_unforced_or_left_partial() {
    let home = Home::new();
    let id = home.keep("list_issues", &sample::issues(300));
    home.write("a.csv", &[&id]);
    let file = home.file("a.csv");
    let path = file.to_str().unwrap();
    std::fs::write(&file, "mine").unwrap();
    for command in ["query", "export"] {
        let refused = home.run(&[command, &id, "-o", path]);
        assert_eq!(refused.code, 2);
        assert!(refused.stderr.ends_with("exists; use --force to overwrite it\n"), "{}", refused.stderr);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    }
    // A query that fails after its first results leaves nothing behind, nor does it touch the old file.
    for arguments in [
        ["--jq", ".[0], error(\"late\")"],
        ["--fields", "nothing"],
        ["--sql", "select abs(case when number > 4400 then -9223372036854775808 else 1 end) from t"],
    ] {
        let failed = home.run(&[&["query", &id, "--force", "-o", path], &arguments[..]].concat());
        assert_eq!(failed.code, 1, "{arguments:?}: {}", failed.stderr);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    }
    assert_eq!(names(file.parent().unwrap()), ["a.csv"]);
    for (arguments, words) in [
        (&["--mode", "summary"][..], "a file gets the data, not its summary"),
        (&["--max-tokens", "500"], "cannot be used with"),
        (&["--jq", ".", "--sql", "select 1"], "two views"),
    ] {
        let refused = home.run(&[&["query", &id, "-o", "/nonexistent/x.csv"], arguments].concat());
        assert!(refused.code == 2 && refused.stderr.contains(words), "{}", refused.stderr);
    }
    let nowhere = home.run(&["query", &id, "-o", "/nonexistent/folder/x.csv"]);
    assert!(nowhere.code == 1 && nowhere.stderr.contains("cannot write"), "{}", nowhere.stderr);
    let report = home.run(&["query", &id, "-o", home.file("b.csv").to_str().unwrap(), "--format", "json"]);
    let report: Value = serde_json::from_slice(&report.stdout).unwrap();
    assert_eq!((&report["rows"], &report["columns"][0]), (&json!(300), &json!("number")));
}

/// A full disk is an error that names the file, and leaves nothing under its name.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_no_file() {
    let home = Home::new();
    let id = home.keep("list_issues", &sample::issues(3000));
    home.write("small.json", &[&id, "--page", "1"]);
    let file = home.file("a.jsonl");
    // A limit on the size of files ends a write as a full disk does, once its signal is ignored.
    let limited = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 64; exec \"$0\" query \"$1\" -o \"$2\""])
        .args([env!("CARGO_BIN_EXE_tidegate"), &id, file.to_str().unwrap()])
        .env("TIDEGATE_HOME", home.0.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8(limited.stderr).unwrap();
    assert_eq!(limited.status.code(), Some(1), "{stderr}");
    assert!(stderr.contains("cannot write") && stderr.contains("a.jsonl"), "{stderr}");
    assert_eq!(names(file.parent().unwrap()), ["small.json"]);
}

/// Writing 200 MB takes little memory, and a process that is killed meanwhile leaves no file under its name.
#[test]
#[cfg(target_os = "linux")]
fn a_large_result_is_written_with_little_memory() {
    let home = Home::new();
    let line = format!("{{\"id\":1234567,\"name\":\"{}\"}}\n", "wide ".repeat(200));
    let text = line.repeat((200 << 20) / line.len() + 1);
    let id = home.keep("rows", &text);
    std::fs::create_dir_all(home.0.path().join("out")).unwrap();
    let start = |name: &str| {
        Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args(["query", &id, "-o", home.file(name).to_str().unwrap()])
            .env("TIDEGATE_HOME", home.0.path())
            .stderr(Stdio::null())
            .spawn()
            .unwrap()
    };
    let mut killed = start("killed.jsonl");
    while names(&home.0.path().join("out")).is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(!home.file("killed.jsonl").exists());

    let mut child = start("all.jsonl");
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse::<u64>().ok());
        most = most.max(peak.unwrap_or(0) / 1024);
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!((1..64).contains(&most), "{most} MiB");
    assert!(std::fs::read(home.file("all.jsonl")).unwrap() == text.as_bytes());
}

/// `keep = "all"` changes nothing that a client reads, and stores results that passed.
#[test]
fn keep_all_in_the_users_file_stores_results_that_pass() {
    let place = Place::new();
    let answer = |flags: &[&str]| {
        let mut session = Session::start(&place.home(), flags).greeted("somebody");
        session.ask("tools/call", json!({"name": "rows", "arguments": {"n": 3}}));
        let line = session.line().unwrap();
        place.end(session);
        line
    };
    let listed = || {
        let listed = tidegate_in(Some(&place.home()), &["ls", "--format", "json"], b"");
        serde_json::from_slice::<Value>(&listed.stdout).unwrap()
    };
    let before = answer(&[]);
    assert_eq!(listed(), json!([]));
    let file = place.home().join("mine.toml");
    std::fs::write(&file, "[server.upstream.tool.rows]\nkeep = \"all\"\n").unwrap();
    let config = ["--config", file.to_str().unwrap()];
    assert_eq!(answer(&config), before, "byte for byte");
    let kept = listed();
    assert_eq!((kept[0]["tool"].as_str(), kept[0]["records"].as_u64()), (Some("rows"), Some(3)));
    assert_eq!(
        (kept[0]["server"].as_str(), kept[0]["arguments"].as_str()),
        (Some("upstream"), Some("{\"n\":3}"))
    );
    let sent: Value = serde_json::from_slice(&before).unwrap();
    let stored: Value = serde_json::from_slice(&place.export(kept[0]["id"].as_str().unwrap())).unwrap();
    assert_eq!(stored, sent["result"]);
    place.configure("[server.upstream]\nkeep = \"all\"\n");
    let refused = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["run", "--", "true"])
        .env("TIDEGATE_HOME", place.home())
        .env("XDG_CONFIG_HOME", place.home())
        .current_dir(place.folder.path())
        .output()
        .unwrap();
    let stderr = String::from_utf8(refused.stderr).unwrap();
    assert!(stderr.contains("a project's file may not set keep"), "{stderr}");
}

/// Answers to a client with a shell offer the command, and the command works.
#[test]
fn a_client_with_a_shell_is_offered_a_command_that_works() {
    let place = Place::new();
    let folder = Path::new(env!("CARGO_BIN_EXE_tidegate")).parent().unwrap();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
    let told = |client: &str, flags: &[&str], path: &str| {
        let mut session = Session::start_with(&place.home(), flags, &[("PATH", path)]).greeted(client);
        session.text("rows", json!({"n": 400}))
    };
    for client in ["claude-code", "codex-mcp-client", "gemini-cli-mcp-client", "opencode"] {
        let text = told(client, &[], &path);
        let id = handle(&text);
        assert!(text.ends_with(&format!("; shell: tidegate query {id} -o FILE")), "{client}: {text}");
        let file = place.folder.path().join(format!("{client}.csv"));
        let command = text.rsplit_once("shell: ").unwrap().1.replace("FILE", file.to_str().unwrap());
        let ran = Command::new("sh")
            .args(["-c", &command])
            .env("PATH", &path)
            .env("TIDEGATE_HOME", place.home())
            .status();
        assert!(ran.unwrap().success(), "{command}");
        assert_eq!(std::fs::read_to_string(file).unwrap().lines().count(), 401);
    }
    let empty = "/usr/bin:/bin";
    for (client, flags, path) in [
        ("claude-code", &["--ephemeral"][..], path.as_str()),
        ("claude-code", &[], empty),
        ("somebody", &[], &path),
    ] {
        let text = told(client, flags, path);
        assert!(!text.contains("shell:"), "{client} {flags:?}: {text}");
    }
}
