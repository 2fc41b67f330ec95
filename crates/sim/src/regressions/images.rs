//! Of images, whole and in parts, and of who is to have them.

use super::{holds, micros, millis};
use crate::plan::{Action, Images, Plan, Saying, Shape};

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

#[test]
fn who_resumes_in_the_middle_of_an_image_gets_a_whole_one() {
    holds(&Plan {
        shape: Shape {
            items: 3,
            consumers: vec![false, true, false, true],
            images: Images {
                most_parts: 4,
                apart_ms: 2500,
                numbered_percent: 0,
                endless_percent: 10,
                padding_bytes: 0,
            },
            socket_delay: millis(3),
            socket_jitter: micros(50),
            segment_bytes: 1460,
            window_bytes: 16_384,
            provider_window_bytes: 16_384,
            backbone_delay: micros(0),
            output_bytes: 30_720_000,
            merged_bytes: 400,
            queue_bytes: 4_194_304,
            locks: true,
            look_at_clock: micros(250),
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(3046), Action::Open { consumer: 18, item: 38, view: false, paused: false }),
            (micros(3_234_393), Action::Open { consumer: 52, item: 25, view: true, paused: false }),
            (millis(3890), Action::Open { consumer: 32, item: 60, view: false, paused: false }),
            (micros(4_644_595), Action::Open { consumer: 46, item: 7, view: false, paused: false }),
            (micros(5_556_705), Action::Close { consumer: 46, open: 46 }),
            (micros(5_556_955), Action::Batch { consumer: 47, service: 2 }),
            (micros(5_566_162), Action::Change { consumer: 38, open: 40, view: None }),
            (millis(7048), Action::Open { consumer: 5, item: 5, view: false, paused: false }),
            (micros(7_649_574), Action::Unasked { source: 1, item: 51 }),
            (micros(27_704_559), Action::CloseAll { consumer: 48 }),
            (millis(27922), Action::Unasked { source: 0, item: 58 }),
            (millis(27933), Action::Open { consumer: 32, item: 28, view: false, paused: true }),
            (millis(29266), Action::Resume { consumer: 16, open: 49 }),
            (millis(32097), Action::Update { item: 34, count: 1, apart_ms: 1 }),
            (millis(32119), Action::Unasked { source: 1, item: 25 }),
            (micros(33_035_033), Action::Update { item: 22, count: 2, apart_ms: 100 }),
        ],
        chance: 0x1936_22dc_17e7_b519,
    });
}

#[test]
fn images_that_take_longer_than_a_request_may_come_all_the_same() {
    holds(&Plan {
        shape: Shape {
            items: 11,
            consumers: vec![false],
            server_cache: true,
            own_sources: true,
            images: Images {
                most_parts: 4,
                apart_ms: 5,
                numbered_percent: 60,
                endless_percent: 0,
                padding_bytes: 90_000,
            },
            socket_delay: millis(40),
            socket_jitter: micros(0),
            segment_bytes: usize::MAX,
            window_bytes: 65_536,
            provider_window_bytes: 65_536,
            backbone_delay: micros(0),
            output_bytes: 6144,
            provider_output_bytes: 65_536_000,
            queue_bytes: 1024,
            strangers: true,
            look_at_clock: micros(0),
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(7936), Action::Lose { hub: 0, server: 0, per_million: 50_000, ms: 27_571 }),
            (micros(8_078_080), Action::Batch { consumer: 29, service: 0 }),
            (
                micros(55_603_071),
                Action::Open { consumer: 59, item: 3, view: false, paused: false },
            ),
        ],
        chance: 0x4bed_1935_b1a2_8f96,
    });
}

#[test]
fn an_update_between_the_parts_of_an_image_is_not_left_out_for_one_that_has_resumed() {
    holds(&Plan {
        shape: Shape {
            publishers: 1,
            published: 1,
            items: 3,
            consumers: vec![true],
            images: Images {
                most_parts: 4,
                apart_ms: 2500,
                numbered_percent: 100,
                endless_percent: 10,
                padding_bytes: 90_000,
            },
            open_window: 1,
            open_limit: 2,
            socket_delay: micros(100),
            socket_jitter: millis(2),
            segment_bytes: 4096,
            window_bytes: 65_536,
            provider_window_bytes: 65_536,
            backbone_delay: millis(1),
            output_bytes: 6144,
            queue_bytes: 4096,
            look_at_clock: micros(250),
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(1146), Action::Update { item: 7, count: 1, apart_ms: 1 }),
            (millis(1583), Action::StallConsumer { consumer: 33, ms: 2917 }),
            (millis(1590), Action::Republish { publisher: 0, item: 58, ms: 2223 }),
            (millis(2808), Action::Batch { consumer: 13, service: 3 }),
            (millis(2874), Action::Pause { consumer: 17, open: 21 }),
            (millis(15239), Action::StallConsumer { consumer: 59, ms: 4007 }),
            (millis(15661), Action::Unasked { source: 1, item: 55 }),
            (millis(17212), Action::Update { item: 61, count: 1, apart_ms: 100 }),
            (millis(18611), Action::Generic { consumer: 0, open: 27 }),
        ],
        chance: 0x7cc5_5e51_7fc3_fcf0,
    });
}

#[test]
fn who_joins_a_snapshot_that_never_ends_is_answered() {
    holds(&Plan {
        shape: Shape {
            servers: 2,
            books: 1,
            consumers: vec![false, false],
            hub_cache: true,
            images: Images {
                most_parts: 4,
                apart_ms: 2500,
                numbered_percent: 0,
                endless_percent: 40,
                padding_bytes: 0,
            },
            socket_delay: micros(0),
            socket_jitter: millis(2),
            segment_bytes: 1460,
            window_bytes: 262_144,
            backbone_delay: millis(1),
            output_bytes: 30_720_000,
            merged_bytes: 400,
            queue_bytes: 4096,
            look_at_clock: micros(5),
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(3873), Action::Open { consumer: 34, item: 1, view: false, paused: false }),
            (millis(3914), Action::Snapshot { consumer: 62, item: 2 }),
            (millis(6977), Action::Batch { consumer: 49, service: 3 }),
        ],
        chance: 0xa864_7564_0aed_a04a,
    });
}

#[test]
fn what_a_pause_left_out_comes_with_the_image_of_another_source() {
    holds(&Plan {
        shape: Shape {
            sources: 2,
            services: 2,
            books: 1,
            consumers: vec![false],
            server_cache: true,
            groups: true,
            images: Images {
                most_parts: 4,
                apart_ms: 0,
                numbered_percent: 0,
                endless_percent: 40,
                padding_bytes: 90_000,
            },
            socket_jitter: micros(50),
            segment_bytes: 4096,
            provider_window_bytes: 65_536,
            backbone_delay: millis(30),
            queue_bytes: 1024,
            filters: true,
            look_at_clock: micros(5),
            longest_turn: millis(50),
            ..Shape::PLAIN
        },
        actions: vec![
            (millis(3137), Action::Open { consumer: 55, item: 37, view: false, paused: false }),
            (millis(3144), Action::Open { consumer: 62, item: 58, view: false, paused: false }),
            (millis(3821), Action::Close { consumer: 55, open: 33 }),
            (millis(10_143), Action::Batch { consumer: 13, service: 3 }),
            (millis(10_585), Action::StickServer { server: 1, ms: 10_718 }),
            (micros(15_673_320), Action::Batch { consumer: 25, service: 0 }),
            (millis(21_511), Action::Update { item: 21, count: 400, apart_ms: 100 }),
            (millis(23_827), Action::Batch { consumer: 19, service: 1 }),
            (millis(23_830), Action::Private { consumer: 63, item: 52 }),
            (millis(26_010), Action::StallConsumer { consumer: 43, ms: 3266 }),
            (millis(26_599), Action::Update { item: 11, count: 60, apart_ms: 100 }),
            (millis(26_604), Action::BreakServer { server: 1, ms: 397 }),
            (millis(27_967), Action::Pause { consumer: 55, open: 21 }),
            (micros(30_141_163), Action::Generic { consumer: 10, open: 16 }),
        ],
        chance: 0x4ca8_0f7f_ca8b_f610,
    });
}
