//! The names of other stored results in a query.
//!
//! In SQL a stored result is a table, named in quotes: `join "get_bom-7k3m0xw2c9qf" b on ...`. In jq it is
//! `$results["get_bom-7k3m0xw2c9qf"]`. This file finds the names; the caller looks up only these results.

use super::View;
use super::error::ViewError;

/// The jq variable that holds other results.
const VARIABLE: &str = "$results";

/// Returns the names in a query that may be those of other results, each once. In SQL, a quoted name may also be a column.
///
/// # Errors
///
/// Fails if a jq program computes a name: the results that it reads must be known before it runs.
pub fn named_results(view: &View) -> Result<Vec<String>, ViewError> {
    let mut names = match view {
        View::Within { view, .. } => return named_results(view),
        View::Sql(query) => quoted_names(query),
        View::Jq(program) => variable_names(program)?,
        _ => Vec::new(),
    };
    let mut seen = std::collections::BTreeSet::new();
    names.retain(|name| seen.insert(name.to_ascii_lowercase()));
    Ok(names)
}

/// Returns the quoted names in a query: everything in double quotes, backquotes or brackets.
fn quoted_names(query: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = query;
    while let Some(at) = rest.find(['\'', '"', '`', '[', '-', '/']) {
        let (open, after) = (rest.as_bytes()[at], &rest[at + 1..]);
        rest = match open {
            b'\'' | b'"' | b'`' => {
                let (text, after) = until_quote(after, char::from(open));
                if open != b'\'' && !text.is_empty() {
                    names.push(text);
                }
                after
            }
            b'[' => match after.split_once(']') {
                Some((name, after)) => {
                    names.push(name.to_owned());
                    after
                }
                None => "",
            },
            b'-' if after.starts_with('-') => after.split_once('\n').map_or("", |(_, after)| after),
            b'/' if after.starts_with('*') => after.split_once("*/").map_or("", |(_, after)| after),
            _ => after,
        };
    }
    names
}

/// Returns the text up to the closing quote, and what follows. A doubled quote inside the text stands for one.
fn until_quote(text: &str, quote: char) -> (String, &str) {
    let mut inside = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(quote) {
        inside.push_str(before);
        match after.strip_prefix(quote) {
            Some(after) => {
                inside.push(quote);
                rest = after;
            }
            None => return (inside, after),
        }
    }
    (inside, "")
}

/// Returns the names in `$results["name"]`.
fn variable_names(program: &str) -> Result<Vec<String>, ViewError> {
    let is_part_of_name = |character: char| character.is_alphanumeric() || character == '_';
    let mut names = Vec::new();
    for (at, _) in program.match_indices(VARIABLE) {
        let after = &program[at + VARIABLE.len()..];
        if after.starts_with(is_part_of_name) {
            continue;
        }
        // A program may define its own variable of this name.
        if program[..at].trim_end().ends_with("as") {
            return Ok(Vec::new());
        }
        names.push(literal_name(after).ok_or_else(|| {
            ViewError::bad(
                "write $results[\"NAME\"] with the name of a stored result; a computed name is not looked up",
            )
        })?);
    }
    Ok(names)
}

/// Returns the name in `["name"]` at the beginning of a text.
fn literal_name(text: &str) -> Option<String> {
    let inside = text.trim_start().strip_prefix('[')?.trim_start().strip_prefix('"')?;
    let (name, after) = inside.split_once('"')?;
    (after.trim_start().starts_with(']') && !name.contains('\\')).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sql(query: &str) -> Vec<String> {
        named_results(&View::Sql(query.into())).unwrap()
    }

    #[test]
    fn quoted_names_in_sql_are_found() {
        assert_eq!(
            sql(
                "select 'x-\"no\"' \"a b\" from t join \"bom-7k\" b on b.id = t.[my id] -- \"no\"\n/* \"no\" */ join `c``d`"
            ),
            ["a b", "bom-7k", "my id", "c`d"]
        );
        assert_eq!(sql("select \"a\", \"A\" from t where x = 'it''s \"no\"' and y - 1 > 2 / 3"), ["a"]);
        assert_eq!(sql("select \"open"), Vec::<String>::new());
    }

    #[test]
    fn only_literal_names_in_jq_are_accepted() {
        let jq = |program: &str| named_results(&View::Jq(program.into())).map_err(|error| error.to_string());
        assert_eq!(
            jq("$results[\"a-1\"] + $results [ \"b-2\" ] + $results[\"a-1\"]").unwrap(),
            ["a-1", "b-2"]
        );
        assert_eq!(jq(". as $results | $results[0]").unwrap(), Vec::<String>::new());
        assert_eq!(jq("$results_of.x").unwrap(), Vec::<String>::new());
        for computed in ["$results[.name]", "$results[\"a\" + \"b\"]", "$results | keys"] {
            assert!(jq(computed).unwrap_err().contains("write $results[\"NAME\"]"), "{computed}");
        }
        let inside = View::Within { path: "/a".into(), view: Box::new(View::Sql("from \"b-1\"".into())) };
        assert_eq!(named_results(&inside).unwrap(), ["b-1"]);
    }
}
