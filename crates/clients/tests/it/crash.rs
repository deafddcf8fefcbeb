//! A crash at every step of install and of uninstall: the file is the old one or the new one, and the next run works.

use std::cell::Cell;
use std::io;
use std::rc::Rc;

use tidegate_clients::Disk;
use tidegate_clients::install::Selection;

use crate::home::{FIXTURES, Home, files};

/// A disk that is gone from a step on; tells how many steps were taken.
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
            // Undo what may have been done; or do it again, and then undo it.
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
        assert!(outcomes.is_sorted(), "once new, always new: {outcomes:?}");
        assert!(
            outcomes.iter().filter(|new| **new).count() >= 2,
            "a crash after the last rename is one, too"
        );
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
                assert!(!last || now == old, "once old, always old");
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

/// What a crash leaves beside a file is cleared away by the next run.
#[test]
fn leftovers_go() {
    let name = ".cursor/mcp.json";
    let home = Home::with(name, "{ \"mcpServers\": { \"a\": { \"command\": \"a\" } } }");
    let steps = Rc::new(Cell::new(0));
    let count = Rc::clone(&steps);
    // The third file that is written is the client's; the disk goes in the middle of it.
    let disk = Disk::with(move |step| {
        count.set(count.get() + usize::from(step == "write"));
        if count.get() >= 3 { Err(io::Error::other("gone")) } else { Ok(()) }
    });
    assert!(home.install_with(&home.plan(), &disk).is_err());
    assert_eq!(files(&home.path(".cursor")), [".mcp.json.tidegate-new", "mcp.json"]);
    home.install();
    assert_eq!(files(&home.path(".cursor")), ["mcp.json"]);
}
