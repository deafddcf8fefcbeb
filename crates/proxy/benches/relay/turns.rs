//! Measures paths in turns: some calls on one path, then some on the next, round after round.

use std::time::{Duration, Instant};

use crate::client::IN_FLIGHT;
use crate::memory::used_ticks;
use crate::paths::Path;

/// How much is measured with results of one size.
pub(crate) struct Size {
    pub(crate) name: &'static str,
    pub(crate) bytes: usize,
    rounds: usize,
    /// Calls of one path in a round.
    turn: usize,
    /// Calls before them that do not count, because a process that was idle has to wake up first.
    warm: usize,
}

/// The sizes of results.
pub(crate) const SIZES: [Size; 3] = [
    Size { name: "1 KB", bytes: 1 << 10, rounds: 20, turn: 200, warm: 5 },
    Size { name: "100 KB", bytes: 100 << 10, rounds: 10, turn: 20, warm: 2 },
    Size { name: "10 MB", bytes: 10 << 20, rounds: 7, turn: 3, warm: 1 },
];

/// Rounds and calls with several requests in flight.
const ROUNDS: usize = 9;
const CALLS: usize = 1500;

/// Measures every path in turns; returns the sorted times of each.
pub(crate) fn in_turns(transport: &str, size: &Size, paths: &mut [Path]) -> Vec<Vec<Duration>> {
    eprintln!("{transport}: results of {}", size.name);
    let mut times = vec![Vec::new(); paths.len()];
    // The first round warms up.
    for round in 0..=size.rounds {
        for (path, times) in paths.iter_mut().zip(&mut times) {
            for call in 0..size.warm + size.turn {
                let started = Instant::now();
                path.call(size.bytes);
                if round > 0 && call >= size.warm {
                    times.push(started.elapsed());
                }
            }
            settle(path.process());
        }
    }
    times.iter_mut().for_each(|times| times.sort_unstable());
    times
}

/// Measures calls of 1 KB per second with several in flight, in turns; returns the median of each path.
pub(crate) fn in_flight(transport: &str, paths: &mut [Path]) -> Vec<f64> {
    eprintln!("{transport}: {IN_FLIGHT} calls in flight");
    let mut rates = vec![Vec::new(); paths.len()];
    for round in 0..=ROUNDS {
        for (path, rates) in paths.iter_mut().zip(&mut rates) {
            path.call(1 << 10);
            let started = Instant::now();
            let client = &mut path.client;
            (0..IN_FLIGHT).for_each(|_| client.send(1 << 10));
            for call in 0..CALLS {
                assert!(client.receive().len() > 1 << 10);
                if call + IN_FLIGHT < CALLS {
                    client.send(1 << 10);
                }
            }
            if round > 0 {
                rates.push(CALLS as f64 / started.elapsed().as_secs_f64());
            }
            settle(path.process());
        }
    }
    rates.iter_mut().for_each(|rates| rates.sort_unstable_by(f64::total_cmp));
    rates.iter().map(|rates| rates[rates.len() / 2]).collect()
}

/// Waits until a process is idle, so that work after its answers does not slow down the next path.
pub(crate) fn settle(process: u32) {
    let until = Instant::now() + Duration::from_secs(5);
    let mut used = used_ticks(process);
    while Instant::now() < until {
        std::thread::sleep(Duration::from_millis(30));
        let now = used_ticks(process);
        if now == used {
            return;
        }
        used = now;
    }
}
