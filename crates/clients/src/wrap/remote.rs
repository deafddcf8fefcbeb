//! A remote server becomes one that is started: `tidegate run --url`.

use super::{Change, Options, Remote, Source, Undo, Verdict, left};
use crate::address;
use crate::client::{Client, CommandShape, Shape};
use crate::document::{Member, Node, Splice, Style, Value};

/// The variable of an address that must not be seen.
pub(super) const URL_VARIABLE: &str = "TIDEGATE_URL";

/// What switches a server on.
pub(super) const SWITCH: &str = "enabled";

/// An entry that is being rewritten.
struct Rewrite<'t> {
    source: &'t Source<'t>,
    entry: &'t Node,
    shape: &'t Shape,
    /// The arguments of tidegate, as they are written.
    words: Vec<String>,
    splices: Vec<Splice>,
    undo: Remote,
}

pub(super) fn change(
    source: &Source<'_>,
    entry: &Node,
    client: &Client,
    (url, address): (&Member, &str),
    words: Vec<String>,
    program: &str,
) -> Result<Change, Verdict> {
    let shape = &client.shape;
    let undo = Remote { url: source.key(url).to_owned(), ..Remote::default() };
    let mut rewrite = Rewrite { source, entry, shape, words, splices: Vec::new(), undo };
    let open = address::is_open(address);
    let flag = if open { "--url" } else { "--url-env" };
    let place = if open { source.written(&url.value).to_owned() } else { source.syntax.string(URL_VARIABLE) };
    rewrite.words.extend([source.syntax.string(flag), place]);
    rewrite.headers();
    rewrite.by_variable()?;
    rewrite.no_login()?;
    rewrite.command(url, program);
    if !open {
        rewrite.hide(url)?;
    }
    rewrite.transport();
    let Rewrite { splices, undo, .. } = rewrite;
    Ok(Change { splices, undo: Undo::Remote(Box::new(undo)), verdict: Verdict::WrapAddress })
}

impl Rewrite<'_> {
    fn flag(&mut self, flag: &str, value: &str) {
        self.words.extend([flag, value].map(|word| self.source.syntax.string(word)));
    }

    fn put(&mut self, at: &std::ops::Range<usize>, text: String) {
        self.splices.push(Splice::new(at.clone(), text));
    }

    /// Headers become variables: only names change, values stay where and as they are.
    fn headers(&mut self) {
        let Some(headers) = self.entry.get(self.shape.headers) else { return };
        self.put(&headers.key, self.source.syntax.key(self.shape.environment));
        self.undo.headers = Some(self.source.key(headers).to_owned());
        for header in headers.value.members() {
            let variable = variable(&header.name, &self.undo.names);
            self.flag("--header-env", &format!("{}={variable}", header.name));
            self.put(&header.key, self.source.syntax.key(&variable));
            self.undo.names.push((variable, self.source.key(header).to_owned()));
        }
    }

    /// Headers that the client reads from its own environment: their variables are passed on by name.
    fn by_variable(&mut self) -> Result<(), Verdict> {
        let Some(by) = self.shape.by_variable else { return Ok(()) };
        let (member, pairs) = match (self.entry.get(by.bearer), self.entry.get(by.headers)) {
            (None, None) => return Ok(()),
            (Some(_), Some(_)) => return left(format!("it has both {} and {}", by.bearer, by.headers)),
            (Some(bearer), None) => (bearer, vec![(None, &bearer.value)]),
            (None, Some(headers)) => {
                (headers, headers.value.members().iter().map(|one| (Some(&one.name), &one.value)).collect())
            }
        };
        if self.entry.get(by.passed).is_some() {
            return left(format!("it has {} beside an address; take it out first", by.passed));
        }
        if self.source.written(&member.value).starts_with('[') {
            return left(format!("its {0} is a section; write it as {0} = {{ … }}", member.name));
        }
        let mut passed = Vec::new();
        for (header, value) in pairs {
            let Some(variable) = value.text().filter(|name| !name.is_empty()) else {
                return left(format!("its {} names no variable", member.name));
            };
            match header {
                Some(header) => self.flag("--header-env", &format!("{header}={variable}")),
                None => self.flag("--bearer-env", variable),
            }
            passed.push(self.source.written(value).to_owned());
        }
        self.put(&member.key, self.source.syntax.key(by.passed));
        self.put(&member.value.span, self.source.list(&passed, Style::Wide));
        self.undo.by_variable =
            Some((self.source.key(member).to_owned(), self.source.written(&member.value).to_owned()));
        Ok(())
    }

    /// A server that is started has no login to decline, and opencode refuses a file with one: a switch that is on takes its
    /// place.
    fn no_login(&mut self) -> Result<(), Verdict> {
        let Some(member) = declined(self.entry, self.shape) else { return Ok(()) };
        if self.entry.get(SWITCH).is_some() {
            return left(format!("it has both {} and {SWITCH}; take one of them out first", member.name));
        }
        self.put(&member.key, self.source.syntax.key(SWITCH));
        self.put(&member.value.span, "true".into());
        self.undo.no_login =
            Some((self.source.key(member).to_owned(), self.source.written(&member.value).to_owned()));
        Ok(())
    }

    /// The address becomes a command.
    fn command(&mut self, url: &Member, program: &str) {
        let (text, syntax) = (self.source.text, self.source.syntax);
        let style = Style::of(text, url);
        self.put(&url.key, syntax.key("command"));
        match self.shape.command {
            CommandShape::Apart => {
                self.put(&url.value.span, syntax.string(program));
                let list = self.source.list(&self.words, style);
                self.splices.push(syntax.after(text, url, &syntax.key("args"), &list));
            }
            CommandShape::Together => {
                self.words.insert(0, syntax.string(program));
                self.put(&url.value.span, self.source.list(&self.words, style));
            }
        }
    }

    /// An address that may be a secret goes into a variable.
    fn hide(&mut self, url: &Member) -> Result<(), Verdict> {
        let (text, syntax) = (self.source.text, self.source.syntax);
        let (key, value) = (syntax.key(URL_VARIABLE), self.source.written(&url.value).to_owned());
        let headers = self.entry.get(self.shape.headers).map(|headers| headers.value.members());
        self.splices.push(match headers {
            Some([.., last]) => syntax.after(text, last, &key, &value),
            Some([]) => return left(format!("its {} are empty; take them out first", self.shape.headers)),
            None => {
                let map = syntax.map(&[(key, value)], Style::of(text, url));
                syntax.after(text, url, &syntax.key(self.shape.environment), &map)
            }
        });
        Ok(())
    }

    fn transport(&mut self) {
        if let Some(transport) = self.entry.get("type") {
            self.put(&transport.value.span, self.source.syntax.string(self.shape.started));
            self.undo.transport = Some(self.source.written(&transport.value).to_owned());
        }
    }
}

/// Returns what says that the client is not to log in.
fn declined<'n>(entry: &'n Node, shape: &Shape) -> Option<&'n Member> {
    let is_off = |member: &&Member| matches!(member.value.value, Value::Flag(false));
    shape.login.iter().filter_map(|name| entry.get(name)).find(is_off)
}

/// Says what stands in the way.
pub(super) fn check(entry: &Node, shape: &Shape, address: &str, options: &Options) -> Result<(), Verdict> {
    let transport = entry.get("type").and_then(|member| member.value.text());
    if transport == Some("sse") || address::is_of_old_sse(address) {
        return left("it speaks the SSE transport of 2024, which tidegate does not");
    }
    if !address::is_http(address) {
        return left("its address is not one of http or https");
    }
    let declined = declined(entry, shape);
    let wanted =
        |name: &&&str| entry.get(name).is_some() && declined.is_none_or(|member| member.name != **name);
    if let Some(login) = shape.login.iter().find(wanted) {
        return left(format!("the client logs in by itself ({login}), which tidegate cannot do for it"));
    }
    if entry.get(shape.environment).is_some() {
        return left(format!("it has {} beside an address; take it out first", shape.environment));
    }
    let headers = entry.get(shape.headers).map(|headers| &headers.value);
    if headers.is_some_and(|headers| !matches!(headers.value, Value::Map(_))) {
        return left(format!("its {} are not an object", shape.headers));
    }
    let headers = headers.map(Node::members).unwrap_or_default();
    if let Some(header) = headers.iter().find(|header| header.value.text().is_none_or(str::is_empty)) {
        return left(format!("its header {} has no value", header.name));
    }
    let by_variable = shape.by_variable.map(|by| [by.bearer, by.headers]).unwrap_or_default();
    let has_headers = !headers.is_empty() || by_variable.iter().any(|name| entry.get(name).is_some());
    if has_headers || declined.is_some() || options.without_login || address::is_here(address) {
        return Ok(());
    }
    left("without headers it may need a login, which only the client can do; --without-login wraps it")
}

/// Makes a name of a variable for a header.
fn variable(header: &str, taken: &[(String, String)]) -> String {
    let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = "TIDEGATE_HEADER_".chars().chain(header.chars().map(upper)).collect();
    let is_free = |name: &String| taken.iter().all(|(variable, _)| variable != name);
    let mut names = std::iter::once(name.clone()).chain((2..).map(|number: u32| format!("{name}_{number}")));
    names.find(is_free).unwrap_or(name)
}
