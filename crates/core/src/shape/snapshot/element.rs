//! Reads one line of an accessibility tree: role, name, reference and attributes, whatever program wrote it.
//!
//! Trees differ in where the reference is and in how a name is quoted:
//!
//! ```text
//! - link "Home" [ref=e3]:            uid=1_2 link "Home" url="/"           [14] heading 'Title', level=2
//! [3]<button type=submit>Send</button>    @e1 [button] "Send"              StaticText 'Welcome'
//! ```
//!
//! A line is an element if it has a role of WAI-ARIA, of a platform's accessibility interface or of HTML, and is
//! written like one: with a bullet, a reference or a quoted name.

use std::borrow::Cow;

/// One element of an accessibility tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Element<'l> {
    /// How far the line is indented.
    pub(crate) indentation: usize,
    /// Its role in lower case; `text` where the line has a reference and a name only.
    pub(crate) role: String,
    pub(crate) name: Cow<'l, str>,
    /// What a call uses to name the element, as written: `ref=e3`, `uid=1_2`, `[14]`.
    pub(crate) reference: Option<&'l str>,
    /// What else the line says: states, values, addresses.
    pub(crate) attributes: Vec<(&'l str, &'l str)>,
}

/// Roles that an element of a page or of a window can have, in lower case and without spaces.
const ROLES: &[&str] = &[
    "alert",
    "alertdialog",
    "application",
    "article",
    "banner",
    "blockquote",
    "button",
    "caption",
    "cell",
    "checkbox",
    "code",
    "columnheader",
    "combobox",
    "complementary",
    "contentinfo",
    "definition",
    "deletion",
    "dialog",
    "directory",
    "document",
    "emphasis",
    "feed",
    "figure",
    "form",
    "generic",
    "genericcontainer",
    "grid",
    "gridcell",
    "group",
    "heading",
    "iframe",
    "image",
    "img",
    "inlinetextbox",
    "insertion",
    "label",
    "labeltext",
    "layouttable",
    "link",
    "list",
    "listbox",
    "listitem",
    "listmarker",
    "log",
    "main",
    "mark",
    "marquee",
    "math",
    "menu",
    "menubar",
    "menubutton",
    "menuitem",
    "menuitemcheckbox",
    "menuitemradio",
    "meter",
    "navigation",
    "none",
    "note",
    "option",
    "pagetab",
    "paragraph",
    "popupbutton",
    "presentation",
    "progressbar",
    "pushbutton",
    "radio",
    "radiobutton",
    "radiogroup",
    "region",
    "rootwebarea",
    "row",
    "rowgroup",
    "rowheader",
    "scrollarea",
    "scrollbar",
    "search",
    "searchbox",
    "searchfield",
    "section",
    "separator",
    "slider",
    "spinbutton",
    "statictext",
    "status",
    "strong",
    "subscript",
    "superscript",
    "switch",
    "tab",
    "table",
    "tablist",
    "tabpanel",
    "term",
    "text",
    "textarea",
    "textbox",
    "textfield",
    "time",
    "timer",
    "toolbar",
    "tooltip",
    "tree",
    "treegrid",
    "treeitem",
    "video",
    "webarea",
    "window",
];

/// Returns the role of a word, without the prefix of a platform (`AXButton`).
fn role(word: &str) -> Option<String> {
    let lower = word.to_ascii_lowercase();
    let bare = lower.strip_prefix("ax").unwrap_or(&lower);
    ROLES.binary_search(&bare).is_ok().then(|| bare.to_owned())
}

impl<'l> Element<'l> {
    /// Reads a line; `None` if it is not an element.
    pub(crate) fn parse(line: &'l str) -> Option<Self> {
        let trimmed = line.trim_start_matches([' ', '\t', '|', '→']);
        let indentation = line.len() - trimmed.len();
        let (bullet, rest) = match trimmed.strip_prefix("- ") {
            Some(rest) => (true, rest),
            None => {
                (false, trimmed.strip_prefix('*').filter(|rest| rest.starts_with('[')).unwrap_or(trimmed))
            }
        };
        let (reference, rest) = leading_reference(rest);
        let rest = rest.trim_start();
        if let Some(tag) = rest.strip_prefix('<') {
            return reference.and_then(|_| Self::of_tag(indentation, reference, tag));
        }
        // YAML quotes a line that holds a colon.
        let rest = match rest.strip_prefix('\'') {
            Some(quoted) if bullet => quoted.trim_end_matches([':', '\'']),
            _ => rest,
        };
        let (role, after) = leading_role(rest);
        let (name, after) = quoted_name(after.trim_start_matches([' ', ',', '-']));
        let is_named = reference.is_some_and(|reference| !reference.starts_with('['));
        let role = match (role, &name) {
            (Some(role), Some(_)) => role,
            (Some(role), None) if is_named || (bullet || reference.is_some()) && is_followed(after) => role,
            (None, Some(_)) if reference.is_some_and(|reference| reference.contains('=')) => "text".into(),
            _ => return None,
        };
        let mut element =
            Self { indentation, role, name: name.unwrap_or_default(), reference, attributes: Vec::new() };
        element.read_attributes(after);
        Some(element)
    }

    /// Reads `button type=submit>Send</button>` or `input placeholder='Search' />`.
    fn of_tag(indentation: usize, reference: Option<&'l str>, tag: &'l str) -> Option<Self> {
        let end = tag.find(|c: char| !c.is_ascii_alphanumeric() && c != '-')?;
        let (inside, after) = tag[end..].split_once('>').unwrap_or((&tag[end..], ""));
        let name = after.rsplit_once("</").map_or(after, |(name, _)| name).trim();
        let mut element = Self {
            indentation,
            role: tag[..end].to_ascii_lowercase(),
            name: Cow::Borrowed(name),
            reference,
            attributes: Vec::new(),
        };
        element.read_attributes(inside.trim_end_matches(['/', ' ']));
        (!element.role.is_empty()).then_some(element)
    }

    /// Returns the value of an attribute.
    pub(crate) fn attribute(&self, name: &str) -> Option<&'l str> {
        self.attributes.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| *value)
    }

    /// Returns the level of a heading.
    pub(crate) fn heading_level(&self) -> Option<u8> {
        let of_tag = || {
            self.role
                .strip_prefix('h')
                .and_then(|level| level.parse().ok())
                .filter(|level| (1..=6).contains(level))
        };
        match self.role == "heading" {
            true => Some(self.attribute("level").and_then(|level| level.parse().ok()).unwrap_or(2)),
            false => of_tag(),
        }
    }

    /// Reads `[level=1] [active]: text`, `url="..." focused`, `, clickable, level: 2`.
    fn read_attributes(&mut self, text: &'l str) {
        let mut rest = text;
        loop {
            rest = rest.trim_start_matches([' ', ',', '[', ']', '(', ')', ';']);
            if let Some(text) = rest.strip_prefix(": ") {
                // What follows a colon is the text of the element.
                match self.name.is_empty() {
                    true => self.name = Cow::Borrowed(unquoted(text.trim())),
                    false => self.attributes.push(("text", unquoted(text.trim()))),
                }
                return;
            }
            let length = rest
                .find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | '/')))
                .unwrap_or(rest.len());
            if length == 0 {
                return;
            }
            let (key, after) = rest.split_at(length);
            let (value, after) = attribute_value(after);
            match key {
                "ref" | "uid" if self.reference.is_none() => {
                    self.reference = Some(&rest[..rest.len() - after.len()]);
                }
                _ => self.attributes.push((key, value)),
            }
            rest = after;
        }
    }
}

/// Splits the value after the name of an attribute from what follows; a flag has an empty value.
fn attribute_value(after: &str) -> (&str, &str) {
    let value = match after.as_bytes() {
        [b'=', ..] => &after[1..],
        [b':', b' ', next, ..] if !next.is_ascii_whitespace() => &after[2..],
        _ => return ("", after),
    };
    for quote in ['"', '\''] {
        if let Some(inside) = value.strip_prefix(quote) {
            let end = inside.find(quote).unwrap_or(inside.len());
            return (&inside[..end], inside[end..].strip_prefix(quote).unwrap_or(""));
        }
    }
    let end = value.find([' ', ',', ']', ')', ';']).unwrap_or(value.len());
    value.split_at(end)
}

/// Returns whether what follows a role is written like an element: nothing, a colon or an attribute in brackets.
fn is_followed(after: &str) -> bool {
    let after = after.trim_start();
    after.is_empty() || after.starts_with([':', '[', ','])
}

/// Splits `uid=1_2 `, `[14]` or `@e1 ` from a line.
fn leading_reference(line: &str) -> (Option<&str>, &str) {
    let has_digit = |token: &str| token.bytes().any(|byte| byte.is_ascii_digit());
    let is_token =
        |token: &str| (1..=24).contains(&token.len()) && has_digit(token) && !token.contains([' ', '"', '=']);
    let split = |end: usize| (Some(&line[..end]), &line[end..]);
    if let Some(inside) = line.strip_prefix('[')
        && let Some((token, _)) = inside.split_once(']')
        && is_token(token)
    {
        return split(token.len() + 2);
    }
    let end = line.find(' ').unwrap_or(line.len());
    let token = line.strip_prefix("uid=").or(line.strip_prefix("ref=")).or(line.strip_prefix('@'));
    match token {
        Some(token) if is_token(token.split(' ').next().unwrap_or("")) => split(end),
        _ => (None, line),
    }
}

/// Splits the role from a line: `link`, `push button`, `[button]`.
fn leading_role(line: &str) -> (Option<String>, &str) {
    let word = |text: &str| text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    if let Some(inside) = line.strip_prefix('[') {
        let end = word(inside);
        return match role(&inside[..end]) {
            Some(role) => (Some(role), inside[end..].strip_prefix(']').unwrap_or(&inside[end..])),
            None => (None, line),
        };
    }
    let first = word(line);
    if line[first..].starts_with(' ') {
        let second = first + 1 + word(&line[first + 1..]);
        let joined = line[..second].replace(' ', "");
        if second > first + 1
            && let Some(role) = role(&joined)
        {
            return (Some(role), &line[second..]);
        }
    }
    match role(&line[..first]) {
        Some(role) => (Some(role), &line[first..]),
        None => (None, line),
    }
}

/// Splits a quoted name from what follows it.
fn quoted_name(text: &str) -> (Option<Cow<'_, str>>, &str) {
    let Some(quote) = text.chars().next().filter(|quote| matches!(quote, '"' | '\'')) else {
        return (None, text);
    };
    let inside = &text[1..];
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        let after = &inside[at + c.len_utf8()..];
        // An apostrophe inside a name is followed by a letter.
        if c == quote && !escaped && !(quote == '\'' && after.starts_with(char::is_alphanumeric)) {
            let name = &inside[..at];
            let name = if name.contains('\\') {
                Cow::Owned(name.replace("\\\"", "\"").replace("\\'", "'"))
            } else {
                Cow::Borrowed(name)
            };
            return (Some(name), after);
        }
        escaped = c == '\\' && !escaped;
    }
    // The line was cut.
    (Some(Cow::Borrowed(inside)), "")
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_sorted() {
        assert!(ROLES.is_sorted());
    }

    #[test]
    fn elements_of_every_dialect() {
        for (line, role, name, reference) in [
            ("  - link \"Home\" [ref=e3] [cursor=pointer]:", "link", "Home", Some("ref=e3")),
            ("- generic [ref=e4]: Small and fast", "generic", "Small and fast", Some("ref=e4")),
            ("- text: and more", "text", "and more", None),
            ("- heading \"Say \\\"hi\\\"\" [level=1]", "heading", "Say \"hi\"", None),
            ("- 'link \"a: b\" [ref=e5]':", "link", "a: b", Some("ref=e5")),
            ("- paragraph", "paragraph", "", None),
            ("uid=1_2 link \"Prev\" url=\"/a\"", "link", "Prev", Some("uid=1_2")),
            ("  uid=1_4 \" | \"", "text", " | ", Some("uid=1_4")),
            ("[14] heading 'Title'", "heading", "Title", Some("[14]")),
            ("[a15] button \"OK\", clickable, level: 2", "button", "OK", Some("[a15]")),
            ("[0-14] link: Home", "link", "Home", Some("[0-14]")),
            ("StaticText 'It's here'", "statictext", "It's here", None),
            ("RootWebArea 'Shop' focused", "rootwebarea", "Shop", None),
            ("\t*[3]<button type=submit>Send it</button>", "button", "Send it", Some("[3]")),
            ("[4]<input placeholder='Search' />", "input", "", Some("[4]")),
            ("@e1 [button] \"Submit\"", "button", "Submit", Some("@e1")),
            ("[12] AXButton \"OK\"", "button", "OK", Some("[12]")),
            ("  [7] push button 'OK'", "pushbutton", "OK", Some("[7]")),
        ] {
            let element = Element::parse(line).unwrap_or_else(|| panic!("{line}"));
            let found = (element.role.as_str(), &*element.name, element.reference);
            assert_eq!(found, (role, name, reference), "{line}");
        }
    }

    #[test]
    fn attributes_of_elements() {
        let element = Element::parse("uid=1 textbox \"Name\" value=\"a b\" focused level=\"3\"").unwrap();
        assert_eq!(element.attributes, [("value", "a b"), ("focused", ""), ("level", "3")]);
        let element = Element::parse("- checkbox \"All\" [checked] [ref=e9]: yes").unwrap();
        assert_eq!(element.attributes, [("checked", ""), ("text", "yes")]);
        assert_eq!(Element::parse("[2]<a href='/x y'>Go</a>").unwrap().attribute("href"), Some("/x y"));
        assert_eq!(Element::parse("[14] heading 'T', level: 3").unwrap().heading_level(), Some(3));
    }

    #[test]
    fn other_lines_are_not_elements() {
        for line in [
            "- name: web",
            "[12:00:01] started",
            "[3] all done",
            "- one thing",
            "text that goes on",
            "uid=12",
            "",
            "- list of names",
            "[1234] main starting",
        ] {
            assert_eq!(Element::parse(line), None, "{line}");
        }
    }
}
