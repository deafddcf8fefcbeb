//! Tests of the gateway from outside.

#![expect(clippy::unwrap_used, reason = "a test reports an error by panicking")]

mod govern;
mod identity;
mod issuer;
mod otlp;
mod tokens;
