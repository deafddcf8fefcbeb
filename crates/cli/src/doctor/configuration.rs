//! `tidegate.toml`: the files in effect, the mistakes in them, and the lines that set something.

use std::cmp::Reverse;

use tidegate_config::{Config, ConfigFile, Heading, Mistakes, Section, config_paths};
use tidegate_core::budget::Budget;
use tidegate_core::view::nearest;
use tidegate_gate::policy::{matches, specificity};

use super::check::Check;
use crate::system::SystemPaths;
use crate::ui;

const SUBJECT: &str = "configuration";

/// The configuration in effect.
pub(super) struct Configuration {
    /// The configuration that servers run with: empty if the files have mistakes.
    pub(super) config: Config,
    /// Whether the files have mistakes, so that `tidegate run` refuses to start.
    pub(super) is_broken: bool,
    /// The files as written, also if they have mistakes.
    written: Config,
    /// The short name of each file.
    names: Vec<String>,
    checks: Vec<Check>,
}

impl Configuration {
    /// Reads the files in effect.
    pub(super) fn load(paths: &SystemPaths) -> Self {
        let (written, mistakes) = Config::read(&config_paths(None));
        let names: Vec<String> = written.files().iter().map(|file| paths.short(&file.path)).collect();
        if !mistakes.is_empty() {
            let message = Mistakes(mistakes).to_string();
            let mut lines = message.lines();
            let check = Check::failure(SUBJECT, lines.next().unwrap_or_default())
                .quote(lines.map(str::to_owned))
                .fix("correct these lines; until then tidegate run refuses to start");
            return Self { config: Config::default(), is_broken: true, written, names, checks: vec![check] };
        }
        let check = match names.as_slice() {
            [] => Check::fine(SUBJECT, "no tidegate.toml, using built-in defaults"),
            names => Check::fine(SUBJECT, names.join(", ")),
        };
        Self { config: written.clone(), is_broken: false, written, names, checks: vec![check] }
    }

    /// Returns the checks; `servers` are the names of all servers that clients have.
    pub(super) fn checks(&mut self, servers: &[String]) -> Vec<Check> {
        let mut checks = std::mem::take(&mut self.checks);
        for (file, section) in self.written.sections() {
            if let Heading::Server(name) = &section.heading
                && !servers.contains(name)
            {
                checks.push(self.unmatched(file, section, name, servers));
            }
        }
        checks
    }

    fn unmatched(&self, file: &ConfigFile, section: &Section, name: &str, servers: &[String]) -> Check {
        let place = self.place(file, section.line);
        let check = Check::warning(SUBJECT, format!("{place}: no client has a server called {name:?}"));
        let check = check.with("file", file.path.to_string_lossy()).with("section", format!("server.{name}"));
        match nearest(name, servers.iter().map(String::as_str)).first() {
            Some(near) => check.fix(format!("did you mean {near:?}? Otherwise remove the section")),
            None if servers.is_empty() => check.fix("tidegate run --server NAME gives a server this name"),
            None => check.fix(format!("rename or remove the section; known servers: {}", servers.join(", "))),
        }
    }

    /// Returns the line that sets a key under a heading, in the file with the highest precedence.
    pub(super) fn line(&self, heading: &Heading, key: &str) -> Option<String> {
        self.written
            .sections()
            .filter(|(_, section)| section.heading == *heading)
            .find_map(|(file, section)| Some(self.place(file, section.get(key)?.line)))
    }

    /// Returns the line that sets a key for a client, in its most specific section.
    pub(super) fn line_of_client(&self, client: &str, key: &str) -> Option<String> {
        let found = self.written.sections().filter_map(|(file, section)| match &section.heading {
            Heading::Client(pattern) if matches(pattern, client) => {
                Some((specificity(pattern), file, section.get(key)?.line))
            }
            _ => None,
        });
        let (_, file, line) = found.min_by_key(|(specificity, _, _)| Reverse(*specificity))?;
        Some(self.place(file, line))
    }

    /// Returns the file to add a setting to: the one with the highest precedence.
    pub(super) fn file(&self) -> &str {
        self.names.first().map_or("tidegate.toml", String::as_str)
    }

    /// Returns a line with the short name of its file.
    fn place(&self, file: &ConfigFile, line: usize) -> String {
        let index = self.written.files().iter().position(|other| other.path == file.path);
        let name = index.and_then(|index| self.names.get(index)).map_or("tidegate.toml", String::as_str);
        format!("{name}:{line}")
    }
}

/// Formats a budget.
pub(super) fn budget_text(budget: Budget) -> String {
    format!("{} tokens and {} bytes", budget.tokens, ui::grouped(budget.bytes.0))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn lines_of_settings() {
        let text = "[defaults]\nbudget_tokens = 1000\n\n[client.\"*\"]\nmax_bytes = 2000\n[client.\"claude-*\"]\nmax_bytes = 3000\n";
        let configuration = Configuration {
            config: Config::default(),
            is_broken: false,
            written: Config::parse(Path::new("/p/t.toml"), text).unwrap(),
            names: vec!["t.toml".into()],
            checks: Vec::new(),
        };
        let line = |key| configuration.line(&Heading::Defaults, key);
        assert_eq!(line("budget_tokens").as_deref(), Some("t.toml:2"));
        assert_eq!(line("max_bytes"), None);
        assert_eq!(configuration.line_of_client("claude-code", "max_bytes").as_deref(), Some("t.toml:7"));
        assert_eq!(configuration.line_of_client("zed", "max_bytes").as_deref(), Some("t.toml:5"));
        assert_eq!(configuration.line_of_client("zed", "cap_tokens"), None);
    }
}
