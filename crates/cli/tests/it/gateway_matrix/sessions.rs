//! Sessions, tasks, repeated calls and pages of lists: what a client has begun is out of reach for every other caller.

use serde_json::{Value, json};

use super::assert_calls;
use super::model::{LONG_SERVER, SERVERS};
use super::table::Table;
use super::team::{Client, Era, Team};
use crate::gateway::repeat;
use crate::http::Connection;
use crate::session::handle;

#[test]
fn sessions_tasks_and_pages_of_lists_are_their_owners_alone() {
    let team = Team::start();
    let mut clients = team.clients();
    let (mut table, mut calls) = (Table::default(), Vec::new());
    try_list_cursors(&mut clients, &mut table);
    try_tasks(&mut clients, &mut table, &mut calls);
    try_repeated_calls(&mut clients, &mut table, &mut calls);
    try_sessions(&team, &mut clients, &mut table);
    assert_calls(&team, calls);
    let count =
        table.finish(&[("cursor of a list", 80), ("task", 500), ("repeated call", 30), ("session", 250)]);
    assert!(count >= 900, "{count} cells");
}

/// The second page of a long list, by the cursor of another caller.
fn try_list_cursors(clients: &mut [Client], table: &mut Table) {
    let mut cursors = Vec::new();
    for client in clients.iter_mut().filter(|client| client.era == Era::Session) {
        let (_, cursor) = client.list("resources/list", "resources");
        let has_pages = client.person.may_use_resources(LONG_SERVER);
        assert_eq!(cursor.is_some(), has_pages, "a list of several pages has a cursor: {}", client.label());
        cursors.extend(cursor.map(|cursor| (client.person.name, cursor)));
    }
    for client in clients {
        for (owner, cursor) in &cursors {
            let answer = client.request("resources/list", json!({"cursor": cursor}));
            let is_page = answer.json["result"]["resources"].as_array().is_some_and(|page| page.len() > 50);
            let is_owner = *owner == client.person.name;
            table.cell("cursor of a list", is_owner, is_page, || {
                format!("of {owner} by {}: {}", client.label(), answer.json)
            });
            if !is_owner && answer.json["error"]["code"] != -32602 {
                table.wrong(format!("the cursor of {owner} by {}: {}", client.label(), answer.json));
            }
        }
    }
}

/// The tasks of a session, at a server that knows tasks by their ids alone and that all callers share, and at others.
fn try_tasks(clients: &mut [Client], table: &mut Table, calls: &mut Vec<String>) {
    let mut tasks = Vec::new();
    for (number, client) in clients.iter_mut().enumerate().filter(|(_, client)| client.era == Era::Session) {
        for server in &SERVERS {
            let Some(tool) = client.person.best_tool(server.name) else { continue };
            let secret = format!("task-of-{}-{}", client.person.name, server.name);
            let answer = client.call(&tool.listed(), json!({"task": true, "mark": secret})).json;
            calls.push(format!("{} {} {secret}", tool.server, tool.name));
            let id =
                answer["result"]["task"]["taskId"].as_str().unwrap_or_else(|| panic!("no task: {answer}"));
            tasks.push((number, secret, id.to_owned()));
        }
    }
    let owners: Vec<&str> = clients.iter().map(|client| client.person.name).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        for (owner, secret, id) in &tasks {
            let is_owner = *owner == number;
            if owners[*owner] == client.person.name && !is_owner {
                // A task is remembered for its session; another client of the same caller may or may not know it.
                continue;
            }
            for method in ["tasks/get", "tasks/result", "tasks/cancel"] {
                let answer = client.request(method, json!({"taskId": id}));
                let has_secret = answer.json.to_string().contains(secret);
                table.cell("task", is_owner, has_secret, || {
                    format!("{method} {secret} by {}: {}", client.label(), answer.json)
                });
                if !is_owner && !answer.is_refused() {
                    table.wrong(format!("{method} {secret} by {}: {}", client.label(), answer.json));
                }
            }
        }
    }
}

/// The same call by several callers: only its own earlier result is named to a caller.
fn try_repeated_calls(clients: &mut [Client], table: &mut Table, calls: &mut Vec<String>) {
    let mut earlier: Vec<(&str, String)> = Vec::new();
    for client in clients.iter_mut().filter(|client| client.era == Era::Session) {
        let Some(tool) = client.person.best_tool(LONG_SERVER) else { continue };
        let mut call = |client: &mut Client| {
            calls.push(format!("{} {} same", tool.server, tool.name));
            client.call(&tool.listed(), json!({"n": 270, "mark": "same"})).text()
        };
        let first = call(client);
        earlier.push((client.person.name, handle(&first)));
        let second = call(client);
        for (owner, handle) in &earlier {
            let is_owner = *owner == client.person.name;
            let id = handle.rsplit('-').next().unwrap();
            let is_named = second.contains(id) || (!is_owner && first.contains(id));
            table.cell("repeated call", is_owner, is_named, || {
                format!("{handle} of {owner} for {}: {second}", client.label())
            });
        }
    }
}

/// Sessions under the credentials of others, and without any.
fn try_sessions(team: &Team, clients: &mut [Client], table: &mut Table) {
    let of_session = |client: &Client| Some((client.person.name, client.session.clone()?));
    let sessions: Vec<(&str, String)> = clients.iter().filter_map(of_session).collect();
    for (owner, session) in &sessions {
        for client in clients.iter_mut() {
            let is_owner = *owner == client.person.name;
            let label = format!("of {owner} by {}", client.label());
            let listed = client.request_in(Some(session), "tools/list", json!({}));
            let is_listed = listed.json["result"]["tools"].is_array();
            table.cell("session", is_owner, is_listed, || format!("POST {label}: {}", listed.json));
            let mut listening = 0;
            repeat("the stream that the owner opened before has ended", || {
                listening = client.send("GET", session);
                listening != 409
            });
            let mut statuses = vec![("POST", listed.status), ("GET", listening)];
            table.cell("session", is_owner, statuses[1].1 == 200, || format!("GET {label}: {statuses:?}"));
            if !is_owner {
                statuses.push(("DELETE", client.send("DELETE", session)));
                table.cell("session", false, statuses[2].1 < 400, || format!("DELETE {label}: {statuses:?}"));
                if statuses.iter().any(|(_, status)| *status != 404) {
                    table.wrong(format!("the session {label}: {statuses:?}"));
                }
            }
        }
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
        let reply = Connection::to(team.gateway.port).post(&[("Mcp-Session-Id", session)], body);
        table.cell("session", false, reply.status != 401, || format!("{owner}: {}", reply.text()));
    }
    for client in clients.iter_mut().filter(|client| client.era == Era::Session) {
        let session = client.session.clone().unwrap();
        let label = client.label();
        let listed = client.request("tools/list", json!({}));
        table.cell("session", true, listed.status == 200, || format!("{label} afterwards: {}", listed.json));
        let ended = client.send("DELETE", &session);
        table.cell("session", true, ended == 200, || format!("{label} ends its session: {ended}"));
        let gone = client.request("tools/list", json!({}));
        table.cell("session", false, gone.status != 404, || format!("{label} after its end: {}", gone.json));
    }
}

/// Tasks of clients without sessions belong to the caller.
#[test]
fn tasks_without_sessions_are_their_callers_alone() {
    let team = Team::start();
    let mut clients: Vec<Client> =
        team.clients().into_iter().filter(|client| client.era == Era::Stateless).collect();
    let (mut table, mut calls, mut tasks) = (Table::default(), Vec::new(), Vec::new());
    for client in &mut clients {
        for server in &SERVERS {
            let Some(tool) = client.person.best_tool(server.name) else { continue };
            let secret = format!("task-of-{}-{}", client.person.name, server.name);
            let answer = client.call(&tool.listed(), json!({"task": true, "mark": secret})).json;
            calls.push(format!("{} {} {secret}", tool.server, tool.name));
            let id = answer["result"]["taskId"].as_str().unwrap_or_else(|| panic!("no task: {answer}"));
            tasks.push((client.person.name, secret, Value::from(id)));
        }
    }
    for client in &mut clients {
        for (owner, secret, id) in &tasks {
            for method in ["tasks/get", "tasks/cancel"] {
                let answer = client.request(method, json!({"taskId": id}));
                let has_secret = answer.json.to_string().contains(secret);
                table.cell("task", *owner == client.person.name, has_secret, || {
                    format!("{method} {secret} by {}: {}", client.label(), answer.json)
                });
            }
        }
    }
    assert_calls(&team, calls);
    let count = table.finish(&[("task", 250)]);
    assert!(count >= 250, "{count} cells");
}
