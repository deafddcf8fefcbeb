//! `result_save` through the real binary: files over stdio, links over HTTP, and what is left after a full disk or a kill.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_testkit::{make, sample};

use crate::http::{Connection, Listening, call, modern, modern_headers};
use crate::large::most_memory;
use crate::place::Place;
use crate::session::{Session, handle, upstream};
use crate::tidegate_in;

/// Returns a place where the user allows every result to be saved.
fn place() -> Place {
    let place = Place::new();
    std::fs::create_dir(place.home().join("tidegate")).unwrap();
    configure(&place, "[defaults]\nsave = true\n");
    place
}

fn configure(place: &Place, text: &str) {
    std::fs::write(place.home().join("tidegate/tidegate.toml"), text).unwrap();
}

fn keep(place: &Place, text: &str) -> String {
    let flags = ["shape", "--keep", "--tool", "rows", "--format", "json"];
    let kept = tidegate_in(Some(&place.home()), &flags, &make::text_result(text));
    assert_eq!(kept.code, 0, "{}", kept.stderr);
    serde_json::from_slice::<Value>(&kept.stdout).unwrap()["id"].as_str().unwrap().to_owned()
}

fn saved(place: &Place) -> PathBuf {
    place.home().join("saved")
}

/// The names of everything in the folder for saved files.
fn names(place: &Place) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(saved(place)) else { return Vec::new() };
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name != ".index");
    names.sort();
    names
}

fn run(place: &Place, arguments: &[&str]) -> String {
    let outcome = tidegate_in(Some(&place.home()), arguments, b"");
    assert_eq!(outcome.code, 0, "{}", outcome.stderr);
    outcome.text().to_owned()
}

fn listed(session: &mut Session) -> Vec<String> {
    let list = session.request("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_file_is_saved_and_removed_with_its_result() {
    let place = place();
    let mut session = place.start(&[]);
    assert!(listed(&mut session).ends_with(&["result_query".into(), "result_save".into()]));
    let id = session.keep_rows(400);
    let answer = session.text("result_save", json!({"id": id, "name": "rows.csv"}));
    let path = saved(&place).join("rows.csv");
    assert!(answer.starts_with(&format!("Saved \"{}\": ", path.display())), "{answer}");
    assert!(answer.contains(", 400 rows, "), "{answer}");
    let exported = place.folder.path().join("same.csv");
    run(&place, &["query", &id, "-o", exported.to_str().unwrap()]);
    assert_eq!(std::fs::read(&path).unwrap(), std::fs::read(exported).unwrap());
    let jq = session.text("result_save", json!({"id": id, "name": "titles.json", "jq": "[.[].title]"}));
    assert!(jq.starts_with("Saved "), "{jq}");
    let refused = session.call("result_save", json!({"id": id, "name": "rows.csv"}));
    assert_eq!(refused["isError"], true, "{refused}");
    place.end(session);
    assert_eq!(names(&place), ["rows.csv", "titles.json"]);
    assert!(run(&place, &["gc"]).starts_with("removed 0 expired, freed"));
    run(&place, &["rm", &id]);
    assert!(names(&place).is_empty());
    let folder = std::fs::metadata(saved(&place)).unwrap();
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&folder.permissions()) & 0o777, 0o700);
}

#[test]
fn without_a_policy_the_name_is_the_servers() {
    let place = place();
    configure(&place, "");
    let mut session = place.start(&[]);
    assert!(!listed(&mut session).contains(&"result_save".to_owned()));
    let answer = session.request("tools/call", json!({"name": "result_save", "arguments": {}}));
    assert_eq!(answer["error"]["message"], "no such tool", "the server answers");
    place.end(session);
    place.configure("[defaults]\nsave = true\n");
    let refused = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["run", "--", "true"])
        .current_dir(place.folder.path())
        .env("TIDEGATE_HOME", place.home())
        .env("XDG_CONFIG_HOME", place.home())
        .output()
        .unwrap();
    assert_eq!(refused.status.code(), Some(2), "a project may not allow it");
}

#[test]
fn an_ephemeral_result_is_saved_too() {
    let place = place();
    let mut session = place.start(&["--ephemeral"]);
    let id = session.keep_rows(400);
    let answer = session.text("result_save", json!({"id": id, "name": "rows.jsonl"}));
    assert!(answer.starts_with("Saved ") && answer.contains("kept in memory 24 h"), "{answer}");
    assert_eq!(names(&place), ["rows.jsonl"]);
}

/// A full disk is an error that leaves nothing.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_leaves_no_file() {
    let place = place();
    let id = keep(&place, &sample::issues(20_000));
    let server = upstream();
    // A limit on the size of files ends a write as a full disk does, once its signal is ignored.
    let mut command = Command::new("sh");
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 4096; exec \"$0\" run -- python3 -S \"$1\""])
        .args([env!("CARGO_BIN_EXE_tidegate"), server.to_str().unwrap()]);
    let mut session = Session::of(command, &place.home()).greeted("somebody");
    let refused = session.call("result_save", json!({"id": id, "name": "a.jsonl"}));
    let text = refused["content"][0]["text"].as_str().unwrap();
    assert!(refused["isError"] == true && text.contains("File too large"), "{text}");
    assert!(text.ends_with("Nothing was written."), "{text}");
    assert!(names(&place).is_empty());
    session.text("result_save", json!({"id": id, "name": "a.jsonl", "page": 1}));
    assert_eq!(names(&place), ["a.jsonl"], "what fits is still written");
}

/// 200 MB are written at flat memory; a proxy that is killed meanwhile leaves no file under the name, and what it leaves is
/// swept.
#[test]
#[cfg(target_os = "linux")]
fn a_large_result_is_saved_at_flat_memory() {
    let place = place();
    let line = format!("{{\"id\":1234567,\"name\":\"{}\"}}\n", "wide ".repeat(200));
    let text = line.repeat((200 << 20) / line.len() + 1);
    let id = keep(&place, &text);
    let mut killed = place.start(&[]);
    killed.ask("tools/call", json!({"name": "result_save", "arguments": {"id": id, "name": "all.jsonl"}}));
    let part = loop {
        let part = names(&place).into_iter().next().map(|name| saved(&place).join(name));
        if let Some(part) = part.filter(|part| part.metadata().is_ok_and(|part| part.len() > 1 << 20)) {
            break part;
        }
        std::thread::sleep(Duration::from_millis(1));
    };
    killed.child.kill().unwrap();
    killed.child.wait().unwrap();
    assert!(!saved(&place).join("all.jsonl").exists() && part.exists());
    run(&place, &["gc"]);
    assert!(part.exists(), "its writer may still live");
    let status = Command::new("touch").args(["-d", "2 hours ago"]).arg(&part).status().unwrap();
    assert!(status.success());
    run(&place, &["gc"]);
    assert!(names(&place).is_empty());

    let mut session = place.start(&[]);
    let answer = session.text("result_save", json!({"id": id, "name": "all.jsonl"}));
    assert!(answer.starts_with("Saved "), "{answer}");
    let peak = session.peak();
    assert!(peak < 64, "{peak} MiB");
    assert!(std::fs::read(saved(&place).join("all.jsonl")).unwrap() == text.as_bytes());
}

/// Keeps a result of a client over HTTP, and asks for a link to it; returns the path of the link and the answer.
fn link(
    connection: &mut Connection,
    port: u16,
    headers: &[(&str, &str)],
    is_modern: bool,
) -> (String, String) {
    let mut ask = |tool: &str, arguments: Value| {
        let reply = match is_modern {
            true => connection.post(&[headers, &modern_headers(tool)].concat(), &modern(7, tool, arguments)),
            false => connection.post(headers, &call(7, tool, arguments)),
        };
        let answer = reply.json();
        answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    };
    let id = handle(&ask("rows", json!({"n": 400})));
    let answer = ask("result_save", json!({"id": id, "name": "rows é.csv"}));
    let base = format!("The file is at http://127.0.0.1:{port}");
    let path = answer.strip_prefix(&base).unwrap_or_else(|| panic!("{answer}")).split(' ').next().unwrap();
    (path.to_owned(), answer)
}

#[test]
fn over_http_the_answer_is_a_link() {
    let place = place();
    let server = upstream();
    let command = ["--", "python3", "-S", server.to_str().unwrap()];
    let token = ("Authorization", "Bearer s3cret");
    let locked =
        Listening::start(&place.home(), &[&["--auth-token-env", "TEST_TOKEN"], &command[..]].concat());
    let mut connection = locked.connect();
    let (path, answer) = link(&mut connection, locked.port, &[token], true);
    assert!(answer.contains(", 400 rows") && names(&place).is_empty(), "{answer}");
    let reply = connection.get(&path, &[token]);
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.text().lines().count(), 401);
    for (name, value) in [
        ("content-type", "text/csv; charset=utf-8"),
        ("content-disposition", "attachment; filename=\"rows _.csv\"; filename*=UTF-8''rows%20%C3%A9.csv"),
        ("x-content-type-options", "nosniff"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(reply.header(name), Some(value));
    }
    let refused = connection.get(&path, &[]);
    assert_eq!(refused.status, 401, "without the token");
    for forged in [path.replacen("AA", "BB", 1), path.replace(".csv", ".html"), "/saved/x/y".into()] {
        let refused = connection.get(&forged, &[token]);
        assert_eq!(
            (refused.status, refused.header("content-type")),
            (404, Some("text/plain; charset=utf-8"))
        );
        assert!(refused.text().starts_with("this link has expired or is not valid"), "{}", refused.text());
    }
    let host = connection.get(&path, &[token, ("Host", "evil.example")]);
    assert_eq!(host.status, 403, "another Host");
}

#[test]
fn a_link_is_its_owners_alone() {
    let place = place();
    let server = upstream();
    let open = Listening::start(&place.home(), &["--", "python3", "-S", server.to_str().unwrap()]);
    let mut connection = open.connect();
    let sessions = [connection.greet(), connection.greet()];
    let session = |at: usize| ("Mcp-Session-Id", sessions[at].as_str());
    let (path, _) = link(&mut connection, open.port, &[session(0)], false);
    assert_eq!(connection.get(&path, &[session(0)]).status, 200);
    assert_eq!(connection.get(&path, &[session(1)]).status, 404, "another session");
    assert_eq!(connection.get(&path, &[]).status, 404, "no session");
    assert_eq!(connection.get(&path, &[("Mcp-Session-Id", "nobody")]).status, 404);
    // Whoever has the link of a client that nobody knows has all that this client has.
    let (path, _) = link(&mut connection, open.port, &[], true);
    assert_eq!(connection.get(&path, &[]).status, 200);
    assert_eq!(connection.get(&path, &[session(0)]).status, 404);

    let plain =
        Listening::start(&place.home(), &["--observe", "--", "python3", "-S", server.to_str().unwrap()]);
    assert_eq!(plain.connect().get(&path, &[]).status, 404, "nothing is changed by --observe");
    let url = format!("http://127.0.0.1:{}/mcp", plain.port);
    let remote = Listening::start(&place.home(), &["--url", &url, "--forward-auth", "--server", "remote"]);
    let (ada, bob) = (("Authorization", "Bearer ada"), ("Authorization", "Bearer bob"));
    let mut connection = remote.connect();
    let (path, _) = link(&mut connection, remote.port, &[ada], true);
    assert_eq!(connection.get(&path, &[ada]).status, 200);
    assert_eq!(connection.get(&path, &[bob]).status, 404);
    assert_eq!(connection.get(&path, &[]).status, 404);
    let (path, _) = link(&mut open.connect(), open.port, &[], true);
    assert_eq!(connection.get(&path, &[]).status, 404, "of another server");
}

/// What a link leads to is sent as it is read.
#[test]
#[cfg(target_os = "linux")]
fn a_large_file_is_sent_at_flat_memory() {
    let place = place();
    let line = format!("{{\"id\":1234567,\"name\":\"{}\"}}\n", "wide ".repeat(200));
    let text = line.repeat((200 << 20) / line.len() + 1);
    let id = keep(&place, &text);
    let server = upstream();
    let command = ["--auth-token-env", "TEST_TOKEN", "--", "python3", "-S", server.to_str().unwrap()];
    let listening = Listening::start(&place.home(), &command);
    let (mut connection, token) = (listening.connect(), ("Authorization", "Bearer s3cret"));
    let save = modern(1, "result_save", json!({"id": id, "name": "all.jsonl"}));
    let answer = connection.post(&[&[token], &modern_headers("result_save")[..]].concat(), &save).json();
    let answer = answer["result"]["content"][0]["text"].as_str().unwrap().to_owned();
    let base = format!("The file is at http://127.0.0.1:{}", listening.port);
    let path = answer.strip_prefix(&base).unwrap_or_else(|| panic!("{answer}")).split(' ').next().unwrap();
    let reply = connection.get(path, &[token]);
    assert_eq!((reply.status, reply.header("content-type")), (200, Some("application/x-ndjson")));
    assert!(reply.body == text.as_bytes());
    let most = most_memory(listening.child.id());
    assert!(most < 64, "{most} MiB");
}

/// A tier that is set for a server counts for its links too.
#[test]
fn a_link_needs_the_tier_of_its_result() {
    let place = place();
    let server = upstream();
    let flags = |tier| ["--auth-token-env", "TEST_TOKEN", "--tier", tier, "--", "python3", "-S"];
    let start =
        |tier| Listening::start(&place.home(), &[&flags(tier)[..], &[server.to_str().unwrap()]].concat());
    configure(&place, "[defaults]\nsave = true\n[server.upstream.tool.rows]\ntier = \"read_write\"\n");
    let token = ("Authorization", "Bearer s3cret");
    let (admin, reader) = (start("read_write"), start("read"));
    let (path, _) = link(&mut admin.connect(), admin.port, &[token], true);
    assert_eq!(admin.connect().get(&path, &[token]).status, 200);
    assert_eq!(reader.connect().get(&path, &[token]).status, 404);
}
