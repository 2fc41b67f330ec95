//! What an exchange counts.

use tapeline_counters::counts;
use tapeline_sequence::Kind;

counts! {
    /// What the market of a process counts.
    pub struct ExchangeCounts = "exchange" {
        /// Clients that are logged on.
        clients: usize = now, at most "max-users";
        /// Connections since the start, of clients and readers.
        connections: u64 = total;
        /// Connections that found no place.
        turned_away: u64 = total;
        /// Logons that were accepted.
        logons: u64 = total;
        /// Logons that were not.
        logons_refused: u64 = total;
        /// Clients that were logged out since they did not read.
        slow_clients: u64 = total;
        /// Orders that are alive, those that wait included.
        orders: usize = now, at most "max-orders";
        /// New orders that came.
        new_orders: u64 = total;
        /// Quotes that came.
        quotes: u64 = total;
        /// Amendments that came.
        amendments: u64 = total;
        /// Cancels that came.
        cancels: u64 = total;
        /// Mass cancels that came.
        mass_cancels: u64 = total;
        /// Requests that the gateway rejected: fields, throttle, unknown instruments.
        rejected: u64 = total;
        /// Requests that the engine refused.
        refused: u64 = total;
        /// Orders that went with their session.
        disconnect_cancels: u64 = total;
        /// Entries that the sequencer made.
        entries: u64 = total;
        /// Commands that were dropped since they had been taken before.
        doubles: u64 = total;
        /// Bytes of entries that wait to be kept.
        pending_bytes: usize = now(bytes);
        /// Batches of entries that were written and made safe at one go.
        journal_batches: u64 = total;
        /// Bytes of them.
        journal_bytes: u64 = total(bytes);
        /// Segments of the journal.
        journal_segments: usize = now, at most "max-segments";
        /// 1 when entries cannot be kept any more, and nothing is taken.
        down: usize = now;
        /// 1 while clients are let in: it is alone, or it leads its replicas.
        leads: usize = now;
        /// The term of its replicas, which rises with each election.
        term: u64 = now;
        /// Other replicas that it is connected to.
        replicas: usize = now;
        /// How often it stood for election.
        elections: u64 = total;
        /// Trades, those of auctions included.
        trades: u64 = total;
        /// Reports to owners of orders, also of those who are away.
        reports: u64 = total;
        /// Reports that were sent again.
        recovered: u64 = total;
        /// Reports that wait until their owners log on by FIX again, or say at a gateway
        /// in a process of its own that they have them.
        fix_waiting: usize = now;
        /// Such reports that made room for later ones: their owners never get them by
        /// FIX.
        fix_lost: u64 = total;
        /// Confirmations of trades, made and cancelled, one a side and a user who settles it.
        confirmations: u64 = total;
        /// Requests to cancel a trade, those that were refused included.
        trade_cancels: u64 = total;
        /// Trades that were cancelled, by both sides or by operators.
        trades_cancelled: u64 = total;
        /// Sides of trades that answers told again.
        trades_told: u64 = total;
        /// Questions that were taken: about orders, users, trades.
        questions: u64 = total;
        /// Orders that answers to them told.
        orders_told: u64 = total;
        /// Sponsors that were gone for too long, so that their users were stopped.
        sponsor_stops: u64 = total;
        /// What operators had done: halts, their ends, cancels.
        operations: u64 = total;
        /// News that drop copies were sent: halts, circuit breaks, and their ends.
        news: u64 = total;
        /// Gateways in processes of their own that are linked.
        gateways: usize = now;
        /// Links of such gateways since the start.
        gateway_links: u64 = total;
        /// Requests of gateways that came when their client's session was over: they are
        /// not done.
        strays: u64 = total;
        /// Distributions in processes of their own that are linked.
        distributions: usize = now;
        /// Links of such distributions since the start.
        distribution_links: u64 = total;
        /// 1 while market data goes out from here: no distribution in a process of its own
        /// publishes.
        publishes: usize = now;
        /// Messages of market data that were said again since another one had published
        /// before.
        messages_again: u64 = total;
        /// Units of market data.
        units: u64 = total;
        /// Bytes of them, on one line.
        unit_bytes: u64 = total(bytes);
        /// Units that the kernel did not take, over all lines.
        units_lost: u64 = total;
        /// Messages of market data.
        messages: u64 = total;
        /// Replays that were sent.
        replays: u64 = total;
        /// Replays that were refused.
        replays_refused: u64 = total;
        /// Snapshots that were sent.
        snapshots: u64 = total;
        /// Sessions that have begun, of all instruments.
        session_changes: u64 = total;
        /// Prices too far from those before, which began calls.
        circuit_breaks: u64 = total;
        /// Calls that went on beyond their end, of all instruments.
        call_extensions: u64 = total;
        /// Trades at the closing price, behind the closing auction.
        closing_price_trades: u64 = total;
        /// Trades with pegged orders.
        pegged_trades: u64 = total;
        /// Trades of retail investors with who provides liquidity to them alone.
        provider_trades: u64 = total;
    }
}

impl ExchangeCounts {
    /// Counts a request that a gateway in a process of its own has looked at.
    pub(super) fn note_request(&mut self, kind: Kind) {
        let count = match kind {
            Kind::NEW => &mut self.new_orders,
            Kind::QUOTE => &mut self.quotes,
            Kind::REPLACE => &mut self.amendments,
            Kind::CANCEL => &mut self.cancels,
            Kind::MASS_CANCEL => &mut self.mass_cancels,
            _ => return,
        };
        *count += 1;
    }

    /// Counts a message of a session that is a reject.
    pub(super) fn note_rejected(&mut self, bytes: &[u8]) {
        self.rejected += u64::from(bytes.get(3) == Some(&b'3'));
    }
}
