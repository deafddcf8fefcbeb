//! A server of 10,000 stock records that shows the probe style: the first call runs the tool and answers with a probe,
//! further calls fetch parts of the stored result without running the tool again.
//!
//! - `inventory.list_all` and `products.search` are marked `#[heavy(style = "probe")]` ([`Inventory`])
//! - `inventory.low_stock` is not marked; above 50 kB the backstop turns its result into a probe ([`server`])
//! - `inventory.adjust` requires the tier `read_write`, `inventory.audit` the tier `admin` ([`Access`])

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

/// Any result above this size becomes a probe, whether the tool is marked or not.
pub const BACKSTOP_BYTES: u64 = 50_000;

/// Returns the server wrapped with tidegate; `access` decides the tier of its callers.
pub fn server(inventory: Inventory, access: Access) -> Tidegate<Inventory> {
    let backstop = Rules { auto_negotiate_bytes: Some(BACKSTOP_BYTES), ..Rules::default() };
    Tidegate::wrap(inventory).defaults(backstop).permission(access)
}
