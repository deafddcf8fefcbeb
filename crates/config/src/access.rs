//! `[gateway]` and the sections below it: who may call the gateway, and how much. Only the user sets them.

use std::ops::Range;
use std::path::PathBuf;
use std::time::Duration;

use tidegate_gate::tier::Tier;

use crate::file::{ConfigFile, Heading, Section, Setting};
use crate::keys::{GATEWAY_IN_FLIGHT, GATEWAY_QUEUE, GATEWAY_WAITING, ISSUER_LEEWAY};
use crate::locate::expand;
use crate::mistake::Mistake;
use crate::resolve::Config;
use crate::upstream::{line_place, texts};

/// Who may call a gateway, and how much.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// The address of the gateway as clients call it.
    pub resource: Option<String>,
    /// The callers with a key.
    pub keys: Vec<AccessKey>,
    /// The issuers of tokens.
    pub issuers: Vec<AccessIssuer>,
    /// What callers may use.
    pub roles: Vec<AccessRole>,
    /// How many requests there may be at once.
    pub queue: QueueLimits,
    /// Where the audit log is written.
    pub audit_file: Option<PathBuf>,
    /// How lines of the log are written.
    pub log_format: LogFormat,
    /// The address of the collector that gets traces.
    pub otlp_endpoint: Option<String>,
}

/// How lines of the log are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// As text.
    #[default]
    Text,
    /// Each as a JSON object.
    Json,
}

/// How many requests there may be at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// With servers.
    pub max_in_flight: u64,
    /// Waiting, of one caller.
    pub max_waiting: u64,
    /// How long one waits.
    pub queue_time: Duration,
}

impl Default for QueueLimits {
    fn default() -> Self {
        Self {
            max_in_flight: GATEWAY_IN_FLIGHT,
            max_waiting: GATEWAY_WAITING,
            queue_time: Duration::from_secs(GATEWAY_QUEUE),
        }
    }
}

/// A caller with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessKey {
    /// Its name.
    pub name: String,
    /// The hash of its key.
    pub hash: String,
    /// Its groups.
    pub groups: Vec<String>,
}

/// An issuer of tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessIssuer {
    /// What its tokens have as `iss`.
    pub issuer: String,
    /// The address of its keys.
    pub jwks_url: Option<String>,
    /// The names of the algorithms that are accepted.
    pub algorithms: Option<Vec<String>>,
    /// The audience of its tokens.
    pub audience: Option<String>,
    /// The claim with the groups.
    pub groups_claim: Option<String>,
    /// How far its clock may be off, in seconds.
    pub leeway_seconds: u64,
}

/// What callers may use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRole {
    /// Its name.
    pub name: String,
    /// Groups whose members have it.
    pub groups: Vec<String>,
    /// Scopes that give it.
    pub scopes: Vec<String>,
    /// Patterns of callers that have it.
    pub callers: Vec<String>,
    /// Tier that the role gives: what its callers may call and read.
    pub tier: Tier,
    /// Patterns of servers.
    pub servers: Vec<String>,
    /// Patterns of tools.
    pub tools: Vec<String>,
    /// Requests in a minute, requests, tokens and stored bytes in a day.
    pub limits: [Option<u64>; 4],
}

/// The algorithms of signatures that can be accepted.
const ALGORITHMS: [&str; 10] =
    ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA", "Ed25519"];
/// The keys with limits, in the order of [`AccessRole::limits`].
const LIMITS: [&str; 4] =
    ["requests_per_minute", "requests_per_day", "tokens_per_day", "stored_bytes_per_day"];

impl Config {
    /// Returns who may call the gateway, and how much.
    pub fn access(&self) -> Access {
        let mut access = Access::default();
        let mut sections: Vec<_> = self.sections().collect();
        sections.sort_by_key(|(_, section)| section.line);
        for (file, section) in sections {
            match &section.heading {
                Heading::Gateway => gateway(&mut access, file, section),
                Heading::GatewayKey(name) => access.keys.extend(text(section, "hash").map(|hash| {
                    AccessKey { name: name.clone(), hash, groups: texts(section, "groups").to_vec() }
                })),
                Heading::Issuer(_) => access.issuers.extend(issuer(section)),
                Heading::Role(name) => access.roles.push(role(name, section)),
                _ => {}
            }
        }
        access
    }
}

fn text(section: &Section, key: &str) -> Option<String> {
    section.get(key)?.value.text().map(str::to_owned)
}

fn number(section: &Section, key: &str) -> Option<u64> {
    section.get(key)?.value.number()
}

fn gateway(access: &mut Access, file: &ConfigFile, section: &Section) {
    let queue = access.queue;
    access.resource = text(section, "resource");
    access.audit_file = text(section, "audit_file").map(|path| expand(&file.path, &path));
    access.otlp_endpoint = text(section, "otlp_endpoint");
    access.log_format = match text(section, "log_format").as_deref() {
        Some("json") => LogFormat::Json,
        _ => LogFormat::Text,
    };
    access.queue = QueueLimits {
        max_in_flight: number(section, "max_in_flight").unwrap_or(queue.max_in_flight),
        max_waiting: number(section, "max_waiting").unwrap_or(queue.max_waiting),
        queue_time: number(section, "queue_seconds").map_or(queue.queue_time, Duration::from_secs),
    };
}

fn issuer(section: &Section) -> Option<AccessIssuer> {
    Some(AccessIssuer {
        issuer: text(section, "issuer")?,
        jwks_url: text(section, "jwks_url"),
        algorithms: section.get("algorithms").map(|_| texts(section, "algorithms").to_vec()),
        audience: text(section, "audience"),
        groups_claim: text(section, "groups_claim"),
        leeway_seconds: number(section, "leeway_seconds").unwrap_or(ISSUER_LEEWAY),
    })
}

fn role(name: &str, section: &Section) -> AccessRole {
    let list = |key| texts(section, key).to_vec();
    let or_all = |key| if section.get(key).is_some() { list(key) } else { vec!["*".to_owned()] };
    AccessRole {
        name: name.to_owned(),
        groups: list("groups"),
        scopes: list("scopes"),
        callers: list("callers"),
        tier: text(section, "tier").and_then(|tier| Tier::named(&tier)).unwrap_or(Tier::Admin),
        servers: or_all("servers"),
        tools: or_all("tools"),
        limits: LIMITS.map(|key| number(section, key)),
    }
}

/// Returns what is wrong with sections whose keys are valid, each alone.
pub(crate) fn mistakes(config: &Config) -> Vec<Mistake> {
    let mut mistakes = Vec::new();
    let has = |is_it: &dyn Fn(&Section) -> bool| config.sections().any(|(_, section)| is_it(section));
    let has_resource =
        has(&|section: &Section| section.heading == Heading::Gateway && section.get("resource").is_some());
    let has_callers =
        has(&|section: &Section| matches!(section.heading, Heading::GatewayKey(_) | Heading::Issuer(_)));
    let mut issuers = Vec::new();
    for (file, section) in config.sections() {
        let mut report = |place: &Range<usize>, message: &str| {
            mistakes.push(Mistake::at(&file.path, &file.text, place, message));
        };
        let heading = line_place(&file.text, section.line);
        let mut require = |key: &str, is_valid: &dyn Fn(&str) -> bool, must: &str| match section.get(key) {
            None => report(&heading, &format!("[{}] needs {key}", section.heading)),
            Some(Setting { value, place, .. }) => {
                if !value.text().is_some_and(is_valid) {
                    report(place, &format!("{key} must be {must}"));
                }
            }
        };
        match &section.heading {
            Heading::GatewayKey(_) => {
                require(
                    "hash",
                    &is_hash,
                    "blake3: and 64 hexadecimal digits, as tidegate gateway key prints it",
                );
            }
            Heading::Issuer(_) => {
                require("issuer", &is_address, "an address that begins with https://");
                if section.get("jwks_url").is_some() {
                    require("jwks_url", &is_address, "an address that begins with https://");
                }
                algorithms(section, &mut report);
                of_issuer(section, &heading, has_resource, &mut issuers, &mut report);
            }
            Heading::Role(_) if !has_callers => {
                let message = format!(
                    "[{}] is for nobody: add [gateway.key.NAME] or [gateway.issuer.NAME], or remove the role",
                    section.heading
                );
                report(&heading, &message);
            }
            Heading::Gateway => {
                if section.get("resource").is_some() {
                    let must = "the address of the gateway, such as https://gateway.example/mcp";
                    require("resource", &is_address, must);
                }
                if section.get("otlp_endpoint").is_some() {
                    let must = "the address of a collector, such as http://127.0.0.1:4318";
                    require("otlp_endpoint", &is_endpoint, must);
                }
            }
            _ => {}
        }
    }
    mistakes
}

/// Reports an issuer whose tokens need not name this gateway, and one that is configured twice.
fn of_issuer<'c>(
    section: &'c Section,
    heading: &Range<usize>,
    has_resource: bool,
    known: &mut Vec<(&'c str, &'c Heading)>,
    report: &mut impl FnMut(&Range<usize>, &str),
) {
    if section.get("audience").is_none() && !has_resource {
        // The address of a request is what its client says, so a token for another service could pass.
        let message = format!(
            "[{}] needs an audience, because [gateway] has no resource: a token must name the gateway that it is for",
            section.heading
        );
        report(heading, &message);
    }
    let Some(setting) = section.get("issuer") else { return };
    let Some(address) = setting.value.text() else { return };
    match known.iter().find(|(other, _)| *other == address) {
        Some((_, other)) => {
            let message =
                format!("[{other}] has this issuer as well, so one of the two would never apply; remove one");
            report(&setting.place, &message);
        }
        None => known.push((address, &section.heading)),
    }
}

fn algorithms(section: &Section, report: &mut impl FnMut(&Range<usize>, &str)) {
    let Some(setting) = section.get("algorithms") else { return };
    let listed = texts(section, "algorithms");
    if let Some(unknown) = listed.iter().find(|name| !ALGORITHMS.contains(&name.as_str())) {
        let known = ALGORITHMS.join(", ");
        report(
            &setting.place,
            &format!("{unknown:?} is no algorithm that can be accepted; these can: {known}"),
        );
    }
    if listed.is_empty() {
        report(&setting.place, "algorithms must name at least one");
    }
}

fn is_hash(text: &str) -> bool {
    let digits = text.strip_prefix("blake3:").unwrap_or_default();
    digits.len() == 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether an address is one of HTTP, with a host. Collectors are often in the same network, without TLS.
fn is_endpoint(text: &str) -> bool {
    let host = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme));
    host.is_some_and(|host| !host.is_empty() && !host.starts_with('/')) && !text.contains(char::is_whitespace)
}

/// Returns whether an address has TLS, or is one of this machine.
fn is_address(text: &str) -> bool {
    let here = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
    let is_here = here
        .iter()
        .filter_map(|here| text.strip_prefix(here))
        .any(|rest| rest.is_empty() || rest.starts_with(['/', ':']));
    (is_here || text.strip_prefix("https://").is_some_and(|rest| !rest.is_empty()))
        && !text.contains(|character: char| character.is_whitespace() || matches!(character, '@' | '?' | '#'))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn read(text: &str) -> Result<Access, String> {
        let config = Config::parse(Path::new("/etc/tidegate/tidegate.toml"), text);
        config.map(|config| config.access()).map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn callers_issuers_and_roles() {
        let hash = format!("blake3:{}", "0f".repeat(32));
        let text = format!(
            "[gateway]\nresource = \"https://g.example/mcp\"\nmax_in_flight = 7\naudit_file = \"audit.jsonl\"\n\
             log_format = \"json\"\notlp_endpoint = \"http://c:4318\"\n\
             [gateway.key.ops]\nhash = \"{hash}\"\ngroups = [\"staff\"]\n\
             [gateway.issuer.login]\nissuer = \"https://login.example\"\nalgorithms = [\"RS256\"]\n\
             [gateway.role.reader]\ngroups = [\"staff\"]\ntier = \"read\"\ntools = [\"list_*\"]\ntokens_per_day = 9\n"
        );
        let access = read(&text).unwrap();
        assert_eq!(access.resource.as_deref(), Some("https://g.example/mcp"));
        assert_eq!(access.audit_file, Some(PathBuf::from("/etc/tidegate/audit.jsonl")));
        assert_eq!(access.log_format, LogFormat::Json);
        assert_eq!(access.otlp_endpoint.as_deref(), Some("http://c:4318"));
        assert_eq!((access.queue.max_in_flight, access.queue.max_waiting), (7, GATEWAY_WAITING));
        assert_eq!(access.keys, [AccessKey { name: "ops".into(), hash, groups: vec!["staff".into()] }]);
        let issuer = &access.issuers[0];
        assert_eq!((issuer.algorithms.clone(), issuer.leeway_seconds), (Some(vec!["RS256".into()]), 30));
        let role = &access.roles[0];
        assert_eq!(
            (role.tier, role.servers.clone(), role.tools.clone()),
            (Tier::Read, vec!["*".into()], vec!["list_*".into()])
        );
        assert_eq!(role.limits, [None, None, Some(9), None]);
        assert_eq!(read("").unwrap(), Access::default());
    }

    #[test]
    fn what_is_missing_or_wrong_is_reported() {
        for (text, said) in [
            ("[gateway.key.a]\n", "1:1: [gateway.key.a] needs hash"),
            ("[gateway.key.a]\nhash = \"tgk_abc\"\n", "2:8: hash must be blake3:"),
            ("[gateway.issuer.a]\n", "[gateway.issuer.a] needs issuer"),
            ("[gateway.issuer.a]\nissuer = \"http://login.example\"\n", "issuer must be an address"),
            (
                "[gateway.issuer.a]\nissuer = \"http://127.0.0.1@login.example\"\n",
                "issuer must be an address",
            ),
            (
                "[gateway.issuer.a]\nissuer = \"https://l.example\"\nalgorithms = [\"HS256\"]\n",
                "\"HS256\" is no algorithm that can be accepted",
            ),
            ("[gateway.issuer.a]\nissuer = \"https://l.example\"\nalgorithms = []\n", "at least one"),
            (
                "[gateway.issuer.a]\nissuer = \"https://l.example\"\n",
                "1:1: [gateway.issuer.a] needs an audience, because [gateway] has no resource",
            ),
            (
                "[gateway.issuer.a]\nissuer = \"https://l.example\"\naudience = \"x\"\n[gateway.issuer.b]\n\
                 issuer = \"https://l.example\"\naudience = \"y\"\n",
                "5:10: [gateway.issuer.a] has this issuer as well",
            ),
            (
                "[gateway]\nresource = \"https://g.example/mcp\"\n[gateway.role.a]\n",
                "3:1: [gateway.role.a] is for nobody",
            ),
            ("[gateway]\nresource = \"gateway\"\n", "resource must be the address of the gateway"),
            ("[gateway]\notlp_endpoint = \"c:4318\"\n", "otlp_endpoint must be the address of a collector"),
            ("[gateway.roles.a]\n", "[gateway] has no key roles; did you mean role?"),
        ] {
            let mistakes = read(text).unwrap_err();
            assert!(mistakes.contains(said), "{mistakes}");
        }
    }
}
