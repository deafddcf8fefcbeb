//! An object store: SeaweedFS from PyPI, which refuses to create an object twice, as S3 does.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tidegate_store::{ArtifactId, ObjectCredentials, ObjectOptions};

use super::process::{ServerProcess, free_ports, wait_until};

const KEY: &str = "tidegate-test";
const SECRET: &str = "tidegate-test-secret";
/// The bucket of the tests.
const BUCKET: &str = "results";
/// The environment variable with the path of the program.
const PROGRAM_VARIABLE: &str = "TIDEGATE_TEST_WEED";

/// An object store.
pub struct ObjectServer {
    address: String,
    _process: Option<ServerProcess>,
}

impl ObjectServer {
    /// Returns a server that runs already.
    pub(super) fn running(address: String) -> Self {
        Self { address, _process: None }
    }

    /// Starts a server with an empty bucket; `None` if it is not installed.
    pub fn start() -> Option<Self> {
        let program = program()?;
        let folder = std::env::temp_dir().join(format!("tidegate-objects-{}", ArtifactId::random()));
        std::fs::create_dir(&folder).expect("a folder");
        let config = folder.join("s3.json");
        std::fs::write(&config, identities()).expect("the disk has space");
        let ports: [u16; 8] = free_ports();
        let mut command = vec![program.to_str()?.to_owned(), "server".to_owned()];
        command.extend(arguments(&folder.display().to_string(), &config.display().to_string(), ports));
        let process = ServerProcess::start(&command, &folder, "KILL");
        let server = Self { address: format!("http://127.0.0.1:{}", ports[0]), _process: Some(process) };
        wait_until(&folder, || server.responds());
        create_bucket(&program, &format!("127.0.0.1:{}.{}", ports[2], ports[3]));
        Some(server)
    }

    /// Returns the address of the server.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the port of the server.
    pub fn port(&self) -> u16 {
        self.address.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port")
    }

    /// Returns the options for a part of the bucket that nobody else uses.
    pub fn new_prefix(&self) -> ObjectOptions {
        ObjectOptions {
            endpoint: Some(self.address.clone()),
            region: Some("us-east-1".into()),
            allow_http: true,
            credentials: Some(ObjectCredentials { key_id: KEY.into(), secret: SECRET.into(), token: None }),
            ..ObjectOptions::new(format!("s3://{BUCKET}/{}", ArtifactId::random()))
        }
    }

    /// Returns whether it answers requests; without credentials it refuses them.
    fn responds(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(("127.0.0.1", self.port())) else { return false };
        let request = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
        let mut answer = String::new();
        let _ = stream.set_read_timeout(Some(Duration::from_secs(2)));
        stream.write_all(request).is_ok()
            && stream.read_to_string(&mut answer).is_ok()
            && answer.contains("AccessDenied")
    }
}

fn create_bucket(program: &Path, master: &str) {
    let mut shell = Command::new(program)
        .args(["shell", &format!("-master={master}")])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program runs");
    let mut input = shell.stdin.take().expect("it has an input");
    writeln!(input, "s3.bucket.create -name {BUCKET}").expect("it reads");
    drop(input);
    assert!(shell.wait().expect("it ends").success(), "the bucket could not be created");
}

fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(PROGRAM_VARIABLE) {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("weed")).find(|weed| weed.exists())
}

fn identities() -> String {
    serde_json::json!({
        "identities": [{
            "name": "tests",
            "credentials": [{"accessKey": KEY, "secretKey": SECRET}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }]
    })
    .to_string()
}

fn arguments(folder: &str, config: &str, ports: [u16; 8]) -> Vec<String> {
    let [s3, s3_grpc, master, master_grpc, volume, volume_grpc, filer, filer_grpc] = ports;
    [
        format!("-dir={folder}"),
        "-ip=127.0.0.1".into(),
        "-ip.bind=127.0.0.1".into(),
        "-master.telemetry=false".into(),
        format!("-master.port={master}"),
        format!("-master.port.grpc={master_grpc}"),
        "-master.volumeSizeLimitMB=64".into(),
        format!("-volume.port={volume}"),
        format!("-volume.port.grpc={volume_grpc}"),
        "-volume.max=40".into(),
        "-filer".into(),
        format!("-filer.port={filer}"),
        format!("-filer.port.grpc={filer_grpc}"),
        "-s3".into(),
        format!("-s3.port={s3}"),
        format!("-s3.port.grpc={s3_grpc}"),
        "-s3.port.iceberg=0".into(),
        "-s3.port.lance=0".into(),
        format!("-s3.config={config}"),
    ]
    .to_vec()
}
