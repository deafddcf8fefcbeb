//! Runs the backend's futures on threads of its own, for callers that are not asynchronous.
//!
//! If the caller's thread belongs to another runtime, where blocking on a future would panic, the future is spawned here and the
//! caller waits on a channel. Any other caller runs the future on its own thread, which saves two thread switches.

use std::sync::mpsc::sync_channel;

use tokio::runtime::{Builder, Handle, Runtime};

use crate::error::StoreError;

/// The number of threads of a backend; two are enough, because they only move bytes.
const THREADS: usize = 2;

/// The threads of a backend.
pub(crate) struct Worker(Option<Runtime>);

impl Worker {
    pub(crate) fn start() -> Result<Self, StoreError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("tidegate-store")
            .enable_all()
            .build()?;
        Ok(Self(Some(runtime)))
    }

    /// Runs a future to its end.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        future: impl Future<Output = Result<T, StoreError>> + Send + 'static,
    ) -> Result<T, StoreError> {
        if Handle::try_current().is_err() {
            return self.handle().block_on(future);
        }
        let (send, receive) = sync_channel(1);
        self.handle().spawn(async move {
            // Sending cannot fail: the caller waits for it.
            let _ = send.send(future.await);
        });
        receive.recv().unwrap_or_else(|_| Err(StoreError::Unusable("a task of the store panicked".into())))
    }

    pub(crate) fn handle(&self) -> &Handle {
        self.0.as_ref().expect("the runtime is taken only when this is dropped").handle()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            // Waiting for its threads would panic inside another runtime.
            runtime.shutdown_background();
        }
    }
}
