//! Extractive summaries, without a model: the sentences that share the most words with the rest of the article.

use std::collections::{HashMap, HashSet};

/// Sentences in a summary.
const SUMMARY_SENTENCES: usize = 3;
/// Characters of a word that counts; shorter words carry little meaning.
const MIN_WORD_CHARS: usize = 5;

/// Returns the most representative sentences of a text, verbatim and in order.
pub(crate) fn summarize(body: &str) -> String {
    let sentences = sentences(body);
    let mut counts: HashMap<String, usize> = HashMap::new();
    let all = sentences.iter().flat_map(|sentence| words(sentence));
    all.for_each(|word| *counts.entry(word).or_default() += 1);
    let score = |sentence: &str| {
        let words: Vec<String> = words(sentence).collect();
        let common: usize = words.iter().map(|word| counts[word] - 1).sum();
        // Dividing by the square root of the length favors neither long nor short sentences.
        common as f64 / (words.len().max(1) as f64).sqrt()
    };
    let mut ranked: Vec<(usize, f64)> =
        sentences.iter().map(|sentence| score(sentence)).enumerate().collect();
    ranked.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    let mut chosen: Vec<usize> = Vec::new();
    for (index, _) in ranked {
        let is_new = chosen.iter().all(|&other| !repeats(sentences[index], sentences[other]));
        if chosen.len() < SUMMARY_SENTENCES && is_new {
            chosen.push(index);
        }
    }
    chosen.sort_unstable();
    chosen.into_iter().map(|index| sentences[index]).collect::<Vec<_>>().join(" ")
}

/// Returns whether a sentence shares at least half of its words with another.
fn repeats(sentence: &str, other: &str) -> bool {
    let others: HashSet<String> = words(other).collect();
    let all: Vec<String> = words(sentence).collect();
    all.iter().filter(|word| others.contains(*word)).count() * 2 >= all.len()
}

/// Returns the sentences of all paragraphs except headings.
fn sentences(body: &str) -> Vec<&str> {
    let paragraphs = body.split("\n\n").filter(|paragraph| !paragraph.starts_with('#'));
    paragraphs.flat_map(|paragraph| paragraph.split_inclusive(['.', '!', '?'])).map(str::trim).collect()
}

fn words(sentence: &str) -> impl Iterator<Item = String> + '_ {
    let words = sentence.split(|letter: char| !letter.is_alphanumeric());
    words.filter(|word| word.chars().count() >= MIN_WORD_CHARS).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_representative_sentences_keep_their_order() {
        let body = "# Boats and ropes\n\nBoats carry ropes. Sailors splice ropes with patience. Nothing.\n\nWinter \
                    weather splits ropes! Boats carry old ropes. Sailors wait for weather and boats.";
        // "Boats carry old ropes" scores as high as the first sentence, but repeats it.
        assert_eq!(
            summarize(body),
            "Boats carry ropes. Sailors splice ropes with patience. Sailors wait for weather and boats."
        );
        assert_eq!(summarize("One."), "One.");
        assert_eq!(summarize(""), "");
    }
}
