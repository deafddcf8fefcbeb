//! The one-line summary at the top of an answer.

/// The maximum number of characters of a summary.
pub const SUMMARY_CHARS: usize = 100;

/// Returns a summary line such as `Found bugs: 15 total (3 critical, 12 high)`.
///
/// Severities with a count of zero are omitted. Without severities the line is `Found bugs: 15 items`.
///
/// ```
/// # mod tidegate_sdk { pub use tidegate_gate::wrap as contract; }
/// use tidegate_sdk::contract::create_summary;
///
/// assert_eq!(create_summary("Listed agents", 4, None), "Listed agents: 4 items");
/// ```
pub fn create_summary(action: &str, count: u64, by_severity: Option<&[(&str, u64)]>) -> String {
    let Some(by_severity) = by_severity else { return format!("{action}: {count} items") };
    let parts: Vec<String> = by_severity
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(severity, count)| format!("{count} {severity}"))
        .collect();
    if parts.is_empty() {
        return format!("{action}: {count} total");
    }
    format!("{action}: {count} total ({})", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severities_keep_their_order_without_zeros() {
        let counts = [("critical", 3), ("high", 5), ("medium", 7), ("low", 0)];
        assert_eq!(
            create_summary("Found bugs", 15, Some(&counts)),
            "Found bugs: 15 total (3 critical, 5 high, 7 medium)"
        );
        assert_eq!(create_summary("Found bugs", 0, Some(&[("low", 0)])), "Found bugs: 0 total");
        assert_eq!(create_summary("Listed", 0, None), "Listed: 0 items");
    }
}
