//! One representative result of each kind, the same on every run: small enough to review, large enough to exceed a budget.
//!
//! The golden snapshots of `core` are overviews of these samples, and the seeds of the fuzzers are made from them: a change
//! here changes both.

use std::fmt::Write;

use crate::make::{quoted, text_result};

/// Returns a number that looks random and is the same on every run.
fn noise(seed: usize, below: usize) -> usize {
    let mixed = (seed as u64 ^ 0x5bd1_e995).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed >> 33) as usize ^ seed.wrapping_mul(31)) % below
}

const NAMES: [&str; 8] = ["ada", "grace", "edsger", "barbara", "donald", "radia", "ken", "margaret"];
const WORDS: [&str; 12] = [
    "config", "parser", "timeout", "cache", "session", "index", "render", "upload", "login", "export",
    "queue", "retry",
];

fn word(seed: usize) -> &'static str {
    WORDS[noise(seed, WORDS.len())]
}

/// Returns a sentence of `count` words.
fn words(seed: usize, count: usize) -> String {
    (0..count).map(|at| word(seed * 31 + at)).collect::<Vec<_>>().join(" ")
}

/// Returns issues of a tracker, as JSON text.
pub fn issues(count: usize) -> String {
    let rows: Vec<String> = (0..count)
        .map(|row| {
            let state = if noise(row, 20) == 0 { "closed" } else { "open" };
            let severity = if row == count / 2 { "critical" } else { ["low", "medium"][noise(row, 2)] };
            format!(
                "{{\"number\":{},\"title\":\"fix {}\",\"state\":\"{state}\",\"severity\":\"{severity}\",\"author\":{{\"login\":\"{}\",\"id\":{}}},\"comments\":{},\"labels\":[\"{}\"],\"created_at\":\"2026-{:02}-{:02}T10:00:00Z\",\"body\":\"{}\"{}}}",
                4200 + row,
                words(row, 3),
                NAMES[noise(row, 8)],
                noise(row, 8),
                noise(row * 7, 40) * noise(row, 9),
                word(row),
                row % 12 + 1,
                row % 28 + 1,
                words(row, 40),
                if row == 17 { ",\"duplicate_of\":4201" } else { "" }
            )
        })
        .collect();
    format!("[{}]", rows.join(","))
}

fn json_lines() -> String {
    issues(80).trim_matches(['[', ']']).replace("},{\"number\"", "}\n{\"number\"")
}

fn python_rows() -> String {
    let rows: Vec<String> = (0..200)
        .map(|row| {
            let note = if row % 9 == 0 {
                "None".to_owned()
            } else {
                format!("'it''s {}'", word(row)).replace("''", "\\'")
            };
            format!(
                "{{'id': {row}, 'name': '{}', 'paid': {}, 'price': Decimal('{}.50'), 'note': {note}}}",
                NAMES[noise(row, 8)],
                if row % 3 == 0 { "True" } else { "False" },
                noise(row, 90)
            )
        })
        .collect();
    format!("[{}]", rows.join(", "))
}

fn weather() -> String {
    let mut out = String::from("date,rain,temp_max,weather\n");
    for day in 0..730 {
        let rain = noise(day, 300) as f64 / 10.0 * f64::from(noise(day * 3, 4) == 0);
        let temperature = 15.0 + 10.0 * (day as f64 / 58.0).sin();
        let weather = if rain > 0.0 { "rain" } else { ["sun", "fog"][noise(day, 9) / 8] };
        let _ = writeln!(
            out,
            "20{}-{:02}-{:02},{rain:.1},{temperature:.1},{weather}",
            25 + day / 365,
            day % 365 / 31 + 1,
            day % 31 + 1
        );
    }
    out
}

fn orbit() -> String {
    let states: Vec<String> = (0..400)
        .map(|minute| {
            let angle = minute as f64 / 16.0;
            format!(
                "{{\"epoch\":\"2026-06-25T{:02}:{:02}:00Z\",\"r\":[{:.4},{:.4},{:.4}],\"frame\":\"TEME\"}}",
                minute / 60,
                minute % 60,
                7000.0 * angle.cos(),
                7000.0 * angle.sin(),
                900.0 * (angle * 0.5).sin()
            )
        })
        .collect();
    format!("{{\"states\":[{}],\"unit\":\"km\"}}", states.join(","))
}

fn raster() -> String {
    let (width, height) = (60, 40);
    let values: Vec<String> = (0..width * height)
        .map(|cell| {
            let (x, y) = ((cell % width) as f64, (cell / width) as f64);
            format!("{:.0}", 900.0 * (-((x - 40.0).powi(2) + (y - 12.0).powi(2)) / 180.0).exp())
        })
        .collect();
    format!("{{\"width\":{width},\"height\":{height},\"values\":[{}]}}", values.join(","))
}

fn cells() -> String {
    let cells: Vec<String> = (0..400)
        .map(|cell| {
            let (x, y) = (cell / 20, cell % 20);
            let cost = 5.0 + ((x as f64 - 13.0).powi(2) + (y as f64 - 6.0).powi(2)) / 7.0;
            format!(
                "{{\"depart\":\"2028-11-{:02}\",\"arrive\":\"2029-09-{:02}\",\"total_cost\":{cost:.3}}}",
                x + 1,
                y + 1
            )
        })
        .collect();
    format!("{{\"grid\":[{}]}}", cells.join(","))
}

fn folder(depth: usize, seed: usize) -> String {
    let entries: Vec<String> = (0..4 + noise(seed, 4))
        .map(|at| {
            if depth > 0 && at % 2 == 0 {
                format!(
                    "{{\"name\":\"{}{at}\",\"type\":\"directory\",\"children\":{}}}",
                    word(seed + at),
                    folder(depth - 1, seed * 7 + at)
                )
            } else {
                format!(
                    "{{\"name\":\"{}{at}.{}\",\"type\":\"file\"}}",
                    word(seed + at),
                    ["rs", "toml", "md"][noise(seed + at, 3)]
                )
            }
        })
        .collect();
    format!("[{}]", entries.join(","))
}

fn server_log() -> String {
    let mut out = String::new();
    for line in 0..600 {
        let level = match line {
            _ if line % 97 == 96 => "ERROR",
            _ if line % 41 == 40 => "WARN",
            _ => "INFO",
        };
        let message = match level {
            "ERROR" => {
                format!("request {} failed: connection to '{}' refused", noise(line, 9999), word(line))
            }
            "WARN" => format!("slow query took {} ms", 900 + noise(line, 900)),
            _ => format!("handled request {} in {} ms", noise(line, 9999), noise(line, 90)),
        };
        let _ = writeln!(
            out,
            "2026-11-15 10:{:02}:{:02} {level} worker-{} {message}",
            line / 60,
            line % 60,
            line % 4
        );
        if level == "ERROR" {
            let _ = writeln!(out, "    at {}.rs:{}\n    caused by timeout", word(line), noise(line, 500));
        }
    }
    out
}

fn access_log() -> String {
    let line = |at: usize| {
        let (method, status) =
            (["GET", "GET", "POST"][noise(at, 3)], [200, 200, 200, 404, 500][noise(at * 3, 5)]);
        format!(
            "10.0.0.{} - - [15/Nov/2026:01:30:{:02} +0000] \"{method} /{}/{} HTTP/1.1\" {status} {} \"-\" \"curl/8.1\"\n",
            noise(at, 5),
            at % 60,
            word(at),
            noise(at, 50),
            noise(at * 13, 90_000)
        )
    };
    (0..300).map(line).collect()
}

fn diff() -> String {
    let mut out = String::new();
    for file in 0..6 {
        let _ = writeln!(out, "diff --git a/src/{0}.rs b/src/{0}.rs", WORDS[file]);
        if file == 3 {
            let _ = writeln!(out, "deleted file mode 100644");
        }
        let _ = writeln!(out, "--- a/src/{0}.rs\n+++ b/src/{0}.rs\n@@ -1,9 +1,9 @@", WORDS[file]);
        for line in 0..20 + file * 5 {
            let sign = if file == 3 { '-' } else { [' ', '+', '-', ' '][noise(line + file, 4)] };
            let _ = writeln!(out, "{sign}    let {} = {};", word(line + file), words(line, 6));
        }
    }
    out
}

fn handbook() -> String {
    let mut out = String::from("# Handbook\n\nHow things are done here.\n");
    for chapter in 1..=9 {
        let _ = writeln!(
            out,
            "\n## {chapter}. The {}\n\nThis chapter is about the {}.",
            word(chapter),
            words(chapter, 12)
        );
        for section in 1..=3 {
            let _ = writeln!(
                out,
                "\n### {chapter}.{section}. On {}\n\n{} See [there](x.html).",
                word(chapter * section),
                words(section + chapter, 60)
            );
        }
    }
    out
}

fn page() -> String {
    let mut out = String::from(
        "<!DOCTYPE html>\n<html><head><title>Release notes</title><style>p{color:red}</style></head><body>\n",
    );
    for release in (1..30).rev() {
        let _ = writeln!(
            out,
            "<h2>Version {release}.0</h2><p>Changes in the {}: {}. <a href=\"/v{release}\">more</a></p>",
            word(release),
            words(release, 30)
        );
    }
    out.push_str("<footer>Last updated 2026-11-15</footer></body></html>");
    out
}

fn snapshot() -> String {
    let mut out = String::from(
        "### Page\n- Page URL: http://localhost/list\n- Page Title: Things to do\n### Snapshot\n```yaml\n- generic [ref=e1]:\n  - button \"Sign in\" [ref=e2] [cursor=pointer]\n",
    );
    for item in 0..90 {
        let reference = 3 + item * 3;
        if item % 10 == 0 {
            let _ = writeln!(out, "  - heading \"Part {}\" [level=2] [ref=e{reference}]", item / 10 + 1);
        }
        let _ = writeln!(
            out,
            "  - listitem [ref=e{}]:\n    - link \"{}\" [ref=e{}]:\n      - /url: /{}/{item}",
            reference + 1,
            words(item, 3),
            reference + 2,
            word(item)
        );
    }
    out + "```"
}

fn code() -> String {
    let mut out = String::from(
        "//! A module that does many things.\n\nuse std::io;\n\nconst LIMIT: usize = 200;\nconst GREETING: &str = \"hello\";\n",
    );
    for function in 0..60 {
        let _ = writeln!(
            out,
            "\n/// Handles the {0}.\npub fn {0}_{function}(input: &str) -> io::Result<usize> {{\n    let count = input.len() + {function};\n    Ok(count.min(LIMIT))\n}}",
            word(function)
        );
    }
    out
}

fn novel() -> String {
    let mut out = String::new();
    for chapter in 1..=12 {
        let _ = writeln!(out, "CHAPTER {chapter}. Of the {}.\n", word(chapter));
        for paragraph in 0..4 {
            let _ = writeln!(
                out,
                "It was a time of {},\nand nobody spoke of {}.\n",
                words(chapter + paragraph, 20),
                words(paragraph, 9)
            );
        }
    }
    out
}

fn commits() -> String {
    let mut out = String::from("Commit history:\n");
    for commit in 0..120 {
        let _ = writeln!(
            out,
            "Commit: {:040x}\nAuthor: {}\nDate: 2026-{:02}-{:02} 10:00:00+00:00\nMessage: {}\n",
            noise(commit, 1 << 30),
            NAMES[noise(commit * 7, 8) / 2],
            12 - commit / 10,
            28 - commit % 28,
            words(commit, 5)
        );
    }
    out
}

fn files() -> String {
    let file = |at: usize| {
        format!(
            "/srv/app/{}{at}.json:\n{{\"name\": \"{}\", \"port\": {}, \"tags\": [\"{}\"]}}\n",
            word(at),
            NAMES[noise(at, 8)],
            8000 + at,
            words(at, 8)
        )
    };
    (0..40).map(file).collect::<Vec<_>>().join("\n---\n")
}

fn long_base64() -> String {
    (0..6000)
        .map(|at| {
            char::from(
                b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[noise(at * 17, 64)],
            )
        })
        .collect()
}

/// The header of a PNG image of 1280 x 720 pixels, in base64.
const PNG_HEADER: &str = "iVBORw0KGgoAAAANSUhEUgAABQAAAALQCAYAAADPfd1WAAAA";

fn mixed() -> Vec<u8> {
    format!(
        "{{\"content\":[{{\"type\":\"text\",\"text\":\"The page as it looks now:\"}},{{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"{PNG_HEADER}{0}\"}},{{\"type\":\"resource_link\",\"uri\":\"file:///shot.png\",\"name\":\"shot\"}},{{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":\"{0}\"}}]}}",
        long_base64()
    )
    .into_bytes()
}

fn failure() -> Vec<u8> {
    let trace: String =
        (0..200).map(|at| format!("  File \"{}.py\", line {at}, in {}\n", word(at), word(at + 1))).collect();
    let text =
        format!("Traceback (most recent call last):\n{trace}ValueError: the {} is not ready\n", word(3));
    format!("{{\"content\":[{{\"type\":\"text\",\"text\":{}}}],\"isError\":true}}", quoted(&text))
        .into_bytes()
}

/// Returns the samples by name.
pub fn all() -> Vec<(&'static str, Vec<u8>)> {
    let text = |name: &'static str, text: String| (name, text_result(&text));
    vec![
        text("rows", issues(300)),
        text("json_lines", json_lines()),
        text("python_rows", python_rows()),
        text("csv_series", weather()),
        text("series_of_vectors", orbit()),
        text("grid_of_numbers", raster()),
        text("grid_of_records", cells()),
        text("tree", folder(5, 1)),
        text("log", server_log()),
        text("access_log", access_log()),
        text("diff", diff()),
        text("markdown", handbook()),
        text("html", page()),
        text("snapshot", snapshot()),
        text("code", code()),
        text("prose", novel()),
        text("commits", commits()),
        text("files", files()),
        text("base64", long_base64()),
        ("mixed_blocks", mixed()),
        ("failure", failure()),
    ]
}
