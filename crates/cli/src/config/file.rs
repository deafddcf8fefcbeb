//! One `tidegate.toml` as it was written: its sections, each with what is set in it and in which line.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tidegate_core::view::nearest;
use tidegate_gate::policy::Rules;
use tidegate_gate::profile::ProfileRules;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::keys::{Group, Key, Kind, SECTIONS};
use super::mistake::Mistake;
use super::value::{Value, quoted, set_client, set_rule};

/// What one file says.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) path: PathBuf,
    pub(super) sections: Vec<Section>,
}

/// What is set under one heading.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) whose: Whose,
    pub(super) settings: Vec<Setting>,
}

/// What a section is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Whose {
    /// Everything.
    Defaults,
    /// All tools of a server.
    Server(String),
    /// The tools of a server whose name matches a pattern.
    Tools { server: String, pattern: String },
    /// The clients whose name matches a pattern.
    Client(String),
    /// The store.
    Store,
}

/// One key that is set.
#[derive(Debug)]
pub(super) struct Setting {
    pub(super) key: &'static Key,
    pub(super) value: Value,
    /// From 1.
    pub(super) line: usize,
}

impl Section {
    /// Returns the rules for tools that are set here.
    pub(super) fn rules(&self) -> Rules {
        let mut rules = Rules::default();
        for setting in &self.settings {
            set_rule(&mut rules, setting.key.name, &setting.value);
        }
        rules
    }

    /// Returns how clients are to be treated.
    pub(super) fn client(&self) -> ProfileRules {
        let mut rules = ProfileRules::default();
        for setting in &self.settings {
            set_client(&mut rules, setting.key.name, &setting.value);
        }
        rules
    }

    /// Returns what a key is set to here.
    pub(super) fn get(&self, name: &str) -> Option<&Setting> {
        self.settings.iter().find(|setting| setting.key.name == name)
    }
}

impl Whose {
    fn group(&self) -> Group {
        match self {
            Self::Defaults | Self::Server(_) | Self::Tools { .. } => Group::Rules,
            Self::Client(_) => Group::Client,
            Self::Store => Group::Store,
        }
    }
}

/// As it is written between brackets.
impl fmt::Display for Whose {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Defaults => formatter.write_str("defaults"),
            Self::Server(name) => write!(formatter, "server.{}", part(name)),
            Self::Tools { server, pattern } => {
                write!(formatter, "server.{}.tool.{}", part(server), part(pattern))
            }
            Self::Client(pattern) => write!(formatter, "client.{}", part(pattern)),
            Self::Store => formatter.write_str("store"),
        }
    }
}

/// A part of a heading.
fn part(name: &str) -> String {
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if !name.is_empty() && name.bytes().all(bare) { name.to_owned() } else { quoted(name) }
}

type Written<'t> = Spanned<DeValue<'t>>;

impl File {
    /// Reads a file; what is wrong in it is added to the mistakes, all of it.
    pub(super) fn read(path: &Path, text: &str, mistakes: &mut Vec<Mistake>) -> Self {
        // Some editors begin a file with this mark, which is no column.
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let (table, errors) = DeTable::parse_recoverable(text);
        for error in &errors {
            // One error is told without its place: that a name has too many parts.
            let (place, message) = match error.span() {
                Some(place) => (place, error.message()),
                None => (most_dots(text), "a name has too many parts"),
            };
            mistakes.push(Mistake::at(path, text, &place, message));
        }
        let mut reader = Reader { path, text, mistakes, sections: Vec::new() };
        // What follows a broken line is not to be trusted.
        if errors.is_empty() {
            reader.document(table.get_ref());
        }
        Self { path: path.to_owned(), sections: reader.sections }
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
    sections: Vec<Section>,
}

impl Reader<'_> {
    fn wrong(&mut self, place: &Range<usize>, message: &str) {
        self.mistakes.push(Mistake::at(self.path, self.text, place, message));
    }

    fn document(&mut self, table: &DeTable<'_>) {
        for (name, value) in table {
            let known = name.get_ref().as_ref();
            match known {
                "defaults" => self.named_section(Whose::Defaults, value),
                "store" => self.named_section(Whose::Store, value),
                "server" => self.each(known, Group::Rules, value, |reader, name, value| {
                    reader.server(name, value);
                }),
                "client" => self.each(known, Group::Client, value, |reader, name, value| {
                    reader.named_section(Whose::Client(name.to_owned()), value);
                }),
                _ => self.unknown_section(&name.span(), known),
            }
        }
    }

    fn unknown_section(&mut self, place: &Range<usize>, name: &str) {
        if Key::named(Group::Rules, name).is_some() {
            return self.wrong(place, &format!("{name} belongs to a section; put it under [defaults]"));
        }
        let meant = meant(name, &SECTIONS);
        self.wrong(place, &format!("there is no section {name}{meant}"));
    }

    fn table<'t>(&mut self, heading: &str, value: &'t Written<'t>) -> Option<&'t DeTable<'t>> {
        match value.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => {
                self.wrong(&value.span(), &format!("{heading} should be a section, [{heading}]"));
                None
            }
        }
    }

    /// Reads the sections below one, by name.
    fn each(
        &mut self,
        heading: &str,
        group: Group,
        value: &Written<'_>,
        read: impl Fn(&mut Self, &str, &Written<'_>),
    ) {
        let Some(below) = self.table(&format!("{heading}.NAME"), value) else { return };
        for (name, value) in below {
            let key = name.get_ref().as_ref();
            if Key::named(group, key).is_some() && !matches!(value.get_ref(), DeValue::Table(_)) {
                self.wrong(&name.span(), &format!("{key} needs a name; put it under [{heading}.NAME]"));
            } else {
                read(self, key, value);
            }
        }
    }

    fn server(&mut self, name: &str, value: &Written<'_>) {
        let whose = Whose::Server(name.to_owned());
        let heading = whose.to_string();
        let Some(table) = self.table(&heading, value) else { return };
        self.section(whose, table, &["tool"]);
        let tools = table.iter().find(|(key, _)| key.get_ref().as_ref() == "tool");
        if let Some((_, tools)) = tools {
            self.each(&format!("{heading}.tool"), Group::Rules, tools, |reader, pattern, value| {
                let whose = Whose::Tools { server: name.to_owned(), pattern: pattern.to_owned() };
                reader.named_section(whose, value);
            });
        }
    }

    fn named_section(&mut self, whose: Whose, value: &Written<'_>) {
        if let Some(table) = self.table(&whose.to_string(), value) {
            self.section(whose, table, &[]);
        }
    }

    fn section(&mut self, whose: Whose, table: &DeTable<'_>, besides: &[&str]) {
        let mut settings = Vec::new();
        for (name, value) in table {
            let written = name.get_ref().as_ref();
            match Key::named(whose.group(), written) {
                Some(key) => {
                    let line = self.line(name.span().start);
                    let read = self.value(key, value);
                    settings.extend(read.map(|value| Setting { key, value, line }));
                }
                None if besides.contains(&written) => {}
                None => {
                    let known: Vec<&str> = Key::of(whose.group()).map(|key| key.name).collect();
                    let meant = meant(written, &[&known[..], besides].concat());
                    self.wrong(&name.span(), &format!("[{whose}] has no key {written}{meant}"));
                }
            }
        }
        self.sections.push(Section { whose, settings });
    }

    fn line(&self, place: usize) -> usize {
        self.text.bytes().take(place).filter(|byte| *byte == b'\n').count() + 1
    }

    /// Reads a value as its key wants it; what it should be is told where it is not.
    fn value(&mut self, key: &Key, value: &Written<'_>) -> Option<Value> {
        let read = match key.kind {
            Kind::Number { least, most } => number(value.get_ref(), least, most).map(Value::Number),
            Kind::Flag => value.get_ref().as_bool().map(Value::Flag).ok_or("should be true or false".into()),
            Kind::Text => text(value.get_ref()).map(|text| Value::Text(text.to_owned())),
            Kind::Texts => texts(value.get_ref()).map(Value::Texts),
            Kind::Choice(choices) => one_of(value.get_ref(), choices).map(Value::Text),
        };
        read.map_err(|wrong| self.wrong(&value.span(), &format!("{} {wrong}", key.name))).ok()
    }
}

fn number(value: &DeValue<'_>, least: u64, most: u64) -> Result<u64, String> {
    let DeValue::Integer(integer) = value else { return Err("should be a whole number".into()) };
    match u64::from_str_radix(integer.as_str(), integer.radix()) {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        Err(_) if !integer.as_str().starts_with('-') => {
            Err(format!("is {}, but must be at most {most}", integer.as_str()))
        }
        Ok(number) if number > most => Err(format!("is {number}, but must be at most {most}")),
        _ => Err(format!("is {}, but must be at least {least}", integer.as_str())),
    }
}

fn text<'v>(value: &'v DeValue<'_>) -> Result<&'v str, String> {
    let text = value.as_str().filter(|text| !text.is_empty());
    text.ok_or_else(|| "should be a string that is not empty".into())
}

fn texts(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let list = match value {
        DeValue::Array(list) => list.iter().map(|item| item.get_ref().as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    list.ok_or_else(|| "should be a list of strings, such as [\"id\"]".into())
}

fn one_of(value: &DeValue<'_>, choices: &[&str]) -> Result<String, String> {
    let text = text(value)?;
    if choices.contains(&text) {
        return Ok(text.to_owned());
    }
    Err(format!("is {text:?}, but can be {}{}", choices.join(", "), near(text, choices)))
}

fn meant(wrong: &str, known: &[&str]) -> String {
    match near(wrong, known) {
        near if near.is_empty() => format!("; there are {}", known.join(", ")),
        near => near,
    }
}

fn near(wrong: &str, known: &[&str]) -> String {
    let near = nearest(wrong, known.iter().copied());
    near.first().map(|near| format!("; did you mean {near}?")).unwrap_or_default()
}
