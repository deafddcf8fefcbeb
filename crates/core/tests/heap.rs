//! How much memory shaping takes: no tree of the whole payload is built, so the peak stays far below its size.
//!
//! A test binary of its own, since the allocator that counts is global.

use tidegate_core::budget::Budget;
use tidegate_core::envelope::Handle;
use tidegate_core::measure::Meter;
use tidegate_core::payload::Payload;
use tidegate_core::shape::{Fill, Request, shape};
use tidegate_testkit::{make, sample};

#[global_allocator]
static COUNTING: dhat::Alloc = dhat::Alloc;

#[test]
fn the_peak_is_a_fraction_of_the_payload() {
    let records = sample::issues(42_000);
    let payload_bytes = records.len() as u64;
    let result = String::from_utf8(make::text_result(&records)).expect("text");
    drop(records);
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
    assert!(shaped.text.contains("42,000 rows"));
    let peak = dhat::HeapStats::get().max_bytes as u64;
    assert!(peak * 2 <= payload_bytes * 3, "peak {peak} of a payload of {payload_bytes} bytes");
    println!("heap peak {peak} bytes for a payload of {payload_bytes} bytes");
}
