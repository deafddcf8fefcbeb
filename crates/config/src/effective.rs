//! The values in effect for one server, tool and client, one per key, and where each comes from.
//!
//! These values give the same policy and profile that `tidegate run` works with; a test checks this.

use std::fmt;

use tidegate_gate::policy::{Policies, Policy, Rules};
use tidegate_gate::profile::Profile;
use tidegate_gate::style::category::Category;
use tidegate_gate::{Caller, without_secrets};

use crate::file::{ConfigFile, Heading, Section, Setting};
use crate::keys::{Key, KeyGroup, ValueKind};
use crate::locate::path_variable;
use crate::resolve::Config;
use crate::store::text_variable;
use crate::value::{Value, client_value, set_rule};

/// The server, tool and client that the values are for; `None` means any.
#[derive(Debug, Clone, Copy, Default)]
pub struct Subject<'s> {
    /// The server, by the name of its section.
    pub server: Option<&'s str>,
    /// A tool of that server.
    pub tool: Option<&'s str>,
    /// The client, by the name it sends in `initialize`.
    pub client: Option<&'s str>,
}

/// A value that the command line or the environment sets.
#[derive(Debug, Clone)]
pub struct Override {
    /// The name of the key.
    pub key: &'static str,
    /// The value.
    pub value: Value,
    /// Whether it comes from the environment.
    pub from_environment: bool,
}

/// The value of one key.
#[derive(Debug, Clone)]
pub struct EffectiveValue<'c> {
    /// The key.
    pub key: &'static Key,
    /// The value; `None` if there is no fixed one, as for a default that is chosen for each result.
    pub value: Option<Value>,
    /// Where it comes from.
    pub origin: Origin<'c>,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy)]
pub enum Origin<'c> {
    /// A flag.
    Flag(&'static str),
    /// An environment variable.
    Variable(&'static str),
    /// A line of a file.
    File {
        /// The file.
        file: &'c ConfigFile,
        /// The section.
        section: &'c Section,
        /// The line, counted from 1.
        line: usize,
    },
    /// Built in for a known client.
    BuiltIn,
    /// The category of the tool, where `category_budgets` is set.
    Category(Category),
    /// The default.
    Default,
}

/// Every value in effect.
#[derive(Debug)]
pub struct Effective<'c> {
    config: &'c Config,
    subject: Subject<'c>,
    /// The rules for the tool.
    pub rules: Vec<EffectiveValue<'c>>,
    /// The settings for the client.
    pub client: Vec<EffectiveValue<'c>>,
    /// The settings for the store.
    pub store: Vec<EffectiveValue<'c>>,
    /// The settings for the object store.
    pub objects: Vec<EffectiveValue<'c>>,
}

impl<'c> Effective<'c> {
    /// Returns the values in effect; `overrides` win over every file.
    pub fn new(config: &'c Config, subject: Subject<'c>, overrides: &[Override]) -> Self {
        let overridden = |key: &'static Key| {
            let found = overrides.iter().find(|set| set.key == key.name)?;
            let origin = match found.from_environment {
                true => Origin::Variable(key.variable),
                false => Origin::Flag(key.flag),
            };
            Some(EffectiveValue { key, value: Some(found.value.clone()), origin })
        };
        let client = client_values(config, subject.client.unwrap_or_default());
        let sections = config.sections_for_tool(subject.server, subject.tool);
        let rules = Key::in_group(KeyGroup::Rules).map(|key| {
            overridden(key)
                .or_else(|| first_setting(&sections, key))
                .or_else(|| client_setting(&client, key))
                .unwrap_or_else(|| EffectiveValue::default_of(key))
        });
        let rules = with_category(rules.collect(), subject.tool);
        let store = Key::in_group(KeyGroup::Store).map(|key| match key.name {
            "path" => store_folder(config, key),
            _ => overridden(key)
                .or_else(|| of_variable(key))
                .or_else(|| store_value(config, key))
                .unwrap_or_else(|| EffectiveValue::default_of(key))
                .without_secrets(),
        });
        let objects = Key::in_group(KeyGroup::Objects).map(|key| {
            let set = of_variable(key).or_else(|| store_value(config, key));
            set.unwrap_or_else(|| EffectiveValue::default_of(key)).without_secrets()
        });
        Self { config, subject, rules, store: store.collect(), objects: objects.collect(), client }
    }

    /// Returns the policy that results from the rules.
    pub fn policy(&self) -> Policy {
        let mut run = Rules::default();
        // The policy itself applies defaults and the client's values.
        for effective in self.rules.iter().filter(|effective| effective.is_set_as_rule()) {
            if let Some(value) = &effective.value {
                set_rule(&mut run, effective.key.name, value);
            }
        }
        let mut policies = Policies::default();
        policies.run = run;
        policies.of_tool(self.subject.tool.unwrap_or_default())
    }

    /// Returns the profile of the client.
    pub fn profile(&self) -> Profile {
        let mut caller = Caller::unknown(self.config.clients());
        caller.name(self.subject.client.unwrap_or_default());
        caller.profile
    }

    /// Returns the patterns of the server's tools that have a section of their own.
    pub fn tool_patterns(&self) -> Vec<&'c str> {
        let pattern = |section: &'c Section| match &section.heading {
            Heading::Tools { server, pattern } if Some(server.as_str()) == self.subject.server => {
                Some(pattern.as_str())
            }
            _ => None,
        };
        self.config.sections().filter_map(|(_, section)| pattern(section)).collect()
    }
}

/// Returns the rules with the bytes of the tool's category, where the rules ask for that and set no other number.
fn with_category<'c>(mut rules: Vec<EffectiveValue<'c>>, tool: Option<&str>) -> Vec<EffectiveValue<'c>> {
    let is_on = |rule: &EffectiveValue<'_>| {
        rule.key.name == "category_budgets" && rule.value == Some(Value::Flag(true))
    };
    let category = tool.and_then(Category::of_tool).filter(|_| rules.iter().any(is_on));
    let unset = rules.iter_mut().find(|rule| rule.key.name == "max_bytes" && rule.value.is_none());
    if let (Some(category), Some(rule)) = (category, unset) {
        rule.value = Some(Value::Number(category.bytes() as u64));
        rule.origin = Origin::Category(category);
    }
    rules
}

/// Returns the setting of the first section that has the key.
fn first_setting<'c>(
    sections: &[(&'c ConfigFile, &'c Section)],
    key: &'static Key,
) -> Option<EffectiveValue<'c>> {
    let setting =
        |(file, section): &(&'c ConfigFile, &'c Section)| Some((*file, *section, section.get(key.name)?));
    sections
        .iter()
        .find_map(setting)
        .map(|(file, section, setting)| EffectiveValue::from_setting(file, section, setting))
}

fn store_value<'c>(config: &'c Config, key: &'static Key) -> Option<EffectiveValue<'c>> {
    let heading = if key.group == KeyGroup::Objects { Heading::Objects } else { Heading::Store };
    let (file, section, setting) = config.setting_of(&heading, key.name)?;
    Some(EffectiveValue::from_setting(file, section, setting))
}

/// Returns the text that an environment variable sets.
fn of_variable<'c>(key: &'static Key) -> Option<EffectiveValue<'c>> {
    let text = text_variable(key.variable).filter(|_| key.kind == ValueKind::Text)?;
    Some(EffectiveValue { key, value: Some(Value::Text(text)), origin: Origin::Variable(key.variable) })
}

fn client_values<'c>(config: &'c Config, name: &str) -> Vec<EffectiveValue<'c>> {
    let sections = config.sections_for_client(name);
    let base = sections.iter().find_map(|(_, section)| section.get("profile")?.value.text());
    let (built_in, strictest) = (Profile::of_client(base.unwrap_or(name)), Profile::strictest());
    let values = Key::in_group(KeyGroup::Client).map(|key| {
        let value = client_value(&built_in, key.name);
        let is_default = value == client_value(&strictest, key.name);
        let origin = if is_default { Origin::Default } else { Origin::BuiltIn };
        first_setting(&sections, key).unwrap_or(EffectiveValue { key, value, origin })
    });
    values.collect()
}

/// Returns what is set for the client, by a file or built in, which applies where no rule sets the key. Two keys are
/// different: of `max_bytes` the smaller value applies, and `tier` is what the tool needs and what the client has.
fn client_setting<'c>(client: &[EffectiveValue<'c>], key: &'static Key) -> Option<EffectiveValue<'c>> {
    let is_same_key = |effective: &&EffectiveValue<'c>| {
        effective.key.name == key.name && !["max_bytes", "tier"].contains(&key.name)
    };
    let set = client.iter().find(is_same_key).filter(|set| !matches!(set.origin, Origin::Default))?;
    Some(EffectiveValue { key, value: set.value.clone(), origin: set.origin })
}

/// Returns the folder of the store, expanded.
fn store_folder<'c>(config: &'c Config, key: &'static Key) -> EffectiveValue<'c> {
    let origin = match (path_variable(key.variable), store_value(config, key)) {
        (Some(_), _) => Origin::Variable(key.variable),
        (None, Some(set)) => set.origin,
        (None, None) => Origin::Default,
    };
    let folder = config.place().folder();
    EffectiveValue { key, value: folder.map(|folder| Value::Text(folder.display().to_string())), origin }
}

impl<'c> EffectiveValue<'c> {
    fn from_setting(file: &'c ConfigFile, section: &'c Section, setting: &'c Setting) -> Self {
        let origin = Origin::File { file, section, line: setting.line };
        Self { key: setting.key, value: Some(setting.value.clone()), origin }
    }

    fn default_of(key: &'static Key) -> Self {
        Self { key, value: Value::of_default(&key.default), origin: Origin::Default }
    }

    /// Returns the value as it may be shown: an address without its password.
    fn without_secrets(mut self) -> Self {
        if let (true, Some(Value::Text(url))) = (self.key.name == "url", &self.value) {
            self.value = Some(Value::Text(without_secrets(url)));
        }
        self
    }

    /// Returns whether it was set as a rule, and not for a client.
    fn is_set_as_rule(&self) -> bool {
        match self.origin {
            Origin::Flag(_) | Origin::Variable(_) => true,
            Origin::File { section, .. } => !matches!(section.heading, Heading::Client(_)),
            Origin::BuiltIn | Origin::Category(_) | Origin::Default => false,
        }
    }
}

impl fmt::Display for Origin<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => formatter.write_str(flag),
            Self::Variable(variable) => formatter.write_str(variable),
            Self::File { file, section, line } => {
                write!(formatter, "{}:{line} [{}]", file.path.display(), section.heading)
            }
            Self::BuiltIn => formatter.write_str("built in for this client"),
            Self::Category(category) => write!(formatter, "category_budgets: {category}"),
            Self::Default => formatter.write_str("default"),
        }
    }
}

#[cfg(test)]
mod tests;
