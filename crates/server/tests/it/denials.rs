//! What is denied is counted for the products that would have opened it.

use tapeline_rwf::DataState;

use super::entitled::{L1, L2, POLICY, accept_all, lock_status, locked_image, mount, world};
use crate::support::*;

/// The counts of all products, by name.
fn denied(world: &World) -> Vec<(String, u64)> {
    let rows = (0..world.core.core().product_places())
        .filter_map(|place| world.core.core().product_row(place));
    rows.map(|row| (row.name, row.denied)).collect()
}

#[track_caller]
fn assert_denied(world: &World, expected: &[(&str, u64)]) {
    let denied = denied(world);
    let denied: Vec<_> = denied.iter().map(|(name, count)| (name.as_str(), *count)).collect();
    assert_eq!(denied, expected);
}

#[test]
fn who_is_denied_an_item_lacks_a_product_and_so_does_who_loses_one() {
    let mut world = world();
    let (ann, bob) = (mount(&mut world, "ann"), mount(&mut world, "bob"));
    world.say(ann, &request(5, "VOD.L"));
    world.say(bob, &request(5, "VOD.L"));
    accept_all(&mut world, 1);
    assert_denied(&world, &[("L1", 0), ("L2", 0)]);
    world.item(HUB, 1, 1, &locked_image(Some(L1), &[(22, 100)]));
    assert_denied(&world, &[("L1", 0), ("L2", 0)]);
    // The item needs another product now, which ann has not.
    world.item(HUB, 1, 2, &lock_status(L2));
    assert_denied(&world, &[("L1", 0), ("L2", 1)]);
    // Who asks for what is known is denied at once.
    world.say(ann, &request(6, "VOD.L"));
    assert_denied(&world, &[("L1", 0), ("L2", 2)]);
    // What is refused before its lock is known is of no product.
    let poor = mount(&mut world, "poor");
    world.say(poor, &request(5, "BP.L"));
    assert_denied(&world, &[("L1", 0), ("L2", 2)]);
    assert_eq!(world.core.statistics().opens_denied, 2);
    assert_eq!(world.core.statistics().streams_revoked, 1);
    assert!(world.heard(bob).iter().all(|it| !it.contains(&DataState::SUSPECT.to_string())));
}

#[test]
fn counts_go_on_with_the_names_of_products_when_the_policy_changes() {
    let mut world = world();
    let ann = mount(&mut world, "ann");
    world.say(ann, &request(5, "VOD.L"));
    accept_all(&mut world, 1);
    world.item(HUB, 1, 1, &locked_image(Some(L2), &[(22, 100)]));
    assert_denied(&world, &[("L1", 0), ("L2", 1)]);
    let first =
        "[[product]]\nname = \"L0\"\nservice = \"FEED\"\npe = [61]\n[[product]]\nname = \"L1\"";
    world.enforce(&POLICY.replacen("[[product]]\nname = \"L1\"", first, 1));
    assert_denied(&world, &[("L0", 0), ("L1", 0), ("L2", 1)]);
    // One that is gone is forgotten.
    world.enforce(&POLICY.replace("\"L2\"", "\"L3\""));
    assert_denied(&world, &[("L1", 0), ("L3", 0)]);
}
