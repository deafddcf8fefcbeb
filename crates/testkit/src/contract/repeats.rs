//! The last result of a call is found: that of the same owner, session and call.

#![expect(clippy::unwrap_used, reason = "a test reports an error by panicking")]
#![expect(missing_docs, reason = "the name of a case says what it checks")]

use std::time::Duration;

use tidegate_store::{Artifact, CallDigest, NewArtifact, Owner, SealKey, Session};

use super::{Fixture, HOUR, Make};

/// Two calls of different parts that are the same letters.
fn calls() -> [CallDigest; 2] {
    let key = SealKey::ephemeral();
    [key.call_digest(&[b"a", b"bc"]), key.call_digest(&[b"ab", b"c"])]
}

fn put(fixture: &Fixture, call: Option<CallDigest>, bytes: &[u8]) -> Artifact {
    put_for(fixture, &fixture.owner, &fixture.session, call, bytes)
}

fn put_for(
    fixture: &Fixture,
    owner: &Owner,
    session: &Session,
    call: Option<CallDigest>,
    bytes: &[u8],
) -> Artifact {
    let new = NewArtifact { call, ..NewArtifact::new(owner, session, "tool", HOUR) };
    let kept = fixture.put_new(&new, bytes).unwrap();
    fixture.clock.advance(Duration::from_secs(1));
    kept
}

fn last(fixture: &Fixture, call: CallDigest) -> Option<Artifact> {
    fixture.store.last_of_call(&fixture.owner, &fixture.session, &call).unwrap().map(|found| found.artifact)
}

pub fn no_earlier_result(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let [call, _] = calls();
    assert_eq!(last(&fixture, call), None);
    put(&fixture, None, b"of no call");
    assert_eq!(last(&fixture, call), None);
}

pub fn the_last_result_of_a_call(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let [call, _] = calls();
    let first = put(&fixture, Some(call), b"first");
    let found = fixture.store.last_of_call(&fixture.owner, &fixture.session, &call).unwrap().unwrap();
    assert_eq!(found.artifact, first);
    for (bytes, is_equal) in [(b"first".as_slice(), true), (b"First", false), (b"", false)] {
        assert_eq!(fixture.store.matches(&fixture.owner, &found, &bytes).unwrap(), is_equal);
    }
    let second = put(&fixture, Some(call), b"second");
    assert_eq!(last(&fixture, call), Some(second));
}

pub fn of_this_owner_only(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let [call, _] = calls();
    let mine = put(&fixture, Some(call), b"mine");
    put_for(&fixture, &Owner::new("local:2"), &fixture.session, Some(call), b"a stranger's");
    assert_eq!(last(&fixture, call), Some(mine));
}

pub fn of_this_session_only(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let [call, _] = calls();
    let mine = put(&fixture, Some(call), b"mine");
    put_for(&fixture, &fixture.owner, &Session::new("two"), Some(call), b"of another session");
    assert_eq!(last(&fixture, call), Some(mine));
}

pub fn of_this_call_only(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let [call, other] = calls();
    assert_ne!(call, other);
    let mine = put(&fixture, Some(call), b"mine");
    put(&fixture, Some(other), b"of another call");
    put(&fixture, None, b"of no call");
    assert_eq!(last(&fixture, call), Some(mine));
}

pub fn equal_bytes_are_two_results(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let [call, _] = calls();
    let first = put(&fixture, Some(call), b"same");
    let second = put(&fixture, Some(call), b"same");
    assert_ne!(first.id, second.id);
    assert_eq!(last(&fixture, call), Some(second));
}

pub fn a_deleted_result_is_not_the_last(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let [call, _] = calls();
    let first = put(&fixture, Some(call), b"first");
    let second = put(&fixture, Some(call), b"second");
    fixture.store.delete(&fixture.owner, &second.id).unwrap();
    assert_eq!(last(&fixture, call), Some(first));
}

pub fn an_expired_result_is_not_the_last(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let [call, _] = calls();
    put(&fixture, Some(call), b"first");
    fixture.clock.advance(HOUR);
    assert_eq!(last(&fixture, call), None);
}

pub fn two_results_in_one_millisecond(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let [call, _] = calls();
    let both = [b"one", b"two"].map(|bytes| {
        let new = NewArtifact { call: Some(call), ..fixture.new_artifact() };
        fixture.put_new(&new, bytes).unwrap()
    });
    let found = last(&fixture, call).unwrap();
    assert!(both.contains(&found));
    assert_eq!(last(&fixture, call), Some(found), "the same each time");
}
