//! The `tidegate` command. All of it is in the library beside it, where the fuzzers reach it too.

use std::process::ExitCode;

/// Small values made and dropped by the million are what queries are about; this allocator halves the time of that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    tidegate_cli::main()
}
