//! Connections to the database, and transactions.
//!
//! A transaction acts for one owner or, explicitly, for all of them: it sets what the row level security policies compare
//! with. A connection whose transaction did not end properly is closed, never used again.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{
    Hook, HookError, Manager, ManagerConfig, Metrics, Object, Pool, QueueMode, RecyclingMethod, Runtime,
};
use futures_util::future::try_join_all;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Config, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::failure::Failure;
use super::options::PostgresOptions;
use crate::artifact::Owner;
use crate::error::StoreError;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the peer may leave sent bytes unacknowledged before the connection counts as lost.
const PEER_TIMEOUT: Duration = Duration::from_secs(10);
/// After this long without traffic, and then every few seconds, an open connection is probed.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(30);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
const KEEPALIVE_PROBES: u32 = 2;
/// How much longer than the server's own timeout this process waits before it gives up on a statement.
const TIMEOUT_MARGIN: Duration = Duration::from_secs(5);

/// For statements that may take as long as they need.
const UNLIMITED: Duration = Duration::from_secs(7 * 24 * 3600);

const OWNER: &str = "tidegate.owner";
const ALL_OWNERS: &str = "tidegate.all_owners";

/// Whose rows a transaction sees.
#[derive(Debug, Clone)]
pub(super) enum Scope {
    /// Those of one owner.
    Owner(Owner),
    /// Those of all owners, for quotas of the store, sweeps, and lists for its operator.
    AllOwners,
}

impl Scope {
    /// Returns the setting that the policies compare with, and its value.
    fn setting(&self) -> (&'static str, &str) {
        match self {
            Self::Owner(owner) => (OWNER, owner.as_str()),
            Self::AllOwners => (ALL_OWNERS, "on"),
        }
    }
}

/// A parameter of a statement.
pub(super) type Parameter<'p> = &'p (dyn ToSql + Sync);

/// A statement and its parameters.
pub(super) type Statement<'s> = (&'s str, &'s [Parameter<'s>]);

/// Returns a query that first sets whose rows it sees, for the transaction that this one statement is. The value of the setting
/// is one more parameter, after those of the query.
///
/// The order is guaranteed: the query depends on the row with the setting (`LATERAL`), so none of its tables is read before
/// that row exists.
fn scoped_query(setting: &str, sql: &str, parameters: usize) -> String {
    let value = parameters + 1;
    format!(
        "WITH scope AS MATERIALIZED (SELECT set_config('{setting}', ${value}, true) AS value)
         SELECT found.* FROM scope,
         LATERAL (SELECT * FROM ({sql}) AS query WHERE scope.value IS NOT NULL OFFSET 0) AS found"
    )
}

/// The connections of a store.
pub(super) struct Database {
    pool: Pool,
    config: Config,
    tls: MakeRustlsConnect,
    timeout: Duration,
    idle_timeout: Duration,
}

impl Database {
    /// Returns a pool of connections; none is opened yet.
    pub(super) fn new(options: &PostgresOptions) -> Result<Self, StoreError> {
        let config = configuration(options)?;
        let tls = MakeRustlsConnect::new(tls_configuration()?);
        // Recycling needs no check, because a transaction that did not end properly never returns its connection.
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let settings: Arc<str> = session_settings(options).into();
        let idle_timeout = options.idle_timeout;
        let pool = Pool::builder(Manager::from_config(config.clone(), tls.clone(), manager))
            .max_size(options.max_connections.max(2))
            .runtime(Runtime::Tokio1)
            // The connection that was used last is used first, so that those a burst needed become idle.
            .queue_mode(QueueMode::Lifo)
            .wait_timeout(Some(options.statement_timeout))
            .create_timeout(Some(CONNECT_TIMEOUT))
            .post_create(Hook::async_fn(move |client, _| {
                let settings = Arc::clone(&settings);
                Box::pin(async move {
                    match timeout(CONNECT_TIMEOUT, client.batch_execute(&settings)).await {
                        Ok(done) => done.map_err(HookError::Backend),
                        Err(_) => Err(HookError::message("the database did not answer in time")),
                    }
                })
            }))
            // A firewall may have forgotten a connection that was quiet for long.
            .pre_recycle(Hook::sync_fn(move |_, metrics: &Metrics| {
                match metrics.last_used() > idle_timeout {
                    true => Err(HookError::message("it was not used for too long")),
                    false => Ok(()),
                }
            }))
            .build()
            .map_err(|error| StoreError::Unusable(Box::new(error)))?;
        Ok(Self { pool, config, tls, timeout: options.statement_timeout + TIMEOUT_MARGIN, idle_timeout })
    }

    /// Closes the connections that are not in use. After one was lost, the others that were open then often are too, and each
    /// would cost a timeout.
    pub(super) fn close_unused(&self) {
        self.pool.retain(|_, _| false);
    }

    /// Returns a task that closes connections when they were not used for a while, as long as the pool exists.
    pub(super) fn close_idle(&self) -> impl Future<Output = ()> + Send + 'static + use<> {
        let (pool, idle_timeout) = (self.pool.weak(), self.idle_timeout);
        async move {
            loop {
                tokio::time::sleep(idle_timeout / 2).await;
                let pool: Option<Pool> = pool.upgrade();
                let Some(pool) = pool else { return };
                pool.retain(|_, metrics| metrics.last_used() <= idle_timeout);
            }
        }
    }

    /// Begins a transaction.
    pub(super) async fn begin(&self, scope: &Scope) -> Result<Transaction, Failure> {
        let (transaction, _) = self.begin_with(scope, &[]).await?;
        Ok(transaction)
    }

    /// Begins a transaction and runs its first statements, all in one round trip. Returns the rows of each
    /// statement.
    pub(super) async fn begin_with(
        &self,
        scope: &Scope,
        statements: &[Statement<'_>],
    ) -> Result<(Transaction, Vec<Vec<Row>>), Failure> {
        let transaction = self.connection().await?;
        let (setting, value) = scope.setting();
        let setting = format!("SELECT set_config('{setting}', $1, true)");
        let value: [Parameter<'_>; 1] = [&value];
        let scoped: Vec<Statement<'_>> =
            std::iter::once((&*setting, &value[..])).chain(statements.iter().copied()).collect();
        let mut rows = within(self.timeout, async {
            let client = transaction.client();
            let prepared = prepare(client, &scoped).await?;
            let (_, rows) =
                tokio::try_join!(biased; client.batch_execute("BEGIN"), run(client, &prepared, &scoped))?;
            Ok(rows)
        })
        .await?;
        rows.remove(0);
        Ok((transaction, rows))
    }

    /// Runs one query in a transaction of its own: one statement, so that it takes one round trip.
    pub(super) async fn read(
        &self,
        scope: &Scope,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Failure> {
        let transaction = self.connection().await?;
        let (setting, value) = scope.setting();
        let sql = scoped_query(setting, sql, parameters.len());
        let parameters: Vec<Parameter<'_>> =
            parameters.iter().copied().chain(std::iter::once(&value as Parameter<'_>)).collect();
        let rows = transaction.query(&sql, &parameters).await?;
        transaction.keep();
        Ok(rows)
    }

    /// Opens a connection beside the others, on which the notifications of a channel arrive until it is lost.
    pub(super) async fn listen(
        &self,
        channel: &str,
    ) -> Result<(Client, mpsc::UnboundedReceiver<String>), Failure> {
        let (client, mut connection) = within(self.timeout, self.config.connect(self.tls.clone())).await?;
        let (sender, notifications) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(Ok(message)) = poll_fn(|context| connection.poll_message(context)).await {
                if let AsyncMessage::Notification(notification) = message
                    && sender.send(notification.payload().to_owned()).is_err()
                {
                    return;
                }
            }
        });
        within(self.timeout, client.batch_execute(&format!("LISTEN {}", quoted(channel)))).await?;
        Ok((client, notifications))
    }

    /// Runs statements without an owner, as the checks at the start and the migrations do.
    pub(super) async fn connection(&self) -> Result<Transaction, Failure> {
        let client = self.pool.get().await?;
        Ok(Transaction { client: Some(client), timeout: self.timeout })
    }
}

/// A transaction. Dropping it before it was committed or rolled back closes its connection, which rolls it back.
pub(super) struct Transaction {
    client: Option<Object>,
    timeout: Duration,
}

impl Transaction {
    fn client(&self) -> &Object {
        self.client.as_ref().expect("the connection is taken only at the end")
    }

    /// Lets the statements of this transaction take as long as they need, as migrations do.
    pub(super) async fn without_timeout(&mut self) -> Result<(), Failure> {
        self.timeout = UNLIMITED;
        self.batch("SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0").await
    }

    /// Runs a query.
    pub(super) async fn query(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<Vec<Row>, Failure> {
        within(self.timeout, async {
            let client = self.client();
            let statement = client.prepare_cached(sql).await?;
            client.query(&statement, parameters).await
        })
        .await
    }

    /// Runs a query that returns at most one row.
    pub(super) async fn query_one(
        &self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Option<Row>, Failure> {
        Ok(self.query(sql, parameters).await?.into_iter().next())
    }

    /// Runs a statement and returns the number of rows it changed.
    pub(super) async fn execute(&self, sql: &str, parameters: &[Parameter<'_>]) -> Result<u64, Failure> {
        within(self.timeout, async {
            let client = self.client();
            let statement = client.prepare_cached(sql).await?;
            client.execute(&statement, parameters).await
        })
        .await
    }

    /// Runs statements one after another, in one round trip. Returns the rows of each.
    pub(super) async fn pipeline(&self, statements: &[Statement<'_>]) -> Result<Vec<Vec<Row>>, Failure> {
        within(self.timeout, async {
            let prepared = prepare(self.client(), statements).await?;
            run(self.client(), &prepared, statements).await
        })
        .await
    }

    /// Runs statements without parameters.
    pub(super) async fn batch(&self, sql: &str) -> Result<(), Failure> {
        within(self.timeout, self.client().batch_execute(sql)).await
    }

    /// Commits. If this fails, the transaction may or may not have been committed.
    pub(super) async fn commit(self) -> Result<(), Failure> {
        self.batch("COMMIT").await?;
        self.keep();
        Ok(())
    }

    /// Rolls back; if that fails, the connection is closed, which does the same.
    pub(super) async fn rollback(self) {
        if self.batch("ROLLBACK").await.is_ok() {
            self.keep();
        }
    }

    /// Returns the connection to the pool, because its transaction has ended.
    pub(super) fn keep(mut self) {
        self.client = None;
    }
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            drop(Object::take(client));
        }
    }
}

async fn prepare(
    client: &Object,
    statements: &[Statement<'_>],
) -> Result<Vec<tokio_postgres::Statement>, tokio_postgres::Error> {
    let mut prepared = Vec::with_capacity(statements.len());
    for (sql, _) in statements {
        prepared.push(client.prepare_cached(sql).await?);
    }
    Ok(prepared)
}

/// Sends statements one after another without waiting for the answers between them.
async fn run(
    client: &Object,
    prepared: &[tokio_postgres::Statement],
    statements: &[Statement<'_>],
) -> Result<Vec<Vec<Row>>, tokio_postgres::Error> {
    // A statement is sent when it is first polled, and they are polled in order.
    try_join_all(prepared.iter().zip(statements).map(|(sql, (_, parameters))| client.query(sql, parameters)))
        .await
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, tokio_postgres::Error>>,
) -> Result<T, Failure> {
    match timeout(limit, work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(Failure::timeout()),
    }
}

fn configuration(options: &PostgresOptions) -> Result<Config, StoreError> {
    // The parser's error may quote a part of the URL, such as the password.
    let mut config: Config = options.url.parse().map_err(|_| {
        StoreError::Unusable(
            "the address of the database is invalid; it must look like postgres://user@host/database".into(),
        )
    })?;
    if config.get_application_name().is_none() {
        config.application_name("tidegate");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(PEER_TIMEOUT);
    }
    // One that the address sets is kept.
    if config.get_keepalives_idle() == Config::new().get_keepalives_idle() {
        config.keepalives_idle(KEEPALIVE_IDLE);
        config.keepalives_interval(KEEPALIVE_INTERVAL);
        config.keepalives_retries(KEEPALIVE_PROBES);
    }
    Ok(config)
}

/// Trusts the certificates of the system, or those in the file that `SSL_CERT_FILE` names.
fn tls_configuration() -> Result<rustls::ClientConfig, StoreError> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| StoreError::Unusable(Box::new(error)))?;
    Ok(config.with_root_certificates(roots).with_no_client_auth())
}

/// Returns the statements that every new connection begins with.
fn session_settings(options: &PostgresOptions) -> String {
    let timeout = options.statement_timeout.as_millis();
    format!(
        "SET search_path TO {}; SET statement_timeout = {timeout}; SET lock_timeout = {timeout};
         SET idle_in_transaction_session_timeout = {timeout}; SET client_min_messages = warning;
         SELECT CASE current_setting('synchronous_commit') WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END",
        quoted(&options.schema)
    )
}

/// Returns a name as PostgreSQL reads it in a statement.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_is_gone_is_noticed() {
        let of = |url: &str| configuration(&PostgresOptions::new(url)).unwrap();
        let config = of("postgres://me@host/db");
        assert_eq!(config.get_tcp_user_timeout(), Some(&PEER_TIMEOUT));
        assert_eq!(config.get_keepalives_idle(), KEEPALIVE_IDLE);
        let config = of("postgres://me@host/db?tcp_user_timeout=3&keepalives_idle=7");
        assert_eq!(config.get_tcp_user_timeout(), Some(&Duration::from_secs(3)));
        assert_eq!(config.get_keepalives_idle(), Duration::from_secs(7));
    }
}
