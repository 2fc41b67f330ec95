//! Stories that broke once, as they were planned: they stay the same when the
//! generator changes.

use std::time::Duration;

use crate::plan::{Action, Images, Plan, Saying, Shape};
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

#[test]
fn a_batch_is_answered_behind_a_long_image_of_which_nothing_is_sent_yet() {
    holds(&Plan {
        shape: Shape {
            consumers: vec![false],
            services: 2,
            publishers: 1,
            published: 2,
            items: 5,
            pause_upstream: true,
            own_sources: true,
            socket_delay: micros(3000),
            socket_jitter: micros(50),
            segment_bytes: 4096,
            provider_window_bytes: 65_536,
            backbone_delay: micros(20),
            output_bytes: 6144,
            provider_output_bytes: 65_536_000,
            look_at_clock: micros(5),
            images: Images {
                most_parts: 3,
                apart_ms: 300,
                numbered_percent: 60,
                endless_percent: 40,
                padding_bytes: 90_000,
            },
            ..Shape::PLAIN
        },
        actions: vec![(millis(35596), Action::Private { consumer: 50, item: 59 })],
        chance: 0xbea2_40c6_555f_c193,
    });
}

#[test]
fn who_stood_by_has_an_item_with_its_next_image() {
    holds(&Plan {
        shape: Shape {
            consumers: vec![false],
            hubs: 2,
            publishers: 2,
            published: 2,
            items: 2,
            hub_cache: true,
            server_cache: true,
            groups: true,
            socket_delay: micros(3000),
            socket_jitter: micros(2000),
            segment_bytes: 200,
            window_bytes: 2048,
            provider_window_bytes: 2048,
            backbone_delay: micros(20),
            provider_output_bytes: 65_536,
            merged_bytes: 400,
            queue_bytes: 65_536,
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(8212), Action::StopHub { hub: 0, ms: 2594 }),
            (millis(26699), Action::CrashHub { hub: 1, ms: 16 }),
            (millis(52110), Action::CrashPublisher { publisher: 1, ms: 18_951 }),
        ],
        chance: 0xaf96_e1f8_25f4_77e0,
    });
}

#[test]
fn an_image_under_way_keeps_fields_that_a_new_view_leaves_out() {
    holds(&Plan {
        shape: Shape {
            consumers: vec![false, true, false, false],
            hubs: 2,
            sources: 2,
            services: 2,
            items: 2,
            groups: true,
            socket_delay: micros(3000),
            segment_bytes: 4096,
            provider_window_bytes: 65_536,
            backbone_delay: micros(1000),
            provider_output_bytes: 65_536_000,
            queue_bytes: 4096,
            look_at_clock: micros(5),
            images: Images {
                most_parts: 4,
                apart_ms: 2500,
                numbered_percent: 100,
                endless_percent: 0,
                padding_bytes: 90_000,
            },
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(4059), Action::Open { consumer: 31, item: 50, view: false, paused: true }),
            (millis(4415), Action::Batch { consumer: 13, service: 3 }),
            (millis(7673), Action::Open { consumer: 55, item: 0, view: false, paused: false }),
            (millis(12456), Action::Close { consumer: 35, open: 42 }),
            (millis(23500), Action::Unasked { source: 1, item: 0 }),
            (millis(26137), Action::Change { consumer: 35, open: 62, view: Some(true) }),
            (millis(28340), Action::Update { item: 48, count: 5, apart_ms: 0 }),
        ],
        chance: 0xbd9d_380b_3e1f_1881,
    });
}

#[test]
fn what_misses_something_is_not_ok_because_its_service_is() {
    holds(&Plan {
        shape: Shape {
            consumers: vec![true, true, false],
            server_cache: true,
            pause_upstream: true,
            open_window: 2,
            open_limit: 4,
            socket_jitter: micros(2000),
            segment_bytes: 1460,
            window_bytes: 16_384,
            backbone_delay: micros(1000),
            output_bytes: 6144,
            provider_output_bytes: 65_536,
            merged_bytes: 400,
            queue_bytes: 65_536,
            look_at_clock: micros(5),
            images: Images {
                most_parts: 1,
                apart_ms: 300,
                numbered_percent: 100,
                endless_percent: 0,
                padding_bytes: 0,
            },
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(16980), Action::StallConsumer { consumer: 10, ms: 66 }),
            (millis(17013), Action::Open { consumer: 26, item: 36, view: false, paused: false }),
            (millis(17020), Action::Cut { hub: 0, server: 0, ways: 2, ms: 13 }),
            (millis(17020), Action::Private { consumer: 3, item: 25 }),
            (millis(23462), Action::StopHub { hub: 0, ms: 16_352 }),
            (millis(24351), Action::StopHub { hub: 1, ms: 1144 }),
            (millis(24707), Action::Update { item: 34, count: 400, apart_ms: 0 }),
            (millis(28702), Action::Open { consumer: 22, item: 38, view: false, paused: false }),
            (millis(30674), Action::Post { consumer: 5, open: 33 }),
            (millis(30675), Action::Close { consumer: 53, open: 47 }),
            (millis(32656), Action::Suspend { ms: 96 }),
            (
                millis(32680),
                Action::Group {
                    source: 0,
                    service: 0,
                    group: 0,
                    saying: Saying::ServiceSuspect,
                    ms: 19,
                },
            ),
            (millis(32711), Action::Lose { hub: 1, server: 1, per_million: 500_000, ms: 23_105 }),
            (millis(32753), Action::Update { item: 8, count: 5, apart_ms: 0 }),
            (millis(40782), Action::Update { item: 10, count: 1, apart_ms: 1 }),
        ],
        chance: 0x24dd_856f_8b35_5906,
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
fn a_lost_part_of_an_image_for_one_server_keeps_no_other_image_out() {
    holds(&Plan {
        shape: Shape {
            consumers: vec![false],
            server_cache: true,
            open_window: 1,
            open_limit: 4,
            socket_delay: micros(100),
            socket_jitter: micros(2000),
            segment_bytes: 1460,
            window_bytes: 2048,
            backbone_delay: micros(20),
            provider_output_bytes: 65_536,
            merged_bytes: 400,
            look_at_clock: micros(5),
            images: Images {
                most_parts: 3,
                apart_ms: 5,
                numbered_percent: 100,
                endless_percent: 0,
                padding_bytes: 0,
            },
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(14144), Action::Batch { consumer: 32, service: 1 }),
            (millis(15251), Action::Snapshot { consumer: 12, item: 55 }),
            (millis(17022), Action::Update { item: 5, count: 60, apart_ms: 7 }),
            (millis(17209), Action::PostAside { consumer: 3, item: 55 }),
            (millis(21901), Action::Update { item: 34, count: 5, apart_ms: 0 }),
            (millis(22881), Action::Rank { consumer: 1, open: 44, class: 4 }),
            (millis(22883), Action::Generic { consumer: 55, open: 59 }),
            (millis(22888), Action::Close { consumer: 45, open: 43 }),
            (millis(22900), Action::Update { item: 4, count: 5, apart_ms: 100 }),
            (millis(22911), Action::Generic { consumer: 26, open: 44 }),
            (millis(24758), Action::EndForGood { source: 0, item: 48 }),
            (millis(25980), Action::Open { consumer: 62, item: 33, view: false, paused: false }),
            (millis(25989), Action::Close { consumer: 35, open: 2 }),
            (millis(26607), Action::Batch { consumer: 53, service: 0 }),
            (millis(26620), Action::UpdateAll),
            (millis(27908), Action::PostAside { consumer: 16, item: 24 }),
            (millis(28285), Action::Post { consumer: 23, open: 21 }),
            (millis(28472), Action::Private { consumer: 6, item: 40 }),
            (millis(28548), Action::Lose { hub: 0, server: 0, per_million: 500_000, ms: 22_025 }),
            (millis(28563), Action::Batch { consumer: 23, service: 2 }),
            (millis(28567), Action::PostAside { consumer: 40, item: 26 }),
            (millis(29484), Action::Update { item: 44, count: 400, apart_ms: 7 }),
            (millis(29485), Action::Generic { consumer: 62, open: 60 }),
            (millis(29687), Action::Update { item: 52, count: 5, apart_ms: 7 }),
            (millis(30261), Action::Update { item: 52, count: 5, apart_ms: 0 }),
        ],
        chance: 0xa104_afe3_5195_b0b3,
    });
}

#[test]
fn half_an_image_is_given_up_with_the_connection_of_its_publisher() {
    holds(&Plan {
        shape: Shape {
            consumers: vec![true],
            hubs: 2,
            publishers: 1,
            published: 2,
            books: 3,
            hub_cache: true,
            socket_jitter: micros(50),
            segment_bytes: 1460,
            window_bytes: 2048,
            merged_bytes: 400,
            queue_bytes: 4096,
            images: Images {
                most_parts: 4,
                apart_ms: 2500,
                numbered_percent: 0,
                endless_percent: 40,
                padding_bytes: 0,
            },
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(3246), Action::CrashHub { hub: 0, ms: 325 }),
            (millis(4763), Action::Unasked { source: 1, item: 11 }),
            (millis(10885), Action::UpdateAll),
            (millis(18601), Action::Update { item: 22, count: 1, apart_ms: 0 }),
            (millis(21439), Action::Unasked { source: 1, item: 22 }),
            (millis(24160), Action::Update { item: 58, count: 400, apart_ms: 1 }),
            (millis(24960), Action::CrashHub { hub: 1, ms: 2124 }),
            (millis(25610), Action::Post { consumer: 46, open: 13 }),
        ],
        chance: 0x04ba_3e8d_f1a6_13e9,
    });
}

#[test]
fn a_view_that_changes_in_the_instant_of_a_take_over_is_answered_with_content() {
    holds(&Plan {
        shape: Shape {
            consumers: vec![false],
            hub_cache: true,
            server_cache: true,
            socket_delay: millis(40),
            socket_jitter: millis(2),
            segment_bytes: 1460,
            backbone_delay: millis(30),
            output_bytes: 6144,
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(29657), Action::Open { consumer: 62, item: 51, view: false, paused: false }),
            (millis(29700), Action::StallConsumer { consumer: 25, ms: 1487 }),
            (micros(30_004_068), Action::StandBy { consumer: 58, ms: 5 }),
            (millis(30044), Action::Change { consumer: 63, open: 35, view: Some(true) }),
        ],
        chance: 0xaf73_bb6d_9664_824b,
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
fn a_snapshot_in_parts_of_which_one_is_lost_has_its_answer() {
    holds(&Plan {
        shape: Shape {
            consumers: vec![true],
            items: 1,
            books: 1,
            server_cache: true,
            socket_delay: micros(3000),
            socket_jitter: micros(50),
            segment_bytes: 7,
            window_bytes: 2048,
            output_bytes: 32_768,
            provider_output_bytes: 65_536,
            queue_bytes: 4096,
            images: Images {
                most_parts: 3,
                apart_ms: 300,
                numbered_percent: 0,
                endless_percent: 0,
                padding_bytes: 0,
            },
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(7004), Action::Open { consumer: 57, item: 12, view: false, paused: false }),
            (millis(7307), Action::Snapshot { consumer: 19, item: 1 }),
            (millis(7320), Action::Snapshot { consumer: 21, item: 45 }),
            (millis(7329), Action::Cut { hub: 0, server: 0, ways: 3, ms: 36 }),
        ],
        chance: 0xaad5_b47b_8ada_ce30,
    });
}
