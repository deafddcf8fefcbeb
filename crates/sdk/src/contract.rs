//! The response contract: answers within hard limits on bytes, depth, items and text length.
//!
//! There are two ways to build such an answer. [`Contract`] is a fixed shape: a summary, a success flag, at most ten
//! items and a reference to the stored whole. [`wrap_response`] takes any data and truncates it.
//!
//! Invariant: both stay within their byte limit for every input. The limit applies to the tool result on the wire: the
//! answer as pretty JSON, escaped inside a text block.
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
//! # Ok::<(), tidegate_sdk::contract::ResponseTooLarge>(())
//! ```

mod category;
mod flatten;
mod limits;
mod list;
mod strict;
mod summary;
mod truncate;
mod wrap;

pub use category::Category;
pub use limits::ResponseLimits;
pub use list::{List, ListError, paginated_list};
pub use strict::{Contract, ContractBuilder, ContractError, Item, Severity, UnknownSeverity};
pub use summary::create_summary;
pub use truncate::truncate;
pub use wrap::{Response, ResponseTooLarge, StoreError, Wrapped, wrap_or_store, wrap_response};

use serde::Serialize;

/// The maximum number of characters of a summary.
pub const SUMMARY_CHARS: usize = 100;
/// The maximum number of characters of an item's label.
pub const LABEL_CHARS: usize = 50;
/// The maximum number of items of an answer.
pub const MAX_ITEMS: usize = 10;

/// Bytes of a tool result around the text of its only block.
const RESULT_FRAME_BYTES: usize = r#"{"content":[{"type":"text","text":}],"isError":false}"#.len();

/// Returns the bytes of an answer as a tool result: pretty JSON, escaped as the text of a block.
fn result_bytes(answer: &impl Serialize) -> usize {
    let pretty = serde_json::to_string_pretty(answer).unwrap_or_default();
    let text = serde_json::to_string(&pretty).unwrap_or_default();
    text.len() + RESULT_FRAME_BYTES
}
