//! Install, then uninstall: every file is restored byte for byte, whatever its layout.

use tidegate_clients::Verdict;
use tidegate_clients::uninstall::Outcome;

use crate::home::{FIXTURES, Home, json};

/// Returns a file in every layout that means the same to a client.
fn layouts(name: &str, text: &str) -> Vec<(&'static str, Vec<u8>)> {
    let indented = |indent: &str| -> String {
        let line = |line: &str| {
            let spaces = line.len() - line.trim_start_matches(' ').len();
            format!("{}{}\n", indent.repeat(spaces / 2), &line[spaces..])
        };
        text.lines().map(line).collect()
    };
    let mut layouts = vec![
        ("as it is", text.to_owned()),
        ("CRLF", text.replace('\n', "\r\n")),
        ("BOM", format!("\u{feff}{text}")),
        ("BOM and CRLF", format!("\u{feff}{}", text.replace('\n', "\r\n"))),
        ("tabs", indented("\t")),
        ("three spaces", indented("   ")),
        ("no newline at the end", text.trim_end().to_owned()),
        ("blank lines around", format!("\n\n{text}\n \n")),
    ];
    if !name.ends_with(".toml") {
        layouts.push(("minified", json(text).to_string()));
        layouts.push(("one word per line", format!("{:#}", json(text))));
        layouts.push(("spaces around colons", text.replace("\": ", "\" :  ")));
    }
    layouts.into_iter().map(|(layout, text)| (layout, text.into_bytes())).collect()
}

#[test]
fn every_layout_is_restored_byte_for_byte() {
    for (name, text) in FIXTURES {
        for (layout, bytes) in layouts(name, text) {
            let home = Home::new();
            home.write(name, &bytes);
            let plan = home.install();
            assert!(plan.problems.is_empty(), "{name}, {layout}: {:?}", plan.problems);
            assert_eq!(plan.changes.len(), 1, "{name}, {layout}");
            assert!(home.read(name) != bytes, "{name}, {layout}");
            let undone = home.uninstall();
            let outcomes = undone.reversals.iter().flat_map(|reversal| &reversal.servers);
            assert!(outcomes.map(|(_, outcome)| outcome).all(|outcome| *outcome == Outcome::Restored));
            assert!(home.read(name) == bytes, "{name}, {layout}:\n{}", home.text(name));
            home.assert_no_trace();
        }
    }
}

/// The same without the backup: each edit can be undone by itself.
#[test]
fn every_edit_can_be_undone_without_the_backup() {
    for (name, text) in FIXTURES {
        for (layout, bytes) in layouts(name, text) {
            let home = Home::new();
            home.write(name, &bytes);
            home.install();
            std::fs::remove_dir_all(home.data().join("install/backups")).unwrap();
            let undone = home.uninstall();
            let outcomes = undone.reversals.iter().flat_map(|reversal| &reversal.servers);
            assert!(outcomes.map(|(_, outcome)| outcome).all(|outcome| *outcome == Outcome::Unwrapped));
            assert!(home.read(name) == bytes, "{name}, {layout}:\n{}", home.text(name));
            home.assert_no_trace();
        }
    }
}

#[test]
fn installing_again_changes_nothing() {
    let home = Home::new();
    FIXTURES.iter().for_each(|(name, text)| home.write(name, text.as_bytes()));
    assert_eq!(home.install().changes.len(), FIXTURES.len());
    let wrapped: Vec<Vec<u8>> = FIXTURES.iter().map(|(name, _)| home.read(name)).collect();

    let again = home.install();
    assert!(again.changes.is_empty(), "{:?}", again.changes);
    let wraps = |verdict: &Verdict| matches!(verdict, Verdict::WrapCommand | Verdict::WrapRemote);
    assert!(!again.found.iter().any(|found| wraps(&found.verdict)));
    let now: Vec<Vec<u8>> = FIXTURES.iter().map(|(name, _)| home.read(name)).collect();
    assert!(wrapped == now, "a second time changes nothing");

    home.uninstall();
    for (name, text) in FIXTURES {
        assert_eq!(home.text(name), text, "{name}");
    }
    home.assert_no_trace();
    assert!(home.uninstall().is_empty);
}

/// No edit of a fixture is refused as unsafe: each is a file as users have it.
#[test]
fn every_fixture_can_be_edited() {
    for (name, text) in FIXTURES {
        let plan = Home::with(name, text).plan();
        for found in plan.found {
            let Verdict::Skipped(why) = &found.verdict else { continue };
            assert!(!why.contains("by hand"), "{name}: {}: {why}", found.server());
        }
    }
}
