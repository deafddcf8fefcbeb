//! Repeated calls: what the second answer says about the first result, and when it says nothing.

use proptest::prelude::*;

use super::*;

/// The list of issues with one changed and one removed.
fn changed_issues() -> Vec<u8> {
    let mut rows: Vec<Value> = serde_json::from_str(&sample::issues(200)).unwrap();
    rows[7]["state"] = "reopened".into();
    rows.remove(20);
    make::text_result(&Value::Array(rows).to_string())
}

fn of_arguments(arguments: &str) -> ToolCall {
    ToolCall { arguments: Some(arguments.into()), ..called() }
}

impl Fixture {
    fn answer(&self, called: &ToolCall, result: &[u8]) -> String {
        self.clock.advance(Duration::from_secs(60));
        text(&self.gate.decide(&self.caller, called, &result).answer.unwrap())
    }
}

fn says_nothing(answer: &str) -> bool {
    !answer.contains("from this call at")
}

#[test]
fn an_unchanged_result_is_called_unchanged_with_both_times() {
    let fixture = Fixture::new(Rules::default());
    let first = fixture.answer(&called(), &issues());
    assert!(says_nothing(&first), "{first}");
    let second = fixture.answer(&called(), &issues());
    let sentence = format!("Unchanged: the same bytes as \"{}\" from this call at ", name_in(&first));
    assert!(second.contains(&sentence) && second.contains("; this one ran at "), "{second}");
    assert_ne!(name_in(&first), name_in(&second), "both results stay");
    assert!(second.len() < first.len() && second.contains("state: "), "{second}");
    let page = fixture.query(&json!({"id": name_in(&second), "page": 1}));
    assert!(page.contains("rows 1-"), "{page}");
    assert!(fixture.query(&json!({"id": name_in(&first), "page": 1})).contains("rows 1-"));
    // The third is compared with the second.
    let third = fixture.answer(&called(), &issues());
    assert!(third.contains(&format!("the same bytes as \"{}\"", name_in(&second))), "{third}");
}

#[test]
fn a_changed_result_begins_with_what_changed() {
    let fixture = Fixture::new(Rules::default());
    let first = fixture.answer(&called(), &issues());
    let second = fixture.answer(&called(), &changed_issues());
    let sentence = format!("Since \"{}\" from this call at ", name_in(&first));
    assert!(second.contains(&sentence), "{second}");
    assert!(second.contains("1 row changed, 1 removed (by "), "{second}");
    let body: Vec<&str> = second.lines().skip_while(|line| !line.starts_with("~~")).skip(1).collect();
    assert_eq!(body[0], "changes:");
    assert!(body[1].starts_with("~ ") && body[1].contains("-> \"reopened\""), "{}", body[1]);
    assert!(body[2].starts_with("- {"), "{}", body[2]);
    assert_eq!(body[3], "now:");
    assert!(Meter::default().count(&second).0 <= 1000);
}

#[test]
fn only_the_same_call_of_the_same_session_is_compared() {
    let fixture = Fixture::new(Rules::default());
    fixture.answer(&of_arguments(r#"{"state":"open","page":1}"#), &issues());
    let same = fixture.answer(&of_arguments(r#"{ "page": 1, "state": "open" }"#), &issues());
    assert!(same.contains("Unchanged: "), "{same}");
    let others = [
        of_arguments(r#"{"state":"open","page":2}"#),
        called(),
        ToolCall { tool: "list2".into(), ..of_arguments(r#"{"state":"open","page":1}"#) },
    ];
    for other in others {
        let answer = fixture.answer(&other, &issues());
        assert!(says_nothing(&answer), "{other:?}: {answer}");
    }
    let (mut other_session, mut stateless) = (fixture.caller.clone(), fixture.caller.clone());
    other_session.session = Some(Arc::default());
    stateless.principal = Principal::Stateless;
    for caller in [&other_session, &stateless, &stateless] {
        let called = of_arguments(r#"{"state":"open","page":1}"#);
        let answer = text(&fixture.gate.decide(caller, &called, &issues()).answer.unwrap());
        assert!(says_nothing(&answer), "{answer}");
    }
}

#[test]
fn errors_other_styles_and_small_results_are_not_compared() {
    let failed = String::from_utf8(issues()).unwrap().replacen('{', "{\"isError\":true,", 1);
    let fixture = Fixture::new(Rules::default());
    for _ in 0..2 {
        let answer = fixture.answer(&called(), failed.as_bytes());
        assert!(says_nothing(&answer), "{answer}");
    }
    let after = fixture.answer(&called(), &issues());
    assert!(says_nothing(&after), "an error is not compared with: {after}");
    let small = make::text_result("small");
    for _ in 0..2 {
        assert_eq!(fixture.decide(&small).answer, None, "within the line nothing changes");
    }
    let off = Fixture::new(Rules { compare: Some(false), ..Rules::default() });
    off.answer(&called(), &issues());
    assert!(says_nothing(&off.answer(&called(), &issues())));
    for style in [Style::Probe, Style::Contract, Style::Error] {
        let fixture = Fixture::new(Rules { style: Some(style), ..Rules::default() });
        fixture.answer(&called(), &issues());
        let second = fixture.answer(&called(), &issues());
        assert!(says_nothing(&second) && !second.contains("Unchanged"), "{second}");
    }
}

#[test]
fn large_results_are_compared_for_equality_only() {
    let fixture = Fixture::new(Rules::default());
    let large = make::text_result(&"some words and more of them\n".repeat(330_000));
    fixture.answer(&called(), &large);
    let same = fixture.answer(&called(), &large);
    assert!(same.contains("Unchanged: "), "{same}");
    let other = String::from_utf8(large).unwrap().replacen("words", "lines", 1);
    let other = fixture.answer(&called(), other.as_bytes());
    assert!(other.contains("compared for equality only") && !other.contains("Unchanged"), "{other}");
}

#[test]
fn results_in_files_are_compared_too() {
    let folder = tempfile::tempdir().unwrap();
    let fixture = Fixture::in_place(StoreLocation::Files(Some(folder.path().into())), Rules::default());
    fixture.answer(&called(), &issues());
    assert!(fixture.answer(&called(), &issues()).contains("Unchanged: "));
    assert!(fixture.answer(&called(), &changed_issues()).contains("1 row changed, 1 removed"));
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(300))]

    /// A result in which any one byte differs is never called unchanged, and every answer fits.
    #[test]
    fn a_changed_result_is_never_called_equal(at in 0..6000_usize, byte in 32..127_u8, tokens in 250..1500_u64) {
        let fixture = Fixture::new(Rules { budget_tokens: Some(tokens), ..Rules::default() });
        let old = issues();
        let mut new = old.clone();
        let at = at * old.len() / 6000;
        new[at] = byte;
        let decide = |result: &[u8]| fixture.gate.decide(&fixture.caller, &called(), &result).answer;
        decide(&old);
        if let Some(answer) = decide(&new) {
            let said = text(&answer);
            prop_assert_eq!(said.contains("Unchanged: "), old == new, "{}", said);
            prop_assert!(Meter::default().count(&said).0 <= tokens, "{}", said);
        }
    }
}
