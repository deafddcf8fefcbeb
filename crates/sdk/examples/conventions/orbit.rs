//! A series and a grid: a summary by default, all of it with `output: "full"`, from the same numbers.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::handler::server::wrapper::Parameters;
use rmcp::{ErrorData, Json, ServerHandler, tool, tool_handler, tool_router};
use serde::{Deserialize, Serialize};
use tidegate_sdk::{Grid, OutputMode, Series, SummaryOr, heavy};

#[derive(Clone, Default)]
pub(crate) struct Orbit {
    /// How often a tool ran.
    pub(crate) runs: Arc<AtomicU64>,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Epochs {
    /// Minutes to propagate.
    minutes: u32,
    #[serde(default)]
    output: OutputMode,
}

#[derive(Debug, Deserialize, schemars::JsonSchema)]
pub(crate) struct Axes {
    samples_per_axis: usize,
    #[serde(default)]
    output: OutputMode,
}

#[derive(Clone, Serialize, schemars::JsonSchema)]
pub(crate) struct State {
    minute: u32,
    position: [f64; 3],
    velocity: [f64; 3],
}

#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct States {
    states: Vec<State>,
}

/// The same fields as the summary: only the number of states differs.
#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct AllStates {
    states: Vec<State>,
}

#[derive(Clone, Serialize, schemars::JsonSchema)]
pub(crate) struct Transfer {
    departure: usize,
    arrival: usize,
    total_dv: f64,
}

#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct Best {
    best: Option<Transfer>,
    top_cells: Vec<Transfer>,
    ascii_summary: String,
}

#[derive(Serialize, schemars::JsonSchema)]
pub(crate) struct Everything {
    grid: Vec<Transfer>,
    best: Option<Transfer>,
    ascii_summary: String,
}

#[tool_router]
impl Orbit {
    #[heavy(full_cap_tokens = 10_000)]
    #[tool(description = "Propagate a circular orbit minute by minute")]
    async fn propagate(&self, Parameters(epochs): Parameters<Epochs>) -> Json<SummaryOr<States, AllStates>> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let state = |minute: u32| {
            let angle = f64::from(minute) * std::f64::consts::TAU / 92.7;
            let (sin, cos) = angle.sin_cos();
            State {
                minute,
                position: [6780.0 * cos, 6780.0 * sin, 0.1],
                velocity: [-7.66 * sin, 7.66 * cos, 0.0],
            }
        };
        let series = Series::new((0..=epochs.minutes).map(state).collect());
        Json(SummaryOr::choose(
            epochs.output,
            || States { states: series.sample(12).into_iter().cloned().collect() },
            || AllStates { states: series.entries().to_vec() },
        ))
    }

    #[heavy(full_cap_tokens = 10_000)]
    #[tool(description = "Total delta-v of transfers by departure and arrival")]
    async fn porkchop(
        &self,
        Parameters(axes): Parameters<Axes>,
    ) -> Result<Json<SummaryOr<Best, Everything>>, ErrorData> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let size = axes.samples_per_axis;
        if !(2..=60).contains(&size) {
            return Err(ErrorData::invalid_params("samples_per_axis must be from 2 to 60", None));
        }
        let cell = |index: usize| {
            let (departure, arrival) = (index / size, index % size);
            let (x, y) = (departure as f64 / size as f64 - 0.4, arrival as f64 / size as f64 - 0.6);
            let total_dv = 5.6 + 9.0 * (x * x + y * y) + 0.3 * (7.0 * x).sin();
            // Infeasible: the arrival is too early.
            (arrival + 3 > departure).then_some(Transfer { departure, arrival, total_dv })
        };
        let grid = Grid::new(size, size, (0..size * size).map(cell).collect(), |transfer| transfer.total_dv)
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        let best = grid.best().map(|cell| cell.value.clone());
        let ascii_summary = grid.ascii(30, 15);
        Ok(Json(match axes.output {
            OutputMode::Summary => {
                let top_cells = grid.top(5).into_iter().map(|cell| cell.value.clone()).collect();
                SummaryOr::Summary(Best { best, top_cells, ascii_summary })
            }
            OutputMode::Full => {
                let grid = grid.cells().map(|cell| cell.value.clone()).collect();
                SummaryOr::Full(Everything { grid, best, ascii_summary })
            }
        }))
    }
}

#[tool_handler]
impl ServerHandler for Orbit {}
