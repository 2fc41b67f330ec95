//! What consumers, providers and publishers count of what they do.

use tapeline_api::{
    ConsumerCounters, ConsumerEvent, ItemSpec, PostHead, ProviderConfig, ProviderCounters,
    ProviderEvent, RefreshHead, Requests, Responses, StatusHead, UpdateHead, encode_update,
};
use tapeline_counters::{Counted, Registry};
use tapeline_rwf::{DataState, Domain, NakCode, State, StateCode, StreamState};

use crate::support::{self, World, config, quote, service};

/// Refuses every post; answers whatever else as usual.
fn refuse_posts(event: ProviderEvent<'_>, responses: &mut Responses<'_>) {
    if let ProviderEvent::Post { receipt, .. } = event {
        responses.nak(receipt, NakCode::SYMBOL_UNKNOWN, "unknown").expect("sent");
    }
}

#[test]
fn both_ends_of_a_conversation_count_the_same_messages() {
    let mut world = World::usual();
    let names = ["A", "B", "C"];
    let spec = ItemSpec::new("FEED", "");
    let items = world.consumer.with(|requests| requests.open_batch(&spec, &names)).expect("room");
    world.until("all images", |world| world.log.refreshes() == 3);
    let streams: Vec<_> = world.answers(0).requests.iter().map(|(stream, _)| *stream).collect();
    let mut buffer = Vec::new();
    let head = UpdateHead::QUOTE;
    let len = encode_update(&mut buffer, Domain::MARKET_PRICE, &head, &quote(7)).expect("valid");
    world.provider().with(|responses| {
        assert_eq!(responses.update_all(&streams, &buffer[..len]).expect("an update"), 3);
        responses.update(streams[0], &head, &quote(8)).expect("sent");
        responses.refresh(streams[0], &RefreshHead::default(), &quote(9)).expect("unasked");
        let late = State::new(StreamState::OPEN, DataState::SUSPECT, StateCode::NONE, "late");
        responses.status(streams[1], &StatusHead::of(late)).expect("sent");
        responses.close(streams[2], StateCode::NOT_FOUND, "gone").expect("sent");
    });
    let post =
        |requests: &mut Requests<'_>| requests.post(items[0], &PostHead::default(), &quote(1));
    world.consumer.with(post).expect("sent");
    world.until_with("the refusal of the post", refuse_posts, |world| {
        let counts = world.consumer.counters();
        (counts.posts_failed, counts.statuses) == (1, 2)
    });
    let seen = ConsumerCounters {
        items: 2,
        servers: 1,
        connected: 1,
        requests: 3,
        refreshes: 4,
        updates: 4,
        statuses: 2,
        posts: 1,
        posts_failed: 1,
        ..ConsumerCounters::default()
    };
    assert_eq!(world.consumer.counters(), seen);
    let given = ProviderCounters {
        clients: 1,
        streams: 2,
        connected: 1,
        requests: 3,
        refreshes: 4,
        updates: 4,
        statuses: 2,
        posts: 1,
        ..ProviderCounters::default()
    };
    assert_eq!(world.provider().counters(), given);
    let channel = world.consumer.channel_counters();
    assert!(channel.messages_received >= 4 + 4 + 2 && channel.bytes_sent > 0, "{channel:?}");
}

#[test]
fn a_lost_connection_counts_and_so_does_what_is_asked_for_again() {
    let (first, at_first) = support::provider(ProviderConfig::new([service().entry()]));
    let (second, at_second) = support::provider(ProviderConfig::new([service().entry()]));
    let consumer = support::consumer(config([at_first, at_second]));
    let mut world = World::new(consumer, vec![first, second]);
    world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    world.until("an image", |world| world.log.refreshes() == 1);
    world.stop(0);
    world.until("another image", |world| world.log.refreshes() == 2);
    let counts = world.consumer.counters();
    assert_eq!((counts.items, counts.requests, counts.refreshes), (1, 2, 2));
    assert_eq!(counts.connected, 2);
    assert!(counts.lost >= 1, "{counts:?}");
}

#[test]
fn an_application_shows_the_counts_of_its_consumer_with_their_bounds() {
    let (provider, server) = support::provider(ProviderConfig::new([service().entry()]));
    let config = tapeline_api::ConsumerConfig { max_items: 50, ..config([server]) };
    let bounds = config.bounds();
    let mut world = World::new(support::consumer(config), vec![provider]);
    let registry = Registry::default();
    let mut writer = registry.enter::<ConsumerCounters>("blotter", &bounds).expect("room");
    let item = world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    world.until("an image", |world| world.log.refreshes() == 1);
    writer.publish(&world.consumer.counters());
    world.consumer.close(item);
    writer.publish(&world.consumer.counters());
    let block = registry.blocks().next().expect("it is there");
    let names = ConsumerCounters::TABLE.counts.iter().map(|count| count.name);
    let items = names.clone().position(|name| name == "items").expect("a count");
    let shown = (block.value(items), block.peak(items), block.limit(items));
    assert_eq!(shown, (0, Some(1), Some(50)));
    let posts = names.clone().position(|name| name == "outstanding_posts").expect("a count");
    assert_eq!(block.limit(posts), Some(100_000));
    let mut hear = |_: ConsumerEvent<'_>, _: &mut Requests<'_>| {};
    world.consumer.poll(Some(std::time::Duration::ZERO), &mut hear);
}
