//! Quotas refuse, exactly, and never evict.

#![expect(clippy::unwrap_used, reason = "a test reports an error by panicking")]
#![expect(missing_docs, reason = "the name of a case says what it checks")]

use tidegate_store::{Owner, Quotas, Session, StoreError, Usage};

use super::{Fixture, HOUR, Make, noise};

fn quotas(session_bytes: u64, owner_bytes: u64, store_bytes: u64) -> Quotas {
    Quotas { session_bytes, owner_bytes, store_bytes }
}

fn refused_by(put: Result<tidegate_store::Artifact, StoreError>) -> &'static str {
    match put {
        Err(StoreError::QuotaFull { scope, used, limit }) => {
            assert!(used <= limit, "{scope}: {used} of {limit}");
            scope
        }
        other => panic!("{other:?}"),
    }
}

pub fn the_session_quota_refuses(make: Make<'_>) {
    let Some(fixture) = Fixture::with_quotas(make, quotas(500_000, 1 << 30, 1 << 30)) else { return };
    fixture.put(&noise(1, 400_000)).unwrap();
    assert_eq!(refused_by(fixture.put(&noise(2, 200_000))), "session");
    fixture.put_for(&fixture.owner, &Session::new("two"), &noise(2, 200_000)).unwrap();
}

pub fn the_store_quota_refuses(make: Make<'_>) {
    let Some(fixture) = Fixture::with_quotas(make, quotas(1 << 30, 1 << 30, 500_000)) else { return };
    fixture.put(&noise(1, 400_000)).unwrap();
    let (other, two) = (Owner::new("local:2"), Session::new("two"));
    assert_eq!(refused_by(fixture.put_for(&other, &two, &noise(2, 200_000))), "store");
    fixture.put_for(&other, &two, &noise(3, 50_000)).unwrap();
}

pub fn the_owner_quota_refuses(make: Make<'_>) {
    let Some(fixture) = Fixture::with_quotas(make, quotas(1 << 30, 500_000, 1 << 30)) else { return };
    fixture.put(&noise(1, 400_000)).unwrap();
    let two = Session::new("two");
    assert_eq!(refused_by(fixture.put_for(&fixture.owner, &two, &noise(2, 200_000))), "owner");
    fixture.put_for(&fixture.owner, &two, &noise(3, 50_000)).unwrap();
}

pub fn owners_have_quotas_of_their_own(make: Make<'_>) {
    let Some(fixture) = Fixture::with_quotas(make, quotas(1 << 30, 500_000, 1 << 30)) else { return };
    for number in 1..5 {
        let owner = Owner::new(format!("local:{number}"));
        fixture.put_for(&owner, &fixture.session, &noise(1, 400_000)).unwrap();
        assert_eq!(refused_by(fixture.put_for(&owner, &fixture.session, &noise(2, 200_000))), "owner");
    }
}

pub fn sessions_of_two_owners_are_two_sessions(make: Make<'_>) {
    let Some(fixture) = Fixture::with_quotas(make, quotas(500_000, 1 << 30, 1 << 30)) else { return };
    fixture.put(&noise(1, 400_000)).unwrap();
    fixture.put_for(&Owner::new("local:2"), &fixture.session, &noise(2, 400_000)).unwrap();
}

pub fn a_refused_result_leaves_nothing(make: Make<'_>) {
    let Some(fixture) = Fixture::with_quotas(make, quotas(500_000, 1 << 30, 1 << 30)) else { return };
    let kept = fixture.put(&noise(1, 100_000)).unwrap();
    for length in [450_000, 3_000_000] {
        refused_by(fixture.put(&noise(2, length)));
        let expected = Usage { artifacts: 1, stored_bytes: kept.stored_bytes };
        assert_eq!(fixture.store.usage().unwrap(), expected);
        assert_eq!(fixture.ids(10), std::slice::from_ref(&kept.id));
    }
}

pub fn nothing_unexpired_is_evicted(make: Make<'_>) {
    let Some(fixture) = Fixture::with_quotas(make, quotas(500_000, 1 << 30, 800_000)) else { return };
    let first = noise(1, 400_000);
    let kept = fixture.put(&first).unwrap();
    let second = fixture.put_for(&fixture.owner, &Session::new("two"), &noise(3, 300_000)).unwrap();
    for seed in 10..14 {
        refused_by(fixture.put_for(&fixture.owner, &Session::new("three"), &noise(seed, 300_000)));
    }
    assert!(fixture.read(&kept.id).unwrap() == first);
    assert!(fixture.read(&second.id).is_ok());
}

pub fn expired_results_make_room(make: Make<'_>) {
    let Some(fixture) = Fixture::with_quotas(make, quotas(500_000, 500_000, 500_000)) else { return };
    for seed in 0..4 {
        for length in [450_000, 40_000] {
            fixture.put(&noise(seed, length)).unwrap();
        }
        refused_by(fixture.put(&noise(99, 50_000)));
        fixture.clock.advance(2 * HOUR);
    }
}

pub fn a_quota_can_be_filled_exactly(make: Make<'_>) {
    let Some(probe) = Fixture::new(make) else { return };
    let bodies: Vec<Vec<u8>> = (0..4).map(|seed| noise(seed, 60_000)).collect();
    let sizes: Vec<u64> = bodies.iter().map(|body| probe.put(body).unwrap().stored_bytes).collect();
    let limit = sizes.iter().sum();
    let fixture = Fixture::with_quotas(make, quotas(limit, limit, limit)).unwrap();
    bodies.iter().for_each(|body| drop(fixture.put(body).unwrap()));
    assert_eq!(fixture.store.usage().unwrap().stored_bytes, limit);
    refused_by(fixture.put(b"x"));
    let tight = Fixture::with_quotas(make, quotas(limit - 1, limit - 1, limit - 1)).unwrap();
    bodies[..3].iter().for_each(|body| drop(tight.put(body).unwrap()));
    refused_by(tight.put(&bodies[3]));
}

pub fn equal_bytes_need_no_room(make: Make<'_>) {
    let Some(fixture) = Fixture::with_quotas(make, quotas(500_000, 500_000, 500_000)) else { return };
    let bytes = noise(1, 400_000);
    for _ in 0..5 {
        fixture.put(&bytes).unwrap();
    }
    refused_by(fixture.put(&noise(2, 400_000)));
}

pub fn deleting_makes_room(make: Make<'_>) {
    let Some(fixture) = Fixture::with_quotas(make, quotas(500_000, 500_000, 500_000)) else { return };
    for seed in 0..5 {
        let kept = fixture.put(&noise(seed, 400_000)).unwrap();
        refused_by(fixture.put(&noise(100 + seed, 400_000)));
        fixture.store.delete(&fixture.owner, &kept.id).unwrap();
    }
}

pub fn a_large_result_is_refused(make: Make<'_>) {
    let Some(fixture) = Fixture::with_quotas(make, quotas(1 << 30, 1 << 30, 12_000_000)) else { return };
    assert_eq!(refused_by(fixture.put(&noise(1, 30_000_000))), "store");
    assert_eq!(fixture.store.usage().unwrap(), Usage::default());
    fixture.put(&noise(2, 9_000_000)).unwrap();
}

pub fn bytes_are_compressed_bytes(make: Make<'_>) {
    let Some(fixture) = Fixture::with_quotas(make, quotas(100_000, 100_000, 100_000)) else { return };
    let text = "a line that occurs again and again\n".repeat(40_000);
    let kept = fixture.put(text.as_bytes()).unwrap();
    assert!(kept.bytes > 1_000_000 && kept.stored_bytes < 100_000);
}
