//! Every key of `tidegate.toml`, once: where it belongs, which values it takes, its default, and what it does.
//!
//! The reader, the JSON Schema, the template of `tidegate config init`, `tidegate config show` and the reference page are
//! all generated from [`KEYS`]. `value.rs` applies a value to the rules it changes; a test checks that it knows every key.

mod client;
mod gateway;
mod rules;
mod store;

use std::fmt;

use tidegate_core::budget::Budget;

pub(crate) use gateway::{
    GATEWAY_IN_FLIGHT, GATEWAY_QUEUE, GATEWAY_WAITING, ISSUER_LEEWAY, SHARING, UPSTREAM_IDLE,
    UPSTREAM_PROCESSES, UPSTREAM_QUEUE, UPSTREAM_START, UPSTREAM_TIMEOUT,
};

/// The top-level tables of the file.
pub(crate) const TOP_LEVEL_TABLES: [&str; 6] =
    ["defaults", "server", "client", "store", "upstream", "gateway"];

/// The tables a key can appear in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyGroup {
    /// Rules for tools: `[defaults]`, `[server.NAME]`, `[server.NAME.tool.PATTERN]`.
    Rules,
    /// `[client.PATTERN]`.
    Client,
    /// `[store]`.
    Store,
    /// `[store.objects]`.
    Objects,
    /// `[upstream.NAME]`.
    Upstream,
    /// `[gateway]`.
    Gateway,
    /// `[gateway.key.NAME]`.
    GatewayKey,
    /// `[gateway.issuer.NAME]`.
    Issuer,
    /// `[gateway.role.NAME]`.
    Role,
}

/// The values a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// A whole number within bounds, both included.
    Number {
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
    },
    /// `true` or `false`.
    Flag,
    /// A string that is not empty.
    Text,
    /// A list of strings.
    Texts,
    /// One of these names.
    Choice(&'static [&'static str]),
}

/// The default of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultValue {
    /// A number.
    Number(u64),
    /// `true` or `false`.
    Flag(bool),
    /// One of the choices.
    Choice(&'static str),
    /// Not a single value: a description of it.
    Described(&'static str),
}

/// One key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The tables it can appear in.
    pub group: KeyGroup,
    /// Its name.
    pub name: &'static str,
    /// The values it takes.
    pub kind: ValueKind,
    /// Its default.
    pub default: DefaultValue,
    /// A value other than the default, as written in a file.
    pub example: &'static str,
    /// What it does, in one sentence.
    pub doc: &'static str,
    /// The flag of `tidegate run` that also sets it; empty if there is none.
    pub flag: &'static str,
    /// The environment variable that also sets it; empty if there is none.
    pub variable: &'static str,
    /// Whether only the user may set it. A project's file, which may come from a stranger, may set only what affects answers: not
    /// where results go, how long they are kept, or how much of the machine they may use.
    pub user_only: bool,
}

/// The largest result accepted from a server by default.
pub const DEFAULT_MAX_RESULT_BYTES: u64 = 256 << 20;
/// The smallest value of `max_result_bytes`: a limit must leave room for results that pass unread.
pub const MIN_MAX_RESULT_BYTES: u64 = 1 << 20;
/// Upper bound of keys that have no natural one; larger numbers limit nothing.
const MAX_NUMBER: u64 = 1 << 40;

const TOKENS: ValueKind = ValueKind::Number { min: Budget::MIN_TOKENS.0, max: MAX_NUMBER };
const BYTES: ValueKind = ValueKind::Number { min: Budget::MIN_BYTES.0, max: MAX_NUMBER };
const RESULT_BYTES: ValueKind = ValueKind::Number { min: MIN_MAX_RESULT_BYTES, max: MAX_NUMBER };

const fn up_to(max: u64) -> ValueKind {
    ValueKind::Number { min: 1, max }
}

/// All keys, the most used first.
pub const KEYS: [Key; count(&GROUPS)] = joined(&GROUPS);

const GROUPS: [&[Key]; 4] = [rules::KEYS, client::KEYS, store::KEYS, gateway::KEYS];

const fn count(groups: &[&[Key]]) -> usize {
    let (mut count, mut group) = (0, 0);
    while group < groups.len() {
        count += groups[group].len();
        group += 1;
    }
    count
}

const fn joined<const N: usize>(groups: &[&[Key]]) -> [Key; N] {
    let mut keys = [groups[0][0]; N];
    let (mut next, mut group) = (0, 0);
    while group < groups.len() {
        let mut index = 0;
        while index < groups[group].len() {
            keys[next] = groups[group][index];
            (next, index) = (next + 1, index + 1);
        }
        group += 1;
    }
    keys
}

const fn rule(name: &'static str, kind: ValueKind, default: DefaultValue) -> Key {
    Key {
        group: KeyGroup::Rules,
        name,
        kind,
        default,
        example: "",
        doc: "",
        flag: "",
        variable: "",
        user_only: false,
    }
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

    const fn user_only(self) -> Self {
        Self { user_only: true, ..self }
    }

    /// Returns the flag and the environment variable that also set it.
    pub fn other_sources(&self) -> impl Iterator<Item = &'static str> {
        [self.flag, self.variable].into_iter().filter(|name| !name.is_empty())
    }

    /// Returns the key with this name.
    pub fn named(group: KeyGroup, name: &str) -> Option<&'static Self> {
        Self::in_group(group).find(|key| key.name == name)
    }

    /// Returns the keys of a group.
    pub fn in_group(group: KeyGroup) -> impl Iterator<Item = &'static Self> {
        KEYS.iter().filter(move |key| key.group == group)
    }
}

impl DefaultValue {
    /// Returns the default as written in a file; `None` if it is not a single value.
    pub fn as_toml(&self) -> Option<String> {
        match self {
            Self::Number(number) => Some(number.to_string()),
            Self::Flag(flag) => Some(flag.to_string()),
            Self::Choice(name) => Some(format!("{name:?}")),
            Self::Described(_) => None,
        }
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { min, max: MAX_NUMBER } => write!(formatter, "a whole number, at least {min}"),
            Self::Number { min, max } => write!(formatter, "a whole number, {min} to {max}"),
            Self::Flag => formatter.write_str("true or false"),
            Self::Text => formatter.write_str("a string"),
            Self::Texts => formatter.write_str("a list of strings"),
            Self::Choice([""]) => formatter.write_str("an empty string"),
            Self::Choice(choices) => write!(formatter, "one of {}", choices.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tidegate_gate::policy::{Policies, Rules};
    use tidegate_gate::profile::{Profile, ProfileRules};
    use tidegate_store::Quotas;

    use super::*;
    use crate::file::{ConfigFile, Section};
    use crate::locate::FileOwner;
    use crate::value::{Value, client_value, set_client_rule, set_rule};

    /// Reads one setting that has no mistakes.
    fn read(heading: &str, name: &str, value: &str) -> Section {
        let mut mistakes = Vec::new();
        let text = format!("[{heading}]\n{name} = {value}\n");
        let mut file = ConfigFile::read(Path::new("t.toml"), FileOwner::User, &text, &mut mistakes);
        assert!(mistakes.is_empty(), "{mistakes:?}");
        file.sections.pop().unwrap()
    }

    #[test]
    fn every_key_has_an_effect_that_no_other_key_has() {
        let (mut rules, mut clients) = (vec![Rules::default()], vec![ProfileRules::default()]);
        for key in &KEYS {
            match key.group {
                KeyGroup::Rules => rules.push(read("defaults", key.name, key.example).rules()),
                KeyGroup::Client => clients.push(read("client.x", key.name, key.example).client_rules()),
                KeyGroup::Store => assert!(read("store", key.name, key.example).get(key.name).is_some()),
                KeyGroup::Objects => {
                    assert!(read("store.objects", key.name, key.example).get(key.name).is_some());
                }
                KeyGroup::Upstream => {
                    assert!(read("upstream.x", key.name, key.example).get(key.name).is_some());
                }
                KeyGroup::Gateway => {
                    assert!(read("gateway", key.name, key.example).get(key.name).is_some());
                }
                KeyGroup::GatewayKey => {
                    assert!(read("gateway.key.x", key.name, key.example).get(key.name).is_some());
                }
                KeyGroup::Issuer => {
                    assert!(read("gateway.issuer.x", key.name, key.example).get(key.name).is_some());
                }
                KeyGroup::Role => {
                    assert!(read("gateway.role.x", key.name, key.example).get(key.name).is_some());
                }
            }
        }
        for (at, one) in rules.iter().enumerate() {
            assert!(!rules[..at].contains(one), "{one:?}");
        }
        for (at, one) in clients.iter().enumerate() {
            assert!(!clients[..at].contains(one), "{one:?}");
        }
    }

    /// A key that is added must say here whether a stranger's project may set it.
    #[test]
    fn a_project_may_set_only_keys_that_affect_answers() {
        let groups_of_run = [KeyGroup::Rules, KeyGroup::Client, KeyGroup::Store, KeyGroup::Objects];
        let (run, gateway): (Vec<&Key>, Vec<&Key>) =
            KEYS.iter().partition(|key| groups_of_run.contains(&key.group));
        assert!(gateway.iter().all(|key| key.user_only), "a project sets nothing of a gateway");
        let user_only: Vec<&str> = run.iter().filter(|key| key.user_only).map(|key| key.name).collect();
        assert_eq!(
            user_only,
            [
                "ttl_seconds",
                "keep",
                "save",
                "save_max_bytes",
                "tier",
                "references",
                "references_from",
                "reference_max_bytes",
                "tier",
                "path",
                "url",
                "password_file",
                "encryption_key_file",
                "previous_key_file",
                "sealing_key_file",
                "previous_sealing_key_file",
                "quota_bytes",
                "owner_quota_bytes",
                "session_quota_bytes",
                "max_result_bytes",
                "url",
                "endpoint",
                "region",
                "credentials_file",
                "credentials_profile"
            ]
        );
        let names_for_projects = |group| {
            let keys = Key::in_group(group).filter(|key| !key.user_only);
            keys.map(|key| key.name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            names_for_projects(KeyGroup::Rules),
            "budget_tokens follow_up_tokens line_tokens max_bytes cap_tokens style compact compare fields rows kind page_size \
             on_store_failure probe_when contract_when label_field id_field token_seconds auto_negotiate_bytes domain category_budgets max_items \
             max_string max_lines max_depth offer_output full_cap_tokens session_max_bytes"
        );
        assert_eq!(
            names_for_projects(KeyGroup::Client),
            "budget_tokens follow_up_tokens line_tokens max_bytes cap_tokens output_schema resource_link count_percent \
             program profile"
        );
        assert_eq!(
            [KeyGroup::Store, KeyGroup::Objects, KeyGroup::Upstream, KeyGroup::Gateway]
                .map(names_for_projects),
            [String::new(), String::new(), String::new(), String::new()]
        );
    }

    /// A program that writes rules gets the same limits as a file.
    #[test]
    fn rules_are_checked_with_the_limits_of_the_keys() {
        for key in Key::in_group(KeyGroup::Rules) {
            let ValueKind::Number { min, max } = key.kind else { continue };
            let is_valid = |number| {
                let mut rules = Rules::default();
                set_rule(&mut rules, key.name, &Value::Number(number));
                rules.validate().is_ok()
            };
            let valid = [min - 1, min, max, max + 1].map(is_valid);
            assert_eq!(valid, [false, true, true, false], "{}", key.name);
        }
    }

    #[test]
    fn every_key_is_described_once() {
        for (at, key) in KEYS.iter().enumerate() {
            assert!(!KEYS[..at].iter().any(|other| (other.group, other.name) == (key.group, key.name)));
            assert!(key.doc.ends_with('.') && key.doc.len() < 120, "{}", key.doc);
            assert_ne!(Some(key.example.to_owned()), key.default.as_toml(), "{}", key.name);
        }
    }

    /// Setting a key to its default changes nothing.
    #[test]
    fn the_defaults_are_those_of_the_code() {
        let profile = Profile::strictest();
        let usual = Policies::default().of_tool("x");
        for key in &KEYS {
            let Some(default) = Value::of_default(&key.default) else { continue };
            match key.group {
                KeyGroup::Rules => {
                    let mut policies = Policies::default();
                    set_rule(&mut policies.run, key.name, &default);
                    let policy = policies.of_tool("x");
                    match key.name {
                        // The policy remembers that it was set: a client's budget then no longer applies.
                        "budget_tokens" => assert_eq!(policy.budget(&profile), usual.budget(&profile)),
                        "follow_up_tokens" => {
                            assert_eq!(policy.follow_up(&profile), usual.follow_up(&profile));
                        }
                        "line_tokens" => assert_eq!(policy.line(&profile), usual.line(&profile)),
                        _ => assert_eq!(policy, usual, "{}", key.name),
                    }
                }
                KeyGroup::Client => {
                    let mut rules = ProfileRules::default();
                    set_client_rule(&mut rules, key.name, &default);
                    assert_eq!(rules.over(profile.clone()), profile, "{}", key.name);
                    assert_eq!(client_value(&profile, key.name), Some(default));
                }
                // `upstream.rs` and `access.rs` read these defaults from the constants above.
                KeyGroup::Upstream
                | KeyGroup::Gateway
                | KeyGroup::GatewayKey
                | KeyGroup::Issuer
                | KeyGroup::Role => {}
                KeyGroup::Store | KeyGroup::Objects => {
                    let Quotas { store_bytes, session_bytes, .. } = Quotas::default();
                    let expected = match key.name {
                        "quota_bytes" => store_bytes,
                        "session_quota_bytes" => session_bytes,
                        _ => DEFAULT_MAX_RESULT_BYTES,
                    };
                    assert_eq!(default, Value::Number(expected), "{}", key.name);
                }
            }
        }
    }
}
