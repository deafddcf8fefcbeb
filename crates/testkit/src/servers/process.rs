//! A server process that ends with the process that started it, however that ends.
//!
//! A shell runs the server and reads its own input, which ends when the starter does; then it ends the server and removes
//! its folder. So nothing is left behind even by a test that is killed.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long a server may take to start.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// Runs "$@" in the background until the input ends, sends it the signal $SIGNAL, and removes $FOLDER unless it has a file
/// `keep`.
const WATCH: &str = r#""$@" >"$LOG" 2>&1 </dev/null & server=$!
cat >/dev/null
kill "-$SIGNAL" "$server" 2>/dev/null; wait "$server"; [ -e "$FOLDER/keep" ] || rm -rf "$FOLDER""#;

/// A running server.
pub(super) struct ServerProcess(Child);

impl ServerProcess {
    /// Starts a server whose folder is removed when it has ended.
    pub(super) fn start(command: &[String], folder: &Path, signal: &str) -> Self {
        let child = Command::new("sh")
            .args(["-c", WATCH, "sh"])
            .args(command)
            .env("SIGNAL", signal)
            .env("LOG", folder.join("log"))
            .env("FOLDER", folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("a shell");
        Self(child)
    }

    /// Ends the server and waits until it has ended.
    pub(super) fn stop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("the shell ends");
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Returns ports that are free now.
pub(super) fn free_ports<const COUNT: usize>() -> [u16; COUNT] {
    let listeners = [(); COUNT].map(|()| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    listeners.map(|listener| listener.local_addr().expect("it is bound").port())
}

/// Waits until `is_ready` returns true.
pub(super) fn wait_until(folder: &Path, is_ready: impl Fn() -> bool) {
    let began = Instant::now();
    while !is_ready() {
        let log = || std::fs::read_to_string(folder.join("log")).unwrap_or_default();
        assert!(began.elapsed() < START_TIMEOUT, "the server did not start: {}", log());
        sleep(Duration::from_millis(50));
    }
}

/// Returns whether a port accepts connections.
pub(super) fn accepts(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}
