//! The beginning of a text, by which its kind is recognised: cheap and deterministic.
//!
//! A wrong guess costs usefulness, never correctness: a text of any kind can be read in the same ways.

/// How many bytes of a text are examined.
pub(crate) const SAMPLE_BYTES: u64 = 32 * 1024;

/// The beginning of a text.
pub(crate) struct Sample<'h> {
    /// Its bytes, in which offsets are those of the text.
    pub(crate) bytes: &'h [u8],
    /// The same as text, in which invalid UTF-8 may take more bytes.
    pub(crate) head: &'h str,
    /// Whether that is the whole text.
    pub(crate) whole: bool,
    /// The lines that are not blank, without a last one that may be cut off.
    pub(crate) lines: Vec<&'h str>,
}

impl<'h> Sample<'h> {
    pub(crate) fn new(bytes: &'h [u8], head: &'h str, whole: bool) -> Self {
        let mut lines: Vec<&str> = head.lines().filter(|line| !line.trim().is_empty()).collect();
        if !whole && lines.len() > 1 {
            lines.pop();
        }
        Self { bytes, head, whole, lines }
    }

    /// Returns a sample that is the whole text.
    #[cfg(test)]
    pub(crate) fn of(text: &'h str) -> Self {
        Self::new(text.as_bytes(), text, true)
    }

    /// Returns the text from its first visible character on.
    pub(crate) fn trimmed(&self) -> &'h str {
        self.head.trim_start_matches('\u{feff}').trim_start()
    }

    /// Returns the share of the lines for which `is` holds.
    pub(crate) fn share(&self, is: impl Fn(&str) -> bool) -> f64 {
        let hits = self.lines.iter().filter(|line| is(line)).count();
        hits as f64 / self.lines.len().max(1) as f64
    }

    /// Returns whether the text begins like JSON or a Python literal; only scanning it shows whether it is.
    ///
    /// A bracket may also begin a line such as `[INFO] starting`.
    pub(crate) fn begins_like_json(&self) -> bool {
        let trimmed = self.trimmed();
        let Some(inside) = trimmed.get(1..).map(str::trim_start) else { return false };
        let digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        match trimmed.as_bytes()[0] {
            b'{' => inside.starts_with(['"', '\'', '}']) || digit(inside),
            b'[' | b'(' => {
                inside.starts_with(['"', '\'', '{', '[', '(', ']', ')', '-'])
                    || digit(inside)
                    || ["true", "false", "null", "None", "True", "False", "NaN", "Decimal(", "datetime."]
                        .iter()
                        .any(|word| inside.starts_with(word))
            }
            _ => false,
        }
    }
}
