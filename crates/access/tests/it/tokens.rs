//! Bad tokens, each refused with the status and the challenge that the specification asks for; and what keys that change, or
//! an issuer that is out of reach, lead to.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use serde_json::{Value, json};
use tidegate_access::auth::issuer::{Issuer, IssuerSettings, Timing};
use tidegate_access::auth::key::{KeyHash, new_key};
use tidegate_access::auth::role::{Role, Roles};
use tidegate_access::auth::{Authentication, KeyCaller, jwk::Algorithm};
use tidegate_gate::tier::Tier;
use tidegate_gateway::caller::{Authenticate, Challenge, Principal, Use};
use tidegate_store::{Clock, Millis};
use tidegate_testkit::clock::ManualClock;

use crate::issuer::{IssuerServer, PrivateKey, encoded};

const RESOURCE: &str = "https://gateway.example/mcp";
const METADATA: &str =
    "resource_metadata=\"https://gateway.example/.well-known/oauth-protected-resource/mcp\"";

/// An issuer, and a gateway that accepts its tokens.
struct Setup {
    server: IssuerServer,
    issuer: Arc<Issuer>,
    gateway: Authentication,
    clock: Arc<ManualClock>,
    ed25519: PrivateKey,
    p256: PrivateKey,
    rsa: PrivateKey,
    key: String,
}

const TIMING: Timing = Timing {
    max_age: Duration::from_secs(600),
    pause: Duration::from_millis(300),
    max_stale: Duration::from_secs(3600),
};

async fn setup(timing: Timing) -> Setup {
    let (ed25519, p256, rsa) = (PrivateKey::ed25519(), PrivateKey::p256(), PrivateKey::rsa());
    let server =
        IssuerServer::start(vec![ed25519.public("ed"), p256.public("p256"), rsa.public("rsa")]).await;
    let algorithms = vec![Algorithm::Rs256, Algorithm::Ps256, Algorithm::Es256, Algorithm::EdDsa];
    let settings = IssuerSettings { algorithms, ..IssuerSettings::new(server.name()) };
    let issuer = Arc::new(Issuer::new(settings, timing, Arc::new(|_: &str| {})).unwrap());
    let key = new_key();
    let keys = vec![KeyCaller { name: "ops".into(), hash: KeyHash::of(&key), groups: vec!["staff".into()] }];
    let staff = Role { groups: vec!["staff".into()], ..Role::new("staff") };
    let writer = Role {
        scopes: vec!["mcp:read".into(), "mcp:write".into()],
        tier: Tier::ReadWrite,
        servers: vec!["github".into()],
        ..Role::new("writer")
    };
    let clock = Arc::new(ManualClock::default());
    let gateway = Authentication::new(
        keys,
        vec![Arc::clone(&issuer)],
        Roles::new(vec![staff, writer]),
        Some(RESOURCE.into()),
        Arc::clone(&clock) as Arc<dyn Clock>,
    );
    Setup { server, issuer, gateway, clock, ed25519, p256, rsa, key }
}

impl Setup {
    fn now(&self) -> i64 {
        let Millis(now) = self.clock.now();
        now / 1000
    }

    /// Returns the claims of a valid token, with changes; a change to `null` removes a claim.
    fn claims(&self, changes: &Value) -> Value {
        let mut claims = json!({
            "iss": self.server.name(), "aud": RESOURCE, "sub": "ada", "exp": self.now() + 300,
            "iat": self.now(), "scope": "mcp:read", "groups": ["staff"],
        });
        let members = claims.as_object_mut().unwrap();
        for (name, value) in changes.as_object().unwrap() {
            match value {
                Value::Null => drop(members.remove(name)),
                value => drop(members.insert(name.clone(), value.clone())),
            }
        }
        claims
    }

    /// Returns a token that differs from a valid one in these claims.
    fn token(&self, changes: &Value) -> String {
        self.ed25519.token(&header(&json!({})), &self.claims(changes))
    }

    async fn ask_with(&self, headers: &HeaderMap) -> Result<Arc<Principal>, Challenge> {
        self.gateway.authenticate(headers, RESOURCE).await
    }

    async fn ask(&self, token: &str) -> Result<Arc<Principal>, Challenge> {
        self.ask_with(&headers(&[&format!("Bearer {token}")])).await
    }
}

/// Returns the header of a valid token, with changes.
fn header(changes: &Value) -> Value {
    let mut header = json!({"alg": "EdDSA", "typ": "at+jwt", "kid": "ed"});
    header.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
    header
}

fn headers(values: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in values {
        headers.append(AUTHORIZATION, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    headers
}

/// Returns the secret of HS256 with which a public key would be confused: its modulus as the set has it.
fn hs256(header: &Value, claims: &Value, secret: &[u8]) -> String {
    let message = format!("{}.{}", encoded(header.to_string()), encoded(claims.to_string()));
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, secret);
    let tag = ring::hmac::sign(&key, message.as_bytes());
    format!("{message}.{}", encoded(tag))
}

#[tokio::test]
async fn valid_tokens_and_keys() {
    let setup = setup(TIMING).await;
    let claims = setup.claims(&json!({}));
    for (key, alg, kid) in [
        (&setup.ed25519, "EdDSA", "ed"),
        (&setup.p256, "ES256", "p256"),
        (&setup.rsa, "RS256", "rsa"),
        (&setup.rsa, "PS256", "rsa"),
    ] {
        for typ in ["JWT", "jwt", "at+jwt", "application/at+jwt"] {
            let token = key.token(&json!({"alg": alg, "kid": kid, "typ": typ}), &claims);
            let caller = setup.ask(&token).await.unwrap();
            assert_eq!(caller.name(), format!("{} ada", setup.server.name()), "{alg} {typ}");
        }
    }
    // Each names one key of its type, so that the id may be missing; headers that name other keys are ignored.
    let foreign = json!({"jku": "https://evil.example/keys", "x5u": "https://evil.example/x", "jwk": PrivateKey::p256().public("ed")});
    assert!(setup.ask(&setup.ed25519.token(&json!({"alg": "EdDSA"}), &claims)).await.is_ok());
    assert!(setup.ask(&setup.ed25519.token(&header(&foreign), &claims)).await.is_ok());
    for changes in [
        json!({"aud": ["https://other.example", RESOURCE]}),
        json!({"exp": setup.now() - 29}),
        json!({"exp": setup.now() as f64 + 0.5}),
        json!({"nbf": setup.now() + 29}),
        json!({"scope": null, "groups": null}),
    ] {
        assert!(setup.ask(&setup.token(&changes)).await.is_ok(), "{changes}");
    }
    assert_eq!(setup.ask(&setup.key).await.unwrap().name(), "key:ops");
    assert_eq!(setup.issuer.fetches(), 1, "the keys are cached");
    assert_eq!(setup.server.requests(), 2, "metadata and keys");
}

/// Returns what is refused, with status and error of the challenge.
#[expect(clippy::too_many_lines, reason = "a flat list is easier to read")]
async fn bad_tokens(setup: &Setup) -> Vec<(&'static str, HeaderMap, u16, &'static str)> {
    let claims = setup.claims(&json!({}));
    let of = |changes: Value| setup.token(&changes);
    let with = |changes: Value| setup.ed25519.token(&header(&changes), &claims);
    let now = setup.now();
    let good = of(json!({}));
    let parts: Vec<&str> = good.split('.').collect();
    let (head, body, seal) = (parts[0], parts[1], parts[2]);
    let stranger = PrivateKey::ed25519();
    let modulus = setup.rsa.public("rsa")["n"].as_str().unwrap().to_owned();
    let public = setup.ed25519.public("ed").to_string();
    let none = |alg: &str| format!("{}.{body}.", encoded(json!({"alg": alg, "typ": "JWT"}).to_string()));
    let text = |header: &str, claims: &str| setup.ed25519.token_of(header, claims);
    let valid_header = header(&json!({})).to_string();
    let duplicate = |claim: &str| {
        let claims = claims.to_string();
        format!("{{{claim},{}", &claims[1..])
    };
    let name = setup.server.name();
    let mut tokens: Vec<(&'static str, String)> = vec![
        // Algorithms.
        ("alg none", none("none")),
        ("alg None", none("None")),
        ("alg NONE", none("NONE")),
        ("alg nOnE", none("nOnE")),
        ("alg empty", none("")),
        ("alg none with a signature", format!("{}.{body}.{seal}", encoded(r#"{"alg":"none"}"#))),
        (
            "HS256 with the modulus",
            hs256(&json!({"alg": "HS256", "kid": "rsa"}), &claims, modulus.as_bytes()),
        ),
        (
            "HS256 with the public key",
            hs256(&json!({"alg": "HS256", "kid": "ed"}), &claims, public.as_bytes()),
        ),
        ("HS256 with an empty secret", hs256(&json!({"alg": "HS256", "kid": "ed"}), &claims, b"")),
        (
            "RS256 with the id of an Ed25519 key",
            setup.rsa.token(&json!({"alg": "RS256", "kid": "ed"}), &claims),
        ),
        ("ES256 header, Ed25519 signature", with(json!({"alg": "ES256"}))),
        ("RS256 header, Ed25519 signature", with(json!({"alg": "RS256"}))),
        ("an algorithm that is not listed", setup.rsa.token(&json!({"alg": "RS384", "kid": "rsa"}), &claims)),
        ("PS512 is not listed", setup.rsa.token(&json!({"alg": "PS512", "kid": "rsa"}), &claims)),
        ("an algorithm of encryption", with(json!({"alg": "RSA-OAEP", "enc": "A256GCM"}))),
        ("alg is a number", with(json!({"alg": 256}))),
        ("alg is a list", with(json!({"alg": ["EdDSA"]}))),
        ("no alg", text(r#"{"typ":"JWT","kid":"ed"}"#, &claims.to_string())),
        // Headers.
        ("crit", with(json!({"crit": ["exp"]}))),
        ("crit is empty", with(json!({"crit": []}))),
        ("b64", with(json!({"b64": false, "crit": ["b64"]}))),
        ("zip", with(json!({"zip": "DEF"}))),
        ("a nested token", with(json!({"cty": "JWT"}))),
        ("an ID of a key that is a number", with(json!({"kid": 1}))),
        ("a logout token", with(json!({"typ": "logout+jwt"}))),
        ("a proof of DPoP", with(json!({"typ": "dpop+jwt"}))),
        ("a security event", with(json!({"typ": "application/secevent+jwt"}))),
        // Keys.
        ("a key of somebody else", stranger.token(&header(&json!({})), &claims)),
        ("an unknown key", stranger.token(&header(&json!({"kid": "other"})), &claims)),
        ("its own key in jwk", stranger.token(&header(&json!({"jwk": stranger.public("ed")})), &claims)),
        (
            "its own key at jku",
            stranger.token(&header(&json!({"jku": "https://evil.example/keys"})), &claims),
        ),
        ("its own key at x5u", stranger.token(&header(&json!({"x5u": "https://evil.example/x"})), &claims)),
        ("its own key in x5c", stranger.token(&header(&json!({"x5c": ["AAAA"]})), &claims)),
        ("an id that is a path", stranger.token(&header(&json!({"kid": "../../dev/null"})), &claims)),
        // Signatures.
        ("no signature", format!("{head}.{body}.")),
        ("half a signature", format!("{head}.{body}.{}", &seal[..seal.len() / 2])),
        ("a changed signature", format!("{head}.{body}.{}", encoded([7; 64]))),
        ("a signature of zeros", format!("{head}.{body}.{}", encoded([0; 64]))),
        ("claims of another token", {
            let other = of(json!({"sub": "root"}));
            format!("{head}.{}.{seal}", other.split('.').nth(1).unwrap())
        }),
        (
            "an ES256 signature of zeros",
            format!("{}.{body}.{}", encoded(r#"{"alg":"ES256","kid":"p256"}"#), encoded([0; 64])),
        ),
        // Form.
        ("one part", head.to_owned()),
        ("two parts", format!("{head}.{body}")),
        ("four parts", format!("{good}.{seal}")),
        ("five parts, as if it were encrypted", format!("{head}.{body}.{seal}.{body}.{seal}")),
        ("only dots", "..".to_owned()),
        ("base64 with padding", format!("{head}=.{body}.{seal}")),
        ("base64 with the other alphabet", format!("{head}.{body}.{}", "+/".repeat(43))),
        ("bits after the last byte", format!("{head}.{body}.{}B", &encoded([1; 64])[..85])),
        ("a header that is no JSON", text("{\"alg\":\"EdDSA\"", &claims.to_string())),
        ("a header that is a list", text("[\"EdDSA\"]", &claims.to_string())),
        ("claims that are no JSON", text(&valid_header, "{\"iss\":")),
        ("claims that are a text", text(&valid_header, "\"ada\"")),
        ("bytes after the claims", text(&valid_header, &format!("{claims} x"))),
        ("claims nested too deep", text(&valid_header, &"[".repeat(10_000))),
        ("two subjects", text(&valid_header, &duplicate("\"sub\":\"root\""))),
        (
            "two audiences of which the first is another",
            text(&valid_header, &duplicate("\"aud\":\"https://other.example\"")),
        ),
        ("two issuers", text(&valid_header, &duplicate("\"iss\":\"https://evil.example\""))),
        ("two algorithms", text(r#"{"alg":"none","alg":"EdDSA","kid":"ed"}"#, &claims.to_string())),
        ("too long", of(json!({"x": "x".repeat(16 * 1024)}))),
        ("a key nobody has", new_key()),
        ("the hash of a key", KeyHash::of(&setup.key).to_string().replace("blake3:", "tgk_")),
        ("a key that was cut", setup.key[..46].to_owned()),
        ("not a token", "hello".to_owned()),
        // Claims.
        ("another audience", of(json!({"aud": "https://other.example/mcp"}))),
        ("several audiences, none ours", of(json!({"aud": ["https://a.example", "https://b.example"]}))),
        ("our audience with a slash", of(json!({"aud": format!("{RESOURCE}/")}))),
        ("our host only", of(json!({"aud": "https://gateway.example"}))),
        ("our audience in capitals", of(json!({"aud": RESOURCE.to_uppercase()}))),
        ("an empty list of audiences", of(json!({"aud": []}))),
        ("audiences that are no texts", of(json!({"aud": [RESOURCE, 1]}))),
        ("audience is an object", of(json!({"aud": {"0": RESOURCE}}))),
        ("no audience", of(json!({"aud": null}))),
        ("expired", of(json!({"exp": now - 31}))),
        ("expired long ago", of(json!({"exp": 1}))),
        ("exp is a text", of(json!({"exp": (now + 300).to_string()}))),
        ("exp is negative", of(json!({"exp": -1}))),
        ("no exp", of(json!({"exp": null}))),
        (
            "exp too large to read",
            text(&valid_header, &claims.to_string().replace(&(now + 300).to_string(), "1e999")),
        ),
        ("not valid yet", of(json!({"nbf": now + 31}))),
        ("nbf is a text", of(json!({"nbf": "0"}))),
        ("iat is a text", of(json!({"iat": "yesterday"}))),
        ("another issuer", of(json!({"iss": "https://evil.example"}))),
        ("the issuer with a slash", of(json!({"iss": format!("{name}/")}))),
        ("issuers", of(json!({"iss": [name]}))),
        ("no issuer", of(json!({"iss": null}))),
        ("no subject", of(json!({"sub": null}))),
        ("an empty subject", of(json!({"sub": " "}))),
        ("subject is a number", of(json!({"sub": 7}))),
        ("a subject with a line break", of(json!({"sub": "ada\nroot"}))),
        ("a long subject", of(json!({"sub": "x".repeat(256)}))),
        ("bound to a key", of(json!({"cnf": {"jkt": "abc"}}))),
    ];
    let mut bad: Vec<_> = tokens
        .drain(..)
        .map(|(name, token)| (name, headers(&[&format!("Bearer {token}")]), 401, "invalid_token"))
        .collect();
    let bearer = format!("Bearer {good}");
    bad.extend([
        ("no header", HeaderMap::new(), 401, ""),
        ("Basic", headers(&["Basic YWRhOnNlY3JldA=="]), 401, ""),
        ("DPoP", headers(&[&format!("DPoP {good}")]), 401, ""),
        ("the token without a scheme", headers(&[&good]), 401, ""),
        ("Bearer without a token", headers(&["Bearer"]), 400, "invalid_request"),
        ("two headers", headers(&[&bearer, &bearer]), 400, "invalid_request"),
        ("two tokens in a header", headers(&[&format!("{bearer}, {bearer}")]), 400, "invalid_request"),
        ("a space within", headers(&[&format!("Bearer {head} .{body}.{seal}")]), 400, "invalid_request"),
        ("quotes", headers(&[&format!("Bearer \"{good}\"")]), 400, "invalid_request"),
        ("no ASCII", headers(&["Bearer abc\u{e9}"]), 400, "invalid_request"),
    ]);
    bad
}

#[tokio::test]
async fn every_bad_token_is_refused() {
    let setup = setup(TIMING).await;
    let bad = bad_tokens(&setup).await;
    assert!(bad.len() >= 100, "{}", bad.len());
    for (name, headers, status, error) in bad {
        let challenge = setup.ask_with(&headers).await.expect_err(name);
        assert_eq!(challenge.status.as_u16(), status, "{name}: {challenge:?}");
        let header = challenge.www_authenticate.expect(name);
        let begins = match error {
            "" => "Bearer scope=\"mcp:read mcp:write\", ".to_owned(),
            error => format!("Bearer error=\"{error}\", error_description=\""),
        };
        assert!(header.starts_with(&begins) && header.ends_with(METADATA), "{name}: {header}");
        HeaderValue::from_str(&header).expect(name);
        for value in headers.get_all(AUTHORIZATION) {
            let sent = String::from_utf8_lossy(value.as_bytes()).into_owned();
            let token = sent.split_once(' ').map_or("", |(_, token)| token);
            let is_repeated =
                token.len() > 8 && (header.contains(token) || challenge.message.contains(token));
            assert!(!is_repeated, "{name}: the refusal repeats the token");
        }
    }
    let in_address = setup.gateway.refuse_address(Some("a=1&access_token=abc"), RESOURCE).unwrap();
    assert_eq!(in_address.status.as_u16(), 400);
    assert!(in_address.www_authenticate.unwrap().starts_with("Bearer error=\"invalid_request\""));
    assert_eq!(setup.gateway.refuse_address(Some("a=1"), RESOURCE), None);
    // A token of a valid caller is accepted all the same, whatever address its client says it called. One for that address is
    // not: what counts is the address of the gateway in the configuration.
    let elsewhere = "https://b.example/mcp";
    for (audience, status) in [(RESOURCE, None), (elsewhere, Some(401))] {
        let headers = headers(&[&format!("Bearer {}", setup.token(&json!({"aud": audience})))]);
        let answer = setup.gateway.authenticate(&headers, elsewhere).await;
        assert_eq!(answer.err().map(|challenge| challenge.status.as_u16()), status, "{audience}");
    }
}

#[tokio::test]
async fn rotated_keys_are_fetched_once() {
    let setup = setup(TIMING).await;
    let claims = setup.claims(&json!({}));
    assert!(setup.ask(&setup.token(&json!({}))).await.is_ok());
    let next = PrivateKey::ed25519();
    setup.server.rotate(vec![next.public("next")]);
    tokio::time::sleep(2 * TIMING.pause).await;
    let token = next.token(&header(&json!({"kid": "next"})), &claims);
    let asked = futures_of(16, || setup.ask(&token)).await;
    assert!(asked.iter().all(Result::is_ok), "the new key is found");
    assert_eq!(setup.issuer.fetches(), 2, "by one fetch for all");
    let old = setup.token(&json!({"sub": "bob"}));
    assert_eq!(setup.ask(&old).await.unwrap_err().status.as_u16(), 401, "the old key is gone");
    // Whoever invents keys does not make the gateway fetch again and again.
    let before = setup.issuer.fetches();
    for number in 0..50 {
        let invented = next.token(&header(&json!({"kid": format!("k{number}")})), &claims);
        assert_eq!(setup.ask(&invented).await.unwrap_err().status.as_u16(), 401);
    }
    assert!(setup.issuer.fetches() <= before + 1, "{} {before}", setup.issuer.fetches());
}

/// Runs the same question several times at once.
async fn futures_of<T, F: Future<Output = T>>(count: usize, ask: impl Fn() -> F) -> Vec<T> {
    let mut asked: Vec<_> = (0..count).map(|_| Box::pin(ask())).collect();
    let mut answers: Vec<Option<T>> = asked.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, answer) in asked.iter_mut().zip(&mut answers) {
            if answer.is_none()
                && let std::task::Poll::Ready(value) = future.as_mut().poll(context)
            {
                *answer = Some(value);
            }
        }
        match answers.iter().all(Option::is_some) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    answers.into_iter().flatten().collect()
}

#[tokio::test]
async fn an_unreachable_issuer_gives_503_or_its_last_keys() {
    let timing = Timing { max_age: Duration::from_millis(1), pause: Duration::from_millis(100), ..TIMING };
    let setup = setup(timing).await;
    setup.server.set_down(true);
    let refused = setup.ask(&setup.token(&json!({}))).await.unwrap_err();
    assert_eq!(
        (refused.status.as_u16(), refused.retry_after),
        (503, Some(1)),
        "nothing is known of the token"
    );
    assert!(setup.ask(&setup.key).await.is_ok(), "keys of the configuration need no issuer");
    setup.server.set_down(false);
    tokio::time::sleep(2 * timing.pause).await;
    assert!(setup.ask(&setup.token(&json!({"sub": "b"}))).await.is_ok());
    setup.server.set_down(true);
    for number in 0..5 {
        tokio::time::sleep(timing.pause).await;
        let token = setup.token(&json!({"sub": format!("c{number}")}));
        assert!(setup.ask(&token).await.is_ok(), "the last keys stay in use");
    }
    assert!(setup.issuer.fetches() >= 4, "they are tried to be renewed in the background");
    let bad = setup.ask(&setup.token(&json!({"aud": "x"}))).await.unwrap_err();
    assert_eq!(bad.status.as_u16(), 401);
}

#[tokio::test]
async fn roles_decide_what_a_caller_may_use() {
    let setup = setup(TIMING).await;
    let writer =
        setup.ask(&setup.token(&json!({"groups": null, "scope": "mcp:write mcp:read"}))).await.unwrap();
    let reader = setup.ask(&setup.token(&json!({"groups": null}))).await.unwrap();
    let staff = setup.ask(&setup.token(&json!({"groups": ["staff"], "scope": null}))).await.unwrap();
    let write = Use { server: "github", tool: Some("create_issue") };
    assert!(writer.may(write) && staff.may(write) && !reader.may(write));
    assert!(!writer.may(Use { server: "payroll", tool: Some("pay") }));
    assert_eq!((writer.tier_for(write), staff.tier_for(write)), (Tier::ReadWrite, Tier::Admin));
    let step_up = setup.gateway.step_up(&reader, write, Tier::Read, RESOURCE).unwrap();
    assert_eq!(step_up.status.as_u16(), 403);
    assert_eq!(
        step_up.www_authenticate,
        Some(format!(
            "Bearer error=\"insufficient_scope\", error_description=\"the token needs the scopes mcp:read mcp:write\", \
             scope=\"mcp:read mcp:write\", {METADATA}"
        ))
    );
    let other = Use { server: "payroll", tool: Some("pay") };
    assert_eq!(setup.gateway.step_up(&reader, other, Tier::Read, RESOURCE), None, "no scope would allow it");
    let key = setup.ask(&setup.key).await.unwrap();
    assert_eq!(
        setup.gateway.step_up(&key, write, Tier::Read, RESOURCE),
        None,
        "a key has no scopes to ask for"
    );
}

#[tokio::test]
async fn expiry_is_seen_although_a_token_is_remembered() {
    let setup = setup(TIMING).await;
    let token = setup.token(&json!({"exp": setup.now() + 5}));
    assert!(setup.ask(&token).await.is_ok());
    setup.clock.advance(Duration::from_secs(20));
    assert!(setup.ask(&token).await.is_ok(), "within the leeway");
    setup.clock.advance(Duration::from_secs(16));
    assert_eq!(setup.ask(&token).await.unwrap_err().status.as_u16(), 401);
}

#[tokio::test]
async fn the_metadata_names_the_issuers() {
    let setup = setup(TIMING).await;
    for path in ["/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp"] {
        let document: Value =
            serde_json::from_slice(&setup.gateway.document(path, RESOURCE).unwrap()).unwrap();
        assert_eq!(document["resource"], RESOURCE);
        assert_eq!(document["authorization_servers"], json!([setup.server.name()]));
        assert_eq!(document["scopes_supported"], json!(["mcp:read", "mcp:write"]));
    }
    assert_eq!(setup.gateway.document("/mcp", RESOURCE), None);
}
