//! What the answers of a tool may cost by what kind of tool it is, told by its name.

use super::ResponseLimits;

/// A kind of tool, with a budget of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Category {
    /// It runs something: `agent_run`, `workflow_run`, `*_run`.
    Execution,
    /// It lists: `*_list`.
    List,
    /// It tells how one thing stands: `session_status`, `trace_get`, `*_status`, `*_get`, `*_analyze`.
    Status,
    /// It looks through many things: `*_scan`.
    Scan,
    /// It reads, sets or checks what is configured or remembered: `config_*`, `memory_*`, `guard_*`.
    ConfigMemory,
}

/// The domain at the beginning of a name decides before the verb at its end, so `memory_list` is of the domain.
const PREFIXES: [(&str, Category); 3] = [
    ("config_", Category::ConfigMemory),
    ("memory_", Category::ConfigMemory),
    ("guard_", Category::ConfigMemory),
];

const SUFFIXES: [(&str, Category); 6] = [
    ("_run", Category::Execution),
    ("_list", Category::List),
    ("_status", Category::Status),
    ("_get", Category::Status),
    ("_analyze", Category::Status),
    ("_scan", Category::Scan),
];

impl Category {
    /// Returns the category of a tool, or `None` where its name matches no pattern.
    ///
    /// Where several match, `config_*`, `memory_*` and `guard_*` win.
    pub fn of_tool(name: &str) -> Option<Self> {
        let stands_before = |prefix: &str| name.len() > prefix.len() && name.starts_with(prefix);
        let stands_after = |suffix: &str| name.len() > suffix.len() && name.ends_with(suffix);
        let by_prefix = PREFIXES.iter().find(|(prefix, _)| stands_before(prefix));
        by_prefix
            .or_else(|| SUFFIXES.iter().find(|(suffix, _)| stands_after(suffix)))
            .map(|(_, found)| *found)
    }

    /// Returns the most bytes of an answer.
    pub fn bytes(self) -> usize {
        match self {
            Self::Execution => 3 * 1024,
            Self::List | Self::Scan => 2 * 1024,
            Self::Status | Self::ConfigMemory => 1536,
        }
    }

    /// Returns the usual limits with the bytes of the category.
    pub fn limits(self) -> ResponseLimits {
        ResponseLimits::default().with_max_bytes(self.bytes())
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
            ("bugfix_list", 2048),
            ("session_status", 1536),
            ("trace_get", 1536),
            ("refactor_scan", 2048),
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
        for name in ["", "_list", "list", "listing", "analyze", "memory_", "guard_", "reconfig_"] {
            assert_eq!(Category::of_tool(name), None, "{name}");
        }
    }
}
