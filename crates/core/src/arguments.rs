//! The arguments of a call: their values, and the limits among them.
//!
//! An overview prefers rows that contain one of the values: they are likely what the caller is looking for. A list as
//! long as a limit may be one page of a longer list.

use crate::json::{Dialect, Event, Scanner, string};
use crate::source::Span;
use crate::text::Text;

/// The maximum number of values taken from the arguments of a call.
const MAX_ARGUMENT_VALUES: usize = 16;

/// Returns the scalars of a call's arguments that are long enough to be specific.
pub(crate) fn values(arguments: Option<&str>) -> Vec<String> {
    let Some(source) = arguments.map(str::as_bytes) else { return Vec::new() };
    let text = Text::plain(&source, Span::whole(&source));
    let mut scanner = Scanner::new(&text, Dialect::Json);
    let mut values = Vec::new();
    while values.len() < MAX_ARGUMENT_VALUES {
        let value = match scanner.next() {
            Ok(Event::String(token)) => string::decode_text(token.raw),
            Ok(Event::Number(raw)) => String::from_utf8_lossy(raw).into_owned(),
            Ok(Event::End) | Err(_) => break,
            Ok(_) => continue,
        };
        if (3..=200).contains(&value.len()) {
            values.push(value);
        }
    }
    values
}

/// A limit that the call set to the length of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ListLimit {
    pub(crate) name: String,
    pub(crate) value: u64,
}

/// Names of arguments that limit how many records come back, in lower case and without separators.
const LIMIT_NAMES: &[&str] = &[
    "limit",
    "perpage",
    "pagesize",
    "first",
    "last",
    "maxresults",
    "maxitems",
    "maxrecords",
    "maxrows",
    "maxkeys",
    "maxcount",
    "maxnumber",
    "numresults",
    "numberofresults",
    "resultsperpage",
    "itemsperpage",
    "hitsperpage",
    "pagelimit",
    "rowlimit",
    "resultlimit",
    "count",
    "size",
    "top",
    "take",
    "rows",
    "n",
    "num",
    "k",
    "topk",
    "batchsize",
    "pagecount",
    "querylimit",
    "head",
    "tail",
];

/// Returns the arguments of a call, wherever they stand, that limit the length of a list.
pub(crate) fn limits(arguments: Option<&str>) -> Vec<ListLimit> {
    let Some(source) = arguments.map(str::as_bytes) else { return Vec::new() };
    let text = Text::plain(&source, Span::whole(&source));
    let mut scanner = Scanner::new(&text, Dialect::Json);
    let (mut limits, mut key) = (Vec::new(), None);
    while limits.len() < MAX_ARGUMENT_VALUES {
        let value = match scanner.next() {
            Ok(Event::Key(token)) => {
                key = Some(string::decode_text(token.raw));
                continue;
            }
            Ok(Event::String(token)) => string::decode_text(token.raw),
            Ok(Event::Number(raw)) => String::from_utf8_lossy(raw).into_owned(),
            Ok(Event::End) | Err(_) => break,
            Ok(_) => {
                key = None;
                continue;
            }
        };
        let Some((name, value)) = key.take().zip(value.parse().ok()) else { continue };
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
        if LIMIT_NAMES.contains(&plain.to_ascii_lowercase().as_str()) {
            limits.push(ListLimit { name, value });
        }
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_every_spelling() {
        let found = |arguments| -> Vec<u64> {
            limits(Some(arguments)).into_iter().map(|limit| limit.value).collect()
        };
        assert_eq!(found(r#"{"perPage":30,"page":2,"query":"50"}"#), [30]);
        assert_eq!(found(r#"{"page_size":"25","options":{"max-results":10}}"#), [25, 10]);
        assert!(found(r#"{"limit":[1,2],"offset":100,"limits":7}"#).is_empty());
        assert!(limits(None).is_empty());
    }

    #[test]
    fn scalars_of_some_length() {
        assert_eq!(
            values(Some(r#"{"repo":"acme/widgets","n":4211,"x":[1,"ab"],"ok":true}"#)),
            ["acme/widgets", "4211"]
        );
        assert!(values(Some("not json")).is_empty());
        assert!(values(None).is_empty());
    }
}
