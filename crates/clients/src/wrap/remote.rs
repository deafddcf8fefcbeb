//! Wraps a remote server: its URL becomes the command `tidegate run --url`.
//!
//! Headers stay in the entry as environment variables that tidegate reads (`--header-env`). A URL that may hold a secret
//! becomes a variable too (`--url-env`).

use super::{Options, RemoteUndo, Source, Undo, Verdict, WrapEdit, skip};
use crate::client::{Client, CommandFormat, EntryFormat};
use crate::document::{Member, Node, Spacing, Splice, Value};
use crate::remote_url;

/// The variable for a URL that may hold a secret.
pub(super) const URL_VARIABLE: &str = "TIDEGATE_URL";

/// The key that enables or disables a server.
pub(super) const ENABLED_KEY: &str = "enabled";

/// Collects the splices that rewrite one entry.
struct Rewrite<'t> {
    source: &'t Source<'t>,
    entry: &'t Node,
    format: &'t EntryFormat,
    /// The literals of tidegate's arguments.
    arguments: Vec<String>,
    splices: Vec<Splice>,
    undo: RemoteUndo,
}

/// Returns the edit that wraps a remote entry.
pub(super) fn wrap_edit(
    source: &Source<'_>,
    entry: &Node,
    client: &Client,
    (url, address): (&Member, &str),
    arguments: Vec<String>,
    tidegate: &str,
) -> Result<WrapEdit, Verdict> {
    let format = &client.format;
    let undo = RemoteUndo { url: source.key(url).to_owned(), ..RemoteUndo::default() };
    let mut rewrite = Rewrite { source, entry, format, arguments, splices: Vec::new(), undo };
    let is_safe = remote_url::is_safe_to_show(address);
    let (flag, value) = match is_safe {
        true => ("--url", source.literal(&url.value).to_owned()),
        false => ("--url-env", source.syntax.string(URL_VARIABLE)),
    };
    rewrite.arguments.extend([source.syntax.string(flag), value]);
    rewrite.headers();
    rewrite.header_variables()?;
    rewrite.declined_login()?;
    rewrite.command(url, tidegate);
    if !is_safe {
        rewrite.url_variable(url)?;
    }
    rewrite.transport_type();
    let Rewrite { splices, undo, .. } = rewrite;
    Ok(WrapEdit { splices, undo: Undo::Remote(Box::new(undo)), verdict: Verdict::WrapRemote })
}

impl Rewrite<'_> {
    /// Adds a flag and its value to the arguments.
    fn flag(&mut self, flag: &str, value: &str) {
        self.arguments.extend([flag, value].map(|word| self.source.syntax.string(word)));
    }

    fn replace(&mut self, range: &std::ops::Range<usize>, text: String) {
        self.splices.push(Splice::new(range.clone(), text));
    }

    /// Turns headers into environment variables: only the keys change, the values stay where they are.
    fn headers(&mut self) {
        let Some(headers) = self.entry.get(self.format.headers) else { return };
        self.replace(&headers.key, self.source.syntax.key(self.format.environment));
        self.undo.headers = Some(self.source.key(headers).to_owned());
        for header in headers.value.members() {
            let variable = variable_name(&header.name, &self.undo.header_keys);
            self.flag("--header-env", &format!("{}={variable}", header.name));
            self.replace(&header.key, self.source.syntax.key(&variable));
            self.undo.header_keys.push((variable, self.source.key(header).to_owned()));
        }
    }

    /// Passes on the environment variables that the client reads header values from, by their names.
    fn header_variables(&mut self) -> Result<(), Verdict> {
        let Some(keys) = self.format.header_variables else { return Ok(()) };
        let (member, pairs) = match (self.entry.get(keys.bearer), self.entry.get(keys.headers)) {
            (None, None) => return Ok(()),
            (Some(_), Some(_)) => return skip(format!("it has both {} and {}", keys.bearer, keys.headers)),
            (Some(bearer), None) => (bearer, vec![(None, &bearer.value)]),
            (None, Some(headers)) => {
                (headers, headers.value.members().iter().map(|one| (Some(&one.name), &one.value)).collect())
            }
        };
        if self.entry.get(keys.inherited).is_some() {
            return skip(format!("it has both {0} and a URL; remove {0} first", keys.inherited));
        }
        if self.source.literal(&member.value).starts_with('[') {
            return skip(format!("its {0} is a section; write it inline as {0} = {{ … }}", member.name));
        }
        let mut inherited = Vec::new();
        for (header, value) in pairs {
            let Some(variable) = value.as_str().filter(|name| !name.is_empty()) else {
                return skip(format!("its {} does not name a variable", member.name));
            };
            match header {
                Some(header) => self.flag("--header-env", &format!("{header}={variable}")),
                None => self.flag("--bearer-env", variable),
            }
            inherited.push(self.source.literal(value).to_owned());
        }
        self.replace(&member.key, self.source.syntax.key(keys.inherited));
        self.replace(&member.value.span, self.source.list(&inherited, Spacing::Spaced));
        self.undo.header_variables =
            Some((self.source.key(member).to_owned(), self.source.literal(&member.value).to_owned()));
        Ok(())
    }

    /// Replaces a declined login, such as `"oauth": false`, by `"enabled": true`: opencode rejects a file in which a
    /// server with a command has `oauth`.
    fn declined_login(&mut self) -> Result<(), Verdict> {
        let Some(member) = find_declined_login(self.entry, self.format) else { return Ok(()) };
        if self.entry.get(ENABLED_KEY).is_some() {
            return skip(format!("it has both {} and {ENABLED_KEY}; remove one of them first", member.name));
        }
        self.replace(&member.key, self.source.syntax.key(ENABLED_KEY));
        self.replace(&member.value.span, "true".into());
        self.undo.declined_login =
            Some((self.source.key(member).to_owned(), self.source.literal(&member.value).to_owned()));
        Ok(())
    }

    /// Turns the URL into a command.
    fn command(&mut self, url: &Member, tidegate: &str) {
        let (text, syntax) = (self.source.text, self.source.syntax);
        let spacing = Spacing::of(text, url);
        self.replace(&url.key, syntax.key("command"));
        match self.format.command {
            CommandFormat::Split => {
                self.replace(&url.value.span, syntax.string(tidegate));
                let list = self.source.list(&self.arguments, spacing);
                self.splices.push(syntax.insert_after(text, url, &syntax.key("args"), &list));
            }
            CommandFormat::List => {
                self.arguments.insert(0, syntax.string(tidegate));
                self.replace(&url.value.span, self.source.list(&self.arguments, spacing));
            }
        }
    }

    /// Moves a URL that may hold a secret into an environment variable.
    fn url_variable(&mut self, url: &Member) -> Result<(), Verdict> {
        let (text, syntax) = (self.source.text, self.source.syntax);
        let (key, value) = (syntax.key(URL_VARIABLE), self.source.literal(&url.value).to_owned());
        let headers = self.entry.get(self.format.headers).map(|headers| headers.value.members());
        self.splices.push(match headers {
            Some([.., last]) => syntax.insert_after(text, last, &key, &value),
            Some([]) => return skip(format!("its {} are empty; remove them first", self.format.headers)),
            None => {
                let map = syntax.inline_object(&[(key, value)], Spacing::of(text, url));
                syntax.insert_after(text, url, &syntax.key(self.format.environment), &map)
            }
        });
        Ok(())
    }

    fn transport_type(&mut self) {
        if let Some(transport) = self.entry.get("type") {
            self.replace(&transport.value.span, self.source.syntax.string(self.format.stdio_type));
            self.undo.transport = Some(self.source.literal(&transport.value).to_owned());
        }
    }
}

/// Returns the member that tells the client not to log in, such as `"oauth": false`.
fn find_declined_login<'n>(entry: &'n Node, format: &EntryFormat) -> Option<&'n Member> {
    let is_off = |member: &&Member| matches!(member.value.value, Value::Bool(false));
    format.login.iter().filter_map(|name| entry.get(name)).find(is_off)
}

/// Returns the reason why a remote entry cannot be wrapped, if there is one.
pub(super) fn check(
    entry: &Node,
    format: &EntryFormat,
    address: &str,
    options: &Options,
) -> Result<(), Verdict> {
    let transport = entry.get("type").and_then(|member| member.value.as_str());
    if transport == Some("sse") || remote_url::is_legacy_sse(address) {
        return skip("it uses the deprecated HTTP+SSE transport, which tidegate does not support");
    }
    if !remote_url::is_http(address) {
        return skip("its URL is neither http nor https");
    }
    let declined = find_declined_login(entry, format);
    let needs_login =
        |name: &&&str| entry.get(name).is_some() && declined.is_none_or(|member| member.name != **name);
    if let Some(login) = format.login.iter().find(needs_login) {
        return skip(format!("the client logs in by itself ({login}), which tidegate cannot do"));
    }
    if entry.get(format.environment).is_some() {
        return skip(format!("it has both {0} and a URL; remove {0} first", format.environment));
    }
    let headers = entry.get(format.headers).map(|headers| &headers.value);
    if headers.is_some_and(|headers| !matches!(headers.value, Value::Object(_))) {
        return skip(format!("its {} are not an object", format.headers));
    }
    let headers = headers.map(Node::members).unwrap_or_default();
    if let Some(header) = headers.iter().find(|header| header.value.as_str().is_none_or(str::is_empty)) {
        return skip(format!("its header {} has no value", header.name));
    }
    let variable_keys = format.header_variables.map(|keys| [keys.bearer, keys.headers]).unwrap_or_default();
    let has_headers = !headers.is_empty() || variable_keys.iter().any(|name| entry.get(name).is_some());
    if has_headers || declined.is_some() || options.without_login || remote_url::is_loopback(address) {
        return Ok(());
    }
    skip("without headers it may need a login, which only the client can do; --without-login wraps it anyway")
}

/// Returns an unused environment variable name for a header.
fn variable_name(header: &str, taken: &[(String, String)]) -> String {
    let upper = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' };
    let name: String = "TIDEGATE_HEADER_".chars().chain(header.chars().map(upper)).collect();
    let is_free = |name: &String| taken.iter().all(|(variable, _)| variable != name);
    let mut names = std::iter::once(name.clone()).chain((2..).map(|number: u32| format!("{name}_{number}")));
    names.find(is_free).unwrap_or(name)
}
