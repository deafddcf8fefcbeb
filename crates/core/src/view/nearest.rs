//! Suggestions: the known names that are most similar to a wrong one.

/// Returns the known names most similar to `wrong`, best first; none where no name is similar enough.
pub fn nearest<'k>(wrong: &str, known: impl IntoIterator<Item = &'k str>) -> Vec<&'k str> {
    let wanted = wrong.to_lowercase();
    let near = wanted.chars().count().div_ceil(3).max(1);
    let mut scored: Vec<(usize, &str)> = known
        .into_iter()
        .filter_map(|name| {
            let lower = name.to_lowercase();
            let last = lower.rsplit(['.', ']']).next().unwrap_or(&lower).to_owned();
            let distance = distance(&wanted, &lower).min(distance(&wanted, &last));
            let contained = wanted.len() >= 3 && lower.contains(&wanted);
            (distance <= near || contained)
                .then_some((if contained { distance.min(1) } else { distance }, name))
        })
        .collect();
    scored.sort_by_key(|(distance, name)| (*distance, name.len()));
    scored.into_iter().map(|(_, name)| name).take(3).collect()
}

/// Returns how many characters must be inserted, removed, changed or swapped.
fn distance(one: &str, two: &str) -> usize {
    let (one, two): (Vec<char>, Vec<char>) = (one.chars().take(64).collect(), two.chars().take(64).collect());
    let mut rows = vec![(0..=two.len()).collect::<Vec<usize>>()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in two.iter().enumerate() {
            let previous = &rows[i];
            let mut best = (previous[j] + usize::from(a != b)).min(previous[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == two[j - 1] && one[i - 1] == *b {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[one.len()][two.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_name_finds_the_nearest_one() {
        assert_eq!(nearest("titel", ["id", "title", "subtitle"]), ["title"]);
        assert_eq!(nearest("login", ["id", "author.login"]), ["author.login"]);
        assert!(nearest("zzz", ["id", "title"]).is_empty());
    }
}
