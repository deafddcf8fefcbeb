//! Messages between replicas: who gets them, that a lost connection loses none, and that nobody gets another caller's.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use tidegate_store::{
    ArtifactStore, MAX_WAITING_REPLICA_MESSAGES, Owner, PostgresOptions, PostgresStore, Quotas,
    REPLICA_MESSAGE_TIME, ReplicaEvent, ReplicaMessage, ReplicaMessageKind, ReplicaMessages, StoreKey,
    StoreKeys, SystemClock,
};
use tidegate_testkit::clock::ManualClock;
use tidegate_testkit::servers;

const PATIENCE: Duration = Duration::from_secs(20);
const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);

/// A replica that listens.
struct Replica {
    store: PostgresStore,
    name: &'static str,
    events: Receiver<ReplicaEvent>,
    listening: Box<dyn Send + Sync>,
}

impl Replica {
    fn start(options: &PostgresOptions, name: &'static str) -> Self {
        let store = PostgresStore::connect(options, Quotas::default(), Arc::new(SystemClock)).unwrap();
        let (sender, events) = channel();
        let listening = store.listen(name, Box::new(move |event| drop(sender.send(event))));
        Self { store, name, events, listening }
    }

    fn send(&self, to: &str, message: &ReplicaMessage) -> i64 {
        self.store.send(self.name, to, message).unwrap()
    }

    fn next(&self) -> ReplicaEvent {
        self.events.recv_timeout(PATIENCE).expect("an event")
    }

    fn next_body(&self) -> Vec<u8> {
        loop {
            if let ReplicaEvent::Message(_, message) = self.next() {
                return message.body;
            }
        }
    }

    fn has_nothing(&self) -> bool {
        self.events.recv_timeout(Duration::from_millis(300)).is_err()
    }
}

fn owner() -> Owner {
    Owner::new("caller:ada")
}

fn message(body: &[u8]) -> ReplicaMessage {
    let kind = ReplicaMessageKind::FromClient;
    ReplicaMessage { owner: owner(), session: "s1".into(), kind, body: body.to_vec() }
}

/// Waits until the replicas listen: a replica gets nothing that was sent before.
fn wait_until_listening(replicas: &[&Replica]) {
    for (number, replica) in replicas.iter().enumerate() {
        let sender = replicas[(number + 1) % replicas.len()];
        loop {
            sender.send(replica.name, &message(b"hello"));
            match replica.events.recv_timeout(Duration::from_millis(200)) {
                Ok(ReplicaEvent::Message(..)) => break,
                Ok(other) => panic!("{other:?}"),
                Err(_) => {}
            }
        }
    }
    for replica in replicas {
        while replica.events.recv_timeout(Duration::from_millis(300)).is_ok() {}
    }
}

#[test]
fn a_message_reaches_whom_it_is_for_once() {
    let Some(server) = servers::postgres() else { return };
    let options = server.new_store();
    let start = |name| Replica::start(&options, name);
    let (one, two, three) = (start("0a"), start("0b"), start("0c"));
    wait_until_listening(&[&one, &two, &three]);
    let sent = message(&b"x".repeat(100_000));
    let number = one.send("0b", &sent);
    assert_eq!(two.next(), ReplicaEvent::Message(number, sent));
    let all = ReplicaMessage { kind: ReplicaMessageKind::ForClient, ..message(b"for all") };
    let number = one.send("", &all);
    for replica in [&two, &three] {
        assert_eq!(replica.next(), ReplicaEvent::Message(number, all.clone()));
    }
    assert!(one.has_nothing() && two.has_nothing() && three.has_nothing(), "once, and not to oneself");
    let bob = Owner::new("caller:bob");
    assert!(!two.store.claim(&bob, number).unwrap(), "it is not his");
    let claims = [&two, &three, &one].map(|replica| replica.store.claim(&owner(), number).unwrap());
    assert_eq!(claims, [true, false, false], "one delivers it");
    // Whoever starts later gets nothing of it.
    one.send("", &all);
    let late = start("0d");
    assert!(late.has_nothing());
    // Another store of the same database has a channel of its own.
    let other = Replica::start(&server.new_store(), "0b");
    one.send("0b", &message(b"not there"));
    assert!(other.has_nothing());
    let Replica { events, listening, .. } = two;
    while events.recv_timeout(Duration::from_millis(300)).is_ok() {}
    drop(listening);
    std::thread::sleep(Duration::from_millis(100));
    one.send("0b", &message(b"nobody listens"));
    assert!(events.recv_timeout(Duration::from_millis(300)).is_err());
}

#[test]
fn what_was_missed_is_read_when_the_connection_is_there_again() {
    let Some(server) = servers::postgres() else { return };
    let options = server.new_store();
    let (one, two) = (Replica::start(&options, "0a"), Replica::start(&options, "0b"));
    wait_until_listening(&[&one, &two]);
    let schema = &options.schema;
    let cut = || {
        // The channel is named after a digest of the schema.
        let digest = &blake3::hash(schema.as_bytes()).to_hex()[..16];
        server.sql(&format!(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query LIKE '%LISTEN \"tidegate_{digest}\"%' AND pid <> pg_backend_pid()"
        ))
    };
    for round in 0..5_u8 {
        assert_eq!(cut().trim(), "2", "one connection for each replica");
        // Some are sent before the connection is there again.
        let bodies: Vec<Vec<u8>> = (0..3).map(|number| vec![b'r', round, number]).collect();
        for (number, body) in bodies.iter().enumerate() {
            one.send(if number == 1 { "" } else { "0b" }, &message(body));
        }
        let received: Vec<Vec<u8>> = bodies.iter().map(|_| two.next_body()).collect();
        assert_eq!(received, bodies, "round {round}");
        let mut notes = Vec::new();
        while let Ok(event) = two.events.recv_timeout(Duration::from_millis(500)) {
            notes.push(event);
        }
        assert!(!notes.iter().any(|event| matches!(event, ReplicaEvent::Message(..))), "once: {notes:?}");
        while one.events.recv_timeout(Duration::from_millis(50)).is_ok() {}
    }
    // The log says that it was lost, and that it is there again.
    cut();
    let mut told = Vec::new();
    while !told.contains(&ReplicaEvent::Reconnected) {
        told.push(two.next());
    }
    let told = format!("{told:?}");
    assert!(told.contains("do not arrive") && told.contains("arrive again"), "{told}");
}

#[test]
fn every_replica_knows_which_sessions_have_ended() {
    let Some(server) = servers::postgres() else { return };
    let options = server.new_store();
    let (one, two) = (Replica::start(&options, "0a"), Replica::start(&options, "0b"));
    wait_until_listening(&[&one, &two]);
    one.store.end_session(&owner(), "s1", MONTH).unwrap();
    assert_eq!(two.next(), ReplicaEvent::SessionEnded("s1".into()));
    one.store.end_session(&owner(), "s1", MONTH).unwrap();
    let late = Replica::start(&options, "0c");
    let asked = ["s1".to_owned(), "s2".to_owned()];
    assert_eq!(late.store.ended_sessions(&asked).unwrap(), ["s1"]);
    assert_eq!(late.store.ended_sessions(&asked[1..]).unwrap(), Vec::<String>::new());
}

#[test]
fn messages_belong_to_their_caller_are_bounded_and_expire() {
    let Some(server) = servers::postgres() else { return };
    let options = PostgresOptions { keys: StoreKeys::of(StoreKey::random()), ..server.new_store() };
    let clock = Arc::new(ManualClock::default());
    let store = PostgresStore::connect(&options, Quotas::default(), Arc::clone(&clock) as Arc<_>).unwrap();
    store.send("0a", "0b", &message(b"my secret answer")).unwrap();
    store.end_session(&owner(), "s1", MONTH).unwrap();
    let schema = &options.schema;
    let rows = |setting: &str| {
        server
            .sql_as_role(&format!(
                "SET search_path TO {schema}; SELECT set_config('tidegate.owner', '{setting}', false);
                 SELECT count(*) FROM replica_message; SELECT count(*) FROM ended_session"
            ))
            .unwrap()
    };
    assert!(rows("caller:ada").ends_with("1\n1"), "{}", rows("caller:ada"));
    assert!(rows("caller:bob").ends_with("0\n0"), "{}", rows("caller:bob"));
    let stored = server.sql(&format!("SELECT encode(body, 'escape') FROM {schema}.replica_message"));
    assert!(!stored.contains("secret"), "it is sealed: {stored}");
    let forged = server.sql_as_role(&format!(
        "SET search_path TO {schema}; SELECT set_config('tidegate.owner', 'caller:bob', false);
         INSERT INTO replica_message (token, owner, session, sender, replica, for_client, body, expires)
         VALUES (1, 'caller:ada', 's1', '0a', '', false, '', 0)"
    ));
    assert!(forged.is_err_and(|error| error.contains("row-level security")));
    let others = MAX_WAITING_REPLICA_MESSAGES - 1;
    let filled = server.sql_as_role(&format!(
        "SET search_path TO {schema}; SELECT set_config('tidegate.owner', 'caller:ada', false);
         INSERT INTO replica_message (token, owner, session, sender, replica, for_client, body, expires)
         SELECT n, 'caller:ada', 's1', '0a', '', false, '', (SELECT max(expires) FROM replica_message)
         FROM generate_series(1, {others}) AS n"
    ));
    filled.unwrap();
    let refused = store.send("0a", "0b", &message(b"one too many")).unwrap_err();
    assert!(std::error::Error::source(&refused).unwrap().to_string().contains("too many messages"));
    clock.advance(REPLICA_MESSAGE_TIME);
    store.sweep().unwrap();
    assert!(rows("caller:ada").ends_with("0\n1"), "{}", rows("caller:ada"));
    clock.advance(MONTH);
    store.sweep().unwrap();
    assert!(rows("caller:ada").ends_with("0\n0"), "{}", rows("caller:ada"));
}
