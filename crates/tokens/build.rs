//! Writes the vocabularies and the character classes as flat tables, so that the library has no start-up cost: the
//! tables are constants of the binary, and the system loads only the pages that are used.
//!
//! The ranks come from the data crates `splintr-vocab-*` (packed form: magic, count, then varint rank, varint
//! length, bytes), the classes from `regex-syntax`, so that they follow the same Unicode version as the regex
//! crates that other tokenizers are built on.

use std::path::Path;

mod hash {
    include!("src/hash.rs");
}

const MAGIC: &[u8] = b"SPLNTRV1";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=src/hash.rs");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let write = |name: &str, bytes: Vec<u8>| {
        std::fs::write(Path::new(&out).join(name), bytes).expect("OUT_DIR is writable");
    };
    write("o200k.table", vocabulary_table(splintr_vocab_o200k::O200K_BASE_VOCAB_PACKED));
    write("cl100k.table", vocabulary_table(splintr_vocab_cl100k::CL100K_BASE_VOCAB_PACKED));
    write("classes.table", class_table());
}

/// How many tokens share a base of their offsets.
const TOKENS_PER_BASE: usize = 64;

/// `count, number of slots, slots, bases` as little-endian u32, `offsets` as little-endian u16, then the bytes of all tokens.
///
/// A slot holds `fingerprint << 18 | rank + 1`, or 0 when empty; collisions probe linearly. A token begins at its base plus
/// its offset. Two of three slots are filled: fuller tables are searched longer, emptier ones make every program larger.
fn vocabulary_table(packed: &[u8]) -> Vec<u8> {
    let tokens = unpack(packed);
    let mut slots = vec![0u32; tokens.len() / 2 * 3];
    for (rank, token) in tokens.iter().enumerate() {
        let hash = hash::token_hash(token);
        let mut at = hash::first_slot(hash, slots.len());
        while slots[at] != 0 {
            at = (at + 1) % slots.len();
        }
        slots[at] = ((hash as u32 & 0x3fff) << 18) | (rank as u32 + 1);
    }
    let starts: Vec<u32> = std::iter::once(0)
        .chain(tokens.iter().scan(0, |end, token| {
            *end += token.len() as u32;
            Some(*end)
        }))
        .collect();
    let bases: Vec<u32> = starts.iter().copied().step_by(TOKENS_PER_BASE).collect();
    let mut table = Vec::new();
    for value in [tokens.len() as u32, slots.len() as u32].iter().chain(&slots).chain(&bases) {
        table.extend_from_slice(&value.to_le_bytes());
    }
    for (rank, start) in starts.iter().enumerate() {
        let offset = u16::try_from(start - bases[rank / TOKENS_PER_BASE]).expect("tokens are short");
        table.extend_from_slice(&offset.to_le_bytes());
    }
    tokens.iter().for_each(|token| table.extend_from_slice(token));
    table
}

/// The tokens in rank order; ranks must be contiguous, since a rank is stored as an index.
fn unpack(packed: &[u8]) -> Vec<Vec<u8>> {
    let mut rest = packed.strip_prefix(MAGIC).expect("a packed vocabulary starts with its magic");
    let (count, tail) = rest.split_at(4);
    let count = u32::from_le_bytes([count[0], count[1], count[2], count[3]]) as usize;
    rest = tail;
    let mut tokens = vec![Vec::new(); count];
    for _ in 0..count {
        let rank = varint(&mut rest) as usize;
        let length = varint(&mut rest) as usize;
        let (token, tail) = rest.split_at(length);
        tokens[rank] = token.to_vec();
        rest = tail;
    }
    assert!(tokens.iter().all(|token| !token.is_empty()), "ranks are contiguous");
    assert!(count < 1 << 18, "a rank fits 18 bits");
    tokens
}

fn varint(rest: &mut &[u8]) -> u32 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let byte = rest[0];
        *rest = &rest[1..];
        value |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

/// Two stages: one u16 per block of 128 code points, then the distinct blocks of class bytes.
fn class_table() -> Vec<u8> {
    const CODE_POINTS: usize = 0x11_0000;
    let mut classes = vec![0u8; CODE_POINTS];
    // src/class.rs names the bits.
    for (pattern, bits) in [
        (r"\p{L}", 1),
        (r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", 2),
        (r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", 4),
        (r"\p{N}", 8),
        (r"\s", 16),
        (r"[\r\n]", 32),
    ] {
        let hir = regex_syntax::parse(pattern).expect("a valid class");
        let regex_syntax::hir::HirKind::Class(regex_syntax::hir::Class::Unicode(set)) = hir.kind() else {
            panic!("{pattern} is a Unicode class");
        };
        for range in set.ranges() {
            for class in &mut classes[range.start() as usize..=range.end() as usize] {
                *class |= bits;
            }
        }
    }
    let mut blocks: Vec<&[u8]> = Vec::new();
    let mut index = Vec::new();
    for block in classes.chunks(128) {
        let at = blocks.iter().position(|known| *known == block).unwrap_or_else(|| {
            blocks.push(block);
            blocks.len() - 1
        });
        index.extend_from_slice(&(at as u16).to_le_bytes());
    }
    for block in blocks {
        index.extend_from_slice(block);
    }
    index
}
