//! A result lives as long as it was promised, and not longer than it was extended.

#![expect(clippy::unwrap_used, reason = "a test reports an error by panicking")]
#![expect(missing_docs, reason = "the name of a case says what it checks")]

use std::time::Duration;

use tidegate_store::StoreError;

use super::{Fixture, HOUR, Make};

const MILLISECOND: Duration = Duration::from_millis(1);

pub fn readable_until_it_expires(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.put(b"short").unwrap();
    fixture.clock.advance(HOUR - MILLISECOND);
    assert_eq!(fixture.read(&kept.id).unwrap(), b"short");
    fixture.clock.advance(MILLISECOND);
    assert!(fixture.read(&kept.id).is_err());
}

pub fn an_expired_result_says_when(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.put(b"short").unwrap();
    fixture.clock.advance(3 * HOUR);
    match fixture.store.open(&fixture.owner, &kept.id) {
        Err(StoreError::Expired { at }) => assert_eq!(at, kept.expires),
        other => panic!("{other:?}"),
    }
}

pub fn touch_extends(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.put(b"long").unwrap();
    fixture.clock.advance(HOUR - MILLISECOND);
    let touched = fixture.store.touch(&fixture.owner, &kept.id, HOUR).unwrap();
    assert_eq!(touched.expires.0, kept.expires.0 + 3_600_000 - 1);
    assert_eq!(fixture.store.open(&fixture.owner, &kept.id).unwrap().artifact, touched);
    fixture.clock.advance(HOUR - MILLISECOND);
    assert!(fixture.read(&kept.id).is_ok());
}

pub fn touch_never_shortens(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.put(b"long").unwrap();
    let touched = fixture.store.touch(&fixture.owner, &kept.id, Duration::from_secs(1)).unwrap();
    assert_eq!(touched.expires, kept.expires);
}

pub fn an_expired_result_cannot_be_touched(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.put(b"short").unwrap();
    fixture.clock.advance(HOUR);
    let touched = fixture.store.touch(&fixture.owner, &kept.id, HOUR);
    assert!(matches!(touched, Err(StoreError::Expired { .. })), "{touched:?}");
    assert!(fixture.read(&kept.id).is_err());
}

pub fn a_clock_set_ahead_expires_nothing(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.put(b"kept").unwrap();
    fixture.clock.set_ahead(100 * HOUR);
    assert_eq!(fixture.store.sweep().unwrap().artifacts, 0);
    assert_eq!(fixture.read(&kept.id).unwrap(), b"kept");
}

pub fn an_expired_result_can_be_deleted(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.put(b"short").unwrap();
    fixture.clock.advance(HOUR);
    fixture.store.delete(&fixture.owner, &kept.id).unwrap();
    assert!(matches!(fixture.read(&kept.id), Err(StoreError::NotFound)));
}
