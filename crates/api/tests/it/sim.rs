//! A consumer, its server simulated in memory, message by message.

use std::time::Duration;

use tapeline_api::{
    ConsumerConfig, ConsumerCore, ConsumerEvent, ConsumerInput, ConsumerOutputs, Handle, ItemSpec,
    Login, Requests, Server, ServiceSpec,
};
use tapeline_channel::Sent;
use tapeline_omm::directory::{
    Directory, DirectoryFilter, DirectoryRequest, DirectoryUpdate, FilterEntry, ServiceEntry,
};
use tapeline_omm::login::LoginRefresh;
use tapeline_omm::market::{Part, image};
use tapeline_rwf::{Domain, EncodeError, Encoder, Msg, RequestFlags, RequestMsg, State};
use tapeline_time::Time;

#[derive(Debug, Default)]
pub(crate) struct Wire {
    pub(crate) dialled: Vec<usize>,
    pub(crate) sent: Vec<Vec<u8>>,
    pub(crate) disconnected: Vec<String>,
    /// Nothing is taken.
    pub(crate) is_full: bool,
    /// From so many messages on, of those that were not looked at, it is slow.
    pub(crate) slow_at: Option<usize>,
    /// So many messages, not looked at, are all that it takes.
    pub(crate) full_at: Option<usize>,
    /// Batches are no longer than this, in bytes.
    pub(crate) longest: Option<usize>,
    /// Messages are no longer than this, in bytes.
    pub(crate) longest_message: Option<usize>,
}

impl ConsumerOutputs for Wire {
    fn connect(&mut self, server: usize) {
        self.dialled.push(server);
    }

    fn send(&mut self, message: &[u8]) -> Sent {
        if self.longest.is_some_and(|most| message.len() > most && is_batch(message)) {
            return Sent::TooLarge;
        }
        if self.longest_message.is_some_and(|most| message.len() > most) {
            return Sent::TooLarge;
        }
        if self.is_full || self.full_at.is_some_and(|most| self.sent.len() >= most) {
            return Sent::Full;
        }
        self.sent.push(message.to_vec());
        match self.slow_at.is_some_and(|most| self.sent.len() >= most) {
            true => Sent::Slow,
            false => Sent::Queued,
        }
    }

    fn disconnect(&mut self, reason: &str) {
        self.disconnected.push(reason.to_owned());
    }
}

fn is_batch(message: &[u8]) -> bool {
    let msg = Msg::decode(message);
    matches!(msg, Ok(Msg::Request(request)) if request.flags.contains(RequestFlags::HAS_BATCH))
}

/// A consumer, and all that it was told.
pub(crate) struct Sim {
    pub(crate) core: ConsumerCore,
    pub(crate) wire: Wire,
    pub(crate) told: Vec<String>,
    pub(crate) now: Time,
    /// The open window of the service.
    pub(crate) window: Option<u64>,
}

pub(crate) fn text(state: State<'_>) -> String {
    tapeline_omm::state::MessageApiText(state).to_string()
}

pub(crate) fn in_words(event: ConsumerEvent<'_>) -> Option<String> {
    let index = |handle: Handle| handle.index();
    Some(match event {
        ConsumerEvent::Up { server } => format!("up {server}"),
        ConsumerEvent::Down { server, reason, .. } => format!("down {server}: {reason}"),
        ConsumerEvent::Ready => "ready".to_owned(),
        ConsumerEvent::Directory { changes } => format!("{} directory changes", changes.len()),
        ConsumerEvent::Refresh { handle, msg } => {
            format!("{}: refresh {}", index(handle), text(msg.state))
        }
        ConsumerEvent::Update { handle, .. } => format!("{}: update", index(handle)),
        ConsumerEvent::Status { handle, msg } => {
            format!("{}: {}", index(handle), msg.state.map(text).unwrap_or_default())
        }
        ConsumerEvent::Ack { msg, handle } => format!(
            "{}: ack {} {}",
            handle.map_or_else(|| "login".to_owned(), |handle| index(handle).to_string()),
            msg.ack_id,
            msg.text.map(String::from_utf8_lossy).unwrap_or_default()
        ),
        ConsumerEvent::Active { .. }
        | ConsumerEvent::LeftOut { .. }
        | ConsumerEvent::Login { .. }
        | ConsumerEvent::Dictionary { .. }
        | ConsumerEvent::Generic { .. } => return None,
    })
}

pub(crate) fn encoded(write: impl FnOnce(&mut Encoder<'_>) -> Result<(), EncodeError>) -> Vec<u8> {
    let mut buffer = vec![0; 8192];
    let mut encoder = Encoder::new(&mut buffer);
    write(&mut encoder).expect("valid");
    encoder.finish_bytes().expect("room").to_vec()
}

pub(crate) fn directory(window: Option<u64>) -> Directory {
    let mut directory = Directory::default();
    let service = ServiceSpec::new(1, "FEED");
    let service = window.map_or(service.clone(), |window| service.open_window(window));
    let services = vec![service.entry()];
    let _ = directory.apply_update(&DirectoryUpdate::new(2, services));
    directory
}

impl Sim {
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut ConsumerConfig)) -> Self {
        let servers = [Server::new("a", 1), Server::new("b", 1)];
        let mut config = ConsumerConfig::new(servers, Login::new("user"));
        change(&mut config);
        let core = ConsumerCore::new(config);
        Self { core, wire: Wire::default(), told: Vec::new(), now: Time::ZERO, window: None }
    }

    pub(crate) fn input(&mut self, input: ConsumerInput<'_>) {
        let told = &mut self.told;
        let mut note =
            |event: ConsumerEvent<'_>, _: &mut Requests<'_>| told.extend(in_words(event));
        self.core.handle(self.now, input, &mut self.wire, &mut note);
    }

    pub(crate) fn message(&mut self, message: &[u8]) {
        self.input(ConsumerInput::Message(message));
    }

    pub(crate) fn msg<'m>(&mut self, msg: impl Into<Msg<'m>>) {
        let msg = msg.into();
        let bytes = encoded(|encoder| encoder.message(&msg));
        self.message(&bytes);
    }

    pub(crate) fn time(&mut self) {
        let told = &mut self.told;
        let mut note =
            |event: ConsumerEvent<'_>, _: &mut Requests<'_>| told.extend(in_words(event));
        self.core.handle_timeout(self.now, &mut self.wire, &mut note);
    }

    pub(crate) fn after(&mut self, wait: Duration) {
        self.now = self.now.after(wait);
        self.time();
    }

    pub(crate) fn ask<R>(&mut self, ask: impl FnOnce(&mut Requests<'_>) -> R) -> R {
        let asked = ask(&mut self.core.requests(self.now, &mut self.wire));
        self.time();
        asked
    }

    pub(crate) fn open(&mut self, name: &str) -> Handle {
        self.ask(|requests| requests.open(&ItemSpec::new("FEED", name))).expect("room")
    }

    /// Logs in, with what the provider can do.
    pub(crate) fn log_in(&mut self, change: impl FnOnce(&mut LoginRefresh)) {
        self.time();
        self.input(ConsumerInput::Opened);
        let login = self.wire.sent.pop().expect("a login");
        let Ok(Msg::Request(login)) = Msg::decode(&login) else { panic!("a login") };
        let login = tapeline_omm::login::LoginRequest::decode(&login).expect("a login");
        let mut refresh = LoginRefresh::accept(&login, "");
        change(&mut refresh);
        let bytes = encoded(|encoder| refresh.encode(encoder));
        self.message(&bytes);
    }

    pub(crate) fn ready(&mut self) {
        self.ready_with(|_| {});
    }

    pub(crate) fn ready_with(&mut self, change: impl FnOnce(&mut LoginRefresh)) {
        self.log_in(change);
        let request = self.wire.sent.pop().expect("a directory request");
        let Ok(Msg::Request(request)) = Msg::decode(&request) else { panic!("a request") };
        let request = DirectoryRequest::decode(&request).expect("a directory request");
        assert!(request.streaming && request.filter == DirectoryFilter::USUAL);
        let refresh = directory(self.window).refresh(&request, &State::open_ok(""));
        let bytes = encoded(|encoder| refresh.encode(encoder));
        self.message(&bytes);
    }

    pub(crate) fn service(&mut self, filter: FilterEntry) {
        let update = DirectoryUpdate::new(2, vec![ServiceEntry::update(1, vec![filter])]);
        let bytes = encoded(|encoder| update.encode(encoder));
        self.message(&bytes);
    }

    pub(crate) fn image(&mut self, stream_id: i32) {
        self.msg(image(Domain::MARKET_PRICE, stream_id, None, true, Part::ONLY));
    }

    pub(crate) fn told(&mut self) -> Vec<String> {
        core::mem::take(&mut self.told)
    }

    /// The server reads all that was sent, and the connection has drained. What
    /// it read.
    pub(crate) fn drain(&mut self) -> Vec<String> {
        let read = self.sent();
        self.input(ConsumerInput::Drained);
        read
    }

    /// What was sent since the last look.
    pub(crate) fn sent(&mut self) -> Vec<String> {
        let sent = core::mem::take(&mut self.wire.sent);
        sent.iter().map(|bytes| describe(&Msg::decode(bytes).expect("a message"))).collect()
    }
}

pub(crate) fn describe(msg: &Msg<'_>) -> String {
    let name = msg.key().and_then(|key| key.name).map(String::from_utf8_lossy);
    let mut line = format!("{} {}", msg.class(), msg.stream_id());
    if let Some(name) = name {
        line = format!("{line} {name}");
    }
    if let Msg::Request(RequestMsg { flags, .. }) = msg {
        for (flag, word) in [
            (RequestFlags::PAUSE, "pause"),
            (RequestFlags::NO_REFRESH, "no-refresh"),
            (RequestFlags::HAS_BATCH, "batch"),
            (RequestFlags::HAS_VIEW, "view"),
        ] {
            if flags.contains(flag) {
                line = format!("{line} {word}");
            }
        }
    }
    line
}
