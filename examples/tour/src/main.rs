//! `tour`: prints the tour of the example servers.

use std::process::ExitCode;

fn main() -> ExitCode {
    example_shared::run("tour", async { Ok(Some(tour::text(&tour::walk_all().await?))) })
}
