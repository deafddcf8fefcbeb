//! Results that do not pass, in every style, with a store that works and one that does not.

use std::sync::atomic::{AtomicI64, Ordering};

use serde_json::Value;
use tidegate_testkit::{make, sample};

use super::*;
use crate::policy::{Policies, Rules};
use crate::user_store::StoreLocation;

/// Shapes a result in a style, and returns the answer with what is in the store then.
fn shape(place: StoreLocation, rules: Rules, style: Style, body: &[u8]) -> (Shaped, u64) {
    shape_in(&UserStore::of_user(place), rules, style, body)
}

fn shape_in(keep: &UserStore, rules: Rules, style: Style, body: &[u8]) -> (Shaped, u64) {
    shape_payload(keep, rules, style, &Payload::read_result(&body).unwrap(), body)
}

fn shape_payload(
    keep: &UserStore,
    rules: Rules,
    style: Style,
    payload: &Payload<'_>,
    body: &[u8],
) -> (Shaped, u64) {
    let shaped = with_overflow(keep, rules, style, |overflow| overflow.shape(payload, &body));
    let stored = keep.open().map_or(0, |opened| opened.store.usage().unwrap().artifacts);
    (shaped, stored)
}

fn with_overflow<T>(
    keep: &UserStore,
    rules: Rules,
    style: Style,
    answer: impl FnOnce(&Overflow<'_>) -> T,
) -> T {
    let caller = Caller::unknown(Vec::new());
    let called = ToolCall { tool: "list".into(), ..ToolCall::default() };
    let policy = Policies::of_defaults(rules).of_tool("list");
    answer(&Overflow {
        languages: QueryLanguages::ALL,
        has_shell: false,
        keep,
        server: "test",
        caller: &caller,
        called: &called,
        policy: &policy,
        budget: policy.budget(&caller.profile),
        style,
        attached: false,
        ceiling: None,
        is_rpc_error: false,
    })
}

/// Compacts a result in 2,500 tokens.
fn compact(keep: &UserStore, body: &[u8]) -> Option<Shaped> {
    let line = Rules { budget_tokens: Some(2500), ..Rules::default() };
    let payload = Payload::read_result(&body).unwrap();
    with_overflow(keep, line, Style::Overview, |overflow| overflow.compact(&payload, &body))
}

fn text(shaped: &Shaped) -> String {
    let result: Value = serde_json::from_slice(&shaped.result).unwrap();
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

/// A place where no store can be opened: a folder below a file.
fn broken() -> (tempfile::NamedTempFile, StoreLocation) {
    let file = tempfile::NamedTempFile::new().unwrap();
    let place = StoreLocation::Folder(Some(file.path().join("data")));
    (file, place)
}

#[test]
fn every_style_stores_the_result_and_fits() {
    // The second is stored on a thread of its own.
    for issues in [100, 3000] {
        let body = make::text_result(&sample::issues(issues));
        assert_eq!(body.len() as u64 >= MIN_PARALLEL_BYTES, issues > 100);
        for style in [Style::Overview, Style::Probe, Style::Contract, Style::Error] {
            let (shaped, stored) = shape(StoreLocation::Memory, Rules::default(), style, &body);
            assert_eq!((shaped.step, stored), (style.name(), 1));
            assert!(shaped.artifact.is_some() && shaped.stored_bytes > 0);
            assert!(shaped.sent.tokens.0 <= 1000 && shaped.result.len() <= 10_240);
        }
    }
}

#[test]
fn hidden_characters_are_escaped_in_every_style() {
    let rows: Vec<Value> = (0..600)
        .map(|id| serde_json::json!({"id": id, "name": format!("a\u{202e}b\u{200b} {id}")}))
        .collect();
    let body = make::text_result(&Value::from(rows).to_string());
    for style in [Style::Overview, Style::Probe, Style::Contract] {
        let (shaped, _) = shape(StoreLocation::Memory, Rules::default(), style, &body);
        let text = text(&shaped);
        assert!(!text.contains(['\u{202e}', '\u{200b}']) && text.contains("202e"), "{text}");
    }
}

/// How a source fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    PanicOnce,
    /// Every further read fails, as after a disk was lost.
    Errors,
}

/// A source that fails after some reads.
struct Failing<'b> {
    bytes: &'b [u8],
    fault: Fault,
    /// How many reads are left until it fails; negative once it has failed.
    left: AtomicI64,
}

impl Source for Failing<'_> {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        match (self.fault, self.left.fetch_sub(1, Ordering::Relaxed)) {
            (Fault::PanicOnce, 0) => panic!("the engine failed"),
            (Fault::Errors, ..=0) => Err(io::Error::other("the disk failed")),
            _ => (&self.bytes).read_at(offset, buffer),
        }
    }
}

/// Shapes a result whose source fails after some reads; also returns how many reads were left.
fn shape_failing(body: &[u8], fault: Fault, reads: i64) -> (Shaped, u64, i64) {
    let source = Failing { bytes: body, fault, left: AtomicI64::new(i64::MAX) };
    let payload = Payload::read_result(&source).unwrap();
    source.left.store(reads, Ordering::Relaxed);
    let keep = UserStore::of_user(StoreLocation::Memory);
    let (shaped, stored) = shape_payload(&keep, Rules::default(), Style::Overview, &payload, body);
    (shaped, stored, source.left.load(Ordering::Relaxed))
}

#[test]
fn a_result_on_which_the_engine_panics_is_stored() {
    for issues in [100, 3000] {
        let body = make::text_result(&sample::issues(issues));
        let (shaped, stored, _) = shape_failing(&body, Fault::PanicOnce, 0);
        assert_eq!((shaped.step, stored), ("overview", 1));
        let text = text(&shaped);
        assert!(text.starts_with("list returned a text that tidegate failed to summarize ("), "{text}");
        assert!(text.contains("Complete result: \"list-") && text.contains("\"lines\":\"1-40\""), "{text}");
    }
}

/// Whatever is done when a result cannot be stored: it is kept in memory first, in every style.
#[test]
fn a_result_that_cannot_be_stored_is_kept_in_memory() {
    for issues in [100, 3000] {
        let body = make::text_result(&sample::issues(issues));
        let (_file, place) = broken();
        let rules = Rules { on_store_failure: Some(OnStoreFailure::Error), ..Rules::default() };
        for style in [Style::Overview, Style::Probe, Style::Contract, Style::Error] {
            let keep = UserStore::of_user(place.clone());
            let (shaped, _) = shape_in(&keep, rules.clone(), style, &body);
            assert_eq!(shaped.step, style.name());
            assert!(shaped.sent.tokens.0 <= 1000 && shaped.result.len() <= 10_240);
            let id = ArtifactId::parse(&shaped.artifact.clone().unwrap()).unwrap();
            let opened = keep.open_for(&id).unwrap();
            let source = keep.stored(&opened, &id).unwrap();
            let source: &dyn Source = &source;
            assert_eq!(tidegate_core::source::Span::whole(source).read(source).unwrap(), body);
            if matches!(style, Style::Overview | Style::Error) {
                let note = "kept in memory 24 h, or until this server exits";
                assert!(text(&shaped).contains(note), "{}", text(&shaped));
            }
        }
    }
}

#[test]
fn a_result_that_cannot_be_stored_is_answered_as_the_policy_says() {
    let body = make::text_result(&sample::issues(100));
    let (_file, place) = broken();
    let keep = UserStore::of_user(place).with_memory_limit(1000);
    for style in [Style::Overview, Style::Probe, Style::Contract, Style::Error] {
        let (shaped, _) = shape_in(&keep, Rules::default(), style, &body);
        assert_eq!((shaped.step, &shaped.artifact), ("overview", &None));
        assert!(text(&shaped).contains("could not be kept"), "{}", text(&shaped));
    }
    let rules = Rules { on_store_failure: Some(OnStoreFailure::Error), ..Rules::default() };
    let (shaped, _) = shape_in(&keep, rules, Style::Overview, &body);
    assert_eq!(shaped.step, "error");
    assert!(text(&shaped).starts_with("list did run and returned"), "{}", text(&shaped));
    assert!(shaped.raw.bytes.0 > 0);
}

/// Whenever its source fails, a result is stored once and its handle is named, or nothing is said about what is kept.
#[test]
fn an_answer_claims_what_is_true_whatever_failed() {
    for issues in [100, 3000] {
        let body = make::text_result(&sample::issues(issues));
        const MANY: i64 = 1 << 40;
        let reads = MANY - shape_failing(&body, Fault::Errors, MANY).2;
        // Composing reads least, and last.
        let last = (reads - 20).max(0)..reads;
        for at in [0, reads / 4, reads / 2].into_iter().chain(last) {
            for fault in [Fault::PanicOnce, Fault::Errors] {
                let (shaped, stored, _) = shape_failing(&body, fault, at);
                let (text, context) = (text(&shaped), format!("{fault:?} at read {at} of {reads}"));
                assert!(stored <= 1, "{context}: stored {stored} times");
                assert_eq!(shaped.artifact.is_some(), stored == 1, "{context}: {text}");
                assert_eq!(text.contains("Complete result: \"list-"), stored == 1, "{context}: {text}");
                assert!(text.starts_with("list did run, but ") || stored == 1, "{context}: {text}");
                assert!(
                    !text.contains("not kept") && !text.contains("Nothing was kept"),
                    "{context}: {text}"
                );
                assert!(fault == Fault::Errors || stored == 1, "{context}: {text}");
            }
        }
    }
}

/// The same records, with the white space that servers write for people.
fn verbose_records() -> Vec<u8> {
    let record = |id: usize| serde_json::json!({"id": id, "state": "open", "title": format!("ticket {id}")});
    let records: Vec<Value> = (1..=40).map(record).collect();
    make::text_result(&serde_json::to_string_pretty(&records).unwrap())
}

#[test]
fn a_compact_answer_is_shorter_and_the_result_is_stored() {
    let keep = UserStore::of_user(StoreLocation::Memory);
    let body = verbose_records();
    let shaped = compact(&keep, &body).unwrap();
    assert_eq!(shaped.step, "lossless");
    assert!(shaped.sent.tokens.0 * 2 < shaped.raw.tokens.0 && shaped.stored_bytes > 0);
    let text = text(&shaped);
    assert!(text.starts_with("list-") && text.contains("all of it"), "{text}");
    assert!(text.contains("ticket 1\n") && text.contains("ticket 40"), "{text}");
    let id = ArtifactId::parse(&shaped.artifact.unwrap()).unwrap();
    let opened = keep.open_for(&id).unwrap();
    let source = keep.stored(&opened, &id).unwrap();
    let source: &dyn Source = &source;
    assert_eq!(tidegate_core::source::Span::whole(source).read(source).unwrap(), body);
}

#[test]
fn a_result_that_cannot_be_shorter_passes_and_is_not_stored() {
    let keep = UserStore::of_user(StoreLocation::Memory);
    let line = r#"{"id":1,"name":"a"}"#;
    for body in [make::text_result(&"many words ".repeat(100)), make::text_result(line)] {
        assert!(compact(&keep, &body).is_none());
    }
    assert_eq!(keep.open().unwrap().store.usage().unwrap().artifacts, 0);
}

#[test]
fn a_result_that_cannot_be_kept_is_not_compacted() {
    let (_file, place) = broken();
    let shaped = compact(&UserStore::of_user(place.clone()), &verbose_records()).unwrap();
    assert!(text(&shaped).contains("kept in memory"), "{}", text(&shaped));
    let keep = UserStore::of_user(place).with_memory_limit(10);
    assert!(compact(&keep, &verbose_records()).is_none());
}
