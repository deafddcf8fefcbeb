//! Where a value is in a result, and the path by which a caller can read it.

use crate::json::string;
use crate::visible;

/// The maximum number of bytes of a key that a path can name.
const MAX_KEY_BYTES: usize = 1000;
/// The maximum number of bytes of a path.
const MAX_POINTER_BYTES: usize = 1800;

/// An open container on the way to a value, and the step into it.
#[derive(Debug, Clone)]
pub(crate) struct Open {
    pub(crate) object: bool,
    /// The offset of the container.
    pub(crate) start: u64,
    /// Whether it is the main list.
    pub(crate) main: bool,
    /// How many members were seen.
    pub(crate) count: u64,
    pub(crate) step: Step,
}

/// One step into a container.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Index(u64),
    Key {
        name: String,
        /// Whether an earlier member has the same key, so that the path leads to that one.
        repeated: bool,
    },
}

impl Open {
    pub(crate) fn new(object: bool, start: u64) -> Self {
        Self { object, start, main: false, count: 0, step: Step::Index(0) }
    }

    /// Returns a list at one of its elements.
    pub(crate) fn at_index(number: u64) -> Self {
        Self { count: number + 1, step: Step::Index(number), ..Self::new(false, 0) }
    }
}

/// Where a value is in a result.
#[derive(Debug, Clone, Copy)]
pub struct Place<'p> {
    /// What a path begins with: the path of the value that is searched, nothing for the data of a result, `/` for the
    /// whole result.
    pub(crate) root: &'p str,
    pub(crate) opens: &'p [Open],
}

impl Place<'_> {
    /// Returns the JSON Pointer that the view `path` accepts. Where no path leads to the value itself, since its key is
    /// repeated or too long, it is that of the nearest container.
    pub fn pointer(&self) -> String {
        self.steps(self.opens.len())
    }

    /// Returns whether a path leads to the value itself.
    pub fn is_exact(&self) -> bool {
        let reached = |(at, open): (usize, &Open)| match &open.step {
            Step::Index(_) => true,
            Step::Key { name, repeated } => !repeated && can_be_named(name, if at == 0 { "" } else { "/" }),
        };
        self.opens.iter().enumerate().all(reached) && self.pointer().len() <= MAX_POINTER_BYTES / 2
    }

    /// Returns the pointer of the container that holds the value.
    pub fn parent(&self) -> String {
        self.steps(self.opens.len().saturating_sub(1))
    }

    /// Returns the offset of the container that holds the value, where it is not the whole.
    pub fn parent_start(&self) -> Option<u64> {
        self.opens.last().filter(|_| self.opens.len() > 1).map(|open| open.start)
    }

    /// Returns how many steps lead to the value.
    pub fn depth(&self) -> usize {
        self.opens.len()
    }

    /// Returns the JSONPath of all values like this one: any element of a list instead of this one.
    pub fn pattern(&self) -> String {
        let is_plain = |open: &Open| !matches!(&open.step, Step::Key { repeated: true, .. });
        if !self.root.is_empty() || !self.opens.iter().all(is_plain) {
            return self.pointer();
        }
        let steps = self.opens.iter().map(|open| match &open.step {
            Step::Index(_) => "[*]".to_owned(),
            Step::Key { name, .. } => format!(".{}", visible::key(name)),
        });
        format!("${}", steps.collect::<String>())
    }

    /// Returns the pointer of a value whose place below this one is known.
    pub fn below(&self, place: &Place<'_>) -> String {
        let pointer = self.pointer();
        match place.pointer().as_str() {
            // A value without a path has no paths below it either.
            _ if !self.is_exact() => pointer,
            "/" => pointer,
            below => format!("{}{below}", pointer.trim_end_matches('/')),
        }
    }

    fn steps(&self, count: usize) -> String {
        let mut pointer = self.root.to_owned();
        for open in &self.opens[..count] {
            let step = match &open.step {
                Step::Index(number) => format!("/{number}"),
                Step::Key { repeated: true, .. } => break,
                Step::Key { name, .. } if !can_be_named(name, &pointer) => break,
                Step::Key { name, .. } => format!("/{}", name.replace('~', "~0").replace('/', "~1")),
            };
            if pointer.len() + step.len() > MAX_POINTER_BYTES {
                break;
            }
            pointer.push_str(&step);
        }
        if pointer.is_empty() || pointer == "/" {
            pointer.push('/');
        }
        pointer
    }
}

/// Returns whether a path can name a key after what is already in it. An empty key cannot come first, since a path that
/// begins with `//` begins at the whole result.
fn can_be_named(key: &str, before: &str) -> bool {
    key.len() <= MAX_KEY_BYTES && !(key.is_empty() && before.is_empty())
}

/// Returns a pointer as an argument can hold it: as a JSON string if it contains white space, quotes or hidden
/// characters, else as it is.
pub fn shown_pointer(pointer: &str) -> String {
    let plain = |character: char| {
        !character.is_whitespace() && !matches!(character, '"' | '\\') && !visible::is_hidden(character)
    };
    if pointer.chars().all(plain) {
        return pointer.to_owned();
    }
    let mut out = String::with_capacity(pointer.len() + 2);
    string::write_visible(pointer, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, repeated: bool) -> Open {
        Open { step: Step::Key { name: name.into(), repeated }, ..Open::new(true, 0) }
    }

    #[test]
    fn a_path_leads_to_the_value_or_to_what_holds_it() {
        let opens = [key("a/b", false), Open::at_index(3), key("x", true)];
        let place = Place { root: "", opens: &opens };
        assert_eq!(place.pointer(), "/a~1b/3");
        assert_eq!(Place { root: "", opens: &opens[..2] }.parent(), "/a~1b");
        assert_eq!(Place { root: "", opens: &opens[2..] }.pointer(), "/");
        let unnamed = [key("", false), Open::at_index(0)];
        let place = Place { root: "", opens: &unnamed };
        assert_eq!((place.pointer().as_str(), place.is_exact()), ("/", false));
        let long = [key(&"k".repeat(5000), false)];
        assert_eq!(Place { root: "/", opens: &long }.pointer(), "//");
    }

    #[test]
    fn a_pointer_with_white_space_is_shown_as_a_string() {
        assert_eq!(shown_pointer("/a/0"), "/a/0");
        assert_eq!(shown_pointer("/a b\n/\u{202e}"), "\"/a b\\n/\\u202e\"");
    }
}
