//! The overview of one representative result of each kind; review a change to a snapshot like a change to code.
//!
//! `cargo insta review` (or `INSTA_UPDATE=always cargo test`) accepts an intended change.

use tidegate_testkit::sample;

use crate::shaped;

/// Small enough to be read, large enough for every section.
const TOKENS: u64 = 700;

#[test]
fn overviews() {
    for (name, result) in sample::all() {
        let shaped = shaped(&result.as_slice(), TOKENS);
        let report = format!(
            "{} as {}, {} of {TOKENS} tokens\n\n{}",
            shaped.kind, shaped.strategy, shaped.shaped.tokens, shaped.text
        );
        insta::assert_snapshot!(name, report);
    }
}

#[test]
fn the_call_s_own_arguments_come_first() {
    let result = tidegate_testkit::make::text_result(&sample::issues(300));
    let source = result.as_slice();
    let payload = tidegate_core::payload::Payload::read(&source).unwrap();
    let request = |arguments| tidegate_core::shape::Request {
        tool: "list_things",
        arguments,
        handle: tidegate_core::envelope::Handle::kept(crate::HANDLE, "kept 24 h"),
        budget: tidegate_core::budget::Budget::of_tokens(tidegate_core::Tokens(700)),
        meter: tidegate_core::measure::Meter::default(),
        fill: tidegate_core::shape::Fill::Useful,
    };
    let text = |arguments| tidegate_core::shape::shape(&payload, &request(arguments)).unwrap().text;
    assert!(!text(None).contains("\n78,"), "row 78 is nothing special");
    assert!(text(Some("{\"number\":4277}")).contains("\n78,"), "unless it was asked for");
}
