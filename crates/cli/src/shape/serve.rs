//! `tidegate shape --serve`: the gate as a child of a server in another language.
//!
//! The first line names the server and the rules of its tools, `{"open":{"server":"shop","tools":{"list_all":{"style":
//! "probe"}}}}`, and is answered with the version, or with what is wrong. The other lines are those of
//! [`tidegate_proxy::service`].

use std::io::{self, BufRead};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use tidegate_config::Config;
use tidegate_gate::policy::{Policies, Rules};
use tidegate_gate::{Caller, CallerId, Gate, Principal, Setup, StoreLocation, UserStore, causes};
use tidegate_proxy::service::{Service, Who};
use tidegate_proxy::{Link, Mode};
use tidegate_query::{Limits, Queries, Worker};

use crate::error::CommandError;
use crate::ui;

/// Serves until stdin ends.
pub(super) fn run(config: &Config) -> Result<(), CommandError> {
    let mut first = String::new();
    io::stdin().lock().read_line(&mut first).map_err(CommandError::failed)?;
    let opening = match Opening::read(&first, config) {
        Ok(opening) => opening,
        Err(why) => {
            ui::data(format!("{}\n", json!({ "failed": why })).as_bytes())?;
            return Err(CommandError::bad_input(why));
        }
    };
    let worker = Worker::current().map_err(CommandError::failed)?;
    ui::data(format!("{}\n", json!({ "open": { "version": env!("CARGO_PKG_VERSION") } })).as_bytes())?;
    let service = Service::new(move |who| opening.link(who, worker.clone()));
    service.run(io::stdin().lock(), io::stdout()).map_err(CommandError::failed)
}

/// What the first line says, and the user's settings.
struct Opening {
    server: String,
    /// The rules that the tools declare themselves.
    tools: Vec<(String, Rules)>,
    policies: Policies,
    clients: Vec<(String, tidegate_gate::profile::ProfileRules)>,
    keep: UserStore,
}

impl Opening {
    fn read(line: &str, config: &Config) -> Result<Self, String> {
        let line: Value =
            serde_json::from_str(line).map_err(|error| format!("the first line is not JSON: {error}"))?;
        let open = line.get("open").ok_or(r#"the first line must be {"open":{"server":"NAME"}}"#)?;
        let server = open["server"].as_str().unwrap_or("server").to_owned();
        let none = Map::new();
        let rules = |tool: &str, settings: &Value| {
            Config::rules(tool, settings.as_object().unwrap_or(&none))
                .map_err(|mistakes| mistakes.to_string())
        };
        let tools = open["tools"].as_object().unwrap_or(&none);
        let tools = tools.iter().map(|(tool, settings)| Ok((tool.clone(), rules(tool, settings)?)));
        let tools = tools.collect::<Result<Vec<_>, String>>()?;
        let mut policies = config.policies(&server, Rules::default());
        policies.defaults = policies.defaults.over(&rules("defaults", &open["defaults"])?);
        let place = match open["ephemeral"].as_bool() {
            Some(true) => StoreLocation::Memory,
            _ => config.place(),
        };
        let settings = config.store_settings().map_err(|error| causes(&error))?;
        let keep = UserStore::of_user(place).with_settings(settings);
        Ok(Self { server, tools, policies, clients: config.clients(), keep })
    }

    /// Returns the conversation with a caller, whose results no other can read.
    fn link(&self, who: &Who, worker: Worker) -> Link {
        let principal = match who {
            Who::Everybody => Principal::User,
            Who::Named(name) => CallerId::new(name).map_or(Principal::Stateless, Principal::Named),
            Who::Unknown(session) => session.clone().map_or(Principal::Stateless, Principal::Session),
        };
        let keep = self.keep.of_principal(&principal, &self.server);
        let gate = Gate::new(Setup {
            keep: Arc::new(keep),
            policies: self.policies.clone(),
            engines: Queries::new(Limits::default(), worker),
            server: self.server.clone(),
        });
        self.tools.iter().for_each(|(tool, rules)| gate.mark(tool, rules));
        Link::new(Arc::new(gate), Caller::unknown(self.clients.clone()), Mode::Shape, None)
    }
}
