//! What flags and the environment set for one run; it wins over every file.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use tidegate_core::budget::Budget;
use tidegate_gate::policy::Rules;
use tidegate_gate::style::Style;

use crate::config::keys::LEAST_RESULT;
use crate::config::value::{Value, set_rule};

/// What is set for one run.
#[derive(Debug, Args)]
pub(crate) struct Overrides {
    /// Most tokens of an answer [default: 2000]
    #[arg(long, value_name = "TOKENS", env = "TIDEGATE_BUDGET", value_parser = at_least(Budget::LEAST_TOKENS.0))]
    budget: Option<u64>,

    /// Most bytes of an answer [default: 5 per token, at least 10240, below where the client cuts]
    #[arg(long, value_name = "BYTES", env = "TIDEGATE_MAX_BYTES", value_parser = at_least(Budget::LEAST_BYTES.0))]
    max_bytes: Option<u64>,

    /// What is answered in place of a result that does not fit [default: overview]
    #[arg(long, value_name = "STYLE", env = "TIDEGATE_STYLE", value_parser = PossibleValuesParser::new(Style::NAMES))]
    style: Option<String>,

    /// How long results are kept, such as 90s, 15m, 24h or 7d [default: 24h]
    #[arg(long, value_name = "TIME", env = "TIDEGATE_TTL", value_parser = duration)]
    ttl: Option<Duration>,

    /// Largest result that is taken from the server; a larger one becomes an error [default: 268435456]
    #[arg(long, value_name = "BYTES", env = "TIDEGATE_MAX_RESULT_BYTES", value_parser = at_least(LEAST_RESULT))]
    pub(crate) max_result_bytes: Option<u64>,

    /// Configuration file [default: tidegate.toml of the project and of the user]
    #[arg(long, value_name = "FILE", env = "TIDEGATE_CONFIG")]
    pub(crate) config: Option<PathBuf>,
}

impl Overrides {
    /// Returns everything that is set, by the name of its key.
    pub(crate) fn set(&self) -> Vec<(&'static str, Value)> {
        let number = |name, number: Option<u64>| number.map(|number| (name, Value::Number(number)));
        let style = self.style.clone().map(|style| ("style", Value::Text(style)));
        [
            number("budget_tokens", self.budget),
            number("max_bytes", self.max_bytes),
            number("ttl_seconds", self.ttl.map(|ttl| ttl.as_secs().max(1))),
            number("max_result_bytes", self.max_result_bytes),
            style,
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns the rules for tools that are set.
    pub(crate) fn rules(&self) -> Rules {
        let mut rules = Rules::default();
        for (name, value) in self.set() {
            set_rule(&mut rules, name, &value);
        }
        rules
    }
}

fn at_least(least: u64) -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync + 'static {
    move |text| match text.replace('_', "").parse::<u64>() {
        Ok(number) if number >= least => Ok(number),
        Ok(_) => Err(format!("it must be at least {least}")),
        Err(_) => Err("it must be a whole number".into()),
    }
}

/// Reads a time such as `90s`, `15m`, `24h`, `7d`, or a number of seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => 0.0,
    };
    let number = digits.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    match number {
        Some(number) if unit > 0.0 && number * unit < 1e10 => Ok(Duration::from_secs_f64(number * unit)),
        _ => Err("write it like 90s, 15m, 24h or 7d".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        for (text, seconds) in [("90s", 90), ("15m", 900), ("24h", 86_400), ("7d", 604_800), ("5", 5)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)));
        }
        assert_eq!(duration("0.5s"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("250ms"), Ok(Duration::from_millis(250)));
        for wrong in ["", "h", "-1s", "1y", "1e99d", "0"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
