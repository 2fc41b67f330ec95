//! Instruments of a configuration.

use serde::Deserialize;
use tapeline_exchange::ExchangeError;
use tapeline_instrument::{AuctionLimits, Instrument, Lots, Price, TickTable, Tolerances};

/// What is traded.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct InstrumentSection {
    pub(crate) id: u32,
    pub(crate) name: String,
    /// One tick for all prices; without it, a table of the directive.
    pub(crate) tick: Option<String>,
    /// The column of that table, 1 to 6, by how liquid the instrument is.
    #[serde(default = "most_liquid")]
    pub(crate) mifid_column: u8,
    pub(crate) previous_close: Option<String>,
    #[serde(default)]
    pub(crate) isin: String,
    #[serde(default = "sets")]
    pub(crate) segment: String,
    #[serde(default = "pence")]
    pub(crate) currency: String,
    #[serde(default = "one")]
    pub(crate) lot: u32,
    #[serde(default = "one")]
    pub(crate) min_size: u32,
    #[serde(default = "largest")]
    pub(crate) max_size: u32,
    #[serde(default = "one")]
    pub(crate) min_hidden_size: u32,
    /// Of a circuit breaker, in hundredths of a per cent; 0 for none.
    #[serde(default)]
    pub(crate) dynamic_tolerance_bp: u32,
    #[serde(default)]
    pub(crate) static_tolerance_bp: u32,
    /// How far an auction's price may be from the last one, in hundredths of a per cent,
    /// before its call goes on; 0 for any.
    #[serde(default)]
    pub(crate) auction_tolerance_bp: u32,
    /// A closing auction whose price stays outside takes place if it trades so much.
    #[serde(default)]
    pub(crate) min_closing_volume: u64,
}

impl InstrumentSection {
    pub(super) fn instrument(&self) -> Result<Instrument, ExchangeError> {
        let ticks = match &self.tick {
            Some(tick) => TickTable::flat(tick.parse()?)?,
            None => TickTable::mifid(self.mifid_column).ok_or_else(|| {
                let Self { name, mifid_column, .. } = self;
                ExchangeError::Config(format!(
                    "{name}: mifid-column is {mifid_column}; give 1 to 6"
                ))
            })?,
        };
        let previous_close = self.previous_close.as_deref().map(str::parse::<Price>).transpose()?;
        Ok(Instrument {
            isin: self.isin.clone(),
            segment: self.segment.clone(),
            currency: self.currency.clone(),
            lots: Lots {
                lot: self.lot,
                min: self.min_size,
                max: self.max_size,
                min_hidden: self.min_hidden_size,
            },
            previous_close,
            tolerances: Tolerances {
                dynamic_bp: self.dynamic_tolerance_bp,
                static_bp: self.static_tolerance_bp,
            },
            auctions: AuctionLimits {
                tolerance_bp: self.auction_tolerance_bp,
                min_closing_volume: self.min_closing_volume,
            },
            ..Instrument::new(self.id, &self.name, ticks)
        })
    }
}

const fn most_liquid() -> u8 {
    6
}

pub(super) fn sets() -> String {
    "SETS".to_owned()
}

fn pence() -> String {
    "GBX".to_owned()
}

const fn one() -> u32 {
    1
}

const fn largest() -> u32 {
    i32::MAX as u32
}
