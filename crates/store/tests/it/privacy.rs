//! Only the user can read the data folder, whatever the umask of the process.
//!
//! The files are created in a process of its own, since the umask belongs to the process.

use tidegate_store::{FolderStore, Home, LineLedger, SealKey, SqliteLedger, SqliteStore};

const FOLDER: &str = "TIDEGATE_TEST_PRIVACY_FOLDER";

/// Not a test by itself: creates every file that the data folder can have, and checks their modes.
#[test]
#[ignore = "the test below runs it under several umasks"]
fn creator() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let home = Home::open(Some(folder.into())).unwrap();
    let store = SqliteStore::open(&home.artifacts(), tidegate_store::Quotas::default()).unwrap();
    crate::put(&store, b"secret").unwrap();
    let files = FolderStore::open(&home.artifact_folder(), tidegate_store::Quotas::default()).unwrap();
    crate::put(&files, b"secret").unwrap();
    crate::put(&files, b"secret").unwrap();
    let _ledgers = (SqliteLedger::open(&home.ledger()).unwrap(), LineLedger::open(home.path()).unwrap());
    SealKey::load_or_create(home.path()).unwrap();
    // While the databases are open, so that their side files exist.
    for folder in [home.path(), &home.artifact_folder()] {
        for entry in std::fs::read_dir(folder).unwrap() {
            use std::os::unix::fs::PermissionsExt;
            let entry = entry.unwrap();
            let metadata = entry.metadata().unwrap();
            let mode = metadata.permissions().mode() & 0o777;
            println!("{:o} {}", mode, entry.file_name().display());
            assert_eq!(mode, if metadata.is_dir() { 0o700 } else { 0o600 }, "{:?}", entry.file_name());
        }
    }
}

#[test]
fn the_folder_is_private_under_any_umask() {
    use std::os::unix::fs::PermissionsExt;
    for umask in ["000", "022", "077"] {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("data").join("tidegate");
        let executable = std::env::current_exe().unwrap();
        let script = format!(
            "umask {umask} && exec '{}' --ignored --exact privacy::creator --nocapture",
            executable.display()
        );
        let output =
            std::process::Command::new("sh").args(["-c", &script]).env(FOLDER, &home).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        let mode = std::fs::metadata(&home).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o700, "umask {umask}");
    }
}

#[test]
fn all_processes_use_one_key() {
    let folder = tempfile::tempdir().unwrap();
    let keys: Vec<[u8; 12]> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    let key = SealKey::load_or_create(folder.path()).unwrap();
                    let id = tidegate_store::ArtifactId::parse("0123456789ab").unwrap();
                    key.seal(&crate::owner(), &id, b"x")
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(keys.windows(2).all(|pair| pair[0] == pair[1]));
    let names: Vec<_> =
        std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["seal.key"], "no temporary file is left");
}

#[test]
fn the_mode_of_a_folder_that_existed_never_changes() {
    use std::os::unix::fs::PermissionsExt;
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    for (before, is_used) in [(0o755, true), (0o700, true), (0o775, true), (0o777, false), (0o1777, false)] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("existing");
        std::fs::create_dir(&path).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(before)).unwrap();
        let opened = Home::open(Some(path.clone()));
        assert_eq!(mode(&path), before);
        assert_eq!(opened.is_ok(), is_used, "{before:o}");
        match opened {
            Ok(home) => {
                let store = SqliteStore::open(&home.artifacts(), tidegate_store::Quotas::default()).unwrap();
                crate::put(&store, b"secret").unwrap();
                assert_eq!((mode(&path), mode(&home.artifacts())), (before, 0o600));
            }
            Err(error) => {
                assert!(error.to_string().contains("every user can write to it"), "{error}");
                assert_eq!(std::fs::read_dir(&path).unwrap().count(), 0, "nothing is written there");
            }
        }
    }
}

#[test]
fn what_is_created_above_the_folder_is_private_too() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a").join("b");
    Home::open(Some(path.clone())).unwrap();
    for made in [folder.path().join("a"), path] {
        assert_eq!(std::fs::metadata(&made).unwrap().permissions().mode() & 0o777, 0o700);
    }
}
