//! Tests of the way a text is translated, whatever its notation.

use std::rc::Rc;

use tidegate_testkit::tables::{RandomTable, TableNotation};

use super::Translation;
use crate::json::strict;
use crate::pattern::OtherLines;
use crate::source::Span;
use crate::text::Text;

/// Returns the JSON of a text and the lines that are no data; `None` if it is not in the notation.
pub(super) fn translate(translation: Translation, text: &str) -> Option<(String, OtherLines)> {
    let source = text.as_bytes();
    let text = Text::plain(&source, Span::whole(&source));
    let json = Rc::new(translation.begin(&text).unwrap()?);
    let written = text.in_json(&json).read_all().ok()?;
    Some((String::from_utf8(written).unwrap(), json.others.clone()))
}

const TEXTS: &[(Translation, &str)] = &[
    (
        Translation::Tables,
        "A title\n\n| id | v |\n|---|---|\n| 1 | a\\|b |\n| 2 | \u{e9} |\n| 5 | y |\n| 6 | z |\n\n## More\n\n| id | v |\n|---|---|\n| 3 |\n| id | v |\n| 4 | x |\nThe end\n",
    ),
    (
        Translation::Tables,
        "NAME   READY\npod-a  1/1\npod-b  0/1\n\nNAME   TYPE       PORT\nsvc-a  ClusterIP  80\nsvc-b  NodePort   443\n",
    ),
    (
        Translation::Tables,
        "+---+-----+\n| a | b   |\n+---+-----+\n| 1 | x y |\n| 2 |     |\n| 3 | \u{1d11e} |\n+---+-----+\n3 rows in set\n",
    ),
    (Translation::Hits, "a/b.rs:1:x\na/c.rs:2:error: y\n\na/d/e.rs\n3:z\n4:w\nno hit\na/b.rs:5:x\n"),
    (Translation::Settings, "a = 1\n[b]\nc = 2\nd = [\n 1,\n 2]\n[e]\nf = 3\n[b]\ng = x\n"),
    (
        Translation::Metrics,
        "up 1\n# TYPE up gauge\nup{a=\"b\"} 1\n# TYPE up counter\nup{a=\"c\"} 2\nup_total 3 17\nodd line\n",
    ),
    (Translation::Components, "BEGIN:A\nB:1\nBEGIN:C\nD:x\n y\nEND:C\nEND:A\n"),
    (
        Translation::Listing,
        ".:\ntotal 8\n-rw-r--r-- 1 a b 5 Jan  2 10:00 x\n-rw-r--r-- 1 a b 5 Jan  2 10:00 y\n\n./d e:\n-rw-r--r-- 1 a b 5 Jan  2 10:00 z\n",
    ),
    (
        Translation::Xml,
        "<?xml version='1.0'?><!-- a > b --><r a=\"1>2\">\n<i n='1'>x &amp; y</i><i n='2'/><i n='3'><![CDATA[<z>]]> </i>\n<k><l>1</l><m>2</m></k>\n</r>\n",
    ),
    (Translation::Xml, "<r><a>1</a><b><c>x</c></b><a>2</a><d x='1'>t</d><a>\u{e9}</a></r>"),
    (
        Translation::Yaml,
        "a: 1\nb:\n- c: x\n  d: |\n    one\n      two\n\n    three\n- c: [1,\n    2, {e: f}]\n-   - g\n    - \"h\n      i\"\nj: !tag\n  k: one\n    two\nl:\n# comment\nm: \u{e9}\n",
    ),
    (Translation::Yaml, "# c\n---\na: 1\nb: 2\n--- # d\n\n---\nc:\n  - 1\n...\n"),
    (
        Translation::Yaml,
        "base: &b\n  a: 1\n  c: [x]\nother:\n  <<: *b\n  a: 2\nlast: *b\n---\nx: &y 1\nz: *y\n",
    ),
];

/// Returns the JSON of bytes that are translated in steps of a size.
fn in_steps(translation: Translation, bytes: &[u8], step_bytes: usize) -> Vec<u8> {
    let text = Text::plain(&bytes, Span::whole(&bytes));
    let json = translation.begin_in_steps(&text, step_bytes).unwrap().expect("the notation");
    let json = text.in_json(&Rc::new(json));
    let whole = json.read_all().unwrap();
    assert_eq!(json.length().unwrap(), whole.len() as u64);
    for start in (0..whole.len()).rev().step_by(7) {
        let end = whole.len().min(start + 11);
        assert_eq!(json.read(start as u64..end as u64).unwrap(), &whole[start..end]);
    }
    whole
}

#[test]
fn the_size_of_steps_does_not_matter() {
    for (translation, text) in TEXTS {
        let whole = in_steps(*translation, text.as_bytes(), 1 << 20);
        assert!(strict::is_value(std::str::from_utf8(&whole).unwrap()), "{text}");
        for step_bytes in [1, 5, 32, 100] {
            let read = in_steps(*translation, text.as_bytes(), step_bytes);
            assert_eq!(
                String::from_utf8_lossy(&read),
                String::from_utf8_lossy(&whole),
                "{step_bytes}: {text}"
            );
        }
    }
}

#[test]
fn bytes_that_are_no_text_are_replaced() {
    let text = b"| id | v |\n|---|---|\n| 1 | a\xff\xe2\x82b |\n| 2 | \xc3\xa9\xc3 |\n| 3 | c |\n";
    let expected = "[{\"id\":1,\"v\":\"a\u{fffd}\u{fffd}b\"},{\"id\":2,\"v\":\"\u{e9}\u{fffd}\"},{\"id\":3,\"v\":\"c\"}]";
    for step_bytes in [1, 5, 24, 32, 1000] {
        assert_eq!(in_steps(Translation::Tables, text, step_bytes), expected.as_bytes());
    }
}

#[test]
fn many_rows_in_every_notation_are_read_from_any_offset() {
    let table = RandomTable::new(5, 3000);
    for (translation, notation) in [
        (Translation::Tables, TableNotation::MarkdownInText),
        (Translation::Tables, TableNotation::Boxed),
        (Translation::Tables, TableNotation::Aligned),
        (Translation::Tables, TableNotation::Ruled),
        (Translation::Yaml, TableNotation::Yaml),
        (Translation::Xml, TableNotation::XmlElements),
        (Translation::Xml, TableNotation::XmlAttributes),
    ] {
        let written = format!("\u{feff}{}", table.write(notation));
        let source = written.as_bytes();
        let text = Text::plain(&source, Span::whole(&source));
        let json = text.in_json(&Rc::new(translation.begin(&text).unwrap().expect("the notation")));
        let whole = json.read_all().unwrap();
        assert!(strict::is_value(std::str::from_utf8(&whole).unwrap()), "{notation:?}");
        assert_eq!(memchr::memmem::find_iter(&whole, b"\"NAME\"").count(), 3000, "{notation:?}");
        for jump in 0..500_u64 {
            let start = jump * 7919 * 31 % whole.len() as u64;
            let end = whole.len().min(start as usize + 300);
            assert_eq!(json.read(start..start + 300).unwrap(), &whole[start as usize..end], "{notation:?}");
        }
    }
}
