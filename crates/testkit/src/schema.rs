//! JSON Schema, as far as our own schemas use it.

use serde_json::Value;

/// Returns whether a schema accepts a value; `root` is the document that `$ref` points into.
///
/// # Panics
///
/// The schema has a keyword that is not known here.
pub fn accepts(schema: &Value, root: &Value, value: &Value) -> bool {
    let Some(keywords) = schema.as_object() else { return schema.as_bool().expect("a schema") };
    keywords.iter().all(|(keyword, wanted)| match keyword.as_str() {
        "$schema" | "$defs" | "title" | "description" | "default" | "format" => true,
        "$ref" => {
            let pointer =
                wanted.as_str().and_then(|pointer| pointer.strip_prefix('#')).expect("a local $ref");
            accepts(root.pointer(pointer).expect("a $ref that leads somewhere"), root, value)
        }
        "type" => match wanted {
            Value::Array(types) => types.iter().any(|name| has_type(value, name)),
            name => has_type(value, name),
        },
        "anyOf" => list(wanted).iter().any(|schema| accepts(schema, root, value)),
        "oneOf" => list(wanted).iter().filter(|schema| accepts(schema, root, value)).count() == 1,
        "minimum" => value.as_f64().is_none_or(|number| number >= wanted.as_f64().expect("a number")),
        "maximum" => value.as_f64().is_none_or(|number| number <= wanted.as_f64().expect("a number")),
        "minLength" => value.as_str().is_none_or(|text| text.chars().count() >= count(wanted)),
        "minItems" => value.as_array().is_none_or(|items| items.len() >= count(wanted)),
        "maxItems" => value.as_array().is_none_or(|items| items.len() <= count(wanted)),
        "enum" => list(wanted).contains(value),
        "const" => wanted == value,
        "items" => value.as_array().is_none_or(|items| items.iter().all(|item| accepts(wanted, root, item))),
        "required" => value.as_object().is_none_or(|members| {
            list(wanted).iter().all(|name| name.as_str().is_some_and(|name| members.contains_key(name)))
        }),
        "properties" => wanted
            .as_object()
            .expect("an object")
            .iter()
            .all(|(name, wanted)| value.get(name).is_none_or(|member| accepts(wanted, root, member))),
        "additionalProperties" => value.as_object().is_none_or(|members| {
            let others = members.iter().filter(|(name, _)| schema["properties"].get(name).is_none());
            others.into_iter().all(|(_, member)| accepts(wanted, root, member))
        }),
        other => panic!("unknown keyword {other}"),
    })
}

fn has_type(value: &Value, name: &Value) -> bool {
    match name.as_str().expect("the name of a type") {
        "object" => value.is_object(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "null" => value.is_null(),
        other => panic!("unknown type {other}"),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn count(value: &Value) -> usize {
    value.as_u64().and_then(|count| usize::try_from(count).ok()).expect("a number")
}
