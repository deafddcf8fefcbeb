//! Whose credential a server gets: what does not go together is found before anything starts.
//!
//! A credential of a caller is sealed with the key of the store, belongs to a caller with a name, and goes to a connection of
//! that caller alone. So it needs all three, and no other credential may stand in its place.

use std::ops::Range;

use super::{Section, texts};
use crate::file::Heading;
use crate::resolve::Config;

/// The keys that give a server a credential of the gateway.
const OF_SERVICE: [&str; 5] = ["header_env", "bearer_env", "bearer_file", "env_from", "env_file"];
/// The keys that go with credentials of callers only.
const OF_USER: [&str; 4] =
    ["credential_header", "credential_env", "list_credential_env", "list_credential_file"];

/// Returns what is wrong with the credentials of a server.
pub(super) fn mistakes(
    config: &Config,
    section: &Section,
    heading: &Range<usize>,
    report: &mut impl FnMut(&Range<usize>, &str),
) {
    let setting = section.get("credentials");
    let service = || OF_SERVICE.iter().find_map(|key| section.get(key));
    match setting.and_then(|setting| setting.value.text()) {
        Some("user") => of_users(config, section, heading, report),
        chosen => {
            for setting in OF_USER.iter().filter_map(|key| section.get(key)) {
                let name = setting.key.name;
                report(&setting.place, &format!("{name} goes with credentials = \"user\""));
            }
            let place = setting.map_or(heading, |setting| &setting.place);
            match (chosen, service()) {
                (Some("service"), None) => {
                    let name = &section.heading;
                    report(
                        place,
                        &format!(
                            "credentials is \"service\", but [{name}] names no credential; {}",
                            keys_for(section)
                        ),
                    );
                }
                (Some("none"), Some(other)) => {
                    let name = other.key.name;
                    report(
                        place,
                        &format!("credentials is \"none\", but {name} names one; remove one of them"),
                    );
                }
                _ => {}
            }
        }
    }
}

fn keys_for(section: &Section) -> &'static str {
    match section.get("command") {
        Some(_) => "add env_from or env_file",
        None => "add bearer_env, bearer_file or header_env",
    }
}

fn of_users(
    config: &Config,
    section: &Section,
    heading: &Range<usize>,
    report: &mut impl FnMut(&Range<usize>, &str),
) {
    let chosen = section.get("credentials").map_or(heading, |setting| &setting.place);
    if !config.has_encryption_key() {
        report(
            chosen,
            "credentials of callers are sealed with the key of the store, and there is none; make one with tidegate store \
             key, and set encryption_key_file of [store]",
        );
    }
    let names_callers = |heading: &Heading| matches!(heading, Heading::GatewayKey(_) | Heading::Issuer(_));
    if !config.sections().any(|(_, section)| names_callers(&section.heading)) {
        report(
            chosen,
            "callers have no names, so none can have a credential; add [gateway.key.NAME] or [gateway.issuer.NAME]",
        );
    }
    if let Some(sharing) = section.get("sharing").filter(|setting| setting.value.text() == Some("shared")) {
        report(
            &sharing.place,
            "all callers share a connection, which cannot have the credential of each; remove it",
        );
    }
    for key in ["bearer_env", "bearer_file"] {
        if let Some(setting) = section.get(key) {
            let instead = key.replace("bearer", "list_credential");
            report(
                &setting.place,
                &format!("{key} is a credential of the gateway; to read the lists with it, use {instead}"),
            );
        }
    }
    if section.get("command").is_some() && section.get("credential_env").is_none() {
        let name = &section.heading;
        report(
            heading,
            &format!(
                "[{name}] needs credential_env: the variable in which the program looks for the credential"
            ),
        );
    }
    if let [Some(_), Some(file)] = ["list_credential_env", "list_credential_file"].map(|key| section.get(key))
    {
        report(&file.place, "there is list_credential_env as well; remove one");
    }
    let text = |key| section.get(key).and_then(|setting| setting.value.text());
    let header = text("credential_header").unwrap_or("Authorization");
    if let Some(setting) = section.get("credential_header").filter(|_| !is_header(header)) {
        report(&setting.place, &format!("{header:?} is no name of a header"));
    }
    let is_header_of_caller = |name: &str| name.eq_ignore_ascii_case(header);
    taken(section, &["header_env"], is_header_of_caller, report);
    taken(section, &["env", "env_from", "env_file"], |name| Some(name) == text("credential_env"), report);
}

/// Reports what stands in the place of the credential of the caller.
fn taken(
    section: &Section,
    keys: &[&str],
    is_place: impl Fn(&str) -> bool,
    report: &mut impl FnMut(&Range<usize>, &str),
) {
    for setting in keys.iter().filter_map(|key| section.get(key)) {
        let names =
            texts(section, setting.key.name).iter().map(|item| item.split('=').next().unwrap_or(item));
        for name in names.filter(|name| is_place(name)) {
            report(
                &setting.place,
                &format!("{name} is where the credential of the caller goes; remove it here"),
            );
        }
    }
}

fn is_header(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}
