//! The demo in words.

use super::Walked;
use crate::ui;

/// Characters of a line that are shown, and lines of an answer where several servers are toured.
const COLUMNS: usize = 160;
const LINES: usize = 12;

/// Returns what was seen, for a person.
pub(super) fn text(walked: &[Walked]) -> String {
    let mut out = String::new();
    let lines = if walked.len() == 1 { usize::MAX } else { LINES };
    for one in walked {
        out.push_str(&told(one, lines));
    }
    out.push_str(&table(walked));
    out
}

fn told(walked: &Walked, lines: usize) -> String {
    let Walked { tour, raw, exchanges } = walked;
    let mut out = format!(
        "══ {}: {}\n\nWithout tidegate, {} puts {} bytes, {} tokens, into the agent's context. {} the model reads this:\n",
        tour.name,
        tour.shows,
        (tour.raw)().tool,
        raw.bytes,
        raw.tokens,
        if tour.behind { "With `tidegate run -- SERVER` in the client's configuration," } else { "With it," },
    );
    for exchange in exchanges {
        let call = &exchange.call;
        out.push_str(&format!("\n── {} {}  ({} tokens)\n", call.tool, call.arguments, exchange.cost.tokens));
        let all = exchange.text.lines().count();
        for line in exchange.text.lines().take(lines) {
            let shown: String = line.chars().take(COLUMNS).collect();
            let more = if shown.len() < line.len() { " …" } else { "" };
            out.push_str(&format!("   {shown}{more}\n"));
        }
        if all > lines {
            out.push_str(&format!("   … and {} more lines\n", all - lines));
        }
    }
    out.push('\n');
    out
}

fn table(walked: &[Walked]) -> String {
    let head = ["server", "tool", "without, tokens", "first answer", "with two follow-ups", "saved"];
    let rows = walked.iter().map(|one| {
        [
            one.tour.name.to_owned(),
            (one.tour.raw)().tool.to_owned(),
            one.raw.tokens.to_string(),
            one.exchanges.first().map(|first| first.cost.tokens.to_string()).unwrap_or_default(),
            one.sent().to_string(),
            format!("{} %", one.saved_percent()),
        ]
    });
    let rows: Vec<[String; 6]> = std::iter::once(head.map(str::to_owned)).chain(rows).collect();
    format!("══ What was saved (tokens of the o200k vocabulary)\n\n{}", ui::table(&rows, &[2, 3, 4, 5]))
}
