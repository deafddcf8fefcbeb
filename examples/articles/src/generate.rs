//! Generates the articles of a new library from word lists: the same articles on every machine.

use crate::SITES;
use crate::article::Article;

/// One article in this many is long.
const LONG_ARTICLE_INTERVAL: u64 = 40;

// Comma-separated word lists. Where there are several, each site or position has its own.

/// The topics of each site.
const NOUNS: [&str; 4] = [
    "mooring line, tide table, rope fender, slipway, pilot boat, anchor chain, harbour light, breakwater, dry dock, signal flag",
    "raised bed, compost heap, apple tree, seed tray, water butt, beech hedge, greenhouse, bean row, herb spiral, bee hotel",
    "sourdough starter, iron pan, pickle jar, soup stock, oven stone, bread knife, spice rack, loaf tin, pasta dough, tea kettle",
    "hand plane, workbench, dovetail joint, drill press, chisel set, glue pot, band saw, wood lathe, whetstone, tool chest",
];
const ACTIVITIES: &str =
    "Mending, Choosing, Storing, Cleaning, Building, Testing, Moving, Replacing, Measuring, Explaining";
const CIRCUMSTANCES: &str = "in winter, before the season, on a small budget, with two people, after a storm, step by step, without special tools, in one afternoon";
const AUTHORS: &str = "Ada Brandt, Bela Okafor, Carla Lindqvist, Dimitri Sato, Edda Moreau, Farid Jensen, Greta Novak, Hugo Almeida";
const TAGS: [&str; 3] = [
    "beginner, repair, safety, seasonal",
    "tools, materials, planning, history",
    "costs, checklist, mistakes, community",
];
const SIGNS: &str = "a faint crack near the edge, a smell of damp, a dull sound when you tap it, a thin film of rust, an uneven colour, a slow leak, a loose corner, dust that was not there yesterday";
const TOOLS: &str = "a soft brush, warm water, linseed oil, a sharp blade, fine sand, a long lever, clean cotton, a wooden wedge";
const HEADINGS: &str =
    "What to look for, What you need, The work itself, When it goes wrong, Costs and time, Afterwards";
/// Sentence templates: `{n}` is the topic, `{s}` a sign, `{m}` a tool, `{p}` a person and `{d}` a number.
const SENTENCES: [&str; 18] = [
    "Before you touch the {n}, look at it for {d} minutes and write down what you see.",
    "The first warning is usually {s}, and it is easy to miss in poor light.",
    "{p} keeps a notebook for every {n}, and the oldest entry is {d} years old.",
    "Use {m} rather than force, because whatever breaks now has to be paid for twice.",
    "We compared {d} methods last spring, and the slowest one needed the fewest repairs later.",
    "If you find {s}, stop and ask somebody who has done this before.",
    "A good {n} lasts about {d} years when it is kept dry and checked twice a year.",
    "Most people forget to let it rest, although {d} hours of patience save a whole day of work.",
    "{p} recommends {m} for the corners and nothing at all for the middle.",
    "Prices have gone up by {d} percent, so it pays to share the larger purchases with neighbours.",
    "Write the date on it, since nobody remembers after {d} weeks which side was done first.",
    "The old manuals call for {m}, and on this point they are still right.",
    "Children can help with the {n} as long as somebody holds the heavy end.",
    "When the weather turns, cover the {n} and leave a gap of {d} centimetres for the air.",
    "There is no shame in starting again: {p} did so {d} times before it held.",
    "Keep {m} within reach, because you will need it exactly when both hands are busy.",
    "What looks like {s} is often only the light, so check again in the morning.",
    "In the end the {n} should feel solid, look plain and need no further attention for a year.",
];

/// A small random number generator (splitmix64): the same seed gives the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn pick<'a>(&mut self, list: &'a str) -> &'a str {
        let words: Vec<&str> = list.split(", ").collect();
        words[self.below(words.len())]
    }

    fn sentence(&mut self, noun: &str) -> String {
        let sentence =
            SENTENCES[self.below(SENTENCES.len())].replace("{n}", noun).replace("{p}", self.pick(AUTHORS));
        let sentence = sentence.replace("{s}", self.pick(SIGNS)).replace("{m}", self.pick(TOOLS));
        sentence.replace("{d}", &(3 + self.below(40)).to_string())
    }

    fn paragraph(&mut self, noun: &str, sentences: usize) -> String {
        (0..sentences).map(|_| self.sentence(noun)).collect::<Vec<_>>().join(" ")
    }

    /// Returns a time on the given day of the year; every month has 28 days.
    fn time(&mut self, year: u64, day: u64) -> String {
        let (hour, minute) = (self.below(24), self.below(60));
        format!("{year}-{:02}-{:02}T{hour:02}:{minute:02}:00Z", day / 28 % 12 + 1, day % 28 + 1)
    }
}

/// Returns the article with a number.
pub(crate) fn article(number: u64) -> Article {
    let mut random = Random(number);
    let index = (number % 4) as usize;
    let (site, noun) = (SITES[index], random.pick(NOUNS[index]));
    let article = if noun.starts_with(['a', 'i', 'o']) { "an" } else { "a" };
    let title = format!("{} {article} {noun} {}", random.pick(ACTIVITIES), random.pick(CIRCUMSTANCES));
    let slug = format!("{}-{number:03}", noun.replace(' ', "-"));
    let excerpt = random.paragraph(noun, 2);
    let body = match number % LONG_ARTICLE_INTERVAL {
        7 => {
            let part = |heading: &str| format!("## {heading}\n\n{}", paragraphs(&mut random, noun, 5));
            HEADINGS.split(", ").map(part).collect::<Vec<_>>().join("\n\n")
        }
        _ => paragraphs(&mut random, noun, 2),
    };
    let body = format!("{excerpt}\n\n{body}");
    Article {
        url: format!("https://{site}.example/{slug}"),
        site: site.to_owned(),
        title,
        author: random.pick(AUTHORS).to_owned(),
        status: if random.below(10) == 0 { "draft" } else { "published" }.to_owned(),
        created_at: random.time(2025, number / 3),
        // Three articles share the time of their last change.
        updated_at: Random(number / 3).time(2026, number / 3),
        tags: TAGS.map(|tags| random.pick(tags).to_owned()).to_vec(),
        words: body.split_whitespace().count() as u32,
        slug,
        excerpt,
        body,
    }
}

fn paragraphs(random: &mut Random, noun: &str, count: usize) -> String {
    let paragraph = |_| {
        let sentences = 5 + random.below(4);
        random.paragraph(noun, sentences)
    };
    (0..count).map(paragraph).collect::<Vec<_>>().join("\n\n")
}
