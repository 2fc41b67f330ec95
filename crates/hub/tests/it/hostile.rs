//! Damaged and senseless input from both sides: it harms nobody but itself.

use crate::support::{A, World, config, encode, item_request, provider};
use tapeline_backbone::{FrameFlags, Kind};
use tapeline_hub::HubConfig;
use tapeline_omm::directory::{FilterContent, ServiceLoad, ServiceState};
use tapeline_rwf::{
    AckMsg, DataState, Domain, GenericMsg, MsgKey, PostMsg, State, StateCode, StreamState,
};

/// Random enough, and the same every time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) % bound as u64) as usize
    }

    /// A copy with some bytes changed, and sometimes an end missing.
    fn damaged(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        for _ in 0..self.below(4) {
            let place = self.below(bytes.len());
            bytes[place] = self.below(256) as u8;
        }
        if self.below(5) == 0 {
            bytes.truncate(self.below(bytes.len() + 1));
        }
        bytes
    }
}

fn messages() -> Vec<Vec<u8>> {
    let load = ServiceLoad { open_window: Some(2), open_limit: Some(3), load_factor: Some(1) };
    let closed =
        State::new(StreamState::CLOSED_RECOVER, DataState::SUSPECT, StateCode::NONE, "closed");
    let key = Some(MsgKey::item(1, "TRI.N"));
    vec![
        provider::login_accepted(),
        provider::provider_login(),
        provider::directory(&[provider::feed(1), provider::service(2, "MORE", true)]),
        provider::directory_on(0, &[provider::loaded_feed(load)]),
        provider::directory_update(&[provider::feed(3)]),
        provider::change(FilterContent::State(ServiceState::new(false, true))),
        provider::refresh(3, "TRI.N"),
        provider::refresh(-1, "TRI.N"),
        provider::part(4, 1, false),
        provider::update(3, 1),
        provider::update(-1, 1),
        provider::status(3, closed),
        encode(&GenericMsg { key, ..GenericMsg::new(Domain::MARKET_PRICE, 3) }.into()),
        encode(&AckMsg::new(Domain::MARKET_PRICE, 3).into()),
        encode(&PostMsg { key, ..PostMsg::new(Domain::MARKET_PRICE, 3) }.into()),
        encode(&item_request(1, "TRI.N").into()),
    ]
}

#[test]
fn the_hub_survives_any_message_and_any_frame_and_goes_on_serving() {
    const KINDS: [Kind; 10] = [
        Kind::Open,
        Kind::Close,
        Kind::Reissue,
        Kind::Post,
        Kind::Generic,
        Kind::HeldRequest,
        Kind::Wanted,
        Kind::DirectoryRequest,
        Kind::Item,
        Kind::Accept,
    ];
    let messages = messages();
    for seed in 0..200 {
        let mut dice = Dice(seed);
        let mut world = World::new(HubConfig { cache_interactive: seed % 2 == 0, ..config(2) });
        world.server_up(A);
        let mut routes = [world.source_up(0), world.source_up(1)];
        let publisher = world.session();
        world.event(provider::opened(publisher));
        for _ in 0..300 {
            let which = dice.below(messages.len());
            let message = dice.damaged(&messages[which]);
            match dice.below(8) {
                0 | 1 => world.says(routes[dice.below(2)], &message),
                2 | 3 => world.says(publisher, &message),
                4 => world.open(A, dice.below(4) as u32, "TRI.N"),
                5 => world.pass(dice.below(4_000) as u64),
                _ => {
                    let mut body = message;
                    if dice.below(2) == 0 {
                        body.splice(0..0, (dice.below(5) as u32).to_le_bytes());
                    }
                    let flags = FrameFlags::from_bits_retain(dice.below(256) as u8);
                    let number = dice.below(5) as u32;
                    world.frame(A, KINDS[dice.below(KINDS.len())], number, flags, &body);
                }
            }
            world.out.frames.clear();
            world.out.sent.clear();
        }
        // A route that was cut comes back, and a request is answered.
        for (route, session) in routes.iter_mut().enumerate() {
            world.closed(*session);
            world.out.connects.clear();
            world.pass(2_000);
            *session = world.source_up(route);
        }
        world.server_down(A);
        world.server_up(A);
        world.forget();
        world.open(A, 0, "GOOD");
        let lines: Vec<String> =
            routes.iter().flat_map(|session| world.heard_by(*session)).collect();
        assert_eq!(lines.len(), 1, "seed {seed}: {lines:?}");
        assert!(lines[0].ends_with(":GOOD streaming"), "seed {seed}: {lines:?}");
    }
}
