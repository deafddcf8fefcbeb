//! A tour of the four example servers: the call that floods a context without tidegate, the same call with tidegate
//! inside the server, and two follow-ups.
//!
//! Servers and client run in this process. `stops.rs` has the calls; [`text`] prints the answers and a table.

mod stops;
mod text;

use example_shared::Failure;
use serde_json::Value;
use tidegate_sdk::visit::{Seen, Visitor};

pub use text::text;

/// A tool call.
#[derive(Debug, Clone)]
pub struct Call {
    /// The tool.
    pub tool: &'static str,
    /// Its arguments.
    pub arguments: Value,
}

/// A tool call and the answer the model reads.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The call.
    pub call: Call,
    /// The text of the answer.
    pub text: String,
    /// The tokens of the answer, in the o200k vocabulary.
    pub tokens: u64,
}

/// What one server of the tour answered.
#[derive(Debug, Clone)]
pub struct Visit {
    /// The name of the server.
    pub server: &'static str,
    /// What the server demonstrates.
    pub shows: &'static str,
    /// Bytes of the first call's result without tidegate.
    pub raw_bytes: u64,
    /// Tokens of the first call's result without tidegate.
    pub raw_tokens: u64,
    /// The answers with tidegate: to the same call, and to two follow-ups.
    pub exchanges: Vec<Exchange>,
}

impl Visit {
    /// Returns the tokens of all answers together.
    pub fn sent_tokens(&self) -> u64 {
        self.exchanges.iter().map(|exchange| exchange.tokens).sum()
    }

    /// Returns the percentage of tokens saved.
    pub fn saved_percent(&self) -> f64 {
        (1000.0 * (1.0 - self.sent_tokens() as f64 / self.raw_tokens.max(1) as f64)).round() / 10.0
    }
}

/// Visits all four servers.
///
/// # Errors
///
/// A server that does not start, or a tool that fails.
pub async fn walk_all() -> Result<Vec<Visit>, Failure> {
    Ok(vec![
        stops::orbit().await?,
        stops::inventory().await?,
        stops::articles().await?,
        stops::bugtrace().await?,
    ])
}

/// Calls a tool; an error of the tool is a failure.
async fn call(visitor: &Visitor, call: &Call) -> Result<Seen, Failure> {
    let seen = visitor.call(call.tool, &call.arguments).await?;
    if seen.failed() {
        return Err(format!("{} failed: {}", call.tool, seen.text()).into());
    }
    Ok(seen)
}
