//! `tidegate config show`: what holds in the end, and where each of it comes from.

use std::fmt;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory};
use serde_json::{Map, Value as Json, json};
use tidegate_gate::Caller;
use tidegate_gate::policy::{Policies, Policy, Rules};
use tidegate_gate::profile::Profile;

use super::file::{File, Section, Setting, Whose};
use super::keys::{Fallback, Group, Key};
use super::value::{Value, of_profile, set_rule};
use super::{Config, variable};
use crate::cli::{Cli, Format};
use crate::error::CommandError;
use crate::overrides::Overrides;
use crate::ui;

/// Show what holds in the end, and where it comes from
///
/// For all tools of all servers, or for what is named. A value comes from a flag, the environment, a line of a file, what
/// is built in for a client, or the default.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  tidegate config show\n  tidegate config show --server github --tool list_issues\n  \
    tidegate config show --client codex-mcp-client --format json"
)]
pub(super) struct Show {
    /// Show what holds for a server, as it is named by tidegate run --server
    #[arg(long, value_name = "NAME", env = "TIDEGATE_SERVER")]
    server: Option<String>,

    /// Show what holds for a tool of the server
    #[arg(long, value_name = "NAME", requires = "server")]
    tool: Option<String>,

    /// Show what holds for a client, by the name it gives itself, such as claude-code
    #[arg(long, value_name = "NAME")]
    client: Option<String>,

    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,

    #[command(flatten, next_help_heading = "As they would be given to tidegate run")]
    overrides: Overrides,
}

/// One key, and what holds for it.
struct Held<'c> {
    key: &'static Key,
    /// `None` where that is no single value.
    value: Option<Value>,
    origin: Origin<'c>,
}

/// Where a value comes from.
#[derive(Clone, Copy)]
enum Origin<'c> {
    Flag(&'static str),
    Variable(&'static str),
    File {
        file: &'c File,
        section: &'c Section,
        line: usize,
    },
    /// Built in for a client that is known.
    BuiltIn,
    Default,
}

/// Runs the command.
pub(super) fn run(arguments: &Show) -> Result<(), CommandError> {
    let config = Config::load(arguments.overrides.config.as_deref())?;
    // Clap knows where a value comes from only as long as it has not become a struct.
    let matches = Cli::command().get_matches();
    let shown = Shown::new(&config, arguments, &|flag| is_from_environment(&matches, flag));
    match arguments.format {
        Format::Json => ui::json(&shown.json()),
        Format::Text => ui::data(shown.text().as_bytes()),
    }
}

fn is_from_environment(matches: &ArgMatches, flag: &str) -> bool {
    let id = flag.trim_start_matches('-').replace('-', "_");
    let mut matches = matches;
    while let Some((_, below)) = matches.subcommand() {
        matches = below;
    }
    matches.value_source(&id) == Some(ValueSource::EnvVariable)
}

/// Everything that holds.
struct Shown<'c> {
    config: &'c Config,
    arguments: &'c Show,
    rules: Vec<Held<'c>>,
    client: Vec<Held<'c>>,
    store: Vec<Held<'c>>,
}

impl<'c> Shown<'c> {
    fn new(config: &'c Config, arguments: &'c Show, from_environment: &dyn Fn(&str) -> bool) -> Self {
        let set = arguments.overrides.set();
        let of_run = |key: &'static Key| {
            let (_, value) = set.iter().find(|(name, _)| *name == key.name)?;
            let origin = match from_environment(key.flag) {
                true => Origin::Variable(key.variable),
                false => Origin::Flag(key.flag),
            };
            Some(Held { key, value: Some(value.clone()), origin })
        };
        let name = arguments.client.as_deref().unwrap_or_default();
        let client = of_client(config, name);
        let of_tool = config.of_tool(arguments.server.as_deref(), arguments.tool.as_deref());
        let rules = Key::of(Group::Rules).map(|key| {
            let set = of_run(key).or_else(|| set_in(&of_tool, key)).or_else(|| left_to_client(&client, key));
            set.unwrap_or_else(|| Held::fallback(key))
        });
        let rules = rules.collect();
        let store = Key::of(Group::Store).map(|key| match key.name {
            "path" => folder(config, key),
            _ => of_run(key).or_else(|| of_store(config, key)).unwrap_or_else(|| Held::fallback(key)),
        });
        Self { config, arguments, rules, store: store.collect(), client }
    }

    /// The policy that these rules make.
    fn policy(&self) -> Policy {
        let mut run = Rules::default();
        // What no file says is decided where the policy is made.
        let set = self.rules.iter().filter(|held| held.is_rule());
        for (held, value) in set.filter_map(|held| Some((held, held.value.as_ref()?))) {
            set_rule(&mut run, held.key.name, value);
        }
        let mut policies = Policies::default();
        policies.run = run;
        policies.of_tool(self.arguments.tool.as_deref().unwrap_or_default())
    }

    fn profile(&self) -> Profile {
        let mut caller = Caller::unknown(self.config.clients());
        caller.name(self.arguments.client.as_deref().unwrap_or_default());
        caller.profile
    }

    /// Tools of the server that have rules of their own.
    fn patterns(&self) -> Vec<&'c str> {
        let of_server = |section: &'c Section| match &section.whose {
            Whose::Tools { server, pattern } if Some(server) == self.arguments.server.as_ref() => {
                Some(pattern.as_str())
            }
            _ => None,
        };
        self.config.sections().filter_map(|(_, section)| of_server(section)).collect()
    }

    fn json(&self) -> Json {
        let group = |held: &[Held<'_>]| -> Map<String, Json> {
            held.iter().map(|held| (held.key.name.to_owned(), held.json())).collect()
        };
        let (policy, profile) = (self.policy(), self.profile());
        let (usual, cap) = (policy.budget(&profile), policy.cap(&profile));
        json!({
            "files": self.config.files.iter().map(|file| &file.path).collect::<Vec<_>>(),
            "server": self.arguments.server,
            "tool": self.arguments.tool,
            "client": self.arguments.client,
            "answer": {
                "tokens": usual.tokens.0,
                "bytes": usual.bytes.0,
                "cap_tokens": cap.tokens.0,
                "cap_bytes": cap.bytes.0,
            },
            "rules": group(&self.rules),
            "profile": group(&self.client),
            "store": group(&self.store),
        })
    }

    fn text(&self) -> String {
        let (policy, profile) = (self.policy(), self.profile());
        let (usual, cap) = (policy.budget(&profile), policy.cap(&profile));
        let files: Vec<String> =
            self.config.files.iter().map(|file| file.path.display().to_string()).collect();
        let files = if files.is_empty() { "none".to_owned() } else { files.join(", ") };
        let named = |name: &Option<String>, any: &str| name.clone().unwrap_or_else(|| any.to_owned());
        let mut head = vec![
            ["files".to_owned(), files],
            ["server".to_owned(), named(&self.arguments.server, "any")],
            ["tool".to_owned(), named(&self.arguments.tool, "any")],
            ["client".to_owned(), named(&self.arguments.client, "any that is not known")],
            ["an answer".to_owned(), format!("{} tokens, {} bytes", usual.tokens, usual.bytes)],
            ["on request".to_owned(), format!("{} tokens, {} bytes", cap.tokens, cap.bytes)],
        ];
        let patterns = self.patterns();
        if self.arguments.tool.is_none() && !patterns.is_empty() {
            head.push(["see --tool".to_owned(), patterns.join(", ")]);
        }
        let mut out = ui::table(&head, &[]);
        for (title, held) in [
            ("Rules for the tool", &self.rules),
            ("How the client is treated", &self.client),
            ("The store", &self.store),
        ] {
            let rows: Vec<[String; 3]> = held.iter().map(Held::row).collect();
            out.push_str(&format!("\n{title}\n{}", ui::table(&rows, &[])));
        }
        out
    }
}

/// What the first of some sections sets that has the key.
fn set_in<'c>(sections: &[(&'c File, &'c Section)], key: &'static Key) -> Option<Held<'c>> {
    let set = |(file, section): &(&'c File, &'c Section)| Some((*file, *section, section.get(key.name)?));
    sections.iter().find_map(set).map(|(file, section, setting)| Held::set(file, section, setting))
}

fn of_store<'c>(config: &'c Config, key: &'static Key) -> Option<Held<'c>> {
    let stores: Vec<_> = config.sections().filter(|(_, section)| section.whose == Whose::Store).collect();
    set_in(&stores, key)
}

fn of_client<'c>(config: &'c Config, name: &str) -> Vec<Held<'c>> {
    let sections = config.of_client(name);
    let (built_in, strictest) = (Profile::of_client(name), Profile::strictest());
    let held = Key::of(Group::Client).map(|key| {
        let value = of_profile(&built_in, key.name);
        let origin =
            if value == of_profile(&strictest, key.name) { Origin::Default } else { Origin::BuiltIn };
        set_in(&sections, key).unwrap_or(Held { key, value, origin })
    });
    held.collect()
}

/// What is set for a client holds where no rule says: but bytes, of which the less holds.
fn left_to_client<'c>(client: &[Held<'c>], key: &'static Key) -> Option<Held<'c>> {
    let same = |held: &&Held<'c>| held.key.name == key.name && key.name != "max_bytes";
    let held = client.iter().find(same).filter(|held| matches!(held.origin, Origin::File { .. }))?;
    Some(Held { key, value: held.value.clone(), origin: held.origin })
}

/// The folder of the store as it is used.
fn folder<'c>(config: &'c Config, key: &'static Key) -> Held<'c> {
    let origin = match (variable(key.variable), of_store(config, key)) {
        (Some(_), _) => Origin::Variable(key.variable),
        (None, Some(held)) => held.origin,
        (None, None) => Origin::Default,
    };
    let folder = config.place().folder();
    Held { key, value: folder.map(|folder| Value::Text(folder.display().to_string())), origin }
}

impl<'c> Held<'c> {
    fn set(file: &'c File, section: &'c Section, setting: &'c Setting) -> Self {
        let origin = Origin::File { file, section, line: setting.line };
        Self { key: setting.key, value: Some(setting.value.clone()), origin }
    }

    fn fallback(key: &'static Key) -> Self {
        Self { key, value: Value::of_fallback(&key.fallback), origin: Origin::Default }
    }

    /// Whether it was set as a rule, and not for a client.
    fn is_rule(&self) -> bool {
        match self.origin {
            Origin::Flag(_) | Origin::Variable(_) => true,
            Origin::File { section, .. } => !matches!(section.whose, Whose::Client(_)),
            Origin::BuiltIn | Origin::Default => false,
        }
    }

    fn row(&self) -> [String; 3] {
        let value = self.value.as_ref().map_or_else(|| "-".to_owned(), Value::to_string);
        let origin = match (&self.value, self.key.fallback) {
            (None, Fallback::Words(words)) => format!("default: {words}"),
            _ => self.origin.to_string(),
        };
        [format!("  {}", self.key.name), value, origin]
    }

    fn json(&self) -> Json {
        let mut told = match self.origin {
            Origin::Flag(flag) => json!({"from": "flag", "flag": flag}),
            Origin::Variable(variable) => json!({"from": "environment", "variable": variable}),
            Origin::File { file, section, line } => {
                json!({"from": "file", "file": file.path, "line": line, "section": section.whose.to_string()})
            }
            Origin::BuiltIn => json!({"from": "client"}),
            Origin::Default => json!({"from": "default"}),
        };
        told["value"] = self.value.as_ref().map_or(Json::Null, Value::json);
        if let (None, Fallback::Words(words)) = (&self.value, self.key.fallback) {
            told["default"] = json!(words);
        }
        told
    }
}

impl fmt::Display for Origin<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => formatter.write_str(flag),
            Self::Variable(variable) => formatter.write_str(variable),
            Self::File { file, section, line } => {
                write!(formatter, "{}:{line} [{}]", file.path.display(), section.whose)
            }
            Self::BuiltIn => formatter.write_str("built in for this client"),
            Self::Default => formatter.write_str("default"),
        }
    }
}

#[cfg(test)]
mod tests;
