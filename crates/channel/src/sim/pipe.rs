//! One direction of a connection.

use std::collections::VecDeque;

use tapeline_time::Time;

use crate::timers::NEVER;

/// What a segment carries.
#[derive(Debug)]
pub(super) enum Content {
    Bytes(Vec<u8>),
    End,
    Reset,
}

#[derive(Debug)]
struct Segment {
    arrives: Time,
    content: Content,
}

/// What a reader finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Bytes(usize),
    Nothing,
    End,
    Reset,
}

#[derive(Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts, in any combination")]
pub(super) struct Pipe {
    under_way: VecDeque<Segment>,
    unread: VecDeque<u8>,
    /// Bytes under way and unread.
    held_bytes: usize,
    /// When the wire is free for the next byte.
    pub(super) busy_until: Time,
    /// When the last segment arrives: the next one does not overtake it.
    last: Time,
    /// The writer's end is sent,
    pub(super) is_ended: bool,
    /// and has arrived.
    has_ended: bool,
    is_reset: bool,
    /// The writer found it full.
    pub(super) wants_room: bool,
}

impl Pipe {
    /// Sends a segment, to arrive then or behind the last one; when that is.
    pub(super) fn send(&mut self, arrives: Time, content: Content) -> Time {
        self.last = self.last.max(arrives);
        if let Content::Bytes(bytes) = &content {
            self.held_bytes += bytes.len();
        }
        self.is_ended |= matches!(content, Content::End);
        self.under_way.push_back(Segment { arrives: self.last, content });
        self.last
    }

    /// Has what waits for the way to heal arrive then. Whether there was any.
    pub(super) fn resend(&mut self, arrives: Time) -> bool {
        let mut count = 0;
        for segment in self.under_way.iter_mut().filter(|segment| segment.arrives == NEVER) {
            segment.arrives = arrives;
            count += 1;
        }
        if count > 0 {
            self.last = arrives;
        }
        count > 0
    }

    /// Loses all that is under way and unread, for good.
    pub(super) fn reset(&mut self) {
        self.under_way.clear();
        self.unread.clear();
        self.held_bytes = 0;
        self.is_reset = true;
    }

    pub(super) const fn is_reset(&self) -> bool {
        self.is_reset
    }

    /// Whether something was sent that is not read.
    pub(super) const fn holds_bytes(&self) -> bool {
        self.held_bytes > 0
    }

    pub(super) const fn room(&self, window_bytes: usize) -> usize {
        window_bytes.saturating_sub(self.held_bytes)
    }

    /// Takes in what has arrived.
    pub(super) fn arrive(&mut self, now: Time) {
        while self.under_way.front().is_some_and(|segment| segment.arrives <= now)
            && let Some(segment) = self.under_way.pop_front()
        {
            match segment.content {
                Content::Bytes(bytes) => self.unread.extend(bytes),
                Content::End => self.has_ended = true,
                Content::Reset => self.reset(),
            }
        }
    }

    /// Reads what has arrived.
    pub(super) fn read(&mut self, room: &mut [u8], now: Time) -> Found {
        self.arrive(now);
        if self.is_reset {
            return Found::Reset;
        }
        let count = room.len().min(self.unread.len());
        if count > 0 || room.is_empty() {
            let (first, second) = self.unread.as_slices();
            let of_first = count.min(first.len());
            room[..of_first].copy_from_slice(&first[..of_first]);
            room[of_first..count].copy_from_slice(&second[..count - of_first]);
            self.unread.drain(..count);
            self.held_bytes -= count;
            return Found::Bytes(count);
        }
        if self.has_ended { Found::End } else { Found::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    fn bytes(bytes: &[u8]) -> Content {
        Content::Bytes(bytes.to_vec())
    }

    #[test]
    fn segments_arrive_in_order_and_not_early() {
        let mut pipe = Pipe::default();
        let mut room = [0; 10];
        assert_eq!(pipe.send(at(5), bytes(b"ab")), at(5));
        assert_eq!(pipe.send(at(3), bytes(b"cd")), at(5), "it does not overtake");
        assert_eq!(pipe.send(at(9), Content::End), at(9));
        assert_eq!(pipe.room(10), 6);
        assert_eq!(pipe.read(&mut room, at(4)), Found::Nothing);
        assert_eq!(pipe.read(&mut room[..3], at(5)), Found::Bytes(3));
        assert_eq!(&room[..3], b"abc");
        assert_eq!(pipe.read(&mut room, at(8)), Found::Bytes(1));
        assert_eq!(pipe.read(&mut room, at(8)), Found::Nothing);
        assert_eq!(pipe.room(10), 10);
        assert_eq!(pipe.read(&mut room, at(9)), Found::End);
        assert_eq!(pipe.read(&mut room, at(9)), Found::End);
    }

    #[test]
    fn a_reset_takes_what_is_unread() {
        let mut pipe = Pipe::default();
        let mut room = [0; 10];
        pipe.send(at(1), bytes(b"ab"));
        pipe.send(at(2), Content::Reset);
        assert_eq!(pipe.read(&mut room, at(2)), Found::Reset);
        assert!(!pipe.holds_bytes());
    }

    #[test]
    fn what_waits_for_the_way_to_heal_arrives_then() {
        let mut pipe = Pipe::default();
        let mut room = [0; 10];
        pipe.send(at(1), bytes(b"ab"));
        pipe.send(NEVER, bytes(b"cd"));
        pipe.send(at(2), bytes(b"ef"));
        assert_eq!(pipe.read(&mut room, at(3)), Found::Bytes(2));
        assert_eq!(pipe.read(&mut room, at(3)), Found::Nothing);
        assert!(pipe.resend(at(4)));
        assert!(!pipe.resend(at(4)));
        assert_eq!(pipe.read(&mut room, at(4)), Found::Bytes(4));
        assert_eq!(&room[..4], b"cdef");
    }
}
