//! The clients and what they got.

use std::net::SocketAddr;

use hdrhistogram::Histogram;
use tapeline_api::{ConsumerEvent, ConsumerHandler, Requests};
use tapeline_measure::clock::now_ns;
use tapeline_measure::histogram::latencies;
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{DataState, Domain, MsgClass, MsgHeader};

use crate::BenchError;
use crate::consumers::{Consumers, Reader};
use crate::share::Share;
use crate::source::{SERVICE, item_name};
use crate::stamp::Stamp;
use crate::update;

/// How far clients read updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The header of the message, and the number behind its payload.
    Headers,
    /// The same, and of one in [`SAMPLE_EVERY`] how late it is.
    Sampled,
    /// Every field, and the times in it.
    Fields,
}

/// So many updates are passed over for each whose lateness counts: where many are read,
/// looking at the clock for each would be what is measured.
const SAMPLE_EVERY: u64 = 61;

/// Consumers with their watchlists.
pub(crate) struct Clients {
    consumers: Consumers,
    tally: Tally,
}

/// What came.
pub(crate) struct Tally {
    reading: Reading,
    /// First images.
    pub(crate) images: usize,
    /// Images beyond those that the clients asked for.
    recovered: u64,
    wanted: usize,
    pub(crate) updates: u64,
    /// What each client got, if updates are numbered.
    shares: Vec<Share>,
    /// Updates that cannot be read, or came out of order.
    pub(crate) bad: u64,
    /// States of items that were not good, and lost connections.
    pub(crate) troubles: u64,
    pub(crate) last_trouble: String,
    /// In nanoseconds.
    pub(crate) from_schedule: Histogram<u64>,
    pub(crate) from_send: Histogram<u64>,
    dictionary: &'static FieldDictionary,
    last_due_ns: u64,
}

impl Tally {
    fn new(reading: Reading) -> Self {
        Self {
            reading,
            images: 0,
            recovered: 0,
            wanted: 0,
            updates: 0,
            shares: Vec::new(),
            bad: 0,
            troubles: 0,
            last_trouble: String::new(),
            from_schedule: latencies(),
            from_send: latencies(),
            dictionary: FieldDictionary::builtin(),
            last_due_ns: 0,
        }
    }

    /// Images that came because a server or a hub had lost something.
    pub(crate) fn recovered(&self) -> u64 {
        self.recovered
    }

    /// What each client got so far.
    pub(crate) fn shares(&self) -> &[Share] {
        &self.shares
    }

    fn trouble(&mut self, text: impl Into<String>) {
        self.troubles += 1;
        self.last_trouble = text.into();
    }
}

impl Reader for Tally {
    fn takes(&mut self, client: usize, message: &[u8]) -> bool {
        if self.reading == Reading::Fields || !is_update(message) {
            return false;
        }
        self.updates += 1;
        let stamp = Stamp::read_rssl(message);
        if self.reading == Reading::Sampled
            && self.updates.is_multiple_of(SAMPLE_EVERY)
            && let Some(stamp) = &stamp
        {
            self.from_schedule.saturating_record(now_ns().saturating_sub(stamp.due_ns));
        }
        let number = stamp.map(|stamp| stamp.number);
        let is_good = number
            .zip(self.shares.get_mut(client))
            .is_some_and(|(number, share)| share.add_next(number));
        self.bad += u64::from(!is_good);
        true
    }
}

impl ConsumerHandler for Tally {
    fn event(&mut self, event: ConsumerEvent<'_>, _: &mut Requests<'_>) {
        match event {
            ConsumerEvent::Update { msg, .. } => {
                self.updates += 1;
                let Some(times) = update::decode(msg, self.dictionary) else {
                    self.bad += 1;
                    return;
                };
                let now = now_ns();
                self.from_schedule.saturating_record(now.saturating_sub(times.due_ns));
                self.from_send.saturating_record(now.saturating_sub(times.sent_ns));
                self.bad += u64::from(times.due_ns < self.last_due_ns);
                self.last_due_ns = times.due_ns;
            }
            ConsumerEvent::Refresh { .. } if self.images < self.wanted => self.images += 1,
            ConsumerEvent::Refresh { .. } => self.recovered += 1,
            ConsumerEvent::Status { msg, .. } => {
                if let Some(state) = msg.state.filter(|state| state.data != DataState::OK) {
                    self.trouble(String::from_utf8_lossy(state.text));
                }
            }
            ConsumerEvent::Down { reason, .. } => self.trouble(reason),
            _ => {}
        }
    }
}

impl Clients {
    /// Clients with these watchlists, spread over the servers.
    pub(crate) fn connect(
        addresses: &[SocketAddr],
        watchlists: &[Vec<u32>],
        reading: Reading,
    ) -> Result<Self, BenchError> {
        let mut clients = Self { consumers: Consumers::of(addresses)?, tally: Tally::new(reading) };
        for watchlist in watchlists {
            clients.add(watchlist)?;
        }
        Ok(clients)
    }

    /// One more client.
    pub(crate) fn add(&mut self, watchlist: &[u32]) -> Result<(), BenchError> {
        self.consumers.add(SERVICE, watchlist.iter().map(|item| item_name(*item as usize)))?;
        self.tally.wanted += watchlist.len();
        self.tally.shares.push(Share::default());
        Ok(())
    }

    /// Whether all images are there.
    pub(crate) fn is_ready(&self) -> bool {
        self.tally.images >= self.tally.wanted
    }

    /// Items of all watchlists.
    pub(crate) fn wanted(&self) -> usize {
        self.tally.wanted
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Begins counting latencies anew.
    pub(crate) fn clear_latencies(&mut self) {
        self.tally.from_schedule.reset();
        self.tally.from_send.reset();
    }

    /// Reads and writes what there is.
    pub(crate) fn poll(&mut self) -> usize {
        self.consumers.poll(!self.is_ready(), &mut self.tally)
    }
}

/// An update of an item: those of the directory are for the consumer.
#[inline]
fn is_update(bytes: &[u8]) -> bool {
    MsgHeader::decode(bytes).is_ok_and(|header| {
        std::hint::black_box(header.stream_id);
        header.class == MsgClass::Update && header.domain == Domain::MARKET_PRICE
    })
}
