//! The cost of the gateway: `cargo bench -p tidegate --features gateway --bench gateway`.
//!
//! Measures a call of 1 KB through `tidegate gateway` (HTTP to HTTP, a JSON Web Token verified for each request, the ledger in
//! PostgreSQL) and through `tidegate run --http --url` (with its usual ledger), in turns on one server, and prints the ratio of
//! medians: at most 1.5. It needs PostgreSQL, as the tests do.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints what it found")]

mod http_bench;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use http_bench::{Connection, call_of_1_kb, first_line, median, port_of, resident, serve_http, spawn, timed};
use tidegate_testkit::servers;

const CALLS: usize = 3000;
const CALLS_PER_TURN: usize = 100;

/// The public key of the issuer, and a token of it that is valid until 2100. Its private key was thrown away.
const KEYS: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","alg":"EdDSA","use":"sig","kid":"bench","x":"4wMs1G-gnms_CRe6jwV0OfYRTxJ5shRHmxwbyJ-TwQY"}]}"#;
const TOKEN: &str = "eyJhbGciOiJFZERTQSIsInR5cCI6ImF0K2p3dCIsImtpZCI6ImJlbmNoIn0.eyJpc3MiOiJodHRwczovL2xvZ2luLmV4YW1wbGUiLCJzdWIiOiJhZGEiLCJhdWQiOiJodHRwczovL2dhdGV3YXkuZXhhbXBsZS9tY3AiLCJpYXQiOjE3NjAwMDAwMDAsImV4cCI6NDEwMjQ0NDgwMH0.6FmbKzs3LeHQXe-iQgY9EQUaGDtJXp90z9r-ds6YtAgrqsYlYLh1qu0njdrhkLHeTjTc3Nn-tNfRF2mUF1G0Bg";

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("serve-http") => serve_http(),
        _ => compare(),
    }
}

fn compare() {
    let Some(database) = servers::postgres() else { return };
    let this = std::env::current_exe().unwrap();
    let mut direct = spawn(&[this.to_str().unwrap(), "serve-http"], false);
    let direct_port: u16 = first_line(direct.stdout.take().unwrap()).trim().parse().unwrap();
    let url = format!("http://127.0.0.1:{direct_port}/mcp");
    let home = std::env::temp_dir().join(format!("tidegate-bench-{}", std::process::id()));
    std::fs::create_dir_all(&home).unwrap();
    let tidegate = env!("CARGO_BIN_EXE_tidegate");
    let home_of = format!("TIDEGATE_HOME={}", home.display());
    let with_home = ["env", &home_of, tidegate];
    let config = configuration(&home, &url, &serve_keys(), database.address());
    let mut run = spawn(&[&with_home[..], &["run", "--http", "127.0.0.1:0", "--url", &url]].concat(), true);
    let mut gateway =
        spawn(&[&with_home[..], &["gateway", "--http", "127.0.0.1:0", "--config", &config]].concat(), true);
    let (run_port, gateway_port) = (port_of(&mut run), port_of(&mut gateway));
    let mut to_direct = Connection::to(direct_port);
    let mut to_run = Connection::to(run_port);
    let mut to_gateway =
        Connection::to(gateway_port).with_header("Authorization", &format!("Bearer {TOKEN}"));
    let answered = String::from_utf8(to_gateway.post(&call_of_1_kb(0))).unwrap();
    assert!(answered.contains("row 11"), "{answered}");
    let mut times: [Vec<Duration>; 3] = Default::default();
    for call in 0..CALLS * times.len() {
        let turn = call / CALLS_PER_TURN % times.len();
        let body = call_of_1_kb(call);
        let time = match turn {
            0 => timed(|| to_direct.post(&body)),
            1 => timed(|| to_run.post(&body)),
            _ => timed(|| to_gateway.post(&body)),
        };
        times[turn].push(time);
    }
    let [direct_time, run_time, gateway_time] = times.map(|times| median(times).as_secs_f64() * 1e6);
    println!("a call of 1 KB, median of {CALLS}:");
    println!("  direct HTTP                  {direct_time:8.1} us");
    println!("  tidegate run --http --url    {run_time:8.1} us");
    println!(
        "  tidegate gateway             {gateway_time:8.1} us, {:.2}x tidegate run (at most 1.5)",
        gateway_time / run_time
    );
    println!("memory: tidegate run {} MB, tidegate gateway {} MB", resident(&run), resident(&gateway));
    for mut child in [direct, run, gateway] {
        let _ = Command::new("kill").arg(child.id().to_string()).status();
        let _ = child.wait();
    }
    let _ = std::fs::remove_dir_all(home);
}

/// Writes the configuration of the gateway and returns its path.
fn configuration(home: &Path, url: &str, keys: &str, database: &str) -> String {
    let key = home.join("seal.key");
    let made = Command::new(env!("CARGO_BIN_EXE_tidegate")).args(["store", "key", "-o"]).arg(&key).status();
    assert!(made.unwrap().success());
    let config = format!(
        "[gateway]\nresource = \"https://gateway.example/mcp\"\n\n[gateway.issuer.bench]\n\
         issuer = \"https://login.example\"\njwks_url = {keys:?}\n\n[upstream.one]\nurl = {url:?}\n\
         prefix = \"\"\n\n[store]\nurl = {database:?}\nsealing_key_file = {key:?}\n"
    );
    let file = home.join("gateway.toml");
    std::fs::write(&file, config).unwrap();
    file.to_str().unwrap().to_owned()
}

/// Serves the keys of the issuer, and returns their address.
fn serve_keys() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/keys", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 4096]);
            let head =
                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: ";
            let _ = stream.write_all(format!("{head}{}\r\n\r\n{KEYS}", KEYS.len()).as_bytes());
        }
    });
    address
}
