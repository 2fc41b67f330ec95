//! What items, watchers and mounts keep, in bytes that are asked for from the
//! allocator.

use std::net::SocketAddr;

use crate::bare::{Counter, accept, built, image, session, start, work_off};
use tapeline_backbone::Kind;
use tapeline_omm::login::LoginRequest;
use tapeline_omm::market::{ItemRequest, RequestPayload};
use tapeline_rwf::{CloseMsg, Domain, MsgKey};
use tapeline_server::{AcceptAll, Event, Interpreter, ServerConfig};
use tapeline_time::Time;

/// More than what the tables of items and streams have at the least, and just
/// above a step in their growth: the dearest number.
const ITEMS: usize = 60_000;
/// A watchlist.
const WATCHED: usize = 1_000;

struct World {
    core: Interpreter,
    out: Counter,
}

impl World {
    fn new() -> Self {
        let config = ServerConfig { cache: false, ..ServerConfig::default() };
        let mut core = Interpreter::new(config, Box::new(AcceptAll));
        let mut out = Counter { asked: Vec::with_capacity(ITEMS), ..Counter::default() };
        start(&mut core, &mut out);
        Self { core, out }
    }

    fn say(&mut self, mount: u32, bytes: &[u8]) {
        let event = Event::Message { session: session(mount), bytes };
        self.core.handle(Time::ZERO, event, &mut self.out);
    }

    fn mount(&mut self, mount: u32) {
        let peer = SocketAddr::from(([127, 0, 0, 1], 1));
        let event = Event::Opened { session: session(mount), peer };
        self.core.handle(Time::ZERO, event, &mut self.out);
        let login = LoginRequest::new(1, "user");
        self.say(mount, &built(|encoder| login.encode(encoder)));
    }

    /// Opens the first items, on streams that are counted up; the hub answers.
    fn watch(&mut self, mount: u32, items: usize) {
        for item in 0..items {
            let name = format!("ITEM{item:06}.N");
            let key = MsgKey::item(1, &name);
            let request = ItemRequest::new(Domain::MARKET_PRICE, 5 + item as i32, key);
            self.say(mount, &built(|encoder| request.encode(encoder, &RequestPayload::NONE)));
            while let Some((kind, reference)) = self.out.asked.pop() {
                // The hub has the numbers of the server.
                match kind {
                    Kind::Open => accept(&mut self.core, &mut self.out, reference, reference),
                    _ => image(&mut self.core, &mut self.out, reference),
                }
            }
        }
    }

    fn unwatch(&mut self, mount: u32, items: usize) {
        for item in 0..items {
            let close = CloseMsg::new(Domain::MARKET_PRICE, 5 + item as i32);
            self.say(mount, &built(|encoder| encoder.message(&close.into())));
        }
    }

    fn close(&mut self, mount: u32) {
        let event = Event::Closed { session: session(mount) };
        self.core.handle(Time::ZERO, event, &mut self.out);
        work_off(&mut self.core, &mut self.out);
    }
}

/// Bytes that are kept of what was done, for each of so many.
fn kept(count: usize, act: impl FnOnce()) -> f64 {
    allocation_counter::measure(act).bytes_current as f64 / count as f64
}

#[test]
fn an_item_with_its_watcher_takes_216_bytes_and_a_further_watcher_16() {
    /// The third makes a list of what two have in the item.
    const FURTHER: usize = 8;
    let mut world = World::new();
    (0..=FURTHER as u32).for_each(|mount| world.mount(mount));
    let item = kept(ITEMS, || world.watch(0, ITEMS));
    let second = kept(ITEMS, || world.watch(1, ITEMS));
    let others = kept(ITEMS * (FURTHER - 1), || {
        (2..=FURTHER as u32).for_each(|mount| world.watch(mount, ITEMS));
    });
    let further = (second + others * (FURTHER - 1) as f64) / FURTHER as f64;
    println!("item {item:.1}, second watcher {second:.1}, each further one {further:.1}");
    assert_eq!(world.core.statistics().items, ITEMS);
    assert!(item <= 216.0, "{item}");
    assert!(second <= 16.0 && further <= 16.0, "{second} and {further}");
}

#[test]
fn a_mount_with_1000_items_takes_less_than_20_kib_of_the_core() {
    let mut world = World::new();
    world.mount(0);
    world.watch(0, WATCHED);
    let mounts = 50;
    let each = kept(mounts, || {
        for mount in 1..=mounts as u32 {
            world.mount(mount);
            world.watch(mount, WATCHED);
        }
    });
    println!("mount {each:.0}");
    assert!(each <= 20.0 * 1024.0, "{each}");
}

#[test]
fn what_mounts_close_is_given_back() {
    let mut world = World::new();
    world.mount(0);
    world.watch(0, WATCHED);
    let first = kept(1, || {
        world.mount(1);
        world.watch(1, 20 * WATCHED);
        world.unwatch(1, 20 * WATCHED);
        world.close(1);
    });
    // Places in the tables of items stay, to be used again: the item's, its
    // neighbours' among those of its hub and service, its name's, the hub's.
    assert!(first <= 20.0 * WATCHED as f64 * 40.0, "{first}");
    let again = kept(1, || {
        world.mount(1);
        world.watch(1, 20 * WATCHED);
        world.unwatch(1, 20 * WATCHED);
        world.close(1);
    });
    assert!(again <= 8_192.0, "{again}");
}
