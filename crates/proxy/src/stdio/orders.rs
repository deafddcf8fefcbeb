//! What is done apart from the stream of messages: our own answers, results that are stored and shaped, answers for
//! requests whose time is over, notes for the ledger, tidying up.

use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tidegate_gate::Untouched;

use super::Front;
use crate::link::{Later, Order};

/// Jobs that are worked on at once; a query may take much memory.
const WORKERS: usize = 2;
/// Results that wait to be shaped; then whoever reads the server waits too.
const SHAPING: usize = 4;
/// Notes that wait to be counted; more are not taken, since counting must never hold up a message.
const NOTES: usize = 4096;
/// How long notes are gathered: waking a thread for each would cost more than the notes do, and while calls come in quick
/// succession there is no core to spare for counting.
const GATHERED: Duration = Duration::from_millis(20);
/// How long the last notes may take; losing them is allowed.
const NOTED: Duration = Duration::from_secs(1);

enum Job {
    Order(Box<Order>),
    Shape(Box<Later>),
}

enum Chore {
    Note(Box<Untouched>),
    Sweep,
    Finish(SyncSender<()>),
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
    chores: SyncSender<Chore>,
    open: Arc<(Mutex<Open>, Condvar)>,
}

impl Orders {
    /// Starts the threads that do it.
    pub(super) fn start(front: &Arc<Front>) -> Self {
        let (jobs, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let (lines, late) = channel::<Vec<u8>>();
        let (chores, chores_waiting) = sync_channel(NOTES);
        let this = Self { jobs, lines, chores, open: Arc::default() };
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
        let link = Arc::clone(&front.link);
        thread::spawn(move || {
            aside();
            let chores = |chore| match chore {
                Chore::Note(note) => link.note(*note),
                Chore::Sweep => link.sweep(),
                Chore::Finish(done) => {
                    link.flush();
                    let _ = done.send(());
                }
            };
            while let Ok(first) = chores_waiting.recv() {
                gather(first, &chores_waiting).into_iter().for_each(chores);
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

    /// Notes what crossed.
    pub(super) fn note(&self, note: Untouched) {
        let _ = self.chores.try_send(Chore::Note(Box::new(note)));
    }

    /// Takes away what has expired.
    pub(super) fn sweep(&self) {
        let _ = self.chores.try_send(Chore::Sweep);
    }

    /// Returns whether everything that was taken on is done.
    pub(super) fn are_done(&self) -> bool {
        let open = self.open();
        open.orders == 0 && open.shaping == 0
    }

    /// Waits until every note is written.
    pub(super) fn finish(&self) {
        let (done, wait) = sync_channel(1);
        let until = Instant::now() + NOTED;
        let mut chore = Chore::Finish(done);
        while let Err(refused) = self.chores.try_send(chore) {
            if Instant::now() > until {
                return;
            }
            thread::sleep(Duration::from_millis(5));
            chore = match refused {
                std::sync::mpsc::TrySendError::Full(chore) => chore,
                std::sync::mpsc::TrySendError::Disconnected(_) => return,
            };
        }
        let _ = wait.recv_timeout(NOTED);
    }
}

/// Waits for more chores to come; not for those who wait for the end of them.
fn gather(first: Chore, waiting: &Receiver<Chore>) -> Vec<Chore> {
    let mut chores = vec![first];
    let until = Instant::now() + GATHERED;
    loop {
        chores.extend(waiting.try_iter());
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || chores.iter().any(|chore| matches!(chore, Chore::Finish(_))) {
            return chores;
        }
        thread::sleep(left.min(GATHERED / 4));
    }
}

/// Lets every other thread run first: counting must never hold up a message.
pub(crate) fn aside() {
    // On Linux this is about the calling thread alone. Where it is refused it only takes its turn as others do.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::setpriority_process(None, 19);
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
