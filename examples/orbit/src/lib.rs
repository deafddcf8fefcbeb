//! Satellites and transfers to Mars: a small server whose results are a series and a grid.
//!
//! Both tools take `output`: a summary unless everything is asked for, from the same numbers. What is asked for in full
//! and is too large for an answer is attached by tidegate, which is around the server.
//!
//! | tool | computes | in |
//! |---|---|---|
//! | `sgp4_propagate` | [`Span::states`], a `Series` | `satellite.rs`, `tle.rs` |
//! | `porkchop` | [`Window::grid`], a `Grid` | `porkchop.rs`, `lambert.rs`, `planets.rs` |

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
pub use measure::table;

pub use plain::Plain;
pub use planets::{EARTH, MARS, Motion, Planet, SUN};
pub use porkchop::{Cell, TransferType, Window, WindowError};
pub use satellite::{Span, SpanError, Start, State};
pub use tle::TleError;
pub use tools::Orbit;

/// The International Space Station, in September 2008.
pub const ISS: &str = "ISS (ZARYA)
1 25544U 98067A   08264.51782528 -.00002182  00000-0 -11606-4 0  2927
2 25544  51.6416 247.4627 0006703 130.5360 325.0288 15.72125391563537";
/// Vanguard 1, launched in 1958 and still up there, in June 2000.
pub const VANGUARD: &str = "VANGUARD 1
1 00005U 58002B   00179.78495062  .00000023  00000-0  28098-4 0  4753
2 00005  34.2682 348.7242 1859667 331.7664  19.3264 10.82419157413667";

/// Returns the server with tidegate inside.
pub fn server() -> Tidegate<Orbit> {
    Tidegate::wrap(Orbit)
}

/// Returns the same tools as they were before: without `output`, every result whole.
pub fn plain() -> Plain {
    Plain
}
