//! The server without sockets and clocks.
//!
//! One file for each thing it does:
//!
//! ```text
//! mounts   mount, stream, login, round_trips, directory, dictionary, close
//! standby  roles, standby
//! requests request, reissue, batch, pending → item, upstream
//! hubs     hubs, peer, services, repair
//! fan-out  frame → update, image, status, generic; copies, variant for those who
//!          get them in another form, slow and owed for those who do not keep
//!          up, drain for when they do again
//! posts    post
//! policy   permit, sift → entitlements; review when it is another one; usage
//! bounds   turns, memory, preempt
//! slices   backlog → leave, peer, pending, news, refresh; at_hubs finds the
//!          items
//! ```

mod asked;
mod at_hubs;
mod awaited;
mod backlog;
mod batch;
mod bounds;
mod census;
mod check;
mod close;
mod copies;
mod denials;
mod dictionary;
mod directory;
mod drain;
mod entitlements;
mod forms;
mod frame;
mod generic;
mod guards;
mod hubs;
mod identify;
mod image;
mod image_due;
mod item;
mod known;
mod leave;
mod login;
mod look;
mod map;
mod memory;
mod mount;
mod news;
mod owed;
mod pacing;
mod peer;
mod pending;
mod permit;
mod post;
mod preempt;
mod rate;
mod recheck;
mod refresh;
mod reissue;
mod repair;
mod request;
mod review;
mod roles;
mod round_trips;
mod rows;
mod services;
mod sift;
mod slow;
mod standby;
mod standings;
mod status;
mod stream;
mod streams;
mod subscription;
mod subscriptions;
mod too_long;
mod trouble;
mod turns;
mod unplaced;
mod update;
mod upstream;
mod usage;
mod users;
mod variant;
mod waiting;
mod watchers;

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_backbone::BusEvent;
use tapeline_channel::{Sent, SessionId};
use tapeline_entitle::{LoginAnswer, PolicyChange};
use tapeline_omm::stream::Reject;
use tapeline_omm::{Scratch, Text};
use tapeline_rwf::{Domain, Msg, MsgKey, RequestMsg, State, StatusFlags, StatusMsg, StreamState};
use tapeline_time::Time;

use self::backlog::{Backlog, Job};
use self::copies::Copies;
use self::dictionary::Dictionaries;
use self::entitlements::Entitlements;
use self::hubs::Hubs;
use self::identify::Identification;
use self::item::Items;
use self::memory::Memory;
use self::mount::{Login, Mounts};
use self::news::News;
use self::post::Posts;
use self::round_trips::Rounds;
use self::rows::Cell;
use self::services::Services;
use self::slow::SlowMounts;
use self::subscription::Subscription;
use self::trouble::Trouble;
use self::turns::DueMounts;
use self::upstream::Requests;
use self::users::Users;
use self::variant::Variants;
use self::waiting::Waiting;
use crate::siblings::Siblings;
use crate::{LoginPolicy, Note, Outputs, ServerConfig, Statistics};

pub use self::copies::When;
pub(crate) use self::mount::MountTraits;
pub(crate) use self::stream::UNASKED_LOGIN_STREAM;
pub(crate) use self::unplaced::AskedService;

/// Of things whose time has come, so many of a kind are done in one turn; the
/// others in the next.
const DUE_PER_TURN: usize = 128;

/// To end a mount, with its last words, costs so many steps.
const STEPS_TO_END: usize = 8;

/// Sessions with indexes from here on have no place.
pub(crate) const MAX_MOUNTS: usize = Subscription::MOUNTS as usize;

/// Why a mount cannot be.
const NO_ROOM: &str = "the server has all the mounts it may have";

/// Something that happened, to be handled by a [`Core`].
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A consumer connected.
    Opened {
        /// Its session.
        session: SessionId,
        /// Where it connects from.
        peer: SocketAddr,
    },
    /// A message came on a session.
    Message {
        /// The session.
        session: SessionId,
        /// The message.
        bytes: &'a [u8],
    },
    /// A message of a session was longer than is taken, and was passed over.
    TooLong {
        /// The session.
        session: SessionId,
        /// Its beginning.
        head: &'a [u8],
        /// Its length in bytes.
        length: usize,
        /// The bound that it exceeds.
        max: usize,
    },
    /// The output of a slow session has drained.
    Drained {
        /// The session.
        session: SessionId,
    },
    /// The outputs of all sessions have too much together, and this one's the
    /// most.
    OutputBeyondPool {
        /// The session.
        session: SessionId,
    },
    /// A session ended.
    Closed {
        /// The session.
        session: SessionId,
    },
    /// Something came from the backbone.
    Bus(BusEvent<'a>),
    /// A policy is in force from now on.
    Policy(&'a PolicyChange),
    /// It was found out who somebody is that logs in, or that it is nobody.
    Identified(&'a LoginAnswer),
    /// The process has so much memory.
    Memory {
        /// In bytes.
        resident_bytes: usize,
    },
}

/// The server without sockets and clocks: events and the time in,
/// [`Outputs`] out.
pub struct Core {
    config: ServerConfig,
    policy: Box<dyn LoginPolicy>,
    now: Time,
    mounts: Mounts,
    services: Services,
    hubs: Hubs,
    items: Items,
    posts: Posts,
    dictionaries: Dictionaries,
    waiting: Waiting,
    due_mounts: DueMounts,
    memory: Memory,
    /// The next slot that is looked at for an item that gives way.
    preempt_from: u32,
    requests: Requests,
    entitlements: Entitlements,
    identification: Identification,
    rounds: Rounds,
    /// So many seats were taken away that were seen to.
    vacated: usize,
    /// What is done in slices.
    backlog: Backlog,
    /// When a mount last had its first images at once, after a pause.
    refreshed_at: Option<Time>,
    /// Bytes of images that were sent in this turn.
    image_bytes: usize,
    news: News,
    scratch: Scratch,
    variants: Variants,
    trouble: Trouble,
    copies: Copies,
    /// Places of watchers that do not take an update as it is.
    cold: Vec<Cell>,
    /// Payload of an image out of the cache.
    payload: Vec<u8>,
    slow: SlowMounts,
    statistics: Statistics,
    /// The server ends, for this reason.
    ends: Option<Box<str>>,
}

fn millis(ms: u32) -> Duration {
    Duration::from_millis(ms.into())
}

impl Core {
    /// A server with no mounts and no hubs yet.
    pub fn new(config: ServerConfig, policy: Box<dyn LoginPolicy>) -> Self {
        let services = Services::numbered(&config.service_ids);
        Self {
            dictionaries: Dictionaries::new(config.dictionary.clone()),
            scratch: Scratch::new(config.limits.longest_message_bytes()),
            variants: Variants::new(config.limits.longest_message_bytes()),
            config,
            policy,
            now: Time::ZERO,
            mounts: Mounts::default(),
            services,
            hubs: Hubs::default(),
            items: Items::default(),
            posts: Posts::default(),
            waiting: Waiting::default(),
            due_mounts: DueMounts::default(),
            memory: Memory::default(),
            preempt_from: 0,
            requests: Requests::default(),
            entitlements: Entitlements::default(),
            identification: Identification::default(),
            rounds: Rounds::default(),
            vacated: 0,
            backlog: Backlog::default(),
            refreshed_at: None,
            image_bytes: 0,
            news: News::default(),
            trouble: Trouble::default(),
            copies: Copies::default(),
            cold: Vec::new(),
            payload: Vec::new(),
            slow: SlowMounts::default(),
            statistics: Statistics::default(),
            ends: None,
        }
    }

    /// Has limits hold for this server and its siblings together. To be called
    /// before the first event.
    pub(crate) fn join_siblings(&mut self, siblings: &Siblings) {
        debug_assert_eq!(self.mounts.count, 0, "nothing is counted yet");
        self.mounts.admitted = siblings.mounts();
        self.mounts.users = Users::with(siblings.clone());
        self.items.count = siblings.items();
        self.items.bounds.share(siblings.clone());
        self.posts.count = siblings.posts();
        self.slow.share(siblings.merged_bytes());
    }

    pub(crate) const fn config(&self) -> &ServerConfig {
        &self.config
    }

    /// Has another configuration from now on, as far as it can change. Who has more
    /// than a lower limit keeps it.
    pub(crate) fn adopt(&mut self, config: &ServerConfig) {
        self.config.adopt(config);
    }

    /// The services that hubs have told of, by number.
    pub(crate) fn services(&self) -> impl ExactSizeIterator<Item = (u16, &Text)> {
        self.services.names()
    }

    /// Whether a session has a mount.
    pub(crate) fn has_mount(&self, session: SessionId) -> bool {
        self.mounts.get(session).is_some()
    }

    /// Whether the server ends.
    pub(crate) const fn is_ending(&self) -> bool {
        self.ends.is_some()
    }

    /// Has a mount be treated in its own way.
    pub(crate) fn set_traits(&mut self, session: SessionId, traits: MountTraits) {
        if let Some(mount) = self.mounts.get_mut(session) {
            mount.traits = traits;
        }
    }

    /// Something was sent to a session beside what the core sends, with this
    /// result.
    pub(crate) fn sent_apart<O: Outputs>(&mut self, session: SessionId, sent: Sent, out: &mut O) {
        self.trouble.note(session, sent);
        self.settle(out);
    }

    /// Handles an event.
    pub fn handle<O: Outputs>(&mut self, now: Time, event: Event<'_>, out: &mut O) {
        self.now = now;
        if !matches!(event, Event::Bus(_)) {
            self.copies_first(out);
        }
        match event {
            Event::Bus(event) => self.on_bus(event, out),
            Event::Message { session, bytes } => self.on_message(session, bytes, out),
            Event::Opened { session, peer } => self.on_opened(session, peer, out),
            Event::TooLong { session, head, length, max } => {
                self.on_too_long(session, (head, length, max), out);
            }
            Event::Drained { session } => self.on_drained(session, out),
            Event::OutputBeyondPool { session } => self.cut_for_pool(session, out),
            Event::Closed { session } => self.on_closed(session, out),
            Event::Policy(change) => self.enforce(change, out),
            Event::Identified(answer) => self.on_identified(answer, out),
            Event::Memory { resident_bytes } => self.on_memory(resident_bytes, out),
        }
        self.settle(out);
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn next_deadline(&self) -> Option<Time> {
        let login = self
            .mounts
            .without_login
            .front()
            .map(|(opened_at, _)| opened_at.after(millis(self.config.limits.login_timeout_ms)));
        let due = self.requests.deadline();
        let unplaced = self.waiting.deadline();
        let drain = (self.slow.draining().len() > 0).then_some(self.now);
        let has_rest =
            !self.backlog.is_empty() || self.has_vacated_seats() || self.items.awaited.has_freed();
        let rest = has_rest.then_some(self.now);
        let (posts, repair) = (self.posts.deadline(), self.hubs.next_repair());
        let (login_end, rtt) = (self.identification.deadline(), self.round_trips_due());
        let (turns, day) = (self.due_mounts.deadline(), self.entitlements.day_ends());
        let paces = self.slow.paces.deadline();
        let deadlines =
            [login, login_end, day, due, unplaced, posts, repair, drain, rest, rtt, turns, paces];
        deadlines.into_iter().flatten().min()
    }

    /// Does what is due.
    pub fn handle_timeout<O: Outputs>(&mut self, now: Time, out: &mut O) {
        self.now = now;
        self.copies_first(out);
        self.image_bytes = 0;
        self.check_logins(out);
        self.check_login_ends(out);
        self.check_day();
        self.measure_round_trips(out);
        self.check_due(out);
        self.pump_freed(out);
        self.check_unplaced(out);
        self.check_turns(out);
        self.check_paces(out);
        self.check_posts(out);
        self.check_seats(out);
        self.work_repairs(out);
        self.work_off(out);
        self.drain_slice(out);
        self.settle(out);
    }

    /// Ends all mounts, telling them why: the first at once, the others a slice at
    /// a time.
    pub fn shut_down<O: Outputs>(&mut self, now: Time, reason: &str, out: &mut O) {
        self.now = now;
        self.copies_first(out);
        self.ends = Some(reason.into());
        self.backlog.add(Job::EndAll { next: 0 });
        self.work_off(out);
        self.settle(out);
    }

    /// Ends the next mount, as the server ends.
    fn end_step<O: Outputs>(&mut self, next: &mut u32, out: &mut O) -> Option<usize> {
        let number = *next;
        *next = number + 1;
        if number >= self.mounts.numbers() {
            return None;
        }
        let Some(session) = self.mounts.session_of(number) else { return Some(1) };
        self.drop_mount(session);
        out.close(session, self.ends.as_deref().unwrap_or_default());
        Some(STEPS_TO_END)
    }

    /// What the server has and did.
    pub fn statistics(&self) -> Statistics {
        Statistics {
            mounts: self.mounts.count,
            mounts_on_standby: self.mounts.on_standby,
            items: self.items.len(),
            hubs: self.hubs.len(),
            closes_waiting: self.hubs.closes_waiting(),
            requests_queued: self.hubs.requests_queued(),
            requests_open: self.requests_open(),
            memory_bytes: self.memory.resident_bytes(),
            services: self.services.directory.services().len(),
            posts: self.posts.len(),
            opens_waiting: self.waiting.paced,
            backlog: self.backlog.len(),
            updates_by_mount: self.copies.taken(),
            merged_bytes: self.slow.merged_bytes(),
            merged_bytes_most: self.slow.merged_bytes_most(),
            mounts_draining: self.slow.draining().len(),
            policy_epoch: self.entitlements.epoch().into(),
            locks: self.entitlements.locks().0,
            locks_unreadable: self.entitlements.locks().1,
            ..self.statistics
        }
    }

    fn on_opened<O: Outputs>(&mut self, session: SessionId, peer: SocketAddr, out: &mut O) {
        if let Some(gone) = self.mounts.session_at(session.index) {
            // What it has must not become that of who has its index now.
            self.drop_mount(gone);
        }
        if let Some(reason) = &self.ends {
            return out.close(session, reason);
        }
        if !self.may_log_in() || !self.mounts.has_number() || session.index >= Subscription::MOUNTS
        {
            self.statistics.mounts_cut += 1;
            out.close(session, NO_ROOM);
            return;
        }
        self.mounts.insert(self.now, session, peer);
    }

    fn on_message<O: Outputs>(&mut self, session: SessionId, bytes: &[u8], out: &mut O) {
        if self.mounts.get(session).is_none() {
            return;
        }
        self.statistics.messages_in += 1;
        if !self.comes_after_batch(session, bytes, None) {
            self.handle_message(session, bytes, out);
        }
    }

    fn handle_message<O: Outputs>(&mut self, session: SessionId, bytes: &[u8], out: &mut O) {
        match Msg::decode(bytes) {
            Ok(Msg::Request(request)) => self.on_request(session, &request, bytes, out),
            Ok(Msg::Close(close)) => self.on_close(session, &close, out),
            Ok(Msg::Post(post)) => self.on_post(session, &post, out),
            Ok(Msg::Generic(generic)) => self.on_consumer_generic(session, &generic, out),
            // Answers nobody asked for: consumers send none of these.
            Ok(Msg::Refresh(_) | Msg::Update(_) | Msg::Status(_) | Msg::Ack(_)) => {}
            Err(error) => self.cut(session, &format!("a message cannot be read: {error}"), out),
        }
    }

    fn on_request<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &RequestMsg<'_>,
        bytes: &[u8],
        out: &mut O,
    ) {
        let Some(mount) = self.mounts.known(session) else { return };
        if request.domain == Domain::LOGIN {
            return self.on_login_request(session, request, out);
        }
        if mount.login.is_none() {
            return self.reject(session, request, &Reject::NoLogin, out);
        }
        if request.flags.contains(tapeline_rwf::RequestFlags::HAS_BATCH) {
            return self.on_batch(session, request, out);
        }
        let domain = request.domain;
        match mount.streams.get(request.stream_id) {
            None if domain == Domain::SOURCE => self.open_directory(session, request, out),
            None if self.is_own_dictionary(request) => {
                self.open_dictionary(session, request, out);
            }
            None => self.open_item(session, request, bytes, out),
            Some(_) => self.on_reissue(session, request, bytes, out),
        }
    }

    /// Refuses a request; what may be on its stream is over.
    fn reject<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &RequestMsg<'_>,
        reject: &Reject,
        out: &mut O,
    ) {
        self.remove_stream(session, request.stream_id, out);
        let mut state = reject.state();
        if self.mounts.traits(session).misuse_closes {
            state.stream = StreamState::CLOSED;
        }
        self.refuse(session, request, &state.as_state(), out);
    }

    /// Answers a request with a state and its own key.
    fn refuse<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &RequestMsg<'_>,
        state: &State<'_>,
        out: &mut O,
    ) {
        let mut flags = StatusFlags::empty();
        let is_private = request.flags.contains(tapeline_rwf::RequestFlags::PRIVATE_STREAM);
        flags.set(StatusFlags::PRIVATE_STREAM, is_private);
        // A login's attributes are not repeated: they hold credentials.
        let key = MsgKey { attrib: None, ..request.key };
        let status = StatusMsg {
            flags,
            state: Some(*state),
            key: (key != MsgKey::EMPTY).then_some(key),
            ..StatusMsg::new(request.domain, request.stream_id)
        };
        self.send(session, &status.into(), out);
    }

    /// Sends a message on a session.
    fn send<O: Outputs>(&mut self, session: SessionId, msg: &Msg<'_>, out: &mut O) {
        if let Ok(bytes) = self.scratch.message(msg) {
            self.trouble.note(session, out.send(session, bytes));
        }
        self.mark_slow(out);
    }

    /// Ends a mount for a reason that is its own fault.
    pub(crate) fn cut<O: Outputs>(&mut self, session: SessionId, reason: &str, out: &mut O) {
        self.statistics.mounts_cut += 1;
        let mount = self.mounts.get(session);
        let user = mount.and_then(|mount| mount.login.as_ref()).map(Login::shown_user);
        out.note(Note::Cut { session, user: user.as_ref(), reason });
        self.drop_mount(session);
        out.close(session, reason);
    }

    /// Deals with the sessions that gave trouble while an event was handled.
    fn settle<O: Outputs>(&mut self, out: &mut O) {
        if self.trouble.is_none() {
            return;
        }
        // Gates are shut, and mounts end, with nothing that waits for them.
        self.copies_first(out);
        while let Some((session, reason)) = self.trouble.doomed.pop() {
            if self.mounts.get(session).is_some() {
                self.cut(session, reason, out);
            }
        }
        self.mark_slow(out);
    }
}

impl core::fmt::Debug for Core {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Core").field("statistics", &self.statistics()).finish_non_exhaustive()
    }
}
