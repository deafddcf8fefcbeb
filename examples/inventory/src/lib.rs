//! A server of 10,000 stock records whose heavy tools are asked twice: the first call runs the tool and answers with a
//! probe, the second fetches as much of the result as is needed, and runs nothing.
//!
//! - `inventory.list_all`, `products.search`: marked `#[heavy(style = "probe")]` ([`Inventory`])
//! - `inventory.low_stock`: not marked; above 50 kB the backstop makes a probe of its result ([`server`])
//! - `inventory.adjust` needs the tier `read_write`, `inventory.audit` the tier `admin` ([`Access`])

mod access;
mod catalogue;
mod inventory;
mod measure;
mod stock;

pub use access::Access;
pub use catalogue::{CATEGORIES, PRODUCTS, WAREHOUSES};
pub use inventory::Inventory;
pub use measure::table;
pub use stock::{Stock, StockError};

use tidegate_sdk::{Rules, Tidegate};

/// Results of more bytes become a probe, marked or not.
pub const BACKSTOP_BYTES: u64 = 50_000;

/// Returns the server with the gate inside, for callers who may do what `access` says at the moment.
pub fn server(inventory: Inventory, access: Access) -> Tidegate<Inventory> {
    let backstop = Rules { auto_negotiate_bytes: Some(BACKSTOP_BYTES), ..Rules::default() };
    Tidegate::wrap(inventory).defaults(backstop).permission(access)
}
