//! Wrong queries are answered with what is right.

use tidegate_testkit::sample;

use crate::Engine::{Grep, Jq, Sql};
use crate::Kept;

#[test]
fn a_wrong_column_names_the_right_one() {
    let kept = Kept::new(&sample::issues(30));
    let error = kept.error(Sql, "select titel from t");
    assert!(error.contains("no column \"titel\" in t. Did you mean title?"), "{error}");
    assert!(error.contains("The data is a list of 30 with fields number, title"), "{error}");
    let error = kept.error(Sql, "select * from issues");
    assert!(error.contains("no table \"issues\"; the records are in t, and another"), "{error}");
    let error = kept.error(Sql, "select from where");
    assert!(error.starts_with("SQL error: near \"from\""), "{error}");
}

#[test]
fn a_wrong_program_says_where() {
    let kept = Kept::new(&sample::issues(30));
    let error = kept.error(Jq, ".[] | select(");
    assert!(error.starts_with("jq error: ") && error.contains("expected"), "{error}");
    let error = kept.error(Jq, "nosuch(1)");
    assert!(error.contains("\"nosuch\" is not defined"), "{error}");
    let error = kept.error(Jq, ".[0].number | keys");
    assert!(error.starts_with("jq error: ") && error.contains("The data is a list of 30"), "{error}");
    let nothing = kept.ask(Jq, ".[] | .titel").unwrap().notes.join(" ");
    assert!(nothing.contains("Nothing but null; 30 records were searched. Did you mean title?"), "{nothing}");
    let empty = kept.ask(Jq, ".[] | select(.number == 1)").unwrap().notes.join(" ");
    assert!(empty.contains("No results; 30 records were searched."), "{empty}");
    let enveloped = Kept::new(&format!("{{\"items\":{},\"total\":30}}", sample::issues(30)));
    let error = enveloped.error(Jq, ".[] | .number | .x");
    assert!(error.contains("The records are in .items, a list of 30"), "{error}");
}

#[test]
fn notes_say_what_a_jq_program_reads() {
    let records = sample::issues(30);
    let notes = |text: &str| Kept::new(text).ask(Jq, "length").unwrap().notes.join(" ");
    assert_eq!(notes(&records), "");
    let around = notes(&format!("Found these:\n{records}\nThat is all."));
    assert!(around.starts_with("`.` is the JSON in bytes 13 to "), "{around}");
    let prose = notes("Call me Ishmael. Some years ago\nI thought I would sail about a little.");
    assert_eq!(prose, "`.` is the list of the 2 lines of the text.");
}

#[test]
fn a_wrong_expression_is_offered_escaped() {
    let kept = Kept::new(&sample::issues(30));
    let error = kept.error(Grep, "foo(");
    assert!(
        error.contains("is not a regular expression: ") && error.contains("write \"foo\\\\(\""),
        "{error}"
    );
}
