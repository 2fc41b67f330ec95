//! Segments in memory, with the faults that disks have.

use std::collections::BTreeMap;
use std::io;

use crate::journal::storage::Storage;

/// Segments in memory. What is not synced can be lost, and the disk can be full.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    segments: BTreeMap<u64, Vec<u8>>,
    mark: u64,
    /// Bytes that segments may take in all.
    pub room: Option<u64>,
    /// The next calls of `sync` fail.
    pub fails_to_sync: bool,
    /// How often something was made safe.
    pub syncs: u64,
}

impl Memory {
    /// The bytes of a segment, to damage.
    pub fn segment_mut(&mut self, first: u64) -> Option<&mut Vec<u8>> {
        self.segments.get_mut(&first)
    }

    fn at(&mut self, first: u64) -> io::Result<&mut Vec<u8>> {
        self.segments.get_mut(&first).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Storage for Memory {
    fn segments(&self) -> io::Result<Vec<u64>> {
        Ok(self.segments.keys().copied().collect())
    }

    fn name(&self, first: u64) -> String {
        format!("segment {first}")
    }

    fn create(&mut self, first: u64, bytes: u64) -> io::Result<()> {
        let taken: u64 = self.segments.values().map(|segment| segment.len() as u64).sum();
        if self.room.is_some_and(|room| taken + bytes > room) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.segments.insert(first, vec![0; bytes as usize]);
        Ok(())
    }

    fn read(&self, first: u64) -> io::Result<Vec<u8>> {
        self.segments.get(&first).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn write(&mut self, first: u64, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let segment = self.at(first)?;
        let place = segment.get_mut(offset as usize..).and_then(|to| to.get_mut(..bytes.len()));
        place.ok_or(io::ErrorKind::UnexpectedEof)?.copy_from_slice(bytes);
        Ok(())
    }

    fn sync(&mut self, first: u64) -> io::Result<()> {
        self.at(first)?;
        if self.fails_to_sync {
            return Err(io::Error::other("the disk does not answer"));
        }
        self.syncs += 1;
        Ok(())
    }

    fn cut(&mut self, first: u64, offset: u64, bytes: u64) -> io::Result<()> {
        let segment = self.at(first)?;
        segment.truncate(offset as usize);
        segment.resize(bytes as usize, 0);
        Ok(())
    }

    fn remove(&mut self, first: u64) -> io::Result<()> {
        self.segments.remove(&first);
        Ok(())
    }

    fn set_mark(&mut self, committed: u64) -> io::Result<()> {
        self.mark = committed;
        Ok(())
    }

    fn mark(&self) -> u64 {
        self.mark
    }
}
