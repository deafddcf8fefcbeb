//! Settings: lines of `key = value` under `[section]` lines, as INI, properties, environment and simple TOML files have.
//!
//! Sections are objects; a name that several sections have (`[[package]]`, `[Peer]`) is a list of them. Values without
//! quotes are texts, or numbers by the rule for columns; a list may go on in further lines. What is more than that
//! (inline tables, dates, multi-line strings) stays as it is written.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::typed::Column;
use crate::json::{strict, string};
use crate::sample::Sample;

/// The minimum number of settings, and of those in a text without sections.
const MIN_SETTINGS: usize = 4;
const MIN_PLAIN_SETTINGS: usize = 8;

/// One line of settings.
enum Setting<'s> {
    Section(&'s str),
    Pair(&'s str, &'s str),
    Nothing,
}

pub(super) fn recognise(sample: &Sample<'_>) -> bool {
    let (mut sections, mut pairs, mut others, mut several, mut repeated) = (0, 0, 0, 0, 0);
    let mut keys = BTreeSet::new();
    let mut open = false;
    for line in &sample.lines {
        if open {
            open = !line.trim_end().ends_with([']', '}']);
            continue;
        }
        match setting(line) {
            Some(Setting::Section(_)) => {
                sections += 1;
                keys.clear();
            }
            Some(Setting::Pair(key, value)) => {
                pairs += 1;
                // Keys that keep recurring are those of records.
                repeated += usize::from(!keys.insert(key));
                open = opens_list(value);
                // Several pairs in one line are something else.
                several += usize::from(holds_pairs(value));
            }
            Some(Setting::Nothing) => {}
            None => others += 1,
        }
    }
    let enough = if sections > 0 { MIN_SETTINGS } else { MIN_PLAIN_SETTINGS };
    pairs >= enough && others * 20 <= pairs && several * 5 <= pairs && repeated * 4 <= pairs
}

/// Returns whether a value holds further pairs, as in `level=info msg="a b"`.
fn holds_pairs(value: &str) -> bool {
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    let is_quoted =
        quote.is_some_and(|quote| value[1..].find(quote).is_some_and(|end| end + 2 == value.len()));
    !is_quoted
        && !value.starts_with(['{', '['])
        && value.split_whitespace().skip(1).any(|word| word.contains('='))
}

/// Reads a line; `None` if it is not a setting.
fn setting(line: &str) -> Option<Setting<'_>> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', ';']) || line.starts_with("//") {
        return Some(Setting::Nothing);
    }
    if let Some(name) = line.strip_prefix('[') {
        let (name, after) = name.rsplit_once(']')?;
        let name = name.strip_prefix('[').map_or(name, |name| name.trim_end_matches(']'));
        let after = after.trim();
        let is_name = !name.is_empty() && name.len() <= 120 && !name.contains(['[', ']', '{', ',']);
        return (is_name && (after.is_empty() || after.starts_with(['#', ';'])))
            .then_some(Setting::Section(name));
    }
    let (key, value) = line.split_once('=')?;
    let (key, value) = (key.trim_end(), value.trim_start());
    let key = key.trim_matches('"');
    let is_key = key
        .starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '@' | '$'))
        && key.len() <= 120
        && key.chars().all(|c| {
            c.is_alphanumeric() || matches!(c, '_' | '.' | '-' | '/' | '@' | ':' | '$' | '[' | ']' | '*')
        });
    let is_code = value.starts_with(['=', '>']) || value.ends_with([';', '{', '(']);
    (is_key && !is_code).then_some(Setting::Pair(key, value))
}

/// Returns whether a value is a list that goes on in the next lines.
fn opens_list(value: &str) -> bool {
    let value = value.split(" #").next().unwrap_or(value).trim_end();
    value.starts_with('[') && !value.ends_with(']')
}

/// A section with its settings.
struct Section<'s> {
    name: &'s str,
    pairs: Vec<(&'s str, Cow<'s, str>)>,
}

pub(super) fn translate(text: &str) -> Option<String> {
    let mut sections = vec![Section { name: "", pairs: Vec::new() }];
    let mut lines = text.lines();
    let (mut pairs, mut others) = (0, 0);
    while let Some(line) = lines.next() {
        match setting(line) {
            Some(Setting::Section(name)) => sections.push(Section { name, pairs: Vec::new() }),
            Some(Setting::Pair(key, value)) => {
                pairs += 1;
                let mut value = Cow::Borrowed(value);
                if opens_list(&value) {
                    let list = value.to_mut();
                    for line in lines.by_ref() {
                        list.push(' ');
                        list.push_str(line.trim());
                        if line.trim_end().ends_with(']') {
                            break;
                        }
                    }
                }
                sections.last_mut()?.pairs.push((key, value));
            }
            Some(Setting::Nothing) => {}
            None => others += 1,
        }
    }
    // Every line must have been understood: what is not data here would be lost.
    (pairs >= MIN_SETTINGS && others == 0).then(|| json(&sections))
}

fn json(sections: &[Section<'_>]) -> String {
    let mut columns: BTreeMap<&str, Column> = BTreeMap::new();
    for (key, value) in sections.iter().flat_map(|section| &section.pairs) {
        columns.entry(key).or_default().add(value);
    }
    let mut groups: Vec<(&str, Vec<&Section<'_>>)> = Vec::new();
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for section in &sections[1..] {
        let at = *known.entry(section.name).or_insert(groups.len());
        match groups.get_mut(at) {
            Some((_, same)) => same.push(section),
            None => groups.push((section.name, vec![section])),
        }
    }
    let mut out = String::from("{");
    write_pairs(&sections[0], &columns, &mut out);
    for (name, same) in groups {
        separate(&mut out);
        string::write(name, &mut out);
        out.push_str(if same.len() > 1 { ":[" } else { ":" });
        for (at, section) in same.iter().enumerate() {
            out.push_str(if at > 0 { ",{" } else { "{" });
            write_pairs(section, &columns, &mut out);
            out.push('}');
        }
        out.push_str(if same.len() > 1 { "]" } else { "" });
    }
    out.push('}');
    out
}

fn write_pairs(section: &Section<'_>, columns: &BTreeMap<&str, Column>, out: &mut String) {
    for (key, value) in &section.pairs {
        separate(out);
        string::write(key, out);
        out.push(':');
        let inside = |quote: char| {
            let inside = value.strip_prefix(quote)?.strip_suffix(quote)?;
            (!inside.contains(quote)).then_some(inside)
        };
        let list = value.starts_with('[').then(|| value.replace(", ]", "]").replace(",]", "]"));
        if let Some(list) = list.filter(|list| strict::is_value(list)) {
            out.push_str(&list);
        } else if value.starts_with('"') && strict::is_value(value) {
            out.push_str(value);
        } else if let Some(inside) = inside('"').or_else(|| inside('\'')) {
            string::write(inside, out);
        } else if matches!(&**value, "true" | "false") {
            out.push_str(value);
        } else if let Some(column) = columns.get(key) {
            column.write(value, out);
        }
    }
}

/// Writes a comma, unless an object was just opened.
fn separate(out: &mut String) {
    if !out.ends_with('{') {
        out.push(',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_every_kind() {
        for (text, json) in [
            (
                "; c\n[server]\nhost = a b\nport=80\n\n[client]\n# d\nuser=\"x\"\nok = true\n",
                r#"{"server":{"host":"a b","port":80},"client":{"user":"x","ok":true}}"#,
            ),
            (
                "version = 3\n\n[[package]]\nname = \"a\"\ndeps = [\n \"b\",\n \"c\",\n]\n\n[[package]]\nname = \"b\"\nversion = \"1.10\"\n",
                r#"{"version":3,"package":[{"name":"a","deps":[ "b", "c"]},{"name":"b","version":"1.10"}]}"#,
            ),
            (
                "a=1.1\nb=\nc.d = x=y\nk=https://e?f=g\n",
                r#"{"a":1.1,"b":null,"c.d":"x=y","k":"https://e?f=g"}"#,
            ),
        ] {
            assert_eq!(translate(text).as_deref(), Some(json), "{text}");
        }
    }

    #[test]
    fn other_notations_are_not_settings() {
        let is = |text: &str| recognise(&Sample::of(text));
        assert!(is("[a]\nb=1\nc=2\n[d]\nb=3\nc=4\n"));
        assert!(is("A=1\nB=2\nC=3\nD=4\nE=5\nF=6\nG=7\nH=8\n"));
        for text in [
            "a=\"1\" b=\"x y\"\na=\"2\" b=\"x y\"\na=\"3\" b=\"x y\"\na=\"4\" b=\"x y\"\na=\"5\" b=\"x\"\na=\"6\" b=\"x\"\na=\"7\" b=\"x\"\na=\"8\" b=\"x\"\n",
            "level=info a=b c=d\nlevel=info a=b c=d\nlevel=warn a=b c=d\nlevel=info a=b c=d\nx=1 a=b c=d\ny=1 a=b c=d\nz=1 a=b c=d\nw=1 a=b c=d\n",
            "  id = 1\nname = a\n\n  id = 2\nname = b\n\n  id = 3\nname = c\n\n  id = 4\nname = d\n",
            "let a = 1;\nlet b = 2;\nlet c = 3;\nlet d = 4;\n",
            "a = 1\nb = 2\nprint(a + b)\nc = f(a)\nif a == b:\n    d = 3\n",
            "[INFO] a=1\n[INFO] a=2\n[INFO] a=3\n[INFO] a=4\n",
            "x = {\n  a = 1,\n  b = 2,\n}\n",
        ] {
            assert!(!is(text), "{text}");
        }
    }
}
