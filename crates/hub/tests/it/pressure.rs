//! A backbone that takes no more: what is merged, in which order it goes out, and
//! what servers are told.

use tapeline_backbone::Kind;
use tapeline_channel::SessionId;
use tapeline_hub::HubConfig;
use tapeline_omm::directory::ServiceLoad;
use tapeline_rwf::{
    Conflation, DataType, Domain, Encoded, Msg, RefreshFlags, RefreshMsg, State, UpdateFlags,
    UpdateMsg,
};

use crate::published::publish;
use crate::support::{A, B, World, config, provider};

/// A has these items of a source, live, on streams 3 and so on.
fn live(items: u32, config: HubConfig) -> (World, SessionId) {
    let (mut world, sources) = World::with_sources(config);
    for number in 0..items {
        let name = format!("ITEM{number}");
        world.open(A, number, &name);
        world.says(sources[0], &provider::refresh(number as i32 + 3, &name));
    }
    world.forget();
    (world, sources[0])
}

impl World {
    /// So much of the queue to the backbone is full from now on.
    fn fill(&mut self, percent: u8) {
        self.out.queue_percent = percent;
        self.core.look_at_backbone(self.now, &mut self.out);
        self.core.check();
    }

    /// The same, with what follows from it.
    fn fill_and_tell(&mut self, percent: u8) {
        self.fill(percent);
        self.pass(0);
    }

    /// The updates that went out since the last look: item, how many they are, bid.
    fn updates(&mut self) -> Vec<(u32, u16, i64)> {
        let frames = std::mem::take(&mut self.out.frames);
        let items = frames.iter().filter(|(header, _)| header.kind == Kind::Item);
        let update = |item: u32, bytes: &[u8]| {
            let Ok(Msg::Update(update)) = Msg::decode(bytes) else { return None };
            let count = update.conflation.map_or(1, |info| info.count);
            Some((item, count, bid(&update.payload)))
        };
        items.filter_map(|(header, body)| update(header.item, body)).collect()
    }
}

fn bid(payload: &Encoded<'_>) -> i64 {
    let fields = payload.field_list().expect("a field list");
    let bid = fields.field(22).expect("well-formed").expect("a bid");
    bid.typed(DataType::REAL).real().expect("a number").expect("not blank").mantissa()
}

#[test]
fn updates_are_merged_for_each_item_and_say_how_many_they_are() {
    let (mut world, source) = live(2, config(1));
    world.fill(50);
    world.says(source, &provider::update(3, 100));
    assert_eq!(world.updates(), [(0, 1, 100)], "at the bound");
    world.fill(51);
    for bid in 101..=103 {
        world.says(source, &provider::update(3, bid));
    }
    world.says(source, &provider::update(4, 200));
    world.fill(21);
    assert_eq!(world.updates(), []);
    assert_eq!((world.core.counters().merges, world.core.counters().updates_merged), (2, 4));
    world.fill(19);
    assert_eq!(world.updates(), [(0, 3, 103), (1, 1, 200)]);
    world.says(source, &provider::update(3, 104));
    assert_eq!(world.updates(), [(0, 1, 104)], "it is over");
    let counters = world.core.counters();
    assert_eq!((counters.pressed, counters.pressures, counters.merged_bytes), (0, 1, 0));
}

#[test]
fn what_else_an_item_says_comes_behind_what_was_merged() {
    let (mut world, source) = live(1, config(1));
    world.fill_and_tell(90);
    world.forget();
    world.says(source, &provider::update(3, 1));
    world.says(source, &provider::update(3, 2));
    world.says(source, &provider::status(3, State::open_ok("still well")));
    world.says(source, &provider::update(3, 3));
    let unasked = |msg: &mut RefreshMsg<'_>| msg.flags = RefreshFlags::REFRESH_COMPLETE;
    world.says(source, &provider::refresh_with(3, "ITEM0", unasked));
    let frames = world.frames();
    let [merged, status, single, image] = &frames[..] else { panic!("four frames: {frames:?}") };
    assert!(merged.starts_with("all #2 Update 0") && merged.ends_with("of 2"), "{merged}");
    assert!(status.starts_with("all #3 Status"), "{status}");
    assert!(single.starts_with("all #4 Update 0") && single.ends_with("bytes"), "{single}");
    assert!(image.starts_with("all #5 image Refresh"), "{image}");
}

#[test]
fn who_gets_a_kept_image_is_not_sent_again_what_that_has() {
    let config = HubConfig { cache_interactive: true, ..config(1) };
    let (mut world, source) = live(1, config);
    world.server_up(B);
    world.fill_and_tell(90);
    world.forget();
    world.says(source, &provider::update(3, 1));
    world.open(B, 7, "ITEM0");
    let frames = world.frames();
    let [accept, merged, image] = &frames[..] else { panic!("three frames: {frames:?}") };
    assert!(accept.starts_with("B accept 7"), "{accept}");
    assert!(merged.starts_with("all #2 Update"), "{merged}");
    assert!(image.starts_with("B #2 image Refresh"), "{image}");
    world.fill(0);
    assert_eq!(world.updates(), []);
}

#[test]
fn who_waits_for_an_image_of_the_source_gets_it_behind_what_was_merged() {
    let (mut world, source) = live(1, config(1));
    world.server_up(B);
    world.fill_and_tell(90);
    world.open(B, 7, "ITEM0");
    world.forget();
    world.says(source, &provider::update(3, 1));
    world.says(source, &provider::refresh(3, "ITEM0"));
    let frames = world.frames();
    let [merged, image] = &frames[..] else { panic!("two frames: {frames:?}") };
    assert!(merged.starts_with("all #2 Update"), "{merged}");
    assert!(image.starts_with("B #2 image Refresh"), "{image}");
}

#[test]
fn what_cannot_be_merged_goes_out_behind_what_was() {
    let (mut world, source) = live(1, config(1));
    world.fill(90);
    world.says(source, &provider::update(3, 1));
    world.says(source, &provider::update(3, 2));
    let alone = UpdateMsg {
        flags: UpdateFlags::DO_NOT_CONFLATE,
        ..UpdateMsg::new(Domain::MARKET_PRICE, 3)
    };
    world.says(source, &provider::update_of(alone, 3));
    world.says(source, &provider::update(3, 4));
    assert_eq!(world.updates(), [(0, 2, 2), (0, 1, 3)]);
    world.fill(0);
    assert_eq!(world.updates(), [(0, 1, 4)]);
}

#[test]
fn what_a_source_has_merged_is_counted_and_no_header_says_too_few() {
    let (mut world, source) = live(1, config(1));
    world.fill(90);
    let conflation = Some(Conflation { count: 7, time_ms: 20 });
    let merged = UpdateMsg { conflation, ..UpdateMsg::new(Domain::MARKET_PRICE, 3) };
    world.says(source, &provider::update_of(merged, 1));
    for bid in 1..=70_000 {
        world.says(source, &provider::update(3, bid));
    }
    world.fill(0);
    let updates = world.updates();
    let count: u64 = updates.iter().map(|(_, count, _)| u64::from(*count)).sum();
    assert_eq!((count, updates.len()), (70_007, 3));
    assert_eq!(updates.last().map(|(.., bid)| *bid), Some(70_000));
}

#[test]
fn merged_updates_have_a_bound_beyond_which_they_go_out() {
    let mut config = config(1);
    config.pressure.merged_bytes = 1;
    let (mut world, source) = live(2, config);
    world.fill(90);
    world.says(source, &provider::update(3, 1));
    world.says(source, &provider::update(4, 2));
    assert_eq!(world.updates(), [(1, 1, 2)], "nothing more begins");
    world.says(source, &provider::update(3, 3));
    assert_eq!(world.updates(), [(0, 2, 3)], "and what has begun goes out");
}

#[test]
fn servers_are_told_to_ask_for_nothing_new_until_it_is_over() {
    let (mut world, sources) = World::with_sources(config(1));
    let load = ServiceLoad { open_window: Some(50), ..ServiceLoad::default() };
    world.says(sources[0], &provider::directory(&[provider::loaded_feed(load)]));
    world.forget();
    world.fill_and_tell(51);
    assert_eq!(world.frames(), ["all directory change: 1 load None/None window 0 up closed"]);
    // Whoever comes now hears of it, too, and a source changes nothing about it.
    world.server_up(B);
    assert_eq!(world.frames(), ["B directory all: 1 FEED load None/None window 0 up closed"]);
    world.says(sources[0], &provider::directory(&[provider::feed(1)]));
    world.pass(0);
    world.forget();
    world.fill_and_tell(20);
    assert_eq!(world.frames(), [""; 0]);
    world.fill_and_tell(19);
    world.pass(900);
    // Not before it has been calm for a while.
    world.fill_and_tell(60);
    world.fill_and_tell(0);
    world.pass(999);
    assert_eq!(world.frames(), [""; 0]);
    world.pass(1);
    assert_eq!(world.frames(), ["all directory change: 1 up"]);
}

#[test]
fn what_non_interactive_providers_publish_is_merged_and_kept() {
    let (mut world, source) = crate::published::publishing(config(0));
    world.open(A, 0, "TRI.N");
    world.fill_and_tell(51);
    world.forget();
    world.says(source, &provider::update(-1, 1));
    world.says(source, &provider::update(-1, 2));
    world.open(B, 0, "TRI.N");
    let updates = world.updates();
    assert_eq!(updates.iter().map(|(_, count, bid)| (*count, *bid)).collect::<Vec<_>>(), [(2, 2)]);
    world.says(source, &publish(-1, "TRI.N"));
    world.fill(0);
    assert_eq!(world.updates(), []);
}

#[test]
fn an_item_that_nobody_wants_any_more_leaves_nothing_behind() {
    let (mut world, source) = live(2, config(1));
    world.fill_and_tell(51);
    world.says(source, &provider::update(3, 1));
    world.says(source, &provider::update(4, 1));
    world.close(A, 0);
    world.server_down(A);
    world.pass(1);
    world.forget();
    world.fill_and_tell(0);
    assert_eq!(world.updates(), []);
    assert_eq!((world.core.counters().merges, world.core.counters().merged_bytes), (0, 0));
}
