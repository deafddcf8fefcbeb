//! Entries of many tools, read as records.

use super::*;
use crate::source::Span;
use crate::text::Text;

/// Returns the records of a text as JSON, one on each line, and the lines around them.
fn records(text: &str) -> (String, Vec<String>) {
    let Some(entries) = Entries::recognise(&Sample::of(text)) else { return ("none".into(), Vec::new()) };
    let pattern = super::super::Pattern::Entries(entries);
    let source = text.as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    let mut reader = pattern.reader(crate::lines::Lines::new(&text));
    let mut all = Vec::new();
    while let Some((_, json, _)) = reader.next_json().unwrap() {
        all.push(json);
    }
    (all.join("\n"), reader.others.lines.into_iter().map(|(_, line)| line).collect())
}

/// Three entries in any notation: a title, a status and votes.
const EXPECTED: &str = "{\"title\":\"Fix it\",\"Status\":\"open\",\"Votes\":\"3\"}\n\
    {\"title\":\"Break it\",\"Status\":\"done\",\"Votes\":\"12\"}\n\
    {\"title\":\"Leave it\",\"Status\":\"open\",\"Votes\":\"0\"}";

#[test]
fn titles_of_every_kind() {
    let form = |entry: &str, between: &str| {
        let entries =
            [("1", "Fix it", "open", "3"), ("2", "Break it", "done", "12"), ("3", "Leave it", "open", "0")];
        let write = |(number, title, status, votes): (&str, &str, &str, &str)| {
            entry
                .replace("NUMBER", number)
                .replace("TITLE", title)
                .replace("STATUS", status)
                .replace("VOTES", votes)
        };
        format!("Found 3:\n\n{}", entries.map(write).join(between))
    };
    for (entry, between) in [
        ("## TITLE\n\nStatus: STATUS\nVotes: VOTES\n", "\n"),
        ("### TITLE\n- **Status**: STATUS\n- **Votes:** VOTES\n", "\n---\n\n"),
        ("**TITLE**\n* Status: STATUS\n* Votes: VOTES\n", "\n"),
        ("NUMBER. TITLE\n   Status: STATUS\n   Votes: VOTES\n", "\n"),
        ("[NUMBER] TITLE\nStatus: STATUS\nVotes: VOTES\n", ""),
        ("NUMBER) TITLE\n   📌 Status: STATUS | Votes: VOTES\n", "\n"),
        ("- TITLE\n  - Status: STATUS\n  - Votes: VOTES\n", ""),
        ("• TITLE\n  Status: STATUS · Votes: VOTES\n", ""),
        ("TITLE\n    Status: STATUS\n    Votes: VOTES\n", ""),
        ("TITLE\nStatus: STATUS\nVotes: VOTES\n", "\n"),
        ("TITLE\nStatus: STATUS\nVotes: VOTES\n", "=====\n"),
    ] {
        let text = form(entry, between);
        let (found, others) = records(&text);
        assert_eq!(found, EXPECTED, "{text}");
        assert_eq!(others, ["Found 3:"], "{text}");
    }
}

#[test]
fn a_key_before_every_title_names_it() {
    let text = "- **Name**: a\n  Size: 1\n- **Name**: b\n  Size: 2\n- **Name**: c\n  Size: 3\n";
    assert_eq!(
        records(text).0,
        "{\"Name\":\"a\",\"Size\":\"1\"}\n{\"Name\":\"b\",\"Size\":\"2\"}\n{\"Name\":\"c\",\"Size\":\"3\"}"
    );
}

#[test]
fn values_go_on_and_texts_follow() {
    let entry = |name: &str| {
        format!("## {name}\n- **Labels:**\n  - bug\n  - ui\n- **State:** open\n\nIt broke.\nTwice.\n\n")
    };
    let text = format!("# Issues\n\n{}{}# More\n\n{}", entry("a"), entry("b"), entry("c"));
    let (found, others) = records(&text);
    assert_eq!(
        found.lines().next().unwrap(),
        r#"{"title":"a","Labels":"- bug\n- ui","State":"open","text":"It broke.\nTwice."}"#
    );
    assert_eq!(found.lines().count(), 3);
    assert_eq!(others, ["# Issues", "# More"], "headings of a higher level are no part of an entry");
}

#[test]
fn what_follows_indented_entries_is_no_part_of_them() {
    let text = "1. a\n   Size: 1\n2. b\n   Size: 2\n3. c\n   Size: 3\n\nPage 1 of 9.\n";
    let (found, others) = records(text);
    assert!(found.ends_with("{\"title\":\"c\",\"Size\":\"3\"}"), "{found}");
    assert_eq!(others, ["Page 1 of 9."]);
}

#[test]
fn names_of_fields_are_kept() {
    let text = "## x\ntitle: t\ntext: u\nmore\n## y\ntitle: t\ntext: u\n## z\ntitle: t\ntext: u\n";
    assert_eq!(
        records(text).0.lines().next().unwrap(),
        r#"{"title_":"x","title":"t","text":"u","text_":"more"}"#
    );
}

#[test]
fn other_texts_are_not_entries() {
    for text in [
        "# Guide\n\nWords.\n\n## Install\n\nNote: run it.\n\n## Use\n\nSee: below.\n\n## More\n\nWords.\n",
        "class A:\n    x: int\nclass B:\n    y: int\nclass C:\n    z: str\n",
        "a {\n  color: red;\n  margin: 0;\n}\nb {\n  color: blue;\n  margin: 0;\n}\nc {\n  color: red;\n  margin: 0;\n}\n",
        "- one\n- two\n- three\n",
        "2024-01-01 start\n  at: x\n2024-01-02 stop\n",
    ] {
        assert_eq!(records(text).0, "none", "{text}");
    }
}
