//! Of messages that crossed on their way.

use super::{holds, micros, millis};
use crate::plan::{Action, Images, Plan, Saying, Shape};

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

#[test]
fn a_change_that_crosses_with_the_end_of_its_service_opens_no_other() {
    holds(&Plan {
        shape: Shape {
            consumers: vec![true, false],
            hub_cache: true,
            server_cache: true,
            pause_upstream: true,
            groups: true,
            socket_delay: micros(40000),
            socket_jitter: micros(50),
            segment_bytes: 1460,
            output_bytes: 6144,
            queue_bytes: 65_536,
            look_at_clock: micros(250),
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
            (millis(1914), Action::Open { consumer: 6, item: 40, view: false, paused: false }),
            (millis(4949), Action::Close { consumer: 22, open: 18 }),
            (millis(8888), Action::Private { consumer: 16, item: 26 }),
            (millis(10546), Action::Snapshot { consumer: 20, item: 41 }),
            (millis(10855), Action::Batch { consumer: 49, service: 3 }),
            (millis(10878), Action::Unasked { source: 1, item: 34 }),
            (millis(12162), Action::Close { consumer: 24, open: 53 }),
            (millis(13488), Action::Batch { consumer: 20, service: 1 }),
            (millis(13594), Action::Rank { consumer: 52, open: 27, class: 3 }),
            (
                millis(13606),
                Action::Group {
                    source: 1,
                    service: 1,
                    group: 1,
                    saying: Saying::ServiceClosed,
                    ms: 2872,
                },
            ),
        ],
        chance: 0x1084_492b_b2e9_c4ea,
    });
}

#[test]
fn a_source_may_find_that_a_client_is_gone_by_sending() {
    holds(&Plan {
        shape: Shape {
            consumers: vec![true],
            server_cache: true,
            groups: true,
            open_window: 1,
            socket_delay: micros(40000),
            socket_jitter: micros(2000),
            segment_bytes: 1460,
            window_bytes: 16_384,
            provider_window_bytes: 2048,
            backbone_delay: micros(1000),
            provider_output_bytes: 65_536,
            merged_bytes: 400,
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(10285), Action::Update { item: 38, count: 400, apart_ms: 100 }),
            (millis(19923), Action::Batch { consumer: 53, service: 2 }),
            (millis(19998), Action::Private { consumer: 4, item: 12 }),
            (millis(22377), Action::Private { consumer: 48, item: 33 }),
            (millis(22412), Action::Private { consumer: 37, item: 6 }),
            (millis(30564), Action::Update { item: 63, count: 60, apart_ms: 100 }),
            (millis(31097), Action::Update { item: 60, count: 400, apart_ms: 0 }),
        ],
        chance: 0xc499_3801_736d_4f95,
    });
}

#[test]
fn a_pause_that_crosses_with_the_end_of_its_stream_leaves_nothing_open() {
    holds(&Plan {
        shape: Shape {
            items: 2,
            consumers: vec![false, true],
            hub_cache: true,
            server_cache: true,
            pause_upstream: true,
            own_sources: true,
            images: Images {
                most_parts: 2,
                numbered_percent: 0,
                endless_percent: 10,
                ..Images::WHOLE
            },
            open_window: 2,
            socket_delay: millis(3),
            socket_jitter: micros(50),
            segment_bytes: 200,
            output_bytes: 32768,
            queue_bytes: 1024,
            strangers: true,
            look_at_clock: micros(5),
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(15062), Action::Batch { consumer: 33, service: 0 }),
            (millis(28804), Action::Update { item: 63, count: 400, apart_ms: 100 }),
            (micros(68_730_128), Action::Update { item: 18, count: 60, apart_ms: 0 }),
            (micros(68_730_128), Action::StallConsumer { consumer: 37, ms: 4734 }),
            (micros(68_730_128), Action::Batch { consumer: 6, service: 1 }),
            (micros(68_730_133), Action::Pause { consumer: 13, open: 1 }),
            (micros(68_730_138), Action::EndForGood { source: 1, item: 13 }),
        ],
        chance: 0x795e_bc5f_3e9c_cf99,
    });
}

#[test]
fn an_answer_that_was_on_its_way_all_the_time_is_not_taken_for_that_to_another_request() {
    holds(&Plan {
        shape: Shape {
            consumers: vec![false],
            services: 2,
            publishers: 1,
            published: 2,
            items: 2,
            books: 2,
            groups: true,
            socket_delay: millis(40),
            socket_jitter: micros(50),
            segment_bytes: 7,
            window_bytes: 2048,
            backbone_delay: micros(20),
            output_bytes: 32_768,
            provider_output_bytes: 65_536,
            merged_bytes: 400,
            locks: true,
            look_at_clock: micros(5),
            images: Images {
                most_parts: 2,
                apart_ms: 300,
                numbered_percent: 60,
                endless_percent: 0,
                padding_bytes: 0,
            },
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(2353), Action::CutServer { server: 0, ms: 26_574 }),
            (millis(8074), Action::Update { item: 6, count: 5, apart_ms: 7 }),
            (millis(9999), Action::Snapshot { consumer: 24, item: 6 }),
            (millis(11_130), Action::Batch { consumer: 56, service: 2 }),
            (millis(19_534), Action::CloseAll { consumer: 53 }),
        ],
        chance: 0xe5cf_9434_347c_7222,
    });
}

#[test]
fn who_comes_to_what_gave_way_is_told_so() {
    holds(&Plan {
        shape: Shape {
            items: 6,
            books: 2,
            consumers: vec![false, true],
            pause_upstream: true,
            images: Images {
                most_parts: 3,
                apart_ms: 5,
                numbered_percent: 100,
                endless_percent: 0,
                padding_bytes: 0,
            },
            open_window: 2,
            open_limit: 2,
            socket_delay: micros(0),
            socket_jitter: micros(0),
            segment_bytes: 200,
            window_bytes: 16_384,
            backbone_delay: micros(0),
            output_bytes: 30_720_000,
            provider_output_bytes: 65_536,
            merged_bytes: 400,
            queue_bytes: 1024,
            look_at_clock: micros(5),
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(3595), Action::Snapshot { consumer: 30, item: 9 }),
            (millis(4881), Action::Open { consumer: 31, item: 5, view: false, paused: false }),
            (millis(6206), Action::Open { consumer: 17, item: 28, view: false, paused: false }),
            (millis(14430), Action::CrashServer { server: 1, ms: 29 }),
            (millis(18872), Action::CrashHub { hub: 1, ms: 1550 }),
            (millis(20210), Action::Batch { consumer: 7, service: 3 }),
            (millis(20756), Action::Snapshot { consumer: 4, item: 28 }),
            (millis(21005), Action::StallServer { server: 0, ms: 22_552 }),
            (millis(23129), Action::Batch { consumer: 48, service: 1 }),
            (millis(24385), Action::ResetServer { server: 1 }),
            (millis(27539), Action::Load { source: 0, service: 0, window: 1, limit: 3 }),
            (millis(29375), Action::CrashSource { source: 1, ms: 21_627 }),
            (millis(29391), Action::Rank { consumer: 59, open: 38, class: 2 }),
            (micros(74_055_042), Action::CloseAll { consumer: 35 }),
            (
                micros(74_073_357),
                Action::Open { consumer: 35, item: 1, view: false, paused: false },
            ),
            (micros(134_100_996), Action::CloseAll { consumer: 35 }),
            (
                micros(134_119_353),
                Action::Open { consumer: 35, item: 1, view: false, paused: false },
            ),
            (millis(150_000), Action::UpdateAll),
        ],
        chance: 0xc61e_a98b_dee0_a7eb,
    });
}

#[test]
fn updates_of_a_private_stream_go_out_while_the_others_of_its_mount_are_held() {
    let looked_at = millis(10_882);
    holds(&Plan {
        shape: Shape {
            hubs: 2,
            sources: 2,
            consumers: vec![true, false],
            hub_cache: true,
            server_cache: true,
            groups: true,
            socket_delay: millis(3),
            segment_bytes: 1460,
            window_bytes: 2048,
            backbone_delay: micros(20),
            output_bytes: 32_768,
            queue_bytes: 1024,
            server_window: 2,
            longest_turn: millis(50),
            ..Shape::PLAIN
        },
        actions: vec![
            (
                millis(4198),
                Action::Group {
                    source: 0,
                    service: 1,
                    group: 0,
                    saying: Saying::ServiceClosed,
                    ms: 23_956,
                },
            ),
            (millis(5300), Action::Private { consumer: 41, item: 7 }),
            (micros(10_881_300), Action::Look),
            (looked_at, Action::StandBy { consumer: 31, ms: 200 }),
            (looked_at, Action::StandBy { consumer: 44, ms: 8000 }),
            (looked_at, Action::UpdateAll),
        ],
        chance: 0xf000_89b5_3fb6_f46a,
    });
}

#[test]
fn a_request_that_comes_in_the_middle_of_a_suspect_snapshot_is_not_over_with_it() {
    holds(&Plan {
        shape: Shape {
            services: 2,
            publishers: 1,
            published: 2,
            consumers: vec![false],
            server_cache: true,
            groups: true,
            images: Images {
                most_parts: 4,
                apart_ms: 0,
                numbered_percent: 100,
                endless_percent: 40,
                padding_bytes: 90_000,
            },
            socket_delay: millis(3),
            segment_bytes: 4096,
            provider_window_bytes: 65_536,
            merged_bytes: 400,
            queue_bytes: 4096,
            filters: true,
            longest_turn: millis(50),
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(22_424), Action::Snapshot { consumer: 0, item: 26 }),
            (millis(25_384), Action::StopHub { hub: 0, ms: 26_977 }),
            (millis(25_409), Action::Update { item: 2, count: 400, apart_ms: 100 }),
        ],
        chance: 0xbbe2_1191_eab0_9b46,
    });
}

#[test]
fn a_mirror_of_which_the_last_part_is_on_its_way_is_not_whole() {
    holds(&Plan {
        shape: Shape {
            sources: 2,
            items: 2,
            books: 1,
            consumers: vec![false],
            server_cache: true,
            images: Images {
                most_parts: 4,
                apart_ms: 2500,
                numbered_percent: 60,
                endless_percent: 0,
                padding_bytes: 90_000,
            },
            socket_delay: millis(3),
            socket_jitter: micros(50),
            segment_bytes: 4096,
            provider_window_bytes: 65_536,
            backbone_delay: micros(20),
            output_bytes: 32_768,
            provider_output_bytes: 65_536_000,
            queue_bytes: 65_536,
            mirrored: true,
            look_at_clock: micros(5),
            longest_turn: millis(200),
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(7976), Action::Batch { consumer: 61, service: 0 }),
            (millis(16_462), Action::Unasked { source: 0, item: 8 }),
            (millis(110_096), Action::LoseMirror { source: 0, ms: 6000 }),
            (millis(125_413), Action::LoseMirror { source: 1, ms: 6000 }),
            (millis(129_000), Action::UpdateAll),
        ],
        chance: 0xe801_9677_698b_546c,
    });
}

/// Two sources mirror each other, and one is lost while this happens.
fn a_mirror_is_lost_while(others: &[Action]) {
    let moment = millis(40_000);
    let mut actions = vec![
        (millis(4000), Action::Open { consumer: 0, item: 0, view: false, paused: false }),
        (millis(20_000), Action::UpdateAll),
    ];
    actions.extend(others.iter().map(|action| (moment, *action)));
    actions.push((moment, Action::LoseMirror { source: 1, ms: 6000 }));
    actions.push((millis(44_000), Action::UpdateAll));
    holds(&Plan {
        shape: Shape {
            sources: 2,
            consumers: vec![false],
            socket_delay: millis(40),
            mirrored: true,
            ..Shape::PLAIN
        },
        actions,
        chance: 0x0929_6d9b_28c4_dca6,
    });
}

#[test]
fn a_source_is_asked_that_was_a_mirror_of_what_was_closed_meanwhile() {
    a_mirror_is_lost_while(&[
        Action::CloseAll { consumer: 0 },
        Action::Open { consumer: 0, item: 0, view: false, paused: false },
    ]);
}

#[test]
fn consumers_are_told_of_a_hub_that_leaves_while_a_mirror_is_lost() {
    a_mirror_is_lost_while(&[Action::StopHub { hub: 0, ms: 25 }]);
}
