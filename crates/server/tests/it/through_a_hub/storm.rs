//! Whatever fails: in the end everybody knows the truth.

use std::collections::BTreeMap;

use tapeline_backbone::Incarnation;
use tapeline_rwf::{CloseMsg, DataState, Domain, Msg, StreamState};
use tapeline_server::ServerConfig;

use super::{Consumer, System, bid, built, state_of};

/// A generator that is the same on every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

const NAMES: [&str; 6] = ["A", "B", "C", "D", "E", "F"];

/// What a consumer knows of an item: its bid, and whether it may be trusted.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
struct Known {
    bid: Option<i64>,
    is_ok: bool,
}

/// The items that a consumer has open, by stream.
type Watchlist = BTreeMap<i32, (&'static str, Known)>;

fn take_in(consumer: &mut Consumer, list: &mut Watchlist) {
    for bytes in std::mem::take(&mut consumer.heard) {
        let msg = Msg::decode(&bytes).expect("a message");
        let Some((_, known)) = list.get_mut(&msg.stream_id()) else { continue };
        match msg {
            Msg::Refresh(_) | Msg::Status(_) => {
                let (stream, data) = state_of(&bytes);
                assert_eq!(stream, StreamState::OPEN, "nothing closes an item here");
                known.is_ok = data == DataState::OK;
                known.bid = bid(&bytes).or(known.bid);
            }
            Msg::Update(_) => {
                assert_ne!(known.bid, None, "an update before the image");
                known.bid = bid(&bytes);
            }
            _ => {}
        }
    }
}

fn hurt(system: &mut System, dice: &mut Dice) {
    let (hub, server) = (Incarnation(100 + system.hubs_started), Incarnation(7));
    match dice.below(12) {
        0 => system.network.set_loss(hub, server, 200_000),
        1 => system.network.set_loss(server, hub, 100_000),
        2..6 => {
            system.network.set_loss(hub, server, 0);
            system.network.set_loss(server, hub, 0);
        }
        6 => {
            system.hub = None;
            for _ in 0..dice.below(20) {
                system.turn();
            }
            system.start_hub();
        }
        7 => {
            if let Some(session) = system.provider.session {
                system.provider.reactor.outbox().close(session, "a crash");
            }
        }
        _ => {}
    }
}

/// Whatever is lost or dies meanwhile: in the end every consumer has the values
/// of the provider, and knows it.
#[test]
fn in_the_end_everybody_has_the_last_value() {
    let (mut holes, mut hubs) = (0, 0);
    for seed in [1, 2, 3] {
        let mut config = ServerConfig { cache: seed != 2, ..ServerConfig::default() };
        config.limits.open_timeout_ms = 300;
        let mut system = System::with(config);
        let mut dice = Dice(seed * 7919);
        let mut lists: Vec<Watchlist> = vec![Watchlist::new(); 3];
        for _ in &lists {
            system.consumer();
        }
        for round in 0..400 {
            let index = dice.below(3) as usize;
            let name = NAMES[dice.below(6) as usize];
            let open = lists[index].iter().find(|(_, (open, _))| *open == name);
            let open = open.map(|(stream_id, _)| *stream_id);
            match (dice.below(4), open) {
                (0, None) => {
                    let stream_id = 10 + round;
                    lists[index].insert(stream_id, (name, Known::default()));
                    system.request(index, stream_id, name, true);
                }
                (1, Some(stream_id)) => {
                    lists[index].remove(&stream_id);
                    let close = CloseMsg::new(Domain::MARKET_PRICE, stream_id);
                    let bytes = built(|encoder| encoder.message(&close.into()));
                    system.consumers[index].say(&bytes);
                }
                _ => system.provider.update(name, 1000 + i64::from(round)),
            }
            if round % 10 == 0 {
                hurt(&mut system, &mut dice);
            }
            system.turn();
            for (consumer, list) in system.consumers.iter_mut().zip(&mut lists) {
                take_in(consumer, list);
            }
        }
        let (hub, server) = (Incarnation(100 + system.hubs_started), Incarnation(7));
        system.network.join(hub, server);
        let mut turns = 0;
        system.until("everybody has the last value", |it| {
            // A sign of life of every item shows what was lost before.
            turns += 1;
            if turns % 200 == 0 {
                for (place, name) in NAMES.iter().enumerate() {
                    it.provider.update(name, 5000 + place as i64);
                }
            }
            for (consumer, list) in it.consumers.iter_mut().zip(&mut lists) {
                take_in(consumer, list);
            }
            turns > 200
                && lists.iter().flat_map(BTreeMap::values).all(|(name, known)| {
                    let bid = it.provider.bids.get(*name).copied();
                    *known == Known { bid, is_ok: true }
                })
        });
        holes += system.server.statistics().gaps;
        hubs += system.hubs_started;
    }
    assert!(holes > 0 && hubs > 3, "{holes} holes, {hubs} hubs: nothing was hurt");
}
