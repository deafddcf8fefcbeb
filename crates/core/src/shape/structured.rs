//! Data of any structure: what stands once at the top, then its lists of records, then what occurs anywhere in it.

use std::io;

use super::draft::{Draft, LeftOut};
use super::room::Room;
use super::statistic::of_values;
use super::table::{self, Table};
use super::{grid, rows, series, skeleton};
use crate::data::Data;
use crate::json::Dialect;
use crate::lines::Lines;
use crate::profile::Step;
use crate::records::Notation;
use crate::text::Text;
use crate::{visible, write};

/// The most lists that get a table.
const TABLES: usize = 4;
/// Nesting from here on is worth a word.
const DEEP: usize = 12;

/// Returns the name of the strategy that data of this form gets.
pub(crate) fn strategy(data: &Data<'_>) -> &'static str {
    match table::tables(data).first() {
        None => "tree",
        Some(_) if data.profile.recursive => "tree",
        Some(table) if grid::Grid::of(table).is_some() => "grid",
        Some(table) if series::is_series(table) || rows::axis(table).is_some() => "series",
        Some(_) => "rows",
    }
}

/// Fills a draft with an overview of data.
pub(crate) fn compose(data: &Data<'_>, arguments: &[String], draft: &mut Draft<'_>) -> io::Result<()> {
    let tables = table::tables(data);
    describe(data, &tables, draft);
    write_around(data, &mut draft.room)?;
    let all = draft.room.left();
    let (share, rest) = if tables.is_empty() { (all, all) } else { (all / 3, all * 2 / 5) };
    if data.profile.node(data.profile.root()).types.objects == 1 {
        let share = if data.profile.recursive { share * 2 / 3 } else { share };
        let shown = draft.room.within(share, |room| skeleton::compose(data, room, 2))?;
        if tables.is_empty() {
            let values = data.profile.nodes().map(|(_, node)| node.types.scalars()).sum();
            draft.leave_out(LeftOut::new("", "values", shown, values));
        }
    }
    if data.profile.recursive || data.profile.depth > DEEP {
        draft.room.within(rest, |room| write_anywhere(data, room, 60));
    }
    write_oddities(data, &tables, &mut draft.room, 61)?;
    write_tables(data, &tables, arguments, draft)
}

/// Fills a room with an overview of one value inside a text.
pub(crate) fn overview_of(text: &Text<'_>, at: u64, dialect: Dialect, room: &mut Room<'_>) -> io::Result<()> {
    let Some(data) = Data::json(text, at, dialect)? else { return Ok(()) };
    let mut draft = Draft::new(room.split_off());
    let tables = table::tables(&data);
    let share = if tables.is_empty() { draft.room.left() } else { draft.room.left() / 2 };
    draft.room.push(1, format!("{} of JSON:", write::size(data.range.end - data.range.start)));
    if data.profile.node(data.profile.root()).types.objects == 1 {
        draft.room.within(share, |room| skeleton::compose(&data, room, 2))?;
    }
    write_tables(&data, &tables, &[], &mut draft)?;
    room.take_back(draft.room);
    Ok(())
}

fn write_tables(
    data: &Data<'_>,
    tables: &[Table<'_>],
    arguments: &[String],
    draft: &mut Draft<'_>,
) -> io::Result<()> {
    let count = tables.len().min(TABLES);
    let weight = |table: &Table<'_>| (data.profile.node(table.container).bytes as f64).powf(0.7);
    for (number, table) in tables.iter().take(count).enumerate() {
        let rest: f64 = tables[number..count].iter().map(weight).sum();
        let share = (draft.room.left() as f64 * weight(table) / rest) as u64;
        let section = 10 + 8 * number;
        let seen = draft.room.within(share, |room| {
            if series::is_series(table) {
                series::compose(table, room, section)
            } else {
                rows::compose(table, arguments, room, section)
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

fn below(table: &Table<'_>, seen: &rows::Shown) -> String {
    let path =
        if table.path.is_empty() { String::new() } else { format!(" of {}", visible::cut(&table.path, 60)) };
    let all = format!("{}{path}", write::plural(table.count, table.noun()));
    match seen.records {
        0 => format!("statistics of {all}"),
        every if every == table.count => format!("statistics of {all}, and each of them thinned"),
        some => format!("statistics of {all}, and {some} of them"),
    }
}

/// Says what came back and how to read on.
fn describe(data: &Data<'_>, tables: &[Table<'_>], draft: &mut Draft<'_>) {
    let profile = &data.profile;
    let root = profile.node(profile.root());
    let nesting =
        if profile.depth > DEEP { format!(", nested {} levels deep", profile.depth) } else { String::new() };
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
            format!("{}{others}{nesting}", write::plural(table.count, table.noun()))
        }
        Some(table) => {
            let records = write::plural(table.count, table.noun());
            format!("an object of {keys} with {records} in {}{nesting}", visible::cut(&table.path, 60))
        }
        None if root.types.objects > 0 => format!("an object of {keys}{nesting}"),
        None => format!("a JSON value{nesting}"),
    };
    draft.frame.below = "its parts by level, values cut at 80 characters".into();
    if let Some(broken) = data.broken {
        draft.frame.notes.push(format!("It breaks off at byte {} ({}).", broken.offset, broken.reason));
    }
    draft.frame.next = next_steps(tables.first());
}

/// Calls that read on: pages of the main list, or the parts by path.
fn next_steps(main: Option<&Table<'_>>) -> Vec<String> {
    let Some(table) = main else {
        return vec!["\"path\":\"/\"".into(), "\"jq\":\"keys\"".into(), "\"grep\":\"text\"".into()];
    };
    let path = if table.path.is_empty() { ".".to_owned() } else { format!(".{}", table.path) };
    let slice = if table.count > 20 { "[10:20]" } else { "[0:3]" };
    let jq = if table.keyed() { format!("{path}|keys") } else { format!("{path}{slice}") };
    let mut steps = vec!["\"page\":1".to_owned()];
    if !jq.contains(['"', '\\', '*']) && jq.len() < 60 {
        steps.push(format!("\"jq\":\"{jq}\""));
    }
    let label = table.label.map(|label| table.fields[label].path.as_str());
    if let Some(field) =
        label.filter(|field| !field.is_empty() && field.len() < 40 && !field.contains(['"', '\\']))
    {
        steps.push(format!("\"fields\":[\"{field}\"]"));
    }
    steps.push("\"sql\":\"select count(*) from t\"".into());
    steps.push("\"grep\":\"text\"".into());
    steps
}

/// Words before and after data that stands inside a text.
fn write_around(data: &Data<'_>, room: &mut Room<'_>) -> io::Result<()> {
    let share = room.left() / 8;
    if data.others.count > 0 {
        let listed = room.within(share, |room| {
            let lines = data.others.lines.iter().rev().map(|(number, text)| format!("L{number} {text}"));
            let mut fitting: Vec<String> = lines.take_while(|line| room.reserve(line)).collect();
            fitting.reverse();
            let count = fitting.len() as u64;
            fitting.into_iter().for_each(|line| room.place(91, line));
            count
        });
        let others = write::plural(data.others.count, "other line");
        room.push(
            91,
            if listed < data.others.count {
                format!("{listed} of {others} above")
            } else {
                format!("{others} above")
            },
        );
    }
    if matches!(data.notation, Notation::Table(_) | Notation::Pattern(_)) {
        return Ok(());
    }
    for (section, range) in [(0, 0..data.range.start), (90, data.range.end..data.text.max_len())] {
        if range.is_empty() {
            continue;
        }
        let mut lines = Lines::from(data.text, range.start)?;
        let mut texts = Vec::new();
        while let Some(line) = lines.next()?.filter(|line| line.at < range.end) {
            let end = (range.end - line.at).min(line.bytes.len() as u64) as usize;
            let text = visible::cut(&String::from_utf8_lossy(&line.bytes[..end]), 160);
            texts.extend((!text.is_empty()).then_some(text));
            if texts.len() >= 12 {
                break;
            }
        }
        room.within(share, |room| texts.into_iter().all(|text| room.push(section, text)));
    }
    Ok(())
}

/// Members by name wherever they stand, for data that contains itself: trees of files, of syntax, of replies.
fn write_anywhere(data: &Data<'_>, room: &mut Room<'_>, section: usize) {
    let merged = data.profile.by_name();
    if merged.is_empty() || !room.push(section, format!("anywhere, {} levels deep:", data.profile.depth)) {
        return;
    }
    let mut ranked: Vec<_> =
        merged.iter().filter(|(_, node)| node.types.strings + node.types.numbers > 0).collect();
    ranked.sort_by_key(|(_, node)| {
        let (distinct, exact) = node.tally.distinct();
        (!exact || distinct * 2 > node.tally.total(), std::cmp::Reverse(node.tally.total()))
    });
    for (name, node) in ranked.into_iter().take(12) {
        let cap = (room.left() / 3).max(20);
        let text = of_values(node, room, cap);
        room.push(section, format!("{}: {text}", visible::key(name)));
    }
}

/// What a careful reader should know: keys that stand twice, the deepest value.
fn write_oddities(
    data: &Data<'_>,
    tables: &[Table<'_>],
    room: &mut Room<'_>,
    section: usize,
) -> io::Result<()> {
    let mut doubled = Vec::new();
    let twice =
        data.profile.nodes().filter(|(_, node)| node.duplicates > 0 && matches!(node.step, Step::Key(_)));
    for (id, node) in twice.take(8) {
        let path = data.profile.path(data.profile.root(), id);
        let mut holder = None;
        for table in tables {
            holder = holder.or(table.label_at(node.duplicate_at)?);
        }
        doubled.push(holder.map_or(path.clone(), |holder| format!("{path} (in {holder})")));
    }
    if !doubled.is_empty() {
        room.push(section, format!("keys that stand twice in one object: {}", doubled.join(", ")));
    }
    if data.profile.depth > DEEP
        && let Some(value) = data.scalar(data.profile.deepest_at)?
    {
        let value = table::scalar_text(&value, 80);
        room.push(section, format!("deepest value, level {}: {value}", data.profile.depth));
    }
    Ok(())
}
