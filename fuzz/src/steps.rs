//! An input as a list of steps: the bytes of each are taken as it needs them.

/// What is left of an input. Beyond its end there are zeros.
#[derive(Debug)]
pub struct Steps<'a> {
    rest: &'a [u8],
}

impl<'a> Steps<'a> {
    /// All of it.
    pub fn new(data: &'a [u8]) -> Self {
        Self { rest: data }
    }

    /// Whether there is nothing left.
    pub fn is_over(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        *first
    }

    /// A number below this, from the next byte.
    pub fn below(&mut self, bound: usize) -> usize {
        usize::from(self.byte()) % bound.max(1)
    }

    /// Yes or no, one bit of the next byte.
    pub fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// One of some, if there are any.
    pub fn one<'s, T>(&mut self, some: &'s [T]) -> Option<&'s T> {
        let place = self.below(some.len());
        some.get(place)
    }

    /// So many of the bytes that follow as the next byte says.
    pub fn bytes(&mut self) -> &'a [u8] {
        let count = usize::from(self.byte());
        let (bytes, rest) = self.rest.split_at(count.min(self.rest.len()));
        self.rest = rest;
        bytes
    }
}
