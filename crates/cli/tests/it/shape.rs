//! `tidegate shape`.

use serde_json::Value;
use tidegate_testkit::{make, sample};

use crate::tidegate;

fn rows() -> Vec<u8> {
    make::text_result(&sample::issues(200))
}

#[test]
fn help_answers() {
    insta::assert_snapshot!("help", tidegate(&["--help"], b"").text());
    insta::assert_snapshot!("shape_help", tidegate(&["shape", "--help"], b"").text());
}

#[test]
fn text_is_what_the_model_reads() {
    let outcome = tidegate(&["shape", "--tool", "list_issues", "--budget", "600"], &rows());
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let text = outcome.text();
    assert!(text.starts_with("list_issues returned 200 rows ("), "{text}");
    assert!(
        text.trim_end().lines().last().unwrap().starts_with("next: result_query {\"id\":\"list_issues-"),
        "{text}"
    );
}

#[test]
fn a_result_that_fits_is_printed_unchanged() {
    for result in [
        &b"{\"content\": [ {\"type\":\"text\",\"text\":\"caf\\u00e9\"} ],\n \"x\": 1.0 }\n\n"[..],
        b"{\"content\":[],\"structuredContent\":{\"a\":1e400}}",
    ] {
        let outcome = tidegate(&["shape", "--format", "result"], result);
        assert_eq!(outcome.stdout, result);
    }
}

#[test]
fn a_response_gives_its_result() {
    let response =
        b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}}";
    let outcome = tidegate(&["shape", "--format", "result"], response);
    assert_eq!(outcome.text(), "{\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}");
    assert_eq!(tidegate(&["shape"], response).text(), "hi\n");
}

#[test]
fn plain_text_and_json_count_as_one_text() {
    assert_eq!(tidegate(&["shape"], b"just words").text(), "just words\n");
    let plain = tidegate(&["shape", "--format", "result"], b"[1,2]");
    assert_eq!(serde_json::from_slice::<Value>(&plain.stdout).unwrap()["content"][0]["text"], "[1,2]");
    let long = tidegate(&["shape", "--budget", "500"], sample::issues(200).as_bytes());
    assert!(long.text().starts_with("tool returned 200 rows ("), "{}", long.text());
}

#[test]
fn the_report_adds_up() {
    let outcome = tidegate(&["shape", "--format", "json", "--budget", "800", "--stats"], &rows());
    let report: Value = serde_json::from_slice(&outcome.stdout).unwrap();
    assert_eq!(report["step"], "overview");
    assert_eq!((report["kind"].as_str(), report["strategy"].as_str()), (Some("json"), Some("rows")));
    assert!(report["shaped"]["tokens"].as_u64().unwrap() <= 800);
    assert!(report["raw"]["tokens"].as_u64().unwrap() > 10_000);
    assert_eq!(report["left_out"][0]["what"], "rows");
    assert_eq!(report["left_out"][0]["of"], 200);
    assert_eq!(outcome.stderr.lines().count(), 1, "{}", outcome.stderr);
    assert!(outcome.stderr.starts_with("overview (json as rows): "), "{}", outcome.stderr);
}

#[test]
fn bad_input_is_one_clear_line_and_exit_code_2() {
    let cases: &[(&[&str], &[u8], &str)] = &[
        (&["shape"], b"", "tidegate: stdin is empty; pipe a tool result in, as JSON or text\n"),
        (
            &["shape"],
            b"{\"content\":[{\"type\":\"text\",\"text\":\"abc",
            "tidegate: not valid JSON: the text ends inside a string at byte 34\n",
        ),
        (
            &["shape"],
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":\"no\"}}",
            "tidegate: this is a JSON-RPC error response, not the result of a tool call\n",
        ),
        (
            &["shape"],
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\"}",
            "tidegate: this is a JSON-RPC request or notification, not the result of a tool call\n",
        ),
        (&["shape"], b"\x00\xff\xfe", "tidegate: stdin is neither JSON nor UTF-8 text (byte 1)\n"),
        (
            &["shape", "--budget", "10"],
            b"x",
            "tidegate: --budget 10 is too small for a frame, a handle and a next step; use at least 250\n",
        ),
        (
            &["shape", "--max-bytes", "100"],
            b"x",
            "tidegate: --max-bytes 100 is too small for a frame, a handle and a next step; use at least 1536\n",
        ),
    ];
    for (arguments, stdin, message) in cases {
        let outcome = tidegate(arguments, stdin);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (2, *message), "{arguments:?}");
        assert!(outcome.stdout.is_empty());
    }
    assert_eq!(tidegate(&["shape", "--format", "xml"], b"x").code, 2);
    assert_eq!(tidegate(&["shape", "--budget", "many"], b"x").code, 2);
}

/// Two processes have different seeds for everything that is seeded.
#[test]
fn every_run_gives_the_same_bytes() {
    for (name, result) in sample::all() {
        let run = || tidegate(&["shape", "--format", "result", "--budget", "900"], &result).stdout;
        assert_eq!(run(), run(), "{name}");
    }
}

/// A redirected file is read in place; the answer is the same as through a pipe.
#[test]
fn a_file_and_a_pipe_give_the_same_bytes() {
    for (name, result) in sample::all() {
        let path = std::env::temp_dir().join(format!("tidegate-shape-{}-{name}", std::process::id()));
        std::fs::write(&path, &result).unwrap();
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_tidegate"))
            .args(["shape", "--format", "result", "--budget", "900"])
            .stdin(std::fs::File::open(&path).unwrap())
            .output()
            .unwrap();
        std::fs::remove_file(&path).unwrap();
        let piped = tidegate(&["shape", "--format", "result", "--budget", "900"], &result);
        assert_eq!(output.stdout, piped.stdout, "{name}");
    }
}

/// A preview is what the proxy would send: with the settings for the server and the tool, and without saying that anything
/// is kept.
#[test]
fn the_configuration_applies_and_nothing_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("mine.toml");
    std::fs::write(
        &config,
        "[defaults]\nbudget_tokens = 700\n[server.hub.tool.\"list_*\"]\nbudget_tokens = 500\nfields = [\"number\"]\n",
    )
    .unwrap();
    let config = config.to_str().unwrap();
    let report = |more: &[&str]| -> Value {
        let arguments =
            [&["shape", "--config", config, "--tool", "list_issues", "--format", "json"], more].concat();
        let outcome = crate::tidegate_in(Some(&folder.path().join("data")), &arguments, &rows());
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        serde_json::from_slice(&outcome.stdout).unwrap()
    };
    let (all, hub) = (report(&[]), report(&["--server", "hub"]));
    let flag = report(&["--server", "hub", "--budget", "900"]);
    let tokens = |report: &Value| report["shaped"]["tokens"].as_u64().unwrap();
    assert!((501..=700).contains(&tokens(&all)) && tokens(&hub) <= 500, "{} {}", tokens(&all), tokens(&hub));
    assert!((501..=900).contains(&tokens(&flag)));
    let text = |report: &Value| report["text"].as_str().unwrap().to_owned();
    assert!(text(&hub).contains("\n#,number\n") && !text(&all).contains("\n#,number\n"), "{}", text(&hub));
    assert!(
        text(&hub).contains("(a preview: not kept)") && !text(&hub).contains("kept 24 h"),
        "{}",
        text(&hub)
    );
    assert!(!folder.path().join("data").exists());
    let kept = report(&["--keep", "--server", "hub", "--arguments", "{\"state\":\"open\"}"]);
    assert!(text(&kept).contains("(kept 24 h)"), "{}", text(&kept));
    let listed = crate::tidegate_in(Some(&folder.path().join("data")), &["ls"], b"");
    let row = listed.text().lines().nth(1).unwrap();
    assert!(row.contains("  hub     state=open  json  "), "{}", listed.text());
}
