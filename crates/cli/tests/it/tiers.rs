//! Tiers in front of a server, over the wire: what a run with `--tier` lists, calls and reads.

use serde_json::json;

use crate::place::Place;
use crate::session::Session;

#[test]
fn a_run_below_the_tier_of_a_tool() {
    let place = Place::new();
    let file = place.folder.path().join("tiers.toml");
    std::fs::write(
        &file,
        "[server.upstream.tool.\"r*\"]\ntier = \"admin\"\n[client.guest]\ntier = \"read\"\n",
    )
    .unwrap();
    let config = ["--config", file.to_str().unwrap()];
    let start = |flags: &[&str], client: &str| {
        Session::start(&place.home(), &[&config, flags].concat()).greeted(client)
    };
    let mut admin = start(&[], "somebody");
    let id = admin.keep_rows(400);
    assert!(admin.request("tools/list", json!({})).to_string().contains("\"rows\""));
    for (flags, client) in
        [(&["--tier", "read"][..], "somebody"), (&["--tier", "read_write"], "guest"), (&[], "guest")]
    {
        let mut session = start(flags, client);
        let listed = session.request("tools/list", json!({})).to_string();
        assert!(
            !listed.contains("\"rows\"") && !listed.contains("\"report\"") && listed.contains("\"bugs\""),
            "{listed}"
        );
        let refused = session.call("rows", json!({"n": 1}));
        assert!(refused.to_string().contains("rows needs the tier admin"), "{refused}");
        let hidden = session.text("result_query", json!({"id": id}));
        assert!(hidden.contains("no result is kept under"), "{hidden}");
        let hidden = session.request("resources/read", json!({"uri": format!("ax://rows/{}", &id[5..])}));
        assert!(hidden["error"].is_object(), "{hidden}");
        assert_eq!(session.text("seen", json!({})).matches("rows").count(), 0, "nothing reached the server");
        let bugs = session.text("bugs", json!({"n": 300}));
        assert!(bugs.contains("Complete result: "), "{bugs}");
        session.end();
    }
    assert!(admin.text("result_query", json!({"id": id, "page": 1})).contains("rows 1-"));
    admin.end();
}

/// A project's file comes from others; it must not lower what the user requires.
#[test]
fn a_project_cannot_set_tiers() {
    let place = Place::new();
    place.configure("[server.upstream.tool.rows]\ntier = \"read\"\n");
    let (code, stderr) = Session::start(&place.home(), &[]).ended();
    assert!(code == 2 && stderr.contains("tier"), "{stderr}");
}
