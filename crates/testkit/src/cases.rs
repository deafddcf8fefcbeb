//! How many cases a property test runs.
//!
//! Each test names its usual number. `TIDEGATE_CASES_PERCENT` scales all of them at once: `./check quick` sets 10, `./check`
//! leaves 100, and `./check long` sets 10,000, which gives each law (usually 10,000 cases) a million.

use proptest::test_runner::Config;

/// The environment variable with the percentage.
const PERCENT_VARIABLE: &str = "TIDEGATE_CASES_PERCENT";

/// Returns the configuration of a property test with its usual number of cases.
///
/// Failing cases are not saved to files: a finding becomes a test of its own.
pub fn cases(usual: u32) -> Config {
    let percent = std::env::var(PERCENT_VARIABLE).ok().and_then(|percent| percent.parse().ok());
    let cases = scaled(usual, percent.unwrap_or(100));
    let defaults = Config::default();
    Config {
        cases,
        // A property may reject four of five random cases.
        max_global_rejects: defaults.max_global_rejects.max(cases.saturating_mul(4)),
        failure_persistence: None,
        ..defaults
    }
}

fn scaled(usual: u32, percent: u32) -> u32 {
    let cases = u64::from(usual) * u64::from(percent) / 100;
    u32::try_from(cases).unwrap_or(u32::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_scales_from_a_thousand_to_a_million_cases() {
        assert_eq!([10, 100, 10_000].map(|percent| scaled(10_000, percent)), [1000, 10_000, 1_000_000]);
        assert_eq!(scaled(5, 10), 1);
    }
}
