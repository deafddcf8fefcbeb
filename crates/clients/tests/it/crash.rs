//! Crashes at every step of install and uninstall: the file has its old or its new content, and the next run works.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use tidegate_clients::Disk;
use tidegate_clients::install::Selection;

use crate::home::{FIXTURES, Home, files};

/// Returns a disk that fails after a number of steps, and a count of the steps.
fn failing(at: usize) -> (Disk, Rc<Cell<usize>>) {
    let steps = Rc::new(Cell::new(0));
    let count = Rc::clone(&steps);
    let disk = Disk::with(move |step| {
        count.set(count.get() + 1);
        if count.get() > at { Err(io::Error::other(step)) } else { Ok(()) }
    });
    (disk, steps)
}

#[test]
fn every_step_of_install() {
    for (name, text) in FIXTURES {
        let reference = Home::with(name, text);
        reference.install();
        let new = reference.text(name);
        let mut outcomes = Vec::new();
        for at in 0.. {
            let home = Home::with(name, text);
            let (disk, steps) = failing(at);
            let done = home.install_with(&home.plan(), &disk).is_ok();
            let now = home.text(name);
            assert!(now == text || now == new, "{name}, step {at}: half a file");
            outcomes.push(now == new);
            if done {
                assert!(steps.get() == at && at > 12, "{name}: {at} steps");
                break;
            }
            // Uninstall at once, or install again first.
            if at % 2 == 0 {
                home.install();
                assert_eq!(home.text(name), new, "{name}, step {at}");
            }
            home.uninstall();
            assert_eq!(home.text(name), text, "{name}, step {at}");
            assert!(
                !files(&home.data()).iter().any(|file| file.ends_with("installed.json")),
                "{name}, step {at}"
            );
        }
        assert!(outcomes.is_sorted(), "once written, never old again: {outcomes:?}");
        assert!(outcomes.iter().filter(|new| **new).count() >= 2, "a crash after the last rename counts too");
    }
}

#[test]
fn every_step_of_uninstall() {
    for (name, text) in FIXTURES {
        for touched in [false, true] {
            let mut last = false;
            for at in 0.. {
                let home = Home::with(name, text);
                home.install();
                if touched {
                    home.write(name, format!("{}\n", home.text(name)).as_bytes());
                }
                let new = home.text(name);
                let old = if touched { format!("{text}\n") } else { text.to_owned() };
                let (disk, _) = failing(at);
                let done = home.uninstall_with(&Selection::default(), &disk).is_ok();
                let now = home.text(name);
                assert!(now == old || now == new, "{name}, step {at}: half a file");
                assert!(!last || now == old, "once restored, never wrapped again");
                last = now == old;
                home.uninstall();
                assert_eq!(home.text(name), old, "{name}, step {at}");
                if done {
                    home.assert_no_trace();
                    break;
                }
            }
        }
    }
}

/// The next run removes the temporary file that a crash left.
#[test]
fn leftovers_are_removed() {
    let name = ".cursor/mcp.json";
    let home = Home::with(name, "{ \"mcpServers\": { \"a\": { \"command\": \"a\" } } }");
    let steps = Rc::new(Cell::new(0));
    let count = Rc::clone(&steps);
    // The third file to be written is the client's; the disk fails in the middle of it.
    let disk = Disk::with(move |step| {
        count.set(count.get() + usize::from(step == "write"));
        if count.get() >= 3 { Err(io::Error::other("gone")) } else { Ok(()) }
    });
    assert!(home.install_with(&home.plan(), &disk).is_err());
    assert_eq!(files(&home.path(".cursor")), [".mcp.json.tidegate-new", "mcp.json"]);
    home.install();
    assert_eq!(files(&home.path(".cursor")), ["mcp.json"]);
}
