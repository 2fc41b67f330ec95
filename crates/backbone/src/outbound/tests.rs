//! When frames leave that are gathered.

use std::cell::RefCell;
use std::rc::Rc;

use super::*;
use crate::frame::Role;

/// What reached the network: the lengths of frames.
#[derive(Debug, Default)]
struct Said {
    frames: Vec<usize>,
    is_busy: bool,
}

#[derive(Debug)]
struct Mouth(Rc<RefCell<Said>>);

impl FrameSink for Mouth {
    fn offer(&mut self, head: &[u8], parts: &[&[u8]]) -> Offer {
        let mut said = self.0.borrow_mut();
        if said.is_busy {
            return Offer::Busy;
        }
        said.frames.push(head.len() + parts.iter().map(|part| part.len()).sum::<usize>());
        Offer::Taken
    }

    fn max_frame_bytes(&self) -> usize {
        1 << 20
    }

    fn work(&mut self, _: Time) {}

    fn is_ready(&self) -> bool {
        true
    }

    fn failure(&self) -> Option<&str> {
        None
    }
}

const QUEUE_BYTES: usize = 4 << 20;

fn outbound(flush_ms: u64) -> (Outbound<Mouth>, Rc<RefCell<Said>>) {
    let said = Rc::<RefCell<Said>>::default();
    let settings = PortSettings {
        queue_bytes: QUEUE_BYTES,
        flush_interval: Duration::from_millis(flush_ms),
        ..PortSettings::new(Role::Hub, "hub")
    };
    (Outbound::new(Mouth(Rc::clone(&said)), &settings), said)
}

fn at(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn say(outbound: &mut Outbound<Mouth>, bytes: usize) -> Published {
    let header = FrameHeader::new(Kind::Item, Incarnation::ALL, 0);
    outbound.publish(header, &[&vec![0; bytes]])
}

#[test]
fn without_an_interval_a_frame_leaves_at_once() {
    let (mut outbound, said) = outbound(0);
    say(&mut outbound, 1);
    assert_eq!(said.borrow().frames.len(), 1);
    // What waited once does not make later ones wait.
    said.borrow_mut().is_busy = true;
    say(&mut outbound, 1);
    said.borrow_mut().is_busy = false;
    say(&mut outbound, 1);
    assert_eq!(said.borrow().frames.len(), 1, "the order stays");
    assert_eq!(outbound.work(at(0)), 2);
    say(&mut outbound, 1);
    assert_eq!(said.borrow().frames.len(), 4);
    assert_eq!(outbound.queued, 2);
}

#[test]
fn gathered_frames_leave_together_when_the_first_has_waited() {
    let (mut outbound, said) = outbound(20);
    say(&mut outbound, 1);
    assert_eq!(outbound.work(at(100)), 0);
    say(&mut outbound, 2);
    assert_eq!(outbound.work(at(119)), 0);
    assert!(said.borrow().frames.is_empty());
    assert_eq!(outbound.work(at(120)), 2);
    // The next ones wait as long.
    say(&mut outbound, 3);
    assert_eq!(outbound.work(at(121)), 0);
    assert_eq!(outbound.work(at(141)), 1);
    let bodies: Vec<_> =
        said.borrow().frames.iter().map(|bytes| bytes - FrameHeader::BYTES).collect();
    assert_eq!(bodies, [1, 2, 3]);
    assert_eq!(outbound.queued, 0, "the network took all that it was given");
}

#[test]
fn gathered_frames_leave_sooner_when_they_are_many() {
    let (mut outbound, said) = outbound(20);
    let mut count = 0;
    while said.borrow().frames.is_empty() {
        say(&mut outbound, 1_000);
        count += 1;
        assert!(outbound.queue_bytes() <= GATHERED_BYTES, "it grows");
        assert_eq!(outbound.queue_percent() / 30, 0, "no pressure for sources");
    }
    assert_eq!(said.borrow().frames.len(), count);
    assert_eq!(count, GATHERED_BYTES.div_ceil(1_000 + FrameHeader::BYTES + 4));
}

#[test]
fn presence_and_long_frames_take_along_what_is_gathered() {
    let (mut outbound, said) = outbound(20);
    say(&mut outbound, 1);
    let membership = Membership::default();
    outbound.publish_presence(FrameFlags::empty(), &mut Vec::new(), &membership);
    assert_eq!(said.borrow().frames.len(), 2);
    say(&mut outbound, 1);
    say(&mut outbound, QUEUE_BYTES / 2);
    assert!(said.borrow().frames.len() > 4);
    assert_eq!(outbound.queue_bytes(), 0);
}
