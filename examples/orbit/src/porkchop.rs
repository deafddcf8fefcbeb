//! Transfers from Earth to Mars by departure and arrival: every pair of dates is one cell of a grid.
//!
//! Both burns are instant: one leaves a circular orbit 300 km above Earth, the other ends in one 300 km above Mars.

use chrono::{DateTime, NaiveTime, SecondsFormat, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tidegate_sdk::Grid;
use tidegate_sdk::grid::GridError;

use crate::dates::{self, DateError};
use crate::lambert::{distance, transfer};
use crate::planets::{EARTH, MARS, Motion, Planet, SUN};

/// The height of both parking orbits, in km.
const PARKING: f64 = 300.0;
/// How many dates an axis can have.
const SAMPLES: std::ops::RangeInclusive<usize> = 2..=100;
/// Seconds of a day.
const DAY: f64 = 86_400.0;

/// Which transfers are looked at. What is not given is of the window of 2026.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Window {
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

impl Default for Window {
    /// Thirty dates on each axis are whole days, five and nine apart.
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
pub struct Cell {
    /// When it leaves Earth.
    pub departure: String,
    /// When it reaches Mars.
    pub arrival: String,
    /// The time of flight, in days.
    pub tof_days: f64,
    /// By less or by more than half a revolution about the Sun.
    pub transfer_type: TransferType,
    /// The characteristic energy at departure, in km²/s².
    pub c3: f64,
    /// The speed before Mars' pull, in km/s.
    pub v_inf_arrival: f64,
    /// Both burns, in km/s.
    pub total_dv: f64,
}

/// How a transfer goes about the Sun, as mission designers say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub enum TransferType {
    /// By less than half a revolution.
    I,
    /// By more.
    II,
}

/// Why there is no grid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WindowError {
    /// Something is no date.
    #[error(transparent)]
    Date(#[from] DateError),
    /// An axis that does not go forward.
    #[error(
        "{axis}_start is {start}, which is not before {axis}_end, {end}; the start of an axis is before its end"
    )]
    Backwards {
        /// Which axis.
        axis: &'static str,
        /// Its start.
        start: String,
        /// Its end.
        end: String,
    },
    /// Nobody arrives before they leave.
    #[error(
        "the last arrival, arrival_end {arrival}, is not after the first departure, departure_start {departure}; a transfer to Mars takes 100 to 400 days, so give all four dates of the window"
    )]
    Order {
        /// The last arrival.
        arrival: String,
        /// The first departure.
        departure: String,
    },
    /// Too few or too many dates.
    #[error("samples_per_axis is {0}; it takes 2 to 100, and 30 if it is left out")]
    Samples(usize),
    /// The cells do not make a grid.
    #[error(transparent)]
    Grid(#[from] GridError),
}

impl Window {
    /// Computes every transfer; departures are the rows.
    ///
    /// # Errors
    ///
    /// Where the window is none.
    pub fn grid(&self) -> Result<Grid<Cell>, WindowError> {
        let samples = self.samples_per_axis;
        if !SAMPLES.contains(&samples) {
            return Err(WindowError::Samples(samples));
        }
        let departure = axis(
            "departure",
            [("departure_start", &self.departure_start), ("departure_end", &self.departure_end)],
        )?;
        let arrival =
            axis("arrival", [("arrival_start", &self.arrival_start), ("arrival_end", &self.arrival_end)])?;
        if arrival[1] <= departure[0] {
            return Err(WindowError::Order { arrival: shown(arrival[1]), departure: shown(departure[0]) });
        }
        let (leaving, reaching) = (dated(EARTH, departure, samples), dated(MARS, arrival, samples));
        let pairs = leaving.iter().flat_map(|from| reaching.iter().map(move |to| (from, to)));
        let cells = pairs.map(|(from, to)| cell(from, to)).collect();
        Ok(Grid::new(samples, samples, cells, |cell: &Cell| cell.total_dv)?)
    }
}

/// The first and the last date of an axis.
fn axis(name: &'static str, ends: [(&'static str, &String); 2]) -> Result<[DateTime<Utc>; 2], WindowError> {
    let start = dates::read(ends[0].0, ends[0].1)?;
    let end = dates::read(ends[1].0, ends[1].1)?;
    if start >= end {
        return Err(WindowError::Backwards { axis: name, start: shown(start), end: shown(end) });
    }
    Ok([start, end])
}

/// Evenly spaced dates, to the second, and how a planet moves at each.
fn dated(planet: Planet, [start, end]: [DateTime<Utc>; 2], samples: usize) -> Vec<(DateTime<Utc>, Motion)> {
    let seconds = (end - start).num_seconds();
    let gaps = samples as i64 - 1;
    let date = |index: i64| start + TimeDelta::seconds(seconds * index / gaps);
    (0..=gaps).map(date).map(|date| (date, planet.at(date))).collect()
}

/// The transfer between two dates, if there is one.
fn cell(
    (leaving, earth): &(DateTime<Utc>, Motion),
    (reaching, mars): &(DateTime<Utc>, Motion),
) -> Option<Cell> {
    let seconds = (*reaching - *leaving).num_seconds() as f64;
    let found = transfer(SUN, earth.place, mars.place, seconds).ok()?;
    let v_inf_departure = distance(found.start, earth.velocity);
    let v_inf_arrival = distance(found.end, mars.velocity);
    Some(Cell {
        departure: shown(*leaving),
        arrival: shown(*reaching),
        tof_days: seconds / DAY,
        transfer_type: if found.long_way { TransferType::II } else { TransferType::I },
        c3: v_inf_departure * v_inf_departure,
        v_inf_arrival,
        total_dv: burn(EARTH, v_inf_departure) + burn(MARS, v_inf_arrival),
    })
}

/// What it takes to get from the parking orbit of a planet to a speed beyond its pull, or back.
fn burn(planet: Planet, v_inf: f64) -> f64 {
    let potential = planet.mu / (planet.radius + PARKING);
    libm::sqrt(v_inf * v_inf + 2.0 * potential) - libm::sqrt(potential)
}

/// As a date is given: midnight as the day alone.
fn shown(time: DateTime<Utc>) -> String {
    let mut text = dates::write(time, SecondsFormat::Secs);
    if time.time() == NaiveTime::MIN {
        text.truncate("2026-10-31".len());
    }
    text
}

#[cfg(test)]
mod tests;
