//! Updates merged once for several slow receivers: each ends with what it would
//! have with every update in turn, and gets nothing that it has.

use crate::support::{Model, Payload, story};
use proptest::prelude::*;
use tapeline_cache::{Combiner, Image, Limits, Merged, SharedConflation, Since};
use tapeline_rwf::{
    DataType, Domain, Encoded, Msg, RefreshFlags, UpdateFlags, UpdateMsg, UpdateType, check,
};

/// Field 22 in one byte, 25 in another.
const BID: &[u8] = &[8, 0, 1, 0, 22, 2, 14, 1];
const ASK: &[u8] = &[8, 0, 1, 0, 25, 2, 14, 2];

fn of(fields: &[u8]) -> UpdateMsg<'_> {
    UpdateMsg {
        payload: Encoded::new(DataType::FIELD_LIST, fields),
        ..UpdateMsg::new(Domain::MARKET_PRICE, 0)
    }
}

/// Payload, type and count of each update that a receiver gets.
fn got(shared: &SharedConflation, since: Since) -> Vec<(Vec<u8>, UpdateType, u16)> {
    let mut all = Vec::new();
    let mut combiner = Combiner::new(Limits::CONFLATION);
    shared.updates(since, &mut combiner, |update| {
        let info = update.conflation.expect("always there");
        all.push((update.payload.bytes().to_vec(), update.update_type, info.count));
    });
    all
}

#[test]
fn each_receiver_gets_what_came_since_it_joined() {
    let mut shared = SharedConflation::new(Limits::CONFLATION);
    let mut combiner = Combiner::new(Limits::CONFLATION);
    let (first, beside) = (shared.join(), shared.join());
    assert_eq!(first, beside, "nothing came between them");
    let trade = UpdateMsg { update_type: UpdateType::TRADE, ..of(BID) };
    assert_eq!(shared.merge(1, &trade), Merged::Yes);
    let second = shared.join();
    assert_eq!(got(&shared, second), []);
    assert_eq!(shared.merge(3, &of(ASK)), Merged::Yes);
    let both = [8, 0, 2, 0, 22, 2, 14, 1, 0, 25, 2, 14, 2].to_vec();
    assert_eq!(got(&shared, second), [(ASK.to_vec(), UpdateType::UNSPECIFIED, 1)]);
    assert_eq!(got(&shared, first), [(both.clone(), UpdateType::MULTIPLE, 2)]);
    shared.leave(second, &mut combiner);
    assert_eq!(got(&shared, first), [(both, UpdateType::MULTIPLE, 2)], "in one section now");
    shared.leave(first, &mut combiner);
    assert_eq!(shared.receivers(), 1);
    shared.leave(beside, &mut combiner);
    assert!(shared.is_empty());
    assert_eq!(shared.bytes(), 0);
}

#[test]
fn what_differs_from_what_another_receiver_waits_for_is_not_merged() {
    let mut shared = SharedConflation::new(Limits::CONFLATION);
    shared.join();
    assert_eq!(shared.merge(1, &of(BID)), Merged::Yes);
    shared.join();
    let permitted = UpdateMsg { perm_data: Some(b"p"), ..of(ASK) };
    assert_eq!(shared.merge(2, &permitted), Merged::No);
    let alone = UpdateMsg { flags: UpdateFlags::DO_NOT_CONFLATE, ..of(ASK) };
    assert_eq!(shared.merge(2, &alone), Merged::No);
    assert_eq!(shared.merge(3, &of(ASK)), Merged::Yes);
}

#[test]
fn a_receiver_that_comes_and_goes_beside_one_that_waits_leaves_no_sections_behind() {
    let mut shared = SharedConflation::new(Limits::CONFLATION);
    let mut combiner = Combiner::new(Limits::CONFLATION);
    let stopped = shared.join();
    assert_eq!(shared.merge(0, &of(BID)), Merged::Yes);
    let bytes = shared.bytes();
    for round in 1..100 {
        let since = shared.join();
        assert_eq!(shared.merge(round, &of(BID)), Merged::Yes);
        assert_eq!(got(&shared, since).len(), 1);
        shared.leave(since, &mut combiner);
    }
    assert_eq!(shared.bytes(), bytes);
    assert_eq!(got(&shared, stopped), [(BID.to_vec(), UpdateType::UNSPECIFIED, 100)]);
}

#[test]
fn what_together_is_too_much_comes_in_several_updates() {
    let limits = Limits { max_bytes: 12, ..Limits::CONFLATION };
    let mut shared = SharedConflation::new(limits);
    let mut combiner = Combiner::new(limits);
    let first = shared.join();
    assert_eq!(shared.merge(0, &of(BID)), Merged::Yes);
    let second = shared.join();
    assert_eq!(shared.merge(0, &of(ASK)), Merged::Yes);
    assert_eq!(shared.merge(0, &of(ASK)), Merged::TooMuch);
    let mut count = 0;
    shared.updates(first, &mut combiner, |_| count += 1);
    assert_eq!(count, 2);
    shared.leave(second, &mut combiner);
    shared.updates(first, &mut combiner, |_| count += 1);
    assert_eq!(count, 4, "nor do they become one section");
    shared.leave(first, &mut combiner);
    assert_eq!((shared.bytes(), shared.receivers()), (0, 0));
}

/// Someone who waits, with the image it had when it joined.
struct Receiver {
    since: Since,
    image: Image,
    joined_at: usize,
}

fn image_of(first: &Payload) -> (Image, Model) {
    let bytes = first.refresh(RefreshFlags::CLEAR_CACHE);
    let Ok(Msg::Refresh(refresh)) = Msg::decode(&bytes) else { panic!("a refresh") };
    let mut image = Image::new(Limits::default());
    image.refresh(&refresh).expect("well-formed");
    let mut model = Model::default();
    model.apply(&refresh.payload);
    (image, model)
}

fn content_of(image: &Image) -> Model {
    let mut payload = Vec::new();
    image.payload(&mut payload).expect("one part");
    Model::of(image.container_type(), &payload)
}

proptest! {
    #[test]
    fn every_receiver_ends_with_what_each_update_in_turn_would_give(
        (first, updates) in story(),
        steps in proptest::collection::vec((any::<bool>(), any::<u8>()), 12),
    ) {
        let (mut image, mut model) = image_of(&first);
        let mut shared = SharedConflation::new(Limits::CONFLATION);
        let mut combiner = Combiner::new(Limits::CONFLATION);
        let mut receivers: Vec<Receiver> = Vec::new();
        for at in 0..=updates.len() {
            let (joins, leaves) = steps.get(at).copied().unwrap_or_default();
            if joins || receivers.is_empty() {
                let image = image.clone();
                receivers.push(Receiver { since: shared.join(), image, joined_at: at });
            }
            if let Some(payload) = updates.get(at) {
                let bytes = payload.update();
                let Ok(Msg::Update(update)) = Msg::decode(&bytes) else { panic!("an update") };
                model.apply(&update.payload);
                image.update(&update, None).expect("well-formed");
                prop_assert_eq!(shared.merge(at as u64, &update), Merged::Yes);
            }
            let now = (at + 1).min(updates.len());
            let is_last = at == updates.len();
            let mut left = Vec::new();
            for mut receiver in receivers.drain(..) {
                if !is_last && usize::from(leaves) % 7 != receiver.joined_at % 7 {
                    left.push(receiver);
                    continue;
                }
                let (mut count, mut messages) = (0, 0);
                shared.updates(receiver.since, &mut combiner, |update| {
                    check(&update.payload, |_| DataType::UNKNOWN).expect("well-formed");
                    receiver.image.update(update, None).expect("well-formed");
                    count += usize::from(update.conflation.expect("always there").count);
                    messages += 1;
                });
                prop_assert_eq!(count, now - receiver.joined_at);
                prop_assert_eq!(messages, usize::from(count > 0));
                prop_assert_eq!(content_of(&receiver.image), model.clone());
                shared.leave(receiver.since, &mut combiner);
            }
            receivers = left;
        }
        prop_assert_eq!((shared.bytes(), shared.receivers()), (0, 0));
    }
}
