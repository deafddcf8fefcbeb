//! The entry of one server: whether it has a command or a URL, and whether tidegate is already in front of it.
//!
//! Only the program that is finally run decides whether an entry is wrapped; launchers such as `npx` are skipped, and a
//! path that happens to contain `tidegate` does not count.

use crate::client::{CommandFormat, EntryFormat};
use crate::document::{Member, Node, Value};

/// What an entry says about how to reach its server.
#[derive(Debug)]
pub(crate) enum EntryKind<'n> {
    /// A program and its arguments; `holder` is the object with both keys.
    SplitCommand { holder: &'n Node, program: &'n Member, args: Option<&'n Member> },
    /// Program and arguments in one list.
    ListCommand { command: &'n Member, words: &'n [Node] },
    /// The URL of a remote server.
    Remote { url: &'n Member, address: &'n str },
    /// An entry that cannot be wrapped, with the reason.
    Unsupported(&'static str),
}

impl<'n> EntryKind<'n> {
    pub(crate) fn of(entry: &'n Node, format: &EntryFormat) -> Self {
        if !matches!(entry.value, Value::Object(_)) {
            return Self::Unsupported("its entry is not an object");
        }
        match (entry.get("command"), format.command) {
            (Some(command), CommandFormat::List) => match command.value.as_array() {
                Some(words @ [first, ..]) if first.as_str().is_some() => Self::ListCommand { command, words },
                _ => Self::Unsupported("its command is not a list of strings"),
            },
            (Some(command), CommandFormat::Split) => match &command.value.value {
                // The older form of Zed: { "path": …, "args": […] }.
                Value::Object(_) => match command.value.get("path") {
                    Some(program) => Self::split_command(&command.value, program),
                    None => Self::Unsupported("its command has no path"),
                },
                _ => Self::split_command(entry, command),
            },
            (None, _) => Self::remote(entry, format),
        }
    }

    fn split_command(holder: &'n Node, program: &'n Member) -> Self {
        let args = holder.get("args");
        if program.value.as_str().is_none_or(str::is_empty) {
            return Self::Unsupported("its command is not a string");
        }
        if args.is_some_and(|args| args.value.as_array().is_none()) {
            return Self::Unsupported("its args are not a list");
        }
        Self::SplitCommand { holder, program, args }
    }

    fn remote(entry: &'n Node, format: &EntryFormat) -> Self {
        let url = format.url.iter().find_map(|name| entry.get(name));
        match url.and_then(|url| Some((url, url.value.as_str()?))) {
            Some((url, address)) => Self::Remote { url, address },
            None if entry.get("source").is_some() => {
                Self::Unsupported("an extension of the client starts it")
            }
            None => Self::Unsupported("it has neither a command nor a URL"),
        }
    }

    /// Returns the words of the command.
    pub(crate) fn words(&self) -> Vec<&'n Node> {
        match self {
            Self::SplitCommand { program, args, .. } => {
                let args = args.and_then(|args| args.value.as_array()).unwrap_or_default();
                std::iter::once(&program.value).chain(args).collect()
            }
            Self::ListCommand { words, .. } => words.iter().collect(),
            Self::Remote { .. } | Self::Unsupported(_) => Vec::new(),
        }
    }

    /// Returns whether the command already runs tidegate.
    pub(crate) fn wrap_state(&self) -> WrapState {
        let words: Vec<&str> = self.words().iter().map(|word| word.as_str().unwrap_or_default()).collect();
        let at = program_index(&words);
        match words.get(at..) {
            Some([word, "run", ..]) if is_tidegate(word) => WrapState::Wrapped(at),
            Some([word, ..]) if is_tidegate(word) => WrapState::Tidegate,
            _ => WrapState::Unwrapped,
        }
    }
}

/// Whether tidegate is part of a server's command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WrapState {
    /// The command does not run tidegate.
    Unwrapped,
    /// The command is `tidegate run …`; holds the index of the word `tidegate`.
    Wrapped(usize),
    /// The server is another command of tidegate.
    Tidegate,
}

/// Returns the index of the program that a command finally runs, after launchers such as npx and their options.
fn program_index(words: &[&str]) -> usize {
    let mut at = 0;
    while let Some((launcher, rest)) = words.get(at..).and_then(<[&str]>::split_first) {
        let skip_options = |from: usize| from + count_options(rest.get(from..).unwrap_or_default());
        at += 1 + match (program_name(launcher), rest.first().copied().unwrap_or_default()) {
            ("env", _) => rest.iter().take_while(|word| word.starts_with('-') || word.contains('=')).count(),
            ("npx" | "bunx" | "pnpx" | "uvx", _) => skip_options(0),
            ("npm" | "pnpm" | "yarn" | "bun", "exec" | "dlx" | "x") => skip_options(1),
            ("cmd", "/c" | "/C") => 1,
            _ => return at,
        };
    }
    at
}

/// Returns how many of the first words are options of a launcher.
fn count_options(words: &[&str]) -> usize {
    let mut count = 0;
    while let Some(option) = words.get(count).filter(|word| word.starts_with('-')) {
        let has_value = matches!(*option, "-p" | "--package" | "--from" | "--with");
        count += if has_value { 2 } else { 1 };
    }
    count
}

/// Returns the name of a program without its folder and its `.exe` or `.cmd` suffix.
fn program_name(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.strip_suffix(".exe").or_else(|| name.strip_suffix(".cmd")).unwrap_or(name)
}

/// Returns whether a word names tidegate; a launcher may add a version, as in `tidegate@1`.
fn is_tidegate(word: &str) -> bool {
    program_name(word).split('@').next() == Some("tidegate")
}

/// Returns whether a server is disabled.
pub(crate) fn is_disabled(entry: &Node) -> bool {
    let flag = |name: &str| match entry.get(name).map(|member| &member.value.value) {
        Some(Value::Bool(flag)) => Some(*flag),
        _ => None,
    };
    flag("disabled") == Some(true) || flag("enabled") == Some(false)
}

/// Returns whether a server's environment sets PATH.
pub(crate) fn sets_path(entry: &Node, format: &EntryFormat) -> bool {
    let holder = entry.get("command").map(|command| &command.value);
    let variables = entry.get(format.environment).or_else(|| holder?.get(format.environment));
    let variables = variables.map(|variables| variables.value.members()).unwrap_or_default();
    variables.iter().any(|variable| variable.name.eq_ignore_ascii_case("PATH"))
}

/// Returns the key of a server's list of allowed tools, if it has one and `result_query` is not in it.
pub(crate) fn list_without_result_query(entry: &Node, format: &EntryFormat) -> Option<&'static str> {
    let tools = entry.get(format.allowed_tools?)?.value.as_array()?;
    (!tools.iter().any(|tool| tool.as_str() == Some("result_query"))).then_some(format.allowed_tools?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_are_skipped() {
        for (words, at) in [
            (&["tidegate", "run"][..], 0),
            (&["/usr/bin/env", "-i", "A=b", "tidegate", "run"], 3),
            (&["npx", "-y", "tidegate@1", "run"], 2),
            (&["npx", "-p", "tidegate", "tidegate", "run"], 3),
            (&["cmd", "/c", "npx.cmd", "-y", "tidegate", "run"], 4),
            (&["npm", "exec", "--", "tidegate", "run"], 3),
            (&["npx"], 1),
            (&["npm", "run", "tidegate"], 0),
            (&["-y", "fs", "/work/tidegate", "run"], 0),
            (&["sh", "-c", "tidegate run", "tidegate", "run"], 0),
        ] {
            assert_eq!(program_index(words), at, "{words:?}");
        }
    }
}
