//! The file that `tidegate config init` writes: every key, commented out, with what it is for.

use super::keys::{Fallback, Group, Key};

/// Prose is commented with `# `, settings with `#` alone: take that away and they hold.
const HEAD: &str = "\
# tidegate.toml: what tidegate does with the results of tools.
#
# All of it is commented out and shows the default, or an example where there is none.
#   tidegate config check    finds mistakes
#   tidegate config show     tells what holds in the end, and where it comes from
#   tidegate config schema   is for editors; with taplo, write it to a file and begin this one with
#                            #:schema ./tidegate.schema.json
#
# A flag wins over the environment, that over the project's file, that over the user's, that over the defaults.
";

/// The other places where rules can stand, each with an example.
const NARROWER: &str = "
# Rules for the tools of one server, as it is named by `tidegate run --server NAME`. Every key above can stand here.
#[server.github]
#budget_tokens = 3000

# Rules for tools by name; * stands for any characters. The narrowest pattern wins.
#[server.github.tool.\"list_*\"]
#fields = [\"number\", \"title\", \"state\"]
#page_size = 25
";

/// Returns the text of the file.
pub(super) fn template() -> String {
    let mut out = HEAD.to_owned();
    out.push_str("\n# Rules for all tools of all servers.\n[defaults]\n");
    list(&mut out, Group::Rules);
    out.push_str(NARROWER);
    out.push_str("\n# How a client is treated, by the name it gives itself; * stands for any characters.\n");
    out.push_str("#[client.\"my-client*\"]\n");
    list(&mut out, Group::Client);
    out.push_str("\n[store]\n");
    list(&mut out, Group::Store);
    out
}

fn list(out: &mut String, group: Group) {
    for (number, key) in Key::of(group).enumerate() {
        let value = key.fallback.written().unwrap_or_else(|| key.example.to_owned());
        let gap = if number == 0 { "" } else { "\n" };
        out.push_str(&format!("{gap}# {}\n", about(key)));
        out.push_str(&format!("#{} = {value}\n", key.name));
    }
}

/// What a key is for and what it takes.
fn about(key: &Key) -> String {
    match key.fallback {
        Fallback::Words(words) => format!("{}\n# {}; default: {words}", key.doc, key.kind),
        _ => format!("{}\n# {}", key.doc, key.kind),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::file::File;
    use crate::config::keys::KEYS;

    fn read(text: &str) -> File {
        let mut mistakes = Vec::new();
        let file = File::read(Path::new("t.toml"), text, &mut mistakes);
        assert!(mistakes.is_empty(), "{mistakes:?}\n{text}");
        file
    }

    #[test]
    fn nothing_is_set_until_it_is_changed() {
        let file = read(&template());
        assert!(file.sections.iter().all(|section| section.settings.is_empty()));
    }

    #[test]
    fn what_is_commented_out_is_right_and_complete() {
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
