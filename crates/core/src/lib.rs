//! The shaping engine of tidegate: any tool result becomes the most useful answer that fits a budget.
//!
//! ```
//! use tidegate_core::budget::Budget;
//! use tidegate_core::envelope::Handle;
//! use tidegate_core::measure::Meter;
//! use tidegate_core::payload::Payload;
//! use tidegate_core::shape::{Fill, Request, Step, shape};
//! use tidegate_core::Tokens;
//!
//! let rows: Vec<String> = (0..900).map(|n| format!(r#"{{\"id\":{n},\"state\":\"open\"}}"#)).collect();
//! let result = format!(r#"{{"content":[{{"type":"text","text":"[{}]"}}]}}"#, rows.join(","));
//! let source = result.as_bytes();
//! let payload = Payload::read(&source)?;
//! let request = Request {
//!     tool: "list_issues",
//!     arguments: None,
//!     handle: Handle::kept("list_issues-3f9c2kq7m0xw", "kept 24 h"),
//!     budget: Budget::of_tokens(Tokens(500)),
//!     meter: Meter::default(),
//!     fill: Fill::Useful,
//! };
//! let shaped = shape(&payload, &request)?;
//! assert_eq!(shaped.step, Step::Overview);
//! assert!(shaped.text.starts_with("list_issues returned 900 rows"));
//! assert!(shaped.shaped.tokens <= Tokens(500));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The library is pure: it reads bytes through a [`source::Source`] and returns values. It does no I/O of its own,
//! uses no clock and no environment, and never holds a tree of a whole payload, so that a result of any size takes the
//! same small amount of memory.

mod arguments;
pub mod budget;
mod csv;
mod data;
pub mod diff;
pub mod envelope;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod hash;
pub mod hints;
mod inner_texts;
mod json;
mod lines;
mod marks;
pub mod measure;
pub mod outline;
mod pattern;
pub mod payload;
pub mod plain_name;
mod prefix;
mod profile;
mod quantity;
pub mod quote;
mod records;
mod sample;
pub mod shape;
pub mod source;
mod surroundings;
pub mod text;
mod translation;
mod trim;
pub mod view;
pub mod visible;
mod write;

pub use quantity::{Bytes, Tokens};
