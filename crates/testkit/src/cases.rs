//! How many cases a property test runs.
//!
//! Each test names its usual number, which `./check` runs. `TIDEGATE_CASES_FACTOR` multiplies all of them: `./check long`
//! sets it to 100, which gives the laws (10,000 cases) a million.

use proptest::test_runner::Config;

/// The environment variable with the factor.
const FACTOR: &str = "TIDEGATE_CASES_FACTOR";

/// Returns the configuration of a property test with its usual number of cases.
///
/// Failures are not saved to files: a failing case becomes a test of its own.
pub fn cases(usual: u32) -> Config {
    let factor = std::env::var(FACTOR).ok().and_then(|factor| factor.parse().ok());
    let cases = usual.saturating_mul(factor.unwrap_or(1));
    let defaults = Config::default();
    Config {
        cases,
        max_global_rejects: defaults.max_global_rejects.max(cases),
        failure_persistence: None,
        ..defaults
    }
}
