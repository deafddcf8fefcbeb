//! Collects the cells of a table and what is wrong in them, so that one failure shows all of them.

use std::collections::BTreeMap;
use std::fmt::Display;

/// How many wrong cells a failure shows.
const MAX_SHOWN: usize = 25;

/// The cells so far.
#[derive(Default)]
pub(super) struct Table {
    /// How many cells there are of each kind, and in how many the caller was to succeed.
    kinds: BTreeMap<&'static str, (usize, usize)>,
    wrong: Vec<String>,
}

impl Table {
    /// Notes a cell: whether the caller should succeed, and whether it did.
    pub(super) fn cell(
        &mut self,
        kind: &'static str,
        expected: bool,
        succeeded: bool,
        describe: impl FnOnce() -> String,
    ) {
        let (all, positive) = self.kinds.entry(kind).or_default();
        *all += 1;
        *positive += usize::from(expected);
        if expected != succeeded {
            let said = if expected { "refused" } else { "allowed" };
            let described: String = describe().chars().take(600).collect();
            self.wrong.push(format!("{kind} was {said}: {described}"));
        }
    }

    /// Notes something else that is wrong.
    pub(super) fn wrong(&mut self, what: impl Display) {
        self.wrong.push(what.to_string());
    }

    /// Prints the number of cells, and fails if one is wrong or a kind is missing. `least` is how many there must be of each
    /// kind.
    #[expect(clippy::print_stderr, reason = "the size of the table is to be seen")]
    pub(super) fn finish(self, least: &[(&str, usize)]) -> usize {
        let count: usize = self.kinds.values().map(|(all, _)| all).sum();
        for (kind, (all, positive)) in &self.kinds {
            eprintln!("{kind}: {all} cells, {positive} of them allowed");
        }
        eprintln!("{count} cells in all");
        let shown = self.wrong.iter().take(MAX_SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
        assert!(self.wrong.is_empty(), "{} cells are wrong:\n{shown}", self.wrong.len());
        for (kind, least) in least {
            let (all, positive) = self.kinds.get(kind).copied().unwrap_or_default();
            assert!(all >= *least && positive > 0, "{kind}: {all} cells, {positive} allowed");
            assert!(positive < all, "{kind}: somebody must be refused");
        }
        assert_eq!(self.kinds.len(), least.len(), "every kind of cell has its least number");
        count
    }
}
