//! The text output of `tidegate stats`.

use tidegate_core::measure::MAX_EXACT_BYTES;
use tidegate_gate::AlertLimits;
use tidegate_store::{CountMethod, Quotas, Usage};

use super::By;
use super::advice::Advice;
use super::figures::{Figures, MEAN_GOAL_BYTES};
use super::report::Report;
use crate::ui::{self, bytes, count, grouped};

/// Returns the message for an empty report.
pub(super) fn nothing_found(is_narrow: bool) -> &'static str {
    match is_narrow {
        true => "no recorded calls match; tidegate stats without --since and --server shows all",
        false => {
            "no calls are recorded yet; put `tidegate run --` in front of a server's command in your client's \
             configuration and use the client (tidegate demo shows the effect)"
        }
    }
}

/// Formats the report.
pub(super) fn page(report: &Report, by: Option<By>, usage: Option<Usage>, advice: &[Advice]) -> String {
    let mut out = head(report);
    if !report.total.is_empty() {
        out.push_str(&ui::table(&lines(report, usage), &[]));
    }
    if let Some(by) = by {
        out.push('\n');
        out.push_str(&table(report, by));
    }
    for advice in advice {
        out.push_str(&advice_text(advice));
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
        let only = if total.is_empty() { "Only observed so far" } else { "In addition, only observed" };
        out = format!(
            "{only}: {}, {} tokens{}. tidegate scan shows which tools are heavy.\n{out}",
            count(observed, "call"),
            grouped(tokens),
            if total.is_empty() { span.as_str() } else { "" },
        );
    }
    out
}

fn lines(report: &Report, usage: Option<Usage>) -> Vec<[String; 2]> {
    let total = &report.total;
    let calls = count(total.calls, "call");
    let follow_ups = total.follow_ups_per_shaped().map(|each| format!(", {each} per shaped call"));
    let mean_response = total.mean_response_bytes().map(|mean| {
        let goal = if mean <= MEAN_GOAL_BYTES { "within" } else { "above" };
        format!("{}, {goal} the goal of {}", bytes(mean), bytes(MEAN_GOAL_BYTES))
    });
    let added = total.added_micros_percentile(50).zip(total.added_micros_percentile(99));
    let headroom = total.headroom().map(|(used, above)| {
        format!("{used} % used by the median answer, more than 90 % by {above} % of them")
    });
    let line = |name: &str, value: String| [name.to_owned(), value];
    let mut lines = vec![
        line("raw", format!("{} tokens, before shaping", grouped(total.raw_tokens))),
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
            format!("{}, answered {}", grouped(total.reruns_avoided), answered_from(total)),
        ),
        line(
            "added latency",
            added.map_or_else(unknown, |(half, most)| format!("p50 {}, p99 {}", millis(half), millis(most))),
        ),
        line("mean response", mean_response.unwrap_or_else(unknown)),
        line(
            "over 10 KB",
            format!(
                "{} of {calls} before, {} sent; the largest answer has {}",
                grouped(total.heavy),
                count(total.heavy_sent, "answer"),
                bytes(total.largest_sent)
            ),
        ),
        line("budget", headroom.unwrap_or_else(unknown)),
        line("stored", stored(report).unwrap_or_else(unknown)),
        line(
            "store",
            usage.map_or_else(unknown, |usage| {
                format!(
                    "{} kept, {} of at most {}",
                    count(usage.artifacts, "result"),
                    bytes(usage.stored_bytes),
                    bytes(Quotas::default().store_bytes)
                )
            }),
        ),
        line("tokens", counted(report)),
    ];
    if total.artifacts > 0 {
        lines
            .insert(4, line("artifacts", format!("{} stored by tools themselves", grouped(total.artifacts))));
    }
    if total.refused > 0 {
        lines.insert(
            4,
            line("refused", format!("{}, answered without running the tool", grouped(total.refused))),
        );
    }
    lines
}

/// Says how much each session stored.
fn stored(report: &Report) -> Option<String> {
    let (sessions, mean, most) = report.sessions();
    let (mean, most) = mean.zip(most)?;
    let stored = match sessions {
        1 => format!("{} in 1 session", bytes(most)),
        _ => format!(
            "{} per session in {sessions} sessions, {} at most; a result of several sessions counts in each",
            bytes(mean),
            bytes(most)
        ),
    };
    let goal = AlertLimits::default().session_stored_bytes;
    let within = if most <= goal { "within" } else { "above" };
    Some(format!("{stored}, {within} the goal of {}", bytes(goal)))
}

/// Says whether follow-ups were answered from the store or from memory.
fn answered_from(total: &Figures) -> String {
    match (total.reruns_avoided - total.from_memory, total.from_memory) {
        (_, 0) => "from the store instead".into(),
        (0, _) => "from memory instead".into(),
        (store, memory) => {
            format!("{} from the store and {} from memory instead", grouped(store), grouped(memory))
        }
    }
}

fn unknown() -> String {
    "unknown".into()
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.1} %"))
}

/// Formats microseconds as milliseconds.
fn millis(micros: u64) -> String {
    match micros {
        ..10_000 => format!("{:.2} ms", micros as f64 / 1000.0),
        _ => format!("{:.0} ms", micros as f64 / 1000.0),
    }
}

/// Describes how tokens were counted.
fn counted(report: &Report) -> String {
    let several = report.counted.len() > 1;
    let ways = report.counted.iter().map(|(counted, (_, clients))| {
        let names: Vec<&str> =
            clients.iter().map(|name| if name.is_empty() { "unnamed clients" } else { name }).collect();
        let for_clients = if several { format!(" for {}", names.join(", ")) } else { String::new() };
        match counted {
            None => format!("with an unknown vocabulary{for_clients}"),
            Some(CountMethod { vocabulary, margin_percent: 0 }) => format!("with {vocabulary}{for_clients}"),
            Some(CountMethod { vocabulary, margin_percent }) => {
                format!("with {vocabulary} and a margin of {margin_percent} %{for_clients}")
            }
        }
    });
    let ways = ways.collect::<Vec<_>>().join("; ");
    format!("counted {ways}; texts over {} are estimated from samples", bytes(MAX_EXACT_BYTES))
}

fn table(report: &Report, by: By) -> String {
    let names = by.columns();
    let head = ["CALLS", "SHAPED", "RAW TOKENS", "SENT", "SAVED", "FOLLOW-UPS", "P50", "P99"];
    let head = names.iter().map(|name| name.to_uppercase()).chain(head.map(str::to_owned));
    let mut rows: Vec<Vec<String>> = vec![head.collect()];
    for (key, figures) in report.ordered(by) {
        if !figures.is_empty() {
            rows.push(key.iter().map(|name| ui::printable(name)).chain(cells(figures)).collect());
        }
    }
    let right: Vec<usize> = (names.len()..names.len() + 8).collect();
    ui::table(&rows, &right)
}

fn cells(figures: &Figures) -> [String; 8] {
    let added = |percent| figures.added_micros_percentile(percent).map_or_else(|| "-".into(), millis);
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

fn advice_text(advice: &Advice) -> String {
    let Advice { server, tool, shaped, read_whole, policy, why } = advice;
    let policy: String =
        policy.lines().map(|line| format!("  {line}").trim_end().to_owned() + "\n").collect();
    format!(
        "\n{} of {}: {read_whole} of {shaped} shaped results were then read whole. Set in tidegate.toml ({why}):\n{policy}",
        ui::printable(tool),
        ui::printable(server)
    )
}
