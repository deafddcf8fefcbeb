//! `tidegate install` and `uninstall`, each test in a home folder of its own.

#[cfg(unix)]
mod copy;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::Outcome;
use crate::http::Remote;
use crate::session::{Session, upstream};

/// A home, with a project in it where commands run.
struct Home(tempfile::TempDir);

const CLAUDE: &str = r#"{
  "numStartups": 7,
  "mcpServers": {
    "github": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "@x/github-mcp"],
      "env": { "GITHUB_TOKEN": "ghp_literal-secret" }
    },
    "sentry": {
      "type": "http",
      "url": "https://mcp.sentry.example/mcp",
      "headers": { "Authorization": "Bearer literal-secret" }
    },
    "linear": { "type": "http", "url": "https://mcp.linear.example/mcp" }
  },
  "projects": { "/srv/shop": { "mcpServers": { "db": { "command": "db-server", "args": [] } } } }
}
"#;
const CODEX: &str = "model = \"gpt-5.5\"\r\n\r\n[mcp_servers.github]\r\ncommand = \"npx\" # by node\r\nargs = [\"-y\", \"@x/github-mcp\"]\r\n";
const SHARED: &str = "{\n\t\"servers\": { \"fetch\": { \"command\": \"uvx\", \"args\": [\"fetch\"] } }\n}\n";
/// The program that entries in the user's own files start.
const PROGRAM: &str = env!("CARGO_BIN_EXE_tidegate");
const FILES: [(&str, &str); 3] =
    [(".claude.json", CLAUDE), (".codex/config.toml", CODEX), ("project/.vscode/mcp.json", SHARED)];

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(home.path("project/.git")).unwrap();
        home
    }

    fn filled() -> Self {
        let home = Self::new();
        FILES.iter().for_each(|(name, text)| home.write(name, text));
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        std::fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs `tidegate`, which is on the PATH here, without a terminal.
    fn run(&self, arguments: &[&str]) -> Outcome {
        self.run_with(arguments, |command| command)
    }

    /// Runs `tidegate` with a changed command.
    fn run_with(&self, arguments: &[&str], change: impl Fn(&mut Command) -> &mut Command) -> Outcome {
        let program = Path::new(PROGRAM);
        let mut command = Command::new(program);
        command
            .args(arguments)
            .env_clear()
            .env("HOME", self.0.path())
            .env("PATH", program.parent().unwrap())
            .env("TIDEGATE_HOME", self.path("data"))
            .env("COLUMNS", "100")
            .current_dir(self.path("project"))
            .stdin(Stdio::null());
        let output = change(&mut command).output().unwrap();
        Outcome {
            code: output.status.code().unwrap(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// Returns exit code, stdout and stderr of a run, with fixed names for the home folder and the program.
    fn transcript(&self, arguments: &[&str]) -> String {
        self.transcript_of(&self.run(arguments))
    }

    fn transcript_of(&self, outcome: &Outcome) -> String {
        let told = format!(
            "exit code {}\n--- stdout\n{}--- stderr\n{}",
            outcome.code,
            outcome.text(),
            outcome.stderr
        );
        let home = self.0.path().to_str().unwrap();
        told.replace(home, "/HOME").replace(PROGRAM, "/BIN/tidegate").replace('\r', "<CR>")
    }

    fn assert_untouched(&self) {
        FILES.iter().for_each(|(name, text)| assert_eq!(self.read(name), *text, "{name}"));
    }
}

#[test]
fn help_answers() {
    let home = Home::new();
    insta::assert_snapshot!("install_help", home.transcript(&["install", "--help"]));
    insta::assert_snapshot!("uninstall_help", home.transcript(&["uninstall", "--help"]));
}

/// Every example in the help works; commands that ask get --yes.
#[test]
fn examples_of_the_help_run() {
    for command in ["install", "uninstall"] {
        let help = Home::new().run(&[command, "--help"]);
        let examples = help.text().split("Examples:\n").nth(1).unwrap().to_owned();
        let mut ran = 0;
        for example in examples.lines().map(str::trim) {
            let home = Home::filled();
            if command == "uninstall" {
                assert_eq!(home.run(&["install", "--yes"]).code, 0);
            }
            let mut words: Vec<&str> = example.split(' ').skip(1).collect();
            let dry = words.contains(&"--dry-run");
            if !dry && !words.contains(&"--yes") {
                words.push("--yes");
            }
            let file = if words.contains(&"project") { "project/.vscode/mcp.json" } else { ".claude.json" };
            let before = home.read(file);
            let outcome = home.run(&words);
            assert_eq!(outcome.code, 0, "{example}: {}", outcome.stderr);
            assert_eq!(home.read(file) == before, dry, "{example}");
            ran += 1;
        }
        assert!(ran >= 3);
    }
}

#[test]
fn nothing_configured_says_where_it_looked() {
    let home = Home::new();
    insta::assert_snapshot!("nothing", home.transcript(&["install", "--dry-run"]));
    assert!(!home.path("data").exists(), "looking makes nothing");
    assert_eq!(
        home.transcript(&["uninstall"]),
        "exit code 0\n--- stdout\n--- stderr\nno server is wrapped; nothing was changed\n"
    );
    assert!(!home.path("data").exists(), "looking makes nothing");
}

#[test]
fn install_and_uninstall_restore_every_file() {
    let home = Home::filled();
    insta::assert_snapshot!("dry_run", home.transcript(&["install", "--dry-run"]));
    home.assert_untouched();
    assert!(!home.path("data").exists());
    insta::assert_snapshot!("installed", home.transcript(&["install", "--yes"]));
    insta::assert_snapshot!("installed_again", home.transcript(&["install", "--yes"]));

    // The client writes its file meanwhile.
    let touched = |text: &str| text.replace("\"numStartups\": 7", "\"numStartups\": 8");
    home.write(".claude.json", &touched(&home.read(".claude.json")));
    insta::assert_snapshot!("uninstalled", home.transcript(&["uninstall", "--yes"]));
    assert_eq!(home.read(".claude.json"), touched(CLAUDE));
    assert_eq!(
        (home.read(".codex/config.toml"), home.read("project/.vscode/mcp.json")),
        (CODEX.into(), SHARED.into())
    );
    let left: Vec<_> = std::fs::read_dir(home.path("data/install"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["lock"]);
}

#[test]
fn no_secret_is_shown() {
    let home = Home::filled();
    for arguments in
        [&["install", "--dry-run"][..], &["install", "--yes", "--format", "json"], &["uninstall", "--yes"]]
    {
        let told = home.transcript(arguments);
        assert!(told.contains("@x/github-mcp") && !told.contains("literal-secret"), "{told}");
    }
    home.assert_untouched();
}

/// Copies of files go to the user's data folder, whatever the project's `tidegate.toml` sets.
#[test]
fn a_project_does_not_move_the_copies() {
    let home = Home::filled();
    home.write("project/tidegate.toml", "[store]\npath = \"kept\"\n");
    home.write("elsewhere/tidegate.toml", "this is a mistake");
    assert_eq!(home.run_with(&["install", "--yes"], |command| command.env_remove("TIDEGATE_HOME")).code, 0);
    assert!(!home.path("project/kept").exists());
    let elsewhere = home.path("elsewhere");
    let undone = home.run_with(&["uninstall", "--yes"], |command| {
        command.env_remove("TIDEGATE_HOME").current_dir(&elsewhere)
    });
    assert_eq!(undone.code, 0, "{}", undone.stderr);
    home.assert_untouched();
}

#[test]
fn a_relative_data_folder_is_refused() {
    let home = Home::filled();
    for command in [&["install", "--yes"][..], &["uninstall", "--yes"]] {
        let outcome = home.run_with(command, |command| command.env("TIDEGATE_HOME", "data"));
        assert_eq!(outcome.code, 2);
        assert!(
            outcome
                .stderr
                .ends_with("TIDEGATE_HOME is the relative path \"data\"; set it to an absolute path\n"),
            "{}",
            outcome.stderr
        );
    }
    home.assert_untouched();
}

#[test]
fn without_a_terminal_nothing_is_confirmed() {
    let home = Home::filled();
    let outcome = home.run(&["install"]);
    assert_eq!(
        (outcome.code, outcome.stderr.as_str()),
        (
            1,
            "tidegate: nothing was changed: there is no terminal to confirm on; pass --yes to continue without asking\n"
        )
    );
    home.assert_untouched();
    home.run(&["install", "--yes"]);
    home.run(&["install", "--yes", "--scope", "project"]);
    let wrapped = home.read(".claude.json");
    assert_eq!(home.run(&["uninstall"]).code, 1);
    assert_eq!(home.read(".claude.json"), wrapped);
}

/// JSON output has the plan even if it was not confirmed.
#[test]
fn the_plan_without_confirmation() {
    let home = Home::filled();
    for command in ["install", "uninstall"] {
        let outcome = home.run(&[command, "--format", "json"]);
        assert_eq!(outcome.code, 1);
        assert!(outcome.stderr.ends_with("pass --yes to continue without asking\n"), "{}", outcome.stderr);
        let plan: Value = serde_json::from_slice(&outcome.stdout).unwrap();
        let changes = plan["changes"].as_array().unwrap();
        assert_eq!(changes.len(), 2);
        assert!(changes.iter().all(|change| change["written"] == false && change["diff"] != ""));
        assert_eq!(home.run(&["install", "--yes"]).code, 0);
    }
}

/// Control characters in the name of a file must not hide its row.
#[test]
fn names_are_escaped() {
    let home = Home::new();
    home.write("project/.mcp.json", "{\"mcpServers\":{\"a\\u001b[2K\\r\u{202e}b\":{\"command\":\"x\"}}}");
    for command in [&["install", "--yes", "--scope", "project"][..], &["uninstall", "--yes"]] {
        let outcome = home.run(command);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        let (row, shown) = (outcome.text().lines().nth(1).unwrap().to_owned(), outcome.text());
        assert!(row.contains("\\u{202e}b") && row.contains(".mcp.json"), "{row}");
        assert!(!shown.contains(['\u{1b}', '\r', '\u{202e}']), "{shown}");
    }
    home.write("odd\u{202e}/.mcp.json", "{");
    let odd = home.path("odd\u{202e}");
    let broken = home.run_with(&["install", "--yes"], |command| command.current_dir(&odd)).stderr;
    assert!(broken.contains("odd\\u{202e}/.mcp.json:1:1: ") && !broken.contains('\u{202e}'), "{broken}");
    let named = home.run(&["install", "--server", "nix"]).stderr;
    assert!(!named.contains(['\u{1b}', '\r', '\u{202e}']), "{named}");
}

/// Entries start a stable link to the program; in shared files its name, with a remark if it is not on the PATH.
#[cfg(unix)]
#[test]
fn a_link_to_the_program_is_kept() {
    let home = Home::filled();
    let link = home.path("bin/tidegate");
    std::fs::create_dir_all(link.parent().unwrap()).unwrap();
    std::os::unix::fs::symlink(PROGRAM, &link).unwrap();
    let command = |name: &str| home.read(name).contains(&format!("\"{}\"", link.display()));
    let install = |scope: &str| {
        home.run_with(&["install", "--yes", "--scope", scope], |command| {
            command.env("PATH", link.parent().unwrap())
        })
    };
    assert!(install("user").code == 0 && command(".claude.json") && command(".codex/config.toml"));
    let on_path = install("project");
    assert!(home.read("project/.vscode/mcp.json").contains("\"command\": \"tidegate\""));
    assert!(!on_path.stderr.contains("PATH"), "{}", on_path.stderr);
    install("local");
    let again = home.run_with(&["install", "--yes"], |command| command.env("PATH", "/nowhere"));
    assert!(again.stderr.ends_with("nothing to wrap; nothing was changed\n"), "{}", again.stderr);
    assert_eq!(home.run(&["uninstall", "--yes"]).code, 0);
    let away = home
        .run_with(&["install", "--dry-run", "--scope", "project"], |command| command.env("PATH", "/nowhere"));
    assert!(away.stderr.starts_with("tidegate is not on the PATH, but entries in project files"));
}

#[test]
fn paths_are_shortened() {
    let home = Home::new();
    let project = home.path("project");
    let text = json!({"projects": {project.to_str().unwrap(): {"mcpServers": {"db": {"command": "x"}}}}});
    home.write(".claude.json", &text.to_string());
    let here = home.run(&["install", "--dry-run"]);
    assert!(here.text().contains("~/.claude.json for .  "), "{}", here.text());
    let above = home.path("..");
    let above = home.run_with(&["install", "--dry-run"], |command| command.current_dir(&above));
    assert!(above.text().contains("~/.claude.json for ~/project  "), "{}", above.text());
}

/// Missing files keep their record, renamed servers are unwrapped; a server that cannot be unwrapped is an error.
#[test]
fn uninstall_reports_missing_files_and_servers() {
    let home = Home::filled();
    home.run(&["install", "--yes"]);
    home.run(&["install", "--yes", "--scope", "project"]);
    let wrapped = home.read("project/.vscode/mcp.json");
    std::fs::remove_file(home.path("project/.vscode/mcp.json")).unwrap();
    home.write(
        ".codex/config.toml",
        &home.read(".codex/config.toml").replace("servers.github", "servers.gh"),
    );
    assert_eq!(home.run(&["uninstall", "--yes"]).code, 0);
    assert_eq!(home.read(".codex/config.toml"), CODEX.replace("servers.github", "servers.gh"));
    let away = home.run(&["uninstall", "--yes"]);
    assert!(
        away.text()
            .ends_with("vscode  project  fetch   .vscode/mcp.json  file is missing; keep its record\n")
    );
    assert_eq!((away.code, away.stderr.as_str()), (0, "no file was changed\n"));
    home.write("project/.vscode/mcp.json", &wrapped);
    assert_eq!(home.run(&["uninstall", "--yes"]).code, 0);
    assert_eq!(home.read("project/.vscode/mcp.json"), SHARED);

    let unknown = r#"{"mcpServers":{"r":{"command":"tidegate","args":["run","--url","https://h/mcp","--bearer-env","T"]}}}"#;
    home.write(".cursor/mcp.json", unknown);
    let left = home.run(&["uninstall", "--yes", "--server", "r"]);
    assert!(
        left.text().ends_with(
            "skip: there is no record of its original entry
"
        ),
        "{}",
        left.text()
    );
    assert_eq!(left.code, 1, "{}", left.stderr);
    assert!(left.stderr.contains("could not unwrap 1 server"), "{}", left.stderr);
}

#[test]
fn a_broken_file_is_reported_and_the_others_are_wrapped() {
    let home = Home::filled();
    home.write(".claude.json", "{\n  \"mcpServers\": { \"a\": }\n}\n");
    let outcome = home.run(&["install", "--yes"]);
    assert_eq!(outcome.code, 1);
    let first = outcome.stderr.lines().next().unwrap().replace(home.0.path().to_str().unwrap(), "");
    assert_eq!(first, "tidegate: /.claude.json:2:24: unexpected close brace; skipped");
    assert_eq!(outcome.stderr.lines().last().unwrap(), "tidegate: skipped 1 file");
    assert_eq!(home.read(".claude.json"), "{\n  \"mcpServers\": { \"a\": }\n}\n");
    let command = format!("command = \"{PROGRAM}\" # by node\r\n");
    assert!(home.read(".codex/config.toml").contains(&command));
}

#[test]
fn unknown_names_are_refused() {
    let home = Home::filled();
    let outcome = home.run(&["install", "--yes", "--server", "github", "--server", "nix"]);
    assert_eq!(
        (outcome.code, outcome.stderr.as_str()),
        (2, "tidegate: unknown server \"nix\"; known servers: db, fetch, github, linear, sentry\n")
    );
    home.assert_untouched();
    assert_eq!(home.run(&["install", "--client", "notepad"]).code, 2);
    assert_eq!(home.run(&["install", "--yes", "--scope", "local"]).code, 0);
    let db = format!(
        r#""db": {{ "command": "{PROGRAM}", "args": ["run", "--server", "db", "--", "db-server"] }}"#
    );
    assert!(home.read(".claude.json").contains(&db));
    assert_eq!(home.read(".codex/config.toml"), CODEX);
    assert_eq!(home.run(&["uninstall", "--yes", "--server", "github"]).code, 2, "it is not installed");
    assert_eq!(home.run(&["uninstall", "--yes", "--server", "db"]).code, 0);
    home.assert_untouched();
}

#[test]
fn json_output() {
    let home = Home::filled();
    let report = |arguments: &[&str]| -> Value {
        let outcome = home.run(&[arguments, &["--yes", "--format", "json"]].concat());
        assert_eq!((outcome.code, outcome.stderr.as_str()), (0, ""));
        serde_json::from_slice(&outcome.stdout).unwrap()
    };
    let installed = report(&["install"]);
    let servers: Vec<(&str, &str, &str)> = installed["servers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            (
                one["client"].as_str().unwrap(),
                one["server"].as_str().unwrap(),
                one["action"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        servers,
        [
            ("claude-code", "github", "wrap"),
            ("claude-code", "sentry", "wrap"),
            ("claude-code", "linear", "leave"),
            ("claude-code", "db", "wrap"),
            ("vscode", "fetch", "leave"),
            ("codex", "github", "wrap"),
        ]
    );
    assert_eq!(installed["servers"][3]["project"], "/srv/shop");
    assert!(installed["changes"].as_array().unwrap().iter().all(|change| change["written"] == true));
    let undone = report(&["uninstall"]);
    assert!(undone["servers"].as_array().unwrap().iter().all(|one| one["action"] == "restore"));
    home.assert_untouched();
}

/// Returns the arguments after `run` in a wrapped entry.
fn wrapped_words(entry: &Value) -> Vec<String> {
    assert_eq!(entry["command"], PROGRAM);
    let words = entry["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned());
    let words: Vec<String> = words.collect();
    assert_eq!(words[0], "run");
    words[1..].to_vec()
}

/// The rewritten entry starts: the server's tools answer through it.
#[test]
fn a_wrapped_command_starts() {
    let home = Home::new();
    let text = json!({"mcpServers": {"rows": {"command": "python3", "args": ["-S", upstream()]}}});
    home.write(".cursor/mcp.json", &text.to_string());
    assert_eq!(home.run(&["install", "--yes"]).code, 0);
    let written: Value = serde_json::from_str(&home.read(".cursor/mcp.json")).unwrap();
    let words = wrapped_words(&written["mcpServers"]["rows"]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut session = Session::command(&home.path("data"), &words, &[], &[]).greeted("cursor");
    let text = session.text("rows", json!({"n": 400}));
    assert!(text.starts_with("rows returned 400 rows"), "{text}");
}

/// A remote server gets the headers it got before, from variables; an address with a key in it is one as well.
#[test]
fn a_wrapped_address_is_reached_with_its_headers() {
    let remote = Remote::start();
    for key in ["", "?key=literal-secret"] {
        let home = Home::new();
        let url = format!("{}{key}", remote.url);
        let headers = json!({"Authorization": "Bearer literal-secret", "X-Org": "acme"});
        let text = json!({"mcpServers": {"far": {"url": url, "headers": headers}}});
        home.write(".cursor/mcp.json", &text.to_string());
        assert_eq!(home.run(&["install", "--yes"]).code, 0);
        let written: Value = serde_json::from_str(&home.read(".cursor/mcp.json")).unwrap();
        let entry = &written["mcpServers"]["far"];
        let words = wrapped_words(entry);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        assert!(words.iter().all(|word| !word.contains("secret")), "{words:?}");
        let variables: Vec<(&str, &str)> = entry["env"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
            .collect();
        let mut session = Session::command(&home.path("data"), &words, &variables, &[]).greeted("cursor");
        let seen = session.request("headers", json!({}))["result"].take();
        assert_eq!(
            (&seen["authorization"], &seen["x-org"]),
            (&json!("Bearer literal-secret"), &json!("acme"))
        );
    }
}

#[test]
fn a_token_in_a_variable_is_sent() {
    let remote = Remote::start();
    let home = Home::new();
    home.write(
        ".codex/config.toml",
        &format!("[mcp_servers.far]\nurl = \"{}\"\nbearer_token_env_var = \"FAR_TOKEN\"\n", remote.url),
    );
    assert_eq!(home.run(&["install", "--yes"]).code, 0);
    let written: toml::Table = home.read(".codex/config.toml").parse().unwrap();
    let entry = serde_json::to_value(&written["mcp_servers"]["far"]).unwrap();
    assert_eq!(entry["env_vars"], json!(["FAR_TOKEN"]));
    let words = wrapped_words(&entry);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut session =
        Session::command(&home.path("data"), &words, &[("FAR_TOKEN", "t0ken")], &[]).greeted("codex");
    assert_eq!(session.request("headers", json!({}))["result"]["authorization"], "Bearer t0ken");
}

/// A file that everybody in a project shares is listed, and changed only when that was asked for.
#[test]
fn shared_files_need_to_be_asked_for() {
    let home = Home::filled();
    let plan: Value =
        serde_json::from_slice(&home.run(&["install", "--yes", "--format", "json"]).stdout).unwrap();
    let fetch =
        plan["servers"].as_array().unwrap().iter().find(|server| server["server"] == "fetch").unwrap();
    assert_eq!(
        (&fetch["action"], &fetch["reason"]),
        (&json!("leave"), &json!("everybody in the project shares its file; --scope project wraps it"))
    );
    assert_eq!(home.read("project/.vscode/mcp.json"), SHARED);
    assert_ne!(home.read(".claude.json"), CLAUDE);
    assert_eq!(home.run(&["install", "--yes", "--scope", "project"]).code, 0);
    assert_ne!(home.read("project/.vscode/mcp.json"), SHARED);
    assert_eq!(home.run(&["uninstall", "--yes"]).code, 0);
    home.assert_untouched();
}

#[test]
fn observed_servers_are_only_measured() {
    let home = Home::filled();
    assert_eq!(home.run(&["install", "--yes", "--observe", "--client", "codex"]).code, 0);
    assert!(home.read(".codex/config.toml").contains("[\"run\", \"--observe\", \"--server\", \"github\""));
    assert_eq!(home.run(&["uninstall", "--yes"]).code, 0);
    home.assert_untouched();
}

/// What was wrapped by hand is listed and stays, however often uninstall runs.
#[test]
fn what_was_wrapped_by_hand_is_kept() {
    let home = Home::new();
    let mine = r#"{"mcpServers":{"mine":{"command":"tidegate","args":["run","--","uvx","mine"]}}}"#;
    home.write(".cursor/mcp.json", mine);
    for _ in 0..2 {
        let outcome = home.run(&["uninstall", "--yes"]);
        assert_eq!(outcome.code, 0, "{}", outcome.stderr);
        assert!(outcome.text().contains("keep: not wrapped by tidegate install; --server NAME unwraps it"));
        assert!(outcome.stderr.ends_with("no file was changed\n"), "{}", outcome.stderr);
        assert_eq!(home.read(".cursor/mcp.json"), mine);
    }
    assert_eq!(home.run(&["uninstall", "--yes", "--server", "mine"]).code, 0);
    let now: Value = serde_json::from_str(&home.read(".cursor/mcp.json")).unwrap();
    assert_eq!(now["mcpServers"]["mine"], json!({"command": "uvx", "args": ["mine"]}));
}
