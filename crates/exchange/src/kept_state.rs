//! A state of a market as it is kept: which entry led to it, and a digest of all of it.

use ring::digest::{SHA256, digest};
use tapeline_layout::{Text, message};
use tapeline_sequence::Identity;

const MAGIC: &str = "TAPESNAP";

/// Another layout of the state is another version.
const VERSION: u32 = 5;

message! {
    /// What it begins with.
    Head: 64, fill 0 {
        0 => magic: Text<8>,
        8 => version: u32,
        /// The last entry that led to it.
        16 => index: u64,
        24 => bytes: u64,
    }
}

/// Bytes of the digest that it ends with.
const DIGEST: usize = 32;

/// The digest of a state of a market.
fn sum(identity: Identity, head_and_state: &[u8]) -> [u8; DIGEST] {
    let mut bytes = [0; DIGEST];
    let whole = [&identity.0, head_and_state].concat();
    bytes.copy_from_slice(digest(&SHA256, &whole).as_ref());
    bytes
}

/// The state behind an entry, as it is kept.
pub(crate) fn close(identity: Identity, index: u64, state: &[u8]) -> Vec<u8> {
    let head = Head { magic: Text::new(MAGIC), version: VERSION, index, bytes: state.len() as u64 };
    let mut bytes = head.to_bytes().to_vec();
    bytes.extend_from_slice(state);
    let digest = sum(identity, &bytes);
    bytes.extend_from_slice(&digest);
    bytes
}

/// The state behind an entry. `None` if it is damaged, or of another market or version.
pub(crate) fn open(mut bytes: Vec<u8>, identity: Identity, index: u64) -> Option<Vec<u8>> {
    let end = bytes.len().checked_sub(DIGEST).filter(|end| *end >= Head::LEN)?;
    let is_whole = sum(identity, &bytes[..end]) == bytes[end..];
    let is_ours = Head::read(&bytes[..Head::LEN]).is_some_and(|head| {
        head.magic == Text::new(MAGIC) && head.version == VERSION && head.index == index
    });
    if !is_whole || !is_ours {
        return None;
    }
    bytes.truncate(end);
    bytes.drain(..Head::LEN);
    Some(bytes)
}
