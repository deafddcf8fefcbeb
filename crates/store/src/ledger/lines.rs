//! The ledger as JSON lines, for programs without a database: a file for each month, `calls-2026-11.jsonl`.
//!
//! Each batch of calls is appended to its file at once, under a lock, so that several processes can share a folder. A
//! process that is killed while it writes leaves a line without an end; the next batch ends it, and reading skips it.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::queue::CallQueue;
use super::{Call, Ledger, RETENTION};
use crate::clock::{Clock, Millis, SystemClock};
use crate::error::StoreError;
use crate::files::{lock_within, read_at};
use crate::home::{prepare_folder, private_options};

/// How long a batch waits for another process that writes.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// A ledger of JSON lines in a folder.
pub struct LineLedger {
    queue: CallQueue,
    folder: PathBuf,
}

impl LineLedger {
    /// Opens the ledger in a folder, and creates the folder and the file of this month if there is none.
    ///
    /// # Errors
    ///
    /// The folder or the file cannot be created or written.
    pub fn open(folder: &Path) -> Result<Self, StoreError> {
        prepare_folder(folder)?;
        open_month(folder, &month(SystemClock.now()))?;
        let to = folder.to_owned();
        let queue = CallQueue::start(move |calls| drop(append(&to, calls)))?;
        Ok(Self { queue, folder: folder.to_owned() })
    }
}

impl Ledger for LineLedger {
    fn note(&self, call: Call) {
        self.queue.push(call);
    }

    fn calls(&self, since: Millis, limit: usize) -> Result<Vec<Call>, StoreError> {
        self.queue.flush();
        let mut calls = Vec::new();
        read_lines(&self.folder, since, &mut |call| {
            if calls.len() < limit {
                calls.push(call);
            }
        })?;
        Ok(calls)
    }

    fn flush(&self) {
        self.queue.flush();
    }
}

/// Reads the calls since a time from the lines in a folder, oldest first, and returns how many lines were skipped because
/// they are damaged: a process that was killed leaves at most one.
///
/// Nothing is written. A folder without such files, or one that does not exist, has no calls.
///
/// # Errors
///
/// The folder or a file cannot be read.
pub fn read_lines(folder: &Path, since: Millis, each: &mut dyn FnMut(Call)) -> Result<u64, StoreError> {
    let mut skipped = 0;
    for (_, path) in months(folder)?.into_iter().filter(|(of, _)| *of >= month(since)) {
        skipped += read_file(&path, since, each)?;
    }
    Ok(skipped)
}

/// Reads one file. Batches of several processes are not in order, so the lines are sorted before they are read again:
/// the calls of a month need not fit in memory.
fn read_file(path: &Path, since: Millis, each: &mut dyn FnMut(Call)) -> Result<u64, StoreError> {
    let file = File::open(path)?;
    let (mut order, mut skipped, mut offset) = (Vec::new(), 0, 0);
    let (mut reader, mut line) = (BufReader::new(&file), Vec::new());
    while reader.read_until(b'\n', &mut line)? > 0 {
        match serde_json::from_slice::<Call>(&line) {
            Ok(call) if call.at >= since => order.push((call.at, offset, line.len())),
            Ok(_) => {}
            Err(_) => skipped += 1,
        }
        offset += line.len() as u64;
        line.clear();
    }
    order.sort_unstable();
    for (_, offset, length) in order {
        let line = read_at(&file, offset, length)?;
        each(serde_json::from_slice(&line).map_err(io::Error::from)?);
    }
    Ok(skipped)
}

/// Appends calls to the files of their months, and deletes months that are too old.
fn append(folder: &Path, calls: &[Call]) -> Result<(), StoreError> {
    for calls in calls.chunk_by(|one, next| month(one.at) == month(next.at)) {
        let mut lines = Vec::new();
        for call in calls {
            serde_json::to_writer(&mut lines, call).map_err(io::Error::from)?;
            lines.push(b'\n');
        }
        let mut file = open_month(folder, &month(calls[0].at))?;
        lock_within(&file, LOCK_TIMEOUT)?;
        let length = file.metadata()?.len();
        if length > 0 && read_at(&file, length - 1, 1)? != b"\n" {
            lines.insert(0, b'\n');
        }
        file.write_all(&lines)?;
    }
    let Some(newest) = calls.iter().map(|call| call.at).max() else { return Ok(()) };
    let oldest = month(newest.before(RETENTION));
    for (_, path) in months(folder)?.into_iter().filter(|(of, _)| *of < oldest) {
        fs::remove_file(path)?;
    }
    Ok(())
}

fn open_month(folder: &Path, month: &str) -> io::Result<File> {
    let path = folder.join(format!("calls-{month}.jsonl"));
    private_options().read(true).append(true).create(true).open(path)
}

/// Returns the month of a time in UTC: `2026-11`.
fn month(time: Millis) -> String {
    let mut day = time.day();
    day.truncate("2026-11".len());
    day
}

/// Returns the months that have a file, oldest first.
fn months(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let files = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files?,
    };
    let mut months = Vec::new();
    for file in files {
        let path = file?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let month = name.strip_prefix("calls-").and_then(|rest| rest.strip_suffix(".jsonl"));
        if let Some(month) = month.filter(|month| Millis::parse(&format!("{month}-01")).is_some()) {
            months.push((month.to_owned(), path));
        }
    }
    months.sort_unstable();
    Ok(months)
}
