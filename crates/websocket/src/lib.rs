//! Text sessions: WebSocket subprotocols whose messages are texts, as state
//! machines without I/O. Bytes and the time go in, texts and bytes come out;
//! whoever has the socket moves them.
//!
//! Every frame that is sent is an array of messages, `[{..},{..}]`: what is
//! sent before a flush shares a frame, up to [`TextConfig::frame_bytes`], but
//! for a message that has to be alone. A frame that is received is handed over
//! as it is, its bytes checked to be UTF-8.
//!
//! A server's session begins when the client's opening is answered; a client's
//! sends the opening itself and tells which subprotocol it was granted.
//!
//! ```text
//!  nothing received for a third of the ping time-out  -> a ping of the protocol
//!  nothing sent for as long                           -> the same
//!  nothing received for all of it                     -> closed
//! ```
//!
//! A WebSocket's own pings are answered, unless much waits to be sent already:
//! who pings and reads nothing gets no answer. At a server they are no sign of
//! life, nor is a frame that does not end: only a message is. A client, which
//! chose its server and gets long messages from it, counts every byte.

pub mod close_code;
mod config;
mod incoming;
mod opening;
mod outgoing;

pub use config::{TextClient, TextConfig};

use std::time::Duration;

use tapeline_rssl::websocket::{CLOSE, CONTROL_PAYLOAD_BYTES, Masks, PONG};
use tapeline_rssl::{CloseReason, ConfigError, Counters};
use tapeline_time::Time;

use incoming::{Fault, Incoming, Place, Taken};
use opening::Opening;
use outgoing::Outgoing;

/// A ping of the WebSocket is not answered while more than this waits.
const PONG_BACKLOG_BYTES: usize = 64 << 10;

/// What a text session has for the program.
#[derive(Debug, PartialEq, Eq)]
pub enum TextInput<'a> {
    /// The server granted a client's session this subprotocol.
    Opened(&'a str),
    /// The frame of one or more messages.
    Text(&'a str),
    /// The session is over.
    Closed(CloseReason),
}

/// What was found in the input.
enum Found {
    Opened,
    Text(Place),
}

/// One text session: a server's is open, a client's is to be.
pub struct TextConnection {
    /// The request of a client, until it is answered.
    opening: Option<Box<Opening>>,
    subprotocol: String,
    input: Incoming,
    output: Outgoing,
    ping: &'static str,
    ping_timeout_s: u8,
    /// A reason found outside of `poll`, to be reported there.
    closing: Option<CloseReason>,
    closed: Option<CloseReason>,
    /// The close frame to end the output with.
    goodbye: Option<(u16, String)>,
    peer_closed: bool,
    /// The last message.
    received_at: Time,
    /// The last byte.
    read_at: Time,
    sent_at: Time,
    pinged_at: Time,
    counters: Counters,
}

impl TextConnection {
    /// A session whose client is answered `answer` first. `received` came
    /// behind the client's opening already.
    pub fn new(config: &TextConfig, answer: &str, received: &[u8], now: Time) -> Self {
        let input = Incoming::new(config.max_message_bytes);
        let output = Outgoing::new(config.frame_bytes, config.retained_output_bytes);
        let mut session = Self::with(config, input, output, now);
        session.output.raw(answer.as_bytes());
        session.input.take_over(received);
        session
    }

    /// A session that asks the server at `host`, which is `name:port`, to be
    /// opened. The seed is that of its key and its masks.
    ///
    /// Errors: the configuration has something that cannot be in a request.
    pub fn client(
        config: &TextClient,
        host: &str,
        seed: u64,
        now: Time,
    ) -> Result<Self, ConfigError> {
        let text = &config.text;
        let mut masks = Masks::new(seed);
        let (opening, request) = Opening::new(config, host, &mut masks, now)?;
        let input = Incoming::from_server(text.max_message_bytes);
        let output = Outgoing::new(text.frame_bytes, text.retained_output_bytes).masked(masks);
        let mut session = Self::with(text, input, output, now);
        session.opening = Some(Box::new(opening));
        session.output.raw(request.as_bytes());
        Ok(session)
    }

    fn with(config: &TextConfig, input: Incoming, output: Outgoing, now: Time) -> Self {
        Self {
            opening: None,
            subprotocol: String::new(),
            input,
            output,
            ping: config.ping,
            ping_timeout_s: config.ping_timeout_s.max(1),
            closing: None,
            closed: None,
            goodbye: None,
            peer_closed: false,
            received_at: now,
            read_at: now,
            sent_at: now,
            pinged_at: now,
            counters: Counters::default(),
        }
    }

    /// Takes frames of up to so many bytes from here on.
    pub const fn set_max_message_bytes(&mut self, bytes: usize) {
        self.input.max_message_bytes = bytes;
    }

    /// What is left of a connection that is answered this and closed.
    pub fn answer_only(answer: &[u8], now: Time) -> Self {
        let mut session = Self::new(&TextConfig::default(), "", &[], now);
        session.output.raw(answer);
        session.closed = Some(CloseReason::Local);
        session
    }

    /// Room for what comes from the socket; tell how much did with
    /// [`received`](Self::received).
    pub fn recv_buffer(&mut self) -> &mut [u8] {
        self.input.spare()
    }

    /// So many bytes came into [`recv_buffer`](Self::recv_buffer).
    pub fn received(&mut self, count: usize, now: Time) {
        if count > 0 {
            self.input.filled(count);
            self.counters.bytes_received += count as u64;
            self.read_at = now;
            if !self.input.from_client {
                // A client chose its server, whose long messages take their time.
                self.received_at = now;
            }
        }
    }

    /// The peer sends no more.
    pub const fn peer_closed(&mut self) {
        self.peer_closed = true;
    }

    /// The next of what came; `None` until more bytes or time come in.
    pub fn poll(&mut self) -> Option<TextInput<'_>> {
        if self.closed.is_some() {
            return None;
        }
        match self.advance() {
            Ok(None) => None,
            Ok(Some(Found::Opened)) => Some(TextInput::Opened(&self.subprotocol)),
            Ok(Some(Found::Text(place))) => {
                self.counters.messages_received += 1;
                self.received_at = self.read_at;
                // It was checked when it was found.
                Some(TextInput::Text(self.input.text(&place).unwrap_or_default()))
            }
            Err(Fault { reason, code }) => {
                self.finish(reason.clone(), code, "");
                Some(TextInput::Closed(reason))
            }
        }
    }

    /// Whether the server has answered the opening.
    fn open(&mut self) -> Result<Option<Found>, Fault> {
        let Some(opening) = &self.opening else { return Ok(None) };
        match opening.answer(self.input.unread())? {
            Some((subprotocol, length)) => {
                self.input.skip(length);
                self.subprotocol = subprotocol;
                self.opening = None;
                // The clocks of silence start here.
                (self.received_at, self.sent_at) = (self.read_at, self.read_at);
                Ok(Some(Found::Opened))
            }
            None if self.peer_closed => {
                Err(Fault { reason: opening::CUT.into(), code: close_code::NORMAL })
            }
            None => Ok(None),
        }
    }

    fn advance(&mut self) -> Result<Option<Found>, Fault> {
        if let Some(reason) = self.closing.take() {
            return Err(Fault { reason, code: close_code::NORMAL });
        }
        if self.opening.is_some() {
            return self.open();
        }
        self.input.done();
        loop {
            match self.input.next()? {
                Some(Taken::Text(place)) => {
                    return Ok(Some(Found::Text(self.input.check_text(place)?)));
                }
                Some(Taken::Ping(payload)) => {
                    let Self { input, output, .. } = self;
                    if output.queued_bytes() > PONG_BACKLOG_BYTES {
                        continue;
                    }
                    output.control(PONG, input.bytes(&Place::Buffer(payload)));
                }
                Some(Taken::Nothing) => self.counters.pings_received += 1,
                // Its own code goes back.
                Some(Taken::Close(code)) => {
                    return Err(Fault { reason: CloseReason::PeerClosed, code });
                }
                None if self.peer_closed => {
                    let code = close_code::NORMAL;
                    return Err(Fault { reason: CloseReason::PeerClosed, code });
                }
                None => return Ok(None),
            }
        }
    }

    /// Queues a message that is in one or more pieces. One that is `alone` has
    /// a frame for itself.
    pub fn push(&mut self, pieces: &[&[u8]], alone: bool) {
        if alone {
            self.output.seal();
        }
        self.output.push(pieces);
        if alone {
            self.output.seal();
        }
        self.counters.messages_sent += 1;
    }

    /// Ends the frame that is being filled: what is pushed next begins another.
    pub fn flush(&mut self) {
        self.output.seal();
    }

    /// Bytes that wait for the socket.
    pub const fn queued_bytes(&self) -> usize {
        self.output.queued_bytes()
    }

    /// Bytes to write to the socket next.
    pub fn transmit(&mut self) -> &[u8] {
        if self.output.queued_bytes() == 0
            && let Some((code, text)) = self.goodbye.take()
        {
            self.say_goodbye(code, &text);
        }
        self.output.sendable()
    }

    /// A code that may not be sent, as of a close frame without one, is left
    /// out.
    fn say_goodbye(&mut self, code: u16, text: &str) {
        let mut payload = code.to_be_bytes().to_vec();
        let room = CONTROL_PAYLOAD_BYTES - payload.len();
        let end = (0..=room.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
        payload.extend_from_slice(&text.as_bytes()[..end.unwrap_or(0)]);
        let may_be_sent = matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999);
        self.output.control(CLOSE, if may_be_sent { &payload } else { &[] });
    }

    /// The socket took so many bytes of what [`transmit`](Self::transmit) gave.
    pub fn sent(&mut self, count: usize, now: Time) {
        if count > 0 {
            self.output.sent(count);
            self.counters.bytes_sent += count as u64;
            self.sent_at = now;
        }
    }

    fn finish(&mut self, reason: CloseReason, code: u16, text: &str) {
        self.output.seal();
        self.goodbye = Some((code, text.to_owned()));
        let is_deaf = self.peer_closed || self.opening.is_some();
        if is_deaf || matches!(reason, CloseReason::PingTimeout { .. }) {
            self.output.discard();
            self.goodbye = None;
        }
        self.closed = Some(reason);
    }

    /// Closes this side: what is queued is still sent, then why.
    pub fn close(&mut self, code: u16, text: &str) {
        if self.closed.is_none() {
            self.finish(CloseReason::Local, code, text);
        }
    }

    /// Why the session is over; `None` while it is not.
    pub const fn close_reason(&self) -> Option<&CloseReason> {
        self.closed.as_ref()
    }

    /// Whether it is closed and all is sent.
    pub const fn is_finished(&self) -> bool {
        self.closed.is_some() && self.goodbye.is_none() && self.output.queued_bytes() == 0
    }

    const fn timeout(&self) -> Duration {
        Duration::from_secs(self.ping_timeout_s as u64)
    }

    fn ping_due(&self) -> Time {
        let heard = self.received_at.max(self.pinged_at);
        let said = self.sent_at.max(self.pinged_at);
        heard.min(said).after(self.timeout() / 3)
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn next_deadline(&self) -> Option<Time> {
        if let (Some(opening), None) = (&self.opening, &self.closed) {
            return Some(opening.deadline);
        }
        let silence = self.received_at.after(self.timeout());
        self.closed.is_none().then(|| silence.min(self.ping_due()))
    }

    /// Does what is due at `now`: queues a ping, or finds the peer dead, which
    /// [`poll`](Self::poll) then reports.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.closed.is_some() {
            return;
        }
        if let Some(opening) = &self.opening {
            if now >= opening.deadline {
                self.closing.get_or_insert(opening::LATE.into());
            }
            return;
        }
        if now >= self.received_at.after(self.timeout()) {
            let timeout_s = self.ping_timeout_s;
            self.closing.get_or_insert(CloseReason::PingTimeout { timeout_s });
        } else if now >= self.ping_due() {
            self.pinged_at = now;
            self.output.seal();
            self.output.push(&[self.ping.as_bytes()]);
            self.output.seal();
            self.counters.pings_sent += 1;
        }
    }

    /// What came and went so far.
    pub fn counters(&self) -> Counters {
        Counters { frames_sent: self.output.frames, ..self.counters }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO.after(Duration::from_secs(seconds))
    }

    fn session() -> TextConnection {
        let mut session = TextConnection::new(&TextConfig::default(), "101\r\n", b"", Time::ZERO);
        let count = session.transmit().len();
        session.sent(count, Time::ZERO);
        session
    }

    fn receive(session: &mut TextConnection, bytes: &[u8], now: Time) {
        session.recv_buffer()[..bytes.len()].copy_from_slice(bytes);
        session.received(bytes.len(), now);
    }

    fn sent(session: &mut TextConnection, now: Time) -> String {
        let bytes = session.transmit().to_vec();
        session.sent(bytes.len(), now);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// A masked text frame with a mask of zeros.
    const HELLO: &[u8] = b"\x81\x84\0\0\0\0[{}]";

    #[test]
    fn who_is_silent_is_pinged_and_then_given_up() {
        let mut session = session();
        assert_eq!(session.next_deadline(), Some(at(10)));
        session.handle_timeout(at(9));
        assert_eq!(sent(&mut session, at(9)), "");
        session.handle_timeout(at(10));
        assert_eq!(sent(&mut session, at(10)), "\u{fffd}\u{11}[{\"Type\":\"Ping\"}]");
        assert_eq!(session.next_deadline(), Some(at(20)));
        session.handle_timeout(at(20));
        assert_eq!(session.poll(), None);
        session.handle_timeout(at(30));
        let reason = CloseReason::PingTimeout { timeout_s: 30 };
        assert_eq!(session.poll(), Some(TextInput::Closed(reason)));
        assert_eq!(session.poll(), None);
        assert!(session.is_finished());
    }

    #[test]
    fn a_message_is_a_sign_of_life_and_a_client_gets_something_in_time() {
        let mut session = session();
        for second in [8, 16] {
            receive(&mut session, HELLO, at(second));
            assert_eq!(session.poll(), Some(TextInput::Text("[{}]")));
        }
        // Much came, but nothing was sent since 0.
        assert_eq!(session.next_deadline(), Some(at(10)));
        session.handle_timeout(at(17));
        assert!(sent(&mut session, at(17)).contains("Ping"));
        assert_eq!(session.next_deadline(), Some(at(27)));
    }

    #[test]
    fn pings_of_the_websocket_and_frames_that_do_not_end_are_no_sign_of_life() {
        let mut session = session();
        for second in 1..30 {
            receive(&mut session, b"\x89\x80\0\0\0\0", at(second));
            assert_eq!(session.poll(), None);
            sent(&mut session, at(second));
        }
        receive(&mut session, &HELLO[..HELLO.len() - 1], at(29));
        assert_eq!(session.poll(), None);
        session.handle_timeout(at(30));
        let reason = CloseReason::PingTimeout { timeout_s: 30 };
        assert_eq!(session.poll(), Some(TextInput::Closed(reason)));
    }

    #[test]
    fn who_pings_and_reads_nothing_makes_nothing_grow() {
        let mut session = session();
        let mut ping = b"\x89\xFD\0\0\0\0".to_vec();
        ping.resize(6 + 125, b'x');
        for _ in 0..2_000 {
            receive(&mut session, &ping, at(1));
            assert_eq!(session.poll(), None);
        }
        let most = PONG_BACKLOG_BYTES + 2 + 125;
        assert!(session.queued_bytes() <= most, "{}", session.queued_bytes());
    }

    #[test]
    fn a_ping_has_a_frame_of_its_own() {
        let mut session = session();
        session.push(&[b"{1}"], false);
        session.handle_timeout(at(10));
        session.push(&[b"{2}"], false);
        session.flush();
        let text = sent(&mut session, at(10));
        let frames: Vec<_> = text.split('\u{fffd}').skip(1).map(|frame| &frame[1..]).collect();
        assert_eq!(frames, ["[{1}]", "[{\"Type\":\"Ping\"}]", "[{2}]"]);
    }

    #[test]
    fn a_message_that_has_to_be_alone_is() {
        let mut session = session();
        for (text, alone) in [("{1}", false), ("{2}", true), ("{3}", false), ("{4}", false)] {
            session.push(&[text.as_bytes()], alone);
        }
        session.flush();
        let text = sent(&mut session, at(0));
        let frames: Vec<_> = text.split('\u{fffd}').skip(1).map(|frame| &frame[1..]).collect();
        assert_eq!(frames, ["[{1}]", "[{2}]", "[{3},{4}]"]);
    }

    #[test]
    fn pings_of_the_websocket_are_answered_and_its_end_too() {
        let mut session = session();
        receive(&mut session, b"\x89\x81\0\0\0\0x\x88\x82\0\0\0\0\x03\xE9", at(1));
        assert_eq!(session.poll(), Some(TextInput::Closed(CloseReason::PeerClosed)));
        assert_eq!(session.poll(), None);
        assert!(!session.is_finished());
        let bytes = session.transmit().to_vec();
        assert_eq!(bytes, b"\x8A\x01x");
        session.sent(bytes.len(), at(1));
        assert_eq!(session.transmit(), b"\x88\x02\x03\xE9");
        session.sent(4, at(1));
        assert!(session.is_finished());
    }

    /// A client's session, and what a server's machine answers its request.
    fn client() -> (TextConnection, String) {
        let config = TextClient::default();
        let mut client = TextConnection::client(&config, "mds1:15000", 7, Time::ZERO).unwrap();
        let request = client.transmit().to_vec();
        client.sent(request.len(), Time::ZERO);
        let text = String::from_utf8_lossy(&request);
        assert!(text.starts_with("GET /WebSocket HTTP/1.1\r\n"), "{text}");
        assert!(text.contains("Host: mds1:15000\r\n"), "{text}");
        let (answer, _) = tapeline_rssl::websocket::accept_opening(&request, "tr_json2").unwrap();
        (client, answer)
    }

    #[test]
    fn a_client_is_open_when_its_opening_is_answered() {
        let (mut client, answer) = client();
        let (start, end) = answer.as_bytes().split_at(40);
        receive(&mut client, start, at(1));
        assert_eq!(client.poll(), None);
        receive(&mut client, &[end, b"\x81\x04[{}]"].concat(), at(50));
        assert_eq!(client.poll(), Some(TextInput::Opened("tr_json2")));
        assert_eq!(client.poll(), Some(TextInput::Text("[{}]")));
        assert_eq!(client.poll(), None);
        assert_eq!(client.next_deadline(), Some(at(60)), "silence counts from the answer on");
        client.push(&[b"{1}"], false);
        client.flush();
        let frame = client.transmit();
        assert_eq!((frame.len(), &frame[..2]), (6 + 5, &[0x81, 0x85][..]), "masked");
    }

    #[test]
    fn a_long_message_on_its_way_is_a_sign_of_life_for_a_client() {
        let (mut client, answer) = client();
        receive(&mut client, answer.as_bytes(), at(1));
        assert_eq!(client.poll(), Some(TextInput::Opened("tr_json2")));
        receive(&mut client, b"\x81\x04[", at(25));
        assert_eq!(client.poll(), None);
        client.handle_timeout(at(40));
        assert_eq!(client.poll(), None);
        receive(&mut client, b"{}]", at(50));
        assert_eq!(client.poll(), Some(TextInput::Text("[{}]")));
    }

    #[test]
    fn a_client_that_gets_no_answer_ends_without_a_word() {
        type Failure = fn(&mut TextConnection);
        let refused = |client: &mut TextConnection| {
            receive(client, b"HTTP/1.1 400 Bad Request\r\n\r\n", at(1));
        };
        let cut = TextConnection::peer_closed;
        let late = |client: &mut TextConnection| client.handle_timeout(at(60));
        let cases: [(Failure, &str); 3] =
            [(refused, "status 400"), (cut, "hung up"), (late, "no answer in time")];
        for (fails, words) in cases {
            let (mut client, _) = client();
            assert_eq!((client.next_deadline(), client.poll()), (Some(at(60)), None));
            fails(&mut client);
            let Some(TextInput::Closed(reason)) = client.poll() else { panic!("{words}") };
            assert!(reason.to_string().contains(words), "{reason}");
            assert_eq!(client.transmit(), b"", "it is no WebSocket yet");
            assert!(client.is_finished());
        }
    }

    #[test]
    fn a_close_tells_why_after_what_was_queued() {
        let mut session = session();
        session.push(&[b"{1}"], false);
        session.close(close_code::TRY_AGAIN_LATER, "too slow");
        session.close(close_code::NORMAL, "again");
        assert_eq!(sent(&mut session, at(1)), "\u{fffd}\u{5}[{1}]");
        assert_eq!(session.transmit(), b"\x88\x0A\x03\xF5too slow");
        let count = session.transmit().len();
        session.sent(count, at(1));
        assert!(session.is_finished());
    }
}
