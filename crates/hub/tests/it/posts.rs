//! Posts and generic messages, up and down.

use crate::support::{A, B, World, config, encode, provider};
use tapeline_backbone::{FrameFlags, Incarnation, Kind};
use tapeline_channel::SessionId;
use tapeline_hub::HubConfig;
use tapeline_rwf::{AckMsg, Domain, GenericMsg, Msg, MsgKey, NakCode, PostFlags, PostMsg};

const OFF_STREAM: u32 = u32::MAX;

fn post<'a>(id: u32) -> PostMsg<'a> {
    PostMsg {
        flags: PostFlags::ACK | PostFlags::POST_COMPLETE,
        post_id: Some(id),
        ..PostMsg::new(Domain::MARKET_PRICE, 0)
    }
}

impl World {
    fn post(&mut self, from: Incarnation, number: u32, request: u32, msg: &PostMsg<'_>) {
        let mut body = request.to_le_bytes().to_vec();
        body.extend(encode(&(*msg).into()));
        let mut flags = FrameFlags::empty();
        flags.set(FrameFlags::OFF_STREAM, request == OFF_STREAM);
        self.frame(from, Kind::Post, number, flags, &body);
    }

    /// The id of the post that a provider was sent last.
    fn posted_id(&mut self) -> u32 {
        let (_, bytes) = self.out.sent.last().expect("a post").clone();
        let Ok(Msg::Post(post)) = Msg::decode(&bytes) else { panic!("a post") };
        post.post_id.expect("an id")
    }
}

fn live(config: HubConfig) -> (World, SessionId) {
    let (mut world, sources) = World::with_sources(config);
    world.server_up(B);
    world.open(A, 7, "TRI.N");
    world.says(sources[0], &provider::refresh(3, "TRI.N"));
    world.heard_by(sources[0]);
    world.forget();
    (world, sources[0])
}

fn ack(stream_id: i32, id: u32) -> AckMsg<'static> {
    AckMsg { ack_id: id, ..AckMsg::new(Domain::MARKET_PRICE, stream_id) }
}

#[test]
fn a_post_on_an_items_stream_goes_there_and_its_ack_comes_back_with_the_clients_id() {
    let (mut world, source) = live(config(1));
    world.post(A, 55, 7, &post(9000));
    let id = world.posted_id();
    assert_eq!(world.heard_by(source), [format!("Post 3 id Some({id})")]);
    world.says(source, &encode(&ack(3, id).into()));
    assert_eq!(world.frames(), ["A ack of 55 Ack 9000"]);
    world.says(source, &encode(&ack(3, id).into()));
    assert_eq!(world.frames(), [""; 0], "once");
}

#[test]
fn a_post_on_the_login_stream_goes_to_a_source_of_its_service() {
    let (mut world, source) = live(config(1));
    let msg = PostMsg { key: Some(MsgKey::item(1, "ANY")), ..post(1) };
    world.post(A, 3, OFF_STREAM, &msg);
    let id = world.posted_id();
    assert_eq!(world.heard_by(source), [format!("Post 1 1:ANY id Some({id})")]);
    let nak =
        AckMsg { nak_code: Some(NakCode::ACCESS_DENIED), text: Some(b"not you"), ..ack(1, id) };
    world.says(source, &encode(&nak.into()));
    assert_eq!(world.frames(), ["A ack of 3 Ack 1 ACCESS_DENIED not you"]);
}

#[test]
fn two_clients_with_one_id_are_kept_apart_and_the_parts_of_one_post_together() {
    let (mut world, source) = live(config(1));
    world.open(B, 1, "TRI.N");
    world.post(A, 0, 7, &post(1));
    let first = world.posted_id();
    world.post(B, 0, 1, &post(1));
    let second = world.posted_id();
    assert_ne!(first, second);
    world.says(source, &encode(&ack(3, second).into()));
    assert_eq!(world.frames().last().expect("an ack"), "B ack of 0 Ack 1");

    let part = |seq, is_last| {
        let mut part = PostMsg { seq_num: Some(seq), ..post(8) };
        part.flags.set(PostFlags::POST_COMPLETE, is_last);
        part
    };
    world.post(A, 10, 7, &part(1, false));
    let one = world.posted_id();
    world.post(A, 11, 7, &part(2, true));
    assert_eq!(world.posted_id(), one);
    let answer = |seq| encode(&AckMsg { seq_num: Some(seq), ..ack(3, one) }.into());
    world.says(source, &answer(2));
    world.says(source, &answer(1));
    assert_eq!(world.frames(), ["A ack of 11 Ack 8", "A ack of 10 Ack 8"]);
}

#[test]
fn posts_that_cannot_be_delivered_are_refused_with_the_code_for_it() {
    let (mut world, source) = live(config(1));
    let to = |service, name| PostMsg { key: Some(MsgKey::item(service, name)), ..post(1) };
    world.post(A, 0, 99, &post(1));
    world.post(A, 1, OFF_STREAM, &to(44, "X"));
    world.post(A, 2, OFF_STREAM, &post(1));
    world.post(A, 3, OFF_STREAM, &PostMsg { domain: Domain::LOGIN, ..to(1, "X") });
    world.closed(source);
    world.forget();
    world.post(A, 4, OFF_STREAM, &to(1, "X"));
    world.post(A, 5, 7, &post(1));
    assert_eq!(
        world.frames(),
        [
            "A ack of 4 Ack 1 SOURCE_DOWN service Id 1 is down",
            "A ack of 5 Ack 1 SOURCE_DOWN service Id 1 is down",
        ]
    );
    assert_eq!(world.core.counters().naks, 6);
}

#[test]
fn the_refusals_name_their_reason() {
    let (mut world, _) = live(config(1));
    let to = |service, name| PostMsg { key: Some(MsgKey::item(service, name)), ..post(1) };
    world.post(A, 0, 99, &post(1));
    world.post(A, 1, OFF_STREAM, &to(44, "X"));
    world.post(A, 2, OFF_STREAM, &post(1));
    let lines = world.frames();
    assert!(lines[0].starts_with("A ack of 0 Ack 1 NOT_OPEN"), "{lines:?}");
    assert_eq!(
        lines[1],
        "A ack of 1 Ack 1 SOURCE_UNKNOWN Message submitted with unknown service Id 44"
    );
    assert_eq!(
        lines[2],
        "A ack of 2 Ack 1 INVALID_CONTENT \
         Message submitted with unspecified service Name and Id"
    );
}

#[test]
fn a_post_that_is_not_acked_in_time_or_whose_source_is_lost_is_refused() {
    let (mut world, source) = live(config(1));
    world.post(A, 0, 7, &post(1));
    world.pass(14_999);
    assert_eq!(world.frames(), [""; 0]);
    world.pass(1);
    assert_eq!(
        world.frames(),
        ["A ack of 0 Ack 1 NO_RESPONSE No Ack received for PostMsg with postId = 1"]
    );
    world.post(A, 1, 7, &post(2));
    world.closed(source);
    assert!(
        world
            .frames()
            .contains(&"A ack of 1 Ack 2 SOURCE_DOWN source of the post is lost".to_owned())
    );
}

#[test]
fn outstanding_posts_have_a_limit() {
    let mut config = config(1);
    config.limits.max_posts = 1;
    let (mut world, _) = live(config);
    world.post(A, 0, 7, &post(1));
    world.post(A, 1, 7, &post(2));
    let lines = world.frames();
    assert_eq!(lines.len(), 1);
    assert!(lines[0].starts_with("A ack of 1 Ack 2 NO_RESOURCES"), "{lines:?}");
    assert_eq!(world.core.counters().posts_waiting, 1);
}

#[test]
fn generic_messages_go_both_ways_with_their_key() {
    let (mut world, source) = live(config(1));
    let key = Some(MsgKey { name: Some(b"Tune"), ..MsgKey::EMPTY });
    let msg = GenericMsg { key, ..GenericMsg::new(Domain::MARKET_PRICE, 0) };
    world.frame(A, Kind::Generic, 7, FrameFlags::empty(), &encode(&msg.into()));
    assert_eq!(world.heard_by(source), ["Generic 3 Tune"]);
    let msg = GenericMsg { key, ..GenericMsg::new(Domain::MARKET_PRICE, 3) };
    world.says(source, &encode(&msg.into()));
    assert_eq!(world.frames(), ["all #2 Generic 0 Tune"]);
}

#[test]
fn an_ack_counts_only_from_the_source_that_was_posted_to() {
    let (mut world, sources) = World::with_sources(config(2));
    world.open(A, 7, "TRI.N");
    let place = usize::from(world.heard_by(sources[0]).is_empty());
    let (source, other) = (sources[place], sources[1 - place]);
    world.says(source, &provider::refresh(3, "TRI.N"));
    world.post(A, 0, 7, &post(1));
    let id = world.posted_id();
    world.forget();
    world.says(other, &encode(&ack(1, id).into()));
    assert_eq!(world.frames(), [""; 0]);
    world.says(source, &encode(&ack(3, id).into()));
    assert_eq!(world.frames(), ["A ack of 0 Ack 1"]);
}

#[test]
fn posts_that_are_never_completed_make_room_when_their_next_part_is_overdue() {
    let mut config = config(1);
    config.limits.max_posts = 1;
    let (mut world, source) = live(config);
    let part = |id, is_last| {
        let mut part = PostMsg { flags: PostFlags::empty(), seq_num: Some(1), ..post(id) };
        part.flags.set(PostFlags::POST_COMPLETE, is_last);
        part
    };
    world.post(A, 0, 7, &part(1, false));
    let first = world.posted_id();
    // Full: no other post of parts begins, but the one goes on, and so do posts
    // of one part.
    world.heard_by(source);
    world.post(A, 1, 7, &part(2, false));
    assert_eq!(world.heard_by(source), [""; 0]);
    world.post(A, 2, 7, &part(3, true));
    assert_eq!(world.heard_by(source).len(), 1);
    world.pass(14_999);
    world.post(A, 3, 7, &part(1, false));
    assert_eq!(world.posted_id(), first);
    world.pass(14_999);
    world.post(A, 4, 7, &part(2, false));
    assert_eq!(world.heard_by(source).len(), 1, "the first got more time");
    world.pass(1);
    world.post(A, 5, 7, &part(2, false));
    assert_eq!(world.heard_by(source).len(), 1);
}

#[test]
fn a_source_gets_the_id_of_the_poster_unless_another_post_there_has_it() {
    let (mut world, source) = live(config(1));
    world.open(B, 1, "TRI.N");
    world.post(A, 0, 7, &post(9000));
    assert_eq!(world.posted_id(), 9000);
    world.post(B, 0, 1, &post(9000));
    let other = world.posted_id();
    assert_ne!(other, 9000);
    // One that has the id that was given to another.
    world.post(B, 1, 1, &post(other));
    assert!(![9000, other].contains(&world.posted_id()));
    // Answered, it is free for the next one.
    world.says(source, &encode(&ack(3, 9000).into()));
    world.post(B, 2, 1, &post(9000));
    assert_eq!(world.posted_id(), 9000);
    world.forget();
    world.says(source, &encode(&ack(3, 9000).into()));
    world.says(source, &encode(&ack(3, other).into()));
    assert_eq!(world.frames(), ["B ack of 2 Ack 9000", "B ack of 0 Ack 9000"]);
}

#[test]
fn the_parts_of_a_post_keep_an_id_to_themselves_until_the_last_one() {
    let (mut world, _) = live(config(1));
    world.open(B, 1, "TRI.N");
    let part = |is_last| {
        let mut part = PostMsg { flags: PostFlags::empty(), seq_num: Some(1), ..post(8) };
        part.flags.set(PostFlags::POST_COMPLETE, is_last);
        part
    };
    world.post(A, 0, 7, &part(false));
    assert_eq!(world.posted_id(), 8);
    world.post(B, 0, 1, &post(8));
    assert_ne!(world.posted_id(), 8);
    world.post(A, 1, 7, &part(true));
    assert_eq!(world.posted_id(), 8);
    world.post(B, 1, 1, &PostMsg { flags: PostFlags::POST_COMPLETE, ..post(8) });
    assert_eq!(world.posted_id(), 8);
}
