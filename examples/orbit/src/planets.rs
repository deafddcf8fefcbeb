//! Positions of Earth and Mars from the analytic theory VSOP87A (Bretagnon and Francou, 1988), in the ecliptic of J2000.

use chrono::{DateTime, Utc};
use vsop87::vsop87a;

use crate::lambert::Vector;

/// The gravitational parameter of the Sun, in km³/s².
pub const SUN: f64 = 1.327_124_400_419_394e11;
/// The astronomical unit, in km.
const ASTRONOMICAL_UNIT: f64 = 149_597_870.7;
const SECONDS_PER_DAY: f64 = 86_400.0;
/// The Julian day of 1970-01-01.
const UNIX_EPOCH_JULIAN_DAY: f64 = 2_440_587.5;
/// Days before and after a time whose positions give the velocity by central difference. A power of two, so that adding
/// it to a Julian day is exact; the curvature of the orbit within it changes the velocity by less than 1 mm/s.
const HALF_STEP_DAYS: f64 = 1.0 / 64.0;

/// A planet with its physical parameters.
#[derive(Debug, Clone, Copy)]
pub struct Planet {
    /// The gravitational parameter, in km³/s².
    pub mu: f64,
    /// The radius at the equator, in km.
    pub radius: f64,
    position: fn(f64) -> vsop87::RectangularCoordinates,
}

/// Earth.
pub const EARTH: Planet = Planet { mu: 398_600.441_8, radius: 6_378.137, position: vsop87a::earth };
/// Mars.
pub const MARS: Planet = Planet { mu: 42_828.375_214, radius: 3_396.19, position: vsop87a::mars };

/// Position and velocity relative to the Sun.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Motion {
    /// The position in km.
    pub position: Vector,
    /// The velocity in km/s.
    pub velocity: Vector,
}

impl Planet {
    /// Returns the motion of the planet at a time, which is taken as dynamical time (TDB).
    pub fn at(&self, time: DateTime<Utc>) -> Motion {
        let day = UNIX_EPOCH_JULIAN_DAY + time.timestamp() as f64 / SECONDS_PER_DAY;
        let position = |day: f64| {
            let at = (self.position)(day);
            [at.x, at.y, at.z].map(|along| along * ASTRONOMICAL_UNIT)
        };
        let (before, after) = (position(day - HALF_STEP_DAYS), position(day + HALF_STEP_DAYS));
        let seconds = 2.0 * HALF_STEP_DAYS * SECONDS_PER_DAY;
        let velocity = std::array::from_fn(|axis| (after[axis] - before[axis]) / seconds);
        Motion { position: position(day), velocity }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lambert::{distance, length};

    fn time(text: &str) -> DateTime<Utc> {
        text.parse().unwrap()
    }

    /// The check values published with the theory (vsop87.chk), for J2000.
    #[test]
    fn the_check_values_of_the_theory() {
        let published = [
            (EARTH, [-0.177_135_458_6, 0.967_241_623_7, -0.000_003_900_0]),
            (MARS, [1.390_715_926_4, -0.013_415_704_3, -0.034_467_796_7]),
        ];
        for (planet, position) in published {
            let position = position.map(|along| along * ASTRONOMICAL_UNIT);
            let motion = planet.at(time("2000-01-01T12:00:00Z"));
            assert!(distance(motion.position, position) < 1e-10 * ASTRONOMICAL_UNIT, "{motion:?}");
        }
    }

    /// The vis-viva equation gives the semi-major axis, which the other planets hardly change.
    #[test]
    fn the_velocity_fits_the_orbit() {
        for month in 1..=12 {
            let at = time(&format!("2026-{month:02}-15T00:00:00Z"));
            for (planet, semi_major_axis) in [(EARTH, 1.0), (MARS, 1.523_68)] {
                let motion = planet.at(at);
                let inverse = 2.0 / length(motion.position) - length(motion.velocity).powi(2) / SUN;
                let found = 1.0 / inverse / ASTRONOMICAL_UNIT;
                // The Moon moves Earth by 12 m/s.
                assert!((found - semi_major_axis).abs() < 1.5e-3, "{found} in month {month}");
            }
        }
    }
}
