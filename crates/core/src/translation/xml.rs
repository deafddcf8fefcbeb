//! XML that holds data: repeated elements become lists, attributes and elements with nothing but text become members.
//!
//! The rules are those that most converters share: the root is an object with one member, its element; an element that
//! occurs more than once in some parent is a list in every parent of that name, so that all records have the same form;
//! an element with attributes and text has its text in `text`. An attribute that has the name of a child element gets
//! an `@` before its name. A text whose markup is not well formed, or in which words and elements alternate as in a
//! document or a drawing, is not translated.
//!
//! The text is read twice: for the forms of its elements, then to write them. No tree of it is built.

mod form;
mod reader;
mod writer;

use std::io;

use super::Begun;
use super::window::scan;
use crate::pattern::OtherLines;
use crate::sample::Sample;
use crate::text::Text;
use form::FormReader;
use writer::XmlWriter;

pub(super) fn recognise(sample: &Sample<'_>) -> bool {
    let head = sample.trimmed();
    let named =
        head.strip_prefix('<').is_some_and(|rest| rest.starts_with(|c: char| c.is_alphabetic() || c == '_'));
    (head.starts_with("<?xml") || head.starts_with("<!--") || head.starts_with("<!DOCTYPE") || named)
        && (head.contains("</") || head.contains("/>"))
}

pub(super) fn begin(text: &Text<'_>, start: u64) -> io::Result<Option<Begun>> {
    let mut reader = FormReader::default();
    let is_understood = scan(text, start, |window| reader.read(window))?;
    let forms = is_understood.then(|| reader.forms()).flatten();
    Ok(forms.map(|forms| (Box::new(XmlWriter::new(forms)) as Box<_>, OtherLines::default())))
}

#[cfg(test)]
mod tests {
    use crate::translation::Translation;
    use crate::translation::tests;

    fn translate(text: &str) -> Option<String> {
        tests::translate(Translation::Xml, text).map(|(json, _)| json)
    }

    #[test]
    fn a_report_of_tests() {
        let report = r#"<?xml version="1.0" encoding="UTF-8"?>
            <testsuites tests="3"><testsuite name="a &amp; b" time="1.50">
              <testcase name="one" time="0.25"/>
              <testcase name="two" time="1.25"><failure message="left &lt; right">at x:1
at y:2</failure></testcase>
            </testsuite><testsuite name="c" time="0.00"><testcase name="three" time="0.00"/></testsuite></testsuites>"#;
        assert_eq!(
            translate(report).unwrap(),
            r#"{"testsuites":{"tests":3,"testsuite":[{"name":"a & b","time":1.50,"testcase":[{"name":"one","time":0.25},{"name":"two","time":1.25,"failure":{"message":"left < right","text":"at x:1\nat y:2"}}]},{"name":"c","time":0.00,"testcase":[{"name":"three","time":0.00}]}]}}"#
        );
    }

    #[test]
    fn a_feed_and_a_project() {
        let feed = "<rss version='2.0'><channel><title>T</title><item><title>a</title><guid isPermaLink=\"false\">1</guid></item><item><title><![CDATA[b <i>]]></title><guid isPermaLink=\"false\">2</guid></item></channel></rss>";
        assert_eq!(
            translate(feed).unwrap(),
            r#"{"rss":{"version":2.0,"channel":{"title":"T","item":[{"title":"a","guid":{"isPermaLink":"false","text":1}},{"title":"b <i>","guid":{"isPermaLink":"false","text":2}}]}}}"#
        );
        let project = "<project><dependencies><dependency><version>1.1</version></dependency><dependency><version>1.10</version></dependency></dependencies></project>";
        assert_eq!(
            translate(project).unwrap(),
            r#"{"project":{"dependencies":{"dependency":[{"version":"1.1"},{"version":"1.10"}]}}}"#
        );
    }

    #[test]
    fn attributes_and_elements_with_the_same_name_are_kept_apart() {
        assert_eq!(
            translate("<a text='t' b='1'>x<b>2</b><c/></a>").map(|_| ()),
            None,
            "words and elements alternate"
        );
        assert_eq!(
            translate("<r><a b='1'><b>2</b></a><a text='t'>x</a></r>").unwrap(),
            r##"{"r":{"a":[{"@b":1,"b":2},{"text":"t","#text":"x"}]}}"##
        );
    }

    #[test]
    fn elements_of_one_name_come_together() {
        assert_eq!(
            translate("<r><a>1</a><b><c/></b><a>2</a><d x='1'>t</d><a>3</a></r>").unwrap(),
            r#"{"r":{"a":[1,2,3],"b":{"c":null},"d":{"x":1,"text":"t"}}}"#
        );
        // A tree whose elements are nested in each other: the inner ones do not hide what the outer one has seen.
        assert_eq!(
            translate("<n><b>1</b><n><b>2</b></n><b>3</b></n>").unwrap(),
            r#"{"n":{"b":[1,3],"n":{"b":[2]}}}"#
        );
        assert_eq!(
            translate("<l><i><k>1</k></i><i><k>2</k><k>3</k></i></l>").unwrap(),
            r#"{"l":{"i":[{"k":[1]},{"k":[2,3]}]}}"#
        );
    }

    #[test]
    fn a_text_of_ampersands_is_read_in_one_pass() {
        let text = format!("<r><a>{}</a><b>&#x41;&lt;</b></r>", "&".repeat(1 << 20));
        assert!(translate(&text).unwrap().ends_with(r#""b":"A<"}}"#));
    }

    #[test]
    fn other_texts_are_not_translated() {
        for text in [
            "<svg><path d='M0'/><path d='M1'/><path d='M2'/></svg>",
            "<a><b></a></b>",
            "<a><b>1</b><b>2</b>",
            "<a><b>1</b></a><a><b>1</b></a>",
            "<a>x <b>y</b> z <b>w</b></a>",
            "<a b=1><c/><c/></a>",
            "<!DOCTYPE a [<!ENTITY x \"y\">]><a><b>&x;</b><b/></a>",
            "x < y and y > z",
            "<T>(a: T) => a",
        ] {
            assert_eq!(translate(text), None, "{text}");
        }
    }
}
