//! The input: a file or standard input, looked at before it is read.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use tapeline_inspect::Form;
use tapeline_inspect::capture::is_capture;

use crate::failure::Failure;

/// The most that is read at once, in bytes; captures are read packet by
/// packet and may have any size.
const MAX_BYTES: u64 = 1 << 30;

/// An input and what was read of it.
pub(super) struct InputStream {
    pub(super) path: PathBuf,
    /// Whether someone may still be writing to it: it is no ordinary file.
    pub(super) is_live: bool,
    head: Vec<u8>,
    rest: Box<dyn Read + Send>,
}

/// Opens a file, or standard input for `-`.
pub(super) fn open(path: &Path) -> Result<Box<dyn Read + Send>, Failure> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin()));
    }
    let file = File::open(path).map_err(Failure::read(path))?;
    Ok(Box::new(BufReader::new(file)))
}

/// What messages call an input.
pub(super) fn shown(path: &Path) -> PathBuf {
    if path.as_os_str() == "-" { "standard input".into() } else { path.to_owned() }
}

impl InputStream {
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let rest = open(path)?;
        let is_file = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
        let is_live = path.as_os_str() == "-" || !is_file;
        Ok(Self { path: shown(path), is_live, head: Vec::new(), rest })
    }

    /// The form of the input; `is_typed` tells that it is data of a type that
    /// is known. Reads all of it unless it is a capture.
    pub(super) fn form(&mut self, is_typed: bool) -> Result<Form, Failure> {
        const MAGIC_BYTES: u64 = 4;
        self.fill(MAGIC_BYTES)?;
        if is_capture(&self.head) {
            return Ok(Form::Capture);
        }
        self.fill(MAX_BYTES + 1)?;
        Ok(if is_typed { Form::detect_data(&self.head) } else { Form::detect(&self.head) })
    }

    /// Reads on up to a length.
    fn fill(&mut self, up_to: u64) -> Result<(), Failure> {
        let wanted = up_to.saturating_sub(self.head.len() as u64);
        let read = self.rest.by_ref().take(wanted).read_to_end(&mut self.head);
        read.map(drop).map_err(Failure::read(&self.path))
    }

    /// All of it.
    pub(super) fn bytes(mut self) -> Result<Vec<u8>, Failure> {
        self.fill(MAX_BYTES + 1)?;
        if self.head.is_empty() {
            return Err(Failure::Empty { path: self.path });
        }
        if self.head.len() as u64 > MAX_BYTES {
            return Err(Failure::TooLarge { path: self.path, limit: MAX_BYTES });
        }
        Ok(self.head)
    }

    /// All of it, piece by piece.
    pub(super) fn reader(self) -> impl Read + Send {
        Cursor::new(self.head).chain(self.rest)
    }
}
