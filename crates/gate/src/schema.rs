//! An `outputSchema` that allows our envelope too.
//!
//! `{"type":"object","anyOf":[original, envelope]}`: the original moves two levels down, so references from its root
//! move with it. `$schema` belongs to the root of a document and moves up.

use crate::raw::{self, ByteRange, Edits};

/// The member of `structuredContent` that holds the text of our answer.
pub(crate) const MEMBER: &str = "tidegate";

/// The schema of our envelope.
const ENVELOPE: &str =
    r#"{"type":"object","properties":{"tidegate":{"type":"string"}},"required":["tidegate"]}"#;
/// Keywords whose value is data, not a schema.
const DATA_KEYWORDS: [&str; 4] = ["const", "enum", "default", "examples"];
/// Keywords whose value is an object of schemas under names of the author.
const NAMED_KEYWORDS: [&str; 6] =
    ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"];
/// The maximum number of levels of a schema; no client could use a deeper one.
const MAX_DEPTH: usize = 200;

/// Returns the schema with our envelope allowed; `None` if that cannot be expressed.
pub(crate) fn union(schema: &[u8]) -> Option<Vec<u8>> {
    let place = raw::whole(schema)?;
    let members = raw::members(schema, &place)?;
    let value =
        |key: &str| members.iter().find(|member| member.key == key).map(|member| member.value.clone());
    let mut edits = Edits::new();
    // References in a schema with an address of its own are relative to that.
    if value("$id").is_none() {
        rebase(schema, &place, &mut edits, 0)?;
    }
    edits.remove(&members, |member| member.key == "$schema");
    let mut out = b"{".to_vec();
    if let Some(dialect) = value("$schema") {
        out.extend_from_slice(b"\"$schema\":");
        out.extend_from_slice(&schema[dialect]);
        out.push(b',');
    }
    // Before 2026-07-28 the root must be an object; any other root is described by the alternatives alone.
    let object =
        value("type").is_none_or(|place| raw::text(schema, &place).is_some_and(|text| text == "object"));
    if object {
        out.extend_from_slice(b"\"type\":\"object\",");
    }
    out.extend_from_slice(b"\"anyOf\":[");
    out.extend_from_slice(&edits.apply(schema));
    out.push(b',');
    out.extend_from_slice(ENVELOPE.as_bytes());
    out.extend_from_slice(b"]}");
    Some(out)
}

/// Rewrites the references in a schema that moved two levels down.
fn rebase(json: &[u8], schema: &ByteRange, edits: &mut Edits, depth: usize) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    match json.get(schema.start)? {
        b'{' => {
            for member in raw::members(json, schema)? {
                let key = member.key.as_ref();
                if key == "$ref" {
                    move_reference(json, member.value, edits);
                } else if NAMED_KEYWORDS.contains(&key) && json[member.value.start] == b'{' {
                    for named in raw::members(json, &member.value)? {
                        rebase(json, &named.value, edits, depth + 1)?;
                    }
                } else if !DATA_KEYWORDS.contains(&key) {
                    rebase(json, &member.value, edits, depth + 1)?;
                }
            }
        }
        b'[' => {
            for element in raw::elements(json, schema)? {
                rebase(json, &element, edits, depth + 1)?;
            }
        }
        _ => {}
    }
    Some(())
}

fn move_reference(json: &[u8], place: ByteRange, edits: &mut Edits) {
    let Some(reference) = raw::text(json, &place) else { return };
    // `#name` is an anchor, which has no path.
    if reference == "#" || reference.starts_with("#/") {
        let moved = format!("#/anyOf/0{}", &reference[1..]);
        edits.replace(place, serde_json::Value::String(moved).to_string());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(schema: &str) -> String {
        String::from_utf8(union(schema.as_bytes()).unwrap()).unwrap()
    }

    #[test]
    fn references_move_with_their_schema() {
        let schema = concat!(
            r##"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","additionalProperties":false,"##,
            r##""properties":{"a":{"$ref":"#/$defs/x"},"default":{"$ref":"#"},"c":{"const":{"$ref":"#/no"}},"##,
            r##""d":{"$ref":"#anchor"},"n":{"maximum":1e400}},"$defs":{"x":{"items":[{"$ref":"#/$defs/x"}]}}}"##
        );
        let expected = concat!(
            r##"{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","anyOf":[{"type":"object","##,
            r##""additionalProperties":false,"properties":{"a":{"$ref":"#/anyOf/0/$defs/x"},"default":{"$ref":"#/anyOf/0"},"##,
            r##""c":{"const":{"$ref":"#/no"}},"d":{"$ref":"#anchor"},"n":{"maximum":1e400}},"##,
            r##""$defs":{"x":{"items":[{"$ref":"#/anyOf/0/$defs/x"}]}}},"##,
            r##"{"type":"object","properties":{"tidegate":{"type":"string"}},"required":["tidegate"]}]}"##
        );
        assert_eq!(made(schema), expected);
    }

    #[test]
    fn other_roots() {
        assert!(made(r#"{"type":"array"}"#).starts_with(r#"{"anyOf":[{"type":"array"},"#));
        assert!(made(r##"{"$id":"x","properties":{"a":{"$ref":"#/b"}}}"##).contains(r##""$ref":"#/b""##));
        assert_eq!(union(b"true"), None);
    }
}
