//! `tidegate run` in front of one server starts nothing of the gateway, whatever the configuration says of it: no asynchronous
//! runtime, and no connection.
//!
//! The same holds for builds with and without the feature `gateway`, so this test runs in both.

use std::collections::HashSet;
use std::fs;
use std::net::TcpListener;
use std::path::Path;

use crate::place::Place;
use crate::session::Session;

/// Returns the names of the threads of a process.
fn threads(process: &Path) -> Vec<String> {
    let tasks = fs::read_dir(process.join("task")).unwrap();
    tasks.filter_map(|task| fs::read_to_string(task.unwrap().path().join("comm")).ok()).collect()
}

/// Returns the sockets of a process that belong to the internet, not to this machine alone.
fn internet_sockets(process: &Path) -> Vec<String> {
    let tables =
        ["tcp", "tcp6", "udp", "udp6"].map(|table| fs::read_to_string(process.join("net").join(table)));
    let tables: String = tables.into_iter().map(Result::unwrap_or_default).collect();
    let known: HashSet<&str> = tables.lines().filter_map(|line| line.split_whitespace().nth(9)).collect();
    let opened = fs::read_dir(process.join("fd")).unwrap();
    let targets = opened.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    let targets = targets.map(|target| target.to_string_lossy().into_owned());
    let inode = |target: &str| target.strip_prefix("socket:[")?.strip_suffix(']').map(str::to_owned);
    targets.filter(|target| inode(target).is_some_and(|inode| known.contains(inode.as_str()))).collect()
}

#[test]
fn a_run_starts_nothing_of_the_gateway() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let config = format!(
        "[gateway]\notlp_endpoint = {address:?}\nresource = \"https://gateway.example/mcp\"\n\
         [gateway.issuer.login]\nissuer = {address:?}\n\
         [gateway.role.all]\nrequests_per_day = 1\ntokens_per_day = 1\n\
         [upstream.far]\nurl = \"{address}/mcp\"\n"
    );
    let file = place.folder.path().join("gateway.toml");
    fs::write(&file, config).unwrap();
    let flags = ["--config", file.to_str().unwrap()];
    let environment = [("OTEL_EXPORTER_OTLP_ENDPOINT", address.as_str())];
    let mut session = Session::start_with(&place.home(), &flags, &environment).greeted("somebody");
    let id = session.keep_rows(400);
    let arguments = serde_json::json!({"id": id, "sql": "select count(*) from t"});
    assert!(session.text("result_query", arguments).contains("400"));
    let process = Path::new("/proc").join(session.child.id().to_string());
    let threads = threads(&process);
    assert!(threads.iter().any(|name| name.starts_with("tidegate-client")), "{threads:?}");
    assert!(!threads.iter().any(|name| name.starts_with("tokio")), "{threads:?}");
    assert_eq!(internet_sockets(&process), Vec::<String>::new());
    place.end(session);
    let reached = listener.accept().map(|(_, from)| from);
    assert!(reached.is_err(), "nobody connects: {reached:?}");
}

/// The test above would see a socket and a runtime.
#[test]
fn what_a_process_opens_is_seen() {
    let _listener = TcpListener::bind("127.0.0.1:0").unwrap();
    assert!(!internet_sockets(Path::new("/proc/self")).is_empty());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
    runtime.block_on(async { tokio::spawn(async {}).await.unwrap() });
    let names = threads(Path::new("/proc/self"));
    assert!(names.iter().any(|name| name.starts_with("tokio")), "{names:?}");
}
