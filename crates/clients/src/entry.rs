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
        match words.iter().position(|word| is_tidegate(word)) {
            // A launcher such as npx may come before it.
            Some(at) if words.get(at + 1) == Some(&"run") => Gate::InFront,
            Some(0) => Gate::Itself,
            _ => Gate::Absent,
        }
    }
}

/// What tidegate has to do with a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Nothing.
    Absent,
    /// It stands in front of it.
    InFront,
    /// It is the server.
    Itself,
}

/// Tells whether a word of a command is the name of our program.
pub(crate) fn is_tidegate(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    let name = name.split('@').next().unwrap_or(name);
    name.strip_suffix(".exe").unwrap_or(name) == "tidegate"
}

/// Tells whether a server is switched off.
pub(crate) fn is_off(entry: &Node) -> bool {
    let flag = |name: &str| match entry.get(name).map(|member| &member.value.value) {
        Some(Value::Flag(flag)) => Some(*flag),
        _ => None,
    };
    flag("disabled") == Some(true) || flag("enabled") == Some(false)
}
