//! The tags of fields.
//!
//! Those above 5000 are the exchange's own.

/// The account.
pub const ACCOUNT: u32 = 1;
/// The first number that is wanted again.
pub const BEGIN_SEQ_NO: u32 = 7;
/// The protocol.
pub const BEGIN_STRING: u32 = 8;
/// Bytes from the type to the checksum.
pub const BODY_LENGTH: u32 = 9;
/// What all bytes before it add up to.
pub const CHECK_SUM: u32 = 10;
/// The client's name for a request.
pub const CL_ORD_ID: u32 = 11;
/// What is traded.
pub const CUM_QTY: u32 = 14;
/// The last number that is wanted again; 0 for all.
pub const END_SEQ_NO: u32 = 16;
/// This report.
pub const EXEC_ID: u32 = 17;
/// The report that is meant.
pub const EXEC_REF_ID: u32 = 19;
/// Whose name of the instrument: 8 the exchange's.
pub const SECURITY_ID_SOURCE: u32 = 22;
/// Where it was traded.
pub const LAST_MKT: u32 = 30;
/// The price of the trade.
pub const LAST_PX: u32 = 31;
/// The quantity of the trade.
pub const LAST_QTY: u32 = 32;
/// How many lines of text there are.
pub const NO_LINES_OF_TEXT: u32 = 33;
/// The number of a message.
pub const MSG_SEQ_NUM: u32 = 34;
/// The type of a message.
pub const MSG_TYPE: u32 = 35;
/// The number that comes next.
pub const NEW_SEQ_NO: u32 = 36;
/// The exchange's name for an order.
pub const ORDER_ID: u32 = 37;
/// How much.
pub const ORDER_QTY: u32 = 38;
/// What has become of an order.
pub const ORD_STATUS: u32 = 39;
/// 1 market, 2 limit, 3 stop, 4 stop limit, P pegged, F offset.
pub const ORD_TYPE: u32 = 40;
/// The client's name for the order that is meant.
pub const ORIG_CL_ORD_ID: u32 = 41;
/// Y: sent before, under the same number.
pub const POSS_DUP_FLAG: u32 = 43;
/// The limit.
pub const PRICE: u32 = 44;
/// The number of the message that is rejected.
pub const REF_SEQ_NUM: u32 = 45;
/// The instrument.
pub const SECURITY_ID: u32 = 48;
/// Who sends.
pub const SENDER_COMP_ID: u32 = 49;
/// When it was sent.
pub const SENDING_TIME: u32 = 52;
/// 1 buy, 2 sell.
pub const SIDE: u32 = 54;
/// A name that everybody has for an instrument.
pub const SYMBOL: u32 = 55;
/// For whom it is.
pub const TARGET_COMP_ID: u32 = 56;
/// Words for people.
pub const TEXT: u32 = 58;
/// How long an order stands.
pub const TIME_IN_FORCE: u32 = 59;
/// When it was asked for, or happened.
pub const TRANSACT_TIME: u32 = 60;
/// The day of a trade.
pub const TRADE_DATE: u32 = 75;
/// Bytes of the next field.
pub const RAW_DATA_LENGTH: u32 = 95;
/// Any bytes.
pub const RAW_DATA: u32 = 96;
/// Y: may have been sent before, under another number.
pub const POSS_RESEND: u32 = 97;
/// 0: none.
pub const ENCRYPT_METHOD: u32 = 98;
/// What a trade must reach.
pub const STOP_PX: u32 = 99;
/// Why a cancel is refused.
pub const CXL_REJ_REASON: u32 = 102;
/// Why an order is refused.
pub const ORD_REJ_REASON: u32 = 103;
/// Seconds of silence before a heartbeat.
pub const HEART_BT_INT: u32 = 108;
/// The smallest part.
pub const MIN_QTY: u32 = 110;
/// What a heartbeat is to repeat.
pub const TEST_REQ_ID: u32 = 112;
/// For whom it is sent.
pub const ON_BEHALF_OF_COMP_ID: u32 = 115;
/// When it was sent first.
pub const ORIG_SENDING_TIME: u32 = 122;
/// The client's name for a quote.
pub const QUOTE_ID: u32 = 117;
/// What a quote pays.
pub const BID_PX: u32 = 132;
/// What a quote asks for.
pub const OFFER_PX: u32 = 133;
/// How much is bid.
pub const BID_SIZE: u32 = 134;
/// How much is offered.
pub const OFFER_SIZE: u32 = 135;
/// Y: what lies between is not sent again.
pub const GAP_FILL_FLAG: u32 = 123;
/// Until when an order stands.
pub const EXPIRE_TIME: u32 = 126;
/// Who gets it in the end.
pub const DELIVER_TO_COMP_ID: u32 = 128;
/// Y: numbers begin at 1 again.
pub const RESET_SEQ_NUM_FLAG: u32 = 141;
/// How many instruments are named.
pub const NO_RELATED_SYM: u32 = 146;
/// What news are about.
pub const HEADLINE: u32 = 148;
/// What a report is about.
pub const EXEC_TYPE: u32 = 150;
/// What is not traded yet.
pub const LEAVES_QTY: u32 = 151;
/// 0: once.
pub const SUBSCRIPTION_REQUEST_TYPE: u32 = 263;
/// The order in market data.
pub const MD_ENTRY_ID: u32 = 278;
/// A call that an order is for.
pub const TRADING_SESSION_ID: u32 = 336;
/// The tag that is wrong.
pub const REF_TAG_ID: u32 = 371;
/// The type of the message that is rejected.
pub const REF_MSG_TYPE: u32 = 372;
/// What is wrong with its form.
pub const SESSION_REJECT_REASON: u32 = 373;
/// Why an order was changed.
pub const EXEC_RESTATEMENT_REASON: u32 = 378;
/// The client's name for what is rejected.
pub const BUSINESS_REJECT_REF_ID: u32 = 379;
/// What is wrong with what it asks for.
pub const BUSINESS_REJECT_REASON: u32 = 380;
/// How many calls are named.
pub const NO_TRADING_SESSIONS: u32 = 386;
/// Until which day an order stands.
pub const EXPIRE_DATE: u32 = 432;
/// 1 a cancel, 2 an amendment.
pub const CXL_REJ_RESPONSE_TO: u32 = 434;
/// Whose name of a party: D, P.
pub const PARTY_ID_SOURCE: u32 = 447;
/// A party.
pub const PARTY_ID: u32 = 448;
/// 76 group of traders, 3 client, 122 investment, 12 execution, 100.
pub const PARTY_ROLE: u32 = 452;
/// How many parties are named.
pub const NO_PARTY_IDS: u32 = 453;
/// 0 new, 1 cancel.
pub const TRADE_REPORT_TRANS_TYPE: u32 = 487;
/// 1 retail, 2 retail liquidity provider.
pub const OWNER_TYPE: u32 = 522;
/// Another name of the client's.
pub const SECONDARY_CL_ORD_ID: u32 = 526;
/// A other, P own account, R matched principal.
pub const ORDER_CAPACITY: u32 = 528;
/// 1 instrument, 7 all, 9 segment, 56 and 57 groups.
pub const MASS_CANCEL_REQUEST_TYPE: u32 = 530;
/// What was cancelled; 0 nothing.
pub const MASS_CANCEL_RESPONSE: u32 = 531;
/// Why nothing was.
pub const MASS_CANCEL_REJECT_REASON: u32 = 532;
/// How many sides there are.
pub const NO_SIDES: u32 = 552;
/// Who logs on.
pub const USERNAME: u32 = 553;
/// The password.
pub const PASSWORD: u32 = 554;
/// The client's name for a question about trades.
pub const TRADE_REQUEST_ID: u32 = 568;
/// 0 all, 1 those that match.
pub const TRADE_REQUEST_TYPE: u32 = 569;
/// Y: told before.
pub const PREVIOUSLY_REPORTED: u32 = 570;
/// This confirmation.
pub const TRADE_REPORT_ID: u32 = 571;
/// The confirmation that is meant.
pub const TRADE_REPORT_REF_ID: u32 = 572;
/// 0 both sides say so, 1 one of them.
pub const MATCH_STATUS: u32 = 573;
/// 1 client, 3 house.
pub const ACCOUNT_TYPE: u32 = 581;
/// The client's name for orders that belong together.
pub const CL_ORD_LINK_ID: u32 = 583;
/// The client's name for a question about orders.
pub const MASS_STATUS_REQ_ID: u32 = 584;
/// About which orders: 1 of an instrument, 7 all, 8 of a party.
pub const MASS_STATUS_REQ_TYPE: u32 = 585;
/// A part of a session.
pub const TRADING_SESSION_SUB_ID: u32 = 625;
/// What became of a question about trades.
pub const TRADE_REQUEST_RESULT: u32 = 749;
/// 0 its answer follows, 1 it was answered, 2 it is not.
pub const TRADE_REQUEST_STATUS: u32 = 750;
/// Why a report of a trade is refused: 3 it is of others, 99 other.
pub const TRADE_REPORT_REJECT_REASON: u32 = 751;
/// 0 regular, 67 closing price, 99 on request.
pub const TRD_TYPE: u32 = 828;
/// 1 added, 2 removed, 4 auction.
pub const LAST_LIQUIDITY_IND: u32 = 851;
/// 0 submitted, 6 the cancel of a report.
pub const TRADE_REPORT_TYPE: u32 = 856;
/// The trade.
pub const TRD_MATCH_ID: u32 = 880;
/// Y: the last of an answer.
pub const LAST_RPT_REQUESTED: u32 = 912;
/// The client's name for a question about a user.
pub const USER_REQUEST_ID: u32 = 923;
/// 4: whether the user is logged on.
pub const USER_REQUEST_TYPE: u32 = 924;
/// The password from now on.
pub const NEW_PASSWORD: u32 = 925;
/// 1 logged on, 2 not logged on, 3 not known, 6 other.
pub const USER_STATUS: u32 = 926;
/// What it is, for people.
pub const USER_STATUS_TEXT: u32 = 927;
/// 0 accepted, 1 refused.
pub const TRD_RPT_STATUS: u32 = 939;
/// The trade, for all that is said of it.
pub const TRADE_ID: u32 = 1003;
/// Y: it came to an order that was there.
pub const AGGRESSOR_INDICATOR: u32 = 1057;
/// 3 random peak, 4 hidden.
pub const DISPLAY_METHOD: u32 = 1084;
/// Y anonymous, N named.
pub const PRE_TRADE_ANONYMITY: u32 = 1091;
/// 0: a confirmation.
pub const TRADE_HANDLING_INSTR: u32 = 1123;
/// The version of a message: 9.
pub const APPL_VER_ID: u32 = 1128;
/// The version of all messages: 9.
pub const DEFAULT_APPL_VER_ID: u32 = 1137;
/// How much is shown.
pub const DISPLAY_QTY: u32 = 1138;
/// The partition.
pub const APPL_ID: u32 = 1180;
/// The segment.
pub const MARKET_SEGMENT_ID: u32 = 1300;
/// This answer to a mass cancel.
pub const MASS_ACTION_REPORT_ID: u32 = 1369;
/// Whether a session goes on, and why not.
pub const SESSION_STATUS: u32 = 1409;
/// The report of a side.
pub const SIDE_EXEC_ID: u32 = 1427;
/// How many parties are meant.
pub const NO_TARGET_PARTY_IDS: u32 = 1461;
/// A party that is meant.
pub const TARGET_PARTY_ID: u32 = 1462;
/// Whose name of it.
pub const TARGET_PARTY_ID_SOURCE: u32 = 1463;
/// 1 member, 76 group of traders.
pub const TARGET_PARTY_ROLE: u32 = 1464;
/// 5: electronic access to the market.
pub const ORDER_ORIGINATION: u32 = 1724;
/// 22 algorithm, 23 firm, 24 person.
pub const PARTY_ROLE_QUALIFIER: u32 = 2376;
/// How many attributes an order has.
pub const NO_ORDER_ATTRIBUTES: u32 = 2593;
/// An attribute.
pub const ORDER_ATTRIBUTE_TYPE: u32 = 2594;
/// Its value.
pub const ORDER_ATTRIBUTE_VALUE: u32 = 2595;
/// How many reasons of publication there are.
pub const NO_TRD_REG_PUBLICATIONS: u32 = 2668;
/// What a reason is about.
pub const TRD_REG_PUBLICATION_TYPE: u32 = 2669;
/// The reason.
pub const TRD_REG_PUBLICATION_REASON: u32 = 2670;
/// Whether a trade added or removed.
pub const TRADE_LIQUIDITY_INDICATOR: u32 = 9730;
/// 0 visible, 1 hidden, 2 none of both.
pub const TYPE_OF_TRADE: u32 = 20_000;
/// 0 none, 99 no visible match, 100 new best, 1 to 3 prices.
pub const PASSIVE_ONLY: u32 = 27_010;
/// For mass cancels, 1 to 255.
pub const GROUP_ID: u32 = 27_017;
/// In basis points.
pub const OFFSET_BP: u32 = 27_018;
/// With which a pegged order trades.
pub const PEGGED_EXEC_INST: u32 = 27_021;
