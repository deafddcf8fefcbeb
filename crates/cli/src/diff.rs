//! `tidegate diff`: shows what changed between two stored results, as lines for people and as an exact patch for programs.

use clap::Args;
use serde_json::{Value, json};
use tidegate_core::diff::{self, Change, ChangeKind, Changes, MAX_COMPARED_BYTES, RecordKey, Unit};
use tidegate_core::source::Span;
use tidegate_gate::KeptResult;

use crate::cli::Format;
use crate::error::CommandError;
use crate::keep::{KeptResults, causes};
use crate::ui;

/// Show what changed between two stored results
///
/// Pairs records by a key that it detects, or by their content, and the elements of accessibility snapshots by their
/// references; compares other texts line by line. The answer to a repeated call begins with as many of these lines as fit.
/// Results above 8 MiB are compared for equality only.
///
/// With --format json, "patch" is a list of edits of the old result as `tidegate export` writes it: at byte "at" of the old
/// result, replace "remove" bytes with the text "insert" (or with the bytes "insert_bytes", if they are not text). All edits
/// together give the new result byte for byte.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate diff list_issues-3f9c2kq7m0xw last\n  \
    tidegate diff list_issues-3f9c2kq7m0xw last --format json")]
pub(crate) struct Arguments {
    /// Id of the old result, the beginning of one, or `last` for the newest
    old: String,

    /// Id of the new result, the beginning of one, or `last` for the newest
    new: String,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Two results and their bytes.
struct Compared<'k> {
    old: KeptResult<'k>,
    new: KeptResult<'k>,
    old_bytes: Vec<u8>,
    new_bytes: Vec<u8>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let keep = KeptResults::open()?;
    let (old, new) = (keep.result(&arguments.old)?, keep.result(&arguments.new)?);
    let (old_bytes, new_bytes) = (bytes(&old)?, bytes(&new)?);
    let compared = Compared { old, new, old_bytes, new_bytes };
    let changes = compared.changes()?;
    match arguments.format {
        Format::Text => ui::data(compared.text(changes.as_ref()).as_bytes()),
        Format::Json => ui::json(&compared.report(changes.as_ref())),
    }
}

fn bytes(kept: &KeptResult<'_>) -> Result<Vec<u8>, CommandError> {
    Span::whole(kept.source()).read(kept.source()).map_err(|error| CommandError::failed(causes(&error)))
}

impl Compared<'_> {
    /// Returns what changed; `None` if the results are too large to say.
    fn changes(&self) -> Result<Option<Changes>, CommandError> {
        if self.old_bytes.len().max(self.new_bytes.len()) as u64 > MAX_COMPARED_BYTES {
            return Ok(None);
        }
        let changes = diff::compare(&self.old.dataset(), &self.new.dataset());
        changes.map(Some).map_err(|error| CommandError::failed(causes(&error)))
    }

    fn summary(&self, changes: Option<&Changes>) -> String {
        match changes {
            _ if self.old_bytes == self.new_bytes => {
                format!("equal: the same {} bytes", ui::grouped(self.new_bytes.len() as u64))
            }
            Some(changes) => changes.summary(),
            None => "the bytes differ; results above 8 MiB are compared for equality only".to_owned(),
        }
    }

    fn text(&self, changes: Option<&Changes>) -> String {
        let about = |kept: &KeptResult<'_>| format!("{} ({})", kept.name(), kept.artifact().created);
        let mut out = format!("{} -> {}: {}\n", about(&self.old), about(&self.new), self.summary(changes));
        for line in changes.into_iter().flat_map(Changes::lines) {
            out.push_str(&coloured(&line));
            out.push('\n');
        }
        out
    }

    fn report(&self, changes: Option<&Changes>) -> Value {
        let about = |kept: &KeptResult<'_>, bytes: &[u8]| json!({"id": kept.name(), "created": kept.artifact().created.to_string(), "bytes": bytes.len()});
        let edits = diff::patch(&self.old_bytes, &self.new_bytes);
        let patch: Vec<Value> = edits
            .into_iter()
            .map(|edit| match String::from_utf8(edit.inserted) {
                Ok(text) => json!({"at": edit.at, "remove": edit.removed, "insert": text}),
                // The bytes are not text, so write them as numbers.
                Err(error) => {
                    json!({"at": edit.at, "remove": edit.removed, "insert_bytes": error.into_bytes()})
                }
            })
            .collect();
        let (unit, key) = match changes.map(|changes| &changes.unit) {
            Some(Unit::Records { key: RecordKey::Field(field), .. }) => ("records", Some(field.as_str())),
            Some(Unit::Records { .. }) => ("records", None),
            Some(Unit::Elements) => ("elements", None),
            Some(Unit::Lines) => ("lines", None),
            None => ("bytes", None),
        };
        json!({
            "old": about(&self.old, &self.old_bytes),
            "new": about(&self.new, &self.new_bytes),
            "equal": self.old_bytes == self.new_bytes,
            "summary": self.summary(changes),
            "compared": unit,
            "key": key,
            "changes": changes.map(|changes| changes.list.iter().map(|change| entry(change, unit)).collect::<Vec<_>>()),
            "patch": patch,
        })
    }
}

fn entry(change: &Change, unit: &str) -> Value {
    let kind = match change.kind {
        ChangeKind::Changed => "changed",
        ChangeKind::Removed => "removed",
        ChangeKind::Added => "added",
        ChangeKind::Beside => "beside",
    };
    let is_json = unit == "records" || change.kind == ChangeKind::Beside;
    let content = |text: &Option<String>| match text {
        Some(text) if is_json => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text.as_str())),
        Some(text) => Value::from(text.as_str()),
        None => Value::Null,
    };
    json!({"change": kind, "name": change.name, "old": content(&change.old), "new": content(&change.new)})
}

fn coloured(line: &str) -> String {
    let colour = match line.as_bytes().first() {
        _ if !ui::is_coloured() => return line.to_owned(),
        Some(b'+') => "32",
        Some(b'-') => "31",
        _ => "33",
    };
    format!("\x1b[{colour}m{line}\x1b[0m")
}
