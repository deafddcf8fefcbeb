//! Bytes come back exactly, whole and in parts, whatever their number.

#![expect(clippy::unwrap_used, reason = "a test reports an error by panicking")]
#![expect(missing_docs, reason = "the name of a case says what it checks")]

use std::io;

use tidegate_core::source::{Source, Span};
use tidegate_store::{CHUNK_BYTES, Description, StoreError, open};

use super::{Fixture, Make, noise};
use crate::source::ShortReadSource;

const CHUNK: usize = CHUNK_BYTES as usize;

fn comes_back(make: Make<'_>, bytes: &[u8]) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.put(bytes).unwrap();
    assert_eq!(kept.bytes, bytes.len() as u64);
    assert!(fixture.read(&kept.id).unwrap() == bytes, "{} bytes come back exactly", bytes.len());
}

pub fn an_empty_result(make: Make<'_>) {
    comes_back(make, b"");
}

pub fn one_byte(make: Make<'_>) {
    comes_back(make, b"x");
}

pub fn less_than_a_chunk(make: Make<'_>) {
    comes_back(make, &noise(1, CHUNK - 1));
}

pub fn exactly_a_chunk(make: Make<'_>) {
    comes_back(make, &noise(2, CHUNK));
}

pub fn a_chunk_and_a_byte(make: Make<'_>) {
    comes_back(make, &noise(3, CHUNK + 1));
}

pub fn three_chunks(make: Make<'_>) {
    comes_back(make, &noise(4, 3 * CHUNK));
}

pub fn ten_chunks_and_a_rest(make: Make<'_>) {
    comes_back(make, &noise(5, 10 * CHUNK + 17));
}

pub fn the_largest_small_body(make: Make<'_>) {
    comes_back(make, &noise(6, 256 * 1024));
}

pub fn the_smallest_large_body(make: Make<'_>) {
    comes_back(make, &noise(7, 256 * 1024 + 1));
}

pub fn several_batches(make: Make<'_>) {
    comes_back(make, &noise(8, 21_000_003));
}

pub fn text_compresses(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let text = "a line that occurs again and again\n".repeat(40_000);
    let kept = fixture.put(text.as_bytes()).unwrap();
    assert!(kept.stored_bytes < kept.bytes / 10, "{} of {} bytes", kept.stored_bytes, kept.bytes);
    assert_eq!(fixture.read(&kept.id).unwrap(), text.as_bytes());
}

pub fn ranges_across_chunks(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    for (seed, length) in [300_000, 9_000_000].into_iter().enumerate() {
        let bytes = noise(seed as u64, length);
        let kept = fixture.put(&bytes).unwrap();
        let source = open(&*fixture.store, &fixture.owner, &kept.id).unwrap();
        for start in [length - 1, 0, length / 3, length - 70_000, CHUNK - 1, CHUNK, length / 2] {
            let end = (start + 70_000).min(length);
            let span = Span { start: start as u64, end: end as u64 };
            assert!(span.read(&source).unwrap() == bytes[start..end], "{start}..{end} of {length}");
        }
    }
}

pub fn nothing_past_the_end(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    for length in [0, 1, CHUNK, 300_000] {
        let kept = fixture.put(&noise(9, length)).unwrap();
        let source = open(&*fixture.store, &fixture.owner, &kept.id).unwrap();
        assert_eq!(source.read_at(length as u64, &mut [0; 4]).unwrap(), 0);
        assert_eq!(source.read_at(u64::MAX, &mut [0; 4]).unwrap(), 0);
    }
}

pub fn a_source_that_reads_short(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    for length in [5 * CHUNK + 5, 700_000] {
        let bytes = noise(77, length);
        let source = ShortReadSource(bytes.clone());
        let kept =
            fixture.store.put(&fixture.new_artifact(), &source, &|| Ok(Description::default())).unwrap();
        assert!(fixture.read(&kept.id).unwrap() == bytes);
    }
}

pub fn a_missing_chunk(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    for length in [100, 300_000] {
        let kept = fixture.put(&noise(10, length)).unwrap();
        let opened = fixture.store.open(&fixture.owner, &kept.id).unwrap();
        for number in [(length / CHUNK) as u64 + 1, 1 << 40, u64::MAX] {
            assert!(fixture.store.read_chunk(&opened, number).is_err(), "chunk {number}");
        }
    }
}

pub fn chunks_by_number(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let bytes = noise(11, 20 * CHUNK + 5);
    let kept = fixture.put(&bytes).unwrap();
    let opened = fixture.store.open(&fixture.owner, &kept.id).unwrap();
    // Backwards, in steps, and again: whatever a cache holds, the chunk is the one that was asked for.
    for number in (0..=20).rev().chain((0..=20).step_by(3)).chain(0..=20) {
        let chunk = fixture.store.read_chunk(&opened, number as u64).unwrap();
        let end = ((number + 1) * CHUNK).min(bytes.len());
        assert!(chunk == bytes[number * CHUNK..end], "chunk {number}");
    }
}

/// A source that fails after some bytes, as a file does whose disk fails.
struct FailingSource(usize);

impl Source for FailingSource {
    fn len(&self) -> u64 {
        20_000_000
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset as usize >= self.0 {
            return Err(io::Error::other("the disk failed"));
        }
        buffer.fill(7);
        Ok(buffer.len())
    }
}

pub fn a_source_that_fails(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    for after in [0, 1_000_000, 19_000_000] {
        let new = fixture.new_artifact();
        let put = fixture.store.put(&new, &FailingSource(after), &|| Ok(Description::default()));
        assert!(matches!(put, Err(StoreError::Source(_))), "{put:?}");
        assert!(matches!(fixture.read(&new.id), Err(StoreError::NotFound)));
    }
    assert_eq!(fixture.store.usage().unwrap().stored_bytes, 0);
}
