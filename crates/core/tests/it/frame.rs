//! The frame contains only tidegate's own text: no word of the upstream and no hidden character appears outside the fence,
//! whatever part of a result contains it and whichever view shows it.

use proptest::prelude::*;
use tidegate_core::view::arguments::Arguments;
use tidegate_testkit::frame::{assert_ours, name, result};

use crate::shaped;
use crate::views::Kept;

proptest! {
    #![proptest_config(tidegate_testkit::cases(10_000))]

    #[test]
    fn no_upstream_text_appears_outside_the_fence(
        result in result(),
        name in name(),
        tokens in 300_u64..3000,
        number in 1_u64..4,
        size in 1_u64..40,
        view in 0_usize..10,
    ) {
        assert_ours(&shaped(&result.as_slice(), tokens).text);
        let kept = Kept::new(result);
        let path = format!("/{}", name.replace('~', "~0").replace('/', "~1"));
        let asked = [
            Arguments::default(),
            Arguments { page: Some(number), page_size: Some(size), ..Arguments::default() },
            Arguments { page: Some(number), fields: Some(vec![name.clone()]), ..Arguments::default() },
            Arguments { path: Some("/".into()), ..Arguments::default() },
            Arguments { path: Some(format!("{path}/{number}")), ..Arguments::default() },
            Arguments { path: Some(path), ..Arguments::default() },
            Arguments { path: Some("nothing_there".into()), ..Arguments::default() },
            Arguments { path: Some("*".into()), ..Arguments::default() },
            Arguments { lines: Some("1-40".into()), ..Arguments::default() },
            Arguments { mode: Some("full".into()), ..Arguments::default() },
        ];
        // An invalid path is an error about the request, which quotes no result.
        if let Ok(query) = asked[view].clone().into_query() {
            match kept.ask(&query, tokens) {
                Ok(answer) => assert_ours(&answer.text),
                Err(error) => assert_ours(&error.to_string()),
            }
        }
    }
}
