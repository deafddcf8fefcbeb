//! Generates the products and quantities of a new database: the same on every machine.

/// The number of products; every warehouse has a record of each.
pub const PRODUCTS: u32 = 1_250;

/// The ids and cities of the warehouses.
pub const WAREHOUSES: [(&str, &str); 8] = [
    ("WH-01", "Bremen"),
    ("WH-02", "Porto"),
    ("WH-03", "Turku"),
    ("WH-04", "Halifax"),
    ("WH-05", "Busan"),
    ("WH-06", "Durban"),
    ("WH-07", "Cork"),
    ("WH-08", "Perth"),
];

/// The categories of products.
pub const CATEGORIES: [&str; 18] = [
    "plumbing",
    "electrical",
    "fasteners",
    "paint",
    "garden",
    "lighting",
    "tools",
    "safety",
    "flooring",
    "roofing",
    "heating",
    "kitchen",
    "storage",
    "cleaning",
    "office",
    "fencing",
    "insulation",
    "packaging",
];

/// The kinds of products in each category.
const KINDS: [[&str; 3]; 18] = [
    ["ball valve", "drain pipe", "mixer tap"],
    ["junction box", "cable reel", "wall socket"],
    ["hex bolt", "wood screw", "wall anchor"],
    ["paint roller", "primer tin", "masking tape"],
    ["hose reel", "plant tray", "hedge shears"],
    ["desk lamp", "light strip", "lamp holder"],
    ["claw hammer", "bench vice", "hand saw"],
    ["work glove", "ear muff", "hard hat"],
    ["floor tile", "skirting board", "underlay roll"],
    ["roof tile", "gutter joint", "ridge vent"],
    ["radiator key", "heat pad", "flue pipe"],
    ["cutting board", "drawer slide", "sink strainer"],
    ["shelf bracket", "stacking crate", "wall hook"],
    ["floor brush", "bucket wringer", "dust pan"],
    ["desk tray", "paper shelf", "coat stand"],
    ["fence post", "gate hinge", "rail clip"],
    ["wall panel", "pipe sleeve", "foam strip"],
    ["shipping box", "corner guard", "strap reel"],
];
const MATERIALS: [&str; 7] = ["Steel", "Brass", "Oak", "Nylon", "Copper", "Rubber", "Pine"];

/// A product.
pub(crate) struct Product {
    pub(crate) sku: String,
    pub(crate) name: String,
    pub(crate) category: &'static str,
    pub(crate) cents: u32,
}

/// Returns the product with a number, from 0.
pub(crate) fn product(number: u32) -> Product {
    let category = number as usize % CATEGORIES.len();
    let round = number as usize / CATEGORIES.len();
    let (material, kind) = (MATERIALS[round % MATERIALS.len()], KINDS[category][round % 3]);
    Product {
        sku: format!("SKU-{:04}", number + 1),
        name: format!("{material} {kind} {} mm", 10 + round * 5),
        category: CATEGORIES[category],
        cents: 150 + number * 7919 % 9000,
    }
}

/// Returns the initial quantity of a product in a warehouse.
pub(crate) fn quantity(product: u32, warehouse: usize) -> u32 {
    (product * 37 + warehouse as u32 * 101) % 240
}
