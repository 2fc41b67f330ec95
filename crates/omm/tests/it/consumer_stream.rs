//! What a requester makes of its stream: tables from the rules of the stream
//! model, each a script of events with the reactions that are expected.

use tapeline_omm::state::usual;
use tapeline_omm::stream::{
    ConsumerStream, Deliver, Reaction, RecoveryPolicy, Reissue, StreamOptions, ToProvider,
};
use tapeline_rwf::{
    DataState, Domain, GenericMsg, Msg, RefreshFlags, RefreshMsg, State, StateCode, StatusMsg,
    StreamState, UpdateMsg,
};

const OK: State<'static> = State::open_ok("");
const SUSPECT: State<'static> = state(StreamState::OPEN);
const TIMEOUT_MS: u64 = StreamOptions::DEFAULT_REQUEST_TIMEOUT_MS;

const fn state(stream: StreamState) -> State<'static> {
    State::new(stream, DataState::SUSPECT, StateCode::NONE, "why")
}

fn refresh(flags: RefreshFlags, state: State<'static>) -> Msg<'static> {
    RefreshMsg { flags, state, ..RefreshMsg::new(Domain::MARKET_PRICE, 5) }.into()
}

/// The only part of an image that was asked for.
fn image() -> Msg<'static> {
    refresh(RefreshFlags::SOLICITED | RefreshFlags::REFRESH_COMPLETE, OK)
}

/// A part of an image that was asked for, but not the last one.
fn part() -> Msg<'static> {
    refresh(RefreshFlags::SOLICITED, OK)
}

fn unsolicited() -> Msg<'static> {
    refresh(RefreshFlags::REFRESH_COMPLETE, OK)
}

fn update() -> Msg<'static> {
    UpdateMsg::new(Domain::MARKET_PRICE, 5).into()
}

fn status(state: State<'static>) -> Msg<'static> {
    StatusMsg { state: Some(state), ..StatusMsg::new(Domain::MARKET_PRICE, 5) }.into()
}

fn as_is() -> Reaction<'static> {
    Reaction { deliver: Deliver::Message, send: None }
}

fn nothing() -> Reaction<'static> {
    Reaction { deliver: Deliver::Nothing, send: None }
}

fn shown(stream: StreamState, of: State<'static>) -> Deliver<'static> {
    Deliver::MessageAs(State { stream, ..of })
}

const fn policy(single_open: bool, allow_suspect_data: bool) -> RecoveryPolicy {
    RecoveryPolicy { single_open, allow_suspect_data }
}

const POLICIES: [RecoveryPolicy; 4] =
    [policy(true, true), policy(true, false), policy(false, true), policy(false, false)];

/// A stream that has been requested at 0.
fn requested(options: StreamOptions) -> ConsumerStream {
    let mut stream = ConsumerStream::new(options);
    assert!(stream.wants_request());
    let sent = stream.request(0);
    assert_eq!(sent.send, Some(ToProvider::Request { pause: false }));
    assert!(stream.is_on_wire() && stream.awaits_image() && !stream.wants_request());
    stream
}

/// A stream with its image.
fn open(options: StreamOptions) -> ConsumerStream {
    let mut stream = requested(options);
    assert_eq!(stream.message(1, &image()), as_is());
    assert!(stream.is_on_wire() && !stream.awaits_image());
    assert_eq!(stream.deadline_ms(), None);
    stream
}

fn with(recovery: RecoveryPolicy) -> StreamOptions {
    StreamOptions { recovery, ..StreamOptions::default() }
}

#[test]
fn an_image_comes_before_updates() {
    let mut stream = requested(StreamOptions::default());
    assert_eq!(stream.message(1, &update()), nothing());
    assert_eq!(stream.message(2, &image()), as_is());
    assert_eq!(stream.message(3, &update()), as_is());
    assert_eq!(stream.request(4), nothing());
}

#[test]
fn updates_and_statuses_may_come_between_the_parts_of_an_image() {
    let mut stream = requested(StreamOptions::default());
    assert_eq!(stream.message(1, &update()), nothing());
    assert_eq!(stream.message(2, &part()), as_is());
    assert_eq!(stream.message(3, &update()), as_is());
    assert_eq!(stream.message(4, &status(SUSPECT)), as_is());
    assert!(stream.awaits_image());
    assert_eq!(stream.message(5, &image()), as_is());
    assert!(!stream.awaits_image() && stream.is_on_wire());
}

#[test]
fn every_part_gives_the_next_one_the_full_time() {
    let mut stream = requested(StreamOptions::default());
    assert_eq!(stream.deadline_ms(), Some(TIMEOUT_MS));
    assert_eq!(stream.message(14_000, &part()), as_is());
    assert_eq!(stream.deadline_ms(), Some(14_000 + TIMEOUT_MS));
    // Neither a status nor an unsolicited image is the next part.
    let _ = stream.message(15_000, &status(SUSPECT));
    let _ = stream.message(15_000, &unsolicited());
    assert_eq!(stream.deadline_ms(), Some(14_000 + TIMEOUT_MS));
    assert_eq!(stream.message(28_000, &image()), as_is());
    assert_eq!(stream.deadline_ms(), None);
}

#[test]
fn a_status_answers_a_request_as_far_as_time_goes() {
    let mut stream = requested(StreamOptions::default());
    assert_eq!(stream.message(10, &status(SUSPECT)), as_is());
    assert_eq!(stream.deadline_ms(), None);
    assert_eq!(stream.timeout(1_000_000), nothing());
    assert_eq!(stream.message(1_000_001, &image()), as_is());
}

#[test]
fn a_snapshot_is_over_with_its_last_part_and_never_looks_open() {
    let snapshot = StreamOptions { streaming: false, ..StreamOptions::default() };
    let mut stream = requested(snapshot);
    let rewritten = shown(StreamState::NON_STREAMING, OK);
    assert_eq!(stream.message(1, &part()).deliver, rewritten);
    assert_eq!(stream.message(2, &update()), as_is());
    assert!(!stream.is_over());
    let last = stream.message(3, &image());
    assert_eq!(last, Reaction { deliver: rewritten, send: None });
    assert!(stream.is_over());
    assert_eq!(stream.message(4, &update()), nothing());
    assert_eq!(stream.close(), nothing());
}

#[test]
fn a_streaming_request_may_be_answered_with_an_item_that_does_not_stream() {
    let mut stream = requested(StreamOptions::default());
    let dead = State { stream: StreamState::NON_STREAMING, ..OK };
    assert_eq!(stream.message(1, &refresh(RefreshFlags::SOLICITED, dead)), as_is());
    assert!(!stream.is_over());
    let last = RefreshFlags::SOLICITED | RefreshFlags::REFRESH_COMPLETE;
    assert_eq!(stream.message(2, &refresh(last, dead)), as_is());
    assert!(stream.is_over());
}

#[test]
fn an_unsolicited_image_replaces_and_does_not_answer() {
    let mut stream = requested(StreamOptions::default());
    assert_eq!(stream.message(1, &unsolicited()), as_is());
    assert!(stream.awaits_image());
    assert_eq!(stream.message(2, &update()), as_is());
    assert_eq!(stream.message(3, &image()), as_is());
    assert!(!stream.awaits_image());
    assert_eq!(stream.message(4, &unsolicited()), as_is());
}

#[test]
fn status_states_are_shown_by_the_policy_of_the_login() {
    use StreamState as S;
    // For each policy: what is shown, whether the stream is asked for again,
    // whether it is closed at the provider.
    for (came, shown_as, again, closed) in [
        (
            S::OPEN,
            [S::OPEN, S::OPEN, S::OPEN, S::CLOSED_RECOVER],
            [false; 4],
            [false, false, false, true],
        ),
        (
            S::CLOSED_RECOVER,
            [S::OPEN, S::OPEN, S::CLOSED_RECOVER, S::CLOSED_RECOVER],
            [true, true, false, false],
            [false; 4],
        ),
        (S::CLOSED, [S::CLOSED; 4], [false; 4], [false; 4]),
        (S::REDIRECTED, [S::REDIRECTED; 4], [false; 4], [false; 4]),
        (S::NON_STREAMING, [S::NON_STREAMING; 4], [false; 4], [false; 4]),
    ] {
        for (at, recovery) in POLICIES.into_iter().enumerate() {
            let mut stream = open(with(recovery));
            let reaction = stream.message(2, &status(state(came)));
            let deliver = match shown_as[at] == came {
                true => Deliver::Message,
                false => shown(shown_as[at], state(came)),
            };
            let send = closed[at].then_some(ToProvider::Close);
            assert_eq!(reaction, Reaction { deliver, send }, "{came} with {recovery:?}");
            assert_eq!(stream.wants_request(), again[at], "{came} with {recovery:?}");
            let is_over = shown_as[at] != S::OPEN;
            assert_eq!(stream.is_over(), is_over, "{came} with {recovery:?}");
        }
    }
}

#[test]
fn a_status_without_a_state_or_with_no_change_leaves_the_stream_as_it_is() {
    let mut stream = open(with(policy(false, false)));
    let bare = StatusMsg::new(Domain::MARKET_PRICE, 5).into();
    assert_eq!(stream.message(2, &bare), as_is());
    let no_change = State::new(StreamState::OPEN, DataState::NO_CHANGE, StateCode::NONE, "");
    assert_eq!(stream.message(3, &status(no_change)), as_is());
    assert_eq!(stream.message(4, &update()), as_is());
}

#[test]
fn a_recovered_stream_begins_anew() {
    let mut stream = open(StreamOptions::default());
    let _ = stream.message(10, &status(state(StreamState::CLOSED_RECOVER)));
    assert!(stream.wants_request() && !stream.is_on_wire());
    assert_eq!(stream.message(11, &update()), nothing());
    assert_eq!(stream.request(12).send, Some(ToProvider::Request { pause: false }));
    assert_eq!(stream.deadline_ms(), Some(12 + TIMEOUT_MS));
    assert_eq!(stream.message(13, &update()), nothing());
    assert_eq!(stream.message(14, &image()), as_is());
}

#[test]
fn a_retry_may_have_to_wait() {
    let options = StreamOptions { retry_delay_ms: 500, ..StreamOptions::default() };
    let mut stream = open(options);
    let _ = stream.message(100, &status(state(StreamState::CLOSED_RECOVER)));
    assert!(!stream.wants_request());
    assert_eq!(stream.request(100), nothing());
    assert_eq!(stream.deadline_ms(), Some(600));
    assert_eq!(stream.timeout(599), nothing());
    assert!(!stream.wants_request());
    assert_eq!(stream.timeout(600), nothing());
    assert!(stream.wants_request());
}

#[test]
fn a_request_has_twice_the_time_of_the_one_before_that_had_no_answer_up_to_eight_times() {
    let mut stream = requested(StreamOptions::default());
    let mut now = 0;
    for times in [1, 2, 4, 8, 8] {
        assert_eq!(stream.timeout(now + times * TIMEOUT_MS - 1), nothing());
        now += times * TIMEOUT_MS;
        assert_eq!(stream.timeout(now).send, Some(ToProvider::Close));
        assert!(stream.request(now).send.is_some());
    }
    assert_eq!(stream.message(now, &image()), as_is());
    assert!(stream.reissue(now, true).send.is_some());
    assert_eq!(stream.timeout(now + TIMEOUT_MS).send, Some(ToProvider::Close), "an image came");
}

#[test]
fn a_request_without_answer_is_closed_and_asked_again_if_it_is_called_open() {
    for (recovery, stream_state) in POLICIES.into_iter().zip([
        StreamState::OPEN,
        StreamState::OPEN,
        StreamState::OPEN,
        StreamState::CLOSED_RECOVER,
    ]) {
        let mut stream = requested(with(recovery));
        assert_eq!(stream.timeout(TIMEOUT_MS - 1), nothing());
        let told = State { stream: stream_state, ..usual::REQUEST_TIMEOUT };
        let reaction = stream.timeout(TIMEOUT_MS);
        assert_eq!(
            reaction,
            Reaction { deliver: Deliver::Status(told), send: Some(ToProvider::Close) }
        );
        assert_eq!(stream.wants_request(), stream_state == StreamState::OPEN);
        assert_eq!(stream.message(TIMEOUT_MS + 1, &image()), nothing());
    }
}

#[test]
fn losses_are_shown_by_who_recovers() {
    type Loss = fn(&mut ConsumerStream) -> Reaction<'static>;
    let channel: (Loss, _, _) = (ConsumerStream::channel_down, usual::CHANNEL_DOWN, None);
    let service: (Loss, _, _) =
        (ConsumerStream::service_lost, usual::SERVICE_LOST, Some(ToProvider::Close));
    for (loss, text, send) in [channel, service] {
        for recovery in POLICIES {
            let stream_state = match recovery.single_open {
                true => StreamState::OPEN,
                false => StreamState::CLOSED_RECOVER,
            };
            let deliver = Deliver::Status(State { stream: stream_state, ..text });
            for mut stream in [requested(with(recovery)), open(with(recovery))] {
                assert_eq!(loss(&mut stream), Reaction { deliver, send });
                assert_eq!(stream.wants_request(), recovery.single_open);
                assert_eq!(stream.is_over(), !recovery.single_open);
                // Lost is lost once.
                assert_eq!(loss(&mut stream), nothing());
            }
        }
    }
}

#[test]
fn private_streams_and_complete_dictionaries_are_not_recovered() {
    let private = StreamOptions { private: true, ..StreamOptions::default() };
    let flags =
        RefreshFlags::SOLICITED | RefreshFlags::REFRESH_COMPLETE | RefreshFlags::PRIVATE_STREAM;
    let dictionary = StreamOptions { recover_complete: false, ..StreamOptions::default() };
    for (options, answer) in [(private, refresh(flags, OK)), (dictionary, image())] {
        let opened = || {
            let mut stream = requested(options);
            assert_eq!(stream.message(1, &answer), as_is());
            stream
        };
        let mut stream = opened();
        assert_eq!(stream.message(2, &status(state(StreamState::CLOSED_RECOVER))), as_is());
        assert!(stream.is_over());
        let mut stream = opened();
        assert_eq!(stream.channel_down().deliver, Deliver::Status(usual::CHANNEL_DOWN));
        assert!(stream.is_over());
    }
    // A dictionary that is not complete is.
    let mut stream = requested(dictionary);
    assert_eq!(stream.message(1, &part()), as_is());
    let _ = stream.channel_down();
    assert!(stream.wants_request());
}

#[test]
fn a_shared_answer_to_a_private_request_is_a_refusal() {
    let mut stream = requested(StreamOptions { private: true, ..StreamOptions::default() });
    let reaction = stream.message(1, &image());
    let Deliver::Status(told) = reaction.deliver else { panic!("{reaction:?}") };
    assert_eq!(told.stream, StreamState::CLOSED);
    assert_eq!(reaction.send, Some(ToProvider::Close));
    assert!(stream.is_over());
}

#[test]
fn states_of_the_service_are_for_streams_that_had_a_response() {
    let suspect = state(StreamState::OPEN);
    let mut stream = requested(StreamOptions::default());
    assert_eq!(stream.fanned_state(1, &suspect), nothing());
    assert_eq!(stream.message(2, &image()), as_is());
    assert_eq!(stream.fanned_state(3, &suspect).deliver, Deliver::Status(suspect));
    let closed = state(StreamState::CLOSED_RECOVER);
    let told = Deliver::Status(State { stream: StreamState::OPEN, ..closed });
    assert_eq!(stream.fanned_state(4, &closed), Reaction { deliver: told, send: None });
    assert!(stream.wants_request());
    assert_eq!(stream.fanned_state(5, &closed), nothing());
}

#[test]
fn a_stream_that_cannot_be_requested_says_why_and_waits_if_it_is_recovered() {
    for (recovery, stream_state) in [
        (policy(true, false), StreamState::OPEN),
        (policy(false, true), StreamState::CLOSED_RECOVER),
    ] {
        let mut stream = ConsumerStream::new(with(recovery));
        let told = State { stream: stream_state, ..usual::SERVICE_NOT_UP };
        assert_eq!(stream.unavailable(&usual::SERVICE_NOT_UP).deliver, Deliver::Status(told));
        assert_eq!(stream.wants_request(), recovery.single_open);
        assert_eq!(stream.is_over(), !recovery.single_open);
    }
    let mut stream = ConsumerStream::new(StreamOptions::default());
    assert_eq!(
        stream.unavailable(&usual::NO_SERVICE_NAMED).deliver,
        Deliver::Status(usual::NO_SERVICE_NAMED)
    );
    assert!(stream.is_over());
}

#[test]
fn the_end_of_the_login_ends_every_stream() {
    for mut stream in
        [ConsumerStream::new(StreamOptions::default()), open(StreamOptions::default())]
    {
        let told = Deliver::Status(usual::LOGIN_CLOSED);
        assert_eq!(stream.login_closed(), Reaction { deliver: told, send: None });
        assert!(stream.is_over());
        assert_eq!(stream.login_closed(), nothing());
        assert_eq!(stream.request(9), nothing());
    }
}

#[test]
fn what_is_in_flight_after_a_close_is_nothing() {
    let mut stream = open(StreamOptions::default());
    assert_eq!(stream.close().send, Some(ToProvider::Close));
    for msg in [image(), update(), status(SUSPECT)] {
        assert_eq!(stream.message(2, &msg), nothing());
    }
    let mut parked = ConsumerStream::new(StreamOptions::default());
    assert_eq!(parked.close(), nothing());
    assert!(parked.is_over());
}

#[test]
fn generic_messages_pass_at_any_time_while_the_stream_is_there() {
    let generic = GenericMsg::new(Domain::MARKET_PRICE, 5).into();
    let mut stream = ConsumerStream::new(StreamOptions::default());
    assert_eq!(stream.message(0, &generic), nothing());
    let mut stream = requested(StreamOptions::default());
    assert_eq!(stream.message(0, &generic), as_is());
}

fn obeyed() -> StreamOptions {
    StreamOptions { provider_obeys_pause: true, ..StreamOptions::default() }
}

#[test]
fn a_pause_wants_no_image_and_a_resume_does() {
    let mut stream = open(obeyed());
    let paused = Reissue { pause: true, refresh: false };
    assert_eq!(stream.pause(2).send, Some(ToProvider::Reissue(paused)));
    assert_eq!(stream.pause(3), nothing());
    assert!(stream.is_paused() && !stream.awaits_image());
    let resumed = Reissue { pause: false, refresh: true };
    assert_eq!(stream.resume(4).send, Some(ToProvider::Reissue(resumed)));
    assert!(stream.awaits_image());
    assert_eq!(stream.deadline_ms(), Some(4 + TIMEOUT_MS));
    // The image that was there still counts for updates.
    assert_eq!(stream.message(5, &update()), as_is());
    assert_eq!(stream.message(6, &image()), as_is());
}

#[test]
fn a_pause_is_remembered_across_recovery() {
    let mut stream = open(obeyed());
    let _ = stream.pause(2);
    let _ = stream.channel_down();
    assert_eq!(stream.request(3).send, Some(ToProvider::Request { pause: true }));
}

#[test]
fn a_provider_that_does_not_obey_a_pause_is_not_asked_to() {
    let mut stream = open(StreamOptions::default());
    assert_eq!(stream.pause(2), nothing());
    assert!(stream.is_paused());
    assert_eq!(stream.resume(3), nothing());
    assert!(!stream.is_paused());
}

#[test]
fn changes_wait_for_the_image_that_is_on_its_way() {
    let mut stream = requested(obeyed());
    assert_eq!(stream.reissue(1, true), nothing());
    assert_eq!(stream.pause(2), nothing());
    assert!(stream.is_paused());
    assert_eq!(stream.message(3, &part()), as_is());
    let reaction = stream.message(4, &image());
    // A pause gives no image, also not the one that was wanted before it.
    let queued = Reissue { pause: true, refresh: false };
    assert_eq!(
        reaction,
        Reaction { deliver: Deliver::Message, send: Some(ToProvider::Reissue(queued)) }
    );
    assert!(!stream.awaits_image());
    assert_eq!(stream.reissue(5, true).send, Some(ToProvider::Reissue(queued)));

    let mut stream = requested(obeyed());
    assert_eq!(stream.reissue(1, true), nothing());
    assert_eq!(stream.reissue(2, false), nothing());
    let queued = Reissue { pause: false, refresh: true };
    assert_eq!(stream.message(3, &image()).send, Some(ToProvider::Reissue(queued)));
    assert!(stream.awaits_image());
    assert_eq!(stream.message(4, &image()), as_is());
    assert!(!stream.awaits_image());
}

#[test]
fn a_change_of_priority_wants_no_image() {
    let mut stream = open(StreamOptions::default());
    let change = Reissue { pause: false, refresh: false };
    assert_eq!(stream.reissue(2, false).send, Some(ToProvider::Reissue(change)));
    assert!(!stream.awaits_image());
}

#[test]
fn states_of_the_service_reach_a_stream_that_was_answered_by_a_status() {
    let mut stream = requested(StreamOptions::default());
    assert_eq!(stream.message(1, &status(SUSPECT)), as_is());
    assert_eq!(stream.deadline_ms(), None);
    let lost = state(StreamState::CLOSED_RECOVER);
    let told = Deliver::Status(State { stream: StreamState::OPEN, ..lost });
    assert_eq!(stream.fanned_state(2, &lost), Reaction { deliver: told, send: None });
    assert!(stream.wants_request());
    // The new request has no response yet.
    let _ = stream.request(3);
    assert_eq!(stream.fanned_state(4, &lost), nothing());
}

#[test]
fn a_status_makes_room_in_the_window_but_is_not_the_image_of_a_reissue() {
    let mut stream = open(StreamOptions::default());
    assert!(!stream.is_in_window());
    let wanted = Reissue { pause: false, refresh: true };
    assert_eq!(stream.reissue(10, true).send, Some(ToProvider::Reissue(wanted)));
    assert!(stream.is_in_window());
    assert_eq!(stream.message(11, &status(SUSPECT)), as_is());
    assert!(!stream.is_in_window() && stream.awaits_image());
    assert_eq!(stream.deadline_ms(), Some(10 + TIMEOUT_MS));
    // An image that never comes is asked for anew; nothing waits for ever.
    assert_eq!(stream.reissue(12, true), nothing());
    assert_eq!(stream.timeout(10 + TIMEOUT_MS).send, Some(ToProvider::Close));
    assert!(stream.wants_request());
}

#[test]
fn the_window_has_room_again_with_the_last_part_a_status_or_a_loss() {
    let mut stream = requested(StreamOptions::default());
    assert!(stream.is_in_window());
    assert_eq!(stream.message(1, &part()), as_is());
    assert_eq!(stream.message(2, &status(OK)), as_is());
    assert!(stream.is_in_window());
    assert_eq!(stream.message(3, &image()), as_is());
    assert!(!stream.is_in_window());
    // An image that is never whole keeps no others out.
    let mut stream = requested(StreamOptions::default());
    assert_eq!(stream.message(1, &part()), as_is());
    assert_eq!(stream.message(2, &status(SUSPECT)), as_is());
    assert!(!stream.is_in_window() && stream.awaits_image());
    assert_eq!(stream.message(3, &part()), as_is());
    assert!(!stream.is_in_window());
    let mut stream = requested(StreamOptions::default());
    assert_eq!(stream.message(1, &status(SUSPECT)), as_is());
    assert!(!stream.is_in_window());
    let mut stream = requested(StreamOptions::default());
    let _ = stream.channel_down();
    assert!(!stream.is_in_window());
    let mut stream = requested(StreamOptions::default());
    let _ = stream.close();
    assert!(!stream.is_in_window());
}

#[test]
fn a_refusal_of_a_private_request_keeps_its_code_also_without_the_flag() {
    let mut stream = requested(StreamOptions { private: true, ..StreamOptions::default() });
    let refused = State { code: StateCode::NOT_ENTITLED, ..state(StreamState::CLOSED) };
    let answer = refresh(RefreshFlags::SOLICITED | RefreshFlags::REFRESH_COMPLETE, refused);
    assert_eq!(stream.message(1, &answer), as_is());
    assert!(stream.is_over());
}

#[test]
fn an_unsolicited_image_does_not_end_a_snapshot_that_awaits_its_own() {
    let snapshot = StreamOptions { streaming: false, ..StreamOptions::default() };
    let mut stream = requested(snapshot);
    assert_eq!(stream.message(1, &unsolicited()), as_is());
    assert!(!stream.is_over() && stream.awaits_image());
    assert_eq!(stream.message(2, &image()).deliver, shown(StreamState::NON_STREAMING, OK));
    assert!(stream.is_over());
    // One that says that it is the last does.
    let mut stream = requested(snapshot);
    let dead = State { stream: StreamState::NON_STREAMING, ..OK };
    assert_eq!(stream.message(1, &refresh(RefreshFlags::REFRESH_COMPLETE, dead)), as_is());
    assert!(stream.is_over());
}

#[test]
fn a_complete_dictionary_stays_complete_while_another_image_is_on_its_way() {
    let dictionary = StreamOptions { recover_complete: false, ..StreamOptions::default() };
    let reissued = || {
        let mut stream = open(dictionary);
        let _ = stream.reissue(2, true);
        assert!(stream.awaits_image());
        stream
    };
    let mut stream = reissued();
    assert_eq!(stream.channel_down().deliver, Deliver::Status(usual::CHANNEL_DOWN));
    assert!(stream.is_over());
    let mut stream = reissued();
    assert_eq!(stream.message(3, &status(state(StreamState::CLOSED_RECOVER))), as_is());
    assert!(stream.is_over());
}

#[test]
fn a_pause_that_was_taken_back_before_the_image_came_is_not_sent() {
    let mut stream = requested(obeyed());
    assert_eq!(stream.pause(1), nothing());
    assert_eq!(stream.resume(2), nothing());
    assert_eq!(stream.message(3, &image()), as_is());
    assert!(!stream.awaits_image());

    let mut stream = ConsumerStream::new(obeyed());
    let _ = stream.pause(0);
    assert_eq!(stream.request(1).send, Some(ToProvider::Request { pause: true }));
    assert_eq!(stream.resume(2), nothing());
    let resumed = Reissue { pause: false, refresh: true };
    assert_eq!(stream.message(3, &image()).send, Some(ToProvider::Reissue(resumed)));
}
