//! Paths with `*`: every value that the path leads to, one per line with its own path.

use super::{Walker, broken};
use crate::json::Event;
use crate::json::value::read_text;
use crate::shape::SectionWriter;
use crate::view::Query;
use crate::view::answer::Part;
use crate::view::error::ViewError;
use crate::view::segment::{Segment, to_pointer};
use crate::{plain_name, write};

impl Walker<'_> {
    /// Writes the values that a path with `*` leads to, one per line with its path.
    pub(super) fn each(
        &self,
        query: &Query,
        path: &str,
        segments: &[Segment],
        any: usize,
        start: u64,
        writer: &mut SectionWriter<'_>,
    ) -> Result<Part, ViewError> {
        let at = self.locate(path, &segments[..any], start)?;
        let mut found = Matches { position: query.position, number: 0, shown: 0, full: false };
        self.each_below(at, &segments[any..], to_pointer(&segments[..any]), &mut found, writer)?;
        if found.number == 0 {
            return Err(ViewError::NotThere(format!(
                "{}: there is nothing there",
                plain_name::asked_path(path)
            )));
        }
        let end = query.position + found.shown;
        let what = format!(
            "values {}-{end} of {} at {}",
            query.position + 1,
            write::grouped(found.number),
            plain_name::asked_path(path)
        );
        let next = (end < found.number && found.shown > 0).then(|| query.at(end));
        Ok(Part { what, shown: found.shown, of: Some(found.number), next, notes: Vec::new() })
    }

    fn each_below(
        &self,
        at: u64,
        segments: &[Segment],
        place: String,
        found: &mut Matches,
        writer: &mut SectionWriter<'_>,
    ) -> Result<(), ViewError> {
        let Some((first, rest)) = segments.split_first() else {
            return found.push(self, at, &place, writer);
        };
        let mut scanner = self.scanner(at)?;
        let object = match scanner.next().map_err(broken)? {
            Event::StartObject => true,
            Event::StartArray => false,
            _ => return Ok(()),
        };
        let depth = scanner.depth();
        for number in 0u64.. {
            let name = if object {
                match scanner.next().map_err(broken)? {
                    Event::Key(token) => read_text(&token, usize::MAX).text.into(),
                    _ => return Ok(()),
                }
            } else {
                if scanner.has_element().map_err(broken)? != Some(true) {
                    return Ok(());
                }
                number.to_string()
            };
            let wanted = match first {
                Segment::Any => true,
                Segment::Key(key) => *key == name,
            };
            let value = scanner.value_start().map_err(broken)?;
            if wanted {
                let place = format!("{place}{}", to_pointer(&[Segment::Key(name)]));
                self.each_below(value, rest, place, found, writer)?;
            }
            scanner.next().map_err(broken)?;
            scanner.skip_to_depth(depth).map_err(broken)?;
        }
        Ok(())
    }
}

/// The values found so far by a path with `*`.
struct Matches {
    position: u64,
    number: u64,
    shown: u64,
    full: bool,
}

impl Matches {
    fn push(
        &mut self,
        walker: &Walker<'_>,
        at: u64,
        place: &str,
        writer: &mut SectionWriter<'_>,
    ) -> Result<(), ViewError> {
        if self.number >= self.position && !self.full {
            let value = walker.member(&mut walker.scanner(at)?)?;
            self.full = !writer.push(0, format!("{place}: {value}"));
            self.shown += u64::from(!self.full);
        }
        self.number += 1;
        Ok(())
    }
}
