//! A real identity server: its metadata, keys and tokens, and what happens when it changes its key.
//!
//! `./check tests` installs it; without it, this test says so and passes.

use std::sync::Arc;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use tidegate_access::auth::Authentication;
use tidegate_access::auth::issuer::{Issuer, IssuerSettings, Timing};
use tidegate_access::auth::role::{Role, Roles};
use tidegate_gateway::caller::{Authenticate, Challenge, Principal, Use};
use tidegate_store::SystemClock;
use tidegate_testkit::identity::IdentityServer;

const RESOURCE: &str = "https://gateway.example/mcp";
const PAUSE: Duration = Duration::from_millis(200);

async fn ask(gateway: &Authentication, token: &str) -> Result<Arc<Principal>, Challenge> {
    let mut headers = HeaderMap::new();
    headers.insert(AUTHORIZATION, HeaderValue::from_str(&format!("Bearer {token}")).unwrap());
    gateway.authenticate(&headers, RESOURCE).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tokens_of_a_real_identity_server() {
    let Some(mut server) = IdentityServer::start(RESOURCE) else { return };
    let timing = Timing { pause: PAUSE, ..Timing::default() };
    let issuer = Issuer::new(IssuerSettings::new(server.name()), timing, Arc::new(|_: &str| {})).unwrap();
    let staff = Role { groups: vec!["staff".into()], ..Role::new("staff") };
    let writer = Role { scopes: vec!["mcp:write".into()], ..Role::new("writer") };
    let roles = Roles::new(vec![staff, writer]);
    let gateway = Authentication::new(
        Vec::new(),
        vec![Arc::new(issuer)],
        roles,
        Some(RESOURCE.into()),
        Arc::new(SystemClock),
    );

    let ada = ask(&gateway, &server.token("ada", "mcp:read", RESOURCE)).await.unwrap();
    assert_eq!(ada.name(), format!("{} ada", server.name()));
    let tool = Use { server: "github", tool: Some("create_issue") };
    assert!(ada.may(tool), "by the group in the claim");
    let bob = ask(&gateway, &server.token("bob", "mcp:read", RESOURCE)).await.unwrap();
    assert!(!bob.may(tool));
    let challenge = gateway.step_up(&bob, tool, tidegate_gate::tier::Tier::Read, RESOURCE).unwrap();
    assert!(challenge.www_authenticate.unwrap().contains("scope=\"mcp:write\""));
    let bob = ask(&gateway, &server.token("bob", "mcp:write", RESOURCE)).await.unwrap();
    assert!(bob.may(tool), "with the scope that the challenge asked for");
    let elsewhere = server.token("ada", "mcp:read", "https://other.example/mcp");
    assert_eq!(ask(&gateway, &elsewhere).await.unwrap_err().status.as_u16(), 401);

    let old = server.token("ada", "mcp:read", RESOURCE);
    server.rotate();
    tokio::time::sleep(2 * PAUSE).await;
    assert!(ask(&gateway, &server.token("ada", "mcp:write", RESOURCE)).await.is_ok(), "the new key");
    assert_eq!(ask(&gateway, &old).await.unwrap_err().status.as_u16(), 401, "the old key");
}
