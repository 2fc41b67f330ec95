//! Logins that the server ends.

use std::time::Duration;

use crate::entitled::{POLICY, accept_all, ask, mount, world, world_with};
use crate::support::*;

#[test]
fn who_may_log_in_until_a_day_is_logged_out_when_that_is_over() {
    let last = POLICY.replace("until = \"2026-11-24\"", "until = \"2026-11-25\"");
    let mut world = world_with(&last);
    let (ann, old) = (mount(&mut world, "ann"), mount(&mut world, "old"));
    ask(&mut world, &[ann, old], "OPEN.A");
    accept_all(&mut world, 17);
    world.heard(ann);
    world.heard(old);
    world.pass(Duration::from_secs(24 * 60 * 60 - 1));
    assert_eq!((world.heard(ann), world.heard(old)), (vec![], vec![]));
    world.pass(Duration::from_secs(1));
    assert_eq!(world.heard(ann), [""; 0]);
    let heard = world.heard(old);
    assert!(heard[0].contains("User old may not log in any more."), "{heard:?}");
    // And so on each of the days that follow.
    world.enforce(&last.replace("name = \"ann\"", "name = \"ann\"\nuntil = \"2026-11-26\""));
    world.pass(Duration::from_secs(2 * 24 * 60 * 60));
    let heard = world.heard(ann);
    assert!(heard[0].contains("User ann may not log in any more."), "{heard:?}");
}

#[test]
fn a_user_is_logged_out_by_an_operator_and_told_as_by_a_policy() {
    let mut world = world();
    let (ann, bob) = (mount(&mut world, "ann"), mount(&mut world, "bob"));
    world.log_out(ann);
    let heard = world.heard(ann);
    assert!(
        heard.len() == 1
            && heard[0].contains("Closed / Suspect / NotAuthorized / 'Force Logout from DACS.'"),
        "{heard:?}"
    );
    assert_eq!(world.heard(bob), [""; 0]);
    assert!(world.records().iter().any(|record| record.starts_with("Logout ann")));
    world.say(ann, &login(1, "ann"));
    assert_eq!(world.heard(ann).len(), 1, "its connection stays");
}
