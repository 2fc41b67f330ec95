//! Users whose contract says how often a stream is updated.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::prelude::*;
use tapeline_channel::{Sent, SessionId};
use tapeline_rwf::{DataState, Domain, Msg, Qos, Rate, StreamState, UpdateFlags, UpdateMsg};
use tapeline_server::ServerConfig;

use crate::support::*;

const POLICY: &str = r#"
version = 1
[[role]]
name = "feed"
grants = [{ service = "FEED" }]
[[role]]
name = "paced"
contract = "latest-within 250 ms"
[[user]]
name = "pat"
roles = ["feed", "paced"]
[[user]]
name = "full"
roles = ["feed"]
"#;

/// The same with another contract.
fn policy_with(contract: &str) -> String {
    POLICY.replace("latest-within 250 ms", contract)
}

/// A world in which both have an item; their images are taken off.
fn watching(contract: &str) -> (World, [SessionId; 2]) {
    let mut world = World::with(ServerConfig::default());
    world.enforce(&policy_with(contract));
    world.hub_up(HUB);
    world.hub_directory(HUB, vec![service(1, "FEED", true)]);
    let sessions = ["pat", "full"].map(|user| world.log_in(user));
    for session in sessions {
        world.say(session, &item_request(5, "TRI.N", |it| it.conflation_info = true));
        world.heard(session);
    }
    world.published();
    world.accept(HUB, 17, 0);
    world.item(HUB, 17, 1, &image(&[(22, 1), (25, 1)]));
    (world, sessions)
}

/// The quality in the image that a mount heard last.
fn quality(world: &mut World, session: SessionId) -> Option<Qos> {
    let heard = world.heard_bytes(session);
    heard.iter().rev().find_map(|bytes| match Msg::decode(bytes) {
        Ok(Msg::Refresh(refresh)) => refresh.qos,
        _ => None,
    })
}

fn within(rate_info_ms: u16) -> Qos {
    Qos { rate: Rate::TIME_CONFLATED, rate_info_ms, ..Qos::REALTIME_TICK_BY_TICK }
}

/// One update after the other, each with its number as the bid.
fn updates(world: &mut World, seqs: std::ops::Range<u32>) {
    for seq in seqs {
        world.item(HUB, 17, seq, &update(&[(22, i64::from(seq))]));
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn latest_within_sends_the_first_at_once_and_the_latest_in_time() {
    let (mut world, [pat, full]) = watching("latest-within 250 ms");
    assert_eq!(quality(&mut world, pat), Some(within(250)));
    assert_ne!(quality(&mut world, full), Some(within(250)));
    updates(&mut world, 2..6);
    assert_eq!(world.heard(full).len(), 4, "nobody else waits");
    assert_eq!(world.heard(pat), ["UPDATE 5 MARKET_PRICE QUOTE {22=2}"]);
    world.pass(ms(249));
    assert_eq!(world.heard(pat), [""; 0]);
    world.pass(ms(1));
    assert_eq!(world.heard(pat), ["UPDATE 5 MARKET_PRICE QUOTE merged3 {22=5}"]);
    updates(&mut world, 6..7);
    assert_eq!(world.heard(pat), [""; 0]);
    world.pass(ms(250));
    assert_eq!(world.heard(pat), ["UPDATE 5 MARKET_PRICE QUOTE merged1 {22=6}"]);
    world.pass(ms(300));
    updates(&mut world, 7..8);
    assert_eq!(world.heard(pat), ["UPDATE 5 MARKET_PRICE QUOTE {22=7}"]);
    assert_eq!(world.core.statistics().updates_held, 2);
}

#[test]
fn at_most_lets_so_many_through_and_merges_the_rest() {
    let (mut world, [pat, _]) = watching("at-most 2/s");
    assert_ne!(quality(&mut world, pat).map(|qos| qos.rate), Some(Rate::TIME_CONFLATED));
    updates(&mut world, 2..6);
    assert_eq!(world.heard(pat).len(), 2);
    world.pass(ms(499));
    assert_eq!(world.heard(pat), [""; 0]);
    world.pass(ms(1));
    assert_eq!(world.heard(pat), ["UPDATE 5 MARKET_PRICE QUOTE merged2 {22=5}"]);
}

#[test]
fn what_waits_goes_before_a_state_and_before_what_is_not_to_be_merged() {
    let (mut world, [pat, _]) = watching("latest-within 250 ms");
    updates(&mut world, 2..4);
    world.heard(pat);
    world.item(HUB, 17, 4, &status(StreamState::OPEN, DataState::SUSPECT, "a word"));
    let heard = world.heard(pat);
    assert!(heard[0].ends_with("{22=3}") && heard[1].starts_with("STATUS 5"), "{heard:?}");
    updates(&mut world, 5..6);
    let head = UpdateMsg {
        flags: UpdateFlags::DO_NOT_CONFLATE,
        ..UpdateMsg::new(Domain::MARKET_PRICE, 0)
    };
    world.item(HUB, 17, 6, &update_msg(head, &[(22, 6)]));
    let heard = world.heard(pat);
    assert!(heard[0].ends_with("{22=5}") && heard[1].ends_with("{22=6}"), "{heard:?}");
}

#[test]
fn a_stream_that_is_closed_hears_nothing_any_more() {
    let (mut world, [pat, _]) = watching("latest-within 250 ms");
    updates(&mut world, 2..4);
    world.heard(pat);
    world.say(pat, &close(5));
    world.pass(ms(300));
    assert_eq!(world.heard(pat), [""; 0]);
    assert_eq!(world.core.statistics().merged_bytes, 0);
}

#[test]
fn another_policy_is_the_contract_of_open_streams_too() {
    let (mut world, [pat, full]) = watching("every");
    for session in [pat, full] {
        world.heard(session);
    }
    world.enforce(&policy_with("latest-within 500 ms"));
    assert_eq!(quality(&mut world, pat), Some(within(500)));
    assert_eq!(world.heard(full), [""; 0], "the others go on");
    updates(&mut world, 2..4);
    assert_eq!(world.heard(pat).len(), 1);
    world.enforce(&policy_with("every"));
    let heard = world.heard(pat);
    assert!(heard.last().is_some_and(|it| it.ends_with("{22=3 25=1}")), "{heard:?}");
    updates(&mut world, 4..6);
    assert_eq!(world.heard(pat).len(), 2);
}

#[test]
fn a_mount_that_is_slow_besides_gets_the_latest_when_it_has_caught_up() {
    let (mut world, [pat, _]) = watching("latest-within 250 ms");
    updates(&mut world, 2..4);
    world.answer(pat, Sent::Slow);
    world.pass(ms(250));
    updates(&mut world, 4..8);
    world.heard(pat);
    world.pass(ms(300));
    assert_eq!(world.heard(pat), [""; 0]);
    world.drain(pat);
    world.pass(ms(300));
    let heard = world.heard(pat);
    assert!(heard.last().is_some_and(|it| it.ends_with("{22=7}")), "{heard:?}");
}

#[derive(Clone, Debug)]
enum Step {
    Update(i16, i64),
    Pass(u64),
    Image,
    State,
    Slow,
    Drain,
    Contract(usize),
}

const CONTRACTS: [&str; 4] = ["latest-within 250 ms", "at-most 3/s", "every", "latest-when-slow"];

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        // Fields that do not ripple: a merged update says what rippled, single ones do not.
        8 => (30..33_i16, 0..1_000_i64).prop_map(|(field, value)| Step::Update(field, value)),
        4 => (0..600_u64).prop_map(Step::Pass),
        1 => Just(Step::Image),
        1 => Just(Step::State),
        1 => Just(Step::Slow),
        1 => Just(Step::Drain),
        1 => (0..CONTRACTS.len()).prop_map(Step::Contract),
    ]
}

/// What messages leave of an item, field by field.
fn apply(known: &mut BTreeMap<String, String>, heard: &[String]) {
    for message in
        heard.iter().filter(|it| it.starts_with("REFRESH 5") || it.starts_with("UPDATE 5"))
    {
        let fields = message.rsplit_once('{').map_or("", |(_, fields)| fields);
        for field in fields.trim_end_matches('}').split_whitespace() {
            let (id, value) = field.split_once('=').expect("a field and its value");
            known.insert(id.to_owned(), value.to_owned());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn an_image_and_the_updates_are_the_item_of_the_source(
        contract in 0..CONTRACTS.len(),
        steps in prop::collection::vec(step(), 1..60),
    ) {
        let (mut world, [pat, full]) = watching(CONTRACTS[contract]);
        let (mut of_pat, mut of_full) = (BTreeMap::new(), BTreeMap::new());
        for (step, seq) in steps.into_iter().zip(2..) {
            match step {
                Step::Update(field, value) => {
                    world.item(HUB, 17, seq, &update(&[(field, value)]));
                }
                Step::Image => world.item(HUB, 17, seq, &image(&[(30, 0), (31, 0), (32, 0)])),
                Step::State => {
                    world.item(HUB, 17, seq, &status(StreamState::OPEN, DataState::OK, "a word"));
                }
                other => {
                    match other {
                        Step::Pass(wait) => world.pass(ms(wait)),
                        Step::Slow => world.answer(pat, Sent::Slow),
                        Step::Drain => world.drain(pat),
                        Step::Contract(at) => world.enforce(&policy_with(CONTRACTS[at])),
                        Step::Update(..) | Step::Image | Step::State => {}
                    }
                    // Its place among the messages of the item.
                    world.item(HUB, 17, seq, &update(&[]));
                }
            }
            apply(&mut of_pat, &world.heard(pat));
            apply(&mut of_full, &world.heard(full));
        }
        world.drain(pat);
        for _ in 0..4 {
            world.pass(ms(1_000));
        }
        apply(&mut of_pat, &world.heard(pat));
        apply(&mut of_full, &world.heard(full));
        prop_assert_eq!(of_pat, of_full);
    }
}
