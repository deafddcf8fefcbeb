//! The strategy for values over two axes: a list of numbers written row by row, or records for every pair of values of
//! two fields.
//!
//! An overview shows a map of characters and, for records, the best cells by their objective.

use std::io;

use super::field::{Field, FieldKind};
use super::section_writer::SectionWriter;
use super::table::{Table, field_value, scalar_text};
use crate::profile::PathStep;
use crate::profile::number::Number;

/// Values over two axes.
pub(crate) struct Grid<'t> {
    width: u64,
    height: u64,
    /// The field whose values are shown; `None` if the records are the values.
    pub(crate) objective: Option<&'t Field>,
    /// The fields of the two axes, slow and fast.
    axes: Option<(&'t Field, &'t Field)>,
}

/// The maximum number of records of a grid that is shown.
const MAX_CELLS: u64 = 20_000;
/// The number of best cells listed.
const MAX_BEST_CELLS: usize = 5;
/// Characters for low to high values.
const SHADES: &[u8] = b" .:-=+*#%@";

impl<'t> Grid<'t> {
    /// Recognises a grid.
    pub(crate) fn of(table: &'t Table<'_>) -> Option<Self> {
        let node = table.data.profile.node(table.record);
        if node.types.numbers * 2 > node.seen() {
            let (width, height) = dimensions(table)?;
            return Some(Self { width, height, objective: None, axes: None });
        }
        if node.types.objects == node.seen() { Self::of_records(table) } else { None }
    }

    /// Recognises records for every pair of values of two fields.
    fn of_records(table: &'t Table<'_>) -> Option<Self> {
        let distinct = |field: &Field| {
            let (distinct, exact) = table.data.profile.node(field.node).counts.distinct();
            (exact && field.single && field.position.is_none()).then_some(distinct)
        };
        let axis = |field: &&Field| {
            distinct(field).is_some_and(|distinct| distinct >= 3 && distinct * 3 <= table.count)
        };
        let candidates: Vec<&Field> = table.fields.iter().filter(axis).collect();
        for (at, slow) in candidates.iter().enumerate() {
            for fast in &candidates[at + 1..] {
                let (height, width) = (distinct(slow)?, distinct(fast)?);
                let complete = height * width >= table.count && height * width <= table.count * 5 / 4;
                if complete {
                    let objective = objective(table, &[slow, fast])?;
                    return Some(Self {
                        width,
                        height,
                        objective: Some(objective),
                        axes: Some((slow, fast)),
                    });
                }
            }
        }
        None
    }

    /// Writes the map and, if there is an objective, the best cells.
    pub(crate) fn write(
        &self,
        table: &Table<'_>,
        writer: &mut SectionWriter<'_>,
        section: usize,
    ) -> io::Result<()> {
        if table.count > MAX_CELLS && self.objective.is_some() {
            return Ok(());
        }
        if let (Some(objective), Some(axes)) = (self.objective, self.axes) {
            let share = writer.left() / 3;
            writer.within(share, |writer| write_best(table, objective, axes, writer, section))?;
        }
        if self.width * self.height == table.count {
            let share = writer.left() / 2;
            writer.within(share, |writer| self.write_map(table, writer, section))?;
        }
        Ok(())
    }

    fn value(&self, table: &Table<'_>, number: u64) -> io::Result<Option<f64>> {
        let Some(record) = table.records.nth(number)? else { return Ok(None) };
        let path = self.objective.map_or("", |field| field.path.as_str());
        let text = field_value(&record.value, path).map(|value| scalar_text(value, 40)).unwrap_or_default();
        Ok(Number::parse(text.as_bytes()).map(|number| number.value))
    }

    fn write_map(&self, table: &Table<'_>, writer: &mut SectionWriter<'_>, section: usize) -> io::Result<()> {
        let columns = self.width.min(36);
        let rows = (self.height * columns / self.width / 2).clamp(4, 12).min(self.height);
        let mut cells: Vec<Vec<Option<f64>>> = Vec::new();
        for row in 0..rows {
            let y = row * self.height / rows;
            let line =
                (0..columns).map(|column| self.value(table, y * self.width + column * self.width / columns));
            cells.push(line.collect::<io::Result<_>>()?);
        }
        let values = || cells.iter().flatten().flatten().copied();
        let (min, max) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
        let name = self.objective.map_or(String::new(), |field| format!(" of {}", field.path));
        let shades = String::from_utf8_lossy(SHADES);
        if !writer
            .push(section, format!("map{name}, {} x {}, low to high \"{shades}\":", self.width, self.height))
        {
            return Ok(());
        }
        for line in cells {
            let shade = |value: Option<f64>| {
                let share = value.map_or(0.0, |value| (value - min) / (max - min).max(f64::MIN_POSITIVE));
                char::from(SHADES[((share * 9.0).round() as usize).min(9)])
            };
            if !writer.push(section, line.into_iter().map(shade).collect::<String>()) {
                break;
            }
        }
        Ok(())
    }
}

/// Words in the name of an objective that is best when low.
const MINIMISED_NAMES: &[&str] = &[
    "cost", "dv", "delta", "loss", "error", "price", "time", "distance", "energy", "latency", "duration",
    "risk",
];

fn is_minimised(name: &str) -> bool {
    MINIMISED_NAMES.iter().any(|word| name.contains(word))
}

/// Returns the field by which cells are compared: a number whose name says so, or else the first with many values.
fn objective<'t>(table: &'t Table<'_>, axes: &[&Field]) -> Option<&'t Field> {
    const OBJECTIVE_NAMES: &[&str] =
        &["total", "objective", "score", "cost", "dv", "loss", "fitness", "value", "result"];
    let node = |field: &Field| table.data.profile.node(field.node);
    let free = |field: &&Field| {
        field.kind == FieldKind::Number
            && field.single
            && !axes.iter().any(|axis| axis.path == field.path)
            && node(field).counts.distinct().0 * 8 > table.count
    };
    let candidates: Vec<&Field> = table.fields.iter().filter(free).collect();
    let named = |word: &&str| candidates.iter().find(|field| field.path.to_lowercase().contains(*word));
    OBJECTIVE_NAMES.iter().find_map(named).or(candidates.first()).copied()
}

fn write_best(
    table: &Table<'_>,
    objective: &Field,
    (slow, fast): (&Field, &Field),
    writer: &mut SectionWriter<'_>,
    section: usize,
) -> io::Result<()> {
    let low = is_minimised(&objective.path.to_lowercase());
    let mut best: Vec<(f64, String)> = Vec::new();
    table.records.for_each(|record| {
        let cell = |field: &Field| {
            field_value(&record.value, &field.path).map(|value| scalar_text(value, 40)).unwrap_or_default()
        };
        let text = cell(objective);
        let Some(number) = Number::parse(text.as_bytes()) else { return };
        let rank = if low { number.value } else { -number.value };
        if best.len() < MAX_BEST_CELLS || best.last().is_some_and(|(worst, _)| rank < *worst) {
            let at = best.partition_point(|(known, _)| *known <= rank);
            best.insert(
                at,
                (rank, format!("{text} at #{}, {}, {}", record.number + 1, cell(slow), cell(fast))),
            );
            best.truncate(MAX_BEST_CELLS);
        }
    })?;
    let word = if low { "lowest" } else { "highest" };
    if writer.push(section, format!("{word} {} (with {}, {}):", objective.path, slow.path, fast.path)) {
        best.into_iter().all(|(_, line)| writer.push(section, line));
    }
    Ok(())
}

/// Returns the width and height given by members beside the list, if their product is its length.
fn dimensions(table: &Table<'_>) -> Option<(u64, u64)> {
    let profile = &table.data.profile;
    let parent = profile.node(table.container).parent?;
    let number = |names: &[&str]| {
        profile.children(parent).find_map(|(_, node)| match &node.step {
            PathStep::Key(key) if names.contains(&key.to_lowercase().as_str()) => {
                node.numbers.as_ref().map(|numbers| numbers.max as u64)
            }
            _ => None,
        })
    };
    let width = number(&["width", "columns", "cols", "nx", "ncols"])?;
    let height = number(&["height", "rows", "ny", "nrows"]).unwrap_or(table.count / width.max(1));
    (width > 1 && height > 1 && width.checked_mul(height) == Some(table.count)).then_some((width, height))
}
