//! An issuer of tokens to test with: keys of its own, an HTTP server for its metadata and keys, and tokens that are wrong in
//! every way. What a real identity server does is tested in tests/interop.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use ring::rand::SystemRandom;
use ring::signature::{self, EcdsaKeyPair, Ed25519KeyPair, KeyPair, RsaKeyPair};
use serde_json::{Value, json};

/// Returns bytes as tokens have them.
pub(crate) fn encoded(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A private key.
pub(crate) enum PrivateKey {
    Ed25519(Ed25519KeyPair),
    P256(EcdsaKeyPair),
    Rsa(RsaKeyPair),
}

impl PrivateKey {
    pub(crate) fn ed25519() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self::Ed25519(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap())
    }

    pub(crate) fn p256() -> Self {
        let (kind, random) = (&signature::ECDSA_P256_SHA256_FIXED_SIGNING, SystemRandom::new());
        let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
        Self::P256(EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap())
    }

    /// A key that exists for these tests only; the library cannot make one.
    pub(crate) fn rsa() -> Self {
        let text: String = include_str!("rsa_test_key.txt").split_whitespace().collect();
        let document = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
        Self::Rsa(RsaKeyPair::from_pkcs8(&document).unwrap())
    }

    /// Returns the public key as a set lists it.
    pub(crate) fn public(&self, id: &str) -> Value {
        match self {
            Self::Ed25519(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": encoded(pair.public_key()), "kid": id, "use": "sig"})
            }
            Self::P256(pair) => {
                let point = pair.public_key().as_ref();
                json!({"kty": "EC", "crv": "P-256", "x": encoded(&point[1..33]), "y": encoded(&point[33..]), "kid": id})
            }
            Self::Rsa(pair) => {
                let key = ring::rsa::PublicKeyComponents::<Vec<u8>>::from(pair.public());
                json!({"kty": "RSA", "n": encoded(key.n), "e": encoded(key.e), "kid": id})
            }
        }
    }

    fn sign(&self, algorithm: &str, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match self {
            Self::Ed25519(pair) => pair.sign(message).as_ref().to_vec(),
            Self::P256(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Self::Rsa(pair) => {
                let padding: &dyn signature::RsaEncoding = match algorithm {
                    "PS256" => &signature::RSA_PSS_SHA256,
                    "PS512" => &signature::RSA_PSS_SHA512,
                    "RS384" => &signature::RSA_PKCS1_SHA384,
                    _ => &signature::RSA_PKCS1_SHA256,
                };
                let mut signed = vec![0; pair.public().modulus_len()];
                pair.sign(padding, &random, message, &mut signed).unwrap();
                signed
            }
        }
    }

    /// Returns a signed token, whatever its header and claims say.
    pub(crate) fn token(&self, header: &Value, claims: &Value) -> String {
        self.token_of(&header.to_string(), &claims.to_string())
    }

    /// Returns a signed token of texts that need not be JSON.
    pub(crate) fn token_of(&self, header: &str, claims: &str) -> String {
        let message = format!("{}.{}", encoded(header), encoded(claims));
        let algorithm = serde_json::from_str::<Value>(header).unwrap_or_default();
        let signed = self.sign(algorithm["alg"].as_str().unwrap_or_default(), message.as_bytes());
        format!("{message}.{}", encoded(signed))
    }
}

/// The server of an issuer.
pub(crate) struct IssuerServer {
    pub(crate) address: SocketAddr,
    keys: Arc<Mutex<Vec<Value>>>,
    is_down: Arc<AtomicBool>,
    requests: Arc<AtomicU64>,
}

impl IssuerServer {
    /// Starts a server with some public keys.
    pub(crate) async fn start(keys: Vec<Value>) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = Self {
            address,
            keys: Arc::new(Mutex::new(keys)),
            is_down: Arc::default(),
            requests: Arc::default(),
        };
        let (keys, is_down) = (Arc::clone(&server.keys), Arc::clone(&server.is_down));
        let requests = Arc::clone(&server.requests);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (keys, is_down) = (Arc::clone(&keys), Arc::clone(&is_down));
                let requests = Arc::clone(&requests);
                let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                    requests.fetch_add(1, Ordering::SeqCst);
                    let answer = match (is_down.load(Ordering::SeqCst), request.uri().path()) {
                        (true, _) => None,
                        (_, "/keys") => Some(json!({ "keys": *keys.lock().unwrap() })),
                        (_, "/.well-known/openid-configuration") => Some(json!({
                            "issuer": format!("http://{address}"),
                            "jwks_uri": format!("http://{address}/keys"),
                        })),
                        _ => None,
                    };
                    let status = if answer.is_some() { StatusCode::OK } else { StatusCode::NOT_FOUND };
                    let body = Full::new(Bytes::from(answer.unwrap_or_default().to_string()));
                    let mut response = Response::new(body);
                    *response.status_mut() = status;
                    std::future::ready(Ok::<_, Infallible>(response))
                });
                let connection = hyper::server::conn::http1::Builder::new();
                tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
            }
        });
        server
    }

    /// Returns the name of the issuer.
    pub(crate) fn name(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Replaces its keys.
    pub(crate) fn rotate(&self, keys: Vec<Value>) {
        *self.keys.lock().unwrap() = keys;
    }

    /// Lets every request fail, or not.
    pub(crate) fn set_down(&self, is_down: bool) {
        self.is_down.store(is_down, Ordering::SeqCst);
    }

    /// Returns how many requests it got.
    pub(crate) fn requests(&self) -> u64 {
        self.requests.load(Ordering::SeqCst)
    }
}
