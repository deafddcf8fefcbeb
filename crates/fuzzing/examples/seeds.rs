//! Writes the seeds of the fuzz targets to `fuzz/corpus`: shortened samples of the testkit, and some written by hand.
//!
//! `cargo run -p tidegate-fuzzing --example seeds`. The output is the same on every run.

use std::fs;
use std::io;
use std::path::Path;

use serde_json::Value;
use tidegate_testkit::{make, sample};

/// Bytes of the longest text of a seed.
const MAX_TEXT_BYTES: usize = 1200;

/// Forms of a result, as `input.rs` reads them: unchanged, one text, a repeated text, a list, structured content.
const UNCHANGED: u8 = 0;
const TEXT: u8 = 4;
const TEXT_REPEATED: u8 = 4 | 3 << 3;
const LIST: u8 = 6 | 4 << 3;
const STRUCTURED: u8 = 7;

fn main() -> io::Result<()> {
    payload()?;
    views()?;
    query()?;
    unescape()?;
    raw()?;
    skim()?;
    lines()?;
    sse()?;
    link()?;
    config()
}

fn write(target: &str, name: &str, parts: &[&[u8]]) -> io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(name), parts.concat())
}

/// Returns the texts of the samples, shortened.
fn texts() -> Vec<(&'static str, String)> {
    let text = |result: Vec<u8>| {
        let value: Value = serde_json::from_slice(&result).expect("a sample is JSON");
        value["content"][0]["text"].as_str().unwrap_or_default().to_owned()
    };
    sample::all().into_iter().map(|(name, result)| (name, shortened(&text(result)).to_owned())).collect()
}

fn shortened(text: &str) -> &str {
    let end = text.char_indices().map(|(at, _)| at).find(|at| *at >= MAX_TEXT_BYTES);
    &text[..end.unwrap_or(text.len())]
}

fn payload() -> io::Result<()> {
    for (at, (name, text)) in texts().into_iter().enumerate() {
        // The first two bits choose the budget.
        let budget = (at as u8 % 3) << 6;
        write("payload", name, &[&[UNCHANGED], &make::text_result(&text)])?;
        write("payload", &format!("{name}_repeated"), &[&[TEXT_REPEATED | budget], text.as_bytes()])?;
    }
    let record = r#"{"id":7,"name":"thing","state":"open","created_at":"2026-01-02T03:04:05Z","body":null}"#;
    write("payload", "list", &[&[LIST], record.as_bytes()])?;
    write("payload", "structured", &[&[STRUCTURED], record.as_bytes()])?;
    let blocks = r#"{"content":[{"type":"image","mimeType":"image/png","data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ"},{"type":"resource","resource":{"uri":"x://y","mimeType":"text/plain","text":"a\nb"}},{"type":"resource_link","uri":"x://y","name":"n"},{"type":"audio","mimeType":"audio/wav","data":"UklGRg"},{"type":"hologram","value":[1]}],"isError":false,"_meta":{"x/y":1},"structuredContent":{"result":"a\nb"}}"#;
    write("payload", "blocks", &[&[UNCHANGED], blocks.as_bytes()])?;
    let response =
        r#"{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"\ud800 \u0000 \u202e"}]}}"#;
    write("payload", "response", &[&[UNCHANGED], response.as_bytes()])
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
        write("views", view, &[&head, words.as_bytes(), &[UNCHANGED], &make::text_result(rows)])?;
    }
    Ok(())
}

fn query() -> io::Result<()> {
    let programs: [(&str, u8, &str); 17] = [
        ("jq", 0, ".[] | select(.state == \"open\") | .number"),
        ("jq_group", 0, "group_by(.state) | map({state: .[0].state, n: length})"),
        ("jq_endless", 0, "def f: f; f"),
        ("jq_wrong", 0, ".[] | .numbr | foo("),
        ("sql", 1, "select number, title from t where state = 'open' order by comments desc"),
        ("sql_group", 2, "select state, count(*), avg(comments) from t group by 1"),
        ("sql_json", 3, "select json_extract(labels, '$[0]'), \"author.login\" from t limit 5"),
        (
            "sql_endless",
            4,
            "with recursive n(x) as (select 1 union all select x+1 from n) select count(*) from n",
        ),
        ("sql_write", 5, "insert into t values (1)"),
        ("sql_pragma", 6, "pragma table_info(t)"),
        ("sql_attach", 7, "attach 'x' as y"),
        ("sql_wrong", 8, "select titel from t; select 1"),
        ("sql_blob", 1, "select zeroblob(100), 1e999, -0.0, 9223372036854775807, hex(randomblob(4)), null"),
        ("grep", 9, "open|critical"),
        ("grep_context", 12, "(?i)error.*\\d{2,}"),
        ("grep_wrong", 9, "(unclosed"),
        ("grep_empty_match", 10, "x*"),
    ];
    let texts = texts();
    for (at, (name, pick, program)) in programs.into_iter().enumerate() {
        let head = [pick, program.len() as u8];
        let rows = make::text_result(&sample::issues(3));
        write("query", name, &[&head, program.as_bytes(), &[UNCHANGED], &rows])?;
        let (sample, text) = &texts[at];
        let other = format!("{name}_over_{sample}");
        write("query", &other, &[&head, program.as_bytes(), &[TEXT], text.as_bytes()])?;
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

/// The lengths of the pieces of a stream, after their number: one piece, and several.
const ONE_PIECE: &[u8] = &[0];
const PIECES: &[u8] = &[3, 0, 6, 40];

fn skim() -> io::Result<()> {
    let messages = [
        ("response", r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"}]\""}]}}"#),
        ("spaces", r#" { "id" : 1.0 , "params" : [ 1 , { "id" : 2 } ] , "\u0069d" : "a\\" } "#),
        ("batch", r#"[{"id":1,"result":[[{}]]}, {"id":2,"error":{"code":1}},{}]"#),
        ("mixed", r#"[1,{"id":1},[{"id":2}],"x"]"#),
        ("empty", "{}"),
        ("empty_batch", "[ ]"),
        ("cut_off", r#"{"id":1,"result":{"a":"b"#),
        ("two", r#"{"id":1}{"id":2}"#),
        ("log", "[INFO] server listens"),
    ];
    for (name, text) in messages {
        write("skim", name, &[PIECES, text.as_bytes()])?;
        write("skim", &format!("{name}_at_once"), &[ONE_PIECE, text.as_bytes()])?;
    }
    let member = |at: usize| format!("\"member{at}\":{at}");
    let many = (0..70).map(member).collect::<Vec<_>>().join(",");
    write("skim", "many_members", &[ONE_PIECE, format!("{{{many}}}").as_bytes()])?;
    let long = "x".repeat(1100);
    write("skim", "long", &[ONE_PIECE, format!("{{\"{long}\":\"{long}\",\"a\":[\"{long}\"]}}").as_bytes()])
}

/// Memory limits, as `input.rs` reads them: the defaults, all on disk, some on disk and some too long.
const LIMITS: [(&str, [u8; 2]); 3] = [("held", [255, 255]), ("spooled", [0, 255]), ("capped", [4, 8])];

fn lines() -> io::Result<()> {
    let lines = [
        ("messages", "{\"id\":1,\"result\":{}}\n{\"result\":[1,2,3],\"id\":\"a\"}\r\n\nlog\n{\"id\":2}"),
        ("batch", "[{\"id\":1,\"result\":\"x\"},{\"method\":\"y\"}]\n[{\"id\":2}]\n"),
        ("no_message", "}{\n\"id\":5\n[[[\n{\"id\":\n{\"a\":\"\\\"\n"),
        (
            "twice",
            "{\"id\":1,\"a\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\",\"id\":2}\n{\"\\u0069d\":3,\"b\":[]}\n",
        ),
    ];
    for (name, text) in lines {
        for (limits, bytes) in LIMITS {
            write("lines", &format!("{name}_{limits}"), &[&bytes, PIECES, text.as_bytes()])?;
        }
    }
    Ok(())
}

fn sse() -> io::Result<()> {
    let streams: [(&str, &[u8]); 6] = [
        ("events", b": hello\n\nid: 7\nevent: message\ndata: {\"id\":1,\"result\":{}}\n\ndata:z\n\n"),
        ("several_lines", b"retry: 500\r\ndata: {\r\ndata: \"id\":1}\r\n\r\ndata\ndata:\ndata: x\n\n"),
        ("ends", b"data: a\r\rdata: b\n\r\nid: 1\r\n\n\n\ndata: c\n\r\r"),
        ("cut_off", b"data: {\"id\":3,\"result\":\"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"),
        ("names", b"\ndata\n\nid\ndatas: x\n data: y\nretry: x\nid: \xfe\n\n"),
        ("long", b": \xff\nid: 1\ndata: {\"id\":1,\"a\":\"\xff\"}\n: \xff\xff\xff\nretry: 5\n\ndata: x\n\n"),
    ];
    for (name, stream) in streams {
        for (limits, bytes) in LIMITS {
            write("sse", &format!("{name}_{limits}"), &[&bytes, PIECES, stream])?;
        }
    }
    Ok(())
}

fn link() -> io::Result<()> {
    let greeting = r#"c{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"claude-code"}}}
s{"jsonrpc":"2.0","id":0,"result":{"capabilities":{"tools":{}},"serverInfo":{"name":"x"}}}
"#;
    let listed = r#"c{"jsonrpc":"2.0","id":1,"method":"tools/list"}
s{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a","inputSchema":{"type":"object"},"outputSchema":{"type":"object"}}]}}
"#;
    let call = r#"c{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"a","arguments":{"q":"error"}}}
"#;
    let rows = String::from_utf8(make::text_result(&sample::issues(5))).expect("a sample is text");
    let answer = format!("s{{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{rows}}}\n");
    let error = format!(
        "s{{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{{\"code\":-32000,\"message\":{}}}}}\n",
        make::quoted(&"it failed ".repeat(200))
    );
    let own = r#"c{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"result_query","arguments":{"id":"a-3f9c2kq7m0xw","page":1}}}
c{"jsonrpc":"2.0","id":4,"method":"resources/list"}
c{"jsonrpc":"2.0","id":5,"method":"resources/read","params":{"uri":"ax://a/3f9c2kq7m0xw"}}
c{"jsonrpc":"2.0","id":6,"method":"resources/templates/list"}
s{"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"no"}}
"#;
    let batch = r#"c[{"jsonrpc":"2.0","id":7,"method":"ping"},{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"result_query"}}]
s[{"jsonrpc":"2.0","id":7,"result":{}},{"jsonrpc":"2.0","id":9,"result":{}},{"jsonrpc":"2.0","method":"x"}]
"#;
    let task = r#"c{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"a","task":{}}}
s{"jsonrpc":"2.0","id":10,"result":{"task":{"taskId":"t1"}}}
c{"jsonrpc":"2.0","id":11,"method":"tasks/result","params":{"taskId":"t1"}}
s{"jsonrpc":"2.0","id":11,"result":{"content":[]}}
s{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"t1","result":{"content":[]}}}
"#;
    let odd = r#"c{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"a"}}
c{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"a"}}
s{"jsonrpc":"2.0","id":"\u0061","result":{}}
s{"jsonrpc":"2.0","id":"a","result":{}}
s[INFO] server listens
s{"level":"info"}
s{"jsonrpc":"2.0","id":1.0,"method":"sampling/createMessage"}
e
"#;
    for (name, text) in [
        ("greeting", greeting.to_owned()),
        ("tools", format!("{greeting}{listed}")),
        ("call", format!("{call}{answer}")),
        ("call_twice", format!("{call}{answer}{answer}")),
        ("call_failed", format!("{call}{error}")),
        ("call_unanswered", format!("{greeting}{call}e\n{answer}")),
        ("own", format!("{greeting}{own}")),
        ("batch", batch.to_owned()),
        ("task", task.to_owned()),
        ("odd", odd.to_owned()),
    ] {
        write("link", name, &[text.as_bytes()])?;
    }
    Ok(())
}

fn config() -> io::Result<()> {
    let files = [
        ("defaults", "[defaults]\nbudget_tokens = 1_000\nmax_bytes = 0x2800\nttl_seconds = 60\n"),
        (
            "server",
            "[server.github]\ncap_tokens = 9000\n[server.github.tool.\"list_*\"]\nfields = [\"id\", \"é\"]\npage_size = 5\nrows = \"items\"\nkind = \"log\"\non_store_failure = \"error\"\n",
        ),
        (
            "client",
            "[client.\"*\"]\noutput_schema = \"union\"\nresource_link = true\ncount_percent = 130\nbudget_tokens = 500\n",
        ),
        ("store", "[store]\npath = \"~/kept\"\n"),
        ("inline", "server = { a = { tool = { x = { page_size = 1 } } } }\nstore.path = 'x'\n"),
        (
            "mistakes",
            "[defaults]\nbudget_token = 5\nmax_bytes = 10\n\n[server.a.tool.x]\nkind = \"logs\"\nfields = \"id\"\n[clients]\n[store]\npath = 7\n",
        ),
        ("broken", "[defaults]\nbudget_tokens = \n\n[store\n"),
        ("twice", "[defaults]\nrows = \"\"\"a\nb\"\"\"\n[defaults]\n"),
        ("empty", "# nothing is set\n"),
    ];
    for (name, text) in files {
        write("config", name, &[text.as_bytes()])?;
    }
    Ok(())
}
