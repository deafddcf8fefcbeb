//! The output of the demo, as text and as JSON.

use serde_json::{Value, json};

use super::{Comparison, Exchange, SERVER, server};
use crate::ui;

/// The maximum number of characters to show of each line.
const MAX_LINE_CHARACTERS: usize = 160;

/// Returns the comparison as text.
pub(super) fn text(comparison: &Comparison) -> String {
    let mut out = format!(
        "Without tidegate, {} puts {} bytes ({} tokens) into the agent's context.\n\
         With `tidegate run --` in front of the server's command, the model reads this:\n",
        server::LIST_TICKETS,
        comparison.raw.bytes,
        comparison.raw.tokens,
    );
    comparison.exchanges.iter().for_each(|exchange| out.push_str(&exchange_text(exchange)));
    out.push('\n');
    out.push_str(&table(comparison));
    out
}

fn exchange_text(exchange: &Exchange) -> String {
    let Exchange { tool, arguments, text, cost } = exchange;
    let mut out = format!("\n── {tool} {arguments}  ({} tokens)\n", cost.tokens);
    for line in text.lines() {
        let shown: String = line.chars().take(MAX_LINE_CHARACTERS).collect();
        let more = if shown.len() < line.len() { " …" } else { "" };
        out.push_str(&format!("   {shown}{more}\n"));
    }
    out
}

fn table(comparison: &Comparison) -> String {
    let header = ["tool", "result, tokens", "first answer", "with two follow-ups", "saved"];
    let first = comparison.exchanges.first();
    let row = [
        server::LIST_TICKETS.to_owned(),
        comparison.raw.tokens.to_string(),
        first.map(|first| first.cost.tokens.to_string()).unwrap_or_default(),
        comparison.sent().to_string(),
        format!("{} %", comparison.saved_percent()),
    ];
    ui::table(&[header.map(str::to_owned), row], &[1, 2, 3, 4])
}

/// Returns the comparison as JSON.
pub(super) fn json(comparison: &Comparison) -> Value {
    let exchange = |exchange: &Exchange| {
        json!({
            "tool": exchange.tool,
            "arguments": exchange.arguments,
            "tokens": exchange.cost.tokens.0,
            "text": exchange.text,
        })
    };
    json!({
        "server": SERVER,
        "raw_bytes": comparison.raw.bytes.0,
        "raw_tokens": comparison.raw.tokens.0,
        "exchanges": comparison.exchanges.iter().map(exchange).collect::<Vec<_>>(),
        "sent_tokens": comparison.sent().0,
        "saved_percent": comparison.saved_percent(),
    })
}
