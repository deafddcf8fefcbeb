//! One random table written in every notation of records, for tests that compare what is read with what was written.

/// A table of texts; all columns have names.
#[derive(Debug, Clone)]
pub struct RandomTable {
    /// The names of the columns.
    pub names: Vec<String>,
    /// The cells of each row; an empty cell is no value.
    pub rows: Vec<Vec<String>>,
}

/// A notation of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableNotation {
    /// A JSON list of objects with typed values.
    Json,
    /// One JSON object a line.
    JsonLines,
    /// A list of dictionaries as Python prints it.
    Python,
    /// A JSON object with the names of the columns and a list for each row.
    ColumnsAndRows,
    /// A JSON object with a list for each column.
    ColumnLists,
    /// A JSON object from ids to objects.
    KeyedObjects,
    /// Separated by commas.
    Csv,
    /// Separated by commas, after comments and a title.
    CsvAfterPreamble,
    /// Separated by tabs.
    Tsv,
    /// A Markdown table.
    Markdown,
    /// A Markdown table between other text.
    MarkdownInText,
    /// As psql prints it.
    Psql,
    /// As mysql prints it.
    Mysql,
    /// A box of line characters.
    Boxed,
    /// Columns aligned by spaces, over a ruler.
    Ruled,
    /// Columns aligned by spaces under a header in capitals.
    Aligned,
    /// A YAML list of mappings.
    Yaml,
    /// XML elements with attributes.
    XmlAttributes,
    /// XML elements with elements.
    XmlElements,
    /// Lines of `key=value`.
    Logfmt,
    /// Blocks of `key: value` between blank lines.
    Blocks,
    /// Numbered items with `key: value` lines below them.
    NumberedEntries,
    /// Markdown headings with lists of `**key:** value` below them.
    MarkdownEntries,
}

impl TableNotation {
    /// All of them.
    pub const ALL: [Self; 23] = [
        Self::Json,
        Self::JsonLines,
        Self::Python,
        Self::ColumnsAndRows,
        Self::ColumnLists,
        Self::KeyedObjects,
        Self::Csv,
        Self::CsvAfterPreamble,
        Self::Tsv,
        Self::Markdown,
        Self::MarkdownInText,
        Self::Psql,
        Self::Mysql,
        Self::Boxed,
        Self::Ruled,
        Self::Aligned,
        Self::Yaml,
        Self::XmlAttributes,
        Self::XmlElements,
        Self::Logfmt,
        Self::Blocks,
        Self::NumberedEntries,
        Self::MarkdownEntries,
    ];
}

impl RandomTable {
    /// Returns a table that depends on a seed: a name for each row, and columns of numbers, codes and words.
    pub fn new(seed: u64, rows: usize) -> Self {
        let mut random = Random(seed);
        let mut names = vec!["NAME".to_owned()];
        let kinds: Vec<usize> = (0..2 + random.below(4)).map(|_| random.below(6)).collect();
        names.extend((0..kinds.len()).map(|at| format!("COL_{}", char::from(b'A' + at as u8))));
        let rows = (0..rows)
            .map(|number| {
                let mut cells = vec![format!("{}-{number}", random.word())];
                cells.extend(kinds.iter().map(|kind| random.cell(*kind)));
                cells
            })
            .collect();
        Self { names, rows }
    }

    /// Returns the table in a notation.
    pub fn write(&self, notation: TableNotation) -> String {
        let rows =
            |row: &dyn Fn(&[String]) -> String| self.rows.iter().map(|cells| row(cells)).collect::<String>();
        let separated = |mark: &str| {
            let line = |cells: &[String]| format!("{}\n", cells.join(mark));
            format!("{}{}", line(&self.names), rows(&line))
        };
        let widths: Vec<usize> = (0..self.names.len()).map(|at| self.width(at)).collect();
        let padded = |cells: &[String], mark: &str| {
            let cells: Vec<String> =
                cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            cells.join(mark)
        };
        let dashes = |mark: &str, extra: usize, dash: &str| {
            widths.iter().map(|width| dash.repeat(width + extra)).collect::<Vec<_>>().join(mark)
        };
        match notation {
            TableNotation::Csv => separated(","),
            TableNotation::CsvAfterPreamble => format!("# written, by hand\nA title\n\n{}", separated(",")),
            TableNotation::Tsv => separated("\t"),
            TableNotation::Markdown | TableNotation::MarkdownInText => {
                let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
                let rule = format!("|{}\n", " --- |".repeat(self.names.len()));
                let table = format!("{}{rule}{}", line(&self.names), rows(&line));
                match notation {
                    TableNotation::Markdown => table,
                    _ => format!("# Title\n\nSome words before it.\n\n{table}\nSome words after it.\n"),
                }
            }
            TableNotation::Psql => {
                let line = |cells: &[String]| format!(" {}\n", padded(cells, " | "));
                let count = format!("({} rows)\n", self.rows.len());
                format!("{}{}\n{}{count}", line(&self.names), dashes("+", 2, "-"), rows(&line))
            }
            TableNotation::Mysql => {
                let rule = format!("+{}+\n", dashes("+", 2, "-"));
                let line = |cells: &[String]| format!("| {} |\n", padded(cells, " | "));
                format!(
                    "{rule}{}{rule}{}{rule}{} rows in set\n",
                    line(&self.names),
                    rows(&line),
                    self.rows.len()
                )
            }
            TableNotation::Boxed => {
                let line = |cells: &[String]| format!("│ {} │\n", padded(cells, " │ "));
                let rule =
                    |left: &str, mark: &str, right: &str| format!("{left}{}{right}\n", dashes(mark, 2, "─"));
                let (top, middle, bottom) = (rule("┌", "┬", "┐"), rule("├", "┼", "┤"), rule("└", "┴", "┘"));
                format!("{top}{}{middle}{}{bottom}", line(&self.names), rows(&line))
            }
            TableNotation::Ruled => {
                let line = |cells: &[String]| format!("{}\n", padded(cells, " "));
                format!("{}{}\n{}", line(&self.names), dashes(" ", 0, "-"), rows(&line))
            }
            TableNotation::Aligned => {
                let line = |cells: &[String]| format!("{}\n", padded(cells, "  "));
                format!("{}{}", line(&self.names), rows(&line))
            }
            _ => self.write_members(notation),
        }
    }

    /// Returns the table in a notation that writes the name of a column beside each cell.
    fn write_members(&self, notation: TableNotation) -> String {
        let rows =
            |row: &dyn Fn(&[String]) -> String| self.rows.iter().map(|cells| row(cells)).collect::<String>();
        let members = |cells: &[String], write: &dyn Fn(&str, &str) -> String, mark: &str| {
            let filled = self.names.iter().zip(cells).filter(|(_, cell)| !cell.is_empty());
            filled.map(|(name, cell)| write(name, cell)).collect::<Vec<_>>().join(mark)
        };
        match notation {
            TableNotation::Yaml => {
                let member = |name: &str, cell: &str| format!("{name}: {cell}");
                rows(&|cells| format!("- {}\n", members(cells, &member, "\n  ")))
            }
            TableNotation::XmlAttributes => {
                let member = |name: &str, cell: &str| format!("{name}=\"{cell}\"");
                format!(
                    "<all>\n{}</all>\n",
                    rows(&|cells| format!("  <row {}/>\n", members(cells, &member, " ")))
                )
            }
            TableNotation::XmlElements => {
                let member = |name: &str, cell: &str| format!("<{name}>{cell}</{name}>");
                format!(
                    "<all>{}</all>\n",
                    rows(&|cells| format!("<row>{}</row>\n", members(cells, &member, "")))
                )
            }
            TableNotation::Logfmt => {
                let member = |name: &str, cell: &str| format!("{name}=\"{cell}\"");
                rows(&|cells| format!("{}\n", members(cells, &member, " ")))
            }
            TableNotation::Blocks => {
                let member = |name: &str, cell: &str| format!("{name}: {cell}");
                rows(&|cells| format!("{}\n\n", members(cells, &member, "\n")))
            }
            TableNotation::NumberedEntries => {
                let member = |name: &str, cell: &str| format!("{name}: {cell}");
                let entry = |(at, cells): (usize, &Vec<String>)| {
                    format!("{}. {}\n\n", at + 1, members(cells, &member, "\n   "))
                };
                format!("Found:\n\n{}", self.rows.iter().enumerate().map(entry).collect::<String>())
            }
            TableNotation::MarkdownEntries => {
                let member = |name: &str, cell: &str| match name == self.names[0] {
                    true => format!("## {name}: {cell}\n"),
                    false => format!("- **{name}:** {cell}"),
                };
                format!("# All\n\n{}", rows(&|cells| format!("{}\n\n", members(cells, &member, "\n"))))
            }
            TableNotation::Python => {
                let member =
                    |name: &str, cell: &str| format!("'{name}': {}", json_value(cell).replace('"', "'"));
                let object = |cells: &Vec<String>| format!("{{{}}}", members(cells, &member, ", "));
                format!("[{}]", self.rows.iter().map(object).collect::<Vec<_>>().join(", "))
            }
            TableNotation::ColumnsAndRows => {
                let list = |cells: &Vec<String>| format!("[{}]", values(cells.iter()));
                let rows: Vec<String> = self.rows.iter().map(list).collect();
                format!("{{\"columns\":[{}],\"rows\":[{}]}}", values(self.names.iter()), rows.join(","))
            }
            TableNotation::ColumnLists => {
                let column = |at: usize| values(self.rows.iter().map(|row| &row[at]));
                let columns = self.names.iter().enumerate();
                let columns = columns.map(|(at, name)| format!("\"{name}\":[{}]", column(at)));
                format!("{{{}}}", columns.collect::<Vec<_>>().join(","))
            }
            _ => {
                let object = |cells: &[String]| format!("{{{}}}", members(cells, &json_member, ","));
                let objects: Vec<String> = self.rows.iter().map(|cells| object(cells)).collect();
                match notation {
                    TableNotation::JsonLines => objects.join("\n"),
                    TableNotation::KeyedObjects => {
                        let keyed = objects.iter().enumerate();
                        let keyed = keyed.map(|(at, object)| format!("\"id{at}\":{object}"));
                        format!("{{{}}}", keyed.collect::<Vec<_>>().join(","))
                    }
                    // JSON is the only other one.
                    _ => format!("[{}]", objects.join(",")),
                }
            }
        }
    }

    fn width(&self, at: usize) -> usize {
        let cells = self.rows.iter().map(|row| row[at].chars().count());
        cells.max().unwrap_or(0).max(self.names[at].len())
    }
}

/// Returns cells as the elements of a JSON list.
fn values<'c>(cells: impl Iterator<Item = &'c String>) -> String {
    cells.map(|cell| json_value(cell)).collect::<Vec<_>>().join(",")
}

fn json_member(name: &str, cell: &str) -> String {
    format!("\"{name}\":{}", json_value(cell))
}

/// Returns a cell as JSON: a number, a text, or null if it is empty.
fn json_value(cell: &str) -> String {
    let digits = cell.strip_prefix('-').unwrap_or(cell);
    let is_number = digits.starts_with(|c: char| c.is_ascii_digit())
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
        && digits.matches('.').count() < 2
        && !(digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0."));
    match cell {
        "" => "null".to_owned(),
        cell if is_number => cell.to_owned(),
        cell => format!("\"{cell}\""),
    }
}

/// A small generator of random numbers, so that one seed gives one table.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    fn word(&mut self) -> String {
        // No vowels, so that no word of a language comes out.
        (0..3 + self.below(6)).map(|_| char::from(b"bcdfghkmnpqrstvz"[self.below(16)])).collect()
    }

    /// Returns a cell of a column of a kind; the last kinds have empty cells.
    fn cell(&mut self, kind: usize) -> String {
        match kind {
            0 => self.below(2000).to_string(),
            1 => format!("{}.{:02}", self.below(500), self.below(100)),
            2 => ["open", "closed", "half open"][self.below(3)].to_owned(),
            3 => format!("2026-0{}-1{}", 1 + self.below(9), self.below(10)),
            4 if self.below(5) == 0 => String::new(),
            4 => format!("-{}", 1 + self.below(90)),
            _ if self.below(7) == 0 => String::new(),
            _ => format!("{} {}", self.word(), self.word()),
        }
    }
}
