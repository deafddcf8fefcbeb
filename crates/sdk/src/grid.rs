//! A grid of results to search: the best cell, the top cells, all cells, and an ASCII heat map.
//!
//! Every cell has an objective. Smaller is better in [`Grid::new`], larger in [`Grid::maximizing`]. A cell that is missing or
//! whose objective is NaN is infeasible and appears in no list.
//!
//! Invariant: lists hold references into the grid, so a summary shows bit-for-bit the values of the full answer.

mod ascii;

use std::cmp::Ordering;

use serde::{Serialize, Serializer};

/// A table of cells, some of which may be missing.
///
/// ```
/// use tidegate_sdk::grid::Grid;
///
/// let grid = Grid::new(2, 2, vec![Some(9.5), None, Some(3.25), Some(f64::NAN)], |dv| *dv)?;
/// let best = grid.best().unwrap();
/// assert_eq!((best.row, best.column, *best.value), (1, 0, 3.25));
/// assert_eq!(grid.cells().count(), 2);
/// # Ok::<(), tidegate_sdk::grid::GridError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Grid<T> {
    rows: usize,
    columns: usize,
    goal: Goal,
    /// The cells row by row, each with its objective; `None` if infeasible.
    cells: Vec<Option<(f64, T)>>,
}

/// Which objectives are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// Smaller ones.
    Minimize,
    /// Larger ones.
    Maximize,
}

/// One feasible cell of a grid; serializes as its value.
#[derive(Debug, PartialEq)]
pub struct Cell<'a, T> {
    /// The row, from zero.
    pub row: usize,
    /// The column, from zero.
    pub column: usize,
    /// The objective, as the function given to the grid returned it.
    pub objective: f64,
    /// The value.
    pub value: &'a T,
}

/// Why a grid could not be built.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GridError {
    /// The number of cells is not rows times columns.
    #[error("a grid of {rows} rows and {columns} columns does not have {cells} cells")]
    Size {
        /// The rows.
        rows: usize,
        /// The columns.
        columns: usize,
        /// The number of cells given.
        cells: usize,
    },
}

impl<T> Clone for Cell<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Cell<'_, T> {}

impl<T: Serialize> Serialize for Cell<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl<T> Grid<T> {
    /// Returns a grid of cells given row by row; `objective` rates each cell, and the smallest is the best.
    ///
    /// # Errors
    ///
    /// Fails if the number of cells is not rows times columns.
    pub fn new(
        rows: usize,
        columns: usize,
        cells: Vec<Option<T>>,
        objective: impl Fn(&T) -> f64,
    ) -> Result<Self, GridError> {
        Self::with_goal(Goal::Minimize, rows, columns, cells, objective)
    }

    /// Returns a grid in which the cell with the largest objective is the best, such as a yield or a score.
    ///
    /// ```
    /// use tidegate_sdk::grid::Grid;
    ///
    /// let grid = Grid::maximizing(1, 3, vec![Some(2.0), Some(8.0), None], |score| *score)?;
    /// assert_eq!(grid.best().unwrap().objective, 8.0);
    /// assert_eq!(grid.ascii(40, 20), ".@ \n@ max 8.000 at row 0, column 1; . min 2.000; blank: infeasible");
    /// # Ok::<(), tidegate_sdk::grid::GridError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the number of cells is not rows times columns.
    pub fn maximizing(
        rows: usize,
        columns: usize,
        cells: Vec<Option<T>>,
        objective: impl Fn(&T) -> f64,
    ) -> Result<Self, GridError> {
        Self::with_goal(Goal::Maximize, rows, columns, cells, objective)
    }

    fn with_goal(
        goal: Goal,
        rows: usize,
        columns: usize,
        cells: Vec<Option<T>>,
        objective: impl Fn(&T) -> f64,
    ) -> Result<Self, GridError> {
        if rows.checked_mul(columns) != Some(cells.len()) {
            return Err(GridError::Size { rows, columns, cells: cells.len() });
        }
        let with_objective =
            |cell: T| Some((objective(&cell), cell)).filter(|(objective, _)| !objective.is_nan());
        Ok(Self {
            rows,
            columns,
            goal,
            cells: cells.into_iter().map(|cell| cell.and_then(with_objective)).collect(),
        })
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns every feasible cell, row by row.
    pub fn cells(&self) -> impl Iterator<Item = Cell<'_, T>> {
        self.cells.iter().enumerate().filter_map(|(index, cell)| {
            let (objective, value) = cell.as_ref()?;
            let (row, column) = (index / self.columns, index % self.columns);
            Some(Cell { row, column, objective: *objective, value })
        })
    }

    /// Returns the cell with the best objective; the first one if several are equal.
    pub fn best(&self) -> Option<Cell<'_, T>> {
        self.cells().min_by(|one, other| self.goal.rank(one, other))
    }

    /// Returns the best `count` cells, best first; equal cells keep their row order.
    pub fn top(&self, count: usize) -> Vec<Cell<'_, T>> {
        let mut cells: Vec<Cell<'_, T>> = self.cells().collect();
        // The sort is stable, so equal cells stay row by row.
        cells.sort_by(|one, other| self.goal.rank(one, other));
        cells.truncate(count);
        cells
    }

    /// Returns an ASCII heat map of the objectives with a legend below it.
    ///
    /// The map has at most `width` columns and `height` rows. In a larger grid one character shows the best of several
    /// cells, so the best cell is always visible. The legend is one line of at most 160 characters.
    pub fn ascii(&self, width: usize, height: usize) -> String {
        ascii::draw(self, width, height)
    }
}

impl Goal {
    /// Converts an objective into a cost: the smaller, the better.
    fn cost(self, objective: f64) -> f64 {
        match self {
            Self::Minimize => objective,
            Self::Maximize => -objective,
        }
    }

    /// Compares cells, the better one first. No objective is NaN, so any two compare; negative zero equals zero.
    fn rank<T>(self, one: &Cell<'_, T>, other: &Cell<'_, T>) -> Ordering {
        self.cost(one.objective).partial_cmp(&self.cost(other.objective)).unwrap_or(Ordering::Equal)
    }

    /// Returns the names of the best and of the worst objective.
    fn ends(self) -> (&'static str, &'static str) {
        match self {
            Self::Minimize => ("min", "max"),
            Self::Maximize => ("max", "min"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn grid(rows: usize, columns: usize, cells: &[Option<f64>]) -> Grid<f64> {
        Grid::new(rows, columns, cells.to_vec(), |cell| *cell).unwrap()
    }

    fn positions<'a>(cells: impl IntoIterator<Item = Cell<'a, f64>>) -> Vec<(usize, usize)> {
        cells.into_iter().map(|cell| (cell.row, cell.column)).collect()
    }

    #[test]
    fn the_best_come_first_and_equal_cells_keep_their_order() {
        let cells = [Some(2.0), Some(0.0), None, Some(f64::NAN), Some(-0.0), Some(f64::INFINITY)];
        let grid = grid(2, 3, &cells);
        assert_eq!(positions(grid.best()), [(0, 1)]);
        assert_eq!(positions(grid.top(9)), [(0, 1), (1, 1), (0, 0), (1, 2)]);
        assert_eq!(positions(grid.cells()), [(0, 0), (0, 1), (1, 1), (1, 2)]);
        assert_eq!(serde_json::to_string(&grid.top(3)).unwrap(), "[0.0,-0.0,2.0]");
    }

    /// Regression: without `maximizing`, an author had to negate the objective, and the legend showed negated numbers.
    #[test]
    fn a_maximizing_grid_ranks_the_largest_objective_first() {
        let cells = [Some(2.0), Some(0.0), None, Some(f64::NAN), Some(0.0), Some(9.5)];
        let grid = Grid::maximizing(2, 3, cells.to_vec(), |cell| *cell).unwrap();
        assert_eq!(positions(grid.best()), [(1, 2)]);
        assert_eq!(positions(grid.top(9)), [(1, 2), (0, 0), (0, 1), (1, 1)]);
        assert_eq!(
            grid.ascii(40, 20),
            ":. \n .@\n@ max 9.500 at row 1, column 2; . min 0.000; blank: infeasible"
        );
    }

    #[test]
    fn a_grid_without_feasible_cells_has_no_best() {
        for grid in [grid(1, 2, &[None, Some(f64::NAN)]), grid(0, 5, &[]), grid(5, 0, &[])] {
            assert!(grid.best().is_none() && grid.top(3).is_empty());
        }
    }

    #[test]
    fn the_number_of_cells_is_checked() {
        let error = Grid::new(2, 2, vec![Some(1.0)], |cell| *cell).unwrap_err();
        assert_eq!(error.to_string(), "a grid of 2 rows and 2 columns does not have 1 cells");
        assert!(Grid::new(usize::MAX, 2, vec![Some(1.0)], |cell| *cell).is_err());
    }

    fn any_grid() -> impl Strategy<Value = Grid<f64>> {
        let cell = prop::option::of(prop_oneof![any::<f64>(), (0u8..4).prop_map(f64::from)]);
        (0usize..12, 0usize..12).prop_flat_map(move |(rows, columns)| {
            prop::collection::vec(cell.clone(), rows * columns)
                .prop_map(move |cells| grid(rows, columns, &cells))
        })
    }

    proptest! {
        #![proptest_config(tidegate_testkit::cases(256))]

        #[test]
        fn a_summary_is_a_subset_of_the_full_answer(grid in any_grid(), count in 0usize..8) {
            let bits = |cell: &Cell<'_, f64>| (cell.row, cell.column, cell.value.to_bits());
            let full: Vec<_> = grid.cells().collect();
            let top = grid.top(count);
            prop_assert_eq!(top.len(), count.min(full.len()));
            prop_assert!(top.iter().all(|cell| full.iter().any(|other| bits(cell) == bits(other))));
            prop_assert!(full.windows(2).all(|pair| (pair[0].row, pair[0].column) < (pair[1].row, pair[1].column)));
            let rank = |cell: &Cell<'_, f64>| (cell.objective, cell.row, cell.column);
            prop_assert!(top.windows(2).all(|pair| rank(&pair[0]) < rank(&pair[1])));
            prop_assert_eq!(grid.best().as_ref().map(bits), grid.top(1).first().map(bits));
            if let Some(worst) = top.last() {
                let better = full.iter().filter(|cell| cell.objective < worst.objective).count();
                prop_assert!(better < top.len());
            }
        }

        #[test]
        fn maximizing_equals_minimizing_the_negated_objective(grid in any_grid(), count in 0usize..8) {
            let cells = |sign: f64| grid.cells.iter().map(|cell| cell.map(|(_, value)| sign * value)).collect();
            let largest = Grid::maximizing(grid.rows, grid.columns, cells(1.0), |cell| *cell).unwrap();
            let smallest = Grid::new(grid.rows, grid.columns, cells(-1.0), |cell| *cell).unwrap();
            prop_assert_eq!(positions(largest.top(count)), positions(smallest.top(count)));
            let map = |grid: &Grid<f64>| grid.ascii(9, 9).rsplit_once('\n').map(|(map, _)| map.to_owned());
            prop_assert_eq!(map(&largest), map(&smallest));
        }

        #[test]
        fn a_heat_map_is_bounded(grid in any_grid(), width in 0usize..20, height in 0usize..20) {
            let picture = grid.ascii(width, height);
            let lines: Vec<&str> = picture.lines().collect();
            let (legend, map) = lines.split_last().unwrap();
            prop_assert!(picture.is_ascii() && legend.len() <= 160);
            prop_assert!(map.len() <= height.min(grid.rows()));
            prop_assert!(map.iter().all(|line| line.len() <= width.min(grid.columns())));
            let drawn = width > 0 && height > 0 && grid.best().is_some();
            prop_assert_eq!(map.iter().any(|line| line.contains('@')), drawn);
        }
    }
}
