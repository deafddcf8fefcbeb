//! The budget is a ceiling: an overview uses as much of it as tells something, or all of it where that is asked for.

use proptest::prelude::*;
use serde_json::{Value, json};
use tidegate_core::Tokens;
use tidegate_core::shape::{Fill, Shaped, Step};
use tidegate_testkit::make;

use crate::exact::body;

fn shaped(result: &[u8], tokens: u64, fill: Fill) -> Shaped {
    crate::shaped_to(&result, tokens, fill)
}

/// Records with a name, a number, a state and a text.
fn records() -> impl Strategy<Value = Vec<Value>> {
    let record = ("[a-z]{3,9}", any::<u16>(), 0usize..4, "[a-z ]{0,120}").prop_map(|(name, amount, state, text)| {
        json!({"name": name, "amount": amount, "state": (["new", "open", "done", "lost"][state]), "text": text})
    });
    prop::collection::vec(record, 20..200)
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(500))]

    /// Without `fill` an overview costs no more than with it, what is left below one row aside, and neither exceeds the
    /// budget. A table of all rows costs less with `fill` if further statistics made it cut its names shorter.
    #[test]
    fn filling_costs_at_least_as_much(records in records(), tokens in 300u64..3000) {
        let result = make::text_result(&Value::from(records).to_string());
        let (dense, full) = (shaped(&result, tokens, Fill::Useful), shaped(&result, tokens, Fill::Whole));
        prop_assert_eq!(dense.step, full.step);
        let cut = |text: &str| text.matches('…').count();
        let is_cut_shorter = full.text.contains("each of the rows") && cut(&full.text) > cut(&dense.text);
        let is_cheaper = dense.shaped.tokens <= full.shaped.tokens + Tokens(60);
        prop_assert!(is_cheaper || is_cut_shorter, "{}\n{}", dense.text, full.text);
        prop_assert!(full.shaped.tokens.0 <= tokens);
        prop_assert_eq!(dense.text, shaped(&result, tokens, Fill::Useful).text);
    }

    /// No line of an overview repeats another.
    #[test]
    fn no_line_repeats_another(records in records(), tokens in 300u64..3000) {
        let result = make::text_result(&json!({"total": records.len(), "items": records}).to_string());
        for fill in [Fill::Useful, Fill::Whole] {
            let shaped = shaped(&result, tokens, fill);
            prop_assume!(shaped.step == Step::Overview);
            let mut lines: Vec<&str> = body(&shaped.text).lines().collect();
            let count = lines.len();
            lines.sort_unstable();
            lines.dedup();
            prop_assert_eq!(lines.len(), count, "{}", shaped.text);
        }
    }
}

/// More budget than there is to say is not used.
#[test]
fn a_large_budget_is_not_filled() {
    let records: Vec<Value> = (0..4000)
        .map(|n| json!({"id": n, "name": format!("thing {n}"), "state": (["new", "done"][n % 2]), "size": n * 7919 % 1013}))
        .collect();
    let result = make::text_result(&Value::from(records).to_string());
    let (dense, full) = (shaped(&result, 2000, Fill::Useful), shaped(&result, 2000, Fill::Whole));
    assert!(dense.shaped.tokens.0 < 700, "{}", dense.text);
    assert!(full.shaped.tokens.0 > 1900, "{}", full.shaped.tokens);
    assert!(dense.text.contains("state: new=2000 done=2000"), "{}", dense.text);
}
