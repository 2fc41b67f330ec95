//! A journal and the snapshots beside it, read while another thread writes them, for
//! distributions that begin late.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::catch_up::CatchUp;
use super::snapshot;
use crate::core::{Past, SessionId};

/// What a market's journal has.
#[derive(Debug)]
pub(super) struct Kept {
    dir: PathBuf,
    /// Where each reader is.
    readers: BTreeMap<SessionId, CatchUp>,
    /// The snapshot that is being read.
    open: Option<(u64, File)>,
}

impl Kept {
    pub(super) fn new(dir: &Path) -> Self {
        Self { dir: dir.to_owned(), readers: BTreeMap::new(), open: None }
    }

    fn failed(&self, what: &str, error: &std::io::Error) {
        let dir = self.dir.display();
        tracing::error!(%error, %dir, what, "what was kept cannot be read for a distribution");
    }
}

impl Past for Kept {
    fn oldest(&mut self) -> Option<u64> {
        let oldest = CatchUp::new(&self.dir).oldest();
        oldest.inspect_err(|error| self.failed("segments", error)).ok().flatten()
    }

    fn entries(&mut self, reader: SessionId, from: u64, most_bytes: usize, out: &mut Vec<u8>) {
        let dir = &self.dir;
        let catch_up = self.readers.entry(reader).or_insert_with(|| CatchUp::new(dir));
        if let Err(error) = catch_up.read(from, most_bytes, out) {
            self.failed("entries", &error);
        }
    }

    fn newest_state(&mut self, before: u64) -> Option<u64> {
        let all = snapshot::list(&self.dir).inspect_err(|error| self.failed("states", error));
        all.ok()?.into_iter().find(|index| *index < before)
    }

    fn state(
        &mut self,
        index: u64,
        offset: u64,
        most_bytes: usize,
        out: &mut Vec<u8>,
    ) -> Option<bool> {
        let mut read = || {
            if self.open.as_ref().is_none_or(|(open, _)| *open != index) {
                self.open = Some((index, File::open(snapshot::path(&self.dir, index))?));
            }
            let Some((_, file)) = &self.open else { return Ok(false) };
            let (begin, whole) = (out.len(), file.metadata()?.len());
            out.resize(begin + most_bytes, 0);
            let len = file.read_at(&mut out[begin..], offset)?;
            out.truncate(begin + len);
            Ok(offset + len as u64 >= whole)
        };
        let is_last = read().inspect_err(|error| self.failed("a state", error)).ok()?;
        if is_last {
            self.open = None;
        }
        Some(is_last)
    }
}
