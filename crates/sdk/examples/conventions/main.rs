//! The four conventions for large results, each as one small server over stdio.
//!
//! `cargo run -p tidegate-sdk --example conventions -- orbit` (or `shop`, `articles`, `bugs`).

mod articles;
mod bugs;
mod orbit;
mod shop;

use rmcp::service::Service;
use rmcp::{RoleServer, ServiceExt};
use tidegate_sdk::{Artifacts, Dispatcher, StoreLocation, Tidegate};

async fn serve(server: impl Service<RoleServer>) -> Result<(), Box<dyn std::error::Error>> {
    server.serve((tokio::io::stdin(), tokio::io::stdout())).await?.waiting().await?;
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The views `jq` and `sql` then need no other program.
    tidegate_sdk::run_worker();
    tokio::runtime::Runtime::new()?.block_on(run())
}

async fn run() -> Result<(), Box<dyn std::error::Error>> {
    let artifacts = Artifacts::store_in(StoreLocation::Memory);
    match std::env::args().nth(1).as_deref() {
        Some("orbit") => serve(Tidegate::wrap(orbit::Orbit::default()).artifacts(&artifacts)).await,
        Some("shop") => {
            let dispatcher = Dispatcher::new("dispatch", "Calls any tool of the shop");
            serve(Tidegate::wrap(shop::Shop::new()).artifacts(&artifacts).dispatcher(dispatcher)).await
        }
        Some("articles") => serve(Tidegate::wrap(articles::Articles::new()?).artifacts(&artifacts)).await,
        Some("bugs") => serve(Tidegate::wrap(bugs::Bugs::new(&artifacts)).artifacts(&artifacts)).await,
        _ => Err("name one of orbit, shop, articles, bugs".into()),
    }
}
