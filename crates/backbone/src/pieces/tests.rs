use super::*;
use crate::frame::Kind;
use proptest::prelude::*;

const A: Incarnation = Incarnation(1);
const B: Incarnation = Incarnation(2);

/// The pieces of one frame as they are received.
fn pieces(sender: Incarnation, body: &[u8], frame_bytes: usize, first_seq: u32) -> Vec<Received> {
    let mut stream_seq = first_seq;
    let mut made = Vec::new();
    for piece in cut(body.len(), frame_bytes) {
        let mut header = FrameHeader::new(Kind::Item, Incarnation::ALL, 7);
        header.sender = sender;
        header.flags = piece.flags;
        header.stream_seq = stream_seq;
        stream_seq = stream_seq.wrapping_add(1);
        let mut bytes = piece.length.map_or_else(Vec::new, |length| length.to_vec());
        bytes.extend_from_slice(&body[piece.range]);
        assert!(FrameHeader::BYTES + bytes.len() <= frame_bytes);
        made.push((header, bytes));
    }
    made
}

type Received = (FrameHeader, Vec<u8>);

fn join_all(partials: &mut Partials, pieces: &[Received]) -> Vec<Joined> {
    pieces.iter().map(|(header, body)| partials.join(header, body)).collect()
}

fn body(length: usize) -> Vec<u8> {
    (0..length).map(|n| ((n * 31) >> 3) as u8).collect()
}

#[test]
fn what_is_cut_is_joined() {
    let body = body(1000);
    let mut partials = Partials::new(1 << 20);
    let joined = join_all(&mut partials, &pieces(A, &body, 100, u32::MAX - 3));
    let (last, before) = joined.split_last().unwrap();
    assert!(before.iter().all(|joined| *joined == Joined::Waits));
    assert_eq!(*last, Joined::Whole(body));
    assert_eq!(partials.bytes(), 0);
}

#[test]
fn frames_of_several_peers_do_not_mix() {
    let (one, other) = (body(500), body(700));
    let (ones, others) = (pieces(A, &one, 100, 0), pieces(B, &other, 100, 9));
    let mut partials = Partials::new(1 << 20);
    let mut whole = Vec::new();
    for at in 0..others.len() {
        for pieces in [&ones, &others] {
            let Some((header, body)) = pieces.get(at) else { continue };
            if let Joined::Whole(body) = partials.join(header, body) {
                whole.push(body);
            }
        }
    }
    assert_eq!(whole, [one, other]);
}

#[test]
fn a_missing_piece_gives_the_frame_up() {
    let pieces = pieces(A, &body(1000), 100, 0);
    for missing in 0..pieces.len() {
        let mut partials = Partials::new(1 << 20);
        let mut rest = pieces.clone();
        rest.remove(missing);
        let joined = join_all(&mut partials, &rest);
        assert!(!joined.iter().any(|joined| matches!(joined, Joined::Whole(_))), "{missing}");
    }
}

#[test]
fn the_end_of_one_frame_is_not_the_end_of_another() {
    let (mut first, second) = (pieces(A, &body(300), 100, 0), pieces(A, &body(300), 100, 5));
    first.truncate(2);
    first.extend_from_slice(&second[2..]);
    let mut partials = Partials::new(1 << 20);
    let joined = join_all(&mut partials, &first);
    assert_eq!(joined[..2], [Joined::Waits, Joined::Waits]);
    assert!(joined[2..].iter().all(|joined| *joined == Joined::Late), "{joined:?}");
    assert_eq!(partials.bytes(), 0);
}

#[test]
fn a_promise_costs_nothing_and_too_large_a_one_is_refused() {
    let (mut header, _) = pieces(A, &body(300), 100, 0).swap_remove(0);
    let mut partials = Partials::new(1 << 20);
    let promise = |bytes: usize| (bytes as u32).to_le_bytes();
    assert_eq!(partials.join(&header, &promise(MAX_BODY_BYTES)), Joined::Waits);
    assert_eq!(partials.bytes(), 0);
    assert_eq!(partials.join(&header, &promise(MAX_BODY_BYTES + 1)), Joined::Malformed);
    assert_eq!(partials.join(&header, &[1, 2]), Joined::Malformed);
    // More than was promised, and less.
    header.flags = FrameFlags::MORE;
    assert_eq!(partials.join(&header, &[1, 0, 0, 0, 8, 8]), Joined::Malformed);
    assert_eq!(partials.join(&header, &[3, 0, 0, 0, 8, 8]), Joined::Waits);
    header.flags = FrameFlags::CONTINUED;
    header.stream_seq += 1;
    assert_eq!(partials.join(&header, &[]), Joined::Malformed);
}

#[test]
fn all_peers_together_have_a_bound() {
    let mut partials = Partials::new(600);
    let (ones, others) = (pieces(A, &body(500), 200, 0), pieces(B, &body(500), 200, 0));
    assert_eq!(partials.join(&ones[0].0, &ones[0].1), Joined::Waits);
    assert_eq!(partials.join(&others[0].0, &others[0].1), Joined::Waits);
    assert_eq!(partials.join(&ones[1].0, &ones[1].1), Joined::Waits);
    assert_eq!(partials.join(&others[1].0, &others[1].1), Joined::Crowded);
    assert_eq!(partials.join(&others[2].0, &others[2].1), Joined::Late);
    let joined = join_all(&mut partials, &ones[2..]);
    assert_eq!(joined.last(), Some(&Joined::Whole(body(500))));
}

proptest! {
    #[test]
    fn any_lengths_and_any_losses_never_make_a_wrong_body(
        lengths in prop::collection::vec((0..2_usize, 1..5_000_usize), 1..12),
        frame_bytes in 29..400_usize,
        lost in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        turns in any::<u64>(),
    ) {
        let mut streams = [(A, 0, Vec::new()), (B, u32::MAX - 9, Vec::new())];
        let mut sent = [Vec::new(), Vec::new()];
        for (at, length) in lengths {
            let (peer, next_seq, stream) = &mut streams[at];
            let body = body(length);
            let pieces = pieces(*peer, &body, frame_bytes, *next_seq);
            *next_seq = next_seq.wrapping_add(pieces.len() as u32);
            let frame = sent[at].len();
            stream.extend(pieces.into_iter().map(|piece| (frame, piece)));
            sent[at].push((body, false));
        }
        for index in &lost {
            let at = index.index(2);
            if streams[at].2.is_empty() { continue }
            let gone = index.index(streams[at].2.len());
            let (frame, _) = streams[at].2.remove(gone);
            sent[at][frame].1 = true;
        }
        let mut partials = Partials::new(1 << 20);
        let mut came = [Vec::new(), Vec::new()];
        let mut streams = streams.map(|(_, _, stream)| stream.into_iter());
        let mut turn = 0;
        loop {
            let at = (turns >> (turn % 64) & 1) as usize;
            turn += 1;
            let Some((_, (header, bytes))) = streams[at].next().or_else(|| streams[1 - at].next())
            else { break };
            let at = usize::from(header.sender == B);
            if let Joined::Whole(body) = partials.join(&header, &bytes) {
                came[at].push(body);
            }
        }
        for at in 0..2 {
            let whole = sent[at].iter().filter(|(_, is_lost)| !is_lost).map(|(body, _)| body);
            prop_assert!(came[at].iter().eq(whole));
        }
        prop_assert!(partials.table.len() <= 2);
    }
}
