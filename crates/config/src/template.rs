//! The file that `tidegate config init` writes: every key, commented out, with what it does.
//!
//! Prose is commented out with `# `, settings with `#` alone: removing that `#` sets the key.

use crate::keys::{DefaultValue, Key, KeyGroup};

const HEAD: &str = "\
# tidegate.toml: how tidegate handles the results of tools.
#
# Every key is commented out and shows its default, or an example if the default is not a single value.
#   tidegate config check    finds mistakes
#   tidegate config show     shows the values in effect and where each comes from
#   tidegate config schema   prints a JSON Schema for editors; with taplo, save it and begin this file with
#                            #:schema ./tidegate.schema.json
#
# Precedence: command line, environment, project file, user file, default. A key marked \"user only\" is an error in a
# project's file.
";

/// The narrower tables that rules can be in, each with an example.
const NARROWER_TABLES: &str = "
# Rules for the tools of one server, named as in `tidegate run --server NAME`. Takes every key above.
#[server.github]
#budget_tokens = 3000

# Rules for tools by name; * matches any characters. The most specific pattern wins.
#[server.github.tool.\"list_*\"]
#fields = [\"number\", \"title\", \"state\"]
#page_size = 25
";

/// Returns the text of the file.
pub fn template() -> String {
    let mut out = HEAD.to_owned();
    out.push_str("\n# Rules for all tools of all servers.\n[defaults]\n");
    list(&mut out, KeyGroup::Rules);
    out.push_str(NARROWER_TABLES);
    out.push_str(
        "\n# Settings for a client, by the name it sends in `initialize`; * matches any characters.\n",
    );
    out.push_str("#[client.\"my-client*\"]\n");
    list(&mut out, KeyGroup::Client);
    out.push_str("\n[store]\n");
    list(&mut out, KeyGroup::Store);
    out.push_str("\n# An object store for large results, beside a PostgreSQL store. Its credentials come from\n# credentials_file or the environment.\n");
    out.push_str("#[store.objects]\n");
    list(&mut out, KeyGroup::Objects);
    out.push_str("\n# A server behind tidegate gateway, which lists its tools as NAME__tool: either a command or a url.\n");
    out.push_str("#[upstream.memory]\n");
    list(&mut out, KeyGroup::Upstream);
    out.push_str("\n# Settings of tidegate gateway itself.\n#[gateway]\n");
    list(&mut out, KeyGroup::Gateway);
    out.push_str("\n# A caller of the gateway with a key.\n#[gateway.key.ada]\n");
    list(&mut out, KeyGroup::GatewayKey);
    out.push_str("\n# An issuer of tokens for the gateway.\n#[gateway.issuer.login]\n");
    list(&mut out, KeyGroup::Issuer);
    out.push_str("\n# What callers of the gateway may use.\n#[gateway.role.staff]\n");
    list(&mut out, KeyGroup::Role);
    out
}

fn list(out: &mut String, group: KeyGroup) {
    for (number, key) in Key::in_group(group).enumerate() {
        let value = key.default.as_toml().unwrap_or_else(|| key.example.to_owned());
        let gap = if number == 0 { "" } else { "\n" };
        out.push_str(&format!("{gap}# {}\n", about(key)));
        out.push_str(&format!("#{} = {value}\n", key.name));
    }
}

/// Describes a key and the values it takes.
fn about(key: &Key) -> String {
    let owner = if key.user_only { " User only." } else { "" };
    match key.default {
        DefaultValue::Described(words) => format!("{}{owner}\n# {}; default: {words}", key.doc, key.kind),
        _ => format!("{}{owner}\n# {}", key.doc, key.kind),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::file::ConfigFile;
    use crate::keys::KEYS;
    use crate::locate::FileOwner;

    fn read(text: &str) -> ConfigFile {
        let mut mistakes = Vec::new();
        let file = ConfigFile::read(Path::new("t.toml"), FileOwner::User, text, &mut mistakes);
        assert!(mistakes.is_empty(), "{mistakes:?}\n{text}");
        file
    }

    #[test]
    fn nothing_is_set_by_default() {
        let file = read(&template());
        assert!(file.sections.iter().all(|section| section.settings.is_empty()));
    }

    #[test]
    fn every_commented_out_key_is_valid() {
        let uncommented: Vec<String> = template()
            .lines()
            .map(|line| match line.strip_prefix('#') {
                Some(setting) if !setting.is_empty() && !setting.starts_with(' ') => setting.to_owned(),
                _ => line.to_owned(),
            })
            .collect();
        let file = read(&uncommented.join("\n"));
        let set: Vec<&Key> =
            file.sections.iter().flat_map(|section| &section.settings).map(|setting| setting.key).collect();
        for key in &KEYS {
            assert!(set.contains(&key), "{} is not in the template", key.name);
        }
    }

    #[test]
    fn no_line_is_wider_than_a_screen() {
        for line in template().lines() {
            assert!(line.chars().count() <= 120, "{line}");
        }
    }
}
