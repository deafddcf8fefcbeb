//! Many threads at once.

#![expect(clippy::unwrap_used, reason = "a test reports an error by panicking")]
#![expect(missing_docs, reason = "the name of a case says what it checks")]

use std::sync::atomic::{AtomicU64, Ordering};

use tidegate_store::{Quotas, StoreError, Usage};

use super::{Fixture, Make, noise};

pub fn many_threads(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let (store, owner, session) = (&*fixture.store, &fixture.owner, &fixture.session);
            scope.spawn(move || {
                for number in 0..20 {
                    let bytes = noise(thread * 100 + number, 20_000 + 3000 * number as usize);
                    let id = put(store, owner, session, &bytes).unwrap().id;
                    assert!(read(store, owner, &id) == bytes);
                    if number % 3 == 0 {
                        store.delete(owner, &id).unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(fixture.ids(1000).len(), 8 * 13);
}

pub fn equal_bytes_from_many_threads(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let bytes = noise(9, 150_000);
    let one = fixture.put(&bytes).unwrap().stored_bytes;
    std::thread::scope(|scope| {
        for thread in 0..6u64 {
            let (store, owner, session, bytes) = (&*fixture.store, &fixture.owner, &fixture.session, &bytes);
            scope.spawn(move || {
                for _ in 0..5 {
                    let kept = put(store, owner, session, bytes).unwrap().id;
                    let other = put(store, owner, session, &noise(thread % 2, 90_000)).unwrap().id;
                    assert!(read(store, owner, &kept) == *bytes);
                    store.delete(owner, &kept).unwrap();
                    store.delete(owner, &other).unwrap();
                }
            });
        }
    });
    assert_eq!(fixture.store.usage().unwrap(), Usage { artifacts: 1, stored_bytes: one });
}

pub fn a_quota_from_many_threads(make: Make<'_>) {
    let limit = 1_000_000;
    let quotas = Quotas { session_bytes: limit, owner_bytes: limit, store_bytes: limit };
    let Some(fixture) = Fixture::with_quotas(make, quotas) else { return };
    let stored = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let (store, owner, session, stored) =
                (&*fixture.store, &fixture.owner, &fixture.session, &stored);
            scope.spawn(move || {
                for number in 0..6 {
                    match put(store, owner, session, &noise(thread * 100 + number, 40_000)) {
                        Ok(kept) => drop(stored.fetch_add(kept.stored_bytes, Ordering::SeqCst)),
                        Err(StoreError::QuotaFull { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
    });
    let stored = stored.into_inner();
    assert_eq!(fixture.store.usage().unwrap().stored_bytes, stored);
    assert!(stored <= limit && stored > limit - 41_000, "{stored} of {limit} bytes are used");
}

pub fn readers_beside_a_deleter(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    for (seed, length) in [30_000, 400_000].into_iter().enumerate() {
        let bytes = noise(seed as u64, length);
        let id = fixture.put(&bytes).unwrap().id;
        std::thread::scope(|scope| {
            let (store, owner, bytes, id) = (&*fixture.store, &fixture.owner, &bytes, &id);
            for _ in 0..4 {
                scope.spawn(move || {
                    for _ in 0..10 {
                        match store.open(owner, id).and_then(|opened| store.read_chunk(&opened, 0)) {
                            Ok(chunk) => assert!(chunk == bytes[..chunk.len()]),
                            Err(StoreError::NotFound) => return,
                            Err(error) => panic!("{error}"),
                        }
                    }
                });
            }
            scope.spawn(move || store.delete(owner, id).unwrap());
        });
    }
}

fn put(
    store: &dyn tidegate_store::ArtifactStore,
    owner: &tidegate_store::Owner,
    session: &tidegate_store::Session,
    bytes: &[u8],
) -> Result<tidegate_store::Artifact, StoreError> {
    let new = tidegate_store::NewArtifact::new(owner, session, "tool", super::HOUR);
    store.put(&new, &bytes, &|| Ok(tidegate_store::Description::default()))
}

fn read(
    store: &dyn tidegate_store::ArtifactStore,
    owner: &tidegate_store::Owner,
    id: &tidegate_store::ArtifactId,
) -> Vec<u8> {
    let source = tidegate_store::open(store, owner, id).unwrap();
    tidegate_core::source::Span::whole(&source).read(&source).unwrap()
}
