//! Limits on what one caller may consume.

/// What one caller may consume; `None` means no limit. A day begins at 00:00 UTC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Limits {
    /// Requests to servers in a minute, on each replica.
    pub requests_per_minute: Option<u32>,
    /// Requests to servers in a day.
    pub requests_per_day: Option<u64>,
    /// Tokens of answers in a day.
    pub tokens_per_day: Option<u64>,
    /// Bytes of results stored in a day.
    pub stored_bytes_per_day: Option<u64>,
}

impl Limits {
    /// Returns the more generous value of each limit.
    pub fn or(self, other: Self) -> Self {
        fn wider<N: Ord>(one: Option<N>, two: Option<N>) -> Option<N> {
            Some(one?.max(two?))
        }
        Self {
            requests_per_minute: wider(self.requests_per_minute, other.requests_per_minute),
            requests_per_day: wider(self.requests_per_day, other.requests_per_day),
            tokens_per_day: wider(self.tokens_per_day, other.tokens_per_day),
            stored_bytes_per_day: wider(self.stored_bytes_per_day, other.stored_bytes_per_day),
        }
    }
}
