//! One server in a client's file: is it started by a command or reached at an address, and is tidegate in front of it?

use crate::client::{CommandShape, Shape};
use crate::document::{Member, Node, Value};

/// How a client comes to a server.
#[derive(Debug)]
pub(crate) enum Way<'n> {
    /// By a program and its arguments; `holder` is where both stand.
    Apart { holder: &'n Node, program: &'n Member, args: Option<&'n Member> },
    /// By a command in one list.
    Together { command: &'n Member, words: &'n [Node] },
    /// At an address.
    Remote { url: &'n Member, address: &'n str },
    /// In a way that is not known; says why.
    Unknown(&'static str),
}

impl<'n> Way<'n> {
    pub(crate) fn of(entry: &'n Node, shape: &Shape) -> Self {
        if !matches!(entry.value, Value::Map(_)) {
            return Self::Unknown("its entry is not an object");
        }
        match (entry.get("command"), shape.command) {
            (Some(command), CommandShape::Together) => match command.value.list() {
                Some(words @ [first, ..]) if first.text().is_some() => Self::Together { command, words },
                _ => Self::Unknown("its command is not a list of words"),
            },
            (Some(command), CommandShape::Apart) => match &command.value.value {
                // Zed wrote a command like this: { "path": …, "args": […] }.
                Value::Map(_) => match command.value.get("path") {
                    Some(program) => Self::apart(&command.value, program),
                    None => Self::Unknown("its command has no path"),
                },
                _ => Self::apart(entry, command),
            },
            (None, _) => Self::remote(entry, shape),
        }
    }

    fn apart(holder: &'n Node, program: &'n Member) -> Self {
        let args = holder.get("args");
        if program.value.text().is_none_or(str::is_empty) {
            return Self::Unknown("its command is not a string");
        }
        if args.is_some_and(|args| args.value.list().is_none()) {
            return Self::Unknown("its args are not a list");
        }
        Self::Apart { holder, program, args }
    }

    fn remote(entry: &'n Node, shape: &Shape) -> Self {
        let url = shape.url.iter().find_map(|name| entry.get(name));
        match url.and_then(|url| Some((url, url.value.text()?))) {
            Some((url, address)) => Self::Remote { url, address },
            None if entry.get("source").is_some() => Self::Unknown("an extension of the client starts it"),
            None => Self::Unknown("it has neither a command nor an address"),
        }
    }

    /// Returns the words of the command.
    pub(crate) fn words(&self) -> Vec<&'n Node> {
        match self {
            Self::Apart { program, args, .. } => {
                let args = args.and_then(|args| args.value.list()).unwrap_or_default();
                std::iter::once(&program.value).chain(args).collect()
            }
            Self::Together { words, .. } => words.iter().collect(),
            Self::Remote { .. } | Self::Unknown(_) => Vec::new(),
        }
    }

    /// Tells what tidegate has to do with the command.
    pub(crate) fn gate(&self) -> Gate {
        let words: Vec<&str> = self.words().iter().map(|word| word.text().unwrap_or_default()).collect();
        let at = program(&words);
        match words.get(at..) {
            Some([word, "run", ..]) if is_tidegate(word) => Gate::InFront(at),
            Some([word, ..]) if is_tidegate(word) => Gate::Itself,
            _ => Gate::Absent,
        }
    }
}

/// What tidegate has to do with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Nothing.
    Absent,
    /// It stands in front of it; it is this word of the command.
    InFront(usize),
    /// It is the server.
    Itself,
}

/// Where the program stands that a command comes to: behind launchers such as npx, and what they are given.
fn program(words: &[&str]) -> usize {
    let mut at = 0;
    while let Some((launcher, rest)) = words.get(at..).and_then(<[&str]>::split_first) {
        let given = |from: usize| from + options(rest.get(from..).unwrap_or_default());
        at += 1 + match (name(launcher), rest.first().copied().unwrap_or_default()) {
            ("env", _) => rest.iter().take_while(|word| word.starts_with('-') || word.contains('=')).count(),
            ("npx" | "bunx" | "pnpx" | "uvx", _) => given(0),
            ("npm" | "pnpm" | "yarn" | "bun", "exec" | "dlx" | "x") => given(1),
            ("cmd", "/c" | "/C") => 1,
            _ => return at,
        };
    }
    at
}

/// How many of the words are options of a launcher.
fn options(words: &[&str]) -> usize {
    let mut count = 0;
    while let Some(option) = words.get(count).filter(|word| word.starts_with('-')) {
        let has_value = matches!(*option, "-p" | "--package" | "--from" | "--with");
        count += if has_value { 2 } else { 1 };
    }
    count
}

/// The name of a program, without its folder and what a system adds to it.
fn name(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.strip_suffix(".exe").or_else(|| name.strip_suffix(".cmd")).unwrap_or(name)
}

/// Tells whether a word of a command is our program; a launcher may name its version.
fn is_tidegate(word: &str) -> bool {
    name(word).split('@').next() == Some("tidegate")
}

/// Tells whether a server is switched off.
pub(crate) fn is_off(entry: &Node) -> bool {
    let flag = |name: &str| match entry.get(name).map(|member| &member.value.value) {
        Some(Value::Flag(flag)) => Some(*flag),
        _ => None,
    };
    flag("disabled") == Some(true) || flag("enabled") == Some(false)
}

/// Tells whether a server's own environment sets where programs are looked for.
pub(crate) fn sets_path(entry: &Node, shape: &Shape) -> bool {
    let holder = entry.get("command").map(|command| &command.value);
    let variables = entry.get(shape.environment).or_else(|| holder?.get(shape.environment));
    let variables = variables.map(|variables| variables.value.members()).unwrap_or_default();
    variables.iter().any(|variable| variable.name.eq_ignore_ascii_case("PATH"))
}

/// Tells whether a server has a list of tools that are allowed, and ours is not in it; returns the name of the list.
pub(crate) fn forbids_query(entry: &Node, shape: &Shape) -> Option<&'static str> {
    let tools = entry.get(shape.allowed?)?.value.list()?;
    (!tools.iter().any(|tool| tool.text() == Some("result_query"))).then_some(shape.allowed?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_launchers() {
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
            assert_eq!(program(words), at, "{words:?}");
        }
    }
}
