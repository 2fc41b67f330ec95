//! Consumers that keep nothing but counts: millions of streams must not weigh
//! more than what is measured.

use std::net::SocketAddr;
use std::ops::Range;
use std::time::Duration;

use tapeline_channel::{
    ConnectConfig, Outbox, Reactor, ReactorConfig, Sent, SessionEvent, SessionId, SocketOptions,
};
use tapeline_omm::directory::{Directory, DirectoryFilter, DirectoryMsg, DirectoryRequest};
use tapeline_omm::login::LoginRequest;
use tapeline_omm::market::{ItemRequest, RequestPayload};
use tapeline_rwf::{
    DataState, Domain, EncodeError, Encoder, Msg, MsgClass, MsgHeader, MsgKey, RefreshFlags,
    StreamState,
};
use tapeline_time::Time;

use crate::Failure;
use crate::source::service_name;

/// Names in one request.
const BATCH: usize = 1_000;

const LOGIN: i32 = 1;
const DIRECTORY: i32 = 2;
/// The stream of the first batch.
const FIRST_BATCH: i32 = 10;

/// What came to all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    /// Images, those that came again counted.
    pub(crate) images: u64,
    pub(crate) updates: u64,
    /// Statuses that left an item open, and suspect.
    pub(crate) suspect: u64,
    /// Statuses that ended an item.
    pub(crate) ended: u64,
    /// Connections that ended although nobody here wanted it.
    pub(crate) cut: u64,
}

/// Where items are: which service has which.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Universe {
    pub(crate) services: usize,
    pub(crate) items_per_service: usize,
}

impl Universe {
    /// Items of one service from this one on, at most so many.
    fn run(self, items: Range<usize>) -> (usize, Range<usize>) {
        let service = items.start / self.items_per_service;
        let end = items.end.min((service + 1) * self.items_per_service).min(items.start + BATCH);
        (service, items.start..end)
    }
}

/// Consumers on one loop.
pub(crate) struct Clients {
    reactor: Reactor,
    server: SocketAddr,
    universe: Universe,
    connect: ConnectConfig,
    all: Vec<Client>,
    /// Clients by the place of their session.
    by_session: Vec<usize>,
    tally: Tally,
    buffer: Vec<u8>,
}

struct Client {
    session: SessionId,
    /// Items that are still to be asked for.
    left: Range<usize>,
    next_stream: i32,
    /// Until all is asked for.
    directory: Option<Box<Directory>>,
}

impl Clients {
    /// None yet. `receive_bytes` is how much the kernel holds for each that
    /// does not read.
    pub(crate) fn of(
        server: SocketAddr,
        universe: Universe,
        receive_bytes: Option<usize>,
    ) -> Result<Self, Failure> {
        let mut connect = ConnectConfig::default();
        connect.session.socket =
            SocketOptions { recv_buffer_bytes: receive_bytes, ..SocketOptions::default() };
        Ok(Self {
            reactor: Reactor::new(ReactorConfig::default())?,
            server,
            universe,
            connect,
            all: Vec::new(),
            by_session: Vec::new(),
            tally: Tally::default(),
            buffer: vec![0; 1 << 17],
        })
    }

    /// One more client, which asks for these items.
    pub(crate) fn add(&mut self, items: Range<usize>) {
        let (host, port) = (self.server.ip().to_string(), self.server.port());
        let session = self.reactor.connect(&host, port, &self.connect);
        let place = session.index as usize;
        if self.by_session.len() <= place {
            self.by_session.resize(place + 1, usize::MAX);
        }
        self.by_session[place] = self.all.len();
        let directory = Some(Box::default());
        self.all.push(Client { session, left: items, next_stream: FIRST_BATCH, directory });
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Reads and writes what there is.
    pub(crate) fn poll(&mut self, now: Time) {
        let Self { reactor, all, by_session, tally, buffer, universe, .. } = self;
        reactor.poll(now, Some(Duration::ZERO), |event, outbox| match event {
            SessionEvent::Opened { session, .. } => {
                let login = LoginRequest::new(LOGIN, format!("turns-{}", session.index));
                send(outbox, session, buffer, |encoder| login.encode(encoder));
            }
            SessionEvent::Message { session, bytes } => {
                let Some(client) =
                    by_session.get(session.index as usize).and_then(|at| all.get_mut(*at))
                else {
                    return;
                };
                let Ok(header) = MsgHeader::decode(bytes) else { return };
                match header.domain {
                    Domain::LOGIN if header.class == MsgClass::Refresh => {
                        let request = DirectoryRequest::new(DIRECTORY, DirectoryFilter::USUAL);
                        send(outbox, session, buffer, |encoder| request.encode(encoder));
                    }
                    Domain::SOURCE => client.services(bytes, *universe, outbox, buffer),
                    _ => tally.count(&header, bytes),
                }
            }
            SessionEvent::Closed { .. } => tally.cut += 1,
            _ => {}
        });
    }
}

impl Client {
    /// Asks for its items once all services are known.
    fn services(
        &mut self,
        bytes: &[u8],
        universe: Universe,
        outbox: &mut Outbox<'_>,
        buffer: &mut [u8],
    ) {
        let Some(directory) = &mut self.directory else { return };
        let Ok(msg) = Msg::decode(bytes) else { return };
        match DirectoryMsg::decode(&msg) {
            Ok(DirectoryMsg::Refresh(refresh)) => drop(directory.apply_refresh(&refresh)),
            Ok(DirectoryMsg::Update(update)) => drop(directory.apply_update(&update)),
            _ => return,
        }
        if directory.services().filter(|(_, service)| service.is_usable()).count()
            < universe.services
        {
            return;
        }
        while !self.left.is_empty() {
            let (service, run) = universe.run(self.left.clone());
            let id = directory.service_id(service_name(service).as_bytes());
            let names: Vec<String> = run.clone().map(|item| format!("I{item:06}")).collect();
            let names: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
            let key = MsgKey { service_id: id, ..MsgKey::EMPTY };
            let request = ItemRequest::new(Domain::MARKET_PRICE, self.next_stream, key);
            let payload = RequestPayload { items: Some(&names), ..RequestPayload::NONE };
            send(outbox, self.session, buffer, |encoder| request.encode(encoder, &payload));
            self.next_stream += names.len() as i32 + 1;
            self.left.start = run.end;
        }
        self.directory = None;
    }
}

impl Tally {
    fn count(&mut self, header: &MsgHeader, bytes: &[u8]) {
        match header.class {
            MsgClass::Update => self.updates += 1,
            MsgClass::Refresh => {
                let is_whole = RefreshFlags::from_bits_retain(header.flags)
                    .contains(RefreshFlags::REFRESH_COMPLETE);
                self.images += u64::from(is_whole);
            }
            MsgClass::Status => {
                let Ok(Msg::Status(status)) = Msg::decode(bytes) else { return };
                let Some(state) = status.state else { return };
                let is_suspect = state.data == DataState::SUSPECT;
                self.suspect += u64::from(is_suspect && state.stream == StreamState::OPEN);
                self.ended += u64::from(is_suspect && state.stream != StreamState::OPEN);
            }
            _ => {}
        }
    }
}

fn send(
    outbox: &mut Outbox<'_>,
    session: SessionId,
    buffer: &mut [u8],
    write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>,
) {
    let mut encoder = Encoder::new(buffer);
    let written = write(&mut encoder).and_then(|()| encoder.finish_bytes());
    let bytes = written.expect("a request of a thousand names has room");
    let sent = outbox.send(session, bytes);
    debug_assert!(sent != Sent::Full, "requests are far below the limit");
}
