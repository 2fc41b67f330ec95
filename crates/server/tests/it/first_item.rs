//! From the login to the first update.

use crate::support::*;

#[test]
fn a_consumer_goes_from_login_to_updates() {
    let mut world = World::with_feed();
    let consumer = world.connect();
    world.say(consumer, &login(1, "user"));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 1 LOGIN user solicited clear Open / Ok / None / \
             'Login accepted by host localhost.'"]
    );
    world.say(consumer, &directory_request(2));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 2 SOURCE solicited clear Open / Ok / None / \
             'Source Directory Refresh Completed'"]
    );
    world.say(consumer, &request(5, "TRI.N"));
    assert_eq!(
        world.published(),
        ["Open 100 0 REQUEST 0 MARKET_PRICE TRI.N@1 streaming 1/1 REALTIME/TICK_BY_TICK"]
    );
    assert_eq!(world.heard(consumer), [""; 0]);
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 100)]));
    assert_eq!(
        world.heard(consumer),
        ["REFRESH 5 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / 'All is well' \
             {22=100}"]
    );
    world.item(HUB, 17, 2, &update(&[(22, 101)]));
    assert_eq!(world.heard(consumer), ["UPDATE 5 MARKET_PRICE QUOTE {22=101}"]);
    world.say(consumer, &close(5));
    assert_eq!(world.published(), ["Close 100 0"]);
    world.item(HUB, 17, 3, &update(&[(22, 102)]));
    assert_eq!(world.heard(consumer), [""; 0]);
}

#[test]
fn the_second_consumer_is_served_from_the_cache() {
    let mut world = World::with_feed();
    let (first, second) = (world.mount(), world.mount());
    world.open_item(first, 5, "TRI.N", 17);
    world.item(HUB, 17, 2, &update(&[(25, 99)]));
    assert_eq!(world.heard(first).len(), 1);
    world.say(second, &request(9, "TRI.N"));
    assert_eq!(world.published(), [""; 0]);
    assert_eq!(
        world.heard(second),
        ["REFRESH 9 MARKET_PRICE TRI.N@1 solicited clear Open / Ok / None / 'All is well' \
             {22=100 25=99}"]
    );
    assert_eq!(world.heard(first), [""; 0]);
    world.item(HUB, 17, 3, &update(&[(22, 105)]));
    assert_eq!(world.heard(first), ["UPDATE 5 MARKET_PRICE QUOTE {22=105}"]);
    assert_eq!(world.heard(second), ["UPDATE 9 MARKET_PRICE QUOTE {22=105}"]);
}
