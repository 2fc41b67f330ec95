//! Frames that were lost between hub and server, as the hub sees it: what it
//! holds and the server does not want is closed, what the server missed it is
//! told, and what follows is done bit by bit.

use crate::support::{self, A, B, World, config, item_request, provider};
use tapeline_backbone::repair::{Page, Wanted, WantedFlags};
use tapeline_backbone::{BusEvent, FrameFlags, FrameHeader, Incarnation, Kind};
use tapeline_hub::{Event, HubConfig};

const DUE: FrameFlags = FrameFlags::empty();

/// A request under a serial.
fn open(world: &mut World, from: Incarnation, request: u32, serial: u32, name: &str) {
    let mut header = FrameHeader::new(Kind::Open, Incarnation(1), request);
    (header.sender, header.item_seq) = (from, serial);
    let body = support::encode(&item_request(1, name).into());
    world.event(Event::Bus(BusEvent::Frame { header, body: &body }));
}

fn close(world: &mut World, from: Incarnation, request: u32, serial: u32) {
    let mut header = FrameHeader::new(Kind::Close, Incarnation(1), request);
    (header.sender, header.item_seq) = (from, serial);
    world.event(Event::Bus(BusEvent::Frame { header, body: &[] }));
}

const fn wanted(request: u32, serial: u32) -> Wanted {
    let flags = WantedFlags::empty();
    Wanted { request, serial, priority_count: 1, priority_class: 1, flags }
}

/// The only page of what a server wants.
fn wants(world: &mut World, from: Incarnation, round: u32, as_of: u32, entries: &[Wanted]) {
    let mut body = Vec::new();
    Page { from: 0, to: u32::MAX, as_of }.write(&mut body);
    for entry in entries {
        entry.write(&mut body);
    }
    world.frame(from, Kind::Wanted, round, FrameFlags::LAST, &body);
}

#[test]
fn a_server_that_lost_frames_is_told_what_is_held_for_it() {
    let (mut world, sources) = World::with_sources(config(1));
    open(&mut world, A, 0, 1, "TRI.N");
    open(&mut world, A, 1, 2, "IBM.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    world.says(sources[0], &provider::update(3, 4513));
    world.forget();
    world.frame(A, Kind::HeldRequest, 1, DUE, &[]);
    world.pass(0);
    let held = "A held last: 0.., 0 is item 0 at 2 live, 1 is item 1 at 0";
    assert_eq!(world.frames(), [held]);
    world.frame(A, Kind::HeldRequest, 1, DUE, &[]);
    world.pass(0);
    assert_eq!(world.frames(), [""; 0], "it is on its way");
}

#[test]
fn many_servers_that_lost_frames_are_told_bit_by_bit_and_none_waits_for_another() {
    const SERVERS: u32 = 30;
    const REQUESTS: u32 = 200;
    let (mut world, _) = World::with_sources(config(1));
    let servers: Vec<_> = (0..SERVERS).map(|number| Incarnation(0x100 + number)).collect();
    for server in &servers {
        world.server_up(*server);
        (0..REQUESTS).for_each(|request| world.open(*server, request, "TRI.N"));
    }
    for server in &servers {
        world.frame(*server, Kind::HeldRequest, 1, DUE, &[]);
    }
    world.forget();
    let (mut all, mut turns) = (0, 0);
    while world.core.next_deadline().is_some_and(|at| at <= world.now) {
        world.core.handle_timeout(world.now, &mut world.out);
        let pages = std::mem::take(&mut world.out.frames);
        assert!(pages.iter().all(|(header, _)| header.kind == Kind::Held), "nothing else is due");
        assert!(pages.len() <= 16, "{} pages in one turn", pages.len());
        if turns < 2 {
            let mut told: Vec<_> = pages.iter().map(|(header, _)| header.target).collect();
            told.dedup();
            assert!(pages.is_empty() || told.len() > 8, "one page of each: {told:?}");
        }
        all += pages.len() as u32;
        turns += 1;
    }
    assert_eq!(all, SERVERS * REQUESTS.div_ceil(64));
}

#[test]
fn a_server_is_asked_what_it_wants_until_it_says_so() {
    let (mut world, _) = World::with_sources(config(1));
    world.event(Event::Bus(BusEvent::Gap { peer: A, name: "", lost: 1 }));
    let asked = ["A directory all: 1 FEED up", "A asked what it wants: 1"];
    assert_eq!(world.frames(), asked);
    world.pass(100);
    assert_eq!(world.frames(), asked, "the question or the answer was lost");
    wants(&mut world, A, 1, 0, &[]);
    world.pass(10_000);
    assert_eq!(world.frames(), [""; 0]);
}

#[test]
fn what_a_server_does_not_want_is_closed_and_what_is_not_there_it_is_told() {
    let (mut world, sources) = World::with_sources(config(1));
    for (request, name) in [(0, "AA"), (1, "BB"), (2, "CC")] {
        open(&mut world, A, request, request + 1, name);
    }
    for (stream, name) in [(3, "AA"), (4, "BB"), (5, "CC")] {
        world.says(sources[0], &provider::refresh(stream, name));
    }
    world.heard_by(sources[0]);
    world.forget();
    // The close of BB was lost, and of CC with the request that came after it.
    wants(&mut world, A, 1, 4, &[wanted(0, 1), wanted(2, 4)]);
    let held = "A held: 0.., 0 is item 0 at 1 live, 1 is item 1 at 1 live, 2 is item 2 at 1 live";
    assert_eq!(world.frames(), [held], "request 2 has another serial there");
    world.pass(0);
    assert_eq!(world.heard_by(sources[0]), ["Close 4", "Close 5"]);
    assert_eq!(world.core.counters().leftovers, 2);
    // All is as it should be.
    open(&mut world, A, 2, 5, "DD");
    world.forget();
    wants(&mut world, A, 2, 5, &[wanted(0, 1), wanted(2, 5)]);
    world.pass(0);
    assert_eq!((world.frames(), world.heard_by(sources[0])), (vec![], vec![]));
}

#[test]
fn what_comes_behind_the_last_that_a_server_wants_is_closed_too() {
    let (mut world, sources) = World::with_sources(config(1));
    for (request, name) in [(0, "AA"), (1, "BB"), (2, "CC")] {
        open(&mut world, A, request, request + 1, name);
    }
    world.heard_by(sources[0]);
    wants(&mut world, A, 1, 3, &[wanted(0, 1)]);
    world.pass(0);
    assert_eq!(world.heard_by(sources[0]), ["Close 4", "Close 5"]);
    assert_eq!(world.core.counters().leftovers, 2);
}

#[test]
fn a_server_whose_request_was_lost_is_told_what_is_there() {
    let (mut world, sources) = World::with_sources(config(1));
    open(&mut world, A, 0, 1, "AA");
    world.says(sources[0], &provider::refresh(3, "AA"));
    world.forget();
    wants(&mut world, A, 1, 2, &[wanted(0, 1), wanted(1, 2)]);
    assert_eq!(world.frames(), ["A held: 0.., 0 is item 0 at 1 live"], "without request 1");
}

#[test]
fn a_request_that_took_over_a_number_is_not_closed_for_the_one_before() {
    let (mut world, sources) = World::with_sources(config(1));
    open(&mut world, A, 0, 1, "AA");
    open(&mut world, A, 0, 2, "BB");
    // A close that had to wait.
    close(&mut world, A, 0, 1);
    let heard = world.heard_by(sources[0]);
    assert_eq!(heard, ["Request 3 1:AA streaming", "Close 3", "Request 4 1:BB streaming"]);
    open(&mut world, A, 1, 3, "CC");
    wants(&mut world, A, 1, 3, &[wanted(0, 2)]);
    // Before it is closed, the number has a request that is wanted.
    open(&mut world, A, 1, 4, "DD");
    world.pass(0);
    let heard = world.heard_by(sources[0]);
    assert_eq!(heard, ["Request 5 1:CC streaming", "Close 5", "Request 6 1:DD streaming"]);
}

#[test]
fn a_change_of_priority_that_was_lost_is_made_up_for() {
    let (mut world, sources) = World::with_sources(config(1));
    open(&mut world, A, 0, 1, "AA");
    world.says(sources[0], &provider::refresh(3, "AA"));
    world.heard_by(sources[0]);
    wants(&mut world, A, 1, 1, &[Wanted { priority_count: 7, ..wanted(0, 1) }]);
    assert_eq!(world.heard_by(sources[0]), ["Request 3 1:AA streaming no-refresh priority 1/7"]);
}

#[test]
fn the_requests_of_a_server_that_is_gone_are_closed_bit_by_bit() {
    const COUNT: u32 = 5_000;
    let (mut world, sources) = World::with_sources(config(1));
    for request in 0..COUNT {
        open(&mut world, A, request, request + 1, &format!("ITEM{request}"));
        world.says(sources[0], &provider::refresh(request as i32 + 3, &format!("ITEM{request}")));
    }
    world.heard_by(sources[0]);
    world.server_down(A);
    let mut closes = world.heard_by(sources[0]).len();
    assert!(closes <= 256);
    assert_eq!(world.core.counters().owed, u64::from(COUNT) - closes as u64);
    while world.core.next_deadline().is_some_and(|at| at <= world.now) {
        world.core.handle_timeout(world.now, &mut world.out);
        let slice = world.heard_by(sources[0]).len();
        assert!(slice <= 256, "{slice} closes at a time");
        closes += slice;
    }
    assert_eq!(closes, COUNT as usize);
    assert_eq!((world.core.counters().items, world.core.counters().owed), (0, 0));
    // It comes back at once, as a new one.
    world.server_up(A);
    open(&mut world, A, 0, 1, "AA");
    assert_eq!(world.core.counters().items, 1);
}

#[test]
fn kept_images_are_given_out_as_the_backbone_takes_them() {
    const COUNT: u32 = 1_000;
    let (mut world, sources) =
        World::with_sources(HubConfig { cache_interactive: true, ..config(1) });
    world.server_up(B);
    for request in 0..COUNT {
        open(&mut world, A, request, request + 1, &format!("ITEM{request}"));
        world.says(sources[0], &provider::refresh(request as i32 + 3, &format!("ITEM{request}")));
    }
    world.forget();
    world.out.is_congested = true;
    for request in 0..COUNT {
        open(&mut world, B, request, request + 1, &format!("ITEM{request}"));
    }
    assert!(world.frames().iter().all(|line| line.starts_with("B accept")));
    assert_eq!(world.core.counters().owed, u64::from(COUNT));
    // One comes again meanwhile, for all, and one is closed.
    world.says(sources[0], &provider::update(4, 4513));
    close(&mut world, B, 7, 8);
    world.forget();
    world.pass(50);
    assert_eq!(world.frames(), [""; 0]);
    world.out.is_congested = false;
    world.now = world.now.after(std::time::Duration::from_millis(1));
    let mut images = 0;
    while world.core.next_deadline().is_some_and(|at| at <= world.now) {
        world.core.handle_timeout(world.now, &mut world.out);
        let slice = world.frames().len();
        assert!(slice <= 64, "{slice} images at a time");
        images += slice;
    }
    assert_eq!(images, COUNT as usize - 1);
}
