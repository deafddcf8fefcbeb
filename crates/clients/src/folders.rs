//! Where clients keep their files: the folders of a person and of a project, on one system.
//!
//! Nothing here asks the system; whoever calls says what the folders and variables are, so that tests need no home.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A family of operating systems.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// Linux, and others that follow the XDG folders.
    Linux,
    /// macOS.
    MacOs,
    /// Windows.
    Windows,
}

impl System {
    /// Returns the system that this was built for.
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

/// The folders that files are looked for in.
#[derive(Debug, Clone)]
pub struct Folders {
    /// The home of the person.
    pub home: PathBuf,
    /// The folders of the project, the innermost first.
    pub projects: Vec<PathBuf>,
    /// The system.
    pub system: System,
    /// The variables of the environment that move files, of those in [`Folders::VARIABLES`].
    pub variables: BTreeMap<String, PathBuf>,
}

impl Folders {
    /// The variables of the environment that are asked for.
    pub const VARIABLES: [&str; 7] = [
        "APPDATA",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "GEMINI_CLI_HOME",
        "OPENCODE_CONFIG",
        "OPENCODE_CONFIG_DIR",
        "XDG_CONFIG_HOME",
    ];

    /// Returns the folder or file that a variable names, if it is set.
    pub(crate) fn variable(&self, name: &str) -> Option<&Path> {
        self.variables.get(name).map(PathBuf::as_path).filter(|path| !path.as_os_str().is_empty())
    }

    /// Returns the folder for configuration of programs that follow the XDG folders on every system.
    pub(crate) fn config(&self) -> PathBuf {
        // A relative one does not count, says the specification.
        let named = self.variable("XDG_CONFIG_HOME").filter(|path| path.is_absolute());
        named.map_or_else(|| self.home.join(".config"), Path::to_owned)
    }

    /// Returns the system's own folder for the files of applications.
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
