//! `tidegate stats`: what tidegate saved and what it cost, from the ledger.

mod advice;
mod figures;
mod graph;
mod report;
mod text;

use clap::{Args, ValueEnum};
use serde_json::{Map, Value, json};
use tidegate_config::Config;
use tidegate_core::measure::MAX_EXACT_BYTES;
use tidegate_gate::{StoreLocation, StoreSettings, UserStore};
use tidegate_store::{
    ArtifactStore, Call, FolderStore, Quotas, SqliteStore, StoreError, StoreKeys, StoreOptions, Usage,
    check_folder,
};

use crate::cli::TableFormat;
use crate::error::CommandError;
use crate::keep::{causes, store_settings};
use crate::ledger::EntryFilter;
use crate::run::store_warning;
use crate::ui;
use figures::Figures;
use report::Report;

/// Show what tidegate saved, and what it cost
///
/// Sums up the calls that `tidegate run` and servers built with the SDK recorded in the last 90 days: sizes and times,
/// never content. Calls that were only observed are counted separately; `tidegate scan` shows them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate stats\n  tidegate stats --by tool --since 7d\n  \
    tidegate stats --graph\n  tidegate stats --by day --format csv")]
pub(crate) struct Arguments {
    /// Also show the figures by tool, server, client or day
    #[arg(long, value_enum)]
    by: Option<By>,

    #[command(flatten)]
    filter: EntryFilter,

    /// Draw a bar chart of the tokens sent and saved, by day unless --by is given
    #[arg(long)]
    graph: bool,

    /// Exit with 1 if an answer has more than this many bytes, or more than 10240 if no number is given
    #[arg(long, value_name = "BYTES", num_args = 0..=1, default_missing_value = "10240", require_equals = true)]
    fail_above: Option<u64>,

    /// Output format
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    format: TableFormat,
}

/// How calls are grouped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum By {
    /// Each tool of each server
    Tool,
    /// Each server
    Server,
    /// Each client, by the name it sends in initialize
    Client,
    /// Each day, in UTC
    Day,
}

impl By {
    /// Returns the names of the columns that identify a group.
    fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Tool => &["server", "tool"],
            Self::Server => &["server"],
            Self::Client => &["client"],
            Self::Day => &["day"],
        }
    }

    fn key(self, call: &Call) -> Vec<String> {
        match self {
            Self::Tool => vec![call.server.clone(), call.tool.clone()],
            Self::Server => vec![call.server.clone()],
            Self::Client => vec![call.client.clone()],
            Self::Day => vec![call.at.day()],
        }
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    if arguments.graph && arguments.format != TableFormat::Text {
        return Err(CommandError::bad_input("--graph only draws text, but --format asks for data")
            .hint("remove one of them"));
    }
    let config = Config::load(None)?;
    let place = config.place();
    let settings = store_settings(&config)?;
    let by = arguments.by.or(arguments.graph.then_some(By::Day));
    let mut report = Report::default();
    arguments.filter.read(&config, |call| report.add(&call, by))?;
    report.finish();
    let (usage, problem) = store_usage(&place, &settings)?;
    if let Some(problem) = &problem {
        ui::note(&store_warning(&place, problem));
    }
    let advice = report.reading.advice(&config.clients());
    let store =
        StoreFigures { usage, problem, quota: settings.quotas.over(place.default_quotas()).store_bytes };
    show(arguments, &report, by, store, &advice)?;
    let largest = report.total.largest_sent;
    match arguments.fail_above.filter(|limit| largest > *limit) {
        Some(limit) => Err(CommandError::failed(format!("an answer has {largest} bytes, above {limit}"))
            .hint("tidegate stats --by tool --format json shows the largest of each tool")),
        None => Ok(()),
    }
}

fn show(
    arguments: &Arguments,
    report: &Report,
    by: Option<By>,
    store: StoreFigures,
    advice: &[advice::Advice],
) -> Result<(), CommandError> {
    match arguments.format {
        TableFormat::Csv => ui::data(csv(report, by).as_bytes()),
        TableFormat::Json => ui::json(&json(report, by, store, advice)),
        TableFormat::Text if report.span.is_none() => {
            ui::note(text::nothing_found(arguments.filter.is_narrow()));
            Ok(())
        }
        TableFormat::Text if arguments.graph => {
            ui::data(graph::draw(report, by.unwrap_or(By::Day)).as_bytes())
        }
        TableFormat::Text => ui::data(text::page(report, by, store.usage, advice).as_bytes()),
    }
}

/// What is known about the store.
struct StoreFigures {
    /// What it holds; `None` if it cannot be read.
    usage: Option<Usage>,
    /// Why nothing can be stored, if so.
    problem: Option<String>,
    quota: u64,
}

/// Returns the usage of the store, without creating one, and why nothing can be stored there.
fn store_usage(
    place: &StoreLocation,
    settings: &StoreSettings,
) -> Result<(Option<Usage>, Option<String>), CommandError> {
    if place.remote().is_some() {
        let opened = UserStore::of_user(place.clone()).with_settings(settings.clone()).open();
        return Ok(match opened.and_then(|opened| opened.store.usage()) {
            Ok(usage) => (Some(usage), None),
            Err(error) => (None, Some(causes(&error))),
        });
    }
    let problem = place.folder().and_then(|folder| check_folder(&folder).err());
    let problem = problem.map(|error| causes(&error));
    // If the store cannot be read, the figures from the ledger are still correct.
    match usage(place, settings) {
        Ok(usage) => Ok((Some(usage), problem)),
        Err(_) if problem.is_some() => Ok((None, problem)),
        Err(error @ StoreError::Key(_)) => Ok((None, Some(causes(&error)))),
        Err(error) => Err(CommandError::out_of_reach(causes(&error))),
    }
}

fn usage(place: &StoreLocation, settings: &StoreSettings) -> Result<Usage, StoreError> {
    let Some(folder) = place.folder() else { return Ok(Usage::default()) };
    let (database, files) = (folder.join("artifacts.db"), folder.join("artifacts"));
    let options = StoreOptions::from(Quotas::default()).with_keys(settings.keys.clone());
    // The files may be unencrypted although a key is configured, because SDK servers without the key write them.
    let of_files = StoreKeys { from_plain: true, ..settings.keys.clone() };
    let mut usage = Usage::default();
    let opened = [
        database.is_file().then(|| SqliteStore::open(&database, options.clone())?.usage()),
        files.is_dir().then(|| FolderStore::open(&files, options.clone().with_keys(of_files))?.usage()),
    ];
    for used in opened.into_iter().flatten() {
        let used = used?;
        usage.artifacts += used.artifacts;
        usage.stored_bytes += used.stored_bytes;
    }
    Ok(usage)
}

/// Returns the figures by name, for JSON and CSV.
fn named_figures(figures: &Figures) -> Vec<(&'static str, Value)> {
    vec![
        ("calls", figures.calls.into()),
        ("shaped", figures.shaped.into()),
        ("raw_tokens", figures.raw_tokens.into()),
        ("raw_bytes", figures.raw_bytes.into()),
        ("sent_tokens", figures.sent_tokens.into()),
        ("sent_bytes", figures.sent_bytes.into()),
        ("saved_percent", figures.saved_percent().into()),
        ("follow_ups", figures.follow_ups.into()),
        ("follow_up_tokens", figures.follow_up_tokens.into()),
        ("follow_ups_per_shaped", figures.follow_ups_per_shaped().into()),
        ("reruns_avoided", figures.reruns_avoided.into()),
        ("reruns_avoided_from_memory", figures.from_memory.into()),
        ("added_micros_p50", figures.added_micros_percentile(50).into()),
        ("added_micros_p99", figures.added_micros_percentile(99).into()),
        ("mean_response_bytes", figures.mean_response_bytes().into()),
        ("over_10_kb_before", figures.heavy.into()),
        ("over_10_kb_sent", figures.heavy_sent.into()),
        ("largest_response_bytes", figures.largest_sent.into()),
        ("budget_used_percent_p50", figures.headroom().map(|(used, _)| used).into()),
        ("above_90_percent_of_budget", figures.headroom().map(|(_, share)| share).into()),
        ("refused", figures.refused.into()),
        ("artifacts_of_tools", figures.artifacts.into()),
        ("observed_calls", figures.observed.0.into()),
        ("observed_tokens", figures.observed.1.into()),
    ]
}

fn json(report: &Report, by: Option<By>, store: StoreFigures, advice: &[advice::Advice]) -> Value {
    let object = |pairs: Vec<(&str, Value)>| -> Map<String, Value> {
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    };
    let mut out = object(named_figures(&report.total));
    let (sessions, mean, most) = report.sessions();
    let counted = report.counted.iter().map(|(counted, (calls, clients))| {
        json!({
            "vocabulary": counted.as_ref().map(|counted| &counted.vocabulary),
            "margin_percent": counted.as_ref().map(|counted| counted.margin_percent),
            "notes": calls,
            "clients": clients,
        })
    });
    let advice = advice.iter().map(|advice| {
        json!({
            "server": advice.server,
            "tool": advice.tool,
            "shaped": advice.shaped,
            "read_whole": advice.read_whole,
            "policy": advice.policy,
            "why": advice.why,
        })
    });
    out.extend(object(vec![
        ("from", report.span.map(|(first, _)| first.to_string()).into()),
        ("to", report.span.map(|(_, last)| last.to_string()).into()),
        ("sessions", sessions.into()),
        ("stored_bytes_per_session", mean.into()),
        ("stored_bytes_of_largest_session", most.into()),
        ("store_problem", store.problem.into()),
        ("store_results", store.usage.map(|usage| usage.artifacts).into()),
        ("store_bytes", store.usage.map(|usage| usage.stored_bytes).into()),
        ("store_quota_bytes", store.quota.into()),
        ("counted", counted.collect()),
        ("sampled_above_bytes", MAX_EXACT_BYTES.into()),
        ("advice", advice.collect()),
    ]));
    if let Some(by) = by {
        let group = |(key, figures): (&[String], &Figures)| {
            let mut group: Map<String, Value> = Map::new();
            for (name, value) in by.columns().iter().zip(key) {
                group.insert((*name).to_owned(), value.clone().into());
            }
            group.extend(object(named_figures(figures)));
            Value::Object(group)
        };
        out.insert("by".into(), by.columns().last().copied().into());
        out.insert("groups".into(), report.ordered(by).into_iter().map(group).collect());
    }
    Value::Object(out)
}

fn csv(report: &Report, by: Option<By>) -> String {
    let columns = by.map_or(&[][..], By::columns).iter().copied();
    let header: Vec<String> = columns
        .chain(named_figures(&report.total).iter().map(|(name, _)| *name))
        .map(str::to_owned)
        .collect();
    let row = |key: &[String], figures: &Figures| -> Vec<String> {
        let cell =
            |(_, value): (&str, Value)| if value.is_null() { String::new() } else { value.to_string() };
        key.iter().cloned().chain(named_figures(figures).into_iter().map(cell)).collect()
    };
    let mut rows = vec![header];
    match by {
        Some(by) => rows.extend(report.ordered(by).into_iter().map(|(key, figures)| row(key, figures))),
        None => rows.push(row(&[], &report.total)),
    }
    ui::csv(&rows)
}
