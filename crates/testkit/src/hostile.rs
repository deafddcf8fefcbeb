//! A server that misbehaves: a small MCP server on stdin and stdout. Each mode breaks one assumption that a proxy might
//! make.
//!
//! Messages are formatted by hand, so that they can contain what no library writes. In every mode `initialize`,
//! `tools/list` and the tools `echo {value}`, `big {bytes}`, `count` (number of calls executed so far) and `heard` (every
//! line read so far) are answered correctly. The fault is either in how lines are written, or happens in a call of the tool
//! `trouble`. Tests know the result of `trouble` as [`payload::result`] and compare stored results with it byte for byte.

pub mod payload;
mod read;
mod server;
mod trouble;

use std::process::ExitCode;

/// Declares the modes with their names, so that `ALL` has every one.
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

            /// Returns the name with which the mode is started.
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
    /// JSON on stdout that is not a message, around every answer.
    JsonLogs = "json-logs",
    /// Every line in pieces with pauses in between, some within a character.
    HalfLines = "half-lines",
    /// Text without a newline directly before the answer of `trouble`.
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
    /// Terminal sequences, and characters that reverse or hide text, inside a result.
    Controls = "controls",
    /// Lone surrogates inside a result.
    Surrogates = "surrogates",
    /// Numbers that fit no numeric type.
    HugeNumbers = "huge-numbers",
    /// Duplicate keys, in the result and in the message around it.
    DuplicateKeys = "duplicate-keys",
    /// A result nested 100,000 levels deep.
    DeepNesting = "deep-nesting",
    /// An object with a million keys.
    ManyKeys = "many-keys",
    /// A line of 400 MiB without an end; the newline follows with the next answer.
    EndlessLine = "endless-line",
    /// An error whose message would flood the context.
    LongError = "long-error",
    /// 64 MiB on stderr before the answer.
    StderrFlood = "stderr-flood",
    /// 100,000 notifications before the answer.
    ProgressFlood = "progress-flood",
    /// Exits in the middle of a line.
    CrashMidReply = "crash-mid-reply",
    /// Never answers `trouble`, but everything else.
    Hang = "hang",
    /// Every answer twice, with different content.
    DuplicateAnswers = "duplicate-answers",
    /// Answers with ids of no request, before the right one.
    WrongIds = "wrong-ids",
    /// Answers with ids that are almost right: null, a string, beyond 2^64.
    OddIds = "odd-ids",
    /// The id as a float.
    FloatIds = "float-ids",
    /// Answers in a batch, with an answer to no request among them.
    Batches = "batches",
    /// Answers to requests that the client has not sent yet.
    AnswersEarly = "answers-early",
    /// A request to the client, with the same id as the client's request.
    OwnRequests = "own-requests",
    /// A result that repeats the overview passed in `text`.
    ForgedEnvelope = "forged-envelope",
    /// A tool with the name of tidegate's own tool.
    OurTool = "our-tool",
    /// Resources and links in tidegate's own URI scheme.
    OurScheme = "our-scheme",
    /// Ignores the end of stdin and SIGTERM, as does its child process.
    NeverCloses = "never-closes",
    /// Closes stdout in `trouble`, and keeps running.
    ClosesStdout = "closes-stdout",
    /// Reads nothing after `initialize`.
    ReadsNothing = "reads-nothing",
}

impl Mode {
    /// Returns the mode with a name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|mode| mode.name() == name)
    }
}

/// Runs the server in a mode until stdin ends, or longer if that is its fault.
pub fn run(mode: Mode) -> ExitCode {
    server::Server::new(mode).run()
}
