//! The core of a hub: events and time in, messages and frames out.
//!
//! ```text
//!               route, provider           choice, upstream     frames, requests
//!  providers ──▶ login, directory ──▶ services, sources ◀── Open, Close, Reissue ◀── servers
//!            ──▶ response ── items ── audience ──▶ downstream ──▶ relay ──────────▶
//!            ◀── requests, closes, posts ◀── pace, fate ◀── posts ◀──
//! ```
//!
//! Who owns what, and which files ask it:
//!
//! ```text
//!  table     owner      holds                                    asked by
//!  items     Items      items by id and by key, ticks            nearly all
//!  sources   Sources    connections, offers, queues, streams     route, routes, provider, pace,
//!                                                                choice
//!  services  Services   services by id and name, who waits       directory, upstream
//!  servers   Servers    servers, their requests                  frames, requests, repair
//!  claims    Claims     who stands by for which item             published, fate
//!  mirrors   Mirrors    what a source stands by with             fate, route, pace
//!            (one in each offer)
//!  expiries  Expiries   items that nobody publishes any more     published, claims, rights
//!  posts     Posts      posts without their ack                  posts
//!  publish-  Publishers the policy, for providers that publish   provider, rights
//!   ers
//!  timers    Timers     when items are looked at                 upstream, fate
//!  backlog   Backlog    what is done in slices                   fate, directory
//!  owed      Owed       what servers that lost frames are to get repair
//!  behind    Behind     sources that take more in the next turn  pace
//!  pressure  Pressure   items of which updates are merged         response
//!  follow-   FollowUps  what is done as soon as the present      upstream, downstream, pace
//!   ups                 event is through
//! ```
//!
//! [`check`](Core::check) compares them with each other.

mod audience;
mod backlog;
mod check;
mod choice;
mod claims;
mod directory;
mod downstream;
mod expiries;
mod fate;
mod follow_ups;
mod frames;
mod identify;
mod image;
mod interests;
mod item;
mod items;
mod look;
mod members;
mod mirrors;
mod open;
mod pace;
mod posts;
mod pressure;
mod provider;
mod published;
mod publishers;
mod rate;
mod relay;
mod repair;
mod requests;
mod response;
mod rights;
mod route;
mod routes;
mod servers;
mod services;
mod source;
mod streams;
mod timers;
mod too_long;
mod upstream;

use std::fmt;
use std::sync::Arc;

use tapeline_backbone::MAX_BODY_BYTES;
use tapeline_cache::FieldRules;
use tapeline_channel::{Sent, SessionId};
use tapeline_omm::Scratch;
use tapeline_rwf::MsgHeader;
use tapeline_time::Time;

use crate::{Counters, Event, HubConfig, Outputs};
use backlog::Backlog;
use claims::Claims;
use expiries::Expiries;
use follow_ups::FollowUps;
use identify::Identification;
use items::Items;
use mirrors::{Balances, Failbacks, Failovers, Repeats};
use pace::Behind;
use posts::Posts;
use pressure::Pressure;
use publishers::Publishers;
use repair::Owed;
pub use routes::RouteChanges;
use servers::Servers;
use services::Services;
use source::{Phase, Source, SourceKind, Sources};
use timers::{DUE_PER_TURN, Timers};
use timers::{at_ms, ms};

/// A hub without sockets and clock.
///
/// Call [`handle`](Self::handle) with every event, in order, and
/// [`handle_timeout`](Self::handle_timeout) when
/// [`next_deadline`](Self::next_deadline) has come; time must not go back. A
/// new core wants a timeout at once: it connects its routes then.
pub struct Core {
    config: HubConfig,
    sources: Sources,
    services: Services,
    items: Items,
    servers: Servers,
    claims: Claims,
    posts: Posts,
    owed: Owed,
    backlog: Backlog,
    timers: Timers,
    scratch: Scratch,
    /// For the payloads of kept images.
    payload: Vec<u8>,
    rules: Option<Arc<dyn FieldRules + Send + Sync>>,
    counters: Counters,
    expiries: Expiries,
    publishers: Publishers,
    identification: Identification,
    follow_ups: FollowUps,
    /// Sources that take more than was sent in one turn.
    behind: Behind,
    /// More waits for the backbone than should.
    pressure: Pressure,
    failbacks: Failbacks,
    /// Services of which what is open goes to sources that have less to do.
    balances: Balances,
    /// Those whose active source is waited for.
    failovers: Failovers,
    /// What servers had of items from sources that were ahead of those in use now.
    repeats: Repeats,
    /// When a standby is asked again for what it closed, in milliseconds.
    refused_ms: Option<u64>,
}

impl Core {
    /// A core with nothing connected.
    pub fn new(config: HubConfig) -> Self {
        let max_services = config.limits.max_services;
        Self {
            sources: Sources::with_routes(&config.routes, max_services),
            services: Services::new(&config),
            items: Items::default(),
            servers: Servers::default(),
            claims: Claims::default(),
            posts: Posts::default(),
            owed: Owed::default(),
            backlog: Backlog::default(),
            timers: Timers::default(),
            scratch: Scratch::new(MAX_BODY_BYTES),
            payload: Vec::new(),
            rules: None,
            counters: Counters::default(),
            expiries: Expiries::default(),
            publishers: Publishers::default(),
            identification: Identification::default(),
            follow_ups: FollowUps::default(),
            behind: Behind::default(),
            pressure: Pressure::default(),
            failbacks: Failbacks::default(),
            balances: Balances::default(),
            failovers: Failovers::default(),
            repeats: Repeats::default(),
            refused_ms: None,
            config,
        }
    }

    /// The field dictionary by which kept images ripple. Without one they do
    /// not.
    pub fn set_field_rules(&mut self, rules: Arc<dyn FieldRules + Send + Sync>) {
        self.rules = Some(rules);
    }

    pub(crate) const fn config(&self) -> &HubConfig {
        &self.config
    }

    /// Has another configuration from now on, as far as it can change. Who has more
    /// than a lower limit keeps it, and what waits has the time-out it began with.
    /// Routes are for [`adopt_routes`](Self::adopt_routes).
    pub(crate) fn adopt(&mut self, config: &HubConfig) {
        let routes = std::mem::take(&mut self.config.routes);
        self.config.adopt(config);
        self.config.routes = routes;
    }

    /// What has happened so far, and what there is now.
    pub fn counters(&self) -> Counters {
        let is_up = |source: &Source| source.phase == Phase::Up && !source.leaves;
        let (merges, merged_bytes) = self.pressure.merged();
        let up = self.sources.iter().filter(|(_, source)| is_up(source)).count();
        Counters {
            items: self.items.len() as u64,
            services: self.services.len() as u64,
            sources_up: up as u64,
            servers: self.servers.len() as u64,
            providers: self.sources.providers() as u64,
            provider_items: self.sources.most_published(),
            posts_waiting: self.posts.len() as u64,
            claims: self.claims.len() as u64,
            backlog: self.backlog.len() as u64,
            owed: (self.owed.len() + self.servers.left_over()) as u64,
            unsent_upstream: self.unsent() as u64,
            mirrors: self.mirrors() as u64,
            pressed: u64::from(self.pressure.is_on()),
            merges: merges as u64,
            merged_bytes: merged_bytes as u64,
            ..self.counters
        }
    }

    /// Something happened.
    pub fn handle(&mut self, now: Time, event: Event<'_>, out: &mut impl Outputs) {
        match event {
            Event::Message { session, bytes } => self.message(now, session, bytes, out),
            Event::TooLong { session, head, length, max } => {
                self.too_long(now, session, (head, length, max), out);
            }
            Event::Bus(event) => self.bus_event(now, event, out),
            Event::RouteOpened { route, session } => self.route_opened(now, route, session, out),
            Event::RouteFailed { route } => self.route_failed(now, route),
            Event::ProviderOpened { session, peer } => {
                self.provider_opened(now, session, peer, out);
            }
            Event::Policy(change) => self.enforce(now, change, out),
            Event::Identified(answer) => self.identified(now, answer, out),
            Event::Drained { session } => {
                if let Some(source) = self.sources.of_session(session) {
                    self.drained(now, source, out);
                }
            }
            Event::Closed { session } => {
                if let Some(source) = self.sources.of_session(session) {
                    self.follow_ups.lose(source);
                }
            }
        }
        self.settle(now, out);
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn next_deadline(&self) -> Option<Time> {
        let is_left = !self.behind.is_empty() || self.follow_ups.has_room();
        if is_left || !self.backlog.is_empty() {
            return Some(Time::ZERO);
        }
        let deadlines = |(_, source): (u32, &Source)| {
            [source.deadline_ms, source.login_ends_ms, source.preference.may_be_asked_ms()]
        };
        let sources = self.sources.iter().flat_map(deadlines).flatten();
        let others = [self.timers.next_ms(), self.posts.next_ms()];
        let timers = sources.chain(others.into_iter().flatten()).min().map(at_ms);
        let looks = [
            self.next_repair(),
            self.pressure.deadline(),
            self.failbacks.deadline(),
            self.balances.deadline(),
            self.failovers.deadline(),
            self.refused_deadline(),
        ];
        timers.into_iter().chain(looks.into_iter().flatten()).min()
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Time, out: &mut impl Outputs) {
        let is_due = |deadline: Option<u64>| deadline.is_some_and(|at| at <= ms(now));
        let due: Vec<u32> = self
            .sources
            .iter()
            .filter(|(_, source)| is_due(source.deadline_ms))
            .map(|(index, _)| index)
            .collect();
        for source in due {
            self.source_timeout(source, out);
        }
        self.check_login_ends(now, out);
        self.fail_over(now, out);
        self.fail_back(now, out);
        self.balance(now);
        self.ask_refused(now, out);
        self.refill_rates(now);
        for _ in 0..DUE_PER_TURN {
            let Some((at, item)) = self.timers.due(ms(now)) else { break };
            self.item_timeout(now, at, item, out);
        }
        self.post_timeouts(now, out);
        self.work_repairs(now, out);
        self.work_off(now, out);
        self.catch_up_some(now, out);
        if self.pressure.deadline().is_some_and(|at| at <= now) {
            self.look_at_backbone(now, out);
        }
        self.settle(now, out);
    }

    /// A message of a provider. Item messages first: they are nearly all.
    #[inline]
    fn message(&mut self, now: Time, session: SessionId, bytes: &[u8], out: &mut impl Outputs) {
        let Some(index) = self.sources.of_session(session) else { return };
        let Ok(header) = MsgHeader::decode(bytes) else {
            self.counters.malformed += 1;
            return;
        };
        let Some(source) = self.sources.known(index) else { return };
        if let Some(item) = source.streams.get(header.stream_id) {
            self.item_message(now, item, &header, bytes, out);
            return;
        }
        match source.kind {
            SourceKind::Route(_) => self.route_message(now, index, &header, bytes, out),
            SourceKind::Provider => self.provider_message(now, index, &header, bytes, out),
        }
    }

    fn source_timeout(&mut self, index: u32, out: &mut impl Outputs) {
        let Some(source) = self.sources.known_mut(index) else { return };
        match (source.phase, source.kind) {
            (Phase::Down, SourceKind::Route(route)) => {
                source.phase = Phase::Connecting;
                source.deadline_ms = None;
                out.connect(route);
            }
            (Phase::Up, SourceKind::Route(_)) if source.leaves => {
                self.give_up(index, routes::LEFT, out);
            }
            (Phase::Down | Phase::Connecting | Phase::Up, _) => source.deadline_ms = None,
            (Phase::Login, _) => self.give_up(index, "no login in time", out),
            (Phase::Directory, _) => self.give_up(index, "no directory in time", out),
        }
    }

    /// Closes the session of a source. What hangs on it is dealt with when the
    /// present event is.
    fn give_up(&mut self, index: u32, reason: &str, out: &mut impl Outputs) {
        let Some(source) = self.sources.known_mut(index) else { return };
        source.deadline_ms = None;
        // Nothing more is sent there.
        source.is_slow = true;
        if let Some(session) = source.session
            && self.follow_ups.lose(index)
        {
            out.close(session, reason);
        }
    }

    /// Sends a message of the connection itself to a source: of its login or
    /// directory. A source that does not even take that has its session closed.
    fn send(&mut self, index: u32, bytes: &[u8], out: &mut impl Outputs) {
        let Some(source) = self.sources.known_mut(index) else { return };
        let Some(session) = source.session else { return };
        match out.send(session, bytes) {
            Sent::Queued | Sent::Gone | Sent::TooLarge => {}
            Sent::Slow => source.is_slow = true,
            Sent::Full => self.give_up(index, "provider does not read", out),
        }
    }

    /// Deals with what the present event left behind: sources whose session
    /// was closed, items that begin anew, sources that have room again.
    fn settle(&mut self, now: Time, out: &mut impl Outputs) {
        while let Some(index) = self.follow_ups.next_lost() {
            self.source_lost(now, index, out);
        }
        self.begin_anew(now, out);
        self.use_room(now, out);
        while let Some((source, service_id)) = self.follow_ups.next_window_room() {
            self.pump(now, source, service_id, out);
        }
        self.items.settle();
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Core").field("counters", &self.counters()).finish_non_exhaustive()
    }
}
