//! What wrapped files look like, and that secrets stay out of arguments.

use serde_json::Value;
use tidegate_clients::install::Selection;
use tidegate_clients::{Verdict, Wrapped};

use crate::home::{FIXTURES, Home, json};

/// Snapshots every fixture after install: the verdict on each server, and the file.
#[test]
fn every_file_wrapped() {
    for (name, text) in FIXTURES {
        let home = Home::with(name, text);
        let plan = home.install();
        let verdicts: Vec<String> = plan
            .found
            .iter()
            .map(|found| {
                let off = if found.off { " (off)" } else { "" };
                format!(
                    "{} {} {}{off}: {:?}\n",
                    found.client.name,
                    found.scope,
                    found.server(),
                    found.verdict
                )
            })
            .collect();
        let snapshot = name.replace(['/', '.', ' '], "_");
        insta::assert_snapshot!(snapshot, format!("{}\n{}", verdicts.concat(), home.text(name)));
    }
}

/// Collects the arguments of every server in a file.
fn arguments(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, value) in members {
                match value {
                    Value::Array(words) if name == "args" || name == "command" => {
                        found.extend(words.iter().filter_map(Value::as_str).map(str::to_owned));
                    }
                    other => arguments(other, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| arguments(value, found)),
        _ => {}
    }
}

#[test]
fn a_secret_never_becomes_an_argument() {
    let mut seen = 0;
    for (name, text) in FIXTURES {
        let mut home = Home::with(name, text);
        home.options.without_login = true;
        home.install();
        let wrapped = home.text(name);
        let mut words = Vec::new();
        if name.ends_with(".toml") {
            let value: toml::Table = wrapped.parse().unwrap();
            arguments(&serde_json::to_value(value).unwrap(), &mut words);
        } else {
            arguments(&json(&wrapped), &mut words);
        }
        assert!(!words.is_empty(), "{name}");
        for word in words {
            let secret =
                ["secret", "Bearer", "ZDk2Zj", "KEY}", "_KEY"].iter().find(|secret| word.contains(*secret));
            let is_name = word.contains("=TIDEGATE_HEADER_");
            assert!(secret.is_none() || is_name, "{name}: {word}");
        }
        let secrets = |text: &str| text.matches("literal-secret").count();
        assert_eq!(secrets(&wrapped), secrets(text), "{name}: every secret is still there exactly once");
        seen += secrets(text);
    }
    assert_eq!(seen, 14, "the fixtures have secrets in them");
}

#[test]
fn a_program_by_its_path() {
    let mut home = Home::with(".cursor/mcp.json", r#"{"mcpServers":{"a":{"command":"x"}}}"#);
    home.options.program = r"C:\Program Files\tidegate.exe".into();
    home.install();
    assert_eq!(
        home.text(".cursor/mcp.json"),
        r#"{"mcpServers":{"a":{"command":"C:\\Program Files\\tidegate.exe","args":["run","--server","a","--","x"]}}}"#
    );
    assert!(matches!(home.plan().found[0].verdict, Verdict::AlreadyWrapped));
}

#[test]
fn names_that_could_be_misread() {
    let text = r#"{"mcpServers":{"-x":{"command":"a"},"tidegate":{"command":"b"},"mine":{"command":"/usr/bin/tidegate","args":["serve"]},"by-npx":{"command":"npx","args":["-y","tidegate@1","run","--","c"]}}}"#;
    let home = Home::with(".cursor/mcp.json", text);
    let verdicts: Vec<Verdict> = home.plan().found.into_iter().map(|found| found.verdict).collect();
    assert_eq!(
        verdicts,
        [
            Verdict::WrapCommand,
            Verdict::Skipped("it is named tidegate".into()),
            Verdict::Skipped("it is tidegate itself".into()),
            Verdict::AlreadyWrapped
        ]
    );
    home.install();
    assert_eq!(
        json(&home.text(".cursor/mcp.json"))["mcpServers"]["-x"]["args"],
        serde_json::json!(["run", "--server=-x", "--", "a"])
    );
}

/// Only the program counts, not a word in its arguments.
#[test]
fn a_word_that_says_tidegate_is_not_tidegate() {
    for args in [r#"["-y","fs","/work/tidegate","run"]"#, r#"["-c","x","tidegate","run"]"#] {
        let home = Home::with(
            ".cursor/mcp.json",
            &format!(r#"{{"mcpServers":{{"a":{{"command":"sh","args":{args}}}}}}}"#),
        );
        assert_eq!(home.plan().found[0].verdict, Verdict::WrapCommand, "{args}");
        let before = home.text(".cursor/mcp.json");
        home.install();
        home.uninstall();
        assert_eq!(home.text(".cursor/mcp.json"), before);
    }
}

/// A client started from a desktop does not have the PATH of a shell; but a shared file is for other machines too.
#[test]
fn project_files_get_the_name_instead_of_the_path() {
    let text = r#"{"mcpServers":{"a":{"command":"x","env":{"PATH":"/opt/bin"}}}}"#;
    let mut home = Home::with(".cursor/mcp.json", text);
    home.write("project/.cursor/mcp.json", text.as_bytes());
    home.options.program = "/home/me/.cargo/bin/tidegate".into();
    let plan = home.install();
    let command = |name: &str| json(&home.text(name))["mcpServers"]["a"]["command"].clone();
    assert_eq!(command(".cursor/mcp.json"), "/home/me/.cargo/bin/tidegate");
    assert_eq!(command("project/.cursor/mcp.json"), "tidegate");
    let remarks: Vec<&[String]> = plan.found.iter().map(|found| found.remarks.as_slice()).collect();
    let said = "its env sets PATH, so tidegate must be on that PATH".to_owned();
    assert_eq!(remarks, [&[][..], &[said]]);
    home.options.program = "/elsewhere/tidegate".into();
    assert!(home.plan().changes.is_empty(), "wrapped by another path is still wrapped");
}

/// opencode: `"oauth": false` declines a login, and is not allowed in an entry with a command.
#[test]
fn a_declined_login_does_not_count_as_a_login() {
    let name = ".config/opencode/opencode.json";
    let entry = |more: &str| {
        format!(r#"{{"mcp":{{"a":{{"type":"remote","url":"https://a.example/mcp","oauth":false{more}}}}}}}"#)
    };
    let home = Home::with(name, &entry(""));
    home.install();
    let wrapped = json(&home.text(name));
    let command = ["tidegate", "run", "--server", "a", "--url", "https://a.example/mcp"];
    let expected = serde_json::json!({"type": "local", "command": command, "enabled": true});
    assert_eq!(wrapped["mcp"]["a"], expected);
    home.write(name, home.text(name).replace("\"enabled\":true", "\"enabled\":false").as_bytes());
    home.uninstall();
    assert_eq!(json(&home.text(name)), json(&entry(r#","enabled":false"#)));
    let both = home.plan().found[0].verdict.clone();
    assert_eq!(both, Verdict::Skipped("it has both oauth and enabled; remove one of them first".into()));
    home.write(name, entry("").replace("false", "{}").as_bytes());
    let why = "the client logs in by itself (oauth), which tidegate cannot do";
    assert_eq!(home.plan().found[0].verdict, Verdict::Skipped(why.into()));
}

/// A comma separates names, unless a server has a comma in its name.
#[test]
fn names_with_commas() {
    let text = r#"{"mcpServers":{"a,b":{"command":"x"},"a":{"command":"x"},"b":{"command":"x"},"c":{"command":"x"}}}"#;
    let home = Home::with(".cursor/mcp.json", text);
    let selection = |name: &str| Selection { servers: vec![name.into()], ..Selection::default() };
    for (name, expected) in [("a,b", &["a,b"][..]), ("a,c", &["a", "c"])] {
        let plan = home.plan_of(&selection(name));
        let wrapped: Vec<&str> = plan.changes[0].servers.iter().map(Wrapped::server).collect();
        assert_eq!(wrapped, expected);
        home.install_with(&plan, &Default::default()).unwrap();
        let undone = home.uninstall_with(&selection(name), &Default::default()).unwrap();
        assert_eq!(undone.reversals[0].servers.len(), expected.len());
        assert_eq!(home.text(".cursor/mcp.json"), text);
    }
}

/// A list of allowed tools belongs to the user, who is told to add `result_query`: without it, the rest of a result cannot
/// be read.
#[test]
fn a_list_of_allowed_tools_is_reported() {
    let codex = "[mcp_servers.a]\ncommand = \"x\"\nenabled_tools = [\"y\"]\n";
    let gemini = r#"{"mcpServers":{"a":{"command":"x","includeTools":["y"]}}}"#;
    for (name, text, list) in
        [(".codex/config.toml", codex, "enabled_tools"), (".gemini/settings.json", gemini, "includeTools")]
    {
        let said = [format!("add \"result_query\" to its {list}, or the client will not offer the tool")];
        let home = Home::with(name, text);
        assert_eq!(home.install().found[0].remarks, said);
        assert_eq!(home.plan().found[0].remarks, said, "until it is done");
        home.write(name, home.text(name).replace("[\"y\"]", "[\"y\", \"result_query\"]").as_bytes());
        assert!(home.plan().found[0].remarks.is_empty());
    }
}

/// Of two entries with one name, clients use the last.
#[test]
fn the_last_of_two_entries_counts() {
    let text = r#"{"mcpServers":{"a":{"command":"x"},"a":{"command":"y"}}}"#;
    let home = Home::with(".cursor/mcp.json", text);
    assert_eq!(home.plan().found.len(), 1);
    home.install();
    assert_eq!(
        home.text(".cursor/mcp.json"),
        r#"{"mcpServers":{"a":{"command":"x"},"a":{"command":"tidegate","args":["run","--server","a","--","y"]}}}"#
    );
    home.uninstall();
    assert_eq!(home.text(".cursor/mcp.json"), text);
}

/// Unusual entries are not changed, each with a reason.
#[test]
fn entries_that_cannot_be_wrapped() {
    for (entry, why) in [
        (r#"7"#, "its entry is not an object"),
        (r#"{}"#, "it has neither a command nor a URL"),
        (r#"{"command":["a"]}"#, "its command is not a string"),
        (r#"{"command":""}"#, "its command is not a string"),
        (r#"{"command":"a","args":"b"}"#, "its args are not a list"),
        (r#"{"url":"ws://x/mcp","headers":{"a":"b"}}"#, "its URL is neither http nor https"),
        (r#"{"url":"https://x/mcp","headers":["a"]}"#, "its headers are not an object"),
        (r#"{"url":"https://x/mcp","headers":{"a":1}}"#, "its header a has no value"),
        (
            r#"{"url":"https://x/mcp","headers":{"a":"b"},"env":{}}"#,
            "it has both env and a URL; remove env first",
        ),
        (r#"{"url":"http://localhost/mcp?a","headers":{}}"#, "its headers are empty; remove them first"),
    ] {
        let home = Home::with(".cursor/mcp.json", &format!(r#"{{"mcpServers":{{"a":{entry}}}}}"#));
        assert_eq!(home.plan().found[0].verdict, Verdict::Skipped(why.into()), "{entry}");
    }
}

/// What a project shares is changed only where that was asked for; the user's own files are changed as usual.
#[test]
fn shared_files_are_left_alone_unless_asked_for() {
    let mut home = Home::with("project/.mcp.json", r#"{"mcpServers":{"a":{"command":"a"}}}"#);
    home.write(".cursor/mcp.json", br#"{"mcpServers":{"b":{"command":"b"}}}"#);
    home.options.shared_files = false;
    let plan = home.install();
    let verdict =
        |name: &str| plan.found.iter().find(|found| found.server() == name).unwrap().verdict.clone();
    let skipped = "everybody in the project shares its file; --scope project wraps it";
    assert_eq!((verdict("a"), verdict("b")), (Verdict::Skipped(skipped.into()), Verdict::WrapCommand));
    assert_eq!(home.text("project/.mcp.json"), r#"{"mcpServers":{"a":{"command":"a"}}}"#);
    home.options.shared_files = true;
    home.install();
    assert_eq!(json(&home.text("project/.mcp.json"))["mcpServers"]["a"]["command"], "tidegate");
}

#[test]
fn observing_is_an_argument_and_is_undone() {
    for (name, text) in FIXTURES {
        let mut home = Home::with(name, text);
        home.options.observe = true;
        home.options.without_login = true;
        let plan = home.install();
        assert!(home.text(name).contains("\"--observe\""), "{name}");
        assert!(plan.changes.iter().all(|change| !change.servers.is_empty()));
        home.write(name, format!("{}\n", home.text(name)).as_bytes());
        home.uninstall();
        assert_eq!(home.text(name), format!("{text}\n"), "{name}");
        home.assert_no_trace();
    }
}
