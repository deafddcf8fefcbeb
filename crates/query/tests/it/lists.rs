//! Tables that are written as lists have named columns in SQL, fields and pages, and stay as they are in jq.

use proptest::prelude::*;
use serde_json::{Value, json};
use tidegate_core::view::View;
use tidegate_query::Limits;
use tidegate_testkit::make;

use crate::Engine::{Grep, Jq, Sql};
use crate::Kept;

fn rows(count: usize) -> Vec<Value> {
    (0..count).map(|n| json!([n, format!("city {}", n % 7), n as f64 / 4.0, n % 2 == 0])).collect()
}

fn with_header(count: usize) -> Value {
    let mut table = vec![json!(["id", "city", "rain", "open"])];
    table.extend(rows(count));
    json!(table)
}

/// Checks a table of 40 rows with the columns `id`, `city`, `rain` and `open`.
fn check_columns(text: &str) {
    let kept = Kept::new(text);
    assert_eq!(
        kept.results(Sql, "select count(*), sum(id), max(rain), sum(open) from t"),
        ["40,780,9.75,20"],
        "{text}"
    );
    assert_eq!(
        kept.results(Sql, "select city, count(*) from t group by 1 order by 2 desc, 1 limit 2"),
        ["city 0,6", "city 1,6"],
        "{text}"
    );
    assert_eq!(kept.results(Sql, "select city from t where id = 39"), ["city 4"], "{text}");
    let page = kept.page(&["id", "city"], 40).text;
    assert!(page.contains("\nid,city\n0,city 0\n1,city 1\n") && page.contains("\n39,city 4\n"), "{page}");
}

#[test]
fn the_first_list_names_the_columns() {
    check_columns(&with_header(40).to_string());
    check_columns(
        &json!({"range": "A1:D41", "majorDimension": "ROWS", "values": with_header(40)}).to_string(),
    );
    let lines: Vec<String> = with_header(40).as_array().unwrap().iter().map(Value::to_string).collect();
    check_columns(&lines.join("\n"));
}

#[test]
fn a_list_beside_names_the_columns() {
    let names = ["id", "city", "rain", "open"];
    let typed: Vec<Value> = names.iter().map(|name| json!({"name": name, "type": "any"})).collect();
    let labelled: Vec<Value> =
        names.iter().enumerate().map(|(at, name)| json!({"id": at, "ColumnName": name, "pos": at})).collect();
    for table in [
        json!({"columns": names, "rows": rows(40)}),
        json!({"rows": rows(40), "columns": typed, "rowCount": 40}),
        json!({"schema": {"fields": typed}, "data": rows(40)}),
        json!({"columns": names, "index": (0..40).collect::<Vec<_>>(), "data": rows(40)}),
        json!({"meta": {"view": {"columns": labelled}}, "data": rows(40)}),
        json!({"result": {"data_array": rows(40)}, "manifest": {"schema": {"columns": typed}}}),
        json!({"Tables": [{"TableName": "t0", "Columns": labelled, "Rows": rows(40)}]}),
        // Both at once.
        json!({"columns": names, "rows": with_header(40)}),
    ] {
        check_columns(&table.to_string());
    }
}

#[test]
fn short_lists_of_texts_are_columns_if_there_are_three() {
    let words = |letter: &str, count: usize| (0..count).map(|n| format!("{letter}{n}")).collect::<Vec<_>>();
    let three = json!({"name": words("n", 5), "owner": words("o", 5), "city": words("c", 5)});
    let found = Kept::new(&three.to_string()).results(Sql, "select owner, city from t where name = 'n4'");
    assert_eq!(found, ["o4,c4"]);
    // Two sets of texts may be equally long by chance.
    let two = json!({"added": words("a", 5), "removed": words("r", 5)});
    assert!(Kept::new(&two.to_string()).ask(Sql, "select added, removed from t").is_err());
}

#[test]
fn each_list_of_an_object_is_a_column() {
    let column = |at: usize| rows(40).iter().map(|row| row[at].clone()).collect::<Vec<_>>();
    let columns = json!({"id": column(0), "city": column(1), "rain": column(2), "open": column(3)});
    check_columns(&columns.to_string());
    // Data frames number the values of each column.
    let numbered = |at: usize| column(at).into_iter().enumerate().map(|(n, value)| (n.to_string(), value));
    let numbered = |at: usize| {
        format!(
            "{{{}}}",
            numbered(at).map(|(n, value)| format!("\"{n}\":{value}")).collect::<Vec<_>>().join(",")
        )
    };
    let frame = format!(
        "{{\"id\":{},\"city\":{},\"rain\":{},\"open\":{}}}",
        numbered(0),
        numbered(1),
        numbered(2),
        numbered(3)
    );
    check_columns(&frame);
    check_columns(&json!({"latitude": 52.5, "hourly_units": {"rain": "mm"}, "hourly": columns}).to_string());
}

#[test]
fn tuples_are_rows() {
    let tuples: Vec<String> =
        (0..40).map(|n| format!("({n}, 'city {}', Decimal('{}.5'), None)", n % 7, n)).collect();
    let kept = Kept::new(&format!("[{}]", tuples.join(", ")));
    assert_eq!(kept.results(Sql, "select c1, c2, c4 from t where c1 > 38"), ["39,city 4,"]);
    assert_eq!(kept.results(Jq, ".[39]|length"), ["4"]);
}

#[test]
fn rows_may_end_early_and_a_header_may_have_years() {
    let text = json!({"values": [
        ["country", "2010", "2011", ""], ["Chile", 17.1, 17.2, "x"], ["Peru", 29.0], ["Cuba", 11.2, 11.1], ["Fiji"]
    ]});
    let kept = Kept::new(&text.to_string());
    assert_eq!(
        kept.results(Sql, "select * from t"),
        ["Chile,17.1,17.2,x", "Peru,29.0,,", "Cuba,11.2,11.1,", "Fiji,,,"]
    );
    assert_eq!(kept.results(Sql, "select country from t where \"2010\" > 15"), ["Chile", "Peru"]);
    assert_eq!(kept.ask(Sql, "select * from t").unwrap().header.unwrap(), "country,\"2010\",\"2011\",c4");
}

#[test]
fn texts_that_are_all_numbers_are_numbers() {
    let mut table = vec![json!(["name", "size"])];
    table.extend((0..40).map(|n| json!([format!("n{n}"), n.to_string()])));
    let kept = Kept::new(&json!({ "values": table }).to_string());
    assert_eq!(kept.results(Sql, "select max(size), count(*) from t where size > 9"), ["39,30"]);
}

#[test]
fn lists_that_are_not_rows_stay_lists() {
    let pairs: Vec<Value> = (0..40).map(|n| json!([format!("n{}", n % 5), format!("n{}", n % 3)])).collect();
    let kept = Kept::new(&json!(pairs).to_string());
    assert_eq!(kept.results(Sql, "select count(*) from t where c1 = 'n0'"), ["8"], "no header row");
    let sets: Vec<Value> = (0..40).map(|n| json!(vec!["x"; n % 9])).collect();
    let kept = Kept::new(&json!(sets).to_string());
    assert_eq!(kept.results(Sql, "select count(*) from t where json_array_length(value) = 3"), ["5"]);
    let vectors: Vec<Value> = (0..20).map(|n| json!((0..300).map(|m| n * m).collect::<Vec<_>>())).collect();
    let kept = Kept::new(&json!(vectors).to_string());
    assert_eq!(kept.results(Sql, "select count(*), min(json_array_length(value)) from t"), ["20,300"]);
}

#[test]
fn jq_and_paths_see_lists_as_written() {
    let text = json!({"values": with_header(40)}).to_string();
    let kept = Kept::new(&text);
    assert_eq!(kept.results(Jq, ".values[0][1], .values[40][1]"), ["\"city\"", "\"city 4\""]);
    let hits = kept.results(Grep, "city 6");
    assert!(hits[0].starts_with("/values/7 "), "{hits:?}");
    let value = kept.view(View::Path("/values/7/1".into())).unwrap().text;
    assert!(value.contains("\"city 6\""), "{value}");
    let lines: Vec<String> = with_header(40).as_array().unwrap().iter().map(Value::to_string).collect();
    let kept = Kept::new(&lines.join("\n"));
    assert_eq!(kept.results(Jq, ".[7][1]"), ["\"city 6\""]);
    assert!(kept.results(Grep, "city 6")[0].starts_with("/7 "));
}

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        3 => (-1000i64..1000).prop_map(|number| json!(number)),
        2 => (-1000i64..1000).prop_map(|number| json!(number as f64 / 8.0)),
        3 => "[a-z ,\"]{0,6}".prop_map(|text| json!(text)),
        1 => any::<bool>().prop_map(|value| json!(value)),
        1 => Just(Value::Null),
    ]
}

/// Writes the same table in every notation.
fn notations(names: &[String], rows: &[Vec<Value>]) -> Vec<String> {
    let object = |row: &Vec<Value>| -> Value {
        names.iter().cloned().zip(row.iter().cloned()).collect::<serde_json::Map<_, _>>().into()
    };
    let objects: Vec<Value> = rows.iter().map(object).collect();
    let mut headed = vec![json!(names)];
    headed.extend(rows.iter().map(|row| json!(row)));
    let columns = |at: usize| rows.iter().map(|row| row[at].clone()).collect::<Vec<_>>();
    let lists: serde_json::Map<String, Value> =
        names.iter().enumerate().map(|(at, name)| (name.clone(), json!(columns(at)))).collect();
    let lines = |values: &[Value]| values.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    vec![
        json!(objects).to_string(),
        lines(&objects),
        json!(headed).to_string(),
        lines(&headed),
        json!({"names": names, "data": rows}).to_string(),
        json!(lists).to_string(),
    ]
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(10_000))]

    /// Every notation of one table gives the same rows in SQL and in pages.
    #[test]
    fn every_notation_of_a_table_is_the_same_table(
        cells in prop::collection::vec(prop::collection::vec(scalar(), 4), 8..20), width in 1usize..4
    ) {
        // The first column is one of numbers, as a header row is told from texts by what is below it.
        let names: Vec<String> = (0..=width).map(|at| format!("col{at}")).collect();
        let rows: Vec<Vec<Value>> = cells.iter().enumerate().map(|(n, row)| {
            let mut row = row[..width].to_vec();
            row.insert(0, json!(n));
            row
        }).collect();
        let mut first: Option<(Vec<String>, String)> = None;
        for text in notations(&names, &rows) {
            let kept = Kept::in_process(make::text_result(&text), Limits::default());
            let select = format!("select {} from t", names.join(", "));
            let answer = (kept.results(Sql, &select), kept.page(&["col1", "col0"], 20).rows());
            prop_assert_eq!(answer.0.len(), rows.len());
            match &first {
                None => first = Some(answer),
                Some(expected) => prop_assert_eq!(&answer, expected, "{}", text),
            }
        }
    }
}
