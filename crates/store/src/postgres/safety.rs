//! Two checks when a store is opened: that the server keeps what it acknowledges, and that row level security applies to the
//! role.

use super::database::Database;
use super::failure::Failure;
use crate::error::StoreError;

/// The oldest server version with all features that the statements use.
const MIN_SERVER_VERSION: i32 = 130_000;

const SERVER: &str = "SELECT current_setting('server_version_num')::int, current_setting('fsync'),
    current_setting('server_version'), pg_is_in_recovery()";
const ROLE: &str = "SELECT rolname::text, rolsuper, rolbypassrls FROM pg_roles WHERE rolname IN (current_user, session_user)";

/// Fails if the server or the role cannot be trusted with results; returns the version of the server.
pub(super) async fn check(database: &Database) -> Result<String, Failure> {
    let connection = database.connection().await?;
    let server = connection
        .query_one(SERVER, &[])
        .await?
        .ok_or_else(|| refuse("the server does not report its settings"))?;
    let roles = connection.query(ROLE, &[]).await?;
    connection.keep();
    let (number, fsync, version): (i32, String, String) = (server.get(0), server.get(1), server.get(2));
    if number < MIN_SERVER_VERSION {
        return Err(refuse(&format!("the server has version {version}; PostgreSQL 13 or newer is needed")));
    }
    if fsync != "on" {
        return Err(refuse("the server runs with fsync = off, so it would lose results in a power failure"));
    }
    if server.get(3) {
        let message = "the server is a standby, which can only be read; connect to the primary, or list all servers and add \
                       target_session_attrs=read-write to the address";
        return Err(refuse(message));
    }
    for role in roles {
        let (name, superuser, bypasses): (String, bool, bool) = (role.get(0), role.get(1), role.get(2));
        if superuser || bypasses {
            let why = if superuser { "is a superuser" } else { "has BYPASSRLS" };
            return Err(refuse(&format!(
                "the role {name} {why}, so row level security would not keep owners apart; connect as a role made with \
                 CREATE ROLE tidegate LOGIN NOSUPERUSER NOBYPASSRLS"
            )));
        }
    }
    Ok(version)
}

fn refuse(why: &str) -> Failure {
    Failure::Final(StoreError::Unusable(why.into()))
}
