//! Stories that broke once, as they were planned: they stay the same when the
//! generator changes.

use std::time::Duration;

use crate::plan::{Action, Plan, Shape};
use crate::run::{Options, run_plan};

const fn micros(count: u64) -> Duration {
    Duration::from_micros(count)
}

const fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

fn holds(plan: &Plan) {
    if let (at, Err(what)) = run_plan(plan, &Options::default()) {
        panic!("breaks at {at:?}: {what}");
    }
}

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
fn a_change_that_crosses_with_the_end_of_its_stream_opens_no_other() {
    holds(&Plan {
        shape: Shape {
            hubs: 1,
            servers: 2,
            sources: 1,
            services: 1,
            items: 4,
            consumers: vec![true, false, false],
            hub_cache: true,
            server_cache: false,
            pause_upstream: false,
            own_sources: false,
            socket_delay: micros(40000),
            socket_jitter: micros(0),
            segment_bytes: 1460,
            window_bytes: 262_144,
            backbone_delay: micros(1000),
            output_bytes: 30_720_000,
            queue_bytes: 65536,
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(12138), Action::Open { consumer: 58, item: 15, view: false, paused: true }),
            (millis(14824), Action::Batch { consumer: 26, service: 0 }),
            (millis(16182), Action::Close { consumer: 46, open: 39 }),
            (millis(16188), Action::EndItem { source: 0, item: 7 }),
        ],
        chance: 0x9d97_4a7d_2fb0_d3e8,
    });
}

#[test]
fn updates_that_were_under_way_at_a_pause_are_made_up_for() {
    holds(&Plan {
        shape: Shape {
            hubs: 1,
            servers: 1,
            sources: 1,
            services: 1,
            items: 4,
            consumers: vec![false],
            hub_cache: false,
            server_cache: true,
            pause_upstream: false,
            own_sources: false,
            socket_delay: micros(40000),
            socket_jitter: micros(0),
            segment_bytes: 7,
            window_bytes: 2048,
            backbone_delay: micros(0),
            output_bytes: 32768,
            queue_bytes: 65536,
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(4558), Action::Open { consumer: 62, item: 63, view: false, paused: false }),
            (millis(12529), Action::CutServer { server: 1, ms: 3529 }),
            (millis(12539), Action::Update { item: 43, count: 5, apart_ms: 0 }),
            (millis(12540), Action::Pause { consumer: 55, open: 37 }),
            (millis(12608), Action::CutServer { server: 1, ms: 14 }),
            (millis(12609), Action::Update { item: 11, count: 1, apart_ms: 7 }),
            (millis(12614), Action::StallServer { server: 0, ms: 17417 }),
            (millis(14074), Action::StallConsumer { consumer: 34, ms: 3322 }),
        ],
        chance: 0x7bb5_0758_e4dc_4138,
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
fn an_answer_to_a_post_is_about_the_item_that_it_was_on() {
    holds(&Plan {
        shape: Shape {
            hubs: 1,
            servers: 2,
            sources: 1,
            services: 2,
            items: 2,
            consumers: vec![true],
            hub_cache: false,
            server_cache: true,
            pause_upstream: false,
            own_sources: false,
            socket_delay: micros(100),
            socket_jitter: micros(0),
            segment_bytes: 7,
            window_bytes: 262_144,
            backbone_delay: micros(30000),
            output_bytes: 30_720_000,
            queue_bytes: 4_194_304,
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(5526), Action::Close { consumer: 3, open: 11 }),
            (millis(5540), Action::StallHub { hub: 0, ms: 64 }),
            (millis(5558), Action::Update { item: 41, count: 1, apart_ms: 1 }),
            (millis(11127), Action::Lose { hub: 0, server: 0, per_million: 500_000, ms: 10249 }),
            (millis(12015), Action::Rank { consumer: 5, open: 62, class: 5 }),
            (millis(13266), Action::Open { consumer: 3, item: 40, view: false, paused: false }),
            (millis(19298), Action::Post { consumer: 53, open: 15 }),
            (millis(19526), Action::Close { consumer: 32, open: 63 }),
            (millis(20235), Action::Open { consumer: 45, item: 30, view: false, paused: false }),
            (millis(31743), Action::Close { consumer: 7, open: 34 }),
        ],
        chance: 0x2eb5_d6f4_0d9d_524a,
    });
}
