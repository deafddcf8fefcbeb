//! The contract suite: what every store must do, whatever its backend. Each case is a test of its own on each backend:
//! [`contract_tests!`](crate::contract_tests) declares them for a function that makes an empty store.

pub mod bytes;
pub mod equal;
pub mod expiry;
pub mod ids;
pub mod lists;
pub mod metadata;
pub mod owners;
pub mod quotas;
pub mod repeats;
pub mod sweeps;
pub mod threads;

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::source::Span;
use tidegate_store::{
    Artifact, ArtifactId, ArtifactStore, Clock, Description, NewArtifact, Owner, Quotas, Session, StoreError,
    open,
};

use crate::clock::ManualClock;

/// A function that makes an empty store with the given quotas and clock; `None` if its server is not installed.
pub type Make<'m> = &'m dyn Fn(Quotas, Arc<dyn Clock>) -> Option<Made>;

/// An empty store.
pub struct Made {
    /// The store.
    pub store: Box<dyn ArtifactStore>,
    /// Whatever must live as long as the store does, such as its folder.
    pub guard: Box<dyn Any>,
}

impl Made {
    /// Returns a store that needs nothing else.
    pub fn alone(store: impl ArtifactStore + 'static) -> Option<Self> {
        Self::with(store, ())
    }

    /// Returns a store and what must live as long.
    pub fn with(store: impl ArtifactStore + 'static, guard: impl Any) -> Option<Self> {
        Some(Self { store: Box::new(store), guard: Box::new(guard) })
    }
}

/// The usual life of an artifact in these tests.
const HOUR: Duration = Duration::from_secs(3600);

/// Declares a test for each case of the contract.
#[macro_export]
macro_rules! contract_tests {
    ($make:expr) => {
        $crate::contract_tests! { @cases $make;
            bytes: an_empty_result, one_byte, less_than_a_chunk, exactly_a_chunk, a_chunk_and_a_byte, three_chunks,
                ten_chunks_and_a_rest, the_largest_small_body, the_smallest_large_body, several_batches, text_compresses,
                ranges_across_chunks, nothing_past_the_end, a_source_that_reads_short, a_missing_chunk, chunks_by_number,
                a_source_that_fails;
            metadata: a_description_comes_back, an_outline_comes_back, a_large_outline, no_records, a_tool_name_of_any_kind,
                the_origin_of_a_call, long_arguments_are_cut, an_origin_is_private, no_origin, the_store_is_current,
                control_characters;
            owners: foreign_and_unknown_are_the_same, foreign_results_are_not_listed, equal_bytes_of_two_owners,
                the_owner_of_an_artifact, all_owners_are_listed, deleting_leaves_the_other_owner, similar_owner_names,
                a_foreign_chunk_cannot_be_read, an_open_body_is_never_another_one, a_result_above_the_tier_does_not_exist,
                a_tier_is_copied;
            expiry: readable_until_it_expires, an_expired_result_says_when, touch_extends, touch_never_shortens,
                an_expired_result_cannot_be_touched, a_clock_set_ahead_expires_nothing, an_expired_result_can_be_deleted;
            lists: newest_first, then_by_id, at_most_the_limit, expired_results_are_not_listed, an_empty_list,
                a_deleted_result_is_gone, deleting_twice, deleting_frees_space;
            repeats: no_earlier_result, the_last_result_of_a_call, of_this_owner_only, of_this_session_only,
                of_this_call_only, equal_bytes_are_two_results, a_deleted_result_is_not_the_last,
                an_expired_result_is_not_the_last, two_results_in_one_millisecond;
            equal: equal_bytes_are_stored_once, a_body_stays_while_it_is_used, equal_bytes_expire_separately,
                equal_large_bytes, equal_bytes_after_deletion;
            quotas: the_session_quota_refuses, the_store_quota_refuses, the_owner_quota_refuses, a_refused_result_leaves_nothing,
                nothing_unexpired_is_evicted, expired_results_make_room, a_quota_can_be_filled_exactly,
                equal_bytes_need_no_room, deleting_makes_room, owners_have_quotas_of_their_own,
                sessions_of_two_owners_are_two_sessions, a_large_result_is_refused, bytes_are_compressed_bytes;
            sweeps: nothing_expired, expired_results_are_removed, many_expired_results, a_swept_result_is_not_found,
                usage_is_exact;
            ids: an_id_is_taken_once, an_id_of_another_owner_is_taken, a_result_that_cannot_be_described,
                a_large_result_that_cannot_be_described, long_ids;
            threads: many_threads, equal_bytes_from_many_threads, a_quota_from_many_threads, readers_beside_a_deleter;
        }
    };
    (@cases $make:expr; $($group:ident: $($case:ident),+;)+) => {
        $($(
            #[test]
            fn $case() {
                $crate::contract::$group::$case(&$make);
            }
        )+)+
    };
}

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
    /// Dropped after the store.
    _guard: Box<dyn Any>,
}

impl Fixture {
    /// Makes a store without tight quotas; `None` if its server is not installed.
    fn new(make: Make<'_>) -> Option<Self> {
        Self::with_quotas(make, Quotas::default())
    }

    fn with_quotas(make: Make<'_>, quotas: Quotas) -> Option<Self> {
        let clock = Arc::new(ManualClock::default());
        let Made { store, guard } = make(quotas, clock.clone())?;
        Some(Self { store, clock, owner: Owner::new("local:1"), session: Session::new("one"), _guard: guard })
    }

    fn new_artifact(&self) -> NewArtifact<'_> {
        NewArtifact::new(&self.owner, &self.session, "tool", HOUR)
    }

    fn put(&self, bytes: &[u8]) -> Result<Artifact, StoreError> {
        self.put_for(&self.owner, &self.session, bytes)
    }

    fn put_for(&self, owner: &Owner, session: &Session, bytes: &[u8]) -> Result<Artifact, StoreError> {
        self.put_new(&NewArtifact::new(owner, session, "tool", HOUR), bytes)
    }

    fn put_new(&self, new: &NewArtifact<'_>, bytes: &[u8]) -> Result<Artifact, StoreError> {
        self.store.put(new, &bytes, &|| Ok(Description::default()))
    }

    fn read(&self, id: &ArtifactId) -> Result<Vec<u8>, StoreError> {
        self.read_for(&self.owner, id)
    }

    fn read_for(&self, owner: &Owner, id: &ArtifactId) -> Result<Vec<u8>, StoreError> {
        let source = open(&*self.store, owner, id)?;
        Ok(Span::whole(&source).read(&source).expect("an open artifact can be read"))
    }

    fn ids(&self, limit: usize) -> Vec<ArtifactId> {
        let listed = self.store.list(&self.owner, limit).expect("the store works");
        listed.into_iter().map(|artifact| artifact.id).collect()
    }
}
