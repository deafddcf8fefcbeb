//! Finds secrets among the words of a command: the value of an option such as `--token`, of a variable or header with such a
//! name, a URL that may hold a secret, and anything that looks like a key.
//!
//! Over-masking is safe: a word is masked on both sides of a diff.

use super::MASK;
use crate::remote_url;

/// Substrings of a name that make its value a secret.
const SECRET_SUBSTRINGS: [&str; 10] =
    ["key", "token", "secret", "passw", "passphrase", "auth", "credential", "bearer", "cookie", "session"];
/// Words of a name that make its value a secret; as substrings they would match too much.
const SECRET_WORDS: [&str; 9] = ["pass", "pwd", "pw", "pat", "header", "headers", "dsn", "sid", "user"];

/// Returns what is shown in place of each word; `None` if the word itself is shown.
pub(super) fn masked(words: &[&str], is_reference: &dyn Fn(&str) -> bool) -> Vec<Option<String>> {
    let before = std::iter::once("").chain(words.iter().copied());
    words.iter().zip(before).map(|(word, before)| masked_after(before, word, is_reference)).collect()
}

fn masked_after(before: &str, word: &str, is_reference: &dyn Fn(&str) -> bool) -> Option<String> {
    if is_reference(word) || names_variable(before, word) {
        return None;
    }
    if !word.starts_with('-') && before.starts_with('-') && !before.contains('=') && names_secret(before) {
        return Some(MASK.into());
    }
    if word.contains(char::is_whitespace) {
        // A shell command or a header: one secret word masks all of it.
        let parts: Vec<&str> = word.split_whitespace().map(|part| part.trim_matches(['\'', '"'])).collect();
        let has_secret = masked(&parts, is_reference).into_iter().any(|part| part.is_some());
        return has_secret.then(|| MASK.into());
    }
    match word.find(['=', ':']).map(|at| (&word[..=at], &word[at + 1..])) {
        // A header name whose value is the next word.
        Some((name, "")) if names_secret(name) => Some(MASK.into()),
        Some((name, value)) if names_secret(name) => (!is_reference(value)).then(|| format!("{name}{MASK}")),
        // The secret name is further in: an option with a variable, JSON, a connection string.
        Some(_) if !remote_url::is_safe_to_show(word) && names_secret(word) => Some(MASK.into()),
        _ => looks_like_key(word).then(|| MASK.into()),
    }
}

/// Returns whether a word looks like a secret, or names one.
pub(super) fn is_suspect(word: &str) -> bool {
    names_secret(word) || looks_like_key(word)
}

/// Returns whether a word is the name of a variable that its option asks for, as in `--header-env Authorization=NAME`.
fn names_variable(option: &str, word: &str) -> bool {
    let name = word.rsplit('=').next().unwrap_or(word);
    option.starts_with("--")
        && option.ends_with("-env")
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Returns whether an option, a variable or a header has a name that suggests a secret.
fn names_secret(name: &str) -> bool {
    if matches!(name, "-H" | "-u") {
        return true;
    }
    let name = name.to_ascii_lowercase();
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    SECRET_SUBSTRINGS.iter().any(|part| name.contains(part)) || parts.any(|part| SECRET_WORDS.contains(&part))
}

/// Returns whether a word looks like a key: a URL that may hold a secret, or a long run of letters and digits.
fn looks_like_key(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_long = |piece: &str| {
        let has = |is: fn(&u8) -> bool| piece.bytes().any(|byte| is(&byte));
        piece.len() >= 16 && has(u8::is_ascii_alphabetic) && has(u8::is_ascii_digit)
    };
    // A random identifier in groups, such as a UUID.
    let is_random = |piece: &str| piece.bytes().filter(u8::is_ascii_hexdigit).count() >= 24;
    let has_random_id = || word.split(|c: char| !c.is_ascii_hexdigit() && c != '-').any(is_random);
    let has_password = word.contains("://") && word.contains('@');
    let is_unsafe_url =
        (word.starts_with("http://") || word.starts_with("https://")) && !remote_url::is_safe_to_show(word);
    has_password || is_unsafe_url || word.split(|c| !is_part(c)).any(is_long) || has_random_id()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked_words(words: &[&str]) -> Vec<String> {
        let is_reference = |text: &str| text == "${KEY}";
        let masked = masked(words, &is_reference);
        words.iter().zip(masked).map(|(word, masked)| masked.unwrap_or_else(|| (*word).to_owned())).collect()
    }

    #[test]
    fn secrets_are_masked() {
        for (words, expected) in [
            (&["--token", "x", "--port", "80"][..], &["--token", "…", "--port", "80"][..]),
            (&["--api-key=x"], &["--api-key=…"]),
            (&["--password", "x"], &["--password", "…"]),
            (&["-H", "X-Org: a"], &["-H", "…"]),
            (&["Authorization: Bearer x"], &["…"]),
            (&["Authorization:x"], &["Authorization:…"]),
            (&["-e", "GITHUB_PAT=x"], &["-e", "GITHUB_PAT=…"]),
            (&["-c", "A=1 TOKEN=x run it"], &["-c", "…"]),
            (&["-c", "curl -H 'Authorization: Bearer x'"], &["-c", "…"]),
            (&["postgresql://me:pw@localhost/db"], &["…"]),
            (&["https://h/mcp?key=x"], &["…"]),
            (&["ghp_1234567890abcdef"], &["…"]),
            (&["--env=API_KEY=550e8400"], &["…"]),
            (&["{\"debug\":false,\"apiKey\":\"x\"}"], &["…"]),
            (&["postgresql://localhost/db?sslmode=off&password=x"], &["…"]),
            (&["--connection=Server=db;Password=x"], &["…"]),
            (&["550e8400-e29b-41d4-a716-446655440000"], &["…"]),
            (&["--header-env", "Authorization=sk-x"], &["--header-env", "…"]),
        ] {
            assert_eq!(masked_words(words), expected, "{words:?}");
        }
    }

    #[test]
    fn arguments_without_secrets_are_shown() {
        for words in [
            &["npx", "-y", "@modelcontextprotocol/server-filesystem@2025.1.14", "/home/me/files"][..],
            &["--token", "${KEY}", "--api-key=${KEY}", "-e", "TOKEN=${KEY}"],
            &["--token", "--port", "80"],
            &["run", "--server", "s", "--url", "https://auth.sentry.example/mcp"],
            &["--header-env", "Authorization=TIDEGATE_HEADER_AUTHORIZATION", "--bearer-env", "GITHUB_PAT"],
            &["C:\\Program Files\\server.exe", "a b"],
        ] {
            assert_eq!(masked_words(words), words);
        }
    }
}
