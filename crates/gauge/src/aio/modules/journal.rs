//! A file that every message is written to.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{Came, Module, Outlet};
use crate::GaugeError;
use crate::aio::flow::JournalSpec;
use crate::disk::{Aligned, LARGEST, direct_alignment};
use crate::message::MAX_BYTES;

/// Writes messages one behind the other; passes them on, if there is somebody.
pub(in crate::aio) struct Journal {
    spec: JournalSpec,
    file: File,
    has_output: bool,
    /// Written since the last sync.
    since_sync: u64,
    /// When the group that waits is made durable.
    group_ends_ns: Option<u64>,
    /// What waits until it is durable: bytes one behind the other, and where
    /// each came from.
    waiting: Vec<u8>,
    lengths: Vec<(usize, Came)>,
    /// The first that failed; told in the next turn.
    failed: Option<std::io::Error>,
    direct: Option<Direct>,
}

/// What writes past the cache: a message fills whole blocks, the rest of the
/// last one being zeros.
struct Direct {
    block_bytes: usize,
    buffer: Aligned,
}

impl Direct {
    fn for_file(path: &Path) -> Result<Self, GaugeError> {
        let block_bytes = direct_alignment(path)?;
        Ok(Self { block_bytes, buffer: Aligned::new(MAX_BYTES.next_multiple_of(LARGEST)) })
    }

    fn blocks(&mut self, message: &[u8]) -> &[u8] {
        let whole = message.len().next_multiple_of(self.block_bytes);
        let (front, rest) = self.buffer.as_mut_slice()[..whole].split_at_mut(message.len());
        front.copy_from_slice(message);
        rest.fill(0);
        &self.buffer.as_slice()[..whole]
    }
}

impl Journal {
    /// Errors: there is such a file already, or there cannot be one.
    pub(in crate::aio) fn create(spec: &JournalSpec, has_output: bool) -> Result<Self, GaugeError> {
        let name = spec.file.display();
        let mut flags = OFlags::empty();
        flags.set(OFlags::DSYNC, spec.mode.is_dsync);
        flags.set(OFlags::DIRECT, spec.mode.is_direct);
        let direct = match spec.mode.is_direct {
            true => Some(Direct::for_file(&spec.file)?),
            false => None,
        };
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .custom_flags(flags.bits() as i32)
            .open(&spec.file)
            .map_err(GaugeError::io(format!("the journal {name}, which is to be a new file")))?;
        Ok(Self {
            spec: spec.clone(),
            file,
            has_output,
            since_sync: 0,
            group_ends_ns: None,
            waiting: Vec::new(),
            lengths: Vec::new(),
            failed: None,
            direct,
        })
    }

    fn sync(&mut self) {
        if let Err(error) = self.file.sync_data() {
            self.failed.get_or_insert(error);
        }
        self.since_sync = 0;
    }

    /// Everything that waits is durable: it goes on.
    fn release(&mut self, outlet: &mut dyn Outlet) {
        let mut from = 0;
        for (length, came) in self.lengths.drain(..) {
            let to = from + length;
            outlet.send_over(0, came.connection, &mut self.waiting[from..to]);
            from = to;
        }
        self.waiting.clear();
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        let path: &PathBuf = &self.spec.file;
        // It was made for this run, and nobody can be told any more.
        let _ = std::fs::remove_file(path);
    }
}

impl Module for Journal {
    fn message(&mut self, came: Came, message: &mut [u8], outlet: &mut dyn Outlet) {
        if came.is_answer {
            return super::relay(came, message, outlet);
        }
        if self.has_output && !self.spec.before {
            outlet.send(0, message);
        }
        let written = match &mut self.direct {
            Some(direct) => self.file.write_all(direct.blocks(message)),
            None => self.file.write_all(message),
        };
        if let Err(error) = written {
            self.failed.get_or_insert(error);
            return;
        }
        self.since_sync += 1;
        let is_grouped = self.spec.group_us > 0;
        if is_grouped {
            self.group_ends_ns.get_or_insert(came.at_ns + self.spec.group_us * 1000);
        } else if self.spec.sync_every > 0 && self.since_sync >= self.spec.sync_every {
            self.sync();
        }
        if !self.has_output || !self.spec.before {
            return;
        }
        if is_grouped {
            self.waiting.extend_from_slice(message);
            self.lengths.push((message.len(), came));
        } else {
            outlet.send(0, message);
        }
    }

    fn turn(&mut self, now_ns: u64, outlet: &mut dyn Outlet) -> Result<u64, GaugeError> {
        if self.group_ends_ns.is_some_and(|end| now_ns >= end) {
            self.group_ends_ns = None;
            self.sync();
            self.release(outlet);
        }
        match self.failed.take() {
            Some(error) => {
                Err(GaugeError::io(format!("the journal {}", self.spec.file.display()))(error))
            }
            None => Ok(self.group_ends_ns.unwrap_or(u64::MAX)),
        }
    }

    fn is_clear(&self) -> bool {
        self.lengths.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{Gone, message};
    use super::*;
    use crate::disk::Mode;

    fn spec(folder: &tempfile::TempDir) -> JournalSpec {
        JournalSpec {
            file: folder.path().join("journal"),
            mode: Mode::default(),
            sync_every: 1,
            group_us: 0,
            before: true,
        }
    }

    fn give(journal: &mut Journal, seq: u64, at_ns: u64, gone: &mut Gone) {
        let came = Came { at_ns, ..Came::default() };
        journal.message(came, &mut message(1, seq, 64), gone);
    }

    #[test]
    fn what_is_passed_on_is_in_the_file_which_goes_with_the_run() {
        let folder = tempfile::tempdir().unwrap();
        for mode in Mode::ALL.into_iter().filter(|mode| !mode.is_direct) {
            let spec = JournalSpec { mode, ..spec(&folder) };
            let (mut gone, mut journal) = (Gone::default(), Journal::create(&spec, true).unwrap());
            (0..3).for_each(|seq| give(&mut journal, seq, 0, &mut gone));
            assert_eq!(
                (gone.seqs(), journal.turn(0, &mut gone).unwrap()),
                (vec![0, 1, 2], u64::MAX)
            );
            assert_eq!(std::fs::read(&spec.file).unwrap(), gone.messages.concat());
            // Somebody's file is not written over.
            let error = Journal::create(&spec, true).err().unwrap().to_string();
            assert!(error.contains("which is to be a new file"), "{error}");
            drop(journal);
            assert!(!spec.file.exists());
        }
    }

    #[test]
    fn past_the_cache_each_message_has_blocks_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        for mode in Mode::ALL.into_iter().filter(|mode| mode.is_direct) {
            let spec = JournalSpec { mode, ..spec(&folder) };
            let mut journal = match Journal::create(&spec, true) {
                Ok(journal) => journal,
                Err(error) => {
                    assert!(error.to_string().contains("cannot be written directly"), "{error}");
                    assert!(!spec.file.exists());
                    continue;
                }
            };
            let mut gone = Gone::default();
            (0..3).for_each(|seq| give(&mut journal, seq, 0, &mut gone));
            assert_eq!(
                (gone.seqs(), journal.turn(0, &mut gone).unwrap()),
                (vec![0, 1, 2], u64::MAX)
            );
            let written = std::fs::read(&spec.file).unwrap();
            let block_bytes = written.len() / 3;
            assert!([512, LARGEST].contains(&block_bytes), "{}", written.len());
            for (block, message) in written.chunks(block_bytes).zip(&gone.messages) {
                assert!(block.starts_with(message));
                assert!(block[message.len()..].iter().all(|byte| *byte == 0));
            }
        }
    }

    #[test]
    fn a_group_goes_on_when_all_of_it_is_durable() {
        let folder = tempfile::tempdir().unwrap();
        let spec = JournalSpec { group_us: 200, ..spec(&folder) };
        let (mut gone, mut journal) = (Gone::default(), Journal::create(&spec, true).unwrap());
        give(&mut journal, 0, 1_000, &mut gone);
        give(&mut journal, 1, 150_000, &mut gone);
        assert_eq!(journal.turn(150_000, &mut gone).unwrap(), 201_000);
        assert!(gone.all.is_empty() && !journal.is_clear());
        assert_eq!(journal.turn(201_000, &mut gone).unwrap(), u64::MAX);
        assert!(gone.seqs() == [0, 1] && journal.is_clear());
        // Those who need not wait for it do not.
        let spec = JournalSpec { file: folder.path().join("other"), before: false, ..spec };
        let mut journal = Journal::create(&spec, true).unwrap();
        give(&mut journal, 2, 0, &mut gone);
        assert_eq!(gone.seqs(), [0, 1, 2]);
    }
}
