//! Random columns of every kind of data that has been hard to count.

/// A small generator of random numbers, so that one seed gives one set of data.
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub(super) fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    pub(super) fn pick<'c>(&mut self, choices: &[&'c str]) -> &'c str {
        choices[self.below(choices.len())]
    }

    pub(super) fn word(&mut self) -> String {
        // No vowels, so that no word of a language comes out.
        (0..3 + self.below(6)).map(|_| char::from(b"bcdfghkmnpqrstvz"[self.below(16)])).collect()
    }
}

/// One value of a column.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Missing,
    Null,
    Bool(bool),
    /// A number as written.
    Number(String),
    Text(String),
    List(usize),
    Object,
}

impl Cell {
    /// Returns the number, if it is one or a text of one.
    pub(super) fn number(&self) -> Option<&str> {
        let raw = match self {
            Self::Number(raw) => raw,
            Self::Text(text) => text.strip_prefix(['v', '$', '#']).unwrap_or(text),
            _ => return None,
        };
        let digits = raw.strip_prefix(['-', '+']).unwrap_or(raw);
        let number = digits.starts_with(|c: char| c.is_ascii_digit())
            && raw.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c))
            && raw.parse::<f64>().is_ok();
        number.then_some(raw)
    }

    /// Returns what is written between the quotes or brackets of a text or number.
    pub(super) fn written(&self) -> &str {
        match self {
            Self::Number(raw) | Self::Text(raw) => raw,
            _ => "",
        }
    }
}

/// A named column.
#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: String,
    pub(super) cells: Vec<Cell>,
}

const WORDS: &[&str] =
    &["open", "closed", "FRAUD", "n/a", "über", "日本", "a b", "", " ", "x  y", "k=v", "p;q", "say \"hi\""];

impl Column {
    /// Returns a column of a random kind.
    pub(super) fn any(random: &mut Random, at: usize, rows: usize) -> Self {
        let kind = random.below(15);
        let most = [4, 30, 5000][random.below(3)];
        let spread = 1 + random.below(most);
        let mut cells: Vec<Cell> = (0..rows).map(|row| cell(random, kind, row, spread)).collect();
        // Exceptions, so that hardly any column is of one kind.
        let rate = [usize::MAX, 300, 40, 9][random.below(4)];
        let other = random.below(7);
        for cell in &mut cells {
            if random.one_in(rate) {
                *cell = exception(random, other);
            }
        }
        if random.one_in(2) {
            let rate = [3, 20, 100][random.below(3)];
            let empty = if random.one_in(2) { Cell::Null } else { Cell::Missing };
            for cell in &mut cells {
                if random.one_in(rate) {
                    *cell = empty.clone();
                }
            }
        }
        Self { name: format!("col{}", char::from(b'a' + at as u8)), cells }
    }
}

fn exception(random: &mut Random, kind: usize) -> Cell {
    match kind {
        0 => Cell::Text(random.pick(WORDS).into()),
        1 => Cell::Number(random.below(100).to_string()),
        2 => Cell::Bool(random.one_in(2)),
        3 => Cell::List(random.below(3)),
        4 => Cell::Object,
        5 => Cell::Text(random.word()),
        _ => Cell::Null,
    }
}

fn cell(random: &mut Random, kind: usize, row: usize, spread: usize) -> Cell {
    let number = |raw: String| Cell::Number(raw);
    let sign = if random.one_in(2) { "-" } else { "" };
    match kind {
        0 => number(random.below(spread).to_string()),
        1 => number(format!("{sign}{}.{}", random.below(spread), random.below(1000))),
        2 => number(format!("{sign}{}", 9_007_199_254_740_990 + random.below(spread) as u64)),
        3 => number(format!("{sign}{}{:018}", random.below(1000), random.next() % 1_000_000_000_000_000_000)),
        4 => number(format!(
            "{sign}{}",
            random.pick(&["1.79e308", "1e400", "1e-400", "2.5E+399", "7", "0", "1.5e3"])
        )),
        5 => number(format!("{}", 1000 * (row % (1 + spread % 9)) + row)),
        6 => Cell::Text(time(random, spread)),
        7 => Cell::Text(format!("id-{}", if random.one_in(50) { row / 2 } else { row })),
        8 => Cell::Text(random.pick(&WORDS[..1 + spread % WORDS.len()]).into()),
        9 => Cell::Text(format!("1.{}", random.pick(&["1", "10", "100", "2", "20"]))),
        10 => Cell::Bool(random.one_in(1 + spread % 5)),
        11 => Cell::Text(format!("{} {}", random.word(), random.below(spread))),
        12 => Cell::List(random.below(1 + spread % 6)),
        13 => Cell::Text(format!("{}{}", random.pick(&["", "$", "#", "-"]), random.below(spread))),
        _ => number(random.pick(&["1", "1.0", "1e0", "10e-1", "2", "-0", "0", "0.10", "0.1"]).into()),
    }
}

/// Returns a time with a fraction of a second and a zone, or without.
fn time(random: &mut Random, spread: usize) -> String {
    let (hour, minute, second) = (random.below(24), random.below(60), random.below(60));
    let day = 1 + random.below(28.min(spread));
    let zone = random.pick(&["Z", "+02:00", "-0530", "+14:00"]);
    match random.below(4) {
        0 => format!("2024-02-{day:02}"),
        1 => format!("2024-02-{day:02}T{hour:02}:{minute:02}:{second:02}{zone}"),
        2 => format!("2024-02-{day:02} {hour:02}:{minute:02}:{second:02}.{}", random.below(1000)),
        _ => format!("2024-02-{day:02}T00:00:00.{:09}{zone}", random.below(1000)),
    }
}

/// Returns the columns as JSON records; the same text is escaped in different ways.
pub(super) fn json(columns: &[Column]) -> String {
    list(columns, |row| object(columns, row), ",\n")
}

/// A way to write a table without naming the columns in each record.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    /// Lists under a list of the names.
    HeaderRow,
    /// Lists beside a list of the names.
    NamesBeside,
    /// Lists beside objects that name and describe the columns.
    DescriptionsBeside,
    /// Lists, one a line, under one of the names.
    Lines,
    /// Lists without names.
    Unnamed,
    /// A list for each column.
    Columns,
}

pub(super) const FORMS: [Form; 6] =
    [Form::HeaderRow, Form::NamesBeside, Form::DescriptionsBeside, Form::Lines, Form::Unnamed, Form::Columns];

/// Returns the columns as lists; a value that is missing becomes null.
pub(super) fn lists(columns: &[Column], form: Form) -> String {
    let names: Vec<String> = columns.iter().map(|column| format!("\"{}\"", column.name)).collect();
    let header = format!("[{}]", names.join(","));
    let cells = |row: usize| {
        let cells = columns.iter().map(|column| value(&column.cells[row], row).unwrap_or("null".into()));
        format!("[{}]", cells.collect::<Vec<_>>().join(","))
    };
    match form {
        Form::HeaderRow => list(columns, cells, ",").replacen('[', &format!("[{header},"), 1),
        Form::NamesBeside => {
            format!("{{\"ok\":true,\"cols\":{header},\"data\":{}}}", list(columns, cells, ","))
        }
        Form::DescriptionsBeside => {
            let described = names.iter().map(|name| format!("{{\"type\":\"any\",\"name\":{name}}}"));
            let described = described.collect::<Vec<_>>().join(",");
            let rows = list(columns, cells, ",");
            format!("{{\"meta\":{{\"fields\":[{described}]}},\"rows\":{rows}}}")
        }
        Form::Lines => {
            let rows = list(columns, cells, "\n");
            format!("{header}\n{}\n", &rows[1..rows.len() - 1])
        }
        Form::Unnamed => list(columns, cells, ","),
        Form::Columns => {
            let lists = columns.iter().zip(&names).map(|(column, name)| {
                let cells = (0..column.cells.len()).map(|row| value(&column.cells[row], row));
                let cells = cells.map(|cell| cell.unwrap_or("null".into()));
                format!("{name}:[{}]", cells.collect::<Vec<_>>().join(","))
            });
            format!("{{{}}}", lists.collect::<Vec<_>>().join(","))
        }
    }
}

fn list(columns: &[Column], record: impl Fn(usize) -> String, separator: &str) -> String {
    let rows = columns[0].cells.len();
    format!("[{}]", (0..rows).map(record).collect::<Vec<_>>().join(separator))
}

fn object(columns: &[Column], row: usize) -> String {
    let members = columns
        .iter()
        .filter_map(|column| Some(format!("\"{}\":{}", column.name, value(&column.cells[row], row)?)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// Returns a cell as JSON; `None` if it is missing.
fn value(cell: &Cell, row: usize) -> Option<String> {
    Some(match cell {
        Cell::Missing => return None,
        Cell::Null => "null".into(),
        Cell::Bool(value) => value.to_string(),
        Cell::Number(raw) => raw.clone(),
        Cell::Text(text) => quoted(text, row),
        Cell::List(length) => format!("[{}]", vec!["\"e\""; *length].join(",")),
        Cell::Object => "{\"m\":1}".into(),
    })
}

fn quoted(text: &str, row: usize) -> String {
    let escape = |at: usize, character: char| match character {
        '"' => "\\\"".to_owned(),
        '\\' => "\\\\".to_owned(),
        other if (row + at).is_multiple_of(7) && row.is_multiple_of(3) => {
            other.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }
        other => other.to_string(),
    };
    format!("\"{}\"", text.chars().enumerate().map(|(at, c)| escape(at, c)).collect::<String>())
}
