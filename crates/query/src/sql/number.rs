//! Numbers in SQLite: a number is stored only if SQLite can hold exactly what was written; otherwise it stays text.

use rusqlite::types::Value;

/// Returns a number as an integer or a float, if that is exactly what was written.
pub(super) fn number(raw: &str) -> Option<Value> {
    if let Ok(integer) = raw.parse::<i64>() {
        return Some(Value::Integer(integer));
    }
    let float: f64 = raw.parse().ok().filter(|float: &f64| float.is_finite())?;
    let written = Digits::of(raw);
    // Fifteen digits always survive a normal float; more may, so the float is written and compared.
    let survives = written.digits.is_empty() || (written.digits.len() <= 15 && float.is_normal());
    (survives || Digits::of(&format!("{float:e}")) == written).then_some(Value::Real(float))
}

/// The digits of a number from the first to the last that is not zero, and the power of ten of the first.
#[derive(PartialEq)]
struct Digits {
    digits: String,
    power: i64,
}

impl Digits {
    fn of(raw: &str) -> Self {
        let (mantissa, exponent) = raw.split_once(['e', 'E']).unwrap_or((raw, "0"));
        let mantissa = mantissa.trim_start_matches(['-', '+']);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{whole}{fraction}");
        let zeros = all.len() - all.trim_start_matches('0').len();
        let power = exponent.parse::<i64>().unwrap_or(i64::MAX / 2) + whole.len() as i64 - zeros as i64;
        Self { digits: all.trim_matches('0').to_owned(), power }
    }
}

/// How the cells of a column are written, in a notation without types.
#[derive(Debug, Default, Clone)]
pub(super) struct CellForms {
    numbers: u64,
    /// Numbers that SQLite would write in another way, such as `007` and `1e3`.
    odd: u64,
    /// The digits after the point, if all numbers have as many.
    decimals: Option<usize>,
    mixed_decimals: bool,
    trailing_zeros: bool,
}

impl CellForms {
    pub(super) fn add(&mut self, cell: &str) {
        let Some(decimals) = decimals(cell).filter(|_| number(cell).is_some()) else {
            // Any other text among numbers stays a text by itself.
            self.odd += u64::from(cell.parse().is_ok_and(f64::is_finite));
            return;
        };
        self.numbers += 1;
        self.mixed_decimals |= *self.decimals.get_or_insert(decimals) != decimals;
        self.trailing_zeros |= decimals > 0 && cell.ends_with('0');
    }

    /// Returns whether all numbers can be written again as they were: `1.1` and `1.10` are the same number, so a column
    /// with both is text.
    pub(super) fn are_numbers(&self) -> bool {
        self.numbers > 0 && self.odd == 0 && !(self.trailing_zeros && self.mixed_decimals)
    }

    /// Returns whether some cells are numbers though the column is text.
    pub(super) fn are_partly_numbers(&self) -> bool {
        self.numbers > 0 && !self.are_numbers()
    }

    /// Returns the digits after the point with which all numbers are written, where that is not the usual way.
    pub(super) fn fixed_decimals(&self) -> Option<usize> {
        self.decimals.filter(|_| self.are_numbers() && self.trailing_zeros)
    }
}

/// Returns the digits after the point of a plain decimal number; `None` for every other way to write one.
fn decimals(cell: &str) -> Option<usize> {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let leading_zero = whole.len() > 1 && whole.starts_with('0');
    let negative_zero = digits.len() < cell.len() && digits.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let plain = all_digits(whole) && all_digits(fraction) && !leading_zero && !negative_zero;
    plain.then(|| digits.split_once('.').map_or(0, |(_, fraction)| fraction.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_exact_or_text() {
        for (raw, exact) in [
            ("12", Some(Value::Integer(12))),
            ("9007199254740993", Some(Value::Integer(9_007_199_254_740_993))),
            ("18446744073709551617", None),
            ("1.50", Some(Value::Real(1.5))),
            ("0.1", Some(Value::Real(0.1))),
            ("0.0", Some(Value::Real(0.0))),
            ("123456789.123456789123", None),
            ("1e400", None),
            ("1e-400", None),
            ("1.2345678901e-320", None),
            ("1e3", Some(Value::Real(1000.0))),
            ("2.5e-8", Some(Value::Real(2.5e-8))),
            ("1e99999999999999999999", None),
        ] {
            assert_eq!(number(raw), exact, "{raw}");
        }
    }

    #[test]
    fn a_column_holds_numbers_only_if_all_can_be_written_back() {
        let forms = |cells: &[&str]| {
            let mut forms = CellForms::default();
            cells.iter().for_each(|cell| forms.add(cell));
            (forms.are_numbers(), forms.fixed_decimals())
        };
        assert_eq!(forms(&["1", "2.5", "-3.25"]), (true, None));
        assert_eq!(forms(&["1.50", "2.25", "10.00"]), (true, Some(2)));
        assert_eq!(forms(&["1.1", "1.10", "1.100"]), (false, None));
        for text in ["1.2.3", "x", "N/A", " 1"] {
            assert_eq!(forms(&["1", text]), (true, None), "{text}");
        }
        for odd in ["007", "1.", ".5", "1e3", "+1", "-0", "18446744073709551617"] {
            assert_eq!(forms(&["1", odd]), (false, None), "{odd}");
        }
    }
}
