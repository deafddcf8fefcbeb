//! The figures as a person reads them.

use tidegate_core::measure::SAMPLED_ABOVE;
use tidegate_store::{Counted, Quotas, Usage};

use super::By;
use super::advice::Advice;
use super::figures::{Figures, MEAN_BYTES};
use super::report::Report;
use crate::ui::{self, bytes, count, grouped};

/// What is said where nothing was noted.
pub(super) fn nothing(narrow: bool) -> &'static str {
    match narrow {
        true => "nothing was noted of that; tidegate stats without --since and --server shows all there is",
        false => {
            "nothing was noted yet; put `tidegate run --` in front of a server's command in your client's \
             configuration, and use the client (tidegate demo shows what happens)"
        }
    }
}

/// The whole page.
pub(super) fn page(report: &Report, by: Option<By>, usage: Usage, advice: &[Advice]) -> String {
    let mut out = head(report);
    if !report.total.is_empty() {
        out.push_str(&ui::table(&lines(report, usage), &[]));
    }
    if let Some(by) = by {
        out.push('\n');
        out.push_str(&table(report, by));
    }
    for advice in advice {
        out.push_str(&told(advice));
    }
    out
}

fn head(report: &Report) -> String {
    let total = &report.total;
    let span = report.span.map_or_else(String::new, |(first, last)| format!(", {first} to {last}"));
    let mut out = match total.is_empty() {
        true => String::new(),
        false => {
            format!("{} and {}{span}\n\n", count(total.calls, "call"), count(total.follow_ups, "follow-up"))
        }
    };
    let (observed, tokens) = total.observed;
    if observed > 0 {
        let only = if total.is_empty() { "Only observed so far" } else { "Besides, only observed" };
        out = format!(
            "{only}: {} of {} tokens{}. tidegate scan shows which tools are heavy.\n{out}",
            count(observed, "call"),
            grouped(tokens),
            if total.is_empty() { span.as_str() } else { "" },
        );
    }
    out
}

fn lines(report: &Report, usage: Usage) -> Vec<[String; 2]> {
    let total = &report.total;
    let calls = count(total.calls, "call");
    let (sessions, mean, most) = report.sessions();
    let follow_ups = total.follow_ups_per_shaped().map(|each| format!(", {each} for each shaped call"));
    let mean_response = total.mean_response_bytes().map(|mean| {
        let goal = if mean <= MEAN_BYTES { "within" } else { "above" };
        format!("{}, {goal} the goal of {}", bytes(mean), bytes(MEAN_BYTES))
    });
    let added = total.added_micros(50).zip(total.added_micros(99));
    let stored = mean.zip(most).map(|(mean, most)| match sessions {
        1 => format!("{} in 1 session", bytes(most)),
        _ => format!(
            "{} for each of {sessions} sessions, {} at most; equal results count in each",
            bytes(mean),
            bytes(most)
        ),
    });
    let line = |name: &str, value: String| [name.to_owned(), value];
    vec![
        line("raw", format!("{} tokens, as the results came", grouped(total.raw_tokens))),
        line(
            "sent",
            format!(
                "{} tokens, {} of them for follow-ups",
                grouped(total.sent_tokens),
                grouped(total.follow_up_tokens)
            ),
        ),
        line("saved", percent(total.saved_percent())),
        line("shaped", format!("{} of {calls}", grouped(total.shaped))),
        line("follow-ups", format!("{}{}", grouped(total.follow_ups), follow_ups.unwrap_or_default())),
        line(
            "re-runs avoided",
            format!("{}: parts of results, answered from the store", grouped(total.reruns_avoided)),
        ),
        line(
            "added latency",
            added.map_or_else(unknown, |(half, most)| format!("p50 {}, p99 {}", millis(half), millis(most))),
        ),
        line("mean response", mean_response.unwrap_or_else(unknown)),
        line("over 10 KB before", format!("{} of {calls}", grouped(total.heavy))),
        line("stored", stored.unwrap_or_else(unknown)),
        line(
            "store",
            format!(
                "{} kept now, in {} of at most {}",
                count(usage.artifacts, "result"),
                bytes(usage.stored_bytes),
                bytes(Quotas::default().store_bytes)
            ),
        ),
        line("tokens", counted(report)),
    ]
}

fn unknown() -> String {
    "unknown".into()
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.1} %"))
}

/// Microseconds in milliseconds.
fn millis(micros: u64) -> String {
    match micros {
        ..10_000 => format!("{:.2} ms", micros as f64 / 1000.0),
        _ => format!("{:.0} ms", micros as f64 / 1000.0),
    }
}

/// How tokens were counted.
fn counted(report: &Report) -> String {
    let several = report.counted.len() > 1;
    let ways = report.counted.iter().map(|(counted, (_, clients))| {
        let names: Vec<&str> =
            clients.iter().map(|name| if name.is_empty() { "unnamed clients" } else { name }).collect();
        let whose = if several { format!(" for {}", names.join(", ")) } else { String::new() };
        match counted {
            None => format!("in a way that was not noted{whose}"),
            Some(Counted { vocabulary, margin_percent: 0 }) => format!("with {vocabulary}{whose}"),
            Some(Counted { vocabulary, margin_percent }) => {
                format!("with {vocabulary} and a margin of {margin_percent} %{whose}")
            }
        }
    });
    let ways = ways.collect::<Vec<_>>().join("; ");
    format!("counted {ways}; in texts over {} estimated from samples", bytes(SAMPLED_ABOVE))
}

fn table(report: &Report, by: By) -> String {
    let names = by.columns();
    let head = ["CALLS", "SHAPED", "RAW TOKENS", "SENT", "SAVED", "FOLLOW-UPS", "P50", "P99"];
    let head = names.iter().map(|name| name.to_uppercase()).chain(head.map(str::to_owned));
    let mut rows: Vec<Vec<String>> = vec![head.collect()];
    for (key, figures) in report.ordered(by) {
        if !figures.is_empty() {
            rows.push(key.iter().map(|name| ui::shown(name)).chain(cells(figures)).collect());
        }
    }
    let right: Vec<usize> = (names.len()..names.len() + 8).collect();
    ui::table(&rows, &right)
}

fn cells(figures: &Figures) -> [String; 8] {
    let added = |percent| figures.added_micros(percent).map_or_else(|| "-".into(), millis);
    [
        grouped(figures.calls),
        grouped(figures.shaped),
        grouped(figures.raw_tokens),
        grouped(figures.sent_tokens),
        percent(figures.saved_percent()),
        grouped(figures.follow_ups),
        added(50),
        added(99),
    ]
}

fn told(advice: &Advice) -> String {
    let Advice { server, tool, shaped, read_whole, policy, why } = advice;
    let policy: String =
        policy.lines().map(|line| format!("  {line}").trim_end().to_owned() + "\n").collect();
    format!(
        "\n{} of {}: {read_whole} of {shaped} shaped results were then read or asked for whole. In tidegate.toml ({why}):\n{policy}",
        ui::shown(tool),
        ui::shown(server)
    )
}
