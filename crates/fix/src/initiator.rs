//! The client's end of a session, for who trades, and for tests.

use tapeline_time::Time;

use crate::acceptor::Verdict;
use crate::message::Message;
use crate::store::{CompIds, Store};
use crate::writer::Writer;

/// What a client logs on with.
#[derive(Clone, Copy, Debug, Default)]
pub struct Credentials<'c> {
    /// 553; empty to leave it out.
    pub user: &'c [u8],
    /// 554; empty to leave it out.
    pub password: &'c [u8],
    /// 925; empty to leave it out.
    pub new_password: &'c [u8],
    /// 141: numbers begin at 1 again.
    pub resets: bool,
}

/// The client's end of a session.
#[derive(Clone, Debug)]
pub struct Initiator {
    comp_ids: CompIds,
    heartbeat_s: u32,
    said: Time,
    is_active: bool,
}

impl Initiator {
    /// A connection of `own` to `peer` is there.
    pub fn new(now: Time, own: &[u8], peer: &[u8], heartbeat_s: u32) -> Self {
        Self { comp_ids: CompIds::new(own, peer), heartbeat_s, said: now, is_active: false }
    }

    /// Asks to come in.
    pub fn log_on(
        &mut self,
        now: Time,
        now_ns: u64,
        credentials: &Credentials<'_>,
        store: &mut Store,
        send: impl FnMut(&[u8]),
    ) {
        let _ = (now, now_ns, credentials, store, send, self.heartbeat_s);
        todo!()
    }

    /// Bytes have come; `each` gets every application message in sequence, and the
    /// logon, logout and rejects of the exchange.
    pub fn received(
        &mut self,
        now: Time,
        now_ns: u64,
        bytes: &[u8],
        store: &mut Store,
        send: impl FnMut(&[u8]),
        each: impl FnMut(&Message<'_>),
    ) -> Verdict {
        let _ = (now, now_ns, bytes, store, send, each);
        todo!()
    }

    /// Sends a request.
    pub fn send(
        &mut self,
        now: Time,
        now_ns: u64,
        msg_type: &[u8],
        body: impl FnOnce(&mut Writer<'_>),
        store: &mut Store,
        send: impl FnMut(&[u8]),
    ) {
        let _ = (now, now_ns, msg_type, body, store, send);
        todo!()
    }

    /// Ends the session: a logout, that the exchange answers.
    pub fn log_out(
        &mut self,
        now: Time,
        now_ns: u64,
        text: &str,
        store: &mut Store,
        send: impl FnMut(&[u8]),
    ) {
        let _ = (now, now_ns, text, store, send);
        todo!()
    }

    /// When [`timeout`](Self::timeout) is to be called.
    pub const fn deadline(&self) -> Time {
        self.said
    }

    /// Time has passed.
    pub fn timeout(
        &mut self,
        now: Time,
        now_ns: u64,
        store: &mut Store,
        send: impl FnMut(&[u8]),
    ) -> Verdict {
        let _ = (now, now_ns, store, send);
        todo!()
    }

    /// Whether the logon was accepted.
    pub const fn is_active(&self) -> bool {
        self.is_active
    }

    /// The names of both sides.
    pub const fn comp_ids(&self) -> CompIds {
        self.comp_ids
    }
}
