//! A stored result and a page of it, as both benches read them.

use std::time::Duration;

use tidegate_core::Tokens;
use tidegate_core::budget::Budget;
use tidegate_core::envelope::Handle;
use tidegate_core::hints::Hints;
use tidegate_core::measure::Meter;
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::view::{NoEngines, Query, View, ViewRequest, answer};
use tidegate_store::{ArtifactId, ArtifactStore, Description, NewArtifact, Owner, Session, open};
use tidegate_testkit::{make, sample};

/// The owner of all results.
pub(crate) fn owner() -> Owner {
    Owner::new("local:1")
}

/// Stores bytes for an hour.
pub(crate) fn put(store: &dyn ArtifactStore, body: &[u8], outline: &[u8]) -> ArtifactId {
    let (owner, session) = (owner(), Session::new("one"));
    let new = NewArtifact::new(&owner, &session, "tool", Duration::from_secs(3600));
    let describe = || Ok(Description { outline: outline.to_vec(), ..Description::default() });
    store.put(&new, &body, &describe).expect("the store works").id
}

/// Stores a result of so many records with its outline.
pub(crate) fn kept(store: &dyn ArtifactStore, records: usize) -> ArtifactId {
    let result = make::text_result(&sample::issues(records));
    let outline =
        Outline::read(&Payload::read(&result.as_slice()).expect("a result")).expect("memory").to_bytes();
    put(store, &result, &outline)
}

/// Reads a page of ten records; returns how many it shows.
pub(crate) fn page(store: &dyn ArtifactStore, id: &ArtifactId, number: u64) -> u64 {
    let source = open(store, &owner(), id).expect("the artifact exists");
    let outline = Outline::from_bytes(source.outline()).expect("a valid outline");
    let asked = ViewRequest {
        source: &source,
        outline: &outline,
        hints: &Hints::default(),
        tool: "tool",
        handle: Handle::kept("tool-3f9c2kq7m0xw", "kept 24 h"),
        query: &Query::new(View::Page { number, size: Some(10) }),
        budget: Budget::of_tokens(Tokens(2000)),
        meter: Meter::default(),
        engines: &NoEngines,
        seal: &|_| [0; 12],
    };
    answer(&asked).expect("a page").shown
}
