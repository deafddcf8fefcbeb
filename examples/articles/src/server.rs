//! The tools as an agent can use them.

use rmcp::handler::server::wrapper::Parameters;
use rmcp::model::{
    CallToolResult, ContentBlock, Implementation, ListResourceTemplatesResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, tool, tool_handler, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;
use tidegate_sdk::{Checked, Keyset, PageArguments, ToolError};

use crate::article::{Article, Key};
use crate::library::{Library, LibraryError, Wanted};
use crate::{listing, reading, summary};

/// The server. A clone has the same library, and its cursors are good for the original.
#[derive(Debug, Clone)]
pub struct Articles {
    library: Library,
    cursors: Keyset<Key>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(transform = listing::in_schema)]
struct Listing {
    /// Only articles of this site: harbour, garden, kitchen or workshop
    site: Option<String>,
    #[serde(flatten)]
    page: PageArguments,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(transform = listing::in_schema)]
struct Search {
    /// Words that all occur in the title, the tags or the text
    query: String,
    /// Only articles of this site: harbour, garden, kitchen or workshop
    site: Option<String>,
    #[serde(flatten)]
    page: PageArguments,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct One {
    /// The slug of an article, from a list
    slug: String,
}

#[tool_router]
impl Articles {
    /// Returns a server of a library.
    ///
    /// # Errors
    ///
    /// Where the system gives no random bytes, which cursors are signed with.
    pub fn new(library: Library) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self { library, cursors: Keyset::ephemeral()? })
    }

    /// Asks the library on a thread where waiting for the disk holds up nobody.
    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Library) -> Result<T, LibraryError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let library = self.library.clone();
        Ok(tokio::task::spawn_blocking(move || question(&library)).await??)
    }

    async fn article(&self, slug: String) -> Result<Article, ToolError> {
        let unknown = reading::unknown(&slug);
        self.ask(move |library| library.get(&slug)).await?.ok_or_else(|| ToolError::new(unknown))
    }

    /// One page of what is wanted. `limit + 1` rows are fetched: the one too many says that there are more.
    async fn list(
        &self,
        tool: &'static str,
        wanted: Wanted,
        page: PageArguments,
    ) -> Result<CallToolResult, ToolError> {
        let asked = listing::Asked::new(tool, &wanted, &page, &self.cursors)?;
        let (after, limit) = (asked.after.clone(), asked.request.limit);
        let (rows, total) = self.ask(move |library| library.page(&wanted, after.as_ref(), limit + 1)).await?;
        asked.answer(rows, total, &self.cursors)
    }

    #[tool(
        description = "List articles, oldest change first, in pages of at most 1,400 tokens. nextCursor is the cursor of the next page; fields chooses what rows have (slug, title and updated_at if absent). Each row has an article:// link",
        annotations(read_only_hint = true)
    )]
    async fn list_articles(
        &self,
        Parameters(asked): Parameters<Checked<Listing>>,
    ) -> Result<CallToolResult, ToolError> {
        let Listing { site, page } = asked.arguments()?;
        self.list("list_articles", Wanted { site, words: Vec::new() }, page).await
    }

    #[tool(
        description = "Find articles by words, in pages like those of list_articles",
        annotations(read_only_hint = true)
    )]
    async fn search_articles(
        &self,
        Parameters(asked): Parameters<Checked<Search>>,
    ) -> Result<CallToolResult, ToolError> {
        let Search { query, site, page } = asked.arguments()?;
        let words: Vec<String> = query.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            return Err(ToolError::new(
                "query should be one or more words; list_articles lists all articles",
            ));
        }
        self.list("search_articles", Wanted { site, words }, page).await
    }

    #[tool(description = "Read one article, whole", annotations(read_only_hint = true))]
    async fn get_article(&self, Parameters(asked): Parameters<Checked<One>>) -> Result<String, ToolError> {
        Ok(self.article(asked.arguments()?.slug).await?.markdown())
    }

    #[tool(
        description = "Three sentences of an article, with the link to all of it",
        annotations(read_only_hint = true)
    )]
    async fn summarize_article(
        &self,
        Parameters(asked): Parameters<Checked<One>>,
    ) -> Result<CallToolResult, ToolError> {
        let article = self.article(asked.arguments()?.slug).await?;
        let text = ContentBlock::text(format!("{}: {}", article.title, summary::summary(&article.body)));
        Ok(CallToolResult::success(vec![text, reading::link(&article)]))
    }
}

#[tool_handler]
impl ServerHandler for Articles {
    fn get_info(&self) -> ServerConfig {
        let can = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(can).with_server_info(Implementation::new("articles", env!("CARGO_PKG_VERSION")))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![reading::template()]))
    }

    async fn read_resource(
        &self,
        asked: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let not_found = |error: ToolError| ErrorData::resource_not_found(error.message().to_owned(), None);
        let slug = reading::slug(&asked.uri).map_err(not_found)?;
        let article = self.article(slug.to_owned()).await.map_err(not_found)?;
        Ok(reading::contents(&article).into())
    }
}
