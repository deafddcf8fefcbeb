//! The `inputSchema` of a tool, as far as it decides whether a value fits an argument.
//!
//! Only the values that references stand for are checked, each at its own place: the client wrote everything else, and the
//! server checks it all. Known are `type`, `enum`, `const`, `required`, `properties`, `additionalProperties`, `items`,
//! `prefixItems`, the limits of lengths and numbers, `anyOf`, `oneOf`, `allOf` and references inside the schema. Other
//! keywords are ignored, so a value that is refused here is refused by every validator.

use std::cell::Cell;

use serde_json::Value;
use tidegate_core::plain_name;

use super::find::{ArgumentPath, Step};
use crate::raw::{self, ByteRange};

/// The most levels of a schema and of a value that are looked at.
const MAX_DEPTH: usize = 32;
/// The most bytes that are read to check one value, each as often as it is read: a schema can lead in circles, and branch
/// there. A value that is not decided by then is left to the server.
const MAX_READ_BYTES: usize = 256 << 20;
/// What a look at a schema costs at least, in bytes.
const LOOK_BYTES: usize = 256;

/// The input schema of a tool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct InputSchema {
    root: Value,
}

impl InputSchema {
    /// Reads a schema; `None` if it is not JSON.
    pub(crate) fn read(json: &[u8]) -> Option<Self> {
        serde_json::from_slice(json).ok().map(|root| Self { root })
    }

    /// Returns the schema as JSON.
    pub(crate) fn json(&self) -> &Value {
        &self.root
    }

    /// Returns what is put into the arguments at a path: the value, or its JSON as a string if the argument is a string and
    /// the value is not.
    ///
    /// # Errors
    ///
    /// Why the value does not fit there.
    pub(crate) fn fit(&self, path: &ArgumentPath, json: Vec<u8>) -> Result<Vec<u8>, String> {
        let checker = Checker { root: &self.root, bytes_left: Cell::new(MAX_READ_BYTES) };
        let mut places = Vec::new();
        checker.locate(&self.root, &path.0, 0, &mut places);
        let Err(why) = checker.check_any(&places, &json) else { return Ok(json) };
        let takes_text = places.iter().any(|schema| checker.takes_strings(schema, 0));
        if takes_text && !json.starts_with(b"\"") {
            let text = Value::from(String::from_utf8_lossy(&json)).to_string().into_bytes();
            return checker.check_any(&places, &text).map(|()| text);
        }
        Err(why)
    }
}

/// One check of a value.
struct Checker<'s> {
    root: &'s Value,
    bytes_left: Cell<usize>,
}

impl<'s> Checker<'s> {
    /// Returns whether more may be read, and counts it.
    fn may_read(&self, bytes: usize) -> bool {
        let left = self.bytes_left.get().checked_sub(bytes + LOOK_BYTES);
        self.bytes_left.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Checks a value against alternatives; an error is that of the first.
    fn check_any(&self, places: &[&Value], json: &[u8]) -> Result<(), String> {
        let mut why = Ok(());
        for schema in places {
            let checked = self.check(schema, json, &(0..json.len()), 0);
            if checked.is_ok() {
                return Ok(());
            }
            why = why.and(checked);
        }
        why
    }

    /// Returns the schema that a reference leads to, or the schema itself.
    fn follow<'v>(&'v self, mut schema: &'v Value) -> &'v Value {
        for _ in 0..MAX_DEPTH {
            let Some(reference) = schema["$ref"].as_str() else { return schema };
            let target = match reference.strip_prefix('#') {
                Some("") => Some(self.root),
                Some(pointer) => self.root.pointer(pointer),
                None => None,
            };
            match target {
                Some(target) => schema = target,
                None => return &Value::Bool(true),
            }
        }
        &Value::Bool(true)
    }

    /// Returns the alternatives and parts of a schema.
    fn parts(schema: &Value) -> impl Iterator<Item = &Value> {
        let lists = ["anyOf", "oneOf", "allOf"].into_iter();
        lists.filter_map(|keyword| schema[keyword].as_array()).flatten()
    }

    /// Collects what the schema says about the value at a path; several schemas if there are alternatives.
    fn locate<'v>(&'v self, schema: &'v Value, path: &[Step], depth: usize, places: &mut Vec<&'v Value>) {
        let schema = self.follow(schema);
        let Some((step, rest)) = path.split_first() else { return places.push(schema) };
        if depth > MAX_DEPTH || !self.may_read(0) {
            return;
        }
        let below = match step {
            Step::Key(key) => schema["properties"].get(key).or_else(|| schema.get("additionalProperties")),
            Step::Position(position) => {
                let items = schema.get("items");
                let listed = schema.get("prefixItems").or(items).and_then(|listed| listed.get(position));
                listed.or(items.filter(|items| !items.is_array()))
            }
        };
        if let Some(below) = below.filter(|below| below.is_object()) {
            self.locate(below, rest, depth + 1, places);
        }
        for part in Self::parts(schema) {
            self.locate(part, path, depth + 1, places);
        }
    }

    /// Returns whether a schema says that strings are possible.
    fn takes_strings(&self, schema: &Value, depth: usize) -> bool {
        let schema = self.follow(schema);
        let is_string = |name: &Value| name == "string";
        let takes = match &schema["type"] {
            Value::Array(names) => names.iter().any(is_string),
            name => is_string(name),
        };
        takes
            || depth < MAX_DEPTH
                && self.may_read(0)
                && Self::parts(schema).any(|part| self.takes_strings(part, depth + 1))
    }

    /// Checks the value at a range; an error names no data of the value.
    fn check(&self, schema: &Value, json: &[u8], range: &ByteRange, depth: usize) -> Result<(), String> {
        let schema = self.follow(schema);
        if depth > MAX_DEPTH || !self.may_read(range.len()) {
            return Ok(());
        }
        if schema == &Value::Bool(false) {
            return Err("the schema allows no value there".into());
        }
        let kind = kind_of(&json[range.clone()]);
        check_type(&schema["type"], kind)?;
        check_choices(schema, &json[range.clone()])?;
        match kind {
            "object" => {
                let members = raw::members(json, range).unwrap_or_default();
                self.check_members(schema, json, &members, depth)?;
            }
            "array" => {
                let elements = raw::elements(json, range).unwrap_or_default();
                self.check_elements(schema, json, &elements, depth)?;
            }
            "string" => {
                let length = raw::text(json, range).map_or(0, |text| text.chars().count());
                check_length(schema, length, ("minLength", "maxLength"), "characters")?;
            }
            "integer" | "number" => check_number(schema, &json[range.clone()])?,
            _ => {}
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.check(part, json, range, depth + 1)?;
        }
        for keyword in ["anyOf", "oneOf"] {
            let Some(parts) = schema[keyword].as_array() else { continue };
            let checked: Vec<_> = parts.iter().map(|part| self.check(part, json, range, depth + 1)).collect();
            if checked.iter().all(Result::is_err) {
                let why = checked.into_iter().find_map(Result::err).unwrap_or_default();
                return Err(match parts.len() {
                    0 | 1 => why,
                    _ => format!("{kind} fits none of the alternatives of the schema; of the first: {why}"),
                });
            }
        }
        Ok(())
    }

    fn check_members(
        &self,
        schema: &Value,
        json: &[u8],
        members: &[raw::Member<'_>],
        depth: usize,
    ) -> Result<(), String> {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !members.iter().any(|member| member.key == name) {
                return Err(format!("an object there must have {}", plain_name::list([name], 1)));
            }
        }
        let has_patterns = schema.get("patternProperties").is_some();
        for member in members {
            let known = schema["properties"].get(member.key.as_ref());
            let rest = schema.get("additionalProperties").filter(|_| !has_patterns);
            match (known, rest) {
                (None, Some(Value::Bool(false))) => {
                    return Err("the object has a member that the schema does not allow".into());
                }
                (Some(schema), _) | (None, Some(schema)) => {
                    self.check(schema, json, &member.value, depth + 1)?;
                }
                (None, None) => {}
            }
        }
        Ok(())
    }

    fn check_elements(
        &self,
        schema: &Value,
        json: &[u8],
        elements: &[ByteRange],
        depth: usize,
    ) -> Result<(), String> {
        check_length(schema, elements.len(), ("minItems", "maxItems"), "elements")?;
        let items = schema.get("items");
        let listed = schema.get("prefixItems").or(items).and_then(Value::as_array);
        for (position, element) in elements.iter().enumerate() {
            let of_position = listed.and_then(|listed| listed.get(position));
            let schema = of_position.or(items.filter(|items| !items.is_array()));
            if let Some(schema) = schema {
                self.check(schema, json, element, depth + 1)
                    .map_err(|why| format!("element {position}: {why}"))?;
            }
        }
        Ok(())
    }
}

/// Returns the type of a value, as a schema names it.
fn kind_of(json: &[u8]) -> &'static str {
    match json.first() {
        Some(b'{') => "object",
        Some(b'[') => "array",
        Some(b'"') => "string",
        Some(b't' | b'f') => "boolean",
        Some(b'n') => "null",
        // 1.0 is an integer too.
        _ if json.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-') => "integer",
        _ if number(json).is_some_and(|number| number.fract() == 0.0) => "integer",
        _ => "number",
    }
}

fn number(json: &[u8]) -> Option<f64> {
    std::str::from_utf8(json).ok()?.parse().ok()
}

fn check_type(wanted: &Value, kind: &str) -> Result<(), String> {
    let names: Vec<&str> = match wanted {
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        name => name.as_str().into_iter().collect(),
    };
    let is_it = |name: &&str| *name == kind || (*name == "number" && kind == "integer");
    match names.is_empty() || names.iter().any(is_it) {
        true => Ok(()),
        false => Err(format!("it is of type {kind}, but must be {}", plain_name::list(names, 8))),
    }
}

fn check_choices(schema: &Value, json: &[u8]) -> Result<(), String> {
    let choices = schema["enum"]
        .as_array()
        .map(Vec::as_slice)
        .or_else(|| schema.get("const").map(std::slice::from_ref));
    let Some(choices) = choices else { return Ok(()) };
    let value: Option<Value> = serde_json::from_slice(json).ok();
    match value.is_some_and(|value| choices.contains(&value)) {
        true => Ok(()),
        false => Err("it is not one of the values that the schema allows".into()),
    }
}

fn check_length(
    schema: &Value,
    length: usize,
    (least, most): (&str, &str),
    what: &str,
) -> Result<(), String> {
    let limit = |keyword: &str| schema[keyword].as_u64();
    if let Some(least) = limit(least).filter(|least| (length as u64) < *least) {
        return Err(format!("it has {length} {what}, but must have at least {least}"));
    }
    match limit(most).filter(|most| (length as u64) > *most) {
        Some(most) => Err(format!("it has {length} {what}, but may have at most {most}")),
        None => Ok(()),
    }
}

fn check_number(schema: &Value, json: &[u8]) -> Result<(), String> {
    let Some(value) = number(json) else { return Ok(()) };
    let limit = |keyword: &str| schema[keyword].as_f64();
    let is_outside = limit("minimum").is_some_and(|least| value < least)
        || limit("maximum").is_some_and(|most| value > most)
        || limit("exclusiveMinimum").is_some_and(|least| value <= least)
        || limit("exclusiveMaximum").is_some_and(|most| value >= most);
    if is_outside { Err("the number is outside the limits of the schema".into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SCHEMA: &str = r##"{"type":"object","additionalProperties":false,
        "$defs":{"row":{"type":"object","required":["id"],"additionalProperties":false,
            "properties":{"id":{"type":"integer","minimum":1},"tags":{"type":"array","items":{"type":"string"},"maxItems":2},
                "next":{"$ref":"#/$defs/row"}}}},
        "properties":{
            "text":{"type":"string","maxLength":20},"count":{"type":"integer","maximum":100},"rate":{"type":"number"},
            "any":{},"rows":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/row"}},
            "either":{"anyOf":[{"type":"array"},{"type":"null"}]},"flag":{"type":["boolean","string"]},
            "kind":{"enum":["a","b",3]},"pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"integer"}]},
            "map":{"type":"object","additionalProperties":{"type":"integer"}},
            "odd":{"$ref":"https://example.com/schema"},"loop":{"$ref":"#/properties/loop"}}}"##;

    fn fit(path: &[Step], json: &str) -> Result<String, String> {
        let schema = InputSchema::read(SCHEMA.as_bytes()).unwrap();
        let fitted = schema.fit(&ArgumentPath(path.to_vec()), json.as_bytes().to_vec());
        fitted.map(|json| String::from_utf8(json).unwrap())
    }

    fn key(key: &str) -> Step {
        Step::Key(key.to_owned())
    }

    #[test]
    fn values_that_fit_are_put_in_as_they_are() {
        for (name, value) in [
            ("text", r#""short""#),
            ("count", "7"),
            ("count", "7.0"),
            ("rate", "9007199254740993"),
            ("rate", "1e400"),
            ("any", r#"{"x":[null]}"#),
            ("rows", r#"[{"id":1,"tags":["a"],"next":{"id":2}}]"#),
            ("either", "null"),
            ("either", "[]"),
            ("flag", "true"),
            ("kind", "3"),
            ("pair", r#"["a",1,{}]"#),
            ("map", r#"{"x":1}"#),
            ("odd", "1"),
            ("loop", "1"),
            ("unknown", "[1]"),
        ] {
            assert_eq!(fit(&[key(name)], value), Ok(value.to_owned()), "{name}");
        }
        assert_eq!(fit(&[key("rows"), Step::Position(3), key("id")], "5").unwrap(), "5");
        assert_eq!(fit(&[key("map"), key("x")], "5").unwrap(), "5");
        assert_eq!(fit(&[key("pair"), Step::Position(1)], "5").unwrap(), "5");
    }

    #[test]
    fn a_string_argument_gets_the_json_as_text() {
        assert_eq!(fit(&[key("text")], r#"{"a":[1.0]}"#).unwrap(), r#""{\"a\":[1.0]}""#);
        assert_eq!(fit(&[key("text")], "null").unwrap(), r#""null""#);
        assert_eq!(fit(&[key("flag")], "[1]").unwrap(), r#""[1]""#);
        assert_eq!(fit(&[key("pair"), Step::Position(0)], "5").unwrap(), r#""5""#);
        assert!(fit(&[key("text")], "[1,2,3,4,5,6,7,8,9,10,11]").unwrap_err().contains("at most 20"));
    }

    #[test]
    fn values_that_do_not_fit_are_refused_with_the_reason() {
        for (name, value, words) in [
            ("count", r#""7""#, "it is of type string, but must be integer"),
            ("count", "7.5", "it is of type number, but must be integer"),
            ("count", "101", "outside the limits"),
            ("rows", "[]", "0 elements, but must have at least 1"),
            ("rows", r#"{"id":1}"#, "it is of type object, but must be array"),
            ("rows", r#"[{"id":1},{}]"#, "element 1: an object there must have id"),
            ("rows", r#"[{"id":1,"secret key":2}]"#, "element 0: the object has a member"),
            ("rows", r#"[{"id":0}]"#, "element 0: the number is outside"),
            ("rows", r#"[{"id":1,"next":{"id":"x"}}]"#, "of type string, but must be integer"),
            ("rows", r#"[{"id":1,"tags":["a","b","c"]}]"#, "at most 2"),
            ("either", "{}", "fits none of the alternatives"),
            ("kind", r#""c""#, "not one of the values"),
            ("pair", r#"["a","b"]"#, "element 1: it is of type string"),
            ("map", r#"{"x":"y"}"#, "of type string"),
        ] {
            let why = fit(&[key(name)], value).unwrap_err();
            assert!(why.contains(words) && !why.contains("secret"), "{name}: {why}");
        }
    }

    #[test]
    fn references_that_lead_in_circles_end() {
        let branches = vec![json!({"$ref": "#/properties/a"}); 8];
        let schema =
            InputSchema { root: json!({"properties": {"a": {"type": "string", "allOf": branches}}}) };
        let path = ArgumentPath(vec![key("a")]);
        assert!(schema.fit(&path, b"\"x\"".to_vec()).is_ok());
        let branches = vec![json!({"$ref": "#/properties/a"}); 8];
        let schema = InputSchema { root: json!({"properties": {"a": {"anyOf": branches}}}) };
        assert!(schema.fit(&path, vec![b'1'; 1 << 20]).is_ok());
    }
}
