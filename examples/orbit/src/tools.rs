//! The two tools: what a caller asks for, computed once, and answered in one of two shapes.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::{Json, ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tidegate_sdk::{Checked, Grid, OutputMode, Series, SummaryOr, ToolError, heavy};

use crate::porkchop::{Cell, Window};
use crate::satellite::{Span, State};

/// States of a summary.
const STATES: usize = 12;
/// Cells of a summary.
const CELLS: usize = 5;
/// Up to how many times the best a transfer is worth a look.
const CEILING: f64 = 2.0;
/// Characters of a line of the picture, and its lines.
const PICTURE: (usize, usize) = (30, 30);

/// The server. It keeps nothing: every answer follows from its arguments.
#[derive(Debug, Clone, Copy, Default)]
pub struct Orbit;

/// Arguments of a tool, and how much of the result to answer.
#[derive(Debug, Deserialize, JsonSchema)]
struct Asked<T> {
    #[serde(flatten)]
    what: T,
    /// summary: what answers most questions; full: everything.
    #[serde(default)]
    output: OutputMode,
}

/// The summary of a propagation.
#[derive(Debug, Serialize, JsonSchema)]
struct SomeStates {
    /// At most 12 of the states, evenly spaced, the first and the last among them.
    states: Vec<State>,
    /// How many were computed.
    of_epochs: usize,
}

/// A whole propagation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AllStates {
    /// One for each epoch.
    states: Vec<State>,
}

/// The summary of a grid.
#[derive(Debug, Serialize, JsonSchema)]
struct BestCells {
    /// The cell with the least `total_dv`.
    best: Option<Cell>,
    /// The best five, best first.
    top_cells: Vec<Cell>,
    /// A picture of the grid.
    ascii_summary: String,
}

/// A whole grid.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AllCells {
    /// Every feasible cell, row by row; departures are the rows.
    grid: Vec<Cell>,
    /// The cell with the least `total_dv`.
    best: Option<Cell>,
    /// A picture of the grid.
    ascii_summary: String,
}

#[tool_router]
impl Orbit {
    #[heavy(full_cap_tokens = 10_000)]
    #[tool(
        description = "Propagate a satellite with SGP4 from a TLE. Answers `states`: epoch, position in km and velocity in km/s (TEME). A summary has 12 evenly spaced states, full has all."
    )]
    async fn sgp4_propagate(
        &self,
        Parameters(given): Parameters<Checked<Asked<Span>>>,
    ) -> Result<Json<SummaryOr<SomeStates, AllStates>>, ToolError> {
        let Asked { what: span, output } = given.arguments()?;
        let series = apart(move || span.states()).await?;
        Ok(Json(match output {
            OutputMode::Summary => SummaryOr::Summary(some_states(&series)),
            OutputMode::Full => SummaryOr::Full(AllStates::of(series)),
        }))
    }

    #[heavy(full_cap_tokens = 10_000)]
    #[tool(
        description = "Porkchop plot of transfers from Earth to Mars: for every departure and arrival the time of flight, transfer type, c3 (km2/s2), v_inf_arrival and total_dv (km/s). total_dv is both burns: from a circular orbit 300 km above Earth, and into one 300 km above Mars. A summary has the best cell, the top 5 and a picture; full has the whole grid, row by row."
    )]
    async fn porkchop(
        &self,
        Parameters(given): Parameters<Checked<Asked<Window>>>,
    ) -> Result<Json<SummaryOr<BestCells, AllCells>>, ToolError> {
        let Asked { what: window, output } = given.arguments()?;
        let grid = apart(move || window.grid()).await?;
        Ok(Json(SummaryOr::choose(output, || best_cells(&grid), || AllCells::of(&grid))))
    }
}

#[tool_handler(
    name = "orbit",
    instructions = "Satellites from TLEs (sgp4_propagate) and transfers from Earth to Mars (porkchop). Summaries answer most questions; output: \"full\" gives every number."
)]
impl ServerHandler for Orbit {}

/// Computes on a thread where that holds up nobody, and says in words why there is no result.
pub(crate) async fn apart<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, ToolError>
where
    T: Send + 'static,
    E: std::error::Error + Send + 'static,
{
    let done = tokio::task::spawn_blocking(work).await;
    Ok(done.map_err(|_| ToolError::new("the computation failed; nothing is known of its result"))??)
}

fn some_states(series: &Series<State>) -> SomeStates {
    let states = series.sample(STATES).into_iter().cloned().collect();
    SomeStates { states, of_epochs: series.entries().len() }
}

fn best_cells(grid: &Grid<Cell>) -> BestCells {
    let top_cells: Vec<Cell> = grid.top(CELLS).into_iter().map(|cell| cell.value.clone()).collect();
    BestCells { best: top_cells.first().cloned(), top_cells, ascii_summary: picture(grid) }
}

impl AllStates {
    pub(crate) fn of(series: Series<State>) -> Self {
        Self { states: series.into_entries() }
    }
}

impl AllCells {
    pub(crate) fn of(grid: &Grid<Cell>) -> Self {
        Self {
            grid: grid.cells().map(|cell| cell.value.clone()).collect(),
            best: grid.best().map(|cell| cell.value.clone()),
            ascii_summary: picture(grid),
        }
    }
}

/// A picture of the transfers worth a look. Some dates are so bad that, drawn to scale, all others would look the same;
/// from [`CEILING`] times the best on, all are drawn alike.
fn picture(grid: &Grid<Cell>) -> String {
    let Some(best) = grid.best() else { return "no feasible cell".to_owned() };
    let ceiling = CEILING * best.objective;
    let mut capped = vec![None; grid.rows() * grid.columns()];
    for cell in grid.cells() {
        capped[cell.row * grid.columns() + cell.column] = Some(cell.objective.min(ceiling));
    }
    let capped = Grid::new(grid.rows(), grid.columns(), capped, |total_dv| *total_dv);
    let drawn = capped.map(|capped| capped.ascii(PICTURE.0, PICTURE.1)).unwrap_or_default();
    format!("total_dv in km/s, cut at {ceiling:.3}; down: departure, right: arrival\n{drawn}")
}
