//! For how long sources are left unread while the backbone cannot take more.

use std::time::Duration;

/// How long sources are left unread while the backbone takes nothing at all.
/// After that they are read, and what does not fit is lost: servers see the hole
/// and recover from images.
const MAX_HOLD: Duration = Duration::from_millis(20);

/// The same while it takes some: a server that reads, if slowly, is waited for,
/// as a loss would cost it, and all others, more than the wait.
const MAX_SLOW_HOLD: Duration = Duration::from_millis(500);

/// The same at a time while its queue is nearly full: so that pings are heard, the
/// sources are read for a turn between two of these.
const MAX_FULL_HOLD: Duration = Duration::from_millis(100);

/// How the backbone is in a turn in which it does not take all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    /// Since the last one.
    pub(crate) step: Duration,
    /// Frames that have gone out so far.
    pub(crate) sent: u64,
    /// A long image waits.
    pub(crate) is_long_image: bool,
    /// The queue has hardly any room.
    pub(crate) is_nearly_full: bool,
}

/// For how long the backbone has taken no more.
#[derive(Debug, Default)]
pub(crate) struct Hold {
    /// Since it took all,
    slow: Duration,
    /// and since a frame last went out.
    still: Duration,
    /// Since the sources were read last.
    unread: Duration,
    /// Frames that had gone out when that was last looked at.
    sent: u64,
    /// Sources are not read now.
    is_on: bool,
    /// How often that began,
    times: u64,
    /// and how long it was in all.
    total: Duration,
}

impl Hold {
    /// The backbone takes all.
    pub(crate) fn end(&mut self) {
        let Self { times, total, .. } = *self;
        *self = Self { times, total, ..Self::default() };
    }

    /// How often sources were left unread, and for how long in all, to the length of a
    /// turn.
    pub(crate) const fn totals(&self) -> (u64, Duration) {
        (self.times, self.total)
    }

    /// Whether sources are left unread for another turn, `step` after the last
    /// one. A long image is waited for as long as pieces of it go out.
    pub(crate) fn goes_on(&mut self, turn: &Turn) -> bool {
        let Turn { step, sent, is_long_image, is_nearly_full } = *turn;
        let has_moved = sent != std::mem::replace(&mut self.sent, sent);
        self.still = if has_moved { Duration::ZERO } else { self.still + step };
        self.slow = if is_long_image { Duration::ZERO } else { self.slow + step };
        let is_short = self.still < MAX_HOLD && self.slow < MAX_SLOW_HOLD;
        let goes_on = is_short || is_nearly_full && self.unread < MAX_FULL_HOLD;
        self.unread = if goes_on { self.unread + step } else { Duration::ZERO };
        if goes_on {
            self.times += u64::from(!self.is_on);
            self.total += step;
        }
        self.is_on = goes_on;
        goes_on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_millis(1);

    fn turn_with(sent: u64, is_long_image: bool) -> Turn {
        Turn { step: STEP, sent, is_long_image, is_nearly_full: false }
    }

    /// For how many turns sources are left unread.
    fn turns(mut sent: impl FnMut(u64) -> u64, is_long_image: bool) -> u64 {
        let mut hold = Hold::default();
        let goes_on = |turn: &u64| hold.goes_on(&turn_with(sent(*turn), is_long_image));
        (0..10_000).take_while(goes_on).count() as u64
    }

    #[test]
    fn a_backbone_that_stands_still_is_waited_for_shortly_and_a_slow_one_longer() {
        assert_eq!(turns(|_| 0, false), 19);
        assert_eq!(turns(|turn| turn / 10, false), 499);
        assert_eq!(turns(|turn| turn.min(100), false), 100 + 20);
    }

    #[test]
    fn how_often_and_how_long_is_counted() {
        let mut hold = Hold::default();
        hold.end();
        assert_eq!(hold.totals(), (0, Duration::ZERO));
        for (turns, times, ms) in [(5, 1, 5), (100, 2, 5 + 19)] {
            for _ in 0..turns {
                hold.goes_on(&turn_with(0, false));
            }
            assert_eq!(hold.totals(), (times, Duration::from_millis(ms)));
            hold.end();
        }
    }

    #[test]
    fn with_a_queue_that_is_nearly_full_a_turn_in_a_tenth_of_a_second_reads() {
        let mut hold = Hold::default();
        let full = Turn { is_nearly_full: true, ..turn_with(0, false) };
        let read: Vec<u32> = (0..500).filter(|_| !hold.goes_on(&full)).collect();
        assert_eq!(read, [100, 201, 302, 403]);
    }

    #[test]
    fn a_long_image_is_waited_for_as_long_as_pieces_of_it_go_out() {
        assert_eq!(turns(|turn| turn / 10, true), 10_000);
        assert_eq!(turns(|turn| turn.min(2_000), true), 2_000 + 20);
        assert_eq!(turns(|_| 0, true), 19);
    }
}
