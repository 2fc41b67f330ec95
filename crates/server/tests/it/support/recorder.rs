//! What a core did to its outputs, recorded.

use std::collections::{BTreeMap, BTreeSet};

use tapeline_backbone::{FrameHeader, Kind, Published};
use tapeline_channel::{Sent, SessionId};
use tapeline_entitle::{LoginQuestion, Usage};
use tapeline_rssl::{CopyOf, Originals};
use tapeline_rwf::patch_stream_id;
use tapeline_server::Outputs;

/// What the core sent.
#[derive(Debug, Default)]
pub struct Recorder {
    pub sent: Vec<(SessionId, Vec<u8>)>,
    pub published: Vec<(FrameHeader, Vec<u8>)>,
    /// Of the last request with each number.
    pub serials: BTreeMap<u32, u32>,
    pub closed: Vec<(SessionId, String)>,
    pub admitted: Vec<SessionId>,
    /// What JSON mounts were sent, and whether it has a frame for itself.
    pub texts: Vec<(SessionId, String, bool)>,
    /// Close codes of JSON mounts.
    pub codes: Vec<(SessionId, u16)>,
    /// What sending to a session answers, if not that it was queued.
    pub answers: BTreeMap<SessionId, Sent>,
    /// Whether the backbone has more waiting than it should.
    pub is_congested: bool,
    /// Whether the backbone takes nothing, and has no queue.
    pub is_away: bool,
    /// What was written down of usage: kind, user, item and lock.
    pub records: Vec<String>,
    /// What was used: kind, user, mount and stream, products.
    pub usages: Vec<String>,
    /// Who logs in, where that is asked.
    pub asked: Vec<LoginQuestion>,
    /// Nobody can be asked who logs in.
    pub is_nobody_there: bool,
    /// Sessions that are not to be read for now.
    pub held: BTreeSet<SessionId>,
    /// Sessions whose output has bounds.
    pub bounds: BTreeMap<SessionId, Bounds>,
    /// What each session has credit for, in bytes.
    pub credit_bytes: usize,
}

/// How many messages may wait for a session.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// With so many it is slow.
    pub breach: usize,
    /// More are not taken.
    pub max: usize,
    pub waiting: usize,
    pub is_slow: bool,
}

impl Recorder {
    fn answer(&mut self, session: SessionId) -> Sent {
        if let Some(bounds) = self.bounds.get_mut(&session) {
            if bounds.waiting >= bounds.max {
                return Sent::Full;
            }
            bounds.waiting += 1;
            bounds.is_slow |= bounds.waiting >= bounds.breach;
            return if bounds.is_slow { Sent::Slow } else { Sent::Queued };
        }
        self.answers.get(&session).copied().unwrap_or(Sent::Queued)
    }
}

impl Outputs for Recorder {
    fn send(&mut self, session: SessionId, message: &[u8]) -> Sent {
        let answer = self.answer(session);
        if matches!(answer, Sent::Queued | Sent::Slow) {
            self.sent.push((session, message.to_vec()));
        }
        answer
    }

    fn send_on(&mut self, session: SessionId, stream_id: i32, message: &[u8]) -> Sent {
        let mut copy = message.to_vec();
        patch_stream_id(&mut copy, stream_id).expect("a message");
        self.send(session, &copy)
    }

    fn credit(&mut self, _: SessionId) -> usize {
        self.credit_bytes
    }

    fn send_copies(
        &mut self,
        session: SessionId,
        originals: &Originals,
        copies: &[CopyOf],
    ) -> usize {
        let sent = copies.iter().take_while(|copy| {
            let message = originals.message(**copy);
            self.send_on(session, copy.stream_id(), message) == Sent::Queued
        });
        sent.count()
    }

    fn send_json(&mut self, session: SessionId, pieces: &[&[u8]], alone: bool) -> Sent {
        let answer = self.answer(session);
        if matches!(answer, Sent::Queued | Sent::Slow) {
            let text = String::from_utf8(pieces.concat()).expect("UTF-8");
            self.texts.push((session, text, alone));
        }
        answer
    }

    fn close_json(&mut self, session: SessionId, code: u16, reason: &str) {
        self.codes.push((session, code));
        self.close(session, reason);
    }

    fn admit(&mut self, session: SessionId) {
        self.admitted.push(session);
    }

    fn keeps_records(&self) -> bool {
        true
    }

    fn record(&mut self, usage: &Usage<'_>) {
        let Usage { mount, stream_id, products, .. } = *usage;
        let products = products.replace('\n', " ");
        let of = format!("{:?} {} {mount}/{stream_id} {products}", usage.kind, usage.user);
        self.usages.push(of.trim_end().to_owned());
        let Usage { kind, user, service, item, lock, .. } = *usage;
        let lock = lock.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().concat();
        self.records.push(format!("{kind:?} {user} {service}/{item} {lock}").trim_end().to_owned());
    }

    fn ask_login(&mut self, question: LoginQuestion) -> bool {
        if !self.is_nobody_there {
            self.asked.push(question);
        }
        !self.is_nobody_there
    }

    fn hold(&mut self, session: SessionId, is_held: bool) {
        match is_held {
            true => _ = self.held.insert(session),
            false => _ = self.held.remove(&session),
        }
    }

    fn close(&mut self, session: SessionId, reason: &str) {
        self.closed.push((session, reason.to_owned()));
    }

    fn publish(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published {
        if self.is_away {
            return Published::Dropped;
        }
        if header.kind == Kind::Open {
            self.serials.insert(header.item, header.item_seq);
        }
        self.published.push((header, parts.concat()));
        Published::Sent
    }

    fn is_congested(&self) -> bool {
        self.is_congested
    }
}
