//! What is done apart from the stream of messages: our own answers, notes for the ledger, tidying up.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tidegate_gate::Untouched;

use super::Front;
use crate::link::Order;

/// Own answers that are worked on at once; a query may take much memory.
const WORKERS: usize = 2;
/// Notes that wait to be counted; more are not taken, since counting must never hold up a message.
const NOTES: usize = 64;
/// How long our own answers may still take once the client has closed its side.
const FINISH: Duration = Duration::from_secs(10);

/// How long the last notes may take; losing them is allowed.
const NOTED: Duration = Duration::from_secs(1);

enum Chore {
    Note(Box<Untouched>),
    Sweep,
    Finish(SyncSender<()>),
}

/// Takes on what is done apart.
#[derive(Clone)]
pub(super) struct Orders {
    orders: Sender<Order>,
    chores: SyncSender<Chore>,
    open: Arc<(Mutex<usize>, Condvar)>,
}

impl Orders {
    /// Starts the threads that do it.
    pub(super) fn start(front: &Arc<Front>) -> Self {
        let (orders, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let open = Arc::new((Mutex::new(0), Condvar::new()));
        for _ in 0..WORKERS {
            let (front, waiting, open) = (Arc::clone(front), Arc::clone(&waiting), Arc::clone(&open));
            thread::spawn(move || work(&front, &waiting, &open));
        }
        let (chores, waiting) = sync_channel(NOTES);
        let link = Arc::clone(&front.link);
        thread::spawn(move || {
            for chore in waiting {
                match chore {
                    Chore::Note(note) => link.note(*note),
                    Chore::Sweep => link.sweep(),
                    Chore::Finish(done) => {
                        link.flush();
                        let _ = done.send(());
                    }
                }
            }
        });
        Self { orders, chores, open }
    }

    /// Answers a request of our own, when there is a hand free.
    pub(super) fn carry_out(&self, order: Order) {
        *self.open.0.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        // The workers live as long as the process.
        let _ = self.orders.send(order);
    }

    /// Notes what crossed.
    pub(super) fn note(&self, note: Untouched) {
        let _ = self.chores.try_send(Chore::Note(Box::new(note)));
    }

    /// Takes away what has expired.
    pub(super) fn sweep(&self) {
        let _ = self.chores.try_send(Chore::Sweep);
    }

    /// Waits until every own answer is given and every note is written.
    pub(super) fn finish(&self) {
        let open = self.open.0.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = self.open.1.wait_timeout_while(open, FINISH, |open| *open > 0);
        let (done, wait) = sync_channel(1);
        if self.chores.try_send(Chore::Finish(done)).is_ok() {
            let _ = wait.recv_timeout(NOTED);
        }
    }
}

fn work(front: &Front, waiting: &Mutex<Receiver<Order>>, open: &(Mutex<usize>, Condvar)) {
    loop {
        let next = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(order) = next else { return };
        let answer = front.link.carry_out(&order);
        // A client that is gone needs no answer; the thread that reads its side ends the proxy.
        let _ = front.to_client(&answer);
        *open.0.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        open.1.notify_all();
    }
}
