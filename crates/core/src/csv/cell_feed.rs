//! Feeds the cells of records without types to a profile, and judges which of their columns are numbers.
//!
//! In separated values and in lines of text only its form tells a number from a text. The versions `1.1` and `1.10` are
//! different texts but the same number, so a column is one of numbers only if no two different texts in it can be the
//! same number: all have the same number of decimals, or all are written as short as possible.

use crate::json::StringToken;
use crate::profile::ProfileBuilder;

/// Feeds cells to a profile.
pub(crate) struct CellFeed<'b> {
    pub(crate) builder: &'b mut ProfileBuilder,
    columns: Vec<(String, NumberForms)>,
    /// The column that is likely to come next: records repeat their order.
    next: usize,
}

impl<'b> CellFeed<'b> {
    pub(crate) fn new(builder: &'b mut ProfileBuilder) -> Self {
        Self { builder, columns: Vec::new(), next: 0 }
    }

    /// Adds one cell; an empty cell counts as null.
    pub(crate) fn cell(&mut self, name: &str, cell: &str, at: u64) {
        self.builder.key(&StringToken::unescaped(name), at);
        if cell.is_empty() {
            self.builder.null(at);
        } else {
            self.builder.string(&StringToken::unescaped(cell), at);
            self.column(name).add(cell);
        }
    }

    fn column(&mut self, name: &str) -> &mut NumberForms {
        let is_next = self.columns.get(self.next).is_some_and(|(known, _)| known == name);
        let at = match is_next {
            true => self.next,
            false => self.columns.iter().position(|(known, _)| known == name).unwrap_or_else(|| {
                self.columns.push((name.to_owned(), NumberForms::default()));
                self.columns.len() - 1
            }),
        };
        self.next = at + 1;
        &mut self.columns[at].1
    }

    /// Returns the names of the columns whose numbers are texts.
    pub(crate) fn text_columns(self) -> Vec<String> {
        let texts = self.columns.into_iter().filter(|(_, forms)| forms.are_texts());
        texts.map(|(name, _)| name).collect()
    }
}

/// How the numbers of one column are written.
#[derive(Debug, Default, Clone)]
pub(crate) struct NumberForms {
    /// The number of decimals of the first number.
    decimals: Option<usize>,
    /// Whether another number has other decimals.
    uneven: bool,
    /// Whether some number ends with a zero after its point.
    padded: bool,
    /// Whether some number is never written like that: `007`, `+1`, `-0`, `1.`.
    odd: bool,
}

impl NumberForms {
    pub(crate) fn add(&mut self, cell: &str) {
        let (sign, unsigned) = match cell.as_bytes() {
            [sign @ (b'-' | b'+'), rest @ ..] => (*sign, rest),
            all => (0, all),
        };
        let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (whole, rest) = unsigned.split_at(digits(unsigned));
        let fraction = rest.strip_prefix(b".").unwrap_or(rest);
        if whole.is_empty()
            || digits(fraction) < fraction.len()
            || rest.len() == fraction.len() && !rest.is_empty()
        {
            return;
        }
        let zero = |part: &[u8]| part.iter().all(|&byte| byte == b'0');
        self.odd |= whole.len() > 1 && whole[0] == b'0'
            || sign == b'+'
            || sign == b'-' && zero(whole) && zero(fraction)
            || rest == b".";
        self.padded |= fraction.ends_with(b"0");
        self.uneven |= *self.decimals.get_or_insert(fraction.len()) != fraction.len();
    }

    /// Adds the numbers of another part of the column.
    pub(crate) fn merge(&mut self, other: &Self) {
        if let Some(decimals) = other.decimals {
            self.uneven |= other.uneven || *self.decimals.get_or_insert(decimals) != decimals;
        }
        self.padded |= other.padded;
        self.odd |= other.odd;
    }

    pub(crate) fn are_texts(&self) -> bool {
        self.odd || self.uneven && self.padded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_are_texts() {
        let texts = |cells: &[&str]| {
            let mut forms = NumberForms::default();
            cells.iter().for_each(|cell| forms.add(cell));
            forms.are_texts()
        };
        assert!(texts(&["1.1", "1.10"]) && texts(&["007", "12"]) && texts(&["10", "10.0"]));
        assert!(texts(&["+1"]) && texts(&["-0"]) && texts(&["1."]));
        assert!(
            !texts(&["0.0", "4.7", "-3.5"]) && !texts(&["12.50", "3.00"]) && !texts(&["1", "2.5", "0.25"])
        );
        assert!(!texts(&["a", "1.2.30", "", "1e5"]));
    }
}
