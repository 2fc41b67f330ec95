//! A provider, or several, and a consumer on loopback sockets in one thread.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, Flow, Handle, Login, Provider, ProviderConfig,
    ProviderEvent, ReconnectPolicy, RefreshHead, Requests, Responses, Server, ServiceSpec,
    StreamHandle,
};
use tapeline_rwf::{DataType, Domain, Encoded, Real};

/// How long a test may take before it has failed.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long one poll waits, so that nobody is starved.
const TURN: Duration = Duration::from_millis(1);

pub(crate) const BID: i16 = 22;
pub(crate) const ASK: i16 = 25;

/// Where a provider of this system can be reached.
pub(crate) fn server(address: SocketAddr) -> Server {
    Server::new(address.ip().to_string(), address.port())
}

pub(crate) fn service() -> ServiceSpec {
    ServiceSpec::new(1, "FEED").domain(Domain::MARKET_BY_ORDER)
}

/// A provider at a free port.
pub(crate) fn provider(config: ProviderConfig) -> (Provider, Server) {
    let mut provider = Provider::new(config).expect("sockets");
    let address = provider.listen(([127, 0, 0, 1], 0).into()).expect("a free port");
    (provider, server(address))
}

/// A consumer that tries again at once.
pub(crate) fn config(servers: impl IntoIterator<Item = Server>) -> ConsumerConfig {
    ConsumerConfig {
        reconnect: ReconnectPolicy {
            first_delay: Duration::from_millis(1),
            max_delay: Duration::from_millis(1),
            max_attempts: None,
        },
        ..ConsumerConfig::new(servers, Login::new("user"))
    }
}

pub(crate) fn consumer(config: ConsumerConfig) -> Consumer {
    Consumer::new(config).expect("sockets")
}

/// What a consumer was told, in words.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) events: Vec<Told>,
    /// For each image, or part of one, whether it clears what was there.
    pub(crate) clearing: Vec<bool>,
}

/// One event of an item.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Told {
    Refresh { handle: Handle, state: String, solicited: bool, fields: Vec<(i16, String)> },
    Update { handle: Handle, fields: Vec<(i16, String)> },
    Status { handle: Handle, state: String },
    Generic { handle: Option<Handle>, payload: Vec<u8> },
    Ack { handle: Option<Handle>, id: u32, nak: Option<String> },
    Login(String),
    Down { server: usize },
    Active { server: usize, service: Option<String> },
    LeftOut { server: usize, reason: String },
    Ready,
    Dictionary { fields: usize, tables: usize },
}

pub(crate) fn state_text(state: tapeline_rwf::State<'_>) -> String {
    tapeline_omm::state::MessageApiText(state).to_string()
}

/// The fields of a payload, all taken as reals.
pub(crate) fn fields_of(payload: &Encoded<'_>) -> Vec<(i16, String)> {
    if payload.data_type() != DataType::FIELD_LIST {
        return Vec::new();
    }
    let list = payload.field_list().expect("a field list");
    list.iter()
        .map(|entry| {
            let entry = entry.expect("well-formed");
            let value = entry.typed(DataType::REAL).real().expect("a real").expect("not blank");
            (entry.field_id, value.to_string())
        })
        .collect()
}

impl Log {
    pub(crate) fn note(&mut self, event: ConsumerEvent<'_>) {
        if let ConsumerEvent::Refresh { msg, .. } = &event {
            self.clearing.push(msg.flags.contains(tapeline_rwf::RefreshFlags::CLEAR_CACHE));
        }
        self.events.push(match event {
            ConsumerEvent::Refresh { handle, msg } => Told::Refresh {
                handle,
                state: state_text(msg.state),
                solicited: msg.flags.contains(tapeline_rwf::RefreshFlags::SOLICITED),
                fields: fields_of(&msg.payload),
            },
            ConsumerEvent::Update { handle, msg } => {
                Told::Update { handle, fields: fields_of(&msg.payload) }
            }
            ConsumerEvent::Status { handle, msg } => {
                Told::Status { handle, state: msg.state.map(state_text).unwrap_or_default() }
            }
            ConsumerEvent::Generic { handle, msg } => {
                Told::Generic { handle, payload: msg.payload.bytes().to_vec() }
            }
            ConsumerEvent::Ack { handle, msg } => {
                Told::Ack { handle, id: msg.ack_id, nak: msg.nak_code.map(|code| code.to_string()) }
            }
            ConsumerEvent::Login { state, .. } => Told::Login(state_text(state)),
            ConsumerEvent::Down { server, .. } => Told::Down { server },
            ConsumerEvent::Active { server, service } => {
                Told::Active { server, service: service.map(ToString::to_string) }
            }
            ConsumerEvent::LeftOut { server, reason } => {
                Told::LeftOut { server, reason: reason.to_owned() }
            }
            ConsumerEvent::Ready => Told::Ready,
            ConsumerEvent::Dictionary { dictionary } => Told::Dictionary {
                fields: dictionary.fields().len(),
                tables: dictionary.enum_tables().len(),
            },
            ConsumerEvent::Up { .. } | ConsumerEvent::Directory { .. } => return,
        });
    }

    /// What an item was told.
    pub(crate) fn of(&self, wanted: Handle) -> Vec<&Told> {
        let is_wanted = |told: &&Told| {
            matches!(told,
                Told::Refresh { handle, .. } | Told::Update { handle, .. }
                | Told::Status { handle, .. } if *handle == wanted)
        };
        self.events.iter().filter(is_wanted).collect()
    }

    /// The states of the images and statuses of an item.
    pub(crate) fn states(&self, wanted: Handle) -> Vec<String> {
        let states = self.of(wanted).into_iter().filter_map(|told| match told {
            Told::Refresh { state, .. } | Told::Status { state, .. } => Some(state.clone()),
            _ => None,
        });
        states.collect()
    }

    pub(crate) fn refreshes(&self) -> usize {
        self.events.iter().filter(|told| matches!(told, Told::Refresh { .. })).count()
    }

    pub(crate) fn updates(&self) -> usize {
        self.events.iter().filter(|told| matches!(told, Told::Update { .. })).count()
    }
}

/// A provider that answers every request with an image, and notes what it was
/// asked.
#[derive(Debug, Default)]
pub(crate) struct Answers {
    pub(crate) requests: Vec<(StreamHandle, String)>,
    pub(crate) reissues: Vec<StreamHandle>,
    pub(crate) closed: Vec<StreamHandle>,
    pub(crate) connected: usize,
    /// The bid of its images.
    pub(crate) bid: i64,
    /// Requests are noted and not answered.
    pub(crate) is_silent: bool,
}

pub(crate) fn quote(bid: i64) -> [(i16, tapeline_rwf::Primitive<'static>); 2] {
    [(BID, Real::decimal(bid, 2).into()), (ASK, Real::decimal(bid + 3, 2).into())]
}

impl Answers {
    pub(crate) fn answer(&mut self, event: ProviderEvent<'_>, responses: &mut Responses<'_>) {
        match event {
            ProviderEvent::Connected { .. } => self.connected += 1,
            ProviderEvent::Request { stream, request, .. } => {
                let name = String::from_utf8_lossy(request.key.name.unwrap_or_default());
                self.requests.push((stream, name.into_owned()));
                if !self.is_silent {
                    self.image(stream, responses);
                }
            }
            ProviderEvent::Reissue { stream, wants_image, .. } => {
                self.reissues.push(stream);
                if wants_image {
                    self.image(stream, responses);
                }
            }
            ProviderEvent::Close { stream } => self.closed.push(stream),
            _ => {}
        }
    }

    pub(crate) fn image(&self, stream: StreamHandle, responses: &mut Responses<'_>) {
        let sent = responses.refresh(stream, &RefreshHead::default(), &quote(self.bid));
        assert_eq!(sent.expect("sent"), Flow::Free);
    }
}

/// A consumer and its providers, taking turns.
pub(crate) struct World {
    pub(crate) consumer: Consumer,
    pub(crate) log: Log,
    pub(crate) providers: Vec<Option<(Provider, Answers)>>,
}

impl World {
    pub(crate) fn new(consumer: Consumer, providers: Vec<Provider>) -> Self {
        let providers =
            providers.into_iter().map(|provider| Some((provider, Answers::default()))).collect();
        Self { consumer, log: Log::default(), providers }
    }

    /// One provider with the usual service, and a consumer of it.
    pub(crate) fn usual() -> Self {
        Self::with(ProviderConfig::new([service().entry()]))
    }

    pub(crate) fn with(provider_config: ProviderConfig) -> Self {
        let (provider, server) = provider(provider_config);
        Self::new(consumer(config([server])), vec![provider])
    }

    /// Takes turns until something is so.
    pub(crate) fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "never: {what}\n{:?}", self.log.events);
            self.turn();
        }
    }

    pub(crate) fn turn(&mut self) {
        let log = &mut self.log;
        self.consumer.poll(Some(TURN), &mut |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
            log.note(event);
        });
        for (provider, answers) in self.providers.iter_mut().flatten() {
            let mut handler = |event: ProviderEvent<'_>, responses: &mut Responses<'_>| {
                answers.answer(event, responses);
            };
            provider.poll(Some(Duration::ZERO), &mut handler);
        }
    }

    /// Takes turns with a provider that does as `handler` says.
    pub(crate) fn until_with(
        &mut self,
        what: &str,
        mut handler: impl FnMut(ProviderEvent<'_>, &mut Responses<'_>),
        is_so: impl Fn(&Self) -> bool,
    ) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "never: {what}\n{:?}", self.log.events);
            let log = &mut self.log;
            let note = &mut |event: ConsumerEvent<'_>, _: &mut Requests<'_>| log.note(event);
            self.consumer.poll(Some(TURN), note);
            let (provider, _) = self.providers[0].as_mut().expect("a provider");
            provider.poll(Some(Duration::ZERO), &mut handler);
        }
    }

    /// The provider is gone, its connections cut.
    pub(crate) fn stop(&mut self, provider: usize) {
        self.providers[provider] = None;
    }

    pub(crate) fn answers(&self, provider: usize) -> &Answers {
        &self.providers[provider].as_ref().expect("a provider").1
    }

    pub(crate) fn provider(&mut self) -> &mut Provider {
        &mut self.providers[0].as_mut().expect("a provider").0
    }
}
