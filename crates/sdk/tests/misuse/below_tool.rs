use tidegate_sdk::heavy;

struct Shop;

impl Shop {
    #[heavy(style = "probe")]
    async fn list(&self) {}
}

fn main() {}
