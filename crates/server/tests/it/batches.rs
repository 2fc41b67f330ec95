//! Batches on the wire.

use tapeline_omm::batch::write_stream_id_list;
use tapeline_omm::market::RequestPayload;
use tapeline_omm::view::View;
use tapeline_rwf::{CloseMsg, DataType, Domain, ElementListHead};

use crate::support::*;

fn batch(stream_id: i32, names: &[&str], view: Option<&View>) -> Vec<u8> {
    let names: Vec<_> = names.iter().map(|name| name.as_bytes()).collect();
    let payload = RequestPayload { items: Some(&names), view, ..RequestPayload::NONE };
    request_with(stream_id, "", &payload, |it| it.key.name = None)
}

const DONE: &str = "STATUS 10 MARKET_PRICE Closed / Ok / None / 'Stream closed for batch'";

#[test]
fn a_batch_opens_its_items_on_the_streams_behind_its_own() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    let view = View::of_fields([22]);
    world.say(consumer, &batch(10, &["TRI.N", "IBM.N"], Some(&view)));
    assert_eq!(world.heard(consumer), [DONE]);
    assert_eq!(
        world.published(),
        [
            "Open 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK",
            "Open 100 1 REQUEST 0 MARKET_PRICE IBM.N@1 streaming 1/1 REALTIME/TICK_BY_TICK",
        ]
    );
    world.accept(HUB, 17, 0);
    world.accept(HUB, 18, 1);
    world.item(HUB, 18, 1, &image(&[(22, 1), (25, 2)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 12 MARKET_PRICE IBM.N@1 solicited clear Open / Ok / None / 'All is well' {22=1}"]
    );
    // The stream of the batch itself is free.
    world.open_item(consumer, 10, "MSFT.O", 19);
}

#[test]
fn a_batch_with_a_stream_that_is_in_use_is_refused_whole() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 12, "TRI.N", 17);
    world.say(consumer, &batch(10, &["A", "B"], None));
    assert_eq!(
        world.heard(consumer),
        ["STATUS 10 MARKET_PRICE Closed / Suspect / UsageError / 'stream 12 is in use'"]
    );
    assert_eq!(world.published(), [""; 0]);
}

#[test]
fn a_batch_waits_item_by_item_for_its_service() {
    let mut world = World::with_feed();
    world.hub_update(HUB, vec![service_state(1, false)]);
    let consumer = world.mount();
    world.say(consumer, &batch(10, &["TRI.N", "IBM.N"], None));
    assert_eq!(
        world.heard(consumer),
        [
            DONE,
            "STATUS 11 MARKET_PRICE TRI.N@1 Open / Suspect / None / 'Service not up'",
            "STATUS 12 MARKET_PRICE IBM.N@1 Open / Suspect / None / 'Service not up'",
        ]
    );
    world.hub_update(HUB, vec![service_state(1, true)]);
    assert_eq!(world.published().len(), 2);
}

#[test]
fn streams_are_paused_and_closed_in_batches() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    world.open_item(consumer, 5, "TRI.N", 17);
    world.open_item(consumer, 6, "IBM.N", 18);
    let payload = RequestPayload { stream_ids: Some(&[5, 6, 99]), ..RequestPayload::NONE };
    let pause = request_with(10, "", &payload, |it| {
        it.key.name = None;
        it.pause = true;
    });
    world.say(consumer, &pause);
    assert_eq!(world.heard(consumer), [DONE]);
    world.item(HUB, 17, 2, &update(&[(22, 1)]));
    world.item(HUB, 18, 2, &update(&[(22, 1)]));
    assert_eq!(world.heard(consumer), [""; 0]);
    let close = built(|encoder| {
        let msg = CloseMsg::new(Domain::MARKET_PRICE, 11);
        let payload = encoder.begin(&msg.into(), DataType::ELEMENT_LIST).expect("room");
        let mut list = payload.element_list(&ElementListHead::STANDARD).expect("room");
        write_stream_id_list(&mut list, [5, 6]).expect("room");
        list.finish().expect("room");
    });
    world.say(consumer, &close);
    assert_eq!(world.published(), ["Close 100 0", "Close 100 1"]);
}

#[test]
fn a_batch_whose_view_is_too_long_for_so_many_streams_is_refused_whole() {
    let mut world = World::with_feed();
    let consumer = world.mount();
    let names: Vec<_> = (0..2_000).map(|number| format!("I{number}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let view = View::of_fields(0..20_000);
    let refused = "STATUS 10 MARKET_PRICE Closed / Suspect / UsageError / \
                   'the view is too long for so many streams; make smaller batches'";
    world.say(consumer, &batch(10, &names, Some(&view)));
    assert_eq!(world.heard(consumer), [refused]);
    assert_eq!(world.published(), [""; 0]);
    let ids: Vec<_> = (100..2_100).collect();
    let payload =
        RequestPayload { stream_ids: Some(&ids), view: Some(&view), ..RequestPayload::NONE };
    world.say(consumer, &request_with(10, "", &payload, |it| it.key.name = None));
    assert_eq!(world.heard(consumer), [refused]);
    world.say(consumer, &batch(10, &names[..100], Some(&view)));
    assert_eq!(world.heard(consumer), [DONE]);
    assert_eq!(world.published().len(), 100);
}
