//! Every figure of an overview is right: each statistic printed is compared with a plain computation over the data.

mod columns;
mod line;
mod logs;
mod oracle;

use proptest::prelude::*;
use tidegate_core::shape::{Fill, Step};
use tidegate_testkit::make;

use self::columns::{Cell, Column, FORMS, Form, Random};
use crate::shaped_to;

/// Returns the overview of a text within a budget; `None` if the text is shown whole.
fn overview(text: &str, tokens: u64) -> Option<String> {
    let result = make::text_result(text);
    // Both ways to compose are checked.
    let fill = if tokens.is_multiple_of(2) { Fill::Whole } else { Fill::Useful };
    let shaped = shaped_to(&result.as_slice(), tokens, fill);
    (shaped.step == Step::Overview).then_some(shaped.text)
}

/// Returns the statistics of a field in an overview.
fn statistics<'t>(overview: &'t str, field: &str) -> Option<&'t str> {
    overview.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(": "))
}

/// Returns the statistics of a field of `count` records.
fn line_of(field: &str, count: usize, record: impl Fn(usize) -> String) -> String {
    let records: Vec<String> = (0..count).map(record).collect();
    let overview = overview(&format!("[{}]", records.join(",")), 1000).expect("an overview");
    let unique = shared_item(&overview, "unique", field).map(|_| "unique");
    statistics(&overview, field).or(unique).unwrap_or_else(|| panic!("{field} in\n{overview}")).to_owned()
}

fn check(columns: &[Column], tokens: u64) {
    check_text(&columns::json(columns), columns, tokens);
}

/// Checks the statistics of columns that are written as lists.
fn check_lists(mut columns: Vec<Column>, form: Form, tokens: u64) {
    // Numbers show that texts above them are names, and lists have a place for every value.
    let numbers = (0..columns[0].cells.len()).map(|row| Cell::Number((row * 7 % 1000).to_string()));
    columns.insert(0, Column { name: "id".into(), cells: numbers.collect() });
    for cell in columns.iter_mut().flat_map(|column| &mut column.cells) {
        let is_container = matches!(cell, Cell::List(_) | Cell::Object);
        if *cell == Cell::Missing || is_container && matches!(form, Form::Columns) {
            *cell = Cell::Null;
        }
    }
    let text = columns::lists(&columns, form);
    if let Form::Unnamed = form {
        for (at, column) in columns.iter_mut().enumerate() {
            column.name = format!("c{}", at + 1);
        }
    }
    check_text(&text, &columns, tokens);
}

fn check_text(text: &str, columns: &[Column], tokens: u64) {
    let Some(overview) = overview(text, tokens) else { return };
    for column in columns {
        if let Some(line) = statistics(&overview, &column.name) {
            line::check(line, column);
        }
        for title in line::SHARED_TITLES {
            if let Some(item) = shared_item(&overview, title, &column.name) {
                line::check_shared(title, item, column);
            }
        }
    }
}

/// Returns what a line that several fields share says of one of them: `open` of `in all: state=open`.
fn shared_item<'t>(overview: &'t str, title: &str, field: &str) -> Option<&'t str> {
    let line = overview.lines().find_map(|line| line.strip_prefix(title)?.strip_prefix(": "))?;
    let starts = [0].into_iter().chain(line.match_indices("; ").map(|(at, _)| at + 2));
    starts.map(|at| &line[at..]).find_map(|rest| {
        let rest = rest.strip_prefix(field)?;
        let item = rest.strip_prefix('=').unwrap_or(rest);
        (rest.is_empty() || rest.starts_with(['=', ';'])).then(|| item.split("; ").next().unwrap_or(item))
    })
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(10_000))]

    /// Every statistic of every field of records.
    #[test]
    fn statistics_of_fields_are_those_of_the_data(seed in any::<u64>(), rows in 2usize..150, tokens in 300u64..2500) {
        let mut random = Random(seed);
        let columns: Vec<Column> = (0..1 + random.below(5)).map(|at| Column::any(&mut random, at, rows)).collect();
        check(&columns, tokens);
    }

    /// The same where the records are lists, or where each column is one.
    #[test]
    fn statistics_of_tables_written_as_lists_are_those_of_the_data(
        seed in any::<u64>(), rows in 8usize..150, tokens in 300u64..2500, form in 0usize..FORMS.len()
    ) {
        let mut random = Random(seed);
        let columns = (0..1 + random.below(5)).map(|at| Column::any(&mut random, at, rows)).collect();
        check_lists(columns, FORMS[form], tokens);
    }

    /// The counts of a log: severe lines, patterns, words in capitals.
    #[test]
    fn counts_of_logs_are_those_of_the_lines(seed in any::<u64>(), lines in 40usize..160, tokens in 300u64..2000) {
        logs::check(&mut Random(seed), lines, tokens);
    }
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(100))]

    /// The same, with more values than are held.
    #[test]
    fn statistics_of_many_records_are_those_of_the_data(seed in any::<u64>(), rows in 3000usize..12_000) {
        let mut random = Random(seed);
        let columns: Vec<Column> = (0..3).map(|at| Column::any(&mut random, at, rows)).collect();
        check(&columns, 1500);
    }
}

#[test]
fn words_among_numbers_are_counted() {
    let line = line_of("price", 900, |k| match k % 13 {
        0 => format!("{{\"id\":{k},\"price\":\"FRAUD\"}}"),
        _ => format!("{{\"id\":{k},\"price\":{}}}", k * 7 % 1000),
    });
    assert!(line.contains("+70 text (FRAUD=70)"), "{line}");
}

#[test]
fn only_unique_fields_are_called_unique() {
    let code = |k: usize| if k > 600 && k % 40 == 39 { k - k % 40 } else { k };
    let line = line_of("code", 5000, |k| format!("{{\"id\":{k},\"code\":\"c{}-x\"}}", code(k)));
    assert!(line.starts_with("4890 distinct of 5000"), "{line}");
    let line = line_of("code", 5000, |k| format!("{{\"id\":{k},\"code\":\"c{k}-x\"}}"));
    assert!(line.starts_with("unique"), "{line}");
}

#[test]
fn times_are_compared_to_the_last_digit() {
    let line = line_of("at", 2000, |k| {
        format!("{{\"id\":{k},\"at\":\"2024-01-01T00:00:{:02}.{:03}Z\"}}", k / 200, 999 - k % 200 * 4)
    });
    assert!(line.starts_with("2024-01-01T00:00:00.203Z to 2024-01-01T00:00:09.999Z"), "{line}");
}

#[test]
fn the_median_of_data_with_a_period() {
    let price = |k: usize| if k.is_multiple_of(4) { 1000 + k % 3 } else { 10 + k % 5 };
    let line = line_of("price", 40_000, |k| format!("{{\"id\":{k},\"price\":{}.{}}}", price(k), k));
    let median = line.split("median ~").nth(1).and_then(|rest| rest.split(',').next()).expect("a median");
    assert!(median.parse::<f64>().unwrap() < 16.0, "{line}");
}

#[test]
fn numbers_beyond_the_range_of_floats_count() {
    let line = line_of("price", 805, |k| match k {
        0..5 => format!("{{\"id\":{k},\"price\":1.79e308}}"),
        _ => format!("{{\"id\":{k},\"price\":{k}.5}}"),
    });
    assert!(line.contains("mean ~1.11180e306") && line.contains("sum ~8.95000e308"), "{line}");
    let line = line_of("price", 900, |k| match k {
        77 => format!("{{\"id\":{k},\"price\":1e400}}"),
        _ => format!("{{\"id\":{k},\"price\":{}}}", k * 7 % 1000),
    });
    assert!(line.starts_with("0 to 1e400, mean ~1.11111e397"), "{line}");
}

#[test]
fn extremes_of_long_integers() {
    let line =
        line_of("price", 900, |k| format!("{{\"id\":{k},\"price\":{}}}", -9_007_199_254_740_990 - k as i64));
    assert!(line.starts_with("-9007199254741889 to -9007199254740990, falling"), "{line}");
}

#[test]
fn the_label_of_the_largest_is_not_taken_for_the_maximum() {
    let line = line_of("n", 900, |k| {
        format!("{{\"id\":{k},\"cat\":\"category number {}\",\"n\":{}}}", k % 9, k * 7 % 13)
    });
    assert!(line.starts_with("sum 5390, max 12 (first at id 11); "), "{line}");
}

#[test]
fn equal_strings_are_one_value_however_they_are_escaped() {
    let line = line_of("s", 900, |k| match k % 3 {
        0 => format!("{{\"id\":{k},\"s\":\"\\u00fcber\"}}"),
        1 => format!("{{\"id\":{k},\"s\":\"über\"}}"),
        _ => format!("{{\"id\":{k},\"\\u0073\":\"\\u006fther\"}}"),
    });
    assert_eq!(line, "über=600 other=300");
}

#[test]
fn a_map_says_which_rows_it_shows() {
    let cell = |k: usize| format!("{{\"dep\":{},\"arr\":{},\"dv\":{}.{k}}}", k / 30, k % 30, 5 + k * k % 97);
    let records: Vec<String> = (0..900).map(cell).collect();
    let text = overview(&format!("[{}]", records.join(",")), 2000).unwrap();
    let map: Vec<&str> = text.lines().skip_while(|line| !line.starts_with("map of dv, 30 x 30")).collect();
    assert!(map[0].contains(", 12 of 30 rows, low to high"), "{text}");
    assert!(map[1..13].iter().all(|line| line.len() == 30) && map[13].len() != 30, "{text}");
    let shuffled: Vec<String> = (0..900).map(|k| cell(k * 7 % 900)).collect();
    let text = overview(&format!("[{}]", shuffled.join(",")), 2000).unwrap();
    assert!(!text.contains("map of"), "no map where records are not in order\n{text}");
}

#[test]
fn names_without_a_common_part_have_no_ending() {
    let line = line_of("name", 1000, |k| format!("{{\"id\":{k},\"name\":\"n{k}\",\"v\":{k}}}"));
    assert_eq!(line, "unique");
}

#[test]
fn errors_after_many_patterns_are_shown() {
    let mut random = Random(3);
    let plain = |random: &mut Random| {
        let words: Vec<String> = (0..3 + random.below(11)).map(|_| random.word()).collect();
        format!("INFO {}\n", words.join(" "))
    };
    let mut text: String = (0..6000).map(|_| plain(&mut random)).collect();
    text.extend((0..300).map(|k| format!("2024-01-01 error: database corrupted at block {k}\n")));
    text.extend((0..6000).map(|_| plain(&mut random)));
    let overview = overview(&text, 1000).unwrap();
    assert!(overview.contains("errors and warnings, 300 lines:"), "{overview}");
    assert!(overview.contains("L6001 x300 2024-01-01 error: database corrupted at block 0"), "{overview}");
}
