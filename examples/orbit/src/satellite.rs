//! Propagates a satellite with SGP4 from a TLE, at evenly spaced epochs.
//!
//! SGP4 runs in AFSPC compatibility mode, which is how TLEs are produced. The tests check the published verification
//! vectors, near Earth and in deep space.

use std::borrow::Cow;

use chrono::{DateTime, SecondsFormat, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use sgp4::{Constants, Elements, MinutesSinceEpoch};
use tidegate_sdk::Series;

use crate::dates::{self, DateError};
use crate::tle::{self, TleError};

/// Epochs of one call: two weeks, minute by minute.
const MAX_EPOCHS: f64 = 20_161.0;
/// Minutes from the TLE epoch that can be propagated: a year. SGP4 is of little use after some weeks.
const MAX_MINUTES_FROM_EPOCH: f64 = 366.0 * 1440.0;

/// The arguments of `sgp4_propagate`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Propagation {
    /// The two lines of a TLE; a line with the name of the satellite may precede them.
    pub tle: String,
    /// The first epoch: minutes since the epoch of the TLE, or an RFC 3339 time. Default: the epoch of the TLE.
    #[serde(default)]
    pub start: Start,
    /// The duration in minutes. Default: 1440, a day.
    #[serde(default = "day")]
    pub duration_minutes: f64,
    /// Minutes between states. Default: 1.
    #[serde(default = "minute")]
    pub step_minutes: f64,
}

fn day() -> f64 {
    1440.0
}

fn minute() -> f64 {
    1.0
}

/// The time of the first state.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// Minutes since the epoch of the TLE.
    Minutes(f64),
    /// A time as text, not yet parsed.
    Time(String),
}

/// Position and velocity at one epoch, in TEME (true equator, mean equinox).
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StateVector {
    /// The time in UTC.
    pub epoch: String,
    /// Minutes since the epoch of the TLE.
    pub minutes: f64,
    /// The position in km.
    pub position: [f64; 3],
    /// The velocity in km/s.
    pub velocity: [f64; 3],
}

/// Why a propagation failed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PropagationError {
    /// The TLE is invalid.
    #[error(transparent)]
    Tle(#[from] TleError),
    /// The start time is invalid.
    #[error(transparent)]
    Date(#[from] DateError),
    /// A number of minutes is out of range.
    #[error("{name} is {given}; it must be {accepted}")]
    Minutes {
        /// The name of the argument.
        name: &'static str,
        /// The given value.
        given: f64,
        /// The accepted range, in words.
        accepted: &'static str,
    },
    /// There are too many epochs.
    #[error(
        "duration_minutes {duration} with step_minutes {step} makes {epochs} epochs, but at most {MAX_EPOCHS} are allowed; shorten the duration or lengthen the step"
    )]
    TooManyEpochs {
        /// The duration.
        duration: f64,
        /// The step.
        step: f64,
        /// The number of epochs.
        epochs: f64,
    },
    /// The requested times are too far from the epoch of the TLE.
    #[error(
        "the requested states are {from} to {to} minutes from the epoch of the TLE, {epoch}; at most 366 days (527040 minutes) before or after it are allowed"
    )]
    TooFarFromEpoch {
        /// Minutes of the first state.
        from: f64,
        /// Minutes of the last state.
        to: f64,
        /// The epoch of the TLE.
        epoch: String,
    },
    /// SGP4 has no solution.
    #[error("SGP4 has no state for this TLE: {0}; use a TLE of this satellite from closer to that time")]
    Diverged(String),
}

impl Default for Start {
    fn default() -> Self {
        Self::Minutes(0.0)
    }
}

impl<'de> Deserialize<'de> for Start {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Number(number) => Ok(Self::Minutes(number.as_f64().unwrap_or(f64::NAN))),
            Value::String(text) => Ok(Self::Time(text)),
            _ => Err(serde::de::Error::custom(
                "expected minutes since the epoch of the TLE as a number, or an RFC 3339 time as a string",
            )),
        }
    }
}

impl JsonSchema for Start {
    fn schema_name() -> Cow<'static, str> {
        "Start".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": ["number", "string"] })
    }
}

impl Propagation {
    /// Computes every state.
    ///
    /// # Errors
    ///
    /// Fails if the TLE or the times are invalid, or if SGP4 has no solution.
    pub fn states(&self) -> Result<Series<StateVector>, PropagationError> {
        let elements = tle::parse(&self.tle)?;
        let start = self.start_minutes(&elements)?;
        let last = self.step_count()?;
        let end = start + last * self.step_minutes;
        if !(-MAX_MINUTES_FROM_EPOCH..=MAX_MINUTES_FROM_EPOCH).contains(&start)
            || end > MAX_MINUTES_FROM_EPOCH
        {
            let epoch = dates::format(elements.datetime.and_utc(), SecondsFormat::Millis);
            return Err(PropagationError::TooFarFromEpoch { from: start, to: end, epoch });
        }
        let constants = Constants::from_elements_afspc_compatibility_mode(&elements)
            .map_err(|error| PropagationError::Diverged(error.to_string()))?;
        let minutes = (0..=last as u32).map(|index| start + f64::from(index) * self.step_minutes);
        let states = minutes.map(|minutes| state(&elements, &constants, minutes));
        states.collect::<Result<_, _>>().map(Series::new)
    }

    fn start_minutes(&self, elements: &Elements) -> Result<f64, PropagationError> {
        let time = match &self.start {
            Start::Minutes(minutes) => return Ok(*minutes),
            Start::Time(text) => dates::parse("start", text)?,
        };
        Ok((time - elements.datetime.and_utc()).as_seconds_f64() / 60.0)
    }

    /// Returns the number of steps, which is the index of the last state.
    fn step_count(&self) -> Result<f64, PropagationError> {
        let (duration, step) = (self.duration_minutes, self.step_minutes);
        if step <= 0.0 {
            return Err(PropagationError::Minutes {
                name: "step_minutes",
                given: step,
                accepted: "more than 0",
            });
        }
        if duration < 0.0 {
            let name = "duration_minutes";
            return Err(PropagationError::Minutes { name, given: duration, accepted: "0 or more" });
        }
        let last = (duration / step).floor();
        if last >= MAX_EPOCHS {
            return Err(PropagationError::TooManyEpochs { duration, step, epochs: last + 1.0 });
        }
        Ok(last)
    }
}

fn state(elements: &Elements, constants: &Constants, minutes: f64) -> Result<StateVector, PropagationError> {
    let diverged = |error: &dyn std::fmt::Display| PropagationError::Diverged(error.to_string());
    let since = MinutesSinceEpoch(minutes);
    let predicted = constants.propagate_afspc_compatibility_mode(since).map_err(|error| diverged(&error))?;
    let numbers = predicted.position.iter().chain(&predicted.velocity);
    if !numbers.into_iter().all(|number| number.is_finite()) {
        return Err(diverged(&format!("the state {minutes} minutes after the epoch is not finite")));
    }
    let time = elements.minutes_since_epoch_to_datetime(&MinutesSinceEpoch(minutes));
    let time: DateTime<Utc> = time.map_err(|error| diverged(&error))?.and_utc();
    let epoch = dates::format(time, SecondsFormat::Millis);
    Ok(StateVector { epoch, minutes, position: predicted.position, velocity: predicted.velocity })
}

#[cfg(test)]
mod tests;
