//! An issuer of tokens that signs whatever a test asks for.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

use super::model::SUBJECT;

/// Signs tokens with a key that a server of its own publishes for all issuers.
pub(super) struct Signer {
    pair: Ed25519KeyPair,
    pub(super) port: u16,
}

impl Signer {
    pub(super) fn start() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&ring::rand::SystemRandom::new()).unwrap();
        let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap();
        let x = URL_SAFE_NO_PAD.encode(pair.public_key());
        let keys = json!({"keys": [{"kty": "OKP", "crv": "Ed25519", "x": x, "kid": "k", "use": "sig"}]});
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            let body = keys.to_string();
            for stream in listener.incoming().map_while(Result::ok) {
                let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
                while lines.next().is_some_and(|line| !line.is_empty()) {}
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                );
                let _ = (&stream).write_all((head + &body).as_bytes());
            }
        });
        Self { pair, port }
    }

    /// Returns a token of an issuer for a resource.
    pub(super) fn token(&self, issuer: &str, resource: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        let header = json!({"alg": "EdDSA", "typ": "at+jwt", "kid": "k"});
        let claims = json!({"iss": issuer, "sub": SUBJECT, "aud": resource, "exp": now + 3000, "iat": now, "scope": ""});
        let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", encoded(&header), encoded(&claims));
        let signature = URL_SAFE_NO_PAD.encode(self.pair.sign(message.as_bytes()));
        format!("{message}.{signature}")
    }
}
