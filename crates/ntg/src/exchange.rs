//! What clients get.

use tapeline_layout::{Text, message};

message! {
    /// `8`: what became of an order.
    ExecutionReport: 155, fill 0 {
        /// The partition.
        4 => app_id: u8,
        /// Of the partition; rises, with gaps.
        5 => sequence: i32,
        /// This report.
        9 => exec_id: Text<12>,
        /// The client's name for the order.
        21 => cl_ord_id: Text<20>,
        /// The order, for all of its life.
        41 => order_id: Text<12>,
        /// `0` new, `4` cancelled, `5` replaced, `8` rejected, `C` expired, `D`
        /// restated, `F` trade, `H` trade cancelled, `9` suspended.
        53 => exec_type: u8,
        /// The execution that is cancelled.
        54 => exec_ref_id: Text<12>,
        /// 0 new, 1 partly filled, 2 filled, 4 cancelled, 6 expired, 8 rejected,
        /// 9 suspended.
        66 => order_status: u8,
        /// Why, if it is rejected.
        67 => reject_code: i32,
        /// Of the trade, with 8 decimals.
        71 => price: i64,
        /// Of the trade.
        79 => quantity: i32,
        /// What is not traded yet.
        83 => leaves: i32,
        /// Bits: 1 closing price, 3 illiquid, 5 reference price.
        87 => flags: u8,
        /// What is shown.
        88 => display: i32,
        /// The instrument.
        92 => instrument_id: i32,
        /// 3 re-priced, 8 by the exchange, 100 replenished.
        96 => restatement_reason: u8,
        /// With which a pegged order trades.
        97 => pegged_instruction: u8,
        /// 1 buy, 2 sell.
        98 => side: u8,
        /// 1 retail, 2 retail liquidity provider.
        99 => owner_type: u8,
        /// Who is on the other side, where that is known.
        107 => counterparty: Text<11>,
        /// `A` added, `R` removed, `C` auction.
        118 => liquidity: u8,
        /// The trade.
        119 => trade_id: u64,
        /// When, in seconds since 1970 UTC.
        127 => transact_s: u32,
        /// And nanoseconds.
        131 => transact_ns: u32,
        /// The venue; 21 is the London book.
        135 => last_market: u8,
        /// 0 with what was shown, 1 with what was not, 2 to the aggressor and in
        /// auctions.
        136 => trade_type: u8,
        /// As in the order.
        137 => capacity: u8,
        /// What market data calls the order.
        139 => public_order_id: Text<12>,
        /// The smallest part.
        151 => min_quantity: i32,
    }
}

message! {
    /// `9`: a cancel or an amendment that is refused.
    CancelReject: 63, fill 0 {
        /// The partition; 0 for an instrument that is not known.
        4 => app_id: u8,
        /// Of the partition.
        5 => sequence: i32,
        /// The client's name for the cancel.
        9 => cl_ord_id: Text<20>,
        /// The order, `NONE` if it is not known.
        29 => order_id: Text<12>,
        /// Why.
        41 => reason: i32,
        /// When, in seconds since 1970 UTC.
        45 => transact_s: u32,
        /// And nanoseconds.
        49 => transact_ns: u32,
        /// Of a request for quotes.
        53 => rfq_id: Text<10>,
    }
}

message! {
    /// `r`: whether a mass cancel is taken.
    MassCancelReport: 56, fill 0 {
        /// The partition.
        4 => app_id: u8,
        /// Of the partition.
        5 => sequence: i32,
        /// The client's name for it.
        9 => cl_ord_id: Text<20>,
        /// 0 rejected, 7 accepted.
        29 => response: u8,
        /// Why, if it is rejected.
        30 => reason: i32,
        /// When, in seconds since 1970 UTC.
        38 => transact_s: u32,
        /// And nanoseconds.
        42 => transact_ns: u32,
    }
}

message! {
    /// `j`: an order that nobody can take.
    BusinessReject: 63, fill 0 {
        /// The partition; 0 for the system, or an instrument that is not known.
        4 => app_id: u8,
        /// Of the partition.
        5 => sequence: i32,
        /// Why.
        9 => code: i32,
        /// The client's name for the order.
        13 => cl_ord_id: Text<20>,
        /// The order.
        33 => order_id: Text<12>,
        /// When, in seconds since 1970 UTC.
        45 => transact_s: u32,
        /// And nanoseconds.
        49 => transact_ns: u32,
    }
}
