//! The one mistake that two settings make together: a `line_tokens` below the budget it belongs to.
//!
//! The budget of a line is that of its own section, else of the next wider one, in its own file or one of lower precedence.
//! A budget that wins over the section of the line, in a narrower section or in a file of higher precedence, raises the
//! line instead: a project must not make an error of what the user set.

use tidegate_core::budget::Budget;

use crate::file::{ConfigFile, Heading, Section, Setting};
use crate::mistake::Mistake;
use crate::resolve::Config;

/// Returns a mistake for each line that is below its budget.
pub(crate) fn below_budget(config: &Config) -> Vec<Mistake> {
    let lines = config.files().iter().enumerate().flat_map(|(at, file)| {
        let of_section = move |section| Some((at, file, section, number(section, "line_tokens")?));
        file.sections.iter().filter_map(of_section)
    });
    let mistake = |(at, file, section, (setting, line)): (usize, &ConfigFile, &Section, (&Setting, u64))| {
        let found = budget(&config.files()[at..], &section.heading);
        let budget = found.map_or(Budget::DEFAULT_TOKENS.0, |(_, _, budget)| budget);
        let origin = match found {
            Some((file, budget, _)) => format!("in {}:{}", file.path.display(), budget.line),
            None => "by default".to_owned(),
        };
        let message = format!(
            "line_tokens is {line}, but must be at least {budget}: budget_tokens is {budget} {origin}"
        );
        (line < budget).then(|| Mistake::at(&file.path, &file.text, &setting.place, &message))
    };
    lines.filter_map(mistake).collect()
}

fn number<'s>(section: &'s Section, key: &str) -> Option<(&'s Setting, u64)> {
    let setting = section.get(key)?;
    Some((setting, setting.value.number()?))
}

/// Returns the budget that belongs to a heading, with the setting and its file.
fn budget<'f>(files: &'f [ConfigFile], heading: &Heading) -> Option<(&'f ConfigFile, &'f Setting, u64)> {
    let mut headings = vec![heading.clone()];
    if let Heading::Tools { server, .. } = heading {
        headings.push(Heading::Server(server.clone()));
    }
    headings.push(Heading::Defaults);
    headings.iter().find_map(|heading| {
        let sections = files.iter().flat_map(|file| file.sections.iter().map(move |section| (file, section)));
        let mut same = sections.filter(|(_, section)| section.heading == *heading);
        same.find_map(|(file, section)| {
            let (setting, budget) = number(section, "budget_tokens")?;
            Some((file, setting, budget))
        })
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::locate::FileOwner;

    fn mistakes(texts: &[&str]) -> Vec<String> {
        let mut mistakes = Vec::new();
        let read = |(at, text): (usize, &&str)| {
            ConfigFile::read(Path::new(&format!("{at}.toml")), FileOwner::User, text, &mut mistakes)
        };
        let config = Config::of_files(texts.iter().enumerate().map(read).collect());
        assert!(mistakes.is_empty(), "{mistakes:?}");
        below_budget(&config).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_line_below_its_budget_has_its_place() {
        let text = "\u{feff}[defaults]\nbudget_tokens = 3000\nline_tokens = 2500\n";
        let message =
            "0.toml:3:15: line_tokens is 2500, but must be at least 3000: budget_tokens is 3000 in 0.toml:2";
        assert_eq!(mistakes(&[text]), [message]);
        assert_eq!(
            mistakes(&["[server.a.tool.b]\nline_tokens = 900\n"]),
            ["0.toml:2:15: line_tokens is 900, but must be at least 1000: budget_tokens is 1000 by default"]
        );
        let both = Config::parse(Path::new("t.toml"), "[defaults]\nline_tokens = 900\nx = 1\n").unwrap_err();
        assert_eq!(both.0.len(), 2, "{both}");
    }

    #[test]
    fn the_budget_of_a_line_is_in_its_section_or_a_wider_one() {
        let wide = "[defaults]\nbudget_tokens = 3000\n";
        for section in ["server.a", "server.a.tool.\"b*\""] {
            let text = format!("[{section}]\nline_tokens = 2500\n");
            assert_eq!(mistakes(&[&text, wide]).len(), 1, "{text}");
            assert!(mistakes(&[wide, &text]).is_empty(), "a file of higher precedence raises the line");
            assert!(mistakes(&[&format!("{text}budget_tokens = 2000\n"), wide]).is_empty());
        }
        let tool = "[server.a]\nbudget_tokens = 300\n[server.a.tool.b]\nline_tokens = 300\n";
        assert!(mistakes(&[tool, wide]).is_empty());
        let narrow = "[defaults]\nline_tokens = 2500\n[server.a]\nbudget_tokens = 3000\n";
        assert!(mistakes(&[narrow]).is_empty(), "a narrower budget raises the line");
    }
}
