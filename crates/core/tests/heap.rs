//! How much memory shaping takes: no tree of the whole payload is built, so the peak stays far below its size. A notation
//! that is translated to JSON is in memory once more as JSON.
//!
//! A test binary of its own, since the allocator that counts is global.

use tidegate_core::budget::Budget;
use tidegate_core::envelope::Handle;
use tidegate_core::measure::Meter;
use tidegate_core::payload::Payload;
use tidegate_core::shape::{Fill, Request, shape};
use tidegate_testkit::tables::{RandomTable, TableNotation};
use tidegate_testkit::{make, sample};

#[global_allocator]
static COUNTING: dhat::Alloc = dhat::Alloc;

/// Returns the most bytes that shaping a text takes at once, beyond the text itself, and the answer.
fn peak_of(text: &str) -> (u64, String) {
    let result = String::from_utf8(make::text_result(text)).expect("text");
    let answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{result}}}");
    drop(result);
    // Counting starts here: the input is not counted.
    let _profiler = dhat::Profiler::builder().testing().build();
    let source = answer.as_bytes();
    let payload = Payload::read(&source).expect("a result");
    let request = Request {
        tool: "list_issues",
        arguments: None,
        handle: Handle::kept("list_issues-3f9c2kq7m0xw", "kept 24 h"),
        budget: Budget::default(),
        meter: Meter::default(),
        fill: Fill::Useful,
    };
    let shaped = shape(&payload, &request).expect("memory can be read");
    (dhat::HeapStats::get().max_bytes as u64, shaped.text)
}

// One test, because only one profiler can run at a time.
#[test]
fn the_peak_is_bounded_by_the_payload() {
    let records = sample::issues(42_000);
    let (peak, shown) = peak_of(&records);
    assert!(shown.contains("42,000 rows"));
    let bytes = records.len() as u64;
    assert!(peak * 2 <= bytes * 3, "peak {peak} of a payload of {bytes} bytes");
    println!("heap peak {peak} bytes for a payload of {bytes} bytes");

    let table = RandomTable::new(7, 20_000);
    let (json_peak, _) = peak_of(&table.write(TableNotation::Json));
    for notation in TableNotation::ALL {
        let text = table.write(notation);
        let (peak, shown) = peak_of(&text);
        assert!(shown.contains("20,000 "), "{notation:?}: {shown}");
        // The text and its JSON, which repeats the names of the columns in every record.
        let translated = if is_translated(notation) { 4 * text.len() as u64 } else { 0 };
        assert!(peak <= json_peak * 3 / 2 + translated, "{notation:?}: {peak} bytes of {}", text.len());
        println!("{notation:?}: heap peak {peak} bytes for {} bytes", text.len());
    }
}

/// Returns whether a notation is read by translating it to JSON.
fn is_translated(notation: TableNotation) -> bool {
    use TableNotation::{
        Aligned, Boxed, Markdown, MarkdownInText, Mysql, Psql, Ruled, XmlAttributes, XmlElements, Yaml,
    };
    matches!(
        notation,
        Aligned
            | Boxed
            | Markdown
            | MarkdownInText
            | Mysql
            | Psql
            | Ruled
            | XmlAttributes
            | XmlElements
            | Yaml
    )
}
