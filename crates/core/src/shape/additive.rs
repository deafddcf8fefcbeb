//! Judges by its name whether the numbers of a field can be added up: amounts can, positions and codes cannot.

/// Words in the names of numbers whose sum is meaningless.
const NOT_ADDITIVE: &[&str] = &[
    "id",
    "index",
    "order",
    "position",
    "line",
    "column",
    "row",
    "col",
    "x",
    "y",
    "z",
    "lat",
    "lon",
    "lng",
    "latitude",
    "longitude",
    "year",
    "month",
    "day",
    "time",
    "timestamp",
    "date",
    "updated",
    "created",
    "version",
    "port",
    "code",
    "tz",
    "rank",
    "level",
    "status",
    "temp",
    "rate",
    "ratio",
    "percent",
    "mean",
    "min",
    "max",
    "avg",
];

/// Returns whether the sum of numbers of this name means something.
pub(super) fn is_additive(name: &str) -> bool {
    !name.split(|c: char| !c.is_ascii_alphabetic()).any(|word| NOT_ADDITIVE.contains(&word))
        && !["line", "column", "temp", "version", "index", "order", "time", "date"]
            .iter()
            .any(|word| name.ends_with(word))
}
