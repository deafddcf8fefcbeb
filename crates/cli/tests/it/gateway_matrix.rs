//! The table of callers, tiers, servers, tools, results, cursors and links through a running gateway: nobody reaches what is
//! not theirs, and everybody reaches what is.
//!
//! `model.rs` says what each cell should be; nothing is written per cell. The servers note every call that they get, and in the
//! end exactly the calls that were allowed must have reached them.

mod model;
mod sessions;
mod signer;
mod table;
mod team;
mod ways;

use serde_json::json;

use model::{PROMPT, SERVERS, tools};
use table::Table;
use team::{Client, Era, Team};
use ways::{Loot, keep};

#[test]
fn callers_use_what_their_roles_allow() {
    let team = Team::start();
    let (mut table, mut expected) = (Table::default(), Vec::new());
    for client in &mut team.clients() {
        let listed = names(client, "tools/list", "tools");
        for tool in tools() {
            let (name, may) = (tool.listed(), client.person.may_call(tool));
            let label = || format!("{name} by {}", client.label());
            table.cell("listed tool", may, listed.contains(&name), label);
            let mark = label().replace(' ', "-");
            let answer = client.call(&name, json!({"mark": mark}));
            let is_answered = answer.status == 200 && answer.text().contains(&mark) && !answer.is_refused();
            table.cell("called tool", may, is_answered, || format!("{mark}: {}", answer.json));
            if may {
                expected.push(format!("{} {} {mark}", tool.server, tool.name));
            } else if answer.status != 403 {
                table.wrong(format!("{mark} was refused with the status {}: {}", answer.status, answer.json));
            }
        }
        assert!(listed.contains(&"result_query".to_owned()), "{listed:?}");
        try_prompts_and_resources(client, &mut table);
    }
    assert_calls(&team, expected);
    let count = table.finish(&[
        ("listed tool", 200),
        ("called tool", 200),
        ("listed prompt", 50),
        ("prompt", 100),
        ("listed resources", 50),
        ("resource", 50),
    ]);
    assert!(count >= 700, "{count} cells");
}

/// Returns the names in a list.
fn names(client: &mut Client, method: &str, member: &str) -> Vec<String> {
    let (entries, _) = client.list(method, member);
    entries.iter().map(|entry| entry["name"].as_str().unwrap().to_owned()).collect()
}

fn try_prompts_and_resources(client: &mut Client, table: &mut Table) {
    let prompts = names(client, "prompts/list", "prompts");
    let (resources, _) = client.list("resources/list", "resources");
    for server in &SERVERS {
        let label = format!("{} by {}", server.name, client.label());
        let (prompt, may) = (format!("{}__{PROMPT}", server.name), client.person.may_use_prompt(server.name));
        table.cell("listed prompt", may, prompts.contains(&prompt), || label.clone());
        let argument = json!({"name": "a", "value": ""});
        let reference = json!({"type": "ref/prompt", "name": prompt});
        for (method, params, words) in [
            ("prompts/get", json!({"name": prompt}), "prompt of "),
            ("completion/complete", json!({"ref": reference, "argument": argument}), "completed by "),
        ] {
            let answer = client.request(method, params);
            let is_answered = answer.json.to_string().contains(&format!("{words}{}", server.name));
            table.cell("prompt", may, is_answered, || format!("{method} {label}: {}", answer.json));
            if !may && answer.status != 403 {
                table.wrong(format!("{method} {label}: {} {}", answer.status, answer.json));
            }
        }
        let (scheme, may) = (format!("{}://", server.name), client.person.may_use_resources(server.name));
        let uris = resources.iter().filter_map(|entry| entry["uri"].as_str());
        let count = uris.filter(|uri| uri.starts_with(&scheme)).count();
        table.cell("listed resources", may, count == server.resources, || format!("{count} of {label}"));
        if !may && count > 0 {
            table.wrong(format!("{count} resources are listed: {label}"));
        }
        let answer = client.request("resources/read", json!({"uri": format!("{scheme}1")}));
        let is_read = answer.json.to_string().contains(&format!("resource of {}", server.name));
        table.cell("resource", may, is_read, || format!("{label}: {}", answer.json));
        if !may && answer.status != 403 {
            table.wrong(format!("resources/read {label}: {} {}", answer.status, answer.json));
        }
    }
}

/// Exactly the calls that were allowed have reached a server.
fn assert_calls(team: &Team, mut expected: Vec<String>) {
    let mut calls = team.calls();
    calls.sort();
    expected.sort();
    let foreign: Vec<&String> = calls.iter().filter(|call| !expected.contains(call)).collect();
    assert!(foreign.is_empty(), "these calls must not reach a server: {foreign:?}");
    assert_eq!(calls, expected, "each call once");
}

/// Lets every client store results; returns them, and one result of each client itself.
fn store_results(clients: &mut [Client], calls: &mut Vec<String>) -> (Vec<Loot>, Vec<Option<String>>) {
    let (mut loots, mut own) = (Vec::new(), Vec::new());
    for client in clients {
        let mark = format!("own-{}-{:?}", client.person.name, client.era);
        let tool = client.person.plain_tool();
        assert_eq!(tool.is_some(), !client.person.grants.is_empty(), "{}", client.label());
        own.push(tool.map(|tool| keep(client, tool, 250, &mark, calls)));
        // Without a session one server is enough: results are of the caller, not of the session.
        let count = if client.era == Era::Session { SERVERS.len() } else { 1 };
        let left = SERVERS.iter().filter_map(|server| Loot::leave(client, server.name, calls));
        loots.extend(left.take(count));
    }
    assert!(loots.len() >= 25, "{} results", loots.len());
    (loots, own)
}

#[test]
fn results_and_what_leads_to_them_are_their_owners_alone() {
    let team = Team::start();
    let mut clients = team.clients();
    let (mut table, mut calls) = (Table::default(), Vec::new());
    let (loots, own) = store_results(&mut clients, &mut calls);
    for (client, own) in clients.iter_mut().zip(&own) {
        let (resources, _) = client.list("resources/list", "resources");
        let kept = client.call("result_query", json!({})).text();
        for loot in &loots {
            loot.find_in(client, &resources, &mut table);
            loot.find_kept(client, &kept, &mut table);
            loot.try_all(client, own.as_deref(), &mut table, &mut calls);
        }
    }
    loots.iter().for_each(|loot| loot.try_without_credentials(team.gateway.port, &mut table));
    assert_calls(&team, calls);
    let count = table.finish(&[
        ("artifact", 2000),
        ("cursor", 300),
        ("resource of a result", 600),
        ("join", 600),
        ("save", 300),
        ("link", 300),
        ("reference", 1000),
        ("listed result", 300),
        ("kept list", 300),
    ]);
    assert!(count >= 5000, "{count} cells");
}

/// Whoever loses a tier loses the results of the tools that need it, whatever the way to them, and keeps the others.
#[test]
fn results_need_the_tier_of_their_tool_for_as_long_as_they_are_stored() {
    let team = Team::start();
    let mut clients = team.clients();
    let (mut table, mut calls) = (Table::default(), Vec::new());
    let (loots, own) = store_results(&mut clients, &mut calls);
    let people: Vec<_> = clients.iter().map(|client| client.person.demoted()).collect();
    let each = people.iter().step_by(2).copied().collect::<Vec<_>>();
    team.change_roles(&each);
    for (client, person) in clients.iter_mut().zip(people) {
        client.person = person;
    }
    for (client, own) in clients.iter_mut().zip(&own) {
        let (resources, _) = client.list("resources/list", "resources");
        let name = client.person.name;
        for loot in loots.iter().filter(|loot| loot.owner == name) {
            loot.find_in(client, &resources, &mut table);
            loot.try_all(client, own.as_deref(), &mut table, &mut calls);
        }
    }
    assert_calls(&team, calls);
    let count = table.finish(&[
        ("artifact", 300),
        ("cursor", 50),
        ("resource of a result", 100),
        ("join", 100),
        ("save", 50),
        ("link", 50),
        ("reference", 200),
        ("listed result", 50),
    ]);
    assert!(count >= 900, "{count} cells");
}
