//! What messages of a flow carry behind their head: whose they are, and where
//! they were when.
//!
//! ```text
//!   0    32       40      44   45      46  48        56
//!   ├head─┼── id ──┼ order ┼ n  ┼ tracked ┼─ stamp 1 ─┼─ stamp 2 … up to 16
//!           u64      u32     u8   u8          u64         little endian
//!
//!   stamp:  module, 7 bits │ 1 when it left │ nanoseconds, 56 bits
//! ```

use std::time::Duration;

/// The shortest message.
pub(super) const LEAST_BYTES: usize = 48;

/// The most stamps of a message.
const MAX_STAMPS: usize = 16;

/// Modules from this number on leave no stamps.
pub(super) const MAX_MODULES: usize = 128;

const ID: usize = 32;
const ORDER: usize = 40;
const COUNT: usize = 44;
const TRACKED: usize = 45;
const STAMP_BYTES: usize = 8;
const TIME_BITS: u32 = 56;
const TIME: u64 = (1 << TIME_BITS) - 1;

/// A moment of a message at a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) module: u8,
    /// When it left; else when it came.
    pub(super) has_left: bool,
    /// Of the monotonic clock, whose count fits in 56 bits for two years.
    pub(super) at_ns: u64,
}

fn u64_at(message: &[u8], at: usize) -> Option<u64> {
    message.get(at..)?.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// Begins a message of somebody.
pub(super) fn begin(message: &mut [u8], id: u64, is_tracked: bool) {
    message[ID..ORDER].copy_from_slice(&id.to_le_bytes());
    message[ORDER..LEAST_BYTES].fill(0);
    message[TRACKED] = u8::from(is_tracked);
}

/// Whose message it is. Of one without room for it, nobody's.
pub(super) fn id(message: &[u8]) -> u64 {
    message.get(..ORDER).and_then(|front| u64_at(front, ID)).unwrap_or_default()
}

pub(super) fn set_id(message: &mut [u8], id: u64) {
    if let Some(bytes) = message.get_mut(ID..ORDER) {
        bytes.copy_from_slice(&id.to_le_bytes());
    }
}

/// The number that a sequencer gave it.
pub(super) fn set_order(message: &mut [u8], order: u32) {
    if let Some(bytes) = message.get_mut(ORDER..COUNT) {
        bytes.copy_from_slice(&order.to_le_bytes());
    }
}

#[cfg(test)]
pub(super) fn order(message: &[u8]) -> u32 {
    let bytes = message.get(ORDER..).and_then(|rest| rest.first_chunk());
    bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn place(number: usize) -> usize {
    LEAST_BYTES + number * STAMP_BYTES
}

/// Puts a stamp behind those that there are, if it is tracked and has room. A
/// module that sends a message more than once has left when it did last.
#[inline]
pub(super) fn stamp(message: &mut [u8], module: u8, has_left: bool, now_ns: u64) {
    if message.len() < LEAST_BYTES || message[TRACKED] == 0 || usize::from(module) >= MAX_MODULES {
        return;
    }
    let mut count = usize::from(message[COUNT]);
    let front = u64::from(module) << 1 | u64::from(has_left);
    let is_again = count > 0
        && has_left
        && u64_at(message, place(count - 1)).is_some_and(|last| last >> TIME_BITS == front);
    if is_again {
        count -= 1;
    }
    let at = place(count);
    if count == MAX_STAMPS || message.len() < at + STAMP_BYTES {
        return;
    }
    let word = front << TIME_BITS | now_ns & TIME;
    message[at..at + STAMP_BYTES].copy_from_slice(&word.to_le_bytes());
    message[COUNT] = (count + 1) as u8;
}

/// Its stamps in their order; none of one that is not tracked.
pub(super) fn stamps(message: &[u8]) -> impl Iterator<Item = Stamp> + '_ {
    let count = match message.get(TRACKED) {
        Some(1) => usize::from(message[COUNT]).min(MAX_STAMPS),
        _ => 0,
    };
    (0..count).map_while(|number| {
        let word = u64_at(message, place(number))?;
        let front = word >> TIME_BITS;
        Some(Stamp { module: (front >> 1) as u8, has_left: front & 1 == 1, at_ns: word & TIME })
    })
}

/// Whether it is one whose way is followed.
pub(super) fn is_tracked(message: &[u8]) -> bool {
    message.get(TRACKED) == Some(&1)
}

/// The time from one moment to a later one, of which either may be of 56 bits.
pub(super) fn between(from_ns: u64, to_ns: u64) -> u64 {
    (to_ns.wrapping_sub(from_ns)) & TIME
}

/// What [`between`] says of two moments in the wrong order is longer than this.
pub(super) const MAX_BETWEEN: Duration = Duration::from_secs(3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_remembers_whose_it_is_and_where_it_was() {
        let mut message = vec![0xFF; 48 + 4 * 8];
        begin(&mut message, 77, true);
        set_order(&mut message, 9);
        for (module, has_left, at_ns) in [(3, false, 1_000), (3, true, 1_500), (127, false, 1_700)]
        {
            stamp(&mut message, module, has_left, at_ns);
        }
        // It goes out a second time.
        stamp(&mut message, 127, true, 1_800);
        stamp(&mut message, 127, true, 1_900);
        // There is no room for more.
        stamp(&mut message, 5, false, 2_000);
        let all: Vec<(u8, bool, u64)> =
            stamps(&message).map(|of| (of.module, of.has_left, of.at_ns)).collect();
        let expected =
            [(3, false, 1_000), (3, true, 1_500), (127, false, 1_700), (127, true, 1_900)];
        assert_eq!(all, expected);
        assert_eq!((id(&message), order(&message), is_tracked(&message)), (77, 9, true));
    }

    #[test]
    fn one_that_is_not_tracked_has_no_stamps_and_a_short_one_no_owner() {
        let mut message = vec![0; 200];
        begin(&mut message, 5, false);
        stamp(&mut message, 1, false, 10);
        assert_eq!(stamps(&message).count(), 0);
        let mut short = vec![0xFF; 32];
        stamp(&mut short, 1, false, 10);
        set_id(&mut short, 7);
        assert_eq!((id(&short), stamps(&short).count(), short), (0, 0, vec![0xFF; 32]));
    }

    #[test]
    fn garbage_has_at_most_what_fits() {
        let message = vec![0xFF; 64];
        assert_eq!(stamps(&message).count(), 0);
        let mut message = vec![1; 56];
        message[COUNT] = 200;
        assert_eq!(stamps(&message).count(), 1);
    }

    #[test]
    fn times_are_of_56_bits() {
        assert_eq!(between(5, 12), 7);
        assert_eq!(between(TIME, (1 << TIME_BITS) + 4), 5);
        assert!(between(12, 5) > MAX_BETWEEN.as_nanos() as u64);
    }
}
