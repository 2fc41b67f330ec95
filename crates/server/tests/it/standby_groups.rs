//! Servers of one warm standby group that are not alike: what an operator can see of it.
//! The client's library compares how services are described, leaves one of the servers
//! out, and says so in its own log.

use std::time::Duration;

use tapeline_omm::login::WarmStandbyMode;
use tapeline_server::ServerConfig;

use crate::standby::standby_mount;
use crate::support::*;

/// Longer than a client takes to compare.
const LATER: Duration = Duration::from_secs(2);

#[test]
fn a_client_that_leaves_right_after_it_was_told_of_services_is_counted() {
    let mut world = World::with_feed();
    let left_out = |world: &World| world.core.statistics().mounts_left_out;
    let consumer = standby_mount(&mut world);
    world.say(consumer, &directory_request(2));
    world.disconnect(consumer);
    assert_eq!(left_out(&world), 1);

    // Another service may not be to its liking either, but that a service is down is no reason.
    for (entry, count) in [(service(2, "RATES", true), 2), (service_state(1, false), 2)] {
        let consumer = standby_mount(&mut world);
        world.say(consumer, &directory_request(2));
        world.pass(LATER);
        world.hub_update(HUB, vec![entry]);
        world.disconnect(consumer);
        assert_eq!(left_out(&world), count);
    }
}

#[test]
fn a_client_that_compares_nothing_may_leave() {
    let mut world = World::with_feed();
    let plain = world.mount();
    world.say(plain, &directory_request(2));
    world.disconnect(plain);
    let active = world.mount();
    world.say(active, &login_role(WarmStandbyMode::Active));
    world.say(active, &directory_request(2));
    world.disconnect(active);
    let later = standby_mount(&mut world);
    world.say(later, &directory_request(2));
    world.pass(LATER);
    world.disconnect(later);
    assert_eq!(world.core.statistics().mounts_left_out, 0);
}

#[test]
fn a_number_that_depends_on_which_hub_was_first_is_counted() {
    for (fixed, count) in [(None, 1), (Some(9), 0)] {
        let service_ids = fixed.map(|id| ("FEED".to_owned(), id)).into_iter().collect();
        let mut world = World::with(ServerConfig { service_ids, ..ServerConfig::default() });
        world.hub_up(HUB);
        world.hub_directory(HUB, vec![service(1, "FEED", true)]);
        assert_eq!(world.core.statistics().numbers_differ, 0, "as its hub has it, or as wanted");
        world.hub_up(HUB_2);
        world.hub_directory(HUB_2, vec![service(2, "FEED", true), service(3, "RATES", true)]);
        assert_eq!(world.core.statistics().numbers_differ, count, "{fixed:?}");
        world.hub_update(HUB_2, vec![service_state(2, false)]);
        assert_eq!(world.core.statistics().numbers_differ, count, "once for each hub");
    }
}
