//! Messages in JSON, each converted once.
//!
//! ```text
//!  short         one of few places by where the bytes lie: the forms of an update
//!  long          images and their parts: the least recently used one goes
//!  dictionaries  the same for them alone, so that no image drives one out
//! ```

use core::ops::Range;

use crate::Shared;

/// Messages up to this many bytes of RWF are short.
const SHORT_BYTES: usize = 16 << 10;

/// Places for short messages: at least [`NEIGHBOURS`] forms of one update are
/// converted once each, and as a rule some dozens.
const SHORT_PLACES: usize = 128;

/// Places that are looked at for a short message.
const NEIGHBOURS: usize = 8;
const LONG: Pool = Pool { first: SHORT_PLACES, places: 32, max_bytes: 8 << 20 };
/// Two dictionaries in a few verbosities for a few services, some megabytes
/// each.
const DICTIONARIES: Pool =
    Pool { first: SHORT_PLACES + LONG.places, places: 16, max_bytes: 48 << 20 };

/// Places for long messages.
#[derive(Clone, Copy)]
struct Pool {
    first: usize,
    places: usize,
    /// Most bytes that are kept in all of them, but for the last one filled.
    max_bytes: usize,
}

impl Pool {
    const fn range(self) -> Range<usize> {
        self.first..self.first + self.places
    }
}

/// Bodies of messages, each all that comes behind the `ID`, with the bytes they were
/// made of.
#[derive(Debug)]
pub(super) struct Bodies {
    places: Vec<Body>,
    /// Counts what is written and what is found.
    clock: u64,
}

/// A message in both forms.
#[derive(Clone, Debug, Default)]
struct Body {
    rwf: Vec<u8>,
    json: Vec<u8>,
    /// When it was written; 0 while it is of no message.
    stamp: u64,
    /// When it was found last.
    used: u64,
}

impl Body {
    fn is_of(&self, rwf: &[u8]) -> bool {
        self.stamp != 0 && self.rwf == rwf
    }

    fn bytes(&self) -> usize {
        self.rwf.capacity() + self.json.capacity()
    }
}

/// Where the body of a message is, or may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Body(usize),
    Room(usize),
}

impl Bodies {
    pub(super) fn new() -> Self {
        Self { places: vec![Body::default(); DICTIONARIES.range().end], clock: 0 }
    }

    /// Looks for the body of a message.
    pub(super) fn find(&mut self, rwf: &[u8], is_dictionary: bool) -> Found {
        self.clock += 1;
        let range = match pool_of(rwf, is_dictionary) {
            Some(pool) => pool.range(),
            None => neighbours(rwf),
        };
        let mut oldest = range.start;
        for place in range {
            if self.places[place].is_of(rwf) {
                self.places[place].used = self.clock;
                return Found::Body(place);
            }
            if self.places[place].used < self.places[oldest].used {
                oldest = place;
            }
        }
        Found::Room(oldest)
    }

    /// Writes the body of a message where [`find`](Self::find) found room.
    pub(super) fn fill<E>(
        &mut self,
        place: usize,
        rwf: &[u8],
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let body = &mut self.places[place];
        if body.json.capacity() > 8 * SHORT_BYTES {
            // That of a burst, or of another long message.
            *body = Body::default();
        }
        body.rwf.clear();
        body.rwf.extend_from_slice(rwf);
        body.json.clear();
        body.stamp = 0;
        write(&mut body.json)?;
        (body.stamp, body.used) = (self.clock, self.clock);
        for pool in [LONG, DICTIONARIES] {
            if pool.range().contains(&place) {
                self.make_room(pool, place);
            }
        }
        Ok(())
    }

    /// Forgets bodies, the least recently used first, until the rest is within
    /// the bytes of the pool.
    fn make_room(&mut self, pool: Pool, filled: usize) {
        let bodies = &mut self.places[pool.range()];
        while bodies.iter().map(Body::bytes).sum::<usize>() > pool.max_bytes {
            let others = bodies.iter_mut().enumerate();
            let others = others.filter(|(at, body)| pool.first + at != filled && body.bytes() > 0);
            let Some((_, oldest)) = others.min_by_key(|(_, body)| body.used) else { return };
            *oldest = Body::default();
        }
    }

    /// The body at a place, for [`at`](Self::at).
    pub(super) fn shared(&self, place: usize) -> Shared {
        Shared { place, stamp: self.places[place].stamp }
    }

    /// The body that was found before, if it is there still.
    #[inline]
    pub(super) fn at(&self, shared: &Shared) -> Option<&[u8]> {
        let body = self.places.get(shared.place)?;
        (body.stamp == shared.stamp && body.stamp != 0).then_some(&*body.json)
    }

    /// Forgets all.
    pub(super) fn forget(&mut self) {
        self.places.fill(Body::default());
    }
}

/// The places for a short message. Where its bytes lie only says where to look:
/// what counts is whether they are the same.
fn neighbours(rwf: &[u8]) -> Range<usize> {
    // The forms of an update lie at equal distances, which a multiple of the golden
    // ratio spreads evenly whatever the distance is.
    const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
    const GROUPS_LOG2: u32 = (SHORT_PLACES / NEIGHBOURS).ilog2();
    let lines = (rwf.as_ptr().addr() >> 4) as u64;
    let first = (lines.wrapping_mul(GOLDEN) >> (u64::BITS - GROUPS_LOG2)) as usize * NEIGHBOURS;
    first..first + NEIGHBOURS
}

fn pool_of(rwf: &[u8], is_dictionary: bool) -> Option<Pool> {
    match rwf.len() > SHORT_BYTES {
        true if is_dictionary => Some(DICTIONARIES),
        true => Some(LONG),
        false => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a message is converted to here: its length and first byte.
    fn json(bodies: &mut Bodies, rwf: &[u8], is_dictionary: bool) -> (Shared, bool) {
        match bodies.find(rwf, is_dictionary) {
            Found::Body(place) => (bodies.shared(place), true),
            Found::Room(place) => {
                let text = format!("{} {}", rwf.len(), rwf[0]);
                let written: Result<(), ()> = bodies.fill(place, rwf, |json| {
                    json.extend_from_slice(text.as_bytes());
                    json.reserve_exact(rwf.len());
                    Ok(())
                });
                assert_eq!(written, Ok(()));
                (bodies.shared(place), false)
            }
        }
    }

    #[test]
    fn a_body_is_found_by_its_bytes_and_by_nothing_else() {
        let mut bodies = Bodies::new();
        let mut bytes = vec![1, 2, 3];
        let (first, _) = json(&mut bodies, &bytes, false);
        assert_eq!(bodies.at(&first), Some(&b"3 1"[..]));
        assert_eq!(json(&mut bodies, &bytes, false), (first, true));
        // Another message in the same place of memory.
        bytes[0] = 9;
        let (second, is_known) = json(&mut bodies, &bytes, false);
        assert!(!is_known);
        assert_eq!((bodies.at(&first), bodies.at(&second)), (Some(&b"3 1"[..]), Some(&b"3 9"[..])));
        for other in 10..30 {
            bytes[0] = other;
            json(&mut bodies, &bytes, false);
        }
        assert_eq!((bodies.at(&first), bodies.at(&second)), (None, None), "others are there");
        let (last, _) = json(&mut bodies, &bytes, false);
        bodies.forget();
        assert_eq!((bodies.at(&last), bodies.at(&Shared::default())), (None, None));
        assert!(!json(&mut bodies, &bytes, false).1);
    }

    #[test]
    fn many_forms_of_one_update_are_converted_once_each() {
        for (forms, bytes) in [(32, 104), (32, 200), (16, 1_040), (8, 4_096)] {
            let mut bodies = Bodies::new();
            let memory: Vec<u8> = (0..forms * bytes).map(|at| (at / bytes) as u8).collect();
            for round in 0..3 {
                for form in memory.chunks(bytes) {
                    let (_, is_known) = json(&mut bodies, form, false);
                    assert_eq!(is_known, round > 0, "{forms} of {bytes}: {}", form[0]);
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_written_is_not_kept() {
        let mut bodies = Bodies::new();
        let Found::Room(place) = bodies.find(&[1], false) else { panic!("it is empty") };
        assert_eq!(bodies.fill(place, &[1], |_| Err("bad")), Err("bad"));
        assert_eq!(bodies.find(&[1], false), Found::Room(place));
        assert_eq!(bodies.at(&bodies.shared(place)), None);
    }

    #[test]
    fn images_in_parts_are_converted_once_and_drive_no_dictionary_out() {
        let mut bodies = Bodies::new();
        let dictionary = vec![7; 2 << 20];
        let of = |kind: u8| vec![kind; 60_000];
        assert!(!json(&mut bodies, &dictionary, true).1);
        for round in 0..3 {
            for part in 0..20 {
                assert_eq!(json(&mut bodies, &of(part), false).1, round > 0, "{part}");
            }
        }
        for kind in 0..255 {
            json(&mut bodies, &of(kind), false);
        }
        assert!(json(&mut bodies, &dictionary, true).1);
        assert!(!json(&mut bodies, &of(0), false).1, "the oldest went");
        assert!(json(&mut bodies, &of(254), false).1);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let mut bodies = Bodies::new();
        for kind in 0..40 {
            let (shared, _) = json(&mut bodies, &vec![kind; 3 << 20], kind % 2 == 0);
            assert!(bodies.at(&shared).is_some(), "the last one is there");
        }
        let kept: usize = bodies.places.iter().map(Body::bytes).sum();
        assert!(kept <= LONG.max_bytes + DICTIONARIES.max_bytes, "{kept}");
    }
}
