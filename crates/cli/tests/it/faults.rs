//! A store that cannot be used: small results still pass, large ones are kept in memory and stderr says why, what was kept
//! stays readable where it can be, and all is well again once the fault is gone, without a restart.

mod damage;
mod disk;
mod lock;

use std::time::Duration;

use serde_json::json;
use tidegate_testkit::hostile::{Mode, payload};

use crate::place::Place;
use crate::session::{Session, handle};
use crate::tidegate_in;

/// Two proxies on one data folder, one for each way to answer when a result cannot be kept.
struct Faulty<'p> {
    place: &'p Place,
    overview: Session,
    error: Session,
    /// Bytes of a result.
    bytes: usize,
    /// Calls that were sent to each server.
    calls: u64,
    /// What stderr must say at the end.
    reasons: Vec<String>,
}

impl<'p> Faulty<'p> {
    /// Starts the proxies; nothing of the store is touched yet.
    fn start(place: &'p Place) -> Self {
        let config = place.folder.path().join("error.toml");
        std::fs::write(&config, "[defaults]\non_store_failure = \"error\"\n").unwrap();
        let overview = place.hostile(Mode::Hang, &[]);
        let error = place.hostile(Mode::Hang, &["--config", config.to_str().unwrap()]);
        Self { place, overview, error, bytes: 300_000, calls: 0, reasons: Vec::new() }
    }

    /// Starts the proxies for results that find no room in what the store has written before.
    fn start_large(place: &'p Place) -> Self {
        Self { bytes: 3_000_000, ..Self::start(place) }
    }

    /// Bytes of the next result: each is another one, so that none is known already.
    fn next(&mut self) -> usize {
        self.calls += 1;
        self.bytes + usize::try_from(self.calls).unwrap() * 1000
    }

    /// A large result is kept by both, exactly; returns its names.
    fn keep(&mut self) -> Vec<String> {
        let bytes = self.next();
        let sessions = [&mut self.overview, &mut self.error];
        let ids = sessions.map(|session| {
            (session.ask("tools/call", json!({"name": "big", "arguments": {"bytes": bytes}})), session)
        });
        let texts = ids.map(|(id, session)| {
            let answer = session.message();
            assert_eq!(answer["id"], id);
            answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
        });
        for text in &texts {
            assert!(text.starts_with("big returned"), "{text}");
            assert!(self.place.export(&handle(text)) == payload::big(bytes), "kept as it came");
        }
        texts.iter().map(|text| handle(text)).collect()
    }

    /// A large result is kept in memory, for either policy, and can be asked for; a small one passes meanwhile. Stderr says
    /// why.
    fn assert_in_memory(&mut self, reason: &str) {
        let bytes = self.next();
        self.calls += 1;
        self.reasons.push(reason.to_owned());
        let both = [&mut self.overview, &mut self.error].map(|session| {
            let large = session.ask("tools/call", json!({"name": "big", "arguments": {"bytes": bytes}}));
            let small = session.ask("tools/call", json!({"name": "echo", "arguments": {"value": "small"}}));
            (session, large, small)
        });
        for (session, large, small) in both {
            let crossed = format!(
                r#"{{"jsonrpc":"2.0","id":{small},"result":{{"content":[{{"type":"text","text":"small"}}]}}}}"#
            );
            let (mut passed, mut told) = (false, None);
            for _ in 0..2 {
                let line = String::from_utf8(session.line().unwrap()).unwrap();
                match line == crossed {
                    true => passed = true,
                    false => told = Some(serde_json::from_str::<serde_json::Value>(&line).unwrap()),
                }
            }
            assert!(passed, "what is small crosses byte for byte");
            let told = told.unwrap();
            assert_eq!(told["id"], large);
            let text = told["result"]["content"][0]["text"].as_str().unwrap();
            assert!(told["result"]["isError"] != true, "{text}");
            assert!(text.contains("(kept in memory 24 h, or until this server exits)"), "{text}");
            let part = session.text("result_query", json!({"id": handle(text), "lines": "6001"}));
            assert!(part.contains("line 6000 of a long text"), "{part}");
        }
    }

    /// What was kept can be read, by both and from outside.
    fn assert_readable(&mut self, name: &str) {
        for session in [&mut self.overview, &mut self.error] {
            let part = session.text("result_query", json!({"id": name, "lines": "6001"}));
            assert!(part.contains("line 6000 of a long text"), "{part}");
        }
        assert!(self.place.export(name).len() > self.bytes);
    }

    /// Every call ran once, and both proxies end as they should.
    fn end(self) {
        for mut session in [self.overview, self.error] {
            assert_eq!(session.text("count", json!({})), (self.calls + 1).to_string(), "each call ran once");
            let (code, stderr) = session.end();
            assert_eq!(code, 0, "{stderr}");
            for reason in &self.reasons {
                let told = stderr.lines().any(|line| {
                    line.starts_with("tidegate: nothing can be stored in ") && line.contains(reason.as_str())
                });
                assert!(told, "{reason}: {stderr}");
            }
            assert!(!self.reasons.is_empty() || !stderr.contains("nothing can be stored"), "{stderr}");
        }
        self.place.assert_empty();
    }
}

/// Has everything written to the file of the store, as whoever closes it last does; a proxy that ends leaves some of it
/// in the log.
fn settle(place: &Place) {
    assert_eq!(tidegate_in(Some(&place.home()), &["ls"], b"").code, 0);
    assert!(!place.home().join("artifacts.db-wal").exists());
}

/// Waits for something that takes a moment.
fn pause(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}
