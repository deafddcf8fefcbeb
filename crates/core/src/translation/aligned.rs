//! Tables whose columns are aligned by spaces: listings of processes, disks, containers, packages.
//!
//! If a line of dashes is under the header, it says where the columns are. Otherwise they are found by position: two
//! words of the header are names of different columns if there is a place between them at which hardly any row has a
//! character. If rows are wider than their header, the columns are the words of a line, if those are under the
//! names. A listing without a header is not a table here.

use super::tables::{FoundTable, LineInTable, RowCut, TableForm};
use super::typed::column_names;
use crate::profile::number::Number;
use crate::trim::trim;

/// The maximum number of columns.
const MAX_COLUMNS: usize = 64;
/// How many rows are read first, and how many are used to find the columns.
const FEW_ROWS: usize = 12;
pub(super) const MANY_ROWS: usize = 300;
/// How far a word may be from the name of its column, in characters.
const MAX_DRIFT: usize = 6;

/// Returns whether a line is a ruler: at least two runs of dashes.
fn is_ruler(line: &str) -> bool {
    ruler_columns(line).is_some()
}

/// Returns where the columns under a ruler begin; `None` if the line is not a ruler.
fn ruler_columns(line: &str) -> Option<Vec<usize>> {
    let drawn = |c: char| matches!(c, '-' | '=' | '+' | '~' | ' ' | '─' | '═');
    // Nearly every line has an ASCII letter or digit, and they are found faster than characters are compared.
    if line.len() < 5
        || line.bytes().any(|byte| byte.is_ascii_alphanumeric())
        || !line.starts_with(['-', '=', '+', '~', ' ', '─', '═'])
        || !line.chars().all(drawn)
    {
        return None;
    }
    // dpkg separates runs of `=` by dashes.
    let doubled = line.contains('=');
    let separates = |c: char| c == ' ' || doubled && c == '-';
    let mut starts = Vec::new();
    let mut separated = true;
    for (at, c) in line.chars().enumerate() {
        if separated && !separates(c) {
            starts.push(at);
        }
        separated = separates(c);
    }
    (2..=MAX_COLUMNS).contains(&starts.len()).then_some(starts)
}

/// How the cells of a line are found.
#[derive(PartialEq)]
pub(super) enum Cut {
    /// Columns begin at these positions, with a space before each.
    At(Vec<usize>),
    /// Each of this many words is a cell; the last takes the rest of the line.
    Words(usize),
}

impl Cut {
    /// Returns the cells of a line; `None` if it does not fit.
    fn cells<'l>(&self, line: &'l str) -> Option<Vec<&'l str>> {
        let mut cells = Vec::new();
        self.find_cells(line, &mut cells).then_some(cells)
    }

    /// Finds the cells of a line; returns false if it does not fit.
    pub(super) fn find_cells<'l>(&self, line: &'l str, cells: &mut Vec<&'l str>) -> bool {
        cells.clear();
        match self {
            Self::At(starts) if line.is_ascii() => {
                let mut begin = 0;
                for &start in starts.iter().skip(1).take_while(|&&start| start < line.len()) {
                    if start > 0 && line.as_bytes()[start - 1] != b' ' {
                        return false;
                    }
                    cells.push(trim(&line[begin..start]));
                    begin = start;
                }
                cells.push(trim(&line[begin..]));
                cells.resize(starts.len(), "");
                true
            }
            Self::At(starts) => {
                let mut begin = 0;
                let mut blank = true;
                let mut wanted = starts.iter().skip(1).peekable();
                for (position, (at, c)) in line.char_indices().enumerate() {
                    if wanted.peek() == Some(&&position) {
                        if !blank {
                            return false;
                        }
                        cells.push(line[begin..at].trim());
                        begin = at;
                        wanted.next();
                    }
                    blank = c == ' ';
                }
                cells.push(line[begin..].trim());
                cells.resize(starts.len(), "");
                true
            }
            Self::Words(count) => {
                let mut rest = line.trim();
                while cells.len() + 1 < *count {
                    let Some((cell, after)) = rest.split_once(' ') else { return false };
                    cells.push(cell);
                    rest = after.trim_start();
                }
                cells.push(rest);
                !rest.is_empty()
            }
        }
    }
}

/// Returns the table that begins at line `at`, without its rows.
pub(super) fn table_at(lines: &[&str], at: usize) -> Option<FoundTable> {
    if let Some((header_at, starts, first)) = under_ruler(lines, at) {
        let cut = Cut::At(starts);
        let header = cut.cells(lines[header_at])?;
        let table = FoundTable { form: form(&header, cut), header: header_at, first };
        return has_rows(&table.form, lines, first).then_some(table);
    }
    if ruler_columns(lines[at]).is_some() {
        return None;
    }
    let first = at + 1 + usize::from(lines.get(at + 1).is_some_and(|line| is_line_of_dashes(line)));
    // Most lines are no header, which the first rows below them show.
    under_names(lines[at], block_from(lines, first, FEW_ROWS))?;
    let block = block_from(lines, first, MANY_ROWS);
    let (names, cut) = under_names(lines[at], block)?;
    // A title may be above the header.
    let below = block.first().and_then(|line| under_names(line, &block[1..]));
    if below.is_some_and(|(below, _)| below.len() > names.len()) {
        return None;
    }
    let header: Vec<&str> = names.iter().map(String::as_str).collect();
    Some(FoundTable { form: form(&header, cut), header: at, first })
}

fn form(header: &[&str], cut: Cut) -> TableForm {
    let named = header.iter().map(|name| if name.chars().any(char::is_alphanumeric) { *name } else { "" });
    TableForm::new(column_names(named), header, RowCut::Aligned(cut))
}

/// Returns whether a table has rows among its first lines.
fn has_rows(form: &TableForm, lines: &[&str], first: usize) -> bool {
    let mut cells = Vec::new();
    for at in first..lines.len().min(first + MANY_ROWS) {
        match line_in_table(form, lines, at, at == first, &mut cells) {
            LineInTable::Row => return true,
            LineInTable::NoRow => {}
            LineInTable::Last | LineInTable::After => return false,
        }
    }
    false
}

/// Returns what line `at` is to the table above it, which ends at a blank line, a ruler or a line of dashes, below which
/// there are totals.
pub(super) fn line_in_table<'l>(
    form: &TableForm,
    lines: &[&'l str],
    at: usize,
    is_first: bool,
    cells: &mut Vec<&'l str>,
) -> LineInTable {
    if ends_table(lines[at]) {
        return LineInTable::After;
    }
    // A table with another header may follow at once.
    let above_ruler = lines.get(at + 1).is_some_and(|line| is_ruler(line));
    if !is_first && above_ruler && under_ruler(lines, at).is_some() {
        return LineInTable::After;
    }
    match form.fits(lines[at], cells) && !form.is_header(cells) {
        true => LineInTable::Row,
        false => LineInTable::NoRow,
    }
}

/// Returns the header above a ruler at or after line `at`, where the columns begin, and the line after the ruler.
fn under_ruler(lines: &[&str], at: usize) -> Option<(usize, Vec<usize>, usize)> {
    let is_text = |at: usize| lines.get(at).is_some_and(|line| !line.trim().is_empty() && !is_ruler(line));
    let starts_at = |at: usize| lines.get(at).and_then(|line| ruler_columns(line));
    if is_text(at) {
        return Some((at, starts_at(at + 1)?, at + 2)).filter(|_| is_text(at + 2));
    }
    // A ruler may be above the header, too.
    (is_text(at + 1) && starts_at(at).is_some()).then(|| Some((at + 1, starts_at(at + 2)?, at + 3)))?
}

/// Returns whether a line is one run of dashes, under a header or above totals.
fn is_line_of_dashes(line: &str) -> bool {
    let line = line.trim();
    line.len() >= 3 && line.chars().all(|c| matches!(c, '-' | '=' | '_' | '─' | '═'))
}

/// Returns up to `max_lines` lines from line `first` on, up to a blank one or one of dashes.
fn block_from<'b, 't>(lines: &'b [&'t str], first: usize, max_lines: usize) -> &'b [&'t str] {
    let after = lines.get(first..).unwrap_or_default();
    let after = &after[..after.len().min(max_lines)];
    let ends = |line: &&str| line.trim().is_empty() || is_line_of_dashes(line);
    &after[..after.iter().position(ends).unwrap_or(after.len())]
}

/// Returns whether a line says nothing itself: it is blank, a ruler or dashes.
pub(super) fn ends_table(line: &str) -> bool {
    line.trim().is_empty() || is_ruler(line) || is_line_of_dashes(line)
}

/// A word of a header and its place, in characters.
#[derive(Clone, Copy)]
struct Word<'l> {
    start: usize,
    end: usize,
    text: &'l str,
}

fn words(line: &str) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    for (position, (at, c)) in line.char_indices().chain([(line.len(), ' ')]).enumerate() {
        match (c.is_whitespace(), open) {
            (false, None) => open = Some((position, at)),
            (true, Some((start, from))) => {
                words.push(Word { start, end: position, text: &line[from..at] });
                open = None;
            }
            _ => {}
        }
    }
    words
}

/// Returns the names of the columns under a header and how to find the cells; `None` if the lines are not such a table.
fn under_names(header: &str, rows: &[&str]) -> Option<(Vec<String>, Cut)> {
    let names = words(header);
    if !(2..=MAX_COLUMNS).contains(&names.len()) || rows.len() < 2 || !can_be_names(header, &names) {
        return None;
    }
    let (starts, columns) = positions(&names, rows);
    let by_position = Cut::At(starts);
    let by_words = Cut::Words(names.len());
    let wider = columns.len() < names.len() && !header.chars().any(char::is_lowercase);
    let (columns, cut) = if wider && words_stand_under(&names, rows) {
        (names.iter().map(|name| name.text.to_owned()).collect(), by_words)
    } else {
        (columns, by_position)
    };
    is_table(header, &columns, &cut, rows).then_some((columns, cut))
}

/// Returns whether words can be the names of columns rather than a sentence, a row or code.
fn can_be_names(header: &str, names: &[Word<'_>]) -> bool {
    let odd = |name: &Word<'_>| {
        name.text.len() > 40
            || name.text.contains([';', '{', '}', '=', '"', '\'', '`', '<', '>', '|', '\\'])
            || name.text.ends_with([',', '.', '!', '?', ':'])
            || name.text.matches('(').count() != name.text.matches(')').count()
            || name.text.starts_with(['-', '/', '$', '['])
            || Number::parse(name.text.as_bytes()).is_some()
    };
    !header.contains('\t')
        && !names.iter().any(odd)
        && names.iter().any(|name| name.text.chars().any(char::is_alphabetic))
}

/// Finds the columns by position: where they begin, and their names.
fn positions(names: &[Word<'_>], rows: &[&str]) -> (Vec<usize>, Vec<String>) {
    let width = rows.iter().map(|row| row.chars().count()).max().unwrap_or(0);
    let mut taken = vec![0usize; width + 1];
    for row in rows {
        for (position, c) in row.chars().enumerate() {
            taken[position] += usize::from(c != ' ');
        }
    }
    let tolerated = rows.len() * 3 / 100;
    let taken_at = |position: usize| taken.get(position).copied().unwrap_or(0);
    let gap = |from: usize, to: usize| {
        let least = (from..to).map(taken_at).min().filter(|least| *least <= tolerated)?;
        (from..to).rev().find(|position| taken_at(*position) == least)
    };
    let mut starts = vec![0];
    let mut columns: Vec<String> = Vec::new();
    // Rows may begin with a column that has no name.
    if let Some(position) =
        gap(0, names[0].start).filter(|position| (0..*position).any(|at| taken_at(at) > 0))
    {
        columns.push(String::new());
        starts.push(position + 1);
    }
    columns.push(names[0].text.to_owned());
    for pair in names.windows(2) {
        let single = pair[1].start - pair[0].end == 1;
        let is_filled = |from: usize| {
            let end = names.iter().find(|name| name.start > pair[1].start).map_or(width, |name| name.start);
            (from..end).any(|at| taken_at(at) > tolerated)
        };
        match gap(pair[0].end, pair[1].start) {
            // A place that is blank only because no value is as long as the name.
            Some(position) if !single || is_filled(position) => {
                starts.push(position + 1);
                columns.push(pair[1].text.to_owned());
            }
            _ => {
                if let Some(name) = columns.last_mut() {
                    name.push(' ');
                    name.push_str(pair[1].text);
                }
            }
        }
    }
    (starts, columns)
}

/// Returns whether the words of nearly all rows are under the names.
fn words_stand_under(names: &[Word<'_>], rows: &[&str]) -> bool {
    let stand =
        |row: &&&str| {
            let cells = words(row);
            cells.len() >= names.len()
                && names.iter().zip(&cells).take(names.len() - 1).all(|(name, cell)| {
                    cell.start < name.end + MAX_DRIFT && cell.end + MAX_DRIFT > name.start
                })
        };
    names.len() >= 3 && rows.iter().filter(stand).count() * 20 >= rows.len() * 19
}

/// Returns whether rows under a header are a table rather than lines that happen to have a blank place in common.
fn is_table(header: &str, names: &[String], cut: &Cut, rows: &[&str]) -> bool {
    let is_repeated = |(at, name): &(usize, &String)| !name.is_empty() && names[..*at].contains(*name);
    // Of many columns two may have the same name.
    let distinct = names.iter().enumerate().filter(is_repeated).count() <= names.len() / 5;
    let fitting: Vec<Vec<&str>> = rows.iter().filter_map(|row| cut.cells(row)).collect();
    if names.len() < 2 || !distinct || fitting.len() < 2 || fitting.len() * 10 < rows.len() * 9 {
        return false;
    }
    if rows.iter().take(2).any(|row| cut.cells(row).is_none()) {
        return false;
    }
    let filled: usize = fitting.iter().map(|row| row.iter().filter(|cell| !cell.is_empty()).count()).sum();
    // A row is not a header: its words would be in other rows, too.
    let repeats = |(at, name): &(usize, &String)| fitting.iter().any(|row| row[*at] == name.as_str());
    let repeated = names.iter().enumerate().filter(repeats).count();
    if filled * 10 < fitting.len() * names.len() * 6 || repeated > usize::from(names.len() > 3) {
        return false;
    }
    let capitals = !header.chars().any(char::is_lowercase);
    let has_digit = |text: &str| text.bytes().any(|byte| byte.is_ascii_digit());
    let counts = |at: usize| {
        let cells = fitting.iter().map(|row| row[at]).filter(|cell| !cell.is_empty());
        let (digits, all) =
            cells.fold((0, 0), |(digits, all), cell| (digits + usize::from(has_digit(cell)), all + 1));
        !has_digit(&names[at]) && all > 0 && digits * 10 >= all * 9
    };
    // A header in capitals needs little else; any other one needs wide gaps or many names, and a column of numbers.
    let wide = header.trim().contains("  ") || names.len() > 3;
    capitals && (names.len() > 2 || wide) || fitting.len() >= 3 && wide && (0..names.len()).any(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(text: &str) -> Option<(Vec<String>, Vec<Vec<String>>)> {
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        let found = (0..lines.len()).find_map(|at| table_at(&lines, at));
        let (names, rows, _) = found?.rows(&lines)?;
        Some((names, rows))
    }

    #[test]
    fn processes_whose_values_are_wider_than_their_names() {
        let (names, rows) = table(
            "USER       PID %CPU    VSZ   RSS COMMAND\nroot         1  0.0  22116 13056 /sbin/init splash\nroot        33  0.0 9922116 1113056 [kthreadd]\npostgres 44721 12.5 118 7 postgres: walwriter\n",
        )
        .unwrap();
        assert_eq!(names, ["USER", "PID", "%CPU", "VSZ", "RSS", "COMMAND"]);
        assert_eq!(rows[2], ["postgres", "44721", "12.5", "118", "7", "postgres: walwriter"]);
    }

    #[test]
    fn disks_with_numbers_to_the_right_and_a_name_of_two_words() {
        let (names, rows) = table(
            "Filesystem     1K-blocks     Used Available Use% Mounted on\n/dev/sda1       61252420 18000000  40100000  31% /\ntmpfs            8112344        0   8112344   0% /dev/shm\nC:\\            500000000 99999999 400000001  20% /mnt/c\n",
        )
        .unwrap();
        assert_eq!(names, ["Filesystem", "1K-blocks", "Used", "Available", "Use%", "Mounted on"]);
        assert_eq!(rows[1], ["tmpfs", "8112344", "0", "8112344", "0%", "/dev/shm"]);
    }

    #[test]
    fn containers_with_spaces_in_cells_and_empty_cells() {
        let (names, rows) = table(
            "CONTAINER ID   IMAGE          COMMAND       CREATED       STATUS       PORTS      NAMES\n4c01db0b339c   ubuntu:22.04   \"bash\"        3 days ago    Up 3 days               happy_bell\n9a2f6dd1d4aa   redis:7        \"redis-s…\"    2 hours ago   Up 2 hours   6379/tcp   cache\n",
        )
        .unwrap();
        assert_eq!(names, ["CONTAINER ID", "IMAGE", "COMMAND", "CREATED", "STATUS", "PORTS", "NAMES"]);
        assert_eq!(
            rows[0],
            ["4c01db0b339c", "ubuntu:22.04", "\"bash\"", "3 days ago", "Up 3 days", "", "happy_bell"]
        );
    }

    #[test]
    fn a_ruler_line_sets_the_columns() {
        let (names, rows) = table(
            "Desired=Unknown/Install\n| Status=Not/Inst\n||/ Name      Version      Architecture Description\n+++-=========-============-============-=====================\nii  adduser   3.134        all          add and remove users\nrc  apt       2.6.1        amd64        commandline package manager\n",
        )
        .unwrap();
        assert_eq!(names, ["c1", "Name", "Version", "Architecture", "Description"]);
        assert_eq!(rows[1], ["rc", "apt", "2.6.1", "amd64", "commandline package manager"]);
        let (names, rows) =
            table("Package    Version\n---------- -------\nalembic    1.13.1\nattrs      23.2.0\n").unwrap();
        assert_eq!((names.join(","), rows[0].join(",")), ("Package,Version".into(), "alembic,1.13.1".into()));
        let (names, rows) =
            table("=====  =====\nA      B\n=====  =====\nFalse  x y\nTrue   z\n=====  =====\n").unwrap();
        assert_eq!((names.join(","), rows.len()), ("A,B".into(), 2));
    }

    #[test]
    fn totals_are_not_a_row() {
        let (names, rows) = table(
            "Name      Stmts   Miss  Cover   Missing\n---------------------------------------\nlib/a.py    114     69    39%   254-322, 341\nlib/b.py     30      0   100%\nlib/c.py      8      2    75%   35-38\n---------------------------------------\nTOTAL       152     71    53%\n",
        )
        .unwrap();
        assert_eq!(names, ["Name", "Stmts", "Miss", "Cover", "Missing"]);
        assert_eq!((rows.len(), rows[0][4].as_str(), rows[1][4].as_str()), (3, "254-322, 341", ""));
    }

    #[test]
    fn a_title_and_a_column_without_a_name() {
        let (names, rows) = table(
            "Active connections (servers and established)\nProto Recv-Q Send-Q Local Address   Foreign Address  State\ntcp        0      0 0.0.0.0:22      0.0.0.0:*        LISTEN\ntcp        0     36 10.0.0.4:22     10.0.0.9:51514   ESTABLISHED\nudp        0      0 127.0.0.1:323   0.0.0.0:*\n",
        )
        .unwrap();
        assert_eq!(names, ["Proto", "Recv-Q", "Send-Q", "Local Address", "Foreign Address", "State"]);
        assert_eq!(rows[2][5], "");
        let (names, rows) =
            table("    name  age   city\n0    Tom   20  Paris\n1  Alice   31   Rome\n2    Bob    7   Oslo\n")
                .unwrap();
        assert_eq!(
            (names.join(","), rows[1].join(",")),
            ("c1,name,age,city".into(), "1,Alice,31,Rome".into())
        );
    }

    #[test]
    fn other_texts_are_not_tables() {
        for text in [
            "Call me Ishmael. Some years ago I thought\nI would sail about a little and see the\nwatery part of the world. It is a way\nI have of driving off the spleen.\n",
            "total 12\ndrwxr-xr-x 2 root root 4096 Jan  1 00:00 a\n-rw-r--r-- 1 root root   12 Jan  1 00:00 b\n-rw-r--r-- 1 root root   12 Jan  1 00:00 c\n",
            "int    a = 1;   // first\nfloat  b = 2;   // second\nlong   c = 3;   // third\nchar   d = 4;   // fourth\n",
            "proc on /proc type proc (rw)\nsysfs on /sys type sysfs (rw)\nudev on /dev type devtmpfs (rw)\nrun on /run type tmpfs (rw)\n",
            "The first item  costs 12\nThe second item costs 13\nThe third item  costs 14\nThe fourth item costs 15\n",
            "Traceback (most recent call last):\n  File \"a.py\", line 1, in f\n  File \"b.py\", line 2, in g\n  File \"c.py\", line 3, in h\n  File \"d.py\", line 4, in i\nValueError: no such thing\n",
            "Title\n-----\nSome text\nof two lines\n",
            "- one 1\n- two 2\n- three 3\n- four 4\n",
            "alpha 1\nbeta 2\ngamma 3\ndelta 4\nepsilon 5\n",
            "fn main() {\n    let x  = 1;\n    let yy = 2;\n    let z  = 3;\n}\n",
        ] {
            assert!(table(text).is_none(), "{:?}\n{text}", table(text));
        }
    }
}
