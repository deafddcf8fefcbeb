//! What many different names have in common: the folder they are in, how they begin, how they end.

use super::tally::{Entry, Tally};

/// Group counts over the parts of names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    /// Everything up to the last slash.
    pub(crate) folders: Tally,
    /// The beginning of the last part, up to the first mark.
    pub(crate) beginnings: Tally,
    /// The ending of the last part, from its last dot.
    pub(crate) endings: Tally,
    pub(crate) total: u64,
}

/// The most distinct parts held of each.
const MOST: usize = 2048;

impl Names {
    /// Starts from values that are held; `None` where their parts differ as much as they do.
    pub(crate) fn of(entries: &[Entry]) -> Option<Self> {
        let mut names = Self::default();
        for entry in entries {
            names.add(&entry.raw, entry.first, entry.count);
        }
        names.is_telling().then_some(names)
    }

    /// Counts the parts of a name.
    pub(crate) fn add(&mut self, raw: &[u8], at: u64, count: u64) {
        self.total += count;
        let mut room = MOST;
        let last = match memchr::memrchr(b'/', raw) {
            Some(slash) if slash > 0 && slash + 1 < raw.len() => {
                self.folders.add_many(&raw[..=slash], at, count, &mut room);
                &raw[slash + 1..]
            }
            _ => raw,
        };
        if let Some(end) = last.iter().position(|byte| matches!(byte, b'_' | b'-' | b'.' | b':' | b' '))
            && (1..=24).contains(&end)
        {
            self.beginnings.add_many(&last[..=end], at, count, &mut room);
        }
        if let Some(dot) = memchr::memrchr(b'.', last) {
            let ending = &last[dot..];
            if dot > 0
                && (2..=7).contains(&ending.len())
                && ending[1].is_ascii_alphabetic()
                && ending[1..].iter().all(u8::is_ascii_alphanumeric)
            {
                self.endings.add_many(ending, at, count, &mut room);
            }
        }
    }

    fn is_telling(&self) -> bool {
        let telling = |tally: &Tally| {
            let (distinct, _) = tally.distinct();
            tally.total() * 2 >= self.total && distinct * 3 <= self.total
        };
        telling(&self.folders) || telling(&self.beginnings) || telling(&self.endings)
    }

    /// Returns the longest folder that holds all names, and how many stand in each part below it.
    pub(crate) fn below_common_folder(&self) -> Option<(String, Tally)> {
        let folders: Vec<String> = self.folders.entries().iter().map(Entry::text).collect();
        if !self.folders.is_complete() || self.folders.total() * 10 < self.total * 9 || folders.len() < 2 {
            return None;
        }
        let mut common = folders[0].as_str();
        for folder in &folders[1..] {
            let same = common.bytes().zip(folder.bytes()).take_while(|(one, two)| one == two).count();
            common = &common[..common[..same].rfind('/').map_or(0, |slash| slash + 1)];
        }
        let mut parts = Tally::default();
        let mut room = MOST;
        for (folder, entry) in folders.iter().zip(self.folders.entries()) {
            let part = folder[common.len()..].split('/').next().unwrap_or("");
            let part = if part.is_empty() { "./" } else { part };
            parts.add_many(part.as_bytes(), entry.first, entry.count, &mut room);
        }
        Some((common.to_owned(), parts))
    }
}
