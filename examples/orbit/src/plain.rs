//! The tools as they were before: no `output`, no tidegate, every result whole.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::{Json, ServerHandler, tool, tool_handler, tool_router};
use tidegate_sdk::{Checked, ToolError};

use crate::porkchop::Window;
use crate::satellite::Span;
use crate::tools::{AllCells, AllStates, apart};

/// The server of before.
#[derive(Debug, Clone, Copy, Default)]
pub struct Plain;

#[tool_router]
impl Plain {
    #[tool(description = "Propagate a satellite with SGP4 from a TLE")]
    async fn sgp4_propagate(
        &self,
        Parameters(given): Parameters<Checked<Span>>,
    ) -> Result<Json<AllStates>, ToolError> {
        let span = given.arguments()?;
        Ok(Json(AllStates::of(apart(move || span.states()).await?)))
    }

    #[tool(description = "Porkchop plot of transfers from Earth to Mars")]
    async fn porkchop(
        &self,
        Parameters(given): Parameters<Checked<Window>>,
    ) -> Result<Json<AllCells>, ToolError> {
        let window = given.arguments()?;
        Ok(Json(AllCells::of(&apart(move || window.grid()).await?)))
    }
}

#[tool_handler(name = "orbit-plain")]
impl ServerHandler for Plain {}
