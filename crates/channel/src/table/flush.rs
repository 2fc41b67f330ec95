//! From the output of sessions to their sockets.

use std::time::Duration;

use super::{Occupant, RETAINED_SCRATCH_BYTES, Table};
use crate::SessionId;
use crate::live::Stage;
use crate::system::{Clock, System};

/// So many slow sessions are written to in one flush: about a megabyte.
const SLOW_WRITES_PER_FLUSH: u32 = 8;

/// A write of so many bytes counts as one more.
const BYTES_PER_WRITE: usize = 8 * 1024;

/// After so many sessions a flush looks how long it has taken.
const WRITES_PER_LOOK: usize = 8;

impl<S: System> Table<S> {
    /// Writes to sessions with new output, to as many as one flush may; the
    /// number of those. Sessions that are slow have so much together, and take
    /// turns.
    pub(crate) fn flush(&mut self) -> usize {
        let listed = self.dirty.len();
        let mut left = self.writes_per_flush;
        let mut for_slow = SLOW_WRITES_PER_FLUSH;
        let mut count = 0;
        let is_bounded = self.flush_time != Duration::MAX;
        let mut began_at = None;
        self.is_unfinished = false;
        while count < listed && left > 0 {
            if is_bounded && count % WRITES_PER_LOOK == WRITES_PER_LOOK - 1 {
                let now = self.clock.now();
                if now.since(*began_at.get_or_insert(now)) >= self.flush_time {
                    break;
                }
            }
            let index = self.dirty[count];
            count += 1;
            let Some(mut live) = self.take(index) else { continue };
            let is_slow = live.is_slow && live.stage == Stage::Open;
            if is_slow && for_slow == 0 {
                self.dirty.push(index);
                self.is_unfinished = true;
                self.put_back(live);
                continue;
            }
            for_slow -= u32::from(is_slow);
            live.is_dirty = false;
            let before = live.backlog_bytes();
            // It only falls by being written, so that this misses no high water.
            live.most_bytes = live.most_bytes.max(before);
            live.flush(self.now);
            let written = before.saturating_sub(live.backlog_bytes());
            left = left.saturating_sub(1 + written / BYTES_PER_WRITE);
            self.settle(live);
        }
        self.is_unfinished |= count < listed;
        // What a settled session wants flushed again it got after the others.
        self.dirty.drain(..count);
        self.scratch.shrink_to(RETAINED_SCRATCH_BYTES);
        count
    }

    pub(super) fn flush_one(&mut self, index: u32) {
        let Some(mut live) = self.take(index) else { return };
        live.flush(self.now);
        self.settle(live);
    }

    pub(crate) const fn has_output(&self) -> bool {
        !self.dirty.is_empty()
    }

    /// Whether output waits that does not wait for the next flush.
    pub(crate) const fn is_unfinished(&self) -> bool {
        self.is_unfinished
    }

    /// The open session with the most output, if all have too much together.
    pub(crate) fn beyond_pool(&self) -> Option<SessionId> {
        if !self.pool.is_over() {
            return None;
        }
        let lives = self.slots.iter().filter_map(|slot| match &slot.occupant {
            Occupant::Live(live) if live.stage == Stage::Open => Some(live),
            _ => None,
        });
        lives.max_by_key(|live| live.counted_bytes).map(|live| live.id)
    }
}
