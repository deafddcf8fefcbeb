use tidegate_sdk::heavy;

struct Shop;

impl Shop {
    #[heavy(pages = 3)]
    #[tool]
    async fn list(&self) {}
}

fn main() {}
