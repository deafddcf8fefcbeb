//! Hits of a search and messages of a compiler: `path:line:text`, `path:line:column: text`, `path(line,column): text`,
//! or lines of `line:text` under a line with the path.
//!
//! Each hit is a record with its file, its line, its column and its text; where most texts begin with a level such as
//! `error`, the level and the code of the rule are members of their own; where the files are in several folders, it
//! also names the folder, which is the first step in which the paths differ.

use std::io;

use super::Begun;
use super::line_writer::{RecordLineWriter, RecordLines};
use super::window::scan;
use crate::json::string;
use crate::pattern::OtherLines;
use crate::sample::Sample;
use crate::text::Text;
use crate::visible::strip_colours;

/// The minimum number of hits.
const MIN_HITS: usize = 3;

/// One hit.
#[derive(Debug, PartialEq)]
struct Hit<'l> {
    file: &'l str,
    line: &'l str,
    column: Option<&'l str>,
    text: &'l str,
}

pub(super) fn recognise(sample: &Sample<'_>) -> bool {
    let end = if sample.whole { sample.head.len() } else { sample.head.rfind('\n').unwrap_or(0) };
    let mut summary = Summary::default();
    summary.read(&sample.head[..end]);
    summary.end();
    summary.is_mostly_hits()
}

pub(super) fn begin(text: &Text<'_>, start: u64) -> io::Result<Option<Begun>> {
    let mut summary = Summary::default();
    scan(text, start, |window| {
        let lines = window.lines();
        summary.read(lines);
        Some(lines.len())
    })?;
    summary.end();
    if !summary.is_mostly_hits() {
        return Ok(None);
    }
    let hits = Hits {
        heading: Heading::default(),
        common: summary.common,
        in_folders: summary.in_folders,
        has_levels: summary.leveled * 2 > summary.hits,
    };
    Ok(Some((Box::new(RecordLineWriter::new(hits, ",")), summary.others)))
}

/// What is known of all hits before the first is written.
#[derive(Default)]
struct Summary {
    heading: Heading,
    number: u64,
    hits: usize,
    others: OtherLines,
    /// How many texts begin with a level.
    leveled: usize,
    first_file: String,
    /// How many bytes of all paths are the folder that all of them are in.
    common: usize,
    /// Whether the files are in several folders.
    in_folders: bool,
}

impl Summary {
    fn read(&mut self, lines: &str) {
        for line in lines.lines() {
            self.number += 1;
            let line = strip_colours(line);
            let (number, mut heading) = (self.number, std::mem::take(&mut self.heading));
            let hit =
                heading.hit(number, line.trim_end(), &mut |number, line| self.others.push(number, line));
            if let Some(hit) = hit {
                self.add(&hit);
            }
            self.heading = heading;
        }
    }

    fn end(&mut self) {
        if let Some((number, path)) = self.heading.take_unused() {
            self.others.push(number, &path);
        }
    }

    fn add(&mut self, hit: &Hit<'_>) {
        self.hits += 1;
        self.leveled += usize::from(level(hit.text).is_some());
        if self.hits == 1 {
            self.first_file = hit.file.to_owned();
            self.common = hit.file.rfind(['/', '\\']).map_or(0, |at| at + 1);
        }
        let first = &self.first_file;
        let same = hit.file.bytes().zip(first.bytes()).take_while(|(one, two)| one == two).count();
        if same < self.common {
            // The first file and this one are in different folders of what they have in common.
            self.common = first[..same].rfind(['/', '\\']).map_or(0, |at| at + 1);
            self.in_folders = true;
        }
        self.in_folders |= folder(hit.file, self.common) != folder(first, self.common);
    }

    fn is_mostly_hits(&self) -> bool {
        is_mostly_hits(self.hits, self.others.count as usize)
    }
}

/// Reads hits whose summary is known.
#[derive(Clone)]
struct Hits {
    heading: Heading,
    common: usize,
    in_folders: bool,
    has_levels: bool,
}

impl RecordLines for Hits {
    fn write(&mut self, number: u64, line: &str, json: &mut String) -> bool {
        let line = strip_colours(line);
        let mut heading = std::mem::take(&mut self.heading);
        let hit = heading.hit(number, line.trim_end(), &mut |_, _| {});
        let is_hit = hit.is_some();
        if let Some(hit) = hit {
            self.write_hit(&hit, json);
        }
        self.heading = heading;
        is_hit
    }
}

impl Hits {
    fn write_hit(&self, hit: &Hit<'_>, json: &mut String) {
        json.push_str("{\"file\":");
        string::write(hit.file, json);
        json.push_str(&format!(",\"line\":{}", hit.line));
        if let Some(column) = &hit.column {
            json.push_str(&format!(",\"column\":{column}"));
        }
        let leveled = level(hit.text).filter(|_| self.has_levels);
        let (code, text) = leveled.map_or((None, hit.text), |(_, rest)| code(rest));
        let folder = folder(hit.file, self.common).filter(|_| self.in_folders);
        let members = [
            ("level", leveled.map(|(level, _)| level)),
            ("code", code),
            ("text", Some(text)),
            ("folder", folder),
        ];
        for (name, value) in members {
            let Some(value) = value else { continue };
            json.push_str(&format!(",\"{name}\":"));
            string::write(value, json);
        }
        json.push('}');
    }
}

fn is_mostly_hits(hits: usize, others: usize) -> bool {
    hits >= MIN_HITS && hits * 2 > others * 3
}

/// The path above hits that do not name it.
#[derive(Debug, Clone, Default)]
struct Heading {
    /// The number of its line, and the path.
    path: Option<(u64, String)>,
    /// Whether there was a hit under it.
    is_used: bool,
}

impl Heading {
    /// Reads a line; `other` is given the lines that turn out to be neither hits nor paths above hits.
    fn hit<'l>(
        &'l mut self,
        number: u64,
        line: &'l str,
        other: &mut dyn FnMut(u64, &str),
    ) -> Option<Hit<'l>> {
        if line.is_empty() {
            return None;
        }
        if let Some(hit) = hit(line) {
            return Some(hit);
        }
        let is_under = self.path.as_ref().is_some_and(|(_, file)| under_heading(file, line).is_some());
        if is_under {
            self.is_used = true;
            return self.path.as_ref().and_then(|(_, file)| under_heading(file, line));
        }
        if let Some((number, unused)) = self.take_unused() {
            other(number, &unused);
        }
        if is_path(line) {
            *self = Self { path: Some((number, line.to_owned())), is_used: false };
        } else if line != "--" {
            other(number, line);
        }
        None
    }

    /// Takes a path under which there was no hit.
    fn take_unused(&mut self) -> Option<(u64, String)> {
        self.path.take_if(|_| !self.is_used)
    }
}

/// Reads `path:line:text`, `path:line:column: text` or `path(line,column): text`.
fn hit(line: &str) -> Option<Hit<'_>> {
    // A colon may follow the letter of a drive.
    let drive = line.as_bytes().get(1) == Some(&b':') && matches!(line.as_bytes().get(2), Some(b'\\' | b'/'));
    let from = if drive { 2 } else { 0 };
    let end = from + line[from..].find([':', '('])?;
    let path = &line[..end];
    if !is_path(path) {
        return None;
    }
    let place = &line[end + 1..];
    if line.as_bytes()[end] == b'(' {
        let (place, text) = place.split_once("):")?;
        let (number, column) = match place.split_once(',') {
            Some((number, column)) => (number, Some(column)),
            None => (place, None),
        };
        return new_hit(path, number, column, text.trim());
    }
    let (number, rest) = place.split_once(':')?;
    match rest.split_once(':') {
        Some((column, text)) if is_count(column) => new_hit(path, number, Some(column), text.trim_start()),
        _ => new_hit(path, number, None, rest),
    }
}

/// Reads `line:text` or `line:column:text` of a file.
fn under_heading<'l>(file: &'l str, line: &'l str) -> Option<Hit<'l>> {
    let (number, rest) = line.trim_start().split_once(':')?;
    // Linters put spaces after the column.
    match rest.split_once([':', ' ']) {
        Some((column, text)) if is_count(column) => new_hit(file, number, Some(column), text.trim_start()),
        _ => new_hit(file, number, None, rest),
    }
}

/// Words that begin a message and say how severe it is.
const LEVELS: &[&str] =
    &["fatal error", "error", "warning", "note", "info", "hint", "style", "convention", "refactor"];

/// Splits a message into its level and the rest.
fn level(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    let level = LEVELS
        .iter()
        .find(|level| text.get(..level.len()).is_some_and(|word| word.eq_ignore_ascii_case(level)))?;
    let rest = &text[level.len()..];
    rest.starts_with([':', ' ', '[', '('])
        .then(|| (&text[..level.len()], rest.trim_start_matches([':', ' '])))
}

/// Splits a message into the code of the rule that it is about, if it names one, and the rest.
fn code(text: &str) -> (Option<&str>, &str) {
    let is_code = |code: &str| !code.is_empty() && code.len() <= 60 && !code.contains(char::is_whitespace);
    // `msg [code]`, `[code]: msg`, `msg  code`, `CODE12: msg`
    if let Some((message, code)) = text.strip_suffix(']').and_then(|text| text.rsplit_once(" ["))
        && is_code(code)
    {
        return (Some(code), message.trim_end());
    }
    if let Some((code, message)) = text.strip_prefix('[').and_then(|text| text.split_once("]:"))
        && is_code(code)
    {
        return (Some(code), message.trim_start());
    }
    if let Some((message, code)) = text.rsplit_once("  ")
        && is_code(code)
    {
        return (Some(code), message.trim_end());
    }
    let numbered = |code: &str| {
        code.starts_with(|c: char| c.is_ascii_uppercase()) && code.ends_with(|c: char| c.is_ascii_digit())
    };
    match text.split_once(':').filter(|(code, _)| is_code(code) && numbered(code)) {
        Some((code, message)) => (Some(code), message.trim_start()),
        None => (None, text),
    }
}

fn new_hit<'l>(file: &'l str, line: &'l str, column: Option<&'l str>, text: &'l str) -> Option<Hit<'l>> {
    let counts = is_count(line) && column.is_none_or(is_count);
    counts.then_some(Hit { file, line, column, text })
}

/// Returns whether a text is a number of lines or columns as JSON writes it.
fn is_count(text: &str) -> bool {
    (1..=9).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_digit())
        && (text.len() == 1 || !text.starts_with('0'))
}

/// Returns whether a text can be the path of a file: it has a folder or an extension, and no host or sentence has its
/// form.
fn is_path(text: &str) -> bool {
    let name = text.rsplit(['/', '\\']).next().unwrap_or(text);
    let extension = name.rsplit_once('.').is_some_and(|(stem, extension)| {
        (1..=8).contains(&extension.len())
            && extension.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && extension.bytes().any(|byte| byte.is_ascii_alphabetic())
            && (name.len() < text.len() || !stem.contains('.') || text.starts_with('.'))
    });
    let has_folder = name.len() < text.len() && !text.contains("://");
    !name.is_empty()
        && text.len() < 500
        && (extension || has_folder)
        && !text.starts_with([' ', '\t', '#', '<', '"', '(', '['])
        && !text.contains(['"', '<', '>', '|', '*', '\t', '{', ';', '='])
        && (!text.contains(' ') || has_folder && extension)
}

/// Returns the first folder of a path below the common one.
fn folder(file: &str, common: usize) -> Option<&str> {
    let rest = file.get(common..)?;
    rest.find(['/', '\\']).map(|end| &rest[..end])
}

#[cfg(test)]
mod tests {
    use crate::translation::Translation;
    use crate::translation::tests::translate;

    fn json(text: &str) -> String {
        translate(Translation::Hits, text).map_or_else(|| "none".into(), |(json, _)| json)
    }

    #[test]
    fn hits_of_every_producer() {
        assert_eq!(
            json("/p/src/a.rs:3:  let x: u8 = 1;\n/p/src/b.rs:14:// TODO: y\n/p/tests/c.rs:2:x\n"),
            r#"[{"file":"/p/src/a.rs","line":3,"text":"  let x: u8 = 1;","folder":"src"},{"file":"/p/src/b.rs","line":14,"text":"// TODO: y","folder":"src"},{"file":"/p/tests/c.rs","line":2,"text":"x","folder":"tests"}]"#
        );
        assert_eq!(
            json("src/a.c:3:7: error: no x\nsrc/a.c:4:1: warning: no y [-Wy]\nsrc/b.c:4: note: z\n"),
            r#"[{"file":"src/a.c","line":3,"column":7,"level":"error","text":"no x"},{"file":"src/a.c","line":4,"column":1,"level":"warning","code":"-Wy","text":"no y"},{"file":"src/b.c","line":4,"level":"note","text":"z"}]"#
        );
        assert_eq!(
            json("C:\\w\\a.ts(3,7): error TS1: x\nC:\\w\\a.ts(4): y\nC:\\w\\b.ts(5,1): z\n"),
            r#"[{"file":"C:\\w\\a.ts","line":3,"column":7,"text":"error TS1: x"},{"file":"C:\\w\\a.ts","line":4,"text":"y"},{"file":"C:\\w\\b.ts","line":5,"column":1,"text":"z"}]"#
        );
        assert_eq!(
            json(
                "\n/p/a.js\n  33:3  warning  Unexpected var  no-var\n  34:8  error  Is  not  ok\n\n/p/b.js\n  1:1  warning  x  y\n"
            ),
            r#"[{"file":"/p/a.js","line":33,"column":3,"level":"warning","code":"no-var","text":"Unexpected var"},{"file":"/p/a.js","line":34,"column":8,"level":"error","code":"ok","text":"Is  not"},{"file":"/p/b.js","line":1,"column":1,"level":"warning","code":"y","text":"x"}]"#
        );
        assert_eq!(
            json("src/a.rs\n3:one\n17:two\n\nMakefile.am\n4:three\n"),
            r#"[{"file":"src/a.rs","line":3,"text":"one","folder":"src"},{"file":"src/a.rs","line":17,"text":"two","folder":"src"},{"file":"Makefile.am","line":4,"text":"three"}]"#
        );
    }

    #[test]
    fn other_lines_are_counted() {
        let text = "Found:\na.py:1:x\na.py:2:x\na.py:3:x\n--\na.py:9:x\na.py-10-context\n";
        let (_, others) = translate(Translation::Hits, text).unwrap();
        assert_eq!(others.lines, [(1, "Found:".to_owned()), (7, "a.py-10-context".to_owned())]);
    }

    #[test]
    fn other_texts_are_not_hits() {
        for text in [
            "10:00:01 start\n10:00:02 stop\n10:00:03 start\n",
            "10.0.0.1:8080: up\n10.0.0.2:8080: up\n10.0.0.3:8080: up\n",
            "localhost:80:x\nlocalhost:81:x\nlocalhost:82:x\n",
            "key: 1: one\nother: 2: two\nthird: 3: three\n",
            "http://a.b/c:1:x\nhttp://a.b/c:2:x\nhttp://a.b/c:3:x\n",
            "a/b.c\nd/e.f\ng/h.i\n",
            "root:x:0:0:root:/root:/bin/bash\nbin:x:1:1:bin:/bin:/bin/sh\nsys:x:2:2:sys:/:/bin/sh\n",
        ] {
            assert_eq!(json(text), "none", "{text}");
        }
    }
}
