//! Install then uninstall: every file as it was, byte for byte, however it is written.

use tidegate_clients::Verdict;
use tidegate_clients::uninstall::Outcome;

use crate::home::{FIXTURES, Home, json};

/// The ways in which a file may be written that no client cares about.
fn manners(name: &str, text: &str) -> Vec<(&'static str, Vec<u8>)> {
    let indented = |indent: &str| -> String {
        let line = |line: &str| {
            let blank = line.len() - line.trim_start_matches(' ').len();
            format!("{}{}\n", indent.repeat(blank / 2), &line[blank..])
        };
        text.lines().map(line).collect()
    };
    let mut manners = vec![
        ("as it is", text.to_owned()),
        ("CRLF", text.replace('\n', "\r\n")),
        ("BOM", format!("\u{feff}{text}")),
        ("BOM and CRLF", format!("\u{feff}{}", text.replace('\n', "\r\n"))),
        ("tabs", indented("\t")),
        ("three blanks", indented("   ")),
        ("no newline at the end", text.trim_end().to_owned()),
        ("blank lines around", format!("\n\n{text}\n \n")),
    ];
    if !name.ends_with(".toml") {
        manners.push(("minified", json(text).to_string()));
        manners.push(("one word a line", format!("{:#}", json(text))));
        manners.push(("blanks around colons", text.replace("\": ", "\" :  ")));
    }
    manners.into_iter().map(|(manner, text)| (manner, text.into_bytes())).collect()
}

#[test]
fn every_file_in_every_manner_comes_back_byte_for_byte() {
    for (name, text) in FIXTURES {
        for (manner, bytes) in manners(name, text) {
            let home = Home::new();
            home.write(name, &bytes);
            let plan = home.install();
            assert!(plan.problems.is_empty(), "{name}, {manner}: {:?}", plan.problems);
            assert_eq!(plan.changes.len(), 1, "{name}, {manner}");
            assert!(home.read(name) != bytes, "{name}, {manner}");
            let undone = home.uninstall();
            let outcomes = undone.reversals.iter().flat_map(|reversal| &reversal.servers);
            assert!(outcomes.map(|(_, outcome)| outcome).all(|outcome| *outcome == Outcome::Restored));
            assert!(home.read(name) == bytes, "{name}, {manner}:\n{}", home.text(name));
            home.assert_no_trace();
        }
    }
}

/// The same without the copy: each edit leads back by itself.
#[test]
fn every_edit_leads_back_without_the_copy() {
    for (name, text) in FIXTURES {
        for (manner, bytes) in manners(name, text) {
            let home = Home::new();
            home.write(name, &bytes);
            home.install();
            std::fs::remove_dir_all(home.data().join("install/backups")).unwrap();
            let undone = home.uninstall();
            let outcomes = undone.reversals.iter().flat_map(|reversal| &reversal.servers);
            assert!(outcomes.map(|(_, outcome)| outcome).all(|outcome| *outcome == Outcome::TakenOut));
            assert!(home.read(name) == bytes, "{name}, {manner}:\n{}", home.text(name));
            home.assert_no_trace();
        }
    }
}

#[test]
fn all_at_once_and_twice() {
    let home = Home::new();
    FIXTURES.iter().for_each(|(name, text)| home.write(name, text.as_bytes()));
    assert_eq!(home.install().changes.len(), FIXTURES.len());
    let wrapped: Vec<Vec<u8>> = FIXTURES.iter().map(|(name, _)| home.read(name)).collect();

    let again = home.install();
    assert!(again.changes.is_empty(), "{:?}", again.changes);
    let wraps = |verdict: &Verdict| matches!(verdict, Verdict::WrapCommand | Verdict::WrapAddress);
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

/// No edit is refused: every fixture is a file that somebody has.
#[test]
fn nothing_is_written_in_a_way_that_cannot_be_changed() {
    for (name, text) in FIXTURES {
        let plan = Home::with(name, text).plan();
        for found in plan.found {
            let Verdict::Left(why) = &found.verdict else { continue };
            assert!(!why.contains("by hand"), "{name}: {}: {why}", found.server());
        }
    }
}
