//! The value at a path: a JSON Pointer (`/features/3/id`) or a simple JSONPath (`$.features[3].id`, `items[*].name`).
//!
//! A path that begins with `//` begins at the whole result: `//structuredContent/id`.
//!
//! A value that fits is shown whole. A larger object or list is shown with one member per line, large members by their
//! size, so that the reader knows the next path; a long string is shown in pieces.

mod every;

use super::Query;
use super::answer::Part;
use super::dataset::Dataset;
use super::error::ViewError;
use super::nearest::nearest;
use super::segment::{Segment, parse, parse_dotted, to_pointer};
use crate::json::compact;
use crate::json::value::read_text;
use crate::json::{Dialect, Event, ScanError, Scanner, string};
use crate::records::Notation;
use crate::shape::{SectionWriter, overview_of};
use crate::source::Span;
use crate::text::Text;
use crate::{plain_name, visible, write};

/// Writes the value at a path, or the rest of it from a position on.
pub(crate) fn view(
    dataset: &Dataset<'_>,
    query: &Query,
    path: &str,
    writer: &mut SectionWriter<'_>,
) -> Result<Part, ViewError> {
    with_walker(dataset, path, |walker, segments, start| walker.view(query, path, segments, start, writer))
}

/// Where a path leads.
pub(super) enum Target {
    /// To a string, with this text.
    String(Vec<u8>),
    /// To any other value, at this position.
    Other(u64),
    /// Into a string: the text of the string, its path, and the path inside it.
    Inside { string: Vec<u8>, path: String, rest: String },
}

/// Returns where a path leads.
pub(super) fn target(dataset: &Dataset<'_>, path: &str) -> Result<Target, ViewError> {
    with_walker(dataset, path, |walker, segments, start| walker.target(path, segments, start))
}

/// Returns the JSON of the value at a position that [`target`] found.
pub(super) fn json_at(dataset: &Dataset<'_>, path: &str, at: u64) -> Result<Vec<u8>, ViewError> {
    with_walker(dataset, path, |walker, _, _| walker.json_at(at))
}

/// Runs `look` with a walker over the data or the result that a path begins in, its segments and where it begins.
fn with_walker<T>(
    dataset: &Dataset<'_>,
    path: &str,
    look: impl FnOnce(&Walker<'_>, &[Segment], u64) -> Result<T, ViewError>,
) -> Result<T, ViewError> {
    // Inside a value there is no result around it, and `//` begins with an empty key.
    let in_result = path.trim_start().strip_prefix("//").filter(|_| dataset.outline.scope.is_empty());
    if let Some(in_result) = in_result {
        let segments = parse(&format!("/{in_result}"))?;
        let text = Text::plain(dataset.source, Span::whole(dataset.source));
        let walker = Walker { text: &text, dialect: Dialect::Json, dataset, jump: false, root: "/" };
        return look(&walker, &segments, 0);
    }
    let segments = parse(path)?;
    let Some(data) = dataset.outline.data.as_ref() else {
        let kind = dataset.kind();
        return Err(ViewError::bad(format!(
            "path is for JSON, and this is {kind}; use lines, grep or range"
        )));
    };
    // Records in another notation are read as the list of their JSON.
    if let Notation::Json(dialect) = data.notation {
        let text = dataset.data_text()?;
        let walker = Walker { text: &text, dialect, dataset, jump: true, root: "" };
        return look(&walker, &segments, data.start);
    }
    let json = dataset.to_json(MAX_VALUE_BYTES)?;
    let json =
        json.ok_or_else(|| ViewError::bad("the result is too large for path; use page, grep or lines"))?;
    let source = json.as_slice();
    let text = Text::plain(&source, Span::whole(&source));
    look(&Walker { text: &text, dialect: Dialect::Json, dataset, jump: false, root: "" }, &segments, 0)
}

/// The maximum number of bytes that a path reads into memory: of a value, or of the JSON of records in another notation.
const MAX_VALUE_BYTES: usize = 64 * 1024 * 1024;
/// The maximum number of bytes of a member that is shown whole among others.
const MAX_MEMBER_BYTES: usize = 240;
/// The maximum number of segments of a path that stand for all members.
const MAX_ANY_SEGMENTS: usize = 8;
/// The maximum number of keys that an error names if a path does not exist.
const MAX_NAMED_KEYS: usize = 40;

struct Walker<'w> {
    text: &'w Text<'w>,
    dialect: Dialect,
    dataset: &'w Dataset<'w>,
    /// Whether the index of the main list may be used.
    jump: bool,
    /// What a path of a value begins with: nothing in the data, `/` in the whole result.
    root: &'static str,
}

impl Walker<'_> {
    fn view(
        &self,
        query: &Query,
        path: &str,
        segments: &[Segment],
        start: u64,
        writer: &mut SectionWriter<'_>,
    ) -> Result<Part, ViewError> {
        // Every `*` reads what is below it once more.
        if segments.iter().filter(|segment| **segment == Segment::Any).count() > MAX_ANY_SEGMENTS {
            return Err(ViewError::bad(format!(
                "a path can have at most {MAX_ANY_SEGMENTS} `*`; write out the other parts"
            )));
        }
        if let Some(at) = segments.iter().position(|segment| *segment == Segment::Any) {
            return self.each(query, path, segments, at, start, writer);
        }
        let at = self.locate(path, segments, start)?;
        let whole =
            compact::value(&mut self.scanner(at)?, self.dialect, writer.bytes() as usize).map_err(broken)?;
        let object = whole.text.starts_with('{');
        if query.position == 0 && whole.whole && writer.push(0, whole.text) {
            let what = format!("the value at {}", plain_name::asked_path(path));
            return Ok(Part { what, shown: 1, of: Some(1), next: None, notes: Vec::new() });
        }
        // The overview of the whole is what the caller has read already.
        if query.position == 0 && self.jump && object && !segments.is_empty() {
            // The first answer for a large object is its overview; its members follow when the caller reads on.
            overview_of(self.text, at, self.dialect, writer)?;
            let what =
                format!("an overview of the object at {}; its members follow", plain_name::asked_path(path));
            return Ok(Part { what, shown: 1, of: None, next: Some(query.at(1)), notes: Vec::new() });
        }
        self.members(query, path, at, writer)
    }

    fn scanner(&self, at: u64) -> Result<Scanner<'_>, ViewError> {
        Ok(Scanner::at(self.text, at, self.dialect)?)
    }

    /// Returns where a path leads: to a value, or into a string.
    fn target(&self, path: &str, segments: &[Segment], start: u64) -> Result<Target, ViewError> {
        if segments.contains(&Segment::Any) {
            return Err(ViewError::bad("a path with `*` leads to several values; name one of them"));
        }
        let mut at = start;
        for (depth, segment) in segments.iter().enumerate() {
            let Segment::Key(key) = segment else { continue };
            at = match self.jump_to(&segments[..depth], key)? {
                Some(at) => at,
                None => match self.string_at(at)? {
                    Some(string) => {
                        let path = format!("{}{}", self.root, to_pointer(&segments[..depth]));
                        return Ok(Target::Inside { string, path, rest: to_pointer(&segments[depth..]) });
                    }
                    None => self.step(path, at, key)?,
                },
            };
        }
        Ok(self.string_at(at)?.map_or(Target::Other(at), Target::String))
    }

    /// Returns the JSON of the value at a position.
    fn json_at(&self, at: u64) -> Result<Vec<u8>, ViewError> {
        let json = compact::value(&mut self.scanner(at)?, self.dialect, MAX_VALUE_BYTES).map_err(broken)?;
        match json.whole {
            true => Ok(json.text.into_bytes()),
            false => {
                Err(ViewError::bad("the value is too large to be read by itself; name a path inside it"))
            }
        }
    }

    /// Returns the text of the string at a position; `None` if another value is there.
    fn string_at(&self, at: u64) -> Result<Option<Vec<u8>>, ViewError> {
        let mut scanner = self.scanner(at)?;
        scanner.keep_strings(MAX_VALUE_BYTES);
        match scanner.next().map_err(broken)? {
            Event::String(token) if token.is_cut() => Err(ViewError::bad(
                "the string is too long to be read by itself; use range to read its bytes",
            )),
            Event::String(token) => Ok(Some(string::decode(token.raw))),
            _ => Ok(None),
        }
    }

    /// Returns the text of the string at a position; of a longer one than can be kept, its beginning.
    fn long_string(&self, at: u64) -> Result<String, ViewError> {
        let mut scanner = self.scanner(at)?;
        scanner.keep_strings(MAX_VALUE_BYTES);
        Ok(match scanner.next().map_err(broken)? {
            Event::String(token) => string::decode_text(token.raw),
            _ => String::new(),
        })
    }

    /// Returns the position of the value at a path.
    fn locate(&self, path: &str, segments: &[Segment], start: u64) -> Result<u64, ViewError> {
        let mut at = start;
        for (depth, segment) in segments.iter().enumerate() {
            let Segment::Key(key) = segment else { continue };
            at = match self.jump_to(&segments[..depth], key)? {
                Some(at) => at,
                None => self.step(path, at, key)?,
            };
        }
        Ok(at)
    }

    /// Returns the position of a member of the main list, by its index.
    fn jump_to(&self, before: &[Segment], key: &str) -> Result<Option<u64>, ViewError> {
        let Some(main) = self.dataset.main().filter(|main| self.jump && !main.keyed && !main.is_joined())
        else {
            return Ok(None);
        };
        // A header row is an element, but no record.
        let number = key.parse::<u64>().ok().and_then(|number| number.checked_sub(main.header_rows()));
        let Some(number) = number else { return Ok(None) };
        if number >= main.count() || parse_dotted(&main.path).as_deref() != Some(before) {
            return Ok(None);
        }
        let mut place = None;
        self.dataset.json_records(number, 0, |record| {
            place = record.at;
            std::ops::ControlFlow::Break(())
        })?;
        Ok(place)
    }

    /// Returns the position of the member `key` of the container at `at`.
    fn step(&self, path: &str, at: u64, key: &str) -> Result<u64, ViewError> {
        let mut scanner = self.scanner(at)?;
        let mut keys: Vec<String> = Vec::new();
        match scanner.next().map_err(broken)? {
            Event::StartObject => {
                let open = scanner.depth();
                loop {
                    let name: String = match scanner.next().map_err(broken)? {
                        Event::Key(token) => read_text(&token, usize::MAX).text.into(),
                        _ => return Err(self.no_key(path, key, &keys)),
                    };
                    if name == key {
                        return scanner.value_start().map_err(broken);
                    }
                    if keys.len() < 2000 {
                        keys.push(name);
                    }
                    scanner.next().map_err(broken)?;
                    scanner.skip_to_depth(open).map_err(broken)?;
                }
            }
            Event::StartArray => {
                let open = scanner.depth();
                let index: u64 = key.parse().map_err(|_| {
                    ViewError::NotThere(format!(
                        "{}: a value on the way is a list; name a position in it, such as 0",
                        plain_name::asked_path(path)
                    ))
                })?;
                let mut count = 0;
                while scanner.has_element().map_err(broken)? == Some(true) {
                    if count == index {
                        return scanner.value_start().map_err(broken);
                    }
                    scanner.next().map_err(broken)?;
                    scanner.skip_to_depth(open).map_err(broken)?;
                    count += 1;
                }
                Err(ViewError::NotThere(format!(
                    "{}: the list has {}, numbered from 0",
                    plain_name::asked_path(path),
                    write::plural(count, "item")
                )))
            }
            _ => Err(ViewError::NotThere(format!(
                "{}: nothing can be below a plain value",
                plain_name::asked_path(path)
            ))),
        }
    }

    fn no_key(&self, path: &str, key: &str, keys: &[String]) -> ViewError {
        let keys = || keys.iter().map(String::as_str);
        ViewError::NotThere(format!(
            "{}: no {}.{} Keys there: {}",
            plain_name::asked_path(path),
            plain_name::asked_name("key", key),
            plain_name::meant(nearest(key, keys())),
            plain_name::list(keys(), MAX_NAMED_KEYS)
        ))
    }

    /// Writes the members of a large value, one per line, from the query's position on.
    fn members(
        &self,
        query: &Query,
        path: &str,
        at: u64,
        writer: &mut SectionWriter<'_>,
    ) -> Result<Part, ViewError> {
        let mut scanner = self.scanner(at)?;
        let object = match scanner.next().map_err(broken)? {
            Event::StartObject => true,
            Event::StartArray => false,
            Event::String(_) => return string_piece(&self.long_string(at)?, query, path, writer),
            _ => {
                return Err(ViewError::bad("the value is too long to be shown; use range to read its bytes"));
            }
        };
        // Positions of members of an object begin at 1, since 0 is its overview or its beginning.
        let before = u64::from(object && self.jump);
        let first = query.position.saturating_sub(before);
        let (mut number, mut shown, mut full) = (0, 0, false);
        loop {
            let mut line = String::new();
            if object {
                match scanner.next().map_err(broken)? {
                    Event::Key(token) => {
                        string::write_visible(&read_text(&token, 200).text, &mut line);
                        line.push(':');
                    }
                    _ => break,
                }
            } else if scanner.has_element().map_err(broken)? != Some(true) {
                break;
            }
            let member = self.member(&mut scanner)?;
            if number >= first && !full {
                line.push_str(&member);
                full = !writer.push(0, line);
                shown += u64::from(!full);
            }
            number += 1;
        }
        let end = first + shown;
        let kind = if object { "members" } else { "items" };
        let what = format!(
            "{kind} {}-{end} of {} at {}, large ones by their size",
            first + 1,
            write::grouped(number),
            plain_name::asked_path(path)
        );
        let next = (end < number && shown > 0).then(|| query.at(end + before));
        Ok(Part { what, shown, of: Some(number), next, notes: Vec::new() })
    }

    /// Returns a member as JSON if it is small, else its beginning or its size.
    fn member(&self, scanner: &mut Scanner<'_>) -> Result<String, ViewError> {
        let start = scanner.value_start().map_err(broken)?;
        let mut probe = self.scanner(start)?;
        let compact = compact::value(scanner, self.dialect, MAX_MEMBER_BYTES).map_err(broken)?;
        let size = write::size(scanner.position() - start);
        if compact.whole && compact.text.len() <= 2 * MAX_MEMBER_BYTES {
            return Ok(compact.text);
        }
        let (open, close, object) = match probe.next().map_err(broken)? {
            Event::StartObject => ('{', '}', true),
            Event::StartArray => ('[', ']', false),
            Event::String(token) => {
                return Ok(format!(
                    "\"{}… ({size})\"",
                    visible::cut(&read_text(&token, MAX_MEMBER_BYTES).text, 160)
                ));
            }
            _ => return Ok(visible::cut(&compact.text, MAX_MEMBER_BYTES)),
        };
        let (mut count, mut keys) = (0u64, Vec::new());
        let depth = probe.depth();
        loop {
            if object {
                match probe.next().map_err(broken)? {
                    Event::Key(token) if keys.len() < 8 => {
                        keys.push(visible::cut(&read_text(&token, 100).text, 40));
                    }
                    Event::Key(_) => {}
                    _ => break,
                }
            } else if probe.has_element().map_err(broken)? != Some(true) {
                break;
            }
            count += 1;
            probe.next().map_err(broken)?;
            probe.skip_to_depth(depth).map_err(broken)?;
        }
        let names = if keys.is_empty() { String::new() } else { format!(": {}", keys.join(",")) };
        let more = if count > keys.len() as u64 && object { "…" } else { "" };
        Ok(format!("{open}{count}{names}{more}{close} {size}"))
    }
}

/// Writes a piece of a long string.
fn string_piece(
    text: &str,
    query: &Query,
    path: &str,
    writer: &mut SectionWriter<'_>,
) -> Result<Part, ViewError> {
    let mut start = usize::try_from(query.position).unwrap_or(usize::MAX).min(text.len());
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let taken = super::texts::push_cut(writer, &text[start..]);
    if taken == 0 && start < text.len() {
        return Err(super::answer::no_room());
    }
    let end = start + taken;
    let what = format!(
        "bytes {start}-{} of {} of the string at {}",
        end.saturating_sub(1),
        write::grouped(text.len() as u64),
        plain_name::asked_path(path)
    );
    let next = (end < text.len() && taken > 0).then(|| query.at(end as u64));
    Ok(Part { what, shown: taken as u64, of: Some(text.len() as u64), next, notes: Vec::new() })
}

fn broken(error: ScanError) -> ViewError {
    match error {
        ScanError::Source(error) => ViewError::Source(error),
        ScanError::Syntax { offset, reason } => ViewError::NotThere(format!(
            "the data breaks off at byte {offset} ({reason}); use range to read what follows"
        )),
    }
}
