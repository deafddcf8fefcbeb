//! What `tidegate run` writes to stderr about calls: a line for each with `--log-calls`, and an alert for what is too large.

use std::sync::Arc;

use clap::ValueEnum;
use serde_json::{Value, json};
use tidegate_gate::{AlertLimits, Alerts, Observer, UserStore};
use tidegate_store::Call;

use crate::ui;

/// The form of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    /// name=value pairs
    Logfmt,
    /// One JSON object per line
    Json,
}

/// Returns the observer of ledger entries; `session_bytes` is the limit of a session, if one is set.
pub(super) fn observer(
    log: Option<LogFormat>,
    session_bytes: Option<u64>,
    keep: &Arc<UserStore>,
) -> Observer {
    let defaults = AlertLimits::default();
    let session_bytes = session_bytes.unwrap_or(defaults.session_bytes);
    let alerts = Alerts::new(AlertLimits { session_bytes, ..defaults });
    let keep = Arc::clone(keep);
    Arc::new(move |call: &Call| {
        if let Some(format) = log {
            ui::note(&line(call, format));
        }
        for alert in alerts.of(call, &keep) {
            ui::note(&format!("tidegate: alert: {alert}"));
        }
    })
}

/// Returns the line of an entry.
fn line(call: &Call, format: LogFormat) -> String {
    let fields: [(&str, Value); 12] = [
        ("at", call.at.to_string().into()),
        ("server", call.server.as_str().into()),
        ("tool", call.tool.as_str().into()),
        ("step", call.step.as_str().into()),
        ("view", call.view.as_deref().into()),
        ("raw_bytes", call.raw_bytes.into()),
        ("raw_tokens", call.raw_tokens.into()),
        ("sent_bytes", call.sent_bytes.into()),
        ("sent_tokens", call.sent_tokens.into()),
        ("stored_bytes", call.stored_bytes.into()),
        ("artifact", call.artifact.as_deref().into()),
        ("added_micros", call.added_micros.into()),
    ];
    let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
    match format {
        LogFormat::Json => {
            json!(fields.map(|(name, value)| (name.to_owned(), value)).collect::<serde_json::Map<_, _>>())
                .to_string()
        }
        LogFormat::Logfmt => {
            let pairs = fields.map(|(name, value)| format!("{name}={}", logfmt_value(&value)));
            format!("tidegate: {}", pairs.collect::<Vec<_>>().join(" "))
        }
    }
}

/// Returns a value as logfmt writes it: a text in quotes only where it needs them.
fn logfmt_value(value: &Value) -> String {
    match value.as_str() {
        Some(text)
            if !text.is_empty()
                && !text.contains(|c: char| c.is_whitespace() || c.is_control() || "\"=".contains(c)) =>
        {
            text.to_owned()
        }
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use tidegate_store::Millis;

    use super::*;

    #[test]
    fn a_call_is_one_line() {
        let call = Call {
            at: Millis::parse("2026-11-16T12:00:00Z").unwrap(),
            client: "claude-code".into(),
            server: "github".into(),
            tool: "list \"all\"\n".into(),
            step: "view".into(),
            raw_bytes: 40,
            raw_tokens: 10,
            sent_bytes: 40,
            sent_tokens: 10,
            added_micros: 7,
            artifact: None,
            session: None,
            view: Some("page".into()),
            stored_bytes: 0,
            counted: None,
            budget_tokens: 0,
            owner: None,
        };
        assert_eq!(
            line(&call, LogFormat::Logfmt),
            "tidegate: at=2026-11-16T12:00:00Z server=github tool=\"list \\\"all\\\"\\n\" step=view view=page raw_bytes=40 \
             raw_tokens=10 sent_bytes=40 sent_tokens=10 stored_bytes=0 added_micros=7"
        );
        let json: Value = serde_json::from_str(&line(&call, LogFormat::Json)).unwrap();
        assert_eq!((&json["tool"], &json["sent_tokens"]), (&json!("list \"all\"\n"), &json!(10)));
    }
}
