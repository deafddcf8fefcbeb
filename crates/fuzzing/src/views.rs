//! Parts of a kept result that are asked for in any words.
//!
//! Holds: an answer is within its budget (law 1); what it says comes next goes on and ends; all ranges together are the
//! bytes that were kept (law 2); and a cursor that we did not make is refused.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tidegate_core::Tokens;
use tidegate_core::budget::Budget;
use tidegate_core::envelope::Handle;
use tidegate_core::hints::Hints;
use tidegate_core::measure::Meter;
use tidegate_core::outline::Outline;
use tidegate_core::payload::Payload;
use tidegate_core::view::arguments::Arguments;
use tidegate_core::view::{Answer, Asked, NoEngines, Query, View, ViewError, answer, cursor};

use crate::input;

/// The largest result of this target: every range of it is read.
const LARGEST: usize = 4 << 10;

/// Runs one input: a byte for the view, a piece that is its words, a byte for the form, then the result.
pub fn target(mut data: &[u8]) {
    let pick = input::byte(&mut data);
    let words = String::from_utf8_lossy(input::piece(&mut data)).into_owned();
    let form = input::byte(&mut data);
    let kept = Kept::new(input::result(form, data, LARGEST));
    let budget = if pick & 8 == 0 { Budget::of_tokens(Tokens(400)) } else { Budget::default() };
    match arguments(pick, &words).into_query() {
        Ok(query) => kept.walk(query, budget),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if pick & 16 != 0 {
        kept.all_ranges(budget);
    }
    assert!(cursor::decode(&words, seal).is_err(), "a cursor that nobody made");
}

/// The view that is picked, in the words given.
fn arguments(pick: u8, words: &str) -> Arguments {
    let mut arguments = Arguments::default();
    let text = Some(words.to_owned());
    let mut numbers = words.split(' ').map(|word| word.parse::<u64>().ok());
    match pick & 7 {
        0 => (arguments.page, arguments.page_size) = (numbers.next().flatten(), numbers.next().flatten()),
        1 => arguments.fields = Some(words.split(',').map(str::to_owned).collect()),
        2 | 3 => arguments.path = text,
        4 => arguments.lines = text,
        5 => arguments.range = text,
        6 => arguments.mode = Some("full".into()),
        _ => arguments.mode = text,
    }
    arguments
}

/// A stand-in for a MAC: every byte changes it, and nobody guesses it.
fn seal(bytes: &[u8]) -> [u8; cursor::SEAL] {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |byte: u8| {
        state = (state ^ u64::from(byte)).wrapping_mul(0x2545_f491_4f6c_dd1d);
        state ^= state >> 29;
        state
    };
    bytes.iter().for_each(|byte| _ = next(*byte));
    std::array::from_fn(|at| next(at as u8) as u8)
}

/// A result with what is kept beside it.
struct Kept {
    result: Vec<u8>,
    outline: Outline,
}

impl Kept {
    fn new(result: Vec<u8>) -> Self {
        let source = result.as_slice();
        let payload = Payload::read_result(&source).expect("bytes in memory can be read");
        let outline = Outline::read(&payload).expect("bytes in memory can be read");
        // As it comes back from the store.
        let outline = Outline::from_bytes(&outline.to_bytes()).expect("what was written is read");
        Self { result, outline }
    }

    fn ask(&self, query: &Query, budget: Budget) -> Result<Answer, ViewError> {
        let asked = Asked {
            source: &self.result.as_slice(),
            outline: &self.outline,
            hints: &Hints::default(),
            tool: "list_things",
            handle: Handle::kept("list_things-3f9c2kq7m0xw", "kept 24 h"),
            query,
            budget,
            meter: Meter::default(),
            engines: &NoEngines,
            seal: &seal,
        };
        let answer = answer(&asked)?;
        let cost = answer.cost;
        assert!(cost.tokens <= budget.tokens, "{} of {} tokens\n{}", cost.tokens, budget.tokens, answer.text);
        assert!(cost.bytes <= budget.bytes, "{} of {} bytes\n{}", cost.bytes, budget.bytes, answer.text);
        assert_eq!(cost.tokens, Meter::default().count(&answer.text), "the cost is that of the text");
        Ok(answer)
    }

    /// Reads a view to its end; the first answer may be that there is no such part.
    fn walk(&self, query: Query, budget: Budget) {
        let mut next = Some(query);
        let mut steps = 0;
        while let Some(query) = next {
            let made = cursor::encode(&query, seal);
            assert_eq!(cursor::decode(&made, seal).ok().as_ref(), Some(&query), "a cursor leads back");
            let answer = match self.ask(&query, budget) {
                Ok(answer) => answer,
                Err(error) => {
                    // JSON that breaks off has records up to there; that is known once they are read.
                    let message = error.to_string();
                    let ends = message.contains("breaks off") && message.contains("use range");
                    assert!(ends || steps == 0, "what is said to come next can be read: {error}, {query:?}");
                    return;
                }
            };
            assert!(answer.shown > 0 || answer.next.is_none(), "a step goes on: {}", answer.text);
            next = answer.next;
            steps += 1;
            // Every step shows something, so there cannot be more of them than bytes and blocks.
            assert!(steps <= 2 * self.result.len() + 2, "the walk ends: {next:?}");
        }
    }

    fn all_ranges(&self, budget: Budget) {
        let mut bytes = Vec::new();
        let mut next = (!self.result.is_empty()).then(|| Query::new(View::Range { from: 0, to: None }));
        while let Some(query) = next {
            let answer = self.ask(&query, budget).expect("every range can be read");
            assert!(answer.shown > 0, "a step goes on: {}", answer.text);
            let body = answer.body.as_bytes();
            if answer.text.contains("These bytes are written as base64.") {
                bytes.extend(STANDARD.decode(body).expect("what is called base64 is base64"));
            } else if answer.text.contains("These bytes are written as a JSON string.") {
                let text: String = serde_json::from_slice(body).expect("what is called a string is one");
                bytes.extend_from_slice(text.as_bytes());
            } else {
                bytes.extend_from_slice(body);
            }
            next = answer.next;
        }
        assert!(bytes == self.result, "all ranges are all bytes");
    }
}
