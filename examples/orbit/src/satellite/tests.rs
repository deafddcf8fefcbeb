//! The verification vectors of Vallado, Crawford, Hujsak and Kelso, "Revisiting Spacetrack Report #3" (AIAA 2006-6753).

use super::*;
use crate::lambert::distance;
use crate::{ISS, VANGUARD};

/// The test case of the original report, in deep space.
const REPORT: &str = "1 11801U          80230.29629788  .01431103  00000-0  14311-1 0    13
2 11801  46.7916 230.4354 7318036  47.4722  10.4117  2.28537848    13";
/// An orbit so low that it decays within two days.
const DECAYING: &str = "1 28350U 04020A   06167.21788666  .16154492  76267-5  18678-3 0  8894
2 28350  64.9977 345.6130 0024870 260.7578  99.9590 16.47856722116490";

fn propagation(tle: &str) -> Propagation {
    Propagation {
        tle: tle.to_owned(),
        start: Start::default(),
        duration_minutes: day(),
        step_minutes: minute(),
    }
}

fn error(propagation: &Propagation) -> String {
    propagation.states().unwrap_err().to_string()
}

#[test]
fn published_states_are_matched_to_the_millimetre() {
    let published = [
        (VANGUARD, 0.0, [7022.46529266, -1400.08296755, 0.03995155], [1.893841015, 6.405893759, 4.534807250]),
        (
            VANGUARD,
            360.0,
            [-7154.03120202, -3783.17682504, -3536.19412294],
            [4.741887409, -4.151817765, -2.093935425],
        ),
        (
            VANGUARD,
            4320.0,
            [-9060.47373569, 4658.70952502, 813.68673153],
            [-2.232832783, -4.110453490, -3.157345433],
        ),
        (REPORT, 0.0, [7473.37102491, 428.94748312, 5828.74846783], [5.107155391, 6.444680305, -0.186133297]),
        (
            REPORT,
            1440.0,
            [9787.87836256, 33753.32249667, -15030.79874625],
            [-1.094251553, 0.923589906, -1.522311008],
        ),
    ];
    for (tle, minutes, position, velocity) in published {
        let states = Propagation { duration_minutes: 4320.0, step_minutes: 60.0, ..propagation(tle) }
            .states()
            .unwrap();
        let state = states.entries().iter().find(|state| state.minutes == minutes).unwrap();
        assert!(distance(state.position, position) < 1e-6, "{state:?}");
        assert!(distance(state.velocity, velocity) < 1e-8, "{state:?}");
    }
}

#[test]
fn epochs_are_evenly_spaced_from_the_start() {
    let states = propagation(ISS).states().unwrap();
    assert_eq!(states.entries().len(), 1441);
    let (first, last) = (&states.entries()[0], &states.entries()[1440]);
    assert_eq!((first.epoch.as_str(), first.minutes), ("2008-09-20T12:25:40.104Z", 0.0));
    assert_eq!((last.epoch.as_str(), last.minutes), ("2008-09-21T12:25:40.104Z", 1440.0));
    let start = Start::Time("2008-09-20T13:25:40.104192Z".into());
    let later =
        Propagation { start, duration_minutes: 7.0, step_minutes: 2.5, ..propagation(ISS) }.states().unwrap();
    let epochs: Vec<&str> = later.entries().iter().map(|state| state.epoch.as_str()).collect();
    assert_eq!(epochs, ["2008-09-20T13:25:40.104Z", "2008-09-20T13:28:10.104Z", "2008-09-20T13:30:40.104Z"]);
    let moved = distance(later.entries()[0].position, states.entries()[60].position);
    assert!(moved < 1e-6, "{moved} km");
}

#[test]
fn invalid_arguments_are_errors() {
    assert_eq!(
        error(&Propagation { step_minutes: 0.0, ..propagation(ISS) }),
        "step_minutes is 0; it must be more than 0"
    );
    assert_eq!(
        error(&Propagation { duration_minutes: -1.0, ..propagation(ISS) }),
        "duration_minutes is -1; it must be 0 or more"
    );
    assert_eq!(
        error(&Propagation { step_minutes: 0.01, ..propagation(ISS) }),
        "duration_minutes 1440 with step_minutes 0.01 makes 144001 epochs, but at most 20161 are allowed; shorten the \
         duration or lengthen the step"
    );
    assert_eq!(
        error(&Propagation { start: Start::Time("2008-13-01".into()), ..propagation(ISS) }),
        "start is \"2008-13-01\", which is not a valid date; use a day such as 2026-10-31 or a time such as \
         2026-10-31T12:00:00Z, in the years 1950 to 2099"
    );
    assert_eq!(
        error(&Propagation { start: Start::Minutes(1e9), ..propagation(ISS) }),
        "the requested states are 1000000000 to 1000001440 minutes from the epoch of the TLE, \
         2008-09-20T12:25:40.104Z; at most 366 days (527040 minutes) before or after it are allowed"
    );
}

#[test]
fn a_decayed_orbit_is_an_error() {
    assert_eq!(propagation(DECAYING).states().unwrap().entries().len(), 1441);
    let message = error(&Propagation { duration_minutes: 14_400.0, ..propagation(DECAYING) });
    assert!(message.starts_with("SGP4 has no state for this TLE: The propagated eccentricity"), "{message}");
    assert!(message.ends_with("use a TLE of this satellite from closer to that time"), "{message}");
}
