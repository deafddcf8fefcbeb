//! Connections to the database, and the transactions in which everything happens.
//!
//! A transaction acts for one owner or, explicitly, for all of them: it sets what the row level security policies compare
//! with. A connection whose transaction did not end properly is closed, never used again.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::{Hook, HookError, Manager, ManagerConfig, Object, Pool, RecyclingMethod, Runtime};
use futures_util::future::try_join_all;
use tokio::time::timeout;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Config, Row};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::failure::Failure;
use super::options::PostgresOptions;
use crate::artifact::Owner;
use crate::error::StoreError;

/// How long connecting may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How much longer than the server this process waits before it gives a statement up.
const TIMEOUT_MARGIN: Duration = Duration::from_secs(5);

const SET_OWNER: &str = "SELECT set_config('tidegate.owner', $1, true)";
const SET_ALL_OWNERS: &str = "SELECT set_config('tidegate.all_owners', $1, true)";

/// Whose rows a transaction sees.
#[derive(Debug, Clone)]
pub(super) enum Scope {
    /// Those of one owner.
    Owner(Owner),
    /// Those of all owners: quotas of the store, sweeps, and lists for whoever runs it.
    AllOwners,
}

impl Scope {
    /// Returns the statement that sets it, and the value.
    fn setting(&self) -> (&'static str, &str) {
        match self {
            Self::Owner(owner) => (SET_OWNER, owner.as_str()),
            Self::AllOwners => (SET_ALL_OWNERS, "on"),
        }
    }
}

/// A parameter of a statement.
pub(super) type Parameter<'p> = &'p (dyn ToSql + Sync);

/// The connections of a store.
pub(super) struct Database {
    pool: Pool,
    timeout: Duration,
}

impl Database {
    /// Prepares connections; none is opened yet.
    pub(super) fn new(options: &PostgresOptions) -> Result<Self, StoreError> {
        let config = configuration(options)?;
        let tls = MakeRustlsConnect::new(tls_configuration()?);
        // Recycling closes nothing and asks nothing: a transaction that ended badly never returns its connection.
        let manager = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let settings: Arc<str> = session_settings(options).into();
        let pool = Pool::builder(Manager::from_config(config, tls, manager))
            .max_size(options.max_connections.max(2))
            .runtime(Runtime::Tokio1)
            .wait_timeout(Some(options.statement_timeout))
            .create_timeout(Some(CONNECT_TIMEOUT))
            .post_create(Hook::async_fn(move |client, _| {
                let settings = Arc::clone(&settings);
                Box::pin(async move { client.batch_execute(&settings).await.map_err(HookError::Backend) })
            }))
            .build()
            .map_err(|error| StoreError::Unusable(Box::new(error)))?;
        Ok(Self { pool, timeout: options.statement_timeout + TIMEOUT_MARGIN })
    }

    /// Begins a transaction.
    pub(super) async fn begin(&self, scope: &Scope) -> Result<Transaction, Failure> {
        let transaction = self.connection().await?;
        let (statement, value) = scope.setting();
        within(self.timeout, async {
            let client = transaction.client();
            let statement = client.prepare_cached(statement).await?;
            let value: [Parameter<'_>; 1] = [&value];
            tokio::try_join!(
                biased;
                client.batch_execute("BEGIN"),
                client.execute(&statement, &value),
            )
        })
        .await?;
        Ok(transaction)
    }

    /// Runs one query in a transaction of its own, which takes one exchange with the server.
    pub(super) async fn read(
        &self,
        scope: &Scope,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, Failure> {
        let transaction = self.connection().await?;
        let (setting, value) = scope.setting();
        let (_, _, rows, ()) = within(self.timeout, async {
            let client = transaction.client();
            let setting = client.prepare_cached(setting).await?;
            let query = client.prepare_cached(sql).await?;
            let value: [Parameter<'_>; 1] = [&value];
            tokio::try_join!(
                biased;
                client.batch_execute("BEGIN READ ONLY"),
                client.execute(&setting, &value),
                client.query(&query, parameters),
                client.batch_execute("COMMIT"),
            )
        })
        .await?;
        transaction.keep();
        Ok(rows)
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

    /// Runs statements one after another, in one exchange with the server. Returns the rows of each.
    pub(super) async fn pipeline(
        &self,
        statements: &[(&str, &[Parameter<'_>])],
    ) -> Result<Vec<Vec<Row>>, Failure> {
        within(self.timeout, async {
            let client = self.client();
            let mut prepared = Vec::with_capacity(statements.len());
            for (sql, _) in statements {
                prepared.push(client.prepare_cached(sql).await?);
            }
            // Each is sent when it is first polled, which happens in their order.
            let sent =
                prepared.iter().zip(statements).map(|(sql, (_, parameters))| client.query(sql, parameters));
            try_join_all(sent).await
        })
        .await
    }

    /// Runs statements without parameters.
    pub(super) async fn batch(&self, sql: &str) -> Result<(), Failure> {
        within(self.timeout, self.client().batch_execute(sql)).await
    }

    /// Commits. After a failure the transaction may have been committed or not.
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

    /// Gives the connection back: its transaction has ended.
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
    // The error of the parser may repeat a part of the address, which may be a password.
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
    Ok(config)
}

/// Trusts what the system trusts; `SSL_CERT_FILE` names another file of certificates.
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
