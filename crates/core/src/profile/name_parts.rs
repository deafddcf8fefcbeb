//! What many different names have in common: their folder, their beginning, their extension.
//!
//! A column of file paths or resource names has no value that repeats, but its folders, prefixes and extensions do.
//! [`NameParts`] counts those for the statistics of identifier fields.

use super::value_counts::{ValueCount, ValueCounts};
use crate::prefix;

/// Counts of the parts of names.
#[derive(Debug, Clone, Default)]
pub(crate) struct NameParts {
    /// Everything up to the last slash.
    pub(crate) folders: ValueCounts,
    /// The beginning of the last path component, up to its first separator.
    pub(crate) beginnings: ValueCounts,
    /// The extension of the last path component, from its last dot.
    pub(crate) endings: ValueCounts,
    pub(crate) total: u64,
}

/// The maximum number of distinct parts that one name, or the folders of all names, add; the counts bound their own
/// total.
const MAX_DISTINCT_PARTS: usize = 2048;

impl NameParts {
    /// Counts the parts of values; `None` where the parts differ as much as the values do.
    pub(crate) fn of(entries: &[ValueCount]) -> Option<Self> {
        let mut parts = Self::default();
        for entry in entries {
            parts.add(&entry.raw, entry.first, entry.count);
        }
        parts.has_shared_parts().then_some(parts)
    }

    /// Counts the parts of a name.
    pub(crate) fn add(&mut self, raw: &[u8], at: u64, count: u64) {
        self.total += count;
        let mut capacity = MAX_DISTINCT_PARTS;
        let last = match memchr::memrchr(b'/', raw) {
            Some(slash) if slash > 0 && slash + 1 < raw.len() => {
                self.folders.add_many(&raw[..=slash], at, count, &mut capacity);
                &raw[slash + 1..]
            }
            _ => raw,
        };
        if let Some(end) = last.iter().position(|byte| matches!(byte, b'_' | b'-' | b'.' | b':' | b' '))
            && (1..=24).contains(&end)
        {
            self.beginnings.add_many(&last[..=end], at, count, &mut capacity);
        }
        if let Some(dot) = memchr::memrchr(b'.', last) {
            let ending = &last[dot..];
            if dot > 0
                && (2..=7).contains(&ending.len())
                && ending[1].is_ascii_alphabetic()
                && ending[1..].iter().all(u8::is_ascii_alphanumeric)
            {
                self.endings.add_many(ending, at, count, &mut capacity);
            }
        }
    }

    fn has_shared_parts(&self) -> bool {
        let shared = |counts: &ValueCounts| {
            let (distinct, _) = counts.distinct();
            counts.total() * 2 >= self.total && distinct * 3 <= self.total
        };
        shared(&self.folders) || shared(&self.beginnings) || shared(&self.endings)
    }

    /// Returns the longest folder common to all names, and how many names are in each folder below it.
    pub(crate) fn below_common_folder(&self) -> Option<(String, ValueCounts)> {
        let folders: Vec<String> = self.folders.entries().iter().map(ValueCount::text).collect();
        if !self.folders.is_complete() || self.folders.total() * 10 < self.total * 9 || folders.len() < 2 {
            return None;
        }
        let mut common = folders[0].as_str();
        for folder in &folders[1..] {
            let same = prefix::common(common, folder);
            common = &same[..same.rfind('/').map_or(0, |slash| slash + 1)];
        }
        let mut parts = ValueCounts::default();
        let mut capacity = MAX_DISTINCT_PARTS;
        for (folder, entry) in folders.iter().zip(self.folders.entries()) {
            let part = folder[common.len()..].split('/').next().unwrap_or("");
            let part = if part.is_empty() { "./" } else { part };
            parts.add_many(part.as_bytes(), entry.first, entry.count, &mut capacity);
        }
        Some((common.to_owned(), parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_differ_inside_a_character() {
        let mut counts = ValueCounts::default();
        for number in 0..12 {
            let name = format!("/srv/a{}/file{number}.txt", if number % 2 == 0 { 'é' } else { 'è' });
            counts.add(name.as_bytes(), false, number, &mut 100);
        }
        let (common, below) = NameParts::of(counts.entries()).unwrap().below_common_folder().unwrap();
        assert_eq!((common.as_str(), below.distinct()), ("/srv/", (2, true)));
    }
}
