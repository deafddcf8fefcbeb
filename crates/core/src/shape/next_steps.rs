//! What the frame offers to ask next: queries with columns and values of this result, so that a reader sees which
//! questions it can answer.
//!
//! The frame is outside the fence, so only plain names appear in it ([`plain_name`]); a column or a value of any other
//! form is not offered.

use super::additive::is_additive;
use super::field::{Field, FieldKind};
use super::table::Table;
use crate::data::Data;
use crate::plain_name;
use crate::profile::PathStep;
use crate::profile::number::{KeptMarks, NumberMarks};
use crate::profile::value_counts::ValueCount;

/// How a note about the table of the view `sql` begins.
pub(crate) const SQL_NOTE: &str = "In sql, t is";
/// The maximum number of distinct values of a column that is offered for grouping.
const MAX_GROUPS: u64 = 60;
/// The maximum number of characters of a value in a query.
const MAX_VALUE_CHARACTERS: usize = 16;

/// Returns the arguments of calls that read on: pages of the main list, or parts by path.
pub(crate) fn next_steps(data: &Data<'_>, main: Option<&Table<'_>>) -> Vec<String> {
    let Some(table) = main else {
        let member = largest_member(data).map(|name| format!("\"path\":\"/{name}\""));
        return member
            .into_iter()
            .chain(["\"grep\":\"text\"".into(), "\"range\":\"0-999\"".into()])
            .collect();
    };
    let mut steps = vec!["\"page\":1".to_owned()];
    let columns = Columns::of(table);
    steps.extend(columns.fields());
    steps.extend(columns.sql());
    steps.extend(columns.jq());
    steps.push(columns.grep());
    steps
}

/// Returns the name of the largest member of the root, which its overview shows least of; `None` if it is not plain.
fn largest_member(data: &Data<'_>) -> Option<String> {
    let members = data.profile.children(data.profile.root());
    let (_, largest) = members.max_by_key(|(id, node)| (node.bytes, std::cmp::Reverse(*id)))?;
    match &largest.step {
        PathStep::Key(key) if plain_name::is_plain(key) => Some(key.to_string()),
        _ => None,
    }
}

/// Columns of a table that make good queries.
struct Columns<'t, 'd> {
    table: &'t Table<'d>,
    /// The field that names records.
    label: Option<&'t Field>,
    /// A field with few values.
    group: Option<&'t Field>,
    /// A field of numbers that vary.
    amount: Option<&'t Field>,
}

impl<'t, 'd> Columns<'t, 'd> {
    fn of(table: &'t Table<'d>) -> Self {
        let mut order: Vec<&Field> = table.fields.iter().filter(|field| is_column(field)).collect();
        order.sort_by(|one, two| two.score.total_cmp(&one.score));
        let node = |field: &Field| table.data.profile.node(field.node);
        let distinct = |field: &Field| node(field).counts.distinct().0;
        let group = |field: &&&Field| {
            field.kind == FieldKind::Category && (2..=MAX_GROUPS).contains(&distinct(field))
        };
        let amount = |field: &&&Field| {
            let numbers = field.numbers(node(field));
            field.kind == FieldKind::Number
                && is_additive(&field.name())
                && numbers.is_some_and(|numbers| numbers.varies() && !numbers.is_sorted())
        };
        let label = table.label.map(|label| &table.fields[label]);
        Self {
            table,
            label: label.filter(|label| is_column(label)),
            group: order.iter().find(group).copied(),
            amount: order.iter().find(amount).copied(),
        }
    }

    /// Returns the fields that tell records apart, as the argument `fields`.
    fn fields(&self) -> Option<String> {
        let mut names: Vec<&str> = Vec::new();
        for field in [self.label, self.group, self.amount].into_iter().flatten() {
            if !names.contains(&field.path.as_str()) {
                names.push(&field.path);
            }
        }
        (!names.is_empty()).then(|| format!("\"fields\":[\"{}\"]", names.join("\",\"")))
    }

    /// Returns a query that groups, or else one that sorts.
    fn sql(&self) -> Option<String> {
        let group = self.group.map(sql_name);
        let amount = self.amount.map(|amount| self.sql_number(amount));
        let label = self.label.map(sql_name);
        let query = match (group, amount, label) {
            (Some(group), Some(amount), _) => {
                format!("select {group},count(*),max({amount}) from t group by 1 order by 2 desc")
            }
            (Some(group), None, _) => format!("select {group},count(*) from t group by 1 order by 2 desc"),
            (None, Some(amount), Some(label))
                if self.label.map(|label| label.node) != self.amount.map(|amount| amount.node) =>
            {
                format!("select {label},{amount} from t order by 2 desc limit 10")
            }
            (None, Some(amount), _) => format!("select * from t order by {amount} desc limit 5"),
            (None, None, Some(label)) => format!("select {label} from t order by 1 limit 20"),
            (None, None, None) => return None,
        };
        Some(format!("\"sql\":\"{query}\""))
    }

    /// Returns a column as a number, for queries that compare or add it: a number in a text is sorted as a text.
    fn sql_number(&self, field: &Field) -> String {
        let node = self.table.data.profile.node(field.node);
        let marks = KeptMarks::of(&node.marks);
        let name = sql_name(field);
        let is_text =
            node.numeric_strings > 0 && (!self.table.records.is_textual() || marks != NumberMarks::default());
        match (is_text, marks.before.len()) {
            (false, _) => name,
            (true, 0) => format!("cast({name} as real)"),
            (true, sign) => format!("cast(substr({name},{}) as real)", sign + 1),
        }
    }

    /// Returns a program that selects the records with one value.
    fn jq(&self) -> Option<String> {
        let table = self.table;
        let is_step = |part: &str| plain_name::is_plain(part.trim_end_matches("[]"));
        let plain = table.path.is_empty()
            || plain_name::is_plain_path(&table.path) && table.path.split('.').all(is_step);
        let path = if table.path.is_empty() { ".".to_owned() } else { format!(".{}", table.path) };
        let each = if path.ends_with('.') { ".[]".to_owned() } else { format!("{path}[]") };
        let selected = self
            .group
            .zip(self.rare_value())
            .map(|(group, value)| format!("{each}|select(.{}==\\\"{value}\\\")", group.path));
        let program = match selected {
            Some(program) => program,
            None if table.keyed() => format!("{path}|keys"),
            None => format!("{path}[0:3]"),
        };
        plain.then(|| format!("\"jq\":\"{program}\""))
    }

    fn grep(&self) -> String {
        format!("\"grep\":\"{}\"", self.rare_value().unwrap_or_else(|| "text".into()))
    }

    /// Returns the rarest value of the group that may appear outside the fence.
    fn rare_value(&self) -> Option<String> {
        let counts = &self.table.data.profile.node(self.group?.node).counts;
        let is_plain = |entry: &&&ValueCount| {
            !entry.is_cut && entry.raw.len() <= MAX_VALUE_CHARACTERS && plain_name::is_plain(&entry.text())
        };
        counts.ranked().iter().rev().find(is_plain).map(|entry| entry.text())
    }
}

/// Words of SQL; a column with such a name must be quoted.
const SQL_WORDS: &[&str] = &[
    "all",
    "and",
    "as",
    "by",
    "case",
    "check",
    "default",
    "desc",
    "distinct",
    "from",
    "group",
    "having",
    "in",
    "index",
    "is",
    "join",
    "key",
    "limit",
    "not",
    "null",
    "on",
    "or",
    "order",
    "primary",
    "references",
    "select",
    "set",
    "table",
    "then",
    "to",
    "union",
    "unique",
    "values",
    "when",
    "where",
];

/// Returns whether a field is a column whose name may appear outside the fence.
fn is_column(field: &Field) -> bool {
    field.single
        && field.position.is_none()
        && !field.path.is_empty()
        && field.path.split('.').all(plain_name::is_plain)
        && plain_name::is_plain_path(&field.path)
}

/// Returns the name of a column in a query, in quotes where it needs them, as written inside JSON.
fn sql_name(field: &Field) -> String {
    let plain = plain_name::is_plain(&field.path) && !SQL_WORDS.contains(&field.path.to_lowercase().as_str());
    if plain { field.path.clone() } else { format!("\\\"{}\\\"", field.path) }
}
