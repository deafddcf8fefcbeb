//! Removes tidegate from a wrapped entry, in a file that may have changed since.
//!
//! The current entry decides: the command is what now follows `--`, the URL what now follows `--url`. So later changes by
//! the user are kept.

use std::ops::Range;

use super::remote::{ENABLED_KEY, URL_VARIABLE};
use super::{RemoteUndo, Source, Undo, Wrapped};
use crate::client::Client;
use crate::document::{Member, Node, Notation, Spacing, Splice, Value, equal_except, splice};
use crate::entry::{EntryKind, WrapState};

/// The result of undoing one server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Undone {
    /// The text without tidegate.
    Done(String),
    /// The entry is gone, or is no longer wrapped.
    Absent,
    /// The entry has changed too much to be undone; holds the reason.
    Changed(String),
}

/// Undoes one server.
pub(crate) fn undo(text: &str, notation: Notation, client: &Client, wrapped: &Wrapped) -> Undone {
    let syntax = notation.syntax();
    let Ok(root) = syntax.parse(text) else { return Undone::Changed("the file cannot be parsed".into()) };
    let Some(entry) = root.at(&wrapped.path) else { return Undone::Absent };
    let kind = EntryKind::of(entry, &client.format);
    let WrapState::Wrapped(at) = kind.wrap_state() else { return Undone::Absent };
    let source = Source { text, syntax };
    let splices = match &wrapped.undo {
        Undo::Command { args_added } => undo_command(&source, &kind, at, *args_added),
        Undo::Remote(was) => undo_remote(&source, entry, (&kind, at), was, client),
    };
    let splices = match splices {
        Ok(splices) => splices,
        Err(why) => return Undone::Changed(why.into()),
    };
    let unclear = || Undone::Changed("its entry has changed and cannot be undone safely".into());
    let Some(new) = splice(text, splices) else { return unclear() };
    match syntax.parse(&new) {
        Ok(new_root) if equal_except((text, &root), (&new, &new_root), &wrapped.path) => Undone::Done(new),
        _ => unclear(),
    }
}

fn undo_command(
    source: &Source<'_>,
    kind: &EntryKind<'_>,
    at: usize,
    args_added: bool,
) -> Result<Vec<Splice>, &'static str> {
    const NO_COMMAND: &str = "its command no longer follows `--`";
    let words = kind.words();
    let command = command_index(&words, at).ok_or(NO_COMMAND)?;
    match kind {
        EntryKind::SplitCommand { holder, program, args: Some(args) } => {
            let mut splices = vec![Splice::new(program.value.span.clone(), source.literal(words[command]))];
            if args_added && command + 1 == words.len() {
                let index = position(holder.members(), args).ok_or(NO_COMMAND)?;
                splices.extend(source.syntax.remove(source.text, holder.members(), index..index + 1));
            } else {
                // `words` starts with tidegate, which is not in `args`, so this also drops the server's program.
                splices.push(remove_first(source.text, &args.value, command));
            }
            Ok(splices)
        }
        EntryKind::ListCommand { command: list, .. } => {
            Ok(vec![remove_first(source.text, &list.value, command)])
        }
        _ => Err(NO_COMMAND),
    }
}

/// Returns the index of the word after the first `--` of tidegate, if there is one.
fn command_index(words: &[&Node], at: usize) -> Option<usize> {
    let first = at + words.get(at..)?.iter().position(|word| word.as_str() == Some("--"))? + 1;
    (first < words.len()).then_some(first)
}

fn position(members: &[Member], member: &Member) -> Option<usize> {
    members.iter().position(|other| std::ptr::eq(other, member))
}

/// Removes the first words of a list.
fn remove_first(text: &str, list: &Node, count: usize) -> Splice {
    let words = list.as_array().unwrap_or_default();
    let start = words.first().map_or(list.span.start + 1, |first| first.span.start);
    match words.get(count) {
        Some(next) => Splice::new(start..next.span.start, ""),
        None if text[list.span.start + 1..start].is_empty() => {
            Splice::new(start..words.last().map_or(start, |last| last.span.end), "")
        }
        // A client has reformatted the list to one word per line; remove the line breaks too.
        None => Splice::new(list.span.clone(), "[]"),
    }
}

fn undo_remote(
    source: &Source<'_>,
    entry: &Node,
    (kind, at): (&EntryKind<'_>, usize),
    was: &RemoteUndo,
    client: &Client,
) -> Result<Vec<Splice>, &'static str> {
    let format = &client.format;
    let environment = entry.get(format.environment);
    let url_variable = environment.and_then(|environment| environment.value.get(URL_VARIABLE));
    let url = url_node(kind, at, url_variable).ok_or("its URL is gone")?;
    let command = entry.get("command").ok_or("its command is gone")?;
    let mut splices = vec![
        Splice::new(command.key.clone(), was.url.as_str()),
        Splice::new(command.value.span.clone(), source.literal(url)),
    ];
    if let EntryKind::SplitCommand { args: Some(args), .. } = kind
        && let Some(index) = position(entry.members(), args)
    {
        splices.extend(source.syntax.remove(source.text, entry.members(), index..index + 1));
    }
    if let (Some(value), Some(transport)) = (&was.transport, entry.get("type")) {
        splices.push(Splice::new(transport.value.span.clone(), value.as_str()));
    }
    if let Some(environment) = environment {
        // Both insert at the end of the command: the restored headers must come before the removal of `args`.
        splices.splice(..0, restore_headers(source, entry, (command, environment), was)?);
    }
    if let (Some((key, value)), Some(keys)) = (&was.header_variables, format.header_variables)
        && let Some(inherited) = entry.get(keys.inherited)
    {
        splices.push(Splice::new(inherited.key.clone(), key.as_str()));
        splices.push(Splice::new(inherited.value.span.clone(), value.as_str()));
    }
    if let (Some((key, value)), Some(enabled)) = (&was.declined_login, entry.get(ENABLED_KEY)) {
        match enabled.value.value {
            Value::Bool(true) => splices.extend([
                Splice::new(enabled.key.clone(), key.as_str()),
                Splice::new(enabled.value.span.clone(), value.as_str()),
            ]),
            // The user has disabled the server since; keep that.
            _ => splices.push(source.syntax.insert_after(source.text, enabled, key, value)),
        }
    }
    Ok(splices)
}

/// Turns variables back into headers and removes the variable of the URL; other variables stay.
fn restore_headers(
    source: &Source<'_>,
    entry: &Node,
    (command, environment): (&Member, &Member),
    was: &RemoteUndo,
) -> Result<Vec<Splice>, &'static str> {
    let (text, syntax) = (source.text, source.syntax);
    let members = environment.value.members();
    let header = |name: &str| was.header_keys.iter().find(|(variable, _)| variable == name);
    let is_ours = |member: &Member| member.name == URL_VARIABLE || header(&member.name).is_some();
    let has_others = members.iter().any(|member| !is_ours(member));
    match (&was.headers, has_others) {
        (Some(headers), false) => {
            let mut splices = vec![Splice::new(environment.key.clone(), headers.as_str())];
            let url_index = members.iter().position(|member| member.name == URL_VARIABLE);
            splices.extend(url_index.into_iter().flat_map(|at| syntax.remove(text, members, at..at + 1)));
            for (variable, header) in &was.header_keys {
                let member = environment.value.get(variable);
                splices.extend(member.map(|member| Splice::new(member.key.clone(), header.as_str())));
            }
            Ok(splices)
        }
        (headers, true) => {
            let restored = members.iter().filter_map(|member| {
                let (_, header) = header(&member.name)?;
                Some((header.clone(), source.literal(&member.value).to_owned()))
            });
            let restored =
                syntax.inline_object(&restored.collect::<Vec<_>>(), Spacing::of(text, environment));
            let restored =
                headers.as_ref().map(|headers| syntax.insert_after(text, command, headers, &restored));
            let removed = runs(members, is_ours).flat_map(|run| syntax.remove(text, members, run));
            Ok(restored.into_iter().chain(removed).collect())
        }
        (None, false) if members.is_empty() => Ok(Vec::new()),
        (None, false) => {
            let index = position(entry.members(), environment).ok_or("its environment has moved")?;
            Ok(syntax.remove(text, entry.members(), index..index + 1))
        }
    }
}

/// Returns the indexes of the members that match, as runs of adjacent ones.
fn runs(members: &[Member], matches: impl Fn(&Member) -> bool) -> impl Iterator<Item = Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (index, _) in members.iter().enumerate().filter(|(_, member)| matches(member)) {
        match runs.last_mut() {
            Some(run) if run.end == index => run.end += 1,
            _ => runs.push(index..index + 1),
        }
    }
    runs.into_iter()
}

/// Returns the URL in the arguments, or in the variable they name.
fn url_node<'n>(kind: &EntryKind<'n>, at: usize, variable: Option<&'n Member>) -> Option<&'n Node> {
    let mut words = kind.words().into_iter().skip(at);
    let flag = words.find_map(|word| word.as_str().filter(|text| matches!(*text, "--url" | "--url-env")))?;
    if flag == "--url" { words.next() } else { variable.map(|member| &member.value) }
}
