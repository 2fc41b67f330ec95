use super::super::body::{Said, write_presence};
use super::super::membership::Key;
use super::*;

const ME: Incarnation = Incarnation(100);
const HUB: Incarnation = Incarnation(1);
const SILENCE: Duration = Duration::from_millis(500);

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn said(system: &str) -> Said<'_> {
    Said { role: Role::Hub, name: "hub", system, tag_bytes: 0, moments: Moments::default() }
}

/// A server's table of hubs.
fn table() -> Peers {
    Peers::new(ME, Role::Server, Membership::default(), SILENCE, 4)
}

fn presence(
    peers: &mut Peers,
    now: Time,
    from: Incarnation,
    stream_seq: u32,
    seen: &[(Incarnation, u8)],
) -> Verdict {
    let mut body = Vec::new();
    let seen = seen.iter().map(|&(peer, link)| Seen { peer, link });
    write_presence(&mut body, &said(""), seen);
    let mut header = FrameHeader::new(Kind::Presence, Incarnation::ALL, 0);
    header.sender = from;
    header.stream_seq = stream_seq;
    peers.hear((now, || now), &header, Links::NONE, &body)
}

fn frame(
    peers: &mut Peers,
    now: Time,
    from: Incarnation,
    stream_seq: u32,
    target: Incarnation,
    links: Links,
) -> Verdict {
    let mut header = FrameHeader::new(Kind::Item, target, 5);
    header.sender = from;
    header.stream_seq = stream_seq;
    peers.hear((now, || now), &header, links, b"body")
}

fn to_all(peers: &mut Peers, stream_seq: u32) -> Verdict {
    frame(peers, at(0), HUB, stream_seq, Incarnation::ALL, Links::NONE)
}

fn to_me(peers: &mut Peers, stream_seq: u32, link: u8, echo: u8) -> Verdict {
    frame(peers, at(0), HUB, stream_seq, ME, Links { link, echo })
}

fn expired(peers: &mut Peers, now: Time) -> Vec<Incarnation> {
    let mut down = Vec::new();
    peers.expire(now, |peer| down.push(peer));
    down
}

/// Calls at the usual pace up to `now`; what went down on the way.
fn pass(peers: &mut Peers, from_ms: u64, to_ms: u64) -> Vec<(u64, Incarnation)> {
    let mut down = Vec::new();
    for ms in from_ms..=to_ms {
        peers.expire(at(ms), |peer| down.push((ms, peer)));
    }
    down
}

fn up(link: u8, echo: u8) -> Meeting {
    Meeting { peer: HUB, links: Links { link, echo } }
}

const NOTHING: Verdict =
    Verdict { down: false, up: None, gap: false, deliver: false, lost: 0, fault: None };
const DELIVERED: Verdict = Verdict { deliver: true, ..NOTHING };
const EARLY: Verdict = Verdict { fault: Some(Fault::Early), ..NOTHING };
const STALE: Verdict = Verdict { fault: Some(Fault::Stale), ..NOTHING };

#[test]
fn a_peer_is_up_when_both_sides_hear_each_other() {
    let mut peers = table();
    peers.news = false;
    assert_eq!(presence(&mut peers, at(0), HUB, 0, &[]), NOTHING);
    assert!(peers.news, "the hub does not know that it is heard");
    assert_eq!(peers.seen().collect::<Vec<_>>(), [Seen { peer: HUB, link: 1 }]);
    assert_eq!(to_all(&mut peers, 0), EARLY);
    let other = [(Incarnation(99), 9)];
    assert_eq!(presence(&mut peers, at(0), HUB, 1, &other), NOTHING);
    let both = [(Incarnation(99), 9), (ME, 7)];
    let verdict = presence(&mut peers, at(0), HUB, 1, &both);
    assert_eq!(verdict, Verdict { up: Some(up(1, 7)), ..NOTHING });
    assert_eq!(presence(&mut peers, at(0), HUB, 1, &both), NOTHING);
    assert_eq!(to_all(&mut peers, 1), DELIVERED);
    assert_eq!(peers.name(HUB), "hub");
    assert_eq!(peers.name(Incarnation(99)), "");
}

#[test]
fn a_frame_to_us_proves_that_we_are_heard() {
    let mut peers = table();
    assert_eq!(presence(&mut peers, at(0), HUB, 40, &[]), NOTHING);
    let verdict = to_me(&mut peers, 40, 3, 1);
    assert_eq!(verdict, Verdict { up: Some(up(1, 3)), ..DELIVERED });
    assert_eq!(to_me(&mut peers, 41, 3, 1), DELIVERED);
    assert_eq!(presence(&mut peers, at(0), HUB, 42, &[(ME, 3)]), NOTHING);
}

#[test]
fn a_frame_to_another_server_is_counted_but_not_read() {
    let mut peers = met();
    let other = Incarnation(101);
    let links = Links { link: 9, echo: 9 };
    assert_eq!(frame(&mut peers, at(0), HUB, 0, other, links), NOTHING);
    assert_eq!(to_all(&mut peers, 1), DELIVERED);
    assert_eq!(
        frame(&mut peers, at(0), HUB, 3, other, links),
        Verdict { gap: true, lost: 1, ..NOTHING }
    );
}

/// A table that has met the hub: frame 0 is next, links 1 and 7.
fn met() -> Peers {
    let mut peers = table();
    let verdict = presence(&mut peers, at(0), HUB, 0, &[(ME, 7)]);
    assert_eq!(verdict.up, Some(up(1, 7)));
    peers
}

#[test]
fn a_hole_is_a_gap_once() {
    let mut peers = met();
    assert_eq!(to_all(&mut peers, 0), DELIVERED);
    assert_eq!(to_all(&mut peers, 1), DELIVERED);
    assert_eq!(to_all(&mut peers, 5), Verdict { gap: true, lost: 3, ..DELIVERED });
    assert_eq!(to_all(&mut peers, 6), DELIVERED);
}

#[test]
fn a_lost_last_frame_is_seen_by_the_next_presence() {
    let mut peers = met();
    assert_eq!(to_all(&mut peers, 0), DELIVERED);
    assert_eq!(presence(&mut peers, at(0), HUB, 1, &[(ME, 7)]), NOTHING);
    let verdict = presence(&mut peers, at(0), HUB, 3, &[(ME, 7)]);
    assert_eq!(verdict, Verdict { gap: true, lost: 2, ..NOTHING });
    assert_eq!(to_all(&mut peers, 3), DELIVERED);
}

#[test]
fn a_lost_presence_is_no_gap() {
    let mut peers = met();
    for seq in 0..3 {
        assert_eq!(to_all(&mut peers, seq), DELIVERED);
    }
}

#[test]
fn numbers_wrap_around() {
    let mut peers = table();
    presence(&mut peers, at(0), HUB, u32::MAX - 1, &[(ME, 7)]);
    assert_eq!(to_all(&mut peers, u32::MAX - 1), DELIVERED);
    assert_eq!(to_all(&mut peers, u32::MAX), DELIVERED);
    assert_eq!(presence(&mut peers, at(0), HUB, 0, &[(ME, 7)]), NOTHING);
    assert_eq!(to_all(&mut peers, 0), DELIVERED);

    let mut peers = table();
    presence(&mut peers, at(0), HUB, u32::MAX, &[(ME, 7)]);
    assert_eq!(to_all(&mut peers, 2), Verdict { gap: true, lost: 3, ..DELIVERED });
}

#[test]
fn a_step_back_is_a_gap_of_unknown_size() {
    let mut peers = met();
    for seq in 0..10 {
        to_all(&mut peers, seq);
    }
    assert_eq!(to_all(&mut peers, 4), Verdict { gap: true, ..DELIVERED });
    assert_eq!(to_all(&mut peers, 5), DELIVERED);
}

#[test]
fn holes_before_a_peer_is_up_are_nobodys() {
    let mut peers = table();
    assert_eq!(presence(&mut peers, at(0), HUB, 10, &[]), NOTHING);
    assert_eq!(to_all(&mut peers, 15), EARLY);
    assert_eq!(to_all(&mut peers, 20), EARLY);
    assert_eq!(to_me(&mut peers, 30, 7, 1), Verdict { up: Some(up(1, 7)), ..DELIVERED });
    assert_eq!(to_all(&mut peers, 31), DELIVERED);
}

#[test]
fn a_peer_is_gone_after_silence_and_not_before() {
    let mut peers = met();
    assert_eq!(pass(&mut peers, 0, 500), []);
    assert_eq!(pass(&mut peers, 501, 600), [(501, HUB)]);
    assert_eq!(peers.seen().count(), 0);
}

#[test]
fn any_frame_is_a_sign_of_life() {
    let mut peers = met();
    pass(&mut peers, 0, 400);
    let other = Incarnation(101);
    frame(&mut peers, at(400), HUB, 0, other, Links::NONE);
    assert_eq!(pass(&mut peers, 401, 1000), [(901, HUB)]);
}

#[test]
fn a_peer_that_never_was_up_does_not_go_down() {
    let mut peers = table();
    presence(&mut peers, at(0), HUB, 0, &[]);
    assert_eq!(pass(&mut peers, 0, 1000), []);
    assert_eq!(peers.seen().count(), 0);
}

#[test]
fn our_own_stall_is_not_the_others_silence() {
    let mut peers = met();
    assert_eq!(expired(&mut peers, at(10)), []);
    // A stall of ten seconds counts as 250 ms.
    assert_eq!(expired(&mut peers, at(10_000)), []);
    assert_eq!(pass(&mut peers, 10_001, 10_240), []);
    assert_eq!(pass(&mut peers, 10_241, 10_300), [(10_241, HUB)]);
}

#[test]
fn a_slow_but_steady_caller_still_finds_the_dead() {
    let mut peers = met();
    expired(&mut peers, at(0));
    let down = (1..=4).find(|&turn| !expired(&mut peers, at(turn * 300)).is_empty());
    assert_eq!(down, Some(3));
}

#[test]
fn a_goodbye_is_immediate() {
    let mut peers = met();
    let mut header = FrameHeader::new(Kind::Presence, Incarnation::ALL, 0);
    header.sender = HUB;
    header.flags = FrameFlags::BYE;
    let mut body = Vec::new();
    write_presence(&mut body, &said(""), std::iter::empty());
    let verdict = peers.hear((at(1), || at(1)), &header, Links::NONE, &body);
    assert_eq!(verdict, Verdict { down: true, ..NOTHING });
    assert_eq!(peers.hear((at(2), || at(2)), &header, Links::NONE, &body), NOTHING);
    assert_eq!(peers.seen().count(), 0);
}

#[test]
fn a_peer_that_no_longer_hears_us_is_down_until_it_does() {
    let mut peers = met();
    let verdict = presence(&mut peers, at(0), HUB, 0, &[]);
    assert_eq!(verdict, Verdict { down: true, ..NOTHING });
    assert_eq!(to_all(&mut peers, 0), EARLY);
    let verdict = presence(&mut peers, at(0), HUB, 1, &[(ME, 8)]);
    assert_eq!(verdict, Verdict { up: Some(up(1, 8)), ..NOTHING });
}

#[test]
fn a_peer_that_forgot_us_and_met_us_again_goes_down_and_up() {
    let mut peers = met();
    let verdict = presence(&mut peers, at(0), HUB, 5, &[(ME, 8)]);
    // The hole belongs to the old meeting.
    assert_eq!(verdict, Verdict { down: true, up: Some(up(1, 8)), ..NOTHING });
    let verdict = to_me(&mut peers, 5, 9, 1);
    assert_eq!(verdict, Verdict { down: true, up: Some(up(1, 9)), ..DELIVERED });
    assert_eq!(peers.seen().collect::<Vec<_>>(), [Seen { peer: HUB, link: 1 }]);
}

#[test]
fn frames_of_an_earlier_meeting_are_not_read() {
    let mut peers = met();
    pass(&mut peers, 0, 600);
    // The hub does not know that we forgot it, and still echoes 1.
    assert_eq!(to_me(&mut peers, 3, 7, 1), EARLY);
    assert_eq!(presence(&mut peers, at(600), HUB, 4, &[]), NOTHING);
    assert_eq!(peers.seen().collect::<Vec<_>>(), [Seen { peer: HUB, link: 2 }]);
    assert_eq!(to_me(&mut peers, 4, 7, 1), STALE);
    // It learned, and counts this as a new meeting.
    assert_eq!(to_me(&mut peers, 5, 8, 2), Verdict { up: Some(up(2, 8)), ..DELIVERED });
    // A hole in front of a stale frame is a hole nevertheless.
    assert_eq!(to_me(&mut peers, 9, 8, 1), Verdict { gap: true, lost: 3, ..STALE });
}

#[test]
fn a_frame_to_us_without_links_is_not_read() {
    let mut peers = table();
    assert_eq!(presence(&mut peers, at(0), HUB, 0, &[]), NOTHING);
    assert_eq!(to_me(&mut peers, 0, 0, 1), STALE);
    assert_eq!(to_me(&mut peers, 1, 0, 0), STALE);
}

#[test]
fn meetings_are_numbered_from_one_to_255() {
    let mut peers = table();
    for turn in 0..600_u64 {
        presence(&mut peers, at(turn), HUB, 0, &[]);
        let link = peers.seen().next().unwrap().link;
        assert_eq!(u64::from(link), turn % 255 + 1);
        peers.goodbye(HUB);
    }
}

#[test]
fn a_full_table_takes_no_more_and_keeps_what_it_has() {
    let mut peers = table();
    for hub in 1..=4 {
        presence(&mut peers, at(0), Incarnation(hub), 0, &[(ME, 1)]);
    }
    let crowded = Verdict { fault: Some(Fault::Crowded), ..NOTHING };
    assert_eq!(presence(&mut peers, at(0), Incarnation(5), 0, &[(ME, 1)]), crowded);
    assert_eq!(frame(&mut peers, at(0), Incarnation(5), 0, Incarnation::ALL, Links::NONE), EARLY);
    assert_eq!(to_all(&mut peers, 0), DELIVERED);
    peers.goodbye(Incarnation(2));
    assert!(presence(&mut peers, at(0), Incarnation(5), 0, &[(ME, 1)]).up.is_some());
}

#[test]
fn our_own_side_and_nobody_are_not_heard() {
    let mut peers = table();
    let mut header = FrameHeader::new(Kind::Open, Incarnation::ALL, 0);
    header.sender = Incarnation(101);
    assert_eq!(peers.hear((at(0), || at(0)), &header, Links::NONE, b""), NOTHING);
    let mut body = Vec::new();
    let said = Said { role: Role::Server, name: "us", ..said("") };
    write_presence(&mut body, &said, std::iter::empty());
    header.kind = Kind::Presence;
    assert_eq!(peers.hear((at(0), || at(0)), &header, Links::NONE, &body), NOTHING);
    assert_eq!(presence(&mut peers, at(0), Incarnation(0), 0, &[(ME, 1)]), NOTHING);
    assert_eq!(frame(&mut peers, at(0), Incarnation(0), 0, ME, Links::NONE), NOTHING);
    assert_eq!(peers.seen().count(), 0);
}

#[test]
fn a_presence_that_cannot_be_read_changes_nothing() {
    let mut peers = met();
    let mut header = FrameHeader::new(Kind::Presence, Incarnation::ALL, 0);
    header.sender = HUB;
    header.stream_seq = 77;
    let malformed = Verdict { fault: Some(Fault::Malformed), ..NOTHING };
    assert_eq!(peers.hear((at(0), || at(0)), &header, Links::NONE, &[9, 9]), malformed);
    assert_eq!(to_all(&mut peers, 0), DELIVERED);
}

/// Presence of a hub that says it is a member of `of`, to one of `to`.
fn heard_of(to: &Membership, of: &Membership) -> (Verdict, String) {
    let mut peers = Peers::new(ME, Role::Server, to.clone(), SILENCE, 4);
    let mut body = Vec::new();
    let said = Said { tag_bytes: of.tag_bytes(), ..said(&of.system) };
    write_presence(&mut body, &said, [Seen { peer: ME, link: 7 }].into_iter());
    let mut header = FrameHeader::new(Kind::Presence, Incarnation::ALL, 0);
    header.sender = HUB;
    of.sign(&header, &mut body);
    let verdict = peers.hear((at(0), || at(0)), &header, Links::NONE, &body);
    assert_eq!(peers.seen().count(), usize::from(verdict.up.is_some()));
    (verdict, peers.stranger().to_owned())
}

#[test]
fn only_members_of_the_same_system_with_its_key_are_peers() {
    let member = |system: &str, key: Option<&[u8; 16]>| Membership {
        system: system.to_owned(),
        key: key.map(|key| Key::new(key).unwrap()),
    };
    let (secret, guess) = (Some(b"0123456789abcdef"), Some(b"0123456789abcdeX"));
    let cases = [
        (member("", None), member("", None), None),
        (member("eu", None), member("eu", None), None),
        (member("eu", None), member("us", None), Some(Fault::Stranger)),
        (member("eu", None), member("", None), Some(Fault::Stranger)),
        (member("eu", secret), member("eu", secret), None),
        (member("eu", secret), member("us", secret), Some(Fault::Stranger)),
        (member("eu", secret), member("eu", guess), Some(Fault::Unproved)),
        (member("eu", secret), member("eu", None), Some(Fault::Unproved)),
        // Who asks for no proof takes any; the other side does not.
        (member("eu", None), member("eu", secret), None),
    ];
    for (to, of, fault) in cases {
        let (verdict, stranger) = heard_of(&to, &of);
        assert_eq!(verdict.fault, fault, "{to:?} {of:?}");
        assert_eq!(verdict.up.is_some(), fault.is_none());
        let expected = fault.map_or(String::new(), |_| format!("{}/hub", of.system));
        assert_eq!(stranger, expected);
    }
}

#[test]
fn only_presence_introduces() {
    let mut peers = table();
    assert_eq!(to_all(&mut peers, 0), EARLY);
    assert_eq!(to_me(&mut peers, 1, 7, 1), EARLY);
    assert_eq!(peers.seen().count(), 0);
}

#[test]
fn two_tables_learn_how_far_their_clocks_are_apart() {
    // The hub's clock is three seconds ahead; a presence is a millisecond on its way.
    let (mut server, mut hub) =
        (table(), Peers::new(HUB, Role::Hub, Membership::default(), SILENCE, 4));
    let ahead = |now: Time| now.after(Duration::from_secs(3));
    let tell = |to: &mut Peers, (from, role): (Incarnation, Role), moments, host_now| {
        let mut body = Vec::new();
        write_presence(&mut body, &Said { role, moments, ..said("") }, std::iter::empty());
        let mut header = FrameHeader::new(Kind::Presence, Incarnation::ALL, 0);
        header.sender = from;
        to.hear((at(0), || host_now), &header, Links::NONE, &body);
    };
    for turn in 0..4 {
        let now = at(1_000 + turn * 100);
        let moments = server.moments(now.as_nanos());
        tell(&mut hub, (ME, Role::Server), moments, ahead(now.after(Duration::from_millis(1))));
        let now = now.after(Duration::from_millis(50));
        let moments = hub.moments(ahead(now).as_nanos());
        tell(&mut server, (HUB, Role::Hub), moments, now.after(Duration::from_millis(1)));
    }
    let now_ns = at(1_400).as_nanos();
    let of_hub = server.clock_of(HUB, now_ns).expect("it is known");
    assert_eq!(of_hub.offset_ns, 3_000_000_000);
    assert!((1_000_000..1_100_000).contains(&of_hub.error_ns), "{of_hub:?}");
    let of_server = hub.clock_of(ME, ahead(at(1_400)).as_nanos()).expect("it is known");
    assert_eq!(of_server.offset_ns, -3_000_000_000);
    assert_eq!(server.rows(now_ns, |_| vec![7, -8])[0].clock_offset_ns, Some(3_000_000_000));
}
