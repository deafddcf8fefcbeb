//! The values of a call's arguments.
//!
//! An overview prefers rows that contain one of these values: they are likely what the caller is looking for.

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

#[cfg(test)]
mod tests {
    use super::*;

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
