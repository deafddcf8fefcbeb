//! The public keys of an issuer, as its JSON Web Key Set lists them.
//!
//! A key is used only for the algorithms of its type, so no token can choose how its key is interpreted. Shared secrets
//! (HS256) and unsigned tokens (`none`) are not supported. A key of another type or for another use is skipped.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};
use serde_json::Value;

/// The maximum number of keys that are read of a set.
const MAX_KEYS: usize = 64;

/// A signature algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Algorithm {
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    Rs256,
    /// RSASSA-PKCS1-v1_5 with SHA-384.
    Rs384,
    /// RSASSA-PKCS1-v1_5 with SHA-512.
    Rs512,
    /// RSASSA-PSS with SHA-256.
    Ps256,
    /// RSASSA-PSS with SHA-384.
    Ps384,
    /// RSASSA-PSS with SHA-512.
    Ps512,
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// ECDSA on P-384 with SHA-384.
    Es384,
    /// Ed25519.
    EdDsa,
}

impl Algorithm {
    /// All algorithms.
    pub const ALL: [Self; 9] = [
        Self::Rs256,
        Self::Rs384,
        Self::Rs512,
        Self::Ps256,
        Self::Ps384,
        Self::Ps512,
        Self::Es256,
        Self::Es384,
        Self::EdDsa,
    ];
    /// Their names in headers of tokens, in the same order.
    pub const NAMES: [&'static str; 9] =
        ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];
    /// Those that are accepted by default.
    pub const DEFAULT: [Self; 5] = [Self::Rs256, Self::Ps256, Self::Es256, Self::Es384, Self::EdDsa];

    /// Returns the algorithm with a name.
    pub fn named(name: &str) -> Option<Self> {
        // The name that RFC 9864 gives to EdDSA with this curve.
        let name = if name == "Ed25519" { "EdDSA" } else { name };
        Self::NAMES.iter().position(|known| *known == name).map(|at| Self::ALL[at])
    }

    /// Returns the name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// The type of a key, with its parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Material {
    Rsa { n: Vec<u8>, e: Vec<u8> },
    P256(Vec<u8>),
    P384(Vec<u8>),
    Ed25519(Vec<u8>),
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    /// Its id.
    id: Option<String>,
    /// The only algorithm it is for, if the issuer says so.
    algorithm: Option<Algorithm>,
    material: Material,
}

impl PublicKey {
    /// Reads a key; `None` for one that cannot verify a signature here.
    fn read(jwk: &Value) -> Option<Self> {
        let text = |name: &str| jwk.get(name)?.as_str();
        if text("use").is_some_and(|purpose| purpose != "sig") {
            return None;
        }
        if let Some(operations) = jwk.get("key_ops") {
            operations.as_array()?.iter().find(|operation| *operation == "verify")?;
        }
        let bytes = |name: &str| URL_SAFE_NO_PAD.decode(text(name)?.trim_end_matches('=')).ok();
        let point = |length: usize| {
            let (x, y) = (bytes("x")?, bytes("y")?);
            // 4 marks an uncompressed point.
            (x.len() == length && y.len() == length).then(|| [&[4][..], &x, &y].concat())
        };
        let material = match (text("kty")?, text("crv")) {
            ("RSA", _) => Material::Rsa { n: without_zeros(bytes("n")?), e: without_zeros(bytes("e")?) },
            ("EC", Some("P-256")) => Material::P256(point(32)?),
            ("EC", Some("P-384")) => Material::P384(point(48)?),
            ("OKP", Some("Ed25519")) => Material::Ed25519(bytes("x").filter(|x| x.len() == 32)?),
            _ => return None,
        };
        let algorithm = match text("alg") {
            Some(name) => Some(Algorithm::named(name)?),
            None => None,
        };
        Some(Self { id: text("kid").map(str::to_owned), algorithm, material })
    }

    /// Returns whether the key is for an algorithm.
    fn is_for(&self, algorithm: Algorithm) -> bool {
        use Algorithm::{EdDsa, Es256, Es384, Ps256, Ps384, Ps512, Rs256, Rs384, Rs512};
        let fits = match self.material {
            Material::Rsa { .. } => matches!(algorithm, Rs256 | Rs384 | Rs512 | Ps256 | Ps384 | Ps512),
            Material::P256(_) => algorithm == Es256,
            Material::P384(_) => algorithm == Es384,
            Material::Ed25519(_) => algorithm == EdDsa,
        };
        fits && self.algorithm.is_none_or(|only| only == algorithm)
    }

    /// Returns whether the key signed a message.
    pub fn verifies(&self, algorithm: Algorithm, message: &[u8], signature: &[u8]) -> bool {
        if !self.is_for(algorithm) {
            return false;
        }
        let verified =
            match &self.material {
                Material::Rsa { n, e } => {
                    let parameters = match algorithm {
                        Algorithm::Rs256 => &signature::RSA_PKCS1_2048_8192_SHA256,
                        Algorithm::Rs384 => &signature::RSA_PKCS1_2048_8192_SHA384,
                        Algorithm::Rs512 => &signature::RSA_PKCS1_2048_8192_SHA512,
                        Algorithm::Ps256 => &signature::RSA_PSS_2048_8192_SHA256,
                        Algorithm::Ps384 => &signature::RSA_PSS_2048_8192_SHA384,
                        _ => &signature::RSA_PSS_2048_8192_SHA512,
                    };
                    RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
                }
                Material::P256(point) => UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_FIXED, point)
                    .verify(message, signature),
                Material::P384(point) => UnparsedPublicKey::new(&signature::ECDSA_P384_SHA384_FIXED, point)
                    .verify(message, signature),
                Material::Ed25519(point) => {
                    UnparsedPublicKey::new(&signature::ED25519, point).verify(message, signature)
                }
            };
        verified.is_ok()
    }
}

/// Removes leading zeros, which some issuers write and the library refuses.
fn without_zeros(mut bytes: Vec<u8>) -> Vec<u8> {
    let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
    bytes.drain(..zeros);
    bytes
}

/// The keys of an issuer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeySet(Vec<PublicKey>);

impl KeySet {
    /// Reads a JSON Web Key Set; `None` if it is not one, or has no key that can be used.
    pub fn read(json: &[u8]) -> Option<Self> {
        let set: Value = serde_json::from_slice(json).ok()?;
        let keys = set.get("keys")?.as_array()?;
        let keys: Vec<PublicKey> = keys.iter().take(MAX_KEYS).filter_map(PublicKey::read).collect();
        (!keys.is_empty()).then_some(Self(keys))
    }

    /// Returns the keys that may have signed a token: those with the id that it names, or the only key for its algorithm if it
    /// names none.
    pub(super) fn candidates(&self, id: Option<&str>, algorithm: Algorithm) -> Vec<&PublicKey> {
        let fitting = self.0.iter().filter(|key| key.is_for(algorithm));
        match id {
            Some(id) => fitting.filter(|key| key.id.as_deref() == Some(id)).collect(),
            None => Some(fitting.collect()).filter(|keys: &Vec<_>| keys.len() == 1).unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_that_cannot_verify_are_skipped() {
        let x = URL_SAFE_NO_PAD.encode([7; 32]);
        let usable = json!({"kty": "OKP", "crv": "Ed25519", "x": x, "kid": "a"});
        for (change, is_read) in [
            (json!({}), true),
            (json!({"use": "sig"}), true),
            (json!({"alg": "EdDSA"}), true),
            (json!({"alg": "Ed25519"}), true),
            (json!({"key_ops": ["verify"]}), true),
            (json!({"use": "enc"}), false),
            (json!({"key_ops": ["sign"]}), false),
            (json!({"alg": "HS256"}), false),
            (json!({"alg": "none"}), false),
            (json!({"kty": "oct", "k": x}), false),
            (json!({"crv": "X25519"}), false),
            (json!({"x": "AAAA"}), false),
            (json!({"kty": "EC", "crv": "P-256", "y": "AA"}), false),
            (json!({"kty": "EC", "crv": "secp256k1", "y": x}), false),
            (json!({"kty": "RSA"}), false),
        ] {
            let mut key = usable.clone();
            key.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let set = KeySet::read(json!({ "keys": [key] }).to_string().as_bytes());
            assert_eq!(set.is_some(), is_read, "{change}");
        }
        for wrong in ["", "{}", "[]", r#"{"keys":{}}"#, r#"{"keys":[]}"#, r#"{"keys":[1,null]}"#] {
            assert_eq!(KeySet::read(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn a_key_is_found_by_its_id() {
        let key = |id: &str, byte| json!({"kty": "OKP", "crv": "Ed25519", "x": URL_SAFE_NO_PAD.encode([byte; 32]), "kid": id});
        let one = KeySet::read(json!({"keys": [key("a", 1)]}).to_string().as_bytes()).unwrap();
        assert_eq!(one.candidates(None, Algorithm::EdDsa).len(), 1);
        let two = KeySet::read(json!({"keys": [key("a", 1), key("b", 2)]}).to_string().as_bytes()).unwrap();
        assert_eq!(two.candidates(None, Algorithm::EdDsa).len(), 0);
        assert_eq!(two.candidates(Some("b"), Algorithm::EdDsa), [&two.0[1]]);
        assert_eq!(two.candidates(Some("c"), Algorithm::EdDsa).len(), 0);
        assert_eq!(two.candidates(Some("a"), Algorithm::Rs256).len(), 0);
    }

    #[test]
    fn algorithms_are_found_by_their_exact_names() {
        for (algorithm, name) in Algorithm::ALL.into_iter().zip(Algorithm::NAMES) {
            assert_eq!((Algorithm::named(name), algorithm.name()), (Some(algorithm), name));
        }
        for name in ["none", "None", "HS256", "rs256", "", "RS256 "] {
            assert_eq!(Algorithm::named(name), None);
        }
    }
}
