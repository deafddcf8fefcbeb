//! Tables whose cells are separated by bars: Markdown, psql, mysql, and boxes of line characters.
//!
//! What they have in common is a line of dashes (a rule) under the header; in a box there is one above it as well, and
//! there may be one between any two rows.

use super::tables::{FoundTable, LineInTable, RowCut, TableForm};
use super::typed::column_names;
use crate::marks::marks;
use crate::trim::trim;

/// Returns whether a character draws a vertical line.
fn is_bar(c: char) -> bool {
    matches!(c, '|' | '│' | '┃' | '║' | '┆' | '┊' | '╎' | '¦')
}

/// Returns whether a line is a rule: dashes with at least one joint or bar.
pub(super) fn is_rule(line: &str) -> bool {
    let line = trim(line);
    let drawn = |c: char| matches!(c, '-' | '=' | '+' | '|' | ':' | ' ' | '\u{2500}'..='\u{257f}');
    let dash = |c: char| matches!(c, '-' | '=' | '─' | '━' | '═' | '╌' | '┄' | '╍' | '┅');
    let joint = |c: char| c == '+' || c == '|' || matches!(c, '\u{2500}'..='\u{257f}') && !dash(c);
    line.chars().all(drawn) && line.chars().any(joint) && line.chars().filter(|c| dash(*c)).count() >= 2
        // The dashes between two joints are not interrupted.
        && !line.contains("- -")
}

/// Finds the cells of a line with bars; returns false if it has none. An escaped bar is a part of its cell.
pub(super) fn find_cells<'l>(line: &'l str, cells: &mut Vec<&'l str>) -> bool {
    let trimmed = trim(line);
    cells.clear();
    // The bar that a line begins with ends no cell.
    let edge = trimmed.chars().next().filter(|c| is_bar(*c)).map_or(0, char::len_utf8);
    let mut start = edge;
    let mut push = |at: usize, bar_bytes: usize| {
        cells.push(trim(&trimmed[start..at]));
        start = at + bar_bytes;
    };
    if trimmed.is_ascii() {
        let mut escape = None;
        for at in marks(trimmed.as_bytes(), *b"|\\").skip(usize::from(edge > 0)) {
            let escaped = at.checked_sub(1).is_some_and(|before| escape == Some(before));
            match trimmed.as_bytes()[at] {
                _ if escaped => {}
                b'|' => push(at, 1),
                _ => escape = Some(at),
            }
        }
    } else {
        let mut escaped = false;
        for (at, c) in trimmed.char_indices().skip(usize::from(edge > 0)) {
            if is_bar(c) && !escaped {
                push(at, c.len_utf8());
            }
            escaped = c == '\\' && !escaped;
        }
    }
    if start == 0 {
        return false;
    }
    // psql pads an empty last cell with nothing, so only a line that begins with a bar ends with one.
    if start < trimmed.len() || edge == 0 {
        cells.push(trim(&trimmed[start..]));
    }
    !cells.is_empty()
}

/// Returns the cells of a line with bars; `None` if it has none.
fn cells(line: &str) -> Option<Vec<&str>> {
    let mut cells = Vec::new();
    find_cells(line, &mut cells).then_some(cells)
}

/// Returns how many columns a rule has.
fn rule_columns(line: &str) -> usize {
    let line = line.trim();
    let dash = |c: char| matches!(c, '-' | '=' | '─' | '━' | '═' | ':' | '╌' | '┄' | '╍' | '┅' | ' ');
    line.split(|c| !dash(c)).filter(|part| !part.trim().is_empty()).count()
}

/// Returns the table that begins at line `at`, without its rows.
pub(super) fn table_at(lines: &[&str], at: usize) -> Option<FoundTable> {
    let boxed = is_rule(lines[at]);
    let header_at = at + usize::from(boxed);
    let header = cells(lines.get(header_at)?).filter(|_| !is_rule(lines[header_at]))?;
    // In a box the names may be followed by a line of types or by the rest of long names.
    let most = if boxed { 3 } else { 1 };
    let rule_at =
        (header_at + 1..=header_at + most).find(|&at| lines.get(at).is_some_and(|line| is_rule(line)))?;
    let between = &lines[header_at + 1..rule_at];
    let even = between.iter().all(|line| cells(line).is_some_and(|cells| cells.len() == header.len()));
    if rule_columns(lines[rule_at]) != header.len() || !even || header.iter().all(|name| name.is_empty()) {
        return None;
    }
    let names = column_names(header.iter().copied());
    let form = TableForm::new(names, &header, RowCut::Bars { boxed });
    Some(FoundTable { form, header: header_at, first: rule_at + 1 })
}

/// Returns what line `at` is to the table above it.
pub(super) fn line_in_table<'l>(
    form: &TableForm,
    boxed: bool,
    lines: &[&'l str],
    at: usize,
    cells: &mut Vec<&'l str>,
) -> LineInTable {
    let line = lines[at];
    let columns = form.header.len();
    if is_rule(line) {
        // A second box may begin where this one ends.
        let ends =
            boxed && lines.get(at + 1).is_none_or(|line| !find_cells(line, cells) || cells.len() != columns);
        return if ends { LineInTable::Last } else { LineInTable::NoRow };
    }
    if !find_cells(line, cells) {
        return LineInTable::After;
    }
    if form.is_header(cells) {
        return LineInTable::NoRow;
    }
    // A line above a rule that has no box is the header of another table.
    let is_header = !boxed && lines.get(at + 1).is_some_and(|line| is_rule(line));
    // Markdown may leave out the last cells of a row.
    let is_short = !boxed && cells.len() < columns && line.trim().starts_with('|');
    if is_header || cells.len() != columns && !is_short { LineInTable::After } else { LineInTable::Row }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Option<(Vec<String>, Vec<Vec<String>>, usize)> {
        let lines: Vec<&str> = text.lines().collect();
        table_at(&lines, 0)?.rows(&lines)
    }

    #[test]
    fn tables_of_every_producer() {
        let rows = vec![vec!["1".to_owned(), "x y".to_owned()], vec!["2".into(), String::new()]];
        for (text, next) in [
            ("| a | b |\n|---|:--:|\n| 1 | x y |\n| 2 |  |\n", 4),
            ("|a|b|\n|-|-|\n|1|x y|\n|2|\n\nText", 4),
            ("a | b\n--- | ---\n1 | x y\n2 | \n", 4),
            (" a |  b  \n---+-----\n 1 | x y\n 2 | \n(2 rows)\n", 4),
            (
                "+---+-----+\n| a | b   |\n+---+-----+\n| 1 | x y |\n| 2 |     |\n+---+-----+\n2 rows in set\n",
                6,
            ),
            (
                "┌───┬─────┐\n│ a │  b  │\n│ int32 │ varchar │\n├───┼─────┤\n│ 1 │ x y │\n│ 2 │     │\n└───┴─────┘\n",
                7,
            ),
            ("┏━━━┳━━━━━┓\n┃ a ┃ b   ┃\n┡━━━╇━━━━━┩\n│ 1 │ x y │\n│ 2 │     │\n└───┴─────┘\n", 6),
            (
                "+---+-----+\n| a | b   |\n+===+=====+\n| 1 | x y |\n+---+-----+\n| 2 |     |\n+---+-----+\n",
                7,
            ),
            ("╭───┬─────╮\n│ a │ b   │\n├───┼─────┤\n│ 1 │ x y │\n│ 2 │     │\n╰───┴─────╯\n", 6),
            ("-----+-----\n a | b \n---+---\n 1 | x y\n 2 | \n", 5),
        ] {
            let (names, cells, end) = table(text).unwrap_or_else(|| panic!("no table:\n{text}"));
            assert_eq!(
                (names.as_slice(), &cells, end),
                (&["a".to_owned(), "b".to_owned()][..], &rows, next),
                "{text}"
            );
        }
    }

    #[test]
    fn bars_without_a_ruler_are_not_a_table() {
        for text in [
            "a | b\nc | d\n",
            "cat x | grep y\nls | wc\n-----\n",
            "Title\n-----\ntext | more\n",
            "| a | b |\n|---|\n| 1 | 2 |\n",
            "| - - |\n",
        ] {
            assert!(table(text).is_none(), "{text}");
        }
    }
}
