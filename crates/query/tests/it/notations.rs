//! SQL over a table in any notation gives the rows that were written.

use proptest::prelude::*;
use tidegate_testkit::tables::{RandomTable, TableNotation};

use crate::Engine::Sql;
use crate::Kept;

/// Returns rows with their numbers in one spelling: a notation without types keeps `1.50` as it was written.
fn spelled(rows: &[String]) -> Vec<String> {
    let spelled =
        |cell: &str| cell.parse::<f64>().map_or_else(|_| cell.to_owned(), |number| number.to_string());
    rows.iter().map(|row| row.split(',').map(spelled).collect::<Vec<_>>().join(",")).collect()
}

proptest! {
    #![proptest_config(tidegate_testkit::cases(300))]

    #[test]
    fn a_table_has_the_same_rows_in_every_notation(seed in any::<u64>(), rows in 6usize..60, at in 0usize..16) {
        let table = RandomTable::new(seed, rows);
        let list = table.names.join(", ");
        let queries = [format!("select {list} from t"), "select COL_A, count(*), max(NAME) from t group by 1 order by 1".to_owned()];
        let json = Kept::new(&table.write(TableNotation::Json));
        let kept = Kept::new(&table.write(TableNotation::ALL[at]));
        for query in queries {
            prop_assert_eq!(spelled(&kept.results(Sql, &query)), spelled(&json.results(Sql, &query)), "{:?}", TableNotation::ALL[at]);
        }
    }
}
