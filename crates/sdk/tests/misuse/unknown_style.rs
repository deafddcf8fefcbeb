use tidegate_sdk::heavy;

struct Shop;

impl Shop {
    #[heavy(style = "brief")]
    #[tool]
    async fn list(&self) {}
}

fn main() {}
