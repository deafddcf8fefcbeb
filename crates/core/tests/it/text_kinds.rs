//! What overviews of texts tell: test runs, compilers, stack traces, accessibility trees, drawn trees, documents.
//!
//! Each test makes a small text of its kind that is too large to pass, and looks for what a reader would ask for.

use proptest::prelude::*;
use tidegate_testkit::make;

use crate::shaped;

fn overview(text: &str, tokens: u64) -> String {
    shaped(&make::text_result(text).as_slice(), tokens).text
}

#[track_caller]
fn assert_tells(text: &str, tokens: u64, facts: &[&str]) {
    let overview = overview(text, tokens);
    for fact in facts {
        assert!(overview.contains(fact), "{fact:?} is missing:\n{overview}");
    }
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|at| line(at) + "\n").collect()
}

#[test]
fn totals_of_several_test_binaries_are_added_up() {
    let binary = |name: &str, count: usize, failed: usize| {
        let tests = lines(count, |at| format!("test {name}::case_{at} ... ok"));
        let result = if failed > 0 { "FAILED" } else { "ok" };
        format!(
            "     Running tests/{name}.rs (target/{name})\n\nrunning {count} tests\n{tests}\ntest result: {result}. {count} passed; {failed} failed; 0 ignored; finished in 0.10s\n\n"
        )
    };
    let text = format!("{}{}{}", binary("alpha", 300, 0), binary("beta", 120, 0), binary("gamma", 7, 0));
    assert_tells(&text, 700, &["passed=427 failed=0", "ok=427", "Running=3"]);
}

#[test]
fn failed_tests_are_named_with_their_reason() {
    let passed = lines(300, |at| format!("tests/test_shop.py::test_item_{at} PASSED [ {}%]", at / 3));
    let python = format!(
        "{passed}tests/test_shop.py::test_total FAILED [100%]\n\n=== FAILURES ===\n____ test_total ____\n\n    def test_total():\n>       assert total() == 3\nE       assert 2 == 3\n\ntests/test_shop.py:12: AssertionError\n=== short test summary info ===\nFAILED tests/test_shop.py::test_total - assert 2 == 3\n=== 1 failed, 300 passed in 1.20s ===\n"
    );
    assert_tells(
        &python,
        500,
        &["PASSED=300 FAILED=1", "assert 2 == 3", "test_total", "1 failed, 300 passed"],
    );
    let go = format!(
        "{}=== RUN   TestTotal\n    shop_test.go:12: want 3, got 2\n--- FAIL: TestTotal (0.50s)\n    shop_test.go:14: want 4\nFAIL\nFAIL\texample.com/shop\t0.7s\n",
        lines(200, |at| format!("=== RUN   TestItem{at}\n--- PASS: TestItem{at} (0.00s)"))
    );
    assert_tells(&go, 500, &["PASS=200", "TestTotal (shop_test.go:12)", "want 3, got 2"]);
    let script = format!(
        "PASS src/a.test.js\n{}FAIL src/b.test.js\n  Shop\n    ✕ adds up (3 ms)\n\n  ● Shop › adds up\n\n    expect(received).toBe(expected)\n\n    Expected: 3\n    Received: 2\n\n      at Object.<anonymous> (src/b.test.js:12:5)\n\nTests:       1 failed, 250 passed, 251 total\n",
        lines(250, |at| format!("  ✓ item {at} is there ({at} ms)"))
    );
    assert_tells(
        &script,
        500,
        &["✓=250", "✕=1", "Expected: 3", "src/b.test.js:12", "1 failed, 250 passed, 251 total"],
    );
}

#[test]
fn messages_of_a_compiler_are_counted_by_code_and_file() {
    let unused = |at: usize| {
        format!("src/part{}.c:{}:5: warning: unused variable 'x' [-Wunused-variable]", at % 4, at + 1)
    };
    let text = format!("{}src/main.c:7:1: error: expected ';' before 'return'\n", lines(200, unused));
    assert_tells(
        &text,
        500,
        &[
            "warning=200 error=1",
            "-Wunused-variable=200",
            "src/part0.c=50",
            "error expected ';' before 'return' (src/main.c:7)",
            "L1, 200 times: warning",
        ],
    );
}

#[test]
fn equal_stack_traces_are_shown_once() {
    let trace = |at: usize| {
        format!(
            "2024-01-02 10:00:{:02} ERROR web: request {at} failed\nTraceback (most recent call last):\n  File \"/app/web.py\", line 40, in handle\n    run()\n  File \"/venv/site-packages/lib.py\", line 9, in run\n    raise ValueError(\"bad value\")\nValueError: bad value",
            at % 60
        )
    };
    assert_tells(
        &lines(60, trace),
        500,
        &["60 in all", "x60", "ValueError: bad value at File \"/app/web.py\", line 40, in handle"],
    );
}

#[test]
fn a_message_that_names_an_error_is_not_an_error() {
    let line = |at: usize| match at {
        77 => "2024-01-02 10:00:17 WARN db: slow query".to_owned(),
        _ => format!("2024-01-02 10:{:02}:{:02} INFO web: error page number {at} rendered", at / 60, at % 60),
    };
    let text = overview(&lines(300, line), 700);
    assert!(text.contains("INFO=299") && text.contains("WARN=1"), "{text}");
    assert!(text.contains("slow query") && text.contains("errors and warnings, 1 line"), "{text}");
}

#[test]
fn accessibility_trees_of_every_dialect_show_headings_and_controls() {
    let chrome = format!(
        "## Latest page snapshot\nuid=1_0 RootWebArea \"Shop\" url=\"http://shop.test/\"\n{}  uid=9_1 heading \"Checkout\" level=\"2\"\n  uid=9_2 textbox \"Name\" value=\"Ann\"\n  uid=9_3 button \"Pay\" disabled\n",
        lines(200, |at| format!("  uid=1_{} link \"Item {at}\" url=\"http://shop.test/{at}\"", at + 1))
    );
    let facts = [
        "title: Shop",
        "204 elements",
        "link=200",
        "Checkout uid=9_1",
        "button \"Pay\" uid=9_3 disabled",
        "textbox \"Name\" uid=9_2 value=Ann",
    ];
    assert_tells(&chrome, 600, &facts);
    let indexed = format!(
        "[1] RootWebArea 'Shop', focused\n{}\t[901] heading 'Checkout', level=2\n\t[902] button 'Pay', disabled\n",
        lines(200, |at| format!("\t[{}] link 'Item {at}'\n\t\tStaticText 'Item {at}'", at + 2))
    );
    assert_tells(
        &indexed,
        600,
        &["title: Shop", "link=200", "Checkout [901]", "button \"Pay\" [902] disabled"],
    );
    let tagged = format!(
        "{}[901]<button type=submit>Pay</button>\n[902]<input placeholder='Name' />\n",
        lines(200, |at| format!("[{at}]<a href=/item/{at}>Item {at} of the shop</a>"))
    );
    assert_tells(&tagged, 600, &["a=200", "button \"Pay\" [901]", "placeholder=Name"]);
}

#[test]
fn drawn_trees_show_their_first_levels_and_what_repeats() {
    let text = format!(
        "app v1.0\n{}└── last v2.0\n    └── UNMET DEPENDENCY gone@1\n",
        lines(120, |at| format!("├── part{at} v1.0\n│   └── common v0.3"))
    );
    assert_tells(
        &text,
        700,
        &["243 entries", "common v0.3=120", "last v2.0 (1 below)", "UNMET DEPENDENCY gone@1"],
    );
}

#[test]
fn comment_lines_are_not_headings() {
    let text = lines(80, |at| {
        format!("# the port of part {at}\nport_{at} = {at}\n# its host\nhost_{at} = example\n")
    });
    let text = overview(&text, 500);
    assert!(!text.contains("headings"), "{text}");
}

#[test]
fn a_long_line_of_prose_is_counted_to_its_end_and_shown_to_its_end() {
    let text =
        format!("{} And then the story ended.", "The whale swam on. Nobody saw the harpoon. ".repeat(4000));
    assert_tells(&text, 500, &["32,005 words", "harpoon=4000", "And then the story ended."]);
}

/// What stands in the body for each part that a frame announces.
fn is_shown(part: &str, body: &[&str]) -> bool {
    let begins = |beginning: &str| body.iter().any(|line| line.starts_with(beginning));
    match part {
        "all of the text" => !body.is_empty(),
        "files" => body.iter().any(|line| line.contains("files changed")),
        "changed lines" => begins("+") || begins("-"),
        part => begins(part),
    }
}

/// A line of one of the kinds of text.
fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        (0..9_u32, "[a-z]{1,9}").prop_map(|(at, word)| format!("test {word}::{word}_{at} ... ok")),
        "[a-z]{1,9}".prop_map(|word| format!("test {word} ... FAILED")),
        (0..60_u32, "[a-z]{1,9}")
            .prop_map(|(at, word)| format!("2024-01-02 10:00:{at:02} ERROR {word}: broke")),
        (0..60_u32, "[a-z]{1,9}").prop_map(|(at, word)| format!("src/{word}.rs:{at}:1: warning: {word}")),
        "[a-z]{1,9}".prop_map(|word| format!("- link \"{word}\" [ref=e1]")),
        "[a-z]{1,9}".prop_map(|word| format!("- heading \"{word}\" [level=2] [ref=e1]")),
        "[a-z]{1,9}".prop_map(|word| format!("# {word}")),
        "[a-z]{1,9}".prop_map(|word| format!("├── {word}")),
        "[a-z]{1,9}".prop_map(|word| format!("fn {word}() {{")),
        "[a-z ]{1,60}",
        Just(String::new()),
    ]
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(1000))]

    #[test]
    fn an_overview_contains_what_its_frame_announces(
        most in line(),
        others in prop::collection::vec(line(), 0..20),
        count in 20_usize..400,
        tokens in 700_u64..1500,
    ) {
        let text = lines(count, |at| match others.get(at % 40) {
            Some(other) => format!("{other}{at}"),
            None => format!("{most} {at}"),
        });
        let shaped = shaped(&make::text_result(&text).as_slice(), tokens);
        let overview = &shaped.text;
        let frame = overview.split_once(" Below ").and_then(|(_, rest)| rest.split_once(": "));
        let announced = frame.and_then(|(_, rest)| rest.split_once("left out: ")).map(|(announced, _)| announced);
        let is_text = ["log", "text", "snapshot", "html", "diff", "drawn tree"].contains(&shaped.strategy);
        let Some(announced) = announced.filter(|_| is_text) else { return Ok(()) };
        let mut body = overview.lines().skip_while(|line| !line.starts_with("~~")).skip(1);
        let body: Vec<&str> = body.by_ref().take_while(|line| !line.starts_with("~~")).collect();
        for part in announced.trim_end_matches("; ").split(", ").filter(|part| !part.is_empty()) {
            prop_assert!(is_shown(part, &body), "{part:?} is announced and missing:\n{overview}");
        }
    }
}

#[test]
fn definitions_at_the_margin_come_before_those_inside() {
    let class = |at: usize| {
        let methods = lines(8, |method| {
            format!("    def method_{at}_{method}(self, first, second, third=None):\n        return first")
        });
        format!("class Thing{at}(Base):\n{methods}\n")
    };
    let text = format!("import os\n\n{}def main(argv):\n    return 0\n", lines(20, class));
    let facts: Vec<String> = (0..20).map(|at| format!("class Thing{at}(Base)")).collect();
    let facts: Vec<&str> = facts.iter().map(String::as_str).chain(["def main(argv)"]).collect();
    assert_tells(&text, 800, &facts);
}

#[test]
fn a_report_that_looks_like_code_shows_what_repeats_and_what_does_not() {
    let resource = |at: usize| {
        let kind = ["queue", "topic", "bucket"][at % 3];
        format!(
            "  # cloud_{kind}.{kind}_{at} will be created\n  + resource \"cloud_{kind}\" \"{kind}_{at}\" {{\n      + id   = (known after apply)\n      + size = {at}\n    }}\n"
        )
    };
    let text = format!(
        "The plan:\n\n{}\nPlan: 45 to add, 0 to change, 0 to destroy.\n\n{}",
        lines(45, resource),
        lines(9, |at| format!("  + output_{at} = \"{at}\""))
    );
    let facts = ["Plan: 45 to add", "x15 # cloud_queue.queue_0 will be created", "x45 + size = 0"];
    assert_tells(&text, 900, &facts);
}

#[test]
fn a_drawn_tree_counts_names_versions_and_marks() {
    let package = |at: usize| {
        let mark = if at.is_multiple_of(4) { " (*)" } else { "" };
        format!("├── package-{} v{}.{at}.0{mark}\n│   └── error-chain v0.12.4", at % 30, 1 + at % 2)
    };
    let text = format!("app v1.0.0\n{}└── last v1.0.0 invalid\n", lines(80, package));
    let overview = overview(&text, 900);
    for fact in
        ["marks: (*)=20", "different names without their versions", "in several versions: package-0 (v1."]
    {
        assert!(overview.contains(fact), "{fact:?} is missing:\n{overview}");
    }
    assert!(overview.contains("marked entries: all 1"), "a name may contain the word error:\n{overview}");
}

#[test]
fn a_listing_of_folders_has_columns() {
    let size = |at: usize, file: usize| (at * 100 + file) * 37 % 5003;
    let folder = |at: usize| {
        let files = lines(9, |file| {
            format!("-rw-r--r-- 1 ann staff {:>6} 2026-11-16 15:59 f{at}_{file}.rs", size(at, file))
        });
        format!("./d{at}:\ntotal 84\n{files}drwxr-xr-x 2 ann staff   4096 2026-11-16 15:59 sub{at}\n")
    };
    let files = || (0..30).flat_map(|at| (0..9).map(move |file| (at, file)));
    let sum: usize = files().map(|(at, file)| size(at, file)).sum();
    let (at, file) = files().max_by_key(|&(at, file)| size(at, file)).unwrap();
    let facts = [
        "300 rows",
        "type: file=270 directory=30",
        &format!("sum {sum} (max at name f{at}_{file}.rs)"),
        "owner=ann",
    ];
    assert_tells(&lines(30, folder), 700, &facts);
}

#[test]
fn a_line_that_is_a_record_is_shown_as_it_was_written() {
    let text = lines(400, |at| {
        let action = ["install", "configure", "remove"][at % 3];
        format!("2026-01-{:02} 10:{:02}:00 {action} package-{at}:all {}.1-2", 1 + at / 60, at % 60, at % 9)
    });
    let facts = [
        "1 2026-01-01 10:00:00 install package-0:all 0.1-2",
        "400 2026-01-07 10:39:00 install package-399:all 3.1-2",
    ];
    assert_tells(&text, 700, &facts);
}

#[test]
fn a_few_skipped_tests_are_named() {
    let text = format!(
        "{}tests/a.py::test_disk SKIPPED (no disk) [100%]\n=== 300 passed, 1 skipped in 1.20s ===\n",
        lines(300, |at| format!("tests/a.py::test_{at} PASSED [ {}%]", at / 3))
    );
    assert_tells(&text, 500, &["SKIPPED=1", "skipped: L301 tests/a.py::test_disk"]);
}

#[test]
fn a_first_line_like_the_others_is_not_a_header() {
    let text = lines(300, |at| {
        format!(
            "16:{:02}:{:02}.1 IP 10.0.0.{}: Flags [P.], seq {at}, ack {}, length {}",
            at / 60,
            at % 60,
            at % 9,
            at + 1,
            at * 7 % 90
        )
    });
    let overview = overview(&text, 700);
    assert!(overview.contains("300 lines") && !overview.contains("299 rows"), "{overview}");
}

#[test]
fn keys_are_counted_by_what_they_begin_with() {
    let text = lines(400, |at| {
        format!("{}.part{}.setting_{at} = {}", ["net", "vm", "kernel", "net"][at % 4], at % 7, at % 5)
    });
    assert_tells(&text, 700, &["400 entries", "keys beginning net.=200 "]);
}
