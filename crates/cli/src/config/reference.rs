//! The reference page of `tidegate.toml`, and whether an example in a document is right.

use std::fmt::Write;
use std::path::Path;

use super::file::File;
use super::keys::{Fallback, Group, Key};

const HEAD: &str = "\
# tidegate.toml

What is set here holds for everything, for a server, for tools by name, or for a client. `tidegate config init` writes a
file with every key commented out, `tidegate config check` finds mistakes, `tidegate config show` tells what holds in the
end and where it comes from. Unknown keys are errors.

Two files are read: the nearest `tidegate.toml` at or above the current folder, as far as its repository reaches, and
`tidegate/tidegate.toml` in the configuration folder of the user (`~/.config` on Linux). `--config FILE` or
`TIDEGATE_CONFIG` names another one instead of both. A flag wins over the environment, that over the project's file, that
over the user's, that over the defaults; but what is set for a tool wins over what is set for its server, and that over
`[defaults]`, whatever the file.

For completion in an editor, `tidegate config schema > tidegate.schema.json`, and begin the file with
`#:schema ./tidegate.schema.json`.
";

const RULES: &str = "
## [defaults], [server.NAME], [server.NAME.tool.\"PATTERN\"]

Rules for tools: of all servers, of one, or by name, in which `*` stands for any characters. Of several patterns that match
the one with more characters of its own wins. NAME is what `tidegate run --server` says, or the name of the command.
";

const CLIENT: &str = "
## [client.\"PATTERN\"]

How a client is treated, by the name it gives itself. Without it, what is built in for clients that are known holds; the
defaults here are for those that are not.
";

/// Returns the page.
pub(crate) fn page() -> String {
    let mut out = HEAD.to_owned();
    for (head, group) in [(RULES, Group::Rules), (CLIENT, Group::Client), ("\n## [store]\n", Group::Store)] {
        out.push_str(head);
        out.push_str("\n| key | takes | default | what it is for |\n|---|---|---|---|\n");
        for key in Key::of(group) {
            let default = match key.fallback {
                Fallback::Words(words) => words.to_owned(),
                _ => format!("`{}`", key.fallback.written().unwrap_or_default()),
            };
            let _ = writeln!(out, "| `{}` | {} | {default} | {}{} |", key.name, key.kind, key.doc, also(key));
        }
    }
    out
}

/// What else sets a key.
fn also(key: &Key) -> String {
    let names = [key.flag, key.variable].into_iter().filter(|name| !name.is_empty());
    let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() { String::new() } else { format!(" Also {}.", names.join(", ")) }
}

/// Returns every mistake in a text.
pub(crate) fn mistakes(text: &str) -> String {
    let mut mistakes = Vec::new();
    File::read(Path::new(super::NAME), text, &mut mistakes);
    mistakes.iter().map(super::mistake::Mistake::drawn).collect::<Vec<_>>().join("\n")
}
