//! Threads that work beside the stream of messages: they answer local requests, shape results, and write responses to
//! requests that timed out.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::StdioProxy;
use crate::link::{LocalRequest, ShapeJob};

/// How many jobs run at once; a query may take much memory.
const WORKERS: usize = 2;
/// How many results may wait to be shaped; then whoever reads from the server waits too.
const MAX_SHAPE_JOBS: usize = 4;

enum Job {
    Answer(Box<LocalRequest>),
    Shape(Box<ShapeJob>),
}

/// The number of unfinished jobs.
#[derive(Default)]
struct OpenJobs {
    answers: usize,
    shaping: usize,
}

/// The worker threads.
#[derive(Clone)]
pub(super) struct Workers {
    jobs: Sender<Job>,
    lines: Sender<Vec<u8>>,
    open: Arc<(Mutex<OpenJobs>, Condvar)>,
}

impl Workers {
    /// Starts the threads.
    pub(super) fn start(proxy: &Arc<StdioProxy>) -> Self {
        let (jobs, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let (lines, late_lines) = channel::<Vec<u8>>();
        let workers = Self { jobs, lines, open: Arc::default() };
        for _ in 0..WORKERS {
            let (proxy, waiting, workers) = (Arc::clone(proxy), Arc::clone(&waiting), workers.clone());
            thread::spawn(move || work(&proxy, &waiting, &workers));
        }
        let proxy = Arc::clone(proxy);
        thread::spawn(move || {
            for line in late_lines {
                // A client that does not read holds up this thread alone.
                let _ = proxy.write_message(&line.into());
            }
        });
        workers
    }

    fn open(&self) -> MutexGuard<'_, OpenJobs> {
        self.open.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a local request when a worker is free.
    pub(super) fn answer(&self, request: LocalRequest) {
        self.open().answers += 1;
        // The workers live as long as the process.
        let _ = self.jobs.send(Job::Answer(Box::new(request)));
    }

    /// Stores and shapes a result when a worker is free.
    pub(super) fn shape(&self, job: Box<ShapeJob>) {
        let mut open = self.open();
        while open.shaping >= MAX_SHAPE_JOBS {
            open = self.open.1.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
        open.shaping += 1;
        drop(open);
        let _ = self.jobs.send(Job::Shape(job));
    }

    /// Writes a line to the client, whenever it reads.
    pub(super) fn send(&self, line: Vec<u8>) {
        let _ = self.lines.send(line);
    }

    /// Returns whether all jobs are done.
    pub(super) fn are_done(&self) -> bool {
        let open = self.open();
        open.answers == 0 && open.shaping == 0
    }
}

fn work(proxy: &StdioProxy, waiting: &Mutex<Receiver<Job>>, workers: &Workers) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        // A client that is gone needs no response; the thread that reads from it ends the proxy.
        match job {
            Job::Answer(request) => {
                let _ = proxy.write_message(&proxy.link.answer_locally(&request).into());
                workers.open().answers -= 1;
            }
            Job::Shape(job) => {
                let _ = proxy.handle(proxy.link.finish(*job), workers);
                workers.open().shaping -= 1;
            }
        }
        workers.open.1.notify_all();
    }
}
