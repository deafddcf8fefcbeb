//! The server whose answers fit an agent's context: pages with a token budget, links instead of contents.

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
use crate::library::{ArticleFilter, Library, LibraryError};
use crate::{links, listing, summary};

/// The server. A clone shares the library and accepts the same cursors.
#[derive(Debug, Clone)]
pub struct Articles {
    library: Library,
    cursors: Keyset<Key>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ListArguments {
    /// Only articles of this site: harbour, garden, kitchen or workshop
    site: Option<String>,
    #[serde(flatten)]
    page: PageArguments<Article>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SearchArguments {
    /// Words that all occur in the title, the tags or the text
    query: String,
    /// Only articles of this site: harbour, garden, kitchen or workshop
    site: Option<String>,
    #[serde(flatten)]
    page: PageArguments<Article>,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SlugArguments {
    /// The slug of an article, from a list
    slug: String,
}

#[tool_router]
impl Articles {
    /// Returns a server for a library.
    ///
    /// # Errors
    ///
    /// Fails if the system provides no random bytes for signing cursors.
    pub fn new(library: Library) -> Result<Self, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Self { library, cursors: Keyset::ephemeral()? })
    }

    /// Runs a query on a blocking thread, so that disk access does not hold up the async runtime.
    async fn query<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Library) -> Result<T, LibraryError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let library = self.library.clone();
        Ok(tokio::task::spawn_blocking(move || query(&library)).await??)
    }

    async fn article(&self, slug: String) -> Result<Article, ToolError> {
        let unknown = links::unknown_slug(&slug);
        self.query(move |library| library.get(&slug)).await?.ok_or_else(|| ToolError::new(unknown))
    }

    /// Returns one page. It fetches `limit + 1` rows: the extra one shows that there is a next page.
    async fn list(
        &self,
        tool: &'static str,
        filter: ArticleFilter,
        page: PageArguments<Article>,
    ) -> Result<CallToolResult, ToolError> {
        let request = listing::ListRequest::new(tool, &filter, &page, &self.cursors)?;
        let (after, limit) = (request.after.clone(), request.page.limit);
        let (rows, total) =
            self.query(move |library| library.page(&filter, after.as_ref(), limit + 1)).await?;
        request.answer(rows, total, &self.cursors)
    }

    #[tool(
        description = "List articles, oldest change first, in pages of at most 1,400 tokens. Pass nextCursor as cursor to get the next page. fields selects the fields of a row (default slug, title and updated_at). Each row has an article:// link",
        annotations(read_only_hint = true)
    )]
    async fn list_articles(
        &self,
        Parameters(arguments): Parameters<Checked<ListArguments>>,
    ) -> Result<CallToolResult, ToolError> {
        let ListArguments { site, page } = arguments.arguments()?;
        self.list("list_articles", ArticleFilter { site, words: Vec::new() }, page).await
    }

    #[tool(
        description = "Find articles by words; pages as in list_articles",
        annotations(read_only_hint = true)
    )]
    async fn search_articles(
        &self,
        Parameters(arguments): Parameters<Checked<SearchArguments>>,
    ) -> Result<CallToolResult, ToolError> {
        let SearchArguments { query, site, page } = arguments.arguments()?;
        let words: Vec<String> = query.split_whitespace().map(str::to_owned).collect();
        if words.is_empty() {
            return Err(ToolError::new(
                "query must have at least one word; list_articles lists all articles",
            ));
        }
        self.list("search_articles", ArticleFilter { site, words }, page).await
    }

    #[tool(description = "Read a full article", annotations(read_only_hint = true))]
    async fn get_article(
        &self,
        Parameters(arguments): Parameters<Checked<SlugArguments>>,
    ) -> Result<String, ToolError> {
        Ok(self.article(arguments.arguments()?.slug).await?.markdown())
    }

    #[tool(
        description = "Three sentences of an article, with a link to the full text",
        annotations(read_only_hint = true)
    )]
    async fn summarize_article(
        &self,
        Parameters(arguments): Parameters<Checked<SlugArguments>>,
    ) -> Result<CallToolResult, ToolError> {
        let article = self.article(arguments.arguments()?.slug).await?;
        let text = ContentBlock::text(format!("{}: {}", article.title, summary::summarize(&article.body)));
        Ok(CallToolResult::success(vec![text, links::link(&article)]))
    }
}

#[tool_handler]
impl ServerHandler for Articles {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("articles", env!("CARGO_PKG_VERSION")))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(vec![links::template()]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let not_found = |error: ToolError| ErrorData::resource_not_found(error.message().to_owned(), None);
        let slug = links::slug(&request.uri).map_err(not_found)?;
        let article = self.article(slug.to_owned()).await.map_err(not_found)?;
        Ok(links::contents(&article).into())
    }
}
