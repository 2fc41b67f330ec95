//! A journal done again without a market: what it leads to, for people and tests.

use tapeline_ntg::Message;
use tapeline_sequence::Kind;

use super::journal::{JournalSettings, TakenUp, recover};
use crate::core::{Exchange, ExchangeConfig};
use crate::error::ExchangeError;

/// What a journal holds and leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Replayed {
    /// The entry whose state was in a snapshot, where the journal begins later; 0 for
    /// none.
    pub snapshot: u64,
    /// Entries.
    pub entries: u64,
    /// The last of them.
    pub last: u64,
    /// Commands in them.
    pub commands: u64,
    /// Bytes of an entry that was being written when the writer died.
    pub torn_bytes: u64,
    /// Reports to owners of orders.
    pub reports: u64,
    /// Trades.
    pub trades: u64,
    /// Orders that are alive behind the last entry.
    pub orders: usize,
    /// Units of market data.
    pub units: u64,
    /// What all reports and all market data come to.
    pub hash: u64,
}

/// Does again what a journal says; `order` gets each new order that was done: the entry,
/// its user, the client's name for it.
///
/// # Errors
/// The journal cannot be used, or leads to other events than it did.
pub fn replay(
    config: &ExchangeConfig,
    settings: &JournalSettings,
    mut order: impl FnMut(u64, u16, &str),
) -> Result<Replayed, ExchangeError> {
    let mut exchange = Exchange::new(config, 0);
    let mut commands = 0;
    let taken_up = recover(settings, config, &mut exchange, false, |exchange, entry| {
        commands += u64::from(entry.head().count);
        let timely = exchange.timely(entry);
        for command in timely.iter().filter(|command| command.kind == Kind::NEW) {
            if let Some(Message::NewOrder(new)) = Message::read(command.payload) {
                order(entry.head().index, command.user, new.cl_ord_id.as_str());
            }
        }
    })?;
    let TakenUp { found, snapshot, .. } = taken_up;
    let (counts, (_, _, hash)) = (exchange.counts(), exchange.position());
    Ok(Replayed {
        snapshot,
        entries: found.entries,
        last: found.last,
        commands,
        torn_bytes: found.torn_bytes,
        reports: counts.reports,
        trades: counts.trades,
        orders: counts.orders,
        units: counts.units,
        hash: hash.0,
    })
}
