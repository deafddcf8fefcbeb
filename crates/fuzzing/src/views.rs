//! Reads parts of a stored result with any arguments.
//!
//! Invariants: an answer is within its budget (law 1); following `next` makes progress and ends; all ranges together are the
//! stored bytes (law 2); and a forged cursor is refused.

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
use tidegate_core::view::{Answer, NoEngines, Query, View, ViewError, ViewRequest, answer, cursor};

use crate::input;

/// Size of the largest result of this target; all of its ranges are read.
const MAX_RESULT_BYTES: usize = 4 << 10;

/// Runs one input: a byte for the view, a piece with its argument, a byte for the form, then the result.
pub fn target(mut data: &[u8]) {
    let pick = input::byte(&mut data);
    let words = String::from_utf8_lossy(input::piece(&mut data)).into_owned();
    let form = input::byte(&mut data);
    let stored = Stored::new(input::result(form, data, MAX_RESULT_BYTES));
    let budget = if pick & 8 == 0 { Budget::of_tokens(Tokens(400)) } else { Budget::default() };
    match arguments(pick, &words).into_query() {
        Ok(query) => stored.walk(query, budget),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    if pick & 16 != 0 {
        stored.all_ranges(budget);
    }
    assert!(cursor::decode(&words, seal).is_err(), "a forged cursor is refused");
}

/// Makes the arguments of the view that is picked.
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

/// A stand-in for a MAC that depends on every byte.
fn seal(bytes: &[u8]) -> [u8; cursor::SEAL_BYTES] {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |byte: u8| {
        state = (state ^ u64::from(byte)).wrapping_mul(0x2545_f491_4f6c_dd1d);
        state ^= state >> 29;
        state
    };
    bytes.iter().for_each(|byte| _ = next(*byte));
    std::array::from_fn(|at| next(at as u8) as u8)
}

/// A result with its outline, as in the store.
struct Stored {
    result: Vec<u8>,
    outline: Outline,
}

impl Stored {
    fn new(result: Vec<u8>) -> Self {
        let source = result.as_slice();
        let payload = Payload::read_result(&source).expect("bytes in memory can be read");
        let outline = Outline::read(&payload).expect("bytes in memory can be read");
        // As the store returns it.
        let outline = Outline::from_bytes(&outline.to_bytes()).expect("an outline parses back");
        Self { result, outline }
    }

    fn ask(&self, query: &Query, budget: Budget) -> Result<Answer, ViewError> {
        let asked = ViewRequest {
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
        assert_eq!(cost.tokens, Meter::default().count(&answer.text), "the cost is measured from the text");
        Ok(answer)
    }

    /// Reads a view to its end; the first answer may be an error.
    fn walk(&self, query: Query, budget: Budget) {
        let mut next = Some(query);
        let mut steps = 0;
        while let Some(query) = next {
            let made = cursor::encode(&query, seal);
            assert_eq!(
                cursor::decode(&made, seal).ok().as_ref(),
                Some(&query),
                "a cursor decodes to its query"
            );
            let answer = match self.ask(&query, budget) {
                Ok(answer) => answer,
                Err(error) => {
                    // Truncated JSON has records up to its end, which is known only after reading them.
                    let message = error.to_string();
                    let ends = message.contains("breaks off") && message.contains("use range");
                    assert!(ends || steps == 0, "`next` can be read: {error}, {query:?}");
                    return;
                }
            };
            assert!(answer.shown > 0 || answer.next.is_none(), "an answer makes progress: {}", answer.text);
            next = answer.next;
            steps += 1;
            // Every step shows something, so that their number is bounded by the bytes and blocks.
            assert!(steps <= 2 * self.result.len() + 2, "the walk ends: {next:?}");
        }
    }

    fn all_ranges(&self, budget: Budget) {
        let mut bytes = Vec::new();
        let mut next = (!self.result.is_empty()).then(|| Query::new(View::Range { from: 0, to: None }));
        while let Some(query) = next {
            let answer = self.ask(&query, budget).expect("every range can be read");
            assert!(answer.shown > 0, "an answer makes progress: {}", answer.text);
            let body = answer.body.as_bytes();
            if answer.text.contains("These bytes are written as base64.") {
                bytes.extend(STANDARD.decode(body).expect("the bytes are valid base64"));
            } else if answer.text.contains("These bytes are written as a JSON string.") {
                let text: String = serde_json::from_slice(body).expect("the text is a JSON string");
                bytes.extend_from_slice(text.as_bytes());
            } else {
                bytes.extend_from_slice(body);
            }
            next = answer.next;
        }
        assert!(bytes == self.result, "all ranges together are the stored bytes");
    }
}
