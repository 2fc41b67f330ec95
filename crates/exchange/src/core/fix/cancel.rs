//! Trades that both sides want cancelled: who settles one asks (`AE`), and is told what
//! becomes of it (`AR`).

use tapeline_fix::{Message, Writer, tag};
use tapeline_instrument::TradeId;
use tapeline_layout::{Text, message};
use tapeline_time::Time;

use super::decode::{Fault, Fields};
use crate::core::floor::Floor;
use crate::core::settling::NotCancelled;
use crate::core::{Outputs, SessionId};

message! {
    /// A trade is to be cancelled, as it is in the journal.
    CancelAsked: 48, fill 0 {
        0 => trade: u64,
        /// With 8 decimals.
        8 => price: i64,
        16 => quantity: u32,
        20 => instrument: u32,
        /// The client's name for the request.
        24 => name: Text<20>,
        /// 1 the buyer asks, 2 the seller.
        44 => side: u8,
    }
}

impl CancelAsked {
    /// Reads a request.
    pub(crate) fn of(message: &Message<'_>) -> Result<Self, Fault> {
        let fields = Fields::of(message);
        for (tag, only) in [
            (tag::TRADE_REPORT_TRANS_TYPE, b"1"),
            (tag::TRADE_REPORT_TYPE, b"6"),
            (tag::NO_SIDES, b"1"),
        ] {
            if fields.given(tag)? != only {
                return Err(Fault::Value(tag));
            }
        }
        let id = std::str::from_utf8(fields.given(tag::TRADE_ID)?).ok();
        let TradeId(trade) =
            id.and_then(|id| id.parse().ok()).ok_or(Fault::Value(tag::TRADE_ID))?;
        Ok(Self {
            trade,
            price: fields.given_price(tag::LAST_PX)?,
            quantity: fields.quantity(tag::LAST_QTY)? as u32,
            instrument: fields.instrument()? as u32,
            name: fields.given_text(tag::TRADE_REPORT_ID)?,
            side: fields.side()?,
        })
    }
}

/// Writes what becomes of a request: whether both sides have asked, or why it is refused.
pub(crate) fn acknowledgement(
    asked: &CancelAsked,
    result: Result<bool, NotCancelled>,
    fields: &mut Writer<'_>,
) {
    fields.text(tag::TRADE_REPORT_ID, asked.name.as_bytes());
    fields.text(tag::TRADE_ID, &TradeId(asked.trade).digits());
    fields.byte(tag::TRADE_REPORT_TRANS_TYPE, b'1').byte(tag::TRADE_REPORT_TYPE, b'6');
    match result {
        Ok(is_done) => {
            fields.byte(tag::TRD_RPT_STATUS, b'0');
            fields.byte(tag::MATCH_STATUS, if is_done { b'0' } else { b'1' });
        }
        Err(why) => {
            let (code, text) = why.reason();
            fields.byte(tag::TRD_RPT_STATUS, b'1');
            fields.number(tag::TRADE_REPORT_REJECT_REASON, code.into());
            fields.text(tag::TEXT, text.as_bytes());
        }
    }
    fields.number(tag::SECURITY_ID, asked.instrument.into()).byte(tag::SECURITY_ID_SOURCE, b'8');
    fields.number(tag::LAST_QTY, asked.quantity.into()).decimal(tag::LAST_PX, asked.price);
}

impl Floor {
    /// What was asked for could not be kept.
    pub(crate) fn refuse_cancel(
        &mut self,
        now: Time,
        to: (u16, SessionId),
        asked: &CancelAsked,
        out: &mut impl Outputs,
    ) {
        let body =
            |fields: &mut Writer<'_>| acknowledgement(asked, Err(NotCancelled::Down), fields);
        self.reply(now, to, b"AR", body, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::fix::testing::wire;

    fn read(more: &str) -> Result<CancelAsked, Fault> {
        let text = format!("35=AE|571=C1|{more}|");
        CancelAsked::of(&Message::read(&wire(&text)).expect("a whole message"))
    }

    #[test]
    fn a_request_names_the_trade_and_the_side() {
        let whole = "487=1|856=6|1003=GGXICR4MS8|48=7|22=8|32=20|31=10.25|552=1|54=2";
        let asked = read(whole).expect("a request");
        assert_eq!((asked.trade, asked.instrument, asked.side), (1_338_498_875_692, 7, 2));
        assert_eq!((asked.quantity, asked.price), (20, 1_025_000_000));
        assert_eq!(
            (asked.name, CancelAsked::read(&asked.to_bytes())),
            (Text::new("C1"), Some(asked))
        );
        for (good, bad, tag) in [
            ("487=1", "487=0", tag::TRADE_REPORT_TRANS_TYPE),
            ("856=6", "856=0", tag::TRADE_REPORT_TYPE),
            ("552=1", "552=2", tag::NO_SIDES),
            ("1003=GGXICR4MS8", "1003=x", tag::TRADE_ID),
            ("54=2", "54=3", tag::SIDE),
            ("32=20", "32=0.5", tag::LAST_QTY),
        ] {
            assert_eq!(read(&whole.replace(good, bad)), Err(Fault::Value(tag)), "{bad}");
        }
    }
}
