//! Byte-pair merging of one piece that is not a token by itself: counts the tokens that are left when no two neighbours
//! can be merged any more.
//!
//! Each step merges the pair with the lowest rank, the leftmost of equals, as the vocabularies were trained. Short pieces
//! find the minimum by a linear scan; long ones (a huge word, base64) keep a heap, which makes the cost n log n.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::vocabulary::Vocabulary;

/// The rank of a pair that is not in the vocabulary.
const NO_RANK: u32 = u32::MAX;
/// Bytes of the longest piece that is scanned; from here on the heap is faster.
const MAX_SCANNED_BYTES: usize = 96;

/// Returns the number of tokens of a piece.
pub(crate) fn count(vocabulary: &Vocabulary, piece: &[u8]) -> usize {
    if piece.len() <= MAX_SCANNED_BYTES {
        count_by_scanning(vocabulary, piece)
    } else {
        count_by_heap(vocabulary, piece)
    }
}

fn count_by_scanning(vocabulary: &Vocabulary, piece: &[u8]) -> usize {
    // parts[i] = (start of part i, rank of the merge of part i with part i + 1); the last entry marks the end.
    let mut parts = [(0u32, NO_RANK); MAX_SCANNED_BYTES + 1];
    let mut count = piece.len();
    for (start, part) in parts.iter_mut().enumerate().take(count + 1) {
        part.0 = start as u32;
        part.1 = piece.get(start..start + 2).map_or(NO_RANK, |pair| vocabulary.rank(pair).unwrap_or(NO_RANK));
    }
    loop {
        let (mut at, mut lowest) = (0, NO_RANK);
        for (index, part) in parts[..count].iter().enumerate() {
            if part.1 < lowest {
                (at, lowest) = (index, part.1);
            }
        }
        if lowest == NO_RANK {
            return count;
        }
        parts.copy_within(at + 2..=count, at + 1);
        count -= 1;
        let rank = |index: usize, parts: &[(u32, u32)]| {
            if index + 2 > count {
                return NO_RANK;
            }
            let merged = &piece[parts[index].0 as usize..parts[index + 2].0 as usize];
            vocabulary.rank(merged).unwrap_or(NO_RANK)
        };
        parts[at].1 = rank(at, &parts);
        if at > 0 {
            parts[at - 1].1 = rank(at - 1, &parts);
        }
    }
}

fn count_by_heap(vocabulary: &Vocabulary, piece: &[u8]) -> usize {
    // A part is identified by its start: ends[start] is its end, or 0 after it was merged into the part before it.
    // starts[end - 1] is the start of the part that ends at `end`.
    let length = piece.len();
    let mut ends: Vec<u32> = (1..=length as u32).collect();
    let mut starts: Vec<u32> = (0..length as u32).collect();
    let mut heap = BinaryHeap::with_capacity(length);
    let push = |heap: &mut BinaryHeap<_>, start: u32, end: u32| {
        if let Some(rank) = vocabulary.rank(&piece[start as usize..end as usize]) {
            heap.push(Reverse((rank, start, end)));
        }
    };
    for start in 0..length - 1 {
        push(&mut heap, start as u32, start as u32 + 2);
    }
    let mut count = length;
    while let Some(Reverse((_, start, end))) = heap.pop() {
        // An entry is stale unless it still spans exactly two parts.
        let middle = ends[start as usize];
        if middle == 0 || middle >= end || ends[middle as usize] != end {
            continue;
        }
        ends[start as usize] = end;
        ends[middle as usize] = 0;
        starts[end as usize - 1] = start;
        count -= 1;
        if (end as usize) < length {
            push(&mut heap, start, ends[end as usize]);
        }
        if start > 0 {
            push(&mut heap, starts[start as usize - 1], end);
        }
    }
    count
}
