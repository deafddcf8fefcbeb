//! Messages of the client: which are forwarded, which tidegate answers itself, and which responses to wait for.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant;

use smallvec::SmallVec;
use tidegate_gate::raw::{self, ByteRange, Edits, Member};
use tidegate_gate::{Gate, Principal, ToolCall};

use super::local::LocalKind;
use super::{Conversation, Link, LocalRequest, Mode, ResolveJob, append_line, tiers};
use crate::content::Content;
use crate::message::{Heads, MessageHead, MessageKind, ParsedLine, parse_heads, same_id};
use crate::pending::{PendingRequest, RequestKind};

/// How many ids of local requests are remembered.
const MAX_LOCAL_IDS: usize = 256;
/// How many ids of messages that could not be read are remembered.
const MAX_UNREADABLE_IDS: usize = 64;
/// How many ids are looked for in one message that cannot be read.
const MAX_IDS_PER_UNREADABLE: usize = 8;
/// Methods whose response may take any time, whatever the timeout.
const METHODS_WITHOUT_TIMEOUT: [&str; 2] = ["subscriptions/listen", "tasks/result"];

/// What to do with a line of the client.
#[derive(Debug, Default)]
pub struct ClientOutcome {
    /// What to send to the server.
    pub forward: Option<Vec<u8>>,
    /// Requests that tidegate answers itself.
    pub local: Vec<LocalRequest>,
    /// Calls whose references have to be resolved before they go to the server.
    pub resolve: Vec<ResolveJob>,
}

/// What tidegate itself does about messages of the client, on another thread.
#[derive(Debug, Default)]
pub(crate) struct OwnWork {
    /// Requests that it answers.
    pub(crate) requests: Vec<LocalRequest>,
    /// Calls whose references it resolves.
    pub(crate) calls: Vec<ResolveJob>,
}

impl OwnWork {
    /// Returns whether there is nothing to do.
    pub(crate) fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.calls.is_empty()
    }
}

/// What happens to one message of the client.
pub(super) enum ClientDecision {
    Forward,
    /// tidegate answers it.
    Local(Box<LocalRequest>),
    /// Its references are resolved before it goes to the server.
    Resolve(Box<ResolveJob>),
    /// The server has no use for it.
    Drop,
}

impl Link {
    /// Takes a line of the client.
    pub fn from_client(&self, line: Vec<u8>) -> ClientOutcome {
        let (forward, own) = self.parsed_from_client(ParsedLine::parse(line));
        let OwnWork { requests, calls } = own;
        ClientOutcome { forward: forward.map(|line| line.bytes), local: requests, resolve: calls }
    }

    /// Takes a parsed message of the client; returns what to send to the server, and what tidegate does itself.
    pub(crate) fn parsed_from_client(&self, line: ParsedLine) -> (Option<ParsedLine>, OwnWork) {
        let (edits, kept, own) = self.decide_on_client(&line.bytes, line.heads.as_ref());
        let Some(kept) = kept else { return (None, own) };
        let heads = match line.heads {
            Some(heads) if kept.len() < heads.len() => {
                Some(kept.iter().map(|index| heads[*index].clone()).collect())
            }
            heads => heads,
        };
        (Some(ParsedLine { bytes: line.bytes, heads }.edit(edits)), own)
    }

    /// Takes a line of the client, appends what to send to the server, and returns what tidegate does itself.
    pub(crate) fn pass_to_server(&self, line: &[u8], forward: &mut Vec<u8>) -> OwnWork {
        let (edits, kept, own) = self.decide_on_client(line, parse_heads(line).as_ref());
        if kept.is_some() {
            append_line(forward, Some(&edits.applied(line.into())));
        }
        own
    }

    /// Decides on each message of a line. Returns the edits, the indices of the messages to forward unless there are none,
    /// and what tidegate does itself. A line that is not JSON is forwarded.
    fn decide_on_client(
        &self,
        line: &[u8],
        heads: Option<&Heads>,
    ) -> (Edits, Option<SmallVec<[usize; 4]>>, OwnWork) {
        let mut conversation = self.conversation();
        let (mut edits, mut kept, mut own) = (Edits::new(), SmallVec::new(), OwnWork::default());
        let is_limited = self.mode == Mode::Shape && tiers::is_limited(&self.caller(&conversation));
        let Some(heads) = heads else {
            conversation.unreadable.note(line);
            return (edits, (!is_limited).then_some(kept), own);
        };
        for (index, head) in heads.iter().enumerate() {
            if head.kind() == MessageKind::Unreadable {
                conversation.unreadable.note(&line[head.whole.clone()]);
            }
            let decision = match is_limited && tiers::is_ambiguous(line, head) {
                true => tiers::refused(head, &self.caller(&conversation)),
                false => self.client_message(&mut conversation, line, head, &mut edits),
            };
            match decision {
                ClientDecision::Local(request) => own.requests.push(*request),
                ClientDecision::Resolve(job) => own.calls.push(*job),
                ClientDecision::Drop => {}
                ClientDecision::Forward => kept.push(index),
            }
        }
        if kept.is_empty() && !heads.is_empty() {
            return (edits, None, own);
        }
        if kept.len() < heads.len() {
            remove_messages(heads, |index| !kept.contains(&index), &mut edits);
        }
        (edits, Some(kept), own)
    }

    /// Decides on a message of the client.
    fn client_message(
        &self,
        conversation: &mut Conversation,
        line: &[u8],
        head: &MessageHead,
        edits: &mut Edits,
    ) -> ClientDecision {
        let (method, none) = (head.method(), 0..0);
        let params = head.params.as_ref().unwrap_or(&none);
        match head.kind() {
            MessageKind::Request => {}
            MessageKind::Notification
                if method == "notifications/cancelled" && self.cancel(conversation, line, params) =>
            {
                return ClientDecision::Drop;
            }
            MessageKind::Response => {
                conversation.questions.settle(head.id_bytes());
                return ClientDecision::Forward;
            }
            MessageKind::Notification if method == "tools/call" => {
                let none = |_: &Conversation| PendingRequest::default();
                let params = Params::read(line, params);
                let decision = self.decide_on_references(conversation, line, head, &params, &none);
                return decision.unwrap_or(ClientDecision::Forward);
            }
            _ => return ClientDecision::Forward,
        }
        let id = head.id_bytes().to_vec();
        if let Some(renewed) = conversation.caller.renewed(method, line, params) {
            conversation.caller = Arc::new(renewed);
        }
        let params = Params::read(line, params);
        // Few tools have arguments of tidegate's, so this is looked up once.
        let tool =
            (method == "tools/call" && self.mode == Mode::Shape).then(|| params.text("name")).flatten();
        let tool = tool.filter(|tool| self.gate.has_arguments(tool));
        if let Some(kind) = self.local_kind(conversation, method, &params, tool.as_deref()) {
            conversation.note_local(id.clone());
            let request = LocalRequest::new(id, kind, self.caller(conversation));
            return ClientDecision::Local(Box::new(request));
        }
        let request = |conversation: &Conversation| {
            let kind = conversation.request_kind(method, &params);
            let timeout = self.timeout.filter(|_| !METHODS_WITHOUT_TIMEOUT.contains(&method));
            let deadline = timeout.map(|timeout| Instant::now() + timeout);
            let progress_token = deadline.and_then(|_| params.progress_token());
            PendingRequest { id: id.clone(), kind, deadline, progress_token, ..PendingRequest::default() }
        };
        if method == "tools/call"
            && let Some(decision) = self.decide_on_references(conversation, line, head, &params, &request)
        {
            return decision;
        }
        if let (Some(tool), Some(arguments)) = (tool, params.range("arguments")) {
            self.gate.take_out(&tool, line, &arguments, edits);
        }
        self.pending().add(request(conversation));
        ClientDecision::Forward
    }

    /// Notes a cancellation; returns whether it concerns a local request.
    fn cancel(&self, conversation: &mut Conversation, line: &[u8], params: &ByteRange) -> bool {
        let Some(id) = raw::member(line, params, "requestId") else { return false };
        let id = &line[id];
        self.pending().cancel(id);
        conversation.questions.drop_all();
        conversation.take_resolving(id) || conversation.local_ids.iter().any(|local| local == id)
    }

    /// Returns what a request asks of tidegate instead of the server; `tool` is the called tool if it has arguments of
    /// tidegate's.
    fn local_kind(
        &self,
        conversation: &Conversation,
        method: &str,
        params: &Params<'_>,
        tool: Option<&str>,
    ) -> Option<LocalKind> {
        if self.mode != Mode::Shape {
            return None;
        }
        match method {
            "tools/call" if is_reader(conversation, &params.text("name")?) => {
                Some(LocalKind::Query(params.get("arguments").map(<[u8]>::to_vec)))
            }
            "tools/call" if self.is_saver(conversation, &params.text("name")?) => {
                Some(LocalKind::Save(params.get("arguments").map(<[u8]>::to_vec)))
            }
            "tools/call" => {
                let arguments = params.get("arguments");
                if let (Some(tool), Some(arguments)) = (tool, arguments)
                    && self.gate.negotiates(tool, arguments)
                {
                    return Some(LocalKind::Fetch(tool.to_owned(), arguments.to_vec()));
                }
                let caller = self.caller(conversation);
                if tiers::is_limited(&caller) {
                    let name = params.text("name")?;
                    if let Some(refused) = self.gate.forbidden(&caller, &name) {
                        return Some(LocalKind::Refused(name.into_owned(), refused));
                    }
                }
                let refusal = self.gate.refusal(&caller, tool?, arguments?)?;
                Some(LocalKind::Refused(tool?.to_owned(), refusal))
            }
            "resources/read" => {
                let uri = params.text("uri")?;
                let caller = &self.caller(conversation);
                // A server may have kept it itself, for a user that this caller is not: then it is the server's to answer.
                let may_be_of_server = caller.principal != Principal::User && !conversation.lacks_resources();
                let is_ours =
                    self.gate.owns(caller, &uri) && (!may_be_of_server || self.gate.keeps(caller, &uri));
                is_ours.then(|| LocalKind::Read(uri.into_owned()))
            }
            "resources/list" if conversation.lacks_resources() => Some(LocalKind::Resources),
            "resources/templates/list" if conversation.lacks_resources() => Some(LocalKind::Templates),
            _ => None,
        }
    }

    /// Returns whether a tool is tidegate's second one, which is offered only where a policy allows it.
    fn is_saver(&self, conversation: &Conversation, tool: &str) -> bool {
        (tool == conversation.caller.save_tool || tool == Gate::ALTERNATIVE_SAVE_TOOL)
            && self.gate.offers_saving()
    }
}

/// Returns whether a tool is tidegate's: by its listed name, or by the name that no server uses.
fn is_reader(conversation: &Conversation, tool: &str) -> bool {
    tool == conversation.caller.query_tool || tool == Gate::ALTERNATIVE_QUERY_TOOL
}

/// The members of a request's params, read once.
pub(super) struct Params<'l> {
    line: &'l [u8],
    pub(super) whole: ByteRange,
    members: Vec<Member<'l>>,
}

impl<'l> Params<'l> {
    fn read(line: &'l [u8], whole: &ByteRange) -> Self {
        Self { line, whole: whole.clone(), members: raw::members(line, whole).unwrap_or_default() }
    }

    /// Returns the range of a member; of several with one name the last, as parsers do.
    pub(super) fn range(&self, key: &str) -> Option<ByteRange> {
        self.members.iter().rfind(|member| member.key == key).map(|member| member.value.clone())
    }

    /// Returns a member as written.
    fn get(&self, key: &str) -> Option<&'l [u8]> {
        self.range(key).map(|range| &self.line[range])
    }

    pub(super) fn text(&self, key: &str) -> Option<Cow<'l, str>> {
        let bytes = self.get(key)?;
        raw::text(bytes, &(0..bytes.len()))
    }

    fn progress_token(&self) -> Option<Vec<u8>> {
        let token = raw::at(self.line, &self.whole, &["_meta", "progressToken"])?;
        Some(self.line[token].to_vec())
    }
}

/// The ids in messages of the client that could not be read.
///
/// A server may read what tidegate cannot, and its response must reach the client. So one response to each of these ids is
/// forwarded; any other response to no open request is dropped as usual.
#[derive(Debug, Default)]
pub(super) struct UnreadableIds {
    ids: VecDeque<Vec<u8>>,
}

impl UnreadableIds {
    fn note(&mut self, message: &[u8]) {
        let starts = memchr::memmem::find_iter(message, b"\"id\"").take(MAX_IDS_PER_UNREADABLE);
        let found: Vec<Vec<u8>> = starts.filter_map(|start| id_after(&message[start + 4..])).collect();
        self.ids.extend(found);
        let excess = self.ids.len().saturating_sub(MAX_UNREADABLE_IDS);
        self.ids.drain(..excess);
    }

    /// Takes an id; returns whether it was there.
    pub(super) fn take(&mut self, id: &[u8]) -> bool {
        let position = self.ids.iter().position(|noted| noted == id || same_id(noted, id));
        position.and_then(|position| self.ids.remove(position)).is_some()
    }
}

/// Returns the string or number after a colon.
fn id_after(text: &[u8]) -> Option<Vec<u8>> {
    let value = text.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
    let length = match value.strip_prefix(b"\"") {
        Some(inside) => memchr::memchr(b'"', inside)? + 2,
        None => value.iter().take_while(|byte| byte.is_ascii_digit() || b"+-.eE".contains(byte)).count(),
    };
    (length > 0).then(|| value[..length].to_vec())
}

impl Conversation {
    fn request_kind(&self, method: &str, params: &Params<'_>) -> RequestKind {
        let first_page = || params.get("cursor").is_none_or(|cursor| cursor == b"null");
        let task = || self.tasks.call_of(Content::Memory(params.line), Some(&params.whole));
        match method {
            "initialize" => RequestKind::Capabilities("initialize"),
            "server/discover" => RequestKind::Capabilities("server/discover"),
            "tools/list" => RequestKind::Tools { first_page: first_page() },
            "resources/list" => RequestKind::Resources { first_page: first_page() },
            "resources/templates/list" => RequestKind::Templates { first_page: first_page() },
            "tools/call" => RequestKind::Call(self.call(params)),
            "tasks/result" => RequestKind::TaskResult(task()),
            "tasks/get" => RequestKind::TaskState(task()),
            other => RequestKind::Other(other.to_owned()),
        }
    }

    fn call(&self, params: &Params<'_>) -> ToolCall {
        let tool = params.text("name").unwrap_or_default().into_owned();
        let arguments = params.get("arguments").map(|bytes| String::from_utf8_lossy(bytes).into_owned());
        // Codex marks the calls that a program written by its model makes.
        let by_program = self.caller.profile.runs_programs
            && raw::at(params.line, &params.whole, &["_meta", "callId"])
                .and_then(|id| raw::text(params.line, &id))
                .is_some_and(|id| id.starts_with("exec-"));
        ToolCall { tool, arguments, by_program }
    }

    /// Notes the id of a request that the server does not see.
    pub(super) fn note_local(&mut self, id: Vec<u8>) {
        self.local_ids.truncate(MAX_LOCAL_IDS - 1);
        self.local_ids.push_front(id);
    }

    fn lacks_resources(&self) -> bool {
        self.capabilities.is_some_and(|found| found.tools && !found.resources)
    }
}

/// Removes messages from a batch, with the commas that joined them.
pub(super) fn remove_messages(heads: &[MessageHead], removed: impl Fn(usize) -> bool, edits: &mut Edits) {
    let element = |(index, head): (usize, &MessageHead)| Member {
        // The key tells which are removed; a batch has no keys of its own.
        key: Cow::Borrowed(if removed(index) { "removed" } else { "" }),
        value: head.whole.clone(),
        whole: head.whole.clone(),
    };
    let elements: Vec<Member<'_>> = heads.iter().enumerate().map(element).collect();
    edits.remove(&elements, |element| element.key == "removed");
}
