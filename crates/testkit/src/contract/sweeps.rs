//! A sweep removes what has expired, and nothing else.

#![expect(clippy::unwrap_used, reason = "a test reports an error by panicking")]
#![expect(missing_docs, reason = "the name of a case says what it checks")]

use tidegate_store::{StoreError, Usage};

use super::{Fixture, HOUR, Make, noise};

pub fn nothing_expired(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.put(&noise(1, 100_000)).unwrap();
    let swept = fixture.store.sweep().unwrap();
    assert_eq!((swept.artifacts, swept.bodies), (0, 0));
    assert!(fixture.read(&kept.id).is_ok());
}

pub fn expired_results_are_removed(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    for seed in 0..4 {
        fixture.put(&noise(seed, 100_000 * (seed as usize + 1))).unwrap();
    }
    fixture.clock.advance(2 * HOUR);
    let kept = fixture.put(b"new").unwrap();
    let swept = fixture.store.sweep().unwrap();
    assert_eq!((swept.artifacts, swept.bodies), (4, 4));
    assert_eq!(fixture.store.usage().unwrap().artifacts, 1);
    assert_eq!(fixture.read(&kept.id).unwrap(), b"new");
}

pub fn many_expired_results(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    for seed in 0..250 {
        fixture.put(&noise(seed, 500)).unwrap();
    }
    fixture.clock.advance(HOUR);
    let swept = fixture.store.sweep().unwrap();
    assert_eq!((swept.artifacts, swept.bodies), (250, 250));
    assert_eq!(fixture.store.usage().unwrap(), Usage::default());
}

pub fn a_swept_result_is_not_found(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.put(b"old").unwrap();
    fixture.clock.advance(HOUR);
    fixture.store.sweep().unwrap();
    assert!(matches!(fixture.read(&kept.id), Err(StoreError::NotFound)));
    assert_eq!(fixture.store.owner_of(&kept.id).unwrap(), None);
}

pub fn usage_is_exact(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let mut expected = Usage::default();
    for (seed, length) in [10, 70_000, 300_000, 900_000].into_iter().enumerate() {
        let kept = fixture.put(&noise(seed as u64, length)).unwrap();
        expected.artifacts += 1;
        expected.stored_bytes += kept.stored_bytes;
        assert_eq!(fixture.store.usage().unwrap(), expected);
    }
    fixture.clock.advance(HOUR);
    assert_eq!(fixture.store.usage().unwrap(), expected, "what has expired uses space until it is swept");
    fixture.store.sweep().unwrap();
    assert_eq!(fixture.store.usage().unwrap(), Usage::default());
}
