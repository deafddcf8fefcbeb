//! The HTTP options of `tidegate run`: a server reached over HTTP, clients that connect over HTTP, or both.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use tidegate_proxy::Link;
use tidegate_proxy::http::{
    Backend, Clients, HttpToHttp, HttpToStdio, Options, Remote, Safety, ServeError, header_of, serve,
    stdio_to_http,
};

use crate::error::CommandError;
use crate::keep::causes;
use crate::ui;

/// The address of the server, and where to listen for clients.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP")]
#[group(id = "http_arguments")]
pub(super) struct Arguments {
    /// URL of a server reached over HTTP, instead of a command
    #[arg(long, value_name = "URL", group = "address")]
    url: Option<String>,

    /// Environment variable with the URL of the server, if the URL is secret
    #[arg(long, value_name = "VARIABLE", group = "address")]
    url_env: Option<String>,

    /// Header to send, with its value in an environment variable, such as Authorization=API_AUTH; may be repeated
    #[arg(long, value_name = "NAME=VARIABLE", requires = "address")]
    header_env: Vec<String>,

    /// Environment variable with the bearer token to send to the server
    #[arg(long, value_name = "VARIABLE", requires = "address")]
    bearer_env: Option<String>,

    /// Listen for clients over HTTP at this address, such as 127.0.0.1:8080, instead of stdin and stdout
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,

    /// Environment variable with the bearer token clients must send
    #[arg(long, value_name = "VARIABLE", requires = "http")]
    auth_token_env: Option<String>,

    /// Forward the clients' Authorization header to the server
    #[arg(long, requires = "http", requires = "address")]
    forward_auth: bool,

    /// Host header to accept besides loopback, such as example.com:8080; may be repeated
    #[arg(long, value_name = "HOST", requires = "http")]
    allow_host: Vec<String>,

    #[arg(long, value_name = "ORIGIN", requires = "http")]
    #[arg(help = "Origin header to accept besides loopback, such as https://app.example; may be repeated")]
    allow_origin: Vec<String>,
}

impl Arguments {
    /// Returns whether either side uses HTTP.
    pub(super) fn is_used(&self) -> bool {
        self.url.is_some() || self.url_env.is_some() || self.http.is_some()
    }

    /// Returns whether clients connect over HTTP.
    pub(super) fn listens(&self) -> bool {
        self.http.is_some()
    }

    /// Returns the name of a server, from its URL: the host.
    pub(super) fn server_name(&self) -> Option<String> {
        host_name(&self.address().ok()??)
    }

    /// Runs until the client disconnects or a signal ends the process.
    pub(super) fn run(&self, link: Link, program: PathBuf, command: &[OsString]) -> Result<(), CommandError> {
        // All messages run on one thread, which avoids wake-ups between threads; slow work has threads of its own.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(CommandError::failed)?;
        let background = link.start_background();
        let outcome = runtime.block_on(async {
            match (self.http, self.address()?) {
                (Some(address), None) => {
                    let mut front = HttpToStdio::new(program, command.to_vec(), move || link.fresh(), log);
                    if let Some(name) = &self.auth_token_env {
                        front = front.hiding_variable(name).for_clients(Clients::Authenticated);
                    }
                    self.serve(address, Backend::Stdio(Arc::new(front))).await
                }
                (Some(address), Some(url)) => {
                    let remote = Remote::new(&url, self.headers()?).map_err(CommandError::bad_input)?;
                    let mut front = HttpToHttp::new(remote, self.forward_auth, move || link.fresh());
                    if self.auth_token_env.is_some() {
                        front = front.for_clients(Clients::Authenticated);
                    }
                    self.serve(address, Backend::Http(Arc::new(front))).await
                }
                (None, url) => {
                    let url = url.unwrap_or_default();
                    let remote = Remote::new(&url, self.headers()?).map_err(CommandError::bad_input)?;
                    stdio_to_http(link, remote, log).await;
                    Ok(())
                }
            }
        });
        runtime.shutdown_timeout(std::time::Duration::from_secs(5));
        background.finish();
        outcome
    }

    async fn serve(&self, address: SocketAddr, backend: Backend) -> Result<(), CommandError> {
        let token = match &self.auth_token_env {
            Some(name) => Some(required_variable(name)?),
            None => None,
        };
        let safety = Safety {
            hosts: self.allow_host.clone(),
            origins: self.allow_origin.clone(),
            token,
            ..Safety::default()
        };
        let ready =
            Box::new(|bound: SocketAddr| ui::note(&format!("tidegate: listening on http://{bound}/mcp")));
        serve(backend, Options { address, safety, ready }).await.map_err(|error| match error {
            ServeError::Open(_) => CommandError::bad_input(error)
                .hint("require a token with --auth-token-env VARIABLE, or listen on 127.0.0.1"),
            other => CommandError::out_of_reach(causes(&other)),
        })
    }

    /// Returns the URL of the server, if it has one.
    fn address(&self) -> Result<Option<String>, CommandError> {
        match &self.url_env {
            Some(name) => required_variable(name).map(Some),
            None => Ok(self.url.clone()),
        }
    }

    fn headers(&self) -> Result<hyper::HeaderMap, CommandError> {
        let mut headers = hyper::HeaderMap::new();
        for pair in &self.header_env {
            let (name, from) = pair.split_once('=').ok_or_else(|| {
                CommandError::bad_input(format!("--header-env {pair:?} names no variable"))
                    .hint("expected a pair such as Authorization=API_AUTH")
            })?;
            let (name, value) =
                header_of(name, &required_variable(from)?).map_err(CommandError::bad_input)?;
            headers.insert(name, value);
        }
        if let Some(from) = &self.bearer_env {
            let token = format!("Bearer {}", required_variable(from)?);
            let (name, value) = header_of("Authorization", &token).map_err(CommandError::bad_input)?;
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

/// Logs a line to stderr.
fn log(line: &str) {
    ui::note(&format!("tidegate: {line}"));
}

/// Returns the host of a URL.
pub(crate) fn host_name(url: &str) -> Option<String> {
    Some(url.split("//").nth(1)?.split(['/', ':']).next()?.to_owned())
}

/// Returns the value of an environment variable that must be set.
pub(crate) fn required_variable(name: &str) -> Result<String, CommandError> {
    std::env::var(name).ok().filter(|value| !value.is_empty()).ok_or_else(|| {
        CommandError::bad_input(format!("the environment variable {name} is not set"))
            .hint("set it where tidegate is started")
    })
}
