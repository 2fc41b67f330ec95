//! A consumer of several servers, one of them active and the others standing by.
//! The servers are providers that play the part as a server does.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, Handle, ItemSpec, NoPayload, PostHead, Provider,
    ProviderConfig, ProviderEvent, RefreshHead, Requests, Responses, Server, ServerOrder,
    ServiceRef, ServiceSpec, StandbyServer, StandbySet, StatusHead, StreamHandle, UpdateHead,
};
use tapeline_omm::directory::{
    ConsumerStatus, FilterContent, FilterEntry, ServiceEntry, ServiceState,
};
use tapeline_omm::login::{LoginMsg, WarmStandbyMode};
use tapeline_rwf::{Domain, StateCode};

use crate::support::{self, Log, Told, config, quote};

const PATIENCE: Duration = Duration::from_secs(60);

/// A server that takes part in warm standby.
struct Warm {
    provider: Provider,
    at: SocketAddr,
    /// Streams with their names and services.
    streams: BTreeMap<StreamHandle, (String, u16)>,
    /// How often each item was asked for here.
    requests: Vec<String>,
    /// What it was told to be, of everything or of a service.
    role: Option<WarmStandbyMode>,
    roles: BTreeMap<u16, WarmStandbyMode>,
    /// All that it was told, in words.
    told: Vec<String>,
    bid: i64,
    posts: usize,
    /// Items that are closed when they are asked for.
    closes: Option<StateCode>,
    /// Requests are not answered, and a role brings no image.
    is_silent: bool,
}

fn warm_config(services: &[ServiceSpec]) -> ProviderConfig {
    let mut config = ProviderConfig::new(services.iter().map(ServiceSpec::entry));
    config.features.support_standby = Some(true);
    config.features.support_standby_mode = Some(3);
    config
}

fn feed() -> ServiceSpec {
    ServiceSpec::new(1, "FEED")
}

fn rates() -> ServiceSpec {
    ServiceSpec::new(2, "RATES")
}

impl Warm {
    fn with(config: ProviderConfig) -> Self {
        Self::at(config, ([127, 0, 0, 1], 0).into()).expect("a free port")
    }

    /// At a port that may be in use for a while.
    fn at(config: ProviderConfig, at: SocketAddr) -> Option<Self> {
        let mut provider = Provider::new(config).expect("sockets");
        let at = provider.listen(at).ok()?;
        Some(Self {
            provider,
            at,
            streams: BTreeMap::new(),
            requests: Vec::new(),
            role: None,
            roles: BTreeMap::new(),
            told: Vec::new(),
            bid: 100,
            posts: 0,
            closes: None,
            is_silent: false,
        })
    }

    fn server(&self) -> Server {
        support::server(self.at)
    }

    fn turn(&mut self) {
        let Self { provider, streams, requests, role, roles, told, bid, posts, closes, .. } = self;
        let is_silent = self.is_silent;
        let stands_by =
            |role: Option<WarmStandbyMode>, roles: &BTreeMap<u16, WarmStandbyMode>, service| {
                roles.get(&service).copied().or(role) == Some(WarmStandbyMode::Standby)
            };
        let image = |responses: &mut Responses<'_>, stream, bid| {
            responses.refresh(stream, &RefreshHead::default(), &quote(bid)).expect("sent");
        };
        let mut handler = |event: ProviderEvent<'_>, responses: &mut Responses<'_>| match event {
            ProviderEvent::Request { stream, request, .. } => {
                let name = String::from_utf8_lossy(request.key.name.unwrap_or_default());
                let service = request.key.service_id.expect("a service");
                requests.push(name.to_string());
                if is_silent {
                    return;
                }
                if let Some(code) = *closes {
                    responses.close(stream, code, "not here").expect("sent");
                    return;
                }
                streams.insert(stream, (name.into_owned(), service));
                match stands_by(*role, roles, service) {
                    true => _ = responses.refresh(stream, &RefreshHead::default(), &NoPayload),
                    false => image(responses, stream, *bid),
                }
            }
            ProviderEvent::Reissue { stream, wants_image: true, .. } => {
                image(responses, stream, *bid);
            }
            ProviderEvent::Close { stream } => _ = streams.remove(&stream),
            ProviderEvent::Post { receipt, .. } => {
                *posts += 1;
                responses.ack(receipt).expect("sent");
            }
            ProviderEvent::Generic { msg, .. } => {
                let mut given = Vec::new();
                if let Ok(LoginMsg::ConsumerConnectionStatus(status)) =
                    LoginMsg::decode(&(*msg).into())
                {
                    told.push(format!("{:?}", status.mode.expect("a mode")));
                    *role = status.mode;
                    given.extend(streams.keys().copied());
                } else if let Ok(status) = ConsumerStatus::decode(msg) {
                    for entry in status.entries {
                        let mode = entry.warm_standby.expect("a mode");
                        told.push(format!("{} {mode:?}", entry.service_id));
                        roles.insert(entry.service_id, mode);
                        let of_it = streams.iter().filter(|(_, it)| it.1 == entry.service_id);
                        given.extend(of_it.map(|(stream, _)| *stream));
                    }
                }
                for stream in given.into_iter().filter(|_| !is_silent) {
                    let service = streams[&stream].1;
                    if !stands_by(*role, roles, service) {
                        image(responses, stream, *bid);
                    }
                }
            }
            ProviderEvent::Disconnected { .. } => {
                streams.clear();
                roles.clear();
                *role = None;
            }
            _ => {}
        };
        provider.poll(Some(Duration::ZERO), &mut handler);
    }

    /// All items that it is active for have another bid.
    fn update(&mut self, bid: i64) {
        self.bid = bid;
        let Self { provider, streams, role, roles, .. } = self;
        provider.with(|responses| {
            for (stream, (_, service)) in &*streams {
                let role = roles.get(service).copied().or(*role);
                if role != Some(WarmStandbyMode::Standby) {
                    responses.update(*stream, &UpdateHead::QUOTE, &quote(bid)).expect("sent");
                }
            }
        });
    }

    /// A service goes down, or comes back.
    fn service(&mut self, id: u16, is_up: bool) {
        let state = FilterContent::State(ServiceState::new(is_up, is_up));
        let entry = ServiceEntry::update(id, vec![FilterEntry::set(state)]);
        self.provider.with(|responses| responses.update_directory(vec![entry]));
    }
}

/// A consumer, and its servers.
struct World {
    consumer: Consumer,
    log: Log,
    servers: Vec<Option<Warm>>,
}

impl World {
    fn new(config: ConsumerConfig, servers: Vec<Warm>) -> Self {
        let servers = servers.into_iter().map(Some).collect();
        Self { consumer: support::consumer(config), log: Log::default(), servers }
    }

    /// Two servers with two services each, the second one standing by.
    fn two(change: impl FnOnce(&mut ConsumerConfig, &Warm)) -> Self {
        let services = [feed(), rates()];
        let first = Warm::with(warm_config(&services));
        let second = Warm::with(warm_config(&services));
        let mut config = config([first.server()]);
        config.standby = Some(StandbySet::by_login([second.server()]));
        change(&mut config, &second);
        Self::new(config, vec![first, second])
    }

    fn turn(&mut self) {
        let log = &mut self.log;
        let note = &mut |event: ConsumerEvent<'_>, _: &mut Requests<'_>| log.note(event);
        self.consumer.poll(Some(Duration::from_millis(1)), note);
        self.servers.iter_mut().flatten().for_each(Warm::turn);
    }

    fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let began = Instant::now();
        while !is_so(self) {
            assert!(began.elapsed() < PATIENCE, "never: {what}\n{:?}", self.log.events);
            self.turn();
        }
    }

    fn server(&mut self, place: usize) -> &mut Warm {
        self.servers[place].as_mut().expect("it is there")
    }

    fn told(&self, place: usize) -> &[String] {
        self.servers[place].as_ref().map_or(&[], |server| &server.told)
    }

    fn stop(&mut self, place: usize) -> SocketAddr {
        self.servers[place].take().expect("it is there").at
    }

    fn start(&mut self, place: usize, at: SocketAddr) {
        let again = loop {
            match Warm::at(warm_config(&[feed(), rates()]), at) {
                Some(again) => break again,
                None => self.turn(),
            }
        };
        self.servers[place] = Some(again);
    }

    fn open(&mut self, service: &str, names: &[&str]) -> Vec<Handle> {
        let open = |name: &&str| self.consumer.open(&ItemSpec::new(service, name)).expect("room");
        names.iter().map(open).collect()
    }

    /// Waits until all servers have all items.
    fn until_warm(&mut self, items: usize) {
        self.until("all items are open everywhere", |it| {
            let has_all = |server: &Warm| server.streams.len() == items;
            it.servers.iter().flatten().all(has_all) && it.log.refreshes() >= items
        });
    }

    /// What the application was told of an item, briefly.
    fn brief(&self, handle: Handle) -> Vec<String> {
        let brief = |told: &Told| match told {
            Told::Refresh { fields, .. } => {
                format!("image {}", fields.first().map_or("none", |(_, bid)| bid))
            }
            Told::Update { fields, .. } => fields[0].1.clone(),
            Told::Status { state, .. } => state.clone(),
            other => format!("{other:?}"),
        };
        self.log.of(handle).into_iter().map(brief).collect()
    }
}

#[test]
fn an_active_server_that_is_lost_is_followed_without_a_word_but_an_image() {
    let mut world = World::two(|_, _| {});
    let items = world.open("FEED", &["A", "B", "C"]);
    world.until_warm(3);
    assert_eq!((world.told(0), world.told(1)), (&["Active".into()][..], &["Standby".into()][..]));
    world.server(0).update(101);
    world.until("the updates", |it| it.log.updates() == 3);
    world.server(1).bid = 102;
    world.stop(0);
    world.until("the images", |it| it.log.refreshes() == 6);
    world.server(1).update(103);
    world.until("updates of the other", |it| it.log.updates() == 6);
    for item in items {
        assert_eq!(world.brief(item), ["image 1.00", "1.01", "image 1.02", "1.03"]);
    }
    assert_eq!(world.server(1).requests.len(), 3, "nothing is asked for again");
    assert!(world.log.events.contains(&Told::Active { server: 1, service: None }));
    let counts = world.consumer.counters();
    assert_eq!((counts.take_overs, counts.items_taken_over, counts.servers), (1, 3, 1));
    assert_eq!(counts.items, 3);
}

#[test]
fn a_server_that_returns_stands_by_and_takes_over_in_its_turn() {
    let mut world = World::two(|_, _| {});
    let items = world.open("FEED", &["A"]);
    world.until_warm(1);
    let at = world.stop(0);
    world.until("the image", |it| it.log.refreshes() == 2);
    world.start(0, at);
    world.until("it stands by", |it| it.told(0) == ["Standby"]);
    world.until_warm(1);
    world.server(1).update(105);
    world.until("an update of the active one", |it| it.log.updates() == 1);
    world.server(0).bid = 106;
    world.stop(1);
    world.until("the image of the first again", |it| it.log.refreshes() == 3);
    assert_eq!(world.brief(items[0]), ["image 1.00", "image 1.00", "1.05", "image 1.06"]);
    assert_eq!(world.told(0), ["Standby", "Active"]);
}

#[test]
fn the_preferred_server_is_active_again_when_it_is_back() {
    let mut world = World::two(|config, _| {
        let set = config.standby.take().expect("a set");
        config.standby = Some(set.preferred(Duration::from_millis(20)));
    });
    let items = world.open("FEED", &["A"]);
    world.until_warm(1);
    let at = world.stop(0);
    world.until("the image", |it| it.log.refreshes() == 2);
    world.start(0, at);
    world.server(0).bid = 107;
    world.until("it is back", |it| it.told(0) == ["Standby", "Active"]);
    assert_eq!(world.told(1), ["Standby", "Active", "Standby"]);
    world.until("its image", |it| it.log.refreshes() == 3);
    assert_eq!(world.brief(items[0]).last().expect("some"), "image 1.07");
    assert!(world.log.states(items[0]).iter().all(|state| state == "Open / Ok / None / ''"));
}

#[test]
fn each_service_has_an_active_server_of_its_own() {
    let mut world = World::two(|config, second| {
        let server = StandbyServer { server: second.server(), services: vec!["RATES".to_owned()] };
        config.standby = Some(StandbySet::by_service([server]));
    });
    let feed = world.open("FEED", &["A"])[0];
    let rates = world.open("RATES", &["EUR="])[0];
    world.server(1).bid = 200;
    world.until_warm(2);
    assert_eq!(world.told(0), ["1 Active", "2 Standby"]);
    assert_eq!(world.told(1), ["1 Standby", "2 Active"]);
    assert_eq!(
        (world.brief(feed), world.brief(rates)),
        (vec!["image 1.00".to_owned()], vec!["image 2.00".to_owned()])
    );
    // The service is down at the one, the connection stays.
    world.server(0).service(1, false);
    world.until("the other has the service", |it| it.log.refreshes() == 3);
    assert_eq!(world.told(0)[2..], ["1 Standby"]);
    assert_eq!(world.told(1)[2..], ["1 Active"]);
    assert_eq!(world.brief(feed), ["image 1.00", "image 2.00"]);
    assert!(
        world.log.events.contains(&Told::Active { server: 1, service: Some("FEED".to_owned()) })
    );
    // It is up again: nothing changes.
    world.server(0).service(1, true);
    world.server(1).update(201);
    world.until("updates of both", |it| it.log.updates() == 2);
    world.stop(1);
    world.until("both are at the first", |it| it.log.refreshes() == 5);
    assert_eq!(world.brief(rates), ["image 2.00", "2.01", "image 1.00"]);
    assert_eq!(world.brief(feed), ["image 1.00", "image 2.00", "2.01", "image 1.00"]);
}

#[test]
fn a_server_that_does_not_offer_it_is_left_out() {
    let mut plain = warm_config(&[feed(), rates()]);
    plain.features.support_standby = None;
    let first = Warm::with(warm_config(&[feed(), rates()]));
    let (second, third) =
        (Warm::with(plain), Warm::with(warm_config(&[ServiceSpec::new(7, "FEED")])));
    let mut config = config([first.server()]);
    config.standby = Some(StandbySet::by_login([second.server(), third.server()]));
    let mut world = World::new(config, vec![first, second, third]);
    let item = world.open("FEED", &["A"])[0];
    world.until("two are left out", |it| it.consumer.counters().left_out == 2);
    world.until("an image", |it| it.log.refreshes() == 1);
    let reasons: BTreeMap<usize, String> = world
        .log
        .events
        .iter()
        .filter_map(|told| match told {
            Told::LeftOut { server, reason } => Some((*server, reason.clone())),
            _ => None,
        })
        .collect();
    assert_eq!(reasons[&1], "its login does not offer warm standby (SupportStandby)");
    assert_eq!(reasons[&2], "its service FEED has id 7, elsewhere it has 1");
    // There is nobody to follow it, and it is tried again itself.
    let at = world.stop(0);
    world.until("the loss", |it| it.log.states(item).len() == 2);
    assert_eq!(world.log.states(item)[1], "Open / Suspect / None / 'channel down.'");
    world.start(0, at);
    world.until("an image again", |it| it.log.refreshes() == 2);
    assert_eq!(world.told(0), ["Active"]);
    assert_eq!((world.server(1).requests.len(), world.server(2).requests.len()), (0, 0));
}

#[test]
fn a_post_goes_to_every_server_and_has_one_ack() {
    let mut world = World::two(|_, _| {});
    let item = world.open("FEED", &["A"])[0];
    world.until_warm(1);
    let post = |requests: &mut Requests<'_>| {
        let on_stream = requests.post(item, &PostHead::default(), &quote(1)).expect("sent");
        let service = ServiceRef::Name("FEED");
        let (price, head) = (Domain::MARKET_PRICE, PostHead::default());
        let off_stream = requests.post_off_stream(service, "B", price, &head, &quote(2));
        [on_stream, off_stream.expect("sent")]
    };
    let ids = world.consumer.with(post);
    assert_eq!(ids, [1, 2]);
    world.until("posts are everywhere", |it| {
        it.servers.iter().flatten().all(|server| server.posts == 2)
    });
    world.stop(0);
    world.until("the image", |it| it.log.refreshes() == 2);
    let later = world.consumer.with(|it| it.post(item, &PostHead::default(), &quote(3)));
    assert_eq!(later.expect("sent"), 3, "ids go on");
    let acks = |it: &World| {
        let ack = |told: &Told| match told {
            Told::Ack { id, nak: None, .. } => Some(*id),
            _ => None,
        };
        it.log.events.iter().filter_map(ack).collect::<Vec<_>>()
    };
    world.until("its ack", |it| acks(it).contains(&3));
    assert_eq!(acks(&world), [1, 2, 3]);
}

#[test]
fn an_item_that_the_follower_does_not_have_is_suspect_and_asked_for_again() {
    let mut world = World::two(|_, _| {});
    world.server(1).closes = Some(StateCode::NOT_FOUND);
    let item = world.open("FEED", &["A"])[0];
    world.until("an image, and a close at the other", |it| {
        it.log.refreshes() == 1 && it.servers[1].as_ref().is_some_and(|it| it.requests.len() == 1)
    });
    world.until("nothing more comes", |it| it.consumer.counters().statuses == 1);
    assert_eq!(world.brief(item), ["image 1.00"], "who stands by closes nothing");
    world.server(1).closes = None;
    world.stop(0);
    world.until("an image", |it| it.log.refreshes() == 2);
    let text = "The server that took over does not have the item; it is asked for again.";
    let suspect = format!("Open / Suspect / None / '{text}'");
    assert_eq!(world.brief(item), ["image 1.00", &suspect, "image 1.00"]);
}

#[test]
fn what_the_active_server_closes_is_closed_everywhere() {
    let mut world = World::two(|_, _| {});
    let item = world.open("FEED", &["A"])[0];
    world.until_warm(1);
    let stream = *world.server(0).streams.keys().next().expect("a stream");
    world.server(0).provider.with(|responses| {
        responses.close(stream, StateCode::NOT_ENTITLED, "no more").expect("sent");
    });
    world.until("it is closed", |it| it.brief(item).len() == 2);
    world.until("everywhere", |it| it.servers[1].as_ref().is_some_and(|it| it.streams.is_empty()));
    assert_eq!(world.consumer.counters().items, 0);
    let again = world.open("FEED", &["A"])[0];
    assert_ne!(again, item);
    world.server(0).streams.clear();
    world.until_warm(1);
    world.consumer.close(again);
    world.until("closed again", |it| it.servers.iter().flatten().all(|it| it.streams.is_empty()));
}

#[test]
fn snapshots_are_asked_of_the_active_server_alone() {
    let mut world = World::two(|_, _| {});
    world.open("FEED", &["A"]);
    world.until_warm(1);
    world.server(0).is_silent = true;
    let snapshot = ItemSpec::new("FEED", "ONCE").snapshot();
    let once = world.consumer.open(&snapshot).expect("room");
    world.until("it is asked for", |it| {
        it.servers[0].as_ref().is_some_and(|it| it.requests.len() == 2)
    });
    assert_eq!(world.server(1).requests, ["A"]);
    world.stop(0);
    world.until("it comes from the other", |it| it.brief(once).len() == 1);
    assert_eq!(world.brief(once), ["image 1.00"]);
    assert_eq!(world.consumer.counters().items, 1, "it is complete");
}

#[test]
fn a_server_that_takes_over_without_an_image_is_asked_for_it() {
    let mut world = World::two(|config, _| {
        config.request_timeout = Duration::from_millis(200);
    });
    let item = world.open("FEED", &["A"])[0];
    world.until_warm(1);
    world.server(1).is_silent = true;
    world.server(1).bid = 102;
    world.stop(0);
    world.until("it takes over", |it| it.told(1) == ["Standby", "Active"]);
    // What comes before the image is not in it.
    world.server(1).update(101);
    world.server(1).bid = 102;
    world.until("an image", |it| it.log.refreshes() == 2);
    world.server(1).update(103);
    world.until("an update", |it| it.log.updates() == 1);
    assert_eq!(world.brief(item), ["image 1.00", "image 1.02", "1.03"]);
}

#[test]
fn an_update_in_a_set_allocates_nothing() {
    let mut world = World::two(|_, _| {});
    world.open("FEED", &["A"]);
    world.until_warm(1);
    // The sockets have their buffers by then.
    for bid in 1..20 {
        world.server(0).update(bid);
        world.until("an update", |it| it.log.updates() == bid as usize);
    }
    let mut heard = 0;
    for bid in 20..40 {
        world.server(0).update(bid);
        let mut note = |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
            heard += usize::from(matches!(event, ConsumerEvent::Update { .. }));
        };
        let began = Instant::now();
        let consumer = &mut world.consumer;
        let allocated = allocation_counter::measure(|| {
            consumer.poll(Some(Duration::from_millis(100)), &mut note);
        });
        assert!(began.elapsed() < PATIENCE);
        assert_eq!(allocated.count_total, 0);
        world.servers.iter_mut().flatten().for_each(Warm::turn);
    }
    assert!(heard > 0, "none came");
}

#[test]
fn with_no_server_left_everything_is_over() {
    let mut plain = warm_config(&[feed()]);
    plain.features.support_standby = Some(false);
    let (first, second) = (Warm::with(plain.clone()), Warm::with(plain));
    let mut config = config([first.server()]);
    config.standby = Some(StandbySet::by_login([second.server()]));
    let mut world = World::new(config, vec![first, second]);
    let item = world.open("FEED", &["A"])[0];
    world.until("the end", |it| !it.brief(item).is_empty());
    let over = "Closed / Suspect / None / 'No server of the set is left.'";
    assert_eq!((world.brief(item), world.consumer.counters().items), (vec![over.to_owned()], 0));
}

#[test]
fn consumers_begin_with_one_server_after_the_other() {
    let servers = [Warm::with(warm_config(&[feed()])), Warm::with(warm_config(&[feed()]))];
    let list: Vec<_> = servers.iter().map(Warm::server).collect();
    let mut servers = servers;
    let config = ConsumerConfig { order: ServerOrder::RoundRobin, ..config(list) };
    let mut consumers: Vec<_> = (0..4).map(|_| support::consumer(config.clone())).collect();
    let began = Instant::now();
    loop {
        for consumer in &mut consumers {
            let ignore = &mut |_: ConsumerEvent<'_>, _: &mut Requests<'_>| {};
            consumer.poll(Some(Duration::ZERO), ignore);
        }
        servers.iter_mut().for_each(Warm::turn);
        if consumers.iter().all(|consumer| consumer.counters().servers == 1) {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "they do not log in");
    }
    let clients = servers.map(|mut server| server.provider.with(|it| it.clients().len()));
    assert_eq!(clients, [2, 2]);
}

#[test]
fn a_status_of_a_server_that_stands_by_is_not_heard() {
    let mut world = World::two(|_, _| {});
    let item = world.open("FEED", &["A"])[0];
    world.until_warm(1);
    let stream = *world.server(1).streams.keys().next().expect("a stream");
    let suspect = tapeline_rwf::State::new(
        tapeline_rwf::StreamState::OPEN,
        tapeline_rwf::DataState::SUSPECT,
        StateCode::NONE,
        "stale here",
    );
    world.server(1).provider.with(|responses| {
        responses.status(stream, &StatusHead::of(suspect)).expect("sent");
        responses.update(stream, &UpdateHead::QUOTE, &quote(9)).expect("sent");
    });
    world.until("both came", |it| {
        let counts = it.consumer.counters();
        (counts.statuses, counts.updates) == (1, 1)
    });
    assert_eq!(world.brief(item), ["image 1.00"]);
}
