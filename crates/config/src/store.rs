//! `[store]` and `[store.objects]`: where results are kept, with which keys and quotas. Only the user sets them, in their own
//! file or in the environment, which wins. Secrets are in files of their own that only the user can read (`secrets.rs`), or in
//! the environment, never in `tidegate.toml`.

use std::path::PathBuf;

use tidegate_gate::{
    QuotaSettings, RemoteCredentials, RemoteObjects, RemoteStore, StoreLocation, StoreSettings,
    without_secrets,
};
use tidegate_store::{KeyError, SealKey, StoreKey, StoreKeys};

use crate::file::{ConfigFile, Heading, Section, Setting};
use crate::keys::{Key, KeyGroup};
use crate::locate::{expand, path_variable};
use crate::resolve::Config;
use crate::secrets;

/// What is wrong with the settings of the store.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreSettingError {
    /// A key cannot be read.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The address of the store is of no kind that is known.
    #[error("url of [store] is {shown:?}, but must begin with postgres://")]
    Url {
        /// The address, without secrets.
        shown: String,
    },
    /// The address of the object store is of no kind that is known.
    #[error("url of [store.objects] is {shown:?}, but must begin with s3://")]
    ObjectsUrl {
        /// The address, without secrets.
        shown: String,
    },
    /// A file holds no password.
    #[error("the file {} holds no password; its first line must be the password of the database", path.display())]
    NoPassword {
        /// The file.
        path: PathBuf,
    },
    /// A file holds no credentials of the profile.
    #[error(
        "the file {} has no aws_access_key_id and aws_secret_access_key under [{profile}]; set credentials_profile of [store.objects]",
        path.display()
    )]
    NoCredentials {
        /// The file.
        path: PathBuf,
        /// The section that was looked for.
        profile: String,
    },
    /// An object store alone is no store.
    #[error("[store.objects] needs a PostgreSQL store beside it; set url of [store]")]
    ObjectsAlone,
}

/// The variables that hold a key itself, instead of the name of its file.
const STORE_KEY: &str = "TIDEGATE_STORE_KEY";
const PREVIOUS_KEY: &str = "TIDEGATE_STORE_PREVIOUS_KEY";
const SEALING_KEY: &str = "TIDEGATE_SEALING_KEY";
const PREVIOUS_SEALING_KEY: &str = "TIDEGATE_PREVIOUS_SEALING_KEY";

/// The variable with the password of the database, as the programs of PostgreSQL read it.
const PASSWORD: &str = "PGPASSWORD";
/// The variable with the id of the key of the object store; the object store's client reads it.
const KEY_ID: &str = "AWS_ACCESS_KEY_ID";

/// Returns an address with the password from the environment, if it has a user and no password of its own.
fn with_password(url: &str, password: Option<&str>) -> String {
    let parts = url.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?)));
    match (parts, password) {
        (Some((scheme, (user, host))), Some(password)) if !user.contains(':') => {
            let escaped: String = password.bytes().map(escape).collect();
            format!("{scheme}://{user}:{escaped}@{host}")
        }
        _ => url.to_owned(),
    }
}

fn escape(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    }
}

impl Config {
    /// Returns an address with the password from the environment or its file, if it has none of its own. A file that cannot
    /// be read is an error of [`Self::store_settings`].
    pub fn address(&self, url: &str) -> String {
        with_password(url, self.password().unwrap_or_default().as_deref())
    }

    fn password(&self) -> Result<Option<String>, StoreSettingError> {
        match (text_variable(PASSWORD), self.path_of(&Heading::Store, "password_file")) {
            (Some(password), _) => Ok(Some(password)),
            (None, Some(path)) => secrets::password(&path).map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Returns the credentials of the object store from their file, unless the environment has some.
    fn credentials(&self) -> Result<Option<RemoteCredentials>, StoreSettingError> {
        let is_asked = self.text_of(&Heading::Objects, "url").is_some() && text_variable(KEY_ID).is_none();
        let file = self.path_of(&Heading::Objects, "credentials_file").filter(|_| is_asked);
        let Some(path) = file else { return Ok(None) };
        let profile = self.text_of(&Heading::Objects, "credentials_profile");
        secrets::credentials(&path, profile.as_deref().unwrap_or("default")).map(Some)
    }

    /// Returns the setting of a key under a heading, and the file it is in.
    pub(crate) fn setting_of(
        &self,
        heading: &Heading,
        name: &str,
    ) -> Option<(&ConfigFile, &Section, &Setting)> {
        let sections = self.sections().filter(|(_, section)| section.heading == *heading);
        sections.filter_map(|(file, section)| Some((file, section, section.get(name)?))).next()
    }

    /// Returns the text of a key, from the environment or a file.
    fn text_of(&self, heading: &Heading, name: &str) -> Option<String> {
        let group = if *heading == Heading::Objects { KeyGroup::Objects } else { KeyGroup::Store };
        let variable = Key::named(group, name).map_or("", |key| key.variable);
        let in_file = || Some(self.setting_of(heading, name)?.2.value.text()?.to_owned());
        text_variable(variable).or_else(in_file)
    }

    /// Returns the path in a key, from the environment or a file.
    fn path_of(&self, heading: &Heading, name: &str) -> Option<PathBuf> {
        let group = if *heading == Heading::Objects { KeyGroup::Objects } else { KeyGroup::Store };
        let variable = Key::named(group, name).map_or("", |key| key.variable);
        let in_file = || {
            let (file, _, setting) = self.setting_of(heading, name)?;
            Some(expand(&file.path, setting.value.text()?))
        };
        path_variable(variable).or_else(in_file)
    }

    /// Returns where results are kept. The environment wins over the files.
    pub fn place(&self) -> StoreLocation {
        let folder = self.path_of(&Heading::Store, "path");
        let Some(url) = self.text_of(&Heading::Store, "url") else { return StoreLocation::Folder(folder) };
        let url = self.address(&url);
        StoreLocation::Remote(Box::new(RemoteStore { url, objects: self.objects(), folder }))
    }

    /// Returns whether several processes may share the store, and with it the callers of a gateway.
    pub(crate) fn has_shared_store(&self) -> bool {
        self.text_of(&Heading::Store, "url").is_some()
    }

    /// Returns whether a key is named that the store is encrypted with, whether it can be read or not.
    pub(crate) fn has_encryption_key(&self) -> bool {
        text_variable(STORE_KEY).is_some() || self.path_of(&Heading::Store, "encryption_key_file").is_some()
    }

    /// Returns the object store for large results.
    pub fn objects(&self) -> Option<RemoteObjects> {
        let text = |name| self.text_of(&Heading::Objects, name);
        let credentials = self.credentials().unwrap_or_default();
        Some(RemoteObjects {
            url: text("url")?,
            endpoint: text("endpoint"),
            region: text("region"),
            credentials,
        })
    }

    /// Returns the keys and quotas of the store.
    ///
    /// # Errors
    ///
    /// A key that cannot be read, or an address of an unknown kind.
    pub fn store_settings(&self) -> Result<StoreSettings, StoreSettingError> {
        self.check_addresses()?;
        self.password()?;
        self.credentials()?;
        let number = |name| self.setting_of(&Heading::Store, name)?.2.value.number();
        let read = |variable: &str, name: &str| -> Result<Option<StoreKey>, KeyError> {
            match (text_variable(variable), self.path_of(&Heading::Store, name)) {
                (Some(text), _) => StoreKey::parse(variable, &text).map(Some),
                (None, Some(path)) => StoreKey::from_file(&path).map(Some),
                (None, None) => Ok(None),
            }
        };
        let seal = |variable: &str, name: &str| -> Result<Option<SealKey>, KeyError> {
            match (text_variable(variable), self.path_of(&Heading::Store, name)) {
                (Some(text), _) => SealKey::parse(variable, &text).map(Some),
                (None, Some(path)) => SealKey::from_file(&path).map(Some),
                (None, None) => Ok(None),
            }
        };
        Ok(StoreSettings {
            keys: StoreKeys {
                current: read(STORE_KEY, "encryption_key_file")?,
                previous: read(PREVIOUS_KEY, "previous_key_file")?,
                from_plain: false,
            },
            quotas: QuotaSettings {
                store_bytes: number("quota_bytes"),
                owner_bytes: number("owner_quota_bytes"),
                session_bytes: number("session_quota_bytes"),
            },
            seal: seal(SEALING_KEY, "sealing_key_file")?,
            previous_seal: seal(PREVIOUS_SEALING_KEY, "previous_sealing_key_file")?,
            keep_schema: false,
        })
    }

    fn check_addresses(&self) -> Result<(), StoreSettingError> {
        let url = self.text_of(&Heading::Store, "url");
        if let Some(url) = url.as_deref().filter(|url| !RemoteStore::is_url(url)) {
            return Err(StoreSettingError::Url { shown: without_secrets(url) });
        }
        let objects = self.objects();
        if let Some(objects) = objects.as_ref().filter(|objects| !objects.url.starts_with("s3://")) {
            return Err(StoreSettingError::ObjectsUrl { shown: without_secrets(&objects.url) });
        }
        match (url, objects) {
            (None, Some(_)) => Err(StoreSettingError::ObjectsAlone),
            _ => Ok(()),
        }
    }
}

/// Returns the text of an environment variable; an empty one counts as unset.
pub(crate) fn text_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !name.is_empty() && !value.is_empty())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn config(text: &str) -> Config {
        Config::parse(Path::new("/etc/tidegate/tidegate.toml"), text).unwrap()
    }

    #[test]
    fn a_shared_store() {
        let config = config(
            "[store]\npath = \"data\"\nurl = \"postgres://team:secret@db/t\"\nquota_bytes = 9999999\nowner_quota_bytes = 88888\n\
             [store.objects]\nurl = \"s3://bucket/prefix\"\nendpoint = \"http://127.0.0.1:1\"\n",
        );
        let place = config.place();
        let remote = place.remote().unwrap();
        assert_eq!(
            (remote.url.as_str(), place.shown().as_str()),
            ("postgres://team:secret@db/t", "postgres://team@db/t")
        );
        assert_eq!(remote.folder.as_deref(), Some(Path::new("/etc/tidegate/data")));
        let objects = remote.objects.as_ref().unwrap();
        assert_eq!((objects.url.as_str(), objects.region.as_deref()), ("s3://bucket/prefix", None));
        let quotas = config.store_settings().unwrap().quotas;
        assert_eq!(
            (quotas.store_bytes, quotas.owner_bytes, quotas.session_bytes),
            (Some(9_999_999), Some(88_888), None)
        );
    }

    #[test]
    fn the_password_comes_from_the_environment() {
        for (url, full) in [
            ("postgres://team@db/t", "postgres://team:p%40ss%2F1@db/t"),
            ("postgres://team:own@db/t", "postgres://team:own@db/t"),
            ("postgres://db/t", "postgres://db/t"),
        ] {
            assert_eq!(with_password(url, Some("p@ss/1")), full);
            assert_eq!(with_password(url, None), url);
        }
    }

    #[test]
    fn what_is_wrong_is_said_without_secrets() {
        for (text, said) in [
            (
                "[store]\nurl = \"mysql://u:secret@db/t\"\n",
                "url of [store] is \"mysql://u@db/t\", but must begin with postgres://",
            ),
            (
                "[store]\nurl = \"postgres://db/t\"\n[store.objects]\nurl = \"gs://u:secret@b\"\n",
                "must begin with s3://",
            ),
            ("[store.objects]\nurl = \"s3://b\"\n", "[store.objects] needs a PostgreSQL store"),
            ("[store]\nencryption_key_file = \"none.key\"\n", "cannot read the file /etc/tidegate/none.key"),
            ("[store]\npassword_file = \"none\"\n", "cannot read the file /etc/tidegate/none"),
            (
                "[store]\nurl = \"postgres://db/t\"\n[store.objects]\nurl = \"s3://b\"\ncredentials_file = \"none\"\n",
                "cannot read the file /etc/tidegate/none",
            ),
        ] {
            let message = config(text).store_settings().unwrap_err().to_string();
            assert!(message.contains(said) && !message.contains("secret"), "{message}");
        }
    }
}
