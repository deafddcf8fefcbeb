//! An object store that speaks the protocol of S3: the bodies of large results, one object each.
//!
//! An object has a random key, is created once and never changed. The database decides which objects exist: a row is
//! written before the object is, and the row is deleted with the object (`postgres/sweep.rs`). The caller checks each chunk that
//! it reads.

mod http;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{
    BackoffConfig, Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, RetryConfig,
};
use tokio::time::timeout;

use self::http::HyperConnector;
use crate::error::StoreError;
use crate::id::ArtifactId;
use crate::pauses::{MAX_PAUSE, Pauses};
use crate::postgres::{ObjectOptions, Worker};

/// Bytes of a part of a large object, unless the options say otherwise. The protocol allows 10,000 parts.
const PART_BYTES: usize = 16 * 1024 * 1024;
/// How long one request may take, unless the options say otherwise.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
/// How long opening the store waits for the answers to its probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(5);
const FIRST_PAUSE: Duration = Duration::from_millis(20);

/// The objects of a store.
pub(crate) struct ObjectBodies {
    store: AmazonS3,
    prefix: Path,
    address: String,
    retry_timeout: Duration,
    request_timeout: Duration,
    part_bytes: usize,
    /// Whether the server is known to refuse to create an object twice.
    is_checked: AtomicBool,
}

/// Why a probe of the server failed.
enum ProbeFailure {
    /// It overwrites objects, or refuses this key or bucket.
    Unfit(StoreError),
    /// It cannot be reached, or has a problem that may be over a moment later.
    Unreachable(StoreError),
}

impl ObjectBodies {
    /// Connects to an object store, and checks that it refuses to create an object twice. If it cannot be reached now, this is
    /// checked before the first object is written: results that need only the database do not wait for it.
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
        let objects = Self {
            store,
            prefix,
            address: options.url.clone(),
            retry_timeout,
            request_timeout: options.request_timeout.unwrap_or(REQUEST_TIMEOUT),
            part_bytes: options.part_bytes.unwrap_or(PART_BYTES),
            is_checked: AtomicBool::new(false),
        };
        match objects.probe().await {
            Err(ProbeFailure::Unfit(error)) => Err(error),
            Ok(()) | Err(ProbeFailure::Unreachable(_)) => Ok(objects),
        }
    }

    /// Returns how many bytes a part of a large object has.
    pub(crate) fn part_bytes(&self) -> usize {
        self.part_bytes
    }

    /// Fails unless the server can be reached and is known to refuse to create an object twice.
    pub(crate) async fn check(&self) -> Result<(), StoreError> {
        if self.is_checked.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.check_now().await
    }

    /// Does the same, and asks the server again.
    pub(crate) async fn check_now(&self) -> Result<(), StoreError> {
        self.probe().await.map_err(|failure| match failure {
            ProbeFailure::Unfit(error) | ProbeFailure::Unreachable(error) => error,
        })
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
    async fn probe(&self) -> Result<(), ProbeFailure> {
        let path = self.prefix.clone().join(format!("probe-{}", ArtifactId::random_shared()));
        let probed = timeout(PROBE_TIMEOUT, self.create_twice(&path)).await;
        let probed = probed.map_err(|_| ProbeFailure::Unreachable(too_slow()))?;
        // If it cannot be deleted, it stays: it is a few bytes, and nothing reads it.
        let _ = timeout(PROBE_TIMEOUT, self.store.delete(&path)).await;
        probed?;
        self.is_checked.store(true, Ordering::Relaxed);
        Ok(())
    }

    async fn create_twice(&self, path: &Path) -> Result<(), ProbeFailure> {
        let create =
            || self.store.put_opts(path, PutPayload::from_static(b"tidegate"), PutMode::Create.into());
        for _ in 0..2 {
            match create().await {
                Ok(_) => {}
                // A first attempt whose answer was lost may have created it.
                Err(Error::AlreadyExists { .. }) => return Ok(()),
                Err(error) if is_permanent(&error) => return Err(ProbeFailure::Unfit(unusable(error))),
                Err(error) => return Err(ProbeFailure::Unreachable(unusable(error))),
            }
        }
        Err(ProbeFailure::Unfit(StoreError::Unusable(
            "the object store ignores `If-None-Match: *`, so it could overwrite results".into(),
        )))
    }

    /// Creates an object.
    pub(crate) async fn put(&self, key: &str, bytes: Bytes) -> Result<(), StoreError> {
        self.check().await?;
        let (path, size) = (Path::from(key), bytes.len() as u64);
        self.repeat(|| async {
            let options = PutOptions { mode: PutMode::Create, ..PutOptions::default() };
            match self.store.put_opts(&path, PutPayload::from_bytes(bytes.clone()), options).await {
                // The key is random: an object with it was made by an attempt whose answer was lost.
                Err(error @ Error::AlreadyExists { .. }) => self.unless_complete(&path, size, error).await,
                done => done.map(drop),
            }
        })
        .await
    }

    /// Repeats a request that takes too long, or fails in a way that may pass, until `retry_timeout` is over; once at least.
    async fn repeat<T, F>(&self, request: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = object_store::Result<T>>,
    {
        let mut pauses = Pauses::new(FIRST_PAUSE, self.retry_timeout);
        let mut is_first = true;
        loop {
            let error = match timeout(self.request_timeout, request()).await {
                Ok(Ok(done)) => return Ok(done),
                Ok(Err(error)) if is_permanent(&error) => return Err(unusable(error)),
                Ok(Err(error)) => unusable(error),
                Err(_) => too_slow(),
            };
            if !pauses.wait().await && !is_first {
                return Err(error);
            }
            is_first = false;
        }
    }

    /// Returns an error, unless the object is there with its whole size.
    async fn unless_complete(&self, path: &Path, size: u64, error: Error) -> object_store::Result<()> {
        match self.store.head(path).await {
            Ok(found) if found.size == size => Ok(()),
            _ => Err(error),
        }
    }

    /// Begins an object that is written in parts; returns the id of the upload.
    pub(crate) async fn begin(&self, key: &str) -> Result<String, StoreError> {
        self.check().await?;
        let path = Path::from(key);
        self.repeat(|| self.store.create_multipart(&path)).await
    }

    /// Writes a part of an object.
    pub(crate) async fn put_part(
        &self,
        key: &str,
        upload: &str,
        number: usize,
        bytes: Bytes,
    ) -> Result<PartId, StoreError> {
        let (path, upload) = (Path::from(key), upload.to_owned());
        self.repeat(|| self.store.put_part(&path, &upload, number, PutPayload::from_bytes(bytes.clone())))
            .await
    }

    /// Makes one object of the parts, which have `size` bytes together.
    pub(crate) async fn complete(
        &self,
        key: &str,
        upload: &str,
        parts: &[PartId],
        size: u64,
    ) -> Result<(), StoreError> {
        let (path, upload) = (Path::from(key), upload.to_owned());
        self.repeat(|| async {
            match self.store.complete_multipart(&path, &upload, parts.to_vec()).await {
                Ok(_) => Ok(()),
                // An attempt whose answer was lost has ended the upload.
                Err(error) => self.unless_complete(&path, size, error).await,
            }
        })
        .await
    }

    /// Ends an upload and removes its parts; one that has ended has none.
    pub(crate) async fn abort(&self, key: &str, upload: &str) -> Result<(), StoreError> {
        let (path, upload) = (Path::from(key), upload.to_owned());
        match timeout(self.request_timeout, self.store.abort_multipart(&path, &upload)).await {
            Ok(Ok(()) | Err(Error::NotFound { .. })) => Ok(()),
            Ok(Err(error)) => Err(unusable(error)),
            Err(_) => Err(too_slow()),
        }
    }

    /// Reads a range of an object. Its length may be wrong, and so may its bytes.
    pub(crate) async fn read(&self, key: &str, range: Range<u64>) -> Result<Bytes, StoreError> {
        let path = Path::from(key);
        let read = self.repeat(|| async {
            match self.store.get_range(&path, range.clone()).await {
                Err(Error::NotFound { .. }) => Ok(None),
                done => done.map(Some),
            }
        });
        read.await?.ok_or(StoreError::NotFound)
    }

    /// Deletes an object; one that does not exist is deleted already.
    pub(crate) async fn delete(&self, key: &str) -> Result<(), StoreError> {
        match timeout(self.request_timeout, self.store.delete(&Path::from(key))).await {
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
