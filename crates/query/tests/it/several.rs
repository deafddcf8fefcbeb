//! Queries over several stored results, and all rows of a query for a file.

use serde_json::json;
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::view::{Dataset, EngineEvent, EngineProgram, Engines, ResultWindow};
use tidegate_query::{Limits, NamedResult};
use tidegate_testkit::make;

use crate::Engine::{Jq, Sql};
use crate::{Engine, Kept};

const NAME: &str = "get_bom-7k3m0xw2c9qf";

fn parts() -> Kept {
    let parts: Vec<_> =
        (0..50).map(|n| json!({"id": format!("p{n}"), "name": format!("part {n}")})).collect();
    Kept::new(&json!(parts).to_string())
}

/// Runs a query over a list of parts; their costs are the other result.
fn ask(kept: &Kept, engine: Engine, query: &str) -> Result<Vec<String>, String> {
    let costs: Vec<_> = (0..50).map(|n| json!({"part": format!("p{n}"), "cost": n * 10})).collect();
    let result = make::text_result(&json!(costs).to_string());
    let outline = Outline::read(&Payload::read_result(&result.as_slice()).unwrap()).unwrap();
    let others = [NamedResult { name: NAME.into(), data: Dataset::new(&result, &outline) }];
    let engines = kept.engines.beside(&others);
    let source = kept.result.as_slice();
    let data = Dataset::new(&source, &kept.outline);
    let window = ResultWindow { skip: 0, bytes: 10_000 };
    let found = engines.run(&data, engine.program(query), window);
    found.map(|found| found.results).map_err(|error| error.to_string())
}

#[test]
fn sql_reads_another_result_as_a_table() {
    let join = format!("select t.name, b.cost from t join \"{NAME}\" b on b.part = t.id where b.cost > 470");
    for kept in [parts(), Kept::in_process(parts().result, Limits::default())] {
        assert_eq!(ask(&kept, Sql, &join).unwrap(), ["part 48,480", "part 49,490"]);
        assert_eq!(ask(&kept, Sql, &format!("select sum(cost) from [{NAME}]")).unwrap(), ["12250"]);
    }
    let error = ask(&parts(), Sql, &format!("select b.prize from t join \"{NAME}\" b")).unwrap_err();
    assert!(error.contains("cost") && error.contains("name"), "{error}");
    let error = ask(&parts(), Sql, "select * from other").unwrap_err();
    assert!(error.contains("double quotes"), "{error}");
    let error = ask(&parts(), Sql, &format!("delete from \"{NAME}\"")).unwrap_err();
    assert!(error.contains("can only be read"), "{error}");
}

#[test]
fn jq_reads_another_result_as_a_value() {
    let sum = format!("[$results[\"{NAME}\"][] | .cost] | add");
    assert_eq!(ask(&parts(), Jq, &sum).unwrap(), ["12250"]);
    let joined =
        format!(".[49] | .id as $id | {{name, cost: ($results[\"{NAME}\"][] | select(.part == $id).cost)}}");
    assert_eq!(ask(&parts(), Jq, &joined).unwrap(), ["{\"name\":\"part 49\",\"cost\":490}"]);
    assert_eq!(parts().results(Jq, "$results"), ["{}"]);
}

/// Collects what an engine passes on.
fn each(kept: &Kept, program: EngineProgram<'_>) -> (Vec<String>, Vec<String>) {
    let source = kept.result.as_slice();
    let (mut columns, mut rows) = (Vec::new(), Vec::new());
    let mut sink = |event: EngineEvent<'_>| {
        match event {
            EngineEvent::Columns(names) => columns = names.to_vec(),
            EngineEvent::Row(cells) => rows.push(cells.join("|")),
            EngineEvent::Value(json) => rows.push(json.to_owned()),
        }
        Ok(())
    };
    kept.engines.each(&Dataset::new(&source, &kept.outline), program, &mut sink).unwrap();
    (columns, rows)
}

#[test]
fn a_file_gets_every_result_exactly() {
    let kept = Kept::new("[{\"a\":\"x\\n\\u202e,\",\"n\":1},{\"a\":null,\"n\":2.50}]");
    for kept in [&kept, &Kept::in_process(kept.result.clone(), Limits::default())] {
        let (columns, rows) = each(kept, EngineProgram::Sql("select a, n, n as a from t"));
        assert_eq!(columns, ["a", "n", "a"]);
        assert_eq!(rows, ["\"x\\n\u{202e},\"|1|1", "null|2.5|2.5"]);
    }
    assert_eq!(each(&kept, EngineProgram::Jq(".[].n")).1, ["1", "2.50"]);
    assert_eq!(each(&kept, EngineProgram::Jq(".[0].a")).1, ["\"x\\n\u{202e},\""]);
    let numbers =
        "with recursive r(n) as (select 1 union all select n + 1 from r limit 1200000) select n from r";
    let (_, rows) = each(&kept, EngineProgram::Sql(numbers));
    assert_eq!(rows.len(), 1_200_000, "more than an answer counts");
}

#[test]
fn a_program_that_fails_in_the_middle_is_an_error() {
    let kept = Kept::new("[{\"a\":1},{\"a\":2}]");
    let source = kept.result.as_slice();
    let data = Dataset::new(&source, &kept.outline);
    let failed = kept.engines.each(&data, EngineProgram::Jq("1, error(\"x\")"), &mut |_| Ok(()));
    assert!(failed.unwrap_err().to_string().contains("after 1 results"));
    let full = kept.engines.each(&data, EngineProgram::Jq("range(1000000)"), &mut |_| {
        Err(std::io::ErrorKind::StorageFull.into())
    });
    assert!(full.is_err(), "the process is ended");
}
