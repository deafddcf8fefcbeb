//! The commands on stored results: `tidegate ls`, `show`, `export`, `rm` and `gc`.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use serde_json::{Value, json};
use tidegate_core::envelope::handle_name;
use tidegate_core::payload::Payload;
use tidegate_core::source::{Source, Span};
use tidegate_gate::{age_text, duration_text, short_arguments};
use tidegate_store::{Artifact, CHUNK_BYTES, CallOrigin, Clock, SystemClock};

use crate::cli::Format;
use crate::error::CommandError;
use crate::keep::{KeptResults, causes, id};
use crate::output_file::OutputFile;
use crate::ui;

/// List stored results, newest first
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate ls\n  tidegate ls --limit 5 --format json")]
pub(crate) struct Ls {
    /// Maximum number of results
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Show the metadata of a stored result
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate show list_issues-3f9c2kq7m0xw")]
pub(crate) struct Show {
    /// Id of the result, the beginning of one, or `last` for the newest
    id: String,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Write a stored result to stdout or a file, byte for byte
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate export list_issues-3f9c2kq7m0xw --output issues.json\n  \
    tidegate export list_issues-3f9c2kq7m0xw --block 1 -o issues.json\n  \
    tidegate export list_issues-3f9c2kq7m0xw | wc -c")]
pub(crate) struct Export {
    /// Id of the result, the beginning of one, or `last` for the newest
    id: String,

    /// Only this content block, counted from 1: the bytes of an image, or the text of a text block
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    block: Option<u32>,

    /// File to write to [default: stdout]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    /// Overwrite the file if it exists
    #[arg(long, requires = "output")]
    force: bool,
}

/// Remove stored results
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate rm list_issues-3f9c2kq7m0xw")]
pub(crate) struct Rm {
    /// Ids of the results
    #[arg(required = true)]
    ids: Vec<String>,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Remove expired results and free their space
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate gc")]
pub(crate) struct Gc {
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

fn name(artifact: &Artifact) -> String {
    handle_name(&artifact.tool, artifact.id.as_str())
}

fn report(artifact: &Artifact, origin: &CallOrigin) -> Value {
    json!({
        "id": name(artifact),
        "server": origin.server,
        "tool": artifact.tool,
        "arguments": origin.arguments,
        "kind": artifact.kind,
        "records": artifact.records,
        "bytes": artifact.bytes,
        "stored_bytes": artifact.stored_bytes,
        "tokens": artifact.tokens,
        "created": artifact.created.to_string(),
        "expires": artifact.expires.to_string(),
    })
}

/// Runs `ls`.
pub(crate) fn ls(arguments: &Ls) -> Result<(), CommandError> {
    let keep = KeptResults::open()?;
    let artifacts = keep.list(arguments.limit as usize)?;
    if arguments.format == Format::Json {
        let reports = artifacts.iter().map(|artifact| report(artifact, &keep.origin(artifact)));
        return ui::json(&Value::Array(reports.collect()));
    }
    if artifacts.is_empty() {
        ui::note("no results are stored; tidegate run stores those that are too large to pass");
        return Ok(());
    }
    let now = SystemClock.now();
    let head = ["NAME", "SERVER", "ARGUMENTS", "KIND", "RECORDS", "TOKENS", "AGE", "KEPT"];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(artifacts.iter().map(|artifact| {
        let origin = keep.origin(artifact);
        [
            name(artifact),
            ui::printable(&origin.server),
            ui::printable(&short_arguments(&origin.arguments, MAX_ARGUMENT_CHARACTERS)),
            artifact.kind.clone(),
            artifact.records.map_or_else(|| "-".into(), ui::grouped),
            ui::grouped(artifact.tokens),
            age_text(now.since(artifact.created)),
            duration_text(artifact.expires.since(now)),
        ]
    }));
    ui::data(ui::table(&rows, &[4, 5]).as_bytes())
}

/// The maximum number of characters shown of a call's arguments in a list.
const MAX_ARGUMENT_CHARACTERS: usize = 60;

/// Runs `show`.
pub(crate) fn show(arguments: &Show) -> Result<(), CommandError> {
    let keep = KeptResults::open()?;
    let source = keep.source(&arguments.id)?;
    let report = report(source.artifact(), &keep.origin(source.artifact()));
    if arguments.format == Format::Json {
        return ui::json(&report);
    }
    let mut text = String::new();
    for (key, value) in report.as_object().into_iter().flatten() {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.push_str(&format!("{key:<13}{}\n", ui::printable(&value)));
    }
    text.push_str(&format!("read it with: tidegate query {}\n", name(source.artifact())));
    ui::data(text.as_bytes())
}

/// Runs `export`.
pub(crate) fn export(arguments: &Export) -> Result<(), CommandError> {
    let keep = KeptResults::open()?;
    let source = keep.source(&arguments.id)?;
    if let Some(number) = arguments.block {
        let content = block(&source, number, &arguments.id)?;
        return arguments.write_out(content.len() as u64, std::iter::once(Ok(content)));
    }
    let chunks = (0..source.len().div_ceil(CHUNK_BYTES)).map(|number| {
        let end = ((number + 1) * CHUNK_BYTES).min(source.len());
        Span { start: number * CHUNK_BYTES, end }.read(&source).map_err(|error| {
            CommandError::out_of_reach(format!("cannot read {:?}: {}", arguments.id, causes(&error)))
        })
    });
    arguments.write_out(source.len(), chunks)
}

/// Returns the content of a block, counted from 1.
fn block(source: &dyn Source, number: u32, id: &str) -> Result<Vec<u8>, CommandError> {
    let failed = |error: &dyn std::error::Error| {
        CommandError::failed(format!("cannot read block {number} of {id:?}: {}", causes(error)))
    };
    let payload = Payload::read_result(source).map_err(|error| failed(&error))?;
    let content = payload.block_content(number as usize - 1).map_err(|error| failed(&error))?;
    let count = payload.block_count;
    content.ok_or_else(|| CommandError::bad_input(format!("{id:?} has no block {number}; it has {count}")))
}

impl Export {
    /// Writes chunks of `bytes` bytes in total to a file or to stdout.
    fn write_out(
        &self,
        bytes: u64,
        mut chunks: impl Iterator<Item = Result<Vec<u8>, CommandError>>,
    ) -> Result<(), CommandError> {
        let Some(path) = &self.output else { return chunks.try_for_each(|chunk| ui::data(&chunk?)) };
        let mut file = OutputFile::create(path, self.force)?;
        chunks.try_for_each(|chunk| file.write_all(&chunk?).map_err(|error| file.failed(&error)))?;
        file.finish()?;
        ui::note(&format!("wrote {bytes} bytes to {}", path.display()));
        Ok(())
    }
}

/// Runs `rm`.
pub(crate) fn rm(arguments: &Rm) -> Result<(), CommandError> {
    let keep = KeptResults::open()?;
    // Check all names before removing anything.
    arguments.ids.iter().try_for_each(|name| id(name).map(drop))?;
    for name in &arguments.ids {
        keep.delete(name)?;
        if arguments.format == Format::Text {
            ui::note(&format!("removed {name}"));
        }
    }
    match arguments.format {
        Format::Text => Ok(()),
        Format::Json => ui::json(&json!({"removed": arguments.ids})),
    }
}

/// Runs `gc`.
pub(crate) fn gc(arguments: &Gc) -> Result<(), CommandError> {
    let keep = KeptResults::open()?;
    let swept = keep.store().sweep().map_err(|error| keep.missing("the store", error))?;
    let usage = keep.store().usage().map_err(|error| keep.missing("the store", error))?;
    if arguments.format == Format::Json {
        return ui::json(&json!({
            "expired": swept.artifacts,
            "freed_bytes": swept.freed_bytes,
            "kept": usage.artifacts,
            "stored_bytes": usage.stored_bytes,
        }));
    }
    ui::data(
        format!(
            "removed {} expired, freed {} bytes; {} kept in {} bytes\n",
            swept.artifacts, swept.freed_bytes, usage.artifacts, usage.stored_bytes
        )
        .as_bytes(),
    )
}
