//! Several files in one text, as `read_multiple_files` tools return them: a line with the path and a colon, the
//! content, a line of dashes.
//!
//! Each file is a record with its path, its size and its content. Content that is JSON is read as data; any other is a
//! string.

use crate::json::value::{ReadLimits, Value};
use crate::json::{Dialect, Scanner, StringToken, compact, strict, string};
use crate::pattern::RecordLines;
use crate::profile::ProfileBuilder;
use crate::source::Span;
use crate::text::Text;

/// Returns whether a line separates two files, if the path of a file follows.
pub(super) fn is_separator(line: &str) -> bool {
    line.trim_end() == "---"
}

/// Returns the path and the content of a file.
fn parts(raw: &RecordLines) -> (String, String) {
    let path = raw.lines.first().map_or("", |line| line.trim_end().trim_end_matches(':'));
    let mut content = raw.lines.get(1..).unwrap_or_default().join("\n");
    content.truncate(content.trim_end().len());
    (path.to_owned(), content)
}

pub(super) fn feed(raw: &RecordLines, at: u64, builder: &mut ProfileBuilder) {
    let (path, content) = parts(raw);
    builder.open(true, at);
    builder.key(&StringToken::unescaped("file"), at);
    builder.string(&StringToken::unescaped(&path), at);
    builder.key(&StringToken::unescaped("bytes"), at);
    builder.number(content.len().to_string().as_bytes(), at);
    builder.key(&StringToken::unescaped("content"), at);
    if strict::is_container(&content) {
        let source = content.as_bytes();
        let text = Text::plain(&source, Span::whole(&source));
        // All values inside a file get the file's offset, because the file is read again as one record.
        let mut scanner = Scanner::new(&text, Dialect::Json);
        scanner.decode_strings();
        let _ = builder.scan_value_at(&mut scanner, at);
    } else {
        builder.string(&StringToken::unescaped(&content), at);
    }
    builder.close(at + raw.bytes);
}

pub(super) fn json(raw: &RecordLines) -> String {
    let (path, content) = parts(raw);
    let source = content.as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    let mut out = String::from("{\"file\":");
    string::write_visible(&path, &mut out);
    out.push_str(&format!(",\"bytes\":{},\"content\":", content.len()));
    let parsed = strict::is_container(&content)
        .then(|| compact::value(&mut Scanner::new(&text, Dialect::Json), Dialect::Json, usize::MAX).ok())
        .flatten()
        .filter(|compact| compact.whole);
    match parsed {
        Some(compact) => out.push_str(&compact.text),
        None => string::write_visible(&content, &mut out),
    }
    out.push('}');
    out
}

pub(super) fn object(raw: &RecordLines) -> Value {
    let (path, content) = parts(raw);
    let source = content.as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    let value = if strict::is_container(&content) {
        Value::read(&mut Scanner::new(&text, Dialect::Json), ReadLimits::RECORD).unwrap_or(Value::Null)
    } else {
        Value::string(&content)
    };
    Value::object(vec![
        ("file".into(), Value::string(&path)),
        ("bytes".into(), Value::Number(content.len().to_string().into())),
        ("content".into(), value),
    ])
}
