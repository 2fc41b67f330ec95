//! A consumer whose provider goes away and comes back, or another one.

use std::net::SocketAddr;

use crate::support::{self, Log, Told, World, config, consumer, provider, service};
use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, ItemSpec, Provider, ProviderConfig, ProviderEvent,
    ProviderHandler, Requests, Responses, ServiceSpec,
};
use tapeline_channel::{ConnectConfig, OutputLimits, ReactorConfig, SessionId};
use tapeline_omm::StateBuf;
use tapeline_omm::login::LoginRequest;
use tapeline_rwf::{DataState, StateCode, StreamState};

fn usual() -> ProviderConfig {
    ProviderConfig::new([service().entry()])
}

#[test]
fn items_fail_over_to_the_other_provider_on_the_same_handles() {
    const ITEMS: usize = 100;
    let (first, first_server) = provider(usual());
    // The same service has another number there.
    let (second, second_server) =
        provider(ProviderConfig::new([ServiceSpec::new(7, "FEED").entry()]));
    let consumer = consumer(config([first_server, second_server]));
    let mut world = World::new(consumer, vec![first, second]);
    world.providers[1].as_mut().expect("there").1.bid = 500;
    let items: Vec<_> = (0..ITEMS)
        .map(|index| {
            let name = format!("ITEM{index}");
            world.consumer.open(&ItemSpec::new("FEED", &name)).expect("room")
        })
        .collect();
    world.until("all images", |world| world.log.refreshes() == ITEMS);
    world.stop(0);
    world.until("all images again", |world| world.log.refreshes() == 2 * ITEMS);
    for item in items {
        assert_eq!(
            world.log.states(item),
            [
                "Open / Ok / None / ''",
                "Open / Suspect / None / 'channel down.'",
                "Open / Ok / None / ''"
            ]
        );
        let last = world.log.of(item)[2];
        let Told::Refresh { fields, .. } = last else { panic!("{last:?}") };
        assert_eq!(fields[0].1, "5.00");
    }
    let names: Vec<_> = world.answers(1).requests.iter().map(|(_, name)| name.clone()).collect();
    assert_eq!(names, (0..ITEMS).map(|index| format!("ITEM{index}")).collect::<Vec<_>>());
    assert!(world.log.events.contains(&Told::Down { server: 0 }));
}

#[test]
fn a_provider_that_comes_back_is_connected_to_again() {
    let (first, at) = provider(usual());
    let address: SocketAddr = at.to_string().parse().expect("an address");
    let mut world = World::new(consumer(config([at])), vec![first]);
    let streaming = world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    let private = world.consumer.open(&ItemSpec::new("FEED", "TRI.N").private()).expect("room");
    world.until("two images", |world| world.log.refreshes() == 2);
    world.stop(0);
    world.until("the loss", |world| world.log.states(private).len() == 2);
    assert_eq!(
        world.log.states(private)[1],
        "ClosedRecover / Suspect / None / 'channel down.'",
        "a private stream is not recovered"
    );
    // The port may be in use for the time that the kernel takes.
    let mut again = Provider::new(usual()).expect("sockets");
    while again.listen(address).is_err() {
        world.turn();
    }
    world.providers[0] = Some((again, support::Answers::default()));
    world.until("another image", |world| world.log.refreshes() == 3);
    assert_eq!(world.log.states(streaming).last().expect("some"), "Open / Ok / None / ''");
    assert_eq!(world.answers(0).requests.len(), 1);
}

/// Items whose requests, one by one, are many times what may wait for the
/// server: opened little by little, lost, and had again.
fn comes_back_with_more_than_may_wait(takes_batches: bool) {
    const ITEMS: usize = 1_000;
    let mut provider_config = usual();
    if !takes_batches {
        provider_config.features.support_batch_requests = None;
    }
    let (first, at) = provider(provider_config.clone());
    let address: SocketAddr = at.to_string().parse().expect("an address");
    let mut connect = ConnectConfig::default();
    connect.session.output =
        OutputLimits { breach_bytes: 8_000, ok_bytes: 2_000, max_bytes: 16_000 };
    let consumer = Consumer::with_channel(config([at]), ReactorConfig::default(), connect);
    let mut world = World::new(consumer.expect("sockets"), vec![first]);
    let names: Vec<_> = (0..ITEMS).map(|index| format!("ITEM{index:04}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let spec = ItemSpec::new("FEED", "").fields(1..=60);
    let mut items = Vec::new();
    for some in names.chunks(20) {
        let opened = world.consumer.with(|requests| requests.open_batch(&spec, some));
        items.extend(opened.expect("room"));
        world.until("their images", |world| world.log.refreshes() == items.len());
    }
    world.stop(0);
    let mut again = Provider::new(provider_config).expect("sockets");
    while again.listen(address).is_err() {
        world.turn();
    }
    world.providers[0] = Some((again, support::Answers::default()));
    world.until("all images again", |world| world.log.refreshes() == 2 * ITEMS);
    let downs = world.log.events.iter().filter(|told| matches!(told, Told::Down { .. })).count();
    let ups = world.answers(0).connected;
    assert_eq!((ups, world.answers(0).requests.len()), (1, ITEMS), "{downs} times down");
    for item in items {
        assert_eq!(world.log.states(item).last().expect("some"), "Open / Ok / None / ''");
    }
}

#[test]
fn what_exceeds_the_output_limit_is_requested_again_in_batches() {
    comes_back_with_more_than_may_wait(true);
}

#[test]
fn what_exceeds_the_output_limit_is_requested_again_as_the_server_reads() {
    comes_back_with_more_than_may_wait(false);
}

#[test]
fn an_item_can_be_opened_while_there_is_no_connection() {
    let (unused, gone) = provider(usual());
    // While the first one is there, the second has another port.
    let (second, there) = provider(usual());
    drop(unused);
    let mut world = World::new(consumer(config([gone, there])), vec![second]);
    world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    world.until("an image", |world| world.log.refreshes() == 1);
    assert_eq!(world.log.events[0], Told::Down { server: 0 });
}

#[test]
fn attempts_can_be_limited_and_items_are_over_then() {
    let (unused, gone) = provider(usual());
    drop(unused);
    let mut limited = config([gone]);
    limited.reconnect.max_attempts = Some(3);
    let mut world = World::new(consumer(limited), vec![]);
    let item = world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    world.until("the end", |world| !world.log.of(item).is_empty());
    let downs = world.log.events.iter().filter(|told| matches!(told, Told::Down { .. })).count();
    assert_eq!(downs, 3);
    assert_eq!(world.log.states(item), ["Closed / Suspect / None / 'Login stream was closed.'"]);
}

/// Lets nobody in but after some attempts.
struct Bouncer {
    refusals: usize,
    stream: StreamState,
    answers: support::Answers,
}

impl ProviderHandler for Bouncer {
    fn login(&mut self, _: SessionId, request: &LoginRequest) -> Result<(), StateBuf> {
        assert_eq!(request.user_name, "user");
        if self.refusals == 0 {
            return Ok(());
        }
        self.refusals -= 1;
        Err(StateBuf::new(self.stream, DataState::SUSPECT, StateCode::NOT_ENTITLED, "no"))
    }

    fn event(&mut self, event: ProviderEvent<'_>, responses: &mut Responses<'_>) {
        self.answers.answer(event, responses);
    }
}

fn bounce(refusals: usize, stream: StreamState, is_done: impl Fn(&Log) -> bool) -> Log {
    let (mut provider, at) = provider(usual());
    let mut consumer = consumer(config([at]));
    consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    let mut bouncer = Bouncer { refusals, stream, answers: support::Answers::default() };
    let mut log = Log::default();
    let turn = Some(std::time::Duration::from_millis(1));
    for _ in 0..60_000 {
        if is_done(&log) {
            return log;
        }
        consumer.poll(turn, &mut |event: ConsumerEvent<'_>, _: &mut Requests<'_>| log.note(event));
        provider.poll(Some(std::time::Duration::ZERO), &mut bouncer);
    }
    panic!("never done: {log:?}");
}

#[test]
fn a_login_refused_with_recovery_is_tried_again() {
    let log = bounce(2, StreamState::CLOSED_RECOVER, |log| log.refreshes() == 1);
    let refused = Told::Login("ClosedRecover / Suspect / NotAuthorized / 'no'".to_owned());
    assert_eq!(log.events.iter().filter(|told| **told == refused).count(), 2);
}

#[test]
fn a_login_refused_for_good_ends_everything() {
    let log = bounce(1, StreamState::CLOSED, |log| log.events.len() == 2);
    assert_eq!(log.events[0], Told::Login("Closed / Suspect / NotAuthorized / 'no'".to_owned()));
    let Told::Status { state, .. } = &log.events[1] else { panic!("{log:?}") };
    assert_eq!(state, "Closed / Suspect / None / 'Login stream was closed.'");
}

#[test]
fn a_request_without_an_answer_is_given_up_and_made_again() {
    let (silent, at) = provider(usual());
    let impatient =
        ConsumerConfig { request_timeout: std::time::Duration::from_millis(20), ..config([at]) };
    let mut world = World::new(consumer(impatient), vec![silent]);
    world.providers[0].as_mut().expect("there").1.is_silent = true;
    let item = world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    world.until("another request", |world| world.answers(0).requests.len() == 2);
    assert_eq!(world.log.states(item)[0], "Open / Suspect / Timeout / 'Request timeout'");
    assert_eq!(world.answers(0).closed.len(), 1);
}

#[test]
fn logging_out_ends_the_connection() {
    let mut world = World::usual();
    world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    world.until("an image", |world| world.log.refreshes() == 1);
    world.consumer.with(|requests| {
        requests.log_out();
    });
    world.until("the close", |world| world.answers(0).closed.len() == 1);
}
