//! A consumer without sockets and clocks: what happens goes in; messages,
//! connections and events come out.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tapeline_channel::Sent;
use tapeline_omm::Scratch;
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_omm::directory::Directory;
use tapeline_omm::login::LoginFeatures;
use tapeline_omm::post::PostTracker;
use tapeline_omm::stream::{Deliver, Reaction, RecoveryPolicy, StreamOptions};
use tapeline_rwf::{AckMsg, EncodeError, Encoder, Msg, RefreshFlags, RefreshMsg, State, StatusMsg};
use tapeline_time::Time;

use super::config::{ConsumerConfig, DictionarySource};
use super::download::Download;
use super::event::{ConsumerEvent, ConsumerHandler};
use super::held::Held;
use super::items::{Items, OnWire};
use super::queues::Queues;
use super::requests::Requests;
use super::roles::Roles;
use super::spec::Handle;
use super::streams::{DIRECTORY_STREAM, ENUMS_STREAM, FIELDS_STREAM, LOGIN_STREAM};
use crate::reconnect::Reconnect;
use crate::{ConsumerCounters, MAX_MESSAGE_BYTES, Server};

/// What a consumer has done: implemented by whoever has the connection.
pub trait ConsumerOutputs {
    /// Connect to a server of the configuration. It is answered by
    /// [`ConsumerInput::Opened`] or [`ConsumerInput::Closed`].
    fn connect(&mut self, server: usize);
    /// What follows is of this server of a [`StandbySet`](super::StandbySet): 0 for
    /// the connection to the servers of the configuration, from 1 on for those that
    /// stand by. Nothing is done by default: there is one connection.
    fn turn_to(&mut self, place: usize) {
        let _ = place;
    }
    /// Send a message on the connection. After `Slow` or `Full` requests are
    /// held back until [`ConsumerInput::Drained`].
    fn send(&mut self, message: &[u8]) -> Sent;
    /// Close the connection, or give up connecting. It is not answered.
    fn disconnect(&mut self, reason: &str);
    /// Services changed, to these. Only who puts messages into other words
    /// needs to know; nothing is done by default.
    fn directory(&mut self, directory: &Directory) {
        let _ = directory;
    }
    /// The dictionary was downloaded. Only who puts messages into other words
    /// needs to know; nothing is done by default.
    fn dictionary(&mut self, dictionary: &FieldDictionary) {
        let _ = dictionary;
    }
}

/// What happens to a consumer.
#[derive(Clone, Copy, Debug)]
pub enum ConsumerInput<'a> {
    /// The connection that was asked for is there.
    Opened,
    /// A message came on it.
    Message(&'a [u8]),
    /// It was slow, which [`ConsumerOutputs::send`] told, and has sent what
    /// waited: requests go on.
    Drained,
    /// It is lost, or there was none.
    Closed {
        /// Why.
        reason: &'a str,
    },
}

/// How far the connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// To be dialled at a time.
    Down { until: Time },
    /// Dialled.
    Dialling,
    /// The login was sent.
    Login { until: Time },
    /// The directory was asked for.
    Directory { until: Time },
    /// The dictionary is to be downloaded.
    Dictionary { until: Time },
    /// Items are requested.
    Ready,
    /// It is over for good.
    Over,
}

/// An item, or a batch of them, that was opened and not looked at yet.
#[derive(Clone, Debug)]
pub(super) enum Fresh {
    One(Handle),
    Batch(Vec<Handle>),
}

/// A batch that was requested.
#[derive(Clone, Debug)]
pub(super) struct SentBatch {
    /// The stream that is answered for the batch as a whole.
    pub(super) stream_id: i32,
    /// Its items.
    pub(super) items: Vec<Handle>,
}

/// The logic of a [`Consumer`](super::Consumer).
///
/// ```text
/// down ──▶ dialling ──▶ login ──▶ directory ──▶ [dictionary] ──▶ ready
///  ▲           │           │           │               │            │
///  └───────────┴───────────┴── lost ───┴───────────────┴────────────┘
/// ```
///
/// Time is any clock that does not go back; [`next_deadline`](Self::next_deadline)
/// says when to call [`handle_timeout`](Self::handle_timeout).
#[derive(Debug)]
pub struct ConsumerCore {
    pub(super) config: ConsumerConfig,
    pub(super) reconnect: Reconnect,
    pub(super) phase: Phase,
    /// The server that was dialled last.
    pub(super) server: usize,
    pub(super) features: LoginFeatures,
    pub(super) directory: Directory,
    pub(super) dictionary: Option<Arc<FieldDictionary>>,
    pub(super) download: Download,
    pub(super) items: Items,
    pub(super) queues: Queues,
    pub(super) fresh: VecDeque<Fresh>,
    /// Batches that were not answered yet.
    pub(super) batches: Vec<SentBatch>,
    /// The connection takes no message as long as a batch: items are requested
    /// one by one.
    pub(super) is_batch_too_large: bool,
    /// What waits until the server has read more.
    pub(super) held: Held,
    /// What the server is to be, of several.
    pub(super) roles: Roles,
    pub(super) posts: PostTracker,
    /// The items of posts that wait for an ack, by post id and sequence number;
    /// none for a post on the login stream.
    pub(super) posted: BTreeMap<(u32, Option<u32>), Option<Handle>>,
    pub(super) last_post_id: u32,
    pub(super) scratch: Scratch,
    /// Totals; what there is now is looked up when it is asked for.
    pub(super) counts: ConsumerCounters,
    /// Why the connection is of no use any more; it is closed when the input is
    /// dealt with.
    pub(super) broken: Option<String>,
}

impl ConsumerCore {
    /// A consumer that connects as soon as time is given to it. It is one
    /// connection: a [`StandbySet`](super::StandbySet) of the configuration does not
    /// count here.
    pub fn new(config: ConsumerConfig) -> Self {
        Self::beginning_with(config, 0)
    }

    /// The same that begins with this one of its servers.
    pub(super) fn beginning_with(config: ConsumerConfig, first: usize) -> Self {
        let dictionary = match &config.dictionary {
            DictionarySource::Given(dictionary) => Some(Arc::clone(dictionary)),
            DictionarySource::None | DictionarySource::Download => None,
        };
        let post_ack_timeout_ms = millis(config.post_ack_timeout);
        Self {
            reconnect: Reconnect::new(config.reconnect, config.servers.len(), first),
            phase: Phase::Down { until: Time::ZERO },
            server: 0,
            features: LoginFeatures::default(),
            directory: Directory::default(),
            dictionary,
            download: Download::default(),
            items: Items::new(),
            queues: Queues::default(),
            fresh: VecDeque::new(),
            batches: Vec::new(),
            is_batch_too_large: false,
            held: Held::default(),
            roles: Roles::default(),
            posts: PostTracker::new(post_ack_timeout_ms, config.max_outstanding_posts),
            posted: BTreeMap::new(),
            last_post_id: 0,
            scratch: Scratch::new(MAX_MESSAGE_BYTES),
            counts: ConsumerCounters::default(),
            broken: None,
            config,
        }
    }

    /// Messages that could not be read and were left out.
    pub const fn malformed_messages(&self) -> u64 {
        self.counts.malformed
    }

    /// What it has done so far, and what there is now.
    pub fn counters(&self) -> ConsumerCounters {
        ConsumerCounters {
            items: self.items.len(),
            servers: usize::from(self.is_logged_in()),
            outstanding_posts: self.posts.len(),
            ..self.counts
        }
    }

    /// A server of the configuration.
    pub fn server(&self, server: usize) -> Option<&Server> {
        self.config.servers.get(server)
    }

    /// Something happened.
    #[inline]
    pub fn handle(
        &mut self,
        now: Time,
        input: ConsumerInput<'_>,
        out: &mut dyn ConsumerOutputs,
        handler: &mut dyn ConsumerHandler,
    ) {
        let mut run = Run { core: self, now, out, handler };
        match input {
            ConsumerInput::Message(bytes) => run.message(bytes),
            ConsumerInput::Drained => run.core.held.is_slow = false,
            ConsumerInput::Opened => run.opened(),
            ConsumerInput::Closed { reason } => run.closed(reason),
        }
        run.finish();
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn next_deadline(&mut self) -> Option<Time> {
        let phase = match self.phase {
            Phase::Down { until }
            | Phase::Login { until }
            | Phase::Directory { until }
            | Phase::Dictionary { until } => Some(until),
            Phase::Dialling | Phase::Ready | Phase::Over => None,
        };
        let has_work = !self.fresh.is_empty() || self.queues.has_dirty() || !self.held.is_empty();
        let can_send = self.phase == Phase::Ready && !self.held.is_slow;
        let is_pending = self.broken.is_some() || (has_work && can_send);
        let pending = is_pending.then_some(Time::ZERO);
        let timers = [self.items.deadline_ms(), self.posts.deadline_ms()];
        let timers = timers.into_iter().flatten().map(time_of_ms).min();
        [phase, pending, timers].into_iter().flatten().min()
    }

    /// Time has passed: dials, gives up waiting, requests what was opened.
    pub fn handle_timeout(
        &mut self,
        now: Time,
        out: &mut dyn ConsumerOutputs,
        handler: &mut dyn ConsumerHandler,
    ) {
        let mut run = Run { core: self, now, out, handler };
        run.phase_timeout();
        run.item_timeouts();
        run.post_timeouts();
        run.finish();
    }

    /// What can be asked of the consumer now.
    pub fn requests<'c>(&'c mut self, now: Time, out: &'c mut dyn ConsumerOutputs) -> Requests<'c> {
        Requests::new(self, now, out)
    }

    pub(super) fn policy(&self) -> RecoveryPolicy {
        let said = &self.config.login.attributes;
        RecoveryPolicy {
            single_open: said.wants_single_open(),
            allow_suspect_data: said.allows_suspect_data(),
        }
    }

    pub(super) fn stream_options(&self, streaming: bool, private: bool) -> StreamOptions {
        StreamOptions {
            streaming,
            private,
            recover_complete: true,
            provider_obeys_pause: self.features.obeys_pause(),
            recovery: self.policy(),
            request_timeout_ms: millis(self.config.request_timeout),
            retry_delay_ms: millis(self.config.retry_delay),
        }
    }

    /// Brings stream id, open window, queue and timer of an item in line with
    /// its stream.
    pub(super) fn sync(&mut self, now: Time, handle: Handle) {
        let Some(item) = self.items.get_mut(handle) else { return };
        let is_in_window = item.stream.is_in_window();
        let is_counted = core::mem::replace(&mut item.is_counted, is_in_window);
        let service = item.service;
        let (is_on_wire, wants_request) = (item.stream.is_on_wire(), item.stream.wants_request());
        let is_asked_again = item.on_wire.is_some() && !is_on_wire && wants_request;
        // After the last part of a snapshot nothing follows.
        let rests = item.wish.streaming || item.attempts > 0;
        if is_counted != is_in_window {
            self.queues.count(service, is_in_window);
        }
        if !is_on_wire {
            self.leave_wire(now, handle, rests);
        }
        if is_asked_again {
            // Behind those that wait: as many as the window has places that never
            // have an answer would keep all others out.
            self.items.go_last(handle);
        }
        if let Some(order) = self.items.get(handle).map(|it| it.order).filter(|_| wants_request) {
            self.queues.push(service, order, handle);
        }
        self.items.sync_timer(handle);
    }

    /// The request of an item is over. If the server ended it, a change that
    /// was on its way to it opens the stream anew, perhaps without a message
    /// that would tell: nobody wants that.
    fn leave_wire(&mut self, now: Time, handle: Handle, rests: bool) {
        let Some(domain) = self.items.get(handle).map(|item| item.wish.domain) else { return };
        let was = self.items.leave_wire(ms(now), handle, rests);
        if let Some(OnWire { stream_id, may_open_anew: true, .. }) = was {
            self.hold_close(domain, stream_id);
        }
    }

    /// Forgets an item that is over.
    pub(super) fn forget(&mut self, now: Time, handle: Handle) {
        let Some(item) = self.items.get(handle) else { return };
        let (service, order, is_counted) = (item.service, item.order, item.is_counted);
        self.queues.remove(service, order);
        if is_counted {
            self.queues.count(service, false);
        }
        self.leave_wire(now, handle, true);
        self.items.remove(handle);
    }

    /// A message that cannot be sent makes the peer wait for it forever: the
    /// connection is of no use then.
    pub(super) fn note_sent(&mut self, sent: Sent) {
        let reason = match sent {
            Sent::Queued | Sent::Slow | Sent::Gone => return,
            Sent::Full => "the server reads too slowly: the backlog of requests is full",
            Sent::TooLarge => "a request is larger than the connection allows",
        };
        self.broken.get_or_insert_with(|| reason.to_owned());
    }

    pub(super) fn note_error(&mut self, error: &EncodeError) {
        self.broken.get_or_insert_with(|| format!("a request cannot be written: {error}"));
    }

    pub(super) fn send(
        &mut self,
        out: &mut dyn ConsumerOutputs,
        write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>,
    ) -> Result<(Sent, usize), EncodeError> {
        let bytes = self.scratch.encode(write)?;
        Ok((self.held.note(out.send(bytes)), bytes.len()))
    }
}

/// Milliseconds of a moment, as streams take it.
pub(super) const fn ms(now: Time) -> u64 {
    now.as_nanos() / 1_000_000
}

pub(super) fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

const fn time_of_ms(ms: u64) -> Time {
    Time::from_nanos(ms.saturating_mul(1_000_000))
}

/// The core at work on one input.
pub(super) struct Run<'r> {
    pub(super) core: &'r mut ConsumerCore,
    pub(super) now: Time,
    pub(super) out: &'r mut dyn ConsumerOutputs,
    pub(super) handler: &'r mut dyn ConsumerHandler,
}

impl Run<'_> {
    #[inline]
    pub(super) fn tell(&mut self, event: ConsumerEvent<'_>) {
        let mut requests = Requests::new(self.core, self.now, self.out);
        self.handler.event(event, &mut requests);
    }

    /// Sends a message of the connection's own. One that cannot be sent ends
    /// the connection: the peer would wait for it forever.
    pub(super) fn send(&mut self, write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>) {
        match self.core.send(self.out, write) {
            Ok((sent, _)) => self.core.note_sent(sent),
            Err(error) => self.core.note_error(&error),
        }
    }

    /// Requests what can be requested now, and closes a connection that is of
    /// no use.
    #[inline]
    fn finish(&mut self) {
        self.pump();
        while let Some(reason) = self.core.broken.take() {
            self.fail(&reason);
        }
    }

    #[inline]
    fn message(&mut self, bytes: &[u8]) {
        let Ok(msg) = Msg::decode(bytes) else {
            self.core.counts.malformed += 1;
            return;
        };
        match msg.stream_id() {
            LOGIN_STREAM => self.login_message(&msg),
            DIRECTORY_STREAM => self.directory_message(&msg),
            FIELDS_STREAM | ENUMS_STREAM => self.dictionary_message(&msg),
            stream_id => match self.core.items.streams.owner(stream_id) {
                Some(handle) => self.item_message(handle, &msg),
                None => self.stray(&msg),
            },
        }
    }

    /// A message for a stream that no item has: of a batch, or for an item that
    /// was closed. An image may also be the answer to a change that crossed the
    /// end of its stream; it opened the stream again, and nobody wants it.
    fn stray(&mut self, msg: &Msg<'_>) {
        match msg {
            Msg::Status(status) => self.batch_status(status),
            Msg::Refresh(refresh)
                if refresh.stream_id > ENUMS_STREAM
                    && refresh.flags.contains(RefreshFlags::REFRESH_COMPLETE) =>
            {
                self.core.hold_close(refresh.domain, refresh.stream_id);
            }
            _ => {}
        }
    }

    #[inline]
    pub(super) fn item_message(&mut self, handle: Handle, msg: &Msg<'_>) {
        let Some(item) = self.core.items.get_mut(handle) else { return };
        let reaction = item.stream.message(ms(self.now), msg);
        item.note(msg);
        match msg {
            Msg::Update(update) => {
                self.core.counts.updates += 1;
                item.misses_updates |= item.stream.is_paused();
                if reaction.deliver == Deliver::Message && !item.misses_updates {
                    self.tell(ConsumerEvent::Update { handle, msg: update });
                }
            }
            Msg::Ack(ack) => self.ack(Some(handle), ack),
            Msg::Refresh(refresh) => {
                self.core.counts.refreshes += 1;
                item.note_part(refresh);
                if refresh.flags.contains(RefreshFlags::SOLICITED) {
                    self.core.items.answered(handle);
                }
                self.react(handle, reaction, Some(msg));
            }
            Msg::Status(_) => {
                self.core.counts.statuses += 1;
                self.react(handle, reaction, Some(msg));
            }
            _ => self.react(handle, reaction, Some(msg)),
        }
    }

    pub(super) fn ack(&mut self, handle: Option<Handle>, ack: &AckMsg<'_>) {
        if self.core.posts.acked(ack) {
            self.core.counts.posts_failed += u64::from(ack.nak_code.is_some());
            // The stream that it comes on may be a later one with the same number.
            let posted = self.core.posted.remove(&(ack.ack_id, ack.seq_num));
            let handle = posted.unwrap_or(handle);
            self.tell(ConsumerEvent::Ack { handle, msg: ack });
        }
    }

    /// Does what the stream of an item says.
    pub(super) fn react(&mut self, handle: Handle, reaction: Reaction<'_>, msg: Option<&Msg<'_>>) {
        if let Some(to_provider) = reaction.send {
            self.core.send_item(self.out, handle, to_provider);
        }
        self.core.sync(self.now, handle);
        self.deliver(handle, reaction.deliver, msg);
        let is_over = self.core.items.get(handle).is_some_and(|item| item.stream.is_over());
        if is_over {
            self.core.forget(self.now, handle);
        }
    }

    fn deliver(&mut self, handle: Handle, deliver: Deliver<'_>, msg: Option<&Msg<'_>>) {
        match (deliver, msg) {
            (Deliver::Message, Some(msg)) => self.tell_message(handle, msg),
            (Deliver::MessageAs(state), Some(Msg::Refresh(refresh))) => {
                let msg = RefreshMsg { state, ..*refresh };
                self.tell(ConsumerEvent::Refresh { handle, msg: &msg });
            }
            (Deliver::MessageAs(state), Some(Msg::Status(status))) => {
                let msg = StatusMsg { state: Some(state), ..*status };
                self.tell(ConsumerEvent::Status { handle, msg: &msg });
            }
            (Deliver::Status(state), _) => self.tell_status(handle, state),
            _ => {}
        }
    }

    fn tell_message(&mut self, handle: Handle, msg: &Msg<'_>) {
        match msg {
            Msg::Refresh(msg) => self.tell(ConsumerEvent::Refresh { handle, msg }),
            Msg::Update(msg) => self.tell(ConsumerEvent::Update { handle, msg }),
            Msg::Status(msg) => self.tell(ConsumerEvent::Status { handle, msg }),
            Msg::Generic(msg) => self.tell(ConsumerEvent::Generic { handle: Some(handle), msg }),
            Msg::Ack(_) | Msg::Request(_) | Msg::Close(_) | Msg::Post(_) => {}
        }
    }

    /// A status that is made here.
    pub(super) fn tell_status(&mut self, handle: Handle, state: State<'_>) {
        let Some(item) = self.core.items.get(handle) else { return };
        let stream_id = item.on_wire.map_or(0, |on_wire| on_wire.stream_id);
        let msg = StatusMsg { state: Some(state), ..StatusMsg::new(item.wish.domain, stream_id) };
        self.tell(ConsumerEvent::Status { handle, msg: &msg });
    }

    fn phase_timeout(&mut self) {
        match self.core.phase {
            Phase::Down { until } if until <= self.now => {
                self.core.server = self.core.reconnect.dial();
                self.core.phase = Phase::Dialling;
                self.out.connect(self.core.server);
            }
            Phase::Login { until } if until <= self.now => {
                self.fail("the login got no answer in time");
            }
            Phase::Directory { until } if until <= self.now => {
                self.fail("the directory got no answer in time");
            }
            Phase::Dictionary { until } if until <= self.now => self.ready(),
            _ => {}
        }
    }

    fn item_timeouts(&mut self) {
        while let Some(handle) = self.core.items.expired(ms(self.now)) {
            let Some(item) = self.core.items.get_mut(handle) else { continue };
            let reaction = item.stream.timeout(ms(self.now));
            self.react(handle, reaction, None);
        }
    }

    fn post_timeouts(&mut self) {
        while let Some((stream_id, post_id, seq_num)) = self.core.posts.expired(ms(self.now)) {
            self.core.counts.posts_failed += 1;
            let handle = self.core.posted.remove(&(post_id, seq_num)).flatten();
            let domain = handle.and_then(|handle| self.core.items.get(handle));
            let domain = domain.map_or(tapeline_rwf::Domain::LOGIN, |item| item.wish.domain);
            let refusal = tapeline_omm::post::PostRefusal::NoResponse(post_id);
            let text = refusal.to_string();
            let msg = AckMsg {
                ack_id: post_id,
                seq_num,
                nak_code: Some(refusal.nak_code()),
                text: Some(text.as_bytes()),
                ..AckMsg::new(domain, stream_id)
            };
            self.tell(ConsumerEvent::Ack { handle, msg: &msg });
        }
    }
}
