//! Random logs, and the plain counts of their lines.

use super::columns::Random;
use super::overview;

/// Patterns of lines; `#` stands for a number, `@` for a quoted word. The flag says whether they report a failure.
const PATTERNS: &[(&str, bool)] = &[
    ("INFO handled request # in # ms", false),
    ("DEBUG cache @ warm", false),
    ("WARN slow query took # ms", true),
    ("ERROR request # failed: @ refused", true),
    ("worker # panic at block #", true),
    ("INFO nothing to do", false),
    ("NOTICE level @ for ERROR-PRONE node #", false),
    ("TRACE 0 errors after # steps", false),
    ("at frame #", false),
];

/// Shapes a random log and checks its counts.
pub(super) fn check(random: &mut Random, count: usize, tokens: u64) {
    let used = 1 + random.below(PATTERNS.len());
    let chosen: Vec<(String, String, bool)> = (0..count)
        .map(|_| {
            let (pattern, severe) = PATTERNS[random.below(used)];
            // A quoted word may make a line more severe.
            let word = random.pick(&["disk", "queue", "fatal", "net card"]);
            let mut line = format!("2024-03-01 10:00:{:02} ", random.below(60));
            for character in pattern.chars() {
                match character {
                    '#' => line.push_str(&random.below(9999).to_string()),
                    '@' => line.push_str(&format!("'{word}'")),
                    other => line.push(other),
                }
            }
            // It does not in a line whose level says that nothing is wrong.
            let grade = format!("{pattern}{}", severe && pattern.contains('@') && word == "fatal");
            (line, grade, severe)
        })
        .collect();
    let text: Vec<&str> = chosen.iter().map(|(line, _, _)| line.as_str()).collect();
    let Some(overview) = overview(&text.join("\n"), tokens) else { return };
    let severe = chosen.iter().filter(|(_, _, severe)| *severe).count();
    for line in overview.lines() {
        if let Some(rest) = line.strip_prefix("errors and warnings, ") {
            let shown = rest.split(" line").next().unwrap().replace(',', "");
            assert_eq!(shown, severe.to_string(), "{overview}");
        }
        if let Some(words) = line.strip_prefix("lines with: ") {
            for (word, shown) in words.split(' ').filter_map(|item| item.split_once('=')) {
                let has =
                    |line: &&str| line.split(|c: char| !c.is_ascii_alphanumeric()).any(|part| part == word);
                let count = text.iter().filter(|line| has(line)).count();
                assert_eq!(shown, count.to_string(), "{word}: {overview}");
            }
        }
        let Some((number, rest)) = line.strip_prefix('L').and_then(|line| line.split_once(" x")) else {
            continue;
        };
        let (Ok(number), Some((shown, _))) = (number.parse::<usize>(), rest.split_once(' ')) else {
            continue;
        };
        let (_, grade, _) = &chosen[number - 1];
        // Severe words in quotes make lines of one pattern differ in severity.
        let count = chosen.iter().filter(|(_, other, _)| other == grade).count();
        assert_eq!(shown, count.to_string(), "L{number} {grade}: {overview}");
    }
    if severe == 0 {
        assert!(!overview.contains("errors and warnings"), "{overview}");
    }
}
