use std::cell::RefCell;
use std::rc::Rc;

use proptest::prelude::*;

use super::*;
use crate::frame::FrameHeader;

/// A network that takes what it is told to take.
#[derive(Debug)]
struct Network {
    /// What it says to the next frames; `says` to all after these.
    next: Vec<Offer>,
    says: Offer,
    carried: Vec<u32>,
}

#[derive(Debug)]
struct End(Rc<RefCell<Network>>);

impl FrameSink for End {
    fn offer(&mut self, head: &[u8], _: &[&[u8]]) -> Offer {
        let mut network = self.0.borrow_mut();
        let offer = network.next.pop().unwrap_or(network.says);
        if offer == Offer::Taken {
            let number = head.first_chunk().expect("a whole head");
            network.carried.push(u32::from_le_bytes(*number));
        }
        offer
    }

    fn max_frame_bytes(&self) -> usize {
        1_000
    }

    fn work(&mut self, _: Time) {}

    fn is_ready(&self) -> bool {
        true
    }

    fn failure(&self) -> Option<&str> {
        None
    }
}

/// Two networks, and who sends over both.
struct Bench {
    sink: PathSink<End>,
    networks: [Rc<RefCell<Network>>; 2],
    now_ns: u64,
}

impl Bench {
    fn new() -> Self {
        let network = || Network { next: Vec::new(), says: Offer::Taken, carried: Vec::new() };
        let networks = [(); 2].map(|()| Rc::new(RefCell::new(network())));
        let sink = PathSink::new(networks.iter().map(|network| End(Rc::clone(network))));
        let mut bench = Self { sink, networks, now_ns: 0 };
        bench.step();
        bench
    }

    fn says(&self, network: usize, offer: Offer) {
        self.networks[network].borrow_mut().says = offer;
    }

    fn send(&mut self, number: u32) -> Offer {
        self.send_long(number, 0)
    }

    fn send_long(&mut self, number: u32, bytes: usize) -> Offer {
        let mut head = [0; FrameHeader::BYTES];
        head[..4].copy_from_slice(&number.to_le_bytes());
        self.sink.offer(&head, &[&vec![0; bytes]])
    }

    /// Two milliseconds later.
    fn step(&mut self) {
        self.now_ns += 2_000_000;
        self.sink.work(Time::from_nanos(self.now_ns));
    }

    fn carried(&self, network: usize) -> Vec<u32> {
        self.networks[network].borrow().carried.clone()
    }
}

#[test]
fn a_network_that_stops_for_a_moment_holds_up_nothing_and_carries_all_in_the_end() {
    let mut bench = Bench::new();
    bench.says(1, Offer::Busy);
    for number in 1..=5 {
        assert_eq!(bench.send(number), Offer::Taken);
        bench.step();
    }
    assert_eq!((bench.carried(0), bench.carried(1)), (vec![1, 2, 3, 4, 5], vec![]));
    bench.says(1, Offer::Taken);
    // What waits goes before what is new.
    assert_eq!(bench.send(6), Offer::Taken);
    bench.step();
    assert_eq!(bench.carried(0), bench.carried(1));
    assert_eq!(bench.sink.passed_by(), 0);
}

#[test]
fn what_no_network_takes_is_sent_once_when_one_does() {
    let mut bench = Bench::new();
    (0..2).for_each(|network| bench.says(network, Offer::Busy));
    assert_eq!(bench.send(1), Offer::Busy);
    assert_eq!(bench.send(1), Offer::Busy);
    bench.says(0, Offer::Taken);
    assert_eq!(bench.send(1), Offer::Taken);
    bench.says(1, Offer::Taken);
    bench.step();
    assert_eq!((bench.carried(0), bench.carried(1)), (vec![1], vec![1]));
}

#[test]
fn a_network_that_does_not_go_on_is_left_behind_until_it_takes_something() {
    let mut bench = Bench::new();
    bench.says(0, Offer::Busy);
    for number in 1..=10 {
        assert_eq!(bench.send(number), Offer::Taken);
        assert_eq!(bench.sink.passed_by(), 0, "{number} frames, 2 ms each");
        bench.step();
    }
    assert_eq!(bench.sink.passed_by(), 10, "20 ms");
    assert_eq!(bench.send(11), Offer::Taken);
    assert_eq!(bench.sink.passed_by(), 11);
    bench.says(0, Offer::Taken);
    assert_eq!(bench.send(12), Offer::Taken);
    assert_eq!(bench.carried(0), [12]);
    // What it does not take from now on waits for it again.
    bench.says(0, Offer::Busy);
    assert_eq!(bench.send(13), Offer::Taken);
    bench.says(0, Offer::Taken);
    bench.step();
    assert_eq!(bench.carried(0), [12, 13]);
    assert_eq!(bench.carried(1), (1..=13).collect::<Vec<_>>());
    assert_eq!(bench.sink.passed_by(), 11);
}

#[test]
fn when_all_networks_stand_still_none_is_left_behind() {
    let mut bench = Bench::new();
    bench.says(0, Offer::Busy);
    assert_eq!(bench.send(1), Offer::Taken);
    bench.step();
    bench.says(1, Offer::Busy);
    for _ in 0..1_000 {
        assert_eq!(bench.send(2), Offer::Busy);
        bench.step();
    }
    bench.says(0, Offer::Taken);
    bench.step();
    assert_eq!((bench.carried(0), bench.sink.passed_by()), (vec![1], 0));
}

#[test]
fn a_network_that_goes_on_slowly_sets_the_pace_once_much_waits_for_it() {
    let mut bench = Bench::new();
    bench.says(1, Offer::Busy);
    let mut number = 0;
    while bench.send_long(number, 100_000) == Offer::Taken {
        number += 1;
    }
    assert_eq!(number as usize, BACKLOG_BYTES / 100_000);
    for _ in 0..100 {
        bench.networks[1].borrow_mut().next = vec![Offer::Busy, Offer::Taken];
        bench.step();
        assert_eq!(bench.send_long(number, 100_000), Offer::Taken);
        assert_eq!(bench.send_long(number + 1, 100_000), Offer::Busy);
        number += 1;
    }
    bench.says(1, Offer::Taken);
    while bench.carried(1).len() < bench.carried(0).len() {
        bench.step();
    }
    assert_eq!((bench.carried(0), bench.sink.passed_by()), (bench.carried(1), 0));
}

#[test]
fn what_waits_leaves_in_slices() {
    let mut bench = Bench::new();
    bench.says(1, Offer::Busy);
    (0..30).for_each(|number| assert_eq!(bench.send_long(number, 100_000), Offer::Taken));
    bench.says(1, Offer::Taken);
    bench.step();
    assert_eq!(bench.carried(1), [0, 1, 2]);
    // What is new goes behind the rest.
    assert_eq!(bench.send(30), Offer::Taken);
    assert_eq!(bench.carried(1), [0, 1, 2, 3, 4, 5]);
    while bench.carried(1).len() < 31 {
        bench.step();
    }
    assert_eq!(bench.carried(1), bench.carried(0));
}

#[test]
fn a_network_that_nobody_hears_or_that_fails_holds_up_nothing() {
    let mut bench = Bench::new();
    bench.networks[0].borrow_mut().next = vec![Offer::Failed, Offer::Unheard];
    assert_eq!(bench.send(1), Offer::Taken);
    assert_eq!(bench.send(2), Offer::Taken);
    bench.networks[0].borrow_mut().next = vec![Offer::Unheard];
    bench.networks[1].borrow_mut().next = vec![Offer::Failed];
    assert_eq!(bench.send(3), Offer::Unheard);
    assert_eq!(bench.carried(1), [1, 2]);
    // What waits for one that is not there any more is no loss.
    bench.says(0, Offer::Busy);
    assert_eq!(bench.send(4), Offer::Taken);
    bench.says(0, Offer::Unheard);
    bench.step();
    assert_eq!(bench.send(5), Offer::Taken);
    assert_eq!((bench.carried(1), bench.sink.passed_by()), (vec![1, 2, 4, 5], 0));
}

fn offers() -> impl Strategy<Value = Vec<(Offer, Offer)>> {
    let one = || prop_oneof![3 => Just(Offer::Taken), 2 => Just(Offer::Busy)];
    prop::collection::vec((one(), one()), 1..400)
}

proptest! {
    /// However networks take frames and do not: whatever is sent is carried by one at
    /// least, each carries what it does in order and once, and what it did not is counted.
    #[test]
    fn nothing_is_lost_doubled_or_turned_round(offers in offers()) {
        let mut bench = Bench::new();
        let mut number = 0;
        for (one, other) in offers {
            bench.says(0, one);
            bench.says(1, other);
            match bench.send(number) {
                Offer::Taken => number += 1,
                offer => prop_assert_eq!(offer, Offer::Busy),
            }
            bench.step();
        }
        (0..2).for_each(|network| bench.says(network, Offer::Taken));
        bench.step();
        let carried = [bench.carried(0), bench.carried(1)];
        let mut all: Vec<u32> = carried.concat();
        all.sort_unstable();
        all.dedup();
        prop_assert_eq!(all, (0..number).collect::<Vec<_>>());
        for one in &carried {
            prop_assert!(one.windows(2).all(|pair| pair[0] < pair[1]));
        }
        let missing = 2 * u64::from(number) - carried.concat().len() as u64;
        prop_assert_eq!(missing, bench.sink.passed_by());
    }
}
