//! A provider without sockets: what clients do goes in; messages and events
//! come out.

use std::collections::{BTreeMap, HashMap, VecDeque};

use tapeline_channel::{Sent, SessionId};
use tapeline_omm::dictionary::Verbosity;
use tapeline_omm::directory::{Directory, DirectoryRequest, DirectoryUpdate};
use tapeline_omm::login::LoginRequest;
use tapeline_omm::stream::ProviderStream;
use tapeline_omm::view::View;
use tapeline_omm::{ItemKey, Scratch, Text};
use tapeline_rwf::{EncodeError, Encoder, Msg};

use super::config::ProviderConfig;
use super::dictionary::DictionaryJob;
use super::event::{ProviderEvent, ProviderHandler, StreamHandle};
use super::responses::Responses;
use crate::slab::Slab;
use crate::{MAX_MESSAGE_BYTES, ProviderCounters};

/// What a provider has done: implemented by whoever has the connections.
pub trait ProviderOutputs {
    /// Send a message to a client.
    fn send(&mut self, client: SessionId, message: &[u8]) -> Sent;
    /// Send a copy of a message with this stream id.
    fn send_on(&mut self, client: SessionId, stream_id: i32, message: &[u8]) -> Sent;
    /// Close the connection of a client. It is answered by
    /// [`ProviderInput::Closed`].
    fn close(&mut self, client: SessionId, reason: &str);
}

/// What happens to a provider.
#[derive(Clone, Copy, Debug)]
pub enum ProviderInput<'a> {
    /// A client connected.
    Opened(SessionId),
    /// A message came from it.
    Message(SessionId, &'a [u8]),
    /// It was slow, and has read what was queued.
    Drained(SessionId),
    /// It is gone.
    Closed(SessionId, &'a str),
}

/// One client.
#[derive(Debug)]
pub(super) struct Client {
    pub(super) session: SessionId,
    pub(super) login: Option<LoginRequest>,
    /// Directory streams.
    pub(super) directories: Vec<DirectoryRequest>,
    /// Dictionaries on their way.
    pub(super) jobs: VecDeque<DictionaryJob>,
    pub(super) streams: BTreeMap<i32, StreamHandle>,
    pub(super) by_key: HashMap<ItemKey, StreamHandle>,
}

/// One stream of a client.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts about the stream")]
#[allow(clippy::struct_field_names, reason = "as it is called on the wire")]
pub(super) struct Stream {
    pub(super) client: SessionId,
    pub(super) stream_id: i32,
    pub(super) rules: ProviderStream,
    /// The client paused all its streams by its login.
    pub(super) is_held: bool,
    pub(super) streaming: bool,
    pub(super) private: bool,
    pub(super) key_in_updates: bool,
    pub(super) view: Option<Box<View>>,
    pub(super) name: Text,
    pub(super) key: ItemKey,
}

/// Why a client is cut off.
const CUT_OFF: &str = "the client reads too slowly: its backlog is full";

/// The logic of a [`Provider`](super::Provider). It needs no time.
#[derive(Debug)]
pub struct ProviderCore {
    pub(super) config: ProviderConfig,
    pub(super) directory: Directory,
    /// By the index of their session.
    clients: Vec<Option<Box<Client>>>,
    pub(super) streams: Slab<Stream>,
    pub(super) scratch: Scratch,
    /// Messages cut down to a view.
    pub(super) cut_down: Scratch,
    /// Encoded dictionaries, by type and verbosity.
    pub(super) dictionary_parts: BTreeMap<(i64, Verbosity), Vec<Box<[u8]>>>,
    /// Totals; what there is now is looked up when it is asked for.
    pub(super) counts: ProviderCounters,
}

impl ProviderCore {
    /// A provider without clients.
    pub fn new(mut config: ProviderConfig) -> Self {
        let mut directory = Directory::default();
        let services = core::mem::take(&mut config.services);
        // What is refused is not offered; the application sees it missing.
        let _ = directory.apply_update(&DirectoryUpdate::new(0, services));
        Self {
            config,
            directory,
            clients: Vec::new(),
            streams: Slab::new(),
            scratch: Scratch::new(MAX_MESSAGE_BYTES),
            cut_down: Scratch::new(MAX_MESSAGE_BYTES),
            dictionary_parts: BTreeMap::new(),
            counts: ProviderCounters::default(),
        }
    }

    /// Messages that could not be read and were left out.
    pub const fn malformed_messages(&self) -> u64 {
        self.counts.malformed
    }

    /// What it has done so far, and what there is now.
    pub fn counters(&self) -> ProviderCounters {
        ProviderCounters {
            clients: self.clients.iter().flatten().count(),
            streams: self.streams.len(),
            ..self.counts
        }
    }

    /// Something happened.
    #[inline]
    pub fn handle(
        &mut self,
        input: ProviderInput<'_>,
        out: &mut dyn ProviderOutputs,
        handler: &mut dyn ProviderHandler,
    ) {
        let mut run = Run { core: self, out, handler };
        match input {
            ProviderInput::Message(client, bytes) => run.message(client, bytes),
            ProviderInput::Opened(client) => run.opened(client),
            ProviderInput::Drained(client) => {
                run.core.advance_jobs(run.out, client);
                run.tell(ProviderEvent::Drained { client });
            }
            ProviderInput::Closed(client, reason) => run.closed(client, reason),
        }
    }

    /// What can be sent now.
    pub fn responses<'c>(&'c mut self, out: &'c mut dyn ProviderOutputs) -> Responses<'c> {
        Responses::new(self, out)
    }

    pub(super) fn client(&self, session: SessionId) -> Option<&Client> {
        let client = self.clients.get(session.index as usize)?.as_deref()?;
        (client.session == session).then_some(client)
    }

    pub(super) fn client_mut(&mut self, session: SessionId) -> Option<&mut Client> {
        let client = self.clients.get_mut(session.index as usize)?.as_deref_mut()?;
        (client.session == session).then_some(client)
    }

    pub(super) fn sessions(&self) -> Vec<SessionId> {
        self.clients.iter().flatten().map(|client| client.session).collect()
    }

    /// Sends a message of the provider's own. A client that does not take it is
    /// cut off: it would wait for it forever.
    pub(super) fn send(
        &mut self,
        out: &mut dyn ProviderOutputs,
        session: SessionId,
        write: impl Fn(&mut Encoder<'_>) -> Result<(), EncodeError>,
    ) {
        let sent = match self.scratch.encode(write) {
            Ok(message) => out.send(session, message),
            Err(_) => Sent::TooLarge,
        };
        if matches!(sent, Sent::Full | Sent::TooLarge) {
            self.cut_off(out, session);
        }
    }

    /// Closes the connection of a client that does not take what it must have.
    pub(super) fn cut_off(&mut self, out: &mut dyn ProviderOutputs, session: SessionId) {
        self.counts.cut_off += 1;
        out.close(session, CUT_OFF);
    }

    /// Forgets a stream.
    pub(super) fn forget(&mut self, handle: StreamHandle) {
        let Some(stream) = self.streams.remove(handle.0) else { return };
        if let Some(client) = self.client_mut(stream.client) {
            client.streams.remove(&stream.stream_id);
            if client.by_key.get(&stream.key) == Some(&handle) {
                client.by_key.remove(&stream.key);
            }
        }
    }
}

/// The core at work on one input.
pub(super) struct Run<'r> {
    pub(super) core: &'r mut ProviderCore,
    pub(super) out: &'r mut dyn ProviderOutputs,
    pub(super) handler: &'r mut dyn ProviderHandler,
}

impl Run<'_> {
    #[inline]
    pub(super) fn tell(&mut self, event: ProviderEvent<'_>) {
        let mut responses = Responses::new(self.core, self.out);
        self.handler.event(event, &mut responses);
    }

    fn opened(&mut self, session: SessionId) {
        let index = session.index as usize;
        if self.core.clients.len() <= index {
            self.core.clients.resize_with(index + 1, || None);
        }
        self.core.clients[index] = Some(Box::new(Client {
            session,
            login: None,
            directories: Vec::new(),
            jobs: VecDeque::new(),
            streams: BTreeMap::new(),
            by_key: HashMap::new(),
        }));
        self.core.counts.connected += 1;
        self.tell(ProviderEvent::Connected { client: session });
    }

    fn closed(&mut self, session: SessionId, reason: &str) {
        if self.core.client(session).is_none() {
            return;
        }
        self.close_all(session);
        self.core.clients[session.index as usize] = None;
        self.tell(ProviderEvent::Disconnected { client: session, reason });
    }

    /// All streams of a client are over.
    pub(super) fn close_all(&mut self, session: SessionId) {
        let Some(client) = self.core.client_mut(session) else { return };
        client.directories.clear();
        client.jobs.clear();
        let handles: Vec<_> = client.streams.values().copied().collect();
        for handle in handles {
            self.over(handle);
        }
    }

    /// A stream is over, by the client.
    pub(super) fn over(&mut self, handle: StreamHandle) {
        let Some(stream) = self.core.streams.get_mut(handle.0) else { return };
        stream.rules.close();
        self.tell(ProviderEvent::Close { stream: handle });
        self.core.forget(handle);
    }

    #[inline]
    fn message(&mut self, client: SessionId, bytes: &[u8]) {
        let Ok(msg) = Msg::decode(bytes) else {
            self.core.counts.malformed += 1;
            return;
        };
        self.incoming(client, &msg);
    }
}
