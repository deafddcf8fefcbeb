//! The values a tool was called with, to find the records they speak of.

use crate::json::{Dialect, Event, Scanner, string};
use crate::source::Span;
use crate::text::Text;

/// The most values looked at.
const MOST: usize = 16;

/// Returns the scalars of a call's arguments that are long enough to mean something.
pub(crate) fn values(arguments: Option<&str>) -> Vec<String> {
    let Some(source) = arguments.map(str::as_bytes) else { return Vec::new() };
    let text = Text::plain(&source, Span::whole(&source));
    let mut scanner = Scanner::new(&text, Dialect::Json);
    let mut values = Vec::new();
    while values.len() < MOST {
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
