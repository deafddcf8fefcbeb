//! What many different names have in common: their folder, their beginning, their extension.
//!
//! A column of file paths or resource names has no value that repeats, but its folders, prefixes and extensions do.
//! [`NameParts`] counts those for the statistics of identifier fields.

use super::value_counts::{ValueCount, ValueCounts};

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
    /// Counts the parts of values; `None` if the parts differ as much as the values do.
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
            counts.total() > 0 && counts.total() * 2 >= self.total && distinct * 3 <= self.total
        };
        shared(&self.folders) || shared(&self.beginnings) || shared(&self.endings)
    }

    /// Returns the longest folder common to all names that have one, and how many names are in each folder below it.
    pub(crate) fn below_common_folder(&self) -> Option<(String, ValueCounts)> {
        let entries = self.folders.entries();
        let whole = self.folders.is_complete() && entries.iter().all(|entry| !entry.is_cut);
        if !whole || self.folders.total() * 10 < self.total * 9 || entries.len() < 2 {
            return None;
        }
        let common = entries.iter().skip(1).fold(&*entries[0].raw, |common, entry| {
            let same = common.iter().zip(&*entry.raw).take_while(|(one, two)| one == two).count();
            &common[..memchr::memrchr(b'/', &common[..same]).map_or(0, |slash| slash + 1)]
        });
        let mut parts = ValueCounts::default();
        let mut capacity = MAX_DISTINCT_PARTS;
        for entry in entries {
            let part = entry.raw[common.len()..].split(|byte| *byte == b'/').next().unwrap_or_default();
            let part = if part.is_empty() { b"./" } else { part };
            parts.add_many(part, entry.first, entry.count, &mut capacity);
        }
        Some((String::from_utf8_lossy(common).into_owned(), parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(names: &[&str]) -> NameParts {
        let mut parts = NameParts::default();
        names.iter().for_each(|name| parts.add(name.as_bytes(), 0, 1));
        parts
    }

    #[test]
    fn folders_that_differ_within_a_character() {
        let parts = parts(&["x/a\u{e9}/1.txt", "x/a\u{e8}/2.txt", "x/a\u{e8}/3.txt"]);
        let (common, folders) = parts.below_common_folder().unwrap();
        let folders: Vec<_> = folders.entries().iter().map(|entry| (entry.text(), entry.count)).collect();
        assert_eq!((common.as_str(), folders), ("x/", vec![("a\u{e9}".into(), 1), ("a\u{e8}".into(), 2)]));
    }

    #[test]
    fn an_empty_list_of_names_has_no_parts() {
        assert!(NameParts::of(&[]).is_none());
    }
}
