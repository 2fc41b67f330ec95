//! Subscriptions in rows: the list of an item with many watchers.

use super::subscription::{Order, Subscription};

/// Most subscriptions in a row.
pub(super) const ROW: usize = 256;

/// Room that is kept for subscriptions to come, beside so many in a row.
const fn spare(count: usize) -> usize {
    match count {
        ..8 => 1,
        _ if count / 8 < ROW - count => count / 8,
        _ => ROW - count,
    }
}

/// Where a subscription is, until one comes or goes.
///
/// ```text
///   | row: 24 | column: 8 |
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cell(u32);

impl Cell {
    pub(super) const FIRST: Self = Self(0);

    /// One past the last cell of a full row is the first one of the next.
    #[inline]
    pub(super) const fn new(row: usize, column: usize) -> Self {
        Self((row * ROW + column) as u32)
    }

    pub(super) const fn row(self) -> usize {
        self.0 as usize / ROW
    }

    pub(super) const fn column(self) -> usize {
        self.0 as usize % ROW
    }

    /// The cell behind it, where there may be none.
    pub(super) const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Up to [`ROW`] subscriptions in order, with room for an eighth more than there are.
#[derive(Debug, Default)]
pub(super) struct Row(Vec<Subscription>);

impl Row {
    pub(super) fn of(first: [Subscription; 2]) -> Self {
        let mut subscriptions = Vec::with_capacity(3);
        subscriptions.extend_from_slice(&first);
        Self(subscriptions)
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[Subscription] {
        &self.0
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [Subscription] {
        &mut self.0
    }

    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    #[cfg(test)]
    pub(super) const fn capacity(&self) -> usize {
        self.0.capacity()
    }

    const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    const fn is_full(&self) -> bool {
        self.len() >= ROW
    }

    /// Adds a subscription in a cell up to the end.
    pub(super) fn insert(&mut self, column: usize, subscription: Subscription) {
        if self.0.len() == self.0.capacity() {
            self.0.reserve_exact(spare(self.0.len()));
        }
        self.0.insert(column.min(self.0.len()), subscription);
    }

    pub(super) fn remove(&mut self, column: usize) -> Option<Subscription> {
        let subscription = (column < self.0.len()).then(|| self.0.remove(column))?;
        self.trim(2 * (self.0.len() + 8));
        Some(subscription)
    }

    /// Gives room back if there is more than `allowed`.
    fn trim(&mut self, allowed: usize) {
        if self.0.capacity() > allowed {
            self.0.shrink_to(self.0.len() + spare(self.0.len()));
        }
    }

    /// Takes the subscriptions from a cell on away, as a row of their own.
    fn split(&mut self, column: usize) -> Self {
        let mut rest = Self(self.0.split_off(column));
        self.trim(0);
        rest.0.reserve_exact(spare(rest.0.len()));
        rest
    }

    fn append(&mut self, other: &Self) {
        let count = self.0.len() + other.0.len();
        self.0.reserve_exact(other.0.len() + spare(count));
        self.0.extend_from_slice(&other.0);
    }
}

/// Rows of subscriptions, one behind the other in order.
///
/// None is empty, and two neighbours have more than half a row together, so
/// that there are at most four times as many rows as there must be.
#[derive(Debug)]
pub(super) struct Rows(Vec<Row>);

impl Rows {
    pub(super) fn of(row: Row) -> Self {
        Self(vec![row])
    }

    /// The only row, if there is just one.
    pub(super) fn only(&mut self) -> Option<Row> {
        match &mut self.0[..] {
            [row] => Some(core::mem::take(row)),
            _ => None,
        }
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[Row] {
        &self.0
    }

    pub(super) fn as_mut_slice(&mut self) -> &mut [Row] {
        &mut self.0
    }

    /// The row in which a subscription is, or would be.
    pub(super) fn row_of(&self, order: Order) -> usize {
        let is_up_to =
            |row: &Row| row.0.first().is_some_and(|subscription| subscription.order() <= order);
        self.0.partition_point(is_up_to).saturating_sub(1)
    }

    /// Adds a subscription in a cell in a row up to its end. Where it is then.
    pub(super) fn insert(&mut self, row: usize, column: usize, subscription: Subscription) -> Cell {
        let (row, column) = self.make_room(row, column);
        self.0[row].insert(column, subscription);
        Cell::new(row, column)
    }

    /// Where there is room for what is to be added in a cell.
    fn make_room(&mut self, row: usize, column: usize) -> (usize, usize) {
        if !self.0[row].is_full() {
            return (row, column);
        }
        if (row + 1, column) == (self.0.len(), ROW) {
            // Behind all others, where mounts that come one after the other
            // are: full rows stay full.
            self.0.push(Row::default());
            return (row + 1, 0);
        }
        let upper = self.0[row].split(ROW / 2);
        self.0.insert(row + 1, upper);
        match column > ROW / 2 {
            true => (row + 1, column - ROW / 2),
            false => (row, column),
        }
    }

    pub(super) fn remove(&mut self, cell: Cell) -> Option<Subscription> {
        let row = cell.row();
        let subscription = self.0.get_mut(row)?.remove(cell.column())?;
        self.join(row);
        if let Some(before) = row.checked_sub(1) {
            self.join(before);
        }
        Some(subscription)
    }

    /// Makes one row of a row and the next one if both are short, or one is
    /// empty.
    fn join(&mut self, row: usize) {
        let Some([left, right]) = self.0.get_mut(row..row + 2) else { return };
        let is_short = left.len() + right.len() <= ROW / 2;
        if !(is_short || left.is_empty() || right.is_empty()) {
            return;
        }
        left.append(right);
        self.0.remove(row + 1);
        if self.0.capacity() > 2 * (self.0.len() + 8) {
            self.0.shrink_to(self.0.len() + self.0.len() / 8);
        }
    }
}
