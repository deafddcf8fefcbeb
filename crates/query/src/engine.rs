//! Runs an order over a result: in the worker process, or in the caller's if there is no worker.

use tidegate_core::view::{Dataset, EngineOutput, ViewError};

#[cfg(feature = "jq")]
use crate::jq;
use crate::order::{Order, Program};
#[cfg(feature = "sql")]
use crate::sql;
use crate::{Host, grep};

/// Runs an order; `loaded` is called when the data is loaded and the program begins.
pub(crate) fn run(
    order: &Order,
    data: &Dataset<'_>,
    host: Host,
    loaded: &mut dyn FnMut(),
) -> Result<EngineOutput, ViewError> {
    let Order { program, window, limits } = order;
    match program {
        #[cfg(feature = "jq")]
        Program::Jq(program) => jq::run(limits, data, program, *window, loaded),
        #[cfg(feature = "sql")]
        Program::Sql(query) => sql::run(&sql::Asked { limits, data, query, window: *window, host }, loaded),
        #[cfg(not(feature = "jq"))]
        Program::Jq(_) => Err(not_compiled_in(program)),
        #[cfg(not(feature = "sql"))]
        Program::Sql(_) => Err(not_compiled_in(program)),
        Program::Grep { pattern, context, count } => {
            let (context, count, window) = (*context, *count, *window);
            grep::run(&grep::Asked { limits, data, pattern, context, count, window, host }, loaded)
        }
    }
}

#[cfg(not(all(feature = "jq", feature = "sql")))]
fn not_compiled_in(program: &Program) -> ViewError {
    ViewError::Engine(format!("{} needs an engine that is not compiled in", program.name()))
}
