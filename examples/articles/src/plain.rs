//! The straightforward server: every row in full. It is the "before" of the table in the README.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{Implementation, ServerCapabilities, ServerConfig};
use rmcp::{ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_sdk::{Checked, ToolError};

use crate::library::{ArticleFilter, Library};
use crate::links;

/// The server without tidegate.
#[derive(Debug, Clone)]
pub struct Plain {
    library: Library,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ListArguments {
    /// Only articles of this site
    site: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SearchArguments {
    /// Words that all occur in the title, the tags or the text
    query: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SlugArguments {
    /// The slug of an article, from a list
    slug: String,
}

#[tool_router]
impl Plain {
    /// Returns a server for a library.
    pub fn new(library: Library) -> Self {
        Self { library }
    }

    fn all(&self, filter: &ArticleFilter) -> Result<String, ToolError> {
        let (rows, _) = self.library.page(filter, None, usize::MAX)?;
        Ok(serde_json::to_string_pretty(&rows)?)
    }

    #[tool(description = "Return the article list for a site")]
    async fn list_articles(
        &self,
        Parameters(arguments): Parameters<Checked<ListArguments>>,
    ) -> Result<String, ToolError> {
        self.all(&ArticleFilter { site: arguments.arguments()?.site, words: Vec::new() })
    }

    #[tool(description = "Find articles by words")]
    async fn search_articles(
        &self,
        Parameters(arguments): Parameters<Checked<SearchArguments>>,
    ) -> Result<String, ToolError> {
        let query = arguments.arguments()?.query;
        self.all(&ArticleFilter { site: None, words: query.split_whitespace().map(str::to_owned).collect() })
    }

    #[tool(description = "Read one article")]
    async fn get_article(
        &self,
        Parameters(arguments): Parameters<Checked<SlugArguments>>,
    ) -> Result<String, ToolError> {
        let slug = arguments.arguments()?.slug;
        let article = self.library.get(&slug)?.ok_or_else(|| ToolError::new(links::unknown_slug(&slug)))?;
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
