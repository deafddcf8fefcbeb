//! The name of a saved file: one flat name, which leads nowhere else and shows what it is.

use serde::{Deserialize, Serialize};
use tidegate_core::visible::is_hidden;

/// The most bytes of a name.
const MAX_NAME_BYTES: usize = 100;

/// The name of a file to save.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FileName(String);

/// Why a text is not the name of a file to save.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FileNameError {
    /// There is no name.
    #[error("name is empty; give one such as issues.csv")]
    Empty,
    /// The name is too long.
    #[error("name has {0} bytes, but may have at most {MAX_NAME_BYTES}")]
    TooLong(usize),
    /// It is a path.
    #[error("name {0:?} is a path; give a name alone, without / \\ or .., such as issues.csv")]
    Path(String),
    /// It would be a hidden file.
    #[error("name {0:?} begins with a dot; give one such as issues.csv")]
    Dot(String),
    /// It has characters that are not shown.
    #[error("name {0:?} has control or invisible characters; give one such as issues.csv")]
    Hidden(String),
}

impl FileName {
    /// Reads a name.
    ///
    /// ```
    /// # use tidegate_store::FileName;
    /// assert_eq!(FileName::parse("issues.csv").unwrap().as_str(), "issues.csv");
    /// assert!(FileName::parse("../issues.csv").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// A path, a name that begins with a dot, or one that is empty, too long or not shown in full.
    pub fn parse(name: &str) -> Result<Self, FileNameError> {
        if name.trim().is_empty() {
            return Err(FileNameError::Empty);
        }
        if name.len() > MAX_NAME_BYTES {
            return Err(FileNameError::TooLong(name.len()));
        }
        if name.contains(['/', '\\']) || name.contains("..") {
            return Err(FileNameError::Path(name.to_owned()));
        }
        if name.starts_with('.') {
            return Err(FileNameError::Dot(name.to_owned()));
        }
        if name.chars().any(|character| character.is_control() || is_hidden(character)) {
            return Err(FileNameError::Hidden(name.to_owned()));
        }
        Ok(Self(name.to_owned()))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for FileName {
    type Error = FileNameError;

    fn try_from(name: String) -> Result<Self, FileNameError> {
        Self::parse(&name)
    }
}

impl From<FileName> for String {
    fn from(name: FileName) -> Self {
        name.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_flat_names_are_names() {
        for good in ["a", "issues.csv", "Größe 2.json", "a.b.c", "-rf", "~", "CON", &"x".repeat(100)] {
            assert_eq!(FileName::parse(good).unwrap().as_str(), good);
        }
        for (bad, words) in [
            ("", "is empty"),
            (" ", "is empty"),
            ("/etc/passwd", "is a path"),
            ("../x", "is a path"),
            ("a/../../x", "is a path"),
            ("a/b", "is a path"),
            ("a\\b", "is a path"),
            ("..", "is a path"),
            ("x..", "is a path"),
            (".", "begins with a dot"),
            (".index", "begins with a dot"),
            (".tidegate-0.part", "begins with a dot"),
            ("a\nb", "control"),
            ("a\0b", "control"),
            ("a\u{1b}[31m", "control"),
            ("a\u{202e}vsc", "invisible"),
            ("a\u{85}", "control"),
        ] {
            let error = FileName::parse(bad).unwrap_err().to_string();
            assert!(error.contains(words), "{bad:?}: {error}");
        }
        assert_eq!(FileName::parse(&"é".repeat(51)), Err(FileNameError::TooLong(102)));
    }
}
