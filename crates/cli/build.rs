//! Records for `tidegate --version` the commit, and for `--verbose` how the program is built. A build from a tarball has no
//! commit.

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
    println!("cargo::rustc-env=TIDEGATE_COMMIT={}", full_commit().unwrap_or_else(|| "unknown".into()));
    println!("cargo::rustc-env=TIDEGATE_TARGET={}", variable("TARGET"));
    println!("cargo::rustc-env=TIDEGATE_PROFILE={}", variable("PROFILE"));
    println!("cargo::rustc-env=TIDEGATE_COMPILER={}", compiler().unwrap_or_else(|| "unknown".into()));
    println!("cargo::rustc-env=TIDEGATE_FEATURES={}", features());
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

fn compiler() -> Option<String> {
    let output = Command::new(std::env::var_os("RUSTC")?).arg("--version").output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

/// Returns the features of this package that are on.
fn features() -> String {
    let name = |(name, _): (String, String)| {
        name.strip_prefix("CARGO_FEATURE_").map(|name| name.to_lowercase().replace('_', "-"))
    };
    let mut names: Vec<String> = std::env::vars().filter_map(name).filter(|name| name != "default").collect();
    names.sort();
    if names.is_empty() { "none".into() } else { names.join(", ") }
}

/// Returns the commit with its date.
fn full_commit() -> Option<String> {
    commit().and_then(|_| git(&["log", "-1", "--format=%H, %cs"]))
}

fn commit() -> Option<String> {
    // A tarball may be unpacked inside the repository of another project; its commit must not be used.
    git(&["ls-files", "--error-unmatch", "build.rs"])?;
    // logs/HEAD changes with every commit, HEAD with the branch.
    for name in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", name])?;
        if Path::new(&path).exists() {
            println!("cargo::rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=7", "HEAD"])
}

/// Returns the output of git, run in the folder of this package.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}
