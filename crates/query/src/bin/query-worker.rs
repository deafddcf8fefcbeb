//! The worker as a program of its own: what the tests start, and what a host that cannot start itself may ship.

/// Building and dropping millions of small values is what jq does; this allocator halves the time of that.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    std::process::ExitCode::from(u8::from(!tidegate_query::worker::main()))
}
