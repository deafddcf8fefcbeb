//! Writes the seeds of the fuzz targets to `fuzz/corpus`: the samples of the testkit, cut small, and a few by hand.
//!
//! `cargo run -p tidegate-fuzzing --example seeds`. The same samples give the same files.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;
use tidegate_testkit::{make, sample};

/// The longest text of a seed.
const LONGEST: usize = 1200;

/// Forms of a result, as `input.rs` reads them: as it came, one text repeated, a list of it, structured content.
const AS_IT_CAME: u8 = 0;
const TEXT: u8 = 4;
const TEXT_REPEATED: u8 = 4 | 3 << 3;
const LIST: u8 = 6 | 4 << 3;
const STRUCTURED: u8 = 7;

fn main() -> io::Result<()> {
    payload()?;
    views()?;
    unescape()?;
    raw()
}

fn write(target: &str, name: &str, parts: &[&[u8]]) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), parts.concat())
}

/// The texts of the samples, cut.
fn texts() -> Vec<(&'static str, String)> {
    let text = |result: Vec<u8>| {
        let value: Value = serde_json::from_slice(&result).expect("a sample is JSON");
        value["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    };
    sample::all().into_iter().map(|(name, result)| (name, cut(&text(result)).to_owned())).collect()
}

fn cut(text: &str) -> &str {
    let end = text.char_indices().map(|(at, _)| at).find(|at| *at >= LONGEST);
    &text[..end.unwrap_or(text.len())]
}

fn payload() -> io::Result<()> {
    for (name, text) in texts() {
        write("payload", name, &[&[AS_IT_CAME], &make::text_result(&text)])?;
        write("payload", &format!("{name}_repeated"), &[&[TEXT_REPEATED], text.as_bytes()])?;
    }
    let record = r#"{"id":7,"name":"thing","state":"open","created_at":"2026-01-02T03:04:05Z","body":null}"#;
    write("payload", "list", &[&[LIST], record.as_bytes()])?;
    write("payload", "structured", &[&[STRUCTURED], record.as_bytes()])?;
    let blocks = r#"{"content":[{"type":"image","mimeType":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"},{"type":"resource","resource":{"uri":"x://y","mimeType":"text/plain","text":"a\nb"}},{"type":"resource_link","uri":"x://y","name":"n"},{"type":"audio","mimeType":"audio/wav","data":"UklGRg"},{"type":"hologram","value":[1]}],"isError":false,"_meta":{"x/y":1},"structuredContent":{"result":"a\nb"}}"#;
    write("payload", "blocks", &[&[AS_IT_CAME], blocks.as_bytes()])?;
    let response =
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\ud800 \u0000 \u202e"}]}}"#;
    write("payload", "response", &[&[AS_IT_CAME], response.as_bytes()])
}

fn views() -> io::Result<()> {
    let views: [(&str, u8, &str); 12] = [
        ("page", 0, "2 5"),
        ("page_of_its_own_size", 8, "1"),
        ("fields", 1, "id,author.login,*"),
        ("pointer", 2, "/0/author/login"),
        ("path", 3, "$[*].labels[0]"),
        ("whole", 3 | 8, "/"),
        ("lines", 4, "2-30"),
        ("line", 4 | 8, "7"),
        ("range", 5 | 16, "10-"),
        ("full", 6 | 16, ""),
        ("summary", 7 | 8, "summary"),
        ("cursor", 0, "AQcHBwcHBwcHBwcHBwcBAgA"),
    ];
    for (at, (name, text)) in texts().into_iter().enumerate() {
        for (view, pick, words) in views.iter().cycle().skip(at).take(2) {
            let head = [*pick, words.len() as u8];
            let form = if at % 2 == 0 { TEXT } else { TEXT_REPEATED };
            write("views", &format!("{name}_{view}"), &[&head, words.as_bytes(), &[form], text.as_bytes()])?;
        }
    }
    let rows = &sample::issues(3);
    for (view, pick, words) in views {
        let head = [pick, words.len() as u8];
        write("views", view, &[&head, words.as_bytes(), &[AS_IT_CAME], &make::text_result(rows)])?;
    }
    Ok(())
}

fn unescape() -> io::Result<()> {
    let strings = [
        ("plain", "a longer text without any escape in it, é and 𝄞"),
        ("simple", r#"\"\\\/\b\f\n\r\t"#),
        ("units", r"\u00e9\u4e2d\u0000\uFFFF"),
        ("pair", r"\ud834\udd1e \uD834\uDD1E"),
        ("lone", r"\ud800 \udc00\ud800\ud834\udd1e"),
        ("odd", r"\q \x41 \u12 \U0001f600 \'"),
        ("ends", r"sixteen bytes and more \ud834\"),
        ("nested", r#"{\"a\":\"b\\\"c\\n\",\"d\":[1,2,{\"e\":\"\\u00e9\"}]}"#),
    ];
    for (name, text) in strings {
        write("unescape", name, &[&[0], text.as_bytes()])?;
        write("unescape", &format!("{name}_in_larger_blocks"), &[&[9], text.as_bytes()])?;
    }
    Ok(())
}

fn raw() -> io::Result<()> {
    let documents = [
        (
            "call",
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"q":[1.0]}}}"#,
        ),
        ("tools", r#" {"tools":[ {"name":"a","inputSchema":{"type":"object"}} ] , "nextCursor" : null } "#),
        ("duplicates", r#"{"a":1,"a":2,"\u0061":3,"b":{},"c":[]}"#),
        ("array", r#"[1, -0, 1e400, "]", {"}":"{"}, [[]], true]"#),
        ("empty", "{ }"),
        ("empty_array", "[\n]"),
        ("strings", r#"{"\"":"\\","\\\"":"\ud834\udd1e"}"#),
        ("scalar", "\"text\""),
        ("broken", r#"{"a":}"#),
        ("log", "[INFO] server listens"),
    ];
    for (name, text) in documents {
        write("raw", name, &[&[0b101_0110], text.as_bytes()])?;
    }
    Ok(())
}
