//! Units out of a stream.

use crate::unit::Unit;

/// Cuts a stream of bytes, as it comes, into units.
#[derive(Clone, Debug, Default)]
pub(crate) struct Frames {
    /// A unit whose end has not come.
    part: Vec<u8>,
}

impl Frames {
    /// Takes bytes; `each` gets every whole unit and says whether to go on. Returns
    /// whether the stream can be read on.
    pub(crate) fn read(&mut self, bytes: &[u8], mut each: impl FnMut(&[u8]) -> bool) -> bool {
        self.part.extend_from_slice(bytes);
        let mut done = 0;
        while let Some(len) = Unit::len_of(&self.part[done..]) {
            let Some(unit) = self.part.get(done..done + len) else { break };
            done += len;
            if Unit::read(unit).is_err() {
                return false;
            }
            if !each(unit) {
                return true;
            }
        }
        self.part.drain(..done);
        true
    }
}
