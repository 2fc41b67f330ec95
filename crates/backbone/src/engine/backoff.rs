//! When what failed is tried again.

use std::time::Duration;

use tapeline_time::Time;

const FIRST: Duration = Duration::from_millis(100);
const LAST: Duration = Duration::from_secs(2);

/// The pauses between tries: each twice as long as the one before, up to two
/// seconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Backoff {
    delay: Duration,
    /// `None` until the clock is read after a failure.
    next: Option<Time>,
}

impl Backoff {
    /// The first try is due at once.
    pub(super) const fn new() -> Self {
        Self { delay: FIRST, next: Some(Time::ZERO) }
    }

    /// A try failed, or what a try had reached did.
    pub(super) const fn failed(&mut self) {
        self.next = None;
    }

    /// A try succeeded: the next pause is short again.
    pub(super) const fn succeeded(&mut self) {
        self.delay = FIRST;
    }

    /// Whether the next try is due.
    pub(super) fn is_due(&mut self, now: Time) -> bool {
        let Some(next) = self.next else {
            self.next = Some(now.after(self.delay));
            self.delay = (self.delay * 2).min(LAST);
            return false;
        };
        now >= next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How long it takes until a try is due, in milliseconds.
    fn pause(backoff: &mut Backoff) -> u64 {
        let due = |ms: &u64| backoff.is_due(Time::ZERO.after(Duration::from_millis(*ms)));
        (0..10_000).find(due).unwrap()
    }

    #[test]
    fn the_first_try_is_due_at_once() {
        assert_eq!(pause(&mut Backoff::new()), 0);
    }

    #[test]
    fn pauses_grow_up_to_two_seconds_and_are_short_again_after_a_success() {
        let mut backoff = Backoff::new();
        let mut fail = || {
            backoff.failed();
            pause(&mut backoff)
        };
        let pauses = [fail(), fail(), fail(), fail(), fail(), fail(), fail()];
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 2000, 2000]);
        backoff.succeeded();
        backoff.failed();
        assert_eq!(pause(&mut backoff), 100);
    }
}
