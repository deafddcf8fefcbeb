//! Satellites and transfers to Mars: a small server whose results are a series and a grid.
//!
//! Both tools take `output`: a summary by default, the full data on request, both from the same numbers. tidegate wraps
//! the server and attaches full data that is too large for an answer.
//!
//! | tool | computes | in |
//! |---|---|---|
//! | `sgp4_propagate` | [`Propagation::states`], a `Series` | `satellite.rs`, `tle.rs` |
//! | `porkchop` | [`TransferWindow::grid`], a `Grid` | `porkchop.rs`, `lambert.rs`, `planets.rs` |

mod dates;
mod lambert;
mod measure;
mod plain;
mod planets;
mod porkchop;
mod satellite;
mod tle;
mod tools;

use tidegate_sdk::Tidegate;

pub use dates::DateError;
pub use lambert::{LambertError, Transfer, Vector, transfer};
pub use measure::{state_table, table};
pub use plain::Plain;
pub use planets::{EARTH, MARS, Motion, Planet, SUN};
pub use porkchop::{PorkchopCell, TransferType, TransferWindow, WindowError};
pub use satellite::{Propagation, PropagationError, Start, StateVector};
pub use tle::TleError;
pub use tools::Orbit;

/// A TLE of the International Space Station, September 2008.
pub const ISS: &str = "ISS (ZARYA)
1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927
2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537";
/// A TLE of Vanguard 1, launched in 1958 and still in orbit, June 2000.
pub const VANGUARD: &str = "VANGUARD 1
1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753
2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667";

/// Returns the server wrapped with tidegate.
pub fn server() -> Tidegate<Orbit> {
    Tidegate::wrap(Orbit)
}

/// Returns the same tools without tidegate and without `output`: every result in full.
pub fn plain() -> Plain {
    Plain
}
