//! What replicas say to each other.

use tapeline_layout::message;

use super::{Member, Position};

/// Bytes in front of the entries of a message, its length included.
pub const MESSAGE_HEAD: usize = 48;

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplicaMessage<'b> {
    /// Who says it.
    pub from: Member,
    /// The term of who says it; of a pre-vote, the one that it would have.
    pub term: u32,
    /// What it says.
    pub body: Body<'b>,
}

/// What a message says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body<'b> {
    /// Would you vote for me? Nothing changes by it.
    PreVote {
        /// Where the log of the asking one ends.
        log: Position,
    },
    /// The answer.
    PreVoteReply {
        /// Yes.
        granted: bool,
    },
    /// Vote for me.
    Vote {
        /// Where the log of the asking one ends.
        log: Position,
    },
    /// The answer.
    VoteReply {
        /// Yes.
        granted: bool,
    },
    /// Entries of the leader; with none, a heartbeat.
    Append {
        /// The entry that they follow.
        before: Position,
        /// Everything up to this one is committed.
        committed: u64,
        /// The last entry that the leader has.
        last: u64,
        /// Whole entries.
        entries: &'b [u8],
    },
    /// The answer.
    AppendReply {
        /// The entry that they follow is there.
        matches: bool,
        /// With it: entries up to this one are those of the leader. Without: the leader
        /// may try behind this one.
        held: u64,
        /// Of these, what is on stable storage.
        synced: u64,
    },
}

message! {
    /// What a message is on a link.
    Head: 48, fill 0 {
        /// Of all of it.
        0 => length: u32,
        4 => kind: u8,
        5 => says_yes: u8,
        6 => from: u8,
        8 => term: u32,
        12 => log_term: u32,
        16 => index: u64,
        24 => committed: u64,
        32 => last: u64,
    }
}

const PRE_VOTE: u8 = 1;
const PRE_VOTE_REPLY: u8 = 2;
const VOTE: u8 = 3;
const VOTE_REPLY: u8 = 4;
const APPEND: u8 = 5;
const APPEND_REPLY: u8 = 6;

impl<'b> ReplicaMessage<'b> {
    /// Appends it, as it is on a link: its length comes first, in four bytes.
    pub fn append_to(&self, out: &mut Vec<u8>) {
        let none = Head { from: self.from.0, term: self.term, ..Head::default() };
        let yes = |yes: bool| u8::from(yes);
        let (head, entries): (Head, &[u8]) = match self.body {
            Body::PreVote { log } => {
                (Head { kind: PRE_VOTE, log_term: log.term, index: log.index, ..none }, &[])
            }
            Body::PreVoteReply { granted } => {
                (Head { kind: PRE_VOTE_REPLY, says_yes: yes(granted), ..none }, &[])
            }
            Body::Vote { log } => {
                (Head { kind: VOTE, log_term: log.term, index: log.index, ..none }, &[])
            }
            Body::VoteReply { granted } => {
                (Head { kind: VOTE_REPLY, says_yes: yes(granted), ..none }, &[])
            }
            Body::Append { before, committed, last, entries } => {
                let (log_term, index) = (before.term, before.index);
                (Head { kind: APPEND, log_term, index, committed, last, ..none }, entries)
            }
            Body::AppendReply { matches, held, synced } => {
                let says_yes = yes(matches);
                let (index, committed) = (held, synced);
                (Head { kind: APPEND_REPLY, says_yes, index, committed, ..none }, &[])
            }
        };
        let length = (MESSAGE_HEAD + entries.len()) as u32;
        out.extend_from_slice(&Head { length, ..head }.to_bytes());
        out.extend_from_slice(entries);
    }

    /// Reads one that is whole. `None` if it is none of this version.
    pub fn read(bytes: &'b [u8]) -> Option<Self> {
        let head = Head::read(bytes.get(..MESSAGE_HEAD)?)?;
        let entries = &bytes[MESSAGE_HEAD..];
        if head.length as usize != bytes.len() || (head.kind != APPEND && !entries.is_empty()) {
            return None;
        }
        let position = Position { term: head.log_term, index: head.index };
        let says_yes = head.says_yes == 1;
        let body = match head.kind {
            PRE_VOTE => Body::PreVote { log: position },
            PRE_VOTE_REPLY => Body::PreVoteReply { granted: says_yes },
            VOTE => Body::Vote { log: position },
            VOTE_REPLY => Body::VoteReply { granted: says_yes },
            APPEND => Body::Append {
                before: position,
                committed: head.committed,
                last: head.last,
                entries,
            },
            APPEND_REPLY => {
                Body::AppendReply { matches: says_yes, held: head.index, synced: head.committed }
            }
            _ => return None,
        };
        Some(Self { from: Member(head.from), term: head.term, body })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_is_read_as_it_was_written_and_no_other_length_is() {
        let log = Position { term: 3, index: 70 };
        for body in [
            Body::PreVote { log },
            Body::PreVoteReply { granted: true },
            Body::Vote { log },
            Body::VoteReply { granted: false },
            Body::Append { before: log, committed: 60, last: 80, entries: b"12345678" },
            Body::AppendReply { matches: true, held: 71, synced: 69 },
        ] {
            let message = ReplicaMessage { from: Member(2), term: 9, body };
            let mut bytes = Vec::new();
            message.append_to(&mut bytes);
            assert_eq!(
                u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize,
                bytes.len()
            );
            assert_eq!(ReplicaMessage::read(&bytes), Some(message));
            for len in 0..bytes.len() {
                assert_eq!(ReplicaMessage::read(&bytes[..len]), None, "{len} bytes");
            }
            bytes[4] = 99;
            assert_eq!(ReplicaMessage::read(&bytes), None, "no such kind");
        }
    }
}
