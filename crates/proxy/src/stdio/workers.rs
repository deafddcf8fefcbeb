//! Threads that work beside the stream of messages: some shape results, others answer local requests and resolve references,
//! and one writes responses to requests that timed out.
//!
//! A query may take seconds, so local requests have threads and a queue of their own: they wait for each other, and no
//! result of a tool waits for them.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::StdioProxy;
use crate::jobs::serve;
use crate::link::{LocalRequest, ResolveJob, ShapeJob};

/// How many results are shaped at once.
const SHAPE_THREADS: usize = 2;
/// How many local requests are answered at once; a query may take much memory.
const ANSWER_THREADS: usize = 2;
/// How many files are written at once: they may take long, and no query waits for them.
const SAVE_THREADS: usize = 1;
/// The maximum number of results that wait to be shaped; above it, reading from the server waits.
const MAX_SHAPE_JOBS: usize = 4;

/// The number of unfinished jobs.
#[derive(Default)]
struct OpenJobs {
    answers: usize,
    shaping: usize,
    /// Lines that are not written yet.
    lines: usize,
}

/// A job that may run a query.
enum QueryJob {
    Answer(LocalRequest),
    Resolve(Box<ResolveJob>),
}

/// The worker threads.
#[derive(Clone)]
pub(super) struct Workers {
    queries: Sender<QueryJob>,
    saves: Sender<QueryJob>,
    results: Sender<Box<ShapeJob>>,
    lines: Sender<Vec<u8>>,
    open: Arc<(Mutex<OpenJobs>, Condvar)>,
}

impl Workers {
    /// Starts the threads.
    pub(super) fn start(proxy: &Arc<StdioProxy>) -> Self {
        let (queries, waiting_queries) = channel();
        let (saves, waiting_saves) = channel();
        let (results, waiting_results) = channel();
        let (lines, late_lines) = channel::<Vec<u8>>();
        let workers = Self { queries, saves, results, lines, open: Arc::default() };
        let (of_answers, of_shaping) =
            ((Arc::clone(proxy), workers.clone()), (Arc::clone(proxy), workers.clone()));
        // A client that is gone needs no response; the thread that reads from it ends the proxy.
        let answer = move |job: QueryJob| {
            let (proxy, workers) = &of_answers;
            match job {
                QueryJob::Answer(request) => {
                    let _ = proxy.write_message(&proxy.link.answer_locally(&request).into());
                }
                QueryJob::Resolve(job) => proxy.resolve(*job),
            }
            workers.open().answers -= 1;
            workers.open.1.notify_all();
        };
        serve(ANSWER_THREADS, waiting_queries, answer.clone());
        serve(SAVE_THREADS, waiting_saves, answer);
        serve(SHAPE_THREADS, waiting_results, move |job: Box<ShapeJob>| {
            let (proxy, workers) = &of_shaping;
            let _ = proxy.handle(proxy.link.finish(*job), workers);
            workers.open().shaping -= 1;
            workers.open.1.notify_all();
        });
        let (proxy, open) = (Arc::clone(proxy), workers.clone());
        thread::spawn(move || {
            for line in late_lines {
                // A client that does not read holds up this thread alone.
                let _ = proxy.write_message(&line.into());
                open.open().lines -= 1;
            }
        });
        workers
    }

    fn open(&self) -> MutexGuard<'_, OpenJobs> {
        self.open.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a local request when a thread is free.
    pub(super) fn answer(&self, request: LocalRequest) {
        self.query(QueryJob::Answer(request));
    }

    /// Resolves the references of a call when a thread is free.
    pub(super) fn resolve(&self, job: ResolveJob) {
        self.query(QueryJob::Resolve(Box::new(job)));
    }

    fn query(&self, job: QueryJob) {
        self.open().answers += 1;
        // The workers live as long as the process.
        let is_save = matches!(&job, QueryJob::Answer(request) if request.is_save());
        let _ = if is_save { self.saves.send(job) } else { self.queries.send(job) };
    }

    /// Stores and shapes a result when a thread is free.
    pub(super) fn shape(&self, job: Box<ShapeJob>) {
        let mut open = self.open();
        while open.shaping >= MAX_SHAPE_JOBS {
            open = self.open.1.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
        open.shaping += 1;
        drop(open);
        let _ = self.results.send(job);
    }

    /// Writes a line to the client, whenever it reads.
    pub(super) fn send(&self, line: Vec<u8>) {
        self.open().lines += 1;
        let _ = self.lines.send(line);
    }

    /// Returns whether all jobs are done and all lines are written.
    pub(super) fn are_done(&self) -> bool {
        let open = self.open();
        open.answers == 0 && open.shaping == 0 && open.lines == 0
    }
}
