//! What an exchange is made of.

use std::time::Duration;

use tapeline_instrument::Instrument;
use tapeline_matching::SelfMatch;
use tapeline_ntg::Limits;

use super::Plan;

/// Who may trade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserConfig {
    /// Its name, up to 25 characters.
    pub name: String,
    /// Its password, up to 25 characters.
    pub password: String,
    /// The firm it trades for.
    pub firm: u16,
    /// Orders that ask for it go when the session ends.
    pub auto_cancel: bool,
    /// Whether its orders trade with others of the firm.
    pub self_match: SelfMatch,
    /// The firms of whose reports it gets copies, by FIX; with some, it does not trade.
    pub copies: Vec<u16>,
    /// Its session is gone for so long: the users of the firms of whose reports it gets
    /// copies are stopped. `None`: they never are.
    pub stop_after: Option<Duration>,
    /// The firms whose trades are confirmed to it, at a door of its own; with some, it
    /// does not trade.
    pub settles: Vec<u16>,
}

/// A firm, by its name in market data: orders that are named show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirmConfig {
    /// The number that its users have.
    pub number: u16,
    /// Its name, 1 to 11 characters.
    pub name: String,
}

/// Who may have market data again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReaderConfig {
    /// Its name, up to 6 characters.
    pub name: String,
    /// Its password, up to 10 characters.
    pub password: String,
}

/// What gateways in processes of their own and their market have agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GatewayTerms {
    /// The numbers that there are, above 0.
    pub numbers: Vec<u16>,
    /// A link on which nothing comes for so long is broken.
    pub silence: Duration,
    /// Sessions at a gateway without a link are over after so long.
    pub grace: Duration,
    /// Another one for each start that forgets what was before; 0 with a journal.
    pub history: u64,
}

/// What distributions in processes of their own and their market have agreed on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistributionTerms {
    /// The numbers that there are, above 0.
    pub numbers: Vec<u16>,
    /// A link on which nothing comes for so long is broken.
    pub silence: Duration,
    /// A market that begins waits so long for who published before, and then publishes
    /// itself.
    pub grace: Duration,
    /// Another one for each start that forgets what was before; 0 with a journal.
    pub history: u64,
    /// Bytes of entries that are kept in memory at least, for who is a little behind.
    pub tail_bytes: usize,
}

/// What an exchange is made of.
#[derive(Clone, Debug)]
pub struct ExchangeConfig {
    /// What is traded.
    pub instruments: Vec<Instrument>,
    /// Who may trade; with none, everybody, each for a firm of its own.
    pub users: Vec<UserConfig>,
    /// Who may have market data again; with none, everybody.
    pub readers: Vec<ReaderConfig>,
    /// Firms that have a name; orders of others are anonymous, also where they ask to be
    /// named.
    pub firms: Vec<FirmConfig>,
    /// The engine.
    pub engine: tapeline_matching::Config,
    /// Sessions of the native gateway.
    pub limits: Limits,
    /// Sessions of the FIX gateway.
    pub fix: tapeline_fix::Limits,
    /// Messages that each user's session of FIX keeps, to send them again.
    pub fix_messages: usize,
    /// Sides of trades that can be had again by who settles them.
    pub trades: usize,
    /// The market data group.
    pub group: u8,
    /// The sessions of the day.
    pub plan: Plan,
    /// The exchange's local time, in seconds ahead of UTC.
    pub utc_offset_s: i32,
    /// Draws the ends of calls.
    pub seed: u64,
    /// Bounds of the sequencer.
    pub sequencer: tapeline_sequence::Limits,
    /// After so long without market data, a heartbeat.
    pub quiet: Duration,
    /// Users that are known at once, those who were let in unasked included.
    pub max_users: usize,
    /// Connections of all kinds at once.
    pub max_sessions: usize,
    /// Reports that can be had again.
    pub order_cache_messages: usize,
    /// A client that leaves more bytes unread is logged out.
    pub max_output_bytes: usize,
    /// Gateways in processes of their own; `None`: there are none.
    pub gateways: Option<GatewayTerms>,
    /// Distributions in processes of their own; `None`: there are none.
    pub distribution: Option<DistributionTerms>,
}

impl Default for ExchangeConfig {
    /// A market without instruments that is open all day, to everybody.
    fn default() -> Self {
        Self {
            instruments: Vec::new(),
            users: Vec::new(),
            readers: Vec::new(),
            firms: Vec::new(),
            engine: tapeline_matching::Config::default(),
            limits: Limits::default(),
            fix: tapeline_fix::Limits::default(),
            fix_messages: 2_000,
            trades: 100_000,
            group: b'A',
            plan: Plan::Open,
            utc_offset_s: 0,
            seed: 1,
            sequencer: tapeline_sequence::Limits::default(),
            quiet: Duration::from_secs(1),
            max_users: 1_000,
            max_sessions: 1_000,
            order_cache_messages: 65_000,
            max_output_bytes: 4 << 20,
            gateways: None,
            distribution: None,
        }
    }
}
