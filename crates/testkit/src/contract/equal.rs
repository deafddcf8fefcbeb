//! Equal bytes of one owner are stored once, and stay as long as an artifact refers to them.

#![expect(clippy::unwrap_used, reason = "a test reports an error by panicking")]
#![expect(missing_docs, reason = "the name of a case says what it checks")]

use tidegate_store::{StoreError, Usage};

use super::{Fixture, HOUR, Make, noise};

pub fn equal_bytes_are_stored_once(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    for length in [0, 100, 200_000] {
        let bytes = noise(3, length);
        let one = fixture.put(&bytes).unwrap();
        let used = fixture.store.usage().unwrap();
        let two = fixture.put(&bytes).unwrap();
        assert_ne!(one.id, two.id);
        assert_eq!(one.stored_bytes, two.stored_bytes);
        let expected = Usage { artifacts: used.artifacts + 1, ..used };
        assert_eq!(fixture.store.usage().unwrap(), expected);
    }
}

pub fn equal_large_bytes(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    for length in [300_000, 20_000_000] {
        let bytes = noise(4, length);
        let one = fixture.put(&bytes).unwrap();
        let used = fixture.store.usage().unwrap().stored_bytes;
        let two = fixture.put(&bytes).unwrap();
        assert_eq!(fixture.store.usage().unwrap().stored_bytes, used);
        fixture.store.delete(&fixture.owner, &one.id).unwrap();
        assert!(fixture.read(&two.id).unwrap() == bytes);
        fixture.store.delete(&fixture.owner, &two.id).unwrap();
        assert_eq!(fixture.store.usage().unwrap(), Usage::default());
    }
}

pub fn a_body_stays_while_it_is_used(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let bytes = noise(5, 300_000);
    let one = fixture.put(&bytes).unwrap();
    let used = fixture.store.usage().unwrap().stored_bytes;
    let two = fixture.put(&bytes).unwrap();
    fixture.store.delete(&fixture.owner, &one.id).unwrap();
    assert!(fixture.read(&two.id).unwrap() == bytes);
    let three = fixture.put(&bytes).unwrap();
    fixture.store.delete(&fixture.owner, &two.id).unwrap();
    assert_eq!(fixture.store.usage().unwrap().stored_bytes, used);
    assert!(fixture.read(&three.id).unwrap() == bytes);
}

pub fn equal_bytes_expire_separately(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let bytes = noise(6, 300_000);
    let long = fixture.put(&bytes).unwrap();
    fixture.store.touch(&fixture.owner, &long.id, 2 * HOUR).unwrap();
    let short = fixture.put(&bytes).unwrap();
    fixture.clock.advance(HOUR);
    let swept = fixture.store.sweep().unwrap();
    assert_eq!((swept.artifacts, swept.bodies), (1, 0));
    assert!(matches!(fixture.read(&short.id), Err(StoreError::NotFound)));
    assert!(fixture.read(&long.id).unwrap() == bytes);
    fixture.store.delete(&fixture.owner, &long.id).unwrap();
    assert_eq!(fixture.store.usage().unwrap(), Usage::default());
}

pub fn equal_bytes_after_deletion(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    for length in [100_000, 300_000] {
        let bytes = noise(7, length);
        for _ in 0..3 {
            let kept = fixture.put(&bytes).unwrap();
            assert!(fixture.read(&kept.id).unwrap() == bytes);
            fixture.store.delete(&fixture.owner, &kept.id).unwrap();
        }
    }
    assert_eq!(fixture.store.usage().unwrap(), Usage::default());
}
