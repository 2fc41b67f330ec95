//! Counts that one thread writes and any may read.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use thiserror::Error;

use crate::query::{QueryQueue, QuerySender};
use crate::{Count, Counted, Kind, Table, TableReader};

/// Blocks that a registry has room for, if it is not told otherwise. A hub or a
/// server takes four.
const BLOCKS: usize = 1024;

/// Threads that can be asked.
const QUEUES: usize = 128;

/// Tables outside of hubs and servers: a media driver for each thread at most.
const READERS: usize = 128;

/// The counts of one part of one hub, server or thread: an atomic for each, and
/// for those with a bound the most that was published.
#[derive(Debug)]
pub struct Block {
    table: &'static Table,
    name: String,
    values: Box<[AtomicU64]>,
    peaks: Box<[AtomicU64]>,
    /// `u64::MAX` for none.
    limits: Box<[AtomicU64]>,
}

impl Block {
    fn new(table: &'static Table, name: &str, limits: &[(&str, u64)]) -> Self {
        let all = |value| table.counts.iter().map(|_| AtomicU64::new(value)).collect();
        let block = Self {
            table,
            name: name.to_owned(),
            values: all(0),
            peaks: all(0),
            limits: all(u64::MAX),
        };
        block.limit_by(limits);
        block
    }

    /// Shows these limits from now on.
    fn limit_by(&self, limits: &[(&str, u64)]) {
        for (name, limit) in limits {
            let index = self.table.counts.iter().position(|count| count.name == *name);
            debug_assert!(index.is_some(), "limits are of counts of the table: {name}");
            if let Some(index) = index {
                self.limits[index].store(*limit, Ordering::Relaxed);
            }
        }
    }

    /// The part that counts: `server`, `channel`.
    pub const fn table(&self) -> &'static Table {
        self.table
    }

    /// The hub, server or thread that it is of.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the counts are, in order.
    pub fn counts(&self) -> impl ExactSizeIterator<Item = &'static Count> {
        self.table.counts.iter()
    }

    /// A count as it was published last; 0 for one that there is not.
    pub fn value(&self, index: usize) -> u64 {
        self.values.get(index).map_or(0, |value| value.load(Ordering::Relaxed))
    }

    /// The value of a count by name.
    pub fn value_of(&self, name: &str) -> Option<u64> {
        let index = self.table.counts.iter().position(|count| count.name == name)?;
        Some(self.value(index))
    }

    /// The most that was ever published of a count with a bound.
    pub fn peak(&self, index: usize) -> Option<u64> {
        self.table.counts.get(index)?.bound?;
        Some(self.peaks.get(index)?.load(Ordering::Relaxed))
    }

    /// The bound of a count, where it has one.
    pub fn limit(&self, index: usize) -> Option<u64> {
        let limit = self.limits.get(index)?.load(Ordering::Relaxed);
        (limit != u64::MAX).then_some(limit)
    }

    fn publish<C: Counted>(&self, counts: &C) {
        counts.each(|index, value| {
            self.values[index].store(value, Ordering::Relaxed);
            let count = &self.table.counts[index];
            if count.bound.is_some() && count.kind == Kind::Now {
                // Nobody else writes it.
                let peak = &self.peaks[index];
                peak.store(peak.load(Ordering::Relaxed).max(value), Ordering::Relaxed);
            }
        });
    }
}

/// The one who may write a block. It cannot be cloned.
#[derive(Debug)]
pub struct Writer<C> {
    block: Arc<Block>,
    counts: std::marker::PhantomData<fn(&C)>,
}

impl<C: Counted> Writer<C> {
    /// Has the block show these counts.
    pub fn publish(&mut self, counts: &C) {
        self.block.publish(counts);
    }

    /// Has the block show these limits, which have changed.
    pub fn set_limits(&mut self, limits: &[(&str, u64)]) {
        self.block.limit_by(limits);
    }
}

/// There is no room for one more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the registry of counts has room for {0} and is full: run fewer servers in one process")]
pub struct Full(
    /// What there is room for.
    pub usize,
);

/// All blocks of a process, and the queues to its threads. Clones are the same
/// registry.
///
/// Whoever enters takes a place; nothing is moved, freed or locked after that, so
/// that it can be read at any time.
#[derive(Clone, Debug)]
pub struct Registry(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    blocks: Places<Arc<Block>>,
    queues: Places<QuerySender>,
    readers: Places<Box<dyn TableReader>>,
}

/// Places that are taken one after the other and never given back.
#[derive(Debug)]
struct Places<T> {
    all: Box<[OnceLock<T>]>,
    taken: AtomicUsize,
}

impl<T> Places<T> {
    fn new(count: usize) -> Self {
        Self { all: (0..count).map(|_| OnceLock::new()).collect(), taken: AtomicUsize::new(0) }
    }

    fn take(&self, value: T) -> Result<(), Full> {
        let place = self.taken.fetch_add(1, Ordering::Relaxed);
        let free = self.all.get(place).ok_or(Full(self.all.len()))?;
        let is_set = free.set(value).is_ok();
        debug_assert!(is_set, "each place is given out once");
        Ok(())
    }

    fn iter(&self) -> impl Iterator<Item = &T> {
        self.all.iter().filter_map(OnceLock::get)
    }
}

impl Default for Registry {
    fn default() -> Self {
        Self::with_room_for(BLOCKS)
    }
}

impl Registry {
    /// An empty one with room for so many blocks.
    pub fn with_room_for(blocks: usize) -> Self {
        Self(Arc::new(Shared {
            blocks: Places::new(blocks),
            queues: Places::new(QUEUES),
            readers: Places::new(READERS),
        }))
    }

    /// Takes a place for the counts of `name`, with the limits of those that have
    /// one.
    ///
    /// Errors: there is no room.
    pub fn enter<C: Counted>(&self, name: &str, limits: &[(&str, u64)]) -> Result<Writer<C>, Full> {
        let block = Arc::new(Block::new(C::TABLE, name, limits));
        self.0.blocks.take(Arc::clone(&block))?;
        Ok(Writer { block, counts: std::marker::PhantomData })
    }

    /// All blocks so far.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.0.blocks.iter().map(|block| &**block)
    }

    /// A queue through which the thread of `name` is asked from now on.
    ///
    /// Errors: there is no room.
    pub fn open_queue(&self, name: &str) -> Result<QueryQueue, Full> {
        let (sender, queue) = QueryQueue::new(name);
        self.0.queues.take(sender)?;
        Ok(queue)
    }

    /// The ways to ask each thread.
    pub fn queues(&self) -> impl Iterator<Item = &QuerySender> {
        self.0.queues.iter()
    }

    /// Shows tables that any thread may read from now on. Where there are some of the
    /// same name already, those stay.
    ///
    /// Errors: there is no room.
    pub fn show(&self, tables: impl TableReader + 'static) -> Result<(), Full> {
        match self.readers().any(|known| known.name() == tables.name()) {
            true => Ok(()),
            false => self.0.readers.take(Box::new(tables)),
        }
    }

    /// The tables that any thread may read.
    pub fn readers(&self) -> impl Iterator<Item = &dyn TableReader> {
        self.0.readers.iter().map(|reader| &**reader)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    crate::counts! {
        /// For tests.
        struct Tested = "tested" {
            /// What is there.
            here: usize = now, at most "max-here";
            /// Without a bound.
            free: usize = now;
            /// What came.
            came: u64 = total;
        }
    }

    #[test]
    fn a_block_shows_what_was_published_last_and_the_most_of_what_is_bounded() {
        let registry = Registry::default();
        let mut writer = registry.enter::<Tested>("a", &[("here", 9)]).expect("room");
        for here in [3, 7, 2] {
            writer.publish(&Tested { here, free: here, came: 1 });
        }
        let block = registry.blocks().next().expect("one");
        assert_eq!((block.name(), block.table().group), ("a", "tested"));
        assert_eq!([0, 1, 2, 3].map(|index| block.value(index)), [2, 2, 1, 0]);
        assert_eq!([0, 1, 2].map(|index| block.peak(index)), [Some(7), None, None]);
        assert_eq!([0, 1].map(|index| block.limit(index)), [Some(9), None]);
        writer.set_limits(&[("here", 4)]);
        assert_eq!(block.limit(0), Some(4));
        assert_eq!((block.value_of("came"), block.value_of("gone")), (Some(1), None));
    }

    #[test]
    fn a_full_registry_says_so_and_keeps_what_it_has() {
        let registry = Registry::with_room_for(1);
        assert!(registry.enter::<Tested>("a", &[]).is_ok());
        let error = registry.enter::<Tested>("b", &[]).expect_err("full");
        assert!(error.to_string().contains("room for 1 "), "{error}");
        assert_eq!(registry.blocks().count(), 1);
    }

    #[derive(Debug)]
    struct Named(&'static str);

    impl TableReader for Named {
        fn name(&self) -> &str {
            self.0
        }

        fn views(&self) -> &'static [&'static crate::View] {
            &[]
        }

        fn read(&self, _: &crate::View) -> Result<Vec<crate::Row>, String> {
            Ok(Vec::new())
        }
    }

    #[test]
    fn tables_that_several_threads_show_are_there_once() {
        let registry = Registry::default();
        for name in ["a", "b", "a"] {
            registry.show(Named(name)).expect("room");
        }
        assert_eq!(registry.readers().map(TableReader::name).collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn threads_enter_and_publish_while_others_read() {
        let registry = Registry::default();
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let registry = registry.clone();
                scope.spawn(move || {
                    let name = format!("t{thread}");
                    let mut writer = registry.enter::<Tested>(&name, &[]).expect("room");
                    for came in 1..=1_000 {
                        writer.publish(&Tested { came, ..Tested::default() });
                        let sum: u64 = registry.blocks().map(|block| block.value(2)).sum();
                        assert!(sum >= came);
                    }
                });
            }
        });
        let values: Vec<_> = registry.blocks().map(|block| block.value(2)).collect();
        assert_eq!(values, [1_000; 4]);
    }
}
