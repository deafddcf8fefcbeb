//! The part of `tidegate run` that is about HTTP: a server behind it, clients in front of it.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use tidegate_proxy::Link;
use tidegate_proxy::http::{
    Backend, HttpToHttp, HttpToStdio, Options, Remote, Safety, ServeError, header_of, serve, stdio_to_http,
};

use crate::error::CommandError;
use crate::keep::causes;
use crate::ui;

/// Where the server is, and where clients come from.
#[derive(Debug, Args)]
#[command(next_help_heading = "HTTP")]
#[group(id = "http_arguments")]
pub(super) struct Arguments {
    /// Address of a server that is reached over HTTP, instead of a command
    #[arg(long, value_name = "URL", group = "address")]
    url: Option<String>,

    /// Variable of the environment with the address, where nobody else should see it
    #[arg(long, value_name = "VARIABLE", group = "address")]
    url_env: Option<String>,

    /// Header for the server, whose value is in a variable of the environment: Authorization=API_AUTH
    #[arg(long, value_name = "NAME=VARIABLE", requires = "address")]
    header_env: Vec<String>,

    /// Variable of the environment with the token that the server wants to be borne
    #[arg(long, value_name = "VARIABLE", requires = "address")]
    bearer_env: Option<String>,

    /// Listen for clients over HTTP at this address, such as 127.0.0.1:8080, instead of stdin and stdout
    #[arg(long, value_name = "ADDRESS")]
    http: Option<SocketAddr>,

    /// Variable of the environment with the token that callers must bear
    #[arg(long, value_name = "VARIABLE", requires = "http")]
    auth_token_env: Option<String>,

    /// Pass the callers' own Authorization on to the server
    #[arg(long, requires = "http", requires = "address")]
    forward_auth: bool,

    /// Name that may stand in Host, with its port; may be repeated
    #[arg(long, value_name = "HOST", requires = "http")]
    allow_host: Vec<String>,

    #[arg(long, value_name = "ORIGIN", requires = "http")]
    #[arg(help = "Origin that may send requests, such as https://app.example; may be repeated")]
    allow_origin: Vec<String>,
}

impl Arguments {
    /// Whether HTTP is used on either side.
    pub(super) fn is_used(&self) -> bool {
        self.url.is_some() || self.url_env.is_some() || self.http.is_some()
    }

    /// What a server is called by its address: its host.
    pub(super) fn server_name(&self) -> Option<String> {
        host_name(&self.address().ok()??)
    }

    /// Runs until told to end.
    pub(super) fn run(&self, link: Link, program: PathBuf, command: &[OsString]) -> Result<(), CommandError> {
        // One thread carries all messages, so that none waits for another thread to wake; what takes long is done apart.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(CommandError::failed)?;
        let background = link.start_background();
        let outcome = runtime.block_on(async {
            match (self.http, self.address()?) {
                (Some(address), None) => {
                    let front = HttpToStdio::new(
                        program,
                        command.to_vec(),
                        move || link.fresh(),
                        |words| {
                            ui::note(&format!("tidegate: {words}"));
                        },
                    );
                    self.serve(address, Backend::Stdio(Arc::new(front))).await
                }
                (Some(address), Some(url)) => {
                    let remote = Remote::new(&url, self.headers()?).map_err(CommandError::bad_input)?;
                    let front = HttpToHttp::new(remote, self.forward_auth, move || link.fresh());
                    self.serve(address, Backend::Http(Arc::new(front))).await
                }
                (None, url) => {
                    let url = url.unwrap_or_default();
                    let remote = Remote::new(&url, self.headers()?).map_err(CommandError::bad_input)?;
                    stdio_to_http(link, remote, |words| ui::note(&format!("tidegate: {words}"))).await;
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
            Some(name) => Some(variable(name)?),
            None => None,
        };
        let safety = Safety { hosts: self.allow_host.clone(), origins: self.allow_origin.clone(), token };
        let ready =
            Box::new(|bound: SocketAddr| ui::note(&format!("tidegate: listening on http://{bound}/mcp")));
        serve(backend, Options { address, safety, ready }).await.map_err(|error| match error {
            ServeError::Open(_) => CommandError::bad_input(error)
                .hint("name a variable that holds one: --auth-token-env VARIABLE, or listen on 127.0.0.1"),
            other => CommandError::out_of_reach(causes(&other)),
        })
    }

    /// The address of the server, if it has one.
    fn address(&self) -> Result<Option<String>, CommandError> {
        match &self.url_env {
            Some(name) => variable(name).map(Some),
            None => Ok(self.url.clone()),
        }
    }

    fn headers(&self) -> Result<hyper::HeaderMap, CommandError> {
        let mut headers = hyper::HeaderMap::new();
        for pair in &self.header_env {
            let (name, from) = pair.split_once('=').ok_or_else(|| {
                CommandError::bad_input(format!("--header-env {pair:?} names no variable"))
                    .hint("write it like Authorization=API_AUTH")
            })?;
            let (name, value) = header_of(name, &variable(from)?).map_err(CommandError::bad_input)?;
            headers.insert(name, value);
        }
        if let Some(from) = &self.bearer_env {
            let token = format!("Bearer {}", variable(from)?);
            let (name, value) = header_of("Authorization", &token).map_err(CommandError::bad_input)?;
            headers.insert(name, value);
        }
        Ok(headers)
    }
}

/// The host of an address.
pub(crate) fn host_name(url: &str) -> Option<String> {
    Some(url.split("//").nth(1)?.split(['/', ':']).next()?.to_owned())
}

/// The value of a variable that must be set.
pub(crate) fn variable(name: &str) -> Result<String, CommandError> {
    std::env::var(name).ok().filter(|value| !value.is_empty()).ok_or_else(|| {
        CommandError::bad_input(format!("the variable {name} is not set"))
            .hint("set it in the environment of tidegate")
    })
}
