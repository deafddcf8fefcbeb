//! Draws a grid as an ASCII heat map: the denser the character, the better the cell.
//!
//! Shades run from the worst to the best finite objective. A larger grid is scaled down; each character then shows the
//! best of the cells it covers.

use super::{Cell, Grid};

/// Characters from the worst to the best objective.
const SHADES: &[u8] = b".:-=+*#%";
/// Marks the best cell.
const BEST: u8 = b'@';
/// Marks a spot without a feasible cell.
const INFEASIBLE: u8 = b' ';

pub(super) fn draw<T>(grid: &Grid<T>, width: usize, height: usize) -> String {
    let Some(best) = grid.best() else { return "no feasible cell".to_owned() };
    let worst = grid.cells().max_by(|one, other| grid.goal.rank(one, other));
    let worst = worst.map_or(best.objective, |cell| cell.objective);
    let (best_name, worst_name) = grid.goal.ends();
    let mut drawing =
        if width == 0 || height == 0 { String::new() } else { heat_map(grid, &best, width, height) };
    drawing.push_str(&format!(
        "{} {best_name} {} at row {}, column {}; {} {worst_name} {}; blank: infeasible",
        char::from(BEST),
        short(best.objective),
        best.row,
        best.column,
        char::from(SHADES[0]),
        short(worst)
    ));
    drawing
}

fn heat_map<T>(grid: &Grid<T>, best: &Cell<'_, T>, width: usize, height: usize) -> String {
    let (columns, rows) = (grid.columns.min(width), grid.rows.min(height));
    let position =
        |row: usize, column: usize| (scaled(row, grid.rows, rows), scaled(column, grid.columns, columns));
    let mut smallest: Vec<Vec<Option<f64>>> = vec![vec![None; columns]; rows];
    for cell in grid.cells() {
        let (row, column) = position(cell.row, cell.column);
        let (slot, cost) = (&mut smallest[row][column], grid.goal.cost(cell.objective));
        *slot = Some(slot.map_or(cost, |smallest| smallest.min(cost)));
    }
    let range = finite_range(grid);
    let best = position(best.row, best.column);
    let mut text = String::new();
    for (row, slots) in smallest.iter().enumerate() {
        let drawn = slots.iter().enumerate().map(|(column, slot)| match slot {
            _ if (row, column) == best => BEST,
            Some(cost) => shade(*cost, range),
            None => INFEASIBLE,
        });
        text.extend(drawn.map(char::from));
        text.push('\n');
    }
    text
}

/// Returns the position in the map of a row or column of the grid; `to` is at most `from`.
fn scaled(index: usize, from: usize, to: usize) -> usize {
    usize::try_from(index as u128 * to as u128 / from as u128).unwrap_or_default()
}

/// Returns the smallest and the largest finite cost.
fn finite_range<T>(grid: &Grid<T>) -> (f64, f64) {
    let finite = grid.cells().map(|cell| grid.goal.cost(cell.objective)).filter(|cost| cost.is_finite());
    finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

fn shade(cost: f64, (low, high): (f64, f64)) -> u8 {
    // Halving first keeps the difference of two finite numbers finite.
    let quality = (high / 2.0 - cost / 2.0) / (high / 2.0 - low / 2.0);
    // NaN means that all costs are equal, so all are best. Infinite costs are clamped.
    let quality = if quality.is_nan() { 1.0 } else { quality.clamp(0.0, 1.0) };
    let best = SHADES.len() - 1;
    let index = (quality * best as f64).round() as usize;
    SHADES[index.min(best)]
}

/// Formats a number in few characters, whatever its magnitude.
fn short(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-3..1e9).contains(&size) { format!("{number:.3}") } else { format!("{number:.3e}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(rows: usize, columns: usize, objective: impl Fn(usize, usize) -> Option<f64>) -> Grid<f64> {
        let cells = (0..rows * columns).map(|index| objective(index / columns, index % columns)).collect();
        Grid::new(rows, columns, cells, |cell| *cell).unwrap()
    }

    #[test]
    fn a_small_grid_is_drawn_cell_by_cell() {
        let cells = [[Some(8.0), Some(4.0), None], [Some(1.0), Some(2.0), Some(7.5)]];
        assert_eq!(
            grid(2, 3, |row, column| cells[row][column]).ascii(40, 20),
            ".+ \n@#:\n@ min 1.000 at row 1, column 0; . max 8.000; blank: infeasible"
        );
    }

    #[test]
    fn the_best_cell_of_a_large_grid_is_visible() {
        let far = grid(900, 700, |row, column| Some((row as f64 - 800.0).hypot(column as f64 - 20.0)));
        let picture = far.ascii(30, 10);
        let lines: Vec<&str> = picture.lines().collect();
        assert_eq!((lines.len(), lines[0].len()), (11, 30));
        assert!(lines[8].starts_with('@') && lines[10].contains("row 800, column 20"), "{picture}");
    }

    #[test]
    fn infinite_and_equal_values_are_drawn() {
        assert_eq!(grid(1, 2, |_, _| None).ascii(5, 5), "no feasible cell");
        assert!(grid(1, 3, |_, _| Some(2.0)).ascii(5, 5).starts_with("@%%\n"));
        let wide = [f64::MAX, f64::MIN, f64::INFINITY, f64::NEG_INFINITY];
        let picture = grid(1, 4, |_, column| Some(wide[column])).ascii(5, 5);
        assert!(picture.starts_with(".%.@\n@ min -inf at") && picture.contains("max inf"), "{picture}");
    }
}
