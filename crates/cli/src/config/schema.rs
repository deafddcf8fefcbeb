//! The JSON Schema of `tidegate.toml`, for editors that complete and check while one writes.

use serde_json::{Map, Value, json};

use super::keys::{Fallback, Group, Key, Kind};

/// Returns the schema, draft 2020-12. Every keyword in it is also one of draft 7, which is what some editors know.
pub(super) fn schema() -> Value {
    let by_name =
        |what: &str, of: Value| json!({"type": "object", "description": what, "additionalProperties": of});
    let tools = by_name("Rules for tools by name, in which * stands for any characters.", reference("rules"));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tidegate.toml",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "defaults": reference("rules"),
            "server": by_name("Rules for servers by name.", reference("server")),
            "client": by_name("How clients are treated, by name, in which * stands for any characters.", reference("client")),
            "store": reference("store"),
        },
        "$defs": {
            "rules": section("Rules for tools.", Group::Rules, None),
            "server": section("Rules for all tools of a server, and for some.", Group::Rules, Some(("tool", tools))),
            "client": section("How clients are treated.", Group::Client, None),
            "store": section("Where results are kept.", Group::Store, None),
        },
    })
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

fn section(what: &str, group: Group, besides: Option<(&str, Value)>) -> Value {
    let keys = Key::of(group).map(|key| (key.name.to_owned(), property(key)));
    let properties: Map<String, Value> =
        keys.chain(besides.map(|(name, of)| (name.to_owned(), of))).collect();
    json!({"type": "object", "description": what, "additionalProperties": false, "properties": properties})
}

fn property(key: &Key) -> Value {
    let mut property = match key.kind {
        Kind::Number { least, most } => json!({"type": "integer", "minimum": least, "maximum": most}),
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Text => json!({"type": "string", "minLength": 1}),
        Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Kind::Choice(choices) => json!({"type": "string", "enum": choices}),
    };
    let default = match key.fallback {
        Fallback::Number(number) => Some(json!(number)),
        Fallback::Flag(flag) => Some(json!(flag)),
        Fallback::Name(name) => Some(json!(name)),
        Fallback::Words(_) => None,
    };
    property["description"] = match key.fallback {
        Fallback::Words(words) => json!(format!("{} Default: {words}.", key.doc)),
        _ => json!(key.doc),
    };
    if let Some(default) = default {
        property["default"] = default;
    }
    property
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::file::File;
    use crate::config::keys::KEYS;

    /// Whether a value is what a schema wants. Knows the keywords that are used here, and no other.
    fn valid(schema: &Value, root: &Value, value: &Value) -> bool {
        schema.as_object().unwrap().iter().all(|(keyword, wanted)| match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" => true,
            "$ref" => {
                let name = wanted.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
                valid(&root["$defs"][name], root, value)
            }
            "type" => match wanted.as_str().unwrap() {
                "object" => value.is_object(),
                "integer" => value.is_i64() || value.is_u64(),
                "boolean" => value.is_boolean(),
                "string" => value.is_string(),
                "array" => value.is_array(),
                other => panic!("{other}"),
            },
            "minimum" => value.as_i64().is_none_or(|number| number >= wanted.as_i64().unwrap()),
            "maximum" => value.as_i64().is_none_or(|number| number <= wanted.as_i64().unwrap()),
            "minLength" => {
                value.as_str().is_none_or(|text| text.chars().count() as u64 >= wanted.as_u64().unwrap())
            }
            "enum" => wanted.as_array().unwrap().contains(value),
            "items" => {
                value.as_array().is_none_or(|items| items.iter().all(|item| valid(wanted, root, item)))
            }
            "properties" => wanted
                .as_object()
                .unwrap()
                .iter()
                .all(|(name, wanted)| value.get(name).is_none_or(|member| valid(wanted, root, member))),
            "additionalProperties" => value.as_object().is_none_or(|members| {
                members
                    .iter()
                    .filter(|(name, _)| schema["properties"].get(name).is_none())
                    .all(|(_, member)| wanted.as_bool().unwrap_or_else(|| valid(wanted, root, member)))
            }),
            other => panic!("a keyword that is not known here: {other}"),
        })
    }

    /// What the schema and what the reader says of a text.
    fn said(text: &str) -> (bool, bool) {
        let schema = schema();
        let value: Value = toml::from_str(text).unwrap();
        let mut mistakes = Vec::new();
        File::read(Path::new("t.toml"), text, &mut mistakes);
        (valid(&schema, &schema, &value), mistakes.is_empty())
    }

    fn headings(group: Group) -> &'static [&'static str] {
        match group {
            Group::Rules => &["defaults", "server.a", "server.a.tool.\"b_*\""],
            Group::Client => &["client.\"c*\""],
            Group::Store => &["store"],
        }
    }

    /// Values at and beyond what a key takes, and of every other type.
    fn candidates(key: &Key) -> Vec<(String, bool)> {
        let mut of: Vec<(String, bool)> = vec![(key.example.to_owned(), true)];
        of.extend(key.fallback.written().map(|default| (default, true)));
        let number = |number: u64, good| (number.to_string(), good);
        match key.kind {
            Kind::Number { least, most } => {
                of.extend([number(least, true), number(most, true)]);
                of.extend([number(least - 1, false), number(most + 1, false), ("-1".into(), false)]);
            }
            Kind::Choice(choices) => {
                of.extend(choices.iter().map(|choice| (format!("{choice:?}"), true)));
                of.push(("\"neither\"".into(), false));
            }
            Kind::Texts => {
                of.extend([("[]".into(), true), ("[1]".into(), false), ("[\"a\", true]".into(), false)]);
            }
            Kind::Flag | Kind::Text => {}
        }
        let any = matches!(key.kind, Kind::Text);
        of.extend([("\"\"".into(), false), ("\"any words\"".into(), any), ("{}".into(), false)]);
        of.extend([("1.5".into(), false), ("[[]]".into(), false)]);
        of.push(("true".into(), matches!(key.kind, Kind::Flag)));
        of
    }

    #[test]
    fn schema_and_reader_agree() {
        for key in &KEYS {
            for heading in headings(key.group) {
                for (value, good) in candidates(key) {
                    let text = format!("[{heading}]\n{} = {value}\n", key.name);
                    assert_eq!(said(&text), (good, good), "{text}");
                }
            }
        }
    }

    #[test]
    fn both_refuse_what_stands_elsewhere() {
        for text in [
            "budget_tokens = 2000\n",
            "[defaults]\npath = \"x\"\n",
            "[defaults.tool.x]\n",
            "[server]\nbudget_tokens = 2000\n",
            "[server.a.tool]\nbudget_tokens = 2000\n",
            "[server.a.tools.b]\n",
            "[client.a]\nttl_seconds = 5\n",
            "[store]\nbudget_tokens = 2000\n",
            "[stores]\n",
            "server = 5\n",
            "[server]\na = 5\n",
        ] {
            assert_eq!(said(text), (false, false), "{text}");
        }
        for text in ["", "[server.a]\n", "[server.a.tool]\n", "[client]\n", "[server.\"\".tool.\"\"]\n"] {
            assert_eq!(said(text), (true, true), "{text}");
        }
    }
}
