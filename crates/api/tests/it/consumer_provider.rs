//! A consumer and a provider over loopback sockets.

use crate::support::{self, ASK, BID, Told, World, config, consumer, provider, quote, service};
use tapeline_api::{
    ApiError, ConsumerConfig, DictionarySource, GenericHead, ItemChange, ItemSpec, NoPayload,
    PostHead, ProviderConfig, ProviderEvent, RefreshHead, Responses, ServiceRef, UpdateHead,
    encode_update,
};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_omm::directory::{FilterContent, FilterEntry, ServiceEntry, ServiceState};
use tapeline_omm::market::Part;
use tapeline_omm::view::View;
use tapeline_rwf::{DataType, Domain, Encoded, NakCode, Real, StateCode};

#[test]
fn an_item_gets_its_image_and_its_updates() {
    let mut world = World::usual();
    let item = world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    world.until("an image", |world| world.log.refreshes() == 1);
    let (stream, name) = world.answers(0).requests[0].clone();
    assert_eq!(name, "TRI.N");
    world.provider().with(|responses| {
        let bid = [(BID, Real::decimal(4513, 2).into())];
        responses.update(stream, &UpdateHead::QUOTE, &bid).expect("sent");
    });
    world.until("an update", |world| world.log.updates() == 1);
    assert_eq!(
        world.log.of(item),
        [
            &Told::Refresh {
                handle: item,
                state: "Open / Ok / None / ''".to_owned(),
                solicited: true,
                fields: vec![(BID, "0.00".to_owned()), (ASK, "0.03".to_owned())],
            },
            &Told::Update { handle: item, fields: vec![(BID, "45.13".to_owned())] },
        ]
    );
}

#[test]
fn a_thousand_items_are_served_and_updated_in_one_go() {
    const ITEMS: usize = 1000;
    let mut world = World::usual();
    for index in 0..ITEMS {
        let name = format!("ITEM{index}");
        world.consumer.open(&ItemSpec::new("FEED", &name)).expect("room");
    }
    world.until("all images", |world| world.log.refreshes() == ITEMS);
    let streams: Vec<_> = world.answers(0).requests.iter().map(|(stream, _)| *stream).collect();
    let mut buffer = Vec::new();
    let head = UpdateHead::QUOTE;
    let len = encode_update(&mut buffer, Domain::MARKET_PRICE, &head, &quote(7)).expect("valid");
    let sent = world.provider().with(|responses| responses.update_all(&streams, &buffer[..len]));
    assert_eq!(sent.expect("an update"), ITEMS);
    world.until("all updates", |world| world.log.updates() == ITEMS);
    // In the order they were opened in.
    let names: Vec<_> = world.answers(0).requests.iter().map(|(_, name)| name.clone()).collect();
    assert_eq!(names, (0..ITEMS).map(|index| format!("ITEM{index}")).collect::<Vec<_>>());
}

#[test]
fn a_snapshot_is_over_with_its_image() {
    let mut world = World::usual();
    let item = world.consumer.open(&ItemSpec::new("FEED", "TRI.N").snapshot()).expect("room");
    world.until("an image", |world| world.log.refreshes() == 1);
    assert_eq!(world.log.states(item), ["NonStreaming / Ok / None / ''"]);
    let (open, info) =
        world.consumer.with(|requests| (requests.open_items(), requests.item(item).is_some()));
    assert_eq!((open, info), (0, false));
    let stream = world.answers(0).requests[0].0;
    let update =
        world.provider().with(|responses| responses.update(stream, &UpdateHead::QUOTE, &quote(1)));
    assert!(matches!(update, Err(ApiError::Void)));
}

#[test]
fn an_image_may_come_in_parts() {
    let mut world = World::usual();
    let spec = ItemSpec::new("FEED", "TRI.N").domain(Domain::MARKET_BY_ORDER);
    world.consumer.open(&spec).expect("room");
    let send = |event: ProviderEvent<'_>, responses: &mut Responses<'_>| {
        let ProviderEvent::Request { stream, .. } = event else { return };
        for number in 0..3 {
            let part = Part::numbered(number, number == 2);
            let head = RefreshHead { part, ..RefreshHead::default() };
            responses.refresh(stream, &head, &quote(i64::from(number))).expect("in order");
        }
        let part = Part::numbered(2, true);
        let head = RefreshHead { part, ..RefreshHead::default() };
        let out_of_order = responses.refresh(stream, &head, &NoPayload);
        assert!(matches!(out_of_order, Err(ApiError::Held(_))));
    };
    world.until_with("three parts", send, |world| world.log.refreshes() == 3);
}

#[test]
fn a_batch_opens_all_its_items_also_where_batches_are_not_supported() {
    let mut without = ProviderConfig::new([service().entry()]);
    without.features.support_batch_requests = None;
    for provider_config in [ProviderConfig::new([service().entry()]), without] {
        let mut world = World::with(provider_config);
        let names = ["A", "B", "C"];
        let spec = ItemSpec::new("FEED", "").fields([BID]);
        let items = world.consumer.with(|requests| requests.open_batch(&spec, &names));
        let items = items.expect("room");
        world.until("all images", |world| world.log.refreshes() == 3);
        let asked: Vec<_> =
            world.answers(0).requests.iter().map(|(_, name)| name.as_str()).collect();
        assert_eq!(asked, names);
        for (item, name) in items.iter().zip(names) {
            let told = world.log.of(*item);
            let [Told::Refresh { fields, .. }] = &told[..] else { panic!("{told:?}") };
            assert_eq!(fields, &[(BID, "0.00".to_owned())]);
            world.consumer.with(|requests| {
                let info = requests.item(*item).expect("open");
                assert_eq!(*info.name, name);
            });
        }
        // The stream of the batch is over too.
        world.turn();
        assert_eq!(world.consumer.with(|requests| requests.open_items()), 3);
    }
}

#[test]
fn a_view_restricts_images_and_updates_and_can_change() {
    let mut world = World::usual();
    let item = world.consumer.open(&ItemSpec::new("FEED", "TRI.N").fields([BID])).expect("room");
    world.until("an image", |world| world.log.refreshes() == 1);
    let stream = world.answers(0).requests[0].0;
    world.provider().with(|responses| {
        // Of this update nothing is left.
        let ask = [(ASK, Real::decimal(1, 2).into())];
        responses.update(stream, &UpdateHead::QUOTE, &ask).expect("dropped");
        responses.update(stream, &UpdateHead::QUOTE, &quote(100)).expect("sent");
    });
    world.until("an update", |world| world.log.updates() == 1);
    assert_eq!(
        world.log.of(item)[1],
        &Told::Update { handle: item, fields: vec![(BID, "1.00".to_owned())] }
    );
    let change = ItemChange { view: Some(Some(View::of_fields([ASK]))), ..ItemChange::default() };
    world.consumer.with(|requests| requests.change(item, change)).expect("open");
    world.until("another image", |world| world.log.refreshes() == 2);
    let Told::Refresh { fields, solicited, .. } = world.log.of(item)[2] else { panic!("an image") };
    assert_eq!((fields.as_slice(), *solicited), (&[(ASK, "0.03".to_owned())][..], true));
    let change = ItemChange { view: Some(None), ..ItemChange::default() };
    world.consumer.with(|requests| requests.change(item, change)).expect("open");
    world.until("the full image", |world| world.log.refreshes() == 3);
    let Told::Refresh { fields, .. } = world.log.of(item)[3] else { panic!("an image") };
    assert_eq!(fields.len(), 2);
}

#[test]
fn a_paused_item_gets_no_updates_and_an_image_when_it_goes_on() {
    let mut world = World::usual();
    let item = world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    world.until("an image", |world| world.log.refreshes() == 1);
    world.consumer.with(|requests| requests.pause(item)).expect("open");
    world.until("the pause", |world| world.answers(0).reissues.len() == 1);
    let stream = world.answers(0).requests[0].0;
    let held =
        world.provider().with(|responses| responses.update(stream, &UpdateHead::QUOTE, &quote(1)));
    assert!(matches!(held, Err(ApiError::Held(_))));
    world.consumer.with(|requests| requests.resume(item)).expect("open");
    world.until("an image", |world| world.log.refreshes() == 2);
    assert_eq!(world.log.updates(), 0);
}

#[test]
fn posts_on_and_off_stream_are_answered() {
    let mut world = World::usual();
    let item = world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    world.until("an image", |world| world.log.refreshes() == 1);
    let (on, off, silent) = world.consumer.with(|requests| {
        let head = PostHead::default();
        let on = requests.post(item, &head, &quote(1)).expect("sent");
        let domain = Domain::MARKET_PRICE;
        let off = requests
            .post_off_stream(ServiceRef::Name("FEED"), "IBM.N", domain, &head, &quote(2))
            .expect("sent");
        let quiet = PostHead { ack: false, ..head };
        (on, off, requests.post(item, &quiet, &quote(3)).expect("sent"))
    });
    assert!(on != off && off != silent);
    let posts = std::cell::RefCell::new(Vec::new());
    let answer = |event: ProviderEvent<'_>, responses: &mut Responses<'_>| {
        let ProviderEvent::Post { receipt, stream, post, msg } = event else { return };
        let name = post.item.map(|item| String::from_utf8_lossy(item.name).into_owned());
        posts.borrow_mut().push((stream.is_some(), name, support::fields_of(&msg.payload).len()));
        match stream {
            Some(_) => responses.ack(receipt).expect("sent"),
            None => responses.nak(receipt, NakCode::SYMBOL_UNKNOWN, "unknown").expect("sent"),
        }
    };
    let acks = |world: &World| {
        let acks = world.log.events.iter().filter(|told| matches!(told, Told::Ack { .. }));
        acks.count() == 2 && posts.borrow().len() == 3
    };
    world.until_with("two acks", answer, acks);
    let is_ack = |told: &&Told| matches!(told, Told::Ack { .. });
    let acks: Vec<_> = world.log.events.iter().filter(is_ack).collect();
    let nak = Some("SYMBOL_UNKNOWN".to_owned());
    assert_eq!(
        acks,
        [
            &Told::Ack { handle: Some(item), id: on, nak: None },
            &Told::Ack { handle: None, id: off, nak },
        ]
    );
    assert_eq!(
        posts.into_inner(),
        [(true, None, 2), (false, Some("IBM.N".to_owned()), 2), (true, None, 2)]
    );
}

#[test]
fn posts_are_refused_here_where_the_provider_takes_none() {
    let mut without = ProviderConfig::new([service().entry()]);
    without.features.support_post = None;
    let mut world = World::with(without);
    let item = world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    world.until("an image", |world| world.log.refreshes() == 1);
    let post = world.consumer.with(|requests| requests.post(item, &PostHead::default(), &quote(1)));
    assert_eq!(post.expect_err("refused").to_string(), "Posting not supported by provider");
}

#[test]
fn generic_messages_go_both_ways() {
    let mut world = World::usual();
    let item = world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    world.until("an image", |world| world.log.refreshes() == 1);
    let ping = Encoded::new(DataType::OPAQUE, b"ping");
    let head = GenericHead::named("Echo");
    world.consumer.with(|requests| requests.generic(item, &head, &ping)).expect("sent");
    let echo = |event: ProviderEvent<'_>, responses: &mut Responses<'_>| {
        if let ProviderEvent::Generic { stream: Some(stream), msg, .. } = event {
            assert_eq!(msg.key.and_then(|key| key.name), Some(&b"Echo"[..]));
            responses.generic(stream, &GenericHead::default(), &msg.payload).expect("sent");
        }
    };
    let pong = Told::Generic { handle: Some(item), payload: b"ping".to_vec() };
    world.until_with("an echo", echo, |world| world.log.events.contains(&pong));
}

#[test]
fn a_private_stream_is_marked_as_one_and_not_a_duplicate() {
    let mut world = World::usual();
    let shared = world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    let private = world.consumer.open(&ItemSpec::new("FEED", "TRI.N").private()).expect("room");
    world.until("two images", |world| world.log.refreshes() == 2);
    for item in [shared, private] {
        assert_eq!(world.log.states(item), ["Open / Ok / None / ''"]);
    }
    let streams: Vec<_> = world.answers(0).requests.iter().map(|(stream, _)| *stream).collect();
    let is_private = streams.into_iter().map(|stream| {
        world.provider().with(|responses| responses.stream(stream).expect("open").private)
    });
    assert_eq!(is_private.collect::<Vec<_>>(), [false, true]);
}

#[test]
fn a_duplicate_is_refused_unless_it_is_accepted() {
    let config = ProviderConfig::new([service().entry()]);
    let accepting = ProviderConfig { accept_duplicates: true, ..config.clone() };
    for (config, state) in [
        (
            config,
            "Open / Suspect / UsageError / 'Request Message rejected - Item already open with \
             exact same message key on another stream.'",
        ),
        (accepting, "Open / Ok / None / ''"),
    ] {
        let mut world = World::with(config);
        world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
        world.until("an image", |world| world.log.refreshes() == 1);
        let second = world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
        world.until("an answer", |world| !world.log.of(second).is_empty());
        assert_eq!(world.log.states(second)[0], state);
    }
}

#[test]
fn an_item_that_does_not_exist_is_closed() {
    let mut world = World::usual();
    let item = world.consumer.open(&ItemSpec::new("FEED", "NONE")).expect("room");
    let refuse = |event: ProviderEvent<'_>, responses: &mut Responses<'_>| {
        if let ProviderEvent::Request { stream, .. } = event {
            let text = "The record could not be found";
            responses.close(stream, StateCode::NOT_FOUND, text).expect("sent");
        }
    };
    world.until_with("a status", refuse, |world| !world.log.of(item).is_empty());
    assert_eq!(
        world.log.states(item),
        ["Closed / Suspect / NotFound / 'The record could not be found'"]
    );
    assert!(matches!(world.consumer.with(|requests| requests.pause(item)), Err(ApiError::Void)));
}

#[test]
fn a_closed_item_is_closed_at_the_provider_too() {
    let mut world = World::usual();
    let item = world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    world.until("an image", |world| world.log.refreshes() == 1);
    world.consumer.close(item);
    world.until("a close", |world| world.answers(0).closed.len() == 1);
    assert_eq!(world.answers(0).closed[0], world.answers(0).requests[0].0);
    assert_eq!(world.provider().with(|responses| responses.open_streams()), 0);
}

#[test]
fn the_dictionary_is_there_before_the_first_image() {
    let dictionary = FieldDictionary::builtin();
    let (fields, tables) = (dictionary.fields().len(), dictionary.enum_tables().len());
    let shared = std::sync::Arc::new(dictionary.clone());
    let provider_config = ProviderConfig::new([service().entry()]).dictionary(shared);
    let (provider, server) = provider(provider_config);
    let config = ConsumerConfig { dictionary: DictionarySource::Download, ..config([server]) };
    let mut world = World::new(consumer(config), vec![provider]);
    world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    world.until("an image", |world| world.log.refreshes() == 1);
    let told = &world.log.events;
    assert_eq!(told[1], Told::Dictionary { fields, tables });
    assert_eq!(told[2], Told::Ready);
    assert!(matches!(told[3], Told::Refresh { .. }));
}

#[test]
fn the_open_window_is_obeyed() {
    let mut world = World::with(ProviderConfig::new([service().open_window(2).entry()]));
    world.providers[0].as_mut().expect("a provider").1.is_silent = true;
    for name in ["A", "B", "C", "D"] {
        world.consumer.open(&ItemSpec::new("FEED", name)).expect("room");
    }
    world.until("two requests", |world| world.answers(0).requests.len() == 2);
    for _ in 0..20 {
        world.turn();
    }
    assert_eq!(world.answers(0).requests.len(), 2);
    let (provider, answers) = world.providers[0].as_mut().expect("a provider");
    let stream = answers.requests[0].0;
    provider.with(|responses| answers.image(stream, responses));
    world.until("a third request", |world| world.answers(0).requests.len() == 3);
    assert_eq!(world.answers(0).requests[2].1, "C");
}

#[test]
fn items_of_a_service_that_is_down_wait_for_it() {
    let mut world = World::with(ProviderConfig::new([service().state(false, true).entry()]));
    let item = world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    let other = world.consumer.open(&ItemSpec::new("OTHER", "TRI.N")).expect("room");
    world.until("two statuses", |world| {
        !world.log.of(item).is_empty() && !world.log.of(other).is_empty()
    });
    assert_eq!(world.log.states(item), ["Open / Suspect / None / 'Service not up'"]);
    assert_eq!(world.log.states(other), ["Open / Suspect / None / 'Service not available'"]);
    let up = FilterEntry::update(FilterContent::State(ServiceState::new(true, true)));
    world.provider().with(|responses| {
        responses.update_directory(vec![ServiceEntry::update(1, vec![up])]);
    });
    world.until("an image", |world| world.log.refreshes() == 1);
    assert_eq!(world.log.of(other).len(), 1);
}

#[test]
fn parts_without_numbers_are_one_image() {
    let mut world = World::usual();
    world.consumer.open(&ItemSpec::new("FEED", "TRI.N")).expect("room");
    world.until("an image", |world| world.log.refreshes() == 1);
    let (stream, _) = world.answers(0).requests[0].clone();
    world.provider().with(|responses| {
        for is_last in [false, false, true] {
            let head =
                RefreshHead { part: Part { number: None, is_last }, ..RefreshHead::default() };
            responses.refresh(stream, &head, &quote(7)).expect("sent");
        }
    });
    world.until("all parts", |world| world.log.refreshes() == 4);
    assert_eq!(world.log.clearing, [true, true, false, false]);
}
