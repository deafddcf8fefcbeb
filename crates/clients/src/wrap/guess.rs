//! Works out how to undo a wrapped entry that has no record, because the server was renamed or the data folder is lost.
//!
//! The entry itself shows the command or URL. The original spelling of keys, whether `args` was an empty list, and
//! opencode's `"oauth": false` cannot be recovered.

use super::{RemoteUndo, Undo, Wrapped};
use crate::client::{Client, EntryFormat, Scope};
use crate::document::{Node, Notation, Spacing, Syntax};
use crate::entry::{EntryKind, WrapState};

/// Returns how to undo the entry at a path; `None` if it is not wrapped, `Err` if its original cannot be worked out.
pub(crate) fn guess(
    text: &str,
    notation: Notation,
    client: &Client,
    (scope, path): (Scope, &[String]),
) -> Option<Result<Wrapped, Wrapped>> {
    let syntax = notation.syntax();
    let root = syntax.parse(text).ok()?;
    let entry = root.at(path)?;
    let kind = EntryKind::of(entry, &client.format);
    let WrapState::Wrapped(at) = kind.wrap_state() else { return None };
    let words: Vec<&str> =
        kind.words().iter().skip(at).map(|word| word.as_str().unwrap_or_default()).collect();
    let command = Undo::Command { args_added: true };
    let undo = match words.contains(&"--") {
        true => Some(command.clone()),
        false => remote(syntax, entry, &words, &client.format).map(|undo| Undo::Remote(Box::new(undo))),
    };
    let wrapped = |undo| Wrapped { client: client.name.into(), scope, path: path.to_vec(), undo };
    Some(undo.map(wrapped).ok_or_else(|| wrapped(command)))
}

fn remote(syntax: &dyn Syntax, entry: &Node, words: &[&str], format: &EntryFormat) -> Option<RemoteUndo> {
    let values =
        |flag: &'static str| words.windows(2).filter(move |pair| pair[0] == flag).map(|pair| pair[1]);
    let environment = entry.get(format.environment).map(|environment| &environment.value);
    let headers: Vec<(&str, &str)> = values("--header-env").filter_map(|pair| pair.split_once('=')).collect();
    let (from_entry, inherited): (Vec<_>, Vec<_>) = headers.into_iter().partition(|(_, variable)| {
        environment.is_some_and(|environment| environment.get(variable).is_some())
    });
    let bearer = values("--bearer-env").next();
    Some(RemoteUndo {
        transport: entry.get("type").map(|_| syntax.string(format.remote_type)),
        url: syntax.key(format.url.first()?),
        headers: (!from_entry.is_empty()).then(|| syntax.key(format.headers)),
        header_keys: from_entry
            .iter()
            .map(|(header, variable)| ((*variable).to_owned(), syntax.key(header)))
            .collect(),
        header_variables: match (bearer, inherited.as_slice(), format.header_variables) {
            (None, [], _) => None,
            (Some(variable), [], Some(keys)) => Some((syntax.key(keys.bearer), syntax.string(variable))),
            (None, inherited, Some(keys)) => {
                let pairs = inherited.iter().map(|(header, name)| (syntax.key(header), syntax.string(name)));
                Some((
                    syntax.key(keys.headers),
                    syntax.inline_object(&pairs.collect::<Vec<_>>(), Spacing::Spaced),
                ))
            }
            // No client writes both; only the user knows what it was.
            _ => return None,
        },
        declined_login: None,
    })
}
