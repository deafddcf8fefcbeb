//! `install` from a cache, and what `doctor` says of the copy that it made.

use std::os::unix::fs::PermissionsExt;

use super::*;

/// Where `npx` runs the program.
const CACHED: &str = ".npm/_npx/0a1b/node_modules/@tidegate/linux-x64/bin/tidegate";
const COPY: &str = "data/bin/tidegate";

impl Home {
    /// A home with the program in the cache of npx, and nowhere else.
    fn cached() -> Self {
        let home = Self::filled();
        let cached = home.path(CACHED);
        std::fs::create_dir_all(cached.parent().unwrap()).unwrap();
        std::fs::hard_link(PROGRAM, &cached).or_else(|_| std::fs::copy(PROGRAM, &cached).map(drop)).unwrap();
        home
    }

    /// Runs the cached program. As with npx, its folder is on the PATH.
    fn run_cached(&self, arguments: &[&str]) -> Outcome {
        let mut command = Command::new(self.path(CACHED));
        let folder = self.path(CACHED).parent().unwrap().to_owned();
        command.args(arguments).env_clear().env("HOME", self.0.path()).env("PATH", folder);
        command.env("TIDEGATE_HOME", self.path("data")).env("COLUMNS", "100").stdin(Stdio::null());
        let output = command.current_dir(self.path("project")).output().unwrap();
        Outcome {
            code: output.status.code().unwrap(),
            stdout: output.stdout,
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn cached_transcript(&self, arguments: &[&str]) -> String {
        self.transcript_of(&self.run_cached(arguments)).replace(env!("TIDEGATE_VERSION"), "VERSION")
    }

    /// Puts a program of another version where the copy is.
    fn write_other_copy(&self, version: &str) {
        self.write(COPY, &format!("#!/bin/sh\necho 'tidegate {version}'\n"));
        std::fs::set_permissions(self.path(COPY), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn has_copy_of_program(&self) -> bool {
        std::fs::read(self.path(COPY)).is_ok_and(|bytes| bytes == std::fs::read(PROGRAM).unwrap())
    }
}

#[test]
fn a_program_in_a_cache_is_copied() {
    let home = Home::cached();
    insta::assert_snapshot!("cached_dry_run", home.cached_transcript(&["install", "--dry-run"]));
    assert!(!home.path("data").exists(), "a dry run copies nothing");
    insta::assert_snapshot!("cached_installed", home.cached_transcript(&["install", "--yes"]));
    let copy = home.path(COPY);
    let entry = format!("\"command\": \"{}\"", copy.display());
    assert!(home.read(".claude.json").contains(&entry), "{}", home.read(".claude.json"));
    assert!(home.has_copy_of_program());
    let again = home.cached_transcript(&["install", "--yes"]);
    assert!(again.ends_with("--- stderr\nnothing to wrap; nothing was changed\n"), "{again}");

    // The entries work without the cache.
    std::fs::remove_dir_all(home.path(".npm")).unwrap();
    let version = Command::new(&copy).arg("--version").output().unwrap();
    assert_eq!(
        String::from_utf8(version.stdout).unwrap(),
        format!("tidegate {}\n", env!("TIDEGATE_VERSION"))
    );
    let own = home.run_with(&["doctor", "--no-start"], |command| command.env("PATH", copy.parent().unwrap()));
    assert!(
        !own.text().contains("which clients start"),
        "a copy of itself is nothing to tell: {}",
        own.text()
    );
}

#[test]
fn nothing_is_copied_without_a_server_to_wrap() {
    let home = Home::cached();
    FILES.iter().for_each(|(name, _)| std::fs::remove_file(home.path(name)).unwrap());
    assert_eq!(home.run_cached(&["install", "--yes"]).code, 0);
    assert!(!home.path(COPY).exists());
}

#[test]
fn an_older_copy_is_updated_in_place() {
    let home = Home::cached();
    assert_eq!(home.run_cached(&["install", "--yes"]).code, 0);
    home.write_other_copy("0.1.0 (0000000)");
    let told = home.run_cached(&["doctor", "--no-start"]);
    assert!(
        told.text().contains("~/data/bin/tidegate, which clients start, is older: 0.1.0"),
        "{}",
        told.text()
    );
    let dry = home.cached_transcript(&["install", "--dry-run"]);
    assert!(
        dry.contains(
            "~/data/bin/tidegate, which clients start, will be updated from 0.1.0 (0000000) to VERSION"
        ),
        "{dry}"
    );
    assert!(!home.has_copy_of_program(), "a dry run changes nothing");
    let asked = home.run_cached(&["install"]);
    assert!(asked.code == 1 && asked.stderr.contains("no terminal to confirm on"), "{}", asked.stderr);

    let wrapped = home.read(".claude.json");
    let updated = home.cached_transcript(&["install", "--yes"]);
    assert!(updated.ends_with("copied tidegate VERSION to ~/data/bin/tidegate\n"), "{updated}");
    assert!(home.has_copy_of_program() && home.read(".claude.json") == wrapped);
    // A program that is installed for good updates the copy that clients start, too.
    home.write_other_copy("0.1.0");
    assert_eq!(home.run(&["install", "--yes"]).code, 0);
    assert!(home.has_copy_of_program());
}

#[test]
fn a_newer_copy_stays() {
    let home = Home::cached();
    home.write_other_copy("9.0.0 (fffffff)");
    let told = home.run_cached(&["doctor", "--no-start"]);
    assert!(
        told.text().contains("which clients start, is newer than this program: 9.0.0"),
        "{}",
        told.text()
    );
    let kept = home.run_cached(&["install", "--yes", "--format", "json"]);
    let plan: Value = serde_json::from_slice(&kept.stdout).unwrap();
    assert_eq!((&plan["copy"]["action"], &plan["copy"]["written"]), (&json!("keep"), &json!(false)));
    assert!(home.read(COPY).contains("9.0.0"), "what is newer is not replaced");
    assert!(home.read(".claude.json").contains(COPY), "clients start it");
}

/// A launcher on the PATH that starts this program is not another program.
#[test]
fn a_launcher_on_the_path_is_recognised() {
    let home = Home::filled();
    home.write("bin/tidegate", &format!("#!/bin/sh\nexec {PROGRAM} \"$@\"\n"));
    let launcher = home.path("bin/tidegate");
    std::fs::set_permissions(&launcher, std::fs::Permissions::from_mode(0o755)).unwrap();
    let told =
        home.run_with(&["doctor", "--no-start"], |command| command.env("PATH", launcher.parent().unwrap()));
    assert!(told.text().contains(", on the PATH as ~/bin/tidegate"), "{}", told.text());
    home.write("bin/tidegate", "#!/bin/sh\necho 'tidegate 0.1.0'\n");
    let told =
        home.run_with(&["doctor", "--no-start"], |command| command.env("PATH", launcher.parent().unwrap()));
    assert!(
        told.text().contains("another one is first on the PATH, ~/bin/tidegate (tidegate 0.1.0)"),
        "{}",
        told.text()
    );
}
