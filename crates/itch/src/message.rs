//! The messages. Places are those of the document's tables; what a character means
//! is said where the document has a table for it.

use tapeline_layout::{Text, message};

use crate::error::ItchError;
use crate::field::{Price4, Price8, Timestamp};

/// Spaces fill texts up.
pub type Alpha<const N: usize> = Text<N, b' '>;

message! {
    /// What every message has behind its type.
    Head: 11, big endian, fill 0 {
        /// The number of the instrument for the day; 0 where a message is about all.
        1 => locate: u16,
        /// Of the exchange's own.
        3 => tracking: u16,
        /// Since midnight of the exchange.
        5 => timestamp: Timestamp,
    }
}

message! {
    /// `S`: the day goes on.
    SystemEvent: 12, big endian, fill b' ' {
        /// `O` messages begin, `S` the system's hours, `Q` the market's hours; `M` the
        /// market's hours end, `E` the system's, `C` messages.
        11 => event: u8,
    }
}

message! {
    /// `R`: an instrument.
    StockDirectory: 39, big endian, fill b' ' {
        /// Its symbol.
        11 => stock: Alpha<8>,
        /// Where it is listed: `Q`, `G`, `S` Nasdaq's tiers, `N` NYSE, `A` NYSE
        /// American, `P` NYSE Arca, `Z` Cboe BZX, `V` IEX, space unknown.
        19 => market_category: u8,
        /// `N` normal, `D` deficient, `E` delinquent, `Q` bankrupt, `S` suspended, `G`,
        /// `H`, `J`, `K` several of them, `C` creations suspended, space unknown.
        20 => financial_status: u8,
        /// Shares in a round lot.
        21 => round_lot_size: u32,
        /// `Y` if only round lots are taken.
        25 => round_lots_only: u8,
        /// Its class, as `C` common stock.
        26 => issue_classification: u8,
        /// Its kind in detail; `Z` none.
        27 => issue_sub_type: Alpha<2>,
        /// `P` production, `T` test.
        29 => authenticity: u8,
        /// `Y` if it is restricted by SEC rule 203(b)(3), space unknown.
        30 => short_sale_threshold: u8,
        /// `Y` if it is being brought to the market.
        31 => ipo_flag: u8,
        /// `1`, `2`, or space: its band of limit up and limit down.
        32 => luld_tier: u8,
        /// `Y` if it is an exchange traded product.
        33 => etp_flag: u8,
        /// By how much the product moves with what it follows.
        34 => etp_leverage: u32,
        /// `Y` if it moves against it.
        38 => inverse: u8,
    }
}

message! {
    /// `H`: whether an instrument trades.
    TradingAction: 25, big endian, fill b' ' {
        /// Its symbol.
        11 => stock: Alpha<8>,
        /// `H` halted everywhere, `P` paused everywhere, `Q` quotes only, `T` trades.
        19 => state: u8,
        /// Why.
        21 => reason: Alpha<4>,
    }
}

message! {
    /// `Y`: whether the price test for short sales holds.
    RegSho: 20, big endian, fill b' ' {
        /// Its symbol.
        11 => stock: Alpha<8>,
        /// `0` no, `1` from now on, `2` still.
        19 => action: u8,
    }
}

message! {
    /// `L`: what a market maker is in an instrument.
    ParticipantPosition: 26, big endian, fill b' ' {
        /// Who.
        11 => participant: Alpha<4>,
        /// In what.
        15 => stock: Alpha<8>,
        /// `Y` if it is a primary one.
        23 => primary: u8,
        /// `N` normal, `P` passive, `S` syndicate, `R` pre-syndicate, `L` penalty.
        24 => mode: u8,
        /// `A` active, `E` excused, `W` withdrawn, `S` suspended, `D` deleted.
        25 => state: u8,
    }
}

message! {
    /// `V`: where the circuit breakers of the whole market are today.
    MwcbLevels: 35, big endian, fill b' ' {
        /// The first.
        11 => level_1: Price8,
        /// The second.
        19 => level_2: Price8,
        /// The third.
        27 => level_3: Price8,
    }
}

message! {
    /// `W`: a circuit breaker of the whole market strikes.
    MwcbStatus: 12, big endian, fill b' ' {
        /// `1`, `2` or `3`.
        11 => level: u8,
    }
}

message! {
    /// `K`: when a new instrument is to be quoted.
    IpoQuoting: 28, big endian, fill b' ' {
        /// Its symbol.
        11 => stock: Alpha<8>,
        /// Seconds since midnight.
        19 => release_s: u32,
        /// `A` as expected, `C` called off or put off.
        23 => qualifier: u8,
        /// Its price.
        24 => price: Price4,
    }
}

message! {
    /// `J`: within which prices the auction after a pause may end.
    LuldCollar: 35, big endian, fill b' ' {
        /// Its symbol.
        11 => stock: Alpha<8>,
        /// What the collar is around.
        19 => reference: Price4,
        /// The highest.
        23 => upper: Price4,
        /// The lowest.
        27 => lower: Price4,
        /// How often it has been extended.
        31 => extension: u32,
    }
}

message! {
    /// `h`: one market halts an instrument, or has it go on.
    OperationalHalt: 21, big endian, fill b' ' {
        /// Its symbol.
        11 => stock: Alpha<8>,
        /// `Q` Nasdaq, `B` BX, `X` PSX.
        19 => market: u8,
        /// `H` halted, `T` goes on.
        20 => action: u8,
    }
}

message! {
    /// `A`: an order is shown.
    AddOrder: 36, big endian, fill b' ' {
        /// Its number, of the day.
        11 => order: u64,
        /// `B` or `S`.
        19 => side: u8,
        /// How much is shown.
        20 => shares: u32,
        /// Of what.
        24 => stock: Alpha<8>,
        /// Its limit.
        32 => price: Price4,
    }
}

message! {
    /// `F`: an order is shown, and whose it is.
    AddAttributedOrder: 40, big endian, fill b' ' {
        /// Its number, of the day.
        11 => order: u64,
        /// `B` or `S`.
        19 => side: u8,
        /// How much is shown.
        20 => shares: u32,
        /// Of what.
        24 => stock: Alpha<8>,
        /// Its limit.
        32 => price: Price4,
        /// Whose it is.
        36 => attribution: Alpha<4>,
    }
}

message! {
    /// `E`: an order traded at its price; with the last of it the order is gone.
    Executed: 31, big endian, fill b' ' {
        /// Its number.
        11 => order: u64,
        /// How much.
        19 => shares: u32,
        /// The trade.
        23 => trade: u64,
    }
}

message! {
    /// `C`: an order traded at another price.
    ExecutedAtPrice: 36, big endian, fill b' ' {
        /// Its number.
        11 => order: u64,
        /// How much.
        19 => shares: u32,
        /// The trade.
        23 => trade: u64,
        /// `Y`, or `N` if a [`CrossTrade`] tells of it too.
        31 => printable: u8,
        /// The price.
        32 => price: Price4,
    }
}

message! {
    /// `X`: a part of an order is cancelled.
    OrderCancelled: 23, big endian, fill b' ' {
        /// Its number.
        11 => order: u64,
        /// How much.
        19 => shares: u32,
    }
}

message! {
    /// `D`: an order is gone.
    OrderDeleted: 19, big endian, fill b' ' {
        /// Its number.
        11 => order: u64,
    }
}

message! {
    /// `U`: an order is gone, and another one of the same side is there for it.
    OrderReplaced: 35, big endian, fill b' ' {
        /// Its number.
        11 => order: u64,
        /// The number of the new one.
        19 => new_order: u64,
        /// How much of the new one is shown.
        27 => shares: u32,
        /// Its limit.
        31 => price: Price4,
    }
}

message! {
    /// `P`: an order that was not shown traded.
    Trade: 44, big endian, fill b' ' {
        /// 0 for some years.
        11 => order: u64,
        /// `B`, whatever it was, for some years.
        19 => side: u8,
        /// How much.
        20 => shares: u32,
        /// Of what.
        24 => stock: Alpha<8>,
        /// The price.
        32 => price: Price4,
        /// The trade.
        36 => trade: u64,
    }
}

message! {
    /// `Q`: an auction has ended.
    CrossTrade: 40, big endian, fill b' ' {
        /// How much; 0 if nothing traded.
        11 => shares: u64,
        /// Of what.
        19 => stock: Alpha<8>,
        /// The price.
        27 => price: Price4,
        /// The trade.
        31 => trade: u64,
        /// `O` opening, `C` closing, `H` after a halt or a listing, `I` in the course
        /// of the day, `A` after the close.
        39 => cross_type: u8,
    }
}

message! {
    /// `B`: a trade is cancelled.
    BrokenTrade: 19, big endian, fill b' ' {
        /// Which.
        11 => trade: u64,
    }
}

message! {
    /// `I`: what an auction would bring.
    Imbalance: 50, big endian, fill b' ' {
        /// How much would trade at the reference price.
        11 => paired: u64,
        /// How much would not.
        19 => imbalance: u64,
        /// `B` more to buy, `S` more to sell, `N` neither, `O` too few orders, `P`
        /// paused.
        27 => direction: u8,
        /// Of what.
        28 => stock: Alpha<8>,
        /// Where orders for the auction alone would trade.
        36 => far: Price4,
        /// Where they would with those of the book.
        40 => near: Price4,
        /// What the figures are for.
        44 => reference: Price4,
        /// As of a [`CrossTrade`].
        48 => cross_type: u8,
        /// How far the near price is from the reference: `L` less than 1 %, `1` to `9`
        /// per cent, `A` 10 to 20 %, `B` to 30 %, `C` more, space unknown.
        49 => variation: u8,
    }
}

message! {
    /// `N`: whether somebody would give retail orders a better price.
    RetailInterest: 20, big endian, fill b' ' {
        /// Its symbol.
        11 => stock: Alpha<8>,
        /// `B` who buys, `S` who sells, `A` both, `N` none.
        19 => interest: u8,
    }
}

message! {
    /// `O`: the prices between which a company that lists itself may open.
    DirectListing: 48, big endian, fill b' ' {
        /// Its symbol.
        11 => stock: Alpha<8>,
        /// `Y` if it may be released, else `N`.
        19 => eligible: u8,
        /// The lowest allowed.
        20 => min_price: Price4,
        /// The highest allowed.
        24 => max_price: Price4,
        /// Where it would open.
        28 => near: Price4,
        /// When that was worked out, in nanoseconds since midnight.
        32 => near_time_ns: u64,
        /// The collar's lower end.
        40 => lower: Price4,
        /// The collar's upper end.
        44 => upper: Price4,
    }
}

macro_rules! messages {
    ($($kind:literal $name:ident,)*) => {
        /// What a message says besides its head.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "each is named as the struct that it holds")]
        pub enum Body {
            $($name($name),)*
        }

        $(impl From<$name> for Body {
            fn from(body: $name) -> Self {
                Self::$name(body)
            }
        })*

        impl Body {
            /// Its type.
            pub const fn kind(&self) -> u8 {
                match self { $(Self::$name(_) => $kind,)* }
            }

            /// Each type and its length.
            pub const LENGTHS: &'static [(u8, usize)] = &[$(($kind, $name::LEN),)*];

            fn append(&self, out: &mut Vec<u8>) {
                match self { $(Self::$name(body) => out.extend_from_slice(&body.to_bytes()),)* }
            }

            #[inline]
            fn read(bytes: &[u8]) -> Result<Self, ItchError> {
                let kind = *bytes.first().ok_or(ItchError::Empty)?;
                let (body, said) = match kind {
                    $($kind => ($name::read(bytes).map(Self::$name), $name::LEN),)*
                    _ => return Err(ItchError::UnknownType(kind)),
                };
                body.ok_or(ItchError::Length { kind, said, found: bytes.len() })
            }
        }
    };
}

messages! {
    b'S' SystemEvent,
    b'R' StockDirectory,
    b'H' TradingAction,
    b'Y' RegSho,
    b'L' ParticipantPosition,
    b'V' MwcbLevels,
    b'W' MwcbStatus,
    b'K' IpoQuoting,
    b'J' LuldCollar,
    b'h' OperationalHalt,
    b'A' AddOrder,
    b'F' AddAttributedOrder,
    b'E' Executed,
    b'C' ExecutedAtPrice,
    b'X' OrderCancelled,
    b'D' OrderDeleted,
    b'U' OrderReplaced,
    b'P' Trade,
    b'Q' CrossTrade,
    b'B' BrokenTrade,
    b'I' Imbalance,
    b'N' RetailInterest,
    b'O' DirectListing,
}

/// Any message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// About what, and when.
    pub head: Head,
    /// What.
    pub body: Body,
}

impl Message {
    /// A message about an instrument, so many nanoseconds after midnight.
    pub fn new(locate: u16, ns: u64, body: impl Into<Body>) -> Self {
        let head = Head { locate, tracking: 0, timestamp: Timestamp::from_ns(ns) };
        Self { head, body: body.into() }
    }

    /// Appends its bytes.
    pub fn append(&self, out: &mut Vec<u8>) {
        let start = out.len();
        self.body.append(out);
        out[start..start + Head::LEN].copy_from_slice(&self.head.to_bytes());
        out[start] = self.body.kind();
    }

    /// Reads a message.
    ///
    /// # Errors
    /// Its type is not known, or has another length.
    #[inline]
    pub fn read(bytes: &[u8]) -> Result<Self, ItchError> {
        let body = Body::read(bytes)?;
        let head = bytes.get(..Head::LEN).and_then(Head::read).ok_or(ItchError::Empty)?;
        Ok(Self { head, body })
    }

    /// The symbol that it names, if it does; messages about an order that is known
    /// do not.
    pub fn stock(&self) -> Option<&Alpha<8>> {
        Some(match &self.body {
            Body::StockDirectory(of) => &of.stock,
            Body::TradingAction(of) => &of.stock,
            Body::RegSho(of) => &of.stock,
            Body::ParticipantPosition(of) => &of.stock,
            Body::IpoQuoting(of) => &of.stock,
            Body::LuldCollar(of) => &of.stock,
            Body::OperationalHalt(of) => &of.stock,
            Body::AddOrder(of) => &of.stock,
            Body::AddAttributedOrder(of) => &of.stock,
            Body::Trade(of) => &of.stock,
            Body::CrossTrade(of) => &of.stock,
            Body::Imbalance(of) => &of.stock,
            Body::RetailInterest(of) => &of.stock,
            Body::DirectListing(of) => &of.stock,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of the document's tables.
    #[test]
    fn messages_are_as_long_as_the_document_says() {
        let lengths = [
            (b'S', 12),
            (b'R', 39),
            (b'H', 25),
            (b'Y', 20),
            (b'L', 26),
            (b'V', 35),
            (b'W', 12),
            (b'K', 28),
            (b'J', 35),
            (b'h', 21),
            (b'A', 36),
            (b'F', 40),
            (b'E', 31),
            (b'C', 36),
            (b'X', 23),
            (b'D', 19),
            (b'U', 35),
            (b'P', 44),
            (b'Q', 40),
            (b'B', 19),
            (b'I', 50),
            (b'N', 20),
            (b'O', 48),
        ];
        assert_eq!(Body::LENGTHS, lengths);
    }

    #[test]
    fn what_is_no_message_is_refused_with_a_reason() {
        let error = |bytes: &[u8]| Message::read(bytes).expect_err("refused").to_string();
        assert_eq!(error(b""), "a message of no bytes has no type");
        assert_eq!(error(b"\xff"), "\"\\xff\" is no type of ITCH 5.0; is this another version?");
        assert_eq!(error(b"D123"), "messages of type D have 19 bytes, this one 4");
        assert_eq!(error(&[b'S'; 13]), "messages of type S have 12 bytes, this one 13");
    }
}
