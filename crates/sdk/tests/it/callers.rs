//! Who reaches what: callers without a name, other callers, other servers and callers whose tier was lowered get nothing of
//! anybody else, by any way there is, over a pipe and over HTTP, in both protocol eras.

pub(crate) mod seat;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler, tool, tool_handler, tool_router};
use serde_json::{Value, json};
use tidegate_sdk::{Artifacts, CallerId, StoreLocation, Tidegate, Tier, Unnamed, heavy, within_call};

use seat::Seat;

/// A server whose tools leave something in the store in every way there is.
#[derive(Clone)]
struct Vault {
    artifacts: Artifacts,
}

fn rows(word: &str) -> String {
    let row =
        |number: usize| json!({"id": number, "name": format!("{word} {number}"), "note": "x".repeat(60)});
    Value::from((0..400).map(row).collect::<Vec<_>>()).to_string()
}

#[tool_router]
impl Vault {
    #[heavy(style = "contract", domain = "stock")]
    #[tool(description = "Rows with a reference and a cursor")]
    async fn rows(&self) -> String {
        rows("row")
    }

    #[heavy(style = "probe")]
    #[tool(description = "Rows with a token")]
    async fn probed(&self) -> String {
        rows("probed")
    }

    #[heavy(tier = "admin")]
    #[tool(description = "Stores an artifact")]
    async fn secret(&self) -> Result<String, ErrorData> {
        let stored = self.artifacts.store("secret", &rows("secret"));
        Ok(stored.map_err(|error| ErrorData::internal_error(error.to_string(), None))?.reference().to_owned())
    }

    #[tool(description = "Stores an artifact under an id of its choice")]
    async fn named(&self) -> String {
        self.artifacts.store_as("named", "n1", &rows("named")).unwrap().reference().to_owned()
    }

    #[tool(description = "Stores an artifact on another thread")]
    async fn apart(&self) -> String {
        let artifacts = self.artifacts.clone();
        let store = within_call(move || artifacts.store("apart", &rows("apart")).unwrap());
        tokio::task::spawn_blocking(store).await.unwrap().reference().to_owned()
    }
}

#[tool_handler(name = "vault")]
impl ServerHandler for Vault {}

/// The same tools under another name.
#[derive(Clone)]
struct Other(Vault);

impl ServerHandler for Other {
    fn get_info(&self) -> rmcp::model::ServerConfig {
        let mut info = self.0.get_info();
        info.server_info.name = "other".into();
        info
    }

    fn get_tool(&self, name: &str) -> Option<rmcp::model::Tool> {
        self.0.get_tool(name)
    }

    async fn call_tool(
        &self,
        request: rmcp::model::CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<rmcp::model::CallToolResponse, ErrorData> {
        self.0.call_tool(request, context).await
    }
}

/// A caller by its header; the pipe has no headers.
fn header(context: &RequestContext<RoleServer>) -> Option<CallerId> {
    let parts = context.extensions.get::<http::request::Parts>()?;
    CallerId::new(parts.headers.get("x-caller")?.to_str().ok()?)
}

/// What somebody left in the store.
struct Loot {
    /// Addresses and ids, each with the tier that its tool needs.
    references: Vec<(String, Tier)>,
    cursor: Value,
    token: Value,
}

async fn leave(seat: &mut Seat) -> Loot {
    let contract: Value = serde_json::from_str(&seat.text("rows", json!({})).await).unwrap();
    let probe: Value = serde_json::from_str(&seat.text("probed", json!({})).await).unwrap();
    let mut references = vec![(contract["artifactRef"].as_str().unwrap().to_owned(), Tier::Read)];
    references.push((seat.text("secret", json!({})).await, Tier::Admin));
    references.push((seat.text("apart", json!({})).await, Tier::Read));
    Loot { references, cursor: contract["nextCursor"].clone(), token: probe["continuation_token"].clone() }
}

/// Tries every way to what somebody left, and returns those that lead there.
async fn reached(seat: &mut Seat, loot: &Loot) -> Vec<String> {
    let mut reached = Vec::new();
    let listed = seat.request("resources/list", json!({})).await.to_string();
    for (reference, tier) in &loot.references {
        let id = reference.rsplit('/').next().unwrap();
        let domain = reference.split('/').nth(2).unwrap();
        let read = seat.request("resources/read", json!({"uri": reference})).await;
        if read["result"]["contents"].is_array() {
            reached.push(format!("read {tier} {domain}"));
        }
        for name in [reference.clone(), id.to_owned(), format!("{domain}-{id}")] {
            let part = seat.call("result_query", json!({"id": name, "page": 1})).await;
            if part["result"]["isError"] != true {
                reached.push(format!("query {tier} {domain}"));
                break;
            }
        }
        if listed.contains(id) {
            reached.push(format!("list {tier} {domain}"));
        }
    }
    let (first, _) = &loot.references[0];
    let next = seat.call("result_query", json!({"id": first, "cursor": loot.cursor})).await;
    if next["result"]["isError"] != true {
        reached.push("cursor".into());
    }
    let fetched = seat.call("probed", json!({"continuation_token": loot.token, "mode": "paginated"})).await;
    if fetched["result"]["isError"] != true {
        reached.push("token".into());
    }
    reached
}

const ALL: [&str; 11] = [
    "read read stock",
    "query read stock",
    "list read stock",
    "read admin secret",
    "query admin secret",
    "list admin secret",
    "read read apart",
    "query read apart",
    "list read apart",
    "cursor",
    "token",
];

/// What is reached by who has lost the tier of `secret`.
fn of_tier_read() -> Vec<&'static str> {
    ALL.into_iter().filter(|way| !way.contains("admin")).collect()
}

fn unlisted() -> Vec<&'static str> {
    ALL.into_iter().filter(|way| !way.starts_with("list")).collect()
}

/// Regression: an unnamed HTTP client read what others had stored.
#[tokio::test(flavor = "multi_thread")]
async fn no_caller_reaches_the_results_of_another() {
    let folder = tempfile::tempdir().unwrap();
    let place = StoreLocation::Folder(Some(folder.path().to_owned()));
    let trusted = Arc::new(AtomicBool::new(true));
    let artifacts = Artifacts::store_in(place.clone());
    let vault = || {
        let now = Arc::clone(&trusted);
        let tiers = move |_: &str| if now.load(Ordering::SeqCst) { Tier::Admin } else { Tier::Read };
        Tidegate::wrap(Vault { artifacts: artifacts.clone() }).artifacts(&artifacts).permission(tiers).quiet()
    };
    let port = seat::listen(vault().callers(header)).await;
    let open_port = seat::listen(vault()).await;
    let other = Other(Vault { artifacts: artifacts.clone() });
    let other_port = seat::listen(Tidegate::wrap(other).artifacts(&artifacts).callers(header).quiet()).await;

    // Everybody, and whether what is left for it is listed.
    let mut seats: Vec<(&str, Seat, bool)> = vec![
        ("ada", Seat::session(port, Some("ada")).await, true),
        ("bob", Seat::session(port, Some("bob")).await, true),
        ("eve without a session", Seat::stateless(port, Some("eve")), true),
        ("unnamed", Seat::session(port, None).await, true),
        ("unnamed again", Seat::session(port, None).await, true),
        ("unnamed with an empty name", Seat::session(port, Some(" ")).await, true),
        ("unnamed without a session", Seat::stateless(port, None), false),
        ("server without callers", Seat::session(open_port, None).await, true),
        ("ada of another server", Seat::session(other_port, Some("ada")).await, true),
        ("unnamed of another server", Seat::session(other_port, None).await, true),
        ("the user", Seat::pipe(vault()).await, true),
        ("unnamed on a pipe", Seat::pipe(vault().callers(header)).await, true),
    ];
    let mut loots = Vec::new();
    for (_, seat, _) in &mut seats {
        loots.push(leave(seat).await);
    }
    let owners: Vec<&str> = seats.iter().map(|(who, ..)| *who).collect();
    for (reader, (who, seat, is_listed)) in seats.iter_mut().enumerate() {
        for (owner, loot) in loots.iter().enumerate() {
            let expected = match (reader == owner, *is_listed) {
                (true, true) => ALL.to_vec(),
                (true, false) => unlisted(),
                (false, _) => Vec::new(),
            };
            assert_eq!(reached(seat, loot).await, expected, "{who} reads what was left by {}", owners[owner]);
        }
    }

    // A second seat of the same caller is the same caller, and a lower tier counts at once.
    let mut second = Seat::stateless(port, Some("ada"));
    assert_eq!(reached(&mut second, &loots[0]).await, ALL);
    let mut second_user = Seat::pipe(vault()).await;
    let of_user = owners.iter().position(|who| *who == "the user").unwrap();
    assert_eq!(reached(&mut second_user, &loots[of_user]).await, ALL);
    trusted.store(false, Ordering::SeqCst);
    for (owner, (who, seat, is_listed)) in seats.iter_mut().enumerate() {
        if *is_listed && !who.contains("another server") {
            assert_eq!(reached(seat, &loots[owner]).await, of_tier_read(), "{who}");
        }
    }
}

/// Nothing connects the requests of such a caller, so that its artifacts are found by their ids alone.
#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_a_tool_chooses_for_an_unnamed_caller_cannot_be_guessed() {
    let artifacts = Artifacts::store_in(StoreLocation::Memory);
    let server = Tidegate::wrap(Vault { artifacts: artifacts.clone() }).artifacts(&artifacts).quiet();
    let port = seat::listen(server.callers(header)).await;
    let reads = |read: &Value| read["result"]["contents"].is_array();
    let (mut one, mut two) = (Seat::stateless(port, None), Seat::stateless(port, None));
    let references = [one.text("named", json!({})).await, two.text("named", json!({})).await];
    assert_ne!(references[0], references[1]);
    assert!(reads(&one.request("resources/read", json!({"uri": references[0]})).await));
    assert!(!reads(&two.request("resources/read", json!({"uri": "ax://named/n1"})).await));
    let mut ada = Seat::stateless(port, Some("ada"));
    assert_eq!(ada.text("named", json!({})).await, "ax://named/n1");
    assert!(reads(&ada.request("resources/read", json!({"uri": "ax://named/n1"})).await));
    assert!(!reads(&two.request("resources/read", json!({"uri": "ax://named/n1"})).await));
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_without_a_name_are_refused_where_that_is_set() {
    let artifacts = Artifacts::store_in(StoreLocation::Memory);
    let server = Tidegate::wrap(Vault { artifacts: artifacts.clone() }).artifacts(&artifacts).quiet();
    let port = seat::listen(server.callers(header).unnamed(Unnamed::Refused)).await;
    let mut ada = Seat::session(port, Some("ada")).await;
    let loot = leave(&mut ada).await;
    assert_eq!(reached(&mut ada, &loot).await, ALL);
    let mut unnamed = Seat::stateless(port, None);
    for (method, params) in [
        ("tools/list", json!({})),
        ("resources/list", json!({})),
        ("resources/read", json!({"uri": loot.references[0].0})),
        ("tools/call", json!({"name": "rows", "arguments": {}})),
    ] {
        let refused = unnamed.request(method, params).await;
        let message = refused["error"]["message"].as_str().unwrap_or_else(|| panic!("{method}: {refused}"));
        assert!(message.contains("only callers that it knows"), "{message}");
    }
}

/// More callers than there are open gates: what was kept for the first one stays.
#[tokio::test(flavor = "multi_thread")]
async fn results_in_memory_are_not_evicted() {
    let artifacts = Artifacts::store_in(StoreLocation::Memory);
    let server = Tidegate::wrap(Vault { artifacts: artifacts.clone() }).artifacts(&artifacts).quiet();
    let port = seat::listen(server.callers(header)).await;
    let mut ada = Seat::stateless(port, Some("ada"));
    let loot = leave(&mut ada).await;
    for number in 0..1100 {
        Seat::stateless(port, Some(&format!("caller-{number}"))).request("tools/list", json!({})).await;
    }
    assert_eq!(reached(&mut ada, &loot).await, ALL);
}

#[tokio::test]
async fn expired_artifacts_are_gone_for_their_caller_too() {
    let clock = Arc::new(tidegate_testkit::clock::ManualClock::default());
    let artifacts = Artifacts::store_in(StoreLocation::Memory);
    let server = Tidegate::wrap(Vault { artifacts: artifacts.clone() }).artifacts(&artifacts).quiet();
    let server = server.clock(Arc::<tidegate_testkit::clock::ManualClock>::clone(&clock));
    let mut user = Seat::pipe(server).await;
    let contract: Value = serde_json::from_str(&user.text("rows", json!({})).await).unwrap();
    let uri = json!({"uri": contract["artifactRef"]});
    assert!(user.request("resources/read", uri.clone()).await["result"]["contents"].is_array());
    clock.advance(Duration::from_secs(25 * 3600));
    assert!(user.request("resources/read", uri).await["error"].is_object());
}
