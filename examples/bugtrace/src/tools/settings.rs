//! The tool `config_get`.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};
use tidegate_sdk::contract::{Item, ResponseLimits};

use super::ConfigArguments;
use crate::answer::{Answer, Failure, quote};
use crate::backend::Backend;
use crate::guard::GUARDS;
use crate::memory::{MAX_KEYS, MAX_VALUE_BYTES};
use crate::rules::{MAX_FILE_LINES, MAX_FUNCTION_LINES, MAX_LINE_CHARS, MAX_NESTING, MAX_PARAMETERS, Rule};
use crate::scan::MAX_FINDINGS;
use crate::source::EXTENSIONS;
use crate::tree::{MAX_FILE_BYTES, MAX_FILES, SKIPPED_FOLDERS};

impl Backend {
    /// Returns one key of the configuration, or the list of keys.
    pub(crate) fn config_get(&self, arguments: &ConfigArguments) -> Result<Answer, Failure> {
        let config = self.config();
        let Some(key) = &arguments.key else {
            let keys: Vec<&String> = config.keys().collect();
            let figures = json!({"keys": keys, "root": config["root"], "thresholds": config["thresholds"]});
            let summary = format!("{} keys; config_get with `key` shows one", config.len());
            return Ok(Answer::figures(summary, figures).full_data("config", Value::Object(config)));
        };
        let Some(value) = config.get(key) else {
            let accepted = config.iter().map(|(key, value)| Item::new(key, &value.to_string()));
            return Err(Failure::new(format!("no key {}; one of:", quote(key))).with_accepted(accepted));
        };
        let figures = json!({"key": key, "value": value});
        Ok(Answer::figures(format!("config {key}"), figures).full_data("config", value.clone()))
    }

    fn config(&self) -> Map<String, Value> {
        let extensions: Vec<&str> = EXTENSIONS.iter().map(|(extension, _)| *extension).collect();
        let rules: BTreeMap<&str, String> =
            Rule::ALL.iter().map(|rule| (rule.name(), rule.description())).collect();
        let advice: BTreeMap<&str, &str> =
            Rule::ALL.iter().map(|rule| (rule.name(), rule.advice())).collect();
        let guards: BTreeMap<&str, String> =
            GUARDS.iter().map(|guard| (guard.id, guard.rule_names())).collect();
        let limits = ResponseLimits::default();
        let config = json!({
            "root": self.tree.root().to_string_lossy(),
            // Strings, since an array of more than ten items would be truncated.
            "extensions": extensions.join(" "),
            "skipped": SKIPPED_FOLDERS.join(" "),
            "rules": rules,
            "advice": advice,
            "guards": guards,
            "thresholds": {
                "lineChars": MAX_LINE_CHARS, "functionLines": MAX_FUNCTION_LINES, "nesting": MAX_NESTING,
                "fileLines": MAX_FILE_LINES, "parameters": MAX_PARAMETERS,
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
