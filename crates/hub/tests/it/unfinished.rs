//! Images that do not end, and images in the middle of others.

use crate::support::{A, B, World, config, item_request, provider};
use tapeline_channel::SessionId;
use tapeline_hub::HubConfig;
use tapeline_rwf::RefreshFlags;

const C: tapeline_backbone::Incarnation = tapeline_backbone::Incarnation(0xC);
const SUSPECT: &str = "Status Open / Suspect / None / 'Image was not completed by its provider.'";

const IMAGE: &str = "Refresh Open / Ok / None / 'All is well' clear complete";

/// A part of an image that was not asked for.
fn unasked(stream_id: i32, number: Option<u16>, is_last: bool) -> Vec<u8> {
    provider::refresh_with(stream_id, "TRI.N", |msg| {
        msg.part_num = number;
        msg.flags = RefreshFlags::empty();
        msg.flags.set(RefreshFlags::REFRESH_COMPLETE, is_last);
    })
}

/// Server A has TRI.N, live, on stream 3; B is there.
fn live(config: HubConfig) -> (World, SessionId) {
    let (mut world, sources) = World::with_sources(config);
    world.server_up(B);
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    world.heard_by(sources[0]);
    world.forget();
    (world, sources[0])
}

/// A non-interactive provider that has published TRI.N, and no part more.
fn published(number: Option<u16>) -> (World, SessionId) {
    let mut world = World::new(config(0));
    world.server_up(A);
    world.server_up(B);
    let session = world.session();
    world.event(provider::opened(session));
    world.says(session, &provider::provider_login());
    world.says(session, &provider::directory_on(0, &[provider::feed(1)]));
    world.says(session, &unasked(-1, number, false));
    world.heard_by(session);
    world.forget();
    (world, session)
}

#[test]
fn who_is_late_for_an_image_is_told_that_its_request_waits() {
    let (mut world, source) = live(config(1));
    world.says(source, &unasked(3, Some(0), false));
    world.forget();
    world.open(B, 2, "TRI.N");
    assert_eq!(world.frames(), ["B defer 2"]);
}

#[test]
fn a_published_image_that_does_not_end_is_given_up_and_who_waits_is_told() {
    for number in [None, Some(0)] {
        let (mut world, session) = published(number);
        world.open(A, 7, "TRI.N");
        assert_eq!(world.frames(), ["A defer 7"]);
        world.pass(14_999);
        assert_eq!(world.frames(), [""; 0]);
        world.pass(1);
        assert_eq!(
            world.frames(),
            ["A accept 7 as item 0".to_owned(), format!("all #1 {SUSPECT}")]
        );
        assert_eq!(world.core.counters().images_given_up, 1);
        // Who comes later is told at once, and the next image is for all.
        world.open(B, 2, "TRI.N");
        assert_eq!(world.frames(), ["B accept 2 as item 0".to_owned(), format!("B #1 {SUSPECT}")]);
        world.says(session, &unasked(-1, None, true));
        assert!(world.frames()[0].starts_with("all #2 image"));
    }
}

#[test]
fn a_published_image_that_is_completed_after_all_is_for_who_has_waited() {
    let (mut world, session) = published(Some(0));
    world.open(A, 7, "TRI.N");
    world.pass(15_000);
    world.open(B, 2, "TRI.N");
    world.forget();
    world.says(session, &unasked(-1, Some(1), true));
    let frames = world.frames();
    for server in ["A", "B"] {
        assert!(frames.contains(&format!("{server} #2 image {IMAGE}")), "{frames:?}");
    }
}

#[test]
fn the_rest_of_an_image_that_is_asked_for_anew_is_for_nobody() {
    let (mut world, source) = live(config(1));
    world.says(source, &unasked(3, Some(0), false));
    world.pass(15_000);
    world.forget();
    world.says(source, &unasked(3, Some(1), true));
    assert_eq!(world.frames(), [""; 0]);
    world.says(source, &unasked(3, Some(0), true));
    assert_eq!(world.frames().len(), 1);
}

#[test]
fn parts_may_take_their_time_but_not_for_ever() {
    let (mut world, session) = published(Some(0));
    world.open(A, 7, "TRI.N");
    world.forget();
    for number in 1..6 {
        world.pass(10_000);
        world.says(session, &unasked(-1, Some(number), false));
        assert_eq!(world.core.counters().images_given_up, 0, "{number}");
    }
    world.pass(9_999);
    assert_eq!(world.core.counters().images_given_up, 0);
    world.pass(1);
    assert_eq!(world.core.counters().images_given_up, 1);
    assert!(world.frames().last().expect("a status").ends_with(SUSPECT));
}

#[test]
fn an_unasked_image_that_does_not_end_is_asked_for() {
    let (mut world, source) = live(config(1));
    world.says(source, &unasked(3, Some(0), false));
    world.open(B, 2, "TRI.N");
    world.forget();
    world.pass(15_000);
    assert_eq!(world.frames(), ["B accept 2 as item 0".to_owned(), format!("all #3 {SUSPECT}")]);
    assert_eq!(world.heard_by(source), ["Request 3 1:TRI.N streaming priority 1/2"]);
    world.says(source, &provider::refresh(3, "TRI.N"));
    assert_eq!(
        world.frames(),
        ["all #4 image Refresh Open / Ok / None / 'All is well' clear complete"]
    );
}

#[test]
fn an_answer_that_trickles_is_asked_for_anew() {
    let (mut world, sources) = World::with_sources(config(1));
    world.open(A, 7, "TRI.N");
    world.heard_by(sources[0]);
    for number in 0..6 {
        world.says(sources[0], &provider::part(3, number, false));
        world.pass(10_000);
    }
    world.forget();
    world.pass(10_000);
    assert_eq!(world.core.counters().images_given_up, 1);
    assert_eq!(world.core.counters().request_timeouts, 1);
}

#[test]
fn five_thousand_images_that_do_not_end_leave_nobody_without_an_answer() {
    let (mut world, session) = published(Some(0));
    for number in 0..5_000 {
        let name = format!("ITEM{number}");
        let part = provider::refresh_with(-2 - number, &name, |msg| {
            msg.flags = RefreshFlags::empty();
        });
        world.says(session, &part);
        world.open(A, number as u32, &name);
    }
    let frames = world.frames();
    assert!(frames.iter().all(|line| line.starts_with("A defer")), "{}", frames[0]);
    world.pass(15_000);
    let frames = world.frames();
    assert_eq!(frames.iter().filter(|line| line.starts_with("A accept")).count(), 5_000);
    assert_eq!(frames.iter().filter(|line| line.ends_with(SUSPECT)).count(), 5_000);
}

#[test]
fn a_whole_image_in_the_middle_of_one_that_was_asked_for_is_for_all() {
    let (mut world, source) = live(config(1));
    world.server_up(C);
    world.open(B, 2, "TRI.N");
    world.says(source, &provider::part(3, 0, false));
    world.open(C, 1, "TRI.N");
    world.snapshot(C, 2, "TRI.N");
    world.heard_by(source);
    world.forget();
    world.says(source, &unasked(3, None, true));
    assert_eq!(
        world.frames(),
        [
            "C accept 1 as item 0".to_owned(),
            "C accept 2 as item 0".to_owned(),
            format!("all #2 image {IMAGE}"),
            format!("C #2 image snapshot {}", IMAGE.replace("Open", "NonStreaming")),
        ]
    );
    // What is left of the other one is of no use to anybody.
    world.says(source, &provider::part(3, 1, false));
    assert_eq!(world.frames(), [""; 0]);
    // Nor is it for who comes now.
    world.open(C, 3, "TRI.N");
    assert_eq!(world.frames(), ["C accept 3 as item 0"]);
    assert_eq!(world.heard_by(source), [""; 0]);
    world.says(source, &provider::part(3, 2, true));
    assert_eq!(world.frames(), [""; 0]);
    assert_eq!(world.heard_by(source), ["Request 3 1:TRI.N streaming priority 1/4"]);
    world.says(source, &provider::refresh(3, "TRI.N"));
    assert_eq!(world.frames().len(), 1);
}

#[test]
fn a_whole_image_in_the_middle_of_the_first_one_is_for_all_too() {
    let (mut world, sources) = World::with_sources(config(1));
    world.server_up(B);
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::part(3, 0, false));
    world.open(B, 2, "TRI.N");
    world.forget();
    world.says(sources[0], &unasked(3, None, true));
    let frames = world.frames();
    assert_eq!(frames.len(), 2, "{frames:?}");
    assert!(frames[1].starts_with("all #2 image"), "{frames:?}");
    world.says(sources[0], &provider::part(3, 1, true));
    assert_eq!(world.frames(), [""; 0]);
    world.says(sources[0], &provider::update(3, 4513));
    assert_eq!(world.frames().len(), 1);
    world.pass(120_000);
    assert_eq!(world.core.counters().request_timeouts, 0);
}

#[test]
fn the_end_of_a_published_image_without_numbers_is_no_image_by_itself() {
    let (mut world, session) = published(None);
    world.open(A, 7, "TRI.N");
    world.pass(15_000);
    world.forget();
    world.says(session, &unasked(-1, None, true));
    let frames = world.frames();
    // The rest for those who have the beginning, the whole for who does not.
    assert!(frames[0].starts_with("all #2 image"), "{frames:?}");
    assert!(frames.contains(&format!("A #2 image {IMAGE}")), "{frames:?}");
}

#[test]
fn the_rest_without_numbers_of_an_image_that_is_asked_for_anew_is_for_nobody() {
    let (mut world, source) = live(config(1));
    world.says(source, &unasked(3, None, false));
    world.pass(15_000);
    world.forget();
    world.says(source, &unasked(3, None, true));
    assert_eq!(world.frames(), [""; 0]);
    world.says(source, &provider::refresh(3, "TRI.N"));
    assert_eq!(world.frames().len(), 1);
}

#[test]
fn who_stood_by_takes_over_with_a_whole_image_and_not_with_the_rest_of_one() {
    for has_begun in [false, true] {
        let (mut world, owner) = published(Some(0));
        world.says(owner, &unasked(-1, Some(1), true));
        world.open(A, 7, "TRI.N");
        let other = world.session();
        world.event(provider::opened(other));
        world.says(other, &provider::provider_login());
        world.says(other, &provider::directory_on(0, &[provider::feed(1)]));
        if has_begun {
            world.says(other, &unasked(-1, Some(0), false));
        }
        world.closed(owner);
        world.forget();
        world.says(other, &unasked(-1, Some(1), true));
        // What was sent while it stood by is kept, so that this is all of it.
        assert_eq!(world.frames().len(), usize::from(has_begun));
        world.says(other, &unasked(-1, Some(0), true));
        assert_eq!(world.frames().len(), 1);
    }
}

/// The word that the image was given up may be lost on its way to a server, which
/// asks what has become of its request then.
#[test]
fn who_asks_again_for_a_published_image_that_was_given_up_is_told_again() {
    let (mut world, session) = published(Some(0));
    world.open(A, 7, "TRI.N");
    world.reissue(A, 7, &item_request(1, "TRI.N"));
    assert_eq!(world.frames(), ["A defer 7"], "the image is due");
    world.pass(15_000);
    world.forget();
    world.reissue(A, 7, &item_request(1, "TRI.N"));
    assert_eq!(world.frames(), [format!("A #1 {SUSPECT}")]);
    world.says(session, &unasked(-1, Some(1), true));
    assert!(world.frames().contains(&format!("A #2 image {IMAGE}")), "it waits on");
}

#[test]
fn an_image_after_one_that_was_given_up_has_twice_the_time() {
    let config = HubConfig { image_timeout_ms: 1_000, request_timeout_ms: 2_000, ..config(1) };
    let (mut world, sources) = World::with_sources(config);
    let source = sources[0];
    world.open(A, 7, "TRI.N");
    // Its next part comes in time, its last one never.
    let given_up_after_ms = |world: &mut World| {
        let requests = world.heard_by(source);
        let asked =
            requests.last().and_then(|line| line.strip_prefix("Request ")?.split(' ').next());
        let stream_id = asked.and_then(|it| it.parse().ok()).expect("it is asked for anew");
        let before = world.core.counters().images_given_up;
        let pieces = (0..200).take_while(|number| {
            world.says(source, &provider::part(stream_id, *number, false));
            world.pass(100);
            world.core.counters().images_given_up == before
        });
        (pieces.count() as u64 + 1) * 100
    };
    let all: Vec<u64> = (0..5).map(|_| given_up_after_ms(&mut world)).collect();
    assert_eq!(all, [1_000, 2_000, 4_000, 8_000, 8_000]);
    // One that is whole begins anew.
    let asked = world.heard_by(source).pop().expect("it is asked for anew");
    assert!(asked.starts_with("Request 8"), "{asked}");
    world.says(source, &provider::refresh(8, "TRI.N"));
    world.says(source, &unasked(8, Some(0), false));
    world.pass(1_000);
    assert_eq!(world.core.counters().images_given_up, 6);
}
