use tidegate_sdk::heavy;

struct Shop;

impl Shop {
    #[heavy(budget_tokens = 1500, line_tokens = 1200)]
    #[tool]
    async fn list(&self) {}
}

fn main() {}
