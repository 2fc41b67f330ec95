//! The sequencer: streams of commands in, entries out.

use std::collections::BTreeMap;

use tapeline_layout::{Sections, append_section, message};
use thiserror::Error;

use crate::command::{Command, MAX_PAYLOAD, Source};
use crate::entry::{self, Entry, EntryHead, HEAD, MAX_ENTRY};

/// Bounds of a sequencer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Commands that are taken from a stream before the next one's turn.
    pub burst: usize,
    /// Bytes of commands that wait in a stream.
    pub max_waiting_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { burst: 32, max_waiting_bytes: 4 << 20 }
    }
}

/// Why a command is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotTaken {
    /// It was taken before, by its number.
    #[error("the command was taken before")]
    Double,
    /// Its stream is full; it can be offered again.
    #[error("too many commands of the gateway wait")]
    Full,
    /// It is longer than a command may be.
    #[error("the command is longer than {MAX_PAYLOAD} bytes")]
    TooLong,
}

message! {
    /// What is of the whole sequencer.
    Numbers: 24, fill 0 {
        0 => index: u64,
        8 => time_ns: u64,
        16 => term: u32,
    }
}

message! {
    /// The number up to which a gateway's commands are taken.
    Taken: 16, fill 0 {
        0 => last: u64,
        8 => source: u16,
    }
}

/// What waits of one gateway.
#[derive(Clone, Debug, Default)]
struct Stream {
    bytes: Vec<u8>,
    /// So many of them are taken.
    taken: usize,
    /// The number of the last command that was offered.
    last: u64,
}

/// Puts all commands into one order.
///
/// Turns go round: a stream that had the first turn in one entry has the last in
/// the next, and a gateway with much to say delays the others by one burst.
#[derive(Clone, Debug)]
pub struct Sequencer {
    limits: Limits,
    streams: BTreeMap<Source, Stream>,
    /// The stream that had the first turn last.
    first: Source,
    waiting: usize,
    term: u32,
    index: u64,
    time_ns: u64,
    committed: u64,
    doubles: u64,
}

impl Sequencer {
    /// A sequencer whose first entry is number 1.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            streams: BTreeMap::new(),
            first: Source::OWN,
            waiting: 0,
            term: 1,
            index: 0,
            time_ns: 0,
            committed: 0,
            doubles: 0,
        }
    }

    /// A command waits from now on in the stream of its gateway.
    pub fn offer(&mut self, command: &Command<'_>) -> Result<(), NotTaken> {
        if command.payload.len() > MAX_PAYLOAD {
            return Err(NotTaken::TooLong);
        }
        let stream = self.streams.entry(command.source).or_default();
        if command.number <= stream.last {
            self.doubles += 1;
            return Err(NotTaken::Double);
        }
        let waits = stream.bytes.len() - stream.taken;
        if waits + command.len() > self.limits.max_waiting_bytes {
            return Err(NotTaken::Full);
        }
        stream.last = command.number;
        command.append(&mut stream.bytes);
        self.waiting += 1;
        Ok(())
    }

    /// The number of the last command that a gateway offered, also before a restart.
    pub fn last_number(&self, source: Source) -> u64 {
        self.streams.get(&source).map_or(0, |stream| stream.last)
    }

    /// Makes an entry of what waits, at a time in nanoseconds since 1970 UTC, and
    /// appends it. `None` if nothing waits. What does not fit waits on.
    pub fn sequence(&mut self, now_ns: u64, out: &mut Vec<u8>) -> Option<u64> {
        if self.waiting == 0 {
            return None;
        }
        let start = entry::begin(out);
        let next = |streams: &BTreeMap<Source, Stream>, behind: Source| {
            let mut later =
                streams.range((std::ops::Bound::Excluded(behind), std::ops::Bound::Unbounded));
            later.next().or_else(|| streams.iter().next()).map_or(behind, |(source, _)| *source)
        };
        self.first = next(&self.streams, self.first);
        let (mut at, mut count, mut is_full) = (self.first, 0, false);
        while self.waiting > 0 && !is_full {
            let burst = self.limits.burst.max(1);
            if let Some(stream) = self.streams.get_mut(&at) {
                let (taken, full) = stream.take(burst, start + MAX_ENTRY, out);
                (count, self.waiting, is_full) = (count + taken, self.waiting - taken, full);
            }
            at = next(&self.streams, at);
        }
        self.index += 1;
        self.time_ns = self.time_ns.max(now_ns);
        let head = EntryHead {
            term: self.term,
            count: count as u32,
            index: self.index,
            time_ns: self.time_ns,
            committed: self.committed,
            ..EntryHead::default()
        };
        entry::end(out, start, head);
        Some(self.index)
    }

    /// Everything up to an entry is committed; entries say so from now on.
    pub fn commit(&mut self, index: u64) {
        self.committed = self.committed.max(index);
    }

    /// Takes up after an entry that was made before, which may be committed or not.
    pub fn resume(&mut self, entry: &Entry<'_>) {
        let head = entry.head();
        (self.index, self.time_ns) = (head.index, head.time_ns);
        self.term = self.term.max(head.term);
        for command in entry.commands() {
            let stream = self.streams.entry(command.source).or_default();
            stream.last = stream.last.max(command.number);
        }
    }

    /// Appends its state behind the last entry; what waits is not in it.
    pub fn save(&self, out: &mut Vec<u8>) {
        let numbers = Numbers { index: self.index, time_ns: self.time_ns, term: self.term };
        append_section(out, [numbers]);
        let streams = self.streams.iter();
        append_section(
            out,
            streams.map(|(source, stream)| Taken { last: stream.last, source: source.0 }),
        );
    }

    /// Takes up such a state. `None` if there is none.
    pub fn restore(&mut self, sections: &mut Sections<'_>) -> Option<()> {
        let numbers: Numbers = sections.record()?;
        (self.index, self.time_ns, self.term) = (numbers.index, numbers.time_ns, numbers.term);
        self.committed = numbers.index;
        let streams: Vec<Taken> = sections.records()?;
        for Taken { source, last } in streams {
            self.streams.entry(Source(source)).or_default().last = last;
        }
        Some(())
    }

    /// Who leads is another one: entries are of this term from now on.
    pub fn set_term(&mut self, term: u32) {
        debug_assert!(term >= self.term, "terms rise");
        self.term = term;
    }

    /// The number of the last entry.
    pub const fn index(&self) -> u64 {
        self.index
    }

    /// The time of the last entry.
    pub const fn time_ns(&self) -> u64 {
        self.time_ns
    }

    /// Commands that wait.
    pub const fn waiting(&self) -> usize {
        self.waiting
    }

    /// Commands that were dropped since they had been taken before.
    pub const fn doubles(&self) -> u64 {
        self.doubles
    }
}

impl Stream {
    /// Moves up to so many commands to an entry, and not beyond `most` bytes of it.
    /// Returns how many, and whether the entry is full.
    fn take(&mut self, burst: usize, most: usize, out: &mut Vec<u8>) -> (usize, bool) {
        let mut count = 0;
        while count < burst
            && let Some((command, _)) = Command::read(&self.bytes[self.taken..])
        {
            if out.len() + command.len() > most {
                return (count, true);
            }
            let end = self.taken + command.len();
            out.extend_from_slice(&self.bytes[self.taken..end]);
            self.taken = end;
            count += 1;
        }
        if self.taken == self.bytes.len() {
            self.bytes.clear();
            self.taken = 0;
        }
        (count, false)
    }
}

const _: () = assert!(HEAD + crate::command::len_with(MAX_PAYLOAD) <= MAX_ENTRY);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command::Kind;

    fn offer(sequencer: &mut Sequencer, source: u16, number: u64) -> Result<(), NotTaken> {
        let (kind, source) = (Kind::NEW, Source(source));
        sequencer.offer(&Command { kind, source, number, payload: b"x", ..Command::default() })
    }

    /// The next entry, as (source, number).
    fn next(sequencer: &mut Sequencer, now_ns: u64) -> Vec<(u16, u64)> {
        let mut bytes = Vec::new();
        sequencer.sequence(now_ns, &mut bytes).expect("something waits");
        let (entry, _) = Entry::read(&bytes).expect("an entry");
        entry.commands().map(|command| (command.source.0, command.number)).collect()
    }

    #[test]
    fn gateways_are_served_in_turns_of_a_burst() {
        let mut sequencer = Sequencer::new(Limits { burst: 2, ..Limits::default() });
        for number in 1..=5 {
            offer(&mut sequencer, 1, number).expect("room");
        }
        for number in 1..=2 {
            offer(&mut sequencer, 2, number).expect("room");
        }
        offer(&mut sequencer, 3, 1).expect("room");
        let round = [(1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (1, 3), (1, 4), (1, 5)];
        assert_eq!(next(&mut sequencer, 1), round);
        // Who was first is last next time.
        for source in 1..=3 {
            offer(&mut sequencer, source, 9).expect("room");
        }
        assert_eq!(next(&mut sequencer, 2), [(2, 9), (3, 9), (1, 9)]);
        assert_eq!(sequencer.sequence(3, &mut Vec::new()), None);
    }

    #[test]
    fn doubles_are_dropped_also_behind_a_restart() {
        let mut sequencer = Sequencer::new(Limits::default());
        for number in 1..=3 {
            offer(&mut sequencer, 1, number).expect("room");
        }
        assert_eq!(offer(&mut sequencer, 1, 3), Err(NotTaken::Double));
        offer(&mut sequencer, 2, 3).expect("numbers are of one stream");
        let mut bytes = Vec::new();
        sequencer.sequence(5, &mut bytes);
        let mut again = Sequencer::new(Limits::default());
        again.resume(&Entry::read(&bytes).expect("an entry").0);
        assert_eq!(offer(&mut again, 1, 2), Err(NotTaken::Double));
        assert_eq!((again.last_number(Source(1)), again.doubles()), (3, 1));
        offer(&mut again, 1, 4).expect("room");
        assert_eq!((next(&mut again, 5), again.index()), (vec![(1, 4)], 2));
    }

    #[test]
    fn time_does_not_go_back() {
        let mut sequencer = Sequencer::new(Limits::default());
        let mut times = Vec::new();
        for (number, now_ns) in [(1, 50), (2, 40), (3, 60)] {
            offer(&mut sequencer, 1, number).expect("room");
            next(&mut sequencer, now_ns);
            times.push(sequencer.time_ns());
        }
        assert_eq!(times, [50, 50, 60]);
    }

    #[test]
    fn a_stream_and_an_entry_have_bounds() {
        let limits = Limits { burst: 1_000_000, max_waiting_bytes: 2 << 20 };
        let mut sequencer = Sequencer::new(limits);
        let payload = [7; MAX_PAYLOAD];
        let mut number = 0;
        let refused = loop {
            number += 1;
            let command =
                Command { source: Source(1), number, payload: &payload, ..Command::default() };
            match sequencer.offer(&command) {
                Ok(()) => {}
                Err(why) => break why,
            }
        };
        assert_eq!((refused, number), (NotTaken::Full, (2 << 20) / 160 + 1));
        let (mut bytes, mut entries) = (Vec::new(), 0);
        while sequencer.sequence(1, &mut bytes).is_some() {
            assert!(bytes.len() <= MAX_ENTRY);
            bytes.clear();
            entries += 1;
        }
        assert_eq!((entries, sequencer.waiting()), (3, 0));
        let long = Command { number, payload: &[0; MAX_PAYLOAD + 1], ..Command::default() };
        assert_eq!(sequencer.offer(&long), Err(NotTaken::TooLong));
    }
}
