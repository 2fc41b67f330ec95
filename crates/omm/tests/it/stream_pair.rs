//! A requester's stream and a provider's stream joined by a wire: whatever the
//! provider may send, the requester can use, and both always agree on whether
//! there is a stream.

use proptest::collection::vec;
use proptest::prelude::*;
use tapeline_omm::ItemKeyRef;
use tapeline_omm::market::{ItemRequest, Part};
use tapeline_omm::stream::{
    Allowed, ConsumerStream, Deliver, ProviderStream, Reaction, RecoveryPolicy, Reissue,
    StreamOptions, ToProvider,
};
use tapeline_rwf::{
    DataState, Domain, Msg, MsgKey, RefreshFlags, RefreshMsg, State, StateCode, StatusMsg,
    StreamState, UpdateMsg,
};

/// What happens next, at either end.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The provider has the next part of an image.
    Image {
        is_last: bool,
    },
    Update,
    /// The provider has a status: with a state, or without.
    Status(Option<(StreamState, DataState)>),
    ChannelDown,
    ServiceLost,
    Reissue {
        refresh: bool,
    },
    Pause,
    Resume,
    /// Time passes.
    Wait {
        ms: u64,
    },
}

fn event() -> impl Strategy<Value = Event> {
    let states = prop_oneof![
        Just((StreamState::OPEN, DataState::OK)),
        Just((StreamState::OPEN, DataState::SUSPECT)),
        Just((StreamState::CLOSED_RECOVER, DataState::SUSPECT)),
        Just((StreamState::CLOSED, DataState::SUSPECT)),
    ];
    prop_oneof![
        6 => any::<bool>().prop_map(|is_last| Event::Image { is_last }),
        6 => Just(Event::Update),
        2 => proptest::option::of(states).prop_map(Event::Status),
        1 => Just(Event::ChannelDown),
        1 => Just(Event::ServiceLost),
        2 => any::<bool>().prop_map(|refresh| Event::Reissue { refresh }),
        1 => Just(Event::Pause),
        1 => Just(Event::Resume),
        2 => (0_u64..20_000).prop_map(|ms| Event::Wait { ms }),
    ]
}

/// Both ends, and what the requester's user saw.
struct World {
    options: StreamOptions,
    consumer: ConsumerStream,
    provider: Option<ProviderStream>,
    next_part: u16,
    now_ms: u64,
    /// An image came since the stream was last lost.
    user_has_image: bool,
    shown: StreamState,
}

const KEY: MsgKey<'static> = MsgKey::item(1, "TRI.N");
const ITEM: ItemKeyRef<'static> = ItemKeyRef::item(Domain::MARKET_PRICE, 1, "TRI.N");

impl World {
    fn new(options: StreamOptions) -> Self {
        let mut world = Self {
            options,
            consumer: ConsumerStream::new(options),
            provider: None,
            next_part: 0,
            now_ms: 0,
            user_has_image: false,
            shown: StreamState::OPEN,
        };
        world.settle();
        world
    }

    fn request(&self) -> ItemRequest<'static> {
        let request = ItemRequest::new(Domain::MARKET_PRICE, 5, KEY);
        ItemRequest { streaming: self.options.streaming, ..request }
    }

    /// The owner sends the request as soon as the stream wants it.
    fn settle(&mut self) {
        if self.consumer.wants_request() {
            let reaction = self.consumer.request(self.now_ms);
            self.act(reaction);
            assert!(self.provider.is_some(), "a request reaches the provider");
        }
    }

    fn act(&mut self, reaction: Reaction<'_>) {
        match reaction.deliver {
            Deliver::Status(state) | Deliver::MessageAs(state) => self.shown = state.stream,
            Deliver::Message | Deliver::Nothing => {}
        }
        match reaction.send {
            None => {}
            Some(ToProvider::Request { pause }) => {
                assert!(self.provider.is_none(), "the stream was requested twice");
                let request = ItemRequest { pause, ..self.request() };
                self.provider = Some(ProviderStream::new(&request, None));
                self.next_part = 0;
                self.user_has_image = false;
            }
            Some(ToProvider::Reissue(Reissue { pause, refresh })) => {
                let open = self.request();
                let reissue = ItemRequest { pause, no_refresh: !refresh, ..open };
                let provider = self.provider.as_mut().expect("only an open stream is changed");
                let effect = provider.reissue(&ITEM, &reissue).expect("by the rules");
                assert!(effect.image <= refresh);
            }
            Some(ToProvider::Close) => {
                assert!(self.provider.take().is_some(), "only an open stream is closed");
            }
        }
    }

    /// The provider sends, if it may.
    fn send(&mut self, make: impl FnOnce(&mut ProviderStream, u16) -> Option<Msg<'static>>) {
        let Some(provider) = &mut self.provider else { return };
        let Some(msg) = make(provider, self.next_part) else { return };
        if provider.is_over() {
            self.provider = None;
        }
        let reaction = self.consumer.message(self.now_ms, &msg);
        assert_ne!(reaction.deliver, Deliver::Nothing, "{msg:?} was sent for nothing");
        match &msg {
            Msg::Refresh(_) => self.user_has_image = true,
            Msg::Update(_) => assert!(self.user_has_image, "an update came before an image"),
            _ => {}
        }
        self.act(reaction);
    }

    fn step(&mut self, event: Event) {
        let now_ms = self.now_ms;
        match event {
            Event::Image { is_last } => {
                let mut sent = false;
                self.send(|provider, number| {
                    let part = Part::numbered(number, is_last);
                    let allowed = provider.image(part, &State::open_ok("")).ok()?;
                    sent = true;
                    let mut flags = RefreshFlags::empty();
                    flags.set(RefreshFlags::SOLICITED, allowed.solicited);
                    flags.set(RefreshFlags::REFRESH_COMPLETE, is_last);
                    let state = told(allowed);
                    let msg = RefreshMsg::new(Domain::MARKET_PRICE, 5);
                    Some(RefreshMsg { flags, state, ..msg }.into())
                });
                if sent && self.provider.is_some() {
                    self.next_part = if is_last { 0 } else { self.next_part + 1 };
                }
            }
            Event::Update => self.send(|provider, _| {
                provider.update().ok()?;
                Some(UpdateMsg::new(Domain::MARKET_PRICE, 5).into())
            }),
            Event::Status(state) => self.send(|provider, _| {
                let state =
                    state.map(|(stream, data)| State { stream, data, ..State::open_ok("") });
                let allowed = provider.status(state.as_ref()).ok()?;
                let state = state.map(|_| told(allowed));
                Some(StatusMsg { state, ..StatusMsg::new(Domain::MARKET_PRICE, 5) }.into())
            }),
            Event::ChannelDown => {
                self.provider = None;
                let reaction = self.consumer.channel_down();
                self.act(reaction);
            }
            Event::ServiceLost => {
                let reaction = self.consumer.service_lost();
                self.act(reaction);
            }
            Event::Reissue { refresh } => {
                let reaction = self.consumer.reissue(now_ms, refresh);
                self.act(reaction);
            }
            Event::Pause => {
                let reaction = self.consumer.pause(now_ms);
                self.act(reaction);
            }
            Event::Resume => {
                let reaction = self.consumer.resume(now_ms);
                self.act(reaction);
            }
            Event::Wait { ms } => {
                self.now_ms += ms;
                let reaction = self.consumer.timeout(self.now_ms);
                self.act(reaction);
            }
        }
        self.settle();
        self.check();
    }

    fn check(&self) {
        assert_eq!(
            self.consumer.is_on_wire(),
            self.provider.is_some(),
            "the two ends disagree on whether there is a stream"
        );
        if self.consumer.is_over() {
            assert_eq!(self.consumer.deadline_ms(), None);
            assert!(!self.consumer.wants_request());
        }
        if self.options.recovery.single_open {
            assert_ne!(self.shown, StreamState::CLOSED_RECOVER, "recovery is not shown");
        }
        if let Some(provider) = &self.provider {
            // Only a request that the provider knows of is waited for.
            assert!(provider.owes_image() || !self.consumer.awaits_image());
        }
    }
}

fn told(allowed: Allowed) -> State<'static> {
    State::new(allowed.stream, allowed.data, StateCode::NONE, "")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_two_ends_agree(
        streaming in prop::bool::weighted(0.8),
        (single_open, allow_suspect_data) in any::<(bool, bool)>(),
        provider_obeys_pause in any::<bool>(),
        retry_delay_ms in prop_oneof![Just(0_u64), Just(1000)],
        events in vec(event(), 0..60),
    ) {
        let mut world = World::new(StreamOptions {
            streaming,
            provider_obeys_pause,
            recovery: RecoveryPolicy { single_open, allow_suspect_data },
            retry_delay_ms,
            ..StreamOptions::default()
        });
        for event in events {
            world.step(event);
        }
    }
}
