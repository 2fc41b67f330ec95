//! What a distribution in a process of its own and its market say to each other.
//!
//! ```text
//!  | u32 length | u8 kind | u8 detail | u16 | fields …
//! ```
//!
//! Numbers are little-endian. Entries are those of the sequencer, as the journal has them;
//! a state is a snapshot as it lies beside a journal, in slices.

use tapeline_layout::{Text, message};
use tapeline_sequence::{Identity, MAX_ENTRY};

use crate::unread::Unread;

/// Bytes in front of the fields.
const HEAD: usize = 8;

/// The longest has one entry as long as any, or several that are shorter together.
const LONGEST: usize = HEAD + MAX_ENTRY;

const MAGIC: &str = "TAPEDIST";

/// Another form of words is another version.
const VERSION: u32 = 1;

/// Bytes of a market's digest.
const IDENTITY: usize = 32;

message! {
    /// What is in front of each.
    Head: 8, fill 0 {
        0 => length: u32,
        4 => kind: u8,
        5 => detail: u8,
    }
}

message! {
    /// What a distribution says first: which it is, and what it has. The market's digest
    /// is behind it.
    Hello: 56, fill 0 {
        /// Says that it is a distribution.
        0 => magic: Text<8>,
        /// Of the words.
        8 => version: u32,
        /// Its number.
        12 => number: u16,
        /// Its process, by when that began.
        16 => instance: u64,
        /// The first entry that it wants: the last one that it has, so that both see that
        /// it is the same. 0: it has nothing.
        24 => next: u64,
        /// What the market of its entries remembered.
        32 => history: u64,
        /// States of this entry and of later ones are of no use to it.
        40 => before: u64,
        /// The last message of market data that it knows to be out; 0: of none.
        48 => sent: u32,
    }
}

impl Hello {
    /// That of a distribution, which has nothing.
    pub(crate) fn of(number: u16, instance: u64) -> Self {
        let (magic, version, before) = (Text::new(MAGIC), VERSION, u64::MAX);
        Self { magic, version, number, instance, before, ..Self::default() }
    }

    /// Whether it is one of this version.
    pub(crate) fn is_ours(&self) -> bool {
        self.magic == Text::new(MAGIC) && self.version == VERSION
    }
}

message! {
    /// What a market answers.
    Welcome: 24, fill 0 {
        /// Another one: the market has forgotten what was before.
        0 => history: u64,
        /// The entry whose state comes first; 0: entries do.
        8 => state: u64,
        /// The last message of market data that is known to be out; 0: of none.
        16 => sent: u32,
    }
}

message! {
    /// How far a distribution is.
    Position: 16, fill 0 {
        /// The last entry that is done.
        0 => applied: u64,
        /// The last message of market data that is out, where this one publishes.
        8 => sent: u32,
    }
}

message! {
    /// The last message of market data that is out.
    Sent: 4, fill 0 {
        /// Its number.
        0 => sent: u32,
    }
}

/// Whether a distribution's link goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Greeting {
    /// It does.
    Welcome = 0,
    /// Another replica leads, or none.
    NobodyLeads = 1,
    /// It is of another market, configuration or version.
    Stranger = 2,
    /// Another process is this distribution.
    InUse = 3,
    /// No distribution has this number.
    Unknown = 4,
    /// What it has is not, or not any more, what the market has: it begins anew.
    Forgotten = 5,
    /// It has nothing, and the market does not have its first entries any more.
    NoPast = 6,
}

impl Greeting {
    const ALL: [Self; 7] = [
        Self::Welcome,
        Self::NobodyLeads,
        Self::Stranger,
        Self::InUse,
        Self::Unknown,
        Self::Forgotten,
        Self::NoPast,
    ];
}

/// What is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word<'b> {
    /// The distribution's first.
    Hello(Hello, Identity),
    /// How far it is; also that it is still there.
    Position(Position),
    /// It publishes no more from here on.
    Held(Position),
    /// The market's first.
    Welcome(Greeting, Welcome),
    /// A slice of a state, and whether it is the last one.
    State { bytes: &'b [u8], is_last: bool },
    /// Entries that are committed, whole ones.
    Entries(&'b [u8]),
    /// It has caught up: what it has may be asked for.
    InStep,
    /// It is the one that publishes, from the message behind this one on.
    Publish(Sent),
    /// It is to publish no more.
    Hold,
    /// The market is still there.
    Beat(Sent),
}

const HELLO: u8 = b'H';
const POSITION: u8 = b'P';
const HELD: u8 = b'h';
const WELCOME: u8 = b'W';
const STATE: u8 = b'S';
const ENTRIES: u8 = b'E';
const IN_STEP: u8 = b'I';
const PUBLISH: u8 = b'p';
const HOLD: u8 = b'o';
const BEAT: u8 = b'B';

impl<'b> Word<'b> {
    /// Appends its bytes.
    pub(crate) fn append(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + HEAD, 0);
        let (kind, detail) = self.body(out);
        let length = (out.len() - start) as u32;
        debug_assert!(length as usize <= LONGEST, "who sends entries cuts them into slices");
        let head = Head { length, kind, detail };
        out[start..start + HEAD].copy_from_slice(&head.to_bytes());
    }

    /// Appends its fields. Returns what its head says.
    fn body(&self, out: &mut Vec<u8>) -> (u8, u8) {
        let (kind, detail, fields): (_, _, &[u8]) = match self {
            Self::Hello(hello, identity) => {
                out.extend_from_slice(&hello.to_bytes());
                (HELLO, 0, &identity.0)
            }
            Self::Position(position) => (POSITION, 0, &position.to_bytes()),
            Self::Held(position) => (HELD, 0, &position.to_bytes()),
            Self::Welcome(greeting, welcome) => (WELCOME, *greeting as u8, &welcome.to_bytes()),
            Self::State { bytes, is_last } => (STATE, u8::from(*is_last), bytes),
            Self::Entries(bytes) => (ENTRIES, 0, bytes),
            Self::InStep => (IN_STEP, 0, &[]),
            Self::Publish(sent) => (PUBLISH, 0, &sent.to_bytes()),
            Self::Hold => (HOLD, 0, &[]),
            Self::Beat(sent) => (BEAT, 0, &sent.to_bytes()),
        };
        out.extend_from_slice(fields);
        (kind, detail)
    }

    /// Reads the fields of a whole one. `None`: it is none.
    fn read(head: &Head, body: &'b [u8]) -> Option<Self> {
        Some(match head.kind {
            HELLO => {
                let (hello, digest) = body.split_at_checked(Hello::LEN)?;
                let digest = <[u8; IDENTITY]>::try_from(digest).ok()?;
                Self::Hello(Hello::read(hello)?, Identity(digest))
            }
            POSITION => Self::Position(Position::read(body)?),
            HELD => Self::Held(Position::read(body)?),
            WELCOME => {
                let greeting = *Greeting::ALL.get(usize::from(head.detail))?;
                Self::Welcome(greeting, Welcome::read(body)?)
            }
            STATE => Self::State { bytes: body, is_last: head.detail == 1 },
            ENTRIES => Self::Entries(body),
            IN_STEP => Self::InStep,
            PUBLISH => Self::Publish(Sent::read(body)?),
            HOLD => Self::Hold,
            BEAT => Self::Beat(Sent::read(body)?),
            _ => return None,
        })
    }
}

/// Cuts a stream of bytes, as it comes, into words.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words(Unread);

impl Words {
    /// Takes bytes; `each` gets every whole word, and says whether to go on. Returns
    /// whether all that came was understood.
    pub(crate) fn read(&mut self, bytes: &[u8], mut each: impl FnMut(&Word<'_>) -> bool) -> bool {
        self.0.read(bytes, |bytes| cut(bytes, &mut each).map(<[u8]>::len))
    }
}

/// Gives each whole word away. Returns what is left; `None` if one is none.
fn cut<'b>(bytes: &'b [u8], each: &mut impl FnMut(&Word<'_>) -> bool) -> Option<&'b [u8]> {
    let mut rest = bytes;
    while let Some(head) = rest.get(..HEAD).and_then(Head::read) {
        let length = head.length as usize;
        if !(HEAD..=LONGEST).contains(&length) {
            return None;
        }
        let Some((word, behind)) = rest.split_at_checked(length) else { break };
        rest = behind;
        if !each(&Word::read(&head, &word[HEAD..])?) {
            return Some(&[]);
        }
    }
    Some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Word<'static>> {
        let hello = Hello { next: 5, history: 6, sent: 7, ..Hello::of(3, 4) };
        let position = Position { applied: 8, sent: 9 };
        let sent = Sent { sent: 12 };
        vec![
            Word::Hello(hello, Identity([7; 32])),
            Word::Position(position),
            Word::Held(position),
            Word::Welcome(Greeting::NoPast, Welcome { history: 9, state: 10, sent: 11 }),
            Word::State { bytes: b"state", is_last: false },
            Word::State { bytes: b"", is_last: true },
            Word::Entries(b"entries"),
            Word::InStep,
            Word::Publish(sent),
            Word::Hold,
            Word::Beat(sent),
        ]
    }

    #[test]
    fn words_come_out_as_they_went_in_however_they_are_split() {
        let mut bytes = Vec::new();
        for word in all() {
            word.append(&mut bytes);
        }
        for size in 1..=bytes.len() {
            let (mut words, mut read) = (Words::default(), 0);
            for part in bytes.chunks(size) {
                let goes_on = words.read(part, |word| {
                    assert_eq!(*word, all()[read], "in parts of {size}");
                    read += 1;
                    true
                });
                assert!(goes_on);
            }
            assert_eq!((read, words.0.len()), (all().len(), 0));
        }
    }

    #[test]
    fn what_is_no_word_ends_the_link() {
        let mut hold = Vec::new();
        Word::Hold.append(&mut hold);
        for (at, byte) in [(0, 7), (3, 1), (4, b'?')] {
            let mut bytes = hold.clone();
            bytes[at] = byte;
            assert!(!Words::default().read(&bytes, |_| true), "byte {at}");
        }
        let mut welcome = Vec::new();
        Word::Welcome(Greeting::NoPast, Welcome::default()).append(&mut welcome);
        welcome[5] += 1;
        assert!(!Words::default().read(&welcome, |_| true), "no such greeting");
    }
}
