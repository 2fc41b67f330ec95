//! When packets of a capture are due.

use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use tapeline_time::Time;

/// How fast a capture is played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// As fast as it can be read.
    Most,
    /// So many thousandths of what it was.
    Thousandths(NonZeroU32),
}

impl FromStr for Speed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "max" {
            return Ok(Self::Most);
        }
        let speed = text.parse::<f64>().ok().map(|speed| (speed * 1_000.0).round());
        let thousandths = speed.filter(|speed| (1.0..=1e9).contains(speed));
        let thousandths = thousandths.and_then(|speed| NonZeroU32::new(speed as u32));
        let failed = || format!("\"{text}\" is no speed: give a number, as 1 or 0.5, or max");
        Ok(Self::Thousandths(thousandths.ok_or_else(failed)?))
    }
}

/// A capture that is played: it has a time of its own, which its packets tell, so that
/// it leads to the same at any speed.
#[derive(Clone, Copy, Debug)]
pub struct Playing {
    speed: Speed,
    begun: Time,
    /// When the first packet was captured, in nanoseconds since 1970.
    first_ns: Option<u64>,
    last_ns: u64,
}

impl Playing {
    /// It begins now.
    pub const fn new(speed: Speed, now: Time) -> Self {
        Self { speed, begun: now, first_ns: None, last_ns: 0 }
    }

    /// When a packet is due. Time does not go back in a capture whose packets are not in
    /// order.
    pub fn due(&mut self, captured_ns: u64) -> Time {
        let first_ns = *self.first_ns.get_or_insert(captured_ns);
        self.last_ns = self.last_ns.max(captured_ns);
        let since_ns = self.last_ns - first_ns.min(self.last_ns);
        match self.speed {
            Speed::Most => self.begun,
            Speed::Thousandths(speed) => {
                let after_ns = u128::from(since_ns) * 1_000 / u128::from(speed.get());
                self.begun.after(Duration::from_nanos(after_ns as u64))
            }
        }
    }

    /// The time of the capture, by its last packet.
    pub fn now(&self) -> Time {
        Time::from_nanos(self.last_ns - self.first_ns.unwrap_or(self.last_ns).min(self.last_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_due_when_they_came_at_any_speed() {
        let begun = Time::from_nanos(50);
        let due = |speed: &str| {
            let mut playing = Playing::new(speed.parse().expect("a speed"), begun);
            let due = [7_000, 9_000, 8_000, 17_000].map(|ns| playing.due(ns).as_nanos() - 50);
            assert_eq!(playing.now().as_nanos(), 10_000);
            due
        };
        assert_eq!(due("1"), [0, 2_000, 2_000, 10_000]);
        assert_eq!(due("0.5"), [0, 4_000, 4_000, 20_000]);
        assert_eq!(due("100"), [0, 20, 20, 100]);
        assert_eq!(due("max"), [0; 4]);
    }

    #[test]
    fn what_is_no_speed_is_refused() {
        for text in ["", "0", "-1", "fast", "0.0001", "NaN", "1e30"] {
            let error = text.parse::<Speed>().expect_err("refused");
            assert_eq!(
                error,
                format!("\"{text}\" is no speed: give a number, as 1 or 0.5, or max")
            );
        }
    }
}
