//! The folders that clients keep their configuration in, by operating system.
//!
//! Nothing here reads the environment: the caller passes the folders and variables in, so that tests need no real home.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A family of operating systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux, and other systems that use the XDG folders.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl System {
    /// Returns the system this program was built for.
    pub const fn current() -> Self {
        if cfg!(target_os = "macos") {
            Self::MacOs
        } else if cfg!(windows) {
            Self::Windows
        } else {
            Self::Linux
        }
    }
}

/// The folders that configuration files are searched in.
#[derive(Debug, Clone)]
pub struct Folders {
    /// The user's home folder.
    pub home: PathBuf,
    /// The project's folders, innermost first.
    pub projects: Vec<PathBuf>,
    /// The operating system.
    pub system: System,
    /// Those environment variables in [`Folders::VARIABLES`] that are set.
    pub variables: BTreeMap<String, PathBuf>,
}

impl Folders {
    /// The environment variables that change where clients look for files.
    pub const VARIABLES: [&str; 7] = [
        "APPDATA",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "GEMINI_CLI_HOME",
        "OPENCODE_CONFIG",
        "OPENCODE_CONFIG_DIR",
        "XDG_CONFIG_HOME",
    ];

    /// Returns the path in a variable, if it is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<&Path> {
        self.variables.get(name).map(PathBuf::as_path).filter(|path| !path.as_os_str().is_empty())
    }

    /// Returns the configuration folder of programs that follow the XDG specification on every system.
    pub(crate) fn config(&self) -> PathBuf {
        // The specification says to ignore a relative path.
        let configured = self.variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        configured.map_or_else(|| self.home.join(".config"), Path::to_owned)
    }

    /// Returns the folder where the operating system keeps the files of applications.
    pub(crate) fn applications(&self) -> PathBuf {
        match self.system {
            System::Linux => self.config(),
            System::MacOs => self.home.join("Library").join("Application Support"),
            System::Windows => self
                .variable("APPDATA")
                .map_or_else(|| self.home.join("AppData").join("Roaming"), Path::to_owned),
        }
    }
}
