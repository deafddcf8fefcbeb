//! A disk that is full, and one that can only be read.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Faulty, settle};
use crate::place::Place;

/// Set where the test runs again in a namespace of its own.
const INSIDE: &str = "TIDEGATE_TEST_NAMESPACE";

/// A file system of a few megabytes at the data folder of a test.
struct Disk(PathBuf);

impl Disk {
    fn mount(at: &Path, megabytes: u32) -> Option<Self> {
        let size = format!("size={megabytes}m,mode=0700");
        run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs", at.to_str().unwrap()])
            .then(|| Self(at.to_owned()))
    }

    fn ballast(&self) -> PathBuf {
        self.0.join("ballast")
    }

    /// Leaves no byte free.
    fn fill(&self) {
        let mut file = std::fs::File::create(self.ballast()).unwrap();
        for size in [1 << 16, 1 << 12, 1] {
            while file.write_all(&vec![0x5a; size]).is_ok() {}
        }
    }

    fn free(&self) {
        std::fs::remove_file(self.ballast()).unwrap();
    }

    fn allow(&self, what: &str) {
        assert!(
            run("mount", &["-o", &format!("remount,bind,{what}"), self.0.to_str().unwrap()]),
            "remount {what}"
        );
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        run("umount", &["-l", self.0.to_str().unwrap()]);
    }
}

fn run(program: &str, arguments: &[&str]) -> bool {
    let status = Command::new(program).args(arguments).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

/// Runs a test with a disk of its own: mounted here, or where that is not allowed in a namespace in which it is.
fn on_disk(name: &str, test: impl FnOnce(&Place, &Disk)) {
    let place = Place::new();
    if let Some(disk) = Disk::mount(&place.home(), 16) {
        return test(&place, &disk);
    }
    let again = std::env::current_exe().unwrap();
    let again = again.to_str().unwrap();
    let arguments = ["-r", "-m", again, "--exact", &format!("faults::disk::{name}"), "--nocapture"];
    if std::env::var_os(INSIDE).is_none() && run("unshare", &["-r", "-m", "true"]) {
        let status = Command::new("unshare").args(arguments).env(INSIDE, "1").status().unwrap();
        assert!(status.success(), "in a namespace of its own");
        return;
    }
    // Past what the harness holds back.
    let words = format!("NOT TESTED: {name}: this machine allows neither mount nor unshare\n");
    std::io::stderr().write_all(words.as_bytes()).unwrap();
    assert!(std::env::var("CI").as_deref() != Ok("true"), "CI=true: nothing may be skipped");
}

#[test]
fn a_disk_that_is_full() {
    on_disk("a_disk_that_is_full", |place, disk| {
        let mut faulty = Faulty::start_large(place);
        let kept = faulty.keep();
        disk.fill();
        faulty.assert_in_memory("the disk is full");
        faulty.assert_readable(&kept[0]);
        faulty.assert_in_memory("the disk is full");
        disk.free();
        faulty.keep();
        faulty.assert_readable(&kept[1]);
        faulty.end();
    });
}

/// The proxies start when there is no room even for the files beside the database.
#[test]
fn a_disk_that_was_full_before() {
    on_disk("a_disk_that_was_full_before", |place, disk| {
        let mut before = Faulty::start_large(place);
        let kept = before.keep();
        before.end();
        disk.fill();
        let mut faulty = Faulty::start_large(place);
        faulty.assert_in_memory("the disk is full");
        faulty.assert_readable(&kept[0]);
        disk.free();
        faulty.keep();
        faulty.assert_readable(&kept[1]);
        faulty.end();
    });
}

#[test]
fn a_disk_without_room_for_a_store() {
    on_disk("a_disk_without_room_for_a_store", |place, disk| {
        disk.fill();
        let mut faulty = Faulty::start_large(place);
        faulty.assert_in_memory("the disk is full");
        disk.free();
        faulty.keep();
        faulty.end();
    });
}

fn can_only_be_read(place: &Place, disk: &Disk, settled: bool) {
    let mut before = Faulty::start_large(place);
    let kept = before.keep();
    before.end();
    if settled {
        settle(place);
    }
    disk.allow("ro");
    let mut faulty = Faulty::start_large(place);
    faulty.assert_in_memory("the store can only be read");
    faulty.assert_readable(&kept[0]);
    disk.allow("rw");
    faulty.keep();
    faulty.assert_readable(&kept[1]);
    faulty.end();
}

#[test]
fn a_folder_that_can_only_be_read() {
    on_disk("a_folder_that_can_only_be_read", |place, disk| can_only_be_read(place, disk, true));
}

/// What was kept last is in the log beside the file.
#[test]
fn a_folder_with_a_log_that_can_only_be_read() {
    on_disk("a_folder_with_a_log_that_can_only_be_read", |place, disk| can_only_be_read(place, disk, false));
}

#[test]
fn an_empty_folder_that_can_only_be_read() {
    on_disk("an_empty_folder_that_can_only_be_read", |place, disk| {
        disk.allow("ro");
        let mut faulty = Faulty::start_large(place);
        faulty.assert_in_memory("Read-only file system");
        disk.allow("rw");
        faulty.keep();
        faulty.end();
    });
}
