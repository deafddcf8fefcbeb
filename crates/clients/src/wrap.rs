//! Puts tidegate in front of a server: what changes in its entry, and how that is undone.
//!
//! A command becomes `tidegate run --server NAME -- COMMAND…`, an address `tidegate run --server NAME --url ADDRESS`.
//! Values are moved as they are written, and headers become variables by changing their names alone, so that a secret
//! stays where it was and never becomes an argument.

mod guess;
mod remote;
mod undo;

use serde::{Deserialize, Serialize};

use crate::client::{Client, Scope};
use crate::document::{Member, Node, Notation, Splice, Style, Syntax, same_besides, splice};
use crate::entry::{Gate, Way};
pub(crate) use guess::guess;
pub(crate) use undo::{Undone, undo};

/// What is to be written, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// What starts tidegate on this machine: its path, best from the root, since a client that a desktop starts, or an entry
    /// with a PATH of its own, may not find it by its name. Files that are shared get the name all the same.
    pub program: String,
    /// Whether remote servers without headers are wrapped as well: those that need no login.
    pub without_login: bool,
}

impl Options {
    /// Returns what an entry of a scope is to start.
    fn program(&self, scope: Scope) -> &str {
        if scope == Scope::Project { "tidegate" } else { &self.program }
    }
}

/// A server that tidegate was put in front of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wrapped {
    /// The client's name.
    pub client: String,
    /// For whom it is configured.
    pub scope: Scope,
    /// The path to the entry; the last part is the server's name.
    pub path: Vec<String>,
    pub(crate) undo: Undo,
}

impl Wrapped {
    /// Returns the server's name.
    pub fn server(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }
}

/// What must be known to undo it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Undo {
    /// It was started; `args_added` tells whether there was no list of arguments.
    Started { args_added: bool },
    /// It was reached at an address.
    Remote(Box<Remote>),
}

/// What a remote entry said; keys and values as they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Remote {
    /// The value of `type`, where it changed.
    transport: Option<String>,
    /// The key of the address.
    url: String,
    /// The key of the headers.
    headers: Option<String>,
    /// The variables that headers became, and the keys of the headers.
    names: Vec<(String, String)>,
    /// What became the list of variables that are passed: key and value.
    by_variable: Option<(String, String)>,
    /// What said that the client need not log in, and became a switch that is on: key and value.
    #[serde(default)]
    no_login: Option<(String, String)>,
}

/// What happens with a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is started by a command, and gets wrapped.
    WrapCommand,
    /// It is reached at an address, and gets wrapped.
    WrapAddress,
    /// It is wrapped already.
    AlreadyWrapped,
    /// It is left alone, for this reason.
    Left(String),
    /// It was not asked for.
    NotChosen,
}

/// What wrapping comes to.
struct Change {
    splices: Vec<Splice>,
    undo: Undo,
    verdict: Verdict,
}

/// Says why a server is left alone.
fn left<T>(reason: impl Into<String>) -> Result<T, Verdict> {
    Err(Verdict::Left(reason.into()))
}

/// Wraps the server at a path; returns the new text, and how to undo it.
///
/// The outcome is read again before it counts: nothing else may have changed, and undoing it must lead back to every byte.
pub(crate) fn wrap(
    text: &str,
    notation: Notation,
    client: &Client,
    (scope, path): (Scope, &[String]),
    options: &Options,
) -> Result<(String, Wrapped, Verdict), Verdict> {
    const UNUSUAL: &str = "it is written in a way that cannot be changed safely; wrap it by hand";
    let syntax = notation.syntax();
    let root = syntax.parse(text).or_else(|broken| left(broken.message))?;
    let Some(entry) = root.at(path) else { return left("it is not there any more") };
    let change = change(&Source { text, syntax }, entry, client, (scope, path), options)?;
    let wrapped = Wrapped { client: client.name.into(), scope, path: path.to_vec(), undo: change.undo };
    let Some(new) = splice(text, change.splices) else { return left(UNUSUAL) };
    let Ok(read) = syntax.parse(&new) else { return left(UNUSUAL) };
    let same = same_besides((text, &root), (&new, &read), path);
    let back = undo(&new, notation, client, &wrapped);
    match back {
        Undone::Done(back) if same && back == text => Ok((new, wrapped, change.verdict)),
        _ => left(UNUSUAL),
    }
}

/// A text and its notation.
struct Source<'t> {
    text: &'t str,
    syntax: &'t dyn Syntax,
}

impl Source<'_> {
    /// Returns a value as it is written.
    fn written(&self, node: &Node) -> &str {
        self.text.get(node.span.clone()).unwrap_or_default()
    }

    /// Returns a key as it is written.
    fn key(&self, member: &Member) -> &str {
        self.text.get(member.key.clone()).unwrap_or_default()
    }

    fn list(&self, words: &[String], style: Style) -> String {
        format!("[{}]", words.join(style.comma()))
    }
}

fn change(
    source: &Source<'_>,
    entry: &Node,
    client: &Client,
    (scope, path): (Scope, &[String]),
    options: &Options,
) -> Result<Change, Verdict> {
    let program_name = options.program(scope);
    let name = path.last().map_or("", String::as_str);
    let way = Way::of(entry, &client.shape);
    match way.gate() {
        Gate::InFront(_) => return Err(Verdict::AlreadyWrapped),
        Gate::Itself => return left("it is tidegate itself"),
        Gate::Absent if name == "tidegate" => return left("it is tidegate itself, by its name"),
        Gate::Absent => {}
    }
    let string = |word: &str| source.syntax.string(word);
    let mut front: Vec<String> = ["run"].map(string).to_vec();
    // A name that looks like a flag must not be taken for one.
    match name.starts_with('-') {
        true => front.push(string(&format!("--server={name}"))),
        false => front.extend(["--server", name].map(string)),
    }
    match way {
        Way::Unknown(why) => left(why),
        Way::Remote { url, address } => {
            remote::check(entry, &client.shape, address, options)?;
            remote::change(source, entry, client, (url, address), front, program_name)
        }
        Way::Apart { program, args, .. } => {
            front.extend([string("--"), source.written(&program.value).to_owned()]);
            let style = Style::of(source.text, program);
            let arguments = match args {
                Some(args) => in_front(&args.value, &front, Style::of(source.text, args)),
                None => {
                    let list = source.list(&front, style);
                    source.syntax.after(source.text, program, &source.syntax.key("args"), &list)
                }
            };
            let command = Splice::new(program.value.span.clone(), string(program_name));
            let undo = Undo::Started { args_added: args.is_none() };
            Ok(Change { splices: vec![command, arguments], undo, verdict: Verdict::WrapCommand })
        }
        Way::Together { command, .. } => {
            front.insert(0, string(program_name));
            front.push(string("--"));
            let splices = vec![in_front(&command.value, &front, Style::of(source.text, command))];
            Ok(Change { splices, undo: Undo::Started { args_added: false }, verdict: Verdict::WrapCommand })
        }
    }
}

/// Puts words at the front of a list.
fn in_front(list: &Node, words: &[String], style: Style) -> Splice {
    let words = words.join(style.comma());
    match list.list() {
        Some([first, ..]) => {
            let at = first.span.start;
            Splice::new(at..at, format!("{words}{}", style.comma()))
        }
        _ => {
            let at = list.span.start + 1;
            Splice::new(at..at, words)
        }
    }
}
