//! Which columns, rows and queries an overview chooses: those a reader would pick.

use serde_json::{Value, json};
use tidegate_core::Tokens;
use tidegate_core::budget::Budget;
use tidegate_core::envelope::Handle;
use tidegate_core::hints::Hints;
use tidegate_core::measure::Meter;
use tidegate_core::payload::Payload;
use tidegate_core::shape::{Fill, Prepared, Request, Step};
use tidegate_core::view::{Query, View};
use tidegate_testkit::make;

use crate::exact::body;
use crate::views::Kept;

/// An overview of a value; `arguments` are those of the call.
fn overview_with(value: &Value, tokens: u64, arguments: Option<&str>, hints: &Hints) -> String {
    let result = make::text_result(&value.to_string());
    let source = result.as_slice();
    let payload = Payload::read(&source).unwrap();
    let text = payload.joined_text();
    let request = Request {
        tool: "list_things",
        arguments,
        handle: Handle::kept(crate::HANDLE, "kept 24 h"),
        budget: Budget::of_tokens(Tokens(tokens)),
        meter: Meter::default(),
        fill: Fill::Useful,
    };
    let shaped = Prepared::with_hints(&payload, text.as_ref(), hints).unwrap().shape(&request).unwrap();
    assert_eq!(shaped.step, Step::Overview, "{}", shaped.text);
    shaped.text
}

fn overview(value: &Value, tokens: u64) -> String {
    overview_with(value, tokens, None, &Hints::default())
}

/// Returns the line of an overview with the names of the columns.
fn header(text: &str) -> Vec<&str> {
    let line = text.lines().find(|line| line.starts_with("#,") || line.starts_with("key,"));
    line.unwrap_or_else(|| panic!("no rows in {text}")).split(',').skip(1).collect()
}

/// Alarms of machines: what decides is the time and the machine; one column is constant, one repeats another.
fn alarm(n: usize) -> Value {
    json!({
        "id": 9000 + n,
        "read": false,
        "self_url": format!("https://api.example.com/v2/alarms/{}", 9000 + n),
        "machine": format!("press-{:02}", n * 7 % 23),
        "machine_name": format!("press-{:02}", n * 7 % 23),
        "severity": if n % 41 == 7 { "HIGH" } else { "LOW" },
        "start": {"dateTime": format!("2026-03-{:02}T{:02}:15:00Z", 1 + n / 24 % 28, n % 24), "timeZone": "UTC"},
        "details": format!("{} {}", "the spindle ran warm for a while".repeat(12), n),
    })
}

fn alarms(count: usize) -> Value {
    (0..count).map(alarm).collect::<Vec<_>>().into()
}

#[test]
fn a_constant_is_written_once_and_is_not_a_column() {
    let text = overview(&alarms(300), 1000);
    assert!(text.contains("in all: ") && text.contains("read=false"), "{text}");
    assert!(text.contains("start.timeZone=UTC"), "{text}");
    let header = header(&text);
    for name in ["read", "start.timeZone"] {
        assert!(!header.contains(&name), "{header:?}");
    }
}

#[test]
fn a_column_that_repeats_another_is_left_out() {
    let text = overview(&alarms(300), 1000);
    let header = header(&text);
    let machines = header.iter().filter(|name| name.starts_with("machine")).count();
    assert_eq!(machines, 1, "{header:?}");
}

#[test]
fn telling_columns_are_chosen_before_urls() {
    let text = overview(&alarms(300), 1000);
    let header = header(&text);
    for name in ["id", "severity", "start.dateTime"] {
        assert!(header.contains(&name), "{name} in {header:?}");
    }
    assert!(!header.contains(&"self_url"), "{header:?}");
}

#[test]
fn all_rows_are_shown_whole_where_they_fit() {
    let text = overview(&alarms(60), 3000);
    assert!(text.contains("all 60 rows"), "{text}");
    for n in [0, 17, 59] {
        let time = format!("2026-03-{:02}T{:02}:15:00Z", 1 + n / 24 % 28, n % 24);
        let machine = format!("press-{:02}", n * 7 % 23);
        let is_row = |line: &&str| line.contains(&time) && line.contains(&machine);
        assert!(text.lines().any(|line| is_row(&line)), "row {n} in {text}");
    }
}

#[test]
fn the_members_of_a_rare_group_are_named() {
    let rows: Vec<Value> = (0..280)
        .map(|n| {
            let level = if n % 40 == 3 { "HIGH" } else { ["LOW", "MEDIUM"][n % 2] };
            json!({"file": format!("src/part{n}.py"), "severity": level, "line": n * 37 % 900, "text": "x".repeat(90)})
        })
        .collect();
    let text = overview(&rows.into(), 1000);
    let line = text.lines().find(|line| line.starts_with("severity: ")).unwrap();
    assert!(line.contains("HIGH=7 (src/part3.py, src/part43.py, "), "{line}");
}

#[test]
fn the_records_with_the_least_score_are_named() {
    let score = |n: usize| if n % 15 == 4 { 0.0 } else { [1.0, 0.5, 0.9][n % 3] };
    let rows: Vec<Value> = (0..160)
        .map(|n| json!({"name": format!("check-{n}"), "score": score(n), "text": format!("{n}{}", "v".repeat(90))}))
        .collect();
    let text = overview(&rows.into(), 1000);
    let line = text.lines().find(|line| line.starts_with("score: ")).unwrap();
    assert!(line.contains("=11 (check-4, check-19, "), "{line}");
}

#[test]
fn a_few_values_are_listed_though_each_is_unique() {
    let rows: Vec<Value> = (0..200)
        .map(|n| {
            let mut row =
                json!({"id": n, "kind": (["a", "b"][n % 2]), "text": format!("{n}{}", "u".repeat(90))});
            if n % 50 == 7 {
                let title = ["first light", "beta", "gold", "late fixes"][n / 50];
                row["milestone"] = json!({"title": title, "open": true});
            }
            row
        })
        .collect();
    let text = overview(&rows.into(), 1000);
    assert!(text.contains("milestone.title: unique: first light; beta; gold; late fixes"), "{text}");
}

#[test]
fn a_name_that_contains_error_is_not_an_error() {
    let rows: Vec<Value> = (0..300)
        .map(|n| {
            let topic = if n % 60 == 31 { "Error Handling" } else { ["Memory", "Disk", "Network"][n % 3] };
            let status = if n == 200 { "failed" } else { "ok" };
            json!({"name": format!("setting_{n}"), "topic": topic, "status": status, "text": "y".repeat(120)})
        })
        .collect();
    let text = overview(&rows.into(), 600);
    let row = |n: usize| text.lines().position(|line| line.starts_with(&format!("{},", n + 1)));
    assert!(row(200).is_some(), "{text}");
}

#[test]
fn the_fields_of_a_policy_may_be_nested() {
    let fields = ["start.dateTime", "severity"].map(str::to_owned).to_vec();
    let hints = Hints { fields, ..Hints::default() };
    let text = overview_with(&alarms(300), 1000, None, &hints);
    assert_eq!(header(&text), ["start.dateTime", "severity"], "{text}");
}

#[test]
fn the_next_step_names_columns_of_this_result() {
    let text = overview(&alarms(300), 1000);
    let next = text.lines().last().unwrap();
    assert!(next.contains("group by 1") && next.contains("from t"), "{next}");
    assert!(next.contains("select severity,count(*)"), "{next}");
    assert!(next.contains(r#"select(.severity==\"HIGH\")"#), "{next}");
    assert!(next.contains(r#""grep":"HIGH""#), "{next}");
}

#[test]
fn the_frame_says_which_list_is_the_table() {
    let two = json!({"alarms": alarms(200), "rooms": (0..40).map(|n| json!({"room": n, "note": "z".repeat(200)})).collect::<Vec<_>>()});
    let text = overview(&two, 1000);
    assert!(text.lines().nth(1).unwrap().contains("In sql, t is alarms."), "{text}");
    assert!(!overview(&alarms(200), 1000).contains("In sql"));
}

#[test]
fn a_list_as_long_as_the_call_s_limit_may_go_on() {
    let page = |arguments| overview_with(&alarms(100), 1000, Some(arguments), &Hints::default());
    let note = "there may be more";
    assert!(page(r#"{"perPage":100}"#).contains("As many rows as the call's perPage: there may be more."));
    assert!(page(r#"{"query":{"page_size":"100"}}"#).contains(note));
    assert!(!page(r#"{"perPage":200}"#).contains(note), "a shorter list is the last page");
    assert!(!page(r#"{"year":100}"#).contains(note));
}

/// A page of some fields is sized by these fields, not by whole records.
#[test]
fn a_page_of_fields_is_filled_by_them() {
    let rows: Vec<Value> =
        (0..90).map(|n| json!({"id": n, "name": format!("thing {n}"), "body": "w".repeat(3000)})).collect();
    let kept = Kept::new(make::text_result(&Value::from(rows).to_string()));
    let fields = vec!["id".to_owned(), "name".to_owned()];
    let query = Query { view: View::Page { number: 1, size: None }, fields, position: 0 };
    let pages = kept.walk(query, 2000);
    assert!(pages[0].shown >= 50, "{}", pages[0].text);
    assert_eq!(pages.iter().map(|page| page.shown).sum::<u64>(), 90);
    assert!(pages[0].body.starts_with("id,name\n0,thing 0\n"), "{}", pages[0].body);
}

/// A budget below the least that an answer needs is raised, and the answer says so.
#[test]
fn a_budget_that_is_too_small_is_raised() {
    let kept = Kept::new(make::text_result(&alarms(40).to_string()));
    let answer = kept.ask(&Query::new(View::Page { number: 1, size: None }), 60).unwrap();
    assert!(answer.text.contains("max_tokens counts as 250"), "{}", answer.text);
    assert!(answer.cost.tokens.0 <= 250);
}

#[test]
fn no_line_repeats_another() {
    for value in [alarms(40), alarms(300), json!({"alarms": alarms(120), "total": 120})] {
        let text = overview(&value, 1000);
        let mut lines: Vec<&str> = body(&text).lines().collect();
        let count = lines.len();
        lines.sort_unstable();
        lines.dedup();
        assert_eq!(lines.len(), count, "{text}");
    }
}
