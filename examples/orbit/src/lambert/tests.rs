//! Textbook cases, and solutions checked by numerical integration, which is independent of the solver.

use super::*;

const EARTH: f64 = 398_600.441_8;
const SUN: f64 = 1.327_124_400_419_394e11;

fn assert_near(found: Vector, expected: Vector, tolerance: f64) {
    assert!(distance(found, expected) <= tolerance, "{found:?} is not {expected:?}");
}

/// Integrates two-body motion with the classical Runge-Kutta method.
fn integrate(mu: f64, position: Vector, velocity: Vector, seconds: f64, steps: u32) -> (Vector, Vector) {
    type Motion = [Vector; 2];
    let rate = |[position, velocity]: Motion| -> Motion {
        let cube = length(position).powi(3);
        [velocity, position.map(|along| -mu * along / cube)]
    };
    let along = |from: Motion, rate: Motion, time: f64| -> Motion {
        std::array::from_fn(|part| std::array::from_fn(|axis| from[part][axis] + time * rate[part][axis]))
    };
    let step = seconds / f64::from(steps);
    let mut motion = [position, velocity];
    for _ in 0..steps {
        let first = rate(motion);
        let second = rate(along(motion, first, step / 2.0));
        let third = rate(along(motion, second, step / 2.0));
        let fourth = rate(along(motion, third, step));
        for (rate, weight) in [(first, 1.0), (second, 2.0), (third, 2.0), (fourth, 1.0)] {
            motion = along(motion, rate, step * weight / 6.0);
        }
    }
    (motion[0], motion[1])
}

/// Vallado, "Fundamentals of Astrodynamics and Applications", example 7-5: 76 minutes from one position
/// to another, both some Earth radii away. All six published digits.
#[test]
fn vallado_example_7_5() {
    let (from, to) = ([15_945.34, 0.0, 0.0], [12_214.838_99, 10_249.467_31, 0.0]);
    let found = transfer(EARTH, from, to, 76.0 * 60.0).unwrap();
    assert_near(found.start, [2.058_913, 2.915_965, 0.0], 1e-6);
    assert_near(found.end, [-3.451_565, 0.910_315, 0.0], 1e-6);
}

/// Curtis, "Orbital Mechanics for Engineering Students", example 5.2, with its gravitational parameter and its digits.
#[test]
fn curtis_example_5_2() {
    let (from, to) = ([5_000.0, 10_000.0, 2_100.0], [-14_600.0, 2_500.0, 7_000.0]);
    let found = transfer(398_600.0, from, to, 3_600.0).unwrap();
    assert_near(found.start, [-5.9925, 1.9254, 3.2456], 1e-4);
    assert_near(found.end, [-3.3125, -4.1966, -0.385_29], 1e-4);
    let (position, velocity) = integrate(398_600.0, from, found.start, 3_600.0, 20_000);
    assert_near(position, to, 1e-6);
    assert_near(velocity, found.end, 1e-9);
}

/// Every solution arrives: short and long way, ellipse and hyperbola.
#[test]
fn every_transfer_arrives() {
    let astronomical_unit = 1.495_978_707e8;
    for degrees in [20.0_f64, 90.0, 170.0, 179.0, 181.0, 190.0, 270.0] {
        for days in [40.0, 120.0, 250.0, 400.0] {
            let (sin, cos) = degrees.to_radians().sin_cos();
            let from = [astronomical_unit, 0.0, 0.0];
            let to = [1.5 * astronomical_unit * cos, 1.5 * astronomical_unit * sin, 0.03 * astronomical_unit];
            let seconds = days * 86_400.0;
            let found = transfer(SUN, from, to, seconds).unwrap();
            let (position, velocity) = integrate(SUN, from, found.start, seconds, 20_000);
            let missed = distance(position, to) / length(to);
            assert!(missed < 1e-6, "{degrees} degrees in {days} days misses by {missed}");
            assert!(distance(velocity, found.end) < 1e-5, "{degrees} degrees in {days} days");
            assert!(cross(from, found.start)[2] > 0.0, "counterclockwise");
            assert_eq!(found.long_way, degrees > 180.0);
        }
    }
}

#[test]
fn unsolvable_cases_are_errors() {
    let from = [7_000.0, 0.0, 0.0];
    assert_eq!(transfer(EARTH, from, [-7_000.0, 0.0, 0.0], 3_000.0), Err(LambertError::Collinear));
    assert_eq!(transfer(EARTH, from, [14_000.0, 0.0, 0.0], 3_000.0), Err(LambertError::Collinear));
    for seconds in [0.0, -1.0, f64::NAN] {
        assert_eq!(transfer(EARTH, from, [0.0, 7_000.0, 0.0], seconds), Err(LambertError::Time));
    }
}

#[test]
fn the_series_agrees_with_the_closed_forms() {
    for z in [-1.0_f64, 1.0] {
        let (inside, outside) = (stumpff_series(z), stumpff(z));
        assert!((inside.0 - outside.0).abs() < 1e-15 && (inside.1 - outside.1).abs() < 1e-15, "{z}");
    }
    assert_eq!(stumpff(0.0), (0.5, 1.0 / 6.0));
}
