//! JSON without a document tree: a pull scanner over any [`Text`](crate::text::Text), string escapes, and a
//! small value type for the few records that are shown.
//!
//! Nothing here parses a whole payload into memory; what is read is read exactly as it was written.

pub(crate) mod compact;
pub(crate) mod fingerprint;
pub(crate) mod scan;
pub(crate) mod strict;
pub(crate) mod string;
pub(crate) mod value;

pub(crate) use scan::{Dialect, Event, MAX_WHOLE_STRING_BYTES, ScanError, Scanner, StringToken};
pub(crate) use value::Value;
