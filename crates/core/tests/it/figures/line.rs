//! Reads the line of a field's statistics, and checks every figure in it.

use super::columns::{Cell, Column};
use super::oracle::{self, Key};

/// A figure, and whether it is marked as an estimate.
type Figure<'t> = (&'t str, bool);

/// Tells whether a cell is of one type.
type CellTest<'c> = &'c dyn Fn(&Cell) -> bool;

/// Returns the figure behind a word.
fn figure<'t>(line: &'t str, word: &str) -> Option<Figure<'t>> {
    let rest = &line[line.find(word)? + word.len()..];
    let (rest, estimate) = rest.strip_prefix('~').map_or((rest, false), |rest| (rest, true));
    let end = rest.find([',', ';', ' ', '(']).unwrap_or(rest.len());
    Some((&rest[..end], estimate))
}

/// The beginnings of lines that name several fields of which the same holds.
pub(super) const SHARED_TITLES: [&str; 5] =
    ["in all", "true in (else false)", "unique", "null in all", "empty lists in all"];

/// Checks what a line that several fields share says of one of them.
pub(super) fn check_shared(title: &str, item: &str, column: &Column) {
    let context = || format!("{title}: {} {item}", column.name);
    let every = |is: &dyn Fn(&Cell) -> bool| assert!(column.cells.iter().all(is), "{}", context());
    match title {
        "null in all" => every(&|cell| *cell == Cell::Null),
        "empty lists in all" => every(&|cell| *cell == Cell::List(0)),
        "unique" => {
            let counts = oracle::counts(column);
            assert_eq!(counts.len(), column.cells.len(), "{}", context());
        }
        "in all" if matches!(item, "true" | "false") && matches!(column.cells[0], Cell::Bool(_)) => {
            every(&|cell| *cell == Cell::Bool(item == "true"));
        }
        "in all" => {
            let counts = oracle::counts(column);
            assert_eq!(counts.len(), 1, "{}", context());
            if !item.contains('…') {
                assert_eq!(check_key(item, &counts, &context()), column.cells.len() as u64, "{}", context());
            }
        }
        _ => {
            every(&|cell| matches!(cell, Cell::Bool(_)));
            let count = column.cells.iter().filter(|cell| **cell == Cell::Bool(true)).count();
            assert_eq!(item, count.to_string(), "{}", context());
        }
    }
}

/// Checks every figure of a line.
pub(super) fn check(line: &str, column: &Column) {
    let cells = &column.cells;
    let context = || format!("{}: {line}", column.name);
    check_others(line, column);
    if cells.iter().all(|cell| matches!(cell, Cell::Missing | Cell::Null)) {
        return;
    }
    let counts = oracle::counts(column);
    let total: u64 = counts.values().sum();
    if line.starts_with("unique") {
        assert_eq!(counts.len() as u64, total, "{}", context());
        return;
    }
    if let Some(value) = line.strip_prefix("always ") {
        assert_eq!(counts.len(), 1, "{}", context());
        check_key(value.split("; ").next().unwrap(), &counts, &context());
        return;
    }
    if line.starts_with("true=") || line.starts_with("false=") {
        for (word, value) in [("true=", true), ("false=", false)] {
            let count = cells.iter().filter(|cell| **cell == Cell::Bool(value)).count();
            assert_eq!(
                figure(line, word).map_or("0", |(count, _)| count),
                count.to_string(),
                "{}",
                context()
            );
        }
        return;
    }
    if line.contains(" in all, lists of ") || line.contains("list of ") || line.starts_with("empty lists") {
        check_lists(line, cells, &context());
        return;
    }
    if line.starts_with("text of ") {
        check_lengths(line, cells, &context());
        return;
    }
    if let Some((min, max)) = range(line, cells) {
        check_times(min, max, column);
        return;
    }
    check_numbers(line, column);
    check_groups(line, column, &counts, total);
}

/// Checks how many values are null, are missing, or are of another type than the statistic covers.
fn check_others(line: &str, column: &Column) {
    let count = |is: &dyn Fn(&Cell) -> bool| column.cells.iter().filter(|cell| is(cell)).count();
    let nulls = count(&|cell| *cell == Cell::Null);
    let missing = count(&|cell| *cell == Cell::Missing);
    for (word, expected) in [("null in ", nulls), ("missing in ", missing)] {
        if let Some((shown, _)) = figure(line, word) {
            assert_eq!(shown, expected.to_string(), "{}: {line}", column.name);
        }
    }
    let have = column.cells.len() - nulls - missing;
    for word in ["; in ", "only in "] {
        if let Some((shown, _)) = figure(line, word) {
            assert_eq!(shown, have.to_string(), "{}: {line}", column.name);
        }
    }
    if nulls + missing > 0 && have > 0 {
        let said = ["null in ", "missing in ", "; in ", "only in "].iter().any(|word| line.contains(word));
        assert!(said, "{}: {line}", column.name);
    }
    let figures: [(&str, CellTest<'_>); 4] = [
        (" true", &|cell| *cell == Cell::Bool(true)),
        (" false", &|cell| *cell == Cell::Bool(false)),
        (" list", &|cell| matches!(cell, Cell::List(_))),
        (" object", &|cell| *cell == Cell::Object),
    ];
    for (word, is) in figures {
        let others: Vec<&str> = line.split(['+', ';']).filter(|part| part.contains(word)).collect();
        for part in others {
            if let Some(shown) = part.trim().split(word).next().and_then(|count| count.parse::<usize>().ok())
            {
                assert_eq!(shown, count(is), "{}: {line}", column.name);
            }
        }
        let covered = match word {
            " list" => line.contains("list"),
            " object" => line.contains("object"),
            _ => line.contains(&word[1..]),
        };
        assert!(covered || count(is) == 0, "{} does not say{word}: {line}", column.name);
    }
}

/// Returns the two ends of a range of times.
fn range<'t>(line: &'t str, cells: &[Cell]) -> Option<(&'t str, &'t str)> {
    let end = line.find("; ").unwrap_or(line.len());
    let (min, max) = line[..end].split_once(" to ").unwrap_or((&line[..end], &line[..end]));
    let is_time = |text: &str| cells.iter().any(|cell| cell.written() == text) && text.starts_with("2024-");
    (is_time(min) && is_time(max)).then_some((min, max))
}

fn check_times(min: &str, max: &str, column: &Column) {
    let instants = || column.cells.iter().filter_map(|cell| oracle::instant(cell.written()));
    assert_eq!(oracle::instant(min), instants().min(), "{min} in {}", column.name);
    assert_eq!(oracle::instant(max), instants().max(), "{max} in {}", column.name);
}

fn check_lists(line: &str, cells: &[Cell], context: &str) {
    let lengths: Vec<usize> = cells
        .iter()
        .filter_map(|cell| match cell {
            Cell::List(length) => Some(*length),
            _ => None,
        })
        .collect();
    let (least, most) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
    if line.starts_with("empty lists") {
        assert_eq!(*most, 0, "{context}");
    }
    if let Some((all, rest)) = line.split_once(" in all, lists of ") {
        assert_eq!(all, lengths.iter().sum::<usize>().to_string(), "{context}");
        let sizes = if least == most { format!("{least}") } else { format!("{least} to {most}") };
        assert!(rest.starts_with(&sizes), "{sizes} {context}");
        let filled = lengths.iter().filter(|length| **length > 0).count();
        if let Some((shown, _)) = rest.split_once(" non-empty") {
            assert!(shown.ends_with(&format!(" {filled}")), "{context}");
        }
    }
}

fn check_lengths(line: &str, cells: &[Cell], context: &str) {
    let texts = cells.iter().filter_map(|cell| match cell {
        Cell::Text(text) => Some(text.chars().count()),
        _ => None,
    });
    let lengths: Vec<usize> = texts.collect();
    let (least, most) = (lengths.iter().min().unwrap(), lengths.iter().max().unwrap());
    let expected = match least == most {
        true if *most == 1 => "text of 1 character".to_owned(),
        true => format!("text of {most} characters"),
        false => format!("text of {least} to {most} characters"),
    };
    assert!(line.starts_with(&expected), "{expected}, {context}");
}

/// Checks the figures of numbers.
fn check_numbers(line: &str, column: &Column) {
    let numbers: Vec<&str> = column.cells.iter().filter_map(Cell::number).collect();
    let context = || format!("{}: {line}", column.name);
    let float = |raw: &str| raw.parse::<f64>().unwrap();
    let near = |shown: f64, exact: f64| (shown - exact).abs() <= exact.abs() * 1e-5 + 1e-30;
    // Decimals, or integers that are too long for decimals.
    let sum = [18, 3, 0].into_iter().find_map(|places| Some((oracle::exact_sum(&numbers, places)?, places)));
    if let Some((shown, estimate)) =
        figure(line, if line.starts_with("sum of") { " numbers " } else { "sum " })
    {
        match sum.filter(|_| !estimate) {
            Some((sum, places)) => {
                assert_eq!(oracle::exact_sum(&[shown], places), Some(sum), "{}", context());
            }
            None => assert!(estimate || numbers.iter().all(|raw| float(raw).is_finite()), "{}", context()),
        }
    }
    if let Some((shown, estimate)) = figure(line, "mean ") {
        assert!(!shown.contains("NaN") && !shown.contains("inf"), "{}", context());
        match sum.filter(|_| !estimate) {
            Some((sum, places)) => {
                let exact = sum as f64 / 10f64.powi(places as i32) / numbers.len() as f64;
                assert!(near(float(shown), exact), "{exact} {}", context());
            }
            None => assert!(estimate || numbers.iter().all(|raw| float(raw).is_finite()), "{}", context()),
        }
    }
    if let Some((shown, estimate)) = figure(line, "median ") {
        check_median(float(shown), estimate, &numbers, &context());
    }
    let end = line.find([',', ';', '(']).unwrap_or(line.len());
    let bare = |raw: &'_ str| Cell::Text(raw.into()).number().map(oracle::normal);
    let keys = || numbers.iter().map(|raw| oracle::normal(raw));
    if let Some(only) = line[..end].strip_prefix("all equal to ") {
        assert!(keys().all(|key| Some(key) == bare(only)), "{}", context());
    } else if let Some((min, max)) = line[..end].trim_end().split_once(" to ") {
        assert!(bare(min) == keys().min(), "min of {}", context());
        assert!(bare(max) == keys().max(), "max of {}", context());
        let texts =
            column.cells.iter().filter(|cell| matches!(cell, Cell::Text(_)) && cell.number().is_none());
        let said = figure(line, "; +").filter(|_| line.contains(" text")).map_or("0", |(count, _)| count);
        assert_eq!(said, texts.count().to_string(), "{}", context());
        let steps = || keys().zip(keys().skip(1));
        if line[end..].starts_with(", rising") {
            assert!(steps().all(|(one, two)| one < two), "{}", context());
        }
        if line[end..].starts_with(", falling") {
            assert!(steps().all(|(one, two)| one > two), "{}", context());
        }
    }
}

fn check_median(shown: f64, estimate: bool, numbers: &[&str], context: &str) {
    let mut values: Vec<f64> = numbers.iter().map(|raw| raw.parse().unwrap()).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    if !estimate {
        let exact = if values.len().is_multiple_of(2) {
            f64::midpoint(values[middle - 1], values[middle])
        } else {
            values[middle]
        };
        assert!((shown - exact).abs() <= exact.abs() * 1e-5 + 1e-30, "{exact} {context}");
        return;
    }
    // Within five percent in rank, and six digits.
    let margin = shown.abs() * 1e-5;
    let share = |count: usize| count as f64 / values.len() as f64;
    let below = share(values.iter().filter(|value| **value < shown - margin).count());
    let up_to = share(values.iter().filter(|value| **value <= shown + margin).count());
    assert!(below <= 0.55 && up_to >= 0.45, "{below} to {up_to} {context}");
}

/// Checks `value=count` of each value listed, and the number of distinct values.
fn check_groups(line: &str, column: &Column, counts: &std::collections::BTreeMap<Key, u64>, total: u64) {
    let context = || format!("{}: {line}", column.name);
    let mut rest = line;
    if let Some((before, after)) = line.split_once(" distinct") {
        let shown = before.rsplit(' ').next().unwrap();
        let (shown, estimate) = shown.strip_prefix('~').map_or((shown, false), |shown| (shown, true));
        let shown: u64 = shown.parse().unwrap_or_else(|_| panic!("{}", context()));
        let distinct = counts.len() as u64;
        match estimate {
            true => assert!(shown.abs_diff(distinct) * 10 <= distinct, "{distinct} {}", context()),
            false => assert_eq!(shown, distinct, "{}", context()),
        }
        if let Some(of) = after.strip_prefix(" of ") {
            assert!(of.starts_with(&total.to_string()), "{}", context());
            return;
        }
        let Some((_, after)) = after.split_once(": ") else { return };
        rest = after;
    } else if line.starts_with("sum") {
        let Some((_, after)) = line.split_once("; ") else { return };
        rest = after;
    } else if items(line).is_empty() || line.contains(", mean ") {
        // The `value=count` in it is one that the figures do not cover.
        return;
    }
    let prefix = match rest.strip_prefix('(').and_then(|rest| rest.split_once("…) ")) {
        Some((prefix, after)) => {
            rest = after;
            prefix
        }
        None => "",
    };
    let items = items(rest);
    let mut ranks: Vec<u64> = counts.values().copied().collect();
    ranks.sort_unstable_by(|one, two| two.cmp(one));
    for (at, (value, count)) in items.iter().enumerate() {
        if !value.contains('…') {
            let known = check_key(&format!("{prefix}{value}"), counts, &context());
            assert_eq!(known, *count, "{value} {}", context());
        }
        if !line.contains("of the first ") {
            assert_eq!(ranks[at], *count, "the most frequent come first: {}", context());
        }
    }
    let left = counts.len() - items.len();
    if let Some((more, _)) = rest.split_once(" more").filter(|_| !line.contains('~')) {
        assert_eq!(more.rsplit('+').next(), Some(left.to_string().as_str()), "{}", context());
    } else if !line.contains('~') {
        assert_eq!(left, 0, "all are listed: {}", context());
    }
}

/// Returns how often a value as shown occurs.
fn check_key(shown: &str, counts: &std::collections::BTreeMap<Key, u64>, context: &str) -> u64 {
    let text = match shown.starts_with('"') {
        true => serde_json::from_str::<String>(shown).unwrap_or_else(|_| panic!("{shown} {context}")),
        false => shown.to_owned(),
    };
    let number = Cell::Number(text.clone());
    let number = number.number().filter(|_| !shown.starts_with('"')).map(oracle::normal).map(Key::Number);
    let known = number.and_then(|number| counts.get(&number)).or_else(|| counts.get(&Key::Text(text)));
    *known.unwrap_or_else(|| panic!("no value {shown} {context}"))
}

/// Splits `a=1 b=2 (note) +3 more` into values and counts.
fn items(list: &str) -> Vec<(String, u64)> {
    let mut items = Vec::new();
    let mut rest = list;
    loop {
        rest = rest.trim_start_matches([';', ' ']);
        let end = match rest.strip_prefix('"') {
            Some(inside) => {
                let mut escaped = false;
                let close = inside.find(|c: char| {
                    let ends = c == '"' && !escaped;
                    escaped = c == '\\' && !escaped;
                    ends
                });
                close.map(|at| at + 2)
            }
            None => rest.find('='),
        };
        let Some(end) = end.filter(|end| rest[*end..].starts_with('=')) else { return items };
        let value = &rest[..end];
        if value.starts_with('+') && value.contains(" text") || value.contains("; ") {
            return items;
        }
        let digits: String = rest[end + 1..].chars().take_while(char::is_ascii_digit).collect();
        items.push((value.to_owned(), digits.parse().unwrap_or(0)));
        rest = &rest[end + 1 + digits.len()..];
        if let Some((_, after)) = rest.strip_prefix(" (").and_then(|note| note.split_once(')')) {
            rest = after;
        }
    }
}
