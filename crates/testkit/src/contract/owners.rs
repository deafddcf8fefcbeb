//! To everybody but its owner, an artifact does not exist.

#![expect(clippy::unwrap_used, reason = "a test reports an error by panicking")]
#![expect(missing_docs, reason = "the name of a case says what it checks")]

use tidegate_store::{ArtifactId, Clearance, NewArtifact, Owner, StoreError, TierLevel};

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
    // An expired result of another owner does not reveal that it existed either.
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

pub fn a_result_above_the_tier_does_not_exist(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let owner = &fixture.owner;
    let put = |tier, bytes: &[u8]| {
        fixture.put_new(&NewArtifact { tier: TierLevel::new(tier), ..fixture.new_artifact() }, bytes).unwrap()
    };
    // The first of an empty store needs no tier, as those of earlier versions.
    let [low, middle, high] = [put(0, b"low"), put(100, b"middle"), put(200, b"high")];
    let ids_up_to = |tier| {
        let clearance = Clearance { owner, tier };
        let mut ids: Vec<ArtifactId> =
            fixture.store.list_with(clearance, 10).unwrap().into_iter().map(|found| found.id).collect();
        ids.sort();
        ids
    };
    let sorted = |artifacts: &[&tidegate_store::Artifact]| {
        let mut ids: Vec<ArtifactId> = artifacts.iter().map(|artifact| artifact.id.clone()).collect();
        ids.sort();
        ids
    };
    for (tier, readable, hidden) in [
        (TierLevel::new(0), vec![&low], vec![&middle, &high]),
        (TierLevel::new(99), vec![&low], vec![&middle, &high]),
        (TierLevel::new(100), vec![&low, &middle], vec![&high]),
        (TierLevel::HIGHEST, vec![&low, &middle, &high], vec![]),
    ] {
        assert_eq!(ids_up_to(tier), sorted(&readable), "{tier:?}");
        for artifact in readable {
            assert!(fixture.store.open_with(Clearance { owner, tier }, &artifact.id).is_ok(), "{tier:?}");
        }
        for artifact in hidden {
            let opened = fixture.store.open_with(Clearance { owner, tier }, &artifact.id);
            assert!(matches!(opened, Err(StoreError::NotFound)), "{tier:?}");
        }
        let foreign = fixture.store.open_with(Clearance { owner: &other(), tier }, &low.id);
        assert!(matches!(foreign, Err(StoreError::NotFound)));
    }
}

pub fn a_tier_is_copied(make: Make<'_>) {
    let (Some(from), Some(to)) = (Fixture::new(make), Fixture::new(make)) else { return };
    let new = NewArtifact { tier: TierLevel::new(100), ..from.new_artifact() };
    from.put_new(&new, b"secret").unwrap();
    let walked = from.store.walk(None, 10).unwrap();
    assert_eq!(walked[0].tier, TierLevel::new(100));
    to.put_new(&walked[0].as_new(), b"secret").unwrap();
    let below = Clearance { owner: &to.owner, tier: TierLevel::new(99) };
    assert!(matches!(to.store.open_with(below, &new.id), Err(StoreError::NotFound)));
    assert!(to.store.open_with(Clearance::all_of(&to.owner), &new.id).is_ok());
}
