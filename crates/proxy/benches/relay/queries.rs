//! What slow queries cost the calls beside them: p50 of calls while queries run that take all the time they may, one after
//! another, against calls without them.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use crate::paths::Programs;

/// A query that runs until its time is over.
const SLOW_QUERY: &str = "with recursive r(n) as (select 1 union all select n + 1 from r) select max(n || hex(zeroblob(500))) from r";
/// Sizes of results, and calls of each that are measured.
const SIZES: [(&str, usize, usize); 2] = [("1 KB", 1 << 10, 400), ("1 MB", 1 << 20, 40)];
/// The id of the slow queries; calls have larger ones.
const QUERY_ID: u64 = 5;

/// Prints the median of calls without and with slow queries beside them.
pub(crate) fn table(programs: &Programs) {
    eprintln!("stdio: calls beside slow queries");
    let mut session = Session::start(programs);
    let handle = session.kept();
    println!(
        "\n| calls beside slow queries, p50 | without | with | ratio | at most |\n|---|---:|---:|---:|---:|"
    );
    let alone = SIZES.map(|(_, bytes, calls)| session.median(bytes, calls));
    session.slow_query = Some(format!(
        r#"{{"jsonrpc":"2.0","id":{QUERY_ID},"method":"tools/call","params":{{"name":"result_query","arguments":{{"id":"{handle}","sql":"{SLOW_QUERY}"}}}}}}"#
    ));
    session.send_query();
    for ((name, bytes, calls), alone) in SIZES.into_iter().zip(alone) {
        let beside = session.median(bytes, calls);
        let ratio = beside.as_secs_f64() / alone.as_secs_f64();
        println!("| {name} | {alone:.2?} | {beside:.2?} | {ratio:.2}x | 3x |");
    }
    println!("{} slow queries were answered meanwhile", session.answered);
}

/// A client of `tidegate run` that may have a query in flight beside its calls.
struct Session {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
    slow_query: Option<String>,
    answered: u64,
}

impl Session {
    fn start(programs: &Programs) -> Self {
        let mut child = programs.run_command().stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut session = Self { child, input, output, id: 10, slow_query: None, answered: 0 };
        session.send(
            r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#,
        );
        session.receive(1);
        session.send(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
        session.send(r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#);
        session.receive(2);
        session
    }

    fn send(&mut self, line: &str) {
        self.input.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    fn send_query(&mut self) {
        if let Some(query) = self.slow_query.clone() {
            self.send(&query);
        }
    }

    /// Reads on to the answer to a request; a query that was answered meanwhile is sent again.
    fn receive(&mut self, id: u64) -> String {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "tidegate has ended");
            if line.contains(&format!("\"id\":{id},")) || line.contains(&format!("\"id\":{id}}}")) {
                return line;
            }
            if line.contains(&format!("\"id\":{QUERY_ID},")) {
                self.answered += 1;
                self.send_query();
            }
        }
    }

    fn call(&mut self, bytes: usize) -> String {
        self.id += 1;
        let id = self.id;
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"rows","arguments":{{"bytes":{bytes}}}}}}}"#
        ));
        self.receive(id)
    }

    /// Calls for a result that is kept, and returns its name.
    fn kept(&mut self) -> String {
        let answer = self.call(100 << 10);
        let start = answer.find("rows-").expect("the answer names what was kept");
        answer[start..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect()
    }

    fn median(&mut self, bytes: usize, calls: usize) -> Duration {
        (0..calls / 10).for_each(|_| drop(self.call(bytes)));
        let mut times: Vec<Duration> = (0..calls)
            .map(|_| {
                let started = Instant::now();
                self.call(bytes);
                started.elapsed()
            })
            .collect();
        times.sort_unstable();
        times[calls / 2]
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Errors mean that it has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
