//! Files of Databento's format, as records of market by order.

use std::io::{BufReader, Read};

use dbn::decode::{DbnDecoder, DbnMetadata, DynReader};
use dbn::{MboMsg, Metadata, UNDEF_PRICE};

use crate::FeedError;
use crate::book::{Action, Order, Side, Trade};
use crate::recording::Record;

type Source = DynReader<'static, BufReader<Box<dyn Read + Send>>>;

/// A file, read record by record; plain or compressed with zstd.
pub(crate) struct DbnFile {
    name: String,
    decoder: DbnDecoder<Source>,
}

impl DbnFile {
    pub(crate) fn open(name: String, source: Box<dyn Read + Send>) -> Result<Self, FeedError> {
        match DynReader::new_inferred(source).and_then(DbnDecoder::new) {
            Ok(decoder) => Ok(Self { name, decoder }),
            Err(error) => Err(FeedError::Recording { file: name, error: error.to_string() }),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The instruments that it names up front, by their numbers.
    pub(crate) fn instruments(&self) -> Vec<(u32, String)> {
        instruments(self.decoder.metadata())
    }

    /// The next record; `None` at the end.
    pub(crate) fn next_record(&mut self) -> Result<Option<Record>, FeedError> {
        loop {
            let record = match self.decoder.decode_ref() {
                Ok(record) => record,
                Err(error) => {
                    let (file, error) = (self.name.clone(), error.to_string());
                    return Err(FeedError::Recording { file, error });
                }
            };
            let Some(record) = record else { return Ok(None) };
            if let Some(record) = record.get::<MboMsg>() {
                return Ok(Some(Record {
                    instrument_id: record.hd.instrument_id,
                    received_ns: record.ts_recv,
                    is_last: record.flags.is_last(),
                    action: action(record),
                }));
            }
        }
    }
}

/// The instruments that the metadata names, in its order.
fn instruments(metadata: &Metadata) -> Vec<(u32, String)> {
    let mut instruments = Vec::new();
    for mapping in &metadata.mappings {
        for interval in &mapping.intervals {
            // Numbers are mapped to symbols or symbols to numbers.
            let (name, id) = match (interval.symbol.parse(), mapping.raw_symbol.parse()) {
                (Ok(id), _) => (&mapping.raw_symbol, id),
                (_, Ok(id)) => (&interval.symbol, id),
                _ => continue,
            };
            if !instruments.iter().any(|(known, _)| *known == id) {
                instruments.push((id, name.clone()));
            }
        }
    }
    instruments
}

/// What a record does to the book; `None` for what does nothing: fills, which
/// cancels follow, and records without an action, a side or a price.
fn action(record: &MboMsg) -> Option<Action> {
    let time_ns = record.hd.ts_event;
    let side = match record.side as u8 {
        b'B' => Some(Side::Bid),
        b'A' => Some(Side::Ask),
        _ => None,
    };
    let has_price = record.price != UNDEF_PRICE;
    let order = |side| Order { side, price_nano: record.price, size: record.size, time_ns };
    match record.action as u8 {
        b'A' if has_price => Some(Action::Add(record.order_id, order(side?))),
        b'M' if has_price => Some(Action::Modify(record.order_id, order(side?))),
        b'C' => Some(Action::Cancel { id: record.order_id, size: record.size, time_ns }),
        b'R' => Some(Action::Clear),
        b'T' if has_price => {
            let (price_nano, size) = (record.price, record.size);
            Some(Action::Trade(Trade { price_nano, size, time_ns }))
        }
        _ => None,
    }
}
