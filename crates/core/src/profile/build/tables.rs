//! Lists that turned out to be tables once all data has been read.
//!
//! Their rows then look like objects: each column has a node under its name, so that statistics, fields and queries need
//! not know how the table was written.

use super::super::lists::{HeldRow, ListColumn, RowForm, column_names, is_name};
use super::super::node::{Child, NodeId, PathNode, PathStep};
use super::super::value_counts::ValueCount;
use super::ProfileBuilder;

/// The maximum number of columns of a table of nothing but numbers whose columns have no names; wider lists are vectors.
const MAX_UNNAMED_NUMBERS: usize = 32;
/// The longest lists whose elements keep their positions where the lists are in more than one list.
const MAX_TUPLE_POSITIONS: usize = 16;
/// The minimum number of elements of lists that together are a table.
const MIN_COLUMN_LENGTH: u64 = 4;
/// The same for two lists of texts, which are more often sets that happen to be equally long.
const MIN_TEXT_PAIR_LENGTH: u64 = 8;

impl ProfileBuilder {
    /// Gives lists that are tables their columns.
    pub(super) fn find_tables(&mut self) {
        for index in 0..self.nodes.len() {
            let id = NodeId(index as u32);
            let node = &self.nodes[index];
            if node.gone {
                continue;
            }
            match node.items.filter(|row| self.nodes[row.0 as usize].parent == Some(id)) {
                Some(row) if self.nodes[row.0 as usize].by_position => self.name_columns(id, row),
                _ => self.feed_held(id),
            }
        }
        for index in 0..self.nodes.len() {
            self.join_columns(NodeId(index as u32));
        }
    }

    /// Names the columns of the lists inside a list if they are rows of a table.
    fn name_columns(&mut self, container: NodeId, row: NodeId) {
        let held = self.nodes[container.0 as usize].held.as_deref();
        let first = held.and_then(HeldRow::names);
        let node = &self.nodes[container.0 as usize];
        let is_alone = node.types.containers() == 1 && node.index.is_some();
        let width = self.nodes[row.0 as usize].columns.len();
        let beside = first.as_ref().map_or(width, |first| first.len().max(width));
        let beside = self.names_beside(container, beside).filter(|_| is_alone);
        let header = first.filter(|first| match &beside {
            Some((_, beside)) => first == beside,
            None => is_alone && self.is_header(first, row),
        });
        if header.is_none() {
            self.feed_held(container);
        }
        let given = header.as_ref().or(beside.as_ref().map(|(_, names)| names));
        if !self.nodes[row.0 as usize].by_position {
            return;
        }
        if !is_alone {
            return self.keep_positions(row);
        }
        if !self.is_table(row, given.is_some()) {
            self.pool(row);
            return;
        }
        let width = self.nodes[row.0 as usize].columns.len();
        let names = column_names(given.map_or(&[], Vec::as_slice), width);
        let cells = std::mem::take(&mut self.node(row).columns);
        let node = |id: &NodeId| &self.nodes[id.0 as usize];
        let untyped = cells.iter().all(|cell| node(cell).types.numbers + node(cell).types.bools() == 0)
            && cells.iter().any(|cell| node(cell).numeric_strings > 0);
        for (cell, name) in cells.into_iter().zip(&names) {
            self.add_column(row, cell, name);
        }
        let node = self.node(row);
        node.by_position = false;
        node.types.objects += std::mem::take(&mut node.types.arrays);
        let header_rows = u64::from(header.is_some());
        let naming = beside.map(|(list, _)| list);
        let columns = self.columns_beside(container, row, naming, &names, header_rows);
        let node = self.node(container);
        node.held = None;
        node.rows = Some(Box::new(RowForm { names, header_rows, columns, untyped }));
    }

    /// Adds the lists beside a table that have one element for each of its records, such as the labels of the rows.
    fn columns_beside(
        &mut self,
        container: NodeId,
        row: NodeId,
        naming: Option<NodeId>,
        names: &[String],
        header_rows: u64,
    ) -> Vec<ListColumn> {
        let node = &self.nodes[container.0 as usize];
        let count = node.index.as_ref().map_or(0, |index| index.count).saturating_sub(header_rows);
        let Some(parent) = node.parent.filter(|_| matches!(node.step, PathStep::Key(_))) else {
            return Vec::new();
        };
        let siblings = self.nodes[parent.0 as usize].children.clone();
        let mut columns = Vec::new();
        for child in siblings.iter().filter(|child| naming != Some(child.node)) {
            let name = String::from_utf8_lossy(&child.key).into_owned();
            let is_column = self.list_length(parent, child) == Some(count) && count >= MIN_COLUMN_LENGTH;
            if is_column && !names.contains(&name) && !self.is_numbering(child.node) {
                columns.push(self.take_column(row, child.node, name));
            }
        }
        columns
    }

    /// Returns whether the elements of a list are only their positions.
    fn is_numbering(&self, list: NodeId) -> bool {
        let node = &self.nodes[list.0 as usize];
        let count = node.index.as_ref().map_or(0, |index| index.count);
        let numbers = node.elements().and_then(|items| self.nodes[items.0 as usize].numbers.as_deref());
        numbers.is_some_and(|numbers| {
            numbers.is_rising()
                && numbers.integers == count
                && numbers.max.value - numbers.min.value + 1.0 == count as f64
                && numbers.min.value <= 1.0
        })
    }

    /// Makes a list a column of a record.
    fn take_column(&mut self, record: NodeId, list: NodeId, name: String) -> ListColumn {
        let node = &self.nodes[list.0 as usize];
        let keyed = node.types.objects > 0;
        let (start, end) = (node.first_at, node.first_at + node.bytes);
        let index = node.index.as_deref().cloned().unwrap_or_default();
        if let Some(elements) = node.elements() {
            self.add_column(record, elements, &name);
        }
        ListColumn { name, keyed, index, start, end }
    }

    fn add_column(&mut self, record: NodeId, column: NodeId, name: &str) {
        let node = self.node(column);
        (node.parent, node.step) = (Some(record), PathStep::Key(name.into()));
        self.node(record).children.push(Child::new(name.as_bytes(), column));
    }

    /// Keeps the positions of lists that are in several lists, if they are short and alike.
    fn keep_positions(&mut self, row: NodeId) {
        let node = &self.nodes[row.0 as usize];
        let lengths = node.members.as_ref().map_or((0, 0), |members| (members.min, members.max));
        let is_tuple = lengths.0 == lengths.1 && (2..=MAX_TUPLE_POSITIONS).contains(&node.columns.len());
        if !is_tuple || node.types.arrays < node.seen() {
            self.pool(row);
        }
    }

    /// Returns whether lists inside a list are rows: as many elements in each, or at most fewer at the end where names say
    /// how many there can be.
    fn is_table(&self, row: NodeId, named: bool) -> bool {
        let node = &self.nodes[row.0 as usize];
        let width = node.columns.len() as u64;
        let (Some(members), true) = (&node.members, width > 0) else { return false };
        let others = node.seen() - node.types.arrays - node.types.nulls;
        if others * 10 > node.types.arrays {
            return false;
        }
        if named {
            return true;
        }
        let kinds: Vec<ValueKind> =
            node.columns.iter().map(|column| ValueKind::of(&self.nodes[column.0 as usize])).collect();
        let alike = kinds.iter().all(|kind| *kind == kinds[0]);
        if members.min == members.max {
            let vector = alike && kinds[0] == ValueKind::Number && kinds.len() > MAX_UNNAMED_NUMBERS;
            return members.count > 1 && !vector;
        }
        !alike && members.count > 2 && members.total * 4 >= members.count * width * 3
    }

    /// Returns whether a list of texts names the columns of the lists after it, rather than being the first of them.
    fn is_header(&self, names: &[String], row: NodeId) -> bool {
        let node = &self.nodes[row.0 as usize];
        let columns: Vec<&PathNode> =
            node.columns.iter().map(|column| &self.nodes[column.0 as usize]).collect();
        if node.types.arrays == 0 || names.len() * 2 < columns.len() {
            return false;
        }
        let named = || names.iter().zip(&columns).filter(|(name, _)| !name.is_empty());
        // A text that could be a value as well is a name only above values of another type.
        if named().any(|(name, column)| !is_name(name) && column.types.strings > 0) {
            return false;
        }
        // A word above numbers, times or flags is a name.
        if named().any(|(_, column)| !matches!(ValueKind::of(column), ValueKind::Text | ValueKind::None)) {
            return true;
        }
        let recurs = |(name, column): (&String, &&PathNode)| {
            column.counts.entries().iter().any(|entry| *entry.raw == *name.as_bytes())
        };
        // Among texts, names are unlike the values: those repeat, are longer or have digits.
        let differs = |(name, column): (&String, &&PathNode)| {
            let (distinct, _) = column.counts.distinct();
            let values = column.counts.total();
            let mean = column.lengths.as_ref().map_or(0, |lengths| lengths.total / lengths.count.max(1));
            let has_digit = |text: &[u8]| text.iter().any(u8::is_ascii_digit);
            let digits = column.counts.entries().iter().filter(|entry| has_digit(&entry.raw)).count();
            distinct * 2 <= values
                || mean as usize > 2 * name.chars().count() + 4
                || digits * 2 > column.counts.entries().len() && !has_digit(name.as_bytes())
        };
        node.types.arrays > 1 && !named().any(recurs) && named().any(differs)
    }

    /// Returns the names that a list beside a table gives to `width` columns: a list of as many texts, or of as many
    /// objects with a text that names each. The nearest such list is taken.
    fn names_beside(&self, container: NodeId, width: usize) -> Option<(NodeId, Vec<String>)> {
        if width < 2 {
            return None;
        }
        let mut best: Option<(usize, NodeId, Vec<String>)> = None;
        for (index, node) in self.nodes.iter().enumerate() {
            let id = NodeId(index as u32);
            let length = node.index.as_ref().map_or(0, |index| index.count);
            if node.gone || node.types.arrays != 1 || length != width as u64 || id == container {
                continue;
            }
            let Some(distance) = self.distance(container, id) else { continue };
            if best.as_ref().is_some_and(|(known, ..)| *known <= distance) {
                continue;
            }
            // A few texts far away are something else.
            let near = distance <= 3 || width > 3;
            if let Some(names) = self.names_in(node, width).filter(|_| near) {
                best = Some((distance, id, names));
            }
        }
        best.map(|(_, list, names)| (list, names))
    }

    /// Returns how many steps lead from one container up and down again to another; `None` if one is inside the other.
    fn distance(&self, from: NodeId, to: NodeId) -> Option<usize> {
        let ancestors = |mut at: NodeId| {
            let mut path = vec![at];
            while let Some(parent) = self.nodes[at.0 as usize].parent {
                at = parent;
                path.push(at);
            }
            path
        };
        let (up, down) = (ancestors(from), ancestors(to));
        let (above, below) = up
            .iter()
            .enumerate()
            .find_map(|(steps, id)| Some((steps, down.iter().position(|other| other == id)?)))?;
        (above > 0 && below > 0).then_some(above + below)
    }

    /// Returns the names in a list of texts, or of objects with a text that names each.
    fn names_in(&self, list: &PathNode, width: usize) -> Option<Vec<String>> {
        let item = &self.nodes[list.items?.0 as usize];
        if item.types.containers() == 0 {
            return names_of(item, width);
        }
        let mut members: Vec<(usize, Vec<String>)> = Vec::new();
        for child in item.children.iter().filter(|_| item.types.objects == width as u64) {
            let key = String::from_utf8_lossy(&child.key).to_lowercase();
            let rank = NAMING_WORDS.iter().position(|word| key.contains(word)).unwrap_or(NAMING_WORDS.len());
            members.extend(names_of(&self.nodes[child.node.0 as usize], width).map(|names| (rank, names)));
        }
        members.sort_by_key(|(rank, _)| *rank);
        members.into_iter().next().map(|(_, names)| names)
    }

    /// Returns the length of the lists of an object whose members are equally long lists, and so the columns of a table.
    pub(super) fn column_length(&self, object: NodeId) -> Option<u64> {
        let node = &self.nodes[object.0 as usize];
        if node.gone || node.types.objects != 1 || node.types.arrays > 0 || node.children.len() < 2 {
            return None;
        }
        let mut lengths = node.children.iter().filter_map(|child| self.list_length(object, child));
        let length = lengths.next()?;
        let (mut columns, mut texts) = (0, 0);
        for child in &node.children {
            match self.list_length(object, child) {
                Some(other) if other == length => {
                    columns += 1;
                    let items = self.nodes[child.node.0 as usize].elements();
                    texts += usize::from(items.is_some_and(|items| {
                        ValueKind::of(&self.nodes[items.0 as usize]) == ValueKind::Text
                    }));
                }
                Some(_) => return None,
                None if self.nodes[child.node.0 as usize].types.arrays > 0 => return None,
                None => {}
            }
        }
        let least = if (columns, texts) == (2, 2) { MIN_TEXT_PAIR_LENGTH } else { MIN_COLUMN_LENGTH };
        (columns >= 2 && columns * 2 >= node.children.len() && length >= least).then_some(length)
    }

    /// Returns the length of a member that is a list of scalars, or an object that numbers them.
    fn list_length(&self, object: NodeId, child: &Child) -> Option<u64> {
        let node = &self.nodes[child.node.0 as usize];
        let items = node.elements().map(|items| &self.nodes[items.0 as usize])?;
        let is_list = node.parent == Some(object)
            && (node.types.arrays == 1 || node.types.objects == 1 && node.numbered)
            && node.seen() == 1
            && items.parent == Some(child.node)
            && items.types.containers() == 0
            && items.types.scalars() > 0;
        node.index.as_ref().filter(|_| is_list).map(|index| index.count)
    }

    /// Makes the equally long lists of an object the columns of one table.
    fn join_columns(&mut self, object: NodeId) {
        let Some(length) = self.column_length(object) else { return };
        let mut members: Vec<Child> = self.nodes[object.0 as usize].children.clone();
        members.retain(|child| self.list_length(object, child).is_some());
        let table = self.push(Some(object), PathStep::Rows);
        let record = self.push(Some(table), PathStep::Items);
        let mut form = RowForm::default();
        for child in members {
            let name = String::from_utf8_lossy(&child.key).into_owned();
            let column = self.take_column(record, child.node, name);
            let (start, bytes) = (column.start, column.end - column.start);
            form.columns.push(column);
            for id in [table, record] {
                self.node(id).note(start, bytes);
            }
        }
        self.node(record).types.objects = length;
        let node = self.node(table);
        node.types.arrays = 1;
        node.items = Some(record);
        node.members.get_or_insert_default().add(length, node.first_at);
        node.index = form.columns.first().map(|column| Box::new(column.index.clone()));
        node.rows = Some(Box::new(form));
        self.node(object).items = Some(table);
    }
}

/// Words in the keys of texts that name a column, best first.
const NAMING_WORDS: &[&str] = &["name", "label", "title", "header", "caption", "key", "field", "id"];

/// Returns the distinct texts at a path, if there are `width` of them and each can be a name.
fn names_of(node: &PathNode, width: usize) -> Option<Vec<String>> {
    let entries = node.counts.entries();
    let texts = node.types.strings == width as u64 && node.seen() == node.types.strings;
    if !texts || entries.len() != width || entries.iter().any(|entry| entry.is_cut) {
        return None;
    }
    let names: Vec<String> = entries.iter().map(ValueCount::text).collect();
    names.iter().any(|name| is_name(name)).then_some(names)
}

/// What most values of a node are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    None,
    Text,
    Number,
    Time,
    Bool,
    Container,
}

impl ValueKind {
    fn of(node: &PathNode) -> Self {
        let types = &node.types;
        let times = node.times.as_ref().map_or(0, |times| times.count);
        let texts = types.strings - node.numeric_strings.min(types.strings);
        let counts = [
            (Self::Number, types.numbers + node.numeric_strings),
            (Self::Text, texts - times.min(texts)),
            (Self::Time, times.min(texts)),
            (Self::Bool, types.bools()),
            (Self::Container, types.containers()),
        ];
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        most.filter(|(_, count)| *count > 0).map_or(Self::None, |(kind, _)| kind)
    }
}
