//! Runs an order over a result: in the worker process, or in the caller's if there is no worker.

use tidegate_core::view::{EngineOutput, ViewError};

#[cfg(feature = "jq")]
use crate::jq;
use crate::order::{Order, Program, Progress, Report};
#[cfg(feature = "sql")]
use crate::sql;
use crate::{Host, Input, grep};

/// Runs an order.
pub(crate) fn run(
    order: &Order,
    input: &Input<'_>,
    host: Host,
    report: &mut Report<'_>,
) -> Result<EngineOutput, ViewError> {
    let Order { program, results, limits } = order;
    match program {
        #[cfg(feature = "jq")]
        Program::Jq(program) => jq::run(&jq::Asked { limits, input, program, results: *results }, report),
        #[cfg(feature = "sql")]
        Program::Sql(query) => {
            sql::run(&sql::Asked { limits, input, query, results: *results, host }, report)
        }
        #[cfg(not(feature = "jq"))]
        Program::Jq(_) => Err(not_compiled_in(program)),
        #[cfg(not(feature = "sql"))]
        Program::Sql(_) => Err(not_compiled_in(program)),
        Program::Grep { pattern, context, count } => {
            let (data, window) = (input.data, results.window());
            let (context, count) = (*context, *count);
            let mut failed = None;
            let found =
                grep::run(&grep::Asked { limits, data, pattern, context, count, window, host }, &mut || {
                    failed = report(Progress::Loaded).err();
                });
            failed.map_or(found, |error| Err(error.into()))
        }
    }
}

#[cfg(not(all(feature = "jq", feature = "sql")))]
fn not_compiled_in(program: &Program) -> ViewError {
    ViewError::Engine(format!("{} needs an engine that is not compiled in", program.name()))
}
