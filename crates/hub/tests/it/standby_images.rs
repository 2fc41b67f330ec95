//! Non-interactive providers that publish an item which another one has: the item goes
//! on with what they have when that one is gone.

use tapeline_channel::SessionId;
use tapeline_rwf::{DataState, RefreshFlags, State, StateCode, StreamState};

use super::published::{IMAGE, connected, publish, publish_suspect, publishing};
use crate::support::{A, World, config, provider};

/// A hub with server A, a provider that has TRI.N, and one that stands by with
/// the same item and the same image on stream -9.
fn with_standby() -> (World, SessionId, SessionId) {
    let (mut world, first) = publishing(config(0));
    world.open(A, 7, "TRI.N");
    let standby = connected(&mut world);
    world.says(standby, &publish(-9, "TRI.N"));
    world.heard_by(standby);
    world.forget();
    assert_eq!(world.core.counters().claims, 1);
    (world, first, standby)
}

/// How many items went on, of how many nobody was told, and who stands by now.
fn switches(world: &World) -> (u64, u64, u64) {
    let counters = world.core.counters();
    (counters.standby_switches, counters.standby_switches_unseen, counters.claims)
}

fn update_line(number: u32) -> String {
    format!("all #{number} Update 0 {} bytes", provider::update(-9, 4600).len())
}

const CHANNEL_DOWN: &str = "all #1 Status Open / Suspect / None / 'channel down.'";

#[test]
fn what_is_the_same_goes_on_without_a_word() {
    let (mut world, first, standby) = with_standby();
    for (session, stream_id) in [(first, -1), (standby, -9)] {
        world.says(session, &provider::update(stream_id, 4600));
    }
    assert_eq!(world.frames(), [update_line(1)], "once, from the one that has it");
    world.closed(first);
    assert_eq!(world.frames(), [""; 0]);
    assert_eq!(switches(&world), (1, 1, 0));
    world.says(standby, &provider::update(-9, 4601));
    assert_eq!(world.frames(), [update_line(2)]);
    world.pass(600_000);
    assert_eq!(world.frames(), [""; 0], "it does not expire");
}

#[test]
fn what_differs_is_replaced_by_what_the_standby_has() {
    let (mut world, first, standby) = with_standby();
    world.says(standby, &provider::update(-9, 4700));
    world.closed(first);
    let (_, image) = world.out.frames.last().cloned().expect("an image");
    let image_of_another = IMAGE.replace("None", "FailoverCompleted");
    assert_eq!(world.frames(), [format!("all #1 image {image_of_another}")]);
    let updated = provider::update(-9, 4700);
    assert_eq!(image[image.len() - 6..], updated[updated.len() - 6..]);
    assert_eq!(switches(&world), (1, 0, 0));
    world.says(standby, &provider::update(-9, 4701));
    assert_eq!(world.frames(), [update_line(2)]);
}

#[test]
fn the_one_that_comes_back_stands_by_for_the_other() {
    let (mut world, first, standby) = with_standby();
    world.closed(first);
    let back = connected(&mut world);
    world.says(back, &publish(-3, "TRI.N"));
    world.says(back, &provider::update(-3, 4600));
    world.forget();
    assert_eq!(switches(&world), (1, 1, 1));
    world.says(standby, &provider::update(-9, 4600));
    assert_eq!(world.frames(), [update_line(1)]);
    world.closed(standby);
    world.says(back, &provider::update(-3, 4601));
    assert_eq!(world.frames(), [update_line(2)]);
    assert_eq!(switches(&world), (2, 2, 0));
}

#[test]
fn one_that_withdraws_the_service_is_followed_by_the_other() {
    let (mut world, first, standby) = with_standby();
    world.says(first, &provider::directory_on(0, &[]));
    assert_eq!(world.frames(), [""; 0]);
    world.says(first, &provider::update(-1, 666));
    assert_eq!(world.frames(), [""; 0], "it does not have the item any more");
    world.says(standby, &provider::update(-9, 4601));
    assert_eq!(world.frames(), [update_line(1)]);
}

#[test]
fn an_image_that_is_not_whole_when_it_is_wanted_is_used_as_soon_as_it_is() {
    let (mut world, first) = publishing(config(0));
    world.open(A, 7, "TRI.N");
    let standby = connected(&mut world);
    world.says(
        standby,
        &provider::refresh_with(-9, "TRI.N", |msg| {
            (msg.part_num, msg.flags) = (Some(0), RefreshFlags::CLEAR_CACHE);
        }),
    );
    world.forget();
    world.closed(first);
    assert_eq!(world.frames(), [CHANNEL_DOWN]);
    world.says(standby, &provider::part(-9, 1, true));
    assert_eq!(world.frames(), [format!("all #2 image {IMAGE}")]);
    assert_eq!(switches(&world), (1, 0, 0));
    world.pass(600_000);
    assert_eq!(world.frames(), [""; 0], "it does not expire");
}

#[test]
fn one_that_is_not_sure_of_its_image_is_used_when_it_is() {
    let (mut world, first) = publishing(config(0));
    world.open(A, 7, "TRI.N");
    let standby = connected(&mut world);
    world.says(standby, &publish_suspect(-9, "TRI.N"));
    world.forget();
    world.closed(first);
    assert_eq!(world.frames(), [CHANNEL_DOWN]);
    world.says(standby, &provider::update(-9, 4600));
    assert_eq!(world.frames(), [""; 0], "its last value may not be the present one");
    world.says(standby, &provider::status(-9, State::open_ok("good again")));
    assert_eq!(
        world.frames(),
        [format!("all #2 image {}", IMAGE.replace("All is well", "good again"))]
    );
}

#[test]
fn what_an_unwatched_item_stands_at_is_what_the_standby_has() {
    let (mut world, first) = publishing(config(0));
    let standby = connected(&mut world);
    world.says(standby, &publish(-9, "TRI.N"));
    world.says(standby, &provider::update(-9, 4700));
    world.closed(first);
    world.open(A, 7, "TRI.N");
    let (_, image) = world.out.frames.last().cloned().expect("an image");
    let updated = provider::update(-9, 4700);
    assert_eq!(image[image.len() - 6..], updated[updated.len() - 6..]);
}

#[test]
fn of_several_that_stand_by_one_with_a_good_image_is_taken() {
    let (mut world, first) = publishing(config(0));
    world.open(A, 7, "TRI.N");
    let unsure = connected(&mut world);
    world.says(unsure, &publish_suspect(-9, "TRI.N"));
    let sure = connected(&mut world);
    world.says(sure, &publish(-5, "TRI.N"));
    world.forget();
    world.closed(first);
    assert_eq!(world.frames(), [""; 0]);
    assert_eq!(switches(&world), (1, 1, 1));
    world.says(sure, &provider::update(-5, 4600));
    assert_eq!(world.frames(), [update_line(1)]);
    // The other one is still there, and as good as before: the item is kept for it.
    let gone = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NONE, "delisted");
    world.says(unsure, &provider::status(-9, gone));
    assert_eq!(switches(&world), (1, 1, 0));
}

#[test]
fn many_items_go_on_bit_by_bit_and_none_is_told() {
    let mut config = config(0);
    config.limits.items_per_slice = 10;
    let (mut world, first) = publishing(config);
    let standby = connected(&mut world);
    for number in 0..100 {
        let name = format!("ITEM{number}");
        world.says(first, &publish(-100 - number, &name));
        world.says(standby, &publish(-100 - number, &name));
        world.open(A, 10 + number.unsigned_abs(), &name);
    }
    world.forget();
    world.closed(first);
    // Before the turn of this one has come, its provider that stands by publishes it.
    world.says(standby, &publish(-199, "ITEM99"));
    assert_eq!(world.frames().len(), 1, "it is an image of its own");
    world.pass(0);
    let counters = world.core.counters();
    assert_eq!((counters.standby_switches, counters.claims), (100, 0));
    assert_eq!(world.frames(), [""; 0]);
}
