//! `tidegate config`, `completions`, `man` and `--version`, as a person meets them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// A home and a project of a person, with nothing in them.
struct Person {
    folder: tempfile::TempDir,
}

impl Person {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home", "config", "project/.git", "project/deep/er"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    fn command(&self, folder: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        for (name, _) in
            std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("TIDEGATE_"))
        {
            command.env_remove(name);
        }
        command
            .args(arguments)
            .current_dir(self.path(folder))
            .env("HOME", self.path("home"))
            .env("XDG_CONFIG_HOME", self.path("config"))
            .env("XDG_DATA_HOME", self.path("data"))
            .env("COLUMNS", "100")
            .stdin(Stdio::null());
        command
    }

    /// Runs in a folder; what is printed names folders of this person as `~~`.
    fn run(&self, folder: &str, arguments: &[&str]) -> String {
        self.told(&mut self.command(folder, arguments))
    }

    fn told(&self, command: &mut Command) -> String {
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| {
            let text = String::from_utf8(bytes.to_vec()).unwrap();
            text.replace(self.path("").to_str().unwrap(), "~~/")
        };
        format!(
            "exit code {}\n-- stdout\n{}-- stderr\n{}",
            output.status.code().unwrap(),
            text(&output.stdout),
            text(&output.stderr)
        )
    }
}

/// How wide a column is depends on how long the names of folders are.
fn narrow(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let cells = line.trim_start().split("  ").map(str::trim).filter(|cell| !cell.is_empty());
        format!("{}{}\n", &line[..line.len() - line.trim_start().len()], cells.collect::<Vec<_>>().join("  "))
    });
    lines.collect()
}

#[test]
fn check_reports_every_mistake_in_every_file() {
    let person = Person::new();
    person.write(
        "project/tidegate.toml",
        "[defaults]\nbudget_token = 5\n\tmax_bytes = 10\n\n[server.a.tool.\"x*\"]\nkind = \"logs\"\n\
         fields = \"id\"\n[clients]\n[server]\nstyle = \"probe\"\n[store]\npath = \"kept\"\n",
    );
    person.write(
        "config/tidegate/tidegate.toml",
        "[store]\r\npath = 7\r\nmax_result_bytes = 99_999_999_999_999\r\n",
    );
    insta::assert_snapshot!("check_mistakes", person.run("project/deep", &["config", "check"]));
    insta::assert_snapshot!(
        "check_mistakes_json",
        person.run("project", &["config", "check", "tidegate.toml", "--format", "json"])
    );
    // Every command that reads it says the same.
    let words = |arguments: &[&str]| {
        person.run("project/deep", arguments).split_once("-- stderr").unwrap().1.to_owned()
    };
    let checked = words(&["config", "check"]);
    for other in [&["run", "--", "true"][..], &["ls"], &["config", "show"]] {
        assert_eq!(words(other), checked, "{other:?}");
    }
}

#[test]
fn check_reports_invalid_toml_and_unreadable_files() {
    let person = Person::new();
    person.write("project/tidegate.toml", "[defaults]\nbudget_tokens = \n\n[store\npath = \"\u{1b}[31m\"\n");
    insta::assert_snapshot!("check_broken", person.run("project", &["config", "check"]));
    insta::assert_snapshot!("check_missing", person.run("project", &["config", "check", "nowhere.toml"]));
    std::fs::write(person.path("project/latin.toml"), b"[store]\npath = \"\xe9\"\n").unwrap();
    insta::assert_snapshot!("check_not_text", person.run("project", &["config", "check", "latin.toml"]));
}

#[test]
fn check_says_which_files_were_read() {
    let person = Person::new();
    insta::assert_snapshot!("check_nothing", person.run("project", &["config", "check"]));
    person.write("project/tidegate.toml", "[defaults]\nbudget_tokens = 900\n");
    person.write("config/tidegate/tidegate.toml", "[store]\npath = \"x\"\n");
    insta::assert_snapshot!("check_fine", person.run("project/deep/er", &["config", "check"]));
    person.write("named.toml", "[defaults]\n");
    let mut named = person.command("project", &["config", "check"]);
    let told = person.told(named.env("TIDEGATE_CONFIG", person.path("named.toml")));
    assert_eq!(told, "exit code 0\n-- stdout\n~~/named.toml: no mistakes\n-- stderr\n");
}

/// Cloning a project and looking around in it must not decide where results go, nor touch a folder.
#[cfg(unix)]
#[test]
fn a_cloned_project_does_not_move_the_store() {
    use std::os::unix::fs::PermissionsExt;

    let person = Person::new();
    let victim = person.path("victim");
    std::fs::create_dir(&victim).unwrap();
    std::fs::set_permissions(&victim, std::fs::Permissions::from_mode(0o755)).unwrap();
    let text = format!("[store]\npath = \"{}\"\n", victim.display());
    person.write("project/tidegate.toml", &text);
    for command in [&["ls"][..], &["stats"], &["gc"], &["run", "--", "true"], &["config", "check"]] {
        let told = person.run("project", command);
        let expected = "tidegate.toml:2:1: a project's file may not set path of [store]; move it to \
                        ~~/config/tidegate/tidegate.toml, or set TIDEGATE_HOME";
        assert!(told.starts_with("exit code 2\n") && told.contains(expected), "{command:?}: {told}");
    }
    assert_eq!(std::fs::metadata(&victim).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(std::fs::read_dir(&victim).unwrap().count(), 0);
    // The same file is right where the user names it, and in the user's own folder.
    let mut named = person.command("project", &["config", "show", "--config", "tidegate.toml"]);
    assert!(person.told(&mut named).contains("~~/victim"));
    person.write("config/tidegate/tidegate.toml", &text);
    assert!(person.run("config/tidegate", &["config", "check"]).starts_with("exit code 0\n"));
    // `config check FILE` tells the author of a project what others will meet.
    assert!(person.run("project", &["config", "check", "tidegate.toml"]).starts_with("exit code 2\n"));
}

#[test]
fn init_writes_a_file_that_is_right() {
    let person = Person::new();
    insta::assert_snapshot!("init", person.run("project", &["config", "init"]));
    insta::assert_snapshot!("init_file", person.read("project/tidegate.toml"));
    insta::assert_snapshot!("init_user", person.run("project", &["config", "init", "--user"]));
    assert_eq!(person.read("config/tidegate/tidegate.toml"), person.read("project/tidegate.toml"));
    assert_eq!(
        person.run("project", &["config", "check"]),
        "exit code 0\n-- stdout\n~~/project/tidegate.toml (the project's): no mistakes\n\
         ~~/config/tidegate/tidegate.toml: no mistakes\n-- stderr\n"
    );
}

#[test]
fn init_takes_nothing_away() {
    let person = Person::new();
    let mine = "# mine\r\n";
    person.write("project/tidegate.toml", mine);
    insta::assert_snapshot!("init_again", person.run("project", &["config", "init"]));
    assert_eq!(person.read("project/tidegate.toml"), mine);
    insta::assert_snapshot!("init_force", person.run("project", &["config", "init", "--force"]));
    assert_eq!(person.read("project/tidegate.toml.old"), mine);
    let new = person.read("project/tidegate.toml");
    assert!(new.starts_with("# tidegate.toml: "), "{new}");
    // What was set aside before stays too.
    person.run("project", &["config", "init", "--force"]);
    assert_eq!(
        (person.read("project/tidegate.toml.old"), person.read("project/tidegate.toml.old1")),
        (mine.into(), new)
    );
    let mut left: Vec<String> = std::fs::read_dir(person.path("project"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, [".git", "deep", "tidegate.toml", "tidegate.toml.old", "tidegate.toml.old1"]);
}

#[cfg(unix)]
#[test]
fn init_follows_a_link_and_leaves_it() {
    use std::os::unix::fs::PermissionsExt;

    let person = Person::new();
    person.write("dotfiles/tidegate.toml", "# mine\n");
    std::os::unix::fs::symlink(person.path("dotfiles/tidegate.toml"), person.path("project/tidegate.toml"))
        .unwrap();
    let told = person.run("project", &["config", "init", "--force"]);
    assert!(told.contains("moved the old file to ~~/dotfiles/tidegate.toml.old\n"), "{told}");
    assert!(std::fs::symlink_metadata(person.path("project/tidegate.toml")).unwrap().is_symlink());
    assert_eq!(person.read("dotfiles/tidegate.toml.old"), "# mine\n");
    assert!(person.read("dotfiles/tidegate.toml").starts_with("# tidegate.toml: "));
    // Others may read it as they may any file.
    let mode = |name: &str| std::fs::metadata(person.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("dotfiles/tidegate.toml"), mode("dotfiles/tidegate.toml.old"));
}

#[test]
fn show_names_the_source_of_each_value() {
    let person = Person::new();
    insta::assert_snapshot!("show_defaults", narrow(&person.run("project", &["config", "show"])));
    person.write(
        "project/tidegate.toml",
        "[defaults]\nbudget_tokens = 1000\n[server.github.tool.\"list_*\"]\nfields = [\"id\"]\n",
    );
    person.write(
        "config/tidegate/tidegate.toml",
        "[server.github]\nttl_seconds = 60\n[client.\"*\"]\nmax_bytes = 9000\n[store]\npath = \"kept\"\n",
    );
    let asked =
        ["config", "show", "--server", "github", "--tool", "list_issues", "--client", "codex-mcp-client"];
    let mut show = person.command("project/deep", &[&asked[..], &["--style", "probe"]].concat());
    insta::assert_snapshot!("show", narrow(&person.told(show.env("TIDEGATE_MAX_BYTES", "8000"))));
    let json = person.command("project", &[&asked[..], &["--format", "json"]].concat()).output().unwrap();
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(
        json["answer"],
        serde_json::json!({
            "tokens": 1000, "bytes": 9000, "follow_up_tokens": 2000, "follow_up_bytes": 9000,
            "line_tokens": 2500, "line_bytes": 9000, "cap_tokens": 10000, "cap_bytes": 9000,
        })
    );
    assert_eq!(
        json["rules"]["ttl_seconds"],
        serde_json::json!({
            "value": 60, "from": "file", "line": 2, "section": "server.github", "user_only": true,
            "file": person.path("config/tidegate/tidegate.toml"),
        })
    );
    assert_eq!(
        json["profile"]["output_schema"],
        serde_json::json!({"value": "keep", "from": "client", "user_only": false})
    );
    assert_eq!(json["store"]["path"]["value"], serde_json::json!(person.path("config/tidegate/kept")));

    person.write("project/tidegate.toml", "[defaults]\ncategory_budgets = true\n");
    let asked = ["config", "show", "--server", "traces", "--tool", "trace_get", "--format", "json"];
    let json = person.command("project", &asked).output().unwrap();
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["answer"]["bytes"], 1536);
    assert_eq!(
        json["rules"]["max_bytes"],
        serde_json::json!({"value": 1536, "from": "category", "category": "status", "user_only": false})
    );
}

#[test]
fn show_refuses_a_tool_of_no_server() {
    let person = Person::new();
    insta::assert_snapshot!("show_tool_alone", person.run("project", &["config", "show", "--tool", "x"]));
}

#[test]
fn schema_is_json() {
    let person = Person::new();
    insta::assert_snapshot!("schema", person.run("project", &["config", "schema"]));
}

#[test]
fn help_answers() {
    let person = Person::new();
    insta::assert_snapshot!("config_help", person.run("project", &["config", "--help"]));
    insta::assert_snapshot!("config_show_help", person.run("project", &["config", "show", "--help"]));
}

/// For bug reports: how the program was built, and where it and its data are.
#[test]
fn the_verbose_version_tells_how_it_was_built() {
    let person = Person::new();
    let told = person.run("project", &["--version", "--verbose"]);
    let names: Vec<&str> = told.lines().filter_map(|line| Some(line.split_once(": ")?.0)).collect();
    assert_eq!(names, ["commit", "target", "profile", "compiler", "features", "program", "data"], "{told}");
    assert!(
        told.contains(&format!("\ntidegate {}\n", env!("TIDEGATE_VERSION")))
            && told.contains("compiler: rustc 1.")
    );
    assert_eq!(told, person.run("project", &["--verbose", "-V"]), "in any order");
    let alone = person.run("project", &["--verbose"]);
    assert!(alone.starts_with("exit code 2") && alone.contains("--version"), "{alone}");
}

#[test]
fn the_version_names_the_commit() {
    let person = Person::new();
    let told = person.run("project", &["--version"]);
    let line = told.strip_prefix("exit code 0\n-- stdout\n").unwrap().strip_suffix("\n-- stderr\n").unwrap();
    let version = format!("tidegate {}", env!("CARGO_PKG_VERSION"));
    let git = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).current_dir(env!("CARGO_MANIFEST_DIR")).output().ok();
        output.filter(|output| output.status.success())
    };
    // What is built from a tarball has no commit, even if it lies in the repository of something else.
    let tracked = git(&["ls-files", "--error-unmatch", "build.rs"]);
    let commit = tracked.and_then(|_| git(&["rev-parse", "--short=7", "HEAD"]));
    match commit {
        Some(commit) => {
            assert_eq!(line, format!("{version} ({})", String::from_utf8(commit.stdout).unwrap().trim()));
        }
        None => assert_eq!(line, version),
    }
}

#[test]
fn completions_are_scripts() {
    let person = Person::new();
    for (shell, begins) in [
        ("bash", "_tidegate() {\n"),
        ("zsh", "#compdef tidegate\n"),
        ("fish", "# Print an optspec"),
        ("powershell", "\nusing namespace System.Management.Automation\n"),
        ("elvish", "\nuse builtin;\n"),
    ] {
        let output = person.command("project", &["completions", shell]).output().unwrap();
        let script = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && script.starts_with(begins), "{shell}: {}", &script[..80]);
        assert!(script.contains("max-result-bytes") && script.contains("completions"), "{shell}");
    }
    // A shell that is here takes it, and completes with it.
    if Path::new("/bin/bash").exists() {
        let script = "source /dev/stdin; COMP_WORDS=(tidegate config s); COMP_CWORD=2; \
                      _tidegate tidegate s config; echo \"${COMPREPLY[@]}\"";
        let tidegate = env!("CARGO_BIN_EXE_tidegate");
        let output = Command::new("/bin/bash")
            .args(["--norc", "-c", &format!("{tidegate} completions bash | {{ {script}; }}")])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(output.stdout).unwrap(), "show schema\n");
    }
    insta::assert_snapshot!("completions_unknown", person.run("project", &["completions", "cmd"]));
}

#[test]
fn man_has_a_page_for_each_command() {
    let person = Person::new();
    let page = person.run("project", &["man"]);
    assert!(page.contains("\n.TH tidegate 1 "), "{page}");
    let told = person.run("project", &["man", "--dir", "pages/man1"]);
    assert_eq!(
        told,
        "exit code 0\n-- stdout\n-- stderr\nwrote the pages to pages/man1; read one with man -l\n"
    );
    let shown = person.read("project/pages/man1/tidegate-config-show.1");
    assert!(
        shown.contains("\n.SH NAME\n") && shown.contains("tidegate config show \\-\\-server github"),
        "{shown}"
    );
    // Nothing of this environment gets into it.
    let mut set = person.command("project", &["man", "--dir", "again"]);
    set.env("TIDEGATE_SERVER", "mine-alone").output().unwrap();
    assert_eq!(person.read("project/again/tidegate-config-show.1"), shown);
    person.write("project/file", "");
    assert!(person.run("project", &["man", "--dir", "file"]).starts_with("exit code 1\n"));
}
