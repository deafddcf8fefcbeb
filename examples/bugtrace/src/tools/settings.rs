//! `config_get`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tidegate_sdk::contract::{Item, ResponseLimits};

use super::ConfigArguments;
use crate::answer::{Answer, Refusal, shown};
use crate::guard::GUARDS;
use crate::memory::{MAX_KEYS, MAX_VALUE_BYTES};
use crate::rules::{FILE_LINES, FUNCTION_LINES, LINE_CHARS, NESTING, PARAMETERS, Rule};
use crate::scan::MAX_FINDINGS;
use crate::source::EXTENSIONS;
use crate::tree::{MAX_FILE_BYTES, MAX_FILES, SKIPPED};
use crate::workshop::Workshop;

impl Workshop {
    /// What is scanned and how; one key of it, or which there are.
    pub(crate) fn config_get(&self, arguments: &ConfigArguments) -> Result<Answer, Refusal> {
        let config = self.config();
        let Some(key) = &arguments.key else {
            let keys: Vec<&String> = config.keys().collect();
            let figures = json!({"keys": keys, "root": config["root"], "thresholds": config["thresholds"]});
            let summary = format!("{} keys; config_get with `key` shows one", config.len());
            return Ok(Answer::figures(summary, figures).whole("config", Value::Object(config)));
        };
        let Some(value) = config.get(key) else {
            let accepted = config.iter().map(|(key, value)| Item::new(key, &value.to_string()));
            return Err(Refusal::new(format!("no key {}; one of:", shown(key))).accepting(accepted));
        };
        let figures = json!({"key": key, "value": value});
        Ok(Answer::figures(format!("config {key}"), figures).whole("config", value.clone()))
    }

    fn config(&self) -> Map<String, Value> {
        let extensions: Vec<&str> = EXTENSIONS.iter().map(|(extension, _)| *extension).collect();
        let rules: BTreeMap<&str, String> =
            Rule::ALL.iter().map(|rule| (rule.name(), rule.looks_for())).collect();
        let advice: BTreeMap<&str, &str> =
            Rule::ALL.iter().map(|rule| (rule.name(), rule.advice())).collect();
        let guards: BTreeMap<&str, String> = GUARDS.iter().map(|guard| (guard.id, guard.told())).collect();
        let limits = ResponseLimits::default();
        let config = json!({
            "root": self.tree.root().to_string_lossy(),
            // One string each: a list of more than ten would be cut.
            "extensions": extensions.join(" "),
            "skipped": SKIPPED.join(" "),
            "rules": rules,
            "advice": advice,
            "guards": guards,
            "thresholds": {
                "lineChars": LINE_CHARS, "functionLines": FUNCTION_LINES, "nesting": NESTING,
                "fileLines": FILE_LINES, "parameters": PARAMETERS,
            },
            "limits": {
                "files": MAX_FILES, "fileBytes": MAX_FILE_BYTES, "findings": MAX_FINDINGS,
                "memoryKeys": MAX_KEYS, "memoryValueBytes": MAX_VALUE_BYTES, "responseBytes": limits.max_bytes,
            },
        });
        match config {
            Value::Object(config) => config,
            _ => Map::new(),
        }
    }
}
