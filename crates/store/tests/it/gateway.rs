//! What replicas of a gateway share besides results: totals of a day, and sealed credentials.

use std::sync::Arc;

use tidegate_store::{
    Consumed, Credential, Credentials, DailyTotals, Millis, PostgresStore, Quotas, StoreKey, StoreKeys,
    SystemClock,
};
use tidegate_testkit::servers;

#[test]
fn totals_of_replicas_add_up() {
    let Some(server) = servers::postgres() else { return };
    let options = server.new_store();
    let connect = || PostgresStore::connect(&options, Quotas::default(), Arc::new(SystemClock)).unwrap();
    let replicas = [connect(), connect(), connect()];
    let one = Consumed { requests: 1, tokens: 20, stored_bytes: 300 };
    std::thread::scope(|scope| {
        for replica in &replicas {
            scope.spawn(move || {
                for round in 0..20 {
                    // In different orders, which must not lock each other out.
                    let mut callers = vec![("ada".to_owned(), one), ("bob".to_owned(), one)];
                    callers.rotate_left(round % 2);
                    replica.add("2026-11-18", &callers).unwrap();
                }
            });
        }
    });
    let nothing = Consumed::default();
    let total = Consumed { requests: 60, tokens: 1200, stored_bytes: 18_000 };
    let mut read =
        replicas[0].add("2026-11-18", &[("bob".into(), nothing), ("ada".into(), nothing)]).unwrap();
    read.sort_by(|(one, _), (two, _)| one.cmp(two));
    assert_eq!(read, [("ada".to_owned(), total), ("bob".to_owned(), total)]);
    let next_day = replicas[1].add("2026-11-19", &[("ada".into(), one)]).unwrap();
    assert_eq!(next_day, [("ada".to_owned(), one)]);
    // Old days are deleted when a new one begins.
    replicas[1].add("2027-02-01", &[("ada".into(), one)]).unwrap();
    assert_eq!(
        replicas[2].add("2026-11-18", &[("ada".into(), nothing)]).unwrap(),
        [("ada".to_owned(), nothing)]
    );
}

#[test]
fn credentials_are_sealed_in_the_database() {
    let Some(server) = servers::postgres() else { return };
    let keys = StoreKeys::of(StoreKey::random());
    let options = tidegate_store::PostgresOptions { keys: keys.clone(), ..server.new_store() };
    let connect = || PostgresStore::connect(&options, Quotas::default(), Arc::new(SystemClock)).unwrap();
    let (one, two) =
        (Credentials::new(Box::new(connect()), &keys), Credentials::new(Box::new(connect()), &keys));
    let (one, two) = (one.unwrap(), two.unwrap());
    let (first, second) = (Credential::new("first").unwrap(), Credential::new("second").unwrap());
    assert_eq!(two.get("key:ada", "github").unwrap(), None);
    one.set("key:ada", "github", &first, Millis(1)).unwrap();
    one.set("key:ada", "github", &second, Millis(2)).unwrap();
    assert_eq!(two.get("key:ada", "github").unwrap(), Some(second));
    assert_eq!(two.get("key:bob", "github").unwrap(), None);
    assert_eq!(two.list().unwrap()[0].changed, Millis(2));
    assert!(two.remove("key:ada", "github").unwrap());
    assert!(!two.remove("key:ada", "github").unwrap());
    assert_eq!(one.get("key:ada", "github").unwrap(), None);
}
