//! Lambert's problem: finds the orbit from one position to another in a given time.
//!
//! Solved in universal variables, as in Bate, Mueller and White, with one unknown `z`: positive for ellipses, zero for a
//! parabola, negative for hyperbolas. The time of flight grows monotonically with `z`, so bisection always finds it; it
//! ends when no number lies between the bounds. Only transfers of less than one revolution are considered.

use libm::{cos, cosh, sin, sinh, sqrt};

/// A position in km or a velocity in km/s.
pub type Vector = [f64; 3];

/// The smallest `z` considered; a faster transfer would need hundreds of times the escape velocity.
const MIN_Z: f64 = -1e5;
/// The smallest sine of the angle between start, centre and end at which they still define a plane.
const MIN_SINE: f64 = 1e-6;

/// The velocities at both ends of a transfer.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Transfer {
    /// The velocity at the start.
    pub start: Vector,
    /// The velocity at the end.
    pub end: Vector,
    /// Whether it covers more than half a revolution.
    pub long_way: bool,
}

/// Why no transfer was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LambertError {
    /// Start, centre and end are on one line, so the plane is undefined.
    #[error("start, centre and end are on one line")]
    Collinear,
    /// No orbit has that time of flight.
    #[error("no orbit has that time of flight")]
    Time,
}

/// Returns the transfer between two positions around a centre with the gravitational parameter `mu`, in km³/s².
///
/// The transfer runs counterclockwise seen from +z, like the planets seen from the north of the ecliptic.
///
/// # Errors
///
/// Fails if both positions and the centre are on one line, or if no orbit has that time of flight.
pub fn transfer(mu: f64, from: Vector, to: Vector, seconds: f64) -> Result<Transfer, LambertError> {
    let (start, end) = (length(from), length(to));
    let normal = cross(from, to);
    if length(normal) <= MIN_SINE * start * end {
        return Err(LambertError::Collinear);
    }
    let geometry = Geometry {
        radii: start + end,
        // Negative if the transfer goes the long way, more than half a revolution.
        a: sqrt(start * end + dot(from, to)).copysign(normal[2]),
    };
    let z = geometry.solve(sqrt(mu) * seconds).ok_or(LambertError::Time)?;
    let y = geometry.y(z);
    let (f, g, g_dot) = (1.0 - y / start, geometry.a * sqrt(y / mu), 1.0 - y / end);
    Ok(Transfer {
        start: std::array::from_fn(|axis| (to[axis] - f * from[axis]) / g),
        end: std::array::from_fn(|axis| (g_dot * to[axis] - from[axis]) / g),
        long_way: geometry.a < 0.0,
    })
}

/// The geometry of both positions: the sum of their radii, and `A` of the textbooks.
struct Geometry {
    radii: f64,
    a: f64,
}

impl Geometry {
    fn y(&self, z: f64) -> f64 {
        let (c, s) = stumpff(z);
        self.radii + self.a * (z * s - 1.0) / sqrt(c)
    }

    /// Returns the time of flight times the root of `mu`; `None` if no orbit is that fast.
    fn time(&self, z: f64) -> Option<f64> {
        let y = self.y(z);
        let (c, s) = stumpff(z);
        let x = sqrt(y / c);
        (y > 0.0).then(|| x * x * x * s + self.a * sqrt(y))
    }

    /// Returns the `z` with this time of flight.
    fn solve(&self, time: f64) -> Option<f64> {
        let too_fast = |z: f64| self.time(z).is_none_or(|reached| reached < time);
        // The upper bound is one revolution, where the time of flight goes to infinity.
        let (mut low, mut high) = (-1.0, 4.0 * std::f64::consts::PI * std::f64::consts::PI);
        while !too_fast(low) {
            high = low;
            low *= 2.0;
            if low < MIN_Z {
                return None;
            }
        }
        loop {
            let middle = f64::midpoint(low, high);
            if middle <= low || middle >= high {
                return self.time(low).map(|_| low);
            }
            match too_fast(middle) {
                true => low = middle,
                false => high = middle,
            }
        }
    }
}

/// Returns the Stumpff functions C and S. Near zero their closed forms lose digits, so the series is summed there.
fn stumpff(z: f64) -> (f64, f64) {
    if z.abs() < 1.0 {
        return stumpff_series(z);
    }
    let root = sqrt(z.abs());
    if z > 0.0 {
        ((1.0 - cos(root)) / z, (root - sin(root)) / (z * root))
    } else {
        ((1.0 - cosh(root)) / z, (root - sinh(root)) / (z * root))
    }
}

/// Returns the sums of `(-z)^k / (2k + 2)!` and `(-z)^k / (2k + 3)!`.
fn stumpff_series(z: f64) -> (f64, f64) {
    let (mut c, mut s) = (0.0, 0.0);
    let mut term = 0.5;
    for k in 0..10 {
        c += term;
        let third = term / f64::from(2 * k + 3);
        s += third;
        term = -third * z / f64::from(2 * k + 4);
    }
    (c, s)
}

/// Returns the length of a vector.
pub(crate) fn length(vector: Vector) -> f64 {
    sqrt(dot(vector, vector))
}

/// Returns the length of the difference of two vectors.
pub(crate) fn distance(one: Vector, other: Vector) -> f64 {
    length(std::array::from_fn(|axis| one[axis] - other[axis]))
}

fn dot(one: Vector, other: Vector) -> f64 {
    one[0] * other[0] + one[1] * other[1] + one[2] * other[2]
}

fn cross(one: Vector, other: Vector) -> Vector {
    [
        one[1] * other[2] - one[2] * other[1],
        one[2] * other[0] - one[0] * other[2],
        one[0] * other[1] - one[1] * other[0],
    ]
}

#[cfg(test)]
mod tests;
