//! What the definitions of others call the messages and fields of the protocols.

use serde_json::{Map, Value, json};
use tapeline_instrument::Price;
use tapeline_layout::Text;
use tapeline_mitch::SignedPrice;

/// What a definition calls a message, and its fields with what is in them.
pub(crate) type Named = (&'static str, Map<String, Value>);

/// What can be in a field.
pub(crate) trait Content: Copy {
    /// As a definition reads it.
    fn told(self) -> Value;

    /// Out of bytes, of which a field takes as many as it has.
    fn sample(bytes: &mut Bytes) -> Self;
}

/// Printable characters, over and over: bytes near each other differ, numbers are
/// positive, and texts are texts.
pub(crate) struct Bytes(pub(crate) u8);

impl Bytes {
    const FIRST: u8 = b'!';
    const LAST: u8 = b'~';

    fn take<const N: usize>(&mut self) -> [u8; N] {
        std::array::from_fn(|_| {
            self.0 =
                if (Self::FIRST..Self::LAST).contains(&self.0) { self.0 + 1 } else { Self::FIRST };
            self.0
        })
    }
}

macro_rules! numbers {
    ($($type:ty),*) => {$(
        impl Content for $type {
            fn told(self) -> Value {
                json!(self)
            }

            fn sample(bytes: &mut Bytes) -> Self {
                Self::from_le_bytes(bytes.take())
            }
        }
    )*};
}

numbers!(u8, u16, u32, u64, i8, i32, i64);

impl<const N: usize, const FILL: u8> Content for Text<N, FILL> {
    fn told(self) -> Value {
        json!(self.as_str())
    }

    /// One byte short, so that what fills it up is seen, too.
    fn sample(bytes: &mut Bytes) -> Self {
        Self::from_bytes(&bytes.take::<N>()[..N - 1])
    }
}

impl Content for SignedPrice {
    fn told(self) -> Value {
        json!(self.0.0)
    }

    fn sample(bytes: &mut Bytes) -> Self {
        Self(Price(i64::sample(bytes)))
    }
}

/// A part of a field of bits: its name, its lowest bit, and how many it has.
type Bits = (&'static str, u32, u32);

/// Adds a field; one of bits as its parts.
pub(crate) fn add(values: &mut Map<String, Value>, name: &str, value: Value, bits: &[Bits]) {
    if bits.is_empty() {
        values.insert(name.to_owned(), value);
        return;
    }
    let all = value.as_u64().expect("bits are numbers");
    for (part, lowest, count) in bits {
        values.insert(format!("{name}.{part}"), json!((all >> lowest) & ((1 << count) - 1)));
    }
}

/// Makes a table of a protocol's messages: what definitions call them, their fields, and
/// the parts of bits. A message or a field that is not in it does not compile.
macro_rules! names {
    (@) => { &[] };
    (@ $bits:ident) => { &$bits };
    ($($type:ident $name:literal {
        $($field:ident = $theirs:literal $(of $bits:ident)?),* $(,)?
    })*) => {
        /// What the definitions call a message, and what is in it.
        pub(crate) fn named(message: &Message) -> Named {
            let mut values = Map::new();
            let name = match *message {
                $(Message::$type($type { $($field),* }) => {
                    $(add(&mut values, $theirs, $field.told(), names!(@ $($bits)?));)*
                    $name
                })*
            };
            (name, values)
        }

        /// One message of each type; no field has what another one has.
        pub(crate) fn samples(first: u8) -> Vec<Message> {
            let mut bytes = Bytes(first);
            vec![$(Message::$type($type { $($field: Content::sample(&mut bytes)),* })),*]
        }
    };
}

/// The native gateway, both channels.
pub(crate) mod native {
    use serde_json::Map;
    use tapeline_ntg::Message;
    use tapeline_ntg::client::{Cancel, CancelReplace, MassCancel, NewOrder, NewQuote};
    use tapeline_ntg::exchange::{BusinessReject, CancelReject, ExecutionReport, MassCancelReport};
    use tapeline_ntg::session::{
        Heartbeat, Logon, LogonReply, Logout, MissedMessageAck, MissedMessageReport,
        MissedMessageRequest, Reject, SystemStatus,
    };

    use super::{Bits, Bytes, Content, Named, add};

    const MIFID: [Bits; 3] = [("dea_flag", 0, 1), ("liquidity_provision", 1, 1), ("algo", 2, 1)];
    const ROLES: [Bits; 3] = [
        ("client_id_qualifier", 0, 2),
        ("investor_information_qualifier", 2, 2),
        ("executing_trader_qualifier", 4, 2),
    ];
    const WAIVERS: [Bits; 3] = [("clse", 1, 1), ("ilqd", 3, 1), ("rfpt", 5, 1)];

    names! {
        Logon "logon_message" {
            user = "user_name",
            password = "password",
            new_password = "new_password",
            version = "message_version",
        }
        LogonReply "logon_reply_message" {
            reject_code = "reject_code",
            password_expiry_days = "password_expiry_day_count",
        }
        Logout "logout_message" { reason = "reason" }
        Heartbeat "heartbeat_message" {}
        MissedMessageRequest "missed_message_request_message" {
            app_id = "app_id",
            last_sequence = "last_msg_seq_num",
        }
        MissedMessageAck "missed_message_request_ack_message" {
            status = "missed_message_request_ack_response_type",
        }
        MissedMessageReport "missed_message_report_message" {
            status = "missed_message_report_response_type",
        }
        Reject "reject_message" {
            code = "reject_code",
            reason = "reject_reason",
            rejected_type = "rejected_message_type",
            cl_ord_id = "client_order_id",
        }
        SystemStatus "system_status_message" { app_id = "app_id", status = "app_status" }
        NewOrder "new_order_message" {
            cl_ord_id = "client_order_id",
            trader_id = "trader_id",
            account = "account",
            clearing_account = "clearing_account",
            instrument_id = "instrument_id",
            mifid_flags = "mi_fid_flags" of MIFID,
            party_roles = "party_role_qualifiers" of ROLES,
            order_type = "order_type",
            time_in_force = "tif",
            expire_s = "expire_date_time",
            side = "side",
            quantity = "order_qty",
            display = "display_qty",
            limit = "limit_price",
            capacity = "capacity",
            auto_cancel = "auto_cancel",
            sub_type = "new_order_order_sub_type",
            anonymity = "anonymity",
            stop = "stop_price",
            passive_only = "passive_only_order",
            client_id = "client_id",
            investment_decision = "investment_decision_maker",
            group_id = "group_id",
            min_quantity = "minimum_quantity",
            executing_trader = "executing_trader",
            offset = "offset",
            pegged_instruction = "new_order_pegged_exec_inst",
            owner_type = "owner_type",
        }
        NewQuote "new_quote_message" {
            cl_ord_id = "client_order_id",
            trader_id = "trader_id",
            clearing_account = "clearing_account",
            instrument_id = "instrument_id",
            bid = "bid_price",
            bid_size = "bid_size",
            ask = "ask_price",
            ask_size = "ask_size",
            capacity = "capacity",
            auto_cancel = "auto_cancel",
            client_id = "client_id",
            investment_decision = "investment_decision_maker",
            executing_trader = "executing_trader",
            mifid_flags = "mi_fid_flags" of MIFID,
            party_roles = "party_role_qualifiers" of ROLES,
            pegged_instruction = "new_quote_pegged_exec_inst",
        }
        CancelReplace "order_cancel_replace_request_message" {
            cl_ord_id = "client_order_id",
            orig_cl_ord_id = "original_client_order_id",
            order_id = "order_id",
            instrument_id = "instrument_id",
            group_id = "group_id",
            expire_s = "expire_date_time",
            quantity = "order_qty",
            display = "display_qty",
            limit = "limit_price",
            account = "account",
            side = "side",
            stop = "stop_price",
            passive_only = "passive_only_order",
            offset = "offset",
            min_quantity = "minimum_quantity",
        }
        Cancel "order_cancel_request_message" {
            cl_ord_id = "client_order_id",
            orig_cl_ord_id = "original_client_order_id",
            order_id = "order_id",
            instrument_id = "instrument_id",
            side = "side",
            rfq_id = "rfq_id",
        }
        MassCancel "order_mass_cancel_request_message" {
            cl_ord_id = "client_order_id",
            kind = "mass_cancel_request_type",
            instrument_id = "instrument_id",
            group_id = "group_id",
            segment = "segment",
            sub_type = "order_mass_cancel_request_order_sub_type",
        }
        ExecutionReport "execution_report_message" {
            app_id = "app_id",
            sequence = "sequence_no",
            exec_id = "execution_id",
            cl_ord_id = "client_order_id",
            order_id = "order_id",
            exec_type = "exec_type",
            exec_ref_id = "execution_report_ref_id",
            order_status = "execution_report_order_status",
            reject_code = "order_reject_code",
            price = "executed_price",
            quantity = "executed_qty",
            leaves = "leaves_qty",
            flags = "waiver_flags_post_trade_flags" of WAIVERS,
            display = "display_qty",
            instrument_id = "instrument_id",
            restatement_reason = "restatement_reason",
            pegged_instruction = "execution_report_pegged_exec_inst",
            side = "side",
            owner_type = "owner_type",
            counterparty = "counterparty",
            liquidity = "trade_liquidity_indicator",
            trade_id = "trade_match_id",
            transact_s = "transact_time.seconds",
            transact_ns = "transact_time.nanoseconds",
            last_market = "last_market",
            trade_type = "type_of_trade",
            capacity = "capacity",
            public_order_id = "public_order_id",
            min_quantity = "minimum_quantity",
        }
        CancelReject "order_cancel_reject_message" {
            app_id = "app_id",
            sequence = "sequence_no",
            cl_ord_id = "client_order_id",
            order_id = "order_id",
            reason = "cancel_reject_reason",
            transact_s = "transact_time.seconds",
            transact_ns = "transact_time.nanoseconds",
            rfq_id = "rfq_id",
        }
        MassCancelReport "order_mass_cancel_report_message" {
            app_id = "app_id",
            sequence = "sequence_no",
            cl_ord_id = "client_order_id",
            response = "mass_cancel_response",
            reason = "mass_cancel_reject_reason",
            transact_s = "transact_time.seconds",
            transact_ns = "transact_time.nanoseconds",
        }
        BusinessReject "business_reject_message" {
            app_id = "app_id",
            sequence = "sequence_no",
            code = "reject_code",
            cl_ord_id = "client_order_id",
            order_id = "order_id",
            transact_s = "transact_time.seconds",
            transact_ns = "transact_time.nanoseconds",
        }
    }
}

/// Market data, its replays and its snapshots.
pub(crate) mod mitch {
    use serde_json::Map;
    use tapeline_mitch::{
        AddAttributedOrder, AddOrder, AuctionInfo, AuctionTrade, Executed, ExecutedAtPrice,
        LoginRequest, LoginResponse, LogoutRequest, Message, OrderBookClear, OrderDeleted,
        OrderModified, ReplayRequest, ReplayResponse, SnapshotComplete, SnapshotRequest,
        SnapshotResponse, Statistics, SymbolDirectory, SymbolStatus, SystemEvent, Time, TopOfBook,
        Trade,
    };

    use super::{Bits, Bytes, Content, Named, add};

    const FIRM_QUOTE: [Bits; 1] = [("firm_quote", 5, 1)];
    const ADDED: [Bits; 2] = [("market_order", 4, 1), ("private_rfq", 6, 1)];
    const ATTRIBUTED: [Bits; 2] = [("named_market_order", 4, 1), ("firm_quote", 5, 1)];
    const MODIFIED: [Bits; 2] = [("priority_flag", 0, 1), ("firm_quote", 5, 1)];
    const CLEARED: [Bits; 2] = [("firm_quote", 5, 1), ("private_rfq", 6, 1)];
    const COMPLETE: [Bits; 2] = [("firm_quote", 5, 1), ("rfq_quote", 6, 1)];
    const TRADED: [Bits; 2] = [("canc", 0, 1), ("amnd", 1, 1)];

    names! {
        Time "time_message" { seconds = "seconds" }
        SystemEvent "system_event_message" { ns = "nanosecond", code = "event_code" }
        SymbolDirectory "symbol_directory_message" {
            ns = "nanosecond",
            instrument = "instrument_id",
            status = "symbol_status",
            isin = "isin",
            sedol = "sedol",
            segment = "segment",
            underlying = "underlying",
            currency = "currency",
            previous_close = "previous_close_price",
        }
        SymbolStatus "symbol_status_message" {
            ns = "nanosecond",
            instrument = "instrument_id",
            status = "trading_status",
            flags = "symbol_status_flags" of FIRM_QUOTE,
            reason = "reason",
            change_reason = "session_change_reason",
            end_time = "new_end_time",
            book_type = "book_type",
        }
        AddOrder "add_order_message" {
            ns = "nanosecond",
            order = "order_id",
            side = "side",
            quantity = "quantity",
            instrument = "instrument_id",
            price = "price",
            flags = "add_order_flags" of ADDED,
            reserved = "reserved_10",
        }
        AddAttributedOrder "add_attributed_order_message" {
            ns = "nanosecond",
            order = "order_id",
            side = "side",
            quantity = "quantity",
            instrument = "instrument_id",
            price = "price",
            attribution = "attribution",
            flags = "add_attributed_order_flags" of ATTRIBUTED,
        }
        OrderDeleted "order_deleted_message" {
            ns = "nanosecond",
            order = "order_id",
            flags = "order_deleted_flags" of FIRM_QUOTE,
            instrument = "instrument_id",
        }
        OrderModified "order_modified_message" {
            ns = "nanosecond",
            order = "order_id",
            quantity = "new_quantity",
            price = "new_price",
            flags = "order_modified_flags" of MODIFIED,
        }
        OrderBookClear "order_book_clear_message" {
            ns = "nanosecond",
            instrument = "instrument_id",
            flags = "order_book_clear_flags" of CLEARED,
        }
        Executed "order_executed_message" {
            ns = "nanosecond",
            order = "order_id",
            quantity = "executed_quantity",
            trade = "trade_match_id",
        }
        ExecutedAtPrice "order_executed_with_price_size_message" {
            ns = "nanosecond",
            order = "order_id",
            quantity = "executed_quantity",
            display = "display_quantity",
            trade = "trade_match_id",
            printable = "printable",
            price = "price",
        }
        Trade "trade_message" {
            ns = "nanosecond",
            quantity = "executed_quantity",
            instrument = "instrument_id",
            price = "price",
            trade = "trade_match_id",
            cross_type = "cross_type",
            sub_book = "sub_book",
            flags = "pt_mod_flags" of TRADED,
        }
        AuctionTrade "auction_trade_message" {
            ns = "nanosecond",
            quantity = "quantity",
            instrument = "instrument_id",
            price = "price",
            trade = "trade_match_id",
            auction_type = "auction_type",
            flags = "pt_mod_flags" of TRADED,
        }
        AuctionInfo "auction_info_message" {
            ns = "nanosecond",
            paired = "paired_quantity",
            instrument = "instrument_id",
            price = "price",
            auction_type = "auction_type",
        }
        Statistics "statistics_message" {
            ns = "nanosecond",
            instrument = "instrument_id",
            kind = "statistic_type",
            price = "price",
            indicator = "open_close_price_indicator",
        }
        TopOfBook "top_of_book_message" {
            ns = "nanosecond",
            instrument = "instrument_id",
            bid = "buy_limit_price",
            bid_size = "buy_limit_size",
            ask = "sell_limit_price",
            ask_size = "sell_limit_size",
        }
        LoginRequest "login_request_message" { user = "username", password = "password" }
        LoginResponse "login_response_message" { status = "login_status" }
        ReplayRequest "replay_request_message" {
            group = "market_data_group",
            first = "first_message",
            count = "count",
        }
        ReplayResponse "replay_response_message" {
            group = "market_data_group",
            first = "first_message",
            count = "count",
            status = "replay_status",
        }
        LogoutRequest "logout_request_message" {}
        SnapshotRequest "snapshot_request_message" {
            sequence = "sequence_number",
            segment = "segment",
            instrument = "instrument_id",
        }
        SnapshotResponse "snapshot_response_message" {
            sequence = "sequence_number",
            orders = "order_count",
            status = "snapshot_status",
        }
        SnapshotComplete "snapshot_complete_message" {
            sequence = "sequence_number",
            segment = "segment",
            instrument = "instrument_id",
            flags = "snapshot_complete_flags" of COMPLETE,
        }
    }
}
