//! Several `tidegate gateway` on one database: what clients tell one replica and another one waits for, and sessions that
//! outlive replicas.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tidegate_testkit::servers::{self, ObjectServer, PostgresServer};

use crate::gateway::{Gateway, asking, repeat};
use crate::gateway_access::{Caller, key};
use crate::http::{Connection, call};
use crate::session::handle;

/// A database, a bucket and a folder that replicas share.
pub(crate) struct SharedPlace {
    pub(crate) home: tempfile::TempDir,
    store: String,
    environment: Vec<(String, String)>,
    pub(crate) server: &'static PostgresServer,
    pub(crate) database: String,
}

impl SharedPlace {
    /// Returns a place of its own; `None` if there are no servers.
    pub(crate) fn new() -> Option<Self> {
        let (server, objects) = (servers::postgres()?, servers::objects()?);
        let home = tempfile::tempdir().unwrap();
        let database = format!("gateway_{}", std::process::id());
        let database = format!("{database}_{}", home.path().to_str()?.rsplit("tmp").next()?.to_lowercase());
        server.sql(&format!("CREATE DATABASE {database} OWNER tidegate"));
        let url = server.address().replacen("/tidegate?", &format!("/{database}?"), 1);
        let key = home.path().join("seal.key");
        let made = crate::tidegate_in(Some(home.path()), &["store", "key", "-o", key.to_str()?], b"");
        assert_eq!(made.code, 0, "{}", made.stderr);
        let store = format!("[store]\nurl = {url:?}\nsealing_key_file = {key:?}\n") + &bucket(objects);
        let prefix = objects.new_prefix().credentials?;
        let environment = vec![
            ("AWS_ACCESS_KEY_ID".to_owned(), prefix.key_id),
            ("AWS_SECRET_ACCESS_KEY".to_owned(), prefix.secret),
        ];
        Some(Self { home, store, environment, server, database })
    }

    /// Starts a replica, with what comes before `[store]` in its configuration.
    pub(crate) fn replica(&self, config: &str) -> Gateway {
        self.replica_with(config, &[])
    }

    pub(crate) fn replica_with(&self, config: &str, flags: &[&str]) -> Gateway {
        Gateway::start_in(self.home.path(), &(config.to_owned() + &self.store), flags, &self.environment)
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }
}

fn bucket(objects: &ObjectServer) -> String {
    let options = objects.new_prefix();
    format!(
        "[store.objects]\nurl = {:?}\nendpoint = {:?}\nregion = \"us-east-1\"\n",
        options.url,
        options.endpoint.unwrap()
    )
}

/// Sends a call whose answer is a stream, and returns the stream.
fn begin_call(gateway: &Gateway, caller: &Caller, id: u64, tool: &str) -> Connection {
    let mut stream = Connection::to(gateway.port);
    let headers: Vec<(&str, &str)> =
        caller.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    stream.send("POST", &headers, &call(id, tool, json!({})));
    assert_eq!(stream.reply_head(), 200);
    stream
}

/// Returns the answer to a request of a server.
fn answer(id: &Value, name: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "result": {"action": "accept", "content": {"name": name}}}).to_string()
}

/// A caller talks to another replica from now on.
fn go_to(caller: &mut Caller, gateway: &Gateway) {
    caller.connection = Connection::to(gateway.port);
}

/// Two callers with keys, and the configuration with a server that asks them things.
fn two_callers(place: &SharedPlace) -> (String, [String; 2]) {
    let mut config = asking("one", "sharing = \"sticky\"");
    let keys = ["ada", "bob"].map(|name| {
        let (key, section) = key(place.home(), name);
        config += &section;
        key
    });
    (config, keys)
}

#[test]
fn an_answer_finds_the_replica_that_asked() {
    let Some(place) = SharedPlace::new() else { return };
    let (config, [ada, bob]) = two_callers(&place);
    let (first, second) = (place.replica(&config), place.replica(&config));
    let (mut ada, mut bob) = (Caller::new(&first, &ada), Caller::new(&second, &bob));
    let mut streams: Vec<(Connection, Value)> = Vec::new();
    // Both replicas ask the same session something, so their questions have different ids.
    for (number, gateway) in [&first, &second].into_iter().enumerate() {
        let mut stream = begin_call(gateway, &ada, 70 + number as u64, "one__ask");
        let asked = stream.next_event();
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        streams.push((stream, asked["id"].clone()));
    }
    assert_ne!(streams[0].1, streams[1].1);
    // Nobody can answer in the place of somebody else, from any replica.
    for gateway in [&first, &second] {
        go_to(&mut bob, gateway);
        assert_eq!(bob.post(&answer(&streams[0].1, "of bob")).status, 202);
    }
    // A long answer, and one through the replica that asked.
    go_to(&mut ada, &second);
    let names = ["of ada ".repeat(20_000), "of ada".to_owned()];
    for ((_, id), name) in streams.iter().zip(&names) {
        assert_eq!(ada.post(&answer(id, name)).status, 202);
    }
    for (number, ((stream, _), name)) in streams.iter_mut().zip(&names).enumerate() {
        let answered = stream.next_event();
        assert_eq!(answered["id"], 70 + number as u64);
        let text = answered["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        // The upstream gives back the whole answer, of which an overview is sent if it is long.
        assert!(text.contains("accept") && !text.contains("of bob"), "{text}");
        assert!(name.len() > 1000 || text.contains(name.as_str()), "{text}");
    }
    // A second answer is for nobody.
    assert_eq!(ada.post(&answer(&streams[0].1, "again")).status, 202);
    repeat("it is noted", || first.log().contains("dropped an answer of a client: nobody waits for it"));
    assert!(!first.log().contains("of ada"), "{}", first.log());
}

#[test]
fn a_cancellation_finds_the_call() {
    let Some(place) = SharedPlace::new() else { return };
    let (config, [ada, bob]) = two_callers(&place);
    let (first, second) = (place.replica(&config), place.replica(&config));
    let (mut ada, mut bob) = (Caller::new(&first, &ada), Caller::new(&first, &bob));
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 50}});
    // Both have a call of the same id.
    let _streams = [begin_call(&first, &ada, 50, "one__wait"), begin_call(&first, &bob, 50, "one__wait")];
    go_to(&mut ada, &second);
    assert_eq!(ada.post(&cancel.to_string()).status, 202);
    go_to(&mut ada, &first);
    repeat("it is cancelled", || ada.text("one__cancelled", json!({})) == "1");
    assert_eq!(bob.text("one__cancelled", json!({})), "0", "only hers");
}

#[test]
fn news_of_a_client_reach_the_servers_of_every_replica() {
    let Some(place) = SharedPlace::new() else { return };
    let (config, [ada, _]) = two_callers(&place);
    let (first, second) = (place.replica(&config), place.replica(&config));
    let mut ada = Caller::new(&first, &ada);
    assert!(ada.text("one__said", json!({})).contains("\"level\": null"));
    go_to(&mut ada, &second);
    assert!(ada.text("one__said", json!({})).contains("\"level\": null"));
    assert_eq!(ada.request("logging/setLevel", json!({"level": "warning"})).json()["result"], json!({}));
    go_to(&mut ada, &first);
    repeat("the level is known", || ada.text("one__said", json!({})).contains("\"level\": \"warning\""));
    // The client listens at one replica, and hears of a resource that it subscribed to at the other one.
    let mut listening = Connection::to(second.port);
    let headers: Vec<(&str, &str)> =
        ada.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    listening.send("GET", &headers, "");
    assert_eq!(listening.reply_head(), 200);
    assert_eq!(ada.request("resources/subscribe", json!({"uri": "thing://1"})).json()["result"], json!({}));
    // The call ends before the notification is sent on, or it comes with its answer.
    let touched = ada.call("one__touch", json!({})).text();
    if !touched.contains("notifications/resources/updated") {
        assert_eq!(listening.next_event()["method"], "notifications/resources/updated");
    }
}

#[test]
fn a_session_that_was_ended_is_over_everywhere() {
    let Some(place) = SharedPlace::new() else { return };
    let (config, [ada, bob]) = two_callers(&place);
    let (first, second) = (place.replica(&config), place.replica(&config));
    let (mut ada, mut bob) = (Caller::new(&first, &ada), Caller::new(&first, &bob));
    for gateway in [&second, &first] {
        go_to(&mut ada, gateway);
        assert_eq!(ada.text("one__cancelled", json!({})), "0");
    }
    let headers: Vec<(&str, &str)> =
        ada.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let mut connection = Connection::to(first.port);
    connection.send("DELETE", &headers, "");
    assert_eq!(connection.reply().status, 200);
    assert_eq!(ada.call("one__cancelled", json!({})).status, 404, "it has ended here");
    go_to(&mut ada, &second);
    repeat("it has ended there", || ada.call("one__cancelled", json!({})).status == 404);
    let third = place.replica(&config);
    go_to(&mut ada, &third);
    assert_eq!(ada.call("one__cancelled", json!({})).status, 404, "who starts later knows as well");
    go_to(&mut bob, &third);
    assert_eq!(bob.text("one__cancelled", json!({})), "0", "other sessions go on");
}

#[test]
fn replicas_go_on_when_the_database_was_away() {
    let Some(place) = SharedPlace::new() else { return };
    let (config, [ada, _]) = two_callers(&place);
    let (first, second) = (place.replica(&config), place.replica(&config));
    let mut ada = Caller::new(&first, &ada);
    let mut stream = begin_call(&first, &ada, 7, "one__ask");
    let asked = stream.next_event();
    let ended = place.server.sql(&format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = '{}'",
        place.database
    ));
    assert!(ended.trim().parse::<u32>().unwrap() >= 2, "{ended}");
    go_to(&mut ada, &second);
    assert_eq!(ada.post(&answer(&asked["id"], "still ada")).status, 202);
    let answered = stream.next_event();
    assert!(answered.to_string().contains("still ada"), "{answered}");
    for gateway in [&first, &second] {
        repeat("it says so", || {
            let log = gateway.log();
            log.contains("messages of other replicas do not arrive")
                && log.contains("messages of other replicas arrive again")
        });
    }
}

#[test]
fn a_session_outlives_the_replica_that_began_it() {
    let Some(place) = SharedPlace::new() else { return };
    let (config, [ada, _]) = two_callers(&place);
    let config = config + &crate::gateway::section("two", "sharing = \"shared\"");
    let (mut first, second) = (place.replica(&config), place.replica(&config));
    let mut ada = Caller::new(&first, &ada);
    let text = ada.text("two__rows", json!({"n": 3000}));
    // An event id of another replica resumes no stream here.
    let mut headers: Vec<(&str, &str)> =
        ada.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    headers.push(("Last-Event-ID", "0123456789abcdef-3-0"));
    assert_eq!(Connection::to(second.port).get("/mcp", &headers).status, 404);
    let mut stream = begin_call(&first, &ada, 9, "one__ask");
    let asked = stream.next_event();
    first.child.kill().unwrap();
    go_to(&mut ada, &second);
    let part = ada.text("result_query", json!({"id": handle(&text), "path": "/2999/title"}));
    assert!(part.contains("issue 2999"), "{part}");
    assert_eq!(ada.post(&answer(&asked["id"], "nobody hears it")).status, 202);
    std::thread::sleep(Duration::from_millis(100));
    repeat("it is noted", || second.log().contains("the replica that asked is gone"));
}
