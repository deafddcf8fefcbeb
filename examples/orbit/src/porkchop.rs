//! A porkchop plot: a grid of transfers from Earth to Mars, one cell per pair of departure and arrival dates.
//!
//! Both burns are instantaneous: one leaves a circular orbit 300 km above Earth, the other enters one 300 km above Mars.

use chrono::{DateTime, NaiveTime, SecondsFormat, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tidegate_sdk::Grid;
use tidegate_sdk::grid::GridError;

use crate::dates::{self, DateError};
use crate::lambert::{distance, transfer};
use crate::planets::{EARTH, MARS, Motion, Planet, SUN};

/// The altitude of both parking orbits, in km.
const PARKING_ALTITUDE: f64 = 300.0;
/// The accepted numbers of dates on an axis.
const SAMPLES_PER_AXIS: std::ops::RangeInclusive<usize> = 2..=100;
const SECONDS_PER_DAY: f64 = 86_400.0;

/// The arguments of `porkchop`; the defaults are the launch window of 2026.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TransferWindow {
    /// First departure from Earth: a day (2026-10-31) or an RFC 3339 time.
    pub departure_start: String,
    /// Last departure.
    pub departure_end: String,
    /// First arrival at Mars.
    pub arrival_start: String,
    /// Last arrival.
    pub arrival_end: String,
    /// Dates on each axis, evenly spaced: 2 to 100.
    pub samples_per_axis: usize,
}

impl Default for TransferWindow {
    /// With 30 dates on each axis all dates are whole days, five and nine days apart.
    fn default() -> Self {
        Self {
            departure_start: "2026-08-22".into(),
            departure_end: "2027-01-14".into(),
            arrival_start: "2027-05-03".into(),
            arrival_end: "2028-01-19".into(),
            samples_per_axis: 30,
        }
    }
}

/// One transfer.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PorkchopCell {
    /// The departure from Earth.
    pub departure: String,
    /// The arrival at Mars.
    pub arrival: String,
    /// The time of flight, in days.
    pub tof_days: f64,
    /// Whether the transfer covers less (I) or more (II) than half a revolution around the Sun.
    pub transfer_type: TransferType,
    /// The characteristic energy at departure, in km²/s².
    pub c3: f64,
    /// The hyperbolic excess speed at Mars, in km/s.
    pub v_inf_arrival: f64,
    /// The sum of both burns, in km/s.
    pub total_dv: f64,
}

/// The type of a transfer, in the usual numbering of mission design.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum TransferType {
    /// Less than half a revolution around the Sun.
    I,
    /// More than half a revolution.
    II,
}

/// Why a grid could not be computed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WindowError {
    /// A date is invalid.
    #[error(transparent)]
    Date(#[from] DateError),
    /// An axis ends before it starts.
    #[error("{axis}_start is {start}; it must be before {axis}_end, {end}")]
    Backwards {
        /// The axis.
        axis: &'static str,
        /// The start of the axis.
        start: String,
        /// The end of the axis.
        end: String,
    },
    /// All arrivals are before all departures.
    #[error(
        "arrival_end is {arrival}; it must be after departure_start, {departure}; a transfer to Mars takes 100 to 400 days, so set all four dates of the window"
    )]
    Order {
        /// The last arrival.
        arrival: String,
        /// The first departure.
        departure: String,
    },
    /// The number of dates per axis is out of range.
    #[error("samples_per_axis is {0}; it must be from 2 to 100 (default 30)")]
    Samples(usize),
    /// The grid could not be built.
    #[error(transparent)]
    Grid(#[from] GridError),
}

impl TransferWindow {
    /// Computes every transfer; departures are the rows.
    ///
    /// # Errors
    ///
    /// Fails if an argument is invalid.
    pub fn grid(&self) -> Result<Grid<PorkchopCell>, WindowError> {
        let samples = self.samples_per_axis;
        if !SAMPLES_PER_AXIS.contains(&samples) {
            return Err(WindowError::Samples(samples));
        }
        let departure = axis(
            "departure",
            [("departure_start", &self.departure_start), ("departure_end", &self.departure_end)],
        )?;
        let arrival =
            axis("arrival", [("arrival_start", &self.arrival_start), ("arrival_end", &self.arrival_end)])?;
        if arrival[1] <= departure[0] {
            return Err(WindowError::Order {
                arrival: format_date(arrival[1]),
                departure: format_date(departure[0]),
            });
        }
        let departures = motions(EARTH, departure, samples);
        let arrivals = motions(MARS, arrival, samples);
        let pairs = departures.iter().flat_map(|from| arrivals.iter().map(move |to| (from, to)));
        let cells = pairs.map(|(from, to)| cell(from, to)).collect();
        Ok(Grid::new(samples, samples, cells, |cell: &PorkchopCell| cell.total_dv)?)
    }
}

/// Parses the first and the last date of an axis.
fn axis(name: &'static str, ends: [(&'static str, &String); 2]) -> Result<[DateTime<Utc>; 2], WindowError> {
    let start = dates::parse(ends[0].0, ends[0].1)?;
    let end = dates::parse(ends[1].0, ends[1].1)?;
    if start >= end {
        return Err(WindowError::Backwards { axis: name, start: format_date(start), end: format_date(end) });
    }
    Ok([start, end])
}

/// Returns evenly spaced dates, to the second, and the motion of a planet at each.
fn motions(planet: Planet, [start, end]: [DateTime<Utc>; 2], samples: usize) -> Vec<(DateTime<Utc>, Motion)> {
    let seconds = (end - start).num_seconds();
    let gaps = samples as i64 - 1;
    let date = |index: i64| start + TimeDelta::seconds(seconds * index / gaps);
    (0..=gaps).map(date).map(|date| (date, planet.at(date))).collect()
}

/// Returns the transfer between two dates, if there is one.
fn cell(
    (departure, earth): &(DateTime<Utc>, Motion),
    (arrival, mars): &(DateTime<Utc>, Motion),
) -> Option<PorkchopCell> {
    let seconds = (*arrival - *departure).num_seconds() as f64;
    let found = transfer(SUN, earth.position, mars.position, seconds).ok()?;
    let v_inf_departure = distance(found.start, earth.velocity);
    let v_inf_arrival = distance(found.end, mars.velocity);
    Some(PorkchopCell {
        departure: format_date(*departure),
        arrival: format_date(*arrival),
        tof_days: seconds / SECONDS_PER_DAY,
        transfer_type: if found.long_way { TransferType::II } else { TransferType::I },
        c3: v_inf_departure * v_inf_departure,
        v_inf_arrival,
        total_dv: burn(EARTH, v_inf_departure) + burn(MARS, v_inf_arrival),
    })
}

/// Returns the delta-v between the parking orbit of a planet and a hyperbolic excess speed.
fn burn(planet: Planet, v_inf: f64) -> f64 {
    let potential = planet.mu / (planet.radius + PARKING_ALTITUDE);
    libm::sqrt(v_inf * v_inf + 2.0 * potential) - libm::sqrt(potential)
}

/// Formats a date like the arguments: midnight as the day alone.
fn format_date(time: DateTime<Utc>) -> String {
    let mut text = dates::format(time, SecondsFormat::Secs);
    if time.time() == NaiveTime::MIN {
        text.truncate("2026-10-31".len());
    }
    text
}

#[cfg(test)]
mod tests;
