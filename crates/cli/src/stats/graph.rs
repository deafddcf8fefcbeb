//! A bar chart for the terminal: a group's bar shows its raw tokens, and the first part of it the tokens sent.

use tidegate_store::Millis;

use super::By;
use super::figures::Figures;
use super::report::Report;
use crate::ui::{self, grouped};

/// Cells of the bar_tokens bar.
const MAX_BAR_CELLS: u64 = 40;
/// A cell of tokens sent, and of tokens saved.
const SENT_CELL: &str = "█";
const SAVED_CELL: &str = "░";

const DAY_MILLIS: i64 = 86_400_000;

/// Draws the groups of a report.
pub(super) fn draw(report: &Report, by: By) -> String {
    let nothing = Figures::default();
    let mut bars: Vec<(String, &Figures)> = report
        .ordered(by)
        .into_iter()
        .filter(|(_, figures)| !figures.is_empty())
        .map(|(key, figures)| (ui::printable(&key.join(" ")), figures))
        .collect();
    if by == By::Day {
        bars = fill_missing_days(&bars, &nothing);
    }
    let largest = bars.iter().map(|(_, figures)| bar_tokens(figures)).max().unwrap_or(0);
    let rows: Vec<[String; 3]> = bars
        .iter()
        .map(|(name, figures)| {
            let saved =
                figures.saved_percent().map_or_else(String::new, |saved| format!(", {saved:.1} % saved"));
            let tokens =
                format!("{} of {}{saved}", grouped(figures.sent_tokens), grouped(figures.raw_tokens));
            [name.clone(), bar(figures, largest), if figures.is_empty() { String::new() } else { tokens }]
        })
        .collect();
    format!("{SENT_CELL} tokens sent, {SAVED_CELL} tokens saved\n\n{}", ui::table(&rows, &[]))
}

fn bar_tokens(figures: &Figures) -> u64 {
    figures.raw_tokens.max(figures.sent_tokens)
}

/// Draws a bar; any number above 0 takes at least one cell.
fn bar(figures: &Figures, largest: u64) -> String {
    let cells = |tokens: u64| match tokens {
        0 => 0,
        tokens => (tokens * MAX_BAR_CELLS / largest.max(1)).max(1),
    };
    let (sent, whole) = (cells(figures.sent_tokens), cells(bar_tokens(figures)));
    [SENT_CELL.repeat(sent as usize), SAVED_CELL.repeat(whole.saturating_sub(sent) as usize)].concat()
}

/// Returns the bars of every day from the first to the last, including days without calls.
fn fill_missing_days<'f>(bars: &[(String, &'f Figures)], nothing: &'f Figures) -> Vec<(String, &'f Figures)> {
    let day = |name: Option<&(String, &Figures)>| name.and_then(|(name, _)| Millis::parse(name));
    let (Some(mut time), Some(last)) = (day(bars.first()), day(bars.last())) else { return Vec::new() };
    let mut days = Vec::new();
    while time <= last {
        let name = time.day();
        let figures = bars.iter().find(|(day, _)| *day == name).map_or(nothing, |(_, figures)| figures);
        days.push((name, figures));
        time = Millis(time.0 + DAY_MILLIS);
    }
    days
}
