//! What a media driver counts, read from the files in its folder.
//!
//! The files are the driver's memory, and are read while it writes: a number may be
//! that of a moment ago, and none is torn.

mod cnc;
mod losses;
mod rows;

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tapeline_counters::{Row, Rowed, TableReader, View};
use thiserror::Error;

use self::cnc::{Counter, HEAD_BYTES, Layout, METADATA_BYTES, VALUE_BYTES};
use self::losses::Loss;
pub use rows::{DriverRow, DriverStreamRow};

/// How much of the counters is read at once: few are used.
const PIECE_BYTES: u64 = 128 * METADATA_BYTES as u64;

/// The most of a loss report that is read; Aeron's own default is 1 MiB.
const MAX_REPORT_BYTES: u64 = 16 << 20;

/// Why nothing is known of a media driver.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DriverFilesError {
    /// A file cannot be read.
    #[error("no media driver at {}: {error}", path.display())]
    Read {
        /// Which one.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// A file is not what it should be.
    #[error("counters of the media driver in {}: {text}", path.display())]
    Odd {
        /// Which one.
        path: PathBuf,
        /// What is odd about it.
        text: String,
    },
}

/// The folder of a media driver, to be looked at from any thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverFiles {
    folder: PathBuf,
}

impl DriverFiles {
    /// Those of the driver in a folder.
    pub fn at(folder: &Path) -> Self {
        Self { folder: folder.to_owned() }
    }

    /// What the driver counts.
    ///
    /// Errors: there is no driver, or its counters are laid out in another way.
    pub fn driver(&self) -> Result<DriverRow, DriverFilesError> {
        Ok(DriverRow::of(&self.folder, &self.counters()?))
    }

    /// Its streams.
    ///
    /// Errors: as for [`Self::driver`].
    pub fn streams(&self) -> Result<Vec<DriverStreamRow>, DriverFilesError> {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now_ms = since.map_or(0, |since| since.as_millis() as u64);
        Ok(rows::streams(&self.counters()?, &self.losses()?, now_ms))
    }

    fn counters(&self) -> Result<Vec<Counter>, DriverFilesError> {
        let path = self.folder.join("cnc.dat");
        let failed = |error| DriverFilesError::Read { path: path.clone(), error };
        let file = File::open(&path).map_err(failed)?;
        let mut head = [0; HEAD_BYTES];
        file.read_exact_at(&mut head, 0).map_err(failed)?;
        let layout = Layout::decode(&head)
            .map_err(|text| DriverFilesError::Odd { path: path.clone(), text })?;
        let metadata = used_metadata(&file, layout).map_err(failed)?;
        let wanted = (metadata.len() / METADATA_BYTES * VALUE_BYTES) as u64;
        let mut values = vec![0; wanted.min(layout.values_bytes) as usize];
        file.read_exact_at(&mut values, layout.values_at).map_err(failed)?;
        Ok(cnc::counters(&metadata, &values))
    }

    fn losses(&self) -> Result<Vec<Loss>, DriverFilesError> {
        let path = self.folder.join("loss-report.dat");
        let failed = |error| DriverFilesError::Read { path: path.clone(), error };
        let mut report = Vec::new();
        let file = File::open(&path).map_err(failed)?;
        io::Read::read_to_end(&mut io::Read::take(file, MAX_REPORT_BYTES), &mut report)
            .map_err(failed)?;
        Ok(losses::losses(&report))
    }
}

/// What the counters are, up to the last that was ever used.
fn used_metadata(file: &File, layout: Layout) -> io::Result<Vec<u8>> {
    let mut metadata = Vec::new();
    while (metadata.len() as u64) < layout.metadata_bytes {
        let begin = metadata.len();
        let piece = PIECE_BYTES.min(layout.metadata_bytes - begin as u64);
        metadata.resize(begin + piece as usize, 0);
        file.read_exact_at(&mut metadata[begin..], layout.metadata_at + begin as u64)?;
        let used = cnc::used(&metadata) * METADATA_BYTES;
        if used < metadata.len() {
            metadata.truncate(used);
            break;
        }
    }
    Ok(metadata)
}

impl TableReader for DriverFiles {
    /// Not the folder: of a driver inside a process it is another one in each run, and
    /// there is one driver for all threads of a process.
    fn name(&self) -> &'static str {
        "driver"
    }

    fn views(&self) -> &'static [&'static View] {
        const VIEWS: &[&View] = &[DriverRow::VIEW, DriverStreamRow::VIEW];
        VIEWS
    }

    fn read(&self, view: &View) -> Result<Vec<Row>, String> {
        let rows = match view.name {
            name if name == DriverRow::VIEW.name => self.driver().map(|row| vec![row.into_row()]),
            _ => self.streams().map(|rows| rows.into_iter().map(Rowed::into_row).collect()),
        };
        rows.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_read_as_a_driver_leaves_it() {
        let folder = tempfile::tempdir().unwrap();
        let files = DriverFiles::at(folder.path());
        let text = files.driver().unwrap_err().to_string();
        assert!(text.starts_with("no media driver at ") && text.contains("cnc.dat"), "{text}");

        // More than are read at once.
        let many = (0..300).map(|count| {
            let key = cnc::made::key(count, 1_001, "aeron:udp?endpoint=239.0.0.1:4000");
            (1, cnc::NAKS_SENT, key, "rcv-naks-sent", i64::from(count))
        });
        let naks = (1, cnc::SYSTEM, 5_i32.to_ne_bytes().into(), "NAKs sent", 44_850);
        let all: Vec<_> = std::iter::once(naks).chain(many).collect();
        std::fs::write(folder.path().join("cnc.dat"), cnc::made::file(&all)).unwrap();
        assert_eq!(files.driver().unwrap().naks_sent, 44_850);
        let text = files.streams().unwrap_err().to_string();
        assert!(text.contains("loss-report.dat"), "{text}");

        let loss = losses::made::loss(299, "aeron:udp", "10.0.0.12:4000");
        let report = [losses::made::entry(&loss), vec![0; 512]].concat();
        std::fs::write(folder.path().join("loss-report.dat"), report).unwrap();
        let rows = files.streams().unwrap();
        assert_eq!(rows.len(), 300);
        assert_eq!((rows[299].naks, rows[299].lost_bytes), (299, 4_096));
        let read = files.read(DriverStreamRow::VIEW).unwrap();
        assert_eq!((read.len(), files.read(DriverRow::VIEW).unwrap().len()), (300, 1));
    }

    #[test]
    fn a_file_that_ends_too_early_is_said_to() {
        let folder = tempfile::tempdir().unwrap();
        let files = DriverFiles::at(folder.path());
        let whole = cnc::made::file(&[]);
        for bytes in [0, 100, 200, whole.len() - 1_000] {
            std::fs::write(folder.path().join("cnc.dat"), &whole[..bytes]).unwrap();
            let text = files.driver().unwrap_err().to_string();
            assert!(text.contains("cnc.dat"), "{bytes}: {text}");
        }
        std::fs::write(folder.path().join("cnc.dat"), vec![0; whole.len()]).unwrap();
        let text = files.driver().unwrap_err().to_string();
        assert!(text.ends_with("it is not finished"), "{text}");
    }
}
