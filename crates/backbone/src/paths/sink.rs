//! Sends each frame on all ways, none of which holds up another.
//!
//! ```text
//!              ┌─▶ way 1 (takes)
//!   9 8 7 ─────┤
//!              └─▶ 9 8 7 ─▶ way 2 (takes nothing now): what another way has taken
//!                  backlog   waits here, and goes first when it takes again
//! ```
//!
//! A way that takes nothing while others do keeps what it lacks, so that a short stop
//! of one network costs neither time nor the second copy of a frame. While it goes on
//! slowly it sets the pace of all as soon as its backlog is full; when it does not go
//! on at all for [`PATIENCE`] it is left behind: its backlog is thrown away, and frames
//! pass it by until it takes one.

use std::time::Duration;

use tapeline_time::Time;

use crate::outbound::{FrameSink, Offer};
use crate::queue::Queue;

/// A way that takes nothing for so long while another does is left behind.
const PATIENCE: Duration = Duration::from_millis(20);

/// Of the time between two looks, no more than this counts: if it was longer, then
/// the sender stood still.
const LONGEST_STEP: Duration = Duration::from_millis(2);

/// What may wait for one way, in bytes: what the fastest of senders sends in
/// [`PATIENCE`], so that nobody waits for a way that is dead.
const BACKLOG_BYTES: usize = 4 << 20;

/// What a way takes out of its backlog at a time, in bytes, so that nothing else waits
/// for that.
const DRAIN_BYTES: usize = 256 << 10;

/// Sends each frame on all ways.
#[derive(Debug)]
pub struct PathSink<K> {
    ways: Vec<Way<K>>,
    last_work: Option<Time>,
}

#[derive(Debug)]
struct Way<K> {
    sink: K,
    /// Frames that others have taken and this one has yet to.
    backlog: Queue,
    /// It did not take the frame that is offered.
    lacks: bool,
    /// It took a frame since the last look.
    has_taken: bool,
    /// How long it took none, while something waited for it and others went on.
    full_for: Duration,
    /// Frames pass it by until it takes one.
    is_left_behind: bool,
    /// Frames that it did not carry although others did.
    passed_by: u64,
}

impl<K: FrameSink> Way<K> {
    fn new(sink: K) -> Self {
        Self {
            sink,
            backlog: Queue::new(BACKLOG_BYTES),
            lacks: false,
            has_taken: false,
            full_for: Duration::ZERO,
            is_left_behind: false,
            passed_by: 0,
        }
    }

    /// A frame that nothing waits before.
    #[inline]
    fn offer(&mut self, head: &[u8], parts: &[&[u8]]) -> Offer {
        let offer = self.sink.offer(head, parts);
        if offer != Offer::Busy {
            // One that fails, or that nobody hears, holds up nothing either.
            (self.has_taken, self.is_left_behind) = (true, false);
        }
        offer
    }

    /// Hands on what waits, as far as it takes it.
    fn drain(&mut self) {
        let mut left = DRAIN_BYTES;
        while left > 0
            && let Some(frame) = self.backlog.front()
            && self.sink.offer(frame, &[]) != Offer::Busy
        {
            left = left.saturating_sub(frame.len());
            self.backlog.pop();
            self.has_taken = true;
        }
    }

    /// Has a frame that another way has taken wait.
    #[cold]
    fn keep(&mut self, head: &[u8], parts: &[&[u8]]) {
        if self.is_left_behind || !self.backlog.push(head, parts) {
            debug_assert!(self.is_left_behind, "there was room before any way took it");
            self.passed_by += 1;
        }
    }

    fn leave_behind(&mut self) {
        self.is_left_behind = true;
        self.full_for = Duration::ZERO;
        while self.backlog.front().is_some() {
            self.backlog.pop();
            self.passed_by += 1;
        }
    }
}

impl<K: FrameSink> PathSink<K> {
    /// Sends on all of these.
    pub fn new(sinks: impl IntoIterator<Item = K>) -> Self {
        Self { ways: sinks.into_iter().map(Way::new).collect(), last_work: None }
    }

    /// Leaves behind what has not gone on for too long, while others have.
    fn watch(&mut self, step: Duration) {
        let goes_on = self.ways.iter().any(|way| way.has_taken);
        for way in &mut self.ways {
            let is_stuck = !way.has_taken && !way.backlog.is_empty();
            if is_stuck && goes_on {
                way.full_for += step;
            } else if !is_stuck {
                way.full_for = Duration::ZERO;
            }
            way.has_taken = false;
            if way.full_for >= PATIENCE {
                way.leave_behind();
            }
        }
    }

    /// Whether a way has so much to go that the others are to wait for it.
    fn is_held_up(&mut self, frame_bytes: usize) -> bool {
        let mut is_held_up = false;
        for way in self.ways.iter_mut().filter(|way| !way.backlog.is_empty()) {
            way.drain();
            is_held_up |= !way.backlog.has_room(frame_bytes);
        }
        is_held_up
    }
}

impl<K: FrameSink> FrameSink for PathSink<K> {
    fn offer(&mut self, head: &[u8], parts: &[&[u8]]) -> Offer {
        let frame_bytes = head.len() + parts.iter().map(|part| part.len()).sum::<usize>();
        if self.is_held_up(frame_bytes) {
            return Offer::Busy;
        }
        let (mut best, mut waits, mut lacks) = (Offer::Failed, false, false);
        for way in &mut self.ways {
            let offer = if way.backlog.is_empty() { way.offer(head, parts) } else { Offer::Busy };
            way.lacks = offer == Offer::Busy;
            if way.lacks {
                (lacks, waits) = (true, waits || !way.is_left_behind);
            } else {
                best = better(best, offer);
            }
        }
        match best {
            Offer::Taken if lacks => {
                let lacking = self.ways.iter_mut().filter(|way| way.lacks);
                lacking.for_each(|way| way.keep(head, parts));
                Offer::Taken
            }
            Offer::Taken => Offer::Taken,
            // Nobody has it yet, so it may be tried again as a whole.
            _ if waits => Offer::Busy,
            other => other,
        }
    }

    fn max_frame_bytes(&self) -> usize {
        self.ways.iter().map(|way| way.sink.max_frame_bytes()).min().unwrap_or(0)
    }

    fn work(&mut self, now: Time) {
        let step = now.since(self.last_work.replace(now).unwrap_or(now)).min(LONGEST_STEP);
        for way in &mut self.ways {
            way.sink.work(now);
            way.drain();
        }
        self.watch(step);
    }

    fn is_ready(&self) -> bool {
        self.ways.iter().any(|way| way.sink.is_ready())
    }

    fn failure(&self) -> Option<&str> {
        self.ways.iter().find_map(|way| way.sink.failure())
    }

    fn passed_by(&self) -> u64 {
        self.ways.iter().map(|way| way.passed_by).sum()
    }
}

/// What is said of a frame that ways took in different manners.
const fn better(one: Offer, other: Offer) -> Offer {
    match (one, other) {
        (Offer::Taken, _) | (_, Offer::Taken) => Offer::Taken,
        (Offer::Unheard, _) | (_, Offer::Unheard) => Offer::Unheard,
        _ => Offer::Failed,
    }
}

#[cfg(test)]
mod tests;
