//! The frame of answers of the engines is ours alone, as that of every other answer.

use proptest::prelude::*;
use tidegate_core::view::View;
use tidegate_query::{Limits, Queries, Worker};
use tidegate_testkit::frame::{assert_ours, result};

use crate::Kept;

/// Queries whose answers and errors have names of the upstream.
fn views(name: &str) -> Vec<View> {
    let grep = |pattern: &str| View::Grep { pattern: pattern.into(), context: 2 };
    vec![
        View::Sql("select * from t".into()),
        View::Sql("select *, count(*) from t group by 1".into()),
        View::Sql(format!("select {name} from t")),
        View::Sql("select * from u".into()),
        grep("PW"),
        grep(name),
        grep("nowhere to be found"),
        grep("("),
    ]
}

fn assert_answers(kept: &Kept, views: Vec<View>) {
    for view in views {
        match kept.view(view) {
            Ok(answer) => assert_ours(&answer.text),
            Err(error) => assert_ours(&error.to_string()),
        }
    }
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(1000))]

    #[test]
    fn no_upstream_text_appears_outside_the_fence_of_queries(result in result(), name in "[a-z_]{1,8}") {
        assert_answers(&Kept::in_process(result, Limits::default()), views(&name));
    }
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(100))]

    // Each query starts a process.
    #[test]
    fn no_upstream_text_appears_outside_the_fence_of_jq(result in result()) {
        let worker = Worker::new(env!("CARGO_BIN_EXE_query-worker").into());
        let kept = Kept::of_result(result, Queries::new(Limits::default(), worker));
        let programs = [".", "keys", ".[]?", ".nothing_there", ".[0:3]|map(tostring)|error"];
        assert_answers(&kept, programs.map(|program| View::Jq(program.into())).into());
    }
}
