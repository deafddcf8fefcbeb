//! Requests on their way: limits, a server that fails, numbers and the audit log.

use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tidegate_access::govern::{Audit, Governance, Metrics, QueueSettings};
use tidegate_gate::CallerId;
use tidegate_gate::tier::Tier;
use tidegate_gateway::caller::Principal;
use tidegate_gateway::calls::{Admitted, End, Govern, Request};
use tidegate_gateway::limits::Limits;
use tidegate_store::{Call, Clock, MemoryTotals, Millis, Owner};
use tidegate_testkit::clock::ManualClock;

/// What was written.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Written {
    /// Returns the lines, once there are as many as expected.
    fn lines(&self, expected: usize) -> Vec<Value> {
        for _ in 0..500 {
            let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
            if text.lines().count() >= expected {
                return text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{expected} lines are not there")
    }
}

fn governance(settings: QueueSettings) -> (Governance, Written, Arc<ManualClock>) {
    let (written, clock) = (Written::default(), Arc::new(ManualClock::default()));
    let owner_of = Box::new(|id: &CallerId| Owner::of_parts("caller", &[id.as_str()]));
    let governance = Governance::new(
        settings,
        Arc::new(MemoryTotals::default()),
        Metrics::default(),
        Some(Audit::to(written.clone())),
        Arc::clone(&clock) as Arc<dyn Clock>,
        owner_of,
    );
    (governance, written, clock)
}

fn principal(name: &str, limits: Limits) -> Principal {
    let groups = BTreeSet::from(["staff".to_owned()]);
    Principal::verified(CallerId::new(name).unwrap(), Tier::Admin, groups, |_| true).limited(limits)
}

fn call_of<'r>(principal: &'r Principal, server: &'r str) -> Request<'r> {
    Request { principal, session: "", method: "tools/call", server, tool: "list_issues" }
}

async fn run(governance: &Governance, principal: &Principal, server: &str, end: End) -> Result<(), u16> {
    let admitted: Result<Box<dyn Admitted>, _> = governance.admit(call_of(principal, server)).await;
    let admitted = admitted.map_err(|challenge| {
        assert!(challenge.retry_after.is_some() && challenge.message.contains("nothing was run"));
        challenge.status.as_u16()
    })?;
    admitted.end(end);
    Ok(())
}

fn result(owner: &str) -> Call {
    Call {
        at: Millis(1_794_700_000_000),
        client: "claude-code".into(),
        server: "github".into(),
        tool: "list_issues".into(),
        step: "overview".into(),
        raw_bytes: 500_000,
        raw_tokens: 120_000,
        sent_bytes: 3000,
        sent_tokens: 900,
        added_micros: 5,
        artifact: Some("3f9c2kq7m0xw".into()),
        session: None,
        view: None,
        stored_bytes: 60_000,
        counted: None,
        budget_tokens: 1000,
        owner: Some(Owner::of_parts("caller", &[owner]).as_str().to_owned()),
    }
}

#[tokio::test]
async fn each_caller_has_limits_of_its_own() {
    let (governance, _, clock) = governance(QueueSettings::default());
    let daily = Limits { requests_per_day: Some(3), ..Limits::default() };
    let (ada, bob) = (principal("key:ada", daily), principal("key:bob", daily));
    for _ in 0..3 {
        assert_eq!(run(&governance, &ada, "github", End::Answered).await, Ok(()));
    }
    assert_eq!(run(&governance, &ada, "github", End::Answered).await, Err(429));
    assert_eq!(run(&governance, &bob, "github", End::Answered).await, Ok(()));
    clock.advance(Duration::from_secs(86_400));
    assert_eq!(run(&governance, &ada, "github", End::Answered).await, Ok(()), "a new day");
    let tokens = principal("key:eve", Limits { tokens_per_day: Some(1000), ..Limits::default() });
    assert_eq!(run(&governance, &tokens, "github", End::Answered).await, Ok(()));
    governance.record(&result("key:eve"));
    assert_eq!(run(&governance, &tokens, "github", End::Answered).await, Ok(()), "below the limit");
    governance.record(&result("key:eve"));
    assert_eq!(run(&governance, &tokens, "github", End::Answered).await, Err(429));
    let rate = principal("key:fay", Limits { requests_per_minute: Some(2), ..Limits::default() });
    let mut ended = Vec::new();
    for _ in 0..3 {
        ended.push(run(&governance, &rate, "github", End::Answered).await);
    }
    assert_eq!(ended, [Ok(()), Ok(()), Err(429)]);
}

#[tokio::test]
async fn a_server_that_fails_gets_no_requests_for_a_while() {
    let (governance, _, _) = governance(QueueSettings::default());
    let ada = principal("key:ada", Limits::default());
    for _ in 0..20 {
        assert_eq!(run(&governance, &ada, "github", End::Failed(-32000)).await, Ok(()), "it answered");
    }
    for _ in 0..5 {
        assert_eq!(run(&governance, &ada, "github", End::Unreachable).await, Ok(()));
    }
    assert_eq!(run(&governance, &ada, "github", End::Answered).await, Err(503));
    assert_eq!(run(&governance, &ada, "jira", End::Answered).await, Ok(()), "another server");
    let text = governance.metrics().text();
    assert!(text.contains("tidegate_upstream_circuit_open{server=\"github\"} 1"), "{text}");
    assert!(text.contains("tidegate_refused_total{reason=\"circuit_open\"} 1"), "{text}");
}

#[tokio::test]
async fn places_are_given_back_however_a_request_ends() {
    let settings = QueueSettings { max_in_flight: 1, max_waiting: 4, queue_time: Duration::from_millis(50) };
    let (governance, _, _) = governance(settings);
    let ada = principal("key:ada", Limits::default());
    let held = governance.admit(call_of(&ada, "github")).await.map_err(drop).unwrap();
    assert_eq!(run(&governance, &ada, "github", End::Answered).await, Err(503), "it waited too long");
    drop(held);
    assert_eq!(run(&governance, &ada, "github", End::Answered).await, Ok(()));
    let text = governance.metrics().text();
    assert!(text.contains("outcome=\"abandoned\"} 1"), "{text}");
    assert!(text.contains("tidegate_requests_in_flight{server=\"github\"} 0"), "{text}");
}

/// A caller whose calls never end, at a server that is slow for all, delays nobody else.
#[tokio::test]
async fn a_greedy_caller_and_a_slow_server_delay_nobody_else() {
    let settings = QueueSettings { max_in_flight: 8, max_waiting: 4, queue_time: Duration::ZERO };
    let (governance, _, _) = governance(settings);
    let (ada, bob) = (principal("key:ada", Limits::default()), principal("key:bob", Limits::default()));
    let mut held = Vec::new();
    while let Ok(admitted) = governance.admit(call_of(&ada, "slow")).await {
        held.push(admitted);
    }
    assert_eq!(held.len(), 4, "half of the places");
    assert_eq!(run(&governance, &bob, "slow", End::Answered).await, Ok(()));
    assert_eq!(run(&governance, &ada, "other", End::Answered).await, Ok(()), "another server");
}

#[tokio::test]
async fn a_trial_whose_client_is_gone_while_it_waits_blocks_nobody() {
    let settings = QueueSettings { max_in_flight: 2, ..QueueSettings::default() };
    let (governance, _, _) = governance(settings);
    let (ada, bob) = (principal("key:ada", Limits::default()), principal("key:bob", Limits::default()));
    let _held = governance.admit(call_of(&bob, "github")).await.map_err(drop).unwrap();
    for _ in 0..5 {
        assert_eq!(run(&governance, &ada, "github", End::Unreachable).await, Ok(()));
    }
    assert_eq!(run(&governance, &ada, "github", End::Answered).await, Err(503));
    tokio::time::sleep(Duration::from_millis(2100)).await;
    // Half of the places is one, which this caller has, so its next request waits.
    let waiting = governance.admit(call_of(&bob, "github"));
    assert!(tokio::time::timeout(Duration::from_millis(20), waiting).await.is_err());
    assert_eq!(run(&governance, &ada, "github", End::Answered).await, Ok(()), "this one is the trial");
}

#[tokio::test]
async fn sessions_without_authentication_are_not_counted() {
    let (governance, _, _) = governance(QueueSettings::default());
    let nobody = Principal::unauthenticated();
    let request = Request { session: "s1", ..call_of(&nobody, "github") };
    governance.admit(request).await.map_err(drop).unwrap().end(End::Answered);
    assert_eq!(governance.consumed("s1").requests, 0);
    assert_eq!(
        run(&governance, &principal("key:ada", Limits::default()), "github", End::Answered).await,
        Ok(())
    );
    assert_eq!(governance.consumed("key:ada").requests, 1);
}

#[tokio::test]
async fn the_audit_log_says_who_did_what() {
    let (governance, written, _) = governance(QueueSettings::default());
    let ada = principal("key:ada", Limits { requests_per_day: Some(1), ..Limits::default() });
    run(&governance, &ada, "github", End::Answered).await.unwrap();
    governance.record(&result("key:ada"));
    run(&governance, &ada, "github", End::Answered).await.unwrap_err();
    let lines = written.lines(3);
    let of = |line: usize, names: &[&str]| -> Vec<String> {
        names.iter().map(|name| lines[line][name].to_string().replace('"', "")).collect()
    };
    let names = ["event", "caller", "server", "tool", "decision", "outcome"];
    assert_eq!(of(0, &names), ["request", "key:ada", "github", "list_issues", "allowed", "answered"]);
    let sizes = ["event", "caller", "step", "artifact", "raw_tokens", "sent_tokens"];
    assert_eq!(of(1, &sizes), ["result", "key:ada", "overview", "3f9c2kq7m0xw", "120000", "900"]);
    assert_eq!(of(2, &names), ["request", "key:ada", "github", "list_issues", "daily_limit", "null"]);
    assert_eq!(lines[0]["groups"], serde_json::json!(["staff"]));
}
