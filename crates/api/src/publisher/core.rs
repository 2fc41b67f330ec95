//! A publisher without sockets and clocks: what happens goes in; messages,
//! connections and events come out.

use std::collections::VecDeque;

use tapeline_channel::Sent;
use tapeline_omm::directory::{Directory, DirectoryFilter, DirectoryRequest, DirectoryUpdate};
use tapeline_omm::login::LoginMsg;
use tapeline_omm::market::status;
use tapeline_omm::state::is_final;
use tapeline_omm::{Scratch, StateBuf, Text};
use tapeline_rwf::{
    DataState, Domain, EncodeError, Encoder, KeyFlags, Msg, MsgKey, RefreshMsg, State, StateCode,
    StreamState,
};
use tapeline_time::Time;

use super::config::PublisherConfig;
use super::event::{ItemHandle, PublisherEvent, PublisherHandler};
use super::submissions::Submissions;
use crate::reconnect::Reconnect;
use crate::slab::Slab;
use crate::{MAX_MESSAGE_BYTES, PublisherCounters, Server};

const LOGIN_STREAM: i32 = 1;

/// What a publisher has done: implemented by whoever has the connection.
pub trait PublisherOutputs {
    /// Connect to a hub of the configuration. It is answered by
    /// [`PublisherInput::Opened`] or [`PublisherInput::Closed`].
    fn connect(&mut self, server: usize);
    /// Send a message on the connection.
    fn send(&mut self, message: &[u8]) -> Sent;
    /// Send a copy of a message with this stream id.
    fn send_on(&mut self, stream_id: i32, message: &[u8]) -> Sent;
    /// Close the connection, or give up connecting. It is not answered.
    fn disconnect(&mut self, reason: &str);
}

/// What happens to a publisher.
#[derive(Clone, Copy, Debug)]
pub enum PublisherInput<'a> {
    /// The connection that was asked for is there.
    Opened,
    /// A message came on it.
    Message(&'a [u8]),
    /// The hub was slow, and has read what was queued.
    Drained,
    /// The connection is lost, or there was none.
    Closed {
        /// Why.
        reason: &'a str,
    },
}

/// How far the connection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Down {
        until: Time,
    },
    Dialling,
    Login {
        until: Time,
    },
    /// The images that are known are being submitted.
    Submitting,
    Ready,
    Over,
}

/// One item.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about the item")]
pub(super) struct Item {
    pub(super) service_id: u16,
    pub(super) name: Text,
    pub(super) name_type: Option<u8>,
    pub(super) domain: Domain,
    /// The parts of the last image, as messages; the last `spare` of them are
    /// of the image before.
    pub(super) image: Vec<Vec<u8>>,
    /// How many parts of the image there are.
    pub(super) parts: usize,
    pub(super) is_complete: bool,
    /// The hub has the image.
    pub(super) is_submitted: bool,
    /// There were updates after the image.
    pub(super) is_old: bool,
    /// A state after the image.
    pub(super) state: Option<StateBuf>,
    /// The hub has an image of it, of this connection: be it the last or not.
    pub(super) is_known: bool,
}

impl Item {
    pub(super) fn key(&self) -> MsgKey<'_> {
        MsgKey {
            flags: KeyFlags::empty(),
            service_id: Some(self.service_id),
            name: Some(&self.name),
            name_type: self.name_type,
            ..MsgKey::EMPTY
        }
    }

    /// Whether a part begins an image: parts without numbers come in order.
    pub(super) fn begins(&self, part_num: Option<u16>) -> bool {
        part_num.map_or(self.is_complete || self.parts == 0, |number| number == 0)
    }

    /// Keeps a part of an image. Updates between two parts are not in those
    /// before.
    pub(super) fn keep(&mut self, message: &[u8], is_first: bool, is_last: bool) {
        if is_first {
            self.parts = 0;
            self.is_old = false;
        }
        if self.image.len() == self.parts {
            self.image.push(Vec::new());
        }
        let part = &mut self.image[self.parts];
        part.clear();
        part.extend_from_slice(message);
        self.parts += 1;
        self.is_complete = is_last;
        if is_last {
            self.image.truncate(self.parts);
        }
        self.state = None;
    }
}

/// The logic of a [`Publisher`](super::Publisher).
///
/// ```text
/// down ──▶ dialling ──▶ login ──▶ directory and images submitted ──▶ ready
///  ▲           │           │                   │                       │
///  └───────────┴───────────┴────── lost ───────┴───────────────────────┘
/// ```
#[derive(Debug)]
pub struct PublisherCore {
    pub(super) config: PublisherConfig,
    reconnect: Reconnect,
    pub(super) phase: Phase,
    server: usize,
    pub(super) directory: Directory,
    pub(super) items: Slab<Item>,
    /// Items that are to be submitted again.
    due: VecDeque<ItemHandle>,
    /// Last states of items that are to be sent when the hub has read more,
    /// each with the place of the item: another item that had it, and with it
    /// the stream, would be ended in its stead.
    pub(super) ends: VecDeque<(u32, Vec<u8>)>,
    pub(super) scratch: Scratch,
    /// Totals; what there is now is looked up when it is asked for.
    pub(super) counts: PublisherCounters,
}

impl PublisherCore {
    /// A publisher that connects as soon as time is given to it.
    pub fn new(mut config: PublisherConfig) -> Self {
        let mut directory = Directory::default();
        let services = core::mem::take(&mut config.services);
        // What is refused is not offered; the application sees it missing.
        let _ = directory.apply_update(&DirectoryUpdate::new(0, services));
        Self {
            reconnect: Reconnect::new(config.reconnect, config.servers.len(), 0),
            phase: Phase::Down { until: Time::ZERO },
            server: 0,
            directory,
            items: Slab::new(),
            due: VecDeque::new(),
            ends: VecDeque::new(),
            scratch: Scratch::new(MAX_MESSAGE_BYTES),
            counts: PublisherCounters::default(),
            config,
        }
    }

    /// Messages that could not be read and were left out.
    pub const fn malformed_messages(&self) -> u64 {
        self.counts.malformed
    }

    /// What it has done so far, and what there is now.
    pub fn counters(&self) -> PublisherCounters {
        PublisherCounters { items: self.items.len(), ..self.counts }
    }

    /// A hub of the configuration.
    pub fn server(&self, server: usize) -> Option<&Server> {
        self.config.servers.get(server)
    }

    /// Something happened.
    pub fn handle(
        &mut self,
        now: Time,
        input: PublisherInput<'_>,
        out: &mut dyn PublisherOutputs,
        handler: &mut dyn PublisherHandler,
    ) {
        let mut run = Run { core: self, now, out, handler };
        match input {
            PublisherInput::Opened => run.opened(),
            PublisherInput::Message(bytes) => run.message(bytes),
            PublisherInput::Drained => {
                run.send_ends();
                run.submit_due();
                run.tell(PublisherEvent::Drained);
            }
            PublisherInput::Closed { reason } => run.closed(reason),
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub const fn next_deadline(&self) -> Option<Time> {
        match self.phase {
            Phase::Down { until } | Phase::Login { until } => Some(until),
            Phase::Dialling | Phase::Submitting | Phase::Ready | Phase::Over => None,
        }
    }

    /// Time has passed: dials, gives up waiting.
    pub fn handle_timeout(
        &mut self,
        now: Time,
        out: &mut dyn PublisherOutputs,
        handler: &mut dyn PublisherHandler,
    ) {
        match self.phase {
            Phase::Down { until } if until <= now => {
                self.server = self.reconnect.dial();
                self.phase = Phase::Dialling;
                out.connect(self.server);
            }
            Phase::Login { until } if until <= now => {
                let mut run = Run { core: self, now, out, handler };
                run.fail("the login got no answer in time");
            }
            _ => {}
        }
    }

    /// What can be published now.
    pub fn submissions<'c>(&'c mut self, out: &'c mut dyn PublisherOutputs) -> Submissions<'c> {
        Submissions::new(self, out)
    }

    #[inline]
    pub(super) const fn stream_of(&self, item: ItemHandle) -> i32 {
        self.config.directory_stream_id - 1 - item.0.index as i32
    }

    pub(super) fn of_stream(&self, stream_id: i32) -> Option<ItemHandle> {
        let index = (self.config.directory_stream_id - 1).checked_sub(stream_id)?;
        self.items.key_at(u32::try_from(index).ok()?).map(ItemHandle)
    }

    /// Whether messages of items may be sent.
    #[inline]
    pub(super) const fn is_up(&self) -> bool {
        matches!(self.phase, Phase::Submitting | Phase::Ready)
    }
}

struct Run<'r> {
    core: &'r mut PublisherCore,
    now: Time,
    out: &'r mut dyn PublisherOutputs,
    handler: &'r mut dyn PublisherHandler,
}

impl Run<'_> {
    fn tell(&mut self, event: PublisherEvent<'_>) {
        let mut submissions = Submissions::new(self.core, self.out);
        self.handler.event(event, &mut submissions);
    }

    fn send(&mut self, write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>) {
        let sent = self.core.scratch.encode(write).map(|message| self.out.send(message));
        match sent {
            Ok(Sent::Full | Sent::TooLarge) => {
                self.fail("the hub reads too slowly: its backlog is full");
            }
            Ok(Sent::Queued | Sent::Slow | Sent::Gone) => {}
            Err(error) => self.fail(&format!("a message cannot be written: {error}")),
        }
    }

    fn opened(&mut self) {
        if self.core.phase != Phase::Dialling {
            return;
        }
        self.core.counts.connected += 1;
        self.core.phase = Phase::Login { until: self.now.after(self.core.config.login_timeout) };
        self.tell(PublisherEvent::Up { server: self.core.server });
        let request = self.core.config.login.request(LOGIN_STREAM);
        self.send(|encoder| request.encode(encoder));
    }

    fn fail(&mut self, reason: &str) {
        self.out.disconnect(reason);
        self.closed(reason);
    }

    fn closed(&mut self, reason: &str) {
        if matches!(self.core.phase, Phase::Over | Phase::Down { .. }) {
            return;
        }
        self.core.counts.lost += 1;
        let next = self.core.reconnect.down(self.now);
        self.core.phase = next.map_or(Phase::Over, |until| Phase::Down { until });
        self.core.due.clear();
        for (place, _) in self.core.ends.drain(..) {
            self.core.items.release(place);
        }
        let keys: Vec<_> = self.core.items.keys().collect();
        for key in keys {
            if let Some(item) = self.core.items.get_mut(key) {
                item.is_submitted = false;
                item.is_known = false;
            }
        }
        let server = self.core.server;
        self.tell(PublisherEvent::Down { server, reason, recovers: next.is_some() });
    }

    fn message(&mut self, bytes: &[u8]) {
        let Ok(msg) = Msg::decode(bytes) else {
            self.core.counts.malformed += 1;
            return;
        };
        match (msg.stream_id(), &msg) {
            (LOGIN_STREAM, _) => self.login_message(&msg),
            (stream_id, Msg::Generic(generic)) => {
                let item = self.core.of_stream(stream_id);
                self.tell(PublisherEvent::Generic { item, msg: generic });
            }
            _ => {}
        }
    }

    fn login_message(&mut self, msg: &Msg<'_>) {
        match LoginMsg::decode(msg) {
            Ok(LoginMsg::Refresh(refresh)) => {
                let state = refresh.state.as_state();
                self.tell(PublisherEvent::Login { state, features: Some(&refresh.features) });
                self.login_state(state);
            }
            Ok(LoginMsg::Status(status)) => {
                let Some(state) = &status.state else { return };
                self.tell(PublisherEvent::Login { state: state.as_state(), features: None });
                self.login_state(state.as_state());
            }
            Ok(LoginMsg::Rtt(rtt)) => self.send(|encoder| rtt.encode(encoder)),
            Ok(_) => {
                if let Msg::Generic(generic) = msg {
                    self.tell(PublisherEvent::Generic { item: None, msg: generic });
                }
            }
            Err(_) => self.core.counts.malformed += 1,
        }
    }

    fn login_state(&mut self, state: State<'_>) {
        match state.stream {
            StreamState::CLOSED_RECOVER => self.fail("the login was closed with recovery"),
            stream if is_final(stream) && stream != StreamState::NON_STREAMING => {
                self.core.phase = Phase::Over;
                self.out.disconnect("the login was closed");
            }
            _ => {
                if matches!(self.core.phase, Phase::Login { .. }) {
                    self.logged_in();
                }
            }
        }
    }

    /// The directory goes first, then every image that is known.
    fn logged_in(&mut self) {
        self.core.reconnect.up(self.now);
        self.core.phase = Phase::Submitting;
        let stream_id = self.core.config.directory_stream_id;
        let all = DirectoryRequest::new(stream_id, DirectoryFilter::USUAL);
        let mut refresh = self.core.directory.refresh(&all, &State::open_ok(""));
        refresh.solicited = false;
        self.send(|encoder| refresh.encode(encoder));
        self.core.due = self.core.items.keys().map(ItemHandle).collect();
        self.submit_due();
    }

    /// Ends the items whose ends the hub had no room for.
    fn send_ends(&mut self) {
        while let Some((place, message)) = self.core.ends.pop_front() {
            if self.out.send(&message) == Sent::Full {
                return self.core.ends.push_front((place, message));
            }
            self.core.counts.statuses += 1;
            self.core.items.release(place);
        }
    }

    /// Submits images until the hub is slow.
    fn submit_due(&mut self) {
        if self.core.phase != Phase::Submitting {
            return;
        }
        while let Some(item) = self.core.due.pop_front() {
            match self.submit(item) {
                Sent::Slow | Sent::Gone => return,
                Sent::Full => return self.core.due.push_front(item),
                Sent::Queued | Sent::TooLarge => {}
            }
            if self.core.phase != Phase::Submitting {
                return;
            }
        }
        self.core.phase = Phase::Ready;
        self.tell(PublisherEvent::Ready);
    }

    /// Submits the image of an item again, suspect if there was more after it;
    /// of one that is not complete the parts that are there, if they still count.
    fn submit(&mut self, handle: ItemHandle) -> Sent {
        let stream_id = self.core.stream_of(handle);
        let Some(item) = self.core.items.get_mut(handle.0) else { return Sent::Queued };
        if item.parts == 0 || item.is_submitted {
            return Sent::Queued;
        }
        if item.is_old && !item.is_complete {
            // The rest of it does not fit to the parts that are there any more. What
            // comes next begins another one, also without numbers.
            item.parts = 0;
            self.tell(PublisherEvent::RefreshWanted { item: handle });
            return Sent::Queued;
        }
        let mut last = Sent::Queued;
        for part in &item.image[..item.parts] {
            let Ok(Msg::Refresh(refresh)) = Msg::decode(part) else { continue };
            let state = match item.is_old {
                true => State { data: DataState::SUSPECT, ..OLD_IMAGE },
                false => refresh.state,
            };
            let msg = RefreshMsg { state, stream_id, ..refresh };
            let Ok(message) = self.core.scratch.encode(|encoder| encoder.message(&msg.into()))
            else {
                continue;
            };
            last = self.out.send(message);
            if last == Sent::Full {
                return last;
            }
            self.core.counts.refreshes += 1;
            item.is_known = true;
        }
        item.is_submitted = true;
        let is_old = item.is_old;
        if let Some(state) = &item.state {
            let msg = status(item.domain, stream_id, state.as_state());
            let encoded = self.core.scratch.encode(|encoder| encoder.message(&msg.into()));
            if let Ok(message) = encoded {
                last = self.out.send(message);
                self.core.counts.statuses += 1;
            }
        }
        if is_old {
            self.tell(PublisherEvent::RefreshWanted { item: handle });
        }
        last
    }
}

/// The state of an image that was followed by updates which are lost.
const OLD_IMAGE: State<'static> = State::new(
    StreamState::OPEN,
    DataState::SUSPECT,
    StateCode::NONE,
    "Image from before the connection was lost",
);
