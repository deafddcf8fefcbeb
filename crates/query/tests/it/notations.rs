//! Every view of a table gives the rows that were written, in every notation and inside a string of JSON.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};
use tidegate_core::view::{Answer, Query, Total, View};
use tidegate_query::Limits;
use tidegate_testkit::make;
use tidegate_testkit::tables::{RandomTable, TableNotation};

use crate::Engine::Grep;
use crate::{Kept, everything};

/// Returns a cell in one spelling: a notation without types keeps `1.50` as it was written, and quotes mark texts.
fn spelled(cell: &str) -> String {
    let text = cell.strip_prefix('"').and_then(|cell| cell.strip_suffix('"')).unwrap_or(cell);
    text.parse::<f64>().map_or_else(|_| text.to_owned(), |number| number.to_string())
}

/// Returns the cells of an answer in separated values, without its header and the key of a record; no cell has a comma.
fn cells(answer: &Answer) -> Vec<Vec<String>> {
    let keys = usize::from(answer.body.starts_with("key,"));
    let lines = answer.body.lines().skip(1);
    lines.map(|line| line.split(',').skip(keys).map(spelled).collect()).collect()
}

/// Returns some columns of some rows as they were written.
fn written(table: &RandomTable, columns: &[usize], rows: std::ops::Range<usize>) -> Vec<Vec<String>> {
    let row = |row: &Vec<String>| columns.iter().map(|at| spelled(&row[*at])).collect();
    table.rows[rows].iter().map(row).collect()
}

/// A table in a notation, as the result of a tool.
struct Written {
    table: RandomTable,
    notation: TableNotation,
    kept: Kept,
}

impl Written {
    fn new(seed: u64, rows: usize, notation: TableNotation, in_worker: bool) -> Self {
        let table = RandomTable::new(seed, rows);
        let text = table.write(notation);
        let kept = match in_worker {
            true => Kept::new(&text),
            false => Kept::in_process(make::text_result(&text), Limits::default()),
        };
        Self { table, notation, kept }
    }

    fn view(&self, query: &Query) -> Result<Answer, TestCaseError> {
        let answer = self.kept.query(query);
        answer.map_err(|error| TestCaseError::fail(format!("{:?}: {query:?}: {error}", self.notation)))
    }

    fn check_sql(&self) -> Result<(), TestCaseError> {
        let table = &self.table;
        let all: Vec<usize> = (0..table.names.len()).collect();
        let select = format!("select {} from t", table.names.join(", "));
        let found = cells(&self.view(&Query::new(View::Sql(select)))?);
        prop_assert_eq!(found, written(table, &all, 0..table.rows.len()), "{:?}", self.notation);
        let mut groups: BTreeMap<String, (u64, &String)> = BTreeMap::new();
        for row in table.rows.iter().filter(|row| !row[1].is_empty()) {
            let group = groups.entry(spelled(&row[1])).or_insert((0, &row[0]));
            *group = (group.0 + 1, group.1.max(&row[0]));
        }
        let select = "select COL_A, count(*), max(NAME) from t where COL_A is not null group by 1";
        let found = cells(&self.view(&Query::new(View::Sql(select.into())))?);
        let found: BTreeMap<String, (u64, &String)> =
            found.iter().map(|row| (row[0].clone(), (row[1].parse().unwrap(), &row[2]))).collect();
        prop_assert_eq!(found, groups, "{:?}", self.notation);
        Ok(())
    }

    /// Checks a page, whole and of some fields.
    fn check_page(&self, pick: usize, size: usize) -> Result<(), TestCaseError> {
        let table = &self.table;
        let number = pick % table.rows.len().div_ceil(size);
        let (start, end) = (number * size, table.rows.len().min((number + 1) * size));
        let view = View::Page { number: number as u64 + 1, size: Some(size as u64) };
        let names = [1, 0].map(|at: usize| table.names[at].clone());
        let answer = self.view(&Query { fields: names.to_vec(), ..Query::new(view.clone()) })?;
        prop_assert_eq!(cells(&answer), written(table, &[1, 0], start..end), "{:?}", self.notation);
        let page = self.view(&Query::new(view))?.body;
        for (at, row) in table.rows.iter().enumerate() {
            let shown = page.split(|c: char| !c.is_alphanumeric() && c != '-').any(|word| word == row[0]);
            prop_assert_eq!(shown, (start..end).contains(&at), "{:?}: {}", self.notation, page);
        }
        Ok(())
    }

    fn check_grep(&self, pick: usize) -> Result<(), TestCaseError> {
        let row = &self.table.rows[pick % self.table.rows.len()];
        let found = self.kept.ask(Grep, &format!("\\b{}\\b", row[0])).unwrap();
        prop_assert_eq!(found.total, Total::Exactly(1), "{:?}: {:?}", self.notation, found.results);
        let answer = match everything::place(&found.results[0]) {
            Ok(line) => self.view(&Query::new(View::Lines { from: line, to: Some(line) }))?,
            Err(path) => self.view(&Query::new(View::Path(path)))?,
        };
        prop_assert!(answer.body.contains(&row[0]), "{:?}: {}", self.notation, answer.text);
        // Each line or record with the word is a match.
        let with = |row: &&Vec<String>| row.iter().any(|cell| cell == "closed");
        let rows = self.table.rows.iter().filter(with).count() as u64;
        let all_cells = self.table.rows.iter().flatten().filter(|cell| *cell == "closed").count() as u64;
        let found = self.kept.ask(Grep, "\\bclosed\\b").unwrap().total;
        let expected = [Total::Exactly(rows), Total::Exactly(all_cells)];
        prop_assert!(expected.contains(&found), "{:?}: {found:?} of {rows} and {all_cells}", self.notation);
        Ok(())
    }

    /// Checks the paths of the cells of one row.
    fn check_path(&self, pick: usize) -> Result<(), TestCaseError> {
        let at = pick % self.table.rows.len();
        let key = (self.notation == TableNotation::KeyedObjects).then(|| format!("id{at}"));
        let record = self.kept.pointer(at as u64, key.as_deref());
        for (column, (name, cell)) in self.table.names.iter().zip(&self.table.rows[at]).enumerate() {
            let path = match self.notation {
                TableNotation::ColumnLists => format!("/{name}/{at}"),
                TableNotation::ColumnsAndRows => format!("{record}/{column}"),
                _ => format!("{record}/{name}"),
            };
            let answer = self.kept.view(View::Path(path.clone()));
            let body = answer.as_ref().map_or("", |answer| answer.body.as_str());
            let is_same = if cell.is_empty() {
                matches!(body, "" | "null" | "\"\"")
            } else {
                spelled(body) == spelled(cell)
            };
            prop_assert!(
                is_same,
                "{:?}: {path} is {body:?}, not {cell:?}: {:?}",
                self.notation,
                answer.as_ref().err()
            );
        }
        Ok(())
    }

    fn check_jq(&self) -> Result<(), TestCaseError> {
        let records = match self.notation {
            TableNotation::ColumnLists => "[.NAME, .COL_A] | transpose[]".to_owned(),
            TableNotation::ColumnsAndRows => ".rows[] | .[:2]".to_owned(),
            _ => ".. | objects | select(has(\"NAME\")) | [.NAME, .COL_A]".to_owned(),
        };
        let answer = self.view(&Query::new(View::Jq(format!("[{records}]"))))?;
        let read: Vec<Vec<Value>> = serde_json::from_str(&answer.body).unwrap_or_default();
        let text = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => spelled(text),
            other => spelled(&other.to_string()),
        };
        let read: Vec<Vec<String>> = read.iter().map(|row| row.iter().map(text).collect()).collect();
        let expected = written(&self.table, &[0, 1], 0..self.table.rows.len());
        prop_assert_eq!(read, expected, "{:?}", self.notation);
        Ok(())
    }
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(10_000))]

    #[test]
    fn views_of_a_table_in_every_notation_agree_with_what_was_written(
        seed in any::<u64>(), rows in 6usize..40, at in 0..TableNotation::ALL.len(), view in 0..5usize, pick in 0..1000usize
    ) {
        let written = Written::new(seed, rows, TableNotation::ALL[at], view == 4);
        match view {
            0 => written.check_sql()?,
            1 => written.check_page(pick, 3 + pick % 40)?,
            2 => written.check_grep(pick)?,
            3 => written.check_path(pick)?,
            _ => written.check_jq()?,
        }
    }

    /// Hits of a search have columns of their own.
    #[test]
    fn views_of_hits_agree_with_what_was_written(
        hits in prop::collection::vec((0..9usize, 1..2000u32, "[a-z][a-z ()=]{0,20}[a-z;]"), 6..60)
    ) {
        let file = |at: &usize| format!("src/{}/file{at}.rs", ["a", "b"][at % 2]);
        let lines: Vec<String> = hits.iter().map(|(at, line, text)| format!("{}:{line}:{text}", file(at))).collect();
        let kept = Kept::in_process(make::text_result(&lines.join("\n")), Limits::default());
        let found = kept.view(View::Sql("select file, line, text from t".into())).unwrap();
        let rows: Vec<String> = found.body.lines().skip(1).map(|row| row.replace('"', "")).collect();
        let expected: Vec<String> = hits.iter().map(|(at, line, text)| format!("{},{line},{text}", file(at))).collect();
        prop_assert_eq!(rows, expected);
        let in_first = hits.iter().filter(|(at, ..)| *at == hits[0].0).count() as u64;
        let pattern = format!("^{}:", regex::escape(&file(&hits[0].0)));
        prop_assert_eq!(kept.ask(Grep, &pattern).unwrap().total, Total::Exactly(in_first));
        let last = kept.view(View::Path(format!("/{}/line", hits.len() - 1))).unwrap();
        prop_assert_eq!(last.body, hits[hits.len() - 1].1.to_string());
    }
}

#[test]
fn a_table_in_a_string_has_the_same_views() {
    for notation in TableNotation::ALL {
        let table = RandomTable::new(11, 200);
        let kept = Kept::new(&json!({"took": 3, "output": table.write(notation)}).to_string());
        let written = Written { table, notation, kept };
        written
            .check_sql()
            .and_then(|()| written.check_page(1, 60))
            .and_then(|()| written.check_jq())
            .unwrap();
    }
}
