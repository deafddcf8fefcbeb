//! Several files in one text, as `read_multiple_files` tools return them: a line with the path and a colon, the
//! content, a line of dashes.
//!
//! A file that is JSON is data like any other under `content`; every other is a text.

use crate::json::value::{ReadLimits, Value};
use crate::json::{Dialect, Event, Scanner, StringToken};
use crate::pattern::{Raw, object_value, string_value};
use crate::profile::Builder;
use crate::source::Span;
use crate::text::Text;

/// Whether a line stands between two files.
pub(super) fn is_separator(line: &str) -> bool {
    line.trim_end() == "---"
}

/// The path and the content of a file.
fn parts(raw: &Raw) -> (String, String) {
    let path = raw.lines.first().map_or("", |line| line.trim_end().trim_end_matches(':'));
    let mut content = raw.lines.get(1..).unwrap_or_default().join("\n");
    content.truncate(content.trim_end().len());
    (path.to_owned(), content)
}

fn token(text: &str) -> StringToken<'_> {
    StringToken { raw: text.as_bytes(), length: text.len() as u64, escapes: false }
}

pub(super) fn feed(raw: &Raw, at: u64, builder: &mut Builder) {
    let (path, content) = parts(raw);
    builder.open(true, at);
    builder.key(&token("file"), at);
    builder.string(&token(&path), at);
    builder.key(&token("bytes"), at);
    builder.number(content.len().to_string().as_bytes(), at);
    builder.key(&token("content"), at);
    let source = content.as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    if is_json(&text) {
        // The offsets of a file's inside are all that of the file: it is read as one record.
        let mut scanner = Scanner::new(&text, Dialect::Json);
        let _ = builder.scan_value_at(&mut scanner, at);
    } else {
        builder.string(&token(&content), at);
    }
    builder.close(at + raw.bytes);
}

fn is_json(text: &Text<'_>) -> bool {
    let mut scanner = Scanner::new(text, Dialect::Json);
    let container = matches!(scanner.next(), Ok(Event::StartObject | Event::StartArray));
    container
        && scanner.skip_to_depth(0).is_ok()
        && scanner.next().is_ok()
        && !scanner.begin_next().unwrap_or(true)
}

pub(super) fn object(raw: &Raw) -> Value {
    let (path, content) = parts(raw);
    let source = content.as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    let value = if is_json(&text) {
        Value::read(&mut Scanner::new(&text, Dialect::Json), ReadLimits::RECORD).unwrap_or(Value::Null)
    } else {
        string_value(&content)
    };
    object_value(vec![
        ("file".into(), string_value(&path)),
        ("bytes".into(), Value::Number(content.len().to_string().into())),
        ("content".into(), value),
    ])
}
