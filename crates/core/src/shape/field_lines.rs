//! The lines about the fields of records: one line of statistics per field, the most useful first, then what several
//! fields have in common (`in all: state=open`, `unique: id, url`, `true in: draft=3`), then the names of the rest.
//!
//! A fact that several fields share is written once with their names: a name and a value cost a fifth of a line. So
//! a constant never takes a line of its own, nor a place in the rows.

use std::io;

use super::field::{Field, FieldKind};
use super::section_writer::SectionWriter;
use super::statistics::{FieldStatistics, Members};
use super::table::{Table, shown_path};
use super::value_list::shown;
use crate::profile::node::PathNode;

/// The maximum number of fields whose statistics are tried.
const MAX_TRIED_FIELDS: usize = 600;

/// Writes the statistics of the fields, the most useful first, and the names of the rest.
pub(crate) fn write_fields(
    table: &Table<'_>,
    writer: &mut SectionWriter<'_>,
    section: usize,
) -> io::Result<()> {
    write_field_lines(table, Members::Named, writer, section)
}

/// Writes the statistics of the fields, the most useful first, and the names of the rest; `members` says whether the
/// records with rare values are named.
pub(crate) fn write_field_lines(
    table: &Table<'_>,
    members: Members,
    writer: &mut SectionWriter<'_>,
    section: usize,
) -> io::Result<()> {
    writer.push(section, title(table));
    let mut order: Vec<&Field> = table.fields.iter().collect();
    order.sort_by(|one, two| two.score.total_cmp(&one.score));
    let (shared, mut shown) = shared_facts(table, &order, writer)?;
    order.retain(|field| !is_among(&shown, field));
    write_statistics(table, members, &order, writer, section, &mut shown)?;
    shared.into_iter().for_each(|line| writer.place(section, line));
    let rest: Vec<&Field> = table.fields.iter().filter(|field| !is_among(&shown, field)).collect();
    write_names(&rest, writer, section);
    Ok(())
}

fn is_among(fields: &[&Field], field: &Field) -> bool {
    fields.iter().any(|known| known.path == field.path)
}

/// Returns `items: 31 fields, over all 430 rows:`.
fn title(table: &Table<'_>) -> String {
    let path = if table.path.is_empty() { String::new() } else { format!("{}: ", table.path) };
    let over = match (table.data.regular_records(), table.path.is_empty()) {
        (regular, true) if regular < table.count => {
            format!("over {regular} of {} {}", table.count, table.nouns())
        }
        _ => format!("over all {} {}", table.count, table.nouns()),
    };
    let at_least = if table.data.profile.capped { "at least " } else { "" };
    let blank = if table.data.others.blank > 0 { ", blank lines aside" } else { "" };
    format!("{path}{at_least}{} fields, {over}{blank}:", table.fields.len())
}

/// What several fields may have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SharedFact {
    /// One value in all records.
    Constant,
    /// True in some records, false in all others.
    TrueIn,
    /// A different value in every record.
    Unique,
    /// Null in all records.
    Null,
    /// Empty lists in all records.
    EmptyLists,
}

impl SharedFact {
    const ALL: [Self; 5] = [Self::Constant, Self::TrueIn, Self::Unique, Self::Null, Self::EmptyLists];

    /// Returns the words before the fields, and the share of the budget that the line may take, as a divisor.
    fn title(self) -> (&'static str, u64) {
        match self {
            Self::Constant => ("in all", 6),
            Self::TrueIn => ("true in (else false)", 5),
            Self::Unique => ("unique", 8),
            Self::Null => ("null in all", 16),
            Self::EmptyLists => ("empty lists in all", 16),
        }
    }

    /// Returns the fact that holds for a field without exception, if there is one.
    fn of(field: &Field, node: &PathNode) -> Option<Self> {
        let types = &node.types;
        let (values, everywhere) =
            (types.strings + types.numbers, node.seen() == field.expected && node.duplicates == 0);
        if field.position.is_some() || !everywhere || field.path.is_empty() {
            return None;
        }
        let only = |count: u64| count == node.seen();
        match field.kind {
            FieldKind::Empty if only(types.nulls) => Some(Self::Null),
            FieldKind::List if node.members.as_ref().is_some_and(|members| members.max == 0) => {
                only(types.arrays).then_some(Self::EmptyLists)
            }
            FieldKind::Constant if only(values) => Some(Self::Constant),
            FieldKind::Bool if only(types.bools()) => {
                Some(if types.trues == 0 || types.falses == 0 { Self::Constant } else { Self::TrueIn })
            }
            FieldKind::Identifier if only(values) && node.counts.is_unique() => Some(Self::Unique),
            _ => None,
        }
    }

    /// Writes a field to which the fact applies.
    fn item(self, field: &Field, node: &PathNode) -> String {
        let path = shown_path(&field.path);
        match self {
            Self::Constant if node.types.bools() > 0 => format!("{path}={}", node.types.trues > 0),
            Self::Constant => {
                format!("{path}={}", node.counts.entries().first().map(shown).unwrap_or_default())
            }
            Self::TrueIn => format!("{path}={}", node.types.trues),
            Self::Unique | Self::Null | Self::EmptyLists => path.into_owned(),
        }
    }
}

/// Reserves one line for each fact that fields share, and returns these lines and the fields in them.
fn shared_facts<'f>(
    table: &Table<'_>,
    order: &[&'f Field],
    writer: &mut SectionWriter<'_>,
) -> io::Result<(Vec<String>, Vec<&'f Field>)> {
    let node = |field: &Field| table.data.profile.node(field.node);
    let (mut lines, mut placed) = (Vec::new(), Vec::new());
    let all = writer.left();
    for fact in SharedFact::ALL {
        let (title, part) = fact.title();
        let fields = order.iter().copied().filter(|field| SharedFact::of(field, node(field)) == Some(fact));
        let mut line = String::new();
        let mut fitting = Vec::new();
        for field in fields.take(MAX_TRIED_FIELDS) {
            let statistics = FieldStatistics { table, writer, cap: 12, members: Members::Counted };
            let says_more = fact == SharedFact::Unique && statistics.of(field)? != title;
            if says_more || field.score < MIN_SHARED_SCORE && !writer.fills() {
                continue;
            }
            let item = fact.item(field, node(field));
            let longer = if line.is_empty() { format!("{title}: {item}") } else { format!("{line}; {item}") };
            if writer.cost(&longer) > (all / part).min(writer.left()) {
                break;
            }
            line = longer;
            fitting.push(field);
        }
        if !fitting.is_empty() && writer.reserve(&line) {
            lines.push(line);
            placed.extend(fitting);
        }
    }
    Ok((lines, placed))
}

/// The score below which a field is only named, if the budget is not to be filled.
const MIN_SHARED_SCORE: f64 = 12.0;
/// The share of the budget for which every line is useful enough.
const FREE_SHARE: f64 = 0.4;
/// What a further line must tell for each token if the budget is not to be filled. The score of a field less
/// [`USELESS_SCORE`] is what its line tells.
const MIN_WORTH_PER_TOKEN: f64 = 0.8;
/// The score of a field whose statistics tell nothing.
const USELESS_SCORE: f64 = 15.0;

/// Writes one line of statistics per field, and adds the fields to `shown`.
fn write_statistics<'f>(
    table: &Table<'_>,
    members: Members,
    order: &[&'f Field],
    writer: &mut SectionWriter<'_>,
    section: usize,
    shown: &mut Vec<&'f Field>,
) -> io::Result<()> {
    // Space is reserved for the names of the fields whose statistics do not fit.
    let mut names: u64 = order.iter().map(|field| name_cost(writer, field)).sum();
    let max_for_names = writer.left() * 3 / 10;
    let mut lines = 0;
    let all = writer.left();
    for field in order.iter().take(MAX_TRIED_FIELDS) {
        let available = writer.left().saturating_sub(names.min(max_for_names));
        if available < 8 {
            break;
        }
        let worth = (field.score - USELESS_SCORE).max(0.0);
        let free = writer.fills() || writer.left() as f64 > all as f64 * (1.0 - FREE_SHARE);
        // The first few fields may list more of their values.
        let part = if lines < 3 { 3 } else { 4 };
        let most = if free { available / part } else { (available / part).min(worth as u64) }.max(24);
        for cap in [most, most / 2, 12] {
            let text = FieldStatistics { table, writer, cap, members }.of(field)?;
            let line = match shown_path(&field.path) {
                path if path.is_empty() => text,
                path => format!("{path}: {text}"),
            };
            let cost = writer.cost(&line);
            let useful = free || worth >= cost as f64 * MIN_WORTH_PER_TOKEN;
            if useful && cost <= available && writer.push(section, line) {
                names -= name_cost(writer, field).min(names);
                shown.push(field);
                lines += 1;
                break;
            }
        }
    }
    Ok(())
}

fn name_cost(writer: &SectionWriter<'_>, field: &Field) -> u64 {
    let path = shown_path(&field.path);
    writer.cost(path.rsplit('.').next().unwrap_or(&path))
}

/// Writes the names of fields whose statistics do not fit: those near the top first, all of them if they fit.
fn write_names(fields: &[&Field], writer: &mut SectionWriter<'_>, section: usize) {
    if fields.is_empty() {
        return;
    }
    let depth = |field: &&Field| field.path.matches(['.', '[']).count();
    let mut depths: Vec<usize> = fields.iter().map(depth).collect();
    depths.sort_unstable();
    depths.dedup();
    for deepest in depths.into_iter().rev() {
        let shown: Vec<&Field> = fields.iter().copied().filter(|field| depth(field) <= deepest).collect();
        let more = fields.len() - shown.len();
        let mark = if more == 0 { String::new() } else { format!(" +{more} more fields") };
        let names = grouped_names(&shown);
        // Counting the tokens of thousands of names takes longer than seeing that their bytes do not fit.
        if names.len() as u64 <= writer.bytes() && writer.push(section, format!("also: {names}{mark}")) {
            return;
        }
    }
    let top: Vec<&Field> = fields.iter().copied().filter(|field| depth(field) == 0).collect();
    let mut count = top.len();
    while count > 0 {
        let (names, more) = (grouped_names(&top[..count]), fields.len() - count);
        if names.len() as u64 <= writer.bytes()
            && writer.push(section, format!("also: {names} +{more} more fields"))
        {
            return;
        }
        count = count * 3 / 4;
    }
    writer.push(section, format!("+{} more fields", fields.len()));
}

/// Writes names with common parents written once: `actor{login,id}`.
fn grouped_names(fields: &[&Field]) -> String {
    let mut out = String::new();
    let mut open: Vec<&str> = Vec::new();
    for field in fields {
        let (parents, name) = match field.path.rfind('.') {
            Some(at) if !field.path.contains('"') => {
                (field.path[..at].split('.').collect(), shown_path(&field.path[at + 1..]))
            }
            _ => (Vec::new(), shown_path(&field.path)),
        };
        let common = open.iter().zip(&parents).take_while(|(one, two)| one == two).count();
        out.extend((common..open.len()).map(|_| '}'));
        open.truncate(common);
        if !out.is_empty() && !out.ends_with('{') {
            out.push(',');
        }
        for parent in &parents[common..] {
            out.push_str(parent);
            out.push('{');
            open.push(parent);
        }
        out.push_str(&name);
    }
    out.extend(open.iter().map(|_| '}'));
    out
}
