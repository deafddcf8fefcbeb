//! YAML as tools write it: mappings, sequences, several documents, block and quoted scalars, flow collections, anchors.
//!
//! A text that is not certainly YAML is not translated: anything this reader does not know (complex keys, tabs as
//! indentation, directives other than the version) makes it a text, as does a text of which the main part is not
//! `key: value`. Scalars have the types of the JSON schema of YAML 1.2, and numbers stay as written; what JSON cannot
//! write as a number is a string. The translation is written while the text is read.

mod flow;
mod lines;
mod scalar;

use std::collections::BTreeMap;
use std::ops::Range;

use lines::{Line, Lines};

use super::{MAX_DEPTH, MAX_JSON_BYTES};
use crate::json::string;
use crate::sample::Sample;

pub(super) fn recognise(sample: &Sample<'_>) -> bool {
    let mut keys = Keys::default();
    for line in &sample.lines {
        keys.add(line);
    }
    keys.are_yaml()
}

/// What the lines of a sample look like.
#[derive(Default)]
struct Keys<'y> {
    lines: usize,
    /// Lines of `key: value` or `- key: value`.
    keyed: usize,
    /// Of these, keys that are words without spaces.
    plain: usize,
    /// Lines that are indented or begin a sequence.
    nested: usize,
    /// Whether a key at the left margin occurs twice in one document.
    repeated: bool,
    top: Vec<&'y str>,
    /// The indentation of the key of a block scalar, whose lines do not count.
    block: Option<usize>,
}

impl<'y> Keys<'y> {
    fn add(&mut self, line: &'y str) {
        let indentation = line.len() - line.trim_start().len();
        if self.block.is_some_and(|block| indentation > block) || line.trim_start().starts_with('#') {
            return;
        }
        self.block = None;
        if line.starts_with("---") || line.starts_with("...") {
            self.top.clear();
            return;
        }
        self.lines += 1;
        let text = line.trim().trim_start_matches("- ");
        self.nested += usize::from(indentation > 0 || text.len() < line.trim().len());
        let Some((key, value)) = split_key(text) else { return };
        self.keyed += 1;
        self.plain += usize::from(!key.contains(' '));
        if indentation == 0 && text.len() == line.trim_end().len() {
            self.repeated |= self.top.contains(&key);
            self.top.push(key);
        }
        if value.starts_with(['|', '>']) {
            self.block = Some(indentation);
        }
    }

    fn are_yaml(&self) -> bool {
        !self.repeated
            && self.keyed >= 4
            && self.nested * 4 >= self.lines
            && self.keyed * 10 >= self.lines * 4
            && self.plain * 10 >= self.keyed * 8
    }
}

/// Splits a line into its key, as written, and its value.
fn split_key(text: &str) -> Option<(&str, &str)> {
    let end = match text.chars().next()? {
        '\t' => return None,
        quote @ ('"' | '\'') => {
            let close = scalar::quoted_end(text, quote)?;
            let after = text[close..].trim_start();
            after.starts_with(':').then(|| text.len() - after.len())?
        }
        _ => {
            let plain = text.find(": ").or_else(|| text.strip_suffix(':').map(str::len))?;
            text.find(" #").is_none_or(|comment| plain < comment).then_some(plain)?
        }
    };
    let (key, value) = (text[..end].trim_end(), &text[end + 1..]);
    (value.is_empty() || value.starts_with(' ')).then(|| (key, value.trim_start()))
}

pub(super) fn translate(text: &str) -> Option<String> {
    let documents = Lines::of_documents(text)?;
    let several = documents.len() > 1;
    let mut out = String::from(if several { "[" } else { "" });
    for lines in documents {
        if out.len() > 1 {
            out.push(',');
        }
        let mut reader = Reader { lines, at: 0, out, anchors: BTreeMap::new() };
        reader.node(0, 0)?;
        // All of the document must have been read, and it must be a mapping or a sequence.
        reader.skip_blank().is_none().then_some(())?;
        out = reader.out;
    }
    out.push_str(if several { "]" } else { "" });
    out.starts_with(['[', '{']).then_some(out)
}

/// Returns whether a line says nothing: it is blank or a comment.
fn is_skipped(text: &str) -> bool {
    text.is_empty() || text.starts_with('#')
}

/// Reads one document and writes it as JSON. Every method returns `None` if the text is not YAML that it knows.
struct Reader<'y> {
    lines: Lines<'y>,
    at: usize,
    out: String,
    /// Where the values with anchors are in the output.
    anchors: BTreeMap<&'y str, Range<usize>>,
}

impl<'y> Reader<'y> {
    /// Skips blank lines and comments, and returns the next line.
    fn skip_blank(&mut self) -> Option<Line<'y>> {
        loop {
            let line = self.lines.get(self.at)?;
            if !is_skipped(line.text) {
                return Some(line);
            }
            self.at += 1;
        }
    }

    /// Reads a node that begins on a line of its own, indented by at least `least`; nothing there is null.
    fn node(&mut self, least: usize, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH || self.out.len() > MAX_JSON_BYTES {
            return None;
        }
        let Some(line) = self.skip_blank().filter(|line| line.indentation >= least) else {
            self.out.push_str("null");
            return Some(());
        };
        if line.text.starts_with('\t') {
            return None;
        }
        if line.text == "-" || line.text.starts_with("- ") {
            self.sequence(line.indentation, depth)
        } else if split_key(line.text).is_some() && !line.text.starts_with(['[', '{']) {
            self.mapping(line.indentation, depth)
        } else {
            // The value has no key, so its further lines may be indented like its first.
            self.at += 1;
            self.value(line.text, least, depth)
        }
    }

    fn sequence(&mut self, indentation: usize, depth: usize) -> Option<()> {
        self.out.push('[');
        let mut first = true;
        while let Some(line) = self.skip_blank() {
            let Some(rest) =
                line.text.strip_prefix('-').filter(|rest| rest.is_empty() || rest.starts_with(' '))
            else {
                break;
            };
            if line.indentation != indentation {
                break;
            }
            if !std::mem::take(&mut first) {
                self.out.push(',');
            }
            self.entry(rest, indentation, indentation + 1, depth)?;
        }
        self.out.push(']');
        // A line that is indented more belongs to nothing.
        self.skip_blank().is_none_or(|line| line.indentation <= indentation).then_some(())
    }

    /// Reads what follows a `-` or a key with its anchor or tag: on the same line, or on the next ones, which are
    /// indented by at least `least`.
    fn entry(&mut self, rest: &'y str, indentation: usize, least: usize, depth: usize) -> Option<()> {
        let text = rest.trim_start();
        if text.is_empty() || text.starts_with('#') {
            self.at += 1;
            return self.node(least, depth + 1);
        }
        let is_node = text == "-" || text.starts_with("- ") || split_key(text).is_some();
        if is_node && !text.starts_with(['[', '{', '&', '!', '|', '>', '*']) {
            // `- key: value` is a mapping that is indented up to its key.
            let line = self.lines.get(self.at)?;
            let column = line.indentation + line.text.len() - text.len();
            self.lines.replace(self.at, Line { indentation: column, text, raw: text });
            return self.node(column, depth + 1);
        }
        self.at += 1;
        self.value(text, indentation + 1, depth + 1)
    }

    fn mapping(&mut self, indentation: usize, depth: usize) -> Option<()> {
        self.out.push('{');
        let mut merged = Vec::new();
        let mut keys: Vec<String> = Vec::new();
        while let Some(line) = self.skip_blank().filter(|line| line.indentation == indentation) {
            let Some((key, value)) = split_key(line.text) else { break };
            if key == "<<" && value.starts_with('*') {
                merged.push(self.anchors.get(value[1..].trim())?.clone());
                self.at += 1;
                continue;
            }
            let key = scalar::key(key)?;
            self.separate();
            string::write(&key, &mut self.out);
            keys.push(key);
            self.out.push(':');
            self.member(value, indentation, depth)?;
        }
        for range in merged {
            self.merge(range, &mut keys)?;
        }
        self.out.push('}');
        self.skip_blank().is_none_or(|line| line.indentation < indentation || self.at == 0).then_some(())
    }

    /// Reads the value of a member, which may be a sequence that is indented like its key.
    fn member(&mut self, value: &'y str, indentation: usize, depth: usize) -> Option<()> {
        if !(value.is_empty() || value.starts_with('#')) {
            self.at += 1;
            return self.value(value, indentation + 1, depth + 1);
        }
        self.at += 1;
        let next = self.skip_blank();
        let is_sequence = next.is_some_and(|line| {
            line.indentation == indentation && (line.text == "-" || line.text.starts_with("- "))
        });
        self.node(if is_sequence { indentation } else { indentation + 1 }, depth + 1)
    }

    /// Reads a value whose first line is `text`, which has been passed, and whose further lines are indented by at least
    /// `least`.
    fn value(&mut self, text: &'y str, least: usize, depth: usize) -> Option<()> {
        match text.as_bytes()[0] {
            b'&' => {
                let (anchor, rest) = text[1..].split_once(' ').unwrap_or((&text[1..], ""));
                let start = self.out.len();
                self.after_property(rest.trim_start(), least, depth)?;
                self.anchors.insert(anchor, start..self.out.len());
                Some(())
            }
            b'!' => self.tagged(text, least, depth),
            b'*' => {
                let value = self.anchors.get(scalar::without_comment(text)[1..].trim())?.clone();
                self.out.extend_from_within(value);
                (self.out.len() <= MAX_JSON_BYTES).then_some(())
            }
            b'|' | b'>' => self.block_scalar(text, least),
            b'[' | b'{' | b'"' | b'\'' => self.flow(text, least),
            b'%' | b'@' | b'`' | b',' | b']' | b'}' => None,
            b'?' if text == "?" || text.starts_with("? ") => None,
            _ => self.plain(text, least),
        }
    }

    /// Reads the value after an anchor or a tag.
    fn after_property(&mut self, rest: &'y str, least: usize, depth: usize) -> Option<()> {
        match rest.is_empty() || rest.starts_with('#') {
            true => self.node(least, depth + 1),
            false => self.value(rest, least, depth),
        }
    }

    /// Reads a value with a tag: one of the language says its type, any other becomes the key of the value.
    fn tagged(&mut self, text: &'y str, least: usize, depth: usize) -> Option<()> {
        let (tag, rest) = text.split_once(' ').unwrap_or((text, ""));
        let rest = rest.trim_start();
        if tag == "!!str" {
            let value = scalar::without_comment(rest);
            (!value.starts_with(['&', '*', '|', '>', '"', '\''])).then_some(())?;
            string::write(value, &mut self.out);
            return Some(());
        }
        if tag.starts_with("!!") {
            return self.after_property(rest, least, depth);
        }
        self.out.push('{');
        string::write(tag, &mut self.out);
        self.out.push(':');
        self.after_property(rest, least, depth)?;
        self.out.push('}');
        Some(())
    }

    /// Writes the members of a mapping that was read before, except for keys that are known.
    fn merge(&mut self, range: Range<usize>, keys: &mut Vec<String>) -> Option<()> {
        let merged = self.out[range].to_owned();
        for (key, value) in flow::members(&merged)? {
            let name = string::decode_text(&key.as_bytes()[1..key.len() - 1]);
            if keys.contains(&name) {
                continue;
            }
            keys.push(name);
            self.separate();
            self.out.push_str(key);
            self.out.push(':');
            self.out.push_str(value);
        }
        Some(())
    }

    fn separate(&mut self) {
        if !self.out.ends_with('{') {
            self.out.push(',');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_and_sequences() {
        for (yaml, json) in [
            (
                "a: 1\nb:\n  c: x\n  d:\n  - 1\n  - two\ne:\n- f: 1\n  g: 2\n- f: 3\n",
                r#"{"a":1,"b":{"c":"x","d":[1,"two"]},"e":[{"f":1,"g":2},{"f":3}]}"#,
            ),
            (
                "- a: 1\n  b:\n    c: 2\n-\n  a: 3\n- - x\n  - y\n- z\n",
                r#"[{"a":1,"b":{"c":2}},{"a":3},["x","y"],"z"]"#,
            ),
            ("---\na: 1\n---\na: 2\n...\n", r#"[{"a":1},{"a":2}]"#),
            ("# c\na: b # not\nc: d#e\nf: \"#g\" # h\n", r##"{"a":"b","c":"d#e","f":"#g"}"##),
            (
                "a:\nb: ~\nc: null\nd: true\ne: False\nf: yes\n",
                r#"{"a":null,"b":null,"c":null,"d":true,"e":false,"f":"yes"}"#,
            ),
            (
                "a: 1.50\nb: 0755\nc: 1e3\nd: 0x1F\ne: 1.2.3\nf: 2024-01-02\ng: -7\nh: '7'\ni: 12:30\n",
                r#"{"a":1.50,"b":"0755","c":1e3,"d":"0x1F","e":"1.2.3","f":"2024-01-02","g":-7,"h":"7","i":"12:30"}"#,
            ),
            (
                "on:\n  push:\n    branches: [main, 'rel/**']\nenv: {A: 1, \"B\": [x, {y: z}], C: }\n",
                r#"{"on":{"push":{"branches":["main","rel/**"]}},"env":{"A":1,"B":["x",{"y":"z"}],"C":null}}"#,
            ),
            ("a: [1,\n  2, # two\n  3]\nb: 4\n", r#"{"a":[1,2,3],"b":4}"#),
            (
                "\"a b\": 1\n'c: d': 2\n/x/{y}: 3\nhttp://a/b: 4\n",
                r#"{"a b":1,"c: d":2,"/x/{y}":3,"http://a/b":4}"#,
            ),
        ] {
            assert_eq!(translate(yaml).as_deref(), Some(json), "{yaml}");
        }
    }

    #[test]
    fn scalars_of_several_lines() {
        for (yaml, json) in [
            ("a: |\n  one\n    two\n\n  three\nb: 1\n", r#"{"a":"one\n  two\n\nthree\n","b":1}"#),
            (
                "a: |-\n  one\n  # two\nb: >\n  one\n  two\n\n  three\n",
                r##"{"a":"one\n# two","b":"one two\nthree\n"}"##,
            ),
            ("a: |+\n  one\n\nb: 1\n", r#"{"a":"one\n\n","b":1}"#),
            (
                "a: one\n  two\n  three # no\nb: \"x\n  y\\n\\\n  z\"\nc: 'it''s\n\n  so'\n",
                r#"{"a":"one two three","b":"x y\nz","c":"it's\nso"}"#,
            ),
            ("run: |\n  key: value\n  - x\nz: 1\n", r#"{"run":"key: value\n- x\n","z":1}"#),
            ("- run: |\n    a\n    b\n  if: x\n", r#"[{"run":"a\nb\n","if":"x"}]"#),
        ] {
            assert_eq!(translate(yaml).as_deref(), Some(json), "{yaml}");
        }
    }

    #[test]
    fn anchors_and_tags() {
        assert_eq!(
            translate("x: &base\n  a: 1\n  b: 2\ny:\n  <<: *base\n  b: 3\nz: *base\nw: &s text\nv: *s\n")
                .as_deref(),
            Some(r#"{"x":{"a":1,"b":2},"y":{"b":3,"a":1},"z":{"a":1,"b":2},"w":"text","v":"text"}"#)
        );
        assert_eq!(
            translate("a: !Ref name\nb: !!str 12\nc: !GetAtt\n  - x\n").as_deref(),
            Some(r#"{"a":{"!Ref":"name"},"b":"12","c":{"!GetAtt":["x"]}}"#)
        );
        let bomb: String =
            (1..40).map(|n| format!("a{n}: &a{n} [{}]\n", format!("*a{}, ", n - 1).repeat(9))).collect();
        assert_eq!(translate(&format!("a0: &a0 xxxxxxxx\n{bomb}")), None);
    }

    #[test]
    fn what_is_not_certain_stays_text() {
        for yaml in [
            "a: 1\n  b: 2\n",
            "a: b: c\n",
            "a: 1\n b: 2\n",
            "? a\n: b\n",
            "a:\n\tb: 1\n",
            "a: [1, 2\nb: 3\n",
            "a: \"x\nb: 1\n",
            "a: *unknown\n",
            "just a sentence\nand another\n",
            "a: 1\nnot a key\n",
            "a: @x\n",
        ] {
            assert_eq!(translate(yaml), None, "{yaml}");
        }
    }

    #[test]
    fn recognition() {
        let is_yaml = |text: &str| recognise(&Sample::of(text));
        assert!(is_yaml(
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: b\n"
        ));
        assert!(is_yaml(
            "name: CI\non: [push]\njobs:\n  a:\n    runs-on: x\n    steps:\n    - run: |\n        some text\n        more of it\n"
        ));
        for text in [
            "Dear all:\nplease note: this\nis prose.\nRegards: me\nP.S.: x\n",
            "User: hi\nBot: hello\nUser: bye\nBot: bye\n",
            "class A:\n    def f(self):\n        return 1\n    def g(self):\n        return 2\n",
            "- one\n- two\n- three\n- four\n",
            "# Title\n\n- First point: it is so.\n- Second long point: it is not.\n- A third point here: maybe.\n- And some other point: no.\n",
            "2024-01-01 10:00:00 INFO a: b\n2024-01-01 10:00:00 INFO c: d\n",
        ] {
            assert!(!is_yaml(text), "{text}");
        }
    }
}
