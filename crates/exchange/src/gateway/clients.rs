//! The clients of a gateway, and their sessions.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tapeline_layout::Text;
use tapeline_ntg::session::{Logon, MissedMessageAck};
use tapeline_ntg::{Acceptor, Admission, Channel, Input, Message, Verdict};
use tapeline_sequence::Kind;
use tapeline_time::Time;

use super::fix;
use super::requests::{Request, Requests};
use super::uplink::Uplink;
use super::words::{Asked, Word};
use super::{GatewayConfig, GatewayCounts};
use crate::core::{DOWN, Door, SessionId, down, instrument_of, request_kind, unknown};

/// How often it looks at the time.
const TICK: Duration = Duration::from_millis(10);

/// The recovery channel cannot be asked.
const UNAVAILABLE: u8 = 3;

const NS_PER_S: u64 = 1_000_000_000;

/// What a gateway does.
pub trait GatewayOutputs {
    /// Bytes go to a client.
    fn send(&mut self, session: SessionId, bytes: &[u8]);

    /// A client's connection is closed when what was sent is out.
    fn close(&mut self, session: SessionId);

    /// How many bytes for a client have not gone out yet.
    fn queued(&self, session: SessionId) -> usize;

    /// Bytes go to the market.
    fn say(&mut self, bytes: &[u8]);
}

/// How far a client is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Phase {
    /// It has not logged on.
    Outside,
    /// The market has its logon.
    Asks(Text<25>),
    /// It is there: its name, its number, and the last report that it has.
    In { name: Text<25>, user: u16, last: i32 },
}

/// Who is at a connection.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) acceptor: Acceptor,
    pub(super) number: u32,
    pub(super) channel: Channel,
    pub(super) phase: Phase,
}

/// A gateway in one thread.
///
/// A shell gives it connections, bytes, the link and the time; the same calls give the
/// same outputs.
#[derive(Debug)]
pub struct Gateway {
    pub(super) seats: Vec<Option<Client>>,
    /// Behind the last seat that is taken: a tick looks no further.
    taken: usize,
    /// Who speaks FIX, at places where nobody else is.
    pub(super) fix: fix::Clients,
    /// Clients by their numbers.
    pub(super) places: HashMap<u32, SessionId>,
    pub(super) desk: Desk,
    /// Clients that do not read.
    pub(super) slow: Vec<SessionId>,
    next_client: u32,
    ticked: Time,
}

/// What sessions are done with.
#[derive(Debug)]
pub(super) struct Desk {
    pub(super) config: GatewayConfig,
    instruments: HashSet<u32>,
    pub(super) requests: Requests,
    pub(super) uplink: Uplink,
    pub(super) counts: GatewayCounts,
    scratch: Vec<u8>,
}

impl Desk {
    /// The market hears a word.
    pub(super) fn say(&mut self, now: Time, word: &Word<'_>, out: &mut impl GatewayOutputs) {
        self.scratch.clear();
        word.append(&mut self.scratch);
        self.uplink.said = now;
        out.say(&self.scratch);
    }

    /// A request goes to the market, or waits for one.
    pub(super) fn push(&mut self, now: Time, request: Request, out: &mut impl GatewayOutputs) {
        self.requests.push(request);
        if self.uplink.is_up() {
            self.say(now, &request.word(), out);
        }
    }

    pub(super) fn asked(&self, now: Time, user: u16) -> Asked {
        Asked { number: self.requests.next(), sent_ns: now.as_nanos(), user }
    }

    /// Whether one more request can be held.
    fn takes(&self, now: Time) -> bool {
        self.requests.len() < self.config.max_undecided
            && self.uplink.may_come_back(now, self.config.failover)
    }

    /// What a client asks for goes to the market. Returns what the client is told if it
    /// does not.
    pub(super) fn request(
        &mut self,
        now: Time,
        (client, user): (u32, u16),
        (input, frame): (&Input, &[u8]),
        out: &mut impl GatewayOutputs,
    ) -> Option<Message> {
        let ns = self.config.epoch_ns.saturating_add(now.as_nanos());
        let time = [(ns / NS_PER_S) as u32, (ns % NS_PER_S) as u32];
        let is_traded = |id: i32| u32::try_from(id).is_ok_and(|id| self.instruments.contains(&id));
        if !instrument_of(input).is_none_or(is_traded) {
            self.counts.rejected += 1;
            return Some(unknown(input, time));
        }
        let kind = Message::read(frame).as_ref().and_then(request_kind)?;
        let asked = self.asked(now, user);
        match Request::new(client, kind, asked, frame).filter(|_| self.takes(now)) {
            Some(request) => {
                self.counts.requests += 1;
                self.push(now, request, out);
                None
            }
            None => {
                self.counts.refused_down += 1;
                Some(down(input))
            }
        }
    }
}

impl Gateway {
    /// A gateway without clients and without a link.
    pub fn new(config: GatewayConfig) -> Self {
        let seats = (0..config.max_sessions).map(|_| None).collect();
        let fix = fix::Clients::new(config.max_sessions);
        let desk = Desk {
            instruments: config.instruments.iter().copied().collect(),
            requests: Requests::default(),
            uplink: Uplink::default(),
            counts: GatewayCounts::default(),
            scratch: Vec::with_capacity(256),
            config,
        };
        let (places, slow, ticked) = (HashMap::new(), Vec::new(), Time::ZERO);
        Self { seats, taken: 0, fix, places, desk, slow, next_client: 0, ticked }
    }

    /// A connection has come through a door. `None`: there are too many.
    pub fn accepted(&mut self, now: Time, door: Door) -> Option<SessionId> {
        let is_free = |place: &usize| self.seats[*place].is_none() && self.fix.is_free(*place);
        let Some(place) = (0..self.seats.len()).find(is_free) else {
            self.desk.counts.turned_away += 1;
            return None;
        };
        self.taken = self.taken.max(place + 1);
        self.next_client = self.next_client.wrapping_add(1);
        let (number, session) = (self.next_client, SessionId(place as u32));
        let native = |channel| {
            let acceptor = Acceptor::of(channel, now, self.desk.config.limits);
            Client { acceptor, number, channel, phase: Phase::Outside }
        };
        match door {
            Door::Fix => self.seat_fix(now, session, number),
            Door::Recovery => self.seats[place] = Some(native(Channel::Recovery)),
            _ => self.seats[place] = Some(native(Channel::RealTime)),
        }
        self.places.insert(number, session);
        self.desk.counts.connections += 1;
        Some(session)
    }

    /// Bytes of a client have come.
    pub fn received(
        &mut self,
        now: Time,
        session: SessionId,
        bytes: &[u8],
        out: &mut impl GatewayOutputs,
    ) {
        match self.talk((now, session), out, |acceptor, talk| acceptor.received(now, bytes, talk)) {
            Some(verdict) => self.obey(now, session, verdict, out),
            None => self.received_fix(now, session, bytes, out),
        }
    }

    /// A client's connection has ended.
    pub fn closed(&mut self, now: Time, session: SessionId, out: &mut impl GatewayOutputs) {
        if !self.end(now, session, out) {
            self.end_fix(now, session, out);
        }
    }

    /// When [`timeout`](Self::timeout) is to be called at the latest.
    pub fn deadline(&self) -> Time {
        self.ticked.after(TICK)
    }

    /// Time has passed: who is silent is let go.
    pub fn timeout(&mut self, now: Time, out: &mut impl GatewayOutputs) {
        if now < self.deadline() {
            return;
        }
        self.ticked = now;
        self.beat(now, out);
        let is_free = |place: usize| self.seats[place].is_none() && self.fix.is_free(place);
        while self.taken > 0 && is_free(self.taken - 1) {
            self.taken -= 1;
        }
        for place in 0..self.taken {
            let session = SessionId(place as u32);
            let verdict =
                self.talk((now, session), out, |acceptor, talk| acceptor.timeout(now, talk));
            self.obey(now, session, verdict.unwrap_or(Verdict::Open), out);
        }
        self.timeout_fix(now, out);
    }

    /// Who does not read is logged out: the end of a turn of a shell.
    pub fn cycle(&mut self, now: Time, out: &mut impl GatewayOutputs) {
        while let Some(session) = self.slow.pop() {
            self.log_out_slow(now, session, out);
        }
    }

    /// What it has counted.
    pub fn counts(&self) -> GatewayCounts {
        let is_in = |client: &&Client| {
            client.channel == Channel::RealTime && matches!(client.phase, Phase::In { .. })
        };
        let fix_clients = self.fix.logged_on();
        GatewayCounts {
            clients: self.seats[..self.taken].iter().flatten().filter(is_in).count() + fix_clients,
            fix_clients,
            undecided: self.desk.requests.len(),
            linked: usize::from(self.desk.uplink.is_up()),
            ..self.desk.counts
        }
    }

    /// Has the session of a client do something. `None`: it is none of the native
    /// protocol.
    pub(super) fn talk<O: GatewayOutputs>(
        &mut self,
        (now, session): (Time, SessionId),
        out: &mut O,
        with: impl FnOnce(&mut Acceptor, &mut Talk<'_, O>) -> Verdict,
    ) -> Option<Verdict> {
        let Some(Some(client)) = self.seats.get_mut(session.0 as usize) else { return None };
        let Client { acceptor, number, channel, phase } = client;
        let (number, channel, desk) = (*number, *channel, &mut self.desk);
        Some(with(acceptor, &mut Talk { desk, now, session, number, channel, phase, out }))
    }

    pub(super) fn obey(
        &mut self,
        now: Time,
        session: SessionId,
        verdict: Verdict,
        out: &mut impl GatewayOutputs,
    ) {
        if verdict == Verdict::Close && self.end(now, session, out) {
            out.close(session);
        }
    }

    /// Ends a session, with a word to the client.
    pub(super) fn log_out(
        &mut self,
        now: Time,
        session: SessionId,
        why: &str,
        out: &mut impl GatewayOutputs,
    ) {
        let ends = self.talk((now, session), out, |acceptor, talk| {
            acceptor.log_out(now, why, talk);
            Verdict::Close
        });
        match ends {
            Some(verdict) => self.obey(now, session, verdict, out),
            None => self.log_out_fix(now, session, why, out),
        }
    }

    /// Ends all sessions.
    pub fn log_out_all(&mut self, now: Time, out: &mut impl GatewayOutputs) {
        for place in 0..self.seats.len() {
            self.log_out(now, SessionId(place as u32), "the gateway ends", out);
        }
    }

    /// Something has gone to a client, which may not read.
    pub(super) fn note_queued(&mut self, session: SessionId, out: &impl GatewayOutputs) {
        let is_slow = out.queued(session) > self.desk.config.max_output_bytes;
        if is_slow && !self.slow.contains(&session) {
            self.slow.push(session);
        }
    }

    /// A client is not there any more: the market hears of it, in its order.
    fn end(&mut self, now: Time, session: SessionId, out: &mut impl GatewayOutputs) -> bool {
        let seat = self.seats.get_mut(session.0 as usize);
        let Some(client) = seat.and_then(Option::take) else { return false };
        let Client { number, channel, phase, .. } = client;
        self.places.remove(&number);
        let desk = &mut self.desk;
        match (phase, channel) {
            (Phase::Outside, _) => {}
            (Phase::In { user, name, .. }, Channel::RealTime) => {
                tracing::info!(user = name.as_str(), "logged out");
                let asked = desk.asked(now, user);
                if let Some(end) = Request::new(number, Kind::DISCONNECT, asked, &[]) {
                    desk.push(now, end, out);
                }
            }
            (Phase::Asks(_) | Phase::In { .. }, _) => {
                if desk.uplink.is_up() {
                    desk.say(now, &Word::Gone { client: number }, out);
                }
            }
        }
        true
    }
}

/// What a client's session does.
pub(super) struct Talk<'t, O> {
    desk: &'t mut Desk,
    now: Time,
    session: SessionId,
    number: u32,
    channel: Channel,
    phase: &'t mut Phase,
    out: &'t mut O,
}

impl<O: GatewayOutputs> Talk<'_, O> {
    fn tell(&mut self, message: &Message) {
        let mut bytes = Vec::with_capacity(64);
        message.append(&mut bytes);
        self.out.send(self.session, &bytes);
    }
}

impl<O: GatewayOutputs> tapeline_ntg::Outputs for Talk<'_, O> {
    fn admit(&mut self, logon: &Logon) -> Admission {
        if !self.desk.uplink.is_up() {
            self.desk.counts.logons_refused += 1;
            return Admission::Refused(DOWN);
        }
        *self.phase = Phase::Asks(logon.user);
        let (client, channel, logon) = (self.number, self.channel, *logon);
        self.desk.say(self.now, &Word::LogOn { client, channel, logon }, self.out);
        Admission::Later
    }

    fn request(&mut self, input: &Input, frame: &[u8]) {
        let &mut Phase::In { user, .. } = self.phase else { return };
        let Input::Missed(request) = input else {
            let who = (self.number, user);
            if let Some(told) = self.desk.request(self.now, who, (input, frame), self.out) {
                self.tell(&told);
            }
            return;
        };
        match self.desk.uplink.is_up() {
            true => {
                let (client, request) = (self.number, *request);
                self.desk.say(self.now, &Word::Missed { client, request }, self.out);
            }
            false => {
                self.tell(&Message::MissedMessageAck(MissedMessageAck { status: UNAVAILABLE }));
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.desk.counts.rejected += u64::from(bytes.get(3) == Some(&b'3'));
        self.out.send(self.session, bytes);
    }
}
