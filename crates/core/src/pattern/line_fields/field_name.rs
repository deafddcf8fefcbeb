//! The name of a column of lines, judged by its values.

use crate::profile::{number::Number, time};

/// Returns the name of a field; empty if its values show nothing.
pub(super) fn of(values: &[&str]) -> &'static str {
    let all = |is: &dyn Fn(&str) -> bool| values.iter().all(|value| is(value));
    let number = |value: &str| Number::parse(value.as_bytes()).map(|number| number.value);
    if all(&|value| ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "CONNECT"].contains(&value))
    {
        return "method";
    }
    if all(&|value| value.starts_with("HTTP/")) {
        return "protocol";
    }
    if all(&|value| value.len() == 3 && number(value).is_some_and(|n| (100.0..600.0).contains(&n))) {
        return "status";
    }
    if all(&|value| value.split('.').count() == 4 && value.split('.').all(|part| part.parse::<u8>().is_ok()))
    {
        return "ip";
    }
    if all(&|value| time::parse(value.as_bytes()).is_some()) {
        return "time";
    }
    if all(&|value| {
        ["ERROR", "WARN", "WARNING", "INFO", "DEBUG", "TRACE", "FATAL", "CRITICAL", "NOTICE"]
            .contains(&value.trim_matches([':', '[', ']']).to_uppercase().as_str())
    }) {
        return "level";
    }
    if all(&|value| value.starts_with('/') || value.starts_with("./"))
        && values.iter().any(|value| value.len() > 1)
    {
        return "path";
    }
    let is_hex =
        |value: &str| (7..=64).contains(&value.len()) && value.bytes().all(|byte| byte.is_ascii_hexdigit());
    let has = |is: fn(&u8) -> bool| values.iter().any(|value| value.as_bytes().iter().any(is));
    if all(&is_hex) && has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic) {
        return "hash";
    }
    if all(&|value| value.contains("::")) {
        return "test";
    }
    if all(&|value| value.starts_with("http://") || value.starts_with("https://") || value == "-")
        && values.iter().any(|value| value.len() > 1)
    {
        return "url";
    }
    ""
}
