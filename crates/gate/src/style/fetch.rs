//! The second call of the style `probe`: the part of the kept result that its mode asks for.
//!
//! Every answer is JSON that fits its limits, and says what is not in it and how to read that.

use std::io;

use serde_json::{Map, Value};
use tidegate_core::Bytes;
use tidegate_core::budget::Budget;
use tidegate_core::view::Dataset;

use super::items::{Items, at, short, with_short_values};
use super::limits::HardLimits;
use super::probe::MODES;
use super::{AnswerLimits, quoted};

/// Items of a page unless the policy or the call sets another number.
pub(crate) const PAGE_SIZE: u64 = 20;
/// The maximum number of items of a page that can be asked for.
const MAX_PAGE_SIZE: u64 = 1000;
/// The maximum number of pages that are tried to find a size that fits all of them.
const MAX_TRIED_PAGES: u64 = 500;
/// Keys of an object and items of a list in a summary, and characters of a value.
const SUMMARY_KEYS: usize = 10;
const SUMMARY_ITEMS: u64 = 5;
const SUMMARY_CHARACTERS: usize = 100;

/// The names of our arguments, as the style defines them.
pub(crate) const NAMES: [&str; 5] = ["continuation_token", "mode", "page", "page_size", "filter_keys"];
/// The names of our arguments if a tool already has an argument with one of the plain names.
pub(crate) const OTHER_NAMES: [&str; 5] =
    ["tg_continuation_token", "tg_mode", "tg_page", "tg_page_size", "tg_filter_keys"];

/// Our arguments of one call.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Fetch {
    pub(crate) token: String,
    mode: Option<String>,
    page: Option<u64>,
    page_size: Option<u64>,
    filter_keys: Vec<String>,
}

/// The part that a call asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    /// All of the result, if the cap allows.
    Whole,
}

impl Fetch {
    /// Reads our arguments among those of a call.
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
            page_size: number(3, MAX_PAGE_SIZE)?,
            filter_keys,
        })
    }

    /// Returns the name of the part, as a view.
    pub(crate) fn view(&self) -> &'static str {
        match self.mode.as_deref() {
            None | Some("summary") => "summary",
            Some("full") => "full",
            Some("filtered") => "fields",
            Some(_) => "page",
        }
    }

    /// Returns the part that the mode asks for; `Err` inside says what is wrong with the request.
    pub(crate) fn part(
        &self,
        about: &About<'_>,
        limits: AnswerLimits<'_>,
    ) -> io::Result<Result<Part, String>> {
        let items = Items::new(about.data)?;
        let part = Parts { items: &items, about, limits };
        let (number, size) =
            (self.page.unwrap_or(1), self.page_size.or(about.page_size).unwrap_or(PAGE_SIZE));
        let text = match self.mode.as_deref().unwrap_or("summary") {
            "summary" => part.summary().map(Ok),
            "full" => return Ok(Ok(Part::Whole)),
            "filtered" if self.filter_keys.is_empty() => {
                Ok(Err("mode filtered needs filter_keys, such as [\"id\"]".into()))
            }
            "filtered" => match items.check_keys(&self.filter_keys) {
                Err(message) => Ok(Err(message)),
                Ok(()) => match part.members(&self.filter_keys)? {
                    Some(text) => Ok(Ok(text)),
                    None => part.page(number, size, &self.filter_keys),
                },
            },
            _ => part.page(number, size, &[]),
        };
        Ok(text?.map(Part::Text))
    }

    /// Returns a page of a result that is too large to be answered whole, with the calls that give the other pages. The
    /// pages are as large as they can be so that each of them fits.
    pub(crate) fn above_cap(
        &self,
        about: &About<'_>,
        limits: AnswerLimits<'_>,
        rest: RestCalls<'_>,
    ) -> io::Result<Result<String, String>> {
        let items = Items::new(about.data)?;
        let noted = About { calls: Some(rest), outside: about.outside.clone(), ..*about };
        let first = Parts { items: &items, about: &noted, limits };
        let others = Parts { items: &items, about, limits };
        let number = self.page.unwrap_or(1);
        let mut size = self.page_size.or(about.page_size).unwrap_or(PAGE_SIZE);
        while size > 1 && !(first.is_whole_page(number, size)? && others.are_whole_pages(size)?) {
            size = size * 3 / 4;
        }
        first.page(number, size, &[])
    }
}

/// The calls that give what a page of a result does not show.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RestCalls<'c> {
    /// The names of our arguments for this tool.
    pub(crate) names: &'c [&'c str; 5],
    pub(crate) token: &'c str,
    /// What the whole result would have to fit.
    pub(crate) cap: Budget,
    /// How to read the bytes of the result, if it is not a list.
    pub(crate) reads: &'c str,
}

impl RestCalls<'_> {
    /// Returns the members of an answer that name the calls for the pages after one.
    fn after(&self, number: u64, size: u64, pages: u64) -> String {
        let [token, mode, page, page_size, _] = self.names;
        let cap = format!("above the cap of {} tokens and {} bytes", self.cap.tokens.0, self.cap.bytes.0);
        if number >= pages {
            let words = match pages {
                0 | 1 => format!("the complete result is {cap}; {}", self.reads),
                _ => format!("the complete result is {cap}; this is its last page"),
            };
            return format!(r#","note":{}"#, quoted(&words));
        }
        let (next, calls) = (number + 1, pages - number);
        let words = match calls {
            1 => format!("the complete result is {cap}; next_call gives the rest"),
            _ => format!(
                "the complete result is {cap}; {calls} calls give the rest: next_call, then the same with {page} up to {pages}"
            ),
        };
        format!(
            r#","next_call":{{"{token}":{},"{mode}":"paginated","{page}":{next},"{page_size}":{size}}},"note":{}"#,
            quoted(self.token),
            quoted(&words)
        )
    }
}

/// The result that a call fetches from.
pub(crate) struct About<'a> {
    pub(crate) data: &'a Dataset<'a>,
    /// Items of a page, if that is set.
    pub(crate) page_size: Option<u64>,
    /// The call that reads what is not shown.
    pub(crate) rest: &'a str,
    /// Names of what the result holds besides its data.
    pub(crate) outside: Vec<String>,
    /// The calls that give the rest, if all of the result was asked for.
    pub(crate) calls: Option<RestCalls<'a>>,
}

/// One page of a number of items.
#[derive(Clone, Copy)]
struct PagePlace {
    number: u64,
    size: u64,
    total: u64,
}

/// Returns an item with its key, if it has one.
fn keyed(key: Option<String>, json: String) -> String {
    match key {
        Some(key) => format!(r#"{{"key":{},"value":{json}}}"#, quoted(&key)),
        None => json,
    }
}

/// Writes parts of one result, each within its limits and with a mark of what is not in it.
struct Parts<'p> {
    items: &'p Items<'p>,
    about: &'p About<'p>,
    limits: AnswerLimits<'p>,
}

impl Parts<'_> {
    /// Appends what is outside the part, what was cut, and how to read that, and closes the object.
    fn closed(&self, body: String, cut: bool) -> String {
        let mut outside = self.items.outside();
        outside.extend(self.about.outside.iter().cloned());
        let mut text = body;
        if !outside.is_empty() {
            let shown: Vec<String> =
                outside.iter().take(20).map(|name| quoted(&super::cut(name, 60))).collect();
            text.push_str(&format!(r#","outside":[{}]"#, shown.join(",")));
        }
        if cut {
            text.push_str(r#","cut":true"#);
        }
        if cut || !outside.is_empty() {
            text.push_str(&format!(r#","rest":{}"#, quoted(self.about.rest)));
        }
        text.push('}');
        text
    }

    /// Reads about as much as can be shown.
    fn read(&self, from: u64, count: u64) -> io::Result<Vec<(Option<String>, String)>> {
        self.items.read(from, count, 4 * self.limits.budget.bytes.0 as usize)
    }

    /// Returns the first keys of an object or items of a list, with their values cut, and how many there are.
    fn summary(&self) -> io::Result<String> {
        let mut taken = 0;
        let members = self.items.members(|_| {
            taken += 1;
            taken <= SUMMARY_KEYS
        })?;
        let total = members.as_ref().map_or_else(|| self.items.count(), |(total, _)| Ok(*total))?;
        let mut each: Vec<String> = match &members {
            Some((_, members)) => members
                .iter()
                .map(|(key, json)| {
                    format!("{}:{}", quoted(&super::cut(key, 100)), short(json, SUMMARY_CHARACTERS))
                })
                .collect(),
            None => {
                let read = self.read(0, SUMMARY_ITEMS)?;
                read.iter().map(|(_, json)| with_short_values(json, SUMMARY_CHARACTERS)).collect()
            }
        };
        let written = |each: &[String], cut: bool| {
            let (open, close) = if members.is_some() { ('{', '}') } else { ('[', ']') };
            let body = format!("{open}{}{close}", each.join(","));
            let more = (each.len() as u64) < total;
            let text =
                format!(r#"{{"summary":{body},"showing":{},"total":{total},"has_more":{more}"#, each.len());
            self.closed(text, cut)
        };
        while each.len() > 1 && !self.limits.fits(&written(&each, false)) {
            each.pop();
        }
        let cut = members.is_none() && each.len() == 1 && !self.limits.fits(&written(&each, false));
        if cut {
            each[0] = self.cut_to_fit(&each[0], |item| written(&[item], true));
        }
        Ok(written(&each, cut))
    }

    /// Returns some members of a result that is an object; `None` if it is not an object or has none of them.
    fn members(&self, keys: &[String]) -> io::Result<Option<String>> {
        let wanted = |name: &str| {
            keys.iter().any(|key| {
                key.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        };
        let Some((_, members)) = self.items.members(wanted)? else { return Ok(None) };
        let whole = members.iter().map(|(key, json)| format!("{}:{json}", quoted(key))).collect::<Vec<_>>();
        let whole = format!("{{{}}}", whole.join(","));
        let place = 0..whole.len();
        let mut found: Vec<(&String, &str)> =
            keys.iter().filter_map(|key| Some((key, &whole[at(whole.as_bytes(), &place, key)?]))).collect();
        if found.is_empty() {
            return Ok(None);
        }
        let asked = found.len();
        let mut most = usize::MAX;
        loop {
            let each = found.iter().map(|(key, json)| format!("{}:{}", quoted(key), short(json, most)));
            let mut text = format!("{{{}", each.collect::<Vec<_>>().join(","));
            let left = asked - found.len();
            if left > 0 {
                text.push_str(&format!(r#","left_out":{left}"#));
            }
            let cut = most != usize::MAX || left > 0;
            let text = match cut {
                true => format!(r#"{text},"cut":true,"rest":{}}}"#, quoted(self.about.rest)),
                false => format!("{text}}}"),
            };
            if self.limits.fits(&text) || found.len() <= 1 && most < 20 {
                return Ok(Some(text));
            }
            match most {
                usize::MAX => most = self.limits.budget.bytes.0 as usize,
                100.. => most /= 2,
                _ if found.len() > 1 => {
                    found.truncate(found.len() * 3 / 4);
                }
                _ => most /= 2,
            }
        }
    }

    /// Returns one page of items, narrowed to some keys if there are any.
    fn page(&self, number: u64, size: u64, keys: &[String]) -> io::Result<Result<String, String>> {
        let total = self.items.count()?;
        let start = (number - 1).saturating_mul(size);
        if start >= total && !(total == 0 && number == 1) {
            let pages = total.div_ceil(size);
            return Ok(Err(format!(
                "page {number} is beyond the end: {total} items make {pages} pages of {size}"
            )));
        }
        let of_page = size.min(total - start);
        let item = |(key, json): (Option<String>, String)| {
            keyed(key, if keys.is_empty() { json } else { Items::narrowed(&json, keys) })
        };
        let items: Vec<String> = self.read(start, of_page)?.into_iter().map(item).collect();
        let place = PagePlace { number, size, total };
        let written = |items: &[String], cut: bool| self.written(place, items, cut);
        // The whole page if it fits, else a number of items that divides the page size, so that a smaller page
        // number begins exactly after them.
        let divides = |count: usize| size.is_multiple_of(count as u64);
        let fitting = (1..=items.len())
            .rev()
            .filter(|count| *count as u64 == of_page || divides(*count))
            .find(|count| self.limits.fits(&written(&items[..*count], false)));
        Ok(Ok(match (fitting, items.first()) {
            (Some(count), _) => written(&items[..count], false),
            (None, Some(first)) => {
                let cut = self.cut_to_fit(first, |item| written(&[item], true));
                written(&[cut], true)
            }
            (None, None) => written(&[], false),
        }))
    }

    /// Writes some of the items of a page.
    fn written(&self, place: PagePlace, items: &[String], cut: bool) -> String {
        let PagePlace { number, size, total } = place;
        let (shown, start) = (items.len() as u64, (number - 1) * size);
        let of_page = size.min(total - start);
        let mut text = format!(
            r#"{{"items":[{}],"page":{number},"page_size":{size},"total":{total},"has_more":{}"#,
            items.join(","),
            start + shown < total
        );
        // A page that does not fit must not be taken for the whole page.
        if shown < of_page && shown > 0 {
            let (left, next) = (of_page - shown, start / shown + 2);
            text.push_str(&format!(
                r#","left_out":{left},"hint":"continue with page {next} and page_size {shown}""#
            ));
        }
        if let Some(calls) = &self.about.calls {
            text.push_str(&calls.after(number, size, total.div_ceil(size)));
        }
        self.closed(text, cut)
    }

    /// Returns whether a page fits whole.
    fn is_whole_page(&self, number: u64, size: u64) -> io::Result<bool> {
        let total = self.items.count()?;
        let start = (number - 1).saturating_mul(size);
        let of_page = size.min(total.saturating_sub(start));
        let items: Vec<String> =
            self.read(start, of_page)?.into_iter().map(|(key, json)| keyed(key, json)).collect();
        let place = PagePlace { number, size, total };
        Ok(start >= total
            || items.len() as u64 == of_page && self.limits.fits(&self.written(place, &items, false)))
    }

    /// Returns whether all pages of a size fit whole. Of a very large result only its beginning is tried; a later page
    /// that does not fit says how to go on.
    fn are_whole_pages(&self, size: u64) -> io::Result<bool> {
        let tried = self.items.count()?.div_ceil(size).min(MAX_TRIED_PAGES);
        for number in 1..=tried {
            if !self.is_whole_page(number, size)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Cuts an item down until the text that holds it fits.
    fn cut_to_fit(&self, item: &str, written: impl Fn(String) -> String) -> String {
        let mut bytes = self.limits.budget.bytes.0 / 2;
        while bytes > 64 {
            let limits = HardLimits { bytes: Bytes(bytes), ..self.limits.values };
            if let Some(cut) = limits.apply(item)
                && self.limits.fits(&written(cut.clone()))
            {
                return cut;
            }
            bytes /= 2;
        }
        quoted(&format!("[truncated: {} bytes]", item.len()))
    }
}
