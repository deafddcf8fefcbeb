//! Other kept results that a query names beside the one it is about: tables in SQL, members of `$results` in jq.
//!
//! Only those that a query names are opened, each as if it were asked for by its id: the same owner, the same tier.

use tidegate_core::view::{OpenedValue, Query, View, ViewError, main_value, named_results};
use tidegate_query::NamedResult;
use tidegate_store::ArtifactId;

use crate::kept_result::KeptResult;

/// The most other results of one query.
const MAX_OTHERS: usize = 8;

/// Returns the names of the other results that a query is about. A quoted name of SQL that is no name of a result, or
/// that is a column, is none of them.
///
/// # Errors
///
/// A jq program that computes a name, or too many names.
pub fn other_names(query: &Query, about: &KeptResult<'_>) -> Result<Vec<String>, ViewError> {
    let mut names = result_names(&query.view)?;
    if !names.is_empty() {
        let data = about.dataset();
        names.retain(|name| !data.fields().contains(name));
    }
    match names.len() {
        ..=MAX_OTHERS => Ok(names),
        count => Err(ViewError::bad(format!("the query names {count} other results; at most {MAX_OTHERS}"))),
    }
}

/// Returns the names in a query that have the form of a result's name.
pub(crate) fn result_names(view: &View) -> Result<Vec<String>, ViewError> {
    let mut names = named_results(view)?;
    if !matches!(inner(view), View::Jq(_)) {
        // The digits of an id alone may be any column.
        let is_name = |name: &String| name.contains(['-', '/']) && ArtifactId::parse(name).is_some();
        names.retain(is_name);
    }
    Ok(names)
}

/// Returns the view that reads the value at a path, or the view itself.
fn inner(view: &View) -> &View {
    match view {
        View::Within { view, .. } => inner(view),
        view => view,
    }
}

/// Other results, opened for a query.
pub struct OtherResults<'k> {
    results: Vec<OtherResult<'k>>,
}

struct OtherResult<'k> {
    name: String,
    kept: KeptResult<'k>,
    /// The string that is most of the result, where that is what the view reads.
    main: Option<OpenedValue>,
}

impl<'k> OtherResults<'k> {
    /// Returns opened results, under the names that a query gives them.
    ///
    /// # Errors
    ///
    /// A result that cannot be read.
    pub fn new(named: Vec<(String, KeptResult<'k>)>, query: &Query) -> Result<Self, ViewError> {
        let view = inner(&query.view);
        let open = |(name, kept): (String, KeptResult<'k>)| {
            let main = main_value(&kept.dataset(), view)?;
            Ok(OtherResult { name, kept, main })
        };
        Ok(Self { results: named.into_iter().map(open).collect::<Result<_, ViewError>>()? })
    }

    /// Returns the results.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &KeptResult<'k>> {
        self.results.iter().map(|other| &other.kept)
    }

    /// Returns the results as the engines read them.
    pub fn named(&self) -> Vec<NamedResult<'_>> {
        let named = self.results.iter().map(|other| NamedResult {
            name: other.name.clone(),
            data: other.main.as_ref().map_or_else(|| other.kept.dataset(), OpenedValue::dataset),
        });
        named.collect()
    }
}
