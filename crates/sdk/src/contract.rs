//! The response contract: what a tool answers so that a conversation stays small.
//!
//! Two ways lead to an answer within the limits. [`Contract`] is the strict shape: a summary, a success, at most ten
//! items and a reference to the whole. [`wrap_response`] takes any data and cuts it down. Both hold their bytes for
//! every input, as compact JSON, as pretty JSON, and as pretty JSON inside the text block of a tool result, which is
//! what crosses the wire and hence what is measured.
//!
//! ```
//! use serde_json::json;
//! use tidegate_sdk::contract::{ResponseLimits, create_summary, wrap_response};
//!
//! let bugs: Vec<_> = (0..15).map(|id| json!({"id": id})).collect();
//! let summary = create_summary("Found bugs", 15, Some(&[("critical", 3), ("high", 0), ("medium", 12)]));
//! let answer = wrap_response(&json!(bugs), &summary, ResponseLimits::default())?.to_value();
//! assert_eq!(answer["summary"], "Found bugs: 15 total (3 critical, 12 medium)");
//! assert_eq!((&answer["totalCount"], &answer["showing"]), (&json!(15), &json!(10)));
//! # Ok::<(), tidegate_sdk::contract::NoRoom>(())
//! ```

mod category;
mod cut;
mod flatten;
mod limits;
mod list;
mod strict;
mod summary;
mod wrap;

pub use category::Category;
pub use cut::truncate;
pub use limits::ResponseLimits;
pub use list::{List, ListError, paginated_list};
pub use strict::{Contract, ContractBuilder, ContractError, Item, Severity, UnknownSeverity};
pub use summary::create_summary;
pub use wrap::{NoRoom, Response, StoreError, Wrapped, wrap_or_store, wrap_response};

use serde::Serialize;

/// Most characters of a summary.
pub const SUMMARY_CHARS: usize = 100;
/// Most characters of the label of an item.
pub const LABEL_CHARS: usize = 50;
/// Most items of an answer.
pub const MAX_ITEMS: usize = 10;

/// What a tool result has around the text of its one block.
const FRAME: usize = r#"{"content":[{"type":"text","text":}],"isError":false}"#.len();

/// The bytes of an answer as the result of a tool: pretty JSON, escaped once more as the text of a block.
fn result_bytes(answer: &impl Serialize) -> usize {
    let pretty = serde_json::to_string_pretty(answer).unwrap_or_default();
    let text = serde_json::to_string(&pretty).unwrap_or_default();
    text.len() + FRAME
}

/// The first characters of a text, never a part of one.
fn first_chars(text: &str, count: usize) -> &str {
    text.char_indices().nth(count).map_or(text, |(end, _)| &text[..end])
}
