//! Answers equal those computed from the raw data, for everything a value can be.

use proptest::prelude::*;
use tidegate_core::view::{ResultWindow, Total};
use tidegate_testkit::sample;

use crate::Engine::{Grep, Jq, Sql};
use crate::Kept;

/// Integers over 2^53 and 2^64, decimals, nulls, mixed types, a key that comes last, nesting, all of Unicode.
const ODD: &str = r#"[
  {"id": 9007199254740993, "big": 18446744073709551617, "price": 0.10, "name": "Ä 日本 😀", "mixed": 1, "tags": ["a", "b"]},
  {"id": 9007199254740994, "big": 1, "price": 0.20, "name": null, "mixed": "1", "tags": []},
  {"id": 9007199254740995, "big": -18446744073709551617, "price": 1e400, "name": "x\"y\\z\n", "mixed": true, "tags": ["c"]},
  {"id": 9007199254740996, "price": 123456789.123456789123, "name": "", "mixed": {"deep": {"er": 5}}, "late": "only here"}
]"#;

#[test]
fn jq_is_exact() {
    let kept = Kept::new(ODD);
    assert_eq!(
        kept.results(Jq, ".[].id"),
        ["9007199254740993", "9007199254740994", "9007199254740995", "9007199254740996"]
    );
    assert_eq!(kept.results(Jq, ".[0].big, .[2].big"), ["18446744073709551617", "-18446744073709551617"]);
    assert_eq!(
        kept.results(Jq, ".[0].price, .[2].price, .[3].price"),
        ["0.10", "1e400", "123456789.123456789123"]
    );
    assert_eq!(
        kept.results(Jq, ".[0].name, .[1].name, .[2].name"),
        ["\"Ä 日本 😀\"", "null", "\"x\\\"y\\\\z\\n\""]
    );
    assert_eq!(kept.results(Jq, "map(.mixed | type)"), ["[\"number\",\"string\",\"boolean\",\"object\"]"]);
    assert_eq!(kept.results(Jq, ".[] | select(.late) | .mixed.deep.er"), ["5"]);
    assert_eq!(kept.results(Jq, "[.[].tags[]?]"), ["[\"a\",\"b\",\"c\"]"]);
    assert_eq!(
        kept.results(Jq, ".[0] | keys_unsorted"),
        ["[\"id\",\"big\",\"price\",\"name\",\"mixed\",\"tags\"]"]
    );
}

#[test]
fn sql_is_exact_or_says_so() {
    let kept = Kept::new(ODD);
    assert_eq!(kept.results(Sql, "select max(id) from t"), ["9007199254740996"]);
    assert_eq!(kept.results(Sql, "select sum(id) from t"), ["36028797018963978"]);
    assert_eq!(
        kept.results(Sql, "select big, typeof(big) from t"),
        ["\"18446744073709551617\",text", "1,integer", "\"-18446744073709551617\",text", ",null"]
    );
    assert_eq!(
        kept.results(Sql, "select price from t"),
        ["0.1", "0.2", "\"1e400\"", "\"123456789.123456789123\""]
    );
    assert_eq!(kept.results(Sql, "select count(*), count(name), count(late) from t"), ["4,3,1"]);
    assert_eq!(kept.results(Sql, "select late from t where late is not null"), ["only here"]);
    assert_eq!(
        kept.results(Sql, "select mixed, typeof(mixed) from t"),
        ["1,integer", "\"1\",text", "1,integer", "\"{\"\"deep\"\":{\"\"er\"\":5}}\",text"]
    );
    assert_eq!(kept.results(Sql, "select \"mixed.deep.er\" from t where late = 'only here'"), ["5"]);
    assert_eq!(kept.results(Sql, "select sum(json_array_length(tags)) from t"), ["3"]);
    assert_eq!(kept.results(Sql, "select j.value from t, json_each(t.tags) j order by 1"), ["a", "b", "c"]);
    assert_eq!(kept.results(Sql, "select name from t where name like '%日本%'"), ["Ä 日本 😀"]);
    let notes = kept.ask(Sql, "select big, price from t").unwrap().notes.join(" ");
    assert!(
        notes.contains("2 numbers in big are TEXT") && notes.contains("2 numbers in price are TEXT"),
        "{notes}"
    );
}

#[test]
fn grep_looks_into_decoded_values() {
    let kept = Kept::new(ODD);
    assert_eq!(kept.ask(Grep, "x\"y").unwrap().total, Total::Exactly(1));
    assert_eq!(kept.ask(Grep, "日本").unwrap().total, Total::Exactly(1));
    assert!(kept.results(Grep, "only here")[0].starts_with("/3 {\"id\":9007199254740996"));
    assert_eq!(kept.ask(Grep, "ONLY").unwrap().total, Total::Exactly(0), "capitals are meant");
    let none = kept.ask(Grep, "nowhere").unwrap();
    assert_eq!(none.notes, ["Searched: 4 records, 0 other values, 6 lines; that is all of it."]);
}

#[test]
fn other_notations_have_records_too() {
    let csv = Kept::new(
        "date,rain,code,city\n2012-01-01,0.5,12,Oslo\n2012-01-02,10.9,1.1,Rome\n2012-01-03,,007,\n",
    );
    assert_eq!(csv.results(Sql, "select date, rain from t where rain > 2"), ["\"2012-01-02\",10.9"]);
    assert_eq!(csv.results(Sql, "select code, city from t where date = '2012-01-03'"), ["\"007\","]);
    // A column in which some number is written like no number is one of texts.
    assert_eq!(
        csv.results(Sql, "select code from t where typeof(code) = 'text'"),
        ["\"12\"", "\"1.1\"", "\"007\""]
    );
    assert_eq!(csv.results(Jq, ".[1].city"), ["\"Rome\""]);
    let lines = Kept::new("{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n");
    assert_eq!(lines.results(Jq, "map(.a) | add"), ["6"]);
    assert_eq!(lines.results(Sql, "select sum(a) from t"), ["6"]);
    let python = Kept::new(
        "[{'a': None, 'b': True, 'c': Decimal('1.5'), 'd': 'it\\'s'}, {'a': 2, 'b': False, 'c': None, 'd': ''}]",
    );
    assert_eq!(
        python.results(Jq, ".[0]"),
        ["{\"a\":null,\"b\":true,\"c\":\"Decimal('1.5')\",\"d\":\"it's\"}"]
    );
    assert_eq!(python.results(Sql, "select a, b, d from t"), [",1,it's", "2,0,\"\""]);
    let prose = Kept::new(
        "Call me Ishmael. Some years ago\nI thought I would sail about a little\nand see the watery part of the world.",
    );
    assert_eq!(prose.results(Grep, "watery"), ["3: and see the watery part of the world."]);
    assert_eq!(prose.results(Jq, "length"), ["3"]);
}

#[test]
fn each_window_continues_after_the_last_one() {
    let kept = Kept::new(&sample::issues(300));
    for engine_query in [(Jq, ".[].number"), (Sql, "select number from t"), (Grep, "\"number\":")] {
        let (engine, query) = engine_query;
        let all = kept.results(engine, query);
        assert_eq!(all.len(), 300);
        let mut walked = Vec::new();
        while walked.len() < 300 {
            let window = ResultWindow { skip: walked.len() as u64, bytes: 700 };
            let found = kept.window(engine, query, window).unwrap();
            assert_eq!(found.total, Total::Exactly(300));
            assert!(!found.results.is_empty());
            walked.extend(found.results);
        }
        assert_eq!(walked, all, "{query}");
    }
}

#[test]
fn exact_matches_come_first_and_none_is_shown_twice() {
    let names: Vec<String> = (0..200)
        .map(|n| format!("{{\"n\":{n},\"name\":\"{}\"}}", if n % 50 == 49 { "hyper" } else { "uses hyper" }))
        .collect();
    let kept = Kept::new(&format!("[{}]", names.join(",")));
    let all = kept.results(Grep, "hyper");
    assert_eq!(all.len(), 200);
    assert!(all[..4].iter().all(|result| result.contains("\"name\":\"hyper\"")), "{:?}", &all[..5]);
    let mut walked = Vec::new();
    while walked.len() < 200 {
        walked.extend(
            kept.window(Grep, "hyper", ResultWindow { skip: walked.len() as u64, bytes: 300 })
                .unwrap()
                .results,
        );
    }
    assert_eq!(walked, all);
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(150))]

    /// Sums, counts and groups over generated records.
    #[test]
    fn aggregates_equal_the_raw_data(rows in prop::collection::vec((any::<i32>(), 0..5usize, prop::option::of("[a-z]{1,5}")), 2..150)) {
        let states = ["open", "closed", "new", "é", ""];
        let json: Vec<String> = rows.iter().map(|(number, state, name)| {
            let name = name.as_ref().map_or(String::new(), |name| format!(",\"name\":\"{name}\""));
            format!("{{\"n\":{number},\"state\":\"{}\"{name}}}", states[*state])
        }).collect();
        let kept = Kept::new(&format!("[{}]", json.join(",")));
        let sum: i64 = rows.iter().map(|(number, _, _)| i64::from(*number)).sum();
        let named = rows.iter().filter(|(_, _, name)| name.is_some()).count();
        let open = rows.iter().filter(|(_, state, _)| *state == 0).count();
        let sql = kept.results(Sql, "select sum(n), count(*), sum(state = 'open') from t");
        prop_assert_eq!(&sql[0], &format!("{sum},{},{open}", rows.len()));
        let jq = kept.results(Jq, "(map(.n) | add), length, (map(select(.state == \"open\")) | length), (map(select(.name)) | length)");
        prop_assert_eq!(jq, vec![sum.to_string(), rows.len().to_string(), open.to_string(), named.to_string()]);
    }
}
