//! What a journal is kept on.

use std::io;

/// Segments of bytes: files of a folder, or memory in tests.
pub trait Storage {
    /// The segments that there are, by the index of their first entry, in order.
    fn segments(&self) -> io::Result<Vec<u64>>;

    /// What a person calls a segment; with 0, the whole of them.
    fn name(&self, first: u64) -> String;

    /// Makes a segment of this length, of zeros, and has its room taken.
    fn create(&mut self, first: u64, bytes: u64) -> io::Result<()>;

    /// All bytes of a segment.
    fn read(&self, first: u64) -> io::Result<Vec<u8>>;

    /// Writes to a segment.
    fn write(&mut self, first: u64, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// What was written to a segment is on stable storage when this returns.
    fn sync(&mut self, first: u64) -> io::Result<()>;

    /// Makes zeros of all behind an offset; the segment has this length afterwards.
    fn cut(&mut self, first: u64, offset: u64, bytes: u64) -> io::Result<()>;

    /// Takes a segment away.
    fn remove(&mut self, first: u64) -> io::Result<()>;

    /// Keeps the mark, on stable storage when this returns.
    fn set_mark(&mut self, committed: u64) -> io::Result<()>;

    /// The mark; 0 if there is none, or half of one.
    fn mark(&self) -> u64;
}
