//! Every example in the help of every command does what it says: each is run in a shell, in a home of its own.
//!
//! Those that start another program or speak to a server are left out here; that they are understood is tested beside
//! the command line itself.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tidegate_testkit::{make, sample};

/// The result that is kept for the examples is called this in them.
const NAME: &str = "list_issues-3f9c2kq7m0xw";

/// What an example has that needs more than this machine.
const ELSEWHERE: [&str; 5] = [" -- ", " --url ", " --http ", " postgres://", "tidegate gateway --"];

/// Done before an example that needs it.
const BEFORE: [(&str, &str); 4] = [
    ("config check", "tidegate config init"),
    ("tidegate uninstall", "tidegate install --yes"),
    (
        "store rekey",
        "mkdir -p ~/.config/tidegate && tidegate store key -o ~/store.key && \
         printf '[store]\\nencryption_key_file = \"~/store.key\"\\n' > ~/.config/tidegate/tidegate.toml",
    ),
    (
        "gateway credential",
        "mkdir -p ~/.config/tidegate && tidegate store key -o ~/store.key && { \
         printf '[store]\\nencryption_key_file = \"~/store.key\"\\n'; tidegate gateway key ada | tail -n 2; \
         printf '[gateway.issuer.login]\\nissuer = \"https://login.example\"\\naudience = \"tidegate\"\\n'; \
         printf '[upstream.github]\\nurl = \"http://127.0.0.1:9/mcp\"\\ncredentials = \"user\"\\n'; \
         } > ~/.config/tidegate/tidegate.toml && echo s3cret > token && \
         tidegate gateway credential set --owner key:ada --upstream github < token",
    ),
];

/// Commands that ask before they change something, and what goes on without asking: there is no terminal here.
const ASK: [&str; 2] = ["tidegate install", "tidegate uninstall"];
const ANSWERS: [&str; 2] = ["--yes", "--dry-run"];

/// Clients of this person, each with a server.
const CLIENTS: [(&str, &str); 2] = [
    (
        ".claude.json",
        "{\"mcpServers\":{\"github\":{\"command\":\"github-mcp-server\",\"args\":[\"stdio\"]}}}\n",
    ),
    (".codex/config.toml", "[mcp_servers.github]\ncommand = \"github-mcp-server\"\n"),
];

/// A shell in a home of its own, with `tidegate` on its path.
fn shell(home: &Path, script: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_tidegate"));
    let mut command = Command::new("sh");
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TIDEGATE_")) {
        command.env_remove(name);
    }
    let path = format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    command
        .args(["-c", script])
        .current_dir(home.join("work"))
        .env("HOME", home)
        .env("PATH", path)
        .env("PROFILE", home.join("profile.ps1"))
        .env("COLUMNS", "100")
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("XDG_DATA_HOME")
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

/// A home with a result in a file and, by the name that is returned, in the store.
fn home() -> (tempfile::TempDir, String) {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("work")).unwrap();
    std::fs::write(home.path().join("work/result.json"), make::text_result(&sample::issues(60))).unwrap();
    for (name, text) in CLIENTS {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let kept = shell(home.path(), "tidegate shape --tool list_issues --keep --format json < result.json");
    let kept: Value = serde_json::from_slice(&kept.stdout).unwrap();
    (home, kept["id"].as_str().unwrap().to_owned())
}

/// The examples of a command and of those below it.
fn examples(home: &Path, command: &str, found: &mut Vec<String>) {
    let help = shell(home, &format!("{command} --help"));
    let help = String::from_utf8(help.stdout).unwrap();
    let listed = |title: &str| {
        let part = help.split_once(&format!("\n{title}:\n")).map(|(_, part)| part).unwrap_or_default();
        part.lines()
            .take_while(|line| !line.is_empty())
            .map(|line| line.trim().to_owned())
            .collect::<Vec<_>>()
    };
    found.extend(listed("Examples"));
    for line in listed("Commands") {
        let name = line.split(' ').next().unwrap();
        if name != "help" {
            examples(home, &format!("{command} {name}"), found);
        }
    }
}

/// Runs every example that needs nothing but this machine, each in a home of its own, behind what `around` makes of it.
fn each_example(around: impl Fn(&Path, &str) -> String, check: impl Fn(&Path, &str, &Output)) {
    let (first, _) = home();
    let mut found = Vec::new();
    examples(first.path(), "tidegate", &mut found);
    let here: Vec<&String> =
        found.iter().filter(|example| !ELSEWHERE.iter().any(|mark| example.contains(mark))).collect();
    assert!(here.len() >= 20, "{found:#?}");
    for example in here {
        let (home, kept) = home();
        for path in example.split(' ').filter_map(|word| word.strip_prefix("~/")) {
            std::fs::create_dir_all(home.path().join(path).parent().unwrap()).unwrap();
        }
        for (part, before) in BEFORE {
            if example.contains(part) {
                assert!(shell(home.path(), before).status.success());
            }
        }
        let asks = ASK.iter().any(|command| example.starts_with(command));
        let answer = asks && !ANSWERS.iter().any(|answer| example.contains(answer));
        let script = example.replace(NAME, &kept) + if answer { " --yes" } else { "" };
        let output = shell(home.path(), &around(home.path(), &script));
        check(home.path(), example, &output);
    }
}

#[test]
fn every_example_runs() {
    each_example(
        |_, script| script.to_owned(),
        |_, example, output| {
            let said = [&output.stdout[..], &output.stderr].concat();
            let said = String::from_utf8_lossy(&said);
            assert_eq!(output.status.code(), Some(0), "{example}\n{said}");
        },
    );
}

/// No telemetry, no look for updates: whatever is run, sockets lead to this machine or nowhere.
#[cfg(target_os = "linux")]
#[test]
fn nothing_leaves_the_machine() {
    if Command::new("strace").arg("-V").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "strace is not installed");
        return;
    }
    each_example(
        |home, script| {
            let script = script.replace('\'', "'\\''");
            format!("strace -f -e trace=%network -o {}/trace sh -c '{script}'", home.display())
        },
        |home, example, _| {
            let trace = std::fs::read_to_string(home.join("trace")).unwrap();
            assert!(trace.contains("exited with"), "{example} was not traced: {trace}");
            let leaves = |line: &&str| {
                line.contains("sa_family=AF_INET")
                    && !line.contains("127.0.0.1")
                    && !line.contains("\"::1\"")
                    && !line.contains("getsockname(")
            };
            let found: Vec<&str> = trace.lines().filter(leaves).collect();
            assert!(found.is_empty(), "{example} speaks to others: {found:#?}");
        },
    );
}
