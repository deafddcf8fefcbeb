//! Every key of `tidegate.toml`, once: what it takes, what holds without it, and what it is for.
//!
//! The reader, the JSON Schema, the template of `config init`, `config show` and the reference page are all made from
//! this table; `rules.rs` says what a key changes, and a test that it knows each of them.

use std::fmt;

use tidegate_core::budget::Budget;
use tidegate_core::hints::Hints;
use tidegate_gate::policy::{OnStoreFailure, TOKEN_LIFE, TTL};
use tidegate_gate::profile::OutputSchema;
use tidegate_gate::style::{ProbeWhen, Style};
use tidegate_proxy::Limits;

/// The sections there are.
pub(super) const SECTIONS: [&str; 4] = ["defaults", "server", "client", "store"];

/// Where a key belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Group {
    /// Rules for tools: `[defaults]`, `[server.NAME]`, `[server.NAME.tool.PATTERN]`.
    Rules,
    /// `[client.PATTERN]`.
    Client,
    /// `[store]`.
    Store,
}

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A whole number within bounds.
    Number { least: u64, most: u64 },
    /// `true` or `false`.
    Flag,
    /// A text that is not empty.
    Text,
    /// A list of texts.
    Texts,
    /// One of these.
    Choice(&'static [&'static str]),
}

/// What holds where a key is not set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fallback {
    /// A number.
    Number(u64),
    /// `true` or `false`.
    Flag(bool),
    /// One of the choices.
    Name(&'static str),
    /// No single value.
    Words(&'static str),
}

/// One key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) group: Group,
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) fallback: Fallback,
    /// A value that is not the default, as it is written in a file.
    pub(super) example: &'static str,
    /// What it is for, as one sentence.
    pub(super) doc: &'static str,
    /// The flag of `tidegate run` that sets it too; empty if there is none.
    pub(super) flag: &'static str,
    /// The variable of the environment that sets it too; empty if there is none.
    pub(super) variable: &'static str,
}

/// A result must be able to be larger than what is passed on without a look.
pub(crate) const LEAST_RESULT: u64 = 1 << 20;
/// Larger numbers are no limits.
const MOST: u64 = 1 << 40;

const TOKENS: Kind = Kind::Number { least: Budget::LEAST_TOKENS.0, most: MOST };
const BYTES: Kind = Kind::Number { least: Budget::LEAST_BYTES.0, most: MOST };

const fn up_to(most: u64) -> Kind {
    Kind::Number { least: 1, most }
}

/// All keys, those that are set most first.
pub(super) const KEYS: [Key; 30] = [
    rule("budget_tokens", TOKENS, Fallback::Number(Budget::DEFAULT_TOKENS.0))
        .example("1200")
        .doc("Most tokens of an answer; wins over what is set for a client.")
        .also("--budget", "TIDEGATE_BUDGET"),
    rule("max_bytes", BYTES, Fallback::Words("5 per token, at least 10240, below where the client cuts"))
        .example("8000")
        .doc("Most bytes of an answer.")
        .also("--max-bytes", "TIDEGATE_MAX_BYTES"),
    rule("cap_tokens", TOKENS, Fallback::Words("what is set for the client, else 10000"))
        .example("20000")
        .doc("Most tokens that a caller can ask for; wins over what is set for a client."),
    rule("ttl_seconds", up_to(MOST), Fallback::Number(TTL.as_secs()))
        .example("3600")
        .doc("How long results are kept.")
        .also("--ttl", "TIDEGATE_TTL"),
    rule("style", Kind::Choice(&Style::NAMES), Fallback::Name(Style::NAMES[0]))
        .example("\"probe\"")
        .doc("What is answered in place of a result that does not fit (docs/styles.md).")
        .also("--style", "TIDEGATE_STYLE"),
    rule("fields", Kind::Texts, Fallback::Words("chosen for each result"))
        .example("[\"number\", \"title\", \"state\"]")
        .doc("Fields of the rows that are shown; all fields are kept."),
    rule("rows", Kind::Text, Fallback::Words("found in each result"))
        .example("\".items\"")
        .doc("Where the records are, if that is not found."),
    rule("kind", Kind::Choice(&Hints::KINDS), Fallback::Words("recognised in each result"))
        .example("\"log\"")
        .doc("What the text of a result is."),
    rule("page_size", up_to(1000), Fallback::Words("as many as typically fit"))
        .example("25")
        .doc("Records of one page."),
    rule("on_store_failure", Kind::Choice(&OnStoreFailure::NAMES), Fallback::Name(OnStoreFailure::NAMES[0]))
        .example("\"error\"")
        .doc("What is answered where a result could not be kept; both say that the tool did run."),
    rule("probe_when", Kind::Choice(&ProbeWhen::NAMES), Fallback::Name(ProbeWhen::NAMES[0]))
        .example("\"always\"")
        .doc("When a tool of the style probe answers with a probe."),
    rule("token_seconds", up_to(MOST), Fallback::Number(TOKEN_LIFE.as_secs()))
        .example("600")
        .doc("How long the token of a probe holds."),
    rule("auto_negotiate_bytes", up_to(MOST), Fallback::Words("never"))
        .example("50000")
        .doc("A result of more bytes is answered with a probe, whatever the style."),
    rule("domain", Kind::Text, Fallback::Words("the name of the tool"))
        .example("\"bugfix\"")
        .doc("What stands behind ax:// in the addresses of kept results."),
    rule("category_budgets", Kind::Flag, Fallback::Flag(false))
        .example("true")
        .doc("Whether the bytes of an answer go by what kind of tool it is, as its name says."),
    rule("max_items", up_to(1000), Fallback::Number(10))
        .example("5")
        .doc("Most items of a list, where a value is cut down."),
    rule("max_string", up_to(100_000), Fallback::Number(500))
        .example("200")
        .doc("Most characters of a string, where a value is cut down."),
    rule("max_lines", Kind::Number { least: 2, most: 1000 }, Fallback::Number(20))
        .example("40")
        .doc("Most lines of a text, where a value is cut down."),
    rule("max_depth", up_to(64), Fallback::Number(4))
        .example("3")
        .doc("Most levels of nesting, where a value is cut down."),
    rule("offer_output", Kind::Flag, Fallback::Flag(false))
        .example("true")
        .doc("Whether a tool gets the argument output, with which a caller asks for a full result."),
    rule("full_cap_tokens", TOKENS, Fallback::Words("what a caller can ask for"))
        .example("50000")
        .doc("Most tokens of a full output; what is larger is attached."),
    rule("session_max_bytes", up_to(MOST), Fallback::Words("no ceiling"))
        .example("25000")
        .doc("Bytes of a session after which every answer is as small as it can be."),
    client("budget_tokens", TOKENS, Fallback::Words("what the rules say"))
        .example("1500")
        .doc("Most tokens of an answer, unless the rules for the tool say."),
    client("max_bytes", BYTES, Fallback::Number(10_240))
        .example("40000")
        .doc("Most bytes of an answer, below where the client cuts."),
    client("cap_tokens", TOKENS, Fallback::Number(10_000))
        .example("20000")
        .doc("Most tokens that a caller can ask for, unless the rules for the tool say."),
    client("output_schema", Kind::Choice(&OutputSchema::NAMES), Fallback::Name(OutputSchema::NAMES[0]))
        .example("\"keep\"")
        .doc("What becomes of the outputSchema of tools: taken away, kept, or widened so that our answer is valid."),
    client("resource_link", Kind::Flag, Fallback::Flag(false))
        .example("true")
        .doc("Whether an answer carries a link to the complete result."),
    client("count_percent", Kind::Number { least: 100, most: 1000 }, Fallback::Number(100))
        .example("130")
        .doc("Counts of tokens are raised to this percentage, for models whose tokenizer is not public."),
    store("path", Kind::Text, Fallback::Words("the platform's folder for data"))
        .example("\"~/.local/share/tidegate\"")
        .doc("Folder in which results are kept; relative to the file, ~/ is the home folder.")
        .also("", "TIDEGATE_HOME"),
    store("max_result_bytes", Kind::Number { least: LEAST_RESULT, most: MOST }, Fallback::Number(Limits::MOST))
        .example("33554432")
        .doc("Largest result that is taken from a server; a larger one becomes an error.")
        .also("--max-result-bytes", "TIDEGATE_MAX_RESULT_BYTES"),
];

const fn rule(name: &'static str, kind: Kind, fallback: Fallback) -> Key {
    Key { group: Group::Rules, name, kind, fallback, example: "", doc: "", flag: "", variable: "" }
}

const fn client(name: &'static str, kind: Kind, fallback: Fallback) -> Key {
    Key { group: Group::Client, ..rule(name, kind, fallback) }
}

const fn store(name: &'static str, kind: Kind, fallback: Fallback) -> Key {
    Key { group: Group::Store, ..rule(name, kind, fallback) }
}

impl Key {
    const fn example(self, example: &'static str) -> Self {
        Self { example, ..self }
    }

    const fn doc(self, doc: &'static str) -> Self {
        Self { doc, ..self }
    }

    const fn also(self, flag: &'static str, variable: &'static str) -> Self {
        Self { flag, variable, ..self }
    }

    /// Returns the key of a name.
    pub(super) fn named(group: Group, name: &str) -> Option<&'static Self> {
        Self::of(group).find(|key| key.name == name)
    }

    /// Returns the keys of a group.
    pub(super) fn of(group: Group) -> impl Iterator<Item = &'static Self> {
        KEYS.iter().filter(move |key| key.group == group)
    }
}

impl Fallback {
    /// Returns it as it would be written in a file; `None` where it is no single value.
    pub(super) fn written(&self) -> Option<String> {
        match self {
            Self::Number(number) => Some(number.to_string()),
            Self::Flag(flag) => Some(flag.to_string()),
            Self::Name(name) => Some(format!("{name:?}")),
            Self::Words(_) => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { least, most: MOST } => write!(formatter, "a whole number, at least {least}"),
            Self::Number { least, most } => write!(formatter, "a whole number, {least} to {most}"),
            Self::Flag => formatter.write_str("true or false"),
            Self::Text => formatter.write_str("a string"),
            Self::Texts => formatter.write_str("a list of strings"),
            Self::Choice(choices) => write!(formatter, "one of {}", choices.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::CommandFactory;
    use tidegate_gate::policy::{Policies, Rules};
    use tidegate_gate::profile::{Profile, ProfileRules};

    use super::*;
    use crate::cli::Cli;
    use crate::config::file::{File, Section};
    use crate::config::value::{Value, of_profile, set_client, set_rule};

    /// Reads one setting, which must be right.
    fn read(heading: &str, name: &str, value: &str) -> Section {
        let mut mistakes = Vec::new();
        let text = format!("[{heading}]\n{name} = {value}\n");
        let mut file = File::read(Path::new("t.toml"), &text, &mut mistakes);
        assert!(mistakes.is_empty(), "{mistakes:?}");
        file.sections.remove(0)
    }

    #[test]
    fn every_key_changes_something_of_its_own() {
        let (mut rules, mut clients) = (vec![Rules::default()], vec![ProfileRules::default()]);
        for key in &KEYS {
            match key.group {
                Group::Rules => rules.push(read("defaults", key.name, key.example).rules()),
                Group::Client => clients.push(read("client.x", key.name, key.example).client()),
                Group::Store => assert!(read("store", key.name, key.example).get(key.name).is_some()),
            }
        }
        for (at, one) in rules.iter().enumerate() {
            assert!(!rules[..at].contains(one), "{one:?}");
        }
        for (at, one) in clients.iter().enumerate() {
            assert!(!clients[..at].contains(one), "{one:?}");
        }
    }

    #[test]
    fn every_key_is_described_once() {
        for (at, key) in KEYS.iter().enumerate() {
            assert!(!KEYS[..at].iter().any(|other| (other.group, other.name) == (key.group, key.name)));
            assert!(key.doc.ends_with('.') && key.doc.len() < 120, "{}", key.doc);
            assert_ne!(Some(key.example.to_owned()), key.fallback.written(), "{}", key.name);
        }
    }

    /// To set what is the default anyway changes nothing.
    #[test]
    fn the_defaults_are_those_of_the_code() {
        let profile = Profile::strictest();
        let usual = Policies::default().of_tool("x");
        for key in &KEYS {
            let Some(default) = Value::of_fallback(&key.fallback) else { continue };
            match key.group {
                Group::Rules => {
                    let mut policies = Policies::default();
                    set_rule(&mut policies.run, key.name, &default);
                    let policy = policies.of_tool("x");
                    match key.name {
                        // Whether it was set is remembered, for what is set for a client.
                        "budget_tokens" => assert_eq!(policy.budget(&profile), usual.budget(&profile)),
                        _ => assert_eq!(policy, usual, "{}", key.name),
                    }
                }
                Group::Client => {
                    let mut rules = ProfileRules::default();
                    set_client(&mut rules, key.name, &default);
                    assert_eq!(rules.over(profile.clone()), profile, "{}", key.name);
                    assert_eq!(of_profile(&profile, key.name), Some(default));
                }
                Group::Store => assert_eq!(default, Value::Number(Limits::MOST)),
            }
        }
    }

    #[test]
    fn flags_and_variables_are_those_of_run() {
        let command = Cli::command();
        let run = command.find_subcommand("run").unwrap();
        for key in KEYS.iter().filter(|key| !key.flag.is_empty()) {
            let flag = key.flag.trim_start_matches('-');
            let argument = run.get_arguments().find(|argument| argument.get_long() == Some(flag));
            let argument = argument.unwrap_or_else(|| panic!("run has no {}", key.flag));
            assert_eq!(argument.get_env().unwrap(), key.variable);
        }
    }
}
