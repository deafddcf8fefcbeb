//! Whether a probe may call a tool, and with which arguments.
//!
//! Only tools that the server marks read-only are called, and only with values from their schema: nothing is invented.

use serde_json::{Map, Value};

/// Keywords that can require more than the list of required properties.
const CONDITIONAL_KEYWORDS: [&str; 7] = ["anyOf", "oneOf", "allOf", "if", "not", "dependentRequired", "$ref"];

/// Returns the arguments to call a tool with, or why it must not be called.
pub(super) fn safe_arguments(tool: &Value) -> Result<Value, String> {
    let hint = |name: &str| tool["annotations"][name].as_bool();
    if hint("readOnlyHint") != Some(true) {
        return Err("not marked read-only".into());
    }
    if hint("destructiveHint") == Some(true) {
        return Err("marked destructive".into());
    }
    let schema = &tool["inputSchema"];
    if let Some(keyword) = CONDITIONAL_KEYWORDS.into_iter().find(|keyword| schema.get(keyword).is_some()) {
        return Err(format!("its schema uses {keyword}, so its arguments are not certain"));
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
        missing => Err(format!("needs {}, for which its schema gives no value", missing.join(", "))),
    }
}

/// Returns a value that a schema gives for a property.
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
            assert_eq!(safe_arguments(&tool(schema.clone())), Ok(arguments), "{schema}");
        }
    }

    #[test]
    fn only_tools_that_are_marked_read_only_are_called() {
        let plain = json!({"type": "object"});
        for (tool, why) in [
            (json!({"name": "t", "inputSchema": plain}), "not marked read-only"),
            (json!({"annotations": {"readOnlyHint": false}, "inputSchema": plain}), "not marked read-only"),
            (json!({"annotations": {"readOnlyHint": "true"}, "inputSchema": plain}), "not marked read-only"),
            (
                json!({"annotations": {"readOnlyHint": true, "destructiveHint": true}, "inputSchema": plain}),
                "marked destructive",
            ),
            (
                tool(
                    json!({"properties": {"a": {"type": "string"}, "b": {"default": null}}, "required": ["a", "b"]}),
                ),
                "needs a, b, for which its schema gives no value",
            ),
            (tool(json!({"required": ["a"]})), "needs a, for which its schema gives no value"),
            (
                tool(json!({"anyOf": [{"required": ["a"]}]})),
                "its schema uses anyOf, so its arguments are not certain",
            ),
        ] {
            assert_eq!(safe_arguments(&tool), Err(why.to_owned()), "{tool}");
        }
    }
}
