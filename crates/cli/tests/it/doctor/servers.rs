//! Wrapped servers that do not start, hang, speak nonsense, or have names that are ours.

use serde_json::json;

use super::{Home, scripted, wrapped};
use crate::session::upstream;

/// A server of a few lines of Python.
fn python(name: &str, program: &str) -> serde_json::Value {
    wrapped(name, &["python3", "-S", "-c", program])
}

#[test]
fn servers_that_do_not_answer() {
    let mut gone = scripted("gone");
    gone["command"] = json!("/opt/old/tidegate");
    let home = Home::cursor(json!({
        "dies": python("dies", "import sys; sys.exit('no module named shop')"),
        "gone": gone,
        "good": scripted("good"),
        "hangs": python("hangs", "import sys\nfor line in sys.stdin: pass"),
        "missing": wrapped("missing", &["no-such-program-anywhere", "--key"]),
        "nonsense": python("nonsense", "print('Welcome to my server!', flush=True)\nimport sys\nfor line in sys.stdin: pass"),
        "refuses": python("refuses", REFUSES),
        "silent": python("silent", "pass"),
    }));
    insta::assert_snapshot!("not_answering", home.told(&["--timeout", "10s"]));
}

/// Answers everything with an error.
const REFUSES: &str = "import sys, json
for line in sys.stdin:
    message = json.loads(line)
    if 'id' in message:
        error = {'code': -32000, 'message': 'log in first'}
        print(json.dumps({'jsonrpc': '2.0', 'id': message['id'], 'error': error}), flush=True)
";

/// Ends with what is in its environment and where it is.
const SHOWS: &str = "import os, sys
names = ['KEY', 'PASSED', 'KEPT', 'WHERE']
sys.exit(' '.join(os.environ.get(name, '-') for name in names) + ' ' + os.path.basename(os.getcwd()))
";

/// What is started is what the client would start: with its variables, in its folder.
#[test]
fn started_as_the_client_does() {
    let home = Home::new().with("KEY", "outer").with("PASSED", "passed").with("KEPT", "kept back");
    let mut entry = python("env", SHOWS);
    entry["env"] = json!({"KEY": "${KEY}+${NIX:-else}", "WHERE": "here"});
    let local = json!({"mcpServers": {"env": entry}});
    let gone = json!({"mcpServers": {"env": {"command": "tidegate", "args": ["run", "--", "x"]}}});
    let projects = json!({home.path("project").to_str().unwrap(): local, "/nonexistent/shop": gone});
    home.write(".claude.json", &json!({"projects": projects}).to_string());
    let words = python("env", SHOWS)["args"].to_string();
    let codex = format!(
        "[mcp_servers.env]\ncommand = \"tidegate\"\nargs = {words}\nenv_vars = [\"PASSED\"]\nenv = {{ KEY = \"${{KEY}}\" }}\ncwd = \"sub\"\n"
    );
    std::fs::create_dir(home.path("project/sub")).unwrap();
    home.write("project/.codex/config.toml", &codex);
    assert_eq!(
        home.about("claude-code", &[]),
        "✓ claude-code  ~/.claude.json: 2 servers, 2 wrapped; answers of at most 1,000 tokens and 10,240 bytes, \
         follow-ups of 2,000 tokens and 10,240 bytes, below its limit of 50,000 bytes\n· claude-code env (/nonexistent/shop)  wrapped; not started: its folder /nonexistent/shop \
         does not exist\n✗ claude-code env (.)  does not start: the server (python3) ended with exit code \
         1 before it answered initialize\n    | outer+else passed kept back here project\n    | tidegate: the server \
         (python3) ended with exit code 1 before it answered anything; run the command alone to see why\n    fix: correct \
         what it reports, in ~/.claude.json or where it is installed\n"
    );
    let told = home.about("codex", &["--server", "env"]);
    assert!(told.contains("\n    | ${KEY} passed - - sub\n"), "{told}");
}

/// Whoever is in the folder of a project that somebody else wrote has not said that its commands may be run.
#[test]
fn a_command_in_a_project_file_is_not_run_unasked() {
    let home = Home::new();
    let mark = home.path("ran");
    let command = ["sh", "-c", "touch \"$0\"; exit 1", mark.to_str().unwrap()];
    let servers = json!({"theirs": wrapped("theirs", &command)});
    home.write("project/.mcp.json", &json!({"mcpServers": servers}).to_string());
    let told = home.about("claude-code", &[]);
    assert!(
        told.contains("wrapped; not started: tidegate install did not write its entry in .mcp.json"),
        "{told}"
    );
    assert!(told.contains("tidegate doctor --client claude-code --server theirs"), "{told}");
    assert!(!mark.exists());
    let told = home.about("claude-code", &["--server", "theirs"]);
    assert!(told.contains("ended with exit code 1"), "{told}");
    assert!(mark.exists());
    // What install has written is known, until it is changed.
    let server = json!({"command": "python3", "args": ["-S", upstream().to_str().unwrap()]});
    std::fs::remove_file(&mark).unwrap();
    let both = json!({"mcpServers": {"ours": server, "theirs": wrapped("theirs", &command)}});
    home.write("project/.mcp.json", &both.to_string());
    assert_eq!(home.run(&["install", "--yes", "--scope", "project"]).code, 0);
    let told = home.about("claude-code", &[]);
    assert!(told.contains("✓ claude-code ours  starts"), "{told}");
    assert!(told.contains("claude-code theirs  wrapped; not started"), "{told}");
    assert!(!mark.exists());
    let text = std::fs::read_to_string(home.path("project/.mcp.json")).unwrap();
    home.write("project/.mcp.json", &format!("{text} "));
    let told = home.about("claude-code", &[]);
    assert!(told.contains("claude-code ours  wrapped; not started"), "{told}");
}

/// A client that lists the tools it allows has to be told of ours.
#[test]
fn a_list_of_allowed_tools_without_ours() {
    let home = Home::new();
    let words = scripted("rows")["args"].to_string();
    let entry = |allowed: &str| {
        format!("[mcp_servers.rows]\ncommand = \"tidegate\"\nargs = {words}\nenabled_tools = [{allowed}]\n")
    };
    home.write(".codex/config.toml", &entry("\"rows\""));
    let told = home.about("codex", &[]);
    assert!(told.contains("✓ codex rows  starts"), "{told}");
    assert!(told.contains("fix: add \"result_query\" to its enabled_tools"), "{told}");
    home.write(".codex/config.toml", &entry("\"rows\", \"result_query\""));
    let told = home.about("codex", &[]);
    assert!(told.contains("✓ codex rows  starts") && !told.contains("enabled_tools"), "{told}");
}

#[test]
fn a_variable_that_only_the_client_knows_is_reported() {
    let home = Home::new();
    let mut asks = scripted("asks");
    asks["env"] = json!({"TOKEN": "${input:token}"});
    let mut unset = scripted("unset");
    unset["env"] = json!({"TOKEN": "${env:NOT_SET}"});
    home.write("project/.vscode/mcp.json", &json!({"servers": {"asks": asks, "unset": unset}}).to_string());
    assert_eq!(
        home.about("vscode", &[]),
        "✓ vscode  .vscode/mcp.json: 2 servers, 2 wrapped; answers of at most 1,000 tokens and 10,240 bytes, \
         follow-ups of 2,000 tokens and 10,240 bytes\n· vscode asks  wrapped; not started: its entry refers to ${input:token}, which only the client knows\n! vscode unset  \
         wrapped; not started: its entry refers to the variable NOT_SET, which is not set here\n    fix: set NOT_SET where \
         VS Code is started, and here to check the server\n"
    );
}

#[test]
fn names_that_are_ours_too() {
    let home = Home::new();
    let mut clash = scripted("clash");
    clash["env"] = json!({"UPSTREAM_CLASH": "1"});
    let mut observed = clash.clone();
    observed["env"]["TIDEGATE_OBSERVE"] = json!("1");
    let servers = json!({"mcpServers": {"clash": clash, "observed": observed}});
    home.write(".gemini/settings.json", &servers.to_string());
    let set =
        "[server.clash.tool.\"*\"]\nstyle = \"probe\"\n\n[client.\"gemini-*\"]\noutput_schema = \"keep\"\n";
    home.write("project/tidegate.toml", set);
    insta::assert_snapshot!("conflicts", home.told(&[]));
}

#[test]
fn a_budget_that_bytes_leave_no_room_for() {
    let home = Home::cursor(json!({"good": scripted("good")}));
    home.write("project/tidegate.toml", "\n[server.good]\nbudget_tokens = 8000\n");
    let told = home.about("cursor good", &[]);
    let expected = "! cursor good  a budget of 8,000 tokens cannot be reached: Cursor gets at most 10,240 bytes\n    fix: set \
                    a budget of at most 2048 tokens (tidegate.toml:3), or max_bytes = 40000 under [client.\"cursor-vscode\"] in \
                    tidegate.toml if it shows that much\n";
    assert!(told.ends_with(expected), "{told}");
}
