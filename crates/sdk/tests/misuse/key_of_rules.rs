use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use tidegate_sdk::heavy;

struct Shop;

#[tool_router]
impl Shop {
    #[heavy(max_bytes = 4000)]
    #[tool(description = "List every item")]
    async fn list(&self) -> String {
        String::new()
    }
}

#[tool_handler]
impl ServerHandler for Shop {}

fn main() {}
