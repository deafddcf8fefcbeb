//! `tidegate.toml`: the files that hold here, what is wrong in them, and where something is set.

use std::path::PathBuf;

use tidegate_core::view::nearest;
use tidegate_gate::policy::{matches, specificity};
use toml::de::{DeTable, DeValue};

use super::check::Check;
use crate::config::{self, Config};
use crate::install::Names;
use crate::ui;

const SUBJECT: &str = "configuration";

/// The configuration that holds here.
pub(super) struct Configuration {
    pub(super) config: Config,
    /// Whether it has mistakes, so that nothing runs with it.
    pub(super) is_broken: bool,
    files: Vec<Lines>,
    checks: Vec<Check>,
}

/// Where things are set in a file.
struct Lines {
    path: PathBuf,
    name: String,
    text: String,
}

impl Configuration {
    /// Reads the files that hold here.
    pub(super) fn load(names: &Names) -> Self {
        let files: Vec<Lines> = config::paths(None)
            .into_iter()
            .filter_map(|path| {
                let (name, text) = (names.short(&path), std::fs::read_to_string(&path).ok()?);
                Some(Lines { path, name, text })
            })
            .collect();
        let told = files.iter().map(|file| file.name.as_str()).collect::<Vec<_>>().join(", ");
        let fine = match files.as_slice() {
            [] => Check::fine(SUBJECT, "no tidegate.toml; what is built in holds"),
            _ => Check::fine(SUBJECT, told),
        };
        match Config::load(None) {
            Ok(config) => Self { config, is_broken: false, files, checks: vec![fine] },
            Err(error) => {
                let message = error.to_string();
                let mut lines = message.lines();
                let check = Check::failure(SUBJECT, lines.next().unwrap_or_default())
                    .said(lines.map(str::to_owned))
                    .fix("put these lines right; until then tidegate run refuses to start");
                Self { config: Config::default(), is_broken: true, files, checks: vec![check] }
            }
        }
    }

    /// Returns what there is to say, with the names of all servers that clients have.
    pub(super) fn checks(&mut self, servers: &[String]) -> Vec<Check> {
        let mut checks = std::mem::take(&mut self.checks);
        for file in &self.files {
            let sections = file.members(&["server"]);
            let unknown = sections.iter().filter(|section| !servers.contains(section));
            checks.extend(unknown.map(|name| file.unmatched(name, servers)));
        }
        checks
    }

    /// Returns where a key of a section is set, in the file that wins.
    pub(super) fn line(&self, keys: &[&str]) -> Option<String> {
        self.files.iter().find_map(|file| file.line(keys))
    }

    /// Returns where a key is set for a client: its section that wins.
    pub(super) fn line_of_client(&self, client: &str, key: &str) -> Option<String> {
        let mut found: Vec<(String, String)> = self
            .files
            .iter()
            .flat_map(|file| file.members(&["client"]).into_iter().map(move |pattern| (file, pattern)))
            .filter(|(_, pattern)| matches(pattern, client))
            .filter_map(|(file, pattern)| Some((file.line(&["client", &pattern, key])?, pattern)))
            .collect();
        found.sort_by_key(|(_, pattern)| std::cmp::Reverse(specificity(pattern)));
        found.into_iter().next().map(|(line, _)| line)
    }

    /// Returns the file to write something into: the one that wins, or the user's.
    pub(super) fn file(&self) -> &str {
        self.files.first().map_or("tidegate.toml", |file| file.name.as_str())
    }
}

impl Lines {
    fn unmatched(&self, name: &str, servers: &[String]) -> Check {
        let at = self.line(&["server", name]).unwrap_or_else(|| self.name.clone());
        let check = Check::warning(SUBJECT, format!("{at}: no client has a server called {name:?}"));
        let check = check.with("file", self.path.to_string_lossy()).with("section", format!("server.{name}"));
        match nearest(name, servers.iter().map(String::as_str)).first() {
            Some(near) => check.fix(format!("did you mean {near:?}? Otherwise take the section out")),
            None if servers.is_empty() => check.fix("tidegate run --server NAME gives a server this name"),
            None => {
                check.fix(format!("there are {}; take the section out, or rename it", servers.join(", ")))
            }
        }
    }

    /// Calls back with the table at the end of a path of keys.
    fn at<T>(&self, keys: &[&str], read: impl FnOnce(&DeTable<'_>) -> T) -> Option<T> {
        let root = DeTable::parse(&self.text).ok()?;
        let mut table = root.get_ref();
        for key in keys {
            let (_, value) = table.iter().find(|(name, _)| name.get_ref().as_ref() == *key)?;
            match value.get_ref() {
                DeValue::Table(below) => table = below,
                _ => return None,
            }
        }
        Some(read(table))
    }

    fn members(&self, keys: &[&str]) -> Vec<String> {
        let names =
            |table: &DeTable<'_>| table.keys().map(|name| name.get_ref().clone().into_owned()).collect();
        self.at(keys, names).unwrap_or_default()
    }

    /// The line of a key, with the name of the file.
    fn line(&self, keys: &[&str]) -> Option<String> {
        let (last, above) = keys.split_last()?;
        let place = |table: &DeTable<'_>| {
            table.keys().find(|name| name.get_ref().as_ref() == *last).map(|name| name.span().start)
        };
        let start = self.at(above, place)??;
        let line = self.text.get(..start)?.matches('\n').count() + 1;
        Some(format!("{}:{line}", self.name))
    }
}

/// A number of tokens and bytes, in words.
pub(super) fn budget_words(budget: tidegate_core::budget::Budget) -> String {
    format!("{} tokens and {} bytes", budget.tokens, ui::grouped(budget.bytes.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configuration(text: &str) -> Configuration {
        let file = Lines { path: "/p/t.toml".into(), name: "t.toml".into(), text: text.into() };
        Configuration { config: Config::default(), is_broken: false, files: vec![file], checks: Vec::new() }
    }

    #[test]
    fn where_things_are_set() {
        let text = "[defaults]\nbudget_tokens = 1\n\n[client.\"*\"]\nmax_bytes = 2\n[client.\"claude-*\"]\nmax_bytes = 3\n";
        let configuration = configuration(text);
        assert_eq!(configuration.line(&["defaults", "budget_tokens"]).as_deref(), Some("t.toml:2"));
        assert_eq!(configuration.line(&["defaults", "max_bytes"]), None);
        assert_eq!(configuration.line_of_client("claude-code", "max_bytes").as_deref(), Some("t.toml:7"));
        assert_eq!(configuration.line_of_client("zed", "max_bytes").as_deref(), Some("t.toml:5"));
        assert_eq!(configuration.line_of_client("zed", "cap_tokens"), None);
    }
}
