//! The reference page of `tidegate.toml`: `docs/reference/config.md`, generated from the keys.

use std::fmt::Write;

use crate::keys::{DefaultValue, Key, KeyGroup};

const HEAD: &str = "\
# tidegate.toml

Settings apply to everything, to a server, to tools by name, or to a client. `tidegate config init` writes a file with
every key commented out, `tidegate config check` finds mistakes, `tidegate config show` shows the values in effect and
where each comes from. Unknown keys are errors.

tidegate reads two files: the nearest `tidegate.toml` in the current folder or above it, up to the root of the repository,
and `tidegate/tidegate.toml` in the user's configuration folder (`~/.config` on Linux). `--config FILE` or
`TIDEGATE_CONFIG` replaces both. Precedence, highest first: command line, environment, project file, user file, default. A
narrower section wins over a wider one, whichever file it is in: a tool's over its server's, a server's over `[defaults]`.

A project's file takes effect as soon as the project is cloned, so it may set only keys that affect answers. A key
marked \"user only\" is an error in it: set it in the user's file, or in one named by `--config` or `TIDEGATE_CONFIG`.

For completion in an editor, run `tidegate config schema > tidegate.schema.json` and begin the file with
`#:schema ./tidegate.schema.json`.
";

const RULES: &str = "
## [defaults], [server.NAME], [server.NAME.tool.\"PATTERN\"]

Rules for the tools of all servers, of one server, or by name; `*` matches any characters. If several patterns match, a name
without `*` wins, then the pattern with the most characters besides `*`. NAME is the one given to `tidegate run --server`, or
the name of the command.
";

const CLIENT: &str = "
## [client.\"PATTERN\"]

Settings for a client, by the name it sends in `initialize`. Known clients have built-in values; the defaults below are for
unknown ones.
";

const OBJECTS: &str = "
## [store.objects]

An object store for large results, beside a PostgreSQL store. Its credentials come from
`credentials_file`, from `AWS_ACCESS_KEY_ID` and `AWS_SECRET_ACCESS_KEY`, or from the role of the machine.
";

const UPSTREAM: &str = "
## [upstream.NAME]

A server behind `tidegate gateway`, which lists its tools as `NAME__tool`. The rules for its tools are in `[server.NAME]`.
";

const GATEWAY: &str = "
## [gateway]

Settings of `tidegate gateway` itself. The sections below say who may call it; without keys and issuers, everybody on this machine may.
";
const GATEWAY_KEY: &str = "
## [gateway.key.NAME]

A caller with a key, which `tidegate gateway key` makes. Its name is `key:NAME`.
";
const ISSUER: &str = "
## [gateway.issuer.NAME]

An issuer of tokens. A caller's name is the issuer and the subject of its token, separated by a space.
";
const ROLE: &str = "
## [gateway.role.NAME]

What callers may use. A caller may use whatever one of its roles allows. Without any role in the file, every verified caller may use everything.
";

/// Returns the page, in Markdown.
pub fn reference_page() -> String {
    let mut out = HEAD.to_owned();
    let tables = [
        (RULES, KeyGroup::Rules),
        (CLIENT, KeyGroup::Client),
        ("\n## [store]\n", KeyGroup::Store),
        (OBJECTS, KeyGroup::Objects),
        (UPSTREAM, KeyGroup::Upstream),
        (GATEWAY, KeyGroup::Gateway),
        (GATEWAY_KEY, KeyGroup::GatewayKey),
        (ISSUER, KeyGroup::Issuer),
        (ROLE, KeyGroup::Role),
    ];
    for (head, group) in tables {
        out.push_str(head);
        out.push_str("\n| key | takes | default | description |\n|---|---|---|---|\n");
        for key in Key::in_group(group) {
            let default = match key.default {
                DefaultValue::Described(words) => words.to_owned(),
                _ => format!("`{}`", key.default.as_toml().unwrap_or_default()),
            };
            let _ = writeln!(
                out,
                "| `{}` | {} | {default} | {}{}{} |",
                key.name,
                key.kind,
                key.doc,
                other_sources(key),
                if key.user_only { " **User only.**" } else { "" }
            );
        }
    }
    out
}

/// Names the flag and the variable that set a key as well.
fn other_sources(key: &Key) -> String {
    let names: Vec<String> = key.other_sources().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { String::new() } else { format!(" Also {}.", names.join(", ")) }
}
