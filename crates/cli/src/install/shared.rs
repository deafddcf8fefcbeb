//! What install and uninstall share: which servers are meant, where files are, how changes are shown, and who says yes.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Value, json};
use similar::TextDiff;
use tidegate_clients::install::Selection;
use tidegate_clients::{FileError, Folders, Scope, System};
use tidegate_core::visible;
use tidegate_store::{Home, HomeError};

use super::{client_names, line};
use crate::error::CommandError;
use crate::ui;

/// Which servers are meant.
#[derive(Debug, Args)]
pub(crate) struct Chosen {
    /// Only servers of this client; may be repeated
    #[arg(long, value_name = "CLIENT", value_delimiter = ',', value_parser = client_names())]
    client: Vec<String>,

    /// Only servers of this name; may be repeated
    #[arg(long, value_name = "NAME")]
    server: Vec<String>,

    /// Only servers of this scope: the user's, the project's, or the user's in one project
    #[arg(long, value_name = "SCOPE", value_parser = PossibleValuesParser::new(Scope::NAMES))]
    scope: Option<String>,
}

impl Chosen {
    pub(crate) fn selection(&self) -> Selection {
        Selection {
            clients: self.client.clone(),
            servers: self.server.clone(),
            scope: self.scope.as_deref().and_then(Scope::named),
        }
    }

    /// Returns whether a server is meant by its name.
    pub(crate) fn names(&self, server: &str) -> bool {
        self.server.iter().any(|name| name == server || name.split(',').any(|name| name == server))
    }

    /// A name that no server has is a mistake.
    pub(crate) fn check_servers<'s>(
        &'s self,
        found: impl Iterator<Item = &'s str>,
    ) -> Result<(), CommandError> {
        let mut found: Vec<&str> = found.collect();
        found.sort_unstable();
        found.dedup();
        // Commas are part of a name, or stand between names.
        let apart =
            |name: &'s str| if found.contains(&name) { vec![name] } else { name.split(',').collect() };
        let mut named = self.server.iter().flat_map(|name| apart(name));
        match named.find(|name| !found.contains(name)) {
            None => Ok(()),
            Some(name) => {
                let error = CommandError::bad_input(format!("no server is called {name:?}"));
                let names: Vec<String> = found.iter().map(|name| ui::shown(name)).collect();
                Err(match names.as_slice() {
                    [] => error.hint("there are none"),
                    names => error.hint(format!("there are: {}", names.join(", "))),
                })
            }
        }
    }
}

/// Where files are on this system, and how they are named in few letters.
pub(crate) struct Names {
    pub(crate) folders: Folders,
    current: PathBuf,
}

impl Names {
    pub(crate) fn of_system() -> Result<Self, CommandError> {
        let home = dirs::home_dir()
            .ok_or_else(|| CommandError::failed("no home folder is known").hint("set HOME to one"))?;
        let current = std::env::current_dir()
            .map_err(|error| CommandError::failed(format!("the current folder is gone: {error}")))?;
        let root = current.ancestors().find(|folder| folder.join(".git").exists());
        let mut projects = vec![current.clone()];
        projects.extend(root.filter(|root| **root != *current).map(Path::to_owned));
        let variables = Folders::VARIABLES
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), PathBuf::from(std::env::var_os(name)?))));
        let variables = variables.collect();
        let folders = Folders { home, projects, system: System::current(), variables };
        Ok(Self { folders, current })
    }

    /// Returns a path as a person would write it here.
    pub(crate) fn short(&self, path: &Path) -> String {
        let home = &self.folders.home;
        let is_above_home = home.starts_with(&self.current);
        let short = match (path.strip_prefix(&self.current), path.strip_prefix(home)) {
            _ if path == self.current => ".".into(),
            _ if path == home => "~".into(),
            (Ok(below), _) if !is_above_home => below.to_owned(),
            (_, Ok(below)) => Path::new("~").join(below),
            (Ok(below), _) => below.to_owned(),
            _ => path.to_owned(),
        };
        ui::shown(&short.to_string_lossy())
    }
}

/// What starts tidegate.
pub(crate) struct Program {
    /// Its path from the root, by the name that it is called by here: a link such as `~/.cargo/bin/tidegate` outlives what
    /// it points to.
    pub(crate) path: String,
    /// Whether its name is enough.
    pub(crate) is_on_path: bool,
}

impl Program {
    pub(crate) fn of_system() -> Result<Self, CommandError> {
        let this = std::env::current_exe().map_err(CommandError::failed)?;
        let name = format!("tidegate{}", std::env::consts::EXE_SUFFIX);
        let folders = std::env::var_os("PATH").unwrap_or_default();
        let named: Vec<PathBuf> = std::env::split_paths(&folders)
            .map(|folder| folder.join(&name))
            .filter(|path| path.is_file())
            .collect();
        let called =
            std::env::args_os().next().map(PathBuf::from).filter(|called| called.components().count() > 1);
        let real = |path: &Path| std::fs::canonicalize(path).ok();
        let is_this = |path: &PathBuf| real(path).is_some() && real(path) == real(&this);
        let path = named.iter().chain(&called).find(|path| is_this(path)).unwrap_or(&this);
        let path = std::path::absolute(path).map_err(CommandError::failed)?;
        let path = path.into_os_string().into_string().map_err(|path| {
            CommandError::failed(format!("the path {} cannot be written into a file", path.display()))
                .hint("put tidegate into another folder")
        })?;
        Ok(Self { path, is_on_path: !named.is_empty() })
    }
}

/// Returns the folder where records and copies are, whether it is there or not.
///
/// It is the person's, and the same from wherever a command runs. So no `tidegate.toml` has a say in it: that of a project
/// would get copies of files with secrets in them, and one with a mistake would stand in the way of undoing.
pub(crate) fn data_folder() -> Result<PathBuf, CommandError> {
    let named = std::env::var_os("TIDEGATE_HOME").filter(|named| !named.is_empty()).map(PathBuf::from);
    if let Some(relative) = named.as_deref().filter(|named| named.is_relative()) {
        let text =
            format!("TIDEGATE_HOME is {:?}, another folder wherever tidegate runs", relative.display());
        return Err(CommandError::bad_input(text).hint("set it to a path from the root"));
    }
    Home::find(named).ok_or_else(|| CommandError::out_of_reach(HomeError::Unknown))
}

/// Shows a change of a file, of texts that may be shown.
pub(crate) fn diff(name: &str, (old, new): (String, String)) -> String {
    let diff =
        TextDiff::from_lines(&old, &new).unified_diff().context_radius(2).header(name, name).to_string();
    // A carriage return ends a line of some files; any other character that a terminal would obey is shown.
    diff.split_inclusive('\n').map(shown_line).collect()
}

fn shown_line(line: &str) -> String {
    let end = if line.ends_with("\r\n") { "\r\n" } else { "" };
    visible::text(line.strip_suffix(end).unwrap_or(line)) + end
}

/// Tells whether to go on: a person says so, or said so before.
pub(crate) fn consent(question: &str, dry_run: bool, yes: bool) -> Result<bool, CommandError> {
    if dry_run {
        ui::note("nothing was changed: this was a dry run");
        return Ok(false);
    }
    if yes {
        return Ok(true);
    }
    if !ui::can_ask() {
        return Err(CommandError::failed("nothing was changed: there is no terminal to ask on")
            .hint("--yes goes on without asking"));
    }
    let agreed = ui::ask(question);
    if !agreed {
        ui::note("nothing was changed");
    }
    Ok(agreed)
}

/// Ends a command: files that were left alone are a failure.
pub(crate) fn finish(problems: &[FileError]) -> Result<(), CommandError> {
    match problems.len() {
        0 => Ok(()),
        many => Err(CommandError::failed(format!("{} left alone", count(many, "file")))),
    }
}

/// Tells of a file that is left alone; what is wrong with it may hold what is in it.
pub(crate) fn tell(problem: &FileError) {
    ui::note(&format!("tidegate: {}; it is left alone", ui::shown(&problem.to_string())));
}

/// The row of a table that is about a server; names are somebody else's.
pub(crate) fn row(cells: [&str; 5]) -> [String; 5] {
    cells.map(ui::shown)
}

/// A problem for a program.
pub(crate) fn problem(problem: &FileError) -> Value {
    let (line, column) = line(problem).unzip();
    json!({"file": problem.path(), "line": line, "column": column, "message": problem.to_string()})
}

/// Says how many.
pub(crate) fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        many => format!("{many} {what}s"),
    }
}
