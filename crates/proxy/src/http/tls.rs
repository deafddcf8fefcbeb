//! TLS in front of the listener: the certificate and key come from files in PEM.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How long the handshake may take.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a certificate or key cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read, or holds no such thing.
    #[error("{} holds no {what} in PEM that can be read", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What it should hold.
        what: &'static str,
        /// The cause.
        #[source]
        source: pem::Error,
    },
    /// The certificate and the key do not belong together, or are of an unknown kind.
    #[error("the certificate and its key cannot be used")]
    Unusable(#[source] rustls::Error),
}

/// TLS for a listener.
#[derive(Clone)]
pub struct Tls(TlsAcceptor);

impl Tls {
    /// Reads the certificate with its chain, and its private key.
    ///
    /// # Errors
    ///
    /// Files that cannot be used.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let of = |path: &Path, what| {
            let path = path.to_owned();
            move |source| TlsError::File { path, what, source }
        };
        let certificates = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(of(certificate, "certificate"))?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(of(key, "private key"))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| builder.with_no_client_auth().with_single_cert(certificates, key))
            .map_err(TlsError::Unusable)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Self(TlsAcceptor::from(Arc::new(config))))
    }

    /// Accepts a connection.
    pub(super) async fn accept(&self, connection: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        tokio::time::timeout(HANDSHAKE_TIMEOUT, self.0.accept(connection)).await?
    }
}
