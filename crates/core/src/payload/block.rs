//! The kinds of content blocks.

use crate::source::Span;

/// Picture or sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MediaKind {
    /// `type: "image"`.
    Image,
    /// `type: "audio"`.
    Audio,
}

/// What a content block holds.
#[derive(Debug, Clone)]
pub enum BlockKind {
    /// A text; the span is the inside of the JSON string.
    Text {
        /// Where the text stands.
        text: Span,
    },
    /// Base64 data of a picture or sound.
    Media {
        /// Which of the two.
        kind: MediaKind,
        /// The media type, as given.
        mime: String,
        /// Where the base64 text stands.
        data: Span,
    },
    /// An embedded resource.
    Resource {
        /// Its address.
        uri: String,
        /// Its media type, as given.
        mime: String,
        /// Where its text stands, if it is one.
        text: Option<Span>,
        /// Where its base64 data stands, if it is binary.
        blob: Option<Span>,
    },
    /// A link to a resource.
    Link {
        /// Its address.
        uri: String,
        /// Its name.
        name: String,
    },
    /// A kind this version does not know.
    Unknown {
        /// The value of `type`.
        kind: String,
    },
}

/// One content block.
#[derive(Debug, Clone)]
pub struct Block {
    /// Where the whole block stands.
    pub span: Span,
    /// What it holds.
    pub kind: BlockKind,
}

impl Block {
    /// Returns where the text of a text block or text resource stands.
    pub fn text_span(&self) -> Option<Span> {
        match self.kind {
            BlockKind::Text { text } => Some(text),
            BlockKind::Resource { text, .. } => text,
            _ => None,
        }
    }

    /// Returns where the base64 data of a picture, sound or binary resource stands.
    pub fn data_span(&self) -> Option<Span> {
        match self.kind {
            BlockKind::Media { data, .. } => Some(data),
            BlockKind::Resource { blob, .. } => blob,
            _ => None,
        }
    }
}
