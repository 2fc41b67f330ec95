//! What a file lies on, and how its blocks have to be aligned.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::{OFlags, statfs};

use crate::GaugeError;

/// What a file system calls itself.
const NAMES: [(u64, &str); 12] = [
    (0xEF53, "ext4"),
    (0x5846_5342, "xfs"),
    (0x9123_683E, "btrfs"),
    (0x0102_1994, MEMORY),
    (0x8584_58F6, MEMORY),
    (0x794C_7630, "overlay"),
    (0x6969, "nfs"),
    (0x6573_5546, "fuse"),
    (0x0102_1997, "9p"),
    (0xF2F5_2010, "f2fs"),
    (0x2FC1_2FC1, "zfs"),
    (0x9FA0, "proc"),
];

/// tmpfs and ramfs: there is no device behind it.
pub(super) const MEMORY: &str = "memory";

/// The folder of a file.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// What the folder of a file lies on.
pub(super) fn of(path: &Path) -> Result<String, GaugeError> {
    let folder = folder(path);
    let what = || format!("the file system of {}", folder.display());
    let told = statfs(folder).map_err(|error| GaugeError::io(what())(io::Error::from(error)))?;
    let kind = told.f_type as u64 & 0xFFFF_FFFF;
    let name = NAMES.iter().find(|(magic, _)| *magic == kind).map(|(_, name)| *name);
    match name {
        Some("proc") => Err(GaugeError::Usage(format!(
            "{}: these are no files but the kernel's tables; give a file on a disk",
            path.display()
        ))),
        Some(name) => Ok(name.to_owned()),
        None => Ok(format!("{kind:#x}")),
    }
}

/// Multiples of how many bytes can be written directly there: found with a file
/// that never has a name.
///
/// Errors: the file system cannot do it at all.
pub(crate) fn direct_alignment(path: &Path) -> Result<usize, GaugeError> {
    let folder = folder(path);
    let flags = (OFlags::TMPFILE | OFlags::DIRECT).bits() as i32;
    let opened =
        File::options().write(true).read(true).custom_flags(flags).mode(0o600).open(folder);
    let file = opened.map_err(|error| match error.raw_os_error() {
        Some(code) if code == rustix::io::Errno::INVAL.raw_os_error() => GaugeError::Unsupported(
            "this file system cannot be written directly (O_DIRECT); use --mode buffered or dsync"
                .to_owned(),
        ),
        _ => GaugeError::io(format!("a file in {}", folder.display()))(error),
    })?;
    let buffer = Aligned::new(LARGEST);
    for bytes in [512, LARGEST] {
        if file.write_all_at(&buffer.as_slice()[..bytes], 0).is_ok() {
            return Ok(bytes);
        }
    }
    Err(GaugeError::Unsupported(format!(
        "{LARGEST} bytes cannot be written directly in {}; use --mode buffered or dsync",
        folder.display()
    )))
}

/// The largest alignment that is tried, and that buffers have.
pub(crate) const LARGEST: usize = 4096;

/// Bytes whose place in memory is a multiple of 4096.
pub(crate) struct Aligned {
    bytes: Vec<u8>,
    from: usize,
    length: usize,
}

impl Aligned {
    pub(crate) fn new(length: usize) -> Self {
        let bytes = vec![0; length + LARGEST];
        let from = bytes.as_ptr().align_offset(LARGEST).min(LARGEST);
        Self { bytes, from, length }
    }

    pub(crate) fn as_slice(&self) -> &[u8] {
        &self.bytes[self.from..self.from + self.length]
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [u8] {
        &mut self.bytes[self.from..self.from + self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_aligned() {
        let buffer = Aligned::new(1000);
        assert_eq!(buffer.as_slice().as_ptr() as usize % LARGEST, 0);
        assert_eq!(buffer.as_slice().len(), 1000);
    }

    #[test]
    fn the_kernels_tables_are_no_disk() {
        let error = of(Path::new("/proc/x")).unwrap_err().to_string();
        assert!(error.starts_with("/proc/x: these are no files"), "{error}");
        assert!(of(Path::new("/no-such-folder/x")).is_err());
    }
}
