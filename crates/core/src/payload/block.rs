//! The content blocks of a result and what each kind holds.
//!
//! Contents are spans of the source; only addresses, names and media types are copied.

use crate::source::Span;

/// Whether a media block is an image or audio.
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
        /// The span of the text.
        text: Span,
    },
    /// Base64 data of an image or audio.
    Media {
        /// Which of the two.
        kind: MediaKind,
        /// The media type, as given.
        mime: String,
        /// The span of the base64 text.
        data: Span,
    },
    /// An embedded resource.
    Resource {
        /// Its address.
        uri: String,
        /// Its media type, as given.
        mime: String,
        /// The span of its text, if it is a text.
        text: Option<Span>,
        /// The span of its base64 data, if it is binary.
        blob: Option<Span>,
    },
    /// A link to a resource.
    Link {
        /// Its address.
        uri: String,
        /// Its name.
        name: String,
    },
    /// An unknown kind of block.
    Unknown {
        /// The value of `type`.
        kind: String,
    },
}

/// One content block.
#[derive(Debug, Clone)]
pub struct Block {
    /// The span of the whole block.
    pub span: Span,
    /// What it holds.
    pub kind: BlockKind,
    /// The bytes of its members other than its type and its text: keys and values, without punctuation.
    pub beside_text: u64,
}

impl Block {
    /// Returns the span of the text of a text block or text resource.
    pub fn text_span(&self) -> Option<Span> {
        match self.kind {
            BlockKind::Text { text } => Some(text),
            BlockKind::Resource { text, .. } => text,
            _ => None,
        }
    }

    /// Returns the span of the base64 data of an image, audio or binary resource.
    pub fn data_span(&self) -> Option<Span> {
        match self.kind {
            BlockKind::Media { data, .. } => Some(data),
            BlockKind::Resource { blob, .. } => blob,
            _ => None,
        }
    }
}
