//! One `tidegate.toml` as it was written.

use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::path::{Path, PathBuf};

use tidegate_core::budget::Budget;
use tidegate_core::hints::Hints;
use tidegate_core::view::nearest;
use tidegate_gate::policy::{OnStoreFailure, Rules};
use tidegate_gate::profile::{OutputSchema, ProfileRules};
use tidegate_gate::style::{ProbeWhen, Style};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::mistake::Mistake;

/// What one file says.
#[derive(Debug, Default, PartialEq)]
pub(super) struct File {
    pub(super) defaults: Rules,
    pub(super) servers: BTreeMap<String, Server>,
    pub(super) clients: BTreeMap<String, ProfileRules>,
    pub(super) store: Store,
}

/// What is set for the store.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Store {
    pub(super) path: Option<PathBuf>,
    pub(super) max_result_bytes: Option<u64>,
}

/// What is set for one server.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Server {
    pub(super) rules: Rules,
    /// By pattern of the tool's name.
    pub(super) tools: Vec<(String, Rules)>,
}

const SECTIONS: [&str; 4] = ["defaults", "server", "client", "store"];
const RULES: [&str; 22] = [
    "budget_tokens",
    "max_bytes",
    "cap_tokens",
    "ttl_seconds",
    "page_size",
    "fields",
    "rows",
    "kind",
    "on_store_failure",
    "style",
    "probe_when",
    "token_seconds",
    "auto_negotiate_bytes",
    "domain",
    "category_budgets",
    "max_items",
    "max_string",
    "max_lines",
    "max_depth",
    "offer_output",
    "full_cap_tokens",
    "session_max_bytes",
];
const CLIENT: [&str; 6] =
    ["budget_tokens", "max_bytes", "cap_tokens", "output_schema", "resource_link", "count_percent"];

type Value<'t> = Spanned<DeValue<'t>>;

impl File {
    /// Reads a file; what is wrong in it is added to the mistakes, all of it.
    pub(super) fn read(path: &Path, text: &str, mistakes: &mut Vec<Mistake>) -> Self {
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            // One error is told without its place: that a name has too many parts.
            let (place, message) = match error.span() {
                Some(place) => (place, error.message().trim()),
                None => (most_dots(text), "a name has too many parts"),
            };
            mistakes.push(Mistake::at(path, text, Some(place), message));
        }
        let mut file = Self::default();
        if !errors.is_empty() {
            // What follows a broken line is not to be trusted.
            return file;
        }
        let mut reader = Reader { path, text, mistakes };
        for (name, value) in table.get_ref() {
            let known = name.get_ref().as_ref();
            if !SECTIONS.contains(&known) {
                reader.unknown_section(name.span(), known);
                continue;
            }
            let Some(section) = reader.table(known, value) else { continue };
            match known {
                "defaults" => file.defaults = reader.rules("defaults", section, &[]),
                "server" => file.servers = reader.each(section, Reader::server),
                "client" => file.clients = reader.each(section, Reader::client),
                _ => file.store = reader.store(section),
            }
        }
        file
    }
}

/// The line in which a name can have the most parts.
fn most_dots(text: &str) -> Range<usize> {
    let mut start = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        start += line.len();
        (line.matches('.').count(), start - line.len()..start)
    });
    lines.max_by_key(|(dots, _)| *dots).map(|(_, place)| place).unwrap_or_default()
}

struct Reader<'r> {
    path: &'r Path,
    text: &'r str,
    mistakes: &'r mut Vec<Mistake>,
}

impl Reader<'_> {
    fn wrong(&mut self, place: Range<usize>, message: impl Into<String>) {
        self.mistakes.push(Mistake::at(self.path, self.text, Some(place), message));
    }

    fn unknown_section(&mut self, place: Range<usize>, name: &str) {
        if RULES.contains(&name) {
            return self.wrong(place, format!("{name} belongs to a section; put it under [defaults]"));
        }
        let meant = meant(name, &SECTIONS);
        self.wrong(place, format!("there is no section {name}{meant}"));
    }

    fn unknown(&mut self, section: &str, place: Range<usize>, key: &str, known: &[&str]) {
        let meant = meant(key, known);
        self.wrong(place, format!("[{section}] has no key {key}{meant}"));
    }

    fn table<'t>(&mut self, key: &str, value: &'t Value<'t>) -> Option<&'t DeTable<'t>> {
        match value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => {
                self.wrong(value.span(), format!("{key} should be a section, such as [{key}.name]"));
                None
            }
        }
    }

    /// Reads the sections below one, by name.
    fn each<T>(
        &mut self,
        section: &DeTable<'_>,
        read: fn(&mut Self, &str, &DeTable<'_>) -> T,
    ) -> BTreeMap<String, T> {
        let mut found = BTreeMap::new();
        for (name, value) in section {
            let name = name.get_ref().as_ref();
            if let Some(table) = self.table(name, value) {
                found.insert(name.to_owned(), read(self, name, table));
            }
        }
        found
    }

    fn server(&mut self, name: &str, section: &DeTable<'_>) -> Server {
        let rules = self.rules(&format!("server.{name}"), section, &["tool"]);
        let mut tools = Vec::new();
        let below = section.iter().find(|(key, _)| key.get_ref().as_ref() == "tool");
        if let Some((_, value)) = below
            && let Some(section) = self.table("tool", value)
        {
            for (tool, value) in section {
                let tool = tool.get_ref().as_ref();
                if let Some(table) = self.table(tool, value) {
                    tools.push((
                        tool.to_owned(),
                        self.rules(&format!("server.{name}.tool.{tool}"), table, &[]),
                    ));
                }
            }
        }
        Server { rules, tools }
    }

    fn rules(&mut self, section: &str, table: &DeTable<'_>, besides: &[&str]) -> Rules {
        let mut rules = Rules::default();
        for (name, value) in table {
            let key = name.get_ref().as_ref();
            match key {
                "budget_tokens" => rules.budget_tokens = self.tokens(key, value),
                "max_bytes" => rules.max_bytes = self.bytes(key, value),
                "cap_tokens" => rules.cap_tokens = self.tokens(key, value),
                "ttl_seconds" => rules.ttl_seconds = self.number(key, value, 1..=MOST),
                "page_size" => rules.page_size = self.number(key, value, 1..=1000),
                "fields" => rules.fields = self.strings(key, value),
                "rows" => rules.rows = self.string(key, value).map(str::to_owned),
                "kind" => {
                    rules.kind = self.one_of(key, value, &Hints::KINDS).map(|at| Hints::KINDS[at].to_owned());
                }
                "on_store_failure" => {
                    let choices = [OnStoreFailure::Overview, OnStoreFailure::Error];
                    rules.on_store_failure =
                        self.one_of(key, value, &["overview", "error"]).map(|at| choices[at]);
                }
                "style" => {
                    rules.style =
                        self.one_of(key, value, &Style::NAMES).and_then(|at| Style::named(Style::NAMES[at]));
                }
                "probe_when" => {
                    let named = self.one_of(key, value, &ProbeWhen::NAMES);
                    rules.probe_when = named.and_then(|at| ProbeWhen::named(ProbeWhen::NAMES[at]));
                }
                "token_seconds" => rules.token_seconds = self.number(key, value, 1..=MOST),
                "auto_negotiate_bytes" => rules.auto_negotiate_bytes = self.number(key, value, 1..=MOST),
                "domain" => rules.domain = self.string(key, value).map(str::to_owned),
                "category_budgets" => rules.category_budgets = self.boolean(key, value),
                "max_items" => rules.max_items = self.number(key, value, 1..=1000),
                "max_string" => rules.max_string = self.number(key, value, 1..=100_000),
                "max_lines" => rules.max_lines = self.number(key, value, 2..=1000),
                "max_depth" => rules.max_depth = self.number(key, value, 1..=64),
                "offer_output" => rules.offer_output = self.boolean(key, value),
                "full_cap_tokens" => rules.full_cap_tokens = self.tokens(key, value),
                "session_max_bytes" => rules.session_max_bytes = self.number(key, value, 1..=MOST),
                _ if besides.contains(&key) => {}
                _ => self.unknown(section, name.span(), key, &[&RULES[..], besides].concat()),
            }
        }
        rules
    }

    fn client(&mut self, client: &str, table: &DeTable<'_>) -> ProfileRules {
        let mut rules = ProfileRules::default();
        for (name, value) in table {
            let key = name.get_ref().as_ref();
            match key {
                "budget_tokens" => rules.budget_tokens = self.tokens(key, value),
                "max_bytes" => rules.max_bytes = self.bytes(key, value),
                "cap_tokens" => rules.cap_tokens = self.tokens(key, value),
                "count_percent" => {
                    let percent = self.number(key, value, 100..=1000);
                    rules.count_percent = percent.and_then(|percent| u32::try_from(percent).ok());
                }
                "resource_link" => rules.resource_link = self.boolean(key, value),
                "output_schema" => {
                    let choices = [OutputSchema::Strip, OutputSchema::Keep, OutputSchema::Union];
                    rules.output_schema =
                        self.one_of(key, value, &["strip", "keep", "union"]).map(|at| choices[at]);
                }
                _ => self.unknown(&format!("client.{client}"), name.span(), key, &CLIENT),
            }
        }
        rules
    }

    fn store(&mut self, table: &DeTable<'_>) -> Store {
        let mut store = Store::default();
        for (name, value) in table {
            match name.get_ref().as_ref() {
                "path" => store.path = self.string("path", value).map(|path| expand(self.path, path)),
                key @ "max_result_bytes" => {
                    store.max_result_bytes = self.number(key, value, LEAST_RESULT..=MOST);
                }
                key => self.unknown("store", name.span(), key, &["path", "max_result_bytes"]),
            }
        }
        store
    }

    fn tokens(&mut self, key: &str, value: &Value<'_>) -> Option<u64> {
        self.number(key, value, Budget::LEAST_TOKENS.0..=MOST)
    }

    fn bytes(&mut self, key: &str, value: &Value<'_>) -> Option<u64> {
        self.number(key, value, Budget::LEAST_BYTES.0..=MOST)
    }

    fn number(&mut self, key: &str, value: &Value<'_>, range: RangeInclusive<u64>) -> Option<u64> {
        let DeValue::Integer(integer) = value.get_ref() else {
            self.wrong(value.span(), format!("{key} should be a whole number"));
            return None;
        };
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        let within = number.filter(|number| range.contains(number));
        if within.is_none() {
            let bound = match number {
                Some(number) if number > *range.end() => format!("at most {}", range.end()),
                _ => format!("at least {}", range.start()),
            };
            self.wrong(value.span(), format!("{key} is {}, but must be {bound}", integer.as_str()));
        }
        within
    }

    fn string<'v>(&mut self, key: &str, value: &'v Value<'_>) -> Option<&'v str> {
        let text = value.get_ref().as_str().filter(|text| !text.is_empty());
        if text.is_none() {
            self.wrong(value.span(), format!("{key} should be a string that is not empty"));
        }
        text
    }

    fn boolean(&mut self, key: &str, value: &Value<'_>) -> Option<bool> {
        let read = value.get_ref().as_bool();
        if read.is_none() {
            self.wrong(value.span(), format!("{key} should be true or false"));
        }
        read
    }

    fn strings(&mut self, key: &str, value: &Value<'_>) -> Option<Vec<String>> {
        let list = match value.get_ref() {
            DeValue::Array(list) => {
                list.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect()
            }
            _ => None,
        };
        if list.is_none() {
            self.wrong(value.span(), format!("{key} should be a list of strings, such as [\"id\"]"));
        }
        list
    }

    fn one_of(&mut self, key: &str, value: &Value<'_>, choices: &[&str]) -> Option<usize> {
        let text = self.string(key, value)?;
        let found = choices.iter().position(|choice| *choice == text);
        if found.is_none() {
            self.wrong(value.span(), format!("{key} is {text:?}, but can be {}", choices.join(", ")));
        }
        found
    }
}

/// A result must be able to be larger than what is passed on without a look.
pub(crate) const LEAST_RESULT: u64 = 1 << 20;
/// Larger numbers are no limits.
const MOST: u64 = 1 << 40;

fn meant(wrong: &str, known: &[&str]) -> String {
    match nearest(wrong, known.iter().copied()).first() {
        Some(near) => format!("; did you mean {near}?"),
        None => format!("; there are {}", known.join(", ")),
    }
}

/// Reads `~/` as the user's home, and what is relative from the folder of the file.
fn expand(file: &Path, path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), dirs::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => file.parent().unwrap_or(Path::new("")).join(path),
    }
}
