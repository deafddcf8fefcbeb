//! How a shared store is reached: the database, and the object store for large bodies.

use std::fmt;
use std::time::Duration;

use crate::key::StoreKeys;

/// How to reach a store in PostgreSQL.
#[derive(Clone)]
pub struct PostgresOptions {
    /// The address of the database, such as `postgres://tidegate@db.example.com/tidegate?sslmode=require`. It may contain a
    /// password, so it is never printed.
    pub url: String,
    /// The schema with the tables. Each schema of a database is a store of its own.
    pub schema: String,
    /// The object store for bodies above [`MAX_ROW_BODY_BYTES`](crate::MAX_ROW_BODY_BYTES); `None` stores them in the
    /// database.
    pub objects: Option<ObjectOptions>,
    /// The maximum number of connections that this process opens.
    pub max_connections: usize,
    /// How long one statement may take.
    pub statement_timeout: Duration,
    /// How long a connection may be unused before it is closed.
    pub idle_timeout: Duration,
    /// How long an operation is repeated while the database or the object store cannot be reached.
    pub retry_timeout: Duration,
    /// Whether to create the tables, or migrate those of an earlier version, when the store is opened.
    pub migrate: bool,
    /// The keys that the content is sealed with; empty if it is not encrypted.
    pub keys: StoreKeys,
    /// The size of this process's cache of chunks.
    pub cache_bytes: usize,
}

impl PostgresOptions {
    /// Returns the options for a database, with defaults for the rest.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            schema: "tidegate".to_owned(),
            objects: None,
            max_connections: 16,
            statement_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(60),
            retry_timeout: Duration::from_secs(15),
            migrate: true,
            keys: StoreKeys::default(),
            cache_bytes: 16 << 20,
        }
    }
}

/// Leaves out the address, which may contain a password.
impl fmt::Debug for PostgresOptions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("PostgresOptions")
            .field("schema", &self.schema)
            .field("objects", &self.objects)
            .field("max_connections", &self.max_connections)
            .finish_non_exhaustive()
    }
}

/// How to reach an object store that speaks the protocol of S3.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ObjectOptions {
    /// The bucket and the beginning of the keys: `s3://bucket/prefix`.
    pub url: String,
    /// The address of the server, if it is not Amazon's.
    pub endpoint: Option<String>,
    /// The region; from the environment or `us-east-1` if there is none.
    pub region: Option<String>,
    /// Whether the server may be reached without TLS.
    pub allow_http: bool,
    /// The credentials; from the environment (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, a web identity, the role of the
    /// machine) if there are none. A configuration file never provides them.
    pub credentials: Option<ObjectCredentials>,
    /// Bytes of a part of a large object, of which servers of S3 require at least 5 MB; 16 MiB if there are none.
    pub part_bytes: Option<usize>,
    /// How long one request may take; 60 s if there is none.
    pub request_timeout: Option<Duration>,
}

impl ObjectOptions {
    /// Returns the options for a bucket, with defaults for the rest.
    pub fn new(url: impl Into<String>) -> Self {
        Self { url: url.into(), ..Self::default() }
    }
}

/// A key of an object store.
#[derive(Clone, PartialEq, Eq)]
pub struct ObjectCredentials {
    /// The id of the key.
    pub key_id: String,
    /// The secret.
    pub secret: String,
    /// The token of temporary credentials.
    pub token: Option<String>,
}

/// Leaves out the secret.
impl fmt::Debug for ObjectCredentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ObjectCredentials(..)")
    }
}
