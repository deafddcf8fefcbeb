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
    let others: Vec<&Block> = payload.blocks.iter().filter(|block| block.text_span().is_none()).collect();
    let share = draft.writer.left() / 2;
    let mut described = 0;
    for block in others.iter().take(MAX_DESCRIBED_BLOCKS) {
        let line = describe(payload, block)?;
        described += u64::from(draft.writer.within(share, |writer| writer.push(0, line)));
        keep_picture(payload, block, budget, draft)?;
    }
    draft.leave_out(LeftOut::new("", "blocks that are no text", described, others.len() as u64));
    draft.leave_out(LeftOut::new("content", "blocks", payload.blocks.len() as u64, payload.block_count));
    let kept = draft.blocks.len();
    let pictures = others.iter().filter(|block| is_picture(block)).count();
    if pictures > kept {
        draft.leave_out(LeftOut::new("", "pictures", kept as u64, pictures as u64));
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
fn describe(payload: &Payload<'_>, block: &Block) -> io::Result<String> {
    Ok(match &block.kind {
        BlockKind::Media { kind, mime, data } => {
            let word = if *kind == MediaKind::Image { "image" } else { "audio" };
            format!("{word}: {}", blob::describe(payload.source(), *data, mime)?)
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
