//! To everybody but its owner, an artifact does not exist.

#![expect(clippy::unwrap_used, reason = "a test reports an error by panicking")]
#![expect(missing_docs, reason = "the name of a case says what it checks")]

use tidegate_store::{ArtifactId, Owner, StoreError};

use super::{Fixture, HOUR, Make, noise};

fn other() -> Owner {
    Owner::new("local:2")
}

pub fn foreign_and_unknown_are_the_same(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.put(b"mine").unwrap();
    for (owner, id) in [(&other(), &kept.id), (&fixture.owner, &ArtifactId::random())] {
        assert!(matches!(fixture.store.open(owner, id), Err(StoreError::NotFound)));
        assert!(matches!(fixture.store.touch(owner, id, HOUR), Err(StoreError::NotFound)));
        assert!(matches!(fixture.store.delete(owner, id), Err(StoreError::NotFound)));
    }
    // Nor does an expired one of somebody else show that it ever was.
    fixture.clock.advance(2 * HOUR);
    assert!(matches!(fixture.store.open(&other(), &kept.id), Err(StoreError::NotFound)));
    assert!(matches!(fixture.store.touch(&other(), &kept.id, HOUR), Err(StoreError::NotFound)));
}

pub fn foreign_results_are_not_listed(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    fixture.put(b"mine").unwrap();
    assert!(fixture.store.list(&other(), 10).unwrap().is_empty());
}

pub fn equal_bytes_of_two_owners(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    for length in [50_000, 400_000] {
        let bytes = noise(3, length);
        let before = fixture.store.usage().unwrap().stored_bytes;
        let mine = fixture.put(&bytes).unwrap();
        let between = fixture.store.usage().unwrap().stored_bytes;
        let theirs = fixture.put_for(&other(), &fixture.session, &bytes).unwrap();
        let after = fixture.store.usage().unwrap().stored_bytes;
        assert_eq!(after - between, between - before, "each owner has a copy");
        assert!(fixture.read(&mine.id).unwrap() == bytes);
        assert!(fixture.read_for(&other(), &theirs.id).unwrap() == bytes);
    }
}

pub fn the_owner_of_an_artifact(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let theirs = fixture.put_for(&other(), &fixture.session, b"theirs").unwrap();
    assert_eq!(fixture.store.owner_of(&theirs.id).unwrap(), Some(other()));
    assert_eq!(fixture.store.owner_of(&ArtifactId::random()).unwrap(), None);
}

pub fn all_owners_are_listed(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let mut all =
        [fixture.put(b"mine").unwrap(), fixture.put_for(&other(), &fixture.session, b"theirs").unwrap()];
    all.sort_by_key(|artifact| artifact.id.clone());
    assert_eq!(fixture.store.list_all(10).unwrap(), all);
    assert_eq!(fixture.store.list_all(1).unwrap(), all[..1]);
    fixture.clock.advance(2 * HOUR);
    assert_eq!(fixture.store.list_all(10).unwrap(), []);
}

pub fn deleting_leaves_the_other_owner(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let bytes = noise(4, 300_000);
    let mine = fixture.put(&bytes).unwrap();
    let theirs = fixture.put_for(&other(), &fixture.session, &bytes).unwrap();
    fixture.store.delete(&fixture.owner, &mine.id).unwrap();
    assert!(fixture.read_for(&other(), &theirs.id).unwrap() == bytes);
}

pub fn similar_owner_names(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.put(b"mine").unwrap();
    for name in
        ["local:1 ", " local:1", "LOCAL:1", "local:1\n", "local:%", "local:_", "local:11", "*", "' OR '1'='1"]
    {
        let owner = Owner::new(name);
        assert!(matches!(fixture.store.open(&owner, &kept.id), Err(StoreError::NotFound)), "{name:?}");
        let own = fixture.put_for(&owner, &fixture.session, b"own").unwrap();
        assert_eq!(fixture.store.list(&owner, 10).unwrap(), [own], "{name:?}");
    }
}

pub fn a_foreign_chunk_cannot_be_read(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let (mine, theirs) = (noise(5, 300_000), noise(6, 300_000));
    let kept = fixture.put(&mine).unwrap();
    let foreign = fixture.put_for(&other(), &fixture.session, &theirs).unwrap();
    // Whatever metadata it comes with, an open body is that of its owner.
    let mut forged = fixture.store.open(&fixture.owner, &kept.id).unwrap();
    forged.artifact = foreign;
    let chunk = fixture.store.read_chunk(&forged, 0).unwrap();
    assert!(chunk == mine[..chunk.len()]);
}

pub fn an_open_body_is_never_another_one(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    for length in [50_000, 300_000] {
        let (mine, theirs) = (noise(7, length), noise(8, length));
        let kept = fixture.put(&mine).unwrap();
        let opened = fixture.store.open(&fixture.owner, &kept.id).unwrap();
        fixture.store.delete(&fixture.owner, &kept.id).unwrap();
        // A backend may give the number of a deleted body to the next one.
        let foreign = fixture.put_for(&other(), &fixture.session, &theirs).unwrap();
        match fixture.store.read_chunk(&opened, 0) {
            Ok(chunk) => assert!(chunk == mine[..chunk.len()], "the bytes of another owner"),
            Err(error) => assert!(matches!(error, StoreError::NotFound), "{error:?}"),
        }
        fixture.store.delete(&other(), &foreign.id).unwrap();
    }
}
