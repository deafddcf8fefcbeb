//! A file that changed between install and uninstall: only the wrapping is undone.

use tidegate_clients::install::Selection;
use tidegate_clients::uninstall::Outcome;

use crate::home::{FIXTURES, Home, json};

fn outcomes(plan: &tidegate_clients::uninstall::UndoPlan) -> Vec<(String, Outcome)> {
    let servers = plan.reversals.iter().flat_map(|reversal| &reversal.servers);
    servers.map(|(wrapped, outcome)| (wrapped.server().to_owned(), outcome.clone())).collect()
}

const FILE: &str = ".cursor/mcp.json";
const TWO_SERVERS: &str = r#"{
  "mcpServers": {
    "a": { "command": "npx", "args": ["-y", "a"], "env": { "K": "v" } },
    "b": { "command": "b" }
  }
}
"#;

#[test]
fn another_server_was_added() {
    let home = Home::with(FILE, TWO_SERVERS);
    home.install();
    let added = |text: &str| text.replace("\n  }\n}", ",\n    \"c\": { \"command\": \"c\" }\n  }\n}");
    home.write(FILE, added(&home.text(FILE)).as_bytes());
    let undone = home.uninstall();
    assert_eq!(outcomes(&undone), [("a".into(), Outcome::Unwrapped), ("b".into(), Outcome::Unwrapped)]);
    assert_eq!(home.text(FILE), added(TWO_SERVERS));
    home.assert_no_trace();
}

/// The user may add flags of tidegate, arguments of the server, and change its environment.
#[test]
fn a_wrapped_server_was_changed() {
    let home = Home::with(FILE, TWO_SERVERS);
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
        TWO_SERVERS.replace(r#""a"], "#, r#""a", "--more"], "#).replace(r#""K": "v""#, r#""K": "w""#)
    );
}

/// Claude Code rewrites its file often, with each word on its own line.
#[test]
fn the_client_rewrote_the_file() {
    for (name, text) in FIXTURES.iter().filter(|(name, _)| !name.ends_with(".toml")) {
        let home = Home::with(name, text);
        home.install();
        home.write(name, format!("{:#}", json(&home.text(name))).as_bytes());
        let undone = home.uninstall();
        assert!(
            outcomes(&undone).iter().all(|(_, outcome)| *outcome == Outcome::Unwrapped),
            "{name}: {undone:?}"
        );
        assert_eq!(json(&home.text(name)), json(text), "{name}");
        home.assert_no_trace();
    }
}

#[test]
fn an_entry_that_is_gone_or_undone_by_hand_is_no_problem() {
    let home = Home::with(FILE, TWO_SERVERS);
    home.install();
    home.write(FILE, br#"{ "mcpServers": { "a": { "command": "other" } } }"#);
    let undone = home.uninstall();
    assert_eq!(
        outcomes(&undone),
        [("a".into(), Outcome::NothingToUndo), ("b".into(), Outcome::NothingToUndo)]
    );
    assert_eq!(home.text(FILE), r#"{ "mcpServers": { "a": { "command": "other" } } }"#);
    home.assert_no_trace();
}

/// A file may be missing for a while, as on another branch: it is undone when it is back.
#[test]
fn a_missing_file_stays_recorded() {
    let home = Home::with(FILE, TWO_SERVERS);
    home.install();
    let wrapped = home.text(FILE);
    std::fs::remove_file(home.path(FILE)).unwrap();
    assert_eq!(
        outcomes(&home.uninstall()),
        [("a".into(), Outcome::FileMissing), ("b".into(), Outcome::FileMissing)]
    );
    assert!(!home.path(FILE).exists());
    home.write(FILE, wrapped.as_bytes());
    assert_eq!(
        outcomes(&home.uninstall()),
        [("a".into(), Outcome::Restored), ("b".into(), Outcome::Restored)]
    );
    assert_eq!(home.text(FILE), TWO_SERVERS);
    home.assert_no_trace();
}

/// A renamed server is known by what it was before install, also in a project that is not the current one.
#[test]
fn a_renamed_server_is_undone() {
    for (name, key) in [(FILE, "mcpServers"), ("project/.vscode/mcp.json", "servers")] {
        let text = TWO_SERVERS.replace("mcpServers", key);
        let mut home = Home::with(name, &text);
        home.install();
        home.write(name, home.text(name).replace("\"a\": {", "\"new\": {").as_bytes());
        home.folders.projects = Vec::new();
        let undone = home.uninstall();
        assert_eq!(
            outcomes(&undone),
            [
                ("a".into(), Outcome::NothingToUndo),
                ("b".into(), Outcome::Unwrapped),
                ("new".into(), Outcome::Unwrapped)
            ]
        );
        assert_eq!(home.text(name), text.replace("\"a\": {", "\"new\": {"));
        home.assert_no_trace();
    }
}

/// Without any record, each entry that the user names is restored in meaning, and nothing else is touched.
#[test]
fn a_named_server_is_undone_without_the_data_folder() {
    for (name, text) in FIXTURES {
        let mut home = Home::with(name, text);
        home.options.without_login = true;
        let plan = home.install();
        let wrapped: Vec<String> = plan
            .changes
            .iter()
            .flat_map(|change| &change.servers)
            .map(|wrapped| wrapped.server().to_owned())
            .collect();
        std::fs::remove_dir_all(home.data()).unwrap();
        let before = home.text(name);
        let all_are = |undone: &[(String, Outcome)], expected: &Outcome| {
            undone.len() == wrapped.len() && undone.iter().all(|(_, outcome)| outcome == expected)
        };
        assert!(all_are(&outcomes(&home.uninstall()), &Outcome::NotRecorded));
        assert_eq!(home.text(name), before);
        let named = Selection { servers: wrapped.clone(), ..Selection::default() };
        let undone = home.uninstall_with(&named, &Default::default()).unwrap();
        assert!(all_are(&outcomes(&undone), &Outcome::Unwrapped), "{name}: {undone:?}");
        let now = home.text(name);
        if name.ends_with(".toml") {
            assert_eq!(now.parse::<toml::Table>().unwrap(), text.parse::<toml::Table>().unwrap());
            continue;
        }
        let mut expected = json(text);
        // Not recoverable: whether there was an empty list of arguments, and which of two keys a URL had.
        if let Some(db) = expected.pointer_mut("/projects/~1home~1me~1shop/mcpServers/db") {
            db.as_object_mut().unwrap().remove("args");
        }
        if let Some(newer) = expected.pointer_mut("/mcpServers/newer") {
            let url = newer.as_object_mut().unwrap().remove("url").unwrap();
            newer["httpUrl"] = url;
        }
        assert_eq!(json(&now), expected, "{name}");
    }
}

/// An entry that the user wrapped by hand stays wrapped, however often uninstall runs, until the user names it.
#[test]
fn an_entry_wrapped_by_hand_stays() {
    let text = r#"{"mcpServers":{"mine":{"command":"tidegate","args":["run","--","uvx","mine"]},"a":{"command":"a"}}}"#;
    for is_changed in [false, true] {
        let home = Home::with(FILE, text);
        home.install();
        let blank = if is_changed { "\n" } else { "" };
        home.write(FILE, format!("{}{blank}", home.text(FILE)).as_bytes());
        home.uninstall();
        assert_eq!(home.text(FILE), format!("{text}{blank}"));
        home.assert_no_trace();
        for _ in 0..2 {
            assert_eq!(outcomes(&home.uninstall()), [("mine".into(), Outcome::NotRecorded)]);
            assert_eq!(home.text(FILE), format!("{text}{blank}"));
        }
        let named = Selection { servers: vec!["mine".into()], ..Selection::default() };
        home.uninstall_with(&named, &Default::default()).unwrap();
        assert_eq!(
            json(&home.text(FILE))["mcpServers"]["mine"],
            serde_json::json!({"command": "uvx", "args": ["mine"]})
        );
    }
}

/// An entry that the user wraps between two installs stays wrapped too.
#[test]
fn an_entry_wrapped_by_hand_between_installs_stays() {
    let home = Home::with(FILE, r#"{"mcpServers":{"a":{"command":"a"}}}"#);
    home.install();
    let mine = r#""mine":{"command":"tidegate","args":["run","--","uvx","mine"]},"c":{"command":"c"},"a":"#;
    home.write(FILE, home.text(FILE).replace("\"a\":", mine).as_bytes());
    home.install();
    assert_eq!(json(&home.text(FILE))["mcpServers"]["c"]["args"][0], "run");
    home.uninstall();
    let left = json(&home.text(FILE));
    let servers = &left["mcpServers"];
    assert_eq!((&servers["a"]["command"], &servers["c"]["command"]), (&"a".into(), &"c".into()));
    assert_eq!(servers["mine"]["args"], serde_json::json!(["run", "--", "uvx", "mine"]));
}

/// An entry that the user wraps by hand after install stays, even if a recorded one is gone.
#[test]
fn an_entry_wrapped_by_hand_is_not_taken_for_a_renamed_one() {
    let home = Home::with(FILE, TWO_SERVERS);
    home.install();
    let mine = r#"{"mcpServers":{"mine":{"command":"tidegate","args":["run","--","uvx","mine"]}}}"#;
    home.write(FILE, mine.as_bytes());
    assert_eq!(
        outcomes(&home.uninstall()),
        [
            ("a".into(), Outcome::NothingToUndo),
            ("b".into(), Outcome::NothingToUndo),
            ("mine".into(), Outcome::NotRecorded)
        ]
    );
    assert_eq!(home.text(FILE), mine);
    home.assert_no_trace();
}

/// An entry that cannot be undone without a record is reported.
#[test]
fn an_entry_without_a_usable_record_is_reported() {
    let text = r#"{"mcpServers":{"r":{"command":"tidegate","args":["run","--url","https://h/mcp","--bearer-env","T"]}}}"#;
    let home = Home::with(FILE, text);
    let left = Outcome::Skipped("there is no record of its original entry".into());
    let named = Selection { servers: vec!["r".into()], ..Selection::default() };
    let undone = home.uninstall_with(&named, &Default::default()).unwrap();
    assert_eq!(outcomes(&undone), [("r".into(), left)]);
    assert_eq!(home.text(FILE), text);
}

/// An entry that can no longer be undone is reported and stays recorded.
#[test]
fn a_server_that_cannot_be_undone_is_left() {
    let home = Home::with(FILE, TWO_SERVERS);
    home.install();
    let wrapped = home.text(FILE);
    home.write(FILE, wrapped.replace(r#""--", "npx", "-y", "a""#, r#""npx", "-y", "a""#).as_bytes());
    let left = Outcome::Skipped("its command no longer follows `--`".into());
    assert_eq!(outcomes(&home.uninstall()), [("a".into(), left), ("b".into(), Outcome::Unwrapped)]);
    home.write(FILE, wrapped.as_bytes());
    home.uninstall();
    assert_eq!(home.text(FILE), TWO_SERVERS);
    home.assert_no_trace();
}

#[test]
fn one_server_at_a_time() {
    let home = Home::with(FILE, TWO_SERVERS);
    home.install();
    let only = |server: &str| Selection { servers: vec![server.into()], ..Selection::default() };
    home.uninstall_with(&only("a"), &Default::default()).unwrap();
    let value = json(&home.text(FILE));
    assert_eq!(value["mcpServers"]["a"], json(TWO_SERVERS)["mcpServers"]["a"]);
    assert_eq!(value["mcpServers"]["b"]["command"], "tidegate");
    let rest = home.uninstall();
    assert_eq!(outcomes(&rest), [("b".into(), Outcome::Restored)]);
    assert_eq!(home.text(FILE), TWO_SERVERS);
    home.assert_no_trace();
}

/// Installed in two steps, undone in one step or in two, in any order.
#[test]
fn layers_are_undone() {
    let only = |server: &str| Selection { servers: vec![server.into()], ..Selection::default() };
    for order in [&["a", "b"][..], &["b", "a"], &[]] {
        let home = Home::with(FILE, TWO_SERVERS);
        for server in ["a", "b"] {
            home.install_with(&home.plan_of(&only(server)), &Default::default()).unwrap();
        }
        for server in order {
            home.uninstall_with(&only(server), &Default::default()).unwrap();
        }
        home.uninstall();
        assert_eq!(home.text(FILE), TWO_SERVERS, "{order:?}");
        home.assert_no_trace();
    }
}

/// Variables that the user adds to a wrapped entry stay, and the headers become headers again.
#[test]
fn variables_that_were_added_stay() {
    let url = ["https://r.example/mcp", "https://r.example/mcp?key=1"];
    for (url, before) in [(url[0], true), (url[0], false), (url[1], true), (url[1], false)] {
        let text = format!(r#"{{"mcpServers":{{"r":{{"url":"{url}","headers":{{"A":"b","C":"d"}}}}}}}}"#);
        let home = Home::with(FILE, &text);
        home.install();
        let wrapped = home.text(FILE);
        let added = match before {
            true => wrapped.replace(r#""env":{"#, r#""env":{"TIDEGATE_OBSERVE":"1","#),
            false => wrapped.replace(r#""d""#, r#""d","TIDEGATE_OBSERVE":"1""#),
        };
        assert_ne!(added, wrapped);
        home.write(FILE, added.as_bytes());
        assert_eq!(outcomes(&home.uninstall()), [("r".into(), Outcome::Unwrapped)]);
        let expected = serde_json::json!({"url": url, "headers": {"A": "b", "C": "d"}, "env": {"TIDEGATE_OBSERVE": "1"}});
        assert_eq!(json(&home.text(FILE))["mcpServers"]["r"], expected, "{}", home.text(FILE));
        home.assert_no_trace();
        // The user may change the value of a header.
        home.write(FILE, text.as_bytes());
        home.install();
        home.write(FILE, wrapped.replace(r#":"b""#, r#":"new""#).as_bytes());
        home.uninstall();
        assert_eq!(home.text(FILE), text.replace(r#":"b""#, r#":"new""#));
    }
}

#[test]
fn variables_that_were_added_stay_in_toml() {
    for text in [
        "[mcp_servers.r]\nurl = \"https://r.example/mcp\" # far\nhttp_headers = { \"A\" = \"b\", C = 'd' }\n",
        "[mcp_servers.r]\nurl = \"https://r.example/mcp?k=1\"\n\n[mcp_servers.r.http_headers]\nA = \"b\"\nC = 'd'\n",
    ] {
        let home = Home::with(".codex/config.toml", text);
        home.install();
        let wrapped = home.text(".codex/config.toml");
        let section = text.contains("[mcp_servers.r.http_headers]");
        let added = match section {
            true => wrapped.replace("[mcp_servers.r.env]\n", "[mcp_servers.r.env]\nMINE = \"1\"\n"),
            false => wrapped.replace("env = { ", "env = { MINE = \"1\", "),
        };
        assert_ne!(added, wrapped);
        home.write(".codex/config.toml", added.as_bytes());
        assert_eq!(outcomes(&home.uninstall()), [("r".into(), Outcome::Unwrapped)]);
        let now: toml::Table = home.text(".codex/config.toml").parse().unwrap();
        let mut expected: toml::Table = text.parse().unwrap();
        let entry = expected["mcp_servers"]["r"].as_table_mut().unwrap();
        entry.insert("env".into(), toml::toml! { MINE = "1" }.into());
        assert_eq!(now, expected);
    }
}
