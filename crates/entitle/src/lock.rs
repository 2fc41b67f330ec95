//! Locks: what an item demands, as the bytes of its permission data say it.
//!
//! A lock is a byte of type and version, the number of a service, and nibbles:
//! the decimal digits of permission codes (PEs), `A` for *and*, `B` for *or*,
//! `D` for the end of one source's codes, `C` for the end of the lock. There is
//! no bracket, and *or* binds tighter: a source's codes are groups of which
//! each wants one of its codes. What several sources demand is demanded
//! together.

use std::fmt;

use thiserror::Error;

/// A longer lock is refused: 256 codes of ten digits, as a news item may have,
/// take half of it.
pub const MAX_LOCK_BYTES: usize = 4096;
/// More places where a source could begin than this make a lock malformed; an
/// item has a handful of sources.
const MAX_PLACES: usize = 48;
/// The type of a standard lock.
const STANDARD: u8 = 3;
const AND: u8 = 0xA;
const OR: u8 = 0xB;
const END: u8 = 0xC;
const END_OF_SOURCE: u8 = 0xD;

/// Why a lock cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum LockError {
    /// It ends before its end code, or has no code, or digits where none are.
    #[error("the lock is malformed; correct it at its publisher")]
    Malformed,
    /// It is of a type that is not published.
    #[error("the lock is of type {0}; only type 3 is read")]
    Type(u8),
    /// Its second source can be read in two ways.
    #[error("the lock's second source can be read in two ways; set `lock-sources` in [entitle]")]
    Ambiguous,
    /// It is longer than any that is read.
    #[error("the lock has more than 4096 bytes")]
    TooLong,
}

/// How the second source of a lock stands behind the first: only a figure of
/// the vendor's guide shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sources {
    /// All ways are tried, and a lock that two of them can read is refused.
    #[default]
    Unambiguous,
    /// On a byte boundary, with the service's number.
    Aligned,
    /// On a byte boundary, with type and service's number.
    Repeated,
    /// At the next nibble, with the service's number.
    Packed,
}

/// What one source of an item demands.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Demand {
    /// The number of the source's service.
    pub service: u16,
    /// Groups of codes: one of each group is needed.
    pub groups: Vec<Vec<u32>>,
}

impl Demand {
    /// One of these codes.
    pub fn any(service: u16, codes: &[u32]) -> Self {
        Self { service, groups: vec![codes.to_vec()] }
    }

    /// Each of these codes.
    pub fn all(service: u16, codes: &[u32]) -> Self {
        Self { service, groups: codes.iter().map(|code| vec![*code]).collect() }
    }

    /// Groups in order and without those that others make superfluous:
    /// A&A = A, A|A = A, (A|B)&A = A.
    fn reduce(&mut self) {
        for group in &mut self.groups {
            group.sort_unstable();
            group.dedup();
        }
        self.groups.sort_unstable();
        self.groups.dedup();
        let groups = std::mem::take(&mut self.groups);
        let covers = |small: &[u32], large: &[u32]| {
            small.len() < large.len() && small.iter().all(|code| large.contains(code))
        };
        let is_needed = |group: &&Vec<u32>| !groups.iter().any(|other| covers(other, group));
        self.groups = groups.iter().filter(is_needed).cloned().collect();
    }
}

/// What an item demands: of each source, in the order of the lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lock {
    demands: Vec<Demand>,
}

impl Lock {
    /// A lock of these demands. Those of the same service become one.
    pub fn new(demands: impl IntoIterator<Item = Demand>) -> Self {
        let mut joined: Vec<Demand> = Vec::new();
        for demand in demands {
            match joined.iter_mut().find(|other| other.service == demand.service) {
                Some(other) => other.groups.extend(demand.groups),
                None => joined.push(demand),
            }
        }
        joined.iter_mut().for_each(Demand::reduce);
        Self { demands: joined }
    }

    /// What both demand together.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        Self::new(self.demands.iter().chain(&other.demands).cloned())
    }

    /// The demands of the sources.
    pub fn demands(&self) -> &[Demand] {
        &self.demands
    }

    /// Whether it opens for who has the codes that `has` knows, by service.
    pub fn opens(&self, mut has: impl FnMut(u16, u32) -> bool) -> bool {
        self.demands.iter().all(|demand| {
            demand.groups.iter().all(|group| group.iter().any(|code| has(demand.service, *code)))
        })
    }

    /// What of it does not open: the groups that `has` has no code of.
    #[must_use]
    pub fn missing(&self, mut has: impl FnMut(u16, u32) -> bool) -> Self {
        let demands = self.demands.iter().map(|demand| {
            let is_missing =
                |group: &&Vec<u32>| !group.iter().any(|code| has(demand.service, *code));
            let groups = demand.groups.iter().filter(is_missing).cloned().collect();
            Demand { service: demand.service, groups }
        });
        Self { demands: demands.filter(|demand| !demand.groups.is_empty()).collect() }
    }

    /// Reads the bytes of a lock.
    pub fn decode(bytes: &[u8], sources: Sources) -> Result<Self, LockError> {
        match bytes {
            _ if bytes.len() > MAX_LOCK_BYTES => Err(LockError::TooLong),
            [STANDARD, ..] => {
                let mut reading = Reading { bytes, sources, places: 0, known: Vec::new() };
                let mut found = reading.source(2);
                match found.len() {
                    _ if reading.places > MAX_PLACES => Err(LockError::Malformed),
                    0 => Err(LockError::Malformed),
                    1 => Ok(Self::new(found.remove(0))),
                    _ => Err(LockError::Ambiguous),
                }
            }
            [other, _, _, ..] => Err(LockError::Type(*other)),
            _ => Err(LockError::Malformed),
        }
    }

    /// Writes the bytes of a lock; `sources` says where a second source goes
    /// (`Unambiguous` writes it as `Aligned`).
    pub fn encode(&self, sources: Sources) -> Vec<u8> {
        let mut nibbles = vec![0, STANDARD];
        for (index, demand) in self.demands.iter().enumerate() {
            if index > 0 {
                nibbles.push(END_OF_SOURCE);
                if sources != Sources::Packed && nibbles.len() % 2 == 1 {
                    nibbles.push(0);
                }
                if sources == Sources::Repeated {
                    nibbles.extend([0, STANDARD]);
                }
            }
            nibbles.extend([12, 8, 4, 0].map(|shift| (demand.service >> shift & 0xF) as u8));
            for (index, group) in demand.groups.iter().enumerate() {
                if index > 0 {
                    nibbles.push(AND);
                }
                for (index, code) in group.iter().enumerate() {
                    if index > 0 {
                        nibbles.push(OR);
                    }
                    nibbles.extend(code.to_string().bytes().map(|digit| digit - b'0'));
                }
            }
        }
        nibbles.push(END);
        nibbles.chunks(2).map(|pair| pair[0] << 4 | pair.get(1).unwrap_or(&0)).collect()
    }
}

/// The bytes of a lock that demands what both demand; `None` if one of them
/// cannot be read, or if the result would mean different things to different
/// [`Sources`]: a lock of two sources.
pub fn join(a: &[u8], b: &[u8]) -> Option<Vec<u8>> {
    let read = |bytes| Lock::decode(bytes, Sources::Unambiguous).ok();
    let joined = read(a)?.and(&read(b)?);
    let bytes = joined.encode(Sources::Aligned);
    (joined.demands.len() == 1 && bytes.len() <= MAX_LOCK_BYTES).then_some(bytes)
}

impl fmt::Display for Lock {
    /// The codes with `&` and `|`, of the sources one after the other.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = self.demands.iter().flat_map(|demand| &demand.groups);
        let several = groups.clone().count() > 1;
        for (index, group) in groups.enumerate() {
            let codes: Vec<String> = group.iter().map(ToString::to_string).collect();
            let and = if index > 0 { "&" } else { "" };
            match several && group.len() > 1 {
                true => write!(f, "{and}({})", codes.join("|"))?,
                false => write!(f, "{and}{}", codes.join("|"))?,
            }
        }
        Ok(())
    }
}

/// The rest of a lock from one of its nibbles on.
type Rest = Vec<Demand>;

struct Reading<'b> {
    bytes: &'b [u8],
    sources: Sources,
    /// How many places were looked at.
    places: usize,
    /// What the rests are that were read already, so that a lock with many
    /// sources is not read again for every way to its end. Two are enough to
    /// know that there is no single one.
    known: Vec<(usize, Vec<Rest>)>,
}

impl Reading<'_> {
    fn nibble(&self, at: usize) -> Option<u8> {
        let byte = *self.bytes.get(at / 2)?;
        Some(if at.is_multiple_of(2) { byte >> 4 } else { byte & 0xF })
    }

    /// The ways to read a source, and all behind it, from its service on.
    fn source(&mut self, at: usize) -> Vec<Rest> {
        if let Some((_, rests)) = self.known.iter().find(|(known, _)| *known == at) {
            return rests.clone();
        }
        self.places += 1;
        let rests = match self.places > MAX_PLACES {
            true => Vec::new(),
            false => self.read_source(at).unwrap_or_default(),
        };
        self.known.push((at, rests.clone()));
        rests
    }

    fn read_source(&mut self, at: usize) -> Option<Vec<Rest>> {
        let mut service = 0;
        for index in 0..4 {
            service = service << 4 | u16::from(self.nibble(at + index)?);
        }
        let (groups, end) = self.groups(at + 4)?;
        let demand = Demand { service, groups };
        if self.nibble(end) == Some(END) {
            return self.is_blank(end + 1).then(|| vec![vec![demand]]);
        }
        let next = end + 1;
        let aligned = next.next_multiple_of(2);
        let mut starts = Vec::with_capacity(3);
        let ways = self.sources;
        if ways == Sources::Packed || ways == Sources::Unambiguous {
            starts.push(next);
        }
        let is_padded = aligned == next || self.nibble(next) == Some(0);
        if is_padded && (ways == Sources::Aligned || ways == Sources::Unambiguous) {
            starts.push(aligned);
        }
        let is_repeated = self.bytes.get(aligned / 2) == Some(&STANDARD);
        if is_padded && is_repeated && (ways == Sources::Repeated || ways == Sources::Unambiguous) {
            starts.push(aligned + 2);
        }
        let mut rests: Vec<Rest> = Vec::new();
        for start in starts {
            for mut rest in self.source(start) {
                rest.insert(0, demand.clone());
                if rests.len() < 2 && !rests.contains(&rest) {
                    rests.push(rest);
                }
            }
        }
        Some(rests)
    }

    /// The codes of one source and where their end code is.
    fn groups(&self, mut at: usize) -> Option<(Vec<Vec<u32>>, usize)> {
        let mut groups = vec![Vec::new()];
        loop {
            let mut code = None;
            let end = loop {
                match self.nibble(at)? {
                    digit @ 0..=9 => {
                        let before = code.unwrap_or(0u32).checked_mul(10)?;
                        code = Some(before.checked_add(u32::from(digit))?);
                    }
                    end => break end,
                }
                at += 1;
            };
            groups.last_mut()?.push(code?);
            match end {
                OR => {}
                AND => groups.push(Vec::new()),
                END | END_OF_SOURCE => return Some((groups, at)),
                _ => return None,
            }
            at += 1;
        }
    }

    /// Whether there are only zeros to the end of this byte, and no byte more.
    fn is_blank(&self, at: usize) -> bool {
        at.div_ceil(2) == self.bytes.len()
            && self.nibble(at).is_none_or(|nibble| at.is_multiple_of(2) || nibble == 0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        text.split(' ').map(|byte| u8::from_str_radix(byte, 16).expect("hex")).collect()
    }

    #[test]
    fn published_locks_are_read_and_written() {
        for (bytes, lock, text) in [
            ("03 01 01 65 62 C0", Demand::any(257, &[6562]), "6562"),
            ("03 13 88 62 C0", Demand::any(5000, &[62]), "62"),
            ("03 13 88 62 B1 44 C0", Demand::any(5000, &[62, 144]), "62|144"),
            ("03 13 88 62 B6 3B 14 4C", Demand::any(5000, &[62, 63, 144]), "62|63|144"),
            ("03 00 1E 62 A1 44 C0", Demand::all(30, &[62, 144]), "62&144"),
        ] {
            let lock = Lock::new([lock]);
            assert_eq!(Lock::decode(&hex(bytes), Sources::default()), Ok(lock.clone()), "{bytes}");
            assert_eq!(lock.encode(Sources::default()), hex(bytes), "{bytes}");
            assert_eq!(lock.to_string(), text);
        }
    }

    #[test]
    fn an_and_of_ors_is_reduced() {
        let either = Lock::new([Demand::any(1, &[456, 985])]);
        let lock = Lock::new([Demand::all(1, &[1027, 5000])]).and(&either).and(&either);
        assert_eq!(lock.to_string(), "(456|985)&1027&5000");
        let narrowed = lock.and(&Lock::new([Demand::all(1, &[985])]));
        assert_eq!(narrowed.to_string(), "985&1027&5000");
    }

    #[test]
    fn locks_that_cannot_be_read_are_refused() {
        for bytes in
            ["03", "03 13 88", "03 13 88 C0", "03 13 88 62", "03 13 88 62 B0", "03 13 88 6E C0"]
        {
            let read = Lock::decode(&hex(bytes), Sources::default());
            assert!(matches!(read, Err(LockError::Malformed)), "{bytes}: {read:?}");
        }
        for bytes in
            ["03 13 88 62 C1", "03 13 88 62 C0 00", "03 13 88 AC", "03 13 88 99 99 99 99 99 9C"]
        {
            assert_eq!(Lock::decode(&hex(bytes), Sources::default()), Err(LockError::Malformed));
        }
        assert_eq!(
            Lock::decode(&hex("02 13 88 62 C0"), Sources::default()),
            Err(LockError::Type(2))
        );
        assert_eq!(Lock::decode(&[3; 5000], Sources::default()), Err(LockError::TooLong));
    }

    #[test]
    fn a_second_source_that_can_be_read_in_two_ways_is_refused() {
        let lock = Lock::new([Demand::any(5000, &[621]), Demand::any(257, &[9])]);
        let bytes = lock.encode(Sources::Repeated);
        assert_eq!(Lock::decode(&bytes, Sources::Unambiguous), Err(LockError::Ambiguous));
        assert_eq!(Lock::decode(&bytes, Sources::Repeated), Ok(lock));
    }

    #[test]
    fn locks_of_one_source_are_joined_and_others_are_not() {
        let lock = |service, codes: &[u32]| {
            Lock::new([Demand::any(service, codes)]).encode(Sources::Aligned)
        };
        let joined = join(&lock(257, &[62, 63]), &lock(257, &[144])).expect("of one source");
        let read = Lock::decode(&joined, Sources::Packed).expect("a lock");
        assert_eq!(read.to_string(), "(62|63)&144");
        assert_eq!(join(&joined, &lock(257, &[144])), Some(joined.clone()));
        assert_eq!(join(&joined, &lock(258, &[144])), None, "of two sources");
        assert_eq!(join(&joined, &[3, 1]), None, "malformed");
        assert_eq!(join(&[], &joined), None, "no lock is not one that opens");
        let many: Vec<u32> = (1_000_000_000..1_000_000_400).collect();
        let long = Lock::new([Demand::all(257, &many)]).encode(Sources::Aligned);
        let others: Vec<u32> = (2_000_000_000..2_000_000_400).collect();
        let other = Lock::new([Demand::all(257, &others)]).encode(Sources::Aligned);
        assert_eq!(join(&long, &other), None, "too long");
    }

    #[test]
    fn many_sources_take_no_more_time_than_their_bytes() {
        let bytes = [&[3][..], &[0x11, 0x11, 0x1D].repeat(1000), &[0x11, 0x11, 0x1C]].concat();
        assert_eq!(Lock::decode(&bytes, Sources::Unambiguous), Err(LockError::Malformed));
    }

    fn demand() -> impl Strategy<Value = Demand> {
        let group = prop::collection::vec(prop_oneof![1u32..40, any::<u32>()], 1..4);
        (1u16..4, prop::collection::vec(group, 1..4))
            .prop_map(|(service, groups)| Demand { service, groups })
    }

    fn demands() -> impl Strategy<Value = Vec<Demand>> {
        prop::collection::vec(demand(), 1..4)
    }

    /// The rule as it is written down, without reduction.
    fn naive(demands: &[Demand], has: &[(u16, u32)]) -> bool {
        for demand in demands {
            for group in &demand.groups {
                let mut one = false;
                for code in group {
                    one |= has.contains(&(demand.service, *code));
                }
                if !one {
                    return false;
                }
            }
        }
        true
    }

    proptest! {
        #[test]
        fn reduction_and_bytes_change_no_answer(
            demands in demands(),
            other in demands(),
            codes in prop::collection::vec((1u16..4, 1u32..40), 0..80),
        ) {
            let lock = Lock::new(demands.clone()).and(&Lock::new(other.clone()));
            let all = [demands, other].concat();
            let answer = naive(&all, &codes);
            let has = |service, code| codes.contains(&(service, code));
            prop_assert_eq!(lock.opens(has), answer);
            prop_assert_eq!(lock.missing(has).demands().is_empty(), answer);
            for sources in [Sources::Aligned, Sources::Repeated, Sources::Packed] {
                let read = Lock::decode(&lock.encode(sources), sources);
                prop_assert_eq!(read, Ok(lock.clone()));
            }
        }

        #[test]
        fn no_bytes_are_too_odd(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            for sources in [Sources::Unambiguous, Sources::Aligned, Sources::Packed] {
                if let Ok(lock) = Lock::decode(&bytes, sources) {
                    prop_assert_eq!(Lock::decode(&lock.encode(Sources::Aligned), Sources::Aligned), Ok(lock));
                }
            }
        }
    }
}
