//! The order cache: the last reports of a partition, for clients that missed some.

use tapeline_ntg::Message;

/// The longest message that is kept.
const LONGEST: usize = tapeline_ntg::exchange::ExecutionReport::LEN;

#[derive(Clone, Copy, Debug)]
struct Entry {
    number: i32,
    user: u16,
    len: u8,
    bytes: [u8; LONGEST],
}

/// Numbers messages of a partition, and keeps the last of those that are kept.
#[derive(Debug)]
pub(super) struct Cache {
    ring: Vec<Entry>,
    /// The number that was given last.
    last: i32,
    scratch: Vec<u8>,
}

impl Cache {
    /// Keeps so many.
    pub(super) fn new(messages: usize) -> Self {
        let empty = Entry { number: 0, user: 0, len: 0, bytes: [0; LONGEST] };
        let scratch = Vec::with_capacity(LONGEST);
        Self { ring: vec![empty; messages.max(1)], last: 0, scratch }
    }

    /// The number of the next message. They go round at the end, which 2³¹ is.
    pub(super) fn number(&mut self) -> i32 {
        self.last = self.last.checked_add(1).unwrap_or(1);
        self.last
    }

    /// The number that was given last.
    pub(super) const fn last(&self) -> i32 {
        self.last
    }

    /// The oldest number that is kept for sure.
    pub(super) fn oldest(&self) -> i32 {
        (self.last - self.ring.len() as i32 + 1).max(1)
    }

    /// Writes a message of a user. What is kept has the number that was given last.
    pub(super) fn write(&mut self, user: u16, message: &Message, is_kept: bool) -> &[u8] {
        self.scratch.clear();
        message.append(&mut self.scratch);
        if is_kept {
            let (at, len) = (self.last as usize % self.ring.len(), self.scratch.len());
            let entry = &mut self.ring[at];
            (entry.number, entry.user, entry.len) = (self.last, user, len as u8);
            entry.bytes[..len].copy_from_slice(&self.scratch);
        }
        &self.scratch
    }

    /// The message of a number and its user, if it is kept.
    pub(super) fn kept(&self, number: i32) -> Option<(u16, &[u8])> {
        let entry = self.ring.get(number as usize % self.ring.len())?;
        let is_it = entry.number == number;
        is_it.then(|| (entry.user, &entry.bytes[..usize::from(entry.len)]))
    }

    /// A message is there again. `None` if it is too long.
    pub(super) fn put_back(&mut self, number: i32, user: u16, bytes: &[u8]) -> Option<()> {
        let at = number as usize % self.ring.len();
        let entry = &mut self.ring[at];
        (entry.number, entry.user, entry.len) = (number, user, bytes.len() as u8);
        entry.bytes.get_mut(..bytes.len())?.copy_from_slice(bytes);
        Some(())
    }

    /// Goes on behind a number.
    pub(super) fn resume(&mut self, last: i32) {
        self.last = last;
    }

    /// The message of a number, if it is kept and of this user.
    pub(super) fn get(&self, user: u16, number: i32) -> Option<&[u8]> {
        let entry = self.ring.get(number as usize % self.ring.len())?;
        let is_it = entry.number == number && entry.user == user;
        is_it.then(|| &entry.bytes[..usize::from(entry.len)])
    }
}

#[cfg(test)]
mod tests {
    use tapeline_ntg::exchange::MassCancelReport;

    use super::*;

    #[test]
    fn it_keeps_the_last_ones_by_user() {
        let mut cache = Cache::new(3);
        for at in 1..=5_u8 {
            assert_eq!(cache.number(), i32::from(at));
            let report = MassCancelReport { response: at, ..MassCancelReport::default() };
            cache.write(u16::from(at % 2), &Message::MassCancelReport(report), at != 4);
        }
        assert_eq!((cache.oldest(), cache.last()), (3, 5));
        let found = |number| cache.get(1, number).map(|message| message[29]);
        assert_eq!((3..=6).map(found).collect::<Vec<_>>(), [Some(3), None, Some(5), None]);
    }
}
