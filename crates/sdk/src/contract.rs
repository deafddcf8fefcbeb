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

mod list;
mod strict;

pub use list::{List, ListError, paginated_list};
pub use strict::{Contract, ContractBuilder, ContractError, Item, Severity, UnknownSeverity};
pub use tidegate_gate::style::category::Category;
use tidegate_gate::wrap::result_bytes;
pub use tidegate_gate::wrap::{
    Response, ResponseLimits, ResponseTooLarge, SUMMARY_CHARS, StoreError, Wrapped, create_summary, truncate,
    wrap_or_store, wrap_response,
};

/// The maximum number of characters of an item's label.
pub const LABEL_CHARS: usize = 50;
/// The maximum number of items of an answer.
pub const MAX_ITEMS: usize = 10;
