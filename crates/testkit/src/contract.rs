//! The contract suite: what every store must do, whatever its backend. A backend's tests call [`contract`] with a function
//! that makes an empty store.

#![expect(clippy::unwrap_used, reason = "a test reports an error by panicking")]

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::source::{Source, Span};
use tidegate_store::{
    Artifact, ArtifactId, ArtifactStore, CHUNK_BYTES, CallOrigin, Clock, Description, NewArtifact, Owner,
    Quotas, SealKey, Session, StoreError, Usage, open,
};

use crate::clock::ManualClock;
use crate::source::ShortReadSource;

/// A function that makes an empty store with the given quotas and clock.
pub type Make<'m> = &'m dyn Fn(Quotas, Arc<dyn Clock>) -> Box<dyn ArtifactStore>;

const HOUR: Duration = Duration::from_secs(3600);

/// Returns bytes that do not compress; the same seed gives the same bytes.
pub fn noise(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    (0..length).map(|_| (next() >> 32) as u8).collect()
}

/// An empty store with what is needed to use it.
struct Fixture {
    store: Box<dyn ArtifactStore>,
    clock: Arc<ManualClock>,
    owner: Owner,
    session: Session,
}

impl Fixture {
    fn new(make: Make<'_>, quotas: Quotas) -> Self {
        let clock = Arc::new(ManualClock::default());
        let store = make(quotas, clock.clone());
        Self { store, clock, owner: Owner::new("local:1"), session: Session::new("one") }
    }

    fn put(&self, bytes: &[u8]) -> Result<Artifact, StoreError> {
        self.put_for(&self.owner, &self.session, bytes)
    }

    fn put_for(&self, owner: &Owner, session: &Session, bytes: &[u8]) -> Result<Artifact, StoreError> {
        let describe = || Ok(Description::default());
        self.store.put(&NewArtifact::new(owner, session, "tool", HOUR), &bytes, &describe)
    }

    fn read(&self, id: &ArtifactId) -> Result<Vec<u8>, StoreError> {
        let source = open(&*self.store, &self.owner, id)?;
        Ok(Span::whole(&source).read(&source).unwrap())
    }
}

/// Runs the whole suite.
pub fn contract(make: Make<'_>) {
    bytes_come_back_exactly(make);
    metadata_comes_back(make);
    owners_are_isolated(make);
    artifacts_expire_and_can_be_extended(make);
    deletes(make);
    lists(make);
    the_last_result_of_a_call_is_found(make);
    equal_bytes_are_stored_once(make);
    quotas_refuse_and_never_evict(make);
    sweeps(make);
    ids_are_taken_once(make);
    a_result_that_cannot_be_described_is_not_stored(make);
    many_threads(make);
    equal_bytes_from_many_threads(make);
}

fn bytes_come_back_exactly(make: Make<'_>) {
    let fixture = Fixture::new(make, Quotas::default());
    let chunk = CHUNK_BYTES as usize;
    for (seed, length) in [0, 1, 100, chunk - 1, chunk, chunk + 1, 3 * chunk, 10 * chunk + 17, 9_000_000]
        .into_iter()
        .enumerate()
    {
        let bytes = noise(seed as u64, length);
        let kept = fixture.put(&bytes).unwrap();
        assert_eq!(kept.bytes, length as u64);
        assert_eq!(fixture.read(&kept.id).unwrap(), bytes, "{length} bytes");
        // Any range, across chunks.
        let source = open(&*fixture.store, &fixture.owner, &kept.id).unwrap();
        for start in [0, length / 3, length.saturating_sub(70_000), length.saturating_sub(1)] {
            let end = (start + 70_000).min(length);
            let span = Span { start: start as u64, end: end as u64 };
            assert_eq!(span.read(&source).unwrap(), &bytes[start..end]);
        }
        assert_eq!(source.read_at(length as u64, &mut [0; 4]).unwrap(), 0, "nothing is read past the end");
    }
    // From a source that is not in memory.
    let bytes = noise(77, 5 * chunk + 5);
    let new = NewArtifact::new(&fixture.owner, &fixture.session, "tool", HOUR);
    let kept =
        fixture.store.put(&new, &ShortReadSource(bytes.clone()), &|| Ok(Description::default())).unwrap();
    assert_eq!(fixture.read(&kept.id).unwrap(), bytes);
}

fn metadata_comes_back(make: Make<'_>) {
    let fixture = Fixture::new(make, Quotas::default());
    let arguments = format!("{{\"state\":\"{}\"}}", "\u{e9}".repeat(5000));
    let new = NewArtifact {
        server: "github",
        arguments: Some(&arguments),
        ..NewArtifact::new(&fixture.owner, &fixture.session, "list \"issues\" \u{e9}", HOUR)
    };
    let describe = || {
        Ok(Description {
            outline: b"an outline".to_vec(),
            kind: "json".into(),
            records: Some(430),
            tokens: 128_040,
        })
    };
    let kept = fixture.store.put(&new, &b"body".as_slice(), &describe).unwrap();
    let opened = fixture.store.open(&fixture.owner, &kept.id).unwrap();
    assert_eq!(opened.artifact, kept);
    assert_eq!(opened.outline, b"an outline");
    assert_eq!((kept.tool.as_str(), kept.kind.as_str()), ("list \"issues\" \u{e9}", "json"));
    assert_eq!((kept.records, kept.tokens), (Some(430), 128_040));
    assert_eq!(kept.expires.0 - kept.created.0, 3_600_000);
    assert_eq!(kept.created, fixture.clock.now());
    let origin = fixture.store.origin(&fixture.owner, &kept.id).unwrap();
    assert_eq!(origin.server, "github");
    assert!(origin.arguments.starts_with("{\"state\":\"\u{e9}") && origin.arguments.ends_with('\u{2026}'));
    assert!(origin.arguments.len() <= 1100, "only the beginning of long arguments is stored");
    let other = Owner::new("local:2");
    assert_eq!(fixture.store.origin(&other, &kept.id).unwrap(), CallOrigin::default(), "it is private");
    assert!(fixture.store.is_current());
}

fn owners_are_isolated(make: Make<'_>) {
    let fixture = Fixture::new(make, Quotas::default());
    let kept = fixture.put(b"mine").unwrap();
    let other = Owner::new("local:2");
    let unknown = ArtifactId::random();
    for (owner, id) in [(&other, &kept.id), (&fixture.owner, &unknown)] {
        assert!(matches!(fixture.store.open(owner, id), Err(StoreError::NotFound)));
        assert!(matches!(fixture.store.touch(owner, id, HOUR), Err(StoreError::NotFound)));
        assert!(matches!(fixture.store.delete(owner, id), Err(StoreError::NotFound)));
    }
    assert!(fixture.store.list(&other, 10).unwrap().is_empty());
    // Equal bytes of another owner are stored separately.
    let theirs = fixture
        .store
        .put(&NewArtifact::new(&other, &fixture.session, "tool", HOUR), &b"mine".as_slice(), &|| {
            Ok(Description::default())
        })
        .unwrap();
    // The user whose store it is sees them all.
    assert_eq!(fixture.store.owner_of(&theirs.id).unwrap(), Some(other.clone()));
    assert_eq!(fixture.store.owner_of(&unknown).unwrap(), None);
    let mut all = [kept.clone(), theirs.clone()];
    all.sort_by_key(|artifact| artifact.id.clone());
    assert_eq!(fixture.store.list_all(10).unwrap(), all);
    fixture.store.delete(&fixture.owner, &kept.id).unwrap();
    assert_eq!(fixture.store.open(&other, &theirs.id).unwrap().artifact.bytes, 4);
}

fn artifacts_expire_and_can_be_extended(make: Make<'_>) {
    let fixture = Fixture::new(make, Quotas::default());
    let (short, long) = (fixture.put(b"short").unwrap(), fixture.put(b"long").unwrap());
    fixture.clock.advance(HOUR - Duration::from_millis(1));
    assert!(fixture.read(&short.id).is_ok(), "readable until it expires");
    let touched = fixture.store.touch(&fixture.owner, &long.id, HOUR).unwrap();
    assert!(touched.expires > long.expires);
    fixture.clock.advance(Duration::from_millis(1));
    match fixture.store.open(&fixture.owner, &short.id) {
        Err(StoreError::Expired { at }) => assert_eq!(at, short.expires),
        other => panic!("{other:?}"),
    }
    assert!(fixture.read(&long.id).is_ok());
    // `touch` never shortens the life of an artifact.
    let again = fixture.store.touch(&fixture.owner, &long.id, Duration::from_secs(1)).unwrap();
    assert_eq!(again.expires, touched.expires);
}

fn deletes(make: Make<'_>) {
    let fixture = Fixture::new(make, Quotas::default());
    let kept = fixture.put(&noise(1, 200_000)).unwrap();
    assert!(fixture.store.usage().unwrap().stored_bytes >= 200_000);
    fixture.store.delete(&fixture.owner, &kept.id).unwrap();
    assert!(matches!(fixture.read(&kept.id), Err(StoreError::NotFound)));
    assert!(matches!(fixture.store.delete(&fixture.owner, &kept.id), Err(StoreError::NotFound)));
    assert_eq!(fixture.store.usage().unwrap().stored_bytes, 0);
}

fn lists(make: Make<'_>) {
    let fixture = Fixture::new(make, Quotas::default());
    let mut ids = Vec::new();
    for n in 0..5u8 {
        ids.push(fixture.put(&[n]).unwrap().id);
        fixture.clock.advance(Duration::from_secs(1));
    }
    ids.reverse();
    let listed: Vec<ArtifactId> =
        fixture.store.list(&fixture.owner, 3).unwrap().into_iter().map(|kept| kept.id).collect();
    assert_eq!(listed, ids[..3], "newest first");
    let mut together = [fixture.put(b"one").unwrap().id, fixture.put(b"two").unwrap().id];
    together.sort();
    let newest = fixture.store.list(&fixture.owner, 2).unwrap();
    assert_eq!(newest.into_iter().map(|kept| kept.id).collect::<Vec<_>>(), together, "then by id");
    fixture.clock.advance(2 * HOUR);
    assert!(fixture.store.list(&fixture.owner, 10).unwrap().is_empty(), "expired artifacts are not listed");
}

fn the_last_result_of_a_call_is_found(make: Make<'_>) {
    let fixture = Fixture::new(make, Quotas::default());
    let key = SealKey::ephemeral();
    let (call, other_call) = (key.call_digest(&[b"a", b"bc"]), key.call_digest(&[b"ab", b"c"]));
    assert_ne!(call, other_call);
    let put = |owner: &Owner, session: &Session, call, bytes: &[u8]| {
        let new = NewArtifact { call, ..NewArtifact::new(owner, session, "tool", HOUR) };
        let kept = fixture.store.put(&new, &bytes, &|| Ok(Description::default())).unwrap();
        fixture.clock.advance(Duration::from_secs(1));
        kept
    };
    let last = |owner: &Owner, session: &Session, call| {
        fixture.store.last_of_call(owner, session, &call).unwrap().map(|found| found.artifact.id)
    };
    let (owner, session) = (&fixture.owner, &fixture.session);
    let (stranger, another) = (Owner::new("local:2"), Session::new("two"));
    assert_eq!(last(owner, session, call), None);
    let first = put(owner, session, Some(call), b"first");
    let found = fixture.store.last_of_call(owner, session, &call).unwrap().unwrap();
    assert_eq!(found.artifact, first);
    for (bytes, is_equal) in [(b"first".as_slice(), true), (b"First", false), (b"", false)] {
        assert_eq!(fixture.store.matches(owner, &found, &bytes).unwrap(), is_equal);
    }
    // Results of other owners, other sessions, other calls or no call are not found.
    put(&stranger, session, Some(call), b"a stranger's");
    put(owner, &another, Some(call), b"of another session");
    put(owner, session, Some(other_call), b"of another call");
    put(owner, session, None, b"of no call");
    assert_eq!(last(owner, session, call), Some(first.id));
    // Equal bytes are stored once, but are two results.
    let second = put(owner, session, Some(call), b"first");
    assert_eq!(last(owner, session, call), Some(second.id.clone()));
    let third = put(owner, session, Some(call), b"third");
    assert_eq!(last(owner, session, call), Some(third.id.clone()));
    fixture.store.delete(owner, &third.id).unwrap();
    assert_eq!(last(owner, session, call), Some(second.id));
    fixture.clock.advance(HOUR);
    assert_eq!(last(owner, session, call), None, "expired");
}

fn equal_bytes_are_stored_once(make: Make<'_>) {
    let fixture = Fixture::new(make, Quotas::default());
    let bytes = noise(3, 300_000);
    let one = fixture.put(&bytes).unwrap();
    let used = fixture.store.usage().unwrap().stored_bytes;
    let two = fixture.put(&bytes).unwrap();
    assert_ne!(one.id, two.id);
    assert_eq!(fixture.store.usage().unwrap().stored_bytes, used);
    fixture.store.delete(&fixture.owner, &one.id).unwrap();
    assert_eq!(fixture.read(&two.id).unwrap(), bytes, "a body stays while an artifact refers to it");
    let three = fixture.put(&bytes).unwrap();
    fixture.store.delete(&fixture.owner, &two.id).unwrap();
    assert_eq!(fixture.store.usage().unwrap().stored_bytes, used);
    assert_eq!(fixture.read(&three.id).unwrap(), bytes);
    // Each expires by itself.
    fixture.store.touch(&fixture.owner, &three.id, 2 * HOUR).unwrap();
    let four = fixture.put(&bytes).unwrap();
    fixture.clock.advance(HOUR);
    let swept = fixture.store.sweep().unwrap();
    assert_eq!((swept.artifacts, swept.bodies), (1, 0));
    assert!(matches!(fixture.read(&four.id), Err(StoreError::NotFound)));
    assert_eq!(fixture.read(&three.id).unwrap(), bytes);
    fixture.store.delete(&fixture.owner, &three.id).unwrap();
    assert_eq!(fixture.store.usage().unwrap(), Usage::default());
}

fn quotas_refuse_and_never_evict(make: Make<'_>) {
    let fixture = Fixture::new(make, Quotas { session_bytes: 500_000, store_bytes: 800_000 });
    let first = noise(1, 400_000);
    let kept = fixture.put(&first).unwrap();
    match fixture.put(&noise(2, 200_000)) {
        Err(StoreError::QuotaFull { scope: "session", limit: 500_000, .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(fixture.store.usage().unwrap().artifacts, 1, "nothing is left of the refused artifact");
    let other = Session::new("two");
    let second = fixture.put_for(&fixture.owner, &other, &noise(3, 300_000)).unwrap();
    assert!(matches!(
        fixture.put_for(&fixture.owner, &Session::new("three"), &noise(4, 300_000)),
        Err(StoreError::QuotaFull { scope: "store", .. })
    ));
    assert_eq!(fixture.read(&kept.id).unwrap(), first, "an unexpired artifact is never evicted");
    assert!(fixture.read(&second.id).is_ok());
    // Expired artifacts are swept when their space is needed.
    fixture.clock.advance(2 * HOUR);
    assert!(fixture.put(&noise(5, 450_000)).is_ok());
}

fn sweeps(make: Make<'_>) {
    let fixture = Fixture::new(make, Quotas::default());
    for n in 0..40 {
        fixture.put(&noise(n, 100_000)).unwrap();
    }
    assert_eq!(fixture.store.sweep().unwrap().artifacts, 0, "nothing has expired");
    fixture.clock.advance(2 * HOUR);
    let kept = fixture.put(b"new").unwrap();
    let swept = fixture.store.sweep().unwrap();
    assert_eq!((swept.artifacts, swept.bodies), (40, 40));
    assert_eq!(fixture.store.usage().unwrap().artifacts, 1);
    assert_eq!(fixture.read(&kept.id).unwrap(), b"new");
}

fn ids_are_taken_once(make: Make<'_>) {
    let fixture = Fixture::new(make, Quotas::default());
    let first = fixture.put(b"first").unwrap();
    let new = NewArtifact::new(&fixture.owner, &fixture.session, "tool", HOUR);
    let again = NewArtifact { id: first.id.clone(), ..new };
    for bytes in [b"first".as_slice(), b"second"] {
        assert!(fixture.store.put(&again, &bytes, &|| Ok(Description::default())).is_err());
        assert_eq!(fixture.read(&first.id).unwrap(), b"first", "an artifact never changes");
    }
    assert_eq!(fixture.store.usage().unwrap().artifacts, 1);
}

fn a_result_that_cannot_be_described_is_not_stored(make: Make<'_>) {
    let fixture = Fixture::new(make, Quotas::default());
    for length in [100, 20_000_000] {
        let new = NewArtifact::new(&fixture.owner, &fixture.session, "tool", HOUR);
        let body = noise(length as u64, length);
        assert!(fixture.store.put(&new, &body, &|| Err(StoreError::Busy)).is_err());
        assert!(matches!(fixture.read(&new.id), Err(StoreError::NotFound)));
    }
    assert_eq!(fixture.store.usage().unwrap(), Usage::default());
}

fn equal_bytes_from_many_threads(make: Make<'_>) {
    let fixture = Fixture::new(make, Quotas::default());
    let bytes = noise(9, 150_000);
    let one = fixture.put(&bytes).unwrap().stored_bytes;
    std::thread::scope(|scope| {
        for thread in 0..6u64 {
            let (fixture, bytes) = (&fixture, &bytes);
            scope.spawn(move || {
                for _ in 0..5 {
                    let kept = fixture.put(bytes).unwrap();
                    let other = fixture.put(&noise(thread % 2, 90_000)).unwrap();
                    assert_eq!(fixture.read(&kept.id).unwrap(), *bytes);
                    fixture.store.delete(&fixture.owner, &kept.id).unwrap();
                    fixture.store.delete(&fixture.owner, &other.id).unwrap();
                }
            });
        }
    });
    let usage = Usage { artifacts: 1, stored_bytes: one };
    assert_eq!(fixture.store.usage().unwrap(), usage);
}

fn many_threads(make: Make<'_>) {
    let fixture = Fixture::new(make, Quotas::default());
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let fixture = &fixture;
            scope.spawn(move || {
                for n in 0..20 {
                    let bytes = noise(thread * 100 + n, 20_000 + 3000 * n as usize);
                    let kept = fixture.put(&bytes).unwrap();
                    assert_eq!(fixture.read(&kept.id).unwrap(), bytes);
                    if n % 3 == 0 {
                        fixture.store.delete(&fixture.owner, &kept.id).unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(fixture.store.list(&fixture.owner, 1000).unwrap().len(), 8 * 13);
}
