//! Items that get another lock.

use crate::entitled::{L1, L2, ask, lock_status, locked_image, locked_update, mount, world};
use crate::support::*;

/// The update names the lock that the item has, and is one that demands it all the same.
#[test]
fn what_an_update_demanded_is_not_in_an_image_for_who_comes_by_a_later_lock() {
    let mut world = world();
    let (ann, bob) = (mount(&mut world, "ann"), mount(&mut world, "bob"));
    ask(&mut world, &[bob], "VOD.L");
    world.item(HUB, 1, 1, &locked_image(Some(L2), &[(22, 100)]));
    world.item(HUB, 1, 2, &locked_update(L2, &[(22, 101)]));
    world.item(HUB, 1, 3, &lock_status(L1));
    world.heard(bob);
    world.published();
    world.say(ann, &request(6, "VOD.L"));
    assert_eq!(world.heard(ann), [""; 0], "nothing that is kept");
    assert_eq!(world.published().len(), 1, "the hub is asked");
    world.item(HUB, 1, 4, &locked_image(Some(L1), &[(22, 102)]));
    assert!(world.heard(ann)[0].contains("22=102"));
}

/// What no update named a lock for is the item's, and goes by that.
#[test]
fn what_is_kept_goes_by_a_later_lock_where_no_update_named_one() {
    let mut world = world();
    let (ann, bob) = (mount(&mut world, "ann"), mount(&mut world, "bob"));
    ask(&mut world, &[bob], "VOD.L");
    world.item(HUB, 1, 1, &locked_image(Some(L2), &[(22, 100)]));
    world.item(HUB, 1, 2, &lock_status(L1));
    world.say(ann, &request(6, "VOD.L"));
    assert!(world.heard(ann)[0].contains("22=100"));
}
