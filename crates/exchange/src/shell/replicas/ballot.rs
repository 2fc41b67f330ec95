//! The ballot of a replica, in a file beside its journal: a vote is there before it
//! is given.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use tapeline_layout::message;
use tapeline_sequence::{Ballot, Member};

const FILE: &str = "ballot";

message! {
    /// What is in the file.
    Written: 24, fill 0 {
        0 => term: u32,
        /// One more than the member's number; 0 for nobody.
        4 => voted: u8,
        /// The journal has all that the replica ever had in memory.
        5 => is_whole: u8,
        /// All of it, turned round: half a file is none.
        8 => turned: u64,
        16 => version: u32,
    }
}

const VERSION: u32 = 1;

const fn sum(term: u32, voted: u8, is_whole: u8) -> u64 {
    !((term as u64) << 16 | (voted as u64) << 8 | is_whole as u64)
}

/// The ballot, and whether the replica ended in order. `None` if there is none yet.
pub(super) fn read(dir: &Path) -> io::Result<Option<(Ballot, bool)>> {
    let bytes = match fs::read(dir.join(FILE)) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let written = Written::read(&bytes).filter(|written| {
        let Written { term, voted, is_whole, turned, version } = *written;
        bytes.len() == Written::LEN && version == VERSION && turned == sum(term, voted, is_whole)
    });
    let Some(Written { term, voted, is_whole, .. }) = written else {
        return Err(io::Error::other("the ballot is damaged; restore the file from a copy"));
    };
    let voted = voted.checked_sub(1).map(Member);
    Ok(Some((Ballot { term, voted }, is_whole == 1)))
}

/// Keeps a ballot, on stable storage when this returns.
pub(super) fn write(dir: &Path, ballot: Ballot, is_whole: bool) -> io::Result<()> {
    let (term, voted) = (ballot.term, ballot.voted.map_or(0, |member| member.0 + 1));
    let is_whole = u8::from(is_whole);
    let turned = sum(term, voted, is_whole);
    let written = Written { term, voted, is_whole, turned, version: VERSION };
    let part = dir.join("ballot.part");
    let mut file = File::create(&part)?;
    file.write_all(&written.to_bytes())?;
    file.sync_all()?;
    fs::rename(&part, dir.join(FILE))?;
    File::open(dir)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ballot_is_read_as_it_was_kept_and_damage_is_found() {
        let dir = tempfile::tempdir().expect("a folder");
        assert_eq!(read(dir.path()).expect("a folder"), None);
        for (voted, is_whole) in [(None, false), (Some(Member(0)), true), (Some(Member(2)), false)]
        {
            let ballot = Ballot { term: 77, voted };
            write(dir.path(), ballot, is_whole).expect("room");
            assert_eq!(read(dir.path()).expect("a file"), Some((ballot, is_whole)));
        }
        let whole = fs::read(dir.path().join(FILE)).expect("a file");
        for at in (0..6).chain(8..20) {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            fs::write(dir.path().join(FILE), bytes).expect("room");
            assert!(read(dir.path()).is_err(), "byte {at}");
        }
    }
}
