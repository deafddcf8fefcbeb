//! The edits that turn the bytes of one result into those of another.
//!
//! A patch is exact: applied to the old bytes, it gives the new ones, whatever they are. It is small if little changed: both
//! results are split after line feeds, commas and closing braces, and the patch has only the pieces that differ. Above
//! [`MAX_COMPARED_BYTES`] it replaces everything between the equal beginning and the equal end.

use super::MAX_COMPARED_BYTES;
use super::sequence::{Numbering, replacements};

/// An edit that replaces bytes of the old result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByteEdit {
    /// Where the replaced bytes begin in the old result.
    pub at: usize,
    /// How many bytes are removed.
    pub removed: usize,
    /// The bytes that are inserted in their place.
    pub inserted: Vec<u8>,
}

/// Returns the edits that turn the old bytes into the new ones, in order.
///
/// ```
/// use tidegate_core::diff::{apply, patch};
///
/// let edits = patch(b"a,b,c", b"a,x,c");
/// assert_eq!((edits[0].at, edits[0].removed, edits[0].inserted.as_slice()), (2, 2, b"x,".as_slice()));
/// assert_eq!(apply(b"a,b,c", &edits).unwrap(), b"a,x,c");
/// ```
pub fn patch(old: &[u8], new: &[u8]) -> Vec<ByteEdit> {
    if old == new {
        return Vec::new();
    }
    if old.len().max(new.len()) as u64 > MAX_COMPARED_BYTES {
        return vec![middle(old, new)];
    }
    let mut numbering = Numbering::new();
    let (old_pieces, new_pieces) = (pieces(old), pieces(new));
    let old_numbers: Vec<u32> = old_pieces.iter().map(|piece| numbering.of(*piece)).collect();
    let new_numbers: Vec<u32> = new_pieces.iter().map(|piece| numbering.of(*piece)).collect();
    let (mut edits, mut at, mut counted) = (Vec::new(), 0, 0);
    for run in replacements(&old_numbers, &new_numbers) {
        at += length(&old_pieces[counted..run.old.start]);
        let removed = length(&old_pieces[run.old.clone()]);
        edits.push(ByteEdit { at, removed, inserted: new_pieces[run.new].concat() });
        at += removed;
        counted = run.old.end;
    }
    edits
}

/// Applies edits to the old bytes; `None` if they are not edits of these bytes.
pub fn apply(old: &[u8], edits: &[ByteEdit]) -> Option<Vec<u8>> {
    let (mut out, mut from) = (Vec::with_capacity(old.len()), 0);
    for edit in edits {
        out.extend_from_slice(old.get(from..edit.at)?);
        out.extend_from_slice(&edit.inserted);
        from = edit.at.checked_add(edit.removed)?;
    }
    out.extend_from_slice(old.get(from..)?);
    Some(out)
}

/// Returns the one edit that replaces everything between the equal beginning and the equal end.
fn middle(old: &[u8], new: &[u8]) -> ByteEdit {
    let is_inside = |bytes: &[u8], at: usize| bytes.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let mut before = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    // Do not split characters, so that the inserted bytes are text if the result is.
    while before > 0 && (is_inside(old, before) || is_inside(new, before)) {
        before -= 1;
    }
    let ends = old[before..].iter().rev().zip(new[before..].iter().rev());
    let mut after = ends.take_while(|(a, b)| a == b).count();
    while after > 0 && (is_inside(old, old.len() - after) || is_inside(new, new.len() - after)) {
        after -= 1;
    }
    let inserted = new[before..new.len() - after].to_vec();
    ByteEdit { at: before, removed: old.len() - after - before, inserted }
}

fn length(pieces: &[&[u8]]) -> usize {
    pieces.iter().map(|piece| piece.len()).sum()
}

/// Splits bytes after line feeds, literal or escaped, commas and closing braces.
fn pieces(bytes: &[u8]) -> Vec<&[u8]> {
    let (mut pieces, mut start) = (Vec::new(), 0);
    for (at, byte) in bytes.iter().enumerate() {
        let ends = match byte {
            b'\n' | b',' | b'}' => true,
            b'n' => at > start && bytes[at - 1] == b'\\',
            _ => false,
        };
        if ends {
            pieces.push(&bytes[start..=at]);
            start = at + 1;
        }
    }
    pieces.push(&bytes[start..]);
    pieces
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_small_change_makes_a_small_patch() {
        let old =
            br#"{"content":[{"type":"text","text":"[{\"id\":1,\"state\":\"open\"},{\"id\":2}]\nend"}]}"#;
        let new =
            br#"{"content":[{"type":"text","text":"[{\"id\":1,\"state\":\"closed\"},{\"id\":2}]\nend"}]}"#;
        let edits = patch(old, new);
        assert_eq!(edits.len(), 1);
        assert!(edits[0].inserted.len() < 30, "{edits:?}");
        assert_eq!(apply(old, &edits).unwrap(), new);
    }

    #[test]
    fn above_the_limit_a_patch_replaces_everything_between_the_equal_ends() {
        let size = usize::try_from(MAX_COMPARED_BYTES).unwrap();
        let old = "é".repeat(size);
        let new = old.replacen("éé", "èx", 1);
        let edits = patch(old.as_bytes(), new.as_bytes());
        assert_eq!(edits.len(), 1);
        assert!(std::str::from_utf8(&edits[0].inserted).is_ok(), "characters stay whole");
        assert!(apply(old.as_bytes(), &edits).unwrap() == new.as_bytes());
    }

    #[test]
    fn edits_of_other_bytes_are_refused() {
        let edits = [ByteEdit { at: 3, removed: 9, inserted: Vec::new() }];
        assert_eq!(apply(b"abcd", &edits), None);
    }

    proptest! {
        #[test]
        fn a_patch_of_text_gives_the_new_text(old in "[a-c,\\\\n}é]{0,200}", new in "[a-c,\\\\n}é]{0,200}") {
            let edits = patch(old.as_bytes(), new.as_bytes());
            prop_assert_eq!(apply(old.as_bytes(), &edits).unwrap(), new.as_bytes());
            prop_assert!(edits.iter().all(|edit| std::str::from_utf8(&edit.inserted).is_ok()));
            prop_assert_eq!(edits.is_empty(), old == new);
        }

        #[test]
        fn a_patch_of_any_bytes_gives_the_new_bytes(old in prop::collection::vec(any::<u8>(), 0..300), new in prop::collection::vec(any::<u8>(), 0..300)) {
            prop_assert_eq!(apply(&old, &patch(&old, &new)).unwrap(), new);
        }
    }
}
