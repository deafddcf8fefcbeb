//! Takes tidegate away from in front of a server, in a file that may have changed since.
//!
//! What stands in the entry now is what counts: the command behind `--`, the address behind `--url`. So whatever was
//! changed beside them stays changed.

use super::remote::URL_VARIABLE;
use super::{Remote, Source, Undo, Wrapped};
use crate::client::Client;
use crate::document::{Member, Node, Notation, Splice, same_besides, splice};
use crate::entry::{Gate, Way, is_tidegate};

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Undone {
    /// The text without tidegate.
    Done(String),
    /// The server is gone, or tidegate is not in front of it any more.
    Absent,
    /// It was changed so that nobody can say what it was; says how.
    Changed(String),
}

/// Undoes one server.
pub(crate) fn undo(text: &str, notation: Notation, client: &Client, wrapped: &Wrapped) -> Undone {
    let syntax = notation.syntax();
    let Ok(root) = syntax.parse(text) else { return Undone::Changed("the file cannot be read".into()) };
    let Some(entry) = root.at(&wrapped.path) else { return Undone::Absent };
    let way = Way::of(entry, &client.shape);
    if way.gate() != Gate::InFront {
        return Undone::Absent;
    }
    let source = Source { text, syntax };
    let splices = match &wrapped.undo {
        Undo::Started { args_added } => started(&source, &way, *args_added),
        Undo::Remote(was) => remote(&source, entry, &way, was, client),
    };
    let splices = match splices {
        Ok(splices) => splices,
        Err(why) => return Undone::Changed(why.into()),
    };
    let unclear = || Undone::Changed("it was rewritten in a way that cannot be undone safely".into());
    let Some(new) = splice(text, splices) else { return unclear() };
    match syntax.parse(&new) {
        Ok(read) if same_besides((text, &root), (&new, &read), &wrapped.path) => Undone::Done(new),
        _ => unclear(),
    }
}

fn started(source: &Source<'_>, way: &Way<'_>, args_added: bool) -> Result<Vec<Splice>, &'static str> {
    const NO_COMMAND: &str = "its command does not stand behind -- any more";
    match way {
        Way::Apart { holder, program, args: Some(args) } => {
            let words = args.value.list().unwrap_or_default();
            let command = behind(words).ok_or(NO_COMMAND)?;
            let mut splices = vec![Splice::new(program.value.span.clone(), source.written(&words[command]))];
            if args_added && command + 1 == words.len() {
                let index = position(holder.members(), args).ok_or(NO_COMMAND)?;
                splices.extend(source.syntax.without(source.text, holder.members(), index));
            } else {
                splices.push(without_first(source.text, &args.value, command + 1));
            }
            Ok(splices)
        }
        Way::Together { command, words } => {
            let first = behind(words).ok_or(NO_COMMAND)?;
            Ok(vec![without_first(source.text, &command.value, first)])
        }
        _ => Err(NO_COMMAND),
    }
}

/// Where the command behind the first `--` starts, if it is there.
fn behind(words: &[Node]) -> Option<usize> {
    let first = words.iter().position(|word| word.text() == Some("--"))? + 1;
    (first < words.len()).then_some(first)
}

fn position(members: &[Member], member: &Member) -> Option<usize> {
    members.iter().position(|other| std::ptr::eq(other, member))
}

/// Takes the first words of a list away.
fn without_first(text: &str, list: &Node, count: usize) -> Splice {
    let words = list.list().unwrap_or_default();
    let start = words.first().map_or(list.span.start + 1, |first| first.span.start);
    match words.get(count) {
        Some(next) => Splice::new(start..next.span.start, ""),
        None if text[list.span.start + 1..start].is_empty() => {
            Splice::new(start..words.last().map_or(start, |last| last.span.end), "")
        }
        // A client has written the list anew, one word a line; the lines go as well.
        None => Splice::new(list.span.clone(), "[]"),
    }
}

fn remote(
    source: &Source<'_>,
    entry: &Node,
    way: &Way<'_>,
    was: &Remote,
    client: &Client,
) -> Result<Vec<Splice>, &'static str> {
    let shape = &client.shape;
    let environment = entry.get(shape.environment);
    let hidden = environment.and_then(|environment| environment.value.get(URL_VARIABLE));
    let address = address(way, hidden).ok_or("its address is not there any more")?;
    let command = entry.get("command").ok_or("its command is not there any more")?;
    let mut splices = vec![
        Splice::new(command.key.clone(), was.url.as_str()),
        Splice::new(command.value.span.clone(), source.written(address)),
    ];
    if let Way::Apart { args: Some(args), .. } = way
        && let Some(index) = position(entry.members(), args)
    {
        splices.extend(source.syntax.without(source.text, entry.members(), index));
    }
    if let (Some(value), Some(transport)) = (&was.transport, entry.get("type")) {
        splices.push(Splice::new(transport.value.span.clone(), value.as_str()));
    }
    if let Some(environment) = environment {
        splices.extend(variables(source, entry, environment, was)?);
    }
    if let (Some((key, value)), Some(by)) = (&was.by_variable, shape.by_variable)
        && let Some(passed) = entry.get(by.passed)
    {
        splices.push(Splice::new(passed.key.clone(), key.as_str()));
        splices.push(Splice::new(passed.value.span.clone(), value.as_str()));
    }
    Ok(splices)
}

/// Variables become headers again, and the address is no variable any more.
fn variables(
    source: &Source<'_>,
    entry: &Node,
    environment: &Member,
    was: &Remote,
) -> Result<Vec<Splice>, &'static str> {
    let members = environment.value.members();
    let hidden = members.iter().position(|member| member.name == URL_VARIABLE);
    let ours = |name: &str| name == URL_VARIABLE || was.names.iter().any(|(variable, _)| variable == name);
    let others = members.iter().any(|member| !ours(&member.name));
    match (&was.headers, hidden) {
        (Some(_), _) if others => Err("variables were added to its environment, which would become headers"),
        (Some(headers), hidden) => {
            let mut splices = vec![Splice::new(environment.key.clone(), headers.as_str())];
            splices.extend(hidden.into_iter().flat_map(|at| source.syntax.without(source.text, members, at)));
            for (variable, header) in &was.names {
                let member = environment.value.get(variable);
                splices.extend(member.map(|member| Splice::new(member.key.clone(), header.as_str())));
            }
            Ok(splices)
        }
        (None, Some(hidden)) if others => Ok(source.syntax.without(source.text, members, hidden)),
        (None, Some(_)) => {
            let index = position(entry.members(), environment).ok_or("its environment has moved")?;
            Ok(source.syntax.without(source.text, entry.members(), index))
        }
        (None, None) => Ok(Vec::new()),
    }
}

/// The address in the arguments, or in the variable that they name.
fn address<'n>(way: &Way<'n>, hidden: Option<&'n Member>) -> Option<&'n Node> {
    let mut words = way.words().into_iter().skip_while(|word| !word.text().is_some_and(is_tidegate));
    let flag = words.find_map(|word| word.text().filter(|text| matches!(*text, "--url" | "--url-env")))?;
    if flag == "--url" { words.next() } else { hidden.map(|member| &member.value) }
}
