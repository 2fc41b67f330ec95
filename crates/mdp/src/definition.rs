//! What an instrument is.

use tapeline_layout::Field;

use crate::codes::{DefinitionAction, NumberedSide, PutOrCall, Side, TradingStatus};
use crate::error::MdpError;
use crate::field::{MarketDate, MatchEvent, MaturityMonthYear, Price9, SettlementType};
use crate::places::Places;
use crate::wire::{Block, Body, Dimension, Group, Null, Nullable, Wire, block};

/// What kind of an instrument it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DefinitionKind {
    /// 54.
    Future,
    /// 55.
    Option,
    /// 56: several others at once.
    Spread,
    /// 57: a bond.
    FixedIncome,
    /// 58: a repo.
    Repo,
    /// 63: a pair of currencies.
    Fx,
}

/// 54 to 58 and 63: an instrument. What a kind of instrument does not have is none, or
/// an empty text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition<'a> {
    /// What kind of an instrument it is.
    pub kind: DefinitionKind,
    /// Whether it is the last message of something.
    pub event: MatchEvent,
    /// Instruments in a turn of the loop, where it is one.
    pub total_reports: Option<u32>,
    /// What happens to the instrument.
    pub update_action: DefinitionAction,
    /// When that was, in nanoseconds since 1 January 1970.
    pub last_update_time_ns: u64,
    /// Whether it trades, in a loop.
    pub trading_status: TradingStatus,
    /// The channel.
    pub appl_id: i16,
    /// The segment of the market, to which its orders go.
    pub market_segment: u8,
    /// What it is about: 4 currencies, 5 indices, 14 interest rates, 16 energy, …
    pub underlying_product: Option<u8>,
    /// The exchange, by its market identifier code: `XCME`, `XNYM`, …
    pub exchange: &'a str,
    /// The group of instruments.
    pub group: &'a str,
    /// The product.
    pub asset: &'a str,
    /// Its name.
    pub symbol: &'a str,
    /// Its number.
    pub security: i32,
    /// `FUT`, `OOF`, `MLEG`, …
    pub security_type: &'a str,
    /// Its class by ISO 10962.
    pub cfi: &'a str,
    /// When it is due.
    pub maturity: MaturityMonthYear,
    /// What its price is in.
    pub currency: &'a str,
    /// What it is settled in, if that is another currency.
    pub settlement_currency: &'a str,
    /// The kind of strategy that a spread is.
    pub sub_type: &'a str,
    /// Which option.
    pub put_or_call: Option<PutOrCall>,
    /// An option's.
    pub strike_price: Option<Price9>,
    /// How orders match, as a letter: `F` by time, `K` by time and size, …
    pub match_algorithm: u8,
    /// The least that an order may have.
    pub min_trade_volume: u32,
    /// The most.
    pub max_trade_volume: u32,
    /// The tick; none where a table has it.
    pub min_price_increment: Option<Price9>,
    /// What the tick of a contract is worth.
    pub min_price_increment_amount: Option<Price9>,
    /// The number of the table of ticks.
    pub tick_rule: Option<i8>,
    /// A price on the wire times this is the price that is usual.
    pub display_factor: Price9,
    /// Into how many parts a price's whole is divided, where it is shown as a fraction.
    pub main_fraction: Option<u8>,
    /// Into how many these are.
    pub sub_fraction: Option<u8>,
    /// How many digits a fraction is shown with.
    pub price_display_format: Option<u8>,
    /// What it is an amount of: `BBL`, `IPNT`, …
    pub unit_of_measure: &'a str,
    /// How much of it a contract is.
    pub unit_of_measure_quantity: Option<Price9>,
    /// The last settlement price, or what stands for it.
    pub reference_price: Option<Price9>,
    /// What that is.
    pub settlement: SettlementType,
    /// The day of it.
    pub reference_date: Option<MarketDate>,
    /// The open interest at the end of the session before.
    pub open_interest: Option<i32>,
    /// What was cleared of the session before.
    pub cleared_volume: Option<i32>,
    /// The highest price at which it may trade.
    pub high_limit_price: Option<Price9>,
    /// The lowest.
    pub low_limit_price: Option<Price9>,
    /// How far an order may be from the price that its band is around.
    pub max_price_variation: Option<Price9>,
    /// `Y` if somebody who trades made it, else `N`.
    pub user_defined: u8,
    /// The number it has outside; none in version 9.
    pub guid: Option<u64>,
    events: Group<'a>,
    feeds: Group<'a>,
    attributes: Group<'a>,
    underlyings: Group<'a>,
    legs: Group<'a>,
}

/// A time in the life of an instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LifeEvent {
    /// 5 it begins to trade, 7 it does for the last time.
    pub kind: u8,
    /// When, in nanoseconds since 1 January 1970.
    pub time_ns: u64,
}

block! {
    LifeEventEntry of LifeEvent, 9 {
        0 => kind: u8,
        1 => time_ns: u64,
    }
}

/// A book that is sent of an instrument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feed<'a> {
    /// `GBX` its own, `GBI` what other instruments imply.
    pub kind: &'a str,
    /// How many levels of it.
    pub depth: i8,
}

/// A part of a spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The instrument.
    pub security: i32,
    /// Who buys the spread does this of it.
    pub side: Option<Side>,
    /// How many of it there are in one of the spread.
    pub ratio: i8,
    /// Its price, where it is fixed.
    pub price: Option<Price9>,
}

block! {
    /// The delta of an option follows, which is not read.
    LegEntry of Leg, 18 {
        0 => security: i32,
        4 => side: NumberedSide,
        5 => ratio: i8,
        6 => price: Null<Price9>,
        null 14: i32,
    }
}

/// What an option is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Underlying<'a> {
    /// The instrument.
    pub security: i32,
    /// Its name.
    pub symbol: &'a str,
}

/// A text in a block, without the zeros, or spaces, that fill it up; empty if it is
/// none, or if the block ends before.
pub(crate) fn text(block: &[u8], at: usize, len: usize) -> &str {
    let bytes = block.get(at..).and_then(|bytes| bytes.get(..len)).unwrap_or_default();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    str::from_utf8(&bytes[..end]).unwrap_or_default().trim_end_matches(' ')
}

/// A field at a place that the template may not have, or the block not reach.
fn get<T: Field>(block: &[u8], at: usize) -> Option<T> {
    Some(T::get(block.get(at..)?.get(..<T as Field>::LEN)?))
}

/// The same of one that may be null.
fn get_null<T: Nullable>(block: &[u8], at: usize) -> Option<T> {
    get::<T>(block, at).filter(|value| *value != T::NULL)
}

/// How long the entries of groups are that have texts, or one number.
const FEED_BYTES: usize = 4;
const ATTRIBUTE_BYTES: usize = 4;
const UNDERLYING_BYTES: usize = 24;
const LOT_RULE_BYTES: usize = 5;

impl<'a> Definition<'a> {
    /// One of which no more is known than this.
    pub fn new(kind: DefinitionKind, security: i32, symbol: &'a str) -> Self {
        Self {
            symbol,
            security,
            update_action: DefinitionAction::Add,
            match_algorithm: b'F',
            min_trade_volume: 1,
            max_trade_volume: 1,
            display_factor: Price9::from_nano(1_000_000_000),
            settlement: SettlementType::NULL,
            user_defined: b'N',
            ..Self::of_block(&[], kind)
        }
    }

    /// What a block says, as far as it goes.
    fn of_block(block: &'a [u8], kind: DefinitionKind) -> Self {
        let at = Places::of(kind);
        let price = |place| get_null(block, place);
        Self {
            kind,
            event: get(block, 0).unwrap_or_default(),
            total_reports: get_null(block, 1),
            update_action: get(block, 5).unwrap_or(DefinitionAction::Other(0)),
            last_update_time_ns: get(block, 6).unwrap_or_default(),
            trading_status: get(block, 14).unwrap_or(TradingStatus::Absent),
            appl_id: get(block, 15).unwrap_or_default(),
            market_segment: get(block, 17).unwrap_or_default(),
            underlying_product: get_null(block, 18),
            exchange: text(block, 19, 4),
            group: text(block, 23, 6),
            asset: text(block, 29, 6),
            symbol: text(block, 35, 20),
            security: get(block, 55).unwrap_or_default(),
            security_type: text(block, 59, 6),
            cfi: text(block, 65, 6),
            maturity: get(block, at.maturity).unwrap_or_default(),
            currency: text(block, at.currency, 3),
            settlement_currency: text(block, at.settlement_currency, 3),
            sub_type: text(block, at.sub_type, 5),
            put_or_call: get(block, at.put_or_call),
            strike_price: price(at.strike_price),
            match_algorithm: get(block, at.match_algorithm).unwrap_or_default(),
            min_trade_volume: get(block, at.min_trade_volume).unwrap_or_default(),
            max_trade_volume: get(block, at.max_trade_volume).unwrap_or_default(),
            min_price_increment: price(at.min_price_increment),
            min_price_increment_amount: price(at.min_price_increment_amount),
            tick_rule: get_null(block, at.tick_rule),
            display_factor: get(block, at.display_factor).unwrap_or_default(),
            main_fraction: get_null(block, at.main_fraction),
            sub_fraction: get_null(block, at.sub_fraction),
            price_display_format: get_null(block, at.price_display_format),
            unit_of_measure: text(block, at.unit_of_measure, 30),
            unit_of_measure_quantity: price(at.unit_of_measure_quantity),
            reference_price: price(at.reference_price),
            settlement: get(block, at.settlement).unwrap_or(SettlementType::NULL),
            reference_date: get_null(block, at.reference_date),
            open_interest: get_null(block, at.open_interest),
            cleared_volume: get_null(block, at.cleared_volume),
            high_limit_price: price(at.high_limit_price),
            low_limit_price: price(at.low_limit_price),
            max_price_variation: price(at.max_price_variation),
            user_defined: get(block, at.user_defined).unwrap_or_default(),
            guid: get_null(block, at.guid),
            events: Group::EMPTY,
            feeds: Group::EMPTY,
            attributes: Group::EMPTY,
            underlyings: Group::EMPTY,
            legs: Group::EMPTY,
        }
    }

    pub(crate) fn read(
        mut body: Body<'a>,
        block: usize,
        kind: DefinitionKind,
    ) -> Result<Self, MdpError> {
        let block = body.block(block, Places::of(kind).least)?;
        let mut definition = Self::of_block(block, kind);
        definition.events = body.group::<_, LifeEventEntry>(Dimension::Packed)?;
        definition.feeds = body.sized_group(FEED_BYTES)?;
        definition.attributes = body.sized_group(ATTRIBUTE_BYTES)?;
        // Rules of lots.
        body.sized_group(0)?;
        match kind {
            DefinitionKind::Option => {
                definition.underlyings = body.sized_group(UNDERLYING_BYTES)?;
            }
            DefinitionKind::Spread => {
                definition.legs = body.group::<_, LegEntry>(Dimension::Packed)?;
            }
            _ => {}
        }
        Ok(definition)
    }

    /// When it begins to trade, and when it does for the last time.
    pub fn events(&self) -> impl Iterator<Item = LifeEvent> + use<'a> {
        self.events.blocks().map(LifeEventEntry::read)
    }

    /// The books that are sent of it.
    pub fn feeds(&self) -> impl Iterator<Item = Feed<'a>> + use<'a> {
        let feed = |block| Feed { kind: text(block, 0, 3), depth: i8::from_le_bytes([block[3]]) };
        self.feeds.blocks().map(feed)
    }

    /// What may be done with it, as bits: 0 traded electronically, 19 implied, …
    pub fn attributes(&self) -> impl Iterator<Item = u32> + use<'a> {
        self.attributes.blocks().map(|block| get(block, 0).unwrap_or_default())
    }

    /// What an option is about.
    pub fn underlyings(&self) -> impl Iterator<Item = Underlying<'a>> + use<'a> {
        self.underlyings.blocks().map(|block| Underlying {
            security: get(block, 0).unwrap_or_default(),
            symbol: text(block, 4, 20),
        })
    }

    /// The parts of a spread.
    pub fn legs(&self) -> impl Iterator<Item = Leg> + use<'a> {
        self.legs.blocks().map(LegEntry::read)
    }
}

/// The groups of a definition that is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DefinitionGroups<'a> {
    /// When it begins to trade, and when it does for the last time.
    pub events: &'a [LifeEvent],
    /// The books that are sent of it.
    pub feeds: &'a [Feed<'a>],
    /// What may be done with it.
    pub attributes: &'a [u32],
}

/// A block that is being written.
struct Writer([u8; FUTURE_BYTES]);

/// How long template 54 is from version 10 on.
pub(crate) const FUTURE_BYTES: usize = 224;

impl Writer {
    fn put<W: Wire>(&mut self, at: usize, value: W::Value) {
        W::put(value, &mut self.0[at..at + W::LEN]);
    }

    fn put_null<T: Nullable>(&mut self, at: usize, value: Option<T>) {
        self.put::<Null<T>>(at, value);
    }

    fn text(&mut self, at: usize, len: usize, text: &str) {
        for (place, byte) in self.0[at..at + len].iter_mut().zip(text.bytes()) {
            *place = byte;
        }
    }
}

/// Appends template 54 but for its groups. Decay, multipliers and schedules of delivery
/// are null.
pub(crate) fn append_future(of: &Definition<'_>, out: &mut Vec<u8>) {
    let (mut to, at) = (Writer([0; FUTURE_BYTES]), Places::of(DefinitionKind::Future));
    to.put::<MatchEvent>(0, of.event);
    to.put_null(1, of.total_reports);
    to.put::<DefinitionAction>(5, of.update_action);
    to.put::<u64>(6, of.last_update_time_ns);
    to.put::<TradingStatus>(14, of.trading_status);
    to.put::<i16>(15, of.appl_id);
    to.put::<u8>(17, of.market_segment);
    to.put_null(18, of.underlying_product);
    to.text(19, 4, of.exchange);
    to.text(23, 6, of.group);
    to.text(29, 6, of.asset);
    to.text(35, 20, of.symbol);
    to.put::<i32>(55, of.security);
    to.text(59, 6, of.security_type);
    to.text(65, 6, of.cfi);
    to.put::<MaturityMonthYear>(at.maturity, of.maturity);
    to.text(at.currency, 3, of.currency);
    to.text(at.settlement_currency, 3, of.settlement_currency);
    to.put::<u8>(at.match_algorithm, of.match_algorithm);
    to.put::<u32>(at.min_trade_volume, of.min_trade_volume);
    to.put::<u32>(at.max_trade_volume, of.max_trade_volume);
    to.put_null(at.min_price_increment, of.min_price_increment);
    to.put::<Price9>(at.display_factor, of.display_factor);
    to.put_null(at.main_fraction, of.main_fraction);
    to.put_null(at.sub_fraction, of.sub_fraction);
    to.put_null(at.price_display_format, of.price_display_format);
    to.text(at.unit_of_measure, 30, of.unit_of_measure);
    to.put_null(at.unit_of_measure_quantity, of.unit_of_measure_quantity);
    to.put_null(at.reference_price, of.reference_price);
    to.put::<SettlementType>(at.settlement, of.settlement);
    to.put_null(at.open_interest, of.open_interest);
    to.put_null(at.cleared_volume, of.cleared_volume);
    to.put_null(at.high_limit_price, of.high_limit_price);
    to.put_null(at.low_limit_price, of.low_limit_price);
    to.put_null(at.max_price_variation, of.max_price_variation);
    to.put_null::<i32>(189, None);
    to.put_null::<MarketDate>(193, None);
    to.put_null::<i32>(195, None);
    to.put_null::<i32>(199, None);
    to.put_null::<i8>(203, None);
    to.put_null::<i8>(204, None);
    to.put_null(at.min_price_increment_amount, of.min_price_increment_amount);
    to.put::<u8>(at.user_defined, of.user_defined);
    to.put_null(at.reference_date, of.reference_date);
    to.put_null(at.guid, of.guid);
    out.extend_from_slice(&to.0);
}

/// Appends the groups of template 54: none of rules of lots.
pub(crate) fn append_groups(of: &DefinitionGroups<'_>, out: &mut Vec<u8>) {
    Dimension::Packed.append(<LifeEventEntry as Block<_>>::LEN, of.events.len(), out);
    for event in of.events {
        LifeEventEntry::append(event, out);
    }
    Dimension::Packed.append(FEED_BYTES, of.feeds.len(), out);
    for feed in of.feeds {
        let mut kind = [0; 3];
        for (place, byte) in kind.iter_mut().zip(feed.kind.bytes()) {
            *place = byte;
        }
        out.extend_from_slice(&kind);
        out.extend_from_slice(&feed.depth.to_le_bytes());
    }
    Dimension::Packed.append(ATTRIBUTE_BYTES, of.attributes.len(), out);
    for bits in of.attributes {
        out.extend_from_slice(&bits.to_le_bytes());
    }
    Dimension::Packed.append(LOT_RULE_BYTES, 0, out);
}
