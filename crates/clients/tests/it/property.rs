//! Whatever else changes in a file between install and uninstall, uninstall undoes only the wrapping.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::home::Home;

const FILE: &str = ".cursor/mcp.json";

fn word() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z]{1,6}", "[ -~]{0,12}", "\\PC{0,6}", Just("--".to_owned()), Just("run".to_owned())]
}

fn server() -> impl Strategy<Value = Value> {
    let words = prop::collection::vec(word(), 0..4);
    let pairs = || prop::collection::btree_map("[A-Za-z][A-Za-z_-]{0,8}", "[!-~]{1,12}", 0..3);
    let started = ("[a-z/ ]{1,8}", prop::option::of(words), prop::option::of(pairs())).prop_map(
        |(command, args, env)| {
            let mut entry = Map::from_iter([("command".to_owned(), json!(command))]);
            args.map(|args| entry.insert("args".into(), json!(args)));
            env.map(|env| entry.insert("env".into(), json!(env)));
            entry.into()
        },
    );
    let remote =
        ("[a-z]{1,8}(\\?key=[a-z]{1,9})?", pairs(), any::<bool>()).prop_map(|(path, headers, typed)| {
            let mut entry = Map::from_iter([("url".to_owned(), json!(format!("https://h.example/{path}")))]);
            typed.then(|| entry.insert("type".into(), json!("http")));
            entry.insert("headers".into(), json!(headers));
            entry.into()
        });
    prop_oneof![3 => started, 2 => remote]
}

/// Generates a file with servers and other members, in one of several layouts.
fn document() -> impl Strategy<Value = String> {
    let servers = prop::collection::btree_map("[a-z]{1,5}( [a-z])?", server(), 1..5);
    let others = prop::collection::btree_map("[a-lA-L]{1,6}", word(), 0..3);
    (servers, others, 0..4, any::<bool>(), any::<bool>()).prop_map(|(servers, others, layout, crlf, bom)| {
        let mut root: Map<String, Value> =
            others.into_iter().map(|(name, word)| (name, word.into())).collect();
        root.insert("mcpServers".into(), json!(servers));
        let root = Value::from(root);
        let text = match layout {
            0 => root.to_string(),
            1 => format!("{root:#}"),
            2 => format!("{root:#}").replace("  ", "\t"),
            _ => format!("// mine\n{}\n", format!("{root:#}").replace("{\n", "{ // here\n")),
        };
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        if bom { format!("\u{feff}{text}") } else { text }
    })
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(200))]

    #[test]
    fn restored_byte_for_byte_with_and_without_the_backup(text in document(), backup: bool) {
        let home = Home::with(FILE, &text);
        home.install();
        if !backup {
            let _ = std::fs::remove_dir_all(home.data().join("install/backups"));
        }
        home.uninstall();
        prop_assert_eq!(home.text(FILE), text);
    }

    /// What was wrapped by hand stays as it is, however often uninstall runs, with and without a record.
    #[test]
    fn what_was_wrapped_by_hand_stays(text in document(), name in "[A-Z]{1,5}", words in prop::collection::vec(word(), 0..3), lost: bool) {
        let open = text.find("\"mcpServers\"").unwrap();
        let open = open + text[open..].find('{').unwrap() + 1;
        let args: Vec<String> = ["run", "--", "x"].map(str::to_owned).into_iter().chain(words).collect();
        let entry = json!({"command": "tidegate", "args": args});
        let text = format!("{} {}: {entry}, {}", &text[..open], json!(name), &text[open..]);
        let home = Home::with(FILE, &text);
        home.install();
        let wrapped = home.text(FILE);
        if lost {
            std::fs::remove_dir_all(home.data()).unwrap();
        }
        for _ in 0..2 {
            home.uninstall();
            prop_assert_eq!(&home.text(FILE), if lost { &wrapped } else { &text });
        }
    }

    /// A change outside the wrapped servers, made after install, survives as if it had been made to the original.
    #[test]
    fn other_changes_stay(text in document(), added in word(), comment: bool) {
        let home = Home::with(FILE, &text);
        home.install();
        let change = |text: &str| -> String {
            let open = text.find('{').unwrap() + 1;
            let member = format!("\"zz\": {}, ", json!(added));
            let member = if comment { "/* changed */".to_owned() } else { member };
            format!("{}{member}{}", &text[..open], &text[open..])
        };
        home.write(FILE, change(&home.text(FILE)).as_bytes());
        home.uninstall();
        prop_assert_eq!(home.text(FILE), change(&text));
    }
}
