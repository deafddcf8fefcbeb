//! `result_save`: a view of a kept result, whole, as a file; and links to such views, for clients over HTTP.
//!
//! A file is written to the private folder of the user (`store/saved.rs`). A client over HTTP may be on another machine, so
//! it gets a link, which is checked when it is followed as if the view were asked for then: same owner, same tier, and a
//! policy that still allows it.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use tidegate_core::Bytes;
use tidegate_core::budget::Budget;
use tidegate_core::envelope::fenced;
use tidegate_core::view::{ExportError, ExportFormat, Exported, Query};
use tidegate_core::visible;
use tidegate_query::{Limits, Queries};
#[cfg(unix)]
use tidegate_store::StoreError;
use tidegate_store::{Artifact, Call, FileName};

use super::{Gate, REFUSED, sent_cost};
use crate::caller::Caller;
use crate::error::{FollowUpError, bounded, causes};
use crate::follow_up::FollowUp;
use crate::kept_result::KeptResult;
use crate::reply;
use crate::save_request::SaveRequest;
use crate::saved_link::{LinkTarget, SavedLink};
use crate::user_store::StoreLocation;

/// How long a program may run whose results are written to a file; loading may take as long.
const FILE_TIME: Duration = Duration::from_secs(60);
/// How long a link is valid.
const LINK_LIFE: Duration = Duration::from_secs(300);
/// What the ledger calls a view that was saved.
const SAVE: &str = "save";
/// The most columns that an answer names.
const COLUMNS: [usize; 6] = [200, 60, 30, 12, 4, 0];
/// The most characters of the name of a column.
const MAX_COLUMN_CHARS: usize = 60;

/// Why a link leads to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DownloadError {
    /// It is not valid now, or not for this caller.
    #[error("this link has expired or is not valid; call the tool that made it again for a new one")]
    Gone,
    /// The view cannot be read or sent.
    #[error("{0}")]
    Failed(String),
}

/// A view that was saved, for the answer.
struct SavedView {
    artifact: Artifact,
    budget: Budget,
    /// What the answer says.
    text: String,
}

/// Returns the engines behind files: they have more time, and no limit of rows.
pub(super) fn file_engines(engines: &Queries) -> Queries {
    engines.apart(|limits| Limits { time: FILE_TIME, load_time: FILE_TIME, rows: u64::MAX, ..limits })
}

impl Gate {
    /// Returns the gate of a proxy that can write results to files in a data folder, where a policy allows it.
    #[must_use]
    pub fn saving_in(self, place: StoreLocation) -> Self {
        Self { save_place: Some(place), ..self }
    }

    /// Returns whether results can be written to files.
    pub fn offers_saving(&self) -> bool {
        let any = || {
            self.servers
                .as_ref()
                .is_some_and(|servers| servers.policies().iter().any(|rules| rules.offer_saving()))
        };
        self.save_place.is_some() && (self.setup.policies.offer_saving() || any())
    }

    /// Removes expired results, and saved files whose result is gone.
    pub fn sweep(&self) {
        self.setup.keep.sweep();
        #[cfg(unix)]
        if let Some(folder) = self.save_place.as_ref().and_then(StoreLocation::folder) {
            self.setup.keep.sweep_saved(&folder);
        }
    }

    /// Answers a call of our second tool. With `base`, the address that a client over HTTP uses, nothing is written, and the
    /// answer has a link.
    pub fn save(&self, caller: &Caller, arguments: Option<&[u8]>, base: Option<&str>) -> Vec<u8> {
        let started = Instant::now();
        let tool = caller.save_tool;
        let request = SaveRequest::read(arguments, self.languages());
        match request.and_then(|request| self.save_view(caller, request, base)) {
            Err(error) => {
                let message = error.to_string();
                let say = |chars| format!("{tool}: {}. Nothing was written.", bounded(&message, chars));
                let (_, result) = self.refuse(caller, tool, say);
                let sent = sent_cost(caller, &result);
                let call = self.entry(caller, tool, "view", (sent, sent));
                self.note(Call { view: Some(REFUSED.into()), ..call }, started);
                result
            }
            Ok(SavedView { artifact, budget, text }) => {
                let result = reply::text_result(caller, &text, false);
                // What was written must be answered, even if other calls took what was left of the session.
                self.count_sent(caller, result.len() as u64);
                let sent = sent_cost(caller, &result);
                let call = self.entry(caller, &artifact.tool, "view", (sent, sent));
                let (id, view) = (Some(artifact.id.to_string()), Some(SAVE.into()));
                self.note(Call { artifact: id, view, budget_tokens: budget.tokens.0, ..call }, started);
                result
            }
        }
    }

    fn save_view(
        &self,
        caller: &Caller,
        request: SaveRequest,
        base: Option<&str>,
    ) -> Result<SavedView, FollowUpError> {
        let SaveRequest { name, part: FollowUp { id, arguments, .. } } = request;
        self.with_kept(caller, &id, |kept| {
            check_allowed(kept)?;
            let query = kept.file_query(arguments)?;
            let budget = kept.policy().follow_up(&caller.profile);
            let ceiling = self.ceiling(caller, kept.policy());
            let budget = ceiling.map_or(budget, |ceiling| ceiling.limit(budget));
            let answer = AnswerText { caller, budget, mark: kept.artifact().id.as_str() };
            let text = match base {
                Some(base) => self.link_text(caller, kept, &query, &name, base, &answer)?,
                None => {
                    let (path, exported) = self.write_file(caller, kept, &query, &name)?;
                    let end = format!("It is removed with the result ({}).", kept.retention());
                    let head = format!("Saved {path}: {}", facts(&exported));
                    let short = || format!("Saved {:?} in tidegate's data folder.", name.as_str());
                    answer.within_budget(&head, &end, &exported).unwrap_or_else(short)
                }
            };
            Ok(SavedView { artifact: kept.artifact().clone(), budget, text })
        })
    }

    /// Writes a view to a file; returns its path and what was written.
    #[cfg(unix)]
    fn write_file(
        &self,
        caller: &Caller,
        kept: &KeptResult<'_>,
        query: &Query,
        name: &FileName,
    ) -> Result<(String, Exported), FollowUpError> {
        use tidegate_store::{SavedFolder, SavedFrom};
        let home = self.save_place.as_ref().map_or(Err(StoreError::NotFound), StoreLocation::home);
        let home = home.map_err(|error| not_written(&error))?;
        let folder = SavedFolder::open(&home).map_err(|error| not_written(&error))?;
        let mut file = folder.create(name.clone()).map_err(|error| not_written(&error))?;
        let exported = self.export_view(caller, kept, query, name, &mut file)?;
        let from = SavedFrom {
            owner: self.keep_of(caller).owner.clone(),
            artifact: kept.artifact().id.clone(),
            kept_in: kept.store_kind(),
            expires: kept.artifact().expires,
        };
        let path = file.finish(&from).map_err(|error| not_written(&error))?;
        Ok((format!("\"{}\"", visible::text(&path.display().to_string())), exported))
    }

    #[cfg(not(unix))]
    fn write_file(
        &self,
        _: &Caller,
        _: &KeptResult<'_>,
        _: &Query,
        _: &FileName,
    ) -> Result<(String, Exported), FollowUpError> {
        Err(FollowUpError::Store("files cannot be saved on this system; read pages instead".into()))
    }

    /// Returns the answer with a link to a view, which is read once, so that the answer says what the link leads to.
    fn link_text(
        &self,
        caller: &Caller,
        kept: &KeptResult<'_>,
        query: &Query,
        name: &FileName,
        base: &str,
        answer: &AnswerText<'_>,
    ) -> Result<String, FollowUpError> {
        let exported = self.export_view(caller, kept, query, name, &mut io::sink())?;
        let target = LinkTarget {
            id: kept.artifact().id.clone(),
            query: query.clone(),
            tier: caller.profile.tier,
            expires: self.setup.keep.clock().now().after(LINK_LIFE),
        };
        let path = target.path(name, |bytes| kept.seal(bytes));
        let head = format!("The file is at {base}{path} for {} s: {}", LINK_LIFE.as_secs(), facts(&exported));
        let end = "GET it with the headers that authorize your other requests here.";
        let is_readable = SavedLink::parse(&path).is_some();
        answer.within_budget(&head, end, &exported).filter(|_| is_readable).ok_or_else(|| {
            FollowUpError::Arguments("the view is too long for a link; shorten the query".into())
        })
    }

    /// Sends what a link leads to.
    ///
    /// # Errors
    ///
    /// [`DownloadError::Gone`] before anything is sent if the link is not valid for this caller now; a view that cannot be
    /// read or sent, perhaps after a part of it was sent.
    pub fn download(
        &self,
        caller: &Caller,
        link: &SavedLink,
        out: &mut dyn Write,
    ) -> Result<(), DownloadError> {
        let gone = |_| DownloadError::Gone;
        let (keep, id) = (self.keep_of(caller), link.id());
        let opened = keep.open_for(id).map_err(|_| DownloadError::Gone)?;
        let now = keep.clock().now();
        let valid = |seal: &dyn Fn(&[u8]) -> _| link.target(now, seal).ok_or(DownloadError::Gone);
        let target = opened.unseal(&keep.owner, id, valid)?;
        let mut caller = caller.clone();
        caller.profile.tier = caller.profile.tier.min(target.tier);
        let kept = self.open_kept(&caller, id.as_str(), id, &opened).map_err(gone)?;
        if !self.offers_saving() || !kept.policy().save {
            return Err(DownloadError::Gone);
        }
        let name = FileName::parse(link.name()).map_err(|_| DownloadError::Gone)?;
        let sent = self.export_view(&caller, &kept, &target.query, &name, out);
        sent.map(drop).map_err(|error| match error {
            FollowUpError::Gone(_) => DownloadError::Gone,
            error => DownloadError::Failed(error.to_string()),
        })
    }

    /// Writes a view whole, if the policies of all results that it reads allow it, up to the most bytes of a file.
    fn export_view(
        &self,
        caller: &Caller,
        kept: &KeptResult<'_>,
        query: &Query,
        name: &FileName,
        out: &mut dyn Write,
    ) -> Result<Exported, FollowUpError> {
        let max_bytes = kept.policy().save_max_bytes;
        let mut limited = Limited { out, left: max_bytes, is_over: false };
        let format = ExportFormat::of_file(name.as_str());
        self.with_queries(&self.file_engines, caller, kept, query, |others, engines| {
            for read in std::iter::once(kept).chain(others.kept()) {
                check_allowed(read)?;
            }
            let exported = kept.export(query, format, engines, &mut limited);
            exported.map_err(|error| match error {
                _ if limited.is_over => FollowUpError::Arguments(format!(
                    "the file would have more than {} bytes, the limit (save_max_bytes); ask for less",
                    Bytes(max_bytes)
                )),
                ExportError::View(error) => error.into(),
                error => not_written(&error),
            })
        })
    }
}

fn check_allowed(kept: &KeptResult<'_>) -> Result<(), FollowUpError> {
    match kept.policy().save {
        true => Ok(()),
        false => Err(FollowUpError::Arguments(format!(
            "results of {:?} may not be saved: only tools for which the user's tidegate.toml sets save = true",
            kept.artifact().tool
        ))),
    }
}

/// Returns the error for a file that cannot be written.
fn not_written(error: &(dyn std::error::Error + 'static)) -> FollowUpError {
    FollowUpError::Store(causes(error))
}

/// Says how large a file is: `12,345 bytes, 200 rows, 12 columns.`
fn facts(exported: &Exported) -> String {
    let mut facts = format!("{} bytes", Bytes(exported.bytes));
    if let Some(rows) = exported.rows {
        facts.push_str(&format!(", {} rows", Bytes(rows)));
    }
    if exported.columns.iter().any(|name| !name.is_empty()) {
        facts.push_str(&format!(", {} columns", exported.columns.len()));
    }
    facts.push('.');
    for note in &exported.notes {
        facts.push_str(&format!(" {note}"));
    }
    facts
}

/// What an answer may cost.
struct AnswerText<'a> {
    caller: &'a Caller,
    budget: Budget,
    /// What the fence is made from.
    mark: &'a str,
}

impl AnswerText<'_> {
    /// Returns an answer that names as many columns as fit; `None` if it does not fit without them.
    fn within_budget(&self, head: &str, end: &str, exported: &Exported) -> Option<String> {
        let named = |most: usize| match column_names(&exported.columns, most) {
            Some(names) => fenced(self.mark, &format!("{head} Columns:"), &names, end),
            None => format!("{head} {end}"),
        };
        COLUMNS.into_iter().map(named).find(|text| self.fits(text))
    }

    fn fits(&self, text: &str) -> bool {
        let bytes = reply::text_result(self.caller, text, false).len() as u64;
        self.caller.profile.meter.count(text) <= self.budget.tokens && Bytes(bytes) <= self.budget.bytes
    }
}

/// Writes the names of columns on one line, at most as many as given; `None` if there are none to write.
fn column_names(columns: &[String], most: usize) -> Option<String> {
    let shown = columns.iter().filter(|name| !name.is_empty()).take(most);
    let short = |name: &String| visible::line(&name.chars().take(MAX_COLUMN_CHARS).collect::<String>());
    let names: Vec<String> = shown.map(short).collect();
    if names.is_empty() {
        return None;
    }
    let more = columns.len() - names.len();
    Some(match more {
        0 => names.join(", "),
        more => format!("{}, and {more} more", names.join(", ")),
    })
}

/// A file that has a limit.
struct Limited<'w> {
    out: &'w mut dyn Write,
    left: u64,
    /// Whether more was to be written than the limit.
    is_over: bool,
}

impl Write for Limited<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if bytes.len() as u64 > self.left {
            self.is_over = true;
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        let written = self.out.write(bytes)?;
        self.left -= written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
