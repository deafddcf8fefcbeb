//! Overviews of tables that are written as lists: statistics by column, grids of cells, series inside rows.

use tidegate_core::shape::Step;
use tidegate_testkit::make;

use crate::shaped;

fn overview(text: &str, tokens: u64) -> String {
    let shaped = shaped(&make::text_result(text).as_slice(), tokens);
    assert_eq!(shaped.step, Step::Overview, "{text}");
    shaped.text
}

fn has(overview: &str, lines: &[&str]) {
    for line in lines {
        assert!(overview.contains(line), "{line:?} in\n{overview}");
    }
}

fn joined(count: usize, part: impl Fn(usize) -> String) -> String {
    (0..count).map(part).collect::<Vec<_>>().join(",")
}

#[test]
fn columns_of_a_sheet_are_not_pooled() {
    let rows = joined(300, |n| match n % 30 {
        7 => format!("[{}]", 1900 + n),
        _ => format!("[{},\"{}\",{}.5]", 1900 + n, ["north", "south"][n % 2], n % 50),
    });
    let text = format!("{{\"range\":\"A1:C301\",\"values\":[[\"year\",\"side\",\"rain\"],{rows}]}}");
    let overview = overview(&text, 800);
    has(
        &overview,
        &[
            "with 300 rows in values",
            "values: 3 fields, over all 300 rows:",
            "year: 1900 to 2199, rising",
            "side: north=150 south=140; missing in 10",
            "rain: 0.5 to 49.5",
        ],
    );
}

#[test]
fn lists_of_an_object_are_the_columns_of_one_table() {
    let times = joined(200, |n| format!("\"2024-03-{:02}T{:02}:00\"", 1 + n / 24, n % 24));
    let text = format!(
        "{{\"latitude\":52.52,\"hourly\":{{\"time\":[{times}],\"temperature\":[{}],\"code\":[{}]}}}}",
        joined(200, |n| format!("{}.{}", n % 31, n % 10)),
        joined(200, |n| if n == 77 { "null".into() } else { (n % 4).to_string() })
    );
    let overview = overview(&text, 900);
    has(
        &overview,
        &[
            "latitude=52.52",
            "hourly: 3 fields, over all 200 rows:",
            "time: 2024-03-01T00:00 to 2024-03-09T07:00",
            "temperature: 0.0 to 30.5",
            "(max at time 2024-03-08T17:00)",
            "null in 1",
        ],
    );
}

#[test]
fn vectors_have_no_columns() {
    let text =
        format!("[{}]", joined(40, |n| format!("[{}]", joined(300, |m| format!("0.{}", (n * m) % 997)))));
    let overview = overview(&text, 500);
    has(&overview, &["12000 in all, lists of 300"]);
    assert!(!overview.contains("c1"), "{overview}");
}

#[test]
fn cells_are_shown_as_their_grid() {
    let cell = |n: usize| {
        let value = if n / 5 == 0 { format!("\"head {}\"", n % 5) } else { (n * 3).to_string() };
        format!("{{\"row\":{},\"column\":{},\"value\":{value},\"formula\":null}}", 1 + n / 5, 1 + n % 5)
    };
    let rows = overview(&format!("{{\"cells\":[{}]}}", joined(150, cell)), 1500);
    has(
        &rows,
        &[
            "value by row and column:",
            "row,1,2,3,4,5\n1,head 0,head 1,head 2,head 3,head 4\n2,15,18,21,24,27\n",
        ],
    );
    let addressed =
        |n: usize| format!("{{\"address\":\"{}{}\",\"value\":{}}}", ["A", "B", "C"][n % 3], 1 + n / 3, n * 7);
    let rows = overview(&format!("[{}]", joined(120, addressed)), 700);
    has(&rows, &["row,A,B,C\n1,0,7,14\n2,21,28,35\n"]);
}

#[test]
fn short_titles_are_not_addresses_of_cells() {
    let row = |n: usize| format!("{{\"number\":{},\"title\":\"row {n}\"}}", n * 7 % 2000);
    let rows = overview(&format!("[{}]", joined(2000, row)), 1000);
    assert_eq!(rows.matches("\nnumber: ").count(), 1, "{rows}");
}

#[test]
fn series_inside_rows_are_not_pooled() {
    let pairs =
        |n: usize| joined(60, |t| format!("[{},\"{}\"]", 1_700_000_000 + 15 * t, n * 1000 + (t * 7) % 60));
    let text = format!(
        "{{\"result\":[{}]}}",
        joined(12, |n| format!("{{\"metric\":{{\"name\":\"m{n}\"}},\"values\":[{}]}}", pairs(n)))
    );
    let overview = overview(&text, 900);
    has(&overview, &[",values[][1] first,last,min,max", "m0,0,53,0,59", "m11,11000,11053,11000,11059"]);
    has(&overview, &["values[][0]: 1700000000 to 1700000885"]);
}

#[test]
fn small_maps_are_shown_by_what_decides_their_entries() {
    let audit = |n: usize| {
        format!("\"audit-{n}\":{{\"id\":\"audit-{n}\",\"text\":\"{}\",\"score\":{}}}", "x".repeat(90), n % 2)
    };
    let category = |n: usize| {
        let name = ["speed", "access", "search"][n];
        format!(
            "\"{name}\":{{\"id\":\"{name}\",\"title\":\"The {name} of the page\",\"score\":0.{}1,\"refs\":[{}]}}",
            n + 2,
            joined(20, |m| format!("{{\"id\":\"audit-{m}\"}}"))
        )
    };
    let text = format!("{{\"audits\":{{{}}},\"categories\":{{{}}}}}", joined(80, audit), joined(3, category));
    has(&overview(&text, 600), &["categories {speed score=0.21", "access score=0.31", "search score=0.41"]);
}

#[test]
fn numbers_that_measure_different_things_are_not_pooled() {
    let rows = joined(200, |n| {
        let (metric, value) =
            if n % 2 == 0 { ("requests_total", n + 1) } else { ("memory_bytes", 9_000_000 + n) };
        format!("{{\"metric\":\"{metric}\",\"queue\":\"q{n}\",\"value\":{value}}}")
    });
    let overview = overview(&format!("[{rows}]"), 700);
    has(
        &overview,
        &[
            "value by metric: requests_total 1 to 199, sum 10000 (max at q198); memory_bytes 9000001 to 9000199",
        ],
    );
}

#[test]
fn each_sheet_of_a_workbook_has_columns_of_its_own() {
    let staff =
        joined(180, |n| format!("[{n},\"name {n}\",\"{}\",{}]", ["Sales", "Support"][n % 2], 1000 + n * 7));
    let text = format!(
        "{{\"spreadsheet\":\"book\",\"sheets\":[{{\"title\":\"Staff\",\"values\":[[\"id\",\"name\",\"team\",\"salary\"],{staff}]}},{{\"title\":\"Targets\",\"values\":[[\"team\",\"quota\"],[\"Sales\",31],[\"Support\",40]]}}]}}"
    );
    let overview = overview(&text, 900);
    has(
        &overview,
        &["sheets[0], ", "title=Staff", "values: 4 fields, over all 180 rows:", "team: Sales=90 Support=90"],
    );
    has(&overview, &["sheets[1], ", "title=Targets", "Support,40"]);
}
