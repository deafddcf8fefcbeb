//! What changed between two results of the same call: exact counts in every notation, and answers that begin with it.

use proptest::prelude::*;
use tidegate_core::Tokens;
use tidegate_core::budget::Budget;
use tidegate_core::diff::{ChangeKind, Changes, Unit, apply, compare, patch};
use tidegate_core::envelope::Handle;
use tidegate_core::measure::Meter;
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::shape::{Comparison, Earlier, Fill, Prepared, Request, Shaped};
use tidegate_core::view::Dataset;
use tidegate_testkit::make;
use tidegate_testkit::tables::{RandomTable, TableNotation};

use crate::HANDLE;

const OLD_NAME: &str = "list_things-7q0rdznc4h2m";

fn changes(old: &[u8], new: &[u8]) -> Changes {
    let (old_outline, new_outline) = (outline(old), outline(new));
    compare(&Dataset::new(&old, &old_outline), &Dataset::new(&new, &new_outline)).unwrap()
}

fn outline(result: &[u8]) -> Outline {
    Outline::read(&Payload::read_result(&result).unwrap()).unwrap()
}

fn texts(old: &str, new: &str) -> (String, Vec<String>) {
    let changes = changes(&make::text_result(old), &make::text_result(new));
    (changes.summary(), changes.lines().collect())
}

fn shaped_since(result: &[u8], comparison: Comparison, tokens: u64) -> Shaped {
    let source = result;
    let payload = Payload::read_result(&source).unwrap();
    let text = payload.joined_text();
    let prepared = Prepared::new(&payload, text.as_ref()).unwrap();
    let request = Request {
        tool: "list_things",
        arguments: None,
        handle: Handle::kept(HANDLE, "kept 24 h"),
        budget: Budget::of_tokens(Tokens(tokens)),
        meter: Meter::default(),
        fill: Fill::Useful,
    };
    let earlier = Earlier {
        name: OLD_NAME.into(),
        ran: "2026-11-14T09:30:00Z".into(),
        runs: "2026-11-14T09:34:10Z".into(),
        comparison,
    };
    prepared.shape_since(&request, &earlier).unwrap()
}

/// The change lines of an answer.
fn shown(answer: &str) -> Vec<&str> {
    answer.lines().skip_while(|line| *line != "changes:").skip(1).take_while(|line| *line != "now:").collect()
}

#[test]
fn records_are_paired_by_their_key() {
    let old = r#"{"total":3,"items":[{"number":1,"state":"open","by":{"name":"ada"}},{"number":2,"state":"open"},{"number":3,"n":1}]}"#;
    let new = r#"{"total":4,"items":[{"number":4,"state":"new"},{"number":1,"state":"closed","by":{"name":"eve"}},{"number":3,"n":1},{"number":5}]}"#;
    let (summary, lines) = texts(old, new);
    assert_eq!(summary, "1 row changed, 1 removed, 2 added, 1 value beside them changed (by number)");
    assert_eq!(
        lines,
        [
            r#"~ number 1: state "open" -> "closed", by.name "ada" -> "eve""#,
            r#"- {"number":2,"state":"open"}"#,
            r#"+ {"number":4,"state":"new"}"#,
            r#"+ {"number":5}"#,
            "~ total: 3 -> 4",
        ]
    );
}

#[test]
fn another_order_of_members_is_not_a_change() {
    let old = r#"[{"id":1,"state":"open","by":{"a":1,"b":2}},{"id":2,"state":"open"}]"#;
    let new = r#"[{"state":"open","by":{"b":2,"a":1},"id":1},{"id":2,"state":"done"}]"#;
    let (summary, lines) = texts(old, new);
    assert_eq!(summary, "1 row changed (by id)");
    assert_eq!(lines, [r#"~ id 2: state "open" -> "done""#]);
}

#[test]
fn records_without_a_key_are_paired_by_content() {
    let rows = |rows: &[(f64, f64)]| {
        let rows: Vec<String> = rows.iter().map(|(x, y)| format!(r#"{{"x":{x},"y":{y}}}"#)).collect();
        format!("[{}]", rows.join(","))
    };
    let old = rows(&[(1.5, 2.5), (1.5, 2.5), (3.5, 4.5), (5.5, 6.5)]);
    let (summary, lines) = texts(&old, &rows(&[(1.5, 2.5), (3.5, 4.5), (7.5, 8.5), (5.5, 6.5)]));
    assert_eq!(summary, "1 row removed, 1 added (by content)");
    assert_eq!(lines, [r#"- {"x":1.5,"y":2.5}"#, r#"+ {"x":7.5,"y":8.5}"#]);
    let (summary, lines) = texts(&old, &rows(&[(5.5, 6.5), (1.5, 2.5), (3.5, 4.5), (1.5, 2.5)]));
    assert_eq!((summary.as_str(), lines.len()), ("the same rows in another order", 0));
    let (summary, _) = texts(&old, &old.replace("},{", "}, {"));
    assert_eq!(summary, "the same rows, other bytes differ", "never called equal");
}

#[test]
fn texts_are_compared_line_by_line() {
    let old = "Call me Ishmael.\nSome years ago\nI thought I would sail\nabout a little.\n";
    let new = "Call me Ishmael.\nNever mind how long ago\nI thought I would sail\nabout a little.\nAgain.\n";
    let (summary, lines) = texts(old, new);
    assert_eq!(summary, "1 line removed, 2 added");
    assert_eq!(lines, ["- 2: Some years ago", "+ 2: Never mind how long ago", "+ 5: Again."]);
    // A string that is most of a JSON result is compared as a text.
    let json = |text: &str| format!(r#"{{"pages":1,"markdown":{}}}"#, make::quoted(&text.repeat(40)));
    let (summary, _) = texts(&json(old), &json(old).replacen("little.", "lot.", 1));
    assert_eq!(summary, "1 line removed, 1 added");
}

#[test]
fn snapshots_are_compared_by_reference() {
    let old = "- main [ref=e1]:\n  - heading \"Shop\" [ref=e2]\n  - button \"Buy\" [ref=e3]\n  - text: two items\n  - link \"Home\" [ref=e4]\n";
    let new = "- main [ref=e1]:\n  - link \"Home\" [ref=e4]\n  - heading \"Shop\" [ref=e2]\n  - button \"Buy\" [ref=e3] [disabled]\n  - text: one item\n  - alert \"Sold\" [ref=e9]\n";
    let (summary, lines) = texts(old, new);
    assert_eq!(summary, "1 element changed, 1 removed, 2 added (by reference)");
    assert_eq!(
        lines,
        [
            "~ ref=e3: - button \"Buy\" [ref=e3] -> - button \"Buy\" [ref=e3] [disabled]",
            "+ - alert \"Sold\" [ref=e9]",
            "- - text: two items",
            "+ - text: one item",
        ]
    );
    let uids = |state: &str| {
        format!("uid=1_0 RootWebArea \"Shop\"\n  uid=1_1 button \"Buy\"{state}\n  uid=1_2 link \"Home\"\n")
    };
    let (summary, _) = texts(&uids(""), &uids(" disabled"));
    assert_eq!(summary, "1 element changed (by reference)");
}

#[test]
fn hidden_characters_are_escaped_and_lines_are_cut() {
    let (_, lines) = texts("one\ntwo\u{202e}\n", &format!("one\n{}\u{7}\n", "x".repeat(1000)));
    assert_eq!(lines[0], "- 2: two\\u{202e}");
    assert!(lines[1].chars().count() < 300 && lines[1].ends_with('…'), "{}", lines[1]);
}

#[test]
fn an_unchanged_result_has_a_short_answer_that_stands_alone() {
    let table = RandomTable::new(5, 400);
    let result = make::text_result(&table.write(TableNotation::Json));
    let first = crate::shaped(&result.as_slice(), 1000);
    let again = shaped_since(&result, Comparison::Equal, 1000);
    assert!(again.shaped.tokens.0 <= 400, "{}", again.shaped.tokens);
    assert!(again.text.contains(&format!(
        "Unchanged: the same bytes as \"{OLD_NAME}\" from this call at 2026-11-14T09:30:00Z; this one ran at 2026-11-14T09:34:10Z."
    )));
    assert!(again.text.contains(HANDLE) && again.text.contains("next: result_query"));
    // The statistics are those of the first answer.
    let statistics = first.text.lines().filter(|line| line.contains(": ") && line.contains("COL_"));
    let said = statistics.filter(|line| !line.starts_with("next") && again.text.contains(*line)).count();
    assert!(said > 0, "{}\n{}", first.text, again.text);
}

/// Rows that were changed, removed and added: positions in the old table, and how many new ones.
#[derive(Debug, Clone)]
struct TableEdit {
    changed: Vec<usize>,
    removed: Vec<usize>,
    added: usize,
}

fn table_edit() -> impl Strategy<Value = TableEdit> {
    let rows = || prop::collection::btree_set(0..30_usize, 0..5);
    (rows(), rows(), 0..4_usize).prop_map(|(changed, removed, added)| TableEdit {
        changed: changed.difference(&removed).copied().collect(),
        removed: removed.into_iter().collect(),
        added,
    })
}

fn edited(table: &RandomTable, edit: &TableEdit) -> RandomTable {
    let mut new = table.clone();
    for row in &edit.changed {
        new.rows[*row][1] = format!("changed{row}");
    }
    for row in edit.removed.iter().rev() {
        new.rows.remove(*row);
    }
    for number in 0..edit.added {
        let mut cells = table.rows[number].clone();
        cells[0] = format!("added-{number}");
        new.rows.insert(number * 3, cells);
    }
    new
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(400))]

    /// The rows of a table in every notation are paired by their key column, and no change is missed or made up.
    #[test]
    fn changes_of_tables_are_exact(seed in 0..1000_u64, edit in table_edit(), notation in 0..TableNotation::ALL.len()) {
        let (table, notation) = (RandomTable::new(seed, 30), TableNotation::ALL[notation]);
        // Its writer numbers the rows, so that all of them change.
        prop_assume!(notation != TableNotation::KeyedObjects);
        let new = edited(&table, &edit);
        let (old, new) = (make::text_result(&table.write(notation)), make::text_result(&new.write(notation)));
        let found = changes(&old, &new);
        let counts = [ChangeKind::Changed, ChangeKind::Removed, ChangeKind::Added].map(|kind| found.count(kind));
        let expected = [edit.changed.len(), edit.removed.len(), edit.added].map(|count| count as u64);
        prop_assert!(matches!(found.unit, Unit::Records { .. }), "{:?}: {:?}", notation, found.unit);
        prop_assert_eq!(counts, expected, "{:?}: {:?}", notation, found.lines().collect::<Vec<_>>());
    }

    /// The answer fits, says what changed, and begins with the first changes.
    #[test]
    fn an_answer_begins_with_the_changes(seed in 0..1000_u64, edit in table_edit(), tokens in 250..2000_u64) {
        let table = RandomTable::new(seed, 30);
        let new = make::text_result(&edited(&table, &edit).write(TableNotation::Json));
        let old = make::text_result(&table.write(TableNotation::Json));
        let found = changes(&old, &new);
        let (summary, lines) = (found.summary(), found.lines().collect::<Vec<_>>());
        let shaped = shaped_since(&new, Comparison::Changed(found), tokens);
        prop_assert!(shaped.shaped.tokens.0 <= tokens, "{} of {tokens}", shaped.shaped.tokens);
        let shown = shown(&shaped.text);
        prop_assert!(lines.iter().map(String::as_str).zip(&shown).all(|(line, shown)| line == *shown), "{}", shaped.text);
        prop_assert!(shown.len() <= lines.len());
        if tokens > 500 {
            prop_assert!(shaped.text.contains(&summary), "{}", shaped.text);
            prop_assert!(lines.is_empty() || !shown.is_empty(), "{}", shaped.text);
        }
    }

    /// Any two results are compared without an error, and the patch gives the new one.
    #[test]
    fn any_two_results_can_be_compared(old in make::result(), new in make::result()) {
        let found = changes(&old, &new);
        prop_assert!(found.lines().all(|line| !line.contains('\n')));
        prop_assert_eq!(apply(&old, &patch(&old, &new)).unwrap(), new.clone());
        prop_assert_eq!(changes(&new, &new).list, []);
    }
}
