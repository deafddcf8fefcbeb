//! Runs an order over a result: in the worker process, or in the caller's where there is no worker.

use tidegate_core::view::{Dataset, EngineOutput, ViewError};

use crate::order::{Order, Program};
use crate::{Host, grep, jq, sql};

/// Runs an order; `loaded` is called when the data is loaded and the program begins.
pub(crate) fn run(
    order: &Order,
    data: &Dataset<'_>,
    host: Host,
    loaded: &mut dyn FnMut(),
) -> Result<EngineOutput, ViewError> {
    let Order { program, window, limits } = order;
    match program {
        Program::Jq(program) => jq::run(limits, data, program, *window, loaded),
        Program::Sql(query) => sql::run(&sql::Asked { limits, data, query, window: *window, host }, loaded),
        Program::Grep { pattern, context, count } => {
            let (context, count, window) = (*context, *count, *window);
            grep::run(&grep::Asked { limits, data, pattern, context, count, window, host }, loaded)
        }
    }
}
