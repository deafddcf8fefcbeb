//! The gate as a service for servers in other languages, as JSON lines.
//!
//! An adapter in the server's process sends each request before the server handles it, and each response before the client
//! gets it:
//!
//! ```text
//! adapter: {"id":1,"session":"a","request":{"method":"tools/call","params":{...}}}
//! service: {"id":1,"request":{"params":{...}}}     the server handles the request, with these params
//!      or: {"id":1,"request":null}                 the same, with the params as they were
//!      or: {"id":1,"response":{"result":{...}}}    this is the response; the server does not see the request
//! adapter: {"id":1,"response":{"result":{...}}}    or {"error":{...}}
//! service: {"id":1,"response":{"result":{...}}}    what the client gets
//!      or: {"id":1,"response":null}                the client gets the response as it was
//! ```
//!
//! A request belongs to a `session`, whose client introduced itself in `initialize`; without one, the request introduces its
//! client itself. `"caller":"ada"` names who may read what the request stores: another caller cannot. `"caller":null` is
//! an unknown caller, who reads only results that its own session stored or, without a session, results whose ids it was given,
//! which cannot be guessed. Without the member, all clients are the same caller.
//! `{"id":1,"cancel":true}` drops a request whose response will not come, and `{"end":"a"}` a session. An invalid line
//! is answered with `{"id":1,"failed":"why"}`. What else an adapter can ask for is in `functions.rs`.

mod functions;
mod lines;

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use lines::{AdapterLine, Asked, Sender, failed, request_line, response_line, value_line};
use tidegate_gate::raw;

use crate::background::Background;
use crate::jobs;
use crate::link::{Link, Resolved};

/// How many results are shaped at once, and how many local requests are answered at once.
const THREADS: usize = 2;
/// How many sessions are remembered.
const MAX_SESSIONS: usize = 10_000;
/// How many callers are remembered.
const MAX_CALLERS: usize = 1000;

/// Who may read what a request stores.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Who {
    /// The one caller of a server that does not tell callers apart.
    Everybody,
    /// The caller of this name.
    Named(String),
    /// An unknown caller, in the session of this name if there is one.
    Unknown(Option<String>),
}

/// The gate as a service.
pub struct Service {
    /// Makes the conversation with a caller.
    link: Box<dyn Fn(&Who) -> Link + Send + Sync>,
    callers: Mutex<HashMap<Who, Arc<CallerLink>>>,
    sessions: Mutex<HashMap<String, Arc<Link>>>,
    /// The requests that the server handles.
    open: OpenRequests,
}

/// Requests that the server handles, with their conversations.
type OpenRequests = Arc<Mutex<HashMap<Vec<u8>, Arc<Link>>>>;

/// What all sessions of a caller have in common.
struct CallerLink {
    link: Link,
    background: Option<Background>,
}

impl Drop for CallerLink {
    fn drop(&mut self) {
        if let Some(background) = self.background.take() {
            background.finish();
        }
    }
}

/// What a line asks for.
enum Work {
    /// This is the answer.
    Answered(Vec<u8>),
    /// The line needs none.
    Nothing,
    /// A request that tidegate answers itself.
    Query(Job),
    /// A response to store and shape, or a function.
    Shape(Job),
}

/// Makes the answer to a line, on another thread.
type Job = Box<dyn FnOnce() -> Vec<u8> + Send>;

impl Service {
    /// Returns a service; `link` makes the conversation with a caller.
    pub fn new(link: impl Fn(&Who) -> Link + Send + Sync + 'static) -> Self {
        Self {
            link: Box::new(link),
            callers: Mutex::default(),
            sessions: Mutex::default(),
            open: OpenRequests::default(),
        }
    }

    /// Answers lines until there are no more and everything is answered.
    ///
    /// # Errors
    ///
    /// The input cannot be read.
    pub fn run(&self, input: impl Read, output: impl Write + Send + 'static) -> io::Result<()> {
        let output =
            Arc::new(Output { output: Mutex::new(output), waiting: Mutex::new(0), done: Condvar::new() });
        // A query may take seconds, so results do not wait for queries.
        let [queries, shaping] = [(); 2].map(|()| {
            let written = Arc::clone(&output);
            jobs::start(THREADS, move |job: Job| {
                written.write(&job());
                written.finish();
            })
        });
        for line in BufReader::with_capacity(64 * 1024, input).split(b'\n') {
            match self.take(&line?) {
                Work::Nothing => {}
                Work::Answered(line) => output.write(&line),
                Work::Query(job) => {
                    output.begin();
                    let _ = queries.send(job);
                }
                Work::Shape(job) => {
                    output.begin();
                    let _ = shaping.send(job);
                }
            }
        }
        output.wait();
        Ok(())
    }

    /// Takes a line of the adapter.
    fn take(&self, line: &[u8]) -> Work {
        if line.trim_ascii().is_empty() {
            return Work::Nothing;
        }
        match AdapterLine::read(line) {
            Err((id, why)) => Work::Answered(failed(&id, &why)),
            Ok(AdapterLine::End(session)) => {
                locked(&self.sessions).remove(&session);
                locked(&self.callers).remove(&Who::Unknown(Some(session)));
                Work::Nothing
            }
            Ok(AdapterLine::Cancel(id)) => {
                if let Some(link) = locked(&self.open).remove(&id) {
                    link.end("the request was cancelled");
                }
                Work::Nothing
            }
            Ok(AdapterLine::Request(asked)) => self.request(asked),
            Ok(AdapterLine::Response(id, response)) => self.response(id, response),
            Ok(AdapterLine::Function { sender, tool, name, input }) => {
                let (link, input) = (self.session(&sender), input.to_vec());
                Work::Shape(Box::new(move || {
                    match functions::compute(&name, &input, &link, tool.as_deref()) {
                        Ok(value) => value_line(&sender.id, &value),
                        Err(why) => failed(&sender.id, &why),
                    }
                }))
            }
        }
    }

    fn request(&self, asked: Asked) -> Work {
        let Asked { sender, message } = asked;
        let (link, id) = (self.session(&sender), sender.id);
        let mut outcome = link.from_client(message.clone());
        if let Some(local) = outcome.local.pop() {
            return Work::Query(Box::new(move || response_line(&id, &link.answer_locally(&local))));
        }
        if let Some(call) = outcome.resolve.pop() {
            let open = Arc::clone(&self.open);
            return Work::Query(Box::new(move || match link.resolve(call) {
                Resolved { forward: Some(forward), .. } => {
                    locked(&open).insert(id.clone(), link);
                    request_line(&id, Some(&forward))
                }
                Resolved { answer, .. } => response_line(&id, &answer.unwrap_or_default()),
            }));
        }
        locked(&self.open).insert(id.clone(), link);
        let changed = outcome.forward.filter(|forward| *forward != message);
        Work::Answered(request_line(&id, changed.as_deref()))
    }

    fn response(&self, id: Vec<u8>, response: Vec<u8>) -> Work {
        let Some(link) = locked(&self.open).remove(&id) else {
            return Work::Answered(failed(&id, "no request with this id waits for a response"));
        };
        let outcome = link.from_server(response.clone());
        if let Some(job) = outcome.shape_job {
            return Work::Shape(Box::new(move || {
                let shaped = link.finish(*job).forward.and_then(|message| message.into_bytes().ok());
                response_line(&id, &shaped.unwrap_or_default())
            }));
        }
        let forward = outcome.forward.and_then(|message| message.into_bytes().ok());
        let changed = forward.filter(|forward| forward.trim_ascii_end() != response);
        Work::Answered(response_line(&id, &changed.unwrap_or_default()))
    }

    /// Returns the conversation that a line belongs to.
    fn session(&self, sender: &Sender) -> Arc<Link> {
        let who = sender.who();
        let fresh = || Arc::new(self.caller(&who).link.fresh());
        let Some(name) = &sender.session else { return fresh() };
        let mut sessions = locked(&self.sessions);
        if let Some(link) = sessions.get(name) {
            return Arc::clone(link);
        }
        if sessions.len() >= MAX_SESSIONS {
            forget_one(&mut sessions);
        }
        let link = fresh();
        sessions.insert(name.clone(), Arc::clone(&link));
        link
    }

    fn caller(&self, who: &Who) -> Arc<CallerLink> {
        let mut callers = locked(&self.callers);
        if let Some(known) = callers.get(who) {
            return Arc::clone(known);
        }
        if callers.len() >= MAX_CALLERS {
            forget_one(&mut callers);
        }
        let link = (self.link)(who);
        let background = Some(link.start_background());
        let made = Arc::new(CallerLink { link, background });
        callers.insert(who.clone(), Arc::clone(&made));
        made
    }
}

/// Makes room in a map. What is forgotten is made again when it is needed.
fn forget_one<K: Clone + Eq + std::hash::Hash, V>(map: &mut HashMap<K, V>) {
    if let Some(key) = map.keys().next().cloned() {
        map.remove(&key);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where the answers go, and how many are still being made.
struct Output<W> {
    output: Mutex<W>,
    waiting: Mutex<usize>,
    done: Condvar,
}

impl<W: Write> Output<W> {
    fn write(&self, line: &[u8]) {
        let mut output = locked(&self.output);
        // An adapter that is gone needs no answer; the end of the input ends the service.
        let _ = output.write_all(line).and_then(|()| output.write_all(b"\n")).and_then(|()| output.flush());
    }

    fn begin(&self) {
        *locked(&self.waiting) += 1;
    }

    fn finish(&self) {
        *locked(&self.waiting) -= 1;
        self.done.notify_all();
    }

    fn wait(&self) {
        let mut waiting = locked(&self.waiting);
        while *waiting > 0 {
            waiting = self.done.wait(waiting).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Returns a member of a message, as written.
fn member<'m>(message: &'m [u8], key: &str) -> Option<&'m [u8]> {
    let whole = raw::whole(message)?;
    Some(&message[raw::member(message, &whole, key)?])
}

#[cfg(test)]
mod tests;
