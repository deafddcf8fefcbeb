//! Pictures of a result: `path` with the place of one (`/content/1`) returns the image block itself.
//!
//! A picture cannot be shown in part, so asking for one is asking for what it costs, up to the caller's cap.

use std::io;

use super::answer::{Answer, RESULT_BYTES, ViewRequest};
use super::dataset::Dataset;
use super::error::ViewError;
use super::{View, path, segment};
use crate::envelope;
use crate::json::string;
use crate::measure::{Cost, Picture};
use crate::payload::{Block, BlockKind, MediaKind, Payload};
use crate::quantity::Bytes;
use crate::shape::describe_data;
use crate::source::{Source, Span};
use crate::write;

/// Returns whether a view asks for a picture.
///
/// # Errors
///
/// The source cannot be read.
pub fn is_picture(source: &dyn Source, view: &View) -> io::Result<bool> {
    let Some(number) = block_number(view) else { return Ok(false) };
    let payload = Payload::read_result(source).map_err(io::Error::other)?;
    Ok(payload.blocks.get(number).and_then(picture_of).is_some())
}

/// Returns the number of the block that a path names.
pub(super) fn block_number(view: &View) -> Option<usize> {
    let View::Path(path) = view else { return None };
    let path = path.trim();
    let pointer = path.strip_prefix('/').filter(|inside| inside.starts_with('/')).unwrap_or(path);
    let steps: Vec<String> = segment::keys(pointer)?;
    let [first, number] = steps.as_slice() else { return None };
    number.parse().ok().filter(|_| first == "content")
}

/// Returns the media type and the base64 text of a block that is a picture.
fn picture_of(block: &Block) -> Option<(&str, Span)> {
    match &block.kind {
        BlockKind::Media { kind: MediaKind::Image, mime, data } => Some((mime, *data)),
        BlockKind::Resource { mime, blob: Some(data), .. } if mime.starts_with("image/") => {
            Some((mime, *data))
        }
        _ => None,
    }
}

/// Answers a query for a picture; `None` if it asks for something else, or the data has a value at that path.
pub(super) fn answer(dataset: &Dataset<'_>, asked: &ViewRequest<'_>) -> Result<Option<Answer>, ViewError> {
    let View::Path(path) = &asked.query.view else { return Ok(None) };
    let Some(number) = block_number(&asked.query.view) else { return Ok(None) };
    if !path.trim().starts_with("//") && path::target(dataset, path).is_ok() {
        return Ok(None);
    }
    let payload = Payload::read_result(asked.source).map_err(io::Error::other)?;
    let block = payload.blocks.get(number);
    let Some((mime, data)) = block.and_then(picture_of) else { return Ok(None) };
    let picture = Picture::read(asked.source, data)?;
    let body = format!("image at /content/{number}: {}", describe_data(asked.source, data, mime)?);
    let what = format!("the picture at \"/content/{number}\", which follows this text");
    let text = envelope::part_text(asked.handle, &what, &[], &body, None);
    let tokens = asked.meter.count(&text) + picture.tokens();
    if tokens > asked.budget.tokens {
        return Err(ViewError::bad(format!(
            "this picture costs {} tokens, and the answer may cost {}; raise max_tokens, or save it with `tidegate export ID --block {} -o FILE`",
            write::grouped(tokens.0),
            write::grouped(asked.budget.tokens.0),
            number + 1
        )));
    }
    let bytes = string::written_len(&text) as u64 + RESULT_BYTES + BLOCK_BYTES + mime.len() as u64;
    let cost = Cost { tokens, estimated: asked.meter.is_estimate(), bytes: Bytes(bytes) };
    let mut block = String::from("{\"type\":\"image\",\"mimeType\":");
    string::write(mime, &mut block);
    block.push_str(",\"data\":\"");
    block.push_str(&String::from_utf8_lossy(&data.read(asked.source)?));
    block.push_str("\"}");
    Ok(Some(Answer { text, body, shown: 1, of: Some(1), next: None, cost, picture: Some(block) }))
}

/// The bytes of an image block beside its media type and its data.
const BLOCK_BYTES: u64 = 48;
