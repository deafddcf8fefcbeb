//! What a wrapped file looks like, and that secrets stay out of arguments.

use serde_json::Value;
use tidegate_clients::Verdict;

use crate::home::{FIXTURES, Home, json};

/// Every fixture after install: what happens with each server, and the file. Reviewed like code.
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

/// The arguments of every server in a file.
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
        assert_eq!(secrets(&wrapped), secrets(text), "{name}: every secret is still there, and only once");
        seen += secrets(text);
    }
    assert_eq!(seen, 13, "the fixtures have secrets in them");
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
fn names_that_could_be_mistaken() {
    let text = r#"{"mcpServers":{"-x":{"command":"a"},"tidegate":{"command":"b"},"mine":{"command":"/usr/bin/tidegate","args":["serve"]},"by-npx":{"command":"npx","args":["-y","tidegate@1","run","--","c"]}}}"#;
    let home = Home::with(".cursor/mcp.json", text);
    let verdicts: Vec<Verdict> = home.plan().found.into_iter().map(|found| found.verdict).collect();
    assert_eq!(
        verdicts,
        [
            Verdict::WrapCommand,
            Verdict::Left("it is tidegate itself, by its name".into()),
            Verdict::Left("it is tidegate itself".into()),
            Verdict::AlreadyWrapped
        ]
    );
    home.install();
    assert_eq!(
        json(&home.text(".cursor/mcp.json"))["mcpServers"]["-x"]["args"],
        serde_json::json!(["run", "--server=-x", "--", "a"])
    );
}

/// Of two entries of one name, clients take the last.
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

/// Odd entries are left alone, and each says why.
#[test]
fn what_cannot_be_wrapped_says_why() {
    for (entry, why) in [
        (r#"7"#, "its entry is not an object"),
        (r#"{}"#, "it has neither a command nor an address"),
        (r#"{"command":["a"]}"#, "its command is not a string"),
        (r#"{"command":""}"#, "its command is not a string"),
        (r#"{"command":"a","args":"b"}"#, "its args are not a list"),
        (r#"{"url":"ws://x/mcp","headers":{"a":"b"}}"#, "its address is not one of http or https"),
        (r#"{"url":"https://x/mcp","headers":["a"]}"#, "its headers are not an object"),
        (r#"{"url":"https://x/mcp","headers":{"a":1}}"#, "its header a has no value"),
        (
            r#"{"url":"https://x/mcp","headers":{"a":"b"},"env":{}}"#,
            "it has env beside an address; take it out first",
        ),
        (r#"{"url":"http://localhost/mcp?a","headers":{}}"#, "its headers are empty; take them out first"),
    ] {
        let home = Home::with(".cursor/mcp.json", &format!(r#"{{"mcpServers":{{"a":{entry}}}}}"#));
        assert_eq!(home.plan().found[0].verdict, Verdict::Left(why.into()), "{entry}");
    }
}
