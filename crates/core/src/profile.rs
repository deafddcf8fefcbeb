//! What a body of data consists of, learnt in one pass and held in bounded memory.
//!
//! A profile is a tree of [`Node`]s, one per path with array positions left aside (`.features[].properties.mag`):
//! how many values of which type, group counts, extremes and where they stand, sums, lengths, points in time.
//! Every reader feeds it the same events, whether the data is JSON, CSV, a log or blocks of `key: value` lines,
//! so that there is one engine of statistics for all of them.
//!
//! Bounded: at most [`MAX_NODES`] paths and [`MAX_DISTINCT`] distinct values over all fields. An object with very
//! many keys is a map and its values share one node; a key that repeats below itself is a recursion and shares
//! the node further up; beyond the bound, members are told apart by name alone.

mod build;
pub(crate) mod names;
pub(crate) mod node;
pub(crate) mod number;
pub(crate) mod tally;
pub(crate) mod time;

pub(crate) use build::Builder;
pub(crate) use node::{Node, NodeId, Step};

/// The most paths told apart.
pub(crate) const MAX_NODES: usize = 4096;
/// The most distinct values held over all fields.
pub(crate) const MAX_DISTINCT: usize = 65_536;

/// The statistics of a body of data.
#[derive(Debug)]
pub(crate) struct Profile {
    nodes: Vec<Node>,
    /// The deepest nesting.
    pub(crate) depth: usize,
    /// Where the deepest scalar stands.
    pub(crate) deepest_at: u64,
    /// Whether some key repeats below itself.
    pub(crate) recursive: bool,
}

impl Profile {
    /// Returns the node of the whole.
    pub(crate) fn root(&self) -> NodeId {
        NodeId(0)
    }

    /// Returns a node.
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// Returns all living nodes with their ids.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        let living = self.nodes.iter().enumerate().filter(|(_, node)| !node.gone);
        living.map(|(index, node)| (NodeId(index as u32), node))
    }

    /// Returns the children of a node that belong to it alone (a recursion points further up), in order.
    pub(crate) fn children(&self, id: NodeId) -> impl Iterator<Item = (NodeId, &Node)> {
        let node = self.node(id);
        let keyed = node.children.iter().map(|child| child.node);
        keyed
            .chain(node.values)
            .chain(node.items)
            .filter(move |child| self.node(*child).parent == Some(id))
            .map(|child| (child, self.node(child)))
    }

    /// Returns the path from one node down to another: `a.b[].c`, `[]`, or nothing for the node itself.
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
                Step::Root => {}
                Step::Key(key) => {
                    if !path.is_empty() {
                        path.push('.');
                    }
                    path.push_str(&crate::visible::key(key));
                }
                Step::Items => path.push_str("[]"),
                Step::Values => path.push_str(if path.is_empty() { "*" } else { ".*" }),
                Step::Anywhere(key) => path = format!("**.{}", crate::visible::key(key)),
            }
        }
        path
    }

    /// Returns the members by name alone, wherever they stand, most frequent first.
    pub(crate) fn by_name(&self) -> Vec<(String, Node)> {
        let mut merged: Vec<(String, Node)> = Vec::new();
        let mut room = MAX_DISTINCT;
        for (_, node) in self.nodes() {
            let (Step::Key(name) | Step::Anywhere(name)) = &node.step else { continue };
            let at = match merged.iter().position(|(known, _)| **known == **name) {
                Some(at) => at,
                None if merged.len() < 256 => {
                    merged.push((name.to_string(), Node::new(None, Step::Anywhere(name.clone()))));
                    merged.len() - 1
                }
                None => continue,
            };
            merged[at].1.merge(node, &mut room);
        }
        merged.sort_by_key(|(_, node)| std::cmp::Reverse(node.seen()));
        merged
    }
}
