//! An object store that speaks the protocol of S3: the bodies of large results, one object each.
//!
//! An object has a random key, is created once and never changed. The database decides which objects exist: a row is
//! written before the object is, and the row is deleted with the object (`postgres/sweep.rs`). The caller checks each chunk that
//! it reads.

mod http;

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::path::Path;
use object_store::{
    BackoffConfig, Error, MultipartUpload, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
    RetryConfig,
};
use tokio::time::timeout;

use self::http::HyperConnector;
use crate::error::StoreError;
use crate::id::ArtifactId;
use crate::pauses::{MAX_PAUSE, Pauses};
use crate::postgres::{ObjectOptions, Worker};

/// Bytes of a part of a large object. The protocol allows 10,000 parts.
pub(crate) const PART_BYTES: usize = 16 * 1024 * 1024;
/// How long one request may take.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// The objects of a store.
pub(crate) struct ObjectBodies {
    store: AmazonS3,
    prefix: Path,
    address: String,
    retry_timeout: Duration,
}

impl ObjectBodies {
    /// Connects to an object store, and checks that it refuses to create an object twice.
    pub(crate) async fn connect(
        options: &ObjectOptions,
        retry_timeout: Duration,
    ) -> Result<Self, StoreError> {
        let (bucket, prefix) = parse_address(&options.url)?;
        let mut builder = AmazonS3Builder::from_env()
            .with_bucket_name(bucket)
            .with_allow_http(options.allow_http)
            .with_http_connector(HyperConnector::new()?)
            .with_retry(RetryConfig {
                backoff: BackoffConfig { init_backoff: FIRST_PAUSE, max_backoff: MAX_PAUSE, base: 2.0 },
                max_retries: 10,
                retry_timeout,
            });
        if let Some(endpoint) = &options.endpoint {
            builder = builder.with_endpoint(endpoint);
        }
        if let Some(region) = &options.region {
            builder = builder.with_region(region);
        }
        if let Some(credentials) = &options.credentials {
            builder =
                builder.with_access_key_id(&credentials.key_id).with_secret_access_key(&credentials.secret);
            if let Some(token) = &credentials.token {
                builder = builder.with_token(token);
            }
        }
        let store = builder.build().map_err(unusable)?;
        let objects = Self { store, prefix, address: options.url.clone(), retry_timeout };
        objects.check_create_only().await?;
        Ok(objects)
    }

    /// Returns the bucket and the beginning of the keys.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the key of a new object.
    pub(crate) fn new_key(&self) -> String {
        self.prefix.clone().join(ArtifactId::random_shared().as_str()).to_string()
    }

    /// Fails if the server would overwrite an object that must be created only once. Some servers ignore the condition.
    async fn check_create_only(&self) -> Result<(), StoreError> {
        let probe = self.prefix.clone().join(format!("probe-{}", ArtifactId::random_shared()));
        self.create(&probe, Bytes::from_static(b"tidegate")).await?;
        let again =
            self.store.put_opts(&probe, PutPayload::from_static(b"again"), PutMode::Create.into()).await;
        self.delete(probe.as_ref()).await?;
        match again {
            Err(Error::AlreadyExists { .. }) => Ok(()),
            Err(error) => Err(unusable(error)),
            Ok(_) => Err(StoreError::Unusable(
                "the object store ignores `If-None-Match: *`, so it could overwrite results".into(),
            )),
        }
    }

    /// Creates an object.
    pub(crate) async fn put(&self, key: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.create(&Path::from(key), bytes).await
    }

    async fn create(&self, path: &Path, bytes: Bytes) -> Result<(), StoreError> {
        let mut pauses = Pauses::new(FIRST_PAUSE, self.retry_timeout);
        loop {
            let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
            let put = self.store.put_opts(path, PutPayload::from_bytes(bytes.clone()), options);
            let error = match timeout(REQUEST_TIMEOUT, put).await {
                Ok(Ok(_)) => return Ok(()),
                // The key is random: an object with it was made by an attempt whose answer was lost.
                Ok(Err(Error::AlreadyExists { .. })) if self.has_size(path, bytes.len()).await? => {
                    return Ok(());
                }
                Ok(Err(error)) if is_permanent(&error) => return Err(unusable(error)),
                Ok(Err(error)) => unusable(error),
                Err(_) => too_slow(),
            };
            if !pauses.wait().await {
                return Err(error);
            }
        }
    }

    async fn has_size(&self, path: &Path, size: usize) -> Result<bool, StoreError> {
        let head = timeout(REQUEST_TIMEOUT, self.store.head(path)).await.map_err(|_| too_slow())?;
        Ok(head.map_err(unusable)?.size == size as u64)
    }

    /// Begins an object that is written in parts.
    pub(crate) async fn begin(&self, key: &str) -> Result<Box<dyn MultipartUpload>, StoreError> {
        let path = Path::from(key);
        let begun = self.store.put_multipart(&path);
        timeout(REQUEST_TIMEOUT, begun).await.map_err(|_| too_slow())?.map_err(unusable)
    }

    /// Reads a range of an object. Its length may be wrong, and so may its bytes.
    pub(crate) async fn read(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        let (mut pauses, path) = (Pauses::new(FIRST_PAUSE, self.retry_timeout), Path::from(key));
        loop {
            let error = match timeout(REQUEST_TIMEOUT, self.store.get_range(&path, range.clone())).await {
                Ok(Ok(bytes)) => return Ok(bytes),
                Ok(Err(Error::NotFound { .. })) => return Err(StoreError::NotFound),
                Ok(Err(error)) if is_permanent(&error) => return Err(unusable(error)),
                Ok(Err(error)) => unusable(error),
                Err(_) => too_slow(),
            };
            if !pauses.wait().await {
                return Err(error);
            }
        }
    }

    /// Deletes an object; one that does not exist is deleted already.
    pub(crate) async fn delete(&self, key: &str) -> Result<(), StoreError> {
        match timeout(REQUEST_TIMEOUT, self.store.delete(&Path::from(key))).await {
            Ok(Ok(()) | Err(Error::NotFound { .. })) => Ok(()),
            Ok(Err(error)) => Err(unusable(error)),
            Err(_) => Err(too_slow()),
        }
    }
}

/// Uploads and reads bytes as they are, to compare with.
#[doc(hidden)]
pub struct PlainUpload {
    objects: Arc<ObjectBodies>,
    worker: Worker,
}

impl PlainUpload {
    /// Connects to an object store.
    #[doc(hidden)]
    pub fn connect(options: &ObjectOptions) -> Result<Self, StoreError> {
        let (worker, options) = (Worker::start()?, options.clone());
        let objects =
            worker.run(async move { ObjectBodies::connect(&options, Duration::from_secs(10)).await })?;
        Ok(Self { objects: Arc::new(objects), worker })
    }

    /// Creates an object and returns its key.
    #[doc(hidden)]
    pub fn upload(&self, bytes: Vec<u8>) -> Result<String, StoreError> {
        let objects = Arc::clone(&self.objects);
        self.worker.run(async move {
            let key = objects.new_key();
            objects.put(&key, Bytes::from(bytes)).await?;
            Ok(key)
        })
    }

    /// Reads a range of an object.
    #[doc(hidden)]
    pub fn read(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        let (objects, key) = (Arc::clone(&self.objects), key.to_owned());
        self.worker.run(async move { objects.read(&key, range).await })
    }
}

/// Returns the bucket and the beginning of the keys of an address.
fn parse_address(url: &str) -> Result<(&str, Path), StoreError> {
    let wrong =
        || StoreError::Unusable("the address of the object store must look like s3://bucket/prefix".into());
    let (bucket, prefix) =
        url.strip_prefix("s3://").map(|rest| rest.split_once('/').unwrap_or((rest, ""))).ok_or_else(wrong)?;
    if bucket.is_empty() {
        return Err(wrong());
    }
    Ok((bucket, Path::parse(prefix.trim_end_matches('/')).map_err(|error| unusable(error.into()))?))
}

/// Returns whether trying again would give the same.
fn is_permanent(error: &Error) -> bool {
    matches!(
        error,
        Error::PermissionDenied { .. }
            | Error::Unauthenticated { .. }
            | Error::UnknownConfigurationKey { .. }
            | Error::NotImplemented { .. }
            | Error::NotSupported { .. }
            | Error::AlreadyExists { .. }
            | Error::NotFound { .. }
    )
}

pub(crate) fn unusable(error: Error) -> StoreError {
    StoreError::Unusable(Box::new(error))
}

fn too_slow() -> StoreError {
    StoreError::Unusable("the object store did not answer in time".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let parsed = |url| parse_address(url).map(|(bucket, prefix)| (bucket.to_owned(), prefix.to_string()));
        assert_eq!(parsed("s3://bucket").unwrap(), ("bucket".into(), String::new()));
        assert_eq!(parsed("s3://bucket/a/b/").unwrap(), ("bucket".into(), "a/b".into()));
        for wrong in ["bucket/a", "s3://", "s3:///a", "https://bucket/a"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }
}
