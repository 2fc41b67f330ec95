//! Clients of the twin that speak FIX, at gateways and at the market's own door.

use std::collections::BTreeSet;

use tapeline_fix::{Credentials, Initiator, Message, Store, Verdict, Writer, tag};

use super::World;
use crate::core::{Door, SessionId};

pub(super) const NAMES: [&str; 2] = ["CAT", "DAN"];

/// Where a client is: at a gateway, or at the market's own door.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Gateway(usize),
    Market,
}

/// What a client has, and was told.
pub(super) struct Client {
    at: Option<(Place, SessionId, Initiator)>,
    store: Store,
    pub(super) sent: u64,
    pub(super) accepted: BTreeSet<String>,
    /// The executions that it was told of.
    pub(super) executions: BTreeSet<String>,
    /// Those that it was told of once more.
    pub(super) again: u64,
}

impl Client {
    pub(super) fn new() -> Self {
        let (accepted, executions) = (BTreeSet::new(), BTreeSet::new());
        Self { at: None, store: Store::new(500), sent: 0, accepted, executions, again: 0 }
    }

    fn is_active(&self) -> bool {
        self.at.as_ref().is_some_and(|(_, _, initiator)| initiator.is_active())
    }

    /// Its process at the other end is gone.
    pub(super) fn loses_gateway(&mut self, gateway: usize) {
        self.at.take_if(|(place, ..)| *place == Place::Gateway(gateway));
    }

    pub(super) fn loses_market(&mut self) {
        self.at.take_if(|(place, ..)| *place == Place::Market);
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

/// What a client takes note of.
fn note(message: &Message<'_>, told: (&mut BTreeSet<String>, &mut BTreeSet<String>, &mut u64)) {
    if message.msg_type() != b"8" {
        return;
    }
    let text = |tag| String::from_utf8_lossy(message.get(tag).unwrap_or_default()).into_owned();
    let (accepted, executions, again) = told;
    accepted.insert(text(tag::CL_ORD_ID));
    if !executions.insert(text(tag::EXEC_ID)) {
        let is_said = message.get(tag::POSS_RESEND) == Some(b"Y");
        assert!(is_said, "told twice without a word: {message:?}");
        *again += 1;
    }
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

    /// A client hangs up.
    pub(super) fn hang_up_fix(&mut self, who: usize) {
        match self.fix[who].at.take() {
            Some((Place::Gateway(at), session, _)) => {
                let process = &mut self.processes[at];
                process.gateway.closed(self.now, session, &mut process.lines);
            }
            Some((Place::Market, session, _)) => self.market.closed(self.now, session),
            None => {}
        }
    }

    pub(super) fn trade_fix(&mut self, who: usize) {
        if self.fix[who].is_active() {
            self.fix[who].sent += 1;
            let number = self.fix[who].sent;
            self.order_fix(who, number);
        }
    }

    fn order_fix(&mut self, who: usize, number: u64) {
        let (now, now_ns, mut bytes) = (self.now, self.now_ns(), Vec::new());
        let Client { at, store, .. } = &mut self.fix[who];
        let Some((place, session, initiator)) = at else { return };
        let place = (*place, *session);
        let body = |fields: &mut Writer<'_>| put_order(fields, NAMES[who], number);
        initiator.send(now, now_ns, b"D", body, store, |sent| bytes.extend_from_slice(sent));
        self.arrives(place, &bytes);
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
            let Client { at, store, accepted, executions, again, .. } = &mut self.fix[who];
            let Some((_, _, initiator)) = at else { continue };
            let came = to.unwrap_or_default();
            let send = |sent: &[u8]| bytes.extend_from_slice(sent);
            let each = |message: &Message<'_>| note(message, (accepted, executions, again));
            let mut verdict = initiator.received(now, now_ns, &came, store, send, each);
            if verdict == Verdict::Open {
                let send = |sent: &[u8]| bytes.extend_from_slice(sent);
                verdict = initiator.timeout(now, now_ns, store, send);
            }
            if closed {
                self.fix[who].at = None;
                continue;
            }
            self.arrives((place, session), &bytes);
            if verdict == Verdict::Close {
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
            at @ 2..4 => Place::Gateway(at - 2),
            _ => Place::Market,
        };
        let gateways = match place {
            Place::Gateway(at) => vec![at],
            Place::Market => vec![],
        };
        // A logon needs a link.
        self.settle_at(&gateways);
        self.connect_fix(who, place);
        for _ in 0..3 {
            self.settle_at(&gateways);
        }
        if !self.fix[who].is_active() {
            return self.hang_up_fix(who);
        }
        for number in 1..=self.fix[who].sent {
            if !self.fix[who].accepted.contains(&format!("{}{number}", NAMES[who])) {
                self.order_fix(who, number);
            }
        }
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
        let (now, now_ns, mut bytes) = (self.now, self.now_ns(), Vec::new());
        let mut initiator = Initiator::new(now, NAMES[who].as_bytes(), b"FGW", 1);
        let credentials = Credentials { password: b"x", ..Credentials::default() };
        let store = &mut self.fix[who].store;
        initiator.log_on(now, now_ns, &credentials, store, |sent| bytes.extend_from_slice(sent));
        self.fix[who].at = Some((place, session, initiator));
        self.arrives((place, session), &bytes);
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
            assert_eq!(client.accepted.len() as u64, client.sent, "orders of {name} are missing");
            let execution = |frame: &Vec<u8>| String::from_utf8_lossy(&frame[9..21]).into_owned();
            let made: BTreeSet<String> = again.values().map(execution).collect();
            let missing: Vec<&String> = made.difference(&client.executions).collect();
            assert!(missing.is_empty(), "{name} was not told of {missing:?}");
            assert_eq!(client.executions.len(), made.len(), "{name} was told of what is not");
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
    world.commit(true);
    assert!(!lose(&mut world).is_empty(), "a report");
    world.hang_up_fix(0);
    world.settle();
    world.connect_fix(0, Place::Gateway(0));
    world.settle();
    assert_eq!((world.fix[0].accepted.len(), world.fix[0].again), (1, 0));
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
    world.carry(0, true);
    world.commit(true);
    world.carry(0, true);
    assert!(!lose(&mut world).is_empty(), "a report");
    let Some((_, session, _)) = world.fix[0].at else { panic!("it is nowhere") };
    world.processes[0].lines.to.insert(session, question);
    world.listen_fix();
    world.carry(0, true);
    world.commit(true);
    world.carry(0, true);
    world.kill_gateway(0);
    world.settle();
    world.connect_fix(0, Place::Gateway(1));
    world.settle();
    // The second one comes, and the first one does not come again.
    assert_eq!((world.fix[0].accepted.len(), world.fix[0].again), (2, 0));
}
