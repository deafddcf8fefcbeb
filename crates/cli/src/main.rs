//! The `tidegate` command. The code is in the library beside it.

use std::process::ExitCode;

/// Queries allocate small values by the million; this allocator halves their time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tidegate_cli::main()
}
