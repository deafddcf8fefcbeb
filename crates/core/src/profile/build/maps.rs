//! Objects that are maps: their keys are data, so that all their values belong to one path.
//!
//! Whether an object is a map shows only after some of its keys have been read. [`ProfileBuilder`] asks before it adds
//! a key to an object, and once more about every object at the end; an object that turns out to be a map gives up the
//! nodes of its keys, which are merged into the one node of its values.

use super::super::node::{Child, NodeId, PathNode, PathStep};
use super::{MAX_PATH_DEPTH, ProfileBuilder};

/// From this many keys on, an object that occurs once is a map if most of its values are containers.
const MAP_MIN_CONTAINERS: usize = 24;
/// From this many keys on, any object is a map.
const MAP_MIN_KEYS: usize = 1024;

impl ProfileBuilder {
    /// Returns whether an object that is about to get one more key is a map.
    pub(super) fn should_become_map(&self, id: NodeId) -> bool {
        let node = &self.nodes[id.0 as usize];
        let children = node.children.len();
        if children < MAP_MIN_CONTAINERS || self.column_length(id).is_some() {
            return false;
        }
        let child = |child: &Child| &self.nodes[child.node.0 as usize];
        if node.types.objects == 1 {
            let containers = node.children.iter().filter(|c| child(c).types.containers() > 0).count();
            return containers * 5 >= children * 4 || children >= MAP_MIN_KEYS;
        }
        let filled: u64 = node.children.iter().map(|c| child(c).seen()).sum();
        let sparse = filled * 10 < node.types.objects * children as u64;
        (children >= 256 && sparse) || children >= MAP_MIN_KEYS
    }

    /// Turns an object into a map: merges its children into one node, and returns that.
    pub(super) fn collapse(&mut self, id: NodeId) -> NodeId {
        let values = self.push(Some(id), PathStep::Values);
        let children = std::mem::take(&mut self.node(id).children);
        for child in children {
            let at = self.nodes[child.node.0 as usize].first_at;
            // The key whose value has not been read yet counts, too.
            let count = self.nodes[child.node.0 as usize].seen().max(1);
            self.nodes[id.0 as usize].keys.add_many(&child.key, at, count, &mut self.capacity);
            if self.nodes[child.node.0 as usize].parent == Some(id) {
                self.merge(child.node, values, 0);
            }
        }
        self.node(id).values = Some(values);
        values
    }

    /// Merges a node and everything below it into another.
    pub(super) fn merge(&mut self, from: NodeId, into: NodeId, depth: usize) {
        if from == into || depth > 2 * MAX_PATH_DEPTH {
            return;
        }
        self.feed_held(from);
        self.feed_held(into);
        let source = std::mem::replace(&mut self.nodes[from.0 as usize], PathNode::new(None, PathStep::Root));
        self.nodes[from.0 as usize].gone = true;
        self.free.push(from);
        let mut capacity = self.capacity;
        self.node(into).merge(&source, &mut capacity);
        self.capacity = capacity;
        for child in source.children {
            let own = self.nodes[child.node.0 as usize].parent == Some(from);
            let twin =
                self.nodes[into.0 as usize].children.iter().find(|c| c.key == child.key).map(|c| c.node);
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
        if source.items.is_some() && self.node(into).by_position {
            // Elements that share one node cannot be told apart any more.
            self.pool(into);
        }
        self.merge_columns(source.columns, into, depth);
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

    /// Returns whether an object turned out to be a map once all data has been read.
    pub(super) fn is_map_in_hindsight(&self, id: NodeId) -> bool {
        let node = &self.nodes[id.0 as usize];
        let children = node.children.len();
        if node.gone || node.values.is_some() || self.column_length(id).is_some() {
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
            let same = |of: fn(&PathNode) -> u64| {
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

    /// Returns whether the children are objects with the same keys, as in `{"2x": {..}, "3x": {..}}`.
    fn has_uniform_children(&self, node: &PathNode) -> bool {
        let children: Vec<&PathNode> =
            node.children.iter().map(|child| &self.nodes[child.node.0 as usize]).collect();
        let objects = children.iter().filter(|child| child.types.objects > 0 && child.types.scalars() == 0);
        if children.len() < 5 || objects.count() < children.len() {
            return false;
        }
        let mut keys: Vec<&[u8]> =
            children.iter().flat_map(|child| child.children.iter().map(|key| &*key.key)).collect();
        let all = keys.len();
        keys.sort_unstable();
        keys.dedup();
        let mean = all / children.len();
        mean >= 2 && keys.len() <= mean * 2 + 2
    }
}
