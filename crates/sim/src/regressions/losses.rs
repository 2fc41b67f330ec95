//! Of messages that were lost on the backbone.

use super::{holds, micros, millis};
use crate::plan::{Action, Images, Plan, Shape};

#[test]
fn a_paused_private_stream_is_over_with_an_update_that_shows_a_hole() {
    holds(&Plan {
        shape: Shape {
            sources: 2,
            consumers: vec![false],
            server_cache: true,
            pause_upstream: true,
            images: Images {
                most_parts: 3,
                apart_ms: 2500,
                numbered_percent: 60,
                endless_percent: 0,
                padding_bytes: 0,
            },
            socket_delay: micros(0),
            socket_jitter: micros(50),
            segment_bytes: 7,
            window_bytes: 16_384,
            backbone_delay: millis(30),
            output_bytes: 32_768,
            queue_bytes: 4_194_304,
            locks: true,
            look_at_clock: micros(5),
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(3327), Action::Private { consumer: 20, item: 37 }),
            (millis(5071), Action::Lose { hub: 1, server: 0, per_million: 1000, ms: 1377 }),
            (millis(5113), Action::Update { item: 40, count: 400, apart_ms: 0 }),
            (millis(5121), Action::Pause { consumer: 46, open: 0 }),
            (millis(8000), Action::UpdateAll),
        ],
        chance: 0xd745_820b_98d3_366d,
    });
}

#[test]
fn the_first_state_of_an_item_is_told_though_it_was_lost() {
    holds(&Plan {
        shape: Shape {
            items: 7,
            consumers: vec![true],
            hub_cache: true,
            server_cache: true,
            pause_upstream: true,
            socket_delay: micros(100),
            socket_jitter: micros(0),
            segment_bytes: 1460,
            window_bytes: 262_144,
            backbone_delay: millis(1),
            output_bytes: 6144,
            merged_bytes: 400,
            queue_bytes: 1024,
            look_at_clock: micros(5),
            ..Shape::PLAIN
        },
        actions: vec![
            (micros(31_971_442), Action::StandBy { consumer: 37, ms: 8000 }),
            (millis(37541), Action::Load { source: 0, service: 0, window: 0, limit: 3 }),
            (micros(37_544_055), Action::Close { consumer: 46, open: 40 }),
            (millis(45174), Action::Lose { hub: 1, server: 1, per_million: 500_000, ms: 323 }),
            (millis(45189), Action::Update { item: 22, count: 60, apart_ms: 100 }),
            (millis(45202), Action::Batch { consumer: 47, service: 0 }),
            (millis(62_000), Action::UpdateAll),
        ],
        chance: 0xe4ff_c142_7bd3_1e6b,
    });
}

#[test]
fn what_is_closed_and_was_lost_keeps_no_place() {
    holds(&Plan {
        shape: Shape {
            items: 5,
            consumers: vec![true],
            hub_cache: true,
            own_sources: true,
            socket_delay: micros(100),
            socket_jitter: millis(2),
            segment_bytes: 200,
            window_bytes: 262_144,
            backbone_delay: micros(20),
            output_bytes: 6144,
            queue_bytes: 65_536,
            server_window: 1,
            locks: true,
            look_at_clock: micros(0),
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(8301), Action::Open { consumer: 60, item: 47, view: false, paused: false }),
            (millis(12300), Action::Cut { hub: 1, server: 0, ways: 2, ms: 24_753 }),
            (micros(37_121_219), Action::Rights { consumer: 42, codes: 0 }),
            (micros(37_121_219), Action::Cut { hub: 0, server: 0, ways: 3, ms: 21 }),
            (micros(37_121_219), Action::Pause { consumer: 54, open: 43 }),
            (
                micros(37_121_219),
                Action::Open { consumer: 57, item: 49, view: false, paused: false },
            ),
            (millis(55_000), Action::UpdateAll),
        ],
        chance: 0x2857_9a14_e57e_ff4d,
    });
}

#[test]
fn a_window_goes_with_the_hub_that_had_it() {
    holds(&Plan {
        shape: Shape {
            hubs: 2,
            sources: 2,
            publishers: 1,
            published: 2,
            items: 5,
            consumers: vec![true],
            hub_cache: true,
            server_cache: true,
            own_sources: true,
            groups: true,
            images: Images {
                most_parts: 4,
                apart_ms: 2500,
                numbered_percent: 0,
                endless_percent: 0,
                padding_bytes: 0,
            },
            socket_jitter: micros(50),
            window_bytes: 16_384,
            provider_window_bytes: 2048,
            backbone_delay: millis(1),
            output_bytes: 32_768,
            queue_bytes: 4096,
            longest_turn: millis(200),
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(8410), Action::Open { consumer: 12, item: 53, view: true, paused: false }),
            (millis(8629), Action::Snapshot { consumer: 19, item: 42 }),
            (millis(14_022), Action::Load { source: 1, service: 1, window: 1, limit: 1 }),
            (millis(24_757), Action::StickHub { hub: 0, ms: 884 }),
            (millis(33_971), Action::Update { item: 52, count: 60, apart_ms: 1 }),
        ],
        chance: 0x12f2_62bf_a208_6e8e,
    });
}

#[test]
fn a_server_that_stood_still_and_was_given_up_does_not_miss_an_update_unseen() {
    holds(&Plan {
        shape: Shape {
            servers: 2,
            publishers: 1,
            published: 2,
            items: 1,
            consumers: vec![false, true],
            hub_cache: true,
            groups: true,
            socket_delay: millis(3),
            socket_jitter: millis(2),
            window_bytes: 16_384,
            backbone_delay: micros(0),
            merged_bytes: 400,
            queue_bytes: 4096,
            filters: true,
            look_at_clock: micros(0),
            longest_turn: millis(200),
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(6103), Action::Batch { consumer: 2, service: 1 }),
            (millis(39_763), Action::Generic { consumer: 50, open: 23 }),
            (millis(39_776), Action::StallServer { server: 0, ms: 2631 }),
            (millis(40_288), Action::Update { item: 7, count: 400, apart_ms: 7 }),
            (micros(40_293_306), Action::Batch { consumer: 39, service: 1 }),
            (millis(40_336), Action::Update { item: 35, count: 5, apart_ms: 100 }),
        ],
        chance: 0x25f8_26e3_d072_fde5,
    });
}

#[test]
fn the_view_of_a_private_stream_holds_though_the_change_was_lost() {
    holds(&Plan {
        shape: Shape {
            services: 2,
            consumers: vec![false],
            socket_delay: millis(40),
            socket_jitter: millis(2),
            segment_bytes: 200,
            window_bytes: 2048,
            provider_output_bytes: 65_536,
            backbone_delay: micros(20),
            merged_bytes: 400,
            queue_bytes: 4096,
            look_at_clock: micros(5),
            longest_turn: millis(200),
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(14_636), Action::Private { consumer: 18, item: 26 }),
            (millis(15_961), Action::Unasked { source: 0, item: 21 }),
            (millis(18_247), Action::Pause { consumer: 27, open: 25 }),
            (millis(19_341), Action::Open { consumer: 14, item: 6, view: true, paused: true }),
            (millis(22_342), Action::Snapshot { consumer: 15, item: 3 }),
            (millis(22_353), Action::Change { consumer: 8, open: 48, view: None }),
            (millis(22_963), Action::Lose { hub: 1, server: 1, per_million: 500_000, ms: 2468 }),
            (millis(22_980), Action::Update { item: 18, count: 2, apart_ms: 100 }),
            (millis(23_785), Action::PostAside { consumer: 50, item: 39 }),
            (millis(23_847), Action::Change { consumer: 34, open: 24, view: Some(true) }),
            (millis(27_230), Action::Update { item: 46, count: 400, apart_ms: 0 }),
        ],
        chance: 0xaa87_e2cd_d7df_c34c,
    });
}
