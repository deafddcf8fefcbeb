//! Data folders written by released versions: every later version must open them and read the same bytes.
//!
//! `tests/fixtures/<version>/data` is the data folder as that version left it. `expected` beside it holds what must come
//! back: a table of the artifacts, and each body and outline as a file. The ledger's calls are in [`recorded_calls`].
//! [`write_fixture`] wrote them. A fixture is never written again: a release that changes a format adds a folder.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::params;
use tidegate_core::hints::Hints;
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::source::Span;
use tidegate_core::view::{Query, View, cursor};
use tidegate_store::{
    Artifact, ArtifactId, ArtifactStore, Call, CallOrigin, Clearance, CountMethod, Description, Home, Ledger,
    Millis, NewArtifact, Owner, Quotas, SealKey, Session, SqliteLedger, SqliteStore, StoreError, StoreKey,
    StoreKeys, StoreOptions, TierLevel, open, read_calls,
};
use tidegate_testkit::clock::ManualClock;
use tidegate_testkit::{make, sample};

/// Sealed with the key of a fixture to show that the key and the way it is used are still the same.
const SEALED: &[u8] = b"sealed by the version that wrote the fixture";

/// A line of `expected/artifacts.tsv`.
struct Expected {
    /// Stem of the files with the body and the outline.
    name: String,
    owner: Owner,
    artifact: Artifact,
    /// A cursor for [`query_of`] this artifact.
    cursor: String,
    /// The seal of [`SEALED`], in hexadecimal digits.
    seal: String,
}

impl Expected {
    fn to_line(&self) -> String {
        let Artifact { id, tool, kind, records, tokens, bytes, stored_bytes, created, expires } =
            &self.artifact;
        let records = records.map(|records| records.to_string()).unwrap_or_default();
        let Self { name, owner, cursor, seal, .. } = self;
        let (created, expires) = (created.0, expires.0);
        format!(
            "{name}\t{owner}\t{id}\t{tool}\t{kind}\t{records}\t{tokens}\t{bytes}\t{stored_bytes}\t{created}\t{expires}\t{cursor}\t{seal}\n"
        )
    }

    fn from_line(line: &str) -> Self {
        let parts: Vec<&str> = line.split('\t').collect();
        let [
            name,
            owner,
            id,
            tool,
            kind,
            records,
            tokens,
            bytes,
            stored_bytes,
            created,
            expires,
            cursor,
            seal,
        ] = parts[..]
        else {
            panic!("{} columns: {line}", parts.len());
        };
        let artifact = Artifact {
            id: ArtifactId::parse(id).unwrap(),
            tool: tool.into(),
            kind: kind.into(),
            records: records.parse().ok(),
            tokens: tokens.parse().unwrap(),
            bytes: bytes.parse().unwrap(),
            stored_bytes: stored_bytes.parse().unwrap(),
            created: Millis(created.parse().unwrap()),
            expires: Millis(expires.parse().unwrap()),
        };
        Self {
            name: name.into(),
            owner: Owner::new(owner),
            artifact,
            cursor: cursor.into(),
            seal: seal.into(),
        }
    }
}

/// The query that the recorded cursor of an artifact continues.
fn query_of(name: &str) -> Query {
    let (view, fields, position) = match name {
        "rows" => (View::Page { number: 2, size: Some(10) }, vec!["number".into(), "title".into()], 13),
        "csv" => (View::Sql("select weather, count(*) from t group by 1".into()), Vec::new(), 2),
        "log" => (View::Lines { from: 40, to: None }, Vec::new(), 71),
        "blocks" => (View::Path("/content/1".into()), Vec::new(), 0),
        _ => (View::Range { from: 0, to: Some(90) }, Vec::new(), 30),
    };
    Query { view, fields, position }
}

/// The calls in the ledger of the fixtures.
fn recorded_calls() -> Vec<Call> {
    let call = |at: i64, tool: &str, step: &str| Call {
        at: Millis(1_794_700_000_000 + at),
        client: "claude-code".into(),
        server: "github".into(),
        tool: tool.into(),
        step: step.into(),
        raw_bytes: 81_234,
        raw_tokens: 20_310,
        sent_bytes: 2100,
        sent_tokens: 605,
        added_micros: 1800,
        artifact: None,
        session: Some("process:7:0".into()),
        view: None,
        stored_bytes: 0,
        counted: Some(CountMethod { vocabulary: "o200k".into(), margin_percent: 30 }),
        budget_tokens: 0,
        owner: None,
    };
    let name = Some("7q0rdznc4h2m".to_owned());
    vec![
        call(0, "", "list"),
        call(10, "get_issue", "pass"),
        Call { artifact: name.clone(), stored_bytes: 17_000, ..call(20, "list_issues", "overview") },
        Call { artifact: name, view: Some("page".into()), ..call(30, "list_issues", "view") },
        Call { session: None, counted: None, ..call(40, "list \"issues\" \u{e9}\u{2028}", "observe") },
    ]
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Copies the data folder of a fixture, so that opening it changes nothing in the repository.
fn copied(version: &str) -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().unwrap();
    let home = Home::open(Some(folder.path().join("tidegate"))).unwrap();
    for entry in fs::read_dir(fixtures().join(version).join("data")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), home.path().join(entry.file_name())).unwrap();
    }
    (folder, home)
}

fn expected_artifacts(version: &str) -> Vec<Expected> {
    let table = fs::read_to_string(fixtures().join(version).join("expected/artifacts.tsv")).unwrap();
    table.lines().skip(1).map(Expected::from_line).collect()
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut digits, byte| {
        write!(digits, "{byte:02x}").unwrap();
        digits
    })
}

fn check_artifact(store: &SqliteStore, version: &str, expected: &Expected) {
    let name = &expected.name;
    let file = |extension: &str| {
        fs::read(fixtures().join(version).join("expected").join(format!("{name}.{extension}"))).unwrap()
    };
    let source = open(store, &expected.owner, &expected.artifact.id).unwrap();
    assert_eq!(source.artifact(), &expected.artifact);
    assert!(
        Span::whole(&source).read(&source).unwrap() == file("body"),
        "{name}: the bytes that were stored"
    );
    assert!(source.outline() == file("outline"), "{name}: the outline that was stored");
    // An outline of another version is rebuilt from the result.
    let outline = Outline::load(source.outline(), &source, &Hints::default()).unwrap();
    assert_eq!(
        (outline.kind(), outline.record_count()),
        (&*expected.artifact.kind, expected.artifact.records)
    );
}

fn check_cursor(key: &SealKey, expected: &Expected) {
    let Expected { name, owner, artifact, cursor, seal } = expected;
    let sealed = |bytes: &[u8]| key.seal(owner, &artifact.id, bytes);
    assert_eq!(&hexadecimal(&sealed(SEALED)), seal, "{name}: the same key gives the same seal");
    assert_eq!(cursor::decode(cursor, sealed).unwrap(), query_of(name));
    let other = |bytes: &[u8]| SealKey::ephemeral().seal(owner, &artifact.id, bytes);
    assert!(cursor::decode(cursor, other).is_err(), "{name}: another key is refused");
}

fn check_version(version: &str, artifact_count: usize) {
    let (_folder, home) = copied(version);
    let key = SealKey::load_or_create(home.path()).unwrap();
    let expected = expected_artifacts(version);
    assert_eq!(expected.len(), artifact_count);
    // Once as it was left, once after this version has opened and written it.
    for _ in 0..2 {
        let store = SqliteStore::open(&home.artifacts(), Quotas::default()).unwrap();
        for expected in &expected {
            check_artifact(&store, version, expected);
            check_cursor(&key, expected);
        }
        for expected in &expected {
            let origin = store.origin(&expected.owner, &expected.artifact.id).unwrap();
            assert_eq!(origin, CallOrigin::default(), "not known for what that version stored");
        }
        let kept = crate::put(&store, b"stored by this version").unwrap();
        store.delete(&crate::owner(), &kept.id).unwrap();
        store.sweep().unwrap();
        assert_eq!(store.usage().unwrap().artifacts, artifact_count as u64);
    }

    let mut calls = Vec::new();
    read_calls(&home.ledger(), Millis(0), &mut |call| calls.push(call)).unwrap();
    assert_eq!(calls, recorded_calls(), "read without being opened for writing");
    let ledger = SqliteLedger::open(&home.ledger()).unwrap();
    let newer = Call { at: Millis(1_794_700_001_000), ..recorded_calls()[3].clone() };
    ledger.note(newer.clone());
    calls.push(newer);
    assert_eq!(ledger.calls(Millis(0), 100).unwrap(), calls);
}

#[test]
fn version_0_1_0_opens() {
    check_version("0.1.0", 8);
}

/// Raises the format of a store, as a later version may do.
fn make_newer(home: &Home) -> Vec<u8> {
    let connection = rusqlite::Connection::open(home.artifacts()).unwrap();
    connection.pragma_update(None, "user_version", 7).unwrap();
    drop(connection);
    fs::read(home.artifacts()).unwrap()
}

/// A program must not touch the store of a newer one: it refuses, says what to do, and leaves every byte as it is.
#[test]
fn a_newer_store_is_refused_and_left_alone() {
    let (_folder, home) = copied("0.1.0");
    let before = make_newer(&home);
    let Err(error) = SqliteStore::open(&home.artifacts(), Quotas::default()) else { panic!("it was opened") };
    assert!(matches!(error, StoreError::NewerFormat { format: 7, .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains("a newer tidegate (format 7") && text.contains("update tidegate"), "{text}");
    assert!(fs::read(home.artifacts()).unwrap() == before, "the file is as it was");

    // The program that knows the format finds everything.
    let connection = rusqlite::Connection::open(home.artifacts()).unwrap();
    connection.pragma_update(None, "user_version", 0).unwrap();
    drop(connection);
    let store = SqliteStore::open(&home.artifacts(), Quotas::default()).unwrap();
    expected_artifacts("0.1.0").iter().for_each(|expected| check_artifact(&store, "0.1.0", expected));
}

/// Which call a result answered is stored from the first result on that this version puts into an older store.
#[test]
fn the_call_is_stored_in_an_older_store_too() {
    let (_folder, home) = copied("0.1.0");
    let (owner, session) = (Owner::new("o"), Session::new("s"));
    let long = format!("{{\"q\":\"{}\"}}", "é".repeat(600));
    for arguments in [Some("{\"state\":\"open\"}"), None, Some(long.as_str())] {
        let store = SqliteStore::open(&home.artifacts(), Quotas::default()).unwrap();
        let mut new = NewArtifact::new(&owner, &session, "t", Duration::from_secs(60));
        (new.server, new.arguments) = ("github", arguments);
        let id = store.put(&new, &b"{}".as_slice(), &|| Ok(Description::default())).unwrap().id;
        let origin = store.origin(&owner, &id).unwrap();
        assert_eq!(origin.server, "github");
        match arguments.unwrap_or_default() {
            short if short.len() < 1000 => assert_eq!(origin.arguments, short),
            long => {
                let shown = origin.arguments.strip_suffix('…').unwrap();
                assert!(long.starts_with(shown) && (998..=1000).contains(&shown.len()), "{}", shown.len());
            }
        }
        assert_eq!(store.origin(&Owner::new("p"), &id).unwrap(), CallOrigin::default(), "not another's");
    }
}

/// Results that this version puts into an older store can be found by their call.
#[test]
fn results_are_found_by_their_call_in_an_older_store_too() {
    let (_folder, home) = copied("0.1.0");
    let (owner, session) = (Owner::new("o"), Session::new("s"));
    let call = SealKey::load_or_create(home.path()).unwrap().call_digest(&[b"list"]);
    for round in 0..2 {
        let store = SqliteStore::open(&home.artifacts(), Quotas::default()).unwrap();
        assert_eq!(store.last_of_call(&owner, &session, &call).unwrap().is_some(), round > 0);
        let mut new = NewArtifact::new(&owner, &session, "t", Duration::from_secs(60));
        new.call = Some(call);
        let id = store.put(&new, &b"{}".as_slice(), &|| Ok(Description::default())).unwrap().id;
        assert_eq!(store.last_of_call(&owner, &session, &call).unwrap().unwrap().artifact.id, id);
    }
}

/// The bodies of a new fixture: JSON over several chunks, CSV, a log, several blocks with an image, and what a JSON
/// library would not write back as it was.
fn bodies() -> Vec<(&'static str, &'static str, Vec<u8>)> {
    let sample = |name: &str| sample::all().into_iter().find(|(known, _)| *known == name).unwrap().1;
    let exact = br#"{"content":[{"type":"text","text":"a","text":"b \ud800"}], "structuredContent":{"one":1.0,"big":18446744073709551617,"a":1,"a":2},"isError":true}"#;
    vec![
        ("rows", "list_issues", make::text_result(&sample::issues(160))),
        ("csv", "weather", sample("csv_series")),
        ("log", "read_log", sample("log")),
        ("blocks", "screenshot", sample("mixed_blocks")),
        ("exact", "odd \"tool\" \u{e9}", exact.to_vec()),
        ("empty", "nothing", br#"{"content":[]}"#.to_vec()),
    ]
}

/// Writes the fixture of this version; refuses where there is one.
///
/// `cargo test -p tidegate-store --test it -- --ignored --exact compatibility::write_fixture`
#[test]
#[ignore = "writes a fixture, once for each released format"]
fn write_fixture() {
    let folder = fixtures().join(env!("CARGO_PKG_VERSION"));
    assert!(!folder.exists(), "{} is there; a fixture is never written again", folder.display());
    let (data, results) = (folder.join("data"), folder.join("expected"));
    fs::create_dir_all(&results).unwrap();
    let home = Home::open(Some(data)).unwrap();
    let key = SealKey::load_or_create(home.path()).unwrap();
    let store = SqliteStore::open(
        &home.artifacts(),
        StoreOptions::from(Quotas::default()).with_clock(Arc::new(ManualClock::default())),
    )
    .unwrap();
    let mut table = String::from(
        "name\towner\tid\ttool\tkind\trecords\ttokens\tbytes\tstored_bytes\tcreated\texpires\tcursor\tseal\n",
    );
    let mut keep = |owner: &str, name: &str, tool: &str, body: &[u8]| {
        let (owner, session) = (Owner::new(owner), Session::new("process:7:0"));
        let new = NewArtifact::new(&owner, &session, tool, Duration::from_secs(100 * 365 * 24 * 3600));
        let outline = Outline::read(&Payload::read(&body).unwrap()).unwrap();
        let description = Description {
            outline: outline.to_bytes(),
            kind: outline.kind().to_owned(),
            records: outline.record_count(),
            tokens: body.len() as u64 / 4,
        };
        let artifact = store.put(&new, &body, &|| Ok(description.clone())).unwrap();
        fs::write(results.join(format!("{name}.body")), body).unwrap();
        fs::write(results.join(format!("{name}.outline")), &description.outline).unwrap();
        let seal = |bytes: &[u8]| key.seal(&owner, &artifact.id, bytes);
        let (cursor, seal) = (cursor::encode(&query_of(name), seal), hexadecimal(&seal(SEALED)));
        table += &Expected { name: name.into(), owner: owner.clone(), artifact, cursor, seal }.to_line();
    };
    let bodies = bodies();
    for (name, tool, body) in &bodies {
        keep("local:1000", name, tool, body);
    }
    // Equal bytes of one owner share a body; those of another owner do not.
    let (name, tool, body) = &bodies[1];
    keep("local:1000", name, tool, body);
    keep("local:2000", name, tool, body);
    fs::write(results.join("artifacts.tsv"), table).unwrap();
    drop(store);
    let ledger = SqliteLedger::open(&home.ledger()).unwrap();
    recorded_calls().into_iter().for_each(|call| ledger.note(call));
    drop(ledger);
    // Two megabytes set aside for deleting on a full disk; every store makes its own.
    fs::remove_file(home.path().join("artifacts.reserve")).unwrap();
}

/// What an earlier version stored needs no tier, before and after something that needs one is put beside it.
#[test]
fn an_older_store_has_no_tiers_until_one_is_needed() {
    let (_folder, home) = copied("0.1.0");
    let store = SqliteStore::open(&home.artifacts(), Quotas::default()).unwrap();
    let expected = expected_artifacts("0.1.0");
    let lowest = |owner| Clearance { owner, tier: TierLevel::new(0) };
    let check = || {
        for Expected { owner, artifact, .. } in &expected {
            assert!(store.open_with(lowest(owner), &artifact.id).is_ok());
            assert!(store.list_with(lowest(owner), 100).unwrap().contains(artifact));
        }
    };
    check();
    let (owner, session) = (Owner::new("o"), Session::new("s"));
    let new = NewArtifact {
        tier: TierLevel::new(100),
        ..NewArtifact::new(&owner, &session, "tool", Duration::from_secs(3600))
    };
    store.put(&new, &b"secret".as_slice(), &|| Ok(Description::default())).unwrap();
    assert!(matches!(store.open_with(lowest(&owner), &new.id), Err(StoreError::NotFound)));
    assert!(store.open(&owner, &new.id).is_ok());
    check();
}

/// Stores a result with the statements of version 0.1.0, which looks neither at the format nor at keys or tiers.
fn put_like_0_1_0(path: &Path, owner: &Owner, body: &[u8]) -> rusqlite::Result<ArtifactId> {
    let mut connection = rusqlite::Connection::open(path)?;
    let transaction = connection.transaction()?;
    let (hash, id, far) = (blake3::hash(body), ArtifactId::random(), i64::MAX);
    transaction.execute(
        "INSERT INTO body (owner, hash, bytes, stored, chunks, visible, created) VALUES (?1, ?2, ?3, 0, 0, 0, 0)",
        params![owner.as_str(), hash.as_bytes(), body.len() as i64],
    )?;
    let row = transaction.last_insert_rowid();
    let data = zstd::bulk::compress(body, 3).unwrap();
    transaction.execute(
        "INSERT INTO chunk (id, hash, data) VALUES (?1, ?2, ?3)",
        params![row << 24, &hash.as_bytes()[..16], data],
    )?;
    transaction.execute("UPDATE body SET visible = 1, stored = 1, chunks = 1 WHERE id = ?1", [row])?;
    transaction.execute(
        "INSERT INTO artifact (id, owner, session, body, tool, kind, records, tokens, outline, created, expires)
         VALUES (?1, ?2, 's', ?3, 't', 'text', NULL, 1, x'01', 0, ?4)",
        params![id.as_str(), owner.as_str(), row, far],
    )?;
    transaction.commit()?;
    Ok(id)
}

/// Deletes what version 0.1.0 deletes of a store, at a time before anything expires.
fn sweep_like_0_1_0(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.execute("DELETE FROM artifact WHERE expires <= 1", []).unwrap();
    let unnamed = "DELETE FROM body WHERE (visible = 0 AND created <= 0)
                   OR (visible = 1 AND NOT EXISTS (SELECT 1 FROM artifact WHERE artifact.body = body.id))";
    connection.execute(unnamed, []).unwrap();
}

fn read(store: &SqliteStore, owner: &Owner, id: &ArtifactId) -> Vec<u8> {
    let source = open(store, owner, id).unwrap();
    Span::whole(&source).read(&source).unwrap()
}

/// Version 0.1.0 works beside this one with a store that is not encrypted: neither loses what the other stored.
#[test]
fn version_0_1_0_shares_a_store_that_is_not_encrypted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("artifacts.db");
    let (owner, session) = (Owner::new("o"), Session::new("s"));
    let options = || StoreOptions::from(Quotas::default()).with_clock(Arc::new(ManualClock::default()));
    let store = SqliteStore::open(&path, options()).unwrap();
    let new = NewArtifact {
        tier: TierLevel::new(100),
        ..NewArtifact::new(&owner, &session, "tool", Duration::from_secs(3600))
    };
    store.put(&new, &b"ours".as_slice(), &|| Ok(Description::default())).unwrap();
    let theirs = put_like_0_1_0(&path, &owner, b"theirs").unwrap();
    sweep_like_0_1_0(&path);
    store.sweep().unwrap();
    assert_eq!(read(&store, &owner, &new.id), b"ours");
    assert_eq!(read(&store, &owner, &theirs), b"theirs");
    let lowest = Clearance { owner: &owner, tier: TierLevel::new(0) };
    assert!(matches!(store.open_with(lowest, &new.id), Err(StoreError::NotFound)), "its tier is kept");
    assert!(store.open_with(lowest, &theirs).is_ok());
}

/// Version 0.1.0 cannot put anything into an encrypted store, where it would be readable, and loses nothing of it.
#[test]
fn version_0_1_0_stores_nothing_in_an_encrypted_store() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("artifacts.db");
    let (owner, session) = (Owner::new("o"), Session::new("s"));
    let keys = StoreKeys { current: Some(StoreKey::random()), ..StoreKeys::default() };
    let options = || StoreOptions::from(Quotas::default()).with_keys(keys.clone());
    let store = SqliteStore::open(&path, options()).unwrap();
    let put = |store: &SqliteStore, body: &[u8]| {
        let new = NewArtifact::new(&owner, &session, "tool", Duration::from_secs(3600));
        store.put(&new, &body, &|| Ok(Description::default())).unwrap().id
    };
    let first = put(&store, b"first");
    let refused = put_like_0_1_0(&path, &owner, b"in plain text").unwrap_err().to_string();
    assert!(refused.contains("the store is encrypted; update tidegate"), "{refused}");
    sweep_like_0_1_0(&path);
    drop(store);
    let store = SqliteStore::open(&path, options()).unwrap();
    let second = put(&store, b"second");
    assert_eq!(
        (read(&store, &owner, &first), read(&store, &owner, &second)),
        (b"first".to_vec(), b"second".to_vec())
    );
    assert_eq!(store.usage().unwrap().artifacts, 2);
}

/// A store that held results before it was encrypted refuses what is not sealed, too.
#[test]
fn version_0_1_0_stores_nothing_in_its_own_store_once_that_is_encrypted() {
    let (_folder, home) = copied("0.1.0");
    let keys = StoreKeys { current: Some(StoreKey::random()), from_plain: true, ..StoreKeys::default() };
    let options = || StoreOptions::from(Quotas::default()).with_keys(keys.clone());
    let store = SqliteStore::open(&home.artifacts(), options()).unwrap();
    let expected = expected_artifacts("0.1.0");
    put_like_0_1_0(&home.artifacts(), &Owner::new("o"), b"before").unwrap();
    store.rekey(&mut |_| {}).unwrap();
    let refused = put_like_0_1_0(&home.artifacts(), &Owner::new("o"), b"after").unwrap_err().to_string();
    assert!(refused.contains("the store is encrypted"), "{refused}");
    for Expected { name, owner, artifact, .. } in &expected {
        let body = fixtures().join("0.1.0/expected").join(format!("{name}.body"));
        assert!(read(&store, owner, &artifact.id) == fs::read(body).unwrap(), "{name}");
    }
}
