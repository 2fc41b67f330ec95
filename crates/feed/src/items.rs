//! A book as three items: market by order, market by price, market price.

use std::fmt;
use std::time::Duration;

use tapeline_omm::market::{BookHead, BookWriter, fid};
use tapeline_rwf::{
    DataType, Date, Domain, EncodeError, FieldListHead, FieldListInfo, FieldListWriter, MapAction,
    Primitive, Real, Slot, UpdateType,
};
use time::UtcDateTime;

use crate::book::{Book, Level, Order, Side, Touched, Trades};
use crate::market_state::MarketState;
use crate::update::append_container;

/// The domains that an instrument is published in.
pub(crate) const DOMAINS: [Domain; 3] =
    [Domain::MARKET_BY_ORDER, Domain::MARKET_BY_PRICE, Domain::MARKET_PRICE];

/// Dictionary and record template of market price images.
const TEMPLATE: FieldListInfo = FieldListInfo { dictionary_id: 1, list_number: 99 };

const HIGH_1: i16 = 12;
const LOW_1: i16 = 13;
const ACTIV_DATE: i16 = 17;
const OPEN_PRC: i16 = 19;
const NUM_MOVES: i16 = 77;
const TRDVOL_1: i16 = 178;
const SALTIM_MS: i16 = 3854;

const NS_PER_MS: u64 = 1_000_000;
const NS_PER_DAY: u64 = 86_400_000_000_000;

/// The container type of a domain's payload.
pub(crate) fn container_type(domain: Domain) -> DataType {
    if domain == Domain::MARKET_PRICE { DataType::FIELD_LIST } else { DataType::MAP }
}

/// A price with the fewest decimals that give it exactly, at least two.
pub(crate) fn price(price_nano: i64) -> Real {
    let (mut mantissa, mut decimals) = (price_nano, 9);
    while decimals > 2 && mantissa % 10 == 0 {
        mantissa /= 10;
        decimals -= 1;
    }
    Real::decimal(mantissa, decimals)
}

pub(crate) fn whole(number: u64) -> Real {
    Real::decimal(number.min(i64::MAX as u64) as i64, 0)
}

/// Milliseconds since midnight UTC.
fn ms_of_day(time_ns: u64) -> u64 {
    time_ns % NS_PER_DAY / NS_PER_MS
}

/// The day of a time in nanoseconds since 1970 UTC.
fn date(time_ns: u64) -> Date {
    let day = (UtcDateTime::UNIX_EPOCH + Duration::from_nanos(time_ns)).date();
    Date::new(day.year() as u16, u8::from(day.month()), day.day())
}

/// Appends the whole item as an encoded payload.
pub(crate) fn append_image(
    domain: Domain,
    (name, book): (&str, &Book),
    market: Option<&MarketState>,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    append_container(out, container_type(domain), |slot| match domain {
        Domain::MARKET_BY_ORDER => orders_image(name, book, slot),
        Domain::MARKET_BY_PRICE => levels_image(name, book, slot),
        _ => price_image(name, book, market, slot),
    })
}

fn orders_image(name: &str, book: &Book, slot: Slot<'_, '_>) -> Result<(), EncodeError> {
    let mut writer = begin_orders(Some(book.order_count()), slot)?;
    summary(name, &mut writer)?;
    for (id, order) in book.orders() {
        let mut row = order_row(&mut writer, MapAction::ADD, id)?;
        whole_order(&mut row, order)?;
        row.finish()?;
    }
    writer.finish()
}

fn begin_orders<'e, 'b>(
    count: Option<usize>,
    slot: Slot<'e, 'b>,
) -> Result<BookWriter<'e, 'b>, EncodeError> {
    let mut head = BookHead::new(DataType::BUFFER);
    head.key_field_id = Some(fid::ORDER_ID);
    head.total_count_hint = count.map(|count| count as u32);
    BookWriter::begin(slot, &head)
}

/// What all rows have in common.
fn summary(name: &str, writer: &mut BookWriter<'_, '_>) -> Result<(), EncodeError> {
    let mut fields = writer.summary(&FieldListHead::STANDARD)?;
    fields.put(fid::DSPLY_NAME, Primitive::rmtes(name))?;
    fields.finish()
}

/// Begins the row of an order; its key is its id in decimal.
fn order_row<'s, 'b>(
    writer: &'s mut BookWriter<'_, 'b>,
    action: MapAction,
    id: u64,
) -> Result<FieldListWriter<'s, 'b>, EncodeError> {
    writer.row(action, order_key(id).as_bytes(), None, &FieldListHead::STANDARD)
}

fn whole_order(row: &mut FieldListWriter<'_, '_>, order: &Order) -> Result<(), EncodeError> {
    row.put(fid::ORDER_PRC, price(order.price_nano))?;
    row.put(fid::ORDER_SIDE, Primitive::Enum(order.side as u16))?;
    row.put(fid::ORDER_SIZE, whole(order.size.into()))?;
    row.put(fid::QUOTIM_MS, ms_of_day(order.time_ns))
}

/// Appends what happened to the orders.
pub(crate) fn append_orders_update(
    book: &Book,
    touched: &Touched,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    append_container(out, DataType::MAP, |slot| {
        let mut writer = begin_orders(None, slot)?;
        for (id, before) in touched.orders() {
            match (before, book.order(*id)) {
                (None, Some(order)) => {
                    let mut row = order_row(&mut writer, MapAction::ADD, *id)?;
                    whole_order(&mut row, order)?;
                    row.finish()?;
                }
                (Some(before), Some(order)) => {
                    let mut row = order_row(&mut writer, MapAction::UPDATE, *id)?;
                    changed_order(&mut row, before, order)?;
                    row.finish()?;
                }
                (Some(_), None) => writer.delete(order_key(*id).as_bytes())?,
                (None, None) => {}
            }
        }
        writer.finish()
    })
}

fn changed_order(
    row: &mut FieldListWriter<'_, '_>,
    before: &Order,
    order: &Order,
) -> Result<(), EncodeError> {
    if before.price_nano != order.price_nano {
        row.put(fid::ORDER_PRC, price(order.price_nano))?;
    }
    if before.side != order.side {
        row.put(fid::ORDER_SIDE, Primitive::Enum(order.side as u16))?;
    }
    if before.size != order.size {
        row.put(fid::ORDER_SIZE, whole(order.size.into()))?;
    }
    row.put(fid::QUOTIM_MS, ms_of_day(order.time_ns))
}

/// The key of a row.
struct RowKey {
    bytes: [u8; Self::ROOM],
    len: usize,
}

impl RowKey {
    /// A price of 19 digits with its sign, its point and a side, or an order's number.
    const ROOM: usize = 24;

    fn new(text: fmt::Arguments<'_>) -> Self {
        let mut key = Self { bytes: [0; Self::ROOM], len: 0 };
        let written = fmt::Write::write_fmt(&mut key, text);
        debug_assert!(written.is_ok(), "{text} is longer than any key");
        key
    }

    fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl fmt::Write for RowKey {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.bytes.get_mut(self.len..end).ok_or(fmt::Error)?.copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// The key of an order: its number.
fn order_key(id: u64) -> RowKey {
    RowKey::new(format_args!("{id}"))
}

/// The key of a price level: its price in full and its side, `4805.25B`.
fn level_key(side: Side, price_nano: i64) -> RowKey {
    const UNITS: u64 = 1_000_000_000;
    let (magnitude, mut decimals) = (price_nano.unsigned_abs(), 9);
    let (whole, mut part) = (magnitude / UNITS, magnitude % UNITS);
    while decimals > 2 && part.is_multiple_of(10) {
        (part, decimals) = (part / 10, decimals - 1);
    }
    let sign = if price_nano < 0 { "-" } else { "" };
    let side = if side == Side::Bid { 'B' } else { 'A' };
    RowKey::new(format_args!("{sign}{whole}.{part:0decimals$}{side}"))
}

fn levels_image(name: &str, book: &Book, slot: Slot<'_, '_>) -> Result<(), EncodeError> {
    let mut writer = BookWriter::begin(slot, &BookHead::new(DataType::BUFFER))?;
    summary(name, &mut writer)?;
    for (price_nano, level) in book.levels(Side::Bid).rev() {
        add_level(&mut writer, Side::Bid, price_nano, level)?;
    }
    for (price_nano, level) in book.levels(Side::Ask) {
        add_level(&mut writer, Side::Ask, price_nano, level)?;
    }
    writer.finish()
}

fn add_level(
    writer: &mut BookWriter<'_, '_>,
    side: Side,
    price_nano: i64,
    level: &Level,
) -> Result<(), EncodeError> {
    let key = level_key(side, price_nano);
    let mut row = writer.row(MapAction::ADD, key.as_bytes(), None, &FieldListHead::STANDARD)?;
    row.put(fid::ORDER_PRC, price(price_nano))?;
    row.put(fid::ORDER_SIDE, Primitive::Enum(side as u16))?;
    level_fields(&mut row, level)?;
    row.finish()
}

fn level_fields(row: &mut FieldListWriter<'_, '_>, level: &Level) -> Result<(), EncodeError> {
    row.put(fid::ORDER_SIZE, whole(level.size))?;
    row.put(fid::NO_ORD, u64::from(level.orders))?;
    row.put(fid::QUOTIM_MS, ms_of_day(level.time_ns))
}

/// Appends what happened to the price levels.
pub(crate) fn append_levels_update(
    book: &Book,
    touched: &Touched,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    append_container(out, DataType::MAP, |slot| {
        let mut writer = BookWriter::begin(slot, &BookHead::new(DataType::BUFFER))?;
        for ((side, price_nano), before) in touched.levels() {
            let key = level_key(*side, *price_nano);
            match (before, book.level(*side, *price_nano)) {
                (None, Some(level)) => add_level(&mut writer, *side, *price_nano, level)?,
                (Some(before), Some(level)) if before != level => {
                    let action = MapAction::UPDATE;
                    let head = &FieldListHead::STANDARD;
                    let mut row = writer.row(action, key.as_bytes(), None, head)?;
                    level_fields(&mut row, level)?;
                    row.finish()?;
                }
                (Some(_), None) => writer.delete(key.as_bytes())?,
                _ => {}
            }
        }
        writer.finish()
    })
}

fn price_image(
    name: &str,
    book: &Book,
    market: Option<&MarketState>,
    slot: Slot<'_, '_>,
) -> Result<(), EncodeError> {
    let mut fields = slot.field_list(&FieldListHead::with_info(TEMPLATE))?;
    fields.put(fid::DSPLY_NAME, Primitive::rmtes(name))?;
    trade_fields(&mut fields, book.trades())?;
    for side in [Side::Bid, Side::Ask] {
        best_fields(&mut fields, side, book.best(side))?;
    }
    let newest = [Side::Bid, Side::Ask].map(|side| book.best(side).map(|best| best.1.time_ns));
    match newest.into_iter().flatten().max() {
        Some(time_ns) => fields.put(fid::QUOTIM_MS, ms_of_day(time_ns))?,
        None => fields.blank(fid::QUOTIM_MS)?,
    }
    if let Some(market) = market {
        market.put(None, &mut fields)?;
    }
    fields.finish()
}

fn trade_fields(fields: &mut FieldListWriter<'_, '_>, trades: &Trades) -> Result<(), EncodeError> {
    let Some(last) = trades.last else {
        for field_id in [fid::TRDPRC_1, TRDVOL_1, OPEN_PRC, HIGH_1, LOW_1, ACTIV_DATE, SALTIM_MS] {
            fields.blank(field_id)?;
        }
        fields.put(fid::ACVOL_1, whole(0))?;
        return fields.put(NUM_MOVES, whole(0));
    };
    fields.put(fid::TRDPRC_1, price(last.price_nano))?;
    fields.put(TRDVOL_1, whole(last.size.into()))?;
    fields.put(OPEN_PRC, price(trades.open_nano))?;
    fields.put(HIGH_1, price(trades.high_nano))?;
    fields.put(LOW_1, price(trades.low_nano))?;
    fields.put(ACTIV_DATE, date(last.time_ns))?;
    fields.put(SALTIM_MS, ms_of_day(last.time_ns))?;
    fields.put(fid::ACVOL_1, whole(trades.volume))?;
    fields.put(NUM_MOVES, whole(trades.count))
}

fn best_fields(
    fields: &mut FieldListWriter<'_, '_>,
    side: Side,
    best: Option<(i64, Level)>,
) -> Result<(), EncodeError> {
    let (price_id, size_id) = match side {
        Side::Bid => (fid::BID, fid::BIDSIZE),
        Side::Ask => (fid::ASK, fid::ASKSIZE),
    };
    let Some((price_nano, level)) = best else {
        fields.blank(price_id)?;
        return fields.blank(size_id);
    };
    fields.put(price_id, price(price_nano))?;
    fields.put(size_id, whole(level.size))
}

/// What kind of update the market price item has, if it has changed at all.
pub(crate) fn price_update_type(book: &Book, touched: &Touched) -> Option<UpdateType> {
    let is_less = |before: Trades| book.trades().volume < before.volume;
    if touched.trades.is_some_and(is_less) {
        return Some(UpdateType::CORRECTION);
    }
    match (touched.trades.is_some(), changed_sides(book, touched).next().is_some()) {
        (true, true) => Some(UpdateType::QUOTES_TRADE),
        (true, false) => Some(UpdateType::TRADE),
        (false, true) => Some(UpdateType::QUOTE),
        (false, false) => touched.market.map(|_| UpdateType::UNSPECIFIED),
    }
}

/// The sides whose best price, or the size there, has changed.
fn changed_sides(book: &Book, touched: &Touched) -> impl Iterator<Item = Side> {
    let of = |best: Option<(i64, Level)>| best.map(|(price, level)| (price, level.size));
    let before = touched.best;
    let now = [book.best(Side::Bid), book.best(Side::Ask)];
    [Side::Bid, Side::Ask].into_iter().zip(now).enumerate().filter_map(move |(at, (side, now))| {
        let before = before?[at];
        (of(before) != of(now)).then_some(side)
    })
}

/// Appends what changed of the market price item.
pub(crate) fn append_price_update(
    book: &Book,
    touched: &Touched,
    (market, time_ns): (Option<&MarketState>, u64),
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    append_container(out, DataType::FIELD_LIST, |slot| {
        let mut fields = slot.field_list(&FieldListHead::STANDARD)?;
        if let Some(before) = &touched.trades {
            changed_trades(&mut fields, before, book.trades())?;
        }
        let mut is_quote = false;
        for side in changed_sides(book, touched) {
            best_fields(&mut fields, side, book.best(side))?;
            is_quote = true;
        }
        if is_quote {
            fields.put(fid::QUOTIM_MS, ms_of_day(time_ns))?;
        }
        if let (Some(market), Some(before)) = (market, &touched.market) {
            market.put(Some(before), &mut fields)?;
        }
        fields.finish()
    })
}

fn changed_trades(
    fields: &mut FieldListWriter<'_, '_>,
    before: &Trades,
    trades: &Trades,
) -> Result<(), EncodeError> {
    let Some(last) = trades.last else { return Ok(()) };
    if before.last == Some(last) && before.count >= trades.count {
        // Some were cancelled, and none were made.
        fields.put(fid::ACVOL_1, whole(trades.volume))?;
        return fields.put(NUM_MOVES, whole(trades.count));
    }
    fields.put(fid::TRDPRC_1, price(last.price_nano))?;
    fields.put(TRDVOL_1, whole(last.size.into()))?;
    let is_first = before.count == 0;
    if is_first {
        fields.put(OPEN_PRC, price(trades.open_nano))?;
    }
    if is_first || before.high_nano != trades.high_nano {
        fields.put(HIGH_1, price(trades.high_nano))?;
    }
    if is_first || before.low_nano != trades.low_nano {
        fields.put(LOW_1, price(trades.low_nano))?;
    }
    let day = date(last.time_ns);
    if before.last.is_none_or(|trade| date(trade.time_ns) != day) {
        fields.put(ACTIV_DATE, day)?;
    }
    fields.put(SALTIM_MS, ms_of_day(last.time_ns))?;
    fields.put(fid::ACVOL_1, whole(trades.volume))?;
    fields.put(NUM_MOVES, whole(trades.count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_have_the_decimals_they_need() {
        for (price_nano, text) in [
            (4_805_250_000_000, "4805.25"),
            (4_805_500_000_000, "4805.50"),
            (-1_087_650_000, "-1.08765"),
            (1, "0.000000001"),
            (0, "0.00"),
        ] {
            assert_eq!(price(price_nano).to_string(), text);
            let key = [text, "B"].concat();
            assert_eq!(level_key(Side::Bid, price_nano).as_bytes(), key.as_bytes());
        }
        assert_eq!(level_key(Side::Ask, 4_805_250_000_000).as_bytes(), b"4805.25A");
        assert_eq!(level_key(Side::Bid, i64::MIN + 1).as_bytes(), b"-9223372036.854775807B");
        assert_eq!(order_key(u64::MAX).as_bytes(), b"18446744073709551615");
    }

    #[test]
    fn days_follow_the_calendar() {
        for (day, expected) in [
            (0, Date::new(1970, 1, 1)),
            (59, Date::new(1970, 3, 1)),
            (19_716, Date::new(2023, 12, 25)),
            (19_782, Date::new(2024, 2, 29)),
            (47_541, Date::new(2100, 3, 1)),
        ] {
            assert_eq!(date(day * NS_PER_DAY + 5), expected);
        }
        assert_eq!(ms_of_day(NS_PER_DAY * 3 + 61_000_999_999), 61_000);
    }
}
