//! From FIX messages to requests of the market (exchange.md 5: `D`, `F`, `G`, `q`).
//!
//! A request becomes what the native gateway would have read, so behind the gateways
//! there is one kind of order. Fields that the market has no use for are looked over.

use tapeline_fix::{Index, Message, decimal, tag, timestamp_ns};
use tapeline_layout::Text;
use tapeline_ntg::Input;
use tapeline_ntg::client::{Cancel, CancelReplace, MassCancel, NewOrder, NewQuote};

use crate::core::ledger::Parties;

const NS_PER_S: u64 = 1_000_000_000;

/// One, with the 8 decimals of prices.
const ONE: i64 = 100_000_000;

/// The native gateway's codes of times in force.
mod native {
    pub(super) const TO_A_DAY: u8 = 6;
    pub(super) const TO_A_SECOND: u8 = 8;
    pub(super) const CLOSING_PRICE: u8 = 12;
}

/// The native gateway's codes of what an order is besides.
const PEGGED: u8 = 5;
const RANDOM_PEAK: u8 = 51;
const OFFSET: u8 = 55;

/// A target of a mass cancel.
const MEMBER: i64 = 1;

/// The group of traders, of an order or of a mass cancel.
pub(super) const TRADER_GROUP: i64 = 76;
pub(super) const CLIENT: i64 = 3;
pub(super) const INVESTMENT: i64 = 122;
pub(super) const EXECUTING: i64 = 12;

/// What an order is by regulation, a bit each.
pub(super) const DIRECT_ACCESS: u8 = 1;
const LIQUIDITY_PROVISION: u8 = 2;
const ALGORITHM: u8 = 4;

/// Why a message is no request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// There is no such request here.
    Kind,
    /// A field that has to be there is not.
    Missing(u32),
    /// A field has a value that there is not.
    Value(u32),
    /// The value of a field has another form.
    Format(u32),
}

type Read<T> = Result<T, Fault>;

/// Reads a request.
pub(crate) fn request(message: &Message<'_>) -> Read<Input> {
    let fields = Fields::of(message);
    match message.msg_type() {
        b"D" => fields.new_order().map(Input::New),
        b"S" => fields.quote().map(Input::Quote),
        b"G" => fields.replace().map(Input::Replace),
        b"F" => fields.cancel().map(Input::Cancel),
        b"q" => fields.mass_cancel().map(Input::MassCancel),
        _ => Err(Fault::Kind),
    }
}

/// A message's fields, one at a time.
pub(super) struct Fields<'m>(Index<'m>);

/// What few orders have.
#[derive(Default)]
struct Details {
    parties: Parties,
    mifid: u8,
    min_quantity: i32,
    offset: i32,
    group: u8,
    pegged: u8,
    owner_type: u8,
}

impl Parties {
    /// A party of an order, by what it is.
    fn take(&mut self, role: i64, id: &[u8]) -> Read<()> {
        let short = || parsed(id).ok_or(Fault::Value(tag::PARTY_ID));
        match role {
            TRADER_GROUP if id.len() > 11 => return Err(Fault::Value(tag::PARTY_ID)),
            TRADER_GROUP => self.trader = Text::from_bytes(id),
            CLIENT => self.client = short()?,
            INVESTMENT => self.investment = short()?,
            EXECUTING => self.executing = short()?,
            _ => {}
        }
        Ok(())
    }
}

/// What kind of party it is, at the bits of its role.
fn qualifier(role: i64, value: &[u8]) -> Read<u8> {
    let qualifier = match value {
        b"23" => 1,
        b"22" => 2,
        b"24" => 3,
        _ => return Err(Fault::Value(tag::PARTY_ROLE_QUALIFIER)),
    };
    Ok(match role {
        CLIENT => qualifier,
        INVESTMENT => qualifier << 2,
        EXECUTING => qualifier << 4,
        _ => 0,
    })
}

/// 0 is what it is without the field.
fn up_to_two(tag: u32, value: &[u8]) -> Read<u8> {
    match value {
        b"0" => Ok(0),
        b"1" => Ok(1),
        b"2" => Ok(2),
        _ => Err(Fault::Value(tag)),
    }
}

impl<'m> Fields<'m> {
    pub(super) fn of(message: &Message<'m>) -> Self {
        Self(Index::of(message))
    }

    pub(super) fn given(&self, tag: u32) -> Read<&'m [u8]> {
        self.0.get(tag).ok_or(Fault::Missing(tag))
    }

    /// A text, or an empty one.
    fn text<const N: usize>(&self, tag: u32) -> Read<Text<N>> {
        let value = self.0.get(tag).unwrap_or_default();
        let is_good = value.len() <= N && value.is_ascii();
        if is_good { Ok(Text::from_bytes(value)) } else { Err(Fault::Value(tag)) }
    }

    pub(super) fn given_text<const N: usize>(&self, tag: u32) -> Read<Text<N>> {
        self.given(tag).and_then(|_| self.text(tag))
    }

    /// One character.
    fn letter(&self, tag: u32) -> Read<Option<u8>> {
        match self.0.get(tag) {
            None => Ok(None),
            Some([letter]) => Ok(Some(*letter)),
            Some(_) => Err(Fault::Value(tag)),
        }
    }

    fn given_letter(&self, tag: u32) -> Read<u8> {
        self.letter(tag)?.ok_or(Fault::Missing(tag))
    }

    /// A whole number, which may be written with a fraction of zeros.
    pub(super) fn quantity(&self, tag: u32) -> Read<i32> {
        let value = decimal(self.given(tag)?).ok_or(Fault::Format(tag))?;
        let whole = (value % ONE == 0).then_some(value / ONE);
        whole.and_then(|whole| i32::try_from(whole).ok()).ok_or(Fault::Value(tag))
    }

    /// A price above 0, with 8 decimals.
    fn price(&self, tag: u32) -> Read<Option<i64>> {
        let Some(value) = self.0.get(tag) else { return Ok(None) };
        let price = decimal(value).ok_or(Fault::Format(tag))?;
        if price > 0 { Ok(Some(price)) } else { Err(Fault::Value(tag)) }
    }

    pub(super) fn given_price(&self, tag: u32) -> Read<i64> {
        self.price(tag)?.ok_or(Fault::Missing(tag))
    }

    pub(super) fn number<T: std::str::FromStr>(&self, tag: u32) -> Read<Option<T>> {
        self.0.get(tag).map(|value| parsed(value).ok_or(Fault::Value(tag))).transpose()
    }

    fn cl_ord_id(&self) -> Read<Text<20>> {
        let name: Text<20> = self.given_text(tag::CL_ORD_ID)?;
        if name.is_empty() { Err(Fault::Value(tag::CL_ORD_ID)) } else { Ok(name) }
    }

    /// 48 and 22, of which the exchange has one kind.
    pub(super) fn instrument(&self) -> Read<i32> {
        let id: i32 =
            parsed(self.given(tag::SECURITY_ID)?).ok_or(Fault::Value(tag::SECURITY_ID))?;
        if self.given_letter(tag::SECURITY_ID_SOURCE)? != b'8' {
            return Err(Fault::Value(tag::SECURITY_ID_SOURCE));
        }
        if id > 0 { Ok(id) } else { Err(Fault::Value(tag::SECURITY_ID)) }
    }

    pub(super) fn side(&self) -> Read<u8> {
        match self.given_letter(tag::SIDE)? {
            b'1' => Ok(1),
            b'2' => Ok(2),
            _ => Err(Fault::Value(tag::SIDE)),
        }
    }

    fn transact_time(&self) -> Read<()> {
        let value = self.given(tag::TRANSACT_TIME)?;
        timestamp_ns(value).map(|_| ()).ok_or(Fault::Format(tag::TRANSACT_TIME))
    }

    /// The order that is meant.
    fn meant(&self) -> Read<(Text<20>, Text<12>)> {
        let (name, id) = (self.text(tag::ORIG_CL_ORD_ID)?, self.text(tag::ORDER_ID)?);
        match name.is_empty() && Text::is_empty(&id) {
            true => Err(Fault::Missing(tag::ORIG_CL_ORD_ID)),
            false => Ok((name, id)),
        }
    }

    /// Seconds since 1970 UTC.
    fn expiry(&self) -> Read<Option<(u8, u32)>> {
        let seconds = |tag, value: &[u8]| {
            let at_ns = timestamp_ns(value).ok_or(Fault::Format(tag))?;
            u32::try_from(at_ns / NS_PER_S).map_err(|_| Fault::Value(tag))
        };
        let time = self.0.get(tag::EXPIRE_TIME);
        let date = self.0.get(tag::EXPIRE_DATE);
        match (time, date) {
            (None, None) => Ok(None),
            (Some(_), Some(_)) => Err(Fault::Value(tag::EXPIRE_DATE)),
            (Some(time), None) => Ok(Some((native::TO_A_SECOND, seconds(tag::EXPIRE_TIME, time)?))),
            (None, Some(date)) => {
                let mut midnight = *b"00000000-00:00:00";
                let day = midnight.get_mut(..date.len()).filter(|_| date.len() == 8);
                day.ok_or(Fault::Format(tag::EXPIRE_DATE))?.copy_from_slice(date);
                Ok(Some((native::TO_A_DAY, seconds(tag::EXPIRE_DATE, &midnight)?)))
            }
        }
    }

    fn time_in_force(&self) -> Read<(u8, u32)> {
        let Some(letter) = self.letter(tag::TIME_IN_FORCE)? else {
            // Without one it is for the closing price, if it says so.
            let is_closing = self.0.get(tag::TRADING_SESSION_ID) == Some(b"a");
            return Ok((if is_closing { native::CLOSING_PRICE } else { 0 }, 0));
        };
        if letter == b'6' {
            return self.expiry()?.ok_or(Fault::Missing(tag::EXPIRE_TIME));
        }
        let code = TIMES_IN_FORCE.iter().find(|(fix, _)| *fix == letter);
        code.map(|(_, native)| (*native, 0)).ok_or(Fault::Value(tag::TIME_IN_FORCE))
    }

    fn passive_only(&self) -> Read<u8> {
        let code = self.number(tag::PASSIVE_ONLY)?.unwrap_or_default();
        match code {
            0..=3 | 99 | 100 => Ok(code),
            _ => Err(Fault::Value(tag::PASSIVE_ONLY)),
        }
    }

    /// What few orders have, in one walk over all fields.
    fn details(&self) -> Read<Details> {
        let mut details = Details::default();
        let (mut id, mut role, mut attribute) = (&b""[..], 0, &b""[..]);
        for field in self.0.fields() {
            let (tag, value) = (field.tag, field.value);
            match tag {
                tag::PARTY_ID => id = value,
                tag::PARTY_ROLE => {
                    role = parsed(value).ok_or(Fault::Format(tag))?;
                    details.parties.take(role, id)?;
                }
                tag::PARTY_ROLE_QUALIFIER => details.parties.roles |= qualifier(role, value)?,
                tag::ORDER_ORIGINATION if value == b"5" => details.mifid |= DIRECT_ACCESS,
                tag::ORDER_ATTRIBUTE_TYPE => attribute = value,
                tag::ORDER_ATTRIBUTE_VALUE if value == b"Y" => {
                    details.mifid |= match attribute {
                        b"2" => LIQUIDITY_PROVISION,
                        b"4" => ALGORITHM,
                        _ => return Err(Fault::Value(tag::ORDER_ATTRIBUTE_TYPE)),
                    }
                }
                tag::ORDER_ORIGINATION | tag::ORDER_ATTRIBUTE_VALUE => {
                    return Err(Fault::Value(tag));
                }
                tag::MIN_QTY => {
                    let quantity = self.quantity(tag)?;
                    details.min_quantity =
                        if quantity >= 0 { quantity } else { return Err(Fault::Value(tag)) };
                }
                tag::OFFSET_BP => details.offset = parsed(value).ok_or(Fault::Value(tag))?,
                tag::GROUP_ID => details.group = parsed(value).ok_or(Fault::Value(tag))?,
                tag::PEGGED_EXEC_INST => details.pegged = up_to_two(tag, value)?,
                tag::OWNER_TYPE => details.owner_type = up_to_two(tag, value)?,
                _ => {}
            }
        }
        Ok(details)
    }

    fn new_order(&self) -> Read<NewOrder> {
        let Details { parties, mifid, min_quantity, offset, group, pegged, owner_type } =
            self.details()?;
        let cl_ord_id = self.cl_ord_id()?;
        let (order_type, kind) = match self.given_letter(tag::ORD_TYPE)? {
            letter @ b'1'..=b'4' => (letter - b'0', 0),
            letter @ (b'P' | b'F') => {
                // With a hard limit, or with none.
                let order_type = if self.0.get(tag::PRICE).is_some() { 2 } else { 1 };
                (order_type, if letter == b'P' { PEGGED } else { OFFSET })
            }
            _ => return Err(Fault::Value(tag::ORD_TYPE)),
        };
        let (time_in_force, expire_s) = self.time_in_force()?;
        let (quantity, display) =
            (self.quantity(tag::ORDER_QTY)?, self.quantity(tag::DISPLAY_QTY)?);
        if quantity <= 0 {
            return Err(Fault::Value(tag::ORDER_QTY));
        }
        let (display, kind) = match self.letter(tag::DISPLAY_METHOD)? {
            None => (display, kind),
            Some(b'3') => (display, RANDOM_PEAK),
            Some(b'4') => (0, kind),
            Some(_) => return Err(Fault::Value(tag::DISPLAY_METHOD)),
        };
        if !(0..=quantity).contains(&display) {
            return Err(Fault::Value(tag::DISPLAY_QTY));
        }
        let limit = match order_type {
            2 | 4 => self.given_price(tag::PRICE)?,
            _ => 0,
        };
        let stop = match order_type {
            3 | 4 => self.given_price(tag::STOP_PX)?,
            _ => 0,
        };
        self.transact_time()?;
        Ok(NewOrder {
            cl_ord_id,
            trader_id: parties.trader,
            account: self.text(tag::ACCOUNT)?,
            clearing_account: self.clearing_account()?,
            instrument_id: self.instrument()?,
            party_roles: parties.roles,
            order_type,
            time_in_force,
            expire_s,
            side: self.side()?,
            quantity,
            display,
            limit,
            capacity: self.capacity()?,
            sub_type: kind,
            anonymity: match self.letter(tag::PRE_TRADE_ANONYMITY)? {
                None | Some(b'Y') => 0,
                Some(b'N') => 1,
                Some(_) => return Err(Fault::Value(tag::PRE_TRADE_ANONYMITY)),
            },
            stop,
            passive_only: self.passive_only()?,
            client_id: parties.client,
            investment_decision: parties.investment,
            group_id: group,
            executing_trader: parties.executing,
            mifid_flags: mifid,
            min_quantity,
            offset,
            pegged_instruction: pegged,
            owner_type,
            ..NewOrder::default()
        })
    }

    /// One side of a quote; none without price and size.
    fn quoted(&self, price: u32, size: u32) -> Read<(i64, i32)> {
        match (self.price(price)?, self.0.get(size)) {
            (None, None) => Ok((0, 0)),
            (Some(price), Some(_)) => match self.quantity(size)? {
                quantity @ 1.. => Ok((price, quantity)),
                _ => Err(Fault::Value(size)),
            },
            (None, Some(_)) => Err(Fault::Missing(price)),
            (Some(_), None) => Err(Fault::Missing(size)),
        }
    }

    fn quote(&self) -> Read<NewQuote> {
        let Details { parties, mifid, pegged, .. } = self.details()?;
        let cl_ord_id: Text<20> = self.given_text(tag::QUOTE_ID)?;
        if cl_ord_id.is_empty() {
            return Err(Fault::Value(tag::QUOTE_ID));
        }
        let (bid, bid_size) = self.quoted(tag::BID_PX, tag::BID_SIZE)?;
        let (ask, ask_size) = self.quoted(tag::OFFER_PX, tag::OFFER_SIZE)?;
        if bid_size == 0 && ask_size == 0 {
            return Err(Fault::Missing(tag::BID_PX));
        }
        self.transact_time()?;
        Ok(NewQuote {
            cl_ord_id,
            trader_id: parties.trader,
            clearing_account: self.clearing_account()?,
            instrument_id: self.instrument()?,
            bid,
            bid_size,
            ask,
            ask_size,
            capacity: self.capacity()?,
            client_id: parties.client,
            investment_decision: parties.investment,
            executing_trader: parties.executing,
            mifid_flags: mifid,
            party_roles: parties.roles,
            pegged_instruction: pegged,
            ..NewQuote::default()
        })
    }

    fn clearing_account(&self) -> Read<u8> {
        match self.given_letter(tag::ACCOUNT_TYPE)? {
            b'1' => Ok(1),
            b'3' => Ok(3),
            _ => Err(Fault::Value(tag::ACCOUNT_TYPE)),
        }
    }

    fn capacity(&self) -> Read<u8> {
        match self.given_letter(tag::ORDER_CAPACITY)? {
            b'R' => Ok(1),
            b'P' => Ok(2),
            b'A' => Ok(3),
            _ => Err(Fault::Value(tag::ORDER_CAPACITY)),
        }
    }

    fn replace(&self) -> Read<CancelReplace> {
        let (orig_cl_ord_id, order_id) = self.meant()?;
        let (quantity, display) =
            (self.quantity(tag::ORDER_QTY)?, self.quantity(tag::DISPLAY_QTY)?);
        if quantity <= 0 {
            return Err(Fault::Value(tag::ORDER_QTY));
        }
        if !(0..=quantity).contains(&display) {
            return Err(Fault::Value(tag::DISPLAY_QTY));
        }
        self.transact_time()?;
        Ok(CancelReplace {
            cl_ord_id: self.cl_ord_id()?,
            orig_cl_ord_id,
            order_id,
            instrument_id: self.instrument()?,
            group_id: self.number(tag::GROUP_ID)?.unwrap_or_default(),
            expire_s: self.expiry()?.map_or(0, |(_, at_s)| at_s),
            quantity,
            display,
            limit: self.price(tag::PRICE)?.unwrap_or(-1),
            account: self.text(tag::ACCOUNT)?,
            side: self.side()?,
            stop: self.price(tag::STOP_PX)?.unwrap_or(-1),
            passive_only: self.passive_only()?,
            ..CancelReplace::default()
        })
    }

    fn cancel(&self) -> Read<Cancel> {
        let (orig_cl_ord_id, order_id) = self.meant()?;
        self.transact_time()?;
        Ok(Cancel {
            cl_ord_id: self.cl_ord_id()?,
            orig_cl_ord_id,
            order_id,
            instrument_id: self.instrument()?,
            side: self.side()?,
            ..Cancel::default()
        })
    }

    fn mass_cancel(&self) -> Read<MassCancel> {
        let scope = self.given(tag::MASS_CANCEL_REQUEST_TYPE)?;
        let is_firm = match self.number(tag::TARGET_PARTY_ROLE)? {
            None | Some(TRADER_GROUP) => false,
            Some(MEMBER) => true,
            Some(_) => return Err(Fault::Value(tag::TARGET_PARTY_ROLE)),
        };
        let kind = match (scope, is_firm) {
            (b"1", true) => 3,
            (b"1", false) => 9,
            (b"7", true) => 8,
            (b"7", false) => 7,
            (b"9", true) => 4,
            (b"9", false) => 15,
            (b"56", true) => 58,
            (b"56", false) => 56,
            (b"57", true) => 57,
            _ => return Err(Fault::Value(tag::MASS_CANCEL_REQUEST_TYPE)),
        };
        let has_instrument = matches!(scope, b"1" | b"57");
        let segment = match scope {
            b"9" => self.given_text(tag::MARKET_SEGMENT_ID)?,
            _ => Text::default(),
        };
        let group_id = match scope {
            b"56" | b"57" => self.number(tag::GROUP_ID)?.ok_or(Fault::Missing(tag::GROUP_ID))?,
            _ => 0,
        };
        self.transact_time()?;
        Ok(MassCancel {
            cl_ord_id: self.cl_ord_id()?,
            kind,
            instrument_id: if has_instrument { self.instrument()? } else { 0 },
            group_id,
            segment,
            sub_type: 0,
        })
    }
}

/// Times in force by their letters, and as the native gateway has them; those with
/// an expiry, and none at all, are apart.
pub(super) const TIMES_IN_FORCE: [(u8, u8); 11] = [
    (b'0', 0),
    (b'1', 1),
    (b'2', 5),
    (b'3', 3),
    (b'4', 4),
    (b'7', 10),
    (b'8', 51),
    (b'9', 50),
    (b'C', 52),
    (b'D', 54),
    (b'E', 55),
];

fn parsed<T: std::str::FromStr>(value: &[u8]) -> Option<T> {
    std::str::from_utf8(value).ok()?.parse().ok()
}
