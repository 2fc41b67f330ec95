//! What became of a group's messages, by sender.

use crate::sequence::{Arrivals, Sequence};

const NS_PER_S: f64 = 1e9;

/// The most senders that are told apart; those beyond are counted as one.
const MAX_SENDERS: usize = 64;

/// Figures of an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct IntervalFigures {
    /// Messages that came.
    pub count: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Mean of |D| of messages next to each other, in nanoseconds.
    pub jitter_ns: f64,
    /// Lost, settled in this interval.
    pub lost: u64,
    /// Time without a message, at most, in nanoseconds.
    pub longest_gap_ns: u64,
}

impl IntervalFigures {
    /// Messages a second.
    pub fn per_second(&self, seconds: f64) -> f64 {
        self.count as f64 / seconds
    }

    /// KiB a second, whole.
    pub fn kib_per_second(&self, seconds: f64) -> u64 {
        (self.bytes as f64 / 1024.0 / seconds) as u64
    }
}

struct Sender {
    id: u32,
    sequence: Sequence,
    /// When the last message was sent and came.
    last: Option<(u64, u64)>,
    /// RFC 3550's, in nanoseconds.
    jitter_ns: f64,
}

/// Follows a group.
#[derive(Default)]
pub struct GroupArrivals {
    senders: Vec<Sender>,
    count: u64,
    bytes: u64,
    /// Sum of |D|, and of how many.
    differences_ns: f64,
    difference_count: u64,
    last_ns: Option<u64>,
    longest_gap_ns: u64,
    told_lost: u64,
}

impl GroupArrivals {
    /// Nothing has come yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// A message of a sender came.
    pub fn came(&mut self, id: u32, seq: u64, sent_ns: u64, now_ns: u64, bytes: usize) {
        self.count += 1;
        self.bytes += bytes as u64;
        let gap = self.last_ns.map_or(0, |last| now_ns.saturating_sub(last));
        self.longest_gap_ns = self.longest_gap_ns.max(gap);
        self.last_ns = Some(now_ns);
        let at = match self.senders.iter().position(|sender| sender.id == id) {
            Some(at) => at,
            None if self.senders.len() < MAX_SENDERS => {
                let sequence = Sequence::new();
                self.senders.push(Sender { id, sequence, last: None, jitter_ns: 0.0 });
                self.senders.len() - 1
            }
            None => return,
        };
        let sender = &mut self.senders[at];
        sender.sequence.came(seq);
        if let Some((last_sent, last_came)) = sender.last {
            // D = (Rj − Ri) − (Sj − Si): it needs no common clock.
            let came = now_ns as f64 - last_came as f64;
            let sent = sent_ns as f64 - last_sent as f64;
            let difference = (came - sent).abs();
            self.differences_ns += difference;
            self.difference_count += 1;
            sender.jitter_ns += (difference - sender.jitter_ns) / 16.0;
        }
        sender.last = Some((sent_ns, now_ns));
    }

    /// Figures since the last call.
    pub fn take_interval(&mut self) -> IntervalFigures {
        let lost: u64 = self.senders.iter().map(|sender| sender.sequence.counts().lost).sum();
        let figures = IntervalFigures {
            count: self.count,
            bytes: self.bytes,
            jitter_ns: self.differences_ns / self.difference_count.max(1) as f64,
            lost: lost - self.told_lost,
            longest_gap_ns: self.longest_gap_ns,
        };
        self.told_lost = lost;
        (self.count, self.bytes, self.longest_gap_ns) = (0, 0, 0);
        (self.differences_ns, self.difference_count) = (0.0, 0);
        figures
    }

    /// Of all senders, when nothing comes any more.
    pub fn settled(&self) -> Arrivals {
        let mut all = Arrivals::default();
        for sender in &self.senders {
            let of = sender.sequence.settled(None);
            all.received += of.received;
            all.lost += of.lost;
            all.reordered += of.reordered;
            all.duplicated += of.duplicated;
            all.late += of.late;
        }
        all
    }

    /// RFC 3550's interarrival jitter of each sender, in nanoseconds.
    pub fn rfc3550_ns(&self) -> Vec<f64> {
        self.senders.iter().map(|sender| sender.jitter_ns).collect()
    }

    /// How many senders there were.
    pub fn senders(&self) -> usize {
        self.senders.len()
    }
}

/// `MReceiver_42222 - Msg Rate 23242/s Avg Jitter 1 us Packet Lose 0/s BandWidth 22697KB/S`
pub(super) fn classic_line(port: u16, of: &IntervalFigures, seconds: f64) -> String {
    format!(
        "MReceiver_{port} - Msg Rate {:.0}/s Avg Jitter {:.0} us Packet Lose {:.0}/s BandWidth {}KB/S\n",
        of.per_second(seconds),
        of.jitter_ns / 1000.0,
        of.lost as f64 / seconds,
        of.kib_per_second(seconds),
    )
}

/// Seconds between two moments.
pub(super) fn seconds(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.saturating_sub(from_ns) as f64 / NS_PER_S
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_is_that_of_a_list_reckoned_by_hand() {
        // Sent every 1000 ns; they came 0, 1100, 2050, 3500 after the first:
        // |D| = 100, 50, 450.
        let mut of = GroupArrivals::new();
        for (seq, (sent, came)) in
            [(0, 5_000), (1_000, 6_100), (2_000, 7_050), (3_000, 8_500)].into_iter().enumerate()
        {
            of.came(1, seq as u64, sent, came, 1_000);
        }
        let figures = of.take_interval();
        assert!((figures.jitter_ns - 200.0).abs() < 1e-9, "{figures:?}");
        assert_eq!((figures.count, figures.bytes, figures.longest_gap_ns), (4, 4_000, 1_450));
        // J: 6.25; 6.25 + 43.75/16 = 8.984375; + 441.015625/16.
        let expected = 8.984_375 + 441.015_625 / 16.0;
        assert!((of.rfc3550_ns()[0] - expected).abs() < 1e-9);
        assert_eq!(of.take_interval(), IntervalFigures::default());
    }

    #[test]
    fn a_new_sender_starts_its_own_count() {
        let mut of = GroupArrivals::new();
        (0..10).for_each(|seq| of.came(1, 1_000 + seq, seq, seq, 100));
        (0..10).for_each(|seq| of.came(2, seq, seq, seq, 100));
        let all = of.settled();
        assert_eq!((all.received, all.lost, of.senders()), (20, 0, 2));
    }

    #[test]
    fn every_hundredth_lost_250th_doubled_and_500th_swapped_is_counted() {
        let mut of = GroupArrivals::new();
        let mut numbers: Vec<u64> = Vec::new();
        for seq in 1..=100_000_u64 {
            if seq % 100 == 50 {
                continue;
            }
            numbers.push(seq);
            if seq % 250 == 0 {
                numbers.push(seq);
            }
            if seq % 500 == 101 {
                let last = numbers.len() - 1;
                numbers.swap(last, last - 1);
            }
        }
        for seq in numbers {
            of.came(7, seq, seq, seq, 64);
        }
        let all = of.settled();
        // Half of the 400 are among the lost.
        assert_eq!((all.lost, all.duplicated, all.reordered), (1_000, 200, 200));
        assert_eq!(all.received, 99_000);
    }

    #[test]
    fn the_classic_line_is_theirs() {
        let of = IntervalFigures {
            count: 23_242,
            bytes: 23_242_000,
            jitter_ns: 1_200.0,
            ..IntervalFigures::default()
        };
        assert_eq!(
            classic_line(42222, &of, 1.0),
            "MReceiver_42222 - Msg Rate 23242/s Avg Jitter 1 us Packet Lose 0/s BandWidth 22697KB/S\n"
        );
        let text = include_str!("../../published/mcastnwtool-receiver.csv");
        for row in text.lines().skip(1) {
            let cells: Vec<&str> = row.split(',').collect();
            let rate: u64 = cells[1].parse().unwrap();
            let of = IntervalFigures { bytes: rate * 1_000, ..IntervalFigures::default() };
            // What they printed; one of both rounds the other way.
            assert!(of.kib_per_second(1.0).abs_diff(cells[4].parse().unwrap()) <= 1, "{row}");
        }
    }
}
