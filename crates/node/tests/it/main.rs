//! Nodes with sources and consumers.

mod every_order;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, ItemSpec, Login, Provider, ProviderConfig,
    ProviderEvent, RefreshHead, Requests, Responses, ServiceSpec,
};
use tapeline_backbone::{Carrier, PortSettings, Role};
use tapeline_channel::Idle;
use tapeline_hub::{HubConfig, Route};
use tapeline_node::{HubPart, NewPolicy, Node, NodeConfig, NodeError, ServerPart, Shards};
use tapeline_omm::StateBuf;
use tapeline_omm::login::LoginRequest;
use tapeline_rwf::{DataState, Real, StateCode, StreamState};
use tapeline_server::{Limits, LoginContext, LoginPolicy, LoginVerdict, ServerConfig, Siblings};

/// However busy the machine is, what is waited for has come by then.
const PATIENCE: Duration = Duration::from_secs(60);

const LOOPBACK: &str = "127.0.0.1:0";

fn hub(name: &str, source: Option<SocketAddr>) -> HubPart {
    let mut config = HubConfig::named(name);
    config.routes.extend(source.map(|at| Route::to(at.ip().to_string(), at.port())));
    HubPart { config, port: PortSettings::new(Role::Hub, name), field_rules: None, edge: None }
}

fn server(name: &str) -> ServerPart {
    ServerPart {
        config: ServerConfig {
            listen: vec![LOOPBACK.parse().expect("an address")],
            ..ServerConfig::default()
        },
        port: PortSettings::new(Role::Server, name),
        policy: NewPolicy::default(),
        edge: None,
        siblings: None,
    }
}

fn config(hubs: Vec<HubPart>, servers: Vec<ServerPart>) -> NodeConfig {
    let idle = Idle::Park { micros: tapeline_node::PARK_MICROS };
    NodeConfig { hubs, servers, idle, ..NodeConfig::on(Carrier::LOCAL) }
}

fn address(node: &Node) -> SocketAddr {
    node.servers().next().expect("a server").listening()[0]
}

fn consumer(at: SocketAddr) -> Consumer {
    let server = tapeline_api::Server::new(at.ip().to_string(), at.port());
    Consumer::new(ConsumerConfig::new([server], Login::new("user"))).expect("sockets")
}

/// Works all until the consumer has what it waits for.
fn await_event(
    node: &mut Node,
    consumer: &mut Consumer,
    mut meanwhile: impl FnMut(),
    mut is_it: impl FnMut(&ConsumerEvent<'_>) -> bool,
) {
    let began = Instant::now();
    let mut has_come = false;
    while !has_come {
        assert!(began.elapsed() < PATIENCE, "it did not come");
        node.turn(node.now());
        meanwhile();
        consumer.poll(
            Some(Duration::ZERO),
            &mut |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
                has_come |= is_it(&event);
            },
        );
    }
}

/// Refuses everybody.
struct Nobody;

impl LoginPolicy for Nobody {
    fn decide(&mut self, _: &LoginRequest, _: &LoginContext) -> LoginVerdict {
        LoginVerdict::Refuse(StateBuf {
            stream: StreamState::CLOSED,
            data: DataState::SUSPECT,
            code: StateCode::NOT_ENTITLED,
            text: "not today".into(),
        })
    }
}

#[test]
fn an_item_comes_through_a_node() {
    let spec = ServiceSpec::new(1, "FEED");
    let mut provider = Provider::new(ProviderConfig::new([spec.entry()])).expect("sockets");
    let source = provider.listen(LOOPBACK.parse().expect("an address")).expect("a port");
    let mut node =
        Node::start(config(vec![hub("hub", Some(source))], vec![server("server")])).expect("good");
    let mut consumer = consumer(address(&node));
    consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    await_event(
        &mut node,
        &mut consumer,
        || answer(&mut provider),
        |event| matches!(event, ConsumerEvent::Refresh { .. }),
    );
    assert!(node.is_on_backbone() && node.failure().is_none());
    assert_eq!(node.hubs().map(|hub| hub.counters().items).collect::<Vec<_>>(), [1]);
}

#[test]
fn the_policy_is_the_callers() {
    let mut part = server("server");
    part.policy = NewPolicy::new(|| Box::new(Nobody));
    let mut node = Node::start(config(vec![hub("hub", None)], vec![part])).expect("good");
    let mut consumer = consumer(address(&node));
    await_event(
        &mut node,
        &mut consumer,
        || {},
        |event| match event {
            ConsumerEvent::Login { state, .. } => {
                assert_eq!(state.text, b"not today");
                true
            }
            _ => false,
        },
    );
}

#[test]
fn hubs_work_before_servers_and_each_has_its_name() {
    let parts = (vec![hub("a", None), hub("b", None)], vec![server("c")]);
    let mut node = Node::start(config(parts.0, parts.1)).expect("good");
    let mut order = Vec::new();
    let now = node.now();
    node.turn_by(now, |agent| {
        order.push((agent.role(), agent.name().to_owned()));
        agent.duty_cycle(now)
    });
    let names = [(Role::Hub, "a"), (Role::Hub, "b"), (Role::Server, "c")];
    assert_eq!(order, names.map(|(role, name)| (role, name.to_owned())));
}

#[test]
fn shards_are_behind_the_port_of_the_first_server_until_told_to_end() {
    let mut part = server("server");
    part.config.reuse_port = true;
    let made = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&made);
    part.policy = NewPolicy::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        Box::new(tapeline_server::AcceptAll)
    });
    let config = NodeConfig { shards: 3, ..config(vec![hub("hub", None)], vec![part]) };
    let mut node = Node::start(config.clone()).expect("good");
    node.await_backbone(|| true).expect("rings");
    let goes_on = Arc::new(AtomicBool::new(true));
    let theirs = Arc::clone(&goes_on);
    let shards = Shards::start(&config, &node, move || theirs.load(Ordering::Relaxed));
    let shards = shards.expect("threads");
    shards.await_start(&mut node);
    assert!(!shards.has_ended());
    assert_eq!(made.load(Ordering::Relaxed), 3, "a policy each");
    let began = Instant::now();
    node.run_while(|node| {
        assert!(began.elapsed() < PATIENCE, "the hub does not meet all of them");
        node.hubs().any(|hub| hub.counters().servers < 3)
    });
    goes_on.store(false, Ordering::Relaxed);
    shards.await_end(&mut node);
    shards.join().expect("ended in order");
}

#[test]
fn a_shard_that_cannot_listen_says_why_when_it_is_joined() {
    // Without `reuse_port` the port is the first server's alone.
    let parts = (vec![hub("hub", None)], vec![server("server")]);
    let config = NodeConfig { shards: 2, ..config(parts.0, parts.1) };
    let mut node = Node::start(config.clone()).expect("good");
    let shards = Shards::start(&config, &node, || true).expect("a thread");
    shards.await_start(&mut node);
    shards.await_end(&mut node);
    let error = shards.join().expect_err("no port");
    assert!(matches!(error, NodeError::Server(_)), "{error}");
}

/// Two servers of a node that have their limits together, and a consumer at each
/// that is to become ready.
struct Pair {
    node: Node,
    provider: Provider,
}

impl Pair {
    fn start(change: impl Fn(&mut ServerConfig)) -> Self {
        let spec = ServiceSpec::new(1, "FEED");
        let mut provider = Provider::new(ProviderConfig::new([spec.entry()])).expect("sockets");
        let source = provider.listen(LOOPBACK.parse().expect("an address")).expect("a port");
        let siblings = Siblings::default();
        let servers = ["a", "b"].map(|name| {
            let mut part = server(name);
            part.siblings = Some(siblings.clone());
            change(&mut part.config);
            part
        });
        let config = config(vec![hub("hub", Some(source))], servers.to_vec());
        Self { node: Node::start(config).expect("good"), provider }
    }

    /// A consumer at one of the two.
    fn consumer(&self, at: usize) -> Consumer {
        consumer(self.node.servers().nth(at).expect("a server").listening()[0])
    }

    /// Works until the consumer is told something that `is_it`.
    fn await_event(
        &mut self,
        consumer: &mut Consumer,
        is_it: impl FnMut(&ConsumerEvent<'_>) -> bool,
    ) {
        let Self { node, provider } = self;
        await_event(node, consumer, || answer(provider), is_it);
    }
}

/// Has a provider answer what it is asked.
fn answer(provider: &mut Provider) {
    provider.poll(
        Some(Duration::ZERO),
        &mut |event: ProviderEvent<'_>, responses: &mut Responses<'_>| {
            if let ProviderEvent::Request { stream, .. } = event {
                let quote = [(22, Real::decimal(4512, 2).into())];
                responses.refresh(stream, &RefreshHead::default(), &quote).expect("connected");
            }
        },
    );
}

fn is_ready(event: &ConsumerEvent<'_>) -> bool {
    matches!(event, ConsumerEvent::Ready)
}

#[test]
fn servers_that_are_siblings_have_no_more_mounts_together_than_one_may() {
    let mut pair = Pair::start(|config| config.limits.max_mounts = 2);
    let mut consumers = [pair.consumer(0), pair.consumer(1)];
    for consumer in &mut consumers {
        pair.await_event(consumer, is_ready);
    }
    let mut third = pair.consumer(1);
    pair.await_event(&mut third, |event| {
        assert!(!is_ready(event), "a third mount");
        matches!(event, ConsumerEvent::Down { .. })
    });
    // One at the other server leaves: there is room for it.
    let [first, _second] = consumers;
    drop(first);
    pair.await_event(&mut third, is_ready);
}

#[test]
fn a_user_has_its_mounts_at_all_siblings_together() {
    let mut pair = Pair::start(|config| config.limits.max_mounts_per_user = Some(1));
    let mut first = pair.consumer(0);
    pair.await_event(&mut first, is_ready);
    let mut second = pair.consumer(1);
    pair.await_event(&mut second, |event| {
        assert!(!is_ready(event), "a second mount of the user");
        let code = match event {
            ConsumerEvent::Login { state, .. } => state.code,
            _ => return false,
        };
        code == StateCode::EXCEEDED_MAX_MOUNTS_PER_USER
    });
}

#[test]
fn siblings_open_no_more_items_together_than_one_may() {
    let of_all = Limits { max_items: 1, ..Limits::default() };
    let of_a_user = Limits { item_limit: 1, ..Limits::default() };
    for limits in [of_all, of_a_user] {
        let mut pair = Pair::start(|config| config.limits = limits.clone());
        let (mut first, mut second) = (pair.consumer(0), pair.consumer(1));
        first.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
        pair.await_event(&mut first, |event| matches!(event, ConsumerEvent::Refresh { .. }));
        second.open(&ItemSpec::new("FEED", "IBM.N")).expect("room");
        pair.await_event(&mut second, |event| {
            assert!(!matches!(event, ConsumerEvent::Refresh { .. }), "a second item");
            matches!(event, ConsumerEvent::Status { .. })
        });
    }
}

#[test]
fn what_a_node_counts_is_seen_from_another_thread() {
    let mut config = config(vec![hub("hub", None)], vec![server("server")]);
    config.servers[0].config.limits = Limits { max_mounts: 7, ..Limits::default() };
    let registry = config.registry.clone();
    let mut node = Node::start(config).expect("good");
    let began = Instant::now();
    let seen = std::thread::scope(|scope| {
        let watcher = scope.spawn(move || {
            let peers = || {
                let blocks = registry.blocks().filter(|block| block.table().group == "backbone");
                blocks.map(|block| block.value_of("peers").unwrap_or(0)).collect::<Vec<_>>()
            };
            while peers() != [1, 1] && began.elapsed() < PATIENCE {
                std::thread::yield_now();
            }
            let names = registry.blocks().map(|block| (block.table().group, block.name()));
            let names: Vec<_> = names.map(|(group, name)| format!("{group} {name}")).collect();
            let server = registry.blocks().find(|block| block.table().group == "server");
            (names, server.and_then(|block| block.limit(0)))
        });
        node.run_while(|_| !watcher.is_finished());
        watcher.join().expect("no panic")
    });
    let mut names = seen.0;
    assert!(names.pop().is_some_and(|thread| thread.starts_with("thread ")));
    assert_eq!(
        names,
        [
            "hub hub",
            "channel hub",
            "backbone hub",
            "server server",
            "channel server",
            "backbone server"
        ]
    );
    assert_eq!(seen.1, Some(7), "the limit of mounts");
}
