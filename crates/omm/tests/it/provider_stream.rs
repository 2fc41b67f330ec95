//! What a provider may send to one requester: tables from the rules of the
//! stream model.

use tapeline_omm::ItemKeyRef;
use tapeline_omm::market::{ItemRequest, Part};
use tapeline_omm::stream::{Held, ProviderStream, RecoveryPolicy, Reject};
use tapeline_rwf::{DataState, Domain, MsgKey, State, StateCode, StreamState};

const ITEM: ItemKeyRef<'static> = ItemKeyRef::item(Domain::MARKET_PRICE, 1, "TRI.N");
const OK: State<'static> = State::open_ok("");

fn state(stream: StreamState) -> State<'static> {
    State::new(stream, DataState::SUSPECT, StateCode::NONE, "why")
}

fn request() -> ItemRequest<'static> {
    ItemRequest::new(Domain::MARKET_PRICE, 5, MsgKey::item(1, "TRI.N"))
}

fn stream() -> ProviderStream {
    ProviderStream::new(&request(), None)
}

fn open() -> ProviderStream {
    let mut stream = stream();
    assert!(stream.image(Part::ONLY, &OK).is_ok_and(|allowed| allowed.solicited));
    stream
}

#[test]
fn no_update_goes_out_before_the_first_part_of_an_image() {
    let mut stream = stream();
    assert_eq!(stream.update(), Err(Held::NoImage));
    assert!(stream.owes_image() && !stream.takes_updates());
    assert!(stream.image(Part::numbered(0, false), &OK).is_ok());
    assert!(stream.update().is_ok() && stream.takes_updates());
    assert!(stream.owes_image());
    assert!(stream.image(Part::numbered(1, true), &OK).is_ok());
    assert!(!stream.owes_image());
    assert!(stream.update().is_ok());
}

#[test]
fn a_status_may_go_out_before_the_image() {
    let mut stream = stream();
    let allowed = stream.status(Some(&state(StreamState::OPEN))).expect("any time");
    assert_eq!((allowed.stream, allowed.data), (StreamState::OPEN, DataState::SUSPECT));
    assert!(stream.owes_image() && !stream.is_over());
}

#[test]
fn the_parts_of_two_images_do_not_mix() {
    let mut stream = stream();
    assert!(stream.image(Part::numbered(0, false), &OK).is_ok());
    assert_eq!(stream.image(Part::numbered(0, false), &OK), Err(Held::InParts));
    assert_eq!(
        stream.image(Part::numbered(2, true), &OK),
        Err(Held::PartOrder { expected: 1, found: 2 })
    );
    assert!(stream.image(Part::numbered(1, false), &OK).is_ok());
    assert!(stream.image(Part::numbered(2, true), &OK).is_ok());
    assert_eq!(
        stream.image(Part::numbered(3, true), &OK),
        Err(Held::PartOrder { expected: 0, found: 3 })
    );
    assert!(stream.image(Part::numbered(0, true), &OK).is_ok());
}

#[test]
fn only_the_image_that_was_asked_for_is_solicited() {
    let mut stream = stream();
    assert!(stream.image(Part::numbered(0, false), &OK).is_ok_and(|a| a.solicited));
    assert!(stream.image(Part::numbered(1, true), &OK).is_ok_and(|a| a.solicited));
    assert!(stream.image(Part::ONLY, &OK).is_ok_and(|a| !a.solicited));
}

#[test]
fn a_request_that_comes_between_parts_is_answered_by_the_next_image() {
    for asked in [false, true] {
        let mut stream = open();
        if asked {
            assert!(stream.reissue(&ITEM, &request()).is_ok());
        }
        let first = stream.image(Part::numbered(0, false), &OK).expect("first");
        assert_eq!(first.solicited, asked);
        assert!(stream.reissue(&ITEM, &request()).is_ok_and(|effect| effect.image));
        let last = stream.image(Part::numbered(1, true), &OK).expect("next");
        assert_eq!(last.solicited, asked);
        assert!(stream.owes_image());
        assert!(stream.image(Part::ONLY, &OK).is_ok_and(|allowed| allowed.solicited));
        assert!(!stream.owes_image());
    }
}

#[test]
fn a_snapshot_is_over_with_its_last_part() {
    let request = ItemRequest { streaming: false, ..request() };
    let mut stream = ProviderStream::new(&request, None);
    let allowed = stream.image(Part::numbered(0, false), &OK).expect("first");
    assert_eq!(allowed.stream, StreamState::NON_STREAMING);
    assert!(stream.update().is_ok());
    assert!(stream.image(Part::numbered(1, true), &OK).is_ok());
    assert!(stream.is_over());
    assert_eq!(stream.update(), Err(Held::Over));
    assert_eq!(stream.image(Part::ONLY, &OK), Err(Held::Over));
    assert_eq!(stream.status(None), Err(Held::Over));
    assert_eq!(stream.other(), Err(Held::Over));
}

#[test]
fn an_item_that_does_not_stream_is_over_with_its_image() {
    let mut stream = stream();
    let dead = State { stream: StreamState::NON_STREAMING, ..OK };
    assert!(stream.image(Part::ONLY, &dead).is_ok());
    assert!(stream.is_over());
}

#[test]
fn final_states_and_closes_end_the_stream() {
    for last in [StreamState::CLOSED, StreamState::CLOSED_RECOVER, StreamState::REDIRECTED] {
        let mut stream = open();
        assert_eq!(stream.status(Some(&state(last))).map(|a| a.stream), Ok(last));
        assert_eq!(stream.update(), Err(Held::Over));
    }
    let mut stream = open();
    stream.close();
    assert_eq!(stream.update(), Err(Held::Over));
}

#[test]
fn a_paused_stream_gets_status_and_images_but_no_updates() {
    let paused = ItemRequest { pause: true, ..request() };
    let mut stream = ProviderStream::new(&paused, None);
    assert!(stream.owes_image());
    assert!(stream.image(Part::ONLY, &OK).is_ok());
    assert_eq!(stream.update(), Err(Held::Paused));
    assert!(stream.status(Some(&state(StreamState::OPEN))).is_ok());
    assert!(stream.image(Part::ONLY, &OK).is_ok_and(|a| !a.solicited));
    assert!(stream.other().is_ok());
}

#[test]
fn reissues_pause_resume_and_ask_for_images() {
    let mut stream = open();
    for (pause, no_refresh, image, flow_changed, updates) in [
        (true, false, false, true, false),
        (true, false, false, false, false),
        // The updates of the pause are missing, until the image comes.
        (false, false, true, true, false),
        (false, true, false, false, true),
        (false, false, true, false, true),
        (true, true, false, true, false),
        (false, true, false, true, true),
    ] {
        let reissue = ItemRequest { pause, no_refresh, ..request() };
        let effect = stream.reissue(&ITEM, &reissue).expect("by the rules");
        assert_eq!((effect.image, effect.flow_changed), (image, flow_changed), "{reissue:?}");
        assert_eq!(stream.owes_image(), image);
        assert_eq!(stream.update().is_ok(), updates);
        if image {
            assert!(stream.image(Part::ONLY, &OK).is_ok_and(|a| a.solicited));
        }
    }
}

#[test]
fn a_reissue_cannot_change_what_kind_of_stream_it_is() {
    for (reissue, what) in [
        (ItemRequest { streaming: false, ..request() }, "streaming flag"),
        (ItemRequest { private: true, ..request() }, "private flag"),
    ] {
        let mut stream = open();
        assert_eq!(stream.reissue(&ITEM, &reissue), Err(Reject::Changed(what)));
        assert!(stream.is_over());
    }
}

#[test]
fn a_reissue_for_another_service_ends_the_stream() {
    let mut stream = open();
    let other = ItemRequest { key: MsgKey::item(2, "TRI.N"), ..request() };
    let reject = stream.reissue(&ITEM, &other).unwrap_err();
    assert_eq!(reject, Reject::ServiceChanged { from: 1, to: 2 });
    assert_eq!(reject.state().code, StateCode::USAGE_ERROR);
    assert!(stream.is_over());
}

#[test]
fn a_request_for_no_image_gets_updates_at_once() {
    let request = ItemRequest { no_refresh: true, ..request() };
    let stream = ProviderStream::new(&request, None);
    assert!(stream.takes_updates() && !stream.owes_image());
}

#[test]
fn who_recovers_items_keeps_the_stream_open_until_there_is_an_image_again() {
    let policy =
        |single_open, allow_suspect_data| Some(RecoveryPolicy { single_open, allow_suspect_data });
    let opened = |policy, private| {
        let mut stream = ProviderStream::new(&ItemRequest { private, ..request() }, policy);
        assert!(stream.image(Part::ONLY, &OK).is_ok_and(|a| a.private == private));
        stream
    };
    let lost = state(StreamState::CLOSED_RECOVER);
    let mut stream = opened(policy(true, false), false);
    let allowed = stream.status(Some(&lost)).expect("open");
    assert_eq!((allowed.stream, allowed.data), (StreamState::OPEN, DataState::SUSPECT));
    assert_eq!(stream.update(), Err(Held::NoImage));
    assert!(stream.image(Part::ONLY, &OK).is_ok_and(|a| !a.solicited));
    assert!(stream.update().is_ok());

    let mut stream = opened(policy(false, true), false);
    assert_eq!(stream.status(Some(&lost)).map(|a| a.stream), Ok(StreamState::CLOSED_RECOVER));
    assert!(stream.is_over());

    let mut stream = opened(policy(false, false), false);
    let suspect = stream.status(Some(&state(StreamState::OPEN))).map(|a| a.stream);
    assert_eq!(suspect, Ok(StreamState::CLOSED_RECOVER));
    assert!(stream.is_over());

    let mut stream = opened(policy(true, true), true);
    assert_eq!(stream.status(Some(&lost)).map(|a| a.stream), Ok(StreamState::CLOSED_RECOVER));
    assert!(stream.is_over());
}

#[test]
fn an_image_that_is_cut_off_is_still_owed() {
    let mut stream = ProviderStream::new(&request(), Some(RecoveryPolicy::default()));
    assert!(stream.image(Part::numbered(0, false), &OK).is_ok());
    assert!(stream.status(Some(&state(StreamState::CLOSED_RECOVER))).is_ok());
    assert_eq!(stream.update(), Err(Held::NoImage));
    assert!(stream.owes_image());
    assert!(stream.image(Part::numbered(0, true), &OK).is_ok_and(|allowed| allowed.solicited));
}

#[test]
fn an_image_that_is_given_up_is_owed_again_and_another_may_follow() {
    let mut stream = stream();
    assert!(stream.image(Part::numbered(0, false), &OK).is_ok());
    assert_eq!(stream.image(Part::ONLY, &OK), Err(Held::InParts));
    stream.abandon_image();
    assert!(stream.owes_image());
    assert!(stream.image(Part::ONLY, &OK).is_ok_and(|allowed| allowed.solicited));
    stream.abandon_image();
    assert!(!stream.owes_image(), "there is nothing to give up");
}

#[test]
fn the_key_goes_with_what_answers_and_with_all_that_was_asked_to_have_it() {
    let with_key = |request: &ItemRequest<'_>| {
        let mut stream = ProviderStream::new(request, None);
        let pending = stream.status(Some(&state(StreamState::OPEN)));
        let first = stream.image(Part::numbered(0, false), &OK);
        let second = stream.image(Part::numbered(1, true), &OK);
        let rest = [stream.update(), stream.status(None), stream.image(Part::ONLY, &OK)];
        let all = [pending, first, second].into_iter().chain(rest);
        all.map(|allowed| allowed.expect("in order").with_key).collect::<Vec<_>>()
    };
    assert_eq!(with_key(&request()), [true, true, false, false, false, true]);
    let asked = ItemRequest { key_in_updates: true, ..request() };
    assert_eq!(with_key(&asked), [true; 6]);
}

#[test]
fn parts_with_and_without_numbers_are_of_two_images() {
    let mut stream = stream();
    assert!(stream.image(Part::numbered(0, false), &OK).is_ok());
    assert_eq!(stream.image(Part::ONLY, &OK), Err(Held::InParts));
    assert!(stream.image(Part::numbered(1, true), &OK).is_ok());
    assert!(stream.image(Part { number: None, is_last: false }, &OK).is_ok());
    assert_eq!(stream.image(Part::numbered(1, true), &OK), Err(Held::InParts));
    assert!(stream.image(Part::ONLY, &OK).is_ok());
}

#[test]
fn an_image_of_an_item_that_is_lost_ends_what_the_requester_has_of_it() {
    let lost = state(StreamState::CLOSED_RECOVER);
    for streaming in [true, false] {
        let request = ItemRequest { streaming, ..request() };
        let mut stream = ProviderStream::new(&request, Some(RecoveryPolicy::default()));
        let allowed = stream.image(Part::ONLY, &lost).expect("the first image");
        assert_eq!((allowed.stream, allowed.data), (StreamState::OPEN, DataState::SUSPECT));
        assert_eq!(stream.update(), Err(Held::NoImage));
        assert!(!stream.is_over());
        assert!(stream.image(Part::ONLY, &OK).is_ok());
        assert_eq!(stream.is_over(), !streaming);
    }
}

#[test]
fn no_update_follows_an_image_when_the_next_one_is_put_off() {
    let mut stream = stream();
    assert!(stream.image(Part::ONLY, &OK).is_ok());
    stream.put_image_off();
    assert!(stream.status(Some(&OK)).is_ok());
    assert_eq!((stream.update(), stream.takes_updates()), (Err(Held::NoImage), false));
    assert!(stream.image(Part::ONLY, &OK).is_ok_and(|allowed| !allowed.solicited));
    assert!(stream.takes_updates());
}

#[test]
fn of_parts_without_numbers_the_first_one_begins_an_image() {
    let mut stream = stream();
    let begins = |stream: &mut ProviderStream, is_last| {
        stream.image(Part { number: None, is_last }, &OK).expect("in order").begins
    };
    for _ in 0..2 {
        assert!(begins(&mut stream, false));
        assert!(!begins(&mut stream, false));
        assert!(!begins(&mut stream, true));
    }
    assert!(stream.image(Part::ONLY, &OK).is_ok_and(|allowed| allowed.begins));
}

#[test]
fn an_image_that_is_put_off_in_the_middle_begins_anew() {
    for next in [Part::ONLY, Part::numbered(0, false)] {
        let mut stream = stream();
        let first = stream.image(Part::numbered(0, false), &OK).expect("the first part");
        stream.put_image_off();
        let allowed = stream.image(next, &OK).expect("another image");
        assert!(allowed.begins && first.solicited && allowed.solicited);
    }
}

#[test]
fn a_stream_that_stands_by_answers_requests_and_hears_only_its_end() {
    let mut stream = stream();
    stream.stand_by();
    assert!(stream.hears_image(&OK), "its request waits");
    let allowed = stream.image(Part::ONLY, &OK).expect("the answer");
    assert!(allowed.solicited && !stream.takes_updates());
    assert_eq!(stream.update(), Err(Held::StandsBy));
    assert!(!stream.hears_image(&OK));
    for (actual, is_told) in [
        (StreamState::OPEN, false),
        (StreamState::CLOSED_RECOVER, false),
        (StreamState::REDIRECTED, false),
        (StreamState::CLOSED, true),
    ] {
        assert_eq!(stream.hears(&state(actual)), is_told, "{actual}");
    }
    stream.take_over();
    assert!(stream.hears(&state(StreamState::REDIRECTED)) && !stream.takes_updates());
    let allowed = stream.image(Part::ONLY, &OK).expect("its own image");
    assert!(!allowed.solicited && stream.takes_updates());
}

#[test]
fn what_stands_by_is_told_that_it_is_open_when_it_asked() {
    for policy in [None, Some(RecoveryPolicy { single_open: false, allow_suspect_data: false })] {
        let mut stream = ProviderStream::new(&request(), policy);
        stream.stand_by();
        let allowed = stream.image(Part::ONLY, &state(StreamState::CLOSED_RECOVER)).expect("asked");
        assert_eq!((allowed.stream, allowed.data), (StreamState::OPEN, DataState::SUSPECT));
        assert!(!stream.is_over());
    }
}

#[test]
fn an_image_in_parts_does_not_go_on_when_its_stream_stands_by() {
    let mut stream = stream();
    assert!(stream.image(Part::numbered(0, false), &OK).is_ok());
    stream.stand_by();
    assert!(stream.owes_image());
    assert!(stream.image(Part::ONLY, &OK).expect("the answer").solicited);
    assert!(!stream.owes_image());
}
