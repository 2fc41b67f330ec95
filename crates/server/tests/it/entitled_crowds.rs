//! A lock that changes for more watchers than are looked at in one event.

use tapeline_channel::SessionId;
use tapeline_rwf::{Domain, Msg, RefreshFlags, RefreshMsg, State, StatusMsg};
use tapeline_server::{Limits, ServerConfig};

use crate::slices::{SLICE, slices};
use crate::support::*;

const POLICY: &str = r#"
version = 1
[[lock-service]]
id = 257
service = "FEED"
[[product]]
name = "L1"
service = "FEED"
pe = [62]
[[product]]
name = "L2"
service = "FEED"
pe = [63]
[[role]]
name = "one"
products = ["L1"]
[[role]]
name = "both"
products = ["L1", "L2"]
[[user]]
name = "ann"
roles = ["one"]
[[user]]
name = "bob"
roles = ["both"]
"#;

const L1: &[u8] = &[3, 1, 1, 0x62, 0xC0];
const L2: &[u8] = &[3, 1, 1, 0x63, 0xC0];

/// Mounts of each user.
const CROWD: usize = 300;

struct Crowd {
    world: World,
    anns: Vec<SessionId>,
    bobs: Vec<SessionId>,
}

/// All have asked for the item, which the hub has as its item 1.
fn crowd() -> Crowd {
    let limits = Limits { max_mounts: 3 * CROWD, ..Limits::default() };
    let mut world = World::with(ServerConfig { limits, ..ServerConfig::default() });
    world.enforce(POLICY);
    world.hub_up(HUB);
    world.hub_directory(HUB, vec![service(1, "FEED", true)]);
    let mut log_in = |user| world.log_in(user);
    let anns: Vec<_> = (0..CROWD).map(|_| log_in("ann")).collect();
    let bobs: Vec<_> = (0..CROWD).map(|_| log_in("bob")).collect();
    for (ann, bob) in anns.iter().zip(&bobs) {
        world.say(*ann, &request(5, "VOD.L"));
        world.say(*bob, &request(5, "VOD.L"));
    }
    let open = world.out.published.last().expect("a request").0;
    world.accept(HUB, 1, open.item);
    world.out.sent.clear();
    world.records();
    Crowd { world, anns, bobs }
}

fn image(lock: &[u8], value: i64) -> Vec<u8> {
    let head = RefreshMsg {
        flags: RefreshFlags::REFRESH_COMPLETE | RefreshFlags::CLEAR_CACHE,
        state: State::open_ok(""),
        perm_data: Some(lock),
        ..RefreshMsg::new(Domain::MARKET_PRICE, 0)
    };
    with_fields(&head.into(), &[(22, value)])
}

fn relock(lock: &[u8]) -> Vec<u8> {
    encoded(&StatusMsg { perm_data: Some(lock), ..StatusMsg::new(Domain::MARKET_PRICE, 0) }.into())
}

impl Crowd {
    /// What each of some mounts was sent, but for states of items that go on;
    /// all the same.
    #[track_caller]
    fn heard(&mut self, sessions: &[SessionId]) -> Vec<String> {
        let is_told = |it: &String| !it.starts_with("STATUS") || it.contains("Access Denied");
        let mut heard = |session| -> Vec<String> {
            self.world.heard(session).into_iter().filter(is_told).collect()
        };
        let first = heard(sessions[0]);
        for session in &sessions[1..] {
            assert_eq!(heard(*session), first);
        }
        first
    }
}

#[test]
fn another_lock_takes_those_off_who_may_not_see_it_in_slices() {
    let mut crowd = crowd();
    let (anns, bobs) = (crowd.anns.clone(), crowd.bobs.clone());
    crowd.world.item(HUB, 1, 1, &image(L1, 100));
    crowd.world.records();
    for sessions in [&anns, &bobs] {
        assert_eq!(crowd.heard(sessions).len(), 1);
    }
    crowd.world.is_late = true;
    crowd.world.item(HUB, 1, 2, &relock(L2));
    assert_eq!(crowd.world.core.statistics().backlog, 1);
    for session in &anns {
        assert!(!crowd.world.heard(*session).iter().any(|it| it.contains("Denied")), "not yet");
    }
    crowd.world.item(HUB, 1, 3, &update(&[(22, 101)]));
    assert_eq!(crowd.heard(&bobs), [""; 0], "who is not looked at yet gets nothing");
    let slices = slices(&mut crowd.world);
    assert!(slices.len() > 3 && slices.iter().all(|(sent, _)| *sent <= SLICE), "{slices:?}");
    let heard = crowd.heard(&anns);
    assert!(heard.len() == 1 && heard[0].contains("User req to PE(63)"), "{heard:?}");
    // What was missed comes as an image, and what follows as updates.
    let heard = crowd.heard(&bobs);
    assert!(heard.len() == 1 && heard[0].contains("22=101"), "{heard:?}");
    crowd.world.item(HUB, 1, 4, &update(&[(22, 102)]));
    assert_eq!(crowd.heard(&bobs), ["UPDATE 5 MARKET_PRICE QUOTE {22=102}"]);
    assert_eq!(crowd.heard(&anns), [""; 0]);
    let records = crowd.world.records();
    let count = |what: &str| records.iter().filter(|it| it.starts_with(what)).count();
    assert_eq!(
        (count("AccessDenied ann"), count("StopWatch ann"), count("StartWatch")),
        (CROWD, CROWD, 0)
    );
    assert_eq!(crowd.world.core.statistics().streams_revoked, CROWD as u64);
}

#[test]
fn who_missed_nothing_meanwhile_gets_no_image() {
    let mut crowd = crowd();
    let bobs = crowd.bobs.clone();
    crowd.world.item(HUB, 1, 1, &image(L1, 100));
    crowd.heard(&bobs);
    crowd.world.item(HUB, 1, 2, &relock(L2));
    crowd.world.item(HUB, 1, 3, &update(&[(22, 101)]));
    assert_eq!(crowd.heard(&bobs), ["UPDATE 5 MARKET_PRICE QUOTE {22=101}"]);
}

#[test]
fn the_first_image_goes_to_those_alone_who_may_see_it() {
    let mut crowd = crowd();
    let (anns, bobs) = (crowd.anns.clone(), crowd.bobs.clone());
    crowd.world.is_late = true;
    crowd.world.item(HUB, 1, 1, &image(L2, 100));
    for session in anns.iter().chain(&bobs) {
        let sent = crowd.world.heard_bytes(*session);
        let has_data = |it: &Vec<u8>| !Msg::decode(it).expect("a message").payload().is_empty();
        assert!(!sent.iter().any(has_data));
    }
    crowd.world.item(HUB, 1, 2, &update(&[(22, 101)]));
    slices(&mut crowd.world);
    let heard = crowd.heard(&anns);
    assert!(heard.len() == 1 && heard[0].contains("User req to PE(63)"), "{heard:?}");
    let heard = crowd.heard(&bobs);
    assert!(heard.len() == 1 && heard[0].contains("22=101"), "{heard:?}");
    let records = crowd.world.records();
    let count = |what: &str| records.iter().filter(|it| it.starts_with(what)).count();
    assert_eq!(
        (count("AccessDenied ann"), count("StartWatch bob"), count("StopWatch")),
        (CROWD, CROWD, 0)
    );
}

#[test]
fn a_lock_that_changes_again_is_the_one_that_counts() {
    let mut crowd = crowd();
    let (anns, bobs) = (crowd.anns.clone(), crowd.bobs.clone());
    crowd.world.item(HUB, 1, 1, &image(L1, 100));
    crowd.heard(&anns);
    crowd.heard(&bobs);
    crowd.world.records();
    crowd.world.is_late = true;
    crowd.world.item(HUB, 1, 2, &relock(L2));
    crowd.world.item(HUB, 1, 3, &relock(L1));
    slices(&mut crowd.world);
    crowd.world.item(HUB, 1, 4, &update(&[(22, 101)]));
    for sessions in [&anns, &bobs] {
        assert_eq!(crowd.heard(sessions), ["UPDATE 5 MARKET_PRICE QUOTE {22=101}"]);
    }
    // Another lock may be of other products, so that the watches say again what they use.
    let records = crowd.world.records();
    assert!(records.iter().all(|it| it.starts_with("ContinueWatch")), "{records:?}");
    assert_eq!(records.len(), 2 * CROWD);
}

#[test]
fn who_leaves_or_comes_meanwhile_is_no_trouble() {
    let mut crowd = crowd();
    let (anns, bobs) = (crowd.anns.clone(), crowd.bobs.clone());
    crowd.world.item(HUB, 1, 1, &image(L1, 100));
    crowd.world.out.sent.clear();
    crowd.world.is_late = true;
    crowd.world.item(HUB, 1, 2, &relock(L2));
    for session in anns.iter().chain(&bobs).step_by(2) {
        crowd.world.disconnect(*session);
    }
    let (ann, bob) = (crowd.world.log_in("ann"), crowd.world.log_in("bob"));
    crowd.world.out.sent.clear();
    for session in [ann, bob] {
        crowd.world.say(session, &request(5, "VOD.L"));
    }
    assert!(crowd.heard(&[ann])[0].contains("User req to PE(63)"));
    assert!(crowd.heard(&[bob])[0].starts_with("REFRESH 5"));
    slices(&mut crowd.world);
    crowd.world.item(HUB, 1, 3, &update(&[(22, 101)]));
    let left: Vec<_> = bobs.iter().skip(1).step_by(2).chain([&bob]).copied().collect();
    assert_eq!(crowd.heard(&left), ["UPDATE 5 MARKET_PRICE QUOTE {22=101}"]);
}
