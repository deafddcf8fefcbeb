//! `tidegate gateway credential`: the credentials that callers have for servers, sealed in the store.
//!
//! The secret comes from stdin, never from an argument, which other users of the machine could see, and it is never printed.

use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use serde_json::json;
use tidegate_config::{Access, Config, Upstream};
use tidegate_gate::{StoreLocation, StoreSettings};
use tidegate_store::{
    Clock, Credential, CredentialRows, Credentials, FileCredentials, MAX_CREDENTIAL_BYTES, SystemClock,
};

use crate::cli::Format;
use crate::error::CommandError;
use crate::keep::{causes, store_settings};
use crate::ui;

/// Set, list and remove the credentials of callers for servers
///
/// A server with credentials = "user" gets the credential of the caller whose request it answers. They are kept in the store of
/// the gateway, sealed with its encryption key. A running gateway sees a change within 30 s.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    tidegate gateway credential set --owner key:ada --upstream github < token\n  \
    tidegate gateway credential list\n  \
    tidegate gateway credential remove --owner key:ada --upstream github")]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Set(Set),
    List(List),
    Remove(Remove),
}

/// Set the credential of a caller for a server
///
/// Reads it from stdin. On a terminal it asks for it and does not show what is typed.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    tidegate gateway credential set --owner key:ada --upstream github < token\n  \
    tidegate gateway credential set --owner \"https://login.example 2482\" --upstream github < token")]
struct Set {
    #[command(flatten)]
    of: OfCaller,
}

/// List whose credentials are stored, without the credentials
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate gateway credential list --format json")]
struct List {
    #[command(flatten)]
    file: ConfigFile,

    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// Remove the credential of a caller for a server
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  tidegate gateway credential remove --owner key:ada --upstream github")]
struct Remove {
    #[command(flatten)]
    of: OfCaller,
}

/// A caller and a server.
#[derive(Debug, Args)]
struct OfCaller {
    /// Caller: key:NAME, or issuer and subject of its tokens with a space between
    #[arg(long)]
    owner: String,

    /// Name of the server, as in [upstream.NAME]
    #[arg(long, value_name = "NAME")]
    upstream: String,

    #[command(flatten)]
    file: ConfigFile,
}

#[derive(Debug, Args)]
struct ConfigFile {
    /// Configuration file [default: tidegate.toml of the project and of the user]
    #[arg(long, value_name = "FILE", env = "TIDEGATE_CONFIG")]
    config: Option<PathBuf>,
}

impl ConfigFile {
    fn load(&self) -> Result<Config, CommandError> {
        Ok(Config::load(self.config.as_deref())?)
    }
}

/// Runs the command.
pub(super) fn run(arguments: &Arguments) -> Result<(), CommandError> {
    match &arguments.command {
        Command::Set(set) => self::set(&set.of),
        Command::List(list) => self::list(list),
        Command::Remove(remove) => self::remove(&remove.of),
    }
}

fn set(of: &OfCaller) -> Result<(), CommandError> {
    let config = of.file.load()?;
    check_upstream(&config.upstreams(), &of.upstream)?;
    check_owner(&config.access(), &of.owner)?;
    let credentials = of_config(&config)?;
    let credential = credential()?;
    let now = SystemClock.now();
    credentials.set(&of.owner, &of.upstream, &credential, now).map_err(|error| out_of_reach(&error))?;
    ui::note(&format!("{} has a credential for {}", ui::printable(&of.owner), ui::printable(&of.upstream)));
    Ok(())
}

fn list(list: &List) -> Result<(), CommandError> {
    let stored = of_config(&list.file.load()?)?.list().map_err(|error| out_of_reach(&error))?;
    if list.format == Format::Json {
        let listed: Vec<_> = stored
            .iter()
            .map(
                |one| json!({"owner": one.owner, "upstream": one.server, "changed": one.changed.to_string()}),
            )
            .collect();
        return ui::json(&json!(listed));
    }
    if stored.is_empty() {
        ui::note("no credentials are stored");
        return Ok(());
    }
    let mut rows = vec![["OWNER", "UPSTREAM", "CHANGED"].map(str::to_owned)];
    rows.extend(
        stored
            .iter()
            .map(|one| [ui::printable(&one.owner), ui::printable(&one.server), one.changed.to_string()]),
    );
    ui::data(ui::table(&rows, &[]).as_bytes())
}

fn remove(of: &OfCaller) -> Result<(), CommandError> {
    let credentials = of_config(&of.file.load()?)?;
    let (owner, upstream) = (ui::printable(&of.owner), ui::printable(&of.upstream));
    match credentials.remove(&of.owner, &of.upstream).map_err(|error| out_of_reach(&error))? {
        true => {
            ui::note(&format!("removed the credential of {owner} for {upstream}"));
            Ok(())
        }
        false => Err(CommandError::failed(format!("{owner} has no credential for {upstream}"))
            .hint("tidegate gateway credential list shows all")),
    }
}

/// Refuses a name that no server has, or one of a server that would not get the credential.
fn check_upstream(upstreams: &[Upstream], name: &str) -> Result<(), CommandError> {
    match upstreams.iter().find(|upstream| upstream.name == name) {
        Some(upstream) if upstream.user_credential.is_some() => Ok(()),
        Some(_) => Err(CommandError::bad_input(format!("[upstream.{name}] gets no credentials of callers"))
            .hint(format!("set credentials = \"user\" in [upstream.{name}]"))),
        None => {
            let names: Vec<&str> = upstreams.iter().map(|upstream| upstream.name.as_str()).collect();
            Err(CommandError::bad_input(format!("the configuration has no [upstream.{name}]")).hint(format!(
                "it has {}",
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            )))
        }
    }
}

/// Refuses an owner that no caller can be.
fn check_owner(access: &Access, owner: &str) -> Result<(), CommandError> {
    let is_key = |name: &str| access.keys.iter().any(|key| key.name == name);
    let is_issuer = |name: &str| access.issuers.iter().any(|issuer| issuer.issuer == name);
    let is_known = match (owner.strip_prefix("key:"), owner.split_once(' ')) {
        (Some(name), _) => is_key(name),
        (None, Some((issuer, subject))) => is_issuer(issuer) && !subject.is_empty(),
        (None, None) => false,
    };
    if is_known {
        return Ok(());
    }
    Err(CommandError::bad_input(format!("no caller of this configuration can be {owner:?}")).hint(
        "an owner is key:NAME, as in [gateway.key.NAME], or the issuer and the subject of its tokens with a space between, as in \
         the audit log",
    ))
}

/// Reads the credential from stdin.
fn credential() -> Result<Credential, CommandError> {
    let text = match io::stdin().is_terminal() {
        true => ui::ask_secret("Credential (not shown): ").map_err(CommandError::failed)?,
        false => {
            let mut bytes = Vec::new();
            let most = u64::try_from(MAX_CREDENTIAL_BYTES).unwrap_or(u64::MAX) + 2;
            io::stdin().take(most).read_to_end(&mut bytes).map_err(CommandError::failed)?;
            String::from_utf8(bytes).unwrap_or_default()
        }
    };
    Credential::new(text.trim_end_matches(['\n', '\r'])).ok_or_else(|| {
        CommandError::bad_input(format!(
            "stdin holds no credential: it must be one line of printable ASCII, {} at most",
            ui::bytes(MAX_CREDENTIAL_BYTES as u64)
        ))
    })
}

fn of_config(config: &Config) -> Result<Credentials, CommandError> {
    stored(&config.place(), &store_settings(config)?)
}

/// Returns the credentials in a store.
pub(crate) fn stored(place: &StoreLocation, settings: &StoreSettings) -> Result<Credentials, CommandError> {
    if settings.keys.current.is_none() {
        return Err(CommandError::bad_input(
            "credentials of callers are sealed with the key of the store, and there is none",
        )
        .hint("make one with tidegate store key -o FILE, and set encryption_key_file of [store] to FILE"));
    }
    let rows: Box<dyn CredentialRows> = match (place.remote(), place.folder()) {
        (Some(remote), _) => Box::new(
            remote
                .connect(settings, std::sync::Arc::new(SystemClock))
                .map_err(|error| out_of_reach(&error))?,
        ),
        (None, Some(folder)) => Box::new(FileCredentials::in_folder(&folder)),
        (None, None) => {
            return Err(
                CommandError::bad_input("no data folder is known").hint("set TIDEGATE_HOME to a folder")
            );
        }
    };
    Credentials::new(rows, &settings.keys).map_err(|error| out_of_reach(&error))
}

fn out_of_reach(error: &tidegate_store::StoreError) -> CommandError {
    CommandError::out_of_reach(format!("cannot use the stored credentials: {}", causes(error)))
}
