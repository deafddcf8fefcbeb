//! The tour as text: the beginning of every answer, and a table of what was saved.

use tidegate_sdk::visit::thousands;

use crate::{Exchange, Visit};

/// Characters shown of a line, and lines of an answer.
const MAX_LINE_CHARACTERS: usize = 160;
const MAX_ANSWER_LINES: usize = 12;

/// Formats the tour.
pub fn text(visits: &[Visit]) -> String {
    let mut out: String = visits.iter().map(visit_text).collect();
    out.push_str(&table(visits));
    out
}

fn visit_text(visit: &Visit) -> String {
    let tool = visit.exchanges.first().map_or("", |first| first.call.tool);
    let head = format!(
        "══ {}: {}\n\nWithout tidegate, {tool} puts {} bytes, {} tokens, into the agent's context. With it, the model \
         reads this:\n",
        visit.server,
        visit.shows,
        thousands(visit.raw_bytes),
        thousands(visit.raw_tokens),
    );
    std::iter::once(head).chain(visit.exchanges.iter().map(exchange_text)).chain(["\n".to_owned()]).collect()
}

fn exchange_text(exchange: &Exchange) -> String {
    let Exchange { call, text, tokens } = exchange;
    let mut out = format!("\n── {} {}  ({} tokens)\n", call.tool, call.arguments, thousands(*tokens));
    for line in text.lines().take(MAX_ANSWER_LINES) {
        let shown: String = line.chars().take(MAX_LINE_CHARACTERS).collect();
        let more = if shown.len() < line.len() { " …" } else { "" };
        out.push_str(&format!("   {shown}{more}\n"));
    }
    let lines = text.lines().count();
    if lines > MAX_ANSWER_LINES {
        out.push_str(&format!("   … and {} more lines\n", lines - MAX_ANSWER_LINES));
    }
    out
}

/// Formats the table of the README.
fn table(visits: &[Visit]) -> String {
    let mut out = String::from(
        "══ What was saved (tokens of the o200k vocabulary)\n\n\
         | server, tool | without, tokens | first answer | with two follow-ups | saved |\n|---|---:|---:|---:|---:|\n",
    );
    for visit in visits {
        let first = visit.exchanges.first();
        out.push_str(&format!(
            "| {}, `{}` | {} | {} | {} | {} % |\n",
            visit.server,
            first.map_or("", |first| first.call.tool),
            thousands(visit.raw_tokens),
            thousands(first.map_or(0, |first| first.tokens)),
            thousands(visit.sent_tokens()),
            visit.saved_percent(),
        ));
    }
    out
}
