//! The statistics of a field over all records, as one line.

use std::io;

use super::field::{Field, FieldKind};
use super::room::Room;
use super::table::{Table, field_value, scalar_text};
use crate::json::value::Value;
use crate::profile::names::Names;
use crate::profile::node::Node;
use crate::profile::number::NumberStats;
use crate::profile::tally::{Entry, Tally};
use crate::{visible, write};

/// Characters shown of one value in a statistic.
const VALUE: usize = 60;
/// Characters shown of a record's label.
const LABEL: usize = 60;

/// Writes the statistics of one field after another, within a limit each.
pub(crate) struct Statistic<'a, 'd> {
    pub(crate) table: &'a Table<'d>,
    pub(crate) room: &'a Room<'a>,
    /// About how many tokens a list of values may take.
    pub(crate) cap: u64,
}

impl Statistic<'_, '_> {
    /// Writes the statistics of a field.
    pub(crate) fn of(&self, field: &Field) -> io::Result<String> {
        let node = self.table.data.profile.node(field.node);
        let mut parts = vec![match field.kind {
            FieldKind::Empty => "null".into(),
            FieldKind::Constant => {
                format!("always {}", node.tally.entries().first().map(shown).unwrap_or_default())
            }
            FieldKind::Bool => bools(node),
            FieldKind::Category => self.groups(field, node)?,
            FieldKind::Number => self.numbers(field, node)?,
            FieldKind::Time => self.times(field, node)?,
            FieldKind::Identifier => self.identifiers(field, node),
            FieldKind::Text => self.texts(node)?,
            FieldKind::List => self.lists(node)?,
            FieldKind::Map => self.map(field, node)?,
            FieldKind::Object => "object".into(),
        }];
        parts.extend(self.missing(field, node)?);
        parts.retain(|part| !part.is_empty());
        Ok(parts.join("; "))
    }

    /// What the record is called at an offset, in brackets.
    fn label(&self, word: &str, offset: u64) -> io::Result<String> {
        let label = self.table.label_at(offset)?.filter(|label| !label.is_empty());
        Ok(label.map(|label| format!(" ({word}{})", visible::cut(&label, LABEL))).unwrap_or_default())
    }

    /// Group counts, most frequent first; a value that occurs a few times names its records.
    fn groups(&self, field: &Field, node: &Node) -> io::Result<String> {
        let entries = node.tally.entries();
        let rare = entries.iter().filter(|entry| entry.count <= 3).count();
        let named = field.single && rare <= 6 && entries.len() > 1;
        let list = self.list(&node.tally, |entry| {
            let Some(places) =
                entry.places().filter(|places| named && (places.len() == 1 || entries.len() <= 6))
            else {
                return Ok(None);
            };
            let mut labels: Vec<String> = Vec::new();
            for &place in &places {
                let label = self.table.label_at(place)?.map(|label| visible::cut(&label, LABEL));
                labels.extend(label.filter(|label| *label != shown(entry) && !labels.contains(label)));
            }
            Ok((labels.len() == places.len()).then(|| labels.join(", ")))
        })?;
        Ok(list)
    }

    fn list(
        &self,
        tally: &Tally,
        note: impl FnMut(&Entry) -> io::Result<Option<String>>,
    ) -> io::Result<String> {
        group_counts(tally, self.room, self.cap, note)
    }

    fn numbers(&self, field: &Field, node: &Node) -> io::Result<String> {
        let Some(numbers) = field.numbers(node).filter(|numbers| numbers.count > 0) else {
            return Ok(String::new());
        };
        let (distinct, exact) = node.tally.distinct();
        let whole = field.position.is_none();
        if whole && exact && distinct <= 24 && distinct * 4 <= numbers.count {
            let groups = self.groups(field, node)?;
            if distinct <= 3 || !is_additive(&field.name()) {
                return Ok(groups);
            }
            let (sum, exact) = numbers.sum();
            let about = if exact { "" } else { "~" };
            return Ok(format!("sum {about}{sum}{}; {groups}", self.label("max: ", numbers.max_at)?));
        }
        let (min, max) =
            (self.table.value(field, numbers.min_at, 40)?, self.table.value(field, numbers.max_at, 40)?);
        if numbers.min >= numbers.max {
            return Ok(min);
        }
        if whole && node.tally.is_unique() && numbers.is_sorted() {
            let way = if numbers.falls == 0 { "rising" } else { "falling" };
            return Ok(format!("{min} to {max}, {way}"));
        }
        let measures = self.measures(field, numbers);
        Ok(format!("{min} to {max}{measures}{}", self.label("max: ", numbers.max_at)?))
    }

    fn measures(&self, field: &Field, numbers: &NumberStats) -> String {
        let mut out = format!(", mean {}", write::float(numbers.mean()));
        if self.cap >= 80 {
            let (median, exact) = numbers.median();
            out.push_str(&format!(", median {}{}", if exact { "" } else { "~" }, write::float(median)));
        }
        if is_additive(&field.name()) {
            let (sum, exact) = numbers.sum();
            out.push_str(&format!(", sum {}{sum}", if exact { "" } else { "~" }));
        }
        out
    }

    fn times(&self, field: &Field, node: &Node) -> io::Result<String> {
        let Some(times) = &node.times else { return Ok(String::new()) };
        let (min, max) =
            (self.table.value(field, times.min_at, 40)?, self.table.value(field, times.max_at, 40)?);
        Ok(if min == max { min } else { format!("{min} to {max}") })
    }

    fn identifiers(&self, field: &Field, node: &Node) -> String {
        let mut out =
            if field.single { "unique".to_owned() } else { format!("{} values, unique", node.tally.total()) };
        if let Some(names) = node.names.as_deref().cloned().or_else(|| Names::of(node.tally.entries())) {
            out.push_str(&self.names(&names));
        }
        out
    }

    /// What names have in common: folders, beginnings, endings.
    fn names(&self, names: &Names) -> String {
        let mut out = String::new();
        if let Some((folder, parts)) = names.below_common_folder() {
            if let Ok(list) = self.list(&parts, |_| Ok(None)) {
                out.push_str(&format!("; in {folder}: {list}"));
            }
            return out;
        }
        for (word, tally) in [("beginning", &names.beginnings), ("ending", &names.endings)] {
            let (distinct, exact) = tally.distinct();
            let most = if word == "ending" { 24 } else { 8 };
            if exact
                && distinct <= most
                && distinct * 4 <= names.total
                && tally.total() * 2 >= names.total
                && (distinct > 1 || word == "ending")
                && let Ok(list) = self.list(tally, |_| Ok(None))
            {
                out.push_str(&format!("; {word} {list}"));
            }
        }
        out
    }

    fn texts(&self, node: &Node) -> io::Result<String> {
        let Some(lengths) = &node.lengths else { return Ok("text".into()) };
        if lengths.min == lengths.max {
            return Ok(format!("text of {}", write::plural(lengths.max, "character")));
        }
        let mean = lengths.total / lengths.count.max(1);
        let longest =
            if lengths.max > 2 * mean { self.label("longest: ", lengths.max_at)? } else { String::new() };
        Ok(format!("text of {} to {} characters{longest}", lengths.min, lengths.max))
    }

    fn lists(&self, node: &Node) -> io::Result<String> {
        let Some(members) = &node.members else { return Ok("list".into()) };
        if members.max == 0 {
            return Ok("empty lists".into());
        }
        if members.count == 1 {
            return Ok(format!("list of {}", members.max));
        }
        if members.min == members.max {
            return Ok(format!("{} in all, lists of {}", members.total, members.max));
        }
        let filled = if members.empty > 0 {
            format!(", {} non-empty", members.count - members.empty)
        } else {
            String::new()
        };
        let most = self.label("most: ", members.max_at)?;
        Ok(format!("{} in all, lists of {} to {}{filled}{most}", members.total, members.min, members.max))
    }

    /// How many keys a map has, and the first of them with their values where those are short.
    fn map(&self, field: &Field, node: &Node) -> io::Result<String> {
        let (distinct, exact) = node.keys.distinct();
        let sizes = node.members.as_ref().map_or((0, 0), |members| (members.min, members.max));
        let about = if exact { "" } else { "~" };
        let mut out = format!("map, {about}{distinct} keys");
        if node.types.objects > 1 {
            out.push_str(&format!(" ({} to {} each)", sizes.0, sizes.1));
        }
        let pairs = self.pairs(field, node)?;
        let (shown, left) = fit(
            self.room,
            self.cap,
            if pairs.is_empty() {
                node.keys.ranked().iter().map(|entry| shown(entry)).collect()
            } else {
                pairs
            },
        );
        let left = left.max((distinct as usize).saturating_sub(shown.len()));
        if !shown.is_empty() {
            out.push_str(&format!(": {}", shown.join(", ")));
        }
        if left > 0 {
            out.push_str(&format!(" +{left} more"));
        }
        Ok(out)
    }

    /// The first members of a map of scalars.
    fn pairs(&self, field: &Field, node: &Node) -> io::Result<Vec<String>> {
        let scalars =
            node.values.is_some_and(|values| self.table.data.profile.node(values).types.containers() == 0);
        if !field.single || !scalars {
            return Ok(Vec::new());
        }
        let record = self.table.records.holding(node.first_at)?;
        let Some(Value::Object(members)) =
            record.as_ref().and_then(|record| field_value(&record.value, &field.path))
        else {
            return Ok(Vec::new());
        };
        let pairs = members.read.iter().take(40);
        Ok(pairs
            .map(|(key, value)| format!("{}={}", visible::cut(key, 40), scalar_text(value, 40)))
            .collect())
    }

    /// How many records lack the field, or which few have it.
    fn missing(&self, field: &Field, node: &Node) -> io::Result<Option<String>> {
        let have = node.seen() - node.types.nulls;
        if have >= field.expected || field.expected < 2 || field.kind == FieldKind::Empty {
            return Ok(None);
        }
        let lack = field.expected - have;
        if have <= 2 && field.expected > 4 {
            return Ok(Some(format!("only in {have}{}", self.label("", node.first_at)?)));
        }
        Ok(Some(if lack <= have {
            let word = if node.types.nulls == lack { "null" } else { "missing" };
            format!("{word} in {lack}")
        } else {
            format!("in {have}")
        }))
    }
}

/// Words in the names of numbers that are not added up.
const NOT_ADDITIVE: &[&str] = &[
    "id",
    "index",
    "order",
    "position",
    "line",
    "column",
    "row",
    "col",
    "x",
    "y",
    "z",
    "lat",
    "lon",
    "lng",
    "latitude",
    "longitude",
    "year",
    "month",
    "day",
    "time",
    "timestamp",
    "date",
    "updated",
    "created",
    "version",
    "port",
    "code",
    "tz",
    "rank",
    "level",
    "status",
    "temp",
    "rate",
    "ratio",
    "percent",
    "mean",
    "min",
    "max",
    "avg",
];

fn is_additive(name: &str) -> bool {
    !name.split(|c: char| !c.is_ascii_alphabetic()).any(|word| NOT_ADDITIVE.contains(&word))
        && !["line", "column", "temp", "version", "index", "order", "time", "date"]
            .iter()
            .any(|word| name.ends_with(word))
}

fn bools(node: &Node) -> String {
    let counts = [("true", node.types.trues), ("false", node.types.falses)];
    counts
        .iter()
        .filter(|(_, count)| *count > 0)
        .map(|(word, count)| format!("{word}={count}"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Writes the statistics of values that belong to no table.
pub(crate) fn of_values(node: &Node, room: &Room<'_>, cap: u64) -> String {
    let numbers = node.numbers.as_ref().filter(|numbers| numbers.count * 2 > node.tally.total());
    let (distinct, _) = node.tally.distinct();
    match numbers {
        Some(numbers) if distinct > 8 => {
            format!(
                "{} to {}, mean {}",
                write::float(numbers.min),
                write::float(numbers.max),
                write::float(numbers.mean())
            )
        }
        _ => {
            let mut out = group_counts(&node.tally, room, cap, |_| Ok(None)).unwrap_or_default();
            if let Some(names) = Names::of(node.tally.entries())
                .filter(|names| names.endings.is_complete() && names.endings.total() * 2 >= names.total)
            {
                let list = group_counts(&names.endings, room, cap / 2, |_| Ok(None)).unwrap_or_default();
                out.push_str(&format!("; ending {list}"));
            }
            out
        }
    }
}

/// A value as it is shown in a statistic.
fn shown(entry: &Entry) -> String {
    let text = visible::cut(&entry.text(), VALUE);
    if text.is_empty() { "\"\"".into() } else { text }
}

/// As many texts as fit into `cap` tokens, at least one, and how many are left.
fn fit(room: &Room<'_>, cap: u64, texts: Vec<String>) -> (Vec<String>, usize) {
    let all = texts.len();
    let mut spent = 0;
    let kept: Vec<String> = texts
        .into_iter()
        .enumerate()
        .take_while(|(index, text)| {
            spent += room.cost(text);
            *index == 0 || spent <= cap
        })
        .map(|(_, text)| text)
        .collect();
    let left = all - kept.len();
    (kept, left)
}

/// `value=count` for each value, most frequent first, as many as fit into `cap` tokens.
pub(crate) fn group_counts(
    tally: &Tally,
    room: &Room<'_>,
    cap: u64,
    mut note: impl FnMut(&Entry) -> io::Result<Option<String>>,
) -> io::Result<String> {
    let mut ranked = tally.ranked();
    let (distinct, exact) = tally.distinct();
    let about = if exact { "" } else { "~" };
    // Among values that hardly come back, only those that do tell anything.
    if distinct > 12 && distinct * 2 > tally.total() {
        ranked.retain(|entry| entry.count > 1);
    }
    if ranked.is_empty() {
        return Ok(format!("{about}{distinct} distinct"));
    }
    // Values that all come equally often are an axis, not groups.
    let even = distinct > 12 && ranked[0].count * distinct <= tally.total() * 3 / 2;
    let cap = if even { cap.min(16) } else { cap };
    // A prefix that all values share is written once.
    let prefix = common_prefix(&ranked);
    let mut texts = Vec::new();
    let mut spent = 0;
    for entry in &ranked {
        let value = match prefix.len() {
            0 => shown(entry),
            length => visible::cut(&entry.text()[length..], VALUE),
        };
        let note = if spent <= cap { note(entry)? } else { None };
        let text = match note {
            Some(note) => format!("{value}={} ({note})", entry.count),
            None => format!("{value}={}", entry.count),
        };
        spent += room.cost(&text);
        if spent > cap && !texts.is_empty() {
            break;
        }
        texts.push(text);
    }
    let spaced = texts.iter().any(|text| text.contains(' '));
    let mut out = match distinct {
        0..=12 => String::new(),
        _ => format!("{about}{distinct} distinct: "),
    };
    if !prefix.is_empty() {
        out.push_str(&format!("({prefix}…) "));
    }
    out.push_str(&texts.join(if spaced { "; " } else { " " }));
    if (texts.len() as u64) < distinct {
        out.push_str(&format!("{} +{} more", if spaced { ";" } else { "" }, distinct - texts.len() as u64));
    }
    Ok(out)
}

/// A beginning that all of several long values share, cut at a mark; empty where there is none worth it.
fn common_prefix(ranked: &[&Entry]) -> String {
    let texts: Vec<String> = ranked.iter().map(|entry| entry.text()).collect();
    if texts.len() < 3 || texts.iter().any(|text| text.len() < 24) {
        return String::new();
    }
    let first = &texts[0];
    let same = texts[1..].iter().fold(first.len(), |same, text| {
        first.bytes().zip(text.bytes()).take(same).take_while(|(one, two)| one == two).count()
    });
    let end = first
        .get(..same)
        .and_then(|prefix| prefix.rfind(['/', '#', ':', '.', '-', '_', ' ']))
        .map_or(0, |at| at + 1);
    if end < 20 { String::new() } else { first[..end].to_owned() }
}
