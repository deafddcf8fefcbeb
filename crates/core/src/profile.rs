//! The statistics of a body of data, gathered in one pass and held in bounded memory.
//!
//! A profile is a tree of [`PathNode`]s, one per path with array positions ignored (`.features[].properties.mag`):
//! counts by type, counts of values, extremes and their offsets, sums, lengths, points in time. Every notation
//! (JSON, CSV, log lines, blocks of `key: value` lines) feeds the same events to a [`ProfileBuilder`], so that one
//! engine computes the statistics of all of them.
//!
//! Bounded: a profile has about [`MAX_NODES`] paths and [`MAX_DISTINCT_VALUES`] distinct values over all fields. An
//! object with very many keys is a map, whose values share one node; a key that repeats below itself is a recursion,
//! which shares the node further up; beyond the bound, members share one node per name, wherever they occur. The
//! elements of lists inside lists have one node per position as long as the lists can be rows of a table.

mod build;
mod decimal;
mod distinct_sketch;
mod distinct_values;
pub(crate) mod lists;
pub(crate) mod name_parts;
pub(crate) mod node;
pub(crate) mod number;
mod ordered_sample;
mod sparse_index;
pub(crate) mod stats;
mod sum;
pub(crate) mod time;
mod trend;
pub(crate) mod value_counts;

pub(crate) use build::ProfileBuilder;
pub(crate) use node::{NodeId, PathNode, PathStep};

/// The maximum number of paths with a node of their own; paths near the top may exceed it.
pub(crate) const MAX_NODES: usize = 4096;
/// The maximum number of distinct values held over all fields; hashes of values that are not held count, too, by their
/// memory.
pub(crate) const MAX_DISTINCT_VALUES: usize = 65_536;

/// The maximum number of names that [`DataProfile::by_name`] tells apart.
const MAX_MERGED_NAMES: usize = 256;

/// The statistics of a body of data.
#[derive(Debug)]
pub(crate) struct DataProfile {
    nodes: Vec<PathNode>,
    /// The number of levels of nesting.
    pub(crate) depth: usize,
    /// The offset of the most deeply nested scalar.
    pub(crate) deepest_at: u64,
    /// Whether some key repeats below itself.
    pub(crate) recursive: bool,
    /// Whether some paths have no node of their own, because there are too many.
    pub(crate) capped: bool,
}

impl DataProfile {
    /// Returns the node of the top-level value.
    pub(crate) fn root(&self) -> NodeId {
        NodeId(0)
    }

    /// Returns a node.
    pub(crate) fn node(&self, id: NodeId) -> &PathNode {
        &self.nodes[id.0 as usize]
    }

    /// Returns all nodes that have not been merged into others, with their ids.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (NodeId, &PathNode)> {
        let current = self.nodes.iter().enumerate().filter(|(_, node)| !node.gone);
        current.map(|(index, node)| (NodeId(index as u32), node))
    }

    /// Returns the children of a node in order, without those that a recursion shares with a node further up.
    pub(crate) fn children(&self, id: NodeId) -> impl Iterator<Item = (NodeId, &PathNode)> {
        let node = self.node(id);
        let keyed = node.children.iter().map(|child| child.node);
        keyed
            .chain(node.values)
            .chain(node.items)
            .chain(node.columns.iter().copied())
            .filter(move |child| self.node(*child).parent == Some(id))
            .map(|child| (child, self.node(child)))
    }

    /// Returns the node of a member of an object.
    pub(crate) fn member(&self, object: NodeId, name: &str) -> Option<NodeId> {
        let mut members = self.children(object);
        members
            .find(|(_, child)| matches!(&child.step, PathStep::Key(key) if **key == *name))
            .map(|(id, _)| id)
    }

    /// Drops the statistics of numbers at a path where texts that look like numbers are not numbers.
    pub(crate) fn forget_numbers(&mut self, id: NodeId) {
        let node = &mut self.nodes[id.0 as usize];
        (node.numbers, node.numeric_strings) = (None, 0);
    }

    /// Returns the path from one node down to another: `a.b[].c`, `[]`, or empty for the node itself.
    pub(crate) fn path(&self, from: NodeId, to: NodeId) -> String {
        let mut steps = Vec::new();
        let mut at = to;
        while at != from {
            let node = self.node(at);
            steps.push(&node.step);
            match node.parent {
                Some(parent) => at = parent,
                None => break,
            }
        }
        let mut path = String::new();
        for step in steps.into_iter().rev() {
            match step {
                PathStep::Root | PathStep::Rows => {}
                PathStep::Position(position) => path.push_str(&format!("[{position}]")),
                PathStep::Key(key) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(&crate::visible::key(key));
                }
                PathStep::Items => path.push_str("[]"),
                PathStep::Values => path.push_str(if path.is_empty() { "*" } else { ".*" }),
                PathStep::Anywhere(key) => path = format!("**.{}", crate::visible::key(key)),
            }
        }
        path
    }

    /// Returns the members merged by name, wherever they occur, most frequent first.
    pub(crate) fn by_name(&self) -> Vec<(String, PathNode)> {
        let mut merged: Vec<(String, PathNode)> = Vec::new();
        let mut capacity = MAX_DISTINCT_VALUES;
        for (_, node) in self.nodes() {
            let (PathStep::Key(name) | PathStep::Anywhere(name)) = &node.step else { continue };
            let at = match merged.iter().position(|(known, _)| **known == **name) {
                Some(at) => at,
                None if merged.len() < MAX_MERGED_NAMES => {
                    merged.push((name.to_string(), PathNode::new(None, PathStep::Anywhere(name.clone()))));
                    merged.len() - 1
                }
                None => continue,
            };
            merged[at].1.merge(node, &mut capacity);
        }
        merged.sort_by_key(|(_, node)| std::cmp::Reverse(node.seen()));
        merged
    }
}
