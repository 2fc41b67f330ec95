//! What clients send.

use tapeline_layout::{Text, message};

message! {
    /// `D`: an order comes.
    NewOrder: 125, fill 0 {
        /// The client's name for it; not checked for being unique.
        4 => cl_ord_id: Text<20>,
        /// The trader.
        24 => trader_id: Text<11>,
        /// The account.
        35 => account: Text<10>,
        /// 1 client's, 3 house's.
        45 => clearing_account: u8,
        /// The instrument.
        46 => instrument_id: i32,
        /// Bits: 0 direct access, 1 liquidity provision, 2 algorithm.
        50 => mifid_flags: u8,
        /// Pairs of bits for client, investment, executing: 0 none, 1 firm,
        /// 2 algorithm, 3 person.
        51 => party_roles: u8,
        /// 1 market, 2 limit, 3 stop, 4 stop limit.
        52 => order_type: u8,
        /// 0 day, 3 immediate or cancel, 4 fill or kill, 5 opening, 6 to a day,
        /// 8 to a second, 10 closing, 12 at the closing price, 50 next auction, 52 every
        /// auction, 54 with what the closing auction has left, 55 the same and then 12.
        53 => time_in_force: u8,
        /// Seconds since 1970 UTC.
        54 => expire_s: u32,
        /// 1 buy, 2 sell.
        58 => side: u8,
        /// How much.
        59 => quantity: i32,
        /// How much of it is shown: 0 nothing, less than all an iceberg.
        63 => display: i32,
        /// The limit, with 8 decimals.
        67 => limit: i64,
        /// 1 matched principal, 2 own account, 3 any other.
        75 => capacity: u8,
        /// 1: goes with the session, if the user is configured so.
        76 => auto_cancel: u8,
        /// 0 order, 5 pegged, 51 random peak, 55 offset.
        77 => sub_type: u8,
        /// 0 anonymous, 1 named.
        78 => anonymity: u8,
        /// What trades must reach, with 8 decimals.
        79 => stop: i64,
        /// 0 none, 99 no visible match, 100 new best, 1 best, 2 and 3 within one
        /// and two prices.
        87 => passive_only: u8,
        /// 0 none, 1 aggregated, 2 pending, else a short code.
        88 => client_id: u32,
        /// Who decided.
        92 => investment_decision: u32,
        /// For mass cancels; 0 none.
        96 => group_id: u8,
        /// The smallest part that a pegged order trades; 0 any.
        97 => min_quantity: i32,
        /// Who executes; 3 the client.
        101 => executing_trader: u32,
        /// Of an offset order: how far from the last price, in basis points.
        105 => offset: i32,
        /// 1: trades with pegged orders, too; 2: does not.
        109 => pegged_instruction: u8,
        /// 1 retail, 2 retail liquidity provider.
        110 => owner_type: u8,
    }
}

message! {
    /// `S`: both sides at once.
    NewQuote: 81, fill 0 {
        /// The client's name for it.
        4 => cl_ord_id: Text<20>,
        /// The trader.
        24 => trader_id: Text<11>,
        /// 1 client's, 3 house's.
        35 => clearing_account: u8,
        /// The instrument.
        36 => instrument_id: i32,
        /// With 8 decimals.
        40 => bid: i64,
        /// How much.
        48 => bid_size: i32,
        /// With 8 decimals.
        52 => ask: i64,
        /// How much.
        60 => ask_size: i32,
        /// As in orders.
        64 => capacity: u8,
        /// As in orders.
        65 => auto_cancel: u8,
        /// As in orders.
        66 => client_id: u32,
        /// As in orders.
        70 => investment_decision: u32,
        /// As in orders.
        74 => executing_trader: u32,
        /// As in orders.
        78 => mifid_flags: u8,
        /// As in orders.
        79 => party_roles: u8,
        /// As in orders.
        80 => pegged_instruction: u8,
    }
}

message! {
    /// `G`: an order changes.
    CancelReplace: 116, fill 0 {
        /// The client's name for the order from now on.
        4 => cl_ord_id: Text<20>,
        /// Its name until now.
        24 => orig_cl_ord_id: Text<20>,
        /// The order; it counts if both are given.
        44 => order_id: Text<12>,
        /// The instrument.
        56 => instrument_id: i32,
        /// Another group; 0 keeps the one that is.
        60 => group_id: u8,
        /// Seconds since 1970 UTC; required where the order has one.
        62 => expire_s: u32,
        /// How much in all, what is traded included.
        66 => quantity: i32,
        /// How much of it is shown.
        70 => display: i32,
        /// The limit; negative for orders without one.
        74 => limit: i64,
        /// The account; empty keeps the one that is.
        82 => account: Text<10>,
        /// 1 buy, 2 sell.
        93 => side: u8,
        /// What trades must reach; negative keeps what is.
        94 => stop: i64,
        /// As in orders; counts if the limit changes.
        102 => passive_only: u8,
        /// In basis points.
        103 => offset: i32,
        /// The smallest part.
        112 => min_quantity: i32,
    }
}

message! {
    /// `F`: an order goes.
    Cancel: 73, fill 0 {
        /// The client's name for the cancel.
        4 => cl_ord_id: Text<20>,
        /// The client's name for the order.
        24 => orig_cl_ord_id: Text<20>,
        /// The order; it counts if both are given.
        44 => order_id: Text<12>,
        /// The instrument.
        56 => instrument_id: i32,
        /// 1 buy, 2 sell.
        62 => side: u8,
        /// Of a request for quotes.
        63 => rfq_id: Text<10>,
    }
}

message! {
    /// `q`: many orders go.
    MassCancel: 46, fill 0 {
        /// The client's name for it.
        4 => cl_ord_id: Text<20>,
        /// 3 firm and instrument, 4 firm and segment, 7 trader, 8 firm, 9 trader
        /// and instrument, 15 trader and segment, 56 to 58 groups.
        24 => kind: u8,
        /// The instrument.
        25 => instrument_id: i32,
        /// The group.
        30 => group_id: u8,
        /// The segment.
        31 => segment: Text<4>,
        /// 0 orders, 3 quotes.
        35 => sub_type: u8,
    }
}
