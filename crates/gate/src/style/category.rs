//! The category of a tool, derived from its name, and the maximum bytes of an answer in that category.
//!
//! This is the only table of categories: policies with `category_budgets` and the SDK's response contract both use it.

use crate::policy::matches;

/// A category of tools, with a byte limit for answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Category {
    /// It runs something: `agent_run`, `workflow_run`, `*_run`, `run_*`.
    Execution,
    /// It lists: `*_list`, `list_*`.
    List,
    /// It reports on one thing: `session_status`, `trace_get`, `*_status`, `*_get`, `*_analyze`.
    Status,
    /// It looks through many things: `*_scan`, `scan_*`.
    Scan,
    /// It reads, sets or checks configuration or memory: `config_*`, `memory_*`, `guard_*`.
    ConfigMemory,
}

/// The patterns of names, in the order in which they are tried. A domain at the beginning of a name decides before a verb
/// at its end, and that before a verb at its beginning: `memory_list` is [`Category::ConfigMemory`], `list_status` is
/// [`Category::Status`].
const PATTERNS: [(&str, Category); 12] = [
    ("config_*", Category::ConfigMemory),
    ("memory_*", Category::ConfigMemory),
    ("guard_*", Category::ConfigMemory),
    ("*_run", Category::Execution),
    ("*_list", Category::List),
    ("*_status", Category::Status),
    ("*_get", Category::Status),
    ("*_analyze", Category::Status),
    ("*_scan", Category::Scan),
    ("list_*", Category::List),
    ("scan_*", Category::Scan),
    ("run_*", Category::Execution),
];

impl Category {
    /// Returns the category of a tool, or `None` if its name matches no pattern.
    ///
    /// If several match, `config_*`, `memory_*` and `guard_*` win.
    pub fn of_tool(name: &str) -> Option<Self> {
        // A bare prefix or suffix, such as `list_`, has no category.
        let is_of = |pattern: &str| name.len() >= pattern.len() && matches(pattern, name);
        PATTERNS.iter().find(|(pattern, _)| is_of(pattern)).map(|(_, category)| *category)
    }

    /// Returns the maximum bytes of an answer.
    pub fn bytes(self) -> usize {
        match self {
            Self::Execution => 3 * 1024,
            Self::List | Self::Scan => 2 * 1024,
            Self::Status | Self::ConfigMemory => 1536,
        }
    }
}

impl std::fmt::Display for Category {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Execution => "execution",
            Self::List => "list",
            Self::Status => "status",
            Self::Scan => "scan",
            Self::ConfigMemory => "config/memory",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_category() {
        for (name, bytes) in [
            ("agent_run", 3072),
            ("workflow_run", 3072),
            ("run_tests", 3072),
            ("bugfix_list", 2048),
            ("list_issues", 2048),
            ("list_users", 2048),
            ("user_get", 1536),
            ("session_status", 1536),
            ("trace_get", 1536),
            ("refactor_scan", 2048),
            ("scan_files", 2048),
            ("config_set", 1536),
            ("memory_search", 1536),
            ("trace_analyze", 1536),
            ("guard_check", 1536),
        ] {
            assert_eq!(Category::of_tool(name).map(Category::bytes), Some(bytes), "{name}");
        }
    }

    #[test]
    fn the_domain_wins_and_other_names_have_none() {
        assert_eq!(Category::of_tool("memory_list"), Some(Category::ConfigMemory));
        assert_eq!(Category::of_tool("list_status"), Some(Category::Status));
        for name in ["", "_list", "list", "list_", "listing", "analyze", "memory_", "guard_", "reconfig_"] {
            assert_eq!(Category::of_tool(name), None, "{name}");
        }
    }
}
