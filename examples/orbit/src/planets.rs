//! Where Earth and Mars are, by the analytic theory VSOP87A (Bretagnon and Francou, 1988), in the ecliptic of J2000.

use chrono::{DateTime, Utc};
use vsop87::vsop87a;

use crate::lambert::Vector;

/// The gravitational parameter of the Sun, in km³/s².
pub const SUN: f64 = 1.327_124_400_419_394e11;
/// The astronomical unit, in km.
const ASTRONOMICAL_UNIT: f64 = 149_597_870.7;
/// Seconds of a day.
const DAY: f64 = 86_400.0;
/// The Julian day of 1970-01-01.
const UNIX: f64 = 2_440_587.5;
/// Half the days over which a velocity is taken. A power of two, so that it changes a Julian day without an error;
/// the curvature of the orbit inside it makes less than 1 mm/s.
const HALF: f64 = 1.0 / 64.0;

/// A planet, with what a spacecraft needs to know of it.
#[derive(Debug, Clone, Copy)]
pub struct Planet {
    /// Its gravitational parameter, in km³/s².
    pub mu: f64,
    /// Its radius at the equator, in km.
    pub radius: f64,
    place: fn(f64) -> vsop87::RectangularCoordinates,
}

/// Earth.
pub const EARTH: Planet = Planet { mu: 398_600.441_8, radius: 6_378.137, place: vsop87a::earth };
/// Mars.
pub const MARS: Planet = Planet { mu: 42_828.375_214, radius: 3_396.19, place: vsop87a::mars };

/// Place in km and velocity in km/s, as seen from the Sun.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motion {
    /// Where it is.
    pub place: Vector,
    /// How it moves.
    pub velocity: Vector,
}

impl Planet {
    /// Returns how the planet moves at a time, which is taken as dynamical time (TDB).
    pub fn at(&self, time: DateTime<Utc>) -> Motion {
        let day = UNIX + time.timestamp() as f64 / DAY;
        let place = |day: f64| {
            let at = (self.place)(day);
            [at.x, at.y, at.z].map(|along| along * ASTRONOMICAL_UNIT)
        };
        let (before, after) = (place(day - HALF), place(day + HALF));
        let velocity = std::array::from_fn(|axis| (after[axis] - before[axis]) / (2.0 * HALF * DAY));
        Motion { place: place(day), velocity }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lambert::{distance, length};

    fn time(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    /// The check values that the authors publish with the theory (vsop87.chk), for J2000.
    #[test]
    fn the_check_values_of_the_theory() {
        let published = [
            (EARTH, [-0.177_135_458_6, 0.967_241_623_7, -0.000_003_900_0]),
            (MARS, [1.390_715_926_4, -0.013_415_704_3, -0.034_467_796_7]),
        ];
        for (planet, place) in published {
            let place = place.map(|along| along * ASTRONOMICAL_UNIT);
            let motion = planet.at(time("2000-01-01T12:00:00Z"));
            assert!(distance(motion.place, place) < 1e-10 * ASTRONOMICAL_UNIT, "{motion:?}");
        }
    }

    /// The vis-viva equation ties speed and distance to the half axis, which the other planets hardly change.
    #[test]
    fn velocity_is_that_of_the_orbit() {
        for month in 1..=12 {
            let at = time(&format!("2026-{month:02}-15T00:00:00Z"));
            for (planet, half_axis) in [(EARTH, 1.0), (MARS, 1.523_68)] {
                let motion = planet.at(at);
                let inverse = 2.0 / length(motion.place) - length(motion.velocity).powi(2) / SUN;
                let found = 1.0 / inverse / ASTRONOMICAL_UNIT;
                // The Moon swings Earth by 12 m/s.
                assert!((found - half_axis).abs() < 1.5e-3, "{found} in month {month}");
            }
        }
    }
}
