//! The beginning that texts have in common.
//!
//! Bytes that are equal may end inside a character, where a text must not be cut; this is the one place that compares.

/// Returns the longest beginning of `one` that `two` begins with; it never ends inside a character.
pub(crate) fn common<'t>(one: &'t str, two: &str) -> &'t str {
    let mut end = one.bytes().zip(two.bytes()).take_while(|(one, two)| one == two).count();
    while !one.is_char_boundary(end) {
        end -= 1;
    }
    &one[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_beginning_ends_between_characters() {
        assert_eq!(common("aé/x", "aè/x"), "a");
        assert_eq!(common("日本", "日米"), "日");
        assert_eq!(common("abc", "abcd"), "abc");
        assert_eq!(common("", "x"), "");
    }
}
