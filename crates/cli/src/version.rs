//! `tidegate --version`: the version and the commit; with `--verbose` also how the program was built, for bug reports.

use std::fmt::Write;

use crate::error::CommandError;
use crate::system::data_folder;
use crate::ui;

/// The version and the commit, as every program of this build prints them.
pub(crate) const VERSION: &str = env!("TIDEGATE_VERSION");

/// Prints the version.
pub(crate) fn print(verbose: bool) -> Result<(), CommandError> {
    let mut text = format!("tidegate {VERSION}\n");
    if verbose {
        for (name, value) in details() {
            let _ = writeln!(text, "{name}: {value}");
        }
    }
    ui::data(text.as_bytes())
}

fn details() -> [(&'static str, String); 7] {
    let program =
        std::env::current_exe().map_or_else(|error| error.to_string(), |path| path.display().to_string());
    let data = data_folder().map_or_else(|error| error.to_string(), |path| path.display().to_string());
    [
        ("commit", env!("TIDEGATE_COMMIT").into()),
        ("target", env!("TIDEGATE_TARGET").into()),
        ("profile", env!("TIDEGATE_PROFILE").into()),
        ("compiler", env!("TIDEGATE_COMPILER").into()),
        ("features", env!("TIDEGATE_FEATURES").into()),
        ("program", program),
        ("data", data),
    ]
}
