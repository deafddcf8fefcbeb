//! Servers behind `tidegate gateway` that get the credential of each caller, and the command that sets it.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::gateway::{Gateway, repeat};
use crate::gateway_access::{Caller, key};
use crate::http::{Connection, Remote, modern, modern_headers};
use crate::{Outcome, tidegate_in};

/// The home of a gateway with an encryption key and three callers.
struct Team {
    home: tempfile::TempDir,
    keys: [String; 3],
    config: String,
}

const NAMES: [&str; 3] = ["ada", "bob", "eve"];

impl Team {
    /// Returns a team whose gateway has these servers.
    fn with(upstreams: &str) -> Self {
        let home = tempfile::tempdir().unwrap();
        let made =
            tidegate_in(Some(home.path()), &["store", "key", "-o", &file(home.path(), "store.key")], b"");
        assert_eq!(made.code, 0, "{}", made.stderr);
        let mut config =
            format!("[store]\nencryption_key_file = {:?}\n{upstreams}\n", file(home.path(), "store.key"));
        let keys = NAMES.map(|name| {
            let (key, section) = key(home.path(), name);
            config += &section;
            key
        });
        let team = Self { home, keys, config };
        std::fs::write(team.file(), &team.config).unwrap();
        team
    }

    fn file(&self) -> String {
        file(self.home.path(), "gateway.toml")
    }

    fn start(&self) -> Gateway {
        Gateway::start(self.home.path(), &self.config)
    }

    /// Runs `tidegate gateway credential`.
    fn run(&self, arguments: &[&str], stdin: &str) -> Outcome {
        let file = self.file();
        let arguments = [&["gateway", "credential"][..], arguments, &["--config", &file]].concat();
        tidegate_in(Some(self.home.path()), &arguments, stdin.as_bytes())
    }

    fn set(&self, caller: &str, upstream: &str, secret: &str) {
        let owner = format!("key:{caller}");
        let set = self.run(&["set", "--owner", &owner, "--upstream", upstream], &format!("{secret}\n"));
        assert_eq!((set.code, set.stdout.len()), (0, 0), "{}", set.stderr);
        assert!(!set.stderr.contains(secret), "{}", set.stderr);
    }

    fn callers(&self, gateway: &Gateway) -> [Caller; 3] {
        [0, 1, 2].map(|number| self.caller(gateway, number))
    }

    /// Returns one of the callers, on a new connection.
    fn caller(&self, gateway: &Gateway, number: usize) -> Caller {
        Caller::new(gateway, &self.keys[number])
    }
}

fn file(home: &Path, name: &str) -> String {
    home.join(name).to_str().unwrap().to_owned()
}

fn far(remote: &Remote, keys: &str) -> String {
    format!("[upstream.far]\nurl = {:?}\ncredentials = \"user\"\n{keys}\n", remote.url)
}

/// Returns the `Authorization` of a call, as its server saw it.
fn authorization(caller: &mut Caller) -> String {
    let text = caller.text("far__headers", json!({}));
    let seen: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"));
    seen["authorization"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn each_caller_uses_a_server_with_its_own_credential_alone() {
    let remote = Remote::guarded();
    let team = Team::with(&far(
        &remote,
        "list_credential_file = \"list.token\"\n[server.far]\nbudget_tokens = 20000",
    ));
    team.set("ada", "far", "valid-ada");
    team.set("bob", "far", "valid-bob");
    std::fs::write(team.home.path().join("list.token"), "valid-list\n").unwrap();
    let gateway = team.start();
    let [mut ada, mut bob, mut eve] = team.callers(&gateway);
    for _ in 0..3 {
        assert_eq!(authorization(&mut ada), "Bearer valid-ada");
        assert_eq!(authorization(&mut bob), "Bearer valid-bob");
    }
    // Without a session as well.
    for (key, expected) in team.keys.iter().zip(["Bearer valid-ada", "Bearer valid-bob"]) {
        let mut connection = Connection::to(gateway.port);
        let bearer = format!("Bearer {key}");
        let mut headers = modern_headers("far__headers").to_vec();
        headers.push(("Authorization", bearer.as_str()));
        let answer = connection.post(&headers, &modern(1, "far__headers", json!({}))).json();
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
        let seen: Value = serde_json::from_str(text).unwrap();
        assert_eq!(seen["authorization"], expected, "{seen}");
    }
    // Eve has none: the names are there, and a call says what to do.
    assert!(eve.tools().contains(&"far__rows".to_owned()));
    let refused = eve.request("tools/call", json!({"name": "far__rows", "arguments": {"n": 1}})).json();
    assert_eq!(refused["result"]["isError"], true, "{refused}");
    let text = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.contains("\"far\"")
            && text.contains("nothing was run")
            && text.contains("tidegate gateway credential set --owner 'key:eve' --upstream 'far'"),
        "{text}"
    );
    let history = ada.text("far__history", json!({}));
    for (caller, key) in NAMES.iter().zip(&team.keys) {
        assert!(!history.contains(key), "the key of {caller} reaches no server");
    }
    assert!(history.contains("valid-list") && history.contains("valid-bob"), "{history}");
    assert!(!history.replace("event-stream", "").contains("eve"), "{history}");
}

/// A gateway that runs sees it within the time that it remembers a credential.
#[test]
fn a_credential_that_was_changed_or_removed_is_not_used_any_more() {
    let remote = Remote::guarded();
    let team = Team::with(&far(&remote, ""));
    team.set("ada", "far", "valid-first");
    team.set("bob", "far", "valid-bob");
    let gateway = team.start();
    // The server lists nothing without a credential, and Eve has none.
    let mut eve = team.caller(&gateway, 2);
    assert_eq!(eve.tools().len(), 1);
    let [mut ada, mut bob, _] = team.callers(&gateway);
    assert!(ada.tools().contains(&"far__rows".to_owned()), "they are read when Ada asks");
    assert!(eve.tools().contains(&"far__rows".to_owned()), "and are the same for all");
    assert_eq!(authorization(&mut ada), "Bearer valid-first");
    assert_eq!(authorization(&mut bob), "Bearer valid-bob");
    team.set("ada", "far", "valid-second");
    assert_eq!(team.run(&["remove", "--owner", "key:bob", "--upstream", "far"], "").code, 0);
    repeat("the new credential is used", || authorization(&mut ada) == "Bearer valid-second");
    // Each on a connection of its own: one that is silent for long is closed.
    let bob = || team.caller(&gateway, 1).text("far__rows", json!({"n": 1}));
    repeat("the other is gone", || bob().contains("credential set --owner 'key:bob'"));
    team.set("bob", "far", "wrong");
    repeat("a server that refuses one is told about", || {
        let text = bob();
        text.contains("no longer valid") && text.contains("--owner 'key:bob'")
    });
    let mut ada = team.caller(&gateway, 0);
    assert_eq!(authorization(&mut ada), "Bearer valid-second", "it is of no other caller");
}

#[test]
fn a_process_gets_the_credential_of_its_caller() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("token.py");
    std::fs::write(
        &script,
        "import json, os, sys\nfor line in sys.stdin:\n    m = json.loads(line)\n    if 'id' in m:\n        r = {'protocolVersion': '2025-11-25', 'capabilities': {'tools': {}}, 'tools': [{'name': 'token', 'inputSchema': {}}], 'content': [{'type': 'text', 'text': os.environ.get('TOKEN', 'none') + ' ' + str(os.getpid())}]}\n        print(json.dumps({'jsonrpc': '2.0', 'id': m['id'], 'result': r}), flush=True)\n",
    )
    .unwrap();
    let team = Team::with(&format!(
        "[upstream.one]\ncommand = \"python3\"\nargs = [\"-S\", {:?}]\ncredentials = \"user\"\ncredential_env = \"TOKEN\"\n",
        script.to_str().unwrap()
    ));
    team.set("ada", "one", "of-ada");
    team.set("bob", "one", "of-bob");
    let stored = std::fs::read_to_string(team.home.path().join("credentials.json")).unwrap();
    assert!(!stored.contains("of-ada"), "{stored}");
    // With another key they are the same.
    let old = file(team.home.path(), "old.key");
    std::fs::rename(team.home.path().join("store.key"), &old).unwrap();
    let rekey = |arguments: &[&str], previous: &str| {
        Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args(arguments)
            .env("TIDEGATE_HOME", team.home.path())
            .env("TIDEGATE_STORE_KEY_FILE", file(team.home.path(), "store.key"))
            .env("TIDEGATE_STORE_PREVIOUS_KEY_FILE", previous)
            .output()
            .unwrap()
    };
    assert!(rekey(&["store", "key", "-o", &file(team.home.path(), "store.key")], "").status.success());
    let rekeyed = rekey(&["store", "rekey"], &old);
    assert!(rekeyed.status.success(), "{}", String::from_utf8_lossy(&rekeyed.stderr));
    let gateway = team.start();
    let [mut ada, mut bob, mut eve] = team.callers(&gateway);
    let (of_ada, of_bob) = (ada.text("one__token", json!({})), bob.text("one__token", json!({})));
    assert!(of_ada.starts_with("of-ada ") && of_bob.starts_with("of-bob "), "{of_ada} {of_bob}");
    assert_eq!(ada.text("one__token", json!({})), of_ada, "the same process");
    let none = eve.text("one__token", json!({}));
    assert!(none.contains("credential set --owner 'key:eve' --upstream 'one'"), "{none}");
}

#[test]
fn what_cannot_work_is_refused_before_anything_starts() {
    let remote = Remote::start();
    let team = Team::with(&far(&remote, ""));
    let without_key: String = team
        .config
        .lines()
        .filter(|line| !line.contains("_key_file"))
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(team.file(), &without_key).unwrap();
    let file = team.file();
    let home = Some(team.home.path());
    let checked = tidegate_in(home, &["config", "check", &file], b"");
    assert_eq!(checked.code, 2, "{}", checked.stderr);
    assert!(checked.stderr.contains("set encryption_key_file of [store]"), "{}", checked.stderr);
    let started = tidegate_in(home, &["gateway", "--http", "127.0.0.1:0", "--config", &file], b"");
    assert_eq!(started.code, 2, "{}", started.stderr);
    let shared =
        team.config.replace("credentials = \"user\"", "credentials = \"user\"\nsharing = \"shared\"");
    std::fs::write(team.file(), shared).unwrap();
    let checked = tidegate_in(home, &["config", "check", &file], b"");
    assert!(
        checked.code == 2 && checked.stderr.contains("all callers share a connection"),
        "{}",
        checked.stderr
    );
}

#[test]
fn credentials_are_set_listed_and_removed_without_being_shown() {
    let remote = Remote::start();
    let team = Team::with(&(far(&remote, "") + &format!("[upstream.plain]\nurl = {:?}\n", remote.url)));
    for (arguments, stdin, said) in [
        (
            ["set", "--owner", "key:ada", "--upstream", "nowhere"],
            "s",
            "the configuration has no [upstream.nowhere]",
        ),
        (["set", "--owner", "key:ada", "--upstream", "plain"], "s", "gets no credentials of callers"),
        (
            ["set", "--owner", "ada", "--upstream", "far"],
            "s",
            "no caller of this configuration can be \"ada\"",
        ),
        (["set", "--owner", "key:mallory", "--upstream", "far"], "s", "no caller of this configuration"),
        (["set", "--owner", "key:ada", "--upstream", "far"], "", "stdin holds no credential"),
        (["set", "--owner", "key:ada", "--upstream", "far"], "two\nlines", "stdin holds no credential"),
    ] {
        let refused = team.run(&arguments, stdin);
        assert_eq!(refused.code, 2, "{arguments:?}: {}", refused.stderr);
        assert!(refused.stderr.contains(said), "{arguments:?}: {}", refused.stderr);
    }
    assert_eq!(team.run(&["list"], "").stderr, "no credentials are stored\n");
    team.set("ada", "far", "s3cret");
    let listed = team.run(&["list"], "");
    assert!(listed.text().contains("key:ada") && listed.text().contains("far"), "{}", listed.text());
    let json: Value = serde_json::from_str(team.run(&["list", "--format", "json"], "").text()).unwrap();
    assert_eq!((&json[0]["owner"], &json[0]["upstream"]), (&json!("key:ada"), &json!("far")));
    assert!(!json.to_string().contains("s3cret") && !listed.text().contains("s3cret"));
    assert_eq!(team.run(&["remove", "--owner", "key:ada", "--upstream", "far"], "").code, 0);
    assert_eq!(team.run(&["remove", "--owner", "key:ada", "--upstream", "far"], "").code, 1);
}
