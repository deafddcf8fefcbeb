//! `tidegate query`: reads any part of a stored result, with the arguments of `result_query`, and prints it within the
//! budget or writes it whole to a file.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tidegate_core::budget::Budget;
use tidegate_core::envelope::Handle;
use tidegate_core::view::{
    Answer, Engines, ExportError, ExportFormat, Exported, Query, View, arguments, cursor,
};
use tidegate_gate::KeptResult;
use tidegate_gate::profile::Profile;
use tidegate_query::{Limits, Queries, Worker};

use crate::cli::Format;
use crate::error::CommandError;
use crate::keep::{KeptResults, causes, view_error};
use crate::output_file::OutputFile;
use crate::ui;

/// Read a part of a stored result
///
/// Takes the same arguments as result_query: at most one of --page, --jq, --sql, --grep, --lines, --range and --mode.
/// With --path, that view reads only the value at the path; --path alone prints the value. Without a view or a path,
/// prints page 1 if --fields or --page-size is given, otherwise the summary. The answer fits the budget.
///
/// With --output, writes the whole view to a file, without a budget. Without a view, writes the whole result; with --fields
/// alone, writes these fields of all records. The ending of the file's name sets the format: .csv, .json and .jsonl hold
/// data; .bin, .raw and a name without an ending hold the stored bytes; any other file holds the text as the server wrote
/// it, or the bytes of a picture.
///
/// In SQL, every other stored result is a table: write its name in double quotes. In jq, it is $results["NAME"].
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate query list_issues-3f9c2kq7m0xw --page 2\n  \
    tidegate query list_issues-3f9c2kq7m0xw --jq '.[] | select(.state == \"open\") | .title'\n  \
    tidegate query list_issues-3f9c2kq7m0xw --sql 'select author, count(*) from t group by 1'\n  \
    tidegate query list_issues-3f9c2kq7m0xw --grep timeout --context 2\n  \
    tidegate query last -o issues.csv\n  \
    tidegate query list_issues --sql 'select * from t where comments > 10' -o busy.jsonl\n  \
    tidegate query last --sql 'select count(*) from t join \"list_issues-3f9c2kq7m0xw\" using (number)'")]
pub(crate) struct Arguments {
    /// Id of the result, such as list_issues-3f9c2kq7m0xw, the beginning of one, or `last` for the newest
    id: String,

    /// Continue where the last answer ended
    #[arg(long, value_name = "CURSOR", conflicts_with_all = ["page", "page_size", "fields", "path", "jq", "sql", "grep", "lines", "range", "mode"])]
    cursor: Option<String>,

    /// Page of records, counted from 1
    #[arg(long, value_name = "N")]
    page: Option<u64>,

    /// Records per page [default: as set for the tool, or as many as typically fit]
    #[arg(long, value_name = "N")]
    page_size: Option<u64>,

    /// Only these fields of the records, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    fields: Option<Vec<String>>,

    #[arg(long, help = "Value at a JSON Pointer (/items/0/name) or a simple JSONPath ($.items[0].name)")]
    path: Option<String>,

    /// Results of a jq program; other results are $results["NAME"]
    #[arg(long, value_name = "PROGRAM")]
    jq: Option<String>,

    /// Rows of an SQL query; the records are the table t, and other results are tables "NAME"
    #[arg(long, value_name = "QUERY")]
    sql: Option<String>,

    /// Everything that matches a regular expression: records, values and lines
    #[arg(long, value_name = "REGEX")]
    grep: Option<String>,

    /// Lines or records to show around a match
    #[arg(long, value_name = "N")]
    context: Option<u64>,

    /// Show only how often --grep matches, and where
    #[arg(long)]
    count: bool,

    /// Lines of the text, such as 10-20
    #[arg(long, value_name = "FROM-TO")]
    lines: Option<String>,

    /// Bytes of the stored result, such as 0-999
    #[arg(long, value_name = "FROM-TO")]
    range: Option<String>,

    /// What to show: summary, or full for the whole result, up to the tool's cap_tokens
    #[arg(long)]
    mode: Option<String>,

    /// Maximum tokens of the answer [default: follow_up_tokens of the tool]
    #[arg(long, value_name = "TOKENS")]
    max_tokens: Option<u64>,

    /// Write the whole view to this file, in the format of its ending
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["cursor", "max_tokens"])]
    output: Option<PathBuf>,

    /// Overwrite the file if it exists
    #[arg(long, requires = "output")]
    force: bool,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// The time limit of a query whose results are written to a file, where no model waits for an answer.
const EXPORT_TIME: Duration = Duration::from_secs(600);

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    let keep = KeptResults::open()?;
    let kept = keep.result(&arguments.id)?;
    let query = kept.query(arguments.cursor.as_deref(), arguments.view()).map_err(view_error)?;
    let others = keep.others(&query, &kept)?;
    let worker = Worker::current().map_err(CommandError::failed)?;
    let limits = match arguments.output {
        Some(_) => Limits { time: EXPORT_TIME, load_time: EXPORT_TIME, rows: u64::MAX, ..Limits::default() },
        None => Limits::default(),
    };
    let queries = Queries::new(limits, worker);
    let named = others.named();
    let engines = queries.beside(&named);
    if let Some(path) = &arguments.output {
        return arguments.export(&kept, query, &engines, path);
    }
    let budget = arguments.budget(&kept, &query)?;
    let meter = terminal().meter;
    let answer =
        kept.answer(&query, budget, meter, Handle::DEFAULT_QUERY_TOOL, &engines).map_err(view_error)?;
    let cursor = |next: &Query| cursor::encode(next, |bytes| kept.seal(bytes));
    match arguments.format {
        Format::Text => {
            ui::data(format!("{}\n", answer.text).as_bytes())?;
            if let Some(next) = &answer.next {
                let name = kept.name();
                ui::note(&format!("read on with: tidegate query {name} --cursor {}", cursor(next)));
            }
            Ok(())
        }
        Format::Json => ui::json(&report(&answer, cursor)),
    }
}

/// A terminal takes answers of any size; what they may cost is up to the policy and the caller.
fn terminal() -> Profile {
    Profile { max_bytes: u64::MAX, ..Profile::strictest() }
}

fn report(answer: &Answer, cursor: impl FnOnce(&Query) -> String) -> serde_json::Value {
    json!({
        "shown": answer.shown,
        "of": answer.of,
        "next": answer.next.as_ref().map(cursor),
        "tokens": answer.cost.tokens.0,
        "bytes": answer.cost.bytes.0,
        "body": answer.body,
    })
}

/// Returns the report on a file that was written.
fn file_report(path: &Path, exported: &Exported) -> serde_json::Value {
    json!({
        "path": path.display().to_string(),
        "bytes": exported.bytes,
        "rows": exported.rows,
        "columns": exported.columns,
        "notes": exported.notes,
    })
}

impl Arguments {
    /// Writes a view to a file.
    fn export(
        &self,
        kept: &KeptResult<'_>,
        mut query: Query,
        engines: &dyn Engines,
        path: &Path,
    ) -> Result<(), CommandError> {
        if self.mode.as_deref() == Some("summary") {
            return Err(CommandError::bad_input("a file gets the data, not its summary")
                .hint("leave out --mode, or print the summary without --output"));
        }
        if self.page.is_none() && self.page_size.is_none() && matches!(query.view, View::Page { .. }) {
            query.view = View::Full;
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let mut file = OutputFile::create(path, self.force)?;
        let exported = kept.export(&query, ExportFormat::of_file(&name), engines, &mut file);
        let exported = exported.map_err(|error| match error {
            ExportError::View(error) => view_error(error),
            ExportError::Write(error) => file.failed(&error),
            other => CommandError::failed(causes(&other)),
        })?;
        file.finish()?;
        if self.format == Format::Json {
            return ui::json(&file_report(path, &exported));
        }
        let rows = exported.rows.map_or_else(String::new, |rows| format!("{} rows, ", ui::grouped(rows)));
        ui::note(&format!("wrote {rows}{} bytes to {}", ui::grouped(exported.bytes), path.display()));
        exported.notes.iter().for_each(|note| ui::note(note));
        Ok(())
    }

    /// Returns the budget of the answer, and prints a note if it is not what --max-tokens asked for.
    fn budget(&self, kept: &KeptResult<'_>, query: &Query) -> Result<Budget, CommandError> {
        let budget = kept.budget(self.max_tokens, query, &terminal()).map_err(view_error)?;
        if let Some(asked) = self.max_tokens.filter(|asked| *asked != budget.tokens.0) {
            let (bound, tokens) =
                (if asked < budget.tokens.0 { "at least" } else { "at most" }, budget.tokens);
            ui::note(&format!("--max-tokens {asked}: an answer may have {bound} {tokens} tokens"));
        }
        Ok(budget)
    }

    fn view(&self) -> arguments::Arguments {
        arguments::Arguments {
            page: self.page,
            page_size: self.page_size,
            fields: self.fields.clone(),
            path: self.path.clone(),
            jq: self.jq.clone(),
            sql: self.sql.clone(),
            grep: self.grep.clone(),
            context: self.context,
            count: self.count.then_some(true),
            lines: self.lines.clone(),
            range: self.range.clone(),
            mode: self.mode.clone(),
        }
    }
}
