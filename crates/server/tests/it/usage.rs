//! What is written down of usage.

use std::time::Duration;

use crate::entitled::{L1, accept_all, ask, locked_image, mount, world};
use crate::support::*;

const SECOND: Duration = Duration::from_secs(1);
const DAY_SECONDS: u32 = 24 * 60 * 60;

/// What a journal says of usage is what decided when it happened, and of which mount
/// and stream it was: another policy takes nothing of it back.
#[test]
fn records_of_usage_name_products_mounts_and_streams() {
    let mut world = world();
    assert_eq!(world.usages(), ["ServerStart  0/0"]);
    let (first, second) = (mount(&mut world, "bob"), mount(&mut world, "ann"));
    world.usages();
    ask(&mut world, &[first, second], "LOCKED");
    world.item(HUB, 1, 1, &locked_image(Some(L1), &[(22, 1)]));
    assert_eq!(world.usages(), ["StartWatch bob 0/5 L1", "StartWatch ann 1/5 L1"]);
    // A code in PROD_PERM, and a rule for a name: by the product, and by none.
    world.say(second, &request(6, "OPEN.A"));
    world.say(first, &request(6, "CODED"));
    accept_all(&mut world, 2);
    world.item(HUB, 2, 1, &locked_image(None, &[(22, 1)]));
    world.item(HUB, 3, 1, &locked_image(None, &[(1, 63)]));
    assert_eq!(world.usages(), ["StartWatch ann 1/6", "StartWatch bob 0/6 L2"]);
}

/// A month's journal tells by itself who watched in it.
#[test]
fn watches_that_are_open_at_the_turn_of_the_month_are_written_down_anew() {
    let mut world = world();
    let ann = mount(&mut world, "ann");
    ask(&mut world, &[ann], "LOCKED");
    world.item(HUB, 1, 1, &locked_image(Some(L1), &[(22, 1)]));
    world.usages();
    // The world begins at midnight of 25 November.
    world.pass(SECOND * (6 * DAY_SECONDS - 1));
    assert_eq!(world.usages(), [""; 0]);
    world.pass(SECOND);
    assert_eq!(world.usages(), ["ContinueWatch ann 0/5 L1"]);
    world.pass(SECOND * (31 * DAY_SECONDS));
    assert_eq!(world.usages(), ["ContinueWatch ann 0/5 L1"]);
}
