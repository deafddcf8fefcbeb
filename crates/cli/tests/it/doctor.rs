//! `tidegate doctor` in a home of its own, with real servers behind the entries of clients.

mod servers;
mod store;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::Outcome;
use crate::session::upstream;

/// A home, with a project in it where commands run.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    variables: Vec<(String, String)>,
}

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self { folder: tempfile::tempdir().unwrap(), variables: Vec::new() };
        std::fs::create_dir_all(home.path("project/.git")).unwrap();
        home
    }

    /// A home with servers of Cursor.
    fn cursor(servers: Value) -> Self {
        let home = Self::new();
        home.write(".cursor/mcp.json", &json!({"mcpServers": servers}).to_string());
        home
    }

    fn with(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    /// Runs `tidegate`, which is on the PATH here, without a terminal.
    fn run(&self, arguments: &[&str]) -> Outcome {
        let program = Path::new(env!("CARGO_BIN_EXE_tidegate"));
        let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
        let output = Command::new(program)
            .args(arguments)
            .env_clear()
            .env("HOME", self.folder.path())
            .env("PATH", path)
            .env("TIDEGATE_HOME", self.path("data"))
            .env("COLUMNS", "100")
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .current_dir(self.path("project"))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Outcome {
            code: output.status.code().unwrap(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// All that a run gave, with what differs from machine to machine under one name.
    fn told(&self, arguments: &[&str]) -> String {
        let outcome = self.run(&[&["doctor"], arguments].concat());
        let told = format!(
            "exit code {}\n--- stdout\n{}--- stderr\n{}",
            outcome.code,
            outcome.text(),
            outcome.stderr
        );
        let program = Path::new(env!("CARGO_BIN_EXE_tidegate"));
        let told = told.replace(self.folder.path().to_str().unwrap(), "/HOME");
        let told = told.replace(program.to_str().unwrap(), "/BIN/tidegate");
        told.lines().map(|line| without_free(line) + "\n").collect()
    }

    /// The lines about a subject, with what belongs to them.
    fn about(&self, subject: &str, arguments: &[&str]) -> String {
        let told = self.told(arguments);
        let mut shown = false;
        let lines = told.lines().filter(|line| {
            if !line.starts_with("    ") {
                shown = line.chars().nth(1) == Some(' ')
                    && line.chars().skip(2).collect::<String>().starts_with(&format!("{subject} "));
            }
            shown
        });
        lines.map(|line| squeezed(line) + "\n").collect()
    }

    /// Every file below the home, with its size.
    fn files(&self) -> Vec<(PathBuf, u64)> {
        let mut files = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
                match entry.file_type().unwrap().is_dir() {
                    true => folders.push(entry.path()),
                    false => files.push((entry.path(), entry.metadata().unwrap().len())),
                }
            }
        }
        files.sort();
        files
    }
}

/// A line without how much of the disk is free.
fn without_free(line: &str) -> String {
    match line.strip_suffix(" free").and_then(|line| line.rsplit_once(", ")) {
        Some((line, _)) => format!("{line}, SOME free"),
        None => line.to_owned(),
    }
}

/// A line without the blanks that put its text into a column.
fn squeezed(line: &str) -> String {
    match line.strip_prefix("    ") {
        Some(_) => line.to_owned(),
        None => {
            line.split("  ").filter(|part| !part.is_empty()).map(str::trim).collect::<Vec<_>>().join("  ")
        }
    }
}

/// An entry that starts a server through tidegate.
fn wrapped(name: &str, command: &[&str]) -> Value {
    let words = ["run", "--server", name, "--"].into_iter().chain(command.iter().copied());
    json!({"command": "tidegate", "args": words.collect::<Vec<_>>()})
}

/// An entry with the scripted upstream behind it.
fn scripted(name: &str) -> Value {
    wrapped(name, &["python3", "-S", upstream().to_str().unwrap()])
}

/// A home where everything is as it should be.
fn healthy() -> Home {
    let home = Home::new();
    let claude = json!({"mcpServers": {"github": scripted("github")}, "numStartups": 3});
    home.write(".claude.json", &claude.to_string());
    let words = format!("[\"run\", \"--server\", \"rows\", \"--\", \"python3\", \"-S\", {:?}]", upstream());
    home.write(
        ".codex/config.toml",
        &format!("[mcp_servers.rows]\ncommand = \"tidegate\"\nargs = {words}\n"),
    );
    home.write("project/.vscode/mcp.json", "{\n  // none yet\n  \"servers\": {},\n}\n");
    home.write("project/tidegate.toml", "[server.github]\nbudget_tokens = 1500\n");
    home
}

#[test]
fn help_answers() {
    let home = Home::new();
    insta::assert_snapshot!("doctor_help", home.told(&["--help"]));
}

#[test]
fn examples_of_the_help_run() {
    let help = Home::new().run(&["doctor", "--help"]);
    let examples = help.text().split("Examples:\n").nth(1).unwrap().to_owned();
    let home = healthy();
    let mut ran = 0;
    for example in examples.lines().map(str::trim) {
        let outcome = home.run(&example.split(' ').skip(1).collect::<Vec<_>>());
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""), "{example}: {}", outcome.text());
        ran += 1;
    }
    assert_eq!(ran, 4);
}

#[test]
fn nothing_is_configured() {
    let home = Home::new();
    insta::assert_snapshot!("nothing", home.told(&[]));
    insta::assert_snapshot!("nothing_verbose", home.told(&["--verbose", "--client", "cursor,zed"]));
    assert_eq!(home.files(), [], "looking makes nothing");
    assert!(!home.path("data").exists());
}

#[test]
fn a_healthy_setup_passes_every_check() {
    let home = healthy();
    insta::assert_snapshot!("healthy", home.told(&[]));
    insta::assert_snapshot!("not_started", home.told(&["--no-start", "--client", "codex"]));
}

#[test]
fn nothing_is_left_of_it() {
    let home = healthy();
    assert_eq!(home.run(&["ls"]).code, 0, "there is a store");
    let before = home.files();
    assert_eq!(home.run(&["doctor"]).code, 0);
    assert_eq!(home.files(), before);
}

#[test]
fn unknown_names_are_refused_and_selections_apply() {
    let home = healthy();
    let outcome = home.run(&["doctor", "--server", "githup"]);
    assert_eq!(
        (outcome.code, outcome.stderr.as_str()),
        (2, "tidegate: unknown server \"githup\"; known servers: github, rows\n")
    );
    assert_eq!(home.run(&["doctor", "--client", "notepad"]).code, 2);
    assert_eq!(home.run(&["doctor", "--timeout", "soon"]).code, 2);
    let told = home.told(&["--server", "rows"]);
    assert!(told.contains("codex rows") && !told.contains("claude-code github"), "{told}");
}

#[test]
fn a_broken_file_is_reported_with_its_line() {
    let home = Home::new();
    home.write(".cursor/mcp.json", "{\n  \"mcpServers\": { \"a\": }\n}\n");
    home.write(".codex/config.toml", "[mcp_servers.a]\ncommand = \n");
    insta::assert_snapshot!("broken_files", home.told(&[]));
}

#[test]
fn servers_that_are_not_wrapped() {
    let home = Home::cursor(json!({
        "files": {"command": "npx", "args": ["-y", "files"]},
        "far": {"url": "https://mcp.example.com/mcp"},
        "old": {"url": "https://mcp.example.com/sse"},
        "off": {"command": "tidegate", "args": ["run", "--", "x"], "disabled": true},
    }));
    insta::assert_snapshot!("not_wrapped", home.told(&[]));
}

#[test]
fn a_read_only_file_cannot_be_wrapped() {
    let home = Home::cursor(json!({"files": {"command": "npx"}, "good": scripted("good")}));
    let path = home.path(".cursor/mcp.json");
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    assert_eq!(
        home.about("cursor", &[]),
        "! cursor  ~/.cursor/mcp.json is read-only, so nothing in it is wrapped\n    fix: chmod u+w ~/.cursor/mcp.json, \
         then tidegate install --client cursor\n✓ cursor  ~/.cursor/mcp.json: 2 servers, 1 wrapped; answers of at most \
         1,000 tokens and 10,240 bytes, follow-ups of 2,000 tokens and 10,240 bytes\n· cursor files  not wrapped: its file cannot be written\n✓ cursor good  starts, \
         12 tools, 559 tokens to list them, including tidegate's\n"
    );
}

#[test]
fn mistakes_in_the_configuration() {
    let home = healthy();
    home.write("project/tidegate.toml", "[defaults]\nbudget_token = 5\n\n[server.github]\nmax_bytes = 1\n");
    insta::assert_snapshot!("mistakes", home.told(&[]));
}

#[test]
fn sections_of_unknown_servers_are_reported() {
    let home = healthy();
    home.write(
        "project/tidegate.toml",
        "[server.githup]\npage_size = 60\n[server.unrelated.tool.x]\nrows = \".a\"\n",
    );
    assert_eq!(
        home.about("configuration", &["--no-start"]),
        "✓ configuration  tidegate.toml\n! configuration  tidegate.toml:1: no client has a server called \"githup\"\n    \
         fix: did you mean \"github\"? Otherwise remove the section\n! configuration  tidegate.toml:3: no client has a \
         server called \"unrelated\"\n    fix: rename or remove the section; known servers: github, rows\n"
    );
}

/// Each line names the limit, and the line that is to be changed.
#[test]
fn limits_of_clients() {
    let home = healthy().with("MAX_MCP_OUTPUT_TOKENS", "1000");
    home.write("project/tidegate.toml", "[defaults]\npage_size = 60\nbudget_tokens = 9000\n");
    let codex = std::fs::read_to_string(home.path(".codex/config.toml")).unwrap();
    home.write(".codex/config.toml", &format!("model = \"m\"\ntool_output_token_limit = 2_000\n{codex}"));
    home.write(".gemini/settings.json", "{\"tools\": {\n\"truncateToolOutputThreshold\": 8000}}");
    home.write(".cursor/mcp.json", "{}");
    insta::assert_snapshot!("limits", home.told(&["--no-start"]));
}

#[test]
fn limits_that_were_raised() {
    let home = healthy();
    home.write("project/tidegate.toml", "[client.\"claude-*\"]\nmax_bytes = 60000\ncap_tokens = 12000\n");
    let told = home.about("claude-code", &["--no-start"]);
    let expected = "\n! claude-code  answers on request, of up to 12,000 tokens and 60,000 bytes, exceed its limit of \
                    50,000 bytes\n    fix: set max_bytes = 47500 at tidegate.toml:2\n";
    assert!(told.contains(expected), "{told}");
    home.write("project/tidegate.toml", "[client.\"claude-*\"]\nmax_bytes = 47500\ncap_tokens = 12000\n");
    assert!(!home.about("claude-code", &["--no-start"]).contains("fix:"));
}

#[test]
fn for_programs() {
    let home = healthy();
    let outcome = home.run(&["doctor", "--format", "json", "--client", "claude-code"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
    let report: Value = serde_json::from_slice(&outcome.stdout).unwrap();
    assert_eq!(
        (&report["failures"], &report["warnings"], &report["notes"]),
        (&json!(0), &json!(0), &json!(0))
    );
    let checks = report["checks"].as_array().unwrap();
    assert_eq!(report["fine"], checks.len());
    let server = checks.iter().find(|check| check["subject"] == "claude-code github").unwrap();
    assert_eq!(
        (&server["status"], &server["tools"], &server["fix"]),
        (&json!("fine"), &json!(12), &Value::Null)
    );
    assert_eq!((&server["client"], &server["server"]), (&json!("claude-code"), &json!("github")));

    home.write(".claude.json", "[");
    let outcome = home.run(&["doctor", "--format", "json", "--client", "claude-code"]);
    assert_eq!((outcome.code, outcome.stderr.as_str()), (1, "tidegate: 1 failure; see the fixes above\n"));
    let report: Value = serde_json::from_slice(&outcome.stdout).unwrap();
    assert_eq!(report["failures"], 1);
}
