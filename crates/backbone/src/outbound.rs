//! The half of a port that sends: numbering, targets, and the queue.

use std::time::Duration;

use tapeline_time::Time;

use crate::bus::{Publish, Published};
use crate::frame::{FrameFlags, FrameHeader, Incarnation, Kind, Links};
use crate::pieces::{MAX_BODY_BYTES, WHOLE_BYTES, cut, slices};
use crate::port::PortSettings;
use crate::presence::{Meeting, Membership};
use crate::queue::Queue;

/// While less than this waits of long frames, in bytes, another one is taken:
/// there is room for two of the longest.
const ENOUGH_LONG_BYTES: usize = MAX_BODY_BYTES / 2 * 3;

/// What one call of [`Outbound::work`] takes out of the queue, in bytes, so
/// that long frames leave room for all else there is to do in a turn.
const WORK_BYTES: usize = 4 << 20;

/// Frames that are gathered leave at once when they are so many, in bytes: some tens
/// of datagrams.
const GATHERED_BYTES: usize = 64 << 10;

/// Frames wait for others, so that datagrams carry more.
#[derive(Debug)]
struct Gather {
    interval: Duration,
    max_bytes: usize,
    /// When the first of those that wait was seen.
    since: Option<Time>,
}

impl Gather {
    fn new(interval: Duration, queue_bytes: usize) -> Option<Self> {
        // Far below what counts as congestion.
        let max_bytes = GATHERED_BYTES.min(queue_bytes / 16);
        (!interval.is_zero()).then_some(Self { interval, max_bytes, since: None })
    }

    fn is_due(&mut self, now: Time, waiting_bytes: usize) -> bool {
        let since = *self.since.get_or_insert(now);
        waiting_bytes >= self.max_bytes || now >= since.after(self.interval)
    }
}

/// How a sink took a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// It is on its way.
    Taken,
    /// Not now: try again later.
    Busy,
    /// Nobody listens, so it went nowhere.
    Unheard,
    /// The sink is broken: see [`FrameSink::failure`].
    Failed,
}

/// A way for frames to leave: one ordered stream to every peer.
pub trait FrameSink {
    /// Sends `head` followed by `parts`, now or not at all.
    fn offer(&mut self, head: &[u8], parts: &[&[u8]]) -> Offer;

    /// The longest frame it takes, in bytes.
    fn max_frame_bytes(&self) -> usize;

    /// Turns its wheels.
    fn work(&mut self, now: Time);

    /// Whether frames can leave. One that is not ready comes back by itself.
    fn is_ready(&self) -> bool;

    /// Why it is not ready, if something failed.
    fn failure(&self) -> Option<&str>;

    /// Frames that one of several ways did not carry although others did.
    fn passed_by(&self) -> u64 {
        0
    }
}

/// The half of a port that sends.
#[derive(Debug)]
pub struct Outbound<S> {
    sink: S,
    me: Incarnation,
    /// Peers that are up, with what a frame for them has to carry.
    meetings: Vec<Meeting>,
    queue: Queue,
    /// Nothing waits, and nothing is to: a frame is given to the network at once.
    is_direct: bool,
    gather: Option<Gather>,
    congested_bytes: usize,
    /// The longest frame that goes whole where the network carries as much.
    whole_bytes: usize,
    /// Of the next counted frame.
    stream_seq: u32,
    pub(crate) sent: u64,
    pub(crate) queued: u64,
    pub(crate) dropped: u64,
    pub(crate) unheard: u64,
    pub(crate) no_peer: u64,
    pub(crate) too_large: u64,
    /// Frames that were cut into pieces.
    pub(crate) cut: u64,
}

impl<S: FrameSink> Outbound<S> {
    pub(crate) fn new(sink: S, settings: &PortSettings) -> Self {
        let &PortSettings { incarnation: me, queue_bytes, first_stream_seq, .. } = settings;
        let gather = Gather::new(settings.flush_interval, queue_bytes);
        Self {
            sink,
            me,
            meetings: Vec::new(),
            queue: Queue::new(queue_bytes),
            is_direct: gather.is_none(),
            gather,
            congested_bytes: queue_bytes / 4,
            whole_bytes: WHOLE_BYTES.min(queue_bytes / 4),
            stream_seq: first_stream_seq,
            sent: 0,
            queued: 0,
            dropped: 0,
            unheard: 0,
            no_peer: 0,
            too_large: 0,
            cut: 0,
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

    pub(crate) fn is_ready(&self) -> bool {
        self.sink.is_ready()
    }

    pub(crate) const fn long_queue_bytes(&self) -> usize {
        self.queue.long_bytes()
    }

    pub(crate) fn failure(&self) -> Option<&str> {
        self.sink.failure()
    }

    pub(crate) fn passed_by(&self) -> u64 {
        self.sink.passed_by()
    }

    /// Begins anew as `me`, without peers. What waits is for those of before.
    pub(crate) fn renew(&mut self, me: Incarnation) {
        self.me = me;
        self.meetings.clear();
        while self.queue.front().is_some() {
            self.queue.pop();
            self.dropped += 1;
        }
        self.look();
    }

    /// Sends what waits and is due, as far as the sink takes it.
    pub(crate) fn work(&mut self, now: Time) -> usize {
        self.sink.work(now);
        if self.queue.is_empty() {
            return 0;
        }
        let waiting_bytes = self.queue.bytes();
        let is_due = self.gather.as_mut().is_none_or(|gather| gather.is_due(now, waiting_bytes));
        if is_due { self.release() } else { 0 }
    }

    /// Whether the next frame may go at once.
    fn look(&mut self) {
        let is_empty = self.queue.is_empty();
        self.is_direct = is_empty && self.gather.is_none();
        if let Some(gather) = &mut self.gather
            && is_empty
        {
            gather.since = None;
        }
    }

    /// Sends what waits, as far as the sink takes it.
    fn release(&mut self) -> usize {
        let before = self.sent;
        let mut left = WORK_BYTES;
        while left > 0
            && let Some(frame) = self.queue.front()
        {
            left = left.saturating_sub(frame.len());
            match self.sink.offer(frame, &[]) {
                Offer::Taken => self.sent += 1,
                Offer::Unheard => self.unheard += 1,
                Offer::Failed => self.dropped += 1,
                Offer::Busy => break,
            }
            self.queue.pop();
        }
        self.look();
        usize::try_from(self.sent - before).unwrap_or(usize::MAX)
    }

    /// Presence carries the number of the next counted frame and is not
    /// counted itself, so that one that is lost is no hole.
    pub(crate) fn publish_presence(
        &mut self,
        flags: FrameFlags,
        body: &mut Vec<u8>,
        membership: &Membership,
    ) {
        let mut header = FrameHeader::new(Kind::Presence, Incarnation::ALL, 0);
        header.flags = flags;
        header.sender = self.me;
        header.stream_seq = self.stream_seq;
        membership.sign(&header, body);
        self.dispatch(&header.encode(), &[body]);
        if self.gather.is_some() {
            // Peers tell the way by it, and who is gone by its absence.
            self.release();
        }
    }

    fn links_to(&self, target: Incarnation) -> Option<Links> {
        if target == Incarnation::ALL {
            return Some(Links::NONE);
        }
        self.meetings.iter().find(|meeting| meeting.peer == target).map(|meeting| meeting.links)
    }

    #[inline]
    fn dispatch(&mut self, head: &[u8; FrameHeader::BYTES], parts: &[&[u8]]) -> Published {
        if self.is_direct
            && let Some(published) = self.offer(head, parts)
        {
            return published;
        }
        self.queue(head, parts)
    }

    /// Has a frame wait, as the network takes nothing now, or frames are gathered.
    #[inline(never)]
    fn queue(&mut self, head: &[u8; FrameHeader::BYTES], parts: &[&[u8]]) -> Published {
        if !self.queue.push(head, parts) {
            self.dropped += 1;
            return Published::Dropped;
        }
        self.is_direct = false;
        match &self.gather {
            None => self.queued += 1,
            Some(gather) if self.queue.bytes() >= gather.max_bytes => {
                self.release();
            }
            Some(_) => {}
        }
        Published::Sent
    }

    /// Gives a frame to the network; `None` if it takes nothing now.
    #[inline]
    fn offer(&mut self, head: &[u8; FrameHeader::BYTES], parts: &[&[u8]]) -> Option<Published> {
        match self.sink.offer(head, parts) {
            Offer::Taken => {
                self.sent += 1;
                Some(Published::Sent)
            }
            Offer::Unheard => {
                self.unheard += 1;
                Some(Published::Sent)
            }
            Offer::Busy => None,
            Offer::Failed => {
                self.dropped += 1;
                Some(Published::Dropped)
            }
        }
    }

    /// Sends a frame in pieces. All of them have a place, or none has.
    #[cold]
    fn publish_long(
        &mut self,
        mut header: FrameHeader,
        links: Links,
        parts: &[&[u8]],
        body_bytes: usize,
    ) -> Published {
        if body_bytes > MAX_BODY_BYTES {
            self.too_large += 1;
            return Published::TooLarge;
        }
        header.sender = self.me;
        if self.queue.long_bytes() > ENOUGH_LONG_BYTES {
            // Its place is used up, which tells everybody that it is missing.
            self.stream_seq = self.stream_seq.wrapping_add(1);
            self.dropped += 1;
            return Published::Dropped;
        }
        self.cut += 1;
        if self.gather.is_some() {
            // It fills datagrams by itself.
            self.release();
        }
        let flags = header.flags;
        for piece in cut(body_bytes, self.whole_bytes()) {
            header.flags = flags | piece.flags;
            header.stream_seq = self.stream_seq;
            self.stream_seq = self.stream_seq.wrapping_add(1);
            let mut gathered = Vec::from_iter(piece.length.as_ref().map(|length| &length[..]));
            slices(parts, &piece.range, &mut gathered);
            let head = header.encode_linked(links);
            if self.queue.is_empty() {
                match self.offer(&head, &gathered) {
                    Some(Published::Sent) => continue,
                    Some(failed) => return failed,
                    None => self.queue.reserve(body_bytes - piece.range.start),
                }
            }
            self.queued += 1;
            self.is_direct = false;
            self.queue.push_piece(&head, &gathered);
        }
        Published::Sent
    }

    /// Longer frames are cut.
    #[inline]
    fn whole_bytes(&self) -> usize {
        self.sink.max_frame_bytes().min(self.whole_bytes)
    }
}

impl<S: FrameSink> Publish for Outbound<S> {
    fn publish(&mut self, mut header: FrameHeader, parts: &[&[u8]]) -> Published {
        let Some(links) = self.links_to(header.target) else {
            self.no_peer += 1;
            return Published::NoPeer;
        };
        let body_bytes: usize = parts.iter().map(|part| part.len()).sum();
        if FrameHeader::BYTES + body_bytes > self.whole_bytes() {
            return self.publish_long(header, links, parts, body_bytes);
        }
        header.sender = self.me;
        header.stream_seq = self.stream_seq;
        self.stream_seq = self.stream_seq.wrapping_add(1);
        self.dispatch(&header.encode_linked(links), parts)
    }

    fn is_congested(&self) -> bool {
        let long_bytes = self.queue.long_bytes();
        long_bytes > 0 || self.queue.bytes() >= self.congested_bytes
    }

    fn queue_percent(&self) -> u8 {
        self.queue.percent()
    }
}

#[cfg(test)]
mod tests;
