//! Clients of the twin that speak FIX, at gateways and at the market's own door.

use std::collections::BTreeSet;

use tapeline_fix::{Credentials, Frames, Initiator, Message, Store, Verdict, Writer, tag};

use super::World;
use crate::core::{Door, SessionId};

pub(super) const NAMES: [&str; 2] = ["CAT", "DAN"];

/// Where a client is: at a gateway, or at the market's own door.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Gateway(usize),
    Market,
}

/// What a client was told.
#[derive(Default)]
struct Told {
    accepted: BTreeSet<String>,
    executions: BTreeSet<String>,
    /// How many executions it was told of once more, and of how many with 97 = Y the
    /// first time.
    again: u64,
    waited: u64,
}

/// How often what happened to clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Executions that they were told of once more.
    pub(super) again: u64,
    /// Connections that ended with something on its way from the client, or to it.
    pub(super) lost: [u64; 2],
    /// Orders that they were asked for again.
    pub(super) asked: u64,
    /// Logons with 141 = Y at a gateway, and at the market's own door; so many of them
    /// while reports waited.
    pub(super) resets: [u64; 2],
    pub(super) resets_behind_reports: u64,
}

impl Counts {
    pub(super) fn add(&mut self, other: &Self) {
        self.again += other.again;
        self.asked += other.asked;
        for at in 0..2 {
            self.lost[at] += other.lost[at];
            self.resets[at] += other.resets[at];
        }
        self.resets_behind_reports += other.resets_behind_reports;
    }
}

/// A client, and what outlives its connections.
pub(super) struct Client {
    at: Option<(Place, SessionId, Initiator)>,
    /// Where it was last.
    last: Place,
    store: Store,
    /// What it has said, and its place has not got yet.
    up: Vec<u8>,
    /// The day that its numbers are of, since 1970.
    day: u64,
    /// It begins at 1 again, and nobody has answered that yet.
    resets: bool,
    pub(super) sent: u64,
    told: Told,
    counts: Counts,
}

impl Client {
    pub(super) fn new() -> Self {
        Self {
            at: None,
            last: Place::Market,
            store: Store::new(500),
            up: Vec::new(),
            day: 0,
            resets: false,
            sent: 0,
            told: Told::default(),
            counts: Counts::default(),
        }
    }

    pub(super) const fn counts(&self) -> Counts {
        Counts { again: self.told.again, ..self.counts }
    }

    fn is_active(&self) -> bool {
        self.at.as_ref().is_some_and(|(_, _, initiator)| initiator.is_active())
    }

    /// Its process at the other end is gone.
    pub(super) fn loses_gateway(&mut self, gateway: usize) {
        self.loses(Place::Gateway(gateway));
    }

    pub(super) fn loses_market(&mut self) {
        self.loses(Place::Market);
    }

    fn loses(&mut self, gone: Place) {
        if self.at.take_if(|(place, ..)| *place == gone).is_some() {
            self.up.clear();
        }
    }
}

fn put_order(fields: &mut Writer<'_>, name: &str, number: u64) {
    fields.text(tag::CL_ORD_ID, format!("{name}{number}").as_bytes());
    fields.number(tag::NO_PARTY_IDS, 1).text(tag::PARTY_ID, b"DESK");
    fields.byte(tag::PARTY_ID_SOURCE, b'D').number(tag::PARTY_ROLE, 76);
    fields.number(tag::SECURITY_ID, 7).byte(tag::SECURITY_ID_SOURCE, b'8');
    fields.byte(tag::ORD_TYPE, b'2').byte(tag::SIDE, b'1' + (number % 2) as u8);
    fields.number(tag::ORDER_QTY, 10).number(tag::DISPLAY_QTY, 10).text(tag::PRICE, b"10");
    fields.byte(tag::ACCOUNT_TYPE, b'1').byte(tag::ORDER_CAPACITY, b'P');
    fields.time(tag::TRANSACT_TIME, 1);
}

impl Told {
    fn note(&mut self, message: &Message<'_>) {
        if message.msg_type() != b"8" {
            return;
        }
        let text = |tag| String::from_utf8_lossy(message.get(tag).unwrap_or_default()).into_owned();
        self.accepted.insert(text(tag::CL_ORD_ID));
        let is_said = message.get(tag::POSS_RESEND) == Some(b"Y");
        if self.executions.insert(text(tag::EXEC_ID)) {
            self.waited += u64::from(is_said);
        } else {
            assert!(is_said, "told twice without a word: {message:?}");
            self.again += 1;
        }
    }
}

/// How many orders are said to be sent again.
fn orders_again(bytes: &[u8]) -> u64 {
    let mut count = 0;
    let read = Frames::default().read(bytes, |message| {
        let is_dup = message.get(tag::POSS_DUP_FLAG) == Some(b"Y");
        count += u64::from(is_dup && message.msg_type() == b"D");
        true
    });
    read.expect("messages");
    count
}

impl World {
    fn now_ns(&self) -> u64 {
        self.now.as_nanos()
    }

    /// Bytes of a client arrive where it is.
    fn arrives(&mut self, (place, session): (Place, SessionId), bytes: &[u8]) {
        match place {
            _ if bytes.is_empty() => {}
            Place::Gateway(at) => {
                let process = &mut self.processes[at];
                process.gateway.received(self.now, session, bytes, &mut process.lines);
            }
            Place::Market => self.market.received(self.now, session, bytes, &mut self.wires),
        }
    }

    /// Some of what a client has said arrives where it is.
    pub(super) fn carry_fix(&mut self, who: usize, all: bool) {
        let client = &mut self.fix[who];
        let Some((place, session, _)) = &client.at else { return };
        let place = (*place, *session);
        let len = if all { client.up.len() } else { self.random.below(client.up.len() + 1) };
        let bytes: Vec<u8> = client.up.drain(..len).collect();
        self.arrives(place, &bytes);
    }

    /// The connection of a client ends: what is on its way is lost, but for some of what
    /// the client has said.
    pub(super) fn hang_up_fix(&mut self, who: usize) {
        self.carry_fix(who, false);
        let Client { at, up, counts, .. } = &mut self.fix[who];
        let Some((place, session, _)) = at.take() else { return };
        counts.lost[0] += u64::from(!up.is_empty());
        up.clear();
        let unread = match place {
            Place::Gateway(at) => &mut self.processes[at].lines.to,
            Place::Market => &mut self.wires.to,
        };
        counts.lost[1] += u64::from(unread.remove(&session).is_some_and(|it| !it.is_empty()));
        match place {
            Place::Gateway(at) => {
                let process = &mut self.processes[at];
                process.gateway.closed(self.now, session, &mut process.lines);
            }
            Place::Market => self.market.closed(self.now, session),
        }
    }

    /// The connection of a client ends while it trades, at times with the answers on
    /// their way.
    pub(super) fn lose_fix(&mut self, who: usize) {
        (0..=self.random.below(2)).for_each(|_| self.trade_fix(who));
        if self.random.below(2) == 0 {
            self.carry_fix(who, false);
            let gateway = match self.fix[who].at {
                Some((Place::Gateway(at), ..)) => Some(at),
                _ => None,
            };
            if let Some(at) = gateway {
                self.link(at);
                self.carry(at, true);
            }
            self.commit(true);
            if let Some(at) = gateway {
                self.carry(at, true);
            }
            self.trade_fix(who);
        }
        self.hang_up_fix(who);
    }

    pub(super) fn trade_fix(&mut self, who: usize) {
        if self.fix[who].is_active() {
            self.fix[who].sent += 1;
            let number = self.fix[who].sent;
            self.order_fix(who, number);
        }
    }

    fn order_fix(&mut self, who: usize, number: u64) {
        let (now, now_ns) = (self.now, self.now_ns());
        let Client { at, store, up, .. } = &mut self.fix[who];
        let Some((_, _, initiator)) = at else { return };
        let body = |fields: &mut Writer<'_>| put_order(fields, NAMES[who], number);
        initiator.send(now, now_ns, b"D", body, store, |sent| up.extend_from_slice(sent));
    }

    /// Clients read what has come, and answer; time has passed for them.
    pub(super) fn listen_fix(&mut self) {
        for who in 0..self.fix.len() {
            let Some((place, session, _)) = &self.fix[who].at else { continue };
            let (place, session) = (*place, *session);
            let (to, closed) = match place {
                Place::Gateway(at) => {
                    let lines = &mut self.processes[at].lines;
                    (lines.to.remove(&session), lines.closed.contains(&session))
                }
                Place::Market => {
                    (self.wires.to.remove(&session), self.wires.closed.contains(&session))
                }
            };
            let (now, now_ns, mut bytes) = (self.now, self.now_ns(), Vec::new());
            let Client { at, store, told, counts, up, resets, .. } = &mut self.fix[who];
            let Some((_, _, initiator)) = at else { continue };
            let came = to.unwrap_or_default();
            let send = |sent: &[u8]| bytes.extend_from_slice(sent);
            let each = |message: &Message<'_>| told.note(message);
            let mut verdict = initiator.received(now, now_ns, &came, store, send, each);
            if verdict == Verdict::Open {
                let send = |sent: &[u8]| bytes.extend_from_slice(sent);
                verdict = initiator.timeout(now, now_ns, store, send);
            }
            if initiator.is_active() && std::mem::take(resets) {
                counts.resets[usize::from(place == Place::Market)] += 1;
            }
            counts.asked += orders_again(&bytes);
            up.extend_from_slice(&bytes);
            if closed {
                up.clear();
                *at = None;
            } else if verdict == Verdict::Close {
                self.hang_up_fix(who);
            }
        }
    }

    /// A client that is nowhere logs on somewhere, hears what it missed, and sends again
    /// what nobody knows.
    pub(super) fn come_back_fix(&mut self, who: usize) {
        if self.fix[who].at.is_some() {
            return;
        }
        let place = match self.random.below(5) {
            at @ 0..2 => Place::Gateway(at),
            2 => Place::Market,
            _ => self.fix[who].last,
        };
        let gateways = match place {
            Place::Gateway(at) => vec![at],
            Place::Market => vec![],
        };
        // A logon needs a link.
        self.settle_at(&gateways);
        // Who has asked for that goes on asking, until it is answered.
        self.fix[who].resets |= self.random.below(8) == 0;
        let resets = self.fix[who].counts.resets;
        let waited = self.fix[who].told.waited;
        self.connect_fix(who, place);
        if self.random.below(8) == 0 {
            return self.hang_up_fix(who);
        }
        for _ in 0..3 {
            self.settle_at(&gateways);
        }
        if !self.fix[who].is_active() {
            return self.hang_up_fix(who);
        }
        let Client { counts, told, .. } = &mut self.fix[who];
        let has_waited = told.waited > waited;
        counts.resets_behind_reports += u64::from(has_waited && counts.resets != resets);
        for number in 1..=self.fix[who].sent {
            if !self.fix[who].told.accepted.contains(&format!("{}{number}", NAMES[who])) {
                self.order_fix(who, number);
            }
        }
    }

    /// Which day it is where the exchange is, since 1970.
    fn day(&self) -> u64 {
        self.now.as_nanos() / 86_400_000_000_000
    }

    fn connect_fix(&mut self, who: usize, place: Place) {
        let session = match place {
            Place::Gateway(at) => {
                let process = &mut self.processes[at];
                let session = process.gateway.accepted(self.now, Door::Fix).expect("room");
                process.lines.to.remove(&session);
                process.lines.closed.remove(&session);
                session
            }
            Place::Market => {
                let session = self.market.accepted(self.now, Door::Fix).expect("room");
                self.wires.routes.remove(&session);
                self.wires.to.remove(&session);
                self.wires.closed.remove(&session);
                session
            }
        };
        let (now, now_ns, day) = (self.now, self.now_ns(), self.day());
        let mut initiator = Initiator::new(now, NAMES[who].as_bytes(), b"FGW", 1);
        let Client { at, store, up, resets, day: last_day, last, .. } = &mut self.fix[who];
        if std::mem::replace(last_day, day) != day {
            // It counts by the day, too.
            store.restart(1);
        }
        let credentials = Credentials { password: b"x", resets: *resets, ..Credentials::default() };
        initiator.log_on(now, now_ns, &credentials, store, |sent| up.extend_from_slice(sent));
        *at = Some((place, session, initiator));
        *last = place;
    }

    /// Nothing that was sent by FIX is missing, or there twice, and everybody was told of
    /// every execution, and of none twice without a word.
    pub(super) fn account_fix(&mut self) {
        for (who, name) in NAMES.into_iter().enumerate() {
            for _ in 0..20 {
                self.settle();
                self.come_back_fix(who);
            }
            self.settle();
            assert!(self.fix[who].is_active(), "{name} cannot log on");
            // Its session is where it is; reports can be had again by another door, too.
            let again = self.recovered(name, 0);
            let client = &self.fix[who];
            assert_eq!(
                client.told.accepted.len() as u64,
                client.sent,
                "orders of {name} are missing"
            );
            let execution = |frame: &Vec<u8>| String::from_utf8_lossy(&frame[9..21]).into_owned();
            let made: BTreeSet<String> = again.values().map(execution).collect();
            let missing: Vec<&String> = made.difference(&client.told.executions).collect();
            assert!(missing.is_empty(), "{name} was not told of {missing:?}");
            assert_eq!(client.told.executions.len(), made.len(), "{name} was told of what is not");
            let ids: BTreeSet<&[u8]> = again.values().map(|frame| &frame[41..53]).collect();
            assert_eq!(ids.len() as u64, client.sent, "doubles");
        }
    }
}

/// The bytes that are on their way to a client are lost, and given back.
fn lose(world: &mut World) -> Vec<u8> {
    let Some((place, session, _)) = &world.fix[0].at else { panic!("it is nowhere") };
    let to = match place {
        Place::Gateway(at) => &mut world.processes[*at].lines.to,
        Place::Market => &mut world.wires.to,
    };
    to.remove(session).unwrap_or_default()
}

#[test]
fn what_was_sent_at_the_own_door_and_did_not_arrive_comes_at_a_gateway() {
    let mut world = World::new(1);
    world.settle();
    world.connect_fix(0, Place::Market);
    world.settle();
    world.trade_fix(0);
    world.carry_fix(0, true);
    world.commit(true);
    assert!(!lose(&mut world).is_empty(), "a report");
    world.hang_up_fix(0);
    world.settle();
    world.connect_fix(0, Place::Gateway(0));
    world.settle();
    assert_eq!((world.fix[0].told.accepted.len(), world.fix[0].told.again), (1, 0));
    assert!(world.fix[0].store.next_in() > 5_000, "numbers rise");
}

#[test]
fn a_gateway_does_not_say_that_a_client_has_what_came_behind_the_question() {
    let mut world = World::new(1);
    world.settle();
    world.connect_fix(0, Place::Gateway(0));
    world.settle();
    world.trade_fix(0);
    world.settle();
    world.pass(1_000);
    let question = lose(&mut world);
    world.trade_fix(0);
    world.carry_fix(0, true);
    world.carry(0, true);
    world.commit(true);
    world.carry(0, true);
    assert!(!lose(&mut world).is_empty(), "a report");
    let Some((_, session, _)) = world.fix[0].at else { panic!("it is nowhere") };
    world.processes[0].lines.to.insert(session, question);
    world.listen_fix();
    world.carry_fix(0, true);
    world.carry(0, true);
    world.commit(true);
    world.carry(0, true);
    world.kill_gateway(0);
    world.settle();
    world.connect_fix(0, Place::Gateway(1));
    world.settle();
    // The second one comes, and the first one does not come again.
    assert_eq!((world.fix[0].told.accepted.len(), world.fix[0].told.again), (2, 0));
}

#[test]
fn what_was_lost_on_its_way_comes_also_where_numbers_begin_again() {
    for place in [Place::Gateway(0), Place::Market] {
        for is_new_day in [false, true] {
            let mut world = World::new(1);
            world.settle();
            world.connect_fix(0, place);
            world.settle();
            world.trade_fix(0);
            world.carry_fix(0, true);
            world.carry(0, true);
            world.commit(true);
            world.carry(0, true);
            assert!(!lose(&mut world).is_empty(), "a report");
            world.hang_up_fix(0);
            world.pass(if is_new_day { 86_400_000 } else { 0 });
            world.settle();
            world.fix[0].resets = !is_new_day;
            world.connect_fix(0, place);
            world.settle();
            assert!(world.fix[0].is_active());
            let Told { executions, waited, .. } = &world.fix[0].told;
            assert_eq!((executions.len(), *waited), (1, 1), "a new day: {is_new_day}");
            // A logon and the report by then.
            assert_eq!(world.fix[0].store.next_in(), 3);
        }
    }
}
