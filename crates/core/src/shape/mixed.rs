//! What stands beside the text of a result: pictures, sounds, resources, links, blocks of kinds unknown, and
//! structured content that says more than the text.

use std::io;

use super::blob;
use super::draft::{Draft, LeftOut};
use crate::budget::Budget;
use crate::measure::Picture;
use crate::payload::{Block, BlockKind, MediaKind, Payload};
use crate::quantity::Tokens;
use crate::source::Span;
use crate::{visible, write};

/// The most blocks that get a line each.
const LINES: usize = 40;

/// Describes the blocks that are no text, and hands on pictures that leave room for the rest.
pub(crate) fn compose(payload: &Payload<'_>, budget: &Budget, draft: &mut Draft<'_>) -> io::Result<()> {
    let others: Vec<&Block> = payload.blocks.iter().filter(|block| block.text_span().is_none()).collect();
    let share = draft.room.left() / 2;
    let mut described = 0;
    for block in others.iter().take(LINES) {
        let line = describe(payload, block)?;
        described += u64::from(draft.room.within(share, |room| room.push(0, line)));
        keep_picture(payload, block, budget, draft)?;
    }
    let all = payload.block_count - (payload.blocks.len() - others.len()) as u64;
    draft.leave_out(LeftOut::new("", "blocks that are no text", described, all));
    let kept = draft.blocks.len();
    let pictures = others.iter().filter(|block| is_picture(block)).count();
    if pictures > kept {
        draft.leave_out(LeftOut::new("", "pictures", kept as u64, pictures as u64));
    }
    if payload.is_structured() {
        return compose_texts(payload, draft);
    }
    if let Some(span) = payload.structured.filter(|_| !payload.structured_repeats_text) {
        draft.room.push(0, format!("structuredContent ({}) differs from the text", write::size(span.len())));
        draft.leave_out(LeftOut::new("structuredContent", "bytes", 0, span.len()));
    }
    Ok(())
}

/// Characters shown of a text beside structured content.
const BESIDE: usize = 600;

/// The words beside structured content: whole where they are few.
fn compose_texts(payload: &Payload<'_>, draft: &mut Draft<'_>) -> io::Result<()> {
    let share = draft.room.left() / 4;
    let (mut shown, mut all) = (0, 0);
    for text in payload.blocks.iter().filter_map(|block| payload.text_of(block)) {
        let bytes = text.read(0..4 * BESIDE as u64)?;
        let words = visible::cut(String::from_utf8_lossy(&bytes).trim(), BESIDE);
        let whole = !words.contains('…') && bytes.len() < 4 * BESIDE;
        let placed = draft.room.within(share, |room| room.push(0, format!("text: {words}")));
        shown += u64::from(placed && whole);
        all += 1;
    }
    draft.leave_out(LeftOut::new("", "texts beside structuredContent", shown, all));
    Ok(())
}

fn is_picture(block: &Block) -> bool {
    matches!(block.kind, BlockKind::Media { kind: MediaKind::Image, .. })
}

/// Hands on a picture that costs at most half the budget and still leaves room for words.
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
        && tokens.0 + 150 <= draft.room.left()
        && draft.room.take(tokens.0, overhead)
    {
        draft.blocks.push(block.span);
    }
    Ok(())
}

/// One line for a block that is no text.
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

/// What the pictures cost that are handed on: their tokens, and their base64 bytes, which do not count.
pub(crate) fn pictures(payload: &Payload<'_>, kept: &[Span]) -> io::Result<(Tokens, u64)> {
    let (mut tokens, mut bytes) = (Tokens(0), 0);
    for data in payload.blocks.iter().filter(|block| kept.contains(&block.span)).filter_map(Block::data_span)
    {
        tokens += Picture::read(payload.source(), data)?.tokens();
        bytes += data.len();
    }
    Ok((tokens, bytes))
}
