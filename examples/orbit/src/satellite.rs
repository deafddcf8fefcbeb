//! Where a satellite will be: SGP4 over a TLE, at evenly spaced epochs.
//!
//! SGP4 runs as the US Space Force runs it, since that is how TLEs are made; so the published verification vectors hold,
//! near Earth and in deep space.

use std::borrow::Cow;

use chrono::{DateTime, SecondsFormat, Utc};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use sgp4::{Constants, Elements, MinutesSinceEpoch};
use tidegate_sdk::Series;

use crate::dates::{self, DateError};
use crate::tle::{self, TleError};

/// The most epochs of one call: two weeks, minute by minute.
const EPOCHS: f64 = 20_161.0;
/// How far from its epoch a TLE is taken, in minutes: a year. After some weeks SGP4 is of little use.
const REACH: f64 = 366.0 * 1440.0;

/// Which states are asked for.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct Span {
    /// The two lines of a TLE, each on a line of its own; a line with the name before them is allowed.
    pub tle: String,
    /// When to begin: minutes since the epoch of the TLE, or an RFC 3339 time. The epoch if left out.
    #[serde(default)]
    pub start: Start,
    /// How long to go on, in minutes. A day if left out.
    #[serde(default = "day")]
    pub duration_minutes: f64,
    /// Minutes between states. One if left out.
    #[serde(default = "minute")]
    pub step_minutes: f64,
}

fn day() -> f64 {
    1440.0
}

fn minute() -> f64 {
    1.0
}

/// When the first state is.
#[derive(Debug, Clone, PartialEq)]
pub enum Start {
    /// So many minutes after the epoch of the TLE.
    Minutes(f64),
    /// A time, or what should be one.
    Time(String),
}

/// Position and velocity at one epoch, in TEME (true equator, mean equinox).
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct State {
    /// The time, in UTC.
    pub epoch: String,
    /// Minutes since the epoch of the TLE.
    pub minutes: f64,
    /// Where it is, in km.
    pub position: [f64; 3],
    /// How it moves, in km/s.
    pub velocity: [f64; 3],
}

/// Why there are no states.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum SpanError {
    /// Something is no TLE.
    #[error(transparent)]
    Tle(#[from] TleError),
    /// Something is no date.
    #[error(transparent)]
    Date(#[from] DateError),
    /// A number that is none of these.
    #[error("{name} is {given}; it takes a number of minutes {accepted}")]
    Minutes {
        /// The argument.
        name: &'static str,
        /// What was given.
        given: f64,
        /// What would be right.
        accepted: &'static str,
    },
    /// More than one answer should have.
    #[error(
        "duration_minutes {duration} by step_minutes {step} makes {epochs} epochs; at most {EPOCHS} are computed, so shorten the duration or lengthen the step"
    )]
    Many {
        /// The duration.
        duration: f64,
        /// The step.
        step: f64,
        /// How many epochs they make.
        epochs: f64,
    },
    /// Too far from the epoch.
    #[error(
        "the states asked for are from {from} to {to} minutes from the epoch of the TLE, {epoch}; it takes 366 days (527040 minutes) before and after it"
    )]
    Far {
        /// The first.
        from: f64,
        /// The last.
        to: f64,
        /// The epoch.
        epoch: String,
    },
    /// SGP4 has no answer.
    #[error("SGP4 has no state for this TLE: {0}; take a TLE of this satellite from nearer to that time")]
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
                "takes minutes since the epoch of the TLE as a number, or an RFC 3339 time as a string",
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

impl Span {
    /// Computes every state.
    ///
    /// # Errors
    ///
    /// Where the TLE or the times are none, or SGP4 has no answer.
    pub fn states(&self) -> Result<Series<State>, SpanError> {
        let elements = tle::read(&self.tle)?;
        let start = self.start_minutes(&elements)?;
        let last = self.last_index()?;
        let end = start + last * self.step_minutes;
        if !(-REACH..=REACH).contains(&start) || end > REACH {
            let epoch = dates::write(elements.datetime.and_utc(), SecondsFormat::Millis);
            return Err(SpanError::Far { from: start, to: end, epoch });
        }
        let constants = Constants::from_elements_afspc_compatibility_mode(&elements)
            .map_err(|error| SpanError::Diverged(error.to_string()))?;
        let minutes = (0..=last as u32).map(|index| start + f64::from(index) * self.step_minutes);
        let states = minutes.map(|minutes| state(&elements, &constants, minutes));
        states.collect::<Result<_, _>>().map(Series::new)
    }

    fn start_minutes(&self, elements: &Elements) -> Result<f64, SpanError> {
        let time = match &self.start {
            Start::Minutes(minutes) => return Ok(*minutes),
            Start::Time(text) => dates::read("start", text)?,
        };
        Ok((time - elements.datetime.and_utc()).as_seconds_f64() / 60.0)
    }

    /// How many steps there are.
    fn last_index(&self) -> Result<f64, SpanError> {
        let (duration, step) = (self.duration_minutes, self.step_minutes);
        if step <= 0.0 {
            return Err(SpanError::Minutes { name: "step_minutes", given: step, accepted: "above zero" });
        }
        if duration < 0.0 {
            let name = "duration_minutes";
            return Err(SpanError::Minutes { name, given: duration, accepted: "from zero" });
        }
        let last = (duration / step).floor();
        if last >= EPOCHS {
            return Err(SpanError::Many { duration, step, epochs: last + 1.0 });
        }
        Ok(last)
    }
}

fn state(elements: &Elements, constants: &Constants, minutes: f64) -> Result<State, SpanError> {
    let diverged = |error: &dyn std::fmt::Display| SpanError::Diverged(error.to_string());
    let since = MinutesSinceEpoch(minutes);
    let predicted = constants.propagate_afspc_compatibility_mode(since).map_err(|error| diverged(&error))?;
    let numbers = predicted.position.iter().chain(&predicted.velocity);
    if !numbers.into_iter().all(|number| number.is_finite()) {
        return Err(diverged(&format!("it is at no place {minutes} minutes after epoch")));
    }
    let time = elements.minutes_since_epoch_to_datetime(&MinutesSinceEpoch(minutes));
    let time: DateTime<Utc> = time.map_err(|error| diverged(&error))?.and_utc();
    let epoch = dates::write(time, SecondsFormat::Millis);
    Ok(State { epoch, minutes, position: predicted.position, velocity: predicted.velocity })
}

#[cfg(test)]
mod tests;
