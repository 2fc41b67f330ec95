//! Snapshots: the state of a market in files beside its journal, so that a start does
//! not do again what was done long ago.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tapeline_sequence::Identity;

use crate::kept_state;

const SUFFIX: &str = ".snapshot";

/// The newest ones that are kept: the second is there if the first cannot be read.
const KEPT: usize = 2;

/// The file of a snapshot.
pub(super) fn path(dir: &Path, index: u64) -> PathBuf {
    dir.join(format!("{index:020}{SUFFIX}"))
}

/// The snapshots of a folder, the newest first.
pub(super) fn list(dir: &Path) -> io::Result<Vec<u64>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let name = entry?.file_name();
        let index = name.to_str().and_then(|name| name.strip_suffix(SUFFIX));
        found.extend(index.and_then(|index| index.parse::<u64>().ok()));
    }
    found.sort_unstable_by(|one, other| other.cmp(one));
    Ok(found)
}

/// Writes the state behind an entry, and takes away what is older than the ones that
/// are kept. Returns up to which entry the oldest of these needs no journal.
pub(super) fn write(dir: &Path, identity: Identity, index: u64, state: &[u8]) -> io::Result<u64> {
    let bytes = kept_state::close(identity, index, state);
    let (whole, part) = (path(dir, index), dir.join("snapshot.part"));
    let mut file = File::create(&part)?;
    file.write_all(&bytes)?;
    file.sync_all()?;
    fs::rename(&part, &whole)?;
    File::open(dir)?.sync_all()?;
    let all = list(dir)?;
    for old in all.iter().skip(KEPT) {
        fs::remove_file(path(dir, *old))?;
    }
    let oldest = all.get(KEPT - 1).copied();
    // With one only, the journal is the second.
    Ok(oldest.unwrap_or(0))
}

/// The state behind an entry. `None` if it is damaged, or of another market or
/// version.
pub(super) fn read(dir: &Path, identity: Identity, index: u64) -> io::Result<Option<Vec<u8>>> {
    Ok(kept_state::open(fs::read(path(dir, index))?, identity, index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_snapshots_are_kept_and_a_damaged_one_is_none() {
        let dir = tempfile::tempdir().expect("a folder");
        let (ours, dir) = (Identity([7; 32]), dir.path());
        let kept: Vec<u64> = [5, 9, 12]
            .map(|index| write(dir, ours, index, &[index as u8; 100]).expect("room"))
            .into();
        assert_eq!(kept, [0, 5, 9]);
        assert_eq!(list(dir).expect("a folder"), [12, 9]);
        assert_eq!(read(dir, ours, 12).expect("a file"), Some(vec![12; 100]));
        assert_eq!(read(dir, Identity([8; 32]), 12).expect("a file"), None, "another market");
        let file = path(dir, 12);
        let whole = fs::read(&file).expect("a file");
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            fs::write(&file, &bytes).expect("room");
            // What fills the head up is in the digest, too.
            assert_eq!(read(dir, ours, 12).expect("a file"), None, "byte {at}");
        }
        fs::write(&file, &whole[..50]).expect("room");
        assert_eq!(read(dir, ours, 12).expect("a file"), None, "cut off");
    }
}
