//! Of mounts that do not keep up.

use super::{holds, micros, millis};
use crate::plan::{Action, Images, Plan, Shape};

#[test]
fn what_is_merged_for_a_slow_mount_is_not_merged_across_a_hole() {
    holds(&Plan {
        shape: Shape {
            hubs: 1,
            servers: 1,
            sources: 1,
            services: 1,
            items: 5,
            consumers: vec![false],
            hub_cache: false,
            server_cache: false,
            pause_upstream: false,
            own_sources: true,
            socket_delay: micros(3000),
            socket_jitter: micros(50),
            segment_bytes: 1460,
            window_bytes: 2048,
            backbone_delay: micros(30000),
            output_bytes: 32768,
            queue_bytes: 4096,
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(3513), Action::Batch { consumer: 61, service: 0 }),
            (millis(9744), Action::StallConsumer { consumer: 51, ms: 4805 }),
            (millis(10162), Action::Lose { hub: 0, server: 1, per_million: 50000, ms: 7393 }),
            (millis(10881), Action::Update { item: 48, count: 400, apart_ms: 0 }),
            (millis(11924), Action::Update { item: 2, count: 400, apart_ms: 1 }),
            (millis(13695), Action::Open { consumer: 24, item: 40, view: false, paused: false }),
        ],
        chance: 0xbf19_6c89_243c_7c90,
    });
}

#[test]
fn the_notice_of_conflation_says_nothing_of_the_data() {
    holds(&Plan {
        shape: Shape {
            hubs: 1,
            servers: 1,
            sources: 2,
            services: 2,
            items: 1,
            consumers: vec![true],
            hub_cache: true,
            server_cache: false,
            pause_upstream: false,
            own_sources: false,
            socket_delay: micros(0),
            socket_jitter: micros(50),
            segment_bytes: 200,
            window_bytes: 16384,
            backbone_delay: micros(30000),
            output_bytes: 6144,
            queue_bytes: 4096,
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(20192), Action::Open { consumer: 57, item: 11, view: false, paused: false }),
            (millis(20196), Action::Open { consumer: 44, item: 14, view: false, paused: false }),
            (millis(20806), Action::StallConsumer { consumer: 16, ms: 3224 }),
            (millis(20838), Action::Lose { hub: 0, server: 0, per_million: 500_000, ms: 12108 }),
            (millis(20876), Action::BreakServer { server: 1, ms: 34 }),
            (millis(22946), Action::Update { item: 23, count: 400, apart_ms: 0 }),
            (millis(24532), Action::Change { consumer: 24, open: 10, view: Some(false) }),
        ],
        chance: 0xe8ea_545d_ff98_8fdd,
    });
}

#[test]
fn a_stalled_consumer_hears_of_items_that_it_paused_meanwhile() {
    holds(&Plan {
        shape: Shape {
            consumers: vec![true],
            items: 11,
            pause_upstream: true,
            groups: true,
            window_bytes: 16_384,
            backbone_delay: millis(30),
            output_bytes: 6144,
            queue_bytes: 1024,
            forger: true,
            look_at_clock: micros(5),
            images: Images {
                most_parts: 3,
                apart_ms: 2500,
                numbered_percent: 0,
                endless_percent: 40,
                padding_bytes: 0,
            },
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(10_665), Action::Batch { consumer: 12, service: 2 }),
            (millis(20_048), Action::Load { source: 0, service: 0, window: 2, limit: 1 }),
            (millis(23_698), Action::StallConsumer { consumer: 39, ms: 23_167 }),
            (millis(24_588), Action::Update { item: 27, count: 400, apart_ms: 0 }),
            (millis(28_288), Action::ResetSource { source: 0 }),
            (millis(29_046), Action::Pause { consumer: 18, open: 50 }),
        ],
        chance: 0x5609_803b_eae4_a1b0,
    });
}

#[test]
fn a_stalled_consumer_is_owed_one_change_of_services_that_come_and_go() {
    holds(&Plan {
        shape: Shape {
            consumers: vec![true],
            sources: 2,
            services: 2,
            publishers: 1,
            published: 1,
            items: 1,
            books: 1,
            server_cache: true,
            pause_upstream: true,
            open_window: 2,
            open_limit: 2,
            socket_delay: micros(3000),
            socket_jitter: micros(50),
            segment_bytes: 1460,
            window_bytes: 2048,
            backbone_delay: micros(1000),
            output_bytes: 6144,
            provider_output_bytes: 65_536,
            queue_bytes: 65_536,
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(5315), Action::Update { item: 52, count: 400, apart_ms: 100 }),
            (millis(13_162), Action::Open { consumer: 1, item: 58, view: false, paused: false }),
            (millis(15_931), Action::StallConsumer { consumer: 15, ms: 27_333 }),
            (millis(17_808), Action::StallHub { hub: 0, ms: 1760 }),
            (millis(22_067), Action::StopHub { hub: 1, ms: 672 }),
            (millis(25_998), Action::StopHub { hub: 1, ms: 4 }),
        ],
        chance: 0x2925_7050_bcd5_5a9c,
    });
}
