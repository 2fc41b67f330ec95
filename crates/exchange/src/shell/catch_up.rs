//! Entries out of the journal's files, for who is far behind.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use tapeline_sequence::{Entry, HEAD, MAX_ENTRY, SEGMENT_HEAD};

use super::files;

/// Bytes that are looked through at one go.
const SLICE_BYTES: usize = MAX_ENTRY;

/// Where one who is behind is in the journal.
#[derive(Debug)]
struct Place {
    first: u64,
    file: File,
    offset: u64,
    /// The entry that begins there.
    next: u64,
}

/// Reads a journal that another thread writes, for one who is behind: each call goes
/// on where the last one ended.
#[derive(Debug)]
pub(super) struct CatchUp {
    dir: PathBuf,
    place: Option<Place>,
    buffer: Vec<u8>,
}

impl CatchUp {
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), place: None, buffer: Vec::new() }
    }

    /// Appends entries from this one on: none if it takes longer to find them, or
    /// they are not written yet.
    pub(super) fn read(
        &mut self,
        from: u64,
        most_bytes: usize,
        out: &mut Vec<u8>,
    ) -> io::Result<()> {
        if self.place.as_ref().is_none_or(|place| place.next > from) {
            self.place = self.seek(from)?;
        }
        let Some(place) = &mut self.place else { return Ok(()) };
        self.buffer.resize(SLICE_BYTES, 0);
        let len = place.file.read_at(&mut self.buffer, place.offset)?;
        let mut rest = &self.buffer[..len];
        let begin = out.len();
        while rest.len() >= HEAD
            && let Ok((entry, behind)) = Entry::read(rest)
        {
            // Anything else has been cut off, and is being written again.
            if entry.head().index != place.next {
                break;
            }
            if place.next >= from {
                if out.len() > begin && out.len() - begin + entry.bytes().len() > most_bytes {
                    return Ok(());
                }
                out.extend_from_slice(entry.bytes());
            }
            place.next += 1;
            place.offset += entry.bytes().len() as u64;
            rest = behind;
        }
        // It may go on in the next segment.
        if out.len() == begin {
            let next = place.next;
            let is_over = self.seek(next)?.filter(|other| other.first == next);
            if is_over.is_some() {
                self.place = is_over;
            }
        }
        Ok(())
    }

    /// The first entry that is there.
    pub(super) fn oldest(&self) -> io::Result<Option<u64>> {
        Ok(files::segments(&self.dir)?.first().copied())
    }

    /// The beginning of the segment that has an entry.
    fn seek(&self, index: u64) -> io::Result<Option<Place>> {
        let all = files::segments(&self.dir)?;
        let Some(first) = all.into_iter().rev().find(|first| *first <= index) else {
            return Ok(None);
        };
        let file = File::open(files::path(&self.dir, first))?;
        Ok(Some(Place { first, file, offset: SEGMENT_HEAD as u64, next: first }))
    }
}
