//! Building a profile from events.

use super::node::{Child, Node, NodeId, SparseIndex, Step, TUPLE};
use super::number::Number;
use super::{MAX_DISTINCT, MAX_NODES, Profile};
use crate::hash;
use crate::json::{Event, ScanError, Scanner, StringToken, string};

/// Children with containers under them that make a first object a map.
const MAP_OF_CONTAINERS: usize = 24;
/// Children that make any object a map.
const MAP_OF_ANYTHING: usize = 1024;
/// Paths up to this depth may use twice as many nodes.
const SHALLOW: usize = 3;
/// The deepest path told apart.
const MAX_PATH: usize = 48;

/// An open container.
struct Frame {
    node: NodeId,
    start: u64,
    count: u64,
    /// Which child is likely to come next: records repeat their order of keys.
    cursor: usize,
    /// Which object this is, to notice a key that comes twice.
    instance: u64,
    depth: usize,
    object: bool,
}

/// Takes events and builds a [`Profile`].
pub(crate) struct Builder {
    nodes: Vec<Node>,
    stack: Vec<Frame>,
    /// Where the next value goes.
    target: NodeId,
    room: usize,
    instances: u64,
    depth: usize,
    deepest_at: u64,
    recursive: bool,
    /// Nodes of [`Step::Anywhere`], by key.
    anywhere: Vec<(u64, NodeId)>,
    /// Nodes that were merged away and can be used again.
    free: Vec<NodeId>,
}

impl Builder {
    /// Starts an empty profile.
    pub(crate) fn new() -> Self {
        Self {
            nodes: vec![Node::new(None, Step::Root)],
            stack: Vec::new(),
            target: NodeId(0),
            room: MAX_DISTINCT,
            instances: 0,
            depth: 0,
            deepest_at: 0,
            recursive: false,
            anywhere: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Takes in one whole value from a scanner.
    pub(crate) fn scan_value(&mut self, scanner: &mut Scanner<'_>) -> Result<(), ScanError> {
        self.scan(scanner, None)
    }

    /// Takes in one whole value whose parts all count as standing at one offset.
    pub(crate) fn scan_value_at(&mut self, scanner: &mut Scanner<'_>, at: u64) -> Result<(), ScanError> {
        self.scan(scanner, Some(at))
    }

    #[inline]
    fn scan(&mut self, scanner: &mut Scanner<'_>, fixed: Option<u64>) -> Result<(), ScanError> {
        let outside = scanner.depth();
        loop {
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
    fn node(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    /// Opens an object or an array.
    pub(crate) fn open(&mut self, object: bool, at: u64) {
        let id = self.begin_value(at);
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
        // Only a container that stands alone at its path is indexed: that is where rows are looked up.
        node.index = (node.types.containers() == 1).then(Box::<SparseIndex>::default);
        self.stack.push(Frame { node: id, start: at, count: 0, cursor: 0, instance, depth, object });
        if !object {
            self.target = self.items_of(id);
        }
    }

    /// Closes the innermost container; `end` is the offset after its bracket.
    pub(crate) fn close(&mut self, end: u64) {
        let Some(frame) = self.stack.pop() else { return };
        let node = self.node(frame.node);
        if !frame.object
            && frame.count as usize > TUPLE
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

    /// Takes in a key; the next value belongs to it.
    #[inline]
    pub(crate) fn key(&mut self, key: &StringToken<'_>, at: u64) {
        let Some(frame) = self.stack.last_mut() else { return };
        frame.count += 1;
        let (parent, cursor, instance) = (frame.node, frame.cursor, frame.instance);
        let node = &mut self.nodes[parent.0 as usize];
        if let Some(index) = &mut node.index {
            index.push(at);
        }
        if let Some(values) = node.values {
            node.keys.add(key.raw, key.escapes, at, &mut self.room);
            self.target = values;
            return;
        }
        let hit = node.children.get(cursor).is_some_and(|child| *child.raw == *key.raw);
        let slot =
            if hit { Some(cursor) } else { node.children.iter().position(|child| *child.raw == *key.raw) };
        self.target = match slot {
            Some(slot) => {
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
                child
            }
            None => self.new_child(parent, key, at, instance),
        };
    }

    fn new_child(&mut self, parent: NodeId, key: &StringToken<'_>, at: u64, instance: u64) -> NodeId {
        if self.should_become_map(parent) {
            let values = self.collapse(parent);
            let room = &mut self.room;
            self.nodes[parent.0 as usize].keys.add(key.raw, key.escapes, at, room);
            return values;
        }
        let name: Box<str> = if key.escapes {
            string::decode_text(key.raw).into()
        } else {
            String::from_utf8_lossy(key.raw).into()
        };
        let id =
            self.recursion(parent, &name).unwrap_or_else(|| self.create(parent, name, hash::bytes(key.raw)));
        self.node(id).seen_in = instance;
        let node = self.node(parent);
        node.children.push(Child { raw: key.raw.into(), node: id });
        if let Some(frame) = self.stack.last_mut() {
            frame.cursor = self.nodes[parent.0 as usize].children.len();
        }
        id
    }

    /// The node to share where a key stands for the third time on one path.
    fn recursion(&mut self, parent: NodeId, name: &str) -> Option<NodeId> {
        let mut first = None;
        let mut at = Some(parent);
        while let Some(id) = at {
            let node = &self.nodes[id.0 as usize];
            if matches!(&node.step, Step::Key(key) if **key == *name) {
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
        // What stands near the top is always told apart, however much stands below it.
        let most = if depth <= SHALLOW { 2 * MAX_NODES } else { MAX_NODES };
        if self.nodes.len() - self.free.len() < most && depth < MAX_PATH {
            return self.push(Some(parent), Step::Key(name));
        }
        match self.anywhere.iter().find(|(known, _)| *known == hash) {
            Some(&(_, id)) => id,
            None if self.anywhere.len() < MAX_NODES / 4 => {
                let id = self.push(None, Step::Anywhere(name));
                self.anywhere.push((hash, id));
                id
            }
            None => self.anywhere[0].1,
        }
    }

    fn push(&mut self, parent: Option<NodeId>, step: Step) -> NodeId {
        if let Some(id) = self.free.pop() {
            self.nodes[id.0 as usize] = Node::new(parent, step);
            return id;
        }
        self.nodes.push(Node::new(parent, step));
        NodeId(self.nodes.len() as u32 - 1)
    }

    fn items_of(&mut self, array: NodeId) -> NodeId {
        if let Some(items) = self.nodes[array.0 as usize].items {
            return items;
        }
        let deep = self.stack.last().is_some_and(|frame| frame.depth >= MAX_PATH);
        let items = if self.nodes.len() - self.free.len() < 3 * MAX_NODES && !deep {
            self.push(Some(array), Step::Items)
        } else {
            array
        };
        self.node(array).items = Some(items);
        items
    }

    /// Whether an object that is about to get one more child is rather a map.
    fn should_become_map(&self, id: NodeId) -> bool {
        let node = &self.nodes[id.0 as usize];
        let children = node.children.len();
        if children < MAP_OF_CONTAINERS {
            return false;
        }
        let child = |child: &Child| &self.nodes[child.node.0 as usize];
        if node.types.objects == 1 {
            let containers = node.children.iter().filter(|c| child(c).types.containers() > 0).count();
            return containers * 5 >= children * 4 || children >= MAP_OF_ANYTHING;
        }
        let filled: u64 = node.children.iter().map(|c| child(c).seen()).sum();
        let sparse = filled * 10 < node.types.objects * children as u64;
        (children >= 256 && sparse) || children >= MAP_OF_ANYTHING
    }

    /// Turns an object into a map: its children become one node.
    fn collapse(&mut self, id: NodeId) -> NodeId {
        let values = self.push(Some(id), Step::Values);
        let children = std::mem::take(&mut self.node(id).children);
        for child in children {
            let at = self.nodes[child.node.0 as usize].first_at;
            let escapes = child.raw.contains(&b'\\');
            let count = self.nodes[child.node.0 as usize].seen();
            for _ in 0..count.min(64) {
                self.nodes[id.0 as usize].keys.add(&child.raw, escapes, at, &mut self.room);
            }
            if self.nodes[child.node.0 as usize].parent == Some(id) {
                self.merge(child.node, values, 0);
            }
        }
        self.node(id).values = Some(values);
        // Frames that still point into merged nodes go on in what they became.
        values
    }

    fn merge(&mut self, from: NodeId, into: NodeId, depth: usize) {
        if from == into || depth > 2 * MAX_PATH {
            return;
        }
        let source = std::mem::replace(&mut self.nodes[from.0 as usize], Node::new(None, Step::Root));
        self.nodes[from.0 as usize].gone = true;
        self.free.push(from);
        let mut room = self.room;
        self.node(into).merge(&source, &mut room);
        self.room = room;
        for child in source.children {
            let own = self.nodes[child.node.0 as usize].parent == Some(from);
            let twin =
                self.nodes[into.0 as usize].children.iter().find(|c| c.raw == child.raw).map(|c| c.node);
            match twin {
                Some(twin) if own => self.merge(child.node, twin, depth + 1),
                Some(_) => {}
                None => {
                    if own {
                        self.node(child.node).parent = Some(into);
                    }
                    self.node(into).children.push(child);
                }
            }
        }
        for (theirs, is_items) in [(source.items, true), (source.values, false)] {
            let Some(theirs) = theirs.filter(|id| self.nodes[id.0 as usize].parent == Some(from)) else {
                continue;
            };
            let ours = if is_items { self.node(into).items } else { self.node(into).values };
            match ours {
                Some(ours) => self.merge(theirs, ours, depth + 1),
                None => {
                    self.node(theirs).parent = Some(into);
                    let node = self.node(into);
                    if is_items {
                        node.items = Some(theirs);
                    } else {
                        node.values = Some(theirs);
                    }
                }
            }
        }
    }

    /// Counts an element and returns the node that a value goes to.
    #[inline]
    fn begin_value(&mut self, at: u64) -> NodeId {
        if let Some(frame) = self.stack.last_mut()
            && !frame.object
        {
            frame.count += 1;
            if let Some(index) = &mut self.nodes[frame.node.0 as usize].index {
                index.push(at);
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

    /// Takes in a string.
    #[inline]
    pub(crate) fn string(&mut self, token: &StringToken<'_>, at: u64) {
        let id = self.begin_value(at);
        self.note_depth(at);
        let node = &mut self.nodes[id.0 as usize];
        node.add_string(token.raw, token.length, token.escapes, at, &mut self.room);
    }

    /// Takes in a number as written.
    #[inline]
    pub(crate) fn number(&mut self, raw: &[u8], at: u64) {
        let id = self.begin_value(at);
        self.note_depth(at);
        self.nodes[id.0 as usize].add_number(raw, at, &mut self.room);
        if let Some(frame) = self.stack.last().filter(|frame| !frame.object && frame.count as usize <= TUPLE)
        {
            let positions = self.nodes[frame.node.0 as usize].positions.get_or_insert_default();
            if !positions.broken
                && let Some(number) = Number::parse(raw)
            {
                positions.numbers[frame.count as usize - 1].add(&number, at);
            }
        }
    }

    /// Takes in a truth value.
    pub(crate) fn bool(&mut self, value: bool, at: u64) {
        let id = self.begin_value(at);
        let node = self.node(id);
        node.note(at, 4);
        if value {
            node.types.trues += 1;
        } else {
            node.types.falses += 1;
        }
    }

    /// Takes in a null.
    pub(crate) fn null(&mut self, at: u64) {
        let id = self.begin_value(at);
        let node = self.node(id);
        node.note(at, 4);
        node.types.nulls += 1;
    }

    /// Ends building: containers left open (a text that broke off) are closed at `end`, and what turned out to
    /// be a map becomes one.
    pub(crate) fn finish(mut self, end: u64) -> Profile {
        while !self.stack.is_empty() {
            self.close(end);
        }
        for index in 0..self.nodes.len() {
            let id = NodeId(index as u32);
            if self.is_map_in_hindsight(id) {
                self.collapse(id);
            }
        }
        Profile {
            nodes: self.nodes,
            depth: self.depth,
            deepest_at: self.deepest_at,
            recursive: self.recursive,
        }
    }

    fn is_map_in_hindsight(&self, id: NodeId) -> bool {
        let node = &self.nodes[id.0 as usize];
        let children = node.children.len();
        if node.gone || node.values.is_some() {
            return false;
        }
        if self.has_uniform_children(node) {
            return true;
        }
        if children < 12 {
            return false;
        }
        let child = |child: &Child| &self.nodes[child.node.0 as usize];
        if node.types.objects == 1 {
            let same = |of: fn(&Node) -> u64| {
                node.children.iter().filter(|c| of(child(c)) > 0).count() * 10 >= children * 9
            };
            let alike = same(|n| n.types.strings)
                || same(|n| n.types.numbers)
                || same(|n| n.types.objects)
                || same(|n| n.types.arrays);
            return children >= 32 && alike;
        }
        let filled: u64 = node.children.iter().map(|c| child(c).seen()).sum();
        filled * 6 < node.types.objects * children as u64
    }

    /// Whether the children are objects of one form, told apart by keys that are data: `{"2x": {..}, "3x": {..}}`.
    fn has_uniform_children(&self, node: &Node) -> bool {
        let children: Vec<&Node> =
            node.children.iter().map(|child| &self.nodes[child.node.0 as usize]).collect();
        let objects = children.iter().filter(|child| child.types.objects > 0 && child.types.scalars() == 0);
        if children.len() < 5 || objects.count() < children.len() {
            return false;
        }
        let mut keys: Vec<&[u8]> =
            children.iter().flat_map(|child| child.children.iter().map(|key| &*key.raw)).collect();
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        let mean = all / children.len();
        mean >= 2 && keys.len() <= mean * 2 + 2
    }
}
