//! A database file that is damaged, cut off, or none at all; and one that is moved away.

use std::os::unix::fs::FileExt;

use serde_json::json;

use super::{Faulty, settle};
use crate::place::Place;

/// Moves the store away, as a person does who wants to begin a new one.
fn move_away(place: &Place) {
    let aside = place.folder.path().join("aside");
    std::fs::create_dir(&aside).unwrap();
    for name in ["artifacts.db", "artifacts.db-wal", "artifacts.db-shm"] {
        let _ = std::fs::rename(place.home().join(name), aside.join(name));
    }
}

/// Keeps a result, damages the file, and starts again.
fn damaged(damage: impl Fn(&std::fs::File)) {
    let place = Place::new();
    let mut before = Faulty::start(&place);
    let lost = before.keep();
    before.end();
    settle(&place);
    let file = std::fs::OpenOptions::new().write(true).open(place.home().join("artifacts.db")).unwrap();
    damage(&file);
    let mut faulty = Faulty::start(&place);
    faulty.assert_in_memory("the file of the store is damaged");
    let refused = faulty.overview.call("result_query", json!({"id": lost[0]}));
    assert!(refused["isError"] == true && refused.to_string().contains("damaged"), "{refused}");
    faulty.assert_in_memory("move artifacts.db away");
    move_away(&place);
    let kept = faulty.keep();
    faulty.assert_readable(&kept[0]);
    faulty.end();
}

#[test]
fn a_file_of_other_bytes() {
    damaged(|file| {
        let length = usize::try_from(file.metadata().unwrap().len()).unwrap();
        file.write_all_at(&vec![0xa5; length], 0).unwrap();
    });
}

#[test]
fn a_file_with_other_bytes_in_its_pages() {
    damaged(|file| {
        for page in 1..file.metadata().unwrap().len() / 4096 {
            file.write_all_at(&[0xa5; 64], page * 4096).unwrap();
        }
    });
}

#[test]
fn a_file_that_was_cut_off() {
    damaged(|file| file.set_len(5000).unwrap());
}

#[test]
fn a_file_that_is_no_database() {
    let place = Place::new();
    std::fs::write(place.home().join("artifacts.db"), "this is a text, and not a database\n".repeat(500))
        .unwrap();
    let mut faulty = Faulty::start(&place);
    faulty.assert_in_memory("the file of the store is damaged");
    move_away(&place);
    let kept = faulty.keep();
    faulty.assert_readable(&kept[1]);
    faulty.end();
}

/// One damaged result does not take others with it.
#[test]
fn a_damaged_chunk() {
    let place = Place::new();
    let mut before = Faulty::start(&place);
    let first = before.keep();
    let second = before.keep();
    before.end();
    let store = rusqlite::Connection::open(place.home().join("artifacts.db")).unwrap();
    let body: i64 = store.query_row("SELECT min(id) FROM body", [], |row| row.get(0)).unwrap();
    let sql = "UPDATE chunk SET data = zeroblob(length(data)) WHERE id >> 24 = ?1";
    assert!(store.execute(sql, [body]).unwrap() > 2);
    drop(store);
    let mut faulty = Faulty::start(&place);
    faulty.assert_readable(&second[0]);
    let refused = faulty.overview.call("result_query", json!({"id": first[0], "lines": "6001"}));
    assert!(refused["isError"] == true && refused.to_string().contains("damaged"), "{refused}");
    faulty.keep();
    faulty.end();
}

/// A store that is moved away while it is in use is not written to where nobody finds it.
#[test]
fn a_store_that_was_moved_away() {
    let place = Place::new();
    let mut faulty = Faulty::start(&place);
    let lost = faulty.keep();
    move_away(&place);
    let kept = faulty.keep();
    faulty.assert_readable(&kept[0]);
    let gone = faulty.overview.call("result_query", json!({"id": lost[0]}));
    assert!(gone.to_string().contains("no result is kept under"), "{gone}");
    faulty.end();
}

/// What the calls cost cannot be noted; all else goes on.
#[test]
fn a_ledger_that_is_no_database() {
    let place = Place::new();
    std::fs::write(place.home().join("ledger.db"), "not a ledger\n".repeat(500)).unwrap();
    let mut faulty = Faulty::start(&place);
    let kept = faulty.keep();
    faulty.assert_readable(&kept[0]);
    faulty.end();
}
