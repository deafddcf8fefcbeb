//! What a client leaves behind, and every way in which another could try to get at it.

use serde_json::{Value, json};

use super::model::{SERVERS, Tool, may_refer};
use super::table::Table;
use super::team::{Answer, Client, Era};
use crate::http::Connection;
use crate::session::handle;

/// A stored result, and what leads to it.
pub(super) struct Loot {
    /// The name of its owner.
    pub(super) owner: &'static str,
    tool: Tool,
    /// A text that only this result holds.
    secret: String,
    handle: String,
    uri: String,
    cursor: String,
    /// The path of a link to a file with the result.
    link: String,
}

/// Calls a tool whose result is stored; returns the name of the result.
pub(super) fn keep(
    client: &mut Client,
    tool: Tool,
    count: u64,
    mark: &str,
    calls: &mut Vec<String>,
) -> String {
    let text = client.call(&tool.listed(), json!({"n": count, "mark": mark})).text();
    calls.push(format!("{} {} {mark}", tool.server, tool.name));
    handle(&text)
}

impl Loot {
    /// Lets a client store a result of the most protected tool of a server; `None` if it may call none. Everything that leads
    /// to the result must be there.
    pub(super) fn leave(client: &mut Client, server: &'static str, calls: &mut Vec<String>) -> Option<Self> {
        let owner = client.person.name;
        let secret = format!("secret-{owner}-{server}-{:?}", client.era);
        let tool = client.person.best_tool(server)?;
        let handle = keep(client, tool, 300, &secret, calls);
        let id = handle.rsplit('-').next().unwrap();
        let (resources, _) = client.list("resources/list", "resources");
        let uri = resources.iter().filter_map(|entry| entry["uri"].as_str()).find(|uri| uri.ends_with(id));
        let uri = uri.unwrap_or_else(|| panic!("{handle} is not listed for {owner}")).to_owned();
        let rows = json!({"id": handle, "sql": "select number, title from t order by number"});
        let text = client.call("result_query", rows).text();
        let cursor = text.split("\"cursor\":\"").nth(1).and_then(|rest| rest.split('"').next());
        let cursor = cursor.unwrap_or_else(|| panic!("no cursor: {text}")).to_owned();
        let saved = client.call("result_save", json!({"id": handle, "name": "rows.csv"})).text();
        let link = saved.split("/saved/").nth(1).and_then(|rest| rest.split(' ').next());
        let link = format!("/saved/{}", link.unwrap_or_else(|| panic!("no link: {saved}")));
        Some(Self { owner, tool, secret, handle, uri, cursor, link })
    }

    /// Whether a client may read it: its owner, as long as that may call the tool.
    fn is_readable_by(&self, client: &Client) -> bool {
        client.person.name == self.owner && client.person.may_call(self.tool)
    }

    fn id(&self) -> &str {
        self.handle.rsplit('-').next().unwrap()
    }

    /// Notes the cells of one client that tries every way to the result. `own` is a result of its own, if it may have any.
    pub(super) fn try_all(
        &self,
        client: &mut Client,
        own: Option<&str>,
        table: &mut Table,
        calls: &mut Vec<String>,
    ) {
        let is_owner = self.is_readable_by(client);
        let label = format!("{} of {} to {}", self.secret, self.owner, client.label());
        let handle = self.handle.as_str();
        let views = [
            json!({"id": handle}),
            json!({"id": handle, "page": 2}),
            json!({"id": handle, "path": "/7/title"}),
            json!({"id": handle, "sql": "select title from t limit 2"}),
            json!({"id": handle, "jq": ".[3].title"}),
            json!({"id": self.id(), "page": 1}),
            json!({"id": self.uri, "page": 1}),
        ];
        for arguments in views {
            let answer = client.call("result_query", arguments.clone());
            self.note("artifact", is_owner, &answer, table, || format!("{label}, {arguments}"));
        }
        let next = json!({"id": handle, "cursor": self.cursor});
        let answer = client.call("result_query", next);
        self.note("cursor", is_owner, &answer, table, || label.clone());
        for uri in [self.uri.clone(), format!("{}?path=%2F7%2Ftitle", self.uri)] {
            let answer = client.request("resources/read", json!({"uri": uri}));
            self.note("resource of a result", is_owner, &answer, table, || format!("{label}, {uri}"));
        }
        for arguments in own.into_iter().flat_map(|own| self.joins(own)) {
            let answer = client.call("result_query", arguments.clone());
            self.note("join", is_owner, &answer, table, || format!("{label}, {arguments}"));
        }
        let saved = client.call("result_save", json!({"id": handle, "name": "mine.csv"}));
        let is_saved = !saved.is_refused() && saved.text().contains("/saved/");
        table.cell("save", is_owner, is_saved, || format!("{label}: {}", saved.text()));
        let (status, body) = client.download(&self.link);
        let is_sent = status == 200 && body.contains(&self.secret);
        table.cell("link", is_owner, is_sent, || format!("{label}: {status} {body}"));
        if !is_owner && (status != 404 || body.contains(&self.secret)) {
            table.wrong(format!("a link that is not valid has the status {status}: {label}"));
        }
        self.refer(client, is_owner, table, calls);
    }

    /// Notes what the link leads to without any credentials.
    pub(super) fn try_without_credentials(&self, port: u16, table: &mut Table) {
        let reply = Connection::to(port).get(&self.link, &[]);
        table.cell("link", false, reply.status < 400, || format!("{} without credentials", self.secret));
    }

    /// Queries over a result of the client that name this one as well.
    fn joins(&self, own: &str) -> [Value; 2] {
        let sql = format!("select o.title from t join \"{}\" o using (number) limit 2", self.handle);
        let jq = format!("$results[\"{}\"][0].title", self.handle);
        [json!({"id": own, "sql": sql}), json!({"id": own, "jq": jq})]
    }

    /// Passes the result by reference to a tool of each server.
    fn refer(&self, client: &mut Client, is_owner: bool, table: &mut Table, calls: &mut Vec<String>) {
        for server in &SERVERS {
            let Some(tool) = client.person.best_tool(server.name) else { continue };
            let expected = is_owner && may_refer(self.tool.server, server.name);
            let references = [
                json!(format!("result://{}#/7/title", self.handle)),
                json!({"$result": self.handle, "jq": ".[7].title"}),
            ];
            for (number, reference) in references.into_iter().enumerate() {
                let mark = format!("reference-{number}-{}-to-{}", client.label(), self.secret);
                // The mark must not be taken for the value.
                let mark = mark.replace("secret", "s").replace(' ', "");
                let answer = client.call(&tool.listed(), json!({"x": reference, "mark": mark}));
                self.note("reference", expected, &answer, table, || format!("{mark} to {}", server.name));
                if expected {
                    calls.push(format!("{} {} {mark}", tool.server, tool.name));
                }
            }
        }
    }

    /// Notes a cell that is allowed if the answer holds the secret; any other answer must be a refusal.
    fn note(
        &self,
        kind: &'static str,
        expected: bool,
        answer: &Answer,
        table: &mut Table,
        describe: impl Fn() -> String,
    ) {
        let has_secret = answer.json.to_string().contains(&self.secret);
        table.cell(kind, expected, has_secret, || format!("{}: {}", describe(), answer.json));
        if !expected && !has_secret && !answer.is_refused() {
            table.wrong(format!("{kind} was neither shown nor refused: {}: {}", describe(), answer.json));
        }
    }

    /// Notes whether the result is in the list of resources that a client gets.
    pub(super) fn find_in(&self, client: &Client, resources: &[Value], table: &mut Table) {
        let is_listed = resources.iter().any(|entry| entry["uri"] == self.uri.as_str());
        let label = || format!("{} for {}", self.secret, client.label());
        table.cell("listed result", self.is_readable_by(client), is_listed, label);
    }

    /// Notes whether `result_query` lists the result, which lists what the session of the client stored.
    pub(super) fn find_kept(&self, client: &Client, kept: &str, table: &mut Table) {
        let is_owner = client.person.name == self.owner;
        let is_of_session =
            self.secret.ends_with(&format!("{:?}", Era::Session)) && client.era == Era::Session;
        if !is_owner || is_of_session {
            let is_kept = kept.contains(self.id());
            table.cell("kept list", is_owner, is_kept, || format!("{} for {}", self.secret, client.label()));
        }
    }
}
