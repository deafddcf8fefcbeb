//! Lists, and what deleting does to them.

#![expect(clippy::unwrap_used, reason = "a test reports an error by panicking")]
#![expect(missing_docs, reason = "the name of a case says what it checks")]

use std::time::Duration;

use tidegate_store::StoreError;

use super::{Fixture, HOUR, Make, noise};

fn put_five(fixture: &Fixture) -> Vec<tidegate_store::ArtifactId> {
    let mut ids = Vec::new();
    for number in 0..5u8 {
        ids.push(fixture.put(&[number]).unwrap().id);
        fixture.clock.advance(Duration::from_secs(1));
    }
    ids.reverse();
    ids
}

pub fn newest_first(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let ids = put_five(&fixture);
    assert_eq!(fixture.ids(10), ids);
}

pub fn then_by_id(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let mut together: Vec<_> = (0..20u8).map(|number| fixture.put(&[number]).unwrap().id).collect();
    together.sort();
    assert_eq!(fixture.ids(20), together);
    assert_eq!(fixture.ids(2), together[..2]);
}

pub fn at_most_the_limit(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let ids = put_five(&fixture);
    assert_eq!(fixture.ids(3), ids[..3]);
    assert_eq!(fixture.ids(0), []);
    assert_eq!(fixture.ids(usize::MAX), ids);
}

pub fn expired_results_are_not_listed(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    fixture.put(b"old").unwrap();
    fixture.clock.advance(HOUR);
    let new = fixture.put(b"new").unwrap();
    assert_eq!(fixture.ids(10), [new.id]);
}

pub fn an_empty_list(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    assert_eq!(fixture.ids(10), []);
    assert_eq!(fixture.store.list_all(10).unwrap(), []);
}

pub fn a_deleted_result_is_gone(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    for length in [100, 400_000] {
        let kept = fixture.put(&noise(1, length)).unwrap();
        fixture.store.delete(&fixture.owner, &kept.id).unwrap();
        assert!(matches!(fixture.read(&kept.id), Err(StoreError::NotFound)));
        assert_eq!(fixture.ids(10), []);
    }
}

pub fn deleting_twice(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.put(b"once").unwrap();
    fixture.store.delete(&fixture.owner, &kept.id).unwrap();
    assert!(matches!(fixture.store.delete(&fixture.owner, &kept.id), Err(StoreError::NotFound)));
}

pub fn deleting_frees_space(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    for length in [200_000, 500_000] {
        let kept = fixture.put(&noise(1, length)).unwrap();
        assert!(fixture.store.usage().unwrap().stored_bytes >= length as u64);
        fixture.store.delete(&fixture.owner, &kept.id).unwrap();
        assert_eq!(fixture.store.usage().unwrap().stored_bytes, 0);
    }
}
