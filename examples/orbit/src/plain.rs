//! The same tools without `output` and without tidegate: every result in full.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::{Json, ServerHandler, tool, tool_handler, tool_router};
use tidegate_sdk::{Checked, ToolError};

use crate::porkchop::TransferWindow;
use crate::satellite::Propagation;
use crate::tools::{AllCells, AllStates, compute};

/// The server without tidegate.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

#[tool_router]
impl Plain {
    #[tool(description = "Propagate a satellite with SGP4 from a TLE")]
    async fn sgp4_propagate(
        &self,
        Parameters(arguments): Parameters<Checked<Propagation>>,
    ) -> Result<Json<AllStates>, ToolError> {
        let propagation = arguments.arguments()?;
        Ok(Json(AllStates::new(compute(move || propagation.states()).await?)))
    }

    #[tool(description = "Porkchop plot of transfers from Earth to Mars")]
    async fn porkchop(
        &self,
        Parameters(arguments): Parameters<Checked<TransferWindow>>,
    ) -> Result<Json<AllCells>, ToolError> {
        let window = arguments.arguments()?;
        Ok(Json(AllCells::new(&compute(move || window.grid()).await?)))
    }
}

#[tool_handler(name = "orbit-plain")]
impl ServerHandler for Plain {}
