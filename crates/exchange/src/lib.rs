//! A market to test against.
//!
//! [`Market`] is one in one thread: commands in, reports and market data out.
//! [`Flow`] and [`Runner`] put the matching engine beside others: the same
//! messages, the same result, and how long they take.

mod core;
mod distribution;
mod distributor;
mod error;
mod feeding;
mod flow;
mod gateway;
mod identity;
mod kept_state;
mod market;
mod reference;
mod shell;
mod traders;
mod unread;

pub use crate::core::{
    Differs, DistributionTerms, Door, Exchange, ExchangeConfig, ExchangeCounts, FirmConfig,
    GatewayTerms, Keeping, Operation, Outputs, Past, Plan, ReaderConfig, Scope, SessionId, Stage,
    UserConfig,
};
pub use distribution::Distribution;
pub use distributor::{DistributionCounts, Distributor, DistributorConfig, DistributorOutputs};
pub use error::{ExchangeError, OperateError};
pub use feeding::{
    Calling, CmeConfig, CmeCounts, CmeHandler, CmeLines, CmeOrigin, CmeSockets, FeedConfig,
    FeedCounts, FeedHandler, FeedOutputs, FeedSockets, Feeding, Handler, Link, NasdaqConfig,
    NasdaqCounts, NasdaqHandler, NasdaqSockets, NoLinks, Origin, Playing, Published, Speed,
};
pub use flow::{Flow, Message, MessageKind, Report, Runner, hash, room_for_reports};
pub use gateway::{Gateway, GatewayConfig, GatewayCounts, GatewayOutputs};
pub use market::Market;
pub use reference::counters_reference;
pub use shell::{
    DistributorVenue, DistributorVenueConfig, GatewayVenue, GatewayVenueConfig, JournalSettings,
    Line, Receiver, Replayed, ReplicaSettings, StageRow, Stages, Venue, VenueConfig, replay,
};
pub use traders::{Traded, Traders};
