//! A short list whose records hold a table each, written as lists: the sheets of a workbook, the ranges of a batch.
//!
//! Each table has columns of its own, often under a header row, so statistics over the rows of all of them would mix
//! what does not belong together. Instead each record gets an overview of its own.

use std::io;
use std::ops::ControlFlow;

use super::data::write_value;
use super::draft::LeftOut;
use super::field::FieldKind;
use super::row_series::RowSeries;
use super::section_writer::SectionWriter;
use super::table::Table;
use crate::data::Data;
use crate::json::Dialect;
use crate::profile::node::PathNode;
use crate::records::Notation;
use crate::write;

/// The maximum number of records that get an overview each.
const MAX_SHEETS: u64 = 8;
/// The minimum number of rows of the largest table.
const MIN_ROWS: u64 = 8;

/// Records that hold a table each.
pub(crate) struct Sheets<'a, 'd> {
    table: &'a Table<'d>,
    dialect: Dialect,
}

impl<'a, 'd> Sheets<'a, 'd> {
    /// Returns the records of a list as sheets; `None` if they are not such records.
    pub(crate) fn of(table: &'a Table<'d>) -> Option<Self> {
        let dialect = match table.data.notation {
            Notation::Json(dialect) => dialect,
            _ => return None,
        };
        let profile = &table.data.profile;
        let total = profile.node(table.container).bytes;
        let holds_rows = |node: &PathNode| {
            let rows = node.items.map(|items| profile.node(items));
            let lists = rows.is_some_and(|rows| rows.types.arrays > 0 && rows.types.objects == 0);
            let longest = node.members.as_ref().map_or(0, |members| members.max);
            lists && longest >= MIN_ROWS && node.bytes * 2 > total
        };
        let is_held = table.fields.iter().any(|field| {
            field.single && field.kind == FieldKind::List && holds_rows(profile.node(field.node))
        });
        let is_few = (2..=MAX_SHEETS).contains(&table.count);
        (is_few && is_held && RowSeries::of(table).is_empty()).then_some(Self { table, dialect })
    }

    /// Writes an overview of each record; returns what is left out.
    pub(crate) fn write(&self, writer: &mut SectionWriter<'_>, section: usize) -> io::Result<Vec<LeftOut>> {
        let mut places: Vec<(String, u64, u64)> = Vec::new();
        self.table.records.each_json(0, 0, |record| {
            let name = record.key.clone().unwrap_or_else(|| record.number.to_string());
            places.push((
                name,
                record.at.unwrap_or(record.range.start),
                record.range.end - record.range.start,
            ));
            ControlFlow::Continue(())
        })?;
        let weight = |bytes: u64| (bytes as f64).powf(0.5);
        let mut left_out = Vec::new();
        for (number, (name, at, bytes)) in places.iter().enumerate() {
            let rest: f64 = places[number..].iter().map(|(_, _, bytes)| weight(*bytes)).sum();
            let share = (writer.left() as f64 * weight(*bytes) / rest) as u64;
            let path = format!("{}[{name}]", self.table.path);
            let data = Data::value(&self.table.data.text, *at, self.dialect)?;
            let title = format!("{path}, {}:", write::size(*bytes));
            let held = writer.hold_back(share);
            let left = write_value(&data, title, writer, section)?;
            writer.give_back(held);
            left_out.extend(left.into_iter().map(|left| LeftOut { path: path.clone(), ..left }));
        }
        Ok(left_out)
    }
}
