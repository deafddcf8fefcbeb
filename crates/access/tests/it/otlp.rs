//! Traces on their way to a collector in this process.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::service::service_fn;
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tidegate_access::govern::Metrics;
use tidegate_access::otlp::{MAX_WAITING, OtlpTraces};
use tidegate_gateway::trace::{Span, Trace, TraceContext};
use tidegate_proxy::http::{Remote, header_of};

/// A collector that keeps what it gets, and answers with a status.
struct Collector {
    address: SocketAddr,
    bodies: Arc<Mutex<Vec<Value>>>,
    headers: Arc<Mutex<Vec<HeaderMap>>>,
    status: Arc<AtomicU16>,
}

impl Collector {
    async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let collector = Self {
            address: listener.local_addr().unwrap(),
            bodies: Arc::default(),
            headers: Arc::default(),
            status: Arc::new(AtomicU16::new(200)),
        };
        let (bodies, headers) = (Arc::clone(&collector.bodies), Arc::clone(&collector.headers));
        let status = Arc::clone(&collector.status);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (bodies, headers) = (Arc::clone(&bodies), Arc::clone(&headers));
                let status = Arc::clone(&status);
                let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                    let (bodies, headers) = (Arc::clone(&bodies), Arc::clone(&headers));
                    let status = status.load(Ordering::SeqCst);
                    async move {
                        assert_eq!(request.uri().path(), "/v1/traces");
                        headers.lock().unwrap().push(request.headers().clone());
                        let body = request.into_body().collect().await.unwrap().to_bytes();
                        if status == 200 {
                            bodies.lock().unwrap().push(serde_json::from_slice(&body).unwrap());
                        }
                        let mut response = Response::new(Full::new(Bytes::from("{}")));
                        *response.status_mut() = status.try_into().unwrap();
                        Ok::<_, Infallible>(response)
                    }
                });
                let connection = hyper::server::conn::http1::Builder::new();
                tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
            }
        });
        collector
    }

    fn traces(&self, metrics: &Metrics) -> OtlpTraces {
        let mut headers = HeaderMap::new();
        let (name, value) = header_of("api-key", "s3cret").unwrap();
        headers.insert(name, value);
        let remote = Remote::new(&format!("http://{}/v1/traces", self.address), headers).unwrap();
        OtlpTraces::start(remote, "gateway-test".into(), metrics.spans(), Box::new(|_| {})).unwrap()
    }

    fn spans(&self) -> Vec<Value> {
        let bodies = self.bodies.lock().unwrap();
        let of =
            |body: &Value| body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap().clone();
        bodies.iter().flat_map(of).collect()
    }
}

fn span(number: u8, outcome: &'static str) -> Span {
    let began = SystemTime::UNIX_EPOCH + Duration::from_millis(1_700_000_000_000);
    Span {
        context: TraceContext::root([7; 16], [number; 8]),
        parent: (number > 1).then_some([9; 8]),
        method: "tools/call".into(),
        server: "github".into(),
        tool: "list_issues".into(),
        began,
        ended: began + Duration::from_micros(1500),
        request_bytes: 100,
        response_bytes: 2000,
        outcome,
        error_code: (outcome == "failed").then_some(-32602),
    }
}

async fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(30);
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn spans_reach_the_collector_as_the_protocol_writes_them() {
    let (collector, metrics) = (Collector::start().await, Metrics::default());
    let traces = collector.traces(&metrics);
    traces.record(span(1, "answered"));
    traces.record(span(2, "failed"));
    until("both arrive", || collector.spans().len() == 2).await;
    let spans = collector.spans();
    assert_eq!(
        spans[0],
        json!({
            "traceId": "07".repeat(16),
            "spanId": "01".repeat(8),
            "name": "tools/call list_issues",
            "kind": 2,
            "startTimeUnixNano": "1700000000000000000",
            "endTimeUnixNano": "1700000000001500000",
            "attributes": [
                {"key": "mcp.method.name", "value": {"stringValue": "tools/call"}},
                {"key": "tidegate.server", "value": {"stringValue": "github"}},
                {"key": "tidegate.outcome", "value": {"stringValue": "answered"}},
                {"key": "tidegate.request.bytes", "value": {"intValue": "100"}},
                {"key": "tidegate.response.bytes", "value": {"intValue": "2000"}},
                {"key": "gen_ai.tool.name", "value": {"stringValue": "list_issues"}},
            ],
            "status": {},
        })
    );
    assert_eq!(
        (&spans[1]["parentSpanId"], &spans[1]["status"]),
        (&json!("09".repeat(8)), &json!({"code": 2}))
    );
    assert!(spans[1].to_string().contains("-32602"), "{}", spans[1]);
    let resource = collector.bodies.lock().unwrap()[0]["resourceSpans"][0]["resource"].to_string();
    assert!(resource.contains("gateway-test"), "{resource}");
    let headers = collector.headers.lock().unwrap()[0].clone();
    assert_eq!(headers["content-type"], "application/json");
    assert_eq!(headers["api-key"], "s3cret");
    until("they are counted", || metrics.text().contains("tidegate_spans_total{outcome=\"sent\"} 2")).await;
}

/// A collector that is slow or gone holds up nothing: what does not fit is dropped, and counted.
#[tokio::test]
async fn what_cannot_be_sent_is_dropped_and_counted() {
    let (collector, metrics) = (Collector::start().await, Metrics::default());
    collector.status.store(503, Ordering::SeqCst);
    let traces = collector.traces(&metrics);
    let began = Instant::now();
    let count = MAX_WAITING * 2;
    for _ in 0..count {
        traces.record(span(1, "answered"));
    }
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    let dropped = || {
        let text = metrics.text();
        let line = text.lines().find(|line| line.starts_with("tidegate_spans_total{outcome=\"dropped\"}"));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<usize>().ok()).unwrap_or_default()
    };
    assert!(dropped() >= count - MAX_WAITING - 512, "{}", dropped());
    // The collector is back before the next attempt, so nothing else is lost.
    collector.status.store(200, Ordering::SeqCst);
    until("the others arrive", || collector.spans().len() + dropped() == count).await;
    assert!(collector.spans().len() >= MAX_WAITING, "{}", collector.spans().len());
    collector.status.store(400, Ordering::SeqCst);
    let before = dropped();
    traces.record(span(1, "answered"));
    until("what is refused is not sent again", || dropped() == before + 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_spans_are_sent_before_the_process_ends() {
    let (collector, metrics) = (Collector::start().await, Metrics::default());
    let traces = collector.traces(&metrics);
    for _ in 0..700 {
        traces.record(span(1, "answered"));
    }
    traces.finish();
    assert_eq!(collector.spans().len(), 700);
    let other = collector.traces(&metrics);
    other.record(span(2, "abandoned"));
    drop(other);
    until("so are those of a gateway that another one replaced", || collector.spans().len() == 701).await;
}
