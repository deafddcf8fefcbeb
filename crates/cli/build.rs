//! Notes the commit that is built, for `tidegate --version`. Where there is no repository, as in a tarball, there is none.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let version = match commit() {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    println!("cargo::rustc-env=TIDEGATE_VERSION={version}");
}

fn commit() -> Option<String> {
    // A folder that only lies within the repository of something else is not built from a commit of that.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    // The log of HEAD grows with every commit, HEAD itself changes with the branch.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=7", "HEAD"])
}

/// What git says, asked in the folder of this package, which is where a build script runs.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let said = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !said.is_empty()).then_some(said)
}
