mod packing;

use std::time::Duration;

use crate::compression::Compressor;
use crate::error::{CloseReason, ConfigError};
use crate::input::Input;
use crate::negotiated::Negotiated;
use crate::open_client::ClientOpening;
use crate::open_server::ServerOpening;
use crate::opening::{Agreed, Context, Opening, Progress};
use crate::output::Transmit;
use crate::packed::{Packed, Taken};
use crate::random::Random;
use crate::receiver::{Place, Received, Receiver, TooLong};
use crate::sender::{PING, Sender};
use crate::websocket::CLOSE;
use crate::{ClientConfig, CompressionThresholds, Counters, Event, Limits, Pings, ServerConfig};
use tapeline_time::Time;

/// One RSSL connection, client or server side, as a state machine.
///
/// It does no I/O and reads no clock. The shell around it moves bytes and
/// time:
///
/// 1. read from the socket into [`recv_buffer`](Self::recv_buffer) and tell
///    [`received`](Self::received);
/// 2. take events from [`poll_event`](Self::poll_event) until there is none;
/// 3. write messages with [`pack`](Self::pack), [`pack_room`](Self::pack_room)
///    and [`send`](Self::send), and [`flush`](Self::flush);
/// 4. write what [`poll_transmit`](Self::poll_transmit) offers to the socket
///    and tell [`sent`](Self::sent);
/// 5. call [`handle_timeout`](Self::handle_timeout) at
///    [`next_deadline`](Self::next_deadline).
///
/// The [crate's front page](crate) shows two of them talking.
pub struct Connection {
    state: State,
    input: Input,
    sender: Sender,
    random: Random,
    limits: Limits,
    thresholds: CompressionThresholds,
    pings: Pings,
    negotiated: Option<Box<Negotiated>>,
    /// A reason found outside of `poll_event`, to be reported there.
    closing: Option<CloseReason>,
    /// The status code of a WebSocket close frame to end the output with.
    goodbye: Option<u16>,
    peer_closed: bool,
    clock: Clock,
    counters: Counters,
}

enum State {
    Opening(Box<Opening>),
    Active(Box<Receiver>),
    /// The bytes are another machine's.
    HandedOver(String),
    Closed(CloseReason),
}

/// The moments that deadlines are counted from.
struct Clock {
    started: Time,
    received: Time,
    sent: Time,
    ping_due: Time,
}

/// Memory of output, in bytes, that is kept however quiet a connection is.
const RESTING_BYTES: usize = 16 * 1024;

/// How long nothing is sent until the memory of a burst is given back: long
/// beside what it costs to get it again, short beside a rush of joiners, whose
/// bursts then lie in the same memory.
const REST_AFTER: Duration = Duration::from_millis(100);

/// What `poll_event` found, without a borrow.
enum Found {
    Connected,
    Message(Place),
    TooLong(TooLong),
    OtherSubprotocol,
}

impl Connection {
    /// The client's side, just connected at `now`; its first bytes are ready
    /// to be sent.
    ///
    /// `seed` feeds the key exchange and WebSocket keys and masks; give each
    /// connection another.
    pub fn client(config: &ClientConfig, seed: u64, now: Time) -> Result<Self, ConfigError> {
        let mut sender = Sender::new(config.flush_order, &config.limits);
        let mut random = Random::new(seed);
        let opening = ClientOpening::start(config.clone(), &mut sender, &mut random)?;
        let thresholds = config.compression_thresholds;
        let own = (thresholds, Pings::default());
        Ok(Self::new(Opening::Client(opening), sender, own, random, now))
    }

    /// The server's side of a connection accepted at `now`. It finds out by
    /// itself whether the client wants RSSL, WebSocket or the HTTP tunnel.
    ///
    /// `seed` feeds the key exchange; give each connection another.
    pub fn server(config: &ServerConfig, seed: u64, now: Time) -> Result<Self, ConfigError> {
        let opening = Opening::Server(ServerOpening::new(config.clone())?);
        let sender = Sender::new(config.flush_order, &config.limits);
        let own = (config.compression_thresholds, config.pings);
        Ok(Self::new(opening, sender, own, Random::new(seed), now))
    }

    fn new(
        opening: Opening,
        sender: Sender,
        (thresholds, pings): (CompressionThresholds, Pings),
        random: Random,
        now: Time,
    ) -> Self {
        let limits = opening.limits().clone();
        Self {
            state: State::Opening(Box::new(opening)),
            input: Input::new(limits.opening_capacity()),
            sender,
            random,
            limits,
            thresholds,
            pings,
            negotiated: None,
            closing: None,
            goodbye: None,
            peer_closed: false,
            clock: Clock { started: now, received: now, sent: now, ping_due: now },
            counters: Counters::default(),
        }
    }

    /// Room for bytes from the socket. Empty when nothing was taken with
    /// [`poll_event`](Self::poll_event) since it was full.
    pub fn recv_buffer(&mut self) -> &mut [u8] {
        self.input.spare()
    }

    /// Takes note of `count` bytes written into the start of
    /// [`recv_buffer`](Self::recv_buffer) at `now`.
    pub fn received(&mut self, count: usize, now: Time) {
        if count > 0 {
            self.input.filled(count);
            self.counters.bytes_received += count as u64;
            self.clock.received = now;
        }
    }

    /// Takes note that the peer closed its direction, orderly or not. What
    /// came before is still delivered.
    pub fn peer_closed(&mut self) {
        self.peer_closed = true;
    }

    /// The messages of a packed frame that is being taken apart: a faster way
    /// to them than [`poll_event`](Self::poll_event), for as many as the caller
    /// likes. None when there is no such frame.
    #[inline]
    pub fn packed(&self) -> Packed<'_> {
        match &self.state {
            State::Active(receiver) if self.closing.is_none() && !self.sender.has_failed() => {
                receiver.packed(&self.input)
            }
            _ => Packed::new(&[]),
        }
    }

    /// Takes note of messages that were taken out of [`packed`](Self::packed),
    /// without anything else having been done with the connection meanwhile.
    #[inline]
    pub fn take_packed(&mut self, taken: Taken) {
        if let State::Active(receiver) = &mut self.state
            && taken.messages > 0
        {
            receiver.take_packed(&mut self.input, taken.bytes);
            self.counters.messages_received += taken.messages;
        }
    }

    /// The next event; `None` until more bytes or time come in.
    ///
    /// After [`Event::Closed`] there are no more events; the shell sends what
    /// is left until [`is_finished`](Self::is_finished) and closes the socket.
    pub fn poll_event(&mut self) -> Option<Event<'_>> {
        match self.advance() {
            Ok(None) => None,
            Ok(Some(Found::Connected)) => self.negotiated.as_deref().map(Event::Connected),
            Ok(Some(Found::Message(place))) => match &self.state {
                State::Active(receiver) => {
                    Some(Event::Message(receiver.message(&self.input, place)))
                }
                _ => None,
            },
            Ok(Some(Found::TooLong(TooLong { head, length, max }))) => match &self.state {
                State::Active(receiver) => {
                    let head = receiver.message(&self.input, head);
                    Some(Event::TooLong { head, length, max })
                }
                _ => None,
            },
            Ok(Some(Found::OtherSubprotocol)) => match &self.state {
                State::HandedOver(name) => Some(Event::OtherSubprotocol(name)),
                _ => None,
            },
            Err(reason) => {
                self.finish(&reason);
                self.state = State::Closed(reason.clone());
                Some(Event::Closed(reason))
            }
        }
    }

    fn advance(&mut self) -> Result<Option<Found>, CloseReason> {
        loop {
            if matches!(self.state, State::Closed(_) | State::HandedOver(_)) {
                return Ok(None);
            }
            if let Some(reason) = self.closing.take().or_else(|| self.sender.failure()) {
                return Err(reason);
            }
            let found = match &mut self.state {
                State::Active(_) => self.receive()?,
                _ => self.open()?,
            };
            match found {
                Next::Found(found) => return Ok(Some(found)),
                Next::Again => {}
                Next::Nothing => return Ok(None),
            }
        }
    }

    fn open(&mut self) -> Result<Next, CloseReason> {
        let State::Opening(opening) = &mut self.state else { return Ok(Next::Nothing) };
        let mut context =
            Context { input: &mut self.input, sender: &mut self.sender, random: &mut self.random };
        match opening.step(&mut context)? {
            Progress::Stepped => Ok(Next::Again),
            Progress::Waiting if self.peer_closed => Err(opening.cut()),
            Progress::Waiting => Ok(Next::Nothing),
            Progress::OtherSubprotocol(name) => {
                self.state = State::HandedOver(name);
                Ok(Next::Found(Found::OtherSubprotocol))
            }
            Progress::Done(agreed) => {
                self.activate(*agreed);
                Ok(Next::Found(Found::Connected))
            }
        }
    }

    fn activate(&mut self, Agreed { negotiated, unwrap }: Agreed) {
        let compressor =
            Compressor::new(negotiated.compression, negotiated.compression_level, self.thresholds);
        self.sender.activate(negotiated.version, negotiated.fragment_bytes, compressor);
        self.input.grow(self.limits.receive_capacity(negotiated.fragment_bytes));
        self.state = State::Active(Box::new(Receiver::new(
            unwrap,
            negotiated.version,
            negotiated.fragment_bytes,
            negotiated.compression,
            &self.limits,
        )));
        self.negotiated = Some(Box::new(negotiated));
        self.clock.ping_due = self.clock.received.after(self.ping_interval());
    }

    fn receive(&mut self) -> Result<Next, CloseReason> {
        let State::Active(receiver) = &mut self.state else { return Ok(Next::Nothing) };
        match receiver.next(&mut self.input)? {
            Some(Received::Message(place)) => {
                self.counters.messages_received += 1;
                Ok(Next::Found(Found::Message(place)))
            }
            Some(Received::TooLong(message)) => {
                self.counters.messages_too_long += 1;
                Ok(Next::Found(Found::TooLong(message)))
            }
            Some(Received::Frame { is_ping }) => {
                self.counters.pings_received += u64::from(is_ping);
                Ok(Next::Again)
            }
            Some(Received::WebSocketPing { payload, length }) => {
                self.sender.answer_ping(&payload[..length]);
                Ok(Next::Again)
            }
            Some(Received::Close) => Err(CloseReason::PeerClosed),
            None if self.peer_closed => Err(CloseReason::PeerClosed),
            None => Ok(Next::Nothing),
        }
    }

    /// Ends the output: what is queued is still sent unless nobody is there
    /// to take it, and a WebSocket says why.
    fn finish(&mut self, reason: &CloseReason) {
        self.sender.deactivate();
        self.goodbye = self.sender.is_websocket().then_some(match reason {
            CloseReason::Protocol(_) => 1002,
            CloseReason::Limit { .. } => 1009,
            CloseReason::Compressor => 1011,
            _ => 1000,
        });
        if self.peer_closed || matches!(reason, CloseReason::PingTimeout { .. }) {
            self.sender.discard();
            self.goodbye = None;
        }
    }

    /// Sends the close frame when everything before it is sent.
    fn say_goodbye(&mut self) {
        if self.sender.output.queued_bytes() == 0
            && let Some(code) = self.goodbye.take()
        {
            let mut payload = code.to_be_bytes().to_vec();
            if code == 1000 {
                payload.extend(b"Normal Closure");
            }
            self.sender.websocket_control(CLOSE, &payload);
        }
    }

    /// Closes this side: queued messages are still sent, received bytes are no
    /// longer looked at.
    pub fn close(&mut self) {
        if !matches!(self.state, State::Closed(_)) {
            self.sender.deactivate();
            self.closing.get_or_insert(CloseReason::Local);
        }
    }

    /// Whether the connection is closed and all its output sent: the socket
    /// can be closed.
    pub fn is_finished(&self) -> bool {
        matches!(self.state, State::Closed(_))
            && self.goodbye.is_none()
            && self.sender.output.queued_bytes() == 0
    }

    /// Holds both sides to other bounds from here on, for a peer that has shown
    /// who it is: those on messages, their reassembly and the output. Messages
    /// that are being reassembled go on.
    pub fn set_limits(&mut self, limits: &Limits) {
        self.limits = limits.clone();
        self.sender.set_limits(limits);
        if let State::Active(receiver) = &mut self.state {
            receiver.set_limits(limits);
            let fragment_bytes = self.negotiated.as_ref().map_or(0, |agreed| agreed.fragment_bytes);
            self.input.grow(limits.receive_capacity(fragment_bytes));
        }
    }

    /// Whether messages can be sent now.
    pub fn is_active(&self) -> bool {
        self.sender.is_active()
    }

    /// What was agreed, once [`Event::Connected`] has come.
    pub fn negotiated(&self) -> Option<&Negotiated> {
        self.negotiated.as_deref()
    }

    /// Why the connection was closed, once [`Event::Closed`] has come.
    pub fn close_reason(&self) -> Option<&CloseReason> {
        match &self.state {
            State::Closed(reason) => Some(reason),
            _ => None,
        }
    }

    /// What this connection has received and sent so far.
    pub fn counters(&self) -> Counters {
        Counters {
            messages_sent: self.sender.messages,
            frames_sent: self.sender.frames,
            ..self.counters
        }
    }

    /// All received bytes that were not taken, from the start of the HTTP head
    /// on: for the machine that goes on after [`Event::OtherSubprotocol`].
    pub fn unread(&self) -> &[u8] {
        self.input.unread()
    }

    /// Bytes of memory held for received bytes; at most
    /// [`Limits::receive_memory_bytes`].
    pub fn receive_memory_bytes(&self) -> usize {
        let receiver = match &self.state {
            State::Active(receiver) => receiver.memory_bytes(),
            _ => 0,
        };
        self.input.memory_bytes() + receiver
    }

    /// Bytes of memory held for output.
    pub fn send_memory_bytes(&self) -> usize {
        self.sender.output.memory_bytes()
    }

    /// Bytes that wait for the socket, packed frames being filled included.
    pub fn queued_bytes(&self) -> usize {
        self.sender.output.queued_bytes()
    }

    /// Bytes that [`poll_transmit`](Self::poll_transmit) could offer now.
    pub fn sendable_bytes(&self) -> usize {
        self.sender.output.sealed_bytes()
    }

    /// Bytes to write to the socket next, in order; `None` when none wait.
    /// Tell [`sent`](Self::sent) how many were taken before asking again.
    pub fn poll_transmit(&mut self) -> Option<Transmit<'_>> {
        self.say_goodbye();
        self.sender.output.transmit()
    }

    /// Takes note that the first `count` of the offered bytes were sent at
    /// `now`.
    pub fn sent(&mut self, count: usize, now: Time) {
        if count > 0 {
            self.sender.sent(count);
            self.counters.bytes_sent += count as u64;
            self.clock.sent = now;
            self.clock.ping_due = now.after(self.ping_interval());
        }
    }

    fn ping_timeout(&self) -> Duration {
        let seconds = self.negotiated.as_ref().map_or(0, |agreed| agreed.ping_timeout_s);
        Duration::from_secs(u64::from(seconds))
    }

    /// How long nothing is sent before a ping is.
    fn ping_interval(&self) -> Duration {
        let timeout = self.ping_timeout();
        match self.pings.interval_s {
            Some(seconds) => Duration::from_secs(u64::from(seconds)).min(timeout / 2),
            None => timeout / 3,
        }
    }

    fn handshake_deadline(&self) -> Time {
        self.clock.started.after(Duration::from_millis(u64::from(self.limits.handshake_ms)))
    }

    /// When the peer was silent for too long, if that is looked at.
    fn silence_deadline(&self) -> Option<Time> {
        self.pings.are_expected.then(|| self.clock.received.after(self.ping_timeout()))
    }

    /// When the buffers that a burst made large are given back.
    fn rest_deadline(&self) -> Option<Time> {
        let output = &self.sender.output;
        let is_large = output.memory_bytes() > RESTING_BYTES && output.queued_bytes() == 0;
        is_large.then(|| self.clock.sent.after(REST_AFTER))
    }

    /// When to call [`handle_timeout`](Self::handle_timeout) next. It changes
    /// with every received or sent byte.
    pub fn next_deadline(&self) -> Option<Time> {
        match &self.state {
            State::Opening(_) => Some(self.handshake_deadline()),
            State::Active(_) => {
                let due = [self.silence_deadline(), self.rest_deadline()];
                due.into_iter().flatten().chain([self.clock.ping_due]).min()
            }
            State::HandedOver(_) | State::Closed(_) => None,
        }
    }

    /// Does what is due at `now`: queues a ping, finds the peer dead, which
    /// [`poll_event`](Self::poll_event) then reports, or gives the memory of
    /// large buffers back after a quiet tenth of a second. Too early a call does
    /// nothing.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.rest_deadline().is_some_and(|due| now >= due) {
            self.sender.output.rest();
            self.input.rest();
        }
        match &self.state {
            State::Opening(_) if now >= self.handshake_deadline() => {
                let limit_ms = self.limits.handshake_ms;
                self.closing.get_or_insert(CloseReason::HandshakeTimeout { limit_ms });
            }
            State::Active(_) if self.silence_deadline().is_some_and(|due| now >= due) => {
                let timeout_s = self.negotiated.as_ref().map_or(0, |agreed| agreed.ping_timeout_s);
                self.closing.get_or_insert(CloseReason::PingTimeout { timeout_s });
            }
            State::Active(_) if now >= self.clock.ping_due => {
                // Waiting output is as good as a ping, once it goes.
                let is_idle = self.sender.output.queued_bytes() == 0;
                if self.pings.are_sent && is_idle && self.sender.is_active() {
                    self.sender.frame(&PING);
                    self.counters.pings_sent += 1;
                }
                self.sender.seal_all();
                self.clock.ping_due = now.after(self.ping_interval());
            }
            _ => {}
        }
    }
}

/// What one step of `advance` came to.
enum Next {
    Found(Found),
    Again,
    Nothing,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let state = match &self.state {
            State::Opening(_) => "opening",
            State::Active(_) => "active",
            State::HandedOver(_) => "handed over",
            State::Closed(_) => "closed",
        };
        write!(f, "Connection({state}, {} bytes queued)", self.queued_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_can_move_to_another_thread_and_is_small_at_rest() {
        fn is_send<T: Send>() {}
        is_send::<Connection>();
        assert!(size_of::<Connection>() <= 2048, "{}", size_of::<Connection>());
        let server = Connection::server(&ServerConfig::default(), 1, Time::ZERO).unwrap();
        assert_eq!(server.send_memory_bytes(), 0);
        assert!(server.receive_memory_bytes() < 9_000);
    }
}
