//! What the tool `trouble` does in each mode.
//!
//! Modes whose fault is only in the content of the result are in `payload.rs`; here are those that write messages in an
//! unusual way, flood a stream, or end the server.

use std::io::{self, BufWriter, Write};
use std::thread::sleep;

use super::server::{FOREVER, Server, message};
use super::{Mode, payload};

/// Bytes of the line without an end.
const ENDLESS_LINE_BYTES: usize = 400 << 20;
/// Bytes written to stderr.
const STDERR_BYTES: usize = 64 << 20;
/// Number of progress notifications.
const NOTIFICATION_COUNT: usize = 100_000;

impl Server {
    /// Runs the tool; `given` is the argument `text`, still escaped.
    pub(super) fn trouble(&mut self, id: &str, given: &str) -> io::Result<()> {
        match self.mode {
            Mode::GluedText => {
                io::stdout().write_all(b"Loading 10%\rLoading 100% ")?;
                self.answer(id, &payload::text("glued"))
            }
            Mode::DuplicateKeys => {
                // The message has duplicate keys as well; as in JSON parsers, the last id counts.
                let head = format!(r#"{{"jsonrpc":"2.0","id":4711,"id":{id},"result":"#);
                self.line(&[head.as_bytes(), &payload::result(self.mode), b"}"].concat())
            }
            Mode::EndlessLine => self.endless(id),
            Mode::LongError => {
                let words = "it failed for a reason of many words ".repeat(6000);
                let error = format!(r#"{{"code":-32050,"message":"{words}","data":{{"x":1.0}}}}"#);
                self.line(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{error}}}"#).as_bytes())
            }
            Mode::StderrFlood => {
                let piece = [b'e'; 1 << 16];
                (0..STDERR_BYTES / piece.len()).try_for_each(|_| io::stderr().write_all(&piece))?;
                self.answer(id, &payload::text("after the flood"))
            }
            Mode::ProgressFlood => self.progress(id),
            Mode::CrashMidReply => {
                let line = message(id, &payload::big(50_000));
                io::stdout().write_all(&line[..line.len() / 2])?;
                io::stdout().flush()?;
                std::process::exit(3)
            }
            Mode::Hang => Ok(()),
            Mode::WrongIds => {
                for wrong in ["4711", "\"wrong\"", "true", "[1]", "{\"id\":1}", ""] {
                    self.answer(wrong, &payload::text("to nobody"))?;
                }
                self.answer(id, &payload::text("to you"))
            }
            Mode::OddIds => {
                let beyond = id.parse::<u128>().map_or(1 << 65, |id| id + (1 << 64));
                for odd in ["null", &format!("\"{id}\""), &beyond.to_string(), "1e400"] {
                    self.answer(odd, &payload::text("to nobody"))?;
                }
                self.answer(id, &payload::text("to you"))
            }
            Mode::FloatIds => self.answer(&format!("{id}.0"), &payload::text("to you")),
            Mode::Batches => {
                let (to_you, to_nobody) =
                    (message(id, &payload::text("to you")), message("4711", &payload::text("to nobody")));
                let note = br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"x":1.0}}"#;
                self.line(&[b"[", &to_nobody[..], b",", note, b",", &to_you, b"]"].concat())
            }
            Mode::OwnRequests => {
                self.waiting = Some(id.to_owned());
                let params = r#"{"messages":[],"maxTokens":5}"#;
                let request = format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"sampling/createMessage","params":{params}}}"#
                );
                self.line(request.as_bytes())
            }
            Mode::ForgedEnvelope => {
                // Repeated until it exceeds the budget.
                let times = 40_000 / given.len().max(1) + 1;
                self.answer(id, &payload::text(&format!("{given}\\n").repeat(times)))
            }
            Mode::ClosesStdout => {
                let nothing = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
                rustix::stdio::dup2_stdout(nothing)?;
                sleep(FOREVER);
                Ok(())
            }
            mode => self.answer(id, &payload::result(mode)),
        }
    }

    /// Starts a line that ends only before the next one.
    fn endless(&mut self, id: &str) -> io::Result<()> {
        let mut out = io::stdout().lock();
        write!(out, r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":""#)?;
        let piece = [b'x'; 1 << 20];
        (0..ENDLESS_LINE_BYTES / piece.len()).try_for_each(|_| out.write_all(&piece))?;
        self.unended = true;
        out.flush()
    }

    fn progress(&mut self, id: &str) -> io::Result<()> {
        let mut out = BufWriter::new(io::stdout().lock());
        for number in 0..NOTIFICATION_COUNT {
            writeln!(
                out,
                r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{id},"progress":{number}}}}}"#
            )?;
        }
        out.flush()?;
        drop(out);
        self.answer(id, &payload::text("after the flood"))
    }
}
