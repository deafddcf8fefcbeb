//! Lines cut out of a stream of bytes, in whatever pieces they come; long ones go to disk meanwhile.

use std::sync::Arc;

use super::{Framed, Intake, Limits};

/// What was cut out of a stream.
#[derive(Debug)]
pub(crate) enum Cut<'b> {
    /// A line that came in one piece, where it stands in it.
    Whole(&'b [u8]),
    Framed(Framed),
}

impl Cut<'_> {
    /// Returns the line, where it is in memory.
    pub(crate) fn line(&self) -> Option<&[u8]> {
        match self {
            Self::Whole(line) => Some(line),
            Self::Framed(Framed::Message(message)) => message.as_bytes(),
            Self::Framed(Framed::TooLong(_)) => None,
        }
    }
}

impl From<Cut<'_>> for Framed {
    fn from(cut: Cut<'_>) -> Self {
        match cut {
            Cut::Whole(line) => Self::Message(line.to_vec().into()),
            Cut::Framed(framed) => framed,
        }
    }
}

/// Cuts lines out of a stream.
#[derive(Debug)]
pub(crate) struct Lines {
    limits: Arc<Limits>,
    intake: Intake,
}

impl Lines {
    /// Returns a stream of which nothing has come.
    pub(crate) fn new(limits: Arc<Limits>) -> Self {
        Self { intake: Intake::new(Arc::clone(&limits)), limits }
    }

    /// Takes bytes, and hands out what they complete; lines keep their end.
    pub(crate) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Cut<'_>)) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest).map(|end| end + 1) {
            let (line, behind) = rest.split_at(end);
            rest = behind;
            if self.intake.is_empty() && line.len() as u64 <= self.limits.in_memory() {
                each(Cut::Whole(line));
                continue;
            }
            self.intake.push(line);
            self.intake.finish().map(Cut::Framed).map(&mut each);
        }
        if !rest.is_empty() {
            self.intake.push(rest);
            self.intake.overflow().map(Framed::TooLong).map(Cut::Framed).map(&mut each);
        }
    }

    /// Returns how many bytes are held in memory.
    #[cfg(feature = "fuzzing")]
    pub(crate) fn held(&self) -> usize {
        self.intake.held()
    }

    /// Returns what came after the last line end, now that nothing more will.
    pub(crate) fn rest(&mut self) -> Option<Framed> {
        if self.intake.is_empty() { None } else { self.intake.finish() }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lines_are_the_same_whatever_the_pieces(
            text in "[a-c{}\":,\n]{0,200}",
            step in 1_usize..50,
            spool_above in 0_usize..60,
        ) {
            let limits = Arc::new(Limits { spool_above, most: 1000, folder: None });
            let mut lines = Lines::new(limits);
            let mut found = Vec::new();
            let mut each = |cut: Cut<'_>| match cut.into() {
                Framed::Message(message) => found.push(message.into_bytes().unwrap()),
                Framed::TooLong(_) => panic!("nothing is that long"),
            };
            text.as_bytes().chunks(step).for_each(|piece| lines.push(piece, &mut each));
            lines.rest().map(Cut::Framed).map(each);
            let expected: Vec<Vec<u8>> = text.split_inclusive('\n').map(|line| line.as_bytes().to_vec()).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
