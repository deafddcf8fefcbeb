//! `[upstream.NAME]`: the servers behind `tidegate gateway`, in the order of the file. Only the user sets them.

mod credentials;

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use crate::file::{ConfigFile, Heading, Section};
use crate::keys::{
    SHARING, UPSTREAM_IDLE, UPSTREAM_PROCESSES, UPSTREAM_QUEUE, UPSTREAM_START, UPSTREAM_TIMEOUT,
};
use crate::locate::expand;
use crate::mistake::Mistake;
use crate::resolve::Config;
use crate::value::Value;

/// A server behind a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// Its name.
    pub name: String,
    /// How it is reached.
    pub target: UpstreamTargetSetting,
    /// Where the credential of the caller goes; `None` if the server gets none, or that of the gateway.
    pub user_credential: Option<UserCredentialSetting>,
    /// Whose requests share a connection.
    pub sharing: UpstreamSharing,
    /// Whether its tools and prompts keep their names.
    pub keeps_names: bool,
    /// How long it may be silent.
    pub timeout: Duration,
    /// How long it may take to start.
    pub start_timeout: Duration,
    /// How long a connection of one caller may be idle.
    pub idle_time: Duration,
    /// The most processes at once.
    pub max_processes: u64,
    /// How long a caller waits for one of them.
    pub queue_time: Duration,
}

/// How a server is reached. A variable is named with the name or file that its value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UpstreamTargetSetting {
    /// By a command.
    Command {
        /// The program and its arguments.
        command: Vec<String>,
        /// Variables and their values.
        env: Vec<(String, String)>,
        /// Variables, and the variable of the gateway that holds the value of each.
        env_from: Vec<(String, String)>,
        /// Variables, and the file that holds the value of each.
        env_file: Vec<(String, PathBuf)>,
    },
    /// By an address.
    Url {
        /// The address.
        url: String,
        /// Headers, and the variable that holds the value of each.
        header_env: Vec<(String, String)>,
        /// The variable that holds the bearer token.
        bearer_env: Option<String>,
        /// The file that holds the bearer token.
        bearer_file: Option<PathBuf>,
    },
}

/// How a server gets the credential of each caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserCredentialSetting {
    /// Where it goes.
    pub place: UserCredentialPlace,
    /// The variable with the credential to read lists with.
    pub list_env: Option<String>,
    /// The file with the credential to read lists with.
    pub list_file: Option<PathBuf>,
}

/// Where the credential of a caller goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserCredentialPlace {
    /// To the header `Authorization`, as a bearer token.
    Bearer,
    /// To another header.
    Header(String),
    /// To an environment variable of the process.
    Variable(String),
}

/// Whose requests share a connection to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpstreamSharing {
    /// Those of all callers where the server has no sessions.
    Auto,
    /// Those of all callers.
    Shared,
    /// Those of one caller.
    Caller,
    /// Those of one caller, whose requests always reach the same replica.
    Sticky,
}

/// The keys of which one is needed.
const TARGETS: [&str; 2] = ["command", "url"];
/// The keys that go with a command only, and those that go with an address only.
const WITH_COMMAND: [&str; 7] =
    ["args", "env", "env_from", "env_file", "credential_env", "max_processes", "queue_seconds"];
const WITH_URL: [&str; 4] = ["header_env", "bearer_env", "bearer_file", "credential_header"];
/// The keys whose items are pairs.
const PAIRS: [&str; 3] = ["env", "env_file", "header_env"];

impl Config {
    /// Returns the servers behind a gateway, in the order of the file.
    pub fn upstreams(&self) -> Vec<Upstream> {
        let mut found: Vec<_> = self.upstream_sections().collect();
        found.sort_by_key(|(_, section, _)| section.line);
        found.into_iter().filter_map(|(file, section, name)| upstream(file, section, name)).collect()
    }

    fn upstream_sections(&self) -> impl Iterator<Item = (&ConfigFile, &Section, &str)> {
        self.sections().filter_map(|(file, section)| match &section.heading {
            Heading::Upstream(name) => Some((file, section, name.as_str())),
            _ => None,
        })
    }
}

fn upstream(file: &ConfigFile, section: &Section, name: &str) -> Option<Upstream> {
    let text = |key| section.get(key).and_then(|setting| setting.value.text()).map(str::to_owned);
    let number =
        |key, default| section.get(key).and_then(|setting| setting.value.number()).unwrap_or(default);
    let seconds = |key, default| Duration::from_secs(number(key, default));
    let pairs = |key| -> Vec<(String, String)> {
        let pair = |item: &String| match item.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => (item.clone(), item.clone()),
        };
        texts(section, key).iter().map(pair).collect()
    };
    let path = |path: &str| expand(&file.path, path);
    let target = match (text("command"), text("url")) {
        (Some(program), _) => UpstreamTargetSetting::Command {
            command: std::iter::once(program).chain(texts(section, "args").iter().cloned()).collect(),
            env: pairs("env"),
            env_from: pairs("env_from"),
            env_file: pairs("env_file").into_iter().map(|(name, file)| (name, path(&file))).collect(),
        },
        (None, Some(url)) => UpstreamTargetSetting::Url {
            url,
            header_env: pairs("header_env"),
            bearer_env: text("bearer_env"),
            bearer_file: text("bearer_file").map(|file| path(&file)),
        },
        (None, None) => return None,
    };
    let user_credential = (text("credentials").as_deref() == Some("user")).then(|| UserCredentialSetting {
        place: match (text("credential_env"), text("credential_header")) {
            (Some(variable), _) => UserCredentialPlace::Variable(variable),
            (None, Some(header)) if !header.eq_ignore_ascii_case("authorization") => {
                UserCredentialPlace::Header(header)
            }
            (None, _) => UserCredentialPlace::Bearer,
        },
        list_env: text("list_credential_env"),
        list_file: text("list_credential_file").map(|file| path(&file)),
    });
    let sharing = match text("sharing").as_deref() {
        Some("shared") => UpstreamSharing::Shared,
        Some("caller") => UpstreamSharing::Caller,
        Some("sticky") => UpstreamSharing::Sticky,
        _ => UpstreamSharing::Auto,
    };
    debug_assert!(SHARING.len() == 4, "every choice has its variant");
    Some(Upstream {
        name: name.to_owned(),
        target,
        user_credential,
        sharing,
        keeps_names: text("prefix").is_some(),
        timeout: seconds("timeout_seconds", UPSTREAM_TIMEOUT),
        start_timeout: seconds("start_seconds", UPSTREAM_START),
        idle_time: seconds("idle_seconds", UPSTREAM_IDLE),
        max_processes: number("max_processes", UPSTREAM_PROCESSES),
        queue_time: seconds("queue_seconds", UPSTREAM_QUEUE),
    })
}

pub(crate) fn texts<'s>(section: &'s Section, key: &str) -> &'s [String] {
    match section.get(key).map(|setting| &setting.value) {
        Some(Value::Texts(texts)) => texts,
        _ => &[],
    }
}

/// Returns what is wrong with sections whose keys are valid, each alone.
pub(crate) fn mistakes(config: &Config) -> Vec<Mistake> {
    let count = config.upstream_sections().count();
    let mut mistakes = Vec::new();
    for (file, section, name) in config.upstream_sections() {
        let mut report = |place: &Range<usize>, message: &str| {
            mistakes.push(Mistake::at(&file.path, &file.text, place, message));
        };
        let heading = line_place(&file.text, section.line);
        if name.trim().is_empty() {
            report(&heading, "the name of a server must not be empty");
        }
        match TARGETS.map(|key| section.get(key)) {
            [None, None] => report(&heading, &format!("[{}] needs a command or a url", section.heading)),
            [Some(_), Some(url)] => {
                report(&url.place, &format!("[{}] has a command and a url; remove one", section.heading));
            }
            [Some(_), None] => misplaced(section, &WITH_URL, "url", &mut report),
            [None, Some(_)] => misplaced(section, &WITH_COMMAND, "command", &mut report),
        }
        if let Some(prefix) = section.get("prefix").filter(|_| count > 1) {
            report(
                &prefix.place,
                &format!("prefix = \"\" is possible for a single server, but there are {count}"),
            );
        }
        affinity(config, section, &heading, &mut report);
        credentials::mistakes(config, section, &heading, &mut report);
        for key in PAIRS {
            if let Some(wrong) = texts(section, key).iter().find(|item| !is_pair(item)) {
                let place = section.get(key).map_or(heading.clone(), |setting| setting.place.clone());
                let written = wrong.split('=').next().unwrap_or_default();
                report(&place, &format!("{key} takes items like NAME=VALUE, and {written:?} is none"));
            }
        }
    }
    mistakes
}

/// Reports a process of a single caller where the next request of this caller may reach another replica, whose process knows
/// nothing of what came before.
fn affinity(
    config: &Config,
    section: &Section,
    heading: &Range<usize>,
    report: &mut impl FnMut(&Range<usize>, &str),
) {
    let sharing = section.get("sharing");
    let chosen = sharing.and_then(|setting| setting.value.text());
    let is_of_caller = matches!(chosen, None | Some("auto" | "caller"));
    if config.has_shared_store() && section.get("command").is_some() && is_of_caller {
        let message = format!(
            "[{}] has a process for each caller, but [store] url lets several replicas serve the same caller; set sharing = \
             \"shared\" if callers may share one process, or \"sticky\" if the requests of a caller always reach the same replica",
            section.heading
        );
        report(sharing.map_or(heading, |setting| &setting.place), &message);
    }
}

fn misplaced(section: &Section, keys: &[&str], needs: &str, report: &mut impl FnMut(&Range<usize>, &str)) {
    for setting in keys.iter().filter_map(|key| section.get(key)) {
        report(
            &setting.place,
            &format!("{} goes with a {needs}, which [{}] has not", setting.key.name, section.heading),
        );
    }
}

fn is_pair(item: &str) -> bool {
    item.split_once('=').is_some_and(|(name, value)| !name.trim().is_empty() && !value.is_empty())
}

/// Returns the place of a line, counted from 1.
pub(crate) fn line_place(text: &str, line: usize) -> Range<usize> {
    let mut start = 0;
    for (number, written) in text.split_inclusive('\n').enumerate() {
        if number + 1 == line {
            return start..start + written.trim_end().len();
        }
        start += written.len();
    }
    start..start
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn read(text: &str) -> Result<Vec<Upstream>, String> {
        let config = Config::parse(Path::new("/etc/tidegate/tidegate.toml"), text);
        config.map(|config| config.upstreams()).map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn servers_come_in_the_order_of_the_file() {
        let text = "[upstream.zeta]\ncommand = \"npx\"\nargs = [\"-y\", \"x\"]\nenv_from = [\"TOKEN\", \"A=B\"]\n\
                    env_file = [\"K=keys/k\"]\nsharing = \"sticky\"\n\
                    [upstream.alpha]\nurl = \"https://a.example/mcp\"\nbearer_env = \"T\"\ntimeout_seconds = 5\n";
        let upstreams = read(text).unwrap();
        let names: Vec<&str> = upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
        assert_eq!(names, ["zeta", "alpha"]);
        let UpstreamTargetSetting::Command { command, env_from, env_file, .. } = &upstreams[0].target else {
            panic!()
        };
        assert_eq!(command, &["npx", "-y", "x"]);
        assert_eq!(env_from[0], ("TOKEN".into(), "TOKEN".into()));
        assert_eq!(env_from[1], ("A".into(), "B".into()));
        assert_eq!(env_file[0], ("K".into(), PathBuf::from("/etc/tidegate/keys/k")));
        assert_eq!(upstreams[0].sharing, UpstreamSharing::Sticky);
        assert_eq!((upstreams[1].timeout, upstreams[1].idle_time).0, Duration::from_secs(5));
    }

    #[test]
    fn what_does_not_go_together_is_reported() {
        for (text, said) in [
            ("[upstream.a]\n", "1:1: [upstream.a] needs a command or a url"),
            (
                "[upstream.a]\ncommand = \"x\"\nurl = \"http://y\"\n",
                "3:7: [upstream.a] has a command and a url",
            ),
            ("[upstream.a]\nurl = \"http://y\"\nargs = []\n", "args goes with a command"),
            ("[upstream.a]\ncommand = \"x\"\nbearer_env = \"T\"\n", "bearer_env goes with a url"),
            ("[upstream.a]\ncommand = \"x\"\nenv = [\"A\"]\n", "env takes items like NAME=VALUE"),
            (
                "[upstream.a]\ncommand = \"x\"\nprefix = \"\"\n[upstream.b]\ncommand = \"y\"\n",
                "prefix = \"\" is possible for a single server, but there are 2",
            ),
            (
                "[store]\nurl = \"postgres://db/t\"\n[upstream.a]\ncommand = \"x\"\n",
                "3:1: [upstream.a] has a process for each caller, but [store] url",
            ),
            (
                "[store]\nurl = \"postgres://db/t\"\n[upstream.a]\ncommand = \"x\"\nsharing = \"caller\"\n",
                "5:11: [upstream.a] has a process for each caller",
            ),
            ("[upstream.a]\ncommand = \"x\"\nprefix = \"b\"\n", "prefix is \"b\", but must be \"\""),
        ] {
            let mistakes = read(text).unwrap_err();
            assert!(mistakes.contains(said), "{mistakes}");
        }
        assert!(read("[upstream.a]\ncommand = \"x\"\nprefix = \"\"\n").unwrap()[0].keeps_names);
        let sticky = "[store]\nurl = \"postgres://db/t\"\n[upstream.a]\ncommand = \"x\"\nsharing = \"sticky\"\n[upstream.b]\nurl = \"http://b\"\n";
        assert_eq!(read(sticky).unwrap().len(), 2);
    }

    /// A store with a key, and a caller with a name.
    const READY: &str = "[store]\nencryption_key_file = \"k\"\n[gateway.key.ada]\n\
                         hash = \"blake3:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0\"\n";

    #[test]
    fn where_the_credential_of_a_caller_goes() {
        let of = |keys: &str| {
            let text = format!("{READY}[upstream.a]\ncredentials = \"user\"\n{keys}\n");
            read(&text).unwrap()[0].user_credential.clone().unwrap()
        };
        assert_eq!(of("url = \"http://y\"").place, UserCredentialPlace::Bearer);
        let header = of("url = \"http://y\"\ncredential_header = \"X-Key\"\nlist_credential_file = \"l\"");
        assert_eq!(header.place, UserCredentialPlace::Header("X-Key".into()));
        assert_eq!(header.list_file, Some(PathBuf::from("/etc/tidegate/l")));
        let variable = of("command = \"x\"\ncredential_env = \"T\"\nlist_credential_env = \"L\"");
        assert_eq!(variable.place, UserCredentialPlace::Variable("T".into()));
        assert_eq!(variable.list_env.as_deref(), Some("L"));
        for keys in ["", "credentials = \"service\"\nbearer_env = \"T\"", "credentials = \"none\""] {
            let upstreams = read(&format!("[upstream.a]\nurl = \"http://y\"\n{keys}\n")).unwrap();
            assert_eq!(upstreams[0].user_credential, None);
        }
    }

    #[test]
    fn credentials_that_cannot_work_are_reported() {
        for (keys, said) in [
            ("url = \"http://y\"\ncredentials = \"user\"\nsharing = \"shared\"", "all callers share"),
            ("command = \"x\"\ncredentials = \"user\"", "needs credential_env"),
            (
                "url = \"http://y\"\ncredentials = \"user\"\ncredential_env = \"A\"",
                "credential_env goes with a command",
            ),
            (
                "url = \"http://y\"\ncredentials = \"user\"\nbearer_env = \"A\"",
                "bearer_env is a credential of the gateway",
            ),
            (
                "url = \"http://y\"\ncredentials = \"user\"\nheader_env = [\"authorization=A\"]",
                "authorization is where the credential of the caller goes",
            ),
            (
                "command = \"x\"\ncredentials = \"user\"\ncredential_env = \"T\"\nenv = [\"T=1\"]",
                "T is where the credential of the caller goes",
            ),
            (
                "url = \"http://y\"\ncredentials = \"user\"\ncredential_header = \"a b\"",
                "no name of a header",
            ),
            (
                "url = \"http://y\"\ncredentials = \"user\"\nlist_credential_env = \"A\"\nlist_credential_file = \"f\"",
                "remove one",
            ),
            ("url = \"http://y\"\nlist_credential_env = \"A\"", "goes with credentials = \"user\""),
            ("url = \"http://y\"\ncredentials = \"service\"", "names no credential"),
            ("url = \"http://y\"\ncredentials = \"none\"\nbearer_env = \"A\"", "remove one of them"),
        ] {
            let mistakes = read(&format!("{READY}[upstream.a]\n{keys}\n")).unwrap_err();
            assert!(mistakes.contains(said), "{keys}: {mistakes}");
        }
        let alone = read("[upstream.a]\nurl = \"http://y\"\ncredentials = \"user\"\n").unwrap_err();
        assert!(alone.contains("encryption_key_file of [store]"), "{alone}");
        assert!(alone.contains("callers have no names"), "{alone}");
    }
}
