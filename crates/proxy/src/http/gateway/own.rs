//! The requests that the gateway answers itself: its capabilities, the merged lists, and subscriptions to their changes.
//!
//! Such an answer goes through the link of its client, as the response of a server does. There the gate adds `result_query`
//! to the first page of tools and declares resources.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tidegate_gate::{RpcError, raw};
use tidegate_gateway::caller::Principal;
use tidegate_gateway::catalog::ListKind;
use tidegate_gateway::lists::{ListPage, ListedEntry, page};

use super::Gateway;
use super::connection::MODERN_VERSION;
use super::dispatch::{Asker, may_use};
use super::registry::announcement;
use super::route::OwnMethod;
use super::upstream::Upstream;
use crate::http::legacy::LEGACY_VERSIONS;
use crate::http::shared_server::{self, Delivery, deliver};
use crate::message::ParsedLine;

/// How long the first requests wait for servers whose lists were not read yet.
pub(super) const LIST_PATIENCE: Duration = Duration::from_secs(10);
/// The key of `_meta` that names the subscription to which a notification belongs.
const SUBSCRIPTION_ID_KEY: &str = "io.modelcontextprotocol/subscriptionId";

/// Returns the notification that a list has changed.
pub(super) fn change_method(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Tools => "notifications/tools/list_changed",
        ListKind::Prompts => "notifications/prompts/list_changed",
        ListKind::Resources | ListKind::Templates => "notifications/resources/list_changed",
    }
}

/// Returns the member of the params of `subscriptions/listen` that asks for such notifications.
pub(super) fn subscription_key(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Tools => "toolsListChanged",
        ListKind::Prompts => "promptsListChanged",
        ListKind::Resources | ListKind::Templates => "resourcesListChanged",
    }
}

fn server_info() -> Value {
    json!({"name": "tidegate-gateway", "version": env!("CARGO_PKG_VERSION")})
}

impl Gateway {
    /// Answers a request that no single server can answer.
    pub(super) async fn answer_own(self: Arc<Self>, asker: Asker, message: ParsedLine, own: OwnMethod) {
        let Some(head) = message.first() else { return };
        let (id, none) = (head.id_bytes().to_vec(), 0..0);
        let params = head.params.clone().unwrap_or(none);
        let params: Value = serde_json::from_slice(&message.bytes[params]).unwrap_or_default();
        let result = match own {
            OwnMethod::Initialize => self.initialized(&asker).await,
            OwnMethod::Discover => self.discovered(&asker).await,
            OwnMethod::Ping => Ok(b"{}".to_vec()),
            OwnMethod::SetLevel => {
                if let Some(session) = &asker.session {
                    self.set_level(session, &params);
                    self.tell_replicas(session, "", &message);
                }
                Ok(b"{}".to_vec())
            }
            OwnMethod::List(kind) => self.listed(&asker, kind, &params).await,
            // In a session, list changes are sent on its stream.
            OwnMethod::Listen if asker.session.is_some() => {
                let message = "method not found: subscriptions/listen".to_owned();
                Err(RpcError { code: -32601, message })
            }
            OwnMethod::Listen => return self.listen(asker, &id, &params).await,
        };
        self.answer(&asker, &id, result);
    }

    async fn initialized(self: &Arc<Self>, asker: &Asker) -> Result<Vec<u8>, RpcError> {
        self.wait_until_listed(LIST_PATIENCE).await;
        self.read_lists_for(asker).await;
        let version = asker.session.as_ref().map_or("", |session| session.server.version.as_str());
        let mut result = self.announcement_for(&asker.principal);
        result.insert("protocolVersion".into(), version.into());
        result.insert("serverInfo".into(), server_info());
        Ok(Value::Object(result).to_string().into_bytes())
    }

    async fn discovered(self: &Arc<Self>, asker: &Asker) -> Result<Vec<u8>, RpcError> {
        self.wait_until_listed(LIST_PATIENCE).await;
        self.read_lists_for(asker).await;
        let mut result = self.announcement_for(&asker.principal);
        let versions: Vec<&str> = [MODERN_VERSION].into_iter().chain(LEGACY_VERSIONS).collect();
        result.insert("supportedVersions".into(), versions.into());
        result.insert("_meta".into(), json!({"io.modelcontextprotocol/serverInfo": server_info()}));
        put_cache_hints(&mut result);
        Ok(Value::Object(result).to_string().into_bytes())
    }

    /// Returns what a caller is told of all servers; the instructions are those of servers that it may use.
    pub(super) fn announcement_for(&self, principal: &Principal) -> Map<String, Value> {
        let snapshot = self.registry.snapshot();
        let has_usable = |kind: ListKind, upstream: &Upstream| {
            let of_server = |entry: &&ListedEntry| *entry.server == *upstream.settings.name;
            let mut entries = snapshot.list(kind).iter().filter(of_server);
            entries.any(|entry| may_use(principal, upstream, Some(&entry.key)))
        };
        announcement(&snapshot, &self.registry.servers, |at| {
            let upstream = &self.upstreams[at];
            may_use(principal, upstream, None)
                || has_usable(ListKind::Tools, upstream)
                || has_usable(ListKind::Prompts, upstream)
        })
    }

    /// Returns a page of a merged list, with the entries that the caller may use.
    async fn listed(
        self: &Arc<Self>,
        asker: &Asker,
        kind: ListKind,
        params: &Value,
    ) -> Result<Vec<u8>, RpcError> {
        self.wait_until_listed(LIST_PATIENCE).await;
        self.read_lists_for(asker).await;
        let snapshot = self.registry.snapshot();
        let may = |entry: &&ListedEntry| {
            let tool = matches!(kind, ListKind::Tools | ListKind::Prompts).then_some(entry.key.as_str());
            let upstream = self.upstreams.iter().find(|upstream| *upstream.settings.name == *entry.server);
            upstream.is_some_and(|upstream| may_use(&asker.principal, upstream, tool))
        };
        let entries: Vec<&ListedEntry> = snapshot.list(kind).iter().filter(may).collect();
        let cursor = params["cursor"].as_str();
        let page = page(kind, &entries, cursor, &self.sealer, asker.principal.name())
            .map_err(|error| RpcError { code: -32602, message: error.to_string() })?;
        Ok(written(kind, &page, asker.session.is_none()))
    }

    /// Sends a client notifications about the list changes it subscribed to, until it disconnects.
    async fn listen(&self, asker: Asker, id: &[u8], params: &Value) {
        let (mut changes, mut is_ending) = (self.changes.subscribe(), self.is_ending.subscribe());
        let wanted = &params["notifications"];
        let mut meta = Map::new();
        let id: Value = serde_json::from_slice(id).unwrap_or_default();
        meta.insert(SUBSCRIPTION_ID_KEY.into(), id);
        let agreed: Map<String, Value> = ListKind::ALL
            .iter()
            .map(|kind| subscription_key(*kind))
            .filter(|key| wanted[*key] == json!(true))
            .map(|key| (key.to_owned(), json!(true)))
            .collect();
        let notify = |method: &str, mut params: Map<String, Value>| {
            params.insert("_meta".into(), Value::Object(meta.clone()));
            let line = json!({"jsonrpc": "2.0", "method": method, "params": params}).to_string();
            let message = line.into_bytes().into();
            deliver(
                &asker.deliveries,
                Delivery { is_response: false, ..shared_server::response(message, None) },
            );
        };
        let mut acknowledged = Map::new();
        acknowledged.insert("notifications".into(), Value::Object(agreed.clone()));
        notify("notifications/subscriptions/acknowledged", acknowledged);
        loop {
            let change = tokio::select! {
                change = changes.recv() => change,
                _ = is_ending.wait_for(|ending| *ending) => return,
            };
            match change {
                Ok(kind) if agreed.contains_key(subscription_key(kind)) => {
                    notify(change_method(kind), Map::new());
                }
                Ok(_) => {}
                Err(tokio::sync::broadcast::error::RecvError::Lagged(_)) => {}
                Err(tokio::sync::broadcast::error::RecvError::Closed) => return,
            }
        }
    }
}

/// Adds the members that list results have since 2026-07-28. Lists depend on the caller and may change at any time, so they must
/// not be cached.
fn put_cache_hints(result: &mut Map<String, Value>) {
    result.insert("resultType".into(), "complete".into());
    result.insert("ttlMs".into(), 0.into());
    result.insert("cacheScope".into(), "private".into());
}

/// Serializes a page; its entries stay as their servers wrote them.
fn written(kind: ListKind, page: &ListPage<'_, &ListedEntry>, is_modern: bool) -> Vec<u8> {
    let mut out = format!("{{\"{}\":[", kind.member()).into_bytes();
    for (number, entry) in page.entries.iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        out.extend_from_slice(&entry.json);
    }
    out.push(b']');
    if let Some(next) = &page.next {
        out.extend_from_slice(format!(",\"nextCursor\":{}", Value::from(next.as_str())).as_bytes());
    }
    if is_modern {
        let mut hints = Map::new();
        put_cache_hints(&mut hints);
        let hints = Value::Object(hints).to_string();
        out.extend_from_slice(format!(",{}", &hints[1..hints.len() - 1]).as_bytes());
    }
    out.push(b'}');
    debug_assert!(raw::whole(&out).is_some(), "a list is JSON");
    out
}
