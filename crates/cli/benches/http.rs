//! The cost of HTTP through tidegate: `cargo bench -p tidegate --bench http`.
//!
//! Measures a call of 1 KB over HTTP to a stdio server, and compares it with the unavoidable cost: the same call to a Rust
//! server that speaks HTTP (direct), plus one relay hop, which is `cat | server | cat` minus the server alone: the kernel
//! waking one more process. All variants run in turns, and the results are ratios of medians. Then measures the memory of
//! 1,000 idle sessions. This program is its own server.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a bench prints what it found")]

mod http_bench;

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command};
use std::time::Duration;

use http_bench::{
    Connection, answer, call_of_1_kb, first_line, median, port_of, resident, serve_http, spawn, timed,
};

const CALLS: usize = 3000;
const CALLS_PER_TURN: usize = 100;
const IDLE_SESSIONS: usize = 1000;

fn main() {
    match std::env::args().nth(1).as_deref() {
        Some("serve-http") => serve_http(),
        Some("serve-stdio") => serve_stdio(),
        _ => compare(),
    }
}

fn compare() {
    let this = std::env::current_exe().unwrap();
    let this = this.to_str().unwrap();
    let mut direct = spawn(&[this, "serve-http"], false);
    let direct_port: u16 = first_line(direct.stdout.take().unwrap()).trim().parse().unwrap();
    let tidegate = env!("CARGO_BIN_EXE_tidegate");
    let mut bridge =
        spawn(&[tidegate, "run", "--ephemeral", "--http", "127.0.0.1:0", "--", this, "serve-stdio"], true);
    let bridge_port = port_of(&mut bridge);
    let url = format!("http://127.0.0.1:{direct_port}/mcp");
    let mut reverse = spawn(&[tidegate, "run", "--ephemeral", "--http", "127.0.0.1:0", "--url", &url], true);
    let reverse_port = port_of(&mut reverse);
    let mut alone = Pipe::to(spawn(&[this, "serve-stdio"], false));
    let mut relayed = Pipe::to(spawn(&["sh", "-c", &format!("cat | '{this}' serve-stdio | cat")], false));

    let (mut to_direct, mut to_bridge, mut to_reverse) =
        (Connection::to(direct_port), Connection::to(bridge_port), Connection::to(reverse_port));
    let mut times: [Vec<Duration>; 5] = Default::default();
    for call in 0..CALLS * times.len() {
        // Each variant gets several calls in a row, as a client makes them: the first call after a pause wakes a process.
        let turn = call / CALLS_PER_TURN % times.len();
        let body = call_of_1_kb(call);
        let time = match turn {
            0 => timed(|| to_direct.post(&body)),
            1 => timed(|| alone.call(&body)),
            2 => timed(|| relayed.call(&body)),
            3 => timed(|| to_bridge.post(&body)),
            _ => timed(|| to_reverse.post(&body)),
        };
        times[turn].push(time);
    }
    let [direct_time, alone_time, relayed_time, bridged, reversed] = times.map(median);
    let hop = relayed_time.saturating_sub(alone_time);
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    println!("a call of 1 KB, median of {CALLS}:");
    println!("  direct HTTP            {:8.1} us", micros(direct_time));
    println!("  direct stdio           {:8.1} us", micros(alone_time));
    println!("  cat | server | cat     {:8.1} us: a hop is {:.1} us", micros(relayed_time), micros(hop));
    println!(
        "  HTTP to stdio          {:8.1} us, {:.2}x direct and a hop",
        micros(bridged),
        micros(bridged) / micros(direct_time + hop)
    );
    println!(
        "  HTTP to HTTP           {:8.1} us, {:.2}x twice direct",
        micros(reversed),
        micros(reversed) / (2.0 * micros(direct_time))
    );

    let before = resident(&reverse);
    let idle: Vec<Connection> = (0..IDLE_SESSIONS)
        .map(|number| {
            let mut connection = Connection::to(reverse_port);
            connection.post(&format!(
                r#"{{"jsonrpc":"2.0","id":{number},"method":"initialize","params":{{"protocolVersion":"2025-11-25","capabilities":{{}},"clientInfo":{{"name":"bench","version":"1"}}}}}}"#
            ));
            connection
        })
        .collect();
    println!("{} idle sessions: {} MB, before them {before} MB", idle.len(), resident(&reverse));
    for mut child in [direct, bridge, reverse, alone.child, relayed.child] {
        let _ = Command::new("kill").arg(child.id().to_string()).status();
        let _ = child.wait();
    }
}

/// A stdio server.
struct Pipe {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
}

impl Pipe {
    fn to(mut child: Child) -> Self {
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    fn call(&mut self, body: &str) -> usize {
        let line = format!("{body}\n");
        self.child.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
        self.output.read_until(b'\n', &mut Vec::new()).unwrap()
    }
}

fn serve_stdio() {
    let mut stdout = std::io::stdout().lock();
    let mut stdin = std::io::stdin().lock();
    let mut line = Vec::new();
    while stdin.read_until(b'\n', &mut line).unwrap_or(0) > 0 {
        let reply = format!("{}\n", answer(&line));
        stdout.write_all(reply.as_bytes()).unwrap();
        stdout.flush().unwrap();
        line.clear();
    }
}
