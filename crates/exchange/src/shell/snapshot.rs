//! Snapshots: the state of a market in files beside its journal, so that a start does
//! not do again what was done long ago.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use tapeline_layout::{Text, message};
use tapeline_sequence::Identity;

const SUFFIX: &str = ".snapshot";

/// The newest ones that are kept: the second is there if the first cannot be read.
const KEPT: usize = 2;

const MAGIC: &str = "TAPESNAP";

/// Another layout of the state is another version.
const VERSION: u32 = 5;

message! {
    /// What a snapshot begins with.
    Head: 64, fill 0 {
        0 => magic: Text<8>,
        8 => version: u32,
        /// The last entry that led to it.
        16 => index: u64,
        24 => bytes: u64,
    }
}

/// Bytes of the digest that a snapshot ends with.
const DIGEST: usize = 32;

fn path(dir: &Path, index: u64) -> PathBuf {
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

/// The digest of a snapshot of a market.
fn sum(identity: Identity, head_and_state: &[u8]) -> [u8; DIGEST] {
    let mut bytes = [0; DIGEST];
    let whole = [&identity.0, head_and_state].concat();
    bytes.copy_from_slice(digest(&SHA256, &whole).as_ref());
    bytes
}

/// Writes the state behind an entry, and takes away what is older than the ones that
/// are kept. Returns up to which entry the oldest of these needs no journal.
pub(super) fn write(dir: &Path, identity: Identity, index: u64, state: &[u8]) -> io::Result<u64> {
    let head = Head { magic: Text::new(MAGIC), version: VERSION, index, bytes: state.len() as u64 };
    let mut bytes = head.to_bytes().to_vec();
    bytes.extend_from_slice(state);
    let digest = sum(identity, &bytes);
    bytes.extend_from_slice(&digest);
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
    let mut bytes = fs::read(path(dir, index))?;
    let Some(end) = bytes.len().checked_sub(DIGEST).filter(|end| *end >= Head::LEN) else {
        return Ok(None);
    };
    let is_whole = sum(identity, &bytes[..end]) == bytes[end..];
    let is_ours = Head::read(&bytes[..Head::LEN]).is_some_and(|head| {
        head.magic == Text::new(MAGIC) && head.version == VERSION && head.index == index
    });
    if !is_whole || !is_ours {
        return Ok(None);
    }
    bytes.truncate(end);
    bytes.drain(..Head::LEN);
    Ok(Some(bytes))
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
