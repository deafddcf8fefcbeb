//! A store that others can read, that is damaged, held, full, or cannot be made.

use std::path::Path;

use super::{Home, healthy};

/// A home with a result in its store.
fn filled() -> Home {
    let home = Home::new();
    home.write("big.json", &format!("[{}0]", "\"some words\",".repeat(5000)));
    let script = format!("{} shape --keep --tool words < ../big.json", env!("CARGO_BIN_EXE_tidegate"));
    let outcome = std::process::Command::new("sh")
        .args(["-c", &script])
        .current_dir(home.path("project"))
        .env("TIDEGATE_HOME", home.path("data"))
        .output()
        .unwrap();
    assert!(outcome.status.success());
    home
}

fn database(home: &Home) -> rusqlite::Connection {
    rusqlite::Connection::open(home.path("data/artifacts.db")).unwrap()
}

#[test]
fn the_size_and_expired_results_of_the_store_are_reported() {
    let home = filled();
    let told = home.about("store", &[]);
    assert!(told.starts_with("✓ store  ~/data, 1 result, ") && told.ends_with(", SOME free\n"), "{told}");
    database(&home).execute("UPDATE artifact SET expires = 1", []).unwrap();
    let told = home.about("store", &[]);
    assert!(
        told.ends_with("\n! store  1 result expired, but not removed yet\n    fix: tidegate gc\n"),
        "{told}"
    );
    assert_eq!(home.run(&["gc"]).code, 0);
    assert_eq!(home.about("store", &[]), "✓ store  ~/data, 0 results, 0 bytes, SOME free\n");
}

/// Every command refuses a store whose format a newer version changed, says what to do, and changes no byte of it.
#[test]
fn a_newer_store_is_left_alone() {
    let home = filled();
    database(&home).pragma_update(None, "user_version", 7).unwrap();
    let before = std::fs::read(home.path("data/artifacts.db")).unwrap();
    let told = home.about("store", &[]);
    assert!(
        told.starts_with("✗ store  ~/data/artifacts.db was written by a newer tidegate (format 7; "),
        "{told}"
    );
    assert!(told.contains("fix: update tidegate, or set TIDEGATE_HOME to another folder"), "{told}");
    for command in [&["ls"][..], &["gc"], &["query", "last"], &["export", "last"]] {
        let outcome = home.run(command);
        assert_eq!(outcome.code, 3, "{command:?}: {}", outcome.stderr);
        assert!(outcome.stderr.contains("written by a newer tidegate"), "{command:?}: {}", outcome.stderr);
    }
    assert!(std::fs::read(home.path("data/artifacts.db")).unwrap() == before);
}

#[cfg(unix)]
#[test]
fn others_can_read_it() {
    use std::os::unix::fs::PermissionsExt;

    let home = filled();
    let set = |name: &str, mode: u32| {
        std::fs::set_permissions(home.path(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    set("data", 0o755);
    set("data/artifacts.db", 0o644);
    let told = home.told(&[]);
    let expected = "! store          other users can look into ~/data (mode 755)\n    fix: chmod 700 /HOME/data\n✗ store          \
                    other users can read artifacts.db in ~/data\n    fix: chmod 600 /HOME/data/artifacts.db\n✓ store ";
    assert!(told.starts_with("exit code 1\n") && told.contains(expected), "{told}");
    // Every fix that is told is one.
    for line in told.lines().filter_map(|line| line.strip_prefix("    fix: ")) {
        let line = line.replace("/HOME", home.folder.path().to_str().unwrap());
        assert!(std::process::Command::new("sh").args(["-c", &line]).status().unwrap().success());
    }
    assert_eq!(home.run(&["doctor"]).code, 0);
}

#[test]
fn its_file_is_damaged() {
    let home = filled();
    let path = home.path("data/artifacts.db");
    let mut bytes = std::fs::read(&path).unwrap();
    let length = bytes.len();
    bytes[4096..length / 2].fill(0xa5);
    std::fs::write(&path, bytes).unwrap();
    std::fs::write(home.path("data/ledger.db"), "no database").unwrap();
    let set = |path: &Path| {
        let mut permissions = std::fs::metadata(path).unwrap().permissions();
        std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
        std::fs::set_permissions(path, permissions).unwrap();
    };
    set(&home.path("data/ledger.db"));
    assert_eq!(
        home.about("store", &[]),
        "✗ store  ~/data/artifacts.db is damaged\n    fix: mv /HOME/data/artifacts.db /HOME/data/artifacts.db.damaged; \
         tidegate creates a new one, its content is lost\n✗ store  ~/data/ledger.db is damaged\n    fix: mv /HOME/data/ledger.db \
         /HOME/data/ledger.db.damaged; tidegate creates a new one, its content is lost\n"
    );
}

/// Stores results as a server built with the SDK does without SQLite.
fn store_as_files(home: &Home, seconds: &[u64]) -> Vec<String> {
    use tidegate_store::{ArtifactStore, Description, FolderStore, NewArtifact, Owner, Quotas, Session};

    let store = FolderStore::open(&home.path("data/artifacts"), Quotas::default()).unwrap();
    let (owner, session) = (Owner::new("o"), Session::new("s"));
    let put = |(number, seconds): (usize, &u64)| {
        let ttl = std::time::Duration::from_secs(*seconds);
        let body = format!("{number} {}", "words ".repeat(9000));
        let new = NewArtifact::new(&owner, &session, "list", ttl);
        store.put(&new, &body.as_bytes(), &|| Ok(Description::default())).unwrap().id.to_string()
    };
    seconds.iter().enumerate().map(put).collect()
}

#[test]
fn servers_keep_results_in_files() {
    let home = filled();
    let names = store_as_files(&home, &[600, 600, 0]);
    let told = home.about("store", &[]);
    let lines: Vec<&str> = told.lines().collect();
    assert!(lines[0].starts_with("✓ store  ~/data, 1 result, "), "{told}");
    assert!(lines[1].starts_with("✓ store  ~/data/artifacts, 3 results of SDK servers, "), "{told}");
    assert_eq!(lines[2..], ["! store  1 result expired, but not removed yet", "    fix: tidegate gc"]);
    assert_eq!(home.run(&["gc"]).code, 0);
    assert!(home.about("store", &[]).contains("~/data/artifacts, 2 results of SDK servers, "));

    let path = home.path(&format!("data/artifacts/{}.artifact", names[0]));
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[9] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let told = home.about("store", &[]);
    let expected = format!(
        "✗ store  1 file damaged in ~/data/artifacts: {0}.artifact\n    fix: rm /HOME/data/artifacts/{0}.artifact; the \
         results in them are lost\n",
        names[0]
    );
    assert!(
        told.contains("~/data/artifacts, 1 result of SDK servers, ") && told.ends_with(&expected),
        "{told}"
    );
}

#[test]
fn another_process_holds_it() {
    let home = filled();
    let other = database(&home);
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let told = home.about("store", &[]);
    let expected = "\n✗ store  locked by another process, so nothing can be kept\n    fix: find and stop that process: fuser \
                    /HOME/data/artifacts.db\n";
    assert!(told.starts_with("✓ store  ~/data, 1 result, ") && told.ends_with(expected), "{told}");
}

#[test]
fn it_is_full() {
    let home = filled();
    database(&home).execute("UPDATE body SET stored = 4 << 30", []).unwrap();
    let told = home.about("store", &[]);
    let expected = "\n✗ store  4 GB of 4 GB used; a full store keeps no more results\n    fix: tidegate gc removes expired \
                    results, tidegate rm single ones\n";
    assert!(told.ends_with(expected), "{told}");
}

#[test]
fn its_folder_is_none() {
    let home = healthy();
    home.write("data", "a file");
    assert_eq!(
        home.about("store", &["--no-start"]),
        "✗ store  ~/data is not a folder\n    fix: move it away, or set TIDEGATE_HOME to a folder\n"
    );
}

/// Where nothing can be written, what is kept can still be told.
#[cfg(target_os = "linux")]
#[test]
fn its_disk_can_only_be_read() {
    let home = filled();
    let data = home.path("data");
    let data = data.to_str().unwrap();
    let script = format!(
        "mount --bind {data} {data} && mount -o remount,bind,ro {data} && cd {} && exec {} doctor",
        home.path("project").display(),
        env!("CARGO_BIN_EXE_tidegate")
    );
    let output = std::process::Command::new("unshare")
        .args(["-r", "-m", "sh", "-c", &script])
        .env("HOME", home.folder.path())
        .env("TIDEGATE_HOME", data)
        .output()
        .unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    if told.is_empty() {
        let words = "NOT TESTED: its_disk_can_only_be_read: this machine does not allow unshare\n";
        std::io::Write::write_all(&mut std::io::stderr(), words.as_bytes()).unwrap();
        assert!(std::env::var("CI").as_deref() != Ok("true"), "CI=true: nothing may be skipped");
        return;
    }
    assert_eq!(output.status.code(), Some(1));
    let expected = "~/data: Read-only file system (os error 30); no result can be kept\n    fix: make it writable, or set \
                    TIDEGATE_HOME to another folder\n";
    assert!(told.contains(expected) && told.contains("✓ store          ~/data, 1 result, "), "{told}");
}
