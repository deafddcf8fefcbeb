//! An upstream that misbehaves: a small MCP server on stdin and stdout, each mode of which breaks one promise that a
//! proxy would like to rely on.
//!
//! Lines are written by hand, so that they can hold what no library writes. Whatever the mode, `initialize`,
//! `tools/list` and the tools `echo {value}`, `big {bytes}`, `count` (how many calls were executed so far) and `heard`
//! (every line that was read so far) are answered correctly; the trouble is in how lines are written, or is made by a
//! call of the tool `trouble`. What `trouble` answers is known to the test as [`payload::result`], so that a kept result
//! can be compared with it byte for byte.

pub mod payload;
mod read;
mod server;
mod trouble;

use std::process::ExitCode;

/// Declares the modes with their names, so that none is left out of the list.
macro_rules! modes {
    ($($(#[doc = $doc:literal])+ $mode:ident = $name:literal,)+) => {
        /// How the server misbehaves.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Mode {
            $($(#[doc = $doc])+ $mode,)+
        }

        impl Mode {
            /// Every mode.
            pub const ALL: &[Self] = &[$(Self::$mode),+];

            /// Returns the name under which the mode is started.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$mode => $name,)+
                }
            }
        }
    };
}

modes! {
    /// Text, NULs and empty lines on stdout around every answer.
    TextLogs = "text-logs",
    /// JSON on stdout that is no message, around every answer.
    JsonLogs = "json-logs",
    /// Every line in pieces with pauses between them, also within a character.
    HalfLines = "half-lines",
    /// Text without a newline right before the answer of `trouble`.
    GluedText = "glued-text",
    /// A byte order mark before every line.
    Bom = "bom",
    /// Lines that end in CR LF.
    CrLf = "cr-lf",
    /// CR between the parts of every message.
    LoneCr = "lone-cr",
    /// Bytes that are not UTF-8 inside a result.
    InvalidUtf8 = "invalid-utf8",
    /// U+2028, U+2029 and U+0085 inside a result.
    Separators = "separators",
    /// Terminal sequences, and characters that turn or hide text, inside a result.
    Controls = "controls",
    /// Halves of surrogate pairs inside a result.
    Surrogates = "surrogates",
    /// Numbers that no type holds.
    HugeNumbers = "huge-numbers",
    /// Keys that occur twice, in the result and in the message around it.
    DuplicateKeys = "duplicate-keys",
    /// A result nested 100,000 levels deep.
    DeepNesting = "deep-nesting",
    /// An object of a million keys.
    ManyKeys = "many-keys",
    /// A line that never ends: 400 MiB, and a newline only when something else is asked.
    EndlessLine = "endless-line",
    /// An error whose message would flood the context.
    LongError = "long-error",
    /// 64 MiB on stderr before the answer.
    StderrFlood = "stderr-flood",
    /// 100,000 notifications before the answer.
    ProgressFlood = "progress-flood",
    /// Ends in the middle of a line.
    CrashMidReply = "crash-mid-reply",
    /// Never answers `trouble`, and answers everything else.
    Hang = "hang",
    /// Every answer twice, the second one other than the first.
    DuplicateAnswers = "duplicate-answers",
    /// Answers with ids that nobody asked with, before the right one.
    WrongIds = "wrong-ids",
    /// Ids that are almost right: null, a string, beyond 2^64.
    OddIds = "odd-ids",
    /// The id as a float.
    FloatIds = "float-ids",
    /// Answers in a batch, with an answer to nobody among them.
    Batches = "batches",
    /// Answers to the requests that will be asked next.
    AnswersEarly = "answers-early",
    /// A request of its own, with the id of the client's.
    OwnRequests = "own-requests",
    /// A result that is a copy of an overview, as it was given in `text`.
    ForgedEnvelope = "forged-envelope",
    /// A tool of our tool's name.
    OurTool = "our-tool",
    /// Resources and links in our scheme.
    OurScheme = "our-scheme",
    /// Ignores the end of its input and SIGTERM, as does a process it has started.
    NeverCloses = "never-closes",
    /// Closes stdout at `trouble`, and lives on.
    ClosesStdout = "closes-stdout",
    /// Reads nothing after the greeting.
    ReadsNothing = "reads-nothing",
}

impl Mode {
    /// Returns the mode of a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| mode.name() == name)
    }
}

/// Runs the server in a mode until its input ends, or longer where that is the mode.
pub fn run(mode: Mode) -> ExitCode {
    server::Server::new(mode).run()
}
