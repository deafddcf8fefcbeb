//! Choices by name: how an enum of the configuration is read.

/// Returns the choice whose name is given; names and choices are in the same order.
pub(crate) fn named<T: Copy, const N: usize>(names: [&str; N], choices: [T; N], name: &str) -> Option<T> {
    names.iter().position(|known| *known == name).map(|at| choices[at])
}
