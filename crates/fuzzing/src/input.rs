//! Turns the bytes of a fuzzer into the parts that a target needs.
//!
//! A fuzzer does not find JSON inside a JSON string, and its inputs are small. So the first bytes say how the rest is
//! wrapped and how often it is repeated: only large results get an overview.

use tidegate_proxy::Limits;
use tidegate_testkit::make;

/// Size of the largest result that is made from an input.
const MAX_RESULT_BYTES: usize = 16 << 10;

/// Takes the first byte off the input; 0 if it is empty.
pub(crate) fn byte(data: &mut &[u8]) -> u8 {
    let Some((&first, rest)) = data.split_first() else { return 0 };
    *data = rest;
    first
}

/// Takes a short piece off the input; its length is the byte before it.
pub(crate) fn piece<'d>(data: &mut &'d [u8]) -> &'d [u8] {
    let length = usize::from(byte(data)).min(data.len());
    let (piece, rest) = data.split_at(length);
    *data = rest;
    piece
}

/// Makes a result from the rest of an input; repetition stops at `max_bytes`.
pub(crate) fn result(form: u8, data: &[u8], max_bytes: usize) -> Vec<u8> {
    let times = 1 << (form >> 3 & 7);
    let times = times.min(max_bytes.min(MAX_RESULT_BYTES) / data.len().max(1)).max(1);
    let text = || String::from_utf8_lossy(&data.repeat(times)).into_owned();
    match form & 7 {
        // Unchanged: a result, a response, or any text.
        0..=2 => data.to_vec(),
        3 => data.repeat(times),
        // One text block, as most servers send.
        4 | 5 => make::text_result(&text()),
        // A list of equal records or values.
        6 => make::text_result(&format!("[{}]", vec![String::from_utf8_lossy(data); times].join(","))),
        _ => format!("{{\"content\":[],\"structuredContent\":{}}}", text()).into_bytes(),
    }
}

/// Cuts a stream into pieces, cycling through these lengths; without lengths it is one piece.
pub(crate) fn pieces<'d>(stream: &'d [u8], lengths: &'d [u8]) -> impl Iterator<Item = &'d [u8]> {
    let mut lengths = lengths.iter().cycle();
    let mut rest = stream;
    std::iter::from_fn(move || {
        let length = lengths.next().map_or(rest.len(), |length| 1 + usize::from(*length)).min(rest.len());
        let (piece, after) = rest.split_at(length);
        rest = after;
        (!piece.is_empty()).then_some(piece)
    })
}

/// Makes memory limits from two bytes; 255 means the default. Spool files go to `/dev/shm`, which is faster than a disk.
pub(crate) fn limits(data: &mut &[u8], unit: usize) -> Limits {
    let (spool_above, most) = (usize::from(byte(data)), u64::from(byte(data)));
    Limits {
        spool_above: if spool_above == 255 { 8 << 20 } else { spool_above * unit },
        max_message_bytes: if most == 255 {
            Limits::DEFAULT_MAX_MESSAGE_BYTES
        } else {
            most * 2 * unit as u64
        },
        folder: Some("/dev/shm".into()),
    }
}
