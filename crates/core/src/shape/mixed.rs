//! The part of an overview for what a result has beside its main text: images, audio, resources, links, unknown
//! blocks, and structured content or texts that the main text does not repeat.
//!
//! It is composed before the main text. An image is passed on if it leaves space for text; everything else is
//! described in a line.

use std::io;

use super::blob;
use super::draft::{Draft, LeftOut};
use super::parts;
use crate::budget::Budget;
use crate::measure::Picture;
use crate::payload::{Block, BlockKind, MediaKind, Payload};
use crate::quantity::Tokens;
use crate::source::Span;
use crate::{visible, write};

/// The maximum number of blocks that are described by a line each.
const MAX_DESCRIBED_BLOCKS: usize = 40;

/// Describes the blocks that are not text, and passes on images that leave space for the rest.
pub(crate) fn compose(payload: &Payload<'_>, budget: &Budget, draft: &mut Draft<'_>) -> io::Result<()> {
    let blocks = payload.blocks.iter().enumerate();
    let others: Vec<(usize, &Block)> = blocks.filter(|(_, block)| block.text_span().is_none()).collect();
    let share = draft.writer.left() / 2;
    let mut described = 0;
    for (number, block) in others.iter().take(MAX_DESCRIBED_BLOCKS) {
        let line = describe(payload, *number, block)?;
        described += u64::from(draft.writer.within(share, |writer| writer.push(0, line)));
        keep_picture(payload, block, budget, draft)?;
    }
    for number in payload.repeated_blocks() {
        draft.writer.push(0, format!("/content/{number} repeats an earlier text"));
    }
    draft.leave_out(LeftOut::new("", "blocks that are not text", described, others.len() as u64));
    draft.leave_out(LeftOut::new("content", "blocks", payload.blocks.len() as u64, payload.block_count));
    let kept = draft.blocks.len();
    let pictures = others.iter().filter(|(_, block)| is_picture(block)).count();
    if pictures > kept {
        draft.leave_out(LeftOut::new("", PICTURES, kept as u64, pictures as u64));
    }
    if payload.is_structured() {
        return compose_texts(payload, draft);
    }
    let is_said = payload.structured_repeats_text || parts::structured_apart(payload).is_some();
    if let Some(span) = payload.structured.filter(|_| !is_said) {
        draft
            .writer
            .push(0, format!("structuredContent ({}) differs from the text", write::size(span.len())));
        draft.leave_out(LeftOut::new("structuredContent", "bytes", 0, span.len()));
    }
    Ok(())
}

/// The maximum number of characters shown of a text beside structured content.
const MAX_SIDE_TEXT_CHARACTERS: usize = 600;

/// Writes the texts beside structured content, whole if they are short.
fn compose_texts(payload: &Payload<'_>, draft: &mut Draft<'_>) -> io::Result<()> {
    let share = draft.writer.left() / 4;
    let (mut shown, mut all) = (0, 0);
    for text in payload.blocks.iter().filter_map(|block| payload.text_of(block)) {
        let bytes = text.read(0..4 * MAX_SIDE_TEXT_CHARACTERS as u64)?;
        let words = visible::cut(String::from_utf8_lossy(&bytes).trim(), MAX_SIDE_TEXT_CHARACTERS);
        let whole = !words.contains('…') && bytes.len() < 4 * MAX_SIDE_TEXT_CHARACTERS;
        let placed = draft.writer.within(share, |writer| writer.push(0, format!("text: {words}")));
        shown += u64::from(placed && whole);
        all += 1;
    }
    draft.leave_out(LeftOut::new("", "texts beside structuredContent", shown, all));
    Ok(())
}

/// Writes the addresses of resources whose texts are read as one, and where their lines are in it.
pub(crate) fn write_resources(payload: &Payload<'_>, draft: &mut Draft<'_>) -> io::Result<()> {
    let share = draft.writer.left() / 8;
    let (mut line, mut shown, mut all) = (1, 0, 0);
    // Counting the lines of a text reads all of it, so stop after the last resource.
    let is_resource = |block: &Block| matches!(block.kind, BlockKind::Resource { .. });
    let last = payload.blocks.iter().rposition(is_resource);
    for (number, block) in payload.blocks.iter().enumerate().take(last.map_or(0, |last| last + 1)) {
        let is_shown = !payload.repeated_blocks().contains(&number);
        let Some(text) = payload.text_of(block).filter(|_| is_shown) else { continue };
        let first = line;
        line += text.line_feeds()? + 1;
        let BlockKind::Resource { uri, .. } = &block.kind else { continue };
        all += 1;
        let words = format!("resource {}: lines {first}-{}", visible::cut(uri, 120), line - 1);
        shown += u64::from(draft.writer.within(share, |writer| writer.push(0, words)));
    }
    draft.leave_out(LeftOut::new("", "addresses of resources", shown, all));
    Ok(())
}

/// Offers the first picture that was left out; it is all there is to read on for if the rest is shown.
pub(crate) fn offer_picture(payload: &Payload<'_>, draft: &mut Draft<'_>) {
    let is_left = |block: &Block| is_picture(block) && !draft.blocks.contains(&block.span);
    let Some(number) = payload.blocks.iter().position(is_left) else { return };
    if draft.left_out.iter().all(|left| left.what == PICTURES) {
        draft.frame.next.clear();
    }
    let at = draft.frame.next.len().min(1);
    draft.frame.next.insert(at, format!("\"path\":\"/content/{number}\""));
}

/// What pictures that are left out are called.
const PICTURES: &str = "pictures";

fn is_picture(block: &Block) -> bool {
    matches!(block.kind, BlockKind::Media { kind: MediaKind::Image, .. })
}

/// Passes on an image that costs at most half the budget and leaves space for text.
fn keep_picture(
    payload: &Payload<'_>,
    block: &Block,
    budget: &Budget,
    draft: &mut Draft<'_>,
) -> io::Result<()> {
    let Some(data) = block.data_span().filter(|_| is_picture(block)) else { return Ok(()) };
    let tokens = Picture::read(payload.source(), data)?.tokens();
    let overhead = block.span.len() - data.len();
    if tokens.0 * 2 <= budget.tokens.0
        && tokens.0 + 150 <= draft.writer.left()
        && draft.writer.take(tokens.0, overhead)
    {
        draft.blocks.push(block.span);
    }
    Ok(())
}

/// Describes a block that is not text in one line.
fn describe(payload: &Payload<'_>, number: usize, block: &Block) -> io::Result<String> {
    Ok(match &block.kind {
        BlockKind::Media { kind, mime, data } => {
            let word = if *kind == MediaKind::Image { "image" } else { "audio" };
            format!("{word} at /content/{number}: {}", blob::describe(payload.source(), *data, mime)?)
        }
        BlockKind::Resource { uri, mime, blob: Some(data), .. } => {
            format!("resource {}: {}", visible::cut(uri, 120), blob::describe(payload.source(), *data, mime)?)
        }
        BlockKind::Resource { uri, mime, .. } => {
            format!("resource {} ({})", visible::cut(uri, 120), visible::cut(mime, 60))
        }
        BlockKind::Link { uri, name } => {
            format!("link {}: {}", visible::cut(name, 80), visible::cut(uri, 160))
        }
        BlockKind::Text { .. } => String::new(),
        BlockKind::Unknown { kind } => {
            format!("block of kind {}, {}", visible::cut(kind, 60), write::size(block.span.len()))
        }
    })
}

/// Returns what the images that are passed on cost: their tokens, and their base64 bytes, which do not count.
pub(crate) fn pictures(payload: &Payload<'_>, kept: &[Span]) -> io::Result<(Tokens, u64)> {
    let (mut tokens, mut bytes) = (Tokens(0), 0);
    for data in payload.blocks.iter().filter(|block| kept.contains(&block.span)).filter_map(Block::data_span)
    {
        tokens += Picture::read(payload.source(), data)?.tokens();
        bytes += data.len();
    }
    Ok((tokens, bytes))
}
