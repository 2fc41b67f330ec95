//! Messages in JSON, each converted once.

/// Messages up to this many bytes of RWF are kept in one of many places, longer
/// ones in a place of their own.
const LONG_BYTES: usize = 16 << 10;

/// Places for short messages: as many forms of one update are converted once.
const PLACES: usize = 64;

/// What comes behind the `ID` of messages, with the bytes they were made of.
#[derive(Debug)]
pub(super) struct Tails {
    /// By where the bytes lie, which only says where to look: what counts is
    /// whether they are the same.
    places: Vec<Tail>,
    long: Tail,
}

/// A message in both forms.
#[derive(Clone, Debug, Default)]
pub(super) struct Tail {
    rwf: Vec<u8>,
    pub(super) json: Vec<u8>,
}

impl Tail {
    /// Whether this is the message.
    #[inline]
    pub(super) fn is_of(&self, rwf: &[u8]) -> bool {
        self.rwf == rwf
    }

    /// Makes it that message, with nothing written yet.
    pub(super) fn restart(&mut self, rwf: &[u8]) {
        self.rwf.clear();
        self.rwf.extend_from_slice(rwf);
        self.json.clear();
        if self.json.capacity() > 8 * LONG_BYTES && rwf.len() <= LONG_BYTES {
            self.json = Vec::new();
        }
    }

    /// Forgets what it is of.
    pub(super) fn forget(&mut self) {
        self.rwf.clear();
    }
}

impl Tails {
    pub(super) fn new() -> Self {
        Self { places: vec![Tail::default(); PLACES], long: Tail::default() }
    }

    /// Where the tail of a message is, if it is anywhere.
    #[inline]
    pub(super) fn of(&mut self, rwf: &[u8]) -> &mut Tail {
        if rwf.len() > LONG_BYTES {
            return &mut self.long;
        }
        let address = rwf.as_ptr().addr();
        &mut self.places[((address >> 4) ^ (address >> 10)) % PLACES]
    }

    pub(super) fn forget(&mut self) {
        self.long.forget();
        self.places.iter_mut().for_each(Tail::forget);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tail_is_found_by_its_bytes_and_by_nothing_else() {
        let mut tails = Tails::new();
        let mut bytes = vec![1, 2, 3];
        assert!(!tails.of(&bytes).is_of(&bytes));
        tails.of(&bytes).restart(&bytes);
        tails.of(&bytes).json.extend_from_slice(b"text");
        assert!(tails.of(&bytes).is_of(&bytes));
        // Another message in the same place of memory.
        bytes[1] = 9;
        assert!(!tails.of(&bytes).is_of(&bytes));
        bytes[1] = 2;
        assert!(tails.of(&bytes).is_of(&bytes));
        tails.forget();
        assert!(!tails.of(&bytes).is_of(&bytes));
    }
}
