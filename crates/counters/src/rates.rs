//! How fast counts of rows go up, measured from look to look.

use crate::View;

/// The shortest time over which a rate is measured, in milliseconds: a little less
/// than the second at which screens look again.
const INTERVAL_MS: u64 = 900;

/// Nobody has looked for so long: what was noted is forgotten.
const FORGOTTEN_MS: u64 = 10_000;

/// Places whose notes are taken from memory together, so that a large table costs no
/// long turn.
const PLACES_PER_CHUNK: usize = 2_048;

/// What the last looks at a view noted of its places: the core that counts has no more
/// to do for a rate, and what nobody looks at takes no memory.
///
/// A rate is that of the last whole interval of 0.9 s or more between two looks; the
/// first look at a row has none.
#[derive(Debug)]
pub struct Rates {
    view: &'static View,
    chunks: Vec<Option<Box<[Note]>>>,
    looked_ms: u64,
}

/// A place as it was when its interval began.
#[derive(Clone, Copy, Debug, Default)]
struct Note {
    identity: u64,
    count: u64,
    at_ms: u64,
    /// That of the interval before, and one more; 0 for none.
    rate_and_one: u64,
}

impl Rates {
    /// Nothing is noted of a view.
    pub const fn new(view: &'static View) -> Self {
        Self { view, chunks: Vec::new(), looked_ms: 0 }
    }

    /// The view whose rates these are.
    pub const fn view(&self) -> &'static View {
        self.view
    }

    /// Whether nobody has looked for 10 s, at `now_ms`.
    pub const fn is_forgotten(&self, now_ms: u64) -> bool {
        now_ms.saturating_sub(self.looked_ms) > FORGOTTEN_MS
    }

    /// Gives some of the memory back, little enough for one turn. Whether there is none
    /// left.
    pub fn release(&mut self) -> bool {
        self.chunks.pop();
        self.chunks.is_empty()
    }

    /// What is at a place has come to `count`: how much that is a second. `identity`
    /// tells it from what was there before; `None` until it was looked at for long
    /// enough.
    pub fn look(&mut self, place: u32, identity: u64, count: u64, now_ms: u64) -> Option<u64> {
        self.looked_ms = now_ms;
        let note = self.note(place as usize);
        let is_same = note.at_ms > 0 && note.identity == identity && count >= note.count;
        let passed_ms = now_ms.saturating_sub(note.at_ms);
        if !is_same || passed_ms > FORGOTTEN_MS {
            *note = Note { identity, count, at_ms: now_ms.max(1), rate_and_one: 0 };
        } else if passed_ms >= INTERVAL_MS {
            let rate = (count - note.count).saturating_mul(1_000) / passed_ms;
            *note = Note { identity, count, at_ms: now_ms, rate_and_one: rate + 1 };
        }
        note.rate_and_one.checked_sub(1)
    }

    fn note(&mut self, place: usize) -> &mut Note {
        let chunk = place / PLACES_PER_CHUNK;
        if self.chunks.len() <= chunk {
            self.chunks.resize_with(chunk + 1, || None);
        }
        let notes = self.chunks[chunk]
            .get_or_insert_with(|| vec![Note::default(); PLACES_PER_CHUNK].into_boxed_slice());
        &mut notes[place % PLACES_PER_CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VIEW: &View = &View { name: "items", about: &[], columns: &[] };

    #[test]
    fn a_rate_is_that_of_the_last_whole_interval() {
        let mut rates = Rates::new(VIEW);
        assert_eq!(rates.look(7, 1, 1_000, 5_000), None, "the first look begins");
        assert_eq!(rates.look(7, 1, 1_090, 5_300), None, "too short");
        assert_eq!(rates.look(7, 1, 1_400, 6_000), Some(400));
        assert_eq!(rates.look(7, 1, 9_999, 6_500), Some(400), "another one looks, too");
        assert_eq!(rates.look(7, 1, 2_400, 8_000), Some(500));
        assert_eq!(rates.look(7, 1, 2_400, 9_000), Some(0));
    }

    #[test]
    fn what_takes_a_place_has_no_rate_of_what_was_there() {
        let mut rates = Rates::new(VIEW);
        rates.look(7, 1, 10, 1_000);
        assert_eq!(rates.look(7, 2, 90_000, 2_000), None);
        assert_eq!(rates.look(7, 2, 90_050, 3_000), Some(50));
        assert_eq!(rates.look(7, 2, 3, 4_000), None, "it was counted anew");
    }

    #[test]
    fn an_old_note_is_no_beginning() {
        let mut rates = Rates::new(VIEW);
        rates.look(5_000, 1, 10, 1_000);
        assert!(!rates.is_forgotten(11_000) && rates.is_forgotten(11_001));
        assert_eq!(rates.look(5_000, 1, 10_000_000, 20_000), None);
        assert_eq!([(); 3].map(|()| rates.release()), [false, false, true]);
    }
}
