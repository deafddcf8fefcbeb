//! The arguments of `result_query` and `tidegate query`, which are the same, and the query they ask for.

use super::error::ViewError;
use super::{Query, View};

/// The arguments as they were given, not yet checked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The number of a page, from 1.
    pub page: Option<u64>,
    /// Records on one page.
    pub page_size: Option<u64>,
    /// Only these fields.
    pub fields: Option<Vec<String>>,
    /// A JSON Pointer or a simple JSONPath.
    pub path: Option<String>,
    /// A jq program.
    pub jq: Option<String>,
    /// A query over the table `t`.
    pub sql: Option<String>,
    /// A regular expression.
    pub grep: Option<String>,
    /// Lines around a match.
    pub context: Option<u64>,
    /// Only how often an expression matches, by place.
    pub count: Option<bool>,
    /// Lines such as `10-20`.
    pub lines: Option<String>,
    /// Bytes such as `0-999`.
    pub range: Option<String>,
    /// `summary` or `full`.
    pub mode: Option<String>,
}

/// The maximum number of bytes of a program, an expression or a path.
const MAX_PROGRAM_BYTES: usize = 4096;
/// The maximum number of records on one page.
const MAX_PAGE_SIZE: u64 = 1000;
/// The maximum number of lines around a match.
const MAX_CONTEXT_LINES: u64 = 50;

impl Arguments {
    /// Returns the query; at most one view may be named, and fields combine with pages only.
    ///
    /// # Errors
    ///
    /// What is wrong, and what is accepted.
    pub fn into_query(self) -> Result<Query, ViewError> {
        let named: Vec<&str> = [
            ("jq", self.jq.is_some()),
            ("sql", self.sql.is_some()),
            ("grep", self.grep.is_some()),
            ("lines", self.lines.is_some()),
            ("range", self.range.is_some()),
            ("mode", self.mode.is_some()),
            ("page", self.page.is_some() || self.page_size.is_some() || self.fields.is_some()),
        ]
        .iter()
        .filter(|(_, given)| *given)
        .map(|(name, _)| *name)
        .collect();
        if let [one, two, ..] = named[..] {
            return Err(ViewError::bad(format!(
                "{one} and {two} are two views; ask for one of them at a time"
            )));
        }
        if self.count == Some(true) && self.grep.is_none() {
            return Err(ViewError::bad("count goes with grep; name an expression to look for"));
        }
        if self.range.is_some() && self.path.is_some() {
            return Err(ViewError::bad(
                "range counts the bytes of the whole result; give path with lines instead",
            ));
        }
        if self.context.is_some() && self.grep.is_none() {
            return Err(ViewError::bad("context goes with grep; name an expression to look for"));
        }
        let fields = self.fields.clone().unwrap_or_default();
        if self.fields.is_some() && fields.iter().all(|field| field.trim().is_empty()) {
            return Err(ViewError::bad(
                "fields is empty; name at least one, such as [\"id\"], or leave it out",
            ));
        }
        Ok(Query { view: self.view(!named.is_empty())?, fields, position: 0 })
    }

    /// Returns the view; a path with another view makes that a view of the value at the path.
    fn view(mut self, has_other: bool) -> Result<View, ViewError> {
        match self.path.take().map(|path| checked("path", path)).transpose()? {
            Some(path) if has_other => Ok(View::Within { path, view: Box::new(self.of_whole()?) }),
            Some(path) => Ok(View::Path(path)),
            None => self.of_whole(),
        }
    }

    fn of_whole(self) -> Result<View, ViewError> {
        if let Some(program) = self.jq {
            return Ok(View::Jq(checked("jq", program)?));
        }
        if let Some(query) = self.sql {
            return Ok(View::Sql(checked("sql", query)?));
        }
        if let Some(pattern) = self.grep {
            let context = self.context.unwrap_or(0);
            if context > MAX_CONTEXT_LINES {
                return Err(ViewError::bad(format!(
                    "context {context} is too large; at most {MAX_CONTEXT_LINES}"
                )));
            }
            if pattern.is_empty() {
                return Err(ViewError::bad("grep is empty; give a word or a regular expression to look for"));
            }
            let pattern = checked("grep", pattern)?;
            return Ok(match self.count {
                Some(true) => View::Count(pattern),
                _ => View::Grep { pattern, context },
            });
        }
        if let Some(lines) = self.lines {
            let (from, to) = span("lines", &lines, "10-20")?;
            if from == 0 {
                return Err(ViewError::bad("lines count from 1; ask for \"1-40\", for example"));
            }
            return Ok(View::Lines { from, to });
        }
        if let Some(range) = self.range {
            let (from, to) = span("range", &range, "0-999")?;
            return Ok(View::Range { from, to });
        }
        match self.mode.as_deref() {
            None => self.page_view(),
            Some("summary") => Ok(View::Summary),
            Some("full") => Ok(View::Full),
            Some(other) => {
                Err(ViewError::bad(format!("mode {other:?} is unknown; it is \"summary\" or \"full\"")))
            }
        }
    }

    /// Returns a page, or the summary where nothing was asked for.
    fn page_view(self) -> Result<View, ViewError> {
        if self.page.is_none() && self.page_size.is_none() && self.fields.is_none() {
            return Ok(View::Summary);
        }
        let number = self.page.unwrap_or(1);
        if number == 0 {
            return Err(ViewError::bad("pages count from 1; ask for page 1"));
        }
        if let Some(size) = self.page_size.filter(|size| !(1..=MAX_PAGE_SIZE).contains(size)) {
            return Err(ViewError::bad(format!(
                "page_size {size} is out of range; use 1 to {MAX_PAGE_SIZE}"
            )));
        }
        Ok(View::Page { number, size: self.page_size })
    }
}

fn checked(name: &str, text: String) -> Result<String, ViewError> {
    if text.len() > MAX_PROGRAM_BYTES {
        return Err(ViewError::bad(format!(
            "{name} is {} bytes long; at most {MAX_PROGRAM_BYTES}",
            text.len()
        )));
    }
    Ok(text)
}

/// Reads `10-20`, `10-` or `10`.
fn span(name: &str, text: &str, example: &str) -> Result<(u64, Option<u64>), ViewError> {
    let wrong = || ViewError::bad(format!("{name} {text:?} is not a span; write it like \"{example}\""));
    let number = |part: &str| part.trim().parse::<u64>().map_err(|_| wrong());
    let (from, to) = match text.split_once('-') {
        None => (number(text)?, Some(number(text)?)),
        Some((from, "")) => (number(from)?, None),
        Some((from, to)) => (number(from)?, Some(number(to)?)),
    };
    if to.is_some_and(|to| to < from) {
        return Err(ViewError::bad(format!(
            "{name} {text:?} ends before it begins; write it like \"{example}\""
        )));
    }
    Ok((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query(set: impl FnOnce(&mut Arguments)) -> Result<View, String> {
        let mut arguments = Arguments::default();
        set(&mut arguments);
        arguments.into_query().map(|query| query.view).map_err(|error| error.to_string())
    }

    #[test]
    fn one_view_at_a_time() {
        assert_eq!(query(|_| {}).unwrap(), View::Summary);
        assert_eq!(query(|a| a.page = Some(3)).unwrap(), View::Page { number: 3, size: None });
        assert_eq!(
            query(|a| a.fields = Some(vec!["id".into()])).unwrap(),
            View::Page { number: 1, size: None }
        );
        assert_eq!(query(|a| a.lines = Some("7".into())).unwrap(), View::Lines { from: 7, to: Some(7) });
        assert_eq!(query(|a| a.range = Some("100-".into())).unwrap(), View::Range { from: 100, to: None });
        let inside = |a: &mut Arguments| (a.path, a.lines) = (Some("/diff".into()), Some("1-9".into()));
        let lines = Box::new(View::Lines { from: 1, to: Some(9) });
        assert_eq!(query(inside).unwrap(), View::Within { path: "/diff".into(), view: lines });
        let two = |a: &mut Arguments| (a.jq, a.sql) = (Some(".".into()), Some("select 1".into()));
        assert_eq!(query(two).unwrap_err(), "jq and sql are two views; ask for one of them at a time");
    }

    #[test]
    fn errors_about_arguments_say_what_is_valid() {
        assert!(query(|a| a.page = Some(0)).unwrap_err().contains("count from 1"));
        assert!(query(|a| a.page_size = Some(9999)).unwrap_err().contains("1 to 1000"));
        assert!(query(|a| a.lines = Some("x".into())).unwrap_err().contains("\"10-20\""));
        assert!(query(|a| a.lines = Some("9-3".into())).unwrap_err().contains("ends before"));
        assert!(query(|a| a.mode = Some("all".into())).unwrap_err().contains("\"summary\" or \"full\""));
        assert!(query(|a| a.context = Some(2)).unwrap_err().contains("goes with grep"));
        assert!(query(|a| a.fields = Some(vec![])).unwrap_err().contains("fields is empty"));
        assert!(query(|a| a.jq = Some("x".repeat(5000))).unwrap_err().contains("at most 4096"));
    }
}
