//! Writes a large body as one object of compressed chunks, before the transaction that makes it visible.
//!
//! The object is first registered as an orphan, so that a sweep finds it if the process is killed. A body larger than one part
//! is uploaded in parts, and the next part is compressed meanwhile; the orphan then names the upload, whose parts the sweep
//! removes.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use object_store::multipart::PartId;
use tokio::task::JoinHandle;

use super::Shared;
use super::database::Scope;
use super::failure::Failure;
use super::publish::{Content, ObjectChunk};
use super::put::Put;
use crate::artifact::{Owner, Quotas, UsedBytes};
use crate::chunks::Packed;
use crate::error::StoreError;

/// The maximum number of parts that are uploaded at the same time.
const MAX_PARTS_IN_FLIGHT: usize = 3;

/// An object that is being written.
struct ObjectWriter {
    key: String,
    /// Packed chunks that are not uploaded yet.
    buffer: Vec<u8>,
    chunks: Vec<ObjectChunk>,
    stored: u64,
    /// The id of the upload, if it is written in parts.
    upload: Option<String>,
    /// The parts that are being uploaded, in order.
    parts: VecDeque<JoinHandle<Result<PartId, StoreError>>>,
    /// The parts that are uploaded.
    done: Vec<PartId>,
}

impl ObjectWriter {
    fn new(key: String) -> Self {
        Self {
            key,
            buffer: Vec::new(),
            chunks: Vec::new(),
            stored: 0,
            upload: None,
            parts: VecDeque::new(),
            done: Vec::new(),
        }
    }

    fn push(&mut self, packed: &Packed) {
        let length = u32::try_from(packed.data.len()).expect("a chunk has at most 64 KB");
        self.chunks.push(ObjectChunk { hash: packed.hash, start: self.stored, length });
        self.stored += u64::from(length);
        self.buffer.extend_from_slice(&packed.data);
    }
}

impl Put<'_> {
    /// Writes the body as an object.
    pub(super) fn write_object(&self) -> Result<Content, StoreError> {
        let key = self.store.run(|shared| async move { shared.register_object().await })?;
        let mut writer = ObjectWriter::new(key.clone());
        let written = self.write_chunks(&mut writer);
        let content = Content::Object { key, chunks: Arc::new(std::mem::take(&mut writer.chunks)) };
        if let Err(error) = written {
            self.abort(&writer);
            self.discard(&content);
            return Err(error);
        }
        Ok(content)
    }

    fn write_chunks(&self, writer: &mut ObjectWriter) -> Result<(), StoreError> {
        let mut packer = self.packer()?;
        let part_bytes = self.store.shared.objects()?.part_bytes();
        loop {
            let batch = packer.batch()?;
            if batch.is_empty() {
                return self.finish(writer);
            }
            self.remember(writer.chunks.len() as u64, &batch);
            batch.iter().for_each(|packed| writer.push(packed));
            if writer.buffer.len() >= part_bytes {
                // Publishing checks this again; checking here stops an upload early that cannot succeed.
                self.with_room(|| self.check_room(writer.stored))?;
                self.send_part(writer)?;
            }
        }
    }

    fn check_room(&self, size: u64) -> Result<(), StoreError> {
        let (owner, session) = (self.new.owner.clone(), super::text(self.new.session.as_str()));
        let quotas = self.quotas;
        self.store.run(move |shared| async move { shared.check_room(owner, session, quotas, size).await })
    }

    /// Starts uploading the buffer as a part.
    fn send_part(&self, writer: &mut ObjectWriter) -> Result<(), StoreError> {
        let upload = match &writer.upload {
            Some(upload) => upload.clone(),
            None => {
                let key = writer.key.clone();
                let begun = self.store.run(|shared| async move { shared.begin_upload(&key).await })?;
                writer.upload.insert(begun).clone()
            }
        };
        if writer.parts.len() == MAX_PARTS_IN_FLIGHT {
            self.wait_for_part(writer)?;
        }
        let bytes = Bytes::from(std::mem::take(&mut writer.buffer));
        let (shared, key) = (Arc::clone(&self.store.shared), writer.key.clone());
        let number = writer.done.len() + writer.parts.len();
        let part = async move { shared.objects()?.put_part(&key, &upload, number, bytes).await };
        writer.parts.push_back(self.store.worker.handle().spawn(part));
        Ok(())
    }

    fn wait_for_part(&self, writer: &mut ObjectWriter) -> Result<(), StoreError> {
        let Some(part) = writer.parts.pop_front() else { return Ok(()) };
        let part = self
            .store
            .run(|_| async move { part.await.map_err(|error| StoreError::Unusable(Box::new(error)))? })?;
        writer.done.push(part);
        Ok(())
    }

    /// Uploads the rest.
    fn finish(&self, writer: &mut ObjectWriter) -> Result<(), StoreError> {
        if writer.upload.is_none() {
            let (key, bytes) = (writer.key.clone(), Bytes::from(std::mem::take(&mut writer.buffer)));
            return self.store.run(|shared| async move { shared.objects()?.put(&key, bytes).await });
        }
        if !writer.buffer.is_empty() {
            self.send_part(writer)?;
        }
        while !writer.parts.is_empty() {
            self.wait_for_part(writer)?;
        }
        let Some(upload) = writer.upload.clone() else { return Ok(()) };
        let (key, parts, size) = (writer.key.clone(), std::mem::take(&mut writer.done), writer.stored);
        self.store.run(|shared| async move { shared.objects()?.complete(&key, &upload, &parts, size).await })
    }

    /// Stops a failed upload in parts. Discarding its object removes those that were written.
    fn abort(&self, writer: &ObjectWriter) {
        writer.parts.iter().for_each(JoinHandle::abort);
    }
}

impl Shared {
    fn objects(&self) -> Result<&crate::objects::ObjectBodies, StoreError> {
        self.objects.as_ref().ok_or_else(|| StoreError::Unusable("no object store is configured".into()))
    }

    /// Begins an upload in parts, and records it with its orphan.
    async fn begin_upload(&self, key: &str) -> Result<String, StoreError> {
        let upload = self.objects()?.begin(key).await?;
        self.retry(|_| self.try_record_upload(key, &upload)).await?;
        Ok(upload)
    }

    async fn try_record_upload(&self, key: &str, upload: &str) -> Result<(), Failure> {
        let transaction = self.database.begin(&Scope::AllOwners).await?;
        let sql = "UPDATE orphan SET upload = $2 WHERE object = $1";
        transaction.execute(sql, &[&key, &upload]).await?;
        transaction.commit().await
    }

    /// Returns the key of a new object, which is an orphan until a body refers to it.
    async fn register_object(&self) -> Result<String, StoreError> {
        let key = self.objects()?.new_key();
        self.retry(|_| self.try_register(&key)).await?;
        Ok(key)
    }

    async fn try_register(&self, key: &str) -> Result<(), Failure> {
        let transaction = self.database.begin(&Scope::AllOwners).await?;
        let sql = "INSERT INTO orphan VALUES ($1, $2) ON CONFLICT (object) DO NOTHING";
        transaction.execute(sql, &[&key, &self.clock.now().0]).await?;
        transaction.commit().await
    }

    /// Fails if `size` more bytes would exceed a quota, judged without a lock.
    async fn check_room(
        &self,
        owner: Owner,
        session: String,
        quotas: Quotas,
        size: u64,
    ) -> Result<(), StoreError> {
        let sql = "SELECT scope, stored FROM quota_use WHERE scope = 0 OR (scope = 1 AND owner = $1)
                   OR (scope = 2 AND owner = $1 AND session = $2)";
        let rows = self.query(&Scope::Owner(owner.clone()), sql, &[&owner.as_str(), &session]).await?;
        let used = |scope: i16| {
            let row = rows.iter().find(|row| row.get::<_, i16>(0) == scope);
            row.map_or(0, |row| row.get::<_, i64>(1).unsigned_abs())
        };
        quotas.check(UsedBytes { session: used(2), owner: used(1), store: used(0) }, size)
    }
}
