//! Whether a tool may be called without being asked, and with what.
//!
//! Only what a server itself marks as read-only is called, and only with values that its schema names: nothing is made up.

use serde_json::{Map, Value};

/// Keywords with which a schema asks for more than its list of required properties says.
const INVOLVED: [&str; 7] = ["anyOf", "oneOf", "allOf", "if", "not", "dependentRequired", "$ref"];

/// Returns the arguments to call a tool with, or why it is not called.
pub(super) fn safe(tool: &Value) -> Result<Value, String> {
    let hint = |name: &str| tool["annotations"][name].as_bool();
    if hint("readOnlyHint") != Some(true) {
        return Err("not marked as read-only".into());
    }
    if hint("destructiveHint") == Some(true) {
        return Err("marked as destructive".into());
    }
    let schema = &tool["inputSchema"];
    if let Some(keyword) = INVOLVED.into_iter().find(|keyword| schema.get(keyword).is_some()) {
        return Err(format!("its schema has {keyword}, so what it needs is not certain"));
    }
    let mut arguments = Map::new();
    let mut missing = Vec::new();
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        match value(&schema["properties"][name]) {
            Some(value) => drop(arguments.insert(name.to_owned(), value)),
            None => missing.push(name),
        }
    }
    match missing.as_slice() {
        [] => Ok(Value::Object(arguments)),
        missing => Err(format!("needs {}, for which its schema has no value", missing.join(", "))),
    }
}

/// A value that a schema names.
fn value(property: &Value) -> Option<Value> {
    let first = |key: &str| property[key].as_array().and_then(|values| values.first());
    let named = [property.get("const"), property.get("default"), first("examples"), first("enum")];
    named.into_iter().flatten().find(|value| !value.is_null()).cloned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(schema: Value) -> Value {
        json!({ "name": "t", "annotations": { "readOnlyHint": true }, "inputSchema": schema })
    }

    #[test]
    fn arguments_come_from_the_schema_alone() {
        for (schema, arguments) in [
            (json!({"type": "object"}), json!({})),
            (json!({"properties": {"a": {"default": 5}}}), json!({})),
            (json!({"properties": {"a": {"default": 5}}, "required": ["a"]}), json!({"a": 5})),
            (json!({"properties": {"a": {"enum": ["x", "y"]}}, "required": ["a"]}), json!({"a": "x"})),
            (
                json!({"properties": {"a": {"enum": ["x", "y"], "default": "y"}}, "required": ["a"]}),
                json!({"a": "y"}),
            ),
            (json!({"properties": {"a": {"examples": [[1]]}}, "required": ["a"]}), json!({"a": [1]})),
            (json!({"properties": {"a": {"const": false}}, "required": ["a"]}), json!({"a": false})),
        ] {
            assert_eq!(safe(&tool(schema.clone())), Ok(arguments), "{schema}");
        }
    }

    #[test]
    fn what_is_not_certain_is_not_called() {
        let plain = json!({"type": "object"});
        for (tool, why) in [
            (json!({"name": "t", "inputSchema": plain}), "not marked as read-only"),
            (
                json!({"annotations": {"readOnlyHint": false}, "inputSchema": plain}),
                "not marked as read-only",
            ),
            (
                json!({"annotations": {"readOnlyHint": "true"}, "inputSchema": plain}),
                "not marked as read-only",
            ),
            (
                json!({"annotations": {"readOnlyHint": true, "destructiveHint": true}, "inputSchema": plain}),
                "marked as destructive",
            ),
            (
                tool(
                    json!({"properties": {"a": {"type": "string"}, "b": {"default": null}}, "required": ["a", "b"]}),
                ),
                "needs a, b, for which its schema has no value",
            ),
            (tool(json!({"required": ["a"]})), "needs a, for which its schema has no value"),
            (
                tool(json!({"anyOf": [{"required": ["a"]}]})),
                "its schema has anyOf, so what it needs is not certain",
            ),
        ] {
            assert_eq!(safe(&tool), Err(why.to_owned()), "{tool}");
        }
    }
}
