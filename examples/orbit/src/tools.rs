//! The two tools: each computes its result once and answers with a summary or all of it.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::{Json, ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tidegate_sdk::{Checked, Grid, OutputMode, Series, SummaryOr, ToolError, heavy};

use crate::porkchop::{PorkchopCell, TransferWindow};
use crate::satellite::{Propagation, StateVector};

/// States in a summary.
const SUMMARY_STATES: usize = 12;
/// Cells in a summary.
const SUMMARY_CELLS: usize = 5;
/// The heat map does not tell apart transfers above this multiple of the best.
const HEAT_MAP_CEILING: f64 = 2.0;
/// Columns and rows of the heat map.
const HEAT_MAP_SIZE: (usize, usize) = (30, 30);

/// The server. It is stateless: every answer follows from its arguments.
#[derive(Debug, Clone, Copy, Default)]
pub struct Orbit;

/// The arguments of a tool together with the output mode.
#[derive(Debug, Deserialize, JsonSchema)]
struct WithOutput<T> {
    #[serde(flatten)]
    request: T,
    /// summary: enough for most questions; full: every number.
    #[serde(default)]
    output: OutputMode,
}

/// The summary of a propagation.
#[derive(Debug, Serialize, JsonSchema)]
struct StatesSummary {
    /// At most 12 evenly spaced states, including the first and the last.
    #[schemars(length(max = 12))]
    states: Vec<StateVector>,
    /// The number of computed states.
    of_epochs: usize,
}

/// A full propagation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AllStates {
    /// One state per epoch.
    states: Vec<StateVector>,
}

/// The summary of a grid.
#[derive(Debug, Serialize, JsonSchema)]
struct CellsSummary {
    /// The cell with the lowest `total_dv`.
    best: Option<PorkchopCell>,
    /// The best five, best first.
    top_cells: Vec<PorkchopCell>,
    /// A heat map of the grid.
    ascii_summary: String,
}

/// A full grid.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AllCells {
    /// Every feasible cell, row by row; departures are the rows.
    grid: Vec<PorkchopCell>,
    /// The cell with the lowest `total_dv`.
    best: Option<PorkchopCell>,
    /// A heat map of the grid.
    ascii_summary: String,
}

#[tool_router]
impl Orbit {
    #[heavy(full_cap_tokens = 10_000)]
    #[tool(
        description = "Propagate a satellite with SGP4 from a TLE. Returns `states`: epoch, position in km and velocity in km/s (TEME). A summary has 12 evenly spaced states, full has all."
    )]
    async fn sgp4_propagate(
        &self,
        Parameters(arguments): Parameters<Checked<WithOutput<Propagation>>>,
    ) -> Result<Json<SummaryOr<StatesSummary, AllStates>>, ToolError> {
        let WithOutput { request: propagation, output } = arguments.arguments()?;
        let series = compute(move || propagation.states()).await?;
        Ok(Json(match output {
            OutputMode::Summary => SummaryOr::Summary(summarize_states(&series)),
            OutputMode::Full => SummaryOr::Full(AllStates::new(series)),
        }))
    }

    #[heavy(full_cap_tokens = 10_000)]
    #[tool(
        description = "Porkchop plot of transfers from Earth to Mars: for every departure and arrival date the time of flight, transfer type, c3 (km2/s2), v_inf_arrival and total_dv (km/s). total_dv is the sum of both burns: out of a circular orbit 300 km above Earth and into one 300 km above Mars. A summary has the best cell, the top 5 and a heat map; full has the whole grid, row by row."
    )]
    async fn porkchop(
        &self,
        Parameters(arguments): Parameters<Checked<WithOutput<TransferWindow>>>,
    ) -> Result<Json<SummaryOr<CellsSummary, AllCells>>, ToolError> {
        let WithOutput { request: window, output } = arguments.arguments()?;
        let grid = compute(move || window.grid()).await?;
        Ok(Json(SummaryOr::choose(output, || summarize_cells(&grid), || AllCells::new(&grid))))
    }
}

#[tool_handler(
    name = "orbit",
    instructions = "Satellites from TLEs (sgp4_propagate) and transfers from Earth to Mars (porkchop). Summaries answer most questions; output: \"full\" gives every number."
)]
impl ServerHandler for Orbit {}

/// Computes on a blocking thread, so that the async runtime is not held up.
pub(crate) async fn compute<T, E>(
    work: impl FnOnce() -> Result<T, E> + Send + 'static,
) -> Result<T, ToolError>
where
    T: Send + 'static,
    E: std::error::Error + Send + 'static,
{
    let result = tokio::task::spawn_blocking(work).await;
    Ok(result.map_err(|_| ToolError::new("the computation panicked and has no result"))??)
}

fn summarize_states(series: &Series<StateVector>) -> StatesSummary {
    let states = series.sample(SUMMARY_STATES).into_iter().cloned().collect();
    StatesSummary { states, of_epochs: series.entries().len() }
}

fn summarize_cells(grid: &Grid<PorkchopCell>) -> CellsSummary {
    let top_cells: Vec<PorkchopCell> =
        grid.top(SUMMARY_CELLS).into_iter().map(|cell| cell.value.clone()).collect();
    CellsSummary { best: top_cells.first().cloned(), top_cells, ascii_summary: heat_map(grid) }
}

impl AllStates {
    pub(crate) fn new(series: Series<StateVector>) -> Self {
        Self { states: series.into_entries() }
    }
}

impl AllCells {
    pub(crate) fn new(grid: &Grid<PorkchopCell>) -> Self {
        Self {
            grid: grid.cells().map(|cell| cell.value.clone()).collect(),
            best: grid.best().map(|cell| cell.value.clone()),
            ascii_summary: heat_map(grid),
        }
    }
}

/// Draws the heat map of `total_dv`.
///
/// Some dates are so bad that, drawn to scale, all others would look the same. Values are therefore capped at
/// [`HEAT_MAP_CEILING`] times the best.
fn heat_map(grid: &Grid<PorkchopCell>) -> String {
    let Some(best) = grid.best() else { return "no feasible cell".to_owned() };
    let ceiling = HEAT_MAP_CEILING * best.objective;
    let mut capped = vec![None; grid.rows() * grid.columns()];
    for cell in grid.cells() {
        capped[cell.row * grid.columns() + cell.column] = Some(cell.objective.min(ceiling));
    }
    let capped = Grid::new(grid.rows(), grid.columns(), capped, |total_dv| *total_dv);
    let drawn = capped.map(|capped| capped.ascii(HEAT_MAP_SIZE.0, HEAT_MAP_SIZE.1)).unwrap_or_default();
    format!("total_dv in km/s, cut at {ceiling:.3}; down: departure, right: arrival\n{drawn}")
}
