//! Listings of folders with details, as `ls -l` prints them, also for folders in folders (`ls -lR`).
//!
//! ```text
//! ./src:
//! total 84
//! -rw-r--r-- 1 root root  603 2026-11-16 15:59 main.rs
//! lrwxrwxrwx 1 root root    7 Nov 16 15:59 lib -> lib.so.1
//! ```
//!
//! Each entry is a record with the folder above it. The size of a folder is that of its own entry on the disk, which is
//! not part of the sum that a reader asks for, so it has a column of its own.

use std::io;

use super::Begun;
use super::line_writer::{RecordLineWriter, RecordLines};
use super::typed::is_number;
use super::window::scan;
use crate::json::string;
use crate::pattern::OtherLines;
use crate::sample::Sample;
use crate::text::Text;

/// The minimum number of entries of a listing.
const MIN_ENTRIES: usize = 3;

pub(super) fn recognise(sample: &Sample<'_>) -> bool {
    let entries = sample.lines.iter().filter(|line| Entry::read(line).is_some()).count();
    entries >= MIN_ENTRIES && sample.share(|line| Entry::read(line).is_some() || is_frame(line)) > 0.9
}

pub(super) fn begin(text: &Text<'_>, start: u64) -> io::Result<Option<Begun>> {
    let (mut others, mut number, mut count, mut has_folders) = (OtherLines::default(), 0, 0, false);
    scan(text, start, |window| {
        let lines = window.lines();
        for line in lines.lines() {
            number += 1;
            if Entry::read(line).is_some() {
                count += 1;
            } else if heading(line).is_some() {
                has_folders = true;
            } else if !is_frame(line) {
                others.push(number, line);
            }
        }
        Some(lines.len())
    })?;
    let entries = Entries { has_folders, folder: None };
    Ok((count >= MIN_ENTRIES).then(|| (Box::new(RecordLineWriter::new(entries, ",\n")) as Box<_>, others)))
}

/// Reads the entries of a listing.
#[derive(Clone)]
struct Entries {
    /// Whether entries name their folder.
    has_folders: bool,
    folder: Option<String>,
}

impl RecordLines for Entries {
    fn write(&mut self, _number: u64, line: &str, json: &mut String) -> bool {
        let entry = Entry::read(line);
        match &entry {
            Some(entry) => entry.write(self.folder.as_deref(), json),
            None if self.has_folders => {
                if let Some(path) = heading(line) {
                    self.folder = Some(path.to_owned());
                }
            }
            None => {}
        }
        entry.is_some()
    }
}

/// Returns whether a line belongs to a listing without being an entry: a folder, its total, a blank line.
fn is_frame(line: &str) -> bool {
    let line = line.trim();
    let is_total =
        line.strip_prefix("total ").is_some_and(|size| size.starts_with(|c: char| c.is_ascii_digit()));
    line.is_empty() || is_total || heading(line).is_some()
}

/// Returns the folder that a line names, whose entries follow.
fn heading(line: &str) -> Option<&str> {
    let path = line.trim_end().strip_suffix(':')?;
    (!path.is_empty() && Entry::read(line).is_none()).then_some(path)
}

/// One entry of a listing.
#[derive(Debug, PartialEq)]
struct Entry<'l> {
    mode: &'l str,
    links: &'l str,
    owner: &'l str,
    group: &'l str,
    size: &'l str,
    time: &'l str,
    name: &'l str,
    target: Option<&'l str>,
}

impl<'l> Entry<'l> {
    fn read(line: &'l str) -> Option<Self> {
        let (mode, rest) = word(line)?;
        let kind_and_rights = mode.trim_end_matches(['.', '+', '@']).as_bytes();
        let is_mode = kind_and_rights.len() == 10
            && b"-dlbcps".contains(&kind_and_rights[0])
            && kind_and_rights[1..].iter().all(|byte| b"rwxsStT-".contains(byte));
        if !is_mode {
            return None;
        }
        let (links, rest) = word(rest)?;
        let (owner, rest) = word(rest)?;
        let (group, rest) = word(rest)?;
        let (size, rest) = size(rest)?;
        let (time, name) = time(rest)?;
        let (name, target) = match name.split_once(" -> ").filter(|_| mode.starts_with('l')) {
            Some((name, target)) => (name, Some(target)),
            None => (name, None),
        };
        let is_counted = links.bytes().all(|byte| byte.is_ascii_digit());
        (is_counted && !name.is_empty()).then_some(Self {
            mode,
            links,
            owner,
            group,
            size,
            time,
            name,
            target,
        })
    }

    fn kind(&self) -> &'static str {
        match self.mode.as_bytes()[0] {
            b'd' => "directory",
            b'l' => "link",
            b'-' => "file",
            b'p' => "pipe",
            b's' => "socket",
            _ => "device",
        }
    }

    /// Writes the entry as a JSON object.
    fn write(&self, folder: Option<&str>, out: &mut String) {
        let size = if self.kind() == "directory" { "directory_size" } else { "size" };
        out.push('{');
        let members = [
            ("name", Some(self.name)),
            ("folder", folder),
            ("type", Some(self.kind())),
            (size, Some(self.size)),
            ("time", Some(self.time)),
            ("mode", Some(self.mode)),
            ("links", Some(self.links)),
            ("owner", Some(self.owner)),
            ("group", Some(self.group)),
            ("target", self.target),
        ];
        let members = members.into_iter().filter_map(|(key, value)| Some((key, value?)));
        for (at, (key, value)) in members.enumerate() {
            out.push_str(if at == 0 { "\"" } else { ",\"" });
            out.push_str(key);
            out.push_str("\":");
            let is_figure = key.ends_with("size") || key == "links";
            if is_figure && is_number(value) { out.push_str(value) } else { string::write(value, out) }
        }
        out.push('}');
    }
}

/// Splits off the first word.
fn word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let end = text.find(' ')?;
    Some((&text[..end], &text[end..]))
}

/// Splits off a size; a device has two numbers instead: `8, 1`.
fn size(text: &str) -> Option<(&str, &str)> {
    let (first, rest) = word(text)?;
    let is_size = first.starts_with(|c: char| c.is_ascii_digit());
    match first.ends_with(',') {
        true => {
            let (second, rest) = word(rest)?;
            let start = text.len() - text.trim_start().len();
            let end = text.len() - rest.len();
            (is_size && second.starts_with(|c: char| c.is_ascii_digit())).then(|| (&text[start..end], rest))
        }
        false => is_size.then_some((first, rest)),
    }
}

/// Splits off a time: `2026-11-16 15:59`, `2026-11-16 15:59:01.5 +0100`, `Nov 16 15:59`, `16 Nov 2025`.
fn time(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let words: Vec<&str> = text.split_whitespace().take(4).collect();
    let is_date = |word: &str| word.len() == 10 && word.as_bytes()[4] == b'-';
    let is_zone = |word: &&str| {
        word.len() == 5 && word.starts_with(['+', '-']) && word[1..].bytes().all(|b| b.is_ascii_digit())
    };
    let count = match words.first()? {
        date if is_date(date) => 2 + usize::from(words.get(2).is_some_and(is_zone)),
        _ => 3,
    };
    let mut rest = text;
    for _ in 0..count {
        rest = word(rest)?.1;
    }
    // One space is before the name, which may begin with others.
    Some((text[..text.len() - rest.len()].trim_end(), &rest[1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translation::Translation;
    use crate::translation::tests::translate;

    #[test]
    fn entries_of_many_kinds() {
        for (line, kind, size, time, name) in [
            (
                "-rw-r--r-- 1 root root  603 2026-11-16 15:59 a b.rs",
                "file",
                "603",
                "2026-11-16 15:59",
                "a b.rs",
            ),
            ("drwxr-xr-x. 12 a staff 4.0K Nov 16 15:59 src", "directory", "4.0K", "Nov 16 15:59", "src"),
            ("lrwxrwxrwx 1 a b 7 Jan  2  2025 lib -> lib.so.1", "link", "7", "Jan  2  2025", "lib"),
            ("brw-rw---- 1 root disk 8, 1 Jan  2 10:00 sda1", "device", "8, 1", "Jan  2 10:00", "sda1"),
            (
                "-rw-r--r-- 1 0 0 1 2026-11-16 15:59:01.5 +0100 x",
                "file",
                "1",
                "2026-11-16 15:59:01.5 +0100",
                "x",
            ),
        ] {
            let entry = Entry::read(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((entry.kind(), entry.size, entry.time, entry.name), (kind, size, time, name));
        }
        for line in ["total 84", "./src:", "-rw-r--r-- 1 root", "a b c d e f g h i", ""] {
            assert_eq!(Entry::read(line), None, "{line}");
        }
    }

    #[test]
    fn each_entry_has_its_folder() {
        let rows = "-rw-r--r-- 1 a b 5 Jan  2 10:00 x\ndrwxr-xr-x 2 a b 4096 Jan  2 10:00 d\n";
        let (json, others) = translate(
            Translation::Listing,
            &format!(".:\ntotal 8\n{rows}\n./d e:\ntotal 4\n{rows}ls: no access\n"),
        )
        .unwrap();
        assert!(json.starts_with(r#"[{"name":"x","folder":".","type":"file","size":5,"#), "{json}");
        assert!(json.contains(r#""folder":"./d e","type":"directory","directory_size":4096,"#), "{json}");
        assert_eq!(others.lines, [(10, "ls: no access".to_owned())]);
        let (json, _) = translate(Translation::Listing, &rows.repeat(2)).unwrap();
        assert!(!json.contains("folder"), "{json}");
    }
}
