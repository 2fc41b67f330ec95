//! The usage journal: what happened, as records that are only ever appended.
//!
//! A record is its length (u32), a CRC-32 of what follows (u32), and what
//! follows: kind (u8), milliseconds since 1970 (u64), then user, position,
//! application, service, item and lock, each with its length (u16) in front.
//! All numbers are big endian. Whoever is killed while writing leaves a torn
//! tail, which is recognised by its length or its checksum.

/// A longer part of a record is cut: no name on the wire is longer.
const MAX_PART_BYTES: usize = u16::MAX as usize;
/// Length and checksum.
const HEAD_BYTES: usize = 8;
/// A record with all its parts at their longest.
const MAX_BODY_BYTES: usize = 9 + PARTS * (2 + MAX_PART_BYTES);
const PARTS: usize = 6;

/// What happened, with the numbers that the vendor's permission system has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A watch began.
    StartWatch = 1,
    /// A watch ended.
    StopWatch = 2,
    /// An item was denied.
    AccessDenied = 3,
    /// A user logged in.
    Login = 4,
    /// A login was refused.
    LoginDenied = 5,
    /// A user logged out.
    Logout = 6,
    /// A watch goes on, in a new file.
    ContinueWatch = 9,
    /// A post was taken.
    InsertStart = 10,
    /// A post was refused.
    InsertDenied = 11,
    /// A snapshot was given.
    Snapshot = 12,
}

impl Kind {
    const ALL: [Self; 10] = [
        Self::StartWatch,
        Self::StopWatch,
        Self::AccessDenied,
        Self::Login,
        Self::LoginDenied,
        Self::Logout,
        Self::ContinueWatch,
        Self::InsertStart,
        Self::InsertDenied,
        Self::Snapshot,
    ];

    fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// One event of usage. What does not apply is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage<'a> {
    /// What happened.
    pub kind: Kind,
    /// When, in milliseconds since 1970.
    pub time_ms: u64,
    /// The user.
    pub user: &'a str,
    /// The user's position.
    pub position: &'a str,
    /// The application's number.
    pub application: &'a str,
    /// The item's service.
    pub service: &'a str,
    /// The item's name.
    pub item: &'a str,
    /// The item's lock.
    pub lock: &'a [u8],
}

impl Usage<'_> {
    /// Appends the record.
    pub fn encode(&self, to: &mut Vec<u8>) {
        let start = to.len();
        to.extend([0; HEAD_BYTES]);
        to.push(self.kind as u8);
        to.extend(self.time_ms.to_be_bytes());
        for text in [self.user, self.position, self.application, self.service, self.item] {
            put(to, cut(text).as_bytes());
        }
        put(to, &self.lock[..self.lock.len().min(MAX_PART_BYTES)]);
        let body = start + HEAD_BYTES;
        let (len, sum) = ((to.len() - body) as u32, crc32fast::hash(&to[body..]));
        to[start..start + 4].copy_from_slice(&len.to_be_bytes());
        to[start + 4..body].copy_from_slice(&sum.to_be_bytes());
    }
}

fn put(to: &mut Vec<u8>, part: &[u8]) {
    to.extend((part.len() as u16).to_be_bytes());
    to.extend(part);
}

/// The most of a text that a part of a record holds.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(MAX_PART_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// The records of a journal, up to the first that is not whole.
#[derive(Clone, Debug)]
pub struct Journal<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Journal<'b> {
    /// Reads these bytes.
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes the records have that were read: where a journal with a
    /// torn tail goes on, once it is cut here.
    pub fn good_bytes(&self) -> usize {
        self.at
    }

    /// How many bytes are left. At the end of the records, those of the torn
    /// tail.
    pub fn left_bytes(&self) -> usize {
        self.bytes.len() - self.at
    }
}

impl<'b> Iterator for Journal<'b> {
    type Item = Usage<'b>;

    fn next(&mut self) -> Option<Usage<'b>> {
        let rest = &self.bytes[self.at..];
        let (len, rest) = rest.split_first_chunk::<4>()?;
        let (sum, rest) = rest.split_first_chunk::<4>()?;
        let len = u32::from_be_bytes(*len) as usize;
        let body = rest.get(..len).filter(|_| len <= MAX_BODY_BYTES)?;
        if crc32fast::hash(body) != u32::from_be_bytes(*sum) {
            return None;
        }
        let usage = usage_of(body)?;
        self.at += HEAD_BYTES + len;
        Some(usage)
    }
}

fn usage_of(body: &[u8]) -> Option<Usage<'_>> {
    let (kind, rest) = body.split_first()?;
    let (time_ms, mut rest) = rest.split_first_chunk::<8>()?;
    let mut part = || {
        let (len, behind) = rest.split_first_chunk::<2>()?;
        let (part, behind) = behind.split_at_checked(usize::from(u16::from_be_bytes(*len)))?;
        rest = behind;
        Some(part)
    };
    let mut texts = [""; 5];
    for text in &mut texts {
        *text = std::str::from_utf8(part()?).ok()?;
    }
    let lock = part()?;
    let [user, position, application, service, item] = texts;
    let (kind, time_ms) = (Kind::of(*kind)?, u64::from_be_bytes(*time_ms));
    let usage = Usage { kind, time_ms, user, position, application, service, item, lock };
    rest.is_empty().then_some(usage)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn usage(kind: Kind, item: &str) -> Usage<'_> {
        let (user, position, application, service) = ("jdoe", "10.0.0.7/net", "256", "FEED");
        let lock = &[3, 1, 1, 0x62, 0xC0];
        Usage { kind, time_ms: 1 << 40, user, position, application, service, item, lock }
    }

    fn three() -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut ends) = (Vec::new(), Vec::new());
        for (kind, item) in [(Kind::StartWatch, "VOD.L"), (Kind::Snapshot, ""), (Kind::Logout, "€")]
        {
            usage(kind, item).encode(&mut bytes);
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    #[test]
    fn what_is_written_is_read() {
        let (bytes, _) = three();
        let mut journal = Journal::new(&bytes);
        assert_eq!(journal.next(), Some(usage(Kind::StartWatch, "VOD.L")));
        assert_eq!(journal.by_ref().count(), 2);
        assert_eq!((journal.good_bytes(), journal.left_bytes()), (bytes.len(), 0));
    }

    #[test]
    fn a_tail_that_is_torn_anywhere_is_recognised() {
        let (bytes, ends) = three();
        for cut in 0..bytes.len() {
            let mut journal = Journal::new(&bytes[..cut]);
            let whole = ends.iter().filter(|end| **end <= cut).count();
            assert_eq!(journal.by_ref().count(), whole, "{cut}");
            assert_eq!(journal.good_bytes(), if whole == 0 { 0 } else { ends[whole - 1] });
        }
    }

    #[test]
    fn a_bit_that_is_flipped_ends_the_journal_there() {
        let (bytes, ends) = three();
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let whole = ends.iter().filter(|end| **end <= bit / 8).count();
            assert_eq!(Journal::new(&damaged).count(), whole, "{bit}");
        }
    }

    #[test]
    fn names_that_are_too_long_are_cut_at_a_character() {
        let name = "€".repeat(MAX_PART_BYTES);
        let mut bytes = Vec::new();
        usage(Kind::StartWatch, &name).encode(&mut bytes);
        let read = Journal::new(&bytes).next().expect("it is whole");
        assert_eq!(read.item.len(), MAX_PART_BYTES / 3 * 3);
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Journal::new(&bytes).count();
        }
    }
}
