//! What changes of an instrument, as payloads of its three items.

use tapeline_rwf::{DataType, Domain, EncodeError, Encoded, UpdateType};

use crate::FeedError;
use crate::book::{Action, Book, Touched};
use crate::items::{self, DOMAINS};
use crate::market_state::MarketState;
use crate::update::{Update, UpdateKind};

/// One instrument that is published.
#[derive(Debug)]
pub(crate) struct Instrument {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) book: Book,
    pub(crate) touched: Touched,
    pub(crate) time_ns: u64,
    /// What the market says besides; recordings do not have it.
    pub(crate) market: Option<MarketState>,
}

/// The payloads of one event, in the order of [`DOMAINS`].
#[derive(Debug, Default)]
pub(crate) struct Payloads {
    bytes: [Vec<u8>; 3],
    kinds: [Option<UpdateKind>; 3],
}

impl Instrument {
    pub(crate) fn new(id: u32, name: String) -> Self {
        Self { id, name, book: Book::new(), touched: Touched::default(), time_ns: 0, market: None }
    }

    /// What happens to its book.
    pub(crate) fn act(&mut self, action: &Action) {
        self.book.apply_noting(action, &mut self.touched);
    }

    /// Its market says something; what it said before is kept if it is something else.
    pub(crate) fn say(&mut self, change: impl FnOnce(&mut MarketState)) {
        let Some(state) = &mut self.market else { return };
        let before = *state;
        change(state);
        if before != *state {
            self.touched.market.get_or_insert(before);
        }
    }

    /// Appends the item of a domain as it is now to `out`; `None` if it has none.
    pub(crate) fn image(
        &self,
        domain: Domain,
        out: &mut Vec<u8>,
    ) -> Result<Option<DataType>, FeedError> {
        if !DOMAINS.contains(&domain) {
            return Ok(None);
        }
        let (name, market) = (self.name.as_str(), self.market.as_ref());
        let written = items::append_image(domain, (name, &self.book), market, out);
        let encode = |error| FeedError::Encode { item: name.to_owned(), error };
        written.map(|()| Some(items::container_type(domain))).map_err(encode)
    }
}

impl Payloads {
    /// What to publish: at most one message for each domain.
    pub(crate) fn updates(&self) -> impl Iterator<Item = Update<'_>> {
        DOMAINS.into_iter().zip(&self.kinds).zip(&self.bytes).filter_map(
            |((domain, kind), bytes)| {
                let payload = Encoded::new(items::container_type(domain), bytes);
                Some(Update { domain, kind: (*kind)?, payload })
            },
        )
    }

    /// Gives what has changed of an instrument since the last call, to `each` with its
    /// name.
    pub(crate) fn publish(
        &mut self,
        of: &mut Instrument,
        each: &mut impl FnMut(&str, &Update<'_>),
    ) -> Result<(), FeedError> {
        if let Err(error) = self.write(of) {
            return Err(FeedError::Encode { item: of.name.clone(), error });
        }
        self.updates().for_each(|update| each(&of.name, &update));
        of.touched.clear();
        Ok(())
    }

    /// Writes what an event changes.
    pub(crate) fn write(&mut self, instrument: &mut Instrument) -> Result<(), EncodeError> {
        instrument.touched.settle();
        let Instrument { name, book, touched, time_ns, market, .. } = instrument;
        let market = market.as_ref();
        let is_image = touched.is_cleared;
        let changes = Some(UpdateKind::Changes(UpdateType::UNSPECIFIED));
        let orders = changes.filter(|_| !touched.orders().is_empty());
        let levels = changes.filter(|_| !touched.levels().is_empty());
        let price = items::price_update_type(book, touched).map(UpdateKind::Changes);
        self.kinds = match is_image {
            true => [Some(UpdateKind::Image); 3],
            false => [orders, levels, price],
        };
        for ((domain, kind), out) in DOMAINS.into_iter().zip(self.kinds).zip(&mut self.bytes) {
            out.clear();
            match (kind, domain) {
                (None, _) => {}
                (Some(UpdateKind::Image), _) => {
                    items::append_image(domain, (name, book), market, out)?;
                }
                (_, Domain::MARKET_BY_ORDER) => items::append_orders_update(book, touched, out)?,
                (_, Domain::MARKET_BY_PRICE) => items::append_levels_update(book, touched, out)?,
                _ => items::append_price_update(book, touched, (market, *time_ns), out)?,
            }
        }
        Ok(())
    }
}
