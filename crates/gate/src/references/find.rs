//! References in the arguments of a call: which values are one, and where they stand.
//!
//! A value is a reference if it is a whole string `result://NAME`, with or without `#/pointer`, or an object that is exactly
//! `{"$result": NAME}`, alone or with one of `jq`, `path` and `sql`. `NAME` is the name of a kept result as answers
//! write it: `list_issues-3f9c2kq7m0xw`. Every other string and object is data. An object that has more members beside
//! a `$result` with such a name is a mistake: the server must not get a placeholder because of a slip.
//!
//! The arguments are read in one pass without recursion, so depth costs nothing. Strings are decoded before they are
//! compared: an escaped spelling of a reference is a reference.

use std::fmt;

use tidegate_core::quote::{self, Inside};
use tidegate_core::view::View;
use tidegate_store::ArtifactId;

use crate::raw::{self, ByteRange};

/// What a reference that is a string begins with.
const SCHEME: &str = "result://";
/// The member of an object that names a result.
const NAME_MEMBER: &str = "$result";
/// The longest name of a tool in the name of a result.
const MAX_TOOL_CHARS: usize = 48;

/// A value in the arguments that stands for a kept result, or for a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// Where it stands.
    pub(crate) range: ByteRange,
    /// The keys and positions that lead to it.
    pub(crate) path: ArgumentPath,
    /// The name of the result.
    pub(crate) name: String,
    /// The part of the result: all of it, a path, or a program.
    pub(crate) view: View,
}

/// An object that looks like a reference and is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) path: ArgumentPath,
    pub(crate) message: &'static str,
}

/// The keys and positions that lead to a value in the arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ArgumentPath(pub(crate) Vec<Step>);

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Key(String),
    Position(usize),
}

/// Writes the path as a JSON Pointer.
impl fmt::Display for ArgumentPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|step| match step {
            Step::Key(key) => write!(formatter, "/{}", key.replace('~', "~0").replace('/', "~1")),
            Step::Position(position) => write!(formatter, "/{position}"),
        })
    }
}

/// Returns whether arguments may hold a reference, in one quick look.
pub(crate) fn may_hold(json: &[u8]) -> bool {
    let has = |word: &[u8]| memchr::memmem::find(json, word).is_some();
    // Any character may be written as an escape; `\/` leaves the rest of the scheme as it is.
    has(b"result:") || has(NAME_MEMBER.as_bytes()) || has(b"\\u")
}

/// Finds the references in the value at a range.
pub(crate) fn find(json: &[u8], range: &ByteRange) -> Result<Vec<Reference>, Malformed> {
    let found = Finder { json, frames: Vec::new(), found: Vec::new() }.run(range);
    let is_json = || serde_json::from_slice::<serde::de::IgnoredAny>(&json[range.clone()]).is_ok();
    match found {
        Some(found) => found,
        // No server should be able to read it either, but one may be lenient.
        None if !is_json() && memchr::memmem::find(&json[range.clone()], b"result:").is_some() => {
            Err(Malformed { path: ArgumentPath::default(), message: "the arguments are not valid JSON" })
        }
        None => Ok(Vec::new()),
    }
}

/// An object or list that is being read.
struct Frame {
    start: usize,
    is_object: bool,
    /// The member that is being read; `None` before its name.
    key: Option<ByteRange>,
    position: usize,
    /// Whether a member `$result` has the name of a result.
    names_result: bool,
    /// How many references were found before it.
    found_before: usize,
}

struct Finder<'j> {
    json: &'j [u8],
    frames: Vec<Frame>,
    found: Vec<Reference>,
}

impl Finder<'_> {
    /// Reads the value at a range; `None` if it is not JSON.
    fn run(mut self, range: &ByteRange) -> Option<Result<Vec<Reference>, Malformed>> {
        let mut at = range.start;
        while at < range.end {
            let start = at;
            at += 1;
            match self.json[start] {
                b'"' => {
                    let inside = quote::closing(&self.json[..range.end], at, b'"', &mut false);
                    let Inside::Ends(end) = inside else { return None };
                    at = end + 1;
                    if let Err(malformed) = self.string(start..at) {
                        return Some(Err(malformed));
                    }
                }
                bracket @ (b'{' | b'[') => self.frames.push(Frame {
                    start,
                    is_object: bracket == b'{',
                    key: None,
                    position: 0,
                    names_result: false,
                    found_before: self.found.len(),
                }),
                bracket @ (b'}' | b']') => {
                    let frame = self.frames.pop()?;
                    if frame.is_object != (bracket == b'}') {
                        return None;
                    }
                    if frame.names_result
                        && let Err(malformed) = self.object(&frame, start + 1)
                    {
                        return Some(Err(malformed));
                    }
                }
                b',' => {
                    let frame = self.frames.last_mut()?;
                    frame.position += 1;
                    frame.key = None;
                }
                _ => {}
            }
        }
        self.frames.is_empty().then_some(Ok(self.found))
    }

    /// Takes a string: the name of a member, or a value.
    fn string(&mut self, range: ByteRange) -> Result<(), Malformed> {
        let json = self.json;
        let is_name = |key: &ByteRange| raw::text(json, key).is_some_and(|key| key == NAME_MEMBER);
        match self.frames.last_mut() {
            Some(frame) if frame.is_object && frame.key.is_none() => {
                frame.key = Some(range);
                return Ok(());
            }
            Some(frame) if frame.is_object && frame.key.as_ref().is_some_and(is_name) => {
                let Some(text) = raw::text(json, &range) else { return Ok(()) };
                frame.names_result |= is_result_name(&text);
                if text.strip_prefix(SCHEME).is_some_and(is_result_name) {
                    let message = "$result takes the name of a result alone, without result://";
                    return Err(Malformed { path: self.path(), message });
                }
                return Ok(());
            }
            _ => {}
        }
        if let Some((name, view)) = raw::text(json, &range).and_then(|text| parse(&text)) {
            let path = self.path();
            self.found.push(Reference { range, path, name, view });
        }
        Ok(())
    }

    /// Takes an object that names a result.
    fn object(&mut self, frame: &Frame, end: usize) -> Result<(), Malformed> {
        let (range, path) = (frame.start..end, self.path());
        let malformed = |message| Malformed { path: path.clone(), message };
        let members = raw::members(self.json, &range)
            .ok_or_else(|| malformed("the object with $result is not valid JSON"))?;
        let wrong =
            "an object with $result names a result, with one of jq, path and sql or nothing beside it";
        let (mut name, mut view) = (None, None);
        for member in &members {
            let text = raw::text(self.json, &member.value).ok_or_else(|| malformed(wrong))?.into_owned();
            let taken = match member.key.as_ref() {
                NAME_MEMBER => name.replace(text).is_some(),
                "jq" => view.replace(View::Jq(text)).is_some(),
                "sql" => view.replace(View::Sql(text)).is_some(),
                "path" => view.replace(View::Path(text)).is_some(),
                _ => true,
            };
            if taken {
                return Err(malformed(wrong));
            }
        }
        self.found.truncate(frame.found_before);
        let (name, view) = (name.unwrap_or_default(), view.unwrap_or(View::Full));
        self.found.push(Reference { range, path, name, view });
        Ok(())
    }

    /// Returns the path of the value that is being read.
    fn path(&self) -> ArgumentPath {
        let step = |frame: &Frame| match (&frame.key, frame.is_object) {
            (Some(key), true) => Step::Key(raw::text(self.json, key).unwrap_or_default().into_owned()),
            _ => Step::Position(frame.position),
        };
        ArgumentPath(self.frames.iter().map(step).collect())
    }
}

/// Returns whether a string is a reference to a kept result.
///
/// ```
/// # use tidegate_gate::is_reference;
/// assert!(is_reference("result://list_issues-3f9c2kq7m0xw#/0/title"));
/// assert!(!is_reference("see result://list_issues-3f9c2kq7m0xw"));
/// ```
pub fn is_reference(text: &str) -> bool {
    parse(text).is_some()
}

/// Returns the result and the part that a string stands for; `None` if the string is no reference.
fn parse(text: &str) -> Option<(String, View)> {
    let rest = text.strip_prefix(SCHEME)?;
    let (name, view) = match rest.split_once('#') {
        None | Some((_, "")) => (rest.trim_end_matches('#'), View::Full),
        Some((name, pointer)) if pointer.starts_with('/') => (name, View::Path(pointer.to_owned())),
        Some(_) => return None,
    };
    is_result_name(name).then(|| (name.to_owned(), view))
}

/// Returns whether a text is the name of a result as answers write it: `<tool>-<id>`.
fn is_result_name(text: &str) -> bool {
    let is_of_tool = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
    text.rsplit_once('-').is_some_and(|(tool, id)| {
        (1..=MAX_TOOL_CHARS).contains(&tool.len())
            && tool.bytes().all(is_of_tool)
            && ArtifactId::parse_bare(id).is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "list_issues-3f9c2kq7m0xw";

    /// Returns the path, name and view of each reference, or what is malformed.
    fn found(json: &str) -> Result<Vec<(String, String, View)>, String> {
        let json = json.replace("NAME", NAME);
        let found = find(json.as_bytes(), &(0..json.len()));
        assert!(found == Ok(Vec::new()) || may_hold(json.as_bytes()), "{json}");
        found
            .map(|found| found.into_iter().map(|one| (one.path.to_string(), one.name, one.view)).collect())
            .map_err(|malformed| format!("{}: {}", malformed.path, malformed.message))
    }

    #[test]
    fn references_are_found_wherever_they_stand() {
        let name = || NAME.to_owned();
        let long = format!("result://{}-{}", "t".repeat(48), "0".repeat(26));
        for (json, expected) in [
            (r#"{"a":"result://NAME"}"#, vec![("/a", View::Full)]),
            (r#"{"a":"result://NAME#"}"#, vec![("/a", View::Full)]),
            (r#"{"a":"result://NAME#/x/0"}"#, vec![("/a", View::Path("/x/0".into()))]),
            (r#"{"a/b":[1, {"c":["", "result://NAME"]}]}"#, vec![("/a~1b/1/c/1", View::Full)]),
            (r#"{"a":{"$result":"NAME"}}"#, vec![("/a", View::Full)]),
            (r#"{"a":[{ "jq" : ".[0]" , "$result":"NAME"}]}"#, vec![("/a/0", View::Jq(".[0]".into()))]),
            (r#"{"a":{"$result":"NAME","sql":"select 1"}}"#, vec![("/a", View::Sql("select 1".into()))]),
            (r#"{"a":{"$result":"NAME","path":"/x"}}"#, vec![("/a", View::Path("/x".into()))]),
            // However it is spelled.
            (r#"{"a":"result:\/\/NAME"}"#, vec![("/a", View::Full)]),
            (r#"{"a":"\u0072esult://NAME"}"#, vec![("/a", View::Full)]),
            (r#"{"a":{"\u0024result":"NAME"}}"#, vec![("/a", View::Full)]),
            (r#"{"a":{"\u0024res\u0075lt":"\u006cist_issues-3f9c2kq7m0xw"}}"#, vec![("/a", View::Full)]),
            // Both of a duplicate key.
            (
                r#"{"a":"result://NAME","a":"result://NAME#/b"}"#,
                vec![("/a", View::Full), ("/a", View::Path("/b".into()))],
            ),
        ] {
            let expected = expected.into_iter().map(|(path, view)| (path.to_owned(), name(), view)).collect();
            assert_eq!(found(json), Ok(expected), "{json}");
        }
        assert_eq!(found(&format!(r#"["{long}"]"#)).unwrap().len(), 1);
    }

    #[test]
    fn everything_else_is_data() {
        for json in [
            r#"{"a":"result://"}"#,
            r#"{"a":"result://x"}"#,
            r#"{"a":"see result://NAME"}"#,
            r#"{"a":"result://NAME is it"}"#,
            r#"{"a":" result://NAME"}"#,
            r#"{"a":"result://NAME "}"#,
            r#"{"a":"RESULT://NAME"}"#,
            r#"{"a":"result://LIST_ISSUES-3F9C2KQ7M0XW"}"#,
            r#"{"a":"result://NAME#x"}"#,
            r#"{"a":"result://NAME?page=2"}"#,
            r#"{"a":"result://3f9c2kq7m0xw"}"#,
            r#"{"a":"result://list issues-3f9c2kq7m0xw"}"#,
            r#"{"a":"ax://list_issues/3f9c2kq7m0xw"}"#,
            r#"{"a":"NAME"}"#,
            r#"{"result://NAME":1}"#,
            r#"{"a":{"$ref":"result"}}"#,
            r##"{"schema":{"$ref":"#/$defs/x","$defs":{"x":{"type":"string"}}}}"##,
            r#"{"a":{"$result":"something else"}}"#,
            r#"{"a":{"$result":7,"jq":"."}}"#,
            r#"{"a":{"$result":"x","other":1}}"#,
            r#"{"a":{"$result":{"b":1}}}"#,
            r#"{"a":{"result":"NAME"}}"#,
            r#"{"a":"$result"}"#,
            r#"["\ud800result://NAME"]"#,
            "{}",
            "null",
            "",
            "{\"a\":[",
        ] {
            assert_eq!(found(json), Ok(Vec::new()), "{json}");
        }
    }

    #[test]
    fn a_malformed_reference_is_refused() {
        for json in [
            r#"{"a":{"$result":"NAME","other":1}}"#,
            r#"{"a":{"$result":"NAME","jq":".","sql":"select 1"}}"#,
            r#"{"a":{"$result":"NAME","jq":7}}"#,
            r#"{"a":{"$result":"NAME","$result":"NAME"}}"#,
            r#"{"a":{"$result":"NAME","jq":".","jq":"."}}"#,
            r#"{"a":{"$result":"NAME","x":"result://NAME"}}"#,
            r#"{"a":{"$result":"result://NAME"}}"#,
        ] {
            assert!(found(json).unwrap_err().starts_with("/a"), "{json}");
        }
        assert!(found(r#"{"a":"result://NAME""#).unwrap_err().contains("not valid JSON"));
    }

    #[test]
    fn deep_nesting_does_not_overflow_the_stack() {
        let depth = 1 << 20;
        let json = format!("{}\"result://{NAME}\"{}", "[".repeat(depth), "]".repeat(depth));
        let found = find(json.as_bytes(), &(0..json.len())).unwrap();
        assert_eq!((found.len(), found[0].path.0.len()), (1, depth));
        let nested =
            format!("{}1{}", r#"{"$result":"list-3f9c2kq7m0xw","x":"#.repeat(10_000), "}".repeat(10_000));
        assert!(find(nested.as_bytes(), &(0..nested.len())).is_err());
    }
}
