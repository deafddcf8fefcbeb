//! What an entry was before tidegate stood in front of it, where no record tells: the server was renamed, or the data folder
//! is lost. What matters stands in the entry; how it was written is not known, nor whether opencode was told not to log in.

use super::{Remote, Undo, Wrapped};
use crate::client::{Client, Scope, Shape};
use crate::document::{Node, Notation, Style, Syntax};
use crate::entry::{Gate, Way};

/// Returns how the entry at a path is to be undone; `None` where tidegate is not in front of it.
pub(crate) fn guess(
    text: &str,
    notation: Notation,
    client: &Client,
    (scope, path): (Scope, &[String]),
) -> Option<Result<Wrapped, Wrapped>> {
    let syntax = notation.syntax();
    let root = syntax.parse(text).ok()?;
    let entry = root.at(path)?;
    let way = Way::of(entry, &client.shape);
    let Gate::InFront(at) = way.gate() else { return None };
    let words: Vec<&str> = way.words().iter().skip(at).map(|word| word.text().unwrap_or_default()).collect();
    let started = Undo::Started { args_added: true };
    let undo = match words.contains(&"--") {
        true => Some(started.clone()),
        false => remote(syntax, entry, &words, &client.shape).map(|was| Undo::Remote(Box::new(was))),
    };
    let wrapped = |undo| Wrapped { client: client.name.into(), scope, path: path.to_vec(), undo };
    Some(undo.map(wrapped).ok_or_else(|| wrapped(started)))
}

fn remote(syntax: &dyn Syntax, entry: &Node, words: &[&str], shape: &Shape) -> Option<Remote> {
    let values =
        |flag: &'static str| words.windows(2).filter(move |pair| pair[0] == flag).map(|pair| pair[1]);
    let environment = entry.get(shape.environment).map(|environment| &environment.value);
    let headers: Vec<(&str, &str)> = values("--header-env").filter_map(|pair| pair.split_once('=')).collect();
    let (own, passed): (Vec<_>, Vec<_>) = headers.into_iter().partition(|(_, variable)| {
        environment.is_some_and(|environment| environment.get(variable).is_some())
    });
    let bearer = values("--bearer-env").next();
    Some(Remote {
        transport: entry.get("type").map(|_| syntax.string(shape.reached)),
        url: syntax.key(shape.url.first()?),
        headers: (!own.is_empty()).then(|| syntax.key(shape.headers)),
        names: own.iter().map(|(header, variable)| ((*variable).to_owned(), syntax.key(header))).collect(),
        by_variable: match (bearer, passed.as_slice(), shape.by_variable) {
            (None, [], _) => None,
            (Some(variable), [], Some(by)) => Some((syntax.key(by.bearer), syntax.string(variable))),
            (None, passed, Some(by)) => {
                let pairs = passed.iter().map(|(header, name)| (syntax.key(header), syntax.string(name)));
                Some((syntax.key(by.headers), syntax.map(&pairs.collect::<Vec<_>>(), Style::Wide)))
            }
            // Only the person knows how the client got these.
            _ => return None,
        },
        no_login: None,
    })
}
