//! What hubs and servers see when the network and their peers fail.

mod chaos;
mod town;

use std::time::Duration;

use tapeline_backbone::{
    Bus, BusEvent, FrameFlags, FrameHeader, Incarnation, Kind, MAX_BODY_BYTES, PortSettings,
    Publish, Published, Role, sim,
};
use town::{Heard, Town};

const HUB: Incarnation = Incarnation(1);
const A: Incarnation = Incarnation(11);
const B: Incarnation = Incarnation(12);

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// One hub and two servers that know each other.
fn town() -> Town {
    let mut town = Town::new(1);
    town.join(Role::Hub, HUB);
    town.join(Role::Server, A);
    town.join(Role::Server, B);
    town.pass(ms(20));
    assert_eq!(town.take(HUB), [Heard::Up(A), Heard::Up(B)]);
    assert_eq!(town.take(A), [Heard::Up(HUB)]);
    assert_eq!(town.take(B), [Heard::Up(HUB)]);
    town
}

fn item(target: Incarnation, item: u32) -> FrameHeader {
    FrameHeader::new(Kind::Item, target, item)
}

fn publish(town: &mut Town, from: Incarnation, header: FrameHeader) -> Published {
    town.port(from).publish(header, &[b"bo", b"dy"])
}

#[test]
fn a_frame_to_all_and_a_frame_to_one() {
    let mut town = town();
    assert_eq!(publish(&mut town, HUB, item(Incarnation::ALL, 1)), Published::Sent);
    assert_eq!(publish(&mut town, HUB, item(A, 2)), Published::Sent);
    town.pass(ms(1));
    assert_eq!(town.take(A), [Heard::Item(HUB, 1), Heard::Item(HUB, 2)]);
    assert_eq!(town.take(B), [Heard::Item(HUB, 1)]);
    assert_eq!(town.take(HUB), []);
}

#[test]
fn an_answer_goes_out_from_inside_of_poll() {
    let mut town = town();
    let open = FrameHeader::new(Kind::Open, HUB, 5);
    town.port(A).publish(open, &[]);
    let now = town.now();
    let mut answered = None;
    town.port(HUB).poll(now, 8, |_, outbound| answered = Some(outbound.publish(item(A, 5), &[])));
    assert_eq!(answered, Some(Published::Sent));
    town.pass(ms(1));
    assert_eq!(town.take(A), [Heard::Item(HUB, 5)]);
}

#[test]
fn a_dead_peer_is_missed_and_its_successor_is_another() {
    let mut town = town();
    town.kill(HUB);
    town.pass(ms(450));
    assert_eq!(town.take(A), []);
    town.pass(ms(150));
    assert_eq!(town.take(A), [Heard::Down(HUB)]);
    let successor = Incarnation(2);
    town.join(Role::Hub, successor);
    town.pass(ms(20));
    assert_eq!(town.take(A), [Heard::Up(successor)]);
}

#[test]
fn who_leaves_is_gone_at_once() {
    let mut town = town();
    let now = town.now();
    town.port(A).leave(now);
    town.pass(ms(1));
    assert_eq!(town.take(HUB), [Heard::Down(A)]);
    // It still runs, but does not come back.
    town.pass(ms(300));
    assert_eq!(town.take(HUB), []);
    assert_eq!(publish(&mut town, HUB, item(A, 1)), Published::NoPeer);
}

#[test]
fn a_hole_is_seen_before_the_next_frame() {
    let mut town = town();
    town.network.set_loss(HUB, A, 1_000_000);
    publish(&mut town, HUB, item(Incarnation::ALL, 1));
    town.network.set_loss(HUB, A, 0);
    publish(&mut town, HUB, item(Incarnation::ALL, 2));
    town.pass(ms(1));
    assert_eq!(town.take(A), [Heard::Gap(HUB), Heard::Item(HUB, 2)]);
    assert_eq!(town.take(B), [Heard::Item(HUB, 1), Heard::Item(HUB, 2)]);
    assert_eq!(town.port(A).counters().lost, 1);
}

#[test]
fn the_fastest_reader_sets_the_pace_and_who_is_behind_it_sees_a_hole() {
    let mut town = town();
    // Room for two frames, and for two more in the log.
    town.network.set_window_bytes(2 * FrameHeader::BYTES);
    for number in 1..=5 {
        assert_eq!(publish(&mut town, HUB, item(Incarnation::ALL, number)), Published::Sent);
    }
    let now = town.now();
    assert_eq!((town.port(HUB).work(now), town.port(HUB).counters().queued), (0, 3));
    town.pass_without(B, ms(5));
    assert_eq!(town.take(A), [1, 2, 3, 4, 5].map(|number| Heard::Item(HUB, number)));
    town.pass(ms(101));
    let came = [1, 2, 3, 4].map(|number| Heard::Item(HUB, number));
    assert_eq!(town.take(B), [&came[..], &[Heard::Gap(HUB)]].concat());
}

#[test]
fn a_lost_last_frame_is_seen_within_a_presence_interval() {
    let mut town = town();
    town.network.set_loss(HUB, A, 1_000_000);
    publish(&mut town, HUB, item(Incarnation::ALL, 1));
    town.network.set_loss(HUB, A, 0);
    town.pass(ms(101));
    assert_eq!(town.take(A), [Heard::Gap(HUB)]);
}

#[test]
fn a_cut_in_one_direction_is_a_cut_for_both() {
    for (from, to) in [(HUB, A), (A, HUB)] {
        let mut town = town();
        town.network.cut(from, to);
        town.pass(ms(750));
        assert_eq!(town.take(HUB), [Heard::Down(A)], "{from} to {to}");
        assert_eq!(town.take(A), [Heard::Down(HUB)], "{from} to {to}");
        assert_eq!(town.take(B), []);
        town.network.heal(from, to);
        town.pass(ms(250));
        assert_eq!(town.take(HUB), [Heard::Up(A)]);
        assert_eq!(town.take(A), [Heard::Up(HUB)]);
    }
}

#[test]
fn one_side_that_forgot_makes_the_other_begin_anew() {
    let mut town = town();
    // So short that only the hub notices: the server heard it all the time.
    town.network.cut(A, HUB);
    town.pass_until(ms(700), |town| !town.is_up(HUB, A));
    town.network.heal(A, HUB);
    town.pass(ms(250));
    assert_eq!(town.take(HUB), [Heard::Down(A), Heard::Up(A)]);
    assert_eq!(town.take(A), [Heard::Down(HUB), Heard::Up(HUB)]);
}

#[test]
fn a_request_of_an_earlier_meeting_is_not_read_in_a_later_one() {
    let mut town = town();
    town.network.set_path_delay(A, HUB, ms(900));
    town.pass_until(ms(800), |town| !town.is_up(HUB, A));
    assert!(town.is_up(A, HUB));
    let open = FrameHeader::new(Kind::Open, HUB, 77);
    assert_eq!(town.port(A).publish(open, &[]), Published::Sent);
    town.take(HUB);
    town.pass(ms(3000));
    let heard = town.take(HUB);
    assert!(heard.contains(&Heard::Up(A)), "{heard:?}");
    assert!(!heard.contains(&Heard::Open(A, 77)), "{heard:?}");
    assert_eq!(town.port(HUB).counters().stale, 1);
    assert!(town.is_up(HUB, A) && town.is_up(A, HUB));
}

#[test]
fn back_pressure_delays_and_keeps_the_order() {
    let mut town = town();
    town.network.set_stuck(HUB, true);
    for number in 0..100 {
        assert_eq!(publish(&mut town, HUB, item(Incarnation::ALL, number)), Published::Sent);
    }
    assert!(!town.port(HUB).is_congested());
    town.pass(ms(10));
    assert_eq!(town.take(A), []);
    town.network.set_stuck(HUB, false);
    // Behind the others, though the network is free.
    publish(&mut town, HUB, item(Incarnation::ALL, 100));
    town.pass(ms(10));
    let expected: Vec<_> = (0..=100).map(|number| Heard::Item(HUB, number)).collect();
    assert_eq!(town.take(A), expected);
    assert_eq!(town.port(HUB).counters().queue_bytes, 0);
}

#[test]
fn a_full_queue_drops_and_every_peer_sees_a_gap() {
    let mut town = Town::new(1);
    let queue_bytes = 8 << 10;
    town.join_with(PortSettings {
        queue_bytes,
        incarnation: HUB,
        ..PortSettings::new(Role::Hub, "hub")
    });
    town.join(Role::Server, A);
    town.pass(ms(20));
    town.take(A);
    town.network.set_stuck(HUB, true);
    let mut number = 0;
    let mut congested_at = None;
    while publish(&mut town, HUB, item(Incarnation::ALL, number)) == Published::Sent {
        number += 1;
        if town.port(HUB).is_congested() {
            congested_at.get_or_insert(number);
        }
    }
    // 24 + 4 bytes of frame and 4 of length.
    assert_eq!((number, congested_at), (256, Some(64)));
    town.network.set_stuck(HUB, false);
    town.pass(ms(10));
    assert!(!town.port(HUB).is_congested());
    publish(&mut town, HUB, item(Incarnation::ALL, 999));
    town.pass(ms(1));
    let heard = town.take(A);
    assert_eq!(heard.len(), 256 + 2);
    assert_eq!(heard[256..], [Heard::Gap(HUB), Heard::Item(HUB, 999)]);
    assert_eq!(town.port(HUB).counters().dropped, 1);
}

#[test]
fn what_cannot_be_sent_leaves_no_gap() {
    let mut town = town();
    let huge = vec![0; MAX_BODY_BYTES + 1];
    let to_all = item(Incarnation::ALL, 1);
    assert_eq!(town.port(HUB).publish(to_all, &[&huge]), Published::TooLarge);
    assert_eq!(publish(&mut town, HUB, item(Incarnation(99), 1)), Published::NoPeer);
    assert_eq!(publish(&mut town, HUB, item(A, 2)), Published::Sent);
    town.pass(ms(200));
    assert_eq!(town.take(A), [Heard::Item(HUB, 2)]);
    let counters = town.port(HUB).counters();
    assert_eq!((counters.too_large, counters.no_peer, counters.dropped), (1, 1, 0));
}

#[test]
fn frames_pass_whole_and_in_pieces_up_to_the_longest() {
    let mut town = town();
    town.network.set_window_bytes(2 * MAX_BODY_BYTES);
    let whole = sim::MAX_FRAME_BYTES - FrameHeader::BYTES;
    for (number, length) in [whole, whole + 1, 10 * whole, MAX_BODY_BYTES].into_iter().enumerate() {
        let body: Vec<_> = (0..length).map(|n| (n ^ n >> 8) as u8).collect();
        let (one, other) = body.split_at(length / 3);
        let number = number as u32;
        assert_eq!(town.port(HUB).publish(item(A, number), &[one, other]), Published::Sent);
        publish(&mut town, HUB, item(Incarnation::ALL, 99));
        let now = town.now();
        let mut came = Vec::new();
        town.port(A).poll(now, usize::MAX, |event, _| {
            if let BusEvent::Frame { header, body: all } = event {
                assert!(header.item == 99 || all == body, "{length}");
                assert_eq!(header.flags, FrameFlags::empty());
                came.push(header.item);
            }
        });
        assert_eq!(came, [number, 99]);
        town.pass(ms(3));
        assert_eq!(town.take(B), [Heard::Item(HUB, 99)]);
    }
    let (hub, server) = (town.port(HUB).counters(), town.port(A).counters());
    assert_eq!((hub.cut, server.joined, server.given_up, server.gaps), (3, 3, 0, 0));
    assert_eq!((hub.queue_bytes, server.partial_bytes), (0, 0));
}

#[test]
fn a_lost_piece_is_a_hole_and_gives_the_frame_up() {
    let mut town = town();
    let piece = sim::MAX_FRAME_BYTES - FrameHeader::BYTES - 4;
    for lost in 0..4 {
        town.network.lose_after(HUB, A, lost, 1);
        let long = vec![7; 4 * piece];
        assert_eq!(town.port(HUB).publish(item(A, 1), &[&long]), Published::Sent);
        publish(&mut town, HUB, item(Incarnation::ALL, 2));
        town.pass(ms(1));
        assert_eq!(town.take(A), [Heard::Gap(HUB), Heard::Item(HUB, 2)], "{lost}");
        assert_eq!(town.port(A).counters().partial_bytes, 0);
    }
}

#[test]
fn who_goes_down_takes_its_partial_frame_along() {
    let mut town = town();
    let long = vec![7; 3 * sim::MAX_FRAME_BYTES];
    town.network.lose_after(HUB, A, 2, u32::MAX);
    town.port(HUB).publish(item(A, 1), &[&long]);
    town.pass(ms(1));
    assert!(town.port(A).counters().partial_bytes > sim::MAX_FRAME_BYTES);
    town.kill(HUB);
    town.pass(ms(600));
    assert_eq!(town.take(A), [Heard::Down(HUB)]);
    assert_eq!(town.port(A).counters().partial_bytes, 0);
}

#[test]
fn a_long_frame_takes_its_time_and_nobody_takes_its_sender_for_dead() {
    let mut town = town();
    town.network.set_stuck(HUB, true);
    let pieces = 40;
    let long = vec![7; pieces * (sim::MAX_FRAME_BYTES - FrameHeader::BYTES - 4)];
    assert_eq!(town.port(HUB).publish(item(Incarnation::ALL, 1), &[&long]), Published::Sent);
    assert!(town.port(HUB).is_congested());
    publish(&mut town, HUB, item(Incarnation::ALL, 2));
    for _ in 0..pieces {
        assert_eq!(town.take(A), []);
        town.network.set_allowance(HUB, 1);
        town.pass(ms(100));
    }
    assert_eq!(town.take(A), [Heard::Item(HUB, 1)]);
    assert!(!town.port(HUB).is_congested());
    town.network.set_stuck(HUB, false);
    town.pass(ms(1));
    assert_eq!(town.take(A), [Heard::Item(HUB, 2)]);
}

#[test]
fn long_frames_beyond_the_room_for_them_are_a_hole() {
    let mut town = town();
    town.network.set_stuck(HUB, true);
    let long = vec![7; MAX_BODY_BYTES];
    let results = [1, 2, 3].map(|n| town.port(HUB).publish(item(Incarnation::ALL, n), &[&long]));
    assert_eq!(results, [Published::Sent, Published::Sent, Published::Dropped]);
    publish(&mut town, HUB, item(Incarnation::ALL, 4));
    town.network.set_stuck(HUB, false);
    town.pass(ms(100));
    let rest = [Heard::Gap(HUB), Heard::Item(HUB, 4)];
    assert_eq!(town.take(A), [&[1, 2].map(|n| Heard::Item(HUB, n))[..], &rest].concat());
}

#[test]
fn the_numbering_wraps_without_a_gap() {
    let mut town = Town::new(1);
    let first_stream_seq = u32::MAX - 2;
    town.join_with(PortSettings {
        first_stream_seq,
        incarnation: HUB,
        ..PortSettings::new(Role::Hub, "hub")
    });
    town.join(Role::Server, A);
    town.pass(ms(20));
    for number in 0..6 {
        publish(&mut town, HUB, item(Incarnation::ALL, number));
        town.pass(ms(60));
    }
    let mut expected = vec![Heard::Up(HUB)];
    expected.extend((0..6).map(|number| Heard::Item(HUB, number)));
    assert_eq!(town.take(A), expected);
}

#[test]
fn a_different_delay_of_each_path_keeps_the_order_of_each_stream() {
    let mut town = town();
    town.network.set_path_delay(HUB, A, ms(30));
    publish(&mut town, HUB, item(Incarnation::ALL, 1));
    town.network.set_path_delay(HUB, A, ms(5));
    publish(&mut town, HUB, item(Incarnation::ALL, 2));
    town.pass(ms(29));
    assert_eq!(town.take(A), []);
    assert_eq!(town.take(B).len(), 2);
    town.pass(ms(2));
    assert_eq!(town.take(A), [Heard::Item(HUB, 1), Heard::Item(HUB, 2)]);
}

#[test]
fn a_member_that_stood_still_does_not_think_that_all_others_died() {
    let mut town = town();
    town.pass_without(A, ms(3000));
    // The hub missed it, of course.
    assert_eq!(town.take(HUB), [Heard::Down(A)]);
    town.pass(ms(300));
    assert_eq!(town.take(A), [Heard::Down(HUB), Heard::Up(HUB)]);
    assert_eq!(town.take(HUB), [Heard::Up(A)]);

    town.pass_without(A, ms(400));
    town.pass(ms(300));
    assert_eq!(town.take(A), []);
    assert_eq!(town.take(HUB), []);
}

#[test]
fn a_broken_port_says_so() {
    let mut town = town();
    assert_eq!(town.port(HUB).failure(), None);
    town.network.break_port(HUB);
    assert!(town.port(HUB).failure().is_some());
    assert_eq!(publish(&mut town, HUB, item(Incarnation::ALL, 1)), Published::Dropped);
}

#[test]
fn a_port_that_was_cut_off_comes_back_as_another_member() {
    let mut town = town();
    publish(&mut town, HUB, item(A, 1));
    town.network.break_port(HUB);
    town.pass(ms(1));
    assert_eq!(town.take(HUB), [Heard::Down(A), Heard::Down(B)]);
    assert!(!town.port(HUB).is_ready());
    assert_eq!(publish(&mut town, HUB, item(A, 2)), Published::NoPeer);
    town.pass(ms(1000));
    assert_eq!(town.take(A).last(), Some(&Heard::Down(HUB)));
    assert_eq!(town.take(HUB), []);

    town.network.mend_port(HUB);
    town.pass(ms(300));
    let hub = town.port(HUB).incarnation();
    assert_ne!(hub, HUB);
    assert_eq!(town.take(A), [Heard::Up(hub)]);
    assert_eq!(town.port(HUB).counters().renewals, 1);
    assert_eq!(town.port(HUB).counters().peers, 2);
    town.take(HUB);
    publish(&mut town, A, FrameHeader::new(Kind::Open, hub, 3));
    town.pass(ms(1));
    assert_eq!(town.take(HUB).len(), 1, "the request");
}

#[test]
fn bytes_that_are_no_frame_are_counted_only() {
    let mut town = town();
    let mut noise = FrameHeader::new(Kind::Presence, Incarnation::ALL, 0);
    noise.stream_seq = 900;
    // A presence that a port did not write.
    town.port(HUB).publish(noise, &[b"no presence"]);
    town.pass(ms(1));
    assert_eq!(town.take(A), []);
    assert_eq!(town.port(A).counters().malformed, 1);
}
