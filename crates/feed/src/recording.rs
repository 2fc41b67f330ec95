//! Recorded markets: market-by-order files of Databento.

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use tapeline_rwf::{DataType, Domain, EncodeError};

use crate::FeedError;
use crate::book::{Action, Book};
use crate::dbn_file::DbnFile;
use crate::items::{self, DOMAINS};
use crate::published::{Instrument, Payloads};
use crate::update::Update;

/// A recorded market that is played again: a Databento DBN file of the
/// market-by-order schema, plain or compressed with zstd.
///
/// Every instrument in it is published in three domains under its symbol:
///
/// | domain | rows or fields |
/// |---|---|
/// | `MARKET_BY_ORDER` | key: order id in decimal; `ORDER_PRC`, `ORDER_SIDE`, `ORDER_SIZE`, `QUOTIM_MS` |
/// | `MARKET_BY_PRICE` | key: price and side, `4805.25B`; the same and `NO_ORD` |
/// | `MARKET_PRICE` | best bid and ask with sizes, last trade, open, high, low, volume, number of trades, times |
///
/// Prices are exact, with two decimals or as many as they need. Times are
/// milliseconds since midnight UTC.
///
/// The file is read as it is played. Records up to one that is the last of its
/// event change the market at once, and come out as one [`Event`]. A session
/// whose orders partly rest from the one before is played behind that one, see
/// [`then`](Self::then).
///
/// ```no_run
/// use tapeline_feed::{Pace, Recording};
///
/// let mut recording = Recording::open("esh4.mbo.dbn.zst")?;
/// let mut pace = Pace::new(1.0);
/// let mut message = Vec::new();
/// while let Some(event) = recording.next_event()? {
///     let wait_until_ns = pace.due_ns(event.at_ns);
///     for update in event.updates() {
///         message.clear();
///         update.append(5, None, &mut message)?;
///         // Send the message at wait_until_ns after the start.
///     }
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Recording {
    file: DbnFile,
    /// The files behind this one.
    following: VecDeque<DbnFile>,
    instruments: Vec<Instrument>,
    /// The instrument whose event came out last; its touched state is stale.
    last_event: Option<usize>,
    payloads: Payloads,
    is_at_end: bool,
}

/// One record of market by order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) instrument_id: u32,
    /// In nanoseconds since 1970 UTC.
    pub(crate) received_ns: u64,
    /// Of its event.
    pub(crate) is_last: bool,
    /// `None` for what does nothing to a book.
    pub(crate) action: Option<Action>,
}

/// What happened to one instrument at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// The instrument's name.
    pub name: &'a str,
    /// When it was recorded, in nanoseconds since 1970 UTC.
    pub at_ns: u64,
    payloads: &'a Payloads,
}

impl<'a> Event<'a> {
    /// What to publish: at most one message for each domain, none for a domain
    /// that the event does not change.
    pub fn updates(&self) -> impl Iterator<Item = Update<'a>> {
        self.payloads.updates()
    }
}

impl Recording {
    /// Opens a file. Errors: it cannot be read, or is no DBN file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FeedError> {
        let file = path.as_ref().display().to_string();
        match File::open(path) {
            Ok(source) => Self::named(file, Box::new(source)),
            Err(error) => Err(FeedError::Io { file, error }),
        }
    }

    /// Reads a recording from anywhere.
    pub fn read(source: impl Read + Send + 'static) -> Result<Self, FeedError> {
        Self::named("the recording".to_owned(), Box::new(source))
    }

    fn named(file: String, source: Box<dyn Read + Send>) -> Result<Self, FeedError> {
        let file = DbnFile::open(file, source)?;
        let instruments = file.instruments().into_iter();
        let instruments = instruments.map(|(id, name)| Instrument::new(id, name)).collect();
        Ok(Self {
            file,
            following: VecDeque::new(),
            instruments,
            last_event: None,
            payloads: Payloads::default(),
            is_at_end: false,
        })
    }

    /// Lets another file follow behind the end of this one; books and trades go
    /// on.
    pub fn then(mut self, path: impl AsRef<Path>) -> Result<Self, FeedError> {
        let next = Self::open(path)?;
        for instrument in next.instruments {
            if !self.instruments.iter().any(|known| known.id == instrument.id) {
                self.instruments.push(instrument);
            }
        }
        self.following.push_back(next.file);
        Ok(self)
    }

    /// The names of the instruments that are known so far. A file names its
    /// instruments up front; one that it does not name gets its number as its
    /// name when it first comes up.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.instruments.iter().map(|instrument| instrument.name.as_str())
    }

    /// The book of an instrument as it is now.
    pub fn book(&self, name: &str) -> Option<&Book> {
        self.instrument(name).map(|instrument| &instrument.book)
    }

    fn instrument(&self, name: &str) -> Option<&Instrument> {
        self.instruments.iter().find(|instrument| instrument.name == name)
    }

    /// Appends the item as it is now to `out`, as an encoded payload of the
    /// container type that is returned; `None` for an item that is not in the
    /// recording. It is consistent with all events that have come out.
    ///
    /// # Errors
    /// The book has more than 65,535 orders, more than one message can carry.
    pub fn image(
        &self,
        domain: Domain,
        name: &str,
        out: &mut Vec<u8>,
    ) -> Result<Option<DataType>, FeedError> {
        let Some(instrument) = self.instrument(name).filter(|_| DOMAINS.contains(&domain)) else {
            return Ok(None);
        };
        match items::append_image(domain, (name, &instrument.book), None, out) {
            Ok(()) => Ok(Some(items::container_type(domain))),
            Err(error) => Err(encode_error(name, error)),
        }
    }

    /// Reads on to the end of the next event; `None` at the end of the file.
    ///
    /// # Errors
    /// The file is damaged or ends within a record, or the event does not fit
    /// a message.
    pub fn next_event(&mut self) -> Result<Option<Event<'_>>, FeedError> {
        if let Some(at) = self.last_event.take() {
            self.instruments[at].touched.clear();
        }
        let Some(at) = self.read_event()? else { return Ok(None) };
        self.last_event = Some(at);
        let instrument = &mut self.instruments[at];
        if let Err(error) = self.payloads.write(instrument) {
            return Err(encode_error(&instrument.name, error));
        }
        Ok(Some(Event {
            name: &instrument.name,
            at_ns: instrument.time_ns,
            payloads: &self.payloads,
        }))
    }

    /// Reads records until an instrument has an event; returns which one. At
    /// the end of the file, what is left without an end is an event, too.
    fn read_event(&mut self) -> Result<Option<usize>, FeedError> {
        while !self.is_at_end {
            let record = match self.file.next_record() {
                Ok(record) => record,
                Err(error) => {
                    self.is_at_end = true;
                    return Err(error);
                }
            };
            let Some(record) = record else {
                self.next_file();
                continue;
            };
            let at = place(&mut self.instruments, record.instrument_id);
            let instrument = &mut self.instruments[at];
            instrument.apply(&record);
            if record.is_last && !instrument.touched.is_empty() {
                return Ok(Some(at));
            }
        }
        Ok(self.instruments.iter().position(|instrument| !instrument.touched.is_empty()))
    }
}

impl Recording {
    /// Goes on with the next file, if there is one.
    fn next_file(&mut self) {
        match self.following.pop_front() {
            Some(file) => self.file = file,
            None => self.is_at_end = true,
        }
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording")
            .field("file", &self.file.name())
            .field("instruments", &self.names().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

fn encode_error(item: &str, error: EncodeError) -> FeedError {
    FeedError::Encode { item: item.to_owned(), error }
}

/// Where the instrument of an id is; it is added if it is not known.
fn place(instruments: &mut Vec<Instrument>, id: u32) -> usize {
    if let Some(at) = instruments.iter().position(|instrument| instrument.id == id) {
        return at;
    }
    instruments.push(Instrument::new(id, id.to_string()));
    instruments.len() - 1
}

impl Instrument {
    fn apply(&mut self, record: &Record) {
        self.time_ns = record.received_ns;
        if let Some(action) = &record.action {
            self.book.apply_noting(action, &mut self.touched);
        }
    }
}

/// When recorded events are due in a replay of some speed.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    speed: f64,
    first_ns: Option<u64>,
}

impl Pace {
    /// Recorded time passes `speed` times as fast; 1 is as recorded, infinity
    /// as fast as possible.
    pub const fn new(speed: f64) -> Self {
        Self { speed, first_ns: None }
    }

    /// When an event is due, in nanoseconds after the first one; `at_ns` is
    /// when it was recorded. The first call is for the first event.
    pub fn due_ns(&mut self, at_ns: u64) -> u64 {
        let first_ns = *self.first_ns.get_or_insert(at_ns);
        (at_ns.saturating_sub(first_ns) as f64 / self.speed) as u64
    }
}
