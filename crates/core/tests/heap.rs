//! How much memory shaping takes: no tree of the whole payload is built, so the peak stays far below its size; and a text in
//! any other notation takes no more than JSON of the same size, give or take a few windows of the text.
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

    let table = RandomTable::new(7, ROWS);
    let json = table.write(TableNotation::Json);
    let (json_peak, _) = peak_of(&json);
    let (keyed_json_peak, _) = peak_of(&with_keys(table.clone()).write(TableNotation::Json));
    for notation in TableNotation::ALL {
        let text = table.write(notation);
        // Keys are data, so JSON has them as a column.
        let is_keyed = notation == TableNotation::KeyedObjects;
        let compared_peak = if is_keyed { keyed_json_peak } else { json_peak };
        let (peak, shown) = peak_of(&text);
        assert!(shown.contains("20,000 "), "{notation:?}: {shown}");
        // Short notations have more rows in a text of the same size.
        let rows = ROWS * json.len() / text.len();
        let same_size = RandomTable::new(7, rows).write(notation);
        let (peak_of_same_size, _) = peak_of(&same_size);
        println!(
            "{notation:?}: heap peak {peak} bytes for {} bytes and {ROWS} rows, {} % of JSON; {peak_of_same_size} bytes for \
             {} bytes and {rows} rows, {} % of JSON",
            text.len(),
            percent(peak, compared_peak),
            same_size.len(),
            percent(peak_of_same_size, compared_peak),
        );
        assert!(percent(peak.max(peak_of_same_size), compared_peak) <= max_percent(notation), "{notation:?}");
    }
}

/// Returns the most that a notation may take, in percent of JSON. Each list of an object of lists has an index of its own,
/// and so have the keys of a map.
fn max_percent(notation: TableNotation) -> u64 {
    match notation {
        TableNotation::ColumnLists | TableNotation::KeyedObjects => 115,
        _ => 108,
    }
}

/// Returns a table with the keys of keyed objects as its first column.
fn with_keys(mut table: RandomTable) -> RandomTable {
    table.names.insert(0, "KEY".to_owned());
    for (number, row) in table.rows.iter_mut().enumerate() {
        row.insert(0, format!("id{number}"));
    }
    table
}

/// The number of rows of the table.
const ROWS: usize = 20_000;

fn percent(part: u64, whole: u64) -> u64 {
    part * 100 / whole
}
