//! Mounts that speak JSON.
//!
//! A JSON mount is a mount like any other. The core works in RWF throughout, and
//! knows nothing of JSON; the [`Interpreter`] stands before it:
//!
//! ```text
//!  text of a frame ─ FromJson ─▶ RWF ─▶ ┌──────┐ ─ send, send_on ─▶ RSSL mounts
//!  RWF of RSSL mounts ────────────────▶ │ core │
//!                                       └──────┘ ─ JsonOutputs ─ ToJson ─▶ JSON mounts
//! ```
//!
//! [`JsonOutputs`] stands in front of the outputs while an event is handled.
//! What goes to an RSSL mount it passes on. What goes to a JSON mount is the `ID`
//! of the stream and a *body* that is the same for all who get the message. A
//! body is kept with the bytes it was made of: an update that a thousand mounts
//! watch with the same view is converted for the first of them, and compared and
//! copied for the others.
//!
//! Where JSON mounts are not to get just what RSSL mounts get:
//!
//! * the login answer has the ping time-out and the largest message as its
//!   payload, and a frame of its own;
//! * the words of a refused login begin with `Login Rejected.`;
//! * a service goes by its name; one that nobody knows is answered with a
//!   status on the stream, as an Error would have clients wait or reconnect;
//! * a dictionary is one message, and batches are answered with counts;
//! * an ack has no code if it is good, and generic messages go to those only
//!   who have sent one: either would end some clients.
//!
//! The core knows what of this is its own to do as [`MountTraits`].
//!
//! A client whose handshake has a cookie with a token is logged in without
//! asking.
//!
//! Without a WebSocket listener nothing of this is there, and an event costs one
//! comparison.

mod bodies;
mod cookies;
mod names;
mod outputs;

use std::net::SocketAddr;
use std::sync::Arc;

use tapeline_channel::SessionId;
use tapeline_json::{FromJson, Incoming, JsonError, Limits, Options, PONG, ToJson, Vocabulary};
use tapeline_rwf::{Msg, MsgClass, MsgHeader};
use tapeline_time::Time;

use self::names::Names;
use self::outputs::{JsonOutputs, Writer};
use crate::core::{AskedService, Core, Event, MountTraits, When};
use crate::siblings::Siblings;
use crate::{LoginPolicy, Outputs, ServerConfig, Statistics};

/// Why a WebSocket is closed, as its close frame says.
mod close_code {
    pub(super) const NORMAL: u16 = 1000;
    pub(super) const GOING_AWAY: u16 = 1001;
    pub(super) const POLICY: u16 = 1008;
}

/// What JSON mounts expect that others do not.
const TRAITS: MountTraits = MountTraits {
    may_open_twice: true,
    misuse_closes: true,
    batches_counted: true,
    dictionary_whole: true,
    down_is_unknown: true,
};

/// What a session that speaks JSON does, beside what those do that speak RWF.
#[derive(Clone, Copy, Debug)]
pub enum JsonEvent<'a> {
    /// A consumer connected.
    Opened {
        /// Its session.
        session: SessionId,
        /// Where it connects from.
        peer: SocketAddr,
    },
    /// Its handshake had cookies; follows [`Opened`](Self::Opened) then.
    Cookies {
        /// The session.
        session: SessionId,
        /// The value of the `Cookie` header.
        cookies: &'a str,
    },
    /// A frame came: a message, or an array of them.
    Frame {
        /// The session.
        session: SessionId,
        /// The frame.
        text: &'a str,
    },
}

/// A server's core, and in front of it what JSON mounts say and are told.
///
/// It takes the same events as the [`Core`] and does the same with them; for
/// JSON mounts there is [`handle_json`](Self::handle_json).
#[derive(Debug)]
pub struct Interpreter {
    core: Core,
    /// What JSON mounts need; `None` before there is any.
    json: Option<Box<Json>>,
}

/// The converters and what they look up.
#[derive(Debug)]
struct Json {
    reader: FromJson,
    writer: Writer,
    names: Names,
    max_faults: u32,
    /// Messages that are answered, or passed over, without the core.
    messages_in: u64,
}

impl Interpreter {
    /// A server with no mounts and no hubs yet.
    pub fn new(config: ServerConfig, policy: Box<dyn LoginPolicy>) -> Self {
        let has_listener =
            !(config.listen_websocket.is_empty() && config.listen_websocket_tls.is_empty());
        let core = Core::new(config, policy);
        let json = has_listener.then(|| Box::new(Json::new(&core)));
        Self { core, json }
    }

    /// Has limits hold for this server and its siblings together.
    pub(crate) fn join_siblings(&mut self, siblings: &Siblings) {
        self.core.join_siblings(siblings);
    }

    /// Has it be asked who logs in, before anybody is let in. To be called before the
    /// first event; questions are [asked](Outputs::ask_login), and answers are events.
    pub const fn identify_logins(&mut self) {
        self.core.identify_logins();
    }

    /// Has another configuration from now on, as far as it can change.
    pub(crate) fn adopt(&mut self, config: &ServerConfig) {
        self.core.adopt(config);
    }

    /// The core.
    pub const fn core(&self) -> &Core {
        &self.core
    }

    /// What the server has and did.
    pub fn statistics(&self) -> Statistics {
        let mut all = self.core.statistics();
        if let Some(json) = &self.json {
            json.writer.count(&mut all);
            all.messages_in += json.messages_in;
        }
        all
    }

    /// Closes a mount because an operator wants it.
    pub(crate) fn end_mount<O: Outputs>(&mut self, session: SessionId, reason: &str, out: &mut O) {
        let Self { core, json } = self;
        match json {
            None => core.end_mount(session, reason, out),
            Some(json) => {
                let Json { writer, names, .. } = &mut **json;
                core.end_mount(session, reason, &mut JsonOutputs::new(out, writer, names));
            }
        }
    }

    /// Ends the logins of a user because an operator wants it, a slice at a time, from
    /// the next [`handle_timeout`](Self::handle_timeout) on. Returns how many there are.
    pub fn log_out(&mut self, user: &str) -> usize {
        self.core.log_out(user)
    }

    /// Whether a session speaks JSON.
    pub(crate) fn speaks_json(&self, session: SessionId) -> bool {
        self.json.as_ref().is_some_and(|json| json.writer.speaks_json(session))
    }

    /// For tests, between two events: [`Core::check`].
    ///
    /// # Panics
    /// Two tables contradict each other.
    pub fn check(&self) {
        self.core.check();
    }

    /// Handles an event of the backbone, or of a session that speaks RWF; of
    /// whatever speaks JSON, all but what [`JsonEvent`] has.
    #[inline]
    pub fn handle<O: Outputs>(&mut self, now: Time, event: Event<'_>, out: &mut O) {
        let Self { core, json: Some(json) } = self else {
            return self.core.handle(now, event, out);
        };
        if let Event::Opened { session, .. } = event {
            json.writer.begin(session, false);
        }
        core.handle(now, event, &mut json.outputs(out));
        match event {
            Event::Closed { session } => json.writer.end(session),
            Event::Bus(_) => json.learn(core),
            _ => {}
        }
    }

    /// Has updates wait: see [`Core::gather`].
    #[inline]
    pub fn gather(&mut self) {
        self.core.gather();
    }

    /// Sends the updates that wait: see [`Core::spread`].
    #[inline]
    pub fn spread<O: Outputs>(&mut self, out: &mut O) {
        let Self { core, json } = self;
        match json {
            None => core.spread(out),
            Some(json) => core.spread(&mut json.outputs(out)),
        }
    }

    /// When updates are to wait.
    pub fn copy_by_mount(&mut self, when: When) {
        self.core.copy_by_mount(when);
    }

    /// Handles an event of a session that speaks JSON.
    pub fn handle_json<O: Outputs>(&mut self, now: Time, event: JsonEvent<'_>, out: &mut O) {
        let Self { core, json } = self;
        let json = json.get_or_insert_with(|| Box::new(Json::new(core)));
        match event {
            JsonEvent::Opened { session, peer } => {
                json.writer.begin(session, true);
                core.handle(now, Event::Opened { session, peer }, &mut json.outputs(out));
                core.set_traits(session, TRAITS);
            }
            JsonEvent::Cookies { session, cookies } => {
                if let Some(request) = cookies::login_of(cookies) {
                    core.log_in_unasked(now, session, request, &mut json.outputs(out));
                }
            }
            JsonEvent::Frame { session, text } => json.frame(core, now, session, text, out),
        }
    }

    /// When [`handle_timeout`](Self::handle_timeout) has something to do.
    pub fn next_deadline(&self) -> Option<Time> {
        self.core.next_deadline()
    }

    /// Does what is due.
    pub fn handle_timeout<O: Outputs>(&mut self, now: Time, out: &mut O) {
        let Self { core, json } = self;
        match json {
            None => core.handle_timeout(now, out),
            Some(json) => {
                let mut out = json.outputs(out);
                if core.is_ending() {
                    out.close_code = close_code::GOING_AWAY;
                }
                core.handle_timeout(now, &mut out);
            }
        }
    }

    /// Ends all mounts, telling them why.
    pub fn shut_down<O: Outputs>(&mut self, now: Time, reason: &str, out: &mut O) {
        let Self { core, json } = self;
        match json {
            None => core.shut_down(now, reason, out),
            Some(json) => {
                let mut out = json.outputs(out);
                out.close_code = close_code::GOING_AWAY;
                core.shut_down(now, reason, &mut out);
            }
        }
    }
}

impl Json {
    fn new(core: &Core) -> Self {
        let config = core.config();
        let vocabulary = Arc::new(Vocabulary::new(&config.dictionary));
        let json = &config.json;
        let options = Options {
            expand_enums: json.expand_enums,
            catch_unknown_keys: json.catch_unknown_keys,
            catch_unknown_fields: json.catch_unknown_fields,
            limits: Limits {
                text_bytes: json.max_message_bytes,
                // RWF is shorter than what it is made of, but for arrays that
                // name a length.
                rwf_bytes: (4 * json.max_message_bytes).min(config.limits.max_message_bytes),
                ..Limits::default()
            },
            ..Options::default()
        };
        let mut names = Names::new(json.default_service.as_deref());
        names.learn(core.services());
        Self {
            reader: FromJson::new(Arc::clone(&vocabulary), options),
            writer: Writer::new(ToJson::new(vocabulary, options), json),
            names,
            max_faults: json.max_faults,
            messages_in: 0,
        }
    }

    /// Takes over services that became known.
    fn learn(&mut self, core: &Core) {
        if self.names.learn(core.services()) {
            // There are names in bodies.
            self.writer.forget_bodies();
        }
    }

    /// The outputs, in the words of each mount.
    fn outputs<'a, O>(&'a mut self, out: &'a mut O) -> JsonOutputs<'a, O> {
        JsonOutputs::new(out, &mut self.writer, &self.names)
    }

    /// A mount sent a frame: its messages are handled in order, and one that is
    /// no good takes none of the others with it.
    fn frame<O: Outputs>(
        &mut self,
        core: &mut Core,
        now: Time,
        session: SessionId,
        text: &str,
        out: &mut O,
    ) {
        let Self { reader, writer, names, max_faults, messages_in } = self;
        let (names, max_faults) = (&*names, *max_faults);
        let mut out = JsonOutputs::new(out, writer, names);
        reader.frame(text, names, |incoming| {
            // It may be cut in the middle.
            if !core.has_mount(session) {
                return;
            }
            match incoming {
                Incoming::Ping => {
                    *messages_in += 1;
                    let sent = out.send_json(session, &[PONG], false);
                    core.sent_apart(session, sent, &mut out);
                }
                Incoming::Pong | Incoming::Error { .. } => *messages_in += 1,
                Incoming::Message(rwf) => message(core, now, session, rwf, names, &mut out),
                Incoming::Failed { error, text } => {
                    fault(core, session, &error, text, max_faults, &mut out);
                }
            }
        });
    }
}

/// A message of a JSON mount, converted.
fn message<O: Outputs>(
    core: &mut Core,
    now: Time,
    session: SessionId,
    rwf: &[u8],
    names: &Names,
    out: &mut JsonOutputs<'_, O>,
) {
    let asked = names.take_asked();
    let Ok(head) = MsgHeader::decode(rwf) else {
        debug_assert!(false, "what was converted can be read");
        return;
    };
    out.writer.note_good(session, head.class);
    match unknown_service(&head, rwf, names, asked) {
        Some(service) => core.handle_unplaced(now, session, rwf, &service, out),
        None => core.handle(now, Event::Message { session, bytes: rwf }, out),
    }
}

/// What a request is for, if it is a service that nobody knows.
fn unknown_service(
    head: &MsgHeader,
    rwf: &[u8],
    names: &Names,
    asked: Option<AskedService>,
) -> Option<AskedService> {
    if head.class != MsgClass::Request {
        return None;
    }
    let Ok(Msg::Request(request)) = Msg::decode(rwf) else { return None };
    names.unknown(request.key.service_id?, asked)
}

/// A message cannot be converted: its sender is told, and cut if it goes on
/// like this.
fn fault<O: Outputs>(
    core: &mut Core,
    session: SessionId,
    error: &JsonError,
    text: &str,
    max_faults: u32,
    out: &mut JsonOutputs<'_, O>,
) {
    let mut answer = Vec::new();
    error.push_message(text, &mut answer);
    let sent = out.send_json(session, &[&answer], false);
    core.sent_apart(session, sent, out);
    if out.writer.note_fault(session) >= max_faults && core.has_mount(session) {
        out.close_code = close_code::POLICY;
        core.cut(session, "too many messages in a row that are no good", out);
        out.close_code = close_code::NORMAL;
    }
}
