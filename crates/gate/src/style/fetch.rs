//! The second call of the style `probe`: a part of the kept result, as the mode asks for it.

use std::io;

use serde_json::{Map, Value};
use tidegate_core::budget::Budget;
use tidegate_core::limits::HardLimits;
use tidegate_core::view::Dataset;
use tidegate_core::{Bytes, Tokens};

use super::items::{Items, short, with_short_values};
use super::probe::MODES;
use super::{Room, quoted};

/// Items of a page unless something else was set or asked for.
pub(crate) const PAGE_SIZE: u64 = 20;
/// The most items of a page that can be asked for.
const LARGEST_PAGE: u64 = 1000;
/// Keys of an object and items of a list in a summary, and characters of a value.
const SUMMARY_KEYS: u64 = 10;
const SUMMARY_ITEMS: u64 = 5;
const SUMMARY_CHARACTERS: usize = 100;

/// The arguments of a negotiation, by the names of the document.
pub(crate) const NAMES: [&str; 5] = ["continuation_token", "mode", "page", "page_size", "filter_keys"];
/// The same where a tool has an argument of one of these names.
pub(crate) const OTHER_NAMES: [&str; 5] =
    ["tg_continuation_token", "tg_mode", "tg_page", "tg_page_size", "tg_filter_keys"];

/// What was asked for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Fetch {
    pub(crate) token: String,
    mode: Option<String>,
    page: Option<u64>,
    page_size: Option<u64>,
    filter_keys: Vec<String>,
}

/// A part, or the wish for all of it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    /// The result as it came, if the cap allows.
    Whole,
}

impl Fetch {
    /// Reads the arguments of a negotiation out of those of a call.
    pub(crate) fn read(arguments: &Map<String, Value>, names: &[&str; 5]) -> Result<Self, String> {
        let given = |at: usize| arguments.get(names[at]).filter(|value| !value.is_null());
        let wrong = |at: usize, value: &Value, expected: &str| {
            format!("{} is {}, but should be {expected}", names[at], short(&value.to_string(), 80))
        };
        let number = |at: usize, most: u64| match given(at) {
            None => Ok(None),
            Some(value) => {
                let read = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
                match read.filter(|number| (1..=most).contains(number)) {
                    Some(number) => Ok(Some(number)),
                    None if most == u64::MAX => Err(wrong(at, value, "a whole number from 1")),
                    None => Err(wrong(at, value, &format!("a whole number from 1 to {most}"))),
                }
            }
        };
        let text = |at: usize, expected: &str| match given(at) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(value) => Err(wrong(at, value, expected)),
        };
        let filter_keys = match given(4) {
            None => Vec::new(),
            Some(Value::String(keys)) => keys.split(',').map(|key| key.trim().to_owned()).collect(),
            Some(value) => {
                let keys = value.as_array().and_then(|keys| {
                    keys.iter().map(|key| key.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
                });
                keys.ok_or_else(|| wrong(4, value, "a list of keys such as [\"id\"]"))?
            }
        };
        let modes = format!("one of {}", MODES.join(", "));
        let mode = text(1, &modes)?;
        if let Some(mode) = mode.as_deref().filter(|mode| !MODES.contains(mode)) {
            return Err(wrong(1, &Value::String(mode.into()), &modes));
        }
        Ok(Self {
            token: text(0, "a string, as it was given")?.unwrap_or_default(),
            mode,
            page: number(2, u64::MAX)?,
            page_size: number(3, LARGEST_PAGE)?,
            filter_keys,
        })
    }

    /// Returns the part that the mode asks for; `Err` inside says what is wrong with the request.
    pub(crate) fn part(
        &self,
        data: &Dataset<'_>,
        page_size: Option<u64>,
        room: Room<'_>,
    ) -> io::Result<Result<Part, String>> {
        let items = Items::new(data);
        let (number, size) = (self.page.unwrap_or(1), self.page_size.or(page_size).unwrap_or(PAGE_SIZE));
        let text = match self.mode.as_deref().unwrap_or("summary") {
            "summary" => summary(&items, room).map(Ok),
            "full" => return Ok(Ok(Part::Whole)),
            "filtered" if self.filter_keys.is_empty() => {
                Ok(Err("mode filtered needs filter_keys, such as [\"id\"]".into()))
            }
            "filtered" => match items.check_keys(&self.filter_keys) {
                Err(message) => Ok(Err(message)),
                Ok(()) if items.members => filtered_members(&items, &self.filter_keys, room).map(Ok),
                Ok(()) => Page { items: &items, number, size, keys: &self.filter_keys }.text(room),
            },
            _ => Page { items: &items, number, size, keys: &[] }.text(room),
        };
        Ok(text?.map(Part::Text))
    }
}

impl Fetch {
    /// Returns a page in place of what is too large.
    pub(crate) fn first_page(
        &self,
        data: &Dataset<'_>,
        page_size: Option<u64>,
        room: Room<'_>,
    ) -> io::Result<Result<String, String>> {
        let items = Items::new(data);
        let size = self.page_size.or(page_size).unwrap_or(PAGE_SIZE);
        let page = Page { items: &items, number: self.page.unwrap_or(1), size, keys: &[] };
        // Room for the note that says why.
        let budget =
            Budget { tokens: room.budget.tokens - Tokens(60), bytes: room.budget.bytes - Bytes(200) };
        page.text(Room { budget, ..room })
    }
}

/// The first keys of an object or items of a list, with their values cut, and how many there are.
fn summary(items: &Items<'_>, room: Room<'_>) -> io::Result<String> {
    let total = items.count()?;
    let most = if items.members { SUMMARY_KEYS } else { SUMMARY_ITEMS };
    let mut read = items.read(0, most)?;
    loop {
        let each = read.iter().map(|(key, json)| match (key, items.members) {
            (Some(key), true) => format!("{}:{}", quoted(key), short(json, SUMMARY_CHARACTERS)),
            _ => with_short_values(json, SUMMARY_CHARACTERS),
        });
        let each = each.collect::<Vec<_>>().join(",");
        let body = if items.members { format!("{{{each}}}") } else { format!("[{each}]") };
        let text = format!(
            r#"{{"summary":{body},"showing":{},"total":{total},"has_more":{}}}"#,
            read.len(),
            (read.len() as u64) < total
        );
        if read.is_empty() || room.fits(&text) {
            return Ok(text);
        }
        read.pop();
    }
}

fn filtered_members(items: &Items<'_>, keys: &[String], room: Room<'_>) -> io::Result<String> {
    let members = items.read(0, u64::MAX)?;
    let of = |key: &str| members.iter().find(|(name, _)| name.as_deref() == Some(key)).map(|(_, json)| json);
    let whole = keys.iter().filter_map(|key| Some((key, of(key)?)));
    let mut found: Vec<(&String, String)> = whole.map(|(key, json)| (key, json.clone())).collect();
    let mut most = 100_000;
    loop {
        let each: Vec<String> =
            found.iter().map(|(key, json)| format!("{}:{}", quoted(key), short(json, most))).collect();
        let text = format!("{{{}}}", each.join(","));
        if room.fits(&text) || found.is_empty() {
            return Ok(text);
        }
        // What is cut ends with a mark.
        most /= 2;
        if most == 0 {
            found.pop();
            most = 100;
        }
    }
}

/// One page of items, perhaps narrowed to some keys.
struct Page<'p> {
    items: &'p Items<'p>,
    number: u64,
    size: u64,
    keys: &'p [String],
}

impl Page<'_> {
    fn text(&self, room: Room<'_>) -> io::Result<Result<String, String>> {
        let total = self.items.count()?;
        let start = (self.number - 1).saturating_mul(self.size);
        if start >= total && !(total == 0 && self.number == 1) {
            let pages = total.div_ceil(self.size);
            return Ok(Err(format!(
                "page {} is beyond the end: {total} items make {pages} pages of {}",
                self.number, self.size
            )));
        }
        let read = self.items.read(start, self.size)?;
        let of_page = read.len();
        let mut items: Vec<String> = read.into_iter().map(|(key, json)| self.item(key, json)).collect();
        // All of them where they fit, else as many as do.
        let mut fitting = items.len();
        while fitting > 0 && !room.fits(&self.page(&items[..fitting], of_page, start, total)) {
            fitting = if fitting > 8 { fitting * 3 / 4 } else { fitting - 1 };
        }
        if fitting == 0 && !items.is_empty() {
            let limits = HardLimits { bytes: Bytes(room.budget.bytes.0 / 4), ..room.limits };
            items.truncate(1);
            items[0] = limits.apply(items[0].as_bytes()).unwrap_or_default();
            fitting = 1;
        }
        Ok(Ok(self.page(&items[..fitting], of_page, start, total)))
    }

    fn item(&self, key: Option<String>, json: String) -> String {
        let json = if self.keys.is_empty() { json } else { Items::narrowed(&json, self.keys) };
        match key {
            Some(key) => format!(r#"{{"key":{},"value":{json}}}"#, quoted(&key)),
            None => json,
        }
    }

    fn page(&self, items: &[String], of_page: usize, start: u64, total: u64) -> String {
        let end = start + items.len() as u64;
        // A page that does not fit must not be taken for the whole page.
        let left_out = match of_page - items.len() {
            0 => String::new(),
            left => format!(
                r#","left_out":{left},"hint":"{} items of this page fit; ask for page_size {}""#,
                items.len(),
                items.len().max(1)
            ),
        };
        format!(
            r#"{{"items":[{}],"page":{},"page_size":{},"total":{total},"has_more":{}{left_out}}}"#,
            items.join(","),
            self.number,
            self.size,
            end < total
        )
    }
}
