//! A summary without a model: the sentences of an article that share most of its words, as they stand there.

use std::collections::{HashMap, HashSet};

/// Sentences of a summary.
const SENTENCES: usize = 3;
/// Shorter words say little.
const SHORTEST: usize = 5;

/// Returns the most telling sentences of a text, in their order. Nothing is rephrased.
pub(crate) fn summary(body: &str) -> String {
    let sentences = sentences(body);
    let mut counts: HashMap<String, usize> = HashMap::new();
    let all = sentences.iter().flat_map(|sentence| words(sentence));
    all.for_each(|word| *counts.entry(word).or_default() += 1);
    let score = |sentence: &str| {
        let words: Vec<String> = words(sentence).collect();
        let common: usize = words.iter().map(|word| counts[word] - 1).sum();
        // By the square root of its length, so that neither long nor short sentences win by that alone.
        common as f64 / (words.len().max(1) as f64).sqrt()
    };
    let mut ranked: Vec<(usize, f64)> =
        sentences.iter().map(|sentence| score(sentence)).enumerate().collect();
    ranked.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let mut chosen: Vec<usize> = Vec::new();
    for (at, _) in ranked {
        let is_new = chosen.iter().all(|&other| !repeats(sentences[at], sentences[other]));
        if chosen.len() < SENTENCES && is_new {
            chosen.push(at);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|at| sentences[at]).collect::<Vec<_>>().join(" ")
}

/// Whether a sentence has at least half of its words in common with another.
fn repeats(sentence: &str, other: &str) -> bool {
    let said: HashSet<String> = words(other).collect();
    let all: Vec<String> = words(sentence).collect();
    all.iter().filter(|word| said.contains(*word)).count() * 2 >= all.len()
}

/// The sentences of all paragraphs that are no headings.
fn sentences(body: &str) -> Vec<&str> {
    let paragraphs = body.split("\n\n").filter(|paragraph| !paragraph.starts_with('#'));
    paragraphs.flat_map(|paragraph| paragraph.split_inclusive(['.', '!', '?'])).map(str::trim).collect()
}

fn words(sentence: &str) -> impl Iterator<Item = String> + '_ {
    let words = sentence.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| word.chars().count() >= SHORTEST).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sentences_that_share_most_words_stay_in_their_order() {
        let body = "# Boats and ropes\n\nBoats carry ropes. Sailors splice ropes with patience. Nothing.\n\nWinter \
                    weather splits ropes! Boats carry old ropes. Sailors wait for weather and boats.";
        // "Boats carry old ropes" shares as many words as the first, and says nothing new.
        assert_eq!(
            summary(body),
            "Boats carry ropes. Sailors splice ropes with patience. Sailors wait for weather and boats."
        );
        assert_eq!(summary("One."), "One.");
        assert_eq!(summary(""), "");
    }
}
