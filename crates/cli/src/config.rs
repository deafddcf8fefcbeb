//! `tidegate.toml`: what is set for everything, for a server, for a tool and for a client.
//!
//! `keys.rs` has every key there is. Two stages: `file.rs` reads what was written and notes every mistake with its
//! place; here the files are put together and become policies. What the command line or the environment says wins over
//! the project's file, that over the user's, and that over the defaults.

pub(crate) mod command;
mod file;
#[cfg(feature = "fuzzing")]
pub(crate) mod fuzzing;
mod init;
pub(crate) mod keys;
mod mistake;
#[cfg(test)]
pub(crate) mod reference;
mod schema;
mod show;
mod template;
pub(crate) mod value;

use std::path::{Path, PathBuf};

use tidegate_gate::Place;
use tidegate_gate::policy::{Policies, Rules, matches, specificity};
use tidegate_gate::profile::ProfileRules;

use crate::error::CommandError;
use file::{File, Section, Whose};
use mistake::Mistake;

/// The name of the file.
const NAME: &str = "tidegate.toml";

/// Everything that was set.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// The files that were read, the one that wins first.
    files: Vec<File>,
}

impl Config {
    /// Reads the file named, or else the project's and the user's.
    pub(crate) fn load(named: Option<&Path>) -> Result<Self, CommandError> {
        match Self::read(&paths(named)) {
            (config, mistakes) if mistakes.is_empty() => Ok(config),
            (_, mistakes) => Err(refused(&mistakes)),
        }
    }

    /// Reads files, the one that wins first, and returns every mistake in them.
    fn read(paths: &[PathBuf]) -> (Self, Vec<Mistake>) {
        let mut files = Vec::new();
        let mut mistakes = Vec::new();
        for path in paths {
            match std::fs::read_to_string(path) {
                Ok(text) => files.push(File::read(path, &text, &mut mistakes)),
                Err(error) => mistakes.push(Mistake::of_file(path, &error)),
            }
        }
        let order = |mistake: &Mistake| paths.iter().position(|path| mistake.path() == path);
        mistakes.sort_by_key(|mistake| (order(mistake), mistake.place()));
        mistakes.dedup_by_key(|mistake| mistake.to_string());
        (Self { files }, mistakes)
    }

    /// All sections, those of the file that wins first.
    fn sections(&self) -> impl Iterator<Item = (&File, &Section)> {
        self.files.iter().flat_map(|file| file.sections.iter().map(move |section| (file, section)))
    }

    /// The sections that hold for a tool, those that win first; without a tool, for all tools of the server.
    fn of_tool(&self, server: Option<&str>, tool: Option<&str>) -> Vec<(&File, &Section)> {
        // What is narrower wins, whatever the file.
        let width = |section: &Section| match &section.whose {
            Whose::Tools { server: of, pattern }
                if server == Some(of) && tool.is_some_and(|tool| matches(pattern, tool)) =>
            {
                let (plain, length) = specificity(pattern);
                Some((0, !plain, usize::MAX - length))
            }
            Whose::Server(name) if server == Some(name) => Some((1, false, 0)),
            Whose::Defaults => Some((2, false, 0)),
            _ => None,
        };
        let mut found: Vec<_> = self.sections().filter(|(_, section)| width(section).is_some()).collect();
        found.sort_by_key(|(_, section)| width(section));
        found
    }

    /// The sections that hold for a client, those that win first.
    fn of_client(&self, client: &str) -> Vec<(&File, &Section)> {
        let pattern = |section: &Section| match &section.whose {
            Whose::Client(pattern) if matches(pattern, client) => Some(specificity(pattern)),
            _ => None,
        };
        let mut found: Vec<_> = self.sections().filter(|(_, section)| pattern(section).is_some()).collect();
        found.sort_by_key(|(_, section)| std::cmp::Reverse(pattern(section)));
        found
    }

    /// Returns the rules for the tools of a server; `run` was set for this run and wins.
    pub(crate) fn policies(&self, server: &str, run: Rules) -> Policies {
        let mut policies = Policies::default();
        policies.run = run;
        for (_, section) in self.sections() {
            match &section.whose {
                Whose::Defaults => {
                    policies.defaults = std::mem::take(&mut policies.defaults).over(&section.rules());
                }
                Whose::Server(name) if name == server => {
                    policies.server = std::mem::take(&mut policies.server).over(&section.rules());
                }
                Whose::Tools { server: of, pattern } if of == server => {
                    policies.add_tools(pattern, section.rules());
                }
                _ => {}
            }
        }
        policies
    }

    /// Returns what is set for clients, by pattern of their name; what wins comes first.
    pub(crate) fn clients(&self) -> Vec<(String, ProfileRules)> {
        let of_client = |(_, section): (&File, &Section)| match &section.whose {
            Whose::Client(pattern) => Some((pattern.clone(), section.client())),
            _ => None,
        };
        let mut set: Vec<(String, ProfileRules)> = self.sections().filter_map(of_client).collect();
        set.sort_by_key(|(pattern, _)| std::cmp::Reverse(specificity(pattern)));
        set
    }

    /// Returns what is set for the store.
    fn of_store(&self, name: &str) -> Option<(&File, &file::Setting)> {
        let stores = self.sections().filter(|(_, section)| section.whose == Whose::Store);
        stores.filter_map(|(file, section)| Some((file, section.get(name)?))).next()
    }

    /// Returns where results are kept. `TIDEGATE_HOME` wins over a file.
    pub(crate) fn place(&self) -> Place {
        let set = || {
            let (file, setting) = self.of_store("path")?;
            Some(expand(&file.path, setting.value.text()?))
        };
        Place::Folder(variable("TIDEGATE_HOME").or_else(set))
    }

    /// Returns the largest result that is taken, if a file says.
    pub(crate) fn max_result_bytes(&self) -> Option<u64> {
        self.of_store("max_result_bytes")?.1.value.number()
    }
}

/// A path in a variable of the environment; an empty one is none.
fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The files that hold here, the one that wins first: the one named, or else the project's and the user's.
pub(crate) fn paths(named: Option<&Path>) -> Vec<PathBuf> {
    match named.map(Path::to_owned).or_else(|| variable("TIDEGATE_CONFIG")) {
        Some(path) => vec![path],
        None => project_file().into_iter().chain(user_file().filter(|path| path.is_file())).collect(),
    }
}

/// Reads `~/` as the user's home, and what is relative from the folder of the file.
fn expand(file: &Path, path: &str) -> PathBuf {
    match (path.strip_prefix("~/"), dirs::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => file.parent().unwrap_or(Path::new("")).join(path),
    }
}

/// The nearest file above the current folder, as far as its repository reaches.
fn project_file() -> Option<PathBuf> {
    let folder = std::env::current_dir().ok()?;
    for folder in folder.ancestors() {
        let path = folder.join(NAME);
        if path.is_file() {
            return Some(path);
        }
        if folder.join(".git").exists() {
            return None;
        }
    }
    None
}

/// Where the user's file is, or would be.
fn user_file() -> Option<PathBuf> {
    Some(dirs::config_dir()?.join("tidegate").join(NAME))
}

fn refused(mistakes: &[Mistake]) -> CommandError {
    let count = match mistakes.len() {
        1 => "1 mistake".to_owned(),
        many => format!("{many} mistakes"),
    };
    let drawn: Vec<String> = mistakes.iter().map(|mistake| format!("\n{}", mistake.drawn())).collect();
    CommandError::bad_input(format!("{count} in the configuration:{}", drawn.concat()))
}

#[cfg(test)]
mod tests {
    use tidegate_gate::profile::{OutputSchema, Profile};

    use super::*;

    fn config(texts: &[&str]) -> Result<Config, String> {
        let mut mistakes = Vec::new();
        let files = texts.iter().map(|text| File::read(Path::new("t.toml"), text, &mut mistakes)).collect();
        if mistakes.is_empty() { Ok(Config { files }) } else { Err(refused(&mistakes).to_string()) }
    }

    #[test]
    fn a_name_of_too_many_parts_has_its_line() {
        let text = format!("[defaults]\nrows = \"a.b.c\"\na{} = 1\n[store]\n", ".a".repeat(90));
        let said = config(&[&text]).unwrap_err();
        assert!(said.contains("t.toml:3:1: a name has too many parts"), "{said}");
    }

    #[test]
    fn the_first_file_wins_and_the_narrowest_rule() {
        let project = "[defaults]\nbudget_tokens = 1000\n[server.github.tool.\"list_*\"]\nfields = [\"id\"]\npage_size = 5\n";
        let user =
            "[defaults]\nbudget_tokens = 3000\nttl_seconds = 60\n[server.github]\nbudget_tokens = 500\n";
        let policies = config(&[project, user]).unwrap().policies("github", Rules::default());
        let policy = policies.of_tool("list_issues");
        let profile = Profile::strictest();
        assert_eq!(
            policy.budget(&profile).tokens.0,
            500,
            "a server is narrower than the defaults of a file that wins"
        );
        assert_eq!(policy.ttl.as_secs(), 60);
        assert_eq!((policy.page_size, policy.hints.fields.clone()), (Some(5), vec!["id".to_owned()]));
        let other = config(&[project, user]).unwrap().policies("other", Rules::default());
        assert_eq!(other.of_tool("list_issues").budget(&profile).tokens.0, 1000);
        let run = Rules { budget_tokens: Some(700), ..Rules::default() };
        let policies = config(&[project, user]).unwrap().policies("github", run);
        assert_eq!(policies.of_tool("x").budget(&profile).tokens.0, 700);
    }

    #[test]
    fn clients_can_be_treated_otherwise() {
        let text =
            "[client.codex-mcp-client]\nmax_bytes = 40000\n[client.\"*\"]\noutput_schema = \"union\"\n";
        let clients = config(&[text]).unwrap().clients();
        assert_eq!(clients[0].0, "codex-mcp-client", "the narrowest first");
        let mut caller = tidegate_gate::Caller::unknown(clients);
        caller.name("codex-mcp-client");
        assert_eq!((caller.profile.max_bytes, caller.profile.output_schema), (40_000, OutputSchema::Union));
        assert!(caller.profile.runs_programs, "what is not set stays as it is built in");
        caller.name("somebody");
        assert_eq!((caller.profile.max_bytes, caller.profile.output_schema), (10_240, OutputSchema::Union));
    }

    #[test]
    fn every_mistake_is_told_at_once() {
        let text = "[defaults]\nbudget_token = 5\nmax_bytes = 10\n\n[server.a.tool.x]\nkind = \"logs\"\nfields = \"id\"\n[clients]\n[store]\npath = 7\n";
        let message = config(&[text]).unwrap_err();
        for line in [
            "6 mistakes in the configuration:",
            "t.toml:2:1: [defaults] has no key budget_token; did you mean budget_tokens?",
            "t.toml:3:13: max_bytes is 10, but must be at least 1536",
            "t.toml:6:8: kind is \"logs\"",
            "t.toml:7:10: fields should be a list of strings",
            "t.toml:8:2: there is no section clients; did you mean client?",
            "t.toml:10:8: path should be a string",
        ] {
            assert!(message.contains(line), "{line}\n{message}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_column() {
        let said = config(&["\u{feff}[default]\r\nrows = \".a\"\r\n"]).unwrap_err();
        assert_eq!(
            said,
            "1 mistake in the configuration:\n\
             t.toml:1:2: there is no section default; did you mean defaults?\n 1 | [default]\n   |  ^^^^^^^"
        );
    }

    #[test]
    fn broken_toml_is_told_with_its_line() {
        let message = config(&["[defaults]\nbudget_tokens = \n\n[store\n"]).unwrap_err();
        assert!(message.contains("t.toml:2:") && message.contains("t.toml:4:"), "{message}");
    }
}
