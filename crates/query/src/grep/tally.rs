//! Matches counted by place: the list a record is in, the path of a value, or the lines of the text.

use std::collections::BTreeMap;

use tidegate_core::view::{EngineOutput, Total, shown_pointer};

/// The maximum number of places that are counted separately; matches elsewhere are counted together.
const MAX_PLACES: usize = 10_000;

/// How many matches there are in each place.
#[derive(Debug, Default)]
pub(super) struct Tally {
    places: BTreeMap<String, u64>,
    elsewhere: u64,
}

impl Tally {
    /// Counts a match.
    pub(super) fn add(&mut self, place: &str) {
        let is_full = self.places.len() == MAX_PLACES;
        match self.places.get_mut(place) {
            Some(count) => *count += 1,
            None if !is_full => {
                self.places.insert(place.to_owned(), 1);
            }
            None => self.elsewhere += 1,
        }
    }

    /// Returns the counts, largest first, as the results of a search with `notes`.
    pub(super) fn found(self, total: Total, mut notes: Vec<String>, skip: u64) -> EngineOutput {
        let (count, at_least) = match total {
            Total::Exactly(count) => (count, ""),
            Total::AtLeast(count) => (count, "at least "),
        };
        if self.elsewhere > 0 {
            notes
                .push(format!("{} matches in further places are counted in the total only.", self.elsewhere));
        }
        notes.insert(
            0,
            format!("{at_least}{count} matches in all; each line is a number of matches and their place."),
        );
        let mut places: Vec<(String, u64)> = self.places.into_iter().collect();
        places.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let total = Total::Exactly(places.len() as u64);
        let skip = usize::try_from(skip).unwrap_or(usize::MAX);
        let lines =
            places.into_iter().skip(skip).map(|(place, count)| format!("{count} {}", shown_pointer(&place)));
        EngineOutput {
            header: None,
            results: lines.collect(),
            total,
            what: "places with matches".into(),
            notes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_with_most_matches_come_first() {
        let mut tally = Tally::default();
        for place in ["/a", "/b c", "/b c", "lines"] {
            tally.add(place);
        }
        let found = tally.found(Total::Exactly(4), Vec::new(), 0);
        assert_eq!(found.results, ["2 \"/b c\"", "1 /a", "1 lines"]);
        assert!(found.notes[0].starts_with("4 matches in all"));
    }
}
