//! An artifact is created once; a result that cannot be described is not stored.

#![expect(clippy::unwrap_used, reason = "a test reports an error by panicking")]
#![expect(missing_docs, reason = "the name of a case says what it checks")]

use tidegate_store::{ArtifactId, NewArtifact, Owner, StoreError, Usage};

use super::{Fixture, HOUR, Make, noise};

pub fn an_id_is_taken_once(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let first = fixture.put(b"first").unwrap();
    let again = NewArtifact { id: first.id.clone(), ..fixture.new_artifact() };
    for bytes in [b"first".to_vec(), b"second".to_vec(), noise(1, 300_000)] {
        assert!(fixture.put_new(&again, &bytes).is_err());
        assert_eq!(fixture.read(&first.id).unwrap(), b"first", "an artifact never changes");
    }
    let expected = Usage { artifacts: 1, stored_bytes: first.stored_bytes };
    assert_eq!(fixture.store.usage().unwrap(), expected);
}

pub fn an_id_of_another_owner_is_taken(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let first = fixture.put(b"first").unwrap();
    let other = Owner::new("local:2");
    let again =
        NewArtifact { id: first.id.clone(), ..NewArtifact::new(&other, &fixture.session, "tool", HOUR) };
    assert!(fixture.put_new(&again, b"second").is_err());
    assert_eq!(fixture.read(&first.id).unwrap(), b"first");
    assert!(matches!(fixture.store.open(&other, &first.id), Err(StoreError::NotFound)));
}

fn cannot_be_described(make: Make<'_>, length: usize) {
    let Some(fixture) = Fixture::new(make) else { return };
    let new = fixture.new_artifact();
    let body = noise(1, length);
    assert!(matches!(fixture.store.put(&new, &body, &|| Err(StoreError::Busy)), Err(StoreError::Busy)));
    assert!(matches!(fixture.read(&new.id), Err(StoreError::NotFound)));
    assert_eq!(fixture.store.usage().unwrap(), Usage::default());
    fixture.put_new(&new, &body).unwrap();
}

pub fn a_result_that_cannot_be_described(make: Make<'_>) {
    cannot_be_described(make, 100);
}

pub fn a_large_result_that_cannot_be_described(make: Make<'_>) {
    cannot_be_described(make, 20_000_000);
}

pub fn long_ids(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let named = ArtifactId::of_name(&fixture.owner, "server", "domain", "name");
    for id in [ArtifactId::random_shared(), named] {
        let new = NewArtifact { id: id.clone(), ..fixture.new_artifact() };
        assert_eq!(fixture.put_new(&new, id.as_str().as_bytes()).unwrap().id, id);
        assert_eq!(fixture.read(&id).unwrap(), id.as_str().as_bytes());
    }
}
