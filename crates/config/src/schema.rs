//! The JSON Schema of `tidegate.toml`, for editors that complete and check it.
//!
//! A test checks that the schema and the reader accept and refuse the same files.

use serde_json::{Map, Value, json};

use crate::keys::{DefaultValue, Key, KeyGroup, ValueKind};

/// Returns the schema, of draft 2020-12. It uses only keywords that draft 7 has as well, for editors that know no later one.
pub fn schema() -> Value {
    let by_name = |description: &str, each: Value| json!({"type": "object", "description": description, "additionalProperties": each});
    let tools = by_name("Rules for tools by name; * matches any characters.", reference("rules"));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "tidegate.toml",
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "defaults": reference("rules"),
            "server": by_name("Rules for servers, by name.", reference("server")),
            "client": by_name("Settings for clients by name; * matches any characters.", reference("client")),
            "store": reference("store"),
            "upstream": by_name("Servers behind a gateway, by name.", reference("upstream")),
            "gateway": reference("gateway"),
        },
        "$defs": {
            "rules": section("Rules for tools.", KeyGroup::Rules, None),
            "server": section("Rules for all tools of a server, and for single tools.", KeyGroup::Rules, Some(("tool", tools))),
            "client": section("Settings for a client.", KeyGroup::Client, None),
            "store": section("Where and how results are kept.", KeyGroup::Store, Some(("objects", reference("objects")))),
            "objects": section("The object store for large results.", KeyGroup::Objects, None),
            "upstream": section("A server behind a gateway.", KeyGroup::Upstream, None),
            "gateway": gateway(),
            "gateway_key": section("A caller with a key.", KeyGroup::GatewayKey, None),
            "issuer": section("An issuer of tokens.", KeyGroup::Issuer, None),
            "role": section("What callers may use.", KeyGroup::Role, None),
        },
    })
}

/// Returns the schema of the gateway, with the tables below it.
fn gateway() -> Value {
    let mut gateway = section("The gateway, and who may call it.", KeyGroup::Gateway, None);
    for (name, of) in [("key", "gateway_key"), ("issuer", "issuer"), ("role", "role")] {
        gateway["properties"][name] = json!({"type": "object", "additionalProperties": reference(of)});
    }
    gateway
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/$defs/{name}")})
}

fn section(description: &str, group: KeyGroup, other: Option<(&str, Value)>) -> Value {
    let keys = Key::in_group(group).map(|key| (key.name.to_owned(), property(key)));
    let properties: Map<String, Value> =
        keys.chain(other.map(|(name, schema)| (name.to_owned(), schema))).collect();
    json!({"type": "object", "description": description, "additionalProperties": false, "properties": properties})
}

fn property(key: &Key) -> Value {
    let mut property = match key.kind {
        ValueKind::Number { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        ValueKind::Flag => json!({"type": "boolean"}),
        ValueKind::Text => json!({"type": "string", "minLength": 1}),
        ValueKind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        ValueKind::Choice(choices) => json!({"type": "string", "enum": choices}),
    };
    let default = match key.default {
        DefaultValue::Number(number) => Some(json!(number)),
        DefaultValue::Flag(flag) => Some(json!(flag)),
        DefaultValue::Choice(name) => Some(json!(name)),
        DefaultValue::Described(_) => None,
    };
    let default_words = match key.default {
        DefaultValue::Described(words) => format!(" Default: {words}."),
        _ => String::new(),
    };
    let owner = if key.user_only { " Not in a project's file." } else { "" };
    property["description"] = json!(format!("{}{default_words}{owner}", key.doc));
    if let Some(default) = default {
        property["default"] = default;
    }
    property
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tidegate_testkit::schema::accepts;

    use super::*;
    use crate::file::ConfigFile;
    use crate::keys::KEYS;
    use crate::locate::FileOwner;

    /// Returns whether the schema and whether the reader accept a text.
    fn accepted(text: &str) -> (bool, bool) {
        let schema = schema();
        let value: Value = toml::from_str(text).unwrap();
        let mut mistakes = Vec::new();
        ConfigFile::read(Path::new("t.toml"), FileOwner::User, text, &mut mistakes);
        (accepts(&schema, &schema, &value), mistakes.is_empty())
    }

    fn headings(group: KeyGroup) -> &'static [&'static str] {
        match group {
            KeyGroup::Rules => &["defaults", "server.a", "server.a.tool.\"b_*\""],
            KeyGroup::Client => &["client.\"c*\""],
            KeyGroup::Store => &["store"],
            KeyGroup::Objects => &["store.objects"],
            KeyGroup::Upstream => &["upstream.a"],
            KeyGroup::Gateway => &["gateway"],
            KeyGroup::GatewayKey => &["gateway.key.a"],
            KeyGroup::Issuer => &["gateway.issuer.a"],
            KeyGroup::Role => &["gateway.role.a"],
        }
    }

    /// Values at and beyond the bounds of a key, and of every other type, with whether the key takes them.
    fn candidates(key: &Key) -> Vec<(String, bool)> {
        let mut values: Vec<(String, bool)> = vec![(key.example.to_owned(), true)];
        values.extend(key.default.as_toml().map(|default| (default, true)));
        let number = |number: u64, good| (number.to_string(), good);
        match key.kind {
            ValueKind::Number { min, max } => {
                values.extend([number(min, true), number(max, true)]);
                values.extend(min.checked_sub(1).map(|less| number(less, false)));
                values.extend([number(max + 1, false), ("-1".into(), false)]);
            }
            ValueKind::Choice(choices) => {
                values.extend(choices.iter().map(|choice| (format!("{choice:?}"), true)));
                values.push(("\"neither\"".into(), false));
            }
            ValueKind::Texts => {
                values.extend([("[]".into(), true), ("[1]".into(), false), ("[\"a\", true]".into(), false)]);
            }
            ValueKind::Flag | ValueKind::Text => {}
        }
        let any = matches!(key.kind, ValueKind::Text);
        let empty = key.kind == ValueKind::Choice(&[""]);
        values.extend([("\"\"".into(), empty), ("\"any words\"".into(), any), ("{}".into(), false)]);
        values.extend([("1.5".into(), false), ("[[]]".into(), false)]);
        values.push(("true".into(), matches!(key.kind, ValueKind::Flag)));
        values
    }

    #[test]
    fn schema_and_reader_agree() {
        for key in &KEYS {
            for heading in headings(key.group) {
                for (value, good) in candidates(key) {
                    let text = format!("[{heading}]\n{} = {value}\n", key.name);
                    assert_eq!(accepted(&text), (good, good), "{text}");
                }
            }
        }
    }

    #[test]
    fn both_refuse_misplaced_keys() {
        for text in [
            "budget_tokens = 2000\n",
            "[defaults]\npath = \"x\"\n",
            "[defaults.tool.x]\n",
            "[server]\nbudget_tokens = 2000\n",
            "[server.a.tool]\nbudget_tokens = 2000\n",
            "[server.a.tools.b]\n",
            "[client.a]\nttl_seconds = 5\n",
            "[store]\nbudget_tokens = 2000\n",
            "[store]\nobjects = 5\n",
            "[store.objects]\npath = \"x\"\n",
            "[store.object]\n",
            "[stores]\n",
            "server = 5\n",
            "[server]\na = 5\n",
        ] {
            assert_eq!(accepted(text), (false, false), "{text}");
        }
        for text in ["", "[server.a]\n", "[server.a.tool]\n", "[client]\n", "[server.\"\".tool.\"\"]\n"] {
            assert_eq!(accepted(text), (true, true), "{text}");
        }
    }
}
