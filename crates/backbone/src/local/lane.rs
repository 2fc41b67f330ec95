//! The two directions of a port.

use std::sync::Arc;
use std::time::Duration;

use tapeline_time::Time;

use super::Membership;
use super::handover::Handover;
use super::ring::{Reader, Writer, max_frame_bytes};
use crate::outbound::{FrameSink, Offer};
use crate::port::FrameSource;

/// A reader whose ring is full for so long while that of another one is not is
/// left behind, so that it does not hold up the other.
const PATIENCE: Duration = Duration::from_millis(20);

/// Of the time between two looks, no more than this counts: if it was longer,
/// then the sender stood still, and maybe all of the process.
const LONGEST_STEP: Duration = Duration::from_millis(2);

/// Sends to every port of the other role.
#[derive(Debug)]
pub struct LocalSink {
    lanes: Vec<Lane>,
    arriving: Arc<Handover<Writer>>,
    arrived: Vec<Writer>,
    max_frame_bytes: usize,
    last_work: Option<Time>,
}

/// One reader.
#[derive(Debug)]
struct Lane {
    writer: Writer,
    /// A frame did not go in.
    is_full: bool,
    full_for: Duration,
    /// Frames pass it by until half of its ring is free.
    is_left_behind: bool,
}

impl LocalSink {
    pub(super) fn new(ring_bytes: usize, arriving: Arc<Handover<Writer>>) -> Self {
        Self {
            lanes: Vec::new(),
            arriving,
            arrived: Vec::new(),
            max_frame_bytes: max_frame_bytes(ring_bytes),
            last_work: None,
        }
    }

    /// Leaves behind who holds up others for too long, and comes back to those
    /// who caught up.
    fn watch(&mut self, step: Duration) {
        let can_go_on = self.lanes.iter().any(|lane| !lane.is_full && !lane.is_left_behind);
        for lane in &mut self.lanes {
            if lane.is_left_behind {
                lane.is_left_behind = !lane.writer.is_half_empty();
            } else if !lane.is_full {
                lane.full_for = Duration::ZERO;
            } else {
                lane.full_for += step;
                lane.is_left_behind = can_go_on && lane.full_for >= PATIENCE;
            }
            // Until the next frame does not go in.
            lane.is_full = false;
        }
    }
}

impl FrameSink for LocalSink {
    #[inline]
    fn offer(&mut self, head: &[u8], parts: &[&[u8]]) -> Offer {
        let frame_bytes = head.len() + parts.iter().map(|part| part.len()).sum::<usize>();
        let mut readers = 0;
        let mut is_busy = false;
        for lane in self.lanes.iter_mut().filter(|lane| !lane.is_left_behind) {
            readers += 1;
            lane.is_full = !lane.writer.has_room_for(frame_bytes);
            is_busy |= lane.is_full;
        }
        if is_busy {
            return Offer::Busy;
        }
        if readers == 0 {
            return Offer::Unheard;
        }
        for lane in self.lanes.iter_mut().filter(|lane| !lane.is_left_behind) {
            let is_written = lane.writer.write(frame_bytes, head, parts);
            debug_assert!(is_written, "there is room, and nobody else writes");
        }
        Offer::Taken
    }

    fn max_frame_bytes(&self) -> usize {
        self.max_frame_bytes
    }

    fn work(&mut self, now: Time) {
        let step = now.since(self.last_work.replace(now).unwrap_or(now)).min(LONGEST_STEP);
        self.arriving.take_into(&mut self.arrived);
        let lane = |writer| Lane {
            writer,
            is_full: false,
            full_for: Duration::ZERO,
            is_left_behind: false,
        };
        self.lanes.extend(self.arrived.drain(..).map(lane));
        self.lanes.retain(|lane| !lane.writer.is_abandoned());
        self.watch(step);
    }

    fn is_ready(&self) -> bool {
        true
    }

    fn failure(&self) -> Option<&str> {
        None
    }
}

/// Receives from every port of the other role.
#[derive(Debug)]
pub struct LocalSource {
    readers: Vec<Reader>,
    arriving: Arc<Handover<Reader>>,
    /// Who is read first: another one each time.
    first: usize,
    _membership: Membership,
}

impl LocalSource {
    pub(super) fn new(arriving: Arc<Handover<Reader>>, membership: Membership) -> Self {
        Self { readers: Vec::new(), arriving, first: 0, _membership: membership }
    }
}

impl FrameSource for LocalSource {
    fn poll(&mut self, _now: Time, limit: usize, mut on_frame: impl FnMut(&[u8])) -> usize {
        self.first = if self.first + 1 < self.readers.len() { self.first + 1 } else { 0 };
        let (later, sooner) = self.readers.split_at_mut(self.first);
        let mut count = 0;
        for reader in sooner.iter_mut().chain(later) {
            count += reader.read(limit - count, &mut on_frame);
        }
        count
    }

    fn work(&mut self, _now: Time) {
        self.arriving.take_into(&mut self.readers);
        self.readers.retain(|reader| !reader.is_abandoned() || !reader.is_empty());
    }

    fn is_ready(&self) -> bool {
        true
    }

    fn failure(&self) -> Option<&str> {
        None
    }
}
