//! Programs that would never end or grow without end: they end, with a message that says so.

use std::time::Duration;

use tidegate_query::Limits;
use tidegate_testkit::sample;

use crate::Engine::{self, Grep, Jq, Sql};
use crate::Kept;

fn short() -> Limits {
    Limits { time: Duration::from_millis(300), memory_bytes: 256 << 20, ..Limits::default() }
}

fn stopped(engine: Engine, queries: &[&str]) {
    let kept = Kept::with_limits(&sample::issues(500), short());
    for query in queries {
        let error = kept.error(engine, query);
        assert!(error.contains("the limit") || error.contains("the time limit"), "{query}: {error}");
    }
}

#[test]
fn jq_without_end() {
    stopped(
        Jq,
        &[
            "def f: f; f",
            "last(range(1e18))",
            "[range(1e12)]",
            "last(repeat(1))",
            "until(false; .)",
            "[recurse(.)]",
            "[limit(1e12; repeat(.))] | length",
        ],
    );
}

#[test]
fn jq_without_bounds() {
    stopped(
        Jq,
        &[
            "[range(100)] | map(\"x\" * 100000000)",
            "[.. , ..] | [.[], .[], .[]] | [.,.,.] | tojson * 4000",
            "reduce range(60) as $i (\"ab\"; . + .)",
        ],
    );
}

#[test]
fn sql_without_end() {
    stopped(
        Sql,
        &[
            "select count(*) from t a, t b, t c, t d",
            "with recursive r(n) as (select 1 union all select n + 1 from r) select max(n) from r",
            "select * from t a, t b, t c order by a.body || b.body || c.body",
            "select zeroblob(1000000000)",
            "select length(group_concat(a.body || b.body)) from t a, t b, t c",
        ],
    );
}

#[test]
fn sql_without_end_that_gives_rows_gives_those() {
    let kept = Kept::with_limits(&sample::issues(500), short());
    let found = kept
        .ask(Sql, "with recursive r(n) as (select 1 union all select n + 1 from r) select n from r")
        .unwrap();
    assert!(matches!(found.total, tidegate_core::view::Total::AtLeast(count) if count > 100));
    assert_eq!(found.results[0], "1");
}

#[test]
fn expressions_that_blow_up() {
    let kept = Kept::with_limits(&sample::issues(500), short());
    // Exponential elsewhere, linear here: it simply finds nothing.
    assert!(kept.ask(Grep, "(a+)+(a+)+(a+)+$!").unwrap().results.is_empty());
    assert!(kept.ask(Grep, "(x*)*(x*)*y{3}z").unwrap().results.is_empty());
    for pattern in ["(a{1000}){1000}", "((((a{100}){100}){100}){100})", "\\w{5000}\\d{5000}"] {
        let error = kept.error(Grep, pattern);
        assert!(error.contains("too large"), "{pattern}: {error}");
    }
}

#[test]
fn the_table_can_only_be_read() {
    let kept = Kept::new(&sample::issues(20));
    for query in [
        "delete from t",
        "update t set number = 1",
        "drop table t",
        "create table x (a)",
        "insert into t (number) values (1)",
        "attach database '/tmp/x.db' as x",
        "attach ':memory:' as x",
        "pragma journal_mode = wal",
        "pragma table_info(t)",
        "vacuum into '/tmp/x.db'",
        "begin",
        "select load_extension('x')",
        "detach main",
        "reindex",
        "explain select 1; delete from t",
    ] {
        let error = kept.error(Sql, query);
        assert!(
            error.contains("can only be read")
                || error.contains("one select at a time")
                || error.contains("SQL error"),
            "{query}: {error}"
        );
    }
    assert_eq!(kept.results(Sql, "select count(*) from t"), ["20"]);
}

#[test]
fn a_program_sees_nothing_but_the_data() {
    let kept = Kept::new("[{\"a\":1},{\"a\":2}]");
    assert_eq!(kept.results(Jq, "env | keys | map(select(startswith(\"MIMALLOC\") | not))"), ["[]"]);
    assert!(kept.ask(Jq, "$ENV.PATH").is_err() || kept.results(Jq, "$ENV.PATH") == ["null"]);
    for program in
        ["input", "inputs", "import \"/etc/passwd\" as $x; $x", "include \"x\"; .", "input_filename"]
    {
        let seen = kept.ask(Jq, program).map(|found| found.results.join(" ")).unwrap_or_default();
        assert!(!seen.contains("root"), "{program}: {seen}");
    }
}

#[test]
fn a_result_too_large_to_load_is_refused() {
    let kept = Kept::with_limits(&sample::issues(500), Limits { input_bytes: 1000, ..Limits::default() });
    assert!(kept.error(Jq, ".").contains("too large for jq"), "{}", kept.error(Jq, "."));
}
