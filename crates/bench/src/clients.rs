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
use crate::lean::LeanConsumers;
use crate::share::Share;
use crate::source::{SERVICE, item_name};
use crate::stamp::Stamp;
use crate::update;

/// How far clients read updates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The header of the message, and the number behind its payload.
    Headers,
    /// The same where the kernel has put it, with less than a consumer does: what is
    /// measured is the server.
    InPlace,
    /// As [`Headers`](Self::Headers), and of one in [`SAMPLE_EVERY`] how late it is.
    Sampled,
    /// Every field, and the times in it.
    Fields,
}

/// How messages have them.
const UPDATE_CLASS: u8 = 4;
const MARKET_PRICE_DOMAIN: u8 = 6;

/// So many updates are passed over for each whose lateness counts: where many are read,
/// looking at the clock for each would be what is measured.
const SAMPLE_EVERY: u64 = 61;

/// Consumers with their watchlists.
pub(crate) struct Clients {
    consumers: Kind,
    tally: Tally,
}

/// As applications have them, or lean ones.
enum Kind {
    Whole(Box<Consumers>),
    Lean(LeanConsumers),
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
    /// Of so many clients whose messages are taken in place.
    pub(crate) fn in_place(clients: usize) -> Self {
        Self { shares: vec![Share::default(); clients], ..Self::new(Reading::InPlace) }
    }

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
    #[inline]
    fn takes(&mut self, client: usize, message: &[u8]) -> bool {
        let is_ours = match self.reading {
            Reading::Fields => false,
            Reading::InPlace => is_update_in_place(message),
            Reading::Headers | Reading::Sampled => is_update(message),
        };
        if !is_ours {
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
        let consumers = match reading {
            Reading::InPlace => Kind::Lean(LeanConsumers::of(addresses)),
            _ => Kind::Whole(Box::new(Consumers::of(addresses)?)),
        };
        let mut clients = Self { consumers, tally: Tally::new(reading) };
        for watchlist in watchlists {
            clients.add(watchlist)?;
        }
        Ok(clients)
    }

    /// One more client.
    pub(crate) fn add(&mut self, watchlist: &[u32]) -> Result<(), BenchError> {
        let items = watchlist.iter().map(|item| item_name(*item as usize));
        match &mut self.consumers {
            Kind::Whole(consumers) => consumers.add(SERVICE, items)?,
            Kind::Lean(consumers) => consumers.add(SERVICE, items)?,
        }
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
        let is_waiting = !self.is_ready();
        match &mut self.consumers {
            Kind::Whole(consumers) => consumers.poll(is_waiting, &mut self.tally),
            Kind::Lean(consumers) => consumers.poll(is_waiting, &mut self.tally),
        }
    }
}

/// The same of what this benchmark sends, by its class and domain, which are where
/// they are in every message.
#[inline]
fn is_update_in_place(bytes: &[u8]) -> bool {
    matches!(bytes, [_, _, class, domain, ..]
        if (*class, *domain) == (UPDATE_CLASS, MARKET_PRICE_DOMAIN))
}

/// An update of an item: those of the directory are for the consumer.
#[inline]
fn is_update(bytes: &[u8]) -> bool {
    MsgHeader::decode(bytes).is_ok_and(|header| {
        std::hint::black_box(header.stream_id);
        header.class == MsgClass::Update && header.domain == Domain::MARKET_PRICE
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::Update;

    #[test]
    fn an_update_is_known_in_place_as_by_its_header() {
        let mut update = Update::new();
        let bytes = Stamp { due_ns: 1, number: 2 }.write_rssl(&mut update).to_vec();
        assert!(is_update(&bytes) && is_update_in_place(&bytes));
        for (at, other) in [(2, 2), (3, 4)] {
            let mut changed = bytes.clone();
            changed[at] = other;
            assert!(!is_update(&changed) && !is_update_in_place(&changed), "byte {at}");
        }
        assert!(!is_update_in_place(&bytes[..3]));
    }
}
