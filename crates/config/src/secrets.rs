//! Secrets in files of their own: the password of the database, and the credentials of the object store in the form that the
//! AWS command line writes. A file that others can read is refused, and no error repeats what a file holds.

use std::path::Path;

use tidegate_gate::RemoteCredentials;
use tidegate_store::read_private_file;

use crate::store::StoreSettingError;

/// Returns the password in the first line of a file.
pub(crate) fn password(path: &Path) -> Result<String, StoreSettingError> {
    let bytes = read_private_file(path)?;
    let text = String::from_utf8_lossy(&bytes);
    match text.lines().next() {
        Some(password) if !password.is_empty() => Ok(password.to_owned()),
        _ => Err(StoreSettingError::NoPassword { path: path.to_owned() }),
    }
}

/// Returns the credentials of a profile.
pub(crate) fn credentials(path: &Path, profile: &str) -> Result<RemoteCredentials, StoreSettingError> {
    let bytes = read_private_file(path)?;
    let text = String::from_utf8_lossy(&bytes);
    let value = |name: &str| value_in(&text, profile, name);
    match (value("aws_access_key_id"), value("aws_secret_access_key")) {
        (Some(key_id), Some(secret)) => {
            Ok(RemoteCredentials { key_id, secret, token: value("aws_session_token") })
        }
        _ => Err(StoreSettingError::NoCredentials { path: path.to_owned(), profile: profile.to_owned() }),
    }
}

/// Returns a value in a section of a file of the form `[section]`, `name = value`.
fn value_in(text: &str, section: &str, name: &str) -> Option<String> {
    let mut is_here = false;
    for line in text.lines().map(str::trim) {
        if let Some(heading) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            is_here = heading.trim() == section;
        } else if let (true, Some((key, value))) = (is_here, line.split_once('='))
            && key.trim() == name
            && !value.trim().is_empty()
        {
            return Some(value.trim().to_owned());
        }
    }
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn file(text: &str, mode: u32) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("the disk has space");
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(file.path(), permissions).expect("it is this user's file");
        file
    }

    #[test]
    fn a_password_is_the_first_line() {
        for (text, expected) in [("p@ss word\n", "p@ss word"), ("one\r\ntwo\n", "one"), ("plain", "plain")] {
            assert_eq!(password(file(text, 0o600).path()).unwrap(), expected);
        }
        for text in ["", "\n", "\npass"] {
            let message = password(file(text, 0o600).path()).unwrap_err().to_string();
            assert!(message.contains("holds no password"), "{message}");
        }
    }

    #[test]
    fn credentials_are_those_of_the_profile() {
        let text = "# a comment\n[default]\naws_access_key_id = ID1\naws_secret_access_key=S1=\n\n\
                    [ team ]\naws_access_key_id=ID2\naws_secret_access_key = S2\naws_session_token = T2\n[half]\naws_access_key_id = ID3\n";
        let file = file(text, 0o600);
        let read = |profile| credentials(file.path(), profile);
        let of = |key_id: &str, secret: &str, token: Option<&str>| RemoteCredentials {
            key_id: key_id.into(),
            secret: secret.into(),
            token: token.map(str::to_owned),
        };
        assert_eq!(read("default").unwrap(), of("ID1", "S1=", None));
        assert_eq!(read("team").unwrap(), of("ID2", "S2", Some("T2")));
        for profile in ["half", "none"] {
            let message = read(profile).unwrap_err().to_string();
            assert!(message.contains(&format!("under [{profile}]")) && !message.contains("ID3"), "{message}");
        }
        assert!(!format!("{:?}", read("team").unwrap()).contains("S2"));
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        for mode in [0o640, 0o604, 0o644] {
            let file = file("[default]\naws_access_key_id=a\naws_secret_access_key=b\n", mode);
            for message in [
                password(file.path()).unwrap_err().to_string(),
                credentials(file.path(), "default").unwrap_err().to_string(),
            ] {
                assert!(message.contains("chmod 600"), "{message}");
            }
        }
    }
}
