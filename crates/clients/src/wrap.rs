//! Puts tidegate in front of one server: the edit of its entry, and what is needed to undo it.
//!
//! A command becomes `tidegate run --server NAME -- COMMAND…`, a URL becomes `tidegate run --server NAME --url URL`. Values
//! move as literals, and a header becomes an environment variable by renaming its key alone, so a secret stays where it is
//! and never becomes an argument.

mod guess;
mod remote;
mod undo;

use serde::{Deserialize, Serialize};

use crate::client::{Client, Scope};
use crate::document::{Member, Node, Notation, Spacing, Splice, Syntax, equal_except, splice};
use crate::entry::{EntryKind, WrapState};
pub(crate) use guess::guess;
pub(crate) use undo::{Undone, undo};

/// How servers are wrapped.
#[derive(Debug, Clone)]
pub struct Options {
    /// The path of the tidegate program on this machine, preferably absolute: a client started from a desktop, or an entry
    /// that sets PATH, may not find it by name. Project files, which are shared, get the name `tidegate` instead.
    pub program: String,
    /// Whether to wrap remote servers without headers too, which then must not need a login.
    pub without_login: bool,
    /// Whether to change the files that everybody in a project shares.
    pub shared_files: bool,
    /// Whether wrapped servers are only measured: `tidegate run --observe`.
    pub observe: bool,
}

impl Options {
    /// Returns the program to write into an entry of a scope.
    fn program(&self, scope: Scope) -> &str {
        if scope == Scope::Project { "tidegate" } else { &self.program }
    }
}

/// A wrapped server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Wrapped {
    /// The client's name.
    pub client: String,
    /// Who the entry applies to.
    pub scope: Scope,
    /// The key path of the entry; the last key is the server's name.
    pub path: Vec<String>,
    pub(crate) undo: Undo,
}

impl Wrapped {
    /// Returns the server's name.
    pub fn server(&self) -> &str {
        self.path.last().map_or("", String::as_str)
    }
}

/// What the wrapped entry does not show, but undoing needs. Part of the manifest, so serialized names must not change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Undo {
    /// The entry had a command; `args_added` is true if it had no `args`.
    #[serde(rename = "started")]
    Command { args_added: bool },
    /// The entry had a URL.
    Remote(Box<RemoteUndo>),
}

/// The original literals of a remote entry.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RemoteUndo {
    /// The value of `type`, if there was one.
    transport: Option<String>,
    /// The key of the URL.
    url: String,
    /// The key of the headers.
    headers: Option<String>,
    /// The environment variables that headers became, each with the header's key.
    #[serde(rename = "names")]
    header_keys: Vec<(String, String)>,
    /// The key and value that became the list of inherited variables.
    #[serde(rename = "by_variable")]
    header_variables: Option<(String, String)>,
    /// The key and value that declined a login, and became `"enabled": true`.
    #[serde(default, rename = "no_login")]
    declined_login: Option<(String, String)>,
}

/// What install does with a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Its command is wrapped.
    WrapCommand,
    /// Its URL is wrapped.
    WrapRemote,
    /// It is already wrapped.
    AlreadyWrapped,
    /// It is not changed, for this reason.
    Skipped(String),
    /// The selection does not include it.
    NotSelected,
}

/// The edit that wraps one server.
struct WrapEdit {
    splices: Vec<Splice>,
    undo: Undo,
    verdict: Verdict,
}

/// Returns the verdict that a server is not changed.
fn skip<T>(reason: impl Into<String>) -> Result<T, Verdict> {
    Err(Verdict::Skipped(reason.into()))
}

/// Wraps the server at a path; returns the new text and how to undo the edit.
///
/// The new text is parsed and checked: nothing else may have changed, and undoing the edit must restore every byte.
pub(crate) fn wrap(
    text: &str,
    notation: Notation,
    client: &Client,
    (scope, path): (Scope, &[String]),
    options: &Options,
) -> Result<(String, Wrapped, Verdict), Verdict> {
    const UNSAFE: &str = "its entry cannot be edited safely; wrap it by hand";
    let syntax = notation.syntax();
    let root = syntax.parse(text).or_else(|broken| skip(broken.message))?;
    let Some(entry) = root.at(path) else { return skip("its entry is gone") };
    let edit = wrap_edit(&Source { text, syntax }, entry, client, (scope, path), options)?;
    let wrapped = Wrapped { client: client.name.into(), scope, path: path.to_vec(), undo: edit.undo };
    let Some(new) = splice(text, edit.splices) else { return skip(UNSAFE) };
    let Ok(new_root) = syntax.parse(&new) else { return skip(UNSAFE) };
    let rest_unchanged = equal_except((text, &root), (&new, &new_root), path);
    match undo(&new, notation, client, &wrapped) {
        Undone::Done(restored) if rest_unchanged && restored == text => Ok((new, wrapped, edit.verdict)),
        _ => skip(UNSAFE),
    }
}

/// A text and its syntax.
struct Source<'t> {
    text: &'t str,
    syntax: &'t dyn Syntax,
}

impl Source<'_> {
    /// Returns the literal of a value.
    fn literal(&self, node: &Node) -> &str {
        self.text.get(node.span.clone()).unwrap_or_default()
    }

    /// Returns the literal of a key.
    fn key(&self, member: &Member) -> &str {
        self.text.get(member.key.clone()).unwrap_or_default()
    }

    fn list(&self, words: &[String], spacing: Spacing) -> String {
        format!("[{}]", words.join(spacing.comma()))
    }
}

fn wrap_edit(
    source: &Source<'_>,
    entry: &Node,
    client: &Client,
    (scope, path): (Scope, &[String]),
    options: &Options,
) -> Result<WrapEdit, Verdict> {
    let tidegate = options.program(scope);
    let name = path.last().map_or("", String::as_str);
    let kind = EntryKind::of(entry, &client.format);
    match kind.wrap_state() {
        WrapState::Wrapped(_) => return Err(Verdict::AlreadyWrapped),
        WrapState::Tidegate => return skip("it is tidegate itself"),
        WrapState::Unwrapped if name == "tidegate" => return skip("it is named tidegate"),
        WrapState::Unwrapped if scope == Scope::Project && !options.shared_files => {
            return skip("everybody in the project shares its file; --scope project wraps it");
        }
        WrapState::Unwrapped => {}
    }
    let string = |word: &str| source.syntax.string(word);
    let mut front = vec![string("run")];
    if options.observe {
        front.push(string("--observe"));
    }
    // A name that starts with a dash must not be parsed as a flag.
    match name.starts_with('-') {
        true => front.push(string(&format!("--server={name}"))),
        false => front.extend(["--server", name].map(string)),
    }
    match kind {
        EntryKind::Unsupported(why) => skip(why),
        EntryKind::Remote { url, address } => {
            remote::check(entry, &client.format, address, options)?;
            remote::wrap_edit(source, entry, client, (url, address), front, tidegate)
        }
        EntryKind::SplitCommand { program, args, .. } => {
            front.extend([string("--"), source.literal(&program.value).to_owned()]);
            let spacing = Spacing::of(source.text, program);
            let arguments = match args {
                Some(args) => prepend(&args.value, &front, Spacing::of(source.text, args)),
                None => {
                    let list = source.list(&front, spacing);
                    source.syntax.insert_after(source.text, program, &source.syntax.key("args"), &list)
                }
            };
            let command = Splice::new(program.value.span.clone(), string(tidegate));
            let undo = Undo::Command { args_added: args.is_none() };
            Ok(WrapEdit { splices: vec![command, arguments], undo, verdict: Verdict::WrapCommand })
        }
        EntryKind::ListCommand { command, .. } => {
            front.insert(0, string(tidegate));
            front.push(string("--"));
            let splices = vec![prepend(&command.value, &front, Spacing::of(source.text, command))];
            Ok(WrapEdit { splices, undo: Undo::Command { args_added: false }, verdict: Verdict::WrapCommand })
        }
    }
}

/// Inserts words at the start of a list.
fn prepend(list: &Node, words: &[String], spacing: Spacing) -> Splice {
    let words = words.join(spacing.comma());
    match list.as_array() {
        Some([first, ..]) => {
            let at = first.span.start;
            Splice::new(at..at, format!("{words}{}", spacing.comma()))
        }
        _ => {
            let at = list.span.start + 1;
            Splice::new(at..at, words)
        }
    }
}
