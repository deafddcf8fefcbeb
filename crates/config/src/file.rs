//! The first stage: one `tidegate.toml` as written, as sections of settings with their lines.
//!
//! Everything wrong in a file is reported in one run, each mistake with its place. A file with a mistake still yields the
//! settings that are valid, so that commands can explain them.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tidegate_core::view::nearest;
use tidegate_gate::policy::Rules;
use tidegate_gate::profile::ProfileRules;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::keys::{Key, KeyGroup, TOP_LEVEL_TABLES, ValueKind};
use crate::locate::{FileOwner, user_file};
use crate::mistake::Mistake;
use crate::value::{Value, quoted_key, set_client_rule, set_rule};

/// One file.
#[derive(Debug, Clone, Default)]
pub struct ConfigFile {
    /// Where it is.
    pub path: PathBuf,
    /// Whom it belongs to.
    pub owner: FileOwner,
    /// Its sections.
    pub sections: Vec<Section>,
    /// Its text, to show mistakes that become known when files are merged.
    pub(crate) text: String,
}

/// The settings under one heading.
#[derive(Debug, Clone)]
pub struct Section {
    /// Its heading.
    pub heading: Heading,
    /// The line of the heading, counted from 1.
    pub line: usize,
    /// Its settings, in the order of the file.
    pub settings: Vec<Setting>,
}

/// The heading of a section: what its settings apply to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heading {
    /// All tools of all servers.
    Defaults,
    /// All tools of a server.
    Server(String),
    /// The tools of a server whose names match a pattern.
    Tools {
        /// The name of the server.
        server: String,
        /// A tool name in which `*` matches any characters.
        pattern: String,
    },
    /// The clients whose names match a pattern.
    Client(String),
    /// The store.
    Store,
    /// The object store beside it.
    Objects,
    /// A server behind a gateway.
    Upstream(String),
    /// The gateway itself.
    Gateway,
    /// A caller of the gateway with a key.
    GatewayKey(String),
    /// An issuer of tokens for the gateway.
    Issuer(String),
    /// What callers of the gateway may use.
    Role(String),
}

/// One key and its value.
#[derive(Debug, Clone)]
pub struct Setting {
    /// The key.
    pub key: &'static Key,
    /// The value.
    pub value: Value,
    /// The line of the key, counted from 1.
    pub line: usize,
    /// The place of the value in the text of the file.
    pub(crate) place: Range<usize>,
}

impl Section {
    /// Returns the rules for tools that the section sets.
    pub(crate) fn rules(&self) -> Rules {
        let mut rules = Rules::default();
        for setting in &self.settings {
            set_rule(&mut rules, setting.key.name, &setting.value);
        }
        rules
    }

    /// Returns the client rules that the section sets.
    pub(crate) fn client_rules(&self) -> ProfileRules {
        let mut rules = ProfileRules::default();
        for setting in &self.settings {
            set_client_rule(&mut rules, setting.key.name, &setting.value);
        }
        rules
    }

    /// Returns the setting of a key, if the section has one.
    pub fn get(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.key.name == name)
    }
}

impl Heading {
    fn group(&self) -> KeyGroup {
        match self {
            Self::Defaults | Self::Server(_) | Self::Tools { .. } => KeyGroup::Rules,
            Self::Client(_) => KeyGroup::Client,
            Self::Store => KeyGroup::Store,
            Self::Objects => KeyGroup::Objects,
            Self::Upstream(_) => KeyGroup::Upstream,
            Self::Gateway => KeyGroup::Gateway,
            Self::GatewayKey(_) => KeyGroup::GatewayKey,
            Self::Issuer(_) => KeyGroup::Issuer,
            Self::Role(_) => KeyGroup::Role,
        }
    }
}

/// Writes the heading as TOML, without brackets.
impl fmt::Display for Heading {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Defaults => formatter.write_str("defaults"),
            Self::Server(name) => write!(formatter, "server.{}", quoted_key(name)),
            Self::Tools { server, pattern } => {
                write!(formatter, "server.{}.tool.{}", quoted_key(server), quoted_key(pattern))
            }
            Self::Client(pattern) => write!(formatter, "client.{}", quoted_key(pattern)),
            Self::Store => formatter.write_str("store"),
            Self::Objects => formatter.write_str("store.objects"),
            Self::Upstream(name) => write!(formatter, "upstream.{}", quoted_key(name)),
            Self::Gateway => formatter.write_str("gateway"),
            Self::GatewayKey(name) => write!(formatter, "gateway.key.{}", quoted_key(name)),
            Self::Issuer(name) => write!(formatter, "gateway.issuer.{}", quoted_key(name)),
            Self::Role(name) => write!(formatter, "gateway.role.{}", quoted_key(name)),
        }
    }
}

/// A table below `[gateway]`: its name, the group of its keys, and the heading of a section in it.
type GatewayTable = (&'static str, KeyGroup, fn(String) -> Heading);

/// The tables below `[gateway]`.
const GATEWAY_TABLES: [GatewayTable; 3] = [
    ("key", KeyGroup::GatewayKey, Heading::GatewayKey),
    ("issuer", KeyGroup::Issuer, Heading::Issuer),
    ("role", KeyGroup::Role, Heading::Role),
];

type WrittenValue<'t> = Spanned<DeValue<'t>>;

impl ConfigFile {
    /// Reads the text of a file and adds every mistake in it to `mistakes`.
    pub fn read(path: &Path, owner: FileOwner, text: &str, mistakes: &mut Vec<Mistake>) -> Self {
        // Some editors begin a file with a byte order mark, which must not count as a column.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            // The parser gives no place for one error only: a dotted name with too many parts.
            let (place, message) = match error.span() {
                Some(place) => (place, error.message()),
                None => (line_with_most_dots(text), "a name has too many parts"),
            };
            mistakes.push(Mistake::at(path, text, &place, message));
        }
        let mut reader = FileReader { path, owner, text, mistakes, sections: Vec::new() };
        // After a syntax error the parser may have assigned keys to the wrong table.
        if errors.is_empty() {
            reader.document(table.get_ref());
        }
        Self { path: path.to_owned(), owner, sections: reader.sections, text: text.to_owned() }
    }
}

/// Returns the line with the most dots: the one that can hold the longest dotted name.
fn line_with_most_dots(text: &str) -> Range<usize> {
    let mut start = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        start += line.len();
        (line.matches('.').count(), start - line.len()..start)
    });
    lines.max_by_key(|(dots, _)| *dots).map(|(_, place)| place).unwrap_or_default()
}

struct FileReader<'r> {
    path: &'r Path,
    owner: FileOwner,
    text: &'r str,
    mistakes: &'r mut Vec<Mistake>,
    sections: Vec<Section>,
}

impl FileReader<'_> {
    fn report(&mut self, place: &Range<usize>, message: &str) {
        self.mistakes.push(Mistake::at(self.path, self.text, place, message));
    }

    fn document(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            let written = name.get_ref().as_ref();
            match written {
                "defaults" => self.named_section(Heading::Defaults, name.span().start, value),
                "store" => self.store(name.span().start, value),
                "server" => {
                    self.named_tables(written, KeyGroup::Rules, value, |reader, name, place, value| {
                        reader.server(name, place, value);
                    });
                }
                "client" => {
                    self.named_tables(written, KeyGroup::Client, value, |reader, name, place, value| {
                        reader.named_section(Heading::Client(name.to_owned()), place, value);
                    });
                }
                "upstream" => {
                    self.named_tables(written, KeyGroup::Upstream, value, |reader, name, place, value| {
                        reader.named_section(Heading::Upstream(name.to_owned()), place, value);
                    });
                }
                "gateway" => self.gateway(name.span().start, value),
                _ => self.unknown_section(&name.span(), written),
            }
        }
    }

    fn unknown_section(&mut self, place: &Range<usize>, name: &str) {
        if Key::named(KeyGroup::Rules, name).is_some() {
            return self.report(place, &format!("{name} belongs to a section; move it under [defaults]"));
        }
        let suggestion = suggestion_or_list(name, &TOP_LEVEL_TABLES);
        self.report(place, &format!("unknown section {name}{suggestion}"));
    }

    fn table<'t>(&mut self, heading: &str, value: &'t WrittenValue<'t>) -> Option<&'t DeTable<'t>> {
        match value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => {
                self.report(&value.span(), &format!("{heading} must be a section, [{heading}]"));
                None
            }
        }
    }

    /// Reads the tables below one whose keys are names or patterns.
    fn named_tables(
        &mut self,
        heading: &str,
        group: KeyGroup,
        value: &WrittenValue<'_>,
        read: impl Fn(&mut Self, &str, usize, &WrittenValue<'_>),
    ) {
        let Some(below) = self.table(&format!("{heading}.NAME"), value) else { return };
        for (name, value) in below {
            let key = name.get_ref().as_ref();
            if Key::named(group, key).is_some() && !matches!(value.get_ref(), DeValue::Table(_)) {
                self.report(&name.span(), &format!("{key} needs a name; move it under [{heading}.NAME]"));
            } else {
                read(self, key, name.span().start, value);
            }
        }
    }

    fn store(&mut self, place: usize, value: &WrittenValue<'_>) {
        let Some(table) = self.table("store", value) else { return };
        self.section(Heading::Store, place, table, &["objects"]);
        let objects = table.iter().find(|(key, _)| key.get_ref().as_ref() == "objects");
        if let Some((name, objects)) = objects {
            self.named_section(Heading::Objects, name.span().start, objects);
        }
    }

    fn gateway(&mut self, place: usize, value: &WrittenValue<'_>) {
        let Some(table) = self.table("gateway", value) else { return };
        self.section(Heading::Gateway, place, table, &GATEWAY_TABLES.map(|(name, _, _)| name));
        for (name, group, heading) in GATEWAY_TABLES {
            let Some((_, below)) = table.iter().find(|(key, _)| key.get_ref().as_ref() == name) else {
                continue;
            };
            self.named_tables(&format!("gateway.{name}"), group, below, |reader, name, place, value| {
                reader.named_section(heading(name.to_owned()), place, value);
            });
        }
    }

    fn server(&mut self, name: &str, place: usize, value: &WrittenValue<'_>) {
        let heading = Heading::Server(name.to_owned());
        let written_heading = heading.to_string();
        let Some(table) = self.table(&written_heading, value) else { return };
        self.section(heading, place, table, &["tool"]);
        let tools = table.iter().find(|(key, _)| key.get_ref().as_ref() == "tool");
        if let Some((_, tools)) = tools {
            self.named_tables(
                &format!("{written_heading}.tool"),
                KeyGroup::Rules,
                tools,
                |reader, pattern, place, value| {
                    let heading = Heading::Tools { server: name.to_owned(), pattern: pattern.to_owned() };
                    reader.named_section(heading, place, value);
                },
            );
        }
    }

    fn named_section(&mut self, heading: Heading, place: usize, value: &WrittenValue<'_>) {
        if let Some(table) = self.table(&heading.to_string(), value) {
            self.section(heading, place, table, &[]);
        }
    }

    fn section(&mut self, heading: Heading, place: usize, table: &DeTable<'_>, other_keys: &[&str]) {
        let mut settings = Vec::new();
        for (name, value) in table {
            let written = name.get_ref().as_ref();
            match Key::named(heading.group(), written) {
                Some(key) if key.user_only && self.owner == FileOwner::Project => {
                    self.report(&name.span(), &refused_in_project(&heading, key));
                }
                Some(key) => {
                    let line = self.line(name.span().start);
                    let read = self.value(key, value);
                    let place = value.span();
                    settings.extend(read.map(|value| Setting { key, value, line, place }));
                }
                None if other_keys.contains(&written) => {}
                None => {
                    let known: Vec<&str> = Key::in_group(heading.group()).map(|key| key.name).collect();
                    let suggestion = suggestion_or_list(written, &[&known[..], other_keys].concat());
                    self.report(&name.span(), &format!("[{heading}] has no key {written}{suggestion}"));
                }
            }
        }
        let line = self.line(place);
        self.sections.push(Section { heading, line, settings });
    }

    fn line(&self, place: usize) -> usize {
        self.text.bytes().take(place).filter(|byte| *byte == b'\n').count() + 1
    }

    /// Reads a value and reports it if its key does not take it.
    fn value(&mut self, key: &Key, value: &WrittenValue<'_>) -> Option<Value> {
        let read = match key.kind {
            ValueKind::Number { min, max } => number(value.get_ref(), min, max).map(Value::Number),
            ValueKind::Flag => {
                value.get_ref().as_bool().map(Value::Flag).ok_or("must be true or false".into())
            }
            ValueKind::Text => text(value.get_ref()).map(|text| Value::Text(text.to_owned())),
            ValueKind::Texts => texts(value.get_ref()).map(Value::Texts),
            ValueKind::Choice(choices) => one_of(value.get_ref(), choices).map(Value::Text),
        };
        read.map_err(|wrong| self.report(&value.span(), &format!("{} {wrong}", key.name))).ok()
    }
}

/// Says that a project may not set a key, and where it belongs.
fn refused_in_project(heading: &Heading, key: &Key) -> String {
    let file =
        user_file().map_or_else(|| "the user's tidegate.toml".into(), |path| path.display().to_string());
    let sources: Vec<&str> = key.other_sources().collect();
    let instead =
        if sources.is_empty() { String::new() } else { format!(", or set {}", sources.join(" or ")) };
    format!("a project's file may not set {} of [{heading}]; move it to {file}{instead}", key.name)
}

fn number(value: &DeValue<'_>, min: u64, max: u64) -> Result<u64, String> {
    let DeValue::Integer(integer) = value else { return Err("must be a whole number".into()) };
    match u64::from_str_radix(integer.as_str(), integer.radix()) {
        Ok(number) if (min..=max).contains(&number) => Ok(number),
        Err(_) if !integer.as_str().starts_with('-') => {
            Err(format!("is {}, but must be at most {max}", integer.as_str()))
        }
        Ok(number) if number > max => Err(format!("is {number}, but must be at most {max}")),
        _ => Err(format!("is {}, but must be at least {min}", integer.as_str())),
    }
}

fn text<'v>(value: &'v DeValue<'_>) -> Result<&'v str, String> {
    let text = value.as_str().filter(|text| !text.is_empty());
    text.ok_or_else(|| "must be a string that is not empty".into())
}

fn texts(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let list = match value {
        DeValue::Array(list) => list.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    list.ok_or_else(|| "must be a list of strings, such as [\"id\"]".into())
}

fn one_of(value: &DeValue<'_>, choices: &[&str]) -> Result<String, String> {
    // An empty string is a choice where it is named.
    let text = value.as_str().filter(|text| choices.contains(text)).map_or_else(|| text(value), Ok)?;
    if choices.contains(&text) {
        return Ok(text.to_owned());
    }
    if choices == [""] {
        return Err(format!("is {text:?}, but must be \"\""));
    }
    Err(format!("is {text:?}, but must be one of {}{}", choices.join(", "), suggestion(text, choices)))
}

fn suggestion_or_list(written: &str, known: &[&str]) -> String {
    match suggestion(written, known) {
        none if none.is_empty() => format!("; valid names are {}", known.join(", ")),
        suggestion => suggestion,
    }
}

fn suggestion(written: &str, known: &[&str]) -> String {
    let near = nearest(written, known.iter().copied());
    near.first().map(|near| format!("; did you mean {near}?")).unwrap_or_default()
}
