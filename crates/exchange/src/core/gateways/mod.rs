//! Gateways in processes of their own: what the market does for their clients.
//!
//! ```text
//!  client ─▶ gateway: session, throttle, fields ══ link ══▶ market: who may come in,
//!                       │ keeps what is not decided             order, reports, cache
//!                       ▼                                       │
//!                     clients ◀═════════════ link ══════════════┘
//! ```
//!
//! | the gateway promises | the market promises |
//! |---|---|
//! | its requests have numbers that rise, and come in their order | a number that it knows is not taken again; what it says is done is decided for good |
//! | it keeps each until it is done, and says it again on the next link | a greeting says up to where it knows them |
//! | a session that ends is a request, behind those of the session | a user whose session is at a gateway is let in nowhere else before its end is in the journal |
//! | behind a broken link it names the sessions that go on, with the last report of each | they get what they missed, in its order, and then what is new |
//! | the numbers of a session of FIX are its: it says where they are, as a request, before more of them are used than another process skips | bodies of reports have running numbers, and are held until the client has them: who goes on knows what is missing, and what to say again |
//!
//! Whose session is at which gateway is part of the state that entries change: so a
//! leader that dies takes no session of a gateway with it, and what a gateway says too
//! late, for a user who has gone elsewhere, is not done. Nothing else in the core knows of
//! gateways: a client of one has a connection like others, whose bytes go by its
//! gateway's link.

mod fix;
mod links;

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tapeline_layout::{Sections, append_section, message};
use tapeline_ntg::Channel;
use tapeline_ntg::session::Logon;
use tapeline_sequence::{Command, Entry, Identity, Kind, NotTaken, Source};
use tapeline_time::Time;

use super::answers::Answer;
use super::config::GatewayTerms;
use super::floor::Floor;
use super::gate::Gate;
use super::{Exchange, ExchangeConfig, Outputs, SessionId};
use crate::gateway::{Asked, FixAsked, FixBegun, Word, Words};
use crate::identity;

/// The stream of the gateways of the market's own process.
const OWN: u16 = 1;

/// The stream of a gateway.
pub(super) const fn source(gateway: u16) -> Source {
    Source(OWN + gateway)
}

/// The gateway that a stream is of; 0 for the market's own process.
pub(super) const fn gateway_of(source: Source) -> u16 {
    source.0.saturating_sub(OWN)
}

message! {
    /// At which gateway the session of a user is.
    Place: 4, fill 0 {
        /// The gateway.
        0 => gateway: u16,
        /// The user.
        2 => user: u16,
    }
}

/// The connection of a gateway.
#[derive(Debug)]
pub(super) struct Link {
    words: Words,
    /// Which it is, once it has said so.
    gateway: Option<u16>,
    heard: Time,
    said: Time,
    /// Its clients.
    members: HashMap<u32, SessionId>,
}

impl Link {
    pub(super) fn new(now: Time) -> Self {
        Self {
            words: Words::default(),
            gateway: None,
            heard: now,
            said: now,
            members: HashMap::new(),
        }
    }
}

/// How far a client of a gateway is.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// It wants in.
    Asks(Logon),
    /// The same by FIX.
    AsksByFix(Logon, FixAsked),
    /// That it is there waits to be kept.
    Claims { user: u16, password_days: u32 },
    /// That it is there by FIX, and where its session begins, waits to be kept.
    Begins(FixBegun),
    /// It gets what it missed.
    Resumes(u16),
    /// It is there.
    In,
}

/// A client of a gateway.
#[derive(Debug)]
pub(super) struct Member {
    link: SessionId,
    gateway: u16,
    client: u32,
    channel: Channel,
    phase: Phase,
    answer: Option<Answer>,
}

impl Member {
    /// The link by which it is here.
    pub(super) const fn link(&self) -> SessionId {
        self.link
    }
}

/// One gateway.
#[derive(Debug, Default)]
struct Known {
    link: Option<SessionId>,
    /// The process that has the link, or had it.
    instance: u64,
    /// Since when there is no link, while sessions wait for one.
    gone: Option<Time>,
    /// The last request that is done, and the last that the gateway was told of.
    done: u64,
    told: u64,
}

/// All gateways in processes of their own.
#[derive(Debug)]
pub(super) struct Gateways {
    terms: Option<GatewayTerms>,
    identity: Identity,
    all: BTreeMap<u16, Known>,
    /// Clients who wait to be let in.
    waiting: Vec<SessionId>,
    /// Users whose sessions end by themselves.
    departures: Vec<u16>,
    scratch: Vec<u8>,
}

impl Gateways {
    pub(super) fn new(config: &ExchangeConfig) -> Self {
        let terms = config.gateways.clone();
        let identity = terms.as_ref().map(|_| identity::of(config)).unwrap_or_default();
        let (all, scratch) = (BTreeMap::new(), Vec::with_capacity(64));
        let (waiting, departures) = (Vec::new(), Vec::new());
        Self { terms, identity, all, waiting, departures, scratch }
    }

    /// How many are linked.
    pub(super) fn linked(&self) -> usize {
        self.all.values().filter(|known| known.link.is_some()).count()
    }

    fn is_linked(&self, gateway: u16) -> bool {
        self.all.get(&gateway).is_some_and(|known| known.link.is_some())
    }

    fn silence(&self) -> Duration {
        self.terms.as_ref().map_or(Duration::ZERO, |terms| terms.silence)
    }

    /// An entry is done.
    pub(super) fn note(&mut self, entry: &Entry<'_>) {
        for command in entry.commands() {
            let gateway = gateway_of(command.source);
            if gateway != 0 {
                let known = self.all.entry(gateway).or_default();
                known.done = known.done.max(command.number);
            }
        }
    }

    /// Gateways hear how far they are.
    pub(super) fn tell(&mut self, out: &mut impl Outputs) {
        for known in self.all.values_mut().filter(|known| known.done > known.told) {
            if let Some(link) = known.link {
                known.told = known.done;
                self.scratch.clear();
                Word::Done { number: known.done }.append(&mut self.scratch);
                out.send(link, &self.scratch);
            }
        }
    }

    /// A gateway hears that the market is there.
    fn beat(&mut self, link: SessionId, out: &mut impl Outputs) {
        self.scratch.clear();
        Word::Beat.append(&mut self.scratch);
        out.send(link, &self.scratch);
    }

    /// A request of a gateway is kept nowhere, and never will be.
    pub(super) fn refuse(&self, command: &Command<'_>, out: &mut impl Outputs) {
        let known = self.all.get(&gateway_of(command.source));
        if let Some(link) = known.and_then(|known| known.link) {
            say(link, &Word::NotTaken { number: command.number }, out);
        }
    }
}

fn say(link: SessionId, word: &Word<'_>, out: &mut impl Outputs) {
    let mut bytes = Vec::with_capacity(64);
    word.append(&mut bytes);
    out.send(link, &bytes);
}

impl Floor {
    /// Sessions at gateways wait for these: a market has begun to lead.
    pub(super) fn expect_gateways(&mut self, now: Time) {
        for user in 0..self.users.len() as u16 {
            let gateway = self.users.gateway_of(user);
            if gateway != 0 {
                self.gateways.all.entry(gateway).or_default().gone.get_or_insert(now);
            }
        }
    }

    /// A user wants in elsewhere than where it is. Returns whether there is room soon: its
    /// session is about to end.
    pub(super) fn make_room(&mut self, user: u16) -> bool {
        let gateway = self.users.gateway_of(user);
        if gateway != 0 && !self.gateways.is_linked(gateway) {
            self.depart(user);
        }
        self.users.is_leaving(user)
    }

    /// The session of a user at a gateway ends by itself.
    fn depart(&mut self, user: u16) {
        if !self.users.is_leaving(user) {
            self.users.set_leaving(user);
            self.gateways.departures.push(user);
        }
    }

    /// Whether a gateway asks for somebody whose session is not there any more.
    pub(super) fn is_astray(&mut self, command: &Command<'_>) -> bool {
        let is_it = is_astray(command, self.users.gateway_of(command.user));
        self.counts.strays += u64::from(is_it);
        is_it
    }

    pub(super) fn save_places(&self, out: &mut Vec<u8>) {
        let place = |user| Place { gateway: self.users.gateway_of(user), user };
        let places = (0..self.users.len() as u16).map(place).filter(|place| place.gateway != 0);
        let mut places = places.peekable();
        // A market without gateways has a state as it was before there were any.
        if places.peek().is_some() {
            append_section(out, places);
        }
    }

    pub(super) fn restore_places(&mut self, sections: &mut Sections<'_>) -> Option<()> {
        if !sections.is_over() {
            for Place { gateway, user } in sections.records()? {
                self.users.set_gateway(user, gateway);
            }
        }
        Some(())
    }
}

/// Whether a command comes for somebody whose session is elsewhere, at this gateway or at
/// none.
fn is_astray(command: &Command<'_>, is_at: u16) -> bool {
    let gateway = gateway_of(command.source);
    gateway != 0 && gateway != is_at
}

/// Where the session of its user is behind a command, if that changes it.
pub(super) fn moves_to(command: &Command<'_>) -> Option<u16> {
    match command.kind {
        Kind::GATEWAY => Some(Place::read(command.payload).map_or(0, |place| place.gateway)),
        Kind::DISCONNECT => Some(0),
        _ => None,
    }
}

impl Exchange {
    /// The commands of the next entry that will be done: not those that a gateway says too
    /// late.
    pub(crate) fn timely<'e>(&self, entry: &Entry<'e>) -> Vec<Command<'e>> {
        let mut places: HashMap<u16, u16> = HashMap::new();
        let mut is_timely = |command: &Command<'_>| {
            let user = command.user;
            let is_at = *places.entry(user).or_insert_with(|| self.floor.users.gateway_of(user));
            let is_it = !is_astray(command, is_at);
            if let Some(gateway) = moves_to(command).filter(|_| is_it) {
                places.insert(user, gateway);
            }
            is_it
        };
        entry.commands().filter(|command| is_timely(command)).collect()
    }
}

impl Gate {
    /// A request of a gateway waits for its turn, by the gateway's number.
    fn forward(&mut self, gateway: u16, word: (Kind, &Asked, u32, &[u8])) -> Result<(), NotTaken> {
        let (kind, Asked { number, sent_ns, user }, session, payload) = word;
        let (source, number, sent_ns) = (source(gateway), *number, *sent_ns);
        self.take(&Command { kind, source, user: *user, session, number, sent_ns, payload })
    }
}
