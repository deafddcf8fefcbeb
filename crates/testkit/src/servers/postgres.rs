//! PostgreSQL from the distribution's package, with a database and a role that owns it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use tidegate_store::{ArtifactId, PostgresOptions};

use super::process::{ServerProcess, accepts, free_ports, wait_until};

/// The role of the tests: no superuser, so that row level security applies to it.
const ROLE: &str = "tidegate";
/// The user that runs the server if the tests run as root, which PostgreSQL refuses.
const SYSTEM_USER: &str = "postgres";

/// A PostgreSQL server.
pub struct PostgresServer {
    address: String,
    /// `None` if somebody else started it.
    local: Option<LocalServer>,
}

struct LocalServer {
    process: Option<ServerProcess>,
    programs: PathBuf,
    folder: PathBuf,
    port: u16,
}

impl PostgresServer {
    /// Returns a server that runs already.
    pub(super) fn running(address: String) -> Self {
        Self { address, local: None }
    }

    /// Starts a server with an empty database; `None` if it is not installed.
    pub fn start() -> Option<Self> {
        let programs = programs()?;
        let folder = std::env::temp_dir().join(format!("tidegate-postgres-{}", ArtifactId::random()));
        std::fs::create_dir(&folder).expect("a folder");
        if is_root() {
            let mut chown = Command::new("chown");
            chown.arg(SYSTEM_USER).arg(&folder);
            run(chown);
        }
        let data = folder.join("data");
        let initdb = ["-D", path(&data), "-U", "postgres", "--auth=trust", "-N", "-E", "UTF8", "--locale=C"];
        run(as_user(&programs.join("initdb"), &initdb));
        let [port] = free_ports();
        let mut local = LocalServer { process: None, programs, folder, port };
        local.run();
        local.sql("postgres", &format!("CREATE ROLE {ROLE} LOGIN NOSUPERUSER NOBYPASSRLS"));
        local.sql("postgres", &format!("CREATE DATABASE {ROLE} OWNER {ROLE}"));
        let address = format!("postgres://{ROLE}@127.0.0.1:{port}/{ROLE}?sslmode=disable");
        Some(Self { address, local: Some(local) })
    }

    /// Returns the address of the database, for the role that owns it.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the address for the superuser.
    pub fn superuser_address(&self) -> String {
        self.address.replacen(&format!("//{ROLE}@"), "//postgres@", 1)
    }

    /// Returns the port of the server.
    pub fn port(&self) -> u16 {
        let after_host = self.address.split("127.0.0.1:").nth(1).expect("an address with a port");
        after_host.split('/').next().and_then(|port| port.parse().ok()).expect("a port")
    }

    /// Returns the options of a store of its own: a schema that nobody else uses.
    pub fn new_store(&self) -> PostgresOptions {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        PostgresOptions {
            schema: format!("store_{}_{number}", std::process::id()),
            max_connections: 8,
            ..PostgresOptions::new(&self.address)
        }
    }

    /// Runs statements as the superuser, and returns what they print.
    pub fn sql(&self, statements: &str) -> String {
        run(psql(&self.superuser_address(), statements))
    }

    /// Runs statements as the role of the tests, and returns what they print, or the error.
    ///
    /// # Errors
    ///
    /// The server refused a statement.
    pub fn sql_as_role(&self, statements: &str) -> Result<String, String> {
        let output = psql(&self.address, statements).output().expect("psql is installed with the server");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// Ends the server as a crash would, and starts it again on the same port.
    pub fn crash_and_restart(&mut self) {
        let local = self.local.as_mut().expect("a server that this process started");
        let keep = local.folder.join("keep");
        std::fs::write(&keep, "").expect("the disk has space");
        local.process = None;
        std::fs::remove_file(keep).expect("it was written");
        local.run();
    }
}

impl LocalServer {
    fn run(&mut self) {
        let data = self.folder.join("data");
        let port = self.port.to_string();
        let mut command = user_prefix();
        command.push(path(&self.programs.join("postgres")).to_owned());
        let settings =
            ["max_connections=400", "shared_buffers=128MB", "unix_socket_directories=", "fsync=on"];
        command.extend(["-D", path(&data), "-h", "127.0.0.1", "-p", &port].map(str::to_owned));
        command.extend(settings.iter().flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]));
        // QUIT ends it at once, without writing anything back: the next start recovers from the log.
        self.process = Some(ServerProcess::start(&command, &self.folder, "QUIT"));
        let ready = self.programs.join("pg_isready");
        wait_until(&self.folder, || {
            let asked = Command::new(&ready).args(["-q", "-h", "127.0.0.1", "-p", &port]).status();
            accepts(self.port) && asked.is_ok_and(|status| status.success())
        });
    }

    fn sql(&self, database: &str, statement: &str) {
        let address = format!("postgres://postgres@127.0.0.1:{}/{database}", self.port);
        run(psql(&address, statement));
    }
}

/// Returns the folder with the server's programs.
fn programs() -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .map(|version| version.path().join("bin"))
        .filter(|bin| bin.join("initdb").exists())
        .collect();
    found.sort();
    found.pop()
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Returns what runs a command as a user that is not root.
fn user_prefix() -> Vec<String> {
    if is_root() {
        ["setpriv", "--reuid", SYSTEM_USER, "--regid", SYSTEM_USER, "--clear-groups"]
            .map(str::to_owned)
            .to_vec()
    } else {
        Vec::new()
    }
}

fn as_user(program: &Path, arguments: &[&str]) -> Command {
    let mut words = user_prefix();
    words.push(path(program).to_owned());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(arguments);
    command
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn psql(address: &str, statements: &str) -> Command {
    let mut psql = Command::new("psql");
    psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", statements, address]);
    psql
}

fn run(mut command: Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("the program is installed");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}
