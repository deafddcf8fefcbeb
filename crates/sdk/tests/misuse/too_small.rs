use tidegate_sdk::heavy;

struct Shop;

impl Shop {
    #[heavy(budget_tokens = 10, tier = "owner")]
    #[tool]
    async fn list(&self) {}
}

fn main() {}
