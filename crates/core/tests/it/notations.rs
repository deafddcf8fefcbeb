//! The same table is the same data in every notation: the same records, and the same statistics as in JSON, whose
//! figures are compared with a plain computation elsewhere.

use std::ops::ControlFlow;

use proptest::prelude::*;
use serde_json::Value;
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::shape::Step;
use tidegate_core::view::Dataset;
use tidegate_testkit::make;
use tidegate_testkit::tables::{RandomTable, TableNotation};

use crate::shaped;

/// Returns the records of a text, read as they are from the store.
fn records(text: &str) -> Vec<Value> {
    let result = make::text_result(text);
    let source = result.as_slice();
    let outline = Outline::read(&Payload::read(&source).unwrap()).unwrap();
    let outline = Outline::from_bytes(&outline.to_bytes()).unwrap();
    let dataset = Dataset::new(&source, &outline);
    let mut records = Vec::new();
    let mut visit = |record: tidegate_core::view::RecordText<'_>| {
        records.push(serde_json::from_str(record.json).unwrap());
        ControlFlow::Continue(())
    };
    dataset.records(0, usize::MAX, &mut visit).unwrap();
    records
}

/// Returns a value as the text that stands for it in notations without types; nothing for null.
fn text_of(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// Returns the statistics of a column in the overview of a text; `None` if the text is shown whole.
fn statistics(text: &str, name: &str) -> Option<String> {
    let result = make::text_result(text);
    let shaped = shaped(&result.as_slice(), 2500);
    let prefix = format!("{name}: ");
    let line = shaped.text.lines().find_map(|line| line.strip_prefix(&prefix)).map(str::to_owned);
    line.filter(|_| shaped.step == Step::Overview)
}

/// Returns statistics without the record that they name, and that record.
fn place_apart(statistics: &str) -> (String, Option<String>) {
    let place = statistics.find(" (max").and_then(|start| {
        let end = start + statistics[start..].find(')')? + 1;
        Some((start, end))
    });
    match place {
        Some((start, end)) => {
            ([&statistics[..start], &statistics[end..]].concat(), Some(statistics[start..end].to_owned()))
        }
        None => (statistics.to_owned(), None),
    }
}

fn check(table: &RandomTable, notation: TableNotation) {
    let text = table.write(notation);
    let records = records(&text);
    assert_eq!(records.len(), table.rows.len(), "{notation:?}\n{text}");
    for (record, row) in records.iter().zip(&table.rows) {
        for (name, cell) in table.names.iter().zip(row) {
            let read = text_of(record.get(name));
            let same = read == *cell || read.parse::<f64>().ok().is_some_and(|n| cell.parse() == Ok(n));
            assert!(same, "{notation:?}: {name} is {read:?}, not {cell:?}\n{text}");
        }
    }
    let json = table.write(TableNotation::Json);
    for name in &table.names {
        if let (Some(read), Some(expected)) = (statistics(&text, name), statistics(&json, name)) {
            // An empty cell is null in a table, and a member that is missing elsewhere.
            let (read, expected) =
                (place_apart(&read.replace("null in", "missing in")), place_apart(&expected));
            assert_eq!(read.0, expected.0, "{notation:?}: {name}\n{text}");
            // Records of an object are named by their keys, which a list does not have.
            if notation != TableNotation::KeyedObjects {
                assert_eq!(read.1, expected.1, "{notation:?}: {name}\n{text}");
            }
        }
    }
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(4000))]

    #[test]
    fn a_table_is_the_same_data_in_every_notation(seed in any::<u64>(), rows in 6usize..90, at in 0..TableNotation::ALL.len()) {
        check(&RandomTable::new(seed, rows), TableNotation::ALL[at]);
    }
}

#[test]
fn many_rows_in_every_notation() {
    for (seed, notation) in (7..).zip(TableNotation::ALL) {
        check(&RandomTable::new(seed, 1500), notation);
    }
}
