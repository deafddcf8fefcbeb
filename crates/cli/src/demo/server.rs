//! The bundled servers: those of `examples`, in a process of their own.

use std::future::Future;

use tidegate_sdk::{Artifacts, Place, ServeError, Tier, serve};

use crate::ui;

/// The hidden subcommand under which a server is started: its name, and `--plain` for the tools as they were before.
pub(crate) const SUBCOMMAND: &str = "__demo-server";
/// The option for the tools as they were before.
pub(super) const PLAIN: &str = "--plain";

type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Serves on stdin and stdout until the input ends; returns the exit code.
pub(crate) fn main(mut arguments: impl Iterator<Item = std::ffi::OsString>) -> u8 {
    let name = arguments.next().and_then(|name| name.into_string().ok()).unwrap_or_default();
    let plain = arguments.any(|argument| argument == PLAIN);
    match serve_named(&name, plain) {
        Ok(()) => 0,
        Err(error) => {
            ui::note(&format!("tidegate: {error}"));
            1
        }
    }
}

fn serve_named(name: &str, plain: bool) -> Result<(), Failed> {
    match name {
        "orbit" if plain => until_the_end(serve(None, orbit::plain())),
        "orbit" => until_the_end(serve(None, orbit::server().kept_in(Place::Memory).quiet())),
        "inventory" => {
            let stock = inventory::Inventory::new(inventory::Stock::open(None)?);
            if plain {
                return until_the_end(serve(None, stock));
            }
            let server = inventory::server(stock, inventory::Access::new(Tier::Read));
            until_the_end(serve(None, server.kept_in(Place::Memory).quiet()))
        }
        "articles" => {
            let library = articles::Library::open(None)?;
            if plain {
                return until_the_end(serve(None, articles::Plain::new(library)));
            }
            let server = articles::server(articles::Articles::new(library)?);
            until_the_end(serve(None, server.kept_in(Place::Memory).quiet()))
        }
        "bugtrace" => {
            let folder = tempfile::tempdir()?;
            bugtrace::sample(folder.path())?;
            let tree = bugtrace::Tree::open(folder.path())?;
            if plain {
                return until_the_end(serve(None, bugtrace::plain(tree)?));
            }
            let artifacts = Artifacts::kept_in(Place::Memory);
            until_the_end(serve(None, bugtrace::server(tree, &artifacts)?.quiet()))
        }
        other => Err(format!("there is no server {other:?}").into()),
    }
}

fn until_the_end(served: impl Future<Output = Result<(), ServeError>>) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    Ok(runtime.block_on(served)?)
}
