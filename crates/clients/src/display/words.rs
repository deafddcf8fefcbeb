//! Which words of a command are secrets: what follows an option such as `--token`, or stands in one; variables and headers
//! that are called so; addresses that are not open; and what looks like a key by itself.
//!
//! A word too many that is hidden costs nothing, since it is hidden on both sides of a difference.

use crate::address;

/// Parts of names that tell of a secret, wherever they stand in it.
const TELLING: [&str; 10] =
    ["key", "token", "secret", "passw", "passphrase", "auth", "credential", "bearer", "cookie", "session"];
/// Whole parts of names that do.
const WHOLE: [&str; 9] = ["pass", "pwd", "pw", "pat", "header", "headers", "dsn", "sid", "user"];

/// Returns what is shown in the place of each word; `None` where the word itself is.
pub(super) fn shown(words: &[&str], is_reference: &dyn Fn(&str) -> bool) -> Vec<Option<String>> {
    let before = std::iter::once("").chain(words.iter().copied());
    words.iter().zip(before).map(|(word, before)| shown_after(before, word, is_reference)).collect()
}

fn shown_after(before: &str, word: &str, is_reference: &dyn Fn(&str) -> bool) -> Option<String> {
    if is_reference(word) || names_variable(before, word) {
        return None;
    }
    if !word.starts_with('-') && before.starts_with('-') && !before.contains('=') && is_telling(before) {
        return Some("…".into());
    }
    if word.contains(char::is_whitespace) {
        // A line for a shell, or a header: one word of it hides all of it.
        let parts: Vec<&str> = word.split_whitespace().map(|part| part.trim_matches(['\'', '"'])).collect();
        let hidden = shown(&parts, is_reference).into_iter().any(|part| part.is_some());
        return hidden.then(|| "…".into());
    }
    match word.find(['=', ':']).map(|at| (&word[..=at], &word[at + 1..])) {
        // A header whose value is the next word of a line.
        Some((name, "")) if is_telling(name) => Some("…".into()),
        Some((name, value)) if is_telling(name) => (!is_reference(value)).then(|| format!("{name}…")),
        // Something further in tells of it: an option with a variable, JSON, a string to connect with.
        Some(_) if !address::is_open(word) && is_telling(word) => Some("…".into()),
        _ => is_key(word).then(|| "…".into()),
    }
}

/// Tells whether a word by itself is a secret, or tells of one.
pub(super) fn is_suspect(word: &str) -> bool {
    is_telling(word) || is_key(word)
}

/// Tells whether an option wants the name of a variable, as `--header-env Authorization=NAME` does, and gets one.
fn names_variable(option: &str, word: &str) -> bool {
    let name = word.rsplit('=').next().unwrap_or(word);
    option.starts_with("--")
        && option.ends_with("-env")
        && name.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
}

/// Tells whether the name of an option, a variable or a header tells of a secret.
fn is_telling(name: &str) -> bool {
    if matches!(name, "-H" | "-u") {
        return true;
    }
    let name = name.to_ascii_lowercase();
    let mut parts = name.split(|c: char| !c.is_ascii_alphanumeric());
    TELLING.iter().any(|part| name.contains(part)) || parts.any(|part| WHOLE.contains(&part))
}

/// Tells whether a word looks like a key: an address that is not open, or many letters and digits in one piece.
fn is_key(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_long = |piece: &str| {
        let has = |is: fn(&u8) -> bool| piece.bytes().any(|byte| is(&byte));
        piece.len() >= 16 && has(u8::is_ascii_alphabetic) && has(u8::is_ascii_digit)
    };
    // As identifiers that are drawn are written, in groups.
    let is_drawn = |piece: &str| piece.bytes().filter(u8::is_ascii_hexdigit).count() >= 24;
    let drawn = || word.split(|c: char| !c.is_ascii_hexdigit() && c != '-').any(is_drawn);
    let has_password = word.contains("://") && word.contains('@');
    let is_closed = (word.starts_with("http://") || word.starts_with("https://")) && !address::is_open(word);
    has_password || is_closed || word.split(|c| !is_part(c)).any(is_long) || drawn()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown_words(words: &[&str]) -> Vec<String> {
        let is_reference = |text: &str| text == "${KEY}";
        let shown = shown(words, &is_reference);
        words.iter().zip(shown).map(|(word, shown)| shown.unwrap_or_else(|| (*word).to_owned())).collect()
    }

    #[test]
    fn secrets_are_hidden() {
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
            assert_eq!(shown_words(words), expected, "{words:?}");
        }
    }

    #[test]
    fn other_words_are_shown() {
        for words in [
            &["npx", "-y", "@modelcontextprotocol/server-filesystem@2025.1.14", "/home/me/files"][..],
            &["--token", "${KEY}", "--api-key=${KEY}", "-e", "TOKEN=${KEY}"],
            &["--token", "--port", "80"],
            &["run", "--server", "s", "--url", "https://auth.sentry.example/mcp"],
            &["--header-env", "Authorization=TIDEGATE_HEADER_AUTHORIZATION", "--bearer-env", "GITHUB_PAT"],
            &["C:\\Program Files\\server.exe", "a b"],
        ] {
            assert_eq!(shown_words(words), words);
        }
    }
}
