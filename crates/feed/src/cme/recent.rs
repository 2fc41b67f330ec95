//! Packets that a snapshot may lack.

use std::collections::VecDeque;

/// Bytes that are kept at most: some seconds of the busiest channels.
const MOST_BYTES: usize = 64 << 20;

/// The packets since something was lost, for snapshots that are of before them.
#[derive(Debug, Default)]
pub(super) struct Recent {
    packets: VecDeque<(u32, Vec<u8>)>,
    bytes: usize,
}

impl Recent {
    pub(super) fn clear(&mut self) {
        self.packets.clear();
        self.bytes = 0;
    }

    /// Keeps a packet; the oldest go where there is no room.
    pub(super) fn keep(&mut self, sequence: u32, packet: &[u8]) {
        self.packets.push_back((sequence, packet.to_vec()));
        self.bytes += packet.len();
        while self.bytes > MOST_BYTES
            && let Some((_, oldest)) = self.packets.pop_front()
        {
            self.bytes -= oldest.len();
        }
    }

    /// The packets behind one; `None` if not all of those up to `next` are here.
    pub(super) fn after(&self, sequence: u32, next: u32) -> Option<impl Iterator<Item = &[u8]>> {
        let first = self.packets.front().map_or(next, |(first, _)| *first);
        let skipped = self.packets.partition_point(|(number, _)| *number <= sequence);
        let packets = self.packets.range(skipped..).map(|(_, packet)| packet.as_slice());
        (first <= sequence.saturating_add(1)).then_some(packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(recent: &Recent, sequence: u32, next: u32) -> Option<Vec<u8>> {
        recent.after(sequence, next).map(|packets| packets.map(|packet| packet[0]).collect())
    }

    #[test]
    fn what_is_behind_a_packet_is_there_or_not() {
        let mut recent = Recent::default();
        assert_eq!(after(&recent, 4, 5), Some(vec![]));
        assert_eq!(after(&recent, 3, 5), None);
        for number in 5..8 {
            recent.keep(number.into(), &[number]);
        }
        assert_eq!(after(&recent, 4, 8), Some(vec![5, 6, 7]));
        assert_eq!(after(&recent, 6, 8), Some(vec![7]));
        assert_eq!(after(&recent, 7, 8), Some(vec![]));
        assert_eq!(after(&recent, 3, 8), None);
        recent.clear();
        assert_eq!((after(&recent, 7, 8), recent.bytes), (Some(vec![]), 0));
    }

    #[test]
    fn the_oldest_go_where_there_is_no_room() {
        let mut recent = Recent::default();
        for number in 0..5 {
            recent.keep(number, &vec![number as u8; MOST_BYTES / 4]);
        }
        assert_eq!(recent.bytes, MOST_BYTES);
        assert_eq!(after(&recent, 1, 5), Some(vec![2, 3, 4]));
        assert_eq!(after(&recent, 0, 5), Some(vec![1, 2, 3, 4]));
        recent.keep(5, &[5]);
        assert_eq!(after(&recent, 0, 6), None);
    }
}
