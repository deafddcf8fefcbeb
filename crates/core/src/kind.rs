//! Recognises what a text is from its first bytes and a sample of its lines: cheap and deterministic.
//!
//! A wrong guess costs usefulness, never correctness: a text of any kind can be read in the same ways.

use crate::csv;

/// What a text is.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TextKind {
    Empty,
    /// Begins like JSON or a Python literal; only scanning it shows whether it is.
    Json,
    Csv(csv::Format),
    Diff,
    Html,
    /// An accessibility tree: indented lines of role, name and reference.
    Snapshot,
    /// Several files joined, each under a line with its path.
    Files,
    Log,
    Markdown,
    Code,
    Base64,
    Prose,
}

impl TextKind {
    /// Returns the name that reports use.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Empty => "empty",
            Self::Json => "json",
            Self::Csv(_) => "csv",
            Self::Diff => "diff",
            Self::Html => "html",
            Self::Snapshot => "snapshot",
            Self::Files => "files",
            Self::Log => "log",
            Self::Markdown => "markdown",
            Self::Code => "code",
            Self::Base64 => "base64",
            Self::Prose => "prose",
        }
    }
}

/// Returns the kind of a given name; `None` if the text cannot be read as that kind.
pub(crate) fn named(name: &str, head: &str, whole: bool) -> Option<TextKind> {
    Some(match name {
        "json" => TextKind::Json,
        "csv" => TextKind::Csv(csv::recognise(head, whole)?),
        "log" => TextKind::Log,
        "diff" => TextKind::Diff,
        "html" => TextKind::Html,
        "snapshot" => TextKind::Snapshot,
        "markdown" => TextKind::Markdown,
        "code" => TextKind::Code,
        "text" => TextKind::Prose,
        _ => return None,
    })
}

/// How many bytes of a text are examined.
pub(crate) const SAMPLE_BYTES: u64 = 32 * 1024;

/// Recognises a text from its beginning; `whole` says that `head` is the whole text.
pub(crate) fn recognise(head: &str, whole: bool) -> TextKind {
    let trimmed = head.trim_start_matches('\u{feff}').trim_start();
    if trimmed.is_empty() && whole {
        return TextKind::Empty;
    }
    if trimmed.starts_with(['{', '[', '(']) && looks_like_data(trimmed) {
        return TextKind::Json;
    }
    recognise_text(head, whole)
}

/// Recognises a text that is not empty and not JSON from its beginning.
pub(crate) fn recognise_text(head: &str, whole: bool) -> TextKind {
    let trimmed = head.trim_start_matches('\u{feff}').trim_start();
    let sample = Sample::new(head, whole);
    if sample.is_diff() {
        return TextKind::Diff;
    }
    if is_html(trimmed) {
        return TextKind::Html;
    }
    if sample.share(is_snapshot_line) > 0.5 {
        return TextKind::Snapshot;
    }
    if sample.is_files() {
        return TextKind::Files;
    }
    if is_base64(trimmed) {
        return TextKind::Base64;
    }
    if let Some(format) = csv::recognise(head, whole) {
        return TextKind::Csv(format);
    }
    if sample.share(is_log_line) > 0.3 {
        return TextKind::Log;
    }
    let (code, markdown) = (sample.code(), sample.markdown());
    if code > 0.25 && code >= markdown {
        return TextKind::Code;
    }
    if markdown > 0.08 {
        return TextKind::Markdown;
    }
    if sample.is_even() || crate::pattern::LineFields::recognise(head, whole).is_some() {
        return TextKind::Log;
    }
    TextKind::Prose
}

/// Returns whether a bracket at the beginning opens data rather than a line such as `[INFO] starting`.
fn looks_like_data(trimmed: &str) -> bool {
    let inside = trimmed[1..].trim_start();
    match trimmed.as_bytes()[0] {
        b'{' => inside.starts_with(['"', '\'', '}']) || inside.starts_with(|c: char| c.is_ascii_digit()),
        _ => {
            inside.starts_with(['"', '\'', '{', '[', '(', ']', ')', '-'])
                || inside.starts_with(|c: char| c.is_ascii_digit())
                || ["true", "false", "null", "None", "True", "False", "NaN", "Decimal(", "datetime."]
                    .iter()
                    .any(|word| inside.starts_with(word))
        }
    }
}

/// The lines at the beginning of a text that are not blank.
struct Sample<'h> {
    lines: Vec<&'h str>,
}

impl<'h> Sample<'h> {
    fn new(head: &'h str, whole: bool) -> Self {
        let mut lines: Vec<&str> = head.lines().filter(|line| !line.trim().is_empty()).collect();
        if !whole && lines.len() > 1 {
            lines.pop();
        }
        Self { lines }
    }

    fn share(&self, is: impl Fn(&str) -> bool) -> f64 {
        let hits = self.lines.iter().filter(|line| is(line)).count();
        hits as f64 / self.lines.len().max(1) as f64
    }

    fn is_diff(&self) -> bool {
        let starts = |prefix: &str| self.lines.iter().any(|line| line.starts_with(prefix));
        starts("diff --git ") || (starts("--- ") && starts("+++ ") && starts("@@ "))
    }

    /// Returns whether a line with a path and a colon comes first and after a `---`.
    fn is_files(&self) -> bool {
        self.lines.first().is_some_and(|line| is_file_header(line))
            && self.lines.windows(2).any(|pair| pair[0].trim() == "---" && is_file_header(pair[1]))
    }

    fn code(&self) -> f64 {
        self.share(|line| {
            let line = line.trim();
            line.ends_with(['{', '}', ';'])
                || line.starts_with("//")
                || line.starts_with("/*")
                || line.starts_with("* ")
                || (line.ends_with(':')
                    && ["def ", "class ", "if ", "for ", "while ", "else", "try"]
                        .iter()
                        .any(|word| line.starts_with(word)))
                || [
                    "import ",
                    "from ",
                    "return ",
                    "#include",
                    "use ",
                    "package ",
                    "let ",
                    "const ",
                    "var ",
                    "fn ",
                    "func ",
                    "function ",
                    "public ",
                    "private ",
                ]
                .iter()
                .any(|word| line.starts_with(word))
        })
    }

    fn markdown(&self) -> f64 {
        self.share(|line| {
            heading_level(line).is_some()
                || line.starts_with("```")
                || line.starts_with("| ")
                || (line.contains("](") && line.contains('['))
                || line.trim_start().starts_with("- **")
        })
    }

    /// Returns whether most lines have the same number of words, as in a listing.
    fn is_even(&self) -> bool {
        if self.lines.len() < 8 {
            return false;
        }
        let fields = |line: &str| line.split_whitespace().count();
        let lines_with = |count: usize| self.lines.iter().filter(|line| fields(line) == count).count();
        let usual = (1..=12).max_by_key(|&count| lines_with(count)).unwrap_or(1);
        self.share(|line| fields(line) == usual) > 0.7
    }
}

/// Returns whether a line is a path followed by a colon.
pub(crate) fn is_file_header(line: &str) -> bool {
    let Some(path) = line.trim_end().strip_suffix(':') else { return false };
    !path.is_empty()
        && path.len() < 400
        && path.contains(['/', '\\', '.'])
        && !path.contains([' ', '\t', '{', '"'])
}

fn is_html(trimmed: &str) -> bool {
    let head: String = trimmed.chars().take(4000).collect::<String>().to_lowercase();
    head.contains("<!doctype html")
        || head.contains("<html")
        || (head.starts_with('<') && head.contains("</") && head.contains("<body"))
}

/// Returns whether a line is `- role "name" [ref=e12]` or the like.
pub(crate) fn is_snapshot_line(line: &str) -> bool {
    let Some(rest) = line.trim_start().strip_prefix("- ") else {
        return line.trim_start().starts_with("uid=");
    };
    let role: &str = rest.split([' ', ':', '"', '[']).next().unwrap_or("");
    let is_role = !role.is_empty() && role.chars().all(|c| c.is_ascii_lowercase() || c == '/');
    is_role
        && (rest.contains("[ref=")
            || rest.contains(" \"")
            || rest.contains(": ")
            || rest.ends_with(':')
            || rest == role)
}

/// Words that occur in lines of a log.
const LOG_WORDS: &[&str] = &[
    "ERROR", "WARN", "INFO", "DEBUG", "TRACE", "FATAL", "error:", "error[", "warning:", "PASSED", "FAILED",
    "SKIPPED", "note: ", "[error]", "[warn]", "[info]",
];

fn is_log_line(line: &str) -> bool {
    let line = crate::visible::strip_colours(line);
    let line = line.trim_start();
    // The left margin of compiler messages.
    let margin = line.starts_with("--> ")
        || line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start().starts_with("| ")
        || line == "|"
        || line.starts_with("= note");
    margin
        || starts_with_time(line)
        || LOG_WORDS.iter().any(|level| line.contains(level))
        || line.contains("] \"GET ")
        || line.contains("] \"HEAD ")
        || line.contains("] \"POST ")
}

/// Returns whether a line begins with a date or a time of day, perhaps in brackets.
fn starts_with_time(line: &str) -> bool {
    let line = line.trim_start_matches(['[', '(', '<']).as_bytes();
    let digits = |range: std::ops::Range<usize>| {
        line.get(range).is_some_and(|part| part.iter().all(u8::is_ascii_digit))
    };
    let is = |at: usize, byte: u8| line.get(at) == Some(&byte);
    (digits(0..4) && is(4, b'-') && digits(5..7))
        || (digits(0..2) && is(2, b':') && digits(3..5) && is(5, b':'))
        || (digits(0..4) && is(4, b'/') && digits(5..7))
        || (line.len() > 15
            && [
                "Jan ", "Feb ", "Mar ", "Apr ", "May ", "Jun ", "Jul ", "Aug ", "Sep ", "Oct ", "Nov ",
                "Dec ",
            ]
            .iter()
            .any(|month| line.starts_with(month.as_bytes()))
            && digits(7..9))
}

/// Returns the level of a Markdown heading.
pub(crate) fn heading_level(line: &str) -> Option<u8> {
    let level = line.bytes().take_while(|&byte| byte == b'#').count();
    ((1..=6).contains(&level) && line.as_bytes().get(level) == Some(&b' ')).then_some(level as u8)
}

/// Returns whether a text begins with a long run of base64 without spaces.
fn is_base64(trimmed: &str) -> bool {
    let body = trimmed
        .strip_prefix("data:")
        .and_then(|rest| rest.split_once(";base64,"))
        .map_or(trimmed, |(_, body)| body);
    let sample: Vec<u8> = body.bytes().filter(|byte| !matches!(byte, b'\n' | b'\r')).take(4096).collect();
    sample.len() >= 256
        && sample
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_'))
        && sample.iter().any(u8::is_ascii_uppercase)
        && sample.iter().any(u8::is_ascii_digit)
        && sample.iter().any(u8::is_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds() {
        for (text, kind) in [
            ("  \n", "empty"),
            ("[{\"a\":1}]", "json"),
            ("[{'a': None}]", "json"),
            ("[INFO] starting\n[INFO] done\n[ERROR] bad\n", "log"),
            ("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "diff"),
            ("<!DOCTYPE html>\n<html><body>x</body></html>", "html"),
            ("- list [ref=e1]:\n  - listitem [ref=e2]: one\n  - link \"Home\" [ref=e3]\n", "snapshot"),
            ("/a/b.json:\n{}\n\n---\n/a/c.json:\n[]\n", "files"),
            ("a,b,c\n1,2,3\n4,5,6\n", "csv"),
            ("2024-01-02 10:00:00 started\n2024-01-02 10:00:01 stopped\n", "log"),
            ("# Title\n\nWords.\n\n## Part\n\nMore [link](x).\n", "markdown"),
            ("use std::io;\n\nfn main() {\n    let x = 1;\n}\n", "code"),
            (
                "Call me Ishmael. Some years ago I thought\nI would sail about a little and see the\nwatery part of the world.",
                "prose",
            ),
        ] {
            assert_eq!(recognise(text, true).name(), kind, "{text:?}");
        }
    }
}
