//! Gathers stack traces: what was thrown, where in the program's own code, and how often.
//!
//! A trace is a run of frames. Most languages write what was thrown before them, innermost frame first; Python writes it
//! after them, innermost frame last. Equal traces are counted once.

use super::place;
use super::test_report::is_library;
use crate::hash;
use crate::shape::draft::Draft;
use crate::{visible, write};

/// The stack traces of a text.
#[derive(Debug, Default)]
pub(crate) struct StackTraces {
    traces: Vec<Trace>,
    total: u64,
    open: Option<OpenTrace>,
    /// The last line that is not blank, with its number: it tells what was thrown if a frame follows.
    previous: (u64, String),
}

#[derive(Debug)]
struct Trace {
    hash: u64,
    count: u64,
    line: u64,
    last: u64,
    text: String,
}

/// A trace whose frames are being read.
#[derive(Debug)]
struct OpenTrace {
    line: u64,
    /// What was thrown; empty as long as it is not known.
    thrown: String,
    /// Whether what was thrown comes after the frames.
    thrown_last: bool,
    indentation: usize,
    frames: u64,
    /// The innermost frame of the program's own code, and the innermost of all.
    own: String,
    innermost: String,
    cause: String,
}

const MAX_TRACES: usize = 256;

impl StackTraces {
    /// Reads a line without colours that is not blank; returns whether it is part of a trace.
    pub(crate) fn add(&mut self, number: u64, line: &str) -> bool {
        let trimmed = line.trim();
        let taken = match &mut self.open {
            Some(open) => open.add(line, trimmed),
            None => Step::Ended,
        };
        let taken = match taken {
            Step::Taken => true,
            Step::Last => {
                self.close();
                true
            }
            Step::Ended => {
                self.close();
                self.open = self.begin(number, line, trimmed);
                self.open.is_some()
            }
        };
        if !taken {
            self.previous.0 = number;
            self.previous.1.clear();
            self.previous.1.push_str(trimmed.get(..400).unwrap_or(trimmed));
        }
        taken
    }

    /// Returns whether a line is a frame of a trace.
    pub(crate) fn is_frame(line: &str) -> bool {
        is_frame(line, line.trim())
    }

    fn begin(&mut self, number: u64, line: &str, trimmed: &str) -> Option<OpenTrace> {
        let indentation = line.len() - line.trim_start().len();
        let open = |line: u64, thrown: &str, thrown_last: bool| OpenTrace {
            line,
            thrown: thrown.to_owned(),
            thrown_last,
            indentation,
            frames: 0,
            own: String::new(),
            innermost: String::new(),
            cause: String::new(),
        };
        if trimmed.ends_with("Traceback (most recent call last):") {
            return Some(open(number, "", true));
        }
        if trimmed.starts_with("panic: ") || trimmed.starts_with("fatal error: ") || is_rust_panic(trimmed) {
            return Some(open(number, trimmed, false));
        }
        if !is_frame(line, trimmed) {
            return None;
        }
        let (at, thrown) = std::mem::take(&mut self.previous);
        let is_near = at > 0 && number - at <= 2 && !thrown.is_empty();
        let mut trace = open(if is_near { at } else { number }, if is_near { &thrown } else { "" }, false);
        trace.add_frame(trimmed);
        Some(trace)
    }

    fn close(&mut self) {
        let Some(open) = self.open.take() else { return };
        let worth = open.frames >= 2
            || open.frames >= 1 && !open.thrown.is_empty()
            || is_rust_panic(&open.thrown)
            || open.thrown.starts_with("panic: ");
        if !worth {
            return;
        }
        self.total += 1;
        let text = open.text();
        // Traces that differ in numbers and addresses only are one.
        let letters: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_digit()).collect();
        let hash = hash::bytes(&letters);
        if let Some(known) = self.traces.iter_mut().find(|known| known.hash == hash) {
            (known.count, known.last) = (known.count + 1, open.line);
        } else if self.traces.len() < MAX_TRACES {
            self.traces.push(Trace { hash, count: 1, line: open.line, last: open.line, text });
        }
    }

    /// Closes the last trace of the text.
    pub(crate) fn finish(&mut self) {
        self.close();
    }

    /// Returns the numbers of the lines with which the traces begin.
    pub(crate) fn lines(&self) -> Vec<u64> {
        self.traces.iter().map(|trace| trace.line).collect()
    }

    /// Returns whether the text has stack traces.
    pub(crate) fn is_found(&self) -> bool {
        self.total > 0
    }

    /// Writes each trace once, the most frequent first; returns whether any was written.
    pub(crate) fn write(&self, draft: &mut Draft<'_>, section: usize) -> bool {
        if !self.is_found() || !draft.writer.push(section, "stack traces:") {
            return false;
        }
        let mut traces: Vec<&Trace> = self.traces.iter().collect();
        traces.sort_by_key(|trace| (std::cmp::Reverse(trace.count), trace.line));
        let mut shown = 0;
        for trace in &traces {
            let times = if trace.count > 1 {
                format!(" to L{}, {} times:", trace.last, trace.count)
            } else {
                String::new()
            };
            if draft.writer.push(section, format!("L{}{times} {}", trace.line, trace.text)) {
                shown += 1;
                draft.lines.insert(trace.line);
            }
        }
        if shown == 0 {
            draft.writer.pop(section);
            return false;
        }
        let different = match self.traces.len() {
            MAX_TRACES => format!("{shown} of the first {MAX_TRACES} different ones"),
            all if shown == all => write::plural(all as u64, "different one"),
            all => format!("{shown} of {all} different ones"),
        };
        draft.writer.replace_first(section, format!("stack traces, {} in all, {different}:", self.total));
        true
    }
}

/// What a line is to an open trace.
enum Step {
    /// A part of it.
    Taken,
    /// Its last line.
    Last,
    /// No part of it.
    Ended,
}

impl OpenTrace {
    fn add(&mut self, line: &str, trimmed: &str) -> Step {
        if is_frame(line, trimmed) || self.frames > 0 && is_numbered_frame(trimmed) {
            self.add_frame(trimmed);
            return Step::Taken;
        }
        let indentation = line.len() - line.trim_start().len();
        if self.thrown_last {
            // The source line of a frame is indented further than the line that tells what was thrown.
            if indentation > self.indentation {
                return Step::Taken;
            }
            self.thrown = trimmed.to_owned();
            return Step::Last;
        }
        if let Some(cause) = trimmed.strip_prefix("Caused by: ") {
            self.cause = cause.to_owned();
            return Step::Taken;
        }
        let between = trimmed.starts_with("... ")
            || trimmed.starts_with("goroutine ")
            || trimmed.starts_with("created by ")
            || trimmed.starts_with("Suppressed: ")
            || trimmed.starts_with("--- End of ")
            || trimmed == "stack backtrace:"
            || trimmed.starts_with("[signal ");
        if between || is_numbered_frame(trimmed) || self.is_go() && trimmed.ends_with(')') {
            return Step::Taken;
        }
        if self.frames == 0 && is_rust_panic(&self.thrown) && self.thrown.ends_with(':') {
            self.thrown = format!("{} {trimmed}", self.thrown);
            return Step::Taken;
        }
        Step::Ended
    }

    fn is_go(&self) -> bool {
        self.thrown.starts_with("panic: ")
            || self.thrown.starts_with("fatal error: ")
            || self.thrown.starts_with("goroutine ")
    }

    fn add_frame(&mut self, trimmed: &str) {
        self.frames += 1;
        let frame = trimmed.strip_prefix("at ").or(trimmed.strip_prefix("from ")).unwrap_or(trimmed);
        let is_own =
            place::find(frame).is_some_and(|place| !is_library(place.path)) && !is_library_function(frame);
        let innermost_last = self.thrown_last;
        let set = |held: &mut String| {
            if held.is_empty() || innermost_last {
                *held = visible::cut(frame, 120);
            }
        };
        if is_own {
            set(&mut self.own);
        }
        set(&mut self.innermost);
    }

    fn text(&self) -> String {
        let thrown = if self.thrown.is_empty() { "(not named)" } else { &self.thrown };
        let mut out = visible::cut(thrown, 240);
        if !self.cause.is_empty() {
            out.push_str(&format!("; caused by {}", visible::cut(&self.cause, 160)));
        }
        let frame = if self.own.is_empty() { &self.innermost } else { &self.own };
        if !frame.is_empty() {
            out.push_str(&format!(" at {frame}"));
        }
        out
    }
}

/// Returns whether a line tells that a Rust thread panicked.
fn is_rust_panic(line: &str) -> bool {
    line.starts_with("thread '") && line.contains(" panicked at ")
}

/// Returns whether a line is a frame that names a function or a place as languages write them.
fn is_frame(line: &str, trimmed: &str) -> bool {
    let located = || place::find(trimmed).is_some();
    if let Some(rest) = trimmed.strip_prefix("at ") {
        let call = rest.ends_with(')') && rest.contains('(') && !rest.contains(". ");
        let numbered = rest.contains(':') && rest.ends_with(|c: char| c.is_ascii_digit());
        return line.starts_with([' ', '\t']) && (call || numbered || located());
    }
    if trimmed.starts_with("File \"") {
        return trimmed.contains("\", line ");
    }
    if trimmed.starts_with("from ") {
        return trimmed.contains(":in ") && located();
    }
    if let Some(rest) = trimmed.strip_prefix('#') {
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        return digits > 0 && rest[digits..].starts_with(' ') && (located() || rest.contains(" in "));
    }
    // Go writes the place under the function.
    line.starts_with('\t') && trimmed.contains(".go:") && located()
}

/// Returns whether a line is `12: name::of::function`.
fn is_numbered_frame(trimmed: &str) -> bool {
    let digits = trimmed.bytes().take_while(u8::is_ascii_digit).count();
    (1..=3).contains(&digits) && trimmed[digits..].starts_with(": ")
}

/// Beginnings of functions of a language's own library.
const LIBRARY_BEGINNINGS: &[&str] = &[
    "java.",
    "javax.",
    "jdk.",
    "sun.",
    "kotlin.",
    "scala.",
    "org.junit",
    "System.",
    "Microsoft.",
    "std::",
    "core::",
    "runtime.",
    "node:",
    "java.base/",
];

fn is_library_function(frame: &str) -> bool {
    LIBRARY_BEGINNINGS.iter().any(|beginning| frame.starts_with(beginning))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traces(text: &str) -> Vec<(u64, String)> {
        let mut traces = StackTraces::default();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            traces.add(number as u64 + 1, line);
        }
        traces.finish();
        traces.traces.iter().map(|trace| (trace.count, trace.text.clone())).collect()
    }

    #[test]
    fn traces_of_many_languages() {
        for (text, expected) in [
            (
                "Traceback (most recent call last):\n  File \"/app/m.py\", line 3, in run\n    go()\n  File \"/v/site-packages/x.py\", line 9, in go\n    raise ValueError(1)\nValueError: bad\nnext",
                "ValueError: bad at File \"/app/m.py\", line 3, in run",
            ),
            (
                "java.lang.IllegalStateException: no\n\tat java.util.List.get(List.java:4)\n\tat a.b.C.run(C.java:12)\nCaused by: java.io.IOException: disk\n\tat a.b.D.read(D.java:7)\n\t... 12 more\n",
                "java.lang.IllegalStateException: no; caused by java.io.IOException: disk at a.b.C.run(C.java:12)",
            ),
            (
                "TypeError: x is not a function\n    at run (/app/m.js:4:9)\n    at node:internal/main:1:1\n",
                "TypeError: x is not a function at run (/app/m.js:4:9)",
            ),
            (
                "panic: index out of range\n\ngoroutine 1 [running]:\nmain.run(...)\n\t/app/m.go:12 +0x1d\nmain.main()\n\t/app/m.go:3 +0x2\nexit status 2\n",
                "panic: index out of range at /app/m.go:12 +0x1d",
            ),
            (
                "thread 'main' panicked at src/main.rs:3:5:\nboom\nnote: run with `RUST_BACKTRACE=1`\n",
                "thread 'main' panicked at src/main.rs:3:5: boom",
            ),
            (
                "Unhandled exception. System.Exception: no\n   at N.C.M() in /src/C.cs:line 12\n   at N.P.Main() in /src/P.cs:line 3\n",
                "Unhandled exception. System.Exception: no at N.C.M() in /src/C.cs:line 12",
            ),
            (
                "m.rb:3:in 'go': bad (RuntimeError)\n\tfrom m.rb:7:in 'run'\n\tfrom m.rb:9:in '<main>'\n",
                "m.rb:3:in 'go': bad (RuntimeError) at m.rb:7:in 'run'",
            ),
        ] {
            assert_eq!(traces(text), [(1, expected.to_owned())], "{text}");
        }
    }

    #[test]
    fn equal_traces_are_counted_once() {
        let text = "E: no 1\n    at run (/app/m.js:4:9)\nok\nE: no 2\n    at run (/app/m.js:4:9)\n";
        assert_eq!(traces(text), [(2, "E: no 1 at run (/app/m.js:4:9)".to_owned())]);
        assert_eq!(traces("meet at noon\n  at home\n# 1 in 2\n"), []);
    }
}
