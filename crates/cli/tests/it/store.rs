//! `tidegate store`: the state of a store, its key, and copies of it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tidegate_core::source::Span;
use tidegate_gate::{StoreLocation, UserStore};
use tidegate_store::Description;
use tidegate_testkit::{make, sample};

use crate::Outcome;

/// A person with a data folder, and variables that are set.
struct Person {
    root: tempfile::TempDir,
    variables: Vec<(&'static str, String)>,
}

impl Person {
    fn new() -> Self {
        Self { root: tempfile::tempdir().unwrap(), variables: Vec::new() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    fn text(&self, name: &str) -> String {
        self.path(name).to_str().unwrap().to_owned()
    }

    fn with(&mut self, name: &'static str, value: &str) {
        self.variables.retain(|(set, _)| *set != name);
        if !value.is_empty() {
            self.variables.push((name, value.to_owned()));
        }
    }

    fn run(&self, arguments: &[&str]) -> Outcome {
        self.run_with(arguments, b"")
    }

    fn run_with(&self, arguments: &[&str], stdin: &[u8]) -> Outcome {
        let stdin_file = self.path("stdin");
        std::fs::write(&stdin_file, stdin).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args(arguments)
            .env("COLUMNS", "100")
            .env("HOME", self.root.path())
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("TIDEGATE_HOME", self.path("data"))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.root.path())
            .stdin(std::fs::File::open(&stdin_file).unwrap())
            .output()
            .unwrap();
        Outcome {
            code: output.status.code().unwrap(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Runs a command, and returns what a snapshot shows of it.
    fn shown(&self, arguments: &[&str]) -> String {
        let Outcome { code, stdout, stderr } = self.run(arguments);
        let text =
            format!("exit {code}\n--- stdout\n{}--- stderr\n{stderr}", String::from_utf8(stdout).unwrap());
        masked(&text.replace(self.root.path().to_str().unwrap(), "ROOT"))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let outcome = self.run(&[arguments, &["--format", "json"]].concat());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        serde_json::from_slice(&outcome.stdout).unwrap()
    }

    fn keep(&self, tool: &str, rows: usize) -> String {
        let result = make::text_result(&sample::issues(rows));
        let kept = self.run_with(&["shape", "--keep", "--tool", tool, "--format", "json"], &result);
        assert_eq!(kept.code, 0, "{}", kept.stderr);
        let report: Value = serde_json::from_slice(&kept.stdout).unwrap();
        report["id"].as_str().unwrap().to_owned()
    }

    fn make_key(&self, name: &str) -> String {
        let made = self.run(&["store", "key", "--output", &self.text(name)]);
        assert_eq!(made.code, 0, "{}", made.stderr);
        made.stderr.split_whitespace().nth(3).unwrap().to_owned()
    }
}

/// Hides times, ids and sizes, which differ from run to run.
fn masked(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let end = from.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        match word.len() {
            16 if word.chars().any(|c| c.is_ascii_digit()) => out.push_str("KEYID"),
            4 if word.starts_with("20") && after.starts_with('-') => {
                let end = after.find('Z').map_or(0, |end| end + 1);
                out.push_str("TIME");
                rest = &after[end..];
                continue;
            }
            _ => out.push_str(word),
        }
        rest = after;
    }
    out + rest
}

/// Returns all files below a folder that hold some bytes.
fn holding(folder: &Path, bytes: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(holding(&path, bytes));
        } else if memchr::memmem::find(&std::fs::read(&path).unwrap(), bytes).is_some() {
            found.push(path);
        }
    }
    found
}

#[test]
fn a_store_is_encrypted_and_gets_another_key() {
    let mut person = Person::new();
    let names = [person.keep("list_issues", 200), person.keep("list_all", 3000)];
    let exported = |person: &Person| names.each_ref().map(|name| person.run(&["export", name]).stdout);
    let before = exported(&person);
    insta::assert_snapshot!("status_plain", person.shown(&["store", "status"]));
    insta::assert_snapshot!("rekey_without_a_key", person.shown(&["store", "rekey"]));

    let (one, two) = (person.make_key("one.key"), person.make_key("two.key"));
    assert_ne!(one, two);
    person.with("TIDEGATE_STORE_KEY_FILE", &person.text("one.key"));
    insta::assert_snapshot!("a_key_for_a_plain_store", person.shown(&["ls"]));
    insta::assert_snapshot!("rekey", person.shown(&["store", "rekey"]));
    assert!(exported(&person) == before, "export stays exact");
    assert!(holding(&person.path("data"), b"empty config").is_empty(), "nothing readable is left");
    let status = person.json(&["store", "status"]);
    assert_eq!((&status["encrypted"], &status["key"]), (&true.into(), &one.clone().into()));
    assert_eq!(
        (&status["results"], &status["orphans"], &status["rekeying"]),
        (&2.into(), &0.into(), &false.into())
    );
    assert!(person.run(&["doctor", "--no-start"]).text().contains(&format!("encrypted with key {one}")));

    person.with("TIDEGATE_STORE_KEY_FILE", "");
    insta::assert_snapshot!("no_key_for_an_encrypted_store", person.shown(&["ls"]));
    let stats = person.run(&["stats", "--format", "json"]);
    assert_eq!(stats.code, 0, "{}", stats.stderr);
    assert!(stats.stderr.contains("but no key is configured"), "{}", stats.stderr);
    let doctor = person.run(&["doctor", "--no-start"]);
    assert!(doctor.text().contains("✗ store") && doctor.text().contains("but no key is configured"));

    person.with("TIDEGATE_STORE_KEY_FILE", &person.text("two.key"));
    insta::assert_snapshot!("another_key", person.shown(&["store", "status"]));
    person.with("TIDEGATE_STORE_PREVIOUS_KEY_FILE", &person.text("one.key"));
    assert_eq!(person.json(&["store", "status"])["key"], one.as_str(), "until the key is replaced");
    assert_eq!(person.json(&["store", "rekey"])["bodies"], 2);
    assert_eq!(person.json(&["store", "rekey"])["bodies"], 0);
    person.with("TIDEGATE_STORE_PREVIOUS_KEY_FILE", "");
    assert_eq!(person.json(&["store", "status"])["key"], two.as_str());
    assert!(exported(&person) == before);
    // The key itself in a variable.
    person.with("TIDEGATE_STORE_KEY_FILE", "");
    person.with("TIDEGATE_STORE_KEY", &std::fs::read_to_string(person.path("two.key")).unwrap());
    assert!(exported(&person) == before);
    person.with("TIDEGATE_STORE_KEY", "not a key");
    insta::assert_snapshot!("not_a_key", person.shown(&["ls"]));
}

#[test]
fn keys_are_private_files() {
    use std::os::unix::fs::PermissionsExt;
    let mut person = Person::new();
    person.make_key("store.key");
    let path = person.path("store.key");
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let again = person.run(&["store", "key", "-o", &person.text("store.key")]);
    assert_eq!(again.code, 2, "a key is never overwritten: {}", again.stderr);
    let printed = person.run(&["store", "key"]);
    assert_eq!(printed.text().trim_end().len(), 44, "{}", printed.text());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    person.with("TIDEGATE_STORE_KEY_FILE", &person.text("store.key"));
    insta::assert_snapshot!("exposed_key", person.shown(&["store", "status"]));
}

#[test]
fn a_store_is_copied() {
    let mut person = Person::new();
    let names = [person.keep("list_issues", 200), person.keep("list_all", 1500), person.keep("one", 50)];
    person.make_key("copy.key");
    let (from, to, key) = (person.text("data"), person.text("copy"), person.text("copy.key"));
    let copy = ["store", "copy", "--from", &from, "--to", &to, "--to-key-file", &key];
    let copied = person.json(&copy);
    assert_eq!((&copied["copied"], &copied["present"]), (&3.into(), &0.into()), "{copied}");
    let again = person.json(&copy);
    assert_eq!((&again["copied"], &again["present"]), (&0.into(), &3.into()));
    let listed = |person: &Person| {
        let mut listed = person.json(&["ls"]);
        for result in listed.as_array_mut().unwrap() {
            result["stored_bytes"] = Value::Null;
        }
        listed
    };
    let before = (listed(&person), names.each_ref().map(|name| person.run(&["export", name]).stdout));
    person.with("TIDEGATE_HOME", &to);
    person.with("TIDEGATE_STORE_KEY_FILE", &key);
    let after = (listed(&person), names.each_ref().map(|name| person.run(&["export", name]).stdout));
    assert!(before == after, "names, owners, calls, times and bytes");
    // One that was removed from the copy comes back; a damaged one is reported, and the others are copied.
    assert_eq!(person.run(&["rm", &names[0]]).code, 0);
    assert_eq!(person.json(&copy)["copied"], 1);
    insta::assert_snapshot!("copy_to_itself", person.shown(&["store", "copy", "--from", &to, "--to", &to]));
    insta::assert_snapshot!(
        "copy_from_nothing",
        person.shown(&["store", "copy", "--from", "nowhere", "--to", &to])
    );
    insta::assert_snapshot!("copy", person.shown(&copy));
}

#[test]
fn quotas_are_configurable() {
    let person = Person::new();
    std::fs::create_dir_all(person.path("config/tidegate")).unwrap();
    let file = person.path("config/tidegate/tidegate.toml");
    std::fs::write(&file, "[store]\nquota_bytes = 20000\n").unwrap();
    person.keep("list_issues", 50);
    let result = make::text_result(&sample::issues(9000));
    let refused = person.run_with(&["shape", "--keep", "--tool", "large"], &result);
    assert_eq!(refused.code, 3);
    assert!(refused.stderr.contains("the store quota is full"), "{}", refused.stderr);
    assert_eq!(person.json(&["store", "status"])["quota_bytes"], 20_000);
    assert_eq!(person.json(&["stats"])["store_quota_bytes"], 20_000);
    std::fs::write(&file, "[store]\nquota = 5\n").unwrap();
    assert!(person.run(&["ls"]).stderr.contains("did you mean quota_bytes?"));
}

/// A result of 20 KB that does not compress.
fn result(number: u64) -> Vec<u8> {
    tidegate_testkit::contract::noise(number, 20_000)
}

#[test]
fn a_copy_that_was_killed_goes_on() {
    const RESULTS: u64 = 400;
    let person = Person::new();
    let store_in = |name: &str| UserStore::of_user(StoreLocation::Folder(Some(person.path(name))));
    let from = store_in("data");
    let ids: Vec<_> = (0..RESULTS)
        .map(|number| {
            let new = from.new_artifact("list", Duration::from_secs(3600));
            from.put(&new, &result(number).as_slice(), &|| Ok(Description::default())).unwrap().id
        })
        .collect();
    let (source, target) = (person.text("data"), person.text("copy"));
    let copy = ["store", "copy", "--from", &source, "--to", &target];
    let mut killed = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(copy)
        .env("HOME", person.root.path())
        .env("TIDEGATE_HOME", person.path("data"))
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let usage = || store_in("copy").open().and_then(|opened| opened.store.usage());
    let copied = || usage().map_or(0, |usage| usage.artifacts);
    while !person.path("copy").exists() || copied() < 20 {
        assert!(killed.try_wait().unwrap().is_none(), "it ended before it could be killed");
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    let before = copied();
    assert!((20..RESULTS).contains(&before), "{before} were copied");
    let again = person.json(&copy);
    assert_eq!((again["present"].as_u64(), again["copied"].as_u64()), (Some(before), Some(RESULTS - before)));
    assert_eq!(again["failed"].as_array().map(Vec::len), Some(0));
    let opened = store_in("copy").open().unwrap();
    for (number, id) in (0..).zip(&ids) {
        let source = tidegate_store::open(&*opened.store, &from.owner, id).unwrap();
        assert!(Span::whole(&source).read(&source).unwrap() == result(number));
    }
}

/// A build without PostgreSQL says which build has it, and never shows a password.
#[cfg(not(feature = "gateway"))]
#[test]
fn a_shared_store_needs_a_build_that_has_it() {
    let mut person = Person::new();
    person.with("TIDEGATE_STORE_URL", "postgres://team:secret@127.0.0.1:1/tidegate");
    for (name, arguments) in [
        ("shared_run", &["run", "--", "true"][..]),
        ("shared_ls", &["ls"]),
        ("shared_status", &["store", "status", "--format", "json"]),
    ] {
        let shown = person.shown(arguments);
        assert!(!shown.contains("secret"), "{shown}");
        insta::assert_snapshot!(name, shown);
    }
    person.with("TIDEGATE_STORE_URL", "mysql://team:secret@127.0.0.1/tidegate");
    insta::assert_snapshot!("shared_unknown", person.shown(&["store", "status"]));
    let shown = person.run(&["config", "show"]);
    assert!(shown.text().contains("mysql://team@127.0.0.1/tidegate") && !shown.text().contains("secret"));
}
