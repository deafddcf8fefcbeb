//! A queue that is fair between callers: they take turns, one request each.
//!
//! A caller that sends a thousand requests at once delays only itself: the single request of another caller is served next. The
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
    /// The callers with waiting requests, in the order of their turns.
    turns: VecDeque<Arc<str>>,
    waiting: HashMap<Arc<str>, VecDeque<oneshot::Sender<Place>>>,
    /// The number of all waiting requests.
    count: usize,
}

/// Places for requests, shared fairly.
pub struct FairQueue {
    state: Mutex<QueueState>,
    max_waiting: usize,
}

/// A place; dropping it gives it to the next request.
#[derive(Debug)]
pub struct Place(Option<Arc<FairQueue>>);

impl std::fmt::Debug for FairQueue {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("FairQueue").field("waiting", &self.waiting()).finish_non_exhaustive()
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
        let turn = {
            let mut state = self.state();
            if state.free > 0 {
                state.free -= 1;
                return Ok(Place(Some(Arc::clone(self))));
            }
            if state.waiting.get(caller).is_some_and(|waiting| waiting.len() >= self.max_waiting) {
                return Err(NoPlace::Full);
            }
            let (send, receive) = oneshot::channel();
            let caller: Arc<str> = caller.into();
            state.count += 1;
            match state.waiting.get_mut(&caller) {
                Some(waiting) => waiting.push_back(send),
                None => {
                    state.turns.push_back(Arc::clone(&caller));
                    state.waiting.insert(caller, VecDeque::from([send]));
                }
            }
            receive
        };
        match tokio::time::timeout(timeout, turn).await {
            Ok(Ok(place)) => Ok(place),
            _ => {
                self.remove_closed();
                Err(NoPlace::Timeout)
            }
        }
    }

    /// Removes requests that have stopped waiting.
    fn remove_closed(&self) {
        let state = &mut *self.state();
        state.waiting.retain(|_, waiting| {
            waiting.retain(|request| !request.is_closed());
            !waiting.is_empty()
        });
        let waiting = &state.waiting;
        state.turns.retain(|caller| waiting.contains_key(caller));
        state.count = waiting.values().map(VecDeque::len).sum();
    }

    /// Returns the request whose turn it is; `None`, and one more free place, if none is waiting.
    fn next(&self) -> Option<oneshot::Sender<Place>> {
        let mut state = self.state();
        let Some(caller) = state.turns.pop_front() else {
            state.free += 1;
            return None;
        };
        let waiting = state.waiting.get_mut(&caller).expect("a caller with a turn has waiting requests");
        let request = waiting.pop_front().expect("a caller without waiting requests has no turn");
        if waiting.is_empty() {
            state.waiting.remove(&caller);
        } else {
            state.turns.push_back(caller);
        }
        state.count -= 1;
        Some(request)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(queue) = self.0.take() else { return };
        // A request may be gone by the time its turn comes.
        while let Some(request) = queue.next() {
            match request.send(Self(Some(Arc::clone(&queue)))) {
                Ok(()) => return,
                // The receiver is gone. Emptied, the returned place does not free itself again when it is dropped.
                Err(mut place) => place.0 = None,
            }
        }
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
