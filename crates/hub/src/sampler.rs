//! Which messages of items carry stamps: one in so many.

use tapeline_backbone::Stamps;
use tapeline_time::Time;

/// Counts down to the next message that carries stamps.
#[derive(Debug)]
pub(crate) struct Sampler {
    every: u32,
    left: u32,
    /// When the present turn began, on the clock of the host.
    turn_began: Time,
}

impl Sampler {
    /// One in so many; 0 for none.
    pub(crate) const fn new(every: u32) -> Self {
        // What is never reached is counted down from a number that takes long.
        let left = if every == 0 { u32::MAX } else { every };
        Self { every, left, turn_began: Time::ZERO }
    }

    /// A turn begins; the clock is read if a message may be stamped.
    pub(crate) fn begin_turn(&mut self, host_now: impl FnOnce() -> Time) {
        if self.every > 0 {
            self.turn_began = host_now();
        }
    }

    /// Whether the next message is to carry stamps.
    #[inline]
    pub(crate) const fn is_due(&mut self) -> bool {
        self.left -= 1;
        self.left == 0
    }

    /// The stamps of the message that is due, if it is not only time to count anew.
    #[cold]
    pub(crate) fn take(&mut self, host_now: impl FnOnce() -> Time) -> Option<Stamps> {
        self.left = Self::new(self.every).left;
        (self.every > 0).then(|| Stamps {
            source_ns: 0,
            hub_in_ns: self.turn_began.as_nanos(),
            hub_out_ns: host_now().as_nanos(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_message_in_so_many_is_stamped() {
        let at = Time::from_nanos;
        let mut sampler = Sampler::new(4);
        sampler.begin_turn(|| at(7));
        let mut stamped = Vec::new();
        for message in 1..=9 {
            if sampler.is_due() {
                stamped.extend(sampler.take(|| at(10 + message)).map(|stamps| (message, stamps)));
            }
        }
        let stamps = |hub_out_ns| Stamps { source_ns: 0, hub_in_ns: 7, hub_out_ns };
        assert_eq!(stamped, [(4, stamps(14)), (8, stamps(18))]);
    }

    #[test]
    fn none_is_stamped_and_no_clock_is_read_if_it_is_off() {
        let mut sampler = Sampler::new(0);
        sampler.begin_turn(|| panic!("nobody wants to know"));
        assert!((0..10_000).all(|_| !sampler.is_due()));
        sampler.left = 1;
        assert!(sampler.is_due() && sampler.take(|| panic!("nobody wants to know")).is_none());
        assert!(!sampler.is_due());
    }
}
