//! The half of a port that sends: numbering, targets, and the queue.

use tapeline_rssl::Time;

use crate::bus::{Publish, Published};
use crate::frame::{FrameFlags, FrameHeader, Incarnation, Kind, Links};
use crate::presence::Meeting;
use crate::queue::Queue;

/// How a sink took a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It is on its way.
    Taken,
    /// Not now: try again later.
    Busy,
    /// Nobody listens, so it went nowhere.
    Unheard,
    /// The sink is broken: see [`Sink::failure`].
    Failed,
}

/// A way for frames to leave: one ordered stream to every peer.
pub trait Sink {
    /// Sends `head` followed by `parts`, now or not at all.
    fn offer(&mut self, head: &[u8], parts: &[&[u8]]) -> Offer;

    /// The longest frame it takes, in bytes.
    fn max_frame_bytes(&self) -> usize;

    /// Turns its wheels.
    fn work(&mut self, now: Time);

    /// Why it is broken, if it is.
    fn failure(&self) -> Option<&str>;
}

/// The half of a port that sends.
#[derive(Debug)]
pub struct Outbound<S> {
    sink: S,
    me: Incarnation,
    /// Peers that are up, with what a frame for them has to carry.
    meetings: Vec<Meeting>,
    queue: Queue,
    congested_bytes: usize,
    /// Of the next counted frame.
    stream_seq: u32,
    pub(crate) sent: u64,
    pub(crate) queued: u64,
    pub(crate) dropped: u64,
    pub(crate) unheard: u64,
    pub(crate) no_peer: u64,
    pub(crate) too_large: u64,
}

impl<S: Sink> Outbound<S> {
    pub(crate) fn new(sink: S, me: Incarnation, queue_bytes: usize, first_seq: u32) -> Self {
        Self {
            sink,
            me,
            meetings: Vec::new(),
            queue: Queue::new(queue_bytes),
            congested_bytes: queue_bytes / 4,
            stream_seq: first_seq,
            sent: 0,
            queued: 0,
            dropped: 0,
            unheard: 0,
            no_peer: 0,
            too_large: 0,
        }
    }

    pub(crate) fn meet(&mut self, meeting: Meeting) {
        self.part(meeting.peer);
        self.meetings.push(meeting);
    }

    pub(crate) fn part(&mut self, peer: Incarnation) {
        self.meetings.retain(|meeting| meeting.peer != peer);
    }

    pub(crate) fn peers(&self) -> usize {
        self.meetings.len()
    }

    pub(crate) fn queue_bytes(&self) -> usize {
        self.queue.bytes()
    }

    pub(crate) fn failure(&self) -> Option<&str> {
        self.sink.failure()
    }

    /// Sends what waits, as far as the sink takes it.
    pub(crate) fn work(&mut self, now: Time) -> usize {
        self.sink.work(now);
        let before = self.sent;
        while let Some(frame) = self.queue.front() {
            match self.sink.offer(frame, &[]) {
                Offer::Taken => self.sent += 1,
                Offer::Unheard => self.unheard += 1,
                Offer::Failed => self.dropped += 1,
                Offer::Busy => break,
            }
            self.queue.pop();
        }
        usize::try_from(self.sent - before).unwrap_or(usize::MAX)
    }

    /// Presence carries the number of the next counted frame and is not
    /// counted itself, so that one that is lost is no hole.
    pub(crate) fn publish_presence(&mut self, flags: FrameFlags, body: &[u8]) {
        let mut header = FrameHeader::new(Kind::Presence, Incarnation::ALL, 0);
        header.flags = flags;
        header.sender = self.me;
        header.stream_seq = self.stream_seq;
        self.dispatch(&header.encode(), &[body]);
    }

    fn links_to(&self, target: Incarnation) -> Option<Links> {
        if target == Incarnation::ALL {
            return Some(Links::NONE);
        }
        self.meetings.iter().find(|meeting| meeting.peer == target).map(|meeting| meeting.links)
    }

    fn dispatch(&mut self, head: &[u8; FrameHeader::BYTES], parts: &[&[u8]]) -> Published {
        if self.queue.is_empty() {
            match self.sink.offer(head, parts) {
                Offer::Taken => {
                    self.sent += 1;
                    return Published::Sent;
                }
                Offer::Unheard => {
                    self.unheard += 1;
                    return Published::Sent;
                }
                Offer::Busy => {}
                Offer::Failed => {
                    self.dropped += 1;
                    return Published::Dropped;
                }
            }
        }
        if self.queue.push(head, parts) {
            self.queued += 1;
            Published::Sent
        } else {
            self.dropped += 1;
            Published::Dropped
        }
    }
}

impl<S: Sink> Publish for Outbound<S> {
    fn publish(&mut self, mut header: FrameHeader, parts: &[&[u8]]) -> Published {
        let Some(links) = self.links_to(header.target) else {
            self.no_peer += 1;
            return Published::NoPeer;
        };
        let body_bytes: usize = parts.iter().map(|part| part.len()).sum();
        if FrameHeader::BYTES + body_bytes > self.sink.max_frame_bytes() {
            self.too_large += 1;
            return Published::TooLarge;
        }
        header.sender = self.me;
        header.stream_seq = self.stream_seq;
        self.stream_seq = self.stream_seq.wrapping_add(1);
        self.dispatch(&header.encode_linked(links), parts)
    }

    fn is_congested(&self) -> bool {
        self.queue.bytes() >= self.congested_bytes
    }
}
