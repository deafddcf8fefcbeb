//! A queue for the requests to one server that is fair between callers: they take turns, and nobody can take all places.
//!
//! A caller gets a further place only while more places are free than it has. So one caller alone holds at most half of the
//! places, and the request of another caller starts at once. A caller that sends a thousand requests delays only its own. The
//! waiting requests of each caller are bounded, and with them the memory; further ones are refused.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

/// Why a request got no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPlace {
    /// Too many requests of this caller are waiting.
    Full,
    /// It waited too long.
    Timeout,
}

#[derive(Default)]
struct QueueState {
    /// Places that nobody has.
    free: usize,
    /// How many places each caller has.
    held: HashMap<Arc<str>, usize>,
    /// The callers with waiting requests, in the order of their turns.
    turns: VecDeque<Arc<str>>,
    waiting: HashMap<Arc<str>, VecDeque<oneshot::Sender<Place>>>,
    /// The number of all waiting requests.
    count: usize,
}

impl QueueState {
    /// Gives a caller a place, if it may have one more; returns whether it did.
    fn take(&mut self, caller: &Arc<str>) -> bool {
        let held = self.held.get(caller).copied().unwrap_or_default();
        if held >= self.free {
            return false;
        }
        self.free -= 1;
        self.held.insert(Arc::clone(caller), held + 1);
        true
    }

    fn give_back(&mut self, caller: &Arc<str>) {
        self.free += 1;
        match self.held.get_mut(caller) {
            Some(held) if *held > 1 => *held -= 1,
            _ => drop(self.held.remove(caller)),
        }
    }

    /// Gives a place to the request whose turn it is; `None` if no waiting caller may have one.
    fn next(&mut self) -> Option<(Arc<str>, oneshot::Sender<Place>)> {
        let may_take = |caller: &Arc<str>| self.held.get(caller).copied().unwrap_or_default() < self.free;
        let turn = self.turns.iter().position(may_take)?;
        let caller = self.turns.remove(turn)?;
        self.take(&caller);
        let waiting = self.waiting.get_mut(&caller).expect("a caller with a turn has waiting requests");
        let request = waiting.pop_front().expect("a caller without waiting requests has no turn");
        if waiting.is_empty() {
            self.waiting.remove(&caller);
        } else {
            self.turns.push_back(Arc::clone(&caller));
        }
        self.count -= 1;
        Some((caller, request))
    }

    /// Removes requests that have stopped waiting.
    fn remove_closed(&mut self) {
        self.waiting.retain(|_, waiting| {
            waiting.retain(|request| !request.is_closed());
            !waiting.is_empty()
        });
        let waiting = &self.waiting;
        self.turns.retain(|caller| waiting.contains_key(caller));
        self.count = waiting.values().map(VecDeque::len).sum();
    }
}

/// Places for the requests to one server, shared fairly.
pub struct FairQueue {
    state: Mutex<QueueState>,
    max_waiting: usize,
}

/// A place; dropping it gives it to the next request.
#[derive(Debug)]
pub struct Place {
    queue: Option<Arc<FairQueue>>,
    caller: Arc<str>,
}

impl std::fmt::Debug for FairQueue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("FairQueue").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}

/// Waits for a place. A request whose client is gone leaves the queue when this is dropped.
struct Turn<'q> {
    queue: &'q FairQueue,
    place: Option<oneshot::Receiver<Place>>,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // A place that has just arrived is given back here, before the queue is locked.
        if self.place.take().is_some() {
            self.queue.state().remove_closed();
        }
    }
}

impl FairQueue {
    /// Returns a queue with a number of places, in which at most `max_waiting` requests of one caller wait.
    pub fn new(places: usize, max_waiting: usize) -> Arc<Self> {
        let state = QueueState { free: places.max(1), ..QueueState::default() };
        Arc::new(Self { state: Mutex::new(state), max_waiting })
    }

    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many requests are waiting.
    pub fn waiting(&self) -> usize {
        self.state().count
    }

    /// Waits for a place.
    ///
    /// # Errors
    ///
    /// Too many requests of this caller are waiting, or no place became free in time.
    pub async fn place(self: &Arc<Self>, caller: &str, timeout: Duration) -> Result<Place, NoPlace> {
        let caller: Arc<str> = caller.into();
        let mut turn = {
            let mut state = self.state();
            if state.take(&caller) {
                return Ok(Place { queue: Some(Arc::clone(self)), caller });
            }
            if state.waiting.get(&caller).is_some_and(|waiting| waiting.len() >= self.max_waiting) {
                return Err(NoPlace::Full);
            }
            let (send, receive) = oneshot::channel();
            state.count += 1;
            match state.waiting.get_mut(&caller) {
                Some(waiting) => waiting.push_back(send),
                None => {
                    state.turns.push_back(Arc::clone(&caller));
                    state.waiting.insert(caller, VecDeque::from([send]));
                }
            }
            Turn { queue: self, place: Some(receive) }
        };
        let Some(place) = &mut turn.place else { return Err(NoPlace::Timeout) };
        match tokio::time::timeout(timeout, place).await {
            Ok(Ok(place)) => {
                turn.place = None;
                Ok(place)
            }
            _ => Err(NoPlace::Timeout),
        }
    }

    /// Gives free places to the waiting requests that may have them.
    fn hand_out(self: &Arc<Self>) {
        loop {
            let next = self.state().next();
            let Some((caller, request)) = next else { return };
            // The receiver may be gone. Emptied, the returned place does not free itself again when it is dropped.
            if let Err(mut place) = request.send(Place { queue: Some(Arc::clone(self)), caller }) {
                place.queue = None;
                self.state().give_back(&place.caller);
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(queue) = self.queue.take() else { return };
        queue.state().give_back(&self.caller);
        queue.hand_out();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    #[tokio::test]
    async fn callers_take_turns() {
        let queue = FairQueue::new(1, 100);
        let held = queue.place("busy", LONG).await.unwrap();
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = Vec::new();
        for caller in ["busy", "busy", "busy", "ada", "busy", "bob"] {
            let (queue, order) = (Arc::clone(&queue), Arc::clone(&order));
            tasks.push(tokio::spawn(async move {
                let _place = queue.place(caller, LONG).await.unwrap();
                order.lock().unwrap().push(caller);
            }));
            tokio::task::yield_now().await;
        }
        assert_eq!(queue.waiting(), 6);
        drop(held);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.lock().unwrap(), ["busy", "ada", "bob", "busy", "busy", "busy"]);
        assert_eq!((queue.waiting(), queue.state().free), (0, 1));
    }

    #[tokio::test]
    async fn a_request_is_refused_if_the_queue_is_full_or_the_wait_too_long() {
        let queue = FairQueue::new(1, 1);
        let held = queue.place("ada", LONG).await.unwrap();
        let waiting = tokio::spawn({
            let queue = Arc::clone(&queue);
            async move { queue.place("ada", Duration::from_millis(30)).await.map(drop) }
        });
        tokio::task::yield_now().await;
        assert_eq!(queue.place("ada", LONG).await.map(drop), Err(NoPlace::Full));
        assert_eq!(waiting.await.unwrap(), Err(NoPlace::Timeout));
        assert_eq!(queue.waiting(), 0);
        drop(held);
        assert!(queue.place("ada", LONG).await.is_ok());
    }

    /// However many callers take whatever they get, the next caller finds a place: with 2^n places, n of them cannot take all.
    #[tokio::test]
    async fn nobody_can_take_all_places() {
        for exponent in 1..=9 {
            let (queue, mut held) = (FairQueue::new(1 << exponent, 100), Vec::new());
            for greedy in 0..exponent {
                let caller = format!("greedy {greedy}");
                let before = held.len();
                while let Ok(place) = queue.place(&caller, Duration::ZERO).await {
                    held.push(place);
                }
                let free = (1 << exponent) - before;
                assert_eq!(held.len() - before, free / 2, "it got half of what was left");
            }
            assert!(queue.place("ada", Duration::ZERO).await.is_ok(), "{} places", 1 << exponent);
            drop(held);
            assert_eq!(queue.state().free, 1 << exponent);
            assert!(queue.state().held.is_empty());
        }
    }

    #[tokio::test]
    async fn a_caller_goes_on_when_its_own_requests_end() {
        let queue = FairQueue::new(4, 100);
        let mut held =
            vec![queue.place("busy", LONG).await.unwrap(), queue.place("busy", LONG).await.unwrap()];
        let waiting = tokio::spawn({
            let queue = Arc::clone(&queue);
            async move { queue.place("busy", LONG).await }
        });
        tokio::task::yield_now().await;
        assert_eq!(queue.waiting(), 1, "two of four places are free, and none of them is for this caller");
        drop(held.pop());
        assert!(waiting.await.unwrap().is_ok());
    }

    #[tokio::test]
    async fn a_request_whose_client_is_gone_waits_no_more() {
        let queue = FairQueue::new(1, 1);
        let _held = queue.place("ada", LONG).await.unwrap();
        let waiting = tokio::spawn({
            let queue = Arc::clone(&queue);
            async move { queue.place("ada", LONG).await.map(drop) }
        });
        tokio::task::yield_now().await;
        assert_eq!(queue.waiting(), 1);
        waiting.abort();
        assert!(waiting.await.unwrap_err().is_cancelled());
        assert_eq!(queue.waiting(), 0);
    }

    /// Counts down when it is dropped, even if its task is aborted.
    struct Running(Arc<AtomicUsize>);

    impl Drop for Running {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// However requests arrive, end, time out and are aborted, the number of places stays the same.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn the_number_of_places_never_changes() {
        let queue = FairQueue::new(3, 1000);
        let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = Vec::new();
        for number in 0_u64..600 {
            let (queue, running, most) = (Arc::clone(&queue), Arc::clone(&running), Arc::clone(&most));
            tasks.push(tokio::spawn(async move {
                let timeout = if number % 5 == 0 { Duration::from_micros(number) } else { LONG };
                let Ok(_place) = queue.place(&format!("c{}", number % 7), timeout).await else { return };
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let _running = Running(running);
                tokio::time::sleep(Duration::from_micros(number % 300)).await;
            }));
        }
        for (number, task) in tasks.into_iter().enumerate() {
            if number % 11 == 0 {
                task.abort();
            } else {
                task.await.unwrap();
            }
        }
        while queue.state().free < 3 {
            tokio::task::yield_now().await;
        }
        assert_eq!(queue.waiting(), 0);
        assert!(most.load(Ordering::SeqCst) <= 3);
    }
}
