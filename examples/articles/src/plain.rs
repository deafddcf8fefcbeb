//! The tools as one writes them first: every row whole. The "before" of the table.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_sdk::{Checked, ToolError};

use crate::library::{Library, Wanted};
use crate::reading;

/// The server without anything of tidegate.
#[derive(Debug, Clone)]
pub struct Plain {
    library: Library,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Listing {
    /// Only articles of this site
    site: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Search {
    /// Words that all occur in the title, the tags or the text
    query: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct One {
    /// The slug of an article, from a list
    slug: String,
}

#[tool_router]
impl Plain {
    /// Returns a server of a library.
    pub fn new(library: Library) -> Self {
        Self { library }
    }

    fn all(&self, wanted: &Wanted) -> Result<String, ToolError> {
        let (rows, _) = self.library.page(wanted, None, usize::MAX)?;
        Ok(serde_json::to_string_pretty(&rows)?)
    }

    #[tool(description = "Return the article list for a site")]
    async fn list_articles(
        &self,
        Parameters(asked): Parameters<Checked<Listing>>,
    ) -> Result<String, ToolError> {
        self.all(&Wanted { site: asked.arguments()?.site, words: Vec::new() })
    }

    #[tool(description = "Find articles by words")]
    async fn search_articles(
        &self,
        Parameters(asked): Parameters<Checked<Search>>,
    ) -> Result<String, ToolError> {
        let query = asked.arguments()?.query;
        self.all(&Wanted { site: None, words: query.split_whitespace().map(str::to_owned).collect() })
    }

    #[tool(description = "Read one article")]
    async fn get_article(&self, Parameters(asked): Parameters<Checked<One>>) -> Result<String, ToolError> {
        let slug = asked.arguments()?.slug;
        let article = self.library.get(&slug)?.ok_or_else(|| ToolError::new(reading::unknown(&slug)))?;
        Ok(serde_json::to_string_pretty(&article)?)
    }
}

#[tool_handler]
impl ServerHandler for Plain {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("articles", env!("CARGO_PKG_VERSION")))
    }
}
