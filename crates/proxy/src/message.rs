//! A JSON-RPC message, looked into but not parsed: where its parts stand.

use std::borrow::Cow;
use std::iter;

use smallvec::SmallVec;
use tidegate_gate::raw::{self, Place};

/// Where the parts of one message stand.
#[derive(Debug, Clone, Default)]
pub(crate) struct Envelope<'j> {
    pub(crate) id: Option<Place>,
    pub(crate) method: Option<Cow<'j, str>>,
    pub(crate) params: Option<Place>,
    pub(crate) result: Option<Place>,
    pub(crate) error: Option<Place>,
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Request,
    Notification,
    Response,
    /// JSON, but no message.
    Other,
}

impl<'j> Envelope<'j> {
    /// Reads the message at a place; `None` where there is no JSON object.
    pub(crate) fn read(json: &'j [u8], place: &Place) -> Option<Self> {
        let mut envelope = Self::default();
        raw::each_member(json, place, |member| match member.key.as_ref() {
            "id" => envelope.id = Some(member.value),
            "method" => envelope.method = raw::text(json, &member.value),
            "params" => envelope.params = Some(member.value),
            "result" => envelope.result = Some(member.value),
            "error" => envelope.error = Some(member.value),
            _ => {}
        })?;
        Some(envelope)
    }

    pub(crate) fn kind(&self) -> Kind {
        match (&self.method, &self.id) {
            (Some(_), Some(_)) => Kind::Request,
            (Some(_), None) => Kind::Notification,
            (None, _) if self.result.is_some() || self.error.is_some() => Kind::Response,
            (None, _) => Kind::Other,
        }
    }
}

/// Returns the messages of a line: one, or those of a batch. `None` where the line is not JSON of either form.
pub(crate) fn messages(line: &[u8]) -> Option<SmallVec<[Place; 1]>> {
    // Some write a byte order mark first; what follows is a message all the same.
    let rest = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line).trim_ascii_start();
    let start = line.len() - rest.len();
    match rest.first()? {
        b'{' => Some(iter::once(start..line.trim_ascii_end().len()).collect()),
        b'[' => raw::elements(line, &(start..line.len())).map(SmallVec::from_vec),
        _ => None,
    }
}

/// What some write before a text.
pub(crate) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Where a message begins that stands behind text on its line, as behind a bar of progress.
pub(crate) fn behind_text(line: &[u8]) -> Option<usize> {
    let starts = memchr::memmem::find_iter(line, b"{\"").take(MANY);
    let is_message = |start: &usize| {
        let place = *start..line.trim_ascii_end().len();
        Envelope::read(line, &place).is_some_and(|envelope| envelope.kind() != Kind::Other)
    };
    starts.into_iter().find(is_message)
}

/// How many places of a line are looked at.
const MANY: usize = 8;

/// Returns whether two ids are the same, though one side may have written it otherwise: `1` and `1.0`.
pub(crate) fn same_id(one: &[u8], two: &[u8]) -> bool {
    // Whole numbers are what they are written as: beyond 2^53 a float would take them for their neighbours.
    let whole = |id: &[u8]| id.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-');
    let number = |id: &[u8]| std::str::from_utf8(id).ok()?.parse::<f64>().ok();
    match (one.first(), two.first()) {
        (Some(b'"'), Some(b'"')) => {
            let text = |id: &[u8]| raw::text(id, &(0..id.len())).map(Cow::into_owned);
            text(one).is_some_and(|one| text(two).is_some_and(|two| one == two))
        }
        (Some(b'0'..=b'9' | b'-'), Some(b'0'..=b'9' | b'-')) if !(whole(one) && whole(two)) => {
            number(one).is_some() && number(one) == number(two)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_kinds() {
        let line = br#" {"result":{"x":1},"jsonrpc":"2.0","id":7} "#;
        let places = messages(line).unwrap();
        let envelope = Envelope::read(line, &places[0]).unwrap();
        assert_eq!(envelope.kind(), Kind::Response);
        assert_eq!(&line[envelope.id.unwrap()], b"7");
        assert_eq!(messages(br#"[{"a":1},{"b":2}]"#).unwrap().len(), 2);
        for marked in [&b"\xef\xbb\xbf {\"a\":1}\r\n"[..], b"\xef\xbb\xbf[{\"a\":1}]"] {
            assert_eq!(messages(marked).unwrap()[0], 4..11);
        }
        assert_eq!(messages(b"Server listening"), None);
        assert_eq!(messages(b"[INFO] x"), None);
        assert_eq!(behind_text(br#"50% {"a":1} {"id":1,"result":{}}"#), Some(12));
        assert_eq!(behind_text(br#"50% {"id":1,"result":{}} and more"#), None);
        assert!(Envelope::read(b"{ starting }", &(0..12)).is_none());
        let log = Envelope::read(br#"{"level":"info"}"#, &(0..16)).unwrap();
        assert_eq!(log.kind(), Kind::Other);
    }

    #[test]
    fn ids_are_the_same_however_written() {
        assert!(same_id(b"1", b"1.0"));
        assert!(same_id(br#""a""#, br#""\u0061""#));
        assert!(!same_id(b"1", br#""1""#));
        assert!(!same_id(b"1", b"2"));
        assert!(!same_id(b"9007199254740993", b"9007199254740992"));
    }
}
