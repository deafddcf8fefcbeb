//! Builds a profile from the events of one pass over the data.
//!
//! Every notation drives the same methods: [`open`](ProfileBuilder::open), [`key`](ProfileBuilder::key), one per
//! scalar, [`close`](ProfileBuilder::close). Every value of the data passes through here, so this is the hot path of
//! an overview.

mod maps;
mod row_lists;
mod tables;

use super::lists::{HeldCell, HeldRow};
use super::node::{Child, NodeId, PathNode, PathStep, SparseIndex};
use super::number::Number;
use super::stats::MAX_TUPLE_LENGTH;
use super::{DataProfile, MAX_DISTINCT_VALUES, MAX_NODES};
use crate::hash;
use crate::json::{Event, ScanError, Scanner, StringToken, string};

/// Paths up to this depth may use twice [`MAX_NODES`], so that paths near the top always have nodes of their own.
const SHALLOW_DEPTH: usize = 3;
/// The depth from which members share one node per name.
const MAX_PATH_DEPTH: usize = 48;

/// An open container.
struct OpenContainer {
    node: NodeId,
    start: u64,
    count: u64,
    /// The child that is likely to come next: records repeat the order of their keys.
    cursor: usize,
    /// The number of this object, to notice a duplicate key.
    instance: u64,
    depth: usize,
    object: bool,
}

/// Builds a [`DataProfile`] from events.
pub(crate) struct ProfileBuilder {
    nodes: Vec<PathNode>,
    stack: Vec<OpenContainer>,
    /// The node of the next value.
    target: NodeId,
    /// How many more distinct values all fields together may hold.
    capacity: usize,
    instances: u64,
    depth: usize,
    deepest_at: u64,
    recursive: bool,
    /// Nodes of [`PathStep::Anywhere`], by key.
    anywhere: Vec<(u64, NodeId)>,
    /// The node of values beyond the bounds: of members of too many names, of elements of too many lists.
    rest: Option<NodeId>,
    /// Nodes that were merged into others and can be reused.
    free: Vec<NodeId>,
    /// Holds a key or a string without its escapes.
    decoded: Vec<u8>,
    /// The first list inside a list, while it is read.
    held: Option<HeldRow>,
}

/// Returns whether a key is a number as JSON writes it.
fn is_numeral(key: &[u8], number: u64) -> bool {
    let mut digits = [0; 20];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            return digits[at..] == *key;
        }
    }
}

impl ProfileBuilder {
    /// Returns a builder of an empty profile.
    pub(crate) fn new() -> Self {
        Self {
            nodes: vec![PathNode::new(None, PathStep::Root)],
            stack: Vec::new(),
            target: NodeId(0),
            capacity: MAX_DISTINCT_VALUES,
            instances: 0,
            depth: 0,
            deepest_at: 0,
            recursive: false,
            anywhere: Vec::new(),
            rest: None,
            free: Vec::new(),
            decoded: Vec::new(),
            held: None,
        }
    }

    /// Adds the next value of a scanner.
    pub(crate) fn scan_value(&mut self, scanner: &mut Scanner<'_>) -> Result<(), ScanError> {
        self.scan(scanner, None)
    }

    /// Adds the next value of a scanner as if all its parts were at offset `at`.
    pub(crate) fn scan_value_at(&mut self, scanner: &mut Scanner<'_>, at: u64) -> Result<(), ScanError> {
        self.scan(scanner, Some(at))
    }

    #[inline]
    fn scan(&mut self, scanner: &mut Scanner<'_>, fixed: Option<u64>) -> Result<(), ScanError> {
        let outside = scanner.depth();
        loop {
            if scanner.expects_key()
                && let Some(key) = self.expected_key()
                && let Some(at) = scanner.take_key(key)
            {
                self.repeated_key(fixed.unwrap_or(at));
                continue;
            }
            let (at, event) = scanner.next_at()?;
            let at = fixed.unwrap_or(at);
            match event {
                Event::StartObject => self.open(true, at),
                Event::StartArray => self.open(false, at),
                Event::EndObject | Event::EndArray => self.close(at + 1),
                Event::Key(key) => self.key(&key, at),
                Event::String(token) => self.string(&token, at),
                Event::Number(raw) => self.number(raw, at),
                Event::Bool(value) => self.bool(value, at),
                Event::Null => self.null(at),
                Event::End => return Ok(()),
            }
            if scanner.depth() == outside {
                return Ok(());
            }
        }
    }

    #[inline]
    fn node(&mut self, id: NodeId) -> &mut PathNode {
        &mut self.nodes[id.0 as usize]
    }

    /// Opens an object or an array.
    pub(crate) fn open(&mut self, object: bool, at: u64) {
        self.begin_cell_container();
        let id = self.begin_value(at);
        if !object && self.begins_row(id) {
            self.held = Some(HeldRow::new(id, at));
            return;
        }
        self.enter(id, object, at);
    }

    fn enter(&mut self, id: NodeId, object: bool, at: u64) {
        self.instances += 1;
        let instance = self.instances;
        let depth = self.stack.last().map_or(0, |frame| frame.depth) + 1;
        self.depth = self.depth.max(depth);
        let node = self.node(id);
        node.note(at, 0);
        if object {
            node.types.objects += 1;
        } else {
            node.types.arrays += 1;
        }
        // Only the sole container at its path is indexed: rows are looked up nowhere else.
        node.index = (node.types.containers() == 1).then(Box::<SparseIndex>::default);
        let by_position = node.by_position;
        self.stack.push(OpenContainer { node: id, start: at, count: 0, cursor: 0, instance, depth, object });
        if !object && !by_position {
            self.target = self.items_of(id);
        }
    }

    /// Closes the innermost container; `end` is the offset after its bracket.
    pub(crate) fn close(&mut self, end: u64) {
        if self.held.is_some() {
            return self.close_held(end);
        }
        let Some(frame) = self.stack.pop() else { return };
        let node = self.node(frame.node);
        if !frame.object
            && frame.count as usize > MAX_TUPLE_LENGTH
            && let Some(positions) = &mut node.positions
        {
            positions.broken = true;
        }
        node.bytes += end - frame.start;
        node.members.get_or_insert_default().add(frame.count, frame.start);
        if let Some(outer) = self.stack.last()
            && !outer.object
        {
            self.target = self.nodes[outer.node.0 as usize].items.unwrap_or(outer.node);
        }
    }

    /// Adds a key; the next value belongs to it.
    #[inline]
    pub(crate) fn key(&mut self, key: &StringToken<'_>, at: u64) {
        if key.escapes {
            let decoded = self.decode(key.raw);
            self.plain_key(&decoded, at);
            self.decoded = decoded;
        } else {
            self.plain_key(key.raw, at);
        }
    }

    /// Returns a text without its escapes, in the buffer that is kept for it.
    fn decode(&mut self, raw: &[u8]) -> Vec<u8> {
        let mut decoded = std::mem::take(&mut self.decoded);
        decoded.clear();
        string::decode_into(raw, true, &mut decoded);
        decoded
    }

    #[inline]
    fn plain_key(&mut self, key: &[u8], at: u64) {
        let Some(frame) = self.stack.last_mut() else { return };
        frame.count += 1;
        let (parent, cursor, instance) = (frame.node, frame.cursor, frame.instance);
        let node = &mut self.nodes[parent.0 as usize];
        if let Some(index) = &mut node.index {
            index.push(at);
        }
        if let Some(values) = node.values {
            node.numbered = node.numbered && is_numeral(key, frame.count - 1);
            node.keys.add(key, at, &mut self.capacity);
            self.target = values;
            return;
        }
        let hit = node.children.get(cursor).is_some_and(|child| *child.key == *key);
        let slot = if hit { Some(cursor) } else { node.children.iter().position(|child| *child.key == *key) };
        match slot {
            Some(slot) => self.enter_child(parent, slot, instance, at),
            None => self.target = self.new_child(parent, key, at, instance),
        }
    }

    /// Returns the key that is likely to come next, if it is written as it is.
    #[inline]
    fn expected_key(&self) -> Option<&[u8]> {
        let frame = self.stack.last()?;
        let node = &self.nodes[frame.node.0 as usize];
        let child = node.children.get(frame.cursor)?;
        (child.is_plain && node.values.is_none()).then_some(&*child.key)
    }

    /// Adds the key that [`expected_key`](Self::expected_key) returns.
    #[inline]
    fn repeated_key(&mut self, at: u64) {
        let Some(frame) = self.stack.last_mut() else { return };
        frame.count += 1;
        let (parent, cursor, instance) = (frame.node, frame.cursor, frame.instance);
        if let Some(index) = &mut self.node(parent).index {
            index.push(at);
        }
        self.enter_child(parent, cursor, instance, at);
    }

    /// Directs the next value to a child of the innermost object.
    #[inline]
    fn enter_child(&mut self, parent: NodeId, slot: usize, instance: u64, at: u64) {
        if let Some(frame) = self.stack.last_mut() {
            frame.cursor = slot + 1;
        }
        let child = self.nodes[parent.0 as usize].children[slot].node;
        let node = self.node(child);
        if node.seen_in == instance {
            if node.duplicates == 0 {
                node.duplicate_at = at;
            }
            node.duplicates += 1;
        }
        node.seen_in = instance;
        self.target = child;
    }

    fn new_child(&mut self, parent: NodeId, key: &[u8], at: u64, instance: u64) -> NodeId {
        let numbered = key == b"1" && matches!(&*self.node(parent).children, [only] if *only.key == *b"0");
        if numbered || self.should_become_map(parent) {
            let values = self.collapse(parent);
            self.node(parent).numbered = numbered;
            let capacity = &mut self.capacity;
            self.nodes[parent.0 as usize].keys.add(key, at, capacity);
            return values;
        }
        let name: Box<str> = String::from_utf8_lossy(key).into();
        let id = self.recursion(parent, &name).unwrap_or_else(|| self.create(parent, name, hash::bytes(key)));
        self.node(id).seen_in = instance;
        let node = self.node(parent);
        node.children.push(Child::new(key, id));
        if let Some(frame) = self.stack.last_mut() {
            frame.cursor = self.nodes[parent.0 as usize].children.len();
        }
        id
    }

    /// Returns the node to share where a key occurs for the third time on one path.
    fn recursion(&mut self, parent: NodeId, name: &str) -> Option<NodeId> {
        let mut first = None;
        let mut at = Some(parent);
        while let Some(id) = at {
            let node = &self.nodes[id.0 as usize];
            if matches!(&node.step, PathStep::Key(key) if **key == *name) {
                if first.is_some() {
                    self.recursive = true;
                    return first;
                }
                first = Some(id);
            }
            at = node.parent;
        }
        None
    }

    fn create(&mut self, parent: NodeId, name: Box<str>, hash: u64) -> NodeId {
        let depth = self.stack.last().map_or(0, |frame| frame.depth);
        let max_nodes = if depth <= SHALLOW_DEPTH { 2 * MAX_NODES } else { MAX_NODES };
        if self.nodes.len() - self.free.len() < max_nodes && depth < MAX_PATH_DEPTH {
            return self.push(Some(parent), PathStep::Key(name));
        }
        match self.anywhere.iter().find(|(known, _)| *known == hash) {
            Some(&(_, id)) => id,
            None if self.anywhere.len() < MAX_NODES / 4 => {
                let id = self.push(None, PathStep::Anywhere(name));
                self.anywhere.push((hash, id));
                id
            }
            None => self.rest(),
        }
    }

    /// Returns the node of values that can have none of their own, so that they are counted at no other path.
    fn rest(&mut self) -> NodeId {
        match self.rest {
            Some(id) => id,
            None => {
                let id = self.push(None, PathStep::Values);
                *self.rest.insert(id)
            }
        }
    }

    fn push(&mut self, parent: Option<NodeId>, step: PathStep) -> NodeId {
        if let Some(id) = self.free.pop() {
            self.nodes[id.0 as usize] = PathNode::new(parent, step);
            return id;
        }
        self.nodes.push(PathNode::new(parent, step));
        NodeId(self.nodes.len() as u32 - 1)
    }

    fn items_of(&mut self, array: NodeId) -> NodeId {
        if let Some(items) = self.nodes[array.0 as usize].items {
            return items;
        }
        let deep = self.stack.last().is_some_and(|frame| frame.depth >= MAX_PATH_DEPTH);
        let items = if self.nodes.len() - self.free.len() < 3 * MAX_NODES && !deep {
            self.push(Some(array), PathStep::Items)
        } else {
            self.rest()
        };
        self.node(array).items = Some(items);
        items
    }

    /// Counts an element and returns the node that a value goes to.
    #[inline]
    fn begin_value(&mut self, at: u64) -> NodeId {
        if let Some(frame) = self.stack.last_mut()
            && !frame.object
        {
            let (row, position) = (frame.node, frame.count as usize);
            frame.count += 1;
            let node = &mut self.nodes[row.0 as usize];
            if let Some(index) = &mut node.index {
                index.push(at);
            }
            if node.by_position {
                return node.columns.get(position).copied().unwrap_or_else(|| self.new_column(row, position));
            }
        }
        self.target
    }

    #[inline]
    fn note_depth(&mut self, at: u64) {
        let depth = self.stack.last().map_or(0, |frame| frame.depth);
        if depth >= self.depth {
            self.deepest_at = at;
        }
    }

    /// Adds a string.
    #[inline]
    pub(crate) fn string(&mut self, token: &StringToken<'_>, at: u64) {
        if self.held.is_some() {
            return self.hold(HeldCell::string(token), at);
        }
        let id = self.begin_value(at);
        self.note_depth(at);
        let node = &mut self.nodes[id.0 as usize];
        node.note(at, token.length + 2);
        if !token.escapes {
            node.add_string(token.raw, token.length, at, &mut self.capacity);
            return;
        }
        let decoded = self.decode(token.raw);
        let length = if token.is_cut() { token.length } else { decoded.len() as u64 };
        self.nodes[id.0 as usize].add_string(&decoded, length, at, &mut self.capacity);
        self.decoded = decoded;
    }

    /// Adds a number as written.
    #[inline]
    pub(crate) fn number(&mut self, raw: &[u8], at: u64) {
        if self.held.is_some() {
            return self.hold(HeldCell::Number(raw.into()), at);
        }
        let id = self.begin_value(at);
        self.note_depth(at);
        self.nodes[id.0 as usize].add_number(raw, at, &mut self.capacity);
        if let Some(frame) =
            self.stack.last().filter(|frame| !frame.object && frame.count as usize <= MAX_TUPLE_LENGTH)
        {
            let node = &mut self.nodes[frame.node.0 as usize];
            if node.by_position {
                return;
            }
            let positions = node.positions.get_or_insert_default();
            if !positions.broken
                && let Some(number) = Number::parse(raw)
            {
                positions.numbers[frame.count as usize - 1].add(&number, at);
            }
        }
    }

    /// Adds a boolean.
    pub(crate) fn bool(&mut self, value: bool, at: u64) {
        if self.held.is_some() {
            return self.hold(HeldCell::Bool(value), at);
        }
        let id = self.begin_value(at);
        let node = self.node(id);
        node.note(at, 4);
        if value {
            node.types.trues += 1;
        } else {
            node.types.falses += 1;
        }
    }

    /// Counts an element of the open list that has no statistics of its own.
    pub(crate) fn element(&mut self, at: u64) {
        self.release();
        self.begin_value(at);
    }

    /// Adds a null.
    pub(crate) fn null(&mut self, at: u64) {
        if self.held.is_some() {
            return self.hold(HeldCell::Null, at);
        }
        let id = self.begin_value(at);
        let node = self.node(id);
        node.note(at, 4);
        node.types.nulls += 1;
    }

    /// Returns the profile. Containers left open (the text broke off) are closed at `end`; lists that turned out to be
    /// tables get their columns, and objects that turned out to be maps become maps.
    pub(crate) fn finish(mut self, end: u64) -> DataProfile {
        self.release();
        while !self.stack.is_empty() {
            self.close(end);
        }
        self.nodes.iter_mut().for_each(|node| node.counts.settle());
        for index in 0..self.nodes.len() {
            let id = NodeId(index as u32);
            if self.is_map_in_hindsight(id) {
                self.collapse(id);
            }
        }
        self.find_tables();
        self.nodes.iter_mut().for_each(|node| node.counts.settle());
        DataProfile {
            nodes: self.nodes,
            depth: self.depth,
            deepest_at: self.deepest_at,
            recursive: self.recursive,
            capped: !self.anywhere.is_empty() || self.rest.is_some(),
        }
    }
}
