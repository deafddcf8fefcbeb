//! Tests of YAML: what is translated, what stays text, and what is recognised.

use super::recognise;
use crate::sample::Sample;
use crate::translation::{Translation, tests};

fn translate(text: &str) -> Option<String> {
    tests::translate(Translation::Yaml, text).map(|(json, _)| json)
}

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
fn anchors_are_resolved_and_tags_dropped() {
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
fn prose_with_colons_is_not_yaml() {
    let is_yaml = |text: &str| recognise(&Sample::of(text));
    assert!(is_yaml("apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: b\n"));
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
