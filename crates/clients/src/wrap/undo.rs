//! Takes tidegate away from in front of a server, in a file that may have changed since.
//!
//! What stands in the entry now is what counts: the command behind `--`, the address behind `--url`. So whatever was
//! changed beside them stays changed.

use std::ops::Range;

use super::remote::{SWITCH, URL_VARIABLE};
use super::{Remote, Source, Undo, Wrapped};
use crate::client::Client;
use crate::document::{Member, Node, Notation, Splice, Style, Value, same_besides, splice};
use crate::entry::{Gate, Way};

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
    let Gate::InFront(at) = way.gate() else { return Undone::Absent };
    let source = Source { text, syntax };
    let splices = match &wrapped.undo {
        Undo::Started { args_added } => started(&source, &way, at, *args_added),
        Undo::Remote(was) => remote(&source, entry, (&way, at), was, client),
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

fn started(
    source: &Source<'_>,
    way: &Way<'_>,
    at: usize,
    args_added: bool,
) -> Result<Vec<Splice>, &'static str> {
    const NO_COMMAND: &str = "its command does not stand behind -- any more";
    let words = way.words();
    let command = behind(&words, at).ok_or(NO_COMMAND)?;
    match way {
        Way::Apart { holder, program, args: Some(args) } => {
            let mut splices = vec![Splice::new(program.value.span.clone(), source.written(words[command]))];
            if args_added && command + 1 == words.len() {
                let index = position(holder.members(), args).ok_or(NO_COMMAND)?;
                splices.extend(source.syntax.without(source.text, holder.members(), index..index + 1));
            } else {
                // The program is the first word, and none of the list.
                splices.push(without_first(source.text, &args.value, command));
            }
            Ok(splices)
        }
        Way::Together { command: list, .. } => Ok(vec![without_first(source.text, &list.value, command)]),
        _ => Err(NO_COMMAND),
    }
}

/// Where the command behind the first `--` of tidegate starts, if it is there.
fn behind(words: &[&Node], at: usize) -> Option<usize> {
    let first = at + words.get(at..)?.iter().position(|word| word.text() == Some("--"))? + 1;
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
    (way, at): (&Way<'_>, usize),
    was: &Remote,
    client: &Client,
) -> Result<Vec<Splice>, &'static str> {
    let shape = &client.shape;
    let environment = entry.get(shape.environment);
    let hidden = environment.and_then(|environment| environment.value.get(URL_VARIABLE));
    let address = address(way, at, hidden).ok_or("its address is not there any more")?;
    let command = entry.get("command").ok_or("its command is not there any more")?;
    let mut splices = vec![
        Splice::new(command.key.clone(), was.url.as_str()),
        Splice::new(command.value.span.clone(), source.written(address)),
    ];
    if let Way::Apart { args: Some(args), .. } = way
        && let Some(index) = position(entry.members(), args)
    {
        splices.extend(source.syntax.without(source.text, entry.members(), index..index + 1));
    }
    if let (Some(value), Some(transport)) = (&was.transport, entry.get("type")) {
        splices.push(Splice::new(transport.value.span.clone(), value.as_str()));
    }
    if let Some(environment) = environment {
        // What comes in at the end of the command comes before the arguments that go from there.
        splices.splice(..0, variables(source, entry, (command, environment), was)?);
    }
    if let (Some((key, value)), Some(by)) = (&was.by_variable, shape.by_variable)
        && let Some(passed) = entry.get(by.passed)
    {
        splices.push(Splice::new(passed.key.clone(), key.as_str()));
        splices.push(Splice::new(passed.value.span.clone(), value.as_str()));
    }
    if let (Some((key, value)), Some(switch)) = (&was.no_login, entry.get(SWITCH)) {
        match switch.value.value {
            Value::Flag(true) => splices.extend([
                Splice::new(switch.key.clone(), key.as_str()),
                Splice::new(switch.value.span.clone(), value.as_str()),
            ]),
            // Somebody uses the switch meanwhile.
            _ => splices.push(source.syntax.after(source.text, switch, key, value)),
        }
    }
    Ok(splices)
}

/// Variables become headers again, and the address is no variable any more; variables that are not ours stay.
fn variables(
    source: &Source<'_>,
    entry: &Node,
    (command, environment): (&Member, &Member),
    was: &Remote,
) -> Result<Vec<Splice>, &'static str> {
    let (text, syntax) = (source.text, source.syntax);
    let members = environment.value.members();
    let header = |name: &str| was.names.iter().find(|(variable, _)| variable == name);
    let is_ours = |member: &Member| member.name == URL_VARIABLE || header(&member.name).is_some();
    let others = members.iter().any(|member| !is_ours(member));
    match (&was.headers, others) {
        (Some(headers), false) => {
            let mut splices = vec![Splice::new(environment.key.clone(), headers.as_str())];
            let hidden = members.iter().position(|member| member.name == URL_VARIABLE);
            splices.extend(hidden.into_iter().flat_map(|at| syntax.without(text, members, at..at + 1)));
            for (variable, header) in &was.names {
                let member = environment.value.get(variable);
                splices.extend(member.map(|member| Splice::new(member.key.clone(), header.as_str())));
            }
            Ok(splices)
        }
        (headers, true) => {
            let back = members.iter().filter_map(|member| {
                let (_, header) = header(&member.name)?;
                Some((header.clone(), source.written(&member.value).to_owned()))
            });
            let back = syntax.map(&back.collect::<Vec<_>>(), Style::of(text, environment));
            let back = headers.as_ref().map(|headers| syntax.after(text, command, headers, &back));
            let gone = runs(members, is_ours).flat_map(|run| syntax.without(text, members, run));
            Ok(back.into_iter().chain(gone).collect())
        }
        (None, false) if members.is_empty() => Ok(Vec::new()),
        (None, false) => {
            let index = position(entry.members(), environment).ok_or("its environment has moved")?;
            Ok(syntax.without(text, entry.members(), index..index + 1))
        }
    }
}

/// The members that something is true of, as runs of those that stand side by side.
fn runs(members: &[Member], is_one: impl Fn(&Member) -> bool) -> impl Iterator<Item = Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (index, _) in members.iter().enumerate().filter(|(_, member)| is_one(member)) {
        match runs.last_mut() {
            Some(run) if run.end == index => run.end += 1,
            _ => runs.push(index..index + 1),
        }
    }
    runs.into_iter()
}

/// The address in the arguments, or in the variable that they name.
fn address<'n>(way: &Way<'n>, at: usize, hidden: Option<&'n Member>) -> Option<&'n Node> {
    let mut words = way.words().into_iter().skip(at);
    let flag = words.find_map(|word| word.text().filter(|text| matches!(*text, "--url" | "--url-env")))?;
    if flag == "--url" { words.next() } else { hidden.map(|member| &member.value) }
}
