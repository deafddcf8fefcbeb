//! A temporary home folder for a test, and one configuration file for every client.

use std::path::{Path, PathBuf};

use serde_json::Value;
use tidegate_clients::install::{self, InstallError, Plan, Selection};
use tidegate_clients::uninstall::{self, UndoPlan};
use tidegate_clients::{Disk, Folders, Options, Records, System};

/// The path of each fixture below the home folder, and its text.
pub(crate) const FIXTURES: [(&str, &str); 12] = [
    (".claude.json", include_str!("../fixtures/claude_code_user.json")),
    ("project/.mcp.json", include_str!("../fixtures/claude_code_project.json")),
    (".config/Claude/claude_desktop_config.json", include_str!("../fixtures/claude_desktop.json")),
    (".cursor/mcp.json", include_str!("../fixtures/cursor.json")),
    ("project/.vscode/mcp.json", include_str!("../fixtures/vscode_mcp.json")),
    (".config/Code/User/settings.json", include_str!("../fixtures/vscode_settings.json")),
    (".codex/config.toml", include_str!("../fixtures/codex.toml")),
    (".gemini/settings.json", include_str!("../fixtures/gemini.json")),
    (".codeium/windsurf/mcp_config.json", include_str!("../fixtures/windsurf.json")),
    (".gemini/config/mcp_config.json", include_str!("../fixtures/antigravity.json")),
    (".config/zed/settings.json", include_str!("../fixtures/zed.json")),
    (".config/opencode/opencode.jsonc", include_str!("../fixtures/opencode.jsonc")),
];

/// A home folder with a project in it.
pub(crate) struct Home {
    folder: tempfile::TempDir,
    pub(crate) folders: Folders,
    pub(crate) options: Options,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().to_owned();
        let folders = Folders {
            projects: vec![home.join("project")],
            home,
            system: System::Linux,
            variables: [].into(),
        };
        let options =
            Options { program: "tidegate".into(), without_login: false, shared_files: true, observe: false };
        Self { folder, folders, options }
    }

    /// Returns a home folder with one file.
    pub(crate) fn with(name: &str, text: &str) -> Self {
        let home = Self::new();
        home.write(name, text.as_bytes());
        home
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap()
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).unwrap()
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.path("data")
    }

    pub(crate) fn plan(&self) -> Plan {
        self.plan_of(&Selection::default())
    }

    pub(crate) fn plan_of(&self, selection: &Selection) -> Plan {
        install::plan(&self.folders, selection, &self.options)
    }

    /// Installs everything; returns the plan.
    pub(crate) fn install(&self) -> Plan {
        let plan = self.plan();
        self.install_with(&plan, &Disk::default()).unwrap();
        plan
    }

    pub(crate) fn install_with(&self, plan: &Plan, disk: &Disk) -> Result<(), InstallError> {
        let records = Records::open(&self.data())?;
        plan.changes.iter().try_for_each(|change| install::apply(change, &records, disk))
    }

    /// Uninstalls everything; returns the plan.
    pub(crate) fn uninstall(&self) -> UndoPlan {
        self.uninstall_with(&Selection::default(), &Disk::default()).unwrap()
    }

    pub(crate) fn uninstall_with(
        &self,
        selection: &Selection,
        disk: &Disk,
    ) -> Result<UndoPlan, InstallError> {
        let records = Records::open(&self.data())?;
        let plan = uninstall::plan(&records, &self.folders, selection)?;
        plan.reversals.iter().try_for_each(|reversal| uninstall::apply(reversal, &records, disk))?;
        Ok(plan)
    }

    /// Asserts that only the lock is left in the data folder.
    pub(crate) fn assert_no_trace(&self) {
        assert_eq!(files(&self.data()), ["install/lock"]);
        assert!(!self.data().join("install/backups").exists());
    }
}

/// Returns the relative paths of all files below a folder.
pub(crate) fn files(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
    found.sort();
    found
}

/// Parses JSON with comments and trailing commas.
pub(crate) fn json(text: &str) -> Value {
    let options = jsonc_parser::ParseOptions::default();
    let value =
        jsonc_parser::parse_to_ast(text.trim_start_matches('\u{feff}'), &Default::default(), &options);
    convert(value.unwrap().value.unwrap())
}

fn convert(value: jsonc_parser::ast::Value<'_>) -> Value {
    use jsonc_parser::ast;
    match value {
        ast::Value::StringLit(text) => text.value.into_owned().into(),
        ast::Value::BooleanLit(flag) => flag.value.into(),
        ast::Value::NumberLit(number) => serde_json::from_str(number.value).unwrap(),
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::Array(array) => array.elements.into_iter().map(convert).collect(),
        ast::Value::Object(object) => object
            .properties
            .into_iter()
            .map(|property| (property.name.into_string(), convert(property.value)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
    }
}
