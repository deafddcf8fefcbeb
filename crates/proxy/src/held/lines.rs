//! Lines cut out of a stream of bytes, in whatever pieces they come; long ones go to disk meanwhile.

use std::sync::Arc;

use super::{Framed, Intake, Limits};

/// Cuts lines out of a stream.
#[derive(Debug)]
pub(crate) struct Lines {
    intake: Intake,
}

impl Lines {
    /// Returns a stream of which nothing has come.
    pub(crate) fn new(limits: Arc<Limits>) -> Self {
        Self { intake: Intake::new(limits) }
    }

    /// Takes bytes, and hands out what they complete; lines keep their end.
    pub(crate) fn push(&mut self, bytes: &[u8], mut each: impl FnMut(Framed)) {
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest).map(|end| end + 1) {
            self.intake.push(&rest[..end]);
            rest = &rest[end..];
            self.intake.finish().map(&mut each);
        }
        if !rest.is_empty() {
            self.intake.push(rest);
            self.intake.overflow().map(Framed::TooLong).map(&mut each);
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
            let mut each = |framed| match framed {
                Framed::Message(message) => found.push(message.into_bytes().unwrap()),
                Framed::TooLong(_) => panic!("nothing is that long"),
            };
            text.as_bytes().chunks(step).for_each(|piece| lines.push(piece, &mut each));
            lines.rest().map(each);
            let expected: Vec<Vec<u8>> = text.split_inclusive('\n').map(|line| line.as_bytes().to_vec()).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
