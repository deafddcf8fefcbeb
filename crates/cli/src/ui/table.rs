//! Tables. On a terminal they fit its width: cells of the widest columns are wrapped. A pipe gets each row on one line.

use std::io::{self, IsTerminal};

/// The gap between two columns.
const GAP: &str = "  ";
/// The narrowest that a column is made to fit; below that a table is wider than the terminal.
const MIN_COLUMN_WIDTH: usize = 10;
/// The width of a terminal that does not tell its own.
const DEFAULT_TERMINAL_WIDTH: usize = 80;

/// Formats rows as a table; the listed columns are aligned to the right.
pub(crate) fn table<R: AsRef<[String]>>(rows: &[R], right_aligned: &[usize]) -> String {
    table_within(rows, right_aligned, terminal_width())
}

/// Returns the width of the terminal on stdout; `None` if stdout is something else.
fn terminal_width() -> Option<usize> {
    if !io::stdout().is_terminal() {
        return None;
    }
    let set = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    Some(set.or_else(asked_width).filter(|width| *width > 0).unwrap_or(DEFAULT_TERMINAL_WIDTH))
}

#[cfg(unix)]
fn asked_width() -> Option<usize> {
    rustix::termios::tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col))
}

#[cfg(not(unix))]
fn asked_width() -> Option<usize> {
    None
}

fn table_within<R: AsRef<[String]>>(rows: &[R], right_aligned: &[usize], max_width: Option<usize>) -> String {
    let columns = rows.first().map_or(0, |row| row.as_ref().len());
    let length = |row: &R, column: usize| row.as_ref().get(column).map_or(0, |cell| cell.chars().count());
    let width = |column: usize| rows.iter().map(|row| length(row, column)).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..columns).map(width).collect();
    if let Some(max_width) = max_width {
        let words = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.as_ref().get(column));
            cells.flat_map(|cell| cell.split(' ')).map(|word| word.chars().count()).max().unwrap_or(0)
        };
        let longest_words: Vec<usize> = (0..columns).map(words).collect();
        let available = max_width.saturating_sub(GAP.len() * columns.saturating_sub(1));
        // Words are broken only where that is not enough: a name should stay whole, to be copied.
        narrow(&mut widths, &longest_words, available);
        narrow(&mut widths, &vec![MIN_COLUMN_WIDTH; columns], available);
    }
    rows.iter().map(|row| row_text(row.as_ref(), &widths, right_aligned)).collect()
}

/// Narrows the widest columns until all fit, or all have their least width.
fn narrow(widths: &mut [usize], least: &[usize], available: usize) {
    while widths.iter().sum::<usize>() > available {
        let columns = widths.iter_mut().zip(least).filter(|(width, least)| **width > **least);
        match columns.map(|(width, _)| width).max() {
            Some(widest) => *widest -= 1,
            None => return,
        }
    }
}

fn row_text(cells: &[String], widths: &[usize], right_aligned: &[usize]) -> String {
    let wrapped: Vec<Vec<String>> =
        cells.iter().zip(widths).map(|(cell, width)| wrap(cell, *width)).collect();
    let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
    let mut out = String::new();
    for line in 0..height {
        let parts = wrapped.iter().zip(widths).enumerate().map(|(column, (lines, &width))| {
            let text = lines.get(line).map_or("", String::as_str);
            if right_aligned.contains(&column) {
                format!("{text:>width$}")
            } else {
                format!("{text:<width$}")
            }
        });
        out.push_str(parts.collect::<Vec<_>>().join(GAP).trim_end());
        out.push('\n');
    }
    out
}

/// Breaks a cell into lines, at spaces where there are some.
fn wrap(cell: &str, width: usize) -> Vec<String> {
    let characters: Vec<char> = cell.chars().collect();
    let mut lines = Vec::new();
    let mut rest = characters.as_slice();
    while rest.len() > width.max(1) {
        let head = &rest[..=width];
        let leading = head.iter().take_while(|character| **character == ' ').count();
        let space = head.iter().rposition(|character| *character == ' ').filter(|at| *at > leading);
        let (line, after) = match space {
            Some(at) => (&rest[..at], &rest[at + 1..]),
            None => rest.split_at(width.max(1)),
        };
        lines.push(line.iter().collect());
        rest = after;
    }
    lines.push(rest.iter().collect());
    lines
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    #[test]
    fn a_pipe_gets_each_row_on_one_line() {
        let rows = rows(&[&["NAME", "N"], &["a long cell of several words", "7"]]);
        assert_eq!(
            table_within(&rows, &[1], None),
            "NAME                          N\na long cell of several words  7\n"
        );
    }

    #[test]
    fn a_terminal_gets_the_widest_column_wrapped() {
        let rows =
            rows(&[&["NAME", "WHAT", "N"], &["a", "a long cell of several words", "7"], &["b", "x", "12"]]);
        let lines = [
            "NAME  WHAT             N",
            "a     a long cell of   7",
            "      several words",
            "b     x               12",
        ];
        assert_eq!(table_within(&rows, &[2], Some(24)), lines.join("\n") + "\n");
    }

    proptest! {
        #![proptest_config(tidegate_testkit::cases(10_000))]

        #[test]
        fn a_table_fits_and_loses_no_letter(
            cells in prop::collection::vec(prop::collection::vec("[a-z ]{0,60}", 3), 1..6),
            width in 40_usize..120,
        ) {
            let text = table_within(&cells, &[2], Some(width));
            for line in text.lines() {
                prop_assert!(line.chars().count() <= width, "{line}");
            }
            let letters = |text: &str| {
                let mut letters: Vec<char> = text.chars().filter(|letter| !letter.is_whitespace()).collect();
                letters.sort_unstable();
                letters
            };
            prop_assert_eq!(letters(&text), letters(&cells.concat().concat()));
        }
    }
}
