//! What a gateway in a process of its own counts.

use tapeline_counters::counts;

counts! {
    /// What a gateway in a process of its own counts.
    pub struct GatewayCounts = "gateway" {
        /// Clients that are logged on to trade.
        clients: usize = now, at most "max-sessions";
        /// Those of them that speak FIX.
        fix_clients: usize = now, at most "max-sessions";
        /// Connections since the start.
        connections: u64 = total;
        /// Connections that found no place.
        turned_away: u64 = total;
        /// Logons that its market accepted.
        logons: u64 = total;
        /// Logons that were not.
        logons_refused: u64 = total;
        /// Clients that were logged out since they did not read.
        slow_clients: u64 = total;
        /// Requests that went, or wait to go, to the market.
        requests: u64 = total;
        /// Requests that were rejected here: fields, throttle, unknown instruments.
        rejected: u64 = total;
        /// Requests that were refused with 9998: nobody leads for too long, or too many
        /// are not decided, or the market can keep nothing.
        refused_down: u64 = total;
        /// Requests that are not decided.
        undecided: usize = now, at most "max-undecided";
        /// Requests that were said again on another link.
        said_again: u64 = total;
        /// Reports and answers for clients.
        reports: u64 = total;
        /// Sessions of FIX that went on here and were elsewhere before: their numbers rose
        /// by 5,000.
        fix_taken_over: u64 = total;
        /// Reports that went out by FIX with 97 = Y: their clients may have had them
        /// before.
        fix_again: u64 = total;
        /// Sessions that went on at another link.
        resumed: u64 = total;
        /// Sessions that could not go on: their clients were logged out.
        not_resumed: u64 = total;
        /// 1 while there is a link to a market that leads.
        linked: usize = now;
        /// Links since the start.
        links: u64 = total;
        /// The longest time without one, in ms, once there had been one.
        longest_without_ms: u64 = total;
    }
}
