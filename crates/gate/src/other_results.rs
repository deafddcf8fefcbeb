//! The stored results that a query names besides the one in `id`: tables in SQL, members of `$results` in jq.
//!
//! Only the results that a query names are opened, each with the checks of the one in `id`: the same owner, the same tier.

use tidegate_core::view::{OpenedValue, Query, View, ViewError, main_value, named_results};
use tidegate_query::NamedResult;
use tidegate_store::ArtifactId;

use crate::kept_result::KeptResult;

/// The maximum number of other results in one query.
const MAX_OTHERS: usize = 8;

/// Returns the names of the other results that a query reads. A quoted name in SQL is not one of them if it is a column, or
/// does not have the form of a result's name.
///
/// # Errors
///
/// Fails if a jq program computes a name, or if a query has too many names.
pub fn other_names(query: &Query, about: &KeptResult<'_>) -> Result<Vec<String>, ViewError> {
    let mut names = result_names(&query.view)?;
    if !names.is_empty() {
        let data = about.dataset();
        names.retain(|name| !data.fields().contains(name));
    }
    match names.len() {
        ..=MAX_OTHERS => Ok(names),
        count => Err(ViewError::bad(format!(
            "the query names {count} other results; it can name {MAX_OTHERS} at most"
        ))),
    }
}

/// Returns the names in a query that have the form of a result's name.
pub(crate) fn result_names(view: &View) -> Result<Vec<String>, ViewError> {
    let mut names = named_results(view)?;
    if !matches!(inner(view), View::Jq(_)) {
        // An id without the tool's name could be the name of a column.
        let is_name = |name: &String| name.contains(['-', '/']) && ArtifactId::parse(name).is_some();
        names.retain(is_name);
    }
    Ok(names)
}

/// Returns the view that is applied to the value at a path, or the view itself if there is no path.
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
    /// The string that is most of the result, if the view reads that string.
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

    /// Returns the results as the engines read them.
    pub fn named(&self) -> Vec<NamedResult<'_>> {
        let named = self.results.iter().map(|other| NamedResult {
            name: other.name.clone(),
            data: other.main.as_ref().map_or_else(|| other.kept.dataset(), OpenedValue::dataset),
        });
        named.collect()
    }
}
