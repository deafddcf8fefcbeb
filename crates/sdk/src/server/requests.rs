//! Calls, lists of tools and reads of resources, on their way through the gate.
//!
//! A call runs the tool only if nothing else answers it: `result_query` and fetches through the tool are answered from
//! the store, and callers without the tier of a tool are refused.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorCode, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceResult, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tidegate_core::measure;
use tidegate_core::payload::Payload;
use tidegate_gate::profile::OutputSchema;
use tidegate_gate::tier;
use tidegate_gate::{Caller, Gate, ToolCall, not_kept};
use tidegate_store::ArtifactId;

use super::Tidegate;
use super::gates::is_modern;
use crate::call::CallScope;
use crate::dispatcher::Dispatched;
use crate::heavy::Marked;
use crate::tier::Tier;

/// The maximum number of pages of a list of tools that are searched for one tool.
const MAX_LIST_PAGES: usize = 50;

impl<S: ServerHandler> Tidegate<S> {
    /// Returns the caller of a request, with its profile and its gate.
    ///
    /// # Errors
    ///
    /// A caller without a name, where those are refused.
    pub(super) fn asker(&self, context: &RequestContext<RoleServer>) -> Result<Asker, ErrorData> {
        let Some(principal) = self.principal(context) else {
            let words =
                "this server answers only callers that it knows; authenticate, and send the request again";
            return Err(ErrorData::invalid_request(words, None));
        };
        let mut caller = Caller::unknown(self.clients.clone());
        if let Some(client) = context.client_info() {
            caller.name(&client.name);
        }
        caller.modern = is_modern(context);
        caller.principal = principal;
        // Over HTTP, what a caller was sent is counted by its principal, which a session is too.
        let is_http = context.extensions.get::<http::request::Parts>().is_some();
        caller.session = (!caller.modern && !is_http).then(|| Arc::clone(&self.meter));
        if self.server.get_tool(caller.query_tool).is_some() {
            caller.query_tool = Gate::ALTERNATIVE_QUERY_TOOL;
        }
        Ok(Asker { gate: self.gate(&caller.principal), caller })
    }

    /// Returns the tier of a caller.
    fn tier_of(&self, asker: &Asker) -> Tier {
        self.permission.tier_of(asker.caller.principal.name())
    }

    /// Returns the tier that a tool needs: as a rule for its name says, or as it declares itself.
    fn needed(&self, tool: &str, marked: &Marked) -> Tier {
        self.policies.of_marked_tool(tool, &marked.rules).tier
    }

    /// Returns whether a caller may see and call a tool, and read its results.
    fn may_use(&self, asker: &Asker, tool: &str, marked: &Marked) -> bool {
        let caller = asker.caller.principal.name();
        self.permission.may_use(caller, tool, self.needed(tool, marked))
            && self.allowed.as_ref().is_none_or(|allowed| allowed(caller, tool))
    }

    /// Tells the gate the rules that a tool declares, and returns them. Where the handler does not know single tools, its
    /// list is searched; a tool that is in neither may be called by admins only.
    async fn mark(&self, asker: &mut Asker, tool: &str, context: &RequestContext<RoleServer>) -> Marked {
        let known = match self.server.get_tool(tool) {
            Some(known) => known,
            None => match self.find(tool, context).await {
                Some(known) => known,
                None => return Marked::unknown(),
            },
        };
        let marked = Marked::of(&known);
        asker.gate.mark(tool, &marked.rules);
        if known.output_schema.is_some() {
            asker.widen_schemas();
        }
        // A client that has an earlier list may call a tool before it lists tools here.
        if let Ok(listed) = serde_json::to_vec(&serde_json::json!({ "tools": [known] })) {
            asker.gate.tools(&mut asker.caller.clone(), &listed, false);
        }
        marked
    }

    /// Searches the server's list for a tool.
    async fn find(&self, tool: &str, context: &RequestContext<RoleServer>) -> Option<Tool> {
        let mut params = PaginatedRequestParams::default();
        for _ in 0..MAX_LIST_PAGES {
            let list = self.server.list_tools(Some(params), context.clone()).await.ok()?;
            if let Some(found) = list.tools.into_iter().find(|known| known.name == tool) {
                return Some(found);
            }
            params = PaginatedRequestParams::default().with_cursor(Some(list.next_cursor?));
        }
        None
    }

    /// Returns whether a caller may read a kept result: only results of tools that it may call.
    async fn may_read(&self, asker: &Asker, name: &str, context: &RequestContext<RoleServer>) -> bool {
        let name = name.to_owned();
        let tools = asker.apart(move |gate, caller| gate.tools_of(caller, &name)).await.ok().flatten();
        // A result that does not exist is reported later.
        let Some((tool, maker)) = tools else { return true };
        self.may_read_of(asker, &tool, maker.as_deref(), context).await
    }

    /// Returns whether a caller may read what a tool returned, or what a tool stored itself: then `tool` is the domain, and
    /// the tool that stored it counts as well.
    async fn may_read_of(
        &self,
        asker: &Asker,
        tool: &str,
        maker: Option<&str>,
        context: &RequestContext<RoleServer>,
    ) -> bool {
        let mut allowed = self.tier_of(asker).allows(Tier::Read);
        if let Some(marked) = self.declared(tool, context).await {
            // The tool may have been called by an earlier process, so this gate may not know its rules yet.
            asker.gate.mark(tool, &marked.rules);
            allowed = self.may_use(asker, tool, &marked);
        }
        if let Some(maker) = maker
            && let Some(marked) = self.declared(maker, context).await
        {
            allowed &= self.may_use(asker, maker, &marked);
        }
        allowed
    }

    /// Returns what a tool declares; `None` for a tool that the server does not have.
    async fn declared(&self, tool: &str, context: &RequestContext<RoleServer>) -> Option<Marked> {
        let known = match self.server.get_tool(tool) {
            Some(known) => Some(known),
            None => self.find(tool, context).await,
        };
        known.as_ref().map(Marked::of)
    }

    /// Adds the kept results that a caller may read to a list of resources.
    pub(super) async fn listed_resources(
        &self,
        asker: Asker,
        list: ListResourcesResult,
        context: &RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let kept = asker.apart(Gate::kept_with_makers).await?;
        let (mut decided, mut allowed) = (HashMap::new(), Vec::new());
        for (artifact, maker) in kept {
            let tools = (artifact.tool.clone(), maker);
            if !decided.contains_key(&tools) {
                let may_read = self.may_read_of(&asker, &tools.0, tools.1.as_deref(), context).await;
                decided.insert(tools.clone(), may_read);
            }
            if decided.get(&tools) == Some(&true) {
                allowed.push(artifact);
            }
        }
        through(list, |json| asker.gate.resources_of(&asker.caller, Some(json), &allowed))
    }

    /// Answers a call: from the store, or with the result of the tool, shaped if it is too large.
    pub(super) async fn call(
        &self,
        mut call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if let Some(dispatcher) = self.dispatcher.as_ref().filter(|dispatcher| call.name == dispatcher.name) {
            match dispatcher.dispatch(&call) {
                Ok(Dispatched::Call(params)) => call = params,
                Ok(Dispatched::Describe(tool)) => {
                    return self.described(self.asker(&context)?, &tool, &context).await;
                }
                Err(message) => return Ok(self.asker(&context)?.refused(&call.name, message)),
            }
        }
        let mut asker = self.asker(&context)?;
        let tool = call.name.to_string();
        let arguments = call.arguments.as_ref().map(bytes).transpose()?;
        if tool == asker.caller.query_tool {
            let asked = arguments.clone().unwrap_or_default();
            let names = asker.apart(move |gate, caller| gate.names_read(caller, &asked)).await?;
            for name in names {
                if !self.may_read(&asker, &name, &context).await {
                    return Ok(asker.refused(&tool, format!("{tool}: {}. Nothing was run.", not_kept(&name))));
                }
            }
            let result = asker.apart(move |gate, caller| gate.query(caller, arguments.as_deref())).await?;
            return answered(&result);
        }
        let marked = self.mark(&mut asker, &tool, &context).await;
        let allowed = self.may_use(&asker, &tool, &marked);
        let asked = arguments.clone().unwrap_or_default();
        if asker.gate.negotiates(&tool, &asked) {
            let name = tool.clone();
            let result = asker.apart(move |gate, caller| gate.fetch(caller, &name, &asked, allowed)).await?;
            return answered(&result);
        }
        if let Some(refusal) = asker.gate.refusal(&asker.caller, &tool, &asked) {
            asker.gate.note_refused(&asker.caller, &tool, &refusal);
            return answered(&refusal);
        }
        if !allowed {
            let (needed, has) = (self.needed(&tool, &marked), self.tier_of(&asker));
            let words = match has.allows(needed) {
                false => tier::refusal(&tool, needed, has),
                true => format!(
                    "this caller may not call {tool}. Nothing was run. Use a tool from tools/list, or ask the administrator \
                     of the server."
                ),
            };
            return Ok(asker.refused(&tool, words));
        }
        let ours = asker.gate.own_arguments(&tool);
        if let Some(arguments) = &mut call.arguments {
            arguments.retain(|name, _| !ours.contains(&name.as_str()));
        }
        let (caller, gate) = (asker.caller.clone(), Arc::clone(&asker.gate));
        let scope =
            CallScope { caller, gate, tool: tool.clone(), key: ArtifactId::random_shared().to_string() };
        match scope.run(self.server.call_tool(call, context)).await {
            Err(error) => Err(self.bounded(&asker, &tool, error).await),
            Ok(CallToolResponse::Complete(result)) => asker.shaped(called(tool, arguments), result).await,
            Ok(CallToolResponse::Task(task)) => {
                self.created(&asker, called(tool, arguments), &task);
                Ok(CallToolResponse::Task(task))
            }
            Ok(other) => Ok(other),
        }
    }

    /// Keeps an error whose message would flood the context, and replaces the message with an overview.
    async fn bounded(&self, asker: &Asker, tool: &str, error: ErrorData) -> ErrorData {
        let called = ToolCall { tool: tool.to_owned(), ..ToolCall::default() };
        let Ok(json) = bytes(&error) else { return error };
        let shaped = asker.apart(move |gate, caller| gate.error(caller, &called, &json.as_slice())).await;
        let shaped = shaped.ok().flatten().and_then(|shaped| parsed::<ErrorData>(&shaped).ok());
        shaped.unwrap_or(error)
    }

    /// Lists the tools that a caller may call, with ours, and without the rules that they declare.
    pub(super) async fn listed(
        &self,
        mut asker: Asker,
        mut list: ListToolsResult,
        first_page: bool,
        context: &RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        list.tools.retain(|tool| self.may_use(&asker, &tool.name, &Marked::of(tool)));
        for tool in &mut list.tools {
            let marked = Marked::of(tool);
            asker.gate.mark(&tool.name, &marked.rules);
            Marked::take_out(tool);
        }
        if let Some(dispatcher) = &self.dispatcher {
            let mut fronted = list.tools.clone();
            if first_page {
                let mut later = self.tools_after(list.next_cursor.clone(), context).await;
                later.retain(|tool| self.may_use(&asker, &tool.name, &Marked::of(tool)));
                fronted.extend(later);
            }
            if dispatcher.hides {
                (list.tools, list.next_cursor) = (Vec::new(), None);
            }
            if first_page {
                list.tools.push(dispatcher.tool(&fronted));
            }
        }
        asker.widen_schemas();
        let (gate, caller) = (&asker.gate, &mut asker.caller);
        through(list, |json| gate.tools(caller, json, first_page))
    }

    /// Returns the tools on the pages of the server's list from a cursor on.
    async fn tools_after(
        &self,
        mut cursor: Option<String>,
        context: &RequestContext<RoleServer>,
    ) -> Vec<Tool> {
        let mut tools = Vec::new();
        for _ in 0..MAX_LIST_PAGES {
            let Some(next) = cursor else { break };
            let params = PaginatedRequestParams::default().with_cursor(Some(next));
            let Ok(list) = self.server.list_tools(Some(params), context.clone()).await else { break };
            tools.extend(list.tools);
            cursor = list.next_cursor;
        }
        tools
    }

    /// Returns the description and the arguments of a tool that a dispatcher hides.
    async fn described(
        &self,
        mut asker: Asker,
        tool: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let known = match self.server.get_tool(tool) {
            Some(known) => Some(known),
            None => self.find(tool, context).await,
        };
        let Some(mut known) = known.filter(|known| self.may_use(&asker, tool, &Marked::of(known))) else {
            let words =
                format!("there is no tool {tool:?} for this caller; use a name from the schema of `tool`");
            return Ok(asker.refused(tool, words));
        };
        asker.gate.mark(tool, &Marked::of(&known).rules);
        Marked::take_out(&mut known);
        known.output_schema = None;
        let list = ListToolsResult::with_all_items(vec![known]);
        let (gate, caller) = (&asker.gate, &mut asker.caller);
        let listed = through(list, |json| gate.tools(caller, json, false))?;
        let text = serde_json::to_string(&listed.tools[0])
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }

    /// Reads a resource of ours; `None` for a resource of the server.
    pub(super) async fn read_ours(
        &self,
        uri: &str,
        context: &RequestContext<RoleServer>,
    ) -> Option<Result<ReadResourceResult, ErrorData>> {
        let asker = match self.asker(context) {
            Ok(asker) => asker,
            Err(refused) => return Some(Err(refused)),
        };
        let given = uri.to_owned();
        if !asker.apart(move |gate, caller| gate.owns(caller, &given)).await.unwrap_or(false) {
            return None;
        }
        if !self.may_read(&asker, uri, context).await {
            return Some(Err(ErrorData::resource_not_found(not_kept(uri), None)));
        }
        let uri = uri.to_owned();
        let read = asker.apart(move |gate, caller| gate.read_resource(caller, &uri)).await;
        let read = read.and_then(|read| {
            read.map_err(|error| ErrorData::new(ErrorCode(error.code as i32), error.message, None))
        });
        Some(read.and_then(|read| parsed(&read)))
    }
}

/// A caller, and the gate that keeps its results.
pub(super) struct Asker {
    pub(super) caller: Caller,
    pub(super) gate: Arc<Gate>,
}

impl Asker {
    /// Lets tools keep their `outputSchema`, widened by our envelope, unless a setting for the client says otherwise.
    fn widen_schemas(&mut self) {
        let rule = self.caller.output_schema_rule;
        self.caller.profile.output_schema = rule.unwrap_or(OutputSchema::Union);
    }

    /// Returns the answer to a call that was not made, and records it.
    fn refused(&self, tool: &str, message: String) -> CallToolResponse {
        let result = self.as_sent(CallToolResult::error(vec![ContentBlock::text(message)]));
        if let Ok(answer) = bytes(&result) {
            self.gate.note_refused(&self.caller, tool, &answer);
        }
        result.into()
    }

    /// Returns a result as rmcp sends it: clients of the sessions' era get no type of it.
    fn as_sent(&self, mut result: CallToolResult) -> CallToolResult {
        if !self.caller.modern {
            result.result_type = None;
        }
        result
    }

    /// Keeps and shapes a result that does not fit.
    async fn shaped(&self, called: ToolCall, result: CallToolResult) -> Result<CallToolResponse, ErrorData> {
        let result = self.as_sent(result);
        let answer = self.decided(called, &result).await?;
        answer.map_or_else(|| Ok(result.into()), |answer| answered(&answer))
    }

    /// Returns what is sent instead of a result; `None` if it passes as it is.
    pub(super) async fn decided(
        &self,
        called: ToolCall,
        result: &CallToolResult,
    ) -> Result<Option<Vec<u8>>, ErrorData> {
        let json: Arc<Vec<u8>> = Arc::new(bytes(result)?);
        let (passed, tool) = (Arc::clone(&json), called.clone());
        let answer = self
            .apart(move |gate, caller| {
                let (started, source) = (Instant::now(), json.as_slice());
                let decision = gate.decide(caller, &called, &source);
                if decision.answer.is_none() {
                    let count =
                        || measure::cost(&Payload::read_result(&source).ok()?, &caller.profile.meter).ok();
                    if let Some(cost) = decision.raw.or_else(count) {
                        gate.note_passed(caller, &called.tool, cost, started);
                    }
                }
                decision.answer
            })
            .await?;
        if answer.is_none() && self.gate.keeps_passed(&tool.tool) {
            // Storing is not awaited: the answer does not depend on it.
            let (gate, caller) = (Arc::clone(&self.gate), self.caller.clone());
            tokio::task::spawn_blocking(move || gate.keep_passed(&caller, &tool, &passed.as_slice()));
        }
        Ok(answer)
    }

    /// Runs work that may wait for the disk on a thread for blocking work.
    pub(super) async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Gate, &Caller) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let (gate, caller) = (Arc::clone(&self.gate), self.caller.clone());
        let done = tokio::task::spawn_blocking(move || work(&gate, &caller)).await;
        let words = "tidegate failed on this result; if the tool was called, it did run: call it again only if it is safe to \
                     repeat, with arguments that give a smaller result";
        done.map_err(|_| ErrorData::internal_error(words, None))
    }
}

/// Returns a call for the gate.
fn called(tool: String, arguments: Option<Vec<u8>>) -> ToolCall {
    let arguments = arguments.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    ToolCall { tool, arguments, by_program: false }
}

/// Returns an answer of the gate as a response.
fn answered(result: &[u8]) -> Result<CallToolResponse, ErrorData> {
    Ok(parsed::<CallToolResult>(result)?.into())
}

fn bytes(value: &impl Serialize) -> Result<Vec<u8>, ErrorData> {
    serde_json::to_vec(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

pub(super) fn parsed<T: DeserializeOwned>(json: &[u8]) -> Result<T, ErrorData> {
    serde_json::from_slice(json).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Lets the gate change a value as JSON; a value that it does not change stays the same.
pub(super) fn through<T: Serialize + DeserializeOwned>(
    value: T,
    change: impl FnOnce(&[u8]) -> Option<Vec<u8>>,
) -> Result<T, ErrorData> {
    match change(&bytes(&value)?) {
        Some(changed) => parsed(&changed),
        None => Ok(value),
    }
}
