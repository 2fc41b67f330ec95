//! A consumer that has more to say than its server reads at once.

use crate::sim::Sim;
use tapeline_api::{ConsumerInput, Handle, ItemChange, ItemSpec};
use tapeline_omm::login::LoginRefresh;
use tapeline_omm::market::status;
use tapeline_omm::view::View;
use tapeline_rwf::{DataState, Domain, State, StateCode, StreamState};

/// A server that takes batches, views and pauses.
fn able(refresh: &mut LoginRefresh) {
    refresh.features.support_batch_requests = Some(1);
    refresh.features.support_view_requests = Some(true);
    refresh.features.support_optimized_pause_resume = Some(true);
}

fn requests(first: usize, names: &[&str]) -> Vec<String> {
    names.iter().zip(first..).map(|(name, stream)| format!("REQUEST {stream} {name}")).collect()
}

fn is_due(sim: &mut Sim) -> bool {
    sim.core.next_deadline().is_some_and(|deadline| deadline <= sim.now)
}

#[test]
fn requests_wait_until_a_slow_connection_has_drained() {
    let mut sim = Sim::new();
    for name in ["A", "B", "C", "D", "E"] {
        sim.open(name);
    }
    sim.wire.slow_at = Some(2);
    sim.ready();
    assert!(!is_due(&mut sim), "nothing can be done before it has drained");
    assert_eq!(sim.drain(), requests(5, &["A", "B"]));
    sim.open("F");
    assert_eq!(sim.drain(), requests(7, &["C", "D"]));
    assert_eq!(sim.drain(), requests(9, &["E", "F"]));
    assert!(sim.drain().is_empty());
    assert!(sim.wire.disconnected.is_empty(), "{:?}", sim.wire.disconnected);
}

#[test]
fn a_request_that_was_not_sent_is_sent_when_there_is_room() {
    let mut sim = Sim::new();
    sim.wire.full_at = Some(3);
    let items = ["A", "B", "C", "D", "E"].map(|name| sim.open(name));
    sim.ready();
    assert_eq!(sim.drain(), requests(5, &["A", "B", "C"]));
    assert_eq!(sim.drain(), requests(8, &["D", "E"]));
    (5..10).for_each(|stream| sim.image(stream));
    assert!(sim.wire.disconnected.is_empty(), "{:?}", sim.wire.disconnected);
    let told = sim.told();
    for item in items.map(Handle::index) {
        let image = format!("{item}: refresh Open / Ok / None / ''");
        assert_eq!(told.iter().filter(|told| told.starts_with(&format!("{item}:"))).count(), 1);
        assert!(told.contains(&image), "{told:?}");
    }
}

#[test]
fn a_request_that_is_too_long_is_refused_and_nothing_else_is() {
    let mut sim = Sim::new();
    sim.wire.longest_message = Some(200);
    let long = "L".repeat(250);
    let [a, too_long, b] = ["A", &long, "B"].map(|name| sim.open(name));
    sim.ready();
    assert_eq!(sim.drain().len(), 2);
    assert!(sim.wire.disconnected.is_empty(), "{:?}", sim.wire.disconnected);
    let told = sim.told();
    let of_it = |handle: Handle| {
        let start = format!("{}:", handle.index());
        told.iter().filter(|told| told.starts_with(&start)).cloned().collect::<Vec<_>>()
    };
    assert_eq!(
        of_it(too_long),
        [format!(
            "{}: Closed / Suspect / UsageError / 'The request is longer than the \
             connection takes'",
            too_long.index()
        )]
    );
    assert!(of_it(a).is_empty() && of_it(b).is_empty(), "{told:?}");
    // Its handle is free, and so is its place in the open window.
    assert!(sim.drain().is_empty());
    sim.open("C");
    assert_eq!(sim.drain().len(), 1);
}

#[test]
fn a_batch_that_was_not_sent_is_sent_when_there_is_room() {
    let mut sim = Sim::new();
    sim.ready_with(able);
    sim.open("A");
    sim.wire.full_at = Some(1);
    let spec = ItemSpec::new("FEED", "");
    sim.ask(|requests| requests.open_batch(&spec, &["B", "C"])).expect("room");
    assert_eq!(sim.drain(), ["REQUEST 5 A"]);
    assert_eq!(sim.drain(), ["REQUEST 6 batch"]);
    assert!(sim.wire.disconnected.is_empty());
}

#[test]
fn closes_and_changes_wait_too_and_the_last_change_counts() {
    let mut sim = Sim::new();
    sim.ready_with(able);
    let [a, b, c] = ["A", "B", "C"].map(|name| sim.open(name));
    (5..8).for_each(|stream| sim.image(stream));
    sim.sent();
    sim.wire.slow_at = Some(1);
    sim.open("D");
    let view = Some(Some(View::of_fields([22])));
    sim.ask(|requests| {
        requests.pause(b)?;
        requests.change(c, ItemChange { view, ..ItemChange::default() })?;
        requests.resume(b)?;
        requests.close(a);
        requests.pause(b)
    })
    .expect("open");
    assert_eq!(sim.drain(), ["REQUEST 8 D"]);
    assert_eq!(sim.drain(), ["CLOSE 5"]);
    assert_eq!(sim.drain(), ["REQUEST 6 B"]);
    assert_eq!(sim.drain(), ["REQUEST 7 C view"]);
    // The pause waits for the image of the resume, as ever.
    sim.image(6);
    assert_eq!(sim.drain(), ["REQUEST 6 B pause no-refresh"]);
    assert!(sim.wire.disconnected.is_empty());
}

#[test]
fn what_waits_is_void_when_the_connection_is_lost() {
    let mut sim = Sim::new();
    sim.ready();
    let [a, b] = ["A", "B"].map(|name| sim.open(name));
    (5..7).for_each(|stream| sim.image(stream));
    sim.sent();
    sim.wire.slow_at = Some(1);
    sim.open("C");
    sim.ask(|requests| {
        requests.close(a);
        requests.change(b, ItemChange { refresh: true, ..ItemChange::default() })
    })
    .expect("open");
    sim.input(ConsumerInput::Closed { reason: "gone" });
    sim.sent();
    sim.wire.slow_at = None;
    sim.ready();
    assert_eq!(sim.drain(), requests(5, &["B", "C"]));
    assert!(sim.drain().is_empty());
}

#[test]
fn lost_items_that_are_alike_are_requested_again_as_a_batch() {
    let mut sim = Sim::new();
    sim.ready_with(able);
    let urgent = ItemSpec::new("FEED", "D").priority(5, 5);
    for name in ["A", "B", "C"] {
        sim.open(name);
    }
    sim.ask(|requests| requests.open(&urgent)).expect("room");
    for name in ["E", "F"] {
        sim.open(name);
    }
    sim.input(ConsumerInput::Closed { reason: "gone" });
    let new = sim.open("G");
    sim.sent();
    sim.ready_with(able);
    assert_eq!(sim.sent(), ["REQUEST 5 batch", "REQUEST 9 D", "REQUEST 10 batch", "REQUEST 13 G"]);
    // Who is refused as a batch is asked for alone.
    let refused = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::USAGE_ERROR, "no");
    sim.msg(status(Domain::MARKET_PRICE, 10, refused));
    assert_eq!(sim.sent(), requests(14, &["E", "F"]));
    for stream in [6, 7, 8, 9, 14, 15, 13] {
        sim.image(stream);
    }
    let last = format!("{}: refresh Open / Ok / None / ''", new.index());
    assert_eq!(sim.told().last(), Some(&last));
}

#[test]
fn a_batch_of_lost_items_obeys_the_open_window() {
    let mut sim = Sim::new();
    sim.window = Some(2);
    sim.ready_with(able);
    for (name, stream) in ["A", "B", "C", "D", "E"].into_iter().zip(5..) {
        sim.open(name);
        sim.image(stream);
    }
    sim.input(ConsumerInput::Closed { reason: "gone" });
    sim.sent();
    sim.ready_with(able);
    assert_eq!(sim.sent(), ["REQUEST 5 batch"]);
    sim.image(6);
    assert_eq!(sim.sent(), ["REQUEST 8 C"]);
    sim.image(7);
    sim.image(8);
    assert_eq!(sim.sent(), ["REQUEST 9 D", "REQUEST 10 E"]);
}

#[test]
fn a_batch_that_is_too_large_is_requested_one_by_one() {
    let mut sim = Sim::new();
    sim.ready_with(able);
    for name in ["A", "B"] {
        sim.open(name);
    }
    sim.input(ConsumerInput::Closed { reason: "gone" });
    sim.sent();
    sim.wire.longest = Some(30);
    sim.ready_with(able);
    assert_eq!(sim.sent(), requests(5, &["A", "B"]));
    let spec = ItemSpec::new("FEED", "");
    sim.ask(|requests| requests.open_batch(&spec, &["C", "D", "E", "F"])).expect("room");
    assert_eq!(sim.sent(), requests(7, &["C", "D", "E", "F"]));
    assert!(sim.wire.disconnected.is_empty());
}
