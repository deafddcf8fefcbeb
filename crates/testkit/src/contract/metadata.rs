//! What is known of a result comes back with it.

#![expect(clippy::unwrap_used, reason = "a test reports an error by panicking")]
#![expect(missing_docs, reason = "the name of a case says what it checks")]

use tidegate_store::{CallOrigin, Clock, Description, NewArtifact, Owner};

use super::{Fixture, HOUR, Make, noise};

fn described() -> Description {
    Description { outline: b"an outline".to_vec(), kind: "json".into(), records: Some(430), tokens: 128_040 }
}

pub fn a_description_comes_back(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.store.put(&fixture.new_artifact(), &b"body".as_slice(), &|| Ok(described())).unwrap();
    assert_eq!((kept.tool.as_str(), kept.kind.as_str()), ("tool", "json"));
    assert_eq!((kept.records, kept.tokens, kept.bytes), (Some(430), 128_040, 4));
    assert_eq!(kept.expires.0 - kept.created.0, 3_600_000);
    assert_eq!(kept.created, fixture.clock.now());
    assert_eq!(fixture.store.open(&fixture.owner, &kept.id).unwrap().artifact, kept);
    assert_eq!(fixture.store.list(&fixture.owner, 1).unwrap(), [kept]);
}

pub fn an_outline_comes_back(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.store.put(&fixture.new_artifact(), &b"body".as_slice(), &|| Ok(described())).unwrap();
    assert_eq!(fixture.store.open(&fixture.owner, &kept.id).unwrap().outline, b"an outline");
    let bare = fixture.put(b"no outline").unwrap();
    assert_eq!(fixture.store.open(&fixture.owner, &bare.id).unwrap().outline, b"");
}

pub fn a_large_outline(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let outline = noise(5, 3_000_000);
    let describe = || Ok(Description { outline: outline.clone(), ..Description::default() });
    let kept = fixture.store.put(&fixture.new_artifact(), &b"body".as_slice(), &describe).unwrap();
    assert!(fixture.store.open(&fixture.owner, &kept.id).unwrap().outline == outline);
}

pub fn no_records(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.put(b"body").unwrap();
    assert_eq!(fixture.store.open(&fixture.owner, &kept.id).unwrap().artifact.records, None);
}

pub fn a_tool_name_of_any_kind(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    for tool in ["list \"issues\" \u{e9}", "", "'; DROP TABLE artifact; --", "\u{1f30a}\u{202e}", "a\nb\tc\\"]
    {
        let new = NewArtifact::new(&fixture.owner, &fixture.session, tool, HOUR);
        let kept = fixture.put_new(&new, tool.as_bytes()).unwrap();
        assert_eq!(fixture.store.open(&fixture.owner, &kept.id).unwrap().artifact.tool, tool);
    }
}

pub fn control_characters(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let new = NewArtifact {
        server: "a\0b",
        arguments: Some("{\"a\":\"\0\"}"),
        ..NewArtifact::new(&fixture.owner, &fixture.session, "nul\0 and\u{1} others", HOUR)
    };
    let kept = fixture.put_new(&new, b"body").unwrap();
    let opened = fixture.store.open(&fixture.owner, &kept.id).unwrap();
    assert_eq!(opened.artifact, kept, "a store may replace what it cannot keep, but says what it keeps");
    assert!(kept.tool.starts_with("nul") && kept.tool.ends_with("\u{1} others"));
    assert_eq!(fixture.read(&kept.id).unwrap(), b"body");
}

pub fn the_origin_of_a_call(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let new =
        NewArtifact { server: "github", arguments: Some("{\"state\":\"open\"}"), ..fixture.new_artifact() };
    let kept = fixture.put_new(&new, b"body").unwrap();
    let origin = fixture.store.origin(&fixture.owner, &kept.id).unwrap();
    assert_eq!(origin, CallOrigin { server: "github".into(), arguments: "{\"state\":\"open\"}".into() });
}

pub fn long_arguments_are_cut(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let arguments = format!("{{\"state\":\"{}\"}}", "\u{e9}".repeat(5000));
    let kept = fixture
        .put_new(&NewArtifact { arguments: Some(&arguments), ..fixture.new_artifact() }, b"body")
        .unwrap();
    let origin = fixture.store.origin(&fixture.owner, &kept.id).unwrap();
    assert!(origin.arguments.starts_with("{\"state\":\"\u{e9}") && origin.arguments.ends_with('\u{2026}'));
    assert!(origin.arguments.len() <= 1100, "only the beginning of long arguments is stored");
}

pub fn an_origin_is_private(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.put_new(&NewArtifact { server: "github", ..fixture.new_artifact() }, b"body").unwrap();
    let other = Owner::new("local:2");
    assert_eq!(fixture.store.origin(&other, &kept.id).unwrap(), CallOrigin::default());
}

pub fn no_origin(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    let kept = fixture.put(b"body").unwrap();
    assert_eq!(fixture.store.origin(&fixture.owner, &kept.id).unwrap(), CallOrigin::default());
}

pub fn the_store_is_current(make: Make<'_>) {
    let Some(fixture) = Fixture::new(make) else { return };
    assert!(fixture.store.is_current());
}
