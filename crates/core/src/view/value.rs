//! A part of a result as one JSON value, to be put into other JSON.
//!
//! A file may say in a note what it leaves out, and writes a string that is data as that data. A value that goes into the
//! arguments of a call has no notes and must have its own type: a string stays a string, and numbers stay as written. The
//! value is strict JSON on one line.

use std::io::{self, Write};

use super::dataset::Dataset;
use super::engine::{EngineEvent, EngineProgram, Engines};
use super::error::ViewError;
use super::export::{ExportError, ExportFormat, ExportRequest, export, json_string};
use super::path::{self, Target};
use super::within::{OpenedValue, main_value};
use super::{Query, View};
use crate::json::strict;
use crate::outline::Outline;
use crate::source::Source;

/// A part of a result that is wanted as one value.
#[derive(Clone, Copy)]
pub struct ValueRequest<'r> {
    /// The result.
    pub source: &'r dyn Source,
    /// The outline that was stored with it.
    pub outline: &'r Outline,
    /// All of it, a path, or a program of jq or SQL.
    pub view: &'r View,
    /// The engines behind jq and SQL.
    pub engines: &'r dyn Engines,
    /// The most bytes of the value.
    pub max_bytes: usize,
}

/// Why there is no value.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ValueError {
    /// The view makes no sense, or the result cannot be read.
    #[error(transparent)]
    View(#[from] ViewError),
    /// The value has more bytes than allowed.
    #[error("the value is too large")]
    TooLarge,
}

/// Returns a part of a result as one JSON value: the data as it is written, the text of a result that is not data, the
/// value at a path, the result of a jq program (a list if there are several), or the rows of a query as a list of objects.
///
/// # Errors
///
/// A view that makes no sense for this result, a result that cannot be read, or a value that is too large.
pub fn value(request: &ValueRequest<'_>) -> Result<Vec<u8>, ValueError> {
    let mut out = BoundedOutput { bytes: Vec::new(), max_bytes: request.max_bytes, is_full: false };
    let written = request.write(&Dataset::new(request.source, request.outline), &mut out);
    if out.is_full {
        return Err(ValueError::TooLarge);
    }
    written?;
    // Strict JSON has line ends only between values.
    let mut json = out.bytes.trim_ascii().to_vec();
    match std::str::from_utf8(&json).is_ok_and(strict::is_value) {
        true => json.retain(|byte| !matches!(byte, b'\n' | b'\r')),
        false => {
            let message = "the data is not valid JSON everywhere, so it cannot be passed on; choose a part";
            return Err(ViewError::bad(message).into());
        }
    }
    Ok(json)
}

/// A value that grows up to a limit.
struct BoundedOutput {
    bytes: Vec<u8>,
    max_bytes: usize,
    is_full: bool,
}

impl Write for BoundedOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Line ends do not count: they are removed.
        let counted = bytes.iter().filter(|byte| !matches!(byte, b'\n' | b'\r')).count();
        if counted > self.max_bytes {
            self.is_full = true;
            return Err(io::Error::other("the value is too large"));
        }
        self.max_bytes -= counted;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl ValueRequest<'_> {
    fn write(&self, dataset: &Dataset<'_>, out: &mut BoundedOutput) -> Result<(), ViewError> {
        match self.view {
            View::Full if self.outline.data.is_none() => write_text(dataset, out),
            View::Path(path) => {
                let json = at_path(dataset, path)
                    // A block of the result may be asked for as `/content/1`, since no data has that path.
                    .or_else(|error| at_path(dataset, &format!("/{}", path.trim())).map_err(|_| error))?;
                Ok(out.write_all(&json)?)
            }
            View::Jq(program) => match main_value(dataset, self.view)? {
                Some(opened) => self.jq(&opened.dataset(), program, out),
                None => self.jq(dataset, program, out),
            },
            view => {
                let (query, format) = (Query::new(view.clone()), ExportFormat::Json);
                let (source, outline, engines) = (self.source, self.outline, self.engines);
                let request = ExportRequest { source, outline, query: &query, format, engines };
                match export(&request, out) {
                    Ok(_) => Ok(()),
                    Err(ExportError::View(error)) => Err(error),
                    Err(ExportError::Write(error)) => Err(error.into()),
                }
            }
        }
    }

    fn jq(&self, dataset: &Dataset<'_>, program: &str, out: &mut BoundedOutput) -> Result<(), ViewError> {
        let (mut count, mut values) = (0_usize, Vec::new());
        let most = out.max_bytes;
        self.engines.each(dataset, EngineProgram::Jq(program), &mut |event| {
            if let EngineEvent::Value(json) = event {
                count += 1;
                if count > 1 {
                    values.push(b',');
                }
                values.extend_from_slice(json.as_bytes());
                if values.len() > most {
                    out.is_full = true;
                    return Err(io::Error::other("the value is too large"));
                }
            }
            Ok(())
        })?;
        match count {
            0 => Err(ViewError::bad(
                "the jq program has no result; write [...] around it for a list, which may be empty",
            )),
            1 => Ok(out.write_all(&values)?),
            _ => Ok(out.write_all(&[b"[", values.as_slice(), b"]"].concat())?),
        }
    }
}

/// Writes the text of a result that is not data, as a JSON string.
fn write_text(dataset: &Dataset<'_>, out: &mut BoundedOutput) -> Result<(), ViewError> {
    if dataset.text_bytes()? == 0 {
        return Err(ViewError::bad("the result has no text; name a block of it, such as path /content/0"));
    }
    if dataset.text.max_len() > 8 * (out.max_bytes as u64 + 8) {
        // Even if every character is escaped, the text is longer.
        out.is_full = true;
        return Ok(());
    }
    Ok(out.write_all(&json_of_text(&dataset.decoded_text()?))?)
}

fn json_of_text(text: &[u8]) -> Vec<u8> {
    json_string(&String::from_utf8_lossy(text)).into_bytes()
}

/// Returns the JSON of the value at a path, which may lead into strings.
fn at_path(dataset: &Dataset<'_>, path: &str) -> Result<Vec<u8>, ViewError> {
    match path::target(dataset, path)? {
        Target::String(text) => Ok(json_of_text(&text)),
        Target::Other(at) => path::json_at(dataset, path, at),
        Target::Inside { string, path, rest } => {
            let outer = OpenedValue::new(string, path)?;
            at_path(&outer.dataset(), &rest)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payload::Payload;
    use crate::view::{EngineOutput, EngineSink, ResultWindow};

    /// An engine whose programs are the lines of their results.
    struct LineEngine;

    impl Engines for LineEngine {
        fn run(
            &self,
            _: &Dataset<'_>,
            _: EngineProgram<'_>,
            _: ResultWindow,
        ) -> Result<EngineOutput, ViewError> {
            Err(ViewError::bad("not here"))
        }

        fn each(
            &self,
            _: &Dataset<'_>,
            program: EngineProgram<'_>,
            sink: &mut EngineSink<'_>,
        ) -> Result<Vec<String>, ViewError> {
            match program {
                EngineProgram::Jq(lines) => {
                    lines.lines().try_for_each(|line| sink(EngineEvent::Value(line)))?;
                }
                EngineProgram::Sql(lines) => {
                    sink(EngineEvent::Columns(&["a".to_owned(), "b".to_owned()]))?;
                    let cells = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
                    lines.lines().try_for_each(|line| sink(EngineEvent::Row(&cells(line))))?;
                }
                EngineProgram::Grep { .. } | EngineProgram::Count(_) => {
                    return Err(ViewError::bad("not here"));
                }
            }
            Ok(Vec::new())
        }
    }

    /// Returns the value of a view of a result with one text.
    fn of(text: &str, view: View, max_bytes: usize) -> Result<String, String> {
        let mut quoted = String::new();
        crate::json::string::write(text, &mut quoted);
        let result = format!(r#"{{"content":[{{"type":"text","text":{quoted}}}]}}"#).into_bytes();
        let source = result.as_slice();
        let outline = Outline::read(&Payload::read_result(&source).unwrap()).unwrap();
        let request =
            ValueRequest { source: &source, outline: &outline, view: &view, engines: &LineEngine, max_bytes };
        value(&request).map(|json| String::from_utf8(json).unwrap()).map_err(|error| error.to_string())
    }

    fn path(path: &str) -> View {
        View::Path(path.into())
    }

    #[test]
    fn values_keep_their_type_and_their_digits() {
        let data = "{\"n\": 9007199254740993,\n \"f\": 1.0, \"s\": \"0012\", \"z\": [1,\r\n 2], \"z\": null}";
        assert_eq!(
            of(data, View::Full, 100).unwrap(),
            r#"{"n": 9007199254740993, "f": 1.0, "s": "0012", "z": [1, 2], "z": null}"#
        );
        assert_eq!(of(data, path("/n"), 100).unwrap(), "9007199254740993");
        assert_eq!(of(data, path("/f"), 100).unwrap(), "1.0");
        assert_eq!(of(data, path("/s"), 100).unwrap(), "\"0012\"", "a string of digits is no number");
        assert_eq!(of(data, path("$.s"), 100).unwrap(), "\"0012\"");
        assert!(of(data, path("/missing"), 100).unwrap_err().contains("missing"));
        assert!(of(data, path("$.z[*]"), 100).unwrap_err().contains("several values"));
    }

    #[test]
    fn a_text_is_a_string_and_records_are_a_list() {
        assert_eq!(of("Hello \"you\".\nBye.", View::Full, 100).unwrap(), r#""Hello \"you\".\nBye.""#);
        let csv = "id,name\n1,a\n2,b\n3,c\n4,d\n5,e\n6,f\n";
        let json = of(csv, View::Full, 1000).unwrap();
        assert!(json.starts_with('[') && json.ends_with(']') && !json.contains('\n'), "{json}");
    }

    #[test]
    fn results_of_programs() {
        let data = r#"{"a":1}"#;
        let jq = |lines: &str, most| of(data, View::Jq(lines.into()), most);
        assert_eq!(jq("9007199254740993", 16).unwrap(), "9007199254740993");
        assert_eq!(jq("1.0\n\"x\"\nnull", 14).unwrap(), "[1.0,\"x\",null]");
        assert_eq!(jq("1.0\n\"x\"\nnull", 12).unwrap_err(), "the value is too large");
        assert!(jq("", 9).unwrap_err().contains("has no result; write [...] around it"));
        let sql = |lines: &str, most| of(data, View::Sql(lines.into()), most);
        assert_eq!(sql("1.0,\"x\"\n2,null", 99).unwrap(), r#"[{"a":1.0,"b":"x"},{"a":2,"b":null}]"#);
        assert_eq!(sql("", 99).unwrap(), "[]");
        assert_eq!(sql("1,2\n3,4", 20).unwrap_err(), "the value is too large");
    }

    #[test]
    fn a_value_has_at_most_as_many_bytes_as_allowed() {
        for (text, length) in [("[1,2,3,4,5,6]", 13), ("Some words, not data.", 23)] {
            assert_eq!(of(text, View::Full, length).map(|json| json.len()), Ok(length), "{text}");
            assert_eq!(of(text, View::Full, length - 1).unwrap_err(), "the value is too large");
        }
        assert_eq!(of("{\"a\":[1,2]}", path("/a"), 4).unwrap_err(), "the value is too large");
    }
}
