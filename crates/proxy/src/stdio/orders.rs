//! What is done apart from the stream of messages: our own answers, results that are stored and shaped, answers for
//! requests whose time is over.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use super::Front;
use crate::link::{Later, Order};

/// Jobs that are worked on at once; a query may take much memory.
const WORKERS: usize = 2;
/// Results that wait to be shaped; then whoever reads the server waits too.
const SHAPING: usize = 4;

enum Job {
    Order(Box<Order>),
    Shape(Box<Later>),
}

#[derive(Default)]
struct Open {
    orders: usize,
    shaping: usize,
}

/// Takes on what is done apart.
#[derive(Clone)]
pub(super) struct Orders {
    jobs: Sender<Job>,
    lines: Sender<Vec<u8>>,
    open: Arc<(Mutex<Open>, Condvar)>,
}

impl Orders {
    /// Starts the threads that do it.
    pub(super) fn start(front: &Arc<Front>) -> Self {
        let (jobs, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let (lines, late) = channel::<Vec<u8>>();
        let this = Self { jobs, lines, open: Arc::default() };
        for _ in 0..WORKERS {
            let (front, waiting, this) = (Arc::clone(front), Arc::clone(&waiting), this.clone());
            thread::spawn(move || work(&front, &waiting, &this));
        }
        let client = Arc::clone(front);
        thread::spawn(move || {
            for line in late {
                // A client that does not read holds up this thread alone.
                let _ = client.to_client(&line.into());
            }
        });
        this
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers a request of our own, when there is a hand free.
    pub(super) fn carry_out(&self, order: Order) {
        self.open().orders += 1;
        // The workers live as long as the process.
        let _ = self.jobs.send(Job::Order(Box::new(order)));
    }

    /// Stores and shapes a result, when there is a hand free.
    pub(super) fn shape(&self, later: Box<Later>) {
        let mut open = self.open();
        while open.shaping >= SHAPING {
            open = self.open.1.wait(open).unwrap_or_else(PoisonError::into_inner);
        }
        open.shaping += 1;
        drop(open);
        let _ = self.jobs.send(Job::Shape(later));
    }

    /// Sends a line to the client, whenever it reads.
    pub(super) fn send(&self, line: Vec<u8>) {
        let _ = self.lines.send(line);
    }

    /// Returns whether everything that was taken on is done.
    pub(super) fn are_done(&self) -> bool {
        let open = self.open();
        open.orders == 0 && open.shaping == 0
    }
}

fn work(front: &Front, waiting: &Mutex<Receiver<Job>>, orders: &Orders) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = next else { return };
        // A client that is gone needs no answer; the thread that reads its side ends the proxy.
        match job {
            Job::Order(order) => {
                let _ = front.to_client(&front.link.carry_out(&order).into());
                orders.open().orders -= 1;
            }
            Job::Shape(later) => {
                let from = front.link.finish(*later);
                let _ = front.pass_on(from, orders);
                orders.open().shaping -= 1;
            }
        }
        orders.open.1.notify_all();
    }
}
