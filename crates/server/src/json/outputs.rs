//! Outputs that speak to each mount in its own words.

use tapeline_backbone::{FrameHeader, Published};
use tapeline_channel::{Sent, SessionId};
use tapeline_entitle::{LoginQuestion, Usage};
use tapeline_json::{ToJson, WriteError, push_prefix};
use tapeline_rssl::{CopyOf, Originals};
use tapeline_rwf::{
    AckMsg, DataState, DataType, Domain, Msg, MsgClass, MsgHeader, NakCode, RefreshMsg, State,
    StatusMsg, StreamState,
};

use thiserror::Error;

use super::bodies::{Bodies, Found};
use super::close_code;
use super::names::Names;
use crate::config::JsonConfig;
use crate::{Note, Outputs, Shared, Statistics};

/// How the words of a refused login begin: some clients go by them.
const REJECTED: &str = "Login Rejected.";

/// What is known of a session.
#[derive(Clone, Copy, Debug, Default)]
struct JsonSession {
    speaks_json: bool,
    /// Of the session.
    generation: u32,
    /// It has sent a generic message, and so can take one.
    takes_generics: bool,
    /// Messages in a row that were no good.
    faults: u32,
}

/// Why a message is not said in JSON.
#[derive(Debug, Error)]
enum Unsaid {
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("an image of {bytes} bytes is longer than the {max} that a server sends in JSON")]
    TooLong { bytes: usize, max: usize },
}

/// The start of a message, `{"ID":5,`. Clients number their streams alike, so
/// the last one often is the next.
#[derive(Debug)]
struct Prefix {
    stream_id: i32,
    text: Vec<u8>,
}

impl Default for Prefix {
    fn default() -> Self {
        let mut text = Vec::new();
        push_prefix(&mut text, 0);
        Self { stream_id: 0, text }
    }
}

impl Prefix {
    #[inline]
    fn of(&mut self, stream_id: i32) -> &[u8] {
        if stream_id != self.stream_id {
            self.stream_id = stream_id;
            self.text.clear();
            push_prefix(&mut self.text, stream_id);
        }
        &self.text
    }
}

/// Messages in JSON.
#[derive(Debug)]
pub(super) struct Writer {
    to_json: ToJson,
    /// By the index of the session.
    sessions: Vec<JsonSession>,
    json_mounts: usize,
    bodies: Bodies,
    prefix: Prefix,
    /// A message that is not kept.
    text: Vec<u8>,
    login_payload: String,
    /// A longer image is not sent.
    max_image_bytes: usize,
    converted: u64,
    shared: u64,
    unwritable: u64,
    pub(super) faults: u64,
}

impl Writer {
    pub(super) fn new(to_json: ToJson, config: &JsonConfig) -> Self {
        let login_payload = format!(
            ",\"Elements\":{{\"PingTimeout\":{},\"MaxMsgSize\":{}}}}}",
            config.ping_timeout_s, config.max_message_bytes
        );
        Self {
            to_json,
            sessions: Vec::new(),
            json_mounts: 0,
            bodies: Bodies::new(),
            prefix: Prefix::default(),
            text: Vec::new(),
            login_payload,
            max_image_bytes: config.max_image_bytes,
            converted: 0,
            shared: 0,
            unwritable: 0,
            faults: 0,
        }
    }

    /// A session is there, and speaks JSON or not.
    pub(super) fn begin(&mut self, session: SessionId, speaks_json: bool) {
        let index = session.index as usize;
        if index >= self.sessions.len() {
            if !speaks_json {
                return;
            }
            self.sessions.resize(index + 1, JsonSession::default());
        }
        self.json_mounts -= usize::from(self.sessions[index].speaks_json);
        self.json_mounts += usize::from(speaks_json);
        let generation = session.generation;
        self.sessions[index] = JsonSession { speaks_json, generation, ..JsonSession::default() };
    }

    /// A session is over. Its index may be another's by now.
    pub(super) fn end(&mut self, session: SessionId) {
        let known = self.sessions.get(session.index as usize);
        if known.is_some_and(|known| known.generation == session.generation) {
            self.begin(session, false);
        }
    }

    #[inline]
    pub(super) fn speaks_json(&self, session: SessionId) -> bool {
        self.sessions.get(session.index as usize).is_some_and(|known| known.speaks_json)
    }

    pub(super) fn forget_bodies(&mut self) {
        self.bodies.forget();
    }

    /// Takes note of a message that was good. Whether it was generic.
    pub(super) fn note_good(&mut self, session: SessionId, class: MsgClass) {
        if let Some(known) = self.sessions.get_mut(session.index as usize) {
            known.faults = 0;
            known.takes_generics |= class == MsgClass::Generic;
        }
    }

    /// Takes note of one that was not; how many in a row that makes.
    pub(super) fn note_fault(&mut self, session: SessionId) -> u32 {
        self.faults += 1;
        let Some(known) = self.sessions.get_mut(session.index as usize) else { return 0 };
        known.faults = known.faults.saturating_add(1);
        known.faults
    }

    pub(super) fn count(&self, statistics: &mut Statistics) {
        statistics.json_mounts = self.json_mounts;
        statistics.json_converted = self.converted;
        statistics.json_shared = self.shared;
        statistics.json_unwritable = self.unwritable;
        statistics.json_fields_left_out = self.to_json.left_out();
        statistics.json_faults = self.faults;
    }
}

/// Outputs with words for everybody.
pub(super) struct JsonOutputs<'a, O> {
    out: &'a mut O,
    pub(super) writer: &'a mut Writer,
    names: &'a Names,
    /// What sessions that are closed are closed with.
    pub(super) close_code: u16,
}

impl<'a, O> JsonOutputs<'a, O> {
    pub(super) const fn new(out: &'a mut O, writer: &'a mut Writer, names: &'a Names) -> Self {
        Self { out, writer, names, close_code: close_code::NORMAL }
    }
}

impl<O: Outputs> JsonOutputs<'_, O> {
    /// Sends what is the same for all who get it behind their `ID`, converted
    /// if it was not before.
    fn send_body(
        &mut self,
        session: SessionId,
        stream_id: i32,
        (rwf, domain): (&[u8], Domain),
        shared: &mut Shared,
    ) -> Sent {
        let Writer { to_json, bodies, prefix, converted, shared: found, max_image_bytes, .. } =
            &mut *self.writer;
        let place = match bodies.find(rwf, domain == Domain::DICTIONARY) {
            Found::Body(place) => {
                *found += 1;
                place
            }
            Found::Room(place) => {
                let (names, max) = (self.names, *max_image_bytes);
                let written = bodies.fill(place, rwf, |json| {
                    // It hardly gets shorter.
                    if rwf.len() <= max {
                        to_json.message_body(rwf, names, json)?;
                    }
                    match rwf.len().max(json.len()) {
                        bytes if bytes > max => Err(Unsaid::TooLong { bytes, max }),
                        _ => Ok(()),
                    }
                });
                if let Err(error) = written {
                    return self.send_unwritable(session, stream_id, rwf, &error);
                }
                *converted += 1;
                place
            }
        };
        *shared = bodies.shared(place);
        let Some(body) = bodies.at(shared) else { return Sent::Queued };
        self.out.send_json(session, &[prefix.of(stream_id), body], false)
    }

    /// Something that not everybody gets like this.
    #[cold]
    fn send_single(&mut self, session: SessionId, stream_id: i32, rwf: &[u8]) -> Sent {
        let Ok(msg) = Msg::decode(rwf) else { return Sent::Queued };
        let (domain, mut text) = (msg.domain(), String::new());
        let (msg, payload) = match msg {
            Msg::Refresh(refresh) if domain == Domain::LOGIN => {
                let has_payload = refresh.payload.data_type() != DataType::NO_DATA;
                (Msg::Refresh(refresh), !has_payload)
            }
            Msg::Status(status) if domain == Domain::LOGIN => {
                (refused_login(status, &mut text).into(), false)
            }
            Msg::Ack(ack) => {
                let nak_code = ack.nak_code.filter(|code| *code != NakCode::NONE);
                (AckMsg { nak_code, ..ack }.into(), false)
            }
            other => (other, false),
        };
        let Writer { to_json, prefix, text, login_payload, .. } = &mut *self.writer;
        text.clear();
        if let Err(error) = to_json.msg_body(&msg, self.names, text) {
            return self.send_unwritable(session, stream_id, rwf, &error.into());
        }
        if payload {
            // In place of the closing brace.
            text.pop();
            text.extend_from_slice(login_payload.as_bytes());
        }
        self.out.send_json(session, &[prefix.of(stream_id), text], domain == Domain::LOGIN)
    }

    /// A message that cannot be said in JSON. An image is missed by its client,
    /// which is told.
    #[cold]
    fn send_unwritable(
        &mut self,
        session: SessionId,
        stream_id: i32,
        rwf: &[u8],
        error: &Unsaid,
    ) -> Sent {
        self.writer.unwritable += 1;
        let Ok(Msg::Refresh(RefreshMsg { domain, state, .. })) = Msg::decode(rwf) else {
            return Sent::Queued;
        };
        let text = error.to_string();
        let state = State { data: DataState::SUSPECT, text: text.as_bytes(), ..state };
        let status = StatusMsg { state: Some(state), ..StatusMsg::new(domain, stream_id) };
        let Writer { to_json, prefix, text, .. } = &mut *self.writer;
        text.clear();
        if to_json.msg_body(&status.into(), self.names, text).is_err() {
            return Sent::Queued;
        }
        self.out.send_json(session, &[prefix.of(stream_id), text], false)
    }

    fn speak(
        &mut self,
        session: SessionId,
        stream_id: i32,
        rwf: &[u8],
        shared: &mut Shared,
    ) -> Sent {
        let Ok(head) = MsgHeader::decode(rwf) else { return Sent::Queued };
        match head.class {
            _ if head.domain == Domain::LOGIN => self.send_single(session, stream_id, rwf),
            MsgClass::Ack => self.send_single(session, stream_id, rwf),
            MsgClass::Generic if !self.takes_generics(session) => Sent::Queued,
            _ => self.send_body(session, stream_id, (rwf, head.domain), shared),
        }
    }

    fn takes_generics(&self, session: SessionId) -> bool {
        let known = self.writer.sessions.get(session.index as usize);
        known.is_some_and(|known| known.takes_generics)
    }
}

impl<O: Outputs> Outputs for JsonOutputs<'_, O> {
    #[inline]
    fn send(&mut self, session: SessionId, message: &[u8]) -> Sent {
        if !self.writer.speaks_json(session) {
            return self.out.send(session, message);
        }
        match MsgHeader::decode(message) {
            Ok(head) => self.speak(session, head.stream_id, message, &mut Shared::default()),
            Err(_) => Sent::Queued,
        }
    }

    #[inline]
    fn send_on(&mut self, session: SessionId, stream_id: i32, message: &[u8]) -> Sent {
        match self.writer.speaks_json(session) {
            false => self.out.send_on(session, stream_id, message),
            true => self.speak(session, stream_id, message, &mut Shared::default()),
        }
    }

    #[inline]
    fn send_shared(
        &mut self,
        session: SessionId,
        stream_id: i32,
        message: &[u8],
        shared: &mut Shared,
    ) -> Sent {
        if !self.writer.speaks_json(session) {
            return self.out.send_on(session, stream_id, message);
        }
        let Writer { bodies, prefix, shared: found, .. } = &mut *self.writer;
        let Some(body) = bodies.at(shared) else {
            return self.speak(session, stream_id, message, shared);
        };
        *found += 1;
        self.out.send_json(session, &[prefix.of(stream_id), body], false)
    }

    #[inline]
    fn credit(&mut self, session: SessionId) -> usize {
        match self.writer.speaks_json(session) {
            false => self.out.credit(session),
            true => 0,
        }
    }

    #[inline]
    fn send_copies(
        &mut self,
        session: SessionId,
        originals: &Originals,
        copies: &[CopyOf],
    ) -> usize {
        self.out.send_copies(session, originals, copies)
    }

    fn send_json(&mut self, session: SessionId, pieces: &[&[u8]], alone: bool) -> Sent {
        self.out.send_json(session, pieces, alone)
    }

    fn admit(&mut self, session: SessionId) {
        self.out.admit(session);
    }

    fn keeps_records(&self) -> bool {
        self.out.keeps_records()
    }

    fn record(&mut self, usage: &Usage<'_>) {
        self.out.record(usage);
    }

    fn allow(&mut self, session: SessionId, bytes: usize) {
        self.out.allow(session, bytes);
    }

    fn close(&mut self, session: SessionId, reason: &str) {
        match self.writer.speaks_json(session) {
            false => self.out.close(session, reason),
            true => self.out.close_json(session, self.close_code, reason),
        }
    }

    fn note(&mut self, note: Note<'_>) {
        self.out.note(note);
    }

    fn ask_login(&mut self, question: LoginQuestion) -> bool {
        self.out.ask_login(question)
    }

    fn hold(&mut self, session: SessionId, is_held: bool) {
        self.out.hold(session, is_held);
    }

    fn publish(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published {
        self.out.publish(header, parts)
    }

    fn is_congested(&self) -> bool {
        self.out.is_congested()
    }
}

/// A refused login in the words that clients look for.
fn refused_login<'t>(status: StatusMsg<'t>, words: &'t mut String) -> StatusMsg<'t> {
    let Some(state) = status.state else { return status };
    let is_refusal = matches!(state.stream, StreamState::CLOSED | StreamState::CLOSED_RECOVER);
    if !is_refusal || state.text.starts_with(REJECTED.as_bytes()) {
        return status;
    }
    *words = format!("{REJECTED} {}", String::from_utf8_lossy(state.text));
    let state = State { stream: StreamState::CLOSED, text: words.as_bytes(), ..state };
    StatusMsg { state: Some(state), ..status }
}
