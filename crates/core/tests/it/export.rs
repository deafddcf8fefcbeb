//! A view written whole to a file: exact, in every format, and the same data as the answers show.

use std::io::{self, Write};

use serde_json::{Value, json};
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::view::{
    ExportError, ExportFormat, ExportRequest, Exported, NoEngines, Query, View, export,
};
use tidegate_testkit::{make, sample};

struct Kept {
    result: Vec<u8>,
    outline: Outline,
}

impl Kept {
    fn new(text: &str) -> Self {
        Self::of_result(make::text_result(text))
    }

    fn of_result(result: Vec<u8>) -> Self {
        let outline = Outline::read(&Payload::read_result(&result.as_slice()).unwrap()).unwrap();
        Self { result, outline }
    }

    fn write(
        &self,
        query: &Query,
        format: ExportFormat,
        out: &mut dyn Write,
    ) -> Result<Exported, ExportError> {
        let source = self.result.as_slice();
        export(
            &ExportRequest { source: &source, outline: &self.outline, query, format, engines: &NoEngines },
            out,
        )
    }

    fn export(&self, view: View, format: ExportFormat) -> (String, Exported) {
        let mut out = Vec::new();
        let exported = self.write(&Query::new(view), format, &mut out).unwrap();
        assert_eq!(exported.bytes, out.len() as u64);
        (String::from_utf8(out).unwrap(), exported)
    }

    fn error(&self, view: View, format: ExportFormat) -> String {
        self.write(&Query::new(view), format, &mut io::sink()).unwrap_err().to_string()
    }
}

fn json_lines(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_whole_result_is_written_in_every_format() {
    let text = sample::issues(300);
    let kept = Kept::new(&text);
    assert_eq!(kept.export(View::Full, ExportFormat::Text).0, text);
    assert_eq!(kept.export(View::Full, ExportFormat::Bytes).0.as_bytes(), kept.result);
    let all: Value = serde_json::from_str(&text).unwrap();
    let (whole, exported) = kept.export(View::Summary, ExportFormat::Json);
    assert_eq!((serde_json::from_str::<Value>(&whole).unwrap(), exported.rows), (all.clone(), Some(300)));
    let (lines, exported) = kept.export(View::Full, ExportFormat::JsonLines);
    assert_eq!((Value::Array(json_lines(&lines)), exported.rows), (all, Some(300)));
    let (table, exported) = kept.export(View::Full, ExportFormat::Csv);
    assert_eq!(exported.rows, Some(300));
    assert_eq!(table.lines().next().unwrap(), exported.columns.join(","));
    assert!(exported.columns.contains(&"number".to_owned()), "{:?}", exported.columns);
}

#[test]
fn a_table_holds_every_value() {
    let text = r#"[{"id":1,"a":{"b":"x,y"},"n":1.50},{"id":2,"a":{"b":"","c":[1,2]},"late":null},{"id":18446744073709551617,"a":"say \"hi\"\nto all"}]"#;
    let (table, exported) = Kept::new(text).export(View::Full, ExportFormat::Csv);
    assert_eq!(exported.columns, ["id", "a.b", "n", "a.c", "late", "a"]);
    assert_eq!(
        table,
        "id,a.b,n,a.c,late,a\n1,\"x,y\",1.50,,,\n2,\"\",,\"[1,2]\",,\n18446744073709551617,,,,,\"say \"\"hi\"\"\nto all\"\n"
    );
}

#[test]
fn records_with_keys_have_a_key_column() {
    let members: Vec<String> = (0..40).map(|n| format!("\"r{n}\":{{\"v\":{n}}}")).collect();
    let kept = Kept::new(&format!("{{{}}}", members.join(",")));
    let (table, _) = kept.export(View::Full, ExportFormat::Csv);
    assert!(table.starts_with("key,v\nr0,0\nr1,1\n"), "{table}");
    let (lines, _) = kept.export(View::Full, ExportFormat::JsonLines);
    assert_eq!(json_lines(&lines)[39], json!({"key": "r39", "v": 39}));
}

#[test]
fn pages_fields_paths_lines_and_ranges_are_written() {
    let kept = Kept::new(&sample::issues(300));
    let page = View::Page { number: 3, size: Some(100) };
    assert_eq!(json_lines(&kept.export(page.clone(), ExportFormat::JsonLines).0)[0]["number"], 4400);
    let mut out = Vec::new();
    let fields = Query { fields: vec!["number".into(), "state".into()], ..Query::new(View::Full) };
    let exported = kept.write(&fields, ExportFormat::Csv, &mut out).unwrap();
    let table = String::from_utf8(out).unwrap();
    assert_eq!((exported.rows, table.lines().count()), (Some(300), 301));
    assert!(table.starts_with("number,state\n4200,"), "{table}");
    let unknown = Query { fields: vec!["nubmer".into()], ..Query::new(View::Full) };
    let error = kept.write(&unknown, ExportFormat::Json, &mut io::sink()).unwrap_err().to_string();
    assert!(error.contains("Did you mean number?"), "{error}");

    assert_eq!(kept.export(View::Path("/7/number".into()), ExportFormat::Text).0, "4207");
    let (title, _) = kept.export(View::Path("/7/title".into()), ExportFormat::Json);
    assert!(serde_json::from_str::<Value>(&title).unwrap().is_string(), "{title}");
    assert_eq!(kept.export(View::Range { from: 0, to: Some(9) }, ExportFormat::Bytes).0, "{\"content\"");
    assert!(kept.error(View::Range { from: 0, to: None }, ExportFormat::Json).contains(".bin"));

    let log = Kept::new("one\r\ntwo\nthree \u{202e}\n\nfive");
    let lines = |from, to| View::Lines { from, to };
    assert_eq!(log.export(lines(2, Some(3)), ExportFormat::Text).0, "two\nthree \u{202e}\n");
    assert_eq!(log.export(lines(4, None), ExportFormat::JsonLines).0, "\"\"\n\"five\"\n");
    assert_eq!(log.export(View::Full, ExportFormat::Text).0, "one\r\ntwo\nthree \u{202e}\n\nfive");
    assert!(log.error(lines(9, None), ExportFormat::Text).contains("5 lines"));
    assert!(log.error(View::Full, ExportFormat::Csv).contains("no records"));
}

#[test]
fn a_string_inside_json_is_opened_like_a_result() {
    let inner: Vec<Value> = (0..60).map(|n| json!({"n": n, "word": "x".repeat(30)})).collect();
    let outer = json!({"ok": true, "body": json!(inner).to_string()}).to_string();
    let kept = Kept::new(&outer);
    let path = |format| kept.export(View::Path("/body".into()), format).0;
    assert_eq!(serde_json::from_str::<Value>(&path(ExportFormat::Json)).unwrap(), json!(inner));
    assert_eq!(json_lines(&path(ExportFormat::JsonLines)), inner);
    assert!(path(ExportFormat::Csv).starts_with("n,word\n0,xxx"));
    let within =
        View::Within { path: "/body".into(), view: Box::new(View::Page { number: 1, size: Some(2) }) };
    assert_eq!(json_lines(&kept.export(within, ExportFormat::JsonLines).0), inner[..2]);
}

#[test]
fn a_picture_is_written_as_its_bytes() {
    let result = r#"{"content":[{"type":"image","data":"aGVsbG8","mimeType":"image/png"}]}"#;
    let kept = Kept::of_result(result.as_bytes().to_vec());
    assert_eq!(kept.export(View::Full, ExportFormat::Text).0, "hello");
    assert_eq!(kept.export(View::Path("/content/0".into()), ExportFormat::Text).0, "hello");
    assert_eq!(kept.export(View::Full, ExportFormat::Bytes).0, result);
}

struct FullDisk;

impl Write for FullDisk {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::Error::from(io::ErrorKind::StorageFull))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_error_of_the_file_is_a_write_error() {
    let kept = Kept::new(&sample::issues(300));
    for format in [ExportFormat::Csv, ExportFormat::Json, ExportFormat::JsonLines, ExportFormat::Bytes] {
        let failed = kept.write(&Query::new(View::Full), format, &mut FullDisk).unwrap_err();
        assert!(matches!(failed, ExportError::Write(_)), "{format:?}: {failed}");
    }
}
