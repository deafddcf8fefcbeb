//! What every store must do, whatever it is made of. A backend's tests call [`contract`] with a way to make one.

#![expect(clippy::unwrap_used, reason = "a test says what went wrong by failing")]

use std::sync::Arc;
use std::time::Duration;

use tidegate_core::source::{Source, Span};
use tidegate_store::{
    Artifact, ArtifactId, ArtifactStore, CHUNK, Clock, Description, NewArtifact, Owner, Quotas, Session,
    StoreError, open,
};

use crate::clock::SetClock;
use crate::source::Elsewhere;

/// Makes an empty store with quotas and a clock.
pub type Make<'m> = &'m dyn Fn(Quotas, Arc<dyn Clock>) -> Box<dyn ArtifactStore>;

const HOUR: Duration = Duration::from_secs(3600);

/// Bytes that do not compress, the same for the same seed.
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

struct Bench {
    store: Box<dyn ArtifactStore>,
    clock: Arc<SetClock>,
    owner: Owner,
    session: Session,
}

impl Bench {
    fn new(make: Make<'_>, quotas: Quotas) -> Self {
        let clock = Arc::new(SetClock::default());
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
    what_is_known_comes_back(make);
    owners_are_apart(make);
    artifacts_expire_and_can_be_kept_longer(make);
    deleting(make);
    listing(make);
    equal_bytes_are_stored_once(make);
    quotas_refuse_and_never_evict(make);
    sweeping(make);
    many_threads(make);
}

fn bytes_come_back_exactly(make: Make<'_>) {
    let bench = Bench::new(make, Quotas::default());
    let chunk = CHUNK as usize;
    for (seed, length) in [0, 1, 100, chunk - 1, chunk, chunk + 1, 3 * chunk, 10 * chunk + 17, 9_000_000]
        .into_iter()
        .enumerate()
    {
        let bytes = noise(seed as u64, length);
        let kept = bench.put(&bytes).unwrap();
        assert_eq!(kept.bytes, length as u64);
        assert_eq!(bench.read(&kept.id).unwrap(), bytes, "{length} bytes");
        // Any range, across chunks.
        let source = open(&*bench.store, &bench.owner, &kept.id).unwrap();
        for start in [0, length / 3, length.saturating_sub(70_000), length.saturating_sub(1)] {
            let end = (start + 70_000).min(length);
            let span = Span { start: start as u64, end: end as u64 };
            assert_eq!(span.read(&source).unwrap(), &bytes[start..end]);
        }
        assert_eq!(source.read_at(length as u64, &mut [0; 4]).unwrap(), 0, "nothing behind the end");
    }
    // From a source that is not in memory.
    let bytes = noise(77, 5 * chunk + 5);
    let new = NewArtifact::new(&bench.owner, &bench.session, "tool", HOUR);
    let kept = bench.store.put(&new, &Elsewhere(bytes.clone()), &|| Ok(Description::default())).unwrap();
    assert_eq!(bench.read(&kept.id).unwrap(), bytes);
}

fn what_is_known_comes_back(make: Make<'_>) {
    let bench = Bench::new(make, Quotas::default());
    let new = NewArtifact::new(&bench.owner, &bench.session, "list \"issues\" \u{e9}", HOUR);
    let describe = || {
        Ok(Description {
            outline: b"an outline".to_vec(),
            kind: "json".into(),
            records: Some(430),
            tokens: 128_040,
        })
    };
    let kept = bench.store.put(&new, &b"body".as_slice(), &describe).unwrap();
    let opened = bench.store.open(&bench.owner, &kept.id).unwrap();
    assert_eq!(opened.artifact, kept);
    assert_eq!(opened.outline, b"an outline");
    assert_eq!((kept.tool.as_str(), kept.kind.as_str()), ("list \"issues\" \u{e9}", "json"));
    assert_eq!((kept.records, kept.tokens), (Some(430), 128_040));
    assert_eq!(kept.expires.0 - kept.created.0, 3_600_000);
    assert_eq!(kept.created, bench.clock.now());
}

fn owners_are_apart(make: Make<'_>) {
    let bench = Bench::new(make, Quotas::default());
    let kept = bench.put(b"mine").unwrap();
    let other = Owner::new("local:2");
    let unknown = ArtifactId::random();
    for (owner, id) in [(&other, &kept.id), (&bench.owner, &unknown)] {
        assert!(matches!(bench.store.open(owner, id), Err(StoreError::NotFound)));
        assert!(matches!(bench.store.touch(owner, id, HOUR), Err(StoreError::NotFound)));
        assert!(matches!(bench.store.delete(owner, id), Err(StoreError::NotFound)));
    }
    assert!(bench.store.list(&other, 10).unwrap().is_empty());
    // The same bytes of another owner are another body.
    let theirs = bench
        .store
        .put(&NewArtifact::new(&other, &bench.session, "tool", HOUR), &b"mine".as_slice(), &|| {
            Ok(Description::default())
        })
        .unwrap();
    bench.store.delete(&bench.owner, &kept.id).unwrap();
    assert_eq!(bench.store.open(&other, &theirs.id).unwrap().artifact.bytes, 4);
}

fn artifacts_expire_and_can_be_kept_longer(make: Make<'_>) {
    let bench = Bench::new(make, Quotas::default());
    let (short, long) = (bench.put(b"short").unwrap(), bench.put(b"long").unwrap());
    bench.clock.advance(HOUR - Duration::from_millis(1));
    assert!(bench.read(&short.id).is_ok(), "kept to the last moment");
    let touched = bench.store.touch(&bench.owner, &long.id, HOUR).unwrap();
    assert!(touched.expires > long.expires);
    bench.clock.advance(Duration::from_millis(1));
    match bench.store.open(&bench.owner, &short.id) {
        Err(StoreError::Expired { at }) => assert_eq!(at, short.expires),
        other => panic!("{other:?}"),
    }
    assert!(bench.read(&long.id).is_ok());
    // Touching never shortens.
    let again = bench.store.touch(&bench.owner, &long.id, Duration::from_secs(1)).unwrap();
    assert_eq!(again.expires, touched.expires);
}

fn deleting(make: Make<'_>) {
    let bench = Bench::new(make, Quotas::default());
    let kept = bench.put(&noise(1, 200_000)).unwrap();
    assert!(bench.store.usage().unwrap().stored_bytes >= 200_000);
    bench.store.delete(&bench.owner, &kept.id).unwrap();
    assert!(matches!(bench.read(&kept.id), Err(StoreError::NotFound)));
    assert!(matches!(bench.store.delete(&bench.owner, &kept.id), Err(StoreError::NotFound)));
    assert_eq!(bench.store.usage().unwrap().stored_bytes, 0);
}

fn listing(make: Make<'_>) {
    let bench = Bench::new(make, Quotas::default());
    let mut ids = Vec::new();
    for n in 0..5u8 {
        ids.push(bench.put(&[n]).unwrap().id);
        bench.clock.advance(Duration::from_secs(1));
    }
    ids.reverse();
    let listed: Vec<ArtifactId> =
        bench.store.list(&bench.owner, 3).unwrap().into_iter().map(|kept| kept.id).collect();
    assert_eq!(listed, ids[..3], "newest first");
    bench.clock.advance(2 * HOUR);
    assert!(bench.store.list(&bench.owner, 10).unwrap().is_empty(), "what has expired is not listed");
}

fn equal_bytes_are_stored_once(make: Make<'_>) {
    let bench = Bench::new(make, Quotas::default());
    let bytes = noise(3, 300_000);
    let one = bench.put(&bytes).unwrap();
    let used = bench.store.usage().unwrap().stored_bytes;
    let two = bench.put(&bytes).unwrap();
    assert_ne!(one.id, two.id);
    assert_eq!(bench.store.usage().unwrap().stored_bytes, used);
    bench.store.delete(&bench.owner, &one.id).unwrap();
    assert_eq!(bench.read(&two.id).unwrap(), bytes, "what another artifact names stays");
}

fn quotas_refuse_and_never_evict(make: Make<'_>) {
    let bench = Bench::new(make, Quotas { session_bytes: 500_000, store_bytes: 800_000 });
    let first = noise(1, 400_000);
    let kept = bench.put(&first).unwrap();
    match bench.put(&noise(2, 200_000)) {
        Err(StoreError::QuotaFull { scope: "session", limit: 500_000, .. }) => {}
        other => panic!("{other:?}"),
    }
    assert_eq!(bench.store.usage().unwrap().artifacts, 1, "nothing of the refused one is left");
    let other = Session::new("two");
    let second = bench.put_for(&bench.owner, &other, &noise(3, 300_000)).unwrap();
    assert!(matches!(
        bench.put_for(&bench.owner, &Session::new("three"), &noise(4, 300_000)),
        Err(StoreError::QuotaFull { scope: "store", .. })
    ));
    assert_eq!(bench.read(&kept.id).unwrap(), first, "an unexpired artifact is never taken away");
    assert!(bench.read(&second.id).is_ok());
    // What has expired makes room by itself.
    bench.clock.advance(2 * HOUR);
    assert!(bench.put(&noise(5, 450_000)).is_ok());
}

fn sweeping(make: Make<'_>) {
    let bench = Bench::new(make, Quotas::default());
    for n in 0..40 {
        bench.put(&noise(n, 100_000)).unwrap();
    }
    assert_eq!(bench.store.sweep().unwrap().artifacts, 0, "nothing has expired");
    bench.clock.advance(2 * HOUR);
    let kept = bench.put(b"new").unwrap();
    let swept = bench.store.sweep().unwrap();
    assert_eq!((swept.artifacts, swept.bodies), (40, 40));
    assert_eq!(bench.store.usage().unwrap().artifacts, 1);
    assert_eq!(bench.read(&kept.id).unwrap(), b"new");
}

fn many_threads(make: Make<'_>) {
    let bench = Bench::new(make, Quotas::default());
    std::thread::scope(|scope| {
        for thread in 0..8u64 {
            let bench = &bench;
            scope.spawn(move || {
                for n in 0..20 {
                    let bytes = noise(thread * 100 + n, 20_000 + 3000 * n as usize);
                    let kept = bench.put(&bytes).unwrap();
                    assert_eq!(bench.read(&kept.id).unwrap(), bytes);
                    if n % 3 == 0 {
                        bench.store.delete(&bench.owner, &kept.id).unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(bench.store.list(&bench.owner, 1000).unwrap().len(), 8 * 13);
}
