use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use tidegate_sdk::heavy;

struct Shop;

const STYLE: &str = "brief";

#[tool_router]
impl Shop {
    #[heavy(style = STYLE)]
    #[tool(description = "List every item")]
    async fn list(&self) -> String {
        String::new()
    }
}

#[tool_handler]
impl ServerHandler for Shop {}

fn main() {}
