//! Lines of JSON with other lines among them, such as a trace in a log of JSON lines.
//!
//! A line that is one JSON object or array is that record; any other line is a record with its text.

use std::io;

use serde::{Deserialize, Serialize};

use super::{LineNotation, PatternReader, RecordContent, RecordLines};
use crate::json::strict;
use crate::sample::Sample;

/// Lines of JSON among which there are others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct JsonValues;

/// The minimum number of lines of JSON in the sample.
const MIN_JSON_LINES: usize = 3;

impl LineNotation for JsonValues {
    /// Recognises a text of which most lines are JSON objects or arrays.
    fn recognise(sample: &Sample<'_>) -> Option<Self> {
        let json = sample.lines.iter().filter(|line| strict::is_container(line)).count();
        (json >= MIN_JSON_LINES && json * 2 > sample.lines.len()).then_some(Self)
    }

    fn name(&self) -> &'static str {
        "json lines"
    }

    fn noun(&self) -> &'static str {
        "row"
    }

    fn next(&self, reader: &mut PatternReader<'_>) -> io::Result<Option<(u64, RecordLines)>> {
        reader.next_line(|_| false)
    }

    fn content<'r>(&'r self, record: &'r RecordLines) -> Option<RecordContent<'r>> {
        let is_json = record.whole && strict::is_container(record.first());
        is_json.then(|| RecordContent::Json(record.first().into()))
    }

    fn is_textual(&self) -> bool {
        false
    }

    fn is_searched_by_line(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_lines_must_be_json() {
        let is_json = |text: &str| JsonValues::recognise(&Sample::of(text)).is_some();
        let line = "{\"a\":1}\n";
        assert!(is_json(&format!("{}Traceback:\n  at x\n", line.repeat(3))));
        assert!(!is_json(&format!("{line}one\ntwo\n")));
        assert!(!is_json("[0] a\n[1] b\n[2] c\n"));
    }
}
