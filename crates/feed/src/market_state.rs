//! What a market says of an instrument besides orders and trades: its session, what
//! an auction would bring, the prices of auctions.

use tapeline_rwf::{EncodeError, FieldListWriter, Primitive};

use crate::items::{price, whole};

const HST_CLOSE: i16 = 21;
const OPN_AUC: i16 = 3868;
const CLS_AUC: i16 = 3870;
const OPN_AUCVOL: i16 = 3871;
const CLS_AUCVOL: i16 = 3873;
const IND_AUC: i16 = 3912;
const IND_AUCVOL: i16 = 3913;
const MKT_STATUS: i16 = 3915;

/// A price in units of 10⁻⁹, and a quantity.
pub(crate) type PriceAndSize = Option<(i64, u64)>;

/// What a market says of an instrument besides orders and trades.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MarketState {
    /// At most five letters.
    pub(crate) session: &'static str,
    /// What an auction would bring if it ended now.
    pub(crate) indicative: PriceAndSize,
    pub(crate) opening: PriceAndSize,
    pub(crate) closing: PriceAndSize,
    pub(crate) previous_close_nano: Option<i64>,
}

impl MarketState {
    /// Puts what is another than before; all of it without a before.
    pub(crate) fn put(
        &self,
        before: Option<&Self>,
        fields: &mut FieldListWriter<'_, '_>,
    ) -> Result<(), EncodeError> {
        if before.is_none_or(|before| before.session != self.session) {
            fields.put(MKT_STATUS, Primitive::rmtes(self.session))?;
        }
        for ((old, now), price_id, size_id) in [
            ((before.map(|before| before.indicative), self.indicative), IND_AUC, IND_AUCVOL),
            ((before.map(|before| before.opening), self.opening), OPN_AUC, OPN_AUCVOL),
            ((before.map(|before| before.closing), self.closing), CLS_AUC, CLS_AUCVOL),
        ] {
            match now {
                _ if old == Some(now) => {}
                Some((price_nano, size)) => {
                    fields.put(price_id, price(price_nano))?;
                    fields.put(size_id, whole(size))?;
                }
                None => {
                    fields.blank(price_id)?;
                    fields.blank(size_id)?;
                }
            }
        }
        match self.previous_close_nano {
            now if before.is_some_and(|before| before.previous_close_nano == now) => Ok(()),
            Some(price_nano) => fields.put(HST_CLOSE, price(price_nano)),
            None => fields.blank(HST_CLOSE),
        }
    }
}

/// The word for a session of which the best prices are told and no orders.
pub(crate) const BEST_ONLY: &str = "IAUC";

/// The word for a session of MITCH.
pub(crate) const fn word(status: u8) -> &'static str {
    match status {
        b'w' => "CLSD",
        b'a' => "OCALL",
        b'T' => "REG",
        b'd' => "CCALL",
        b'u' => "CPX",
        b'b' | b'c' => "POST",
        b'H' => "HALT",
        b'e' => "AESP",
        b'f' => "RCALL",
        b'G' => BEST_ONLY,
        b'q' => "EDSP",
        b'r' => "PERI",
        b'l' => "PAUSE",
        _ => "OTHER",
    }
}
