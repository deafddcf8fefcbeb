//! A server on stdio behind HTTP clients: which requests reach it, what error the others get, and when it is stopped.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http_body_util::BodyExt;
use rustix::process::{Pid, test_kill_process};
use tokio::io::{AsyncReadExt, AsyncWrite};
use tokio::sync::mpsc;

use super::{CALL, GUARD, MODERN_CALL, MODERN_HEADERS, link, post, run};
use crate::http::HttpToStdio;
use crate::http::session::Session;
use crate::http::shared_server::{SharedServer, deliveries};
use crate::link::Link;
use crate::message::ParsedLine;

fn start(input: impl AsyncWrite + Send + Unpin + 'static) -> Arc<SharedServer> {
    SharedServer::new(input, None, mpsc::unbounded_channel().0, Arc::new(|_: &str| {}))
}

/// Sends a message; returns the first answer to it within a second.
async fn answer(server: &SharedServer, message: &str) -> Option<String> {
    let link = Arc::new(link());
    let (forward, _) = link.parsed_from_client(ParsedLine::parse(message.as_bytes().to_vec()));
    let (sender, mut receiver) = deliveries();
    server.send(&link, forward, &sender);
    let delivery = tokio::time::timeout(Duration::from_secs(1), receiver.recv()).await.ok()??;
    Some(String::from_utf8(delivery.message.into_bytes().unwrap()).unwrap())
}

#[test]
fn a_request_that_was_not_sent_cannot_have_run() {
    run(async {
        let (input, other_end) = tokio::io::duplex(64);
        drop(other_end);
        let server = start(input);
        let first = answer(&server, CALL).await.unwrap();
        assert!(first.contains(
            "the server closed its input before it answered the call of list; the tool may have run"
        ));
        let second = answer(&server, CALL).await.unwrap();
        assert!(second.contains("the server has ended, so the call of list was not sent"), "{second}");
        // This server does not read.
        let (input, _other_end) = tokio::io::duplex(64);
        let server = start(input);
        let large = CALL.replace("list", &"x".repeat(9 << 20));
        assert_eq!(answer(&server, &large).await, None);
        let refused = answer(&server, CALL).await.unwrap();
        assert!(
            refused.contains("the server does not read its input, so the call of list was not sent"),
            "{refused}"
        );
        assert!(!refused.contains("may have run"), "{refused}");
    });
}

#[test]
fn nothing_is_written_for_a_message_that_was_dropped() {
    run(async {
        let (input, mut other_end) = tokio::io::duplex(1024);
        let server = start(input);
        assert!(server.send(&Arc::new(link()), None, &deliveries().0).is_empty());
        answer(&server, CALL).await;
        assert_eq!(other_end.read_u8().await.unwrap(), b'{', "no blank line comes first");
    });
}

/// Many clients never listen for messages that belong to no request.
#[test]
fn a_question_that_reaches_no_client_stops_no_clock() {
    run(async {
        let link: Arc<Link> = Arc::new(crate::tests::link(Some(Duration::from_millis(300))));
        let session = Arc::new(Session::new("s".into(), Arc::clone(&link), start(tokio::io::sink())));
        let (unrouted, messages) = mpsc::unbounded_channel();
        let question = br#"{"jsonrpc":"2.0","id":"q","method":"roots/list"}"#;
        assert!(unrouted.send(ParsedLine::parse(question.to_vec()).into()).is_ok());
        drop(unrouted);
        session.forward_unrouted(messages, Arc::new(|_: &str| {})).await;
        let exchange = link.exchange();
        exchange.parsed_from_client(ParsedLine::parse(CALL.as_bytes().to_vec()));
        let overdue = tokio::time::timeout(Duration::from_secs(20), exchange.wait_for_overdue()).await;
        assert_eq!(overdue.expect("the call has a deadline").len(), 1);
    });
}

/// A server that closes only its input is replaced; it must not keep running.
#[test]
fn a_server_that_takes_no_more_requests_is_ended() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let does = format!("echo $$ > '{}'; ok; exec 0<&-; exec sleep 40", file.display());
    let make = crate::tests::link(Some(Duration::from_secs(20)));
    let command = super::hostile::command(&does);
    run(async {
        let front = Arc::new(HttpToStdio::new(GUARD.clone(), command, move || make.fresh(), |_| {}));
        let call = || async {
            let response = Arc::clone(&front).answer(post(&MODERN_HEADERS), MODERN_CALL.into()).await;
            String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
        };
        assert!(call().await.contains("result"));
        let pid = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        let until = Instant::now() + Duration::from_secs(120);
        // The server may not have closed its input yet.
        while !call().await.contains("closed its input") {
            assert!(Instant::now() < until, "it still reads");
        }
        while test_kill_process(Pid::from_raw(pid).unwrap()).is_ok() {
            assert!(Instant::now() < until, "it is still there");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        front.end().await;
    });
}
