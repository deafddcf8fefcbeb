//! A client with a session: who it is, what it waits for, and the token that any replica with the key can open.
//!
//! The token holds what a replica needs to serve the session: the name and the capabilities of the client, and the
//! revision it speaks. So a session belongs to no process, and outlives the one that began it.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use serde_json::{Value, json};
use tidegate_gateway::caller::Principal;
use tidegate_store::{Clock, Millis, Owner, SystemClock};
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use super::MAX_SESSION_AGE;
use super::connection::{Connection, Introduction};
use super::replicas::is_replica_id;
use crate::http::legacy::LEGACY_VERSIONS;
use crate::http::session::Session;

/// Maximum bytes of a client's capabilities; larger ones are ignored.
const MAX_CAPABILITIES_BYTES: usize = 2048;
/// The most characters of the name of a client.
const MAX_NAME_CHARS: usize = 64;
/// How many requests of servers may wait for one client.
const MAX_QUESTIONS: usize = 256;

/// The session of a client.
pub(super) type ClientSession = Session<Client>;

/// A request that waits for the answer of the client.
enum Question {
    /// One of a server.
    OfServer {
        connection: Weak<Connection>,
        /// Its id, as the server wrote it.
        id: Vec<u8>,
        /// Its progress token, as the server wrote it.
        token: Option<Vec<u8>>,
    },
    /// One of the gateway itself.
    OfGateway(oneshot::Sender<Value>),
}

impl Question {
    fn is_awaited(&self) -> bool {
        match self {
            Self::OfServer { connection, .. } => connection.strong_count() > 0,
            Self::OfGateway(answer) => !answer.is_closed(),
        }
    }
}

/// Where an answer of the client goes.
pub(super) enum AnswerTarget {
    /// To a server, with the id that it knows.
    Server(Arc<Connection>, Vec<u8>),
    /// To the gateway itself.
    Gateway(oneshot::Sender<Value>),
}

/// A client with a session.
pub(super) struct Client {
    /// The id of the session, which its token holds.
    pub(super) id: String,
    pub(super) principal: Arc<Principal>,
    pub(super) introduction: Introduction,
    /// The revision of the session.
    pub(super) version: String,
    /// When the session began.
    begun: Millis,
    /// The id of this replica, part of every question id.
    replica: Arc<str>,
    /// The requests that are on their way, by their id.
    open: Mutex<HashMap<Vec<u8>, AbortHandle>>,
    questions: Mutex<HashMap<u64, Question>>,
    next_question: AtomicU64,
    /// The addresses of resources that it subscribed to, with the index of their server.
    subscriptions: Mutex<HashSet<(usize, String)>>,
    /// The level of log messages that it asked for, as the params of `logging/setLevel`.
    level: Mutex<Option<Value>>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    /// Returns the client that sends `initialize` with these params.
    pub(super) fn introduced(
        id: String,
        principal: Arc<Principal>,
        params: &Value,
        replica: &Arc<str>,
    ) -> Self {
        let asked = params["protocolVersion"].as_str().unwrap_or_default();
        let known = LEGACY_VERSIONS.iter().find(|version| **version == asked);
        let version = known.unwrap_or(&LEGACY_VERSIONS[LEGACY_VERSIONS.len() - 1]);
        let capabilities = Some(&params["capabilities"]).filter(|capabilities| {
            capabilities.is_object() && capabilities.to_string().len() <= MAX_CAPABILITIES_BYTES
        });
        let text = |value: &Value| -> String {
            value.as_str().unwrap_or_default().chars().take(MAX_NAME_CHARS).collect()
        };
        let info = &params["clientInfo"];
        let info = json!({"name": text(&info["name"]), "version": text(&info["version"])});
        let capabilities = capabilities.cloned().unwrap_or_else(|| json!({}));
        let introduction = Introduction { info, capabilities };
        Self::new(id, principal, introduction, (*version).to_owned(), (SystemClock.now(), replica))
    }

    fn new(
        id: String,
        principal: Arc<Principal>,
        introduction: Introduction,
        version: String,
        (begun, replica): (Millis, &Arc<str>),
    ) -> Self {
        Self {
            id,
            principal,
            introduction,
            version,
            begun,
            replica: Arc::clone(replica),
            open: Mutex::default(),
            questions: Mutex::default(),
            next_question: AtomicU64::new(1),
            subscriptions: Mutex::default(),
            level: Mutex::default(),
        }
    }

    /// Returns what the token of the session holds.
    pub(super) fn written(&self) -> Vec<u8> {
        let Introduction { info, capabilities } = &self.introduction;
        let written = json!({
            "id": self.id, "version": self.version, "info": info, "capabilities": capabilities, "begun": self.begun.0
        });
        written.to_string().into_bytes()
    }

    /// Returns the client whose token holds this, unless the token has expired.
    pub(super) fn read(written: &[u8], principal: Arc<Principal>, replica: &Arc<str>) -> Option<Self> {
        let read: Value = serde_json::from_slice(written).ok()?;
        let text = |key: &str| read[key].as_str().map(str::to_owned);
        let introduction =
            Introduction { info: read["info"].clone(), capabilities: read["capabilities"].clone() };
        let begun = Millis(read["begun"].as_i64()?);
        let is_valid = SystemClock.now() < begun.after(MAX_SESSION_AGE);
        is_valid.then_some(())?;
        Some(Self::new(text("id")?, principal, introduction, text("version")?, (begun, replica)))
    }

    /// Returns the `initialize` with which the client began the session, as far as it matters.
    pub(super) fn initialize(&self) -> Vec<u8> {
        let Introduction { info, capabilities } = &self.introduction;
        let params =
            json!({"protocolVersion": self.version, "capabilities": capabilities, "clientInfo": info});
        json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}).to_string().into_bytes()
    }

    /// Notes a request that is on its way.
    pub(super) fn begin(&self, id: &[u8], task: AbortHandle) {
        let mut open = locked(&self.open);
        open.retain(|_, task| !task.is_finished());
        open.insert(id.to_vec(), task);
    }

    /// Cancels a request; returns whether this replica has it.
    pub(super) fn cancel(&self, id: &[u8]) -> bool {
        let task = locked(&self.open).remove(id);
        task.inspect(AbortHandle::abort).is_some_and(|task| !task.is_finished())
    }

    /// Returns whose the session is, as messages between replicas name it.
    pub(super) fn owner(&self) -> Owner {
        match &self.principal.owner {
            Some(name) => Owner::of_parts("caller", &["gateway", name.as_str()]),
            None => Owner::of_parts("session", &["gateway", &self.id]),
        }
    }

    /// Returns the replica waiting for this answer, if it is not this one.
    pub(super) fn asking_replica<'i>(&self, id: &'i [u8]) -> Option<&'i str> {
        let (replica, _) = question_parts(id)?;
        (replica != &*self.replica).then_some(replica)
    }

    /// Returns the number of a question that this replica asked.
    fn question_number(&self, id: &[u8]) -> Option<u64> {
        let (replica, number) = question_parts(id)?;
        (replica == &*self.replica).then_some(number)
    }

    fn question_id(&self, number: u64) -> Vec<u8> {
        format!("\"{QUESTION_PREFIX}{}-{number}\"", self.replica).into_bytes()
    }

    /// Notes a request of a server, with its progress token; returns the id by which the client knows both.
    pub(super) fn register_question(
        &self,
        connection: &Arc<Connection>,
        id: &[u8],
        token: Option<Vec<u8>>,
    ) -> Option<Vec<u8>> {
        let (connection, id) = (Arc::downgrade(connection), id.to_vec());
        self.note_question(Question::OfServer { connection, id, token })
    }

    /// Notes a request of the gateway itself; returns the id by which the client knows it, and what receives the answer.
    pub(super) fn ask_itself(&self) -> Option<(Vec<u8>, oneshot::Receiver<Value>)> {
        let (sender, receiver) = oneshot::channel();
        Some((self.note_question(Question::OfGateway(sender))?, receiver))
    }

    fn note_question(&self, question: Question) -> Option<Vec<u8>> {
        let mut questions = locked(&self.questions);
        questions.retain(|_, question| question.is_awaited());
        if questions.len() >= MAX_QUESTIONS {
            return None;
        }
        let number = self.next_question.fetch_add(1, Ordering::Relaxed);
        questions.insert(number, question);
        Some(self.question_id(number))
    }

    /// Takes the request that an answer of the client is for.
    pub(super) fn answered(&self, id: &[u8]) -> Option<AnswerTarget> {
        let question = locked(&self.questions).remove(&self.question_number(id)?)?;
        Some(match question {
            Question::OfServer { connection, id, .. } => AnswerTarget::Server(connection.upgrade()?, id),
            Question::OfGateway(answer) => AnswerTarget::Gateway(answer),
        })
    }

    /// Returns for which request of a server the client reports progress: the connection, and the token for the server.
    pub(super) fn progressing(&self, token: &[u8]) -> Option<(Arc<Connection>, Vec<u8>)> {
        let questions = locked(&self.questions);
        match questions.get(&self.question_number(token)?)? {
            Question::OfServer { connection, token, .. } => Some((connection.upgrade()?, token.clone()?)),
            Question::OfGateway(_) => None,
        }
    }

    /// Sets the level of log messages that the client asks for.
    pub(super) fn set_level(&self, params: &Value) {
        *locked(&self.level) = Some(params.clone());
    }

    /// Returns the level of log messages that the client asked for.
    pub(super) fn level(&self) -> Option<Value> {
        locked(&self.level).clone()
    }

    /// Takes the request of a server that the server has cancelled; returns the id by which the client knows it.
    pub(super) fn withdrawn(&self, connection: &Arc<Connection>, id: &[u8]) -> Option<Vec<u8>> {
        let mut questions = locked(&self.questions);
        let is_it = |question: &Question| match question {
            Question::OfServer { connection: of, id: known, .. } => {
                known == id && std::ptr::eq(of.as_ptr(), Arc::as_ptr(connection))
            }
            Question::OfGateway(_) => false,
        };
        let number = questions.iter().find(|(_, question)| is_it(question)).map(|(number, _)| *number)?;
        questions.remove(&number);
        Some(self.question_id(number))
    }

    /// Notes or removes a subscription to a resource.
    pub(super) fn subscribe(&self, upstream: usize, uri: &str, on: bool) {
        let mut subscriptions = locked(&self.subscriptions);
        match on {
            true => subscriptions.insert((upstream, uri.to_owned())),
            false => subscriptions.remove(&(upstream, uri.to_owned())),
        };
    }

    /// Returns whether the client subscribed to a resource.
    pub(super) fn is_subscribed(&self, upstream: usize, uri: &str) -> bool {
        locked(&self.subscriptions).contains(&(upstream, uri.to_owned()))
    }

    /// Cancels what is on its way, because the session is over.
    pub(super) fn end(&self) {
        locked(&self.open).drain().for_each(|(_, task)| task.abort());
    }
}

/// What the ids of requests of servers begin with, as clients see them: ids of different servers may be the same, and so may
/// the numbers of different replicas.
const QUESTION_PREFIX: &str = "gateway-";

/// Returns the replica and the number in the id of a request of a server.
fn question_parts(id: &[u8]) -> Option<(&str, u64)> {
    let text = std::str::from_utf8(id).ok()?.trim_matches('"').strip_prefix(QUESTION_PREFIX)?;
    let (replica, number) = text.rsplit_once('-')?;
    Some((replica, number.parse().ok()?)).filter(|_| is_replica_id(replica))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_holds_what_a_replica_needs() {
        let principal = Arc::new(Principal::unauthenticated());
        let params = json!({"protocolVersion": "2025-06-18", "capabilities": {"sampling": {}}, "clientInfo": {"name": "c", "version": "1"}});
        let (here, there): (Arc<str>, Arc<str>) = ("0a".into(), "0b".into());
        let client = Client::introduced("s".into(), Arc::clone(&principal), &params, &here);
        let read = Client::read(&client.written(), principal, &there).unwrap();
        assert_eq!((read.id.as_str(), read.version.as_str()), ("s", "2025-06-18"));
        assert_eq!((&read.introduction, read.owner()), (&client.introduction, client.owner()));
        let question = client.question_id(7);
        assert_eq!((client.asking_replica(&question), client.question_number(&question)), (None, Some(7)));
        assert_eq!((read.asking_replica(&question), read.question_number(&question)), (Some("0a"), None));
        for other in ["\"gateway-7\"", "\"gateway-0a b-7\"", "\"gateway--7\"", "7", "\"gateway-0a-x\""] {
            assert_eq!(read.asking_replica(other.as_bytes()), None, "{other}");
        }
        let age = i64::try_from(MAX_SESSION_AGE.as_millis()).unwrap();
        let old = Client { begun: Millis(client.begun.0 - age), ..client };
        assert!(Client::read(&old.written(), Arc::clone(&read.principal), &here).is_none(), "it has expired");
        let unknown = Client::introduced("s".into(), Arc::clone(&read.principal), &json!({}), &here);
        assert_eq!(
            (unknown.version.as_str(), &unknown.introduction.capabilities),
            ("2025-11-25", &json!({}))
        );
    }
}
