//! Lists inside lists: their elements by position, as long as the lists can be rows of a table.
//!
//! The first list inside a list is held until it is closed: if it can be a header row, its elements are not values of the
//! columns. A list that is longer than a table is wide turns out to be a vector, and then all elements share one node.

use super::super::MAX_NODES;
use super::super::lists::{HeldCell, HeldRow, MAX_COLUMNS};
use super::super::node::{NodeId, PathStep};
use super::ProfileBuilder;
use crate::json::StringToken;

impl ProfileBuilder {
    /// Returns whether a list that begins is the first one inside a list.
    pub(super) fn begins_row(&mut self, id: NodeId) -> bool {
        let Some(frame) = self.stack.last().filter(|frame| !frame.object) else { return false };
        let is_first = frame.count == 1;
        let node = self.node(id);
        if node.types.arrays > 0 || node.step != PathStep::Items {
            return false;
        }
        node.by_position = node.items.is_none();
        is_first && node.seen() == 0 && node.by_position
    }

    /// Prepares for a container inside a list: what is held is not a header row, and lists that begin with containers are no
    /// rows.
    #[inline]
    pub(super) fn begin_cell_container(&mut self) {
        self.release();
        let Some(frame) = self.stack.last().filter(|frame| !frame.object) else { return };
        let (row, node) = (frame.node, &self.nodes[frame.node.0 as usize]);
        if node.by_position && node.columns.is_empty() {
            self.pool(row);
        }
    }

    /// Adds an element to the held list.
    #[cold]
    pub(super) fn hold(&mut self, cell: HeldCell, at: u64) {
        let Some(held) = &mut self.held else { return };
        if held.has_room() {
            return held.push(cell, at);
        }
        // The order of the elements of a vector is kept if they share one node from the first on.
        let (row, is_vector) = (held.row, held.cells.len() >= MAX_COLUMNS);
        self.node(row).by_position = !is_vector;
        self.release();
        self.replay(&cell, at);
    }

    /// Continues with the held list as with any other.
    #[inline]
    pub(super) fn release(&mut self) {
        if let Some(held) = self.held.take() {
            self.begin_held(&held);
        }
    }

    #[cold]
    fn begin_held(&mut self, held: &HeldRow) {
        self.enter(held.row, false, held.start);
        for (cell, at) in &held.cells {
            self.replay(cell, *at);
        }
    }

    fn replay(&mut self, cell: &HeldCell, at: u64) {
        match cell {
            HeldCell::String { raw, length, escapes } => {
                self.string(&StringToken { raw, length: *length, escapes: *escapes }, at);
            }
            HeldCell::Number(raw) => self.number(raw, at),
            HeldCell::Bool(value) => self.bool(*value, at),
            HeldCell::Null => self.null(at),
        }
    }

    /// Closes the held list: it stays with the list around it if it can be a header row.
    #[cold]
    pub(super) fn close_held(&mut self, end: u64) {
        let container = self.stack.last().map(|frame| frame.node);
        match (self.held.take(), container) {
            (Some(held), Some(container)) if held.names().is_some() => {
                self.node(container).held = Some(Box::new(HeldRow { end, ..held }));
            }
            (Some(held), _) => {
                self.begin_held(&held);
                self.close(end);
            }
            (None, _) => {}
        }
    }

    /// Adds the list that was held as a possible header row of a container to the statistics.
    pub(super) fn feed_held(&mut self, container: NodeId) {
        let Some(held) = self.node(container).held.take() else { return };
        let (stack, target) = (std::mem::take(&mut self.stack), self.target);
        self.begin_held(&held);
        self.close(held.end);
        (self.stack, self.target) = (stack, target);
        for (position, (cell, at)) in held.cells.iter().enumerate() {
            let row = &self.nodes[held.row.0 as usize];
            let column = row.columns.get(position).copied().or(row.items);
            if let (HeldCell::String { raw, .. }, Some(column)) = (cell, column) {
                self.node(column).came_late(raw, *at);
            }
        }
    }

    /// Creates the node of a position; beyond the widest table, the elements of all positions share one node from now on.
    #[cold]
    pub(super) fn new_column(&mut self, row: NodeId, position: usize) -> NodeId {
        if position >= MAX_COLUMNS || self.nodes.len() - self.free.len() >= 2 * MAX_NODES {
            return self.pool(row);
        }
        let id = self.push(Some(row), PathStep::Position(position as u32));
        self.node(row).columns.push(id);
        id
    }

    /// Makes the elements of lists share one node, and returns it.
    pub(super) fn pool(&mut self, row: NodeId) -> NodeId {
        if self.stack.iter().filter(|frame| frame.node == row).count() > 1 {
            // A recursion has such a list open further up, with its columns.
            return self.rest();
        }
        let columns = std::mem::take(&mut self.node(row).columns);
        self.node(row).by_position = false;
        let items = self.items_of(row);
        for column in columns {
            self.merge(column, items, 0);
        }
        self.target = items;
        items
    }

    /// Merges the columns of a node into another.
    pub(super) fn merge_columns(&mut self, columns: Vec<NodeId>, into: NodeId, depth: usize) {
        if columns.is_empty() {
            return;
        }
        let target = self.node(into);
        if target.columns.is_empty() && target.items.is_none() {
            target.by_position = true;
            target.columns.clone_from(&columns);
            columns.into_iter().for_each(|column| self.node(column).parent = Some(into));
            return;
        }
        for (position, column) in columns.into_iter().enumerate() {
            let by_position = self.node(into).by_position;
            let twin = self.nodes[into.0 as usize].columns.get(position).copied();
            match twin {
                Some(twin) if by_position => self.merge(column, twin, depth + 1),
                _ if by_position => {
                    self.node(column).parent = Some(into);
                    self.node(into).columns.push(column);
                }
                _ => {
                    let items = self.items_of(into);
                    self.merge(column, items, depth + 1);
                }
            }
        }
    }
}
