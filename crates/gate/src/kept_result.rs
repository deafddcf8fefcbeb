//! A kept result, opened for reading: its bytes, its outline, and the policy of the tool it came from.
//!
//! `follow-up -> store -> view -> respond`: `result_query`, resources, fetches through the tool itself and
//! `tidegate query` all open a result here. So the same policy answers every one of them, and an outline that another
//! version wrote is rebuilt for every one of them.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use tidegate_core::budget::Budget;
use tidegate_core::envelope::{Handle, handle_name};
use tidegate_core::measure::Meter;
use tidegate_core::outline::Outline;
use tidegate_core::source::Source;
use tidegate_core::view::arguments::Arguments;
use tidegate_core::view::{
    Answer, Dataset, Engines, ExportError, ExportFormat, ExportRequest, Exported, Query, View, ViewError,
    ViewRequest, answer, cursor, export, is_picture,
};
use tidegate_store::{Artifact, ArtifactId, StoreError, StoreKind, StoredSource};

use crate::policy::Policy;
use crate::profile::Profile;
use crate::resources::Address;
use crate::user_store::{Opened, UserStore};

/// A kept result, opened for reading.
pub struct KeptResult<'k> {
    keep: UserStore,
    opened: &'k Opened,
    source: StoredSource<'k>,
    outline: Outline,
    policy: Arc<Policy>,
}

impl<'k> KeptResult<'k> {
    /// Opens a result; `policy_of` returns the policy of the tool that it came from.
    ///
    /// # Errors
    ///
    /// A result that does not exist, has expired, or cannot be read.
    pub fn open(
        keep: &UserStore,
        opened: &'k Arc<Opened>,
        id: &ArtifactId,
        policy_of: impl FnOnce(&Artifact) -> Arc<Policy>,
    ) -> Result<Self, StoreError> {
        let source = keep.stored(opened, id)?;
        let policy = policy_of(source.artifact());
        let outline = Outline::load(source.outline(), &source, &policy.hints).map_err(StoreError::Source)?;
        Ok(Self { keep: keep.clone(), opened, source, outline, policy })
    }

    /// Returns what the store knows about the result.
    pub fn artifact(&self) -> &Artifact {
        self.source.artifact()
    }

    /// Returns the policy of the tool that the result came from.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Returns the name under which a caller asks for the result, such as `list_issues-3f9c2kq7m0xw`; the address of one
    /// that has a name of its own.
    pub fn name(&self) -> String {
        let artifact = self.artifact();
        match self.keep.name_of(self.opened, artifact) {
            Some(name) => Address { domain: &artifact.tool, id: &name }.to_string(),
            None => handle_name(&artifact.tool, artifact.id.as_str()),
        }
    }

    /// Returns the bytes of the result.
    pub fn source(&self) -> &dyn Source {
        &self.source
    }

    /// Returns the outline of the result.
    pub(crate) fn outline(&self) -> &Outline {
        &self.outline
    }

    /// Returns the result as records and lines.
    pub fn dataset(&self) -> Dataset<'_> {
        Dataset::new(&self.source, &self.outline)
    }

    /// Returns the seal that makes a cursor valid for this result only.
    pub fn seal(&self, bytes: &[u8]) -> [u8; cursor::SEAL_BYTES] {
        self.opened.seal(&self.keep.owner, &self.artifact().id, bytes)
    }

    /// Returns the query that a cursor holds, or, without one, that the arguments ask for. Pages have the size that the
    /// policy sets unless the arguments set another.
    ///
    /// # Errors
    ///
    /// A cursor of another result, or arguments that contradict each other.
    pub fn query(&self, cursor: Option<&str>, arguments: Arguments) -> Result<Query, ViewError> {
        if let Some(cursor) = cursor {
            let (owner, id) = (&self.keep.owner, &self.artifact().id);
            let decoded = self.opened.unseal(owner, id, |seal| cursor::decode(cursor, |bytes| seal(bytes)));
            return decoded.map_err(|error| ViewError::Bad(error.to_string()));
        }
        let mut query = arguments.into_query()?;
        if let View::Page { size, .. } = &mut query.view {
            *size = size.or(self.policy.page_size);
        }
        Ok(query)
    }

    /// Returns the query for a file that the arguments ask for: all records unless they name a page, and everything unless
    /// they name a view.
    ///
    /// # Errors
    ///
    /// Arguments that contradict each other, or that ask for a summary.
    pub fn file_query(&self, arguments: Arguments) -> Result<Query, ViewError> {
        if arguments.mode.as_deref() == Some("summary") {
            return Err(ViewError::bad("a file gets the data, not its summary; leave out mode"));
        }
        let has_page = arguments.page.is_some() || arguments.page_size.is_some();
        let mut query = self.query(None, arguments)?;
        let view = match &mut query.view {
            View::Within { view, .. } => view,
            view => view,
        };
        if !has_page && matches!(view, View::Page { .. }) {
            *view = View::Full;
        }
        Ok(query)
    }

    /// Returns what an answer may cost: what was asked for up to the cap, and at least what any answer needs; the cap
    /// itself for all of the result; or what the policy allows for follow-ups.
    ///
    /// # Errors
    ///
    /// A result that cannot be read.
    pub fn budget(
        &self,
        max_tokens: Option<u64>,
        query: &Query,
        profile: &Profile,
    ) -> Result<Budget, ViewError> {
        let cap = self.policy.cap(profile);
        match max_tokens {
            Some(tokens) => {
                let tokens = tokens.min(cap.tokens.0).max(Budget::MIN_TOKENS.0);
                Ok(self.policy.of_tokens(tokens, profile))
            }
            None if query.view == View::Full => Ok(cap),
            // A picture cannot be shown in part.
            None if is_picture(&self.source, &query.view)? => Ok(cap),
            None => Ok(self.policy.follow_up(profile)),
        }
    }

    /// Answers a query within a budget; `query_tool` is the name of the tool that reads on.
    ///
    /// # Errors
    ///
    /// A query that makes no sense for this result, or a result that cannot be read.
    pub fn answer(
        &self,
        query: &Query,
        budget: Budget,
        meter: Meter,
        query_tool: &str,
        engines: &dyn Engines,
    ) -> Result<Answer, ViewError> {
        let (name, retention) = (self.name(), self.retention());
        answer(&ViewRequest {
            source: &self.source,
            outline: &self.outline,
            hints: &self.policy.hints,
            tool: &self.artifact().tool,
            handle: Handle::kept(&name, &retention)
                .with_query_tool(query_tool)
                .with_languages(engines.languages()),
            query,
            budget,
            meter,
            engines,
            seal: &|bytes| self.seal(bytes),
        })
    }

    /// Writes a view whole, without a budget.
    ///
    /// # Errors
    ///
    /// A view that makes no sense for this result, a result that cannot be read, or `out` that cannot be written.
    pub fn export(
        &self,
        query: &Query,
        format: ExportFormat,
        engines: &dyn Engines,
        out: &mut dyn Write,
    ) -> Result<Exported, ExportError> {
        export(&ExportRequest { source: &self.source, outline: &self.outline, query, format, engines }, out)
    }

    /// Says for how long the result is kept.
    pub(crate) fn retention(&self) -> String {
        self.opened.retention_note(self.time_left())
    }

    /// Returns the kind of store that holds the result.
    #[cfg_attr(not(unix), expect(dead_code, reason = "only Unix has saved files"))]
    pub(crate) fn store_kind(&self) -> StoreKind {
        self.opened.kind
    }

    fn time_left(&self) -> Duration {
        let left = self.artifact().expires.0.saturating_sub(self.keep.clock().now().0);
        Duration::from_millis(u64::try_from(left).unwrap_or(0))
    }
}

/// Says for how long a result is kept: `kept 24 h`.
pub fn retention_note(left: Duration) -> String {
    format!("kept {}", duration_text(left))
}

/// Says how long a time is, in whole units: `24 h`. Rounds down, but forgives up to a minute (two seconds for minutes): a
/// result that was stored a moment ago does not have quite its full time left.
pub fn duration_text(left: Duration) -> String {
    let seconds = left.as_millis().div_ceil(1000).max(1);
    let (count, unit) = match seconds {
        ..=119 => (seconds, "s"),
        120..=7_199 => ((seconds + 2) / 60, "min"),
        7_200..=172_800 => ((seconds + 60) / 3600, "h"),
        _ => ((seconds + 60) / 86_400, "days"),
    };
    format!("{count} {unit}")
}

#[cfg(test)]
mod tests {
    use tidegate_core::payload::Payload;
    use tidegate_core::view::NoEngines;
    use tidegate_store::Description;
    use tidegate_testkit::{make, sample};

    use super::*;
    use crate::policy::{Policies, Rules};
    use crate::user_store::StoreLocation;

    /// Keeps a list of issues with the bytes of an outline, as they are or changed.
    fn keep_issues(keep: &UserStore, change: impl Fn(Vec<u8>) -> Vec<u8>) -> ArtifactId {
        let body = make::text_result(&sample::issues(200));
        let body = body.as_slice();
        let outline = Outline::read(&Payload::read_result(&body).unwrap()).unwrap();
        let describe = || {
            let description = UserStore::description(&outline, 1);
            Ok(Description { outline: change(description.outline.clone()), ..description })
        };
        keep.put(&keep.new_artifact("list", Duration::from_secs(600)), &body, &describe).unwrap().id
    }

    fn policy(rules: Rules) -> Arc<Policy> {
        Arc::new(Policies::of_defaults(rules).of_tool("list"))
    }

    fn text(kept: &KeptResult<'_>, arguments: Arguments) -> String {
        let profile = Profile::strictest();
        let query = kept.query(None, arguments).unwrap();
        let budget = kept.budget(None, &query, &profile).unwrap();
        kept.answer(&query, budget, profile.meter, "result_query", &NoEngines).unwrap().text
    }

    #[test]
    fn an_outline_of_another_version_is_rebuilt() {
        let keep = UserStore::of_user(StoreLocation::Memory);
        let id = keep_issues(&keep, |mut bytes| {
            bytes[0] = bytes[0].wrapping_sub(1);
            bytes
        });
        let opened = keep.open().unwrap();
        let kept = KeptResult::open(&keep, &opened, &id, |_| policy(Rules::default())).unwrap();
        let page = text(&kept, Arguments { page: Some(2), page_size: Some(3), ..Arguments::default() });
        assert!(page.contains("rows 4-6 of 200"), "{page}");
    }

    #[test]
    fn pages_budget_and_summary_follow_the_policy() {
        let keep = UserStore::of_user(StoreLocation::Memory);
        let id = keep_issues(&keep, |bytes| bytes);
        let opened = keep.open().unwrap();
        let rules = Rules {
            page_size: Some(3),
            follow_up_tokens: Some(700),
            fields: Some(vec!["number".into()]),
            ..Rules::default()
        };
        let kept = KeptResult::open(&keep, &opened, &id, |artifact| {
            assert_eq!(artifact.tool, "list");
            policy(rules)
        })
        .unwrap();
        let page = text(&kept, Arguments { page: Some(2), ..Arguments::default() });
        assert!(page.contains("rows 4-6 of 200"), "{page}");
        let summary = text(&kept, Arguments::default());
        assert!(summary.lines().any(|line| line == "#,number"), "{summary}");
        assert!(Meter::default().count(&summary).0 <= 700);
    }

    #[test]
    fn what_is_asked_for_is_bounded_by_the_cap() {
        let keep = UserStore::of_user(StoreLocation::Memory);
        let id = keep_issues(&keep, |bytes| bytes);
        let opened = keep.open().unwrap();
        let rules = Rules { follow_up_tokens: Some(500), cap_tokens: Some(1900), ..Rules::default() };
        let kept = KeptResult::open(&keep, &opened, &id, |_| policy(rules)).unwrap();
        let tokens = |max_tokens, view| {
            kept.budget(max_tokens, &Query::new(view), &Profile::strictest()).unwrap().tokens.0
        };
        assert_eq!(tokens(None, View::Summary), 500);
        assert_eq!(tokens(None, View::Full), 1900);
        assert_eq!(tokens(Some(800), View::Summary), 800);
        assert_eq!(tokens(Some(5000), View::Full), 1900);
        assert_eq!(tokens(Some(10), View::Full), 250, "what any answer needs");
    }

    #[test]
    fn times_in_words() {
        for (seconds, words) in [
            (86_399, "24 h"),
            (7_300, "2 h"),
            (179, "3 min"),
            (170, "2 min"),
            (86_400, "24 h"),
            (300, "5 min"),
            (30, "30 s"),
            (7 * 86_400, "7 days"),
            (0, "1 s"),
        ] {
            assert_eq!(retention_note(Duration::from_secs(seconds)), format!("kept {words}"));
        }
    }
}
