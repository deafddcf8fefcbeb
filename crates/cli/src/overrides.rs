//! Settings of one run, by flags or the environment. They win over every file.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::PossibleValuesParser;
use tidegate_config::{Config, MIN_MAX_RESULT_BYTES, Value, set_rule};
use tidegate_core::budget::Budget;
use tidegate_gate::policy::Rules;
use tidegate_gate::profile::Profile;
use tidegate_gate::style::Style;

use crate::error::CommandError;

/// Settings of one run.
#[derive(Debug, Args)]
pub(crate) struct Overrides {
    /// Maximum tokens of a first answer [default: 1000]
    #[arg(long, value_name = "TOKENS", env = "TIDEGATE_BUDGET", value_parser = at_least(Budget::MIN_TOKENS.0))]
    budget: Option<u64>,

    /// Maximum tokens of follow-ups, pages and queries [default: 2000, or the budget if that is more]
    #[arg(long, value_name = "TOKENS", env = "TIDEGATE_FOLLOW_UP", value_parser = at_least(Budget::MIN_TOKENS.0))]
    follow_up: Option<u64>,

    /// Results of up to this many tokens pass unchanged [default: 2500, or the budget if that is more]
    #[arg(long, value_name = "TOKENS", env = "TIDEGATE_LINE", value_parser = at_least(Budget::MIN_TOKENS.0))]
    line: Option<u64>,

    /// Maximum bytes of an answer [default: 5 per token, at least 10240, at most the client's own limit]
    #[arg(long, value_name = "BYTES", env = "TIDEGATE_MAX_BYTES", value_parser = at_least(Budget::MIN_BYTES.0))]
    max_bytes: Option<u64>,

    /// What to answer when a result does not fit [default: overview]
    #[arg(long, value_name = "STYLE", env = "TIDEGATE_STYLE", value_parser = PossibleValuesParser::new(Style::NAMES))]
    style: Option<String>,

    /// How long results are kept, such as 90s, 15m, 24h or 7d [default: 24h]
    #[arg(long, value_name = "TIME", env = "TIDEGATE_TTL", value_parser = duration)]
    ttl: Option<Duration>,

    /// Largest result to accept from the server; a larger one becomes an error [default: 268435456]
    #[arg(long, value_name = "BYTES", env = "TIDEGATE_MAX_RESULT_BYTES", value_parser = at_least(MIN_MAX_RESULT_BYTES))]
    pub(crate) max_result_bytes: Option<u64>,

    /// Configuration file [default: tidegate.toml of the project and of the user]
    #[arg(long, value_name = "FILE", env = "TIDEGATE_CONFIG")]
    pub(crate) config: Option<PathBuf>,
}

impl Overrides {
    /// Returns every value that is set, with the name of its key and of its argument.
    pub(crate) fn values(&self) -> Vec<(&'static str, &'static str, Value)> {
        let number =
            |key, argument, number: Option<u64>| number.map(|number| (key, argument, Value::Number(number)));
        let style = self.style.clone().map(|style| ("style", "style", Value::Text(style)));
        [
            number("budget_tokens", "budget", self.budget),
            number("follow_up_tokens", "follow_up", self.follow_up),
            number("line_tokens", "line", self.line),
            number("max_bytes", "max_bytes", self.max_bytes),
            number("ttl_seconds", "ttl", self.ttl.map(|ttl| ttl.as_secs().max(1))),
            number("max_result_bytes", "max_result_bytes", self.max_result_bytes),
            style,
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns the rules that these values set for all tools of a server.
    ///
    /// # Errors
    ///
    /// A line below the budget of the server.
    pub(crate) fn rules(&self, config: &Config, server: &str) -> Result<Rules, CommandError> {
        let mut rules = Rules::default();
        for (key, _, value) in self.values() {
            set_rule(&mut rules, key, &value);
        }
        let budget = config.policies(server, rules.clone()).of_tool("").budget(&Profile::strictest()).tokens;
        match self.line {
            Some(line) if line < budget.0 => {
                let message = format!("a line of {line} tokens is below the budget of {} tokens", budget.0);
                let hint =
                    format!("set --line or TIDEGATE_LINE to at least {}, or a smaller budget", budget.0);
                Err(CommandError::bad_input(message).hint(hint))
            }
            _ => Ok(rules),
        }
    }
}

fn at_least(min: u64) -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync + 'static {
    move |text| match text.replace('_', "").parse::<u64>() {
        Ok(number) if number >= min => Ok(number),
        Ok(_) => Err(format!("must be at least {min}")),
        Err(_) => Err("must be a whole number".into()),
    }
}

/// Reads a duration such as `90s`, `15m`, `24h`, `7d`, or a number of seconds.
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
        _ => Err("expected a duration such as 90s, 15m, 24h or 7d".into()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;
    use tidegate_config::{DEFAULT_MAX_RESULT_BYTES, KEYS};
    use tidegate_proxy::Limits;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn flags_and_variables_are_those_of_the_keys() {
        let command = Cli::command();
        let run = command.find_subcommand("run").unwrap();
        for key in KEYS.iter().filter(|key| !key.flag.is_empty()) {
            let flag = key.flag.trim_start_matches('-');
            let argument = run.get_arguments().find(|argument| argument.get_long() == Some(flag));
            let argument = argument.unwrap_or_else(|| panic!("run has no {}", key.flag));
            assert_eq!(argument.get_env().unwrap(), key.variable);
        }
    }

    #[test]
    fn the_proxy_and_the_configuration_have_the_same_default() {
        assert_eq!(Limits::DEFAULT_MAX_MESSAGE_BYTES, DEFAULT_MAX_RESULT_BYTES);
    }

    #[test]
    fn durations() {
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
