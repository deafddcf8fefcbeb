//! The strategy for data of any structure.
//!
//! An overview shows the members that occur once at the top, then the lists of records, each by the strategy that fits
//! it ([`rows`], [`series`] or [`grid`]), then values that occur anywhere in nested data.

use std::io;

use super::draft::{Draft, LeftOut};
use super::next_steps::{SQL_NOTE, next_steps};
use super::section_writer::SectionWriter;
use super::sheets::Sheets;
use super::strategy::Strategy;
use super::table::{self, Table};
use super::value_list::of_values;
use super::{grid, rows, series, tree};
use crate::data::Data;
use crate::json::Dialect;
use crate::lines::Lines;
use crate::profile::{PathNode, PathStep};
use crate::records::Notation;
use crate::surroundings::Surroundings;
use crate::text::Text;
use crate::{plain_name, visible, write};

/// The maximum number of lists that are shown.
const MAX_TABLES: usize = 4;
/// The number of levels above which the frame mentions the nesting.
const DEEP_NESTING: usize = 12;

impl Strategy for Data<'_> {
    /// Returns the name of the strategy of the main list.
    fn name(&self) -> &'static str {
        match table::tables(self).first() {
            None => "tree",
            Some(_) if self.profile.recursive => "tree",
            Some(table) if grid::Grid::of(table).is_some() => "grid",
            Some(table) if series::is_series(table) || rows::axis(table).is_some() => "series",
            Some(_) => "rows",
        }
    }

    fn compose(&self, _text: &Text<'_>, arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()> {
        let tables = table::tables(self);
        describe(self, &tables, draft);
        write_others(self, &mut draft.writer);
        write_around(self, draft)?;
        let all = draft.writer.left();
        let (share, rest) = if tables.is_empty() { (all, all) } else { (all / 3, all / 4) };
        if self.profile.node(self.profile.root()).types.objects == 1 {
            let share = if self.profile.recursive { share * 2 / 3 } else { share };
            let shown = draft.writer.within(share, |writer| tree::compose(self, writer, 2))?;
            if tables.is_empty() {
                let values = self.profile.nodes().map(|(_, node)| node.types.scalars()).sum();
                draft.leave_out(LeftOut::new("", "values", shown, values));
            }
        }
        if self.profile.recursive || self.profile.depth > DEEP_NESTING {
            draft.writer.within(rest, |writer| write_anywhere(self, writer, 60));
        }
        write_oddities(self, &tables, &mut draft.writer, 61)?;
        write_tables(self, &tables, arguments, draft)
    }
}

/// Writes an overview of one value inside a text.
pub(crate) fn overview_of(
    text: &Text<'_>,
    at: u64,
    dialect: Dialect,
    writer: &mut SectionWriter<'_>,
) -> io::Result<()> {
    let data = Data::value(text, at, dialect)?;
    let title = format!("{} of JSON:", write::size(data.range.end - data.range.start));
    write_value(&data, title, writer, 0)?;
    Ok(())
}

/// Writes an overview of data into one section, under a title; returns what it leaves out.
pub(super) fn write_value(
    data: &Data<'_>,
    title: String,
    writer: &mut SectionWriter<'_>,
    section: usize,
) -> io::Result<Vec<LeftOut>> {
    let mut draft = Draft::new(writer.split_off());
    let tables = table::tables(data);
    let share = if tables.is_empty() { draft.writer.left() } else { draft.writer.left() / 2 };
    draft.writer.push(1, title);
    if data.profile.node(data.profile.root()).types.objects == 1 {
        draft.writer.within(share, |writer| tree::compose(data, writer, 2))?;
    }
    write_tables(data, &tables, &[], &mut draft)?;
    writer.take_back(section, draft.writer);
    Ok(draft.left_out)
}

fn write_tables(
    data: &Data<'_>,
    tables: &[Table<'_>],
    arguments: &[String],
    draft: &mut Draft<'_>,
) -> io::Result<()> {
    let count = tables.len().min(MAX_TABLES);
    let weight = |table: &Table<'_>| (data.profile.node(table.container).bytes as f64).powf(0.7);
    for (number, table) in tables.iter().take(count).enumerate() {
        let rest: f64 = tables[number..count].iter().map(weight).sum();
        let share = (draft.writer.left() as f64 * weight(table) / rest) as u64;
        let section = 10 + 8 * number;
        if let Some(sheets) = Sheets::of(table) {
            let left_out = draft.writer.within(share, |writer| sheets.write(writer, section))?;
            left_out.into_iter().for_each(|left| draft.leave_out(left));
            draft.frame.below = format!("an overview of each of the {}", table.nouns());
            continue;
        }
        let seen = draft.writer.within(share, |writer| {
            if series::is_series(table) {
                series::compose(table, writer, section)
            } else {
                rows::compose(table, arguments, writer, section)
            }
        })?;
        if number == 0 {
            draft.frame.below = below(table, &seen);
        }
        draft.leave_out(LeftOut::new(&table.path, table.nouns(), seen.records, table.count));
        if seen.records > 0 {
            let fields = table.fields.len() as u64;
            draft.leave_out(LeftOut::new(&table.path, "fields", seen.fields as u64, fields));
            draft.leave_out(LeftOut::new(&table.path, "values in full", seen.whole, seen.values));
        }
    }
    for table in tables.iter().skip(count) {
        draft.leave_out(LeftOut::new(&table.path, table.nouns(), 0, table.count));
    }
    Ok(())
}

fn below(table: &Table<'_>, seen: &rows::ShownCounts) -> String {
    match seen.records {
        0 => "statistics".into(),
        every if every == table.count => format!("statistics, and each of the {}", table.nouns()),
        some => format!("statistics, and {}", write::plural(some, table.noun())),
    }
}

/// Fills the frame: what came back and how to read on.
fn describe(data: &Data<'_>, tables: &[Table<'_>], draft: &mut Draft<'_>) {
    let profile = &data.profile;
    let root = profile.node(profile.root());
    let nesting = if profile.depth > DEEP_NESTING {
        format!(", nested {} levels deep", profile.depth)
    } else {
        String::new()
    };
    let keys = write::plural(root.members.as_ref().map_or(0, |members| members.max), "key");
    draft.frame.what = match tables.first() {
        Some(table) if table.path.is_empty() => {
            let others = match data.others.count {
                0 => String::new(),
                count => {
                    let form = if table.noun() == "line" { " of one form" } else { "" };
                    format!("{form} and {}", write::plural(count, "other line"))
                }
            };
            format!("{}{others}{nesting}", write::plural(data.regular_records(), table.noun()))
        }
        Some(table) => {
            let records = write::plural(table.count, table.noun());
            let place = if plain_name::is_plain_path(&table.path) { &table.path } else { "a list" };
            format!("an object of {keys} with {records} in {place}{nesting}")
        }
        None if root.types.objects > 0 => format!("an object of {keys}{nesting}"),
        None => format!("a JSON value{nesting}"),
    };
    draft.frame.below = "its parts by level, values cut at 80 characters".into();
    if let Some(broken) = data.broken {
        draft.frame.notes.push(format!("It breaks off at byte {} ({}).", broken.offset, broken.reason));
    }
    draft.frame.next = next_steps(data, tables.first());
    if let [main, _, ..] = tables
        && plain_name::is_plain_path(&main.path)
        && !main.path.is_empty()
    {
        draft.frame.notes.push(format!("{SQL_NOTE} {}.", main.path));
    }
}

/// Writes the lines that do not have the form of the others.
fn write_others(data: &Data<'_>, writer: &mut SectionWriter<'_>) {
    if data.others.count == 0 {
        return;
    }
    let share = writer.left() / 8;
    let listed = writer.within(share, |writer| {
        let lines = data.others.lines.iter().rev().map(|(number, text)| format!("L{number} {text}"));
        let mut fitting: Vec<String> = lines.take_while(|line| writer.reserve(line)).collect();
        fitting.reverse();
        let count = fitting.len() as u64;
        fitting.into_iter().for_each(|line| writer.place(91, line));
        count
    });
    let others = write::plural(data.others.count, "other line");
    writer.push(
        91,
        if listed < data.others.count {
            format!("{listed} of {others} above")
        } else {
            format!("{others} above")
        },
    );
}

/// The maximum number of lines shown of the text before the data, and of that after it.
const MAX_LINES_AROUND: usize = 12;
/// The maximum number of characters shown of a line before or after the data.
const MAX_AROUND_CHARACTERS: usize = 160;

/// Writes the beginning of the text before and after the data, and notes in the frame where that text is.
fn write_around(data: &Data<'_>, draft: &mut Draft<'_>) -> io::Result<()> {
    let around = Surroundings::of(&data.text, data.range.clone())?;
    draft.frame.notes.extend(around.note());
    if matches!(data.notation, Notation::Pattern(_)) {
        // What is before such records was written with the other lines.
        return Ok(());
    }
    let share = draft.writer.left() / 8;
    let (mut shown, mut all) = (0, 0);
    for (section, range, lines) in
        [(0, 0..data.range.start, around.before), (90, data.range.end..data.text.length()?, around.after)]
    {
        let Some(numbers) = lines else { continue };
        all += numbers.end() - numbers.start() + 1;
        let mut lines = Lines::from(&data.text, range.start)?;
        let mut texts = Vec::new();
        while let Some(line) = lines.next()?.filter(|line| line.at < range.end) {
            let end = (range.end - line.at).min(line.bytes.len() as u64) as usize;
            let text = visible::cut(&String::from_utf8_lossy(&line.bytes[..end]), MAX_AROUND_CHARACTERS);
            if !texts.is_empty() || !text.is_empty() {
                texts.push(text);
            }
            if texts.len() >= MAX_LINES_AROUND {
                break;
            }
        }
        draft.writer.within(share, |writer| {
            for text in texts {
                let whole = !text.contains('…');
                if !text.is_empty() && !writer.push(section, text) {
                    return;
                }
                shown += u64::from(whole);
            }
        });
    }
    draft.leave_out(LeftOut::new("", "lines around the data", shown, all));
    Ok(())
}

/// Writes statistics of members by name, wherever they occur, for recursive data: trees of files, of syntax, of replies.
fn write_anywhere(data: &Data<'_>, writer: &mut SectionWriter<'_>, section: usize) {
    let merged = data.profile.by_name();
    if merged.is_empty() || !writer.push(section, format!("anywhere, {} levels deep:", data.profile.depth)) {
        return;
    }
    // A name that occurs at one path only has its statistics there.
    let paths = |name: &str| {
        let is_named = |node: &PathNode| matches!(&node.step, PathStep::Key(key) | PathStep::Anywhere(key) if **key == *name);
        data.profile.nodes().filter(|(_, node)| is_named(node)).count()
    };
    let mut ranked: Vec<_> = merged
        .iter()
        .filter(|(name, node)| node.types.strings + node.types.numbers > 0 && paths(name) != 1)
        .collect();
    ranked.sort_by_key(|(_, node)| {
        let (distinct, exact) = node.counts.distinct();
        (!exact || distinct * 2 > node.counts.total(), std::cmp::Reverse(node.counts.total()))
    });
    for (name, node) in ranked.into_iter().take(12) {
        let cap = (writer.left() / 3).max(20);
        let text = of_values(node, writer, cap);
        writer.push(section, format!("{}: {text}", visible::key(name)));
    }
}

/// The maximum number of keys that occur twice in one object and are listed.
const MAX_DOUBLED_KEYS: usize = 8;

/// Writes what is unusual: duplicate keys, the most deeply nested value.
fn write_oddities(
    data: &Data<'_>,
    tables: &[Table<'_>],
    writer: &mut SectionWriter<'_>,
    section: usize,
) -> io::Result<()> {
    let mut doubled = Vec::new();
    let twice =
        data.profile.nodes().filter(|(_, node)| node.duplicates > 0 && matches!(node.step, PathStep::Key(_)));
    let mut more = 0;
    for (id, node) in twice {
        if doubled.len() == MAX_DOUBLED_KEYS {
            more += 1;
            continue;
        }
        let path = data.profile.path(data.profile.root(), id);
        let mut holder = None;
        for table in tables {
            holder = holder.or(table.label_at(node.duplicate_at)?);
        }
        doubled.push(holder.map_or(path.clone(), |holder| format!("{path} (in {holder})")));
    }
    if !doubled.is_empty() {
        doubled.extend((more > 0).then(|| format!("and {more} more")));
        writer.push(section, format!("keys that occur twice in one object: {}", doubled.join(", ")));
    }
    if data.profile.depth > DEEP_NESTING
        && let Some(value) = data.scalar(data.profile.deepest_at)?
    {
        let value = table::scalar_text(&value, 80);
        writer.push(section, format!("deepest value, level {}: {value}", data.profile.depth));
    }
    Ok(())
}
