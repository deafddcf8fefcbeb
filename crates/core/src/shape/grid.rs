//! Values over two axes: a list of numbers written row by row, a list of such lists, or records for every pair of
//! two fields. Shown as a map of characters; of records also the best by their objective.

use std::io;

use super::field::{Field, FieldKind};
use super::room::Room;
use super::table::{Table, field_value, scalar_text};
use crate::profile::Step;
use crate::profile::number::Number;

/// Values over two axes.
pub(crate) struct Grid<'t> {
    width: u64,
    height: u64,
    /// The field whose values are mapped; `None` where the records are the values.
    pub(crate) objective: Option<&'t Field>,
    /// The fields of the two axes, slow and fast.
    axes: Option<(&'t Field, &'t Field)>,
}

/// The most cells read for a map and for the best of them.
const MOST_CELLS: u64 = 20_000;
/// The best cells listed.
const BEST: usize = 5;
/// From light to dark.
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

    /// Records for every pair of the values of two fields: each value of the one as often as the other has values.
    fn of_records(table: &'t Table<'_>) -> Option<Self> {
        let distinct = |field: &Field| {
            let (distinct, exact) = table.data.profile.node(field.node).tally.distinct();
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

    /// Writes the map, and the best cells where the objective says which those are.
    pub(crate) fn write(&self, table: &Table<'_>, room: &mut Room<'_>, section: usize) -> io::Result<()> {
        if table.count > MOST_CELLS && self.objective.is_some() {
            return Ok(());
        }
        if let (Some(objective), Some(axes)) = (self.objective, self.axes) {
            let share = room.left() / 3;
            room.within(share, |room| write_best(table, objective, axes, room, section))?;
        }
        if self.width * self.height == table.count {
            let share = room.left() / 2;
            room.within(share, |room| self.write_map(table, room, section))?;
        }
        Ok(())
    }

    fn value(&self, table: &Table<'_>, number: u64) -> io::Result<Option<f64>> {
        let Some(record) = table.records.nth(number)? else { return Ok(None) };
        let path = self.objective.map_or("", |field| field.path.as_str());
        let text = field_value(&record.value, path).map(|value| scalar_text(value, 40)).unwrap_or_default();
        Ok(Number::parse(text.as_bytes()).map(|number| number.value))
    }

    fn write_map(&self, table: &Table<'_>, room: &mut Room<'_>, section: usize) -> io::Result<()> {
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
        if !room
            .push(section, format!("map{name}, {} x {}, low to high \"{shades}\":", self.width, self.height))
        {
            return Ok(());
        }
        for line in cells {
            let shade = |value: Option<f64>| {
                let share = value.map_or(0.0, |value| (value - min) / (max - min).max(f64::MIN_POSITIVE));
                char::from(SHADES[((share * 9.0).round() as usize).min(9)])
            };
            if !room.push(section, line.into_iter().map(shade).collect::<String>()) {
                break;
            }
        }
        Ok(())
    }
}

/// Words in the name of an objective that is best when low.
const LOW: &[&str] = &[
    "cost", "dv", "delta", "loss", "error", "price", "time", "distance", "energy", "latency", "duration",
    "risk",
];

fn is_low(name: &str) -> bool {
    LOW.iter().any(|word| name.contains(word))
}

/// The field that is judged: a number whose name says so, else the first that no axis determines.
fn objective<'t>(table: &'t Table<'_>, axes: &[&Field]) -> Option<&'t Field> {
    const WORDS: &[&str] =
        &["total", "objective", "score", "cost", "dv", "loss", "fitness", "value", "result"];
    let node = |field: &Field| table.data.profile.node(field.node);
    let free = |field: &&Field| {
        field.kind == FieldKind::Number
            && field.single
            && !axes.iter().any(|axis| axis.path == field.path)
            && node(field).tally.distinct().0 * 8 > table.count
    };
    let candidates: Vec<&Field> = table.fields.iter().filter(free).collect();
    let named = |word: &&str| candidates.iter().find(|field| field.path.to_lowercase().contains(*word));
    WORDS.iter().find_map(named).or(candidates.first()).copied()
}

fn write_best(
    table: &Table<'_>,
    objective: &Field,
    (slow, fast): (&Field, &Field),
    room: &mut Room<'_>,
    section: usize,
) -> io::Result<()> {
    let low = is_low(&objective.path.to_lowercase());
    let mut best: Vec<(f64, String)> = Vec::new();
    table.records.for_each(|record| {
        let cell = |field: &Field| {
            field_value(&record.value, &field.path).map(|value| scalar_text(value, 40)).unwrap_or_default()
        };
        let text = cell(objective);
        let Some(number) = Number::parse(text.as_bytes()) else { return };
        let rank = if low { number.value } else { -number.value };
        if best.len() < BEST || best.last().is_some_and(|(worst, _)| rank < *worst) {
            let at = best.partition_point(|(known, _)| *known <= rank);
            best.insert(
                at,
                (rank, format!("{text} at #{}, {}, {}", record.number + 1, cell(slow), cell(fast))),
            );
            best.truncate(BEST);
        }
    })?;
    let word = if low { "lowest" } else { "highest" };
    if room.push(section, format!("{word} {} (with {}, {}):", objective.path, slow.path, fast.path)) {
        best.into_iter().all(|(_, line)| room.push(section, line));
    }
    Ok(())
}

/// Width and height from the members beside the list, where their product is its length.
fn dimensions(table: &Table<'_>) -> Option<(u64, u64)> {
    let profile = &table.data.profile;
    let parent = profile.node(table.container).parent?;
    let number = |names: &[&str]| {
        profile.children(parent).find_map(|(_, node)| match &node.step {
            Step::Key(key) if names.contains(&key.to_lowercase().as_str()) => {
                node.numbers.as_ref().map(|numbers| numbers.max as u64)
            }
            _ => None,
        })
    };
    let width = number(&["width", "columns", "cols", "nx", "ncols"])?;
    let height = number(&["height", "rows", "ny", "nrows"]).unwrap_or(table.count / width.max(1));
    (width > 1 && height > 1 && width.checked_mul(height) == Some(table.count)).then_some((width, height))
}
