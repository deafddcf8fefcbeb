//! Numbers by group, where records have one number each and a field that says what it measures: metrics of exporters,
//! tables in long form. Statistics of that number over all records would add up what has nothing in common.

use std::io;

use super::additive::is_additive;
use super::field::{Field, FieldKind};
use super::section_writer::SectionWriter;
use super::table::{Table, field_value, scalar_text, shown_path};
use super::value_list::number_text;
use crate::json::value::Value;
use crate::profile::number::{Number, NumberStats};
use crate::records::Record;
use crate::{visible, write};

/// Names of fields that say what the number of a record measures.
const MEASURE_NAMES: &[&str] = &[
    "metric",
    "name",
    "measure",
    "measurement",
    "variable",
    "indicator",
    "series",
    "item",
    "parameter",
    "__name__",
];
/// The maximum number of records that are read once more to add up their numbers.
const MAX_RECORDS: u64 = 5000;
/// The maximum number of groups.
const MAX_GROUPS: u64 = 16;
/// The minimum number of different numbers of a measurement.
const MIN_DIFFERENT_NUMBERS: u64 = 8;
/// The maximum number of characters that name the record with the greatest number of a group.
const MAX_PLACE_CHARACTERS: usize = 48;

/// The numbers of one group.
struct Group {
    name: String,
    numbers: NumberStats,
    /// What else the record with the greatest number says.
    place: String,
}

/// Writes the numbers of each group, where records are measurements; as many groups as fit a quarter of the budget.
pub(super) fn write_groups(
    table: &Table<'_>,
    writer: &mut SectionWriter<'_>,
    section: usize,
) -> io::Result<()> {
    let Some((group, number)) = measurement(table) else { return Ok(()) };
    let groups = read_groups(table, group, number)?;
    let adds_up = is_additive(&number.name());
    let entries: Vec<String> = groups.iter().map(|group| group.written(adds_up)).collect();
    let title = format!("{} by {}", shown_path(&number.path), shown_path(&group.path));
    let share = writer.left() / 4;
    writer.within(share, |writer| {
        for count in (1..=entries.len()).rev() {
            let more = if count < entries.len() {
                format!("; +{} more", entries.len() - count)
            } else {
                String::new()
            };
            if writer.push(section, format!("{title}: {}{more}", entries[..count].join("; "))) {
                return;
            }
        }
    });
    Ok(())
}

/// Returns the field that says what is measured, and the only number of the records.
fn measurement<'t>(table: &'t Table<'_>) -> Option<(&'t Field, &'t Field)> {
    let node = |field: &Field| table.data.profile.node(field.node);
    let is_whole =
        |field: &Field| field.single && field.position.is_none() && node(field).seen() == table.count;
    let is_group = |field: &&Field| {
        let (distinct, exact) = node(field).counts.distinct();
        field.kind == FieldKind::Category
            && is_whole(field)
            && MEASURE_NAMES.contains(&field.name().as_str())
            && exact
            && (2..=MAX_GROUPS).contains(&distinct)
    };
    let is_number = |field: &&Field| {
        let differs = node(field).counts.distinct().0 > MIN_DIFFERENT_NUMBERS;
        field.kind == FieldKind::Number && is_whole(field) && differs
    };
    // Numbers that only rise or fall count the records instead of measuring something.
    let is_ordered = |field: &Field| {
        field.numbers(node(field)).is_some_and(|numbers| numbers.is_rising() || numbers.is_falling())
    };
    let mut numbers = table.fields.iter().filter(is_number);
    let number = numbers.next().filter(|number| !is_ordered(number))?;
    (numbers.next().is_none() && table.count <= MAX_RECORDS).then_some(())?;
    Some((table.fields.iter().find(is_group)?, number))
}

fn read_groups(table: &Table<'_>, group: &Field, number: &Field) -> io::Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    let node = table.data.profile.node(number.node);
    table.records.for_each(|record| {
        let name = field_value(&record.value, &group.path).map(|value| scalar_text(value, 60));
        let raw = field_value(&record.value, &number.path).map(|value| scalar_text(value, 60));
        let (Some(name), Some(raw)) = (name, raw) else { return };
        let counted = Number::parse_text(raw.as_bytes()).filter(|_| node.counts_as_number(raw.as_bytes()));
        let Some((value, _)) = counted else { return };
        let known = groups.iter().position(|known| known.name == name);
        let at = known.unwrap_or_else(|| {
            groups.push(Group { name, numbers: NumberStats::default(), place: String::new() });
            groups.len() - 1
        });
        let entry = &mut groups[at];
        entry.numbers.add(&value, record.number);
        if entry.numbers.max.at == record.number {
            entry.place = place(record, [group, number]);
        }
    })?;
    Ok(groups)
}

/// Returns what a record says beside its group and its number.
fn place(record: &Record, without: [&Field; 2]) -> String {
    let Value::Object(members) = &record.value else { return String::new() };
    let is_beside = |key: &str| without.iter().all(|field| field.path != key);
    let texts = members.read.iter().filter(|(key, _)| is_beside(key)).filter_map(|(_, value)| match value {
        Value::String(text) if !text.text.is_empty() => Some(&*text.text),
        _ => None,
    });
    visible::cut(&texts.collect::<Vec<_>>().join(" "), MAX_PLACE_CHARACTERS)
}

impl Group {
    fn written(&self, adds_up: bool) -> String {
        let Self { name, numbers, place } = self;
        let (min, max) = (number_text(&numbers.min), number_text(&numbers.max));
        if !numbers.varies() {
            return format!("{name} {max}");
        }
        let sum = match numbers.sum() {
            (sum, exact) if adds_up => format!(", sum {}{sum}", write::estimate_mark(exact)),
            _ => String::new(),
        };
        let place = if place.is_empty() { String::new() } else { format!(" (max at {place})") };
        format!("{name} {min} to {max}{sum}{place}")
    }
}
