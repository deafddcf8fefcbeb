//! Serving over HTTP: the hook that authenticates, and rmcp's usual factory.

use std::sync::Arc;

use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Value, json};
use tidegate_sdk::{CallerId, HttpOptions, ServeError, StoreLocation, Tidegate, serve_http};
use tokio::net::TcpListener;

use crate::callers::seat::{Seat, listen_with};
use crate::shop::Shop;

fn wrapped() -> Tidegate<Shop> {
    Tidegate::wrap(Shop::new()).store_in(StoreLocation::Memory).quiet()
}

/// Only callers that the hook knows are answered, and each reads its own results alone.
#[tokio::test(flavor = "multi_thread")]
async fn the_hook_says_who_calls() {
    let known = |name: &str| CallerId::new(name).filter(|_| ["ada", "bob"].contains(&name));
    let who = move |request: &http::request::Parts| known(request.headers.get("x-caller")?.to_str().ok()?);
    let port = listen_with(|options| options.authenticate(who), wrapped()).await;
    for stranger in [None, Some("eve")] {
        let (head, body) = Seat::stateless(port, stranger).post("tools/list", json!({})).await;
        assert!(
            head.starts_with("HTTP/1.1 401") && head.to_lowercase().contains("www-authenticate: bearer"),
            "{head}"
        );
        assert!(body.contains("only callers that it knows"), "{body}");
    }
    let mut ada = Seat::session(port, Some("ada")).await;
    let overview = ada.text("plain", json!({})).await;
    let id = overview.split('"').nth(1).unwrap();
    let page = json!({"id": id, "page": 1});
    let again = Seat::stateless(port, Some("ada")).call("result_query", page.clone()).await;
    assert_ne!(again["result"]["isError"], true, "{again}");
    let other = Seat::stateless(port, Some("bob")).call("result_query", page).await;
    assert_eq!(other["result"]["isError"], true, "{other}");
}

#[tokio::test]
async fn an_address_for_everybody_needs_the_hook() {
    let address = "0.0.0.0:0".parse().unwrap();
    let refused = serve_http(HttpOptions::at(address), wrapped()).await.unwrap_err();
    assert!(matches!(refused, ServeError::NotLoopback(_)), "{refused}");
    let listener = std::net::TcpListener::bind(address).unwrap();
    let refused = serve_http(HttpOptions::on(listener), wrapped()).await.unwrap_err();
    assert!(matches!(refused, ServeError::NotLoopback(_)), "{refused}");
}

/// Regression: with a server that is made anew for each request, every handle and token was dead on the
/// next one.
#[tokio::test(flavor = "multi_thread")]
async fn the_usual_factory_keeps_handles_alive() {
    let service = StreamableHttpService::new(
        || Ok(wrapped()),
        Arc::new(LocalSessionManager::default()),
        StreamableHttpServerConfig::default(),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        loop {
            let (connection, _) = listener.accept().await.unwrap();
            let service = TowerToHyperService::new(service.clone());
            let served = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(connection), service);
            tokio::spawn(async move {
                let _ = served.await;
            });
        }
    });
    let mut seat = Seat::stateless(port, None);
    let overview = seat.text("plain", json!({})).await;
    let id = overview.split('"').nth(1).unwrap();
    let page = seat.text("result_query", json!({"id": id, "page": 1})).await;
    assert!(page.contains("Widget 1"), "{page}");
    let probe: Value = serde_json::from_str(&seat.text("inventory.list_all", json!({})).await).unwrap();
    let arguments =
        json!({"continuation_token": probe["continuation_token"], "mode": "paginated", "page": 1});
    let fetched: Value = serde_json::from_str(&seat.text("inventory.list_all", arguments).await).unwrap();
    assert!(fetched["items"].as_array().is_some_and(|items| !items.is_empty()), "{fetched}");
}
