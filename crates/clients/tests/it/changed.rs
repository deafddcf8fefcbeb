//! A file that was changed between install and uninstall: only what was ours is undone.

use tidegate_clients::install::Selection;
use tidegate_clients::uninstall::Outcome;

use crate::home::{FIXTURES, Home, json};

fn outcomes(plan: &tidegate_clients::uninstall::UndoPlan) -> Vec<(String, Outcome)> {
    let servers = plan.reversals.iter().flat_map(|reversal| &reversal.servers);
    servers.map(|(wrapped, outcome)| (wrapped.server().to_owned(), outcome.clone())).collect()
}

const FILE: &str = ".cursor/mcp.json";
const TWO: &str = r#"{
  "mcpServers": {
    "a": { "command": "npx", "args": ["-y", "a"], "env": { "K": "v" } },
    "b": { "command": "b" }
  }
}
"#;

#[test]
fn another_server_was_added() {
    let home = Home::with(FILE, TWO);
    home.install();
    let added = |text: &str| text.replace("\n  }\n}", ",\n    \"c\": { \"command\": \"c\" }\n  }\n}");
    home.write(FILE, added(&home.text(FILE)).as_bytes());
    let undone = home.uninstall();
    assert_eq!(outcomes(&undone), [("a".into(), Outcome::TakenOut), ("b".into(), Outcome::TakenOut)]);
    assert_eq!(home.text(FILE), added(TWO));
    home.assert_no_trace();
}

/// A person may give tidegate flags, the server arguments, and change its environment.
#[test]
fn a_wrapped_server_was_changed() {
    let home = Home::with(FILE, TWO);
    home.install();
    let changed = home
        .text(FILE)
        .replace(r#""run", "--server", "a""#, r#""run", "--budget", "4000", "--server", "a""#)
        .replace(r#""a"], "#, r#""a", "--more"], "#)
        .replace(r#""K": "v""#, r#""K": "w""#);
    home.write(FILE, changed.as_bytes());
    home.uninstall();
    assert_eq!(
        home.text(FILE),
        TWO.replace(r#""a"], "#, r#""a", "--more"], "#).replace(r#""K": "v""#, r#""K": "w""#)
    );
}

/// Claude Code writes its file anew all the time, each word on a line of its own.
#[test]
fn the_client_wrote_the_file_anew() {
    for (name, text) in FIXTURES.iter().filter(|(name, _)| !name.ends_with(".toml")) {
        let home = Home::with(name, text);
        home.install();
        home.write(name, format!("{:#}", json(&home.text(name))).as_bytes());
        let undone = home.uninstall();
        assert!(
            outcomes(&undone).iter().all(|(_, outcome)| *outcome == Outcome::TakenOut),
            "{name}: {undone:?}"
        );
        assert_eq!(json(&home.text(name)), json(text), "{name}");
        home.assert_no_trace();
    }
}

#[test]
fn what_is_gone_or_undone_by_hand_is_no_trouble() {
    let home = Home::with(FILE, TWO);
    home.install();
    home.write(FILE, br#"{ "mcpServers": { "a": { "command": "other" } } }"#);
    let undone = home.uninstall();
    assert_eq!(outcomes(&undone), [("a".into(), Outcome::Absent), ("b".into(), Outcome::Absent)]);
    assert_eq!(home.text(FILE), r#"{ "mcpServers": { "a": { "command": "other" } } }"#);
    home.assert_no_trace();

    let home = Home::with(FILE, TWO);
    home.install();
    std::fs::remove_file(home.path(FILE)).unwrap();
    let undone = home.uninstall();
    assert_eq!(outcomes(&undone), [("a".into(), Outcome::Absent), ("b".into(), Outcome::Absent)]);
    assert!(!home.path(FILE).exists());
    home.assert_no_trace();
}

/// What nobody can make sense of stays, is told, and stays recorded.
#[test]
fn a_server_changed_beyond_recognition_is_left() {
    let home = Home::with(FILE, TWO);
    home.install();
    let wrapped = home.text(FILE);
    home.write(FILE, wrapped.replace(r#""--", "npx", "-y", "a""#, r#""npx", "-y", "a""#).as_bytes());
    let left = Outcome::Left("its command does not stand behind -- any more".into());
    assert_eq!(outcomes(&home.uninstall()), [("a".into(), left), ("b".into(), Outcome::TakenOut)]);
    home.write(FILE, wrapped.as_bytes());
    home.uninstall();
    assert_eq!(home.text(FILE), TWO);
    home.assert_no_trace();
}

#[test]
fn one_server_at_a_time() {
    let home = Home::with(FILE, TWO);
    home.install();
    let only = |server: &str| Selection { servers: vec![server.into()], ..Selection::default() };
    home.uninstall_with(&only("a"), &Default::default()).unwrap();
    let value = json(&home.text(FILE));
    assert_eq!(value["mcpServers"]["a"], json(TWO)["mcpServers"]["a"]);
    assert_eq!(value["mcpServers"]["b"]["command"], "tidegate");
    let rest = home.uninstall();
    assert_eq!(outcomes(&rest), [("b".into(), Outcome::Restored)]);
    assert_eq!(home.text(FILE), TWO);
    home.assert_no_trace();
}

/// Installed in two steps, undone in one or in two of any order.
#[test]
fn layers_come_off() {
    let only = |server: &str| Selection { servers: vec![server.into()], ..Selection::default() };
    for order in [&["a", "b"][..], &["b", "a"], &[]] {
        let home = Home::with(FILE, TWO);
        for server in ["a", "b"] {
            home.install_with(&home.plan_of(&only(server)), &Default::default()).unwrap();
        }
        for server in order {
            home.uninstall_with(&only(server), &Default::default()).unwrap();
        }
        home.uninstall();
        assert_eq!(home.text(FILE), TWO, "{order:?}");
        home.assert_no_trace();
    }
}

#[test]
fn variables_that_would_become_headers_are_no_ones_guess() {
    let text = r#"{"mcpServers":{"r":{"url":"https://r.example/mcp","headers":{"A":"b"}}}}"#;
    let home = Home::with(FILE, text);
    home.install();
    let wrapped = home.text(FILE);
    home.write(FILE, wrapped.replace(r#""env":{"#, r#""env":{"MINE":"1","#).as_bytes());
    let why = "variables were added to its environment, which would become headers";
    assert_eq!(outcomes(&home.uninstall()), [("r".into(), Outcome::Left(why.into()))]);
    // A header's value may change: it is a value.
    home.write(FILE, wrapped.replace(r#":"b""#, r#":"new""#).as_bytes());
    home.uninstall();
    assert_eq!(home.text(FILE), text.replace(r#":"b""#, r#":"new""#));
}
