//! What is written down of usage: records, and their bytes.
//!
//! ```text
//!   length   checksum ┌ kind   time    user position application service item  lock
//!  | u32   | u32    | | u8   | u64  | text | text | text      | text  | text | bytes |
//!                     │ run   mount  stream domain guard PROD_PERM epoch code
//!                     | u64 | u64  | i32  | u8   | u8  | u32     | u32 | u8 |
//!                     │ products roles  reason rule   decision
//!                     | text   | text | text | text | text |
//! ```
//!
//! All numbers are big endian. Texts and bytes have their length (u16) in front.
//! The length is that of what follows the checksum, a CRC-32. A record of the
//! layout before ends with its lock. What is behind the last part that is known
//! here is of a later one, and is passed over.

/// A longer part of a record is cut: no name on the wire is longer.
const MAX_PART_BYTES: usize = u16::MAX as usize;
/// Length and checksum.
const HEAD_BYTES: usize = 8;
/// Texts and bytes of a record.
const PARTS: usize = 11;
/// What stands in a record beside them.
const FIXED_BYTES: usize = 9 + 31;
/// Room for what later layouts may have.
const SPARE_BYTES: usize = 4096;
const MAX_BODY_BYTES: usize = FIXED_BYTES + SPARE_BYTES + PARTS * (2 + MAX_PART_BYTES);
/// No record is longer.
pub const MAX_RECORD_BYTES: usize = HEAD_BYTES + MAX_BODY_BYTES;

/// The byte that says of which kind an item's guard is.
const NO_GUARD: u8 = 0;
const BY_PROD_PERM: u8 = 1;

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
    /// A watch goes on: in a new file, by another policy, or by other products.
    ContinueWatch = 9,
    /// A post was taken.
    InsertStart = 10,
    /// A post was refused.
    InsertDenied = 11,
    /// A snapshot was given.
    Snapshot = 12,
    /// A server started. Whatever the run before had open is over. The vendor has
    /// no such event.
    ServerStart = 32,
}

impl Kind {
    const ALL: [Self; 11] = [
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
        Self::ServerStart,
    ];

    /// Its name, as journals are printed.
    pub const fn name(self) -> &'static str {
        match self {
            Self::StartWatch => "watch-started",
            Self::StopWatch => "watch-stopped",
            Self::AccessDenied => "access-denied",
            Self::Login => "login",
            Self::LoginDenied => "login-denied",
            Self::Logout => "logout",
            Self::ContinueWatch => "watch-goes-on",
            Self::InsertStart => "post",
            Self::InsertDenied => "post-denied",
            Self::Snapshot => "snapshot",
            Self::ServerStart => "server-started",
        }
    }

    /// Whether something was refused.
    pub const fn is_denial(self) -> bool {
        matches!(self, Self::AccessDenied | Self::LoginDenied | Self::InsertDenied)
    }

    fn of(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == number)
    }
}

/// One event of usage. What does not apply is empty, or 0.
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
    /// The life of the process that wrote it; 0 in records of the layout before.
    pub run: u64,
    /// The mount, by a number that is its own for as long as it is there. Of
    /// [`Kind::ServerStart`]: the run before.
    pub mount: u64,
    /// The stream at the mount.
    pub stream_id: i32,
    /// The item's domain.
    pub domain: u8,
    /// The code in the item's field `PROD_PERM`, where that guards it.
    pub prod_perm: Option<u32>,
    /// Which policy of the process decided, counted from 1.
    pub policy_epoch: u32,
    /// Of a denial: the code of the state that the client was told.
    pub code: u8,
    /// The products by which the user sees the item, one a line.
    pub products: &'a str,
    /// Of a login: the user's roles, one a line, if not the policy says them.
    pub roles: &'a str,
    /// Of a denial: what the client was told.
    pub reason: &'a str,
    /// Of a denial: what of the policy says so, with file and line.
    pub rule: &'a str,
    /// By which the authoriser's own log knows its decision about the login.
    pub decision: &'a str,
}

impl Usage<'_> {
    /// Something that happened at a moment, of which nothing else is said.
    pub const fn of(kind: Kind, time_ms: u64) -> Self {
        Usage {
            kind,
            time_ms,
            user: "",
            position: "",
            application: "",
            service: "",
            item: "",
            lock: &[],
            run: 0,
            mount: 0,
            stream_id: 0,
            domain: 0,
            prod_perm: None,
            policy_epoch: 0,
            code: 0,
            products: "",
            roles: "",
            reason: "",
            rule: "",
            decision: "",
        }
    }

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
        to.extend(self.run.to_be_bytes());
        to.extend(self.mount.to_be_bytes());
        to.extend(self.stream_id.to_be_bytes());
        to.push(self.domain);
        to.push(if self.prod_perm.is_some() { BY_PROD_PERM } else { NO_GUARD });
        to.extend(self.prod_perm.unwrap_or_default().to_be_bytes());
        to.extend(self.policy_epoch.to_be_bytes());
        to.push(self.code);
        for lines in [self.products, self.roles] {
            put(to, cut_lines(lines).as_bytes());
        }
        for text in [self.reason, self.rule, self.decision] {
            put(to, cut(text).as_bytes());
        }
        let body = start + HEAD_BYTES;
        let (len, sum) = ((to.len() - body) as u32, crc32fast::hash(&to[body..]));
        to[start..start + 4].copy_from_slice(&len.to_be_bytes());
        to[start + 4..body].copy_from_slice(&sum.to_be_bytes());
    }
}

impl<'b> Usage<'b> {
    /// The record at the beginning of these bytes, and how many of them it has;
    /// `None` if there is no whole one.
    pub fn decode(bytes: &'b [u8]) -> Option<(Self, usize)> {
        let (len, rest) = bytes.split_first_chunk::<4>()?;
        let (sum, rest) = rest.split_first_chunk::<4>()?;
        let len = u32::from_be_bytes(*len) as usize;
        let body = rest.get(..len).filter(|_| len <= MAX_BODY_BYTES)?;
        // Its form first: who looks for the next record behind damage asks at
        // every byte, and a checksum costs more.
        let usage = Reader { rest: body }.usage()?;
        let is_whole = crc32fast::hash(body) == u32::from_be_bytes(*sum);
        is_whole.then_some((usage, HEAD_BYTES + len))
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

/// The same of lines: a line is there whole or not at all.
fn cut_lines(text: &str) -> &str {
    let most = cut(text);
    match most.len() == text.len() {
        true => text,
        false => most.rsplit_once('\n').map_or("", |(whole, _)| whole),
    }
}

/// What is left of a record.
struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    fn number<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (number, rest) = self.rest.split_first_chunk::<N>()?;
        self.rest = rest;
        Some(*number)
    }

    fn byte(&mut self) -> Option<u8> {
        self.number::<1>().map(|[byte]| byte)
    }

    fn part(&mut self) -> Option<&'b [u8]> {
        let len = usize::from(u16::from_be_bytes(self.number()?));
        let (part, rest) = self.rest.split_at_checked(len)?;
        self.rest = rest;
        Some(part)
    }

    fn text(&mut self) -> Option<&'b str> {
        std::str::from_utf8(self.part()?).ok()
    }

    fn usage(mut self) -> Option<Usage<'b>> {
        let (kind, time) = (Kind::of(self.byte()?)?, self.number()?);
        let mut usage = Usage {
            user: self.text()?,
            position: self.text()?,
            application: self.text()?,
            service: self.text()?,
            item: self.text()?,
            lock: self.part()?,
            ..Usage::of(kind, u64::from_be_bytes(time))
        };
        if !self.rest.is_empty() {
            self.read_rest(&mut usage)?;
        }
        Some(usage)
    }

    /// What records of the layout before do not have.
    fn read_rest(&mut self, usage: &mut Usage<'b>) -> Option<()> {
        usage.run = u64::from_be_bytes(self.number()?);
        usage.mount = u64::from_be_bytes(self.number()?);
        usage.stream_id = i32::from_be_bytes(self.number()?);
        usage.domain = self.byte()?;
        let guard = self.byte()?;
        let code = u32::from_be_bytes(self.number()?);
        usage.prod_perm = (guard == BY_PROD_PERM).then_some(code);
        usage.policy_epoch = u32::from_be_bytes(self.number()?);
        usage.code = self.byte()?;
        usage.products = self.text()?;
        usage.roles = self.text()?;
        usage.reason = self.text()?;
        usage.rule = self.text()?;
        usage.decision = self.text()?;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn usage(kind: Kind) -> Usage<'static> {
        Usage {
            user: "jdoe",
            position: "10.0.0.7/net",
            application: "256",
            service: "FEED",
            item: "VOD.L",
            lock: &[3, 1, 1, 0x62, 0xC0],
            run: u64::MAX - 1,
            mount: 1 << 33 | 7,
            stream_id: -5,
            domain: 6,
            prod_perm: Some(62),
            policy_epoch: 3,
            code: 3,
            products: "L1\nL2",
            roles: "fx",
            reason: "Access Denied: User req to PE(62)",
            rule: "policy.toml:7",
            decision: "d-1",
            ..Usage::of(kind, 1 << 40)
        }
    }

    fn bytes_of(usage: &Usage<'_>) -> Vec<u8> {
        let mut bytes = Vec::new();
        usage.encode(&mut bytes);
        bytes
    }

    #[test]
    fn every_part_of_a_record_is_read_as_it_was_written() {
        for kind in Kind::ALL {
            let bytes = bytes_of(&usage(kind));
            assert_eq!(Usage::decode(&bytes), Some((usage(kind), bytes.len())));
        }
    }

    /// A record as versions before this one wrote it.
    const EARLIER: &[u8] = b"\x00\x00\x00\x21\xe0\x5f\x7d\xe6\
        \x01\x00\x00\x01\x00\x00\x00\x00\x00\
        \x00\x04jdoe\x00\x01p\x00\x03256\x00\x01S\x00\x01A\x00\x02\x03\x01";

    #[test]
    fn a_record_of_the_layout_before_is_read() {
        let expected = Usage {
            user: "jdoe",
            position: "p",
            application: "256",
            service: "S",
            item: "A",
            lock: &[3, 1],
            ..Usage::of(Kind::StartWatch, 1 << 40)
        };
        assert_eq!(Usage::decode(EARLIER), Some((expected, EARLIER.len())));
    }

    #[test]
    fn what_a_later_layout_adds_is_passed_over() {
        let mut bytes = bytes_of(&usage(Kind::Login));
        bytes.extend(*b"more");
        let body = HEAD_BYTES;
        let (len, sum) = ((bytes.len() - body) as u32, crc32fast::hash(&bytes[body..]));
        bytes[..4].copy_from_slice(&len.to_be_bytes());
        bytes[4..8].copy_from_slice(&sum.to_be_bytes());
        assert_eq!(Usage::decode(&bytes), Some((usage(Kind::Login), bytes.len())));
    }

    #[test]
    fn names_that_are_too_long_are_cut_at_a_character_and_lists_at_a_line() {
        let (item, products) = ("€".repeat(MAX_PART_BYTES), "abc\n".repeat(MAX_PART_BYTES));
        let long = Usage { item: &item, products: &products, ..usage(Kind::StartWatch) };
        let bytes = bytes_of(&long);
        let (read, len) = Usage::decode(&bytes).expect("it is whole");
        assert_eq!((read.item.len(), len), (MAX_PART_BYTES / 3 * 3, bytes.len()));
        assert!(read.products.lines().all(|line| line == "abc"), "no line is cut");
        assert!(read.products.len() > MAX_PART_BYTES - 5 && len <= MAX_RECORD_BYTES);
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Usage::decode(&bytes);
        }
    }
}
