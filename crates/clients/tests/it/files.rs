//! Files that are missing, empty, broken, linked or protected.

use tidegate_clients::install::{self, InstallError, Selection};
use tidegate_clients::{Disk, FileError, Records};

use crate::home::{FIXTURES, Home, files};

const FILE: &str = ".cursor/mcp.json";
const ONE: &str = "{ \"mcpServers\": { \"a\": { \"command\": \"a\" } } }";

#[test]
fn missing_and_empty_files_are_not_problems() {
    let home = Home::new();
    let plan = home.plan();
    assert!(plan.there.is_empty() && plan.found.is_empty() && plan.problems.is_empty());
    assert!(plan.looked.contains(&home.path(FILE)), "{:?}", plan.looked);
    for (name, _) in FIXTURES {
        for nothing in ["", "\n \n", "\u{feff}"] {
            let home = Home::with(name, nothing);
            let plan = home.plan();
            assert_eq!(
                (plan.there.len(), plan.found.len(), plan.problems.len()),
                (1, 0, 0),
                "{name} {nothing:?}"
            );
        }
    }
}

#[test]
fn a_broken_file_is_reported_with_its_position_and_not_changed() {
    for (name, text) in FIXTURES {
        let broken = format!("{}\n{{[", text.trim_end());
        let home = Home::with(name, &broken);
        home.write(
            "project/.zed/settings.json",
            b"{ \"context_servers\": { \"ok\": { \"command\": \"x\" } } }",
        );
        let plan = home.install();
        let [problem @ FileError::Broken { path, broken: position }] = plan.problems.as_slice() else {
            panic!("{name}: {:?}", plan.problems)
        };
        assert_eq!(*path, home.path(name));
        assert_eq!(position.line, text.trim_end().lines().count() + 1, "{name}: {problem}");
        assert_eq!(home.text(name), broken, "{name}");
        assert_eq!(plan.changes.len(), 1, "the other file is still wrapped");
    }
    for (text, said) in [
        ("{ \"mcpServers\": {\n  \"é\": } }", ":2:8: "),
        ("[]", ":1:1: expected an object"),
        ("{ \"a\": 'b' }", ":1:8: "),
    ] {
        let home = Home::with(FILE, text);
        let problem = home.plan().problems[0].to_string();
        assert!(problem.starts_with(&format!("{}{said}", home.path(FILE).display())), "{problem}");
    }
}

#[test]
fn invalid_utf_8_is_reported() {
    let home = Home::new();
    home.write(FILE, b"{\n \"a\": \"\xff\"}");
    assert!(home.plan().problems[0].to_string().ends_with("mcp.json:2:8: invalid UTF-8"));
}

#[cfg(unix)]
#[test]
fn a_link_stays_and_its_target_changes() {
    for (name, text) in FIXTURES {
        let home = Home::with("dotfiles/real", text);
        std::fs::create_dir_all(home.path(name).parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(home.path("dotfiles/real"), home.path(name)).unwrap();
        home.install();
        assert!(home.path(name).is_symlink(), "{name}");
        assert_ne!(home.text("dotfiles/real"), text, "{name}");
        home.uninstall();
        assert!(home.path(name).is_symlink(), "{name}");
        assert_eq!(home.text("dotfiles/real"), text, "{name}");
        assert_eq!(files(&home.path("dotfiles")), ["real"], "no temporary file is left");
    }
}

/// A link may make one file of the files of two clients; it is changed once.
#[cfg(unix)]
#[test]
fn one_file_with_two_paths() {
    let home = Home::with(FILE, ONE);
    std::fs::create_dir_all(home.path(".codeium/windsurf")).unwrap();
    std::os::unix::fs::symlink(home.path(FILE), home.path(".codeium/windsurf/mcp_config.json")).unwrap();
    assert_eq!(home.install().changes.len(), 1);
    home.uninstall();
    assert_eq!(home.text(FILE), ONE);
}

/// Each path of one file has its own servers in it.
#[cfg(unix)]
#[test]
fn one_file_with_three_paths_is_restored() {
    let text = "{\n  \"mcpServers\": { \"a\": { \"command\": \"a\" } },\n  \"servers\": { \"b\": { \"command\": \"b\" } }\n}\n";
    for clients in [&[&[][..]][..], &[&["cursor"], &["vscode"]], &[&["vscode"], &["claude-code"]]] {
        let home = Home::with("project/.mcp.json", text);
        for name in ["project/.vscode/mcp.json", "project/.cursor/mcp.json"] {
            std::fs::create_dir_all(home.path(name).parent().unwrap()).unwrap();
            std::os::unix::fs::symlink("../.mcp.json", home.path(name)).unwrap();
        }
        for clients in clients {
            let clients = clients.iter().map(|client| (*client).to_owned()).collect();
            let plan = home.plan_of(&Selection { clients, ..Selection::default() });
            assert_eq!(plan.changes.len(), 1);
            home.install_with(&plan, &Disk::default()).unwrap();
        }
        assert_eq!(home.text("project/.mcp.json").matches("\"run\"").count(), 2);
        let undone = home.uninstall();
        assert_eq!(undone.reversals.len(), 1);
        assert_eq!(home.text("project/.mcp.json"), text, "{clients:?}");
        home.assert_no_trace();
    }
}

/// A file that was moved and replaced by a link, as people do with dotfiles, still matches its record.
#[cfg(unix)]
#[test]
fn a_file_that_became_a_link_is_restored() {
    let home = Home::with(FILE, ONE);
    home.install();
    std::fs::rename(home.path(FILE), home.path("moved.json")).unwrap();
    std::os::unix::fs::symlink(home.path("moved.json"), home.path(FILE)).unwrap();
    assert_eq!(home.uninstall().reversals.len(), 1);
    assert_eq!(home.text("moved.json"), ONE);
    home.assert_no_trace();
}

#[cfg(unix)]
#[test]
fn the_mode_stays_and_backups_are_private() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    for wanted in [0o600, 0o644, 0o664, 0o755] {
        let home = Home::with(FILE, ONE);
        std::fs::set_permissions(home.path(FILE), std::fs::Permissions::from_mode(wanted)).unwrap();
        home.install();
        assert_eq!(mode(&home.path(FILE)), wanted);
        for file in &files(&home.data()) {
            assert_eq!(mode(&home.data().join(file)), 0o600, "{file}");
        }
        assert_eq!(mode(&home.data().join("install")), 0o700);
        home.uninstall();
        assert_eq!(mode(&home.path(FILE)), wanted);
    }
}

#[test]
fn a_read_only_file_is_reported_and_not_changed() {
    for (name, text) in FIXTURES {
        let home = Home::with(name, text);
        let mut permissions = std::fs::metadata(home.path(name)).unwrap().permissions();
        permissions.set_readonly(true);
        std::fs::set_permissions(home.path(name), permissions).unwrap();
        let plan = home.install();
        assert!(
            matches!(plan.problems.as_slice(), [FileError::ReadOnly(path)] if *path == home.path(name)),
            "{name}"
        );
        assert!(plan.changes.is_empty(), "{name}");
        assert_eq!(home.text(name), text, "{name}");
    }
}

#[test]
fn a_file_that_changed_since_the_plan_is_not_overwritten() {
    let home = Home::with(FILE, ONE);
    let plan = home.plan();
    home.write(FILE, b"{}");
    let refused = home.install_with(&plan, &Disk::default());
    assert!(matches!(refused, Err(InstallError::File(FileError::Moved(_)))), "{refused:?}");
    assert_eq!(home.text(FILE), "{}");
}

#[test]
fn a_second_process_is_refused() {
    let home = Home::with(FILE, ONE);
    let first = Records::open(&home.data()).unwrap();
    assert_eq!(
        Records::open(&home.data()).unwrap_err().to_string(),
        "another tidegate install or uninstall is running"
    );
    drop(first);
    Records::open(&home.data()).unwrap();
}

#[test]
fn a_damaged_manifest_is_reported_and_nothing_is_written() {
    let home = Home::with(FILE, ONE);
    home.write("data/install/installed.json", b"{");
    let plan = home.plan();
    let records = Records::open(&home.data()).unwrap();
    let refused = install::apply(&plan.changes[0], &records, &Disk::default()).unwrap_err().to_string();
    assert!(refused.contains("installed.json is damaged: "), "{refused}");
    assert_eq!(home.text(FILE), ONE);
}
