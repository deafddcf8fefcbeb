//! The second stage: merges the files into a [`Config`], which knows what applies to a server, a tool or a client.
//!
//! A narrower section wins over a wider one, whatever the file: tools over their server, the server over `[defaults]`.
//! Among sections that are equally narrow the project file wins over the user file.

use std::cmp::Reverse;
use std::path::Path;

use serde_json::{Map, Value};
use tidegate_gate::policy::{Policies, Rules, matches, specificity};
use tidegate_gate::profile::ProfileRules;

use crate::file::{ConfigFile, Heading, Section};
use crate::line;
use crate::locate::{ConfigPath, FileOwner, config_paths};
use crate::mistake::{Mistake, Mistakes};
use crate::{access, upstream};

/// The configuration of one run.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The files that were read, the one with the highest precedence first.
    files: Vec<ConfigFile>,
}

impl Config {
    /// Reads the named file, or else the project's and the user's.
    ///
    /// # Errors
    ///
    /// Every mistake in these files.
    pub fn load(named: Option<&Path>) -> Result<Self, Mistakes> {
        let (config, mistakes) = Self::read(&config_paths(named));
        config.unless(mistakes)
    }

    /// Reads files, the one with the highest precedence first, and returns what is valid in them and every mistake.
    pub fn read(paths: &[ConfigPath]) -> (Self, Vec<Mistake>) {
        let mut files = Vec::new();
        let mut mistakes = Vec::new();
        for ConfigPath { path, owner } in paths {
            match std::fs::read_to_string(path) {
                Ok(text) => files.push(ConfigFile::read(path, *owner, &text, &mut mistakes)),
                Err(error) => mistakes.push(Mistake::unreadable(path, &error)),
            }
        }
        let config = Self { files };
        mistakes.extend(line::below_budget(&config));
        mistakes.extend(upstream::mistakes(&config));
        mistakes.extend(access::mistakes(&config));
        let position = |mistake: &Mistake| paths.iter().position(|read| mistake.path() == read.path);
        mistakes.sort_by_key(|mistake| (position(mistake), mistake.place()));
        mistakes.dedup_by_key(|mistake| mistake.to_string());
        (config, mistakes)
    }

    /// Reads the text of one file of the user; `path` is its name in mistakes, and where relative paths in it start.
    ///
    /// # Errors
    ///
    /// Every mistake in the text.
    pub fn parse(path: &Path, text: &str) -> Result<Self, Mistakes> {
        let mut mistakes = Vec::new();
        let file = ConfigFile::read(path, FileOwner::User, text, &mut mistakes);
        let config = Self { files: vec![file] };
        mistakes.extend(line::below_budget(&config));
        mistakes.extend(upstream::mistakes(&config));
        mistakes.extend(access::mistakes(&config));
        config.unless(mistakes)
    }

    /// Reads the rules that a program sets for a tool, with the names and limits of the keys in `[defaults]`; `tool` is its
    /// name in mistakes.
    ///
    /// # Errors
    ///
    /// Every mistake in the rules.
    pub fn rules(tool: &str, settings: &Map<String, Value>) -> Result<Rules, Mistakes> {
        let set = settings.iter().filter(|(_, value)| !value.is_null());
        // A JSON string, number or list of them is written the same way in TOML.
        let lines: String =
            set.map(|(key, value)| format!("{} = {value}\n", Value::from(key.as_str()))).collect();
        let config = Self::parse(Path::new(tool), &format!("[defaults]\n{lines}"))?;
        Ok(config.policies("", Rules::default()).defaults)
    }

    /// Merges files, the one with the highest precedence first.
    #[cfg(any(test, feature = "fuzzing"))]
    pub(crate) fn of_files(files: Vec<ConfigFile>) -> Self {
        Self { files }
    }

    fn unless(self, mistakes: Vec<Mistake>) -> Result<Self, Mistakes> {
        if mistakes.is_empty() { Ok(self) } else { Err(Mistakes(mistakes)) }
    }

    /// Returns the files that were read, the one with the highest precedence first.
    pub fn files(&self) -> &[ConfigFile] {
        &self.files
    }

    /// Returns all sections, those of the file with the highest precedence first.
    pub fn sections(&self) -> impl Iterator<Item = (&ConfigFile, &Section)> {
        self.files.iter().flat_map(|file| file.sections.iter().map(move |section| (file, section)))
    }

    /// Returns the sections that apply to a tool, the narrowest first; without a tool, to all tools of the server.
    pub(crate) fn sections_for_tool(
        &self,
        server: Option<&str>,
        tool: Option<&str>,
    ) -> Vec<(&ConfigFile, &Section)> {
        let width = |section: &Section| match &section.heading {
            Heading::Tools { server: of, pattern }
                if server == Some(of) && tool.is_some_and(|tool| matches(pattern, tool)) =>
            {
                let (plain, length) = specificity(pattern);
                Some((0, !plain, usize::MAX - length))
            }
            Heading::Server(name) if server == Some(name) => Some((1, false, 0)),
            Heading::Defaults => Some((2, false, 0)),
            _ => None,
        };
        let mut found: Vec<_> = self.sections().filter(|(_, section)| width(section).is_some()).collect();
        found.sort_by_key(|(_, section)| width(section));
        found
    }

    /// Returns the sections that apply to a client, the narrowest first.
    pub(crate) fn sections_for_client(&self, client: &str) -> Vec<(&ConfigFile, &Section)> {
        let pattern = |section: &Section| match &section.heading {
            Heading::Client(pattern) if matches(pattern, client) => Some(specificity(pattern)),
            _ => None,
        };
        let mut found: Vec<_> = self.sections().filter(|(_, section)| pattern(section).is_some()).collect();
        found.sort_by_key(|(_, section)| Reverse(pattern(section)));
        found
    }

    /// Returns the rules for the tools of a server; `run` holds the rules set for this run, which win over all others.
    pub fn policies(&self, server: &str, run: Rules) -> Policies {
        let mut policies = Policies::default();
        policies.run = run;
        for (_, section) in self.sections() {
            match &section.heading {
                Heading::Defaults => {
                    policies.defaults = std::mem::take(&mut policies.defaults).over(&section.rules());
                }
                Heading::Server(name) if name == server => {
                    policies.server = std::mem::take(&mut policies.server).over(&section.rules());
                }
                Heading::Tools { server: of, pattern } if of == server => {
                    policies.add_tools(pattern, section.rules());
                }
                _ => {}
            }
        }
        policies
    }

    /// Returns the client rules with the patterns they apply to, the most specific first.
    pub fn clients(&self) -> Vec<(String, ProfileRules)> {
        let client_rules = |(_, section): (&ConfigFile, &Section)| match &section.heading {
            Heading::Client(pattern) => Some((pattern.clone(), section.client_rules())),
            _ => None,
        };
        let mut clients: Vec<(String, ProfileRules)> = self.sections().filter_map(client_rules).collect();
        clients.sort_by_key(|(pattern, _)| Reverse(specificity(pattern)));
        clients
    }

    /// Returns the largest result to accept from a server, if a file sets it.
    pub fn max_result_bytes(&self) -> Option<u64> {
        self.setting_of(&Heading::Store, "max_result_bytes")?.2.value.number()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;
    use tidegate_gate::profile::{OutputSchema, Profile};

    use super::*;

    fn config(texts: &[&str]) -> Result<Config, String> {
        let mut mistakes = Vec::new();
        let read = |text: &&str| ConfigFile::read(Path::new("t.toml"), FileOwner::User, text, &mut mistakes);
        let files = texts.iter().map(read).collect();
        Config::of_files(files).unless(mistakes).map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn a_name_of_too_many_parts_has_its_line() {
        let text = format!("[defaults]\nrows = \"a.b.c\"\na{} = 1\n[store]\n", ".a".repeat(90));
        let message = config(&[&text]).unwrap_err();
        assert!(message.contains("t.toml:3:1: a name has too many parts"), "{message}");
    }

    #[test]
    fn rules_of_a_program_are_read_like_those_of_a_file() {
        let rules = |json: &str| {
            let settings: Map<String, Value> = serde_json::from_str(json).unwrap();
            Config::rules("list_all", &settings).map_err(|mistakes| mistakes.to_string())
        };
        let read = rules(r#"{"page_size":25,"style":"probe","fields":["id","na\"me"],"budget_tokens":null}"#)
            .unwrap();
        assert_eq!((read.page_size, read.style), (Some(25), Some(tidegate_gate::style::Style::Probe)));
        assert_eq!(read.fields, Some(vec!["id".to_owned(), "na\"me".to_owned()]));
        for (json, said) in [
            (r#"{"page_sise":25}"#, "page_size"),
            (r#"{"page_size":"many"}"#, "page_size"),
            (r#"{"style":{"a":1}}"#, "style"),
            (r#"{"a\n[store]\npath":"x"}"#, "list_all"),
        ] {
            let message = rules(json).unwrap_err();
            assert!(message.contains(said), "{json}: {message}");
        }
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
            "a server's section is narrower than [defaults], even those of the project file"
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
    fn client_rules_override_built_in_profiles() {
        let text =
            "[client.codex-mcp-client]\nmax_bytes = 40000\n[client.\"*\"]\noutput_schema = \"union\"\n";
        let clients = config(&[text]).unwrap().clients();
        assert_eq!(clients[0].0, "codex-mcp-client", "the most specific first");
        let mut caller = tidegate_gate::Caller::unknown(clients);
        caller.name("codex-mcp-client");
        assert_eq!((caller.profile.max_bytes, caller.profile.output_schema), (40_000, OutputSchema::Union));
        assert!(caller.profile.runs_programs, "a key that is not set keeps its built-in value");
        caller.name("somebody");
        assert_eq!((caller.profile.max_bytes, caller.profile.output_schema), (10_240, OutputSchema::Union));
    }

    #[test]
    fn every_mistake_is_reported_at_once() {
        let text = "[defaults]\nbudget_token = 5\nmax_bytes = 10\n\n[server.a.tool.x]\nkind = \"logs\"\nfields = \"id\"\n[clients]\n[store]\npath = 7\n";
        let message = config(&[text]).unwrap_err();
        for line in [
            "6 mistakes in the configuration:",
            "t.toml:2:1: [defaults] has no key budget_token; did you mean budget_tokens?",
            "t.toml:3:13: max_bytes is 10, but must be at least 1536",
            "t.toml:6:8: kind is \"logs\"",
            "t.toml:7:10: fields must be a list of strings",
            "t.toml:8:2: unknown section clients; did you mean client?",
            "t.toml:10:8: path must be a string",
        ] {
            assert!(message.contains(line), "{line}\n{message}");
        }
    }

    #[test]
    fn a_project_may_not_set_where_results_go() {
        let text = "[defaults]\nbudget_tokens = 900\nttl_seconds = 5\n[store]\npath = \"/victim\"\n\
                    [server.a.tool.b]\nttl_seconds = 5\nfields = [\"id\"]\n";
        let mut mistakes = Vec::new();
        let path = Path::new("/repo/tidegate.toml");
        let file = ConfigFile::read(path, FileOwner::Project, text, &mut mistakes);
        let user = crate::user_file().unwrap();
        let user = user.display();
        assert_eq!(
            mistakes.iter().map(ToString::to_string).collect::<Vec<_>>(),
            [
                format!(
                    "/repo/tidegate.toml:3:1: a project's file may not set ttl_seconds of [defaults]; move it to \
                     {user}, or set --ttl or TIDEGATE_TTL"
                ),
                format!(
                    "/repo/tidegate.toml:7:1: a project's file may not set ttl_seconds of [server.a.tool.b]; move it \
                     to {user}, or set --ttl or TIDEGATE_TTL"
                ),
                format!(
                    "/repo/tidegate.toml:5:1: a project's file may not set path of [store]; move it to {user}, or set \
                     TIDEGATE_HOME"
                ),
            ]
        );
        let config = Config::of_files(vec![file]);
        assert_eq!(
            config.setting_of(&Heading::Store, "path").map(|(_, _, setting)| setting.line),
            None,
            "it has no effect"
        );
        assert_eq!(config.policies("a", Rules::default()).of_tool("b").hints.fields, ["id"]);
        assert!(Config::parse(path, text).is_ok(), "a file that the user names may set every key");
    }

    /// In every section of a project's file, a key that only the user may set is refused and has no effect.
    #[test]
    fn every_key_of_the_user_is_refused_in_every_section() {
        for key in &crate::KEYS {
            let headings: &[&str] = match key.group {
                crate::KeyGroup::Rules => &["defaults", "server.a", "server.a.tool.b"],
                crate::KeyGroup::Client => &["client.a"],
                crate::KeyGroup::Store => &["store"],
                crate::KeyGroup::Objects => &["store.objects"],
                crate::KeyGroup::Upstream => &["upstream.a"],
                crate::KeyGroup::Gateway => &["gateway"],
                crate::KeyGroup::GatewayKey => &["gateway.key.a"],
                crate::KeyGroup::Issuer => &["gateway.issuer.a"],
                crate::KeyGroup::Role => &["gateway.role.a"],
            };
            for heading in headings {
                let text = format!("[{heading}]\n{} = {}\n", key.name, key.example);
                let mut mistakes = Vec::new();
                let file = ConfigFile::read(Path::new("t.toml"), FileOwner::Project, &text, &mut mistakes);
                let set = file.sections.iter().flat_map(|section| &section.settings).count();
                assert_eq!((mistakes.len(), set), if key.user_only { (1, 0) } else { (0, 1) }, "{text}");
            }
        }
    }

    proptest! {
        #![proptest_config(tidegate_testkit::cases(10_000))]

        /// A project's file never sets a key that only the user may set, and each attempt is reported as a mistake.
        #[test]
        fn a_project_never_sets_a_key_of_the_user(
            written in prop::collection::vec((0_usize..6, prop::sample::select(&crate::KEYS[..])), 0..20),
        ) {
            let mut sections: BTreeMap<String, BTreeMap<&str, &crate::Key>> = BTreeMap::new();
            for (variant, key) in &written {
                let heading = match key.group {
                    crate::KeyGroup::Rules if *variant == 0 => "defaults".to_owned(),
                    crate::KeyGroup::Rules if *variant < 3 => format!("server.s{variant}"),
                    crate::KeyGroup::Rules => format!("server.s1.tool.\"t{variant}*\""),
                    crate::KeyGroup::Client => format!("client.c{variant}"),
                    crate::KeyGroup::Store => "store".to_owned(),
                    crate::KeyGroup::Objects => "store.objects".to_owned(),
                    crate::KeyGroup::Upstream => format!("upstream.u{variant}"),
                    crate::KeyGroup::Gateway => "gateway".to_owned(),
                    crate::KeyGroup::GatewayKey => format!("gateway.key.k{variant}"),
                    crate::KeyGroup::Issuer => format!("gateway.issuer.i{variant}"),
                    crate::KeyGroup::Role => format!("gateway.role.r{variant}"),
                };
                sections.entry(heading).or_default().insert(key.name, key);
            }
            let settings = || sections.values().flat_map(BTreeMap::values);
            let text: String = sections.iter().map(|(heading, keys)| {
                let lines = keys.values().map(|key| format!("{} = {}\n", key.name, key.example));
                format!("[{heading}]\n{}", lines.collect::<String>())
            }).collect();
            let read = |owner| {
                let mut mistakes = Vec::new();
                let file = ConfigFile::read(Path::new("t.toml"), owner, &text, &mut mistakes);
                let set: Vec<&crate::Key> =
                    file.sections.iter().flat_map(|section| &section.settings).map(|setting| setting.key).collect();
                (set.len(), set.iter().any(|key| key.user_only), mistakes.len())
            };
            let of_user = settings().filter(|key| key.user_only).count();
            let all = settings().count();
            prop_assert_eq!(read(FileOwner::User), (all, of_user > 0, 0), "{}", text);
            prop_assert_eq!(read(FileOwner::Project), (all - of_user, false, of_user), "{}", text);
        }
    }

    #[test]
    fn a_byte_order_mark_is_not_a_column() {
        let message = config(&["\u{feff}[default]\r\nrows = \".a\"\r\n"]).unwrap_err();
        assert_eq!(
            message,
            "1 mistake in the configuration:\n\
             t.toml:1:2: unknown section default; did you mean defaults?\n 1 | [default]\n   |  ^^^^^^^"
        );
    }

    #[test]
    fn a_syntax_error_has_its_line() {
        let message = config(&["[defaults]\nbudget_tokens = \n\n[store\n"]).unwrap_err();
        assert!(message.contains("t.toml:2:") && message.contains("t.toml:4:"), "{message}");
    }
}
