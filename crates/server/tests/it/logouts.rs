//! Logins that the server ends.

use std::time::Duration;

use crate::entitled::{POLICY, accept_all, ask, mount, world, world_with};
use crate::slices::slices;
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
    assert_eq!(world.log_out("ann"), 1);
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

#[test]
fn a_user_with_many_mounts_is_logged_out_in_slices_and_nobody_who_came_meanwhile() {
    let mut world = world();
    let anns: Vec<_> = (0..80).map(|_| mount(&mut world, "ann")).collect();
    let bob = mount(&mut world, "bob");
    world.is_late = true;
    world.out.sent.clear();
    assert_eq!(world.log_out("ann"), 80);
    assert!(world.out.sent.is_empty(), "not yet");
    // One of them is another user's before its turn comes.
    world.say(anns[0], &close(1));
    world.say(anns[0], &login(1, "cid"));
    world.heard(anns[0]);
    let slices = slices(&mut world);
    assert!(slices.len() > 1 && slices.iter().all(|(sent, _)| *sent <= 64), "{slices:?}");
    assert!(anns[1..].iter().all(|ann| world.heard(*ann)[0].contains("Force Logout from DACS.")));
    assert_eq!((world.heard(anns[0]), world.heard(bob)), (vec![], vec![]));
}
