//! What the market has not decided: kept until it has, and said again.

use std::collections::VecDeque;

use tapeline_sequence::{Kind, MAX_PAYLOAD};

use super::words::{Asked, Word};

/// A request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) client: u32,
    pub(super) kind: Kind,
    pub(super) asked: Asked,
    len: u8,
    bytes: [u8; MAX_PAYLOAD],
}

impl Request {
    /// As it came; what is longer than a command can be is none.
    pub(super) fn new(client: u32, kind: Kind, asked: Asked, frame: &[u8]) -> Option<Self> {
        let mut bytes = [0; MAX_PAYLOAD];
        bytes.get_mut(..frame.len())?.copy_from_slice(frame);
        Some(Self { client, kind, asked, len: frame.len() as u8, bytes })
    }

    pub(super) fn frame(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    pub(super) fn word(&self) -> Word<'_> {
        let Self { client, kind, asked, .. } = *self;
        Word::Request { client, kind, asked, frame: self.frame() }
    }
}

/// Requests in their order.
#[derive(Debug, Default)]
pub(super) struct Requests {
    undecided: VecDeque<Request>,
    /// The number that was given last.
    last: u64,
}

impl Requests {
    /// The number of the next one.
    pub(super) const fn next(&self) -> u64 {
        self.last + 1
    }

    /// How many are not decided.
    pub(super) fn len(&self) -> usize {
        self.undecided.len()
    }

    /// Whether one is not decided.
    pub(super) fn has(&self, number: u64) -> bool {
        self.undecided.binary_search_by_key(&number, |it| it.asked.number).is_ok()
    }

    /// A request has come, with the [next](Self::next) number.
    pub(super) fn push(&mut self, request: Request) {
        debug_assert_eq!(request.asked.number, self.next(), "numbers follow each other");
        self.last = request.asked.number;
        self.undecided.push_back(request);
    }

    /// All up to a number are decided.
    pub(super) fn done(&mut self, number: u64) {
        while self.undecided.front().is_some_and(|first| first.asked.number <= number) {
            self.undecided.pop_front();
        }
    }

    /// One will never be taken.
    pub(super) fn take(&mut self, number: u64) -> Option<Request> {
        let at = self.undecided.binary_search_by_key(&number, |it| it.asked.number).ok()?;
        self.undecided.remove(at)
    }

    /// The market knows those up to a number. Returns the others, to be said again.
    pub(super) fn behind(&mut self, taken: u64) -> impl Iterator<Item = &Request> {
        self.last = self.last.max(taken);
        self.undecided.iter().filter(move |request| request.asked.number > taken)
    }

    /// Nothing of what was before is known any more.
    pub(super) fn forget(&mut self, taken: u64) {
        self.undecided.clear();
        self.last = taken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_decided_is_said_again_behind_what_is_known() {
        let mut requests = Requests::default();
        for at in 1..=6_u8 {
            let asked = Asked { number: requests.next(), ..Asked::default() };
            requests.push(Request::new(0, Kind::NEW, asked, &[at]).expect("short"));
        }
        requests.done(2);
        assert_eq!([2, 3, 7].map(|number| requests.has(number)), [false, true, false]);
        assert_eq!(requests.take(5).map(|request| request.frame().to_vec()), Some(vec![5]));
        assert!(requests.take(5).is_none());
        let again: Vec<u64> = requests.behind(3).map(|request| request.asked.number).collect();
        // The third is known and not decided: should its market die, it is said again.
        assert_eq!((again, requests.len(), requests.next()), (vec![4, 6], 3, 7));
        // A gateway that begins goes on behind what its market knows of another process.
        let mut begins = Requests::default();
        assert_eq!((begins.behind(9).count(), begins.next()), (0, 10));
        requests.forget(0);
        assert_eq!((requests.len(), requests.next()), (0, 1));
    }
}
