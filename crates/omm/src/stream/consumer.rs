//! What a requester knows of one stream.

use tapeline_rwf::{
    DataState, Msg, RefreshFlags, RefreshMsg, State, StateCode, StatusMsg, StreamState,
};

use super::policy::{RecoveryPolicy, convert};
use crate::state::{is_final, usual};

/// How a requester wants its stream to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "independent wishes")]
pub struct StreamOptions {
    /// Updates are wanted after the image.
    pub streaming: bool,
    /// The stream is the requester's alone. It is never recovered.
    pub private: bool,
    /// Whether an image that is complete is asked for again when its stream is
    /// lost; not so for dictionaries, which are needed once.
    pub recover_complete: bool,
    /// Whether the provider obeys a pause, by the features of its login. If
    /// not, pause and resume stay on this side.
    pub provider_obeys_pause: bool,
    /// Who recovers the item.
    pub recovery: RecoveryPolicy,
    /// How long a request may be without an answer, and a part of an image
    /// without the next one, in milliseconds. It doubles with each request that
    /// had none, up to [eight times](Self::MAX_DOUBLINGS), until there is an
    /// image: a slow connection would never catch up otherwise.
    pub request_timeout_ms: u64,
    /// How long to wait before an item that was closed with recovery is asked
    /// for again, in milliseconds. 0 as in the vendor's library; a server that
    /// asks on behalf of many waits.
    pub retry_delay_ms: u64,
}

impl StreamOptions {
    /// How long the vendor's library waits for an answer, in milliseconds.
    pub const DEFAULT_REQUEST_TIMEOUT_MS: u64 = 15_000;

    /// How often the time of a request may double.
    pub const MAX_DOUBLINGS: u8 = 3;
}

impl Default for StreamOptions {
    /// A streaming item, recovered by this side.
    fn default() -> Self {
        Self {
            streaming: true,
            private: false,
            recover_complete: true,
            provider_obeys_pause: false,
            recovery: RecoveryPolicy::default(),
            request_timeout_ms: Self::DEFAULT_REQUEST_TIMEOUT_MS,
            retry_delay_ms: 0,
        }
    }
}

/// One stream of a requester.
///
/// ```text
///            request            first response, last part
///   ┌────────┐    ┌───────────┐            ┌──────┐
/// ─▶│ parked │───▶│ requested │───────────▶│ open │
///   └────────┘    └───────────┘            └──────┘
///       ▲ closed with recovery, │ time-out     │ closed, redirected, last part
///       │ service or channel    │              │ of a snapshot, close
///       └── lost: to be ────────┴──────────────┤
///           asked for again                    ▼
///                                          ┌──────┐
///                                          │ over │
///                                          └──────┘
/// ```
///
/// A parked stream waits until its owner has a connection, a service and room
/// in the open window for it; [`wants_request`](Self::wants_request) tells, and
/// [`request`](Self::request) sends it on its way. Time is given as
/// milliseconds of any clock that does not go back.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about the stream")]
pub struct ConsumerStream {
    options: StreamOptions,
    phase: Phase,
    /// A refresh or a status has come since the request: the provider knows of
    /// the stream.
    has_response: bool,
    /// A part of an image has come since the request: updates make sense.
    has_image: bool,
    /// A whole image has come since the request.
    completed: bool,
    /// The provider said that there will be no updates.
    non_streaming: bool,
    paused: bool,
    /// What the provider was last told about the pause.
    told_paused: bool,
    /// A reissue is to be sent when the image that is on its way is complete;
    /// whether it wants another one. A pause or resume is not queued: what is
    /// to be said of it is known then.
    queued: Option<bool>,
    /// The image that is on its way counts against the open window.
    in_window: bool,
    /// How often the time of a request has doubled since the last image.
    doublings: u8,
    /// When to stop waiting for an answer, or for the time to ask again.
    deadline_ms: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Parked,
    /// An image is asked for. `in_parts`: its first part has come.
    Requested {
        in_parts: bool,
    },
    Open,
    Over,
}

/// What to do about an event: give something to the user, send something to
/// the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "a reaction is to be acted on"]
pub struct Reaction<'a> {
    /// What the user gets.
    pub deliver: Deliver<'a>,
    /// What the provider gets.
    pub send: Option<ToProvider>,
}

/// What the user of a stream gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deliver<'a> {
    /// Nothing.
    Nothing,
    /// The message as it came.
    Message,
    /// The message, with this state in place of its own.
    MessageAs(State<'a>),
    /// A status that did not come from the provider.
    Status(State<'a>),
}

/// What the provider of a stream gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToProvider {
    /// The request that opens the stream.
    Request {
        /// With the pause flag.
        pause: bool,
    },
    /// A request on the open stream.
    Reissue(Reissue),
    /// A close.
    Close,
}

/// A change of an open stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reissue {
    /// With the pause flag: no updates are wanted. Without it they are.
    pub pause: bool,
    /// An image is wanted; otherwise the request has the no-refresh flag.
    pub refresh: bool,
}

impl<'a> Reaction<'a> {
    const NOTHING: Self = Self { deliver: Deliver::Nothing, send: None };

    const fn deliver(deliver: Deliver<'a>) -> Self {
        Self { deliver, send: None }
    }

    const fn send(send: ToProvider) -> Self {
        Self { deliver: Deliver::Nothing, send: Some(send) }
    }
}

impl ConsumerStream {
    /// A stream that waits to be requested.
    pub const fn new(options: StreamOptions) -> Self {
        Self {
            options,
            phase: Phase::Parked,
            has_response: false,
            has_image: false,
            completed: false,
            non_streaming: false,
            paused: false,
            told_paused: false,
            queued: None,
            in_window: false,
            doublings: 0,
            deadline_ms: None,
        }
    }

    /// A stream for the next request to the same provider, with this one's time.
    #[must_use]
    pub const fn again(&self, options: StreamOptions) -> Self {
        Self { doublings: self.doublings, ..Self::new(options) }
    }

    /// Whether the stream is to be requested as soon as the owner can.
    pub fn wants_request(&self) -> bool {
        self.phase == Phase::Parked && self.deadline_ms.is_none()
    }

    /// Whether the provider knows of the stream, so that its id is taken.
    pub fn is_on_wire(&self) -> bool {
        matches!(self.phase, Phase::Requested { .. } | Phase::Open)
    }

    /// Whether an image is due by the [deadline](Self::deadline_ms).
    pub fn awaits_image(&self) -> bool {
        matches!(self.phase, Phase::Requested { .. }) && self.deadline_ms.is_some()
    }

    /// Whether the stream counts against the open window: an image was asked
    /// for, and neither the last part of it nor a status has come. Between two
    /// parts of the image only a status that it is suspect makes room.
    pub const fn is_in_window(&self) -> bool {
        self.in_window
    }

    /// Whether the stream is over, for good.
    pub fn is_over(&self) -> bool {
        self.phase == Phase::Over
    }

    /// When [`timeout`](Self::timeout) has something to do.
    pub const fn deadline_ms(&self) -> Option<u64> {
        self.deadline_ms
    }

    /// The owner has a connection and a service for the stream.
    pub fn request(&mut self, now_ms: u64) -> Reaction<'static> {
        if !self.wants_request() {
            return Reaction::NOTHING;
        }
        self.await_image(now_ms);
        self.has_response = false;
        self.has_image = false;
        self.completed = false;
        self.non_streaming = false;
        self.told_paused = self.is_paused_upstream();
        Reaction::send(ToProvider::Request { pause: self.told_paused })
    }

    fn await_image(&mut self, now_ms: u64) {
        self.phase = Phase::Requested { in_parts: false };
        self.in_window = true;
        self.restart_timer(now_ms);
    }

    fn restart_timer(&mut self, now_ms: u64) {
        let patience_ms = self.options.request_timeout_ms.saturating_mul(1 << self.doublings);
        self.deadline_ms = Some(now_ms.saturating_add(patience_ms));
    }

    /// A message for the stream came.
    ///
    /// What comes for a stream that is not on the wire was in flight when it
    /// was closed, and is nothing. So are updates before the first part of an
    /// image.
    pub fn message<'a>(&mut self, now_ms: u64, msg: &Msg<'a>) -> Reaction<'a> {
        if !self.is_on_wire() {
            return Reaction::NOTHING;
        }
        match msg {
            Msg::Update(_) if !self.has_image => Reaction::NOTHING,
            Msg::Update(_) | Msg::Generic(_) | Msg::Ack(_) => Reaction::deliver(Deliver::Message),
            Msg::Refresh(refresh) => self.refresh(now_ms, refresh),
            Msg::Status(status) => self.status(now_ms, status),
            Msg::Request(_) | Msg::Close(_) | Msg::Post(_) => Reaction::NOTHING,
        }
    }

    fn refresh<'a>(&mut self, now_ms: u64, refresh: &RefreshMsg<'a>) -> Reaction<'a> {
        let is_complete = refresh.flags.contains(RefreshFlags::REFRESH_COMPLETE);
        let state = refresh.state;
        self.has_response = true;
        // An end is told as it is, also where it lacks the private flag: its
        // code says why.
        let is_end = is_final(state.stream) && state.stream != StreamState::NON_STREAMING;
        if is_end || self.converted(&state) != state.stream {
            return self.state_change(now_ms, &state, Deliver::Message);
        }
        if self.options.private && !refresh.flags.contains(RefreshFlags::PRIVATE_STREAM) {
            return self.refuse_shared();
        }
        self.has_image = true;
        let is_answer = refresh.flags.contains(RefreshFlags::SOLICITED)
            && matches!(self.phase, Phase::Requested { .. });
        if is_answer && !is_complete {
            self.phase = Phase::Requested { in_parts: true };
            self.restart_timer(now_ms);
        } else if is_answer {
            self.deadline_ms = None;
            self.in_window = false;
        }
        // An unsolicited image is no answer while a request waits for one.
        let is_aside = !is_answer && self.deadline_ms.is_some();
        let is_once = !self.options.streaming || self.non_streaming;
        let is_last = state.stream == StreamState::NON_STREAMING || (is_once && !is_aside);
        self.completed |= is_complete;
        if is_complete {
            self.doublings = 0;
        }
        if is_complete && is_last {
            self.end();
        } else if is_complete && !is_aside {
            self.in_window = false;
            self.phase = Phase::Open;
        }
        let stream = match is_last {
            true => StreamState::NON_STREAMING,
            false => state.stream,
        };
        let deliver = match stream == state.stream {
            true => Deliver::Message,
            false => Deliver::MessageAs(State { stream, ..state }),
        };
        Reaction { deliver, send: self.next_queued(now_ms) }
    }

    /// The reissue that waited for the image, once it is complete, or what is
    /// to be said of a pause or resume that came meanwhile.
    fn next_queued(&mut self, now_ms: u64) -> Option<ToProvider> {
        if self.phase != Phase::Open {
            return None;
        }
        let queued = self.queued.take();
        let has_flow_changed = self.told_paused != self.is_paused_upstream();
        let is_due = queued.is_some() || has_flow_changed;
        is_due.then(|| self.reissued(now_ms, queued.unwrap_or(false) || has_flow_changed))
    }

    /// A paused stream gets no image for a reissue: that comes with the resume.
    fn reissued(&mut self, now_ms: u64, refresh: bool) -> ToProvider {
        let pause = self.is_paused_upstream();
        self.told_paused = pause;
        let refresh = refresh && !pause;
        if refresh {
            self.await_image(now_ms);
        }
        ToProvider::Reissue(Reissue { pause, refresh })
    }

    /// A provider that answers a private request with a shared stream has
    /// refused it.
    fn refuse_shared<'a>(&mut self) -> Reaction<'a> {
        const REFUSED: State<'static> = State::new(
            StreamState::CLOSED,
            DataState::SUSPECT,
            StateCode::NONE,
            "Provider does not give a private stream.",
        );
        self.end();
        Reaction { deliver: Deliver::Status(REFUSED), send: Some(ToProvider::Close) }
    }

    fn status<'a>(&mut self, now_ms: u64, status: &StatusMsg<'a>) -> Reaction<'a> {
        self.has_response = true;
        match status.state {
            None => Reaction::deliver(Deliver::Message),
            Some(state) => self.state_change(now_ms, &state, Deliver::Message),
        }
    }

    /// A state for all streams of the service or of a group came with the
    /// directory. It is for streams that have had a response, and for no
    /// others.
    pub fn fanned_state<'a>(&mut self, now_ms: u64, state: &State<'a>) -> Reaction<'a> {
        if !self.is_on_wire() || !self.has_response {
            return Reaction::NOTHING;
        }
        self.state_change(now_ms, state, Deliver::Status(*state))
    }

    /// Whether the stream would be asked for again if it were lost now.
    fn is_recovered(&self) -> bool {
        self.options.recovery.single_open && !self.options.private && !self.is_done()
    }

    /// Whether the user has all that it wanted of a stream that is needed
    /// once.
    const fn is_done(&self) -> bool {
        self.completed && !self.options.recover_complete
    }

    /// The stream state that the user is told for one that came.
    fn converted(&self, state: &State<'_>) -> StreamState {
        match self.options.private || self.is_done() {
            true => state.stream,
            false => convert(state, self.options.recovery),
        }
    }

    /// The stream has another state: `as_is` is how it is delivered when
    /// nothing is to be changed about it.
    fn state_change<'a>(
        &mut self,
        now_ms: u64,
        state: &State<'a>,
        as_is: Deliver<'a>,
    ) -> Reaction<'a> {
        let stream = self.converted(state);
        let data = match stream == state.stream {
            true => state.data,
            false => DataState::SUSPECT,
        };
        let told = State { stream, data, ..*state };
        let deliver = match (as_is, told == *state) {
            (Deliver::Message, false) => Deliver::MessageAs(told),
            (Deliver::Status(_), false) => Deliver::Status(told),
            (as_is, _) => as_is,
        };
        let mut send = None;
        match (state.stream, stream) {
            // Closed with recovery, and this side recovers.
            (StreamState::CLOSED_RECOVER, StreamState::OPEN) => self.park(Some(now_ms)),
            // Open at the provider, but the user does not want it like this.
            (StreamState::OPEN, StreamState::CLOSED_RECOVER) => {
                self.end();
                send = Some(ToProvider::Close);
            }
            (StreamState::OPEN | StreamState::UNSPECIFIED, _) => self.answered(state.data),
            (StreamState::NON_STREAMING, _) if self.phase != Phase::Open => {
                self.non_streaming = true;
            }
            _ => self.end(),
        }
        Reaction { deliver, send }
    }

    /// A status is an answer: the provider knows of the request. Between the
    /// parts of an image the next part is still due, and if the image is suspect
    /// it may never be whole: others are not to wait for it. A stream that has
    /// an image may get a status at any time, so there the next image is still
    /// due too.
    fn answered(&mut self, data: DataState) {
        let Phase::Requested { in_parts } = self.phase else { return };
        self.in_window &= in_parts && data != DataState::SUSPECT;
        if !in_parts && !self.has_image {
            self.deadline_ms = None;
        }
    }

    fn park(&mut self, closed_at_ms: Option<u64>) {
        self.phase = Phase::Parked;
        self.completed = false;
        self.queued = None;
        self.in_window = false;
        self.deadline_ms = match (closed_at_ms, self.options.retry_delay_ms) {
            (None, _) | (_, 0) => None,
            (Some(now_ms), delay_ms) => Some(now_ms.saturating_add(delay_ms)),
        };
    }

    fn end(&mut self) {
        self.phase = Phase::Over;
        self.queued = None;
        self.in_window = false;
        self.deadline_ms = None;
    }

    /// Time has passed. A request without an answer is closed; it is asked for
    /// again if the user is told that the stream is open.
    pub fn timeout(&mut self, now_ms: u64) -> Reaction<'static> {
        if self.deadline_ms.is_none_or(|deadline_ms| deadline_ms > now_ms) {
            return Reaction::NOTHING;
        }
        self.deadline_ms = None;
        if self.is_on_wire() {
            self.doublings = StreamOptions::MAX_DOUBLINGS.min(self.doublings + 1);
        }
        self.give_up()
    }

    /// A request is taken for one without an answer, as when the parts of an
    /// image come and come and there is no end.
    pub fn give_up(&mut self) -> Reaction<'static> {
        if !self.is_on_wire() {
            return Reaction::NOTHING;
        }
        let stream = match self.options.private {
            true => StreamState::CLOSED_RECOVER,
            false => self.options.recovery.unanswered(),
        };
        // The vendor's library leaves a stream behind that it calls open and
        // no longer asks for, where suspect data is allowed without
        // SingleOpen. What is called open is asked for here.
        match stream {
            StreamState::OPEN => self.park(None),
            _ => self.end(),
        }
        let deliver = Deliver::Status(State { stream, ..usual::REQUEST_TIMEOUT });
        Reaction { deliver, send: Some(ToProvider::Close) }
    }

    /// The connection is lost.
    pub fn channel_down(&mut self) -> Reaction<'static> {
        self.lost(&usual::CHANNEL_DOWN, None)
    }

    /// The service is gone from the directory. The provider may still know of
    /// the stream, so it is closed.
    pub fn service_lost(&mut self) -> Reaction<'static> {
        self.lost(&usual::SERVICE_LOST, Some(ToProvider::Close))
    }

    fn lost(&mut self, state: &State<'static>, send: Option<ToProvider>) -> Reaction<'static> {
        if !self.is_on_wire() {
            return Reaction::NOTHING;
        }
        let stream = match self.is_recovered() {
            true => StreamState::OPEN,
            false => StreamState::CLOSED_RECOVER,
        };
        match stream {
            StreamState::OPEN => self.park(None),
            _ => self.end(),
        }
        Reaction { deliver: Deliver::Status(State { stream, ..*state }), send }
    }

    /// The stream cannot be requested for now: `why` is one of the states of
    /// [`usual`]. The user is told, and the stream stays parked if it is
    /// recovered.
    pub fn unavailable<'a>(&mut self, why: &State<'a>) -> Reaction<'a> {
        if self.phase != Phase::Parked {
            return Reaction::NOTHING;
        }
        let stream = match (why.stream, self.is_recovered()) {
            (StreamState::CLOSED_RECOVER, true) => StreamState::OPEN,
            (stream, _) => stream,
        };
        if stream != StreamState::OPEN {
            self.end();
        }
        Reaction::deliver(Deliver::Status(State { stream, ..*why }))
    }

    /// The login ended: every stream of the connection is over.
    pub fn login_closed(&mut self) -> Reaction<'static> {
        if self.is_over() {
            return Reaction::NOTHING;
        }
        self.end();
        Reaction::deliver(Deliver::Status(usual::LOGIN_CLOSED))
    }

    /// The user wants no more of the stream.
    pub fn close(&mut self) -> Reaction<'static> {
        let send = self.is_on_wire().then_some(ToProvider::Close);
        self.end();
        Reaction { deliver: Deliver::Nothing, send }
    }

    /// The user changes priority or view, or wants an image again. While an
    /// image is on its way the change waits for it.
    pub fn reissue(&mut self, now_ms: u64, refresh: bool) -> Reaction<'static> {
        match self.phase {
            Phase::Parked | Phase::Over => Reaction::NOTHING,
            Phase::Requested { .. } => {
                self.queued = Some(refresh || self.queued.unwrap_or(false));
                Reaction::NOTHING
            }
            Phase::Open => Reaction::send(self.reissued(now_ms, refresh)),
        }
    }

    /// The user wants no updates until [`resume`](Self::resume). The provider
    /// gives no image for it.
    pub fn pause(&mut self, now_ms: u64) -> Reaction<'static> {
        self.set_pause(now_ms, true)
    }

    /// The user wants updates again, and what it missed: an image comes first.
    pub fn resume(&mut self, now_ms: u64) -> Reaction<'static> {
        self.set_pause(now_ms, false)
    }

    fn set_pause(&mut self, now_ms: u64, pause: bool) -> Reaction<'static> {
        self.paused = pause;
        let send = self.next_queued(now_ms);
        Reaction { deliver: Deliver::Nothing, send }
    }

    /// Whether the user wants no updates for now. Where the provider does not
    /// obey a pause, its updates are to be held back by this.
    pub const fn is_paused(&self) -> bool {
        self.paused
    }

    const fn is_paused_upstream(&self) -> bool {
        self.paused && self.options.provider_obeys_pause
    }
}
