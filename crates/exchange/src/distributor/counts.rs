//! What a distribution in a process of its own counts.

use tapeline_counters::counts;

counts! {
    /// What a distribution in a process of its own counts.
    pub struct DistributionCounts = "distribution" {
        /// 1 while there is a link to a market that leads.
        linked: usize = now;
        /// Links since the start.
        links: u64 = total;
        /// The longest time without one, in ms, once there had been one.
        longest_without_ms: u64 = total;
        /// 1 when it has caught up, on this link.
        in_step: usize = now;
        /// 1 while it is the one that publishes.
        publishes: usize = now;
        /// How often it was named to publish.
        takeovers: u64 = total;
        /// Entries that were done.
        entries: u64 = total;
        /// The last entry that is done.
        applied: u64 = now;
        /// How often what it had was of no use any more, and it began anew.
        begun_anew: u64 = total;
        /// States that it began with.
        states: u64 = total;
        /// The last message of market data that is known to be out.
        sent: u64 = now;
        /// Messages that were said again since another one had published before.
        messages_again: u64 = total;
        /// Units of market data that the kernel did not take, over all lines.
        units_lost: u64 = total;
        /// Orders that are alive.
        orders: usize = now, at most "max-orders";
        /// Connections of readers since the start.
        connections: u64 = total;
        /// Connections that found no place.
        turned_away: u64 = total;
        /// Replays that were sent.
        replays: u64 = total;
        /// Replays that were refused.
        replays_refused: u64 = total;
        /// Snapshots that were sent.
        snapshots: u64 = total;
    }
}
