//! Several files in one text, as `read_multiple_files` tools return them: a line with the path and a colon, the
//! content, a line of dashes.
//!
//! Each file is a record with its path, its size and its content. Content that is JSON is read as data; any other is a
//! string.

use std::io;

use serde::{Deserialize, Serialize};

use super::{LineNotation, PatternReader, RecordContent, RecordLines};
use crate::json::{strict, string};
use crate::sample::Sample;

/// Several files, each under a line with its path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Files;

impl LineNotation for Files {
    /// Recognises files if a line with a path and a colon comes first and after a `---`.
    fn recognise(sample: &Sample<'_>) -> Option<Self> {
        let is_first = sample.lines.first().is_some_and(|line| is_header(line));
        let follows = |pair: &[&str]| is_separator(pair[0]) && is_header(pair[1]);
        (is_first && sample.lines.windows(2).any(follows)).then_some(Self)
    }

    fn name(&self) -> &'static str {
        "files"
    }

    fn noun(&self) -> &'static str {
        "file"
    }

    fn next(&self, reader: &mut PatternReader<'_>) -> io::Result<Option<(u64, RecordLines)>> {
        reader.next_between(is_separator, is_header)
    }

    fn content<'r>(&'r self, record: &'r RecordLines) -> Option<RecordContent<'r>> {
        let path = record.first().trim_end().trim_end_matches(':');
        let content = record.lines.get(1..).unwrap_or_default().join("\n");
        let content = content.trim_end();
        let mut json = String::from("{\"file\":");
        string::write_visible(path, &mut json);
        json.push_str(&format!(",\"bytes\":{},\"content\":", content.len()));
        match strict::is_container(content) {
            true => json.push_str(content),
            false => string::write_visible(content, &mut json),
        }
        json.push('}');
        Some(RecordContent::Json(json.into()))
    }

    fn has_other_lines(&self) -> bool {
        false
    }

    fn is_textual(&self) -> bool {
        false
    }
}

fn is_separator(line: &str) -> bool {
    line.trim_end() == "---"
}

/// Returns whether a line is a path followed by a colon.
fn is_header(line: &str) -> bool {
    let Some(path) = line.trim_end().strip_suffix(':') else { return false };
    !path.is_empty()
        && path.len() < 400
        && path.contains(['/', '\\', '.'])
        && !path.contains([' ', '\t', '{', '"'])
}
