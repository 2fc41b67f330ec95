//! The messages.

use tapeline_instrument::Price;
use tapeline_layout::{Field, Text, message};

/// A price whose sign is the highest bit, the magnitude in the others: -1.0 is
/// `00e1f50500000080`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignedPrice(pub Price);

const SIGN: u64 = 1 << 63;

impl Field for SignedPrice {
    const LEN: usize = 8;

    fn put(self, out: &mut [u8]) {
        let sign = if self.0.0 < 0 { SIGN } else { 0 };
        (self.0.0.unsigned_abs() & !SIGN | sign).put(out);
    }

    fn get(bytes: &[u8]) -> Self {
        let word = u64::get(bytes);
        let magnitude = (word & !SIGN) as i64;
        Self(Price(if word & SIGN == 0 { magnitude } else { -magnitude }))
    }
}

/// Spaces fill texts up.
type Alpha<const N: usize> = Text<N, b' '>;

message! {
    /// `T`: the second that nanoseconds of the messages behind it belong to; once
    /// in each second with messages.
    Time: 6, fill 0 {
        /// Seconds since midnight, local time of the exchange.
        2 => seconds: u32,
    }
}

message! {
    /// `S`: the day begins or ends.
    SystemEvent: 7, fill 0 {
        /// Nanoseconds behind the second of the last [`Time`]; so in all messages.
        2 => ns: u32,
        /// `O` start, `C` end.
        6 => code: u8,
    }
}

message! {
    /// `R`: an instrument.
    SymbolDirectory: 65, fill 0 {
        /// Nanoseconds.
        2 => ns: u32,
        /// Its number.
        6 => instrument: u32,
        /// Space, `S` suspended, `a` active, `H` halted.
        12 => status: u8,
        /// Its international number.
        13 => isin: Alpha<12>,
        /// Its number of London.
        25 => sedol: Alpha<12>,
        /// Its segment.
        37 => segment: Alpha<6>,
        /// What it derives from.
        43 => underlying: Alpha<6>,
        /// Its currency.
        49 => currency: Alpha<3>,
        /// The closing price of the day before.
        57 => previous_close: SignedPrice,
    }
}

message! {
    /// `H`: a session of an instrument has begun.
    SymbolStatus: 28, fill 0 {
        /// Nanoseconds.
        2 => ns: u32,
        /// Its number.
        6 => instrument: u32,
        /// The session's character.
        12 => status: u8,
        /// Bit 5: firm quotes.
        13 => flags: u8,
        /// Why it is halted.
        14 => reason: Alpha<4>,
        /// 0 scheduled, 1 extended, 2 shortened, 3 market order imbalance, 4 price
        /// outside its range, 9 not said.
        18 => change_reason: u8,
        /// When it ends, `HH:MM:SS`.
        19 => end_time: Alpha<8>,
        /// 1 on book, 2 off, 3 requests for quotes.
        27 => book_type: u8,
    }
}

message! {
    /// `A`: an order is shown.
    AddOrder: 44, fill 0 {
        /// Nanoseconds.
        2 => ns: u32,
        /// Its id.
        6 => order: u64,
        /// `B` or `S`.
        14 => side: u8,
        /// How much is shown.
        15 => quantity: u32,
        /// The instrument.
        19 => instrument: u32,
        /// Its limit.
        25 => price: SignedPrice,
        /// Bits: 4 without a limit, 6 answers a request for quotes.
        33 => flags: u8,
        /// Spaces.
        34 => reserved: Alpha<10>,
    }
}

message! {
    /// `F`: an order is shown, and whose it is.
    AddAttributedOrder: 45, fill 0 {
        /// Nanoseconds.
        2 => ns: u32,
        /// Its id.
        6 => order: u64,
        /// `B` or `S`.
        14 => side: u8,
        /// How much is shown.
        15 => quantity: u32,
        /// The instrument.
        19 => instrument: u32,
        /// Its limit.
        25 => price: SignedPrice,
        /// Whose it is.
        33 => attribution: Alpha<11>,
        /// Bits: 4 without a limit, 5 firm quote.
        44 => flags: u8,
    }
}

message! {
    /// `D`: an order is gone.
    OrderDeleted: 19, fill 0 {
        /// Nanoseconds.
        2 => ns: u32,
        /// Its id.
        6 => order: u64,
        /// Bit 5: firm quote.
        14 => flags: u8,
        /// The instrument.
        15 => instrument: u32,
    }
}

message! {
    /// `U`: an order is changed.
    OrderModified: 27, fill 0 {
        /// Nanoseconds.
        2 => ns: u32,
        /// Its id.
        6 => order: u64,
        /// What is shown now.
        14 => quantity: u32,
        /// Its limit now.
        18 => price: SignedPrice,
        /// Bits: 0 it stays where it stood, 5 firm quote.
        26 => flags: u8,
    }
}

message! {
    /// `y`: all orders of an instrument are void.
    OrderBookClear: 13, fill 0 {
        /// Nanoseconds.
        2 => ns: u32,
        /// The instrument.
        6 => instrument: u32,
        /// Bits: 5 firm quotes, 6 requests for quotes.
        12 => flags: u8,
    }
}

message! {
    /// `E`: what is shown of an order traded at its price; with the last of it
    /// the order is gone.
    Executed: 26, fill 0 {
        /// Nanoseconds.
        2 => ns: u32,
        /// Its id.
        6 => order: u64,
        /// How much.
        14 => quantity: u32,
        /// The trade.
        18 => trade: u64,
    }
}

message! {
    /// `C`: an order traded at another price.
    ExecutedAtPrice: 39, fill 0 {
        /// Nanoseconds.
        2 => ns: u32,
        /// Its id.
        6 => order: u64,
        /// How much.
        14 => quantity: u32,
        /// What is shown of it behind that.
        18 => display: u32,
        /// The trade.
        22 => trade: u64,
        /// `Y` counts as a trade, `N` an auction's trade says it all.
        30 => printable: u8,
        /// At which price.
        31 => price: SignedPrice,
    }
}

message! {
    /// `P`: what was not shown traded, or a trade is cancelled.
    Trade: 35, fill 0 {
        /// Nanoseconds.
        2 => ns: u32,
        /// How much.
        6 => quantity: u32,
        /// The instrument.
        10 => instrument: u32,
        /// At which price.
        16 => price: SignedPrice,
        /// The trade.
        24 => trade: u64,
        /// 0 none, 5 to 8 crosses.
        32 => cross_type: u8,
        /// 0 the book, 11 requests for quotes.
        33 => sub_book: u8,
        /// Bits: 0 cancelled, 1 amended.
        34 => flags: u8,
    }
}

message! {
    /// `Q`: all that traded in an auction.
    AuctionTrade: 34, fill 0 {
        /// Nanoseconds.
        2 => ns: u32,
        /// How much.
        6 => quantity: u32,
        /// The instrument.
        10 => instrument: u32,
        /// At which price.
        16 => price: SignedPrice,
        /// The trade.
        24 => trade: u64,
        /// `O` opening, `C` closing, and others.
        32 => auction_type: u8,
        /// Bits: 0 cancelled, 1 amended.
        33 => flags: u8,
    }
}

message! {
    /// `I`: what an auction would bring now.
    AuctionInfo: 30, fill 0 {
        /// Nanoseconds.
        2 => ns: u32,
        /// What would trade.
        6 => paired: u32,
        /// The instrument.
        15 => instrument: u32,
        /// At which price.
        21 => price: SignedPrice,
        /// As in [`AuctionTrade`].
        29 => auction_type: u8,
    }
}

message! {
    /// `w`: an opening or a closing price.
    Statistics: 23, fill 0 {
        /// Nanoseconds.
        2 => ns: u32,
        /// The instrument.
        6 => instrument: u32,
        /// `O` or `C`.
        12 => kind: u8,
        /// The price.
        13 => price: SignedPrice,
        /// `A` auction, `B` automated trade, `C` middle, `D` last automated trade,
        /// `E` last auction, `F` by hand, `I` the close of the day before.
        21 => indicator: u8,
    }
}

message! {
    /// `q`: the best prices, while nothing else is shown.
    TopOfBook: 34, fill 0 {
        /// Nanoseconds.
        2 => ns: u32,
        /// The instrument.
        6 => instrument: u32,
        /// The best bid.
        10 => bid: SignedPrice,
        /// Its size, 0 for none.
        18 => bid_size: u32,
        /// The best offer.
        22 => ask: SignedPrice,
        /// Its size, 0 for none.
        30 => ask_size: u32,
    }
}

message! {
    /// 01: who wants a replay or a snapshot.
    LoginRequest: 18, fill 0 {
        /// The user.
        2 => user: Alpha<6>,
        /// Its password.
        8 => password: Alpha<10>,
    }
}

message! {
    /// 02: whether it gets one.
    LoginResponse: 3, fill 0 {
        /// `A` yes, `a` locked, `b` too many logins, `c` unavailable, `d` too many
        /// at once, `e` other.
        2 => status: u8,
    }
}

message! {
    /// 03: messages again.
    ReplayRequest: 9, fill 0 {
        /// The group.
        2 => group: u8,
        /// The first one.
        3 => first: u32,
        /// How many.
        7 => count: u16,
    }
}

message! {
    /// 04: whether they come.
    ReplayResponse: 10, fill 0 {
        /// The group.
        2 => group: u8,
        /// The first one.
        3 => first: u32,
        /// How many, 0 if refused.
        7 => count: u16,
        /// `A` yes, `D` too many requests, `I` no such group, `O` out of range,
        /// `U` unavailable, `c` too many at once, `d` no such type, `e` other.
        9 => status: u8,
    }
}

message! {
    /// 05: the end.
    LogoutRequest: 2, fill 0 {}
}

message! {
    /// 81: the orders of an instrument, or of a segment.
    SnapshotRequest: 16, fill 0 {
        /// Of no meaning.
        2 => sequence: u32,
        /// The segment; it counts if both are given.
        6 => segment: Alpha<6>,
        /// The instrument.
        12 => instrument: u32,
    }
}

message! {
    /// 82: whether they come.
    SnapshotResponse: 11, fill 0 {
        /// 0.
        2 => sequence: u32,
        /// 0.
        6 => orders: u32,
        /// `A` yes, `O` none such, `U` unavailable, `a` neither given, `b` too
        /// many, `c` too many at once, `d`, `e` other.
        10 => status: u8,
    }
}

message! {
    /// 83: all orders have come.
    SnapshotComplete: 17, fill 0 {
        /// The message that they are in step with.
        2 => sequence: u32,
        /// The segment.
        6 => segment: Alpha<6>,
        /// The instrument.
        12 => instrument: u32,
        /// Bits: 5 firm quotes, 6 requests for quotes.
        16 => flags: u8,
    }
}

macro_rules! messages {
    ($($kind:literal $name:ident,)*) => {
        /// Any message.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "each is named as the struct that it holds")]
        pub enum Message {
            $($name($name),)*
        }

        $(impl From<$name> for Message {
            fn from(message: $name) -> Self {
                Self::$name(message)
            }
        })*

        impl Message {
            /// Its type.
            pub const fn kind(&self) -> u8 {
                match self { $(Self::$name(_) => $kind,)* }
            }

            /// Appends its bytes.
            pub fn append(&self, out: &mut Vec<u8>) {
                let start = out.len();
                match self { $(Self::$name(message) => out.extend_from_slice(&message.to_bytes()),)* }
                out[start] = (out.len() - start) as u8;
                out[start + 1] = self.kind();
            }

            /// Reads a message, its head included. `None` for a type that is not
            /// known, or a length that is not its.
            pub fn read(bytes: &[u8]) -> Option<Self> {
                match bytes.get(1)? {
                    $($kind => $name::read(bytes).map(Self::$name),)*
                    _ => None,
                }
            }

            /// Each type and its length.
            pub const LENGTHS: &'static [(u8, usize)] = &[$(($kind, $name::LEN),)*];
        }
    };
}

messages! {
    b'T' Time,
    b'S' SystemEvent,
    b'R' SymbolDirectory,
    b'H' SymbolStatus,
    b'A' AddOrder,
    b'F' AddAttributedOrder,
    b'D' OrderDeleted,
    b'U' OrderModified,
    b'y' OrderBookClear,
    b'E' Executed,
    b'C' ExecutedAtPrice,
    b'P' Trade,
    b'Q' AuctionTrade,
    b'I' AuctionInfo,
    b'w' Statistics,
    b'q' TopOfBook,
    0x01 LoginRequest,
    0x02 LoginResponse,
    0x03 ReplayRequest,
    0x04 ReplayResponse,
    0x05 LogoutRequest,
    0x81 SnapshotRequest,
    0x82 SnapshotResponse,
    0x83 SnapshotComplete,
}

impl Message {
    /// The longest, in bytes.
    pub const LONGEST: usize = SymbolDirectory::LEN;

    /// The instrument that it names, if it does; messages about an order that is
    /// known do not.
    pub fn instrument(&self) -> Option<u32> {
        Some(match self {
            Self::SymbolDirectory(of) => of.instrument,
            Self::SymbolStatus(of) => of.instrument,
            Self::AddOrder(of) => of.instrument,
            Self::AddAttributedOrder(of) => of.instrument,
            Self::OrderDeleted(of) => of.instrument,
            Self::OrderBookClear(of) => of.instrument,
            Self::Trade(of) => of.instrument,
            Self::AuctionTrade(of) => of.instrument,
            Self::AuctionInfo(of) => of.instrument,
            Self::Statistics(of) => of.instrument,
            Self::TopOfBook(of) => of.instrument,
            _ => return None,
        })
    }

    /// The order that it is about, if it is about one.
    pub fn order(&self) -> Option<u64> {
        Some(match self {
            Self::AddOrder(of) => of.order,
            Self::AddAttributedOrder(of) => of.order,
            Self::OrderDeleted(of) => of.order,
            Self::OrderModified(of) => of.order,
            Self::Executed(of) => of.order,
            Self::ExecutedAtPrice(of) => of.order,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of MIT303's tables.
    #[test]
    fn messages_are_as_long_as_the_document_says() {
        let lengths = [
            (0x54, 6),
            (0x53, 7),
            (0x52, 65),
            (0x48, 28),
            (0x41, 44),
            (0x46, 45),
            (0x44, 19),
            (0x55, 27),
            (0x79, 13),
            (0x45, 26),
            (0x43, 39),
            (0x50, 35),
            (0x51, 34),
            (0x49, 30),
            (0x77, 23),
            (0x71, 34),
            (0x01, 18),
            (0x02, 3),
            (0x03, 9),
            (0x04, 10),
            (0x05, 2),
            (0x81, 16),
            (0x82, 11),
            (0x83, 17),
        ];
        assert_eq!(Message::LENGTHS, lengths);
    }

    #[test]
    fn prices_have_a_sign_and_a_magnitude() {
        let mut bytes = [0; 8];
        SignedPrice(Price(-Price::UNIT)).put(&mut bytes);
        assert_eq!(bytes, [0x00, 0xe1, 0xf5, 0x05, 0, 0, 0, 0x80]);
        assert_eq!(SignedPrice::get(&bytes), SignedPrice(Price(-Price::UNIT)));
        for price in [0, 1, i64::MAX, -i64::MAX] {
            SignedPrice(Price(price)).put(&mut bytes);
            assert_eq!(SignedPrice::get(&bytes), SignedPrice(Price(price)));
        }
    }
}
