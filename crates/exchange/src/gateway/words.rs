//! What a gateway in a process of its own and its market say to each other.
//!
//! ```text
//!  | u16 length | u8 kind | u8 detail | u32 client | fields …
//! ```
//!
//! Numbers are little-endian. A client is a connection of the gateway, by a number that
//! it gives once; requests have numbers of the gateway's own, one more each, for as long
//! as its market remembers them.

use tapeline_layout::{Text, message};
use tapeline_ntg::session::{Logon, MissedMessageRequest};
use tapeline_ntg::{Channel, Message};
use tapeline_sequence::{Identity, Kind};

use crate::unread::Unread;

/// Bytes in front of the fields.
const HEAD: usize = 8;

/// The longest: a report by FIX, whose body may be as long as any, with what is in front
/// of it.
const LONGEST: usize = HEAD + FixReport::LEN + tapeline_fix::MAX_BODY;

/// A length has 16 bits.
const _: () = assert!(LONGEST <= u16::MAX as usize);

const MAGIC: &str = "TAPEGATE";

/// Another form of words is another version.
const VERSION: u32 = 2;

message! {
    /// What is in front of each.
    Head: 8, fill 0 {
        0 => length: u16,
        2 => kind: u8,
        3 => detail: u8,
        4 => client: u32,
    }
}

message! {
    /// What a gateway says first: which it is, and of which market.
    Hello: 56, fill 0 {
        /// Says that it is a gateway.
        0 => magic: Text<8>,
        /// Of the words.
        8 => version: u32,
        /// Its number.
        12 => gateway: u16,
        /// Its process, by when that began.
        16 => instance: u64,
        /// The market's digest.
        24 => identity_0: u64,
        /// Its second part.
        32 => identity_1: u64,
        /// Its third part.
        40 => identity_2: u64,
        /// Its fourth part.
        48 => identity_3: u64,
    }
}

impl Hello {
    /// That of a gateway.
    pub(crate) fn of(gateway: u16, instance: u64, identity: &Identity) -> Self {
        let part = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&identity.0[at * 8..][..8]);
            u64::from_le_bytes(bytes)
        };
        Self {
            magic: Text::new(MAGIC),
            version: VERSION,
            gateway,
            instance,
            identity_0: part(0),
            identity_1: part(1),
            identity_2: part(2),
            identity_3: part(3),
        }
    }
}

message! {
    /// What a market answers.
    Welcome: 16, fill 0 {
        /// The number of the last request of this gateway that it knows.
        0 => taken: u64,
        /// Another one: the market has forgotten what was before.
        8 => history: u64,
    }
}

/// Whether a gateway's link goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Greeting {
    /// It does.
    Welcome = 0,
    /// Another replica leads, or none.
    NobodyLeads = 1,
    /// It is of another market, configuration or version.
    Stranger = 2,
    /// Another process is this gateway.
    InUse = 3,
    /// No gateway has this number.
    Unknown = 4,
}

impl Greeting {
    const ALL: [Self; 5] =
        [Self::Welcome, Self::NobodyLeads, Self::Stranger, Self::InUse, Self::Unknown];
}

message! {
    /// A session that goes on behind a broken link, or at another leader.
    Resume: 32, fill 0 {
        /// Whose it is.
        0 => name: Text<25>,
        /// The user's number.
        26 => user: u16,
        /// The number of the last report that the gateway has for it.
        28 => last: i32,
    }
}

message! {
    /// What became of a logon, or of a session that is to go on.
    Decision: 16, fill 0 {
        /// Why it is refused.
        0 => code: i32,
        /// Days for which the password is good.
        4 => password_days: u32,
        /// The last report that there is so far.
        8 => last: i32,
        /// The user's number.
        12 => user: u16,
    }
}

message! {
    /// What a client that logs on by FIX wants, and what its gateway has of its session.
    FixAsked: 48, fill 0 {
        /// The client's name in FIX.
        0 => peer: Text<20>,
        /// 1: numbers begin again.
        20 => resets: u8,
        /// The number of the next message to it.
        24 => next_out: u32,
        /// The last report that it was sent there, by its running number.
        32 => last: u64,
        /// The mark of the beginning by which its numbers are there; 0 for none.
        40 => mark: u64,
    }
}

message! {
    /// Where a session of FIX begins.
    FixBegun: 40, fill 0 {
        /// The first number; 0: it goes on.
        0 => first: u32,
        /// The day, since 1970, where the exchange is.
        4 => day: u32,
        /// So many of the reports its client has for sure.
        8 => had: u64,
        /// Those behind this one follow.
        16 => last: u64,
        /// Another one for each beginning.
        24 => mark: u64,
        /// The user's number.
        32 => user: u16,
        /// 1: the new password is refused, and the old one kept.
        34 => is_old_password: u8,
    }
}

message! {
    /// A session of FIX that goes on behind a broken link, or at another leader.
    FixResume: 48, fill 0 {
        /// Whose it is.
        0 => name: Text<25>,
        /// The user's number.
        26 => user: u16,
        /// The last report that the gateway has for it, by its running number.
        32 => last: u64,
        /// The mark of its beginning.
        40 => mark: u64,
    }
}

message! {
    /// What is in front of the body of a report by FIX.
    FixReport: 16, fill 0 {
        /// Its running number among those of its user.
        0 => report: u64,
        /// 35.
        8 => msg_type: Text<4>,
        /// 1: its client may have had it from elsewhere.
        12 => is_again: u8,
    }
}

/// Whether a client comes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It does.
    Granted = 0,
    /// It does not, and is told nothing.
    Silent = 1,
    /// It is told why not.
    Refused = 2,
}

impl Verdict {
    const ALL: [Self; 3] = [Self::Granted, Self::Silent, Self::Refused];
}

message! {
    /// What is in front of a request.
    Asked: 24, fill 0 {
        /// The gateway's own for it.
        0 => number: u64,
        /// When the gateway had it.
        8 => sent_ns: u64,
        /// Who asks.
        16 => user: u16,
    }
}

message! {
    /// A request's number.
    Number: 8, fill 0 {
        0 => number: u64,
    }
}

/// One word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::large_enum_variant, reason = "lives on the stack for a moment")]
pub(crate) enum Word<'b> {
    /// The gateway's first.
    Hello(Hello),
    /// A client wants in.
    LogOn { client: u32, channel: Channel, logon: Logon },
    /// A session goes on.
    Resume { client: u32, at: Resume },
    /// A client that speaks FIX wants in.
    FixLogOn { client: u32, asked: FixAsked, logon: Logon },
    /// A session of FIX goes on.
    FixResume { client: u32, at: FixResume },
    /// All that go on have been named.
    Settled,
    /// What a client asks for, as it came, or that its session is over.
    Request { client: u32, kind: Kind, asked: Asked, frame: &'b [u8] },
    /// Reports that a client missed.
    Missed { client: u32, request: MissedMessageRequest },
    /// A client is gone that is in no session with the market.
    Gone { client: u32 },
    /// Still there.
    Beat,
    /// The market's first.
    Welcome(Greeting, Welcome),
    /// What became of a client's logon.
    Decided { client: u32, verdict: Verdict, decision: Decision },
    /// A client that speaks FIX comes in, and its session begins so.
    FixBegun { client: u32, begun: FixBegun },
    /// Something for a client: natively as it goes out, by FIX a [`FixReport`] and the
    /// fields, which the gateway gives their number.
    Report { client: u32, bytes: &'b [u8] },
    /// All requests up to this number are decided, for good.
    Done { number: u64 },
    /// A request is not taken, and never will be.
    NotTaken { number: u64 },
}

const HELLO: u8 = b'H';
const LOG_ON: u8 = b'L';
const RESUME: u8 = b'R';
const FIX_LOG_ON: u8 = b'l';
const FIX_RESUME: u8 = b'r';
const SETTLED: u8 = b'S';
const REQUEST: u8 = b'Q';
const MISSED: u8 = b'M';
const GONE: u8 = b'G';
const BEAT: u8 = b'B';
const WELCOME: u8 = b'W';
const DECIDED: u8 = b'A';
const FIX_BEGUN: u8 = b'a';
const REPORT: u8 = b'P';
const DONE: u8 = b'D';
const NOT_TAKEN: u8 = b'N';

impl<'b> Word<'b> {
    /// Appends its bytes.
    pub(crate) fn append(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + HEAD, 0);
        let (kind, detail, client) = self.body(out);
        let length = (out.len() - start) as u16;
        let head = Head { length, kind, detail, client };
        out[start..start + HEAD].copy_from_slice(&head.to_bytes());
    }

    /// Appends its fields. Returns what its head says.
    fn body(&self, out: &mut Vec<u8>) -> (u8, u8, u32) {
        match self {
            Self::Hello(hello) => {
                out.extend_from_slice(&hello.to_bytes());
                (HELLO, 0, 0)
            }
            Self::LogOn { client, channel, logon } => {
                Message::Logon(*logon).append(out);
                (LOG_ON, u8::from(*channel == Channel::Recovery), *client)
            }
            Self::Resume { client, at } => {
                out.extend_from_slice(&at.to_bytes());
                (RESUME, 0, *client)
            }
            Self::FixLogOn { client, asked, logon } => {
                out.extend_from_slice(&asked.to_bytes());
                Message::Logon(*logon).append(out);
                (FIX_LOG_ON, 0, *client)
            }
            Self::FixResume { client, at } => {
                out.extend_from_slice(&at.to_bytes());
                (FIX_RESUME, 0, *client)
            }
            Self::Settled => (SETTLED, 0, 0),
            Self::Request { client, kind, asked, frame } => {
                out.extend_from_slice(&asked.to_bytes());
                out.extend_from_slice(frame);
                (REQUEST, kind.0, *client)
            }
            Self::Missed { client, request } => {
                Message::MissedMessageRequest(*request).append(out);
                (MISSED, 0, *client)
            }
            Self::Gone { client } => (GONE, 0, *client),
            Self::Beat => (BEAT, 0, 0),
            Self::Welcome(greeting, welcome) => {
                out.extend_from_slice(&welcome.to_bytes());
                (WELCOME, *greeting as u8, 0)
            }
            Self::Decided { client, verdict, decision } => {
                out.extend_from_slice(&decision.to_bytes());
                (DECIDED, *verdict as u8, *client)
            }
            Self::FixBegun { client, begun } => {
                out.extend_from_slice(&begun.to_bytes());
                (FIX_BEGUN, 0, *client)
            }
            Self::Report { client, bytes } => {
                out.extend_from_slice(bytes);
                (REPORT, 0, *client)
            }
            Self::Done { number } | Self::NotTaken { number } => {
                out.extend_from_slice(&Number { number: *number }.to_bytes());
                (if matches!(self, Self::Done { .. }) { DONE } else { NOT_TAKEN }, 0, 0)
            }
        }
    }

    /// Reads the fields of a whole one. `None`: it is none.
    fn read(head: &Head, body: &'b [u8]) -> Option<Self> {
        let client = head.client;
        Some(match head.kind {
            HELLO => Self::Hello(Hello::read(body)?),
            LOG_ON => {
                let channel = if head.detail == 1 { Channel::Recovery } else { Channel::RealTime };
                let Message::Logon(logon) = Message::read(body)? else { return None };
                Self::LogOn { client, channel, logon }
            }
            RESUME => Self::Resume { client, at: Resume::read(body)? },
            FIX_LOG_ON => {
                let (asked, logon) = body.split_at_checked(FixAsked::LEN)?;
                let Message::Logon(logon) = Message::read(logon)? else { return None };
                Self::FixLogOn { client, asked: FixAsked::read(asked)?, logon }
            }
            FIX_RESUME => Self::FixResume { client, at: FixResume::read(body)? },
            SETTLED => Self::Settled,
            REQUEST => {
                let (asked, frame) = body.split_at_checked(Asked::LEN)?;
                Self::Request { client, kind: Kind(head.detail), asked: Asked::read(asked)?, frame }
            }
            MISSED => {
                let Message::MissedMessageRequest(request) = Message::read(body)? else {
                    return None;
                };
                Self::Missed { client, request }
            }
            GONE => Self::Gone { client },
            BEAT => Self::Beat,
            WELCOME => {
                let greeting = *Greeting::ALL.get(usize::from(head.detail))?;
                Self::Welcome(greeting, Welcome::read(body)?)
            }
            DECIDED => {
                let verdict = *Verdict::ALL.get(usize::from(head.detail))?;
                Self::Decided { client, verdict, decision: Decision::read(body)? }
            }
            FIX_BEGUN => Self::FixBegun { client, begun: FixBegun::read(body)? },
            REPORT => Self::Report { client, bytes: body },
            DONE => Self::Done { number: Number::read(body)?.number },
            NOT_TAKEN => Self::NotTaken { number: Number::read(body)?.number },
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
        let length = usize::from(head.length);
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
        let logon = Logon { user: Text::new("ANN"), version: 1, ..Logon::default() };
        let asked = Asked { number: 7, sent_ns: 8, user: 9 };
        vec![
            Word::Hello(Hello::of(3, 4, &Identity([7; 32]))),
            Word::LogOn { client: 1, channel: Channel::Recovery, logon },
            Word::Resume { client: 2, at: Resume { name: Text::new("ANN"), user: 5, last: 6 } },
            Word::FixLogOn {
                client: 8,
                asked: FixAsked {
                    peer: Text::new("ANN"),
                    resets: 1,
                    next_out: 2,
                    last: 3,
                    mark: 4,
                },
                logon,
            },
            Word::FixResume {
                client: 9,
                at: FixResume { name: Text::new("ANN"), user: 1, last: 2, mark: 3 },
            },
            Word::FixBegun {
                client: 10,
                begun: FixBegun {
                    first: 1,
                    day: 2,
                    had: 3,
                    last: 4,
                    mark: 5,
                    user: 6,
                    is_old_password: 1,
                },
            },
            Word::Settled,
            Word::Request { client: 3, kind: Kind::NEW, asked, frame: b"order" },
            Word::Missed {
                client: 4,
                request: MissedMessageRequest { app_id: 1, last_sequence: 5 },
            },
            Word::Gone { client: 5 },
            Word::Beat,
            Word::Welcome(Greeting::InUse, Welcome { taken: 10, history: 11 }),
            Word::Decided {
                client: 6,
                verdict: Verdict::Refused,
                decision: Decision { code: 2, password_days: 3, last: 4, user: 5 },
            },
            Word::Report { client: 7, bytes: b"report" },
            Word::Done { number: 12 },
            Word::NotTaken { number: 13 },
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
    fn the_longest_report_by_fix_is_a_word_and_what_is_longer_is_none() {
        let longest = FixReport::LEN + tapeline_fix::MAX_BODY;
        for (len, is_one) in [(longest, true), (longest + 1, false)] {
            let (report, mut bytes) = (vec![b'x'; len], Vec::new());
            Word::Report { client: 1, bytes: &report }.append(&mut bytes);
            let mut read = 0;
            let goes_on = Words::default().read(&bytes, |_| {
                read += 1;
                true
            });
            assert_eq!((goes_on, read == 1), (is_one, is_one), "{len} bytes");
        }
    }

    #[test]
    fn what_is_no_word_ends_the_link() {
        let mut beat = Vec::new();
        Word::Beat.append(&mut beat);
        for (at, byte) in [(0, 7), (1, 200), (2, b'?')] {
            let mut bytes = beat.clone();
            bytes[at] = byte;
            assert!(!Words::default().read(&bytes, |_| true), "byte {at}");
        }
    }
}
