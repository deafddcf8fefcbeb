//! Laws 1 and 5 as properties: every answer fits, and whatever is left out is announced.

use proptest::prelude::*;
use serde_json::Value;
use tidegate_core::Tokens;
use tidegate_core::budget::Budget;
use tidegate_core::measure::Meter;
use tidegate_core::shape::{Shaped, Step};
use tidegate_testkit::make;
use tidegate_testkit::source::ShortReadSource;

use crate::{HANDLE, shaped};

fn cases() -> ProptestConfig {
    ProptestConfig { max_shrink_iters: 2000, ..tidegate_testkit::cases(10_000) }
}

/// Returns what a client gives to the model: the text blocks of the serialized answer.
fn text_of(result: &[u8]) -> String {
    let value: Value = serde_json::from_slice(result).expect("the answer is JSON");
    let blocks = value["content"].as_array().expect("blocks");
    assert_eq!(blocks[0]["type"], "text", "the first block is text");
    assert!(value.get("structuredContent").is_none());
    blocks.iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n")
}

fn assert_bounded(shaped: &Shaped, tokens: u64) {
    let Some(result) = &shaped.result else {
        assert!(shaped.raw.tokens <= Tokens(tokens), "passed with {} of {tokens} tokens", shaped.raw.tokens);
        return;
    };
    let budget = Budget::of_tokens(Tokens(tokens));
    let value: Value = serde_json::from_slice(result).expect("the answer is JSON");
    let pictures: usize = value["content"]
        .as_array()
        .map_or(0, |blocks| blocks.iter().filter_map(|block| block["data"].as_str()).map(str::len).sum());
    let text = text_of(result);
    let counted = Meter::default().count(&text);
    assert!(counted <= budget.tokens, "{counted} of {tokens} tokens");
    assert!(shaped.shaped.tokens <= budget.tokens, "pictures included");
    assert!((result.len() - pictures) as u64 <= budget.bytes.0, "{} bytes", result.len() - pictures);
}

/// Every overview has its frame, names the handle first and last, fences the data, and says what is missing.
fn assert_announced(shaped: &Shaped) {
    let Some(result) = &shaped.result else { return };
    let text = text_of(result);
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("list_things ") && lines[0].contains(HANDLE), "{}", lines[0]);
    assert!(lines[1].contains("no need to repeat this call"), "{}", lines[1]);
    let fence = lines[2];
    assert!(fence.starts_with("~~"), "{fence}");
    let fences = lines.iter().filter(|line| line.contains(fence)).count();
    // Named once in the frame, and one line each before and after the data.
    assert_eq!(fences, 3, "{fence} occurs in the data");
    let last = lines[lines.len() - 1];
    if shaped.step == Step::Lossless {
        assert_eq!(last, "end of the complete result");
        return;
    }
    assert!(last.starts_with("next: result_query {\"id\":\"") && last.contains(HANDLE), "{last}");
    assert!(!shaped.left_out.is_empty(), "an overview says what it leaves out");
    assert!(lines[1].contains("left out: "), "{}", lines[1]);
    for left_out in shaped.left_out.iter().take(4) {
        assert!(left_out.shown < left_out.of);
        let count = left_out.of - left_out.shown;
        let plain = lines[1].replace(',', "");
        assert!(
            plain.contains(&format!("{count} of {} {}", left_out.of, left_out.what)),
            "{left_out:?} {}",
            lines[1]
        );
    }
}

/// All fields of a list of records are named, or counted.
fn assert_fields_named(records: &str, text: &str) {
    let Ok(Value::Array(rows)) = serde_json::from_str::<Value>(records) else { return };
    if rows.len() < 2 || !rows.iter().all(Value::is_object) {
        return;
    }
    let all = format!("{}", rows.len());
    assert!(text.replace(',', "").contains(&all), "the number of records is shown");
    let counted = text.contains("more fields") || text.contains("more keys") || text.contains(" keys");
    for key in rows.iter().filter_map(Value::as_object).flat_map(|row| row.keys()) {
        let plain = key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ' ');
        if plain && !key.is_empty() {
            assert!(
                counted || text.contains(key.as_str()),
                "field {key:?} is neither named nor counted\n{text}"
            );
        }
    }
}

proptest! {
    #![proptest_config(cases())]

    /// Law 1: any result, any budget.
    #[test]
    fn every_answer_fits(result in make::result(), tokens in 300u64..8000) {
        let source = result.as_slice();
        assert_bounded(&shaped(&source, tokens), tokens);
    }

    /// Law 5: whatever is left out is announced, with the way to fetch it.
    #[test]
    fn what_is_left_out_is_announced(result in make::result(), tokens in 300u64..3000) {
        let source = result.as_slice();
        assert_announced(&shaped(&source, tokens));
    }

    /// Law 5 for records: their number and all their fields.
    #[test]
    fn records_are_counted_and_their_fields_named(records in make::records(), tokens in 300u64..3000) {
        let result = make::text_result(&records);
        let source = result.as_slice();
        let shaped = shaped(&source, tokens);
        assert_announced(&shaped);
        if shaped.step == Step::Overview {
            assert_fields_named(&records, &shaped.text);
        }
    }
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(1000))]

    /// The answer is the same wherever the bytes are.
    #[test]
    fn memory_and_file_give_the_same_bytes(result in make::result(), tokens in 300u64..3000) {
        let source = result.as_slice();
        let elsewhere = ShortReadSource(result.clone());
        let (one, two) = (shaped(&source, tokens), shaped(&elsewhere, tokens));
        prop_assert_eq!(one.result, two.result);
    }

    /// A result within its budget passes as it is.
    #[test]
    fn a_result_that_fits_passes(text in "[a-z \n]{0,200}") {
        let result = make::text_result(&text);
        let source = result.as_slice();
        prop_assert_eq!(shaped(&source, 300).step, Step::Pass);
    }
}
