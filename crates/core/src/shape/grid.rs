//! The strategy for values over two axes: a list of numbers written row by row, or records for every pair of values of
//! two fields.
//!
//! An overview shows a map of characters and, for records, the best cells by their objective.

use std::io;

use super::field::{Field, FieldKind};
use super::section_writer::SectionWriter;
use super::table::{Table, field_value, scalar_text};
use crate::profile::PathStep;
use crate::profile::number::{KeptNumber, Number};
use crate::records::Record;

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
/// The maximum number of fields of which pairs are tried as axes.
const MAX_AXIS_CANDIDATES: usize = 64;
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
        let most_frequent = |field: &Field| {
            let counts = &table.data.profile.node(field.node).counts;
            counts.entries().iter().map(|entry| entry.count).max().unwrap_or(0)
        };
        let axis = |field: &&Field| {
            distinct(field).is_some_and(|distinct| distinct >= 3 && distinct * 3 <= table.count)
        };
        let candidates: Vec<&Field> = table.fields.iter().filter(axis).take(MAX_AXIS_CANDIDATES).collect();
        for (at, slow) in candidates.iter().enumerate() {
            for fast in &candidates[at + 1..] {
                let (height, width) = (distinct(slow)?, distinct(fast)?);
                let complete = height * width >= table.count && height * width <= table.count * 5 / 4;
                // In a grid a value occurs once in each row or column, not in most records.
                let is_even = most_frequent(slow) <= width && most_frequent(fast) <= height;
                if complete && is_even {
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
            self.write_map(table, writer, section)?;
        }
        Ok(())
    }

    /// Writes the map if it fits, with fewer of its rows if need be.
    fn write_map(&self, table: &Table<'_>, writer: &mut SectionWriter<'_>, section: usize) -> io::Result<()> {
        let columns = self.width.min(MAX_MAP_COLUMNS);
        let mut rows = (self.height * columns / self.width / 2).clamp(4, MAX_MAP_ROWS).min(self.height);
        while rows > 1 {
            let Some(map) = self.map(table, rows, columns)? else { return Ok(()) };
            if writer.push(section, map) {
                return Ok(());
            }
            rows = rows * 2 / 3;
        }
        Ok(())
    }

    /// Returns the map with evenly spaced rows and columns; `None` if the records are not in the order of the axes.
    fn map(&self, table: &Table<'_>, rows: u64, columns: u64) -> io::Result<Option<String>> {
        let mut cells: Vec<Vec<Option<f64>>> = Vec::new();
        let mut order = AxisOrder::default();
        for row in 0..rows {
            let mut line = Vec::new();
            for column in 0..columns {
                let (y, x) = (row * self.height / rows, column * self.width / columns);
                let Some(record) = table.records.nth(y * self.width + x)? else { return Ok(None) };
                if !self.axes.is_none_or(|axes| order.fits(&record, axes, line.len())) {
                    return Ok(None);
                }
                let path = self.objective.map_or("", |field| field.path.as_str());
                line.push(Number::parse(cell(&record, path).as_bytes()).map(|number| number.value));
            }
            cells.push(line);
        }
        let name = self.objective.map_or(String::new(), |field| format!(" of {}", field.path));
        let part = |shown: u64, of: u64, what: &str| match shown == of {
            true => String::new(),
            false => format!(", {shown} of {of} {what}"),
        };
        let parts = part(rows, self.height, "rows") + &part(columns, self.width, "columns");
        let empty = if cells.iter().flatten().any(Option::is_none) { ", ? no number" } else { "" };
        let shades = String::from_utf8_lossy(SHADES);
        let mut map =
            format!("map{name}, {} x {}{parts}, low to high \"{shades}\"{empty}:", self.width, self.height);
        for line in shaded(&cells) {
            map.push('\n');
            map.push_str(&line);
        }
        Ok(Some(map))
    }
}

/// The maximum number of columns and rows of a map.
const MAX_MAP_COLUMNS: u64 = 36;
const MAX_MAP_ROWS: u64 = 12;

/// Checks that the slow axis changes only from row to row, and that the fast axis is the same in each row.
#[derive(Default)]
struct AxisOrder {
    slow: Option<String>,
    fast: Vec<String>,
}

impl AxisOrder {
    fn fits(&mut self, record: &Record, (slow, fast): (&Field, &Field), column: usize) -> bool {
        let (slow, fast) = (cell(record, &slow.path), cell(record, &fast.path));
        if column == 0 {
            let changes = self.slow.replace(slow.clone()).is_none_or(|before| before != slow);
            if !changes {
                return false;
            }
        }
        if self.fast.len() == column {
            self.fast.push(fast.clone());
        }
        self.slow.as_ref() == Some(&slow) && self.fast[column] == fast
    }
}

/// Returns the value of a record at a path as text; empty if there is none.
fn cell(record: &Record, path: &str) -> String {
    field_value(&record.value, path).map(|value| scalar_text(value, 40)).unwrap_or_default()
}

/// Returns each row of cells as characters for low to high values; the range is that of the cells shown.
fn shaded(cells: &[Vec<Option<f64>>]) -> Vec<String> {
    let values = || cells.iter().flatten().flatten().copied().filter(|value| value.is_finite());
    let (min, max) = (values().fold(f64::MAX, f64::min), values().fold(f64::MIN, f64::max));
    let shade = |value: &Option<f64>| match value {
        None => '?',
        Some(value) => {
            // Halves, since the distance of two floats may be beyond their range.
            let share = (value / 2.0 - min / 2.0) / (max / 2.0 - min / 2.0).max(f64::MIN_POSITIVE);
            char::from(SHADES[((share * 9.0).round() as usize).min(9)])
        }
    };
    cells.iter().map(|line| line.iter().map(shade).collect()).collect()
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
    let mut best: Vec<(KeptNumber, String)> = Vec::new();
    table.records.for_each(|record| {
        let text = cell(record, &objective.path);
        let Some(number) = Number::parse(text.as_bytes()) else { return };
        let better = |known: &KeptNumber| {
            let order = known.compare(&number);
            if low { order.is_lt() } else { order.is_gt() }
        };
        if best.len() < MAX_BEST_CELLS || best.last().is_some_and(|(worst, _)| better(worst)) {
            let at = best.partition_point(|(known, _)| !better(known));
            let place = format!("{}, {}", cell(record, &slow.path), cell(record, &fast.path));
            let line = format!("{text} at #{}, {place}", record.number + 1);
            best.insert(at, (KeptNumber::new(&number, 0), line));
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
                node.numbers.as_ref().map(|numbers| numbers.max.value as u64)
            }
            _ => None,
        })
    };
    let width = number(&["width", "columns", "cols", "nx", "ncols"])?;
    let height = number(&["height", "rows", "ny", "nrows"]).unwrap_or(table.count / width.max(1));
    (width > 1 && height > 1 && width.checked_mul(height) == Some(table.count)).then_some((width, height))
}
