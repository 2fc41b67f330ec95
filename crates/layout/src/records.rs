//! Records of one layout, one behind the other, for what is kept of a program's
//! state: sections of them, each with how long its records are and how many there
//! are, so that another layout is noticed.

/// What [`message!`](crate::message) makes.
pub trait Record: Sized {
    /// How many bytes it has.
    const LEN: usize;

    /// Appends its bytes.
    fn append(self, out: &mut Vec<u8>);

    /// Reads it from bytes of this length.
    fn from_bytes(bytes: &[u8]) -> Option<Self>;
}

/// Bytes in front of a section.
const HEAD: usize = 12;

fn begin(out: &mut Vec<u8>, record_len: usize) -> usize {
    out.extend_from_slice(&(record_len as u32).to_le_bytes());
    out.extend_from_slice(&0_u64.to_le_bytes());
    out.len()
}

fn end(out: &mut [u8], start: usize, count: u64) {
    out[start - 8..start].copy_from_slice(&count.to_le_bytes());
}

/// Appends a section of records.
pub fn append_section<R: Record>(out: &mut Vec<u8>, records: impl IntoIterator<Item = R>) {
    let start = begin(out, R::LEN);
    let mut count = 0;
    for record in records {
        record.append(out);
        count += 1;
    }
    end(out, start, count);
}

/// Appends a section of plain bytes.
pub fn append_blob(out: &mut Vec<u8>, bytes: &[u8]) {
    let start = begin(out, 1);
    out.extend_from_slice(bytes);
    end(out, start, bytes.len() as u64);
}

/// Reads sections, in the order in which they were appended.
#[derive(Clone, Copy, Debug)]
pub struct Sections<'b> {
    rest: &'b [u8],
}

impl<'b> Sections<'b> {
    /// The sections of some bytes.
    pub const fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The bytes of the next section. `None` if it is not whole, or its records have
    /// another length.
    fn section(&mut self, record_len: usize) -> Option<&'b [u8]> {
        let (head, rest) = self.rest.split_at_checked(HEAD)?;
        let (len, count) = head.split_at(4);
        let found_len = u32::from_le_bytes(len.try_into().ok()?) as usize;
        let count = usize::try_from(u64::from_le_bytes(count.try_into().ok()?)).ok()?;
        let (section, behind) = rest.split_at_checked(count.checked_mul(found_len)?)?;
        self.rest = behind;
        (found_len == record_len).then_some(section)
    }

    /// All records of the next section. `None` if it is not whole, or of another
    /// layout.
    pub fn records<R: Record>(&mut self) -> Option<Vec<R>> {
        self.section(R::LEN)?.chunks_exact(R::LEN).map(R::from_bytes).collect()
    }

    /// The one record of the next section.
    pub fn record<R: Record>(&mut self) -> Option<R> {
        let mut records = self.records()?;
        records.pop().filter(|_| records.is_empty())
    }

    /// The plain bytes of the next section.
    pub fn blob(&mut self) -> Option<&'b [u8]> {
        self.section(1)
    }

    /// Whether nothing is left.
    pub const fn is_over(&self) -> bool {
        self.rest.is_empty()
    }
}

#[cfg(test)]
#[allow(unreachable_pub, dead_code, reason = "what the macro makes is public")]
mod tests {
    use super::*;
    use crate::message;

    message! {
        /// For the test.
        Pair: 6, fill 0 {
            /// One.
            0 => one: u16,
            /// Two.
            2 => two: u32,
        }
    }

    message! {
        /// Of another length.
        Other: 7, fill 0 {
            /// One.
            0 => one: u16,
        }
    }

    #[test]
    fn sections_are_read_as_they_were_written_and_nothing_else_is() {
        let pairs = [Pair { one: 1, two: 2 }, Pair { one: 3, two: 4 }];
        let mut bytes = Vec::new();
        append_section(&mut bytes, pairs);
        append_blob(&mut bytes, b"abc");
        append_section(&mut bytes, [pairs[0]]);
        let mut sections = Sections::new(&bytes);
        assert_eq!(sections.records::<Pair>().expect("two"), pairs);
        assert_eq!(sections.blob(), Some(&b"abc"[..]));
        assert_eq!((sections.record(), sections.is_over()), (Some(pairs[0]), true));
        assert_eq!(sections.records::<Pair>(), None, "there is no more");
        assert_eq!(Sections::new(&bytes).record::<Pair>(), None, "there are two");
        assert_eq!(Sections::new(&bytes).records::<Other>(), None, "another length");
        for len in 0..24 {
            assert_eq!(Sections::new(&bytes[..len]).records::<Pair>(), None, "{len} bytes");
        }
        let mut huge = bytes;
        huge[4..12].fill(0xff);
        assert_eq!(Sections::new(&huge).records::<Pair>(), None);
    }
}
